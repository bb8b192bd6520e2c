// SPDX-License-Identifier: MIT
/*
 * chlo's operations, which text has and portable artifacts have not: those have composites, which
 * say what they are made of. HLO has erf and top_k itself; for others there is a formula here, of
 * which a function is made for each type that a program has it of. The rest keeps its name, by
 * which it is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

/*
 * From x, or x and y, to r, in steps with semicolons between them: an operation of StableHLO, and
 * values or numbers that it takes; a value with a capital letter is of integers as wide. Identities
 * of real functions as any table has them, arranged so that neither small nor large numbers lose
 * what they have. erf_inv: M. Giles, "Approximating the erfinv function" (GPU Computing Gems, Jade
 * Edition, 2011), its single-precision polynomials
 */
#define HALF_CHORD "u=add 1 x; d=subtract 1 x; q=multiply u d; s=sqrt q; "
#define HALF_EXPONENTIALS                                            \
	"a=add x -0.6931471805599453; e=exponential a; n=negate x; " \
	"b=add n -0.6931471805599453; f=exponential b; "
#define INFINITE "f=is_finite x; n=not f; o=compare_EQ x x; i=and n o; "

static const struct formula {
	const char *name, *steps;
	size_t nin; /* operands; two are of f32 */
} formulas[] = {
	{ "chlo.acos",
	  HALF_CHORD "t=atan2 s u; y=multiply 2 t; p=compare_EQ x -1; "
		     "r=select p 3.141592653589793 y",
	  1 },
	{ "chlo.acosh",
	  "u=add x 1; d=subtract x 1; a=sqrt u; b=sqrt d; s=multiply a b; "
	  "q=add d s; y=log_plus_one q; g=log x; z=add g 0.6931471805599453; "
	  "p=compare_GE x 1.0e18; r=select p z y",
	  1 },
	{ "chlo.asin", HALF_CHORD "v=add 1 s; t=atan2 x v; r=multiply 2 t", 1 },
	{ "chlo.asinh",
	  "a=abs x; q=multiply a a; b=add q 1; s=sqrt b; c=add s 1; f=divide q c; "
	  "z=add a f; y=log_plus_one z; g=log a; l=add g 0.6931471805599453; "
	  "p=compare_GE a 1.0e18; w=select p l y; i=sign x; r=multiply i w",
	  1 },
	{ "chlo.atan", "r=atan2 x 1", 1 },
	{ "chlo.atanh",
	  "n=negate x; a=log_plus_one x; b=log_plus_one n; d=subtract a b; "
	  "r=multiply 0.5 d",
	  1 },
	{ "chlo.cosh", HALF_EXPONENTIALS "r=add e f", 1 },
	{ "chlo.erf_inv",
	  "n=negate x; q=multiply n x; g=log_plus_one q; w=negate g; p=compare_LT w 5; "
	  "c=subtract w 2.5; s=sqrt w; d=subtract s 3; v=select p c d; "
	  "k0=select p 2.81022636e-08 -0.000200214257; "
	  "k1=select p 3.43273939e-07 0.000100950558; m1=multiply k0 v; a1=add k1 m1; "
	  "k2=select p -3.5233877e-06 0.00134934322; m2=multiply a1 v; a2=add k2 m2; "
	  "k3=select p -4.39150654e-06 -0.00367342844; m3=multiply a2 v; a3=add k3 m3; "
	  "k4=select p 0.00021858087 0.00573950773; m4=multiply a3 v; a4=add k4 m4; "
	  "k5=select p -0.00125372503 -0.0076224613; m5=multiply a4 v; a5=add k5 m5; "
	  "k6=select p -0.00417768164 0.00943887047; m6=multiply a5 v; a6=add k6 m6; "
	  "k7=select p 0.246640727 1.00167406; m7=multiply a6 v; a7=add k7 m7; "
	  "k8=select p 1.50140941 2.83297682; m8=multiply a7 v; a8=add k8 m8; "
	  "y=multiply a8 x; a=abs x; one=compare_EQ a 1; i=divide x 0; r=select one i y",
	  1 },
	{ "chlo.is_inf", INFINITE "r=and i i", 1 },
	{ "chlo.is_neg_inf", INFINITE "m=compare_LT x 0; r=and i m", 1 },
	{ "chlo.is_pos_inf", INFINITE "m=compare_GT x 0; r=and i m", 1 },
	{ "chlo.next_after",
	  "X=bitcast_convert x; Y=bitcast_convert y; A=and X 2147483647; B=and Y 2147483647; "
	  "S=xor X Y; p=compare_LT S 0; g=compare_GT A B; t=or p g; D=select t -1 1; "
	  "N=add X D; M=and Y -2147483648; Z=or M 1; z=compare_EQ x 0; R=select z Z N; "
	  "q=bitcast_convert R; e=compare_EQ x y; w=select e y q; a=compare_NE x x; "
	  "b=compare_NE y y; n=or a b; s=add x y; r=select n s w",
	  2 },
	{ "chlo.sinh",
	  HALF_EXPONENTIALS "y=subtract e f; t=exponential_minus_one x; c=add t 1; "
			    "k=divide t c; z=add t k; i=multiply 0.5 z; g=abs x; "
			    "p=compare_LT g 1; r=select p i y",
	  1 },
};

/* A function while it is made */
struct maker {
	struct text *x;
	const struct mlir_type *real, *truth, *integer;
	struct names values;
	struct list ops;
};

static struct mlir_value *value_of(struct maker *m, const char *name)
{
	const struct name *e = names_find(&m->values, name, strlen(name), 0);

	return e ? e->what : NULL;
}

static struct mlir_op *add_op(struct maker *m, const char *name, const struct mlir_type *type)
{
	struct mlir_op *op = list_add(m->x, &m->ops, sizeof(*op));

	if (!op)
		return NULL;
	op->name = op->spelled = name;
	op->in = reader_alloc(&m->x->r, 4, sizeof(struct mlir_value *));
	op->out = type ? reader_alloc(&m->x->r, 1, sizeof(*op->out)) : NULL;
	if (!op->in || (type && !op->out))
		return NULL;
	op->nout = type != NULL;
	if (type)
		op->out->type = type;
	return op;
}

static bool set_attr(struct maker *m, struct mlir_op *op, const char *name,
		     const struct mlir_attr *a)
{
	const char **names = reader_alloc(&m->x->r, 1, sizeof(*names));
	const struct mlir_attr **attrs = reader_alloc(&m->x->r, 1, sizeof(*attrs));

	if (!names || !attrs || !a)
		return false;
	names[0] = name;
	attrs[0] = a;
	op->names = names;
	op->attrs = attrs;
	op->nattrs = 1;
	return true;
}

static bool is_integer(const char *name)
{
	return *name >= 'A' && *name <= 'Z';
}

/* A number for all elements, of the type of reals or of 32-bit integers */
static struct mlir_value *constant(struct maker *m, const char *number,
				   const struct mlir_type *type)
{
	struct mlir_op *op = add_op(m, "constant", type);
	struct mlir_attr *a = new_attr(&m->x->r, MLIR_DENSE);
	uint8_t *bytes = reader_alloc(&m->x->r, 8, 1);
	const double d = strtod(number, NULL);
	const float f = strtof(number, NULL);
	const int32_t i = (int32_t)strtol(number, NULL, 10);
	const bool wide = !strcmp(type->name, "f64");

	if (!op || !a || !bytes)
		return NULL;
	memcpy(bytes,
	       type == m->integer ? (const void *)&i
	       : wide		  ? (const void *)&d
				  : &f,
	       wide ? sizeof(d) : sizeof(f));
	a->type = type;
	a->data = bytes;
	a->size = wide ? sizeof(d) : sizeof(f);
	a->one = mlir_elems(type) != 1;
	return set_attr(m, op, "value", a) ? op->out : NULL;
}

static bool gives_truth(const struct maker *m, const char *op, const char *first)
{
	const struct name *e = names_find(&m->values, first, strlen(first), 0);
	const struct mlir_value *v = e ? e->what : NULL;

	return !strncmp(op, "compare_", 8) || !strcmp(op, "is_finite") ||
	       (strcmp(op, "select") && v && v->type == m->truth);
}

static void define(struct maker *m, const char *name, struct mlir_value *v)
{
	struct name *e =
		names_add(m->x, &m->values, (struct token){ TOKEN_VALUE, name, strlen(name) });

	if (e)
		e->what = v;
}

#define MOST_OPERANDS 3

/* "name=op a b" */
static void step(struct maker *m, char *text)
{
	char *save = NULL, *name = strtok_r(text, "=", &save), *kind = strtok_r(NULL, " ", &save);
	char *word[MOST_OPERANDS + 1] = { NULL };
	struct mlir_value *in[MOST_OPERANDS];
	const struct mlir_type *type = is_integer(name) ? m->integer : m->real, *numbers = type;
	struct mlir_op *op;
	size_t n = 0;

	while (n < MOST_OPERANDS && (word[n] = strtok_r(NULL, " ", &save)))
		n++;
	if (is_integer(word[0]))
		numbers = m->integer;
	if (!is_integer(name) && gives_truth(m, kind, word[0]))
		type = m->truth;
	for (size_t i = 0; i < n; i++) {
		in[i] = strchr("-0123456789", *word[i]) ? constant(m, word[i], numbers)
							: value_of(m, word[i]);
		if (!in[i])
			return;
	}
	op = add_op(m, kind, type);
	if (!op)
		return;
	memcpy(op->in, in, n * sizeof(struct mlir_value *));
	op->nin = n;
	if (!strncmp(kind, "compare_", 8)) {
		op->name = op->spelled = "compare";
		set_attr(m, op, "comparison_direction",
			 attr_of_text(&m->x->r, MLIR_WORD, kind + strlen("compare_")));
	}
	define(m, name, op->out);
}

static const struct mlir_type *of_number(struct text *x, const struct mlir_type *t,
					 const char *number)
{
	const struct mlir_type *e = type_of_number(&x->r, number);
	struct mlir_type *to = new_type(&x->r, MLIR_TENSOR, number);

	if (!e || !to)
		return NULL;
	*to = *t;
	to->name = number;
	to->number = e->number;
	return to;
}

/* Computed in f32 at least, and given back in the operand's type */
static void convert_to(struct maker *m, const char *from, const char *to,
		       const struct mlir_type *type)
{
	struct mlir_value *v = value_of(m, from);
	struct mlir_op *op;

	if (!v || text_same_type(v->type, type)) {
		define(m, to, v);
		return;
	}
	op = add_op(m, "convert", type);
	if (!op)
		return;
	op->in[0] = v;
	op->nin = 1;
	define(m, to, op->out);
}

static void body(struct maker *m, const struct formula *f, const struct mlir_type *in,
		 const struct mlir_type *out, struct mlir_block *b)
{
	char *steps = (char *)(uintptr_t)text_copy(m->x, f->steps, strlen(f->steps)), *save = NULL;
	struct mlir_op *op;

	b->nargs = f->nin;
	b->args = reader_alloc(&m->x->r, 2, sizeof(*b->args));
	if (!steps || !b->args)
		return;
	b->args[0].type = b->args[1].type = in;
	define(m, "argument", b->args);
	define(m, "y", &b->args[1]);
	convert_to(m, "argument", "x", m->real);
	for (char *s = strtok_r(steps, ";", &save); s && !text_bad(m->x);
	     s = strtok_r(NULL, ";", &save))
		step(m, s + strspn(s, " "));
	convert_to(m, "r", "result", out);
	op = add_op(m, "return", NULL);
	if (!op || text_bad(m->x))
		return;
	op->in[0] = value_of(m, "result");
	op->nin = 1;
	b->ops = m->ops.p;
	b->nops = m->ops.n;
}

/* The function of the formula for these types, which is added to the program's */
static void make_function(struct text *x, const struct formula *f, const char *name,
			  const struct draft *d)
{
	const struct mlir_type *in = (*(struct mlir_value **)d->in.p)->type;
	static const char *const names[] = { "sym_name", "sym_visibility" };
	const bool wide = !strcmp(in->name, "f64");
	const struct mlir_attr **attrs;
	struct mlir_op *op = list_add(x, &x->made, sizeof(*op));
	struct mlir_region *region = reader_alloc(&x->r, 1, sizeof(*region));
	struct mlir_block *b = reader_alloc(&x->r, 1, sizeof(*b));
	struct maker m = { .x = x };

	m.real = !strcmp(in->name, "f32") || wide ? in : of_number(x, in, "f32");
	m.truth = of_number(x, in, "i1");
	m.integer = of_number(x, in, "i32");
	if (!op || !region || !b || !m.real || !m.truth || !m.integer)
		return;
	*region = (struct mlir_region){ 1, b };
	op->name = "func";
	op->spelled = f->name;
	op->nregions = 1;
	op->regions = region;
	attrs = reader_alloc(&x->r, 2, sizeof(*attrs));
	if (!attrs)
		return;
	attrs[0] = attr_of_text(&x->r, MLIR_STRING, name);
	attrs[1] = attr_of_text(&x->r, MLIR_STRING, "private");
	op->nattrs = 2;
	op->names = names;
	op->attrs = attrs;
	body(&m, f, in, *(const struct mlir_type **)d->out.p, b);
}

static bool takes(const struct formula *f, const struct draft *d)
{
	static const char *const types[] = { "f32", "bf16", "f16", "f64" };
	struct mlir_value *const *in = d->in.p;
	const size_t n = f->nin == 2 ? 1 : sizeof(types) / sizeof(types[0]);
	bool known = false;

	if (d->in.n != f->nin || d->out.n != 1 || in[0]->type->kind != MLIR_TENSOR)
		return false;
	for (size_t i = 0; i < n; i++)
		known |= !strcmp(in[0]->type->name, types[i]);
	return known && text_same_type(in[0]->type, in[d->in.n - 1]->type);
}

static const struct formula *formula_of(const struct draft *d)
{
	for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++)
		if (!strcmp(formulas[i].name, d->op.spelled))
			return takes(&formulas[i], d) ? &formulas[i] : NULL;
	return NULL;
}

/* The operations that it is made of, by name; NULL: HLO has it, or it cannot be made */
static const char *made_of(struct text *x, const struct draft *d)
{
	const struct formula *f = formula_of(d);
	const char *name;
	struct token key;
	struct name *e;

	if (!f)
		return NULL;
	name = arena_text(&x->r.m->arena, "%s of %s", f->name,
			  text_type_name(x, (*(struct mlir_value **)d->in.p)->type));
	if (!name)
		return NULL;
	key = (struct token){ TOKEN_SYMBOL, name, strlen(name) };
	if (names_find(&x->makings, name, key.n, 0))
		return name;
	e = names_add(x, &x->makings, key);
	if (e)
		make_function(x, f, name, d);
	return text_bad(x) ? NULL : name;
}

static void composite(struct text *x, struct draft *d, const char *decomposition)
{
	const struct mlir_attr *fields = text_dictionary_of(x, "", &d->attrs);

	d->attrs = (struct list){ 0 };
	d->op.name = "composite";
	text_set(x, d, "name", attr_of_text(&x->r, MLIR_STRING, d->op.spelled));
	text_set(x, d, "composite_attributes", fields);
	text_set(x, d, "decomposition", attr_of_text(&x->r, MLIR_STRING, decomposition));
	text_set(x, d, "version", text_int(x, "i32", 1));
}

void text_chlo(struct text *x, struct draft *d)
{
	const char *name = d->op.spelled + strlen("chlo."), *of;
	struct mlir_value **v;

	d->op.name = d->op.spelled;
	of = made_of(x, d);
	if (of || !strcmp(name, "erf") || !strcmp(name, "top_k"))
		composite(x, d, of ? of : "");
	else if (!strcmp(name, "constant"))
		d->op.name = "constant";
	else if (!strcmp(name, "tan"))
		d->op.name = "tan";
	if (!strcmp(name, "square") && d->in.n == 1) {
		d->op.name = "multiply";
		v = list_add(x, &d->in, sizeof(*v));
		if (v)
			*v = ((struct mlir_value **)d->in.p)[0];
	}
}
