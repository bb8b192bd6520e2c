// SPDX-License-Identifier: MIT
/*
 * Calls of the host between the parts of a program (docs/neff.md, Calls of the host): the list
 * "calls" of kelf-0.json to and from the model, and what is checked of it.
 */
#include "neff_calls.h"

#include <stdlib.h>
#include <string.h>

/* XLA's names; a complex element's halves lie apart */
static const struct {
	const char *name;
	uint8_t bytes, halves;
} types[] = {
	{ "pred", 1, 1 },   { "s8", 1, 1 },  { "u8", 1, 1 },	 { "s16", 2, 1 },
	{ "u16", 2, 1 },    { "s32", 4, 1 }, { "u32", 4, 1 },	 { "f16", 2, 1 },
	{ "bf16", 2, 1 },   { "f32", 4, 1 }, { "f8e3m4", 1, 1 }, { "f8e4m3", 1, 1 },
	{ "f8e5m2", 1, 1 }, { "c64", 4, 2 },
};

static int type_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return (int)i;
	return -1;
}

unsigned int neff_call_halves(const struct neff_call_array *a)
{
	const int t = type_of(a->type);

	return t < 0 ? 0 : types[t].halves;
}

uint64_t neff_call_bytes(const struct neff_call_array *a)
{
	const int t = type_of(a->type);
	uint64_t n = t < 0 ? 0 : types[t].bytes;

	for (unsigned int d = 0; d < a->ndim; d++)
		if (__builtin_mul_overflow(n, a->shape[d], &n))
			return UINT64_MAX;
	return n;
}

static json_t *array_to_json(const struct neff_call_array *a)
{
	json_t *shape = json_array(), *off = json_array();

	for (unsigned int d = 0; d < a->ndim; d++)
		json_array_append_new(shape, json_integer((json_int_t)a->shape[d]));
	for (unsigned int i = 0; i < a->noff; i++)
		json_array_append_new(off, a->off[i] == NEFF_CALL_NOWHERE
						   ? json_null()
						   : json_integer((json_int_t)a->off[i]));
	return json_pack("{s:s, s:o, s:o}", "dtype", a->type, "shape", shape, "off", off);
}

static json_t *arrays_to_json(const struct neff_call_array *a, unsigned int n)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, array_to_json(&a[i]));
	return list;
}

json_t *neff_calls_to_json(const struct neff_model *model)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < model->ncalls; i++) {
		const struct neff_call *c = &model->calls[i];
		json_t *o = json_pack("{s:s, s:s, s:I, s:o, s:o}", "after",
				      model->subgraphs[c->after].name, "target", c->target, "index",
				      (json_int_t)c->index, "in", arrays_to_json(c->array, c->nin),
				      "out", arrays_to_json(c->array + c->nin, c->nout));

		if (c->guarded)
			json_object_set_new(o, "if", json_integer((json_int_t)c->guard));
		json_array_append_new(list, o);
	}
	return list;
}

struct reading {
	unsigned int call;
	struct neff_error *err;
};

static int call_fail(const struct reading *r, const char *what)
{
	return neff_fail(r->err, "kelf-0.json: calls[%u]: %s", r->call, what);
}

static bool take_number(const json_t *o, uint64_t *v)
{
	*v = (uint64_t)json_integer_value(o);
	return json_is_integer(o) && json_integer_value(o) >= 0;
}

static int read_array(const struct reading *r, const json_t *o, struct neff_call_array *a)
{
	const json_t *shape = json_object_get(o, "shape"), *off = json_object_get(o, "off");
	const int t = type_of(json_string_value(json_object_get(o, "dtype")));

	if (t < 0)
		return call_fail(r, "an array of an unknown 'dtype'");
	if (!json_is_array(shape) || json_array_size(shape) > NEFF_MAX_DIMS ||
	    !json_is_array(off) || json_array_size(off) > 2)
		return call_fail(r, "an array without 'shape' of up to 16 and 'off' of up to 2");
	strcpy(a->type, types[t].name);
	a->ndim = (unsigned int)json_array_size(shape);
	a->noff = (unsigned int)json_array_size(off);
	for (unsigned int d = 0; d < a->ndim; d++)
		if (!take_number(json_array_get(shape, d), &a->shape[d]))
			return call_fail(r, "a size that is no number from 0 on");
	for (unsigned int i = 0; i < a->noff; i++)
		if (json_is_null(json_array_get(off, i)))
			a->off[i] = NEFF_CALL_NOWHERE;
		else if (!take_number(json_array_get(off, i), &a->off[i]))
			return call_fail(r, "an offset that is no number from 0 on");
	return 0;
}

static int read_call(const struct reading *r, const json_t *o, const json_t *graphs,
		     struct neff_call *c)
{
	const json_t *in = json_object_get(o, "in"), *out = json_object_get(o, "out");
	const char *target = json_string_value(json_object_get(o, "target"));
	const int after = neff_graph_named(graphs, json_object_get(o, "after"));
	int ret = 0;

	if (after < 0 || !target || !neff_name_ok(target) ||
	    !take_number(json_object_get(o, "index"), &c->index))
		return call_fail(r, "'after' is no graph, or no good 'target' or 'index'");
	if (!json_is_array(in) || !json_is_array(out))
		return call_fail(r, "no 'in' and 'out'");
	c->guarded = json_object_get(o, "if");
	if (c->guarded && !take_number(json_object_get(o, "if"), &c->guard))
		return call_fail(r, "'if' is no offset");
	c->after = (uint32_t)after;
	c->target = strdup(target);
	c->nin = (unsigned int)json_array_size(in);
	c->nout = (unsigned int)json_array_size(out);
	c->array = calloc(c->nin + c->nout + 1, sizeof(*c->array));
	if (!c->target || !c->array)
		return neff_nomem(r->err);
	for (unsigned int i = 0; !ret && i < c->nin + c->nout; i++)
		ret = read_array(
			r, i < c->nin ? json_array_get(in, i) : json_array_get(out, i - c->nin),
			&c->array[i]);
	return ret;
}

/* Memory for one more: it grows with what was read, not with what the list says of itself. */
static bool grow(struct neff_model *model)
{
	const unsigned int n = model->ncalls;
	struct neff_call *p;

	if (n & (n - 1))
		return true;
	p = reallocarray(model->calls, n ? 2 * (size_t)n : 1, sizeof(*p));
	if (!p)
		return false;
	model->calls = p;
	memset(p + n, 0, (n ? n : 1) * sizeof(*p));
	return true;
}

int neff_calls_read(const json_t *calls, const json_t *graphs, struct neff_model *model,
		    struct neff_error *err)
{
	const size_t n = json_array_size(calls);
	int ret = 0;

	if (!calls)
		return 0;
	if (!json_is_array(calls) || !n)
		return neff_fail(err, "kelf-0.json: 'calls' is not a list with something in it");
	while (!ret && model->ncalls < n) {
		const struct reading r = { model->ncalls, err };

		if (!grow(model))
			return neff_nomem(err);
		ret = read_call(&r, json_array_get(calls, model->ncalls), graphs,
				&model->calls[model->ncalls]);
		model->ncalls++;
	}
	return ret;
}

bool *neff_loop_edges(const struct neff_model *model)
{
	bool *edge = calloc(model->nsubgraphs + 1, sizeof(*edge));

	for (unsigned int i = 0; edge && i < model->nloops; i++)
		edge[model->loops[i].first - 1] = edge[model->loops[i].last] = true;
	return edge;
}

/* The end of the virtual variables that all parts have */
static uint64_t scratch_end(const struct neff_model *model)
{
	uint64_t end = 0;

	for (unsigned int k = 0; k < model->nsubgraphs; k++)
		for (unsigned int i = 0; i < model->subgraphs[k].nvars; i++) {
			const struct neff_var *v = &model->subgraphs[k].vars[i];

			if (v->type == NEFF_VAR_VIRTUAL && v->backing_off + v->size > end)
				end = v->backing_off + v->size;
		}
	return end;
}

static int check_array(const struct reading *r, const struct neff_call_array *a, bool in,
		       uint64_t end)
{
	const uint64_t bytes = neff_call_bytes(a);

	if (type_of(a->type) < 0 || a->ndim > NEFF_MAX_DIMS || bytes == UINT64_MAX)
		return call_fail(r, "an array of no known type, or too large");
	if (a->noff != (bytes ? neff_call_halves(a) : 0))
		return call_fail(r, "an array has not as many offsets as parts");
	for (unsigned int i = 0; i < a->noff; i++)
		if ((in || a->off[i] != NEFF_CALL_NOWHERE) &&
		    (bytes > end || a->off[i] > end - bytes))
			return call_fail(r, "an array outside of the virtual variables");
	return 0;
}

static int check_call(const struct reading *r, const struct neff_model *model, const bool *edge,
		      uint64_t end)
{
	const struct neff_call *c = &model->calls[r->call];
	int ret = 0;

	if (c->after + 1 >= neff_programs(model) ||
	    (r->call && c->after < model->calls[r->call - 1].after))
		return call_fail(r, "no subgraph behind it, or the call before it comes later");
	if (edge[c->after])
		return call_fail(r, "a loop begins or ends behind the same subgraph");
	if (c->guarded && c->guard >= end)
		return call_fail(r, "'if' is outside of the virtual variables");
	for (unsigned int i = 0; !ret && i < c->nin + c->nout; i++)
		ret = check_array(r, &c->array[i], i < c->nin, end);
	return ret;
}

int neff_calls_check(const struct neff_model *model, struct neff_error *err)
{
	const uint64_t end = scratch_end(model);
	bool *edge = neff_loop_edges(model);
	int ret = edge ? 0 : neff_nomem(err);

	for (unsigned int i = 0; !ret && i < model->ncalls; i++)
		ret = check_call(&(struct reading){ i, err }, model, edge, end);
	free(edge);
	return ret;
}

void neff_calls_free(struct neff_model *model)
{
	for (unsigned int i = 0; i < model->ncalls; i++) {
		free(model->calls[i].target);
		free(model->calls[i].array);
	}
	free(model->calls);
}
