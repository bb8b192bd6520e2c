/* SPDX-License-Identifier: MIT */
/* Copies between tensors and the variables they are bound to */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_exec.h"

static nrt_tensor_t *bound(const struct rt_var *var, const struct rt_io *io)
{
	if (var->neff->type == NEFF_VAR_INPUT)
		return rt_set_find(io->inputs, var->neff->name);
	if (var->neff->type == NEFF_VAR_OUTPUT)
		return rt_set_find(io->outputs, var->neff->name);
	return NULL;
}

static NRT_STATUS check(const struct rt_subgraph *sg, const struct rt_io *io)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct rt_var *var = &sg->vars[i];
		const char *what = var->neff->type == NEFF_VAR_INPUT ? "ifmap" : "ofmap";
		const nrt_tensor_t *tensor;

		if (!rt_var_is_io(var))
			continue;
		tensor = bound(var, io);
		if (!tensor || !tensor->storage)
			return rt_fail(NRT_EXEC_BAD_INPUT, "NMGR", "%s '%s' is missing", what,
				       var->neff->name);

		if (tensor->size != var->neff->size)
			return rt_fail(NRT_EXEC_BAD_INPUT, "NMGR",
				       "Invalid data length for [%s], received %zu, expected %llu",
				       var->neff->name, tensor->size,
				       (unsigned long long)var->neff->size);
		if (tensor->storage->placement == NRT_TENSOR_PLACEMENT_DEVICE &&
		    !rt_chunk_alive(&tensor->storage->chunk))
			return rt_fail(NRT_INVALID_HANDLE, "NMGR",
				       "%s '%s': its tensor is of an earlier initialization", what,
				       var->neff->name);
	}
	return NRT_SUCCESS;
}

NRT_STATUS rt_io_check(const struct nrt_model *model, const struct rt_io *io)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < model->nsubgraphs && !status; i++)
		status = check(&model->subgraph[i], io);
	return status;
}

/* Copies between a tensor and its variable; if both are on one device, the bytes stay on it. */
static int transfer(struct rt_subgraph *sg, const struct rt_var *var, nrt_tensor_t *tensor, bool in)
{
	struct rt_storage *s = tensor->storage;
	ndl_device_t *dev = sg->core->dev;
	uint64_t handle = var->chunk->handle;
	void *bounce;
	int err;

	if (s->placement != NRT_TENSOR_PLACEMENT_DEVICE) {
		void *buf = (char *)s->va + tensor->offset;

		return in ? ndl_memory_buf_copyin(dev, handle, buf, var->offset, tensor->size)
			  : ndl_memory_buf_copyout(dev, handle, buf, var->offset, tensor->size);
	}

	if (s->chunk.dev == dev)
		return in ? ndl_memory_copy(dev, s->chunk.handle, handle, tensor->offset,
					    var->offset, tensor->size)
			  : ndl_memory_copy(dev, handle, s->chunk.handle, var->offset,
					    tensor->offset, tensor->size);

	bounce = malloc(tensor->size);
	if (!bounce)
		return -ENOMEM;

	if (in) {
		err = ndl_memory_buf_copyout(s->chunk.dev, s->chunk.handle, bounce, tensor->offset,
					     tensor->size);
		if (!err)
			err = ndl_memory_buf_copyin(dev, handle, bounce, var->offset, tensor->size);
	} else {
		err = ndl_memory_buf_copyout(dev, handle, bounce, var->offset, tensor->size);
		if (!err)
			err = ndl_memory_buf_copyin(s->chunk.dev, s->chunk.handle, bounce,
						    tensor->offset, tensor->size);
	}

	free(bounce);
	return err;
}

NRT_STATUS rt_io_copy(struct rt_subgraph *sg, const struct rt_io *io, bool in)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct rt_var *var = &sg->vars[i];
		nrt_tensor_t *tensor;
		NRT_STATUS status;
		int err;

		if (!rt_var_is_io(var) || (var->neff->type == NEFF_VAR_INPUT) != in)
			continue;
		tensor = bound(var, io);
		err = transfer(sg, var, tensor, in);
		if (err) {
			/* the chip may have reported the reason */
			status = rt_errors_collect(sg, NRT_SUCCESS);
			return rt_fail(status ? status : rt_status_from_errno(err), "TDRV",
				       "'%s': %s", var->neff->name, rt_errno_text(err));
		}
		if (!in)
			__atomic_add_fetch(&tensor->completions, 1, __ATOMIC_RELEASE);
	}
	return NRT_SUCCESS;
}
