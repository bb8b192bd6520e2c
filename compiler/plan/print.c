// SPDX-License-Identifier: MIT
/* The plan as text, an operation a line. */
#include "plan.h"

static const char *const how_name[PLAN_HOWS] = {
	[PLAN_LAZY] = "lazy",	      [PLAN_LATER] = "later",	[PLAN_INPUT] = "input",
	[PLAN_VIEW] = "view",	      [PLAN_CAST] = "cast",	[PLAN_AROUND] = "around",
	[PLAN_SCATTER] = "scatter",   [PLAN_CUSTOM] = "custom", [PLAN_KERNEL] = "kernel",
	[PLAN_EXCHANGE] = "exchange", [PLAN_GROUP] = "group",	[PLAN_WHOLE] = "whole",
	[PLAN_PIECES] = "pieces",
};

static const char *const form_name[] = {
	[PLAN_STEP_CONSTANT] = "constant",
	[PLAN_STEP_SCALAR] = "scalar",
	[PLAN_STEP_TENSOR] = "tensor",
	[PLAN_STEP_FUNCTION] = "function",
};

/* What is done in p's place; of an epilogue, what one instruction does is joined by + */
static void print_done(const struct plan_op *p, FILE *f)
{
	const char *sep = " of {";

	for (const struct ncc_op *x = p->first; x; x = x->plan->next) {
		const struct plan_step *s = &x->plan->step;
		const bool step = p->how != PLAN_GROUP && x != p->first;

		fprintf(f, "%s%%%u", step && !s->together ? " + " : sep, x->id);
		if (step)
			fprintf(f, " %s", form_name[s->form]);
		sep = ", ";
	}
	if (p->first)
		fputc('}', f);
}

/* Who casts what a convert makes */
static void print_cast(const struct plan_op *p, FILE *f)
{
	if (p->cast == PLAN_CAST_BEFORE)
		fprintf(f, " by %%%u", p->op->in[0]->id);
	else if (p->cast == PLAN_CAST_COPIED)
		fputs(" by its reader", f);
	else if (p->cast == PLAN_CAST_FROM_DRAM)
		fputs(" by its reader from dram", f);
	if (p->turned)
		fputs(" turned", f);
}

static unsigned int stays(const struct plan_op *product, enum plan_how how)
{
	return how == PLAN_PIECES ? product->stationary_in_pieces : product->stationary;
}

/* Where the result lies, and the type in which it is written, if not its own */
static void print_place(const struct plan_op *p, FILE *f)
{
	const struct ncc_op *place = p->pad ? p->pad : p->joined;
	const struct ncc_shape written = { .dtype = p->dtype };
	const struct ncc_op *what = plan_computed(p);

	if (what->kind == NCC_DOT)
		fprintf(f, " stationary=%%%u", what->in[stays(what->plan, p->how)]->id);
	if (place)
		fprintf(f, " in %%%u", place->id);
	if (p->op->pdim >= 0)
		fprintf(f, " p=%d", p->op->pdim);
	if (p->dtype != p->op->shape.dtype)
		fprintf(f, " as %s", ncc_dtype_name(&written));
}

static void print_op(const struct plan_op *p, FILE *f)
{
	fprintf(f, "  %%%u %s: %s", p->op->id, ncc_kind_name(p->op->kind), how_name[p->how]);
	if (p->is_number)
		fprintf(f, " %.9g", p->number);
	if (p->how == PLAN_LATER)
		fprintf(f, " in the place of %%%u", p->with->id);
	if (p->how == PLAN_CAST)
		print_cast(p, f);
	if (p->how >= PLAN_GROUP) {
		print_done(p, f);
		print_place(p, f);
	}
	fputs(p->kept && !p->is_number ? " kept\n" : "\n", f);
}

void ncc_print_plan(const struct plan *plan, FILE *f)
{
	fprintf(f, "plan \"%s\"\n", plan->name);
	for (unsigned int i = 0; i < plan->n; i++)
		print_op(&plan->op[i], f);
}
