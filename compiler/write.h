/* SPDX-License-Identifier: MIT */
/* Private to the compiler: the NEFF of its programs (write.c). Called by ncc.c. */
#ifndef NCC_WRITE_H
#define NCC_WRITE_H

#include "ncc.h"

#include "machine/prog.h"

/* Sets file and size, also on failure: they are the caller's. 0 or -errno */
int ncc_write_neff(struct ncc_output *o, const struct ncc_options *opt, struct ncc_error *err);

#endif
