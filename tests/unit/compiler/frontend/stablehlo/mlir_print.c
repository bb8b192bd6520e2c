// SPDX-License-Identifier: MIT
/*
 * See mlir_print.h. Values are numbered in the order in which they are defined; attributes are
 * sorted; of a tensor's elements each is there, also where one stands for all, as a sum when they
 * are many. How operations were spelled is left out.
 */
#include "mlir_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 256 /* bytes of elements */

struct printer {
	FILE *f;
	uintptr_t values;
	bool places;
};

static void print_type(struct printer *p, const struct mlir_type *t)
{
	if (!t) {
		fputs("(no type)", p->f);
		return;
	}
	fprintf(p->f, "%d:%s", (int)t->kind, t->name);
	for (unsigned int i = 0; i < t->ndim; i++)
		fprintf(p->f, "x%lld", (long long)t->dim[i]);
	for (unsigned int i = 0; t->bound && i < t->ndim; i++)
		fprintf(p->f, "<%lld", (long long)t->bound[i]);
	for (unsigned int k = 0; k < 2; k++) {
		const unsigned int n = k ? t->nout : t->nin;

		fputs(n ? "(" : "", p->f);
		for (unsigned int i = 0; i < n; i++) {
			fputs(i ? ", " : "", p->f);
			print_type(p, k ? t->out[i] : t->in[i]);
		}
		fputs(n ? ")" : "", p->f);
	}
}

static void print_dense(struct printer *p, const struct mlir_attr *a)
{
	const int64_t n = mlir_elems(a->type);
	const size_t each = n > 0 ? a->size / (a->one ? 1 : (size_t)n) : 0;
	const size_t size = each * (size_t)n;
	unsigned long long sum = 0;

	for (size_t i = 0; i < size; i++) {
		const uint8_t byte = a->data[a->one ? i % each : i];

		if (size <= MANY)
			fprintf(p->f, "%s%02x", i % each ? "" : " ", byte);
		sum = (sum ^ byte) * 0x100000001b3ull;
	}
	if (size > MANY)
		fprintf(p->f, " %zu bytes, %016llx", size, sum);
}

static void print_attr(struct printer *p, const struct mlir_attr *a);

struct named {
	const char *name;
	const struct mlir_attr *attr;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void print_sorted(struct printer *p, size_t n, const char *const *names,
			 const struct mlir_attr *const *list)
{
	struct named *sorted = calloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct named){ names[i], list[i] };
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++) {
		fprintf(p->f, " %s=", sorted[i].name);
		print_attr(p, sorted[i].attr);
	}
	free(sorted);
}

/* Attributes of arguments that have none may be nothing, or a dictionary for each. */
static bool says_nothing(const struct mlir_attr *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->list[i]->kind != MLIR_DICTIONARY || a->list[i]->n)
			return false;
	return true;
}

static void print_attr(struct printer *p, const struct mlir_attr *a)
{
	static const char *const kinds[] = { "unit", "bool",  "int",  "float", "str",  "word",
					     "type", "array", "dict", "dense", "other" };

	/* A module's attributes have their booleans as integers. */
	if (a->kind == MLIR_INTEGER && a->type && !strcmp(a->type->name, "i1")) {
		fprintf(p->f, "bool(%d)", (int)(a->integer & 1));
		return;
	}
	fprintf(p->f, "%s(", kinds[a->kind]);
	if (a->kind == MLIR_BOOL || a->kind == MLIR_INTEGER)
		fprintf(p->f, "%lld", (long long)a->integer);
	if (a->kind == MLIR_FLOAT)
		fprintf(p->f, "%.17g", a->real);
	if (a->text && a->kind != MLIR_UNKNOWN) {
		for (size_t i = 0; i < a->size; i++)
			fprintf(p->f, a->text[i] >= ' ' && a->text[i] < 127 ? "%c" : "\\%02x",
				(uint8_t)a->text[i]);
	}
	if (a->type) {
		fputc(' ', p->f);
		print_type(p, a->type);
	}
	if (a->kind == MLIR_ARRAY && !says_nothing(a))
		for (size_t i = 0; i < a->n; i++) {
			fputs(i ? ", " : "", p->f);
			print_attr(p, a->list[i]);
		}
	if (a->kind == MLIR_DICTIONARY)
		print_sorted(p, a->n, a->names, a->list);
	if (a->kind == MLIR_DENSE)
		print_dense(p, a);
	fputc(')', p->f);
}

static void print_op(struct printer *p, const struct mlir_op *op, int depth);

static void define(struct printer *p, struct mlir_value *v)
{
	v->note = (void *)++p->values;
	fprintf(p->f, " %%%zu ", (size_t)p->values);
	print_type(p, v->type);
}

static void print_block(struct printer *p, const struct mlir_block *b, int depth)
{
	fprintf(p->f, "%*sblock", depth, "");
	for (size_t i = 0; i < b->nargs; i++)
		define(p, &b->args[i]);
	fputc('\n', p->f);
	for (size_t i = 0; i < b->nops; i++)
		print_op(p, &b->ops[i], depth + 1);
}

/* Prints an operation's attributes, its own and those that it may share with others */
static void print_attrs(struct printer *p, const struct mlir_op *op)
{
	const size_t more = op->others ? op->others->n : 0;
	const bool is_module = !strcmp(op->name, "builtin.module");
	size_t n = 0;
	const char **names = calloc(op->nattrs + more + 1, sizeof(*names));
	const struct mlir_attr **list = calloc(op->nattrs + more + 1, sizeof(*list));

	for (size_t i = 0; i < op->nattrs + more; i++) {
		const char *name =
			i < op->nattrs ? op->names[i] : op->others->names[i - op->nattrs];
		const struct mlir_attr *a =
			i < op->nattrs ? op->attrs[i] : op->others->list[i - op->nattrs];

		if (is_module && a->kind == MLIR_STRING && !a->size)
			continue; /* a module without a name */
		names[n] = name;
		list[n++] = a;
	}
	print_sorted(p, n, names, list);
	free(names);
	free(list);
}

static void print_op(struct printer *p, const struct mlir_op *op, int depth)
{
	/* Artifacts have these between dialects, text has not. */
	if (!strcmp(op->name, "builtin.unrealized_conversion_cast") && op->nin == 1) {
		op->out->note = (*op->in)->note;
		return;
	}
	fprintf(p->f, "%*s%s", depth, "", op->name);
	if (p->places && op->file)
		fprintf(p->f, " (%s:%u)", op->file, op->line);
	for (size_t i = 0; i < op->nin; i++)
		fprintf(p->f, " %%%zu", (size_t)(uintptr_t)op->in[i]->note);
	print_attrs(p, op);
	fputs(op->nout ? " ->" : "", p->f);
	for (size_t i = 0; i < op->nout; i++)
		define(p, &op->out[i]);
	fputc('\n', p->f);
	for (size_t i = 0; i < op->nregions; i++) {
		fprintf(p->f, "%*sregion %zu\n", depth, "", i);
		for (size_t k = 0; k < op->regions[i].nblocks; k++)
			print_block(p, &op->regions[i].blocks[k], depth + 1);
	}
}

char *mlir_printed(const struct mlir *m, bool places)
{
	struct printer p = { .places = places };
	char *text = NULL;
	size_t size;

	p.f = open_memstream(&text, &size);
	print_op(&p, m->module, 0);
	fclose(p.f);
	return text;
}
