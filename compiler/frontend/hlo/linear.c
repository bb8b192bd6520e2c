// SPDX-License-Identifier: MIT
/*
 * cholesky and triangular-solve (expand/linear.c), and JAX's calls of LAPACK that stand for them in
 * what it exports for a CPU. Part of the HLO front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_calls.h"
#include "operations.h"

#define MOST_ROWS 1024 /* each row is unrolled, or an iteration of a loop */
#define MOST_LONG NCC_MAX_LINE /* of the other dimension: it lies in a partition as a whole */

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
	if (o->transpose_a < 0 || o->transpose_a > 3)
		return hlo_fail(in, -ENOTSUP, "transpose_a is %d, which is not known",
				o->transpose_a);
	return solve(in,
		     &(struct ncc_triangle){ .lower = o->lower,
					     .unit = o->unit_diagonal,
					     .transposed = o->transpose_a > 1,
					     .right = !o->left_side },
		     v);
}

#define CONFIG 256 /* bytes of a call's configuration, "{..., key = value, ...}" */

/* The text behind the key's equals sign, which takes the configuration; NULL: it is absent */
static const char *configuration(const struct hlo_inst *in, const char *key, char text[CONFIG])
{
	size_t n = in->p->backend_config.len;
	char *at;

	if (!n || n >= CONFIG)
		return NULL;
	memcpy(text, in->p->backend_config.data, n);
	text[n] = 0;
	at = strstr(text, key);
	at = at ? strchr(at, '=') : NULL;
	return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

/* A letter, which is written as a number; 0: it is absent */
static char letter(const struct hlo_inst *in, const char *key)
{
	char text[CONFIG];
	const char *at = configuration(in, key, text);

	return at ? (char)strtol(at, NULL, 10) : 0;
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

/* Is operand 0 matrices of floats within the bound? */
static int check_matrix(const struct hlo_inst *in)
{
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	int64_t rows, columns;

	if (s->ndim < 2 || !ncc_is_float(s->dtype))
		return hlo_fail(in, -EINVAL, "operand 0 is no matrix of floats");
	rows = s->dim[s->ndim - 2];
	columns = s->dim[s->ndim - 1];
	if (rows > MOST_LONG || columns > MOST_LONG || (rows > MOST_ROWS && columns > MOST_ROWS))
		return hlo_fail(in, -ENOTSUP,
				"of %lld rows and %lld columns is not supported: at most %d of one "
				"and %d of the other",
				(long long)rows, (long long)columns, MOST_ROWS, MOST_LONG);
	return 0;
}

static int call_lu(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *r[3];
	int rc = check_matrix(in);

	if (rc)
		return rc;
	r[0] = expand_lu(&in->b, in->in[0].op[0], &r[1], &r[2]);
	return take_results(in, r, 3, v);
}

static int call_qr(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *r[2];
	int rc = check_matrix(in);

	if (rc)
		return rc;
	r[0] = expand_qr(&in->b, in->in[0].op[0], &r[1]);
	return take_results(in, r, 2, v);
}

/* The reflectors below the diagonal of operand 0, and as many numbers as there are, or fewer */
static int check_reflectors(const struct hlo_inst *in)
{
	const struct ncc_shape *a = &in->in[0].op[0]->shape, *t = &in->in[1].op[0]->shape;
	int rc = check_matrix(in);
	bool fit = !rc && t->ndim + 1 == a->ndim && t->dtype == a->dtype;

	if (rc)
		return rc;
	for (unsigned int i = 0; fit && i + 2 < a->ndim; i++)
		fit = a->dim[i] == t->dim[i];
	if (!fit || t->dim[t->ndim - 1] > a->dim[a->ndim - 1] ||
	    a->dim[a->ndim - 1] > a->dim[a->ndim - 2])
		return hlo_fail(in, -EINVAL, "the reflectors do not fit the matrix");
	return 0;
}

static int call_orthogonal(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *r;
	int rc = check_reflectors(in);

	if (rc)
		return rc;
	r = expand_reflect(&in->b, in->in[0].op[0], in->in[1].op[0], NULL, true, false);
	return take_results(in, &r, 1, v);
}

/* A word of the call's configuration, "{..., key = true, ...}" */
static bool is_true(const struct hlo_inst *in, const char *key)
{
	char text[CONFIG];
	const char *at = configuration(in, key, text);

	return at && strstr(at, "true") == at;
}

static int call_reflect(struct hlo_inst *in, struct hlo_value *v)
{
	const struct ncc_shape *a = &in->in[0].op[0]->shape, *c = &in->in[2].op[0]->shape;
	bool left = is_true(in, "left"), fit;
	int rc = check_reflectors(in);
	struct ncc_op *r;

	if (rc)
		return rc;
	fit = c->ndim == a->ndim && c->dtype == a->dtype;
	for (unsigned int i = 0; fit && i + 2 < a->ndim; i++)
		fit = a->dim[i] == c->dim[i];
	if (!fit || c->dim[c->ndim - (left ? 2 : 1)] != a->dim[a->ndim - 2])
		return hlo_fail(in, -EINVAL, "operand 2 does not fit the reflectors");
	r = expand_reflect(&in->b, in->in[0].op[0], in->in[1].op[0], in->in[2].op[0], left,
			   left == is_true(in, "transpose"));
	return take_results(in, &r, 1, v);
}

static int call_eigh(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *r[3];
	int rc = check_square(in, in->in[0].op[0]);

	if (rc)
		return rc;
	r[0] = expand_eigh(&in->b, in->in[0].op[0], letter(in, "uplo") == 'L', &r[1], &r[2]);
	return take_results(in, r, 3, v);
}

/* Vectors that are not asked for are read by nobody: zeros, as square as the left or right ones */
static struct ncc_op *nothing(struct hlo_inst *in, const struct ncc_shape *x, bool left)
{
	struct ncc_shape s = *x;
	unsigned int d = s.ndim - (left ? 1 : 2);

	s.dim[d] = s.dim[s.ndim - (left ? 2 : 1)];
	return build_splat(&in->b, &s, 0);
}

static int call_svd(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x = in->in[0].op[0];
	struct ncc_svd r = { 0 };
	char mode = letter(in, "mode");
	int rc = check_matrix(in);

	if (rc)
		return rc;
	if (mode != 'A' && mode != 'S' && mode != 'N')
		return hlo_fail(in, -EINVAL, "bad mode %d", mode);
	if (expand_svd(&in->b, x,
		       mode == 'A'   ? NCC_ALL_VECTORS
		       : mode == 'N' ? NCC_NO_VECTORS
				     : NCC_VECTORS_OF_VALUES,
		       &r))
		x = NULL;
	if (mode == 'N' && x) {
		r.u = nothing(in, &x->shape, true);
		r.v = nothing(in, &x->shape, false);
	}
	return take_results(in, (struct ncc_op *[]){ x, r.values, r.u, r.v, r.bad }, 5, v);
}

static int call_tridiagonal(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_tridiagonal t = { in->in[0].op[0], in->in[1].op[0], in->in[2].op[0], NULL };
	struct ncc_op *b = in->in[3].op[0];
	const struct ncc_shape *s = &t.d->shape;
	bool fit = s->ndim && ncc_is_float(s->dtype) && b->shape.ndim == s->ndim + 1 &&
		   b->shape.dtype == s->dtype;

	for (unsigned int i = 0; i < 3; i++)
		fit = fit && ncc_same_dims(&in->in[i].op[0]->shape, s) &&
		      in->in[i].op[0]->shape.dtype == s->dtype;
	for (unsigned int i = 0; fit && i < s->ndim; i++)
		fit = s->dim[i] == b->shape.dim[i];
	if (!fit)
		return hlo_fail(in, -EINVAL, "the diagonals and right sides do not fit");
	if (s->dim[s->ndim - 1] > MOST_ROWS)
		return hlo_fail(in, -ENOTSUP, "of more than %d rows is not supported", MOST_ROWS);
	b = expand_tridiagonal(&in->b, &t, b);
	return take_results(in, (struct ncc_op *[]){ t.lower, t.d, t.upper, b, t.bad }, 5, v);
}

static const struct {
	const char *target;
	unsigned int nin;
	int (*import)(struct hlo_inst *in, struct hlo_value *v);
} calls[] = {
	{ "lapack_spotrf_ffi", 1, call_cholesky },
	{ "lapack_strsm_ffi", 2, call_solve },
	{ "lapack_sgetrf_ffi", 1, call_lu },
	{ "lapack_sgeqrf_ffi", 1, call_qr },
	{ "lapack_sorgqr_ffi", 2, call_orthogonal },
	{ "lapack_sormqr_ffi", 3, call_reflect },
	{ "lapack_ssyevd_ffi", 1, call_eigh },
	{ "lapack_sgesdd_ffi", 1, call_svd },
	{ "lapack_sgesvd_ffi", 1, call_svd },
	{ "lapack_sgtsv_ffi", 4, call_tridiagonal },
	/* what JAX writes for a platform that it does not know */
	{ "Qr", 1, call_qr },
	{ "ProductOfElementaryHouseholderReflectors", 2, call_orthogonal },
	{ "Sharding", 1, hlo_barrier }, /* where a value lies among devices: there is one */
};

int hlo_custom_call(struct hlo_inst *in, struct hlo_value *v)
{
	if (hlo_is_host_call(in->p))
		return hlo_host_call(in, v);
	if (hlo_is_custom(in))
		return hlo_no_tuples(in, in->nin) ?: hlo_custom(in, v);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].target, in->p->custom_call_target))
			continue;
		if (in->nin != calls[i].nin)
			return hlo_fail(in, -EINVAL, "%u operands, expected %u", in->nin,
					calls[i].nin);
		return hlo_no_tuples(in, in->nin) ?: calls[i].import(in, v);
	}
	return hlo_vendor(in, v);
}
