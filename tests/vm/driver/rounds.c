// SPDX-License-Identifier: MIT
/*
 * Resets and ends, again and again, on every chip of the machine in turn: a reset by ioctl or by
 * sysfs, and processes that open a node, copy, start what they do not wait for, and are killed.
 * Then nothing is allocated, nobody is attached and the chips copy.
 *
 * usage: driver-rounds RESETS KILLS
 */
#include "tap.h"

#include <glob.h>
#include <signal.h>

#define SIZE 100000u

static int devices;

static int reset_ioctl(int index)
{
	struct neuron_ioctl_device_reset r = { NEURON_NC_MAP_DEVICE, 0 };
	struct neuron_ioctl_device_ready ready = { 0, 99 };
	int fd = node(index, O_RDWR), ret = call(fd, NEURON_IOCTL_NC_RESET, &r);

	ready.request_id = r.request_id;
	if (!ret)
		ret = call(fd, NEURON_IOCTL_NC_RESET_READY, &ready);
	close(fd);
	return ret ? ret : ready.result;
}

/* Opens wait for its end */
static int reset_sysfs(int index)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/neuron_device/neuron%d/reset", index);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, "1", 1);
	close(fd);
	return n == 1 ? 0 : -EIO;
}

/* A process that has memory, a queue, a lock and copies, until it is killed */
static void work(int index, int tell)
{
	struct neuron_ioctl_crwl lock = { 0, { { 7 } } };
	struct neuron_ioctl_dma_queue_init q = { 0, 3, 64, 64, 0, 0, 0, 0 };
	static uint8_t in[SIZE], out[SIZE];
	struct neuron_ioctl_mem_copy_async64 a = { .size = SIZE, .pwait_handle = UINT32_MAX };
	int fd = node(index, O_RDWR);
	uint64_t host, here, tx, rx;

	pattern(in, SIZE, (uint64_t)index);
	if (chunk(fd, true, SIZE, 0, &host) || chunk(fd, false, SIZE, 0, &here) ||
	    chunk(fd, true, 4096, 0, &tx) || chunk(fd, true, 4096, 0, &rx))
		_exit(1);
	q.tx_handle = tx;
	q.rx_handle = rx;
	if (call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &q) ||
	    call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock) || copy_in(fd, here, in, 0, SIZE) ||
	    copy_out(fd, here, out, 0, SIZE) || memcmp(in, out, SIZE))
		_exit(1);
	a.src_mem_handle = here;
	a.dst_mem_handle = host;
	if (write(tell, "", 1) != 1)
		_exit(1);
	for (;;)
		if (call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &a))
			_exit(1);
}

static bool killed(int index)
{
	int tell[2], status;
	pid_t pid;
	char byte;
	bool told;

	if (pipe(tell))
		return false;
	pid = fork();
	if (!pid)
		work(index, tell[1]);
	close(tell[1]);
	told = read(tell[0], &byte, 1) == 1;
	close(tell[0]);
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && told && WIFSIGNALED(status);
}

/* The bytes that the module counts as allocated, of all chips */
static long long allocated(void)
{
	long long sum = 0;
	glob_t g;

	if (glob("/sys/devices/virtual/neuron_device/neuron*/neuron_core*/stats/memory_usage/*/"
		 "present",
		 0, NULL, &g))
		return -1;
	for (size_t i = 0; i < g.gl_pathc; i++)
		sum += atoll(line_of("%s", g.gl_pathv[i]));
	globfree(&g);
	return sum;
}

/* Processes that are attached beside this one, which asks */
static long long attached(void)
{
	long long n = 0;

	for (int i = 0; i < devices; i++) {
		struct {
			struct neuron_ioctl_get_apps_info head;
			struct neuron_app_info app[16];
		} a = { .head = { .capacity = 16, .apps_info_flags = NEURON_APP_INFO_ALL } };
		int fd = node(i, O_RDWR);

		n += call(fd, NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, &a) ? 1000 : a.head.size - 1;
		close(fd);
	}
	return n;
}

int main(int argc, char **argv)
{
	int resets = argc > 1 ? atoi(argv[1]) : 100, kills = argc > 2 ? atoi(argv[2]) : 1000;
	int good = 0, fd;

	while ((fd = node(devices, O_WRONLY)) >= 0) {
		close(fd);
		devices++;
	}
	if (!ok(devices > 0, "%d chips", devices))
		return tap_done();
	for (int i = 0; i < resets; i++)
		good += !(i % 2 ? reset_sysfs(i / 2 % devices) : reset_ioctl(i / 2 % devices)) &&
			node_works(i / 2 % devices);
	is(good, resets, "resets by ioctl and by sysfs, and copies after each");
	good = 0;
	for (int i = 0; i < kills; i++)
		good += killed(i % devices);
	is(good, kills, "processes killed at work");
	is(attached(), 0, "nobody is attached any more");
	is(allocated(), 0, "nothing is allocated");
	good = 0;
	for (int i = 0; i < devices; i++)
		good += node_works(i);
	is(good, devices, "the chips work");
	return tap_done();
}
