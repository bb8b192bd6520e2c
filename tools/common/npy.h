/* SPDX-License-Identifier: MIT */
/*
 * NumPy's .npy files (format 1.0 to 3.0) for the tools: tensors in and out. The element types are
 * those of nrt.h, float64 and bool; bfloat16, which NumPy does not have, is stored as '|V2' (view
 * it as ml_dtypes.bfloat16), 8-bit floats as '|V1'. Files of either byte order and of C or Fortran
 * order are read; what is written is little-endian and in C order. Called by neuron-run, neuron-cli
 * and the tests.
 */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/isa/isa.h"

#define NPY_MAX_DIMS 16
/* files' types that no model has */
#define NPY_FP64 0xff
#define NPY_BOOL 0xfe

struct npy {
	uint8_t dtype; /* enum neuron_dtype, or NPY_FP64 or NPY_BOOL */
	unsigned int ndim;
	uint64_t shape[NPY_MAX_DIMS];
	void *data; /* malloc'ed, little-endian, C order */
	size_t size; /* bytes */
};

/* Bytes of an element; 0 for a type that .npy files do not carry */
size_t npy_itemsize(uint8_t dtype);
/* The bits of 1, little-endian; 0 for such a type */
uint64_t npy_one(uint8_t dtype);
const char *npy_dtype_name(uint8_t dtype);

/*
 * Reads a whole file. Returns 0; -EINVAL for a file that is not an .npy file of a supported type
 * and order, -E2BIG for more than NPY_MAX_DIMS dimensions, or the error of open or read. *why is a
 * static text.
 */
int npy_read(const char *path, struct npy *npy, const char **why);
/*
 * Narrows what was read to the model's type, float64 to float32 (the nearest number), int64 to
 * int32, uint64 to uint32, as compilers narrow a model's types. Returns 1; 0 if the types are not
 * such a pair and nothing was done; -ERANGE if an integer does not fit, *bad is its index in C
 * order, and npy can only be freed. Of 8-bit floats that a file does not tell apart, and of the
 * bytes that booleans may be, it takes the model's.
 */
int npy_narrow(struct npy *npy, uint8_t dtype, uint64_t *bad);
void npy_free(struct npy *npy);

/*
 * Writes dtype, shape and data (npy->size bytes) to path. Returns 0 or -errno; after an error no
 * file is left.
 */
int npy_write(const char *path, const struct npy *npy);

#endif
