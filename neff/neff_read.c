/* SPDX-License-Identifier: MIT */
/*
 * The reader. Everything in the file is taken as hostile until it is checked: sizes against limits
 * before memory is taken, names before they are compared, JSON before its values are used, and the
 * whole by neff_check.c. After an error nothing is kept.
 */
#include "neff_calls.h"
#include "neff_custom.h"
#include "neff_engine.h"
#include "neff_read.h"

#include <archive.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/gpsimd.h"
#include "neuron/isa/codec.h"

#define VERSION_MAJOR_MAX 2

/* *cost is what json_done gives back. */
static int json_member(struct neff_reader *r, const char *name, json_t **root, uint64_t *cost)
{
	struct neff_member *m = neff_member_find(r, name);
	json_error_t je;
	int ret;

	if (!m)
		return neff_fail(r->err, "%.160s: member is missing", name);
	ret = neff_stop(&r->limits, r->err);
	if (!ret)
		ret = neff_json_take(r, name, m->data, m->size, cost);
	if (ret)
		return ret;
	*root = json_loadb((const char *)m->data, m->size, JSON_REJECT_DUPLICATES, &je);
	if (!*root)
		return neff_fail(r->err, "%.100s: line %d: %.100s", name, je.line, je.text);
	return 0;
}

static void json_done(struct neff_reader *r, json_t *root, uint64_t cost)
{
	json_decref(root);
	neff_give(r, cost);
}

/* Moves a member's bytes into the model; a member can be taken once. */
static int data_take(struct neff_reader *r, const char *name, void **data, size_t *size)
{
	struct neff_member *m = neff_member_find(r, name);

	if (!m)
		return neff_fail(r->err, "%.160s: member is missing", name);
	if (m->taken)
		return neff_fail(r->err, "%.160s: used twice", name);
	m->taken = true;
	*data = m->data;
	*size = m->size;
	m->data = NULL;
	return 0;
}

/* Takes <sg>/<the file that def.json names under key>; returns 1 if there is no such key. */
static int engine_file(struct neff_reader *r, const struct neff_subgraph *sg, const json_t *def,
		       const char *key, char path[256])
{
	const json_t *j = json_object_get(def, key);
	const char *file = json_string_value(j);

	if (!j)
		return 1;
	if (!file || !neff_file_name_ok(file))
		return neff_fail(r->err, "%s/def.json: '%s' is not a file name", sg->name, key);
	snprintf(path, 256, "%s/%s", sg->name, file);
	return 0;
}

/* An engine's JSON as libneff writes it; false: it is read as any other */
static bool engine_quick(struct neff_reader *r, const struct neuron_target *target,
			 struct neff_subgraph *sg, unsigned int eng, const char *path)
{
	const struct neff_member *m = neff_member_find(r, path);

	if (!m || neff_text_take(r, m->size))
		return false;
	if (neff_engine_quick((const char *)m->data, m->size, target, sg, eng))
		return true;
	neff_text_give(r, m->size);
	return false;
}

static int engine_load(struct neff_reader *r, const struct neuron_target *target,
		       struct neff_subgraph *sg, const json_t *def, unsigned int eng)
{
	char path[256], key[16];
	uint64_t cost;
	json_t *root;
	int ret;

	snprintf(key, sizeof(key), "%s_instr", target->engine[eng].name);
	ret = engine_file(r, sg, def, key, path);
	if (!ret)
		ret = data_take(r, path, &sg->engine[eng].instr, &sg->engine[eng].instr_size);
	if (ret < 0)
		return ret;
	ret = engine_file(r, sg, def, target->engine[eng].name, path);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = neff_stop(&r->limits, r->err);
	if (ret || engine_quick(r, target, sg, eng, path))
		return ret;
	ret = json_member(r, path, &root, &cost);
	if (ret)
		return ret;
	ret = neff_engine_read(path, root, target, sg, eng, r->err);
	json_done(r, root, cost);
	return ret;
}

/* A constant that names a graph before is one of that one's: neff_check.c looks at it. */
static int constant_share(struct neff_reader *r, const struct neff_model *model,
			  const struct neff_subgraph *sg, struct neff_var *v, const json_t *var)
{
	json_int_t of = json_integer_value(json_object_get(var, "graph_var_id"));
	int k = neff_graph_named(r->graphs, json_object_get(var, "graph"));
	const struct neff_subgraph *graph = k < 0 ? sg : &model->subgraphs[k];

	if (graph != sg && of >= 0 && of < graph->nvars && graph->vars[of].file_name &&
	    !strcmp(graph->vars[of].file_name, v->file_name)) {
		v->shared = true;
		v->of_graph = (uint32_t)k;
		v->of_var = (uint32_t)of;
		return 0;
	}
	return neff_fail(r->err,
			 "%s/def.json: var '%.64s': 'graph' is none before it that has a file '%s'",
			 sg->name, v->name, v->file_name);
}

static int constants_load(struct neff_reader *r, const struct neff_model *model,
			  struct neff_subgraph *sg, const json_t *def)
{
	const json_t *vars = json_object_get(def, "var"), *var;
	char path[256];
	size_t size = 0;
	int ret;

	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct neff_var *v = &sg->vars[i];

		if (v->type != NEFF_VAR_FILE)
			continue;
		var = json_object_get(vars, v->name);
		if (json_object_get(var, "graph")) {
			if (constant_share(r, model, sg, v, var))
				return -EINVAL;
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s", sg->name, v->file_name);
		ret = data_take(r, path, &v->data, &size);
		if (ret)
			return ret;
		if (size != v->size)
			return neff_fail(r->err, "%s: size %zu, expected %llu of var '%.64s'", path,
					 size, (unsigned long long)v->size, v->name);
	}
	return 0;
}

/*
 * Whose names a program's engines have. One for NeuronCore-v1 runs on v2 and later too, and calls
 * the Vector engine what those call GpSimd; every program begins with its version.
 */
static const struct neuron_target *names_of(struct neff_reader *r,
					    const struct neuron_target *target,
					    const struct neff_subgraph *sg, const json_t *def)
{
	const struct neff_member *m;
	struct neuron_insn insn;
	char path[256];

	if (target->core < 2 || engine_file(r, sg, def, "sp_instr", path))
		return target;
	m = neff_member_find(r, path);
	if (m && m->data && neuron_isa_decode(m->data, m->size / NEURON_INSN_WORD, &insn) > 0 &&
	    insn.opcode == NEURON_OP_PROGRAM_START && insn.isa_version == 1)
		return &neuron_target_inf1;
	return target;
}

static int subgraph_load(struct neff_reader *r, const struct neff_model *model,
			 struct neff_subgraph *sg, const char *definition)
{
	const struct neuron_target *target;
	uint64_t cost;
	json_t *def;
	int ret = json_member(r, definition, &def, &cost);

	if (ret)
		return ret;
	target = names_of(r, model->target, sg, def);
	ret = neff_def_read(definition, def, target, sg, r->err);
	for (unsigned int e = 0; !ret && e < target->engines; e++)
		ret = engine_load(r, target, sg, def, e);
	if (!ret)
		ret = constants_load(r, model, sg, def);
	json_done(r, def, cost);
	return ret;
}

static int subgraph_entry(struct neff_reader *r, struct neff_model *model, const json_t *o)
{
	const char *name = json_string_value(json_object_get(o, "name"));
	const char *definition = json_string_value(json_object_get(o, "definition"));
	struct neff_subgraph *sg = &model->subgraphs[model->nsubgraphs];
	char path[128];

	if (!name || !neff_file_name_ok(name) || !definition)
		return neff_fail(r->err, "kelf-0.json: graphs[%u]: no good name or definition",
				 model->nsubgraphs);

	if (json_object_get(r->graphs, name))
		return neff_fail(r->err, "kelf-0.json: two graphs '%.64s'", name);

	snprintf(path, sizeof(path), "%s/def.json", name);
	if (strcmp(path, definition))
		return neff_fail(r->err,
				 "kelf-0.json: graphs[%u]: definition '%.64s', expected '%s'",
				 model->nsubgraphs, definition, path);

	sg->name = strdup(name);
	if (!sg->name ||
	    json_object_set_new(r->graphs, name, json_integer((json_int_t)model->nsubgraphs)))
		return neff_nomem(r->err);
	model->nsubgraphs++;
	return subgraph_load(r, model, sg, definition);
}

static int loops_load(struct neff_reader *r, struct neff_model *model, const json_t *loops)
{
	size_t n = json_array_size(loops);

	if (!loops)
		return 0;
	/* each begins with another graph */
	if (!json_is_array(loops) || !n || n > model->nsubgraphs)
		return neff_fail(r->err, "kelf-0.json: 'loops' is not a list of 1 to %u",
				 model->nsubgraphs);
	model->loops = calloc(n, sizeof(*model->loops));
	if (!model->loops)
		return neff_nomem(r->err);
	for (; model->nloops < n; model->nloops++) {
		const json_t *o = json_array_get(loops, model->nloops);
		const char *condition = json_string_value(json_object_get(o, "condition"));
		int first = neff_graph_named(r->graphs, json_object_get(o, "first"));
		int last = neff_graph_named(r->graphs, json_object_get(o, "last"));
		const json_t *known = json_object_get(o, "iterations");
		json_int_t iterations = json_integer_value(known);

		if (first < 0 || last < 0 || !condition)
			return neff_fail(r->err,
					 "kelf-0.json: loops[%u]: "
					 "'first' and 'last' are not graphs, or no 'condition'",
					 model->nloops);
		if (known && (iterations < 1 || iterations > (json_int_t)NEFF_MAX_ITERATIONS))
			return neff_fail(r->err,
					 "kelf-0.json: loops[%u]: "
					 "'iterations' is not a number from 1 to %llu",
					 model->nloops, NEFF_MAX_ITERATIONS);
		model->loops[model->nloops] =
			(struct neff_loop){ (uint32_t)first, (uint32_t)last, strdup(condition),
					    (uint64_t)iterations };
		if (!model->loops[model->nloops].condition)
			return neff_nomem(r->err);
	}
	return 0;
}

static int kelf_load(struct neff_reader *r, struct neff_model *model, const json_t *kelf)
{
	const json_t *graphs = json_object_get(kelf, "graphs");
	size_t n = json_array_size(graphs);
	int ret = 0;

	/* each has members of its own: its definition, and a program */
	if (!n || n > r->count)
		return neff_fail(r->err,
				 "kelf-0.json: 'graphs' is not a list of 1 to %zu, "
				 "as many as there are members",
				 r->count);
	if (neff_take(r, n * sizeof(*model->subgraphs)))
		return -ENOMEM;
	model->subgraphs = calloc(n, sizeof(*model->subgraphs));
	r->graphs = json_object();
	if (!model->subgraphs || !r->graphs)
		return neff_nomem(r->err);
	for (size_t i = 0; !ret && i < n; i++)
		ret = subgraph_entry(r, model, json_array_get(graphs, i));
	ret = ret ? ret : loops_load(r, model, json_object_get(kelf, "loops"));
	ret = ret ? ret : neff_calls_read(json_object_get(kelf, "calls"), r->graphs, model, r->err);
	return ret ? ret : neff_collectives_read(kelf, r->graphs, model, r->err);
}

static int info_load(struct neff_reader *r, struct neff_model *model)
{
	struct neff_member *m = neff_member_find(r, "info.json");

	if (!m)
		return 0;
	if (neff_take(r, m->size))
		return -ENOMEM;
	model->info_json = strndup((const char *)m->data, m->size);
	return model->info_json ? 0 : neff_nomem(r->err);
}

/* The library of custom operators keeps its member: it has the lines */
static int library_load(struct neff_reader *r, struct neff_model *model)
{
	size_t size = 0;
	void *elf = NULL;
	int ret;

	if (!neff_member_find(r, NEFF_LIBRARY_MEMBER))
		return 0;
	if (neff_take(r, NEURON_GPS_LIB_MAX)) /* its image is no larger */
		return -ENOMEM;
	ret = data_take(r, NEFF_LIBRARY_MEMBER, &elf, &size);
	if (ret)
		return ret;
	ret = neff_library_read(elf, size, &model->library, r->err);
	if (ret) {
		free(elf);
		return ret;
	}
	model->library->elf = elf;
	model->library->size = size;
	return 0;
}

static int model_load(struct neff_reader *r, struct neff_model *model)
{
	json_t *kelf, *graph;
	uint64_t cost;
	int ret = json_member(r, "kelf-0.json", &kelf, &cost);

	if (ret)
		return ret;
	ret = kelf_load(r, model, kelf);
	json_done(r, kelf, cost);
	if (ret)
		return ret;
	ret = json_member(r, "neff.json", &graph, &cost);
	if (ret)
		return ret;
	ret = neff_graph_read(graph, model, r->err);
	json_done(r, graph, cost);
	if (!ret)
		ret = info_load(r, model);
	if (!ret)
		ret = library_load(r, model);
	ret = ret ? ret : neff_check_model(model, &r->limits, r->err);
	return ret ? ret : neff_collectives_place(model, r->err);
}

static int header_check(struct neff_reader *r, const struct neff_header *h,
			const struct neff_source *source, size_t end)
{
	uint8_t hash[NEFF_HASH_SIZE];

	if (h->version_major > VERSION_MAJOR_MAX) {
		neff_fail(r->err, "NEFF version mismatch supported: %d.0 received: %llu.%llu",
			  VERSION_MAJOR_MAX, (unsigned long long)h->version_major,
			  (unsigned long long)h->version_minor);
		r->err->version = true;
		return -ENOTSUP;
	}

	if ((h->feature_bits & ~NEFF_FEATURE_CUSTOM_OPS) != NEFF_FEATURE_EMU) {
		neff_fail(r->err,
			  "header: feature bits 0x%llx, supported 0x%llx: "
			  "not a program of this instruction set",
			  (unsigned long long)h->feature_bits, NEFF_FEATURE_EMU);
		r->err->version = true;
		return -ENOTSUP;
	}

	if (!r->limits.validate_hash)
		return 0;
	if (neff_digest(h->pkg_version, source, h->header_size, end, hash))
		return neff_fail(r->err, "header: cannot compute the hash");
	if (memcmp(hash, h->hash, h->pkg_version == 1 ? 32 : 16))
		return neff_fail(r->err, "header: the hash does not match the payload");
	return 0;
}

static int read_all(struct neff_reader *r, struct neff_source *source, struct neff_model *model)
{
	struct neff_header *h = &model->header;
	uint8_t head[NEFF_HEADER_SIZE];
	size_t size = source->size, end;
	struct archive *a;
	int ret;

	if (size > r->limits.max_file)
		return neff_fail(r->err, "file: %zu bytes, the limit is %llu", size,
				 (unsigned long long)r->limits.max_file);
	if (size >= sizeof(head) && neff_source_read(source, 0, head, sizeof(head)))
		return neff_fail(r->err, "header: the file cannot be read");
	ret = neff_read_header(head, size, h, r->err);
	if (ret)
		return ret;

	end = h->data_size == size ? size : h->header_size + h->data_size;
	ret = header_check(r, h, source, end);
	if (ret)
		return ret;

	a = archive_read_new();
	if (!a)
		return neff_nomem(r->err);

	ret = neff_payload_read(r, a, source, h->header_size, end);
	archive_read_free(a);
	neff_source_done(source);
	if (ret && source->failed)
		ret = neff_fail(r->err, "file: it cannot be read, or has become shorter");
	if (!ret)
		ret = neff_members_index(r);
	return ret ? ret : model_load(r, model);
}

static int read_source(struct neff_source *source, const struct neff_limits *limits,
		       struct neff_model **model, struct neff_error *err)
{
	struct neff_reader r = { .err = err };
	struct neff_model *m = calloc(1, sizeof(*m));
	int ret;

	memset(err, 0, sizeof(*err));
	*model = NULL;
	if (!m)
		return neff_nomem(err);

	neff_limits_set(&r.limits, limits, source->size);
	m->target = r.limits.target;
	ret = read_all(&r, source, m);

	for (size_t i = 0; i < r.count; i++) {
		free(r.members[i].name);
		free(r.members[i].data);
	}
	free(r.members);
	json_decref(r.graphs);

	if (ret) {
		neff_give(&r, r.taken);
		neff_free(m);
		return ret;
	}

	*model = m;
	return 0;
}

int neff_read(const void *buf, size_t size, const struct neff_limits *limits,
	      struct neff_model **model, struct neff_error *err)
{
	struct neff_source source = { .bytes = buf, .fd = -1, .size = size };

	return read_source(&source, limits, model, err);
}

int neff_read_file(int fd, size_t size, const struct neff_limits *limits, struct neff_model **model,
		   struct neff_error *err)
{
	struct neff_source source = { .fd = fd, .size = size };

	return read_source(&source, limits, model, err);
}
