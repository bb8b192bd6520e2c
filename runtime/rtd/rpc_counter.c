// SPDX-License-Identifier: MIT
/* Counters of cores, chips and the daemon itself */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "log.h"
#include "rpc.h"

/* ---- cores */

static int nc_fill(uint32_t nc, Nrt__NcCounters *to)
{
	struct rtd_nc_counters from = { 0 };
	int code = rtd_engine_nc_counters(nc, &from);

	nrt__nc_counters__init(to);
	to->virtual_nc_id = nc;
	to->pe_num_idle_cycles = from.pe.idle;
	to->pe_num_wait_event_cycles = from.pe.wait;
	to->pe_matmul_num_wait_event_cycles = from.pe_matmul_wait;
	to->pe_num_executed_instr = from.pe.executed;
	to->pe_matmul_num_executed_instr = from.pe_matmul_executed;
	to->pool_num_idle_cycles = from.pool.idle;
	to->pool_num_wait_event_cycles = from.pool.wait;
	to->pool_num_executed_instr = from.pool.executed;
	to->act_num_idle_cycles = from.act.idle;
	to->act_num_wait_event_cycles = from.act.wait;
	to->act_num_executed_instr = from.act.executed;
	to->macs_count = from.macs;
	return code;
}

static int nc_check(struct rtd *rtd, uint32_t nc, struct rtd_err *err)
{
	if (rtd_ready(rtd, err))
		return err->code;
	if (nc >= rtd_engine_nc_count(rtd->engine))
		return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find VNC: %u", nc);
	return NERR_OK;
}

void rtd_rpc_nc_counters(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t nc = ((const Nrt__ReadNcCountersRequest *)message)->vnc_id;
	Nrt__ReadNcCountersResponse resp = NRT__READ_NC_COUNTERS_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	Nrt__NcCounters counters;
	struct rtd_err err = { 0 };
	Nrt__Status status;
	int code;

	if (!nc_check(rtd, nc, &err)) {
		code = nc_fill(nc, &counters);
		if (code)
			rtd_fail(&err, code, "TDRV", "counters of VNC %u cannot be read", nc);
		else
			resp.nc_counters = &counters;
	}
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

void rtd_rpc_nc_time_in_use(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t nc = ((const Nrt__ReadNcTimeInUseRequest *)message)->vnc_id;
	Nrt__ReadNcTimeInUseResponse resp = NRT__READ_NC_TIME_IN_USE_RESPONSE__INIT;
	Nrt__NcTimeInUse time = NRT__NC_TIME_IN_USE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_nc_counters counters = { 0 };
	struct rtd_err err = { 0 };
	Nrt__Status status;
	int code;

	if (!nc_check(rtd, nc, &err)) {
		code = rtd_engine_nc_counters(nc, &counters);
		if (code)
			rtd_fail(&err, code, "TDRV", "counters of VNC %u cannot be read", nc);
		time.virtual_nc_id = nc;
		time.time_in_use = counters.time_in_use;
		resp.nc_time_in_use = &time;
	}
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

/* ---- the daemon */

#define SUBTYPES 6
#define STATUSES 6

/* The message and everything its pointers point at */
struct nmgr_storage {
	Nrt__NmgrCounters counters;
	Nrt__InferErrorSubtypeCount subtype[SUBTYPES], *subtype_list[SUBTYPES];
	Nrt__InferStatusCounts result[STATUSES], *result_list[STATUSES];
};

static void nmgr_totals(Nrt__NmgrCounters *to, const struct rtd_counters *from)
{
	to->infer_queue_drop_count = from->queue_drop;
	to->infer_count = from->infer;
	to->model_start_count = from->start;
	to->model_stop_count = from->stop;
	to->model_load_count = from->load;
	to->model_unload_count = from->unload;
	to->neff_version_max_major = from->max_major;
	to->neff_version_max_minor = from->max_minor;
	to->neff_version_min_major = from->min_major;
	to->neff_version_min_minor = from->min_minor;
	to->neff_size_bytes_max = from->max_size;
	to->neff_num_ncs_max = from->max_ncs;
}

static void nmgr_fill(struct rtd *rtd, struct nmgr_storage *storage)
{
	struct rtd_counters c;

	pthread_mutex_lock(&rtd->lock);
	c = rtd->counters;
	pthread_mutex_unlock(&rtd->lock);

	const uint32_t subtype[SUBTYPES] = { 0,		  c.err_numerical,
					     c.err_model, c.err_transient,
					     c.err_hw,	  c.err_rt };
	const struct {
		Nrt__InferStatus id;
		uint32_t count;
	} result[STATUSES] = {
		{ NRT__INFER_STATUS__IST_OK, c.ok },
		{ NRT__INFER_STATUS__IST_COMPLETED_WITH_NUM_ERR, c.num_err },
		{ NRT__INFER_STATUS__IST_COMPLETED_WITH_ERR, c.with_err },
		{ NRT__INFER_STATUS__IST_BAD_INPUT, c.bad_input },
		{ NRT__INFER_STATUS__IST_TIMEOUT, c.timeout },
		{ NRT__INFER_STATUS__IST_UNKNOWN, c.unknown },
	};

	nrt__nmgr_counters__init(&storage->counters);
	nmgr_totals(&storage->counters, &c);

	for (unsigned int i = 0; i < SUBTYPES; i++) {
		nrt__infer_error_subtype_count__init(&storage->subtype[i]);
		storage->subtype[i].error_subtype = i;
		storage->subtype[i].count = subtype[i];
		storage->subtype_list[i] = &storage->subtype[i];
	}

	for (unsigned int i = 0; i < STATUSES; i++) {
		nrt__infer_status_counts__init(&storage->result[i]);
		storage->result[i].infer_status = result[i].id;
		storage->result[i].count = result[i].count;
		storage->result_list[i] = &storage->result[i];
	}

	storage->counters.infer_error_subtype_count = storage->subtype_list;
	storage->counters.n_infer_error_subtype_count = SUBTYPES;
	storage->counters.infer_status_counts = storage->result_list;
	storage->counters.n_infer_status_counts = STATUSES;
}

void rtd_rpc_inference_counters(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__ReadInferenceCountersResponse resp = NRT__READ_INFERENCE_COUNTERS_RESPONSE__INIT;
	struct nmgr_storage storage;

	nmgr_fill(rtd_call_rtd(call), &storage);
	resp.nmgr_counters = &storage.counters;
	rtd_call_reply(call, &resp.base);
}

/* ---- everything */

struct system_storage {
	Nrt__SystemCounters counters;
	Nrt__MemoryCounters memory[RTD_MAX_DEVICES], *list[RTD_MAX_DEVICES];
};

static void system_fill(struct rtd *rtd, struct system_storage *storage)
{
	struct rtd_memory_counters memory;
	const struct rtd_device *devices;
	unsigned int n = rtd_engine_devices(rtd->engine, &devices);

	nrt__system_counters__init(&storage->counters);
	rtd_log_count(&storage->counters.num_logs_error, &storage->counters.num_logs_warning);
	for (unsigned int i = 0; i < n; i++) {
		nrt__memory_counters__init(&storage->memory[i]);
		storage->list[i] = &storage->memory[i];
		storage->memory[i].infa_id = devices[i].index;
		if (rtd_engine_memory(rtd->engine, devices[i].index, &memory))
			continue;
		storage->memory[i].mem_used_host = memory.host;
		storage->memory[i].mem_used_infa_0 = memory.dram[0];
		storage->memory[i].mem_used_infa_1 = memory.dram[1];
	}
	storage->counters.memory_counters = storage->list;
	storage->counters.n_memory_counters = n;
}

static int all_ncs(struct rtd *rtd, Nrt__ReadAllCountersResponse *resp, Nrt__NcCounters *ncs,
		   struct rtd_err *err)
{
	unsigned int n = rtd_engine_nc_count(rtd->engine);
	int code;

	for (unsigned int i = 0; i < n; i++) {
		code = nc_fill(i, &ncs[i]);
		if (code)
			return rtd_fail(err, code, "TDRV", "counters of VNC %u cannot be read", i);
		resp->nc_counters[resp->n_nc_counters++] = &ncs[i];
	}
	return NERR_OK;
}

void rtd_rpc_all_counters(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__ReadAllCountersResponse resp = NRT__READ_ALL_COUNTERS_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	Nrt__NcCounters *ncs = NULL;
	struct rtd_err err = { 0 };
	struct system_storage sys;
	struct nmgr_storage nmgr;
	Nrt__Status status;
	unsigned int n;

	if (!rtd_ready(rtd, &err)) {
		n = rtd_engine_nc_count(rtd->engine);
		ncs = calloc(n, sizeof(*ncs));
		resp.nc_counters = calloc(n, sizeof(*resp.nc_counters));
		nmgr_fill(rtd, &nmgr);
		system_fill(rtd, &sys);
		resp.nmgr_counters = &nmgr.counters;
		resp.system_counters = &sys.counters;
		if (ncs && resp.nc_counters)
			all_ncs(rtd, &resp, ncs, &err);
		else
			rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	}

	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
	free(resp.nc_counters);
	free(ncs);
}

/* ---- chips */

static void hw_fill(struct rtd *rtd, const struct rtd_device *device, Nrt__HwCounters *to,
		    struct rtd_err *err)
{
	struct rtd_hw_counters from = { 0 };
	int code = rtd_engine_hw_counters(rtd->engine, device->index, &from);

	nrt__hw_counters__init(to);
	to->bdf = (char *)device->bdf;
	to->device_index = device->index;
	to->mem_ecc_corr = from.mem_ecc_corr;
	to->mem_ecc_uncorr = from.mem_ecc_uncorr;
	to->sram_ecc_corr = from.sram_ecc_corr;
	to->sram_ecc_uncorr = from.sram_ecc_uncorr;
	pthread_mutex_lock(&rtd->lock);
	to->transfer_adjustment_cnt = rtd->adjustment;
	pthread_mutex_unlock(&rtd->lock);
	if (code)
		rtd_fail(err, code, "TDRV", "counters of device %u cannot be read", device->index);
}

/* The chip's transfers need no adjustment: the number is kept for the counters. */
void rtd_rpc_adjust(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__SetStaticTransferAdjustmentRequest *req = (const void *)message;
	Nrt__SetStaticTransferAdjustmentResponse resp =
		NRT__SET_STATIC_TRANSFER_ADJUSTMENT_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rtd_ready(rtd, &err))
		rtd_adjust_transfers(rtd, rtd_call_peer(call), req->transfer_adjust_cnt, &err);
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

static const struct rtd_device *hw_device(struct rtd *rtd, const Nrt__GetHwCountersRequest *req)
{
	const struct rtd_device *devices;
	unsigned int n = rtd_engine_devices(rtd->engine, &devices);

	for (unsigned int i = 0; i < n; i++) {
		if (req->device_case == NRT__GET_HW_COUNTERS_REQUEST__DEVICE_BDF) {
			if (!strcmp(req->bdf, devices[i].bdf) ||
			    !strcmp(req->bdf, devices[i].bdf + 5))
				return &devices[i];
		} else if (devices[i].index == req->device_id) {
			return &devices[i];
		}
	}
	return NULL;
}

static void refuse_device(const Nrt__GetHwCountersRequest *req, struct rtd_err *err)
{
	if (req->device_case == NRT__GET_HW_COUNTERS_REQUEST__DEVICE_BDF)
		rtd_fail(err, NERR_INVALID, "NRTD", "no device at %s", req->bdf);
	else
		rtd_fail(err, NERR_INVALID, "NRTD", "no device %u", req->device_id);
}

void rtd_rpc_hw_counters(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__GetHwCountersResponse resp = NRT__GET_HW_COUNTERS_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	const struct rtd_device *device = NULL;
	Nrt__HwCounters counters;
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rtd_ready(rtd, &err)) {
		device = hw_device(rtd, (const void *)message);
		if (!device)
			refuse_device((const void *)message, &err);
	}
	if (device) {
		hw_fill(rtd, device, &counters, &err);
		resp.counters = &counters;
	}
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

void rtd_rpc_all_hw_counters(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__GetAllHwCountersResponse resp = NRT__GET_ALL_HW_COUNTERS_RESPONSE__INIT;
	Nrt__HwCounters counters[RTD_MAX_DEVICES], *list[RTD_MAX_DEVICES];
	struct rtd *rtd = rtd_call_rtd(call);
	const struct rtd_device *devices;
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rtd_ready(rtd, &err)) {
		resp.n_counters = rtd_engine_devices(rtd->engine, &devices);
		resp.counters = list;
		for (size_t i = 0; i < resp.n_counters; i++) {
			hw_fill(rtd, &devices[i], &counters[i], &err);
			list[i] = &counters[i];
		}
	}
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}
