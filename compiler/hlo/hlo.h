/* SPDX-License-Identifier: MIT */
/*
 * Private to the HLO front end: a module being read, an instruction being imported, and what the
 * importers of all operations need of it (context.c).
 */
#ifndef NCC_HLO_H
#define NCC_HLO_H

#include "expand/expand.h"
#include "hlo/hlo.pb-c.h"

#define HLO_MAX_CALLS 64 /* of computations in computations */
#define HLO_MANY NCC_MANY

/* XLA's PrimitiveType (xla_data.proto) */
enum hlo_type {
	HLO_PRED = 1,
	HLO_S8,
	HLO_S16,
	HLO_S32,
	HLO_S64,
	HLO_U8,
	HLO_U16,
	HLO_U32,
	HLO_U64,
	HLO_F16,
	HLO_F32,
	HLO_F64,
	HLO_TUPLE,
	HLO_OPAQUE,
	HLO_C64,
	HLO_BF16,
	HLO_TOKEN,
	HLO_C128,
	HLO_F8E5M2,
	HLO_F8E4M3FN,
	HLO_TYPES,
};

/* What an instruction gives: one operation, or a tuple's leaves in order */
struct hlo_value {
	unsigned int n;
	struct ncc_op **op;
};

struct hlo_import {
	struct ncc_module *m;
	const Ncc__Hlo__Module *proto;
	struct ncc_error *err;
	/* imports what a computation consists of: how an importer reaches the others (import.c) */
	int (*run)(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
		   const struct hlo_value *args, unsigned int nargs, struct hlo_value *result);
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

struct hlo_rule; /* operations.h */

/* One instruction being imported */
struct hlo_inst {
	struct hlo_import *imp;
	const Ncc__Hlo__Instruction *p;
	const struct hlo_rule *rule;
	struct ncc_build b; /* of this instruction */
	struct ncc_shape shape; /* of an array result */
	unsigned int nin;
	struct hlo_value *in;
	const Ncc__Hlo__Shape *first; /* shape of operand 0; NULL: there is none */
	/* of the computation that it is in */
	const struct hlo_value *args;
	unsigned int nargs;
};

int hlo_fail(const struct hlo_inst *in, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int hlo_unsupported(struct hlo_inst *in); /* -ENOTSUP, with the name */
int hlo_shape(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_shape *s);
bool hlo_is_wide(int32_t type); /* of 64 bits, which --narrow-64bit makes 32 */
int hlo_no_tuples(struct hlo_inst *in, unsigned int n); /* the first n operands: arrays? */
int hlo_arrays(struct hlo_inst *in, unsigned int n); /* the first n operands: of one shape? */
/* a list of dimension numbers */
int hlo_take_list(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int *count,
		  uint8_t *out);
/* the dimension numbers that gather and scatter share; batches: of the operand and the indices */
int hlo_take_slices(struct hlo_inst *in, struct ncc_slices *s, size_t ndropped,
		    const int64_t *dropped, const int64_t *index_batch, size_t nindex_batch);
int hlo_take_results(struct hlo_inst *in, struct ncc_op *const *x, unsigned int n,
		     struct hlo_value *v);

/* NULL: the module has none of that id */
const Ncc__Hlo__Computation *hlo_computation(const struct hlo_import *imp, int64_t id);
const Ncc__Hlo__Computation *hlo_called(struct hlo_inst *in, size_t i); /* NULL: it was said why */
/* NULL: the computation has none of that id */
const Ncc__Hlo__Instruction *hlo_by_id(const Ncc__Hlo__Computation *c, int64_t id);

/* a small result of constants becomes one */
void hlo_fold(struct hlo_inst *in, struct ncc_op *op);
/* what an importer made, NULL: there was no memory. Verified, and folded */
int hlo_done(struct hlo_inst *in, struct ncc_op *op);

#endif
