/* SPDX-License-Identifier: MIT */
/*
 * The tensor IR: straight-line code of operations on dense tensors of static shape, each of which
 * gives one value. The front ends (hlo/, onnx/) build it, passes (passes/) rewrite it, codegen/
 * turns it into a machine program. The module owns everything reachable from it; operations live
 * until ncc_module_free.
 */
#ifndef NCC_IR_H
#define NCC_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ncc.h"
#include "neuron/isa/isa.h"

#define NCC_MAX_ELEMS (1ll << 31) /* elements of one tensor */
#define NCC_MAX_OPS 200000
#define NCC_MAX_MADE (1 << 20) /* operations made for a module, swept ones too */
#define NCC_MAX_OPERANDS 4096
#define NCC_MAX_STEPS (1ull << 30) /* of an importer's searches, in the whole file */
#define NCC_MAX_TABLE 65536 /* rows to gather from, as in the NEFF's gather */
#define NCC_MAX_LINE 8192 /* elements of a row to take from: it lies in a partition as a whole */

#define NCC_MAX_ORDER 12288 /* elements of a row to be ordered: their places are there besides */
#define NCC_MAX_DRAWN 8192 /* words of the generator in a partition */
#define NCC_MAX_CUSTOM_OPERANDS 31u /* the instruction's arguments but for the result */

enum ncc_kind {
	NCC_PARAM, /* index: its number */
	NCC_CONST, /* data, row-major */
	/* one operand, element by element */
	NCC_NEG,
	NCC_ABS,
	NCC_SIGN,
	NCC_EXP,
	NCC_LOG,
	NCC_TANH,
	NCC_LOGISTIC,
	NCC_SQRT,
	NCC_RSQRT,
	NCC_ERF,
	NCC_SIN, /* in [-pi, pi] */
	NCC_ATAN,
	NCC_SOFTPLUS,
	NCC_GELU, /* with erf */
	NCC_GELU_TANH,
	NCC_MISH,
	NCC_NOT,
	NCC_CONVERT, /* from a float to an integer: to nearest even, saturated; integers wrap around
		      */
	/* two operands of one shape */
	NCC_ADD,
	NCC_SUB,
	NCC_MUL,
	NCC_DIV,
	NCC_MAX,
	NCC_MIN,
	NCC_POW,
	NCC_AND,
	NCC_OR,
	NCC_XOR,
	NCC_SHL, /* 0 for a shift by the type's bits or more */
	NCC_SHR, /* logical */
	NCC_EQ,
	NCC_NE,
	NCC_GE,
	NCC_GT,
	NCC_LE,
	NCC_LT,
	NCC_SELECT, /* predicate, on true, on false */
	/* data movement */
	NCC_BROADCAST, /* map[i]: result dimension of operand dimension i */
	NCC_BITCAST, /* the same bits as a type of the same size */
	NCC_RESHAPE,
	NCC_TRANSPOSE, /* map[i]: operand dimension of result dimension i */
	NCC_SLICE, /* start, stride */
	NCC_REVERSE, /* mask: dimensions */
	NCC_CONCAT, /* axis */
	NCC_PAD, /* operand 1: scalar; low, high (may be negative), interior */
	/* [rows, n], s32[m] -> [m, n]: the rows of these numbers, all of them in range */
	NCC_GATHER,
	/*
	 * [rows, n], s32[m], [m, n] -> [rows, n]: rows of operand 0 replaced, in this order; the
	 * number of rows stands for none of them
	 */
	NCC_SCATTER,
	/*
	 * [rows, n], s32[rows, m] -> [rows, m]: elements of each row by their places in it; 0 for a
	 * place outside
	 */
	NCC_TAKE,
	/*
	 * [rows, n], s32[rows, m], [rows, m] -> [rows, n]: elements of each row, combined with
	 * those of operand 2, in this order, by func: ADD, MAX, MIN of f32, s32, u32, or SELECT,
	 * which replaces them. What has a place outside is left out.
	 */
	NCC_COMBINE,
	/*
	 * s32[rows, n] -> s32[rows, k]: the places of the first k elements of each row in the order
	 * that func says, LT or GT; equal ones are in the order of their places
	 */
	NCC_ORDER,
	/*
	 * u32[1, 1], a seed -> u32[lanes, n], or both s32, of the same bits: words of the chip's
	 * generator (isa.md, 13), of each lane the first n for that seed
	 */
	NCC_RANDOM,
	/* contractions and reductions */
	/*
	 * dot; of sparse weights (neighbours) there are three operands (passes/sparse.c): [K, n] is
	 * what is left of the weights, s16[K, n / 4] their tags, as MATMUL_SPARSE has them
	 * (docs/isa.md), and operand 0 has K for each slot, one behind the other
	 */
	NCC_DOT,
	NCC_CONV, /* conv, window of its spatial dimensions */
	NCC_REDUCE, /* mask: dimensions; func; operand 1: scalar */
	NCC_REDUCE_WINDOW, /* window for every dimension; func; operand 1: scalar */
	/*
	 * A function of the user's library of custom operators (index: its number there);
	 * operands and the result of any shape. Constants of no dimension are passed as numbers.
	 */
	NCC_CUSTOM,
	NCC_KERNEL, /* the same of a kernel (kernel/kernel.h); index: its number */
	/*
	 * Of a module for one core of a logical one (passes/cores.c). index: the exchange. The
	 * operand goes to the other core, and the value is what comes from there.
	 */
	NCC_EXCHANGE,
	/*
	 * Between the devices that execute the program together, of a module before it is cut into
	 * parts (passes/loops.c). index: the module's transfer; the operand is what this device
	 * gives, the value what it gets
	 */
	NCC_TRANSFER,
	NCC_RANK, /* u32: index 0: the device's number in its replica, 1: the replica's */
	/*
	 * Loops (passes/loops.c). What depends on a loop's state is computed in every iteration;
	 * operands alone say what that is.
	 */
	NCC_LOOP, /* predicate: is there a first iteration? Only the loop itself uses the value */
	NCC_STATE, /* the loop, the value before the first iteration: the value in this one */
	/* the loop, predicate: is there another iteration? Then states, each with its next value */
	NCC_LOOP_END,
	NCC_LOOP_RESULT, /* the end, a state: its value after the last iteration */
	/*
	 * A call of a function of the host's (ncc_host_call): what it comes after, if it has an
	 * effect, a predicate, if it depends on one, and its operands' arrays. The value is a token
	 * for what comes after it, and nobody's number.
	 */
	NCC_HOST_CALL,
	NCC_HOST_RESULT, /* the call; index: which of its results' arrays */
	NCC_KINDS,
};

/*
 * Types of values which no chip has (their e4m3 ends at 240, f8e4m3fn at 448, without infinities).
 * passes/float8.c makes others of them
 */
enum ncc_dtype {
	NCC_DT_F4E2M1FN = 0x3a,
	NCC_DT_F8E8M0FNU,
	NCC_DT_F8E4M3B11FNUZ,
	NCC_DT_F8E5M2FNUZ,
	NCC_DT_F8E4M3FNUZ,
	NCC_DT_F8E4M3FN,
};

/*
 * What passes among devices, elements in their order: the operand of all members of a group one
 * behind the other; or block i of each, of as many as there are members, to member i; or, of pairs,
 * the operand from the first device to the second one, and zeros to one that is no second.
 */
enum ncc_transfer_kind { NCC_ALL_GATHER, NCC_ALL_TO_ALL, NCC_PERMUTE };
struct ncc_transfer {
	enum ncc_transfer_kind kind;
	unsigned int members; /* of a group; 2 of pairs */
	unsigned int n; /* devices in all groups or pairs */
	uint32_t *rank; /* n of them: groups, or pairs, one behind the other */
};
#define NCC_MAX_RANKS 256u

/* Between what a parameter or an output passes; each has numbers of its own. */
enum ncc_passage {
	NCC_OF_MODEL, /* from or to the model's user */
	NCC_BETWEEN_STAGES, /* of a pipeline (passes/pipeline.c) */
	NCC_BETWEEN_PARTS, /* of a program with loops (passes/loops.c) */
};

struct ncc_window {
	int64_t size, stride, low, high, window_dilation, base_dilation;
	bool reversal;
};

struct ncc_dot {
	unsigned int nbatch, ncontract;
	uint8_t lhs_batch[NCC_MAX_DIMS], rhs_batch[NCC_MAX_DIMS];
	uint8_t lhs_contract[NCC_MAX_DIMS], rhs_contract[NCC_MAX_DIMS];
	uint8_t neighbours; /* of sparse weights: partitions that they choose from; 0: dense */
};

struct ncc_conv {
	unsigned int nspatial;
	uint8_t in_batch, in_feature, in_spatial[NCC_MAX_DIMS];
	uint8_t k_in, k_out, k_spatial[NCC_MAX_DIMS];
	uint8_t out_batch, out_feature, out_spatial[NCC_MAX_DIMS];
	int64_t groups;
};

struct ncc_shape {
	uint8_t dtype; /* enum neuron_dtype; a predicate is int8 holding 0 or 1 */
	bool pred;
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS];
};

/* An operand or result of the host's: no array of the IR if it has no elements, two if complex */
struct ncc_host_array {
	struct ncc_shape shape;
	bool complex;
};

struct ncc_host_call {
	const char *target; /* whose function */
	uint64_t index; /* which of its functions */
	bool effect; /* it is made even if nobody needs its results, and in order */
	bool guarded; /* it is made if a predicate holds */
	unsigned int nin, nout;
	struct ncc_host_array *array; /* the operands, then the results */
};

struct ncc_op {
	enum ncc_kind kind;
	char *name; /* the front end's name */
	char *where; /* "file:line" of the user's program, or NULL */
	struct ncc_shape shape;
	unsigned int nin;
	struct ncc_op **in;
	/* Attributes: the kind says which (enum ncc_kind), and ncc_op_new makes room for them. */
	union {
		int64_t index;
		unsigned int axis;
		uint8_t map[NCC_MAX_DIMS];
		struct {
			uint32_t mask;
			enum ncc_kind func; /* ADD, MUL, MAX, MIN, AND, OR, SELECT, LT, GT */
		};
	};
	void *data; /* a constant's; NCC_HOST_CALL: struct ncc_host_call */
	/*
	 * the least and the greatest value: of a parameter that counts a loop's iterations, and of
	 * whole numbers in fp32
	 */
	const int64_t *bounds;
	union {
		struct {
			int64_t *start, *stride;
		};
		struct {
			int64_t *low, *high, *interior;
		};
		struct {
			struct ncc_window *window;
			union {
				struct ncc_dot *dot;
				struct ncc_conv *conv;
			};
		};
	};
	bool exact; /* --auto-cast all leaves its types as they are */
	bool upright; /* its first dimension is along the partitions, whatever its operand has */
	bool narrowed; /* from fp32, by --auto-cast */
	uint8_t io_dtype; /* a parameter's for the model's user; 0: shape's (passes/integers.c) */
	uint8_t passage; /* enum ncc_passage: a parameter's */
	int pdim; /* dimension along the partitions (passes/layout.c); -1: none */
	/* Bookkeeping: */
	/* position in the order of operations (ncc_number); before: how many were made before it */
	unsigned int id;
	unsigned int users; /* operands and outputs that are this (ncc_count_users) */
	unsigned int mark; /* ncc_sweep */
	struct ncc_op *replaced; /* the operation that a pass put in its place */
	union { /* of the current pass only */
		struct ncc_op *cast; /* passes/autocast.c: the last convert of it */
		struct plan_op *plan; /* how it is done (plan/plan.h) */
	};
	struct gen_note *gen; /* the code generator's */
	struct ncc_op *next;
};

struct ncc_module {
	char *name;
	struct ncc_op *first, **tail;
	unsigned int nops;
	unsigned int made; /* by ncc_op_new, at most NCC_MAX_MADE */
	unsigned int nparams;
	struct ncc_op **params;
	unsigned int nouts;
	struct ncc_op **outs;
	struct ncc_op *effect; /* the last call of the host that has one, as a token; or NULL */
	uint8_t *out_dtype; /* for the model's user; NULL: the shapes' (pass_integers) */
	/*
	 * What the outputs of a model are that it has no name for, by their numbers, also in its
	 * stages and parts; NULL: nothing is said
	 */
	char **out_source;
	struct ncc_piece *piece; /* of another module (passes/piece.h); NULL: it is whole */
	/* the devices that execute it together, and how many of them a replica has; 0: it is not
	 * for several */
	unsigned int ranks, partitions;
	unsigned int ntransfers, transfers_cap;
	struct ncc_transfer *transfer;
	/* that indices choose, at once in a loop's iteration: front ends make loops of more; 0: any
	 */
	int64_t most_rows;
	bool hardware_rng; /* what front ends draw comes from the chip's generator */
	struct ncc_mem *mem; /* ncc_alloc's blocks */
	struct ncc_mem *data; /* ncc_alloc_data's */
	size_t garbage; /* bytes of data allocated since the last sweep */
};

/* Records why a compilation fails, and returns code. */
int ncc_fail(struct ncc_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int ncc_no_memory(struct ncc_error *err); /* -ENOMEM */
/* 0, or -ECANCELED if nobody wants the result any more */
int ncc_wanted(const struct ncc_options *opt, struct ncc_error *err);
/* The same with the operation's name, kind and source line in front */
int ncc_fail_op(struct ncc_error *err, int code, const struct ncc_op *op, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct ncc_module *ncc_module_new(const char *name);
void ncc_module_free(struct ncc_module *m);
/* Zeroed memory that lives as long as the module; NULL: out of memory */
void *ncc_alloc(struct ncc_module *m, size_t size);
/* The same for an operation's data, which live until a sweep finds no operation that uses them */
void *ncc_alloc_data(struct ncc_module *m, size_t size);
char *ncc_strdup(struct ncc_module *m, const char *s);
/* The NEFF's name of a number that is the size of that dimension of that "input" or "output" */
char *ncc_size_name(struct ncc_module *m, const char *of, int64_t number, unsigned int d);

/*
 * A new operation, not yet appended to the module; name may be NULL (then it is derived from
 * like's).
 */
struct ncc_op *ncc_op_new(struct ncc_module *m, enum ncc_kind kind, const char *name,
			  unsigned int nin);
/* Copies the attributes of another operation of its kind. */
void ncc_copy_attrs(struct ncc_op *op, const struct ncc_op *from);
/* The same operation in another module, with room for so many operands, none of them set */
struct ncc_op *ncc_op_clone(struct ncc_module *m, const struct ncc_op *op, unsigned int nin);
void ncc_op_append(struct ncc_module *m, struct ncc_op *op);
/* A scalar constant */
struct ncc_op *ncc_const_scalar(struct ncc_module *m, uint8_t dtype, double v);

const char *ncc_kind_name(enum ncc_kind kind);
bool ncc_is_unary(enum ncc_kind kind);
bool ncc_is_binary(enum ncc_kind kind);
bool ncc_is_compare(enum ncc_kind kind);
bool ncc_is_elementwise(enum ncc_kind kind); /* unary, binary or NCC_SELECT */
int64_t ncc_elems(const struct ncc_shape *s);
/* The number of weights of a partition that each of a product's chooses from; 1: they are dense */
unsigned int ncc_dot_slots(const struct ncc_op *dot);
/*
 * The most rows, at most one for each partition, that n elements fill evenly; 0: there are few of
 * them, or only rows that use few partitions
 */
int64_t ncc_even_rows(int64_t n);
/* The arrays of the IR that one of the host's is, and all operands or results of a call are */
unsigned int ncc_host_parts(const struct ncc_host_array *a);
unsigned int ncc_host_operands(const struct ncc_host_call *call);
unsigned int ncc_host_results(const struct ncc_host_call *call);
bool ncc_same_dims(const struct ncc_shape *a, const struct ncc_shape *b);
bool ncc_is_float(uint8_t dtype);
bool ncc_is_unsigned(uint8_t dtype);
unsigned int ncc_dtype_size(uint8_t dtype);
const char *ncc_dtype_name(const struct ncc_shape *s);

/* What a format of small floats has behind its greatest number */
enum ncc_float8_end {
	NCC_FLOAT8_INFINITE, /* infinities, and NaNs behind them */
	NCC_FLOAT8_NAN, /* NaN, whose code is all ones (fn) */
	NCC_FLOAT8_UNSIGNED_ZERO, /* nothing: NaN has the code of -0, which is not there (fnuz) */
	NCC_FLOAT8_FINITE, /* nothing: all that is greater becomes the greatest, and NaN -0 */
	NCC_FLOAT8_POWERS, /* NaN, all ones; all others are powers of two, without a sign */
};

/* dtype.c: floats of 8 and 4 bits, the chips' and others. NULL: it is another type */
struct ncc_float8 {
	const char *name;
	uint8_t dtype;
	uint8_t io_dtype; /* what the model's user has its bytes as, one for each */
	unsigned int bits, fraction; /* with the sign; of the fraction */
	int least; /* the exponent of the smallest normal number */
	float most;
	enum ncc_float8_end end;
};
const struct ncc_float8 *ncc_float8(uint8_t dtype);
const struct ncc_float8 *ncc_float8_named(const char *name); /* in any case */
/*
 * constant.c: the code of a finite number, not negative, in a format with so many bits of fraction
 * and no greatest number, whose smallest normal one is 2^least: the nearest, ties to even
 */
int64_t ncc_round_small(double v, unsigned int fraction, int least);

void ncc_number(struct ncc_module *m);
void ncc_count_users(struct ncc_module *m);
/*
 * Follows replaced links in operands and outputs, and drops operations that nothing uses and their
 * data.
 */
void ncc_sweep(struct ncc_module *m);

/* verify.c: do every operation's operands, shapes and attributes agree? 0 or -EINVAL */
int ncc_verify_op(const struct ncc_op *op, struct ncc_error *err);
int ncc_verify(const struct ncc_module *m, struct ncc_error *err);
/*
 * parse.c: reads the text form (text.h) into a module, which is verified. 0, -EINVAL, -EFBIG or
 * -ENOMEM
 */
int ncc_import_ir(const void *buf, size_t size, struct ncc_module **m, struct ncc_error *err);
/*
 * print.c: prints text that ncc_import_ir reads, with constants of up to so many elements in full.
 */
void ncc_print(const struct ncc_module *m, int64_t most, FILE *f);

/* constant.c: elements of constants */
double ncc_get(uint8_t dtype, const void *data, int64_t i);
void ncc_set(uint8_t dtype, void *data, int64_t i, double v);
void ncc_set_int(uint8_t dtype, void *data, int64_t i, int64_t v); /* stores v's low bits */
bool ncc_scalar_value(const struct ncc_op *op,
		      double *v); /* op is one constant value, maybe broadcast */
bool ncc_compares(enum ncc_kind kind, double a, double b); /* NCC_EQ to NCC_GE */
/* The row-major stride of each dimension, in elements */
void ncc_steps(const struct ncc_shape *s, int64_t *step);
/*
 * The strides in the operand of a transpose, slice or reverse, for the result's dimensions; returns
 * the start.
 */
int64_t ncc_move_steps(const struct ncc_op *op, int64_t *step);
int ncc_fold(struct ncc_module *m, struct ncc_op *op); /* 1: op became NCC_CONST; 0: not foldable */
/* fold.c: the same for element-wise operations where the datapath gives the same bits */
int ncc_fold_elementwise(struct ncc_module *m, struct ncc_op *op);
/*
 * An integer operation on elements of shape s, of which the low bits of *r are the result. false:
 * kind is none
 */
bool ncc_integer(enum ncc_kind kind, const struct ncc_shape *s, int64_t a, int64_t b, int64_t *r);

/* eval.c: 1: op, whose operands are constants, became a constant; 0: it did not; -ENOMEM */
int ncc_eval(struct ncc_module *m, struct ncc_op *op);

#endif
