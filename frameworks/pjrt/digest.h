/* SPDX-License-Identifier: MIT */
/* The digest by which a program is known (digest.c) */
#ifndef NPJ_DIGEST_H
#define NPJ_DIGEST_H

#include "executable.h"

#define NPJ_DIGEST 32

/* SHA-256 over pieces, each with its size before it; false: it cannot be computed */
bool npj_digest(const struct npj_blob *piece, unsigned int n, unsigned char digest[NPJ_DIGEST]);
void npj_hex(const unsigned char *bytes, size_t n, char *text);
/* Sets x's, of all that what is compiled depends on */
PJRT_Error *npj_fingerprint(PJRT_Executable *x);
/* The compiler's reason for a failure */
PJRT_Error *npj_compiler_error(int err, const struct ncc_error *text);

#endif
