// SPDX-License-Identifier: MIT
/*
 * Calls of the host (NCC_HOST_CALL): how their arrays are those of the IR, and what holds of them
 * and of calls of a library's functions
 */
#include "host_rules.h"

#include <errno.h>

unsigned int ncc_host_parts(const struct ncc_host_array *a)
{
	for (unsigned int d = 0; d < a->shape.ndim; d++)
		if (!a->shape.dim[d])
			return 0;
	return a->complex ? 2 : 1;
}

static unsigned int count(const struct ncc_host_array *a, unsigned int n)
{
	unsigned int parts = 0;

	for (unsigned int i = 0; i < n; i++)
		parts += ncc_host_parts(&a[i]);
	return parts;
}

unsigned int ncc_host_operands(const struct ncc_host_call *call)
{
	return count(call->array, call->nin);
}

unsigned int ncc_host_results(const struct ncc_host_call *call)
{
	return count(call->array + call->nin, call->nout);
}

static bool is_predicate(const struct ncc_op *op)
{
	return op->shape.pred && !op->shape.ndim;
}

static bool same_array(const struct ncc_shape *a, const struct ncc_shape *b)
{
	return ncc_same_dims(a, b) && a->dtype == b->dtype && a->pred == b->pred;
}

/* The array that part k, in the order of all parts of these arrays, is of; NULL: there are fewer */
static const struct ncc_host_array *array_of(const struct ncc_host_array *a, unsigned int n,
					     int64_t k)
{
	for (unsigned int i = 0; i < n; i++) {
		const unsigned int parts = ncc_host_parts(&a[i]);

		if (k >= 0 && k < parts)
			return &a[i];
		k -= parts;
	}
	return NULL;
}

int ncc_check_host_call(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_host_call *call = op->data;
	unsigned int first, n;

	if (!call)
		return ncc_fail_op(err, -ENOTSUP, op, "a call of the host is not read from text");
	first = call->effect + call->guarded;
	n = ncc_host_operands(call);
	if (op->nin != first + n)
		return ncc_fail_op(err, -EINVAL, op, "%u operands, expected %u", op->nin,
				   first + n);
	if (!is_predicate(op))
		return ncc_fail_op(err, -EINVAL, op, "the token is not a scalar predicate");
	for (unsigned int i = 0; i < first; i++)
		if (!is_predicate(op->in[i]))
			return ncc_fail_op(err, -EINVAL, op, "operand %u is no scalar predicate",
					   i);
	for (unsigned int i = 0; i < n; i++) {
		const struct ncc_host_array *a = array_of(call->array, call->nin, i);

		if (!same_array(&op->in[first + i]->shape, &a->shape))
			return ncc_fail_op(err, -EINVAL, op, "operand %u has another shape or type",
					   first + i);
	}
	return 0;
}

int ncc_check_host_result(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_host_call *call = op->in[0]->data;
	const struct ncc_host_array *a;

	if (op->in[0]->kind != NCC_HOST_CALL || !call)
		return ncc_fail_op(err, -EINVAL, op, "operand 0 is no call of the host");
	a = array_of(call->array + call->nin, call->nout, op->index);
	if (!a || !same_array(&op->shape, &a->shape))
		return ncc_fail_op(err, -EINVAL, op, "the call has no result %lld of this shape",
				   (long long)op->index);
	return 0;
}

/* Only the library's function knows what operands it takes. */
int ncc_check_custom(const struct ncc_op *op, struct ncc_error *err)
{
	if (op->nin > NCC_MAX_CUSTOM_OPERANDS)
		return ncc_fail_op(err, -EINVAL, op,
				   "%u operands, a custom operator takes up to %u", op->nin,
				   NCC_MAX_CUSTOM_OPERANDS);
	return op->index >= 0
		       ? 0
		       : ncc_fail_op(err, -EINVAL, op, "function %lld", (long long)op->index);
}
