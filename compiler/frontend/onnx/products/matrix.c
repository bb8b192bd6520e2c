// SPDX-License-Identifier: MIT
/* The determinant of small matrices. Part of the ONNX front end. */
#include <errno.h>

#include "products.h"

#define MAX_ROWS 8

static onnx_op element(struct onnx_node *n, onnx_op x, unsigned int row, unsigned int column)
{
	const unsigned int nd = x->shape.ndim;

	x = ox_slice(n, ox_slice(n, x, nd - 2, row, 1, 1), nd - 1, column, 1, 1);
	return x ? ox_reshape(n, x, nd - 2, x->shape.dim) : NULL;
}

/* The determinant of the first rows and a set of as many columns, expanded along its last row */
static onnx_op minor_of(struct onnx_node *n, onnx_op x, onnx_op *minors, unsigned int columns)
{
	const unsigned int row = (unsigned int)__builtin_popcount(columns) - 1;
	onnx_op sum = NULL;

	for (unsigned int c = 0, place = 0; columns >> c && !n->rc; c++) {
		bool negative;
		onnx_op a;

		if (!(columns >> c & 1))
			continue;
		a = element(n, x, row, c);
		if (row)
			a = ox_bin(n, NCC_MUL, a, minors[columns & ~(1u << c)]);
		negative = (row + place++) & 1;
		if (sum)
			sum = ox_bin(n, negative ? NCC_SUB : NCC_ADD, sum, a);
		else
			sum = negative ? ox_binc(n, NCC_MUL, a, -1) : a;
	}
	return sum;
}

static void import_det(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), minors[1u << MAX_ROWS], f;
	const unsigned int nd = x->shape.ndim;
	int64_t rows = nd ? x->shape.dim[nd - 1] : 0;

	if (nd < 2 || x->shape.dim[nd - 2] != rows) {
		onnx_fail(n, -EINVAL, "not of square matrices");
		return;
	}
	if (rows > MAX_ROWS) {
		onnx_fail(n, -ENOTSUP, "of more than %d rows is not supported", MAX_ROWS);
		return;
	}
	f = ox_f32(n, x);
	for (unsigned int set = 1; set < 1u << rows && !n->rc; set++)
		minors[set] = minor_of(n, f, minors, set);
	if (!n->rc)
		onnx_give(n, 0, ox_cast_like(n, minors[(1u << rows) - 1], x));
}

const struct onnx_rule onnx_matrix[] = {
	/* clang-format off */
	{ "Det", 1,  1, .import = import_det, .since = 11 },
	{ .op_type = NULL },
	/* clang-format on */
};
