// SPDX-License-Identifier: MIT
/*
 * Writes one device's program: see spmd.h. Each operation is as it was, with parts for operands and
 * results, where factors say how; what its attributes say of sizes is said of the parts.
 */
#include <errno.h>
#include <string.h>

#include "spmd.h"

static const struct spmd_split none;

/* A result or an argument of the program to be written, of this type */
static struct mlir_value *new_values(struct spmd *p, size_t n)
{
	struct mlir_value *v = spmd_alloc(p, n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++) {
		v[i].note = spmd_alloc(p, 1, sizeof(struct spmd_value));
		if (!v[i].note)
			return NULL;
	}
	return v;
}

/* The value of a device's is this one, divided as was chosen */
static void set_local(const struct mlir_value *v, struct mlir_value *local)
{
	spmd_note(v)->local = local;
	spmd_note(v)->copies = NULL;
}

/* Copies what does not change of an operation; the results have no types yet */
static int copy_op(struct spmd *p, const struct mlir_op *op, struct mlir_op *new)
{
	*new = *op;
	new->in = spmd_alloc(p, op->nin + 1, sizeof(struct mlir_value *));
	new->out = new_values(p, op->nout);
	new->regions = spmd_alloc(p, op->nregions + 1, sizeof(*new->regions));
	return new->in &&new->out &&new->regions ? 0 : -ENOMEM;
}

static int append(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	struct mlir_op *new = spmd_add(p, &s->list);

	if (!new)
		return -EFBIG;
	*new = *op;
	return 0;
}

static struct spmd_scope inner_scope(struct spmd *p, struct spmd_scope *outer)
{
	return (struct spmd_scope){ .outer = outer, .id = ++p->scopes };
}

/* A block with the arguments' parts */
static struct mlir_block *open_block(struct spmd *p, const struct mlir_block *b)
{
	struct mlir_block *new = spmd_alloc(p, 1, sizeof(*new));

	if (!new)
		return NULL;
	new->nargs = b->nargs;
	new->args = new_values(p, b->nargs);
	for (size_t i = 0; new->args &&i < b->nargs; i++) {
		new->args[i].type =
			spmd_local_type(p, b->args[i].type, &spmd_note(&b->args[i])->split);
		set_local(&b->args[i], &new->args[i]);
		if (!new->args[i].type)
			return NULL;
	}
	return new->args ? new : NULL;
}

static void close_block(struct mlir_block *b, const struct spmd_scope *s)
{
	b->ops = s->list.op;
	b->nops = s->list.n;
}

/* Results that are the operands, divided otherwise at most */
static int emit_same(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	for (size_t i = 0; i < op->nin; i++) {
		struct mlir_value *v = spmd_get(p, s, op->in[i], &spmd_note(&op->out[i])->split);

		if (!v)
			return -EINVAL;
		set_local(&op->out[i], v);
	}
	return 0;
}

static int emit_block(struct spmd *p, struct spmd_scope *s, const struct mlir_block *b,
		      const struct spmd_split *want);
static int copy_block(struct spmd *p, struct spmd_scope *s, const struct mlir_block *b);
static int emit_manual(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op);

static int copy_regions(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op,
			struct mlir_op *new)
{
	for (size_t i = 0; i < op->nregions; i++) {
		struct mlir_block *b = open_block(p, op->regions[i].blocks);
		struct spmd_scope in = inner_scope(p, s);
		int rc = b ? copy_block(p, &in, op->regions[i].blocks) : -ENOMEM;

		if (rc)
			return rc;
		close_block(b, &in);
		new->regions[i] = (struct mlir_region){ 1, b };
	}
	return 0;
}

/* An operation of which everything is whole, or that is a device's own already */
static int copy_whole(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	struct mlir_op new;
	int rc;

	/* A division of axes that are not manual has no meaning beyond them. */
	if (spmd_is_constraint(op) && op->nin == 1 && op->nout == 1)
		return emit_same(p, s, op);
	if (!strcmp(op->name, "sdy.manual_computation"))
		return emit_manual(p, s, op);
	rc = copy_op(p, op, &new);
	for (size_t i = 0; !rc && i < op->nin; i++) {
		new.in[i] = spmd_get(p, s, op->in[i], &none);
		rc = new.in[i] ? 0 : -EINVAL;
	}
	rc = rc ? rc : copy_regions(p, s, op, &new);
	for (size_t i = 0; !rc && i < op->nout; i++) {
		new.out[i].type = op->out[i].type;
		set_local(&op->out[i], &new.out[i]);
	}
	return rc ? rc : append(p, s, &new);
}

static int copy_block(struct spmd *p, struct spmd_scope *s, const struct mlir_block *b)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < b->nops; i++)
		rc = copy_whole(p, s, &b->ops[i]);
	return rc;
}

/* A size among the attributes that is all of a dimension of operand 0 is all of the part's. */
static int local_sizes(struct spmd *p, struct mlir_op *new, const struct mlir_type *whole,
		       const char *name)
{
	int64_t v[SPMD_MOST_RANK];
	const unsigned int n = spmd_list_of(new, name, v, SPMD_MOST_RANK);
	const char **names = spmd_alloc(p, new->nattrs + 1, sizeof(*names));
	const struct mlir_attr **attrs = spmd_alloc(p, new->nattrs + 1, sizeof(*attrs)), *a;

	if (!names || !attrs)
		return -ENOMEM;
	for (unsigned int d = 0; d < n && d < whole->ndim; d++)
		if (spmd_in(p, 0)[d] >= 0 && v[d] == whole->dim[d])
			v[d] /= spmd_parts(p, p->factors.axes[spmd_in(p, 0)[d]]);
	a = spmd_numbers(p, v, n);
	for (size_t i = 0; i < new->nattrs; i++) {
		names[i] = new->names[i];
		attrs[i] = strcmp(names[i], name) ? new->attrs[i] : a;
	}
	new->names = names;
	new->attrs = attrs;
	return a ? 0 : -ENOMEM;
}

/* The one element of a constant, of as many as the part has */
static int local_constant(struct spmd *p, struct mlir_op *new)
{
	static const char *const names[] = { "value" };
	const struct mlir_attr *whole = mlir_attr_of(new, "value");
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));

	if (!a || !whole)
		return -ENOMEM;
	*a = *whole;
	a->type = new->out->type;
	a->note = NULL;
	a->one = mlir_elems(a->type) != 1;
	return spmd_set_attrs(p, new, 1, names, (const struct mlir_attr *[]){ a });
}

static int local_attrs(struct spmd *p, const struct mlir_op *op, struct mlir_op *new)
{
	static const struct {
		const char *op, *list;
	} sizes[] = { { "slice", "limit_indices" },
		      { "dynamic_slice", "slice_sizes" },
		      { "gather", "slice_sizes" } };

	if (!strcmp(new->name, "constant"))
		return mlir_attr_of(new, "value") && mlir_attr_of(new, "value")->one
			       ? local_constant(p, new)
			       : 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcmp(new->name, sizes[i].op))
			return local_sizes(p, new, op->in[0]->type, sizes[i].list);
	return 0;
}

/* The result as it was computed becomes the one that was chosen. */
static int set_result(struct spmd *p, struct spmd_scope *s, const struct mlir_value *out,
		      struct mlir_value *v, struct spmd_split *have)
{
	const struct spmd_split *want = &spmd_note(out)->split;
	enum spmd_sum sum = SPMD_NO_SUM;
	unsigned int mask = 0, later;

	for (unsigned int f = 0; f < p->factors.n; f++)
		if (p->factors.sum[f] && p->factors.axes[f]) {
			sum = p->factors.sum[f];
			mask |= spmd_axes_mask(p->factors.axes[f]);
		}
	/* A value that is to stay a sum does, if this is one. */
	later = sum == SPMD_ADD ? mask & spmd_axes_mask(want->sum) : 0;
	v = spmd_sum_up(p, s, v, sum, mask & ~later, have, want);
	have->sum = spmd_axes_list(later);
	if (v && !spmd_same(have, want))
		v = spmd_move(p, s, v, out->type, have, want);
	set_local(out, v);
	return v ? 0 : -EINVAL;
}

static int emit_parts(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	struct mlir_op new;
	struct spmd_split have, *splits = spmd_alloc(p, op->nout + 1, sizeof(*splits));
	int rc = splits ? spmd_factors_of(p, op) ?: copy_op(p, op, &new) : -ENOMEM;

	if (rc)
		return rc;
	spmd_assign(p, op, true);
	for (size_t i = 0; i < op->nin; i++) {
		spmd_split_of(p, spmd_in(p, i), spmd_rank(op->in[i]->type), &have);
		new.in[i] = spmd_get(p, s, op->in[i], &have);
		if (!new.in[i])
			return -EINVAL;
	}
	rc = copy_regions(p, s, op, &new);
	if (rc)
		return rc;
	for (size_t i = 0; i < op->nout; i++) {
		spmd_split_of(p, spmd_out(p, i), spmd_rank(op->out[i].type), &splits[i]);
		new.out[i].type = spmd_local_type(p, op->out[i].type, &splits[i]);
		if (!new.out[i].type)
			return -ENOMEM;
	}
	rc = local_attrs(p, op, &new) ?: append(p, s, &new);
	for (size_t i = 0; !rc && i < op->nout; i++)
		rc = set_result(p, s, &op->out[i], &new.out[i], &splits[i]);
	return rc;
}

/* while, case and if: what they carry and give is divided as was chosen */
static int emit_regions(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	const bool loop = !strcmp(op->name, "while");
	struct spmd_split *want = spmd_alloc(p, op->nout + 1, sizeof(*want));
	struct mlir_op new;
	int rc = want ? copy_op(p, op, &new) : -ENOMEM;

	for (size_t i = 0; !rc && i < op->nout; i++) {
		want[i] = spmd_note(&op->out[i])->split;
		new.out[i].type = spmd_local_type(p, op->out[i].type, &want[i]);
		rc = new.out[i].type ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !rc && i < op->nin; i++) {
		new.in[i] = spmd_get(p, s, op->in[i], loop ? &want[i] : &none);
		rc = new.in[i] ? 0 : -EINVAL;
	}
	for (size_t i = 0; !rc && i < op->nregions; i++) {
		struct mlir_block *b = open_block(p, op->regions[i].blocks);
		struct spmd_scope in = inner_scope(p, s);

		rc = b ? emit_block(p, &in, op->regions[i].blocks, loop && !i ? NULL : want)
		       : -ENOMEM;
		if (rc)
			return rc;
		close_block(b, &in);
		new.regions[i] = (struct mlir_region){ 1, b };
	}
	for (size_t i = 0; !rc && i < op->nout; i++)
		set_local(&op->out[i], &new.out[i]);
	return rc ? rc : append(p, s, &new);
}

static int set_arguments(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op,
			 const struct mlir_block *b)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < op->nin; i++) {
		struct spmd_split split;
		struct mlir_value *v;

		rc = spmd_read_manual(p, op, "in_shardings", i, &split);
		v = rc ? NULL : spmd_get(p, s, op->in[i], &split);
		if (!v)
			return rc ? rc : -EINVAL;
		for (unsigned int d = 0; d < spmd_rank(v->type); d++)
			if (d >= b->args[i].type->ndim ||
			    b->args[i].type->dim[d] != v->type->dim[d])
				return spmd_fail(p, -EINVAL, "argument %zu is no part of its value",
						 i);
		set_local(&b->args[i], v);
	}
	return rc;
}

/*
 * What is in it is one device's already, along the axes that are manual, and the same along others.
 * Its operands and results are divided as it says.
 */
static int emit_manual(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	const struct mlir_block *b = op->nregions == 1 ? op->regions[0].blocks : NULL;
	const struct mlir_op *end = b ? &b->ops[b->nops - 1] : NULL;
	int rc;

	if (!b || b->nargs != op->nin || end->nin != op->nout)
		return spmd_fail(p, -EINVAL, "a body of other values");
	rc = set_arguments(p, s, op, b);
	for (size_t i = 0; !rc && i + 1 < b->nops; i++) {
		p->at = &b->ops[i];
		rc = copy_whole(p, s, &b->ops[i]);
	}
	for (size_t i = 0; !rc && i < op->nout; i++) {
		struct mlir_value *v = spmd_note(end->in[i])->local;
		struct spmd_split split;

		p->at = op;
		rc = spmd_read_manual(p, op, "out_shardings", i, &split);
		if (!rc && !spmd_same(&split, &spmd_note(&op->out[i])->split))
			v = spmd_move(p, s, v, op->out[i].type, &split,
				      &spmd_note(&op->out[i])->split);
		if (!rc && !v)
			return -EINVAL;
		set_local(&op->out[i], v);
	}
	return rc;
}

static bool is_own(const struct mlir_type *a, const struct mlir_type *b)
{
	bool same = a->kind == b->kind && a->ndim == b->ndim;

	for (unsigned int d = 0; same && d < a->ndim; d++)
		same = a->dim[d] == b->dim[d];
	return same;
}

/* The device's part of a value is a value of its own, or the other way around. */
static int emit_own(struct spmd *p, const struct mlir_op *op)
{
	struct mlir_value *v = spmd_note(op->in[0])->local;
	const struct mlir_type *part =
		spmd_local_type(p, op->out->type, &spmd_note(op->out)->split);

	if (!v || !part)
		return spmd_fail(p, -EINVAL, "its operand is not defined there");
	if (!is_own(v->type, part))
		return spmd_fail(p, -ENOTSUP,
				 "a part of another shape than the whole is "
				 "divided into");
	set_local(op->out, v);
	return 0;
}

static bool is_refused(const struct spmd *p, const struct mlir_op *op)
{
	/* the first so many may be between values that are a device's own */
	enum { AMONG_PARTS = 9 };
	static const char *const names[] = {
		"all_gather",
		"all_reduce",
		"all_to_all",
		"collective_broadcast",
		"collective_permute",
		"collective_reduce",
		"partition_id",
		"reduce_scatter",
		"replica_id",
		"infeed",
		"outfeed",
		"recv",
		"rng",
		"send",
		"sdy.propagation_barrier",
		"sdy.sharding_group",
		"sdy.named_computation",
	};
	const struct mlir_attr *effect = mlir_attr_of(op, "has_side_effect");

	for (size_t i = p->parts ? AMONG_PARTS : 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(op->name, names[i]))
			return true;
	return effect && effect->integer;
}

static int emit_barrier(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	struct mlir_op new;
	int rc = copy_op(p, op, &new);

	for (size_t i = 0; !rc && i < op->nin; i++) {
		new.in[i] = spmd_get(p, s, op->in[i], &spmd_note(&op->out[i])->split);
		rc = new.in[i] ? 0 : -EINVAL;
		if (!rc)
			new.out[i].type = new.in[i]->type;
		set_local(&op->out[i], &new.out[i]);
	}
	return rc ? rc : append(p, s, &new);
}

/* Each device calls the host with its own parts, as they come. */
static int emit_host_call(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	struct mlir_op new;
	int rc = copy_op(p, op, &new);

	for (size_t i = 0; !rc && i < op->nin; i++) {
		struct spmd_split split = spmd_note(op->in[i])->split;

		split.sum = 0;
		new.in[i] = spmd_get(p, s, op->in[i], &split);
		rc = new.in[i] ? 0 : -EINVAL;
	}
	for (size_t i = 0; !rc && i < op->nout; i++) {
		/* between GSPMD's calls arrays are a device's own */
		if (op->out[i].type->kind != MLIR_TOKEN && !p->parts)
			return spmd_fail(p, -ENOTSUP,
					 "a call of the host by each device that gives "
					 "arrays");
		new.out[i].type = op->out[i].type;
		set_local(&op->out[i], &new.out[i]);
	}
	return rc ? rc : append(p, s, &new);
}

static int emit_op(struct spmd *p, struct spmd_scope *s, const struct mlir_op *op)
{
	if (spmd_is_constraint(op) || (spmd_is_passing(op) && *op->name == 'b'))
		return emit_same(p, s, op);
	if (spmd_is_passing(op))
		return emit_barrier(p, s, op);
	if (!strcmp(op->name, "while") || !strcmp(op->name, "case") || !strcmp(op->name, "if"))
		return emit_regions(p, s, op);
	if (!strcmp(op->name, "sdy.manual_computation"))
		return emit_manual(p, s, op);
	if (spmd_is_call(op, SPMD_TO_PART) || spmd_is_call(op, SPMD_TO_WHOLE))
		return emit_own(p, op);
	if (spmd_is_host_call(op, "parts"))
		return emit_host_call(p, s, op);
	if (is_refused(p, op) && !spmd_is_host_call(op, "device"))
		return spmd_fail(p, -ENOTSUP,
				 "not supported in a program that is divided among %u devices",
				 p->mesh.n);
	return emit_parts(p, s, op);
}

/* want: how what it returns is divided; NULL: not */
static int emit_block(struct spmd *p, struct spmd_scope *s, const struct mlir_block *b,
		      const struct spmd_split *want)
{
	const struct mlir_op *end = &b->ops[b->nops - 1];
	struct mlir_op new;
	int rc = 0;

	for (size_t i = 0; !rc && i + 1 < b->nops; i++) {
		p->at = &b->ops[i];
		rc = emit_op(p, s, p->at);
	}
	p->at = end;
	rc = rc ? rc : copy_op(p, end, &new);
	for (size_t i = 0; !rc && i < end->nin; i++) {
		new.in[i] = spmd_get(p, s, end->in[i], want ? &want[i] : &none);
		rc = new.in[i] ? 0 : -EINVAL;
	}
	return rc ? rc : append(p, s, &new);
}

int spmd_emit(struct spmd *p, struct mlir_block *out)
{
	struct mlir_block *b = open_block(p, p->body);
	struct spmd_scope s = { .id = ++p->scopes };
	int rc = b ? emit_block(p, &s, p->body, p->results) : -ENOMEM;

	if (rc)
		return rc;
	close_block(b, &s);
	*out = *b;
	return 0;
}
