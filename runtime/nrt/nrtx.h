/* SPDX-License-Identifier: MIT */
/*
 * libnrt's additions for our own programs (neuron-rtd, neuron-run, tests): error texts, counters,
 * the machine below, loading onto an explicit range of cores. Exported in the version node
 * NRTX_0.1 and not a public interface. Never NULL strings; nothing is printed.
 */
#ifndef NRTX_H
#define NRTX_H

#include "neuron/hw/target.h"
#include "nrt/nrt.h"

/*
 * Why the calling thread's last failing call failed: lines "[MODULE:function] text", outermost
 * first, each ended by '\n'; "" when the last call succeeded. Valid until the thread's next call.
 */
const char *nrtx_error_details(void);

/* "invalid argument or model", ...; and back from a name: false if there is no such status */
const char *nrtx_status_text(NRT_STATUS status);
bool nrtx_status_from_str(const char *name, NRT_STATUS *status);

/*
 * Choose the machine before anything else touches it: "node" (/dev/neuron*), "emu:inf1.6xlarge"
 * (chips in this process). Without a call: the environment's NEURON_EMU, else "node".
 * NRT_INVALID for a name that is not known or once a machine is in use.
 */
NRT_STATUS nrtx_machine_set(const char *name);

/* Devices of the machine, before nrt_init as well */
struct nrtx_bdf {
	uint32_t domain;
	uint8_t bus, slot, func;
};
NRT_STATUS nrtx_device_count(uint32_t *devices);
NRT_STATUS nrtx_cores_per_device(uint32_t *cores);
NRT_STATUS nrtx_device_bdf(uint32_t device, struct nrtx_bdf *bdf);
/* Core vnc of this process: its device, and its number there */
NRT_STATUS nrtx_core_location(uint32_t vnc, uint32_t *device, uint32_t *nc);
/* What a device's memories counted of their errors */
struct nrtx_error_counters {
	uint32_t sram_corrected, sram_uncorrected;
	uint32_t memories;
	struct {
		uint32_t corrected, uncorrected;
	} memory[4];
};
NRT_STATUS nrtx_error_counters(uint32_t device, struct nrtx_error_counters *counters);

struct nrtx_load_params {
	uint32_t start_core; /* first core; a model takes nrtx_model_cores() of them */
	uint32_t core_count; /* the range it must fit in; 0: as many as it needs */
	uint32_t timeout_ms; /* of one execution; 0: NEURON_RT_EXEC_TIMEOUT, else 30 s */
	/*
	 * Whose model it is; 0: this process's. What models of one owner leave in a core those of
	 * another one do not find: the core is reset between them
	 */
	uint64_t owner;
	/*
	 * NULL, or asked before reading the NEFF takes host memory: bytes, below 0 so many given
	 * back. Not 0: the load ends with NRT_FAIL_HOST_MEM_ALLOC. What is not given back when the
	 * load returns is the caller's affair.
	 */
	int (*account)(void *arg, int64_t bytes);
	void *account_arg;
};
NRT_STATUS nrtx_load(const void *neff_bytes, size_t size, const struct nrtx_load_params *params,
		     nrt_model_t **model);
/* The model's name and uuid from the NEFF header, and its version */
struct nrtx_model_info {
	char name[257];
	uint8_t uuid[16];
	uint32_t cores, start_core;
	uint64_t version_major, version_minor;
};
NRT_STATUS nrtx_model_info(const nrt_model_t *model, struct nrtx_model_info *info);

/*
 * From now on (on) no execution of the model begins, and those under way end soon, their cores
 * reset: they give NRT_EXEC_COMPLETED_WITH_ERR, "interrupted". Any thread; nobody is waited for.
 * Off: as after the load. An execution that was at its end may still succeed.
 */
NRT_STATUS nrtx_interrupt(nrt_model_t *model, bool on);

/* Stop whatever the cores run and put them back into their first state; models stay loaded */
NRT_STATUS nrtx_reset_cores(uint32_t start_core, uint32_t core_count);

/* Per engine, as the target numbers them: from the chip's own counters; cycles are virtual */
struct nrtx_engine_counters {
	uint64_t insns, busy_cycles, idle_cycles, wait_cycles, matmul_insns, matmul_wait_cycles;
};
struct nrtx_core_counters {
	struct nrtx_engine_counters engine[NEURON_ENGINES_MAX];
	uint64_t macs;
	/* this process's */
	uint64_t time_in_use_us;
	uint64_t infer_completed, infer_num_err, infer_err, infer_timeout, infer_bad_input;
	uint64_t latency_device_us, latency_total_us; /* sums */
	uint64_t mem_host, mem_device; /* bytes held by models and tensors */
};
NRT_STATUS nrtx_core_counters(uint32_t vnc, struct nrtx_core_counters *counters);

struct nrtx_model_counters {
	uint64_t infers, failed;
	uint64_t latency_device_us,
		latency_total_us; /* sums; device: between start and notification */
	uint64_t last_latency_device_us, last_latency_total_us;
	uint64_t macs_per_infer; /* by the program */
};
NRT_STATUS nrtx_model_counters(const nrt_model_t *model, struct nrtx_model_counters *counters);

#endif
