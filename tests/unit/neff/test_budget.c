// SPDX-License-Identifier: MIT
/*
 * What reading a file may cost: texts and trees of JSON against the file, unpacked bytes against
 * the file, and all of it on the caller's account. The oracle of what a tree costs is jansson's own
 * allocations, counted here as the C library rounds them.
 */
#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neff.h"
#include "neuron/hw/target.h"
#include "neuron/hw/ext.h"
#include "testmodel.h"

#define MIB (1u << 20)

static const char kelf[] = "{\"graphs\":[{\"name\":\"sg00\",\"definition\":\"sg00/def.json\"}]}";

struct entry {
	const char *name;
	const char *data; /* NULL: zeros */
	size_t size;
};

/* Packs these members into a file, which is small however large they are. */
static uint8_t *pack(const struct entry *e, size_t n, size_t *size)
{
	size_t capacity = 4u * MIB, used, header;
	uint8_t *file = malloc(capacity);
	struct archive *a = archive_write_new();
	char *zeros = calloc(1, MIB);
	struct testmodel t;
	void *model;

	testmodel_add(&t, 16);
	model = testmodel_write(&t, &header);
	testmodel_free(&t);
	memcpy(file, model, 1024);
	free(model);
	archive_write_add_filter_gzip(a);
	archive_write_set_format_pax_restricted(a);
	archive_write_open_memory(a, file + 1024, capacity - 1024, &used);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *entry = archive_entry_new();

		archive_entry_set_pathname(entry, e[i].name);
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_size(entry, (la_int64_t)e[i].size);
		archive_write_header(a, entry);
		for (size_t done = 0, part; done < e[i].size; done += part) {
			part = e[i].size - done < MIB ? e[i].size - done : MIB;
			archive_write_data(a, e[i].data ? e[i].data + done : zeros, part);
		}
		archive_entry_free(entry);
	}
	archive_write_close(a);
	archive_write_free(a);
	free(zeros);
	for (int i = 0; i < 8; i++)
		file[16 + i] = (uint8_t)(used >> (8 * i));
	*size = 1024 + used;
	return file;
}

/* Repeats the piece as often as it fits into size bytes, between first and last. */
static char *repeat(const char *first, const char *piece, const char *last, size_t size)
{
	char *text = malloc(size + strlen(first) + strlen(piece) + strlen(last) + 1);
	size_t n = strlen(first);

	strcpy(text, first);
	while (n + strlen(piece) <= size) {
		strcpy(text + n, piece);
		n += strlen(piece);
	}
	strcpy(text + n, last);
	return text;
}

static void refused(const struct entry *e, size_t n, const struct neff_limits *limits, int ret,
		    const char *text)
{
	struct neff_model *m = (void *)1;
	struct neff_error err;
	size_t size;
	uint8_t *file = pack(e, n, &size);

	ck_assert_int_eq(neff_read(file, size, limits, &m, &err), ret);
	ck_assert_ptr_null(m);
	ck_assert_msg(strstr(err.text, text), "'%s' does not say '%s'", err.text, text);
	free(file);
}

/* ---- JSON against the file */

/*
 * A text that is a hundred times its file; also when it is spread over members that are not used.
 */
START_TEST(text)
{
	char *text = repeat("{\"x\": \"", "x", "\"}", 2u * MIB), name[8][24];
	const struct entry one = { "kelf-0.json", text, strlen(text) };
	struct entry many[8];

	refused(&one, 1, NULL, -EINVAL, "kelf-0.json: more than 1");
	for (int i = 0; i < 8; i++) {
		snprintf(name[i], sizeof(name[i]), "m%d.json", i);
		many[i] = (struct entry){ name[i], text, 256u << 10 };
	}
	refused(many, 8, NULL, -EINVAL, "m4.json: more than 1");
	free(text);
}
END_TEST

/* A text under another name counts when it is parsed. */
START_TEST(text_by_another_name)
{
	static const char def[] = "{\"dma_queue\":{},\"var\":{\"x\":{\"type\":\"input\",\"var_id\":"
				  "0,"
				  "\"size\":4}},\"pe\":\"text\"}";
	char *text = repeat("{\"x\": \"", "x", "\"}", 2u * MIB);
	const struct entry e[] = { { "kelf-0.json", kelf, strlen(kelf) },
				   { "sg00/def.json", def, strlen(def) },
				   { "sg00/text", text, strlen(text) } };

	refused(e, 3, NULL, -EINVAL, "sg00/text: more than 1");
	free(text);
}
END_TEST

START_TEST(one_text)
{
	struct neff_limits limits = { .max_json = 64u * MIB };
	const struct entry e = { "kelf-0.json", NULL, (32u * MIB) + 1 };

	refused(&e, 1, &limits, -EINVAL, "size 33554433 is over the limit of 33554432");
}
END_TEST

static const char *const dense[] = { "{},", "[],", "\"\",", "[[]],", "{\"\":[]}," };

/* Lists of empty lists: little text, much memory */
START_TEST(tree)
{
	char *text = repeat("[", dense[_i], "0]", 600u << 10);
	const struct entry e = { "kelf-0.json", text, strlen(text) };

	refused(&e, 1, NULL, -EINVAL, "expected at most 32 for one");
	free(text);
}
END_TEST

/* ---- the caller's account */

struct account {
	int64_t now, peak, limit; /* limit 0: none */
};

static int64_t json_now, json_peak;

struct piece {
	int64_t size;
	max_align_t data[];
};

static void *json_alloc(size_t size)
{
	struct piece *p = malloc(sizeof(*p) + size);

	p->size = size < 24 ? 32 : (int64_t)(size + 8 + 15) / 16 * 16;
	json_now += p->size;
	if (json_now > json_peak)
		json_peak = json_now;
	return p->data;
}

static void json_release(void *data)
{
	struct piece *p = data ? (void *)((char *)data - sizeof(*p)) : NULL;

	json_now -= p ? p->size : 0;
	free(p);
}

static int account(void *arg, int64_t bytes)
{
	struct account *a = arg;

	if (bytes > 0 && a->limit && a->now + bytes > a->limit)
		return -1;
	a->now += bytes;
	if (a->now > a->peak)
		a->peak = a->now;
	return 0;
}

/*
 * Whatever is read, the account was asked for the trees besides their text, and gets everything
 * back.
 */
static void honest(const uint8_t *file, size_t size, size_t text, bool good)
{
	struct account a = { 0 };
	struct neff_limits limits = { .account = account, .account_arg = &a };
	struct neff_model *m;
	struct neff_error err;
	int ret;

	json_peak = 0;
	json_set_alloc_funcs(json_alloc, json_release);
	ret = neff_read(file, size, &limits, &m, &err);
	ck_assert_msg(good == !ret, "%s", err.text);
	ck_assert_int_gt(json_peak, 0);
	ck_assert_int_eq(json_now, 0);
	ck_assert_int_ge(a.peak, json_peak + (int64_t)text);
	if (!good) {
		ck_assert_int_eq(a.now, 0);
		return;
	}
	ck_assert_int_gt(a.now, 0);
	neff_free(m);
	a = (struct account){ .limit = a.peak - 1 };
	ck_assert_int_eq(neff_read(file, size, &limits, &m, &err), -ENOMEM);
	ck_assert_msg(strstr(err.text, "bytes more are not to be had"), "%s", err.text);
	ck_assert_int_eq(a.now, 0);
}

START_TEST(honest_about_a_model)
{
	struct testmodel t;
	size_t size;
	void *file;

	testmodel_add(&t, 16);
	file = testmodel_write(&t, &size);
	testmodel_free(&t);
	honest(file, size, 0, true);
	free(file);
}
END_TEST

static const struct {
	const char *first, *piece, *last;
} texts[] = {
	{ "[", "1234567,", "0]" },
	{ "[", "{\"a\": 1, \"b\": [1, 2, 3], \"c\": \"some text\"},", "0]" },
	{ "[", "\"abcdefgh\",", "0]" },
	{ "[", "[1,2,3,4,5,6,7,8,9,10,11,12],", "0]" },
	{ "[\"\\\"\",", "[1,2,3,4,5,6,7,8,9,10,11,12],", "0]" },
};

/* A list of each kind of value, in good JSON that is no graph */
START_TEST(honest_about_json)
{
	char *text = repeat(texts[_i].first, texts[_i].piece, texts[_i].last, 1000u << 10);
	const struct entry e = { "kelf-0.json", text, strlen(text) };
	size_t size;
	uint8_t *file = pack(&e, 1, &size);

	honest(file, size, strlen(text), false);
	free(file);
	free(text);
}
END_TEST

/* Unpacked bytes are taken from the account as they arrive: a bomb ends where the account does. */
START_TEST(bomb)
{
	struct account a = { .limit = 3 * MIB };
	struct neff_limits limits = { .account = account, .account_arg = &a };
	const struct entry e = { "zeros", NULL, 200u * MIB };

	refused(&e, 1, &limits, -ENOMEM, "bytes more are not to be had");
	ck_assert_int_le(a.peak, a.limit);
	ck_assert_int_eq(a.now, 0);
}
END_TEST

/*
 * Without limits of the caller's the unpacked size is checked against the file's size
 * (docs/neff.md).
 */
START_TEST(payload_against_the_file)
{
	const struct entry e = { "zeros", NULL, 320u * MIB };

	refused(&e, 1, NULL, -EINVAL, "zeros: size 335544320 is over the limit");
}
END_TEST

/* A tar stream that does not announce its size cannot exceed the limit either. */
START_TEST(unpacks_to_more_than_it_says)
{
	struct neff_limits limits = { .max_payload = 5 * MIB };
	const struct entry e[] = { { "a", NULL, 3u * MIB }, { "b", NULL, 3u * MIB } };

	refused(e, 2, &limits, -EINVAL, "b: payload unpacks to more than 5242880 bytes");
}
END_TEST

/* ---- what is written can be read */

/* Zeros that would be packed into less than a reader believes: they are not packed. */
START_TEST(zeros_can_be_read)
{
	const size_t n = 448u * MIB;
	struct neff_model *m;
	struct neff_error err;
	struct testmodel t;
	unsigned int v;
	size_t size;
	void *file;

	testmodel_add(&t, 16);
	v = testmodel_var(&t, "w", NEFF_VAR_FILE, n);
	t.sg.vars[v].file_name = strdup("w.bin");
	t.sg.vars[v].data = calloc(1, n);
	file = testmodel_write(&t, &size);
	testmodel_free(&t);
	ck_assert_uint_gt(size, n);
	ck_assert_msg(!neff_read(file, size, NULL, &m, &err), "%s", err.text);
	ck_assert_uint_eq(m->subgraphs[0].vars[v].size, n);
	neff_free(m);
	free(file);
}
END_TEST

/* A text that no reader takes is not written. */
START_TEST(long_text_is_not_written)
{
	const unsigned int n = 300000;
	struct testmodel t;
	struct neff_dma *dma;

	testmodel_add(&t, 16);
	dma = &t.sg.engine[NEURON_ENG_SP].dma[0];
	dma->desc = realloc(dma->desc, n * sizeof(dma->desc[0]));
	dma->desc[0].from.ndim = dma->desc[0].to.ndim = 1;
	for (dma->ndesc = 1; dma->ndesc < n; dma->ndesc++)
		dma->desc[dma->ndesc] = dma->desc[0];
	testmodel_refused(&t, -EINVAL, "over the limit of 33554432");
}
END_TEST

START_TEST(name_too_long)
{
	char name[257];
	struct entry e = { name, NULL, 1 };

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	refused(&e, 1, NULL, -EINVAL, "a member's name of more than 255 bytes");
}
END_TEST

/* ---- pieces of transfers: however small the file is */

START_TEST(pieces_of_a_model)
{
	const struct neff_pattern many = { 0, 0, 4, { 1, 256, 256, 128 }, { 1, 0, 0, 0 } };
	struct neff_subgraph sg[5];
	struct neff_error err;
	struct testmodel t;
	char name[5][5];
	size_t size;
	void *file;

	testmodel_add(&t, 16);
	t.sg.engine[NEURON_ENG_SP].dma[0].desc[0] = (struct neff_desc){ .from = many, .to = many };
	t.sg.engine[NEURON_ENG_SP].dma[0].desc[0].to.var = 2;
	/* the others' few: as many as one may have */
	t.sg.engine[NEURON_ENG_SP].dma[0].desc[0].to.size[1] = 255;
	t.sg.engine[NEURON_ENG_SP].dma[0].desc[0].from.size[1] = 255;
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(name[i], sizeof(name[i]), "sg%02u", i);
		sg[i] = t.sg;
		sg[i].name = name[i];
	}
	t.model.nsubgraphs = 5;
	t.model.subgraphs = sg;
	ck_assert_int_eq(neff_write(&t.model, &file, &size, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "sg04/") && strstr(err.text, "too many pieces"), "%s",
		      err.text);
	t.model.nsubgraphs = 1;
	t.model.subgraphs = &t.sg;
	testmodel_free(&t);
}
END_TEST

/* ---- who does not want the model any more */

struct wanted {
	struct account account;
	unsigned int asked, until; /* until 0: for ever */
	unsigned int checked; /* asked since memory was last taken, as only unpacking does */
};

static bool unwanted(void *arg)
{
	struct wanted *w = arg;

	/* when it has said so once, nobody asks again, and nothing is done */
	ck_assert(!w->until || w->asked < w->until);
	w->checked++;
	return ++w->asked == w->until;
}

static int still_wanted(void *arg, int64_t bytes)
{
	struct wanted *w = arg;

	ck_assert(bytes < 0 || !w->until || w->asked < w->until);
	if (bytes > 0)
		w->checked = 0;
	return account(&w->account, bytes);
}

static unsigned int asks(const void *file, size_t size, unsigned int *checked)
{
	struct wanted w = { .until = 0 };
	struct neff_limits limits = { .account = still_wanted,
				      .account_arg = &w,
				      .cancelled = unwanted,
				      .cancelled_arg = &w };
	struct neff_model *m;
	struct neff_error err;
	unsigned int n;
	int ret = neff_read(file, size, &limits, &m, &err);

	n = w.asked;
	*checked = w.checked;
	if (!ret)
		neff_free(m);
	for (unsigned int i = 1; i <= n; i += 1 + n / 6) {
		w = (struct wanted){ .until = i };
		ck_assert_int_eq(neff_read(file, size, &limits, &m, &err), -ECANCELED);
		ck_assert_ptr_null(m);
		ck_assert_str_eq(err.text, "cancelled");
		ck_assert_int_eq(w.account.now, 0);
	}
	return n;
}

/* Wherever it is cancelled, nothing more is done; it is asked for each MiB that is unpacked */
START_TEST(cancelled_unpacking)
{
	const struct entry e = { "zeros", NULL, 32u * MIB };
	size_t size;
	uint8_t *file = pack(&e, 1, &size);
	unsigned int checked;

	ck_assert_uint_ge(asks(file, size, &checked), 32);
	free(file);
}
END_TEST

/* Repeats the program's last word, which is an instruction that does nothing */
static void lengthen(struct neff_engine *e, size_t words)
{
	uint8_t *p = realloc(e->instr, e->instr_size + words * 64);

	for (e->instr = p; words--; e->instr_size += 64)
		memcpy(p + e->instr_size, p + e->instr_size - 64, 64);
}

/* ... for each 256 descriptors, and for each MiB of a program */
START_TEST(cancelled_checking)
{
	enum { DESCS = 2560, WORDS = 2 << 20 >> 6 };
	const struct neuron_insn nop = { .opcode = NEURON_OP_NOP };
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START, .isa_version = 1 };
	struct testmodel t;
	unsigned int few, many, more;
	struct neff_dma *dma;
	struct neff_desc *desc;
	size_t size;
	void *file;

	testmodel_add(&t, 16);
	file = testmodel_write(&t, &size);
	asks(file, size, &few);
	free(file);
	dma = &t.sg.engine[NEURON_ENG_SP].dma[0];
	desc = calloc(DESCS, sizeof(*desc));
	for (unsigned int i = 0; i < DESCS; i++)
		desc[i] = dma->desc[0];
	free(dma->desc);
	dma->desc = desc;
	dma->ndesc = DESCS;
	file = testmodel_write(&t, &size);
	asks(file, size, &many);
	ck_assert_uint_ge(many, few + DESCS / 256 - 1);
	free(file);
	testmodel_insn(&t, NEURON_ENG_PE, &start);
	testmodel_insn(&t, NEURON_ENG_PE, &nop);
	lengthen(&t.sg.engine[NEURON_ENG_PE], WORDS);
	file = testmodel_write(&t, &size);
	asks(file, size, &more);
	ck_assert_uint_ge(more, many + 2);
	free(file);
	testmodel_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("neff-budget");
	TCase *tc = tcase_create("budget");

	tcase_add_test(tc, text);
	tcase_add_test(tc, text_by_another_name);
	tcase_add_test(tc, one_text);
	tcase_add_loop_test(tc, tree, 0, sizeof(dense) / sizeof(dense[0]));
	tcase_add_test(tc, honest_about_a_model);
	tcase_add_loop_test(tc, honest_about_json, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(tc, bomb);
	tcase_add_test(tc, payload_against_the_file);
	tcase_add_test(tc, unpacks_to_more_than_it_says);
	tcase_add_test(tc, zeros_can_be_read);
	tcase_add_test(tc, long_text_is_not_written);
	tcase_add_test(tc, name_too_long);
	tcase_add_test(tc, pieces_of_a_model);
	tcase_add_test(tc, cancelled_unpacking);
	tcase_add_test(tc, cancelled_checking);
	suite_add_tcase(s, tc);
	return check_run(s);
}
