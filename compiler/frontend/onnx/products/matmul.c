// SPDX-License-Identifier: MIT
/* The product of two matrices, or of many. Part of the ONNX front end. */
#include <errno.h>

#include "products.h"

/* Leading dimensions broadcast; the last two are the matrices */
static onnx_op batched(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype)
{
	const unsigned int x = a->shape.ndim, y = b->shape.ndim, r = x > y ? x : y;
	int64_t da[NCC_MAX_DIMS], db[NCC_MAX_DIMS];
	struct ncc_dot d = { .nbatch = r - 2, .ncontract = 1 };

	for (unsigned int i = 0; i < r; i++) {
		int64_t p = i < x ? a->shape.dim[x - 1 - i] : 1;
		int64_t q = i < y ? b->shape.dim[y - 1 - i] : 1;

		da[r - 1 - i] = i < 2 || p > q ? p : q;
		db[r - 1 - i] = i < 2 || q > p ? q : p;
	}
	for (unsigned int i = 0; i + 2 < r; i++)
		d.lhs_batch[i] = d.rhs_batch[i] = (uint8_t)i;
	d.lhs_contract[0] = (uint8_t)(r - 1);
	d.rhs_contract[0] = (uint8_t)(r - 2);
	return ox_dot(n, ox_expand(n, a, r, da), ox_expand(n, b, r, db), &d, dtype);
}

/* Multiplies as NumPy's matmul does: vectors become rows and columns, which are removed again. */
onnx_op ox_matmul(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype)
{
	struct ncc_dot d = { .ncontract = 1 };
	unsigned int x, y;
	int64_t ka, kb;

	if (!a || !b || n->rc)
		return NULL;
	x = a->shape.ndim;
	y = b->shape.ndim;
	if (!x || !y) {
		onnx_fail(n, -EINVAL, "an operand is a scalar");
		return NULL;
	}

	ka = a->shape.dim[x - 1];
	kb = b->shape.dim[y > 1 ? y - 2 : 0];
	if (ka != kb) {
		onnx_fail(n, -EINVAL, "%lld columns times %lld rows", (long long)ka, (long long)kb);
		return NULL;
	}

	if (x > 1 && y > 2)
		return batched(n, a, b, dtype);
	d.lhs_contract[0] = (uint8_t)(x - 1);
	d.rhs_contract[0] = (uint8_t)(y > 1 ? y - 2 : 0);
	return ox_dot(n, a, b, &d, dtype);
}
