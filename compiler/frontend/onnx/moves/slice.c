// SPDX-License-Identifier: MIT
/* Operators that cut, pad, repeat and rearrange. Part of the ONNX front end. */
#include <errno.h>
#include <string.h>

#include "moves.h"

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/*
 * The elements of a dimension of this size from start to end, exclusive, by step. Both are clamped,
 * as ONNX says; the step is not 0. Returns their number.
 */
static int64_t clamped(int64_t size, int64_t *start, int64_t *end, int64_t *step)
{
	int64_t count;

	if (*step <= -NCC_MAX_ELEMS || *step >= NCC_MAX_ELEMS)
		*step = *step > 0 ? size + 1 : -size - 1;
	*start = clamp(*start < 0 ? *start + size : *start, *step < 0 ? -1 : 0,
		       *step < 0 ? size - 1 : size);
	*end = clamp(*end < 0 ? *end + size : *end, *step < 0 ? -1 : 0, size);
	count = *step > 0 ? (*end - *start + *step - 1) / *step
			  : (*start - *end - *step - 1) / -*step;
	return count < 0 ? 0 : count;
}

/* Cuts a dimension; something is left. */
static onnx_op cut(struct onnx_node *n, onnx_op x, unsigned int axis, int64_t start, int64_t end,
		   int64_t step)
{
	int64_t count = clamped(x->shape.dim[axis], &start, &end, &step);

	if (step > 0)
		return ox_slice(n, x, axis, start, count, step);
	x = ox_slice(n, x, axis, start + (count - 1) * step,
		     count == 1 ? 1 : (count - 1) * -step + 1, 1);
	return ox_slice(n, ox_reverse(n, x, axis), axis, 0, count, -step);
}

/* A list, which is an operand from opset 10 on and an attribute before */
static bool list(struct onnx_node *n, unsigned int i, const char *name, int64_t *v,
		 unsigned int *count)
{
	if (n->opset < 10)
		return onnx_ints(n, name, v, NCC_MAX_DIMS, count);
	*count = 0;
	if (!onnx_in(n, i)) /* starts and ends may have no elements */
		return i < 3 && i < n->nin && n->in[i].type;
	return onnx_in_ints(n, i, v, NCC_MAX_DIMS, count);
}

static void import_slice(struct onnx_node *n)
{
	int64_t start[NCC_MAX_DIMS], end[NCC_MAX_DIMS], axes[NCC_MAX_DIMS], step[NCC_MAX_DIMS];
	unsigned int count, ends, count_axes, count_steps;
	onnx_op x = onnx_in(n, 0);
	struct ncc_shape left = x->shape;
	uint32_t seen = 0;
	bool any = true;

	if (!list(n, 1, "starts", start, &count) || !list(n, 2, "ends", end, &ends)) {
		onnx_fail(n, -EINVAL, "no starts or ends");
		return;
	}
	if (!list(n, 3, "axes", axes, &count_axes))
		for (count_axes = 0; count_axes < count; count_axes++)
			axes[count_axes] = count_axes;
	if (!list(n, 4, "steps", step, &count_steps))
		for (count_steps = 0; count_steps < count; count_steps++)
			step[count_steps] = 1;
	if (ends != count || count_axes != count || count_steps != count)
		onnx_fail(n, -EINVAL, "%u starts, %u ends, %u axes, %u steps", count, ends,
			  count_axes, count_steps);
	for (unsigned int i = 0; i < count && !n->rc; i++) {
		unsigned int axis = onnx_axis(n, axes[i], left.ndim);
		int64_t from = start[i], to = end[i], by = step[i];

		if (seen >> axis & 1)
			onnx_fail(n, -EINVAL, "axis %u twice", axis);
		if (!step[i])
			onnx_fail(n, -EINVAL, "a step of 0");
		if (n->rc)
			return;
		seen |= 1u << axis;
		left.dim[axis] = clamped(left.dim[axis], &from, &to, &by);
		any = any && left.dim[axis];
		axes[i] = axis;
	}
	if (!any)
		onnx_give_empty(n, 0, &left, n->in[0].type);
	for (unsigned int i = 0; any && i < count && x && !n->rc; i++)
		x = cut(n, x, (unsigned int)axes[i], start[i], end[i], step[i]);
	if (any)
		onnx_give(n, 0, x);
}

static void import_split(struct onnx_node *n)
{
	int64_t size[ONNX_MAX_OUTPUTS], at = 0, total, each;
	onnx_op x = onnx_in(n, 0);
	struct ncc_shape part = x->shape;
	unsigned int count = 0, axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	bool given = onnx_in(n, 1) ? onnx_in_ints(n, 1, size, ONNX_MAX_OUTPUTS, &count)
				   : onnx_ints(n, "split", size, ONNX_MAX_OUTPUTS, &count);

	if (n->rc)
		return;
	total = x->shape.dim[axis];
	each = n->nout ? (total + n->nout - 1) / n->nout : 0; /* the last may be smaller */
	for (unsigned int i = 0; !given && i < n->nout; i++)
		size[i] = i + 1 < n->nout ? each : total - each * (n->nout - 1);
	if (given && count != n->nout)
		onnx_fail(n, -EINVAL, "%u sizes for %u results", count, n->nout);

	for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
		if (size[i] < 0 || size[i] > total - at) {
			onnx_fail(n, -EINVAL, "part %u does not fit the operand", i);
			return;
		}
		part.dim[axis] = size[i];
		if (size[i])
			onnx_give(n, i, ox_slice(n, x, axis, at, size[i], 1));
		else
			onnx_give_empty(n, i, &part, n->in[0].type);
		at += size[i];
	}

	if (at != total)
		onnx_fail(n, -EINVAL, "the parts are %lld of %lld", (long long)at,
			  (long long)total);
}

/* Repeats the border (edge), mirrors what lies within it (reflect), or wraps around. */
static onnx_op border(struct onnx_node *n, onnx_op x, unsigned int axis, int64_t low, int64_t high,
		      int mode)
{
	int64_t size = x->shape.dim[axis];
	struct ncc_shape s = x->shape;
	onnx_op part[3], edge;
	unsigned int k = 0;

	if (mode && (low > size - (mode == 1) || high > size - (mode == 1))) {
		onnx_fail(n, -ENOTSUP, "padding of %lld of a dimension of %lld",
			  (long long)(low > high ? low : high), (long long)size);
		return NULL;
	}

	for (unsigned int side = 0; side < 2; side++) {
		int64_t much = side ? high : low;

		if (side)
			part[k++] = x;
		if (much <= 0)
			continue;
		s.dim[axis] = much;
		if (mode == 0) {
			edge = ox_slice(n, x, axis, side ? size - 1 : 0, 1, 1);
			part[k++] = ox_expand(n, edge, s.ndim, s.dim);
		} else if (mode == 1) {
			edge = ox_slice(n, x, axis, side ? size - 1 - much : 1, much, 1);
			part[k++] = ox_reverse(n, edge, axis);
		} else {
			part[k++] = ox_slice(n, x, axis, side ? 0 : size - much, much, 1);
		}
	}
	return ox_concat(n, part, k, axis);
}

/* Takes the pads of all axes, or of those that operand 3 names. */
static bool take_pads(struct onnx_node *n, onnx_op x, int64_t *low, int64_t *high)
{
	int64_t v[2 * NCC_MAX_DIMS], axes[NCC_MAX_DIMS];
	unsigned int count, some = x->shape.ndim;
	bool given = n->opset < 11 ? onnx_ints(n, "pads", v, 2 * NCC_MAX_DIMS, &count)
				   : onnx_in_ints(n, 1, v, 2 * NCC_MAX_DIMS, &count);

	for (unsigned int i = 0; i < NCC_MAX_DIMS; i++) {
		low[i] = high[i] = 0;
		axes[i] = i;
	}
	if (onnx_in(n, 3) && !onnx_in_ints(n, 3, axes, NCC_MAX_DIMS, &some))
		return false;
	if (!given || count != 2 * some) {
		onnx_fail(n, -EINVAL, "%u pads, expected %u", given ? count : 0, 2 * some);
		return false;
	}
	for (unsigned int i = 0; i < some && !n->rc; i++) {
		unsigned int axis = onnx_axis(n, axes[i], x->shape.ndim);

		low[axis] = v[i];
		high[axis] = v[some + i];
		if (low[axis] <= -NCC_MAX_ELEMS || low[axis] >= NCC_MAX_ELEMS ||
		    high[axis] <= -NCC_MAX_ELEMS || high[axis] >= NCC_MAX_ELEMS)
			onnx_fail(n, -EINVAL, "padding out of range");
	}
	return !n->rc;
}

static void import_pad(struct onnx_node *n)
{
	int64_t low[NCC_MAX_DIMS], high[NCC_MAX_DIMS], cut_low, cut_high;
	onnx_op x = onnx_in(n, 0), value = onnx_in(n, 2);
	const int mode = onnx_choice(n, "mode"); /* the first word is constant */

	if (!take_pads(n, x, low, high))
		return;
	if (!mode) {
		value = value ? ox_reshape(n, value, 0, NULL)
			      : ox_scalar(n, &x->shape, onnx_float(n, "value"));
		onnx_give(n, 0, ox_pad(n, x, value, low, high));
		return;
	}

	for (unsigned int i = 0; i < onnx_in(n, 0)->shape.ndim && x; i++) {
		x = border(n, x, i, low[i], high[i], mode - 1);
		cut_low = low[i] < 0 ? -low[i] : 0;
		cut_high = high[i] < 0 ? -high[i] : 0;
		if (x && cut_low + cut_high)
			x = ox_slice(n, x, i, cut_low, x->shape.dim[i] - cut_low - cut_high, 1);
	}
	onnx_give(n, 0, x);
}

/* Does Tile leave nothing? A dimension that is repeated 0 times has no elements. */
static bool tiles_nothing(struct onnx_node *n, const int64_t *times)
{
	struct ncc_shape s = onnx_in(n, 0)->shape;
	bool any = true;

	for (unsigned int i = 0; i < s.ndim; i++) {
		if (times[i] < 0 || times[i] > NCC_MAX_ELEMS) {
			onnx_fail(n, -ENOTSUP, "%lld repeats", (long long)times[i]);
			return true;
		}
		any = any && times[i];
		s.dim[i] *= times[i];
	}
	if (!any)
		onnx_give_empty(n, 0, &s, n->in[0].type);
	return !any;
}

/* Each dimension gets a new one in front, along which it is repeated. */
static void import_tile(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t times[NCC_MAX_DIMS], dim[NCC_MAX_DIMS + 1];
	unsigned int count;

	if (!onnx_in_ints(n, 1, times, NCC_MAX_DIMS, &count))
		return;
	if (count != x->shape.ndim)
		onnx_fail(n, -EINVAL, "%u repeats for rank %u", count, x->shape.ndim);
	if (n->rc || tiles_nothing(n, times))
		return;

	for (unsigned int i = 0; i < count && x && !n->rc; i++) {
		struct ncc_shape s = x->shape;
		uint8_t map[NCC_MAX_DIMS];

		if (times[i] == 1)
			continue;
		if (s.ndim == NCC_MAX_DIMS) {
			onnx_fail(n, -ENOTSUP, "of rank 8");
			return;
		}
		memcpy(dim, s.dim, sizeof(s.dim));
		for (unsigned int d = 0; d < s.ndim && d < NCC_MAX_DIMS; d++)
			map[d] = (uint8_t)(d < i ? d : d + 1);
		for (unsigned int d = s.ndim; d > i; d--)
			s.dim[d] = s.dim[d - 1];
		s.dim[i] = times[i];
		s.ndim++;
		dim[i] *= times[i];
		x = ox_reshape(n, ox_spread(n, x, &s, map), s.ndim - 1, dim);
	}
	onnx_give(n, 0, x);
}

/* N (b b C) H W -> N C (H b) (W b), or the reverse; crd: C comes before the blocks. */
static void import_depth_to_space(struct onnx_node *n)
{
	static const uint8_t dcr[6] = { 0, 3, 4, 1, 5, 2 }, crd[6] = { 0, 1, 4, 2, 5, 3 };
	onnx_op x = onnx_in(n, 0);
	int64_t b = onnx_int(n, "blocksize"), c, h, w;
	bool is_crd = onnx_string_is(n, "mode", "CRD");

	if (x->shape.ndim != 4 || b < 1 || b > 65536 || x->shape.dim[1] % (b * b)) {
		onnx_fail(n, -EINVAL, "a block of %lld does not fit the operand", (long long)b);
		return;
	}
	c = x->shape.dim[1] / (b * b);
	h = x->shape.dim[2];
	w = x->shape.dim[3];
	x = ox_reshape(n, x, 6,
		       is_crd ? (int64_t[]){ x->shape.dim[0], c, b, b, h, w }
			      : (int64_t[]){ x->shape.dim[0], b, b, c, h, w });
	x = ox_transpose(n, x, is_crd ? crd : dcr);
	onnx_give(n, 0,
		  ox_reshape(n, x, 4, (int64_t[]){ x ? x->shape.dim[0] : 0, c, h * b, w * b }));
}

static void import_space_to_depth(struct onnx_node *n)
{
	static const uint8_t dcr[6] = { 0, 3, 5, 1, 2, 4 }, crd[6] = { 0, 1, 3, 5, 2, 4 };
	onnx_op x = onnx_in(n, 0);
	int64_t b = onnx_int(n, "blocksize"), c, h, w, batch;
	bool is_crd = onnx_string_is(n, "mode", "CRD");

	if (x->shape.ndim != 4 || b < 1 || x->shape.dim[2] % b || x->shape.dim[3] % b) {
		onnx_fail(n, -EINVAL, "a block of %lld does not fit the operand", (long long)b);
		return;
	}
	batch = x->shape.dim[0];
	c = x->shape.dim[1];
	h = x->shape.dim[2] / b;
	w = x->shape.dim[3] / b;
	x = ox_transpose(n, ox_reshape(n, x, 6, (int64_t[]){ batch, c, h, b, w, b }),
			 is_crd ? crd : dcr);
	onnx_give(n, 0, ox_reshape(n, x, 4, (int64_t[]){ batch, c * b * b, h, w }));
}

/* A constant predicate: how column - row compares with k */
static onnx_op triangle(struct onnx_node *n, int64_t rows, int64_t cols, int64_t k,
			enum ncc_kind kind)
{
	struct ncc_shape s = { NEURON_DT_INT8, true, 2, { rows, cols } };
	onnx_op op = ox_data(n, &s);

	for (int64_t i = 0; op && i < rows * cols; i++) {
		int64_t d = i % cols - i / cols;

		((uint8_t *)op->data)[i] = kind == NCC_EQ   ? d == k
					   : kind == NCC_GE ? d >= k
							    : d <= k;
	}
	return op;
}

static void import_trilu(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), keep;
	unsigned int nd = x->shape.ndim;
	double k = 0;

	if (onnx_in(n, 1) && !onnx_in_scalar(n, 1, &k))
		return;
	if (nd < 2) {
		onnx_fail(n, -EINVAL, "of rank %u", nd);
		return;
	}
	keep = triangle(n, x->shape.dim[nd - 2], x->shape.dim[nd - 1], (int64_t)k,
			onnx_int(n, "upper") ? NCC_GE : NCC_LE);
	onnx_give(n, 0, ox_select(n, keep, x, ox_scalar(n, &x->shape, 0)));
}

static void import_eye_like(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), eye;
	int32_t type = (int32_t)onnx_int_or(n, "dtype", n->in[0].type);
	struct ncc_shape s;

	if (x->shape.ndim != 2 || onnx_dtype(type, &s)) {
		onnx_fail(n, -ENOTSUP, "of rank %u and type %s", x->shape.ndim,
			  onnx_type_name(type));
		return;
	}
	eye = triangle(n, x->shape.dim[0], x->shape.dim[1], onnx_int(n, "k"), NCC_EQ);
	onnx_give_as(n, 0, ox_cast(n, eye, s.dtype, s.pred), type);
}

static void import_constant_of_shape(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "value");
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	struct ncc_shape made = { 0 };
	struct onnx_value v = { 0 };
	int64_t dim[NCC_MAX_DIMS] = { 0 };
	unsigned int count;
	bool any = true;
	int rc;

	if (!onnx_in_ints(n, 0, dim, NCC_MAX_DIMS, &count))
		return;
	rc = a && a->t ? onnx_tensor(n->imp, a->t, n->b.name, &v) : 0;
	n->rc = n->rc ? n->rc : rc;
	if (!v.op)
		v = (struct onnx_value){ .op = ox_scalar(n, &s, 0), .type = ONNX_FLOAT };
	if (v.op && ncc_elems(&v.op->shape) != 1)
		onnx_fail(n, -EINVAL, "the value is not one number");
	made.ndim = count;
	memcpy(made.dim, dim, sizeof(dim));
	for (unsigned int i = 0; i < count; i++) {
		if (dim[i] < 0)
			onnx_fail(n, -EINVAL, "a dimension of %lld", (long long)dim[i]);
		any = any && dim[i];
	}
	if (!any) {
		onnx_give_empty(n, 0, &made, v.type);
		return;
	}
	onnx_give_as(n, 0, ox_expand(n, ox_reshape(n, v.op, 0, NULL), count, dim), v.type);
}

static void import_range(struct onnx_node *n)
{
	struct ncc_shape s = { .dtype = onnx_in(n, 0)->shape.dtype, .ndim = 1 };
	double start, limit, delta, count;
	onnx_op op;

	if (!onnx_in_scalar(n, 0, &start) || !onnx_in_scalar(n, 1, &limit) ||
	    !onnx_in_scalar(n, 2, &delta))
		return;
	count = delta != 0 ? (limit - start) / delta : 0;
	if (delta == 0 || count > NCC_MAX_ELEMS) {
		onnx_fail(n, -EINVAL, "of %g elements, in steps of %g", count, delta);
		return;
	}
	if (!(count > 0)) {
		onnx_give_empty(n, 0, &s, n->in[0].type);
		return;
	}
	s.dim[0] = (int64_t)count + (count > (double)(int64_t)count);
	op = ox_data(n, &s);
	for (int64_t i = 0; op && i < s.dim[0]; i++)
		ncc_set(s.dtype, op->data, i, start + (double)i * delta);
	onnx_give(n, 0, op);
}

const struct onnx_rule onnx_slice[] = {
	/* clang-format off */
	{ "ConstantOfShape", 1,  1, .import = import_constant_of_shape, .empty = ONNX_EMPTY_ANY, .sized = sized_constant_of_shape, .lists = ONNX_OPERAND(0), .since = 9,
	  .attrs = ONNX_ATTRS(
		ATTR("value", TENSOR)) },
	{ "DepthToSpace",    1,  1, .import = import_depth_to_space, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("blocksize", INT, .needed = true), ATTR("mode", TEXT, .words = "DCR|CRD", .s = "DCR", .from = 11)) },
	{ "EyeLike",         1,  1, .import = import_eye_like, .sized = sized_like_first, .takes = ONNX_OPERAND(0), .since = 9,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT), ATTR("k", INT)) },
	{ "Pad",             1,  4, .import = import_pad, .sized = sized_pad, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("mode", TEXT, .words = "constant|edge|reflect|wrap", .s = "constant"),
		ATTR("pads", INTS, .needed = true, .until = 10), ATTR("value", FLOAT, .until = 10)) },
	{ "Range",           3,  3, .import = import_range, .sized = sized_range, .lists = ONNX_OPERAND(0) | ONNX_OPERAND(1) | ONNX_OPERAND(2), .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("stash_type", INT, .i = 1, .from = 27)) },
	{ "Slice",           1,  5, .import = import_slice, .sized = sized_slice, .takes = ONNX_OPERAND(0), .lists = ONNX_OPERAND(1) | ONNX_OPERAND(2),
	  .attrs = ONNX_ATTRS(
		ATTR("axes", INTS, .until = 9), ATTR("ends", INTS, .needed = true, .until = 9),
		ATTR("starts", INTS, .needed = true, .until = 9)) },
	{ "SpaceToDepth",    1,  1, .import = import_space_to_depth, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("blocksize", INT, .needed = true), ATTR("mode", TEXT, .words = "DCR|CRD", .s = "DCR", .from = 28)) },
	{ "Split",           1,  2, .import = import_split, .sized = sized_split, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT), ATTR("num_outputs", INT, .from = 18),
		ATTR("split", INTS, .until = 12)) },
	{ "Tile",            2,  2, .import = import_tile, .sized = sized_tile, .takes = ONNX_OPERAND(0), .lists = ONNX_OPERAND(1) },
	{ "Trilu",           1,  2, .import = import_trilu, .sized = sized_like_first, .takes = ONNX_OPERAND(0), .since = 14,
	  .attrs = ONNX_ATTRS(
		ATTR("upper", INT, .i = 1)) },
	{ .op_type = NULL },
	/* clang-format on */
};
