// SPDX-License-Identifier: MIT
/*
 * The code generator's driver. It takes the operations in order; the result of each is a fresh SBUF
 * buffer or a view of its operand. Inputs and constants come from DRAM when they are first used,
 * results go there at the end. A buffer is freed after the last operation that reads it.
 */
#include "gen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "contract.h"
#include "elem.h"
#include "join.h"
#include "keep.h"
#include "line.h"
#include "move.h"
#include "place.h"
#include "pool.h"
#include "reduce.h"
#include "sbuf.h"
#include "tile.h"
#include "view.h"
#include "passes/cores.h"

#define SHORT_ROW 32 /* bytes of a gathered row that is not put into a partition by itself */

typedef int (*gen_fn)(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/* The variable of a value that is kept between parts; it is row-major. */
static int kept_var(struct ncc_gen *g, int64_t number, const struct ncc_op *op, struct ncc_view *v)
{
	char name[NCC_KEPT_NAME];
	int id;

	view_row_major(v, NULL, &op->shape);
	for (uint32_t i = 0; i < g->prog.nvars; i++)
		if (gen_is_kept(g, i, number))
			return (int)i;
	ncc_kept_name(number, name);
	id = gen_var(g, NEFF_VAR_VIRTUAL, name,
		     (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype));
	if (id >= 0)
		g->prog.var[id].backing_off = g->m->kept[number - NCC_KEPT];
	return id;
}

/*
 * The variable of an input, an output or a value that passes between stages. The caller's are
 * row-major; the others lie in one way on both sides. v: its view
 */
static int io_var(struct ncc_gen *g, enum neff_var_type type, int64_t number,
		  const struct ncc_op *op, uint8_t dtype, struct ncc_view *v)
{
	uint64_t size = (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);
	bool edge = number >= NCC_EDGE;
	struct neff_var *var;
	char name[32];
	int id;

	if (number >= NCC_KEPT)
		return kept_var(g, number, op, v);
	snprintf(name, sizeof(name), "%s%lld",
		 edge			  ? "stage"
		 : type == NEFF_VAR_INPUT ? "input"
					  : "output",
		 (long long)(edge ? number - NCC_EDGE : number));
	id = gen_var(g, type, name, size);
	if (id < 0)
		return id;

	var = &g->prog.var[id];
	var->dtype = dtype ? dtype : op->shape.dtype;
	var->ndim = op->shape.ndim;
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		var->shape[d] = (uint64_t)op->shape.dim[d];
	view_row_major(v, NULL, &op->shape);
	if (edge)
		view_set_outermost(v, op->pdim);
	return id;
}

/*
 * Half of what an exchange passes: from the first core (0) or from the second one (1). It lies in
 * one way on both sides. v: its view
 */
static int exchanged_var(struct ncc_gen *g, const struct ncc_op *x, const struct ncc_op *op,
			 unsigned int from, struct ncc_view *v)
{
	const int64_t number = 2 * x->index + from;
	char name[32];
	int id;

	snprintf(name, sizeof(name), "shared%lld", (long long)number);
	id = gen_var(g, NEFF_VAR_VIRTUAL, name,
		     (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype));
	if (id < 0)
		return id;
	g->prog.var[id].backing_off = g->m->half->exchanged[number];
	view_row_major(v, NULL, &op->shape);
	view_set_outermost(v, x->pdim);
	v->buf = gen_dram_buf((uint32_t)id);
	return v->buf ? id : ncc_no_memory(g->err);
}

static int gen_exchange(struct ncc_gen *g, struct ncc_op *op)
{
	const unsigned int core = g->m->half->core;
	struct ncc_op *own = op->in[0];
	struct ncc_view give, take;
	int given, taken, rc;

	rc = gen_place(g, own, -1);
	if (rc)
		return rc;
	given = exchanged_var(g, op, own, core, &give);
	if (given < 0)
		return given;
	rc = gen_copy(g, &give, &own->gen->value->view);
	gen_release_temps(g, 0);
	gen_unref(g, give.buf);
	if (rc)
		return rc;
	taken = exchanged_var(g, op, op, !core, &take);
	if (taken < 0)
		return taken;
	rc = ncc_prog_barrier(&g->prog, (uint32_t)given, (uint32_t)taken, g->err);
	if (rc)
		return rc;
	return gen_value(g, op, &take) ? 0 : ncc_no_memory(g->err);
}

/* A variable's source in the model that is compiled; NULL: nothing is said */
static int set_source(struct ncc_gen *g, int id, const char *source)
{
	if (!source || g->prog.var[id].source)
		return 0;
	g->prog.var[id].source = strdup(source);
	return g->prog.var[id].source ? 0 : -ENOMEM;
}

static int gen_param(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_view v;
	int id = io_var(g, NEFF_VAR_INPUT, op->index, op, op->io_dtype, &v);

	if (id < 0)
		return id;
	if (op->index < NCC_EDGE && set_source(g, id, op->name))
		return ncc_no_memory(g->err);
	v.buf = gen_dram_buf((uint32_t)id);
	return v.buf && gen_value(g, op, &v) ? 0 : ncc_no_memory(g->err);
}

static const gen_fn lower[NCC_KINDS] = {
	[NCC_SELECT] = gen_elementwise,
	[NCC_CONCAT] = gen_concat,
	[NCC_PAD] = gen_pad,
	[NCC_GATHER] = gen_gather,
	[NCC_TAKE] = gen_take,
	[NCC_COMBINE] = gen_combine,
	[NCC_ORDER] = gen_order,
	[NCC_RANDOM] = gen_random,
	[NCC_DOT] = gen_dot,
	[NCC_CONV] = gen_conv,
	[NCC_REDUCE] = gen_reduce,
	[NCC_REDUCE_WINDOW] = gen_reduce_window,
};

/* Must the operand have a place? Some operations see to constants and kernels themselves. */
static bool needs_place(const struct ncc_op *op, unsigned int i)
{
	if (ncc_is_binary(op->kind) || op->kind == NCC_DOT || op->kind == NCC_GATHER ||
	    op->kind == NCC_TAKE || op->kind == NCC_COMBINE || op->kind == NCC_ORDER ||
	    op->kind == NCC_RANDOM)
		return false;
	return !i || op->kind == NCC_SELECT || op->kind == NCC_CONCAT;
}

static int place_operands(struct ncc_gen *g, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_op *in = op->in[i];
		bool same = op->kind != NCC_REDUCE && op->kind != NCC_CONV &&
			    op->pdim < (int)in->shape.ndim;
		int rc = needs_place(op, i) ? gen_place(g, in, same ? op->pdim : -1) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

static unsigned int reads(const struct ncc_op *op, const struct ncc_op *in)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < op->nin; i++)
		n += op->in[i] == in;
	return n;
}

/*
 * The result's place: in that of a concatenation, that of an operand with no later user, or a new
 * one
 */
static int result_place(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_shape *s,
			struct ncc_view *dst)
{
	bool each = !op->gen->fused && ncc_is_elementwise(op->kind);
	unsigned int n = each ? op->nin : gen_combines_in_place(op); /* operands that have places */

	if (gen_join_result(g, op, dst) || (each && gen_join_place(g, op, s->dtype, dst)))
		return 0;
	for (unsigned int i = op->kind == NCC_SELECT; i < n; i++) {
		if (!view_can_take(op->in[i], reads(op, op->in[i]), s, op->pdim))
			continue;
		*dst = op->in[i]->gen->value->view;
		dst->buf->refs++;
		dst->buf->pin = g->stamp;
		return 0;
	}
	return gen_sbuf_view(g, s, op->pdim, dst);
}

/* Computes the whole result in SBUF at once. */
static int compute_whole(struct ncc_gen *g, struct ncc_op *op, struct ncc_op *what)
{
	gen_fn fn = lower[what->kind] ? lower[what->kind] : gen_elementwise;
	struct ncc_shape shape = op->shape;
	struct ncc_view dst;
	int rc;

	if (op->gen->write_dtype)
		shape.dtype = op->gen->write_dtype;
	rc = op->gen->pad ? gen_pad_place(g, op, shape.dtype, &dst)
			  : result_place(g, op, &shape, &dst);
	if (rc)
		return rc;
	if (!gen_value(g, op, &dst))
		return ncc_no_memory(g->err);
	op->gen->value->padded = op->gen->pad;
	rc = gen_epilogue_begin(g, what, &dst);
	return rc ? rc : fn(g, what, &dst);
}

static int gen_compute(struct ncc_gen *g, struct ncc_op *op)
{
	/* This is op itself, or the product whose epilogue it ends. */
	struct ncc_op *what = op->gen->fused ? op->gen->fused : op;
	struct ncc_prog_mark mark;
	unsigned int nspills;
	int rc = place_operands(g, what);

	if (rc)
		return rc;
	mark = ncc_prog_mark(&g->prog);
	nspills = g->nspills;
	g->no_room = false;
	rc = compute_whole(g, op, what);
	if (!rc || !g->no_room)
		return rc;

	/*
	 * The instructions so far are dropped, unless a buffer was spilled meanwhile: it has moved,
	 * so all stay.
	 */
	gen_release_temps(g, 0);
	if (op->gen->value)
		gen_unref(g, op->gen->value->view.buf);
	op->gen->value = NULL;
	if (g->nspills == nspills)
		ncc_prog_rewind(&g->prog, &mark);
	gen_pool_rewind(g);
	gen_keep_rewind(g);
	g->no_room = false;
	return gen_tiled(g, op);
}

/* Is it generated together with a later operation? */
static bool is_deferred(const struct ncc_op *op)
{
	if (op->gen->group)
		return op->gen->group != op;
	const struct ncc_op *product = op->gen->fused ? op->gen->fused : op;

	return product->gen->nepilogue && gen_last_of(product) != op;
}

/*
 * Can the result be written as this type at once? One instruction writes each element, from fp32.
 */
static bool writes_as(const struct ncc_op *op, uint8_t dtype)
{
	if (op->users != 1 || op->kind == NCC_CONVERT ||
	    !(ncc_is_float(dtype) || dtype == NEURON_DT_INT8))
		return false;
	if (dtype == NEURON_DT_FP32)
		return ncc_is_compare(op->kind);
	return (op->shape.dtype == NEURON_DT_FP32 || ncc_is_compare(op->kind)) &&
	       (ncc_is_unary(op->kind) || ncc_is_binary(op->kind) || op->kind == NCC_DOT ||
		op->kind == NCC_CONV);
}

static bool casts_when_reading(const struct ncc_op *user, unsigned int i)
{
	return user->kind == NCC_DOT || user->kind == NCC_CONV || (user->kind == NCC_PAD && !i);
}

/*
 * Marks the converts that cost nothing: the operation before writes the narrow type at once, or the
 * only user casts as it reads. Products do when the operand comes from DRAM, piece by piece; a
 * pad's copy always does.
 */
static void mark_casts(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		op->gen->late_cast = op->kind == NCC_CONVERT && op->users == 1;
		op->gen->write_dtype = 0;
	}

	for (struct ncc_op *op = m->first; op; op = op->next) {
		for (unsigned int i = 0; i < op->nin; i++)
			if (!casts_when_reading(op, i))
				op->in[i]->gen->late_cast = false;
		if (op->kind == NCC_CONVERT && !op->shape.pred &&
		    writes_as(op->in[0], op->shape.dtype))
			op->in[0]->gen->write_dtype = op->shape.dtype;
	}

	for (unsigned int i = 0; i < m->nouts; i++)
		m->outs[i]->gen->late_cast = false;
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_PAD && op->in[0]->gen->late_cast)
			op->in[0]->gen->read_by_copy = true;
}

/* Is this one of those converts? Then its value is its operand's. */
static bool cast_is_free(const struct ncc_op *op)
{
	const struct ncc_value *v;

	if (op->kind != NCC_CONVERT || !op->in[0]->gen->value)
		return false;
	v = op->in[0]->gen->value;
	return v->view.dtype == op->shape.dtype ||
	       (op->gen->late_cast && (op->gen->read_by_copy || v->view.buf->space == NCC_DRAM));
}

/* Does the product contract operand i along the dimension that the operand has in the partitions? */
static bool contracts_partitions(const struct ncc_op *op, unsigned int i)
{
	const uint8_t *d;

	if (op->kind != NCC_DOT || op->dot->ncontract != 1)
		return false;
	d = i ? op->dot->rhs_contract : op->dot->lhs_contract;
	return op->in[i]->pdim == *d;
}

static void count_contracting(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		op->gen->contracting = 0;
	for (struct ncc_op *op = m->first; op; op = op->next)
		for (unsigned int i = 0; i < op->nin; i++)
			op->in[i]->gen->contracting += contracts_partitions(op, i);
}

/*
 * Of such a convert that lies in other partitions than all its users want, which are several: turns
 * it for all of them. false: it stays, or there is no room
 */
static bool turn_cast(struct ncc_gen *g, struct ncc_op *op, int *rc)
{
	const struct ncc_view *v = &op->in[0]->gen->value->view;
	struct ncc_view dst;

	*rc = 0;
	if (op->users < 2 || op->gen->contracting < op->users || v->buf->space != NCC_SBUF ||
	    v->dtype != op->shape.dtype || v->pdim < 0 || v->pdim == op->pdim ||
	    gen_sbuf_view(g, &op->shape, op->pdim, &dst))
		return false;
	if (!gen_value(g, op, &dst))
		*rc = ncc_no_memory(g->err);
	else
		*rc = gen_copy(g, &dst, v);
	return true;
}

static int gen_alias(struct ncc_gen *g, struct ncc_op *op, const struct ncc_view *v)
{
	v->buf->refs++;
	if (!gen_value(g, op, v))
		return ncc_no_memory(g->err);
	op->gen->value->padded = op->kind != NCC_PAD && op->in[0]->gen->value->padded;
	return 0;
}

/*
 * Short rows are gathered in DRAM, where they lie one behind the other: users take them in longer
 * pieces.
 */
static bool gathers_short_rows(const struct ncc_op *op)
{
	return op->kind == NCC_GATHER && op->shape.dim[0] > NEURON_PARTITIONS &&
	       op->shape.dim[1] * ncc_dtype_size(op->shape.dtype) < SHORT_ROW;
}

static int gen_op(struct ncc_gen *g, struct ncc_op *op)
{
	int rc;

	g->op = op;
	g->stamp++;
	if (gen_is_lazy(op) || is_deferred(op))
		return 0;
	if (op->gen->group || gathers_short_rows(op))
		return gen_tiled(g, op);
	if (cast_is_free(op) && turn_cast(g, op, &rc))
		return rc;
	if (cast_is_free(op))
		return gen_alias(g, op, &op->in[0]->gen->value->view);
	if (op->kind == NCC_PAD && op->in[0]->gen->value && op->in[0]->gen->value->padded &&
	    op->in[0]->gen->value->view.dtype == op->shape.dtype) {
		struct ncc_view v = gen_padded(op);

		return gen_alias(g, op, &v);
	}
	switch (op->kind) {
	case NCC_PARAM:
		return gen_param(g, op);
	case NCC_BROADCAST:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_REVERSE:
	case NCC_BITCAST:
	case NCC_RESHAPE:
		return gen_view(g, op);
	case NCC_SCATTER:
		return gen_scatter(g, op);
	case NCC_CUSTOM:
		return op->index < NCC_KERNEL_FIRST ? gen_custom(g, op) : gen_kernel(g, op);
	case NCC_EXCHANGE:
		return gen_exchange(g, op);
	default:
		return gen_compute(g, op);
	}
}

static void release(struct ncc_gen *g, struct ncc_op *op)
{
	if (op->gen->value && op->gen->value->uses && !--op->gen->value->uses) {
		gen_unref(g, op->gen->value->view.buf);
		op->gen->value->view.buf = NULL;
	}
}

static void release_operands(struct ncc_gen *g, struct ncc_op *op)
{
	if (is_deferred(op) || gen_is_lazy(op)) /* a lazy one reads its operand later, if at all */
		return;
	for (struct ncc_op *x = op->gen->group ? op->gen->group_first : op; x;
	     x = x->gen->group_next)
		for (unsigned int i = 0; i < x->nin; i++)
			release(g, x->in[i]);
	if (!op->gen->fused)
		return;
	for (unsigned int i = 0; i < op->gen->fused->nin; i++)
		release(g, op->gen->fused->in[i]);
	for (unsigned int t = 0; t + 1 < op->gen->fused->gen->nepilogue; t++)
		for (unsigned int i = 0; i < op->gen->fused->gen->epilogue[t]->nin; i++)
			release(g, op->gen->fused->gen->epilogue[t]->in[i]);
}

/* Is the value where the parts keep that of this number, row-major? */
static bool lies_there(const struct ncc_gen *g, const struct ncc_op *op, int64_t number)
{
	const struct ncc_view *v = &op->gen->value->view;

	return view_fills_variable(v, &op->shape) && gen_is_kept(g, v->buf->var, number);
}

/* Moves a result out of a variable that another result is about to overwrite. */
static int gen_set_aside(struct ncc_gen *g, struct ncc_op *op, int64_t number)
{
	struct ncc_view aside, *v;
	int rc;

	if (!op->gen->value || lies_there(g, op, number))
		return 0;
	v = &op->gen->value->view;
	if (v->buf->space != NCC_DRAM || !gen_is_overwritten(g, v->buf->var))
		return 0;
	g->op = op;
	g->stamp++;
	rc = gen_scratch(g, &op->shape, -1, &aside);
	if (rc)
		return rc;
	rc = gen_copy(g, &aside, v);
	gen_release_temps(g, 0);
	gen_unref(g, v->buf);
	*v = aside;
	return rc;
}

/* The variable of an output, and the view of as much of it as the module has */
static int output_var(struct ncc_gen *g, unsigned int i, int64_t number, struct ncc_view *v)
{
	const struct ncc_shape *all = g->m->half ? g->m->half->out_of[i] : NULL;
	struct ncc_op *op = g->m->outs[i], whole = *op;
	int id;

	if (all)
		whole.shape = *all;
	id = io_var(g, NEFF_VAR_OUTPUT, number, &whole, g->m->out_dtype ? g->m->out_dtype[i] : 0,
		    v);
	if (id < 0 || !all)
		return id;
	memcpy(v->dim, op->shape.dim, sizeof(v->dim));
	v->off = g->m->half->out_start[i];
	return id;
}

static int gen_output(struct ncc_gen *g, unsigned int i)
{
	struct ncc_buf b = { .space = NCC_DRAM, .refs = 1 };
	struct ncc_op *op = g->m->outs[i];
	const int64_t number = g->m->out_number ? g->m->out_number[i] : i;
	struct ncc_view dst;
	int id, rc;

	g->op = op;
	g->stamp++;
	rc = gen_place(g, op, -1);
	if (rc || lies_there(g, op, number))
		return rc;
	id = output_var(g, i, number, &dst);
	if (id < 0)
		return id;
	if (number < NCC_EDGE && g->m->out_source && set_source(g, id, g->m->out_source[number]))
		return ncc_no_memory(g->err);
	b.var = (uint32_t)id;
	dst.buf = &b;
	rc = gen_copy(g, &dst, &op->gen->value->view);
	gen_release_temps(g, 0);
	return rc;
}

static void free_buffers(struct ncc_gen *g)
{
	gen_release_temps(g, 0);
	for (struct ncc_op *op = g->m->first; op; op = op->next) {
		if (op->gen->value && op->gen->value->view.buf)
			gen_unref(g, op->gen->value->view.buf);
		op->gen->value = NULL;
	}
}

/* Gives every operation a note, which lives as long as the module. */
static int take_notes(struct ncc_gen *g)
{
	struct gen_note *note = ncc_alloc(g->m, (g->m->nops + 1) * sizeof(*note));

	if (!note)
		return ncc_no_memory(g->err);
	for (struct ncc_op *op = g->m->first; op; op = op->next)
		op->gen = note++;
	return 0;
}

int ncc_generate(struct ncc_gen *g)
{
	int rc = ncc_prog_var(&g->prog, NEFF_VAR_STATE_BUFFER, "state_buffer",
			      (uint64_t)NEURON_PARTITIONS * NEURON_SBUF_PART_STRIDE);

	if (rc < 0)
		return ncc_no_memory(g->err);
	rc = take_notes(g);
	if (rc)
		return rc;
	mark_casts(g->m);
	count_contracting(g->m);
	if (g->opt->level != 1) {
		gen_find_fusions(g->m);
		gen_find_groups(g->m);
		gen_find_pads(g->m);
		gen_find_joins(g->m);
	}
	rc = gen_pool_begin(g);

	for (struct ncc_op *op = g->m->first; !rc && op; op = op->next) {
		if (g->opt->progress)
			g->opt->progress(g->opt->opaque, "generating", op->id, g->m->nops);
		rc = ncc_wanted(g->opt, g->err) ?: gen_op(g, op);
		gen_release_temps(g, 0);
		if (!rc)
			release_operands(g, op);
	}

	for (unsigned int i = 0; !rc && g->m->kept && i < g->m->nouts; i++)
		rc = gen_set_aside(g, g->m->outs[i], g->m->out_number[i]);
	/* what is kept is overwritten once both cores have read it ... */
	if (!rc && g->m->half && g->m->half->written)
		rc = ncc_prog_meet(&g->prog, g->err);
	for (unsigned int i = 0; !rc && i < g->m->nouts; i++) {
		rc = gen_output(g, i);
		release(g, g->m->outs[i]);
	}
	/* ... and what comes behind this part finds it whole */
	if (!rc && g->m->half && g->m->half->written)
		rc = ncc_prog_meet(&g->prog, g->err);

	if (!rc)
		gen_pool_finish(g);
	free_buffers(g);
	gen_keep_free(g);
	gen_pool_free(g);
	free(g->idle);
	free(g->temps);
	return rc;
}
