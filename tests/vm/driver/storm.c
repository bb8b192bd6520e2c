// SPDX-License-Identifier: MIT
/*
 * Hostile programs: threads that make every ioctl with random arguments, bad pointers included,
 * while others open, close, fork, map, reset and die. The module must survive and the chip stay
 * usable; the results of single calls are ignored.
 *
 * usage: driver-storm [ROUNDS [CALLS [SEED]]], calls of each thread
 */
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 3
#define PROCESSES 3
#define ARG_SIZE 16384

static const unsigned long numbers[] = {
	NEURON_IOCTL_DEVICE_RESET,
	NEURON_IOCTL_DEVICE_READY,
	NEURON_IOCTL_DEVICE_INFO,
	NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO,
	NEURON_IOCTL_BAR_READ,
	NEURON_IOCTL_BAR_WRITE,
	NEURON_IOCTL_POST_METRIC,
	NEURON_IOCTL_MEM_ALLOC,
	NEURON_IOCTL_MEM_ALLOC_V2,
	NEURON_IOCTL_MEM_ALLOC_V2MT,
	NEURON_IOCTL_MEM_ALLOC_V2MT64,
	NEURON_IOCTL_MEM_FREE,
	NEURON_IOCTL_MEM_COPY,
	NEURON_IOCTL_MEM_COPY64,
	NEURON_IOCTL_MEM_BUF_COPY,
	NEURON_IOCTL_MEM_BUF_COPY64,
	NEURON_IOCTL_MEM_GET_PA,
	NEURON_IOCTL_MEM_GET_INFO,
	NEURON_IOCTL_PROGRAM_ENGINE,
	NEURON_IOCTL_MEMSET,
	NEURON_IOCTL_MEMSET64,
	NEURON_IOCTL_MEM_GET_EXTENDED_INFO,
	NEURON_IOCTL_DMA_ENG_SET_STATE,
	NEURON_IOCTL_DMA_ENG_GET_STATE,
	NEURON_IOCTL_DMA_QUEUE_INIT,
	NEURON_IOCTL_DMA_QUEUE_INIT_BATCH,
	NEURON_IOCTL_DMA_QUEUE_RELEASE,
	NEURON_IOCTL_DMA_QUEUE_COPY_START,
	NEURON_IOCTL_DMA_ACK_COMPLETED,
	NEURON_IOCTL_DMA_QUEUE_GET_STATE,
	NEURON_IOCTL_DMA_COPY_DESCRIPTORS,
	NEURON_IOCTL_DMA_COPY_DESCRIPTORS64,
	NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT,
	NEURON_IOCTL_SEMAPHORE_INCREMENT,
	NEURON_IOCTL_SEMAPHORE_READ,
	NEURON_IOCTL_SEMAPHORE_WRITE,
	NEURON_IOCTL_EVENT_SET,
	NEURON_IOCTL_EVENT_GET,
	NEURON_IOCTL_NOTIFICATIONS_INIT_V1,
	NEURON_IOCTL_NOTIFICATIONS_INIT_V2,
	NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2,
	NEURON_IOCTL_READ_HW_COUNTERS,
	NEURON_IOCTL_ACQUIRE_NEURON_DS,
	NEURON_IOCTL_RELEASE_NEURON_DS,
	NEURON_IOCTL_CRWL_NC_RANGE_MARK,
	NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0,
	NEURON_IOCTL_NC_MODEL_STARTED_COUNT,
	NEURON_IOCTL_NC_RESET,
	NEURON_IOCTL_NC_RESET_READY,
	NEURON_IOCTL_PROGRAM_ENGINE_NC64,
	NEURON_IOCTL_DEVICE_BDF_EXT,
	NEURON_IOCTL_DMABUF_FD,
	NEURON_IOCTL_MEM_COPY_ASYNC64,
	NEURON_IOCTL_MEM_COPY_ASYNC_WAIT,
	NEURON_IOCTL_MEM_MC_GET_INFO_V2,
	NEURON_IOCTL_RESOURCE_MMAP_INFO,
	NEURON_IOCTL_PRINTK,
	NEURON_IOCTL_DUMP_MEM_CHUNKS,
	NEURON_IOCTL_POD_STATUS_V2,
	NEURON_IOCTL_MEM_BUF_ZEROCOPY64,
};

/*
 * The work of a thread: a number of calls, or calls without end, and a byte to report that half of
 * them are made
 */
struct work {
	uint64_t seed, calls;
	int halfway; /* a descriptor, or -1 */
};

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/*
 * Chooses words that a driver might mishandle: small numbers, sizes, addresses, the caller's own
 * memory.
 */
static uint64_t word(uint64_t *x, uint8_t *own)
{
	static const uint64_t odd[] = {
		0,
		1,
		2,
		4095,
		4096,
		65536,
		1 << 20,
		1ull << 30,
		UINT32_MAX,
		INT32_MAX,
		UINT64_MAX,
		1ull << 46,
		1ull << 63,
		0xfffc0000000ull,
		0xfffc265c000ull,
		0xffff078e800ull,
		0x4e0000000000ull,
		0x4f0000000000ull,
		0xffff888000000000ull,
	};

	switch (next(x) % 4) {
	case 0:
		return next(x) % 8;
	case 1:
		return odd[next(x) % (sizeof(odd) / sizeof(odd[0]))];
	case 2:
		return (uint64_t)(own + next(x) % (ARG_SIZE / 2));
	default:
		return next(x) % (1 << 18);
	}
}

static void *storm(void *arg)
{
	const struct work *work = arg;
	uint64_t x = work->seed * 0x9e3779b97f4a7c15ull | 1, w, done;
	uint8_t *own =
		mmap(NULL, ARG_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	int fd = -1;

	for (done = 0; work->halfway >= 0 || done < work->calls; done++) {
		if (work->halfway >= 0 && done == work->calls / 2 &&
		    write(work->halfway, "", 1) != 1)
			return NULL;
		if (!(done % 256)) {
			if (fd >= 0)
				close(fd);
			fd = node(next(&x) % 2, next(&x) % 16 ? O_RDWR : O_WRONLY);
		}
		for (i = 0; i < 96; i += 8) {
			/* two 32-bit words as often as one of 64 */
			w = next(&x) % 2 ? word(&x, own)
					 : (word(&x, own) & UINT32_MAX) | word(&x, own) << 32;
			memcpy(own + i, &w, 8);
		}
		ioctl(fd, numbers[next(&x) % (sizeof(numbers) / sizeof(numbers[0]))],
		      next(&x) % 64 ? own : (void *)word(&x, own));
		if (!(next(&x) % 32)) {
			void *p = mmap(NULL, 4096ull << (next(&x) % 3), PROT_READ | PROT_WRITE,
				       MAP_SHARED, fd, word(&x, own) & ~4095ull);

			if (p != MAP_FAILED && next(&x) % 2)
				munmap(p, 4096);
		}
	}
	return NULL;
}

/* A process that ends by itself, or one that works until it is killed */
static int process(uint64_t seed, uint64_t calls, int halfway)
{
	struct work work[THREADS];
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		work[i] = (struct work){ seed * THREADS + i + 1, calls, halfway };
		if (pthread_create(&t[i], NULL, storm, &work[i]))
			return 1;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* The first process dies in the middle of its work. Returns how many of the others came to their
 * end */
static int one_round(uint64_t seed, uint64_t calls)
{
	int halfway[2], status, ended = 0;
	pid_t pid[PROCESSES];
	uint64_t i;
	char byte;

	if (pipe(halfway))
		return -1;
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(process(seed + i, calls, i ? -1 : halfway[1]));
	}
	close(halfway[1]);
	if (read(halfway[0], &byte, 1) == 1)
		kill(pid[0], SIGKILL);
	close(halfway[0]);
	for (i = 0; i < PROCESSES; i++) {
		waitpid(pid[i], &status, 0);
		ended += i ? WIFEXITED(status) && !WEXITSTATUS(status) : WIFSIGNALED(status) - 1;
	}
	return ended;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 4;
	uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1, round;
	int i, ended = 0;

	for (round = 0; round < rounds; round++)
		ended += one_round(seed + round * PROCESSES, calls);
	is(ended, (long long)rounds * (PROCESSES - 1), "%llu rounds of hostile processes",
	   (unsigned long long)rounds);
	for (i = 0; i < 4; i++)
		ok(node_works(i), "nd%d works", i);
	return tap_done();
}
