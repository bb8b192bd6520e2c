/* SPDX-License-Identifier: MIT */
/*
 * Private to the ensembles of trees: tree.c (reads them, and gives scores and labels) and
 * leaves.c (which leaf of each tree a row reaches).
 */
#ifndef NCC_ONNX_ML_TREE_H
#define NCC_ONNX_ML_TREE_H

#include "ml.h"

#define MOST_DEPTH 256 /* numbers up to it are exact in bf16 */

enum mode { MODE_LEAF, MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODES };

struct tree_node {
	int64_t tree, id, feature;
	float value;
	enum mode mode;
	bool missing_is_true;
	unsigned int yes, no; /* numbers of nodes */
	unsigned int also; /* one that asks the same of another value, where this one leads on; 0:
			      none */
	unsigned int given; /* its place in the file */
	unsigned int column, rank; /* of a comparison: see leaves.c */
	unsigned int block,
		place; /* of a comparison: the last block that has it, and its place there */
	unsigned int ways; /* of a leaf: the last way to it, from 1 on; 0: none leads there */
};

/* A way to a leaf, which several may lead to: it is a leaf of the blocks */
struct tree_way {
	unsigned int block, place;
	unsigned int next; /* another one to the same leaf, from 1 on; 0: none */
};

struct forest {
	struct tree_node *node; /* ordered by tree and id */
	unsigned int n, ntrees;
	int64_t features;

	struct tree_way *way; /* in the order of the walk */
	unsigned int nways;

	struct tree_node **compare; /* those that compare, ordered by column and value */
	unsigned int ncompares, ncolumns;
	unsigned int *size; /* of a column: its values */

	unsigned int nblocks, most_blocks; /* so far, and in the end */
	unsigned int compares, leaves; /* of the block that has the most; one that always holds */
	float *paths; /* [compares, blocks, leaves] */
	float *chosen; /* [numbers of a row, blocks, compares] */
};

/*
 * Finds the leaves' blocks and places. Gives bf16[blocks, leaves, rows], 1 for the leaves that a
 * row of x reaches, else 0.
 */
onnx_op ml_leaves(struct onnx_node *n, struct forest *f, onnx_op x);

#endif
