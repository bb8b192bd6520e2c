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
		     "'op' is none of 'all_gather', 'all_to_all', "
		     "'permute', 'partition_id' and 'replica_id'");
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

static int behind_read(const json_t *o, unsigned int i, const json_t *graphs,
		       struct neff_collective *c, struct neff_error *err)
{
	const json_t *bytes = json_object_get(o, "bytes");
	const int behind = neff_graph_named(graphs, json_object_get(o, "behind"));

	if (behind < 0)
		return wrong(err, i, "'behind' is not a graph");
	c->behind = (uint32_t)behind;
	if (!json_is_integer(bytes) || json_integer_value(bytes) <= 0)
		return wrong(err, i, "'bytes' is not a number above 0");
	c->bytes = (uint64_t)json_integer_value(bytes);
	return 0;
}

static int collective_read(const json_t *o, unsigned int i, const json_t *graphs,
			   struct neff_collective *c, struct neff_error *err)
{
	int ret = op_read(o, i, &c->op, err);

	ret = ret ? ret : name_read(o, "to", i, &c->to, err);
	if (ret || !passes(c))
		return ret;
	ret = name_read(o, "from", i, &c->from, err);
	ret = ret ? ret : behind_read(o, i, graphs, c, err);
	return ret ? ret
		   : lists_read(json_object_get(o, c->op == NEFF_PERMUTE ? "pairs" : "groups"), i,
				c, err);
}

/* Memory for one more: it grows with what was read, not with what the list says of itself. */
static bool grow(struct neff_model *model)
{
	const unsigned int n = model->ncollectives;
	struct neff_collective *p;

	if (n & (n - 1))
		return true;
	p = reallocarray(model->collectives, n ? 2 * (size_t)n : 1, sizeof(*p));
	if (!p)
		return false;
	model->collectives = p;
	memset(p + n, 0, (n ? n : 1) * sizeof(*p));
	return true;
}

int neff_collectives_read(const json_t *kelf, const json_t *graphs, struct neff_model *model,
			  struct neff_error *err)
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
				 "kelf-0.json: 'ranks' is not a number from 1 to %u, "
				 "or not a multiple of 'partitions'",
				 NEFF_MAX_RANKS);
	if (!json_is_array(list))
		return neff_fail(err, "kelf-0.json: 'collectives' is not a list");
	model->ranks = (uint32_t)json_integer_value(ranks);
	model->partitions = (uint32_t)json_integer_value(partitions);
	for (size_t i = 0; !ret && i < n; i++) {
		if (!grow(model))
			return neff_nomem(err);
		model->ncollectives++;
		ret = collective_read(json_array_get(list, i), (unsigned int)i, graphs,
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

/* A place in the scratchpad that a collective reads, or writes */
struct area {
	uint64_t start, end;
	unsigned int of; /* the collective */
	uint32_t behind; /* of numbers none of the parts */
	bool hard; /* no other area may overlap it */
};

/* The tables that a check looks things up in */
struct check {
	const struct neff_model *model;
	json_t *virtuals; /* the first of a name: subgraph << 16 | variable; -1: they differ */
	bool *edge; /* where a loop begins or ends */
	struct area *area;
	unsigned int nareas;
	struct neff_error *err;
};

static const struct neff_var *var_at(const struct neff_model *model, json_int_t at)
{
	return &model->subgraphs[at >> 16].vars[at & 0xffff];
}

/* Lists a virtual variable, which lies in one place in all parts that have it. */
static int list_virtual(json_t *virtuals, const struct neff_model *model, json_int_t at)
{
	const struct neff_var *v = var_at(model, at), *there;
	json_t *known = json_object_get(virtuals, v->name);

	if (v->type != NEFF_VAR_VIRTUAL)
		return 0;
	if (!known)
		return json_object_set_new(virtuals, v->name, json_integer(at));
	if (json_integer_value(known) < 0)
		return 0;
	there = var_at(model, json_integer_value(known));
	return there->backing_off == v->backing_off && there->size == v->size
		       ? 0
		       : json_integer_set(known, -1);
}

static json_t *virtuals_of(const struct neff_model *model)
{
	json_t *virtuals = json_object();
	int ret = virtuals ? 0 : -1;

	for (unsigned int k = 0; !ret && k < model->nsubgraphs; k++)
		for (unsigned int i = 0; !ret && i < model->subgraphs[k].nvars; i++)
			ret = list_virtual(virtuals, model, (json_int_t)k << 16 | i);
	if (!ret)
		return virtuals;
	json_decref(virtuals);
	return NULL;
}

/* The area of a name's variable, which has that size */
static int area_add(struct check *c, unsigned int i, const char *name, uint64_t size, bool written)
{
	const struct neff_collective *of = &c->model->collectives[i];
	const json_t *at = json_object_get(c->virtuals, name);
	const struct neff_var *var;

	if (at && json_integer_value(at) < 0)
		return wrong(c->err, i, "a variable that lies in two places");
	var = at ? var_at(c->model, json_integer_value(at)) : NULL;
	if (!var || var->size != size)
		return neff_fail(c->err,
				 "kelf-0.json: collectives[%u]: "
				 "'%.64s' is not a virtual variable of %llu bytes",
				 i, name, (unsigned long long)size);
	if (var->backing_off + var->size < var->size)
		return wrong(c->err, i, "a variable beyond all addresses");
	c->area[c->nareas++] = (struct area){
		.start = var->backing_off,
		.end = var->backing_off + var->size,
		.of = i,
		.behind = passes(of) ? of->behind : UINT32_MAX,
		.hard = written,
	};
	return 0;
}

static int areas_add(struct check *k, unsigned int i)
{
	const struct neff_collective *c = &k->model->collectives[i];
	const uint64_t n = c->op == NEFF_PERMUTE ? 1 : c->members;
	uint64_t all;
	int ret;

	if (!passes(c))
		return area_add(k, i, c->to, sizeof(uint32_t), true);
	if (__builtin_mul_overflow(c->bytes, n, &all))
		return wrong(k->err, i, "more bytes than there are");
	ret = area_add(k, i, c->from, c->op == NEFF_ALL_TO_ALL ? all : c->bytes, false);
	return ret ? ret : area_add(k, i, c->to, all, true);
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

static int behind_check(const struct check *k, unsigned int i)
{
	const struct neff_collective *c = &k->model->collectives[i];

	if (c->behind + 1 >= neff_programs(k->model))
		return wrong(k->err, i, "no part is behind it");
	if (i && passes(c - 1) && c->behind < c[-1].behind)
		return wrong(k->err, i, "not in the order of the parts");
	if (k->edge[c->behind])
		return wrong(k->err, i, "where a loop begins or ends");
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_part(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	if (x->behind != y->behind)
		return x->behind < y->behind ? -1 : 1;
	return by_start(a, b);
}

/* The furthest end of the areas so far */
struct reach {
	uint64_t end;
	unsigned int of;
};

static void reach_on(struct reach *r, const struct area *a)
{
	if (a->end > r->end)
		*r = (struct reach){ a->end, a->of };
}

/*
 * Looks for areas that overlap, in the order of their starts: 0, or the later collective of two,
 * from 1 on
 */
static unsigned int find_overlap(const struct area *area, unsigned int n)
{
	struct reach any = { 0 }, hard = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		const struct area *a = &area[i];
		const struct reach *r = a->hard ? &any : &hard;

		if (a->start < r->end)
			return 1 + (a->of > r->of ? a->of : r->of);
		reach_on(&any, a);
		if (a->hard)
			reach_on(&hard, a);
	}
	return 0;
}

/*
 * What is written behind a part is neither read nor written by another collective there. Numbers
 * are there from the begin on, so nothing else is where they are.
 */
static int apart_check(struct check *k)
{
	unsigned int found = 0;

	qsort(k->area, k->nareas, sizeof(*k->area), by_part);
	for (unsigned int i = 0, end; !found && i < k->nareas; i = end) {
		for (end = i + 1; end < k->nareas; end++)
			if (k->area[end].behind != k->area[i].behind)
				break;
		found = find_overlap(k->area + i, end - i);
	}
	for (unsigned int i = 0; i < k->nareas; i++)
		k->area[i].hard = k->area[i].behind == UINT32_MAX;
	qsort(k->area, k->nareas, sizeof(*k->area), by_start);
	if (!found)
		found = find_overlap(k->area, k->nareas);
	return found ? wrong(k->err, found - 1, "writes where another one reads or writes") : 0;
}

int neff_collectives_check(const struct neff_model *model, struct neff_error *err)
{
	struct check k = { .model = model, .err = err };
	int ret = 0;

	if (!model->ncollectives)
		return 0;
	k.virtuals = virtuals_of(model);
	k.edge = neff_loop_edges(model);
	k.area = calloc(2 * (size_t)model->ncollectives, sizeof(*k.area));
	if (!k.virtuals || !k.edge || !k.area)
		ret = neff_nomem(err);
	for (unsigned int i = 0; !ret && i < model->ncollectives; i++) {
		ret = areas_add(&k, i);
		if (!ret && passes(&model->collectives[i]))
			ret = ranks_check(model, i, err);
		if (!ret && passes(&model->collectives[i]))
			ret = behind_check(&k, i);
	}
	ret = ret ? ret : apart_check(&k);
	json_decref(k.virtuals);
	free(k.edge);
	free(k.area);
	return ret;
}

int neff_collectives_place(struct neff_model *model, struct neff_error *err)
{
	json_t *virtuals = model->ncollectives ? virtuals_of(model) : NULL;

	if (model->ncollectives && !virtuals)
		return neff_nomem(err);
	for (unsigned int i = 0; i < model->ncollectives; i++) {
		struct neff_collective *c = &model->collectives[i];
		const json_t *from = c->from ? json_object_get(virtuals, c->from) : NULL;
		const json_t *to = json_object_get(virtuals, c->to);

		c->to_off = var_at(model, json_integer_value(to))->backing_off;
		if (from)
			c->from_off = var_at(model, json_integer_value(from))->backing_off;
	}
	json_decref(virtuals);
	return 0;
}
