/* SPDX-License-Identifier: MIT */
/* neuron-run's tensors: .npy files bound to a loaded model. Owned by main.c. */
#ifndef NEURON_RUN_H
#define NEURON_RUN_H

#include <stdbool.h>

#include "npy.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "rows.h"

struct input {
	const char *name; /* points into argv */
	const char *file;
	struct npy npy;
};

/* One tensor of the model with its buffer; rows is the number of leading rows that the user gave */
struct binding {
	const nrt_tensor_info_t *info;
	nrt_tensor_t *tensor;
	struct npy all; /* of an input the user's file, of an output what will be written */
	bool owned; /* all.data is freed with the binding */
};

struct bindings {
	nrt_model_t *model;
	nrt_tensor_info_array_t *info;
	struct binding *item; /* info->tensor_count items */
	nrt_tensor_set_t *inputs, *outputs;
	struct rows rows;
	bool whole; /* outputs keep the shapes that the program gives them */
};

/*
 * Checks the inputs against the model and makes the tensors. by_rows: the leading dimension may
 * have any length; executions take a batch each, the last one padded with zeros. After false *why
 * says what was refused and what was expected.
 */
bool bindings_make(nrt_model_t *model, struct input *inputs, unsigned int ninputs, bool by_rows,
		   struct bindings *b, char *why, size_t size);
void bindings_free(struct bindings *b);

/* Copies the rows of execution i of bindings_count() in, or its outputs out. */
uint64_t bindings_count(const struct bindings *b);
NRT_STATUS bindings_load(struct bindings *b, uint64_t i);
NRT_STATUS bindings_store(struct bindings *b, uint64_t i);

/*
 * Writes every output as dir/NAME.npy (characters that do not belong in a file name become '_');
 * makes dir.
 */
int bindings_write(const struct bindings *b, const char *dir, char *why, size_t size);

#endif
