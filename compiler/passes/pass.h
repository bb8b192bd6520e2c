/* SPDX-License-Identifier: MIT */
/*
 * Private to the passes over the tensor IR, which ncc_run_passes calls in order. Each
 * replaces operations by new ones (op->replaced) and leaves sweeping to the driver. 0 or -errno.
 */
#ifndef NCC_PASS_H
#define NCC_PASS_H

#include "expand/expand.h"

struct ncc_pass {
	struct ncc_module *m;
	const struct ncc_options *opt;
	struct ncc_error *err;
};

int pass_simplify(struct ncc_pass *p); /* folding, and what is the same with fewer operations */
int pass_idioms(struct ncc_pass *p); /* functions of ACT that were written out */
int pass_scale(struct ncc_pass *p); /* constants behind a convolution into its kernel */
int pass_depthwise(struct ncc_pass *p); /* convolutions of each feature by itself, element-wise */
int pass_patches(struct ncc_pass *p); /* convolutions whose kernel steps by its size, one product */
int pass_windows(struct ncc_pass *p); /* padding, dilation and reversal made explicit; one window
					 dimension at a time */
int pass_integers(struct ncc_pass *p); /* integers exact on a datapath of fp32, and signed */
int pass_autocast(struct ncc_pass *p); /* fp32 operands of matrix products to what PE takes */
int pass_contract(struct ncc_pass *p); /* reshapes out of the way of products */
int pass_flatten(struct ncc_pass *p); /* long vectors as matrices */
int pass_layout(struct ncc_pass *p); /* which dimension lies along the partitions */

/* A new operation at the place of `like`, with its name and source; NULL: out of memory */
struct ncc_op *pass_new(struct ncc_pass *p, enum ncc_kind kind, const struct ncc_op *like,
			const struct ncc_shape *shape, struct ncc_op *a, struct ncc_op *b);
/* what expand/build.h wants to make operations for op */
struct ncc_build pass_build(struct ncc_pass *p, const struct ncc_op *op, int64_t *const_bytes);
/* Put what expand makes, of the operation's shape, in the place of every operation that is one */
int pass_expand(struct ncc_pass *p, bool (*is_one)(const struct ncc_op *op),
		struct ncc_op *(*expand)(struct ncc_build *bl, const struct ncc_op *op));

#endif
