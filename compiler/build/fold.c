// SPDX-License-Identifier: MIT
/*
 * What is checked and computed when it is made (ncc_build.now). Constants decide shapes, loops and
 * indices, so a front end that finds those out itself needs their values while it reads.
 */
#include "build.h"

#include <errno.h>

bool build_is_const(const struct ncc_op *op)
{
	return op->kind == NCC_CONST || (op->kind == NCC_BROADCAST && op->in[0]->kind == NCC_CONST);
}

/* The elements that are computed are bounded, for each operation and for the model. */
static bool may_fold(const struct ncc_build *bl, const struct ncc_op *op)
{
	int64_t work = ncc_elems(&op->shape);

	for (unsigned int i = 0; i < op->nin; i++)
		work += ncc_elems(&op->in[i]->shape);
	if (work > NCC_MAX_FOLD || work > NCC_MAX_FOLDED - *bl->now->folded)
		return false;
	*bl->now->folded += work;
	return true;
}

/*
 * A broadcast of one number is not folded: it costs nothing. One that makes much of little is not
 * either: what reads it (a bias's sum) takes the little, once for each partition.
 */
#define MOST_SPREAD 4096 /* elements */

static bool spreads(const struct ncc_op *op)
{
	int64_t n = ncc_elems(&op->shape);

	return op->kind == NCC_BROADCAST && n > MOST_SPREAD &&
	       n >= 4 * ncc_elems(&op->in[0]->shape);
}

static bool folds(const struct ncc_build *bl, const struct ncc_op *op)
{
	bool splats = true;

	if ((op->kind == NCC_BROADCAST && !op->in[0]->shape.ndim) || spreads(op))
		return false;
	for (unsigned int i = 0; i < op->nin; i++) {
		if (!build_is_const(op->in[i]))
			return false;
		splats = splats && op->in[i]->kind == NCC_BROADCAST;
	}
	return may_fold(bl, op) && (!splats || op->kind != NCC_BROADCAST);
}

static struct ncc_op *no_memory(const struct ncc_build *bl)
{
	build_fail(bl, -ENOMEM, "out of memory");
	return NULL;
}

struct ncc_op *build_done(struct ncc_build *bl, struct ncc_op *op)
{
	struct ncc_error err;
	int rc;

	if (!bl->now || !op)
		return op;
	if (build_ended(bl))
		return NULL;
	rc = ncc_verify_op(op, &err);
	if (rc) {
		build_fail(bl, rc, "%s", err.text);
		return NULL;
	}
	return folds(bl, op) && ncc_eval(bl->m, op) < 0 ? no_memory(bl) : op;
}

/*
 * Folds everything that op depends on if it is constant and small, in place, so that nothing is
 * computed twice.
 */
static int fold_all(const struct ncc_build *bl, struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		int rc = build_is_const(op->in[i]) ? 0 : fold_all(bl, op->in[i]);

		if (rc < 0)
			return rc;
	}
	return op->kind == NCC_BROADCAST || !may_fold(bl, op) ? 0 : ncc_eval(bl->m, op);
}

#define EXPANDED 16 /* operations that one of expand/ makes, an estimate */

struct ncc_op *build_expanded(struct ncc_build *bl, struct ncc_op *op, struct ncc_op *x)
{
	if (!bl->now || !op)
		return op;
	*bl->now->made += EXPANDED;
	return build_is_const(x) && fold_all(bl, op) < 0 ? no_memory(bl) : op;
}
