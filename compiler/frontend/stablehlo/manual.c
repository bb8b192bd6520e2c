// SPDX-License-Identifier: MIT
/*
 * What programs for several devices say of them, on one: there each part is the whole, and a
 * computation on partitions is what is in it. Programs for more are divided before (spmd.h), and
 * have nothing of this.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

/* Marks of a value's division among devices; the importer takes them for the value itself. */
int whole_constraint(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction *x = convert_value(s, op->in[0]), *p;

	p = x ? convert_add(s, "custom-call", x->shape, &x, 1) : NULL;
	if (!p)
		return -ENOTSUP;
	p->custom_call_target = (char *)(uintptr_t) "Sharding";
	return convert_results(s, op, p);
}

static int set_part(struct scope *s, const struct mlir_type *whole, struct mlir_value *value,
		    hlo_instruction *x)
{
	const struct mlir_type *part = value->type;
	bool same = whole->kind == part->kind && whole->ndim == part->ndim;

	for (unsigned int i = 0; same && i < whole->ndim; i++)
		same = whole->dim[i] == part->dim[i];
	if (!same)
		return convert_fail(s, -EINVAL, "a part of another shape than its whole has");
	convert_set(s, value, x);
	return 0;
}

bool manual_is_call(const char *target)
{
	return !strcmp(target, "SPMDFullToShardShape") || !strcmp(target, "SPMDShardToFullShape");
}

int manual_call(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction *x;

	if (op->nin != 1 || op->nout != 1)
		return convert_fail(s, -EINVAL, "%zu operands, %zu results", op->nin, op->nout);
	x = convert_value(s, op->in[0]);
	return x ? set_part(s, op->in[0]->type, op->out, x) : -ENOTSUP;
}

int whole_manual(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_block *b =
		op->nregions == 1 && op->regions[0].nblocks == 1 ? op->regions[0].blocks : NULL;
	hlo_instruction **in = convert_operands(s, op), **out;
	size_t n = 0;
	int rc = 0;

	if (!in)
		return -ENOTSUP;
	if (!b || b->nargs != op->nin)
		return convert_fail(s, -EINVAL, "a body of other arguments than its operands");
	for (size_t i = 0; i < op->nin && !rc; i++)
		rc = set_part(s, op->in[i]->type, &b->args[i], in[i]);
	if (rc)
		return rc;
	out = convert_block(s, b, &n);
	if (!out || n != op->nout)
		return out ? convert_fail(s, -EINVAL, "%zu results, %zu values", op->nout, n)
			   : -ENOTSUP;
	for (size_t i = 0; i < n; i++)
		convert_set(s, &op->out[i], out[i]);
	return 0;
}
