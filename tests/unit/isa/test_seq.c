/* SPDX-License-Identifier: MIT */
/*
 * Registers, branches and windows of instructions of NeuronCore-v2 (docs/isa.md, Registers and
 * control flow), each against a model of it here.
 */
#include "program.h"

#define E NEURON_ENG_SP

static const uint32_t edges[] = { 0,	      1,	  2,	      31,	  32,
				  33,	      100,	  0x7fffffff, 0x80000000, -1,
				  0x80000001, 0x12345678, 0xdeadbeef };
#define EDGES (sizeof(edges) / sizeof(edges[0]))

/* In 64 bits, with signs */
static int64_t signed_of(uint32_t v)
{
	return v & 0x80000000 ? (int64_t)v - 0x100000000 : (int64_t)v;
}

static uint32_t model_alu(uint8_t op, uint32_t a, uint32_t b)
{
	const int64_t sa = signed_of(a), sb = signed_of(b);
	int64_t q = sa;

	switch (op) {
	case NEURON_REG_ADD:
		return (uint32_t)(uint64_t)(sa + sb);
	case NEURON_REG_SUB:
		return (uint32_t)(uint64_t)(sa - sb);
	case NEURON_REG_MUL:
		return (uint32_t)((uint64_t)a * b);
	case NEURON_REG_AND:
		return ~(~a | ~b);
	case NEURON_REG_OR:
		return ~(~a & ~b);
	case NEURON_REG_XOR:
		return (a | b) - (a & b);
	case NEURON_REG_SHL:
		for (uint32_t i = 0; i < b && i < 64; i++)
			a += a;
		return a;
	case NEURON_REG_SHR:
		for (uint32_t i = 0; i < b && i < 64; i++)
			a /= 2;
		return a;
	case NEURON_REG_SAR: /* towards minus infinity */
		for (uint32_t i = 0; i < b && i < 64; i++)
			q = (q - (q & 1)) / 2;
		return (uint32_t)(uint64_t)q;
	case NEURON_REG_MIN:
		return sa <= sb ? a : b;
	default:
		return sa >= sb ? a : b;
	}
}

static bool model_relation(uint8_t rel, uint32_t a, uint32_t b)
{
	const int64_t d = signed_of(a) - signed_of(b);

	switch (rel) {
	case NEURON_REL_EQ:
		return !d;
	case NEURON_REL_NE:
		return d;
	case NEURON_REL_LT:
		return d < 0;
	case NEURON_REL_LE:
		return d <= 0;
	case NEURON_REL_GT:
		return d > 0;
	case NEURON_REL_GE:
		return d >= 0;
	case NEURON_REL_LTU:
		return (int64_t)a - (int64_t)b < 0;
	case NEURON_REL_GEU:
		return (int64_t)a - (int64_t)b >= 0;
	default:
		return true;
	}
}

START_TEST(operations)
{
	for (size_t i = 0; i < EDGES * EDGES; i++) {
		const uint32_t a = edges[i / EDGES], b = edges[i % EDGES];

		length[E] = 0;
		put(E, move(1, a));
		put(E, move(2, b));
		put(E, alu(_i, 3, 1, 2));
		put(E, alu_value(_i, 4, 1, b));
		put(E, alu(_i, 1, 1, 1)); /* into its own operand */
		run_program(E);
		ck_assert_uint_eq(reg(E, 3), model_alu(_i, a, b));
		ck_assert_uint_eq(reg(E, 4), model_alu(_i, a, b));
		ck_assert_uint_eq(reg(E, 1), model_alu(_i, a, a));
	}
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

START_TEST(relations)
{
	for (size_t i = 0; i < EDGES * EDGES; i++) {
		const uint32_t a = edges[i / EDGES], b = edges[i % EDGES];
		struct neuron_insn insn = branch(_i, 1, b, 2);

		if (_i == NEURON_REL_ALWAYS)
			insn.ra = 0, insn.value = 0;
		length[E] = 0;
		put(E, move(1, a));
		put(E, move(2, b));
		put(E, insn);
		put(E, move(3, 1)); /* jumped over */
		insn.immediate = false;
		insn.value = 0;
		insn.rb = _i == NEURON_REL_ALWAYS ? 0 : 2;
		put(E, insn);
		put(E, move(4, 1));
		run_program(E);
		ck_assert_uint_eq(reg(E, 3), !model_relation(_i, a, b));
		ck_assert_uint_eq(reg(E, 4), !model_relation(_i, a, b));
	}
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* Elements of each type at places of each memory, by offset and by index */

static const struct {
	uint8_t type;
	unsigned int size;
	bool sign;
} types[] = {
	{ NEURON_DT_INT8, 1, true },  { NEURON_DT_UINT8, 1, false },
	{ NEURON_DT_INT16, 2, true }, { NEURON_DT_UINT16, 2, false },
	{ NEURON_DT_INT32, 4, true }, { NEURON_DT_UINT32, 4, false },
};

static uint8_t *in_sbuf(unsigned int part, unsigned int byte)
{
	return m.sbuf + part * PART + byte;
}

static uint8_t *in_psum(unsigned int part, unsigned int byte)
{
	return m.psum + part * m.target.psum_part_size + byte;
}

START_TEST(elements)
{
	const unsigned int size = types[_i].size;
	const struct {
		uint64_t address;
		bool device;
		uint8_t *at;
	} where[] = {
		{ SBUF(0, 64), false, in_sbuf(0, 64) },
		{ SBUF(77, PART - 4), false, in_sbuf(77, PART - 4) },
		{ SBUF(127, PART - size), false, in_sbuf(127, PART - size) },
		{ PSUM(3, 64), false, in_psum(3, 64) },
		{ PSUM(127, m.target.psum_part_size - size), false,
		  in_psum(127, m.target.psum_part_size - size) },
		{ HBM(DATA), true, m.hbm + DATA },
		{ HBM(MACHINE_HBM_SIZE - size), true, m.hbm + MACHINE_HBM_SIZE - size },
	};
	const uint8_t bytes[4] = { 0x81, 0xf2, 0x73, 0x94 };

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		uint8_t type = types[_i].type;
		uint64_t value = 0, a = where[i].address;

		for (unsigned int k = size; k--;)
			value = value << 8 | bytes[k];
		if (types[_i].sign && bytes[size - 1] & 0x80)
			value |= ~0ull << 8 * size;
		memcpy(where[i].at, bytes, size);
		length[E] = 0;
		put(E, load(1, type, a, where[i].device));
		put(E, move(2, -3));
		put(E, with_index(load(3, type, a + 12, where[i].device), 2, 4));
		put(E, alu_value(NEURON_REG_XOR, 4, 1, 0x5a5a5a5a));
		put(E, with_index(store(4, type, a - 6 * size, where[i].device), 2,
				  -2 * (int32_t)size));
		run_program(E);
		ck_assert_uint_eq(m.notes, 0);
		ck_assert_uint_eq(reg(E, 1), (uint32_t)value);
		ck_assert_uint_eq(reg(E, 3), (uint32_t)value);
		for (unsigned int k = 0; k < size; k++)
			ck_assert_uint_eq(where[i].at[k], bytes[k] ^ 0x5a);
	}
}
END_TEST

/* A store changes no byte beside its element. */
START_TEST(stores_no_more)
{
	memset(m.sbuf + 64, 0xee, 64);
	put(E, move(1, 0x11223344));
	put(E, store(1, NEURON_DT_UINT8, SBUF(0, 66), false));
	put(E, store(1, NEURON_DT_INT16, SBUF(0, 70), false));
	put(E, (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_STORE,
				     .immediate = true,
				     .value = 0x55667788,
				     .rtype = NEURON_DT_INT32,
				     .address = SBUF(0, 76) });
	run_program(E);
	ck_assert_mem_eq(m.sbuf + 64,
			 "\xee\xee\x44\xee\xee\xee\x44\x33\xee\xee\xee\xee\x88\x77\x66\x55\xee",
			 17);
}
END_TEST

/* Loops */

/* sum of 1 to n, and the time it takes: an instruction after the other, 64 cycles each */
START_TEST(counted)
{
	const uint64_t insn = 64ull * m.target.engine[E].cycle;
	const uint32_t n = 1000;

	put(E, move(1, n));
	put(E, alu(NEURON_REG_ADD, 2, 2, 1));
	put(E, alu_value(NEURON_REG_SUB, 1, 1, 1));
	put(E, branch(NEURON_REL_GT, 1, 0, -2));
	run_program(E);
	ck_assert_uint_eq(reg(E, 2), n * (n + 1) / 2);
	ck_assert_uint_eq(executed(E), 1 + 1 + 3 * n + 1);
	ck_assert_uint_eq(tpb_time(m.tpb, E), (1 + 1 + 3 * n + 1) * insn);
}
END_TEST

/* The loop runs as long as a word in memory, which another engine counts down, is not 0 */
START_TEST(while_value)
{
	const bool device = _i;
	const uint64_t word = device ? HBM(DATA) : SBUF(9, 16);
	const unsigned int other = NEURON_ENG_ACT;
	uint8_t *at = device ? m.hbm + DATA : in_sbuf(9, 16);

	at[0] = 50;
	put(other, load(1, NEURON_DT_INT32, word, device));
	put(other, alu_value(NEURON_REG_SUB, 1, 1, 1));
	put(other, store(1, NEURON_DT_INT32, word, device));
	put(other, branch(NEURON_REL_NE, 1, 0, -3));
	put(other, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	start(other);
	put(E, load(1, NEURON_DT_INT32, word, device));
	put(E, branch(NEURON_REL_EQ, 1, 0, 3));
	put(E, alu_value(NEURON_REG_ADD, 2, 2, 1));
	put(E, branch(NEURON_REL_ALWAYS, 0, 0, -3));
	run_program(E);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(at[0], 0);
	/* both have one clock and four instructions an iteration: as often as the other one */
	ck_assert_uint_eq(reg(E, 2), 50);
}
END_TEST

/* A token goes round all engines, each in a loop of its own */
START_TEST(in_step)
{
	const unsigned int n = m.target.engines;

	for (unsigned int e = 0; e < n; e++) {
		struct neuron_insn take = nop(), pass = nop();

		take.wait = NEURON_WAIT_SEM_GE;
		take.wait_index = (uint8_t)e;
		take.wait_value = 1;
		take.update = NEURON_UPD_SEM_DEC;
		take.update_index = (uint8_t)e;
		pass.update = NEURON_UPD_SEM_INC;
		pass.update_index = (uint8_t)((e + 1) % n);
		put(e, take);
		put(e, load(1, NEURON_DT_UINT32, SBUF(1, 0), false));
		put(e, alu_value(NEURON_REG_MUL, 1, 1, 3));
		put(e, alu_value(NEURON_REG_ADD, 1, 1, e));
		put(e, store(1, NEURON_DT_UINT32, SBUF(1, 0), false));
		put(e, pass);
		put(e, alu_value(NEURON_REG_ADD, 2, 2, 1));
		put(e, branch(NEURON_REL_LTU, 2, 20, -7));
		put(e, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
		start(e);
	}
	tpb_sem_write(m.tpb, TPB_SEM_SET, 0, 1, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 100000), TPB_BLOCKED);
	uint32_t want = 0, got;

	for (unsigned int i = 0; i < 20 * n; i++)
		want = want * 3 + i % n;
	memcpy(&got, in_sbuf(1, 0), 4);
	ck_assert_uint_eq(got, want);
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* Sources */

/* Behind the window the FIFO goes on, and registers keep their values until the next window */
START_TEST(window_and_fifo)
{
	struct neuron_insn insn;

	put(E, alu_value(NEURON_REG_ADD, 1, 1, 5));
	put(E, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	for (int i = 0; i < 2; i++) {
		start(E);
		insn = alu_value(NEURON_REG_ADD, 1, 1, 100);
		machine_push(&m, E, &insn, 0);
	}
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(reg(E, 1), 105);
	insn = fetch_of(E, 64); /* from pc on: the end at once */
	machine_push(&m, E, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(reg(E, 1), 0);
	ck_assert_uint_eq(m.notes, 0);
	tpb_reset(m.tpb);
}
END_TEST

/* From one window into another, which may be the same one */
START_TEST(window_to_window)
{
	const unsigned int other = NEURON_ENG_ACT; /* its window serves */

	put(other, move(2, 7));
	put(other, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	put(E, move(1, 1));
	put(E, fetch_of(other, 0));
	run_program(E);
	ck_assert_uint_eq(reg(E, 1), 0);
	ck_assert_uint_eq(reg(E, 2), 7);
}
END_TEST

/* An instruction that another one overwrites is executed as it is then, if it was executed before */
START_TEST(overwritten)
{
	const uint32_t at = 64 + 24; /* the value of the second instruction */

	put(E, alu_value(NEURON_REG_ADD, 2, 2, 1));
	put(E, alu_value(NEURON_REG_ADD, 1, 1, 10));
	put(E, store(2, NEURON_DT_UINT32, HBM(E * WINDOW + at), true));
	put(E, branch(NEURON_REL_LTU, 2, 5, -3));
	run_program(E);
	/* 10, then what the iteration before wrote */
	ck_assert_uint_eq(reg(E, 1), 10 + 1 + 2 + 3 + 4);
}
END_TEST

/* ... but not the one behind it, which has been read by then only if it is the next one */
START_TEST(read_ahead)
{
	put(E, move(2, 99));
	put(E, store(2, NEURON_DT_UINT32, HBM(E * WINDOW + 2 * 64 + 24), true));
	put(E, move(1, 1));
	run_program(E);
	ck_assert_uint_eq(reg(E, 1), 99);
}
END_TEST

START_TEST(end_of_memory)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_FETCH,
				    .address = HBM(MACHINE_HBM_SIZE - 128),
				    .length = 128 };
	uint8_t words[128];

	neuron_isa_encode(&(struct neuron_insn){ .opcode = NEURON_OP_MOVE, .rd = 1, .rb = 1 },
			  words);
	memcpy(m.hbm + MACHINE_HBM_SIZE - 128, words, 64);
	neuron_isa_encode(&(struct neuron_insn){ .opcode = NEURON_OP_FETCH_END }, words);
	memcpy(m.hbm + MACHINE_HBM_SIZE - 64, words, 64);
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 0);
	insn.length = 192;
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_FETCH_REFUSED);
	ck_assert_uint_eq(m.note[0].data, insn.address);
	ck_assert_uint_eq(m.note[0].data2, 192);
}
END_TEST

/* State */

static uint8_t *saved(struct tpb *tpb, int64_t *n)
{
	uint8_t *state;

	*n = tpb_save(tpb, NULL, 0);
	state = malloc((size_t)*n);
	ck_assert_int_eq(tpb_save(tpb, state, (uint64_t)*n), *n);
	return state;
}

static void put_loop(unsigned int e)
{
	put(e, alu_value(NEURON_REG_ADD, 1, 1, 3));
	put(e, alu(NEURON_REG_XOR, 2, 2, 1));
	put(e, store(2, NEURON_DT_UINT32, SBUF(2 + e, 0), false));
	put(e, branch(NEURON_REL_LTU, 1, 3000, -3));
	put(e, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	start(e);
}

/* Saved in the middle of a loop and loaded, it goes on with the same bits and times */
START_TEST(saved_in_loop)
{
	uint8_t *state, *end;
	int64_t n, k;

	for (unsigned int e = 0; e < m.target.engines; e++)
		put_loop(e);
	tpb_run(m.tpb, 500 + _i);
	state = saved(m.tpb, &n);
	ck_assert_int_eq(tpb_run(m.tpb, 1000000), TPB_BLOCKED);
	end = saved(m.tpb, &k);
	tpb_reset(m.tpb);
	tpb_run(m.tpb, 10);
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)n), 0);
	ck_assert_int_eq(tpb_run(m.tpb, 1000000), TPB_BLOCKED);
	free(state);
	state = saved(m.tpb, &n);
	ck_assert_int_eq(n, k);
	ck_assert_mem_eq(state, end, (size_t)n);
	free(state);
	free(end);
}
END_TEST

/* An instruction that was read stays what it was, though its place was written since */
START_TEST(saved_head)
{
	struct neuron_insn wait = nop();
	uint8_t *state;
	int64_t n;

	wait.wait = NEURON_WAIT_SEM_GE;
	wait.wait_value = 1;
	wait.update = NEURON_UPD_SEM_INC;
	wait.update_index = 9;
	put(E, wait);
	put(E, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	memset(word_of(E, 0), 0, 64);
	state = saved(m.tpb, &n);
	tpb_reset(m.tpb);
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)n), 0);
	free(state);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 0, 1, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 9), 1);
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* A state of another version is refused, whatever is in it */
START_TEST(other_version)
{
	uint8_t *state;
	int64_t n;

	state = saved(m.tpb, &n);
	state[0]--;
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)n), -EINVAL);
	state[0] += 2;
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)n), -EINVAL);
	free(state);
}
END_TEST

/* A window of a state may be anything: it is asked for like one that is fetched from */
START_TEST(hostile_state)
{
	static const struct {
		unsigned int at, size;
		uint64_t value;
		bool refused;
	} wrong[] = {
		{ 1, 8, MACHINE_HBM + 1, true },
		{ 9, 4, 0, true },
		{ 9, 4, 100, true },
		{ 13, 8, 32, true },
		{ 1, 8, 64, false },
		{ 9, 4, 1u << 31, false },
		{ 13, 8, 1ull << 40, false },
	};
	/* of an engine: the window, the head's words, registers, how it rounds; behind all GpSimd's
	 * flag */
	const size_t each = 1 + 8 + 4 + 8 + 128 + 64 * 4 + 17, end = 1;
	uint8_t *state;
	int64_t n;

	put_loop(E);
	tpb_run(m.tpb, 100);
	state = saved(m.tpb, &n);
	memcpy(state + (size_t)n - end - (m.target.engines - E) * each + wrong[_i].at,
	       &wrong[_i].value, wrong[_i].size);
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)n), wrong[_i].refused ? -EINVAL : 0);
	free(state);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(m.notes, !wrong[_i].refused);
}
END_TEST

/* A loop without an end uses up its budget, and a reset ends it */
START_TEST(endless)
{
	struct neuron_insn insn = nop();

	put(E, branch(NEURON_REL_ALWAYS, 0, 0, 0));
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 5000), TPB_BUDGET);
	ck_assert_uint_eq(executed(E), 5000);
	machine_push(&m, NEURON_ENG_ACT, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 5000), TPB_BUDGET);
	ck_assert_uint_eq(executed(NEURON_ENG_ACT), 1);
	tpb_reset(m.tpb);
	ck_assert(!tpb_runnable(m.tpb));
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* Straight programs of all that works on registers, against the model */
START_TEST(random_programs)
{
	uint64_t seed = 77 + _i;
	uint32_t want[NEURON_REGISTERS] = { 0 };

	for (int k = 0; k < 60; k++) {
		uint8_t rd = machine_random(&seed) % 8, ra = machine_random(&seed) % 8,
			rb = machine_random(&seed) % 8, op;
		uint32_t value = edges[machine_random(&seed) % EDGES];

		switch (machine_random(&seed) % 4) {
		case 0:
			put(E, move(rd, value));
			want[rd] = value;
			break;
		case 1:
			op = machine_random(&seed) % NEURON_REG_ALU_COUNT;
			put(E, alu(op, rd, ra, rb));
			want[rd] = model_alu(op, want[ra], want[rb]);
			break;
		case 2:
			op = machine_random(&seed) % NEURON_REG_ALU_COUNT;
			put(E, alu_value(op, rd, ra, value));
			want[rd] = model_alu(op, want[ra], value);
			break;
		default:
			if (length[E] > WINDOW - 4 * 64)
				break;
			op = 1 + machine_random(&seed) % (NEURON_REL_COUNT - 1);
			put(E, branch(op, ra, value, 2));
			put(E, move(rd, 5));
			if (!model_relation(op, want[ra], value))
				want[rd] = 5;
		}
		if (length[E] > WINDOW - 3 * 64)
			break;
	}
	run_program(E);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_mem_eq(m.tpb->eng[E].reg, want, sizeof(want));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("seq");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_loop_test(tc, operations, 0, NEURON_REG_ALU_COUNT);
	tcase_add_loop_test(tc, relations, 0, NEURON_REL_COUNT);
	LOOP(tc, elements, types);
	tcase_add_test(tc, stores_no_more);
	tcase_add_test(tc, counted);
	tcase_add_loop_test(tc, while_value, 0, 2);
	tcase_add_test(tc, in_step);
	tcase_add_test(tc, window_and_fifo);
	tcase_add_test(tc, window_to_window);
	tcase_add_test(tc, overwritten);
	tcase_add_test(tc, read_ahead);
	tcase_add_test(tc, end_of_memory);
	tcase_add_loop_test(tc, saved_in_loop, 0, 8);
	tcase_add_test(tc, saved_head);
	tcase_add_test(tc, other_version);
	tcase_add_loop_test(tc, hostile_state, 0, 7);
	tcase_add_test(tc, endless);
	tcase_add_loop_test(tc, random_programs, 0, 50);
	suite_add_tcase(s, tc);
	return check_run(s);
}
