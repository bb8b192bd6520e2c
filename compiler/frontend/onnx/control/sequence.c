// SPDX-License-Identifier: MIT
/*
 * Sequences of tensors, as exporters write them: their lengths, and the places in them that are
 * asked for, are known when the model is read, so that nothing is left of the sequence itself. Part
 * of the ONNX front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "frontend/onnx/graph/graph.h"

#define MOST_ITEMS 1024

/* Makes one with room for n items; the work of it counts. */
static struct onnx_sequence *new_sequence(struct onnx_node *n, unsigned int count)
{
	struct onnx_sequence *s;

	if (n->rc)
		return NULL;
	n->imp->made += count / 64 + 1;
	if (count > MOST_ITEMS || n->imp->made > NCC_MAX_OPS) {
		onnx_fail(n, -EFBIG,
			  "too large: a sequence of %u tensors, at most %d are supported", count,
			  MOST_ITEMS);
		return NULL;
	}
	s = ncc_alloc(n->imp->m, sizeof(*s));
	if (s)
		s->item = ncc_alloc(n->imp->m, (count + 1) * sizeof(*s->item));
	if (s && s->item)
		return s;
	onnx_fail(n, -ENOMEM, "out of memory");
	return NULL;
}

static void append(struct onnx_node *n, struct onnx_sequence *s, const struct onnx_value *v)
{
	struct onnx_value *kept = n->rc || !s ? NULL : ncc_alloc(n->imp->m, sizeof(*kept));

	if (!kept) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	*kept = *v;
	s->item[s->n++] = kept;
}

static void append_op(struct onnx_node *n, struct onnx_sequence *s, onnx_op op, int32_t type)
{
	const struct onnx_value v = { .op = op, .type = type };

	if (op && !n->rc)
		append(n, s, &v);
}

static void give(struct onnx_node *n, unsigned int i, const struct onnx_sequence *s)
{
	if (s && !n->rc && i < n->nout)
		n->out[i] = (struct onnx_value){ .type = ONNX_SEQUENCE, .sequence = s };
}

/* Operand i; NULL: it is none, n->rc is set */
static const struct onnx_sequence *sequence_in(struct onnx_node *n, unsigned int i)
{
	const struct onnx_sequence *s = i < n->nin ? n->in[i].sequence : NULL;

	if (!s)
		onnx_fail(n, -EINVAL, "operand %u is not a sequence", i);
	return s;
}

/* The place that operand i names: one of count, from the end if it is negative */
static bool place_in(struct onnx_node *n, unsigned int i, unsigned int count, unsigned int *at)
{
	double v = 0;

	if (n->rc || !onnx_in_scalar(n, i, &v))
		return false;
	v += v < 0 ? count : 0;
	if (v < 0 || v >= count) {
		onnx_fail(n, -EINVAL, "no place %g in a sequence of %u", v, count);
		return false;
	}
	*at = (unsigned int)v;
	return true;
}

static void import_empty(struct onnx_node *n)
{
	give(n, 0, new_sequence(n, 0));
}

static void import_construct(struct onnx_node *n)
{
	struct onnx_sequence *s = new_sequence(n, n->nin);

	for (unsigned int i = 0; i < n->nin && s && !n->rc; i++)
		append(n, s, &n->in[i]);
	give(n, 0, s);
}

static void import_at(struct onnx_node *n)
{
	const struct onnx_sequence *s = sequence_in(n, 0);
	unsigned int at;

	if (s && place_in(n, 1, s->n, &at) && n->nout)
		n->out[0] = *s->item[at];
}

static void import_length(struct onnx_node *n)
{
	const struct onnx_sequence *s = sequence_in(n, 0);
	const struct ncc_shape one = { .dtype = NEURON_DT_INT32 };

	if (s)
		onnx_give_as(n, 0, ox_scalar(n, &one, s->n), ONNX_INT64);
}

/* In place of which item, or behind all */
static bool place_to_insert(struct onnx_node *n, unsigned int count, unsigned int *at)
{
	double v = count;

	if (onnx_in(n, 2) && !onnx_in_scalar(n, 2, &v))
		return false;
	v += v < 0 ? count : 0;
	if (v < 0 || v > count)
		onnx_fail(n, -EINVAL, "no place to insert in a sequence of %u", count);
	*at = n->rc ? 0 : (unsigned int)v;
	return !n->rc;
}

static void import_insert(struct onnx_node *n)
{
	const struct onnx_sequence *s = sequence_in(n, 0);
	struct onnx_sequence *to;
	unsigned int at;

	if (!s || !place_to_insert(n, s->n, &at))
		return;
	to = new_sequence(n, s->n + 1);
	for (unsigned int i = 0; i <= s->n && to && !n->rc; i++)
		append(n, to, i == at ? &n->in[1] : s->item[i - (i > at)]);
	give(n, 0, to);
}

static void import_erase(struct onnx_node *n)
{
	const struct onnx_sequence *s = sequence_in(n, 0);
	unsigned int at = s && s->n ? s->n - 1 : 0;
	struct onnx_sequence *to;

	if (!s || (onnx_in(n, 1) && !place_in(n, 1, s->n, &at)))
		return;
	to = new_sequence(n, s->n);
	for (unsigned int i = 0; i < s->n && to && !n->rc; i++)
		if (i != at)
			append(n, to, s->item[i]);
	give(n, 0, to);
}

/* The parts that a list says, or of one size each, of which the last one may be smaller */
static void split(struct onnx_node *n, struct onnx_sequence *s, const int64_t *part,
		  unsigned int count, unsigned int axis)
{
	const bool list = onnx_in(n, 1) && onnx_in(n, 1)->shape.ndim;
	const int64_t size = onnx_in(n, 0)->shape.dim[axis];
	int64_t from = 0;

	for (unsigned int i = 0; i < count && !n->rc; i++) {
		int64_t left = size - from, want = part[list ? i : 0];

		if (!list && want > left)
			want = left;
		if (want < 1 || want > left) {
			onnx_fail(n, -ENOTSUP, "a part of %lld of the %lld that are left",
				  (long long)want, (long long)left);
			return;
		}
		append_op(n, s, ox_slice(n, onnx_in(n, 0), axis, from, want, 1), n->in[0].type);
		from += want;
	}
	if (from != size)
		onnx_fail(n, -EINVAL, "parts of %lld, the dimension has %lld", (long long)from,
			  (long long)size);
}

static onnx_op without(struct onnx_node *n, onnx_op x, unsigned int axis)
{
	int64_t dim[NCC_MAX_DIMS];
	unsigned int nd = 0;

	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (i != axis)
			dim[nd++] = x->shape.dim[i];
	return ox_reshape(n, x, nd, dim);
}

static void import_split(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim), count = 1;
	const bool dropped = !onnx_in(n, 1) && !onnx_int(n, "keepdims");
	int64_t part[MOST_ITEMS] = { 1 }, parts;
	struct onnx_sequence *s;

	if (n->rc || (onnx_in(n, 1) && !onnx_in_ints(n, 1, part, MOST_ITEMS, &count)))
		return;
	if (!onnx_in(n, 1) || !onnx_in(n, 1)->shape.ndim) {
		parts = part[0] > 0 ? (x->shape.dim[axis] - 1) / part[0] + 1 : 1;
		count = parts > MOST_ITEMS ? MOST_ITEMS + 1 : (unsigned int)parts;
	}
	s = new_sequence(n, count);
	if (!s)
		return;
	split(n, s, part, count, axis);
	for (unsigned int i = 0; i < s->n && dropped && !n->rc; i++)
		((struct onnx_value *)s->item[i])->op = without(n, s->item[i]->op, axis);
	give(n, 0, s);
}

static void import_concat(struct onnx_node *n)
{
	const struct onnx_sequence *s = sequence_in(n, 0);
	const bool stacked = onnx_int(n, "new_axis");
	onnx_op part[MOST_ITEMS];
	unsigned int axis = 0;

	for (unsigned int i = 0; s && i < s->n && !n->rc; i++) {
		part[i] = s->item[i]->op;
		if (!part[i] || onnx_sized_but(s->item[i], NCC_MAX_DIMS))
			onnx_fail(n, -ENOTSUP,
				  "tensor %u is empty, or its size depends on the data", i);
		else if (!i)
			axis = onnx_axis(n, onnx_int(n, "axis"), part[i]->shape.ndim + stacked);
		part[i] = stacked && !n->rc ? ox_insert(n, part[i], axis) : part[i];
	}
	if (s && !s->n)
		onnx_fail(n, -ENOTSUP, "of no tensors is not supported");
	if (s && !n->rc)
		onnx_give_as(n, 0, ox_concat(n, part, s->n, axis), s->item[0]->type);
}

/* The body's operands for item i: of sequences that one, and tensors as they are */
static bool take_items(struct onnx_node *n, unsigned int i, struct onnx_value *in)
{
	for (unsigned int k = 0; k < n->nin && !n->rc; k++) {
		const struct onnx_sequence *s = n->in[k].sequence;

		if (s && i >= s->n)
			onnx_fail(n, -EINVAL, "sequences of other lengths than the first");
		else
			in[k] = s ? *s->item[i] : n->in[k];
	}
	return !n->rc;
}

static void map(struct onnx_node *n, const Ncc__Onnx__Graph *body, struct onnx_value *in,
		struct onnx_value *out)
{
	const unsigned int count = n->in[0].sequence->n;
	struct onnx_sequence *s[ONNX_MAX_OUTPUTS];

	for (unsigned int k = 0; k < n->nout; k++)
		s[k] = new_sequence(n, count);
	for (unsigned int i = 0; i < count && !n->rc && take_items(n, i, in); i++) {
		memset(out, 0, n->nout * sizeof(*out));
		onnx_run_graph(n, body, in, n->nin, out, n->nout);
		for (unsigned int k = 0; k < n->nout && !n->rc; k++)
			append(n, s[k], &out[k]);
	}
	for (unsigned int k = 0; k < n->nout; k++)
		give(n, k, s[k]);
}

static void import_map(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *body = onnx_attr(n, "body");
	struct onnx_value *in = calloc(n->nin + n->nout + 1, sizeof(*in));

	if (!in)
		onnx_fail(n, -ENOMEM, "out of memory");
	else if (!body || !body->g)
		onnx_fail(n, -EINVAL, "no body");
	else if (sequence_in(n, 0))
		map(n, body->g, in, in + n->nin);
	free(in);
}

const struct onnx_rule onnx_sequence[] = {
	/* clang-format off */
	{ "ConcatFromSequence", 1,  1, .import = import_concat,    .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .needed = true), ATTR("new_axis", INT)) },
	{ "SequenceAt",         2,  2, .import = import_at,        .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 11 },
	{ "SequenceConstruct",  1, -1, .import = import_construct, .empty = ONNX_EMPTY_ANY, .since = 11 },
	{ "SequenceEmpty",      0,  0, .import = import_empty, .since = 11, .attrs = ONNX_ATTRS(ATTR("dtype", INT)) },
	{ "SequenceErase",      1,  2, .import = import_erase,     .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 11 },
	{ "SequenceInsert",     2,  3, .import = import_insert,    .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 11 },
	{ "SequenceLength",     1,  1, .import = import_length,    .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 11 },
	{ "SequenceMap",        1, -1, .import = import_map,       .sequences = true, .empty = ONNX_EMPTY_ANY, .since = 17,
	  .attrs = ONNX_ATTRS(
		ATTR("body", GRAPH, .needed = true)) },
	{ "SplitToSequence",    1,  2, .import = import_split, .since = 11, .attrs = ONNX_ATTRS(ATTR("axis", INT), ATTR("keepdims", INT, .i = 1)) },
	{ .op_type = NULL },
	/* clang-format on */
};
