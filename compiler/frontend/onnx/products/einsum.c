// SPDX-License-Identifier: MIT
/*
 * Einsum: operands are contracted two by two; labels that neither the rest nor the result has are
 * summed. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "products.h"

#define MAX_TERMS 16
#define DOTS 64 /* labels from here on are those of "...", last dimension first */

/* A tensor and the label of each of its dimensions */
struct term {
	unsigned int n;
	uint8_t label[2 * NCC_MAX_DIMS];
	onnx_op op;
};

static int find(const struct term *t, uint8_t label)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->label[i] == label)
			return (int)i;
	return -1;
}

/* Takes the labels from *p to a comma, an arrow or the end; "..." stands for dots dimensions. */
static bool take_labels(struct onnx_node *n, const char **p, struct term *t, unsigned int dots)
{
	t->n = 0;
	for (; **p && **p != ',' && **p != '-'; ++*p) {
		unsigned int many = 1;
		char c = **p;

		if (c == ' ')
			continue;
		if (c == '.' && !strncmp(*p, "...", 3)) {
			*p += 2;
			many = dots;
		} else if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) {
			onnx_fail(n, -EINVAL, "'%c' in the equation", c);
			return false;
		}
		for (unsigned int i = 0; i < many; i++) {
			if (t->n == NCC_MAX_DIMS) {
				onnx_fail(n, -ENOTSUP, "more than 8 dimensions");
				return false;
			}
			t->label[t->n++] =
				c == '.' ? (uint8_t)(DOTS + many - 1 - i) : (uint8_t)(c - 'A');
		}
	}
	return true;
}

static unsigned int letters(const char *p)
{
	unsigned int k = 0;

	for (; *p && *p != ',' && *p != '-'; p++)
		k += *p != ' ' && *p != '.';
	return k;
}

/* A label that occurs twice takes the diagonal: the other elements become 0 and are summed. */
static void take_diagonals(struct onnx_node *n, struct term *t)
{
	for (unsigned int i = 0; i < t->n && !n->rc; i++) {
		for (unsigned int k = i + 1; k < t->n && t->op;) {
			const uint8_t at[2] = { (uint8_t)i, (uint8_t)k };
			struct ncc_shape s = t->op->shape;
			onnx_op a, b;

			if (t->label[i] != t->label[k]) {
				k++;
				continue;
			}
			if (s.dim[i] != s.dim[k]) {
				onnx_fail(n, -EINVAL, "one label for %lld and %lld",
					  (long long)s.dim[i], (long long)s.dim[k]);
				return;
			}
			a = ox_spread(n, ox_iota(n, NEURON_DT_INT32, s.dim[i]), &s, &at[0]);
			b = ox_spread(n, ox_iota(n, NEURON_DT_INT32, s.dim[k]), &s, &at[1]);
			t->op = ox_select(n, ox_bin(n, NCC_EQ, a, b), t->op, ox_scalar(n, &s, 0));
			t->op = ox_reduce(n, t->op, NCC_ADD, 1u << k, false);
			memmove(t->label + k, t->label + k + 1, t->n - k - 1);
			t->n--;
		}
	}
}

/* Sums over labels that nothing else has. */
static void sum_alone(struct onnx_node *n, struct term *t, const struct term *other,
		      unsigned int count)
{
	uint32_t mask = 0;
	unsigned int k = 0;

	for (unsigned int i = 0; i < t->n; i++) {
		bool needed = false;

		for (unsigned int o = 0; o < count; o++)
			needed = needed || find(&other[o], t->label[i]) >= 0;
		if (needed)
			t->label[k++] = t->label[i];
		else
			mask |= 1u << i;
	}
	t->n = k;
	if (mask)
		t->op = ox_reduce(n, t->op, NCC_ADD, mask, false);
}

/* Contracts a and b into a; other: what is still to come, and the result. */
static void contract(struct onnx_node *n, struct term *a, const struct term *b,
		     const struct term *other, unsigned int count)
{
	struct ncc_dot d = { 0 };
	struct term r = { 0 };

	for (unsigned int i = 0; i < a->n; i++) {
		int k = find(b, a->label[i]);
		bool needed = false;

		if (k < 0)
			continue;
		for (unsigned int o = 0; o < count; o++)
			needed = needed || find(&other[o], a->label[i]) >= 0;
		if (a->op->shape.dim[i] != b->op->shape.dim[k]) {
			onnx_fail(n, -EINVAL, "one label for %lld and %lld",
				  (long long)a->op->shape.dim[i], (long long)b->op->shape.dim[k]);
			return;
		}
		if (needed) {
			d.lhs_batch[d.nbatch] = (uint8_t)i;
			d.rhs_batch[d.nbatch++] = (uint8_t)k;
			r.label[r.n++] = a->label[i];
		} else {
			d.lhs_contract[d.ncontract] = (uint8_t)i;
			d.rhs_contract[d.ncontract++] = (uint8_t)k;
		}
	}

	for (unsigned int i = 0; i < a->n; i++)
		if (find(b, a->label[i]) < 0)
			r.label[r.n++] = a->label[i];

	for (unsigned int i = 0; i < b->n; i++)
		if (find(a, b->label[i]) < 0)
			r.label[r.n++] = b->label[i];

	r.op = ox_dot(n, a->op, b->op, &d, a->op->shape.dtype);
	*a = r;
}

/*
 * Without an arrow the result has the labels that occur once, in alphabetical order, after "...".
 */
static void implicit(const struct term *t, unsigned int count, unsigned int dots, struct term *out)
{
	out->n = 0;
	for (unsigned int i = dots; i-- > 0;)
		out->label[out->n++] = (uint8_t)(DOTS + i);
	for (uint8_t l = 0; l < DOTS; l++) {
		unsigned int seen = 0;

		for (unsigned int i = 0; i < count; i++)
			for (unsigned int k = 0; k < t[i].n; k++)
				seen += t[i].label[k] == l;
		if (seen == 1 && out->n < NCC_MAX_DIMS)
			out->label[out->n++] = l;
	}
}

static bool parse(struct onnx_node *n, const char *p, struct term *t)
{
	unsigned int dots = 0;

	for (unsigned int i = 0; i < n->nin; i++) {
		unsigned int named = letters(p), rank = onnx_in(n, i)->shape.ndim;
		unsigned int mine = rank > named ? rank - named : 0;

		t[i].op = onnx_in(n, i);
		if (!take_labels(n, &p, &t[i], mine))
			return false;
		if (t[i].n != rank) {
			onnx_fail(n, -EINVAL, "%u labels for operand %u of rank %u", t[i].n, i,
				  rank);
			return false;
		}
		dots = mine > dots ? mine : dots;
		if (*p != (i + 1 < n->nin ? ',' : *p == '-' ? '-' : 0)) {
			onnx_fail(n, -EINVAL, "the equation does not have %u operands", n->nin);
			return false;
		}
		p += *p == ',';
	}

	if (strncmp(p, "->", 2)) {
		implicit(t, n->nin, dots, &t[n->nin]);
		return true;
	}

	p += 2;
	return take_labels(n, &p, &t[n->nin], dots);
}

static void import_einsum(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "equation");
	struct term t[MAX_TERMS + 1] = { 0 };
	uint8_t perm[NCC_MAX_DIMS];
	char text[256];

	if (!a || !a->s.len || a->s.len >= sizeof(text) || n->nin > MAX_TERMS) {
		onnx_fail(n, -ENOTSUP, "no equation, or one that is too long");
		return;
	}

	memcpy(text, a->s.data, a->s.len);
	text[a->s.len] = 0;
	if (!parse(n, text, t))
		return;

	if (!ox_multiplies(n))
		return;
	for (unsigned int i = 0; i < n->nin && !n->rc; i++)
		take_diagonals(n, &t[i]);

	for (unsigned int i = 1; i < n->nin && !n->rc; i++)
		contract(n, &t[0], &t[i], t + i + 1, n->nin - i);
	if (!n->rc)
		sum_alone(n, &t[0], &t[n->nin], 1);

	for (unsigned int i = 0; i < t[n->nin].n && !n->rc; i++) {
		int k = find(&t[0], t[n->nin].label[i]);

		if (k < 0 || t[0].n != t[n->nin].n)
			onnx_fail(n, -EINVAL, "the result's labels are not the operands'");
		perm[i] = (uint8_t)k;
	}
	onnx_give(n, 0, n->rc ? NULL : ox_transpose(n, t[0].op, perm));
}

const struct onnx_rule onnx_einsum[] = {
	/* clang-format off */
	{ "Einsum", 1, -1, .import = import_einsum, .sized = sized_einsum, .takes = ONNX_ALL, .since = 12,
	  .attrs = ONNX_ATTRS(
		ATTR("equation", TEXT, .needed = true)) },
	{ .op_type = NULL },
	/* clang-format on */
};
