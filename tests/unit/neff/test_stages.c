// SPDX-License-Identifier: MIT
/* Models of several subgraphs: what passes between them, and what must be refused */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "testmodel.h"

#define STAGES 3

struct stages {
	struct testmodel t[STAGES];
	struct neff_subgraph sg[STAGES];
	struct neff_model model;
};

static void rename_to(char **name, const char *to)
{
	free(*name);
	*name = strdup(to);
}

/* sg00: c = a + b; sg01: d = c + b; sg02: e = d + b */
static void make(struct stages *s, unsigned int cols)
{
	static const char *const names[STAGES][3] = { { "a", "b", "c" },
						      { "c", "b", "d" },
						      { "d", "b", "e" } };
	static const char *const sg[STAGES] = { "sg00", "sg01", "sg02" };

	memset(s, 0, sizeof(*s));
	for (unsigned int k = 0; k < STAGES; k++) {
		testmodel_add(&s->t[k], k == 1 ? cols : 16);
		rename_to(&s->t[k].sg.name, sg[k]);
		for (unsigned int i = 0; i < 3; i++) {
			ck_assert_int_ne(s->t[k].sg.vars[i].type, NEFF_VAR_STATE_BUFFER);
			rename_to(&s->t[k].sg.vars[i].name, names[k][i]);
		}
	}
	s->model = s->t[0].model;
	s->model.nsubgraphs = STAGES;
	s->model.subgraphs = s->sg;
}

static int write_stages(struct stages *s, void **buf, size_t *size, struct neff_error *err)
{
	for (unsigned int k = 0; k < STAGES; k++)
		s->sg[k] = s->t[k].sg;
	return neff_write(&s->model, buf, size, err);
}

static void release(struct stages *s)
{
	for (unsigned int k = 0; k < STAGES; k++)
		testmodel_free(&s->t[k]);
}

START_TEST(round_trip)
{
	struct neff_limits limits = { .validate_hash = true };
	struct neff_error err;
	struct neff_model *m;
	struct stages s;
	size_t size;
	void *b;

	make(&s, 16);
	ck_assert_msg(!write_stages(&s, &b, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(b, size, &limits, &m, &err), "%s", err.text);
	ck_assert_uint_eq(m->nsubgraphs, STAGES);
	for (unsigned int k = 0; k < STAGES; k++) {
		ck_assert_str_eq(m->subgraphs[k].name, s.sg[k].name);
		ck_assert_str_eq(m->subgraphs[k].vars[0].name, s.sg[k].vars[0].name);
		ck_assert_uint_eq(m->subgraphs[k].engine[3].instr_size,
				  s.sg[k].engine[3].instr_size);
	}
	neff_free(m);
	free(b);
	release(&s);
}
END_TEST

/* Makes the three stages parts of a program, whose middle one is repeated while 'go' is not 0 */
static void make_loop(struct stages *s, struct neff_loop *loop)
{
	static const char *const outs[STAGES] = { "c", "d", "e" };

	make(s, 16);
	for (unsigned int k = 0; k < STAGES; k++) {
		rename_to(&s->t[k].sg.vars[0].name, "a");
		rename_to(&s->t[k].sg.vars[2].name, outs[k]);
		testmodel_var(&s->t[k], "go", NEFF_VAR_VIRTUAL, 1);
	}
	*loop = (struct neff_loop){ 1, 1, "go", 77 };
	s->model.loops = loop;
	s->model.nloops = 1;
}

START_TEST(loop_round_trip)
{
	struct neff_limits limits = { .validate_hash = true };
	struct neff_loop loop;
	struct neff_error err;
	struct neff_model *m;
	struct stages s;
	size_t size;
	void *b;

	make_loop(&s, &loop);
	ck_assert_msg(!write_stages(&s, &b, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(b, size, &limits, &m, &err), "%s", err.text);
	ck_assert_uint_eq(m->nloops, 1);
	ck_assert_uint_eq(m->loops[0].first, 1);
	ck_assert_uint_eq(m->loops[0].last, 1);
	ck_assert_str_eq(m->loops[0].condition, "go");
	ck_assert_uint_eq(m->loops[0].iterations, 77);
	neff_free(m);
	free(b);
	release(&s);
}
END_TEST

static const char *const loop_why[] = {
	"kelf-0.json: loops[0]: no subgraph before it or behind it, or it ends before it begins",
	"kelf-0.json: loops[0]: no subgraph before it or behind it, or it ends before it begins",
	"kelf-0.json: loops[0]: no subgraph before it or behind it, or it ends before it begins",
	"kelf-0.json: loops[1]: neither inside the loops before it nor, "
	"after another subgraph, behind them",
	"kelf-0.json: loops[0]: its condition is not one virtual variable of one byte, "
	"of the subgraph before it and of its last",
	"kelf-0.json: loops[0]: its condition is not one virtual variable of one byte, "
	"of the subgraph before it and of its last",
	"kelf-0.json: loops[0]: its condition is not one virtual variable of one byte, "
	"of the subgraph before it and of its last",
	"sg01/def.json: var 'c': an output of sg00; "
	"parts of a program with loops share virtual variables",
};

static void wrong_loop(struct stages *s, struct neff_loop loop[2], int which)
{
	struct neff_var *go = &s->t[1].sg.vars[s->t[1].sg.nvars - 1];

	switch (which) {
	case 0:
		loop->first = 0;
		break;
	case 1:
		loop->last = 2;
		break;
	case 2:
		loop->last = 0;
		break;
	case 3:
		loop[1] = loop[0];
		s->model.nloops = 2;
		break;
	case 4:
		loop->condition = "a";
		break;
	case 5:
		go->size = 4;
		break;
	case 6:
		go->backing_off = 64;
		break;
	case 7:
		rename_to(&s->t[1].sg.vars[0].name, "c");
		break;
	}
}

START_TEST(loop_refused)
{
	struct neff_loop loop[2];
	struct neff_error err;
	struct stages s;
	size_t size;
	void *b;

	make_loop(&s, loop);
	wrong_loop(&s, loop, _i);
	ck_assert_int_eq(write_stages(&s, &b, &size, &err), -EINVAL);
	ck_assert_ptr_null(b);
	ck_assert_msg(!strcmp(err.text, loop_why[_i]), "'%s' is not '%s'", err.text, loop_why[_i]);
	release(&s);
}
END_TEST

/*
 * The three stages as parts without a loop, with calls of the host behind the first and the second
 */
struct calls {
	struct neff_call call[2];
	struct neff_call_array array[3];
};

static void make_calls(struct stages *s, struct calls *c)
{
	static const char *const outs[STAGES] = { "c", "d", "e" };

	make(s, 16);
	for (unsigned int k = 0; k < STAGES; k++) {
		rename_to(&s->t[k].sg.vars[0].name, "a");
		rename_to(&s->t[k].sg.vars[2].name, outs[k]);
		testmodel_var(&s->t[k], "kept", NEFF_VAR_VIRTUAL, 64);
	}
	c->array[0] = (struct neff_call_array){ "f32", 2, 1, { 2, 3 }, { 40 } };
	c->array[1] = (struct neff_call_array){ "c64", 1, 2, { 4 }, { 0, NEFF_CALL_NOWHERE } };
	c->array[2] = (struct neff_call_array){ "s8", 2, 0, { 0, 7 }, { 0 } };
	c->call[0] = (struct neff_call){ 0, "function", 77, false, 0, 1, 2, c->array };
	c->call[1] = (struct neff_call){ 1, "another", 1, true, 63, 0, 0, NULL };
	s->model.calls = c->call;
	s->model.ncalls = 2;
}

START_TEST(calls_round_trip)
{
	struct neff_limits limits = { .validate_hash = true };
	const struct neff_call *call;
	struct neff_error err;
	struct neff_model *m;
	struct stages s;
	struct calls c;
	size_t size;
	void *b;

	make_calls(&s, &c);
	ck_assert_msg(!write_stages(&s, &b, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(b, size, &limits, &m, &err), "%s", err.text);
	ck_assert_uint_eq(m->ncalls, 2);
	call = m->calls;
	ck_assert(call->after == 0 && call->index == 77 && !call->guarded);
	ck_assert_str_eq(call->target, "function");
	ck_assert(call->nin == 1 && call->nout == 2);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_str_eq(call->array[i].type, c.array[i].type);
		ck_assert_uint_eq(call->array[i].ndim, c.array[i].ndim);
		ck_assert_uint_eq(call->array[i].noff, c.array[i].noff);
		ck_assert_mem_eq(call->array[i].shape, c.array[i].shape, sizeof(c.array[i].shape));
		ck_assert_mem_eq(call->array[i].off, c.array[i].off, sizeof(c.array[i].off));
	}
	ck_assert(m->calls[1].after == 1 && m->calls[1].guarded && m->calls[1].guard == 63);
	ck_assert_uint_eq(neff_call_bytes(&call->array[0]), 24);
	ck_assert_uint_eq(neff_call_bytes(&call->array[1]), 16);
	ck_assert_uint_eq(neff_call_halves(&call->array[1]), 2);
	neff_free(m);
	free(b);
	release(&s);
}
END_TEST

static const char *const calls_why[] = {
	"calls[1]: no subgraph behind it, or the call before it comes later",
	"calls[1]: no subgraph behind it, or the call before it comes later",
	"calls[0]: an array outside of the virtual variables",
	"calls[0]: an array outside of the virtual variables",
	"calls[0]: an array outside of the virtual variables",
	"calls[0]: an array has not as many offsets as parts",
	"calls[0]: an array of no known type, or too large",
	"calls[0]: an array of no known type, or too large",
	"calls[1]: 'if' is outside of the virtual variables",
	"calls[0]: a loop begins or ends behind the same subgraph",
};

static void wrong_calls(struct stages *s, struct calls *c, struct neff_loop *loop, int which)
{
	switch (which) {
	case 0:
		c->call[1].after = 2;
		break;
	case 1:
		c->call[0].after = 1;
		c->call[1].after = 0;
		break;
	case 2:
		c->array[0].off[0] = 41;
		break;
	case 3:
		c->array[0].off[0] = UINT64_MAX; /* of an operand */
		break;
	case 4:
		c->array[1].shape[0] = 17;
		break;
	case 5:
		c->array[1].noff = 1;
		break;
	case 6:
		strcpy(c->array[0].type, "f64");
		break;
	case 7:
		c->array[0].shape[0] = c->array[0].shape[1] = 1ull << 33;
		break;
	case 8:
		c->call[1].guard = 64;
		break;
	case 9:
		for (unsigned int k = 0; k < STAGES; k++)
			testmodel_var(&s->t[k], "go", NEFF_VAR_VIRTUAL, 1);
		*loop = (struct neff_loop){ 1, 1, "go", 0 };
		s->model.loops = loop;
		s->model.nloops = 1;
		break;
	}
}

START_TEST(calls_refused)
{
	struct neff_loop loop;
	struct neff_error err;
	struct stages s;
	struct calls c;
	size_t size;
	void *b;

	make_calls(&s, &c);
	wrong_calls(&s, &c, &loop, _i);
	ck_assert_int_eq(write_stages(&s, &b, &size, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, calls_why[_i]), "'%s' is not '%s'", err.text, calls_why[_i]);
	release(&s);
}
END_TEST

static void wrong(struct stages *s, int which)
{
	switch (which) {
	case 0: /* as many bytes, another shape */
		s->t[1].sg.vars[0].shape[0] = 64;
		s->t[1].sg.vars[0].shape[1] = 32;
		break;
	case 1:
		s->t[2].sg.vars[1].dtype = 8; /* int32 */
		break;
	case 2:
		rename_to(&s->t[1].sg.vars[0].name, "x");
		rename_to(&s->t[1].sg.vars[2].name, "c");
		break;
	case 3:
		rename_to(&s->t[2].sg.vars[1].name, "c");
		break;
	case 4:
		rename_to(&s->t[0].sg.vars[0].name, "e");
		break;
	case 5:
		rename_to(&s->t[2].sg.name, "sg00");
		break;
	case 6:
		s->model.nsubgraphs = 0;
		break;
	}
}

static const char *const why[] = {
	"sg01/def.json: var 'c': type or shape is not that of sg00",
	"sg02/def.json: var 'b': type or shape is not that of sg00",
	"sg01/def.json: var 'c': an output of sg00 too",
	"sg02/def.json: var 'c': an output of sg00, which is not the subgraph before",
	"sg00/def.json: var 'e': an output of sg02, which is not the subgraph before",
	"kelf-0.json: two subgraphs 'sg00'",
	"kelf-0.json: no subgraphs",
};

START_TEST(refused)
{
	struct neff_error err;
	struct stages s;
	size_t size;
	void *b;

	make(&s, 16);
	wrong(&s, _i);
	ck_assert_int_eq(write_stages(&s, &b, &size, &err), -EINVAL);
	ck_assert_ptr_null(b);
	ck_assert_msg(!strcmp(err.text, why[_i]), "'%s' is not '%s'", err.text, why[_i]);
	release(&s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stages");
	TCase *t = tcase_create("stages");

	tcase_add_test(t, round_trip);
	tcase_add_loop_test(t, refused, 0, (int)(sizeof(why) / sizeof(why[0])));
	tcase_add_test(t, loop_round_trip);
	tcase_add_test(t, calls_round_trip);
	tcase_add_loop_test(t, calls_refused, 0, sizeof(calls_why) / sizeof(calls_why[0]));
	tcase_add_loop_test(t, loop_refused, 0, (int)(sizeof(loop_why) / sizeof(loop_why[0])));
	suite_add_tcase(s, t);
	return check_run(s);
}
