// SPDX-License-Identifier: MIT
/* Constructors (build.h) of operations in general and of constants, and how making one fails */
#include "build.h"

#include <errno.h>
#include <stdarg.h>

static int fail(const struct ncc_build *bl, int code, const char *text)
{
	const bool nothing = code == -ENOMEM; /* a NULL, wherever it came about */

	if (nothing && bl->err->text[0])
		return -EFBIG;
	if (nothing && bl->m->made >= NCC_MAX_MADE)
		return build_fail(bl, -EFBIG, "too large: more than %d operations", NCC_MAX_MADE);
	return ncc_fail(bl->err, code, "%.40s '%.80s'%s%.90s%s: %s", bl->kind, bl->name,
			bl->where ? " (" : "", bl->where ? bl->where : "", bl->where ? ")" : "",
			text);
}

int build_fail(const struct ncc_build *bl, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (build_ended(bl))
		return *bl->now->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	code = fail(bl, code, text);
	if (bl->now)
		*bl->now->rc = code;
	return code;
}

/* NULL; what is made now says that there is no memory. */
static struct ncc_op *no_memory(const struct ncc_build *bl)
{
	if (bl->now)
		build_fail(bl, -ENOMEM, "out of memory");
	return NULL;
}

struct ncc_op *build_any(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			 unsigned int nin)
{
	struct ncc_op *op;

	if (build_ended(bl))
		return NULL;
	if (bl->now && ++*bl->now->made > NCC_MAX_OPS) {
		build_fail(bl, -EFBIG, "too large: more than %d operations", NCC_MAX_OPS);
		return NULL;
	}
	op = ncc_op_new(bl->m, kind, bl->name, nin);
	if (!op)
		return no_memory(bl);
	op->where = bl->where;
	op->shape = *s;
	op->exact = !bl->now || bl->now->exact;
	return op;
}

struct ncc_op *build_node(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			  struct ncc_op *a, struct ncc_op *b, struct ncc_op *c)
{
	struct ncc_op *op = a ? build_any(bl, kind, s, c ? 3 : b ? 2 : 1) : NULL;

	if (!op)
		return NULL;
	op->in[0] = a;
	if (b)
		op->in[1] = b;
	if (c)
		op->in[2] = c;
	ncc_fold_elementwise(bl->m, op);
	return op;
}

static struct ncc_op *constant(struct ncc_build *bl, const struct ncc_shape *s)
{
	struct ncc_op *op = ncc_op_new(bl->m, NCC_CONST, bl->name, 0);

	if (!op)
		return no_memory(bl);
	op->where = bl->where;
	op->shape = *s;
	op->data = ncc_alloc_data(bl->m, (size_t)ncc_elems(s) * ncc_dtype_size(s->dtype));
	return op->data ? op : no_memory(bl);
}

/* Does a shape that is made now suit a constant? */
static bool suits(struct ncc_build *bl, const struct ncc_shape *s)
{
	struct ncc_op op = { .kind = NCC_CONST, .shape = *s, .data = &op };
	struct ncc_error err;

	if (ncc_verify_op(&op, &err)) {
		build_fail(bl, -EINVAL, "%s", err.text);
		return false;
	}
	if (ncc_elems(s) > NCC_MAX_DATA) {
		build_fail(bl, -EFBIG, "too large: a constant of more than %d elements",
			   NCC_MAX_DATA);
		return false;
	}
	return true;
}

struct ncc_op *build_const(struct ncc_build *bl, const struct ncc_shape *s)
{
	int64_t bytes;

	if (build_ended(bl) || (bl->now && !suits(bl, s)))
		return NULL;
	bytes = ncc_elems(s) * ncc_dtype_size(s->dtype);
	if (bytes > NCC_MAX_CONST - *bl->const_bytes) {
		build_fail(bl, -EFBIG,
			   "too large: the constants that are made for the module exceed %lld "
			   "bytes",
			   (long long)NCC_MAX_CONST);
		return NULL;
	}
	*bl->const_bytes += bytes;
	return constant(bl, s);
}

struct ncc_op *build_scalar(struct ncc_build *bl, const struct ncc_shape *like, double v)
{
	const struct ncc_shape s = { .dtype = like->dtype, .pred = like->pred };
	struct ncc_op *op = build_ended(bl) ? NULL : constant(bl, &s);

	if (op)
		ncc_set(s.dtype, op->data, 0, v);
	return op;
}

struct ncc_op *build_iota(struct ncc_build *bl, uint8_t dtype, int64_t n)
{
	const struct ncc_shape s = { .dtype = dtype, .ndim = 1, .dim = { n } };
	struct ncc_op *op = build_const(bl, &s);

	for (int64_t i = 0; op && i < n; i++)
		ncc_set(dtype, op->data, i, (double)i);
	return op;
}

struct ncc_op *build_steps(struct ncc_build *bl, uint8_t dtype, int64_t n, int64_t first,
			   int64_t step)
{
	const struct ncc_shape s = { .dtype = dtype, .ndim = 1, .dim = { n } };
	struct ncc_op *op = build_const(bl, &s);

	for (int64_t i = 0; op && i < n; i++)
		ncc_set_int(dtype, op->data, i, first + i * step);
	return op;
}

struct ncc_op *build_count(struct ncc_build *bl, int64_t n)
{
	return build_iota(bl, NEURON_DT_INT32, n);
}
