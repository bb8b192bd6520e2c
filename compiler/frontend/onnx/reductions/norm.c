// SPDX-License-Identifier: MIT
/* Normalization. Statistics are computed in fp32. Part of the ONNX front end. */
#include <errno.h>

#include "reductions.h"

static double count_of(onnx_op x, uint32_t mask)
{
	double count = 1;

	for (unsigned int i = 0; i < x->shape.ndim; i++)
		count *= mask >> i & 1 ? (double)x->shape.dim[i] : 1;
	return count;
}

static onnx_op mean(struct onnx_node *n, onnx_op x, uint32_t mask)
{
	return x ? ox_binc(n, NCC_MUL, ox_reduce(n, x, NCC_ADD, mask, true), 1 / count_of(x, mask))
		 : NULL;
}

onnx_op ox_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
		     onnx_op *subtracted, onnx_op *scale)
{
	onnx_op m = mean(n, x, mask), d = ox_bin(n, NCC_SUB, x, m);
	onnx_op var = mean(n, ox_bin(n, NCC_MUL, d, d), mask);
	onnx_op inv = ox_un(n, NCC_RSQRT, ox_binc(n, NCC_ADD, var, epsilon));

	if (subtracted)
		*subtracted = m;
	if (scale)
		*scale = inv;
	return ox_bin(n, NCC_MUL, d, inv);
}

/* One number for each channel, with x's rank */
static onnx_op by_channel(struct onnx_node *n, onnx_op v, onnx_op x)
{
	int64_t dim[NCC_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (!v || n->rc)
		return NULL;
	if (v->shape.ndim != 1 || x->shape.ndim < 2 || v->shape.dim[0] != x->shape.dim[1]) {
		onnx_fail(n, -EINVAL, "an operand does not have one number for each channel");
		return NULL;
	}
	dim[1] = v->shape.dim[0];
	return ox_f32(n, ox_reshape(n, v, x->shape.ndim, dim));
}

/* The old statistics and the batch's, mixed by the momentum */
static onnx_op running(struct onnx_node *n, onnx_op old, onnx_op now)
{
	const double momentum = onnx_float(n, "momentum");

	if (!old || !now || n->rc)
		return NULL;
	now = ox_reshape(n, now, 1, &now->shape.dim[1]);
	return ox_cast_like(n,
			    ox_bin(n, NCC_ADD, ox_binc(n, NCC_MUL, ox_f32(n, old), momentum),
				   ox_binc(n, NCC_MUL, now, 1 - momentum)),
			    old);
}

/* Normalizes with the statistics of the batch, which are also mixed into the running ones. */
static void batch_norm_training(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), f = ox_f32(n, x), m, d, var, y;
	const uint32_t mask = ((1u << x->shape.ndim) - 1) & ~2u;

	y = by_channel(n, onnx_in(n, 1), x);
	if (n->rc)
		return;
	m = mean(n, f, mask);
	d = ox_bin(n, NCC_SUB, f, m);
	var = mean(n, ox_bin(n, NCC_MUL, d, d), mask);
	y = ox_bin(n, NCC_MUL, y,
		   ox_un(n, NCC_RSQRT, ox_binc(n, NCC_ADD, var, onnx_float(n, "epsilon"))));
	y = ox_bin(n, NCC_ADD, ox_bin(n, NCC_MUL, d, y), by_channel(n, onnx_in(n, 2), x));
	onnx_give(n, 0, ox_cast_like(n, y, x));
	if (by_channel(n, onnx_in(n, 3), x) && by_channel(n, onnx_in(n, 4), x)) {
		onnx_give_as(n, 1, running(n, onnx_in(n, 3), m), n->in[3].type);
		onnx_give_as(n, 2, running(n, onnx_in(n, 4), var), n->in[4].type);
	}
}

/* Constants are folded, so that one multiplication and one addition are left. */
static void import_batch_norm(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), scale, shift, m, var;

	if (n->opset >= 14 && onnx_int(n, "training_mode")) {
		batch_norm_training(n);
		return;
	}
	if (onnx_int(n, "training_mode") || n->nout > 1 || !onnx_int(n, "spatial") ||
	    (n->opset < 7 && !onnx_int(n, "is_test"))) {
		onnx_fail(n, -ENOTSUP, "training is not supported");
		return;
	}
	m = by_channel(n, onnx_in(n, 3), x);
	var = ox_binc(n, NCC_ADD, by_channel(n, onnx_in(n, 4), x), onnx_float(n, "epsilon"));
	scale = ox_bin(n, NCC_DIV, by_channel(n, onnx_in(n, 1), x), ox_un(n, NCC_SQRT, var));
	shift = ox_bin(n, NCC_SUB, by_channel(n, onnx_in(n, 2), x), ox_bin(n, NCC_MUL, m, scale));
	scale = ox_bin(n, NCC_ADD, ox_bin(n, NCC_MUL, ox_f32(n, x), scale), shift);
	onnx_give(n, 0, ox_cast_like(n, scale, x));
}

static void import_instance_norm(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r;
	uint32_t mask = (1u << x->shape.ndim) - 4;

	if (x->shape.ndim < 3) {
		onnx_fail(n, -EINVAL, "rank %u, at least 3 is expected", x->shape.ndim);
		return;
	}
	r = ox_normalize(n, ox_f32(n, x), mask, onnx_float(n, "epsilon"), NULL, NULL);
	r = ox_bin(n, NCC_MUL, r, by_channel(n, onnx_in(n, 1), x));
	r = ox_bin(n, NCC_ADD, r, by_channel(n, onnx_in(n, 2), x));
	onnx_give(n, 0, ox_cast_like(n, r, x));
}

/* Before operator set 21 there is one number for each group: the same for its channels */
static onnx_op of_groups(struct onnx_node *n, unsigned int i, int64_t channels)
{
	const int64_t groups = onnx_int(n, "num_groups");
	const int64_t column[2] = { groups, 1 }, all[2] = { groups, channels / groups };
	onnx_op v = onnx_in(n, i);

	if (n->opset >= 21)
		return v;
	if (v->shape.ndim != 1 || v->shape.dim[0] != groups) {
		onnx_fail(n, -EINVAL, "operand %u does not have one number for each group", i);
		return NULL;
	}
	return ox_reshape(n, ox_expand(n, ox_reshape(n, v, 2, column), 2, all), 1, &channels);
}

/*
 * Each group of channels becomes one index of dimension 1, and its elements are normalized
 * together.
 */
static void import_group_norm(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r;
	int64_t groups = onnx_int(n, "num_groups"), dim[3];

	if (x->shape.ndim < 3 || groups < 1 || x->shape.dim[1] % groups) {
		onnx_fail(n, -EINVAL, "%lld groups do not fit the operand", (long long)groups);
		return;
	}

	dim[0] = x->shape.dim[0];
	dim[1] = groups;
	dim[2] = ncc_elems(&x->shape) / dim[0] / groups;
	r = ox_reshape(n, ox_f32(n, x), 3, dim);
	r = ox_normalize(n, r, 4, onnx_float(n, "epsilon"), NULL, NULL);
	r = ox_reshape(n, r, x->shape.ndim, x->shape.dim);
	r = ox_bin(n, NCC_MUL, r, by_channel(n, of_groups(n, 1, x->shape.dim[1]), x));
	r = ox_bin(n, NCC_ADD, r, by_channel(n, of_groups(n, 2, x->shape.dim[1]), x));
	onnx_give(n, 0, ox_cast_like(n, r, x));
}

static void import_layer_norm(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r, m = NULL, inv = NULL;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	uint32_t mask = (1u << x->shape.ndim) - (1u << axis);

	r = ox_normalize(n, ox_f32(n, x), mask, onnx_float(n, "epsilon"), &m, &inv);
	r = ox_bin(n, NCC_MUL, r, ox_f32(n, onnx_in(n, 1)));
	if (onnx_in(n, 2))
		r = ox_bin(n, NCC_ADD, r, ox_f32(n, onnx_in(n, 2)));
	onnx_give(n, 0, ox_cast_like(n, r, x));
	onnx_give_as(n, 1, m, ONNX_FLOAT);
	onnx_give_as(n, 2, inv, ONNX_FLOAT);
}

onnx_op ox_rms_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
			 onnx_op *scale)
{
	onnx_op r = mean(n, ox_bin(n, NCC_MUL, x, x), mask);

	r = ox_un(n, NCC_RSQRT, ox_binc(n, NCC_ADD, r, epsilon));
	if (scale)
		*scale = r;
	return ox_bin(n, NCC_MUL, x, r);
}

static void import_rms_norm(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r, inv = NULL;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	uint32_t mask = (1u << x->shape.ndim) - (1u << axis);

	r = ox_rms_normalize(n, ox_f32(n, x), mask, onnx_float(n, "epsilon"), &inv);
	r = ox_bin(n, NCC_MUL, r, ox_f32(n, onnx_in(n, 1)));
	onnx_give(n, 0, ox_cast_like(n, r, x));
	onnx_give_as(n, 1, inv, ONNX_FLOAT);
}

/* x / (bias + alpha / size * sum of the squares of the channels around)^beta */
static void import_lrn(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), f = ox_f32(n, x), s;
	int64_t size = onnx_int(n, "size");
	struct ncc_window w[NCC_MAX_DIMS];

	if (x->shape.ndim < 3 || size < 1 || size > 65536) {
		onnx_fail(n, -EINVAL, "rank %u, size %lld", x->shape.ndim, (long long)size);
		return;
	}
	for (unsigned int i = 0; i < NCC_MAX_DIMS; i++)
		w[i] = (struct ncc_window){ 1, 1, 0, 0, 1, 1, false };
	w[1] = (struct ncc_window){ size, 1, (size - 1) / 2, size / 2, 1, 1, false };
	s = ox_reduce_window(n, ox_bin(n, NCC_MUL, f, f), NCC_ADD, 0, w);
	s = ox_binc(n, NCC_MUL, s, onnx_float(n, "alpha") / (double)size);
	s = ox_binc(n, NCC_ADD, s, onnx_float(n, "bias"));
	s = ox_binc(n, NCC_POW, s, onnx_float(n, "beta"));
	onnx_give(n, 0, ox_cast_like(n, ox_bin(n, NCC_DIV, f, s), x));
}

static void import_mvn(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axes[NCC_MAX_DIMS] = { 0, 2, 3 };
	unsigned int count;
	uint32_t mask = 0;

	if (!onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &count))
		count = 3;
	for (unsigned int i = 0; i < count; i++)
		mask |= 1u << onnx_axis(n, axes[i], x->shape.ndim);
	onnx_give(n, 0, ox_cast_like(n, ox_normalize(n, ox_f32(n, x), mask, 1e-9, NULL, NULL), x));
}

static void import_lp_norm(struct onnx_node *n)
{
	onnx_op x = ox_f32(n, onnx_in(n, 0)), s = x;
	uint32_t mask = 1u << onnx_axis(n, onnx_int(n, "axis"), onnx_in(n, 0)->shape.ndim);
	int64_t p = onnx_int(n, "p");

	if (p == 1)
		s = ox_reduce(n, ox_un(n, NCC_ABS, x), NCC_ADD, mask, true);
	else
		s = ox_un(n, NCC_SQRT, ox_reduce(n, ox_bin(n, NCC_MUL, x, x), NCC_ADD, mask, true));
	/* Of a norm of 0 the result is 0. */
	x = s ? ox_select(n, ox_binc(n, NCC_EQ, s, 0), ox_scalar(n, &s->shape, 0),
			  ox_bin(n, NCC_DIV, x, s))
	      : NULL;
	onnx_give(n, 0, ox_cast_like(n, x, onnx_in(n, 0)));
}

static const struct onnx_attribute like_layer_normalization[] = {
	ATTR("axis", INT, .i = -1),
	ATTR("epsilon", FLOAT, .f = 1e-5),
	ATTR("stash_type", INT, .i = 1),
	{ 0 },
};

const struct onnx_rule onnx_norm[] = {
	/* clang-format off */
	{ "BatchNormalization",           5, 5, .import = import_batch_norm, .sized = sized_batch_norm, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("epsilon", FLOAT, .f = 1e-5), ATTR("is_test", INT, .until = 6),
		ATTR("momentum", FLOAT, .f = (double)0.9f),
		ATTR("spatial", INT, .i = 1, .until = 8), ATTR("training_mode", INT, .from = 14)) },
	{ "GroupNormalization",           3, 3, .import = import_group_norm, .sized = sized_batch, .takes = ONNX_OPERAND(0), .since = 18,
	  .attrs = ONNX_ATTRS(
		ATTR("epsilon", FLOAT, .f = 1e-5), ATTR("num_groups", INT, .needed = true),
		ATTR("stash_type", INT, .i = 1, .from = 21)) },
	{ "InstanceNormalization",        3, 3, .import = import_instance_norm, .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("consumed_inputs", INTS, .until = 5), ATTR("epsilon", FLOAT, .f = 1e-5)) },
	{ "LRN",                          1, 1, .import = import_lrn, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1e-4), ATTR("beta", FLOAT, .f = 0.75),
		ATTR("bias", FLOAT, .f = 1), ATTR("size", INT, .i = 1, .needed = true)) },
	{ "LayerNormalization",           2, 3, .import = import_layer_norm, .sized = sized_layer_norm, .takes = ONNX_OPERAND(0), .since = 17, .attrs = like_layer_normalization },
	{ "LpNormalization",              1, 1, .import = import_lp_norm,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = -1), ATTR("p", INT, .i = 2)) },
	{ "MeanVarianceNormalization",    1, 1, .import = import_mvn, .since = 9, .attrs = ONNX_ATTRS(ATTR("axes", INTS)) },
	{ "RMSNormalization",             2, 2, .import = import_rms_norm, .sized = sized_layer_norm, .takes = ONNX_OPERAND(0), .since = 23, .attrs = like_layer_normalization },
	{ "SimplifiedLayerNormalization", 2, 2, .import = import_rms_norm, .sized = sized_layer_norm, .takes = ONNX_OPERAND(0), .attrs = like_layer_normalization },  /* as onnxruntime calls RMSNormalization */
	{ .op_type = NULL },
	/* clang-format on */
};
