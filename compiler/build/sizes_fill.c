// SPDX-License-Identifier: MIT
/* Which elements of a value are there, and what stands for the others (sizes.h) */
#include "sizes.h"

struct ncc_op *sizes_within(struct ncc_build *bl, int64_t bound, struct ncc_op *size)
{
	struct ncc_op *count = build_count(bl, bound);

	return count && size ? build_binary(bl, NCC_LT, count,
					    build_spread(bl, &count->shape, size, NULL))
			     : NULL;
}

/* p, of dimension d's elements, with the rank of the value */
static struct ncc_op *along(struct ncc_build *bl, const struct ncc_sizes *s, unsigned int d,
			    struct ncc_op *p)
{
	const uint8_t map = (uint8_t)d;
	struct ncc_shape to = { .ndim = s->ndim };

	for (unsigned int i = 0; i < s->ndim; i++)
		to.dim[i] = bl->now && i != d ? 1 : s->bound[i];
	return bl->now ? build_reshape(bl, p, &to) : build_spread(bl, &to, p, &map);
}

struct ncc_op *sizes_there(struct ncc_build *bl, const struct ncc_sizes *s, uint32_t mask)
{
	struct ncc_op *all = NULL;

	for (unsigned int d = 0; d < s->ndim; d++) {
		struct ncc_op *p;

		if (!s->size[d] || !(mask >> d & 1))
			continue;
		p = along(bl, s, d, sizes_within(bl, s->bound[d], s->size[d]));
		if (!p)
			return NULL;
		all = all ? build_binary(bl, NCC_AND, all, p) : p;
	}
	return all;
}

struct ncc_op *sizes_filled(struct ncc_build *bl, struct ncc_op *x, const struct ncc_sizes *s,
			    uint32_t mask, struct ncc_op *with)
{
	return x ? build_select(bl, sizes_there(bl, s, mask), x,
				build_spread(bl, &x->shape, with, NULL))
		 : NULL;
}
