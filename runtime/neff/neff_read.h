/* SPDX-License-Identifier: MIT */
/* Private to libneff's reader: where an error is, and the parts that parse one member. */
#ifndef NEFF_READ_H
#define NEFF_READ_H

#include "neff_priv.h"

#include <errno.h>

struct neff_where {
	const char *member;
	char what[96];
	struct neff_error *err;
	const struct neuron_target *target;
	json_t *var_index; /* name to index */
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
	size_t count, room;
	uint64_t unpacked;
	uint64_t json, json_read; /* bytes of members *.json; bytes that were parsed */
	uint64_t taken; /* from the caller's account */
};

/* Limits given, and by default what suits a file of this size (neff_budget.c) */
void neff_limits_set(struct neff_limits *l, const struct neff_limits *given, uint64_t size);
/* Ask the caller's account before memory is taken: 0 or -ENOMEM; and give back */
int neff_take(struct neff_reader *r, uint64_t bytes);
void neff_give(struct neff_reader *r, uint64_t bytes);
/* The same before a text is parsed, for its tree (*cost: to give back with it) and what is kept */
int neff_json_take(struct neff_reader *r, const char *name, const uint8_t *text, size_t size,
		   uint64_t *cost);

int neff_def_read(const char *member, const json_t *root, const struct neuron_target *target,
		  struct neff_subgraph *sg, struct neff_error *err);
int neff_engine_read(const char *member, const json_t *root, const struct neuron_target *target,
		     struct neff_subgraph *sg, unsigned int eng, struct neff_error *err);
/* neff.json: types and shapes of inputs and outputs */
int neff_graph_read(const json_t *root, struct neff_model *model, struct neff_error *err);

#endif
