// SPDX-License-Identifier: MIT
/*
 * What is remembered of operations that were made: rows that were taken from others, and where the
 * elements went that a predicate kept. So what follows from them need not look for it again. Part
 * of the ONNX front end.
 */
#include <errno.h>

#include "kept.h"

const struct onnx_taken *onnx_taken_before(const struct onnx_node *n, const struct ncc_op *rows)
{
	const struct onnx_taken *t = n->imp->taken;

	for (; t && t->rows != rows; t = t->next)
		n->imp->steps++;
	return t;
}

/* The index that idx is a reshape of, or one that might have counted from the end; or NULL */
static const struct ncc_op *plainer(const struct ncc_op *idx)
{
	if (idx->kind == NCC_RESHAPE || (idx->kind == NCC_TRANSPOSE && idx->shape.ndim == 2 &&
					 (idx->shape.dim[0] == 1 || idx->shape.dim[1] == 1)))
		return idx->in[0];
	if (idx->kind == NCC_SELECT && idx->in[1]->kind == NCC_ADD &&
	    idx->in[1]->in[0] == idx->in[2])
		return idx->in[2];
	return NULL;
}

/* Of indices that only lie otherwise, or might have counted from the end: those that they are */
static const struct ncc_op *plain_index(const struct ncc_op *idx)
{
	for (const struct ncc_op *next = idx; next; next = plainer(idx))
		idx = next;
	return idx;
}

onnx_op onnx_kept_places(const struct onnx_node *n, const struct ncc_op *idx, onnx_op *keep)
{
	const struct onnx_places *p = n->imp->places;

	idx = plain_index(idx);
	while (p && (!p->coordinates || p->of.ndim != 1 || plain_index(p->coordinates) != idx))
		p = p->next;
	if (p && keep)
		*keep = p->keep;
	return p ? p->to : NULL;
}

/* The elements of x, coordinates of what was kept, at idx, where known without looking */
onnx_op onnx_kept_again(const struct onnx_node *n, onnx_op x, const struct ncc_op *idx)
{
	const onnx_op to = onnx_kept_places(n, x, NULL);
	const struct onnx_taken *t = NULL;

	for (; to && idx && !t; idx = plainer(idx))
		t = onnx_taken_before(n, idx);
	return t && t->from == to ? t->idx : NULL;
}

onnx_op onnx_remember(struct onnx_node *n, onnx_op rows, onnx_op from, onnx_op idx)
{
	struct onnx_taken *t = rows ? ncc_alloc(n->imp->m, sizeof(*t)) : NULL;

	if (rows && !t)
		onnx_fail(n, -ENOMEM, "out of memory");
	if (!t)
		return NULL;
	*t = (struct onnx_taken){ rows, from, idx, n->imp->taken };
	n->imp->taken = t;
	return rows;
}
