/* SPDX-License-Identifier: MIT */
/*
 * What a module is of the one that it was cut from: a stage of a pipeline (pipeline.c), a part of a
 * program with loops (loops.c), or one core's half of a model or of either (cores.c)
 */
#ifndef NCC_PIECE_H
#define NCC_PIECE_H

#include "ir/ir.h"

/* What an output is, as index and passage say it of a parameter */
struct ncc_port {
	enum ncc_passage passage;
	int64_t number;
};

struct ncc_piece {
	struct ncc_port *out; /* of each output */
	/* of a part: each number's place in the shared scratchpad, and the end of them */
	const uint64_t *kept;
	uint64_t kept_end;
	struct ncc_half *half; /* of one core of a logical one (cores.h); NULL: of both */
};

/* Makes m a piece of so many outputs at most; false: out of memory */
static inline bool ncc_make_piece(struct ncc_module *m, unsigned int nouts)
{
	m->piece = ncc_alloc(m, sizeof(*m->piece));
	if (m->piece)
		m->piece->out = ncc_alloc(m, (nouts + 1) * sizeof(*m->piece->out));
	return m->piece && m->piece->out;
}

/* What output i of a module is, be it a piece or whole */
static inline struct ncc_port ncc_port_of(const struct ncc_module *m, unsigned int i)
{
	return m->piece ? m->piece->out[i] : (struct ncc_port){ NCC_OF_MODEL, i };
}

/* The piece's places of what is kept between parts; NULL: the module is of no part */
static inline const uint64_t *ncc_kept_of(const struct ncc_module *m)
{
	return m->piece ? m->piece->kept : NULL;
}

static inline struct ncc_half *ncc_half_of(const struct ncc_module *m)
{
	return m->piece ? m->piece->half : NULL;
}

#endif
