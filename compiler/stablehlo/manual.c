// SPDX-License-Identifier: MIT
/*
 * What programs for several devices say of them: where values lie, and computations that are
 * written for what one device has (sdy.manual_computation). On one device each part is the whole.
 */
#include <errno.h>
#include <string.h>

#include "tiling.h"

static int no_memory(struct scope *s)
{
	return s->v->err->text[0] ? -ENOTSUP : ncc_no_memory(s->v->err);
}

static unsigned int rank_of(const struct mlir_value *x)
{
	return x->type->kind == MLIR_TENSOR ? x->type->ndim : 0;
}

/* What says how a value is divided among devices; on one the importer takes it for the value. */
int whole_constraint(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction *x = convert_value(s, op->in[0]);
	struct ncc_tiling *t = NULL;
	int rc = 0;

	if (x && s->v->partitions > 1)
		rc = tiling_read(s, mlir_attr_of(op, "sharding"), NULL, rank_of(op->in[0]), &t);
	if (rc || !x)
		return rc ? rc : -ENOTSUP;
	return convert_results(s, op, tiling_mark(s, TILING_CONSTRAINT, x->shape, x, t));
}

/* On one device a part is the whole, and has its shape. */
static int on_one(struct scope *s, const struct mlir_type *from, const struct mlir_type *to,
		  hlo_instruction *x, struct mlir_value *value)
{
	bool same = from->ndim == to->ndim;

	for (unsigned int i = 0; same && i < from->ndim; i++)
		same = from->dim[i] == to->dim[i];
	if (!same)
		return convert_fail(s, -EINVAL, "a part of another shape than its whole has");
	convert_set(s, value, x);
	return 0;
}

/* XLA's custom calls, which JAX wrote before it had Shardy: false: it is none */
bool manual_is_call(const char *target)
{
	return !strcmp(target, "Sharding") || !strcmp(target, "SPMDFullToShardShape") ||
	       !strcmp(target, "SPMDShardToFullShape");
}

int manual_call(struct scope *s, const struct mlir_op *op, const char *target)
{
	const enum tiling_mark m = !strcmp(target, "Sharding")		     ? TILING_CONSTRAINT
				   : !strcmp(target, "SPMDFullToShardShape") ? TILING_TO_PART
									     : TILING_TO_WHOLE;
	hlo_instruction *x = op->nin == 1 && op->nout == 1 ? convert_value(s, op->in[0]) : NULL;
	struct ncc_tiling *t = NULL;
	int rc = 0;

	if (!x)
		return op->nin == 1 && op->nout == 1
			       ? -ENOTSUP
			       : convert_fail(s, -EINVAL, "%zu operands, %zu results", op->nin,
					      op->nout);
	if (s->v->partitions > 1)
		rc = tiling_read(s, mlir_attr_of(op, "mhlo.sharding"), NULL, rank_of(&op->out[0]),
				 &t);
	else if (m != TILING_CONSTRAINT)
		return on_one(s, op->in[0]->type, op->out[0].type, x, &op->out[0]);
	return rc ? rc
		  : convert_results(s, op, tiling_mark(s, m, convert_result_shape(s, op), x, t));
}

static const struct mlir_attr *sharding_of(const struct mlir_op *op, const char *name, size_t i)
{
	const struct mlir_attr *list = mlir_attr_of(op, name);

	return list && list->kind == MLIR_ARRAY && i < list->n ? list->list[i] : NULL;
}

static int bind(struct scope *s, const struct mlir_op *op, const struct mlir_block *b, size_t i)
{
	hlo_instruction *x = convert_value(s, op->in[i]);
	struct ncc_tiling *t = NULL;
	int rc;

	if (!x)
		return -ENOTSUP;
	if (s->v->partitions == 1)
		return on_one(s, op->in[i]->type, b->args[i].type, x, &b->args[i]);
	rc = tiling_read(s, sharding_of(op, "in_shardings", i), mlir_attr_of(op, "manual_axes"),
			 rank_of(op->in[i]), &t);
	if (rc)
		return rc;
	x = tiling_mark(s, TILING_TO_PART, convert_shape(s, b->args[i].type), x, t);
	if (!x)
		return no_memory(s);
	convert_set(s, &b->args[i], x);
	return 0;
}

static int give(struct scope *s, const struct mlir_op *op, hlo_instruction *x, size_t i)
{
	struct ncc_tiling *t = NULL;
	int rc;

	if (s->v->partitions == 1) {
		convert_set(s, &op->out[i], x);
		return 0;
	}
	rc = tiling_read(s, sharding_of(op, "out_shardings", i), mlir_attr_of(op, "manual_axes"),
			 rank_of(&op->out[i]), &t);
	if (rc)
		return rc;
	x = tiling_mark(s, s->v->manual ? TILING_TO_WHOLE_INSIDE : TILING_TO_WHOLE,
			convert_shape(s, op->out[i].type), x, t);
	if (!x)
		return no_memory(s);
	convert_set(s, &op->out[i], x);
	return 0;
}

int whole_manual(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_block *b =
		op->nregions == 1 && op->regions[0].nblocks == 1 ? op->regions[0].blocks : NULL;
	hlo_instruction **out;
	size_t n = 0;
	int rc = 0;

	if (!b || b->nargs != op->nin)
		return convert_fail(s, -EINVAL, "a body of other arguments than its operands");
	for (size_t i = 0; i < op->nin && !rc; i++)
		rc = bind(s, op, b, i);
	if (rc)
		return rc;
	s->v->manual++;
	out = convert_block(s, b, &n);
	s->v->manual--;
	if (!out || n != op->nout)
		return out ? convert_fail(s, -EINVAL, "%zu results, %zu values", op->nout, n)
			   : -ENOTSUP;
	for (size_t i = 0; i < n && !rc; i++)
		rc = give(s, op, out[i], i);
	return rc;
}

/* ---- the program's arguments and results ---- */

static const struct mlir_attr *said(const struct mlir_op *op, const char *name, size_t i)
{
	const struct mlir_attr *a = sharding_of(op, name, i);

	return mlir_entry_of(a, "sdy.sharding") ?: mlir_entry_of(a, "mhlo.sharding");
}

static bool is_main(const struct scope *s)
{
	return s->v->partitions > 1 && s->v->main && s->at == s->v->main;
}

int manual_argument(struct scope *s, size_t i, struct mlir_value *value, hlo_instruction **p)
{
	const struct mlir_attr *a = is_main(s) ? said(s->at, "arg_attrs", i) : NULL;
	struct ncc_tiling *t;
	int rc = a ? tiling_read(s, a, NULL, rank_of(value), &t) : 0;

	if (a && !rc) {
		*p = tiling_mark(s, TILING_ARGUMENT, (*p)->shape, *p, t);
		rc = *p ? 0 : no_memory(s);
	}
	return rc;
}

int manual_results(struct scope *s, hlo_instruction **out, size_t n)
{
	int rc = 0;

	for (size_t i = 0; is_main(s) && i < n && !rc; i++) {
		const struct mlir_attr *a = said(s->at, "res_attrs", i);
		struct ncc_tiling *t;

		if (!a)
			continue;
		rc = tiling_read(s, a, NULL, (unsigned int)out[i]->shape->n_dimensions, &t);
		if (rc)
			return rc;
		out[i] = tiling_mark(s, TILING_RESULT, out[i]->shape, out[i], t);
		rc = out[i] ? 0 : no_memory(s);
	}
	return rc;
}
