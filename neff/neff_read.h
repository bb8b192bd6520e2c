/* SPDX-License-Identifier: MIT */
/*
 * Private to libneff's reader: where an error is, the functions that parse one member, and what
 * reading may cost, by which the writer goes too
 */
#ifndef NEFF_READ_H
#define NEFF_READ_H

#include "neff_priv.h"

#include <errno.h>

struct neff_where {
	const char *member;
	char what[96];
	struct neff_error *err;
	const struct neuron_target *target;
	json_t *var_index, *queue_index; /* map a name to its index */
};

struct neff_member {
	char *name;
	uint8_t *data;
	size_t size;
	bool taken;
};

struct neff_reader {
	struct neff_limits limits;
	struct neff_error *err;
	struct neff_member *members;
	size_t count, capacity;
	json_t *graphs; /* the numbers of subgraphs by their names */
	uint64_t unpacked;
	uint64_t json, json_read; /* bytes of all *.json members, and of those that were parsed */
	uint64_t taken; /* bytes taken from the caller's account */
};

/* neff_members.c: unpacks [at, end) of a source; sorts by names, which differ; NULL: none */
int neff_payload_read(struct neff_reader *r, struct archive *a, struct neff_source *source,
		      size_t at, size_t end);
int neff_members_index(struct neff_reader *r);
struct neff_member *neff_member_find(struct neff_reader *r, const char *name);

/* The caller's limits, with defaults that suit a file of this size (neff_budget.c) */
void neff_limits_set(struct neff_limits *l, const struct neff_limits *given, uint64_t size);
/*
 * neff_take asks the caller's account before memory is taken and returns 0 or -ENOMEM; neff_give
 * gives back.
 */
int neff_take(struct neff_reader *r, uint64_t bytes);
void neff_give(struct neff_reader *r, uint64_t bytes);
/* Would any reader take a member's text? *cost: what its tree takes */
int neff_json_fits(const char *name, const void *text, size_t size, uint64_t *cost,
		   struct neff_error *err);
/*
 * As neff_take before a text is parsed, for its tree and for what is kept of it; *cost is the
 * tree's part, to be given back with the tree.
 */
int neff_json_take(struct neff_reader *r, const char *name, const uint8_t *text, size_t size,
		   uint64_t *cost);

/*
 * neff_text_take: as above for a text that needs no tree; 0, or it is too much. neff_text_give: it
 * was none after all
 */
#define NEFF_TEXT_FACTOR 8 /* bytes for each of such a text, while its lists grow (neff_quick.c) */
int neff_text_take(struct neff_reader *r, size_t size);
void neff_text_give(struct neff_reader *r, size_t size);

int neff_def_read(const char *member, const json_t *root, const struct neuron_target *target,
		  struct neff_subgraph *sg, struct neff_error *err);
int neff_engine_read(const char *member, const json_t *root, const struct neuron_target *target,
		     struct neff_subgraph *sg, unsigned int eng, struct neff_error *err);
/* Reads neff.json: types and shapes of inputs and outputs. */
int neff_graph_read(const json_t *root, struct neff_model *model, struct neff_error *err);

#endif
