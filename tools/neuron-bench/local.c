/* SPDX-License-Identifier: MIT */
/* The way through libnrt: a device of this machine, or a chip in this process */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "device.h"
#include "nrt/nrtx.h"

struct local {
	bool initialized;
	nrt_model_t *model[BENCH_MAX_CORES];
};

struct buffers {
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t **tensor;
};

static bool fail_nrt(const char *what, NRT_STATUS status)
{
	bench_fail(what, "%s", nrt_get_status_as_str(status));
	fputs(nrtx_error_details(), stderr);
	return false;
}

static bool describe(struct bench *bench, nrt_model_t *model)
{
	nrt_tensor_info_array_t *all;
	bool ok = true;

	if (nrt_get_model_tensor_info(model, &all))
		return fail_nrt(bench->neff, NRT_FAILURE);
	for (uint64_t i = 0; ok && i < all->tensor_count; i++) {
		const nrt_tensor_info_t *info = &all->tensor_array[i];
		struct npy npy = { .dtype = (uint8_t)info->dtype,
				   .ndim = info->ndim,
				   .size = info->size };

		for (unsigned int d = 0; d < info->ndim && d < NPY_MAX_DIMS; d++)
			npy.shape[d] = info->shape[d];
		ok = bench_tensor_add(bench, info->name, nrtx_tensor_source(model, info->name),
				      info->usage == NRT_TENSOR_USAGE_OUTPUT, &npy);
	}
	nrt_free_model_tensor_info(all);
	return ok;
}

static bool load(struct bench *bench, struct local *local, const void *neff, size_t size,
		 uint32_t start)
{
	struct nrtx_load_params params = { 0 };
	uint32_t cores = 1;

	for (uint32_t i = 0; i < bench->copies; i++) {
		NRT_STATUS status;

		params.start_core = start + i * cores;
		status = nrtx_load(neff, size, &params, &local->model[i]);
		if (status)
			return fail_nrt(bench->neff, status);
		if (!i && nrt_get_model_nc_count(local->model[0], &cores))
			cores = 1;
	}
	return describe(bench, local->model[0]);
}

static bool local_open(struct bench *bench)
{
	struct local *local = calloc(1, sizeof(*local));
	int fd = open(bench->neff, O_RDONLY | O_CLOEXEC);
	NRT_STATUS status = NRT_SUCCESS;
	void *neff = MAP_FAILED;
	struct stat st;
	uint32_t start;
	bool ok;

	bench->state = local;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		neff = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	else if (fd >= 0)
		errno = EINVAL;
	if (neff == MAP_FAILED)
		bench_fail(bench->neff, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	if (neff == MAP_FAILED || !local)
		return false;
	if (!bench->device)
		bench->device = device_default("neuron-bench");
	if (!device_choose(bench->device, bench->core, &start, &status)) {
		ok = bench_fail(bench->device, "--device takes emu:INSTANCE or ndN");
	} else {
		if (!status)
			status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
		local->initialized = !status;
		ok = status ? fail_nrt(bench->device, status)
			    : load(bench, local, neff, (size_t)st.st_size, start);
	}
	munmap(neff, (size_t)st.st_size);
	return ok;
}

static NRT_STATUS make_tensor(struct buffers *b, const struct bench_tensor *t, nrt_tensor_t **to)
{
	NRT_STATUS status =
		nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, t->npy.size, t->name, to);

	if (!status && !t->output)
		status = nrt_tensor_write(*to, t->npy.data, 0, t->npy.size);
	if (!status)
		status = nrt_add_tensor_to_tensor_set(t->output ? b->out : b->in, t->name, *to);
	return status;
}

static bool local_worker_open(struct bench_worker *worker)
{
	const struct bench *bench = worker->bench;
	struct buffers *b = calloc(1, sizeof(*b));
	NRT_STATUS status = NRT_RESOURCE;

	worker->state = b;
	if (b)
		b->tensor = calloc(bench->ntensors + 1, sizeof(*b->tensor));
	if (b && b->tensor)
		status = nrt_allocate_tensor_set(&b->in);
	if (!status)
		status = nrt_allocate_tensor_set(&b->out);
	for (unsigned int i = 0; !status && i < bench->ntensors; i++)
		status = make_tensor(b, &bench->tensor[i], &b->tensor[i]);
	return !status || fail_nrt("tensors", status);
}

static bool local_execute(struct bench_worker *worker, double *core_us)
{
	const struct local *local = worker->bench->state;
	struct buffers *b = worker->state;
	NRT_STATUS status = nrtx_execute(local->model[worker->copy], b->in, b->out);

	*core_us = (double)nrtx_last_ps() / 1e6;
	if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
		worker->num_errors++;
	else if (status)
		return fail_nrt("execution failed", status);
	return true;
}

static void local_worker_close(struct bench_worker *worker)
{
	struct buffers *b = worker->state;

	if (!b)
		return;
	for (unsigned int i = 0; b->tensor && i < worker->bench->ntensors; i++)
		if (b->tensor[i])
			nrt_tensor_free(&b->tensor[i]);
	if (b->in)
		nrt_destroy_tensor_set(&b->in);
	if (b->out)
		nrt_destroy_tensor_set(&b->out);
	free(b->tensor);
	free(b);
}

static void local_close(struct bench *bench)
{
	struct local *local = bench->state;

	for (uint32_t i = 0; local && i < bench->copies; i++)
		if (local->model[i])
			nrt_unload(local->model[i]);
	if (local && local->initialized)
		nrt_close();
	free(local);
}

const struct bench_way bench_local = {
	.open = local_open,
	.worker_open = local_worker_open,
	.execute = local_execute,
	.worker_close = local_worker_close,
	.close = local_close,
};
