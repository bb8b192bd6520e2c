// SPDX-License-Identifier: MIT
/*
 * The code generator's driver: operations in order, each into a fresh SBUF buffer or as a view of
 * its operand; inputs and constants come from DRAM when they are first used, results go there at
 * the end. A buffer is freed after the last operation that reads it.
 */
#include "tile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef int (*gen_fn)(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

static struct ncc_value *value_new(struct ncc_gen *g, struct ncc_op *op,
				   const struct ncc_view *view)
{
	op->value = ncc_alloc(g->m, sizeof(*op->value));
	if (!op->value)
		return NULL;
	op->value->view = *view;
	op->value->uses = op->users;
	return op->value;
}

static int no_memory(struct ncc_gen *g)
{
	return ncc_fail(g->err, -ENOMEM, "out of memory");
}

/* Is the variable the place that the number's value has in all parts? */
static bool is_kept(const struct ncc_gen *g, uint32_t var, int64_t number)
{
	return number >= NCC_KEPT && g->prog.var[var].type == NEFF_VAR_VIRTUAL &&
	       g->prog.var[var].backing_off == g->m->kept[number - NCC_KEPT];
}

/* A value that is kept between parts; row-major */
static int kept_var(struct ncc_gen *g, int64_t number, const struct ncc_op *op, struct ncc_view *v)
{
	char name[NCC_KEPT_NAME];
	int id;

	view_row_major(v, NULL, &op->shape);
	for (uint32_t i = 0; i < g->prog.nvars; i++)
		if (is_kept(g, i, number))
			return (int)i;
	ncc_kept_name(number, name);
	id = gen_var(g, NEFF_VAR_VIRTUAL, name,
		     (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype));
	if (id >= 0)
		g->prog.var[id].backing_off = g->m->kept[number - NCC_KEPT];
	return id;
}

/*
 * A variable of the caller's, row-major, or one that passes between stages, which lies as both like
 * it. v: its place
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
		view_turn(v, op->pdim);
	return id;
}

static int gen_param(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_view v;
	int id = io_var(g, NEFF_VAR_INPUT, op->index, op, op->io_dtype, &v);

	if (id < 0)
		return id;
	v.buf = gen_dram_buf(g, (uint32_t)id);
	return v.buf && value_new(g, op, &v) ? 0 : no_memory(g);
}

/* Strides with pdim outermost and inner innermost, if they are dimensions; true: row-major ones */
static bool constant_strides(const struct ncc_shape *s, int pdim, int inner, int64_t *stride)
{
	int64_t step = 1, plain = 1;
	bool same = true;

	if (inner >= 0) {
		stride[inner] = step;
		step *= s->dim[inner];
	}
	for (int d = (int)s->ndim - 1; d >= 0; d--) {
		if (d == pdim || d == inner)
			continue;
		stride[d] = step;
		step *= s->dim[d];
	}
	if (pdim >= 0)
		stride[pdim] = step;
	for (int d = (int)s->ndim - 1; d >= 0; d--) {
		same = same && (s->dim[d] == 1 || stride[d] == plain);
		plain *= s->dim[d];
	}
	return same;
}

/* A copy of the constant that lies with such strides */
static void *reorder(const struct ncc_op *op, const int64_t *stride)
{
	const struct ncc_shape *s = &op->shape;
	unsigned int esz = ncc_dtype_size(s->dtype);
	int64_t n = ncc_elems(s), at[NCC_MAX_DIMS] = { 0 }, k = 0;
	char *to = malloc((size_t)n * esz);

	for (int64_t i = 0; to && i < n; i++) {
		memcpy(to + k * esz, (char *)op->data + i * esz, esz);
		for (int d = (int)s->ndim - 1; d >= 0; d--) {
			k += stride[d];
			if (++at[d] < s->dim[d])
				break;
			k -= at[d] * stride[d];
			at[d] = 0;
		}
	}
	return to;
}

static int gen_view(struct ncc_gen *g, struct ncc_op *op);

/* A constant, or one spread out, comes to DRAM only when somebody needs more than its value */
static bool is_lazy(const struct ncc_op *op)
{
	return op->kind == NCC_CONST || (op->kind == NCC_BROADCAST && op->in[0]->kind == NCC_CONST);
}

int gen_place(struct ncc_gen *g, struct ncc_op *op, int pdim)
{
	return gen_place_inner(g, op, pdim, -1);
}

int gen_place_inner(struct ncc_gen *g, struct ncc_op *op, int pdim, int inner)
{
	struct ncc_view v;
	struct ncc_buf *b;
	char name[32];
	bool lent;
	void *data;
	int id;

	if (op->value)
		return 0;
	if (op->kind == NCC_BROADCAST)
		return gen_view(g, op);
	view_row_major(&v, NULL, &op->shape);
	lent = constant_strides(&op->shape, pdim, inner, v.stride);
	data = lent ? op->data : reorder(op, v.stride);
	if (!data)
		return no_memory(g);
	snprintf(name, sizeof(name), "const%u", g->nfiles++);
	id = gen_var(g, NEFF_VAR_FILE, name,
		     (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype));
	if (id < 0) {
		if (!lent)
			free(data);
		return id;
	}
	g->prog.var[id].data = data;
	g->prog.lent[id] = lent;
	snprintf(name, sizeof(name), "const%u.bin", g->nfiles - 1);
	g->prog.var[id].file_name = strdup(name);
	b = gen_dram_buf(g, (uint32_t)id);
	if (!b || !g->prog.var[id].file_name)
		return no_memory(g);
	v.buf = b;
	return value_new(g, op, &v) ? 0 : no_memory(g);
}

int gen_fetch_op(struct ncc_gen *g, struct ncc_op *op, int pdim, uint8_t dtype,
		 struct ncc_view *out)
{
	int rc = gen_place(g, op, pdim);

	return rc ? rc : gen_fetch(g, &op->value->view, pdim, dtype ? dtype : op->shape.dtype, out);
}

/*
 * Scratch in DRAM that the shape is a view of: as any shape of the same elements is of a row-major
 * one, and many are of one that lies as the partitions do
 */
static int through_dram(struct ncc_gen *g, const struct ncc_view *src,
			const struct ncc_shape *shape, struct ncc_view *out)
{
	struct ncc_view dst, turned;
	struct ncc_shape s;
	int rc;

	view_shape(src, &s);
	view_row_major(&turned, src->buf, &s);
	view_turn(&turned, src->pdim);
	rc = gen_scratch(g, &s, view_reshape(&turned, shape, out) ? src->pdim : -1, &dst);
	if (rc)
		return rc;
	rc = gen_copy(g, &dst, src);
	if (!rc && !view_reshape(&dst, shape, out))
		rc = ncc_fail_op(g->err, -EINVAL, g->op,
				 "internal: a row-major reshape is not a view");
	if (rc)
		gen_unref(g, dst.buf);
	return rc;
}

/* Broadcast, transpose, slice, reverse, bitcast, reshape: a view of the operand where it can be one
 */
static int gen_view(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_view v, x;
	int rc = gen_place(g, op->in[0], -1);

	if (rc)
		return rc;
	x = v = op->in[0]->value->view;
	switch (op->kind) {
	case NCC_BROADCAST:
		v.ndim = op->shape.ndim;
		v.pdim = -1;
		memset(v.stride, 0, sizeof(v.stride));
		memcpy(v.dim, op->shape.dim, sizeof(v.dim));
		for (unsigned int i = 0; i < x.ndim; i++) {
			v.stride[op->map[i]] = x.stride[i];
			if ((int)i == x.pdim)
				v.pdim = op->map[i];
		}
		break;
	case NCC_BITCAST:
		v.dtype = op->shape.dtype;
		break;
	case NCC_TRANSPOSE:
		v = view_permute(&x, op->map, op->shape.ndim);
		break;
	case NCC_SLICE:
		for (unsigned int d = 0; d < op->shape.ndim; d++)
			v = view_slice(&v, d, op->start[d], op->shape.dim[d], op->stride[d]);
		break;
	case NCC_REVERSE:
		for (unsigned int d = 0; d < op->shape.ndim; d++)
			if (op->mask >> d & 1)
				v = view_slice(&v, d, op->shape.dim[d] - 1, op->shape.dim[d], -1);
		break;
	default:
		if (view_reshape(&x, &op->shape, &v))
			break;
		rc = through_dram(g, &x, &op->shape, &v);
		if (rc)
			return rc;
		return value_new(g, op, &v) ? 0 : no_memory(g);
	}
	v.buf->refs++;
	return value_new(g, op, &v) ? 0 : no_memory(g);
}

static const gen_fn lower[NCC_KINDS] = {
	[NCC_SELECT] = gen_elementwise,
	[NCC_CONCAT] = gen_concat,
	[NCC_PAD] = gen_pad,
	[NCC_GATHER] = gen_gather,
	[NCC_DOT] = gen_dot,
	[NCC_CONV] = gen_conv,
	[NCC_REDUCE] = gen_reduce,
	[NCC_REDUCE_WINDOW] = gen_reduce_window,
};

/* Must the operand have a place, or does the operation see to it (constants, kernels)? */
static bool needs_place(const struct ncc_op *op, unsigned int i)
{
	if (ncc_is_binary(op->kind) || op->kind == NCC_DOT || op->kind == NCC_GATHER)
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

/* The place of an operand that nobody needs afterwards, or a new one */
static int result_place(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_shape *s,
			struct ncc_view *dst)
{
	bool each = !op->fused && tile_is_elementwise(op);

	for (unsigned int i = op->kind == NCC_SELECT; each && i < op->nin; i++) {
		if (!view_can_take(op->in[i], reads(op, op->in[i]), s, op->pdim))
			continue;
		*dst = op->in[i]->value->view;
		dst->buf->refs++;
		dst->buf->pin = g->stamp;
		return 0;
	}
	return gen_sbuf_view(g, s, op->pdim, dst);
}

/* The whole result in SBUF at once */
static int compute_whole(struct ncc_gen *g, struct ncc_op *op, struct ncc_op *what)
{
	gen_fn fn = lower[what->kind] ? lower[what->kind] : gen_elementwise;
	struct ncc_shape shape = op->shape;
	struct ncc_view dst;
	int rc;

	if (op->write_dtype)
		shape.dtype = op->write_dtype;
	rc = op->pad ? gen_pad_place(g, op, shape.dtype, &dst) : result_place(g, op, &shape, &dst);
	if (rc)
		return rc;
	if (!value_new(g, op, &dst))
		return no_memory(g);
	op->value->padded = op->pad;
	rc = gen_epilogue_begin(g, what, &dst);
	return rc ? rc : fn(g, what, &dst);
}

static int gen_compute(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_op *what =
		op->fused ? op->fused : op; /* op itself, or the product that it ends */
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
	/* what was begun goes, but what was spilled for it has moved and what it did before stays */
	gen_release_temps(g, 0);
	if (op->value)
		gen_unref(g, op->value->view.buf);
	op->value = NULL;
	if (g->nspills == nspills)
		ncc_prog_rewind(&g->prog, &mark);
	g->no_room = false;
	return gen_tiled(g, op);
}

/* Does it come into being with a later operation? */
static bool is_deferred(const struct ncc_op *op)
{
	if (op->group)
		return op->group != op;
	const struct ncc_op *product = op->fused ? op->fused : op;

	return product->ntail && gen_last_of(product) != op;
}

/* May the result be written narrower at once? One instruction writes each element, from fp32. */
static bool writes_any_type(const struct ncc_op *op)
{
	return op->users == 1 && op->shape.dtype == NEURON_DT_FP32 && op->kind != NCC_CONVERT &&
	       (ncc_is_unary(op->kind) || ncc_is_binary(op->kind) || op->kind == NCC_DOT ||
		op->kind == NCC_CONV);
}

static bool casts_when_reading(const struct ncc_op *user, unsigned int i)
{
	return user->kind == NCC_DOT || user->kind == NCC_CONV || (user->kind == NCC_PAD && !i);
}

/*
 * Converts that cost nothing: the operation before writes the narrow type at once, or the only user
 * casts as it reads (products, of something in DRAM, piece by piece; a pad's copy, of anything).
 */
static void mark_casts(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		op->late_cast = op->kind == NCC_CONVERT && op->users == 1;
		op->write_dtype = 0;
	}
	for (struct ncc_op *op = m->first; op; op = op->next) {
		for (unsigned int i = 0; i < op->nin; i++)
			if (!casts_when_reading(op, i))
				op->in[i]->late_cast = false;
		if (op->kind == NCC_CONVERT && writes_any_type(op->in[0]) &&
		    (op->shape.dtype == NEURON_DT_BF16 || op->shape.dtype == NEURON_DT_FP16))
			op->in[0]->write_dtype = op->shape.dtype;
	}
	for (unsigned int i = 0; i < m->nouts; i++)
		m->outs[i]->late_cast = false;
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_PAD && op->in[0]->late_cast)
			op->in[0]->read_by_copy = true;
}

/* Is this convert one of those? Then its value is its operand's. */
static bool cast_is_free(const struct ncc_op *op)
{
	const struct ncc_value *v;

	if (op->kind != NCC_CONVERT || !op->in[0]->value)
		return false;
	v = op->in[0]->value;
	return v->view.dtype == op->shape.dtype ||
	       (op->late_cast && (op->read_by_copy || v->view.buf->space == NCC_DRAM));
}

static int gen_alias(struct ncc_gen *g, struct ncc_op *op, const struct ncc_view *v)
{
	v->buf->refs++;
	if (!value_new(g, op, v))
		return no_memory(g);
	op->value->padded = op->kind != NCC_PAD && op->in[0]->value->padded;
	return 0;
}

static int gen_op(struct ncc_gen *g, struct ncc_op *op)
{
	g->op = op;
	g->stamp++;
	if (is_lazy(op) || is_deferred(op))
		return 0;
	if (op->group)
		return gen_tiled(g, op);
	if (cast_is_free(op))
		return gen_alias(g, op, &op->in[0]->value->view);
	if (op->kind == NCC_PAD && op->in[0]->value && op->in[0]->value->padded &&
	    op->in[0]->value->view.dtype == op->shape.dtype) {
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
	default:
		return gen_compute(g, op);
	}
}

static void release(struct ncc_gen *g, struct ncc_op *op)
{
	if (op->value && op->value->uses && !--op->value->uses) {
		gen_unref(g, op->value->view.buf);
		op->value->view.buf = NULL;
	}
}

static void release_operands(struct ncc_gen *g, struct ncc_op *op)
{
	if (is_deferred(op) || is_lazy(op)) /* the second reads its operand later, if at all */
		return;
	for (struct ncc_op *x = op->group ? op->group_first : op; x; x = x->group_next)
		for (unsigned int i = 0; i < x->nin; i++)
			release(g, x->in[i]);
	if (!op->fused)
		return;
	for (unsigned int i = 0; i < op->fused->nin; i++)
		release(g, op->fused->in[i]);
	for (unsigned int t = 0; t + 1 < op->fused->ntail; t++)
		for (unsigned int i = 0; i < op->fused->tail[t]->nin; i++)
			release(g, op->fused->tail[t]->in[i]);
}

/* Does one of the results go where the variable lies? */
static bool is_overwritten(const struct ncc_gen *g, uint32_t var)
{
	for (unsigned int i = 0; i < g->m->nouts; i++)
		if (is_kept(g, var, g->m->out_number[i]))
			return true;
	return false;
}

/* A result that is what lies in a place now goes elsewhere before the place gets its own */
static int gen_set_aside(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_view aside, *v;
	int rc;

	if (!op->value)
		return 0;
	v = &op->value->view;
	if (v->buf->space != NCC_DRAM || !is_overwritten(g, v->buf->var))
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

static int gen_output(struct ncc_gen *g, unsigned int i)
{
	struct ncc_buf b = { .space = NCC_DRAM, .refs = 1 };
	struct ncc_op *op = g->m->outs[i];
	struct ncc_view dst;
	int id, rc;

	g->op = op;
	g->stamp++;
	rc = gen_place(g, op, -1);
	if (rc)
		return rc;
	id = io_var(g, NEFF_VAR_OUTPUT, g->m->out_number ? g->m->out_number[i] : i, op,
		    g->m->out_dtype ? g->m->out_dtype[i] : 0, &dst);
	if (id < 0)
		return id;
	b.var = (uint32_t)id;
	dst.buf = &b;
	rc = gen_copy(g, &dst, &op->value->view);
	gen_release_temps(g, 0);
	return rc;
}

static void free_buffers(struct ncc_gen *g)
{
	gen_release_temps(g, 0);
	for (struct ncc_op *op = g->m->first; op; op = op->next) {
		if (op->value && op->value->view.buf)
			gen_unref(g, op->value->view.buf);
		op->value = NULL;
	}
}

int ncc_generate(struct ncc_gen *g)
{
	int rc = ncc_prog_var(&g->prog, NEFF_VAR_STATE_BUFFER, "state_buffer",
			      (uint64_t)NEURON_PARTITIONS * NEURON_SBUF_PART_STRIDE);

	if (rc < 0)
		return no_memory(g);
	rc = 0;
	mark_casts(g->m);
	if (g->opt->level != 1) {
		gen_find_fusions(g->m);
		gen_find_groups(g->m);
		gen_find_pads(g->m);
	}
	for (struct ncc_op *op = g->m->first; !rc && op; op = op->next) {
		if (g->opt->progress)
			g->opt->progress(g->opt->opaque, "generating", op->id, g->m->nops);
		rc = gen_op(g, op);
		gen_release_temps(g, 0);
		if (!rc)
			release_operands(g, op);
	}
	for (unsigned int i = 0; !rc && g->m->kept && i < g->m->nouts; i++)
		rc = gen_set_aside(g, g->m->outs[i]);
	for (unsigned int i = 0; !rc && i < g->m->nouts; i++) {
		rc = gen_output(g, i);
		release(g, g->m->outs[i]);
	}
	free_buffers(g);
	free(g->idle);
	return rc;
}
