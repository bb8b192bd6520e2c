// SPDX-License-Identifier: MIT
/*
 * Collectives. What passes among devices is one of three transfers of the IR (enum
 * ncc_transfer_kind); the rest is done by each device with what it got, in the order of the group,
 * so that all of a group have the same bits.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "operations.h"

/* bytes of all members, and members, from which on a sum is divided among them first */
#define DIVIDED_BYTES (1 << 20)
#define DIVIDED_MEMBERS 3

/* Meanings of the numbers in groups */
enum numbers { OF_REPLICAS, OF_PARTITIONS, OF_REPLICAS_WHOLE, OF_DEVICES };

static unsigned int devices(const struct hlo_inst *in)
{
	return in->imp->m->ranks ? in->imp->m->ranks : 1;
}

static int too_many(const struct hlo_inst *in)
{
	return hlo_fail(in, -ENOTSUP, "%u replicas of %u partitions: at most %u devices",
			in->imp->replicas, in->imp->partitions, NCC_MAX_RANKS);
}

/* The numbers of groups as they are, without -1, which fills those that have fewer */
struct lists {
	unsigned int n, members;
	int64_t id[NCC_MAX_RANKS];
};

static int take_lists(const struct hlo_inst *in, struct lists *l, unsigned int most)
{
	const Ncc__Hlo__Instruction *p = in->p;

	*l = (struct lists){ 0 };
	for (size_t g = 0; g < p->n_replica_groups; g++) {
		const Ncc__Hlo__ReplicaGroup *group = p->replica_groups[g];
		unsigned int members = 0;

		for (size_t i = 0; i < group->n_replica_ids; i++) {
			const int64_t id = group->replica_ids[i];

			if (id == -1)
				continue;
			if (id < 0 || id >= most || l->n == NCC_MAX_RANKS)
				return hlo_fail(in, -EINVAL, "device %lld in a group, of %u",
						(long long)id, most);
			l->id[l->n++] = id;
			members++;
		}
		if (g && members != l->members)
			return hlo_fail(in, -ENOTSUP, "groups of %u and %u devices", l->members,
					members);
		l->members = members;
	}
	for (; !p->n_replica_groups && l->n < most; l->n++)
		l->id[l->n] = l->n;
	l->members = p->n_replica_groups ? l->members : most;
	return l->members && l->n == most ? 0
					  : hlo_fail(in, -ENOTSUP,
						     "groups that have not all of "
						     "%u devices",
						     most);
}

static int new_transfer(struct hlo_inst *in, enum ncc_transfer_kind kind, unsigned int n,
			struct ncc_transfer **t)
{
	struct ncc_module *m = in->imp->m;

	if (m->ntransfers == m->transfers_cap) {
		const unsigned int cap = m->transfers_cap ? 2 * m->transfers_cap : 16;
		struct ncc_transfer *list = ncc_alloc(m, cap * sizeof(*list));

		if (!list)
			return hlo_fail(in, -ENOMEM, "out of memory");
		if (m->ntransfers)
			memcpy(list, m->transfer, m->ntransfers * sizeof(*list));
		m->transfer = list;
		m->transfers_cap = cap;
	}
	*t = &m->transfer[m->ntransfers];
	**t = (struct ncc_transfer){ .kind = kind,
				     .rank = ncc_alloc(m, (n + 1) * sizeof(uint32_t)) };
	if (!(*t)->rank)
		return hlo_fail(in, -ENOMEM, "out of memory");
	m->ntransfers++;
	in->imp->transfers++;
	return 0;
}

/* A list of one kind of numbers becomes groups of devices, which are numbered replica by replica. */
static void add_group(struct ncc_transfer *t, const struct hlo_inst *in, const int64_t *id,
		      unsigned int n, enum numbers of)
{
	const unsigned int partitions = in->imp->partitions, replicas = in->imp->replicas;
	const unsigned int each = of == OF_REPLICAS	? partitions
				  : of == OF_PARTITIONS ? replicas
							: 1;

	for (unsigned int k = 0; k < each; k++)
		for (unsigned int i = 0; i < n; i++) {
			const uint32_t d = (uint32_t)id[i];

			t->rank[t->n++] = of == OF_REPLICAS	? d * partitions + k
					  : of == OF_PARTITIONS ? k * partitions + d
								: d;
		}
}

/* All partitions of the replicas of a list, partition by partition */
static void add_whole(struct ncc_transfer *t, const struct hlo_inst *in, const int64_t *id,
		      unsigned int n)
{
	const unsigned int partitions = in->imp->partitions;

	for (unsigned int p = 0; p < partitions; p++)
		for (unsigned int i = 0; i < n; i++)
			t->rank[t->n++] = (uint32_t)id[i] * partitions + p;
}

static enum numbers numbers_of(const struct hlo_inst *in, bool crosses)
{
	if (in->p->channel_id <= 0)
		return OF_REPLICAS;
	if (crosses)
		return OF_PARTITIONS;
	return in->p->use_global_device_ids ? OF_DEVICES : OF_REPLICAS_WHOLE;
}

static bool each_once(const struct ncc_transfer *t)
{
	bool seen[NCC_MAX_RANKS] = { false };

	for (unsigned int i = 0; i < t->n; i++) {
		if (seen[t->rank[i]])
			return false;
		seen[t->rank[i]] = true;
	}
	return true;
}

/*
 * The groups of an instruction; crosses: numbers are partitions' where there is a channel. Returns
 * the transfer's index, or -errno.
 */
static int take_groups(struct hlo_inst *in, enum ncc_transfer_kind kind, bool crosses)
{
	const enum numbers of = numbers_of(in, crosses);
	struct ncc_transfer *t;
	struct lists l;
	int rc;

	if (devices(in) > NCC_MAX_RANKS)
		return too_many(in);
	rc = take_lists(in, &l,
			of == OF_DEVICES      ? devices(in)
			: of == OF_PARTITIONS ? in->imp->partitions
					      : in->imp->replicas);
	rc = rc ? rc : new_transfer(in, kind, devices(in), &t);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < l.n; i += l.members) {
		if (of == OF_REPLICAS_WHOLE)
			add_whole(t, in, &l.id[i], l.members);
		else
			add_group(t, in, &l.id[i], l.members, of);
	}
	t->members = l.members * (of == OF_REPLICAS_WHOLE ? in->imp->partitions : 1);
	if (!each_once(t))
		return hlo_fail(in, -EINVAL, "a device twice in its groups");
	return (int)in->imp->m->ntransfers - 1;
}

static unsigned int members(const struct hlo_inst *in, int transfer)
{
	return in->imp->m->transfer[transfer].members;
}

/* The same groups for another kind of transfer */
static int groups_again(struct hlo_inst *in, int transfer, enum ncc_transfer_kind kind)
{
	struct ncc_transfer *t;
	int rc = new_transfer(in, kind, 0, &t);

	if (rc)
		return rc;
	*t = in->imp->m->transfer[transfer];
	t->kind = kind;
	return (int)in->imp->m->ntransfers - 1;
}

/* A device's part of x, of a shape with the members in front: [n, ...] */
static struct ncc_op *pass(struct hlo_inst *in, int transfer, struct ncc_op *x,
			   const struct ncc_shape *s)
{
	struct ncc_shape own = *s;
	struct ncc_op *op;

	if (!x)
		return NULL;
	own.dtype = x->shape.dtype;
	own.pred = x->shape.pred;
	if (devices(in) == 1)
		return build_reshape(&in->b, x, &own);
	op = build_node(&in->b, NCC_TRANSFER, &own, x, NULL, NULL);
	if (op)
		op->index = transfer;
	return op;
}

static struct ncc_shape in_front(const struct ncc_shape *s, unsigned int n)
{
	struct ncc_shape to = *s;

	if (s->ndim < NCC_MAX_DIMS)
		memmove(&to.dim[1], &to.dim[0], s->ndim * sizeof(to.dim[0]));
	to.ndim = s->ndim + 1;
	to.dim[0] = n;
	return to;
}

/* [n, ..., b, ...] -> [..., n * b, ...], where b is dimension d behind the first one */
static struct ncc_op *merge_front(struct hlo_inst *in, struct ncc_op *x, unsigned int d)
{
	struct ncc_shape s;
	uint8_t map[NCC_MAX_DIMS] = { 0 };

	if (!x)
		return NULL;
	for (unsigned int i = 0; i < x->shape.ndim && i < NCC_MAX_DIMS; i++)
		map[i] = (uint8_t)(i < d ? i + 1 : i == d ? 0 : i);
	s = x->shape;
	s.ndim--;
	memcpy(s.dim, &x->shape.dim[1], s.ndim * sizeof(s.dim[0]));
	s.dim[d] *= x->shape.dim[0];
	return build_reshape(&in->b, build_transpose(&in->b, x, map), &s);
}

/* [..., n * b, ...] -> [n, ..., b, ...] */
static struct ncc_op *split_front(struct hlo_inst *in, struct ncc_op *x, unsigned int d,
				  unsigned int n)
{
	struct ncc_shape s = x->shape;
	uint8_t map[NCC_MAX_DIMS] = { 0 };

	memmove(&s.dim[d + 1], &s.dim[d], (s.ndim - d) * sizeof(s.dim[0]));
	s.ndim++;
	s.dim[d] = n;
	s.dim[d + 1] /= n;
	for (unsigned int i = 0; i < s.ndim && i < NCC_MAX_DIMS; i++)
		map[i] = (uint8_t)(!i ? d : i <= d ? i - 1 : i);
	return build_transpose(&in->b, build_reshape(&in->b, x, &s), map);
}

static bool is_narrow(const struct ncc_op *x)
{
	return ncc_is_float(x->shape.dtype) && ncc_dtype_size(x->shape.dtype) < 4;
}

/* [n, ...] -> [...]: what the members gave, one after the other; sums of narrow types in fp32 */
static int reduce_front(struct hlo_inst *in, struct ncc_op *x, struct ncc_op **result)
{
	const struct ncc_combine c = hlo_combiner(in, 0, 1);
	const bool adds = c.by == NCC_COMBINE_KIND && c.kind == NCC_ADD && x && !x->shape.pred;
	const bool wide = adds && is_narrow(x);
	struct ncc_op *sum = NULL;
	struct ncc_shape s;
	int rc = 0;

	if (!x)
		return hlo_fail(in, -ENOMEM, "out of memory");
	s = x->shape;
	s.ndim--;
	memcpy(s.dim, &x->shape.dim[1], s.ndim * sizeof(s.dim[0]));
	for (int64_t i = 0; i < x->shape.dim[0] && !rc; i++) {
		struct ncc_op *one = build_reshape(&in->b, build_slice(&in->b, x, 0, i, 1), &s);

		if (wide)
			one = build_cast(&in->b, one, NEURON_DT_FP32);
		if (!one)
			return hlo_fail(in, -ENOMEM, "out of memory");
		if (!sum)
			sum = one;
		else if (adds)
			sum = build_binary(&in->b, NCC_ADD, sum, one);
		else
			rc = hlo_combine(in, &sum, &one, 1);
	}
	*result = wide ? build_cast(&in->b, sum, x->shape.dtype) : sum;
	return rc;
}

/* An all-reduce of many bytes: each member reduces a part of its own, and then all get all parts. */
static int reduce_divided(struct hlo_inst *in, int transfer, struct ncc_op *x,
			  struct ncc_op **result)
{
	const unsigned int n = members(in, transfer);
	const int64_t all = ncc_elems(&x->shape), each = (all + n - 1) / n;
	struct ncc_shape flat = { .ndim = 1, .dim = { all } },
			 rows = { .ndim = 2, .dim = { n, each } };
	struct ncc_shape rest = { .dtype = x->shape.dtype, .ndim = 1, .dim = { each * n - all } };
	struct ncc_op *y = build_reshape(&in->b, x, &flat), *part[2] = { y, NULL };
	const int gather = groups_again(in, transfer, NCC_ALL_GATHER);
	const int scatter = groups_again(in, transfer, NCC_ALL_TO_ALL);
	int rc;

	if (gather < 0 || scatter < 0)
		return -ENOMEM;
	rest.pred = x->shape.pred;
	if (rest.dim[0]) {
		part[1] = build_splat(&in->b, &rest, 0);
		y = part[1] ? build_concat(&in->b, part, 2, 0) : NULL;
	}
	y = y ? pass(in, scatter, build_reshape(&in->b, y, &rows), &rows) : NULL;
	rc = reduce_front(in, y, &y);
	if (rc)
		return rc;
	y = pass(in, gather, y, &rows);
	flat.dim[0] = each * n;
	y = y ? build_slice(&in->b, build_reshape(&in->b, y, &flat), 0, 0, all) : NULL;
	*result = y ? build_reshape(&in->b, y, &x->shape) : NULL;
	return *result ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

static int reduce_all(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	const unsigned int n = members(in, transfer);
	const struct ncc_shape s = in_front(&x->shape, n);
	const int64_t bytes = ncc_elems(&x->shape) * ncc_dtype_size(x->shape.dtype);

	if (n == 1) {
		*result = x;
		return 0;
	}
	if (n >= DIVIDED_MEMBERS && bytes >= DIVIDED_BYTES / n)
		return reduce_divided(in, transfer, x, result);
	return reduce_front(in, pass(in, transfer, x, &s), result);
}

/* ---- instructions: each leaf of each operand by itself ---- */

typedef int (*leaf_fn)(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result);

static int each_leaf(struct hlo_inst *in, int transfer, leaf_fn fn, struct hlo_value *v)
{
	unsigned int n = 0;

	if (transfer < 0)
		return transfer;
	for (unsigned int i = 0; i < in->nin; i++)
		n += in->in[i].n;
	if (!n)
		return hlo_fail(in, -ENOTSUP, "no operand");
	v->n = 0;
	v->complex = in->nin == 1 && in->in[0].complex;
	v->op = ncc_alloc(in->imp->m, (n + 1) * sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < in->nin; i++) {
		for (unsigned int k = 0; k < in->in[i].n; k++) {
			int rc;

			if (in->in[i].op[k]->shape.ndim >= NCC_MAX_DIMS)
				return hlo_fail(in, -ENOTSUP, "a rank of %u",
						in->in[i].op[k]->shape.ndim);
			rc = fn(in, transfer, in->in[i].op[k], &v->op[v->n]);
			if (rc || !v->op[v->n])
				return rc ? rc : hlo_fail(in, -ENOMEM, "out of memory");
			rc = ncc_verify_op(v->op[v->n++], in->imp->err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* The dimension that an instruction says, which has to be one of x that n divides */
static int dimension(const struct hlo_inst *in, const struct ncc_op *x, unsigned int n)
{
	const int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;

	if (d < 0 || d >= x->shape.ndim)
		return hlo_fail(in, -EINVAL, "its dimension is none of the operand's");
	if (x->shape.dim[d] % n)
		return hlo_fail(in, -EINVAL,
				"dimension %lld is %lld, which %u devices do not divide",
				(long long)d, (long long)x->shape.dim[d], n);
	return (int)d;
}

static int gather(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	const struct ncc_shape s = in_front(&x->shape, members(in, transfer));
	const int d = dimension(in, x, 1);

	if (d < 0)
		return d;
	*result = merge_front(in, pass(in, transfer, x, &s), (unsigned int)d);
	return 0;
}

int hlo_all_gather(struct hlo_inst *in, struct hlo_value *v)
{
	return each_leaf(in, take_groups(in, NCC_ALL_GATHER, false), gather, v);
}

static bool is_sum(const struct hlo_inst *in)
{
	const struct ncc_combine c = hlo_combiner(in, 0, 1);

	return c.by == NCC_COMBINE_KIND && c.kind == NCC_ADD;
}

static bool has_complex(const struct hlo_inst *in)
{
	for (unsigned int i = 0; i < in->nin; i++)
		if (in->in[i].complex)
			return true;
	return false;
}

/* Complex numbers are reduced part by part, which only sums are. */
static int check_reduction(struct hlo_inst *in)
{
	return has_complex(in) && !is_sum(in)
		       ? hlo_fail(in, -ENOTSUP, "of complex numbers there are sums only")
		       : 0;
}

int hlo_all_reduce(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = check_reduction(in);

	return rc ? rc : each_leaf(in, take_groups(in, NCC_ALL_GATHER, false), reduce_all, v);
}

static int scatter(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	const unsigned int n = members(in, transfer);
	const int d = dimension(in, x, n);
	struct ncc_op *y;

	if (d < 0)
		return d;
	y = split_front(in, x, (unsigned int)d, n);
	return reduce_front(in, y ? pass(in, transfer, y, &y->shape) : NULL, result);
}

int hlo_reduce_scatter(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = check_reduction(in);

	return rc ? rc : each_leaf(in, take_groups(in, NCC_ALL_TO_ALL, false), scatter, v);
}

static int exchange(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	const unsigned int n = members(in, transfer);
	const int d = dimension(in, x, n);
	struct ncc_op *y;

	if (d < 0)
		return d;
	y = split_front(in, x, (unsigned int)d, n);
	*result = y ? merge_front(in, pass(in, transfer, y, &y->shape), (unsigned int)d) : NULL;
	return 0;
}

/* Several operands are the blocks, and the results a tuple of what came from each member. */
static int exchange_many(struct hlo_inst *in, int transfer, struct hlo_value *v)
{
	struct ncc_op *x[NCC_MAX_RANKS], *y;
	struct ncc_shape s, all;

	if (in->nin != members(in, transfer) || has_complex(in))
		return hlo_fail(in, -ENOTSUP, "%u operands, groups have %u devices", in->nin,
				members(in, transfer));
	s = in->in[0].op[0]->shape;
	if (s.ndim >= NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "a rank of %u", s.ndim);
	all = in_front(&s, 1);
	for (unsigned int i = 0; i < in->nin; i++) {
		if (in->in[i].n != 1 || !ncc_same_dims(&in->in[i].op[0]->shape, &s))
			return hlo_fail(in, -EINVAL, "the operands' shapes differ");
		x[i] = build_reshape(&in->b, in->in[i].op[0], &all);
		if (!x[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	all.dim[0] = in->nin;
	y = pass(in, transfer, build_concat(&in->b, x, in->nin, 0), &all);
	for (unsigned int i = 0; i < in->nin; i++)
		x[i] = y ? build_reshape(&in->b, build_slice(&in->b, y, 0, i, 1), &s) : NULL;
	return hlo_take_results(in, x, in->nin, v);
}

int hlo_all_to_all(struct hlo_inst *in, struct hlo_value *v)
{
	const int transfer = take_groups(in, NCC_ALL_TO_ALL, true);

	if (transfer < 0 || in->nin == 1)
		return each_leaf(in, transfer, exchange, v);
	return exchange_many(in, transfer, v);
}

/* The value of the first one of a group */
static int first_of(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	const struct ncc_shape s = in_front(&x->shape, members(in, transfer));
	struct ncc_op *y = pass(in, transfer, x, &s);

	*result = y ? build_reshape(&in->b, build_slice(&in->b, y, 0, 0, 1), &x->shape) : NULL;
	return 0;
}

int hlo_collective_broadcast(struct hlo_inst *in, struct hlo_value *v)
{
	return each_leaf(in, take_groups(in, NCC_ALL_GATHER, true), first_of, v);
}

int hlo_from_partition(struct hlo_inst *in, unsigned int partition, struct ncc_op **x)
{
	const struct ncc_shape s = (*x)->shape, flat = { .ndim = 1, .dim = { ncc_elems(&s) } };
	int64_t id[NCC_MAX_RANKS] = { partition };
	struct ncc_op *y;
	struct ncc_transfer *t;
	int rc;

	if (devices(in) > NCC_MAX_RANKS)
		return too_many(in);
	rc = new_transfer(in, NCC_ALL_GATHER, devices(in), &t);
	if (rc)
		return rc;
	for (unsigned int i = 0, n = 1; i < in->imp->partitions; i++)
		if (i != partition)
			id[n++] = i;
	add_group(t, in, id, in->imp->partitions, OF_PARTITIONS);
	t->members = in->imp->partitions;
	y = build_reshape(&in->b, *x, &flat);
	rc = y ? first_of(in, (int)in->imp->m->ntransfers - 1, y, &y) : 0;
	*x = y ? build_reshape(&in->b, y, &s) : NULL;
	return rc || *x ? rc : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_partition(struct hlo_inst *in, struct ncc_op **number)
{
	struct ncc_op *op = in->imp->partition;

	if (devices(in) > NCC_MAX_RANKS)
		return too_many(in);
	if (!op) {
		op = ncc_op_new(in->imp->m, NCC_RANK, in->p->name, 0);
		if (!op)
			return hlo_fail(in, -ENOMEM, "out of memory");
		op->where = in->b.where;
		op->shape = (struct ncc_shape){ .dtype = NEURON_DT_UINT32 };
		op->exact = true;
		in->imp->partition = op;
	}
	*number = op;
	return 0;
}

static int take_pairs(struct hlo_inst *in)
{
	const enum numbers of = numbers_of(in, true);
	const unsigned int most = of == OF_PARTITIONS ? in->imp->partitions : in->imp->replicas;
	bool seen[2][NCC_MAX_RANKS] = { { false } };
	struct ncc_transfer *t;
	int rc;

	if (devices(in) > NCC_MAX_RANKS)
		return too_many(in);
	rc = new_transfer(in, NCC_PERMUTE, 2 * devices(in), &t);
	for (size_t i = 0; i < in->p->n_source_target_pairs && !rc; i++) {
		const Ncc__Hlo__SourceTarget *pair = in->p->source_target_pairs[i];
		const int64_t id[2] = { pair->source, pair->target };

		for (unsigned int k = 0; k < 2; k++) {
			if (id[k] < 0 || id[k] >= most || seen[k][id[k]])
				return hlo_fail(in, -EINVAL,
						"device %lld in a pair, of %u, or twice",
						(long long)id[k], most);
			seen[k][id[k]] = true;
		}
		add_group(t, in, id, 2, of);
	}
	if (rc)
		return rc;
	t->members = 2;
	return (int)in->imp->m->ntransfers - 1;
}

static int permute(struct hlo_inst *in, int transfer, struct ncc_op *x, struct ncc_op **result)
{
	if (!in->imp->m->transfer[transfer].n)
		*result = build_splat(&in->b, &x->shape, 0);
	else
		*result = pass(in, transfer, x, &x->shape);
	return 0;
}

int hlo_collective_permute(struct hlo_inst *in, struct hlo_value *v)
{
	return each_leaf(in, take_pairs(in), permute, v);
}

int hlo_rank(struct hlo_inst *in, struct ncc_op **out)
{
	const bool replica = !strcmp(in->p->opcode, "replica-id");

	if (in->shape.ndim || ncc_dtype_size(in->shape.dtype) != sizeof(uint32_t))
		return hlo_fail(in, -ENOTSUP, "its type is not u32[]");
	if ((replica ? in->imp->replicas : in->imp->partitions) == 1) {
		*out = ncc_const_scalar(in->imp->m, in->shape.dtype, 0);
		return 0;
	}
	if (devices(in) > NCC_MAX_RANKS)
		return too_many(in);
	*out = ncc_op_new(in->imp->m, NCC_RANK, in->p->name, 0);
	if (!*out)
		return hlo_fail(in, -ENOMEM, "out of memory");
	(*out)->where = in->b.where;
	(*out)->shape = in->shape;
	(*out)->exact = true;
	(*out)->index = replica;
	return 0;
}
