/* SPDX-License-Identifier: MIT */
/* Private to the compiler: --report's JSON (report.c), written by ncc.c when all else is done. */
#ifndef NCC_REPORT_H
#define NCC_REPORT_H

#include "prog.h"

struct ncc_report {
	const struct ncc_module *m;
	unsigned int nread; /* operations before the passes */
	const struct ncc_prog *prog;
	const struct ncc_stream *stream; /* of every engine */
	uint64_t sbuf_peak; /* bytes of a partition */
};
int ncc_report(const struct ncc_report *r, FILE *f); /* 0, or -1: out of memory */

#endif
