// SPDX-License-Identifier: MIT
/*
 * Tensors of which the data, or who runs the model, say how many elements there are. Such a value
 * has bounds in its shape and the real sizes beside it, which are computed when the model runs. The
 * table at the end says what each operator does with such dimensions; one that it lacks is refused.
 * What lies beyond the size is read by nobody: a rule fills it with what does not count. A tensor
 * without elements is one whose size is 0. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"

#define ALL UINT32_MAX
#define NOTHING 0
#define OPERAND(i) (1u << (i))

struct rule {
	const char *op_type;
	void (*import)(struct onnx_node *n);
	uint32_t takes; /* mask: the operands that may be dynamic */
	uint32_t lists; /* mask: the lists of numbers that may depend on the data */
};

/*
 * Operands broadcast: a dynamic dimension must be so in all that have more than one element there,
 * with the same size. Where their bounds differ the smallest holds.
 */
static void by_element(struct onnx_node *n)
{
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	sized_broadcast(n, ALL, 0, size);
	if (!n->rc)
		sized_import(n, size);
}

/* Operand 0 keeps its dimensions, and those of the others mean something else. */
static void like_first(struct onnx_node *n)
{
	sized_import(n, n->in[0].size);
}

static void own(struct onnx_node *n)
{
	n->rule->import(n);
}

static const struct rule rules[] = {
	/* clang-format off */
	{ "Abs",                     by_element,               ALL, 0 },
	{ "Acos",                    by_element,               ALL, 0 },
	{ "Acosh",                   by_element,               ALL, 0 },
	{ "Add",                     by_element,               ALL, 0 },
	{ "And",                     by_element,               ALL, 0 },
	{ "ArgMax",                  sized_arg,                ALL, 0 },
	{ "ArgMin",                  sized_arg,                ALL, 0 },
	{ "ArrayFeatureExtractor",   sized_picked,             ALL, 0 },
	{ "Asin",                    by_element,               ALL, 0 },
	{ "Asinh",                   by_element,               ALL, 0 },
	{ "Atan",                    by_element,               ALL, 0 },
	{ "Atanh",                   by_element,               ALL, 0 },
	{ "AveragePool",             sized_window,             OPERAND(0), 0 },
	{ "BatchNormalization",      sized_batch_norm,         OPERAND(0), 0 },
	{ "Binarizer",               by_element,               ALL, 0 },
	{ "BitShift",                by_element,               ALL, 0 },
	{ "BitwiseAnd",              by_element,               ALL, 0 },
	{ "BitwiseNot",              by_element,               ALL, 0 },
	{ "BitwiseOr",               by_element,               ALL, 0 },
	{ "BitwiseXor",              by_element,               ALL, 0 },
	{ "Cast",                    by_element,               ALL, 0 },
	{ "CastLike",                like_first,               OPERAND(0), 0 },
	{ "Ceil",                    by_element,               ALL, 0 },
	{ "Celu",                    by_element,               ALL, 0 },
	{ "Clip",                    like_first,               OPERAND(0), 0 },
	{ "Compress",                own,                      ALL, 0 },
	{ "Concat",                  sized_concat,             ALL, 0 },
	{ "ConstantOfShape",         sized_constant_of_shape,  NOTHING, OPERAND(0) },
	{ "Conv",                    sized_window,             OPERAND(0), 0 },
	{ "ConvTranspose",           sized_batch,              OPERAND(0), 0 },
	{ "Cos",                     by_element,               ALL, 0 },
	{ "Cosh",                    by_element,               ALL, 0 },
	{ "CumSum",                  sized_cum_sum,            OPERAND(0), 0 },
	{ "DepthToSpace",            sized_batch,              OPERAND(0), 0 },
	{ "DequantizeLinear",        like_first,               OPERAND(0), 0 },
	{ "Div",                     by_element,               ALL, 0 },
	{ "Dropout",                 like_first,               OPERAND(0), 0 },
	{ "DynamicQuantizeLinear",   sized_range_of,           OPERAND(0), 0 },
	{ "Einsum",                  sized_einsum,             ALL, 0 },
	{ "Elu",                     by_element,               ALL, 0 },
	{ "Equal",                   by_element,               ALL, 0 },
	{ "Erf",                     by_element,               ALL, 0 },
	{ "Exp",                     by_element,               ALL, 0 },
	{ "Expand",                  sized_expand,             OPERAND(0), OPERAND(1) },
	{ "EyeLike",                 like_first,               OPERAND(0), 0 },
	{ "Flatten",                 sized_flatten,            ALL, 0 },
	{ "Floor",                   by_element,               ALL, 0 },
	{ "GRU",                     sized_rnn,                OPERAND(0) | OPERAND(4) | OPERAND(5), 0 },
	{ "Gather",                  sized_gather,             ALL, 0 },
	{ "GatherElements",          sized_gather_elements,    ALL, 0 },
	{ "GatherND",                sized_gather_nd,          ALL, 0 },
	{ "Gelu",                    by_element,               ALL, 0 },
	{ "Gemm",                    sized_gemm,               ALL, 0 },
	{ "GlobalAveragePool",       sized_global_pool,        OPERAND(0), 0 },
	{ "GlobalMaxPool",           sized_global_pool,        OPERAND(0), 0 },
	{ "Greater",                 by_element,               ALL, 0 },
	{ "GreaterOrEqual",          by_element,               ALL, 0 },
	{ "GroupNormalization",      sized_batch,              OPERAND(0), 0 },
	{ "HardSigmoid",             by_element,               ALL, 0 },
	{ "HardSwish",               by_element,               ALL, 0 },
	{ "Identity",                by_element,               ALL, 0 },
	{ "Imputer",                 sized_batch,              OPERAND(0), 0 },
	{ "InstanceNormalization",   sized_batch,              OPERAND(0), 0 },
	{ "IsInf",                   by_element,               ALL, 0 },
	{ "IsNaN",                   by_element,               ALL, 0 },
	{ "LRN",                     sized_batch,              OPERAND(0), 0 },
	{ "LSTM",                    sized_rnn,                OPERAND(0) | OPERAND(4) | OPERAND(5) | OPERAND(6), 0 },
	{ "LabelEncoder",            by_element,               ALL, 0 },
	{ "LayerNormalization",      sized_layer_norm,         OPERAND(0), 0 },
	{ "LeakyRelu",               by_element,               ALL, 0 },
	{ "Less",                    by_element,               ALL, 0 },
	{ "LessOrEqual",             by_element,               ALL, 0 },
	{ "LinearClassifier",        sized_batch,              OPERAND(0), 0 },
	{ "LinearRegressor",         sized_batch,              OPERAND(0), 0 },
	{ "Log",                     by_element,               ALL, 0 },
	{ "LogSoftmax",              sized_softmax,            ALL, 0 },
	{ "MatMul",                  sized_mat_mul,            ALL, 0 },
	{ "Max",                     by_element,               ALL, 0 },
	{ "MaxPool",                 sized_window,             OPERAND(0), 0 },
	{ "Mean",                    by_element,               ALL, 0 },
	{ "Min",                     by_element,               ALL, 0 },
	{ "Mish",                    by_element,               ALL, 0 },
	{ "Mod",                     by_element,               ALL, 0 },
	{ "Mul",                     by_element,               ALL, 0 },
	{ "Neg",                     by_element,               ALL, 0 },
	{ "NonMaxSuppression",       own,                      OPERAND(0) | OPERAND(1), 0 },
	{ "NonZero",                 own,                      ALL, 0 },
	{ "Normalizer",              sized_batch,              OPERAND(0), 0 },
	{ "Not",                     by_element,               ALL, 0 },
	{ "OneHot",                  sized_one_hot,            OPERAND(0), 0 },
	{ "Or",                      by_element,               ALL, 0 },
	{ "PRelu",                   by_element,               ALL, 0 },
	{ "Pad",                     sized_pad,                OPERAND(0), 0 },
	{ "Pow",                     by_element,               ALL, 0 },
	{ "QuantizeLinear",          like_first,               OPERAND(0), 0 },
	{ "RMSNormalization",        sized_layer_norm,         OPERAND(0), 0 },
	{ "RNN",                     sized_rnn,                OPERAND(0) | OPERAND(4) | OPERAND(5), 0 },
	{ "Range",                   sized_range,              NOTHING, OPERAND(0) | OPERAND(1) | OPERAND(2) },
	{ "Reciprocal",              by_element,               ALL, 0 },
	{ "ReduceL1",                sized_reduce,             OPERAND(0), 0 },
	{ "ReduceL2",                sized_reduce,             OPERAND(0), 0 },
	{ "ReduceLogSum",            sized_reduce,             OPERAND(0), 0 },
	{ "ReduceLogSumExp",         sized_reduce,             OPERAND(0), 0 },
	{ "ReduceMax",               sized_reduce,             OPERAND(0), 0 },
	{ "ReduceMean",              sized_reduce,             OPERAND(0), 0 },
	{ "ReduceMin",               sized_reduce,             OPERAND(0), 0 },
	{ "ReduceProd",              sized_reduce,             OPERAND(0), 0 },
	{ "ReduceSum",               sized_reduce,             OPERAND(0), 0 },
	{ "ReduceSumSquare",         sized_reduce,             OPERAND(0), 0 },
	{ "Relu",                    by_element,               ALL, 0 },
	{ "Reshape",                 sized_reshape,            OPERAND(0), OPERAND(1) },
	{ "Resize",                  sized_batch,              OPERAND(0), 0 },
	{ "RoiAlign",                sized_roi_align,          OPERAND(1) | OPERAND(2), 0 },
	{ "Round",                   by_element,               ALL, 0 },
	{ "SVMClassifier",           sized_batch,              OPERAND(0), 0 },
	{ "SVMRegressor",            sized_batch,              OPERAND(0), 0 },
	{ "Scaler",                  sized_batch,              OPERAND(0), 0 },
	{ "ScatterElements",         sized_scatter,            ALL, 0 },
	{ "ScatterND",               sized_scatter,            ALL, 0 },
	{ "Selu",                    by_element,               ALL, 0 },
	{ "Shape",                   sized_shape,              ALL, 0 },
	{ "Shrink",                  by_element,               ALL, 0 },
	{ "Sigmoid",                 by_element,               ALL, 0 },
	{ "Sign",                    by_element,               ALL, 0 },
	{ "SimplifiedLayerNormalization", sized_layer_norm,    OPERAND(0), 0 },
	{ "Sin",                     by_element,               ALL, 0 },
	{ "Sinh",                    by_element,               ALL, 0 },
	{ "Size",                    sized_size,               ALL, 0 },
	{ "Slice",                   sized_slice,              OPERAND(0), OPERAND(1) | OPERAND(2) },
	{ "Softmax",                 sized_softmax,            ALL, 0 },
	{ "Softplus",                by_element,               ALL, 0 },
	{ "Softsign",                by_element,               ALL, 0 },
	{ "SpaceToDepth",            sized_batch,              OPERAND(0), 0 },
	{ "Split",                   sized_split,              OPERAND(0), 0 },
	{ "Sqrt",                    by_element,               ALL, 0 },
	{ "Squeeze",                 sized_squeeze,            OPERAND(0), 0 },
	{ "Sub",                     by_element,               ALL, 0 },
	{ "Sum",                     by_element,               ALL, 0 },
	{ "Swish",                   by_element,               ALL, 0 },
	{ "Tan",                     by_element,               ALL, 0 },
	{ "Tanh",                    by_element,               ALL, 0 },
	{ "ThresholdedRelu",         by_element,               ALL, 0 },
	{ "Tile",                    sized_tile,               OPERAND(0), OPERAND(1) },
	{ "TopK",                    sized_top_k,              OPERAND(0), OPERAND(1) },
	{ "Transpose",               sized_transpose,          ALL, 0 },
	{ "TreeEnsembleClassifier",  sized_batch,              OPERAND(0), 0 },
	{ "TreeEnsembleRegressor",   sized_batch,              OPERAND(0), 0 },
	{ "Trilu",                   like_first,               OPERAND(0), 0 },
	{ "Unique",                  own,                      ALL, 0 },
	{ "Unsqueeze",               sized_unsqueeze,          OPERAND(0), 0 },
	{ "Where",                   by_element,               ALL, 0 },
	{ "Xor",                     by_element,               ALL, 0 },
	/* clang-format on */
};

static const struct rule *find(const struct onnx_node *n)
{
	/* the two have no name in common */
	const bool known = onnx_is_standard(n->p->domain) || !strcmp(n->p->domain, "ai.onnx.ml");

	for (size_t i = 0; known && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].op_type, n->p->op_type))
			return &rules[i];
	return NULL;
}

/* Does operand i, a list of numbers, depend on data that bound it? */
static bool is_bounded(struct onnx_node *n, unsigned int i)
{
	onnx_op list = onnx_in(n, i);
	struct onnx_number v;

	if (!list || onnx_is_const(list) || list->shape.ndim > 1 ||
	    ncc_is_float(list->shape.dtype) || ncc_elems(&list->shape) > NCC_MAX_DIMS)
		return false;
	for (int64_t k = 0; k < ncc_elems(&list->shape); k++)
		if (!onnx_number(n, list, k, &v) || (v.op && v.value == INT32_MAX))
			return false;
	return true;
}

/* Lists that are made of constants and of what does not depend on the data become constants. */
static void settle(struct onnx_node *n, struct onnx_value *v)
{
	struct onnx_number k;
	onnx_op op;

	if (!v->op || v->size[0] || onnx_is_const(v->op) || v->op->shape.dtype != NEURON_DT_INT32 ||
	    v->op->shape.pred || v->op->shape.ndim > 1 || ncc_elems(&v->op->shape) > NCC_MAX_DIMS)
		return;
	for (int64_t i = 0; i < ncc_elems(&v->op->shape); i++)
		if (!onnx_number(n, v->op, i, &k) || k.op)
			return;
	op = ox_data(n, &v->op->shape);
	for (int64_t i = 0; op && i < ncc_elems(&op->shape) && onnx_number(n, v->op, i, &k); i++)
		ncc_set(NEURON_DT_INT32, op->data, i, (double)k.value);
	v->op = op;
}

bool onnx_import_dynamic(struct onnx_node *n)
{
	const struct rule *r = find(n);
	bool sized = false, lists = false;

	for (unsigned int i = 0; i < n->nin; i++) {
		settle(n, &n->in[i]);
		if (r && !n->in[i].op && n->in[i].type && onnx_needs(n, i))
			onnx_fill_empty(n, &n->in[i]);
		if (onnx_sized_but(&n->in[i], NCC_MAX_DIMS)) {
			if (!r || !(r->takes >> (i < 31 ? i : 31) & 1))
				sized_refuse(n, i);
			sized = true;
		}
		lists = lists || (r && i < 32 && r->lists >> i & 1 && is_bounded(n, i));
	}
	if (n->rc)
		return true;
	if (!sized && !lists)
		return false;
	r->import(n);
	return true;
}

onnx_op onnx_output(struct onnx_node *n, struct onnx_value *v)
{
	if (!v->op)
		onnx_fill_empty(n, v);
	return n->rc ? v->op : onnx_filled(n, v, ONNX_ALL_DIMS, 0);
}
