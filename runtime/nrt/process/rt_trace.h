/* SPDX-License-Identifier: MIT */
/*
 * The system trace (trace.c): events of what the runtime does, in one ring a core. Recording costs
 * a load while no trace is on. One trace is on at a time, whoever began it: nrt_sys_trace_start,
 * nrt_trace_start or an inspect session.
 */
#ifndef RT_TRACE_H
#define RT_TRACE_H

#include <stdatomic.h>

#include "nrt/nrt_sys_trace.h"
#include "rt_status.h"

/* X(name, what it is of: software or hardware) */
#define RT_EVENTS(X)                  \
	X(nrt_load, 0)                \
	X(nrt_unload, 0)              \
	X(nrt_execute, 0)             \
	X(nrta_execute_schedule, 0)   \
	X(nrt_tensor_allocate, 0)     \
	X(nrt_tensor_free, 0)         \
	X(nrt_tensor_read, 0)         \
	X(nrt_tensor_write, 0)        \
	X(nrt_tensor_copy, 0)         \
	X(tensor_block_while_exec, 0) \
	X(kbl_exec_pre, 0)            \
	X(kbl_exec_wait, 0)           \
	X(kbl_exec_post, 0)           \
	X(nc_exec_running, 1)         \
	X(nrt_model_switch, 1)        \
	X(timestamp_sync_point, 1)    \
	X(numerical_err, 1)

enum rt_event {
#define RT_EVENT(name, hardware) RT_EVENT_##name,
	RT_EVENTS(RT_EVENT)
#undef RT_EVENT
		RT_EVENT_COUNT
};

/* An event's details beside its time; 0 and NULL: nothing of that */
struct rt_event_data {
	uint32_t model_id;
	const char *name; /* of the model or tensor */
	uint64_t size;
	uint64_t nc_ns; /* on the chip's clock */
	uint32_t core; /* of the machine, with nc_ns */
};

extern atomic_bool rt_tracing;
extern _Thread_local uint64_t rt_trace_execution; /* the number of the one under way */

uint64_t rt_trace_now(void);
uint64_t rt_trace_put(enum rt_event type, bool stop, int64_t vnc, uint64_t id, uint64_t now,
		      const struct rt_event_data *data);

/* The begin of an event; returns what its end needs. vnc -1: of no core, recorded with core 0 */
static inline uint64_t rt_trace_begin(enum rt_event type, int64_t vnc,
				      const struct rt_event_data *data)
{
	if (!atomic_load_explicit(&rt_tracing, memory_order_relaxed))
		return 0;
	return rt_trace_put(type, false, vnc, 0, rt_trace_now(), data);
}

static inline void rt_trace_end(enum rt_event type, int64_t vnc, uint64_t id,
				const struct rt_event_data *data)
{
	if (id)
		rt_trace_put(type, true, vnc, id, rt_trace_now(), data);
}

/* The number of an event's name; -1: there is none */
int rt_event_of(const char *name);
/* True if what is the event's name, or the kind it is of: "hardware" or "software" */
bool rt_event_is(int type, const char *what);
/* The names whose bits are set, as an array that the caller frees with its strings */
NRT_STATUS rt_event_names(uint64_t mask, const char ***names, size_t *count);
NRT_STATUS rt_names_copy(const char *const *from, size_t n, const char ***names, size_t *count);
void rt_names_free(const char **names, size_t count);

#define RT_TRACE_CORES 512 /* of a machine, at most */
struct nrt_sys_trace_config {
	uint64_t max_events;
	uint64_t types; /* a bit each */
	bool core[RT_TRACE_CORES];
};

/* NRT_FAILURE: a trace is on already, or none is */
NRT_STATUS rt_trace_start(const struct nrt_sys_trace_config *config);
NRT_STATUS rt_trace_stop(void);
/* All events as JSON, which the caller frees */
NRT_STATUS rt_trace_json(char **text, size_t *size);
/* Writes text into a file; NRT_FAILURE with the reason */
NRT_STATUS rt_write_file(const char *name, const char *text, size_t size);

#endif
