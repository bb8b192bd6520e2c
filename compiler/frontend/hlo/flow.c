// SPDX-License-Identifier: MIT
/*
 * Control flow of HLO: calls and fusions are inlined, a while of few iterations is unrolled, any
 * other becomes a loop of the IR.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "call.h"
#include "empty.h"
#include "flow.h"
#include "host_calls.h"
#include "ir/range.h"
#include "operations.h"
#include "sizes.h"

bool hlo_same_leaves(const struct hlo_value *a, const struct hlo_value *b)
{
	bool same = a->n == b->n;

	for (unsigned int i = 0; same && i < a->n; i++)
		same = ncc_same_dims(&a->op[i]->shape, &b->op[i]->shape) &&
		       a->op[i]->shape.dtype == b->op[i]->shape.dtype &&
		       a->op[i]->shape.pred == b->op[i]->shape.pred;
	return same;
}

int hlo_choose_leaves(struct hlo_inst *in, struct ncc_op *p, const struct hlo_value *a,
		      struct hlo_value *b)
{
	struct ncc_op **op = ncc_alloc(in->imp->m, (a->n + 1) * sizeof(struct ncc_op *));

	if (!hlo_same_leaves(a, b))
		return hlo_fail(in, -EINVAL, "branches of different results");
	for (unsigned int i = 0; op && i < a->n; i++) {
		op[i] = hlo_is_empty(a->op[i]) ? a->op[i]
					       : build_choice(&in->b, p, a->op[i], b->op[i]);
		if (!op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	b->op = op;
	return op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

#define LOOK_BACK 8 /* operations */

/* Is the predicate the same (*k) whatever the inputs are? */
static bool is_known(const struct ncc_op *p, unsigned int depth, bool *k)
{
	struct ncc_range a, b;
	bool x = false, y = false, kx, ky;
	double v;

	if (ncc_scalar_value(p, &v)) {
		*k = v != 0;
		return true;
	}

	if (!depth)
		return false;
	if (p->kind == NCC_AND || p->kind == NCC_OR) {
		kx = is_known(p->in[0], depth - 1, &x);
		ky = is_known(p->in[1], depth - 1, &y);
		*k = p->kind == NCC_OR;
		if ((kx && x == *k) || (ky && y == *k))
			return true;
		*k = !*k;
		return kx && ky;
	}

	if (!ncc_is_compare(p->kind) || p->shape.ndim || ncc_is_float(p->in[0]->shape.dtype))
		return false;
	a = ncc_bounds(p->in[0], LOOK_BACK);
	b = ncc_bounds(p->in[1], LOOK_BACK);
	*k = ncc_compares(p->kind, (double)a.lo, (double)b.lo);
	return *k == ncc_compares(p->kind, (double)a.lo, (double)b.hi) &&
	       *k == ncc_compares(p->kind, (double)a.hi, (double)b.lo) &&
	       *k == ncc_compares(p->kind, (double)a.hi, (double)b.hi) &&
	       ((p->kind != NCC_EQ && p->kind != NCC_NE) || a.hi < b.lo || b.hi < a.lo);
}

/* Does a known number change from iteration to iteration? If none does, nothing bounds the loop. */
static bool counts(const struct hlo_value *before, const struct hlo_value *after)
{
	double a, b;

	for (unsigned int i = 0; i < after->n; i++)
		if (!after->op[i]->shape.ndim && ncc_scalar_value(before->op[i], &a) &&
		    ncc_scalar_value(after->op[i], &b) && a != b)
			return true;
	return false;
}

#define MOST_ITERATIONS 16 /* of an unrolled loop that data may end earlier: it pays for all */
#define MOST_UNROLLED 50000 /* operations of the IR, and of HLO */
#define SHARE 4 /* one loop takes at most a part of so many of what is left for the module */

/*
 * A loop being unrolled. Conditions that depend on data do not stop it: the state goes on as if all
 * of them held, and the result takes it over while they do.
 */
struct unrolling {
	const Ncc__Hlo__Computation *body, *cond;
	struct hlo_layout layout; /* of the state: leaves and sizes */
	struct hlo_value state, result;
	struct ncc_op *going; /* all conditions so far; NULL: none depends on data */
	unsigned int iterations; /* since the first one that depends on data */
	unsigned int turns;
	unsigned int made, loops, transfers; /* the import's of these names when it began */
};

static int condition(struct hlo_inst *in, const Ncc__Hlo__Computation *cond,
		     const struct hlo_layout *l, const struct hlo_value *state, struct ncc_op **p)
{
	struct hlo_value arg = *state, go;
	int rc = hlo_unpack(in, l, &arg) ?: hlo_call(in, cond, &arg, 1, &go);

	if (rc)
		return rc;
	if (go.n != 1 || go.op[0]->shape.ndim || !go.op[0]->shape.pred)
		return hlo_fail(in, -EINVAL, "the condition is not a predicate");
	*p = go.op[0];
	return 0;
}

static int next_state(struct hlo_inst *in, const Ncc__Hlo__Computation *body,
		      const struct hlo_layout *l, const struct hlo_value *state,
		      struct hlo_value *next)
{
	struct hlo_value arg = *state;

	return hlo_unpack(in, l, &arg) ?: hlo_call(in, body, &arg, 1, next) ?:
	       hlo_pack(in, l, next);
}

enum { NO_ITERATION, ITERATION, NOT_UNROLLED };

static int goes_on(struct hlo_inst *in, struct unrolling *u)
{
	struct ncc_op *p = NULL;
	bool k;
	int rc = condition(in, u->cond, &u->layout, &u->state, &p);

	if (rc)
		return rc;
	if (in->imp->loops != u->loops)
		return NOT_UNROLLED; /* a loop within it was not unrolled */
	if (is_known(p, LOOK_BACK, &k))
		return k ? ITERATION : NO_ITERATION;
	u->going = build_both(&in->b, u->going, p);
	return u->going ? ITERATION : hlo_fail(in, -ENOMEM, "out of memory");
}

/*
 * Would the loop, if its counters go on as in the last iteration, still go on when the limit of
 * operations is reached? It is abandoned early then: an attempt takes memory, and operations of the
 * module's.
 */
static bool goes_far(struct hlo_inst *in, struct unrolling *u, const struct hlo_value *before)
{
	const unsigned int each = (in->imp->made - u->made) / u->turns;
	const double turns = (in->imp->unrolled.made - in->imp->made) / (each ? each : 1) + 1;
	struct hlo_value far = u->state;
	struct ncc_op *p;
	double a, b;
	bool k;

	far.op = ncc_alloc(in->imp->m, (far.n + 1) * sizeof(struct ncc_op *));
	for (unsigned int i = 0; far.op && i < far.n; i++) {
		const struct ncc_shape *s = &u->state.op[i]->shape;

		far.op[i] = u->state.op[i];
		if (s->ndim || s->dtype != NEURON_DT_INT32 ||
		    !ncc_scalar_value(before->op[i], &a) || !ncc_scalar_value(far.op[i], &b))
			continue;
		b = fmax(fmin(b + (b - a) * turns, INT32_MAX), INT32_MIN);
		far.op[i] = ncc_const_scalar(in->imp->m, s->dtype, b);
		if (!far.op[i])
			return false;
	}
	return far.op && !condition(in, u->cond, &u->layout, &far, &p) &&
	       is_known(p, LOOK_BACK, &k) && k;
}

static int iterate(struct hlo_inst *in, struct unrolling *u)
{
	struct hlo_value before = u->state, chosen = u->result;
	struct ncc_op *guard = in->imp->guard;
	int rc;

	/* each iteration of what passes among devices would be parts of its own */
	if (in->imp->made > in->imp->unrolled.made || in->imp->m->made > in->imp->unrolled.m_made ||
	    in->imp->transfers != u->transfers)
		return NOT_UNROLLED;
	in->imp->guard = build_both(&in->b, guard, u->going);
	rc = next_state(in, u->body, &u->layout, &before, &u->state);
	in->imp->guard = guard;
	if (rc)
		return rc;
	if (!hlo_same_leaves(&before, &u->state))
		return hlo_fail(in, -EINVAL, "the body changes the shape");
	u->turns++;
	if (!u->going) {
		u->result = u->state;
		return u->turns == 2 && goes_far(in, u, &before) ? NOT_UNROLLED : ITERATION;
	}

	if (u->iterations++ >= MOST_ITERATIONS || !counts(&before, &u->state))
		return NOT_UNROLLED;
	rc = hlo_choose_leaves(in, u->going, &u->state, &chosen);
	u->result = chosen;
	return rc ? rc : ITERATION;
}

/* Does the body pass an element of its state on unchanged? */
static bool passes_on(const Ncc__Hlo__Computation *body, size_t element)
{
	const Ncc__Hlo__Instruction *root = hlo_by_id(body, body->root_id), *in, *from;

	if (!root || strcmp(root->opcode, "tuple") || element >= root->n_operand_ids)
		return false;
	in = hlo_by_id(body, root->operand_ids[element]);
	if (!in || strcmp(in->opcode, "get-tuple-element") || in->n_operand_ids != 1 ||
	    in->tuple_index != (int64_t)element)
		return false;
	from = hlo_by_id(body, in->operand_ids[0]);
	return from && !strcmp(from->opcode, "parameter");
}

/* The element of a state that a leaf is or, of a complex one, is part of; -1: it is no array */
static int64_t element_of(const Ncc__Hlo__Shape *s, unsigned int leaf)
{
	unsigned int n = 0;

	for (size_t i = 0; s->element_type == HLO_TUPLE && i < s->n_tuple_shapes; i++) {
		n += hlo_leaves(s->tuple_shapes[i]);
		if (leaf < n)
			return s->tuple_shapes[i]->element_type == HLO_TUPLE ? -1 : (int64_t)i;
	}
	return -1;
}

/* A loop being made */
struct looping {
	struct ncc_looping of;
	struct ncc_op *again;
	struct ncc_op *held; /* the iteration's condition, as a state */
	struct hlo_value state, next; /* a state, or the value before the loop, which stays */
	struct hlo_effects effects; /* of its calls of the host */
	bool nested; /* it contains loops or calls of the host */
};

static bool is_state(const struct looping *l, const struct ncc_op *op)
{
	return op->kind == NCC_STATE && op->in[0] == l->of.loop;
}

static int end_loop(struct hlo_inst *in, struct looping *l, struct hlo_value *v)
{
	struct ncc_op *end;

	v->n = l->state.n;
	v->op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");

	for (unsigned int i = 0; i < v->n; i++) {
		v->op[i] = l->state.op[i];
		if (is_state(l, v->op[i]))
			build_carry(&l->of, v->op[i], l->next.op[i]);
	}
	if (l->nested)
		build_carry(&l->of, l->held, l->again);

	hlo_effects_pair(in, &l->effects, &l->of);
	end = build_end(&in->b, &l->of, l->again);
	for (unsigned int i = 0; i < v->n && end; i++)
		if (is_state(l, v->op[i]))
			v->op[i] = build_loop_result(&in->b, end, v->op[i]);

	for (unsigned int i = 0; i < v->n; i++)
		if (!end || !v->op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");

	in->imp->loops++;
	return hlo_effects_end(in, &l->effects, end);
}

/*
 * Makes the operations of one iteration. A loop in them depends on the iteration's condition, so
 * that it is not entered when there is no iteration.
 */
static int make_iteration(struct hlo_inst *in, const struct unrolling *u, struct looping *l)
{
	struct ncc_op *guard = in->imp->guard, *p = NULL;
	unsigned int loops = in->imp->loops;
	int rc;

	in->imp->guard = l->held;
	rc = next_state(in, u->body, &u->layout, &l->state, &l->next);
	if (!rc && !hlo_same_leaves(&l->state, &l->next))
		rc = hlo_fail(in, -EINVAL, "the body changes the shape");
	rc = rc ? rc : condition(in, u->cond, &u->layout, &l->next, &p);
	in->imp->guard = guard;
	l->nested = in->imp->loops != loops;
	l->again = rc ? NULL : build_both(&in->b, guard, p);
	return rc;
}

/*
 * Makes a loop of the IR: the elements that change are its states, the others are as they were
 * before it.
 */
static int make_loop(struct hlo_inst *in, const struct unrolling *u, const struct hlo_value *before,
		     struct hlo_value *v)
{
	struct ncc_op **state = ncc_alloc(in->imp->m, (before->n + 1) * sizeof(struct ncc_op *));
	struct looping l = { .state = { .n = before->n, .op = state } };
	struct ncc_op *p = NULL;
	int rc = condition(in, u->cond, &u->layout, before, &p);

	if (rc)
		return rc;
	p = build_both(&in->b, in->imp->guard, p);
	/* beside the elements the condition, and what calls of the host come after */
	l.held = build_begin(&in->b, &l.of, p, before->n + 2) ? build_state(&in->b, l.of.loop, p)
							      : NULL;
	if (!l.held || !state)
		return hlo_fail(in, -ENOMEM, "out of memory");
	/* where each leaf is in the state's shape, and in the body */
	in->imp->steps += before->n * (before->n / 2 + 3 * u->body->n_instructions);
	rc = hlo_check_steps(in);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < before->n; i++) {
		int64_t element = element_of(in->p->shape, i);
		bool same = hlo_is_empty(before->op[i]) ||
			    (element >= 0 && passes_on(u->body, (size_t)element));

		state[i] = same ? before->op[i] : build_state(&in->b, l.of.loop, before->op[i]);
		if (!state[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	rc = hlo_effects_begin(in, l.of.loop, &l.effects) ?: make_iteration(in, u, &l);
	return rc ? rc : end_loop(in, &l, v);
}

/* Nothing uses what an abandoned attempt has made. Attempts within one share its limits. */
static int unroll(struct hlo_inst *in, struct unrolling *u)
{
	struct hlo_import *imp = in->imp;
	unsigned int made = imp->made, loops = imp->loops;
	struct ncc_op *effect = imp->effect;
	const unsigned int share = made < NCC_MAX_OPS ? (NCC_MAX_OPS - made) / SHARE : 0;
	bool outermost = !imp->unrolled.made;
	int rc = ITERATION;

	if (outermost) {
		imp->unrolled.made = made + (share < MOST_UNROLLED ? share : MOST_UNROLLED);
		imp->unrolled.m_made = imp->m->made + MOST_UNROLLED;
	}

	while (rc == ITERATION) {
		rc = goes_on(in, u);
		if (rc == ITERATION)
			rc = iterate(in, u);
	}
	if (rc == NOT_UNROLLED) {
		imp->made = made;
		imp->loops = loops;
		imp->effect = effect;
	}

	if (outermost)
		imp->unrolled.made = imp->unrolled.m_made = 0;
	return rc;
}

/* The body's computation comes first, then the condition's. */
int hlo_while(struct hlo_inst *in, struct hlo_value *v)
{
	struct unrolling u = { .body = hlo_called(in, 0),
			       .cond = hlo_called(in, 1),
			       .made = in->imp->made,
			       .loops = in->imp->loops,
			       .transfers = in->imp->transfers };
	struct hlo_value before;
	int rc;

	if (!u.body || !u.cond || hlo_is_of_elements(in))
		return -EINVAL;
	if (in->nin != 1)
		return hlo_fail(in, -EINVAL, "%u operands, expected 1", in->nin);
	before = in->in[0];
	rc = hlo_layout(in, in->p->shape, &before, &u.layout) ?: hlo_pack(in, &u.layout, &before);
	if (rc)
		return rc;
	u.state = u.result = before;
	rc = unroll(in, &u);
	if (rc == NOT_UNROLLED)
		rc = make_loop(in, &u, &before, v);
	else
		*v = u.result;
	return rc ? rc : hlo_unpack(in, &u.layout, v);
}

int hlo_inline(struct hlo_inst *in, struct hlo_value *v)
{
	return hlo_call(in, hlo_called(in, 0), in->in, in->nin, v);
}
