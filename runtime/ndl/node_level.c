/* SPDX-License-Identifier: MIT */
/*
 * libndl's node backend, the level of the driver: which of the public driver's releases introduced
 * an ioctl number or a type of memory, and whether the loaded driver has it. What it has not is not
 * passed to it, because it would complain in the kernel log. A call with a predecessor falls back
 * to that (node.c, node_device.c); for the others the caller gets -ENOTSUP, and ndlx_error_text()
 * names the release they need.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node.h"

/*
 * A release as a number, so that releases can be compared; the fourth part of the public driver's
 * has no meaning here
 */
#define RELEASE(major, minor, patch) ((uint32_t)(major) << 24 | (minor) << 16 | (patch))

/* The numbers that are not in every release, with the first public release that has them */
static const struct {
	unsigned long request;
	uint32_t since;
} levels[] = {
	{ NEURON_IOCTL_COMPATIBLE_VERSION, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_ACQUIRE_NEURON_DS, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_RELEASE_NEURON_DS, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_READER_ENTER, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_READER_EXIT, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_WRITER_ENTER, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_WRITER_DOWNGRADE, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_NC_RANGE_MARK, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_CINIT_SET_STATE, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_NC_MODEL_STARTED_COUNT, RELEASE(2, 0, 386) },
	{ NEURON_IOCTL_MEM_GET_EXTENDED_INFO, RELEASE(2, 0, 450) },
	{ NEURON_IOCTL_MEMSET, RELEASE(2, 0, 450) },
	{ NEURON_IOCTL_DEVICE_BDF, RELEASE(2, 2, 13) },
	{ NEURON_IOCTL_MEM_ALLOC_V2, RELEASE(2, 3, 3) },
	{ NEURON_IOCTL_NC_RESET, RELEASE(2, 5, 7) },
	{ NEURON_IOCTL_NC_RESET_READY, RELEASE(2, 5, 7) },
	{ NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, RELEASE(2, 5, 7) },
	{ NEURON_IOCTL_DEVICE_BDF_EXT, RELEASE(2, 9, 4) },
	{ NEURON_IOCTL_DMABUF_FD, RELEASE(2, 9, 4) },
	{ NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, RELEASE(2, 11, 9) },
	{ NEURON_IOCTL_DRIVER_INFO_GET, RELEASE(2, 12, 11) },
	{ NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, RELEASE(2, 14, 5) },
	{ NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0, RELEASE(2, 14, 5) },
	{ NEURON_IOCTL_RESOURCE_MMAP_INFO, RELEASE(2, 14, 5) },
	{ NEURON_IOCTL_PRINTK, RELEASE(2, 15, 9) },
	{ NEURON_IOCTL_MEM_MC_GET_INFO_V2, RELEASE(2, 16, 7) },
	{ NEURON_IOCTL_HOST_DEVICE_ID, RELEASE(2, 16, 7) },
	{ NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, RELEASE(2, 16, 7) },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT, RELEASE(2, 17, 17) },
	{ NEURON_IOCTL_DUMP_MEM_CHUNKS, RELEASE(2, 18, 12) },
	{ NEURON_IOCTL_NC_PID_STATE_DUMP, RELEASE(2, 18, 12) },
	{ NEURON_IOCTL_HBM_SCRUB_START, RELEASE(2, 19, 64) },
	{ NEURON_IOCTL_HBM_SCRUB_WAIT, RELEASE(2, 19, 64) },
	{ NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, RELEASE(2, 19, 64) },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_MEM_COPY64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_MEM_BUF_COPY64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_MEMSET64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_PROGRAM_ENGINE_NC64, RELEASE(2, 20, 28) },
	{ NEURON_IOCTL_POD_STATUS_V2, RELEASE(2, 23, 9) },
	{ NEURON_IOCTL_POD_CTRL_V2, RELEASE(2, 23, 9) },
	{ NEURON_IOCTL_MEM_BUF_ZEROCOPY64, RELEASE(2, 24, 7) },
};

/* The types of memory that are not in every release that has types, and what an older one has */
static const struct {
	uint32_t type, since, before;
} types[] = {
	{ NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST, RELEASE(2, 18, 12),
	  NEURON_MEMALLOC_TYPE_UNKNOWN_HOST },
	{ NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, RELEASE(2, 18, 12),
	  NEURON_MEMALLOC_TYPE_UNKNOWN_DEVICE },
	{ NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE, RELEASE(2, 24, 7),
	  NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE },
};

/*
 * The level of the loaded driver when a node was last opened; UINT32_MAX: not known, taken as
 * having all numbers
 */
static _Atomic uint32_t loaded = UINT32_MAX;
/*
 * The release that this thread's last refused number needs; 0: nothing was refused for that reason
 */
static _Thread_local uint32_t needed;

static uint32_t since(unsigned long request)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (levels[i].request == request)
			return levels[i].since;
	return 0;
}

void node_level_set(const char *version)
{
	unsigned int major, minor, patch = 0;

	if (sscanf(version, "%3u.%3u.%5u", &major, &minor, &patch) < 2)
		loaded = UINT32_MAX;
	else
		loaded = RELEASE(major & 0xff, minor & 0xff, patch & 0xffff);
}

/* Reads the first line without its end. */
int node_read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, line, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

void node_level_read(void)
{
	char version[64];

	if (node_read_line("/sys/module/neuron/version", version, sizeof(version)))
		version[0] = '\0';
	node_level_set(version);
}

bool node_has(unsigned long request)
{
	return loaded >= since(request);
}

int node_refused(unsigned long request)
{
	if (node_has(request))
		return 0;
	needed = since(request);
	return -ENOTSUP;
}

uint32_t node_memory_type(uint32_t type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type && loaded < types[i].since)
			return types[i].before;
	return type;
}

bool node_level_text(char *text, size_t size)
{
	if (!needed)
		return false;
	snprintf(text, size, "driver too old: needs %u.%u.%u or newer", needed >> 24,
		 needed >> 16 & 0xff, needed & 0xffff);
	return true;
}
