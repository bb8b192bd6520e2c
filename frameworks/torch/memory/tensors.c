// SPDX-License-Identifier: MIT
/* Tensors for PyTorch, by DLPack, and copies of what is in them */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

struct handed {
	struct nt_dl_managed managed; /* first, as PyTorch gives it back */
	int64_t dims[]; /* shape, then strides */
};

static void gone(struct nt_dl_managed *managed)
{
	if (managed->manager)
		nt_block_put(managed->manager);
	free(managed);
}

static struct handed *handed(const struct nt_shape *shape)
{
	size_t n = shape->ndim > 0 ? (size_t)shape->ndim : 0;
	struct handed *h = calloc(1, sizeof(*h) + 2 * n * sizeof(h->dims[0]));

	if (!h)
		return NULL;
	if (n) {
		memcpy(h->dims, shape->shape, n * sizeof(h->dims[0]));
		memcpy(h->dims + n, shape->strides, n * sizeof(h->dims[0]));
	}
	h->managed.tensor = (struct nt_dl_tensor){ .ndim = (int32_t)n,
						   .code = shape->code,
						   .bits = shape->bits,
						   .lanes = 1,
						   .shape = h->dims,
						   .strides = h->dims + n };
	h->managed.deleter = gone;
	return h;
}

NRT_STATUS nt_empty(const struct nt_shape *shape, struct nt_dl_managed **tensor)
{
	struct handed *h = handed(shape);
	struct nt_block *block;
	NRT_STATUS status;

	if (!h)
		return NRT_FAIL_HOST_MEM_ALLOC;
	status = nt_block_get(shape->device, shape->bytes, &block);
	if (status) {
		free(h);
		return status;
	}
	h->managed.manager = block;
	h->managed.tensor.data = block->base;
	h->managed.tensor.device_type = shape->device == NT_HOST ? NT_DL_CPU : NT_DL_EXTENSION;
	h->managed.tensor.device_id = shape->device == NT_HOST ? 0 : shape->device;
	*tensor = &h->managed;
	return NRT_SUCCESS;
}

struct nt_dl_managed *nt_alias(void *data, const struct nt_shape *shape)
{
	struct handed *h = handed(shape);

	if (!h)
		return NULL;
	h->managed.tensor.data = data;
	h->managed.tensor.device_type = NT_DL_CPU;
	return &h->managed;
}

NRT_STATUS nt_block_take(int32_t device, uint64_t bytes, void **base, void **block)
{
	struct nt_block *b;
	NRT_STATUS status = nt_block_get(device, bytes, &b);

	if (!status) {
		*base = b->base;
		*block = b;
	}
	return status;
}

void nt_block_give(void *block)
{
	nt_block_put(block);
}

NRT_STATUS nt_write(const struct nt_span *to, const void *from)
{
	nrt_tensor_t *tensor = nt_block_at(to->base);

	return tensor ? nrt_tensor_write(tensor, from, to->offset, to->bytes) : NRT_INVALID_HANDLE;
}

NRT_STATUS nt_read(const struct nt_span *from, void *to)
{
	nrt_tensor_t *tensor = nt_block_at(from->base);

	return tensor ? nrt_tensor_read(tensor, to, from->offset, from->bytes) : NRT_INVALID_HANDLE;
}

NRT_STATUS nt_copy(const struct nt_span *from, const struct nt_span *to)
{
	nrt_tensor_t *source = nt_block_at(from->base), *target = nt_block_at(to->base);

	if (!source || !target)
		return NRT_INVALID_HANDLE;
	return nrt_tensor_copy(source, from->offset, target, to->offset, from->bytes);
}
