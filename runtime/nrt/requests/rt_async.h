/* SPDX-License-Identifier: MIT */
/*
 * The explicit asynchronous calls (async.c), in the two levels of their API that libnrt has side by
 * side: async_2.c has the functions of 2.0, async_3.c those of 3.0. They say where a request goes
 * and how its caller is told of the end; what it does is the same.
 */
#ifndef RT_ASYNC_H
#define RT_ASYNC_H

#include "rt_exec.h"
#include "rt_queue.h"

/*
 * Declares a function of the library's own that is exported as the public name at a version:
 * "@@NRT_3.0.0" is what programs are linked with now, "@NRT_2.0.0" what they were linked with. Its
 * type is the public one's. The assembler does it, so libnrt is built without LTO.
 */
#define RT_PUBLISH(name, function, version) \
	EXPORT __typeof__(name) function;   \
	__asm__(".symver " #function "," #name version)

/* A transfer of a host buffer to (write) or from a tensor */
struct rt_transfer {
	nrt_tensor_t *tensor;
	void *buf;
	uint64_t offset, size;
	bool write;
};

/* Check the arguments of a request and queue it. The calls that they are part of have begun. */
NRT_STATUS rt_order_transfer(const struct rt_transfer *transfer, const struct rt_order *order);
NRT_STATUS rt_order_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			 uint64_t dst_offset, uint64_t size, const struct rt_order *order);
NRT_STATUS rt_order_execution(nrt_model_t *model, const struct rt_io *io,
			      const struct rt_order *order);
NRT_STATUS rt_order_cc(nrt_cc_context_t **cc, const struct rt_order *order);
/* The last request of the unit's queue that was completed */
NRT_STATUS rt_order_last(uint32_t vnc, enum rt_unit unit, int queue, nrta_seq_t *seq);

/* A request of a pinned model, which is unpinned at its end; NULL: out of memory, and it is */
struct rt_request *rt_execution_new(struct nrt_model *model, const struct rt_io *io, int repeat,
				    const struct rt_order *order);

#endif
