// SPDX-License-Identifier: MIT
/*
 * What the importers of all operations need of an instruction: its shape, its operands, lists of
 * dimensions, the computations that it names, and how its failure is reported
 */
#include "hlo.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int hlo_fail(const struct hlo_inst *in, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return build_fail(&in->b, code, "%s", text);
}

/* XLA's element types by number: the IR's type (0: none), and the type that --narrow-64bit takes */
static const struct element_type {
	const char *name;
	uint8_t dtype;
	bool pred;
	enum hlo_type narrow;
} element_types[HLO_TYPES] = {
	[HLO_PRED] = { "pred", .dtype = NEURON_DT_INT8, .pred = true },
	[HLO_S8] = { "s8", .dtype = NEURON_DT_INT8 },
	[HLO_S16] = { "s16", .dtype = NEURON_DT_INT16 },
	[HLO_S32] = { "s32", .dtype = NEURON_DT_INT32 },
	[HLO_S64] = { "s64", .narrow = HLO_S32 },
	[HLO_U8] = { "u8", .dtype = NEURON_DT_UINT8 },
	[HLO_U16] = { "u16", .dtype = NEURON_DT_UINT16 },
	[HLO_U32] = { "u32", .dtype = NEURON_DT_UINT32 },
	[HLO_U64] = { "u64", .narrow = HLO_U32 },
	[HLO_F16] = { "f16", .dtype = NEURON_DT_FP16 },
	[HLO_F32] = { "f32", .dtype = NEURON_DT_FP32 },
	[HLO_F64] = { "f64", .narrow = HLO_F32 },
	[HLO_TUPLE] = { .name = "tuple" },
	[HLO_OPAQUE] = { .name = "opaque" },
	[HLO_C64] = { "c64", .dtype = NEURON_DT_FP32 }, /* of each part */
	[HLO_BF16] = { "bf16", .dtype = NEURON_DT_BF16 },
	[HLO_TOKEN] = { .name = "token" },
	[HLO_C128] = { "c128", .narrow = HLO_C64 },
	[HLO_F8E5M2] = { "f8e5m2", .dtype = NEURON_DT_FP8_E5 },
	[HLO_F8E4M3FN] = { "f8e4m3fn", .dtype = NCC_DT_F8E4M3FN },
	[HLO_S4] = { "s4", .dtype = NEURON_DT_INT8 },
	[HLO_U4] = { "u4", .dtype = NEURON_DT_UINT8 },
	[HLO_F8E4M3B11FNUZ] = { "f8e4m3b11fnuz", .dtype = NCC_DT_F8E4M3B11FNUZ },
	[HLO_F8E5M2FNUZ] = { "f8e5m2fnuz", .dtype = NCC_DT_F8E5M2FNUZ },
	[HLO_F8E4M3FNUZ] = { "f8e4m3fnuz", .dtype = NCC_DT_F8E4M3FNUZ },
	[HLO_S2] = { "s2", .dtype = NEURON_DT_INT8 },
	[HLO_U2] = { "u2", .dtype = NEURON_DT_UINT8 },
	[HLO_F8E4M3] = { "f8e4m3", .dtype = NEURON_DT_FP8_E4 },
	[HLO_F8E3M4] = { "f8e3m4", .dtype = NEURON_DT_FP8_E3 },
	[HLO_S1] = { .name = "s1" },
	[HLO_U1] = { .name = "u1" },
	[HLO_F4E2M1FN] = { "f4e2m1fn", .dtype = NCC_DT_F4E2M1FN },
	[HLO_F8E8M0FNU] = { "f8e8m0fnu", .dtype = NCC_DT_F8E8M0FNU },
	[HLO_BUFFER] = { .name = "buffer" },
	[HLO_F6E3M2FN] = { .name = "f6e3m2fn" },
	[HLO_F6E2M3FN] = { .name = "f6e2m3fn" },
};

static const struct element_type *type_of(int32_t type)
{
	static const struct element_type unknown = { 0 };

	return type >= HLO_PRED && type < HLO_TYPES && element_types[type].name
		       ? &element_types[type]
		       : &unknown;
}

bool hlo_is_wide(int32_t type)
{
	return type_of(type)->narrow;
}

bool hlo_is_complex(int32_t type)
{
	return type == HLO_C64 || type == HLO_C128;
}

const struct ncc_shape hlo_token_shape = { .dtype = NEURON_DT_INT8, .pred = true, .ndim = 1 };

int hlo_shape(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_shape *s)
{
	const struct element_type *type = type_of(p->element_type);
	size_t i;

	memset(s, 0, sizeof(*s));
	if (p->element_type == HLO_TOKEN) {
		*s = hlo_token_shape;
		return 0;
	}
	if (type->narrow && in->imp->narrow) {
		in->imp->narrowed = true;
		type = type_of((int32_t)type->narrow);
	}

	if (!type->name)
		return hlo_fail(in, -ENOTSUP, "element type %d is not known", p->element_type);
	if (!type->dtype)
		return hlo_fail(in, -ENOTSUP,
				"element type %s is not supported (pred, s2, s4, s8, s16, s32, "
				"u2, u4, u8, u16, u32, f16, bf16, f32, c64, f4e2m1fn, f8e3m4, "
				"f8e4m3, f8e4m3b11fnuz, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, "
				"f8e8m0fnu are%s)",
				type->name,
				type->narrow ? "; --narrow-64bit makes 32 bits of it" : "");
	s->dtype = type->dtype;
	s->pred = type->pred;
	if (p->n_dimensions > NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "rank %zu, at most %u is supported", p->n_dimensions,
				NCC_MAX_DIMS);
	s->ndim = (unsigned int)p->n_dimensions;
	for (i = 0; i < s->ndim; i++)
		s->dim[i] = p->dimensions[i];
	if (!s->ndim && in->imp->lift) {
		s->ndim = in->imp->lift->ndim;
		memcpy(s->dim, in->imp->lift->dim, sizeof(s->dim));
	}

	for (i = 0; i < p->n_is_dynamic_dimension; i++)
		if (p->is_dynamic_dimension[i] && (i >= p->n_dimensions || p->dimensions[i] < 1))
			return hlo_fail(in, -EINVAL,
					"dimension %zu is dynamic without a bound of at least 1",
					i);
	return 0;
}

const Ncc__Hlo__Computation *hlo_computation(const struct hlo_import *imp, int64_t id)
{
	for (size_t i = 0; i < imp->proto->n_computations; i++)
		if (imp->proto->computations[i]->id == id)
			return imp->proto->computations[i];
	return NULL;
}

int hlo_take_list(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int *count,
		  uint8_t *out)
{
	if (n > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers", n);
	for (size_t i = 0; i < n; i++) {
		if (v[i] < 0 || v[i] >= NCC_MAX_DIMS)
			return hlo_fail(in, -EINVAL, "dimension number %lld", (long long)v[i]);
		out[i] = (uint8_t)v[i];
	}
	*count = (unsigned int)n;
	return 0;
}

const Ncc__Hlo__Instruction *hlo_by_id(const Ncc__Hlo__Computation *c, int64_t id)
{
	for (size_t i = 0; i < c->n_instructions; i++)
		if (c->instructions[i]->id == id)
			return c->instructions[i];
	return NULL;
}

const Ncc__Hlo__Computation *hlo_called(struct hlo_inst *in, size_t i)
{
	const Ncc__Hlo__Computation *c = NULL;

	if (i < in->p->n_called_computation_ids)
		c = hlo_computation(in->imp, in->p->called_computation_ids[i]);
	if (!c)
		hlo_fail(in, -EINVAL, "calls a computation that does not exist");
	return c;
}

bool hlo_is_total(const Ncc__Hlo__Instruction *p)
{
	return !strcmp(p->comparison_type, "TOTALORDER") || !strcmp(p->comparison_order, "TOTAL");
}

int hlo_no_tuples(struct hlo_inst *in, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (in->in[i].n != 1)
			return hlo_fail(in, -EINVAL, "operand %u is a tuple", i);
	return 0;
}

int hlo_arrays(struct hlo_inst *in, unsigned int n)
{
	if (hlo_no_tuples(in, n))
		return -EINVAL;
	for (unsigned int i = 1; i < n; i++)
		if (!ncc_same_dims(&in->in[i].op[0]->shape, &in->in[0].op[0]->shape))
			return hlo_fail(in, -EINVAL, "operand %u has another shape", i);
	return 0;
}

int hlo_take_leaves(struct hlo_inst *in, unsigned int first, unsigned int n, struct ncc_op **x)
{
	unsigned int count = 0;

	for (unsigned int i = first; i < first + n; i++) {
		const struct hlo_value *v = &in->in[i];

		if (v->n != (v->complex ? 2 : 1))
			return hlo_fail(in, -EINVAL, "operand %u is a tuple", i);
		if (count + v->n > HLO_MANY)
			return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
		memcpy(&x[count], v->op, v->n * sizeof(*x));
		count += v->n;
	}

	for (unsigned int i = 1; i < count; i++)
		if (!ncc_same_dims(&x[i]->shape, &x[0]->shape))
			return hlo_fail(in, -EINVAL, "the operands' shapes differ");
	return (int)count;
}

int hlo_take_results(struct hlo_inst *in, struct ncc_op *const *x, unsigned int n,
		     struct hlo_value *v)
{
	v->n = n;
	v->op = ncc_alloc(in->imp->m, n * sizeof(struct ncc_op *));
	for (unsigned int i = 0; i < n; i++) {
		int rc;

		if (!v->op || !x[i])
			return hlo_fail(in, -ENOMEM, "out of memory, or too many constants");
		v->op[i] = x[i];
		rc = ncc_verify_op(x[i], in->imp->err);
		if (rc)
			return rc;
	}
	return 0;
}

int hlo_check_steps(struct hlo_inst *in)
{
	if (in->imp->steps <= NCC_MAX_STEPS)
		return 0;
	return hlo_fail(in, -EFBIG,
			"too large: what the instructions up to here refer to takes more than %llu "
			"steps to look at",
			NCC_MAX_STEPS);
}

#define TYPED_FFI 4 /* CustomCallApiVersion */

int hlo_unsupported(struct hlo_inst *in)
{
	if (in->p->custom_call_target && *in->p->custom_call_target &&
	    in->p->custom_call_api_version == TYPED_FFI)
		return hlo_fail(in, -ENOTSUP,
				"operation not supported (target '%.80s'): a handler of XLA's FFI "
				"is code for the host (in JAX jax.pure_callback is called from "
				"programs)",
				in->p->custom_call_target);
	if (in->p->custom_call_target && *in->p->custom_call_target)
		return hlo_fail(in, -ENOTSUP, "operation not supported (target '%.80s')",
				in->p->custom_call_target);
	return hlo_fail(in, -ENOTSUP, "operation not supported");
}

/*
 * Constants decide loops and indices, so small ones are folded here; large ones wait for the
 * passes.
 */
#define FOLD_MOST 4096

void hlo_fold(struct hlo_inst *in, struct ncc_op *op)
{
	if (op->kind == NCC_CONST || ncc_elems(&op->shape) > FOLD_MOST)
		return;
	/* JAX puts indices together from scalars that it broadcasts. */
	if (op->kind == NCC_CONCAT && !ncc_is_float(op->shape.dtype))
		ncc_eval(in->imp->m, op);
	else if (!ncc_fold(in->imp->m, op))
		ncc_fold_elementwise(in->imp->m, op);
}

int hlo_take_slices(struct hlo_inst *in, struct ncc_slices *s, size_t ndropped,
		    const int64_t *dropped, const int64_t *index_batch, size_t nindex_batch)
{
	uint8_t list[NCC_MAX_DIMS];
	unsigned int n = 0, nb = 0;
	int rc = hlo_take_list(in, ndropped, dropped, &n, list);

	rc = rc ? rc : hlo_take_list(in, nindex_batch, index_batch, &nb, s->index_batch);
	for (unsigned int i = 0; !rc && i < n; i++)
		s->dropped |= 1u << list[i];
	if (!rc && nb != s->nbatch)
		rc = hlo_fail(in, -EINVAL, "%u shared dimensions of the operand, %u of the indices",
			      s->nbatch, nb);
	return rc;
}

int hlo_done(struct hlo_inst *in, struct ncc_op *op)
{
	int rc = op ? ncc_verify_op(op, in->imp->err) : hlo_fail(in, -ENOMEM, "out of memory");

	if (!rc)
		hlo_fold(in, op);
	return rc;
}
