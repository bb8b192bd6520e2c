// SPDX-License-Identifier: MIT
/*
 * The time that the driver and the chip take for one operation: prints lines of a name and seconds,
 * the median of many. Copies go through libndl, which chooses the path by size, and the bytes that
 * come back are compared. Run by tests/bench/run.py, in a guest and (memcpy only) on the host.
 *
 * usage: bench-driver [--memcpy | NVME-DEVICE]
 */
#include "ndlx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "neuron/hw/udma.h"

#define MAX_SIZE (1ull << 30)
#define HUGE_PAGE (2ull << 20)
#define MAX_RUNS 2000
#define READ_SIZE 4096
#define RING 64
#define ENGINE 1
#define QUEUE 3

struct bench {
	ndlx_device_t *dev;
	uint64_t chunk, other; /* device memory */
	char *from, *to;
	uint64_t size;
	int fd; /* of the file that is opened or read */
	const char *path;
	/* one descriptor's copy: its rings, and the word that it writes */
	uint64_t tx, rx, host, host_pa, chunk_pa;
	uint32_t *arrival;
	uint32_t lap, at;
};

typedef int (*act_fn)(struct bench *b);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* prepare may be NULL; its time is not counted. */
static int measure(struct bench *b, const char *name, int runs, act_fn prepare, act_fn act)
{
	static double took[MAX_RUNS];
	int ret = 0;

	for (int i = 0; i < runs && !ret; i++) {
		if (prepare)
			ret = prepare(b);
		took[i] = now();
		ret = ret ? ret : act(b);
		took[i] = now() - took[i];
	}
	if (ret) {
		fprintf(stderr, "bench-driver: %s: %s\n", name, strerror(-ret));
		return ret;
	}
	qsort(took, runs, sizeof(took[0]), by_value);
	printf("%s %.9f\n", name, took[runs / 2]);
	fflush(stdout);
	return 0;
}

/* Copies */

static int copy_memcpy(struct bench *b)
{
	memcpy(b->to, b->from, b->size);
	return 0;
}

static int copy_in(struct bench *b)
{
	return ndlx_memory_buf_copyin(b->dev, b->chunk, b->from, 0, b->size);
}

static int copy_device(struct bench *b)
{
	return ndlx_memory_copy(b->dev, b->chunk, b->other, 0, 0, b->size);
}

static int copy_out(struct bench *b)
{
	return ndlx_memory_buf_copyout(b->dev, b->other, b->to, 0, b->size);
}

static const struct {
	const char *name;
	uint64_t size;
	int runs;
} sizes[] = { { "4k", 4096, 1000 }, { "1m", 1 << 20, 60 }, { "1g", 1 << 30, 3 } };

static int measure_copies(struct bench *b, bool device)
{
	static const struct {
		const char *name;
		act_fn act;
	} ways[] = { { "memcpy", copy_memcpy },
		     { "in", copy_in },
		     { "device", copy_device },
		     { "out", copy_out } };
	char name[32];

	for (unsigned int s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		b->size = sizes[s].size;
		for (unsigned int w = 0; w < (device ? 4 : 1); w++) {
			snprintf(name, sizeof(name), "%s-%s", ways[w].name, sizes[s].name);
			if (w == 1)
				memset(b->to, 0, b->size);
			if (measure(b, name, sizes[s].runs, NULL, ways[w].act))
				return -EIO;
		}
		if (memcmp(b->from, b->to, b->size)) {
			fprintf(stderr, "bench-driver: %s: other bytes came back\n", sizes[s].name);
			return -EIO;
		}
	}
	return 0;
}

/* Calls */

static int open_close(struct bench *b)
{
	int fd = open(b->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return close(fd) ? -errno : 0;
}

static int smallest_ioctl(struct bench *b)
{
	struct neuron_ioctl_compatible_version v;

	return ioctl(b->fd, NEURON_IOCTL_COMPATIBLE_VERSION, &v) ? -errno : 0;
}

static int refused_ioctl(struct bench *b)
{
	struct termios t;

	return ioctl(b->fd, TCGETS, &t) && errno == ENOTTY ? 0 : -EIO;
}

static int reset(struct bench *b)
{
	uint32_t id;
	int result, ret = ndlx_reset_ncs(b->dev, NEURON_NC_MAP_DEVICE, &id);

	if (!ret)
		ret = ndlx_ready_ncs(b->dev, id, &result);
	return ret ? ret : result;
}

static int measure_calls(struct bench *b, const char *path, const char *suffix, act_fn call)
{
	char name[32];
	int ret;

	b->path = path;
	snprintf(name, sizeof(name), "open-%s", suffix);
	ret = measure(b, name, MAX_RUNS, NULL, open_close);
	b->fd = open(path, O_RDWR | O_CLOEXEC);
	if (b->fd < 0)
		return -errno;
	snprintf(name, sizeof(name), "ioctl-%s", suffix);
	if (!ret)
		ret = measure(b, name, MAX_RUNS, NULL, call);
	close(b->fd);
	return ret;
}

/* One descriptor in a queue of the benchmark's own, into host memory that is polled */

static void descriptor(uint32_t *d, struct bench *b, uint32_t flags, uint64_t addr)
{
	d[0] = flags | b->lap << NEURON_UDMA_DESC_RING_ID_SHIFT | READ_SIZE;
	d[1] = 0;
	d[2] = (uint32_t)addr;
	d[3] = addr >> 32;
}

static int next_descriptor(struct bench *b)
{
	uint32_t t[4], r[4];
	int ret;

	descriptor(t, b, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST, b->chunk_pa);
	descriptor(r, b, 0, b->host_pa);
	ret = ndlx_dma_copy_descriptors(b->dev, b->tx, t, b->at * sizeof(t), 1,
					NEURON_DMA_QUEUE_TX);
	if (!ret)
		ret = ndlx_dma_copy_descriptors(b->dev, b->rx, r, b->at * sizeof(r), 1,
						NEURON_DMA_QUEUE_RX);
	if (++b->at == RING) {
		b->at = 0;
		b->lap = (b->lap + 1) & 3;
	}
	*b->arrival = 0;
	return ret;
}

static int ring_and_wait(struct bench *b)
{
	int ret = ndlx_dma_queue_copy_start(b->dev, ENGINE, QUEUE, 1, 1);
	double deadline = now() + 10;

	while (!ret && !__atomic_load_n(b->arrival, __ATOMIC_ACQUIRE))
		if (now() > deadline)
			return -ETIMEDOUT;
	return ret;
}

static int host_chunk(struct bench *b, uint64_t size, uint64_t *handle)
{
	const struct ndlx_mem_params mem = { .size = size,
					     .host = true,
					     .type = NEURON_MEMALLOC_TYPE_TENSORS_HOST };

	return ndlx_memory_alloc(b->dev, &mem, handle);
}

static int measure_doorbell(struct bench *b)
{
	struct ndlx_queue_params q = {
		.eng = ENGINE, .qid = QUEUE, .tx_count = RING, .rx_count = RING
	};
	void *va;

	b->lap = 1;
	if (host_chunk(b, 4096, &b->tx) || host_chunk(b, 4096, &b->rx) ||
	    host_chunk(b, READ_SIZE, &b->host) ||
	    ndlx_memory_get_pa(b->dev, b->host, &b->host_pa) ||
	    ndlx_memory_get_pa(b->dev, b->chunk, &b->chunk_pa) ||
	    ndlx_memory_map(b->dev, b->host, &va))
		return -EIO;
	b->arrival = (uint32_t *)((char *)va + READ_SIZE - sizeof(uint32_t));
	q.tx_handle = b->tx;
	q.rx_handle = b->rx;
	if (ndlx_dma_queue_init(b->dev, &q))
		return -EIO;
	return measure(b, "doorbell", MAX_RUNS, next_descriptor, ring_and_wait);
}

/* A different block each time, so that none is cached. */
static int read_block(struct bench *b)
{
	b->at++;
	return pread(b->fd, b->to, READ_SIZE, (off_t)b->at * READ_SIZE) == READ_SIZE ? 0 : -errno;
}

static int measure_read(struct bench *b, const char *path)
{
	int ret;

	b->at = 0;
	b->fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (b->fd < 0) {
		fprintf(stderr, "bench-driver: %s: %s\n", path, strerror(errno));
		return -errno;
	}
	ret = measure(b, "read", MAX_RUNS, NULL, read_block);
	close(b->fd);
	return ret;
}

static char *buffer(void)
{
	char *p = mmap(NULL, MAX_SIZE + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	madvise(p, MAX_SIZE, MADV_HUGEPAGE);
	memset(p, 0, MAX_SIZE);
	return p;
}

static int open_device(struct bench *b)
{
	const ndlx_device_init_param_t use = { .initialize_device = true };
	/* a region is as large as the largest copy, and the first one may be in use */
	struct ndlx_mem_params mem = { .size = MAX_SIZE,
				       .region = 1,
				       .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	int ret = ndlx_open_device(0, &use, &b->dev);

	if (!ret)
		ret = ndlx_memory_alloc(b->dev, &mem, &b->chunk);
	mem.channel = 1;
	if (!ret)
		ret = ndlx_memory_alloc(b->dev, &mem, &b->other);
	if (ret)
		fprintf(stderr, "bench-driver: device 0: %s\n", strerror(-ret));
	return ret;
}

static int measure_device(struct bench *b, const char *nvme)
{
	int ret = open_device(b);

	if (ret)
		return ret;
	if (measure_copies(b, true) || measure_calls(b, "/dev/null", "null", refused_ioctl) ||
	    measure_calls(b, "/dev/neuron0", "neuron", smallest_ioctl) || measure_doorbell(b) ||
	    (nvme && measure_read(b, nvme)) || measure(b, "reset", 20, NULL, reset))
		ret = -EIO;
	ndlx_close_device(b->dev);
	return ret;
}

int main(int argc, char **argv)
{
	struct bench b = { .from = buffer(), .to = buffer() };

	if (!b.from || !b.to) {
		fprintf(stderr, "bench-driver: no memory\n");
		return EXIT_FAILURE;
	}
	for (uint64_t i = 0; i < MAX_SIZE; i += sizeof(uint64_t))
		*(uint64_t *)(b.from + i) = (i + 1) * 0x9e3779b97f4a7c15u;
	if (argc > 1 && !strcmp(argv[1], "--memcpy"))
		return measure_copies(&b, false) ? EXIT_FAILURE : EXIT_SUCCESS;
	return measure_device(&b, argc > 1 ? argv[1] : NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}
