// SPDX-License-Identifier: MIT
/*
 * Complex values: pairs of fp32 arrays, the two leaves of an instruction's value. The table of
 * operations names the importers here. What a module takes and gives is one array with a last
 * dimension of 2. Part of the HLO front end.
 */
#include "complex.h"

#include <errno.h>
#include <string.h>

#include "call.h"
#include "empty.h"
#include "host_calls.h"
#include "operations.h"

bool hlo_has_complex(const struct hlo_inst *in)
{
	bool has = hlo_is_complex(in->p->shape->element_type);

	for (unsigned int i = 0; !has && i < in->nin; i++)
		has = in->in[i].complex;
	return has;
}

int hlo_check_complex(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_shape s;
	int rc;

	v->complex = hlo_is_complex(in->p->shape->element_type);
	if (in->p->shape->element_type == HLO_TUPLE)
		return 0;
	if (v->n != (v->complex ? 2 : 1))
		return hlo_fail(in, -EINVAL, "%u values, its shape has %d", v->n,
				v->complex ? 2 : 1);
	if (!v->complex)
		return 0;
	rc = hlo_shape(in, in->p->shape, &s);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < 2; i++)
		if (!ncc_same_dims(&v->op[i]->shape, &s) || v->op[i]->shape.dtype != s.dtype)
			return hlo_fail(in, -EINVAL, "a complex value's part has another shape");
	return 0;
}

static int allocate(struct hlo_inst *in, struct hlo_value *v)
{
	v->n = 2;
	v->op = ncc_alloc(in->imp->m, 2 * sizeof(struct ncc_op *));
	return v->op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

/* A pair that was made of in's operands, or could not be */
static int take_pair(struct hlo_inst *in, struct ncc_complex x, struct hlo_value *v)
{
	int rc = allocate(in, v);

	if (rc)
		return rc;
	v->op[0] = x.re;
	v->op[1] = x.im;
	if ((!x.re || !x.im) && in->imp->err->text[0])
		return -EFBIG;
	return hlo_done(in, x.re) ?: hlo_done(in, x.im);
}

static int take_one(struct hlo_inst *in, struct ncc_op *x, struct hlo_value *v)
{
	int rc = hlo_shape(in, in->p->shape, &in->shape) ?: hlo_done(in, x);

	if (!rc && (!ncc_same_dims(&x->shape, &in->shape) || x->shape.dtype != in->shape.dtype))
		rc = hlo_fail(in, -EINVAL, "the result's shape does not fit the operands'");
	return rc ? rc : hlo_take_results(in, &x, 1, v);
}

static struct ncc_complex pair(const struct hlo_inst *in, unsigned int i)
{
	return (struct ncc_complex){ in->in[i].op[0], in->in[i].op[1] };
}

/*
 * The operation as it is on real values, on one part of each complex operand (in bit i of parts: of
 * operand i)
 */
static int real_operation(struct hlo_inst *in, uint32_t parts, struct ncc_op **out)
{
	struct hlo_inst one = *in;
	struct hlo_value r = { 0 };
	int rc;

	one.in = ncc_alloc(in->imp->m, (in->nin + 1) * sizeof(*one.in));
	if (!one.in)
		return hlo_fail(in, -ENOMEM, "out of memory");
	one.part = parts & 1;
	for (unsigned int i = 0; i < in->nin; i++) {
		one.in[i] = in->in[i];
		if (!in->in[i].complex)
			continue;
		one.in[i] = (struct hlo_value){ .n = 1, .op = &in->in[i].op[parts >> i & 1] };
	}

	rc = in->rule->value ? in->rule->value(&one, &r) : hlo_array(&one, &r);
	if (!rc && r.n != 1)
		rc = hlo_fail(in, -EINVAL, "%u results", r.n);
	*out = rc ? NULL : r.op[0];
	return rc;
}

/* Moves, and what else treats both parts alike; of the operands only indices and such are real. */
int hlo_complex_parts(struct hlo_inst *in, struct hlo_value *v)
{
	for (unsigned int i = 0; i < in->nin; i++)
		if (!in->in[i].complex && in->in[i].n && ncc_is_float(in->in[i].op[0]->shape.dtype))
			return hlo_fail(in, -EINVAL, "operand %u is not complex", i);
	return allocate(in, v) ?:
	       real_operation(in, 0, &v->op[0]) ?:
	       real_operation(in, UINT32_MAX, &v->op[1]);
}

static int need_complex(struct hlo_inst *in, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!in->in[i].complex)
			return hlo_fail(in, -EINVAL, "operand %u is not complex", i);
	return 0;
}

/* Products of any kind: four real ones, of which two are added or subtracted */
int hlo_complex_product(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *rr = NULL, *ii = NULL, *ri = NULL, *ir = NULL;
	int rc = need_complex(in, 2) ?:
		 real_operation(in, 0, &rr) ?:
		 real_operation(in, 2, &ri) ?:
		 real_operation(in, 1, &ir) ?:
		 real_operation(in, 3, &ii);

	if (rc)
		return rc;
	return take_pair(in,
			 (struct ncc_complex){ build_binary(&in->b, NCC_SUB, rr, ii),
					       build_binary(&in->b, NCC_ADD, ri, ir) },
			 v);
}

static int same_shapes(struct hlo_inst *in)
{
	int rc = need_complex(in, in->nin);

	for (unsigned int i = 1; !rc && i < in->nin; i++)
		if (!ncc_same_dims(&in->in[i].op[0]->shape, &in->in[0].op[0]->shape))
			rc = hlo_fail(in, -EINVAL, "operand %u has another shape", i);
	return rc;
}

int hlo_complex_unary(struct hlo_inst *in, struct hlo_value *v)
{
	return same_shapes(in) ?: take_pair(in, in->rule->of_pair(&in->b, pair(in, 0)), v);
}

int hlo_complex_binary(struct hlo_inst *in, struct hlo_value *v)
{
	return same_shapes(in)
		       ?: take_pair(in, in->rule->of_pairs(&in->b, pair(in, 0), pair(in, 1)), v);
}

int hlo_complex_abs(struct hlo_inst *in, struct hlo_value *v)
{
	return same_shapes(in) ?: take_one(in, expand_complex_abs(&in->b, pair(in, 0)), v);
}

int hlo_complex_real(struct hlo_inst *in, struct hlo_value *v)
{
	return take_one(in, in->in[0].op[0], v);
}

int hlo_complex_imag(struct hlo_inst *in, struct hlo_value *v)
{
	return need_complex(in, 1) ?: take_one(in, in->in[0].op[1], v);
}

/* The pair of two real arrays */
int hlo_complex_make(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = hlo_arrays(in, 2);

	return rc ? rc : take_pair(in, (struct ncc_complex){ in->in[0].op[0], in->in[1].op[0] }, v);
}

int hlo_complex_compare(struct hlo_inst *in, struct hlo_value *v)
{
	bool equal = !strcmp(in->p->comparison_direction, "EQ");
	struct ncc_op *p[2] = { NULL };
	int rc = need_complex(in, 2);

	if (!rc && !equal && strcmp(in->p->comparison_direction, "NE"))
		rc = hlo_fail(in, -EINVAL, "complex numbers have no order '%.20s'",
			      in->p->comparison_direction);
	rc = rc ? rc : real_operation(in, 0, &p[0]) ?: real_operation(in, 3, &p[1]);
	return rc ? rc
		  : take_one(in, build_binary(&in->b, equal ? NCC_AND : NCC_OR, p[0], p[1]), v);
}

/* The imaginary part of what becomes complex is 0, and is dropped of what becomes real. */
int hlo_complex_convert(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *re = NULL;
	int rc;

	if (in->in[0].complex && hlo_is_complex(in->p->shape->element_type))
		return hlo_complex_parts(in, v);
	if (in->p->shape->element_type == HLO_PRED)
		return hlo_fail(in, -ENOTSUP, "of complex values to pred is not supported");
	rc = real_operation(in, 0, &re);
	if (rc || in->in[0].complex)
		return rc ? rc : take_one(in, re, v);
	return take_pair(in, (struct ncc_complex){ re, build_splat(&in->b, &re->shape, 0) }, v);
}

int hlo_complex_call(struct hlo_inst *in, struct hlo_value *v)
{
	if (hlo_is_host_call(in->p))
		return hlo_host_call(in, v);
	return strcmp(in->p->custom_call_target, "Sharding") ? hlo_unsupported(in)
							     : hlo_complex_parts(in, v);
}

/* Is a sum of complex numbers the sums of their parts, by the called computation? */
static bool is_by_parts(const struct hlo_inst *in, bool replaces)
{
	struct ncc_combine c = hlo_combiner(in, 0, 1);

	return (c.by == NCC_COMBINE_KIND && c.kind == NCC_ADD) ||
	       (replaces && c.by == NCC_COMBINE_SECOND);
}

int hlo_complex_reduce(struct hlo_inst *in, struct hlo_value *v)
{
	return in->nin == 2 && is_by_parts(in, false) ? hlo_complex_parts(in, v)
						      : hlo_reduce_many(in, v);
}

int hlo_complex_reduce_window(struct hlo_inst *in, struct hlo_value *v)
{
	return in->nin == 2 && is_by_parts(in, false) ? hlo_complex_parts(in, v)
						      : hlo_window_many(in, v);
}

int hlo_complex_scatter(struct hlo_inst *in, struct hlo_value *v)
{
	return in->nin == 3 && is_by_parts(in, true) ? hlo_complex_parts(in, v)
						     : hlo_scatter(in, v);
}

/* A real parameter [..., 2] as the two parts */
int hlo_complex_parameter(struct hlo_inst *in, struct ncc_op *param, struct hlo_value *v)
{
	const unsigned int last = param->shape.ndim;
	struct ncc_shape s = param->shape;
	int rc = allocate(in, v);

	if (rc)
		return rc;
	if (last == NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "rank %u, at most %u is supported", last,
				NCC_MAX_DIMS - 1);
	param->shape.dim[param->shape.ndim++] = 2;
	for (unsigned int i = 0; i < 2; i++) {
		v->op[i] = build_reshape(&in->b, build_slice(&in->b, param, last, i, 1), &s);
		if (!v->op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->complex = true;
	return 0;
}

/* The reverse, for a result */
static struct ncc_op *joined(struct hlo_inst *in, struct ncc_op *const *part)
{
	struct ncc_shape s = part[0]->shape;
	struct ncc_op *x[2];

	if (s.ndim == NCC_MAX_DIMS) {
		hlo_fail(in, -ENOTSUP, "a complex result of rank %u, at most %u is supported",
			 s.ndim, NCC_MAX_DIMS - 1);
		return NULL;
	}
	s.dim[s.ndim++] = 1;
	for (unsigned int i = 0; i < 2; i++)
		x[i] = build_reshape(&in->b, part[i], &s);
	return build_concat(&in->b, x, 2, s.ndim - 1);
}

static int take_result(struct hlo_inst *in, const Ncc__Hlo__Shape *s, struct hlo_value *v,
		       unsigned int *from)
{
	const bool complex = hlo_is_complex(s->element_type);
	struct ncc_op *op;

	if (s->element_type == HLO_TUPLE) {
		int rc = 0;

		for (size_t i = 0; !rc && i < s->n_tuple_shapes; i++)
			rc = take_result(in, s->tuple_shapes[i], v, from);
		return rc;
	}

	if (*from + complex >= in->in[0].n)
		return hlo_fail(in, -EINVAL, "the tuple has fewer elements than its shape");
	op = in->in[0].op[*from];
	if (complex) {
		if (!ncc_same_dims(&op->shape, &in->in[0].op[*from + 1]->shape))
			return hlo_fail(in, -EINVAL, "a complex value's part has another shape");
		op = hlo_is_empty(op) ? op : joined(in, &in->in[0].op[*from]);
	} else if (!hlo_is_empty(op)) {
		op = hlo_small_output(in, s, hlo_low_half(in, s, op));
	}
	if (!op)
		return in->imp->err->text[0] ? -ENOTSUP : hlo_fail(in, -ENOMEM, "out of memory");
	*from += complex ? 2 : 1;
	v->op[v->n++] = op;
	return 0;
}

/* Is there an array that the module's user gets in another form than the module has it? */
static bool is_changed(const Ncc__Hlo__Shape *s)
{
	bool has = hlo_is_complex(s->element_type) || hlo_is_wide(s->element_type) ||
		   hlo_small_bits(s->element_type);

	for (size_t i = 0; !has && i < s->n_tuple_shapes; i++)
		has = is_changed(s->tuple_shapes[i]);
	return has;
}

int hlo_complex_results(struct hlo_inst *in, struct hlo_value *v)
{
	struct hlo_value to = { .op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(*to.op)) };
	unsigned int from = 0;
	int rc;

	if (!is_changed(in->p->shape))
		return 0;
	if (!to.op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	in->in = v;
	rc = take_result(in, in->p->shape, &to, &from);
	if (!rc && from != v->n)
		rc = hlo_fail(in, -EINVAL, "the tuple has more elements than its shape");
	*v = to;
	return rc;
}

enum { FFT, IFFT, RFFT, IRFFT };

/* Checks the lengths of the last n dimensions of x, of which an IRFFT has half the last one. */
static int check_lengths(struct hlo_inst *in, const struct ncc_shape *x)
{
	const size_t n = in->p->n_fft_length;

	if (n < 1 || n > 3 || n > x->ndim)
		return hlo_fail(in, -EINVAL, "%zu lengths for rank %u", n, x->ndim);
	for (size_t i = 0; i < n; i++) {
		int64_t len = in->p->fft_length[i], have = x->dim[x->ndim - n + i];

		if (len < 1 || len > NCC_MOST_FFT)
			return hlo_fail(in, len < 1 ? -EINVAL : -ENOTSUP,
					"a length of %lld, expected 1 to %d", (long long)len,
					NCC_MOST_FFT);
		if (have != (in->p->fft_type == IRFFT && i + 1 == n ? len / 2 + 1 : len))
			return hlo_fail(in, -EINVAL, "a length of %lld for a dimension of %lld",
					(long long)len, (long long)have);
	}
	return 0;
}

/* Transforms along the dimensions before the last one. */
static struct ncc_complex others(struct hlo_inst *in, struct ncc_complex x, bool inverse)
{
	for (size_t i = 2; x.re && i <= in->p->n_fft_length; i++)
		x = expand_fft(&in->b, x, x.re->shape.ndim - (unsigned int)i, inverse);
	return x;
}

int hlo_fft(struct hlo_inst *in, struct hlo_value *v)
{
	const int32_t type = in->p->fft_type;
	const bool inverse = type == IFFT || type == IRFFT;
	struct ncc_op *first = in->in[0].n ? in->in[0].op[0] : NULL;
	struct ncc_complex x;
	unsigned int last;
	int rc;

	if (type < FFT || type > IRFFT || !first || in->in[0].complex != (type != RFFT) ||
	    hlo_is_complex(in->p->shape->element_type) != (type != IRFFT) ||
	    (type == RFFT && (in->in[0].n != 1 || first->shape.dtype != NEURON_DT_FP32)))
		return hlo_fail(in, -EINVAL, "the types are not those of transform %d", type);
	rc = check_lengths(in, &first->shape);
	if (rc)
		return rc;
	last = first->shape.ndim - 1;
	x = (struct ncc_complex){ first, type == RFFT ? NULL : in->in[0].op[1] };
	if (type == IRFFT) {
		int64_t n = in->p->fft_length[in->p->n_fft_length - 1];

		x = others(in, x, true);
		return take_one(in, expand_fft_to_real(&in->b, x, last, n), v);
	}

	x = expand_fft(&in->b, x, last, inverse);
	if (type == RFFT && x.re && x.im) {
		int64_t bins = x.re->shape.dim[last] / 2 + 1;

		x.re = build_slice(&in->b, x.re, last, 0, bins);
		x.im = build_slice(&in->b, x.im, last, 0, bins);
	}
	return take_pair(in, others(in, x, inverse), v);
}
