// SPDX-License-Identifier: MIT
/* Calls of functions, composites and custom calls */
#include <errno.h>
#include <string.h>

#include "convert.h"

#define MOST_CALLED 64
#define TYPED_FFI 4 /* CustomCallApiVersion */

static int call(struct scope *s, const struct mlir_op *op, const char *name)
{
	hlo_instruction **in = convert_operands(s, op), *p;
	const hlo_computation_message *c = in ? convert_function(s, name) : NULL;

	if (!c)
		return -ENOTSUP;
	p = convert_add(s, "call", convert_result_shape(s, op), in, op->nin);
	return p ? convert_calls(p, s->v, c) ?: convert_results(s, op, p) : -ENOTSUP;
}

int whole_call(struct scope *s, const struct mlir_op *op)
{
	const char *name = "";

	return attr_text(s, op, "callee", &name) ?: call(s, op, name);
}

static int top_k(struct scope *s, const struct mlir_op *op, const struct mlir_attr *attributes)
{
	const struct mlir_attr *k = mlir_entry_of(attributes, "k");
	const struct mlir_attr *largest = mlir_entry_of(attributes, "largest");
	hlo_instruction **in = convert_operands(s, op), *p;

	if (!in)
		return -ENOTSUP;
	if (op->nin != 1 || op->nout != 2 || !k || k->kind != MLIR_INTEGER)
		return convert_fail(s, -EINVAL,
				    "chlo.top_k of %zu operands and %zu results, or no k", op->nin,
				    op->nout);
	p = convert_add(s, "topk", convert_result_shape(s, op), in, op->nin);
	if (!p)
		return -ENOTSUP;
	p->k = k->integer;
	p->largest = !largest || largest->integer;
	return convert_results(s, op, p);
}

static int error_function(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op);

	if (!in)
		return -ENOTSUP;
	if (op->nin != 1 || op->nout != 1)
		return convert_fail(s, -EINVAL, "erf of %zu operands", op->nin);
	return convert_results(s, op,
			       convert_add(s, "erf", convert_result_shape(s, op), in, op->nin));
}

/* HLO has an operation for two of them; the others are what they are made of. */
int whole_composite(struct scope *s, const struct mlir_op *op)
{
	const char *name = "", *made_of = "";
	int rc = attr_text(s, op, "name", &name) ?: attr_text(s, op, "decomposition", &made_of);

	if (rc)
		return rc;
	if (!strcmp(name, "chlo.top_k"))
		return top_k(s, op, mlir_attr_of(op, "composite_attributes"));
	if (!strcmp(name, "chlo.erf"))
		return error_function(s, op);
	return call(s, op, made_of);
}

/* A string as it is; a dictionary as MLIR writes it, which is also how jaxlib hands it on */
static int take_config(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_attr *a =
		mlir_attr_of(op, "mhlo.backend_config") ?: mlir_attr_of(op, "backend_config");
	const char *text;

	if (!a || (a->kind == MLIR_STRING && !a->size))
		return 0;
	text = a->kind == MLIR_STRING ? a->text : attr_print(s->v, a);
	if (!text)
		return convert_fail(s, -ENOTSUP, "a backend_config that cannot be written as text");
	p->backend_config.data = (uint8_t *)(uintptr_t)text;
	p->backend_config.len = a->kind == MLIR_STRING ? a->size : strlen(text);
	return 0;
}

static int take_called(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_attr *a = mlir_attr_of(op, "called_computations");
	int rc = 0;

	if (a && a->n > MOST_CALLED)
		return convert_fail(s, -EFBIG, "it calls more than %d computations", MOST_CALLED);
	for (size_t i = 0; a && a->kind == MLIR_ARRAY && !rc && i < a->n; i++) {
		const hlo_computation_message *c = NULL;

		if (a->list[i]->kind == MLIR_STRING)
			c = convert_function(s, a->list[i]->text);
		rc = c ? convert_calls(p, s->v, c) : -ENOTSUP;
	}
	return rc;
}

/* The first elements of an array, as many as the result has */
static int cut_to(struct scope *s, struct mlir_value *out, hlo_instruction *x)
{
	Ncc__Hlo__Shape *shape = convert_shape(s, out->type);
	hlo_instruction *p = shape ? convert_add(s, "slice", shape, &x, 1) : NULL;
	const size_t n = p ? shape->n_dimensions : 0;
	int rc;

	if (!p)
		return -ENOTSUP;
	p->slice_dimensions = convert_alloc(s->v, n + 1, sizeof(*p->slice_dimensions));
	rc = p->slice_dimensions ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = fields_add_slice(s, p, 0, shape->dimensions[i], 1);
	convert_set(s, out, p);
	return rc;
}

/*
 * jaxlib writes out what is only to be approximated: [n values, n initial ones] are sorted by the
 * computation, of each the first top_k are taken
 */
static int approximate(struct scope *s, const struct mlir_op *op, hlo_instruction **in)
{
	const struct mlir_attr *config =
		mlir_attr_of(op, "mhlo.backend_config") ?: mlir_attr_of(op, "backend_config");
	const struct mlir_attr *dim = mlir_entry_of(config, "reduction_dim");
	const size_t n = op->nin / 2;
	Ncc__Hlo__Shape **shapes = convert_alloc(s->v, n + 1, sizeof(*shapes));
	hlo_instruction *p;
	int rc;

	if (!dim || dim->kind != MLIR_INTEGER || !n || op->nin % 2 || op->nout != n || !shapes ||
	    dim->integer < 0 || (uint64_t)dim->integer >= op->in[0]->type->ndim)
		return convert_fail(s, -EINVAL, "ApproxTopK of %zu operands, or no reduction_dim",
				    op->nin);
	for (size_t i = 0; i < n; i++)
		shapes[i] = in[i]->shape;
	p = convert_add(s, "sort", n == 1 ? shapes[0] : convert_tuple_shape(s, shapes, n), in, n);
	rc = p ? take_called(s, op, p) : -ENOMEM;
	if (rc)
		return rc;
	p->n_dimensions = 1;
	p->dimensions = convert_alloc(s->v, 1, sizeof(*p->dimensions));
	p->is_stable = true;
	if (!p->dimensions)
		return -ENOMEM;
	p->dimensions[0] = dim->integer;
	for (size_t i = 0; !rc && i < n; i++) {
		hlo_instruction *e = n == 1 ? p : convert_element(s, p, i);

		rc = e ? cut_to(s, &op->out[i], e) : -ENOMEM;
	}
	return rc;
}

/* A dictionary is what the newest way of calling takes. */
static int take_version(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const versions[] = { "UNSPECIFIED", "ORIGINAL",  "STATUS_RETURNING",
						"UNIFIED",     "TYPED_FFI", NULL };
	const int version =
		mlir_attr_of(op, "api_version") ? fields_word(s, op, "api_version", versions) : 0;

	p->custom_call_api_version = mlir_attr_of(op, "mhlo.backend_config") ? TYPED_FFI : version;
	return version < 0 ? version : 0;
}

int whole_custom_call(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op), *p;
	const char *target = "";
	bool effect = false;
	int rc = in ? attr_text(s, op, "call_target_name", &target) : -ENOTSUP;

	if (rc)
		return rc;
	if (!strcmp(target, "ApproxTopK"))
		return approximate(s, op, in);
	/* what XLA makes of HLO's operations that StableHLO has not: jaxlib 0.4 to 0.8, torch_xla */
	if (!strcmp(target, "mhlo.topk"))
		return top_k(s, op, mlir_attr_of(op, "mhlo.attributes"));
	if (!strcmp(target, "mhlo.erf"))
		return error_function(s, op);
	if (manual_is_call(target))
		return manual_call(s, op);
	p = convert_add(s, "custom-call", convert_result_shape(s, op), in, op->nin);
	if (!p)
		return -ENOTSUP;
	p->custom_call_target = (char *)(uintptr_t)target;
	if (mlir_attr_of(op, "has_side_effect"))
		rc = attr_bool(s, op, "has_side_effect", &effect);
	p->custom_call_has_side_effect = effect;
	rc = rc ?: take_config(s, op, p) ?: take_version(s, op, p) ?: take_called(s, op, p);
	return rc ? rc : convert_results(s, op, p);
}
