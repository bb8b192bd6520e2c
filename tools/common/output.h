/* SPDX-License-Identifier: MIT */
/* Standard output at the end of a program */
#ifndef OUTPUT_H
#define OUTPUT_H

/*
 * The status that main returns: `status`, or 1 where that is 0 and what was printed did not all
 * reach standard output, which is said then.
 */
int output_end(const char *program, int status);

#endif
