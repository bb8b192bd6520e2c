// SPDX-License-Identifier: MIT
/*
 * A hostile program: it rewrites descriptors in its own rings after the module has checked them, to
 * reach memory, cores and queues of others. The chip refuses, the memory keeps its bytes, and
 * everything else goes on.
 */
#include "tap.h"
#include "chip.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define RING 64
#define ENG 0
#define QID 3
#define NQ_SIZE 4096
#define FOREVER 60000 /* ms */

static const volatile uint8_t *errors; /* the error queue of core 0 */
static unsigned int errors_seen;
static uint64_t tx, rx, src, dst;
static uint32_t *tx_map, *rx_map;
static uint8_t *src_map, *dst_map;

static void *map(int fd, uint64_t handle, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)chunk_pa(fd, handle));

	return p == MAP_FAILED ? NULL : p;
}

static void *error_queue(int fd, uint32_t nc)
{
	struct neuron_ioctl_notifications_init_v1 a = {
		nc, NEURON_NQ_ERROR, neuron_gen_nq_slot(chip_of(0), NEURON_NQ_ERROR, 0), NQ_SIZE, 0
	};

	if (call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &a))
		return NULL;
	return mmap(NULL, NQ_SIZE, PROT_READ, MAP_SHARED, fd, (off_t)a.mmap_offset);
}

static int queue_init(int fd)
{
	struct neuron_ioctl_dma_queue_init a = { ENG, QID, RING, RING, tx, rx, 0, 0 };

	return call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a);
}

/* A descriptor by the public layout, straight into the mapped ring */
static void desc(uint32_t *d, bool is_tx, uint64_t addr, uint32_t len)
{
	d[0] = (len & 0xffff) | 1 << 24 | (is_tx ? 0x0c000000 : 0);
	d[1] = is_tx ? 0x01080003 : 0;
	d[2] = (uint32_t)addr;
	d[3] = (uint32_t)(addr >> 32);
}

/* Executes one packet by the first descriptors of a fresh queue. */
static int run(int fd, uint64_t from, uint64_t to, uint32_t len)
{
	struct neuron_ioctl_dma_queue_copy_start a = { ENG, QID, 1, 1 };
	int ret = queue_init(fd);

	desc(tx_map, true, from, len);
	desc(rx_map, false, to, len);
	return ret ? ret : call(fd, NEURON_IOCTL_DMA_QUEUE_COPY_START, &a);
}

static uint64_t word(const volatile uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

/* Checks for the chip's own error, with the address that failed; it polls for the entry. */
static bool aborted(int fd, uint64_t addr)
{
	const volatile uint8_t *e = errors + errors_seen * NEURON_NQ_ENTRY_SIZE;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint32_t n;

	while (!word(e + NEURON_NQ_ENTRY_PHASE, 4) && poll(&p, 1, FOREVER) == 1)
		if (pread(fd, &n, sizeof(n), 0) != sizeof(n))
			return false;
	errors_seen++;
	if (e[NEURON_NQ_ENTRY_CODE] == NEURON_NERR_DMA_ABORT &&
	    word(e + NEURON_NQ_ENTRY_DATA, 8) == addr)
		return true;
	printf("# code %u at %#llx\n", e[NEURON_NQ_ENTRY_CODE],
	       (unsigned long long)word(e + NEURON_NQ_ENTRY_DATA, 8));
	return false;
}

static bool arrives(const uint8_t *p, uint8_t value)
{
	unsigned int i;

	for (i = 0; i < 20000 && *(const volatile uint8_t *)p != value; i++)
		usleep(100);
	return *(const volatile uint8_t *)p == value;
}

static void own_copy(int fd, uint8_t value, const char *when)
{
	memset(src_map, value, 4096);
	is(run(fd, chunk_pa(fd, src), chunk_pa(fd, dst), 4096), 0, "a copy of its own %s", when);
	ok(arrives(dst_map + 4095, value), "arrives");
}

/*
 * A victim: another process, with memory and core 1. It answers 0 to each question if all is well.
 */
struct victim {
	pid_t pid;
	int ask, answer;
	uint64_t pa;
};

static int victim_check(int fd, const uint8_t *memory, uint64_t device)
{
	struct neuron_ioctl_semaphore sem = { 1, 3, 0 };
	uint8_t in[4096], out[4096];
	int bad = !all_bytes(memory, 4096, 0x66);

	bad |= (call(fd, NEURON_IOCTL_SEMAPHORE_READ, &sem) || sem.value) << 1;
	pattern(in, sizeof(in), 5);
	bad |= !!copy_in(fd, device, in, 0, sizeof(in)) << 2;
	bad |= (copy_out(fd, device, out, 0, sizeof(out)) || memcmp(in, out, sizeof(in))) << 3;
	return bad;
}

static void victim_main(int ask, int answer)
{
	int fd = node(0, O_RDWR), bad;
	uint64_t host, device, pa;
	uint8_t *memory;
	char c;

	if (chunk(fd, true, 4096, 0, &host) || chunk(fd, false, 4096, 0, &device) ||
	    !error_queue(fd, 1))
		_exit(1);
	memory = map(fd, host, 4096);
	memset(memory, 0x66, 4096);
	pa = chunk_pa(fd, host);
	if (write(answer, &pa, sizeof(pa)) != sizeof(pa))
		_exit(1);
	while (read(ask, &c, 1) == 1) {
		bad = victim_check(fd, memory, device);
		if (write(answer, &bad, sizeof(bad)) != sizeof(bad))
			break;
	}
	_exit(0);
}

static void victim_start(struct victim *v)
{
	int ask[2], answer[2];

	if (pipe(ask) || pipe(answer))
		exit(1);
	v->pid = fork();
	if (!v->pid) {
		close(ask[1]);
		victim_main(ask[0], answer[1]);
	}
	close(ask[0]);
	v->ask = ask[1];
	v->answer = answer[0];
	is(read(v->answer, &v->pa, sizeof(v->pa)), sizeof(v->pa), "another process at work");
}

static void victim_well(struct victim *v)
{
	int bad = -1;

	if (write(v->ask, "?", 1) != 1 || read(v->answer, &bad, sizeof(bad)) != sizeof(bad))
		bad = -1;
	is(bad, 0, "its memory, semaphores and copies are as they were");
}

static void test_memory(int fd, struct victim *v)
{
	const uint64_t kernel = 1ull << 46 | 0x1000000; /* where its text is loaded, about */

	run(fd, chunk_pa(fd, src), v->pa, 4096);
	ok(aborted(fd, v->pa), "writing another process's memory is a DMA abort");
	run(fd, v->pa, chunk_pa(fd, dst), 4096);
	ok(aborted(fd, v->pa), "so is reading it");
	run(fd, kernel, chunk_pa(fd, dst), 4096);
	ok(aborted(fd, kernel), "so is reading the kernel's");
	ok(all_bytes(dst_map, 4096, 0xa1), "nothing of it arrived");
	victim_well(v);
}

static void test_registers(int fd, struct victim *v)
{
	const struct neuron_gen *chip = chip_of(0);
	const uint64_t core1 = neuron_gen_address(chip, NEURON_BLOCK_CORE, 1);
	const uint64_t copy_queue =
		neuron_gen_address(chip, NEURON_BLOCK_UDMA, chip->copy[0].engine) +
		NEURON_UDMA_M2S_Q(chip->copy[0].queue) + NEURON_UDMA_Q_TAIL_INC;
	const uint64_t targets[] = {
		core1, /* SBUF */
		core1 + chip->core.semaphores + NEURON_SEM_INC * chip->core.sem_stride + 12,
		core1 + chip->core.events,
		copy_queue,
		neuron_gen_address(chip, NEURON_BLOCK_EXT, 0) + NEURON_EXT_GUARD_CTRL,
	};
	unsigned int i;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		run(fd, chunk_pa(fd, src), targets[i], 4);
		ok(aborted(fd, targets[i]), "device address %#llx", (unsigned long long)targets[i]);
	}
	run(fd, core1, chunk_pa(fd, dst), 64);
	ok(aborted(fd, core1), "and reading another core's SBUF");
	victim_well(v);
}

/* A freed chunk must not be reached, whoever gets its page next. */
static void test_freed(int fd)
{
	uint64_t handle, pa;
	uint8_t *map_freed;

	is(chunk(fd, true, 4096, 0, &handle), 0, "one more chunk");
	pa = chunk_pa(fd, handle);
	run(fd, pa, chunk_pa(fd, dst), 64);
	ok(arrives(dst_map, 0), "is its own");
	/* from now on the chip has the page cached, unless it is told */
	memset(src_map, 0x99, 64);
	map_freed = map(fd, handle, 4096);
	run(fd, chunk_pa(fd, src), pa, 64);
	ok(arrives(map_freed, 0x99), "for writing too");
	munmap(map_freed, 4096);
	is(chunk_free(fd, handle), 0, "until it is freed");
	run(fd, chunk_pa(fd, src), pa, 64);
	ok(aborted(fd, pa), "then it is not");
}

int main(void)
{
	struct victim v;
	int fd, status;

	victim_start(&v);
	fd = node(0, O_RDWR);
	chunk(fd, true, 4096, 0, &tx);
	chunk(fd, true, 4096, 0, &rx);
	chunk(fd, true, 4096, 0, &src);
	chunk(fd, true, 4096, 0, &dst);
	tx_map = map(fd, tx, 4096);
	rx_map = map(fd, rx, 4096);
	src_map = map(fd, src, 4096);
	dst_map = map(fd, dst, 4096);
	errors = error_queue(fd, 0);
	own_copy(fd, 0xa1, "works");
	test_memory(fd, &v);
	test_registers(fd, &v);
	own_copy(fd, 0xb2, "still works");
	test_freed(fd);
	own_copy(fd, 0xc3, "works at the end");
	close(v.ask);
	waitpid(v.pid, &status, 0);
	is(status, 0, "the other process ends well");
	close(fd);
	return tap_done();
}
