/* SPDX-License-Identifier: MIT */
/* Private to libneff: arguments of custom operators (neff_custom.c). */
#ifndef NEFF_CUSTOM_H
#define NEFF_CUSTOM_H

#include "neff_priv.h"
#include "neuron/isa/isa.h"

#define NEFF_LIBRARY_MEMBER "custom_ops.elf"

json_t *neff_custom_to_json(const struct neff_subgraph *sg);
/* vars: the number of each variable by its name. 0 or -errno */
int neff_custom_read(const char *member, const json_t *root, const json_t *vars,
		     struct neff_subgraph *sg, struct neff_error *err);
/* CUSTOM_OP number index of the stream: NULL, or what is wrong with it */
const char *neff_custom_check(const struct neff_subgraph *sg, const struct neff_library *lib,
			      const struct neuron_insn *insn, unsigned int index);
void neff_custom_free(struct neff_subgraph *sg);

#endif
