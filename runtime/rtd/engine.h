/* SPDX-License-Identifier: MIT */
/*
 * The chips as the daemon sees them: cores by number, programs with named tensors, one blocking
 * execution. This is a thin layer over libnrt; engine.c is the only file of the daemon that
 * includes its header. Functions may be called from any thread; a program has one execution at a
 * time on its first core.
 */
#ifndef RTD_ENGINE_H
#define RTD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define RTD_MAX_DIMS 16
/* The version of the RPC interface, which clients ask for; not the project's version */
#define RTD_VERSION_MAJOR 1
#define RTD_VERSION_MINOR 6
#define RTD_VERSION "1.6.0.0"

struct rtd_engine; /* all chips */
struct rtd_program; /* a NEFF loaded on cores */
struct nrtx_neff; /* a NEFF that was read and checked */
struct rtd_slot; /* buffers for one inference of a program */

struct rtd_device {
	uint32_t index;
	char bdf[16]; /* for example 0000:00:1f.0 */
	uint32_t nc_count, vnc_start;
};

struct rtd_tensor {
	const char *name;
	const char *source; /* its name in the model that was compiled, or NULL */
	bool output;
	uint32_t dtype;
	uint64_t size; /* bytes */
	uint32_t ndim;
	uint64_t shape[RTD_MAX_DIMS];
};

/* Values of a NEFF's header, available before anything is loaded */
struct rtd_neff_info {
	uint64_t major, minor;
	uint32_t nc_normal; /* cores of all nodes */
	uint32_t nc_shared; /* cores of the largest node */
	char name[257];
	char uuid[33];
};

struct rtd_nc_counters {
	struct rtd_engine_counters {
		uint64_t idle, wait, executed;
	} pe, act, pool;
	uint64_t pe_matmul_wait, pe_matmul_executed, macs;
	uint64_t time_in_use; /* microseconds */
};

/* Counters of all engines of a core, by their names; in virtual cycles since the chip was made */
#define RTD_MAX_ENGINES 8
struct rtd_core_counters {
	unsigned int nengines;
	struct rtd_engine_time {
		const char *name;
		uint64_t executed, busy, idle, wait;
	} engine[RTD_MAX_ENGINES];
	uint64_t macs;
	uint32_t device, nc; /* where the core is */
};

struct rtd_hw_counters {
	uint32_t mem_ecc_corr, mem_ecc_uncorr, sram_ecc_corr, sram_ecc_uncorr;
};

struct rtd_memory_counters {
	uint64_t host, dram[2];
};

/*
 * Opens the chips: devices is an increasing contiguous list of indices, ndevices 0 means all. After
 * a failure the daemon goes on without chips.
 */
int rtd_engine_open(const uint32_t *devices, unsigned int ndevices, struct rtd_engine **engine,
		    struct rtd_err *err);
void rtd_engine_close(struct rtd_engine *engine);
/*
 * The index of the chip at a PCI address (in any usual spelling), or -ENODEV; to be called before
 * open
 */
int rtd_engine_find_bdf(const char *bdf);
unsigned int rtd_engine_nc_count(const struct rtd_engine *engine);
unsigned int rtd_engine_devices(const struct rtd_engine *engine, const struct rtd_device **devices);
bool rtd_engine_in_process(void);

/* A NEFF: its bytes, or NULL and an open file */
struct rtd_neff {
	const void *bytes;
	int fd;
	size_t size;
};
int rtd_neff_inspect(const struct rtd_neff *neff, struct rtd_neff_info *info, struct rtd_err *err);

/*
 * Reads and checks a NEFF for any number of loads. The account is asked before that takes memory
 * (bytes; negative ones are given back); if it does not return 0, the reading ends.
 */
struct rtd_account {
	int (*ask)(void *arg, int64_t bytes);
	bool (*cancelled)(void *arg); /* whether nobody wants the model any more */
	void *arg;
};
int rtd_neff_read(const struct rtd_neff *neff, const struct rtd_account *account,
		  struct nrtx_neff **out, struct rtd_err *err);
void rtd_neff_free(struct nrtx_neff *neff); /* programs loaded from it stay; NULL: nothing */

/*
 * Where a program is placed: cores [nc, nc + nc_count), and the timeout of one execution in
 * milliseconds
 */
struct rtd_placement {
	uint32_t nc, nc_count;
	uint32_t timeout_ms; /* 0: at least default_timeout_ms, more if the program is long */
	uint32_t default_timeout_ms;
	bool numerical_errors; /* NaN in an output is told */
	uint64_t owner; /* of what it leaves in a core, which no other owner finds; not 0 */
	uint64_t user; /* whose share of the log it prints into; not 0 */
};
/* The timeout of one execution, in milliseconds */
uint32_t rtd_program_timeout(const struct rtd_program *program);
/* Loads a program; the account is only asked whether to go on. */
int rtd_program_load(struct nrtx_neff *neff, const struct rtd_placement *placement,
		     const struct rtd_account *account, struct rtd_program **program,
		     struct rtd_err *err);
void rtd_program_unload(struct rtd_program *program);
/*
 * With on, no execution of the program begins, and those in progress end soon with an error;
 * without, it runs again as after its load. Does not wait.
 */
void rtd_program_interrupt(struct rtd_program *program, bool on);
/* The seed by which executions that begin round at random, where they do. Does not wait. */
void rtd_program_seed(struct rtd_program *program, uint32_t seed);
unsigned int rtd_program_tensors(const struct rtd_program *program, const struct rtd_tensor **list);

/* The bytes of a slot's buffers, and at most the bytes of a message with all outputs */
uint64_t rtd_program_slot_size(const struct rtd_program *program);
uint64_t rtd_program_answer_size(const struct rtd_program *program);

int rtd_slot_new(struct rtd_program *program, struct rtd_slot **slot, struct rtd_err *err);
void rtd_slot_free(struct rtd_slot *slot);
void *rtd_slot_buffer(struct rtd_slot *slot,
		      unsigned int tensor); /* index in rtd_program_tensors */
/*
 * Executes a slot, and calls begun, if it is not NULL, once when the cores have begun, or at the
 * end if they did not: NERR_OK, NERR_INFER_COMPLETED_WITH_NUM_ERR (outputs are there), or another
 * code. *fatal is set when the cores could not be reset and the program cannot run again. *cycles
 * is how long the chip took by its own clock; 0: not known.
 */
int rtd_slot_execute(struct rtd_slot *slot, void (*begun)(void *arg), void *arg, bool *fatal,
		     uint64_t *cycles, struct rtd_err *err);

/* Returns 0 or a NERR code */
int rtd_engine_nc_counters(uint32_t nc, struct rtd_nc_counters *counters);
int rtd_engine_core_counters(uint32_t nc, struct rtd_core_counters *counters);
int rtd_engine_hw_counters(struct rtd_engine *engine, uint32_t device,
			   struct rtd_hw_counters *counters);
int rtd_engine_memory(struct rtd_engine *engine, uint32_t device,
		      struct rtd_memory_counters *memory);

#endif
