// SPDX-License-Identifier: MIT
/*
 * dot as sums of matrix products (matmul.c). The operand whose free dimension lies along the
 * result's partitions is stationary. One contracted dimension lies along the partitions of both
 * operands; each index of the others is a product of its own. Sparse weights are stationary and
 * have tags beside them. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"
#include "contract.h"
#include "move.h"
#include "place.h"
#include "view.h"

#define BIG_OPERAND 16384 /* bytes a partition: a larger stationary operand comes in pieces */

struct side {
	struct ncc_op *op;
	struct ncc_view view;
	const uint8_t *batch, *contract;
	unsigned int nfree;
	uint8_t free[NCC_MAX_DIMS]; /* the operand's free dimensions, in order */
	unsigned int result; /* the result's dimension for the first of them */
};

struct dot {
	const struct ncc_op *op;
	struct side st, mv;
	unsigned int sdim; /* index in st.free: the one along the result's partitions */
	int kp; /* index in contract of the dimension along the partitions; -1: none */
	struct ncc_view tags; /* of sparse weights */
	struct mm_term *term;
	unsigned int nterms;
};

static void side_init(struct side *s, const struct ncc_op *op, unsigned int i, unsigned int result)
{
	uint32_t used = 0;

	s->op = op->in[i];
	s->batch = i ? op->dot->rhs_batch : op->dot->lhs_batch;
	s->contract = i ? op->dot->rhs_contract : op->dot->lhs_contract;
	s->result = result;
	for (unsigned int k = 0; k < op->dot->nbatch; k++)
		used |= 1u << s->batch[k];
	for (unsigned int k = 0; k < op->dot->ncontract; k++)
		used |= 1u << s->contract[k];
	for (unsigned int d = 0; d < s->op->shape.ndim; d++)
		if (!(used >> d & 1))
			s->free[s->nfree++] = (uint8_t)d;
}

static int64_t k_chunks(int64_t n)
{
	return (n + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
}

/*
 * Chooses the contracted dimension along the partitions: the one that the moving operand has there,
 * else the largest.
 */
static int choose_k(const struct dot *d)
{
	int best = -1;

	for (unsigned int i = 0; i < d->op->dot->ncontract; i++) {
		const struct ncc_value *v = d->mv.op->gen->value;

		if (v && v->view.buf->space == NCC_SBUF && v->view.pdim == d->mv.contract[i])
			return (int)i;
		if (best < 0 || d->mv.op->shape.dim[d->mv.contract[i]] >
					d->mv.op->shape.dim[d->mv.contract[best]])
			best = (int)i;
	}
	return best;
}

/*
 * An operand's view for one term: the batch and the other contracted dimensions at an index, one
 * chunk of K
 */
static struct ncc_view term_view(const struct dot *d, const struct side *s, const int64_t *batch,
				 const int64_t *k, int64_t kn)
{
	struct ncc_view v = s->view;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < d->op->dot->nbatch; i++)
		v = view_slice(&v, s->batch[i], batch[i], 1, 1);
	for (unsigned int i = 0; i < d->op->dot->ncontract; i++)
		v = view_slice(&v, s->contract[i], k[i], (int)i == d->kp ? kn : 1, 1);
	if (d->kp >= 0)
		map[n++] = s->contract[d->kp];
	for (unsigned int i = 0; i < s->nfree; i++)
		map[n++] = s->free[i];
	v = view_permute(&v, map, n);
	if (d->kp < 0) { /* nothing is contracted: K is a new first dimension of 1 */
		for (unsigned int i = n; i > 0; i--) {
			v.dim[i] = v.dim[i - 1];
			v.stride[i] = v.stride[i - 1];
		}
		v.ndim++;
		v.dim[0] = 1;
		v.stride[0] = 0;
		v.pdim = 0;
	}
	return v;
}

/* The distance of two slots of a sparse product's moving operand, in elements: the chunks of the
 * weights */
static int64_t slot_step(const struct dot *d)
{
	return d->st.op->shape.dim[d->st.contract[0]] / NEURON_PARTITIONS * d->mv.view.buf->chunk /
	       ncc_dtype_size(d->mv.view.dtype);
}

/* Adds to a term what sparse weights from column s0 on choose from, and their tags. */
static void choose_slots(const struct dot *d, struct mm_term *t, const int64_t *k, int64_t kn,
			 int64_t s0, int64_t sn)
{
	t->neighbours = d->op->dot->neighbours;
	t->slots = (uint16_t)ncc_dot_slots(d->op);
	t->step = slot_step(d);
	t->tags = view_slice(&d->tags, 0, k[d->kp], kn, 1);
	t->tags = view_slice(&t->tags, 1, s0 / 4, (sn + 3) / 4, 1);
}

/* [K, S]: the stationary view with each free dimension but sdim at its index */
static struct ncc_view pick_s(const struct dot *d, const struct ncc_view *v, const int64_t *other,
			      int64_t s0, int64_t sn)
{
	struct ncc_view r = *v;

	for (unsigned int i = d->st.nfree; i-- > 0;) {
		if (i == d->sdim) {
			r = view_slice(&r, i + 1, s0, sn, 1);
		} else {
			r = view_slice(&r, i + 1, other[i], 1, 1);
			r = view_drop(&r, i + 1);
		}
	}
	return r;
}

/* Advances a mixed-radix counter; false: it was at the last index. */
static bool next_index(int64_t *at, const int64_t *dim, unsigned int n, int skip)
{
	for (unsigned int i = n; i-- > 0;) {
		if ((int)i == skip)
			continue;
		if (++at[i] < dim[i])
			return true;
		at[i] = 0;
	}
	return false;
}

static void contract_dims(const struct dot *d, int64_t *dim)
{
	for (unsigned int i = 0; i < d->op->dot->ncontract; i++)
		dim[i] = d->st.op->shape.dim[d->st.contract[i]];
}

static int terms_alloc(struct ncc_gen *g, struct dot *d)
{
	int64_t dim[NCC_MAX_DIMS], n = 1;

	contract_dims(d, dim);
	for (unsigned int i = 0; i < d->op->dot->ncontract; i++) {
		n *= (int)i == d->kp ? k_chunks(dim[i]) : dim[i];
		if (n > 65536) {
			g->no_room = true;
			return gen_fail(g, -EFBIG, "too large: more than 65536 matrix products");
		}
	}
	d->term = calloc((size_t)n, sizeof(*d->term));
	return d->term ? 0 : ncc_no_memory(g->err);
}

/* The terms of one batch index and one piece of S; the stationary view begins at column base */
static void make_terms(struct dot *d, const int64_t *batch, const int64_t *other, int64_t s0,
		       int64_t sn, int64_t base)
{
	int64_t k[NCC_MAX_DIMS] = { 0 }, dim[NCC_MAX_DIMS], kd = 1;
	struct ncc_view v;

	contract_dims(d, dim);
	if (d->kp >= 0)
		kd = dim[d->kp];
	d->nterms = 0;
	do {
		for (int64_t k0 = 0; k0 < kd; k0 += NEURON_PARTITIONS) {
			int64_t kn = kd - k0 < NEURON_PARTITIONS ? kd - k0 : NEURON_PARTITIONS;
			struct mm_term *t = &d->term[d->nterms++];

			*t = (struct mm_term){ 0 };
			if (d->kp >= 0)
				k[d->kp] = k0;
			v = term_view(d, &d->st, batch, k, kn);
			t->st = pick_s(d, &v, other, s0 - base, sn);
			t->mv = term_view(d, &d->mv, batch, k, kn);
			if (d->op->dot->neighbours)
				choose_slots(d, t, k, kn, s0, sn);
		}
	} while (next_index(k, dim, d->op->dot->ncontract, d->kp));
}

/* dst[S, m...] for one batch index and one piece of S */
static struct ncc_view result_piece(const struct dot *d, const struct ncc_view *dst,
				    const int64_t *batch, const int64_t *other, int64_t s0,
				    int64_t sn)
{
	struct ncc_view v = *dst;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < d->op->dot->nbatch; i++)
		v = view_slice(&v, i, batch[i], 1, 1);
	for (unsigned int i = 0; i < d->st.nfree; i++)
		v = view_slice(&v, d->st.result + i, i == d->sdim ? s0 : other[i],
			       i == d->sdim ? sn : 1, 1);
	map[n++] = (uint8_t)(d->st.result + d->sdim);
	for (unsigned int i = 0; i < d->mv.nfree; i++)
		map[n++] = (uint8_t)(d->mv.result + i);
	return view_permute(&v, map, n);
}

static int64_t partition_bytes(const struct side *s, int kdim)
{
	int64_t n = ncc_elems(&s->op->shape) * ncc_dtype_size(s->op->shape.dtype);

	if (kdim >= 0)
		n = n / s->op->shape.dim[kdim] * k_chunks(s->op->shape.dim[kdim]);
	return n;
}

/* Computes all batch and free indices for one piece [s0, s0 + sn) of the stationary operand. */
static int run_piece(struct ncc_gen *g, struct dot *d, const struct ncc_view *dst, int64_t s0,
		     int64_t sn, int64_t base)
{
	int64_t batch[NCC_MAX_DIMS] = { 0 }, bdim[NCC_MAX_DIMS], odim[NCC_MAX_DIMS];
	int rc = 0;

	for (unsigned int i = 0; i < d->op->dot->nbatch; i++)
		bdim[i] = d->st.op->shape.dim[d->st.batch[i]];
	for (unsigned int i = 0; i < d->st.nfree; i++)
		odim[i] = d->st.op->shape.dim[d->st.free[i]];
	do {
		int64_t other[NCC_MAX_DIMS] = { 0 };

		do {
			struct ncc_view to = result_piece(d, dst, batch, other, s0, sn);

			make_terms(d, batch, other, s0, sn, base);
			rc = gen_matmul(g, &to, d->term, d->nterms);
		} while (!rc && next_index(other, odim, d->st.nfree, (int)d->sdim));
	} while (!rc && next_index(batch, bdim, d->op->dot->nbatch, -1));
	return rc;
}

/*
 * How much of a stationary operand is fetched at once: all of it, or the largest multiple of 128
 * columns within BIG_OPERAND, since a DMA needs a descriptor for each row of a piece.
 */
static int64_t piece_width(const struct dot *d, int st_k)
{
	int64_t ns = d->st.op->shape.dim[d->st.free[d->sdim]];
	int64_t bytes = partition_bytes(&d->st, st_k), n;

	if (bytes <= BIG_OPERAND)
		return ns;
	n = BIG_OPERAND / (bytes / ns ? bytes / ns : 1) / NEURON_PARTITIONS;
	return (n ? n : 1) * NEURON_PARTITIONS;
}

static int fetch_piece(struct ncc_gen *g, struct dot *d, int st_k, int64_t s0, int64_t sn)
{
	struct ncc_view part;
	int rc = gen_place(g, d->st.op, st_k);

	if (rc)
		return rc;
	part = view_slice(&d->st.op->gen->value->view, d->st.free[d->sdim], s0, sn, 1);
	if (d->st.op->plan->kept)
		return gen_fetch_kept(g, &part, st_k, d->st.op->shape.dtype, &d->st.view);
	return gen_fetch(g, &part, st_k, d->st.op->shape.dtype, &d->st.view);
}

/* Brings the tags of sparse weights. One instruction has to reach from slot to slot. */
static int fetch_tags(struct ncc_gen *g, struct dot *d)
{
	if (slot_step(d) > INT16_MAX) {
		g->no_room = true;
		return gen_fail(g, -EFBIG, "too large: slots far apart");
	}
	return gen_fetch_op(g, d->op->in[2], d->st.contract[0], 0, &d->tags);
}

static int run_dot(struct ncc_gen *g, struct dot *d, const struct ncc_view *dst)
{
	int st_k = d->kp < 0 ? -1 : d->st.contract[d->kp],
	    mv_k = d->kp < 0 ? -1 : d->mv.contract[d->kp];
	unsigned int sd = d->st.free[d->sdim], mark;
	int64_t ns = d->st.op->shape.dim[sd], width = piece_width(d, st_k);
	bool pieces = width < ns;
	int rc = gen_fetch_op(g, d->mv.op, mv_k, 0, &d->mv.view);

	if (!rc && d->op->dot->neighbours)
		rc = fetch_tags(g, d);
	if (!rc && !pieces)
		rc = gen_fetch_op(g, d->st.op, st_k, 0, &d->st.view);
	mark = g->ntemps;
	for (int64_t s0 = 0; !rc && s0 < ns; s0 += NEURON_PARTITIONS) {
		int64_t sn = ns - s0 < NEURON_PARTITIONS ? ns - s0 : NEURON_PARTITIONS;

		if (pieces && s0 % width == 0) {
			gen_release_temps(g, mark);
			rc = fetch_piece(g, d, st_k, s0, ns - s0 < width ? ns - s0 : width);
		}
		if (!rc)
			rc = run_piece(g, d, dst, s0, sn, s0 - s0 % width);
	}
	return rc;
}

int gen_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct dot d = { .op = op };
	unsigned int nlhs, pd = (unsigned int)dst->pdim;
	struct side l = { 0 }, r = { 0 };
	int rc;

	side_init(&l, op, 0, op->dot->nbatch);
	nlhs = l.nfree;
	side_init(&r, op, 1, op->dot->nbatch + nlhs);
	d.st = op->plan->stationary ? r : l;
	d.mv = op->plan->stationary ? l : r;
	d.sdim = pd - d.st.result;
	d.kp = choose_k(&d);
	rc = terms_alloc(g, &d);
	if (!rc)
		rc = run_dot(g, &d, dst);
	free(d.term);
	return rc;
}
