/* SPDX-License-Identifier: MIT */
/*
 * Checks that the subgraphs of a model fit each other: what passes between the stages of a
 * pipeline, and the parts of a program with loops. neff_check.c calls this after it has checked
 * each subgraph by itself.
 */
#include "neff_calls.h"
#include "neff_priv.h"

#include <stdlib.h>
#include <string.h>

struct stages {
	const struct neff_model *model;
	json_t *names; /* of the subgraphs */
	json_t *in, *out; /* a tensor's name to subgraph << 16 | variable, the first that has it */
	struct neff_error *err;
};

static bool same_tensor(const struct neff_var *a, const struct neff_var *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim &&
	       !memcmp(a->shape, b->shape, a->ndim * sizeof(a->shape[0]));
}

static const struct neff_var *find_io(const struct stages *s, json_t *names, const char *name,
				      unsigned int *subgraph)
{
	const json_t *at = json_object_get(names, name);
	json_int_t n = json_integer_value(at);

	if (!at)
		return NULL;
	*subgraph = (unsigned int)(n >> 16);
	return &s->model->subgraphs[*subgraph].vars[n & 0xffff];
}

static int list_io(struct stages *s, unsigned int k, unsigned int i)
{
	const struct neff_subgraph *sg = &s->model->subgraphs[k];
	const struct neff_var *v = &sg->vars[i];
	json_t *names = v->type == NEFF_VAR_INPUT ? s->in : s->out;
	const unsigned int each = neff_programs(s->model);
	const bool second = k >= each; /* a program of a logical core's second core */
	const struct neff_var *there;
	unsigned int other;

	if ((v->type != NEFF_VAR_INPUT && v->type != NEFF_VAR_OUTPUT))
		return 0;
	there = find_io(s, names, v->name, &other);
	if (!there && v->type == NEFF_VAR_OUTPUT && second)
		return neff_fail(s->err, "%s/def.json: var '%.64s': no output of %s", sg->name,
				 v->name, s->model->subgraphs[k - each].name);
	if (!there)
		return json_object_set_new(names, v->name, json_integer((json_int_t)k << 16 | i))
			       ? neff_nomem(s->err)
			       : 0;
	if (v->type == NEFF_VAR_INPUT)
		return 0;
	if (second && other == k - each && same_tensor(v, there))
		return 0; /* each core writes some of it */
	return neff_fail(s->err, "%s/def.json: var '%.64s': an output of %s too", sg->name, v->name,
			 s->model->subgraphs[other].name);
}

/*
 * An input is either the caller's, however many subgraphs read it, or the output of the subgraph
 * before.
 */
static int input_check(const struct stages *s, unsigned int k, const struct neff_var *v)
{
	const struct neff_subgraph *sg = s->model->subgraphs;
	const struct neff_var *in, *out;
	unsigned int i = 0, o = 0;

	out = find_io(s, s->out, v->name, &o);
	in = find_io(s, s->in, v->name, &i);

	if (out && (neff_in_parts(s->model) || s->model->header.lnc_size > 1))
		return neff_fail(s->err,
				 "%s/def.json: var '%.64s': "
				 "an output of %s; %s share virtual variables",
				 sg[k].name, v->name, sg[o].name,
				 neff_in_parts(s->model) ? "parts of a program with loops"
							 : "a logical core's programs");

	if (out && o + 1 != k)
		return neff_fail(s->err,
				 "%s/def.json: var '%.64s': "
				 "an output of %s, which is not the subgraph before",
				 sg[k].name, v->name, sg[o].name);

	if ((out && !same_tensor(out, v)) || !same_tensor(in, v))
		return neff_fail(s->err,
				 "%s/def.json: var '%.64s': type or shape is not that of %s",
				 sg[k].name, v->name, sg[out ? o : i].name);
	return 0;
}

static int stage_check(struct stages *s)
{
	const struct neff_model *m = s->model;
	int ret = 0;

	for (unsigned int k = 0; !ret && k < m->nsubgraphs; k++) {
		const struct neff_subgraph *sg = &m->subgraphs[k];

		if (json_object_get(s->names, sg->name))
			ret = neff_fail(s->err, "kelf-0.json: two subgraphs '%.64s'", sg->name);
		else if (json_object_set_new(s->names, sg->name, json_true()))
			ret = neff_nomem(s->err);
		for (unsigned int i = 0; !ret && i < sg->nvars; i++)
			ret = list_io(s, k, i);
	}
	for (unsigned int k = 0; !ret && k < m->nsubgraphs; k++)
		for (unsigned int i = 0; !ret && i < m->subgraphs[k].nvars; i++)
			if (m->subgraphs[k].vars[i].type == NEFF_VAR_INPUT)
				ret = input_check(s, k, &m->subgraphs[k].vars[i]);
	return ret;
}

/* Loops */

static int loop_fail(const struct stages *s, unsigned int i, const char *text)
{
	return neff_fail(s->err, "kelf-0.json: loops[%u]: %s", i, text);
}

/* A subgraph's variable that is the condition */
static const struct neff_var *condition_of(const struct neff_subgraph *sg, const char *name)
{
	for (unsigned int i = 0; i < sg->nvars; i++)
		if (sg->vars[i].type == NEFF_VAR_VIRTUAL && sg->vars[i].size == 1 &&
		    !strcmp(sg->vars[i].name, name))
			return &sg->vars[i];
	return NULL;
}

/* around: the loop that may be around it, and after the check the one that may be around the next */
static int loop_check(const struct stages *s, unsigned int i, unsigned int *outer, int *around)
{
	const struct neff_loop *l = &s->model->loops[i], *o;
	const struct neff_var *before, *last;

	if (!l->first || l->last < l->first || l->last + 1 >= neff_programs(s->model))
		return loop_fail(s, i,
				 "no subgraph before it or behind it, or it ends before it begins");
	while (*around >= 0 && l->first >= s->model->loops[*around].last + 2)
		*around = (int)outer[*around] - 1;
	o = *around >= 0 ? &s->model->loops[*around] : NULL;
	if ((i && l->first <= l[-1].first) || (o && l->last >= o->last))
		return loop_fail(s, i,
				 "neither inside the loops before it nor, "
				 "after another subgraph, behind them");
	outer[i] = (unsigned int)(*around + 1);
	*around = (int)i;
	before = condition_of(&s->model->subgraphs[l->first - 1], l->condition);
	last = condition_of(&s->model->subgraphs[l->last], l->condition);
	if (!before || !last || before->backing_off != last->backing_off)
		return loop_fail(s, i,
				 "its condition is not one virtual variable of one byte, "
				 "of the subgraph before it and of its last");
	return 0;
}

static int loops_check(const struct stages *s)
{
	int ret = json_object_size(s->out) || s->model->ncalls ? 0
							       : neff_fail(s->err, "kelf-0.json: "
										   "no outputs");
	unsigned int *outer; /* the loop around each, from 1 on; 0: none */
	int around = -1;

	outer = calloc(s->model->nloops + 1, sizeof(*outer));
	if (!ret && !outer)
		ret = neff_nomem(s->err);
	for (unsigned int i = 0; !ret && i < s->model->nloops; i++)
		ret = loop_check(s, i, outer, &around);
	free(outer);
	return ret;
}

int neff_check_stages(const struct neff_model *model, struct neff_error *err)
{
	struct stages s = { model, json_object(), json_object(), json_object(), err };
	int ret = s.names && s.in && s.out ? stage_check(&s) : neff_nomem(err);

	if (!ret && neff_in_parts(model))
		ret = loops_check(&s);
	if (!ret && model->ncalls)
		ret = neff_calls_check(model, err);
	if (!ret)
		ret = neff_collectives_check(model, err);
	json_decref(s.names);
	json_decref(s.in);
	json_decref(s.out);
	return ret;
}
