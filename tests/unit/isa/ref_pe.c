/* SPDX-License-Identifier: MIT */
/* The tensor engine's later instructions for ref.c, from docs/isa.md (section 7) */
#include "ref_pe.h"

#include <math.h>

/* Element (slot, j) of a partition of a pattern whose pair 0 counts slots */
static float ref_slot(struct ref_core *c, const struct neuron_ap *ap, unsigned int p,
		      unsigned int slot, uint32_t j)
{
	return ref_load(c, ap, p, slot * (ref_count(ap) / ap->num[0]) + j);
}

static void ref_finish(struct ref_core *c, const struct neuron_insn *insn, unsigned int r,
		       uint32_t j, float sum)
{
	if (insn->accumulate)
		sum += ref_to_f32(NEURON_DT_FP32, ref_raw(c, &insn->dst, r, j));
	ref_put(c, &insn->dst, r, j, ref_from_f32(NEURON_DT_FP32, sum));
}

/*
 * The sum of the products that the tags of column r choose, k by k; a weight that no tag chooses
 * counts as 0
 */
static float ref_sparse_sum(struct ref_core *c, const struct neuron_insn *insn, unsigned int r,
			    uint32_t j)
{
	const unsigned int m = insn->neighbours, n = m * insn->src0.num[0];
	float sum = 0;

	for (unsigned int k = 0; k < (unsigned int)insn->partitions * insn->src0.num[0]; k++) {
		const unsigned int first = k / n * m, tag = k % n;
		const float x = ref_slot(c, &insn->src0, first + tag % m, tag / m, j);
		bool chosen = false;

		for (unsigned int p = first; p < first + m; p++) {
			if ((ref_raw(c, &insn->src1, p, r / 4) >> 4 * (r % 4) & 15) != tag)
				continue;
			sum = fmaf(c->weights[p][r], x, sum);
			chosen = true;
		}
		if (!chosen)
			sum = fmaf(0, isfinite(x) ? x : 0, sum);
	}
	return sum;
}

void ref_pe_forms(struct ref_core *c, const struct neuron_insn *insn)
{
	const uint32_t n = ref_count(&insn->src0) / insn->src0.num[0];
	const int bias = neuron_isa_bias(insn->src_bias);

	if (insn->opcode == NEURON_OP_LDWEIGHTS_DOUBLE) {
		for (unsigned int k = 0; k < 2u * insn->partitions; k++)
			for (uint32_t i = 0; i < n; i++)
				c->weights[k][i] =
					ldexpf(ref_slot(c, &insn->src0, k / 2, k % 2, i), -bias);
		c->k = 2u * insn->partitions;
		c->fs = n;
		c->dtype = insn->src0.dtype;
		c->doubled = true;
		return;
	}
	for (unsigned int r = 0; r < c->fs; r++) {
		for (uint32_t j = 0; j < n; j++) {
			float sum = 0;

			if (insn->opcode == NEURON_OP_MATMUL_SPARSE)
				sum = ref_sparse_sum(c, insn, r, j);
			else
				for (unsigned int k = 0; k < c->k; k++)
					sum = fmaf(c->weights[k][r],
						   ldexpf(ref_slot(c, &insn->src0, k / 2, k % 2, j),
							  -bias),
						   sum);
			ref_finish(c, insn, r, j, sum);
		}
	}
}

void ref_transpose_bits(struct ref_core *c, const struct neuron_insn *insn)
{
	static uint32_t raw[128][128];
	const uint32_t n = ref_count(&insn->src0);

	for (unsigned int p = 0; p < insn->partitions; p++)
		for (uint32_t i = 0; i < n; i++)
			raw[p][i] = ref_raw(c, &insn->src0, p, i);
	for (uint32_t i = 0; i < n; i++)
		for (unsigned int p = 0; p < insn->partitions; p++)
			ref_put(c, &insn->dst, i, p, raw[p][i]);
}

/* Parts of the array */

/* row, column, rows and columns of a part's code, in units of 32 */
static void ref_tile(uint8_t code, unsigned int t[4])
{
	t[0] = code & 3;
	t[1] = code >> 2 & 3;
	t[2] = 4 >> (code >> 4 & 3);
	t[3] = 4 >> (code >> 6);
}

bool ref_tile_loaded(const struct ref_core *c, uint8_t tile)
{
	unsigned int t[4];

	ref_tile(tile, t);
	if (!t[2] || !t[3])
		return false;
	for (unsigned int i = t[0]; i < t[0] + t[2] && i < 4; i++)
		for (unsigned int j = t[1]; j < t[1] + t[3] && j < 4; j++)
			if (c->cell[i][j].tile != tile)
				return false;
	return true;
}

void ref_load_tile(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128])
{
	const uint8_t fs = (uint8_t)ref_count(&insn->src0);
	unsigned int t[4];

	ref_tile(insn->tile, t);
	ref_stationary(c, insn, w);
	for (unsigned int i = 0; i < 4; i++) /* a part that overlaps it is gone as a whole */
		for (unsigned int j = 0; j < 4; j++)
			for (unsigned int k = 0; k < 16 && c->cell[i][j].tile; k++) {
				unsigned int u[4];

				ref_tile(c->cell[i][j].tile, u);
				if (u[0] + k / 4 < t[0] + t[2] && u[0] + k / 4 >= t[0] &&
				    u[1] + k % 4 < t[1] + t[3] && u[1] + k % 4 >= t[1] &&
				    k / 4 < u[2] && k % 4 < u[3])
					c->cell[i][j].tile = 0;
			}
	for (unsigned int i = t[0]; i < t[0] + t[2]; i++)
		for (unsigned int j = t[1]; j < t[1] + t[3]; j++) {
			c->cell[i][j].tile = insn->tile;
			c->cell[i][j].k = insn->partitions;
			c->cell[i][j].fs = fs;
			c->cell[i][j].dtype = insn->src0.dtype;
		}
	for (unsigned int k = 0; k < insn->partitions; k++)
		for (unsigned int r = 0; r < fs; r++)
			c->part[32 * t[0] + k][32 * t[1] + r] = w[k][r];
	c->k = 0;
}

void ref_matmul_tile(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128])
{
	unsigned int t[4];

	ref_tile(insn->tile, t);
	for (unsigned int k = 0; k < 32 * t[2]; k++)
		for (unsigned int r = 0; r < 32 * t[3]; r++)
			w[k][r] = c->part[32 * t[0] + k][32 * t[1] + r];
	ref_matmul(c, insn, w, insn->partitions, c->cell[t[0]][t[1]].fs, false);
}
