// SPDX-License-Identifier: MIT
/*
 * Where values lie. Constants come to DRAM when they are first used; transposes, slices, broadcasts
 * and most reshapes are views of their operand. Part of the code generator.
 */
#include "place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "move.h"
#include "view.h"
#include "passes/cores.h"

struct ncc_value *gen_value(struct ncc_gen *g, struct ncc_op *op, const struct ncc_view *view)
{
	op->gen->value = ncc_alloc(g->m, sizeof(*op->gen->value));
	if (!op->gen->value)
		return NULL;
	op->gen->value->view = *view;
	op->gen->value->uses = op->users;
	return op->gen->value;
}

/*
 * The strides with pdim outermost and inner innermost, if those are dimensions; true: they are
 * row-major.
 */
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

/* A copy of the constant with such strides */
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

bool gen_is_kept(const struct ncc_gen *g, uint32_t var, struct ncc_port port)
{
	return port.passage == NCC_BETWEEN_PARTS && g->prog.var[var].type == NEFF_VAR_VIRTUAL &&
	       g->prog.var[var].backing_off == ncc_kept_of(g->m)[port.number];
}

static bool is_one_of(const struct ncc_gen *g, uint32_t var, const struct ncc_port *port,
		      unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (gen_is_kept(g, var, port[i]))
			return true;
	return false;
}

bool gen_is_overwritten(const struct ncc_gen *g, uint32_t var)
{
	const struct ncc_module *m = g->m;
	const struct ncc_half *half = ncc_half_of(m);

	if (half && half->written)
		return is_one_of(g, var, half->written, half->nwritten);
	return ncc_kept_of(m) && is_one_of(g, var, m->piece->out, m->nouts);
}

bool gen_is_touched(const struct ncc_gen *g, uint32_t var)
{
	const struct ncc_half *half = ncc_half_of(g->m);

	return half && is_one_of(g, var, half->touched, half->ntouched);
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

	if (op->gen->value)
		return 0;
	if (op->kind == NCC_BROADCAST)
		return gen_view(g, op->plan);
	view_row_major(&v, NULL, &op->shape);
	lent = constant_strides(&op->shape, pdim, inner, v.stride);
	data = lent ? op->data : reorder(op, v.stride);
	if (!data)
		return ncc_no_memory(g->err);

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
	b = gen_dram_buf((uint32_t)id);
	if (!b || !g->prog.var[id].file_name)
		return ncc_no_memory(g->err);
	v.buf = b;
	return gen_value(g, op, &v) ? 0 : ncc_no_memory(g->err);
}

int gen_fetch_op(struct ncc_gen *g, struct ncc_op *op, int pdim, uint8_t dtype,
		 struct ncc_view *out)
{
	int rc = gen_place(g, op, pdim);

	dtype = dtype ? dtype : op->shape.dtype;
	if (!rc && op->plan->kept)
		return gen_fetch_kept(g, &op->gen->value->view, pdim, dtype, out);
	return rc ? rc : gen_fetch(g, &op->gen->value->view, pdim, dtype, out);
}

/*
 * Copies src to a scratch variable in DRAM of which shape is a view. A row-major variable has a
 * view of every shape of the same elements; one with its partitions outermost has many.
 */
static int through_dram(struct ncc_gen *g, const struct ncc_view *src,
			const struct ncc_shape *shape, struct ncc_view *out)
{
	struct ncc_view dst, stored;
	struct ncc_shape s;
	int rc;

	view_shape(src, &s);
	view_row_major(&stored, src->buf, &s);
	view_set_outermost(&stored, src->pdim);
	rc = gen_scratch(g, &s, view_reshape(&stored, shape, out) ? src->pdim : -1, &dst);
	if (rc)
		return rc;
	rc = gen_copy(g, &dst, src);
	if (!rc && !view_reshape(&dst, shape, out))
		rc = gen_fail(g, -EINVAL, "internal: a row-major reshape is not a view");
	if (rc)
		gen_unref(g, dst.buf);
	return rc;
}

/* Broadcast, transpose, slice, reverse, bitcast, reshape: a view of the operand where it can be one
 */
int gen_view(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op;
	struct ncc_view v, x;
	int rc = gen_place(g, op->in[0], -1);

	if (rc)
		return rc;
	x = v = op->in[0]->gen->value->view;

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
		return gen_value(g, op, &v) ? 0 : ncc_no_memory(g->err);
	}
	v.buf->refs++;
	return gen_value(g, op, &v) ? 0 : ncc_no_memory(g->err);
}

static bool is_row_major(const struct ncc_view *v)
{
	int64_t step = 1;

	for (unsigned int d = v->ndim; d-- > 0;) {
		if (v->dim[d] != 1 && v->stride[d] != step)
			return false;
		step *= v->dim[d];
	}
	return v->buf->space == NCC_DRAM && v->pdim < 0 && !v->buf->row;
}

int gen_in_dram(struct ncc_gen *g, struct ncc_op *op, struct ncc_view *out)
{
	int rc = gen_place(g, op, -1);

	if (rc)
		return rc;
	*out = op->gen->value->view;
	if (is_row_major(out) && out->dtype == op->shape.dtype)
		return 0;
	rc = gen_scratch(g, &op->shape, -1, out);
	rc = rc ? rc : gen_temp(g, out->buf);
	return rc ? rc : gen_copy(g, out, &op->gen->value->view);
}
