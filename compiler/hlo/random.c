// SPDX-License-Identifier: MIT
/* Random numbers. Part of the HLO front end. */
#include <errno.h>

#include "operations.h"
#include "expand/random.h"

enum { RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX }; /* XLA's RandomAlgorithm (xla_data.proto) */

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
		return hlo_fail(in, -ENOTSUP,
				"rank %u, at most %u is supported of 64-bit integers", s->ndim,
				NCC_MAX_DIMS - 1);
	for (unsigned int d = 0; d < s->ndim; d++)
		if (s->dim[d] < 1)
			return hlo_fail(in, -ENOTSUP, "the result is empty, which is not supported");
	return 0;
}

int hlo_rng_bits(struct hlo_inst *in, struct hlo_value *v)
{
	/* what XLA has for a CPU is the default */
	const bool is_philox = in->p->rng_algorithm != RNG_THREE_FRY;
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
	if (!expand_random(&in->b, is_philox ? NCC_RANDOM_PHILOX : NCC_RANDOM_THREEFRY, state, &s,
			   wide, &x[1], &x[0]))
		return in->imp->err->text[0] ? -EFBIG : hlo_fail(in, -ENOMEM, "out of memory");
	return hlo_take_results(in, x, 2, v);
}
