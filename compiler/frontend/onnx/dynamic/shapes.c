// SPDX-License-Identifier: MIT
/*
 * Rules (dynamic.h) of operators whose shapes and limits depend on the data. Part of the ONNX front
 * end.
 */
#include <errno.h>
#include <string.h>

#include "dynamic.h"

/* A list of dimensions, some of which depend on the data */
static bool take_dims(struct onnx_node *n, onnx_op list, int64_t *dim, unsigned int *ndim,
		      onnx_op *size)
{
	*ndim = list->shape.ndim ? (unsigned int)list->shape.dim[0] : 1;
	if (list->shape.ndim > 1 || *ndim > NCC_MAX_DIMS) {
		onnx_fail(n, -EINVAL, "a shape that is no list");
		return false;
	}
	for (unsigned int i = 0; i < *ndim; i++) {
		struct onnx_number d;

		if (!onnx_number(n, list, i, &d))
			return false;
		dim[i] = d.value;
		size[i] = d.op;
		if (!d.op || d.value != INT32_MAX)
			continue;
		onnx_fail(n, -ENOTSUP, "dimension %u depends on the data, without a bound", i);
		return false;
	}
	return true;
}

/* The operand list i with the bounds in place of what depends on the data */
static void set_list(struct onnx_node *n, unsigned int i, const int64_t *v, unsigned int count)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { count } };
	onnx_op op = ox_data(n, &s);

	for (unsigned int k = 0; op && k < count; k++)
		ncc_set(s.dtype, op->data, k, (double)(v[k] ? v[k] : 1));
	n->in[i] = (struct onnx_value){ .op = op, .type = ONNX_INT64 };
}

void sized_constant_of_shape(struct onnx_node *n)
{
	onnx_op size[NCC_MAX_DIMS] = { NULL };
	int64_t dim[NCC_MAX_DIMS];
	unsigned int ndim;

	if (!take_dims(n, onnx_in(n, 0), dim, &ndim, size))
		return;
	for (unsigned int i = 0; i < ndim; i++)
		if (dim[i] < 1)
			onnx_fail(n, -ENOTSUP,
				  "dimension %u of %lld, beside one that depends on "
				  "the data",
				  i, (long long)dim[i]);
	set_list(n, 0, dim, ndim);
	if (!n->rc)
		sized_import(n, size);
}

/* Expand to a shape with sizes, or of an operand that has them */
void sized_expand(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	onnx_op wanted[NCC_MAX_DIMS] = { NULL }, size[NCC_MAX_DIMS] = { NULL };
	int64_t dim[NCC_MAX_DIMS];
	unsigned int nd = v->op->shape.ndim, ndim, all;

	if (!onnx_in(n, 1)) { /* an empty list */
		memcpy(size, v->size, sizeof(size));
		sized_import(n, size);
		return;
	}
	if (!take_dims(n, onnx_in(n, 1), dim, &ndim, wanted))
		return;
	all = nd > ndim ? nd : ndim;
	for (unsigned int back = 0; back < all && !n->rc; back++) {
		const unsigned int own = nd - 1 - back, other = ndim - 1 - back;
		const onnx_op have = back < nd ? v->size[own] : NULL;
		const onnx_op want = back < ndim ? wanted[other] : NULL;
		onnx_op *to = &size[all - 1 - back];

		*to = sized_both(n, have, want);
		if (have && back < ndim && (want || dim[other] == 1))
			dim[other] = v->op->shape.dim[own];
		else if (have && back < ndim)
			onnx_fail(n, -ENOTSUP,
				  "dimension %u, whose size depends on the data, to %lld", own,
				  (long long)dim[other]);
		else if (want && back < nd && v->op->shape.dim[own] != 1)
			onnx_fail(n, -ENOTSUP,
				  "dimension %u of %lld to a size that depends on the data", own,
				  (long long)v->op->shape.dim[own]);
	}
	if (n->rc)
		return;
	set_list(n, 1, dim, ndim);
	if (!n->rc)
		sized_import(n, size);
}

/* Whole numbers from a constant on, in steps of 1 */
void sized_range(struct onnx_node *n)
{
	struct onnx_number first, end, step;
	onnx_op x;

	if (ncc_is_float(onnx_in(n, 0)->shape.dtype)) {
		onnx_fail(n, -ENOTSUP, "of floats, to a limit that depends on the data");
		return;
	}
	if (!onnx_number(n, onnx_in(n, 0), 0, &first) || !onnx_number(n, onnx_in(n, 1), 0, &end) ||
	    !onnx_number(n, onnx_in(n, 2), 0, &step))
		return;
	if (first.op || step.op || step.value != 1 || end.value == INT32_MAX ||
	    end.value <= first.value) {
		onnx_fail(n, -ENOTSUP,
			  "a start or step that depends on the data, or a limit without a bound");
		return;
	}
	x = ox_binc(n, NCC_ADD, ox_iota(n, NEURON_DT_INT32, end.value - first.value),
		    (double)first.value);
	onnx_give_some(n, 0, ox_cast_like(n, x, onnx_in(n, 0)), n->in[0].type, 0,
		       ox_binc(n, NCC_MAX,
			       ox_binc(n, NCC_SUB, end.op ? end.op : onnx_number_op(n, &end),
				       (double)first.value),
			       0));
}

static int64_t within(int64_t i, int64_t size)
{
	i += i < 0 ? size : 0;
	return i < 0 ? 0 : i > size ? size : i;
}

static void cut_static(struct onnx_node *n, struct onnx_value *v, unsigned int d, int64_t start,
		       int64_t end, int64_t step)
{
	const int64_t size = v->op->shape.dim[d];

	start = within(start, size);
	end = within(end, size);
	if (start < end)
		v->op = ox_slice(n, v->op, d, start, (end - start + step - 1) / step, step);
	else
		onnx_fail(n, -ENOTSUP,
			  "dimension %u has nothing left, and one that depends on the "
			  "data besides",
			  d);
}

/* The last `count` of dimension d, or those that there are */
static void cut_last(struct onnx_node *n, struct onnx_value *v, unsigned int d, int64_t count)
{
	onnx_op first;

	first = ox_binc(n, NCC_MAX, ox_binc(n, NCC_SUB, v->size[d], (double)count), 0);
	v->op = ox_take(n, v->op, ox_bin(n, NCC_ADD, ox_iota(n, NEURON_DT_INT32, count), first), d);
	v->size[d] = ox_binc(n, NCC_MIN, v->size[d], (double)count);
}

/* Cuts from a constant on, to an end that may count from the end. */
static void cut(struct onnx_node *n, struct onnx_value *v, unsigned int d,
		const struct onnx_number *start, const struct onnx_number *end, int64_t step)
{
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };
	int64_t bound = v->op->shape.dim[d], most;
	struct onnx_number known;
	onnx_op all, last;

	if (!v->size[d] && !start->op && !end->op) {
		cut_static(n, v, d, start->value, end->value, step);
		return;
	}
	if (step != 1) {
		onnx_fail(n, -ENOTSUP, "dimension %u in steps, where its size depends on the data",
			  d);
		return;
	}
	if (!start->op && start->value < 0 && !end->op && end->value >= bound && v->size[d]) {
		cut_last(n, v, d, start->value < -bound ? bound : -start->value);
		return;
	}
	if (start->op || start->value < 0) {
		onnx_fail(n, -ENOTSUP,
			  "dimension %u from a start that depends on the data, or counts from the "
			  "end",
			  d);
		return;
	}
	all = onnx_size_or_bound(n, v, d);
	last = sized_from_start(n, onnx_number_op(n, end), all);
	last = ox_bin(n, NCC_MIN, last, all);
	if (!onnx_number(n, last, 0, &known))
		return;
	last = onnx_number_op(n, &known);
	most = end->value < bound && end->least >= 0 ? end->value : bound;
	v->size[d] = start->value ? ox_binc(n, NCC_SUB, last, (double)start->value) : last;
	v->size[d] = ox_binc(n, NCC_MAX, v->size[d], 0);
	if (most > start->value) {
		v->op = ox_slice(n, v->op, d, start->value, most - start->value, 1);
	} else { /* nothing is left */
		v->op = ox_slice(n, v->op, d, 0, 1, 1);
		v->size[d] = ox_scalar(n, &number, 0);
	}
}

/* One of Slice's lists, an operand from opset 10 on and an attribute before */
static bool slice_number(struct onnx_node *n, unsigned int i, const char *name, unsigned int k,
			 struct onnx_number *v)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	if (onnx_in(n, i))
		return onnx_number(n, onnx_in(n, i), k, v);
	v->op = NULL;
	v->value = v->least = a && k < a->n_ints ? a->ints[k] : i == 3 ? k : 1;
	return true;
}

/* The length of that list of numbers; -1: it is absent */
static int64_t slice_count(const struct onnx_node *n, unsigned int i, const char *name)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	if (onnx_in(n, i))
		return ncc_elems(&onnx_in(n, i)->shape);
	return a ? (int64_t)a->n_ints : -1;
}

void sized_slice(struct onnx_node *n)
{
	static const char *const names[] = { "starts", "ends", "axes", "steps" };
	const int64_t count = slice_count(n, 1, names[0]);
	struct onnx_value v = n->in[0];

	for (unsigned int i = 1; i < 4; i++) {
		int64_t other = slice_count(n, i + 1, names[i]);

		if (other != count && (i < 2 || other >= 0))
			onnx_fail(n, -EINVAL, "%s and %s of different lengths", names[0], names[i]);
	}
	for (unsigned int k = 0; k < count && !n->rc; k++) {
		struct onnx_number start, end, axis, step;
		unsigned int d;

		if (!slice_number(n, 1, names[0], k, &start) ||
		    !slice_number(n, 2, names[1], k, &end) ||
		    !slice_number(n, 3, names[2], k, &axis) ||
		    !slice_number(n, 4, names[3], k, &step))
			return;
		d = onnx_axis(n, axis.op ? NCC_MAX_DIMS : axis.value, v.op->shape.ndim);
		if (n->rc)
			return;
		if (step.op || step.value < 1)
			onnx_fail(n, -ENOTSUP, "backwards, where sizes depend on the data");
		else
			cut(n, &v, d, &start, &end, step.value);
	}
	if (!n->rc)
		onnx_give_sizes(n, 0, v.op, v.type, v.size);
}
