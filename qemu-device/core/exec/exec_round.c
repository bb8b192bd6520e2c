/* SPDX-License-Identifier: MIT */
/*
 * Results on their way to the type they are stored in: rounded to nearest, or at random by the
 * engine's draws (docs/isa.md, Rounding). Called by exec_*.c only.
 */
#include "exec_walk.h"

/* Types whose conversion from fp32 discards bits of a fraction */
static bool exec_narrows(uint8_t dtype)
{
	const struct neuron_isa_dtype *d = &neuron_isa_dtypes[dtype];

	return !d->integer && (d->size < 4 || dtype == NEURON_DT_TF32);
}

bool exec_rounds_at_random(const struct tpb *t, uint8_t dtype)
{
	return t->draws && exec_narrows(dtype);
}

/* At most EXEC_CHUNK numbers, as such that the type holds; each takes a word, exact or not */
static const float *exec_round(const struct tpb *t, uint8_t dtype, const float *x, size_t n)
{
	struct exec_draws *d = t->draws;
	struct exec_scratch *s = t->scratch;
	const unsigned int first = d->count % EXEC_DRAW_GROUP;

	t->kern->draw(d, d->count / EXEC_DRAW_GROUP,
		      (first + (unsigned int)n + EXEC_DRAW_GROUP - 1) / EXEC_DRAW_GROUP, s->words);
	t->kern->round(dtype, s->rounded, x, s->words + first, n);
	d->count += n;
	return s->rounded;
}

void exec_store(const struct tpb *t, uint8_t dtype, void *out, const float *x, size_t n)
{
	const uint8_t size = neuron_isa_dtypes[dtype].size;
	uint8_t *to = out;

	if (!exec_rounds_at_random(t, dtype)) {
		t->kern->store(dtype, out, x, n);
		return;
	}
	for (size_t m; n; n -= m, x += m, to += m * size) {
		m = n < EXEC_CHUNK ? n : EXEC_CHUNK;
		t->kern->store(dtype, to, exec_round(t, dtype, x, m), m);
	}
}
