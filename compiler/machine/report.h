/* SPDX-License-Identifier: MIT */
/* Private to the compiler: --report's JSON (report.c), which ncc.c writes when all else is done */
#ifndef NCC_REPORT_H
#define NCC_REPORT_H

#include "prog.h"

struct ncc_report {
	const struct ncc_module *m;
	unsigned int nread; /* operations before the passes */
	const struct ncc_prog *prog;
	const struct ncc_stream *stream; /* every engine's */
	uint64_t sbuf_peak; /* in bytes of a partition */
	const struct ncc_sparse *sparse; /* products that were decided on; NULL: none */
};
int ncc_program_time(const struct ncc_report *r, uint64_t *ps); /* 0, or -1: out of memory */
int ncc_report(const struct ncc_report *r, FILE *f); /* 0, or -1: out of memory */

#endif
