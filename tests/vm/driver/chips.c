// SPDX-License-Identifier: MIT
/*
 * What the module does for chips after the first generation, on whichever of them is chip 0: copies
 * on every core and with every memory, registers and core memory that programs map, their owners,
 * filling of a memory, resets. Addresses come from the chip's description; what the driver answers
 * is in tests/data/abi.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "chip.h"

#define KB 1024ull
#define MB (1024 * KB)

static const struct neuron_gen *chip;
static uint8_t in[4 * MB], out[4 * MB];
static sigjmp_buf fault;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(fault, 1);
}

/* Can a word be read? A mapping whose owner has gone raises SIGBUS. */
static bool readable(const volatile uint32_t *word)
{
	if (sigsetjmp(fault, 1))
		return false;
	(void)*word;
	return true;
}

static int chunk_on(int fd, uint32_t nc, uint32_t memory, uint64_t size, uint64_t *handle)
{
	struct neuron_ioctl_mem_alloc_v2 a = {
		.size = size, .dram_channel = memory, .nc_id = nc, .mem_handle = (void *)handle
	};

	return call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a);
}

/* In, to another memory, out; by bounce buffer and from the program's own pages */
static void test_copies(int fd)
{
	static const uint64_t sizes[] = { 1, 4095, 65537, 3 * MB + 7 };

	for (uint32_t nc = 0; nc < chip->cores; nc++) {
		for (uint32_t m = 0; m < chip->memories; m++) {
			uint32_t other = (m + 1) % chip->memories;
			uint64_t a, b;
			bool good = !chunk_on(fd, nc, m, sizeof(in), &a) &&
				    !chunk_on(fd, nc, other, sizeof(in), &b);

			for (unsigned int i = 0; good && i < sizeof(sizes) / sizeof(sizes[0]);
			     i++) {
				uint64_t n = sizes[i];
				struct neuron_ioctl_mem_copy64 c = { a, b, n, 5, 9 };
				unsigned long form = i % 2 ? NEURON_IOCTL_MEM_BUF_ZEROCOPY64
							   : NEURON_IOCTL_MEM_BUF_COPY64;

				pattern(in, n, nc * 64 + m * 8 + i);
				memset(out, 0, n);
				good = !copy_buf(fd, form, a, in, 5, n, true) &&
				       !call(fd, NEURON_IOCTL_MEM_COPY64, &c) &&
				       !copy_buf(fd, form, b, out, 9, n, false) &&
				       !memcmp(in, out, n);
			}
			ok(good, "core %u: copies into memory %u and to %u", nc, m, other);
			chunk_free(fd, a);
			chunk_free(fd, b);
		}
	}
}

/* Large chunks begin behind the firmware's bytes, small ones lie in the last GiB */
static void test_places(int fd)
{
	for (uint32_t m = 0; m < chip->memories; m++) {
		const struct neuron_memory *mem = &chip->memory[m];
		uint64_t small, large, pa;

		is(chunk_on(fd, 0, m, 1 * MB, &large), 0, "memory %u: a large chunk", m);
		pa = chunk_pa(fd, large);
		is((long long)(pa - mem->address), 16 * MB, "is behind the firmware's 16 MiB");
		is(chunk_on(fd, 0, m, 512 * KB, &small), 0, "memory %u: a small one", m);
		pa = chunk_pa(fd, small);
		is((long long)(pa - mem->address), (long long)(mem->size - (1 << 30)),
		   "begins the last GiB");
		chunk_free(fd, large);
		chunk_free(fd, small);
	}
}

static int view(int fd, uint32_t block, uint32_t id, uint32_t resource, void **p, uint64_t *size)
{
	struct neuron_ioctl_resource_mmap_info r = { block, id, resource, 0, 0 };
	int ret = call(fd, NEURON_IOCTL_RESOURCE_MMAP_INFO, &r);

	*p = MAP_FAILED;
	*size = 0;
	if (ret)
		return ret;
	*size = r.size;
	*p = mmap(NULL, r.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)r.offset);
	return *p == MAP_FAILED ? -errno : 0;
}

static uint32_t semaphore(int fd, uint32_t nc, uint32_t index)
{
	struct neuron_ioctl_semaphore s = { nc, index, 0 };

	return call(fd, NEURON_IOCTL_SEMAPHORE_READ, &s) ? UINT32_MAX : s.value;
}

/* A core's semaphores and its SBUF, mapped: what is written there is the core's, by other ways too */
static void test_views(int fd)
{
	for (uint32_t nc = 0; nc < chip->cores; nc++) {
		volatile uint32_t *sync, *sbuf;
		struct neuron_ioctl_program_engine_nc64 p;
		uint64_t size;
		void *at;

		is(view(fd, NEURON_VIEW_CORE, nc, NEURON_VIEW_SEMAPHORES, &at, &size), 0,
		   "core %u: its semaphores mapped", nc);
		if (at == MAP_FAILED)
			continue;
		sync = at;
		sync[(0x1000 + chip->core.sem_stride) / 4 + 7] = 40 + nc; /* set */
		sync[(0x1000 + 2 * chip->core.sem_stride) / 4 + 7] = 2; /* add */
		is(semaphore(fd, nc, 7), 42 + nc, "core %u: one is set and added to", nc);
		is(sync[0x1000 / 4 + 7], 42 + nc, "core %u: and read", nc);
		munmap(at, size);
		is(view(fd, NEURON_VIEW_CORE, nc, NEURON_VIEW_SBUF, &at, &size), 0,
		   "core %u: its SBUF mapped", nc);
		is((long long)size, 32 * MB, "whole");
		sbuf = at;
		pattern(in, 64, nc);
		p = (struct neuron_ioctl_program_engine_nc64){
			nc, neuron_gen_address(chip, NEURON_BLOCK_CORE, nc) + 4096, in, 64, 0
		};
		is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &p), 0, "core %u: bytes by DMA", nc);
		memcpy(out, (const void *)(sbuf + 1024), 64);
		ok(!memcmp(in, out, 64), "core %u: are there", nc);
		munmap(at, size);
	}
}

/* Offsets of a TOP_SP's semaphores, as in a core's window from its events on */
#define READ 0x1000
#define SET 0x1400
#define INC 0x1800
#define DEC 0x1c00

/* A word of BAR0, by the call for registers */
static int bar_write(int fd, uint64_t offset, uint32_t value)
{
	struct neuron_ioctl_device_info info = { 0 };
	uint64_t address;
	struct neuron_ioctl_bar_rw rw = { 0, (void *)&address, (void *)&value, 1 };

	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	address = info.bar_address[0] + offset;
	return call(fd, NEURON_IOCTL_BAR_WRITE, &rw);
}

static uint32_t word(int fd, uint64_t address)
{
	uint32_t value = UINT32_MAX;
	struct neuron_ioctl_read_hw_counters hw = { (void *)&address, (void *)&value, 1 };

	return call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &hw) ? UINT32_MAX : value;
}

static uint64_t topsp_offset(uint32_t t)
{
	return neuron_gen_offset(chip, NEURON_BLOCK_TOPSP, t);
}

static uint64_t topsp_address(uint32_t t)
{
	return neuron_gen_address(chip, NEURON_BLOCK_TOPSP, t);
}

/* The last semaphore and an event of each, mapped, by registers and by DMA: one and the same word */
static void test_topsp_words(int fd)
{
	const uint32_t count = neuron_gen_topsps(chip), two = 2;
	uint64_t size;
	void *at;

	for (uint32_t t = 0; t < count; t++) {
		struct neuron_ioctl_program_engine_nc64 p = { 0, topsp_address(t) + INC + 4 * 255,
							      (void *)&two, 4, 0 };
		volatile uint32_t *sync;

		if (!is(view(fd, NEURON_VIEW_TOPSP, t, NEURON_VIEW_SEMAPHORES, &at, &size), 0,
			"TOP_SP %u: its semaphores mapped", t))
			continue;
		sync = at;
		sync[SET / 4 + 255] = 1000 + t;
		sync[INC / 4 + 255] = 4;
		sync[9] = 7 + t;
		is(bar_write(fd, topsp_offset(t) + DEC + 4 * 255, 1), 0, "by registers");
		is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &p), 0, "by DMA");
		is(sync[READ / 4 + 255], 1005 + t, "TOP_SP %u: all of them count", t);
		is(sync[9], 7 + t, "TOP_SP %u: an event", t);
		munmap(at, size);
	}
	for (uint32_t t = 0; t < count; t++)
		ok(word(fd, topsp_address(t) + READ + 4 * 255) == 1005 + t &&
			   word(fd, topsp_address(t) + 4 * 9) == 7 + t &&
			   !word(fd, topsp_address(t) + READ),
		   "TOP_SP %u: its words are its own", t);
}

/* An access that a TOP_SP refuses is reported in its error queue, whose reader moves the head. */
static void test_topsp_errors(int fd)
{
	const uint32_t last = neuron_gen_topsps(chip) - 1u;
	const uint32_t slot = neuron_gen_nq_slot(chip, NEURON_NQ_ERROR, 0);
	struct neuron_ioctl_notifications_init_v2 nq = {
		last, NEURON_NQ_DEV_TOP_SP, NEURON_NQ_ERROR, slot, 4096, 1, 0, 0, 0, 0
	};
	uint64_t regs = neuron_gen_offset(chip, NEURON_BLOCK_KEPT, chip->kept_topsp + last) +
			slot * chip->nq_slot.stride;
	const volatile uint8_t *ring;

	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), 0, "a queue for TOP_SP %u's errors",
	   last);
	ring = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)nq.mmap_offset);
	if (!ok(ring != MAP_FAILED, "mapped"))
		return;
	is(bar_write(fd, topsp_offset(last) + DEC + 4 * 33, 1), 0, "below zero");
	is(ring[NEURON_NQ_ENTRY_PHASE], 1, "makes an entry");
	is(ring[NEURON_NQ_ENTRY_CODE], NEURON_NERR_SEM_OVERFLOW, "of that kind");
	is(ring[NEURON_NQ_ENTRY_ID], 33, "of that semaphore");
	is(bar_write(fd, regs + chip->nq_reg.head, 1), 0, "the head can be written");
	is(bar_write(fd, regs + chip->nq_reg.base_lo, 0), -EINVAL, "the base cannot");
	munmap((void *)(uintptr_t)ring, 4096);
}

/* TOP_SPs are of cores; all of one can be mapped, for looking only */
static void test_topsps(int fd)
{
	uint32_t count = chip->cores * chip->topsps_per_core;
	uint64_t size;
	void *at;

	is(view(fd, NEURON_VIEW_TOPSP, count - 1, NEURON_VIEW_SEMAPHORES, &at, &size), 0,
	   "the last TOP_SP's semaphores");
	munmap(at, size);
	is(view(fd, NEURON_VIEW_TOPSP, count, NEURON_VIEW_SEMAPHORES, &at, &size), -EINVAL,
	   "there is none behind it");
	is(view(fd, NEURON_VIEW_TOPSP, 0, NEURON_VIEW_ALL, &at, &size), 0, "all of the first");
	is(mprotect(at, size, PROT_READ | PROT_WRITE) ? -errno : 0, -EACCES, "is not for writing");
	munmap(at, size);
}

/* Can another user map the memory that has a chunk's bytes? */
static int bank_of_user(uint32_t m)
{
	uint64_t size;
	void *at;
	int status;
	pid_t child = fork();

	if (!child) {
		int mine = setuid(65534) ? -1 : node(0, O_RDWR);

		_exit(mine < 0 ? 99
			       : -view(mine, NEURON_VIEW_MEMORY, m, NEURON_VIEW_BANK, &at, &size));
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

/* Whole memories, on chips that show them: everybody's bytes are there, so they are not everybody's
 */
static void test_banks(int fd)
{
	bool shown = false;

	for (unsigned int i = 0; i < chip->views; i++)
		shown |= chip->view[i].block == NEURON_VIEW_MEMORY;
	for (uint32_t m = 0; shown && m < chip->memories; m++) {
		uint64_t size, h;
		void *at;

		is(view(fd, NEURON_VIEW_MEMORY, m, NEURON_VIEW_BANK, &at, &size), 0,
		   "memory %u mapped", m);
		is((long long)size, (long long)chip->memory[m].size, "whole");
		if (at == MAP_FAILED || chunk_on(fd, 0, m, 4096, &h))
			continue;
		pattern(in, 4096, m + 70);
		copy_buf(fd, NEURON_IOCTL_MEM_BUF_COPY64, h, in, 0, 4096, true);
		memcpy(out, (uint8_t *)at + (chunk_pa(fd, h) - chip->memory[m].address), 4096);
		ok(!memcmp(in, out, 4096), "memory %u: a chunk's bytes are at its address", m);
		is(bank_of_user(m), -EACCES, "memory %u is not another user's to map", m);
		munmap(at, size);
		chunk_free(fd, h);
	}
}

/* The parent's ends of the pipes to and from a child, whose death then ends a wait for it */
static void keep_ends(int ready[2], int go[2])
{
	close(ready[1]);
	close(go[0]);
}

/* A core is one process's: another one maps nothing of it, and what the first had goes with it */
static void test_owners(void)
{
	int ready[2], go[2], fd = node(0, O_RDWR), status;
	uint64_t size;
	char byte = 0;
	void *at;
	pid_t child;

	if (pipe(ready) || pipe(go))
		exit(1);
	child = fork();
	if (!child) {
		int mine = node(0, O_RDWR);
		bool good = !view(mine, NEURON_VIEW_CORE, 1, NEURON_VIEW_SEMAPHORES, &at, &size);

		signal(SIGBUS, on_bus);
		good = good && readable(at) && write(ready[1], &byte, 1) == 1 &&
		       read(go[0], &byte, 1) == 1;
		/* the mapping stays, the node is closed: the core is nobody's, the page not there */
		close(mine);
		good = good && !readable(at) && write(ready[1], &byte, 1) == 1 &&
		       read(go[0], &byte, 1) == 1;
		_exit(good && !readable(at) ? 0 : 1);
	}
	keep_ends(ready, go);
	is(read(ready[0], &byte, 1), 1, "a process has mapped core 1");
	is(view(fd, NEURON_VIEW_CORE, 1, NEURON_VIEW_SEMAPHORES, &at, &size), -EACCES,
	   "another one does not get it");
	is(view(fd, NEURON_VIEW_CORE, 0, NEURON_VIEW_SEMAPHORES, &at, &size), 0, "but core 0");
	munmap(at, size);
	is(write(go[1], &byte, 1), 1, "the process closes the node and keeps the mapping");
	is(read(ready[0], &byte, 1), 1, "it sees nothing there");
	is(view(fd, NEURON_VIEW_CORE, 1, NEURON_VIEW_SEMAPHORES, &at, &size), 0,
	   "now the other one gets the core");
	ok(readable(at), "and reads");
	is(write(go[1], &byte, 1), 1, "the first one looks again");
	waitpid(child, &status, 0);
	is(status, 0, "and still sees nothing");
	close(ready[0]);
	close(go[1]);
	close(fd);
}

/* A process gets all TOP_SPs but those of a core that another process has. */
static void test_topsp_owners(void)
{
	const uint32_t per_core = chip->topsps_per_core, core = chip->cores - 1u;
	int fd = node(0, O_RDWR), status = -1;
	uint64_t size;
	void *at;
	pid_t child;

	is(view(fd, NEURON_VIEW_CORE, core, NEURON_VIEW_SEMAPHORES, &at, &size), 0,
	   "a process has core %u", core);
	child = fork();
	if (!child) {
		int mine = node(0, O_RDWR), bad = 0;

		for (uint32_t t = 0; t < chip->cores * per_core; t++)
			bad += view(mine, NEURON_VIEW_TOPSP, t, NEURON_VIEW_SEMAPHORES, &at,
				    &size) != (t / per_core == core ? -EACCES : 0) ||
			       bar_write(mine, topsp_offset(t) + SET, 1) !=
				       (t / per_core == core ? -EACCES : 0);
		_exit(bad);
	}
	waitpid(child, &status, 0);
	is(status, 0, "another one gets the other cores' TOP_SPs");
	munmap(at, size);
	close(fd);
}

/* A process that holds the locks of all cores: there is room for the uuids of four */
static void test_locks(int fd)
{
	struct {
		struct neuron_ioctl_get_apps_info head;
		struct neuron_app_info app[16];
	} a = { .head = { .capacity = 16, .apps_info_flags = NEURON_APP_INFO_LOCK_INFO } };
	unsigned int good = 0;

	for (uint32_t nc = 0; nc < chip->cores; nc++) {
		struct neuron_ioctl_crwl lock = { .nc_id = nc };

		memset(lock.uuid.value, 0x50 + (int)nc, sizeof(lock.uuid.value));
		is(call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0, "the lock of core %u", nc);
	}
	is(call(fd, NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, &a), 0, "who holds which");
	is(a.head.size, 1, "one process");
	is(a.app[0].nc_lock_map, (1 << chip->cores) - 1, "all of them");
	for (int i = 0; i < 4; i++)
		good += all_bytes(a.app[0].uuid_data[i].value, 32,
				  (uint8_t)(i < chip->cores ? 0x50 + i : 0));
	is(good, 4, "the uuids of the first four");
}

static int scrub(int fd, uint32_t nc, uint32_t memory, uint32_t value)
{
	struct neuron_ioctl_hbm_scrub_start start = { nc, memory, 0, value };
	struct neuron_ioctl_hbm_scrub_wait wait = { nc, memory };
	int ret = call(fd, NEURON_IOCTL_HBM_SCRUB_START, &start);

	return ret ? ret : call(fd, NEURON_IOCTL_HBM_SCRUB_WAIT, &wait);
}

/* A memory is filled whole, a process's own chunks in it too, but not over another one's */
static void test_scrub(int fd)
{
	uint32_t last = chip->memories - 1u;
	struct neuron_ioctl_hbm_scrub_wait wait = { 0, last };
	uint64_t here, there, h;
	int ready[2], go[2], other, status;
	char byte = 0;
	pid_t child;

	chunk_on(fd, 0, last, sizeof(in), &here);
	chunk_on(fd, 0, 0, sizeof(in), &there);
	pattern(in, sizeof(in), 5);
	copy_in(fd, here, in, 0, sizeof(in));
	copy_in(fd, there, in, 0, sizeof(in));
	is(call(fd, NEURON_IOCTL_HBM_SCRUB_WAIT, &wait), -EPERM, "no scrub to wait for");
	is(scrub(fd, 0, last, 0), 0, "the last memory is scrubbed");
	is(call(fd, NEURON_IOCTL_HBM_SCRUB_WAIT, &wait), -EPERM, "which is told once");
	copy_out(fd, here, out, 0, sizeof(out));
	ok(all_bytes(out, sizeof(out), 0), "a chunk there is zero");
	copy_out(fd, there, out, 0, sizeof(out));
	ok(!memcmp(in, out, sizeof(in)), "one in another memory is as it was");
	is(scrub(fd, 0, chip->memories, 0), -EPERM, "no such memory");
	is(scrub(fd, chip->cores, last, 0), -EINVAL, "no such core");

	if (pipe(ready) || pipe(go))
		exit(1);
	child = fork();
	if (!child) {
		other = node(0, O_RDWR);
		status = chunk_on(other, 1, last, 1 * MB, &h);
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(status ? 1 : 0);
	}
	keep_ends(ready, go);
	is(read(ready[0], &byte, 1), 1, "another process has a chunk there");
	is(scrub(fd, 0, last, 0), -EBUSY, "over which nothing is scrubbed");
	is(write(go[1], &byte, 1), 1, "it ends");
	waitpid(child, &status, 0);
	is(status, 0, "and had it");
	close(ready[0]);
	close(go[1]);
	is(scrub(fd, 0, last, 0), 0, "then it is scrubbed again");
	chunk_free(fd, here);
	chunk_free(fd, there);
}

static int reset(int fd, uint32_t map)
{
	struct neuron_ioctl_device_reset r = { map, 0 };
	struct neuron_ioctl_device_ready ready = { 0, 99 };
	int ret = call(fd, NEURON_IOCTL_NC_RESET, &r);

	ready.request_id = r.request_id;
	if (!ret)
		ret = call(fd, NEURON_IOCTL_NC_RESET_READY, &ready);
	return ret ? ret : ready.result;
}

static void test_resets(int fd)
{
	uint32_t last = chip->cores - 1u;
	struct neuron_ioctl_semaphore first = { 0, 3, 11 }, other = { last, 3, 12 };
	unsigned int good = 0, kept = 0, left = 0;
	uint64_t h;

	call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &first);
	call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &other);
	for (uint32_t t = 0; t < neuron_gen_topsps(chip); t++)
		bar_write(fd, topsp_offset(t) + SET, 13);
	is(reset(fd, 1), 0, "core 0 is reset");
	is(semaphore(fd, 0, 3), 0, "its semaphore is cleared");
	is(semaphore(fd, last, 3), 12, "the last core's is not");
	for (uint32_t t = 0; t < neuron_gen_topsps(chip); t++)
		kept += word(fd, topsp_address(t) + READ) == (t < chip->topsps_per_core ? 0u : 13u);
	is(kept, neuron_gen_topsps(chip), "so it is with its TOP_SPs and the others'");
	is(reset(fd, NEURON_NC_MAP_DEVICE), 0, "all is reset");
	is(semaphore(fd, last, 3), 0, "the last core's too");
	for (uint32_t t = 0; t < neuron_gen_topsps(chip); t++)
		left += word(fd, topsp_address(t) + READ);
	is(left, 0, "and all TOP_SPs'");
	chunk_on(fd, last, 0, sizeof(in), &h);
	for (unsigned int i = 0; i < 20; i++) {
		pattern(in, 100000, i);
		good += !reset(fd, i % 2 ? NEURON_NC_MAP_DEVICE : 1u << last) &&
			!copy_in(fd, h, in, 0, 100000) && !copy_out(fd, h, out, 0, 100000) &&
			!memcmp(in, out, 100000);
	}
	is(good, 20, "copies after each of twenty resets");
	chunk_free(fd, h);
}

/* Slots of notification queues, each its own memory; what a slot is for is the program's affair */
static void test_slots(int fd)
{
	struct neuron_ioctl_notifications_init_v2 nq = {
		0, NEURON_NQ_DEV_NC, 1, 0, 4096, 1, 0, 0, 0, 0
	};
	unsigned int good = 0;

	for (uint32_t type = 0; type < 6; type++)
		for (uint32_t slot = 0; slot < 16; slot++) {
			nq.nq_type = type;
			nq.engine_index = slot;
			good += !call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq);
		}
	is(good, 6 * 16, "six types of queues in sixteen slots");
	nq.engine_index = 16;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), -EINVAL, "there is no slot 16");
	nq.engine_index = 0;
	nq.nq_type = 6;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), -EINVAL, "nor a seventh type");
	nq.nq_type = 1;
	nq.nq_dev_type = NEURON_NQ_DEV_TOP_SP;
	nq.nq_dev_id = chip->cores * chip->topsps_per_core - 1u;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), 0, "the last TOP_SP's");
	nq.nq_dev_id++;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), -EINVAL, "and no more");
	nq.nq_dev_type = 2;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &nq), -ENOSYS, "nothing else has queues");
}

int main(void)
{
	int fd = node(0, O_RDWR);

	signal(SIGPIPE, SIG_IGN);
	chip = fd < 0 ? NULL : chip_behind(fd);
	if (!ok(fd >= 0 && chip && chip->views, "a chip with views"))
		return tap_done();
	test_copies(fd);
	test_places(fd);
	test_views(fd);
	test_topsps(fd);
	test_topsp_words(fd);
	test_topsp_errors(fd);
	test_locks(fd);
	test_banks(fd);
	test_slots(fd);
	test_resets(fd);
	test_scrub(fd);
	close(fd);
	test_owners();
	test_topsp_owners();
	ok(node_works(0), "the node works on");
	return tap_done();
}
