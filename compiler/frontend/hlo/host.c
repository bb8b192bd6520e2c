// SPDX-License-Identifier: MIT
/*
 * Calls of functions of the host's, which frameworks write as a custom call with a number
 * (docs/compiler-design.md, Calls of the host). Those with an effect follow one another in the
 * program's order, and each takes the one before as a token; the tokens of HLO say less than that,
 * and are values without elements. Part of the HLO front end.
 */
#include "host_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "empty.h"
#include "flow.h"
#include "ncc_program.h"
#include "operations.h"
#include "sizes.h"

#define INDEX "index = "
#define DEVICE "device = "

static const struct ncc_shape token = { .dtype = NEURON_DT_INT8, .pred = true };

/* A number in a dictionary as MLIR writes it: {index = 7 : ui64}. absent: there is none */
static uint64_t number_of(const Ncc__Hlo__Instruction *p, const char *name, uint64_t absent)
{
	const ProtobufCBinaryData *config = &p->backend_config;
	char text[128], *at;
	uint64_t number;

	if (config->len >= sizeof(text))
		return absent;
	if (config->len)
		memcpy(text, config->data, config->len);
	text[config->len] = 0;
	at = strstr(text, name);
	number = at ? strtoull(at + strlen(name), NULL, 10) : absent;
	return number <= INT64_MAX ? number : absent;
}

/* 0: there is none */
static uint64_t index_of(const Ncc__Hlo__Instruction *p)
{
	return number_of(p, INDEX, 0);
}

unsigned int hlo_host_calls(const Ncc__Hlo__Module *m, uint64_t *numbers)
{
	unsigned int n = 0;

	for (size_t i = 0; i < m->n_computations; i++)
		for (size_t k = 0; k < m->computations[i]->n_instructions; k++) {
			const Ncc__Hlo__Instruction *p = m->computations[i]->instructions[k];

			if (!hlo_is_host_call(p))
				continue;
			if (numbers)
				numbers[n] = index_of(p);
			n++;
		}
	return n;
}

static bool is_token(const Ncc__Hlo__Shape *p)
{
	return p && p->element_type == HLO_TOKEN;
}

bool hlo_has_effects(const Ncc__Hlo__Module *m)
{
	for (size_t i = 0; i < m->n_computations; i++)
		for (size_t k = 0; k < m->computations[i]->n_instructions; k++) {
			const Ncc__Hlo__Instruction *p = m->computations[i]->instructions[k];

			if (hlo_is_host_call(p) && p->custom_call_has_side_effect)
				return true;
		}
	return false;
}

/* The operands' arrays but for a token in front, and what they are in the IR */
static int take_operands(struct hlo_inst *in, struct ncc_host_call *call, struct ncc_op **op)
{
	unsigned int n = 0;

	for (unsigned int i = is_token(in->first); i < in->nin; i++) {
		const struct hlo_value *x = &in->in[i];
		struct ncc_host_array *a = &call->array[call->nin];

		if (x->n != (x->complex ? 2 : 1))
			return hlo_fail(in, -ENOTSUP, "operand %u is a tuple", i);
		a->shape = x->op[0]->shape;
		a->complex = x->complex;
		call->nin++;
		for (unsigned int k = 0; k < ncc_host_parts(a); k++)
			op[n++] = x->op[k];
	}
	return 0;
}

/* A shape's place in the results, with a leaf of v for each part; false: a token has one, too */
static int take_result(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_host_call *call,
		       struct hlo_value *v)
{
	struct ncc_host_array *a = &call->array[call->nin + call->nout];
	int rc;

	if (p->element_type == HLO_TUPLE)
		return hlo_fail(in, -ENOTSUP, "a tuple in a tuple of results");
	rc = hlo_shape(in, p, &a->shape);
	if (rc)
		return rc;
	a->complex = hlo_is_complex(p->element_type);
	v->n += a->complex ? 2 : 1;
	call->nout += !is_token(p);
	return 0;
}

static int take_results(struct hlo_inst *in, struct ncc_host_call *call, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *p = in->p->shape;
	int rc = 0;

	if (p->element_type != HLO_TUPLE)
		return take_result(in, p, call, v);
	for (size_t i = 0; !rc && i < p->n_tuple_shapes; i++)
		rc = take_result(in, p->tuple_shapes[i], call, v);
	return rc;
}

/*
 * Of a program that is divided among devices one of them may be the one that calls, for all: the
 * partition that the configuration names. EVERY: each device calls for itself
 */
#define EVERY UINT64_MAX

static uint64_t caller_of(const struct hlo_inst *in)
{
	return in->imp->partitions > 1 ? number_of(in->p, DEVICE, EVERY) : EVERY;
}

/* Whether this device makes the call, for which there may be more conditions */
static int take_guard(struct hlo_inst *in, uint64_t device, struct ncc_op **guard)
{
	struct ncc_op *number, *p = NULL;
	int rc = 0;

	*guard = in->imp->guard;
	if (device == EVERY)
		return 0;
	if (device >= in->imp->partitions)
		return hlo_fail(in, -EINVAL, "device %llu calls, of %u", (unsigned long long)device,
				in->imp->partitions);
	rc = hlo_partition(in, &number);
	if (rc)
		return rc;
	p = build_compare(&in->b, NCC_EQ, number,
			  build_splat(&in->b, &number->shape, (double)device));
	*guard = p ? build_both(&in->b, *guard, p) : NULL;
	return *guard ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

static int make_op(struct hlo_inst *in, struct ncc_host_call *call, struct ncc_op *const *operand,
		   struct ncc_op **op)
{
	struct hlo_import *imp = in->imp;
	struct ncc_op *guard = NULL;
	const unsigned int n = ncc_host_operands(call);
	unsigned int k = 0;
	int rc = take_guard(in, caller_of(in), &guard);

	if (rc)
		return rc;
	call->guarded = guard;
	if (call->effect && !imp->effect)
		imp->effect = build_splat(&in->b, &token, 0);
	*op = ncc_op_new(imp->m, NCC_HOST_CALL, in->p->name, call->effect + call->guarded + n);
	if (!*op || (call->effect && !imp->effect))
		return hlo_fail(in, -ENOMEM, "out of memory");
	(*op)->where = in->b.where;
	(*op)->shape = token;
	(*op)->data = call;
	if (call->effect)
		(*op)->in[k++] = imp->effect;
	if (call->guarded)
		(*op)->in[k++] = guard;
	for (unsigned int i = 0; i < n; i++)
		(*op)->in[k++] = operand[i];
	if (call->effect)
		imp->effect = *op;
	return ncc_verify_op(*op, imp->err);
}

/* The leaves of the value: what the call gives, and stand-ins for what has no elements */
static int make_results(struct hlo_inst *in, const struct ncc_host_call *call, struct ncc_op *op,
			bool with_token, struct hlo_value *v)
{
	const uint64_t device = caller_of(in);
	unsigned int leaf = 0;
	int64_t part = 0;
	int rc;

	v->op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	if (with_token) {
		v->op[leaf] = hlo_empty_token(in);
		if (!v->op[leaf++])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < call->nout; i++) {
		const struct ncc_host_array *a = &call->array[call->nin + i];

		for (unsigned int k = 0; k < (a->complex ? 2u : 1u); k++) {
			struct ncc_op *x = ncc_host_parts(a) ? build_node(&in->b, NCC_HOST_RESULT,
									  &a->shape, op, NULL, NULL)
							     : hlo_placeholder(in, &a->shape);

			if (!x)
				return hlo_fail(in, -ENOMEM, "out of memory");
			if (ncc_host_parts(a))
				x->index = part++;
			rc = ncc_host_parts(a) && device != EVERY
				     ? hlo_from_partition(in, (unsigned int)device, &x)
				     : 0;
			if (rc)
				return rc;
			v->op[leaf++] = x;
		}
	}
	return 0;
}

int hlo_host_call(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *p = in->p->shape;
	const size_t nout = p->element_type == HLO_TUPLE ? p->n_tuple_shapes : 1;
	const bool with_token =
		nout && is_token(p->element_type == HLO_TUPLE ? p->tuple_shapes[0] : p);
	struct ncc_host_call *call = ncc_alloc(in->imp->m, sizeof(*call));
	struct ncc_op **operand = ncc_alloc(in->imp->m, (2 * in->nin + 1) * sizeof(*operand)), *op;
	int rc = hlo_is_of_elements(in);

	if (rc)
		return rc;
	if (call)
		call->array = ncc_alloc(in->imp->m, (in->nin + nout + 1) * sizeof(*call->array));
	if (!call || !call->array || !operand)
		return hlo_fail(in, -ENOMEM, "out of memory");
	call->target = NCC_HOST_TARGET;
	call->effect = in->p->custom_call_has_side_effect;
	v->n = 0;
	call->index = index_of(in->p);
	if (!call->index)
		return hlo_fail(in, -EINVAL,
				"a configuration without the function's number, expected "
				"{index = N} from 1 on");
	rc = take_operands(in, call, operand) ?: take_results(in, call, v) ?: make_op(in, call, operand, &op) ?:
	     make_results(in, call, op, with_token, v);
	in->imp->loops++; /* its parts are those of a loop without iterations */
	return rc;
}

int hlo_effects_begin(struct hlo_inst *in, struct ncc_op *loop, struct hlo_effects *e)
{
	struct hlo_import *imp = in->imp;
	struct ncc_op *before;

	memset(e, 0, sizeof(*e));
	if (!imp->calls_host)
		return 0;
	e->before = imp->effect;
	before = imp->effect ?: build_splat(&in->b, &token, 0);
	e->state = build_state(&in->b, loop, before);
	imp->effect = e->state;
	return e->state ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

void hlo_effects_pair(struct hlo_inst *in, const struct hlo_effects *e, struct ncc_looping *l)
{
	if (in->imp->effect != e->state)
		build_carry(l, e->state, in->imp->effect);
}

int hlo_effects_end(struct hlo_inst *in, const struct hlo_effects *e, struct ncc_op *end)
{
	if (!e->state)
		return 0;
	if (in->imp->effect == e->state)
		in->imp->effect = e->before;
	else
		in->imp->effect = end ? build_loop_result(&in->b, end, e->state) : NULL;
	return in->imp->effect || !end || in->imp->effect == e->before
		       ? 0
		       : hlo_fail(in, -ENOMEM, "out of memory");
}
