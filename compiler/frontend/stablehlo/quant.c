// SPDX-License-Identifier: MIT
/*
 * Numbers that stand for others: (number - zero point) * scale, with one of either for a tensor or
 * for each place in a dimension. A tensor of those is its storage's here. What makes them and what
 * takes them for the others is computed in fp32; what moves them moves the storage. Arithmetic
 * takes what its operands stand for, in fp32, and makes of that what stands for it.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

/* So far fp32 has all integers of them, and differences from a zero point. */
#define MOST_BITS 16
#define MOST_PLAIN_BITS \
	32 /* without zero points: what fp32 has not of them, the numbers have not */

static const char *const moves[] = {
	"broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice",
	"gather",	    "pad",	   "reshape",	    "reverse",
	"select",	    "slice",	   "transpose"
};

/* Element by element, and products; the specification has these words for each */
static const char *const computed[] = {
	"abs",
	"add",
	"atan2",
	"cbrt",
	"ceil",
	"clamp",
	"compare",
	"convolution",
	"cosine",
	"divide",
	"dot",
	"dot_general",
	"exponential",
	"exponential_minus_one",
	"floor",
	"is_finite",
	"log",
	"log_plus_one",
	"logistic",
	"maximum",
	"minimum",
	"multiply",
	"negate",
	"power",
	"remainder",
	"round_nearest_afz",
	"round_nearest_even",
	"rsqrt",
	"sign",
	"sine",
	"sqrt",
	"subtract",
	"tan",
	"tanh",
};

static const struct mlir_quant *quant_of(const struct mlir_type *t)
{
	return t->kind == MLIR_TENSOR ? t->quant : NULL;
}

/* Have both one scale, the same? Then moving elements does not change what they mean. */
static bool same(const struct mlir_quant *a, const struct mlir_quant *b)
{
	return a && a->axis < 0 && quant_same(a, b);
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Indices and predicates are of no such type. */
static bool is_move(const struct mlir_op *op)
{
	bool found = op->nout == 1 && op->nin && quant_of(op->out[0].type);

	for (size_t i = 0; found && i < op->nin; i++)
		found = !quant_of(op->in[i]->type)
				? op->nin > 1
				: same(quant_of(op->in[i]->type), quant_of(op->out[0].type));
	return found && is_among(op->name, moves, sizeof(moves) / sizeof(moves[0]));
}

static bool has_quants(const struct mlir_op *op)
{
	bool has = false;

	for (size_t i = 0; i < op->nin; i++)
		has = has || quant_of(op->in[i]->type);
	for (size_t i = 0; i < op->nout; i++)
		has = has || quant_of(op->out[i].type);
	return has;
}

bool quant_computes(const struct mlir_op *op)
{
	return op->nout == 1 && has_quants(op) &&
	       is_among(op->name, computed, sizeof(computed) / sizeof(computed[0]));
}

int quant_check(struct scope *s, const struct mlir_op *op)
{
	if (!has_quants(op) || !strcmp(op->name, "uniform_quantize") ||
	    !strcmp(op->name, "uniform_dequantize") || !strcmp(op->name, "constant") ||
	    !strcmp(op->name, "call") || is_move(op))
		return 0;
	return convert_fail(
		s, -ENOTSUP,
		"of a quantized type: only moves of one for the whole tensor, arithmetic "
		"by elements, products, uniform_quantize and uniform_dequantize are "
		"supported");
}

/* An array of f32, of the dimensions of like or of none (NULL) */
static Ncc__Hlo__Shape *floats(struct scope *s, const struct mlir_type *like)
{
	struct mlir_type t = { .kind = MLIR_TENSOR, .name = "f32", .number = HLO_F32 };

	t.ndim = like ? like->ndim : 0;
	t.dim = like ? like->dim : NULL;
	return convert_shape(s, &t);
}

/* Numbers, one or one for each place in a dimension, as an array like another */
static hlo_instruction *numbers(struct scope *s, const struct mlir_quant *q, bool zeros,
				const struct mlir_type *like)
{
	struct mlir_type *t = convert_alloc(s->v, 1, sizeof(*t));
	struct mlir_attr *a = convert_alloc(s->v, 1, sizeof(*a));
	int64_t *dim = convert_alloc(s->v, 2, sizeof(*dim));
	float *v = convert_alloc(s->v, q->n + 1, sizeof(*v));
	hlo_instruction *p;

	if (!t || !a || !dim || !v)
		return NULL;
	for (size_t i = 0; i < q->n; i++)
		v[i] = zeros ? (float)q->zero[i] : (float)q->scale[i];
	dim[0] = (int64_t)q->n;
	dim[1] = q->axis;
	*t = (struct mlir_type){ .kind = MLIR_TENSOR,
				 .name = "f32",
				 .number = HLO_F32,
				 .ndim = q->axis >= 0,
				 .dim = dim };
	a->kind = MLIR_DENSE;
	a->type = t;
	a->data = (const uint8_t *)v;
	a->size = q->n * sizeof(*v);
	p = literal_add(s, a);
	p = p ? convert_add(s, "broadcast", floats(s, like), &p, 1) : NULL;
	if (p && q->axis >= 0) {
		p->n_dimensions = 1;
		p->dimensions = &dim[1];
	}
	return p;
}

static hlo_instruction *number(struct scope *s, double v)
{
	const float f = (float)v;
	const struct mlir_quant q = { .axis = -1, .n = 1, .scale = &(double){ f } };
	struct mlir_type *t = convert_alloc(s->v, 1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct mlir_type){ .kind = MLIR_TENSOR, .name = "f32", .number = HLO_F32 };
	return numbers(s, &q, false, t);
}

static hlo_instruction *two(struct scope *s, const char *opcode, hlo_instruction *a,
			    hlo_instruction *b)
{
	return a && b ? convert_add(s, opcode, a->shape, (hlo_instruction *[]){ a, b }, 2) : NULL;
}

static hlo_instruction *convert_to(struct scope *s, hlo_instruction *x, Ncc__Hlo__Shape *shape)
{
	return x && shape ? convert_add(s, "convert", shape, &x, 1) : NULL;
}

static int check(struct scope *s, const struct mlir_type *t)
{
	const struct mlir_quant *q = t->quant;
	const unsigned int bits = quant_bits(q);

	unsigned int most = MOST_PLAIN_BITS;

	for (size_t i = 0; i < q->n; i++)
		most = q->zero[i] ? MOST_BITS : most;
	if (q->expressed->number != HLO_F32 || !bits || bits > most)
		return convert_fail(s, -ENOTSUP,
				    "'%.60s': only f32 in integers of up to %d bits is supported, "
				    "or of %d without zero points",
				    t->name, MOST_BITS, MOST_PLAIN_BITS);
	if (q->axis < 0 ? q->n != 1 : q->axis >= t->ndim || (int64_t)q->n != t->dim[q->axis])
		return convert_fail(s, -EINVAL, "'%.60s' has %zu scales", t->name, q->n);
	return 0;
}

static hlo_instruction *dequantized(struct scope *s, hlo_instruction *x, const struct mlir_type *t)
{
	x = convert_to(s, x, floats(s, t));
	x = two(s, "subtract", x, numbers(s, t->quant, true, t));
	return two(s, "multiply", x, numbers(s, t->quant, false, t));
}

static hlo_instruction *quantized(struct scope *s, hlo_instruction *x, const struct mlir_type *t)
{
	hlo_instruction *low = number(s, (double)t->quant->least),
			*high = number(s, (double)t->quant->most);

	x = two(s, "divide", x, numbers(s, t->quant, false, t));
	x = x ? convert_add(s, "round-nearest-even", x->shape, &x, 1) : NULL;
	x = two(s, "add", x, numbers(s, t->quant, true, t));
	x = x && low && high
		    ? convert_add(s, "clamp", x->shape, (hlo_instruction *[]){ low, x, high }, 3)
		    : NULL;
	return convert_to(s, x, convert_shape(s, t));
}

/* Quantizes, also numbers that are quantized already */
int whole_quantize(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_type *from = op->in[0]->type, *to = op->out[0].type;
	hlo_instruction *x = convert_value(s, op->in[0]);
	int rc = x ? 0 : -ENOTSUP;

	if (!quant_of(to) || (!quant_of(from) && from->number != HLO_F32))
		return convert_fail(s, -ENOTSUP, "from '%.60s' to '%.60s'", from->name, to->name);
	if (!rc && quant_of(from)) {
		rc = check(s, from);
		x = rc ? NULL : dequantized(s, x, from);
	}
	return rc ?: check(s, to) ?: convert_results(s, op, x ? quantized(s, x, to) : NULL);
}

int whole_dequantize(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_type *from = op->in[0]->type, *to = op->out[0].type;
	hlo_instruction *x = convert_value(s, op->in[0]);

	if (!x)
		return -ENOTSUP;
	if (!quant_of(from) || to->number != HLO_F32 || quant_of(to))
		return convert_fail(s, -ENOTSUP, "from '%.60s' to '%.60s'", from->name, to->name);
	return check(s, from) ?: convert_results(s, op, dequantized(s, x, from));
}

static const struct mlir_type *expressed(struct scope *s, const struct mlir_type *t)
{
	struct mlir_type *f = convert_alloc(s->v, 1, sizeof(*f));

	if (f)
		*f = (struct mlir_type){ .kind = MLIR_TENSOR,
					 .name = "f32",
					 .number = HLO_F32,
					 .ndim = t->ndim,
					 .dim = t->dim,
					 .bound = t->bound };
	return f;
}

/* A value of what an operand stands for; another operand is as it is */
static int take_operand(struct scope *s, struct mlir_value *from, struct mlir_value **to)
{
	struct mlir_value *v = convert_alloc(s->v, 1, sizeof(*v));
	hlo_instruction *x = convert_value(s, from);
	int rc = x ? 0 : -ENOTSUP;

	*to = from;
	if (rc || !quant_of(from->type))
		return rc;
	rc = check(s, from->type);
	x = rc ? NULL : dequantized(s, x, from->type);
	if (rc)
		return rc;
	if (!v || !x)
		return ncc_no_memory(s->v->err);
	v->type = expressed(s, from->type);
	convert_set(s, v, x);
	*to = v;
	return v->type ? 0 : ncc_no_memory(s->v->err);
}

int quant_compute(struct scope *s, const struct mlir_op *op, convert_fn *convert)
{
	const struct mlir_type *result = op->out[0].type;
	struct mlir_op plain = *op;
	struct mlir_value out = op->out[0];
	int rc = quant_of(result) ? check(s, result) : 0;

	plain.in = convert_alloc(s->v, op->nin + 1, sizeof(*plain.in));
	if (!plain.in)
		return ncc_no_memory(s->v->err);
	for (size_t i = 0; !rc && i < op->nin; i++)
		rc = take_operand(s, op->in[i], &plain.in[i]);
	if (rc || !quant_of(result))
		return rc ? rc : convert(s, &plain);
	out.type = expressed(s, result);
	plain.out = &out;
	rc = out.type ? convert(s, &plain) : ncc_no_memory(s->v->err);
	return rc ? rc : convert_results(s, op, quantized(s, convert_value(s, &out), result));
}
