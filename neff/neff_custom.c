/* SPDX-License-Identifier: MIT */
/*
 * What CUSTOM_OPs work on: the list "custom" in the JSON of the GpSimd engine, an entry for each in
 * the order of its stream (docs/neff.md, Custom operators). Read, written, and checked with the
 * instruction and the model's library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neff_custom.h"
#include "neuron/hw/gpsimd.h"

static json_t *arg_to_json(const struct neff_subgraph *sg, const struct neff_custom_arg *a)
{
	json_t *o, *shape;

	if (a->scalar)
		return json_pack("{s:f}", "scalar", a->value);
	o = json_pack("{s:s, s:I, s:s}", "var", sg->vars[a->var].name, "off", (json_int_t)a->offset,
		      "dtype", neff_dtype_name(a->dtype));
	shape = json_array();
	for (unsigned int d = 0; d < a->ndim; d++)
		json_array_append_new(shape, json_integer(a->shape[d]));
	json_object_set_new(o, "shape", shape);
	if (a->write)
		json_object_set_new(o, "write", json_true());
	return o;
}

json_t *neff_custom_to_json(const struct neff_subgraph *sg)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < sg->ncustom; i++) {
		json_t *args = json_array();

		for (unsigned int k = 0; k < sg->custom[i].nargs; k++)
			json_array_append_new(args, arg_to_json(sg, &sg->custom[i].arg[k]));
		json_array_append_new(list, json_pack("{s:o}", "args", args));
	}
	return list;
}

static int tensor_read(const json_t *o, const json_t *vars, struct neff_custom_arg *a)
{
	const char *name = json_string_value(json_object_get(o, "var"));
	const char *dtype = json_string_value(json_object_get(o, "dtype"));
	const json_t *off = json_object_get(o, "off"), *shape = json_object_get(o, "shape");
	const json_t *id = name ? json_object_get(vars, name) : NULL;

	if (!id || !dtype || !json_is_integer(off) || json_integer_value(off) < 0 ||
	    !json_is_array(shape) || json_array_size(shape) > NEURON_GPS_DIMS)
		return -EINVAL;
	a->var = (uint32_t)json_integer_value(id);
	a->offset = (uint64_t)json_integer_value(off);
	a->dtype = neff_dtype_from_name(dtype);
	a->write = json_is_true(json_object_get(o, "write"));
	a->ndim = (unsigned int)json_array_size(shape);
	for (unsigned int d = 0; d < a->ndim; d++) {
		json_int_t n = json_integer_value(json_array_get(shape, d));

		if (n < 1 || n > UINT32_MAX)
			return -EINVAL;
		a->shape[d] = (uint32_t)n;
	}
	return 0;
}

static int arg_read(const json_t *o, const json_t *vars, struct neff_custom_arg *a)
{
	const json_t *scalar = json_object_get(o, "scalar");

	if (!scalar)
		return tensor_read(o, vars, a);
	if (!json_is_number(scalar))
		return -EINVAL;
	a->scalar = true;
	a->value = json_number_value(scalar);
	return 0;
}

int neff_custom_read(const char *member, const json_t *root, const json_t *vars,
		     struct neff_subgraph *sg, struct neff_error *err)
{
	const json_t *list = json_object_get(root, "custom"), *args;
	size_t n = json_array_size(list);

	if (!list)
		return 0;
	if (!json_is_array(list) || n > NEFF_MAX_CUSTOM)
		return neff_fail(err, "%s: 'custom' is not a list of at most %u", member,
				 NEFF_MAX_CUSTOM);
	sg->custom = calloc(n ? n : 1, sizeof(*sg->custom));
	if (!sg->custom)
		return neff_nomem(err);
	for (; sg->ncustom < n; sg->ncustom++) {
		struct neff_custom *c = &sg->custom[sg->ncustom];
		size_t count;

		args = json_object_get(json_array_get(list, sg->ncustom), "args");
		count = json_array_size(args);
		if (!json_is_array(args) || count > NEFF_MAX_CUSTOM_ARGS)
			return neff_fail(err, "%s: custom[%u]: 'args' is not a list of at most %u",
					 member, sg->ncustom, NEFF_MAX_CUSTOM_ARGS);
		c->arg = calloc(count ? count : 1, sizeof(*c->arg));
		if (!c->arg)
			return neff_nomem(err);
		for (; c->nargs < count; c->nargs++)
			if (arg_read(json_array_get(args, c->nargs), vars, &c->arg[c->nargs])) {
				sg->ncustom++;
				return neff_fail(err,
						 "%s: custom[%u]: args[%u] is neither a 'scalar' "
						 "nor a 'var', 'off', 'dtype' and 'shape'",
						 member, sg->ncustom - 1, c->nargs);
			}
	}
	return 0;
}

static int arg_check(const struct neff_subgraph *sg, const struct neff_custom_arg *a,
		     const char **reason)
{
	uint64_t bytes = neff_dtype_size(a->dtype);
	const struct neff_var *v;

	*reason = "its variable is not in device memory";
	if (a->scalar)
		return 0;
	if (a->var >= sg->nvars || sg->vars[a->var].type == NEFF_VAR_STATE_BUFFER)
		return -EINVAL;
	v = &sg->vars[a->var];
	*reason = "a result in an input or a constant";
	if (a->write && (v->type == NEFF_VAR_INPUT || v->type == NEFF_VAR_FILE))
		return -EINVAL;
	*reason = "no such type";
	if (!bytes || a->ndim > NEURON_GPS_DIMS)
		return -EINVAL;
	*reason = "its bytes are not in its variable";
	for (unsigned int d = 0; d < a->ndim; d++)
		if (!a->shape[d] || __builtin_mul_overflow(bytes, a->shape[d], &bytes))
			return -EINVAL;
	return bytes <= v->size && a->offset <= v->size - bytes ? 0 : -EINVAL;
}

/* The instruction and its entry, which is number index */
const char *neff_custom_check(const struct neff_subgraph *sg, const struct neff_library *lib,
			      const struct neuron_insn *insn, unsigned int index)
{
	const struct neuron_custom *custom = &insn->custom;
	const char *reason;
	unsigned int f = 0;

	if (!lib)
		return "a custom operator, and the file has no library";
	if (custom->library || custom->args != index || index >= sg->ncustom)
		return "a custom operator's arguments are its number in the stream";
	if (custom->bytes != lib->bytes || custom->entry != lib->entry)
		return "the library has another size or entry";
	while (f < lib->nfunctions && lib->function[f].address != custom->function)
		f++;
	if (f == lib->nfunctions)
		return "the library has no such operator";
	for (unsigned int k = 0; k < sg->custom[index].nargs; k++)
		if (arg_check(sg, &sg->custom[index].arg[k], &reason))
			return reason;
	return NULL;
}

void neff_custom_free(struct neff_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->ncustom; i++)
		free(sg->custom[i].arg);
	free(sg->custom);
}
