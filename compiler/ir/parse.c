// SPDX-License-Identifier: MIT
/*
 * Reads the IR's text form (text.h), for --framework IR, tests and the fuzzer. The text is not
 * trusted: numbers are bounded, operands are results of earlier lines, and every operation passes
 * the verifier.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define MAX_TOKEN 256
#define MAX_LENGTH (2000ll << 20)

struct parser {
	const char *at, *end;
	unsigned int line;
	struct ncc_module *m;
	struct ncc_op **op; /* by number */
	unsigned int cap;
	int64_t bytes; /* of all constants */
	struct ncc_error *err;
};

static int fail(struct parser *p, const char *what)
{
	return ncc_fail(p->err, -EINVAL, "line %u: %s", p->line, what);
}

/* Skips blanks within a line. */
static void skip(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
		p->at++;
}

/* Skips empty lines and comments to the beginning of the next line. */
static void next_line(struct parser *p)
{
	for (skip(p); p->at < p->end; skip(p)) {
		if (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '/')
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		else if (*p->at != '\n')
			return;
		else
			p->line++, p->at++;
	}
}

static bool take(struct parser *p, const char *text)
{
	size_t n = strlen(text);

	skip(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n))
		return false;
	p->at += n;
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-+.", c));
}

/* Reads a word of letters, digits and signs, which may be empty. */
static void word(struct parser *p, char w[MAX_TOKEN])
{
	unsigned int n = 0;

	skip(p);
	while (p->at < p->end && is_word(*p->at) && n < MAX_TOKEN - 1)
		w[n++] = *p->at++;
	w[n] = 0;
}

static int integer(struct parser *p, int64_t low, int64_t high, int64_t *v)
{
	int64_t n = 0;
	bool minus;

	minus = take(p, "-");
	if (p->at == p->end || *p->at < '0' || *p->at > '9')
		return fail(p, "a number is missing");
	while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
		n = n * 10 + (*p->at++ - '0');
		if (n > NCC_MAX_ELEMS)
			return fail(p, "a number is out of range");
	}
	*v = minus ? -n : n;
	return *v < low || *v > high ? fail(p, "a number is out of range") : 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int string(struct parser *p, char **out)
{
	const char *q;
	size_t n = 0;
	char *s;

	if (!take(p, "\""))
		return fail(p, "a name in quotes is missing");
	for (q = p->at; q < p->end && *q != '"' && *q != '\n';)
		q++;
	s = ncc_alloc(p->m, (size_t)(q - p->at) + 1);
	if (!s)
		return ncc_no_memory(p->err);

	for (; p->at < q; p->at++) {
		s[n] = *p->at;
		if (*p->at == '\\') {
			if (q - p->at < 3 || hex_digit(p->at[1]) < 0 || hex_digit(p->at[2]) < 0)
				return fail(p, "bad \\ in a name");
			s[n] = (char)(hex_digit(p->at[1]) << 4 | hex_digit(p->at[2]));
			p->at += 2;
		}
		if (!s[n++])
			return fail(p, "a 0 in a name");
	}
	*out = s;
	return take(p, "\"") ? 0 : fail(p, "a name without an end");
}

static int dtype(struct parser *p, struct ncc_shape *s)
{
	char w[MAX_TOKEN];

	word(p, w);
	s->pred = !strcmp(w, "pred");
	for (unsigned int d = 0; d < 256; d++) {
		struct ncc_shape probe = { .dtype = (uint8_t)d };

		s->dtype = (uint8_t)d;
		if (s->pred ? d == NEURON_DT_INT8
			    : strcmp(ncc_dtype_name(&probe), "?") &&
				      !strcmp(w, ncc_dtype_name(&probe)))
			return 0;
	}
	return fail(p, "unknown type");
}

static int shape(struct parser *p, struct ncc_shape *s)
{
	int64_t n = 1;
	int rc = dtype(p, s);

	if (rc)
		return rc;
	if (!take(p, "["))
		return fail(p, "[ is missing");
	for (s->ndim = 0; !take(p, "]"); s->ndim++) {
		if (s->ndim == NCC_MAX_DIMS || (s->ndim && !take(p, ",")))
			return fail(p, "bad dimensions");
		rc = integer(p, 1, NCC_MAX_ELEMS, &s->dim[s->ndim]);
		if (rc)
			return rc;
		if (s->dim[s->ndim] > NCC_MAX_ELEMS / n)
			return fail(p, "too many elements");
		n *= s->dim[s->ndim];
	}
	return 0;
}

static int element(struct parser *p, uint8_t type, void *data, int64_t i)
{
	unsigned int esz = ncc_dtype_size(type);
	char w[MAX_TOKEN], *end;
	uint32_t bits;
	double v;

	word(p, w);
	if (!strncmp(w, "0x", 2)) {
		bits = (uint32_t)strtoul(w, &end, 16);
		memcpy((char *)data + (size_t)i * esz, &bits, esz);
	} else {
		v = strtod(w, &end);
		if (end == w || *end || isnan(v) || (!ncc_is_float(type) && !(fabs(v) < 0x1p53)))
			return fail(p, "an element is missing");
		ncc_set(type, data, i, v);
	}
	return *end ? fail(p, "bad element") : 0;
}

/* Reads a constant's elements. Each takes two bytes of text at least, but for a splat. */
static int constant_data(struct parser *p, struct ncc_op *op)
{
	unsigned int esz = ncc_dtype_size(op->shape.dtype);
	int64_t n = ncc_elems(&op->shape);
	bool splat;
	int rc = 0;

	if (!take(p, "{"))
		return fail(p, "{ is missing");
	splat = take(p, "*");
	p->bytes += n * esz;
	if (splat ? n > IR_MAX_SPLAT || p->bytes > MAX_LENGTH : n > p->end - p->at)
		return fail(p, "a constant that is cut short or too large");
	op->data = ncc_alloc_data(p->m, (size_t)n * esz + 8);
	if (!op->data)
		return ncc_no_memory(p->err);

	for (int64_t i = 0; !rc && i < (splat ? 1 : n); i++) {
		if (i && !take(p, ","))
			return fail(p, "an element is missing");
		if (take(p, "..."))
			return fail(p, "a constant that is cut short");
		rc = element(p, op->shape.dtype, op->data, i);
	}

	for (int64_t i = 1; !rc && splat && i < n; i++)
		memcpy((char *)op->data + (size_t)i * esz, op->data, esz);
	return rc ? rc : take(p, "}") ? 0 : fail(p, "} is missing");
}

static int window(struct parser *p, struct ncc_window *w)
{
	const int64_t most = NCC_MAX_ELEMS - 1;
	int rc;

	*w = (struct ncc_window){ .window_dilation = 1, .base_dilation = 1 };
	rc = integer(p, 1, most, &w->size);
	if (!rc && !take(p, "/"))
		rc = fail(p, "/ is missing");
	rc = rc ? rc : integer(p, 1, most, &w->stride);
	if (!rc && take(p, "pad")) {
		rc = integer(p, -most, most, &w->low);
		if (!rc && !take(p, "_"))
			rc = fail(p, "_ is missing");
		rc = rc ? rc : integer(p, -most, most, &w->high);
	}
	if (!rc && take(p, "wdil"))
		rc = integer(p, 1, most, &w->window_dilation);
	if (!rc && take(p, "bdil"))
		rc = integer(p, 1, most, &w->base_dilation);
	w->reversal = !rc && take(p, "reversed");
	return rc;
}

/* The place of a list's length; NULL: the shapes imply it. */
static unsigned int *length_of(const struct ir_attr *a, const struct ncc_op *op)
{
	switch (a->count) {
	case IR_N_BATCH:
		return &op->dot->nbatch;
	case IR_N_CONTRACT:
		return &op->dot->ncontract;
	case IR_N_SPATIAL:
	case IR_N_CONV:
		return &op->conv->nspatial;
	default:
		return NULL;
	}
}

static int set_length(struct parser *p, const struct ir_attr *a, struct ncc_op *op, unsigned int n)
{
	unsigned int *to = length_of(a, op);

	if (a->type == IR_MASK)
		return 0;
	if (!to)
		return n == ir_attr_length(a, op) ? 0 : fail(p, "a list of another length");
	if (a->count == IR_N_CONV) {
		if (n < 2)
			return fail(p, "too few dimensions");
		n -= 2;
	}
	/* The first of several lists of one length sets it. */
	if (!strcmp(a->name, "lhs_batch") || !strcmp(a->name, "lhs_contract") ||
	    !strcmp(a->name, "in"))
		*to = n;
	return *to == n ? 0 : fail(p, "a list of another length");
}

static int list_item(struct parser *p, const struct ir_attr *a, struct ncc_op *op, unsigned int i)
{
	void *field = ir_attr_field(a, op);
	int64_t v;
	int rc;

	if (a->type == IR_WINDOW)
		return window(p, (struct ncc_window *)field + i);
	if (a->type == IR_LIST64)
		return integer(p, -NCC_MAX_ELEMS, NCC_MAX_ELEMS, (int64_t *)field + i);
	rc = integer(p, 0, NCC_MAX_DIMS - 1, &v);
	if (rc)
		return rc;
	if (a->type == IR_MASK)
		op->mask |= 1u << v;
	else
		((uint8_t *)field)[i] = (uint8_t)v;
	return 0;
}

static int list(struct parser *p, const struct ir_attr *a, struct ncc_op *op)
{
	unsigned int n = 0;
	int rc;

	if (!take(p, "{"))
		return fail(p, "{ is missing");
	for (; !take(p, "}"); n++) {
		if (n == NCC_MAX_DIMS || (n && !take(p, ",")))
			return fail(p, "bad list");
		rc = list_item(p, a, op, n);
		if (rc)
			return rc;
	}
	return set_length(p, a, op, n);
}

static int kind(struct parser *p, enum ncc_kind *k)
{
	char w[MAX_TOKEN];

	word(p, w);
	/* exchanges are made when the passes are done, and the text has no list of transfers */
	for (*k = 0; *k < NCC_KINDS; (*k)++)
		if (*k != NCC_EXCHANGE && *k != NCC_TRANSFER && *k != NCC_RANK &&
		    !strcmp(w, ncc_kind_name(*k)))
			return 0;
	return fail(p, "unknown operation");
}

static int io_dtype(struct parser *p, uint8_t *to)
{
	const struct ncc_float8 *f;
	struct ncc_shape s;
	int rc = dtype(p, &s);

	*to = rc ? 0 : s.dtype;
	f = ncc_float8(*to);
	if (f && f->io_dtype != *to)
		return ncc_fail(p->err, -EINVAL, "line %u: the model's user has %s as u8", p->line,
				f->name);
	return rc;
}

static int attr(struct parser *p, const struct ir_attr *a, struct ncc_op *op)
{
	void *field = ir_attr_field(a, op);
	int64_t v;
	int rc;

	if (a->type == IR_BOOL) {
		*(bool *)field = true;
		return 0;
	}

	if (!take(p, "="))
		return fail(p, "= is missing");
	if (a->type == IR_KIND)
		return kind(p, &op->func);
	if (a->type == IR_DTYPE)
		return io_dtype(p, field);
	if (a->type != IR_I64 && a->type != IR_UINT && a->type != IR_COUNT)
		return list(p, a, op);
	rc = integer(p, 0, a->type == IR_COUNT ? UINT8_MAX : NCC_MAX_ELEMS, &v);
	if (!rc && a->type == IR_COUNT)
		*(uint8_t *)field = (uint8_t)v;
	else if (!rc && a->type == IR_I64)
		*(int64_t *)field = v;
	else if (!rc)
		*(unsigned int *)field = (unsigned int)v;
	return rc;
}

/* Reads attributes in any order; p= is ignored, as the layout pass computes it anew. */
static int attrs(struct parser *p, struct ncc_op *op)
{
	const struct ir_attr *a;
	char w[MAX_TOKEN];
	int64_t v;
	int rc = 0;

	for (word(p, w); !rc && *w; word(p, w)) {
		if (!strcmp(w, "p")) {
			rc = !take(p, "=") ? fail(p, "= is missing")
					   : integer(p, 0, NCC_MAX_DIMS - 1, &v);
			if (!rc && v >= op->shape.ndim)
				rc = fail(p, "p is no dimension");
			op->pdim = rc ? -1 : (int)v;
			continue;
		}
		for (a = ir_attrs; a->name; a++)
			if (!strcmp(a->name, w) && ir_attr_of(a, op->kind))
				break;
		rc = a->name ? attr(p, a, op) : fail(p, "unknown attribute");
	}
	return rc;
}

static int operand(struct parser *p, struct ncc_op **op)
{
	int64_t id;
	int rc = take(p, "%") ? integer(p, 0, NCC_MAX_OPS, &id) : fail(p, "% is missing");

	if (rc)
		return rc;
	if (id >= p->m->nops)
		return fail(p, "an operand that is not there yet");
	*op = p->op[id];
	return 0;
}

static int operands(struct parser *p, struct ncc_op ***in, unsigned int *n)
{
	unsigned int cap = 0;
	int rc = 0;

	*in = NULL;
	*n = 0;
	for (skip(p); !rc && p->at < p->end && *p->at == '%'; (*n)++) {
		if (*n == cap) {
			struct ncc_op **more;

			cap = cap ? cap * 2 : 4;
			more = cap > 2 * NCC_MAX_OPERANDS ? NULL
							  : realloc(*in, cap * sizeof(*more));
			if (!more)
				return ncc_no_memory(p->err);
			*in = more;
		}
		rc = operand(p, &(*in)[*n]);
		if (!rc && take(p, ","))
			skip(p);
	}
	return rc;
}

static int add(struct parser *p, struct ncc_op *op)
{
	if (p->m->nops >= NCC_MAX_OPS)
		return fail(p, "too many operations");
	if (p->m->nops == p->cap) {
		unsigned int cap = p->cap ? p->cap * 2 : 64;
		struct ncc_op **more = realloc(p->op, cap * sizeof(*more));

		if (!more)
			return ncc_no_memory(p->err);
		p->op = more;
		p->cap = cap;
	}
	p->op[p->m->nops] = op;
	ncc_op_append(p->m, op);
	p->m->nparams += op->kind == NCC_PARAM;
	return 0;
}

/* Reads the attributes, the names and the end of the line. */
static int rest_of(struct parser *p, struct ncc_op *op)
{
	int rc = op->kind == NCC_CONST ? constant_data(p, op) : 0;

	rc = rc ? rc : attrs(p, op);
	rc = rc ? rc : string(p, &op->name);
	skip(p);
	if (!rc && p->at < p->end && *p->at == '"')
		rc = string(p, &op->where);
	skip(p);
	if (!rc && p->at < p->end && *p->at != '\n')
		rc = fail(p, "something behind the end of the operation");
	return rc ? rc : ncc_verify_op(op, p->err);
}

static int operation(struct parser *p)
{
	struct ncc_op **in = NULL, *op;
	struct ncc_shape s = { 0 };
	enum ncc_kind k = NCC_KINDS;
	unsigned int n = 0;
	int64_t id;
	int rc = take(p, "%") ? integer(p, 0, NCC_MAX_OPS, &id) : fail(p, "% or return is missing");

	if (!rc && id != p->m->nops)
		rc = fail(p, "operations are not numbered from 0");
	if (!rc && !take(p, "="))
		rc = fail(p, "= is missing");
	rc = rc ? rc : shape(p, &s);
	rc = rc ? rc : kind(p, &k);
	rc = rc ? rc : operands(p, &in, &n);
	op = rc ? NULL : ncc_op_new(p->m, k, NULL, n);
	if (op) {
		op->shape = s;
		for (unsigned int i = 0; i < n; i++)
			op->in[i] = in[i];
		rc = rest_of(p, op);
		rc = rc ? rc : add(p, op);
	} else if (!rc) {
		rc = ncc_no_memory(p->err);
	}

	free(in);
	return rc;
}

/* Parameters by their index, each once */
static int find_params(struct parser *p)
{
	struct ncc_module *m = p->m;

	m->params = ncc_alloc(m, (m->nparams + 1) * sizeof(struct ncc_op *));
	if (!m->params)
		return ncc_no_memory(p->err);
	for (struct ncc_op *op = m->first; op; op = op->next) {
		if (op->kind != NCC_PARAM)
			continue;
		if (op->index >= m->nparams || m->params[op->index])
			return ncc_fail_op(p->err, -EINVAL, op, "bad index");
		m->params[op->index] = op;
	}
	return 0;
}

/* %1, %2 or %1:u8, %2:f32 */
static int results(struct parser *p)
{
	struct ncc_module *m = p->m;
	int rc = 0;

	m->outs = ncc_alloc(m, NCC_MAX_OPERANDS * sizeof(struct ncc_op *));
	if (!m->outs)
		return ncc_no_memory(p->err);

	do {
		if (m->nouts == NCC_MAX_OPERANDS)
			return fail(p, "too many results");
		rc = operand(p, &m->outs[m->nouts]);
		if (rc || !take(p, ":"))
			continue;
		if (!m->out_dtype && !m->nouts)
			m->out_dtype = ncc_alloc(m, NCC_MAX_OPERANDS);
		rc = m->out_dtype ? io_dtype(p, &m->out_dtype[m->nouts])
				  : fail(p, "types of some results only");
	} while (!rc && ++m->nouts && take(p, ","));

	for (unsigned int i = 0; !rc && m->out_dtype && i < m->nouts; i++)
		if (!m->out_dtype[i])
			rc = fail(p, "types of some results only");
	return rc;
}

static int body(struct parser *p)
{
	int rc;

	next_line(p);
	rc = take(p, "module") ? string(p, &p->m->name) : fail(p, "module is missing");
	for (next_line(p); !rc && p->at < p->end && !take(p, "return"); next_line(p))
		rc = operation(p);
	rc = rc ? rc : results(p);
	next_line(p);
	if (!rc && p->at < p->end)
		rc = fail(p, "something behind the end of the module");
	rc = rc ? rc : find_params(p);
	return rc ? rc : ncc_verify(p->m, p->err);
}

int ncc_import_ir(const void *buf, size_t size, struct ncc_module **m, struct ncc_error *err)
{
	struct parser p = { .at = buf, .end = (const char *)buf + size, .line = 1, .err = err };
	int rc;

	p.m = ncc_module_new("");
	if (!p.m)
		return ncc_no_memory(err);
	rc = body(&p);
	free(p.op);
	if (rc)
		ncc_module_free(p.m);
	else
		*m = p.m;
	return rc;
}
