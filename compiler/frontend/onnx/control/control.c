// SPDX-License-Identifier: MIT
/*
 * The operators that hold graphs: If of a constant condition, Loop of a constant number of
 * iterations (iterations.c has the others) and Scan, which are unrolled. Part of the ONNX front
 * end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "frontend/onnx/graph/graph.h"

static void import_if(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a;
	double v;

	if (onnx_in(n, 0) && !onnx_is_const(onnx_in(n, 0))) {
		onnx_if_of_data(n);
		return;
	}
	if (!onnx_in_scalar(n, 0, &v))
		return;
	a = onnx_attr(n, v != 0 ? "then_branch" : "else_branch");
	if (!a || !a->g)
		onnx_fail(n, -EINVAL, "a branch is missing");
	else
		onnx_run_graph(n, a->g, NULL, 0, n->out, n->nout);
}

/*
 * A loop being unrolled. Of the body's outputs the first is the condition, then come the carried
 * values, then the scan outputs.
 */
struct loop {
	const Ncc__Onnx__Graph *body;
	unsigned int carried, kept;
	int64_t trips;
	struct onnx_value *in, *out;
	onnx_op *parts; /* scan outputs, iteration by iteration */
	int64_t done;
	bool of_data; /* data decide the number of iterations */
};

static bool holds(struct loop *l)
{
	const struct onnx_value *v = &l->in[1];
	double d = 0;

	if (!v->op || !ncc_scalar_value(v->op, &d))
		l->of_data = true;
	return !l->of_data && d != 0;
}

static bool one_iteration(struct onnx_node *n, struct loop *l)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

	if (++n->imp->made > NCC_MAX_OPS) {
		onnx_fail(n, -EFBIG, "too large: more than %d operations", NCC_MAX_OPS);
		return false;
	}
	l->in[0] =
		(struct onnx_value){ .op = ox_scalar(n, &s, (double)l->done), .type = ONNX_INT64 };
	onnx_run_graph(n, l->body, l->in, l->carried + 2, l->out, l->carried + l->kept + 1);
	for (unsigned int i = 0; i < l->carried + 1 && !n->rc; i++)
		l->in[i + 1] = l->out[i];
	for (unsigned int k = 0; k < l->kept && !n->rc; k++) {
		const struct onnx_value *v = &l->out[l->carried + 1 + k];
		onnx_op x = v->op;
		int64_t dim[NCC_MAX_DIMS] = { 1 };

		if (!x || onnx_sized_but(v, NCC_MAX_DIMS)) {
			onnx_fail(n, -ENOTSUP,
				  "scan output %u is empty, or its size depends on the data", k);
			return false;
		}
		if (x->shape.ndim == NCC_MAX_DIMS) {
			onnx_fail(n, -ENOTSUP, "a result of rank 9");
			return false;
		}
		for (unsigned int d = 0; d < x->shape.ndim; d++)
			dim[d + 1] = x->shape.dim[d];
		l->parts[k * l->trips + l->done] = ox_reshape(n, x, x->shape.ndim + 1, dim);
	}
	l->done++;
	return !n->rc;
}

static void first_trip(struct onnx_node *n, struct loop *l)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT8, .pred = true };

	l->done = 0;
	l->in[1] = n->nin > 1 && n->in[1].op
			   ? n->in[1]
			   : (struct onnx_value){ .op = ox_scalar(n, &s, 1), .type = ONNX_BOOL };
	for (unsigned int i = 0; i < l->carried; i++)
		l->in[i + 2] = n->in[i + 2];
}

static void run_loop(struct onnx_node *n, struct loop *l)
{
	first_trip(n, l);
	while (!n->rc && l->done < l->trips && holds(l) && one_iteration(n, l))
		;
	if (n->rc || l->of_data)
		return;
	if (!l->done && l->kept)
		onnx_fail(n, -ENOTSUP, "no trip: the results are empty");
	if (!n->rc && l->done == l->trips && l->done == ONNX_MAX_ITERATIONS)
		onnx_fail(n, -EFBIG, "more than %d trips", ONNX_MAX_ITERATIONS - 1);
	for (unsigned int i = 0; i < l->carried && !n->rc; i++)
		n->out[i] = l->in[i + 2];
	for (unsigned int k = 0; k < l->kept && !n->rc; k++)
		onnx_give_as(n, l->carried + k,
			     ox_concat(n, l->parts + k * l->trips, (unsigned int)l->done, 0),
			     l->out[l->carried + 1 + k].type);
}

static void run_loop_of_data(struct onnx_node *n, struct loop *l)
{
	if (l->kept) {
		onnx_fail(n, -ENOTSUP,
			  "the number of trips depends on the data, and the shape of output %u on "
			  "it",
			  l->carried);
		return;
	}
	first_trip(n, l);
	if (!n->rc)
		onnx_loop_of_data(n, l->body, l->in, l->out, l->carried);
}

static void import_loop(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "body");
	struct loop l = { .trips = ONNX_MAX_ITERATIONS };
	double v;

	if (!a || !a->g || n->nin < 2 || a->g->n_output < n->nin - 1 ||
	    n->nout != a->g->n_output - 1) {
		onnx_fail(n, -EINVAL, "the body is missing, or has other operands or results");
		return;
	}

	l.body = a->g;
	l.carried = n->nin - 2;
	l.kept = n->nout - l.carried;
	/* Scan outputs have a shape only if the number of iterations is known. */
	if (l.kept && n->in[1].op && !onnx_is_const(n->in[1].op) && !onnx_in_scalar(n, 1, &v))
		return;
	l.of_data = !l.kept && onnx_in(n, 0) && !onnx_is_const(onnx_in(n, 0));
	if (onnx_in(n, 0) && !l.of_data) {
		if (!onnx_in_scalar(n, 0, &v))
			return;
		if (v < l.trips)
			l.trips = v < 0 ? 0 : (int64_t)v;
	}

	l.in = calloc(l.carried + 2, sizeof(*l.in));
	l.out = calloc(n->nout + 1, sizeof(*l.out));
	l.parts = calloc((size_t)l.kept * l.trips + 1, sizeof(onnx_op));
	if (!l.in || !l.out || !l.parts)
		onnx_fail(n, -ENOMEM, "out of memory");
	else if (!l.of_data)
		run_loop(n, &l);
	if (!n->rc && l.of_data)
		run_loop_of_data(n, &l);
	free(l.in);
	free(l.out);
	free(l.parts);
}

/*
 * The operands are states, then what is scanned, of which each iteration gets one element along an
 * axis. The body gives the next iteration's states, then elements of the scan outputs.
 */
struct scan {
	const Ncc__Onnx__Graph *body;
	unsigned int states, scanned, kept;
	int64_t length;
	const char *directions; /* the name of that attribute */
	struct onnx_value *x; /* what is scanned */
	struct onnx_value *in, *out; /* of the body */
	onnx_op *parts; /* scan outputs, iteration by iteration */
};

/* Number i of a list; 0 if the list is absent */
static int64_t listed(const struct onnx_node *n, const char *name, unsigned int i)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a && i < a->n_ints ? a->ints[i] : 0;
}

static onnx_op element_of(struct onnx_node *n, onnx_op x, unsigned int axis, int64_t i)
{
	int64_t dim[NCC_MAX_DIMS];
	unsigned int k = 0;

	if (!x || n->rc)
		return NULL;
	for (unsigned int d = 0; d < x->shape.ndim; d++)
		if (d != axis)
			dim[k++] = x->shape.dim[d];
	return ox_reshape(n, ox_slice(n, x, axis, i, 1, 1), k, dim);
}

static void scan_iteration(struct onnx_node *n, struct scan *s, int64_t iteration)
{
	for (unsigned int i = 0; i < s->scanned && !n->rc; i++) {
		onnx_op x = s->x[i].op;
		unsigned int axis = onnx_axis(n, listed(n, "scan_input_axes", i), x->shape.ndim);
		int64_t t = listed(n, s->directions, i) ? s->length - 1 - iteration : iteration;

		s->in[s->states + i] = (struct onnx_value){ .op = element_of(n, x, axis, t),
							    .type = s->x[i].type };
	}
	n->imp->made++;
	if (!n->rc)
		onnx_run_graph(n, s->body, s->in, s->states + s->scanned, s->out,
			       s->states + s->kept);
	for (unsigned int i = 0; i < s->states && !n->rc; i++)
		s->in[i] = s->out[i];
	for (unsigned int k = 0; k < s->kept && !n->rc; k++) {
		const struct onnx_value *v = &s->out[s->states + k];
		onnx_op y = v->op;
		int64_t t = listed(n, "scan_output_directions", k) ? s->length - 1 - iteration
								   : iteration;
		unsigned int axis;

		if (!y || onnx_sized_but(v, NCC_MAX_DIMS)) {
			onnx_fail(n, -ENOTSUP,
				  "scan output %u is empty, or its size depends on the data", k);
			return;
		}
		axis = onnx_axis(n, listed(n, "scan_output_axes", k), y->shape.ndim + 1);
		s->parts[k * s->length + t] = ox_insert(n, y, axis);
	}
}

/* Runs all iterations from the states in s->in; the results go to s->out. */
static void scan_all(struct onnx_node *n, struct scan *s)
{
	for (int64_t t = 0; t < s->length && !n->rc; t++)
		scan_iteration(n, s, t);
	for (unsigned int k = 0; k < s->kept && !n->rc; k++) {
		onnx_op *part = s->parts + k * s->length;
		unsigned int axis =
			onnx_axis(n, listed(n, "scan_output_axes", k), part[0]->shape.ndim);

		s->out[s->states + k].op = ox_concat(n, part, (unsigned int)s->length, axis);
	}
}

static bool scan_length(struct onnx_node *n, struct scan *s)
{
	for (unsigned int i = 0; i < s->scanned && !n->rc; i++) {
		const struct ncc_shape *x = &s->x[i].op->shape;
		unsigned int axis = onnx_axis(n, listed(n, "scan_input_axes", i), x->ndim);

		if (n->rc)
			break;
		if (i && x->dim[axis] != s->length)
			onnx_fail(n, -EINVAL, "operands of %lld and %lld elements to scan",
				  (long long)s->length, (long long)x->dim[axis]);
		s->length = x->dim[axis];
	}
	if (!n->rc && s->length >= ONNX_MAX_ITERATIONS)
		onnx_fail(n, -EFBIG, "more than %d iterations", ONNX_MAX_ITERATIONS - 1);
	return !n->rc;
}

static void run_scan(struct onnx_node *n, struct scan *s)
{
	if (!scan_length(n, s))
		return;
	s->parts = calloc((size_t)s->kept * s->length + 1, sizeof(*s->parts));
	if (!s->parts) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	scan_all(n, s);
	free(s->parts);
}

/*
 * Before operator set 9 everything has a leading batch dimension, and each batch is a scan of its
 * own.
 */
static void scan_batch(struct onnx_node *n, struct scan *s, const struct onnx_value *given)
{
	const unsigned int count = s->states + s->scanned;
	int64_t batch = given[0].op->shape.ndim ? given[0].op->shape.dim[0] : 0;

	for (unsigned int i = 0; i < count && !n->rc; i++)
		if (given[i].op->shape.ndim < 1 || given[i].op->shape.dim[0] != batch)
			onnx_fail(n, -EINVAL, "operands of different batches");
	for (int64_t b = 0; b < batch && !n->rc; b++) {
		for (unsigned int i = 0; i < count; i++) {
			struct onnx_value *v = i < s->states ? &s->in[i] : &s->x[i - s->states];

			*v = (struct onnx_value){ .op = element_of(n, given[i].op, 0, b),
						  .type = given[i].type };
		}
		if (!n->rc)
			run_scan(n, s);
		for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
			onnx_op both[2] = { n->out[i].op, ox_insert(n, s->out[i].op, 0) };

			onnx_give_as(n, i, b ? ox_concat(n, both, 2, 0) : both[1], s->out[i].type);
		}
	}
}

static bool take_scan(struct onnx_node *n, struct scan *s, unsigned int first)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "body");
	int64_t scanned = onnx_int(n, "num_scan_inputs");

	if (!a || !a->g || scanned < 1 || n->nin < first + scanned || a->g->n_output != n->nout ||
	    n->nout < n->nin - first - scanned) {
		onnx_fail(n, -EINVAL, "the body is missing, or has other operands or results");
		return false;
	}
	for (unsigned int i = first; i < n->nin; i++)
		if (!n->in[i].op)
			onnx_fail(n, -EINVAL, "operand %u is missing", i);
	if (first && onnx_in(n, 0))
		onnx_fail(n, -ENOTSUP, "sequence_lens is not supported");
	s->body = a->g;
	s->scanned = (unsigned int)scanned;
	s->states = n->nin - first - s->scanned;
	s->kept = n->nout - s->states;
	return !n->rc;
}

static void import_scan(struct onnx_node *n)
{
	const bool batched = n->opset < 9;
	struct scan s = { .directions = batched ? "directions" : "scan_input_directions" };

	if (!take_scan(n, &s, batched))
		return;
	s.in = calloc(n->nin, sizeof(*s.in));
	s.x = calloc(n->nin, sizeof(*s.x));
	s.out = calloc(n->nout, sizeof(*s.out));
	if (!s.in || !s.x || !s.out) {
		onnx_fail(n, -ENOMEM, "out of memory");
	} else if (batched) {
		scan_batch(n, &s, n->in + 1);
	} else {
		memcpy(s.in, n->in, s.states * sizeof(*s.in));
		memcpy(s.x, n->in + s.states, s.scanned * sizeof(*s.x));
		run_scan(n, &s);
		for (unsigned int i = 0; i < n->nout && !n->rc; i++)
			n->out[i] = s.out[i];
	}

	free(s.in);
	free(s.x);
	free(s.out);
}

const struct onnx_rule onnx_control[] = {
	/* clang-format off */
	{ "If",   1,  1, .import = import_if,
	  .attrs = ONNX_ATTRS(
		ATTR("else_branch", GRAPH, .needed = true),
		ATTR("then_branch", GRAPH, .needed = true)) },
	{ "Loop", 2, -1, .import = import_loop, .empty = ONNX_EMPTY_ANY, .sequences = true,
	  .attrs = ONNX_ATTRS(
		ATTR("body", GRAPH, .needed = true)) },
	{ "Scan", 0, -1, .import = import_scan, .empty = ONNX_EMPTY_ANY, .since = 8,
	  .attrs = ONNX_ATTRS(
		ATTR("body", GRAPH, .needed = true), ATTR("directions", INTS, .until = 8),
		ATTR("num_scan_inputs", INT, .needed = true),
		ATTR("scan_input_axes", INTS, .from = 9),
		ATTR("scan_input_directions", INTS, .from = 9),
		ATTR("scan_output_axes", INTS, .from = 9),
		ATTR("scan_output_directions", INTS, .from = 9)) },
	{ .op_type = NULL },
	/* clang-format on */
};
