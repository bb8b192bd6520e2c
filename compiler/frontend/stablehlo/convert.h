/* SPDX-License-Identifier: MIT */
/*
 * Private to the conversion of StableHLO (mlir.h) to HLO's messages: a module being made, and a
 * computation of it into which operations are converted.
 */
#ifndef NCC_STABLEHLO_CONVERT_H
#define NCC_STABLEHLO_CONVERT_H

#include "frontend/hlo/file.h"
#include "frontend/hlo/hlo.h"
#include "mlir.h"

typedef Ncc__Hlo__Instruction hlo_instruction;
typedef Ncc__Hlo__Computation hlo_computation_message;

struct function {
	const char *name;
	const struct mlir_op *op;
	hlo_computation_message *c; /* NULL: not converted yet */
	bool open; /* being converted: it calls itself if it is called */
};

struct scope;
struct ncc_tiling;

struct convert {
	struct mlir *m;
	struct ncc_error *err;
	Ncc__Hlo__Module *proto;
	size_t room; /* for computations */
	struct function *functions; /* by name */
	size_t nfunctions;
	int64_t next_id;
	unsigned int mark, depth, made; /* made: instructions */
	unsigned int partitions;
	int64_t numbers; /* that fold.c has */
	bool folded; /* fold.c made constants, of which others may be left that nothing uses */
	/* The division of what the program takes and gives (spmd.h) */
	const struct ncc_tiling **in, **out;
	size_t nin, nout;
	/* operations.c: converts an operation; how what is below reaches the others */
	int (*op)(struct scope *s, const struct mlir_op *op);
	/* The first operation that HLO's message here does not say whole; NULL: none */
	const struct mlir_op *partly;
};

/* A value that a region takes from outside, and what it was there */
struct captured {
	struct mlir_value *value;
	void *note;
	const void *owner;
};

/* A computation being made */
struct scope {
	struct convert *v;
	hlo_computation_message *c;
	size_t room; /* for instructions */
	const struct mlir_op *at; /* the operation being converted */
	struct captured *captured;
	size_t ncaptured, captured_room;
};

/* convert.c: computations and instructions. NULL, and an error: out of memory, or as said */
int convert_fail(struct scope *s, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void *convert_alloc(struct convert *v, size_t n, size_t size);
Ncc__Hlo__Shape *convert_array(struct convert *v, int type, const int64_t *dims, size_t n);
Ncc__Hlo__Shape *convert_shape(struct scope *s, const struct mlir_type *type);
Ncc__Hlo__Shape *convert_tuple_shape(struct scope *s, Ncc__Hlo__Shape *const *shapes, size_t n);
hlo_instruction *convert_add(struct scope *s, const char *opcode, const Ncc__Hlo__Shape *shape,
			     hlo_instruction *const *in, size_t n);
hlo_instruction *convert_element(struct scope *s, hlo_instruction *tuple, size_t i);
hlo_instruction *convert_tuple(struct scope *s, hlo_instruction *const *in, size_t n);
/* A value of the operation's in this computation, or one of those around it that may be copied */
hlo_instruction *convert_value(struct scope *s, struct mlir_value *value);
bool convert_is_copied(const hlo_instruction *p); /* into regions that use it */
hlo_instruction **convert_operands(struct scope *s, const struct mlir_op *op);
void convert_set(struct scope *s, struct mlir_value *value, hlo_instruction *p);
/* The operation's results are p, or its elements */
int convert_results(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
/* The shape of its result, or a tuple's of its results */
Ncc__Hlo__Shape *convert_result_shape(struct scope *s, const struct mlir_op *op);
int convert_open(struct scope *s, struct convert *v, const char *name);
int convert_close(struct scope *s, hlo_instruction *root);
/* Converts a block up to its return: what that returns; NULL: an error */
hlo_instruction **convert_block(struct scope *s, const struct mlir_block *b, size_t *n);
/* A block's arguments as parameters, and what it returns as the root */
int convert_body(struct scope *s, const struct mlir_block *b);
/* The computation that a region of one block is */
int convert_region(struct scope *s, const struct mlir_region *r, const hlo_computation_message **c);
void convert_capture(struct scope *s, struct mlir_value *value, hlo_instruction *p);
void convert_release(struct scope *s); /* what was captured is again what it was outside */
int convert_calls(hlo_instruction *p, struct convert *v, const hlo_computation_message *c);
/* The computation of a function; NULL: there is none, or it calls itself */
hlo_computation_message *convert_function(struct scope *s, const char *name);

/* attrs.c. What is absent has the default; -EINVAL: it is of another kind */
int attr_int(struct scope *s, const struct mlir_op *op, const char *name, int64_t *v);
int attr_bool(struct scope *s, const struct mlir_op *op, const char *name, bool *v);
int attr_text(struct scope *s, const struct mlir_op *op, const char *name, const char **v);
int attr_list(struct scope *s, const struct mlir_op *op, const char *name, size_t *n, int64_t **v);
/* Prints an attribute as MLIR's text has it; NULL: it cannot be written, or out of memory */
const char *attr_print(struct convert *v, const struct mlir_attr *a);

/* One row for each operation (operations.c) */
struct conversion {
	const char *name, *opcode;
	int nin; /* operands; -1: any number */
	bool one; /* it has one result */
	unsigned int nregions; /* computations that it calls, whose values come all from inside */
	int (*fields)(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
	int (*whole)(struct scope *s, const struct mlir_op *op); /* instead of all of that */
	bool partly; /* hlo.proto does not have all that it says */
};
const struct conversion *conversion_of(const char *name);
int convert_op(struct scope *s, const struct mlir_op *op);

/* fields.c: what an instruction has besides its operands */
int fields_word(struct scope *s, const struct mlir_op *op, const char *name,
		const char *const *words);
/* Adds a dimension to a slice, whose list has the space */
int fields_add_slice(struct scope *s, hlo_instruction *p, int64_t start, int64_t limit,
		     int64_t stride);
int fields_batch_norm(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_broadcast(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_cholesky(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_compare(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_concatenate(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_dimensions(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_dot(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_dot_general(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_dynamic_slice(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_fft(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_gather(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_iota(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_pad(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_permutation(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_precision(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_rng(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_rng_bits(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_scatter(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_slice(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_sort(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_triangular_solve(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_tuple_element(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
/* window.c */
int fields_convolution(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_reduce_window(struct scope *s, const struct mlir_op *op, hlo_instruction *p);
int fields_select_and_scatter(struct scope *s, const struct mlir_op *op, hlo_instruction *p);

/* Operations that are no one instruction: literal.c, regions.c, ... */
int whole_constant(struct scope *s, const struct mlir_op *op);
int whole_case(struct scope *s, const struct mlir_op *op);
int whole_while(struct scope *s, const struct mlir_op *op);
int whole_call(struct scope *s, const struct mlir_op *op);
int whole_composite(struct scope *s, const struct mlir_op *op);
int whole_custom_call(struct scope *s, const struct mlir_op *op);
int whole_barrier(struct scope *s, const struct mlir_op *op);
int whole_broadcast_in_dim(struct scope *s, const struct mlir_op *op);
int whole_computed(struct scope *s, const struct mlir_op *op);
int whole_index_select(struct scope *s, const struct mlir_op *op);
int whole_einsum(struct scope *s, const struct mlir_op *op);
int whole_quantize(struct scope *s, const struct mlir_op *op);
int whole_dequantize(struct scope *s, const struct mlir_op *op);
int whole_cast(struct scope *s, const struct mlir_op *op);
int whole_constraint(struct scope *s, const struct mlir_op *op);
int whole_manual(struct scope *s, const struct mlir_op *op);
int whole_nothing(struct scope *s, const struct mlir_op *op);
int whole_rng(struct scope *s, const struct mlir_op *op);
int whole_select(struct scope *s, const struct mlir_op *op);
int whole_static(struct scope *s, const struct mlir_op *op);

/* manual.c: XLA's custom calls around computations on partitions */
bool manual_is_call(const char *target);
int manual_call(struct scope *s, const struct mlir_op *op);

/* collective.c */
int whole_collective(struct scope *s, const struct mlir_op *op);
int whole_all_to_all(struct scope *s, const struct mlir_op *op);

/* quant.c: may the operation have operands and results of quantized types, if it has any? */
int quant_check(struct scope *s, const struct mlir_op *op);
/* Is it arithmetic of such types? That is dequantized, computed, and quantized again. */
bool quant_computes(const struct mlir_op *op);
typedef int convert_fn(struct scope *s, const struct mlir_op *op);
int quant_compute(struct scope *s, const struct mlir_op *op, convert_fn *convert);

/* literal.c */
int literal_fill(struct scope *s, const struct mlir_attr *a, Ncc__Hlo__Literal *l);
hlo_instruction *literal_add(struct scope *s, const struct mlir_attr *dense);

/* fold.c: evaluates an operation that has been converted, if the program says all its operands */
int fold(struct scope *s, const struct mlir_op *op);
/* Takes away what evaluating has left without a use, once the module is there. 0 or -ENOMEM */
int fold_sweep(struct convert *v);
/* The numbers of a list, or a list of lists, of integers. Returns false: the program does not say
 * them */
bool fold_list(const struct mlir_value *value, size_t *n, int64_t **list);

#endif
