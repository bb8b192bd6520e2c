/* SPDX-License-Identifier: MIT */
/*
 * One execution: inputs into the model's device memory, queues started, the wait for SP's
 * notification, outputs back. The core's lock is held all along, so a core executes one model at
 * a time; different cores run in parallel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nrt_priv.h"

/*
 * The wait looks a few times, as many executions are short, and then sleeps until the core writes a
 * notification; where nothing interrupts it sleeps a little longer between two looks each time
 */
#define SPIN_LOOKS 200
#define SLEEP_MIN_NS 20000
#define SLEEP_MAX_NS 200000
#define ASK_LOOKS 128 /* looks between two questions whether the device is still there */

uint64_t rt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Inputs and outputs */

static nrt_tensor_t *bound(const struct rt_var *var, const nrt_tensor_set_t *inputs,
			   const nrt_tensor_set_t *outputs)
{
	if (var->neff->type == NEFF_VAR_INPUT)
		return rt_set_find(inputs, var->neff->name);
	if (var->neff->type == NEFF_VAR_OUTPUT)
		return rt_set_find(outputs, var->neff->name);
	return NULL;
}

static NRT_STATUS check_io(const struct nrt_model *model, const nrt_tensor_set_t *inputs,
			   const nrt_tensor_set_t *outputs)
{
	for (unsigned int i = 0; i < model->nstages; i++) {
		NRT_STATUS status = check_io(model->stage[i], inputs, outputs);

		if (status)
			return status;
	}
	for (unsigned int i = 0; i < model->nvars; i++) {
		const struct rt_var *var = &model->vars[i];
		const char *what = var->neff->type == NEFF_VAR_INPUT ? "ifmap" : "ofmap";
		const nrt_tensor_t *tensor;

		if (!rt_var_is_io(var))
			continue;
		tensor = bound(var, inputs, outputs);
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

/* Between a tensor and its variable; device tensors of the same device never leave it */
static int transfer(struct nrt_model *model, const struct rt_var *var, nrt_tensor_t *tensor,
		    bool in)
{
	struct rt_storage *s = tensor->storage;
	ndl_device_t *dev = model->core->dev;
	uint64_t handle = var->chunk->handle;
	void *bounce;
	int err;

	if (s->placement != NRT_TENSOR_PLACEMENT_DEVICE) {
		void *buf = (char *)s->va + tensor->offset;

		return in ? ndl_memory_buf_copyin(dev, handle, buf, var->offset, tensor->size)
			  : ndl_memory_buf_copyout(dev, handle, buf, var->offset, tensor->size);
	}
	if (s->chunk.dev == dev)
		return in ? ndl_memory_copy(dev, s->chunk.handle, handle, tensor->offset,
					    var->offset, tensor->size)
			  : ndl_memory_copy(dev, handle, s->chunk.handle, var->offset,
					    tensor->offset, tensor->size);
	bounce = malloc(tensor->size);
	if (!bounce)
		return -ENOMEM;
	if (in) {
		err = ndl_memory_buf_copyout(s->chunk.dev, s->chunk.handle, bounce, tensor->offset,
					     tensor->size);
		if (!err)
			err = ndl_memory_buf_copyin(dev, handle, bounce, var->offset, tensor->size);
	} else {
		err = ndl_memory_buf_copyout(dev, handle, bounce, var->offset, tensor->size);
		if (!err)
			err = ndl_memory_buf_copyin(s->chunk.dev, s->chunk.handle, bounce,
						    tensor->offset, tensor->size);
	}
	free(bounce);
	return err;
}

/* Queues */

static void queue_params(const struct rt_ring *ring, struct ndl_queue_params *params)
{
	*params = (struct ndl_queue_params){
		.eng = ring->eng,
		.qid = ring->qid,
		.tx_count = ring->tx.len,
		.rx_count = ring->rx.len,
		.tx_handle = ring->tx.chunk.handle,
		.rx_handle = ring->rx.chunk.handle,
	};
}

unsigned int rt_model_rings(struct nrt_model *model, struct rt_ring *ring[RT_MAX_QUEUES])
{
	unsigned int n = 0;

	for (unsigned int q = 0; q < model->nqueues; q++)
		ring[n++] = &model->queues[q];
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		if (model->engine[e].size)
			ring[n++] = &model->engine[e].ring;
	return n;
}

/* The queues take this model's rings, unless they have them from the last execution */
static int attach_queues(struct nrt_model *model, struct rt_ring **ring, unsigned int n)
{
	struct ndl_queue_params params[RT_MAX_QUEUES];
	int err;

	if (model->core->loaded == model && !model->rewind)
		return 0;
	model->core->loaded = NULL;
	model->ran = true;
	for (unsigned int i = 0; i < n; i++)
		queue_params(ring[i], &params[i]);
	err = ndl_dma_queue_init_batch(model->core->dev, params, n);
	if (err)
		return err;
	for (unsigned int i = 0; i < n; i++)
		rt_ring_rewind(ring[i]);
	model->core->loaded = model;
	return 0;
}

/* Descriptors into the rings, then the engines' fetch queues are rung */
static int start_queues(struct nrt_model *model)
{
	struct rt_ring *ring[RT_MAX_QUEUES];
	unsigned int n = rt_model_rings(model, ring);
	int err = attach_queues(model, ring, n);

	for (unsigned int i = 0; i < n && !err; i++)
		rt_ring_write(ring[i]);
	for (unsigned int i = model->nqueues; i < n && !err; i++)
		err = ndl_dma_queue_copy_start(model->core->dev, ring[i]->eng, ring[i]->qid,
					       ring[i]->tx.n, ring[i]->rx.n);
	return err;
}

/* Notifications */

struct entry {
	uint8_t type, engine;
	uint16_t code;
	uint32_t id;
	uint64_t time, data;
	uint32_t data2;
};

static bool nq_next(struct rt_nq *nq, struct entry *entry)
{
	const uint8_t *p = nq->ring + (size_t)nq->next * NEURON_NQ_ENTRY_SIZE;
	const uint32_t *phase = (const void *)(p + NEURON_NQ_ENTRY_PHASE);

	/* the device writes the phase last: what it covers is there once it is */
	if (__atomic_load_n(phase, __ATOMIC_ACQUIRE) != NEURON_NQ_PHASE(nq->lap))
		return false;
	entry->type = p[NEURON_NQ_ENTRY_TYPE];
	entry->engine = p[NEURON_NQ_ENTRY_ENGINE];
	memcpy(&entry->code, p + NEURON_NQ_ENTRY_CODE, sizeof(entry->code));
	memcpy(&entry->id, p + NEURON_NQ_ENTRY_ID, sizeof(entry->id));
	memcpy(&entry->time, p + NEURON_NQ_ENTRY_TIME, sizeof(entry->time));
	memcpy(&entry->data, p + NEURON_NQ_ENTRY_DATA, sizeof(entry->data));
	memcpy(&entry->data2, p + NEURON_NQ_ENTRY_DATA2, sizeof(entry->data2));
	if (++nq->next == RT_NQ_ENTRIES) {
		nq->next = 0;
		nq->lap++;
	}
	return true;
}

static const char *error_text(uint16_t code)
{
	static const char *const text[] = {
		[NEURON_NERR_ILLEGAL_INSN] = "illegal instruction",
		[NEURON_NERR_ILLEGAL_OPERAND] = "illegal operand",
		[NEURON_NERR_ISA_VERSION] = "unknown instruction set version",
		[NEURON_NERR_SEM_OVERFLOW] = "semaphore overflow",
		[NEURON_NERR_EVT_DOUBLE_SET] = "event set twice",
		[NEURON_NERR_EVT_DOUBLE_CLEAR] = "event cleared twice",
		[NEURON_NERR_FIFO_WRITE] = "bad write to an instruction FIFO",
		[NEURON_NERR_WRITE_REFUSED] = "register write refused",
		[NEURON_NERR_DMA_ABORT] = "DMA abort",
		[NEURON_NERR_DMA_DESC] = "bad DMA descriptor",
		[NEURON_NERR_NUMERICAL] = "numerical error",
		[NEURON_NERR_NQ_OVERFLOW] = "notification queue overflow",
		[NEURON_NERR_DRAM_UE] = "uncorrectable error in device memory",
		[NEURON_NERR_SRAM_UE] = "uncorrectable error in SBUF or PSUM",
	};

	return code < sizeof(text) / sizeof(text[0]) && text[code] ? text[code] : "unknown error";
}

static NRT_STATUS error_status(uint16_t code)
{
	switch (code) {
	case NEURON_NERR_NUMERICAL:
		return NRT_EXEC_COMPLETED_WITH_NUM_ERR;
	case NEURON_NERR_DMA_ABORT:
		return NRT_EXEC_HW_ERR_DMA_ABORT;
	case NEURON_NERR_NQ_OVERFLOW:
		return NRT_EXEC_SW_NQ_OVERFLOW;
	case NEURON_NERR_DRAM_UE:
		return NRT_EXEC_HW_ERR_HBM_UE;
	case NEURON_NERR_SRAM_UE:
		return NRT_EXEC_HW_ERR_NC_UE;
	default:
		return NRT_EXEC_COMPLETED_WITH_ERR;
	}
}

static unsigned int error_counter(uint16_t code)
{
	switch (code) {
	case NEURON_NERR_NUMERICAL:
		return NDS_NC_COUNTER_ERR_NUMERICAL;
	case NEURON_NERR_DMA_ABORT:
		return NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT;
	case NEURON_NERR_NQ_OVERFLOW:
		return NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW;
	case NEURON_NERR_DRAM_UE:
		return NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE;
	case NEURON_NERR_SRAM_UE:
		return NDS_EXT_NC_COUNTER_HW_ERR_NC_UE;
	case NEURON_NERR_SEM_OVERFLOW:
		return NDS_EXT_NC_COUNTER_ERR_SW_SEMAPHORE_ERROR;
	case NEURON_NERR_EVT_DOUBLE_SET:
	case NEURON_NERR_EVT_DOUBLE_CLEAR:
		return NDS_EXT_NC_COUNTER_ERR_SW_EVENT_ERROR;
	default:
		return NDS_NC_COUNTER_ERR_MODEL;
	}
}

/* The member whose program did it; a DMA's entry has no engine of its own */
static const char *culprit(const struct nrt_model *model, const struct entry *e, char *buf,
			   size_t size)
{
	const struct neuron_target *target = rt_target(model);
	unsigned int eng = e->id >> 8 & 0xff, queue = e->id & 0xff;
	bool dma = e->code == NEURON_NERR_DMA_ABORT || e->code == NEURON_NERR_DMA_DESC ||
		   (e->engine >= target->engines &&
		    (e->code == NEURON_NERR_DRAM_UE || e->code == NEURON_NERR_SRAM_UE));

	if (dma && neuron_gen_is_copy_queue(model->core->dev->gen, eng, queue))
		snprintf(buf, size, "copy");
	else if (dma)
		snprintf(buf, size, "%s dma engine %u queue %u", model->sg->name, eng, queue);
	else if (e->engine < target->engines)
		snprintf(buf, size, "%s/%s.bin", model->sg->name, target->engine[e->engine].name);
	else
		snprintf(buf, size, "%s", model->sg->name);
	return buf;
}

/* Empties the error queue; the first entry decides, a numerical error gives way to any other */
static NRT_STATUS collect_errors(const struct nrt_model *model, NRT_STATUS status)
{
	struct rt_core *core = model->core;
	struct entry e;
	char where[128];
	unsigned int n;

	for (n = 0; n < RT_NQ_ENTRIES && nq_next(&core->error, &e); n++) {
		NRT_STATUS s = error_status(e.code);

		rt_nds_add(core, error_counter(e.code), 1);
		if (!status || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
			status = s;
		rt_fail(s, "TDRV", "nd%u nc%u %s: %s (code %u id %#x data %#llx)", core->device,
			core->nc, culprit(model, &e, where, sizeof(where)), error_text(e.code),
			e.code, e.id, (unsigned long long)e.data);
	}
	if (n)
		rt_core_errors_read(core);
	return status;
}

static NRT_STATUS transfer_all(struct nrt_model *model, const nrt_tensor_set_t *inputs,
			       nrt_tensor_set_t *outputs, bool in)
{
	for (unsigned int i = 0; i < model->nstages; i++) {
		NRT_STATUS status = transfer_all(model->stage[i], inputs, outputs, in);

		if (status)
			return status;
	}
	for (unsigned int i = 0; i < model->nvars; i++) {
		const struct rt_var *var = &model->vars[i];
		nrt_tensor_t *tensor;
		NRT_STATUS status;
		int err;

		if (!rt_var_is_io(var) || (var->neff->type == NEFF_VAR_INPUT) != in)
			continue;
		tensor = bound(var, inputs, outputs);
		err = transfer(model, var, tensor, in);
		if (err) {
			/* the chip may know more than that it failed */
			status = collect_errors(model, NRT_SUCCESS);
			return rt_fail(status ? status : rt_status_from_errno(err), "TDRV",
				       "'%s': %s", var->neff->name, strerror(-err));
		}
		if (!in)
			__atomic_add_fetch(&tensor->completions, 1, __ATOMIC_RELEASE);
	}
	return NRT_SUCCESS;
}

/* Errors that do not stop the engine let the program reach its end */
bool rt_fatal(NRT_STATUS status)
{
	return status && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR;
}

/* Sleep until there may be something to see, at most until the deadline. 0 or -errno */
static int wait_entry(struct rt_core *core, uint64_t deadline, struct timespec *pause)
{
	uint64_t now = rt_now_us();
	int err;

	if (now >= deadline)
		return -ETIMEDOUT;
	if (core->waiter) {
		err = ndl_wait(core->waiter, deadline - now);
		return err == -ETIMEDOUT ? 0 : err; /* one last look */
	}
	nanosleep(pause, NULL);
	pause->tv_nsec = pause->tv_nsec * 2 > SLEEP_MAX_NS ? SLEEP_MAX_NS : pause->tv_nsec * 2;
	return 0;
}

static NRT_STATUS wait_failed(struct nrt_model *model, int err)
{
	struct rt_core *core = model->core;

	if (err != -ETIMEDOUT)
		return rt_fail(rt_status_from_errno(err), "TDRV", "waiting for nd%u nc%u: %s",
			       core->device, core->nc, strerror(-err));
	return rt_fail(NRT_TIMEOUT, "TDRV", "execution timeout (%u ms) on Neuron Device %u NC %u",
		       model->timeout_ms, core->device, core->nc);
}

static NRT_STATUS wait_done(struct nrt_model *model, uint64_t start_us)
{
	struct rt_core *core = model->core;
	uint64_t deadline = start_us + (uint64_t)model->timeout_ms * 1000;
	struct timespec pause = { .tv_nsec = SLEEP_MIN_NS };
	NRT_STATUS status = NRT_SUCCESS;
	struct entry done;
	int err = 0;

	for (unsigned int look = 0;; look++) {
		bool sleepy = look >= SPIN_LOOKS;

		/* what is written after this ends the sleep */
		if (sleepy && core->waiter)
			err = ndl_wait_look(core->waiter);
		if (nq_next(&core->done, &done))
			return collect_errors(model, status);
		if (!sleepy)
			continue;
		status = collect_errors(model, status);
		if (!rt_fatal(status) && rt_interrupted(model))
			status = NRT_EXEC_COMPLETED_WITH_ERR;
		if (rt_fatal(status))
			return status;
		/* its ring stays empty for ever; a waiter would hear of it */
		if (!err && !core->waiter && look % ASK_LOOKS == 0 && rt_core_gone(core))
			err = -ENODEV;
		if (!err)
			err = wait_entry(core, deadline, &pause);
		if (err)
			return wait_failed(model, err);
	}
}

void rt_count_model(struct nrt_model *model, NRT_STATUS status, uint64_t device_us,
		    uint64_t total_us)
{
	struct nrtx_model_counters *m = &model->counters;

	m->infers++;
	m->failed += rt_fatal(status);
	m->latency_device_us += m->last_latency_device_us = device_us;
	m->latency_total_us += m->last_latency_total_us = total_us;
}

static void count(struct nrt_model *model, NRT_STATUS status, uint64_t device_us, uint64_t total_us)
{
	struct nrtx_core_counters *c = &model->core->counters;
	unsigned int counter = NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR;

	rt_count_model(model, status, device_us, total_us);
	c->time_in_use_us += device_us;
	c->latency_device_us += device_us;
	c->latency_total_us += total_us;
	if (!status) {
		c->infer_completed++;
		counter = NDS_NC_COUNTER_INFER_COMPLETED;
	} else if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
		c->infer_num_err++;
		counter = NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR;
	} else if (status == NRT_TIMEOUT) {
		c->infer_timeout++;
		counter = NDS_NC_COUNTER_INFER_TIMED_OUT;
	} else {
		c->infer_err++;
	}
	rt_nds_add(model->core, counter, 1);
	rt_nds_add(model->core, NDS_NC_COUNTER_INFERENCE_COUNT, 1);
	rt_nds_add(model->core, NDS_NC_COUNTER_TIME_IN_USE, device_us);
	rt_nds_add(model->core, NDS_NC_COUNTER_LATENCY_DEVICE, device_us);
	rt_nds_add(model->core, NDS_NC_COUNTER_LATENCY_TOTAL, total_us);
	rt_nds_add(model->core, NDS_NC_COUNTER_MAC_COUNT, model->counters.macs_per_infer);
}

NRT_STATUS rt_run(struct nrt_model *model)
{
	struct rt_core *core = model->core;
	uint64_t start = rt_now_us();
	NRT_STATUS status;
	int err;

	err = start_queues(model);
	if (err)
		status = rt_fail(rt_status_from_errno(err), "TDRV", "starting nd%u nc%u: %s",
				 core->device, core->nc, strerror(-err));
	else
		status = wait_done(model, start);
	if (rt_fatal(status)) {
		/* what it left in FIFOs, queues and semaphores goes; the details stay */
		rt_core_reset(core);
	}
	return status;
}

/* exec held: between the stages before and behind, if the model is one of a pipeline */
static NRT_STATUS run_stage(struct nrt_model *model, uint64_t *device_us)
{
	NRT_STATUS status, given;
	uint64_t start;

	rt_edges_wait(model);
	start = rt_now_us();
	status = model->nloops ? rt_loops_run(model) : rt_run(model);
	*device_us = rt_now_us() - start;
	given = rt_fatal(status) ? status : rt_edges_give(model);
	if (rt_fatal(given)) {
		rt_edges_empty(model->next);
		return given;
	}
	return status;
}

NRT_STATUS rt_stage_execute(struct nrt_model *model, const nrt_tensor_set_t *inputs,
			    nrt_tensor_set_t *outputs, uint64_t *device_us)
{
	uint64_t start = rt_now_us(), took = 0;
	struct rt_core *core = model->core;
	NRT_STATUS status, copied;

	pthread_mutex_lock(&core->exec);
	if (core->broken) {
		rt_edges_empty(model);
		pthread_mutex_unlock(&core->exec);
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV", "nd%u nc%u needs a reset",
			       core->device, core->nc);
	}
	/* what came between executions is of a copy, whose caller was told */
	collect_errors(model, NRT_SUCCESS);
	rt_details_clear();
	status = rt_interrupted(model);
	if (!status)
		status = rt_core_take(core, model);
	if (status)
		rt_edges_empty(model);
	else
		status = rt_edges_take(model);
	if (!status)
		status = transfer_all(model, inputs, outputs, true);
	if (!status)
		status = run_stage(model, &took);
	/* outputs of an execution that saw NaN are delivered */
	if (!rt_fatal(status)) {
		copied = transfer_all(model, inputs, outputs, false);
		if (copied)
			status = copied;
		if (rt_fatal(copied)) /* nobody comes for what was given */
			rt_edges_empty(model->next);
	}
	count(model, status, took, rt_now_us() - start);
	pthread_mutex_unlock(&core->exec);
	*device_us += took;
	return status;
}

static NRT_STATUS execute(struct nrt_model *model, const nrt_tensor_set_t *inputs,
			  nrt_tensor_set_t *outputs)
{
	uint64_t device_us = 0;

	return model->nstages && !model->nloops
		       ? rt_pipeline_execute(model, inputs, outputs)
		       : rt_stage_execute(model, inputs, outputs, &device_us);
}

EXPORT NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *inputs,
				     nrt_tensor_set_t *outputs, int repeat_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!inputs || !outputs || repeat_count < 1)
		return rt_fail(NRT_INVALID, "NRT", "tensor sets or count missing");
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	status = check_io(model, inputs, outputs);
	if (status) {
		rt_nds_add(model->core, NDS_NC_COUNTER_INFER_INCORRECT_INPUT, 1);
		__atomic_add_fetch(&model->core->counters.infer_bad_input, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < repeat_count && !rt_fatal(status); i++)
		status = execute(model, inputs, outputs);
	rt_model_unpin(model);
	return status;
}

EXPORT NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			      nrt_tensor_set_t *outputs)
{
	return nrt_execute_repeat(model, inputs, outputs, 1);
}
