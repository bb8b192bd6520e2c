/* SPDX-License-Identifier: MIT */
/*
 * Explicit asynchronous requests. Each core has execution units of several kinds, each unit queues
 * that work in order and beside one another. A request's sequence id tells its queue (16 bits) and
 * its number there (48 bits), which counts from 1.
 *
 * The API has two levels, and libnrt both, under the symbol versions NRT_3.0.0 and NRT_2.0.0. This
 * header declares 3.0, or 2.0 in a program that defines NRTX_ASYNC_2_0 before it includes it; what
 * such a program calls is bound to NRT_2.0.0. The macro is this project's, not the vendor's.
 */
#ifndef NRT_ASYNC_H
#define NRT_ASYNC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef NRTX_ASYNC_2_0
typedef enum {
	NRTA_XU_TENSOR_READ = 0,
	NRTA_XU_TENSOR_WRITE = 1,
	NRTA_XU_TENSOR_OP = 2, /* copies */
	NRTA_XU_COMPUTE = 3,
	NRTA_XU_COLLECTIVES = 4,
	NRTA_XU_TYPE_NUM
} nrta_xu_t; /* 16 queues each */
#else
typedef enum {
	NRTA_XU_TENSOR_OP = 0, /* reads, writes and copies: 2 queues */
	NRTA_XU_COMPUTE = 1, /* 1 queue */
	NRTA_XU_COLLECTIVES = 2, /* 3 queues */
	NRTA_XU_TYPE_NUM
} nrta_xu_t;
#endif

typedef uint64_t nrta_seq_t;
typedef uint16_t nrta_xu_id_t;

#define NRTA_SEQ_NUM_MAX ((1ull << 48) - 1)
#define NRTA_SEQ_NUM_MASK NRTA_SEQ_NUM_MAX
#define NRTA_SEQ_GET_SEQ_NUM(seq_id) ((seq_id)&NRTA_SEQ_NUM_MASK)
#define NRTA_SEQ_GET_XU_ID(seq_id) ((seq_id) >> 48)

/* A collective of one member; NRT_INVALID for others. What schedules it frees the context. */
NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input, nrt_tensor_list_t *output,
			   nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
			   nrt_cc_context_t **cc_ctx);

/* NRT_INVALID: there was no such request */
NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed);
/* The last one that was completed; number 0: none yet */
NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq);

#ifndef NRTX_ASYNC_2_0

/*
 * Queue a request and return its sequence id. Buffers, tensors and the status stay until it is
 * completed; the status is written before. NRT_QUEUE_FULL: too many are under way.
 * NRT_EXEC_UNIT_UNRECOVERABLE: a request of the unit had a timeout or an error of the hardware, and
 * nrt_init was not called since. A call that fails has changed nothing.
 */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
			     int lnc, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    int lnc, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence);
/* Runs on the tensors' own core. Whether the vendor's function takes an lnc too is not public. */
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			    uint64_t dst_offset, uint64_t size, int queue, NRT_STATUS *ret,
			    nrta_seq_t *req_sequence);
/* queue is 0 here and in nrta_cc_schedule */
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
				 nrt_tensor_set_t *output, int queue, NRT_STATUS *ret,
				 nrta_seq_t *req_sequence);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, NRT_STATUS *ret,
			    nrta_seq_t *req_sequence);

/*
 * Signal an eventfd of the caller's: when the request is completed, at once if it is; at each
 * completion of the queue until nrt_close. A negative fd takes that back. The caller may close its
 * descriptor at any time. NRT_INVALID: not an eventfd
 */
NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd);
NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd);

#else /* level 2.0 */

/* A request that failed */
typedef struct nrta_error {
	nrta_seq_t seq_id;
	uint64_t error_code; /* an NRT_STATUS */
} nrta_error_t;
static_assert(sizeof(nrta_error_t) == 16, "the layout is public");

typedef struct nrta_error_tracker nrta_error_tracker_t;

/*
 * Queue a request and return its sequence id. Buffers and tensors stay until it is completed; its
 * failure goes to the tracker, which may be NULL. NRT_QUEUE_FULL: too many are under way.
 */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
			     int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			    uint64_t dst_offset, uint64_t size, int queue,
			    nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
/* queue is 0 here and in nrta_cc_schedule */
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
				 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
				 nrta_seq_t *req_sequence);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
			    nrta_seq_t *req_sequence);

/* A descriptor that becomes readable when the request is completed; the caller closes it */
NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd);

NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker);
/* After all requests that were given it are completed */
void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker);
/*
 * The requests that failed since the last call; the list is the tracker's, valid until the next
 * call
 */
NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
				       const nrta_error_t **list, size_t *error_count);

/* Binds calls of these functions to their old version */
#ifndef NRTX_ASYNC_BIND
#define NRTX_ASYNC_BIND(name) __asm__(".symver " #name "," #name "@NRT_2.0.0");
#endif
NRTX_ASYNC_BIND(nrta_cc_prepare)
NRTX_ASYNC_BIND(nrta_is_completed)
NRTX_ASYNC_BIND(nrta_get_sequence)
NRTX_ASYNC_BIND(nrta_tensor_write)
NRTX_ASYNC_BIND(nrta_tensor_read)
NRTX_ASYNC_BIND(nrta_tensor_copy)
NRTX_ASYNC_BIND(nrta_execute_schedule)
NRTX_ASYNC_BIND(nrta_cc_schedule)
NRTX_ASYNC_BIND(nrta_get_completion_handle)
NRTX_ASYNC_BIND(nrta_error_tracker_create)
NRTX_ASYNC_BIND(nrta_error_tracker_destroy)
NRTX_ASYNC_BIND(nrta_error_tracker_get_list)

#endif

#ifdef __cplusplus
}
#endif
#endif
