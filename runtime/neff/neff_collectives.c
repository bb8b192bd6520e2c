/* SPDX-License-Identifier: MIT */
/*
 * Collectives of a file (docs/neff.md): what ranks pass to each other between two parts of their
 * programs. Reading and writing them, and whether they fit the parts, their variables and each
 * other. The runtime writes into the memory of other ranks by what is said here, so nothing of it
 * is taken unseen.
 */
#include "neff_priv.h"

#include <stdlib.h>
#include <string.h>

static const char *const ops[NEFF_TRANSFERS] = {
	[NEFF_ALL_GATHER] = "all_gather", [NEFF_ALL_TO_ALL] = "all_to_all",
	[NEFF_PERMUTE] = "permute",	  [NEFF_PARTITION_ID] = "partition_id",
	[NEFF_REPLICA_ID] = "replica_id",
};

static bool passes(const struct neff_collective *c)
{
	return c->op <= NEFF_PERMUTE;
}

/* Writing */

static json_t *lists_to_json(const struct neff_collective *c)
{
	json_t *lists = json_array();

	for (uint32_t i = 0; i + c->members <= c->nranks; i += c->members) {
		json_t *list = json_array();

		for (uint32_t k = 0; k < c->members; k++)
			json_array_append_new(list, json_integer(c->rank[i + k]));
		json_array_append_new(lists, list);
	}
	return lists;
}

static json_t *collective_to_json(const struct neff_model *model, const struct neff_collective *c)
{
	json_t *o = json_pack("{s:s, s:s}", "op", ops[c->op], "to", c->to);

	if (!passes(c))
		return o;
	json_object_set_new(o, "from", json_string(c->from));
	json_object_set_new(o, "behind", json_string(model->subgraphs[c->behind].name));
	json_object_set_new(o, "bytes", json_integer((json_int_t)c->bytes));
	json_object_set_new(o, c->op == NEFF_PERMUTE ? "pairs" : "groups", lists_to_json(c));
	return o;
}

void neff_collectives_to_json(const struct neff_model *model, json_t *kelf)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < model->ncollectives; i++)
		json_array_append_new(list, collective_to_json(model, &model->collectives[i]));
	json_object_set_new(kelf, "ranks", json_integer(model->ranks));
	json_object_set_new(kelf, "partitions", json_integer(model->partitions));
	json_object_set_new(kelf, "collectives", list);
}

/* Reading */

static int wrong(struct neff_error *err, unsigned int i, const char *what)
{
	return neff_fail(err, "kelf-0.json: collectives[%u]: %s", i, what);
}

static int op_read(const json_t *o, unsigned int i, enum neff_transfer *op, struct neff_error *err)
{
	const char *name = json_string_value(json_object_get(o, "op"));

	for (unsigned int k = 0; name && k < NEFF_TRANSFERS; k++)
		if (!strcmp(name, ops[k])) {
			*op = (enum neff_transfer)k;
			return 0;
		}
	return wrong(err, i,
		     "'op' is none of 'all_gather', 'all_to_all', 'permute', 'partition_id' and "
		     "'replica_id'");
}

static int name_read(const json_t *o, const char *key, unsigned int i, char **name,
		     struct neff_error *err)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		return wrong(err, i, "'from' or 'to' is not a name");
	*name = strdup(s);
	return *name ? 0 : neff_nomem(err);
}

/* Lists of one length; a rank's number is checked against how many there are later. */
static int lists_read(const json_t *lists, unsigned int i, struct neff_collective *c,
		      struct neff_error *err)
{
	const size_t n = json_array_size(lists),
		     members = json_array_size(json_array_get(lists, 0));

	if (!n || n > NEFF_MAX_RANKS || !members || members > NEFF_MAX_RANKS ||
	    n * members > 2 * NEFF_MAX_RANKS)
		return wrong(err, i, "no lists of ranks, or too many ranks");
	c->rank = calloc(n * members, sizeof(*c->rank));
	if (!c->rank)
		return neff_nomem(err);
	c->members = (uint32_t)members;
	for (size_t k = 0; k < n; k++) {
		const json_t *list = json_array_get(lists, k);

		if (json_array_size(list) != members)
			return wrong(err, i, "its lists of ranks have different lengths");
		for (size_t m = 0; m < members; m++) {
			const json_t *rank = json_array_get(list, m);
			const json_int_t v = json_integer_value(rank);

			if (!json_is_integer(rank) || v < 0 || v >= NEFF_MAX_RANKS)
				return wrong(err, i, "a rank that is no number below 256");
			c->rank[c->nranks++] = (uint32_t)v;
		}
	}
	return 0;
}

static int behind_read(const json_t *o, unsigned int i, const struct neff_model *model,
		       struct neff_collective *c, struct neff_error *err)
{
	const char *name = json_string_value(json_object_get(o, "behind"));
	const json_t *bytes = json_object_get(o, "bytes");

	for (c->behind = 0; c->behind < model->nsubgraphs; c->behind++)
		if (name && !strcmp(model->subgraphs[c->behind].name, name))
			break;
	if (c->behind == model->nsubgraphs)
		return wrong(err, i, "'behind' is not a graph");
	if (!json_is_integer(bytes) || json_integer_value(bytes) <= 0)
		return wrong(err, i, "'bytes' is not a number above 0");
	c->bytes = (uint64_t)json_integer_value(bytes);
	return 0;
}

static int collective_read(const json_t *o, unsigned int i, const struct neff_model *model,
			   struct neff_collective *c, struct neff_error *err)
{
	int ret = op_read(o, i, &c->op, err);

	ret = ret ? ret : name_read(o, "to", i, &c->to, err);
	if (ret || !passes(c))
		return ret;
	ret = name_read(o, "from", i, &c->from, err);
	ret = ret ? ret : behind_read(o, i, model, c, err);
	return ret ? ret
		   : lists_read(json_object_get(o, c->op == NEFF_PERMUTE ? "pairs" : "groups"), i,
				c, err);
}

int neff_collectives_read(const json_t *kelf, struct neff_model *model, struct neff_error *err)
{
	const json_t *list = json_object_get(kelf, "collectives");
	const json_t *ranks = json_object_get(kelf, "ranks");
	const json_t *partitions = json_object_get(kelf, "partitions");
	const size_t n = json_array_size(list);
	int ret = 0;

	if (!list && !ranks)
		return 0;
	if (!json_is_integer(ranks) || json_integer_value(ranks) < 1 ||
	    json_integer_value(ranks) > NEFF_MAX_RANKS || !json_is_integer(partitions) ||
	    json_integer_value(partitions) < 1 ||
	    json_integer_value(ranks) % json_integer_value(partitions))
		return neff_fail(err,
				 "kelf-0.json: 'ranks' is not a number from 1 to %u, or not a "
				 "multiple of 'partitions'",
				 NEFF_MAX_RANKS);
	if (!json_is_array(list) || n > NEFF_MAX_COLLECTIVES)
		return neff_fail(err, "kelf-0.json: 'collectives' is not a list of at most %u",
				 NEFF_MAX_COLLECTIVES);
	model->ranks = (uint32_t)json_integer_value(ranks);
	model->partitions = (uint32_t)json_integer_value(partitions);
	model->collectives = calloc(n + 1, sizeof(*model->collectives));
	if (!model->collectives)
		return neff_nomem(err);
	for (size_t i = 0; !ret && i < n; i++) {
		model->ncollectives++;
		ret = collective_read(json_array_get(list, i), (unsigned int)i, model,
				      &model->collectives[i], err);
	}
	return ret;
}

void neff_collectives_free(struct neff_model *model)
{
	for (unsigned int i = 0; i < model->ncollectives; i++) {
		free(model->collectives[i].from);
		free(model->collectives[i].to);
		free(model->collectives[i].rank);
	}
	free(model->collectives);
}

/* Checking */

/* A place in the scratchpad */
struct area {
	uint64_t start, end;
};

/* The virtual variable of a name, of that size, which lies in one place in all parts that have it */
static int area_of(const struct neff_model *model, unsigned int i, const char *name, uint64_t size,
		   struct area *area, struct neff_error *err)
{
	const struct neff_var *found = NULL;

	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		const struct neff_subgraph *sg = &model->subgraphs[k];

		for (unsigned int v = 0; v < sg->nvars; v++) {
			const struct neff_var *var = &sg->vars[v];

			if (var->type != NEFF_VAR_VIRTUAL || strcmp(var->name, name))
				continue;
			if (found &&
			    (found->backing_off != var->backing_off || found->size != var->size))
				return wrong(err, i, "a variable that lies in two places");
			found = var;
		}
	}
	if (!found || found->size != size)
		return neff_fail(err,
				 "kelf-0.json: collectives[%u]: '%.64s' is not a virtual variable "
				 "of %llu bytes",
				 i, name, (unsigned long long)size);
	*area = (struct area){ found->backing_off, found->backing_off + found->size };
	return area->end < area->start ? wrong(err, i, "a variable beyond all addresses") : 0;
}

static int areas_of(const struct neff_model *model, unsigned int i, struct area *from,
		    struct area *to, struct neff_error *err)
{
	const struct neff_collective *c = &model->collectives[i];
	const uint64_t n = c->op == NEFF_PERMUTE ? 1 : c->members;
	uint64_t all;
	int ret;

	*from = (struct area){ 0, 0 };
	if (!passes(c))
		return area_of(model, i, c->to, sizeof(uint32_t), to, err);
	if (__builtin_mul_overflow(c->bytes, n, &all))
		return wrong(err, i, "more bytes than there are");
	ret = area_of(model, i, c->from, c->op == NEFF_ALL_TO_ALL ? all : c->bytes, from, err);
	return ret ? ret : area_of(model, i, c->to, all, to, err);
}

/* Is each rank in one group? Or in a pair as the first at most once, as the second at most once? */
static int ranks_check(const struct neff_model *model, unsigned int i, struct neff_error *err)
{
	const struct neff_collective *c = &model->collectives[i];
	const bool pairs = c->op == NEFF_PERMUTE;
	bool there[2][NEFF_MAX_RANKS] = { { false } };

	if (pairs && c->members != 2)
		return wrong(err, i, "'pairs' are not of two ranks");
	for (uint32_t k = 0; k < c->nranks; k++) {
		bool *seen = there[pairs && k % 2];

		if (c->rank[k] >= model->ranks)
			return neff_fail(err, "kelf-0.json: collectives[%u]: rank %u, there are %u",
					 i, c->rank[k], model->ranks);
		if (seen[c->rank[k]])
			return neff_fail(err, "kelf-0.json: collectives[%u]: rank %u twice", i,
					 c->rank[k]);
		seen[c->rank[k]] = true;
	}
	if (!pairs && c->nranks != model->ranks)
		return neff_fail(err, "kelf-0.json: collectives[%u]: %u ranks in its groups, of %u",
				 i, c->nranks, model->ranks);
	return 0;
}

static int behind_check(const struct neff_model *model, unsigned int i, struct neff_error *err)
{
	const struct neff_collective *c = &model->collectives[i];

	if (c->behind + 1 >= neff_programs(model))
		return wrong(err, i, "no part is behind it");
	if (i && passes(c - 1) && c->behind < c[-1].behind)
		return wrong(err, i, "not in the order of the parts");
	for (unsigned int l = 0; l < model->nloops; l++)
		if (c->behind == model->loops[l].last || c->behind + 1 == model->loops[l].first)
			return wrong(err, i, "where a loop begins or ends");
	return 0;
}

static bool meet(const struct area *a, const struct area *b)
{
	return a->start < b->end && b->start < a->end;
}

/* What is written behind a part is neither read nor written by another collective there. */
static int apart_check(const struct neff_model *model, const struct area *from,
		       const struct area *to, unsigned int i, struct neff_error *err)
{
	const struct neff_collective *c = model->collectives;

	for (unsigned int k = 0; k <= i; k++) {
		const bool same = passes(&c[i]) && passes(&c[k]) && c[k].behind == c[i].behind;

		if (passes(&c[k]) && passes(&c[i]) && !same)
			continue;
		if (meet(&to[i], &from[k]) || meet(&to[k], &from[i]) ||
		    (k != i && meet(&to[i], &to[k])))
			return wrong(err, i, "writes where another one reads or writes");
	}
	return 0;
}

int neff_collectives_check(const struct neff_model *model, struct neff_error *err)
{
	struct area *area = calloc(2 * (size_t)model->ncollectives + 1, sizeof(*area));
	struct area *from = area, *to = area + model->ncollectives;
	int ret = area ? 0 : neff_nomem(err);

	for (unsigned int i = 0; !ret && i < model->ncollectives; i++) {
		const struct neff_collective *c = &model->collectives[i];

		ret = areas_of(model, i, &from[i], &to[i], err);
		if (!ret && passes(c))
			ret = ranks_check(model, i, err);
		if (!ret && passes(c))
			ret = behind_check(model, i, err);
		if (!ret)
			ret = apart_check(model, from, to, i, err);
	}
	free(area);
	return ret;
}
