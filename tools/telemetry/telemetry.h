/* SPDX-License-Identifier: MIT */
/*
 * What monitoring programs see of a machine at one moment: its chips and their counters, the
 * processes that use them with their datastores, processors and memory of the host. A snapshot is
 * plain values; rates are differences of two. Called by neuron-monitor and neuron-top.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include "neuron/hw/gen.h"
#include "uapi/neuron/neuron_nds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TM_DEVICES 64
#define TM_PROCESSES 64 /* of the machine; the driver serves 16 on a device */
#define TM_COUNTERS NDS_EXT_NC_COUNTER_LAST
#define TM_HOST_COUNTERS 5 /* NDS_ND_COUNTER_MEM_USAGE_CODE_HOST and those after it */

/* A subgraph of a loaded model on a core, and bytes by what they are for */
struct tm_node {
	uint32_t model, subgraph;
	unsigned nc;
	char name[256]; /* the model's; printable ASCII */
	uint8_t uuid[16];
	struct tm_node_memory {
		uint64_t code, tensors, constants, scratchpad, misc;
	} host, device;
};

/* One device's part of a process: its datastore there */
struct tm_part {
	unsigned device; /* place in the snapshot's list */
	uint64_t host[TM_HOST_COUNTERS];
	uint64_t core[NEURON_CORES_MAX][TM_COUNTERS];
	struct tm_node *node; /* the snapshot's */
	unsigned nodes;
};

struct tm_process {
	int pid;
	uint64_t started; /* ticks since boot: tells two processes of one number apart */
	char tag[256]; /* NEURON_PROCESS_TAG, or the pid; printable ASCII */
	char command[128];
	char version[32]; /* of its runtime */
	uint64_t user, system; /* ticks */
	uint64_t resident; /* bytes */
	struct tm_part *part;
	unsigned parts;
};

struct tm_ecc {
	uint64_t mem_corrected, mem_uncorrected, sram_corrected, sram_uncorrected;
};

struct tm_device {
	unsigned index;
	const struct neuron_gen *gen;
	unsigned cores; /* physical ones */
	uint64_t memory; /* bytes */
	struct tm_ecc ecc;
	int error; /* -errno: the device did not answer */
};

enum tm_cpu_field { TM_USER, TM_NICE, TM_SYSTEM, TM_IDLE, TM_IO_WAIT, TM_IRQ, TM_SOFT_IRQ, TM_CPU };

/* Processors of the host, in ticks; row 0 is their sum */
struct tm_cpus {
	unsigned n;
	uint64_t switches;
	struct {
		unsigned number;
		uint64_t ticks[TM_CPU];
		uint64_t all; /* with those that have no field, such as stolen ones */
	} * row; /* n + 1 */
};

struct tm_memory {
	uint64_t total, used, swap_total, swap_used; /* bytes */
};

struct tm_snapshot {
	unsigned users;
	double time; /* seconds, monotonic */
	struct tm_device device[TM_DEVICES];
	unsigned devices;
	unsigned cores_of_one; /* of a logical core; 1 where there are no such */
	struct tm_process process[TM_PROCESSES];
	unsigned processes;
	struct tm_cpus cpus;
	struct tm_memory memory;
	char error[256]; /* why there are no devices; empty: there are */
};

/* NULL: out of memory. What cannot be read is left zero, or has its error. */
struct tm_snapshot *tm_snapshot_take(void);
struct tm_snapshot *tm_snapshot_hold(struct tm_snapshot *snapshot);
void tm_snapshot_drop(struct tm_snapshot *snapshot); /* NULL is allowed */

/*
 * Closes the nodes that snapshots keep open, all at once: one after the other, as when a process
 * ends, they take a second each under the public driver.
 */
void tm_close(void);

double tm_now(void);

/* The devices and processes alone (chips.c), and the host alone (proc.c; normally "/proc") */
void tm_gather_chips(struct tm_snapshot *s);
void tm_gather_host(const char *proc, struct tm_snapshot *s);
/* Fills in what /proc tells of a process whose pid is set; false: it has ended */
bool tm_gather_process(const char *proc, struct tm_process *p);
/*
 * Copies a datastore's counters and its models; false: no runtime wrote it. Any bytes are accepted.
 */
bool tm_read_datastore(const void *nds, size_t size, unsigned cores, struct tm_process *p,
		       struct tm_part *part);

/* The number of cores of a logical one: NEURON_LOGICAL_NC_CONFIG; 0: the chip has no such */
unsigned tm_logical_cores(const struct neuron_gen *gen);

/* Programs' number of a core */
static inline unsigned tm_core_index(const struct tm_snapshot *s, unsigned device, unsigned nc)
{
	const struct tm_device *d = &s->device[device];

	return d->index * (d->cores / s->cores_of_one) + nc / s->cores_of_one;
}

/* The process p in another snapshot, or NULL */
const struct tm_process *tm_find(const struct tm_snapshot *s, const struct tm_process *p);
/* The process's part on the same device in another snapshot's, or NULL; p may be NULL */
const struct tm_part *tm_find_part(const struct tm_process *p, unsigned device);
/* The rise of a core's counter since before (NULL: since its beginning); 0 where it fell */
uint64_t tm_rise(const struct tm_part *before, const struct tm_part *now, unsigned nc,
		 unsigned counter);
uint64_t tm_sum(uint64_t a, uint64_t b); /* stops at the largest */
/* Does the process have, or had it, anything on the core? */
bool tm_core_used(const struct tm_part *part, unsigned nc);
/* Percent of seconds that the process used the core for, at most 100 */
double tm_utilization(const struct tm_part *before, const struct tm_part *now, unsigned nc,
		      double seconds);

/*
 * Ticks of all processors between two snapshots, for a process's share of them: by the clock where
 * the kernel counted fewer, since it samples, and misses some in a busy virtual machine, while
 * those of processes are measured.
 */
uint64_t tm_ticks(const struct tm_snapshot *before, const struct tm_snapshot *now);

/*
 * Bytes by what they are for: libnrt's five kinds on a core; the host's of a process, of which
 * application is its resident memory.
 */
struct tm_core_memory {
	uint64_t constants, model_code, model_shared_scratchpad, runtime_memory, tensors;
};
struct tm_host_memory {
	uint64_t application, constants, dma_buffers, tensors;
};
void tm_core_memory(const struct tm_part *part, unsigned nc, struct tm_core_memory *m);
void tm_host_memory(const struct tm_process *p, struct tm_host_memory *m);
uint64_t tm_core_memory_sum(const struct tm_core_memory *m);
uint64_t tm_host_memory_sum(const struct tm_host_memory *m);

#endif
