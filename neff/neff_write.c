/* SPDX-License-Identifier: MIT */
/*
 * The writer: a struct neff_model becomes a header and a reproducible gzip ustar stream. The model
 * goes through the reader's checks first, so that whatever is written can be read.
 */
#include "neff_calls.h"
#include "neff_custom.h"
#include "neff_engine.h"
#include "neff_priv.h"
#include "neff_read.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
	char name[160];
	const void *data;
	size_t size;
	char *owned; /* JSON text */
};

struct members {
	struct member *list;
	size_t count, capacity;
	uint64_t json; /* bytes of texts */
};

static la_ssize_t append(struct archive *a, void *opaque, const void *data, size_t n)
{
	if (!neff_gzip_write(opaque, data, n))
		return (la_ssize_t)n;
	archive_set_error(a, ENOMEM, "out of memory");
	return -1;
}

static struct member *member_add(struct members *m, const char *dir, const char *name)
{
	struct member *e;

	if (m->count == m->capacity) {
		size_t capacity = m->capacity ? m->capacity * 2 : 32;

		e = realloc(m->list, capacity * sizeof(*e));
		if (!e)
			return NULL;
		m->list = e;
		m->capacity = capacity;
	}
	e = &m->list[m->count++];
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s%s%s", dir, *dir ? "/" : "", name);
	return e;
}

/* Adds a text, which is the member's, and is taken also on failure. */
static int member_text(struct members *m, const char *dir, const char *name, char *text,
		       struct neff_error *err)
{
	struct member *e = text ? member_add(m, dir, name) : NULL;
	uint64_t cost;

	if (!e) {
		free(text);
		return neff_nomem(err);
	}
	e->owned = text;
	e->data = text;
	e->size = strlen(text);
	m->json += e->size;
	return neff_json_fits(e->name, e->data, e->size, &cost, err);
}

static int member_json(struct members *m, const char *dir, const char *name, json_t *json,
		       struct neff_error *err)
{
	char *text = json ? json_dumps(json, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;

	json_decref(json);
	return member_text(m, dir, name, text, err);
}

static int member_data(struct members *m, const char *dir, const char *name, const void *data,
		       size_t size, struct neff_error *err)
{
	struct member *e = member_add(m, dir, name);

	if (!e)
		return neff_nomem(err);
	e->data = data;
	e->size = size;
	return 0;
}

static int add_engine(struct members *m, const struct neff_subgraph *sg, unsigned int eng,
		      const char *key, struct neff_error *err)
{
	struct neff_bytes text = { 0 };
	char name[16];
	int ret;

	if (!sg->engine[eng].instr)
		return 0;
	if (neff_engine_text(sg, eng, &text)) {
		free(text.data);
		return neff_nomem(err);
	}
	snprintf(name, sizeof(name), "%s.json", key);
	ret = member_text(m, sg->name, name, (char *)text.data, err);
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "%s.bin", key);
	return member_data(m, sg->name, name, sg->engine[eng].instr, sg->engine[eng].instr_size,
			   err);
}

static int add_subgraph(struct members *m, const struct neff_model *model,
			const struct neff_subgraph *sg, struct neff_error *err)
{
	const struct neuron_target *target = model->target;
	int ret = member_json(m, sg->name, "def.json", neff_def_to_json(model, sg), err);

	for (unsigned int e = 0; !ret && e < target->engines; e++)
		ret = add_engine(m, sg, e, target->engine[e].name, err);
	for (unsigned int i = 0; !ret && i < sg->nvars; i++)
		if (sg->vars[i].type == NEFF_VAR_FILE && !sg->vars[i].shared)
			ret = member_data(m, sg->name, sg->vars[i].file_name, sg->vars[i].data,
					  sg->vars[i].size, err);
	return ret;
}

static json_t *loops_to_json(const struct neff_model *model)
{
	json_t *loops = json_array();

	for (unsigned int i = 0; i < model->nloops; i++) {
		const struct neff_loop *l = &model->loops[i];

		json_t *o = json_pack("{s:s, s:s, s:s}", "first", model->subgraphs[l->first].name,
				      "last", model->subgraphs[l->last].name, "condition",
				      l->condition);

		if (l->iterations)
			json_object_set_new(o, "iterations",
					    json_integer((json_int_t)l->iterations));
		json_array_append_new(loops, o);
	}
	return loops;
}

static json_t *kelf_to_json(const struct neff_model *model)
{
	json_t *graphs = json_array(), *kelf;

	for (unsigned int i = 0; i < model->nsubgraphs; i++) {
		const char *name = model->subgraphs[i].name;
		char def[128];

		snprintf(def, sizeof(def), "%s/def.json", name);
		json_array_append_new(graphs,
				      json_pack("{s:s, s:s}", "name", name, "definition", def));
	}
	kelf = json_pack("{s:s, s:o}", "version", "0.5", "graphs", graphs);
	if (model->nloops)
		json_object_set_new(kelf, "loops", loops_to_json(model));
	if (model->ncalls)
		json_object_set_new(kelf, "calls", neff_calls_to_json(model));
	if (model->ranks)
		neff_collectives_to_json(model, kelf);
	return kelf;
}

static int add_all(struct members *m, const struct neff_model *model, struct neff_error *err)
{
	int ret = member_json(m, "", "kelf-0.json", kelf_to_json(model), err);

	if (!ret)
		ret = member_json(m, "", "neff.json", neff_graph_to_json(model), err);
	m->json += model->info_json ? strlen(model->info_json) : 0;
	if (!ret && model->info_json)
		ret = member_data(m, "", "info.json", model->info_json, strlen(model->info_json),
				  err);
	if (!ret && model->library)
		ret = member_data(m, "", NEFF_LIBRARY_MEMBER, model->library->elf,
				  model->library->size, err);
	for (unsigned int i = 0; !ret && i < model->nsubgraphs; i++)
		ret = add_subgraph(m, model, &model->subgraphs[i], err);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static int unique(const struct members *m, struct neff_error *err)
{
	for (size_t i = 1; i < m->count; i++)
		if (!strcmp(m->list[i].name, m->list[i - 1].name))
			return neff_fail(err, "%s: two members of this name", m->list[i].name);
	return 0;
}

static int write_member(struct archive *a, const struct member *m)
{
	struct archive_entry *e = archive_entry_new();
	int ret = ARCHIVE_FATAL;

	if (!e)
		return -ENOMEM;
	archive_entry_set_pathname(e, m->name);
	archive_entry_set_size(e, (la_int64_t)m->size);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_mtime(e, 0, 0);
	if (archive_write_header(a, e) == ARCHIVE_OK &&
	    (!m->size || archive_write_data(a, m->data, m->size) == (la_ssize_t)m->size))
		ret = archive_write_finish_entry(a);
	archive_entry_free(e);
	return ret == ARCHIVE_OK ? 0 : -ENOMEM;
}

/* libarchive makes the tar stream, without keeping anything back, and this packs it. */
static int write_tar(const struct members *m, struct neff_gzip *g, struct neff_error *err)
{
	struct archive *a = archive_write_new();
	int ret = -ENOMEM;

	if (!a)
		return neff_nomem(err);
	if (archive_write_set_format_ustar(a) == ARCHIVE_OK &&
	    archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
	    archive_write_open2(a, g, NULL, append, NULL, NULL) == ARCHIVE_OK)
		ret = 0;

	for (size_t i = 0; !ret && i < m->count; i++) {
		ret = neff_gzip_member(g, m->list[i].data, m->list[i].size);
		if (!ret)
			ret = write_member(a, &m->list[i]);
	}
	if (!ret && archive_write_close(a) != ARCHIVE_OK)
		ret = -ENOMEM;

	if (ret)
		neff_fail(err, "payload: %s", archive_error_string(a) ?: "cannot write");
	archive_write_free(a);
	return ret;
}

static int write_payload(const struct members *m, struct neff_bytes *b, bool store,
			 struct neff_error *err)
{
	struct neff_gzip *g = neff_gzip_new(b, store);
	int ret;

	if (!g)
		return neff_nomem(err);
	ret = write_tar(m, g, err);
	if (!ret && neff_gzip_finish(g))
		ret = neff_nomem(err);
	neff_gzip_free(g);
	return ret;
}

/* Would a reader without limits of its own take the members out of a file of that size? */
static bool is_taken(const struct members *m, uint64_t size)
{
	struct neff_limits l = { 0 };
	uint64_t all = 0;

	neff_limits_set(&l, NULL, size);
	for (size_t i = 0; i < m->count; i++)
		all += m->list[i].size;
	return size <= l.max_file && all <= l.max_payload && m->json <= l.max_json &&
	       m->count <= l.max_members;
}

static int write_file(const struct neff_model *model, const struct members *m, struct neff_bytes *b,
		      bool store, struct neff_error *err)
{
	struct neff_header h = model->header;
	struct neff_source whole;
	int ret;

	if (!b->data) {
		b->capacity = 1 << 16;
		b->data = malloc(b->capacity);
	}
	if (!b->data)
		return neff_nomem(err);
	b->size = NEFF_HEADER_SIZE;
	ret = write_payload(m, b, store, err);
	if (ret)
		return ret;
	h.header_size = NEFF_HEADER_SIZE;
	h.data_size = b->size - NEFF_HEADER_SIZE;
	whole = (struct neff_source){ .bytes = b->data, .size = b->size };
	if (neff_digest(h.pkg_version, &whole, NEFF_HEADER_SIZE, b->size, h.hash))
		return neff_fail(err, "header: no digest for package version %llu",
				 (unsigned long long)h.pkg_version);
	neff_header_encode(&h, b->data);
	return 0;
}

int neff_write(const struct neff_model *model, void **buf, size_t *size, struct neff_error *err)
{
	struct members m = { 0 };
	struct neff_bytes b = { 0 };
	int ret;

	memset(err, 0, sizeof(*err));
	*buf = NULL;
	*size = 0;
	ret = neff_check_model(model, NULL, err);
	if (!ret)

		ret = add_all(&m, model, err);
	if (!ret) {
		qsort(m.list, m.count, sizeof(*m.list), by_name);
		ret = unique(&m, err);
	}
	if (!ret)
		ret = write_file(model, &m, &b, false, err);
	/* what shrinks more than a reader believes is not packed */
	if (!ret && !is_taken(&m, b.size))
		ret = write_file(model, &m, &b, true, err);
	if (!ret && !is_taken(&m, b.size))
		ret = neff_fail(err, "%zu members, %zu bytes: more than a reader takes", m.count,
				b.size);

	for (size_t i = 0; i < m.count; i++)
		free(m.list[i].owned);
	free(m.list);

	if (ret) {
		free(b.data);
		return ret;
	}

	*buf = b.data;
	*size = b.size;
	return 0;
}
