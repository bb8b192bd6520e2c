// SPDX-License-Identifier: MIT
/*
 * What is refused, for the test that reads the kernel log beside it: prints "PID NAME ERROR" for
 * each. The log holds ten lines of a kind and then none for a while, so a run ends after ten.
 *
 * driver-refused ioctls N FROM: every ioctl of the table with a pointer to nothing, then all of them
 * on a write-only file, from the FROMth on; the last line is "next M", or "end".
 * driver-refused others N: what else can be refused, by one process or another.
 * driver-refused after N COMMAND: a copy, when the command was run with the node open.
 * driver-refused flood N: a thousand of the same; status 0 if all were refused.
 * driver-refused copies N COMMAND: three hundred copies, which the command makes fail.
 */
#include "chip.h"

#include <sys/mman.h>

#define LINES 10
#define COPIES 300

static const struct {
	const char *name;
	unsigned long cmd;
} rows[] = {
#define ROW(n) { #n, NEURON_IOCTL_##n },
#include "rows.h"
#undef ROW
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void say(const char *name, long ret)
{
	if (ret < 0)
		printf("%d %s %ld\n", getpid(), name, ret);
}

static int ioctls(int index, unsigned int from)
{
	int fd = node(index, O_RDWR), status = node(index, O_WRONLY);
	unsigned int i, lines = 0;

	for (i = from; i < 2 * ROWS && lines < LINES; i++) {
		bool nothing = i < ROWS;
		uint8_t zeros[4096] = { 0 };
		int ret = call(nothing ? fd : status, rows[i % ROWS].cmd,
			       nothing ? (void *)8 : zeros);

		say(rows[i % ROWS].name, ret);
		lines += ret < 0;
	}
	if (i < 2 * ROWS)
		printf("next %u\n", i);
	else
		printf("end\n");
	return fd < 0 || status < 0;
}

/*
 * A visitor: another process that opens the node, holds it until the pipe is closed, and frees a
 * handle
 */
static void visitor(int index, uint64_t handle, const int hold[2])
{
	struct neuron_ioctl_mem_free a = { handle };
	int open_now[2], fd;
	char byte = 0;

	if (pipe(open_now))
		return;
	if (!fork()) {
		close(hold[1]);
		fd = node(index, O_RDWR);
		if (fd < 0)
			say("open", fd);
		else if (handle)
			say("MEM_FREE", call(fd, NEURON_IOCTL_MEM_FREE, &a));
		close(open_now[0]);
		_exit(write(open_now[1], &byte, 1) < 0 || read(hold[0], &byte, 1) < 0);
	}
	close(open_now[1]);
	while (read(open_now[0], &byte, 1) < 0)
		;
	close(open_now[0]);
}

static int others(int index)
{
	struct neuron_ioctl_dma_copy_descriptors64 many = { .num_descs = UINT32_MAX };
	const struct neuron_gen *chip = chip_of(index);
	uint64_t handle = 0, none = 0;
	int fd = node(index, O_RDWR), hold[2];
	void *volatile nowhere = (void *)8; /* volatile hides it from the compiler */
	uint32_t word;
	void *map;

	chunk(fd, false, 4096, 0, &handle);
	many.mem_handle = handle;
	/* a region is just as large, and not empty any more */
	say("MEM_ALLOC_V2MT64",
	    chunk(fd, false, chip->memory[0].size / (chip->regions ? chip->regions : 1), 0, &none));
	say("DMA_COPY_DESCRIPTORS64", call(fd, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &many));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1l << 40);
	say("mmap", map == MAP_FAILED ? -errno : 0);
	say("read", pread(fd, &word, 3, 0) < 0 ? -errno : 0);
	say("read", pread(fd, nowhere, 4, 0) < 0 ? -errno : 0);
	if (pipe(hold))
		return 1;
	for (int i = 0; i < 16; i++) /* one process more than allowed, with this one */
		visitor(index, i ? 0 : handle, hold);
	close(hold[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int after(int index, const char *command)
{
	uint8_t page[4096] = { 0 };
	uint64_t handle = 0;
	int fd = node(index, O_RDWR);

	chunk(fd, false, sizeof(page), 0, &handle);
	if (copy_in(fd, handle, page, 0, sizeof(page)) || !bash(command))
		return 1;
	say("MEM_BUF_COPY64", copy_in(fd, handle, page, 0, sizeof(page)));
	return 0;
}

static int copies(int index, const char *command)
{
	uint8_t page[4096] = { 0 };
	uint64_t handle = 0;
	int fd = node(index, O_RDWR), failed = 0;

	chunk(fd, false, sizeof(page), 0, &handle);
	if (!bash(command))
		return 1;
	for (int i = 0; i < COPIES; i++)
		failed += copy_in(fd, handle, page, 0, sizeof(page)) == -EIO;
	return failed != COPIES;
}

static int flood(int index)
{
	struct neuron_ioctl_mem_free bad = { 12345 };
	int fd = node(index, O_RDWR), refused = 0;

	for (int i = 0; i < 1000; i++)
		refused += call(fd, NEURON_IOCTL_MEM_FREE, &bad) == -EINVAL;
	return refused != 1000;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "ioctls"))
		return ioctls(atoi(argv[2]), (unsigned int)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "others"))
		return others(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "after"))
		return after(atoi(argv[2]), argv[3]);
	if (argc == 4 && !strcmp(argv[1], "copies"))
		return copies(atoi(argv[2]), argv[3]);
	if (argc == 3 && !strcmp(argv[1], "flood"))
		return flood(atoi(argv[2]));
	return 2;
}
