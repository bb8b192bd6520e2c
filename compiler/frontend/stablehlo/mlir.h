/* SPDX-License-Identifier: MIT */
/*
 * A program of StableHLO in memory, whichever way it was spelled: what readers make (bytecode.c of
 * a portable artifact) and what convert.c makes HLO of. Readers have checked that it is whole:
 * values are defined before they are used, counts and lists agree. What operations mean is
 * convert.c's to check.
 *
 * One vocabulary for all spellings. A reader of another one has to say what VHLO says:
 *
 * Operations of StableHLO and func have their name without dialect or version: "add", "func",
 * "call", "return"; all others have the dialect's in front: "builtin.module", "sdy.mesh".
 *
 * Attributes have VHLO's names, also those that the text of StableHLO puts into one: a gather has
 * "offset_dims" and so on and no "dimension_numbers". What is left out has its default (the
 * properties of VHLO are never absent). Attributes of other dialects ("mhlo.sharding") are among
 * them by their full names.
 *
 * Lists of numbers are MLIR_DENSE of i64, whatever the text has (array<i64>, dense<>); enumerated
 * values are MLIR_WORD with StableHLO's word ("LT", "TOTALORDER", "HIGHEST"); names of functions
 * MLIR_STRING; attributes of several fields (stablehlo.output_operand_alias, those of sdy)
 * MLIR_DICTIONARY with their kind's name as text.
 */
#ifndef NCC_STABLEHLO_MLIR_H
#define NCC_STABLEHLO_MLIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "ncc.h"

#define MLIR_MAX_DEPTH 64 /* of regions in regions, types in types, attributes in attributes */
#define MLIR_DYNAMIC INT64_MIN /* a dimension whose size the program does not say */

enum mlir_kind {
	MLIR_NUMBER, /* what a tensor has: f32, i1, complex<f32>, ... */
	MLIR_TENSOR,
	MLIR_TOKEN,
	MLIR_TUPLE,
	MLIR_FUNCTION,
	MLIR_NONE,
	MLIR_OTHER, /* HLO has no such type */
};

/* Numbers that stand for others: (number - zero) * scale */
struct mlir_quant {
	const struct mlir_type *storage, *expressed;
	int64_t least, most; /* numbers */
	int64_t axis; /* of a tensor: the dimension with a scale for each place; -1: one for all */
	size_t n;
	const double *scale;
	const int64_t *zero;
};

struct mlir_type {
	enum mlir_kind kind;
	const char *name; /* as StableHLO writes it ("f32"), of a tensor its element's */
	int number; /* XLA's PrimitiveType (hlo.h) of a number, or of a tensor's element; 0: none */
	/* Of such numbers, and of a tensor of them: what they mean; number is their storage's */
	const struct mlir_quant *quant;
	/* Of a tensor; bound: what dynamic dimensions are at most, or NULL: nothing is said */
	unsigned int ndim;
	const int64_t *dim, *bound;
	/* Of a tuple its elements, of a function what it takes and gives */
	unsigned int nin, nout;
	const struct mlir_type **in, **out;
	/* convert.c's: the shape that it is, of a tuple how many arrays and how deep */
	void *note;
	unsigned int leaves, depth;
};

enum mlir_attr_kind {
	MLIR_UNIT,
	MLIR_BOOL, /* integer: 0 or 1 */
	MLIR_INTEGER,
	MLIR_FLOAT,
	MLIR_STRING,
	MLIR_WORD,
	MLIR_TYPE,
	MLIR_ARRAY,
	MLIR_DICTIONARY,
	MLIR_DENSE,
	MLIR_UNKNOWN, /* text: its kind, which nothing here knows */
};

struct mlir_attr {
	enum mlir_attr_kind kind;
	/* Of a number, a tensor; of MLIR_TYPE what it is; else NULL */
	const struct mlir_type *type;
	int64_t integer; /* a signless one's bits, sign-extended */
	double real;
	/* Of a string (which ends with a NUL but may have more of them), a word; a kind's name */
	const char *text;
	size_t size; /* of text without the NUL; bytes of data */
	/* Of an array: list; of a dictionary: names and list, in order of names */
	size_t n;
	const char **names;
	const struct mlir_attr **list;
	/*
	 * Elements of a tensor, little-endian, row-major, at any address; an i1 takes a byte, 0 or
	 * 1, as integers of less than 8 bits do. one: the only one stands for all
	 */
	const uint8_t *data;
	bool one;
	void *note; /* literal.c's: what was made of it */
};

struct mlir_value {
	const struct mlir_type *type;
	/* convert.c's: the instruction that has it, of which computation, and a mark */
	void *note;
	const void *owner;
	unsigned int mark;
	const void *known; /* fold.c's: its numbers, where the program says them */
};

struct mlir_op {
	const char *name;
	const char *spelled; /* as the file has it, for messages */
	const char *file; /* where the program's author wrote it; NULL: not known */
	unsigned int line;
	size_t nattrs; /* in no order */
	const char *const *names;
	const struct mlir_attr **attrs;
	const struct mlir_attr
		*others; /* a dictionary of more, which operations may share; or NULL */
	size_t nin, nout, nregions;
	struct mlir_value **in, *out;
	struct mlir_region *regions;
};

struct mlir_block {
	size_t nargs, nops;
	struct mlir_value *args;
	struct mlir_op *ops;
};

struct mlir_region {
	size_t nblocks;
	struct mlir_block *blocks;
};

/* A file that was read; what is in it may point into the file's bytes */
struct mlir {
	struct arena arena;
	const struct mlir_op *module; /* "builtin.module", of one region with one block */
	size_t size; /* of the file */
};

/*
 * bytecode.c: reads MLIR bytecode, versions 0 to 6, of a module of VHLO, builtin and sdy. mlir_free
 * frees what it has made, also after an error. 0; -EINVAL: it is none; -ENOTSUP: the version, or
 * an operation, type or attribute in it, is not known; -EFBIG; -ENOMEM
 */
int mlir_read_bytecode(const void *buf, size_t size, struct mlir *m, struct ncc_error *err);
bool mlir_is_bytecode(const void *buf, size_t size); /* by its first bytes */
/* text.c: the same of text, pretty or generic, of a module of StableHLO or of its functions */
int mlir_read_text(const void *buf, size_t size, struct mlir *m, struct ncc_error *err);
bool mlir_is_text(const void *buf, size_t size); /* by how it begins */
void mlir_free(struct mlir *m);

/* mlir.c: NULL: the operation has no such attribute, or the dictionary */
const struct mlir_attr *mlir_attr_of(const struct mlir_op *op, const char *name);
const struct mlir_attr *mlir_entry_of(const struct mlir_attr *dictionary, const char *name);
bool quant_same(const struct mlir_quant *a, const struct mlir_quant *b); /* both may be NULL */
/* The bits of a quantized type of integers of up to 63 bits; 0: it has other numbers */
unsigned int quant_bits(const struct mlir_quant *q);
const char *quant_unsigned(const char *name); /* of a type of signed integers, the other one's */
void quant_bounds(struct mlir_quant *q); /* all that the storage has */
/* The number of elements; -1: not known, or too many to count */
int64_t mlir_elems(const struct mlir_type *type);
/* Element i of a tensor of integers or booleans */
int64_t mlir_int(const struct mlir_attr *dense, int64_t i);

#endif
