/* SPDX-License-Identifier: MIT */
/*
 * sgNN/def.json and the engine JSON files, in the official field names (docs/neff.md): a struct
 * neff_subgraph of both, and the former of one; neff_engine.c writes the latter. Reading checks
 * types, names and ranges of the values; whether the pieces fit each other is checked by
 * neff_check.c.
 */
#include "neff_priv.h"
#include "neff_custom.h"
#include "neff_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

/* Writing */

static json_t *var_to_json(const struct neff_model *model, const struct neff_var *v)
{
	json_t *o = json_pack("{s:s, s:I, s:I}", "type", neff_var_type_name(v->type), "var_id",
			      (json_int_t)v->var_id, "size", (json_int_t)v->size);

	if (v->alignment)
		json_object_set_new(o, "alignment", json_integer(v->alignment));
	if (v->type == NEFF_VAR_FILE)
		json_object_set_new(o, "file_name", json_string(v->file_name));
	if (v->type == NEFF_VAR_FILE && v->shared) {
		json_object_set_new(o, "graph", json_string(model->subgraphs[v->of_graph].name));
		json_object_set_new(o, "graph_var_id", json_integer(v->of_var));
	}
	if (v->type == NEFF_VAR_VIRTUAL)
		json_object_set_new(o, "backing_variable_off",
				    json_integer((json_int_t)v->backing_off));
	return o;
}

json_t *neff_def_to_json(const struct neff_model *model, const struct neff_subgraph *sg)
{
	const struct neuron_target *target = model->target;
	json_t *root = json_object(), *queues = json_object(), *vars = json_object();
	char key[16], file[16];

	for (unsigned int i = 0; i < sg->nqueues; i++) {
		const struct neff_queue *q = &sg->queues[i];

		json_object_set_new(queues, q->name,
				    json_pack("{s:s, s:s, s:i}", "type",
					      neff_queue_type_name(q->type), "owner",
					      target->engine[q->owner].name, "num_queues", 1));
	}
	for (unsigned int i = 0; i < sg->nvars; i++)
		json_object_set_new(vars, sg->vars[i].name, var_to_json(model, &sg->vars[i]));
	json_object_set_new(root, "name", json_string(sg->name));
	json_object_set_new(root, "dma_queue", queues);
	json_object_set_new(root, "var", vars);
	for (unsigned int e = 0; e < target->engines; e++) {
		const char *engine = target->engine[e].name;

		if (!sg->engine[e].instr)
			continue;
		snprintf(file, sizeof(file), "%s.json", engine);
		json_object_set_new(root, engine, json_string(file));
		snprintf(key, sizeof(key), "%s_instr", engine);
		snprintf(file, sizeof(file), "%s.bin", engine);
		json_object_set_new(root, key, json_string(file));
	}
	return root;
}

/* Reading */

static int uint_get(const struct neff_where *w, const json_t *o, const char *key, uint64_t max,
		    uint64_t *value)
{
	const json_t *j = json_object_get(o, key);
	json_int_t v = json_integer_value(j);

	if (!j)
		return neff_fail(w->err, "%s: %s: '%s' is missing", w->member, w->what, key);
	if (!json_is_integer(j) || v < 0 || (uint64_t)v > max)
		return neff_fail(w->err, "%s: %s: '%s' is not an integer from 0 to %llu", w->member,
				 w->what, key, (unsigned long long)max);
	*value = (uint64_t)v;
	return 0;
}

static int uint_get_default(const struct neff_where *w, const json_t *o, const char *key,
			    uint64_t max, uint64_t *value)
{
	*value = 0;
	return json_object_get(o, key) ? uint_get(w, o, key, max, value) : 0;
}

static const char *string_get(const struct neff_where *w, const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		neff_fail(w->err, "%s: %s: '%s' is not a string", w->member, w->what, key);
	return s;
}

static int var_file(const struct neff_where *w, const json_t *o, struct neff_var *v)
{
	const char *file = string_get(w, o, "file_name");

	if (!file)
		return -EINVAL;
	if (!neff_file_name_ok(file))
		return neff_fail(w->err, "%s: %s: bad file name", w->member, w->what);
	v->file_name = strdup(file);
	return v->file_name ? 0 : neff_nomem(w->err);
}

static int var_from_json(const struct neff_where *w, const json_t *o, struct neff_var *v)
{
	const char *type = string_get(w, o, "type");
	uint64_t n;
	int ret;

	if (!type)
		return -EINVAL;
	if (!neff_var_type_from_name(type, &v->type))
		return neff_fail(w->err, "%s: %s: type '%.32s' is not supported", w->member,
				 w->what, type);

	/* a file of the vendor's tools may leave out the size of the state buffer */
	ret = v->type == NEFF_VAR_STATE_BUFFER ? uint_get_default(w, o, "size", INT64_MAX, &v->size)
					       : uint_get(w, o, "size", INT64_MAX, &v->size);
	if (ret)
		return ret;
	if (!v->size && v->type != NEFF_VAR_STATE_BUFFER)
		return neff_fail(w->err, "%s: %s: size 0", w->member, w->what);

	ret = uint_get_default(w, o, "alignment", 1u << 30, &n);
	if (ret)
		return ret;
	if (n & (n - 1))
		return neff_fail(w->err, "%s: %s: alignment %llu is not a power of two", w->member,
				 w->what, (unsigned long long)n);

	v->alignment = (uint32_t)n;
	if (v->type == NEFF_VAR_VIRTUAL)
		return uint_get(w, o, "backing_variable_off", INT64_MAX, &v->backing_off);
	return v->type == NEFF_VAR_FILE ? var_file(w, o, v) : 0;
}

static int vars_read(struct neff_where *w, const json_t *root, struct neff_subgraph *sg)
{
	json_t *vars = json_object_get(root, "var"), *o;
	size_t n = json_object_size(vars);
	const char *name;
	uint64_t id = 0;
	int ret;

	if (!json_is_object(vars) || !n || n > NEFF_MAX_VARS)
		return neff_fail(w->err, "%s: 'var' is not an object of 1 to %u variables",
				 w->member, NEFF_MAX_VARS);

	sg->vars = calloc(n, sizeof(*sg->vars));
	if (!sg->vars)
		return neff_nomem(w->err);
	sg->nvars = (unsigned int)n;

	json_object_foreach(vars, name, o) {
		snprintf(w->what, sizeof(w->what), "var '%.64s'", name);
		if (!neff_name_ok(name))
			return neff_fail(w->err, "%s: bad variable name", w->member);
		ret = uint_get(w, o, "var_id", n - 1, &id);
		if (ret)
			return ret;
		if (sg->vars[id].name)
			return neff_fail(w->err, "%s: %s: var_id %llu twice", w->member, w->what,
					 (unsigned long long)id);

		sg->vars[id].var_id = (uint32_t)id;
		sg->vars[id].name = strdup(name);
		if (!sg->vars[id].name)
			return neff_nomem(w->err);

		ret = var_from_json(w, o, &sg->vars[id]);
		if (ret)
			return ret;
	}
	return 0;
}

static int queue_from_json(const struct neff_where *w, const json_t *o, struct neff_queue *q)
{
	const char *type = string_get(w, o, "type"), *owner = string_get(w, o, "owner");
	uint64_t n = 1;
	int e, ret = 0;

	if (!type || !owner)
		return -EINVAL;
	if (!neff_queue_type_from_name(type, &q->type))
		return neff_fail(w->err, "%s: %s: type '%.32s' is not supported", w->member,
				 w->what, type);

	e = neuron_isa_engine(w->target, owner);
	if (e < 0)
		return neff_fail(w->err, "%s: %s: owner '%.32s' is not an engine", w->member,
				 w->what, owner);
	q->owner = (unsigned int)e;

	if (json_object_get(o, "num_queues"))
		ret = uint_get(w, o, "num_queues", UINT32_MAX, &n);
	if (!ret && n != 1)
		return neff_fail(w->err, "%s: %s: num_queues %llu, expected 1", w->member, w->what,
				 (unsigned long long)n);
	return ret;
}

static int queues_read(struct neff_where *w, const json_t *root, struct neff_subgraph *sg)
{
	json_t *queues = json_object_get(root, "dma_queue"), *o;
	size_t n = json_object_size(queues);
	const char *name;
	int ret;

	if (!json_is_object(queues) || n > NEFF_MAX_QUEUES)
		return neff_fail(w->err,
				 "%s: 'dma_queue' is not an object of at most %u queue sets",
				 w->member, NEFF_MAX_QUEUES);
	sg->queues = calloc(n ? n : 1, sizeof(*sg->queues));
	if (!sg->queues)
		return neff_nomem(w->err);
	json_object_foreach(queues, name, o) {
		struct neff_queue *q = &sg->queues[sg->nqueues++];

		snprintf(w->what, sizeof(w->what), "dma_queue '%.64s'", name);
		if (!neff_name_ok(name))
			return neff_fail(w->err, "%s: bad queue name", w->member);
		q->name = strdup(name);
		if (!q->name)
			return neff_nomem(w->err);
		ret = queue_from_json(w, o, q);
		if (ret)
			return ret;
	}
	return 0;
}

int neff_def_read(const char *member, const json_t *root, const struct neuron_target *target,
		  struct neff_subgraph *sg, struct neff_error *err)
{
	struct neff_where w = { .member = member, .err = err, .target = target, .what = "def" };
	int ret;

	if (!json_is_object(root))
		return neff_fail(err, "%s: not a JSON object", member);
	if (neuron_isa_engine(target, "dve") < 0 &&
	    (json_object_get(root, "dve") || json_object_get(root, "dve_instr")))
		return neff_fail(err, "%s: engine 'dve' is not of this generation: 'pool'", member);
	ret = vars_read(&w, root, sg);
	return ret ? ret : queues_read(&w, root, sg);
}

/* Patterns */

static long index_of(const json_t *index, const char *name)
{
	const json_t *j = json_object_get(index, name);

	return j ? (long)json_integer_value(j) : -1;
}

static int dims_read(const struct neff_where *w, const json_t *o, const char *side,
		     struct neff_pattern *p)
{
	const json_t *steps, *sizes;
	char key[16];

	snprintf(key, sizeof(key), "%s_steps", side);
	steps = json_object_get(o, key);
	snprintf(key, sizeof(key), "%s_sizes", side);
	sizes = json_object_get(o, key);
	p->ndim = (unsigned int)json_array_size(sizes);
	if (p->ndim < 1 || p->ndim > 4 || json_array_size(steps) != p->ndim)
		return neff_fail(w->err, "%s: %s: '%s' has not 1 to 4 sizes and as many steps",
				 w->member, w->what, side);
	for (unsigned int d = 0; d < p->ndim; d++) {
		const json_t *step = json_array_get(steps, d), *size = json_array_get(sizes, d);

		if (!json_is_integer(step) || !json_is_integer(size) ||
		    json_integer_value(size) <= 0)
			return neff_fail(w->err,
					 "%s: %s: '%s' dimension %u is not an integer step "
					 "and a size above 0",
					 w->member, w->what, side, d);
		p->step[d] = json_integer_value(step);
		p->size[d] = (uint64_t)json_integer_value(size);
	}
	return 0;
}

/* The variable of one side, and where the side begins in it */
static int place_read(const struct neff_where *w, const json_t *o, const char *side, uint32_t *var,
		      uint64_t *offset)
{
	const char *name = string_get(w, o, side);
	char key[16];
	long i;

	if (!name)
		return -EINVAL;
	i = index_of(w->var_index, name);
	if (i < 0)
		return neff_fail(w->err, "%s: %s: '%s' names no variable: '%.64s'", w->member,
				 w->what, side, name);
	*var = (uint32_t)i;
	snprintf(key, sizeof(key), "%s_off", side);
	return uint_get_default(w, o, key, INT64_MAX, offset);
}

static int pattern_read(const struct neff_where *w, const json_t *o, const char *side,
			struct neff_pattern *p)
{
	int ret = place_read(w, o, side, &p->var, &p->offset);

	return ret ? ret : dims_read(w, o, side, p);
}

static int dtype_read(const struct neff_where *w, const json_t *o, const char *key, uint8_t *dtype)
{
	const json_t *j = json_object_get(o, key);
	const char *name = j ? json_string_value(j) : "uint8";

	*dtype = name ? neff_dtype_from_name(name) : 0;
	if (*dtype)
		return 0;
	return neff_fail(w->err, "%s: %s: '%s' is no type: '%.32s'", w->member, w->what, key,
			 name ? name : "not a string");
}

/* Keys of the public record whose values would change what an operation does */
static int compute_plain(const struct neff_where *w, const json_t *o)
{
	const json_t *scale = json_object_get(o, "scale");

	if (scale && json_number_value(scale) != 1.0)
		return neff_fail(w->err, "%s: %s: a 'scale' of 1 is expected", w->member, w->what);
	if (json_object_get(o, "constant_dtype"))
		return neff_fail(w->err, "%s: %s: 'constant' is not supported", w->member, w->what);
	return 0;
}

/* Elements without a type, of 2 or 4 bytes */
static int transpose_read(const struct neff_where *w, const json_t *o, struct neff_desc *d)
{
	const json_t *shape = json_object_get(o, "transpose_shape");
	uint64_t size = 0;
	int ret = uint_get(w, o, "transpose_element_size", 4, &size);

	if (ret)
		return ret;
	if (size != 2 && size != 4)
		return neff_fail(w->err, "%s: %s: a 'transpose_element_size' of 2 or 4 is expected",
				 w->member, w->what);
	d->from_dtype = d->to_dtype = size == 2 ? NEURON_DT_UINT16 : NEURON_DT_UINT32;
	for (unsigned int i = 0; i < 4; i++) {
		const json_t *n = json_array_get(shape, i);
		const json_int_t v = json_integer_value(n);

		if (json_array_size(shape) != 4 || !json_is_integer(n) || v < 1 ||
		    v > NEFF_MAX_TURNED)
			return neff_fail(w->err,
					 "%s: %s: 'transpose_shape' is not a list of 4 sizes",
					 w->member, w->what);
		d->shape[i] = (uint32_t)v;
	}
	ret = pattern_read(w, o, "from", &d->from);
	return ret ? ret : pattern_read(w, o, "to", &d->to);
}

/* A conversion or a stream has one source, the others a list of them */
static int compute_read(const struct neff_where *w, const json_t *o, struct neff_desc *d)
{
	const json_t *list = json_object_get(o, "from_arr");
	size_t n = json_array_size(list);
	int ret = compute_plain(w, o);

	ret = ret ? ret : dtype_read(w, o, "from_dtype", &d->from_dtype);
	ret = ret ? ret : dtype_read(w, o, "to_dtype", &d->to_dtype);
	ret = ret ? ret : pattern_read(w, o, "to", &d->to);
	if (ret || !neff_has_list(d))
		return ret ? ret : pattern_read(w, o, "from", &d->from);
	if (n < 1 || n > NEURON_DMA_SOURCES_MAX)
		return neff_fail(w->err, "%s: %s: 'from_arr' is not a list of 1 to %u sources",
				 w->member, w->what, NEURON_DMA_SOURCES_MAX);
	d->more = calloc(n, sizeof(*d->more));
	if (!d->more)
		return neff_nomem(w->err);
	d->nmore = (unsigned int)n - 1;
	for (size_t i = 0; i < n && !ret; i++)
		ret = pattern_read(w, json_array_get(list, i), "from",
				   i ? &d->more[i - 1] : &d->from);
	return ret;
}

static int desc_read(const struct neff_where *w, const json_t *o, struct neff_desc *d)
{
	const json_t *op = json_object_get(o, "op");
	const char *name = op ? json_string_value(op) : "copy";
	int ret;

	if (!name || !neff_op_from_name(name, &d->op))
		return neff_fail(w->err,
				 "%s: %s: 'op' is none of 'copy', 'gather', 'scatter', 'cast', "
				 "'add', 'min', 'max', 'compress', 'decompress' and 'transpose'",
				 w->member, w->what);
	if (neff_computes(d))
		return d->op == NEFF_TRANSPOSE ? transpose_read(w, o, d) : compute_read(w, o, d);
	ret = pattern_read(w, o, "from", &d->from);
	if (!ret)
		ret = pattern_read(w, o, "to", &d->to);
	return ret || !neff_indexed(d) ? ret : place_read(w, o, "index", &d->index, &d->index_off);
}

static int descs_read(const struct neff_where *w, const json_t *list, struct neff_dma *dma)
{
	size_t n = json_array_size(list);
	int ret;

	if (!json_is_array(list) || !n || n > NEFF_MAX_RUNS)
		return neff_fail(w->err, "%s: %s: 'desc' is not a list", w->member, w->what);
	dma->desc = calloc(n, sizeof(*dma->desc));
	if (!dma->desc)
		return neff_nomem(w->err);
	for (size_t i = 0; i < n; i++) {
		dma->ndesc++;
		ret = desc_read(w, json_array_get(list, i), &dma->desc[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int dma_read(struct neff_where *w, const json_t *o, size_t i, struct neff_dma *dma)
{
	const char *queue;
	uint64_t n = 0;
	long at;
	int ret;

	snprintf(w->what, sizeof(w->what), "dma[%zu]", i);
	dma->semaphore = -1;
	ret = uint_get(w, o, "id", UINT32_MAX, &n);
	if (ret)
		return ret;
	dma->id = (uint32_t)n;

	queue = string_get(w, o, "queue");
	if (!queue)
		return -EINVAL;
	at = index_of(w->queue_index, queue);
	if (at < 0)
		return neff_fail(w->err, "%s: %s: no queue set '%.64s'", w->member, w->what, queue);
	dma->queue = (uint32_t)at;

	if (json_object_get(o, "event"))
		return neff_fail(w->err, "%s: %s: 'event' is not supported", w->member, w->what);

	if (json_object_get(o, "semaphore")) {
		ret = uint_get(w, o, "semaphore", neuron_target_program_semaphores(w->target) - 1,
			       &n);
		if (ret)
			return ret;
		dma->semaphore = (int)n;
	}
	return descs_read(w, json_object_get(o, "desc"), dma);
}

int neff_engine_read(const char *member, const json_t *root, const struct neuron_target *target,
		     struct neff_subgraph *sg, unsigned int eng, struct neff_error *err)
{
	struct neff_where w = { .member = member, .err = err, .target = target, .what = "dma" };
	struct neff_engine *e = &sg->engine[eng];
	const json_t *list = json_object_get(root, "dma");
	size_t n = json_array_size(list);
	int ret = 0;

	if (!json_is_object(root) || (list && !json_is_array(list)) || n > NEFF_MAX_DMAS)
		return neff_fail(err, "%s: 'dma' is not a list of at most %u", member,
				 NEFF_MAX_DMAS);

	e->dma = calloc(n ? n : 1, sizeof(*e->dma));
	w.var_index = json_object();
	w.queue_index = json_object();
	if (!e->dma || !w.var_index || !w.queue_index) {
		json_decref(w.var_index);
		json_decref(w.queue_index);
		return neff_nomem(err);
	}

	for (unsigned int i = 0; i < sg->nvars; i++)
		json_object_set_new(w.var_index, sg->vars[i].name, json_integer(i));
	for (unsigned int i = 0; i < sg->nqueues; i++)
		json_object_set_new(w.queue_index, sg->queues[i].name, json_integer(i));

	for (size_t i = 0; !ret && i < n; i++) {
		e->ndma++;
		ret = dma_read(&w, json_array_get(list, i), i, &e->dma[i]);
	}
	if (!ret && eng == NEURON_ENG_GPSIMD)
		ret = neff_custom_read(member, root, w.var_index, sg, err);
	json_decref(w.var_index);
	json_decref(w.queue_index);
	return ret;
}
