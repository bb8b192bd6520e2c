/* SPDX-License-Identifier: MIT */
/*
 * Private to the reader of StableHLO's text: the file as it is read, from token to token. What
 * fails says so in the error once, where it was; from then on each token is the file's end, so who
 * reads looks at text_bad before it does something with what it has read.
 */
#ifndef NCC_STABLEHLO_TEXT_H
#define NCC_STABLEHLO_TEXT_H

#include "bytecode.h"

enum token_kind {
	TOKEN_END,
	TOKEN_WORD, /* letters, digits, '_', '$' and '.' */
	TOKEN_STRING,
	TOKEN_INTEGER, /* without a sign */
	TOKEN_FLOAT,
	TOKEN_VALUE, /* %x */
	TOKEN_HASH, /* #x */
	TOKEN_TYPE, /* !x */
	TOKEN_SYMBOL, /* @x or @"x" */
	TOKEN_BLOCK, /* ^x */
	TOKEN_ARROW,
	TOKEN_RESOURCES, /* {-# */
	TOKEN_RESOURCES_END, /* #-} */
	TOKEN_PUNCTUATION, /* one character */
};

struct token {
	enum token_kind kind;
	const char *p; /* with its sigil or quotes */
	size_t n;
};

/* Grows in the arena; what it had before stays there, as large as it was. */
struct list {
	void *p;
	size_t n, room;
};

/* The meaning of a name: a value, or count of them; an attribute, a type, a location */
struct name {
	const char *p;
	size_t n;
	uint64_t hash;
	uint32_t next; /* with the same bucket, plus 1 */
	void *what;
	size_t count;
};

/* Found by a hash; the last ones can be dropped */
struct names {
	struct name *list;
	size_t n, room;
	uint32_t *bucket;
	size_t nbuckets;
};

struct text {
	struct reader r; /* of it the error, the arena, the depth */
	/* text_forms.c's, whose forms have operations in them */
	const struct form *(*form_of)(const char *name, size_t n);
	const char *base, *at, *end; /* at: behind the token */
	struct token t;
	struct names values, aliases, types, blobs;
	size_t floor; /* values before this one are outside of an isolated region */
	size_t things; /* operations, blocks and regions so far */
	size_t nvalues;
	bool in_alias; /* no alias is in another one: they could say how large one is in a few lines
			*/
	struct list resources; /* struct resource: data that follows the module */
	struct list made; /* struct mlir_op: functions that the text has not */
	struct names makings; /* of those */
};

/* An attribute whose data is named here and follows the module */
struct resource {
	struct mlir_attr *attr;
	struct token name;
};

#define TEXT_MOST_ATTRS 1024 /* of an operation */

/* An attribute of an operation, with its name */
struct named_attr {
	const char *name;
	const struct mlir_attr *attr;
};

/* An operation while it is read */
struct draft {
	struct mlir_op op;
	struct token at;
	struct list names; /* struct result_name */
	struct list in; /* struct mlir_value * */
	struct list attrs; /* struct named_attr */
	struct list regions; /* struct mlir_region */
	struct list out; /* const struct mlir_type * */
	struct mlir_block *made; /* what it applies, which is where it is itself; or NULL */
};

/* text_token.c */
int text_fail_at(struct text *x, const char *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* "expected %s, found ...", of the token */
int text_expected(struct text *x, const char *what);
bool text_bad(const struct text *x);
void text_next(struct text *x);
struct token text_peek(const struct text *x); /* the one after this */
void text_return(struct text *x, struct token t); /* reads on from this one, which it had before */
bool text_is(const struct text *x, char c);
bool text_take(struct text *x, char c);
void text_expect(struct text *x, char c);
bool text_is_word(const struct text *x, const char *word);
bool text_take_word(struct text *x, const char *word);
void text_expect_word(struct text *x, const char *word);
bool text_enter(struct text *x); /* false: nested too deeply; else text_leave is to be called */
void text_leave(struct text *x);
/* Skips to behind the bracket that closes the one at the token */
void text_skip(struct text *x);
bool token_is(struct token t, const char *word);
const char *text_copy(struct text *x, const char *p, size_t n);
/* A string's or symbol's content, in which there may be NULs; NULL: it is another token */
const char *text_string(struct text *x, size_t *n);
const char *text_symbol(struct text *x, size_t *n);
/* A number with its sign, of up to 64 bits */
int64_t text_integer(struct text *x);
int64_t text_count(struct text *x); /* none that is negative */

/* text_names.c */
void *list_add(struct text *x, struct list *l, size_t size); /* zeroed; NULL: out of memory */
struct name *names_find(const struct names *m, const char *p, size_t n, size_t floor);
struct name *names_add(struct text *x, struct names *m, struct token t); /* NULL: out of memory */
void names_drop(struct names *m, size_t n); /* all but the first n */

/* text_type.c */
/* text_quant.c: what is in the brackets of !quant.uniform */
const struct mlir_type *text_quantized(struct text *x, const char *name);
const struct mlir_type *text_type(struct text *x);
const struct mlir_type *text_function_type(struct text *x);
/* (types) or one: to the list's end */
void text_types(struct text *x, struct list *types);
bool text_same_type(const struct mlir_type *a, const struct mlir_type *b);
const char *text_type_name(struct text *x, const struct mlir_type *t); /* for messages */
const struct mlir_type *text_tensor_of(struct text *x, const char *number, int64_t n);

/* text_attr.c */
const struct mlir_attr *text_attr(struct text *x);
void text_attrs(struct text *x, struct list *attrs); /* {...}: to the list's end */
const struct mlir_attr *text_dictionary(struct text *x);
/* #stablehlo.x<a = 1, ...>, behind the kind, which is a name that stays */
const struct mlir_attr *text_fields(struct text *x, const char *kind);

/* text_values.c */
const struct mlir_attr *text_words(struct text *x); /* [HIGH, DEFAULT] */
const struct mlir_attr *text_numbers(struct text *x); /* [1, 2], one dimension */
const struct mlir_attr *text_dictionary_of(struct text *x, const char *kind,
					   const struct list *attrs);
const struct mlir_attr *text_dense_of(struct text *x, const int64_t *v, size_t n);
const struct mlir_attr *text_array_of(struct text *x, const struct list *list);
const struct mlir_attr *text_int(struct text *x, const char *type, int64_t v);

/* text_conv.c: [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1] */
const struct mlir_attr *text_conv_dims(struct text *x);

/* text_sdy.c: #sdy.x<...>, behind the kind */
const struct mlir_attr *text_sdy(struct text *x, const char *kind);
const struct mlir_attr *text_shardings(struct text *x); /* [<...>, ...] */
const struct mlir_attr *text_axes(struct text *x); /* {"x", "y"} */

/* text_dense.c: dense<...> : type, array<...>, dense_resource<...> : type */
extern const uint8_t text_nothing[1];
const struct mlir_attr *text_dense(struct text *x);
const struct mlir_attr *text_array(struct text *x);
const struct mlir_attr *text_dense_resource(struct text *x);
void text_blobs(struct text *x); /* {-# ... #-} */
void text_resolve_resources(struct text *x); /* gives attributes what follows the module */

/* text_number.c: an element in little endian. 0; -EINVAL: it is none of the type */
int text_element(struct text *x, const struct mlir_type *type, uint8_t *out);
unsigned int text_bytes_of(const struct mlir_type *type); /* of an element; 0: it has none */
double text_real(struct text *x, const char *type); /* a float with its sign, or its bits */

/* text_loc.c */
void text_location(struct text *x, struct mlir_op *op); /* loc(...), if it is there */
void text_skip_location(struct text *x);
void text_location_alias(struct text *x, struct token name);
void text_resolve_locations(struct text *x, struct mlir_op *op);

/* text_draft.c */
void text_operand(struct text *x, struct draft *d);
void text_operands(struct text *x, struct draft *d); /* any number, with commas between them */
/* Types of operands as they are written, which begin at first */
void text_check_operands(struct text *x, const struct draft *d, const struct list *types);
void text_set(struct text *x, struct draft *d, const char *name, const struct mlir_attr *attr);
const struct mlir_attr *text_get(const struct draft *d, const char *name);
/* Reads types and compares those of operands; what results have are d->out */
void text_signature(struct text *x, struct draft *d, const char *kind);

/* text_op.c */
void text_op(struct text *x, struct list *ops);
/* Arguments are types' and, if names is given, of those names */
void text_region(struct text *x, struct draft *d, const struct list *args, bool isolated);
/* An argument of a block or a function */
struct argument {
	struct token name; /* of no length: none */
	const struct mlir_type *type;
	const struct mlir_attr *attrs; /* NULL: none */
};
void text_arguments(struct text *x, struct list *args); /* (%a: type, ...) */

/* text_forms.c: the operations that have a form of their own */
struct form {
	const char *name, *form;
	void (*read)(struct text *x, struct draft *d); /* instead of form */
};
const struct form *text_form_of(const char *name, size_t n);
void text_pretty(struct text *x, struct draft *d, const char *form); /* text_pretty.c */

/* text_special.c, text_func.c: forms that are not like others */
void form_composite(struct text *x, struct draft *d);
void form_convolution(struct text *x, struct draft *d);
void form_custom_call(struct text *x, struct draft *d);
void form_dot_general(struct text *x, struct draft *d);
void form_func(struct text *x, struct draft *d);
void form_manual(struct text *x, struct draft *d);
void form_mesh(struct text *x, struct draft *d);
void form_module(struct text *x, struct draft *d);
void form_reduce(struct text *x, struct draft *d);
void form_sharding(struct text *x, struct draft *d);
void form_slice(struct text *x, struct draft *d);
void form_while(struct text *x, struct draft *d);

/* text_vhlo.c: gives the operation the names and attributes of mlir.h */
void text_to_vhlo(struct text *x, struct draft *d);
void text_chlo(struct text *x, struct draft *d); /* text_chlo.c: the same of chlo's */

#endif
