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
		ck_assert_uint_eq(ncc_prog_node(p, i)->proc, NCC_PROC_QUEUE(p->dma[ncc_prog_node(p, i)->dma].queue));
		n += p->dma[ncc_prog_node(p, i)->dma].queue == q;
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
	ncc_spread_queues(&p);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_DATA), want[_i].data);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_OUT), want[_i].out);
	ck_assert_uint_eq(of_queue(&p, NCC_Q_IN), want[_i].in);
	ncc_prog_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spread");
	TCase *t = tcase_create("spread");

	tcase_add_loop_test(t, spread, 0, (int)(sizeof(want) / sizeof(want[0])));
	suite_add_tcase(s, t);
	return check_run(s);
}
