/* SPDX-License-Identifier: MIT */
/* Private to the compiler: models in any of their formats, read */
#ifndef NCC_READ_H
#define NCC_READ_H

#include "frontend/hlo/file.h"

/* Reads StableHLO, an artifact or text, if it begins like one, else a protobuf: see hlo_read */
int ncc_read_xla(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err);
/* The same, imported: see ncc_import_hlo_opt */
int ncc_import_xla(const void *buf, size_t size, const struct ncc_options *opt,
		   struct ncc_module **m, struct ncc_error *err);
/* A model of any framework, imported */
int ncc_import(const void *model, size_t size, const struct ncc_options *opt, struct ncc_module **m,
	       struct ncc_error *err);

#endif
