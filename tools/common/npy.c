/* SPDX-License-Identifier: MIT */
/*
 * See npy.h. The header is a Python dict literal with three known keys, and nothing else of Python
 * is understood.
 */
#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_SIZE 6
#define NPY_HEADER_MAX 65536 /* NumPy's own headers have a few hundred bytes */

/* descr without its byte order, which is little-endian in what is written, where it has a meaning */
static const struct {
	uint8_t dtype, size;
	const char *descr, *name;
	uint64_t one;
} types[] = {
	{ NEURON_DT_FP32, 4, "f4", "float32", 0x3f800000 },
	{ NEURON_DT_FP16, 2, "f2", "float16", 0x3c00 },
	{ NPY_FP64, 8, "f8", "float64", 0x3ff0000000000000 },
	{ NEURON_DT_BF16, 2, "V2", "bfloat16", 0x3f80 },
	{ NEURON_DT_INT8, 1, "i1", "int8", 1 },
	{ NEURON_DT_UINT8, 1, "u1", "uint8", 1 },
	{ NPY_BOOL, 1, "b1", "bool", 1 },
	{ NEURON_DT_INT16, 2, "i2", "int16", 1 },
	{ NEURON_DT_UINT16, 2, "u2", "uint16", 1 },
	{ NEURON_DT_INT32, 4, "i4", "int32", 1 },
	{ NEURON_DT_UINT32, 4, "u4", "uint32", 1 },
	{ NEURON_DT_INT64, 8, "i8", "int64", 1 },
	{ NEURON_DT_UINT64, 8, "u8", "uint64", 1 },
	/* ml_dtypes has NumPy write f1, which NumPy does not read, or V1 of either */
	{ NEURON_DT_FP8_E4, 1, "V1", "float8_e4m3", 0x38 },
	{ NEURON_DT_FP8_E3, 1, "V1", "float8_e3m4", 0x30 },
	{ NEURON_DT_FP8_E5, 1, "V1", "float8_e5m2", 0x3c },
	{ NEURON_DT_FP8_E5, 1, "f1", "float8_e5m2", 0x3c },
};

/* The difference of a file's bytes from those of struct npy */
struct layout {
	bool fortran, swapped;
};

#define NTYPES (sizeof(types) / sizeof(types[0]))

size_t npy_itemsize(uint8_t dtype)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].dtype == dtype)
			return types[i].size;
	return 0;
}

uint64_t npy_one(uint8_t dtype)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].dtype == dtype)
			return types[i].one;
	return 0;
}

const char *npy_dtype_name(uint8_t dtype)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].dtype == dtype)
			return types[i].name;
	return "unknown";
}

/* The text after "'key':", or NULL */
static const char *find_key(const char *dict, const char *key)
{
	char quoted[32];
	const char *p;

	snprintf(quoted, sizeof(quoted), "'%s'", key);
	p = strstr(dict, quoted);
	if (!p)
		return NULL;
	p += strlen(quoted);
	while (isspace((unsigned char)*p))
		p++;
	if (*p++ != ':')
		return NULL;
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static int parse_shape(const char *p, struct npy *npy)
{
	if (!p || *p++ != '(')
		return -EINVAL;
	for (;;) {
		char *end;

		while (isspace((unsigned char)*p) || *p == ',')
			p++;
		if (*p == ')')
			return 0;
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		if (npy->ndim == NPY_MAX_DIMS)
			return -E2BIG;
		errno = 0;
		npy->shape[npy->ndim++] = strtoull(p, &end, 10);
		if (errno)
			return -EINVAL;
		p = end;
	}
}

static int parse_header(const char *dict, struct npy *npy, struct layout *layout, const char **why)
{
	const char *descr = find_key(dict, "descr"), *order = find_key(dict, "fortran_order");
	size_t i;
	int err;

	*why = "header";
	if (!descr || !order || (*descr != '\'' && *descr != '"'))
		return -EINVAL;

	*why = "element type";
	if (!descr[1] || !strchr("<>|", descr[1]))
		return -EINVAL;
	for (i = 0; i < NTYPES; i++)
		if (!strncmp(descr + 2, types[i].descr, 2) && descr[4] == *descr)
			break;
	if (i == NTYPES)
		return -EINVAL;

	npy->dtype = types[i].dtype;
	layout->swapped = descr[1] == '>' && types[i].size > 1;

	*why = "order of the elements";
	layout->fortran = !strncmp(order, "True", 4);
	if (!layout->fortran && strncmp(order, "False", 5))
		return -EINVAL;

	*why = "shape";
	err = parse_shape(find_key(dict, "shape"), npy);
	if (err)
		return err;

	npy->size = npy_itemsize(npy->dtype);
	for (i = 0; i < npy->ndim; i++)
		if (__builtin_mul_overflow(npy->size, npy->shape[i], &npy->size))
			return -EINVAL;
	return 0;
}

static int read_all(int fd, void *buf, size_t size)
{
	char *p = buf;

	while (size) {
		ssize_t n = read(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENODATA;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Reads magic, version and header length. Returns the length of the dict in bytes, or -errno. */
static int read_preamble(int fd)
{
	unsigned char p[12];
	uint32_t len;
	int err = read_all(fd, p, 10);

	if (err || memcmp(p, NPY_MAGIC, NPY_MAGIC_SIZE) || p[6] < 1 || p[6] > 3)
		return -EINVAL;
	len = p[8] | (uint32_t)p[9] << 8;
	if (p[6] > 1) {
		if (read_all(fd, p + 10, 2))
			return -EINVAL;
		len |= (uint32_t)p[10] << 16 | (uint32_t)p[11] << 24;
	}
	return len && len <= NPY_HEADER_MAX ? (int)len : -EINVAL;
}

static void swap_bytes(struct npy *npy)
{
	size_t item = npy_itemsize(npy->dtype);
	char *p = npy->data;

	for (size_t at = 0; at < npy->size; at += item) {
		for (size_t i = 0; i < item / 2; i++) {
			char c = p[at + i];

			p[at + i] = p[at + item - 1 - i];
			p[at + item - 1 - i] = c;
		}
	}
}

/* Reorders elements from Fortran order (the first index is the fastest) to C order */
static int to_c_order(struct npy *npy)
{
	size_t item = npy_itemsize(npy->dtype), from = 0;
	uint64_t at[NPY_MAX_DIMS] = { 0 };
	char *sorted;

	if (npy->ndim < 2 || !npy->size)
		return 0;
	sorted = malloc(npy->size);
	if (!sorted)
		return -ENOMEM;
	for (size_t to = 0; to < npy->size; to += item) {
		size_t step = item;

		memcpy(sorted + to, (char *)npy->data + from, item);

		/* the next index, and where its element lies */
		from = 0;
		for (unsigned int d = npy->ndim; d-- && ++at[d] == npy->shape[d];)
			at[d] = 0;
		for (unsigned int d = 0; d < npy->ndim; d++) {
			from += at[d] * step;
			step *= npy->shape[d];
		}
	}
	free(npy->data);
	npy->data = sorted;
	return 0;
}

static int read_fd(int fd, struct npy *npy, const char **why)
{
	struct layout layout;
	struct stat st;
	off_t here;
	char *dict;
	int len, err;

	*why = "not an .npy file";
	len = read_preamble(fd);
	if (len < 0)
		return len;
	dict = calloc(1, (size_t)len + 1);
	if (!dict)
		return -ENOMEM;
	err = read_all(fd, dict, (size_t)len);
	if (!err)
		err = parse_header(dict, npy, &layout, why);
	free(dict);
	if (err)
		return err == -ENODATA ? -EINVAL : err;

	*why = "size does not match the shape";
	here = lseek(fd, 0, SEEK_CUR);
	if (fstat(fd, &st) || here < 0 || (uint64_t)(st.st_size - here) != npy->size)
		return -EINVAL;
	npy->data = malloc(npy->size ? npy->size : 1);
	if (!npy->data)
		return -ENOMEM;

	err = read_all(fd, npy->data, npy->size);
	if (err)
		return err;
	if (layout.swapped)
		swap_bytes(npy);
	*why = "out of memory";
	return layout.fortran ? to_c_order(npy) : 0;
}

int npy_read(const char *path, struct npy *npy, const char **why)
{
	int fd, err;

	memset(npy, 0, sizeof(*npy));
	*why = "cannot open";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_fd(fd, npy, why);
	close(fd);
	if (err)
		npy_free(npy);
	return err;
}

/* The 32-bit type that the 64-bit one narrows to */
static uint8_t narrower(uint8_t dtype)
{
	switch (dtype) {
	case NPY_FP64:
		return NEURON_DT_FP32;
	case NEURON_DT_INT64:
		return NEURON_DT_INT32;
	case NEURON_DT_UINT64:
		return NEURON_DT_UINT32;
	default:
		return NEURON_DT_INVALID;
	}
}

/* Narrows one element, to the nearest float32. Returns false if an integer does not fit. */
static bool narrow_one(uint8_t dtype, const void *from, void *to)
{
	if (dtype == NPY_FP64) {
		double wide;
		float narrow;

		memcpy(&wide, from, sizeof(wide));
		narrow = (float)wide;
		memcpy(to, &narrow, sizeof(narrow));
		return true;
	}
	if (dtype == NEURON_DT_INT64) {
		int64_t wide;
		int32_t narrow;

		memcpy(&wide, from, sizeof(wide));
		narrow = (int32_t)wide;
		memcpy(to, &narrow, sizeof(narrow));
		return narrow == wide;
	}
	uint64_t wide;
	uint32_t narrow;

	memcpy(&wide, from, sizeof(wide));
	narrow = (uint32_t)wide;
	memcpy(to, &narrow, sizeof(narrow));
	return narrow == wide;
}

int npy_narrow(struct npy *npy, uint8_t dtype, uint64_t *bad)
{
	char *p = npy->data;
	uint64_t n = npy->size / 8;

	/* the file does not say which; models have the bytes of float8_e4m3fn as uint8 */
	if (npy->dtype == NEURON_DT_FP8_E4 &&
	    (neuron_dtype_is_fp8(dtype) || dtype == NEURON_DT_UINT8))
		npy->dtype = dtype;
	if (npy->dtype == NPY_BOOL && (dtype == NEURON_DT_INT8 || dtype == NEURON_DT_UINT8))
		npy->dtype = dtype; /* models have bytes */
	if (npy->dtype == dtype || narrower(npy->dtype) != dtype)
		return 0;
	for (*bad = 0; *bad < n; (*bad)++)
		if (!narrow_one(npy->dtype, p + *bad * 8, p + *bad * 4))
			return -ERANGE;
	npy->dtype = dtype;
	npy->size = n * 4;
	return 1;
}

void npy_free(struct npy *npy)
{
	free(npy->data);
	npy->data = NULL;
}

int npy_write(const char *path, const struct npy *npy)
{
	const char *descr = NULL, *order;
	char shape[NPY_MAX_DIMS * 22 + 2] = "";
	char dict[sizeof(shape) + 96];
	size_t pos = 0;
	FILE *out;
	int len, pad;
	bool bad;

	for (size_t i = 0; i < NTYPES && !descr; i++)
		if (types[i].dtype == npy->dtype)
			descr = types[i].descr;
	if (!descr || npy->ndim > NPY_MAX_DIMS)
		return -EINVAL;
	order = npy_itemsize(npy->dtype) == 1 || *descr == 'V' ? "|" : "<";
	for (unsigned int i = 0; i < npy->ndim; i++)
		pos += (size_t)snprintf(shape + pos, sizeof(shape) - pos, "%llu%s",
					(unsigned long long)npy->shape[i],
					npy->ndim == 1	    ? ","
					: i + 1 < npy->ndim ? ", "
							    : "");
	len = snprintf(dict, sizeof(dict),
		       "{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, descr,
		       shape);
	/* the data begins at a multiple of 64 bytes, the header ends in a newline */
	pad = (64 - (10 + len + 1) % 64) % 64;

	out = fopen(path, "wbe");
	if (!out)
		return -errno;
	fwrite(NPY_MAGIC "\x01\x00", 1, 8, out);
	fputc((len + pad + 1) & 0xff, out);
	fputc((len + pad + 1) >> 8, out);
	fprintf(out, "%s%*s\n", dict, pad, "");
	fwrite(npy->data, 1, npy->size, out);
	bad = ferror(out);
	bad |= fclose(out) != 0;
	if (!bad)
		return 0;
	unlink(path);
	return -EIO;
}
