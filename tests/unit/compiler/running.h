/* SPDX-License-Identifier: MIT */
/* A module compiled and loaded on the chip in process, with its tensors (libnrt is initialized) */
#ifndef TEST_NCC_RUNNING_H
#define TEST_NCC_RUNNING_H

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "frontend/hlo/import.h"

#define MAX_TENSORS 64

struct running {
	nrt_model_t *model;
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t *tin[MAX_TENSORS], *tout[MAX_TENSORS];
	unsigned int nin, nout;
};

/* Loads a NEFF. Sizes are of the tensors input0.. and output0.. */
void running_begin(struct running *r, const void *neff, size_t neff_size, const size_t *in,
		   unsigned int nin, const size_t *out, unsigned int nout);
/* Compiles a module, whose path is under tests/data, and loads it as running_begin does */
void running_load(struct running *r, const char *path, enum ncc_cast cast, const size_t *in,
		  unsigned int nin, const size_t *out, unsigned int nout);
void running_unload(struct running *r);

#endif
