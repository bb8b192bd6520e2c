/* SPDX-License-Identifier: MIT */
/* A compilation's line for the user, and the user's wish that it end (progress.c) */
#ifndef NPJ_PROGRESS_H
#define NPJ_PROGRESS_H

#include "pjrt.h"

struct npj_progress {
	const char *name; /* of the program */
	const char *phase; /* a static string; NULL: none has begun */
	unsigned int done, total;
	int64_t began_ms, looked_ms, show_ms;
	bool shown; /* there is a line to clear */
	bool interrupted; /* by who said so, and is not asked again */
};

void npj_progress_begin(struct npj_progress *p, const char *name);
void npj_progress_tell(struct npj_progress *p, const char *phase, unsigned int done,
		       unsigned int total);
bool npj_progress_cancelled(struct npj_progress *p);
void npj_progress_end(struct npj_progress *p);
/*
 * Addresses of Python's PyGILState_Ensure, PyErr_CheckSignals, PyErr_Clear and PyGILState_Release
 * (an option of a client): Python handles signals in its first thread alone, when that asks for it
 */
#define NPJ_SIGNALS 4
PJRT_Error *npj_progress_signals(const int64_t *address, size_t n);

#endif
