/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, one for each thing that is done. Those up to metrics_post have the public driver's
 * names; the others are this driver's own and correspond to trace points of the emulated chip where
 * it has one (ncore_reset, ncore_link, ncore_fwio). The first field is always the device's index.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM neuron

#if !defined(NEURON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NEURON_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(dma_engine_init,
	TP_PROTO(u32 device, u32 engine),
	TP_ARGS(device, engine),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, engine)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->engine = engine;
	),
	TP_printk("nd%u engine %u", __entry->device, __entry->engine)
);

TRACE_EVENT(dma_queue_init,
	TP_PROTO(u32 device, const struct neuron_ioctl_dma_queue_init *arg),
	TP_ARGS(device, arg),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, engine)
		__field(u32, queue)
		__field(u32, tx_count)
		__field(u32, rx_count)
		__field(u64, tx_handle)
		__field(u64, rx_handle)
		__field(u32, port)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->engine = arg->eng_id;
		__entry->queue = arg->qid;
		__entry->tx_count = arg->tx_desc_count;
		__entry->rx_count = arg->rx_desc_count;
		__entry->tx_handle = arg->tx_handle;
		__entry->rx_handle = arg->rx_handle;
		__entry->port = arg->axi_port;
	),
	TP_printk("nd%u engine %u queue %u tx %u of %#llx rx %u of %#llx port %u", __entry->device,
		  __entry->engine, __entry->queue, __entry->tx_count, __entry->tx_handle,
		  __entry->rx_count, __entry->rx_handle, __entry->port)
);

TRACE_EVENT(dma_queue_release,
	TP_PROTO(u32 device, u32 engine, u32 queue),
	TP_ARGS(device, engine, queue),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, engine)
		__field(u32, queue)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->engine = engine;
		__entry->queue = queue;
	),
	TP_printk("nd%u engine %u queue %u", __entry->device, __entry->engine, __entry->queue)
);

TRACE_EVENT(dma_queue_copy_start,
	TP_PROTO(u32 device, u32 engine, u32 queue, u32 tx, u32 rx),
	TP_ARGS(device, engine, queue, tx, rx),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, engine)
		__field(u32, queue)
		__field(u32, tx)
		__field(u32, rx)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->engine = engine;
		__entry->queue = queue;
		__entry->tx = tx;
		__entry->rx = rx;
	),
	TP_printk("nd%u engine %u queue %u tx %u rx %u", __entry->device, __entry->engine,
		  __entry->queue, __entry->tx, __entry->rx)
);

TRACE_EVENT(dma_ack_completed,
	TP_PROTO(u32 device, u32 engine, u32 queue, u32 count),
	TP_ARGS(device, engine, queue, count),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, engine)
		__field(u32, queue)
		__field(u32, count)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->engine = engine;
		__entry->queue = queue;
		__entry->count = count;
	),
	TP_printk("nd%u engine %u queue %u count %u", __entry->device, __entry->engine,
		  __entry->queue, __entry->count)
);

/* A batch of descriptors on the module's own copy ring */
TRACE_EVENT(dma_memcpy,
	TP_PROTO(u32 device, u32 core, u32 context, u32 descriptors),
	TP_ARGS(device, core, context, descriptors),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, core)
		__field(u32, context)
		__field(u32, descriptors)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->core = core;
		__entry->context = context;
		__entry->descriptors = descriptors;
	),
	TP_printk("nd%u core %u context %u descriptors %u", __entry->device, __entry->core,
		  __entry->context, __entry->descriptors)
);

DECLARE_EVENT_CLASS(neuron_chunk,
	TP_PROTO(u32 device, u32 handle, u64 pa, u64 size, bool host),
	TP_ARGS(device, handle, pa, size, host),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, handle)
		__field(u64, pa)
		__field(u64, size)
		__field(bool, host)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->handle = handle;
		__entry->pa = pa;
		__entry->size = size;
		__entry->host = host;
	),
	TP_printk("nd%u handle %u address %#llx size %llu %s", __entry->device, __entry->handle,
		  __entry->pa, __entry->size, __entry->host ? "host" : "device")
);

DEFINE_EVENT(neuron_chunk, ioctl_mem_alloc,
	TP_PROTO(u32 device, u32 handle, u64 pa, u64 size, bool host),
	TP_ARGS(device, handle, pa, size, host)
);

DEFINE_EVENT(neuron_chunk, ioctl_mem_free,
	TP_PROTO(u32 device, u32 handle, u64 pa, u64 size, bool host),
	TP_ARGS(device, handle, pa, size, host)
);

TRACE_EVENT(ioctl_mem_copy,
	TP_PROTO(u32 device, u64 src, u64 dst, u64 size),
	TP_ARGS(device, src, dst, size),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u64, src)
		__field(u64, dst)
		__field(u64, size)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->src = src;
		__entry->dst = dst;
		__entry->size = size;
	),
	TP_printk("nd%u from %#llx to %#llx size %llu", __entry->device, __entry->src,
		  __entry->dst, __entry->size)
);

DECLARE_EVENT_CLASS(neuron_range,
	TP_PROTO(u32 device, u64 handle, u64 offset, u64 size),
	TP_ARGS(device, handle, offset, size),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u64, handle)
		__field(u64, offset)
		__field(u64, size)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->handle = handle;
		__entry->offset = offset;
		__entry->size = size;
	),
	TP_printk("nd%u handle %llu offset %#llx size %llu", __entry->device, __entry->handle,
		  __entry->offset, __entry->size)
);

DEFINE_EVENT(neuron_range, ioctl_mem_copyin,
	TP_PROTO(u32 device, u64 handle, u64 offset, u64 size),
	TP_ARGS(device, handle, offset, size)
);

DEFINE_EVENT(neuron_range, ioctl_mem_copyout,
	TP_PROTO(u32 device, u64 handle, u64 offset, u64 size),
	TP_ARGS(device, handle, offset, size)
);

/* size: descriptors */
DEFINE_EVENT(neuron_range, dma_desc_copy,
	TP_PROTO(u32 device, u64 handle, u64 offset, u64 size),
	TP_ARGS(device, handle, offset, size)
);

DECLARE_EVENT_CLASS(neuron_bar,
	TP_PROTO(u32 device, u32 bar, u64 offset, u32 data),
	TP_ARGS(device, bar, offset, data),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, bar)
		__field(u64, offset)
		__field(u32, data)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->bar = bar;
		__entry->offset = offset;
		__entry->data = data;
	),
	TP_printk("nd%u bar %u offset %#llx data %#x", __entry->device, __entry->bar,
		  __entry->offset, __entry->data)
);

DEFINE_EVENT(neuron_bar, bar_read,
	TP_PROTO(u32 device, u32 bar, u64 offset, u32 data),
	TP_ARGS(device, bar, offset, data)
);

DEFINE_EVENT(neuron_bar, bar_write,
	TP_PROTO(u32 device, u32 bar, u64 offset, u32 data),
	TP_ARGS(device, bar, offset, data)
);

TRACE_EVENT(metrics_post,
	TP_PROTO(u32 device, u32 length),
	TP_ARGS(device, length),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, length)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->length = length;
	),
	TP_printk("nd%u length %u", __entry->device, __entry->length)
);

/* Every ioctl, with what it returned */
TRACE_EVENT(ioctl,
	TP_PROTO(u32 device, u32 cmd, int result),
	TP_ARGS(device, cmd, result),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, cmd)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->cmd = cmd;
		__entry->result = result;
	),
	TP_printk("nd%u cmd %#x nr %u result %d", __entry->device, __entry->cmd,
		  _IOC_NR(__entry->cmd), __entry->result)
);

TRACE_EVENT(process,
	TP_PROTO(u32 device, u32 pid, bool attached),
	TP_ARGS(device, pid, attached),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, pid)
		__field(bool, attached)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->pid = pid;
		__entry->attached = attached;
	),
	TP_printk("nd%u pid %u %s", __entry->device, __entry->pid,
		  __entry->attached ? "attached" : "gone")
);

TRACE_EVENT(fwio,
	TP_PROTO(u32 device, u32 words, int result),
	TP_ARGS(device, words, result),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, words)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->words = words;
		__entry->result = result;
	),
	TP_printk("nd%u words %u result %d", __entry->device, __entry->words, __entry->result)
);

/* stage: enum neuron_reset_stage */
TRACE_EVENT(reset,
	TP_PROTO(u32 device, u32 stage, u32 cores, u32 error),
	TP_ARGS(device, stage, cores, error),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, stage)
		__field(u32, cores)
		__field(u32, error)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->stage = stage;
		__entry->cores = cores;
		__entry->error = error;
	),
	TP_printk("nd%u stage %u cores %#x error %u", __entry->device, __entry->stage,
		  __entry->cores, __entry->error)
);

/* side: enum neuron_link_side */
TRACE_EVENT(link,
	TP_PROTO(u32 device, u32 side, bool up),
	TP_ARGS(device, side, up),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, side)
		__field(bool, up)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->side = side;
		__entry->up = up;
	),
	TP_printk("nd%u side %u up %u", __entry->device, __entry->side, __entry->up)
);

/* memory: enum neuron_ecc_memory; what is new */
TRACE_EVENT(ecc,
	TP_PROTO(u32 device, u32 memory, u32 corrected, u32 uncorrected),
	TP_ARGS(device, memory, corrected, uncorrected),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, memory)
		__field(u32, corrected)
		__field(u32, uncorrected)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->memory = memory;
		__entry->corrected = corrected;
		__entry->uncorrected = uncorrected;
	),
	TP_printk("nd%u memory %u corrected %u uncorrected %u", __entry->device, __entry->memory,
		  __entry->corrected, __entry->uncorrected)
);

/* reason: enum neuron_hang_reason */
TRACE_EVENT(hang,
	TP_PROTO(u32 device, u32 reason, u32 cores, u32 pid, u32 dump),
	TP_ARGS(device, reason, cores, pid, dump),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, reason)
		__field(u32, cores)
		__field(u32, pid)
		__field(u32, dump)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->reason = reason;
		__entry->cores = cores;
		__entry->pid = pid;
		__entry->dump = dump;
	),
	TP_printk("nd%u reason %u cores %#x pid %u dump %u", __entry->device, __entry->reason,
		  __entry->cores, __entry->pid, __entry->dump)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE neuron_trace
#include <trace/define_trace.h>
