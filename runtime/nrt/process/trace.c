/* SPDX-License-Identifier: MIT */
/*
 * The system trace. Recorders hold the trace's lock for reading and a ring's own; start and stop
 * hold it for writing. A ring grows as it fills, up to its limit, and then drops its oldest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt_context.h"
#include "rt_log.h"
#include "rt_trace.h"

#define MAX_EVENTS 1000000
#define FIRST_CAPACITY 1024
#define NAME_MAX_ 64

static const char *const names[] = {
#define NAME(name, hardware) [RT_EVENT_##name] = #name,
	RT_EVENTS(NAME)
#undef NAME
};
_Static_assert(RT_EVENT_COUNT <= 64, "a bit each");
#define ALL_TYPES ((1ull << RT_EVENT_COUNT) - 1)

struct event {
	uint8_t type;
	bool stop;
	uint32_t model_id, core;
	uint64_t id, ns, execution, size, nc_ns;
	char name[NAME_MAX_];
};

struct ring {
	pthread_mutex_t lock;
	struct event *event;
	uint64_t capacity, first, n; /* n events from first on */
	uint64_t total; /* ever recorded */
};

static struct {
	pthread_rwlock_t lock;
	struct nrt_sys_trace_config config;
	struct ring *ring; /* one a core of the process */
	uint32_t rings;
} trace = { .lock = PTHREAD_RWLOCK_INITIALIZER };

atomic_bool rt_tracing;
_Thread_local uint64_t rt_trace_execution;

uint64_t rt_trace_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int rt_event_of(const char *name)
{
	for (int i = 0; name && i < RT_EVENT_COUNT; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

bool rt_event_is(int type, const char *what)
{
	static const bool hardware[] = {
#define HARDWARE(name, is) [RT_EVENT_##name] = is,
		RT_EVENTS(HARDWARE)
#undef HARDWARE
	};

	return !strcmp(what, names[type]) ||
	       !strcmp(what, hardware[type] ? "hardware" : "software");
}

/* Rings */

/* Makes room for one more. False: the oldest has to go */
static bool grow(struct ring *ring)
{
	uint64_t capacity = ring->capacity ? ring->capacity * 2 : FIRST_CAPACITY;
	struct event *more;

	if (ring->capacity >= trace.config.max_events)
		return false;
	if (capacity > trace.config.max_events)
		capacity = trace.config.max_events;
	more = malloc(capacity * sizeof(*more));
	if (!more)
		return false;
	for (uint64_t i = 0; i < ring->n; i++)
		more[i] = ring->event[(ring->first + i) % ring->capacity];
	free(ring->event);
	ring->event = more;
	ring->capacity = capacity;
	ring->first = 0;
	return true;
}

static void push(struct ring *ring, const struct event *event)
{
	pthread_mutex_lock(&ring->lock);
	ring->total++;
	if (ring->n == ring->capacity && !grow(ring)) {
		if (!ring->capacity)
			goto out;
		ring->first = (ring->first + 1) % ring->capacity;
		ring->n--;
	}
	ring->event[(ring->first + ring->n++) % ring->capacity] = *event;
out:
	pthread_mutex_unlock(&ring->lock);
}

uint64_t rt_trace_put(enum rt_event type, bool stop, int64_t vnc, uint64_t id, uint64_t now,
		      const struct rt_event_data *data)
{
	static atomic_uint_fast64_t last;
	uint32_t core = vnc < 0 ? 0 : (uint32_t)vnc;
	struct event event = {
		.type = (uint8_t)type,
		.stop = stop,
		.ns = now,
		.execution = rt_trace_execution,
	};

	pthread_rwlock_rdlock(&trace.lock);
	if (trace.ring && core < trace.rings && trace.config.core[core] &&
	    trace.config.types >> type & 1) {
		event.id = id ? id : atomic_fetch_add(&last, 1) + 1;
		if (data) {
			event.model_id = data->model_id;
			event.core = data->core;
			event.size = data->size;
			event.nc_ns = data->nc_ns;
			snprintf(event.name, sizeof(event.name), "%s",
				 data->name ? data->name : "");
		}
		push(&trace.ring[core], &event);
	}
	pthread_rwlock_unlock(&trace.lock);
	return event.id;
}

static void rings_free(void)
{
	uint64_t total = 0, dropped = 0;

	for (uint32_t i = 0; i < trace.rings; i++) {
		struct ring *ring = &trace.ring[i];

		total += ring->total;
		if (ring->total > trace.config.max_events)
			dropped += ring->total - trace.config.max_events;
		free(ring->event);
		pthread_mutex_destroy(&ring->lock);
	}
	free(trace.ring);
	trace.ring = NULL;
	trace.rings = 0;
	if (dropped)
		rt_log(RT_LOG_WARNING,
		       "%" PRIu64 " trace events were dropped during capture (stored %" PRIu64
		       " out of %" PRIu64 " total events)",
		       dropped, total - dropped, total);
}

static void defaults(struct nrt_sys_trace_config *config)
{
	*config = (struct nrt_sys_trace_config){ .max_events = MAX_EVENTS, .types = ALL_TYPES };
	memset(config->core, true, sizeof(config->core));
}

NRT_STATUS rt_trace_start(const struct nrt_sys_trace_config *config)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_rwlock_wrlock(&trace.lock);
	if (trace.ring) {
		status = rt_fail(NRT_FAILURE, "NRT", "system trace already started");
	} else {
		trace.ring = calloc(rt.ncores, sizeof(*trace.ring));
		if (!trace.ring)
			status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}
	if (!status) {
		trace.rings = rt.ncores;
		for (uint32_t i = 0; i < trace.rings; i++)
			pthread_mutex_init(&trace.ring[i].lock, NULL);
		if (config)
			trace.config = *config;
		else
			defaults(&trace.config);
		atomic_store(&rt_tracing, true);
	}
	pthread_rwlock_unlock(&trace.lock);
	return status;
}

NRT_STATUS rt_trace_stop(void)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_rwlock_wrlock(&trace.lock);
	if (trace.ring) {
		atomic_store(&rt_tracing, false);
		rings_free();
	} else {
		status = rt_fail(NRT_FAILURE, "NRT", "no system trace was started");
	}
	pthread_rwlock_unlock(&trace.lock);
	return status;
}

/* JSON */

static void put_string(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			fprintf(out, "\\u%04x", *text);
		else
			putc(*text, out);
	}
	putc('"', out);
}

static bool of_tensor(enum rt_event type)
{
	return type >= RT_EVENT_nrt_tensor_allocate && type <= RT_EVENT_tensor_block_while_exec;
}

static void put_event(FILE *out, const struct event *e, uint32_t nc)
{
	fprintf(out,
		"{\"event_type\":\"%s\",\"phase\":\"%s\",\"tracking_id\":%" PRIu64
		",\"nc_idx\":%u,\"timestamp_ns\":%" PRIu64 ",\"data\":{\"exec_id\":%" PRIu64,
		names[e->type], e->stop ? "stop" : "start", e->id, nc, e->ns, e->execution);
	if (of_tensor(e->type)) {
		fprintf(out, ",\"size\":%" PRIu64 ",\"tensor_name\":", e->size);
		put_string(out, e->name);
	} else {
		fprintf(out, ",\"model_id\":%u,\"model_name\":", e->model_id);
		put_string(out, e->name);
	}
	if (e->type == RT_EVENT_nc_exec_running || e->type == RT_EVENT_timestamp_sync_point)
		fprintf(out,
			",\"device_core_idx\":%u,\"nc_timestamp_ns\":%" PRIu64
			",\"cpu_timestamp_ns\":%" PRIu64,
			e->core, e->nc_ns, e->ns);
	fputs("}}", out);
}

/* Takes up to max events out of a ring. */
static void take(FILE *out, struct ring *ring, uint32_t nc, uint64_t max, bool *comma)
{
	pthread_mutex_lock(&ring->lock);
	for (; ring->n && max; max--) {
		if (*comma)
			putc(',', out);
		*comma = true;
		put_event(out, &ring->event[ring->first], nc);
		ring->first = (ring->first + 1) % ring->capacity;
		ring->n--;
	}
	pthread_mutex_unlock(&ring->lock);
}

struct nrt_sys_trace_fetch_options {
	uint64_t max_events;
	uint64_t core; /* ALL_CORES, or the one */
};
#define ALL_CORES UINT64_MAX

static void fetch(FILE *out, const struct nrt_sys_trace_fetch_options *options)
{
	bool comma = false;

	fputs("{\"events\":[", out);
	for (uint32_t i = 0; i < trace.rings; i++)
		if (options->core == ALL_CORES || options->core == i)
			take(out, &trace.ring[i], i, options->max_events, &comma);
	fputs("]}", out);
}

static NRT_STATUS fetch_text(char **text, size_t *size,
			     const struct nrt_sys_trace_fetch_options *options)
{
	FILE *out = open_memstream(text, size);
	NRT_STATUS status = NRT_SUCCESS;
	bool failed;

	if (!out)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	pthread_rwlock_rdlock(&trace.lock);
	if (!trace.ring)
		status = rt_fail(NRT_FAILURE, "NRT", "no system trace was started");
	else if (options->core != ALL_CORES && options->core >= trace.rings)
		status = rt_fail(NRT_INVALID, "NRT", "core %" PRIu64 " of %u", options->core,
				 trace.rings);
	else
		fetch(out, options);
	pthread_rwlock_unlock(&trace.lock);
	failed = ferror(out);
	if ((fclose(out) || failed) && !status)
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	if (status) {
		free(*text);
		*text = NULL;
		*size = 0;
	}
	return status;
}

NRT_STATUS rt_trace_json(char **text, size_t *size)
{
	const struct nrt_sys_trace_fetch_options all = { UINT64_MAX, ALL_CORES };

	return fetch_text(text, size, &all);
}

NRT_STATUS rt_write_file(const char *name, const char *text, size_t size)
{
	FILE *out = fopen(name, "we");
	bool ok = out && fwrite(text, 1, size, out) == size;
	int err = errno;

	if (out && fclose(out)) {
		err = errno;
		ok = false;
	}
	return ok ? NRT_SUCCESS : rt_fail(NRT_FAILURE, "NRT", "%s: %s", name, strerror(err));
}

/* Lists of names */

void rt_names_free(const char **list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		free((void *)(uintptr_t)list[i]);
	free(list);
}

NRT_STATUS rt_names_copy(const char *const *from, size_t n, const char ***list, size_t *count)
{
	if (!list || !count)
		return rt_fail(NRT_INVALID, "NRT", "no place for the names");
	*count = 0;
	*list = calloc(n + 1, sizeof(**list));
	for (size_t i = 0; *list && i < n; i++) {
		(*list)[i] = strdup(from[i]);
		if (!(*list)[i]) {
			rt_names_free(*list, i);
			*list = NULL;
		}
	}
	if (!*list)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	*count = n;
	return NRT_SUCCESS;
}

NRT_STATUS rt_event_names(uint64_t mask, const char ***list, size_t *count)
{
	const char *chosen[RT_EVENT_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < RT_EVENT_COUNT; i++)
		if (mask >> i & 1)
			chosen[n++] = names[i];
	return rt_names_copy(chosen, n, list, count);
}

/* The calls; options may be made at any time */

EXPORT NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no place for the options");
	*options = malloc(sizeof(**options));
	if (!*options)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	defaults(*options);
	return NRT_SUCCESS;
}

EXPORT void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options)
{
	if (options)
		defaults(options);
}

EXPORT void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options)
{
	free(options);
}

EXPORT void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
						       uint64_t max_events_per_nc)
{
	if (options)
		options->max_events = max_events_per_nc;
}

EXPORT void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
							    uint32_t nc_idx, bool enabled)
{
	if (options && nc_idx < RT_TRACE_CORES)
		options->core[nc_idx] = enabled;
}

EXPORT NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(
	nrt_sys_trace_config_t *options, const char *event_type, bool enabled)
{
	int type = rt_event_of(event_type);

	rt_details_clear();
	if (!options || type < 0)
		return rt_fail(NRT_INVALID, "NRT", "event type '%s'", event_type ? event_type : "");
	if (enabled)
		options->types |= 1ull << type;
	else
		options->types &= ~(1ull << type);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count)
{
	rt_details_clear();
	return rt_event_names(ALL_TYPES, event_types, count);
}

EXPORT void nrt_sys_trace_free_event_types(const char **event_types, size_t count)
{
	rt_names_free(event_types, count);
}

EXPORT NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
							       const char ***event_types,
							       size_t *count)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	return rt_event_names(options->types, event_types, count);
}

EXPORT NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
	RT_ENTER(status);

	return status ? status : rt_trace_start(options);
}

EXPORT NRT_STATUS nrt_sys_trace_stop(void)
{
	rt_details_clear();
	return rt_trace_stop();
}

EXPORT NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no place for the options");
	*options = malloc(sizeof(**options));
	if (!*options)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	nrt_sys_trace_fetch_options_set_defaults(*options);
	return NRT_SUCCESS;
}

EXPORT void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options)
{
	if (options)
		*options = (struct nrt_sys_trace_fetch_options){ UINT64_MAX, ALL_CORES };
}

EXPORT void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options)
{
	free(options);
}

EXPORT void
nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
						  uint64_t max_events_per_nc)
{
	if (options)
		options->max_events = max_events_per_nc;
}

EXPORT void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
						   uint64_t nc_idx)
{
	if (options)
		options->core = nc_idx;
}

EXPORT NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
					     const nrt_sys_trace_fetch_options_t *options)
{
	const struct nrt_sys_trace_fetch_options all = { UINT64_MAX, ALL_CORES };

	rt_details_clear();
	if (!buffer || !written_size)
		return rt_fail(NRT_INVALID, "NRT", "no place for the text");
	*buffer = NULL;
	*written_size = 0;
	return fetch_text(buffer, written_size, options ? options : &all);
}

EXPORT void nrt_sys_trace_buffer_free(char *buffer)
{
	free(buffer);
}

/* The older pair: a trace of all cores, and a file of it */

EXPORT NRT_STATUS nrt_trace_start(bool trace_mem)
{
	RT_ENTER(status);
	struct nrt_sys_trace_config config;

	if (status)
		return status;
	defaults(&config);
	if (!trace_mem)
		config.types &=
			~(1ull << RT_EVENT_nrt_tensor_allocate | 1ull << RT_EVENT_nrt_tensor_free);
	return rt_trace_start(&config);
}

EXPORT NRT_STATUS nrt_trace_stop(const char *filename)
{
	NRT_STATUS status;
	char *text;
	size_t size;

	rt_details_clear();
	if (!filename || !*filename)
		return rt_fail(NRT_INVALID, "NRT", "no file name");
	status = rt_trace_json(&text, &size);
	if (status)
		return status;
	status = rt_write_file(filename, text, size);
	free(text);
	return rt_trace_stop() ?: status;
}
