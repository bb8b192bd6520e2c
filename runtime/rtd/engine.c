// SPDX-License-Identifier: MIT
/* The chips through libnrt. NRT statuses are translated to NERR codes here and nowhere else. */
#include "engine.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neff.h"
#include "neuron/hw/ext.h"
#include "nrt/nrtx.h"

#define MAX_DEVICES 64
#define BUFFER_ALIGN 4096
#define ANSWER_FRAME 2048 /* bytes of a message for its status */
#define ANSWER_FIELD 64 /* bytes of a message for an output's keys and lengths */

struct rtd_engine {
	unsigned int nc_count, ndevices;
	struct rtd_device devices[MAX_DEVICES];
};

struct rtd_program {
	nrt_model_t *model;
	nrt_tensor_info_array_t *info;
	unsigned int ntensors;
	struct rtd_tensor *tensors;
	uint32_t nc, nc_count;
};

struct rtd_slot {
	struct rtd_program *program;
	nrt_tensor_set_t *inputs, *outputs;
	struct slot_tensor {
		nrt_tensor_t *tensor;
		void *buffer;
	} tensors[];
};

/* ---- errors */

static int nerr_of(NRT_STATUS status)
{
	static const struct {
		NRT_STATUS status;
		int code;
	} other[] = {
		{ NRT_FAIL_HOST_MEM_ALLOC, NERR_RESOURCE },
		{ NRT_EXEC_UNIT_UNRECOVERABLE, NERR_HW_ERROR },
		{ NRT_EXEC_BAD_INPUT, NERR_INFER_BAD_INPUT },
		{ NRT_EXEC_COMPLETED_WITH_NUM_ERR, NERR_INFER_COMPLETED_WITH_NUM_ERR },
		{ NRT_EXEC_COMPLETED_WITH_ERR, NERR_INFER_COMPLETED_WITH_ERR },
		{ NRT_EXEC_NC_BUSY, NERR_QUEUE_FULL },
		{ NRT_EXEC_OOB, NERR_INFER_COMPLETED_WITH_ERR },
		{ NRT_EXEC_HW_ERR_HBM_UE, NERR_HW_ERROR },
		{ NRT_EXEC_HW_ERR_NC_UE, NERR_HW_ERROR },
		{ NRT_EXEC_HW_ERR_DMA_ABORT, NERR_INFER_COMPLETED_WITH_ERR },
		{ NRT_EXEC_SW_NQ_OVERFLOW, NERR_INFER_COMPLETED_WITH_ERR },
		{ NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE, NERR_HW_ERROR },
	};

	if ((status >= NRT_SUCCESS && status <= NRT_QUEUE_FULL) ||
	    status == NRT_LOAD_NOT_ENOUGH_NC || status == NRT_UNSUPPORTED_NEFF_VERSION)
		return status; /* the numbers are the same */
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i].status == status)
			return other[i].code;
	return NERR_FAIL;
}

/*
 * True for errors that no program causes; a timeout may have either reason and is not among them.
 */
static bool is_hardware(NRT_STATUS status)
{
	switch (status) {
	case NRT_HW_ERROR:
	case NRT_EXEC_UNIT_UNRECOVERABLE:
	case NRT_EXEC_HW_ERR_HBM_UE:
	case NRT_EXEC_HW_ERR_NC_UE:
	case NRT_EXEC_HW_ERR_DMA_ABORT:
	case NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE:
		return true;
	default:
		return false;
	}
}

/*
 * Adds libnrt's lines, which are outermost first, to the daemon's stack, which is innermost first.
 */
static void add_reversed(struct rtd_err *err, const char *lines)
{
	const char *end = lines + strlen(lines), *start;
	char line[600];

	while (end > lines) {
		if (end[-1] == '\n') {
			end--;
			continue;
		}
		for (start = end; start > lines && start[-1] != '\n'; start--)
			;
		snprintf(line, sizeof(line), "%.*s", (int)(end - start), start);
		rtd_text_clean(line);
		rtd_err_lines(err, line);
		end = start;
	}
}

#define engine_fail(err, status, ...) engine_error(err, status, __func__, __VA_ARGS__)

static int engine_error(struct rtd_err *err, NRT_STATUS status, const char *function,
			const char *what)
{
	if (!err->code) {
		err->code = nerr_of(status);
		err->hardware = is_hardware(status);
	}
	add_reversed(err, nrtx_error_details());
	return rtd_err_add(err, err->code, "TDRV", function, "%s: %s", what,
			   nrtx_status_text(status));
}

/* ---- the chips */

static int find_bdf(const struct nrtx_bdf *want)
{
	struct nrtx_bdf bdf;

	for (uint32_t i = 0; i < MAX_DEVICES; i++)
		if (!nrtx_device_bdf(i, &bdf) && bdf.domain == want->domain &&
		    bdf.bus == want->bus && bdf.slot == want->slot && bdf.func == want->func)
			return i;
	return -ENODEV;
}

int rtd_engine_find_bdf(const char *text)
{
	struct nrtx_bdf bdf = { 0 };
	unsigned int domain, bus, slot, func;
	char end;

	if (sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &slot, &func, &end) != 4) {
		domain = 0;
		if (sscanf(text, "%x:%x.%x%c", &bus, &slot, &func, &end) != 3)
			return -EINVAL;
	}
	bdf = (struct nrtx_bdf){ domain, bus, slot, func };
	return find_bdf(&bdf);
}

/* Passes the choice of cores to libnrt by the environment, as its other users do. */
static int choose_cores(const uint32_t *devices, unsigned int n, struct rtd_err *err)
{
	uint32_t per_device = 0;
	struct nrtx_bdf bdf;
	char range[32];

	if (!n)
		return 0;
	for (unsigned int i = 1; i < n; i++)
		if (devices[i] != devices[i - 1] + 1)
			return rtd_fail(err, NERR_INVALID, "NMGR",
					"devices %u and %u are not neighbours in order",
					devices[i - 1], devices[i]);
	for (unsigned int i = 0; i < n; i++)
		if (nrtx_cores_per_device(&per_device) || nrtx_device_bdf(devices[i], &bdf))
			return rtd_fail(err, NERR_FAIL, "TDRV",
					"Could not open the device index:%u", devices[i]);
	snprintf(range, sizeof(range), "%u-%u", devices[0] * per_device,
		 (devices[n - 1] + 1) * per_device - 1);
	if (setenv("NEURON_RT_VISIBLE_CORES", range, 1))
		return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
	return 0;
}

static void list_devices(struct rtd_engine *engine)
{
	struct rtd_device *device = NULL;
	struct nrtx_bdf bdf = { 0 };
	uint32_t index, nc;

	for (unsigned int i = 0; i < engine->nc_count; i++) {
		if (nrtx_core_location(i, &index, &nc))
			break;
		if (!device || device->index != index) {
			if (engine->ndevices == MAX_DEVICES)
				break;
			device = &engine->devices[engine->ndevices++];
			device->index = index;
			device->vnc_start = i;
			nrtx_device_bdf(index, &bdf);
			snprintf(device->bdf, sizeof(device->bdf), "%04x:%02x:%02x.%x",
				 bdf.domain & 0xffff, bdf.bus, bdf.slot, bdf.func & 0xf);
		}
		device->nc_count++;
	}
}

int rtd_engine_open(const uint32_t *devices, unsigned int ndevices, struct rtd_engine **out,
		    struct rtd_err *err)
{
	struct rtd_engine *engine;
	NRT_STATUS status;
	uint32_t cores;

	if (choose_cores(devices, ndevices, err))
		return err->code;

	status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	if (status)
		return engine_fail(err, status, "Failed to initialize devices");

	engine = calloc(1, sizeof(*engine));
	status = engine ? nrt_get_visible_vnc_count(&cores) : NRT_RESOURCE;
	if (status || !cores) {
		engine_fail(err, status ? status : NRT_FAILURE, "No devices specified");
		free(engine);
		nrt_close();
		return err->code;
	}

	engine->nc_count = cores;
	list_devices(engine);
	*out = engine;
	return NERR_OK;
}

void rtd_engine_close(struct rtd_engine *engine)
{
	nrt_close();
	free(engine);
}

unsigned int rtd_engine_nc_count(const struct rtd_engine *engine)
{
	return engine->nc_count;
}

unsigned int rtd_engine_devices(const struct rtd_engine *engine, const struct rtd_device **devices)
{
	*devices = engine->devices;
	return engine->ndevices;
}

bool rtd_engine_in_process(void)
{
	const char *emu = getenv("NEURON_EMU");

	return emu && *emu;
}

/* ---- NEFFs and programs */

int rtd_neff_inspect(const struct rtd_neff *neff, struct rtd_neff_info *info, struct rtd_err *err)
{
	struct neff_header header;
	struct neff_error error = { 0 };
	uint8_t head[NEFF_HEADER_SIZE] = { 0 };
	const void *at = neff->bytes ? neff->bytes : head;

	if (!neff->bytes && pread(neff->fd, head, sizeof(head), 0) < 0)
		return rtd_fail(err, NERR_INVALID, "NMGR", "NEFF upload failed: %s",
				strerror(errno));
	if (neff_read_header(at, neff->size, &header, &error))
		return rtd_fail(err, error.version ? NERR_UNSUPPORTED_VERSION : NERR_INVALID,
				"NMGR", "%s", error.text);

	memset(info, 0, sizeof(*info));
	info->major = header.version_major;
	info->minor = header.version_minor;
	info->nc_normal = header.num_tpb ? header.num_tpb : 1;

	for (unsigned int i = 0; i < sizeof(header.tpb_per_node); i++)
		if (header.tpb_per_node[i] > info->nc_shared)
			info->nc_shared = header.tpb_per_node[i];
	if (!info->nc_shared || info->nc_shared > info->nc_normal)
		info->nc_shared = info->nc_normal;

	memcpy(info->name, header.name, sizeof(info->name) - 1);
	rtd_text_ascii(info->name);

	for (unsigned int i = 0; i < sizeof(header.uuid); i++)
		snprintf(info->uuid + 2 * i, 3, "%02x", header.uuid[i]);
	return NERR_OK;
}

static NRT_STATUS program_tensors(struct rtd_program *program)
{
	NRT_STATUS status = nrt_get_model_tensor_info(program->model, &program->info);

	if (status)
		return status;
	program->ntensors = program->info->tensor_count;
	program->tensors = calloc(program->ntensors + 1, sizeof(*program->tensors));
	if (!program->tensors)
		return NRT_RESOURCE;
	for (unsigned int i = 0; i < program->ntensors; i++) {
		const nrt_tensor_info_t *from = &program->info->tensor_array[i];
		struct rtd_tensor *to = &program->tensors[i];

		to->name = from->name;
		to->source = nrtx_tensor_source(program->model, from->name);
		to->output = from->usage == NRT_TENSOR_USAGE_OUTPUT;
		to->dtype = from->dtype;
		to->size = from->size;
		to->ndim = from->ndim < RTD_MAX_DIMS ? from->ndim : RTD_MAX_DIMS;
		for (unsigned int d = 0; d < to->ndim; d++)
			to->shape[d] = from->shape[d];
	}
	return NRT_SUCCESS;
}

int rtd_neff_read(const struct rtd_neff *neff, const struct rtd_account *account,
		  struct nrtx_neff **out, struct rtd_err *err)
{
	const struct nrtx_load_params params = {
		.account = account->ask,
		.account_arg = account->arg,
		.cancelled = account->cancelled,
		.cancelled_arg = account->arg,
	};
	NRT_STATUS status = neff->bytes ? nrtx_neff_read(neff->bytes, neff->size, &params, out)
					: nrtx_neff_read_file(neff->fd, neff->size, &params, out);

	return status ? engine_fail(err, status, "load") : NERR_OK;
}

void rtd_neff_free(struct nrtx_neff *neff)
{
	nrtx_neff_free(neff);
}

int rtd_program_load(struct nrtx_neff *neff, const struct rtd_placement *at,
		     const struct rtd_account *account, struct rtd_program **out,
		     struct rtd_err *err)
{
	struct nrtx_load_params params = {
		.start_core = at->nc,
		.core_count = at->nc_count,
		.timeout_ms = at->timeout_ms,
		.default_timeout_ms = at->default_timeout_ms,
		.owner = at->owner,
		.user = at->user,
		.numerical_errors = at->numerical_errors,
		.cancelled = account->cancelled,
		.cancelled_arg = account->arg,
		.neff = neff,
	};
	struct rtd_program *program = calloc(1, sizeof(*program));
	NRT_STATUS status;

	if (!program)
		return rtd_fail(err, NERR_RESOURCE, "TDRV", "out of memory");
	program->nc = at->nc;
	program->nc_count = at->nc_count;
	status = nrtx_load(NULL, 0, &params, &program->model);
	if (!status)
		status = program_tensors(program);
	if (status) {
		engine_fail(err, status, "load");
		rtd_program_unload(program);
		return err->code;
	}
	*out = program;
	return NERR_OK;
}

uint32_t rtd_program_timeout(const struct rtd_program *program)
{
	struct nrtx_model_info info;

	return nrtx_model_info(program->model, &info) ? 0 : info.timeout_ms;
}

void rtd_program_unload(struct rtd_program *program)
{
	if (program->info)
		nrt_free_model_tensor_info(program->info);
	if (program->model)
		nrt_unload(program->model);
	free(program->tensors);
	free(program);
}

void rtd_program_interrupt(struct rtd_program *program, bool on)
{
	nrtx_interrupt(program->model, on);
}

void rtd_program_seed(struct rtd_program *program, uint32_t seed)
{
	nrtx_model_seed(program->model, seed);
}

unsigned int rtd_program_tensors(const struct rtd_program *program, const struct rtd_tensor **list)
{
	*list = program->tensors;
	return program->ntensors;
}

/* ---- slots */

uint64_t rtd_program_slot_size(const struct rtd_program *program)
{
	uint64_t size = sizeof(struct rtd_slot);

	for (unsigned int i = 0; i < program->ntensors; i++)
		size += sizeof(struct slot_tensor) + program->tensors[i].size + BUFFER_ALIGN;
	return size;
}

static size_t longest_name(const struct rtd_tensor *tensor)
{
	size_t n = strlen(tensor->name), source = tensor->source ? strlen(tensor->source) : 0;

	return n > source ? n : source;
}

uint64_t rtd_program_answer_size(const struct rtd_program *program)
{
	uint64_t size = ANSWER_FRAME;

	for (unsigned int i = 0; i < program->ntensors; i++)
		if (program->tensors[i].output)
			size += program->tensors[i].size + longest_name(&program->tensors[i]) +
				ANSWER_FIELD;
	return size;
}

static NRT_STATUS slot_tensor(struct rtd_slot *slot, unsigned int i)
{
	const struct rtd_tensor *tensor = &slot->program->tensors[i];
	struct slot_tensor *st = &slot->tensors[i];
	size_t size = tensor->size ? tensor->size : 1;
	NRT_STATUS status;

	if (posix_memalign(&st->buffer, BUFFER_ALIGN, size)) {
		st->buffer = NULL;
		return NRT_RESOURCE;
	}
	/* an output that the chip did not write must not show another client's data */
	memset(st->buffer, 0, size);
	status = nrt_tensor_allocate_empty(tensor->name, &st->tensor);
	if (!status)
		status = nrt_tensor_attach_buffer(st->tensor, st->buffer, tensor->size);
	if (!status)
		status = nrt_add_tensor_to_tensor_set(tensor->output ? slot->outputs : slot->inputs,
						      tensor->name, st->tensor);
	return status;
}

int rtd_slot_new(struct rtd_program *program, struct rtd_slot **out, struct rtd_err *err)
{
	struct rtd_slot *slot;
	NRT_STATUS status;

	slot = calloc(1, sizeof(*slot) + program->ntensors * sizeof(slot->tensors[0]));
	if (!slot)
		return rtd_fail(err, NERR_RESOURCE, "TDRV", "out of memory");
	slot->program = program;
	status = nrt_allocate_tensor_set(&slot->inputs);
	if (!status)
		status = nrt_allocate_tensor_set(&slot->outputs);
	for (unsigned int i = 0; !status && i < program->ntensors; i++)
		status = slot_tensor(slot, i);
	if (status) {
		engine_fail(err, status, "no buffers for an inference");
		rtd_slot_free(slot);
		return err->code;
	}
	*out = slot;
	return NERR_OK;
}

void rtd_slot_free(struct rtd_slot *slot)
{
	if (slot->inputs)
		nrt_destroy_tensor_set(&slot->inputs);
	if (slot->outputs)
		nrt_destroy_tensor_set(&slot->outputs);
	for (unsigned int i = 0; i < slot->program->ntensors; i++) {
		if (slot->tensors[i].tensor)
			nrt_tensor_free(&slot->tensors[i].tensor);
		free(slot->tensors[i].buffer);
	}
	free(slot);
}

void *rtd_slot_buffer(struct rtd_slot *slot, unsigned int tensor)
{
	return slot->tensors[tensor].buffer;
}

int rtd_slot_execute(struct rtd_slot *slot, void (*begun)(void *arg), void *arg, bool *fatal,
		     uint64_t *cycles, struct rtd_err *err)
{
	struct rtd_program *program = slot->program;
	NRT_STATUS status;

	nrtx_when_begun(begun, arg);
	status = nrtx_execute(program->model, slot->inputs, slot->outputs);
	nrtx_when_begun(NULL, NULL);

	*fatal = false;
	*cycles = nrtx_last_cycles();
	if (!status)
		return NERR_OK;
	engine_fail(err, status, "execute");
	if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
		return rtd_fail(err, err->code, "TDRV",
				"Error notifications found on NC %u, "
				"INFER_ERROR_SUBTYPE_NUMERICAL: NaN in an output",
				program->nc);
	/* libnrt resets the core itself after an error; this status says that the reset failed */
	if (status == NRT_EXEC_UNIT_UNRECOVERABLE)
		*fatal = nrtx_reset_cores(program->nc, program->nc_count) != NRT_SUCCESS;
	return err->code;
}

/* ---- counters */

int rtd_engine_nc_counters(uint32_t nc, struct rtd_nc_counters *counters)
{
	struct nrtx_core_counters from;
	struct rtd_engine_counters *to[] = {
		[NEURON_ENG_PE] = &counters->pe,
		[NEURON_ENG_ACT] = &counters->act,
		[NEURON_ENG_POOL] = &counters->pool,
	};

	NRT_STATUS status = nrtx_core_counters(nc, &from);

	if (status)
		return nerr_of(status);
	for (unsigned int i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		to[i]->idle = from.engine[i].idle_cycles;
		to[i]->wait = from.engine[i].wait_cycles;
		to[i]->executed = from.engine[i].insns;
	}
	counters->pe_matmul_wait = from.engine[NEURON_ENG_PE].matmul_wait_cycles;
	counters->pe_matmul_executed = from.engine[NEURON_ENG_PE].matmul_insns;
	counters->macs = from.macs;
	counters->time_in_use = from.time_in_use_us;
	return NERR_OK;
}

int rtd_engine_core_counters(uint32_t nc, struct rtd_core_counters *counters)
{
	static_assert(NEURON_ENGINES_MAX <= RTD_MAX_ENGINES, "room for all engines");
	struct nrtx_core_counters from;
	NRT_STATUS status = nrtx_core_counters(nc, &from);

	memset(counters, 0, sizeof(*counters));
	if (!status)
		status = nrtx_core_location(nc, &counters->device, &counters->nc);
	if (status)
		return nerr_of(status);
	counters->nengines = from.engines;
	counters->macs = from.macs;
	for (unsigned int i = 0; i < from.engines; i++)
		counters->engine[i] = (struct rtd_engine_time){
			.name = from.engine[i].name,
			.executed = from.engine[i].insns,
			.busy = from.engine[i].busy_cycles,
			.idle = from.engine[i].idle_cycles,
			.wait = from.engine[i].wait_cycles,
		};
	return NERR_OK;
}

int rtd_engine_hw_counters(struct rtd_engine *engine, uint32_t device,
			   struct rtd_hw_counters *counters)
{
	struct nrtx_error_counters from;
	NRT_STATUS status = nrtx_error_counters(device, &from);

	if (status)
		return nerr_of(status);
	counters->sram_ecc_uncorr = from.sram_uncorrected;
	counters->sram_ecc_corr = from.sram_corrected;
	counters->mem_ecc_uncorr = 0;
	counters->mem_ecc_corr = 0;
	for (unsigned int i = 0; i < from.memories; i++) {
		counters->mem_ecc_uncorr += from.memory[i].uncorrected;
		counters->mem_ecc_corr += from.memory[i].corrected;
	}
	return NERR_OK;
}

int rtd_engine_memory(struct rtd_engine *engine, uint32_t device,
		      struct rtd_memory_counters *memory)
{
	struct nrtx_core_counters from;
	uint32_t index, nc, per_device;
	NRT_STATUS status = nrtx_cores_per_device(&per_device);

	if (status)
		return nerr_of(status);
	memset(memory, 0, sizeof(*memory));
	for (unsigned int i = 0; i < engine->nc_count; i++) {
		if (nrtx_core_location(i, &index, &nc) || index != device)
			continue;
		status = nrtx_core_counters(i, &from);
		if (status)
			return nerr_of(status);
		memory->host += from.mem_host;
		/* the first half of a chip's cores works in the first channel */
		memory->dram[nc >= per_device / 2] += from.mem_device;
	}
	return NERR_OK;
}
