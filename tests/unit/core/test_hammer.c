/* SPDX-License-Identifier: MIT */
/*
 * A guest that does anything: seeded random register writes, descriptors, rings, notification
 * queues, FIFOs and resets on two linked chips, from four threads. The oracle is the sanitizer, the
 * guards around host memory, and that the chips still work after a reset.
 */
#include "chip_fixture.h"
#include "neuron/isa/isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 20000
#define MISC GEN(APB_MISC_RAM)

static struct ncore_fabric *fabric;
static struct fixture f[2];

static void setup(void)
{
	unsigned int i;

	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, 2, &fabric), 0);
	for (i = 0; i < 2; i++) {
		fixture_init(&f[i], 2);
		fixture_new_in(&f[i], f[i].pool, fabric, i);
	}
}

static void teardown(void)
{
	fixture_free(&f[0]);
	fixture_free(&f[1]);
	ncore_fabric_free(fabric);
}

static uint64_t pick(uint64_t *s, const uint64_t *v, size_t n)
{
	return v[rnd(s) % n];
}

/* Chooses an address that is interesting more often than not. */
static uint64_t some_address(uint64_t *s)
{
	static const uint64_t base[] = {
		0,
		0x2000,
		GEN(DRAM_CHANNEL_SIZE) - 64,
		GEN(DRAM1_BASE),
		GEN(DRAM1_BASE) + GEN(DRAM_CHANNEL_SIZE) - 8,
		GEN(TPB)(0),
		GEN(TPB)(0) + GEN(SBUF_PART_SIZE) - 16,
		GEN(TPB)(0) + NEURON_PSUM_OFFSET,
		GEN(TPB)(0) + GEN(TPB_FIFO)(0),
		GEN(TPB)(0) + GEN(TPB_FIFO)(3),
		GEN(TPB)(1) + GEN(TPB_FIFO)(1),
		GEN(TPB)(0) + GEN(TPB_EVENTS),
		GEN(TPB)(0) + GEN(TPB_SEM_SET),
		GEN(TPB)(0) + GEN(TPB_SEM_INC),
		GEN(TPB)(GEN_LAST_CORE) + GEN(TPB_SIZE) - 4,
		GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_TAIL_INC,
		GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_S2M_Q(0) + NEURON_UDMA_Q_TAIL_INC,
		GEN(REG)(MISC) + NEURON_MISC_DOORBELL,
		GEN(REG)(GEN(LAST_REG)),
		HOST(0x400000),
		HOST(HOST_SIZE - 4096),
		HOST(HOST_SIZE),
	};
	static const uint64_t window[] = { 0,
					   0,
					   0,
					   0,
					   GEN(AXI_PORT1),
					   GEN(WINDOW_HOST),
					   GEN(WINDOW_EAST),
					   GEN(WINDOW_WEST),
					   GEN(WINDOW_LIMIT) };
	uint64_t a = pick(s, base, sizeof(base) / sizeof(base[0]));

	if (rnd(s) % 4 == 0)
		a += rnd(s) % 0x40000;
	if (rnd(s) % 64 == 0)
		return rnd(s);
	return a | pick(s, window, sizeof(window) / sizeof(window[0]));
}

/*
 * Chooses a valid address, so that queues live long enough to do harm; pos is aligned for FIFOs and
 * words.
 */
static uint64_t good_address(uint64_t *s)
{
	static const uint64_t base[] = {
		0x10000,
		GEN(DRAM1_BASE),
		GEN(TPB)(0) + NEURON_SBUF_PART_STRIDE,
		GEN(WINDOW_EAST) | 0x20000,
		GEN(WINDOW_WEST) | (GEN(TPB)(0) + NEURON_SBUF_PART_STRIDE),
		HOST(0x600000),
		HOST(0x700000),
		GEN(TPB)(0) + GEN(TPB_FIFO)(0),
		GEN(TPB)(1) + GEN(TPB_FIFO)(3),
	};

	return pick(s, base, sizeof(base) / sizeof(base[0])) + rnd(s) % 128 * 64;
}

/* Fills a ring area with random descriptors; most ring ids are right for the first lap. */
static void some_descriptors(struct fixture *x, uint64_t *s, uint32_t at)
{
	unsigned int i;

	for (i = 0; i < 128; i++) {
		uint8_t *d = x->host + at + 16 * i;
		uint32_t ctrl =
			rnd(s) % 8 ? (uint32_t)(rnd(s) % 1024) : (uint32_t)(rnd(s) & 0xffff);

		if (rnd(s) % 16)
			ctrl &= ~63u; /* whole instructions */
		ctrl |= rnd(s) % 64 ? 1u << 24 : (uint32_t)(rnd(s) % 4) << 24;
		ctrl |= rnd(s) % 32 ? NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST
				    : (uint32_t)(rnd(s) & 0xfc000000);
		put32(d, ctrl);
		put32(d + 4, rnd(s) % 4 ? NEURON_UDMA_META_DEFAULT : (uint32_t)rnd(s));
		put64(d + 8, rnd(s) % 16 ? good_address(s) : some_address(s));
	}
}

static void some_queue(struct fixture *x, uint64_t *s)
{
	unsigned int e = rnd(s) % GEN(DMA_ENGINES), q = rnd(s) % 3;
	uint32_t at = 0x400000 + (uint32_t)(rnd(s) % 16) * 0x1000;
	struct ring r;

	some_descriptors(x, s, at);
	some_descriptors(x, s, at + 0x800);
	queue_init(x, &r, e, q, HOST(at), HOST(at + 0x800), rnd(s) % 8 ? 128 : (uint32_t)rnd(s));
	doorbell(x, &r, 1, (uint32_t)(rnd(s) % 128));
	doorbell(x, &r, 0, (uint32_t)(rnd(s) % 128));
}

static void some_register(struct fixture *x, uint64_t *s)
{
	static const uint64_t base[] = {
		GEN(APB_UDMA)(0),
		GEN(APB_UDMA)(0) + NEURON_UDMA_M2S_Q(0),
		GEN(APB_UDMA)(0) + NEURON_UDMA_S2M_Q(1),
		GEN(APB_UDMA)(GEN(DMA_ENGINES) - 1) + NEURON_UDMA_S2M_Q(15),
		GEN(APB_UDMA)(5) + NEURON_UDMA_M2S_STATE,
		GEN(APB_PUTILS)(0) + 0xbfc,
		GEN(APB_PUTILS)(GEN_LAST_CORE) + GEN(NQ_ERROR_REGS),
		MISC,
		MISC + NEURON_MISC_RESET,
		MISC + NEURON_MISC_DOORBELL,
		GEN(EXT),
		GEN(BAR0_SIZE) - 64,
	};
	static const unsigned int size[] = { 1, 2, 4, 4, 4, 4, 8, 3 };
	uint64_t off = pick(s, base, sizeof(base) / sizeof(base[0])) + (rnd(s) % 64) * 4;
	uint64_t v = rnd(s) % 4 ? rnd(s) % 256 : rnd(s) % 2 ? rnd(s) : some_address(s);

	if (rnd(s) % 32 == 0)
		off = rnd(s) % GEN(BAR0_SIZE);
	ncore_mmio_write(x->chip, NEURON_BAR_APB, off, size[rnd(s) % 8], v);
	ncore_mmio_read(x->chip, NEURON_BAR_APB, off, size[rnd(s) % 8]);
}

static void some_window(struct fixture *x, uint64_t *s)
{
	uint64_t off = some_address(s) - GEN(TPB)(0) + GEN(TPB_BAR)(0);

	if (rnd(s) % 8 == 0)
		off = rnd(s);
	ncore_mmio_write(x->chip, GEN(BAR_CORES), off, 1u << rnd(s) % 4, rnd(s) % 300);
	ncore_mmio_read(x->chip, GEN(BAR_CORES), off, 1u << rnd(s) % 4);
}

#define THREADS 4 /* two for each chip, so that their register writes interleave */

static unsigned int number[THREADS];

static void *mad(void *arg)
{
	unsigned int i, me = *(unsigned int *)arg;
	struct fixture *x = &f[me % 2];
	uint64_t s = 0x9e3779b97f4a7c15ull * (me + 1);

	/* random programs: mostly NOP, some of another opcode or of none */
	for (i = 0; i < 0x10000; i += 64)
		x->host[0x600000 + i] = rnd(&s) % 256 ? NEURON_OP_NOP : (uint8_t)(rnd(&s) % 0x40);
	for (i = 0; i < STEPS; i++) {
		switch (rnd(&s) % 16) {
		case 0 ... 5:
			some_queue(x, &s);
			break;
		case 6 ... 11:
			some_register(x, &s);
			break;
		case 12 ... 14:
			some_window(x, &s);
			break;
		default:
			if (rnd(&s) % 16 == 0) {
				ncore_chip_pause(x->chip);
				ncore_chip_resume(x->chip);
			}
		}
	}
	return NULL;
}

START_TEST(hammer)
{
	pthread_t t[THREADS];
	struct ring q;
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		number[i] = i;
		ck_assert_int_eq(pthread_create(&t[i], NULL, mad, &number[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 2; i++) {
		ck_assert_uint_gt(ncore_guest_errors(f[i].chip, NCORE_GE_UNDEFINED), 100);
		apb_write(&f[i], MISC + NEURON_MISC_RESET, 1);
		apb_write(&f[i], MISC + NEURON_MISC_DOORBELL, 1);
	}
	for (i = 0; i < 2; i++) {
		settle(&f[i]);
		ck_assert_uint_eq(fwio_read(&f[i], GEN(REG)(MISC) + GEN(READY_WORD)),
				  GEN_STATUS(i ? 2 : 1));
		queue_init(&f[i], &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
		put32(f[i].host + 0x800000, 0xabcdef01);
		copy(&f[i], &q, HOST(0x800000), HOST(0x800004), 4);
		ck_assert_uint_eq(get32(f[i].host + 0x800004), 0xabcdef01);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hammer");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, hammer);
	suite_add_tcase(s, t);
	return check_run(s);
}
