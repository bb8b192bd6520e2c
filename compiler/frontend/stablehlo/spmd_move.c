// SPDX-License-Identifier: MIT
/*
 * Brings a value from one division to another, and sums parts: all_gather where a dimension becomes
 * whole, a slice of what a device has already where it becomes parts, all_reduce and
 * reduce_scatter. Which slice is looked up by partition_id once for the whole program.
 */
#include <errno.h>
#include <string.h>

#include "frontend/hlo/hlo.h"
#include "spmd.h"

const struct mlir_type *spmd_local_type(struct spmd *p, const struct mlir_type *t,
					const struct spmd_split *s)
{
	static const struct spmd_split none;
	struct mlir_type *local;

	if (spmd_same(s, &none))
		return t;
	local = spmd_tensor(p, t, t->ndim);
	for (unsigned int d = 0; local && d < t->ndim; d++)
		((int64_t *)(uintptr_t)local->dim)[d] /= spmd_parts(p, s->dim[d]);
	return local;
}

/* An operation of one result; NULL: an error */
static struct mlir_op *add_op(struct spmd *p, struct spmd_list *l, const char *name,
			      const struct mlir_type *type)
{
	struct mlir_op *op = spmd_add(p, l);
	struct spmd_value *note = spmd_alloc(p, 1, sizeof(*note));

	if (!op || !note || !type)
		return NULL;
	op->name = op->spelled = name;
	op->file = p->at ? p->at->file : NULL;
	op->line = p->at ? p->at->line : 0;
	op->nout = 1;
	op->out = spmd_alloc(p, 1, sizeof(*op->out));
	if (!op->out)
		return NULL;
	op->out->type = type;
	op->out->note = note;
	return op;
}

static int set_operands(struct spmd *p, struct mlir_op *op, struct mlir_value *const *in, size_t n)
{
	op->in = spmd_alloc(p, n + 1, sizeof(struct mlir_value *));
	if (!op->in)
		return -ENOMEM;
	memcpy(op->in, in, n * sizeof(struct mlir_value *));
	op->nin = n;
	return 0;
}

/* The groups of devices that differ along the axes alone, each in the order of its parts */
static const struct mlir_attr *make_groups(struct spmd *p, spmd_axes axes)
{
	const unsigned int n = p->mesh.n, parts = spmd_parts(p, axes);
	const unsigned int mask = spmd_axes_mask(axes);
	int64_t device[SPMD_MOST_DEVICES];
	unsigned int group = 0;
	struct mlir_attr *a;
	struct mlir_type *t;

	for (unsigned int i = 0; i < n; i++) {
		if (spmd_part(p, axes, i))
			continue;
		for (unsigned int k = 0; k < n; k++) {
			bool same = true;

			for (unsigned int x = 0; x < p->mesh.naxes; x++)
				same &= mask >> x & 1 || p->mesh.at[i][x] == p->mesh.at[k][x];
			if (same)
				device[group * parts + spmd_part(p, axes, k)] = k;
		}
		group++;
	}
	a = (struct mlir_attr *)(uintptr_t)spmd_numbers(p, device, n);
	t = a ? spmd_tensor(p, a->type, 2) : NULL;
	if (!t)
		return NULL;
	((int64_t *)(uintptr_t)t->dim)[0] = group;
	((int64_t *)(uintptr_t)t->dim)[1] = parts;
	a->type = t;
	return a;
}

static const struct mlir_attr *groups_of(struct spmd *p, spmd_axes axes)
{
	for (unsigned int i = 0; i < p->ngroups; i++)
		if (p->groups[i].axes == axes)
			return p->groups[i].attr;
	if (p->ngroups == SPMD_MOST_GROUPS)
		return make_groups(p, axes);
	p->groups[p->ngroups] = (struct spmd_group){ axes, make_groups(p, axes) };
	return p->groups[p->ngroups++].attr;
}

/* Adds a collective that exchanges parts along the axes; dim_name: its dimension's name, or NULL */
static struct mlir_op *add_collective(struct spmd *p, struct spmd_list *l, const char *name,
				      const struct mlir_type *type, spmd_axes axes,
				      const char *dim_name, unsigned int d)
{
	static const struct mlir_attr yes = { .kind = MLIR_BOOL, .integer = 1 };
	struct mlir_op *op = add_op(p, l, name, type);
	const char *names[] = { "channel_id", "replica_groups", "use_global_device_ids", dim_name };
	const struct mlir_attr *attrs[] = { spmd_int_attr(p, ++p->channel), groups_of(p, axes),
					    &yes, dim_name ? spmd_int_attr(p, d) : NULL };

	return op && !spmd_set_attrs(p, op, dim_name ? 4 : 3, names, attrs) ? op : NULL;
}

/* The region of a sum: two numbers, and what becomes of them */
static int add_sum(struct spmd *p, struct mlir_op *op, const struct mlir_type *type,
		   enum spmd_sum sum)
{
	static const char *const names[] = { NULL,	"add", "multiply", "maximum",
					     "minimum", "and", "or" };
	struct mlir_region *r = spmd_alloc(p, 1, sizeof(*r));
	struct mlir_block *b = spmd_alloc(p, 1, sizeof(*b));
	struct mlir_value *args = spmd_alloc(p, 2, sizeof(*args));
	const struct mlir_type *scalar = spmd_tensor(p, type, 0);
	struct spmd_list l = { 0 };
	struct mlir_op *e;

	if (!r || !b || !args || !scalar)
		return -ENOMEM;
	args[0].type = args[1].type = scalar;
	e = add_op(p, &l, names[sum], scalar);
	if (!e || set_operands(p, e, (struct mlir_value *[]){ &args[0], &args[1] }, 2))
		return -ENOMEM;
	e = add_op(p, &l, "return", scalar);
	if (!e || set_operands(p, e, (struct mlir_value *[]){ l.op[0].out }, 1))
		return -ENOMEM;
	e->nout = 0;
	*b = (struct mlir_block){ 2, l.n, args, l.op };
	*r = (struct mlir_region){ 1, b };
	op->regions = r;
	op->nregions = 1;
	return 0;
}

static struct mlir_value *add_sums(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				   enum spmd_sum sum, spmd_axes axes, int scatter)
{
	const char *name = scatter < 0 ? "all_reduce" : "reduce_scatter";
	struct mlir_type *t = spmd_tensor(p, v->type, v->type->ndim);
	struct mlir_op *op;

	if (!t)
		return NULL;
	if (scatter >= 0)
		((int64_t *)(uintptr_t)t->dim)[scatter] /= spmd_parts(p, axes);
	op = add_collective(p, &s->list, name, t, axes, scatter < 0 ? NULL : "scatter_dimension",
			    (unsigned int)scatter);
	if (!op || set_operands(p, op, &v, 1) || add_sum(p, op, t, sum))
		return NULL;
	return op->out;
}

/* The slowest axes of what is wanted beyond what is there, if all of them are to be summed over */
static int scatter_dim(const struct spmd_split *have, const struct spmd_split *want,
		       unsigned int rank, unsigned int mask, spmd_axes *axes)
{
	for (unsigned int d = 0; d < rank; d++) {
		const unsigned int n = spmd_axes_count(have->dim[d]);

		*axes = spmd_axes_rest(want->dim[d], n);
		if (*axes && spmd_axes_first(want->dim[d], n) == have->dim[d] &&
		    !(spmd_axes_mask(*axes) & ~mask))
			return (int)d;
	}
	return -1;
}

struct mlir_value *spmd_sum_up(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
			       enum spmd_sum sum, unsigned int mask, struct spmd_split *have,
			       const struct spmd_split *to)
{
	spmd_axes axes;
	int d;

	while (v && mask && (d = scatter_dim(have, to, spmd_rank(v->type), mask, &axes)) >= 0) {
		v = add_sums(p, s, v, sum, axes, d);
		have->dim[d] = to->dim[d];
		mask &= ~spmd_axes_mask(axes);
	}
	return v && mask ? add_sums(p, s, v, sum, spmd_axes_list(mask), -1) : v;
}

static struct mlir_value *gather(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				 spmd_axes axes, unsigned int d)
{
	struct mlir_type *t = spmd_tensor(p, v->type, v->type->ndim);
	struct mlir_op *op;

	if (!t)
		return NULL;
	((int64_t *)(uintptr_t)t->dim)[d] *= spmd_parts(p, axes);
	op = add_collective(p, &s->list, "all_gather", t, axes, "all_gather_dim", d);
	return op && !set_operands(p, op, &v, 1) ? op->out : NULL;
}

/* Each device gives the others of its group their parts of dimension to, for theirs of from. */
static struct mlir_value *exchange(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				   spmd_axes axes, const unsigned int *from_to)
{
	const int64_t parts = spmd_parts(p, axes);
	const char *names[] = { "channel_id", "replica_groups", "concat_dimension",
				"split_dimension", "split_count" };
	const struct mlir_attr *attrs[] = { spmd_int_attr(p, ++p->channel), groups_of(p, axes),
					    spmd_int_attr(p, from_to[0]),
					    spmd_int_attr(p, from_to[1]), spmd_int_attr(p, parts) };
	struct mlir_type *t = spmd_tensor(p, v->type, v->type->ndim);
	struct mlir_op *op;

	if (!t)
		return NULL;
	((int64_t *)(uintptr_t)t->dim)[from_to[0]] *= parts;
	((int64_t *)(uintptr_t)t->dim)[from_to[1]] /= parts;
	op = add_op(p, &s->list, "all_to_all", t);
	return op && !set_operands(p, op, &v, 1) && !spmd_set_attrs(p, op, 5, names, attrs)
		       ? op->out
		       : NULL;
}

/* So many of the axes are at the beginning of both lists. */
static unsigned int shared(spmd_axes a, spmd_axes b)
{
	unsigned int n = spmd_axes_count(a);

	while (n && spmd_axes_first(a, n) != spmd_axes_first(b, n))
		n--;
	return n;
}

/* Makes a dimension whole by the very axes that are to divide another one */
static struct mlir_value *exchange_all(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				       struct spmd_split *have, const struct spmd_split *to)
{
	const unsigned int rank = v->type->ndim;

	for (unsigned int d = 0; v && d < rank; d++) {
		const unsigned int n = shared(have->dim[d], to->dim[d]);
		const spmd_axes axes = spmd_axes_rest(have->dim[d], n);

		for (unsigned int k = 0; v && axes && k < rank; k++) {
			const unsigned int m = spmd_axes_count(have->dim[k]);

			if (k == d || shared(have->dim[k], to->dim[k]) != m ||
			    spmd_axes_rest(to->dim[k], m) != axes)
				continue;
			v = exchange(p, s, v, axes, (const unsigned int[]){ d, k });
			have->dim[d] = spmd_axes_first(have->dim[d], n);
			have->dim[k] = to->dim[k];
			break;
		}
	}
	return v;
}

/* A constant of 32-bit integers: n of them, or one that is no array (0) */
static struct mlir_value *add_numbers(struct spmd *p, struct spmd_list *l, const int32_t *v,
				      unsigned int n)
{
	static const struct mlir_type like = { .name = "i32", .number = HLO_S32 };
	static const char *const names[] = { "value" };
	struct mlir_type *t = spmd_tensor(p, &like, n ? 1 : 0);
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));
	int32_t *data = spmd_alloc(p, n + 1, sizeof(*data));
	struct mlir_op *op = add_op(p, l, "constant", t);

	if (!a || !data || !op)
		return NULL;
	if (n)
		((int64_t *)(uintptr_t)t->dim)[0] = n;
	memcpy(data, v, (n ? n : 1) * sizeof(*data));
	*a = (struct mlir_attr){ .kind = MLIR_DENSE,
				 .type = t,
				 .data = (const uint8_t *)data,
				 .size = (n ? n : 1) * sizeof(*data) };
	return spmd_set_attrs(p, op, 1, names, (const struct mlir_attr *[]){ a }) ? NULL : op->out;
}

/* All 0, of a type */
static struct mlir_value *add_zeros(struct spmd *p, struct spmd_list *l,
				    const struct mlir_type *type)
{
	static const char *const names[] = { "value" };
	static const uint8_t zeros[16];
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));
	struct mlir_op *op = add_op(p, l, "constant", type);
	const unsigned int size = spmd_bytes(type);

	if (!a || !op)
		return NULL;
	if (!size) {
		spmd_fail(p, -ENOTSUP, "terms of a sum of type %.40s", type->name);
		return NULL;
	}
	*a = (struct mlir_attr){ .kind = MLIR_DENSE,
				 .type = type,
				 .data = zeros,
				 .size = size,
				 .one = mlir_elems(type) != 1 };
	return spmd_set_attrs(p, op, 1, names, (const struct mlir_attr *[]){ a }) ? NULL : op->out;
}

static struct mlir_value *add_slice(struct spmd *p, struct spmd_list *l,
				    struct mlir_value *const *in, const struct mlir_type *type)
{
	static const char *const names[] = { "slice_sizes" };
	struct mlir_op *op = add_op(p, l, "dynamic_slice", type);
	const struct mlir_attr *sizes = type ? spmd_numbers(p, type->dim, type->ndim) : NULL;

	if (!op || set_operands(p, op, in, type->ndim + 1) ||
	    spmd_set_attrs(p, op, 1, names, &sizes))
		return NULL;
	return op->out;
}

/* The number of this device, and its entry of a table with one for each */
static struct mlir_value *look_up(struct spmd *p, struct spmd_list *l, const int32_t *table)
{
	static const struct mlir_type u32 = { .name = "ui32", .number = HLO_U32 };
	struct mlir_value *in[2], *v;
	struct mlir_type *one;
	struct mlir_op *op;

	if (!p->device) {
		op = add_op(p, l, "partition_id", spmd_tensor(p, &u32, 0));
		p->device = op ? op->out : NULL;
	}
	in[0] = add_numbers(p, l, table, p->mesh.n);
	in[1] = p->device;
	one = in[0] ? spmd_tensor(p, in[0]->type, 1) : NULL;
	if (!one || !in[1])
		return NULL;
	((int64_t *)(uintptr_t)one->dim)[0] = 1;
	v = add_slice(p, l, in, one);
	op = v ? add_op(p, l, "reshape", spmd_tensor(p, one, 0)) : NULL;
	return op && !set_operands(p, op, &v, 1) ? op->out : NULL;
}

/* The start of this device's part among parts of so many elements, along axes (0: at 0) */
static struct mlir_value *offset_of(struct spmd *p, struct spmd_scope *s, spmd_axes axes,
				    int64_t size)
{
	int32_t table[SPMD_MOST_DEVICES];
	struct spmd_offset *o;

	while (s->outer)
		s = s->outer;
	for (o = p->offsets; o; o = o->next)
		if (o->axes == axes && o->size == size)
			return o->value;
	for (unsigned int i = 0; i < p->mesh.n; i++) {
		const int64_t at = spmd_part(p, axes, i) * size;

		if (at > INT32_MAX) {
			spmd_fail(p, -EFBIG, "a dimension of more than 2^31 elements");
			return NULL;
		}
		table[i] = (int32_t)at;
	}
	o = spmd_alloc(p, 1, sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct spmd_offset){ p->offsets, axes, axes ? size : 0, NULL };
	o->value = axes ? look_up(p, &s->list, table) : add_numbers(p, &s->list, table, 0);
	p->offsets = o;
	return o->value;
}

/*
 * Of a value that devices which differ along the axes of mask alone all have, terms whose sum it
 * is: the first of them has it, the others 0
 */
static struct mlir_value *make_terms(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				     unsigned int mask)
{
	static const struct mlir_type i1 = { .name = "i1", .number = HLO_PRED };
	static const struct mlir_attr eq = { .kind = MLIR_WORD, .text = "EQ", .size = 2 };
	static const struct mlir_attr with_sign = { .kind = MLIR_WORD,
						    .text = "SIGNED",
						    .size = 6 };
	static const char *const compare[] = { "comparison_direction", "compare_type" };
	struct mlir_value *place, *zero, *none;
	struct mlir_op *is, *select;

	if (!mask)
		return v;
	place = offset_of(p, s, spmd_axes_list(mask), 1);
	zero = offset_of(p, s, 0, 0);
	none = add_zeros(p, &s->list, v->type);
	is = place && zero && none ? add_op(p, &s->list, "compare", spmd_tensor(p, &i1, 0)) : NULL;
	if (!is || set_operands(p, is, (struct mlir_value *[]){ place, zero }, 2) ||
	    spmd_set_attrs(p, is, 2, compare, (const struct mlir_attr *[]){ &eq, &with_sign }))
		return NULL;
	place = is->out; /* the list moves */
	select = add_op(p, &s->list, "select", v->type);
	return select && !set_operands(p, select, (struct mlir_value *[]){ place, v, none }, 3)
		       ? select->out
		       : NULL;
}

/* A part of a dimension among zeros where the other parts of axes are: terms, whose sum is whole */
static struct mlir_value *place(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				spmd_axes axes, unsigned int d)
{
	struct mlir_type *t = spmd_tensor(p, v->type, v->type->ndim);
	struct mlir_value *in[SPMD_MOST_RANK + 2];
	struct mlir_op *op;

	if (!t)
		return NULL;
	((int64_t *)(uintptr_t)t->dim)[d] *= spmd_parts(p, axes);
	in[0] = add_zeros(p, &s->list, t);
	in[1] = v;
	for (unsigned int i = 0; i < t->ndim; i++) {
		in[i + 2] = i == d ? offset_of(p, s, axes, v->type->dim[d]) : offset_of(p, s, 0, 0);
		if (!in[i + 2])
			return NULL;
	}
	op = in[0] ? add_op(p, &s->list, "dynamic_update_slice", t) : NULL;
	return op && !set_operands(p, op, in, t->ndim + 2) ? op->out : NULL;
}

/* A value divided by the very axes that are to have terms of a sum */
static struct mlir_value *place_all(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
				    struct spmd_split *have, const struct spmd_split *to)
{
	const unsigned int mask = spmd_axes_mask(to->sum) & ~spmd_axes_mask(have->sum);
	const unsigned int rank = v->type->ndim;

	for (unsigned int d = 0; v && d < rank; d++) {
		const unsigned int n = shared(have->dim[d], to->dim[d]);
		const spmd_axes axes = spmd_axes_rest(have->dim[d], n);

		if (!axes || spmd_axes_mask(axes) & ~mask)
			continue;
		v = place(p, s, v, axes, d);
		have->dim[d] = spmd_axes_first(have->dim[d], n);
		have->sum = spmd_axes_list(spmd_axes_mask(have->sum) | spmd_axes_mask(axes));
	}
	return v;
}

struct mlir_value *spmd_move(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
			     const struct mlir_type *whole, const struct spmd_split *from,
			     const struct spmd_split *to)
{
	struct mlir_value *in[SPMD_MOST_RANK + 1];
	const unsigned int rank = spmd_rank(whole);
	struct spmd_split have = *from;
	struct mlir_type *t;
	bool cut = false;

	v = spmd_sum_up(p, s, v, SPMD_ADD, spmd_axes_mask(from->sum) & ~spmd_axes_mask(to->sum),
			&have, to);
	have.sum = spmd_axes_list(spmd_axes_mask(from->sum) & spmd_axes_mask(to->sum));
	v = v ? place_all(p, s, v, &have, to) : NULL;
	v = v ? exchange_all(p, s, v, &have, to) : NULL;
	for (unsigned int d = 0; v && d < rank; d++) {
		const spmd_axes axes = spmd_axes_rest(have.dim[d], shared(have.dim[d], to->dim[d]));

		if (axes)
			v = gather(p, s, v, axes, d);
	}
	v = v ? make_terms(p, s, v, spmd_axes_mask(to->sum) & ~spmd_axes_mask(have.sum)) : NULL;
	t = v ? spmd_tensor(p, v->type, rank) : NULL;
	if (!t)
		return NULL;
	in[0] = v;
	for (unsigned int d = 0; d < rank; d++) {
		const int64_t size = whole->dim[d] / spmd_parts(p, to->dim[d]);
		const int64_t parts = size ? v->type->dim[d] / size : 1;
		unsigned int n = spmd_axes_count(to->dim[d]);

		while (n && spmd_parts(p, spmd_axes_rest(to->dim[d], n)) < parts)
			n--;
		in[d + 1] = offset_of(p, s, parts > 1 ? spmd_axes_rest(to->dim[d], n) : 0,
				      parts > 1 ? size : 0);
		if (!in[d + 1])
			return NULL;
		cut |= parts > 1;
		((int64_t *)(uintptr_t)t->dim)[d] = size;
	}
	return cut ? add_slice(p, &s->list, in, t) : v;
}

static bool is_in_scope(const struct spmd_scope *s, unsigned int id)
{
	for (; s; s = s->outer)
		if (s->id == id)
			return true;
	return false;
}

struct mlir_value *spmd_get(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
			    const struct spmd_split *to)
{
	struct spmd_value *n = spmd_note(v);
	struct spmd_copy *c;

	if (!n->local) {
		spmd_fail(p, -EINVAL, "an operand that is not defined there");
		return NULL;
	}
	if (spmd_same(&n->split, to))
		return n->local;
	for (c = n->copies; c; c = c->next)
		if (spmd_same(&c->split, to) && is_in_scope(s, c->scope))
			return c->value;
	c = spmd_alloc(p, 1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct spmd_copy){ n->copies, *to, s->id, NULL };
	c->value = spmd_move(p, s, n->local, v->type, &n->split, to);
	if (c->value)
		n->copies = c;
	return c->value;
}
