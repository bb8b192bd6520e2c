/* SPDX-License-Identifier: MIT */
/*
 * Private to the partitioner: a module whose arrays are divided among devices (Shardy's sdy, and
 * GSPMD's mhlo.sharding as far as it is as simple) becomes the program that each of them runs, with
 * parts of arrays and with collectives. All of it works on mlir.h's trees, before HLO, which has no
 * place for what is said there.
 *
 * The devices are one mesh whose axes have prime sizes: an axis of the program's, a part of one,
 * and GSPMD's tiles are each a list of those. How a dimension is divided is such a list, the
 * slowest axis first; how an array is, one for each dimension. Where a list is empty the dimension
 * is whole.
 *
 * How an operation goes on with parts is said by factors (spmd_rules.c): dimensions of operands and
 * results that are divided together have the same one, as the letters of an einsum. A dimension
 * without one is whole. First (spmd_choose.c) each value gets its division, from operands to
 * results and then back where nothing was said; then (spmd_emit.c) each operation is written with
 * its operands brought to what the factors ask for (spmd_move.c) and its result to what was chosen:
 * whatever is chosen the program is right.
 */
#ifndef NCC_STABLEHLO_SPMD_H
#define NCC_STABLEHLO_SPMD_H

#include "mlir.h"
#include "ncc_program.h"

#define SPMD_MOST_DEVICES 256
#define SPMD_MOST_AXES 8
#define SPMD_MOST_RANK 12
#define SPMD_MOST_FACTORS 48
#define SPMD_MOST_GROUPS 32 /* kept, of those that are made */

/* Axes of the mesh, four bits each: its number and one, the slowest lowest; 0 ends the list */
typedef uint32_t spmd_axes;

struct spmd_mesh {
	unsigned int n, naxes; /* devices; axes */
	unsigned int size[SPMD_MOST_AXES];
	uint8_t of[SPMD_MOST_AXES]; /* which axis of the program's first mesh it is a part of */
	uint8_t at[SPMD_MOST_DEVICES][SPMD_MOST_AXES]; /* where along each axis a device is */
	uint16_t place[SPMD_MOST_DEVICES]; /* which place among all of them */
};

/*
 * How an array is divided, by dimension. It is the sum of what the parts along the axes of sum
 * have, unless that is 0 (Shardy's unreduced axes)
 */
struct spmd_split {
	spmd_axes dim[SPMD_MOST_RANK], sum;
};

/* A value in another division than its own, which was made in this scope */
struct spmd_copy {
	struct spmd_copy *next;
	struct spmd_split split;
	unsigned int scope;
	struct mlir_value *value;
};

/* The note of each value of the whole program (spmd_inline.c) */
struct spmd_value {
	const struct mlir_op *from; /* what makes it; NULL: an argument */
	struct spmd_split split;
	bool fixed; /* the program says how it is divided */
	/* The division that all of its users ask for, if that is one thing */
	bool wished, quarrel;
	struct spmd_split wish;
	struct mlir_value *local; /* of a device */
	struct spmd_copy *copies;
};

/* Ways to make a result whole of its parts */
enum spmd_sum { SPMD_NO_SUM, SPMD_ADD, SPMD_MULTIPLY, SPMD_MAX, SPMD_MIN, SPMD_AND, SPMD_OR };

struct spmd_factors {
	unsigned int n;
	enum spmd_sum sum[SPMD_MOST_FACTORS]; /* SPMD_NO_SUM: it is in the result */
	spmd_axes axes[SPMD_MOST_FACTORS]; /* what was chosen */
	bool loose; /* dimensions of one factor may have several sizes: parts keep their order */
	size_t room;
	int8_t *in, *out; /* [operand or result][SPMD_MOST_RANK]: the factor, or -1 */
};

/* Operations being written, one behind the other */
struct spmd_list {
	struct mlir_op *op;
	size_t n, room;
};

/* The devices that exchange parts along axes */
struct spmd_group {
	spmd_axes axes;
	const struct mlir_attr *attr;
};

/* The start of a device's part of a dimension, found in the outermost scope */
struct spmd_offset {
	struct spmd_offset *next;
	spmd_axes axes;
	int64_t size; /* of a part */
	struct mlir_value *value;
};

struct spmd_scope {
	struct spmd_scope *outer;
	struct spmd_list list;
	unsigned int id;
};

struct spmd_function {
	const char *name;
	const struct mlir_op *op;
	bool open;
};

struct spmd {
	struct mlir *m;
	struct ncc_error *err;
	struct spmd_mesh mesh;
	struct spmd_function *functions; /* in the module's order */
	size_t nfunctions;
	const struct mlir_op *at; /* for messages */
	const struct mlir_attr *only; /* axes that count in what is read; NULL: all of them */
	size_t made; /* operations */
	unsigned int depth, scopes;
	int64_t channel;
	struct spmd_group groups[SPMD_MOST_GROUPS];
	unsigned int ngroups;
	bool parts; /* has a value become a device's own by a custom call? */
	bool lenient; /* a dimension that cannot be divided is left whole */
	struct spmd_offset *offsets;
	struct mlir_value *device; /* partition_id, once it was asked for */
	struct spmd_factors factors; /* of the operation at hand */
	/* The program with its functions written out, and its results' division */
	struct mlir_block *body;
	const struct mlir_op *main;
	struct spmd_split *results;
	bool *said; /* of each result: the program says how it is divided */
};

/* The division of main's arguments and results; NULL of what each device has all of */
struct spmd_ends {
	const struct ncc_tiling **in, **out;
	size_t nin, nout;
};

/* spmd.c: sets m->module to one device's program. 0, -EINVAL, -ENOTSUP, -EFBIG or -ENOMEM */
int spmd_partition(struct mlir *m, unsigned int devices, struct spmd_ends *ends,
		   struct ncc_error *err);

/* spmd_leaf.c: errors, memory, types, attributes */
int spmd_fail(struct spmd *p, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void *spmd_alloc(struct spmd *p, size_t n, size_t size); /* NULL: out of memory, which err says */
unsigned int spmd_rank(const struct mlir_type *t); /* 0 of what is no array, or cannot be divided */
struct mlir_type *spmd_tensor(struct spmd *p, const struct mlir_type *like, unsigned int ndim);
const struct mlir_attr *spmd_int_attr(struct spmd *p, int64_t v);
const struct mlir_attr *spmd_numbers(struct spmd *p, const int64_t *v, size_t n);
unsigned int spmd_bytes(const struct mlir_type *t); /* of an element; 0: not known */
/* A list of numbers among its attributes: how many, at most max; 0: none, or it is too long */
unsigned int spmd_list_of(const struct mlir_op *op, const char *name, int64_t *v, unsigned int max);
int64_t spmd_int_of(const struct mlir_op *op, const char *name, int64_t absent);
struct mlir_op *spmd_add(struct spmd *p, struct spmd_list *l); /* a zeroed one */
int spmd_set_attrs(struct spmd *p, struct mlir_op *op, size_t n, const char *const *names,
		   const struct mlir_attr *const *attrs);

/* spmd_mesh.c */
int spmd_mesh_make(struct spmd *p, unsigned int devices);
unsigned int spmd_parts(const struct spmd *p, spmd_axes a);
unsigned int spmd_part(const struct spmd *p, spmd_axes a,
		       unsigned int device); /* which one it has */
/*
 * Of tile[device], of so many, the axes; -EINVAL: there are none. used: a bit for each axis that is
 * taken, here and before
 */
int spmd_axes_of(const struct spmd *p, const uint16_t *tile, unsigned int tiles, unsigned int *used,
		 spmd_axes *out);
unsigned int spmd_axes_mask(spmd_axes a);
spmd_axes spmd_axes_list(unsigned int mask); /* those of the mask, in order */
unsigned int spmd_axes_count(spmd_axes a);
/* The slowest of them that are all parts of axes of the program's first mesh */
spmd_axes spmd_axes_named(const struct spmd *p, spmd_axes a);
spmd_axes spmd_axes_first(spmd_axes a, unsigned int n); /* the slowest n of them */
spmd_axes spmd_axes_rest(spmd_axes a, unsigned int n); /* all but those */

/* spmd_say.c: what the program says of a value; open: a bit for each dimension that it leaves open */
int spmd_read_sdy(struct spmd *p, const struct mlir_attr *a, const struct mlir_type *t,
		  struct spmd_split *s, unsigned int *open);
int spmd_read_gspmd(struct spmd *p, const char *text, const struct mlir_type *t,
		    struct spmd_split *s);
/* Reads how an argument or a result is divided, of its attributes. *said: do they say it? */
int spmd_read_said(struct spmd *p, const struct mlir_attr *attrs, const struct mlir_type *t,
		   struct spmd_split *s, bool *said);

/* The other way; NULL and no error: each device has all of it */
const struct ncc_tiling *spmd_tiling(struct spmd *p, const struct spmd_split *s,
				     const struct mlir_type *t);

/* spmd_inline.c: main with all that it calls written out, whose values have notes */
int spmd_inline(struct spmd *p);
static inline struct spmd_value *spmd_note(const struct mlir_value *v)
{
	return v->note;
}

/* spmd_rules.c: p->factors of an operation */
int spmd_factors_of(struct spmd *p, const struct mlir_op *op);
static inline int8_t *spmd_in(struct spmd *p, size_t i)
{
	return p->factors.in + i * SPMD_MOST_RANK;
}
static inline int8_t *spmd_out(struct spmd *p, size_t i)
{
	return p->factors.out + i * SPMD_MOST_RANK;
}
/* spmd_sums.c */
int spmd_new_factor(struct spmd *p, enum spmd_sum sum); /* -1: there are too many */
bool spmd_sum_of(const struct mlir_op *op, enum spmd_sum *sum); /* what its region computes */
bool spmd_neutral(const struct mlir_value *v, enum spmd_sum sum);
/* The rules of spmd_shapes.c and spmd_index.c, which spmd_rules.c's table has rows of */
typedef int (*spmd_rule)(struct spmd *p, const struct mlir_op *op);
int spmd_rule_broadcast(struct spmd *p, const struct mlir_op *op);
int spmd_rule_reshape(struct spmd *p, const struct mlir_op *op);
int spmd_rule_slice(struct spmd *p, const struct mlir_op *op);
int spmd_rule_dynamic_slice(struct spmd *p, const struct mlir_op *op);
int spmd_rule_update(struct spmd *p, const struct mlir_op *op);
int spmd_rule_pad(struct spmd *p, const struct mlir_op *op);
int spmd_rule_window(struct spmd *p, const struct mlir_op *op);
int spmd_rule_gather(struct spmd *p, const struct mlir_op *op);
int spmd_rule_scatter(struct spmd *p, const struct mlir_op *op);
int spmd_rule_dot_general(struct spmd *p, const struct mlir_op *op);
int spmd_rule_convolution(struct spmd *p, const struct mlir_op *op);
int spmd_rule_reduce(struct spmd *p, const struct mlir_op *op);

/* spmd_choose.c */
int spmd_choose(struct spmd *p);
/* Chooses the factors' axes; given: the results' divisions are (else the operands are asked) */
void spmd_assign(struct spmd *p, const struct mlir_op *op, bool given);
/* The dimension list that the chosen factors make */
void spmd_split_of(const struct spmd *p, const int8_t *map, unsigned int rank,
		   struct spmd_split *s);
bool spmd_same(const struct spmd_split *a, const struct spmd_split *b);
int spmd_read_manual(struct spmd *p, const struct mlir_op *op, const char *list, size_t i,
		     struct spmd_split *s);
/* GSPMD's: a value becomes a device's own (true), or is one that was (false), by custom calls */
bool spmd_is_call(const struct mlir_op *op, const char *target);
#define SPMD_TO_PART "SPMDFullToShardShape"
#define SPMD_TO_WHOLE "SPMDShardToFullShape"
bool spmd_is_constraint(const struct mlir_op *op);
/*
 * Is it a call of the host that says so much of the devices: "device", which one calls with the
 * whole arrays, or "parts", that each does with its own part of them?
 */
bool spmd_is_host_call(const struct mlir_op *op, const char *says);
bool spmd_is_passing(const struct mlir_op *op); /* are its results its operands? */
/* The division that a constraint gives its operand */
int spmd_constraint(struct spmd *p, const struct mlir_op *op, struct spmd_split *s);

/* spmd_move.c: a device's value of the program's, in this division; NULL: an error */
struct mlir_value *spmd_get(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
			    const struct spmd_split *to);
/* The same of one that is divided as from; type: the whole's */
struct mlir_value *spmd_move(struct spmd *p, struct spmd_scope *s, struct mlir_value *local,
			     const struct mlir_type *whole, const struct spmd_split *from,
			     const struct spmd_split *to);
/*
 * Sums over the axes of mask: what is to be divided along some of them is scattered. have, of v,
 * becomes what it is then
 */
struct mlir_value *spmd_sum_up(struct spmd *p, struct spmd_scope *s, struct mlir_value *v,
			       enum spmd_sum sum, unsigned int mask, struct spmd_split *have,
			       const struct spmd_split *to);
const struct mlir_type *spmd_local_type(struct spmd *p, const struct mlir_type *t,
					const struct spmd_split *s);

/* spmd_emit.c: the body of one device's program */
int spmd_emit(struct spmd *p, struct mlir_block *out);

#endif
