// SPDX-License-Identifier: MIT
/*
 * Copies cut into packets: byte by byte what the two patterns say, in the same order, within the
 * bounds of a packet. Patterns are random; four plain loops here are the oracle.
 */
#include <check.h>
#include <stdlib.h>

#include "../check_main.h"
#include "neff.h"

#define BYTES 20000 /* of one copy, at most */
#define ROUNDS 400

struct copy {
	struct neff_pattern from, to;
	uint64_t from_addr[BYTES], to_addr[BYTES]; /* of each byte, from the patterns */
	unsigned int n, taken, packets, stop_after;
};

static unsigned int below(unsigned int n)
{
	return n ? (unsigned int)random() % n : 0;
}

static unsigned int list(const struct neff_pattern *p, uint64_t base, uint64_t *addr)
{
	uint64_t size[4] = { 1, 1, 1, 1 }, i[4];
	unsigned int n = 0;

	for (unsigned int d = 0; d < p->ndim; d++)
		size[d] = p->size[d];
	for (i[3] = 0; i[3] < size[3]; i[3]++)
		for (i[2] = 0; i[2] < size[2]; i[2]++)
			for (i[1] = 0; i[1] < size[1]; i[1]++)
				for (i[0] = 0; i[0] < size[0]; i[0]++) {
					addr[n] = base + p->offset;
					for (unsigned int d = 0; d < p->ndim; d++)
						addr[n] += i[d] * (uint64_t)p->step[d];
					n++;
				}
	return n;
}

/*
 * Makes a pattern of total bytes in up to four dimensions; a step may join a dimension to the one
 * inside, or go backwards.
 */
static struct neff_pattern pattern(unsigned int total)
{
	struct neff_pattern p = { .offset = 1 << 20, .ndim = 1 + below(4) };
	int64_t joined = 1;

	for (unsigned int d = 0; d < p.ndim; d++) {
		unsigned int size = d + 1 < p.ndim ? 1 + below(9) : total;

		while (total % size)
			size--;
		total /= size;
		p.size[d] = size;
		p.step[d] = d && below(2) ? (int64_t)below(5000) - 1000 : joined;
		joined = p.step[d] * (int64_t)size;
	}
	return p;
}

static void check_side(const struct neff_piece *piece, unsigned int n, const uint64_t *addr,
		       unsigned int *bytes)
{
	unsigned int wrong = 0;

	*bytes = 0;
	ck_assert_uint_le(n, 128);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_ge(piece[i].len, 1);
		ck_assert_uint_le(piece[i].len, 65536);
		for (unsigned int b = 0; b < piece[i].len; b++)
			wrong += piece[i].addr + b != addr[(*bytes)++];
	}
	ck_assert_uint_eq(wrong, 0);
}

static int take(void *arg, const struct neff_packet *p)
{
	struct copy *c = arg;
	unsigned int tx, rx;

	check_side(p->tx, p->ntx, c->from_addr + c->taken, &tx);
	check_side(p->rx, p->nrx, c->to_addr + c->taken, &rx);
	ck_assert_uint_eq(tx, rx);
	c->taken += tx;
	return ++c->packets == c->stop_after ? -42 : 0;
}

static void make(struct copy *c, unsigned int total)
{
	*c = (struct copy){ .from = pattern(total), .to = pattern(total) };
	c->n = list(&c->from, 0x1000, c->from_addr);
	ck_assert_uint_eq(list(&c->to, 0x2000, c->to_addr), c->n);
}

START_TEST(every_byte)
{
	static struct copy c;

	srandom(7);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		make(&c, 1 + below(i % 10 ? 600 : BYTES));
		ck_assert_int_eq(neff_packets(&neuron_target_inf1, &c.from, 0x1000, &c.to, 0x2000,
					      take, &c),
				 0);
		ck_assert_uint_eq(c.taken, c.n);
	}
}
END_TEST

/* Rows that lie one behind the other are one run. */
START_TEST(whole_runs)
{
	static struct copy c;

	c.n = BYTES;
	c.from = (struct neff_pattern){ .ndim = 2, .size = { 100, 200 }, .step = { 1, 100 } };
	c.to = (struct neff_pattern){ .ndim = 2, .size = { 5000, 4 }, .step = { 1, 8000 } };
	list(&c.from, 0x1000, c.from_addr);
	list(&c.to, 0x2000, c.to_addr);
	ck_assert_int_eq(
		neff_packets(&neuron_target_inf1, &c.from, 0x1000, &c.to, 0x2000, take, &c), 0);
	ck_assert_uint_eq(c.packets, 1);
}
END_TEST

START_TEST(stops)
{
	static struct copy c;

	c.n = 600;
	c.stop_after = 2;
	c.from = (struct neff_pattern){ .ndim = 2, .size = { 1, 600 }, .step = { 1, 3 } };
	c.to = (struct neff_pattern){ .ndim = 1, .size = { 600 }, .step = { 1 } };
	list(&c.from, 0, c.from_addr);
	list(&c.to, 0, c.to_addr);
	ck_assert_int_eq(neff_packets(&neuron_target_inf1, &c.from, 0, &c.to, 0, take, &c), -42);
	ck_assert_uint_eq(c.packets, 2);
	ck_assert_uint_eq(c.taken, 256);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("packets");
	TCase *t = tcase_create("packets");

	tcase_add_test(t, every_byte);
	tcase_add_test(t, whole_runs);
	tcase_add_test(t, stops);
	suite_add_tcase(s, t);
	return check_run(s);
}
