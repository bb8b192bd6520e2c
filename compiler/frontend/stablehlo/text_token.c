// SPDX-License-Identifier: MIT
/* Tokens of MLIR's text, and what is done when it is not what was expected: see text.h */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "text.h"

/* A place in the text, as an editor counts */
static void place_of(const struct text *x, const char *at, unsigned int *line, unsigned int *column)
{
	*line = *column = 1;
	for (const char *p = x->base; p < at; p++) {
		++*column;
		if (*p == '\n')
			++*line, *column = 1;
	}
}

int text_fail_at(struct text *x, const char *at, int code, const char *fmt, ...)
{
	unsigned int line, column;
	char text[300];
	va_list ap;

	if (x->r.rc)
		return x->r.rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	place_of(x, at, &line, &column);
	x->at = x->end;
	x->t = (struct token){ TOKEN_END, x->end, 0 };
	return reader_fail(&x->r, code, "line %u, column %u: %s", line, column, text);
}

#define MOST_SHOWN 40 /* of a token */

int text_expected(struct text *x, const char *what)
{
	char shown[MOST_SHOWN + 1];
	size_t n = x->t.n < MOST_SHOWN ? x->t.n : MOST_SHOWN;

	for (size_t i = 0; i < n; i++)
		shown[i] = x->t.p[i] >= ' ' && x->t.p[i] < 127 ? x->t.p[i] : '?';
	shown[n] = 0;
	if (x->t.kind == TOKEN_END)
		return text_fail_at(x, x->t.p, -EINVAL, "expected %s, found the file's end", what);
	return text_fail_at(x, x->t.p, -EINVAL, "expected %s, found '%s%s'", what, shown,
			    n < x->t.n ? "..." : "");
}

bool text_bad(const struct text *x)
{
	return x->r.rc != 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Letters of names behind their sigil */
static bool is_suffix(char c)
{
	return is_letter(c) || is_digit(c) || c == '$' || c == '.' || c == '-';
}

static void skip_blanks(struct text *x)
{
	while (x->at < x->end) {
		if (*x->at == ' ' || *x->at == '\n' || *x->at == '\t' || *x->at == '\r') {
			x->at++;
		} else if (*x->at == '/' && x->end - x->at > 1 && x->at[1] == '/') {
			const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));

			x->at = end ? end : x->end;
		} else {
			break;
		}
	}
}

static const char *end_of_string(struct text *x, const char *p)
{
	const char *start = p++;

	for (; p < x->end && *p != '"' && *p != '\n'; p++)
		if (*p == '\\')
			p++;
	if (p < x->end && *p == '"')
		return p + 1;
	text_fail_at(x, start, -EINVAL, "a string without an end");
	return x->end;
}

static const char *end_of_number(const struct text *x, const char *p, enum token_kind *kind)
{
	const char *q;

	*kind = TOKEN_INTEGER;
	if (*p == '0' && x->end - p > 2 && p[1] == 'x' && is_hex(p[2])) {
		for (p += 2; p < x->end && is_hex(*p); p++)
			;
		return p;
	}
	while (p < x->end && is_digit(*p))
		p++;
	if (p >= x->end || *p != '.')
		return p;
	*kind = TOKEN_FLOAT;
	for (p++; p < x->end && is_digit(*p); p++)
		;
	if (p < x->end && (*p == 'e' || *p == 'E')) {
		q = p + 1;
		if (q < x->end && (*q == '+' || *q == '-'))
			q++;
		if (q < x->end && is_digit(*q))
			for (p = q; p < x->end && is_digit(*p); p++)
				;
	}
	return p;
}

static const char *end_of_word(const struct text *x, const char *p)
{
	while (p < x->end && (is_letter(*p) || is_digit(*p) || *p == '$' || *p == '.'))
		p++;
	return p;
}

/* '%', '#', '!', '@' or '^', and what it is about; their names may not end with a '-' of "->" */
static const char *end_of_name(struct text *x, const char *p, enum token_kind *kind)
{
	static const char sigils[] = "%#!@^";
	static const enum token_kind kinds[] = { TOKEN_VALUE, TOKEN_HASH, TOKEN_TYPE, TOKEN_SYMBOL,
						 TOKEN_BLOCK };
	const char *start = p + 1;

	*kind = kinds[strchr(sigils, *p) - sigils];
	if (*kind == TOKEN_SYMBOL && start < x->end && *start == '"')
		return end_of_string(x, start);
	for (p = start; p < x->end && is_suffix(*p); p++)
		if (*p == '-' &&
		    (*kind == TOKEN_HASH || *kind == TOKEN_TYPE || (p + 1 < x->end && p[1] == '>')))
			break;
	if (p == start)
		text_fail_at(x, start - 1, -EINVAL, "a '%c' without a name", start[-1]);
	return p;
}

static const char *end_of_punctuation(struct text *x, const char *p, enum token_kind *kind)
{
	const size_t left = (size_t)(x->end - p);

	*kind = TOKEN_PUNCTUATION;
	if (left >= 2 && !memcmp(p, "->", 2)) {
		*kind = TOKEN_ARROW;
		return p + 2;
	}
	if (left >= 3 && !memcmp(p, "{-#", 3)) {
		*kind = TOKEN_RESOURCES;
		return p + 3;
	}
	if (!strchr("(){}[]<>=,:?*+-|/", *p) || !*p)
		text_fail_at(x, p, -EINVAL,
			     *p >= ' ' && *p < 127 ? "a '%c', which is not known here"
						   : "a character that is not known here (%d)",
			     (unsigned char)*p);
	return p + 1;
}

void text_next(struct text *x)
{
	struct token t = { .kind = TOKEN_END };

	if (text_bad(x))
		return;
	skip_blanks(x);
	t.p = x->at;
	if (x->at < x->end) {
		const char c = *x->at, *end;

		if (x->end - x->at >= 3 && !memcmp(x->at, "#-}", 3)) {
			t.kind = TOKEN_RESOURCES_END;
			end = x->at + 3;
		} else if (is_letter(c)) {
			t.kind = TOKEN_WORD;
			end = end_of_word(x, x->at);
		} else if (is_digit(c)) {
			end = end_of_number(x, x->at, &t.kind);
		} else if (c == '"') {
			t.kind = TOKEN_STRING;
			end = end_of_string(x, x->at);
		} else if (c && strchr("%#!@^", c)) {
			end = end_of_name(x, x->at, &t.kind);
		} else {
			end = end_of_punctuation(x, x->at, &t.kind);
		}
		if (text_bad(x))
			return;
		t.n = (size_t)(end - x->at);
		x->at = end;
	}
	x->t = t;
}

struct token text_peek(const struct text *x)
{
	struct ncc_error ignored;
	struct text y = *x;

	y.r.err = &ignored;
	text_next(&y);
	return y.t;
}

void text_return(struct text *x, struct token t)
{
	if (text_bad(x))
		return;
	x->t = t;
	x->at = t.p + t.n;
}

bool text_is(const struct text *x, char c)
{
	return x->t.kind == TOKEN_PUNCTUATION && *x->t.p == c;
}

bool text_take(struct text *x, char c)
{
	if (!text_is(x, c))
		return false;
	text_next(x);
	return true;
}

void text_expect(struct text *x, char c)
{
	const char what[] = { '\'', c, '\'', 0 };

	if (!text_take(x, c))
		text_expected(x, what);
}

bool token_is(struct token t, const char *word)
{
	return t.n == strlen(word) && !memcmp(t.p, word, t.n);
}

bool text_is_word(const struct text *x, const char *word)
{
	return x->t.kind == TOKEN_WORD && token_is(x->t, word);
}

bool text_take_word(struct text *x, const char *word)
{
	if (!text_is_word(x, word))
		return false;
	text_next(x);
	return true;
}

void text_expect_word(struct text *x, const char *word)
{
	char what[64];

	snprintf(what, sizeof(what), "'%s'", word);
	if (!text_take_word(x, word))
		text_expected(x, what);
}

bool text_enter(struct text *x)
{
	if (x->r.depth >= MLIR_MAX_DEPTH) {
		text_fail_at(x, x->t.p, -EINVAL, "things nested more than %d deep", MLIR_MAX_DEPTH);
		return false;
	}
	x->r.depth++;
	return !text_bad(x);
}

void text_leave(struct text *x)
{
	x->r.depth--;
}

void text_skip(struct text *x)
{
	unsigned int depth = 0;
	const char *start = x->t.p;

	do {
		if (text_is(x, '(') || text_is(x, '[') || text_is(x, '{') || text_is(x, '<'))
			depth++;
		else if (text_is(x, ')') || text_is(x, ']') || text_is(x, '}') || text_is(x, '>'))
			depth--;
		else if (x->t.kind == TOKEN_END)
			text_fail_at(x, start, -EINVAL, "a bracket that is not closed");
		text_next(x);
	} while (depth && !text_bad(x));
}

const char *text_copy(struct text *x, const char *p, size_t n)
{
	char *copy = reader_alloc(&x->r, n + 1, 1);

	if (copy)
		memcpy(copy, p, n);
	return copy;
}

static int hex_of(char c)
{
	return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* A string without its quotes and escapes; from is behind the first quote */
static const char *unescaped(struct text *x, const char *from, const char *to, size_t *n)
{
	char *out = reader_alloc(&x->r, (size_t)(to - from) + 1, 1), *o = out;

	for (const char *p = from; out && p < to; p++) {
		if (*p != '\\') {
			*o++ = *p;
		} else if (to - p > 2 && is_hex(p[1]) && is_hex(p[2])) {
			*o++ = (char)(hex_of(p[1]) << 4 | hex_of(p[2]));
			p += 2;
		} else if (to - p > 1 && strchr("\\\"nt", p[1]) && p[1]) {
			*o++ = p[1] == 'n' ? '\n' : p[1] == 't' ? '\t' : p[1];
			p++;
		} else {
			text_fail_at(x, p, -EINVAL, "a '\\' that is followed by nothing known");
			return NULL;
		}
	}
	*n = out ? (size_t)(o - out) : 0;
	return out;
}

const char *text_string(struct text *x, size_t *n)
{
	const struct token t = x->t;
	const char *s;

	*n = 0;
	if (t.kind != TOKEN_STRING) {
		text_expected(x, "a string");
		return NULL;
	}
	s = unescaped(x, t.p + 1, t.p + t.n - 1, n);
	text_next(x);
	return text_bad(x) ? NULL : s;
}

const char *text_symbol(struct text *x, size_t *n)
{
	const struct token t = x->t;
	const char *s;

	*n = 0;
	if (t.kind != TOKEN_SYMBOL) {
		text_expected(x, "a name that begins with '@'");
		return NULL;
	}
	if (t.p[1] == '"') {
		s = unescaped(x, t.p + 2, t.p + t.n - 1, n);
	} else {
		*n = t.n - 1;
		s = text_copy(x, t.p + 1, *n);
	}
	if (s && strlen(s) != *n)
		text_fail_at(x, t.p, -EINVAL, "a name with a NUL in it");
	text_next(x);
	return text_bad(x) ? NULL : s;
}

int64_t text_integer(struct text *x)
{
	const struct token t = x->t;
	const bool negative = text_take(x, '-');
	uint64_t v = 0;
	const bool hex = x->t.n > 2 && x->t.p[1] == 'x';

	if (x->t.kind != TOKEN_INTEGER) {
		text_expected(x, "an integer");
		return 0;
	}
	for (size_t i = hex ? 2 : 0; i < x->t.n; i++)
		if (__builtin_mul_overflow(v, hex ? 16u : 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)hex_of(x->t.p[i]), &v)) {
			text_fail_at(x, t.p, -EINVAL, "an integer of more than 64 bits");
			return 0;
		}
	if (negative && v > (uint64_t)INT64_MAX + 1)
		text_fail_at(x, t.p, -EINVAL, "an integer of more than 64 bits");
	text_next(x);
	return (int64_t)(negative ? -v : v);
}

int64_t text_count(struct text *x)
{
	const char *at = x->t.p;
	const int64_t v = text_integer(x);

	if (v < 0)
		text_fail_at(x, at, -EINVAL, "a number that is negative or too large");
	return text_bad(x) ? 0 : v;
}
