/* SPDX-License-Identifier: MIT */
/* Private to libneff: calls of the host between the parts of a program (neff_calls.c) */
#ifndef NEFF_CALLS_H
#define NEFF_CALLS_H

#include "neff_priv.h"

json_t *neff_calls_to_json(const struct neff_model *model);
/* calls: the list of kelf-0.json, or NULL; graphs: numbers by names. 0 or -errno */
int neff_calls_read(const json_t *calls, const json_t *graphs, struct neff_model *model,
		    struct neff_error *err);
int neff_calls_check(const struct neff_model *model, struct neff_error *err);
void neff_calls_free(struct neff_model *model);

#endif
