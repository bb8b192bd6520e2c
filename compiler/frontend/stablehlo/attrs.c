// SPDX-License-Identifier: MIT
/* The conversion's reading of an operation's attributes */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"

#define MOST_TEXT (1 << 16) /* bytes: one may be in another many times, and that in others */
#define MOST_NUMBERS 64 /* in a list, which has one or two for each dimension */

static int wrong(struct scope *s, const char *name, const char *expected)
{
	return convert_fail(s, -EINVAL, "its attribute %s is not %s", name, expected);
}

int attr_int(struct scope *s, const struct mlir_op *op, const char *name, int64_t *v)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);

	if (a && a->kind != MLIR_INTEGER)
		return wrong(s, name, "a number");
	if (a)
		*v = a->integer;
	return 0;
}

int attr_bool(struct scope *s, const struct mlir_op *op, const char *name, bool *v)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);

	if (a && a->kind != MLIR_BOOL && a->kind != MLIR_INTEGER)
		return wrong(s, name, "true or false");
	if (a)
		*v = a->integer;
	return 0;
}

int attr_text(struct scope *s, const struct mlir_op *op, const char *name, const char **v)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);

	if (a && a->kind != MLIR_STRING && a->kind != MLIR_WORD)
		return wrong(s, name, "a name");
	if (a)
		*v = a->text;
	return 0;
}

int attr_list(struct scope *s, const struct mlir_op *op, const char *name, size_t *n, int64_t **v)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);
	int64_t count;

	*n = 0;
	*v = NULL;
	if (!a)
		return 0;
	count = a->kind == MLIR_DENSE ? mlir_elems(a->type) : -1;
	if (count < 0 || count > MOST_NUMBERS)
		return wrong(s, name, "a list of numbers");
	*v = convert_alloc(s->v, (size_t)count + 1, sizeof(**v));
	if (!*v)
		return -ENOMEM;
	for (int64_t i = 0; i < count; i++)
		(*v)[i] = mlir_int(a, i);
	*n = (size_t)count;
	return 0;
}

static bool print(FILE *f, const struct mlir_attr *a);

static bool print_list(FILE *f, const struct mlir_attr *a)
{
	bool ok = true;

	fputc(a->kind == MLIR_ARRAY ? '[' : '{', f);
	for (size_t i = 0; ok && i < a->n; i++) {
		if (i)
			fputs(", ", f);
		if (a->kind == MLIR_DICTIONARY)
			fprintf(f, "%s = ", a->names[i]);
		ok = print(f, a->list[i]);
	}
	fputc(a->kind == MLIR_ARRAY ? ']' : '}', f);
	return ok;
}

static void print_string(FILE *f, const struct mlir_attr *a)
{
	fputc('"', f);
	for (size_t i = 0; i < a->size; i++) {
		const unsigned char c = (unsigned char)a->text[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(f, "\\%02X", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static bool print(FILE *f, const struct mlir_attr *a)
{
	if (ftell(f) > MOST_TEXT)
		return false;
	switch (a->kind) {
	case MLIR_UNIT:
		fputs("unit", f);
		return true;
	case MLIR_BOOL:
		fputs(a->integer ? "true" : "false", f);
		return true;
	case MLIR_INTEGER:
		if (a->type && !strcmp(a->type->name, "i1"))
			fputs(a->integer ? "true" : "false", f);
		else
			fprintf(f, "%lld%s%s", (long long)a->integer, a->type ? " : " : "",
				a->type ? a->type->name : "");
		return true;
	case MLIR_FLOAT:
		fprintf(f, "%.9e%s%s", a->real, a->type ? " : " : "", a->type ? a->type->name : "");
		return true;
	case MLIR_STRING:
		print_string(f, a);
		return true;
	case MLIR_ARRAY:
	case MLIR_DICTIONARY:
		return print_list(f, a);
	default:
		return false;
	}
}

const char *attr_print(struct convert *v, const struct mlir_attr *a)
{
	char *text = NULL, *copy = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	bool ok = f && print(f, a);

	if (f && fclose(f))
		ok = false;
	if (ok)
		copy = convert_alloc(v, size + 1, 1);
	if (copy)
		memcpy(copy, text, size);
	free(text);
	return copy;
}
