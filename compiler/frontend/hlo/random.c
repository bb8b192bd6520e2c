// SPDX-License-Identifier: MIT
/* Random numbers. Part of the HLO front end. */
#include <errno.h>

#include "operations.h"
#include "expand/random.h"

enum { RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX }; /* XLA's RandomAlgorithm (xla_data.proto) */

enum { RNG_UNIFORM = 1, RNG_NORMAL }; /* and its RandomDistribution */

/* Checks the state's shape, and that the result's is the same. */
static int check_state(struct hlo_inst *in, bool is_philox)
{
	const Ncc__Hlo__Shape *s = in->first, *to = in->p->shape;

	if (to->element_type != HLO_TUPLE || to->n_tuple_shapes != 2)
		return hlo_fail(in, -EINVAL, "the result is no tuple of a state and bits");
	to = to->tuple_shapes[0];
	if (s->element_type != HLO_U64 || s->n_dimensions != 1 || s->dimensions[0] < 2 ||
	    s->dimensions[0] > (is_philox ? 3 : 2) || in->in[0].n != 1)
		return hlo_fail(in, -EINVAL, "the state is not u64[2]%s",
				is_philox ? " or u64[3]" : "");
	if (to->element_type != HLO_U64 || to->n_dimensions != 1 ||
	    to->dimensions[0] != s->dimensions[0])
		return hlo_fail(in, -EINVAL, "the result's state has another shape");
	return 0;
}

static int refuse_empty(const struct hlo_inst *in, const struct ncc_shape *s)
{
	for (unsigned int d = 0; d < s->ndim; d++)
		if (s->dim[d] < 1)
			return hlo_fail(in, -ENOTSUP,
					"the result is empty, which is not supported");
	return 0;
}

/* Takes the shape of the bits; those of 64-bit integers have the type of a half. */
static int take_shape(struct hlo_inst *in, struct ncc_shape *s, bool *wide)
{
	Ncc__Hlo__Shape p = *in->p->shape->tuple_shapes[1];
	int rc;

	*wide = p.element_type == HLO_U64 || p.element_type == HLO_S64;
	if (*wide)
		p.element_type = p.element_type == HLO_S64 ? HLO_S32 : HLO_U32;
	rc = hlo_shape(in, &p, s);
	if (rc)
		return rc;
	if (s->pred || ncc_is_float(s->dtype))
		return hlo_fail(in, -ENOTSUP, "of %s is not supported", ncc_dtype_name(s));
	if (*wide && s->ndim == NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "rank %u, at most %u is supported of 64-bit integers",
				s->ndim, NCC_MAX_DIMS - 1);
	return refuse_empty(in, s);
}

int hlo_rng_bits(struct hlo_inst *in, struct hlo_value *v)
{
	/* what XLA has for a CPU is the default */
	const bool is_philox = in->p->rng_algorithm != RNG_THREE_FRY;
	const enum ncc_random by = !is_philox ? NCC_RANDOM_THREEFRY
				   : in->p->rng_algorithm == RNG_DEFAULT && in->imp->m->hardware_rng
					   ? NCC_RANDOM_HARDWARE
					   : NCC_RANDOM_PHILOX;
	struct ncc_op *state, *x[2];
	struct ncc_shape s;
	bool wide;
	int rc;

	if (in->p->rng_algorithm < RNG_DEFAULT || in->p->rng_algorithm > RNG_PHILOX)
		return hlo_fail(in, -EINVAL, "algorithm %d", in->p->rng_algorithm);
	rc = check_state(in, is_philox) ?:
	     take_shape(in, &s, &wide) ?:
	     hlo_take_halves(in, 0, &state);
	if (rc)
		return rc;
	in->imp->err->text[0] = 0;
	if (!expand_random(&in->b, by, state, &s, wide, &x[1], &x[0]))
		return in->imp->err->text[0] ? -EFBIG : hlo_fail(in, -ENOMEM, "out of memory");
	return hlo_take_results(in, x, 2, v);
}

/* A scalar bound for every element, as fp32 or as the low bits of a word */
static struct ncc_op *bound(struct hlo_inst *in, unsigned int i, uint8_t dtype)
{
	struct ncc_op *x = in->in[i].op[0];

	if (dtype == NEURON_DT_UINT32 && !ncc_is_unsigned(x->shape.dtype))
		x = build_bitcast(&in->b, build_cast(&in->b, x, NEURON_DT_INT32), dtype);
	x = build_cast(&in->b, x, dtype);
	if (x && !x->shape.ndim && in->shape.ndim) {
		struct ncc_shape s = in->shape;

		s.dtype = dtype;
		x = build_spread(&in->b, &s, x, NULL);
	}
	return x;
}

/* A number that rounding makes the upper bound, which is left out, becomes the lower one. */
static struct ncc_op *uniform(struct hlo_inst *in, const struct ncc_random_key *key)
{
	struct ncc_op *low = bound(in, 0, NEURON_DT_FP32), *high = bound(in, 1, NEURON_DT_FP32);
	struct ncc_op *x = expand_uniform(&in->b, key, &in->shape);

	x = build_binary(&in->b, NCC_MUL, x, build_binary(&in->b, NCC_SUB, high, low));
	x = build_cast(&in->b, build_binary(&in->b, NCC_ADD, x, low), in->shape.dtype);
	high = build_cast(&in->b, high, in->shape.dtype);
	return build_select(&in->b, build_compare(&in->b, NCC_EQ, x, high),
			    build_cast(&in->b, low, in->shape.dtype), x);
}

static struct ncc_op *normal(struct hlo_inst *in, const struct ncc_random_key *key)
{
	struct ncc_op *x = expand_normal(&in->b, key, &in->shape);

	x = build_binary(&in->b, NCC_MUL, x, bound(in, 1, NEURON_DT_FP32));
	x = build_binary(&in->b, NCC_ADD, x, bound(in, 0, NEURON_DT_FP32));
	return build_cast(&in->b, x, in->shape.dtype);
}

int hlo_rng(struct hlo_inst *in, struct ncc_op **out)
{
	const struct ncc_random_key key = { expand_random_text(in->imp->m->name),
					    in->imp->randoms++ };
	const bool is_normal = in->p->distribution == RNG_NORMAL;
	const bool is_float = ncc_is_float(in->shape.dtype);

	if (in->p->distribution != RNG_UNIFORM && !is_normal)
		return hlo_fail(in, -EINVAL, "distribution %d", in->p->distribution);
	if (in->shape.pred || (is_normal && !is_float))
		return hlo_fail(in, -ENOTSUP, "%s numbers of %s are not supported",
				is_normal ? "normal" : "uniform", ncc_dtype_name(&in->shape));
	for (unsigned int i = 0; i < 2; i++)
		if (in->in[i].op[0]->shape.dtype != in->shape.dtype ||
		    (in->in[i].op[0]->shape.ndim && !in->imp->lift))
			return hlo_fail(in, -EINVAL, "operand %u is no number of the result's type",
					i);
	if (in->imp->guard)
		return hlo_fail(in, -ENOTSUP,
				"in a loop that is not unrolled is not supported: all iterations "
				"would have the same numbers");
	if (refuse_empty(in, &in->shape))
		return -ENOTSUP;
	if (!is_float)
		*out = expand_uniform_whole(&in->b, &key, bound(in, 0, NEURON_DT_UINT32),
					    bound(in, 1, NEURON_DT_UINT32), &in->shape);
	else
		*out = (is_normal ? normal : uniform)(in, &key);
	return hlo_done(in, *out);
}
