/* SPDX-License-Identifier: MIT */
/*
 * Stochastic rounding: Random123's known answers; each type at every discarded fraction and at the
 * ends of its range, against a model of one number at a time; means. -DROUND_LONG makes the
 * statistics of 10^8 roundings a type.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>

#include "fixture.h"
#include "ref.h"

#define CHUNK 1024
#ifdef ROUND_LONG
#define ROUNDINGS 100000000
#else
#define ROUNDINGS 1000000
#endif

static const uint8_t dtypes[] = { NEURON_DT_BF16,   NEURON_DT_FP16,   NEURON_DT_TF32,
				  NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5 };

/* The kat_vectors of Random123 for philox4x32, 10 rounds: counter, key, result */
static const uint32_t known[][10] = {
	{ 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
	{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
	  0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
	{ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
	  0x94fdcceb, 0x5001e420, 0x24126ea1 },
};

START_TEST(test_known_answers)
{
	const uint32_t *c = known[_i], *key = c + 4, *want = c + 6;
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);
	const uint64_t block = c[0] | (uint64_t)c[1] << 32;
	const struct exec_draws d = { .seed = key[0] | (uint64_t)key[1] << 32,
				      .engine = c[2],
				      .core = c[3] };
	uint32_t out[4], words[EXEC_DRAW_GROUP];

	ref_philox(c, key, out);
	ck_assert_mem_eq(out, want, sizeof(out));
	for (unsigned int i = 0; i < n; i++) {
		kern[i]->draw(&d, block / EXEC_DRAW_BLOCKS, 1, words);
		for (unsigned int j = 0; j < 4; j++)
			ck_assert_uint_eq(words[j * EXEC_DRAW_BLOCKS + block % EXEC_DRAW_BLOCKS],
					  want[j]);
	}
}
END_TEST

/* Groups one after the other are what the manual says of each draw */
START_TEST(test_words)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);
	const uint64_t first = (1ull << 34) - 2 * EXEC_DRAW_GROUP; /* blocks pass 2^32 */
	const struct exec_draws d = { .seed = 77ull << 32 | 5, .core = 3, .engine = 2 };
	const struct ref_draws ref = { .seed = d.seed, .core = d.core, .engine = d.engine };
	uint32_t words[4 * EXEC_DRAW_GROUP];

	for (unsigned int i = 0; i < n; i++) {
		kern[i]->draw(&d, first / EXEC_DRAW_GROUP, 4, words);
		for (unsigned int j = 0; j < 4 * EXEC_DRAW_GROUP; j++)
			ck_assert_uint_eq(words[j], ref_word(&ref, first + j));
	}
}
END_TEST

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* The bits of a type that x becomes by a word */
static uint32_t rounded(const struct exec_kernels *kern, uint8_t dtype, float x, uint32_t word)
{
	float in[16] = { x }, out[16];
	uint32_t words[16] = { word }, raw = 0;

	kern->round(dtype, out, in, words, 1);
	kern->store(dtype, &raw, out, 1);
	return raw;
}

/*
 * Rounds numbers of all exponents with random words at, below and above the one that rounds up, and
 * any
 */
START_TEST(test_each_type)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);
	const uint8_t dtype = dtypes[_i];
	uint64_t seed = 0x9e3779b97f4a7c15ull + dtype;

	for (unsigned int done = 0; done < 200000; done++) {
		uint32_t bits = (uint32_t)machine_random(&seed), word, want, lost;
		float x;

		bits = (bits & 0x807fffff) | done % 256 << 23;
		if (done % 5 == 0) /* few bits are discarded, or none */
			bits &= 0xffffffff << machine_random(&seed) % 24;
		x = float_of(bits);
		word = (uint32_t)machine_random(&seed);
		lost = done % 3 ? 0 : 32 - (unsigned int)machine_random(&seed) % 32;
		if (lost) /* a threshold: the fraction and its complement */
			word = -(bits << lost % 32) - (uint32_t)(machine_random(&seed) % 3) + 1;
		want = ref_from_f32(dtype, ref_round(dtype, x, word));
		for (unsigned int i = 0; i < n; i++) {
			uint32_t got = rounded(kern[i], dtype, x, word);

			if (got != want)
				ck_abort_msg("%s: %#x by %#x is %#x, want %#x", kern[i]->name, bits,
					     word, got, want);
		}
	}
}
END_TEST

static const struct {
	uint8_t dtype;
	float x;
	uint32_t word, want;
} ends[] = {
	/* the greatest number, and a carry out of it */
	{ NEURON_DT_FP16, 65504, UINT32_MAX, 0x7bff },
	{ NEURON_DT_FP16, 65519, 0, 0x7bff },
	{ NEURON_DT_FP16, 65520, 0x7fffffff, 0x7bff },
	{ NEURON_DT_FP16, 65520, 0x80000000, 0x7c00 },
	{ NEURON_DT_FP16, -65535, UINT32_MAX, 0xfc00 },
	{ NEURON_DT_FP16, 65536, 0, 0x7c00 },
	{ NEURON_DT_BF16, FLT_MAX, 0, 0x7f7f },
	{ NEURON_DT_BF16, FLT_MAX, UINT32_MAX, 0x7f80 },
	{ NEURON_DT_TF32, -FLT_MAX, UINT32_MAX, 0xff800000 },
	{ NEURON_DT_FP8_E4, 240, UINT32_MAX, 0x77 },
	{ NEURON_DT_FP8_E4, 255, 0, 0x77 },
	{ NEURON_DT_FP8_E4, 255, UINT32_MAX, 0x78 },
	{ NEURON_DT_FP8_E3, 15.75f, 0x80000000, 0x70 },
	{ NEURON_DT_FP8_E5, 57344, UINT32_MAX, 0x7b },
	/* what is no number, or 0 */
	{ NEURON_DT_FP8_E5, INFINITY, UINT32_MAX, 0x7c },
	{ NEURON_DT_FP8_E5, -INFINITY, UINT32_MAX, 0xfc },
	{ NEURON_DT_FP16, NAN, UINT32_MAX, 0x7e00 },
	{ NEURON_DT_BF16, NAN, UINT32_MAX, 0x7fc0 },
	{ NEURON_DT_TF32, -0.0f, UINT32_MAX, 0x80000000 },
	/* subnormal: one part in 2^32 is the least that is looked at */
	{ NEURON_DT_FP16, 0x1p-24f, UINT32_MAX, 1 },
	{ NEURON_DT_FP16, 0x1p-25f, 0x7fffffff, 0 },
	{ NEURON_DT_FP16, 0x1p-25f, 0x80000000, 1 },
	{ NEURON_DT_FP16, 0x1p-56f, UINT32_MAX, 1 },
	{ NEURON_DT_FP16, 0x1p-57f, UINT32_MAX, 0 },
	{ NEURON_DT_FP8_E3, -0x1p-38f, UINT32_MAX, 0x81 },
	{ NEURON_DT_FP8_E3, 0x1p-149f, UINT32_MAX, 0 },
	{ NEURON_DT_BF16, 0x1p-149f, UINT32_MAX, 1 },
	{ NEURON_DT_FP8_E4, 0x1.fffffep-7f, UINT32_MAX, 0x08 },
};

START_TEST(test_ends)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);

	for (unsigned int i = 0; i < n; i++)
		ck_assert_uint_eq(rounded(kern[i], ends[_i].dtype, ends[_i].x, ends[_i].word),
				  ends[_i].want);
}
END_TEST

/*
 * Numbers between two neighbours of a type: the mean of what they become differs from their own by
 * at most five times what chance does; so does the one of numbers below 0.
 */
static void check_unbiased(const struct exec_kernels *kern, uint8_t dtype, float sign)
{
	struct exec_draws d = { .seed = 1 };
	uint64_t seed = 88172645463325252ull + dtype;
	double error = 0, variance = 0;
	static float x[CHUNK + 16], out[CHUNK + 16];
	static uint32_t words[CHUNK];

	for (uint64_t done = 0; done < ROUNDINGS; done += CHUNK) {
		for (unsigned int i = 0; i < CHUNK; i++)
			x[i] = sign * (1 + (float)(machine_random(&seed) >> 33) * 0x1p-23f);
		kern->draw(&d, done / EXEC_DRAW_GROUP, CHUNK / EXEC_DRAW_GROUP, words);
		kern->round(dtype, out, x, words, CHUNK);
		for (unsigned int i = 0; i < CHUNK; i++) {
			float down = ref_round(dtype, x[i], 0), up;

			up = ref_round(dtype, x[i], UINT32_MAX);
			error += (double)out[i] - x[i];
			variance += ((double)x[i] - down) * ((double)up - x[i]);
		}
	}
	ck_assert_msg(fabs(error) <= 5 * sqrt(variance), "type %s: %g of sigma",
		      neuron_isa_dtypes[dtype].name, error / sqrt(variance));
	ck_assert(variance > 0);
}

START_TEST(test_unbiased)
{
	check_unbiased(exec_kernels_best(), dtypes[_i], 1);
	check_unbiased(exec_kernels_best(), dtypes[_i], -1);
}
END_TEST

static void setup_v2(void)
{
	machine_init(&m, neuron_gen_trainium.target, PART);
}

static struct neuron_insn rounding(uint8_t mode, uint64_t seed)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_SET_ROUNDING,
				     .rounding = mode,
				     .seed = seed };
}

#define SUMS 128 /* partitions, each a sum of its own */
#define PER 8 /* ... of so many columns */
#define ADDENDS 2048

/* dst = src0 + 0.5, fp16 in place */
static struct neuron_insn add_half(void)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR,
				    .partitions = SUMS,
				    .op0 = NEURON_ALU_ADD,
				    .op1 = NEURON_ALU_BYPASS,
				    .scalar0.f = 0.5f };

	insn.dst = insn.src0 = machine_ap(0, NEURON_DT_FP16, PER);
	return insn;
}

static uint16_t *sums_of(const struct machine *machine, unsigned int p)
{
	return (uint16_t *)(void *)(machine->sbuf + (size_t)p * PART);
}

static void start_sums(void)
{
	for (unsigned int p = 0; p < SUMS; p++)
		for (unsigned int i = 0; i < PER; i++)
			sums_of(&m, p)[i] = 0x6400; /* 1024 */
}

/* The documented check: a sum that rounding to nearest never leaves. 1024 draws are 1024 seeds */
START_TEST(test_sum)
{
	struct neuron_insn insn = rounding(NEURON_ROUND_STOCHASTIC, 12345);
	const struct neuron_insn add = add_half();
	double sum = 0;

	start_sums();
	for (unsigned int i = 0; i < 3; i++)
		machine_run1(&m, NEURON_ENG_POOL, &add);
	ck_assert_uint_eq(sums_of(&m, 0)[0], 0x6400);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	for (unsigned int i = 0; i < ADDENDS; i++)
		machine_run1(&m, NEURON_ENG_POOL, &add);
	ck_assert_uint_eq(m.notes, 0);
	for (unsigned int p = 0; p < SUMS; p++)
		for (unsigned int i = 0; i < PER; i++)
			sum += ref_to_f32(NEURON_DT_FP16, sums_of(&m, p)[i]);
	/* each addition is a coin: a sum's variance is ADDENDS / 4, a little more from 2048 on */
	ck_assert(fabs(sum / (SUMS * PER) - 2048) <= 4 * sqrt(ADDENDS / 4.0 / (SUMS * PER)));
	ck_assert_uint_eq(m.tpb->eng[NEURON_ENG_POOL].draws.count, (uint64_t)ADDENDS * SUMS * PER);
}
END_TEST

/* Sums that are rounded at random by a thousand seeds have the exact sum as their mean. */
START_TEST(test_seeds)
{
	struct neuron_insn add = add_half();
	double sum = 0;
	uint16_t one;

	add.partitions = 1;
	add.dst.num[3] = add.src0.num[3] = 1;
	for (unsigned int seed = 0; seed < 1000; seed++) {
		struct neuron_insn insn = rounding(NEURON_ROUND_STOCHASTIC, seed);

		start_sums();
		machine_run1(&m, NEURON_ENG_POOL, &insn);
		for (unsigned int i = 0; i < ADDENDS; i++)
			machine_run1(&m, NEURON_ENG_POOL, &add);
		one = sums_of(&m, 0)[0];
		sum += ref_to_f32(NEURON_DT_FP16, one);
	}
	ck_assert(fabs(sum / 1000 - 2048) <= 4 * sqrt(ADDENDS / 4.0 / 1000));
}
END_TEST

/* Draws are each engine's own; a word an element that is narrowed, whether it is exact or not */
START_TEST(test_counts)
{
	struct neuron_insn insn = rounding(NEURON_ROUND_STOCHASTIC, 9);
	const struct neuron_insn nearest = rounding(NEURON_ROUND_NEAREST, 0);
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START,
					   .isa_version = m.target.isa_version };
	const uint64_t *act = &m.tpb->eng[NEURON_ENG_ACT].draws.count;
	const uint64_t *pool = &m.tpb->eng[NEURON_ENG_POOL].draws.count;
	struct neuron_insn copy = { .opcode = NEURON_OP_TENSOR_COPY, .partitions = 3 };

	machine_run1(&m, NEURON_ENG_ACT, &insn);
	copy.dst = machine_ap(0, NEURON_DT_BF16, 5);
	copy.src0 = machine_ap(64, NEURON_DT_FP32, 5);
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	ck_assert_uint_eq(*act, 15);
	machine_run1(&m, NEURON_ENG_POOL, &copy); /* which rounds to nearest */
	ck_assert_uint_eq(*pool, 0);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	copy.src0.dtype = NEURON_DT_BF16; /* bits are moved */
	machine_run1(&m, NEURON_ENG_POOL, &copy);
	ck_assert_uint_eq(*pool, 0);
	machine_run1(&m, NEURON_ENG_ACT, &copy); /* through fp32 */
	ck_assert_uint_eq(*act, 30);
	copy.dst.dtype = NEURON_DT_INT8;
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	copy.dst = machine_ap(0, NEURON_DT_FP32, 5);
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	ck_assert_uint_eq(*act, 30);
	copy.dst = machine_ap(0, NEURON_DT_BF16, 5);
	machine_run1(&m, NEURON_ENG_ACT, &nearest);
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	machine_run1(&m, NEURON_ENG_ACT, &insn); /* the draws go on */
	ck_assert_uint_eq(*act, 30);
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	machine_run1(&m, NEURON_ENG_ACT, &start); /* a program rounds to nearest until told */
	machine_run1(&m, NEURON_ENG_ACT, &copy);
	ck_assert_uint_eq(*act, 45);
	insn.seed++; /* which has its own */
	machine_run1(&m, NEURON_ENG_ACT, &insn);
	ck_assert_uint_eq(*act, 0);
	ck_assert_uint_eq(m.notes, 0);
	tpb_reset(m.tpb);
	ck_assert(!m.tpb->eng[NEURON_ENG_ACT].at_random);
	ck_assert_uint_eq(m.tpb->eng[NEURON_ENG_ACT].draws.seed, 0);
}
END_TEST

static void refused(uint8_t mode, uint64_t seed)
{
	const struct neuron_insn insn = rounding(mode, seed);

	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_uint_eq(m.note[0].data, NEURON_OP_SET_ROUNDING);
}

START_TEST(test_refused)
{
	refused(_i ? NEURON_ROUND_NEAREST : NEURON_ROUND_COUNT, _i);
}
END_TEST

/* The first generation has no such instruction */
START_TEST(test_first_generation)
{
	machine_fini(&m);
	setup();
	refused(NEURON_ROUND_STOCHASTIC, 1);
}
END_TEST

/* In another core from the middle on: the same bits */
START_TEST(test_save_and_load)
{
	const struct neuron_insn insn = rounding(NEURON_ROUND_STOCHASTIC, 1ull << 40);
	const struct neuron_insn add = add_half();
	const int64_t size = tpb_save(m.tpb, NULL, 0);
	uint8_t *state = malloc((size_t)size);
	struct machine other;

	machine_init(&other, neuron_gen_trainium.target, PART);
	start_sums();
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	for (unsigned int i = 0; i < 100; i++) {
		if (i == 37) {
			ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
			ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), 0);
			memcpy(other.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
		}
		machine_run1(&m, NEURON_ENG_POOL, &add);
		if (i >= 37)
			machine_run1(&other, NEURON_ENG_POOL, &add);
	}
	ck_assert_mem_eq(other.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	machine_fini(&other);
	free(state);
}
END_TEST

#define THREADS 8

struct worker {
	pthread_t thread;
	struct machine m;
};

static void *work(void *arg)
{
	const struct neuron_insn insn = rounding(NEURON_ROUND_STOCHASTIC, 4711);
	const struct neuron_insn add = add_half();
	struct worker *w = arg;

	machine_run1(&w->m, NEURON_ENG_POOL, &insn);
	for (unsigned int i = 0; i < 200; i++)
		machine_run1(&w->m, NEURON_ENG_POOL, &add);
	return NULL;
}

/* Cores beside each other, one to eight threads, by turns with other kernels: the same bits */
START_TEST(test_threads)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);
	static struct worker w[THREADS];

	start_sums();
	for (unsigned int i = 0; i <= (unsigned int)_i; i++) {
		machine_init(&w[i].m, neuron_gen_trainium.target, PART);
		w[i].m.tpb->kern = kern[i % n];
		memcpy(w[i].m.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	}
	for (unsigned int i = 0; i <= (unsigned int)_i; i++)
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	for (unsigned int i = 0; i <= (unsigned int)_i; i++) {
		pthread_join(w[i].thread, NULL);
		ck_assert_mem_eq(w[i].m.sbuf, w[0].m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	}
	ck_assert_mem_ne(w[0].m.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	for (unsigned int i = 0; i <= (unsigned int)_i; i++)
		machine_fini(&w[i].m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("round");
	TCase *tc = tcase_create("kernels"), *core = tcase_create("core");

	LOOP(tc, test_known_answers, known);
	tcase_add_test(tc, test_words);
	LOOP(tc, test_each_type, dtypes);
	LOOP(tc, test_ends, ends);
	LOOP(tc, test_unbiased, dtypes);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(core, setup_v2, teardown);
	tcase_add_test(core, test_sum);
	tcase_add_test(core, test_seeds);
	tcase_add_test(core, test_counts);
	tcase_add_loop_test(core, test_refused, 0, 2);
	tcase_add_test(core, test_first_generation);
	tcase_add_test(core, test_save_and_load);
	tcase_add_loop_test(core, test_threads, 0, THREADS);
	suite_add_tcase(s, core);
	return check_run(s);
}
