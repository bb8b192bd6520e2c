// SPDX-License-Identifier: MIT
/*
 * Collectives: of several operands each is an instruction of its own, with the groups of all.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

#define MOST_IN_GROUPS (1 << 16)

static int bad_groups(struct scope *s)
{
	return convert_fail(s, -EINVAL, "its groups or pairs are no table of numbers");
}

static int add_group(struct scope *s, hlo_instruction *p, const int64_t *id, size_t n)
{
	Ncc__Hlo__ReplicaGroup *g = convert_alloc(s->v, 1, sizeof(*g));
	int64_t *own = convert_alloc(s->v, n + 1, sizeof(*own));

	if (!g || !own)
		return -ENOMEM;
	ncc__hlo__replica_group__init(g);
	memcpy(own, id, n * sizeof(*own));
	g->replica_ids = own;
	g->n_replica_ids = n;
	p->replica_groups[p->n_replica_groups++] = g;
	return 0;
}

/* A table's rows as lists; *list: all numbers */
static int take_table(struct scope *s, const struct mlir_attr *a, size_t *rows, size_t *columns,
		      int64_t **list)
{
	const int64_t n = a->kind == MLIR_DENSE ? mlir_elems(a->type) : -1;

	if (n < 0 || n > MOST_IN_GROUPS || a->type->ndim != 2)
		return bad_groups(s);
	*rows = (size_t)a->type->dim[0];
	*columns = (size_t)a->type->dim[1];
	*list = convert_alloc(s->v, (size_t)n + 1, sizeof(**list));
	for (int64_t i = 0; *list && i < n; i++)
		(*list)[i] = mlir_int(a, i);
	return *list ? 0 : -ENOMEM;
}

static int take_groups(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_attr *a = mlir_attr_of(op, "replica_groups");
	size_t rows = 0, columns = 0;
	int64_t *list = NULL;
	int rc = 0;

	if (!a)
		return 0;
	if (a->kind == MLIR_UNKNOWN)
		return convert_fail(s, -ENOTSUP,
				    "its groups are the axes of a mesh, which StableHLO 1.15 and "
				    "earlier write as numbers");
	rc = take_table(s, a, &rows, &columns, &list);
	if (rc)
		return rc;
	p->replica_groups = convert_alloc(s->v, rows + 1, sizeof(*p->replica_groups));
	if (!p->replica_groups)
		return -ENOMEM;
	for (size_t i = 0; i < rows && columns && !rc; i++)
		rc = add_group(s, p, &list[i * columns], columns);
	return rc;
}

static int take_pairs(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_attr *a = mlir_attr_of(op, "source_target_pairs");
	size_t rows = 0, columns = 0;
	int64_t *list = NULL;
	int rc = a ? take_table(s, a, &rows, &columns, &list) : 0;

	if (rc || !a)
		return rc;
	if (rows && columns != 2)
		return bad_groups(s);
	p->source_target_pairs = convert_alloc(s->v, rows + 1, sizeof(*p->source_target_pairs));
	if (!p->source_target_pairs)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		Ncc__Hlo__SourceTarget *t = convert_alloc(s->v, 1, sizeof(*t));

		if (!t)
			return -ENOMEM;
		ncc__hlo__source_target__init(t);
		t->source = list[2 * i];
		t->target = list[2 * i + 1];
		p->source_target_pairs[p->n_source_target_pairs++] = t;
	}
	return 0;
}

/* The dimension along which it gathers, scatters or splits */
static int take_dimension(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const names[] = { "all_gather_dim", "scatter_dimension",
					     "split_dimension" };
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mlir_attr_of(op, names[i]))
			name = names[i];
	if (!name)
		return 0;
	p->dimensions = convert_alloc(s->v, 1, sizeof(*p->dimensions));
	if (!p->dimensions)
		return -ENOMEM;
	p->n_dimensions = 1;
	return attr_int(s, op, name, p->dimensions);
}

static int take_fields(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	bool global = false;
	int rc = take_groups(s, op, p) ?: take_pairs(s, op, p) ?: take_dimension(s, op, p) ?:
		 attr_int(s, op, "channel_id", &p->channel_id) ?:
		 attr_bool(s, op, "use_global_device_ids", &global);

	p->use_global_device_ids = global;
	return rc == -ENOMEM ? ncc_no_memory(s->v->err) : rc;
}

/* HLO spells these as StableHLO does, with - for _ */
static const char *opcode_of(struct scope *s, const struct mlir_op *op)
{
	const size_t n = strlen(op->name);
	char *opcode = convert_alloc(s->v, n + 1, 1);

	for (size_t i = 0; opcode && i < n; i++)
		opcode[i] = op->name[i] == '_' ? '-' : op->name[i];
	return opcode;
}

int whole_collective(struct scope *s, const struct mlir_op *op)
{
	const char *opcode = opcode_of(s, op);
	hlo_instruction **in = convert_operands(s, op);
	const hlo_computation_message *called = NULL;
	int rc = 0;

	if (!in || !opcode)
		return -ENOTSUP;
	if (!op->nin || op->nout != op->nin || op->nregions != (strstr(opcode, "reduce") ? 1 : 0))
		return convert_fail(s, -EINVAL, "%zu operands, %zu results, %zu regions", op->nin,
				    op->nout, op->nregions);
	if (op->nregions)
		rc = convert_region(s, op->regions, &called);
	for (size_t i = 0; i < op->nin && !rc; i++) {
		hlo_instruction *p =
			convert_add(s, opcode, convert_shape(s, op->out[i].type), &in[i], 1);

		if (!p)
			return -ENOTSUP;
		rc = take_fields(s, op, p);
		if (!rc && called)
			rc = convert_calls(p, s->v, called);
		convert_set(s, &op->out[i], p);
	}
	return rc;
}

/* ---- all_to_all: HLO's puts the blocks one behind the other along the dimension it splits ---- */

static hlo_instruction *reshape(struct scope *s, hlo_instruction *x, const int64_t *dim, size_t n)
{
	const Ncc__Hlo__Shape *shape =
		x ? convert_array(s->v, x->shape->element_type, dim, n) : NULL;

	return shape ? convert_add(s, "reshape", shape, &x, 1) : NULL;
}

static hlo_instruction *transpose(struct scope *s, hlo_instruction *x, const int64_t *map, size_t n)
{
	Ncc__Hlo__Shape *shape =
		x ? convert_array(s->v, x->shape->element_type, x->shape->dimensions, n) : NULL;
	int64_t *own = convert_alloc(s->v, n + 1, sizeof(*own));
	hlo_instruction *p;

	if (!shape || !own)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		shape->dimensions[i] = x->shape->dimensions[map[i]];
		own[i] = map[i];
	}
	p = convert_add(s, "transpose", shape, &x, 1);
	if (p) {
		p->dimensions = own;
		p->n_dimensions = n;
	}
	return p;
}

/* The blocks, n along dimension from, become n along dimension to, before what is there. */
static hlo_instruction *move_blocks(struct scope *s, hlo_instruction *x, int64_t n, int64_t from,
				    int64_t to)
{
	const Ncc__Hlo__Shape *t = x->shape;
	int64_t dim[NCC_MAX_DIMS + 1], map[NCC_MAX_DIMS + 1], all[NCC_MAX_DIMS + 1];
	size_t k = 0, m = 0;

	for (size_t i = 0; i < t->n_dimensions; i++) {
		if ((int64_t)i == from)
			dim[k++] = n;
		dim[k++] = (int64_t)i == from ? t->dimensions[i] / n : t->dimensions[i];
	}
	x = reshape(s, x, dim, k);
	for (size_t i = 0; i < t->n_dimensions; i++) {
		all[i] = dim[i + ((int64_t)i >= from)] * ((int64_t)i == to ? n : 1);
		if ((int64_t)i == to)
			map[m++] = from;
		map[m++] = (int64_t)i + ((int64_t)i >= from);
	}
	return reshape(s, transpose(s, x, map, m), all, t->n_dimensions);
}

static int exchange(struct scope *s, const struct mlir_op *op, hlo_instruction *x,
		    struct mlir_value *out)
{
	int64_t split = 0, concat = 0, n = 0;
	int rc = attr_int(s, op, "split_dimension", &split) ?:
		 attr_int(s, op, "concat_dimension", &concat) ?:
		 attr_int(s, op, "split_count", &n);
	const size_t rank = x->shape->n_dimensions;
	hlo_instruction *p;

	if (rc)
		return rc;
	if (n < 1 || split < 0 || concat < 0 || (size_t)split >= rank || (size_t)concat >= rank ||
	    rank > NCC_MAX_DIMS || x->shape->dimensions[split] % n)
		return convert_fail(s, -EINVAL,
				    "%lld parts of dimension %lld, put together along "
				    "%lld",
				    (long long)n, (long long)split, (long long)concat);
	p = convert_add(s, "all-to-all", x->shape, &x, 1);
	if (!p)
		return -ENOTSUP;
	rc = take_fields(s, op, p);
	if (rc)
		return rc;
	if (split != concat)
		p = move_blocks(s, p, n, split, concat);
	if (!p)
		return s->v->err->text[0] ? -ENOTSUP : ncc_no_memory(s->v->err);
	convert_set(s, out, p);
	return 0;
}

int whole_all_to_all(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op);
	int rc = 0;

	if (!in)
		return -ENOTSUP;
	if (!op->nin || op->nout != op->nin)
		return convert_fail(s, -EINVAL, "%zu operands, %zu results", op->nin, op->nout);
	for (size_t i = 0; i < op->nin && !rc; i++)
		rc = exchange(s, op, in[i], &op->out[i]);
	return rc;
}
