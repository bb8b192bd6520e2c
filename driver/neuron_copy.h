/* SPDX-License-Identifier: GPL-2.0-only */
/* Asynchronous copies and zero-copy, neuron_copy.c and neuron_zerocopy.c. */
#ifndef NEURON_COPY_H
#define NEURON_COPY_H

#include <linux/types.h>

struct neuron_call;
struct neuron_device;
struct neuron_h2t;
struct neuron_mc;
struct neuron_tensor_batch_op;

int neuron_copy_async(struct neuron_device *nd, struct neuron_mc *src, u64 src_offset,
		      struct neuron_mc *dst, u64 dst_offset, u64 size, u32 pwait, u32 *handle);
int neuron_copy_async_wait(struct neuron_device *nd, unsigned int nc, u32 handle);
void neuron_copy_forget(struct neuron_device *nd, pid_t tgid);

int neuron_zerocopy(struct neuron_h2t *h2t, struct neuron_call *call, u64 addr,
		    const struct neuron_tensor_batch_op *ops, u32 count, bool to_user);

#endif
