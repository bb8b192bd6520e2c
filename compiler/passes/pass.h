/* SPDX-License-Identifier: MIT */
/*
 * Private to the passes over the tensor IR, which ncc_run_passes calls in order. Each replaces
 * operations by new ones (op->replaced) and leaves sweeping to the driver. They return 0 or -errno.
 */
#ifndef NCC_PASS_H
#define NCC_PASS_H

#include "expand/expand.h"

struct ncc_pass {
	struct ncc_module *m;
	const struct ncc_options *opt;
	struct ncc_error *err;
};

int pass_simplify(struct ncc_pass *p); /* folds, and finds fewer operations */
int pass_idioms(struct ncc_pass *p); /* finds functions of ACT */
int pass_scale(struct ncc_pass *p); /* moves constants into kernels */
int pass_depthwise(struct ncc_pass *p); /* depthwise convolutions */
int pass_batches(struct ncc_pass *p); /* products of many small matrices */
int pass_patches(struct ncc_pass *p); /* convolutions that are one product */
int pass_gradients(struct ncc_pass *p); /* convolutions of a kernel's gradient: products */
/* Makes padding, dilation and reversal explicit, and windows one-dimensional. */
int pass_windows(struct ncc_pass *p);
int pass_integers(struct ncc_pass *p); /* makes integers exact and signed */
int pass_common(struct ncc_pass *p); /* computes once what is written twice */
int pass_gathers(struct ncc_pass *p); /* one of several of one row each */
int pass_autocast(struct ncc_pass *p); /* casts to what PE takes */
int pass_contract(struct ncc_pass *p); /* moves reshapes away from products */
int pass_sparse(struct ncc_pass *p); /* products of sparse weights, where asked for */
int pass_flatten(struct ncc_pass *p); /* long vectors become matrices */
int pass_layout(struct ncc_pass *p); /* chooses the partitions' dimensions */

/* A new operation in the place of `like`, with its name and source; NULL: out of memory */
struct ncc_op *pass_new(struct ncc_pass *p, enum ncc_kind kind, const struct ncc_op *like,
			const struct ncc_shape *shape, struct ncc_op *a, struct ncc_op *b);
/* The state that build/build.h needs to make operations for op */
struct ncc_build pass_build(struct ncc_pass *p, const struct ncc_op *op, int64_t *const_bytes);
/*
 * Replaces every operation that is_one finds by what expand makes of it, which has the same shape.
 */
int pass_expand(struct ncc_pass *p, bool (*is_one)(const struct ncc_op *op),
		struct ncc_op *(*expand)(struct ncc_build *bl, const struct ncc_op *op));

#endif
