/* SPDX-License-Identifier: MIT */
/*
 * Tensor sets whose names are the compiled model's own, read by libneff's rule. The NEFF's names,
 * which nrt_get_model_tensor_info tells, go first, and take no time here.
 */
#include <stdlib.h>
#include <string.h>

#include "neff_called.h"
#include "rt_exec.h"

static bool is_one(const struct rt_var *var, enum neff_var_type type)
{
	return rt_var_is_io(var) && var->neff->type == type;
}

/* Has the set every tensor by the NEFF's name? */
static bool has_all(const struct nrt_model *model, enum neff_var_type type,
		    const nrt_tensor_set_t *set)
{
	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		const struct rt_subgraph *sg = &model->subgraph[k];

		for (unsigned int i = 0; i < sg->nvars; i++)
			if (is_one(&sg->vars[i], type) && !rt_set_find(set, sg->vars[i].neff->name))
				return false;
	}
	return true;
}

/* The model's tensors of a type, each once; NULL: out of memory */
static struct neff_called *list(const struct nrt_model *model, enum neff_var_type type,
				unsigned int *n)
{
	struct neff_called *called;
	unsigned int most = 1;

	for (unsigned int k = 0; k < model->nsubgraphs; k++)
		most += model->subgraph[k].nvars;
	called = calloc(most, sizeof(*called));
	*n = 0;
	for (unsigned int k = 0; called && k < model->nsubgraphs; k++) {
		const struct rt_subgraph *sg = &model->subgraph[k];
		const unsigned int before = *n;

		for (unsigned int i = 0; i < sg->nvars; i++) {
			const struct neff_var *var = sg->vars[i].neff;
			bool known = !is_one(&sg->vars[i], type);

			for (unsigned int b = 0; b < before && !known; b++)
				known = !strcmp(called[b].name, var->name);
			if (!known)
				called[(*n)++] = (struct neff_called){ var->name, var->source };
		}
	}
	return called;
}

/* Puts what a copy of a set has into the other one, by the NEFF's names. */
static NRT_STATUS name(const struct neff_called *called, unsigned int n, const struct rt_set *from,
		       struct rt_set *to)
{
	const char **given = calloc((size_t)from->n + 1, sizeof(*given));
	int *which = calloc((size_t)from->n + 1, sizeof(*which));
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; given && i < from->n; i++)
		given[i] = from->item[i].name;
	if (!given || !which || neff_called_match(called, n, NEFF_OF_FILE, given, from->n, which))
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	for (unsigned int i = 0; !status && i < from->n; i++) {
		if (which[i] < 0)
			continue;
		if (rt_set_find(to, called[which[i]].name))
			status = rt_fail(NRT_EXEC_BAD_INPUT, "NMGR",
					 "'%s' is in the tensor set twice, once as '%s'",
					 called[which[i]].name, given[i]);
		else
			status = rt_set_add(to, called[which[i]].name, from->item[i].tensor);
	}
	free(given);
	free(which);
	return status;
}

static NRT_STATUS settle(const struct nrt_model *model, enum neff_var_type type,
			 const nrt_tensor_set_t *set, struct rt_set *made)
{
	struct neff_called *called;
	struct rt_set copy = { 0 };
	unsigned int n;
	NRT_STATUS status;

	if (has_all(model, type, set))
		return NRT_SUCCESS;
	rt_set_init(made);
	called = list(model, type, &n);
	if (!called || !rt_set_copy(&copy, set))
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	else
		status = name(called, n, &copy, made);
	free(called);
	rt_set_drop(&copy);
	return status;
}

NRT_STATUS rt_called_make(const struct nrt_model *model, const struct rt_io *io,
			  struct rt_called *c)
{
	NRT_STATUS status;

	memset(c, 0, sizeof(*c));
	status = settle(model, NEFF_VAR_INPUT, io->inputs, &c->in);
	if (!status)
		status = settle(model, NEFF_VAR_OUTPUT, io->outputs, &c->out);
	c->io.inputs = c->in.copied ? &c->in : io->inputs;
	c->io.outputs = c->out.copied ? &c->out : io->outputs;
	return status;
}

void rt_called_free(struct rt_called *c)
{
	rt_set_drop(&c->in);
	rt_set_drop(&c->out);
}
