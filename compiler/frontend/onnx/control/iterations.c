// SPDX-License-Identifier: MIT
/*
 * If and Loop of ONNX whose conditions depend on data. Both branches of an If are computed and one
 * is chosen; a Loop becomes a loop of the IR (NCC_LOOP), which is not entered within a branch that
 * is not chosen. Called by control.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "control.h"
#include "frontend/onnx/graph/graph.h"

/* A condition or a number, which may come as a tensor of one element */
static onnx_op scalar(struct onnx_node *n, onnx_op x)
{
	if (x && ncc_elems(&x->shape) != 1)
		onnx_fail(n, -EINVAL, "%lld elements where there is one condition or number",
			  (long long)ncc_elems(&x->shape));
	return ox_reshape(n, x, 0, NULL);
}

static onnx_op both(struct onnx_node *n, onnx_op a, onnx_op b)
{
	return build_both(onnx_now(n), a, b);
}

static onnx_op choice(struct onnx_node *n, onnx_op p, onnx_op a, onnx_op b)
{
	return build_choice(onnx_now(n), p, a, b);
}

/* Runs a branch, whose results count where p holds. */
static void run_branch(struct onnx_node *n, const char *name, onnx_op p, struct onnx_value *out)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);
	onnx_op before = n->imp->guard;

	if (!a || !a->g) {
		onnx_fail(n, -EINVAL, "a branch is missing");
		return;
	}
	n->imp->guard = both(n, before, p);
	if (!n->rc)
		onnx_run_graph(n, a->g, NULL, 0, out, n->nout);
	n->imp->guard = before;
}

static bool same_shape(const struct onnx_value *a, const struct onnx_value *b)
{
	return a->op && b->op && !onnx_sized_but(a, NCC_MAX_DIMS) &&
	       !onnx_sized_but(b, NCC_MAX_DIMS) && a->type == b->type &&
	       ncc_same_dims(&a->op->shape, &b->op->shape) &&
	       a->op->shape.dtype == b->op->shape.dtype;
}

/* v's elements, and in each dimension as many more as there are in the other branch */
static onnx_op grown(struct onnx_node *n, const struct onnx_value *v, const struct ncc_shape *other)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };

	for (unsigned int d = 0; d < other->ndim; d++)
		if (other->dim[d] > v->op->shape.dim[d])
			high[d] = other->dim[d] - v->op->shape.dim[d];
	return ox_pad(n, v->op, ox_scalar(n, &v->op->shape, 0), low, high);
}

/* Output i of branches that have different sizes, or whose sizes depend on data */
static void merge_sizes(struct onnx_node *n, unsigned int i, onnx_op p, struct onnx_value *yes)
{
	struct onnx_value *no = &n->out[i];
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	if (!yes->op)
		onnx_fill_empty(n, yes);
	if (!no->op)
		onnx_fill_empty(n, no);
	if (n->rc)
		return;
	if (yes->type != no->type || yes->op->shape.ndim != no->op->shape.ndim ||
	    yes->op->shape.dtype != no->op->shape.dtype) {
		onnx_fail(n, -ENOTSUP,
			  "the condition depends on the data, and the type or rank of output %u on "
			  "it",
			  i);
		return;
	}
	for (unsigned int d = 0; d < no->op->shape.ndim; d++) {
		onnx_op many, few;

		if (!yes->size[d] && !no->size[d] && yes->op->shape.dim[d] == no->op->shape.dim[d])
			continue;
		many = onnx_size_or_bound(n, yes, d);
		few = onnx_size_or_bound(n, no, d);
		size[d] = n->rc || sizes_same(many, few) ? many : choice(n, p, many, few);
	}
	if (n->rc)
		return;
	onnx_give_sizes(n, i,
			choice(n, p, grown(n, yes, &no->op->shape), grown(n, no, &yes->op->shape)),
			no->type, size);
}

void onnx_if_of_data(struct onnx_node *n)
{
	struct onnx_value *yes = calloc(n->nout + 1, sizeof(*yes));
	onnx_op p = scalar(n, onnx_in(n, 0));

	if (!yes)
		onnx_fail(n, -ENOMEM, "out of memory");
	if (!n->rc)
		run_branch(n, "then_branch", p, yes);
	if (!n->rc)
		run_branch(n, "else_branch", ox_un(n, NCC_NOT, p), n->out);

	for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
		if (!same_shape(&yes[i], &n->out[i]))
			merge_sizes(n, i, p, &yes[i]);
		else
			n->out[i].op = choice(n, p, yes[i].op, n->out[i].op);
	}
	free(yes);
}

struct iterations {
	unsigned int n; /* number of states: iteration, condition, carried values */
	onnx_op most; /* number of iterations; NULL: no limit */
	struct ncc_looping of;
};

/* Is there an iteration of that number? */
static onnx_op goes_on(struct onnx_node *n, const struct iterations *t, onnx_op trip,
		       onnx_op condition)
{
	onnx_op p = scalar(n, condition);

	if (t->most)
		p = both(n, p, ox_bin(n, NCC_LT, trip, t->most));
	return n->rc ? NULL : both(n, n->imp->guard, p);
}

/* The loop, and in the place of the values before it those of an iteration; first: is there one? */
static void make_states(struct onnx_node *n, struct iterations *t, onnx_op first,
			struct onnx_value *in)
{
	if (!build_begin(&n->b, &t->of, first, t->n))
		onnx_fail(n, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < t->n && !n->rc; i++) {
		if (!in[i].op)
			onnx_fail(n, -ENOTSUP, "a value that is carried is missing or empty");
		else
			in[i].op = build_state(&n->b, t->of.loop, in[i].op);
		if (!in[i].op)
			onnx_fail(n, -ENOMEM, "out of memory");
	}
}

/* The value of each state in the next iteration, which out has, but for the first one's */
static void carry(struct onnx_node *n, struct iterations *t, const struct onnx_value *in,
		  const struct onnx_value *out)
{
	build_carry(&t->of, in[0].op, ox_binc(n, NCC_ADD, in[0].op, 1));
	for (unsigned int i = 1; i < t->n && !n->rc; i++) {
		if (!same_shape(&in[i], &out[i - 1]))
			onnx_fail(n, -ENOTSUP,
				  "the number of trips depends on the data, and the type or shape "
				  "of input %u of the body on it",
				  i);
		build_carry(&t->of, in[i].op, out[i - 1].op);
	}
}

static void run_iterations(struct onnx_node *n, const Ncc__Onnx__Graph *body, struct iterations *t,
			   struct onnx_value *in, struct onnx_value *out)
{
	onnx_op end, again, before = n->imp->guard;

	make_states(n, t, goes_on(n, t, in[0].op, in[1].op), in);
	n->imp->guard = scalar(n, in[1].op); /* a loop within is entered in an iteration only */
	if (!n->rc)
		onnx_run_graph(n, body, in, t->n, out, t->n - 1);

	n->imp->guard = before;
	if (!n->rc)
		carry(n, t, in, out);
	again = n->rc ? NULL : goes_on(n, t, t->of.next[0], out[0].op);
	end = n->rc ? NULL : build_end(&n->b, &t->of, again);
	for (unsigned int i = 2; i < t->n && !n->rc; i++) {
		onnx_op r = end ? build_loop_result(&n->b, end, t->of.state[i]) : NULL;

		if (!r)
			onnx_fail(n, -ENOMEM, "out of memory");
		else
			onnx_give_as(n, i - 2, r, in[i].type);
	}
}

void onnx_loop_of_data(struct onnx_node *n, const Ncc__Onnx__Graph *body, struct onnx_value *in,
		       struct onnx_value *out, unsigned int carried)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32 };
	struct iterations t = { .n = carried + 2 };

	if (onnx_in(n, 0))
		t.most = scalar(n, onnx_in(n, 0));
	in[0] = (struct onnx_value){ .op = ox_scalar(n, &s, 0), .type = ONNX_INT64 };
	if (!n->rc)
		run_iterations(n, body, &t, in, out);
}
