// SPDX-License-Identifier: MIT
/*
 * What each operation does with dynamic dimensions: the operation itself is done on the bounds, and
 * where it mixes elements, those beyond the sizes are filled before with what does not count. An
 * operation that the table lacks is refused if an operand is dynamic. Part of the HLO front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"
#include "sizes.h"

bool hlo_is_dynamic(const struct hlo_inst *in)
{
	for (size_t d = 0; d < in->p->shape->n_is_dynamic_dimension; d++)
		if (in->p->shape->is_dynamic_dimension[d])
			return true;
	for (unsigned int i = 0; i < in->nin; i++)
		if (in->in[i].size)
			return true;
	return false;
}

/* The importer takes care of the sizes itself. */
static int own(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return run(in, v);
}

/* Element by element: all operands that are not scalars have the result's dimensions. */
static int by_element(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s;
	int rc = run(in, v);

	hlo_merge_sizes(in, 0, in->nin, &s);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* Along the last dimensions, which are the given number, elements are mixed. */
static int batches(struct hlo_inst *in, struct hlo_value *v, hlo_run run, unsigned int last)
{
	for (unsigned int i = 0; i < in->nin; i++) {
		unsigned int ndim = in->in[i].n ? in->in[i].op[0]->shape.ndim : 0;

		for (unsigned int d = ndim < last ? 0 : ndim - last; d < ndim; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	}
	return by_element(in, v, run);
}

static int matrices(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run, 2);
}

static int transform(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run, (unsigned int)in->p->n_fft_length);
}

/* Types of other sizes add a last dimension or take it away. */
static int bitcast(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run,
		       in->first && in->first->n_dimensions > in->p->shape->n_dimensions);
}

/* What moves or takes whole dimensions: sizes follow by the operation's kind. */
static int by_kind(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	int rc = run(in, v);

	return rc ? rc : hlo_follow(in, v);
}

static int custom_call(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	for (unsigned int i = 0; strcmp(in->p->custom_call_target, "Sharding") && i < in->nin; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	return by_element(in, v, run);
}

/* The dimension that get- and set-dimension-size are of; -1: the message says why */
static int64_t the_dimension(struct hlo_inst *in)
{
	int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;

	if (!in->in[0].n || in->in[0].n > 2 || (in->in[0].n == 2 && !in->in[0].complex))
		return hlo_fail(in, -EINVAL, "operand 0 is a tuple");
	if (d >= 0 && d < in->in[0].op[0]->shape.ndim)
		return d;
	hlo_fail(in, -EINVAL, "dimension %lld of an operand of rank %u", (long long)d,
		 in->in[0].op[0]->shape.ndim);
	return -1;
}

int hlo_get_size(struct hlo_inst *in, struct hlo_value *v)
{
	int64_t d = the_dimension(in);
	struct ncc_op *size = d < 0 ? NULL : hlo_size_or_bound(in, 0, (unsigned int)d);
	int rc = d < 0 ? -EINVAL : hlo_shape(in, in->p->shape, &in->shape);

	if (rc)
		return rc;
	if (in->shape.ndim || in->shape.dtype != NEURON_DT_INT32 || in->shape.pred)
		return hlo_fail(in, -EINVAL, "a size is a scalar of type s32");
	return size ? hlo_take_results(in, &size, 1, v) : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_set_size(struct hlo_inst *in, struct hlo_value *v)
{
	int64_t d = the_dimension(in), bound;
	const struct ncc_op *size = in->in[1].n == 1 ? in->in[1].op[0] : NULL;
	struct hlo_sizes s;
	double number;
	int rc;

	if (d < 0)
		return -EINVAL;
	if (!size || size->shape.ndim || size->shape.dtype != NEURON_DT_INT32 || size->shape.pred)
		return hlo_fail(in, -EINVAL, "operand 1, the size, is no scalar of type s32");
	rc = hlo_shape(in, in->p->shape, &in->shape);
	if (!rc && (!ncc_same_dims(&in->shape, &in->in[0].op[0]->shape) ||
		    in->shape.dtype != in->in[0].op[0]->shape.dtype))
		rc = hlo_fail(in, -EINVAL, "the result's shape is not operand 0's");
	if (rc)
		return rc;

	bound = in->in[0].op[0]->shape.dim[d];
	hlo_merge_sizes(in, 0, 1, &s);
	s.dim[d] = NULL;
	if (!ncc_scalar_value(size, &number) || number < (double)bound) {
		s.dim[d] = sizes_clamped(&in->b, in->in[1].op[0], bound);
		if (!s.dim[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	*v = in->in[0];
	return hlo_give_sizes(in, v, &s);
}

static const struct rule {
	const char *opcode;
	int (*fn)(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
} rules[] = {
	/* clang-format off */
	{ "abs",                   by_element },
	{ "add",                   by_element },
	{ "and",                   by_element },
	{ "atan2",                 by_element },
	{ "bitcast-convert",       bitcast },
	{ "broadcast",             by_kind },
	{ "call",                  own },
	{ "cbrt",                  by_element },
	{ "ceil",                  by_element },
	{ "cholesky",              matrices },
	{ "clamp",                 by_element },
	{ "compare",               by_element },
	{ "complex",               by_element },
	{ "concatenate",           sizes_concat },
	{ "conditional",           own },
	{ "convert",               by_element },
	{ "convolution",           sizes_conv },
	{ "copy",                  by_element },
	{ "cosine",                by_element },
	{ "count-leading-zeros",   by_element },
	{ "custom-call",           custom_call },
	{ "divide",                by_element },
	{ "dot",                   sizes_dot },
	{ "dynamic-reshape",       own },
	{ "dynamic-slice",         sizes_dynamic_slice },
	{ "dynamic-update-slice",  sizes_dynamic_update },
	{ "erf",                   by_element },
	{ "exponential",           by_element },
	{ "exponential-minus-one", by_element },
	{ "fft",                   transform },
	{ "floor",                 by_element },
	{ "fusion",                own },
	{ "gather",                sizes_gather },
	{ "get-dimension-size",    own },
	{ "get-tuple-element",     own },
	{ "imag",                  by_element },
	{ "is-finite",             by_element },
	{ "log",                   by_element },
	{ "log-plus-one",          by_element },
	{ "logistic",              by_element },
	{ "map",                   by_element },
	{ "maximum",               by_element },
	{ "minimum",               by_element },
	{ "multiply",              by_element },
	{ "negate",                by_element },
	{ "not",                   by_element },
	{ "opt-barrier",           own },
	{ "or",                    by_element },
	{ "pad",                   sizes_pad },
	{ "parameter",             own },
	{ "popcnt",                by_element },
	{ "power",                 by_element },
	{ "real",                  by_element },
	{ "reduce",                sizes_reduce },
	{ "reduce-precision",      by_element },
	{ "reduce-window",         sizes_window },
	{ "remainder",             by_element },
	{ "reshape",               sizes_reshape },
	{ "reverse",               sizes_reverse },
	{ "round-nearest-afz",     by_element },
	{ "round-nearest-even",    by_element },
	{ "rsqrt",                 by_element },
	{ "scatter",               sizes_scatter },
	{ "select",                by_element },
	{ "set-dimension-size",    own },
	{ "shift-left",            by_element },
	{ "shift-right-arithmetic", by_element },
	{ "shift-right-logical",   by_element },
	{ "sign",                  by_element },
	{ "sine",                  by_element },
	{ "slice",                 sizes_slice },
	{ "sort",                  by_element }, /* sort.c reads the size */
	{ "sqrt",                  by_element },
	{ "subtract",              by_element },
	{ "tan",                   by_element },
	{ "tanh",                  by_element },
	{ "topk",                  sizes_top },
	{ "transpose",             by_kind },
	{ "triangular-solve",      matrices },
	{ "tuple",                 own },
	{ "while",                 own },
	{ "xor",                   by_element },
	/* clang-format on */
};

static int by_opcode(const void *opcode, const void *rule)
{
	return strcmp(opcode, ((const struct rule *)rule)->opcode);
}

/* Has every dynamic dimension of the shape its size? */
static int check_sizes(struct hlo_inst *in, const struct hlo_value *v)
{
	const Ncc__Hlo__Shape *p = in->p->shape;

	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		if (hlo_is_dynamic_dim(p, d) && !(v->size && v->size[0].dim[d]))
			return hlo_fail(in, -ENOTSUP,
					"nothing says the size of the result's dynamic dimension "
					"%u",
					d);
	return 0;
}

int hlo_dynamic(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const struct rule *r = bsearch(in->p->opcode, rules, sizeof(rules) / sizeof(rules[0]),
				       sizeof(rules[0]), by_opcode);
	int rc;

	for (unsigned int i = 0; !r && i < in->nin; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	rc = r ? r->fn(in, v, run) : run(in, v);
	return rc || (r && r->fn == own) ? rc : check_sizes(in, v);
}
