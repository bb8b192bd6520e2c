// SPDX-License-Identifier: MIT
/*
 * Products of structurally sparse weights (--structured-sparsity; which, the time says that each
 * takes by itself, and ncc.c by the program's): of each group of N rows, every column of a constant
 * operand has at most M that are not 0. Where the target's tensor engine
 * multiplies such weights (MATMUL_SPARSE, docs/isa.md), what is left of them, with tags, takes
 * their place: the weights have N / M times fewer rows, in whole pieces of 128. The rows of a group
 * are those that the engine finds without a move of the other operand, M neighbours in each of
 * N / M slots that lie one behind the other; or N neighbours, where the other operand follows from
 * products, whose own weights then bring it in order. Convolutions of one position are products.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/sparse.h"
#include "neuron/hw/target.h"
#include "neuron/isa/check.h"
#include "pass.h"

/* The weights of a product as a matrix of rows that are summed over, and the other operand */
struct product {
	struct ncc_op *op, *x, *w;
	unsigned int xdim; /* the dimension that is summed over */
	bool left; /* the weights are the product's left operand */
	bool turned; /* they lie column by column */
	int64_t rows, columns;
};

struct pattern {
	unsigned int neighbours, slots;
	bool spread; /* a group's slots lie rows / slots apart */
};

static bool is_weights(const struct ncc_op *op)
{
	return op->kind == NCC_CONST && op->shape.ndim == 2 && ncc_is_float(op->shape.dtype);
}

static bool find_product(struct ncc_op *op, struct product *p)
{
	const struct ncc_dot *d = op->dot;

	if (op->kind != NCC_DOT || d->neighbours || d->nbatch || d->ncontract != 1)
		return false;
	*p = (struct product){ .op = op, .left = !is_weights(op->in[1]) };
	p->w = op->in[!p->left];
	p->x = op->in[p->left];
	p->turned = p->left ? d->lhs_contract[0] : d->rhs_contract[0];
	p->xdim = p->left ? d->rhs_contract[0] : d->lhs_contract[0];
	if (!is_weights(p->w) || p->x->kind == NCC_CONST)
		return false;
	p->rows = p->w->shape.dim[p->turned];
	p->columns = p->w->shape.dim[!p->turned];
	return true;
}

/* The row that a slot of a partition stands for */
static int64_t row_of(const struct product *p, const struct pattern *f, int64_t k,
		      unsigned int slot)
{
	const int64_t m = f->neighbours;

	return f->spread ? slot * (p->rows / f->slots) + k
			 : k / m * m * f->slots + slot * m + k % m;
}

static double weight(const struct product *p, int64_t row, int64_t column)
{
	return ncc_get(p->w->shape.dtype, p->w->data,
		       p->turned ? column * p->rows + row : row * p->columns + column);
}

/*
 * The numbers, of a group, of a column's weights that are not 0, as tags have them: up to one for
 * each neighbour. How many they are, or one more than that
 */
static unsigned int weights_of(const struct product *p, const struct pattern *f, int64_t group,
			       int64_t column, unsigned int *tag)
{
	const unsigned int m = f->neighbours;
	unsigned int n = 0;

	for (unsigned int t = 0; t < m * f->slots; t++) {
		if (weight(p, row_of(p, f, group * m + t % m, t / m), column) == 0)
			continue;
		if (n == m)
			return m + 1;
		tag[n++] = t;
	}
	return n;
}

static bool has_pattern(const struct product *p, const struct pattern *f)
{
	unsigned int tag[4];

	if (p->rows % (NEURON_PARTITIONS * f->slots))
		return false;
	for (int64_t g = 0; g < p->rows / f->slots / f->neighbours; g++)
		for (int64_t c = 0; c < p->columns; c++)
			if (weights_of(p, f, g, c, tag) > f->neighbours)
				return false;
	return true;
}

/* The dimension of operand i that is dimension d of the result */
static unsigned int operand_dim(const struct ncc_op *op, unsigned int i, unsigned int d)
{
	unsigned int k = 0;

	if (op->kind == NCC_TRANSPOSE)
		return op->map[d];
	if (op->kind == NCC_BROADCAST)
		while (op->map[k] != d)
			k++;
	else if (op->kind == NCC_DOT)
		return i ? !op->dot->rhs_contract[0] : !op->dot->lhs_contract[0];
	else
		k = d;
	return k;
}

/*
 * The operands that have dimension d of the result too, as bits: of a product, of two matrices, one
 */
static uint32_t operands_with(const struct ncc_op *op, unsigned int d)
{
	switch (op->kind) {
	case NCC_DOT:
		return 1u << d;
	case NCC_BROADCAST:
		for (unsigned int i = 0; i < op->in[0]->shape.ndim; i++)
			if (op->map[i] == d)
				return 1;
		return 0;
	default:
		return (1u << op->nin) - 1;
	}
}

/*
 * Can the elements along dimension d of a value get another order by that of constants, and nobody
 * but one product sees it?
 */
static bool can_follow(const struct ncc_op *op, unsigned int d)
{
	const uint32_t from = operands_with(op, d);

	if (op->kind == NCC_CONST)
		return op->shape.ndim + 2 <= NCC_MAX_DIMS;
	if (op->users != 1)
		return false;
	if (op->kind == NCC_DOT &&
	    (op->dot->neighbours || op->dot->nbatch || op->dot->ncontract != 1 ||
	     op->in[0]->shape.ndim != 2 || op->in[1]->shape.ndim != 2))
		return false;
	if (op->kind != NCC_DOT && op->kind != NCC_BROADCAST && op->kind != NCC_TRANSPOSE &&
	    !ncc_is_elementwise(op->kind))
		return false;
	for (unsigned int i = 0; i < op->nin; i++)
		if (from >> i & 1 &&
		    (op->kind == NCC_DOT ? op->in[i]->kind != NCC_CONST
					 : !can_follow(op->in[i], operand_dim(op, i, d))))
			return false;
	return true;
}

/* An operation on constants, computed */
static struct ncc_op *folded(struct ncc_build *bl, struct ncc_op *op)
{
	return op && (op->kind == NCC_CONST || ncc_fold(bl->m, op) == 1) ? op : NULL;
}

/*
 * The pattern of the most slots, which is the fastest: products and bytes of weights are fewer by
 * that. Of equal ones that of groups as they lie, then that of the fewest neighbours
 */
static bool choose(const struct product *p, struct pattern *f)
{
	const bool may_move = can_follow(p->x, p->xdim);

	for (f->slots = 4; f->slots >= 2; f->slots--)
		for (unsigned int i = 0; i <= may_move; i++)
			for (f->neighbours = 1; f->neighbours <= 4; f->neighbours *= 2) {
				f->spread = !i;
				if (neuron_isa_is_pattern(f->neighbours, f->slots) &&
				    has_pattern(p, f))
					return true;
			}
	return false;
}

/* The remaining weights, and the tags */
static void compress(const struct product *p, const struct pattern *f, struct ncc_op *left,
		     struct ncc_op *tags)
{
	const unsigned int m = f->neighbours;
	const int64_t words = tags->shape.dim[1];
	uint16_t *word = tags->data;
	unsigned int tag[4];

	for (int64_t g = 0; g < left->shape.dim[0] / m; g++)
		for (int64_t c = 0; c < p->columns; c++) {
			unsigned int count = weights_of(p, f, g, c, tag);

			/* A weight that is not there is 0; it may choose any row, or none */
			for (unsigned int i = 0; i < m; i++) {
				int64_t k = g * m + i;
				unsigned int t = i < count ? tag[i] : m * f->slots - 1;
				int64_t row = row_of(p, f, g * m + t % m, t / m);

				word[k * words + c / 4] |= (uint16_t)(t << c % 4 * 4);
				if (i < count)
					ncc_set(left->shape.dtype, left->data, k * p->columns + c,
						weight(p, row, c));
			}
		}
}

/* A constant with dimension d in the order of slots; NULL: out of memory */
static struct ncc_op *ordered(struct ncc_build *bl, struct ncc_op *x, unsigned int d,
			      const struct pattern *f)
{
	const unsigned int rest = x->shape.ndim - d - 1;
	struct ncc_shape s = x->shape;
	uint8_t map[NCC_MAX_DIMS];
	struct ncc_op *y;

	memcpy(&s.dim[d + 3], &x->shape.dim[d + 1], rest * sizeof(s.dim[0]));
	s.ndim += 2;
	s.dim[d] = x->shape.dim[d] / f->slots / f->neighbours;
	s.dim[d + 1] = f->slots;
	s.dim[d + 2] = f->neighbours;
	for (unsigned int i = 0; i < s.ndim; i++)
		map[i] = (uint8_t)i;
	map[d] = (uint8_t)(d + 1);
	map[d + 1] = (uint8_t)d;
	y = folded(bl, build_reshape(bl, x, &s));
	y = y ? folded(bl, build_transpose(bl, y, map)) : NULL;
	return y ? folded(bl, build_reshape(bl, y, &x->shape)) : NULL;
}

/* Brings dimension d of what can_follow in the order of slots. 0 or -ENOMEM */
static int follow(struct ncc_build *bl, struct ncc_op *op, unsigned int d, const struct pattern *f)
{
	const uint32_t from = operands_with(op, d);
	int rc = 0;

	for (unsigned int i = 0; !rc && i < op->nin; i++) {
		unsigned int k;

		if (!(from >> i & 1))
			continue;
		k = operand_dim(op, i, d);
		if (op->in[i]->kind != NCC_CONST) {
			rc = follow(bl, op->in[i], k, f);
			continue;
		}
		op->in[i] = ordered(bl, op->in[i], k, f);
		rc = op->in[i] ? 0 : -ENOMEM;
	}
	return rc;
}

/* The product with the weights to the right, and back in its own order */
static struct ncc_op *sparse(struct ncc_build *bl, const struct product *p, const struct pattern *f)
{
	const struct ncc_shape *xs = &p->x->shape;
	struct ncc_shape s = { .dtype = p->w->shape.dtype,
			       .ndim = 2,
			       .dim = { p->rows / f->slots, p->columns } };
	struct ncc_op *left = build_const(bl, &s), *tags, *r;
	uint8_t map[NCC_MAX_DIMS];

	s.dtype = NEURON_DT_INT16;
	s.dim[1] = (p->columns + 3) / 4;
	tags = build_const(bl, &s);
	if (!left || !tags || (!f->spread && follow(bl, p->x, p->xdim, f)))
		return NULL;
	compress(p, f, left, tags);
	s = (struct ncc_shape){ .dtype = p->op->shape.dtype };
	for (unsigned int i = 0; i < xs->ndim; i++)
		if (i != p->xdim)
			s.dim[s.ndim++] = xs->dim[i];
	s.dim[s.ndim++] = p->columns;
	r = build_node(bl, NCC_DOT, &s, p->x, left, tags);
	if (!r)
		return NULL;
	r->exact = p->op->exact;
	r->dot->ncontract = 1;
	r->dot->lhs_contract[0] = (uint8_t)p->xdim;
	r->dot->neighbours = (uint8_t)f->neighbours;
	map[0] = (uint8_t)(s.ndim - 1);
	for (unsigned int i = 1; i < s.ndim; i++)
		map[i] = (uint8_t)(i - 1);
	return p->left ? build_transpose(bl, r, map) : r;
}

static void say(const struct ncc_options *opt, const struct product *p, const struct pattern *f)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "%.100s: weights of %lld rows and %lld columns are %u:%u sparse%s", p->op->name,
		 (long long)p->rows, (long long)p->columns, f->neighbours, f->neighbours * f->slots,
		 f->spread ? ", in rows as they lie" : "");
	if (opt->log)
		opt->log(opt->opaque, line);
}

/* A convolution whose kernel has one position and is sparse: a product at each place */
static bool is_one_position(const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	struct product p = { 0 };
	struct pattern f;

	if (op->kind != NCC_CONV || c->groups != 1 || op->in[1]->kind != NCC_CONST ||
	    !ncc_is_float(op->in[1]->shape.dtype))
		return false;
	p.x = op->in[0];
	p.w = op->in[1];
	for (unsigned int i = 0; i < c->nspatial; i++) {
		const struct ncc_window *w = &op->window[i];

		if (w->size != 1 || w->stride != 1 || w->low || w->high || w->base_dilation != 1)
			return false;
	}
	p.xdim = c->in_feature;
	p.turned = c->k_in > c->k_out;
	p.rows = p.w->shape.dim[c->k_in];
	p.columns = p.w->shape.dim[c->k_out];
	return choose(&p, &f);
}

/* The place of a dimension of the input when that of the features is gone */
static uint8_t without_feature(const struct ncc_conv *c, uint8_t d)
{
	return d - (d > c->in_feature);
}

static struct ncc_op *as_product(struct ncc_build *bl, const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	const struct ncc_shape *xs = &op->in[0]->shape, *ks = &op->in[1]->shape;
	struct ncc_shape s = { .dtype = op->shape.dtype }, matrix = {
		.dtype = ks->dtype, .ndim = 2, .dim = { ks->dim[c->k_in], ks->dim[c->k_out] }
	};
	uint8_t turn[2] = { 0, 1 }, map[NCC_MAX_DIMS];
	struct ncc_op *k, *r;

	if (c->k_in > c->k_out) {
		matrix.dim[0] = ks->dim[c->k_out];
		matrix.dim[1] = ks->dim[c->k_in];
		turn[0] = 1;
		turn[1] = 0;
	}
	k = folded(bl, build_reshape(bl, op->in[1], &matrix));
	k = k && turn[0] ? folded(bl, build_transpose(bl, k, turn)) : k;
	for (unsigned int d = 0; d < xs->ndim; d++)
		if (d != c->in_feature)
			s.dim[s.ndim++] = xs->dim[d];
	s.dim[s.ndim] = op->shape.dim[c->out_feature];
	map[c->out_feature] = (uint8_t)s.ndim++;
	map[c->out_batch] = without_feature(c, c->in_batch);
	for (unsigned int i = 0; i < c->nspatial; i++)
		map[c->out_spatial[i]] = without_feature(c, c->in_spatial[i]);
	r = k ? build_node(bl, NCC_DOT, &s, op->in[0], k, NULL) : NULL;
	if (!r)
		return NULL;
	r->exact = op->exact;
	r->dot->ncontract = 1;
	r->dot->lhs_contract[0] = c->in_feature;
	return build_transpose(bl, r, map);
}

/* A value as a parameter of a module that has its product alone */
static struct ncc_op *given(struct ncc_module *m, const struct ncc_op *op)
{
	struct ncc_op *c = ncc_op_new(m, NCC_PARAM, op->name, 0);

	if (!c)
		return NULL;
	c->shape = op->shape;
	c->index = m->nparams;
	m->params[m->nparams++] = c;
	ncc_op_append(m, c);
	return c;
}

/* A value in such a module, with what it follows from along dimension d if its order is to change */
static struct ncc_op *copied(struct ncc_module *m, const struct ncc_op *op, unsigned int d,
			     bool follows)
{
	const uint32_t from = operands_with(op, d);
	struct ncc_op *c;

	if (op->kind != NCC_CONST && !follows)
		return given(m, op);
	c = ncc_op_clone(m, op, op->nin);
	for (unsigned int i = 0; c && i < op->nin; i++) {
		const bool on = from >> i & 1;

		c->in[i] = copied(m, op->in[i], on ? operand_dim(op, i, d) : 0, on);
		if (!c->in[i])
			return NULL;
	}
	if (c)
		ncc_op_append(m, c);
	return c;
}

/* A module of the product alone, on the weights that it has; NULL: out of memory */
static struct ncc_module *alone(const struct ncc_pass *p, const struct product *x,
				const struct pattern *f)
{
	struct ncc_module *m = ncc_module_new(x->op->name);
	struct ncc_op *r;

	if (!m)
		return NULL;
	m->params = ncc_alloc(m, (p->m->nops + 1) * sizeof(struct ncc_op *));
	m->outs = ncc_alloc(m, sizeof(struct ncc_op *));
	r = m->params && m->outs ? ncc_op_clone(m, x->op, 2) : NULL;
	if (r) {
		r->in[x->left] = copied(m, x->x, x->xdim, !f->spread);
		r->in[!x->left] = copied(m, x->w, 0, false);
		m->outs[m->nouts++] = r;
		ncc_op_append(m, r);
	}
	if (r && r->in[0] && r->in[1])
		return m;
	ncc_module_free(m);
	return NULL;
}

/* How long the product takes by itself */
static int time_alone(const struct ncc_pass *p, const struct product *x, const struct pattern *f,
		      bool sparse, uint64_t *ps)
{
	struct ncc_module *m = alone(p, x, f);
	int rc = m ? p->opt->sparse->alone(m, p->opt, sparse, ps, p->err) : ncc_no_memory(p->err);

	if (m)
		ncc_module_free(m);
	return rc;
}

/* Writes down what was found, and decides if that is still to do. */
static int note(const struct ncc_pass *p, const struct product *x, const struct pattern *f,
		bool *dense)
{
	struct ncc_sparse *s = p->opt->sparse;
	const bool first = s->n < NCC_SPARSE_MAX;
	const unsigned int i = first ? s->n++ : NCC_SPARSE_MAX - 1;
	struct ncc_sparse_product *q = &s->product[i];
	int rc = 0;

	snprintf(q->name, sizeof(q->name), "%s", x->op->name);
	q->rows = x->rows;
	q->columns = x->columns;
	q->neighbours = f->neighbours;
	q->of = f->neighbours * f->slots;
	if (s->alone && first) {
		rc = time_alone(p, x, f, true, &q->sparse)
			     ?: time_alone(p, x, f, false, &q->as_dense);
		if (q->as_dense <= q->sparse)
			s->dense |= 1ull << i;
	}
	*dense = s->dense >> i & 1;
	return rc;
}

static int make_sparse(struct ncc_pass *p, struct ncc_op *op, int64_t *const_bytes)
{
	struct ncc_build bl = pass_build(p, op, const_bytes);
	struct product x;
	struct pattern f;
	bool dense = false;
	int rc;

	if (!find_product(op, &x) || !choose(&x, &f))
		return 0;
	rc = p->opt->sparse ? note(p, &x, &f, &dense) : 0;
	if (rc || dense)
		return rc;
	p->err->text[0] = 0;
	op->replaced = sparse(&bl, &x, &f);
	if (!op->replaced)
		return p->err->text[0] ? -EFBIG : ncc_no_memory(p->err);
	say(p->opt, &x, &f);
	return 0;
}

/* Goes from the last product to the first, so that a product's operand is still dense */
int pass_sparse(struct ncc_pass *p)
{
	int64_t const_bytes = 0;
	struct ncc_op **line;
	unsigned int n = 0;
	int rc = 0;

	/* text may have what the target has not */
	for (struct ncc_op *op = p->m->first; op && ncc_target(p->opt)->core < 3; op = op->next)
		if (op->kind == NCC_DOT && op->dot->neighbours)
			return ncc_fail_op(p->err, -ENOTSUP, op,
					   "sparse weights: the target '%s' has no such products",
					   ncc_target(p->opt)->name);
	if (!p->opt->structured_sparsity)
		return 0;
	ncc_count_users(p->m);
	rc = pass_expand(p, is_one_position, as_product);
	ncc_sweep(p->m);
	ncc_count_users(p->m);
	line = rc ? NULL : calloc(p->m->nops + 1, sizeof(*line));
	if (!rc && !line)
		rc = ncc_no_memory(p->err);
	for (struct ncc_op *op = rc ? NULL : p->m->first; op; op = op->next)
		line[n++] = op;
	while (!rc && n)
		rc = make_sparse(p, line[--n], &const_bytes);
	free(line);
	return rc;
}
