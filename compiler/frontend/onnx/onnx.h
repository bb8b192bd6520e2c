/* SPDX-License-Identifier: MIT */
/*
 * Private to the ONNX front end: import.c reads a model, node by node; scope.c and graph.c keep the
 * names and graphs in it, tensor.c and external.c read constants, node.c a node's
 * attributes and operands.
 * ox.h has the constructors of operations of the tensor IR, and the other files import the
 * operators, with a table of them each (operators.c).
 */
#ifndef NCC_ONNX_H
#define NCC_ONNX_H

#include "expand/expand.h"
#include "build/obstacles.h"
#include "build/sizes.h"
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
	struct onnx_places *places; /* choose.c */
	struct onnx_taken *taken; /* index.c */
	struct onnx_multiple *multiples; /* bytes.c */
	struct onnx_dynamic *dynamics; /* integer.c */
	const struct ncc_noted *sizes; /* number.c */
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
	bool unchanged; /* means the same in operator sets before ONNX_OPSET_MIN */
	bool sequences; /* takes them as operands */
	enum onnx_empty empty;
};
/* Each table ends with an op_type of NULL. */
extern const struct onnx_rule onnx_math[], onnx_act[], onnx_dot[], onnx_window[], onnx_reduce[],
	onnx_norm[], onnx_move[], onnx_slice[], onnx_index[], onnx_control[], onnx_quant[],
	onnx_rnn[], onnx_einsum[], onnx_resize[], onnx_loss[], onnx_scatter[], onnx_sample[],
	onnx_signal[], onnx_matrix[], onnx_choose[], onnx_nms[], onnx_random[], onnx_attention[],
	onnx_rotary[], onnx_cache[], onnx_sequence[], onnx_patch[], onnx_grid[];
/* The rules of the domain ai.onnx.ml */
extern const struct onnx_rule onnx_ml[], onnx_ml_svm[], onnx_ml_tree[];

/* The rules of the domain com.microsoft */
extern const struct onnx_rule onnx_microsoft[], onnx_microsoft_rotary[], onnx_microsoft_attention[],
	onnx_microsoft_group[], onnx_microsoft_norm[], onnx_microsoft_fused[],
	onnx_microsoft_bits[];

/* The rule for all operators of the domain neuron, whatever their names are */
extern const struct onnx_rule onnx_custom;

/* operators.c; NULL: not supported */
const struct onnx_rule *onnx_find(const char *domain, const char *op_type);
bool onnx_is_standard(const char *domain); /* ai.onnx, whose name may be left out */

/* tensor.c: the shape that the model tells of a result; false: it does not, or not all of it */
bool onnx_told_shape(const struct onnx_import *imp, const char *name, struct ncc_shape *s,
		     int32_t *type);
/*
 * refuse.c: the node's import failed, which is noted, and its results become unknown ones so that
 * the import goes on. 0: it does
 */
int onnx_refuse(struct onnx_node *n);
/* Imports a node with operands of which nothing is known, as far as that shows more obstacles. */
void onnx_blind(struct onnx_node *n);
bool onnx_is_unknown(const struct onnx_value *v); /* not even its shape is known */
/* Marks the results as unknown if an operand is. */
void onnx_pass_unknown(struct onnx_node *n);

/* node.c */
int onnx_fail(struct onnx_node *n, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Has the import searched for too long? -EFBIG then, and nothing goes on. */
int onnx_check_steps(struct onnx_node *n);
void onnx_unsupported(struct onnx_node *n);
int onnx_arg(const struct onnx_node *n); /* its rule's */
const Ncc__Onnx__Attribute *onnx_attr(const struct onnx_node *n, const char *name);
int64_t onnx_int(const struct onnx_node *n, const char *name, int64_t otherwise);
double onnx_float(const struct onnx_node *n, const char *name, double otherwise);
bool onnx_string_is(const struct onnx_node *n, const char *name, const char *value,
		    const char *otherwise);
/* false: the attribute is absent. More than max integers are an error. */
bool onnx_ints(struct onnx_node *n, const char *name, int64_t *v, unsigned int max,
	       unsigned int *count);
/* As many as count, each of them usual if the attribute is absent; another number is an error. */
void onnx_ints_each(struct onnx_node *n, const char *name, int64_t *v, unsigned int count,
		    int64_t usual);
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
/*
 * op, of whose dimension d there are `size`, s32. If that is known the result has only those.
 */
void onnx_give_some(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type, unsigned int d,
		    onnx_op size);
/* The same of each dimension; NULL: all of it are there */
void onnx_give_sizes(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type,
		     onnx_op const *size);

/* number.c: whole numbers of which something is known when the model is read */
struct onnx_number {
	onnx_op op; /* s32, its value when the model runs; NULL: known now */
	int64_t value; /* or the largest that it may be */
	int64_t least; /* the smallest */
};
/* Number i of an operand of integers; false: n->rc is set */
bool onnx_number(struct onnx_node *n, onnx_op list, int64_t i, struct onnx_number *v);
void onnx_note_size(struct onnx_node *n, onnx_op op); /* It is not negative. */
onnx_op onnx_number_op(struct onnx_node *n, const struct onnx_number *v);

/*
 * dynamic.c: operands of which the data say how many elements there are, or that have none. false:
 * the node has neither
 */
bool onnx_import_dynamic(struct onnx_node *n);
/* The model's output for v: zeros where there is nothing */
onnx_op onnx_output(struct onnx_node *n, struct onnx_value *v);
/* Has a dimension but d a size? NCC_MAX_DIMS: has any? */
bool onnx_sized_but(const struct onnx_value *v, unsigned int d);
/* The size of dimension d, or the number that it always is */
onnx_op onnx_size_or_bound(struct onnx_node *n, const struct onnx_value *v, unsigned int d);
#define ONNX_ALL_DIMS UINT32_MAX
/*
 * Which elements of v are there, as far as sizes of the mask's dimensions say? A predicate that
 * broadcasts to v; NULL: all are, or n->rc is set
 */
onnx_op onnx_there(struct onnx_node *n, const struct onnx_value *v, uint32_t mask);
/* v's elements, and in place of those that are not there this number */
onnx_op onnx_filled(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, double with);
struct ncc_shape onnx_shape_of(const struct onnx_value *v); /* also of an empty one */
/* Makes an empty tensor one that has an element in its dimension of 0 and the size 0. */
void onnx_fill_empty(struct onnx_node *n, struct onnx_value *v);

/* memo.c: rows that were taken from others, at the indices idx[..] */
struct onnx_taken {
	onnx_op rows, from, idx;
	struct onnx_taken *next;
};
const struct onnx_taken *onnx_taken_before(const struct onnx_node *n, const struct ncc_op *rows);
onnx_op onnx_remember(struct onnx_node *n, onnx_op rows, onnx_op from, onnx_op idx);
/* Of indices that only lie otherwise, or might have counted from the end: those that they are */
const struct ncc_op *onnx_plain_index(const struct ncc_op *idx);
/* The destinations of the elements that keep holds, found once for all who ask */
struct onnx_places {
	onnx_op keep, to, size;
	onnx_op coordinates; /* of those, in a tensor of shape `of`; NULL: nobody asked yet */
	struct ncc_shape of;
	struct onnx_places *next;
};
/*
 * If idx has the coordinates that NonZero found in a list: for each element of the list its place
 * among those that were kept, and the predicate that kept them
 */
onnx_op onnx_kept_places(const struct onnx_node *n, const struct ncc_op *idx, onnx_op *keep);
/* The elements of x, coordinates of what was kept, at idx, if known without looking; or NULL */
onnx_op onnx_kept_again(const struct onnx_node *n, onnx_op x, const struct ncc_op *idx);

/*
 * choose.c: the rows of x[n, ...] for which keep[n] holds, at most so many, in order; after them
 * are zeros. *size: how many hold, s32
 */
onnx_op onnx_keep_rows(struct onnx_node *n, onnx_op x, onnx_op keep, int64_t most, onnx_op *size);

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
/* float8.c: expand_float8 of it */
onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate);

/* external.c: the size raw bytes of a tensor that has them in another file */
int onnx_external(struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		  size_t size, const uint8_t **raw);

/*
 * build.c: the builder that checks and computes what it makes for the node, by the constructors of
 * compiler/build; ox.h has a short name for each of them
 */
struct ncc_build *onnx_now(struct onnx_node *n);
#define ONNX_EXACT_MOST (1 << 24) /* whole numbers up to it are exact in fp32 */
/* ONNX's conversion of any type to any */
onnx_op ox_cast(struct onnx_node *n, onnx_op a, uint8_t dtype, bool pred);
onnx_op ox_cast_like(struct onnx_node *n, onnx_op a, onnx_op like);
onnx_op ox_f32(struct onnx_node *n, onnx_op a);
/*
 * index.c: the index of the best element along axis, by NCC_MAX or NCC_MIN, with that dimension as
 * 1. As in onnxruntime nothing is better than a NaN that comes first, whose index is `otherwise`,
 * and other NaNs are passed over.
 */
onnx_op ox_best_place(struct onnx_node *n, onnx_op x, unsigned int axis, enum ncc_kind func,
		      bool last, double otherwise);
/* The part of x that idx's dimensions cover, all of axis */
onnx_op onnx_covered(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis);
/* The list of which idx has number i at index i of dimension d, whatever the others; or NULL */
onnx_op onnx_index_rows(onnx_op idx, unsigned int d);
/*
 * microsoft.c: what an operator of ONNX makes of these operands, with the node's attributes;
 * without results n->rc is set
 */
void ox_standard(struct onnx_node *n, const char *op_type, struct onnx_value *in, unsigned int nin,
		 struct onnx_value *out, unsigned int nout);

/* rnn.c: the operator of com.microsoft */
void onnx_dynamic_lstm(struct onnx_node *n);

/* act.c: shared with other operators */
onnx_op ox_relu(struct onnx_node *n, onnx_op x);
onnx_op ox_leaky(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_elu(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_thresholded(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_hard_sigmoid(struct onnx_node *n, onnx_op x, double a, double b);
onnx_op ox_softsign(struct onnx_node *n, onnx_op x);

/*
 * norm.c: (x - mean) / sqrt(variance + epsilon) of x in fp32, over the dimensions of the mask, and
 * x / sqrt(mean of squares + epsilon); the subtrahend and the factor are given if asked for
 */
onnx_op ox_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
		     onnx_op *subtracted, onnx_op *scale);
onnx_op ox_rms_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
			 onnx_op *scale);

/*
 * sample.c: x, [batch, channels, spatial...] (up to three), at places of each spatial dimension,
 * [batch, ...] in fp32, between its elements linearly and 0 outside: [batch, ..., channels]
 */
onnx_op ox_sample(struct onnx_node *n, onnx_op x, const onnx_op *place);

/* dot.c: are the operands floats, or integers of 32 bits, of one type? false: n->rc is set */
bool ox_multiplies(struct onnx_node *n);
/* matmul.c, window.c, reduce.c: the same; operands have the types that are multiplied */
onnx_op ox_matmul(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype);
/* The padding has this number, of x's type; NULL: 0 */
onnx_op ox_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op padding, uint8_t dtype);
/*
 * bytes.c: the quantized operands of a convolution or product, with a constant k whose dimension
 * axis is the result's channels, as bytes; with its sums, plus the shift, times the scale of each
 * channel it has the bias too
 */
struct onnx_bytes {
	onnx_op x, k, shift, scale;
	double padding; /* what stands for 0 */
};
/* false: they are not all quantized, or n->rc is set */
bool ox_bytes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, unsigned int axis,
	      struct onnx_bytes *b);
/* The same of a convolution of each channel by itself: whole numbers in fp32, which engines take */
bool ox_wholes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, struct onnx_bytes *b);
/*
 * window.c: the convolution of quantized operands and a bias by their whole numbers, before they
 * are quantized again; NULL: as others are, or n->rc is set
 */
onnx_op ox_quantized_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias);
/* axis: the sum's dimension of channels */
onnx_op ox_sum_of_bytes(struct onnx_node *n, onnx_op sum, const struct onnx_bytes *b,
			unsigned int axis);
/* The matrix product of quantized values, neither of which has to be constant; NULL: as before */
onnx_op ox_product_of_bytes(struct onnx_node *n, onnx_op a, onnx_op b);
onnx_op ox_take(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis);
onnx_op ox_from_end(struct onnx_node *n, onnx_op idx, int64_t size); /* -1 is size - 1 */
onnx_op ox_flat_index(struct onnx_node *n, onnx_op idx, unsigned int k, const int64_t *dim);
onnx_op ox_softmax(struct onnx_node *n, onnx_op x, unsigned int axis, bool log);

#include "ox.h"

#endif
