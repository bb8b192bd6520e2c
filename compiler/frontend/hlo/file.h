/* SPDX-License-Identifier: MIT */
/*
 * A module of HLO in memory, whichever format it was read from, and what is known of it without
 * importing it. hlo_read is for protobufs; stablehlo/ makes the same of its artifacts.
 */
#ifndef NCC_HLO_FILE_H
#define NCC_HLO_FILE_H

#include "frontend/hlo/hlo.pb-c.h"
#include "ir/ir.h"
#include "ncc_program.h"

struct hlo_file {
	Ncc__Hlo__Module *proto;
	/* The module's part of the file; NULL: it came from another format */
	const void *bytes;
	size_t size; /* of the file: so many bytes its constants may have at least */
	unsigned int replicas, partitions;
	/* How arguments and results, in their order, lie on partitions, NULL: whole; none: all are */
	const struct ncc_tiling *const *in, *const *out;
	size_t nin, nout;
	/* What proto does not say whole of the program, for a message; NULL: it says all */
	const char *partly;
	void (*release)(struct hlo_file *f); /* frees proto */
	void *opaque; /* release's */
};

/*
 * Unpacks an HloModuleProto, or the one in an HloProto or HloModuleProtoWithConfig. The caller
 * keeps buf for as long as the file and frees that with hlo_file_free. 0, -EINVAL, -EFBIG, -ENOMEM
 */
int hlo_read(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err);
void hlo_file_free(struct hlo_file *f); /* one that could not be read: nothing */

/* Imports it: see ncc_import_hlo_opt */
int hlo_import_file(const struct hlo_file *f, const struct ncc_options *opt, struct ncc_module **m,
		    struct ncc_error *err);

/* program.c: see ncc_program_read */
int hlo_program(const struct hlo_file *f, struct ncc_program **p, struct ncc_error *err);
void hlo_program_free(struct ncc_program *p);

#endif
