/* SPDX-License-Identifier: MIT */
/*
 * A model's tensors bound to .npy files: which bytes of which file one execution takes, and where
 * its outputs go. Private to neuron-cli; infer.c is the caller.
 */
#ifndef CLI_TENSORS_H
#define CLI_TENSORS_H

#include "cli.h"
#include "rows.h"

struct tensor {
	const Nrtx__TensorInfo *info; /* the daemon's description */
	bool output;
	struct npy file; /* all rows */
};

struct tensors {
	Nrtx__DescribeModelResponse *model;
	unsigned int n;
	struct tensor *list;
	struct rows rows;
};

/* Read the inputs and make room for the outputs. false, told on stderr, if they do not fit */
bool tensors_bind(struct cli *cli, uint32_t model, struct tensors *t);
void tensors_free(struct tensors *t);
uint64_t tensors_count(const struct tensors *t); /* executions for all rows */
/* Execution i of a tensor: where its bytes start in the file and how many of them there are */
uint8_t *tensor_at(const struct tensor *tensor, uint64_t i, uint64_t *bytes);
bool tensors_write(const struct tensors *t, const char *dir);

#endif
