/* SPDX-License-Identifier: MIT */
/* Custom operators of a subgraph (custom.c) */
#ifndef RT_CUSTOM_H
#define RT_CUSTOM_H

#include "neuron/isa/isa.h"
#include "rt_model.h"

/* Copies library and arguments to the device; the variables have their places. */
NRT_STATUS rt_custom_build(struct rt_subgraph *sg);
/* Puts the addresses into a CUSTOM_OP of the NEFF's. */
void rt_custom_patch(const struct rt_subgraph *sg, struct neuron_insn *insn);
void rt_custom_free(struct rt_subgraph *sg);
/* Logs what the operators printed since the last time; the core's exec is held. */
void rt_custom_print(struct rt_subgraph *sg);
/* Fields of an error entry of code CUSTOM_OP: cause, function and line */
void rt_custom_describe(struct rt_subgraph *sg, const struct rt_notification *e, char *text,
			size_t size);

#endif
