/* SPDX-License-Identifier: MIT */
/*
 * Private to the HLO front end: a module being read, an instruction being imported, and what the
 * importers of all operations need of it (context.c).
 */
#ifndef NCC_HLO_H
#define NCC_HLO_H

#include "expand/expand.h"
#include "build/obstacles.h"
#include "frontend/hlo/hlo.pb-c.h"

#define HLO_MAX_CALLS 64 /* depth of computations in computations */
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
	HLO_S4,
	HLO_U4,
	HLO_F8E4M3B11FNUZ,
	HLO_F8E5M2FNUZ,
	HLO_F8E4M3FNUZ,
	HLO_S2,
	HLO_U2,
	HLO_F8E4M3,
	HLO_F8E3M4,
	HLO_S1,
	HLO_U1,
	HLO_F4E2M1FN,
	HLO_F8E8M0FNU,
	HLO_BUFFER,
	HLO_F6E3M2FN,
	HLO_F6E2M3FN,
	HLO_TYPES,
};

/*
 * An instruction's value: one operation, a complex array's real and imaginary part, or a tuple's
 * leaves in order
 */
struct hlo_value {
	unsigned int n;
	bool complex;
	bool halves; /* all bits of 64-bit integers: 32-bit ones, a last dimension of 2 (halves.c) */
	bool unknown; /* what gives it cannot be imported, and nothing stands in for it */
	struct ncc_op **op;
	struct hlo_sizes *size; /* of each leaf's dynamic dimensions (sizes.h); NULL: it has none */
};

struct hlo_import {
	struct ncc_module *m;
	const Ncc__Hlo__Module *proto;
	struct ncc_error *err;
	struct ncc_obstacles *obstacles; /* refuse.c */
	/* Imports a computation's instructions: how an importer reaches the others (import.c) */
	int (*run)(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
		   const struct hlo_value *args, unsigned int nargs, struct hlo_value *result);
	const struct ncc_shape *lift; /* hlo_lift: the shape that scalars get; or NULL */
	struct ncc_op *guard; /* the result counts only if this holds; NULL: always */
	bool calls_host; /* there are calls of the host (host_calls.h) ... */
	struct ncc_op *effect; /* ... of which this is the last with an effect; NULL: none */
	struct ncc_op *partition; /* this device's number, once a call has asked for it */
	char *where; /* the place of the instruction that calls this computation, or NULL */
	unsigned int loops; /* loops that were not unrolled, and calls of the host */
	unsigned int replicas, partitions; /* that execute the program */
	unsigned int transfers; /* what passes among them */
	uint32_t randoms; /* instructions whose random numbers are our own */
	struct {
		unsigned int made, m_made;
	} unrolled; /* the limits of the current attempt; 0: there is none */
	const struct ncc_options *opt;
	bool branches; /* the chip can leave a branch out that is not taken */
	bool narrow; /* 64-bit types become 32-bit ones */
	bool narrowed; /* some type did */
	unsigned int depth;
	unsigned int made;
	uint64_t steps; /* of searches; NCC_MAX_STEPS */
	int64_t const_bytes;
};

struct hlo_rule; /* operations.h */

/* One instruction being imported */
struct hlo_inst {
	struct hlo_import *imp;
	const Ncc__Hlo__Instruction *p;
	const struct hlo_rule *rule;
	struct ncc_build b; /* for this instruction */
	struct ncc_shape shape; /* an array result's */
	unsigned int part; /* of a complex result: 0 for the real one, 1 for the imaginary one */
	unsigned int seen; /* obstacles before it */
	unsigned int nin;
	struct hlo_value *in;
	const Ncc__Hlo__Shape *first; /* shape of operand 0; NULL: there is none */
	/* The result's or an operand's of more than NCC_MAX_DIMS dimensions; NULL: there is none */
	const Ncc__Hlo__Shape *longest;
	/* The arguments of the computation that the instruction is in */
	const struct hlo_value *args;
	unsigned int nargs;
};

int hlo_fail(const struct hlo_inst *in, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Has the import searched for too long? -EFBIG then, and nothing goes on. */
int hlo_check_steps(struct hlo_inst *in);
int hlo_unsupported(struct hlo_inst *in); /* -ENOTSUP, with the name */
/* A complex array's is that of each of its parts, a token's that of an array without elements. */
int hlo_shape(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_shape *s);
extern const struct ncc_shape hlo_token_shape;
bool hlo_is_complex(int32_t type);
unsigned int hlo_leaves(const Ncc__Hlo__Shape *s); /* of a value of that shape */
bool hlo_is_wide(int32_t type); /* has it 64 bits, which --narrow-64bit makes 32? */
/* wide.c: do the module's 64-bit integers fit 32 bits, whatever the inputs? */
bool hlo_wide_fits(const Ncc__Hlo__Module *m);
/*
 * halves.c. Marks a value that is halves. hlo_drop_halves: operands that are become integers of 32
 * bits, which --narrow-64bit makes of them
 */
void hlo_mark_halves(struct hlo_inst *in, struct hlo_value *v);
int hlo_drop_halves(struct hlo_inst *in);
/* Operand i, of type u64, as halves, whatever it is */
int hlo_take_halves(struct hlo_inst *in, unsigned int i, struct ncc_op **out);
/* An array of this shape, whose 64-bit integers are halves if x is, as 32-bit integers */
struct ncc_op *hlo_low_half(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_op *x);
/*
 * small.c: the bits of an integer of less than 8, or 0. The IR has bytes for those, within their
 * range: of operands that show more, of what an operation gave, of a parameter, of an output
 */
unsigned int hlo_small_bits(int32_t type);
int hlo_small_operands(struct hlo_inst *in);
int hlo_small_result(struct hlo_inst *in, struct hlo_value *v);
int hlo_small_parameter(struct hlo_inst *in, struct hlo_value *v);
struct ncc_op *hlo_small_output(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_op *x);
int hlo_no_tuples(struct hlo_inst *in, unsigned int n); /* are the first n operands arrays? */
/* Are the first n operands arrays of one shape? */
int hlo_arrays(struct hlo_inst *in, unsigned int n);
/*
 * The leaves of n operands from the given one on, which are arrays, real or complex. Returns their
 * number, at most HLO_MANY, or -errno.
 */
int hlo_take_leaves(struct hlo_inst *in, unsigned int first, unsigned int n, struct ncc_op **x);
/* Takes a list of dimension numbers. */
int hlo_take_list(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int *count,
		  uint8_t *out);
/*
 * Takes the dimension numbers that gather and scatter share; batches: of the operand and of the
 * indices.
 */
int hlo_take_slices(struct hlo_inst *in, struct ncc_slices *s, size_t ndropped,
		    const int64_t *dropped, const int64_t *index_batch, size_t nindex_batch);
int hlo_take_results(struct hlo_inst *in, struct ncc_op *const *x, unsigned int n,
		     struct hlo_value *v);

/* NULL: the module has none with that id. */
const Ncc__Hlo__Computation *hlo_computation(const struct hlo_import *imp, int64_t id);
/* NULL: the message says why */
const Ncc__Hlo__Computation *hlo_called(struct hlo_inst *in, size_t i);
/* NULL: the computation has none with that id. */
const Ncc__Hlo__Instruction *hlo_by_id(const Ncc__Hlo__Computation *c, int64_t id);

/*
 * refuse.c: the instruction's import failed with rc, which is noted; v becomes a stand-in for its
 * value so that the import goes on. 0: it does
 */
int hlo_refuse(struct hlo_inst *in, int rc, struct hlo_value *v);
/* Imports an instruction with an unknown operand, as far as that shows more obstacles. */
int hlo_blind(struct hlo_inst *in, struct hlo_value *v);
bool hlo_is_unknown_argument(const struct hlo_inst *in); /* a parameter whose argument is */

/* Is it a comparison of floats in total order? */
bool hlo_is_total(const Ncc__Hlo__Instruction *p);

/* fields.c: -ENOTSUP: the module has a field or a value that is not known and can carry meaning */
int hlo_check_fields(const Ncc__Hlo__Module *m, const struct ncc_options *opt,
		     struct ncc_error *err);

/* Folds an operation whose operands are constants if it is small. */
void hlo_fold(struct hlo_inst *in, struct ncc_op *op);
/* Verifies and folds what an importer has made; NULL: out of memory. */
int hlo_done(struct hlo_inst *in, struct ncc_op *op);

#endif
