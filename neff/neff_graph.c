/* SPDX-License-Identifier: MIT */
/*
 * neff.json: the graph as a whole in the manner of the public TVM graph executor JSON, and the
 * only member that knows types and shapes. A subgraph is one node; an input that has the name of
 * an earlier subgraph's output is that output.
 */
#include "neff_priv.h"
#include "neff_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writing */

struct graph {
	json_t *nodes, *args, *heads, *rows, *shapes, *types, *names;
	json_t *sources; /* "" where a tensor has none */
	json_t *entry; /* maps a tensor's name to [node, output, 0] */
	json_t *consumed; /* names of outputs that a later subgraph takes as inputs */
	json_int_t entries;
};

static json_t *shape_to_json(const struct neff_var *v)
{
	json_t *shape = json_array();

	for (unsigned int d = 0; d < v->ndim; d++)
		json_array_append_new(shape, json_integer((json_int_t)v->shape[d]));
	return shape;
}

static void entry_add(struct graph *g, const struct neff_var *v, size_t node, unsigned int out)
{
	json_array_append_new(g->shapes, shape_to_json(v));
	json_array_append_new(g->types, json_string(neff_dtype_name(v->dtype) ?: "unknown"));
	json_array_append_new(g->names, json_string(v->name));
	/* A name that is no UTF-8 is none. */
	json_array_append_new(g->sources, json_string(v->source ?: "") ?: json_string(""));
	json_object_set_new(g->entry, v->name,
			    json_pack("[I, i, i]", (json_int_t)node, (int)out, 0));
	g->entries++;
}

static void arg_add(struct graph *g, const struct neff_var *v)
{
	size_t node = json_array_size(g->nodes);

	json_array_append_new(g->args, json_integer((json_int_t)node));
	json_array_append_new(g->nodes, json_pack("{s:s, s:s, s:[]}", "op", "null", "name", v->name,
						  "inputs"));
	json_array_append_new(g->rows, json_integer(g->entries));
	entry_add(g, v, node, 0);
}

static unsigned int count_type(const struct neff_subgraph *sg, enum neff_var_type type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sg->nvars; i++)
		n += sg->vars[i].type == type;
	return n;
}

static void kernel_add(struct graph *g, const struct neff_subgraph *sg)
{
	json_t *inputs = json_array();
	char nin[16], nout[16];
	unsigned int out = 0;
	size_t node;

	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct neff_var *v = &sg->vars[i];

		if (v->type != NEFF_VAR_INPUT)
			continue;
		if (!json_object_get(g->entry, v->name))
			arg_add(g, v);
		else
			json_object_set_new(g->consumed, v->name, json_true());
		json_array_append(inputs, json_object_get(g->entry, v->name));
	}

	snprintf(nin, sizeof(nin), "%u", count_type(sg, NEFF_VAR_INPUT));
	snprintf(nout, sizeof(nout), "%u", count_type(sg, NEFF_VAR_OUTPUT));
	node = json_array_size(g->nodes);
	json_array_append_new(g->nodes,
			      json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "op",
					"neuron_kernel", "name", sg->name, "attrs", "func_name",
					sg->name, "num_inputs", nin, "num_outputs", nout,
					"flatten_data", "0", "inputs", inputs));

	json_array_append_new(g->rows, json_integer(g->entries));
	for (unsigned int i = 0; i < sg->nvars; i++)
		/* what both of a logical core's programs write is the first one's */
		if (sg->vars[i].type == NEFF_VAR_OUTPUT &&
		    !json_object_get(g->entry, sg->vars[i].name))
			entry_add(g, &sg->vars[i], node, out++);
}

static void heads_add(struct graph *g, const struct neff_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct neff_var *v = &sg->vars[i];

		if (v->type == NEFF_VAR_OUTPUT && !json_object_get(g->consumed, v->name))
			json_array_append(g->heads, json_object_get(g->entry, v->name));
	}
}

json_t *neff_graph_to_json(const struct neff_model *model)
{
	struct graph g = {
		.nodes = json_array(),
		.args = json_array(),
		.heads = json_array(),
		.rows = json_array(),
		.shapes = json_array(),
		.types = json_array(),
		.names = json_array(),
		.sources = json_array(),
		.entry = json_object(),
		.consumed = json_object(),
	};

	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		kernel_add(&g, &model->subgraphs[i]);
	for (unsigned int i = 0; i < neff_programs(model); i++)
		heads_add(&g, &model->subgraphs[i]);
	json_array_append_new(g.rows, json_integer(g.entries));
	json_decref(g.entry);
	json_decref(g.consumed);
	return json_pack("{s:o, s:o, s:o, s:o, s:{s:[s,o], s:[s,o], s:[s,o], s:[s,o]}}", "nodes",
			 g.nodes, "arg_nodes", g.args, "heads", g.heads, "node_row_ptr", g.rows,
			 "attrs", "shape", "list_shape", g.shapes, "dltype", "list_str", g.types,
			 "tensor_name", "list_str", g.names, "source_name", "list_str", g.sources);
}

/* Reading */

static const json_t *attr_list(const json_t *attrs, const char *key)
{
	return json_array_get(json_object_get(attrs, key), 1);
}

static int shape_read(const json_t *j, struct neff_var *v, struct neff_error *err)
{
	v->ndim = (unsigned int)json_array_size(j);
	if (!json_is_array(j) || v->ndim > NEFF_MAX_DIMS)
		return neff_fail(err, "neff.json: '%.64s': shape is not a list of at most %d",
				 v->name, NEFF_MAX_DIMS);
	for (unsigned int d = 0; d < v->ndim; d++) {
		json_int_t n = json_integer_value(json_array_get(j, d));

		if (n <= 0 || n > UINT32_MAX)
			return neff_fail(err,
					 "neff.json: '%.64s': "
					 "dimension %u is not from 1 to 2^32 - 1",
					 v->name, d);
		v->shape[d] = (uint64_t)n;
	}
	return 0;
}

static int tensor_read(const json_t *attrs, size_t i, struct neff_var *v, const char *sg,
		       struct neff_error *err)
{
	const char *type = json_string_value(json_array_get(attr_list(attrs, "dltype"), i));
	uint64_t size;
	int ret;

	v->dtype = type ? neff_dtype_from_name(type) : 0;
	if (!v->dtype)
		return neff_fail(err, "neff.json: '%.64s': unknown type '%.32s'", v->name,
				 type ? type : "");
	ret = shape_read(json_array_get(attr_list(attrs, "shape"), i), v, err);
	if (ret)
		return ret;
	size = neff_tensor_size(v->dtype, v->ndim, v->shape);
	if (size != v->size)
		return neff_fail(err, "%s/def.json: var '%.64s': size %llu, expected %llu", sg,
				 v->name, (unsigned long long)v->size, (unsigned long long)size);
	return 0;
}

bool neff_source_ok(const char *source)
{
	if (!source || !*source || strlen(source) > NEFF_MAX_SOURCE)
		return false;
	for (const char *c = source; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

static int source_read(const json_t *attrs, size_t i, struct neff_var *v, struct neff_error *err)
{
	const char *source = json_string_value(json_array_get(attr_list(attrs, "source_name"), i));

	if (!neff_source_ok(source))
		return 0;
	free(v->source);
	v->source = strdup(source);
	return v->source ? 0 : neff_nomem(err);
}

static int subgraph_read(const json_t *attrs, const json_t *index, struct neff_subgraph *sg,
			 struct neff_error *err)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct neff_var *v = &sg->vars[i];
		const json_t *at;
		int ret;

		if (v->type != NEFF_VAR_INPUT && v->type != NEFF_VAR_OUTPUT)
			continue;
		at = json_object_get(index, v->name);
		if (!at)
			return neff_fail(err, "neff.json: no entry for '%.64s' of %s", v->name,
					 sg->name);
		ret = tensor_read(attrs, (size_t)json_integer_value(at), v, sg->name, err);
		ret = ret ? ret : source_read(attrs, (size_t)json_integer_value(at), v, err);
		if (ret)
			return ret;
	}
	return 0;
}

int neff_graph_read(const json_t *root, struct neff_model *model, struct neff_error *err)
{
	const json_t *attrs = json_object_get(root, "attrs");
	const json_t *names = attr_list(attrs, "tensor_name");
	json_t *index;
	int ret = 0;

	if (!json_is_array(json_object_get(root, "nodes")) || !json_is_array(names))
		return neff_fail(err, "neff.json: no 'nodes', or no 'tensor_name' in 'attrs'");
	index = json_object();
	if (!index)
		return neff_nomem(err);
	for (size_t i = 0; !ret && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (!name || json_object_get(index, name))
			ret = neff_fail(err, "neff.json: tensor_name[%zu] is no string or twice",
					i);
		else
			json_object_set_new(index, name, json_integer((json_int_t)i));
	}
	for (unsigned int i = 0; !ret && i < model->nsubgraphs; i++)
		ret = subgraph_read(attrs, index, &model->subgraphs[i], err);
	json_decref(index);
	return ret;
}
