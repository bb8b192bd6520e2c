/* SPDX-License-Identifier: MIT */
/*
 * One test in ONNX's layout: model.onnx, and test_data_set_0 with input_N.pb and output_N.pb. It is
 * compiled with fp32 products (--auto-cast none), run through libnrt and compared.
 */
#ifndef TEST_NCC_ONNX_CASE_H
#define TEST_NCC_ONNX_CASE_H

#include "frontend/onnx/graph/onnx.h"

#define ONNX_CASE_MAX 64 /* inputs, outputs */

/* A tensor of a file: its elements as doubles */
struct onnx_data {
	int32_t type;
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS], n;
	double *v;
};

/* The size of an output's dimension that depends on the data */
struct onnx_size {
	long long bound;
	unsigned int output; /* where its size is; 0: it depends on none */
};

struct onnx_case {
	bool drawn; /* results are random: their shapes are compared only */
	bool refused; /* by the compiler, with the message in why */
	char why[512]; /* the message, or why it fails; empty: it passed */
	Ncc__Onnx__Model *model;
	void *file;
	size_t size;
	struct onnx_data in[ONNX_CASE_MAX], out[ONNX_CASE_MAX];
	struct ncc_input frozen[ONNX_CASE_MAX];
	struct ncc_options opt;
	struct onnx_size size_of[ONNX_CASE_MAX][NCC_MAX_DIMS];
	double tolerance; /* of one element, absolute */
};

extern const struct neuron_target *onnx_case_target; /* what all are compiled for; NULL: inf1 */

/*
 * Runs one case. options, separated by commas: "-", "narrow-64bit", NAME of an input that becomes a
 * constant, NAME:shape of one whose shape the data tell, NAME:open of one whose open dimensions get
 * a bound that is larger than the data, "drawn". Returns true if it passed.
 */
bool onnx_case_run(struct onnx_case *c, const char *dir, const char *options);
/* Compiles one case only. *neff, of *size bytes, is the caller's to free. Returns false if it is
 * refused. */
bool onnx_case_compile(struct onnx_case *c, const char *dir, const char *options, void **neff,
		       size_t *size);
/*
 * The NAME of the input that a message wants to be a constant. If wanted is none, it is that of the
 * first integer input that the options do not have; NULL: none.
 */
const char *onnx_case_constant(const struct onnx_case *c, const char *options, const char *wanted);
void onnx_case_free(struct onnx_case *c);

#endif
