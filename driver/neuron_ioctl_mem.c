// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls on memory: allocate, free, ask, copy, fill. Older forms are widened and call the 64-bit
 * ones. All of them check ownership, and ranges without wrapping.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_dma.h"
#include "neuron_dmabuf.h"
#include "neuron_gate.h"
#include "neuron_ioctl.h"
#include "neuron_mem.h"
#include "neuron_user.h"
#include "neuron_trace.h"

#define DUMP_MAX 65536 /* chunks in one answer */
#define EXTENDED_INFO_VERSION 1

static struct neuron_h2t *mc_h2t(const struct neuron_mc *mc)
{
	return &mc->nd->h2t[mc->nc];
}

/* upa: where its address goes, or NULL */
static int mem_alloc_pa(struct neuron_device *nd, struct neuron_call *call,
			const struct neuron_mc_args *args, u64 __user *uhandle, u64 __user *upa)
{
	struct neuron_mc *mc;
	u64 handle;
	int ret;

	ret = neuron_mc_alloc(nd, args, &mc);
	if (ret)
		return ret;
	/* 0 when another thread guessed the handle and freed it */
	handle = READ_ONCE(mc->handle);
	ret = neuron_call_write(call, uhandle, &handle, sizeof(handle), sizeof(handle));
	if (!ret && upa)
		ret = neuron_call_write(call, upa, &mc->pa, sizeof(mc->pa), sizeof(mc->pa));
	if (ret)
		neuron_mc_free(mc);
	else
		trace_ioctl_mem_alloc(nd->index, handle, mc->pa, mc->size, mc->host);
	neuron_mc_put(mc);
	return ret;
}

static int mem_alloc(struct neuron_device *nd, struct neuron_call *call,
		     const struct neuron_mc_args *args, u64 __user *uhandle)
{
	return mem_alloc_pa(nd, call, args, uhandle, NULL);
}

static u32 default_type(u32 host)
{
	return host ? NEURON_MEMALLOC_TYPE_UNKNOWN_HOST : NEURON_MEMALLOC_TYPE_UNKNOWN_DEVICE;
}

static int do_alloc(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_alloc *a = arg;
	struct neuron_mc_args args = { a->size,
				       0,
				       a->host_memory,
				       a->dram_channel,
				       a->dram_region,
				       a->nc_id,
				       default_type(a->host_memory) };

	return mem_alloc(nd, call, &args, a->mem_handle);
}

static int do_alloc_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_alloc_v2 *a = arg;
	struct neuron_mc_args args = { a->size,
				       a->align,
				       a->host_memory,
				       a->dram_channel,
				       a->dram_region,
				       a->nc_id,
				       default_type(a->host_memory) };

	return mem_alloc(nd, call, &args, a->mem_handle);
}

static int do_alloc_v2mt(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type *a = arg;
	struct neuron_mc_args args = { a->size,	       a->align, a->host_memory, a->dram_channel,
				       a->dram_region, a->nc_id, a->mem_type };

	return mem_alloc(nd, call, &args, a->mem_handle);
}

static int do_alloc_v2mt64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 *a = arg;
	struct neuron_mc_args args = { a->size,	       a->align, a->host_memory, a->dram_channel,
				       a->dram_region, a->nc_id, a->mem_type };

	return mem_alloc(nd, call, &args, a->mem_handle);
}

static int do_alloc_v2mt64_pa(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64_pa *a = arg;
	struct neuron_ioctl_mem_alloc_v2_mem_type64_pa __user *u = call->user;
	struct neuron_mc_args args = { a->size,	       a->align, a->host_memory, a->dram_channel,
				       a->dram_region, a->nc_id, a->mem_type };

	return mem_alloc_pa(nd, call, &args, a->mem_handle, &u->pa);
}

/* Finds a chunk for calls that say so exactly since 2.29 when there is none */
static struct neuron_mc *chunk_named(struct neuron_device *nd, u64 handle,
				     enum neuron_access access)
{
	struct neuron_mc *mc = neuron_mc_lookup(nd, handle, access);

	return mc == ERR_PTR(-EINVAL) ? ERR_PTR(neuron_level_errno(-EINVAL, -ENOENT)) : mc;
}

static int do_free(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_free *a = arg;
	struct neuron_mc *mc = chunk_named(nd, a->mem_handle, NEURON_MAY_WRITE);
	int ret = -EACCES;

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	/* notification queues and datastores are the driver's to free */
	if (mc->life == NEURON_LIFE_PROCESS) {
		trace_ioctl_mem_free(nd->index, a->mem_handle, mc->pa, mc->size, mc->host);
		neuron_mc_free(mc);
		ret = 0;
	}
	neuron_mc_put(mc);
	return ret;
}

static int do_get_pa(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_get_pa *a = arg;
	struct neuron_mc *mc = neuron_mc_lookup(nd, a->mem_handle, NEURON_MAY_READ);
	int ret;

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	ret = neuron_call_write(call, a->pa, &mc->pa, sizeof(mc->pa), sizeof(mc->pa));
	neuron_mc_put(mc);
	return ret;
}

static int do_get_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_get_info *a = arg;
	struct neuron_mc *mc = neuron_mc_lookup(nd, a->mem_handle, NEURON_MAY_READ);
	int ret;

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	ret = neuron_call_write(call, a->pa, &mc->pa, sizeof(mc->pa), sizeof(mc->pa));
	if (!ret && a->mmap_offset)
		ret = neuron_call_write(call, a->mmap_offset, &mc->pa, sizeof(mc->pa),
					sizeof(mc->pa));
	neuron_mc_put(mc);
	return ret;
}

static int do_get_extended_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_get_extended_info *a = arg;
	struct neuron_mc *mc = neuron_mc_lookup(nd, a->mem_handle, NEURON_MAY_READ);

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	a->version = EXTENDED_INFO_VERSION;
	a->host_memory = mc->host;
	a->mmap_offset = mc->pa;
	a->pa = mc->pa;
	a->pid = mc->tgid;
	a->size = mc->size;
	neuron_mc_put(mc);
	return 0;
}

static int chunk_at(struct neuron_device *nd, u64 pa, u64 *offset, u64 *size, u64 *handle)
{
	struct neuron_mc *mc = neuron_mc_at(nd, pa);
	int ret = 0;

	if (!mc)
		return -ENOMEM;
	if (neuron_mc_readable(mc)) {
		*offset = mc->pa;
		*size = mc->size;
		*handle = READ_ONCE(mc->handle);
	} else {
		ret = -EACCES;
	}
	neuron_mc_put(mc);
	return ret;
}

static int do_mc_get_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_get_mc_mmap_info *a = arg;
	u64 handle;

	return chunk_at(nd, a->pa, &a->mmap_offset, &a->size, &handle);
}

static int do_mc_get_info_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_get_mc_mmap_info_v2 *a = arg;

	return chunk_at(nd, a->pa, &a->mmap_offset, &a->size, &a->mem_handle);
}

/* Finds both chunks of a copy, referenced, with the ranges checked */
static int pair_get(struct neuron_device *nd, const struct neuron_ioctl_mem_copy64 *a,
		    struct neuron_mc **src, struct neuron_mc **dst)
{
	int ret;

	*src = chunk_named(nd, a->src_mem_handle, NEURON_MAY_READ);
	ret = PTR_ERR_OR_ZERO(*src);
	if (ret)
		return ret;
	*dst = chunk_named(nd, a->dst_mem_handle, NEURON_MAY_WRITE);
	ret = PTR_ERR_OR_ZERO(*dst);
	if (ret) {
		neuron_mc_put(*src);
		return ret;
	}
	if (neuron_mc_range(*src, a->src_offset, a->size) &&
	    neuron_mc_range(*dst, a->dst_offset, a->size))
		return 0;
	neuron_mc_put(*src);
	neuron_mc_put(*dst);
	return neuron_level_errno(-EINVAL, -E2BIG);
}

static int do_copy64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_copy64 *a = arg;
	struct neuron_mc *src, *dst;
	int ret;

	ret = pair_get(nd, a, &src, &dst);
	if (ret)
		return ret;
	trace_ioctl_mem_copy(nd->index, src->pa + a->src_offset, dst->pa + a->dst_offset, a->size);
	ret = neuron_dma_copy(mc_h2t(dst->host ? src : dst), src->pa + a->src_offset,
			      dst->pa + a->dst_offset, a->size);
	neuron_mc_put(src);
	neuron_mc_put(dst);
	return ret;
}

static int do_copy(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_copy *a = arg;
	struct neuron_ioctl_mem_copy64 wide = { a->src_mem_handle, a->dst_mem_handle, a->size,
						a->src_offset, a->dst_offset };

	return do_copy64(nd, &wide, call);
}

static int do_copy_async64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_copy_async64 *a = arg;
	struct neuron_ioctl_mem_copy64 pair = { a->src_mem_handle, a->dst_mem_handle, a->size,
						a->src_offset, a->dst_offset };
	struct neuron_mc *src, *dst;
	int ret;

	ret = pair_get(nd, &pair, &src, &dst);
	if (ret)
		return ret;
	trace_ioctl_mem_copy(nd->index, src->pa + a->src_offset, dst->pa + a->dst_offset, a->size);
	ret = neuron_copy_async(nd, src, a->src_offset, dst, a->dst_offset, a->size,
				a->pwait_handle, &a->wait_handle);
	neuron_mc_put(src);
	neuron_mc_put(dst);
	return ret;
}

static int do_copy_async(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_copy_async *a = arg;
	struct neuron_ioctl_mem_copy_async64 wide = {
		.src_mem_handle = a->src_mem_handle,
		.dst_mem_handle = a->dst_mem_handle,
		.size = a->size,
		.src_offset = a->src_offset,
		.dst_offset = a->dst_offset,
		.pwait_handle = a->pwait_handle,
	};
	int ret = do_copy_async64(nd, &wide, call);

	a->wait_handle = wide.wait_handle;
	return ret;
}

static int do_copy_async_wait(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_mem_copy_async_wait *a = arg;
	struct neuron_ioctl_mem_copy64 pair = { a->src_mem_handle, a->dst_mem_handle };
	struct neuron_mc *src, *dst;
	int ret;

	ret = pair_get(nd, &pair, &src, &dst);
	if (ret)
		return ret;
	ret = neuron_copy_async_wait(nd, dst->host ? src->nc : dst->nc, a->pwait_handle);
	neuron_mc_put(src);
	neuron_mc_put(dst);
	return ret;
}

static int do_memset64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_memset64 *a = arg;
	struct neuron_mc *mc = chunk_named(nd, a->mem_handle, NEURON_MAY_WRITE);
	int ret = 0;

	if (IS_ERR(mc))
		return PTR_ERR(mc);
	if (!neuron_mc_range(mc, a->offset, a->size))
		ret = neuron_level_errno(-EINVAL, -E2BIG);
	else if (mc->host)
		memset(mc->va + a->offset, (u8)a->value, a->size);
	else
		ret = neuron_dma_fill(mc_h2t(mc), mc->pa + a->offset, a->size,
				      (u8)a->value * 0x01010101u);
	neuron_mc_put(mc);
	return ret;
}

static int do_memset(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_memset *a = arg;
	struct neuron_ioctl_memset64 wide = { a->mem_handle, a->offset, a->value, a->size };

	return do_memset64(nd, &wide, call);
}

/* Writes into a core's window; the source is buffer + offset, the destination dst + offset */
static int program_engine(struct neuron_device *nd, struct neuron_call *call,
			  const struct neuron_ioctl_program_engine_nc64 *a)
{
	unsigned int nc;
	u64 dst;
	int ret;

	if (a->nc_id >= nd->gen->cores)
		return -EINVAL;
	if (check_add_overflow(a->dst, a->offset, &dst) ||
	    nhal_addr_to_core(nd->gen, dst, a->size, &nc))
		return -ENOMEM;
	mutex_lock(&nd->lock);
	ret = neuron_core_claim(nd, nc);
	mutex_unlock(&nd->lock);
	if (ret)
		return ret;
	/* by the core's own ring: an engine that takes nothing blocks nobody else's copies */
	return neuron_dma_from_user(&nd->h2t[nc], call, dst, a->buffer + a->offset, a->size);
}

static int do_program_engine_nc64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return program_engine(nd, call, arg);
}

static int do_program_engine_nc(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_program_engine_nc *a = arg;
	struct neuron_ioctl_program_engine_nc64 wide = { a->nc_id, a->dst, a->buffer, a->size,
							 a->offset };

	return program_engine(nd, call, &wide);
}

static int do_program_engine(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_program_engine *a = arg;
	struct neuron_ioctl_program_engine_nc64 wide = { 0, a->dst, a->buffer, a->size, a->offset };

	return program_engine(nd, call, &wide);
}

static unsigned int chunks_list(struct neuron_device *nd, u32 channel,
				struct neuron_ioctl_mem_chunk_info *info, unsigned int max)
{
	struct neuron_mc *mc;
	unsigned int n = 0;

	/* what the firmware has is a chunk of the driver's, as under the public one */
	if (nd->gen->firmware_bytes) {
		if (n < max) {
			info[n].pa = nd->gen->memory[channel].address;
			info[n].size = nd->gen->firmware_bytes;
			info[n].mem_type = NEURON_MEMALLOC_TYPE_NCDEV_DEVICE;
		}
		n++;
	}
	mutex_lock(&nd->lock);
	list_for_each_entry(mc, &nd->mcs, link) {
		if (mc->host || neuron_mc_memory(mc) != channel)
			continue;
		if (n < max) {
			info[n].pa = mc->pa;
			info[n].size = mc->size;
			info[n].mem_type = mc->type;
		}
		n++;
	}
	mutex_unlock(&nd->lock);
	return n;
}

static int do_dump_mem_chunks(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dump_mem_chunks *a = arg;
	unsigned int max = min_t(u32, a->num_entries_in, DUMP_MAX);
	struct neuron_ioctl_mem_chunk_info *info;
	size_t size;
	int ret;

	if (a->hbm_index >= nd->gen->memories)
		return -EINVAL;
	info = kvcalloc(max + 1, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	a->num_entries_out = chunks_list(nd, a->hbm_index, info, max);
	size = a->num_entries_out * sizeof(*info);
	if (a->num_entries_out > max)
		ret = -EAGAIN;
	else
		ret = neuron_call_write(call, a->data, info, size, size);
	kvfree(info);
	return ret;
}

/* uoffset: where the place of va in its first page goes, or NULL: it must be the first */
static int dmabuf_fd(struct neuron_call *call, u64 va, u64 size, s32 __user *ufd,
		     u64 __user *uoffset)
{
	u64 offset = uoffset ? offset_in_page(va) : 0;
	struct dma_buf *buf;
	int fd, ret;

	if (uoffset && check_add_overflow(size, offset, &size))
		return -EINVAL;
	buf = neuron_dmabuf_export(va - offset, uoffset ? PAGE_ALIGN(size) : size);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	fd = get_unused_fd_flags(O_CLOEXEC);
	ret = fd < 0 ? fd : neuron_call_write(call, ufd, &fd, sizeof(fd), sizeof(fd));
	if (!ret && uoffset)
		ret = neuron_call_write(call, uoffset, &offset, sizeof(offset), sizeof(offset));
	if (!ret) {
		fd_install(fd, buf->file);
		return 0;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	dma_buf_put(buf);
	return ret;
}

static int do_dmabuf_fd(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dmabuf_fd *a = arg;

	return dmabuf_fd(call, a->va, a->size, a->fd, NULL);
}

/* Any place in a mapping, and any size in it that is not 0 */
static int do_dmabuf_fd_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dmabuf_fd_v2 *a = arg;

	if (!a->fd || !a->offset || !a->size)
		return -EINVAL;
	return dmabuf_fd(call, a->va, a->size, a->fd, a->offset);
}

#define S(name) sizeof(struct neuron_ioctl_##name)
#define HWA (NIOC_HW | NIOC_ATTACHED)

const struct neuron_ioctl_entry neuron_ioctl_mem[] = {
	NEURON_IOC(MEM_COPY64, S(mem_copy64), HWA, do_copy64),
	NEURON_IOC(MEM_COPY, S(mem_copy), HWA, do_copy),
	NEURON_IOC(MEM_COPY_ASYNC64, S(mem_copy_async64), HWA | NIOC_OUT, do_copy_async64),
	NEURON_IOC(MEM_COPY_ASYNC, S(mem_copy_async), HWA | NIOC_OUT, do_copy_async),
	NEURON_IOC(MEM_COPY_ASYNC_WAIT, S(mem_copy_async_wait), HWA, do_copy_async_wait),
	NEURON_IOC(MEMSET64, S(memset64), HWA, do_memset64),
	NEURON_IOC(MEMSET, S(memset), HWA, do_memset),
	NEURON_IOC(MEM_ALLOC, S(mem_alloc), HWA, do_alloc),
	NEURON_IOC(MEM_ALLOC_V2, S(mem_alloc_v2), HWA, do_alloc_v2),
	NEURON_IOC(MEM_ALLOC_V2MT, S(mem_alloc_v2_mem_type), HWA, do_alloc_v2mt),
	NEURON_IOC(MEM_ALLOC_V2MT64, S(mem_alloc_v2_mem_type64), HWA, do_alloc_v2mt64),
	NEURON_IOC_SINCE(2_28, MEM_ALLOC_V2MT64_PA, S(mem_alloc_v2_mem_type64_pa), HWA,
			 do_alloc_v2mt64_pa),
	NEURON_IOC(MEM_FREE, S(mem_free), NIOC_ATTACHED, do_free),
	NEURON_IOC(MEM_GET_PA, S(mem_get_pa), NIOC_ATTACHED, do_get_pa),
	NEURON_IOC(MEM_GET_INFO, S(mem_get_info), NIOC_ATTACHED, do_get_info),
	NEURON_IOC(MEM_GET_EXTENDED_INFO, S(mem_get_extended_info), NIOC_OUT, do_get_extended_info),
	NEURON_IOC(MEM_MC_GET_INFO, S(mem_get_mc_mmap_info), NIOC_OUT, do_mc_get_info),
	NEURON_IOC(MEM_MC_GET_INFO_V2, S(mem_get_mc_mmap_info_v2), NIOC_OUT, do_mc_get_info_v2),
	NEURON_IOC(PROGRAM_ENGINE, S(program_engine), HWA, do_program_engine),
	NEURON_IOC(PROGRAM_ENGINE_NC, S(program_engine_nc), HWA, do_program_engine_nc),
	NEURON_IOC(PROGRAM_ENGINE_NC64, S(program_engine_nc64), HWA, do_program_engine_nc64),
	NEURON_IOC(DMABUF_FD, S(dmabuf_fd), NIOC_FREE, do_dmabuf_fd),
	NEURON_IOC_SINCE(2_29, DMABUF_FD_V2, S(dmabuf_fd_v2), NIOC_FREE, do_dmabuf_fd_v2),
	NEURON_IOC(DUMP_MEM_CHUNKS, S(dump_mem_chunks), NIOC_OUT | NIOC_OUT_ERR,
		   do_dump_mem_chunks),
};

const unsigned int neuron_ioctl_mem_count = ARRAY_SIZE(neuron_ioctl_mem);
