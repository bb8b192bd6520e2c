// SPDX-License-Identifier: MIT
/*
 * Hang dumps that are made while others are read and cleared: a thread for each core of nd0 whose
 * copies are aborted, each of which is a hang with a dump; threads that read and clear hang_dump,
 * and that read and end the kernel's device coredumps. In the end the device is removed meanwhile.
 * Whatever is found has to be a dump; the checkers of a debug kernel see memory that is freed too
 * early.
 *
 * usage: driver-dumps HANGS INJECT REMOVE: commands for bash that make all copies fail (after the
 * memory they need was allocated), and that remove the device
 */
#include "chip.h"

#include <pthread.h>

#include "uapi/neuron/neuron_dump.h"

#define PAGE 4096
#define SYS "/sys/devices/virtual/neuron_device/neuron0/"
#define COREDUMP SYS "device/devcoredump/data"

enum what { DUMP_READ, DUMP_CLEAR, CORE_READ, CORE_END, WATCHERS };
#define EACH 2 /* threads of each of these */

static _Atomic unsigned int hangs, wrong_results, finds[WATCHERS], bad[WATCHERS];
static _Atomic bool over;
static unsigned int wanted;
static const struct neuron_gen *chip;

static bool is_dump(const void *data, size_t size, bool whole)
{
	const struct neuron_dump_header *h = data;
	size_t at;

	if (size < sizeof(*h) || h->magic != NEURON_DUMP_MAGIC ||
	    h->version != NEURON_DUMP_VERSION || h->index || !h->id ||
	    h->cores >= 1u << chip->cores || (whole ? h->size != size : h->size < size))
		return false;
	for (at = sizeof(*h); at < size;) {
		const struct neuron_dump_section *s = (const void *)((const char *)data + at);

		if (size - at < sizeof(*s) || s->length > h->size - at - sizeof(*s))
			return !whole && size - at < sizeof(*s);
		if (s->type < NEURON_DUMP_WORDS || s->type > NEURON_DUMP_NOTIFICATIONS)
			return false;
		at += sizeof(*s) + s->length;
	}
	return !whole || at == size;
}

struct hanger {
	pthread_t thread;
	int fd;
	uint64_t handle;
};

/* Makes copies that fail, until the device is gone. */
static void *hang(void *arg)
{
	struct hanger *h = arg;
	uint8_t page[PAGE] = { 0 };
	int ret;

	while ((ret = copy_in(h->fd, h->handle, page, 0, sizeof(page))) == -EIO)
		hangs++;
	if (ret != -ENODEV) {
		printf("# a copy: %d\n", ret);
		wrong_results++;
	}
	return NULL;
}

static ssize_t read_all(const char *path, uint8_t *data, size_t size, size_t piece)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n = 0;

	while (fd >= 0 && at < size &&
	       (n = read(fd, data + at, piece < size - at ? piece : size - at)) > 0)
		at += (size_t)n;
	if (fd >= 0)
		close(fd);
	return fd < 0 || n < 0 ? -1 : (ssize_t)at;
}

static void write_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "0", 1) < 0 && errno != ENODEV)
		printf("# %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/*
 * hang_dump may be replaced between two reads, so only its first page is checked; an open coredump
 * does not change
 */
static void watch_once(enum what what, uint8_t *data, size_t size)
{
	ssize_t n = 0;

	if (what == DUMP_READ)
		n = read_all(SYS "hang_dump", data, size, PAGE);
	else if (what == CORE_READ)
		n = read_all(COREDUMP, data, size, PAGE);
	else
		write_to(what == DUMP_CLEAR ? SYS "hang_dump" : COREDUMP);
	if (n <= 0)
		return;
	finds[what]++;
	if (what == DUMP_READ)
		bad[what] += !is_dump(data, n < PAGE ? (size_t)n : PAGE, false);
	else
		bad[what] += !is_dump(data, (size_t)n, true);
}

static void *watch(void *arg)
{
	enum what what = (enum what)(uintptr_t)arg;
	size_t size = 1 << 18;
	uint8_t *data = malloc(size);

	while (!over)
		watch_once(what, data, size);
	free(data);
	return NULL;
}

static bool prepare(struct hanger *h)
{
	uint8_t page[PAGE] = { 0 };

	for (uint32_t i = 0; i < chip->cores; i++) {
		struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
			.size = PAGE,
			.dram_channel = i * chip->memories / chip->cores,
			.nc_id = i,
			.mem_type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
			.mem_handle = (void *)&h[i].handle,
		};

		h[i].fd = node(0, O_RDWR);
		if (h[i].fd < 0 || call(h[i].fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a) ||
		    copy_in(h[i].fd, h[i].handle, page, 0, sizeof(page)))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct hanger h[NEURON_CORES_MAX] = { 0 };
	pthread_t watcher[WATCHERS * EACH];
	bool coredumps = !access("/sys/class/devcoredump", F_OK);

	chip = chip_of(0);
	if (argc != 5 || !chip)
		return 2;

	wanted = (unsigned int)atoi(argv[1]);
	ok(prepare(h), "copies on %u cores", chip->cores);
	ok(bash(argv[2]), "from now on each is aborted");

	for (uintptr_t i = 0; i < WATCHERS * EACH; i++)
		pthread_create(&watcher[i], NULL, watch, (void *)(i / EACH));
	for (int i = 0; i < chip->cores; i++)
		pthread_create(&h[i].thread, NULL, hang, &h[i]);
	while (hangs < wanted && !wrong_results)
		sched_yield();

	ok(bash(argv[3]), "the device goes after %u hangs", wanted);
	for (int i = 0; i < chip->cores; i++) {
		pthread_join(h[i].thread, NULL);
		close(h[i].fd);
	}

	over = true;
	for (int i = 0; i < WATCHERS * EACH; i++)
		pthread_join(watcher[i], NULL);
	printf("# %u hangs, %u dumps and %u coredumps read\n", hangs, finds[DUMP_READ],
	       finds[CORE_READ]);

	is(wrong_results, 0, "every copy failed as it should");
	is(bad[DUMP_READ], 0, "what was read in hang_dump are dumps");
	ok(finds[DUMP_READ], "and there were some");
	is(bad[CORE_READ], 0, "what was read as a device coredump is a whole dump");
	if (coredumps)
		ok(finds[CORE_READ], "and there were some");
	else
		ok(true, "and there were some # skip this kernel has none");
	ok(bash(argv[4]) && node_works(0), "the device comes back and copies");
	return tap_done();
}
