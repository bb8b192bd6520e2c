// SPDX-License-Identifier: MIT
/* The forms of operations of StableHLO that are like no other one's: see text.h */
#include <errno.h>

#include "text.h"

static void attributes(struct text *x, struct draft *d)
{
	text_pretty(x, d, "{}");
}

/* Dimension numbers: "[0] x [1]" */
static void pair(struct text *x, struct draft *d, const char *lhs, const char *rhs)
{
	text_set(x, d, lhs, text_numbers(x));
	text_expect_word(x, "x");
	text_set(x, d, rhs, text_numbers(x));
}

void form_dot_general(struct text *x, struct draft *d)
{
	text_pretty(x, d, "$ , $ ,");
	if (text_take_word(x, "batching_dims")) {
		text_expect(x, '=');
		pair(x, d, "lhs_batching_dimensions", "rhs_batching_dimensions");
		text_expect(x, ',');
	}
	text_pretty(x, d, "contracting_dims =");
	pair(x, d, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
	text_pretty(x, d, "?( , precision = p:precision_config )?");
	if (text_is(x, ',')) {
		text_pretty(x, d, ", algorithm =");
		text_set(x, d, "algorithm", text_fields(x, "stablehlo.dot_algorithm"));
	}
	text_pretty(x, d, "{} :fn");
}

/* [1:3, 0:4:2] */
void form_slice(struct text *x, struct draft *d)
{
	static const char *const names[] = { "start_indices", "limit_indices", "strides" };
	struct list list[3] = { { 0 } };

	text_operand(x, d);
	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		int64_t *v[3];

		for (int i = 0; i < 3; i++)
			v[i] = list_add(x, &list[i], sizeof(*v[i]));
		if (!v[0] || !v[1] || !v[2])
			return;
		*v[0] = text_integer(x);
		text_expect(x, ':');
		*v[1] = text_integer(x);
		*v[2] = text_take(x, ':') ? text_integer(x) : 1;
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	for (int i = 0; i < 3 && !text_bad(x); i++)
		text_set(x, d, names[i], text_dense_of(x, list[i].p, list[i].n));
	text_pretty(x, d, "{} :fn");
}

/* Reduction */

/* An element of a tensor, as a type of its own */
static const struct mlir_type *scalar_of(struct text *x, const struct mlir_type *t)
{
	struct mlir_type *s = new_type(&x->r, t->kind, t->name);

	if (s) {
		s->number = t->number;
		s->dim = reader_alloc(&x->r, 1, sizeof(*s->dim));
	}
	return s;
}

/* "applies stablehlo.add": a region of this operation, which is made here */
static void applied(struct text *x, struct draft *d, struct token t)
{
	struct mlir_value *const *in = d->in.p;
	const struct mlir_type *type = d->in.n ? in[d->in.n - 1]->type : NULL;
	struct mlir_region *region = list_add(x, &d->regions, sizeof(*region));
	struct mlir_block *b = reader_alloc(&x->r, 1, sizeof(*b));
	struct mlir_op *ops = reader_alloc(&x->r, 2, sizeof(*ops));
	struct mlir_value **operands = reader_alloc(&x->r, 3, sizeof(struct mlir_value *));
	struct mlir_value *args = reader_alloc(&x->r, 2, sizeof(*args));
	struct mlir_value *out = reader_alloc(&x->r, 1, sizeof(*out));
	const struct form *form = x->form_of(t.p, t.n);

	if (!region || !b || !ops || !operands || !args || !out || !type)
		return;
	if (d->in.n != 2 || !form || form->form != x->form_of("stablehlo.add", 13)->form) {
		text_fail_at(x, t.p, -ENOTSUP,
			     "expected an operation of StableHLO of two operands, and one to "
			     "reduce");
		return;
	}
	for (int i = 0; i < 2; i++) {
		args[i].type = out->type = scalar_of(x, type);
		operands[i] = &args[i];
	}
	operands[2] = out;
	ops[0] = (struct mlir_op){ .name = form->name + 10,
				   .spelled = form->name,
				   .nin = 2,
				   .in = operands,
				   .nout = 1,
				   .out = out };
	ops[1] = (struct mlir_op){
		.name = "return", .spelled = "stablehlo.return", .nin = 1, .in = operands + 2
	};
	*b = (struct mlir_block){ 2, 2, args, ops };
	*region = (struct mlir_region){ 1, b };
	d->made = b;
}

/* reducer(%a: t, %b: t) (%c: t, %d: t) {...}: of each operand two; those of the first ones first */
static void reducer(struct text *x, struct draft *d)
{
	struct list first = { 0 }, args = { 0 }, second = { 0 };

	while (!text_bad(x) && text_is(x, '(')) {
		struct list pair = { 0 };
		struct argument *a = list_add(x, &first, sizeof(*a)), *p;
		struct argument *b = list_add(x, &second, sizeof(*b));

		text_arguments(x, &pair);
		p = pair.p;
		if (!a || !b || text_bad(x))
			return;
		if (pair.n != 2) {
			text_fail_at(x, x->t.p, -EINVAL, "expected two arguments of a reducer");
			return;
		}
		*a = p[0];
		*b = p[1];
	}
	for (size_t i = 0; i < 2 * first.n && !text_bad(x); i++) {
		struct argument *a = list_add(x, &args, sizeof(*a));
		const struct list *from = i < first.n ? &first : &second;

		if (a)
			*a = ((const struct argument *)from->p)[i % first.n];
	}
	text_region(x, d, &args, false);
}

/* (%x init: %y), (%z init: %w) applies stablehlo.add across dimensions = [0] {...} : types */
void form_reduce(struct text *x, struct draft *d)
{
	struct draft inits = { .at = d->at };
	struct token apply = { TOKEN_END, NULL, 0 };

	do {
		text_expect(x, '(');
		text_operand(x, d);
		text_expect_word(x, "init");
		text_expect(x, ':');
		text_operand(x, &inits);
		text_expect(x, ')');
	} while (!text_bad(x) && text_take(x, ','));
	for (size_t i = 0; i < inits.in.n && !text_bad(x); i++) {
		struct mlir_value **v = list_add(x, &d->in, sizeof(*v));

		if (v)
			*v = ((struct mlir_value **)inits.in.p)[i];
	}
	if (text_take_word(x, "applies")) {
		apply = x->t;
		if (x->t.kind != TOKEN_WORD && x->t.kind != TOKEN_STRING)
			text_expected(x, "an operation's name");
		text_next(x);
	}
	text_pretty(x, d, "across dimensions = l:dimensions {} :fn");
	if (apply.n) {
		applied(x, d, apply);
	} else {
		text_expect_word(x, "reducer");
		reducer(x, d);
	}
}

/* (%a = %b, ...) : types attributes {...} cond {...} do {...} */
void form_while(struct text *x, struct draft *d)
{
	struct list args = { 0 };
	struct argument *a;

	text_expect(x, '(');
	while (!text_bad(x) && !text_is(x, ')')) {
		a = list_add(x, &args, sizeof(*a));
		if (x->t.kind != TOKEN_VALUE)
			text_expected(x, "a value's name");
		if (!a || text_bad(x))
			return;
		a->name = x->t;
		text_next(x);
		text_expect(x, '=');
		text_operand(x, d);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ')');
	text_signature(x, d, "pairs");
	if (text_take_word(x, "attributes"))
		attributes(x, d);
	a = args.p;
	for (size_t i = 0; i < args.n && !text_bad(x); i++)
		a[i].type = ((struct mlir_value **)d->in.p)[i]->type;
	text_expect_word(x, "cond");
	text_region(x, d, &args, false);
	text_expect_word(x, "do");
	text_region(x, d, &args, false);
}

/* Convolution: window = {stride = [1, 2], pad = [[0, 1], [1, 0]], ..., reverse = [false, true]} */

static const struct mlir_attr *reversal(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);
	struct list list = { 0 };

	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		uint8_t *v = list_add(x, &list, 1);

		if (!text_is_word(x, "true") && !text_is_word(x, "false"))
			text_expected(x, "'true' or 'false'");
		if (v)
			*v = text_is_word(x, "true");
		text_next(x);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	if (!a || text_bad(x))
		return NULL;
	a->type = text_tensor_of(x, "i1", (int64_t)list.n);
	a->data = list.n ? list.p : text_nothing;
	a->size = list.n;
	return a;
}

static const struct mlir_attr *padding(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);
	struct mlir_type *t = new_type(&x->r, MLIR_TENSOR, "i64");
	int64_t *dim = reader_alloc(&x->r, 2, sizeof(*dim));
	struct list list = { 0 };

	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		int64_t *low = list_add(x, &list, 2 * sizeof(*low));

		if (!low)
			return NULL;
		text_expect(x, '[');
		low[0] = text_integer(x);
		text_expect(x, ',');
		low[1] = text_integer(x);
		text_expect(x, ']');
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	if (!a || !t || !dim || text_bad(x))
		return NULL;
	dim[0] = (int64_t)list.n;
	dim[1] = 2;
	t->number = text_tensor_of(x, "i64", 0)->number;
	t->ndim = 2;
	t->dim = dim;
	a->type = t;
	a->data = list.n ? list.p : text_nothing;
	a->size = 2 * sizeof(int64_t) * list.n;
	return a;
}

static void window(struct text *x, struct draft *d)
{
	static const struct {
		const char *word, *name;
		const struct mlir_attr *(*read)(struct text *x);
	} parts[] = { { "stride", "window_strides", text_numbers },
		      { "pad", "padding", padding },
		      { "lhs_dilate", "lhs_dilation", text_numbers },
		      { "rhs_dilate", "rhs_dilation", text_numbers },
		      { "reverse", "window_reversal", reversal } };
	const size_t n = sizeof(parts) / sizeof(parts[0]);

	text_expect(x, '{');
	while (!text_bad(x) && !text_is(x, '}')) {
		size_t i = 0;

		while (i < n && !text_is_word(x, parts[i].word))
			i++;
		if (i == n) {
			text_expected(x, "stride, pad, lhs_dilate, rhs_dilate or reverse");
			return;
		}
		text_next(x);
		text_expect(x, '=');
		text_set(x, d, parts[i].name, parts[i].read(x));
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, '}');
}

void form_convolution(struct text *x, struct draft *d)
{
	text_pretty(x, d, "( $ , $ ) dim_numbers =");
	text_set(x, d, "dimension_numbers", text_conv_dims(x));
	text_pretty(x, d, ", window =");
	window(x, d);
	text_pretty(x, d, "{} :fn");
}

/* @target(%a, %b) {...} : types */
void form_custom_call(struct text *x, struct draft *d)
{
	size_t n = 0;
	const char *name = text_symbol(x, &n);

	if (!name)
		return;
	text_pretty(x, d, "( $* ) {} :fn");
	if (!text_get(d, "call_target_name"))
		text_set(x, d, "call_target_name", attr_of_text(&x->r, MLIR_STRING, name));
}

void form_composite(struct text *x, struct draft *d)
{
	text_pretty(x, d, "s:name $* {} :fn");
}
