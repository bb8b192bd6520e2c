// SPDX-License-Identifier: MIT
/*
 * Good files with one text of one member changed, and good models with one thing changed: each is
 * refused, and the refusal says what was found and where
 */
#include "../check_main.h"
#include "changed.h"
#include "testmodel.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/ext.h"
#include "neuron/hw/inferentia.h"
#include "neuron/isa/codec.h"
#include "neuron/hw/inferentia.h"

#define POOL NEURON_ENG_POOL
#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Returns the model's file, uncompressed, with one text of a member changed. */
static uint8_t *changed(struct testmodel *t, const char *member, const char *old, const char *new,
			size_t *size)
{
	size_t n;
	uint8_t *b = testmodel_write(t, &n), *out = neff_changed(b, n, member, old, new, size);

	free(b);
	return out;
}

static void refused(const uint8_t *b, size_t size, const char *text)
{
	struct neff_model *m;
	struct neff_error err;
	int ret = neff_read(b, size, NULL, &m, &err);

	ck_assert_msg(ret == -EINVAL && !m, "%d, expected '%s'", ret, text);
	ck_assert_msg(strstr(err.text, text), "'%s' does not say '%s'", err.text, text);
}

#define KELF "kelf-0.json"
#define DEF "sg00/def.json"
#define SP_JSON "sg00/sp.json"
#define GRAPH "neff.json"
#define TEN "{},{},{},{},{},{},{},{},{},{},"
#define SHAPE "[\n     128,\n     64\n    ]"

static const struct {
	const char *member, *old, *new, *text;
} texts[] = {
	{ KELF, "\"graphs\": [", "\"graphs\": [" TEN TEN TEN TEN,
	  "kelf-0.json: 'graphs' is not a list of 1 to " },
	{ KELF, "\"graphs\": [", "\"graphs\": [{\"name\":\"sg00\",\"definition\":\"" DEF "\"},",
	  "kelf-0.json: two graphs 'sg00'" },
	{ KELF, "\"graphs\": [",
	  "\"loops\": [{\"first\":\"sg00\",\"last\":\"sg00\",\"condition\":\"c\","
	  "\"iterations\":0}], \"graphs\": [",
	  "loops[0]: 'iterations' is not a number from 1 to 4294967296" },
	{ KELF, "\"graphs\": [",
	  "\"loops\": [{\"first\":\"sg00\",\"last\":\"sg00\",\"condition\":\"c\","
	  "\"iterations\":-1}], \"graphs\": [",
	  "loops[0]: 'iterations' is not a number from 1 to 4294967296" },
	{ KELF, "\"graphs\": [",
	  "\"loops\": [{\"first\":\"sg00\",\"last\":\"sg00\",\"condition\":\"c\","
	  "\"iterations\":4294967297}], \"graphs\": [",
	  "loops[0]: 'iterations' is not a number from 1 to 4294967296" },
	{ KELF, "\"graphs\": [",
	  "\"loops\": [{\"first\":\"sg00\",\"last\":\"sg00\",\"condition\":\"c\","
	  "\"iterations\":\"9\"}], \"graphs\": [",
	  "loops[0]: 'iterations' is not a number from 1 to 4294967296" },
	{ KELF, DEF, "sg00/x.json", "definition 'sg00/x.json', expected 'sg00/def.json'" },
	{ KELF, "\"sg00\"", "\".sg\"", "kelf-0.json: graphs[0]: no good name" },
	{ DEF, "\"sp.bin\"", "\"../sp.bin\"", "'sp_instr' is not a file name" },
	{ DEF, "\"sp.bin\"", "\"pool.bin\"", "sg00/pool.bin: used twice" },
	{ DEF, "\"a\": {", "\"a\\u0007\": {", "sg00/def.json: bad variable name" },
	{ DEF, "\"qin\": {", "\"q\\u007f\": {", "sg00/def.json: bad queue name" },
	{ DEF, "\"var_id\": 1", "\"var_id\": 0", "var 'b': var_id 0 twice" },
	{ DEF, "\"var_id\": 3", "\"var_id\": 4", "'var_id' is not an integer from 0 to 3" },
	{ DEF, "\"size\": 32768", "\"size\": -1", "var 'a': 'size' is not an integer from 0" },
	{ DEF, "\"size\": 32768", "\"size\": \"x\"", "var 'a': 'size' is not an integer from 0" },
	{ DEF, "\"state-buffer\"", "\"cache\"", "var 'sb': type 'cache' is not supported" },
	{ DEF, "\"size\": 0", "\"size\": 0, \"alignment\": 3",
	  "var 'sb': alignment 3 is not a power of two" },
	{ DEF, "\"owner\": \"sp\"", "\"owner\": \"host\"", "owner 'host' is not an engine" },
	{ DEF, "\"type\": \"in\",", "\"type\": \"up\",", "type 'up' is not supported" },
	{ DEF, "\"num_queues\": 1", "\"num_queues\": 2", "num_queues 2, expected 1" },
	{ SP_JSON, "\"from_steps\":[1,256],\"from_sizes\":[256,128]",
	  "\"from_steps\":[1,1,1,1,1],\"from_sizes\":[1,1,1,1,1]",
	  "dma[0]: 'from' has not 1 to 4 sizes and as many steps" },
	{ SP_JSON, "\"from_steps\":[1,256]", "\"from_steps\":[1]",
	  "dma[0]: 'from' has not 1 to 4 sizes and as many steps" },
	{ SP_JSON, "\"from_sizes\":[256,128]", "\"from_sizes\":[0,128]",
	  "'from' dimension 0 is not an integer step and a size above 0" },
	{ SP_JSON, "\"from\":\"a\"", "\"from\":\"z\"", "'from' names no variable: 'z'" },
	{ SP_JSON, "\"queue\":\"qin\"", "\"queue\":\"qx\"", "dma[0]: no queue set 'qx'" },
	{ SP_JSON, "\"from\":\"a\"", "\"op\":\"fma\",\"from\":\"a\"",
	  "'op' is none of 'copy', 'gather', 'scatter', 'cast', 'add', 'min', 'max', "
	  "'compress', 'decompress' and 'transpose'" },
	{ SP_JSON, "\"from\":\"a\"", "\"op\":\"transpose\",\"from\":\"a\"",
	  "'transpose_element_size' is missing" },
	{ SP_JSON, "\"from\":\"a\"",
	  "\"op\":\"transpose\",\"transpose_element_size\":3,\"from\":\"a\"",
	  "a 'transpose_element_size' of 2 or 4 is expected" },
	{ SP_JSON, "\"from\":\"a\"",
	  "\"op\":\"transpose\",\"transpose_element_size\":4,\"transpose_shape\":[1,2,3],"
	  "\"from\":\"a\"",
	  "'transpose_shape' is not a list of 4 sizes" },
	{ SP_JSON, "\"id\":0", "\"id\":0,\"event\":1", "dma[0]: 'event' is not supported" },
	{ SP_JSON, "\"semaphore\":0", "\"semaphore\":28",
	  "'semaphore' is not an integer from 0 to 27" },
	{ SP_JSON, "\"instr\":[]}", "\"instr\":[]}[]",
	  "sg00/sp.json: line 1: end of file expected" },
	{ GRAPH, SHAPE, "[4294967296, 64]", "'a': dimension 0 is not from 1 to 2^32 - 1" },
	{ GRAPH, SHAPE, "[0, 64]", "'a': dimension 0 is not from 1 to 2^32 - 1" },
	{ GRAPH, SHAPE, "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
	  "'a': shape is not a list of at most 16" },
	{ GRAPH, SHAPE, "[128, 65]", "var 'a': size 32768, expected 33280" },
	/* 2^65 + 32768 bytes */
	{ GRAPH, SHAPE, "[8192, 4193280125, 268501]", "var 'a': size 32768, expected 0" },
	{ GRAPH, "\"float32\"", "\"float99\"", "'a': unknown type 'float99'" },
	{ GRAPH, "    \"a\",\n    \"b\"", "    \"z\",\n    \"b\"", "no entry for 'a' of sg00" },
	{ GRAPH, "    \"a\",\n    \"b\"", "    \"a\",\n    \"a\"",
	  "tensor_name[1] is no string or twice" },
};

START_TEST(text)
{
	struct testmodel t;
	size_t size;
	uint8_t *b;

	testmodel_add(&t, 64);
	b = changed(&t, texts[_i].member, texts[_i].old, texts[_i].new, &size);
	testmodel_free(&t);
	refused(b, size, texts[_i].text);
	free(b);
}
END_TEST

/* One variable more than allowed */
START_TEST(variables)
{
	size_t size, n = 0, capacity = 4u << 20;
	char *vars = malloc(capacity);
	struct testmodel t;
	uint8_t *b;

	n += (size_t)sprintf(vars, "\"var\": {");
	for (int i = 4; i < 65537; i++)
		n += (size_t)sprintf(
			vars + n, "\"v%d\":{\"type\":\"tmp-buf\",\"var_id\":%d,\"size\":1},", i, i);
	testmodel_add(&t, 64);
	b = changed(&t, DEF, "\"var\": {", vars, &size);
	testmodel_free(&t);
	refused(b, size, "sg00/def.json: 'var' is not an object of 1 to 65536 variables");
	free(b);
	free(vars);
}
END_TEST

/* Models */

static void append(struct testmodel *t, unsigned int eng, struct neuron_insn insn)
{
	testmodel_insn(t, eng, &insn);
}

/* Finds the first instruction of an opcode. */
static uint8_t *find(struct testmodel *t, unsigned int eng, uint8_t opcode,
		     struct neuron_insn *insn, int *words)
{
	struct neff_engine *e = &t->sg.engine[eng];
	uint8_t *p = e->instr, *end = p + e->instr_size;

	for (;; p += *words * NEURON_INSN_WORD) {
		*words = neuron_isa_decode(p, (size_t)(end - p) / NEURON_INSN_WORD, insn);
		ck_assert_int_gt(*words, 0);
		if (insn->opcode == opcode)
			return p;
	}
}

static void edit(struct testmodel *t, unsigned int eng, uint8_t opcode,
		 void (*fn)(struct neuron_insn *insn))
{
	struct neuron_insn insn;
	int words;
	uint8_t *p = find(t, eng, opcode, &insn, &words);

	fn(&insn);
	ck_assert_int_eq(neuron_isa_encode(&insn, p), words);
}

static void cut(struct testmodel *t, unsigned int eng, uint8_t opcode)
{
	struct neff_engine *e = &t->sg.engine[eng];
	struct neuron_insn insn;
	int words;
	uint8_t *p = find(t, eng, opcode, &insn, &words), *next = p + words * NEURON_INSN_WORD;

	memmove(p, next, (size_t)((uint8_t *)e->instr + e->instr_size - next));
	e->instr_size -= (size_t)words * NEURON_INSN_WORD;
}

static void half_the_partitions(struct neuron_insn *insn)
{
	insn->partitions = 64;
}

static void no_elements(struct neuron_insn *insn)
{
	insn->dst.num[0] = 0;
}

static void clears_28(struct neuron_insn *insn)
{
	insn->last = 28;
}

static void waits_for_28(struct testmodel *t)
{
	append(t, POOL,
	       (struct neuron_insn){ .opcode = NEURON_OP_NOP,
				     .wait = NEURON_WAIT_SEM_GE,
				     .wait_index = 28,
				     .wait_value = 1 });
}

static void waits_for_31_to_be_0(struct testmodel *t)
{
	append(t, POOL,
	       (struct neuron_insn){
		       .opcode = NEURON_OP_NOP, .wait = NEURON_WAIT_SEM_EQ, .wait_index = 31 });
}

static void raises_28(struct testmodel *t)
{
	append(t, POOL,
	       (struct neuron_insn){
		       .opcode = NEURON_OP_NOP, .update = NEURON_UPD_SEM_INC, .update_index = 28 });
}

static void writes_31(struct testmodel *t)
{
	append(t, POOL,
	       (struct neuron_insn){ .opcode = NEURON_OP_NOP,
				     .update = NEURON_UPD_SEM_WR_IMM,
				     .update_index = 31 });
}

static void clears_more(struct testmodel *t)
{
	edit(t, NEURON_ENG_SP, NEURON_OP_SEM_RANGE_CLEAR, clears_28);
}

static void writes_a_register(struct testmodel *t)
{
	append(t, POOL,
	       (struct neuron_insn){ .opcode = NEURON_OP_WRITE,
				     .write = { { .addr = NEURON_V1_APB_BASE, .value = 1 } } });
}

static void has_an_empty_operand(struct testmodel *t)
{
	edit(t, POOL, NEURON_OP_TENSOR_TENSOR, no_elements);
}

static void has_two_of_one_id(struct testmodel *t)
{
	t->sg.vars[1].var_id = 0;
}

static void has_two_state_buffers(struct testmodel *t)
{
	testmodel_var(t, "sb2", NEFF_VAR_STATE_BUFFER, 0);
}

static void has_a_backing_beyond_all(struct testmodel *t)
{
	unsigned int v = testmodel_var(t, "v", NEFF_VAR_VIRTUAL, 8);

	t->sg.vars[v].backing_off = INT64_MAX - 7;
}

/* 65537 runs, 2^48 bytes from each to the next: 2^64 from the first to the last */
static void has_steps_around_the_world(struct testmodel *t)
{
	struct neff_desc *d = &t->sg.engine[NEURON_ENG_SP].dma[0].desc[0];

	d->from.size[1] = d->to.size[1] = 65537;
	d->from.step[1] = 1ll << 48;
	d->to.step[1] = 0;
}

static void copies_behind_psum(struct testmodel *t)
{
	struct neff_desc *d = &t->sg.engine[NEURON_ENG_SP].dma[0].desc[0];

	d->to.offset = NEURON_PSUM_OFFSET + 128ull * NEURON_PSUM_PART_STRIDE;
	d->to.step[1] = 0;
}

static void has_a_dma_that_nobody_triggers(struct testmodel *t)
{
	struct neff_engine *sp = &t->sg.engine[NEURON_ENG_SP];
	struct neff_dma *dma = testmodel_dma(t, NEURON_ENG_SP, 0, -1, 1);

	dma->desc[0] = sp->dma[0].desc[0];
	sp->instr_size -= NEURON_INSN_WORD; /* its trigger */
}

static void is_for_two_cores(struct testmodel *t)
{
	t->model.header.lnc_size = 2;
}

static void has_one_program_for_two(struct testmodel *t)
{
	t->model.target = neuron_target_of_name("trn2");
	t->model.header.lnc_size = 2;
}

static const struct {
	void (*change)(struct testmodel *t);
	const char *text;
} models[] = {
	{ waits_for_28,
	  "sg00/pool.bin: instruction at 192: semaphores 28 to 31 are the runtime's" },
	{ waits_for_31_to_be_0, "semaphores 28 to 31 are the runtime's" },
	{ raises_28, "semaphores 28 to 31 are the runtime's" },
	{ writes_31, "semaphores 28 to 31 are the runtime's" },
	{ clears_more, "sg00/sp.bin: instruction at 384: semaphores 28 to 31 are the runtime's" },
	{ writes_a_register, "only the runtime writes registers, notifies and fetches" },
	{ has_an_empty_operand, "a dimension has no elements" },
	{ has_two_of_one_id, "var 'b': var_id 0 at place 1" },
	{ has_two_state_buffers, "1 outputs and 2 state buffers" },
	{ has_a_backing_beyond_all, "var 'v': backing_variable_off" },
	{ has_steps_around_the_world, "dma[0] desc[0]: 'from': outside its variable" },
	{ copies_behind_psum, "dma[0] desc[0]: 'to': outside a partition of the core" },
	{ has_a_dma_that_nobody_triggers, "sg00/sp.json: dma[3] is never triggered" },
	{ is_for_two_cores, "header: lnc_size 2, a logical core of inf1 has up to 1" },
	{ has_one_program_for_two, "1 subgraphs and 0 loops, lnc_size 2 has 2" },
};

START_TEST(model)
{
	struct testmodel t;

	testmodel_add(&t, 64);
	models[_i].change(&t);
	testmodel_refused(&t, -EINVAL, models[_i].text);
}
END_TEST

/* The checker of files knows which weights are loaded, as the array does. */

START_TEST(weights)
{
	static uint16_t w[128 * 32];
	struct testmodel t;

	testmodel_matmul(&t, 32, 64, w);
	edit(&t, NEURON_ENG_PE, NEURON_OP_MATMUL, half_the_partitions);
	testmodel_refused(&t, -EINVAL, "as many partitions as the loaded weights");
	testmodel_matmul(&t, 32, 64, w);
	edit(&t, NEURON_ENG_PE, NEURON_OP_LDWEIGHTS, half_the_partitions);
	testmodel_refused(&t, -EINVAL, "as many partitions as the loaded weights");
	testmodel_matmul(&t, 32, 64, w);
	cut(&t, NEURON_ENG_PE, NEURON_OP_LDWEIGHTS);
	testmodel_refused(&t, -EINVAL, "no weights are loaded");
}
END_TEST

/* The last semaphore that belongs to the program */
static void waits_for_27(struct neuron_insn *insn)
{
	insn->wait_index = 27;
}

START_TEST(own_semaphores)
{
	struct neff_error err;
	struct testmodel t;
	size_t size;
	void *b;

	testmodel_add(&t, 64);
	for (int i = 0; i < 2; i++)
		t.sg.engine[NEURON_ENG_SP].dma[i].semaphore = 27;
	edit(&t, POOL, NEURON_OP_TENSOR_TENSOR, waits_for_27);
	ck_assert_msg(!neff_write(&t.model, &b, &size, &err), "%s", err.text);
	free(b);
	testmodel_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("neff-refused");
	TCase *tc = tcase_create("files and models");

	tcase_add_loop_test(tc, text, 0, LEN(texts));
	tcase_add_test(tc, variables);
	tcase_add_loop_test(tc, model, 0, LEN(models));
	tcase_add_test(tc, weights);
	tcase_add_test(tc, own_semaphores);
	suite_add_tcase(s, tc);
	return check_run(s);
}
