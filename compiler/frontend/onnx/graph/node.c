// SPDX-License-Identifier: MIT
/* A node of an ONNX graph: its attributes, operands and results. Part of the ONNX front end. */
#include <errno.h>
#include <stdarg.h>

#include "onnx.h"

int onnx_fail(struct onnx_node *n, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (n->rc)
		return n->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n->rc = build_fail(&n->b, code, "%s", text);
	return n->rc;
}

int onnx_check_steps(struct onnx_node *n)
{
	if (n->imp->steps <= NCC_MAX_STEPS)
		return 0;
	return onnx_fail(n, -EFBIG,
			 "too large: what the nodes up to here refer to takes more than %llu steps "
			 "to look at",
			 NCC_MAX_STEPS);
}

void onnx_unsupported(struct onnx_node *n)
{
	onnx_fail(n, -ENOTSUP, "operator not supported%s%.60s%s", *n->p->domain ? " (domain '" : "",
		  n->p->domain, *n->p->domain ? "')" : "");
}

int onnx_arg(const struct onnx_node *n)
{
	return n->rule->arg;
}

onnx_op onnx_in(const struct onnx_node *n, unsigned int i)
{
	return i < n->nin ? n->in[i].op : NULL;
}

bool onnx_is_const(onnx_op a)
{
	return build_is_const(a);
}

/* A constant operand whose elements are needed; it may be a broadcast of one number. */
static onnx_op constant_in(struct onnx_node *n, unsigned int i)
{
	onnx_op op = onnx_in(n, i);

	if (!op || n->rc)
		return NULL;
	if (!onnx_is_const(op)) {
		onnx_fail(n, -ENOTSUP, "operand %u ('%.80s') must be a constant", i,
			  n->p->input[i]);
		return NULL;
	}
	return op;
}

static double element(onnx_op op, int64_t i)
{
	double v;

	if (op->kind == NCC_BROADCAST && ncc_scalar_value(op, &v))
		return v;
	return ncc_get(op->shape.dtype, op->data, i);
}

bool onnx_in_ints(struct onnx_node *n, unsigned int i, int64_t *v, unsigned int max,
		  unsigned int *count)
{
	onnx_op op = constant_in(n, i);
	int64_t elems = op ? ncc_elems(&op->shape) : 0;

	*count = 0;
	if (!op)
		return !n->rc && i < n->nin && n->in[i].type; /* an empty list */
	if (ncc_is_float(op->shape.dtype) || op->shape.ndim > 1 || elems > max) {
		onnx_fail(n, -EINVAL, "operand %u ('%.80s') must be a list of at most %u integers",
			  i, n->p->input[i], max);
		return false;
	}
	*count = (unsigned int)elems;
	for (unsigned int k = 0; k < *count; k++)
		v[k] = (int64_t)element(op, k);
	return true;
}

bool onnx_in_scalar(struct onnx_node *n, unsigned int i, double *v)
{
	onnx_op op = constant_in(n, i);

	if (!op)
		return false;
	if (ncc_elems(&op->shape) != 1) {
		onnx_fail(n, -EINVAL, "operand %u ('%.80s') must be one number", i, n->p->input[i]);
		return false;
	}
	*v = element(op, 0);
	return true;
}

unsigned int onnx_axis(struct onnx_node *n, int64_t axis, unsigned int ndim)
{
	int64_t a = axis < 0 ? axis + ndim : axis;

	if (a >= 0 && a < ndim)
		return (unsigned int)a;
	onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, ndim);
	return 0;
}

void onnx_give_as(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type)
{
	if (!op || i >= n->nout)
		return;
	n->out[i] = (struct onnx_value){ .op = op, .type = type };
}

void onnx_give_empty(struct onnx_node *n, unsigned int i, const struct ncc_shape *s, int32_t type)
{
	struct ncc_shape *kept = ncc_alloc(n->imp->m, sizeof(*kept));

	if (!kept)
		onnx_fail(n, -ENOMEM, "out of memory");
	if (!kept || i >= n->nout || n->rc)
		return;
	*kept = *s;
	n->out[i] = (struct onnx_value){ .type = type, .empty = kept };
}

void onnx_give(struct onnx_node *n, unsigned int i, onnx_op op)
{
	int32_t type = op ? onnx_type_of(&op->shape) : 0;
	struct ncc_shape s;

	for (unsigned int k = n->nin; op && k-- > 0;)
		if (n->in[k].op && !onnx_dtype(n->in[k].type, &s) && s.dtype == op->shape.dtype &&
		    s.pred == op->shape.pred)
			type = n->in[k].type;
	onnx_give_as(n, i, op, type);
}

bool onnx_takes_empty(const struct onnx_rule *rule, unsigned int i)
{
	return rule->empty == ONNX_EMPTY_ANY || (rule->empty == ONNX_EMPTY_REST && i > 0);
}

bool onnx_needs(const struct onnx_node *n, unsigned int i)
{
	return !onnx_takes_empty(n->rule, i) &&
	       (n->rule->max < 0 || i < (unsigned int)n->rule->min);
}

bool onnx_has(struct onnx_node *n, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i <= to; i++)
		if (!onnx_in(n, i))
			onnx_fail(n, -EINVAL, "operand %u is absent or empty", i);
	return !n->rc;
}
