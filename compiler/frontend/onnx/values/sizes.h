/* SPDX-License-Identifier: MIT */
/*
 * Values of which the data say how many elements there are (sized.c), and what is known of such
 * numbers (number.c): for operators that make or read them. Part of the ONNX front end.
 */
#ifndef NCC_ONNX_SIZES_H
#define NCC_ONNX_SIZES_H

#include "build/sizes.h"
#include "frontend/onnx/values/ox.h"

/*
 * op, of whose dimension d there are `size`, s32. If that is known the result has only those.
 */
void onnx_give_some(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type, unsigned int d,
		    onnx_op size);
/* The same of each dimension; NULL: all of it are there */
void onnx_give_sizes(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type,
		     onnx_op const *size);

/* number.c: whole numbers of which something is known when the model is read */
struct onnx_number {
	onnx_op op; /* s32, its value when the model runs; NULL: known now */
	int64_t value; /* or the largest that it may be */
	int64_t least; /* the smallest */
};
/* Number i of an operand of integers; false: n->rc is set */
bool onnx_number(struct onnx_node *n, onnx_op list, int64_t i, struct onnx_number *v);
void onnx_note_size(struct onnx_node *n, onnx_op op); /* It is not negative. */
onnx_op onnx_number_op(struct onnx_node *n, const struct onnx_number *v);

/* Has a dimension but d a size? NCC_MAX_DIMS: has any? */
bool onnx_sized_but(const struct onnx_value *v, unsigned int d);
/* The size of dimension d, or the number that it always is */
onnx_op onnx_size_or_bound(struct onnx_node *n, const struct onnx_value *v, unsigned int d);
#define ONNX_ALL_DIMS UINT32_MAX
/*
 * Which elements of v are there, as far as sizes of the mask's dimensions say? A predicate that
 * broadcasts to v; NULL: all are, or n->rc is set
 */
onnx_op onnx_there(struct onnx_node *n, const struct onnx_value *v, uint32_t mask);
/* v's elements, and in place of those that are not there this number */
onnx_op onnx_filled(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, double with);
struct ncc_shape onnx_shape_of(const struct onnx_value *v); /* also of an empty one */
/* Makes an empty tensor one that has an element in its dimension of 0 and the size 0. */
void onnx_fill_empty(struct onnx_node *n, struct onnx_value *v);

#endif
