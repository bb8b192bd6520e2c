// SPDX-License-Identifier: MIT
/*
 * Chooses how each value is divided: see spmd.h. Forward, a result is divided as its operands are;
 * where two of them quarrel about an axis the first has it. Backward, what all users of a value
 * want in one way becomes that way, if it is whole or costs nothing to make.
 */
#include <errno.h>
#include <string.h>

#include "spmd.h"

#define MOST_VISITS (8u << 20) /* of operations: those of loops in loops are seen again and again */
#define MOST_TURNS 4 /* of a loop, until what it carries stays as it is */

bool spmd_same(const struct spmd_split *a, const struct spmd_split *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void spmd_split_of(const struct spmd *p, const int8_t *map, unsigned int rank, struct spmd_split *s)
{
	*s = (struct spmd_split){ 0 };
	for (unsigned int d = 0; d < rank; d++)
		if (map[d] >= 0)
			s->dim[d] = p->factors.axes[map[d]];
}

static bool fits_in(const struct mlir_type *t, const int8_t *map, int factor, unsigned int parts)
{
	const unsigned int rank = spmd_rank(t);

	for (unsigned int d = 0; d < rank; d++)
		if (map[d] == factor && t->dim[d] % parts)
			return false;
	return true;
}

static bool fits(struct spmd *p, const struct mlir_op *op, int factor, spmd_axes a)
{
	const unsigned int parts = spmd_parts(p, a);

	for (size_t i = 0; i < op->nin; i++)
		if (!fits_in(op->in[i]->type, spmd_in(p, i), factor, parts))
			return false;
	for (size_t i = 0; i < op->nout; i++)
		if (!fits_in(op->out[i].type, spmd_out(p, i), factor, parts))
			return false;
	return true;
}

/* The factor gets as many of the axes as nobody else has and its dimensions can be divided by */
static void take(struct spmd *p, const struct mlir_op *op, int factor, spmd_axes a,
		 unsigned int *used)
{
	unsigned int n = spmd_axes_count(a);

	while (n && (spmd_axes_mask(spmd_axes_first(a, n)) & *used ||
		     !fits(p, op, factor, spmd_axes_first(a, n))))
		n--;
	p->factors.axes[factor] = n ? spmd_axes_first(a, n) : 0;
	*used |= spmd_axes_mask(p->factors.axes[factor]);
}

/* The axes that all operands with a factor are divided by along it; 0: they are not one */
static spmd_axes common(struct spmd *p, const struct mlir_op *op, int factor, bool any)
{
	spmd_axes a = 0;

	for (size_t i = 0; i < op->nin; i++)
		for (unsigned int d = 0; d < spmd_rank(op->in[i]->type); d++) {
			const spmd_axes b = spmd_note(op->in[i])->split.dim[d];

			if (spmd_in(p, i)[d] != factor)
				continue;
			if (any && a)
				continue;
			if (!any && (!b || (a && a != b)))
				return 0;
			a = b;
		}
	return a;
}

static void take_sums(struct spmd *p, const struct mlir_op *op, bool any, unsigned int *used)
{
	for (unsigned int f = 0; f < p->factors.n; f++)
		if (p->factors.sum[f] && !p->factors.axes[f])
			take(p, op, (int)f, common(p, op, (int)f, any), used);
}

static void take_value(struct spmd *p, const struct mlir_op *op, const struct mlir_value *v,
		       const int8_t *map, unsigned int *used)
{
	for (unsigned int d = 0; d < spmd_rank(v->type); d++)
		if (map[d] >= 0 && !p->factors.axes[map[d]] && !p->factors.sum[map[d]])
			take(p, op, map[d], spmd_note(v)->split.dim[d], used);
}

/* Is it made of nothing, so that it can be made in any division? */
static bool is_made_anyhow(const struct mlir_value *v)
{
	const struct mlir_op *op = spmd_note(v)->from;

	return op && (!strcmp(op->name, "broadcast_in_dim") || !strcmp(op->name, "constant") ||
		      !strcmp(op->name, "iota"));
}

void spmd_assign(struct spmd *p, const struct mlir_op *op, bool given)
{
	unsigned int used = 0;

	memset(p->factors.axes, 0, sizeof(p->factors.axes));
	/* A division that needs no move of either operand is best. */
	take_sums(p, op, false, &used);
	for (size_t i = 0; given && i < op->nout; i++)
		take_value(p, op, &op->out[i], spmd_out(p, i), &used);
	for (unsigned int anyhow = 0; !given && anyhow < 2; anyhow++)
		for (size_t i = 0; i < op->nin; i++)
			if (is_made_anyhow(op->in[i]) == (anyhow == 1))
				take_value(p, op, op->in[i], spmd_in(p, i), &used);
	take_sums(p, op, true, &used);
}

int spmd_constraint(struct spmd *p, const struct mlir_op *op, struct spmd_split *s)
{
	const struct mlir_attr *a = mlir_attr_of(op, "sharding");
	const struct mlir_attr *old = mlir_attr_of(op, "mhlo.sharding");
	const struct spmd_split *in = &spmd_note(op->in[0])->split;
	unsigned int open = 0, used = 0;
	int rc;

	p->at = op;
	*s = *in;
	/* In a computation on partitions values are a device's own. */
	if (old && old->kind == MLIR_STRING && strstr(old->text, "manual"))
		return 0;
	p->lenient = true;
	if (a)
		rc = spmd_read_sdy(p, a, op->in[0]->type, s, &open);
	else if (old && old->kind == MLIR_STRING)
		rc = spmd_read_gspmd(p, old->text, op->in[0]->type, s);
	else
		rc = spmd_fail(p, -EINVAL, "a constraint that says nothing");
	p->lenient = false;
	for (unsigned int d = 0; d < SPMD_MOST_RANK; d++)
		used |= spmd_axes_mask(s->dim[d]);
	for (unsigned int d = 0; !rc && d < SPMD_MOST_RANK; d++)
		if (open >> d & 1 && !s->dim[d] && !(spmd_axes_mask(in->dim[d]) & used)) {
			s->dim[d] = in->dim[d];
			used |= spmd_axes_mask(s->dim[d]);
		}
	return rc;
}

static int forward(struct spmd *p, const struct mlir_block *b, unsigned int *visits);

static const struct mlir_op *end_of(const struct mlir_block *b)
{
	return &b->ops[b->nops - 1];
}

/* Adds to a division what another one has along dimensions that it leaves whole */
static bool join(struct spmd_split *a, const struct spmd_split *b)
{
	unsigned int used = 0;
	bool more = false;

	for (unsigned int d = 0; d < SPMD_MOST_RANK; d++)
		used |= spmd_axes_mask(a->dim[d]);
	for (unsigned int d = 0; d < SPMD_MOST_RANK; d++)
		if (!a->dim[d] && b->dim[d] && !(spmd_axes_mask(b->dim[d]) & used)) {
			a->dim[d] = b->dim[d];
			used |= spmd_axes_mask(b->dim[d]);
			more = true;
		}
	return more;
}

/* A loop's state is divided in one way before, between and after its iterations. */
static void set_carried(const struct mlir_op *op)
{
	for (size_t i = 0; i < op->nin; i++)
		for (unsigned int k = 0; k < 2; k++) {
			struct spmd_value *arg = spmd_note(&op->regions[k].blocks[0].args[i]);

			arg->split = spmd_note(&op->out[i])->split;
			arg->fixed = true;
		}
}

static int forward_while(struct spmd *p, const struct mlir_op *op, unsigned int *visits)
{
	const struct mlir_block *b;
	bool more = true;
	int rc = 0;

	if (op->nregions != 2 || op->nin != op->nout || op->regions[0].blocks[0].nargs != op->nin ||
	    op->regions[1].blocks[0].nargs != op->nin)
		return spmd_fail(p, -EINVAL, "no loop");
	b = op->regions[1].blocks;
	if (end_of(b)->nin != op->nin)
		return spmd_fail(p, -EINVAL, "a loop of %zu values that gives %zu", op->nin,
				 end_of(b)->nin);
	for (size_t i = 0; i < op->nin; i++) {
		spmd_note(&op->out[i])->split = spmd_note(op->in[i])->split;
		spmd_note(&op->out[i])->fixed = true;
	}
	for (unsigned int turn = 0; !rc && more && turn < MOST_TURNS; turn++) {
		set_carried(op);
		rc = forward(p, b, visits);
		more = false;
		for (size_t i = 0; !rc && i < op->nin; i++)
			more |= join(&spmd_note(&op->out[i])->split,
				     &spmd_note(end_of(b)->in[i])->split);
	}
	set_carried(op);
	return rc ? rc : forward(p, op->regions[0].blocks, visits);
}

static int forward_branches(struct spmd *p, const struct mlir_op *op, unsigned int *visits)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < op->nregions; i++) {
		const struct mlir_block *b = op->regions[i].blocks;

		if (b->nargs || end_of(b)->nin != op->nout)
			return spmd_fail(p, -EINVAL, "a branch of %zu arguments and %zu results",
					 b->nargs, end_of(b)->nin);
		rc = forward(p, b, visits);
		for (size_t k = 0; !rc && k < op->nout; k++)
			join(&spmd_note(&op->out[k])->split, &spmd_note(end_of(b)->in[k])->split);
	}
	for (size_t k = 0; k < op->nout; k++)
		spmd_note(&op->out[k])->fixed = true;
	return rc;
}

bool spmd_is_call(const struct mlir_op *op, const char *target)
{
	const struct mlir_attr *a = mlir_attr_of(op, "call_target_name");

	return !strcmp(op->name, "custom_call") && a && a->text && !strcmp(a->text, target) &&
	       op->nin == 1 && op->nout == 1;
}

bool spmd_is_constraint(const struct mlir_op *op)
{
	return !strcmp(op->name, "sdy.sharding_constraint") || spmd_is_call(op, "Sharding");
}

bool spmd_is_host_call(const struct mlir_op *op, const char *says)
{
	const struct mlir_attr *a = mlir_attr_of(op, "call_target_name");
	const struct mlir_attr *config = mlir_attr_of(op, "mhlo.backend_config");

	return !strcmp(op->name, "custom_call") && a && a->text &&
	       !strcmp(a->text, NCC_HOST_TARGET) &&
	       mlir_entry_of(config ?: mlir_attr_of(op, "backend_config"), says);
}

/* Operations whose results are their operands */
bool spmd_is_passing(const struct mlir_op *op)
{
	return op->nin == op->nout &&
	       (!strcmp(op->name, "optimization_barrier") || !strcmp(op->name, "builtin.unrealized_"
									       "conversion_cast"));
}

/* A manual computation's division of a value, along the axes that are manual */
int spmd_read_manual(struct spmd *p, const struct mlir_op *op, const char *list, size_t i,
		     struct spmd_split *s)
{
	const struct mlir_value *v = strcmp(list, "in_shardings") ? &op->out[i] : op->in[i];
	const struct mlir_attr *a = mlir_attr_of(op, list), *axes = mlir_attr_of(op, "manual_axes");
	unsigned int open;
	int rc;

	if (!a || a->kind != MLIR_ARRAY || i >= a->n || !axes)
		return spmd_fail(p, -EINVAL, "no %s for its values, or no manual_axes", list);
	p->only = axes;
	rc = spmd_read_sdy(p, a->list[i], v->type, s, &open);
	p->only = NULL;
	return rc;
}

static int forward_manual(struct spmd *p, const struct mlir_op *op)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < op->nout; i++) {
		rc = spmd_read_manual(p, op, "out_shardings", i, &spmd_note(&op->out[i])->split);
		spmd_note(&op->out[i])->fixed = true;
	}
	return rc;
}

/* What was a device's own is one's part of the whole: of what division, it says. */
static int forward_whole(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_of(op, "mhlo.sharding");

	spmd_note(op->out)->fixed = true;
	if (!a || a->kind != MLIR_STRING)
		return spmd_fail(p, -EINVAL, "it does not say how the whole is divided");
	return spmd_read_gspmd(p, a->text, op->out->type, &spmd_note(op->out)->split);
}

static int forward_op(struct spmd *p, const struct mlir_op *op)
{
	int rc;

	if (spmd_is_call(op, SPMD_TO_PART)) {
		spmd_note(op->out)->fixed = p->parts = true;
		return 0;
	}
	if (spmd_is_call(op, SPMD_TO_WHOLE))
		return forward_whole(p, op);

	if (spmd_is_constraint(op)) {
		if (op->nin != 1 || op->nout != 1)
			return spmd_fail(p, -EINVAL, "no constraint of one value");
		spmd_note(op->out)->fixed = true;
		return spmd_constraint(p, op, &spmd_note(op->out)->split);
	}
	if (spmd_is_passing(op)) {
		for (size_t i = 0; i < op->nin; i++)
			spmd_note(&op->out[i])->split = spmd_note(op->in[i])->split;
		return 0;
	}
	rc = spmd_factors_of(p, op);
	if (rc)
		return rc;
	spmd_assign(p, op, false);
	for (size_t i = 0; i < op->nout; i++)
		spmd_split_of(p, spmd_out(p, i), spmd_rank(op->out[i].type),
			      &spmd_note(&op->out[i])->split);
	return 0;
}

static int forward(struct spmd *p, const struct mlir_block *b, unsigned int *visits)
{
	int rc = 0;

	for (size_t i = 0; !rc && i + 1 < b->nops; i++) {
		const struct mlir_op *op = &b->ops[i];

		p->at = op;
		if (++*visits > MOST_VISITS)
			return spmd_fail(p, -EFBIG, "loops in loops, and too many of them");
		if (!strcmp(op->name, "while"))
			rc = forward_while(p, op, visits);
		else if (!strcmp(op->name, "case") || !strcmp(op->name, "if"))
			rc = forward_branches(p, op, visits);
		else if (!strcmp(op->name, "sdy.manual_computation"))
			rc = forward_manual(p, op);
		else
			rc = forward_op(p, op);
	}
	return rc;
}

static void wish(struct mlir_value *v, const struct spmd_split *s)
{
	struct spmd_value *n = spmd_note(v);

	n->quarrel |= n->wished && !spmd_same(&n->wish, s);
	n->wish = *s;
	n->wished = true;
}

/* A result gets what its users want. */
static void grant(const struct mlir_value *v, bool loop)
{
	static const struct spmd_split none;
	struct spmd_value *n = spmd_note(v);

	if ((!n->fixed || loop) && n->wished && !n->quarrel &&
	    (spmd_same(&n->split, &none) || is_made_anyhow(v)))
		n->split = n->wish;
}

static int backward(struct spmd *p, const struct mlir_block *b, const struct spmd_split *want);

static int backward_regions(struct spmd *p, const struct mlir_op *op)
{
	const bool loop = !strcmp(op->name, "while");
	struct spmd_split *want = spmd_alloc(p, op->nout + 1, sizeof(*want));
	int rc = want ? 0 : -ENOMEM;

	if (loop)
		set_carried(op);
	for (size_t i = 0; want && i < op->nout; i++) {
		want[i] = spmd_note(&op->out[i])->split;
		if (loop)
			wish(op->in[i], &want[i]);
	}
	for (size_t i = 0; !rc && i < op->nregions; i++)
		rc = backward(p, op->regions[i].blocks, loop && !i ? NULL : want);
	return rc;
}

static int backward_op(struct spmd *p, const struct mlir_op *op)
{
	struct spmd_split s;
	int rc;

	if (spmd_is_constraint(op) || spmd_is_passing(op)) {
		for (size_t i = 0; i < op->nin; i++)
			wish(op->in[i], &spmd_note(&op->out[i])->split);
		return 0;
	}
	if (spmd_is_host_call(op, "parts"))
		return 0;
	rc = spmd_factors_of(p, op);
	if (rc)
		return rc;
	spmd_assign(p, op, true);
	for (size_t i = 0; i < op->nin; i++) {
		spmd_split_of(p, spmd_in(p, i), spmd_rank(op->in[i]->type), &s);
		wish(op->in[i], &s);
	}
	return 0;
}

/* want: what is asked of what the block returns; NULL: nothing */
static int backward(struct spmd *p, const struct mlir_block *b, const struct spmd_split *want)
{
	int rc = 0;

	for (size_t i = 0; want && i < end_of(b)->nin; i++)
		wish(end_of(b)->in[i], &want[i]);
	for (size_t i = b->nops - 1; !rc && i--;) {
		const struct mlir_op *op = &b->ops[i];

		p->at = op;
		for (size_t k = 0; k < op->nout; k++)
			grant(&op->out[k], !strcmp(op->name, "while"));
		if (!strcmp(op->name, "while") || !strcmp(op->name, "case") ||
		    !strcmp(op->name, "if"))
			rc = backward_regions(p, op);
		else if (strcmp(op->name, "sdy.manual_computation") &&
			 !spmd_is_call(op, SPMD_TO_PART) && !spmd_is_call(op, SPMD_TO_WHOLE))
			rc = backward_op(p, op);
	}
	return rc;
}

/*
 * A result of which nothing is said is as it comes, but for parts of axes: the framework has names
 * for whole ones alone.
 */
static void take_results(struct spmd *p)
{
	const struct mlir_op *end = end_of(p->body);

	for (size_t i = 0; i < end->nin; i++) {
		if (p->said[i])
			continue;
		p->results[i] = spmd_note(end->in[i])->split;
		for (unsigned int d = 0; d < SPMD_MOST_RANK; d++)
			p->results[i].dim[d] = spmd_axes_named(p, p->results[i].dim[d]);
	}
}

int spmd_choose(struct spmd *p)
{
	unsigned int visits = 0;
	int rc = forward(p, p->body, &visits);

	if (rc)
		return rc;
	take_results(p);
	rc = backward(p, p->body, p->results);
	take_results(p);
	return rc;
}
