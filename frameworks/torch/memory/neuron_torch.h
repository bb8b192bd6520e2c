/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's tensors in device memory, and programs that run on them: what torch_neuronx calls, by
 * ctypes, of libneurontorch.so. It knows no type of PyTorch's but DLPack's, which all releases
 * take. All calls may come from any thread.
 */
#ifndef NEURON_TORCH_H
#define NEURON_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As dlpack.h has them (DLPack 0.8; github.com/dmlc/dlpack) */
enum { NT_DL_CPU = 1, NT_DL_EXTENSION = 12 };

#define NT_HOST (-1) /* in place of a device: memory of the host that devices reach */

struct nt_dl_tensor {
	void *data;
	int32_t device_type, device_id;
	int32_t ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides; /* in elements */
	uint64_t byte_offset;
};

struct nt_dl_managed {
	struct nt_dl_tensor tensor;
	void *manager;
	void (*deleter)(struct nt_dl_managed *);
};

/* What a tensor is to be: a place on a device, or host memory's name for such a place (nt_alias) */
struct nt_shape {
	int32_t device; /* of PyTorch; a core of the process has the same number; or NT_HOST */
	int32_t ndim;
	uint8_t code, bits; /* of DLPack's data type; one lane */
	const int64_t *shape, *strides; /* strides in elements */
	uint64_t bytes; /* that it takes, 1 and more */
};

/*
 * A tensor in new device memory, whose contents are what was there before. Its address is the
 * mapping of that memory. It is given back once PyTorch calls the deleter. On failure nothing is
 * left; NRT_RESOURCE: there is no room, even without what is kept for later.
 */
NRT_STATUS nt_empty(const struct nt_shape *shape, struct nt_dl_managed **tensor);

/* Memory as nt_empty() has it, without a tensor: for an allocator */
NRT_STATUS nt_block_take(int32_t device, uint64_t bytes, void **base, void **block);
void nt_block_give(void *block);

/* From then on all devices' memory is this core's; -1: each core's own */
void nt_only_core(int32_t core);

/* Whether memory that begins here is a tensor's of NT_HOST */
bool nt_is_pinned(const void *base);

/* The same memory as a tensor of the CPU's; whoever calls this keeps the memory meanwhile. NULL:
 * out of host memory */
struct nt_dl_managed *nt_alias(void *data, const struct nt_shape *shape);

/* Bytes and counts of a device, in this order: what nt_statistics() writes */
struct nt_statistics {
	uint64_t allocated, allocated_peak; /* bytes that tensors have */
	uint64_t reserved, reserved_peak; /* bytes taken from the runtime: allocated ones and those
					     kept for later */
	uint64_t allocations, frees; /* calls */
	uint64_t segments; /* that the runtime was asked for */
	uint64_t retries, failures; /* for want of room: after letting go what was kept; in vain */
};
void nt_statistics(int32_t device, struct nt_statistics *statistics);
void nt_reset_peaks(int32_t device);
/* Gives what is kept for later back to the runtime, of all devices */
void nt_empty_cache(void);

/* A part of a tensor's memory: base is the address of its memory, as nt_empty gave it */
struct nt_span {
	void *base;
	uint64_t offset, bytes;
};
/* Copies between memory of the host and a span, or between two spans. NRT_INVALID_HANDLE: no memory
 * of ours */
NRT_STATUS nt_write(const struct nt_span *to, const void *from);
NRT_STATUS nt_read(const struct nt_span *from, void *to);
NRT_STATUS nt_copy(const struct nt_span *from, const struct nt_span *to);

/* What a model is loaded as: on a core, by the names of its inputs, then of its outputs, in an
 * order of the caller's */
struct nt_load {
	const void *neff;
	uint64_t bytes;
	int32_t core;
	uint32_t inputs, outputs;
	const char *const *names;
	/*
	 * Of a model that several processes execute together: which of `ranks` this one is, and a
	 * number that they have alike for this model and no other. 0: it is for this process alone.
	 */
	uint32_t rank, ranks;
	uint64_t group;
};

struct nt_program;
NRT_STATUS nt_program_load(const struct nt_load *load, struct nt_program **program);
/* Executes it on memory: a span for each name; those of outputs overlap no other one. Returns when
 * it is done */
NRT_STATUS nt_program_run(struct nt_program *program, const struct nt_span *spans);
void nt_program_unload(struct nt_program *program);

#ifdef __cplusplus
}
#endif
#endif
