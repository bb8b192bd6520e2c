// SPDX-License-Identifier: MIT
/*
 * Arrays of more dimensions than the compiler has (NCC_MAX_DIMS), of which enough have one element:
 * jnp.tile makes two of each dimension. Within a computation they go without those dimensions; what
 * gives and takes them is an elementwise operation, a reshape, a broadcast or a transpose. All
 * others are refused by their rank, as parameters and results of computations are.
 */
#include <errno.h>
#include <string.h>

#include "build/build.h"
#include "operations.h"
#include "sizes.h"

static bool is_one(const Ncc__Hlo__Shape *s, size_t i)
{
	return s->dimensions[i] == 1 &&
	       (i >= s->n_is_dynamic_dimension || !s->is_dynamic_dimension[i]);
}

bool hlo_is_long(const Ncc__Hlo__Shape *s)
{
	return s && s->n_dimensions > NCC_MAX_DIMS;
}

/* A shape without the dimensions of one element; NULL: out of memory */
static Ncc__Hlo__Shape *shorten(struct hlo_inst *in, const Ncc__Hlo__Shape *s)
{
	Ncc__Hlo__Shape *out = ncc_alloc(in->imp->m, sizeof(*out));
	protobuf_c_boolean *dynamic =
		ncc_alloc(in->imp->m, (s->n_dimensions + 1) * sizeof(*dynamic));
	int64_t *dim = ncc_alloc(in->imp->m, (s->n_dimensions + 1) * sizeof(*dim));
	size_t n = 0;

	if (!out || !dynamic || !dim)
		return NULL;
	for (size_t i = 0; i < s->n_dimensions; i++) {
		if (is_one(s, i))
			continue;
		dynamic[n] = i < s->n_is_dynamic_dimension && s->is_dynamic_dimension[i];
		dim[n++] = s->dimensions[i];
	}
	*out = *s;
	out->layout = NULL;
	out->n_dimensions = out->n_is_dynamic_dimension = n;
	out->dimensions = dim;
	out->is_dynamic_dimension = dynamic;
	return out;
}

/* The place of dimension d among those that stay */
static int64_t place(const Ncc__Hlo__Shape *s, int64_t d)
{
	int64_t n = 0;

	for (int64_t i = 0; i < d; i++)
		n += !is_one(s, (size_t)i);
	return n;
}

/*
 * The dimension numbers of a broadcast, one for each dimension of the operand and of the result, or
 * of a transpose, the other way round
 */
static int renumber(struct hlo_inst *in, Ncc__Hlo__Instruction *p, const Ncc__Hlo__Shape *by,
		    const Ncc__Hlo__Shape *of)
{
	int64_t *number = ncc_alloc(in->imp->m, (p->n_dimensions + 1) * sizeof(*number));
	size_t n = 0;

	if (!number)
		return hlo_fail(in, -ENOMEM, "out of memory");
	if (p->n_dimensions != by->n_dimensions)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers for rank %zu", p->n_dimensions,
				by->n_dimensions);
	for (size_t i = 0; i < p->n_dimensions; i++) {
		const int64_t d = p->dimensions[i];

		if (d < 0 || d >= (int64_t)of->n_dimensions ||
		    by->dimensions[i] != of->dimensions[d])
			return hlo_fail(in, -EINVAL, "dimension number %lld", (long long)d);
		if (!is_one(by, i))
			number[n++] = place(of, d);
	}
	p->n_dimensions = n;
	p->dimensions = number;
	return 0;
}

/* An operand of few dimensions loses those of one element as well: the numbers are of the others. */
static int shorten_operand(struct hlo_inst *in, const Ncc__Hlo__Shape *s)
{
	struct hlo_value v = in->in[0];
	struct ncc_shape shape;

	v.op = ncc_alloc(in->imp->m, (v.n + 1) * sizeof(struct ncc_op *));
	if (!v.op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < v.n; i++) {
		shape = in->in[0].op[i]->shape;
		shape.ndim = (unsigned int)s->n_dimensions;
		for (unsigned int k = 0; k < shape.ndim; k++)
			shape.dim[k] = s->dimensions[k];
		v.op[i] = build_reshape(&in->b, in->in[0].op[i], &shape);
		if (!v.op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	in->in[0] = v;
	return 0;
}

static bool is_taken(const struct hlo_inst *in)
{
	const enum ncc_kind kind = in->rule->kind;

	return kind == NCC_BROADCAST || kind == NCC_TRANSPOSE || kind == NCC_CONVERT ||
	       !strcmp(in->p->opcode, "reshape") || !strcmp(in->p->opcode, "call") ||
	       !strcmp(in->p->opcode, "parameter") || ncc_is_elementwise(kind);
}

static int too_long(struct hlo_inst *in, const Ncc__Hlo__Shape *s)
{
	return hlo_fail(in, -ENOTSUP, "rank %zu, at most %u is supported", s->n_dimensions,
			NCC_MAX_DIMS);
}

int hlo_shorten(struct hlo_inst *in)
{
	const Ncc__Hlo__Shape *x = in->first, *y = in->p->shape;
	Ncc__Hlo__Instruction *p;
	int rc = 0;

	if (!is_taken(in) || in->imp->lift || hlo_is_dynamic(in))
		return too_long(in, in->longest);
	p = ncc_alloc(in->imp->m, sizeof(*p));
	if (!p)
		return hlo_fail(in, -ENOMEM, "out of memory");
	*p = *in->p;
	if (in->rule->kind == NCC_BROADCAST)
		rc = renumber(in, p, x, y);
	else if (in->rule->kind == NCC_TRANSPOSE)
		rc = renumber(in, p, y, x);
	if (rc)
		return rc;
	if (hlo_is_long(y) || in->rule->kind == NCC_TRANSPOSE) {
		p->shape = shorten(in, y);
		if (!p->shape)
			return hlo_fail(in, -ENOMEM, "out of memory");
		if (hlo_is_long(p->shape))
			return too_long(in, y);
	}
	in->p = p;
	if (x)
		in->first = hlo_is_long(x) || in->rule->kind == NCC_BROADCAST ? shorten(in, x) : x;
	if (x && !in->first)
		return hlo_fail(in, -ENOMEM, "out of memory");
	return in->rule->kind == NCC_BROADCAST && !hlo_is_long(x) ? shorten_operand(in, in->first)
								  : 0;
}
