/* SPDX-License-Identifier: MIT */
/*
 * See ref.h: the scalar reference of what NeuronCore-v2 and v3 have besides, one element at a time,
 * from docs/isa.md. All results go to a buffer before the first is written.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

/* One instruction's partition */
struct row {
	struct ref_core *c;
	const struct neuron_insn *insn;
	unsigned int p;
	uint32_t n, m; /* elements of src0, of dst */
	uint32_t *out; /* raw elements of dst */
	uint32_t *out1; /* of dst1, as many as it has */
};

static float a(const struct row *r, uint32_t i)
{
	return ref_load(r->c, &r->insn->src0, r->p, i);
}

static float b(const struct row *r, uint32_t i)
{
	return ref_load(r->c, &r->insn->src1, r->p, i);
}

static void put(const struct row *r, uint32_t i, float v)
{
	r->out[i] = ref_from_f32(r->insn->dst.dtype, v);
}

static float alu(uint8_t op, bool reverse, float x, float y)
{
	bool inexact;

	return reverse ? ref_alu(op, y, x, &inexact) : ref_alu(op, x, y, &inexact);
}

static void scan(const struct row *r)
{
	volatile float state = ref_scalar(r->c, &r->insn->scalar0, r->p);

	for (uint32_t i = 0; i < r->n; i++) {
		state = alu(r->insn->op0, r->insn->reverse0, a(r, i), state);
		state = alu(r->insn->op1, r->insn->reverse1, state, b(r, i));
		put(r, i, state);
	}
}

static float start_of(const struct row *r, uint8_t op)
{
	switch (r->insn->reduce_cmd) {
	case 0:
	case 2:
		return r->c->vector_acc[r->p];
	case 4:
		return ref_scalar(r->c, &r->insn->scalar1, r->p);
	default:
		return op == NEURON_ALU_MULT  ? 1
		       : op == NEURON_ALU_MAX ? -INFINITY
		       : op == NEURON_ALU_MIN ? INFINITY
					      : 0;
	}
}

static float canonical(float x)
{
	return isnan(x) ? NAN : x;
}

static void into_acc(const struct row *r, uint8_t op, const float *x)
{
	volatile float acc = start_of(r, op);

	for (uint32_t i = 0; i < r->n && r->insn->reduce_cmd >= 2; i++)
		acc = alu(op, false, acc, x[i]);
	r->c->vector_acc[r->p] = canonical(acc);
}

static void scalar_reduce(const struct row *r, float *x)
{
	float s = ref_scalar(r->c, &r->insn->scalar0, r->p);

	for (uint32_t i = 0; i < r->n; i++) {
		x[i] = alu(r->insn->op0, r->insn->reverse0, a(r, i), s);
		put(r, i, x[i]);
	}
	into_acc(r, r->insn->op1, x);
}

static void cumulative(const struct row *r)
{
	float s = ref_scalar(r->c, &r->insn->scalar0, r->p);
	volatile float acc = start_of(r, r->insn->op1);

	for (uint32_t i = 0; i < r->n; i++) {
		volatile float t = alu(r->insn->op0, r->insn->reverse0, a(r, i), s);

		acc = alu(r->insn->op1, false, t, acc);
		put(r, i, acc);
	}
	r->c->vector_acc[r->p] = canonical(acc);
}

static void bn_stats(const struct row *r)
{
	for (unsigned int half = 0; half < 2; half++) {
		volatile float sum = 0, m2 = 0, mean = 0;
		float count = 0;

		for (uint32_t i = half; i < r->n; i += 2, count++)
			sum = sum + a(r, i);
		if (count > 0)
			mean = sum / count;
		for (uint32_t i = half; i < r->n; i += 2) {
			volatile float d = a(r, i) - mean, q = d * d;

			m2 = m2 + q;
		}
		put(r, 3 * half, count);
		put(r, 3 * half + 1, mean);
		put(r, 3 * half + 2, m2);
	}
}

static void bn_aggr(const struct row *r)
{
	volatile float count = 0, sum = 0, m2 = 0, mean;

	for (uint32_t i = 0; i < r->n; i += 3) {
		volatile float t = a(r, i) * a(r, i + 1);

		count = count + a(r, i);
		sum = sum + t;
	}
	mean = sum / count;
	for (uint32_t i = 0; i < r->n; i += 3) {
		volatile float d = a(r, i + 1) - mean, q = d * d, t = a(r, i) * q;

		t = a(r, i + 2) + t;
		m2 = m2 + t;
	}
	put(r, 0, mean);
	put(r, 1, m2 / count);
}

/* Does element j come before element i among the greatest? */
static bool before(float x, float y)
{
	if (isnan(x) || isnan(y))
		return isnan(x) && !isnan(y);
	return x > y;
}

static void max8(const struct row *r)
{
	bool *taken = calloc(r->n, 1);

	for (unsigned int k = 0; k < 8; k++) {
		uint32_t best = r->n;

		for (uint32_t i = 0; i < r->n; i++)
			if (!taken[i] && (best == r->n || before(a(r, i), a(r, best))))
				best = i;
		taken[best] = true;
		put(r, k, a(r, best));
	}
	free(taken);
}

static uint32_t all_ones(uint8_t dtype)
{
	return dtype == NEURON_DT_UINT16 ? 0xffff : 0xffffffff;
}

static void find_index8(const struct row *r)
{
	for (unsigned int k = 0; k < 8; k++) {
		unsigned int nth = 0;

		for (unsigned int j = 0; j < k; j++)
			nth += b(r, j) == b(r, k);
		r->out[k] = all_ones(r->insn->dst.dtype);
		for (uint32_t i = 0; i < r->n; i++)
			if (a(r, i) == b(r, k) && !nth--) {
				r->out[k] = i;
				break;
			}
	}
}

static void match_replace8(const struct row *r)
{
	bool *replaced = calloc(r->n, 1);

	for (int k = 7; k >= 0; k--) {
		if (r->out1)
			r->out1[k] = all_ones(r->insn->dst1.dtype);
		for (uint32_t i = 0; i < r->n; i++)
			if (!replaced[i] && a(r, i) == b(r, (uint32_t)k)) {
				replaced[i] = true;
				if (r->out1)
					r->out1[k] = i;
				break;
			}
	}
	for (uint32_t i = 0; i < r->n; i++)
		put(r, i, replaced[i] ? r->insn->scalar0.f : a(r, i));
	free(replaced);
}

static void select_reduce(const struct row *r, float *x)
{
	for (uint32_t i = 0; i < r->n; i++) {
		bool yes = ref_raw(r->c, &r->insn->src1, r->p, i) != 0;

		x[i] = yes == !r->insn->reverse0 ? a(r, i)
						 : ref_scalar(r->c, &r->insn->scalar0, r->p);
		put(r, i, x[i]);
	}
	into_acc(r, NEURON_ALU_MAX, x);
}

static void range_select(const struct row *r, float *x)
{
	float lo = ref_scalar(r->c, &r->insn->scalar0, r->p);
	float hi = ref_scalar(r->c, &r->insn->scalar1, r->p);

	for (uint32_t i = 0; i < r->n; i++) {
		float at = r->insn->imm + (float)i;
		bool keep = alu(r->insn->op0, false, at, lo) != 0 &&
			    alu(r->insn->op1, false, at, hi) != 0;

		x[i] = keep ? a(r, i) : -3.4028234663852886e38f;
		put(r, i, x[i]);
	}
	into_acc(r, NEURON_ALU_MAX, x);
}

static void shuffle(const struct row *r)
{
	unsigned int from = r->insn->shuffle[r->p % 32 / 8] >> r->p % 8 * 8 & 0xff;

	for (uint32_t i = 0; i < r->n; i++)
		r->out[i] = from == 255 ? ref_raw(r->c, &r->insn->dst, r->p, i)
					: ref_raw(r->c, &r->insn->src0, r->p / 32 * 32 + from, i);
}

/* Random numbers */

static uint32_t next_xorshift(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

static uint32_t next_xorwow(uint32_t *s)
{
	uint32_t x = s[0], y = s[1], z = s[2], w = s[3], v = s[4];
	uint32_t t = x ^ (x >> 2);

	s[0] = y;
	s[1] = z;
	s[2] = w;
	s[3] = v;
	s[4] = (v ^ (v << 4)) ^ (t ^ (t << 1));
	s[5] += 362437;
	return s[5] + s[4];
}

static uint32_t mixed(uint32_t seed, uint32_t number)
{
	uint32_t h = seed + 0x9e3779b9u * (number + 1);

	h = (h ^ (h >> 16)) * 0x85ebca6bu;
	h = (h ^ (h >> 13)) * 0xc2b2ae35u;
	return h ^ (h >> 16);
}

static void seed(struct ref_core *c, uint32_t value)
{
	for (unsigned int lane = 0; lane < 128; lane++)
		c->xorshift[lane] = mixed(value, lane) ? mixed(value, lane) : 1;
}

void ref_v2_reset(struct ref_core *c)
{
	memset(c->vector_acc, 0, sizeof(c->vector_acc));
	seed(c, 0);
	for (unsigned int lane = 0; lane < 128; lane++)
		for (unsigned int k = 0; k < 6; k++)
			c->xorwow[lane][k] = mixed(k, lane);
}

static void rng(const struct row *r, bool on_gpsimd)
{
	for (uint32_t i = 0; i < r->m; i++)
		r->out[i] = on_gpsimd ? next_xorwow(r->c->xorwow[r->p])
				      : next_xorshift(&r->c->xorshift[r->p]);
}

static void dropout(const struct row *r)
{
	float p = ref_scalar(r->c, &r->insn->scalar0, r->p);

	for (uint32_t i = 0; i < r->n; i++) {
		double u = (next_xorshift(&r->c->xorshift[r->p]) >> 8) / 16777216.0;

		r->out[i] = u < (double)p ? 0 : ref_raw(r->c, &r->insn->src0, r->p, i);
	}
}

/* GpSimd */

static int32_t value_at(const struct neuron_insn *insn, unsigned int p, uint32_t i)
{
	int64_t v = insn->pattern.base + (int64_t)p * insn->pattern.channel;

	for (int d = 3; d >= 0; d--) {
		v += (int64_t)(i % insn->pattern.num[d]) * insn->pattern.step[d];
		i /= insn->pattern.num[d];
	}
	return (int32_t)(uint32_t)(uint64_t)v;
}

static uint32_t from_integer(uint8_t dtype, int32_t v)
{
	if (dtype == NEURON_DT_INT32 || dtype == NEURON_DT_UINT32)
		return (uint32_t)v;
	return ref_from_f32(dtype, (float)v);
}

static void iota(const struct row *r)
{
	for (uint32_t i = 0; i < r->m; i++)
		r->out[i] = from_integer(r->insn->dst.dtype, value_at(r->insn, r->p, i));
}

static void affine_select(const struct row *r)
{
	const struct neuron_insn *insn = r->insn;

	for (uint32_t i = 0; i < r->n; i++) {
		int32_t v = value_at(insn, r->p, i);
		bool yes = insn->op0 == NEURON_ALU_EQ	? v == 0
			   : insn->op0 == NEURON_ALU_NE ? v != 0
			   : insn->op0 == NEURON_ALU_GE ? v >= 0
			   : insn->op0 == NEURON_ALU_GT ? v > 0
			   : insn->op0 == NEURON_ALU_LE ? v <= 0
							: v < 0;

		if (!yes)
			put(r, i, insn->scalar0.f);
		else if (insn->src0.dtype == insn->dst.dtype)
			r->out[i] = ref_raw(r->c, &insn->src0, r->p, i);
		else
			put(r, i, a(r, i));
	}
}

static void partition_reduce(const struct row *r)
{
	const struct neuron_insn *insn = r->insn;

	for (uint32_t i = 0; i < r->n; i++) {
		volatile float acc = ref_load(r->c, &insn->src0, 0, i);
		uint32_t raw = ref_raw(r->c, &insn->src0, 0, i);

		for (unsigned int p = 1; p < insn->partitions; p++) {
			if (insn->op0 >= NEURON_ALU_AND)
				raw = ref_bitvec(insn->op0, raw, ref_raw(r->c, &insn->src0, p, i),
						 8 * ref_size(insn->dst.dtype));
			else
				acc = alu(insn->op0, false, acc, ref_load(r->c, &insn->src0, p, i));
		}
		if (insn->alpha != 0)
			acc = acc * insn->alpha;
		if (insn->op0 >= NEURON_ALU_AND)
			r->out[i] = raw;
		else
			put(r, i, acc);
	}
}

static void local_gather(const struct row *r)
{
	const struct neuron_insn *insn = r->insn;

	for (uint32_t i = 0; i < r->m; i++) {
		uint32_t k = i / insn->count; /* the core's index */
		uint32_t at = ref_raw(r->c, &insn->src1, r->p / 16 * 16 + k % 16, k / 16);

		at = at * insn->count + i % insn->count;
		r->out[i] = at < r->n ? ref_raw(r->c, &insn->src0, r->p, at) : 0;
	}
}

static void n_gather(const struct row *r)
{
	for (uint32_t i = 0; i < r->m; i++) {
		uint32_t at = ref_raw(r->c, &r->insn->src1, r->p, i);

		r->out[i] = at < r->n ? ref_raw(r->c, &r->insn->src0, r->p, at) : 0;
	}
}

static void sequence_bounds(const struct row *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		bool integer = r->insn->src0.dtype == NEURON_DT_INT32;
		uint32_t from = i, to = i;
#define ID(k) (integer ? (double)(int32_t)ref_raw(r->c, &r->insn->src0, 0, k) : (double)a(r, k))

		while (from && ID(from - 1) == ID(i))
			from--;
		while (to < r->n && (to == i || ID(to) == ID(i)))
			to++;
		r->out[i] = from_integer(r->insn->dst.dtype, (int32_t)(ID(i) == 0 ? r->n : from));
		r->out[r->n + i] = from_integer(r->insn->dst.dtype, ID(i) == 0 ? -1 : (int32_t)to);
	}
}

static void nonzero(const struct row *r)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < r->m; i++)
		r->out[i] = ref_raw(r->c, &r->insn->dst, r->p, i);
	if (r->p % 16)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		r->out[i] = r->insn->scalar1.bits;
	for (uint32_t i = 0; i < r->n; i++) {
		bool integer = r->insn->src0.dtype == NEURON_DT_INT32;
		uint32_t raw = ref_raw(r->c, &r->insn->src0, r->p, i);

		if (integer ? raw != 0 : !(a(r, i) == 0))
			r->out[found++] = r->insn->scalar0.bits + i;
	}
	r->out[r->n] = found;
}

/* Element i of a group of 16 partitions, each of which has every sixteenth */
static uint32_t topk_raw(const struct row *r, uint32_t i)
{
	return ref_raw(r->c, &r->insn->src0, r->p / 16 * 16 + i % 16, i / 16);
}

static void topk(const struct row *r)
{
	const uint32_t n = r->insn->total, k = r->insn->count;
	bool *taken = calloc(n, 1);
	uint32_t *order = calloc(k, sizeof(*order));
	uint32_t left = k;

	/* the greatest last; of equal ones those of small number are taken, and stand in order */
	for (uint32_t j = 0; j < k; j++) {
		uint32_t best = n;

		for (uint32_t i = 0; i < n; i++)
			if (!taken[i] &&
			    (best == n || before(ref_to_f32(NEURON_DT_BF16, topk_raw(r, i)),
						 ref_to_f32(NEURON_DT_BF16, topk_raw(r, best)))))
				best = i;
		taken[best] = true;
	}
	while (left--) {
		uint32_t best = n;

		for (uint32_t i = 0; i < n; i++)
			if (taken[i] &&
			    (best == n || before(ref_to_f32(NEURON_DT_BF16, topk_raw(r, best)),
						 ref_to_f32(NEURON_DT_BF16, topk_raw(r, i)))))
				best = i;
		taken[best] = false;
		order[left] = best;
	}
	for (uint32_t i = 0; i < r->m; i++) {
		uint32_t at = i * 16 + r->p % 16;

		r->out[i] = at < k ? topk_raw(r, order[k - 1 - at])
				   : ref_raw(r->c, &r->insn->dst, r->p, i);
		r->out1[i] = at < k ? order[k - 1 - at] : ref_raw(r->c, &r->insn->dst1, r->p, i);
	}
	free(order);
	free(taken);
}

static uint32_t native(const struct neuron_insn *insn, uint32_t x, uint32_t y)
{
	const bool sign = insn->dst.dtype == NEURON_DT_INT32;
	int64_t p = sign ? (int64_t)(int32_t)x : x, q = sign ? (int64_t)(int32_t)y : y;

	switch (insn->op0) {
	case NEURON_ALU_ADD:
		return (uint32_t)(p + q);
	case NEURON_ALU_SUB:
		return (uint32_t)(p - q);
	case NEURON_ALU_MULT:
		return (uint32_t)((uint64_t)p * (uint64_t)q);
	case NEURON_ALU_MAX:
		return (uint32_t)(p > q ? p : q);
	case NEURON_ALU_MIN:
		return (uint32_t)(p < q ? p : q);
	case NEURON_ALU_ABS_MAX:
		p = p < 0 ? -p : p;
		q = q < 0 ? -q : q;
		return (uint32_t)(p > q ? p : q);
	case NEURON_ALU_EQ:
		return p == q;
	case NEURON_ALU_NE:
		return p != q;
	case NEURON_ALU_GE:
		return p >= q;
	case NEURON_ALU_GT:
		return p > q;
	case NEURON_ALU_LE:
		return p <= q;
	case NEURON_ALU_LT:
		return p < q;
	case NEURON_ALU_LOGICAL_AND:
		return p && q;
	case NEURON_ALU_LOGICAL_OR:
		return p || q;
	default:
		return (p != 0) != (q != 0);
	}
}

static void integers(const struct row *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		r->out[i] = native(r->insn, ref_raw(r->c, &r->insn->src0, r->p, i),
				   ref_raw(r->c, &r->insn->src1, r->p, i));
}

static void set_state(struct ref_core *c, const struct neuron_insn *insn)
{
	if (insn->opcode == NEURON_OP_SET_RNG_SEED) {
		seed(c, ref_raw(c, &insn->src0, 0, 0));
		return;
	}
	for (unsigned int p = 0; p < insn->partitions; p++)
		for (uint32_t k = 0; k < 6; k++)
			c->xorwow[p][k] = ref_raw(c, &insn->src0, p, k);
}

static void row(const struct row *r, float *x, bool on_gpsimd)
{
	switch (r->insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR_SCAN:
		scan(r);
		break;
	case NEURON_OP_TENSOR_SCALAR_REDUCE:
		scalar_reduce(r, x);
		break;
	case NEURON_OP_TENSOR_SCALAR_CUMULATIVE:
		cumulative(r);
		break;
	case NEURON_OP_VECTOR_READ_ACC:
		put(r, 0, r->insn->negate ? -r->c->vector_acc[r->p] : r->c->vector_acc[r->p]);
		break;
	case NEURON_OP_BN_STATS:
		bn_stats(r);
		break;
	case NEURON_OP_BN_AGGR:
		bn_aggr(r);
		break;
	case NEURON_OP_MAX8:
		max8(r);
		break;
	case NEURON_OP_FIND_INDEX8:
		find_index8(r);
		break;
	case NEURON_OP_MATCH_REPLACE8:
		match_replace8(r);
		break;
	case NEURON_OP_SELECT_REDUCE:
		select_reduce(r, x);
		break;
	case NEURON_OP_RANGE_SELECT:
		range_select(r, x);
		break;
	case NEURON_OP_STREAM_SHUFFLE:
		shuffle(r);
		break;
	case NEURON_OP_DROPOUT:
		dropout(r);
		break;
	case NEURON_OP_RNG:
		rng(r, on_gpsimd);
		break;
	case NEURON_OP_IOTA:
		iota(r);
		break;
	case NEURON_OP_AFFINE_SELECT:
		affine_select(r);
		break;
	case NEURON_OP_PARTITION_REDUCE:
		partition_reduce(r);
		break;
	case NEURON_OP_LOCAL_GATHER:
		local_gather(r);
		break;
	case NEURON_OP_N_GATHER:
		n_gather(r);
		break;
	case NEURON_OP_SEQUENCE_BOUNDS:
		sequence_bounds(r);
		break;
	case NEURON_OP_NONZERO_WITH_COUNT:
		nonzero(r);
		break;
	case NEURON_OP_TOPK:
		topk(r);
		break;
	case NEURON_OP_RAND_GET_STATE:
		memcpy(r->out, r->c->xorwow[r->p], 6 * sizeof(*r->out));
		break;
	default:
		integers(r);
	}
}

void ref_v2(struct ref_core *c, const struct neuron_insn *insn, bool on_gpsimd)
{
	const bool one = insn->opcode == NEURON_OP_PARTITION_REDUCE;
	const unsigned int rows = one ? 1 : insn->partitions;
	uint32_t n = ref_count(&insn->src0), m = ref_count(&insn->dst);
	uint32_t m1 = ref_count(&insn->dst1);
	uint32_t *out = calloc((size_t)m * rows + 1, 4), *out1 = calloc((size_t)m1 * rows + 1, 4);
	float *x = calloc(n + 1, sizeof(*x));

	if (!m) {
		set_state(c, insn);
	} else {
		for (unsigned int p = 0; p < rows; p++) {
			const struct row r = { c,
					       insn,
					       p,
					       n,
					       m,
					       out + (size_t)p * m,
					       m1 ? out1 + (size_t)p * m1 : NULL };

			row(&r, x, on_gpsimd);
		}
		ref_flush(c, &insn->dst, rows, out);
		if (m1)
			ref_flush(c, &insn->dst1, rows, out1);
	}
	free(x);
	free(out1);
	free(out);
}
