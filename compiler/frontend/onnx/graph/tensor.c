// SPDX-License-Identifier: MIT
/*
 * Constants of an ONNX model: a TensorProto's elements are raw bytes or a list of one of five
 * types. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

static const struct {
	const char *name;
	uint8_t dtype; /* 0: none */
	uint8_t size; /* of an element in raw bytes */
	bool pred;
} types[] = {
	[ONNX_FLOAT] = { "float", NEURON_DT_FP32, 4, false },
	[ONNX_UINT8] = { "uint8", NEURON_DT_UINT8, 1, false },
	[ONNX_INT8] = { "int8", NEURON_DT_INT8, 1, false },
	[ONNX_UINT16] = { "uint16", NEURON_DT_UINT16, 2, false },
	[ONNX_INT16] = { "int16", NEURON_DT_INT16, 2, false },
	[ONNX_INT32] = { "int32", NEURON_DT_INT32, 4, false },
	[ONNX_INT64] = { "int64", NEURON_DT_INT32, 8, false },
	[ONNX_STRING] = { "string", 0, 0, false },
	[ONNX_BOOL] = { "bool", NEURON_DT_INT8, 1, true },
	[ONNX_FLOAT16] = { "float16", NEURON_DT_FP16, 2, false },
	[ONNX_DOUBLE] = { "double", NEURON_DT_FP32, 8, false },
	[ONNX_UINT32] = { "uint32", NEURON_DT_UINT32, 4, false },
	[ONNX_UINT64] = { "uint64", NEURON_DT_UINT32, 8, false },
	[14] = { "complex64", 0, 8, false },
	[15] = { "complex128", 0, 16, false },
	[ONNX_BFLOAT16] = { "bfloat16", NEURON_DT_BF16, 2, false },
	[ONNX_FLOAT8E4M3FN] = { "float8e4m3fn", NEURON_DT_BF16, 1, false },
	[ONNX_FLOAT8E4M3FNUZ] = { "float8e4m3fnuz", NEURON_DT_BF16, 1, false },
	[ONNX_FLOAT8E5M2] = { "float8e5m2", NEURON_DT_BF16, 1, false },
	[ONNX_FLOAT8E5M2FNUZ] = { "float8e5m2fnuz", NEURON_DT_BF16, 1, false },
	/* Those of a part of a byte, and a scale: their names only; but constants may be of two */
	[ONNX_UINT4] = { "uint4", 0, 0, false },
	[ONNX_INT4] = { "int4", 0, 0, false },
	[23] = { "float4e2m1", 0, 0, false },
	[24] = { "float8e8m0", 0, 1, false },
	[25] = { "uint2", 0, 0, false },
	[26] = { "int2", 0, 0, false },
	[27] = { "float6e2m3", 0, 0, false },
	[28] = { "float6e3m2", 0, 0, false },
};

static bool known(int32_t type)
{
	return type > 0 && (size_t)type < sizeof(types) / sizeof(types[0]) && types[type].name;
}

const char *onnx_type_name(int32_t type)
{
	if (type == ONNX_SEQUENCE)
		return "sequence";
	return known(type) ? types[type].name : "unknown";
}

const struct ncc_float8 *onnx_float8(int32_t type)
{
	switch (type) {
	case ONNX_FLOAT8E4M3FN:
		return ncc_float8(NCC_DT_F8E4M3FN);
	case ONNX_FLOAT8E4M3FNUZ:
		return ncc_float8(NCC_DT_F8E4M3FNUZ);
	case ONNX_FLOAT8E5M2:
		return ncc_float8(NEURON_DT_FP8_E5);
	case ONNX_FLOAT8E5M2FNUZ:
		return ncc_float8(NCC_DT_F8E5M2FNUZ);
	default:
		return NULL;
	}
}

/* Two numbers in a byte, the first one in its low bits; in the IR each has a byte of its own */
static bool is_nibble(int32_t type)
{
	return type == ONNX_UINT4 || type == ONNX_INT4;
}

int onnx_dtype(int32_t type, struct ncc_shape *s)
{
	if (!known(type) || !types[type].dtype)
		return -ENOTSUP;
	s->dtype = types[type].dtype;
	s->pred = types[type].pred;
	return 0;
}

static const Ncc__Onnx__TensorType *told(Ncc__Onnx__ValueInfo *const *info, size_t n,
					 const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(info[i]->name, name) && info[i]->type)
			return info[i]->type->tensor_type;
	return NULL;
}

bool onnx_told_shape(const struct onnx_import *imp, const char *name, struct ncc_shape *s,
		     int32_t *type)
{
	const Ncc__Onnx__Graph *g = imp->proto->graph;
	const Ncc__Onnx__TensorType *t = told(g->value_info, g->n_value_info, name);

	if (!t)
		t = told(g->output, g->n_output, name);
	if (!t || !t->shape || t->shape->n_dim > NCC_MAX_DIMS || onnx_dtype(t->elem_type, s))
		return false;
	*type = t->elem_type;
	for (size_t i = 0; i < t->shape->n_dim; i++) {
		const Ncc__Onnx__Dimension *d = t->shape->dim[i];

		if (d->value_case != NCC__ONNX__DIMENSION__VALUE_DIM_VALUE || d->dim_value < 1)
			return false;
		s->dim[s->ndim++] = d->dim_value;
	}
	return true;
}

int32_t onnx_type_of(const struct ncc_shape *s)
{
	for (int32_t t = 1; (size_t)t < sizeof(types) / sizeof(types[0]); t++)
		if (known(t) && !onnx_is_wide(t) && types[t].dtype == s->dtype &&
		    types[t].pred == s->pred)
			return t;
	return 0;
}

bool onnx_is_wide(int32_t type)
{
	return type == ONNX_INT64 || type == ONNX_DOUBLE || type == ONNX_UINT64;
}

/* One tensor being read */
struct reader {
	struct onnx_import *imp;
	const Ncc__Onnx__Tensor *t;
	const char *name;
	struct ncc_op *op;
	int64_t n;
	const uint8_t *raw; /* of its elements; NULL: it has a list of them */
	size_t raw_size;
};

static int fail(const struct reader *r, int code, const char *what)
{
	return ncc_fail(r->imp->err, code, "constant '%.100s' (%s): %s", r->name,
			onnx_type_name(r->t->data_type), what);
}

static int wrong_size(const struct reader *r, size_t have, const char *what)
{
	return ncc_fail(r->imp->err, -EINVAL, "constant '%.100s' (%s): %zu %s, its shape has %lld",
			r->name, onnx_type_name(r->t->data_type), have, what, (long long)r->n);
}

/*
 * Stores a 64-bit integer that 32 bits hold. One beyond 2^62 stands for "no limit" in what
 * exporters write (the end of a slice) and becomes the largest number.
 */
static int put_int64(const struct reader *r, int64_t i, int64_t v)
{
	const int64_t none = 1ll << 62;
	const bool is_unsigned = r->t->data_type == ONNX_UINT64;
	const int64_t least = is_unsigned ? 0 : INT32_MIN,
		      most = is_unsigned ? UINT32_MAX : INT32_MAX;

	if (!is_unsigned && (v >= none || v <= -none))
		v = v > 0 ? most : least;
	if (v > most || v < least)
		return fail(r, -ENOTSUP, "an element does not fit 32 bits");
	ncc_set(r->op->shape.dtype, r->op->data, i, (double)v);
	return 0;
}

/* Whether raw bytes are the operation's data as they are */
static bool as_they_are(int32_t type)
{
	return !onnx_is_wide(type) && type != ONNX_BOOL && !onnx_float8(type) && !is_nibble(type);
}

static void put_nibble(const struct reader *r, int64_t i, uint8_t pair)
{
	uint8_t v = i % 2 ? pair >> 4 : pair & 15;

	if (r->t->data_type == ONNX_INT4 && v > 7)
		v |= 0xf0;
	((uint8_t *)r->op->data)[i] = v;
}

static int from_raw(const struct reader *r)
{
	const uint8_t *p = r->raw;
	int64_t v;
	double d;
	int rc = 0;

	if (as_they_are(r->t->data_type)) {
		memcpy(r->op->data, p, r->raw_size);
		return 0;
	}

	for (int64_t i = 0; i < r->n && !rc; i++) {
		if (r->t->data_type == ONNX_BOOL) {
			((uint8_t *)r->op->data)[i] = p[i] != 0;
		} else if (is_nibble(r->t->data_type)) {
			put_nibble(r, i, p[i / 2]);
		} else if (onnx_float8(r->t->data_type)) {
			ncc_set(NEURON_DT_BF16, r->op->data, i,
				ncc_get(onnx_float8(r->t->data_type)->dtype, p, i));
		} else if (r->t->data_type == ONNX_INT64 || r->t->data_type == ONNX_UINT64) {
			memcpy(&v, p + i * 8, 8);
			rc = put_int64(r, i, v);
		} else {
			memcpy(&d, p + i * 8, 8);
			ncc_set(NEURON_DT_FP32, r->op->data, i, d);
		}
	}
	return rc;
}

/* The number of elements of the tensor's list of its type */
static size_t listed(const Ncc__Onnx__Tensor *t)
{
	switch (t->data_type) {
	case ONNX_FLOAT:
		return t->n_float_data;
	case ONNX_INT64:
		return t->n_int64_data;
	case ONNX_DOUBLE:
		return t->n_double_data;
	case ONNX_UINT32:
	case ONNX_UINT64:
		return t->n_uint64_data;
	default:
		return t->n_int32_data;
	}
}

/* Small floats are bits in int32_data; the other small types are numbers. */
static int from_list(const struct reader *r)
{
	const bool bits = r->t->data_type == ONNX_FLOAT16 || r->t->data_type == ONNX_BFLOAT16;
	int rc = 0;

	for (int64_t i = 0; i < r->n && !rc; i++) {
		if (r->t->data_type == ONNX_FLOAT)
			memcpy((float *)r->op->data + i, &r->t->float_data[i], 4);
		else if (r->t->data_type == ONNX_INT64)
			rc = put_int64(r, i, r->t->int64_data[i]);
		else if (r->t->data_type == ONNX_UINT64)
			rc = put_int64(r, i, (int64_t)r->t->uint64_data[i]);
		else if (r->t->data_type == ONNX_UINT32)
			ncc_set(NEURON_DT_UINT32, r->op->data, i, (double)r->t->uint64_data[i]);
		else if (r->t->data_type == ONNX_DOUBLE)
			ncc_set(NEURON_DT_FP32, r->op->data, i, r->t->double_data[i]);
		else if (bits)
			((uint16_t *)r->op->data)[i] = (uint16_t)r->t->int32_data[i];
		else if (onnx_float8(r->t->data_type))
			ncc_set(NEURON_DT_BF16, r->op->data, i,
				ncc_get(onnx_float8(r->t->data_type)->dtype,
					&(uint8_t){ (uint8_t)r->t->int32_data[i] }, 0));
		else if (r->t->data_type == ONNX_BOOL)
			((uint8_t *)r->op->data)[i] = r->t->int32_data[i] != 0;
		else if (is_nibble(r->t->data_type))
			put_nibble(r, i, (uint8_t)r->t->int32_data[i / 2]);
		else
			ncc_set(r->op->shape.dtype, r->op->data, i, r->t->int32_data[i]);
	}
	return rc;
}

static int take_shape(const struct reader *r, struct ncc_shape *s)
{
	if (is_nibble(r->t->data_type))
		s->dtype = r->t->data_type == ONNX_INT4 ? NEURON_DT_INT8 : NEURON_DT_UINT8;
	else if (onnx_dtype(r->t->data_type, s))
		return fail(r, -ENOTSUP, "a type that is not supported");
	if (r->t->n_dims > NCC_MAX_DIMS)
		return fail(r, -ENOTSUP, "more than 8 dimensions");
	s->ndim = (unsigned int)r->t->n_dims;
	for (unsigned int i = 0; i < s->ndim; i++)
		s->dim[i] = r->t->dims[i];
	return 0;
}

/* The place of the elements; a tensor that says much and holds nothing is refused here */
static int find_elements(struct reader *r)
{
	const bool pairs = is_nibble(r->t->data_type);
	const size_t size = pairs ? 1 : types[r->t->data_type].size,
		     units = pairs ? ((size_t)r->n + 1) / 2 : (size_t)r->n;

	r->raw_size = units * size;
	if (r->t->data_location)
		return onnx_external(r->imp, r->t, r->name, r->raw_size, &r->raw);
	if (!r->t->raw_data.len) {
		if (listed(r->t) != units)
			return wrong_size(r, listed(r->t), pairs ? "pairs" : "elements");
		return 0;
	}
	if (r->t->raw_data.len != r->raw_size)
		return wrong_size(r, r->t->raw_data.len / size, pairs ? "pairs" : "elements");
	r->raw = r->t->raw_data.data;
	return 0;
}

int onnx_tensor(struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		struct onnx_value *v)
{
	struct reader r = { .imp = imp, .t = t, .name = name };
	int64_t bytes;
	int rc;

	r.op = ncc_op_new(imp->m, NCC_CONST, name, 0);
	if (!r.op)
		return ncc_no_memory(imp->err);
	r.op->data = r.op; /* for the verifier, until there are data */
	rc = take_shape(&r, &r.op->shape);

	v->type = t->data_type;
	for (unsigned int i = 0; !rc && i < r.op->shape.ndim; i++)
		if (!r.op->shape.dim[i]) {
			v->empty = &r.op->shape;
			return 0;
		}

	rc = rc ?: ncc_verify_op(r.op, imp->err);
	if (rc)
		return rc;
	r.n = ncc_elems(&r.op->shape);
	bytes = r.n * ncc_dtype_size(r.op->shape.dtype);
	rc = find_elements(&r); /* in the file, and so no more than it has */
	if (rc)
		return rc;
	v->op = r.op;
	if (t->data_location && as_they_are(t->data_type)) {
		/* The file stays mapped, and constants are read from wherever they lie. */
		r.op->data = (void *)r.raw;
		return 0;
	}

	/* A function or a loop's body may have it, which is imported often. */
	if (imp->depth && bytes > NCC_MAX_CONST - imp->const_bytes)
		return fail(&r, -EFBIG,
			    "too large: the module's constants, each as often as it is "
			    "read, exceed the limit");
	imp->const_bytes += imp->depth ? bytes : 0;
	r.op->data = ncc_alloc_data(imp->m, (size_t)bytes);
	if (!r.op->data)
		return fail(&r, -ENOMEM, "out of memory");
	return r.raw ? from_raw(&r) : from_list(&r);
}
