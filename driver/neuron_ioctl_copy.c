// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls that copy between a chunk and the caller's own memory: by a buffer of the module's, by
 * zero-copy, and in batches.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/mm.h>
#include <linux/uaccess.h>

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_dma.h"
#include "neuron_h2tq.h"
#include "neuron_ioctl.h"
#include "neuron_mem.h"
#include "neuron_pins.h"
#include "neuron_user.h"
#include "neuron_trace.h"

/* Bytes of a list of batches, and of one of operations: what the public driver can allocate */
#define BATCH_LIST_MAX (4ul * 1024 * 1024)

static int host_copy(struct neuron_mc *mc, struct neuron_call *call,
		     const struct neuron_ioctl_mem_buf_copy64 *a)
{
	void *va = mc->va + a->offset;
	int ret = 0;
	u64 left, n;

	for (; call->done < a->size && !ret; call->done += ret ? 0 : n) {
		left = a->size - call->done;
		n = min_t(u64, left, NEURON_BOUNCE_SIZE);
		if (a->copy_to_mem_handle)
			ret = neuron_call_read(call, va + call->done, a->buffer + call->done, n,
					       left);
		else
			ret = neuron_call_write(call, a->buffer + call->done, va + call->done, n,
						left);
	}
	return ret;
}

static int bounce_copy(struct neuron_mc *mc, struct neuron_call *call,
		       const struct neuron_ioctl_mem_buf_copy64 *a)
{
	if (a->copy_to_mem_handle)
		return neuron_dma_from_user(&mc->nd->h2t[mc->nc], call, mc->pa + a->offset,
					    a->buffer, a->size);
	return neuron_dma_to_user(&mc->nd->h2t[mc->nc], call, mc->pa + a->offset, a->buffer,
				  a->size);
}

static int buf_copy(struct neuron_device *nd, struct neuron_call *call,
		    const struct neuron_ioctl_mem_buf_copy64 *a)
{
	struct neuron_mc *mc;
	int ret = neuron_level_errno(-EINVAL, -E2BIG);

	mc = neuron_mc_lookup(nd, a->mem_handle,
			      a->copy_to_mem_handle ? NEURON_MAY_WRITE : NEURON_MAY_READ);
	if (mc == ERR_PTR(-EINVAL))
		return neuron_level_errno(-EINVAL, -ENOENT);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	if (!call->again && a->copy_to_mem_handle)
		trace_ioctl_mem_copyin(nd->index, a->mem_handle, a->offset, a->size);
	else if (!call->again)
		trace_ioctl_mem_copyout(nd->index, a->mem_handle, a->offset, a->size);
	if (neuron_mc_range(mc, a->offset, a->size))
		ret = !a->size ? 0 : mc->host ? host_copy(mc, call, a) : bounce_copy(mc, call, a);
	neuron_mc_put(mc);
	return ret;
}

static int do_buf_copy64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return buf_copy(nd, call, arg);
}

static int do_buf_copy(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_buf_copy *a = arg;
	struct neuron_ioctl_mem_buf_copy64 wide = { a->mem_handle, a->buffer, a->size, a->offset,
						    a->copy_to_mem_handle };

	return buf_copy(nd, call, &wide);
}

/* Copies between one chunk and the caller's own pages */
struct zerocopy {
	u64 base; /* the operations' offsets count from it */
	const struct neuron_tensor_batch_op *ops;
	u32 count;
	u32 threshold;
	int qid;
	bool to_device;
};

/*
 * Writes that the public driver stores through a BAR, and that need no queue there. Here they go
 * by the bounce buffer, which costs less than pinning their pages.
 */
static bool zerocopy_small(const struct neuron_mc *mc, const struct zerocopy *z)
{
	u32 threshold = min_t(u32, z->threshold, 2 * PAGE_SIZE), i;

	if (!z->to_device || mc->host)
		return false;
	for (i = 0; i < z->count; i++)
		if (z->ops[i].size > threshold || !IS_ALIGNED(z->ops[i].size, 4) ||
		    !IS_ALIGNED(z->base + z->ops[i].offset, 4))
			return false;
	return true;
}

/* A copy of so few bytes is not worth pinning pages for */
static int zerocopy_pieces(struct neuron_mc *mc, struct neuron_call *call, const struct zerocopy *z)
{
	struct neuron_ioctl_mem_buf_copy64 a = { .copy_to_mem_handle = z->to_device };
	int ret = 0;

	while (call->op < z->count && !ret) {
		a.buffer = z->ops[call->op].buffer;
		a.size = z->ops[call->op].size;
		a.offset = z->base + z->ops[call->op].offset;
		ret = neuron_call_work(call, a.size);
		if (!ret)
			ret = mc->host ? host_copy(mc, call, &a) : bounce_copy(mc, call, &a);
		if (!ret) {
			call->op++;
			call->done = 0;
		}
	}
	return ret;
}

static int zerocopy(struct neuron_mc *mc, struct neuron_call *call, const struct zerocopy *z)
{
	struct neuron_h2t *h2t;
	int ret;

	if (zerocopy_small(mc, z))
		return zerocopy_pieces(mc, call, z);
	h2t = neuron_h2tq_get(mc->nd, mc->nc, z->qid);
	if (IS_ERR(h2t))
		return PTR_ERR(h2t);
	if (mc->host || !z->ops->size)
		ret = zerocopy_pieces(mc, call, z);
	else
		ret = neuron_zerocopy(h2t, call, mc->pa + z->base, z->ops, z->count, !z->to_device);
	neuron_h2tq_put(h2t);
	return ret;
}

static struct neuron_mc *zerocopy_lookup(struct neuron_device *nd, u64 handle, bool to_device)
{
	return neuron_mc_lookup(nd, handle, to_device ? NEURON_MAY_WRITE : NEURON_MAY_READ);
}

static int do_zerocopy64_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_buf_copy64zc *a = arg;
	struct neuron_tensor_batch_op op = { a->offset, a->size, a->buffer };
	struct zerocopy z = {
		.ops = &op,
		.count = 1,
		.threshold = a->bar4_wr_threshold,
		.qid = a->h2t_qid,
		.to_device = a->is_copy_to_device,
	};
	struct neuron_mc *mc = zerocopy_lookup(nd, a->mem_handle, z.to_device);
	int ret;

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	if (!call->again && z.to_device)
		trace_ioctl_mem_copyin(nd->index, a->mem_handle, a->offset, a->size);
	else if (!call->again)
		trace_ioctl_mem_copyout(nd->index, a->mem_handle, a->offset, a->size);
	if (!neuron_mc_range(mc, a->offset, a->size))
		ret = -EINVAL;
	else if (!access_ok(a->buffer, a->size))
		ret = -EFAULT;
	else
		ret = zerocopy(mc, call, &z);
	neuron_mc_put(mc);
	return ret;
}

/*
 * The form of 2.29, whose number of an asynchronous copy is taken as none: the copy is done when
 * the call returns, and there are no queues of completions
 */
static int do_zerocopy64_v3(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_buf_copy64zc_async *a = arg;
	struct neuron_ioctl_mem_buf_copy64zc sync = {
		.mem_handle = a->mem_handle,
		.buffer = a->buffer,
		.size = a->size,
		.offset = a->offset,
		.is_copy_to_device = a->is_copy_to_device,
		.bar4_wr_threshold = a->bar4_wr_threshold,
		.h2t_qid = a->h2t_qid,
	};

	return do_zerocopy64_v2(nd, &sync, call);
}

/* The form of 2.24, which the public driver refuses since */
static int do_zerocopy64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_buf_copy64 *a = arg;
	struct neuron_ioctl_mem_buf_copy64zc wide = {
		.mem_handle = a->mem_handle,
		.buffer = a->buffer,
		.size = a->size,
		.offset = a->offset,
		.is_copy_to_device = a->copy_to_mem_handle,
		.h2t_qid = NEURON_H2T_QUEUE_DEFAULT,
	};

	return do_zerocopy64_v2(nd, &wide, call);
}

/* Looks at what is left of a batch, each time: its chunk may be another one by now */
static int batch_check(struct neuron_mc *mc, const struct zerocopy *z, u32 from)
{
	const struct neuron_tensor_batch_op *op;
	u32 i;

	for (i = from; i < z->count; i++) {
		op = &z->ops[i];
		/* an offset may lie below the batch's: the sum counts, modulo 2^64 */
		if (!op->size || !op->buffer ||
		    !neuron_mc_range(mc, z->base + op->offset, op->size))
			return -EINVAL;
		if (!access_ok(op->buffer, op->size))
			return -EFAULT;
	}
	return 0;
}

static int batch_copy(struct neuron_device *nd, struct neuron_call *call,
		      const struct neuron_copy_batch *batch,
		      const struct neuron_ioctl_mem_buf_copy64zc_batches *a)
{
	struct zerocopy z = {
		.base = batch->mem_handle_offset,
		.count = batch->num_ops,
		.threshold = batch->bar4_wr_threshold,
		.qid = a->h2t_qid,
		.to_device = a->is_copy_to_device,
	};
	struct neuron_mc *mc;
	int ret;

	ret = neuron_call_fetch_list(call, NEURON_CALL_BATCH, batch->ops_ptr,
				     batch->num_ops * sizeof(*z.ops), (void **)&z.ops);
	if (ret)
		return ret;
	mc = zerocopy_lookup(nd, batch->mem_handle, z.to_device);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	ret = batch_check(mc, &z, call->op);
	if (!ret)
		ret = zerocopy(mc, call, &z);
	neuron_mc_put(mc);
	return ret;
}

/* Looked at before any is copied. All their operations together are one list's worth */
static int batches_check(const struct neuron_copy_batch *batches, u32 n)
{
	u64 ops = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		if (!batches[i].num_ops || !batches[i].ops_ptr)
			return -EINVAL;
		ops += batches[i].num_ops;
	}
	return ops > BATCH_LIST_MAX / sizeof(struct neuron_tensor_batch_op) ? -ENOMEM : 0;
}

/* One batch after the other: what comes before a bad one is done */
static int do_zerocopy_batches(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_buf_copy64zc_batches *a = arg;
	struct neuron_copy_batch *batches;
	int ret;

	if (!a->batches_ptr || !a->num_batches)
		return -EINVAL;
	if (a->num_batches > BATCH_LIST_MAX / sizeof(*batches))
		return -ENOMEM;
	ret = neuron_call_fetch(call, a->batches_ptr, a->num_batches * sizeof(*batches),
				(void **)&batches);
	if (!ret)
		ret = batches_check(batches, a->num_batches);
	while (!ret && call->batch < a->num_batches) {
		ret = batch_copy(nd, call, &batches[call->batch], a);
		if (ret)
			break;
		neuron_call_drop(call, NEURON_CALL_BATCH);
		call->batch++;
		call->op = 0;
	}
	return ret;
}

/* The chip's address of it is nobody's to know: such memory is not said to be contiguous */
static int do_host_pin(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_host_mem_pin *a = arg;

	a->pa = U64_MAX;
	return neuron_pins_add(call, a->va, a->size);
}

static int do_host_unpin(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_host_mem_unpin *a = arg;

	return neuron_pins_remove(a->va);
}

#define S(name) sizeof(struct neuron_ioctl_##name)
#define HWA (NIOC_HW | NIOC_ATTACHED)

const struct neuron_ioctl_entry neuron_ioctl_copy[] = {
	NEURON_IOC(MEM_BUF_ZEROCOPY64_BATCHES, S(mem_buf_copy64zc_batches), HWA,
		   do_zerocopy_batches),
	NEURON_IOC_SINCE(2_29, MEM_BUF_ZEROCOPY64_V3, S(mem_buf_copy64zc_async), HWA,
			 do_zerocopy64_v3),
	NEURON_IOC(MEM_BUF_ZEROCOPY64_V2, S(mem_buf_copy64zc), HWA, do_zerocopy64_v2),
	NEURON_IOC(MEM_BUF_ZEROCOPY64, S(mem_buf_copy64), HWA, do_zerocopy64),
	NEURON_IOC(MEM_BUF_COPY64, S(mem_buf_copy64), HWA, do_buf_copy64),
	NEURON_IOC(MEM_BUF_COPY, S(mem_buf_copy), HWA, do_buf_copy),
	NEURON_IOC_SINCE(2_28, HOST_MEM_PIN, S(host_mem_pin), NIOC_FREE | NIOC_ATTACHED | NIOC_OUT,
			 do_host_pin),
	NEURON_IOC_SINCE(2_28, HOST_MEM_UNPIN, S(host_mem_unpin), NIOC_FREE | NIOC_ATTACHED,
			 do_host_unpin),
};

const unsigned int neuron_ioctl_copy_count = ARRAY_SIZE(neuron_ioctl_copy);
