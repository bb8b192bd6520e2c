// SPDX-License-Identifier: MIT
/*
 * A fuzzer of the module's ioctls and mappings that knows their structures. Processes with several
 * threads make random calls, map memory, touch it, duplicate and close descriptors, fork, and are
 * killed; chips are unbound and bound again under them. Afterwards the chips work, nothing is
 * allocated any more, and the kernel log is clean (tests/vm/one).
 *
 * With "fail", the calls' allocations and user copies fail now and then, by the kernel's fault
 * injection as set in debugfs (driver-random.t); only these calls are marked for it.
 *
 * usage: driver-fuzz CALLS [SEED [fail]]
 */
#include "chip.h"

#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fuzz.h"

#define NODES 2 /* of the machine's four, so that processes meet */
#define PROCESSES 3
#define THREADS 2
#define WILD 24 /* one value in so many is odd */
#define FDS 4
#define ERRNO_MAX 133
#define ENOTSUPP 524
#define ADDRESS_MAX 32
#define FAILURES_MAX 1000000000
/* Most structures are valid most of the time, so this many ioctls succeed at least once. */
#define WANTED_IOCTLS 78
#define WANTED_FAILING 65 /* with injected failures, in fewer calls */

struct shared {
	uint64_t calls, wanted;
	uint64_t good[128]; /* by ioctl */
	uint64_t strange; /* an errno that only the kernel uses */
	uint64_t pointers; /* kernel addresses that calls returned */
	uint64_t seeds; /* handed out */
	uint64_t rebinds;
};

static struct shared *shared;
static char address[NODES][ADDRESS_MAX]; /* of the chips on PCI */
static __thread sigjmp_buf fault;
static bool failing;
static __thread int fail_fd = -1; /* the thread's make-it-fail */

struct worker {
	struct fz fz;
	int fds[FDS];
	bool binds; /* this one takes chips away */
};

static void faulted(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

/* Switching it off copies from user memory, which may fail as well. */
static void fail(bool on)
{
	while (fail_fd >= 0 && pwrite(fail_fd, on ? "1" : "0", 1, 0) != 1)
		continue;
}

/* Opens the thread's own switch for injected faults; repeated after fork(). */
static void fail_init(void)
{
	if (fail_fd >= 0)
		close(fail_fd);
	fail_fd = failing ? open("/proc/thread-self/make-it-fail", O_RDWR | O_CLOEXEC) : -1;
	if (failing && (fail_fd < 0 || pwrite(fail_fd, "0", 1, 0) != 1))
		abort();
}

/* The chip of a mapping may be gone. */
static void touch(struct fz *fz)
{
	volatile uint8_t *p = fz->map;

	if (fz->map == MAP_FAILED || sigsetjmp(fault, 1))
		return;
	p[fz_next(fz) % fz->map_size]++;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static void bind_again(const char *where)
{
	write_file("/sys/bus/pci/drivers/neuron/bind", where);
}

static void rebind(struct fz *fz)
{
	const char *where = address[fz_next(fz) % NODES];

	if (write_file("/sys/bus/pci/drivers/neuron/unbind", where))
		__atomic_add_fetch(&shared->rebinds, 1, __ATOMIC_RELAXED);
	fail(fz_once(fz, 2));
	bind_again(where);
	fail(false);
	bind_again(where);
}

static void ioctl_once(struct worker *w)
{
	unsigned int i = fz_next(&w->fz) % fz_ioctl_count;
	const struct fz_ioctl *io = &fz_ioctls[i];
	int ret, fd = w->fds[fz_next(&w->fz) % FDS];
	uint64_t leaked;
	void *arg;

	/* these wait for others, up to seconds */
	if ((strstr(io->name, "CRWL_") || strstr(io->name, "CINIT")) && !fz_once(&w->fz, 16))
		return;
	/* and this takes minutes of a host that has other things to do */
	if (strstr(io->name, "HBM_SCRUB_START") && !fz_once(&w->fz, 1024))
		return;
	arg = fz_arg(&w->fz, io);
	fz_watch(&w->fz);
	fail(true);
	ret = call(fd, io->cmd, arg);
	fail(false);
	leaked = fz_leaked(&w->fz);
	if (leaked) {
		printf("# %s: %#llx\n", io->name, (unsigned long long)leaked);
		__atomic_add_fetch(&shared->pointers, 1, __ATOMIC_RELAXED);
	}
	if (ret >= 0) {
		__atomic_add_fetch(&shared->good[i], 1, __ATOMIC_RELAXED);
		fz_learn(&w->fz, fd, io, arg);
	} else if (-ret > ERRNO_MAX && ret != -ENOTSUPP) {
		printf("# %s: errno %d\n", io->name, -ret);
		__atomic_add_fetch(&shared->strange, 1, __ATOMIC_RELAXED);
	}
}

static void reopen(struct worker *w)
{
	int *fd = &w->fds[fz_next(&w->fz) % FDS];

	fail(true);
	if (*fd >= 0)
		close(*fd);
	if (fz_once(&w->fz, 3))
		*fd = dup(w->fds[fz_next(&w->fz) % FDS]);
	else
		*fd = node((int)(fz_next(&w->fz) % NODES), fz_once(&w->fz, 16) ? O_WRONLY : O_RDWR);
	fail(false);
}

/* A child uses what it inherited for a while, and dies in one of two ways. */
static void offspring(struct worker *w)
{
	pid_t pid = fork();

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid)
		return;
	fail_init();
	for (int i = 0; i < 32; i++) {
		if (fz_once(&w->fz, 8))
			reopen(w);
		ioctl_once(w);
	}
	if (fz_once(&w->fz, 2))
		raise(SIGKILL);
	_exit(0);
}

static void step(struct worker *w)
{
	struct fz *fz = &w->fz;

	__atomic_add_fetch(&shared->calls, 1, __ATOMIC_RELAXED);
	if (fz_once(fz, 48))
		reopen(w);
	if (fz_once(fz, 24)) {
		fz_unmap(fz);
		fail(true);
		fz_map(fz, w->fds[fz_next(fz) % FDS]);
		fail(false);
	}
	if (fz_once(fz, 24))
		touch(fz);
	if (fz_once(fz, 512))
		offspring(w);
	if (w->binds && fz_once(fz, 512))
		rebind(fz);
	/* not before the first unbinding and binding is done */
	if (fz_once(fz, 2048) && __atomic_load_n(&shared->rebinds, __ATOMIC_RELAXED))
		raise(SIGKILL);
	ioctl_once(w);
}

static void *work(void *arg)
{
	struct worker w = { .binds = arg };
	uint64_t seed = __atomic_add_fetch(&shared->seeds, 1, __ATOMIC_RELAXED);

	if (!fz_init(&w.fz, seed, WILD))
		return NULL;
	fail_init();
	for (int i = 0; i < FDS; i++)
		w.fds[i] = node((int)(seed + (uint64_t)i) % NODES, O_RDWR);
	if (w.binds) /* at least once, however few rounds this thread gets */
		rebind(&w.fz);
	while (__atomic_load_n(&shared->calls, __ATOMIC_RELAXED) < shared->wanted)
		step(&w);
	for (int i = 0; i < FDS; i++)
		close(w.fds[i]);
	fz_exit(&w.fz);
	return NULL;
}

static void process(bool binds)
{
	pthread_t t[THREADS];

	signal(SIGBUS, faulted);
	signal(SIGSEGV, faulted);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(binds && !i)))
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

/* A process that dies before the end is replaced by another one. */
static void fuzz(void)
{
	pid_t pids[PROCESSES] = { 0 }, pid = 0;

	do {
		for (int i = 0; i < PROCESSES; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			if (shared->calls >= shared->wanted)
				continue;
			pids[i] = fork();
			if (!pids[i])
				process(!i);
		}
		pid = wait(NULL);
	} while (pid > 0);
}

/* The module's own count of allocated memory */
static long long allocated(int index)
{
	char path[160];
	long long sum = 0;
	glob_t g;

	snprintf(path, sizeof(path),
		 "/sys/devices/virtual/neuron_device/neuron%d/neuron_core*/stats/memory_usage/*/"
		 "present",
		 index);
	if (glob(path, 0, NULL, &g))
		return -1;
	for (size_t i = 0; i < g.gl_pathc; i++)
		sum += atoll(line_of("%s", g.gl_pathv[i]));
	globfree(&g);
	return sum;
}

/* How many failures the kernel has injected; driver-random.t sets the limit. */
static void failures(const char *kind)
{
	const char *line = line_of("/sys/kernel/debug/%s/times", kind);
	long long n = line ? FAILURES_MAX - atoll(line) : -1;

	ok(n > 0, "%s: %lld failures", kind, n);
}

static bool addresses(void)
{
	char link[64], target[256];
	ssize_t n;

	for (int i = 0; i < NODES; i++) {
		snprintf(link, sizeof(link), "/sys/class/neuron_device/neuron%d/device", i);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			return false;
		target[n] = '\0';
		snprintf(address[i], ADDRESS_MAX, "%.*s", ADDRESS_MAX - 1,
			 strrchr(target, '/') + 1);
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	unsigned int i, good = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	fz_chip = chip_of(0);
	if (shared == MAP_FAILED || !fz_chip || !addresses())
		return 1;

	shared->wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	shared->seeds = seed * 1000003;
	failing = argc > 3;
	printf("# %llu calls, seed %llu\n", (unsigned long long)shared->wanted,
	       (unsigned long long)seed);
	fflush(stdout);

	fuzz();
	for (i = 0; i < NODES; i++)
		bind_again(address[i]);

	for (i = 0; i < fz_ioctl_count; i++) {
		good += shared->good[i] > 0;
		if (!shared->good[i])
			printf("# never successful: %s\n", fz_ioctls[i].name);
	}

	ok(good >= (failing ? WANTED_FAILING : WANTED_IOCTLS), "%u of %u ioctls succeeded", good,
	   fz_ioctl_count);
	ok(shared->rebinds > 0, "chips were unbound, %llu times",
	   (unsigned long long)shared->rebinds);
	is((long long)shared->strange, 0, "errors are ones that programs know");
	ok(fz_kernel_address(0, 0xffff888104c0a000) && fz_kernel_address(1, 0xffffffffc0123456) &&
		   !fz_kernel_address(UINT64_MAX, 0xffffffff80000003) &&
		   !fz_kernel_address(0, -14ull),
	   "an address of the kernel's is told from what is none");
	is((long long)shared->pointers, 0, "and none came back");

	if (failing) {
		failures("failslab");
		failures("fail_page_alloc");
		failures("fail_usercopy");
	}

	for (int n = 0; n < 4; n++) {
		ok(node_works(n), "nd%d works", n);
		is(allocated(n), 0, "nd%d: nothing is allocated", n);
	}
	return tap_done();
}
