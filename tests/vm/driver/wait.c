// SPDX-License-Identifier: MIT
/*
 * read() and poll() of a node: which cores a file watches, what ends a poll, what others cannot
 * see, and that interrupts come only when somebody waits. /proc/interrupts is the witness.
 */
#include "chip.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#define FOREVER 60000 /* ms */

static uint32_t cores, other; /* how many there are, and one beside core 1 */

static int nq_init(int fd, uint32_t nc)
{
	struct neuron_ioctl_notifications_init_with_realloc_v2 a = {
		.nq_dev_id = nc,
		.nq_type = NEURON_NQ_ERROR,
		.engine_index = neuron_gen_nq_slot(chip_of(0), NEURON_NQ_ERROR, 0),
		.size = 4096,
		.on_host_memory = 1,
	};

	return call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, &a);
}

/* Makes one entry in the error queue: a semaphore cannot go below zero. */
static int make_entry(int fd, uint32_t nc)
{
	struct neuron_ioctl_semaphore a = { nc, 9, 1 };

	return call(fd, NEURON_IOCTL_SEMAPHORE_DECREMENT, &a);
}

static int look(int fd, unsigned int nc, uint32_t *n)
{
	ssize_t got = pread(fd, n, sizeof(*n), (off_t)(nc * sizeof(*n)));

	return got < 0 ? -errno : (int)got;
}

static int ready(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, timeout_ms);

	return n < 0 ? -errno : n ? p.revents : 0;
}

/* The interrupts of all of the module's vectors since boot, on all processors */
static long interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[512], *p, *end;
	long total = 0, n;

	while (f && fgets(line, sizeof(line), f)) {
		p = strchr(line, ':');
		if (!p || !strstr(line, "neuron"))
			continue;
		for (p++; n = strtol(p, &end, 10), end != p; p = end)
			total += n;
	}
	if (f)
		fclose(f);
	return total;
}

static void test_forms(int fd)
{
	uint32_t n[NEURON_CORES_MAX + 1];
	const ssize_t all = 4 * cores;
	volatile uintptr_t nowhere = 8;
	int free_fd = node(0, O_WRONLY);

	is(pread(fd, n, (size_t)all, 0), all, "all cores at once");
	is(pread(fd, n, sizeof(n), 4), all - 4, "no more than there are");
	is(pread(fd, n, 4, all), 0, "behind the last core is the end");
	is(read(fd, n, (size_t)all), all, "read");
	is(read(fd, n, (size_t)all), all, "begins at the first core every time");
	ok(pread(fd, n, 3, 0) < 0 && errno == EINVAL, "whole numbers only");
	ok(pread(fd, n, 4, 2) < 0 && errno == EINVAL, "at their places");
	ok(pread(fd, (void *)nowhere, 4, 0) < 0 && errno == EFAULT, "to nowhere");
	ok(read(free_fd, n, 4) < 0 && errno == EBADF, "a write-only file does not read");
	is(ready(free_fd, 0), POLLIN, "and is always ready, as under the public driver");
	close(free_fd);
}

static void test_watching(int fd)
{
	uint32_t n, before;
	int two = node(0, O_RDWR);
	long irqs;

	is(look(fd, 1, &before), 4, "look at core 1");
	is(ready(fd, 0), 0, "nothing new");
	irqs = interrupts();
	make_entry(fd, 1);
	is(ready(fd, FOREVER), POLLIN, "an entry makes it readable");
	is(ready(fd, FOREVER), POLLIN, "until it was looked at");
	is(look(fd, 1, &n), 4, "look");
	is(n, before + 1, "one more");
	is(ready(fd, 0), 0, "and nothing new again");
	/* the entry may have been seen before its interrupt came */
	while (interrupts() <= irqs)
		sched_yield();
	ok(true, "there was an interrupt");
	make_entry(fd, 1);
	is(ready(fd, 0), POLLIN, "an entry is seen whether its interrupt has come or not");
	is(ready(two, 0), POLLIN, "so is a file that has not looked at anything");
	look(two, other, &n);
	is(ready(two, 0), 0, "until it has: now it watches core %u alone", other);
	make_entry(fd, other);
	is(ready(two, FOREVER), POLLIN, "which has an entry now");
	close(two);
}

static void test_silent(int fd)
{
	long irqs, before;
	uint32_t n[NEURON_CORES_MAX];
	int i;

	/* another core's interrupt shows that those before it have arrived */
	is(pread(fd, n, sizeof(n), 0), 4 * cores, "look at all");
	is(ready(fd, 0), 0, "armed");
	irqs = interrupts();
	make_entry(fd, other);
	for (before = irqs; irqs == before;)
		irqs = interrupts();
	for (i = 0; i < 50; i++)
		make_entry(fd, other);
	look(fd, other, n); /* reads a register, which comes after the entries */
	is(interrupts(), irqs, "nobody waits: no interrupt");
}

/*
 * Two threads answer each other's entries: each is made after the last was seen, so a lost one
 * would hang here.
 */
static void test_ping_pong(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), i, mine = node(0, O_RDWR);
	uint32_t n = 0, last;

	look(mine, 1, &last);
	epoll_ctl(ep, EPOLL_CTL_ADD, mine, &ev);
	for (i = 0; i < 200; i++) {
		make_entry(fd, 1);
		if (epoll_wait(ep, &ev, 1, FOREVER) != 1)
			break;
		look(mine, 1, &n);
		if (n != last + 1)
			break;
		last = n;
	}
	is(i, 200, "200 entries through epoll, none lost");
	close(ep);
	close(mine);
}

/*
 * The cores belong to the parent: a child sees nothing of them, by its own file or by the inherited
 * one.
 */
static void test_others(int fd)
{
	uint32_t n = 1;
	int status = 1, mine, bad;
	pid_t pid = fork();

	if (!pid) {
		mine = node(0, O_RDWR);
		bad = mine < 0 || look(mine, 1, &n) != 4 || n != 0;
		bad |= (ready(mine, 0) != 0) << 1;
		close(mine);
		bad |= (look(fd, 1, &n) != -EACCES) << 2;
		bad |= (ready(fd, 0) != POLLERR) << 3;
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 0, "another process counts and waits for nothing");
}

int main(void)
{
	int fd = node(0, O_RDWR);
	uint32_t nc;

	cores = chip_of(0)->cores;
	other = cores > 2 ? 2 : 0;
	for (nc = 0; nc < cores; nc++)
		is(nq_init(fd, nc), 0, "error queue of core %u", nc);
	test_forms(fd);
	test_watching(fd);
	test_silent(fd);
	test_ping_pong(fd);
	test_others(fd);
	close(fd);
	return tap_done();
}
