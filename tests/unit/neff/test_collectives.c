// SPDX-License-Identifier: MIT
/*
 * What ranks pass to each other, as a file says it: it comes back as it was written, and what does
 * not fit the parts, their variables or each other is refused
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "changed.h"
#include "neuron/isa/codec.h"
#include "testmodel.h"

#define PARTS 3
#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Collectives: the first three behind the first part, AGAIN behind the second */
enum { GATHER, EXCHANGE, PERMUTE, AGAIN, NUMBER, COLLECTIVES };

struct together {
	struct testmodel t[PARTS];
	struct neff_subgraph sg[PARTS];
	struct neff_collective c[COLLECTIVES];
	struct neff_loop loop;
	uint32_t all[4], halves[4], pairs[4];
	struct neff_model model;
};

static void rename_to(char **name, const char *to)
{
	free(*name);
	*name = strdup(to);
}

static void add_virtual(struct testmodel *t, const char *name, uint64_t size, uint64_t off)
{
	const unsigned int v = testmodel_var(t, name, NEFF_VAR_VIRTUAL, size);

	t->sg.vars[v].backing_off = off;
}

/* SP's last instruction clears the semaphores, but for the ranks' two. */
static void clear_less(struct testmodel *t)
{
	struct neff_engine *e = &t->sg.engine[NEURON_ENG_SP];
	uint8_t *last = (uint8_t *)e->instr + e->instr_size - NEURON_INSN_WORD;
	struct neuron_insn insn;

	ck_assert_int_eq(neuron_isa_decode(last, 1, &insn), 1);
	ck_assert_int_eq(insn.opcode, NEURON_OP_SEM_RANGE_CLEAR);
	insn.last = 25;
	ck_assert_int_eq(neuron_isa_encode(&insn, last), 1);
}

/* Three parts, each of which adds inputs of the caller's; what they pass is nobody's business here */
static void make(struct together *m)
{
	static const char *const names[PARTS][3] = { { "a", "b", "c" },
						     { "d", "b", "e" },
						     { "f", "b", "g" } };
	static const char *const sg[PARTS] = { "sg00", "sg01", "sg02" };

	memset(m, 0, sizeof(*m));
	for (unsigned int k = 0; k < PARTS; k++) {
		testmodel_add(&m->t[k], 16);
		clear_less(&m->t[k]);
		rename_to(&m->t[k].sg.name, sg[k]);
		for (unsigned int i = 0; i < 3; i++)
			rename_to(&m->t[k].sg.vars[i].name, names[k][i]);
	}
	add_virtual(&m->t[0], "x", 64, 0);
	add_virtual(&m->t[0], "y", 256, 64);
	add_virtual(&m->t[1], "y", 256, 64);
	add_virtual(&m->t[1], "z", 256, 320);
	add_virtual(&m->t[2], "w", 256, 576);
	add_virtual(&m->t[1], "p", 64, 832);
	add_virtual(&m->t[2], "n", 4, 896);
	memcpy(m->all, (const uint32_t[]){ 0, 1, 2, 3 }, sizeof(m->all));
	memcpy(m->halves, (const uint32_t[]){ 3, 1, 0, 2 }, sizeof(m->halves));
	memcpy(m->pairs, (const uint32_t[]){ 0, 1, 1, 0 }, sizeof(m->pairs));
	m->c[GATHER] = (struct neff_collective){ NEFF_ALL_GATHER, 0, "x", "z", 64, 4, 4, m->all };
	m->c[EXCHANGE] =
		(struct neff_collective){ NEFF_ALL_TO_ALL, 0, "y", "w", 128, 2, 4, m->halves };
	m->c[PERMUTE] = (struct neff_collective){ NEFF_PERMUTE, 0, "x", "p", 64, 2, 4, m->pairs };
	m->c[AGAIN] = (struct neff_collective){ NEFF_ALL_GATHER, 1, "x", "y", 64, 4, 4, m->all };
	m->c[NUMBER] = (struct neff_collective){ .op = NEFF_PARTITION_ID, .to = "n" };
	m->model = m->t[0].model;
	m->model.nsubgraphs = PARTS;
	m->model.subgraphs = m->sg;
	m->model.ranks = 4;
	m->model.partitions = 2;
	m->model.ncollectives = COLLECTIVES;
	m->model.collectives = m->c;
}

static int write(struct together *m, void **buf, size_t *size, struct neff_error *err)
{
	for (unsigned int k = 0; k < PARTS; k++)
		m->sg[k] = m->t[k].sg;
	return neff_write(&m->model, buf, size, err);
}

static void release(struct together *m)
{
	for (unsigned int k = 0; k < PARTS; k++)
		testmodel_free(&m->t[k]);
}

START_TEST(round_trip)
{
	struct neff_model *model;
	struct neff_error err;
	struct together m;
	size_t size;
	void *b;

	make(&m);
	ck_assert_msg(!write(&m, &b, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(b, size, NULL, &model, &err), "%s", err.text);
	ck_assert_uint_eq(model->ranks, 4);
	ck_assert_uint_eq(model->partitions, 2);
	ck_assert_uint_eq(model->ncollectives, COLLECTIVES);
	for (unsigned int i = 0; i < COLLECTIVES; i++) {
		const struct neff_collective *c = &model->collectives[i];

		ck_assert_int_eq(c->op, m.c[i].op);
		ck_assert_uint_eq(c->behind, m.c[i].behind);
		ck_assert_str_eq(c->to, m.c[i].to);
		ck_assert_uint_eq(c->bytes, m.c[i].bytes);
		ck_assert_uint_eq(c->members, m.c[i].members);
		ck_assert_uint_eq(c->nranks, m.c[i].nranks);
		ck_assert(!c->nranks ||
			  !memcmp(c->rank, m.c[i].rank, c->nranks * sizeof(*c->rank)));
		ck_assert(!m.c[i].from == !c->from && (!c->from || !strcmp(c->from, m.c[i].from)));
	}
	neff_free(model);
	free(b);
	release(&m);
}
END_TEST

/* ---- what is refused: a thing that is done to a good model, and what is said ---- */

static void too_many_ranks(struct together *m)
{
	m->all[2] = 7;
}

static void overlapping_groups(struct together *m)
{
	m->halves[3] = 3;
}

static void a_rank_left_out(struct together *m)
{
	m->c[EXCHANGE].nranks = 2;
}

static void two_sources(struct together *m)
{
	m->pairs[2] = 0;
}

static void no_pairs(struct together *m)
{
	m->c[PERMUTE].members = 4;
}

static void too_long(struct together *m)
{
	m->c[GATHER].bytes = 128;
}

static void overflowing(struct together *m)
{
	m->c[GATHER].bytes = 1ull << 62;
}

static void from_nowhere(struct together *m)
{
	m->c[GATHER].from = "q";
}

static void to_an_input(struct together *m)
{
	m->c[GATHER].to = "a";
}

static void into_another(struct together *m)
{
	m->c[EXCHANGE].to = "z";
}

static void onto_itself(struct together *m)
{
	m->c[EXCHANGE].to = "y";
}

static void over_a_number(struct together *m)
{
	m->t[2].sg.vars[m->t[2].sg.nvars - 1].backing_off = 320;
}

static void in_two_places(struct together *m)
{
	m->t[1].sg.vars[m->t[1].sg.nvars - 3].backing_off = 1024;
}

static void behind_all(struct together *m)
{
	m->c[AGAIN].behind = 2;
}

static void out_of_order(struct together *m)
{
	m->c[GATHER].behind = 1;
}

/* The first of the ranks' two semaphores: 26 and 27 of 28 that programs have */
static void raises_theirs(struct together *m)
{
	struct neff_engine *e = &m->t[1].sg.engine[NEURON_ENG_SP];
	const struct neuron_insn insn = { .opcode = NEURON_OP_NOP,
					  .update = NEURON_UPD_SEM_INC,
					  .update_index = 26 };
	uint8_t *p = realloc(e->instr, e->instr_size + NEURON_INSN_WORD);

	ck_assert_ptr_nonnull(p);
	e->instr = p;
	ck_assert_int_eq(neuron_isa_encode(&insn, p + e->instr_size), 1);
	e->instr_size += NEURON_INSN_WORD;
}

static void at_a_loop(struct together *m)
{
	add_virtual(&m->t[0], "go", 1, 1024);
	add_virtual(&m->t[1], "go", 1, 1024);
	m->loop = (struct neff_loop){ 1, 1, "go", 0 };
	m->model.loops = &m->loop;
	m->model.nloops = 1;
}

static const struct {
	void (*change)(struct together *m);
	const char *said;
} refused[] = {
	{ too_many_ranks, "collectives[0]: rank 7, there are 4" },
	{ overlapping_groups, "collectives[1]: rank 3 twice" },
	{ a_rank_left_out, "collectives[1]: 2 ranks in its groups, of 4" },
	{ two_sources, "collectives[2]: rank 0 twice" },
	{ no_pairs, "collectives[2]: 'pairs' are not of two ranks" },
	{ too_long, "collectives[0]: 'x' is not a virtual variable of 128 bytes" },
	{ overflowing, "collectives[0]: more bytes than there are" },
	{ from_nowhere, "collectives[0]: 'q' is not a virtual variable" },
	{ to_an_input, "collectives[0]: 'a' is not a virtual variable" },
	{ into_another, "collectives[1]: writes where another one reads or writes" },
	{ onto_itself, "collectives[1]: writes where another one reads or writes" },
	{ over_a_number, "collectives[4]: writes where another one reads or writes" },
	{ in_two_places, "collectives[1]: a variable that lies in two places" },
	{ behind_all, "collectives[3]: no part is behind it" },
	{ out_of_order, "collectives[1]: not in the order of the parts" },
	{ raises_theirs, "semaphores 26 to 31 are the runtime's" },
	{ at_a_loop, "collectives[0]: where a loop begins or ends" },
};

START_TEST(is_refused)
{
	struct neff_error err;
	struct together m;
	size_t size;
	void *b;

	make(&m);
	refused[_i].change(&m);
	ck_assert_int_eq(write(&m, &b, &size, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].said), "'%s' does not say '%s'", err.text,
		      refused[_i].said);
	release(&m);
}
END_TEST

/* ---- texts ---- */

static const struct {
	const char *old, *new, *said;
} texts[] = {
	{ "\"ranks\": 4", "\"ranks\": 257", "'ranks' is not a number from 1 to 256" },
	{ "\"ranks\": 4", "\"ranks\": 0", "'ranks' is not a number from 1 to 256" },
	{ "\"partitions\": 2", "\"partitions\": 3", "not a multiple of 'partitions'" },
	{ "\"collectives\": [", "\"collectives\": 7, \"others\": [",
	  "'collectives' is not a list" },
	{ "\"all_gather\"", "\"all_gone\"", "collectives[0]: 'op' is none of" },
	{ "\"to\": \"z\"", "\"to\": 5", "collectives[0]: 'from' or 'to' is not a name" },
	{ "\"from\": \"x\"", "\"from\": []", "collectives[0]: 'from' or 'to' is not a name" },
	{ "\"behind\": \"sg00\"", "\"behind\": \"sg07\"",
	  "collectives[0]: 'behind' is not a graph" },
	{ "\"bytes\": 64", "\"bytes\": -64", "collectives[0]: 'bytes' is not a number above 0" },
	{ "\"groups\": [", "\"groups\": [], \"others\": [", "collectives[0]: no lists of ranks" },
	{ "\"groups\": [", "\"groups\": [[1], ",
	  "collectives[0]: its lists of ranks have different" },
	{ "     3\n", "     -3\n", "a rank that is no number below 256" },
};

START_TEST(text_is_refused)
{
	struct neff_model *model = NULL;
	struct neff_error err;
	struct together m;
	size_t size, n;
	uint8_t *out;
	void *b;

	make(&m);
	ck_assert_msg(!write(&m, &b, &size, &err), "%s", err.text);
	out = neff_changed(b, size, "kelf-0.json", texts[_i].old, texts[_i].new, &n);
	ck_assert_int_eq(neff_read(out, n, NULL, &model, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, texts[_i].said), "'%s' does not say '%s'", err.text,
		      texts[_i].said);
	free(out);
	free(b);
	release(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("neff-collectives");
	TCase *tc = tcase_create("collectives");

	tcase_add_test(tc, round_trip);
	tcase_add_loop_test(tc, is_refused, 0, LEN(refused));
	tcase_add_loop_test(tc, text_is_refused, 0, LEN(texts));
	suite_add_tcase(s, tc);
	return check_run_here(s);
}
