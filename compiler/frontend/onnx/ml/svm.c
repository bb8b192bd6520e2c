// SPDX-License-Identifier: MIT
/*
 * SVMClassifier and SVMRegressor: the kernels of all support vectors at once, then one product for
 * all pairs of classes. Without support vectors they are linear models. Part of the ONNX front end.
 */
#include "ml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CLASSES 64

struct svm {
	onnx_op x; /* [rows, features] */
	onnx_op k; /* [rows, vectors]: the kernels */
	struct ml_floats coef, rho;
	int64_t vectors, classes;
	int64_t pairs; /* of classes */
};

/* The support vectors less their mean, [features, vectors]; mean: [features] */
static onnx_op centred(struct onnx_node *n, struct ml_floats v, int64_t vectors, onnx_op *mean)
{
	static const uint8_t swap[2] = { 1, 0 };
	int64_t dim[2] = { vectors, (int64_t)v.n / vectors };
	onnx_op c = ml_constant(n, 2, dim, v.v), m = ml_constant(n, 1, &dim[1], v.v);

	if (!c || !m)
		return NULL;
	for (int64_t f = 0; f < dim[1]; f++) {
		double sum = 0;

		for (int64_t i = 0; i < vectors; i++)
			sum += (double)v.v[i * dim[1] + f];
		ncc_set(NEURON_DT_FP32, m->data, f, sum / (double)vectors);
	}
	*mean = m;
	return ox_transpose(n, ox_bin(n, NCC_SUB, c, m), swap);
}

static onnx_op squares(struct onnx_node *n, onnx_op a, unsigned int axis)
{
	return ox_reduce(n, ox_bin(n, NCC_MUL, a, a), NCC_ADD, 1u << axis, true);
}

/*
 * exp(-gamma |x - v|^2). A distance is |x|^2 - 2 x v + |v|^2, which cancels where both are far from
 * zero: they are moved to the middle of the support vectors.
 */
static onnx_op radial(struct onnx_node *n, onnx_op x, struct ml_floats v, int64_t vectors,
		      double gamma)
{
	onnx_op mean = NULL, c = centred(n, v, vectors, &mean), d;

	x = ox_bin(n, NCC_SUB, x, mean);
	d = ox_binc(n, NCC_MUL, ml_matmul(n, x, c), -2);
	d = ox_bin(n, NCC_ADD, d, ox_bin(n, NCC_ADD, squares(n, x, 1), squares(n, c, 0)));
	return ox_un(n, NCC_EXP, ox_binc(n, NCC_MUL, ox_binc(n, NCC_MAX, d, 0), -gamma));
}

static onnx_op kernels(struct onnx_node *n, onnx_op x, struct ml_floats v, int64_t vectors)
{
	static const uint8_t swap[2] = { 1, 0 };
	struct ml_floats p = ml_floats(n, "kernel_params");
	double gamma = p.n > 0 ? (double)p.v[0] : 0, coef0 = p.n > 1 ? (double)p.v[1] : 0,
	       degree = p.n > 2 ? (double)p.v[2] : 0;
	int64_t dim[2] = { vectors, (int64_t)v.n / vectors };
	onnx_op d;

	if (onnx_string_is(n, "kernel_type", "RBF"))
		return radial(n, x, v, vectors, gamma);
	d = ml_matmul(n, x, ox_transpose(n, ml_constant(n, 2, dim, v.v), swap));
	if (onnx_string_is(n, "kernel_type", "LINEAR"))
		return d;
	d = ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, d, gamma), coef0);
	if (onnx_string_is(n, "kernel_type", "SIGMOID"))
		return ox_un(n, NCC_TANH, d);
	return ox_binc(n, NCC_POW, d, degree);
}

/* x w' + rho[0]: w[targets, features] are the coefficients */
static onnx_op linear(struct onnx_node *n, const struct svm *s, int64_t targets)
{
	static const uint8_t swap[2] = { 1, 0 };
	int64_t dim[2] = { targets, (int64_t)s->coef.n / targets }, one = 1;
	onnx_op w = ml_constant(n, 2, dim, s->coef.v);

	return ox_bin(n, NCC_ADD, ml_matmul(n, s->x, ox_transpose(n, w, swap)),
		      ml_constant(n, 1, &one, s->rho.v));
}

static int read_svm(struct onnx_node *n, struct svm *s)
{
	struct ml_floats v = ml_floats(n, "support_vectors");

	s->x = ml_rows(n);
	s->coef = ml_floats(n, "coefficients");
	s->rho = ml_floats(n, "rho");
	if (n->rc)
		return n->rc;
	if (!s->coef.n || !s->rho.n || s->vectors < 0 || s->vectors > (int64_t)v.n)
		return onnx_fail(n, -EINVAL,
				 "%zu coefficients, %zu numbers of rho and %zu of %lld support "
				 "vectors",
				 s->coef.n, s->rho.n, v.n, (long long)s->vectors);
	if (s->vectors && v.n % (size_t)s->vectors)
		return onnx_fail(n, -EINVAL, "%zu numbers for %lld support vectors", v.n,
				 (long long)s->vectors);
	if (s->vectors && s->x->shape.dim[1] != (int64_t)v.n / s->vectors)
		return onnx_fail(n, -EINVAL, "%lld features, the support vectors have %lld",
				 (long long)s->x->shape.dim[1], (long long)v.n / s->vectors);
	if (s->vectors)
		s->k = kernels(n, s->x, v, s->vectors);
	return n->rc;
}

static void import_regressor(struct onnx_node *n)
{
	struct svm s = { .vectors = onnx_int(n, "n_supports") };
	int64_t dim[2] = { s.vectors, 1 };
	onnx_op r;

	if (read_svm(n, &s))
		return;
	if (!s.vectors) {
		r = linear(n, &s, 1);
	} else if (s.coef.n != (size_t)s.vectors) {
		onnx_fail(n, -EINVAL, "%zu coefficients for %lld support vectors", s.coef.n,
			  (long long)s.vectors);
		return;
	} else {
		r = ml_matmul(n, s.k, ml_constant(n, 2, dim, s.coef.v));
		r = ox_bin(n, NCC_ADD, r, ml_constant(n, 1, &dim[1], s.rho.v));
	}
	if (onnx_int(n, "one_class") && r)
		r = ox_select(n, ox_binc(n, NCC_GT, r, 0), ox_scalar(n, &r->shape, 1),
			      ox_scalar(n, &r->shape, -1));
	onnx_give(n, 0, ml_post_transform(n, r));
}

/* Pairs of classes are numbered (0, 1), (0, 2), ... (1, 2), ...: number of (i, j), i < j */
static int64_t pair_of(const struct svm *s, int64_t i, int64_t j)
{
	return i * s->classes - i * (i + 1) / 2 + j - i - 1;
}

/*
 * [rows, pairs]: above 0 for the first class of a pair. The coefficients are [classes - 1,
 * vectors]: a vector's row for another class is that class's number, less one if that is above its
 * own.
 */
static onnx_op decide(struct onnx_node *n, const struct svm *s, struct ml_ints per_class)
{
	int64_t dim[2] = { s->vectors, s->pairs }, v = 0;
	float *w = calloc((size_t)(s->vectors * s->pairs), sizeof(*w));
	onnx_op r;

	if (!w) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return NULL;
	}
	for (int64_t c = 0; c < s->classes; c++)
		for (int64_t end = v + per_class.v[c]; v < end; v++)
			for (int64_t o = 0; o < s->classes; o++)
				if (o != c)
					w[v * s->pairs + pair_of(s, o < c ? o : c, o < c ? c : o)] =
						s->coef.v[(o > c ? o - 1 : o) * s->vectors + v];
	r = ml_matmul(n, s->k, ml_constant(n, 2, dim, w));
	free(w);
	return ox_bin(n, NCC_ADD, r, ml_constant(n, 1, &s->pairs, s->rho.v));
}

/* The class that wins most of its pairs, s32[rows] */
static onnx_op most_votes(struct onnx_node *n, const struct svm *s, onnx_op score)
{
	const struct ncc_dot d = { .ncontract = 1, .lhs_contract = { 1 }, .rhs_contract = { 0 } };
	struct ncc_shape first = { .dtype = NEURON_DT_FP32,
				   .ndim = 2,
				   .dim = { s->pairs, s->classes } };
	struct ncc_shape base = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { s->classes } };
	onnx_op a = ox_data(n, &first), b = ox_data(n, &base), won;

	if (!a || !b)
		return NULL;
	memset(a->data, 0, (size_t)ncc_elems(&first) * sizeof(float));
	for (int64_t i = 0; i < s->classes; i++) {
		ncc_set(base.dtype, b->data, i, (double)i); /* the pairs that it is second of */
		for (int64_t j = i + 1; j < s->classes; j++) {
			int64_t at = pair_of(s, i, j) * s->classes;

			ncc_set(first.dtype, a->data, at + i, 1);
			ncc_set(first.dtype, a->data, at + j, -1);
		}
	}
	won = ox_cast(n, ox_binc(n, NCC_GT, score, 0), NEURON_DT_BF16, false);
	won = ox_dot(n, won, ox_cast(n, a, NEURON_DT_BF16, false), &d, NEURON_DT_FP32);
	return ml_largest(n, ox_bin(n, NCC_ADD, ox_f32(n, won), b));
}

/* [rows, classes, classes]: r[i][j], the probability of i of the pair i, j; transposed: r[j][i] */
static onnx_op pairwise(struct onnx_node *n, const struct svm *s, onnx_op p, bool transposed)
{
	int64_t count = s->classes * s->classes, dim[3] = { 0, s->classes, s->classes };
	struct ncc_shape f = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { count } }, at = f;
	onnx_op from, sign, base;

	at.dtype = NEURON_DT_INT32;
	from = ox_data(n, &at);
	sign = ox_data(n, &f);
	base = ox_data(n, &f);
	if (!p || !from || !sign || !base)
		return NULL;
	dim[0] = p->shape.dim[0];
	for (int64_t i = 0; i < s->classes; i++)
		for (int64_t j = 0; j < s->classes; j++) {
			int64_t k = transposed ? j * s->classes + i : i * s->classes + j;

			ncc_set(at.dtype, from->data, k,
				i == j ? 0 : (double)pair_of(s, i < j ? i : j, i < j ? j : i));
			ncc_set(f.dtype, sign->data, k, i == j ? 0 : i < j ? 1 : -1);
			ncc_set(f.dtype, base->data, k, i > j);
		}
	p = ox_bin(n, NCC_MUL, ox_take(n, p, from, 1), sign);
	return ox_reshape(n, ox_bin(n, NCC_ADD, p, base), 3, dim);
}

/* 1 where dimensions 1 and 2 of a have the same index */
static onnx_op diagonal(struct onnx_node *n, int64_t classes)
{
	onnx_op i = ox_iota(n, NEURON_DT_INT32, classes);
	int64_t dim[2] = { classes, 1 };

	return ox_cast(n, ox_bin(n, NCC_EQ, i, ox_reshape(n, i, 2, dim)), NEURON_DT_FP32, false);
}

/*
 * The probabilities p[rows, classes] of all classes that fit those of the pairs best: least p'Qp
 * with a sum of 1, Q[i][i] the sum of all r[j][i]^2, Q[i][j] = -r[j][i] r[i][j] (Wu, Lin and Weng,
 * Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004). That is the
 * solution of Qp = 1, divided by its sum; it is found by elimination.
 */
static onnx_op couple(struct onnx_node *n, const struct svm *s, onnx_op p)
{
	onnx_op r = pairwise(n, s, p, false), t = pairwise(n, s, p, true),
		eye = diagonal(n, s->classes), part[2], one;
	int64_t dim[3] = { 0, s->classes, 1 };

	if (!r || !t || !eye)
		return NULL;
	dim[0] = r->shape.dim[0];
	part[0] = ox_bin(n, NCC_MUL, eye, squares(n, t, 2));
	part[0] = ox_bin(n, NCC_SUB, part[0], ox_bin(n, NCC_MUL, r, t));
	one = ox_scalar(n, &(struct ncc_shape){ .dtype = NEURON_DT_FP32 }, 1);
	part[1] = ox_expand(n, one, 3, dim);
	r = ox_concat(n, part, 2, 2);
	for (int64_t i = 0; i < s->classes && !n->rc; i++) {
		onnx_op row = ox_slice(n, r, 1, i, 1, 1), of, is = ox_slice(n, eye, 0, i, 1, 1);

		row = ox_bin(n, NCC_DIV, row, ox_slice(n, row, 2, i, 1, 1));
		of = ox_reshape(n, is, 2, (const int64_t[]){ s->classes, 1 });
		r = ox_bin(n, NCC_SUB, r,
			   ox_bin(n, NCC_MUL, ox_bin(n, NCC_SUB, ox_slice(n, r, 2, i, 1, 1), of),
				  row));
	}
	r = ox_reshape(n, ox_slice(n, r, 2, s->classes, 1, 1), 2, dim);
	return ox_bin(n, NCC_DIV, r, ox_reduce(n, r, NCC_ADD, 1u << 1, true));
}

static onnx_op probabilities(struct onnx_node *n, const struct svm *s, onnx_op score)
{
	struct ml_floats a = ml_floats(n, "prob_a"), b = ml_floats(n, "prob_b");
	onnx_op p, part[2];

	if (a.n < (size_t)s->pairs || b.n < (size_t)s->pairs) {
		onnx_fail(n, -EINVAL, "%zu of prob_a and %zu of prob_b for %lld pairs of classes",
			  a.n, b.n, (long long)s->pairs);
		return NULL;
	}
	p = ox_bin(n, NCC_MUL, score, ml_constant(n, 1, &s->pairs, a.v));
	p = ox_bin(n, NCC_ADD, p, ml_constant(n, 1, &s->pairs, b.v));
	p = ox_un(n, NCC_LOGISTIC, ox_binc(n, NCC_MUL, p, -1));
	p = ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, p, 1e-7), 1 - 1e-7);
	if (s->classes > 2)
		return couple(n, s, p);
	part[0] = p;
	part[1] = ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, p, -1), 1);
	return ox_concat(n, part, 2, 1);
}

static bool none_is_negative(struct ml_floats v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.v[i] < 0)
			return false;
	return true;
}

/* Without support vectors: a score for each class */
static void classify_linear(struct onnx_node *n, const struct svm *s, onnx_op *number,
			    onnx_op *score)
{
	if (s->coef.n % (size_t)s->classes) {
		onnx_fail(n, -EINVAL, "%zu coefficients for %lld classes", s->coef.n,
			  (long long)s->classes);
		return;
	}
	*score = linear(n, s, s->classes);
	*number = ml_largest(n, *score);
	if (s->classes == 2 && *score) { /* the second class, too, if the first scores enough */
		onnx_op most = ox_reduce(n, *score, NCC_MAX, 1u << 1, false);
		bool positive = none_is_negative(s->coef);

		most = ox_binc(n, positive ? NCC_GE : NCC_GT, most, positive ? 0.5 : 0);
		*number = ox_bin(n, NCC_MAX, *number, ox_cast(n, most, NEURON_DT_INT32, false));
	}
	*score = ml_post_transform(n, *score);
}

static void classify(struct onnx_node *n, const struct svm *s, struct ml_ints per_class,
		     onnx_op *number, onnx_op *score)
{
	if (s->coef.n < (size_t)((s->classes - 1) * s->vectors) || s->rho.n < (size_t)s->pairs) {
		onnx_fail(n, -EINVAL,
			  "%zu coefficients and %zu numbers of rho for %lld classes and %lld "
			  "support vectors",
			  s->coef.n, s->rho.n, (long long)s->classes, (long long)s->vectors);
		return;
	}
	*score = decide(n, s, per_class);
	*number = most_votes(n, s, *score);
	if (ml_floats(n, "prob_a").n)
		*score = ml_post_transform(n, probabilities(n, s, *score));
	else if (s->classes > 2)
		*score = ml_post_transform(n, *score);
	else
		*score = ml_two_scores(n, *score, !onnx_string_is(n, "post_transform", "NONE"));
}

static void import_classifier(struct onnx_node *n)
{
	struct ml_ints per_class = ml_ints(n, "vectors_per_class");
	size_t classes = ml_ints(n, "classlabels_ints").n + ml_strings(n, "classlabels_strings");
	struct svm s = { .classes = (int64_t)classes };
	onnx_op number = NULL, score = NULL;

	if (classes < 2 || classes > MOST_CLASSES || (per_class.n && per_class.n != classes)) {
		onnx_fail(n, -ENOTSUP,
			  "%zu class labels, 2 to %d are supported, and vectors of %zu", classes,
			  MOST_CLASSES, per_class.n);
		return;
	}
	s.pairs = s.classes * (s.classes - 1) / 2;
	for (size_t i = 0; i < per_class.n; i++) {
		if (per_class.v[i] < 0 || per_class.v[i] > ONNX_MAX_DATA) {
			onnx_fail(n, -EINVAL, "class %zu has %lld support vectors", i,
				  (long long)per_class.v[i]);
			return;
		}
		s.vectors += per_class.v[i];
	}
	if (read_svm(n, &s))
		return;
	if (s.vectors)
		classify(n, &s, per_class, &number, &score);
	else
		classify_linear(n, &s, &number, &score);
	ml_give_label(n, number, "classlabels_ints", "classlabels_strings");
	onnx_give(n, 1, score);
}

const struct onnx_rule onnx_ml_svm[] = {
	/* clang-format off */
	{ "SVMClassifier", 1, 1, .import = import_classifier, .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("classlabels_ints", INTS), ATTR("classlabels_strings", TEXTS),
		ATTR("coefficients", FLOATS), ATTR("kernel_params", FLOATS),
		ATTR("kernel_type", TEXT, .words = "LINEAR|POLY|RBF|SIGMOID", .s = "LINEAR"), ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE"),
		ATTR("prob_a", FLOATS), ATTR("prob_b", FLOATS), ATTR("rho", FLOATS),
		ATTR("support_vectors", FLOATS), ATTR("vectors_per_class", INTS)) },
	{ "SVMRegressor",  1, 1, .import = import_regressor,  .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("coefficients", FLOATS), ATTR("kernel_params", FLOATS),
		ATTR("kernel_type", TEXT, .words = "LINEAR|POLY|RBF|SIGMOID", .s = "LINEAR"), ATTR("n_supports", INT),
		ATTR("one_class", INT), ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE"),
		ATTR("rho", FLOATS), ATTR("support_vectors", FLOATS)) },
	{ .op_type = NULL },
	/* clang-format on */
};
