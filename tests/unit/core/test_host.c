/* SPDX-License-Identifier: MIT */
/*
 * What a chip asks of its host: memories, trace, interrupts; the emulator's own registers; accesses
 * through windows
 */
#include "chip_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "neuron/isa/codec.h"

#define MISC GEN(APB_MISC_RAM)
#define DRAM_SIZE (2 * GEN(DRAM_CHANNEL_SIZE)) /* of the first two channels */
#define LAST_64K (GEN(DRAM1_BASE) + GEN(DRAM_CHANNEL_SIZE) - 0x10000)
#define MEMS (1 + 2 * GEN(NC_PER_DEVICE)) /* DRAM, and SBUF and PSUM of each core */

static struct fixture f;

static struct mem {
	char name[16];
	uint8_t *ptr;
	uint64_t size;
	int fd;
	uint64_t dirty;
} mems[MEMS];
static unsigned int allocated, freed, fail_at;
static _Atomic unsigned int seen[NCORE_EV_COUNT];

static int alloc_shared(void *opaque, const char *name, uint64_t size, void **ptr, int *fd)
{
	struct mem *m = &mems[allocated];

	if (allocated == MEMS || (fail_at && allocated + 1 == fail_at))
		return -ENOSPC;
	allocated++;
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->size = size;
	m->dirty = 0;
	m->fd = *fd = memfd_create(name, 0);
	ck_assert_int_eq(ftruncate(m->fd, (off_t)size), 0);
	*ptr = m->ptr =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	ck_assert_ptr_ne(m->ptr, MAP_FAILED);
	return 0;
}

static void free_shared(void *opaque, const char *name, void *ptr, uint64_t size, int fd)
{
	unsigned int i;

	for (i = 0; i < allocated; i++)
		if (mems[i].ptr == ptr) {
			ck_assert_str_eq(mems[i].name, name);
			ck_assert_uint_eq(mems[i].size, size);
			ck_assert_int_eq(mems[i].fd, fd);
		}
	munmap(ptr, size);
	close(fd);
	freed++;
}

static void mark(void *opaque, const char *name, uint64_t offset, uint64_t len)
{
	unsigned int i;

	for (i = 0; i < allocated; i++)
		if (!strcmp(mems[i].name, name)) {
			ck_assert_uint_le(offset, mems[i].size);
			ck_assert_uint_le(len, mems[i].size - offset);
			mems[i].dirty += len;
		}
}

static void event(void *opaque, enum ncore_event ev, const uint64_t arg[4])
{
	seen[ev]++;
}

static void setup(void)
{
	allocated = freed = fail_at = 0;
	memset(seen, 0, sizeof(seen));
	fixture_init(&f, 1);
	f.ops.alloc_mem = alloc_shared;
	f.ops.free_mem = free_shared;
	f.ops.mark_dirty = mark;
	f.ops.event = event;
	f.ops.event_mask = ~0ull;
}

static void teardown(void)
{
	fixture_free(&f);
	ck_assert_uint_eq(freed, allocated);
}

/* The blocks that a memory's file really has */
static uint64_t blocks(unsigned int i)
{
	struct stat st;

	ck_assert_int_eq(fstat(mems[i].fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Shared, file-backed memory: written, marked dirty, given back by a reset, kept sparse */
START_TEST(memories)
{
	struct ring q;
	uint64_t size;
	int fd;

	fixture_new_chip(&f);
	ck_assert_uint_eq(allocated, MEMS);
	ck_assert_str_eq(mems[0].name, "dram");
	ck_assert_ptr_eq(ncore_dram(f.chip, &size, &fd), mems[0].ptr);
	ck_assert_uint_eq(size, GEN(DRAM_CHANNELS) * GEN(DRAM_CHANNEL_SIZE));
	ck_assert_int_eq(fd, mems[0].fd);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	memset(f.host + 0x800000, 0x5a, 0x10000);
	copy(&f, &q, HOST(0x800000), LAST_64K, 0);
	copy(&f, &q, LAST_64K, GEN(TPB)(0) + GEN(SBUF_PART_SIZE) - 16, 0);
	ck_assert_uint_eq(mems[0].ptr[DRAM_SIZE - 1], 0x5a);
	ck_assert_uint_eq(mems[0].dirty, 0x10000);
	/* nothing lies behind the partition then, or the next one */
	ck_assert_uint_eq(mems[1].dirty, GEN_SBUF_DENSE ? 0x10000 : 16);
	ck_assert_uint_ge(blocks(0), 0x10000);
	ncore_chip_reset(f.chip, NCORE_RESET_POWER);
	ck_assert_uint_eq(blocks(0), 0);
	ck_assert_uint_eq(blocks(1), 0);
	ck_assert_uint_eq(mems[0].ptr[DRAM_SIZE - 1], 0);
	ck_assert_uint_eq(mems[1].ptr[GEN(SBUF_PART_SIZE) - 16], 0);
}
END_TEST

/* Memory that instructions write is reported before it can be saved. */
/* Pages of the process that are its own; of the kernel's zero page there is one for all */
static uint64_t resident(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	unsigned long all, own;

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%lu %lu", &all, &own), 2);
	fclose(statm);
	return (uint64_t)own * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define CLEARED (64ull << 20)
#define MADE (16ull << 20)

/* DRAM that nobody has touched and that is cleared takes no memory, and what lies in it goes */
START_TEST(cleared)
{
	uint64_t before, size, from = 0x2000000, i;
	struct ring q;
	uint8_t *dram;
	int fd;

	f.ops.alloc_mem = NULL;
	f.ops.free_mem = NULL;
	fixture_new_chip(&f);
	dram = ncore_dram(f.chip, &size, &fd);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	dram[from + 0x12345] = 1;
	dram[from + CLEARED - 1] = 2;
	before = resident();
	for (i = 0; i < CLEARED; i += 0x10000)
		copy(&f, &q, HOST(0x800000), from + i, 0);
	ck_assert_uint_lt(resident(), before + MADE);
	for (i = 0; i < CLEARED; i++)
		if (dram[from + i])
			ck_abort_msg("byte %llu is not cleared", (unsigned long long)i);
	/* from memory to memory, too, as a public driver fills all of one */
	dram[from + CLEARED + 0x54321] = 3;
	before = resident();
	for (i = 0; i < CLEARED; i += 0x10000)
		copy(&f, &q, from + i, from + CLEARED + i, 0);
	ck_assert_uint_lt(resident(), before + MADE);
	ck_assert_uint_eq(dram[from + CLEARED + 0x54321], 0);
	memset(f.host + 0x800000, 0x5a, 0x10000);
	before = resident();
	for (i = 0; i < CLEARED; i += 0x10000)
		copy(&f, &q, HOST(0x800000), from + i, 0);
	ck_assert_uint_ge(resident(), before + CLEARED - MADE); /* as it is counted */
	ck_assert_uint_eq(dram[from + CLEARED - 1], 0x5a);
}
END_TEST

#define SOME (16u * 4096)

static void (*const copies[])(void *dst, const void *src, uint64_t len) = { ncore_copy_sparse,
									    ncore_copy_past };

/* Pages of zeros and of others, zeros at their ends, at any place and of any length: memcpy's bytes
 */
START_TEST(sparse_copies)
{
	static uint8_t src[SOME], dst[SOME], want[SOME];
	unsigned int run, i;

	srand(1);
	for (run = 0; run < 20000; run++) {
		unsigned int to = (unsigned int)rand() % SOME, from = (unsigned int)rand() % SOME;
		unsigned int space = SOME - (to > from ? to : from);
		unsigned int len = (unsigned int)rand() % (space + 1);

		memset(src, 0, SOME);
		memset(dst, 0, SOME);
		for (i = 0; i < SOME / 2 && run % 2; i++) /* no page is zeros */
			src[i] = (uint8_t)(i + run);
		for (i = 0; i < (unsigned int)rand() % 8; i++) {
			src[(unsigned int)rand() % SOME] = 1;
			dst[(unsigned int)rand() % SOME] = 2;
			dst[(unsigned int)rand() % SOME & ~4095u] = 3;
		}
		memcpy(want, dst, SOME);
		memcpy(want + to, src + from, len);
		copies[_i](dst + to, src + from, len);
		ck_assert_int_eq(memcmp(dst, want, SOME), 0);
	}
}
END_TEST

START_TEST(instructions_dirty)
{
	const struct neuron_insn memset7 = {
		.opcode = NEURON_OP_MEMSET,
		.partitions = 1,
		.dst = { .dtype = NEURON_DT_FP32, .num = { 1, 1, 1, 1 } },
		.scalar0.bits = 0x40e00000,
	};
	uint64_t before;
	struct ring q;

	fixture_new_chip(&f);
	ncore_chip_pause(f.chip);
	ck_assert_uint_eq(mems[1].dirty, 0);
	ncore_chip_resume(f.chip);
	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	ck_assert_int_eq(neuron_isa_encode(&memset7, f.host + 0x800000), 1);
	copy(&f, &q, HOST(0x800000), GEN(TPB)(0) + GEN(TPB_FIFO)(NEURON_ENG_POOL), 64);
	settle(&f);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0, 4),
			  0x40e00000);
	ncore_chip_pause(f.chip);
	ck_assert_str_eq(mems[1].name, "sbuf0");
	ck_assert_uint_eq(mems[1].dirty, mems[1].size);
	ck_assert_uint_eq(mems[2].dirty, mems[2].size);
	ck_assert_uint_eq(mems[3].dirty, 0); /* the next core did nothing */
	before = mems[1].dirty;
	ncore_chip_resume(f.chip);
	ncore_chip_pause(f.chip);
	ck_assert_uint_eq(mems[1].dirty, before);
	ncore_chip_resume(f.chip);
}
END_TEST

START_TEST(alloc_fails)
{
	struct ncore_chip_config config;
	struct ncore_chip *chip;

	fixture_config(&f, &config);
	for (fail_at = 1; fail_at <= MEMS; fail_at++) {
		allocated = freed = 0;
		ck_assert_int_eq(ncore_chip_new(&config, &chip), -ENOSPC);
		ck_assert_uint_eq(freed, allocated);
	}
	fail_at = 0;
	allocated = freed = 0;
}
END_TEST

START_TEST(nan_fill)
{
	struct ncore_chip_config config;

	fixture_config(&f, &config);
	config.nan_fill = true;
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), 0);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 7 * 0x40000, 4),
			  0xffffffff);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 7 * 0x40000, 4, 0);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 7 * 0x40000, 4),
			  0xffffffff);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(0) + NEURON_PSUM_OFFSET + 4, 4),
			  0xffffffff);
}
END_TEST

START_TEST(trace)
{
	struct ring q;
	unsigned int i;

	fixture_new_chip(&f);
	for (i = 0; i < NCORE_EV_COUNT; i++)
		ck_assert_ptr_nonnull(ncore_event_name(i));
	ck_assert_ptr_null(ncore_event_name(NCORE_EV_COUNT));
	fwio_read(&f, GEN(REG)(MISC));
	ck_assert_uint_eq(seen[NCORE_EV_FWIO], 1);
	ck_assert_uint_eq(seen[NCORE_EV_MMIO_WRITE], 5);
	ck_assert_uint_eq(seen[NCORE_EV_MMIO_READ], 0);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	copy(&f, &q, HOST(0), 0, 4);
	ck_assert_uint_eq(seen[NCORE_EV_DOORBELL], 2);
	ck_assert_uint_eq(seen[NCORE_EV_DESC], 1);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET), 4, 1);
	ck_assert_uint_eq(seen[NCORE_EV_SEMAPHORE], 1);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_DEC), 4,
			 2); /* below 0 */
	ck_assert_uint_eq(seen[NCORE_EV_ENGINE_ERROR], 1);
	ck_assert_uint_eq(
		ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ), 4), 1);
	copy(&f, &q, HOST(HOST_SIZE), 0, 4);
	ck_assert_uint_eq(seen[NCORE_EV_DMA_ERROR], 1);
	ck_assert_uint_eq(seen[NCORE_EV_GUEST_ERROR], 1);
	apb_write(&f, MISC + NEURON_MISC_RESET, 1);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(seen[NCORE_EV_RESET], 1);
}
END_TEST

START_TEST(our_registers)
{
	uint32_t errors;

	fixture_new_chip(&f);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_ISA_VERSION), GEN(ISA));
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_SBUF_SIZE),
			  NEURON_PARTITIONS * GEN(SBUF_PART_SIZE));
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_GUEST_ERRORS), 0);
	ext_write(&f, NEURON_EXT_ISA_VERSION, 7); /* read-only */
	apb_write(&f, GEN(LAST_REG), 1); /* nothing there */
	ncore_mmio_write(f.chip, 0, MISC, 2, 1); /* half a word */
	errors = ext_read(&f, NEURON_EXT_GUEST_ERRORS);
	ck_assert_uint_eq(errors, 3);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 3);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_ISA_VERSION), GEN(ISA));
}
END_TEST

/* Every size, at every edge; outside of a BAR nothing happens */
START_TEST(accesses)
{
	const uint64_t limit[] = { GEN(BAR0_SIZE), 0, GEN(BAR2_SIZE), 0, GEN_CHIP.bar_size[4] };
	unsigned int bar, size;
	uint64_t errors;

	fixture_new_chip(&f);
	for (bar = 0; bar < 6; bar++)
		for (size = 0; size <= 16; size++) {
			uint64_t end = bar < 5 ? limit[bar] : 0;

			ncore_mmio_write(f.chip, bar, end - size, size, ~0ull);
			ncore_mmio_read(f.chip, bar, end - size, size);
			ncore_mmio_write(f.chip, bar, end, size, ~0ull);
			ck_assert_uint_eq(ncore_mmio_read(f.chip, bar, end, size), 0);
			ncore_mmio_write(f.chip, bar, ~0ull, size, ~0ull);
			ck_assert_uint_eq(ncore_mmio_read(f.chip, bar, ~0ull, size), 0);
			if (!end || size < 2)
				continue;
			/* half inside: none of it, which no register refuses either */
			errors = ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED);
			ncore_mmio_write(f.chip, bar, end - size / 2, size, ~0ull);
			ck_assert_uint_eq(ncore_mmio_read(f.chip, bar, end - size / 2, size), 0);
			ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), errors);
		}
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x40, 8, 0x0807060504030201);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x43, 1), 4);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x42, 2),
			  0x0403);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x41, 1, 0xff);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x40, 8),
			  0x080706050403ff01);
	/* the DRAM BAR shows each memory where it says */
	*mem(&f, GEN(DRAM1_BASE) + 5) = 0x77;
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 4, GEN(DRAM1_OFFSET) + 5, 1), 0x77);
	ncore_mmio_write(f.chip, 4, GEN(DRAM1_OFFSET) + 6, 1, 0x78);
	ck_assert_uint_eq(*mem(&f, GEN(DRAM1_BASE) + 6), 0x78);
	/* 64 bits of registers are two words, low first */
	ncore_mmio_write(f.chip, 0, MISC + 0xc0, 8, 0x1111111122222222);
	ck_assert_uint_eq(apb_read(&f, MISC + 0xc0), 0x22222222);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, MISC + 0xc0, 8), 0x1111111122222222);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, MISC + 0xc6, 2), 0x1111);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET) + 8, 8,
			 0x0000000700000005);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ) + 12, 4),
			  7);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ) + 8, 8),
			  0x0000000700000005);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("host");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, memories);
	tcase_add_test(t, cleared);
	tcase_add_loop_test(t, sparse_copies, 0, 2);
	tcase_add_test(t, instructions_dirty);
	tcase_add_test(t, alloc_fails);
	tcase_add_test(t, nan_fill);
	tcase_add_test(t, trace);
	tcase_add_test(t, our_registers);
	tcase_add_test(t, accesses);
	suite_add_tcase(s, t);
	return check_run(s);
}
