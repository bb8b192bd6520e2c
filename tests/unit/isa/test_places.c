/* SPDX-License-Identifier: MIT */
/*
 * SORT, GATHER and SCATTER (docs/isa.md, Vector engine) on rows as long as networks have them, in
 * each set of kernels: orders against qsort, which compares keys and numbers, and every way to get
 * few keys out of many. test_insn.c has the short rows, patterns and overlaps.
 */
#include "../check_main.h"
#include "machine.h"

#define PART NEURON_V1_SBUF_PART_SIZE
#define KEYS_MAX 16000
#define ORDER_AT 65536 /* byte in the partition */

static const int32_t *keys_now;
static bool down_now;

static int by_key(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int32_t x = keys_now[down_now ? j : i], y = keys_now[down_now ? i : j];

	if (x != y)
		return x < y ? -1 : 1;
	return i < j ? -1 : 1;
}

enum keys { WILD, NEAR, EQUAL, RISING, FALLING, FLOATS, LONE, HIGH, KEYS };

static int32_t key(enum keys kind, uint32_t i, uint64_t *seed)
{
	uint64_t r = machine_random(seed);

	switch (kind) {
	case WILD:
		return (int32_t)r;
	case NEAR:
		return (int32_t)(r % 7) - 3;
	case EQUAL:
		return INT32_MIN;
	case RISING:
		return (int32_t)i * 3 - 5000;
	case FALLING:
		return 100000 - (int32_t)i;
	case FLOATS: /* of one sign, their exponents near to one another */
		return 0x3f000000 + (int32_t)(r % 0x1000000);
	case LONE: /* one of which one digit is not as the others' */
		return i == 57 ? 1 << 20 : 0;
	default: /* the low half is the same in all */
		return (int32_t)(r << 16);
	}
}

static void check_order(struct machine *m, uint32_t n, uint32_t k, const uint32_t *want)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SORT,
				    .partitions = 2,
				    .src0 = machine_ap(0, NEURON_DT_INT32, (uint16_t)n),
				    .dst = machine_ap(ORDER_AT, NEURON_DT_INT32, (uint16_t)k),
				    .reverse0 = down_now };

	memset(m->sbuf + ORDER_AT, 0xee, PART - ORDER_AT);
	machine_run1(m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m->notes, 0);
	ck_assert_mem_eq(m->sbuf + ORDER_AT, want, k * sizeof(*want));
	if (k < n) /* and nothing behind it */
		ck_assert_uint_eq(m->sbuf[ORDER_AT + k * sizeof(*want)], 0xee);
}

START_TEST(test_orders)
{
	static const uint32_t lengths[] = { 1,	 31,  64,  97,	 255,  256,
					    257, 512, 600, 2048, 5000, KEYS_MAX };
	static uint32_t want[KEYS_MAX];
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int kernels = machine_kernels(kern);
	uint64_t seed = 77 + (unsigned int)_i;
	struct machine m;

	machine_init(&m, &neuron_target_inf1, PART);
	keys_now = (const int32_t *)m.sbuf;
	for (unsigned int l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		uint32_t n = lengths[l], some[] = { n, 1, n / 32, n / 100, n / 2 };

		for (uint32_t i = 0; i < n; i++) {
			int32_t v = key((enum keys)(_i / 2), i, &seed);

			memcpy(m.sbuf + 4 * (size_t)i, &v, 4);
			want[i] = i;
		}
		down_now = _i % 2;
		qsort(want, n, sizeof(*want), by_key);
		for (unsigned int c = 0; c < kernels * 5; c++) {
			m.tpb->kern = kern[c / 5];
			if (some[c % 5])
				check_order(&m, n, some[c % 5], want);
		}
	}
	machine_fini(&m);
}
END_TEST

/* A histogram, which no order of additions changes, and back: each element's count */
START_TEST(test_histogram)
{
	enum { N = 9000, BINS = 700, BIN_AT = 0xa000, COUNT_AT = 0xc000 };
	static const float one = 1;
	struct neuron_insn add = { .opcode = NEURON_OP_SCATTER,
				   .op0 = NEURON_ALU_ADD,
				   .partitions = 1,
				   .src1 = machine_ap(0, NEURON_DT_INT32, N),
				   .src0 = machine_ap(BIN_AT + 4 * BINS, NEURON_DT_FP32, N),
				   .dst = machine_ap(BIN_AT, NEURON_DT_FP32, BINS) };
	struct neuron_insn take = { .opcode = NEURON_OP_GATHER,
				    .partitions = 1,
				    .src1 = machine_ap(0, NEURON_DT_INT32, N),
				    .src0 = machine_ap(BIN_AT, NEURON_DT_FP32, BINS),
				    .dst = machine_ap(COUNT_AT, NEURON_DT_FP32, N) };
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int kernels = machine_kernels(kern);
	float want[BINS] = { 0 }, got[N];
	int32_t index[N];
	uint64_t seed = 5;
	struct machine m;

	machine_init(&m, &neuron_target_inf1, PART);
	add.src0.step[3] = 0;
	for (uint32_t i = 0; i < N; i++) {
		index[i] = (int32_t)(machine_random(&seed) % (BINS + 40)) - 20;
		if (index[i] >= 0 && index[i] < BINS)
			want[index[i]]++;
	}
	for (unsigned int k = 0; k < kernels; k++) {
		m.tpb->kern = kern[k];
		memcpy(m.sbuf, index, sizeof(index));
		memset(m.sbuf + BIN_AT, 0, PART - BIN_AT);
		memcpy(m.sbuf + BIN_AT + 4 * BINS, &one, sizeof(one));
		machine_run1(&m, NEURON_ENG_POOL, &add);
		ck_assert_mem_eq(m.sbuf + BIN_AT, want, sizeof(want));
		machine_run1(&m, NEURON_ENG_POOL, &take);
		ck_assert_uint_eq(m.notes, 0);
		memcpy(got, m.sbuf + COUNT_AT, sizeof(got));
		for (uint32_t i = 0; i < N; i++)
			ck_assert(got[i] ==
				  (index[i] >= 0 && index[i] < BINS ? want[index[i]] : 0.0f));
	}
	machine_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("places");
	TCase *tc = tcase_create("places");

	tcase_add_loop_test(tc, test_orders, 0, 2 * KEYS);
	tcase_add_test(tc, test_histogram);
	suite_add_tcase(s, tc);
	return check_run(s);
}
