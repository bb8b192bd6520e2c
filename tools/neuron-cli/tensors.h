/* SPDX-License-Identifier: MIT */
/*
 * A model's tensors bound to .npy files: which bytes of which file one execution takes, and where
 * its outputs go. Private to neuron-cli; called by infer.c.
 */
#ifndef CLI_TENSORS_H
#define CLI_TENSORS_H

#include "cli.h"
#include "rows.h"

struct tensor {
	const Nrtx__TensorInfo *info; /* the daemon's description */
	bool output;
	const char *called; /* what a request calls it, so that the daemon takes it for this one */
	const char *answered; /* an output: what the answer to that calls it */
	struct npy file; /* all its rows */
};

struct tensors {
	Nrtx__DescribeModelResponse *model;
	unsigned int n;
	struct tensor *list;
	struct rows rows;
};

/*
 * Reads the inputs and makes room for the outputs. Returns false, with a line on stderr, if they do
 * not fit.
 */
bool tensors_bind(struct cli *cli, uint32_t model, struct tensors *t);
void tensors_free(struct tensors *t);
uint64_t tensors_count(const struct tensors *t); /* the executions that all rows take */
/* The start of the bytes of execution i of a tensor in the file, and their number */
uint8_t *tensor_at(const struct tensor *tensor, uint64_t i, uint64_t *bytes);
/* whole: outputs whose sizes the data decide are not cut. */
bool tensors_write(const struct tensors *t, const char *dir, bool whole);

#endif
