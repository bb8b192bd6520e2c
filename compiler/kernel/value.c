// SPDX-License-Identifier: MIT
/* Whole numbers in the text of a kernel: names, + - * / % and parentheses */
#include "kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 32 /* of parentheses */

struct reader {
	const struct kernel_values *v;
	const char *p;
	unsigned int depth;
	struct ncc_asm_error *why;
};

static int refuse(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why->text, sizeof(r->why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static size_t name_size(const char *s)
{
	size_t n = 0;

	if (isdigit((unsigned char)*s))
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

bool kernel_is_name(const char *s)
{
	const size_t n = name_size(s);

	return n && n < NCC_KERNEL_NAME && !s[n];
}

static void blanks(struct reader *r)
{
	r->p += strspn(r->p, " \t");
}

static int sum(struct reader *r, int64_t *out);

static int named(struct reader *r, size_t n, int64_t *out)
{
	for (unsigned int i = r->v->n; i-- > 0;) {
		if (strlen(r->v->name[i]) != n || strncmp(r->v->name[i], r->p, n))
			continue;
		*out = r->v->value[i];
		r->p += n;
		return 0;
	}
	return refuse(r, "no number is named '%.*s'", (int)(n < 40 ? n : 40), r->p);
}

static int number(struct reader *r, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(r->p, &end, r->p[0] == '0' && r->p[1] == 'x' ? 16 : 10);
	if (end == r->p || errno)
		return refuse(r, "a number is expected at '%.40s'", r->p);
	r->p = end;
	return 0;
}

static int primary(struct reader *r, int64_t *out)
{
	bool minus;
	size_t n;
	int rc;

	blanks(r);
	minus = *r->p == '-';
	r->p += minus;
	n = name_size(r->p);
	if (*r->p == '(') {
		if (r->depth++ == DEPTH)
			return refuse(r, "more than %d parentheses", DEPTH);
		r->p++;
		rc = sum(r, out);
		if (!rc && *r->p != ')')
			rc = refuse(r, "')' is expected at '%.40s'", r->p);
		r->p += !rc;
	} else if (n) {
		rc = named(r, n, out);
	} else if (isdigit((unsigned char)*r->p)) {
		rc = number(r, out);
	} else {
		rc = refuse(r, "a number is expected at '%.40s'", r->p);
	}
	blanks(r);
	if (!rc && minus && __builtin_sub_overflow(0, *out, out))
		rc = refuse(r, "too large a number");
	return rc;
}

/* 0, or why not */
static const char *combine(char op, int64_t b, int64_t *a)
{
	bool large = false;

	switch (op) {
	case '+':
		large = __builtin_add_overflow(*a, b, a);
		break;
	case '-':
		large = __builtin_sub_overflow(*a, b, a);
		break;
	case '*':
		large = __builtin_mul_overflow(*a, b, a);
		break;
	default:
		if (!b)
			return "division by 0";
		large = b == -1 && *a == INT64_MIN;
		if (!large)
			*a = op == '/' ? *a / b : *a % b;
	}
	return large ? "too large a number" : NULL;
}

/* Operations of one rank, from the left */
static int chain(struct reader *r, const char *ops, int (*part)(struct reader *r, int64_t *out),
		 int64_t *out)
{
	int rc = part(r, out);

	while (!rc && *r->p && strchr(ops, *r->p)) {
		const char op = *r->p++;
		const char *wrong;
		int64_t b;

		rc = part(r, &b);
		wrong = rc ? NULL : combine(op, b, out);
		if (wrong)
			rc = refuse(r, "%s", wrong);
	}
	return rc;
}

static int product(struct reader *r, int64_t *out)
{
	return chain(r, "*/%", primary, out);
}

static int sum(struct reader *r, int64_t *out)
{
	return chain(r, "+-", product, out);
}

int kernel_value(const struct kernel_values *v, const char *text, int64_t *out,
		 struct ncc_asm_error *why)
{
	struct reader r = { .v = v, .p = text, .why = why };
	int rc = sum(&r, out);

	return rc || !*r.p ? rc : refuse(&r, "'%.40s' is left over in '%.40s'", r.p, text);
}

/* The value of {expression} at text, behind the brace; *end: behind the other one */
static int braced(const struct kernel_values *v, const char *text, const char **end, int64_t *out,
		  struct ncc_asm_error *why)
{
	struct reader r = { .v = v, .p = text, .why = why };
	size_t n = strcspn(text, "}");
	char expression[128];

	if (!text[n] || n >= sizeof(expression))
		return refuse(&r, "'}' is expected behind '%.40s'", text);
	memcpy(expression, text, n);
	expression[n] = 0;
	*end = text + n + 1;
	return kernel_value(v, expression, out, why);
}

int kernel_expand(const struct kernel_values *v, const char *line, char *out, size_t size,
		  struct ncc_asm_error *why)
{
	struct reader r = { .why = why };
	size_t n = 0;

	while (*line && !strchr(";#", *line) && n + 1 < size) {
		int64_t value;

		if (*line != '{') {
			out[n++] = *line++;
			continue;
		}
		if (braced(v, line + 1, &line, &value, why))
			return -EINVAL;
		n += (size_t)snprintf(out + n, size - n, "%lld", (long long)value);
	}
	if (n + 1 >= size)
		return refuse(&r, "the line is too long");
	out[n] = 0;
	return 0;
}
