/* SPDX-License-Identifier: MIT */
/*
 * Private to the HLO front end: import.c walks its computations,
 * ops.c knows each operation, literal.c the constants.
 */
#ifndef NCC_HLO_H
#define NCC_HLO_H

#include "expand/expand.h"
#include "hlo/hlo.pb-c.h"

#define HLO_MAX_CALLS 64 /* of computations in computations */

/* What an instruction gives: one operation, or a tuple's leaves in order */
struct hlo_value {
	unsigned int n;
	struct ncc_op **op;
};

struct hlo_import {
	struct ncc_module *m;
	const Ncc__Hlo__Module *proto;
	struct ncc_error *err;
	const struct ncc_shape *lift; /* what scalars have the dimensions of (hlo_lift); or NULL */
	struct ncc_op *guard; /* else what is imported is computed for nothing; NULL: never */
	unsigned int loops; /* that were not unrolled */
	struct {
		unsigned int made, m_made;
	} unrolled; /* where the attempt at work is given up; 0: there is none */
	bool narrow; /* 64-bit types become 32-bit ones */
	bool narrowed; /* one did */
	unsigned int depth;
	unsigned int made;
	int64_t const_bytes;
};

/* One instruction being imported */
struct hlo_inst {
	struct hlo_import *imp;
	const Ncc__Hlo__Instruction *p;
	struct ncc_build b; /* of this instruction */
	struct ncc_shape shape; /* of an array result */
	unsigned int nin;
	struct hlo_value *in;
};

int hlo_fail(const struct hlo_inst *in, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int hlo_shape(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_shape *s);
int hlo_literal(struct hlo_inst *in, struct ncc_op *op);
int hlo_iota(struct hlo_inst *in, struct ncc_op *op);
const Ncc__Hlo__Computation *hlo_computation(const struct hlo_import *imp, int64_t id);
int hlo_run_computation(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			const struct hlo_value *args, unsigned int nargs, struct hlo_value *result);
/* everything but parameter, tuple, get-tuple-element and call */
int hlo_import_op(struct hlo_inst *in, struct ncc_op **op);

#endif
