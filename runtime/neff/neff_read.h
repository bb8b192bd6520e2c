/* SPDX-License-Identifier: MIT */
/* Private to libneff's reader: where an error is, and the parts that parse one member. */
#ifndef NEFF_READ_H
#define NEFF_READ_H

#include "neff_priv.h"

struct neff_where {
	const char *member;
	char what[96];
	struct neff_error *err;
	json_t *var_index; /* name to index */
};

int neff_def_read(const char *member, const json_t *root, struct neff_subgraph *sg,
		  struct neff_error *err);
int neff_engine_read(const char *member, const json_t *root, struct neff_subgraph *sg,
		     unsigned int eng, struct neff_error *err);
/* neff.json: types and shapes of inputs and outputs */
int neff_graph_read(const json_t *root, struct neff_model *model, struct neff_error *err);

#endif
