/* SPDX-License-Identifier: MIT */
/*
 * What data keep (keep.c), and what is remembered of it (memo.c). Part of the ONNX front end.
 */
#ifndef NCC_ONNX_KEPT_H
#define NCC_ONNX_KEPT_H

#include "frontend/onnx/values/ox.h"

/* memo.c: rows that were taken from others, at the indices idx[..] */
struct onnx_taken {
	onnx_op rows, from, idx;
	struct onnx_taken *next;
};
const struct onnx_taken *onnx_taken_before(const struct onnx_node *n, const struct ncc_op *rows);
onnx_op onnx_remember(struct onnx_node *n, onnx_op rows, onnx_op from, onnx_op idx);
/* The destinations of the elements that keep holds, found once for all who ask */
struct onnx_places {
	onnx_op keep, to, size;
	onnx_op coordinates; /* of those, in a tensor of shape `of`; NULL: nobody asked yet */
	struct ncc_shape of;
	struct onnx_places *next;
};
/* NULL: n->rc is set */
struct onnx_places *onnx_places_of(struct onnx_node *n, onnx_op keep);
/* x[n, columns] moved to the places `to` of so many rows of zeros; x[n, ...] as [n, columns] */
onnx_op onnx_put_rows(struct onnx_node *n, onnx_op x, onnx_op to, int64_t most);
onnx_op onnx_as_rows(struct onnx_node *n, onnx_op x);
/*
 * If idx has the coordinates that NonZero found in a list: for each element of the list its place
 * among those that were kept, and the predicate that kept them
 */
onnx_op onnx_kept_places(const struct onnx_node *n, const struct ncc_op *idx, onnx_op *keep);
/* The elements of x, coordinates of what was kept, at idx, if known without looking; or NULL */
onnx_op onnx_kept_again(const struct onnx_node *n, onnx_op x, const struct ncc_op *idx);

/*
 * keep.c: the rows of x[n, ...] for which keep[n] holds, at most so many, in order; after them
 * are zeros. *size: how many hold, s32
 */
onnx_op onnx_keep_rows(struct onnx_node *n, onnx_op x, onnx_op keep, int64_t most, onnx_op *size);

#endif
