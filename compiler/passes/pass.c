// SPDX-License-Identifier: MIT
/* Helpers that the passes share: new operations in the place of others */
#include "pass.h"

#include <errno.h>
#include <string.h>

struct ncc_op *pass_new(struct ncc_pass *p, enum ncc_kind kind, const struct ncc_op *like,
			const struct ncc_shape *shape, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *op = ncc_op_new(p->m, kind, like->name, b ? 2 : 1);

	if (!op)
		return NULL;
	op->where = like->where;
	op->shape = *shape;
	op->in[0] = a;
	if (b)
		op->in[1] = b;
	return op;
}

struct ncc_build pass_build(struct ncc_pass *p, const struct ncc_op *op, int64_t *const_bytes)
{
	return (struct ncc_build){ .m = p->m,
				   .err = p->err,
				   .kind = ncc_kind_name(op->kind),
				   .name = op->name,
				   .where = op->where,
				   .const_bytes = const_bytes };
}

int pass_expand(struct ncc_pass *p, bool (*is_one)(const struct ncc_op *op),
		struct ncc_op *(*expand)(struct ncc_build *bl, const struct ncc_op *op))
{
	int64_t const_bytes = 0;

	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		struct ncc_build bl = pass_build(p, op, &const_bytes);

		if (!is_one(op))
			continue;
		p->err->text[0] = 0;
		op->replaced = expand(&bl, op);
		if (!op->replaced)
			return p->err->text[0] ? -EFBIG : ncc_no_memory(p->err);
	}
	return 0;
}
