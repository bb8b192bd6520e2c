// SPDX-License-Identifier: MIT
/*
 * Operators of the domain ai.onnx.ml, which scikit-learn's converter writes: features, labels,
 * linear models. Part of the ONNX front end.
 */
#include "ml.h"
#include "frontend/onnx/reductions/reductions.h"
#include "frontend/onnx/moves/moves.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_LABELS 1024

struct ml_floats ml_floats(const struct onnx_node *n, const char *name)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a ? (struct ml_floats){ a->floats, a->n_floats } : (struct ml_floats){ 0 };
}

struct ml_ints ml_ints(const struct onnx_node *n, const char *name)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a ? (struct ml_ints){ a->ints, a->n_ints } : (struct ml_ints){ 0 };
}

size_t ml_strings(const struct onnx_node *n, const char *name)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a ? a->n_strings : 0;
}

onnx_op ml_constant(struct onnx_node *n, unsigned int ndim, const int64_t *dim, const float *v)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = ndim };
	onnx_op c;

	memcpy(s.dim, dim, ndim * sizeof(*dim));
	c = ox_data(n, &s);
	if (c)
		memcpy(c->data, v, (size_t)ncc_elems(&s) * sizeof(*v));
	return c;
}

onnx_op ml_rows(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t dim[2] = { 1 };

	n->exact = true;
	if (x->shape.ndim == 2)
		return ox_f32(n, x);
	if (x->shape.ndim != 1) {
		onnx_fail(n, -EINVAL, "operand 0 has rank %u, expected 2", x->shape.ndim);
		return NULL;
	}
	dim[1] = x->shape.dim[0];
	return ox_reshape(n, ox_f32(n, x), 2, dim);
}

/* x as the sum of three numbers of bf16 */
static void split(struct onnx_node *n, onnx_op x, onnx_op part[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		part[i] = ox_cast(n, x, NEURON_DT_BF16, false);
		if (i < 2)
			x = ox_bin(n, NCC_SUB, x, ox_f32(n, part[i]));
	}
}

/* A product of fp32: each side as the sum of three numbers of bf16 */
onnx_op ml_matmul(struct onnx_node *n, onnx_op a, onnx_op b)
{
	const struct ncc_dot d = { .ncontract = 1, .lhs_contract = { 1 }, .rhs_contract = { 0 } };
	onnx_op x[3] = { NULL }, y[3], sum = NULL;

	if (a && b && a->shape.dim[1] != b->shape.dim[0]) {
		onnx_fail(n, -EINVAL, "%lld features, the model has %lld",
			  (long long)a->shape.dim[1], (long long)b->shape.dim[0]);
		return NULL;
	}
	split(n, a, x);
	split(n, b, y);
	for (int total = 2; total >= 0 && !n->rc; total--) /* the smallest products first */
		for (int i = 0; i <= total && !n->rc; i++) {
			onnx_op r = ox_dot(n, x[i], y[total - i], &d, NEURON_DT_FP32);

			sum = sum ? ox_bin(n, NCC_ADD, sum, ox_f32(n, r)) : ox_f32(n, r);
		}
	return sum;
}

/* Labels and scores */

onnx_op ml_post_transform(struct onnx_node *n, onnx_op scores)
{
	if (onnx_string_is(n, "post_transform", "NONE"))
		return scores;
	if (onnx_string_is(n, "post_transform", "LOGISTIC"))
		return ox_un(n, NCC_LOGISTIC, scores);
	if (onnx_string_is(n, "post_transform", "SOFTMAX"))
		return scores ? ox_softmax(n, scores, scores->shape.ndim - 1, false) : NULL;
	onnx_fail(n, -ENOTSUP,
		  "this post_transform is not supported (NONE, LOGISTIC and SOFTMAX are)");
	return NULL;
}

onnx_op ml_two_scores(struct onnx_node *n, onnx_op s, bool one_minus)
{
	onnx_op part[2] = { ox_binc(n, NCC_MUL, s, -1), s };

	if (one_minus)
		part[0] = ox_binc(n, NCC_ADD, part[0], 1);
	s = n->rc ? NULL : ox_concat(n, part, 2, 1);
	return one_minus ? s : ml_post_transform(n, s);
}

onnx_op ml_largest(struct onnx_node *n, onnx_op scores)
{
	onnx_op at = scores ? ox_best_place(n, scores, 1, NCC_MAX, false, 0) : NULL;

	return at ? ox_reshape(n, at, 1, &scores->shape.dim[0]) : NULL;
}

void ml_give_label(struct onnx_node *n, onnx_op number, const char *ints, const char *strings)
{
	struct ml_ints labels = ml_ints(n, ints);
	bool counted = true;
	onnx_op label = number;

	if (!number || n->rc)
		return;
	for (size_t i = 0; i < labels.n; i++) {
		counted = counted && labels.v[i] == (int64_t)i;
		if (labels.v[i] < INT32_MIN || labels.v[i] > INT32_MAX) {
			onnx_fail(n, -ENOTSUP, "label %lld does not fit 32 bits",
				  (long long)labels.v[i]);
			return;
		}
	}
	if (!labels.n && ml_strings(n, strings) && n->imp->opt->warn)
		n->imp->opt->warn(n->imp->opt->opaque, "labels that are text become the numbers of "
						       "their classes");
	for (size_t i = 0; i < labels.n && !counted; i++) {
		onnx_op is = ox_binc(n, NCC_EQ, number, (double)i);
		struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

		label = ox_select(n, is, ox_scalar(n, &s, (double)labels.v[i]), label);
	}
	onnx_give_as(n, 0, label, ONNX_INT32);
}

/* Linear models */

static onnx_op scores_of(struct onnx_node *n, onnx_op x, int64_t targets)
{
	struct ml_floats w = ml_floats(n, "coefficients"), b = ml_floats(n, "intercepts");
	static const uint8_t swap[2] = { 1, 0 };
	int64_t dim[2] = { targets, 0 };
	onnx_op r;

	if (targets < 1 || !w.n || w.n % (size_t)targets || (b.n && b.n != (size_t)targets)) {
		onnx_fail(n, -EINVAL, "%zu coefficients and %zu intercepts for %lld targets", w.n,
			  b.n, (long long)targets);
		return NULL;
	}
	dim[1] = (int64_t)w.n / targets;
	r = ml_matmul(n, x, ox_transpose(n, ml_constant(n, 2, dim, w.v), swap));
	return b.n ? ox_bin(n, NCC_ADD, r, ml_constant(n, 1, &targets, b.v)) : r;
}

static void import_linear_regressor(struct onnx_node *n)
{
	onnx_op r = scores_of(n, ml_rows(n), onnx_int(n, "targets"));

	onnx_give(n, 0, ml_post_transform(n, r));
}

static void import_linear_classifier(struct onnx_node *n)
{
	size_t labels = ml_ints(n, "classlabels_ints").n + ml_strings(n, "classlabels_strings"),
	       targets = ml_floats(n, "intercepts").n;
	onnx_op s = scores_of(n, ml_rows(n), (int64_t)(targets ? targets : labels)), number;

	if (!s)
		return;
	if (s->shape.dim[1] > 1) {
		number = ml_largest(n, s);
		s = ml_post_transform(n, s);
	} else {
		int64_t rows = s->shape.dim[0];

		number = ox_cast(n, ox_reshape(n, ox_binc(n, NCC_GT, s, 0), 1, &rows),
				 NEURON_DT_INT32, false);
		s = labels == 2
			    ? ml_two_scores(n, s, !onnx_string_is(n, "post_transform", "LOGISTIC"))
			    : ml_post_transform(n, s);
	}
	ml_give_label(n, number, "classlabels_ints", "classlabels_strings");
	onnx_give(n, 1, s);
}

/* Features */

/* An attribute with one number for each feature, or one for all */
static onnx_op of_features(struct onnx_node *n, const char *name, onnx_op x)
{
	struct ml_floats v = ml_floats(n, name);
	int64_t count = (int64_t)v.n;

	if (!x || !count)
		return NULL;
	if (count != 1 && count != x->shape.dim[x->shape.ndim - 1]) {
		onnx_fail(n, -EINVAL, "%s: %zu numbers for %lld features", name, v.n,
			  (long long)x->shape.dim[x->shape.ndim - 1]);
		return NULL;
	}
	return ml_constant(n, 1, &count, v.v);
}

static void import_scaler(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), offset, scale;

	n->exact = true;
	if (!x->shape.ndim) {
		onnx_fail(n, -EINVAL, "operand 0 is a scalar");
		return;
	}
	x = ox_f32(n, x);
	offset = of_features(n, "offset", x);
	scale = of_features(n, "scale", x);
	if (offset)
		x = ox_bin(n, NCC_SUB, x, offset);
	if (scale)
		x = ox_bin(n, NCC_MUL, x, scale);
	onnx_give(n, 0, x);
}

static void import_normalizer(struct onnx_node *n)
{
	onnx_op x = ml_rows(n), norm;

	if (onnx_string_is(n, "norm", "MAX"))
		norm = ox_reduce(n, x, NCC_MAX, 1u << 1, true);
	else if (onnx_string_is(n, "norm", "L1"))
		norm = ox_reduce(n, ox_un(n, NCC_ABS, x), NCC_ADD, 1u << 1, true);
	else
		norm = ox_un(n, NCC_SQRT,
			     ox_reduce(n, ox_bin(n, NCC_MUL, x, x), NCC_ADD, 1u << 1, true));
	norm = ox_select(n, ox_binc(n, NCC_EQ, norm, 0), /* such a row stays as it is */
			 norm ? ox_scalar(n, &norm->shape, 1) : NULL, norm);
	onnx_give(n, 0, ox_bin(n, NCC_DIV, x, norm));
}

static void import_binarizer(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0),
		over = ox_binc(n, NCC_GT, ox_f32(n, x), onnx_float(n, "threshold"));

	n->exact = true;
	onnx_give(n, 0, ox_cast(n, over, NEURON_DT_FP32, false));
}

static void import_imputer(struct onnx_node *n)
{
	double missing = onnx_float(n, "replaced_value_float");
	onnx_op x = ml_rows(n), value = of_features(n, "imputed_value_floats", x), is;

	if (n->rc || !value) {
		onnx_fail(n, -ENOTSUP, "only imputed_value_floats are supported");
		return;
	}
	is = isnan(missing) ? ox_bin(n, NCC_NE, x, x) : ox_binc(n, NCC_EQ, x, missing);
	onnx_give(n, 0, ox_select(n, is, value, x));
}

static void import_feature_extractor(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), idx = onnx_in(n, 1), r;
	int64_t count = ncc_elems(&idx->shape), dim[2] = { 1, count };

	if (!x->shape.ndim) {
		onnx_fail(n, -EINVAL, "operand 0 is a scalar");
		return;
	}
	r = ox_take(n, x, ox_reshape(n, idx, 1, &count), x->shape.ndim - 1);
	if (x->shape.ndim == 1)
		r = ox_reshape(n, r, 2, dim);
	onnx_give_as(n, 0, r, n->in[0].type);
}

static void import_feature_vectorizer(struct onnx_node *n)
{
	onnx_op part[NCC_MAX_DIMS * 8];

	if (!n->nin || n->nin > sizeof(part) / sizeof(part[0])) {
		onnx_fail(n, -ENOTSUP, "%u operands", n->nin);
		return;
	}
	for (unsigned int i = 0; i < n->nin; i++) {
		part[i] = onnx_in(n, i)->shape.ndim == 2 ? ox_f32(n, onnx_in(n, i)) : NULL;
		if (!part[i]) {
			onnx_fail(n, -EINVAL, "operand %u has no rows of features", i);
			return;
		}
	}
	onnx_give(n, 0, n->nin > 1 ? ox_concat(n, part, n->nin, 1) : part[0]);
}

static void import_one_hot_encoder(struct onnx_node *n)
{
	struct ml_ints cats = ml_ints(n, "cats_int64s");
	onnx_op x = onnx_in(n, 0), all;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { (int64_t)cats.n } };

	n->exact = true;
	if (!cats.n || cats.n > MOST_LABELS) {
		onnx_fail(n, -ENOTSUP, "%zu categories of integers, expected 1 to %d", cats.n,
			  MOST_LABELS);
		return;
	}
	all = ox_data(n, &s);
	for (size_t i = 0; all && i < cats.n; i++)
		ncc_set(NEURON_DT_FP32, all->data, (int64_t)i, (double)cats.v[i]);
	x = ox_insert(n, ox_f32(n, x), x->shape.ndim);
	onnx_give(n, 0, ox_cast(n, ox_bin(n, NCC_EQ, x, all), NEURON_DT_FP32, false));
}

/* The number of an attribute of keys or values, whichever of the two kinds it has */
static double label_at(struct ml_ints i, struct ml_floats f, size_t k)
{
	return i.n ? (double)i.v[k] : (double)f.v[k];
}

static void import_label_encoder(struct onnx_node *n)
{
	struct ml_ints ki = ml_ints(n, "keys_int64s"), vi = ml_ints(n, "values_int64s");
	struct ml_floats kf = ml_floats(n, "keys_floats"), vf = ml_floats(n, "values_floats");
	size_t keys = ki.n ? ki.n : kf.n, values = vi.n ? vi.n : vf.n;
	struct ncc_shape s = { .dtype = vi.n ? NEURON_DT_INT32 : NEURON_DT_FP32 };
	onnx_op x = onnx_in(n, 0), r;

	n->exact = true;
	if (!keys || keys != values || keys > MOST_LABELS) {
		onnx_fail(n, -ENOTSUP,
			  "%zu keys and %zu values that are numbers, expected as many, at most %d",
			  keys, values, MOST_LABELS);
		return;
	}
	r = vi.n ? ox_scalar(n, &s, (double)onnx_int(n, "default_int64"))
		 : ox_scalar(n, &s, onnx_float(n, "default_float"));
	for (size_t i = keys; i-- > 0;) /* the first key counts */
		r = ox_select(n, ox_binc(n, NCC_EQ, x, label_at(ki, kf, i)),
			      ox_scalar(n, &s, label_at(vi, vf, i)), r);
	onnx_give_as(n, 0, r, vi.n ? ONNX_INT32 : ONNX_FLOAT);
}

/* A map of names to scores for each row: the scores are its values, in the order of the classes. */
static void import_zip_map(struct onnx_node *n)
{
	if (n->imp->opt->warn)
		n->imp->opt->warn(n->imp->opt->opaque, "ZipMap is left out: the scores, in the "
						       "order of the classes");
	onnx_give(n, 0, onnx_in(n, 0));
}

const struct onnx_rule onnx_ml[] = {
	/* clang-format off */
	{ "ArrayFeatureExtractor", 2, 2,  .import = import_feature_extractor,  .unchanged = true, .sized = sized_picked, .takes = ONNX_ALL },
	{ "Binarizer",             1, 1,  .import = import_binarizer,          .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("threshold", FLOAT)) },
	{ "FeatureVectorizer",     1, -1, .import = import_feature_vectorizer, .unchanged = true,
	  .attrs = ONNX_ATTRS(
		ATTR("inputdimensions", INTS)) },
	{ "Imputer",               1, 1,  .import = import_imputer,            .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("imputed_value_floats", FLOATS), ATTR("imputed_value_int64s", INTS),
		ATTR("replaced_value_float", FLOAT), ATTR("replaced_value_int64", INT)) },
	{ "LabelEncoder",          1, 1,  .import = import_label_encoder,      .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("classes_strings", TEXTS), ATTR("default_float", FLOAT, .f = -0.0), ATTR("default_int64", INT, .i = -1),
		ATTR("default_string", TEXT, .s = "_Unused"), ATTR("default_tensor", TENSOR),
		ATTR("keys_floats", FLOATS), ATTR("keys_int64s", INTS),
		ATTR("keys_strings", TEXTS), ATTR("keys_tensor", TENSOR),
		ATTR("values_floats", FLOATS), ATTR("values_int64s", INTS),
		ATTR("values_strings", TEXTS), ATTR("values_tensor", TENSOR)) },
	{ "LinearClassifier",      1, 1,  .import = import_linear_classifier,  .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("classlabels_ints", INTS), ATTR("classlabels_strings", TEXTS),
		ATTR("coefficients", FLOATS, .needed = true), ATTR("intercepts", FLOATS),
		ATTR("multi_class", INT), ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE")) },
	{ "LinearRegressor",       1, 1,  .import = import_linear_regressor,   .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("coefficients", FLOATS), ATTR("intercepts", FLOATS),
		ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE"), ATTR("targets", INT, .i = 1)) },
	{ "Normalizer",            1, 1,  .import = import_normalizer,         .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("norm", TEXT, .words = "MAX|L1|L2", .s = "MAX")) },
	{ "OneHotEncoder",         1, 1,  .import = import_one_hot_encoder,    .unchanged = true,
	  .attrs = ONNX_ATTRS(
		ATTR("cats_int64s", INTS), ATTR("cats_strings", TEXTS),
		ATTR("zeros", INT, .i = 1)) },
	{ "Scaler",                1, 1,  .import = import_scaler,             .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("offset", FLOATS), ATTR("scale", FLOATS)) },
	{ "ZipMap",                1, 1,  .import = import_zip_map,            .unchanged = true,
	  .attrs = ONNX_ATTRS(
		ATTR("classlabels_int64s", INTS), ATTR("classlabels_strings", TEXTS)) },
	{ .op_type = NULL },
	/* clang-format on */
};
