/* SPDX-License-Identifier: MIT */
/*
 * TAP for the driver tests in C, and the few helpers they share: opening a node, allocating a
 * chunk, a pattern. One program is one test file; main() ends with return tap_done().
 */
#ifndef DRIVER_TAP_H
#define DRIVER_TAP_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"
#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3))) static inline bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	if (!good)
		tap_failed++;
	fflush(stdout);
	return good;
}

__attribute__((format(printf, 3, 4))) static inline bool is(long long got, long long wanted,
							    const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (ok(got == wanted, "%s", name))
		return true;
	printf("#   got %lld (%#llx), wanted %lld (%#llx)\n", got, got, wanted, wanted);
	return false;
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

/* Returns 0 and positive results as they are, errors as -errno. */
static inline int call(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

static inline int node(int index, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/neuron%d", index);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static inline int chunk(int fd, bool host, uint64_t size, uint32_t channel, uint64_t *handle)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
		.size = size,
		.host_memory = host,
		.dram_channel = channel,
		.mem_type = host ? NEURON_MEMALLOC_TYPE_TENSORS_HOST
				 : NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
		.mem_handle = (void *)handle,
	};

	return call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a);
}

/* Memory of the device for a core */
static inline int chunk_of(int fd, uint32_t nc, uint64_t size, uint64_t *handle)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
		.size = size,
		.nc_id = nc,
		.mem_type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
		.mem_handle = (void *)handle,
	};

	return call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a);
}

static inline int chunk_free(int fd, uint64_t handle)
{
	struct neuron_ioctl_mem_free a = { handle };

	return call(fd, NEURON_IOCTL_MEM_FREE, &a);
}

static inline uint64_t chunk_pa(int fd, uint64_t handle)
{
	uint64_t pa = 0;
	struct neuron_ioctl_mem_get_pa a = { handle, (void *)&pa };

	return call(fd, NEURON_IOCTL_MEM_GET_PA, &a) ? UINT64_MAX : pa;
}

static inline int copy_buf(int fd, unsigned long cmd, uint64_t handle, void *buf, uint64_t offset,
			   uint64_t size, bool in)
{
	struct neuron_ioctl_mem_buf_copy64 a = { handle, buf, size, offset, in };

	return call(fd, cmd, &a);
}

static inline int copy_in(int fd, uint64_t handle, const void *buf, uint64_t offset, uint64_t size)
{
	return copy_buf(fd, NEURON_IOCTL_MEM_BUF_COPY64, handle, (void *)buf, offset, size, true);
}

static inline int copy_out(int fd, uint64_t handle, void *buf, uint64_t offset, uint64_t size)
{
	return copy_buf(fd, NEURON_IOCTL_MEM_BUF_COPY64, handle, buf, offset, size, false);
}

/* Fills with xorshift, so that every run has the same bytes. */
static inline void pattern(void *buf, size_t size, uint64_t seed)
{
	uint8_t *p = buf;
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
	size_t i;

	for (i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)x;
	}
}

static inline bool all_bytes(const uint8_t *p, size_t n, uint8_t value)
{
	while (n--)
		if (*p++ != value)
			return false;
	return true;
}

/* True if a node takes bytes and gives them back */
static inline bool node_works(int index)
{
	uint8_t in[10000], out[10000];
	int fd = node(index, O_RDWR);
	uint64_t h;
	bool good;

	pattern(in, sizeof(in), 8);
	good = fd >= 0 && !chunk(fd, false, sizeof(in), 0, &h) &&
	       !copy_in(fd, h, in, 0, sizeof(in)) && !copy_out(fd, h, out, 0, sizeof(out)) &&
	       !memcmp(in, out, sizeof(in));
	close(fd);
	return good;
}

/* Runs a command, which may call functions that the test has exported. */
static inline bool bash(const char *command)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		execl("/bin/bash", "bash", "-c", command, (char *)NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && !status;
}

/* The first line of a file, without the newline; NULL if it cannot be read */
static inline const char *line_of(const char *fmt, ...)
{
	static char line[256];
	char path[256];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	fclose(f);
	return line;
}

#endif
