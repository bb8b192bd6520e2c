// SPDX-License-Identifier: MIT
/*
 * Programs of more descriptors than the ring of one queue has room for: what is beyond goes to the
 * queues of inputs and outputs, and what has room stays where it was. Every descriptor here moves
 * one element, so that their number is known.
 */
#include <check.h>
#include <stdlib.h>

#include "../../check_main.h"
#include "machine/prog.h"
#include "ncc.h"

#define EACH (1u << 20) /* elements of a DMA */
#define BYTES (8ull * EACH)

/* n DMAs of EACH elements, every other one of a variable */
static void make(struct ncc_prog *p, unsigned int n)
{
	struct ncc_error err;
	int from, to;

	ncc_prog_init(p, neuron_target_of_name("trn1"));
	from = ncc_prog_var(p, NEFF_VAR_VIRTUAL, "from", BYTES);
	to = ncc_prog_var(p, NEFF_VAR_VIRTUAL, "to", BYTES);
	for (unsigned int i = 0; i < n; i++) {
		struct neff_desc *desc = calloc(1, sizeof(*desc));
		const struct neff_pattern scattered = { .ndim = 2,
							.size = { 4, EACH },
							.step = { 1, 8 } };

		ck_assert_ptr_nonnull(desc);
		desc->from = desc->to = scattered;
		desc->from.var = (uint32_t)from;
		desc->to.var = (uint32_t)to;
		ck_assert_int_eq(ncc_prog_dma(p, NCC_Q_DATA, desc, 1, &err), 0);
	}
}

static unsigned int of_queue(const struct ncc_prog *p, enum ncc_queue q)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->nnodes; i++) {
		const struct ncc_node *node = ncc_prog_node(p, i);

		ck_assert_uint_eq(node->proc, NCC_PROC_QUEUE(p->dma[node->dma].queue));
		n += p->dma[node->dma].queue == q;
	}
	return n;
}

/* A packet has a descriptor of metadata and up to 64 more, so fifteen DMAs are too many for one. */
#define CAPACITY ((15u << 20) / (EACH + EACH / 64 + 1))

static const struct {
	unsigned int n, data, out, in;
} want[] = {
	{ CAPACITY, CAPACITY, 0, 0 },
	{ CAPACITY + 1, CAPACITY, 1, 0 },
	{ 2 * CAPACITY + 3, CAPACITY, CAPACITY, 3 },
	{ 3 * CAPACITY + 2, CAPACITY + 2, CAPACITY, CAPACITY }, /* too large: out.c refuses it */
};

START_TEST(spread)
{
	struct ncc_descs d = { 0 };
	struct ncc_prog p;

	make(&p, want[_i].n);
	ck_assert_int_eq(ncc_count_descs(p.target, &p.dma[0], &d), 0);
	ck_assert_uint_ge(d.tx, EACH);
	ck_assert_uint_le(d.tx, EACH + EACH / 64 + 1);
	ck_assert_int_eq(ncc_spread_queues(&p), want[_i].out > 0);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_DATA), want[_i].data);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_OUT), want[_i].out);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_IN), want[_i].in);
	ncc_prog_free(&p);
}
END_TEST

/* The words of SP's stream, which triggers all DMAs and waits for them */
static size_t triggers(const struct ncc_prog *p, const struct ncc_stream *st, uint8_t *words)
{
	size_t n = 0;

	for (unsigned int i = 0; i < st->n; i++)
		n += ncc_slot_words(p, &st->slot[i], words + n);
	return n;
}

/* What was scheduled before queues changed is none of the result. */
START_TEST(scheduled_before)
{
	static uint8_t words[2][1 << 16];
	size_t size[2];

	for (unsigned int before = 0; before < 2; before++) {
		struct ncc_stream st[NEURON_ENGINES_MAX] = { 0 };
		struct ncc_sched *s;
		struct ncc_prog p;

		make(&p, CAPACITY + 3);
		ck_assert_int_eq(ncc_sched_begin(&s, &p), 0);
		if (before)
			ck_assert_int_eq(ncc_sched_to(s, p.nnodes), 0);
		ncc_sched_spread(s);
		ck_assert_uint_eq(of_queue(&p, NCC_Q_OUT), 3);
		ck_assert_int_eq(ncc_sched_end(s, st), 0);
		size[before] = triggers(&p, &st[NEURON_ENG_SP], words[before]);
		ncc_sched_free(s);
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
			free(st[e].slot);
		ncc_prog_free(&p);
	}
	ck_assert_uint_eq(size[0], size[1]);
	ck_assert_mem_eq(words[0], words[1], size[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spread");
	TCase *t = tcase_create("spread");

	tcase_add_loop_test(t, spread, 0, (int)(sizeof(want) / sizeof(want[0])));
	tcase_add_test(t, scheduled_before);
	suite_add_tcase(s, t);
	return check_run(s);
}
