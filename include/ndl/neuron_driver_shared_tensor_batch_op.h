/* SPDX-License-Identifier: MIT */
/* One operation of a batch of copies, which runtime and driver share */
#ifndef NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H
#define NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H

#include <stdint.h>

typedef uint64_t nrt_tensor_batch_offset_t;
typedef uint64_t nrt_tensor_batch_size_t;

typedef struct nrt_tensor_batch_op {
	nrt_tensor_batch_offset_t offset; /* in the tensor */
	nrt_tensor_batch_size_t size;
	void *buffer; /* of the host */
} nrt_tensor_batch_op_t;

#endif
