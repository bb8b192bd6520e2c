/* SPDX-License-Identifier: MIT */
/*
 * Private to the reader of MLIR bytecode: the file's tables, and how its numbers are read. A cursor
 * that has run over its end, or met what it cannot be, says so in the error once and gives zeros
 * from then on; who reads looks at the end (cursor_bad), and before anything is done with a count.
 */
#ifndef NCC_STABLEHLO_BYTECODE_H
#define NCC_STABLEHLO_BYTECODE_H

#include "ir/ir.h"
#include "mlir.h"

enum section {
	SECTION_STRINGS,
	SECTION_DIALECTS,
	SECTION_ATTRS,
	SECTION_OFFSETS,
	SECTION_IR,
	SECTION_RESOURCES,
	SECTION_RESOURCE_OFFSETS,
	SECTION_DIALECT_VERSIONS,
	SECTION_PROPERTIES,
	SECTIONS,
};

/* Versions of the bytecode from which on something is there */
enum bytecode_version {
	HAS_DIALECT_VERSIONS = 1,
	HAS_LAZY_REGIONS = 2,
	HAS_USE_LISTS = 3,
	HAS_ELIDED_LOCATIONS = 4,
	HAS_PROPERTIES = 5,
	NEWEST_BYTECODE = 6,
};

struct bytes {
	const uint8_t *p;
	size_t size;
};

struct reader;

struct cursor {
	struct reader *r;
	const uint8_t *p, *end;
};

/* An attribute or a type; it is read when something refers to it. */
struct entry {
	const struct dialect *dialect;
	struct bytes bytes;
	bool custom; /* encoded by its dialect; else text in MLIR's syntax */
	bool open; /* being read: it is part of itself if it is met again */
	const void *value;
};

struct place {
	const char *file;
	unsigned int line;
	bool known;
};

/* The attributes that an operation declares, in the order of its properties (vhlo_ops.c, sdy.c) */
struct op_properties {
	const char *name; /* with dialect and version: "vhlo.add_v1" */
	const char *properties; /* their names, with blanks between them */
};

struct op_name {
	const char *name, *spelled; /* see mlir.h */
	const struct op_properties *known; /* NULL: it is not */
	size_t nproperties;
	const char *property[32];
};

/* The encoding of a dialect's attributes and types; NULL and an error: it cannot be read */
struct dialect {
	const char *name;
	const struct mlir_attr *(*attr)(struct cursor *c, uint64_t code);
	const struct mlir_type *(*type)(struct cursor *c, uint64_t code);
};

struct reader {
	struct mlir *m;
	struct ncc_error *err;
	const uint8_t *base;
	size_t size;
	uint64_t version;
	const char *producer;
	struct bytes section[SECTIONS];
	size_t nstrings, ndialects, nnames, nattrs, ntypes, nproperties;
	struct bytes *strings, *properties;
	struct dialect *dialects;
	struct op_name *names;
	struct entry *attrs, *types;
	struct place *places; /* of each attribute that is a location */
	/* tables.c: attribute or type number i; NULL: there is none, or it cannot be read */
	const struct mlir_attr *(*attr)(struct reader *r, uint64_t i);
	const struct mlir_type *(*type)(struct reader *r, uint64_t i);
	size_t values; /* slots for values of all regions so far */
	unsigned int depth;
	int rc; /* the first error, which err says */
};

/* reader.c */
int reader_fail(struct reader *r, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int reader_bad(struct reader *r, const uint8_t *at, const char *what); /* -EINVAL */
void *reader_alloc(struct reader *r, size_t n, size_t size); /* NULL: -ENOMEM is noted */

/* cursor.c */
bool cursor_bad(const struct cursor *c); /* has anything failed? */
uint8_t cursor_byte(struct cursor *c);
uint64_t cursor_number(struct cursor *c);
int64_t cursor_signed(struct cursor *c);
uint64_t cursor_flagged(struct cursor *c, bool *flag);
/* A number of things that follow, of which each has at least one byte */
size_t cursor_count(struct cursor *c);
uint64_t cursor_integer(struct cursor *c, unsigned int bits); /* APInt, up to 64 bits */
struct bytes cursor_bytes(struct cursor *c, size_t n);
struct bytes cursor_blob(struct cursor *c);
/* A section of this kind and no other; the cursor steps over it */
struct cursor cursor_section(struct cursor *c, enum section *id);
/* Read an index into a table; NULL: there is no such thing, or it cannot be read */
struct bytes cursor_string(struct cursor *c);
const struct mlir_attr *cursor_attr(struct cursor *c);
const struct mlir_type *cursor_type(struct cursor *c);
const struct mlir_attr *cursor_optional_attr(struct cursor *c);

/* tables.c: strings, dialects, names of operations, properties, where attributes and types are */
int reader_tables(struct reader *r);
struct place reader_place(struct reader *r, uint64_t attr); /* of a location */

/* values.c: attributes and types that dialects share */
struct mlir_attr *new_attr(struct reader *r, enum mlir_attr_kind kind);
struct mlir_type *new_type(struct reader *r, enum mlir_kind kind, const char *name);
const struct mlir_attr *attr_of_int(struct reader *r, enum mlir_attr_kind kind, int64_t v);
const struct mlir_attr *attr_of_text(struct reader *r, enum mlir_attr_kind kind, const char *text);
const struct mlir_attr *attr_of_string(struct cursor *c);
const struct mlir_attr *attr_of_integer(struct cursor *c); /* type, APInt */
const struct mlir_attr *attr_of_float(struct cursor *c); /* type, APFloat */
const struct mlir_attr *attr_of_array(struct cursor *c);
const struct mlir_attr *attr_of_dictionary(struct cursor *c); /* a list of string, attribute */
const struct mlir_attr *attr_of_type(struct cursor *c);
const struct mlir_attr *attr_of_dense(struct cursor *c); /* type, blob */
const struct mlir_attr *attr_of_signed(struct cursor *c); /* a list of signed numbers */
/* An attribute of several fields; names ends with NULL */
const struct mlir_attr *attr_of_fields(struct reader *r, const char *kind, const char *const *names,
				       const struct mlir_attr *const *values);
/* A copy of q as the type of a number */
const struct mlir_type *type_of_quant(struct reader *r, const struct mlir_quant *q,
				      const char *name);
const struct mlir_type *type_of_number(struct reader *r, const char *name); /* "f32", "ui8" */
const struct mlir_type *type_of_complex(struct cursor *c);
/* A list of signed sizes and an element; bound: NULL, or what stands for its encoding */
const struct mlir_type *type_of_tensor(struct cursor *c, const struct mlir_attr *encoding);
const struct mlir_type *type_of_list(struct cursor *c, enum mlir_kind kind);

/* The dialects: builtin.c, vhlo.c, sdy.c */
const struct mlir_attr *builtin_attr(struct cursor *c, uint64_t code);
const struct mlir_type *builtin_type(struct cursor *c, uint64_t code);
const struct mlir_attr *vhlo_attr(struct cursor *c, uint64_t code);
const struct mlir_type *vhlo_type(struct cursor *c, uint64_t code);
const struct mlir_attr *sdy_attr(struct cursor *c, uint64_t code);
/* Says what builtin's codes for locations are, for reader_place */
bool builtin_place(struct cursor *c, uint64_t code, struct place *p, uint64_t *inner);

/* vhlo_ops.c: the operations of a dialect; NULL: it has none of that name */
const struct op_properties *op_properties_of(const char *name);

/* body.c: the IR section */
int reader_body(struct reader *r);

#endif
