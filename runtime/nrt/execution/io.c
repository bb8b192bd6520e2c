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
	ndlx_device_t *dev = sg->core->dev;
	uint64_t handle = var->chunk->handle;
	void *bounce;
	int err;

	if (s->placement != NRT_TENSOR_PLACEMENT_DEVICE) {
		void *buf = (char *)s->va + tensor->offset;

		return in ? ndlx_memory_buf_copyin(dev, handle, buf, var->offset, tensor->size)
			  : ndlx_memory_buf_copyout(dev, handle, buf, var->offset, tensor->size);
	}

	if (s->chunk.dev == dev)
		return in ? ndlx_memory_copy(dev, s->chunk.handle, handle, tensor->offset,
					     var->offset, tensor->size)
			  : ndlx_memory_copy(dev, handle, s->chunk.handle, var->offset,
					     tensor->offset, tensor->size);

	bounce = malloc(tensor->size);
	if (!bounce)
		return -ENOMEM;

	if (in) {
		err = ndlx_memory_buf_copyout(s->chunk.dev, s->chunk.handle, bounce, tensor->offset,
					      tensor->size);
		if (!err)
			err = ndlx_memory_buf_copyin(dev, handle, bounce, var->offset,
						     tensor->size);
	} else {
		err = ndlx_memory_buf_copyout(dev, handle, bounce, var->offset, tensor->size);
		if (!err)
			err = ndlx_memory_buf_copyin(s->chunk.dev, s->chunk.handle, bounce,
						     tensor->offset, tensor->size);
	}

	free(bounce);
	return err;
}

/* A large variable and where its tensor lies */
struct place {
	struct rt_var *var;
	const nrt_tensor_t *tensor;
};

static int place_order(const void *a, const void *b)
{
	const struct place *p = a, *q = b;
	const uintptr_t s = (uintptr_t)p->tensor->storage, t = (uintptr_t)q->tensor->storage;

	return s < t ? -1 : s > t;
}

static bool can_alias(const struct place *p, const struct place *q)
{
	const struct rt_storage *s = p->tensor->storage;

	return s->placement == NRT_TENSOR_PLACEMENT_DEVICE && p->var->chunk->dev == s->chunk.dev &&
	       q->var->chunk->dev == s->chunk.dev && p->var->neff->type != q->var->neff->type &&
	       p->tensor->offset == q->tensor->offset && p->tensor->size == q->tensor->size &&
	       p->tensor->size >= RT_LARGE;
}

/* Forgets the last execution's; returns how many variables are large. */
static unsigned int part_all(struct rt_subgraph *sg, unsigned int *n)
{
	unsigned int large = 0;

	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];

		var->alias = NULL;
		var->given = false;
		if (!rt_var_is_io(var))
			continue;
		*n += 1;
		large += var->neff->size >= RT_LARGE;
	}
	return large;
}

static struct place *places(struct rt_subgraph *sg, const struct rt_io *io, struct place *next)
{
	for (unsigned int i = 0; i < sg->nvars; i++)
		if (rt_var_is_io(&sg->vars[i]))
			*next++ = (struct place){ &sg->vars[i], bound(&sg->vars[i], io) };
	return next;
}

void rt_io_alias(struct rt_subgraph *sg, unsigned int n, const struct rt_io *io)
{
	struct place *place, *next;
	unsigned int large = 0, all = 0, end;

	for (unsigned int i = 0; i < n; i++)
		large += part_all(&sg[i], &all);
	/* without memory for it they are copied */
	next = place = large > 1 ? malloc(all * sizeof(*place)) : NULL;
	if (!place)
		return;
	for (unsigned int i = 0; i < n; i++)
		next = places(&sg[i], io, next);
	qsort(place, all, sizeof(*place), place_order);
	for (unsigned int i = 0; i < all; i = end) {
		for (end = i + 1; end < all && !place_order(&place[i], &place[end]); end++)
			;
		if (end - i != 2 || !can_alias(&place[i], &place[i + 1]))
			continue;
		place[i].var->alias = place[i + 1].var;
		place[i + 1].var->alias = place[i].var;
	}
	free(place);
}

/* The bytes of a tensor that an output overwrites, moved to its input or back */
static int pass(const struct rt_var *var, const nrt_tensor_t *tensor, bool in)
{
	const struct rt_chunk *s = &tensor->storage->chunk, *v = var->chunk;

	return in ? ndlx_memory_move(v->dev, s->handle, v->handle, tensor->offset, var->offset,
				     tensor->size)
		  : ndlx_memory_move(v->dev, v->handle, s->handle, var->offset, tensor->offset,
				     tensor->size);
}

static int take(struct rt_var *in, const nrt_tensor_t *tensor)
{
	int ret = pass(in, tensor, true);

	in->given = ret >= 0;
	return ret < 0 ? ret : 0;
}

/* The input's old tensor is of no use any more: its pages are the output's next time. */
static int deliver(const struct rt_var *out, const nrt_tensor_t *tensor)
{
	struct rt_var *in = out->alias;
	int ret = pass(out, tensor, false);

	in->given &= ret < 0;
	if (ret <= 0)
		return ret;
	ret = ndlx_memory_move(in->chunk->dev, in->chunk->handle, out->chunk->handle, in->offset,
			       out->offset, tensor->size);
	return ret < 0 ? ret : 0;
}

void rt_io_undo(struct rt_subgraph *sg, const struct rt_io *io)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];

		if (var->given)
			pass(var, bound(var, io), false);
		var->given = false;
	}
}

NRT_STATUS rt_io_copy(struct rt_subgraph *sg, const struct rt_io *io, bool in)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];
		nrt_tensor_t *tensor;
		NRT_STATUS status;
		int err;

		if (!rt_var_is_io(var) || (var->neff->type == NEFF_VAR_INPUT) != in)
			continue;
		tensor = bound(var, io);
		err = !var->alias ? transfer(sg, var, tensor, in)
		      : in	  ? take(var, tensor)
				  : deliver(var, tensor);
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
