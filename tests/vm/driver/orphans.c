// SPDX-License-Identifier: MIT
/*
 * A process is killed in the middle of gigabytes of DMA into its device memory. When it is gone, so
 * is its queue: the chip counts no more descriptors, and the memory, which the next process gets at
 * once, reads as zero and stays so.
 */
#include "tap.h"
#include "chip.h"

#include <signal.h>
#include <sys/mman.h>

#define ENG 0 /* of core 0 */
#define QID 3
#define RING 65536
#define PACKETS 60000
#define RING_BYTES ((uint64_t)RING * NEURON_UDMA_DESC_SIZE)
#define LEN 65536 /* of a descriptor, whose field is 0 then */
#define TRIES 20

struct told {
	uint64_t dst, count;
};

/* The number of descriptors that core 0's queues have done, as the chip counts them */
static uint64_t done(int fd)
{
	const struct neuron_gen *chip = chip_of(0);
	uint64_t addr = neuron_gen_address(chip, NEURON_BLOCK_EXT, 0) + chip->ext.perf +
			chip->ext.perf_core + NEURON_PERF_DMA_DESCS;
	uint64_t addrs[] = { addr, addr + 4 };
	uint32_t words[2] = { 0 };
	struct neuron_ioctl_read_hw_counters a = { (void *)addrs, words, 2 };

	if (call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &a))
		return UINT64_MAX;
	return words[0] | (uint64_t)words[1] << 32;
}

/*
 * A ring in device memory, where no guard stops it when its owner is gone; each descriptor moves 64
 * KiB at the same place.
 */
static bool ring(int fd, bool tx, uint64_t addr, uint64_t *handle)
{
	uint32_t *d;

	if (chunk(fd, false, RING_BYTES, 1, handle))
		return false;
	d = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)chunk_pa(fd, *handle));
	if (d == MAP_FAILED)
		return false;
	for (int i = 0; i < RING; i++, d += 4) {
		d[0] = 1 << NEURON_UDMA_DESC_RING_ID_SHIFT |
		       (tx ? NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST : 0);
		d[1] = tx ? NEURON_UDMA_META_DEFAULT : 0;
		d[2] = (uint32_t)addr;
		d[3] = (uint32_t)(addr >> 32);
	}
	return true;
}

/* Copies until it is killed. */
static void victim(int out)
{
	struct neuron_ioctl_dma_queue_init q = { ENG, QID, RING, RING, 0, 0, 0, 0 };
	struct neuron_ioctl_dma_queue_copy_start start = { ENG, QID, PACKETS, PACKETS };
	uint64_t src = 0, dst = 0, tx = 0, rx = 0;
	static uint8_t bytes[LEN];
	struct told told;
	int fd = node(0, O_RDWR);

	memset(bytes, 0xee, sizeof(bytes));
	if (fd < 0 || chunk(fd, false, LEN, 0, &src) || chunk(fd, false, LEN, 0, &dst) ||
	    copy_in(fd, src, bytes, 0, LEN) || !ring(fd, true, chunk_pa(fd, src), &tx) ||
	    !ring(fd, false, chunk_pa(fd, dst), &rx))
		_exit(1);
	q.tx_handle = tx;
	q.rx_handle = rx;
	told.dst = chunk_pa(fd, dst);
	told.count = done(fd);
	if (call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &q) ||
	    call(fd, NEURON_IOCTL_DMA_QUEUE_COPY_START, &start) ||
	    write(out, &told, sizeof(told)) != sizeof(told))
		_exit(2);
	for (;;)
		pause();
}

static bool killed(struct told *told)
{
	int out[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(out))
		return false;
	pid = fork();
	if (!pid) {
		close(out[0]);
		victim(out[1]);
	}
	close(out[1]);
	n = read(out[0], told, sizeof(*told));
	close(out[0]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (n == sizeof(*told))
		return true;
	printf("# the process ended with %#x\n", status);
	return false;
}

/*
 * Gets a chunk at an address by allocating what lies before it; copies of core 1 do not count for
 * core 0.
 */
static uint64_t chunk_at(int fd, uint64_t pa)
{
	for (int i = 0; i < 64; i++) {
		uint64_t handle = 0;
		struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
			.size = LEN,
			.nc_id = 1,
			.mem_type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
			.mem_handle = (void *)&handle,
		};

		if (call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a))
			return 0;
		if (chunk_pa(fd, handle) == pa)
			return handle;
	}
	return 0;
}

static bool reads_zero(int fd, uint64_t handle)
{
	static uint8_t bytes[LEN];

	memset(bytes, 0x11, sizeof(bytes));
	return !copy_out(fd, handle, bytes, 0, LEN) && all_bytes(bytes, LEN, 0);
}

int main(void)
{
	struct told told = { 0 };
	uint64_t after = 0, handle;
	bool good = true, caught = false;
	unsigned int zero = 0;
	int fd;

	for (int i = 0; i < TRIES && good && !caught; i++) {
		good = killed(&told);
		fd = node(0, O_RDWR);
		after = done(fd) - told.count;
		caught = after < PACKETS;
		if (!caught)
			close(fd);
	}
	ok(good && caught, "a process is killed with DMA under way");
	printf("# after %llu of %d descriptors\n", (unsigned long long)after, PACKETS);
	handle = chunk_at(fd, told.dst);
	ok(handle, "its memory can be had");
	for (int i = 0; i < 50; i++)
		zero += reads_zero(fd, handle);
	is(zero, 50, "and is zero, each time");
	is((long long)(done(fd) - told.count - after), 0, "its queue does nothing more");
	ok(node_works(0), "the chip works");
	return tap_done();
}
