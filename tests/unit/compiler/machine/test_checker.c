// SPDX-License-Identifier: MIT
/*
 * The static checker against programs that are wrong in one place: a good model is changed, and the
 * checker must refuse it. Also: what the compiler writes, libneff reads, and it is the same bytes
 * every time.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "neuron/hw/inferentia.h"
#include "neuron/isa/codec.h"
#include "machine/prog.h"
#include "neuron/hw/inferentia.h"
#include "second.h"

static const char model_path[] = "digits/digits.hlo.pb";
static const char gather_path[] =
	"hlo_ops/rows_chained/module.hlo.pb"; /* one's rows index another */
static const char *const models[] = { model_path, gather_path };

/* Decodes the instruction at word i of an engine; returns its number of words. */
static int insn_at(struct neff_engine *e, size_t i, struct neuron_insn *insn)
{
	int n = neuron_isa_decode((char *)e->instr + i * NEURON_INSN_WORD,
				  e->instr_size / NEURON_INSN_WORD - i, insn);

	ck_assert_int_gt(n, 0);
	return n;
}

static void put(struct neff_engine *e, size_t i, const struct neuron_insn *insn)
{
	ck_assert_int_gt(neuron_isa_encode(insn, (char *)e->instr + i * NEURON_INSN_WORD), 0);
}

static void expect_refused_with(const struct neff_model *m, const char *what, const char *text)
{
	struct ncc_error err = { "" };

	ck_assert_msg(ncc_check_model(m, &err) == -EINVAL, "accepted: %s", what);
	ck_assert_msg(strstr(err.text, "checker:") && strstr(err.text, text),
		      "%s: '%s' does not say '%s'", what, err.text, text);
}

static void expect_refused(const struct neff_model *m, const char *what)
{
	expect_refused_with(m, what, "");
}

static void expect_accepted(const struct neff_model *m)
{
	struct ncc_error err = { "" };

	ck_assert_msg(!ncc_check_model(m, &err), "%s", err.text);
}

START_TEST(every_wait_is_needed)
{
	struct neff_model *m = compile_model(models[_i]);
	unsigned int waits = 0;

	expect_accepted(m);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		struct neff_engine *eng = &m->subgraphs->engine[e];

		for (size_t i = 0; i < eng->instr_size / NEURON_INSN_WORD;) {
			struct neuron_insn insn, changed;
			int n = insn_at(eng, i, &insn);

			if (insn.wait != NEURON_WAIT_NONE) {
				changed = insn;
				changed.wait = NEURON_WAIT_NONE;
				changed.wait_index = 0;
				changed.wait_value = 0;
				put(eng, i, &changed);
				expect_refused(m, "a wait is missing");
				put(eng, i, &insn);
				waits++;
			}
			i += (size_t)n;
		}
	}
	ck_assert_uint_gt(waits, 12);
	expect_accepted(m);
	neff_free(m);
}
END_TEST

START_TEST(every_signal_is_needed)
{
	struct neff_model *m = compile_model(models[_i]);

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		struct neff_engine *eng = &m->subgraphs->engine[e];

		for (size_t i = 0; i < eng->instr_size / NEURON_INSN_WORD;) {
			struct neuron_insn insn, changed;
			int n = insn_at(eng, i, &insn);

			if (insn.update != NEURON_UPD_NONE) {
				changed = insn;
				changed.update = NEURON_UPD_NONE;
				changed.update_index = 0;
				put(eng, i, &changed);
				expect_refused(m, "a signal is missing");
				put(eng, i, &insn);
			}
			i += (size_t)n;
		}
	}
	neff_free(m);
}
END_TEST

START_TEST(bad_programs)
{
	struct neff_model *m = compile_model(model_path);
	struct neff_subgraph *sg = m->subgraphs;
	struct neff_engine *sp = &sg->engine[NEURON_ENG_SP];
	struct neff_pattern *p = &sp->dma[0].desc[0].to;
	size_t last = sp->instr_size / NEURON_INSN_WORD - 1;
	struct neuron_insn insn, other;
	struct neff_pattern was = *p;

	insn_at(sp, last, &insn);
	ck_assert_uint_eq(insn.opcode, NEURON_OP_SEM_RANGE_CLEAR);
	other = insn;
	other.last = 1;
	put(sp, last, &other);
	expect_refused(m, "semaphores left");
	other = (struct neuron_insn){ .opcode = NEURON_OP_NOP };
	put(sp, last, &other);
	expect_refused(m, "no clear");
	other = insn;
	other.wait = NEURON_WAIT_SEM_GE;
	other.wait_value = 1 << 30;
	put(sp, last, &other);
	expect_refused_with(m, "a wait for ever", "waits for ever");
	put(sp, last, &insn);

	p->offset = sg->vars[p->var].size;
	expect_refused(m, "a DMA behind its variable");
	*p = was;
	p->var = sg->nvars;
	expect_refused(m, "a DMA to no variable");
	*p = was;
	p->size[0]++;
	expect_refused(m, "more than the variable has");
	*p = was;
	ck_assert_uint_gt(p->size[0], 1);
	p->size[0]--;
	expect_refused(m, "two sizes");
	*p = was;
	sp->dma[0].semaphore = 29;
	expect_refused(m, "a semaphore of the runtime");
	neff_free(m);
}
END_TEST

static unsigned int unused_semaphore(struct neff_subgraph *sg)
{
	bool used[NEURON_V1_SEMAPHORES] = { false };
	struct neuron_insn insn;
	unsigned int s = 0;

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		struct neff_engine *eng = &sg->engine[e];

		for (size_t i = 0; i < eng->instr_size / NEURON_INSN_WORD;) {
			i += (size_t)insn_at(eng, i, &insn);
			if (insn.update == NEURON_UPD_SEM_INC)
				used[insn.update_index] = true;
		}
		for (unsigned int i = 0; i < eng->ndma; i++)
			if (eng->dma[i].semaphore >= 0)
				used[eng->dma[i].semaphore] = true;
	}
	while (used[s])
		s++;
	return s;
}

/* Lets the engine's first instruction that signals nothing signal this semaphore. */
static bool signal_also(struct neff_engine *eng, unsigned int semaphore)
{
	struct neuron_insn insn;

	for (size_t i = 0; i < eng->instr_size / NEURON_INSN_WORD;) {
		int n = insn_at(eng, i, &insn);

		if (insn.opcode != NEURON_OP_PROGRAM_START && insn.update == NEURON_UPD_NONE) {
			insn.update = NEURON_UPD_SEM_INC;
			insn.update_index = (uint8_t)semaphore;
			put(eng, i, &insn);
			return true;
		}
		i += (size_t)n;
	}
	return false;
}

/* Nobody waits for it and the end clears it, so the only error is that two engines signal it. */
START_TEST(two_producers)
{
	struct neff_model *m = compile_model(model_path);
	struct neff_subgraph *sg = m->subgraphs;
	unsigned int semaphore = unused_semaphore(sg), n = 0;

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX && n < 2; e++) {
		if (!signal_also(&sg->engine[e], semaphore))
			continue;
		if (!n++)
			expect_accepted(m);
		else
			expect_refused(m, "a semaphore with two producers");
	}
	ck_assert_uint_eq(n, 2);
	neff_free(m);
}
END_TEST

static void append(struct neff_engine *eng, const struct neuron_insn *insn)
{
	eng->instr = realloc(eng->instr, eng->instr_size + NEURON_INSN_WORD);
	ck_assert_ptr_nonnull(eng->instr);
	put(eng, eng->instr_size / NEURON_INSN_WORD, insn);
	eng->instr_size += NEURON_INSN_WORD;
}

/* An engine executes, or waits, after the last of its instructions that SP waits for. */
START_TEST(engine_behind_the_end)
{
	struct neff_model *m = compile_model(model_path);
	struct neff_engine *pe = &m->subgraphs->engine[NEURON_ENG_PE];
	uint8_t semaphore = (uint8_t)unused_semaphore(m->subgraphs);
	const struct neuron_insn behind[] = {
		{ .opcode = NEURON_OP_NOP, .update = NEURON_UPD_SEM_INC, .update_index = semaphore },
		{ .opcode = NEURON_OP_NOP,
		  .wait = NEURON_WAIT_SEM_GE,
		  .wait_index = semaphore,
		  .wait_value = 1 },
	};

	append(pe, &behind[_i]);
	expect_refused_with(m, "an engine behind SP's end", "SP ends before another engine");
	pe->instr_size -= NEURON_INSN_WORD;
	expect_accepted(m);
	neff_free(m);
}
END_TEST

static struct neff_desc *find_gather(struct neff_model *m)
{
	struct neff_engine *sp = &m->subgraphs->engine[NEURON_ENG_SP];

	for (unsigned int i = 0; i < sp->ndma; i++)
		if (sp->dma[i].desc[0].op == NEFF_GATHER)
			return sp->dma[i].desc;
	ck_abort_msg("no gather");
}

START_TEST(bad_gathers)
{
	struct neff_model *m = compile_model(gather_path);
	struct neff_desc *d = find_gather(m), was = *d;

	d->index_off = m->subgraphs->vars[d->index].size - 4;
	expect_refused(m, "indices behind their variable");
	*d = was;
	d->index = m->subgraphs->nvars;
	expect_refused(m, "indices of no variable");
	*d = was;
	d->to.size[0] /= 2;
	expect_refused(m, "half rows");
	*d = was;
	d->from.size[1]++;
	expect_refused(m, "a table larger than its variable");
	*d = was;
	d->from.var = 0;
	d->from.offset = 0;
	d->from.size[1] = 1;
	expect_refused(m, "a table in SBUF");
	*d = was;
	expect_accepted(m);
	neff_free(m);
}
END_TEST

START_TEST(same_bytes)
{
	size_t size, n1, n2;
	void *hlo = read_data(model_path, &size);
	void *a = compile(hlo, size, NCC_CAST_MATMULT, &n1),
	     *b = compile(hlo, size, NCC_CAST_MATMULT, &n2);

	ck_assert_uint_eq(n1, n2);
	ck_assert_int_eq(memcmp(a, b, n1), 0);
	free(hlo);
	free(a);
	free(b);
}
END_TEST

/* A model for the tests' own generation: its engines, its memory; and inf1 does not take it */
START_TEST(other_target)
{
	const struct neff_limits limits = { .validate_hash = true };
	size_t size, neff_size, report_size;
	void *hlo = read_data(model_path, &size), *neff;
	char *report = NULL;
	FILE *f = open_memstream(&report, &report_size);
	const struct ncc_options opt = { .target = &neuron_target_second,
					 .auto_cast = NCC_CAST_MATMULT,
					 .report = f };
	struct neff_model *m;
	struct neff_error ne;
	struct ncc_error err;

	ck_assert_ptr_nonnull(f);
	ck_assert_msg(!ncc_compile(hlo, size, &opt, &neff, &neff_size, &err), "%s", err.text);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(report, "\"gp\": {\"instructions\": 1,"));
	ck_assert_ptr_nonnull(strstr(report, "\"size\": 196608,"));
	ck_assert_int_eq(neff_read(neff, neff_size, &limits, &m, &ne), -ENOTSUP);
	ck_assert(ne.version);
	ck_assert_ptr_nonnull(strstr(ne.text, "ISA version 2, supported 1"));
	free(report);
	free(neff);
	free(hlo);
}
END_TEST

START_TEST(inputs_and_outputs)
{
	struct neff_model *m = compile_model(model_path);
	unsigned int seen = 0;

	for (unsigned int i = 0; i < m->subgraphs->nvars; i++) {
		const struct neff_var *v = &m->subgraphs->vars[i];

		if (v->type == NEFF_VAR_INPUT) {
			ck_assert_str_eq(v->name, "input0");
			ck_assert_uint_eq(v->size, 32 * 64 * 4);
			ck_assert_uint_eq(v->dtype, NEURON_DT_FP32);
			ck_assert_uint_eq(v->ndim, 2);
			ck_assert_uint_eq(v->shape[0], 32);
			ck_assert_uint_eq(v->shape[1], 64);
			seen |= 1;
		} else if (v->type == NEFF_VAR_OUTPUT) {
			ck_assert_str_eq(v->name, "output0");
			ck_assert_uint_eq(v->size, 32 * 10 * 4);
			seen |= 2;
		}
	}
	ck_assert_uint_eq(seen, 3);
	ck_assert_uint_eq(m->header.feature_bits, NEFF_FEATURE_EMU);
	ck_assert_uint_eq(m->header.num_tpb, 1);
	neff_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("checker");
	TCase *t = tcase_create("checker");

	tcase_add_loop_test(t, every_wait_is_needed, 0, 2);
	tcase_add_loop_test(t, every_signal_is_needed, 0, 2);
	tcase_add_test(t, bad_gathers);
	tcase_add_test(t, bad_programs);
	tcase_add_test(t, two_producers);
	tcase_add_loop_test(t, engine_behind_the_end, 0, 2);
	tcase_add_test(t, same_bytes);
	tcase_add_test(t, other_target);
	tcase_add_test(t, inputs_and_outputs);
	suite_add_tcase(s, t);
	return check_run(s);
}
