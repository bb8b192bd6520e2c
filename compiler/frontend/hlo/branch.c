// SPDX-License-Identifier: MIT
/*
 * Conditionals of HLO. All branches are computed and one is chosen; where the chip can jump, a
 * branch that costs much becomes a loop of the IR that makes one iteration if it is taken.
 */
#include <errno.h>
#include <stdlib.h>

#include "call.h"
#include "empty.h"
#include "flow.h"
#include "host_calls.h"
#include "ir/traits.h"
#include "operations.h"
#include "sizes.h"

/* A branch that is computed if it is taken */
struct branch {
	struct ncc_op *p; /* is it taken? */
	const Ncc__Hlo__Computation *c;
	const struct hlo_value *arg;
	const struct hlo_layout *layout; /* of its result: leaves and sizes */
};

/* Inlines a branch, whose result counts only where p holds. */
static int call_guarded(struct hlo_inst *in, const struct branch *br, struct hlo_value *v)
{
	struct ncc_op *p = br->p;
	struct ncc_op *before = in->imp->guard;
	int rc;

	in->imp->guard = build_both(&in->b, before, p);
	if (p && !in->imp->guard)
		return hlo_fail(in, -ENOMEM, "out of memory");
	rc = hlo_call(in, br->c, br->arg, 1, v) ?: hlo_pack(in, br->layout, v);
	in->imp->guard = before;
	return rc;
}

/* Is branch i the one taken? The last one is for every index that has no branch. */
static struct ncc_op *is_branch(struct hlo_inst *in, struct ncc_op *sel, unsigned int i,
				unsigned int n)
{
	struct ncc_op *p = NULL;

	if (sel->shape.pred)
		return i ? build_unary(&in->b, NCC_NOT, sel) : sel;
	if (i + 1 < n)
		return build_compare(&in->b, NCC_EQ, sel, build_splat(&in->b, &sel->shape, i));
	for (unsigned int k = 0; k + 1 < n; k++)
		p = build_both(&in->b, p,
			       build_compare(&in->b, NCC_NE, sel,
					     build_splat(&in->b, &sel->shape, k)));
	return p;
}

/*
 * What a branch costs that is worth a loop of one iteration, in elements that a vector engine
 * takes: that adds two parts to the program, and moves what goes in and out of them through DRAM.
 */
#define WORTH (1 << 19)

/* The cost of a branch's value that was made when `since` operations had been */
static uint64_t cost_since(const struct hlo_value *v, unsigned int since)
{
	struct ncc_made made;
	uint64_t cost = 0;

	if (!ncc_made_since(v->op, v->n, since, &made))
		for (unsigned int i = 0; i < made.n; i++)
			cost += made.op[i]->id >= since ? ncc_cost(made.op[i]) : 0;
	free(made.op);
	return cost;
}

static bool is_among(const struct ncc_made *made, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < made->n; i++)
		if (made->op[i] == op)
			return true;
	return false;
}

/* States of a loop for values; constants stay, if they may, and what has no elements. */
static bool make_states(struct hlo_inst *in, struct ncc_op *loop, const struct hlo_value *from,
			bool constants, struct hlo_value *to)
{
	to->op = ncc_alloc(in->imp->m, (from->n + 1) * sizeof(struct ncc_op *));
	for (unsigned int i = 0; to->op && i < from->n; i++) {
		to->op[i] =
			(constants && from->op[i]->kind == NCC_CONST) || hlo_is_empty(from->op[i])
				? from->op[i]
				: build_state(&in->b, loop, from->op[i]);
		if (!to->op[i])
			return false;
	}
	return to->op;
}

/*
 * v becomes the branch's value if that is taken: by a loop that makes one iteration then, else
 * none.
 */
static int make_branch(struct hlo_inst *in, const struct branch *br, struct hlo_value *v)
{
	struct hlo_import *imp = in->imp;
	struct ncc_op *guard = imp->guard, *p = build_both(&in->b, guard, br->p), *never, *end;
	struct hlo_value arg = *br->arg, got, result = *v;
	struct ncc_looping l;
	/* beside the values the predicate, and what calls of the host come after */
	const bool begun = build_begin(&in->b, &l, p, arg.n + v->n + 2);
	struct ncc_op *held = begun ? build_state(&in->b, l.loop, p) : NULL;
	const unsigned int loops = imp->loops;
	unsigned int since;
	struct hlo_effects effects;
	struct ncc_made made;
	int rc;

	never = p ? build_splat(&in->b, &p->shape, 0) : NULL;
	/* what the branch computes depends on the loop by its arguments, if nothing else does */
	if (!held || !never || !make_states(in, l.loop, br->arg, true, &arg) ||
	    !make_states(in, l.loop, v, false, &result))
		return hlo_fail(in, -ENOMEM, "out of memory");
	since = imp->m->made;
	imp->guard = held;
	rc = hlo_effects_begin(in, l.loop, &effects) ?: hlo_call(in, br->c, &arg, 1, &got) ?:
	     hlo_pack(in, br->layout, &got);
	imp->guard = guard;
	if (rc)
		return rc;
	if (!hlo_same_leaves(&got, v))
		return hlo_fail(in, -EINVAL, "branches of different results");

	for (unsigned int i = 0; i < v->n; i++)
		if (!hlo_is_empty(v->op[i]))
			build_carry(&l, result.op[i], got.op[i]);
	rc = ncc_made_since(got.op, got.n, since, &made);
	for (unsigned int i = 0; i < arg.n && !rc; i++)
		if (arg.op[i] != br->arg->op[i] && is_among(&made, arg.op[i]))
			build_carry(&l, arg.op[i], arg.op[i]);
	free(made.op);
	if (rc)
		return hlo_fail(in, -ENOMEM, "out of memory");
	if (imp->loops != loops)
		build_carry(&l, held, never);
	hlo_effects_pair(in, &effects, &l);
	end = build_end(&in->b, &l, never);
	for (unsigned int i = 0; i < v->n; i++) {
		if (!hlo_is_empty(v->op[i]))
			result.op[i] = end ? build_loop_result(&in->b, end, result.op[i]) : NULL;
		if (!result.op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	*v = result;
	imp->loops++;
	return hlo_effects_end(in, &effects, end);
}

/* Is a branch worth that, whose value was made since then, and is it possible? */
static bool is_worth(const struct hlo_inst *in, const struct branch *br, const struct hlo_value *v,
		     unsigned int since)
{
	bool depends = false;

	for (unsigned int i = 0; i < br->arg->n; i++)
		depends = depends || br->arg->op[i]->kind != NCC_CONST;
	return in->imp->branches && br->p && depends && !v->unknown &&
	       cost_since(v, since) >= WORTH;
}

/* A value of the same leaves, whatever they are */
static bool make_any(struct hlo_inst *in, struct hlo_value *v)
{
	const struct hlo_value like = *v;

	v->op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	for (unsigned int i = 0; v->op && i < v->n; i++) {
		v->op[i] = hlo_is_empty(like.op[i]) ? like.op[i]
						    : build_splat(&in->b, &like.op[i]->shape, 0);
		if (!v->op[i])
			return false;
	}
	return v->op;
}

/*
 * Chooses among the branches that are computed in any case, of which the last one's value is what
 * remains; then those that are not take its place.
 */
static int choose_branch(struct hlo_inst *in, struct ncc_op *sel, unsigned int n,
			 const struct hlo_layout *l, struct hlo_value *v)
{
	struct branch *later = ncc_alloc(in->imp->m, n * sizeof(*later));
	struct hlo_value a = { 0 };
	unsigned int nlater = 0;
	bool any = false;
	int rc = later ? 0 : hlo_fail(in, -ENOMEM, "out of memory");

	for (unsigned int i = n; !rc && i-- > 0;) {
		struct branch br = { is_branch(in, sel, i, n), hlo_called(in, i), &in->in[i + 1],
				     l };
		const unsigned int loops = in->imp->loops;
		const unsigned int since = in->imp->m->made;
		struct ncc_op *effect = in->imp->effect;

		if (!br.p && n > 1)
			return hlo_fail(in, -ENOMEM, "out of memory");
		rc = call_guarded(in, &br, &a);
		if (rc)
			return rc;
		if (is_worth(in, &br, &a, since)) {
			in->imp->loops = loops;
			in->imp->effect = effect;
			later[nlater++] = br;
		} else if (any) {
			rc = hlo_choose_leaves(in, br.p, &a, v);
		} else {
			any = true;
			*v = a;
		}
	}
	if (!rc && !any) {
		*v = a;
		if (!make_any(in, v))
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; !rc && i < nlater; i++)
		rc = make_branch(in, &later[i], v);
	return rc;
}

/*
 * With a predicate the first branch is the one for true; an index out of range takes the last one.
 */
int hlo_conditional(struct hlo_inst *in, struct hlo_value *v)
{
	unsigned int n = (unsigned int)in->p->n_called_computation_ids, i;
	struct hlo_layout l;
	struct ncc_op *sel;
	double k;

	if (hlo_is_of_elements(in))
		return -ENOTSUP;
	if (!n || in->nin != n + 1 || in->in[0].n != 1)
		return hlo_fail(in, -EINVAL, "%u operands for %u branches", in->nin, n);
	sel = in->in[0].op[0];
	if (sel->shape.ndim || (sel->shape.pred ? n != 2 : sel->shape.dtype != NEURON_DT_INT32))
		return hlo_fail(in, -EINVAL, "operand 0 is neither a predicate nor an s32 index");
	if (!ncc_scalar_value(sel, &k))
		return hlo_layout(in, in->p->shape, NULL, &l) ?: choose_branch(in, sel, n, &l, v) ?:
		       hlo_unpack(in, &l, v);
	i = k < 0 || k >= n ? n - 1 : (unsigned int)k;
	if (sel->shape.pred)
		i = k == 0;
	return hlo_call(in, hlo_called(in, i), &in->in[i + 1], 1, v);
}
