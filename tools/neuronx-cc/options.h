/* SPDX-License-Identifier: MIT */
/* The command line of neuronx-cc (options.c) */
#ifndef NEURONX_CC_OPTIONS_H
#define NEURONX_CC_OPTIONS_H

#include "ncc.h"

#define MAX_INPUTS 256 /* inputs that options may name */
#define MAX_KERNELS 64 /* files of kernels */

enum { OPTIONS_INT64_DEFAULT, OPTIONS_INT64_ENABLED, OPTIONS_INT64_DISABLED };

struct args {
	const char *input_file, *output, *report, *custom_ops;
	const char *cast_type; /* as it was given; NULL: it was not */
	const char *kernels[MAX_KERNELS];
	unsigned int nkernels;
	const char *logfile; /* NULL: none */
	bool framework, verbose;
	bool cast; /* --auto-cast was given */
	unsigned int native_int64; /* OPTIONS_INT64_ */
	struct ncc_options opt;
	struct ncc_input input[MAX_INPUTS];
};

/*
 * Takes the options and the model's name, behind the command. 0; an exit status, of which the
 * reason was said; or -1: nothing is left to do, exit with 0
 */
int options_parse(struct args *a, int argc, char **argv);
/* Says what is wrong with the command line; 2, the exit status */
int options_refuse(const char *what, const char *value);

#endif
