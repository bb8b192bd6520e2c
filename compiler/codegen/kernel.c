// SPDX-License-Identifier: MIT
/*
 * Hand-written kernels: their instructions and DMAs, with places for their areas, among those of
 * the program. The scheduler orders them as all others. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "emit.h"
#include "join.h"
#include "kernel/kernel.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"

/* Places of a kernel's areas and tensors */
struct places {
	uint32_t sbuf, psum; /* bytes in each partition */
	struct ncc_view tensor[NCC_KERNEL_TENSORS];
	uint64_t offset[NCC_KERNEL_TENSORS]; /* bytes behind the view */
};

static int place_operands(struct ncc_gen *g, const struct ncc_kernel *k, struct ncc_op *op,
			  struct places *at)
{
	unsigned int n = 0;
	int rc = 0;

	for (unsigned int i = 0; !rc && i < k->ntensors; i++)
		if (!k->tensor[i].output)
			rc = gen_in_dram(g, op->in[n++], &at->tensor[i]);
	return rc;
}

static int place_result(struct ncc_gen *g, const struct ncc_kernel *k, struct ncc_op *op,
			struct places *at)
{
	struct ncc_view result;
	int rc = gen_scratch(g, &op->shape, -1, &result);

	if (rc)
		return rc;
	for (unsigned int i = 0; i < k->ntensors; i++) {
		if (!k->tensor[i].output)
			continue;
		at->tensor[i] = result;
		at->offset[i] = ncc_kernel_offset(k, i);
	}
	return gen_value(g, op, &result) ? 0 : ncc_no_memory(g->err);
}

/* A part of SBUF for all of its areas, and banks of PSUM next to each other */
static int place_areas(struct ncc_gen *g, const struct ncc_kernel *k, struct places *at)
{
	const struct ncc_shape all = { .dtype = NEURON_DT_INT8,
				       .ndim = 2,
				       .dim = { NEURON_PARTITIONS, k->sbuf } };
	unsigned int banks = g->prog.target->psum_part_size / NEURON_PSUM_BANK_SIZE,
		     n = k->psum / NEURON_PSUM_BANK_SIZE;
	struct ncc_view v;
	int rc;

	if (g->psum_bank % banks + n > banks)
		g->psum_bank = 0;
	at->psum = g->psum_bank % banks * NEURON_PSUM_BANK_SIZE;
	g->psum_bank += n;
	if (!k->sbuf)
		return 0;
	rc = gen_sbuf_view(g, &all, 0, &v);
	if (rc)
		return rc;
	at->sbuf = (uint32_t)v.buf->base;
	return gen_temp(g, v.buf);
}

static uint32_t moved(const struct places *at, uint32_t offset)
{
	return offset + (offset < NEURON_PSUM_OFFSET ? at->sbuf : at->psum);
}

static void move_scalar(const struct places *at, struct neuron_scalar *s)
{
	if (s->kind == NEURON_SCALAR_PTR)
		s->offset = moved(at, s->offset);
}

static int insn(struct ncc_gen *g, const struct ncc_kernel_step *s, const struct places *at)
{
	static const struct neuron_ap none;
	struct neuron_insn own = s->insn;
	const uint64_t fields = neuron_isa_ops[own.opcode].fields;

	if (fields & NEURON_FB(DST))
		own.dst.offset = moved(at, own.dst.offset);
	if (fields & NEURON_FB(SRC0))
		own.src0.offset = moved(at, own.src0.offset);
	if (fields & NEURON_FB(SRC1))
		own.src1.offset = moved(at, own.src1.offset);
	if (fields & NEURON_FB(DST1) && memcmp(&own.dst1, &none, sizeof(none)))
		own.dst1.offset = moved(at, own.dst1.offset);
	if (fields & NEURON_FB(SCALAR0))
		move_scalar(at, &own.scalar0);
	if (fields & NEURON_FB(SCALAR1))
		move_scalar(at, &own.scalar1);
	return gen_insn(g, (unsigned int)s->engine, &own);
}

/* A side of a DMA, in the program's variables */
static struct neff_pattern side(const struct places *at, const struct neff_pattern *p)
{
	const struct ncc_view *v = p->var ? &at->tensor[p->var - 1] : NULL;
	struct neff_pattern own = *p;

	own.var = v ? v->buf->var : 0;
	own.offset += v ? v->buf->base + (uint64_t)v->off * ncc_dtype_size(v->dtype) +
				      at->offset[p->var - 1]
			: at->sbuf;
	return own;
}

static int transfer(struct ncc_gen *g, const struct ncc_kernel_step *s, const struct places *at)
{
	struct neff_desc *d = calloc(1, sizeof(*d));

	if (!d)
		return ncc_no_memory(g->err);
	*d = s->desc;
	d->from = side(at, &s->desc.from);
	d->to = side(at, &s->desc.to);
	return gen_dma_desc(g, d);
}

int gen_kernel(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op;
	const struct ncc_kernel *k = ncc_kernel_of(g->opt->kernels, op);
	struct places *at;
	int rc;

	if (!k)
		return gen_fail(g, -EINVAL, "no kernel %lld is given", (long long)op->index);
	rc = ncc_kernel_fits(k, op, g->err);
	rc = rc ? rc : ncc_kernel_check(k, g->prog.target, g->err);
	if (rc)
		return rc;
	at = calloc(1, sizeof(*at));
	rc = at ? place_operands(g, k, op, at) : ncc_no_memory(g->err);
	rc = rc ? rc : place_result(g, k, op, at);
	rc = rc ? rc : place_areas(g, k, at);
	for (unsigned int i = 0; !rc && i < k->nsteps; i++)
		rc = k->step[i].engine < 0 ? transfer(g, &k->step[i], at)
					   : insn(g, &k->step[i], at);
	free(at);
	return rc;
}
