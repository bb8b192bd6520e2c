// SPDX-License-Identifier: MIT
/* The NEFF file: offsets, a round trip, and what a reader must refuse, with the member named */
#include "../check_main.h"
#include "testmodel.h"

#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuron/hw/ext.h"
#include "neuron/isa/codec.h"

/*
 * Reads from memory and from a file, which has to come to the same: the result, the error's words,
 * the model.
 */
static void same_subgraph(const struct neff_subgraph *a, const struct neff_subgraph *b);
static int read_both(const void *b, size_t size, const struct neff_limits *limits,
		     struct neff_model **m, struct neff_error *err)
{
	int ret = neff_read(b, size, limits, m, err), fd = memfd_create("neff", 0);
	struct neff_model *other = (void *)1;
	struct neff_error why;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, b, size), (ssize_t)size);
	ck_assert_int_eq(neff_read_file(fd, size, limits, &other, &why), ret);
	close(fd);
	ck_assert_str_eq(why.text, err->text);
	ck_assert_int_eq(!other, !*m);
	if (other)
		same_subgraph(&(*m)->subgraphs[0], &other->subgraphs[0]);
	neff_free(other);
	return ret;
}

/* Header offsets as constants: the public layout, not the library's idea of it */
static const struct {
	unsigned int offset, size;
	uint64_t value;
} header_fields[] = {
	{ 0, 8, 2 },   { 8, 8, 1024 }, { 24, 8, 1 },	       { 32, 8, 0 },
	{ 168, 4, 1 }, { 476, 4, 1 },  { 480, 1, 1 },	       { 481, 1, 0 },
	{ 552, 4, 1 }, { 556, 8, 0 },  { 544, 8, 1ull << 62 }, { 1016, 8, 0 },
};

static uint64_t le(const uint8_t *p, unsigned int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

START_TEST(header_offsets)
{
	struct testmodel t;
	size_t size;
	uint8_t *b;

	testmodel_add(&t, 16);
	b = testmodel_write(&t, &size);
	for (size_t i = 0; i < sizeof(header_fields) / sizeof(header_fields[0]); i++)
		ck_assert_msg(le(b + header_fields[i].offset, header_fields[i].size) ==
				      header_fields[i].value,
			      "offset %u", header_fields[i].offset);
	ck_assert_uint_eq(le(b + 16, 8), size - 1024);
	ck_assert_mem_eq(b + 204, "0123456789abcdef", 16);
	ck_assert_str_eq((char *)b + 220, "add");
	ck_assert_str_eq((char *)b + 40, "neuron-emulator test");
	ck_assert_mem_eq(b + 1024, "\x1f\x8b", 2);
	free(b);
	testmodel_free(&t);
}
END_TEST

static void same_pattern(const struct neff_pattern *a, const struct neff_pattern *b)
{
	ck_assert_uint_eq(a->var, b->var);
	ck_assert_uint_eq(a->offset, b->offset);
	ck_assert_uint_eq(a->ndim, b->ndim);
	ck_assert_mem_eq(a->size, b->size, sizeof(a->size));
	ck_assert_mem_eq(a->step, b->step, sizeof(a->step));
}

static void same_engine(const struct neff_engine *a, const struct neff_engine *b)
{
	ck_assert_uint_eq(a->instr_size, b->instr_size);
	ck_assert_int_eq(!a->instr, !b->instr);
	if (a->instr)
		ck_assert_mem_eq(a->instr, b->instr, a->instr_size);
	ck_assert_uint_eq(a->ndma, b->ndma);
	for (unsigned int i = 0; i < a->ndma; i++) {
		ck_assert_uint_eq(a->dma[i].id, b->dma[i].id);
		ck_assert_uint_eq(a->dma[i].queue, b->dma[i].queue);
		ck_assert_int_eq(a->dma[i].semaphore, b->dma[i].semaphore);
		ck_assert_uint_eq(a->dma[i].ndesc, b->dma[i].ndesc);
		for (unsigned int k = 0; k < a->dma[i].ndesc; k++) {
			same_pattern(&a->dma[i].desc[k].from, &b->dma[i].desc[k].from);
			same_pattern(&a->dma[i].desc[k].to, &b->dma[i].desc[k].to);
			ck_assert_int_eq(a->dma[i].desc[k].op, b->dma[i].desc[k].op);
			ck_assert_uint_eq(a->dma[i].desc[k].index, b->dma[i].desc[k].index);
			ck_assert_uint_eq(a->dma[i].desc[k].index_off, b->dma[i].desc[k].index_off);
		}
	}
}

static void same_subgraph(const struct neff_subgraph *a, const struct neff_subgraph *b)
{
	ck_assert_str_eq(a->name, b->name);
	ck_assert_uint_eq(a->nvars, b->nvars);
	for (unsigned int i = 0; i < a->nvars; i++) {
		const struct neff_var *v = &a->vars[i], *w = &b->vars[i];

		ck_assert_str_eq(v->name, w->name);
		ck_assert_int_eq(v->type, w->type);
		ck_assert_uint_eq(v->size, w->size);
		ck_assert_int_eq(v->dtype, w->dtype);
		ck_assert_uint_eq(v->ndim, w->ndim);
		ck_assert_mem_eq(v->shape, w->shape, sizeof(v->shape));
		ck_assert_pstr_eq(v->source, w->source);
		if (v->data)
			ck_assert_mem_eq(v->data, w->data, v->size);
	}
	ck_assert_uint_eq(a->nqueues, b->nqueues);
	for (unsigned int i = 0; i < a->nqueues; i++) {
		ck_assert_str_eq(a->queues[i].name, b->queues[i].name);
		ck_assert_int_eq(a->queues[i].type, b->queues[i].type);
		ck_assert_uint_eq(a->queues[i].owner, b->queues[i].owner);
	}
	for (int e = 0; e < NEURON_ENGINES_MAX; e++)
		same_engine(&a->engine[e], &b->engine[e]);
}

static const struct testmodel_tables tables = { 2, 300, 100, 130 };

static void make(struct testmodel *t, int which)
{
	static uint16_t w[128 * 32];

	if (which == 0)
		testmodel_add(t, 64);
	else if (which == 1)
		testmodel_matmul(t, 32, 64, w);
	else if (which == 2)
		testmodel_shuffle(t);
	else
		testmodel_gather(t, &tables);
}

static struct neff_var *first_input(struct neff_subgraph *sg)
{
	unsigned int i = 0;

	while (sg->vars[i].type != NEFF_VAR_INPUT)
		i++;
	return &sg->vars[i];
}

START_TEST(round_trip)
{
	struct neff_limits limits = { .validate_hash = true };
	struct neff_model *m;
	struct neff_error err;
	struct testmodel t;
	size_t size;
	void *b;

	make(&t, _i);
	t.model.info_json = (char *)"{\"compiler\": \"none\"}";
	first_input(&t.sg)->source = strdup("ids \xc3\xa9");
	b = testmodel_write(&t, &size);
	ck_assert_msg(!read_both(b, size, &limits, &m, &err), "%s", err.text);
	ck_assert_str_eq(m->info_json, t.model.info_json);
	ck_assert_str_eq(m->header.name, t.model.header.name);
	ck_assert_uint_eq(m->nsubgraphs, 1);
	same_subgraph(&t.sg, &m->subgraphs[0]);
	neff_free(m);
	free(b);
	testmodel_free(&t);
}
END_TEST

/*
 * Constants that do not shrink lie in the file as they are, up to the 65,535 bytes of a stored
 * block; others are packed. Sizes about the least one that is stored, and larger than zlib's
 * window.
 */
static const size_t constants[] = { 65535, 65536, 65537, 1 << 20, 3000001 };

static void add_constant(struct testmodel *t, const char *name, size_t size, unsigned int random)
{
	uint32_t k = testmodel_var(t, name, NEFF_VAR_FILE, size), state = 1 + (uint32_t)size;
	uint8_t *data = malloc(size);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		data[i] = i % 4 < random ? (uint8_t)(state >> 24) : 0;
	}
	t->sg.vars[k].data = data;
	t->sg.vars[k].file_name = strdup(name);
}

START_TEST(stored_constants)
{
	struct neff_limits limits = { .validate_hash = true };
	struct neff_model *m;
	struct neff_error err;
	size_t size, n = constants[_i], part = n < 32768 ? n : 32768;
	struct testmodel t;
	uint8_t *b, *again;

	testmodel_add(&t, 16);
	add_constant(&t, "packed", n, 1);
	add_constant(&t, "random", n, 4);
	add_constant(&t, "zero", n, 0);
	b = testmodel_write(&t, &size);
	ck_assert_int_eq(memmem(b, size, t.sg.vars[t.sg.nvars - 2].data, part) != NULL, n >= 65536);
	ck_assert_ptr_null(memmem(b, size, t.sg.vars[t.sg.nvars - 3].data, part));
	ck_assert_uint_lt(size, n + n / 2 + 40000);
	ck_assert_msg(!read_both(b, size, &limits, &m, &err), "%s", err.text);
	same_subgraph(&t.sg, &m->subgraphs[0]);
	neff_free(m);
	again = testmodel_write(&t, &part);
	ck_assert_uint_eq(part, size);
	ck_assert_mem_eq(b, again, size);
	free(again);
	free(b);
	testmodel_free(&t);
}
END_TEST

/* A file that is shorter than it was, whichever of its pieces is missing */
START_TEST(shortened)
{
	int fd = memfd_create("neff", 0);
	struct neff_model *m = (void *)1;
	struct neff_error err;
	struct testmodel t;
	size_t size;
	uint8_t *b;

	testmodel_add(&t, 16);
	add_constant(&t, "random", constants[4], 4);
	b = testmodel_write(&t, &size);
	ck_assert_int_eq(write(fd, b, size), (ssize_t)size);
	for (size_t have = 0; have < size - 1024; have += size / 7) {
		ck_assert_int_eq(ftruncate(fd, (off_t)(size - have - 1)), 0);
		ck_assert_int_eq(neff_read_file(fd, size, NULL, &m, &err), -EINVAL);
		ck_assert_ptr_null(m);
		ck_assert_msg(strstr(err.text, "has become shorter"), "%zu: %s", have, err.text);
	}
	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	ck_assert_int_eq(neff_read_file(fd, size, NULL, &m, &err), -EINVAL);
	ck_assert_str_eq(err.text, "header: the file cannot be read");
	close(fd);
	free(b);
	testmodel_free(&t);
}
END_TEST

/* Names that would act on a terminal, or that are longer than a tensor's may be */
START_TEST(bad_source)
{
	struct neff_limits limits = { 0 };
	struct neff_model *m;
	struct neff_error err;
	struct testmodel t;
	char name[300];
	size_t size;
	void *b;

	memset(name, 'x', sizeof(name));
	name[_i ? NEFF_MAX_SOURCE + 1 : 20] = 0;
	if (!_i)
		name[3] = 0x1b;
	testmodel_add(&t, 64);
	first_input(&t.sg)->source = strdup(name);
	b = testmodel_write(&t, &size);
	ck_assert_msg(!read_both(b, size, &limits, &m, &err), "%s", err.text);
	ck_assert_ptr_null(first_input(&m->subgraphs[0])->source);
	neff_free(m);
	free(b);
	testmodel_free(&t);
}
END_TEST

/* Header mutations */
static const struct {
	unsigned int offset;
	uint64_t value;
	int ret;
	const char *text;
} bad_headers[] = {
	{ 0, 3, -EINVAL, "header: package version" },
	{ 8, 1023, -EINVAL, "header: header size" },
	{ 8, ~0ull, -EINVAL, "header: header size" },
	{ 16, 1ull << 40, -EINVAL, "header: data size" },
	{ 16, ~0ull, -EINVAL, "header: data size" },
	{ 16, 10, -EINVAL, "payload" },
	{ 24, 3, -ENOTSUP, "NEFF version mismatch supported: 2.0 received: 3.0" },
	{ 168, 0, -EINVAL, "header: num_tpb" },
	{ 168, 65, -EINVAL, "header: num_tpb" },
	{ 544, 0, -ENOTSUP, "header: feature bits" },
	{ 544, 1ull << 62 | 1, -ENOTSUP, "header: feature bits" },
	{ 172, 0, -EINVAL, "header: the hash" },
};

static void expect(const void *b, size_t size, const struct neff_limits *limits, int ret,
		   const char *text)
{
	struct neff_model *m = (void *)1;
	struct neff_error err;

	ck_assert_int_eq(read_both(b, size, limits, &m, &err), ret);
	ck_assert_ptr_null(m);
	ck_assert_msg(strstr(err.text, text), "'%s' does not say '%s'", err.text, text);
	ck_assert_int_eq(err.version, ret == -ENOTSUP);
}

START_TEST(bad_header)
{
	struct neff_limits limits = { .validate_hash = true };
	struct testmodel t;
	size_t size;
	uint8_t *b;

	testmodel_add(&t, 16);
	b = testmodel_write(&t, &size);
	for (int i = 0; i < (bad_headers[_i].offset == 168 ? 4 : 8); i++)
		b[bad_headers[_i].offset + i] = (uint8_t)(bad_headers[_i].value >> (8 * i));
	if (bad_headers[_i].offset == 16)
		limits.validate_hash = false;
	expect(b, size, &limits, bad_headers[_i].ret, bad_headers[_i].text);
	free(b);
	testmodel_free(&t);
}
END_TEST

START_TEST(truncated)
{
	struct testmodel t;
	struct neff_model *m;
	struct neff_error err;
	size_t size;
	uint8_t *b;

	testmodel_add(&t, 16);
	b = testmodel_write(&t, &size);
	for (size_t n = 0; n < size; n += n < 1024 ? 511 : 37) {
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, b, n);
		ck_assert_int_eq(read_both(copy, n, NULL, &m, &err), -EINVAL);
		ck_assert_ptr_null(m);
		if (n >= 1024) /* a header that agrees with what is left: the stream is cut */
			for (int i = 0; i < 8; i++)
				copy[16 + i] = (uint8_t)((n - 1024) >> (8 * i));
		ck_assert_int_eq(read_both(copy, n, NULL, &m, &err), -EINVAL);
		ck_assert_ptr_null(m);
		free(copy);
	}
	free(b);
	testmodel_free(&t);
}
END_TEST

/* Payloads made with libarchive: names, kinds and sizes that must not get in */

struct entry {
	const char *name;
	int type;
	const char *data;
	size_t size;
};

static uint8_t *pack(const struct entry *e, size_t n, size_t *size)
{
	static uint8_t capacity[1 << 20];
	struct archive *a = archive_write_new();
	struct testmodel t;
	size_t used, good;
	uint8_t *b, *head;

	archive_write_add_filter_gzip(a);
	archive_write_set_format_pax_restricted(a);
	ck_assert_int_eq(archive_write_open_memory(a, capacity, sizeof(capacity), &used),
			 ARCHIVE_OK);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *ae = archive_entry_new();

		archive_entry_set_pathname(ae, e[i].name);
		archive_entry_set_filetype(ae, e[i].type);
		archive_entry_set_perm(ae, 0644);
		archive_entry_set_size(ae, e[i].type == AE_IFREG ? (la_int64_t)e[i].size : 0);
		if (e[i].type == AE_IFLNK)
			archive_entry_set_symlink(ae, "/etc/passwd");
		ck_assert_int_eq(archive_write_header(a, ae), ARCHIVE_OK);
		if (e[i].type == AE_IFREG && e[i].size)
			archive_write_data(a, e[i].data, e[i].size);
		archive_entry_free(ae);
	}
	archive_write_close(a);
	archive_write_free(a);
	testmodel_add(&t, 16);
	head = testmodel_write(&t, &good);
	testmodel_free(&t);
	*size = 1024 + used;
	b = malloc(*size);
	memcpy(b, head, 1024);
	free(head);
	memcpy(b + 1024, capacity, used);
	for (int i = 0; i < 8; i++)
		b[16 + i] = (uint8_t)(used >> (8 * i));
	return b;
}

#define KELF \
	"{\"version\":\"0.5\",\"graphs\":[{\"name\":\"sg00\",\"definition\":\"sg00/def.json\"}]}"
#define LOOPS(text) \
	"{\"graphs\":[{\"name\":\"sg00\",\"definition\":\"sg00/def.json\"}],\"loops\":" text "}"
#define DEF "{\"dma_queue\":{},\"var\":{\"x\":{\"type\":\"input\",\"var_id\":0,\"size\":4}}}"
#define CONSTANT(more) \
	"{\"dma_queue\":{},\"var\":{\"x\":{\"type\":\"file\",\"var_id\":0,\"size\":4," more "}}}"
#define J(s) s, sizeof(s) - 1

static const struct {
	struct entry e[3];
	const char *text;
} bad_payloads[] = {
	{ { { "/etc/passwd", AE_IFREG, J("x") } }, "/etc/passwd" },
	{ { { "../x", AE_IFREG, J("x") } }, "../x" },
	{ { { "sg00/../../x", AE_IFREG, J("x") } }, "sg00/../../x" },
	{ { { "sg00/..", AE_IFREG, J("x") } }, "sg00/.." },
	{ { { "../x\n\033[2Jall is well", AE_IFREG, J("x") } }, "../x??[2Jall is well" },
	{ { { "kelf-0.json", AE_IFLNK, J("") } }, "kelf-0.json: not a regular file" },
	{ { { "dev", AE_IFCHR, J("") } }, "dev: not a regular file" },
	{ { { "a", AE_IFREG, J("x") }, { "./a", AE_IFREG, J("y") } }, "a: two members" },
	{ { { "readme", AE_IFREG, J("x") } }, "kelf-0.json: member is missing" },
	{ { { "kelf-0.json", AE_IFREG, J("{") } }, "kelf-0.json: line 1" },
	{ { { "kelf-0.json", AE_IFREG, J("[]") } }, "kelf-0.json: 'graphs'" },
	{ { { "kelf-0.json", AE_IFREG, J("{\"a\":1,\"a\":1}") } }, "kelf-0.json: line 1" },
	{ { { "kelf-0.json", AE_IFREG,
	      J("{\"graphs\":[{\"name\":\"../x\",\"definition\":\"x\"}]}") } },
	  "kelf-0.json: graphs[0]" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) } }, "sg00/def.json: member is missing" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) }, { "sg00/def.json", AE_IFREG, J("[]") } },
	  "sg00/def.json: not a JSON object" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) },
	    { "sg00/def.json", AE_IFREG,
	      J("{\"dma_queue\":{},\"var\":{\"x\":{\"type\":\"input\",\"var_id\":0}}}") } },
	  "sg00/def.json: var 'x': 'size' is missing" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) },
	    { "sg00/def.json", AE_IFREG,
	      J("{\"dma_queue\":{},\"var\":{\"x\":{\"type\":\"input\",\"var_id\":1,\"size\":4}}"
		"}") } },
	  "sg00/def.json: var 'x': 'var_id'" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) },
	    { "sg00/def.json", AE_IFREG, J(CONSTANT("\"file_name\":\"../w\"")) } },
	  "sg00/def.json: var 'x': bad file name" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) },
	    { "sg00/def.json", AE_IFREG, J(CONSTANT("\"file_name\":\"w\"")) },
	    { "sg00/w", AE_IFREG, J("abc") } },
	  "sg00/w: size 3, expected 4" },
	{ { { "kelf-0.json", AE_IFREG, J(KELF) },
	    { "sg00/def.json", AE_IFREG, J(CONSTANT("\"file_name\":\"w\",\"graph\":7")) } },
	  "sg00/def.json: var 'x': 'graph' is none before it that has a file 'w'" },
	{ { { "kelf-0.json", AE_IFREG, J(LOOPS("[]")) }, { "sg00/def.json", AE_IFREG, J(DEF) } },
	  "kelf-0.json: 'loops' is not a list" },
	{ { { "kelf-0.json", AE_IFREG, J(LOOPS("{}")) }, { "sg00/def.json", AE_IFREG, J(DEF) } },
	  "kelf-0.json: 'loops' is not a list" },
	{ { { "kelf-0.json", AE_IFREG, J(LOOPS("[7]")) }, { "sg00/def.json", AE_IFREG, J(DEF) } },
	  "kelf-0.json: loops[0]: 'first' and 'last'" },
	{ { { "kelf-0.json", AE_IFREG,
	      J(LOOPS("[{\"first\":\"sg00\",\"last\":\"sg01\",\"condition\":\"x\"}]")) },
	    { "sg00/def.json", AE_IFREG, J(DEF) } },
	  "kelf-0.json: loops[0]: 'first' and 'last'" },
	{ { { "kelf-0.json", AE_IFREG,
	      J(LOOPS("[{\"first\":\"sg00\",\"last\":\"sg00\",\"condition\":1}]")) },
	    { "sg00/def.json", AE_IFREG, J(DEF) } },
	  "or no 'condition'" },
};

START_TEST(bad_payload)
{
	size_t n = 0, size;
	uint8_t *b;

	while (n < 3 && bad_payloads[_i].e[n].name)
		n++;
	b = pack(bad_payloads[_i].e, n, &size);
	expect(b, size, NULL, -EINVAL, bad_payloads[_i].text);
	free(b);
}
END_TEST

START_TEST(bomb)
{
	struct neff_limits limits = { .max_payload = 100000, .max_members = 4 };
	static char zeros[900000];
	struct entry big = { "big", AE_IFREG, zeros, sizeof(zeros) };
	struct entry many[5] = {
		{ "a", AE_IFREG, "", 0 }, { "b", AE_IFREG, "", 0 }, { "c", AE_IFREG, "", 0 },
		{ "d", AE_IFREG, "", 0 }, { "e", AE_IFREG, "", 0 },
	};
	size_t size;
	uint8_t *b = pack(&big, 1, &size);

	expect(b, size, &limits, -EINVAL, "big: size 900000");
	limits.max_file = size - 1;
	expect(b, size, &limits, -EINVAL, "file: ");
	free(b);
	b = pack(many, 5, &size);
	limits.max_file = 0;
	expect(b, size, &limits, -EINVAL, "payload: more than 4 members");
	free(b);
}
END_TEST

/* The default limits stop a file of endless zeros before it takes endless memory. */
START_TEST(bomb_default)
{
	size_t capacity = 4u << 20, size;
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();
	struct entry none = { "x", AE_IFREG, "", 0 };
	uint8_t *b = pack(&none, 1, &size), *bomb = malloc(capacity), *zeros = calloc(1, 1 << 20);
	size_t used;

	memcpy(bomb, b, 1024);
	archive_write_add_filter_gzip(a);
	archive_write_set_format_ustar(a);
	archive_write_open_memory(a, bomb + 1024, capacity - 1024, &used);
	archive_entry_set_pathname(e, "zeros");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_size(e, 600ll << 20);
	archive_write_header(a, e);
	for (int i = 0; i < 600; i++)
		archive_write_data(a, zeros, 1 << 20);
	archive_write_close(a);
	archive_write_free(a);
	archive_entry_free(e);
	ck_assert_uint_lt(used, 1 << 20);
	for (int i = 0; i < 8; i++)
		bomb[16 + i] = (uint8_t)(used >> (8 * i));
	expect(bomb, 1024 + used, NULL, -EINVAL, "zeros: size 629145600 is over the limit");
	free(b);
	free(bomb);
	free(zeros);
}
END_TEST

/* Models with errors inside: the writer makes the same checks */

static void break_model(struct testmodel *t, int which)
{
	struct neff_engine *sp = &t->sg.engine[NEURON_ENG_SP];
	struct neff_desc *d = &sp->dma[0].desc[0];
	struct neuron_insn insn = { .opcode = NEURON_OP_NOTIFY, .id = 1 };

	switch (which) {
	case 0:
		t->sg.vars[0].size = 12;
		break;
	case 1:
		d->from.offset = 1;
		break;
	case 2:
		d->from.offset = UINT64_MAX;
		break;
	case 3:
		d->from.step[1] = -1;
		break;
	case 4:
		d->from.step[1] = INT64_MAX;
		break;
	case 5:
		d->from.size[1] = 1ull << 40;
		d->from.step[1] = 0;
		break;
	case 6:
		d->to.size[1] = 64;
		break;
	case 7:
		d->to.step[1] = 0x20001;
		break;
	case 8:
		d->to.var = 0;
		break;
	case 9:
		d->to.var = 99;
		break;
	case 10:
		sp->dma[0].semaphore = 28;
		break;
	case 11:
		sp->dma[1].id = 7;
		break;
	case 12:
		free(sp->dma[--sp->ndma].desc);
		break;
	case 13:
		sp->instr_size -= 32;
		break;
	case 14:
		((uint8_t *)sp->instr)[64] = 0xee;
		break;
	case 15:
		((uint8_t *)sp->instr)[16] = 2;
		break;
	case 16:
		memcpy((uint8_t *)sp->instr + sp->instr_size - 64, sp->instr, 64);
		break;
	case 17:
		neuron_isa_encode(&insn, (uint8_t *)sp->instr + sp->instr_size - 64);
		break;
	case 18:
		t->sg.engine[NEURON_ENG_POOL].instr_size -= 64;
		break;
	case 19:
		t->sg.queues[0].owner = NEURON_ENG_PE;
		break;
	case 20:
		free(t->sg.vars[1].name);
		t->sg.vars[1].name = strdup("a");
		break;
	case 21:
		t->sg.vars[2].type = NEFF_VAR_TMP_BUF;
		break;
	case 22:
		while (sp->ndma)
			free(sp->dma[--sp->ndma].desc);
		free(sp->instr);
		sp->instr = NULL;
		break;
	}
}

static const struct {
	int ret;
	const char *text;
} broken[] = {
	{ -EINVAL, "sg00/def.json: var 'a': size 12, expected" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'from': outside its variable" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'from': outside its variable" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'from': outside its variable" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'from': outside its variable" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'from': too many pieces" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'to': not as many bytes" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'to': outside a partition" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'to'" },
	{ -EINVAL, "sg00/sp.json: dma[0] desc[0]: 'to': no such variable" },
	{ -EINVAL, "sg00/sp.json: dma[0]: semaphore 28" },
	{ -EINVAL, "sg00/sp.bin: instruction at 128: trigger of id 1" },
	{ -EINVAL, "sg00/sp.bin: instruction at 256: a trigger without a DMA" },
	{ -EINVAL, "sg00/sp.bin: size" },
	{ -EINVAL, "sg00/sp.bin: instruction at 64: illegal instruction" },
	{ -ENOTSUP, "sg00/sp.bin: ISA version 2, supported 1" },
	{ -EINVAL, "program_start is the first instruction" },
	{ -EINVAL, "only the runtime" },
	{ -EINVAL, "sg00/pool.bin: instruction at 64: cut off" },
	{ -EINVAL, "sg00/sp.json: dma[0]: its queue set has another owner" },
	{ -EINVAL, "sg00/def.json: two variables 'a'" },
	{ -EINVAL, "0 outputs" },
	{ -EINVAL, "no program for sp" },
};

START_TEST(bad_model)
{
	struct testmodel t;

	testmodel_add(&t, 16);
	break_model(&t, _i);
	testmodel_refused(&t, broken[_i].ret, broken[_i].text);
}
END_TEST

/*
 * Mutations of a raw (not compressed) file reach the parsers; none may crash, and none is leaked.
 */
static uint64_t seed;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static uint8_t *raw_file(int which, size_t *size)
{
	struct archive *a = archive_read_new(), *w = archive_write_new();
	static uint8_t capacity[1 << 20], data[1 << 18];
	struct archive_entry *e;
	struct testmodel t;
	size_t used, n;
	uint8_t *b, *out;

	make(&t, which);
	b = testmodel_write(&t, &n);
	testmodel_free(&t);
	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	archive_read_open_memory(a, b + 1024, n - 1024);
	archive_write_set_format_ustar(w);
	archive_write_open_memory(w, capacity, sizeof(capacity), &used);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		la_ssize_t len = archive_read_data(a, data, sizeof(data));

		archive_write_header(w, e);
		archive_write_data(w, data, (size_t)len);
	}
	archive_write_close(w);
	archive_write_free(w);
	archive_read_free(a);
	*size = 1024 + used;
	out = malloc(*size);
	memcpy(out, b, 1024);
	memcpy(out + 1024, capacity, used);
	free(b);
	for (int i = 0; i < 8; i++)
		out[16 + i] = (uint8_t)(used >> (8 * i));
	return out;
}

START_TEST(raw_tar_is_read)
{
	struct neff_model *m;
	struct neff_error err;
	size_t size;
	uint8_t *b = raw_file(0, &size);

	ck_assert_msg(!read_both(b, size, NULL, &m, &err), "%s", err.text);
	neff_free(m);
	free(b);
}
END_TEST

START_TEST(mutations)
{
	struct neff_limits limits = { .max_payload = 1 << 20 };
	struct neff_model *m;
	struct neff_error err;
	size_t size;
	uint8_t *b = raw_file(_i < 4 ? 0 : 3, &size), *copy = malloc(size);
	unsigned int refused = 0;

	seed = 0x5eed + (uint64_t)_i;
	for (int i = 0; i < 1500; i++) {
		unsigned int n = 1 + rnd() % 4;

		memcpy(copy, b, size);
		while (n--) {
			size_t at = rnd() % 5 ? 1024 + rnd() % (size - 1024) : rnd() % 1024;

			copy[at] = rnd() % 3 ? (uint8_t)rnd() : "0{}[]\"-9"[rnd() % 8];
		}
		if (read_both(copy, size, &limits, &m, &err)) {
			refused++;
			ck_assert_ptr_null(m);
			ck_assert_int_ne(err.text[0], 0);
		}
		neff_free(m);
	}
	ck_assert_uint_gt(refused, 100);
	free(b);
	free(copy);
}
END_TEST

#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
	Suite *s = suite_create("neff");
	TCase *tc = tcase_create("file");

	tcase_add_test(tc, header_offsets);
	tcase_add_loop_test(tc, round_trip, 0, 4);
	tcase_add_loop_test(tc, stored_constants, 0, 5);
	tcase_add_test(tc, shortened);
	tcase_add_loop_test(tc, bad_source, 0, 2);
	tcase_add_loop_test(tc, bad_header, 0, LEN(bad_headers));
	tcase_add_test(tc, truncated);
	tcase_add_loop_test(tc, bad_payload, 0, LEN(bad_payloads));
	tcase_add_test(tc, bomb);
	tcase_add_test(tc, bomb_default);
	tcase_add_loop_test(tc, bad_model, 0, LEN(broken));
	tcase_add_test(tc, raw_tar_is_read);
	tcase_add_loop_test(tc, mutations, 0, 6);
	suite_add_tcase(s, tc);
	return check_run(s);
}
