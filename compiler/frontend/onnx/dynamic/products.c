// SPDX-License-Identifier: MIT
/*
 * Rules (dynamic.h) of products, recurrent layers and normalization over the last dimensions. What
 * is not there is 0 where a product sums. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "dynamic.h"

/* Dimension da of operand a and db of b are summed over: what is not there becomes 0 in both. */
static void contract(struct onnx_node *n, unsigned int da, unsigned int db)
{
	struct onnx_value *a = &n->in[0], *b = &n->in[1];
	const onnx_op size = sized_both(n, a->size[da], b->size[db]);
	int64_t least = a->op->shape.dim[da];

	if (n->rc || !size)
		return;
	if (b->op->shape.dim[db] < least)
		least = b->op->shape.dim[db];
	if ((!a->size[da] && a->op->shape.dim[da] != least) ||
	    (!b->size[db] && b->op->shape.dim[db] != least))
		onnx_fail(n, -EINVAL, "%lld columns times %lld rows",
			  (long long)a->op->shape.dim[da], (long long)b->op->shape.dim[db]);
	a->op = ox_slice(n, onnx_filled(n, a, 1u << da, 0), da, 0, least, 1);
	b->op = ox_slice(n, onnx_filled(n, b, 1u << db, 0), db, 0, least, 1);
}

void sized_mat_mul(struct onnx_node *n)
{
	const struct onnx_value *a = &n->in[0], *b = &n->in[1];
	const unsigned int x = a->op->shape.ndim, y = b->op->shape.ndim;
	const unsigned int r = x > y ? x : y;
	onnx_op size[NCC_MAX_DIMS] = { NULL }, rows, columns;
	unsigned int to;

	if (!x || !y) {
		onnx_fail(n, -EINVAL, "an operand is a scalar");
		return;
	}
	rows = x > 1 ? a->size[x - 2] : NULL;
	columns = y > 1 ? b->size[y - 1] : NULL;
	contract(n, x - 1, y > 1 ? y - 2 : 0);
	if (x > 1 && y > 1)
		sized_broadcast(n, 3, 2, size);
	else
		for (unsigned int d = 0; d + 2 < r; d++)
			size[d] = x > 1 ? a->size[d] : b->size[d];
	to = r > 2 ? r - 2 : 0;
	if (x > 1)
		size[to++] = rows;
	if (y > 1)
		size[to] = columns;
	if (!n->rc)
		sized_import(n, size);
}

void sized_gemm(struct onnx_node *n)
{
	const struct onnx_value *a = &n->in[0], *b = &n->in[1];
	const bool ta = onnx_int(n, "transA"), tb = onnx_int(n, "transB");
	const onnx_op size[NCC_MAX_DIMS] = { a->size[ta], b->size[!tb] };
	const struct onnx_value *c = n->nin > 2 ? &n->in[2] : NULL;

	if (a->op->shape.ndim != 2 || b->op->shape.ndim != 2) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected 2", a->op->shape.ndim,
			  b->op->shape.ndim);
		return;
	}
	contract(n, !ta, tb);
	for (unsigned int d = 0; c && c->op && d < c->op->shape.ndim && d < 2; d++) {
		const onnx_op own = size[d + 2 - (c->op->shape.ndim > 1 ? 2 : 1)];

		if (c->size[d] ? !own || !sizes_same(own, c->size[d])
			       : own && c->op->shape.dim[d] != 1)
			sized_refuse_but(n, c->size[d] ? 2 : own == size[0] ? 0 : 1, NCC_MAX_DIMS);
	}
	if (!n->rc)
		sized_import(n, size);
}

/* The sizes of an equation's letters */
struct letters {
	onnx_op size[128];
	bool kept[128]; /* The result has it. */
};

/* The letters of a term, from *p to a comma, an arrow or the end; *count of them */
static void take_term(struct onnx_node *n, const char **p, char *label, unsigned int *count)
{
	*count = 0;
	for (; **p && **p != ',' && **p != '-'; ++*p) {
		const bool letter = (**p >= 'a' && **p <= 'z') || (**p >= 'A' && **p <= 'Z');

		if (**p == ' ')
			continue;
		if (!letter || *count == NCC_MAX_DIMS || memchr(label, **p, *count)) {
			onnx_fail(n, -ENOTSUP,
				  "sizes that depend on the data, in an equation with dots or a "
				  "letter twice in a term");
			return;
		}
		label[(*count)++] = **p;
	}
}

void sized_einsum(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *e = onnx_attr(n, "equation");
	char text[256], label[NCC_MAX_DIMS];
	onnx_op size[NCC_MAX_DIMS] = { NULL };
	struct letters l = { 0 };
	unsigned int count, i = 0;
	const char *p = text;

	if (!e || e->s.len >= sizeof(text)) {
		onnx_fail(n, -EINVAL, "no equation, or a long one");
		return;
	}
	memcpy(text, e->s.data, e->s.len);
	text[e->s.len] = 0;
	p = strstr(text, "->");
	if (!p) {
		sized_refuse(n, 0); /* the letters of the result would have to be found */
		return;
	}
	p += 2;
	take_term(n, &p, label, &count);
	for (unsigned int k = 0; k < count; k++)
		l.kept[(unsigned char)label[k]] = true;
	for (p = text; !n->rc && i < n->nin; i++, p += *p == ',') {
		take_term(n, &p, label, &count);
		for (unsigned int k = 0; k < count && !n->rc && n->in[i].op; k++) {
			const unsigned char c = (unsigned char)label[k];

			if (k < n->in[i].op->shape.ndim && n->in[i].size[k]) {
				l.size[c] = sized_both(n, l.size[c], n->in[i].size[k]);
				if (!l.kept[c])
					n->in[i].op = onnx_filled(n, &n->in[i], 1u << k, 0);
			}
		}
	}
	p = strstr(text, "->") + 2;
	take_term(n, &p, label, &count);
	for (unsigned int k = 0; k < count; k++)
		size[k] = l.size[(unsigned char)label[k]];
	if (!n->rc)
		sized_import(n, size);
}

/*
 * Sequences of a length that the data say, if they do not have lengths of their own, and a batch of
 * such a size
 */
void sized_rnn(struct onnx_node *n)
{
	const bool first = onnx_int(n, "layout");
	const struct onnx_value *x = &n->in[0];
	const unsigned int time = first, batch = !first;
	onnx_op y[NCC_MAX_DIMS] = { NULL }, state[NCC_MAX_DIMS] = { NULL };
	struct onnx_value *const in = n->in, *with;
	const unsigned int nin = n->nin;

	if (x->op->shape.ndim != 3 || x->size[2]) {
		sized_refuse_dim(n, 0, 2);
		return;
	}
	y[first ? 1 : 0] = x->size[time];
	y[first ? 0 : 2] = state[first ? 0 : 1] = x->size[batch];
	with = ncc_alloc(n->imp->m, (nin + 5) * sizeof(*with));
	if (!with) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	if (x->size[time] && !onnx_in(n, 4)) {
		memcpy(with, in, nin * sizeof(*with));
		with[4].op = ox_expand(n, x->size[time], 1, &x->op->shape.dim[batch]);
		with[4].type = ONNX_INT32;
		n->in = with;
		n->nin = nin < 5 ? 5 : nin;
	}
	n->rule->import(n);
	n->in = in;
	n->nin = nin;
	for (unsigned int i = 0; i < n->nout && !n->rc; i++)
		if (n->out[i].op)
			onnx_give_sizes(n, i, n->out[i].op, n->out[i].type, i ? state : y);
}

/* Over the dimensions from an axis on */
void sized_layer_norm(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), nd);

	for (unsigned int d = axis; d < nd && !n->rc; d++)
		if (v->size[d])
			sized_refuse_dim(n, 0, d);
	if (!n->rc)
		sized_import(n, v->size);
}
