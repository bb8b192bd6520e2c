/* SPDX-License-Identifier: MIT */
/*
 * Private to the ONNX front end: a model that is imported, a node of it, and the row of a table
 * that says how. node.c reads a node's attributes and operands, tensor.c and external.c constants.
 * Importers of operators include the header of their subject.
 */
#ifndef NCC_ONNX_H
#define NCC_ONNX_H

#include "expand/expand.h"
#include "build/obstacles.h"
#include "frontend/onnx/onnx.pb-c.h"

#define ONNX_OPSET_MIN 6
#define ONNX_MAX_CALLS 32 /* depth of functions and graphs */
#define ONNX_MAX_DATA NCC_MAX_DATA /* elements of a constant that an importer makes */
#define ONNX_MAX_OUTPUTS 256 /* of a node */
#define ONNX_MAX_ITERATIONS 4096 /* iterations of a loop that is unrolled */

/* TensorProto.DataType */
enum onnx_type {
	ONNX_FLOAT = 1,
	ONNX_UINT8,
	ONNX_INT8,
	ONNX_UINT16,
	ONNX_INT16,
	ONNX_INT32,
	ONNX_INT64,
	ONNX_STRING,
	ONNX_BOOL,
	ONNX_FLOAT16,
	ONNX_DOUBLE,
	ONNX_UINT32,
	ONNX_UINT64,
	ONNX_BFLOAT16 = 16,
	ONNX_FLOAT8E4M3FN,
	ONNX_FLOAT8E4M3FNUZ,
	ONNX_FLOAT8E5M2,
	ONNX_FLOAT8E5M2FNUZ,
	ONNX_UINT4,
	ONNX_INT4,
	ONNX_SEQUENCE = 1000, /* no tensor */
};

#define ONNX_EXTERNAL 1 /* TensorProto.DataLocation */

/*
 * A tensor: the operation that computes it, and its type in ONNX, which may be wider than the
 * operation's
 */
struct onnx_value {
	struct ncc_op *op; /* NULL: absent, or (with a type) without elements */
	int32_t type;
	/* The dimensions of a tensor without elements; NULL: a list */
	const struct ncc_shape *empty;
	/*
	 * Of each dimension how many there are, s32, at most the operation's; NULL: all (dynamic.c)
	 */
	struct ncc_op *size[NCC_MAX_DIMS];
	const struct onnx_sequence *sequence; /* of tensors, where type is ONNX_SEQUENCE */
	/*
	 * It comes from a node that cannot be imported: op, if there is one, only has its shape
	 * (refuse.c)
	 */
	bool unknown;
};

/* A sequence, whose length is known when the model is read */
struct onnx_sequence {
	unsigned int n;
	const struct onnx_value **item;
};

struct onnx_node;
struct onnx_scope; /* graph.h */

struct onnx_rule;
struct onnx_import {
	struct ncc_module *m;
	/*
	 * Imports nodes in order: how an operator reaches the others (import.c). around: the node
	 * that they are in; NULL: they are the model's
	 */
	int (*run)(const struct onnx_node *around, struct onnx_import *imp,
		   Ncc__Onnx__Node *const *node, size_t count, struct onnx_scope *s);
	/* onnx_find(), for an operator that is another one of something else */
	const struct onnx_rule *(*find)(const char *domain, const char *op_type);
	const Ncc__Onnx__Model *proto;
	const struct ncc_options *opt;
	struct ncc_error *err;
	struct ncc_obstacles *obstacles;
	int64_t opset;
	unsigned int depth, made;
	uint64_t steps; /* of searches; NCC_MAX_STEPS */
	uint32_t randoms; /* nodes whose random numbers have no seed */
	int64_t const_bytes, folded;
	struct ncc_op *guard; /* the result counts only if this holds; NULL: always */
	struct onnx_places *places; /* values/keep.c */
	struct onnx_taken *taken; /* values/take.c */
	struct onnx_multiple *multiples; /* products/bytes.c */
	struct onnx_dynamic *dynamics; /* products/integer.c */
	const struct ncc_noted *sizes; /* values/number.c */
	bool narrowed; /* something of 64 bits is not constant */
};

/*
 * A node being imported. Operators call the constructors of ox.h. The first that fails sets rc
 * and err and returns NULL; NULL as an operand gives NULL, so only rc need be checked.
 */
struct onnx_node {
	struct onnx_import *imp;
	const Ncc__Onnx__Node *p;
	const struct onnx_rule *rule;
	struct ncc_build b; /* for expand_*, and what is left to the passes */
	struct ncc_build checked; /* onnx_now's */
	struct ncc_now now;
	struct onnx_scope *scope;
	/*
	 * The node that calls the function: its attributes give the values of those that refer to
	 * them
	 */
	const struct onnx_node *caller;
	const Ncc__Onnx__Function *function;
	const Ncc__Onnx__Function *body; /* the function that it calls */
	int64_t opset;
	unsigned int seen; /* obstacles before it */
	unsigned int nin, nout;
	struct onnx_value *in, *out;
	bool imported; /* The results are made. */
	bool exact; /* --auto-cast all leaves what is made now alone */
	int rc;
};

typedef struct ncc_op *onnx_op; /* short, since calls of constructors nest */

/* AttributeProto.AttributeType */
enum onnx_attr_type {
	ONNX_A_FLOAT = 1,
	ONNX_A_INT,
	ONNX_A_TEXT,
	ONNX_A_TENSOR,
	ONNX_A_GRAPH,
	ONNX_A_FLOATS,
	ONNX_A_INTS,
	ONNX_A_TEXTS,
	ONNX_A_SPARSE = 11,
};

/* An attribute of an operator; one that changed between operator sets has a row for each */
struct onnx_attribute {
	const char *name; /* NULL: the end of a list */
	enum onnx_attr_type type;
	/* What stands for it where it is absent; of lists, tensors and graphs: the importer's */
	int64_t i;
	double f;
	const char *s;
	bool needed;
	bool only; /* another integer is not supported */
	const char *words; /* what a text may be, with | between them; NULL: any */
	int from, until; /* operator sets of ONNX; 0: since ever, until today */
};
#define ATTR(n, t, ...)                                        \
	{                                                      \
		.name = (n), .type = ONNX_A_##t, ##__VA_ARGS__ \
	}
#define ONNX_ATTRS(...) ((const struct onnx_attribute[]){ __VA_ARGS__, { 0 } })

/* Operands of an operator that may be lists without elements */
enum onnx_empty { ONNX_EMPTY_NONE, ONNX_EMPTY_ANY, ONNX_EMPTY_REST /* all but the first */ };

struct onnx_rule {
	const char *op_type;
	int min, max; /* number of operands; max -1: any number */
	void (*import)(struct onnx_node *n);
	int arg; /* for import: an ncc_kind, or a constant of the file's own */
	/* For import: what computes the result, in fp32 */
	onnx_op (*formula)(struct onnx_node *n, onnx_op x);
	onnx_op (*expand)(struct ncc_build *bl, onnx_op x);
	const struct onnx_attribute *attrs; /* NULL: none */
	bool any_attrs; /* whatever they are called */
	int since; /* the operator set of ONNX that has it first, if ONNX_OPSET_MIN has it not */
	bool unchanged; /* means the same in operator sets before ONNX_OPSET_MIN */
	bool sequences; /* takes them as operands */
	enum onnx_empty empty;
	/* Where a size depends on the data (dynamic/dynamic.h); NULL: not at all */
	void (*sized)(struct onnx_node *n);
	uint32_t takes; /* mask: the operands that may have such sizes */
	uint32_t lists; /* mask: the lists of numbers that may depend on the data */
	enum ncc_kind neutral; /* what is not there is what it does not change by; 0: 0 */
};
#define ONNX_ALL UINT32_MAX
#define ONNX_OPERAND(i) (1u << (i))

/* tensor.c: the shape that the model tells of a result; false: it does not, or not all of it */
bool onnx_told_shape(const struct onnx_import *imp, const char *name, struct ncc_shape *s,
		     int32_t *type);
/*
 * attributes.c. Are those of the node what the row says? false: n->rc is set
 */
bool onnx_check_attributes(struct onnx_node *n);
/* NULL: absent */
const Ncc__Onnx__Attribute *onnx_attr(const struct onnx_node *n, const char *name);
/* Its value; where it is absent what the row says, or what is given: the row has nothing */
int64_t onnx_int(const struct onnx_node *n, const char *name);
int64_t onnx_int_or(const struct onnx_node *n, const char *name, int64_t otherwise);
double onnx_float(const struct onnx_node *n, const char *name);
double onnx_float_or(const struct onnx_node *n, const char *name, double otherwise);
bool onnx_string_is(const struct onnx_node *n, const char *name, const char *value);
/* The number of the word, among those that the row has */
int onnx_choice(const struct onnx_node *n, const char *name);
/* false: the attribute is absent. More than max integers are an error. */
bool onnx_ints(struct onnx_node *n, const char *name, int64_t *v, unsigned int max,
	       unsigned int *count);
/* As many as count, each of them usual if the attribute is absent; another number is an error. */
void onnx_ints_each(struct onnx_node *n, const char *name, int64_t *v, unsigned int count,
		    int64_t usual);

/* node.c */
int onnx_fail(struct onnx_node *n, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Has the import searched for too long? -EFBIG then, and nothing goes on. */
int onnx_check_steps(struct onnx_node *n);
void onnx_unsupported(struct onnx_node *n);
int onnx_arg(const struct onnx_node *n); /* its rule's */
onnx_op onnx_in(const struct onnx_node *n, unsigned int i); /* NULL: absent */
bool onnx_is_const(onnx_op a);
/* The integers of a constant operand; false: it is absent, or an error */
bool onnx_in_ints(struct onnx_node *n, unsigned int i, int64_t *v, unsigned int max,
		  unsigned int *count);
/* A number from an attribute or, where that moved to, from operand i */
bool onnx_in_scalar(struct onnx_node *n, unsigned int i, double *v);
/* Maps -ndim..ndim-1 to 0..ndim-1; anything else is an error. */
unsigned int onnx_axis(struct onnx_node *n, int64_t axis, unsigned int ndim);
bool onnx_takes_empty(const struct onnx_rule *rule, unsigned int i);
/* Is operand i one that must not be empty for the operator's own import? */
bool onnx_needs(const struct onnx_node *n, unsigned int i);
/* Gives result i. Its type is that of the first operand with op's dtype, else op's own. */
void onnx_give(struct onnx_node *n, unsigned int i, onnx_op op);
void onnx_give_as(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type);

/* A tensor without elements; dimensions of 0 are among those of s */
void onnx_give_empty(struct onnx_node *n, unsigned int i, const struct ncc_shape *s, int32_t type);
/* Are operands from..to there? false: n->rc is set */
bool onnx_has(struct onnx_node *n, unsigned int from, unsigned int to);

/* tensor.c */
const char *onnx_type_name(int32_t type);
/* The IR's type for it (for 64 bits the one of 32); -ENOTSUP */
int onnx_dtype(int32_t type, struct ncc_shape *s);
int32_t onnx_type_of(const struct ncc_shape *s);
bool onnx_is_wide(int32_t type);
int onnx_tensor(struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		struct onnx_value *v);

/*
 * tensor.c: 8-bit floats, whose values are kept in bf16, while a model's inputs and outputs have
 * the type itself. NULL: it is another type
 */
const struct ncc_float8 *onnx_float8(int32_t type);
/* external.c: the size raw bytes of a tensor that has them in another file */
int onnx_external(struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		  size_t size, const uint8_t **raw);

#endif
