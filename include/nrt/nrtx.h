/* SPDX-License-Identifier: MIT */
/*
 * libnrt's additions for the project's own programs (neuron-rtd, neuron-run, tests): error texts,
 * counters, the choice of the machine, loading onto an explicit range of cores. They are exported
 * in the version node NRTX_0.1 and are not a public interface. No function returns a NULL string or
 * prints.
 */
#ifndef NRTX_H
#define NRTX_H

#include "neuron/hw/target.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"

/*
 * The reasons of the calling thread's last failing call: lines "[MODULE:function] text", outermost
 * first, each ended by '\n'; "" when the last call succeeded. Valid until the thread's next call.
 */
const char *nrtx_error_details(void);

/*
 * The text of a status ("invalid argument or model", ...), and the status of a name; false if there
 * is no such status
 */
const char *nrtx_status_text(NRT_STATUS status);
bool nrtx_status_from_str(const char *name, NRT_STATUS *status);

/*
 * Chooses the machine before anything else uses it: "node" (/dev/neuron*) or "emu:inf1.6xlarge"
 * (chips in this process). Without a call it is what NEURON_EMU in the environment says, else
 * "node". NRT_INVALID for an unknown name, or once a machine is in use.
 */
NRT_STATUS nrtx_machine_set(const char *name);

/* The devices of the machine; available before nrt_init as well */
struct nrtx_bdf {
	uint32_t domain;
	uint8_t bus, slot, func;
};
NRT_STATUS nrtx_cores_per_device(uint32_t *cores);
NRT_STATUS nrtx_device_bdf(uint32_t device, struct nrtx_bdf *bdf);
/* The device of core vnc of this process, and the core's number on it */
NRT_STATUS nrtx_core_location(uint32_t vnc, uint32_t *device, uint32_t *nc);
/* The errors that a device's memories have counted */
struct nrtx_error_counters {
	uint32_t sram_corrected, sram_uncorrected;
	uint32_t memories;
	struct {
		uint32_t corrected, uncorrected;
	} memory[4];
};
NRT_STATUS nrtx_error_counters(uint32_t device, struct nrtx_error_counters *counters);

/* A NEFF that was read and checked once, to be loaded any number of times */
typedef struct nrtx_neff nrtx_neff_t;

struct nrtx_load_params {
	uint32_t start_core; /* the first core; a model takes nrt_get_model_nc_count() of them */
	uint32_t core_count; /* the number of cores that it must fit in; 0: as many as it needs */
	uint32_t timeout_ms; /* of one execution; 0: the default (docs/nrt.md) */
	/* The least default; 0: NEURON_RT_EXEC_TIMEOUT is the default, or 30 s the least one */
	uint32_t default_timeout_ms;
	/*
	 * The owner of the model; 0: this process. Between models of two owners a core is reset, so
	 * that neither finds what the other left.
	 */
	uint64_t owner;
	/*
	 * A number for whose model this is: what custom operators of all models of one print goes
	 * to the log as far as that one's share reaches (docs/nrt.md). 0: this process's own, all
	 * of it does
	 */
	uint64_t user;
	bool numerical_errors; /* executions tell of NaN in outputs, whatever the environment says */
	/*
	 * The caller's account, or NULL. It is asked before reading the NEFF takes host memory,
	 * with the number of bytes; negative numbers are given back. If it does not return 0, the
	 * load ends with NRT_FAIL_HOST_MEM_ALLOC. Bytes that are not given back when the load
	 * returns are the caller's to account for.
	 */
	int (*account)(void *arg, int64_t bytes);
	void *account_arg;
	/*
	 * Whether nobody wants the model any more, or NULL. It is asked every few milliseconds of
	 * reading and loading, without a lock of the library's; when it returns true, these end
	 * with NRT_FAILURE and the detail "cancelled".
	 */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;
	/*
	 * Of a model that `ranks` cores execute together: which of them this is. The load waits for
	 * those of the others, which have the same `group` and file. 0: it is for one core alone
	 */
	uint32_t rank, ranks;
	uint64_t group;
	nrtx_neff_t *neff; /* what is loaded in place of neff_bytes; NULL: these */
	/*
	 * Of nrtx_neff_copy(): whoever made the model has it checked by neff_check(), maybe
	 * meanwhile, and unloads what is loaded of it if that fails.
	 */
	bool checked;
};
NRT_STATUS nrtx_load(const void *neff_bytes, size_t size, const struct nrtx_load_params *params,
		     nrt_model_t **model);
/*
 * Reads a NEFF for loads to come; of the parameters those who are asked count alone. It takes about
 * what the account was asked for until it is freed. Any number of threads may load it at once.
 */
NRT_STATUS nrtx_neff_read(const void *neff_bytes, size_t size,
			  const struct nrtx_load_params *params, nrtx_neff_t **neff);
/*
 * nrtx_neff_read() from an open file of this size, which is never in memory as a whole
 * (neff_read_file)
 */
NRT_STATUS nrtx_neff_read_file(int fd, size_t size, const struct nrtx_load_params *params,
			       nrtx_neff_t **neff);
/*
 * The same of a model in memory (neff.h), as if neff_write had made a file of it. It is only read,
 * until this returns; whoever made it has libneff of the same version.
 */
struct neff_model;
NRT_STATUS nrtx_neff_copy(const struct neff_model *model, const struct nrtx_load_params *params,
			  nrtx_neff_t **neff);
/* The number of ranks that execute it together; 0: it is for one core alone */
uint32_t nrtx_neff_ranks(const nrtx_neff_t *neff);
/* No load of it may begin any more. Loads in progress go on, and models loaded from it stay. */
void nrtx_neff_free(nrtx_neff_t *neff);
/* The model's name, uuid and version from the NEFF header, and its cores */
struct nrtx_model_info {
	char name[257];
	uint8_t uuid[16];
	uint32_t cores, start_core;
	uint64_t version_major, version_minor;
	uint32_t timeout_ms; /* of one execution */
};
NRT_STATUS nrtx_model_info(const nrt_model_t *model, struct nrtx_model_info *info);
/*
 * The name that an input or output of the model has in what was compiled; NULL: the NEFF does not
 * say, or has no such tensor. Valid until the model is unloaded.
 */
const char *nrtx_tensor_source(const nrt_model_t *model, const char *name);

/* nrt_execute at once, whatever NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS says */
NRT_STATUS nrtx_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			nrt_tensor_set_t *outputs);

/*
 * Functions of the host's that programs call (docs/neff.md, Calls of the host): the function that
 * this process has for a target, until another one or NULL takes its place. Models that call a
 * target are loaded only when there is one. It is called by the thread that executes the model,
 * with the index that the program says, and fills the results, whose bytes are 0 before; not 0
 * ends the execution with NRT_FAILURE and the message. It may execute other models, on the same
 * core too. type is XLA's name of the elements' type ("f32", "pred"), which lie row-major.
 */
struct nrtx_host_array {
	const char *type;
	uint32_t ndim;
	const uint64_t *shape;
	void *data;
};
typedef int nrtx_host_function_t(void *arg, uint64_t index, uint32_t nin,
				 const struct nrtx_host_array *in, uint32_t nout,
				 const struct nrtx_host_array *out, char *message, size_t size);
NRT_STATUS nrtx_host_function(const char *target, nrtx_host_function_t *call, void *arg);

/*
 * nrt_build_global_comm() with a name of the caller's in place of NEURON_RT_ROOT_COMM_ID (NULL: by
 * that), and of processes, say, rather than cores. NRT_SUCCESS too if it was done before
 */
NRT_STATUS nrtx_meet(const char *root, uint32_t member, uint32_t count);

/*
 * In place of an execution of a model that several ranks execute together: this rank cannot, and
 * the others need not wait for it. NRT_SUCCESS: they know
 */
NRT_STATUS nrtx_execute_failed(nrt_model_t *model);

/*
 * What the calling thread's next execution calls once, when a core has been started and before the
 * thread waits for it: for what would keep the core waiting. Where another thread starts the cores
 * (pipelines), or none is started, the call that replaces this one (by NULL: nothing) makes up for
 * it.
 */
void nrtx_when_begun(void (*call)(void *arg), void *arg);

/*
 * With on, no execution of the model begins any more, and those in progress end soon by a reset of
 * their cores, with NRT_EXEC_COMPLETED_WITH_ERR and the detail "interrupted". Without on, the model
 * runs again as after its load. Any thread may call this, and it does not wait. An execution that
 * was about to end may still succeed.
 */
NRT_STATUS nrtx_interrupt(nrt_model_t *model, bool on);

/*
 * The seed by which executions of the model that begin from now on round at random, if the
 * environment has this process round so; before, it is the environment's. Another seed than the one
 * before begins its draws, the same one goes on with them. Any thread may call this, and it does
 * not wait.
 */
NRT_STATUS nrtx_model_seed(nrt_model_t *model, uint64_t seed);

/* Resets each of the cores when what it executes has ended; models stay loaded. */
NRT_STATUS nrtx_reset_cores(uint32_t start_core, uint32_t core_count);

/* The chip's own counters of one engine, numbered as in the target; cycles are virtual */
struct nrtx_engine_counters {
	const char *name; /* in NEFFs and profiles */
	uint64_t insns, busy_cycles, idle_cycles, wait_cycles, matmul_insns, matmul_wait_cycles;
};
struct nrtx_core_counters {
	unsigned int engines;
	struct nrtx_engine_counters engine[NEURON_ENGINES_MAX];
	uint64_t macs;
	/* the counters of this process */
	uint64_t time_in_use_us;
	uint64_t infer_completed, infer_num_err, infer_err, infer_timeout, infer_bad_input;
	uint64_t latency_device_us, latency_total_us; /* sums */
	uint64_t mem_host, mem_device; /* bytes held by models and tensors */
};
NRT_STATUS nrtx_core_counters(uint32_t vnc, struct nrtx_core_counters *counters);

struct nrtx_model_counters {
	uint64_t infers, failed;
	uint64_t latency_device_us,
		latency_total_us; /* sums; device: from the start to the notification */
	uint64_t last_latency_device_us, last_latency_total_us;
	uint64_t macs_per_infer; /* of its programs */
};
/*
 * How long the calling thread's last execution took the chip, in virtual cycles of the tensor
 * engine's clock (docs/isa.md, Costs); 0: not known, as of the first one of a core
 */
uint64_t nrtx_last_cycles(void);
uint64_t nrtx_last_ps(void); /* the same in picoseconds */
NRT_STATUS nrtx_model_counters(const nrt_model_t *model, struct nrtx_model_counters *counters);

#endif
