/* SPDX-License-Identifier: MIT */
/* Names that a file uses and the values they stand for, error texts, and the sizes of tensors */
#include "neff_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "neuron/isa/isa.h"

int neff_fail(struct neff_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* names come from the file, and the message has to stay one line */
	for (char *p = err->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return -EINVAL;
}

int neff_nomem(struct neff_error *err)
{
	neff_fail(err, "out of memory");
	return -ENOMEM;
}

static const char *const var_types[] = {
	[NEFF_VAR_INPUT] = "input",	[NEFF_VAR_OUTPUT] = "output",
	[NEFF_VAR_FILE] = "file",	[NEFF_VAR_TMP_BUF] = "tmp-buf",
	[NEFF_VAR_VIRTUAL] = "virtual", [NEFF_VAR_STATE_BUFFER] = "state-buffer",
};

static const char *const queue_types[] = {
	[NEFF_QUEUE_IN] = "in",
	[NEFF_QUEUE_OUT] = "out",
	[NEFF_QUEUE_DATA] = "data",
};

static const char *const op_names[] = {
	[NEFF_COPY] = "copy",
	[NEFF_GATHER] = "gather",
	[NEFF_SCATTER] = "scatter",
	[NEFF_CAST] = "cast",
	[NEFF_ADD] = "add",
	[NEFF_MIN] = "min",
	[NEFF_MAX] = "max",
	[NEFF_COMPRESS] = "compress",
	[NEFF_DECOMPRESS] = "decompress",
	[NEFF_TRANSPOSE] = "transpose",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int find(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	return -1;
}

const char *neff_var_type_name(enum neff_var_type type)
{
	return (size_t)type < COUNT(var_types) ? var_types[type] : NULL;
}

bool neff_var_type_from_name(const char *name, enum neff_var_type *type)
{
	int i = find(var_types, COUNT(var_types), name);

	*type = i < 0 ? NEFF_VAR_INPUT : (enum neff_var_type)i;
	return i >= 0;
}

const char *neff_queue_type_name(enum neff_queue_type type)
{
	return (size_t)type < COUNT(queue_types) ? queue_types[type] : NULL;
}

bool neff_queue_type_from_name(const char *name, enum neff_queue_type *type)
{
	int i = find(queue_types, COUNT(queue_types), name);

	*type = i < 0 ? NEFF_QUEUE_IN : (enum neff_queue_type)i;
	return i >= 0;
}

const char *neff_op_name(enum neff_op op)
{
	return op_names[op];
}

bool neff_op_from_name(const char *name, enum neff_op *op)
{
	int i = find(op_names, COUNT(op_names), name);

	*op = i < 0 ? NEFF_COPY : (enum neff_op)i;
	return i >= 0;
}

/*
 * Names as numpy and TVM have them, and sizes, of every public type, whether or not a core computes
 * with it
 */
static const struct {
	const char *name;
	unsigned int size;
} dtypes[] = {
	[NEURON_DT_UINT64] = { "uint64", 8 },	[NEURON_DT_INT8] = { "int8", 1 },
	[NEURON_DT_UINT8] = { "uint8", 1 },	[NEURON_DT_INT16] = { "int16", 2 },
	[NEURON_DT_UINT16] = { "uint16", 2 },	[NEURON_DT_BF16] = { "bfloat16", 2 },
	[NEURON_DT_FP16] = { "float16", 2 },	[NEURON_DT_INT32] = { "int32", 4 },
	[NEURON_DT_UINT32] = { "uint32", 4 },	[NEURON_DT_FP32] = { "float32", 4 },
	[NEURON_DT_FP32R] = { "float32r", 4 },	[NEURON_DT_INT64] = { "int64", 8 },
	[NEURON_DT_FP8_E3] = { "float8e3", 1 }, [NEURON_DT_FP8_E4] = { "float8e4", 1 },
	[NEURON_DT_FP8_E5] = { "float8e5", 1 },
};

const char *neff_dtype_name(uint8_t dtype)
{
	return dtype < COUNT(dtypes) ? dtypes[dtype].name : NULL;
}

unsigned int neff_dtype_size(uint8_t dtype)
{
	return dtype < COUNT(dtypes) ? dtypes[dtype].size : 0;
}

uint8_t neff_dtype_from_name(const char *name)
{
	for (size_t i = 1; i < COUNT(dtypes); i++)
		if (dtypes[i].name && !strcmp(dtypes[i].name, name))
			return (uint8_t)i;
	return NEURON_DT_INVALID;
}

uint64_t neff_tensor_size(uint8_t dtype, unsigned int ndim, const uint64_t *shape)
{
	uint64_t size = neff_dtype_size(dtype);

	if (ndim > NEFF_MAX_DIMS)
		return 0;
	for (unsigned int i = 0; i < ndim; i++)
		if (__builtin_mul_overflow(size, shape[i], &size))
			return 0;
	return size;
}

bool neff_name_ok(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	if (!n || n > NEFF_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

bool neff_file_name_ok(const char *name)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
				  ".";
	size_t n = name ? strlen(name) : 0;

	return n && n <= 90 && name[0] != '.' && strspn(name, set) == n;
}

int neff_graph_named(const json_t *graphs, const json_t *name)
{
	const char *s = json_string_value(name);
	const json_t *number = s ? json_object_get(graphs, s) : NULL;

	return number ? (int)json_integer_value(number) : -1;
}
