// SPDX-License-Identifier: MIT
/*
 * cholesky and triangular-solve (expand/linear.c), and JAX's calls of LAPACK that stand for them in
 * what it exports for a CPU. Part of the HLO front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

#define MOST_ROWS 1024 /* each row is unrolled */

static int check_square(const struct hlo_inst *in, const struct ncc_op *x)
{
	const struct ncc_shape *s = &x->shape;

	if (s->ndim < 2 || s->dim[s->ndim - 1] != s->dim[s->ndim - 2] || !ncc_is_float(s->dtype))
		return hlo_fail(in, -EINVAL, "operand 0 is no square matrix of floats");
	if (s->dim[s->ndim - 1] > MOST_ROWS)
		return hlo_fail(in, -ENOTSUP, "of more than %d rows is not supported", MOST_ROWS);
	return 0;
}

static int check_sides(const struct hlo_inst *in, const struct ncc_op *a, const struct ncc_op *b,
		       bool right)
{
	const struct ncc_shape *s = &a->shape;
	bool fit = s->ndim == b->shape.ndim && s->dtype == b->shape.dtype;

	for (unsigned int i = 0; fit && i + 2 < s->ndim; i++)
		fit = s->dim[i] == b->shape.dim[i];
	if (!fit || b->shape.dim[s->ndim - (right ? 1 : 2)] != s->dim[s->ndim - 1])
		return hlo_fail(in, -EINVAL, "the right sides do not fit the matrix");
	return 0;
}

static int take_results(struct hlo_inst *in, struct ncc_op *const *r, unsigned int n,
			struct hlo_value *v)
{
	if (!r[0] && in->imp->err->text[0])
		return -EFBIG;
	return hlo_take_results(in, r, n, v);
}

int hlo_cholesky(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__CholeskyOptions *o = in->p->cholesky_options;
	struct ncc_op *r, *bad;
	int rc = in->nin == 1 ? hlo_arrays(in, 1) : hlo_fail(in, -EINVAL, "needs one operand");

	rc = rc ? rc : check_square(in, in->in[0].op[0]);
	if (rc)
		return rc;
	r = expand_cholesky(&in->b, in->in[0].op[0], o && o->lower, &bad);
	return take_results(in, &r, 1, v);
}

static int solve(struct hlo_inst *in, const struct ncc_triangle *t, struct hlo_value *v)
{
	struct ncc_op *a = in->in[0].op[0], *b = in->in[1].op[0];
	int rc = check_square(in, a) ?: check_sides(in, a, b, t->right);

	return rc ? rc
		  : take_results(in, &(struct ncc_op *){ expand_triangular(&in->b, a, b, t) }, 1,
				 v);
}

int hlo_triangular_solve(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__TriangularSolveOptions *o = in->p->triangular_solve_options;

	if (in->nin != 2 || !o || in->in[0].n != 1 || in->in[1].n != 1)
		return hlo_fail(in, -EINVAL, "needs two operands and options");
	return solve(in,
		     &(struct ncc_triangle){ .lower = o->lower,
					     .unit = o->unit_diagonal,
					     .transposed = o->transpose_a > 1,
					     .right = !o->left_side },
		     v);
}

/* A letter of the call's configuration, "{..., key = number : ui8, ...}"; 0: it is absent */
static char letter(const struct hlo_inst *in, const char *key)
{
	char text[256], *at;
	size_t n = in->p->backend_config.len;

	if (n >= sizeof(text))
		return 0;
	memcpy(text, in->p->backend_config.data, n);
	text[n] = 0;
	at = strstr(text, key);
	at = at ? strchr(at, '=') : NULL;
	return at ? (char)strtol(at + 1, NULL, 10) : 0;
}

static int call_cholesky(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *r[2];
	int rc = check_square(in, in->in[0].op[0]);

	if (rc)
		return rc;
	r[0] = expand_cholesky(&in->b, in->in[0].op[0], letter(in, "uplo") == 'L', &r[1]);
	return take_results(in, r, 2, v);
}

static int call_solve(struct hlo_inst *in, struct hlo_value *v)
{
	return solve(in,
		     &(struct ncc_triangle){ .lower = letter(in, "uplo") == 'L',
					     .unit = letter(in, "diag") == 'U',
					     .transposed = letter(in, "trans_x") != 'N',
					     .right = letter(in, "side") == 'R' },
		     v);
}

static int call_lu(struct hlo_inst *in, struct hlo_value *v)
{
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	struct ncc_op *r[3];

	if (s->ndim < 2 || !ncc_is_float(s->dtype))
		return hlo_fail(in, -EINVAL, "operand 0 is no matrix of floats");
	if (s->dim[s->ndim - 2] > MOST_ROWS || s->dim[s->ndim - 1] > MOST_ROWS)
		return hlo_fail(in, -ENOTSUP, "of more than %d rows is not supported", MOST_ROWS);
	r[0] = expand_lu(&in->b, in->in[0].op[0], &r[1], &r[2]);
	return take_results(in, r, 3, v);
}

static const struct {
	const char *target;
	unsigned int nin;
	int (*import)(struct hlo_inst *in, struct hlo_value *v);
} calls[] = {
	{ "lapack_spotrf_ffi", 1, call_cholesky },
	{ "lapack_strsm_ffi", 2, call_solve },
	{ "lapack_sgetrf_ffi", 1, call_lu },
	{ "Sharding", 1, hlo_barrier }, /* where a value lies among devices: there is one */
};

int hlo_custom_call(struct hlo_inst *in, struct hlo_value *v)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].target, in->p->custom_call_target))
			continue;
		if (in->nin != calls[i].nin)
			return hlo_fail(in, -EINVAL, "%u operands, expected %u", in->nin,
					calls[i].nin);
		return hlo_no_tuples(in, in->nin) ?: calls[i].import(in, v);
	}
	return hlo_unsupported(in);
}
