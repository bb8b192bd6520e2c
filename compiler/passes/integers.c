// SPDX-License-Identifier: MIT
/*
 * Integers as HLO and ONNX have them (all bits count, results wrap around) are expanded to what the
 * datapath does, which is fp32, saturation and three signed types. What provably stays below 2^24
 * is left alone; the rest is split into parts (expand/words.c). After this pass there are no
 * unsigned types: their bits are those of the signed type of the same size, and only the model's
 * user sees the difference.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pass.h"
#include "ir/range.h"
#include "expand/words.h"

#define EXACT (1 << 24) /* fp32 holds every integer up to here */

struct ints {
	struct ncc_pass *p;
	struct ncc_build bl;
	int64_t const_bytes;
	struct ncc_shape *was; /* by id: the shapes that operations had before the pass */
	struct ncc_range *range;
	struct ncc_op *in[NCC_MAX_DIMS]; /* the current operation's operands as they are now */
	const struct ncc_shape *from[NCC_MAX_DIMS]; /* and their former shapes */
	const struct ncc_range *r[NCC_MAX_DIMS];
};

static bool is_integer(const struct ncc_shape *s)
{
	return !s->pred && !ncc_is_float(s->dtype);
}

static uint8_t signed_of(uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_UINT8:
		return NEURON_DT_INT8;
	case NEURON_DT_UINT16:
		return NEURON_DT_INT16;
	case NEURON_DT_UINT32:
		return NEURON_DT_INT32;
	default:
		return dtype;
	}
}

static bool small(const struct ncc_range *r)
{
	return ncc_range_within(r, -EXACT, EXACT);
}

/* Operand i as a word */
static struct ncc_op *widen(struct ints *x, unsigned int i)
{
	const struct ncc_shape *s = x->from[i];
	struct ncc_op *w = build_cast(&x->bl, x->in[i], NEURON_DT_INT32);

	if (!s->pred && ncc_is_unsigned(s->dtype) && s->dtype != NEURON_DT_UINT32 &&
	    x->r[i]->hi > (s->dtype == NEURON_DT_UINT8 ? 127 : 32767))
		w = word_bits(&x->bl, NCC_AND, w, s->dtype == NEURON_DT_UINT8 ? 0xff : 0xffff);
	return w;
}

/* The low bits of a word in a type; r: the word's bounds */
static struct ncc_op *narrow(struct ints *x, struct ncc_op *w, uint8_t dtype,
			     const struct ncc_range *r)
{
	unsigned int bits = 8 * ncc_dtype_size(dtype);

	if (bits == 32)
		return w;
	if (!r || !ncc_range_within(r, -(1 << (bits - 1)), (1 << (bits - 1)) - 1))
		w = word_extend(&x->bl, w, bits);
	return build_cast(&x->bl, w, signed_of(dtype));
}

/* The bounds of the exact result, or the type's if it may wrap around */
static struct ncc_range unwrapped(const struct ints *x, const struct ncc_op *op)
{
	struct ncc_shape wide = op->shape;

	wide.dtype = ncc_is_unsigned(op->shape.dtype) ? NEURON_DT_UINT32 : NEURON_DT_INT32;
	return ncc_range_of(op, &wide, x->r);
}

static bool all_small(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	bool ok = small(r);

	for (unsigned int i = 0; i < op->nin; i++)
		ok = ok && small(x->r[i]);
	return ok;
}

static struct ncc_op *divide_small(struct ints *x, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_build *bl = &x->bl;
	struct ncc_op *q = expand_divide_whole(bl, build_cast(bl, a, NEURON_DT_FP32),
					       build_cast(bl, b, NEURON_DT_FP32));

	q = build_cast(bl, q, NEURON_DT_INT32);
	if (x->r[1]->lo > 0 || x->r[1]->hi < 0)
		return q;
	return build_select(bl, word_compare(bl, NCC_EQ, b, word_splat(bl, b, 0), true),
			    word_splat(bl, a, UINT32_MAX), q);
}

/*
 * How an operation is expanded; r: its bounds before it wraps around, is_signed: its operands are
 * signed
 */
typedef struct ncc_op *(*rewrite_fn)(struct ints *x, const struct ncc_op *op, bool is_signed,
				     const struct ncc_range *r);

/* Computes in fp32 where that is exact, else by words. */
static struct ncc_op *arithmetic(struct ints *x, const struct ncc_op *op, bool is_signed,
				 const struct ncc_range *r)
{
	static const build_fn by_words[NCC_KINDS] = {
		[NCC_ADD] = word_add,
		[NCC_SUB] = word_sub,
		[NCC_MUL] = word_mul,
	};
	struct ncc_op *a = widen(x, 0), *b = widen(x, 1);

	(void)is_signed;
	return all_small(x, op, r) ? word_small(&x->bl, op->kind, a, b)
				   : by_words[op->kind](&x->bl, a, b);
}

static struct ncc_op *negate(struct ints *x, const struct ncc_op *op, bool is_signed,
			     const struct ncc_range *r)
{
	struct ncc_op *a = widen(x, 0), *zero = word_splat(&x->bl, a, 0);

	(void)is_signed;
	return all_small(x, op, r) ? word_small(&x->bl, NCC_SUB, zero, a)
				   : word_sub(&x->bl, zero, a);
}

static struct ncc_op *magnitude(struct ints *x, const struct ncc_op *op, bool is_signed,
				const struct ncc_range *r)
{
	struct ncc_op *a = widen(x, 0);

	(void)op;
	(void)is_signed;
	(void)r;
	return x->r[0]->lo >= 0 ? a : word_abs(&x->bl, a);
}

static struct ncc_op *sign(struct ints *x, const struct ncc_op *op, bool is_signed,
			   const struct ncc_range *r)
{
	struct ncc_op *a = widen(x, 0), *b;

	(void)op;
	(void)r;
	if (is_signed) /* a conversion to fp32 keeps it */
		return build_unary(&x->bl, NCC_SIGN, a);
	b = word_compare(&x->bl, NCC_NE, a, word_splat(&x->bl, a, 0), false);
	return build_cast(&x->bl, b, NEURON_DT_INT32);
}

/* The power of two that operand i is; 0: 1 or no power of two below 2^31 */
static unsigned int power_of(const struct ints *x, unsigned int i)
{
	double v;
	int power;

	if (!ncc_scalar_value(x->in[i], &v) || v < 2 || frexp(v, &power) != 0.5)
		return 0;
	return (unsigned int)power - 1;
}

/* A word divided by a power of two: towards 0, as a shift does of what is not negative */
static struct ncc_op *divide_by_power(struct ints *x, struct ncc_op *a, unsigned int power,
				      bool is_signed)
{
	struct ncc_build *bl = &x->bl;
	struct ncc_op *minus;

	if (!is_signed || x->r[0]->lo >= 0)
		return word_bits(bl, NCC_SHR, a, power);
	minus = word_small(bl, NCC_SUB, word_splat(bl, a, 0), word_bits(bl, NCC_SHR, a, 31));
	a = word_add(bl, a, word_bits(bl, NCC_AND, minus, (1u << power) - 1));
	return a ? expand_shift_arithmetic(bl, a, word_splat(bl, a, power)) : NULL;
}

static struct ncc_op *divide(struct ints *x, const struct ncc_op *op, bool is_signed,
			     const struct ncc_range *r)
{
	struct ncc_op *a = widen(x, 0), *b = widen(x, 1);
	unsigned int power = power_of(x, 1);

	if (power && !(is_signed && x->r[0]->lo < 0 && all_small(x, op, r)))
		return divide_by_power(x, a, power, is_signed);
	return all_small(x, op, r) ? divide_small(x, a, b) : word_divide(&x->bl, a, b, is_signed);
}

/*
 * Are words compared in fp32 as they are? A word that it does not hold is rounded to the same side
 * of all numbers that are smaller.
 */
static bool compare_as_floats(const struct ncc_range *a, const struct ncc_range *b, bool is_signed)
{
	const int64_t most = EXACT - 1;

	return (small(a) && small(b)) || (is_signed && (ncc_range_within(a, -most, most) ||
							ncc_range_within(b, -most, most)));
}

static struct ncc_op *compare_words(struct ints *x, enum ncc_kind kind, struct ncc_op *a,
				    struct ncc_op *b, bool is_signed)
{
	if (compare_as_floats(x->r[0], x->r[1], is_signed))
		return build_compare(&x->bl, kind, a, b);
	return word_compare(&x->bl, kind, a, b, is_signed);
}

static struct ncc_op *extreme(struct ints *x, const struct ncc_op *op, bool is_signed,
			      const struct ncc_range *r)
{
	const enum ncc_kind before = op->kind == NCC_MAX ? NCC_GE : NCC_LE;
	struct ncc_op *a = widen(x, 0), *b = widen(x, 1);

	if (all_small(x, op, r))
		return word_small(&x->bl, op->kind, a, b);
	return build_select(&x->bl, compare_words(x, before, a, b, is_signed), a, b);
}

static struct ncc_op *compare(struct ints *x, const struct ncc_op *op)
{
	struct ncc_op *a = widen(x, 0), *b = widen(x, 1);

	return compare_words(x, op->kind, a, b, !ncc_is_unsigned(x->from[0]->dtype));
}

static struct ncc_op *float_to_int(struct ints *x, const struct ncc_shape *to)
{
	struct ncc_op *f = build_cast(&x->bl, x->in[0], NEURON_DT_FP32), *w;
	bool is_signed = !ncc_is_unsigned(to->dtype);
	struct ncc_range r = ncc_type_range(to);
	struct ncc_shape s;

	if (!f || (is_signed && to->dtype == NEURON_DT_INT32))
		return build_cast(&x->bl, f, NEURON_DT_INT32);
	if (to->dtype == NEURON_DT_UINT32)
		return word_from_f32(&x->bl, f, false);
	if (is_signed)
		return build_cast(&x->bl, f, to->dtype);
	s = f->shape;
	f = build_node(&x->bl, NCC_MAX, &s, f, build_splat(&x->bl, &s, 0), NULL);
	f = build_node(&x->bl, NCC_MIN, &s, f, build_splat(&x->bl, &s, (double)r.hi), NULL);
	w = build_cast(&x->bl, f, NEURON_DT_INT32);
	return narrow(x, w, to->dtype, NULL);
}

static struct ncc_op *convert(struct ints *x, const struct ncc_op *op)
{
	const struct ncc_shape *from = x->from[0], *to = &op->shape;
	struct ncc_op *w;

	if (ncc_is_float(from->dtype))
		return float_to_int(x, to);
	w = widen(x, 0);
	if (!ncc_is_float(to->dtype))
		return narrow(x, w, to->dtype, x->r[0]);
	w = word_to_f32(&x->bl, w, from->pred || from->dtype != NEURON_DT_UINT32 || small(x->r[0]));
	return build_cast(&x->bl, w, to->dtype);
}

/* Does the initial value leave the result as it is? */
static bool is_neutral(const struct ncc_op *op, const struct ncc_op *init,
		       const struct ncc_shape *was)
{
	double v;

	if (!ncc_scalar_value(init, &v))
		return false;
	if (ncc_is_unsigned(was->dtype) && v < 0) /* the word is read as signed */
		v += 0x1p32;
	return v == ncc_neutral(op->func, was);
}

static struct ncc_op *with_init(struct ints *x, const struct ncc_op *op, struct ncc_op *w,
				struct ncc_op *init, bool is_signed)
{
	struct ncc_op *p;
	struct ncc_shape s;

	if (!w || !init || is_neutral(op, init, x->from[1]))
		return init ? w : NULL;
	s = w->shape;
	init = s.ndim ? build_spread(&x->bl, &s, init, NULL) : init;
	switch (op->func) {
	case NCC_ADD:
		return word_add(&x->bl, w, init);
	case NCC_MUL:
		return word_mul(&x->bl, w, init);
	case NCC_MAX:
	case NCC_MIN:
		p = word_compare(&x->bl, op->func == NCC_MAX ? NCC_GE : NCC_LE, w, init, is_signed);
		return build_select(&x->bl, p, w, init);
	default:
		return word_small(&x->bl, op->func, w, init);
	}
}

static struct ncc_op *reduce(struct ints *x, const struct ncc_op *op, bool is_signed,
			     const struct ncc_range *r)
{
	struct ncc_op *w = widen(x, 0), *init = widen(x, 1), *c;
	struct ncc_shape s = op->shape;

	if (!all_small(x, op, r) || op->func == NCC_MUL || op->func == NCC_AND ||
	    op->func == NCC_OR)
		return with_init(x, op, word_reduce(&x->bl, op, w, is_signed), init, is_signed);
	s.dtype = NEURON_DT_INT32;
	c = build_node(&x->bl, NCC_REDUCE, &s, w, init, NULL);
	if (c) {
		c->func = op->func;
		c->mask = op->mask;
	}
	return c;
}

/*
 * Of words: the instruction adds them modulo 2^32 and compares them as signed ones, as which
 * unsigned ones are ordered with another highest bit.
 */
static bool combine_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	(void)x;
	(void)r;
	return !is_integer(&op->shape) || op->func == NCC_SELECT || op->func == NCC_ADD ||
	       !ncc_is_unsigned(op->shape.dtype);
}

static struct ncc_op *combine(struct ints *x, const struct ncc_op *op, bool is_signed,
			      const struct ncc_range *r)
{
	const uint32_t highest = 1u << 31;
	struct ncc_op *a = word_bits(&x->bl, NCC_XOR, widen(x, 0), highest), *c;
	struct ncc_op *u = word_bits(&x->bl, NCC_XOR, widen(x, 2), highest);

	(void)is_signed;
	(void)r;
	c = a && u ? build_node(&x->bl, NCC_COMBINE, &a->shape, a, x->in[1], u) : NULL;
	if (c)
		c->func = op->func;
	return word_bits(&x->bl, NCC_XOR, c, highest);
}

#define DIGITS 4

/* Splits an operand into s8 digits of base 256, the lowest first; returns how many there are. */
static unsigned int digits(struct ints *x, unsigned int i, struct ncc_op *digit[DIGITS])
{
	struct ncc_op *w = widen(x, i);
	const struct ncc_range *r = x->r[i];
	unsigned int n = ncc_range_within(r, -128, 127)		  ? 1
			 : ncc_range_within(r, -32896, 32639)	  ? 2
			 : ncc_range_within(r, -8000000, 8000000) ? 3
								  : DIGITS;

	for (unsigned int k = 0; k < n; k++) {
		digit[k] =
			build_cast(&x->bl, n == 1 ? w : word_extend(&x->bl, w, 8), NEURON_DT_INT8);
		if (k + 1 < n) /* the rest without the digit */
			w = word_bits(&x->bl, NCC_SHR,
				      word_add(&x->bl, w, word_splat(&x->bl, w, 128)), 8);
	}
	return n;
}

/* dot and convolution as products of digits, which PE adds up modulo 2^32 */
static struct ncc_op *product(struct ints *x, const struct ncc_op *op)
{
	struct ncc_op *a[DIGITS] = { NULL }, *b[DIGITS] = { NULL }, *sum = NULL;
	unsigned int na = digits(x, 0, a), nb = digits(x, 1, b);
	struct ncc_shape s = op->shape;

	s.dtype = NEURON_DT_INT32;
	for (unsigned int i = 0; i < na; i++) {
		for (unsigned int k = 0; k < nb && i + k < 4; k++) {
			struct ncc_op *p =
				a[i] && b[k] ? build_node(&x->bl, op->kind, &s, a[i], b[k], NULL)
					     : NULL;

			if (!p)
				return NULL;
			ncc_copy_attrs(p, op);
			if (i + k)
				p = word_bits(&x->bl, NCC_SHL, p, 8 * (i + k));
			sum = sum ? word_add(&x->bl, sum, p) : p;
		}
	}
	if (ncc_is_float(op->shape.dtype))
		return build_cast(&x->bl, sum, op->shape.dtype);
	return narrow(x, sum, op->shape.dtype, NULL);
}

/* Does the datapath compute this as it is? It does for words if all bounds are small. */
static bool words_stay(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *from = x->from[0];
	bool word = !from->pred && from->dtype == NEURON_DT_INT32;

	return !is_integer(&op->shape) || (word && all_small(x, op, r));
}

/* The greater of two signed bytes or halves is one of them: no bound is needed. */
static bool extreme_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *from = x->from[0];

	return words_stay(x, op, r) ||
	       (!from->pred && (from->dtype == NEURON_DT_INT8 || from->dtype == NEURON_DT_INT16));
}

static bool floats_stay(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	(void)x;
	(void)r;
	return !is_integer(&op->shape);
}

static bool convert_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *from = x->from[0];

	(void)r;
	if (ncc_is_float(from->dtype) || from->pred || op->shape.pred)
		return op->shape.pred || !ncc_is_unsigned(op->shape.dtype) || from->pred;
	if (ncc_is_float(op->shape.dtype))
		return !ncc_is_unsigned(from->dtype);
	return !ncc_is_unsigned(from->dtype) && !ncc_is_unsigned(op->shape.dtype) &&
	       ncc_dtype_size(op->shape.dtype) >= ncc_dtype_size(from->dtype);
}

static bool compare_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *from = x->from[0];

	(void)op;
	(void)r;
	return from->pred || ncc_is_float(from->dtype) ||
	       (!ncc_is_unsigned(from->dtype) && compare_as_floats(x->r[0], x->r[1], true));
}

static bool reduce_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *from = x->from[0];
	bool word = !from->pred && from->dtype == NEURON_DT_INT32;

	return !is_integer(from) || (word && all_small(x, op, r) && op->func != NCC_MUL);
}

static bool product_stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	const struct ncc_shape *a = x->from[0], *b = x->from[1];

	(void)r;
	return !is_integer(a) || !is_integer(b) ||
	       (a->dtype == NEURON_DT_INT8 && b->dtype == NEURON_DT_INT8 &&
		(op->shape.dtype == NEURON_DT_INT32 || op->shape.dtype == NEURON_DT_FP32));
}

/* An operation without a rule only moves elements, or treats all bits alike. */
static const struct rule {
	bool (*stays)(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r);
	rewrite_fn words; /* the low bits are the result */
	struct ncc_op *(*whole)(struct ints *x, const struct ncc_op *op); /* the result itself */
} rules[NCC_KINDS] = {
	[NCC_CONVERT] = { convert_stays, .whole = convert },
	[NCC_ADD] = { words_stay, .words = arithmetic },
	[NCC_SUB] = { words_stay, .words = arithmetic },
	[NCC_MUL] = { words_stay, .words = arithmetic },
	[NCC_MAX] = { extreme_stays, .words = extreme },
	[NCC_MIN] = { extreme_stays, .words = extreme },
	[NCC_NEG] = { words_stay, .words = negate },
	[NCC_ABS] = { floats_stay, .words = magnitude },
	[NCC_SIGN] = { floats_stay, .words = sign },
	[NCC_DIV] = { floats_stay, .words = divide },
	[NCC_EQ] = { compare_stays, .whole = compare },
	[NCC_NE] = { compare_stays, .whole = compare },
	[NCC_GE] = { compare_stays, .whole = compare },
	[NCC_GT] = { compare_stays, .whole = compare },
	[NCC_LE] = { compare_stays, .whole = compare },
	[NCC_LT] = { compare_stays, .whole = compare },
	[NCC_REDUCE] = { reduce_stays, .words = reduce },
	[NCC_COMBINE] = { combine_stays, .words = combine },
	[NCC_DOT] = { product_stays, .whole = product },
	[NCC_CONV] = { product_stays, .whole = product },
};

static bool stays(const struct ints *x, const struct ncc_op *op, const struct ncc_range *r)
{
	return !rules[op->kind].stays || rules[op->kind].stays(x, op, r);
}

static struct ncc_op *rewrite(struct ints *x, const struct ncc_op *op)
{
	const struct rule *rule = &rules[op->kind];
	struct ncc_range r = unwrapped(x, op);

	if (rule->whole)
		return rule->whole(x, op);
	return narrow(x, rule->words(x, op, !ncc_is_unsigned(x->from[0]->dtype), &r),
		      op->shape.dtype, &r);
}

/* Does the comparison have one result, whatever the operands are within their bounds? */
static bool is_decided(const struct ncc_op *op, const struct ncc_range *a,
		       const struct ncc_range *b, double *v)
{
	if (a->lo > a->hi || b->lo > b->hi || (a->hi >= b->lo && b->hi >= a->lo))
		return false;
	*v = ncc_compares(op->kind, (double)a->lo, (double)b->lo);
	return true;
}

static bool is_always(const struct ncc_range *r, int64_t v)
{
	return r->lo == v && r->hi == v;
}

/* The operand that an operation of integers always is, within their bounds; -1: neither */
static int is_operand(const struct ncc_op *op, const struct ncc_range *a, const struct ncc_range *b)
{
	if (!is_integer(&op->shape) || op->nin != 2 || a->lo > a->hi || b->lo > b->hi)
		return -1;
	switch (op->kind) {
	case NCC_MAX:
		return a->lo >= b->hi ? 0 : b->lo >= a->hi ? 1 : -1;
	case NCC_MIN:
		return a->hi <= b->lo ? 0 : b->hi <= a->lo ? 1 : -1;
	case NCC_ADD:
		return is_always(b, 0) ? 0 : is_always(a, 0) ? 1 : -1;
	case NCC_SUB:
		return is_always(b, 0) ? 0 : -1;
	case NCC_MUL:
		return is_always(b, 1) ? 0 : is_always(a, 1) ? 1 : -1;
	default:
		return -1;
	}
}

/* The operation's constant value, of what there is or a new constant; NULL: it is not known */
static struct ncc_op *known(struct ints *x, const struct ncc_op *op)
{
	double v;
	int same;

	if (op->kind == NCC_SELECT && ncc_scalar_value(x->in[0], &v)) {
		x->range[op->id] = *x->r[v ? 1 : 2];
		return x->in[v ? 1 : 2];
	}
	if (ncc_is_compare(op->kind) && is_integer(x->from[0]) &&
	    is_decided(op, x->r[0], x->r[1], &v))
		return build_splat(&x->bl, &op->shape, v);
	same = op->nin == 2 ? is_operand(op, x->r[0], x->r[1]) : -1;
	return same < 0 ? NULL : x->in[same];
}

static int one(struct ints *x, struct ncc_op *op)
{
	const struct ncc_range *r[NCC_MAX_OPERANDS];
	struct ncc_range exact;
	struct ncc_op *to;

	x->was[op->id] = op->shape;
	for (unsigned int i = 0; i < op->nin; i++) {
		r[i] = &x->range[op->in[i]->id];
		if (i < NCC_MAX_DIMS) {
			x->from[i] = &x->was[op->in[i]->id];
			x->r[i] = r[i];
		}
		while (op->in[i]->replaced)
			op->in[i] = op->in[i]->replaced;
		if (i < NCC_MAX_DIMS)
			x->in[i] = op->in[i];
	}

	x->range[op->id] = ncc_range_of(op, &op->shape, r);
	if (op->kind == NCC_POW && is_integer(&op->shape))
		return ncc_fail_op(x->p->err, -ENOTSUP, op, "of integers is not supported");
	x->bl.name = op->name;
	x->bl.kind = ncc_kind_name(op->kind);
	x->bl.where = op->where;
	op->replaced = known(x, op);
	if (op->replaced)
		return 0;
	exact = op->nin && op->nin <= 3 ? unwrapped(x, op) : x->range[op->id];
	if (stays(x, op, &exact)) {
		op->shape.dtype = signed_of(op->shape.dtype);
		return 0;
	}

	x->p->err->text[0] = 0;
	to = rewrite(x, op);
	if (!to)
		return x->p->err->text[0] ? -EFBIG : ncc_no_memory(x->p->err);
	op->replaced = to;
	return 0;
}

static bool any_integers(const struct ncc_module *m)
{
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (is_integer(&op->shape))
			return true;
	return false;
}

/*
 * Records the types that the model's user sees, unless a module that was read as text gives them.
 */
static bool keep_out_types(struct ncc_module *m)
{
	m->out_dtype = ncc_alloc(m, m->nouts + 1);
	for (unsigned int i = 0; m->out_dtype && i < m->nouts; i++)
		m->out_dtype[i] = m->outs[i]->shape.dtype;
	return m->out_dtype;
}

int pass_integers(struct ncc_pass *p)
{
	struct ncc_module *m = p->m;
	struct ints x = { .p = p, .bl = { .m = m, .err = p->err } };
	int rc = 0;

	if (!any_integers(m))
		return 0;
	x.bl.const_bytes = &x.const_bytes;
	x.was = ncc_alloc(m, (m->nops + 1) * sizeof(*x.was));
	x.range = ncc_alloc(m, (m->nops + 1) * sizeof(*x.range));
	if (!x.was || !x.range || (!m->out_dtype && !keep_out_types(m)))
		return ncc_no_memory(p->err);
	for (struct ncc_op *op = m->first; op && !rc; op = op->next) {
		if (op->kind == NCC_PARAM && !op->io_dtype)
			op->io_dtype = op->shape.dtype;
		rc = one(&x, op);
	}
	return rc;
}
