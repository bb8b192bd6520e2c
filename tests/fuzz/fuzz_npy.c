// SPDX-License-Identifier: MIT
/*
 * Tensors' .npy files. An input is a file as it is, or with bit 0 of its first byte set, what a
 * header has: a version and pieces of text in its place, so that a length and a magic are right.
 * What is read is written and read again, and narrowed to what a model may take.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "npy.h"

#define FILE_MAX 8192

static char path[32];
static int fd;

static void put(const void *data, size_t size)
{
	fuzz_assert(!ftruncate(fd, 0));
	fuzz_assert(pwrite(fd, data, size, 0) == (ssize_t)size);
}

/* Magic, version and length before what the input has for a header and elements */
static size_t framed(struct fuzz_in *in, uint8_t *file)
{
	uint8_t version = fuzz_u8(in) % 4;
	size_t start = version > 1 ? 12 : 10, have;
	uint16_t len = fuzz_u16(in) % 512;
	const uint8_t *p = fuzz_bytes(in, FILE_MAX - start, &have);

	memcpy(file, "\x93NUMPY", 6);
	file[6] = version;
	file[7] = 0;
	file[8] = (uint8_t)len;
	file[9] = (uint8_t)(len >> 8);
	file[10] = 0;
	file[11] = 0;
	memcpy(file + start, p, have);
	return start + have;
}

static size_t elements(const struct npy *npy)
{
	size_t n = 1;

	for (unsigned int d = 0; d < npy->ndim; d++)
		n *= npy->shape[d];
	return n;
}

/*
 * A file that is written reads as the same array, but for the types of 8-bit floats, which share
 * one name in files
 */
static void again(const struct npy *npy)
{
	const char *why;
	struct npy back;

	fuzz_assert(!ftruncate(fd, 0));
	fuzz_assert(!npy_write(path, npy));
	fuzz_assert(!npy_read(path, &back, &why));
	fuzz_assert(back.ndim == npy->ndim && back.size == npy->size);
	fuzz_assert(npy_itemsize(back.dtype) == npy_itemsize(npy->dtype));
	fuzz_assert(npy_itemsize(back.dtype) == 1 || back.dtype == npy->dtype);
	fuzz_assert(!memcmp(back.shape, npy->shape, npy->ndim * sizeof(npy->shape[0])));
	fuzz_assert(!npy->size || !memcmp(back.data, npy->data, npy->size));
	npy_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t narrow[] = { NEURON_DT_FP32, NEURON_DT_INT32, NEURON_DT_UINT32,
					  NEURON_DT_FP8_E4, NEURON_DT_FP8_E5 };
	struct fuzz_in in = { data, data + size };
	uint8_t file[FILE_MAX], head = fuzz_u8(&in);
	const char *why;
	struct npy npy;
	uint64_t bad;
	int done;

	if (!fd) {
		fd = memfd_create("npy", 0);
		fuzz_assert(fd > 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (head & 1) {
		put(file, framed(&in, file));
	} else {
		const uint8_t *p = fuzz_bytes(&in, FILE_MAX, &size);

		put(p, size);
	}
	if (npy_read(path, &npy, &why)) {
		fuzz_assert(why && *why && !npy.data);
		return 0;
	}
	fuzz_assert(npy.size == elements(&npy) * npy_itemsize(npy.dtype));
	again(&npy);
	done = npy_narrow(&npy, narrow[(head >> 1) % sizeof(narrow)], &bad);
	fuzz_assert(done != -ERANGE || bad < elements(&npy));
	if (done == 1)
		fuzz_assert(npy.size == elements(&npy) * npy_itemsize(npy.dtype));
	npy_free(&npy);
	return 0;
}
