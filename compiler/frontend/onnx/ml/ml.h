/* SPDX-License-Identifier: MIT */
/*
 * Private to the operators of the domain ai.onnx.ml: ml.c (features, linear models), tree.c and
 * svm.c. Their products are of fp32, whatever --auto-cast says: a class may hang on the last bit.
 */
#ifndef NCC_ONNX_ML_H
#define NCC_ONNX_ML_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_ml[], onnx_ml_svm[], onnx_ml_tree[];

/* A list of numbers that an attribute has; n is 0 where it is absent */
struct ml_floats {
	const float *v;
	size_t n;
};
struct ml_ints {
	const int64_t *v;
	size_t n;
};
struct ml_floats ml_floats(const struct onnx_node *n, const char *name);
struct ml_ints ml_ints(const struct onnx_node *n, const char *name);
size_t ml_strings(const struct onnx_node *n, const char *name);

/* A constant of fp32 with these dimensions; v: row-major */
onnx_op ml_constant(struct onnx_node *n, unsigned int ndim, const int64_t *dim, const float *v);
/* Operand 0 as fp32[rows, columns]; NULL: it is neither that nor one row */
onnx_op ml_rows(struct onnx_node *n);
/* a[rows, k] b[k, columns] */
onnx_op ml_matmul(struct onnx_node *n, onnx_op a, onnx_op b);

/* The output of post_transform for scores [rows, classes] */
onnx_op ml_post_transform(struct onnx_node *n, onnx_op scores);
/*
 * [rows, 2] scores of the two classes of a binary model that has one score s[rows, 1], above 0 for
 * the second: 1 - s and s (one_minus), or what post_transform makes of -s and s
 */
onnx_op ml_two_scores(struct onnx_node *n, onnx_op s, bool one_minus);
/*
 * Result 0 of a classifier: the label of the class with that number, s32[rows], or, for labels that
 * are strings, the number itself. Labels are the attribute's that ends in int64s or strings.
 */
void ml_give_label(struct onnx_node *n, onnx_op number, const char *ints, const char *strings);
/* The number of the largest of scores [rows, classes], s32[rows] */
onnx_op ml_largest(struct onnx_node *n, onnx_op scores);

#endif
