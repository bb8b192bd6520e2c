/* SPDX-License-Identifier: MIT */
/*
 * What looks for elements of a row (docs/isa.md): the Vector engine's MAX8, FIND_INDEX8 and
 * MATCH_REPLACE8, and GpSimd's TOPK, NONZERO_WITH_COUNT and SEQUENCE_BOUNDS. Called by exec_pool.c
 * and exec_gpsimd.c.
 */
#include "exec_row.h"

#include <stdlib.h>

#define EIGHT 8
#define GROUP NEURON_ISA_GPSIMD_PARTITIONS

/* NaN is greater than every number */
static inline bool greater(float a, float b)
{
	return a > b || (a != a && b == b);
}

void exec_max8(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float best[16];
		unsigned int found = 0;

		exec_row_floats(t, &src, p, x);
		for (uint32_t i = 0; i < src.r.count; i++) {
			unsigned int k;

			if (found == EIGHT && !greater(x[i], best[EIGHT - 1]))
				continue;
			k = found < EIGHT ? found++ : EIGHT - 1;
			for (; k && greater(x[i], best[k - 1]); k--)
				best[k] = best[k - 1];
			best[k] = x[i];
		}
		exec_row_store(t, &dst, p, best);
	}
}

/* Numbers of elements into uint16 or uint32; UINT32_MAX is all ones in both */
static void put_numbers(struct exec_operand *dst, unsigned int p, const uint32_t *number,
			uint32_t n)
{
	uint16_t half[EIGHT];

	if (dst->r.size == 4) {
		exec_row_put(dst, p, number);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		half[i] = (uint16_t)number[i];
	exec_row_put(dst, p, half);
}

static void find_index8(const float *x, uint32_t n, const float *value, uint32_t *number)
{
	for (unsigned int i = 0; i < EIGHT; i++) {
		unsigned int skip = 0;

		number[i] = UINT32_MAX;
		for (unsigned int k = 0; k < i; k++)
			skip += value[k] == value[i];
		for (uint32_t j = 0; j < n; j++) {
			if (x[j] != value[i] || skip--)
				continue;
			number[i] = j;
			break;
		}
	}
}

/* From the last value to the first, each takes the first element that is left of those equal to it */
static void match_replace8(float *x, uint32_t n, const float *value, float imm, uint32_t *number)
{
	for (unsigned int i = EIGHT; i-- > 0;) {
		number[i] = UINT32_MAX;
		for (uint32_t j = 0; j < n; j++) {
			bool taken = false;

			if (x[j] != value[i])
				continue;
			for (unsigned int k = i + 1; k < EIGHT; k++)
				taken |= number[k] == j;
			if (taken)
				continue;
			number[i] = j;
			break;
		}
	}
	for (unsigned int i = 0; i < EIGHT; i++)
		if (number[i] != UINT32_MAX)
			x[number[i]] = imm;
}

void exec_find_index8(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src, values;
	float value[16];
	uint32_t number[EIGHT];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &values, &insn->src1, &t->at.src1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_row_floats(t, &src, p, t->scratch->acc);
		exec_row_floats(t, &values, p, value);
		find_index8(t->scratch->acc, src.r.count, value, number);
		put_numbers(&dst, p, number, EIGHT);
	}
}

void exec_match_replace8(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, dst1, src, values;
	bool indexed = insn->dst1.dtype != NEURON_DT_INVALID;
	float value[16];
	uint32_t number[EIGHT];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &values, &insn->src1, &t->at.src1);
	if (indexed)
		exec_operand_init(t, &dst1, &insn->dst1, &t->at.dst1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_row_floats(t, &src, p, t->scratch->acc);
		exec_row_floats(t, &values, p, value);
		match_replace8(t->scratch->acc, src.r.count, value, insn->scalar0.f, number);
		exec_row_store(t, &dst, p, t->scratch->acc);
		if (indexed)
			put_numbers(&dst1, p, number, EIGHT);
	}
}

/* bf16 as an integer in its order: zeros are equal, NaN is above all */
static uint32_t bf16_order(uint16_t v)
{
	if ((v & 0x7fffu) > 0x7f80)
		return 0x1ffff;
	if (!(v & 0x7fffu))
		return 0x8000;
	return v & 0x8000u ? 0x8000u - (v & 0x7fffu) : 0x8000u + v;
}

static int by_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The k greatest of n in ascending order, as numbers of elements; equal ones by their number */
static void topk(uint64_t *key, const uint16_t *value, uint32_t n, uint32_t k)
{
	for (uint32_t i = 0; i < n; i++)
		key[i] = (uint64_t)bf16_order(value[i]) << 32 | (UINT32_MAX - i);
	qsort(key, n, sizeof(*key), by_u64);
	memmove(key, key + (n - k), k * sizeof(*key));
	for (uint32_t i = 0; i < k;
	     i++) /* of equal ones the first are among them, and come first */
		key[i] ^= UINT32_MAX;
	qsort(key, k, sizeof(*key), by_u64);
}

/* Element i of a group of 16 partitions lies in partition i % 16, column i / 16 */
void exec_topk(struct tpb *t, const struct neuron_insn *insn)
{
	const uint32_t n = insn->total, k = insn->count;
	uint64_t *key = (uint64_t *)(void *)t->scratch->pairs[0];
	uint16_t *value = (uint16_t *)t->scratch->x;
	struct exec_operand dst, dst1, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &dst1, &insn->dst1, &t->at.dst1);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p += GROUP) {
		for (unsigned int q = 0; q < GROUP; q++) {
			const uint16_t *row = exec_row_raw(&src, p + q, t->scratch->acc);

			for (uint32_t i = q; i < n; i += GROUP)
				value[i] = row[i / GROUP];
		}
		topk(key, value, n, k);
		for (unsigned int q = 0; q < GROUP; q++) {
			exec_operand_row(&dst, p + q);
			exec_operand_row(&dst1, p + q);
			for (uint32_t i = q; i < k; i += GROUP) {
				uint32_t at = (uint32_t)key[i];

				exec_stream_put(&dst.s, &value[at], 1);
				exec_stream_put(&dst1.s, &at, 1);
			}
		}
	}
}

void exec_nonzero(struct tpb *t, const struct neuron_insn *insn)
{
	int32_t *out = (int32_t *)t->scratch->x;
	struct exec_operand dst, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p += GROUP) {
		const uint32_t n = src.r.count, *x = exec_row_raw(&src, p, t->scratch->acc);
		/* a zero of fp32 has either sign */
		const uint32_t bits = src.dtype == NEURON_DT_FP32 ? 0x7fffffff : UINT32_MAX;
		uint32_t found = 0;

		for (uint32_t i = 0; i < n; i++)
			if (x[i] & bits)
				out[found++] = (int32_t)(insn->scalar0.bits + i);
		for (uint32_t i = found; i < n; i++)
			out[i] = (int32_t)insn->scalar1.bits;
		out[n] = (int32_t)found;
		exec_row_put(&dst, p, out);
	}
}

/* Runs of equal ids that are not 0: where each begins and ends, for every element of it */
void exec_sequence_bounds(struct tpb *t, const struct neuron_insn *insn)
{
	int32_t *out = (int32_t *)t->scratch->x;
	struct exec_operand dst, src;
	const uint32_t *id;
	uint32_t n, end;
	bool integer = insn->src0.dtype == NEURON_DT_INT32;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	n = src.r.count;
	id = exec_row_raw(&src, 0, t->scratch->acc);
	for (uint32_t i = 0; i < n; i = end) {
		float a, b = 0;

		memcpy(&a, &id[i], sizeof(a));
		for (end = i + 1; end < n; end++) {
			memcpy(&b, &id[end], sizeof(b));
			if (integer ? id[end] != id[i] : a != b)
				break;
		}
		for (uint32_t k = i; k < end; k++) {
			bool none = integer ? !id[i] : a == 0;

			out[k] = none ? (int32_t)n : (int32_t)i;
			out[n + k] = none ? -1 : (int32_t)end;
		}
	}
	exec_row_integers(t, &dst, 0, out);
}
