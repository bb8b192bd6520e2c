/* SPDX-License-Identifier: MIT */
/*
 * Suspend to RAM under a process that has memory and a copy in progress on the chip: they are gone
 * and it gets errors until it has closed the node; then everything works again. The machine's clock
 * ends the sleep.
 *
 * usage: driver-suspend SECONDS, from now to the alarm, which is lost if the machine does not sleep
 * yet
 */
#include "tap.h"

#define SIZE (1u << 20)

static uint8_t in[SIZE], out[SIZE];

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int suspend_machine(const char *seconds)
{
	char alarm[16];
	int ret;

	snprintf(alarm, sizeof(alarm), "+%s", seconds);
	ret = put("/sys/class/rtc/rtc0/wakealarm", alarm);
	return ret ? ret : put("/sys/power/state", "mem");
}

static int copy_start(int fd, uint64_t handle)
{
	struct neuron_ioctl_mem_copy_async64 a = {
		.src_mem_handle = handle,
		.dst_mem_handle = handle,
		.dst_offset = SIZE / 2,
		.size = SIZE / 2,
		.pwait_handle = (uint32_t)-1,
	};

	return call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &a);
}

static bool use(int fd, uint64_t seed)
{
	uint64_t handle = 0;

	pattern(in, SIZE, seed);
	memset(out, 0, SIZE);
	return !chunk(fd, false, SIZE, 0, &handle) && !copy_in(fd, handle, in, 0, SIZE) &&
	       !copy_out(fd, handle, out, 0, SIZE) && !memcmp(in, out, SIZE);
}

int main(int argc, char **argv)
{
	const char *seconds = argc > 1 ? argv[1] : "2";
	struct neuron_ioctl_device_basic_info info = { 0 };
	uint64_t handle = 0;
	int fd = node(0, O_RDWR), again;

	ok(fd >= 0 && use(fd, 1), "a process works");
	is(chunk(fd, false, SIZE, 1, &handle), 0, "has memory");
	is(copy_start(fd, handle), 0, "and a copy under way");
	is(suspend_machine(seconds), 0, "the machine sleeps and wakes up");
	is(copy_out(fd, handle, out, 0, SIZE), -EIO, "its memory is not to be had");
	is(chunk(fd, false, SIZE, 0, &handle), -EIO, "nor new memory");
	is(call(fd, NEURON_IOCTL_DEVICE_BASIC_INFO, &info), 0, "it may ask what the chip is");
	is(node(0, O_RDWR), -EIO, "but not open the node once more");
	again = node(1, O_RDWR);
	ok(again >= 0 && use(again, 2), "another chip, on which it had nothing, works");
	close(fd);
	fd = node(0, O_RDWR);
	ok(fd >= 0 && use(fd, 3), "closed and opened again, it works");
	is(suspend_machine(seconds), 0, "a second time");
	is(chunk(fd, false, SIZE, 0, &handle), -EIO, "the same");
	close(fd);
	fd = node(0, O_RDWR);
	ok(fd >= 0 && use(fd, 4), "and again");
	return tap_done();
}
