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

/* The variable of a value that is kept between parts; it is row-major. */
static int kept_var(struct ncc_gen *g, struct ncc_port port, const struct ncc_op *op,
		    struct ncc_view *v)
{
	char name[NCC_KEPT_NAME];
	int id;

	view_row_major(v, NULL, &op->shape);
	for (uint32_t i = 0; i < g->prog.nvars; i++)
		if (gen_is_kept(g, i, port))
			return (int)i;
	ncc_kept_name(port.number, name);
	id = gen_var(g, NEFF_VAR_VIRTUAL, name,
		     (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype));
	if (id >= 0)
		g->prog.var[id].backing_off = ncc_kept_of(g->m)[port.number];
	return id;
}

/*
 * The variable of an input, an output or a value that passes between stages. The caller's are
 * row-major; the others lie in one way on both sides. v: its view
 */
static int io_var(struct ncc_gen *g, enum neff_var_type type, struct ncc_port port,
		  const struct ncc_op *op, uint8_t dtype, struct ncc_view *v)
{
	uint64_t size = (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);
	bool edge = port.passage == NCC_BETWEEN_STAGES;
	struct neff_var *var;
	char name[32];
	int id;

	if (port.passage == NCC_BETWEEN_PARTS)
		return kept_var(g, port, op, v);
	snprintf(name, sizeof(name), "%s%lld",
		 edge			  ? "stage"
		 : type == NEFF_VAR_INPUT ? "input"
					  : "output",
		 (long long)port.number);
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
	g->prog.var[id].backing_off = ncc_half_of(g->m)->exchanged[number];
	view_row_major(v, NULL, &op->shape);
	view_set_outermost(v, x->pdim);
	v->buf = gen_dram_buf((uint32_t)id);
	return v->buf ? id : ncc_no_memory(g->err);
}

static int gen_exchange(struct ncc_gen *g, const struct plan_op *p)
{
	const unsigned int core = ncc_half_of(g->m)->core;
	struct ncc_op *op = p->op, *own = op->in[0];
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

static int gen_param(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op;
	const struct ncc_port port = { op->passage, op->index };
	struct ncc_view v;
	int id = io_var(g, NEFF_VAR_INPUT, port, op, op->io_dtype, &v);

	if (id < 0)
		return id;
	if (port.passage == NCC_OF_MODEL && set_source(g, id, op->name))
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

static int place_operands(struct ncc_gen *g, const struct plan_op *p)
{
	int rc = 0;

	for (unsigned int i = 0; !rc && i < p->whole.n; i++)
		rc = gen_place(g, p->op->in[i], i ? p->whole.rest : p->whole.pdim);
	return rc;
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
static int result_place(struct ncc_gen *g, const struct plan_op *p, const struct ncc_shape *s,
			struct ncc_view *dst)
{
	const struct ncc_op *op = p->op;

	if (gen_join_result(g, op, dst) || gen_join_place(g, op, s->dtype, dst))
		return 0;
	for (unsigned int i = p->takes[0]; i < p->takes[1]; i++) {
		if (!view_can_take(op->in[i]->gen->value, reads(op, op->in[i]), s, op->pdim))
			continue;
		*dst = op->in[i]->gen->value->view;
		dst->buf->refs++;
		dst->buf->pin = g->stamp;
		return 0;
	}
	return gen_sbuf_view(g, s, op->pdim, dst);
}

/* Computes the whole result in SBUF at once. */
static int compute_whole(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op, *what = plan_computed(p);
	struct ncc_shape shape = op->shape;
	struct ncc_view dst;
	int rc;

	shape.dtype = p->dtype;
	rc = p->pad ? gen_pad_place(g, op, shape.dtype, &dst) : result_place(g, p, &shape, &dst);
	if (rc)
		return rc;
	if (!gen_value(g, op, &dst))
		return ncc_no_memory(g->err);
	op->gen->value->padded = p->pad;
	rc = gen_epilogue_begin(g, what, &dst);
	if (rc)
		return rc;
	return lower[what->kind] ? lower[what->kind](g, what, &dst)
				 : gen_elementwise(g, what, &dst);
}

static int gen_pieces(struct ncc_gen *g, const struct plan_op *p)
{
	int rc = place_operands(g, plan_computed(p)->plan);

	gen_release_temps(g, 0);
	return rc ? rc : gen_tiled(g, p);
}

static int gen_whole(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_value **value = &p->op->gen->value;
	struct ncc_prog_mark mark;
	unsigned int nspills;
	int rc = place_operands(g, plan_computed(p)->plan);

	if (rc)
		return rc;
	mark = ncc_prog_mark(&g->prog);
	nspills = g->nspills;
	g->no_room = false;
	rc = compute_whole(g, p);
	if (!rc || !g->no_room)
		return rc;

	/*
	 * The instructions so far are dropped, unless a buffer was spilled meanwhile: it has moved,
	 * so all stay.
	 */
	gen_release_temps(g, 0);
	if (*value)
		gen_unref(g, (*value)->view.buf);
	*value = NULL;
	if (g->nspills == nspills)
		ncc_prog_rewind(&g->prog, &mark);
	gen_pool_rewind(g);
	gen_keep_rewind(g);
	g->no_room = false;
	return gen_tiled(g, p);
}

static int gen_group(struct ncc_gen *g, const struct plan_op *p)
{
	g->nepilogue = 0;
	return tile_elementwise(g, p->first);
}

static int gen_alias(struct ncc_gen *g, struct ncc_op *op, const struct ncc_view *v)
{
	v->buf->refs++;
	if (!gen_value(g, op, v))
		return ncc_no_memory(g->err);
	op->gen->value->padded = op->kind != NCC_PAD && op->in[0]->gen->value->padded;
	return 0;
}

/* Is there nothing to do for a convert? Then its value is its operand's. */
static bool is_free(const struct plan_op *p, const struct ncc_view *v)
{
	return p->cast != PLAN_CAST_FROM_DRAM || v->buf->space == NCC_DRAM;
}

/*
 * Of a convert that lies in other partitions than all its users want, which are several: turns it
 * for all of them. false: it stays, or there is no room
 */
static bool turn_cast(struct ncc_gen *g, struct ncc_op *op, int *rc)
{
	const struct ncc_view *v = &op->in[0]->gen->value->view;
	struct ncc_view dst;

	*rc = 0;
	if (v->buf->space != NCC_SBUF || v->dtype != op->shape.dtype || v->pdim < 0 ||
	    v->pdim == op->pdim || gen_sbuf_view(g, &op->shape, op->pdim, &dst))
		return false;
	if (!gen_value(g, op, &dst))
		*rc = ncc_no_memory(g->err);
	else
		*rc = gen_copy(g, &dst, v);
	return true;
}

static int gen_cast(struct ncc_gen *g, const struct plan_op *p)
{
	const struct ncc_value *x = p->op->in[0]->gen->value;
	int rc;

	if (!x || !is_free(p, &x->view))
		return gen_whole(g, p);
	if (p->turned && turn_cast(g, p->op, &rc))
		return rc;
	return gen_alias(g, p->op, &x->view);
}

/* A pad whose operand went to DRAM, or lies elsewhere, copies it. */
static int gen_around(struct ncc_gen *g, const struct plan_op *p)
{
	const struct ncc_value *x = p->op->in[0]->gen->value;
	struct ncc_view v;

	if (!x || !x->padded || x->view.dtype != p->op->shape.dtype)
		return gen_whole(g, p);
	v = gen_padded(p->op);
	return gen_alias(g, p->op, &v);
}

static int gen_nothing(struct ncc_gen *g, const struct plan_op *p)
{
	(void)g;
	(void)p;
	return 0;
}

/* How the plan has operations done */
static int (*const emit[PLAN_HOWS])(struct ncc_gen *g, const struct plan_op *p) = {
	[PLAN_LAZY] = gen_nothing,	[PLAN_LATER] = gen_nothing, [PLAN_INPUT] = gen_param,
	[PLAN_VIEW] = gen_view,		[PLAN_CAST] = gen_cast,	    [PLAN_AROUND] = gen_around,
	[PLAN_SCATTER] = gen_scatter,	[PLAN_CUSTOM] = gen_custom, [PLAN_KERNEL] = gen_kernel,
	[PLAN_EXCHANGE] = gen_exchange, [PLAN_GROUP] = gen_group,   [PLAN_WHOLE] = gen_whole,
	[PLAN_PIECES] = gen_pieces,
};

/* From here on an operation is the current one. */
static void begin(struct ncc_gen *g, const struct plan_op *p)
{
	g->at = (unsigned int)(p - g->plan.op);
	g->stamp++;
}

static int gen_op(struct ncc_gen *g, const struct plan_op *op)
{
	return emit[op->how](g, op);
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
	for (unsigned int i = 0; i < op->nin; i++)
		release(g, op->in[i]);
}

/* Releases what an operation read, and what those did that were done in its place. */
static void release_read(struct ncc_gen *g, const struct plan_op *p)
{
	if (p->how == PLAN_LATER ||
	    p->how == PLAN_LAZY) /* which reads its operand later, if at all */
		return;
	if (p->how != PLAN_GROUP)
		release_operands(g, p->op);
	for (struct ncc_op *x = p->first; x && x != p->op; x = x->plan->next)
		release_operands(g, x);
	if (p->how == PLAN_GROUP)
		release_operands(g, p->op);
}

/* Is the value where the parts keep this one, row-major? */
static bool lies_there(const struct ncc_gen *g, const struct ncc_op *op, struct ncc_port port)
{
	const struct ncc_view *v = &op->gen->value->view;

	return view_fills_variable(v, &op->shape) && gen_is_kept(g, v->buf->var, port);
}

/* Moves a result out of a variable that another result is about to overwrite. */
static int gen_set_aside(struct ncc_gen *g, struct ncc_op *op, struct ncc_port port)
{
	struct ncc_view aside, *v;
	int rc;

	if (!op->gen->value || lies_there(g, op, port))
		return 0;
	v = &op->gen->value->view;
	if (v->buf->space != NCC_DRAM || !gen_is_overwritten(g, v->buf->var))
		return 0;
	begin(g, op->plan);
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
static int output_var(struct ncc_gen *g, unsigned int i, struct ncc_port port, struct ncc_view *v)
{
	const struct ncc_half *half = ncc_half_of(g->m);
	const struct ncc_shape *all = half ? half->out_of[i] : NULL;
	struct ncc_op *op = g->m->outs[i], whole = *op;
	int id;

	if (all)
		whole.shape = *all;
	id = io_var(g, NEFF_VAR_OUTPUT, port, &whole, g->m->out_dtype ? g->m->out_dtype[i] : 0, v);
	if (id < 0 || !all)
		return id;
	memcpy(v->dim, op->shape.dim, sizeof(v->dim));
	v->off = half->out_start[i];
	return id;
}

static int gen_output(struct ncc_gen *g, unsigned int i)
{
	struct ncc_buf b = { .space = NCC_DRAM, .refs = 1 };
	struct ncc_op *op = g->m->outs[i];
	const struct ncc_port port = ncc_port_of(g->m, i);
	struct ncc_view dst;
	int id, rc;

	begin(g, op->plan);
	rc = gen_place(g, op, -1);
	if (rc || lies_there(g, op, port))
		return rc;
	id = output_var(g, i, port, &dst);
	if (id < 0)
		return id;
	if (port.passage == NCC_OF_MODEL && g->m->out_source &&
	    set_source(g, id, g->m->out_source[port.number]))
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

static int plan(struct ncc_gen *g)
{
	if (ncc_plan(g->m, g->prog.target, g->opt->level != 1, &g->plan))
		return ncc_no_memory(g->err);
	if (g->opt->print_plan)
		ncc_print_plan(&g->plan, g->opt->print_plan);
	return 0;
}

int ncc_generate(struct ncc_gen *g)
{
	const struct ncc_half *half = ncc_half_of(g->m);
	int rc = ncc_prog_var(&g->prog, NEFF_VAR_STATE_BUFFER, "state_buffer",
			      (uint64_t)NEURON_PARTITIONS * NEURON_SBUF_PART_STRIDE);

	if (rc < 0)
		return ncc_no_memory(g->err);
	rc = take_notes(g);
	rc = rc ? rc : plan(g);
	rc = rc ? rc : gen_pool_begin(g);

	for (unsigned int i = 0; !rc && i < g->plan.n; i++) {
		if (g->opt->progress)
			g->opt->progress(g->opt->opaque, "generating", i, g->plan.n);
		begin(g, &g->plan.op[i]);
		rc = ncc_wanted(g->opt, g->err) ?: gen_op(g, &g->plan.op[i]);
		gen_release_temps(g, 0);
		if (!rc)
			release_read(g, &g->plan.op[i]);
		if (g->settled)
			g->settled(g->opaque, g->prog.nnodes);
	}

	for (unsigned int i = 0; !rc && ncc_kept_of(g->m) && i < g->m->nouts; i++)
		rc = gen_set_aside(g, g->m->outs[i], ncc_port_of(g->m, i));
	/* what is kept is overwritten once both cores have read it ... */
	if (!rc && half && half->written)
		rc = ncc_prog_fence(&g->prog, g->err);
	for (unsigned int i = 0; !rc && i < g->m->nouts; i++) {
		rc = gen_output(g, i);
		release(g, g->m->outs[i]);
	}
	/* ... and what comes behind this part finds it whole */
	if (!rc && half && half->written)
		rc = ncc_prog_fence(&g->prog, g->err);

	if (!rc)
		gen_pool_finish(g);
	free_buffers(g);
	gen_keep_free(g);
	gen_pool_free(g);
	free(g->idle);
	free(g->temps);
	return rc;
}
