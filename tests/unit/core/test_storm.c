/* SPDX-License-Identifier: MIT */
/*
 * Work that makes its own work, and requests of the largest size: the chip answers while they run,
 * rests when it is told to, and every reset ends them. Addresses that lead back into the chip's
 * registers are refused.
 */
#include "chip_fixture.h"
#include "neuron/isa/codec.h"

#include <stdlib.h>
#include <string.h>

#define MISC GEN(APB_MISC_RAM)
#define RING_LEN 32
#define TX HOST(0x100000)
#define RX HOST(0x110000)
#define WORD HOST(0x120000)
#define MANY 20000

static struct fixture f;

static void setup(void)
{
	struct ncore_chip_config config;

	fixture_init(&f, 1);
	fixture_config(&f, &config);
	config.no_ring_id_check = true; /* so that a ring can go round for ever */
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), 0);
}

static void teardown(void)
{
	fixture_free(&f); /* whatever still runs ends here */
}

static uint64_t bell(unsigned int engine, unsigned int half, unsigned int queue)
{
	return GEN(REG)(GEN(APB_UDMA)(engine)) +
	       (half ? NEURON_UDMA_S2M_Q(queue) : NEURON_UDMA_M2S_Q(queue)) +
	       NEURON_UDMA_Q_TAIL_INC;
}

static uint64_t copied(unsigned int core)
{
	return ext_read(&f, GEN(PERF)(core) + GEN(PERF_CORE) + NEURON_PERF_DMA_DESCS);
}

static void wait_for_work(unsigned int core)
{
	uint64_t from = copied(core);

	while (copied(core) - from < MANY)
		;
	ck_assert(!ncore_chip_idle(f.chip));
}

/* Starts a queue whose packets ring its own doorbells, every second one for two packets. */
static void start_queue(void)
{
	struct ring r;
	unsigned int i;

	queue_init(&f, &r, 0, 0, TX, RX, RING_LEN);
	put32(mem(&f, WORD), 2);
	for (i = 0; i < RING_LEN; i++) {
		push(&f, &r, 0, WORD, 4, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		push(&f, &r, 1, bell(0, i & 1, 0), 4, 0);
	}
	doorbell(&f, &r, 1, 20);
	doorbell(&f, &r, 0, 20);
}

/* Starts a program of one instruction that rings the queue that brings it the same instruction. */
static void start_program(void)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_WRITE };
	uint64_t fifo = GEN(TPB)(0) + GEN(TPB_FIFO)(NEURON_ENG_SP);
	struct ring r;
	unsigned int i;

	insn.write[0].addr = bell(0, 1, 0);
	insn.write[1].addr = bell(0, 0, 0);
	insn.write[0].value = insn.write[1].value = 1;
	ck_assert_int_eq(neuron_isa_encode(&insn, mem(&f, WORD)), 1);
	queue_init(&f, &r, 0, 0, TX, RX, RING_LEN);
	for (i = 0; i < RING_LEN; i++) {
		push(&f, &r, 0, WORD, 64, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		push(&f, &r, 1, fifo, 64, 0);
	}
	doorbell(&f, &r, 1, 1);
	doorbell(&f, &r, 0, 1);
}

static void (*const starts[])(void) = { start_queue, start_program };

/* Uses the mailbox and another queue, rests and saves while it all goes on. */
static void answers_meanwhile(void)
{
	struct ring r;
	size_t size;
	void *state;
	unsigned int i;

	ck_assert_uint_eq(fwio_read(&f, GEN(REG)(MISC) + GEN(READY_WORD)), GEN_STATUS(0));
	queue_init(&f, &r, 5, GEN(H2T_QUEUE), HOST(0x200000), HOST(0x210000), RING_LEN);
	for (i = 0; i < 100; i++) {
		put32(mem(&f, HOST(0x220000)), i);
		copy(&f, &r, HOST(0x220000), HOST(0x230000), 4);
		while (queue_reg(&f, &r, 0, NEURON_UDMA_Q_STATUS))
			;
		ck_assert_uint_eq(get32(mem(&f, HOST(0x230000))), i);
	}
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	free(state);
	ncore_chip_resume(f.chip);
	wait_for_work(0);
}

static void reset(uint32_t kind, uint32_t map)
{
	apb_write(&f, MISC + NEURON_MISC_TPB_RESET_MAP, map);
	apb_write(&f, MISC + NEURON_MISC_RESET, kind);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert(ncore_chip_idle(f.chip));
}

START_TEST(endless_work_is_answerable_and_ends)
{
	starts[_i]();
	wait_for_work(0);
	answers_meanwhile();
	reset(NEURON_MISC_RESET_TPB, 1);

	starts[_i]();
	wait_for_work(0);
	reset(NEURON_MISC_RESET_DEVICE, 0);

	starts[_i]();
	wait_for_work(0);
	apb_write(&f, GEN(APB_UDMA)(0) + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_ABORT);
	settle(&f);

	apb_write(&f, GEN(APB_UDMA)(0) + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_NORMAL);
	starts[_i]();
	wait_for_work(0);
}
END_TEST

START_TEST(largest_mailbox_request)
{
	enum { N = (0xffff - NEURON_FWIO_REQ_HDR) / 8 };
	uint8_t *payload = malloc(8 * N);
	unsigned int i;

	ck_assert_ptr_nonnull(payload);
	for (i = 0; i < N; i++)
		put64(payload + 8 * i, GEN(REG)(MISC) + GEN(READY_WORD));
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8 * N), 0);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP) >> 16, 4 + 4 * N);
	for (i = 0; i < N; i++)
		ck_assert_uint_eq(get32(f.host + FWIO_RESP + 4 + 4 * i), GEN_STATUS(0));
	free(payload);
}
END_TEST

/* Places without memory: registers, semaphores, FIFOs, a neighbour that is not there */
static const uint64_t no_memory[] = {
	GEN(REG)(MISC),
	GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(0),
	GEN(TPB)(0) + GEN(TPB_SEM_INC),
	GEN(TPB)(0) + GEN(TPB_FIFO)(0),
	GEN(WINDOW_EAST),
	GEN(WINDOW_WEST) | 0x1000,
	1ull << 48,
};
#define PLACES (int)(sizeof(no_memory) / sizeof(no_memory[0]))

START_TEST(rings_need_memory)
{
	uint64_t errors = ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED);
	struct ring r = { .engine = 0 };

	queue_init(&f, &r, 0, 0, no_memory[_i], no_memory[_i], RING_LEN);
	doorbell(&f, &r, 1, 1);
	doorbell(&f, &r, 0, 1);
	settle(&f);
	ck_assert_uint_eq(ext_read(&f, GEN(DMA_STOPPED)(0)), 1);
	ck_assert_uint_gt(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), errors);
	ck_assert_uint_eq(copied(0), 0);
}
END_TEST

START_TEST(notification_queues_need_memory)
{
	uint64_t nq = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS), errors;
	uint32_t before = apb_read(&f, MISC + NEURON_MISC_METRIC);
	struct ring r;

	apb_write(&f, nq + GEN(NQ_BASE_LO), (uint32_t)no_memory[_i]);
	apb_write(&f, nq + GEN(NQ_BASE_HI), (uint32_t)(no_memory[_i] >> 32));
	apb_write(&f, nq + GEN(NQ_SIZE), 0x80000000u);
	queue_init(&f, &r, 0, 0, TX, RX, RING_LEN);
	errors = ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED);
	copy(&f, &r, 1ull << 48, HOST(0), 4); /* an error, which makes an entry */
	settle(&f);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), errors + 2);
	ck_assert_uint_eq(apb_read(&f, MISC + NEURON_MISC_METRIC), before);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(0)), 0);
}
END_TEST

/* If only an entry's last word lies beyond a memory, the next channel keeps its first one. */
START_TEST(notification_at_the_end_of_memory)
{
	uint64_t nq = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);
	uint64_t base = GEN(DRAM_CHANNEL_SIZE) - NEURON_NQ_ENTRY_PHASE;
	struct ring r;

	apb_write(&f, nq + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, nq + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, nq + GEN(NQ_SIZE), 4096);
	put32(mem(&f, GEN(DRAM1_BASE)), 0x66666666);
	queue_init(&f, &r, 0, 0, TX, RX, RING_LEN);
	copy(&f, &r, 1ull << 48, HOST(0), 4);
	settle(&f);
	ck_assert_uint_eq(get32(mem(&f, GEN(DRAM1_BASE))), 0x66666666);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(0)), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("storm");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, endless_work_is_answerable_and_ends, 0, 2);
	tcase_add_test(t, largest_mailbox_request);
	tcase_add_loop_test(t, rings_need_memory, 0, PLACES);
	tcase_add_loop_test(t, notification_queues_need_memory, 0, PLACES);
	tcase_add_test(t, notification_at_the_end_of_memory);
	suite_add_tcase(s, t);
	return check_run(s);
}
