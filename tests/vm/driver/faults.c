// SPDX-License-Identifier: MIT
/*
 * Every allocation and user copy that a call needs fails once: the kernel's fail-nth makes the n-th
 * one fail, for n from one up to the first that the call does not reach. This is done for every
 * ioctl with several valid arguments, for open, mmap, and the module's own start on a chip. The
 * result of a call is ignored; it must leave nothing behind, and the chip must work.
 *
 * usage: driver-faults [SEED]
 */
#include "chip.h"

#include <sys/mman.h>

#include "fuzz.h"

#define ARGUMENTS 8 /* for each ioctl */
#define NTH_MAX 100000
/*
 * Starting on a chip makes thousands of allocations, most of them for sysfs: the test fails not
 * each of them, but fewer and fewer
 */
#define BIND_STRIDE 24
#define ADDRESS_MAX 32

static struct fz fz;
static int nth_fd;
static unsigned long long failures;
static char address[ADDRESS_MAX];

/*
 * Setting it copies from user memory, and that copy may be the one that fails: then it is repeated.
 */
static void nth_set(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	if (pwrite(nth_fd, text, strlen(text), 0) < 0 && pwrite(nth_fd, text, strlen(text), 0) < 0)
		abort();
}

/* Zero: the failure has happened. If not even this can be read, it has not happened before. */
static bool nth_happened(void)
{
	char text[16] = "";
	ssize_t got = pread(nth_fd, text, sizeof(text) - 1, 0);

	nth_set(0);
	return got > 0 && atoi(text) == 0;
}

/*
 * Makes one call again and again, until none of its allocations is left to fail. stride: how many
 * of the first fail one by one; 0: all
 */
static unsigned int each(void (*make)(void *), void (*use)(void *), void *arg, unsigned int stride)
{
	unsigned int n;

	for (n = 1; n < NTH_MAX; n += 1 + (stride ? n / stride : 0)) {
		make(arg);
		nth_set(n);
		use(arg);
		if (!nth_happened())
			break;
		failures++;
	}
	return n;
}

struct one {
	const struct fz_ioctl *io;
	int fd;
	uint64_t seed;
	void *arg;
	int ret;
};

static void one_make(void *p)
{
	struct one *o = p;

	fz.rng = o->seed;
	o->arg = fz_arg(&fz, o->io);
}

static void one_use(void *p)
{
	struct one *o = p;

	o->ret = call(o->fd, o->io->cmd, o->arg);
}

/*
 * Makes every call with a fault at each step; later calls use what the last, undisturbed one made.
 */
static void ioctls(int fd, uint64_t seed)
{
	struct one o = { .fd = fd };

	for (unsigned int i = 0; i < fz_ioctl_count; i++) {
		o.io = &fz_ioctls[i];
		/* these wait long for another process, which there is not */
		if (strstr(o.io->name, "CRWL_READER") || strstr(o.io->name, "CINIT"))
			continue;
		for (unsigned int k = 0; k < ARGUMENTS; k++) {
			o.seed = (seed * 1000 + k) * 0x9e3779b97f4a7c15ull | 1;
			each(one_make, one_use, &o, 0);
			if (o.ret >= 0)
				fz_learn(&fz, fd, o.io, o.arg);
		}
	}
}

static void nothing(void *p)
{
	(void)p;
}

static void open_use(void *p)
{
	int fd = node(0, O_RDWR);

	(void)p;
	if (fd >= 0)
		close(fd);
}

/* Undisturbed, because a mapping that could not be removed would keep its chunk. */
static void map_make(void *p)
{
	(void)p;
	fz_unmap(&fz);
}

static void map_use(void *p)
{
	fz_map(&fz, *(int *)p);
}

static void driver_file(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/neuron/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, address, strlen(address)) < 0)
		errno = 0; /* this is the expected failure */
	close(fd);
}

static void unbind(void *p)
{
	(void)p;
	driver_file("unbind");
}

static void bind_use(void *p)
{
	(void)p;
	driver_file("bind");
}

static long long present(const char *kind)
{
	const char *line = line_of("/sys/devices/virtual/neuron_device/neuron0/neuron_core0/stats/"
				   "memory_usage/%s/present",
				   kind);

	return line ? atoll(line) : -1;
}

static bool find_address(void)
{
	char target[256];
	ssize_t n = readlink("/sys/class/neuron_device/neuron0/device", target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	snprintf(address, sizeof(address), "%.*s", ADDRESS_MAX - 1, strrchr(target, '/') + 1);
	return true;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned long long before;
	int fd;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0) {
		printf("1..0 # skip the kernel cannot make allocations fail\n");
		return 0;
	}
	fz_chip = chip_of(0);
	if (!fz_chip || !find_address() || !fz_init(&fz, seed, 0))
		return 1;

	fd = node(0, O_RDWR);
	ok(fd >= 0, "the node opens (seed %llu)", (unsigned long long)seed);
	ioctls(fd, seed);
	ok(failures > fz_ioctl_count, "%llu failures inside ioctls", failures);

	before = failures;
	for (int i = 0; i < ARGUMENTS; i++)
		each(map_make, map_use, &fd, 0);
	ok(failures > before, "%llu inside mmap", failures - before);
	close(fd);
	fz_exit(&fz);

	before = failures;
	each(nothing, open_use, NULL, 0);
	ok(failures > before, "%llu inside open and close", failures - before);

	ok(node_works(0), "nd0 works");
	is(present("host_mem"), 0, "no host memory is left allocated");
	is(present("device_mem"), 0, "no device memory is left allocated");

	before = failures;
	ok(each(unbind, bind_use, NULL, BIND_STRIDE) < NTH_MAX, "the module starts in the end");
	ok(failures > before, "%llu failures while it did", failures - before);
	ok(node_works(0), "nd0 works");
	return tap_done();
}
