/* SPDX-License-Identifier: MIT */
/*
 * Inspect sessions: a system trace, profiles of all models and the process's own use of memory and
 * CPUs, written into "<output>/<instance>_pid_<pid>" when the session ends. One session is on at a
 * time. The environment's is begun by nrt_init and ended by nrt_close.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rt_env.h"
#include "rt_log.h"
#include "rt_profile.h"

enum activity { SYSTEM_PROFILE, DEVICE_PROFILE, HOST_MEMORY, CPU_UTIL, ACTIVITIES };

static const char *const activities[ACTIVITIES] = {
	[SYSTEM_PROFILE] = "system_profile",
	[DEVICE_PROFILE] = "device_profile",
	[HOST_MEMORY] = "host_memory",
	[CPU_UTIL] = "cpu_util",
};
#define ALL_ACTIVITIES ((1u << ACTIVITIES) - 1)

struct nrt_inspect_config {
	int session_id;
	char *directory;
	struct nrt_sys_trace_config trace;
	bool enabled, on_fail;
	bool first; /* of each model and core only the first execution */
	unsigned int activity; /* a bit each */
};

/* The process's use of time and memory */
struct usage {
	uint64_t ns, user_us, system_us, resident;
};

static struct {
	pthread_mutex_t lock;
	bool on, of_environment;
	struct nrt_inspect_config config; /* directory is its own */
	struct usage usage;
} session = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Options */

EXPORT NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	free(options->directory);
	*options = (struct nrt_inspect_config){ .session_id = 1, .activity = ALL_ACTIVITIES };
	nrt_sys_trace_config_set_defaults(&options->trace);
	options->directory = strdup("./output");
	return options->directory ? NRT_SUCCESS : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
}

EXPORT NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options)
{
	NRT_STATUS status;

	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no place for the options");
	*options = calloc(1, sizeof(**options));
	if (!*options)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	status = nrt_inspect_config_set_defaults(*options);
	if (status) {
		free(*options);
		*options = NULL;
	}
	return status;
}

EXPORT NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	free(options->directory);
	free(options);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	options->session_id = session_id;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options,
						    const char *output_dir)
{
	char *copy;

	rt_details_clear();
	if (!options || !output_dir || !*output_dir)
		return rt_fail(NRT_INVALID, "NRT", "options or directory missing");
	copy = strdup(output_dir);
	if (!copy)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	free(options->directory);
	options->directory = copy;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(
	nrt_inspect_config_t *options, uint64_t sys_trace_max_events_per_nc)
{
	rt_details_clear();
	if (!options || !sys_trace_max_events_per_nc)
		return rt_fail(NRT_INVALID, "NRT", "options missing, or no events");
	options->trace.max_events = sys_trace_max_events_per_nc;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
								uint32_t nc_idx, bool enabled)
{
	rt_details_clear();
	if (!options || nc_idx >= RT_TRACE_CORES)
		return rt_fail(NRT_INVALID, "NRT", "core %u", nc_idx);
	options->trace.core[nc_idx] = enabled;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_capture_enabled_for_event_type_string(
	nrt_inspect_config_t *options, const char *event_type, bool enabled)
{
	return nrt_sys_trace_config_set_capture_enabled_for_event_type(
		options ? &options->trace : NULL, event_type, enabled);
}

EXPORT NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
							bool enable_inspect)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	options->enabled = enable_inspect;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
								bool enable_inspect_on_fail)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	options->on_fail = enable_inspect_on_fail;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types,
							    size_t *count)
{
	rt_details_clear();
	return rt_names_copy(activities, ACTIVITIES, activity_types, count);
}

EXPORT NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
								const char ***activity_types,
								size_t *count)
{
	const char *chosen[ACTIVITIES];
	size_t n = 0;

	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	for (unsigned int i = 0; i < ACTIVITIES; i++)
		if (options->activity >> i & 1)
			chosen[n++] = activities[i];
	return rt_names_copy(chosen, n, activity_types, count);
}

EXPORT void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count)
{
	rt_names_free(activity_types, count);
}

static unsigned int activity_bits(const char *name)
{
	if (!strcmp(name, "all"))
		return ALL_ACTIVITIES;
	for (unsigned int i = 0; i < ACTIVITIES; i++)
		if (!strcmp(name, activities[i]))
			return 1u << i;
	return 0;
}

EXPORT NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options,
						  const char *activity_type, bool enabled)
{
	unsigned int bits = activity_type ? activity_bits(activity_type) : 0;

	rt_details_clear();
	if (!options || !bits)
		return rt_fail(NRT_INVALID, "NRT", "activity '%s'",
			       activity_type ? activity_type : "");
	options->activity = enabled ? options->activity | bits : options->activity & ~bits;
	return NRT_SUCCESS;
}

/* The environment */

/* "0,2,4" or "0-3" */
static void filter_cores(const char *text, struct nrt_sys_trace_config *trace)
{
	memset(trace->core, false, sizeof(trace->core));
	while (*text) {
		char *end;
		unsigned long from = strtoul(text, &end, 10), to = from;

		if (end == text)
			return;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && from < RT_TRACE_CORES; from++)
			trace->core[from] = true;
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return;
	}
}

/* Names, "hardware", "software", each with ^ to leave it out; the first one that takes begins with
 * none */
static void filter_types(const char *text, struct nrt_sys_trace_config *trace)
{
	char name[64];

	if (*text != '^')
		trace->types = 0;
	for (; *text; text += *text == ',') {
		bool without = *text == '^';
		size_t n = strcspn(text += without, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, text);
		text += n;
		for (int i = 0; i < RT_EVENT_COUNT; i++) {
			if (!rt_event_is(i, name))
				continue;
			if (without)
				trace->types &= ~(1ull << i);
			else
				trace->types |= 1ull << i;
		}
	}
}

static NRT_STATUS from_environment(struct nrt_inspect_config *config)
{
	const char *directory = secure_getenv("NEURON_RT_INSPECT_OUTPUT_DIR");
	const char *cores = secure_getenv("NEURON_RT_INSPECT_EVENT_FILTER_NC");
	const char *types = secure_getenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE");
	const char *most = secure_getenv("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC");
	const char *device = secure_getenv("NEURON_RT_INSPECT_DEVICE_PROFILE");
	NRT_STATUS status = nrt_inspect_config_set_defaults(config);

	if (!status && directory && *directory)
		status = nrt_inspect_config_set_output_dir(config, directory);
	if (status)
		return status;
	config->enabled = rt_env_on("NEURON_RT_INSPECT_ENABLE", false);
	config->on_fail = rt_env_on("NEURON_RT_INSPECT_ON_FAIL", false);
	config->first = !device || strcasecmp(device, "session");
	if (!rt_env_on("NEURON_RT_INSPECT_SYSTEM_PROFILE", true))
		config->activity &= ~(1u << SYSTEM_PROFILE);
	if (config->first && !(device && !strcasecmp(device, "model")) &&
	    !rt_env_on("NEURON_RT_INSPECT_DEVICE_PROFILE", true))
		config->activity &= ~(1u << DEVICE_PROFILE);
	if (!rt_env_on("NEURON_RT_INSPECT_HOST_MEMORY", true))
		config->activity &= ~(1u << HOST_MEMORY);
	if (!rt_env_on("NEURON_RT_INSPECT_CPU_UTIL", true))
		config->activity &= ~(1u << CPU_UTIL);
	if (most && strtoull(most, NULL, 10))
		config->trace.max_events = strtoull(most, NULL, 10);
	if (cores && *cores)
		filter_cores(cores, &config->trace);
	if (types && *types)
		filter_types(types, &config->trace);
	return NRT_SUCCESS;
}

/* Sessions */

static struct usage usage_now(void)
{
	struct usage usage = { .ns = rt_trace_now() };
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long total, resident;
	struct rusage r;

	if (!getrusage(RUSAGE_SELF, &r)) {
		usage.user_us =
			(uint64_t)r.ru_utime.tv_sec * 1000000 + (uint64_t)r.ru_utime.tv_usec;
		usage.system_us =
			(uint64_t)r.ru_stime.tv_sec * 1000000 + (uint64_t)r.ru_stime.tv_usec;
	}
	if (statm && fscanf(statm, "%lu %lu", &total, &resident) == 2)
		usage.resident = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	if (statm)
		fclose(statm);
	return usage;
}

static bool does(const struct nrt_inspect_config *config, enum activity activity)
{
	return config->activity >> activity & 1;
}

/* With the lock held; the session takes the directory when this succeeds. */
static NRT_STATUS begin(struct nrt_inspect_config *config, bool of_environment)
{
	const struct rt_profile_want want = { !config->enabled && config->on_fail, config->first };
	NRT_STATUS status = NRT_SUCCESS;

	if (session.on)
		return rt_fail(NRT_FAILURE, "NRT", "an inspect session is on");
	if (config->enabled && does(config, SYSTEM_PROFILE))
		status = rt_trace_start(&config->trace);
	if (status)
		return status;
	if ((config->enabled || config->on_fail) && does(config, DEVICE_PROFILE)) {
		status = rt_profile_all_start(&want);
		if (status && config->enabled && does(config, SYSTEM_PROFILE))
			rt_trace_stop();
	}
	if (status)
		return status;
	session.on = true;
	session.of_environment = of_environment;
	session.config = *config;
	session.usage = usage_now();
	return NRT_SUCCESS;
}

static NRT_STATUS write_named(const char *directory, const char *name, const char *text,
			      size_t size)
{
	NRT_STATUS status;
	char *file;

	if (asprintf(&file, "%s/%s", directory, name) < 0)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	status = rt_write_file(file, text, size);
	free(file);
	return status;
}

static NRT_STATUS write_trace(const char *directory)
{
	char *text;
	size_t size;
	NRT_STATUS status = rt_trace_json(&text, &size);

	if (!status) {
		status = write_named(directory, "ntrace.json", text, size);
		free(text);
	}
	return rt_trace_stop() ?: status;
}

static NRT_STATUS write_usage(const char *directory, const struct nrt_inspect_config *config)
{
	const struct usage now = usage_now(), *was = &session.usage;
	NRT_STATUS status = NRT_SUCCESS;
	char text[256];
	int n;

	if (does(config, HOST_MEMORY)) {
		n = snprintf(text, sizeof(text),
			     "{\"host_mem\":[{\"timestamp_ns\":%" PRIu64 ",\"usage\":%" PRIu64
			     "},{\"timestamp_ns\":%" PRIu64 ",\"usage\":%" PRIu64 "}]}\n",
			     was->ns, was->resident, now.ns, now.resident);
		status = write_named(directory, "host_mem.json", text, (size_t)n);
	}
	if (!status && does(config, CPU_UTIL)) {
		n = snprintf(text, sizeof(text),
			     "{\"cpu_util\":[{\"timestamp_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64
			     ",\"user_us\":%" PRIu64 ",\"system_us\":%" PRIu64 "}]}\n",
			     was->ns, now.ns - was->ns, now.user_us - was->user_us,
			     now.system_us - was->system_us);
		status = write_named(directory, "cpu_util.json", text, (size_t)n);
	}
	return status;
}

static NRT_STATUS write_index(const char *directory, const struct nrt_inspect_config *config)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "{\"session_id\":%d,\"process_id\":%d,\"start_ns\":%" PRIu64
			 ",\"stop_ns\":%" PRIu64 "}\n",
			 config->session_id, getpid(), session.usage.ns, rt_trace_now());

	return write_named(directory, "trace_info.json", text, (size_t)n);
}

/* With the lock held. Everything that was begun is ended, whatever fails. */
static NRT_STATUS end(void)
{
	struct nrt_inspect_config *config = &session.config;
	NRT_STATUS status = NRT_SUCCESS, next;
	char *directory = NULL;

	if (config->enabled || config->on_fail) {
		directory = rt_profile_directory(config->directory);
		status = directory ? write_index(directory, config) : NRT_FAILURE;
	}
	if (config->enabled && does(config, SYSTEM_PROFILE)) {
		next = directory ? write_trace(directory) : rt_trace_stop();
		status = status ? status : next;
	}
	if ((config->enabled || config->on_fail) && does(config, DEVICE_PROFILE)) {
		next = rt_profile_all_stop(directory ? directory : ".");
		status = status ? status : next;
	}
	if (config->enabled && directory) {
		next = write_usage(directory, config);
		status = status ? status : next;
	}
	free(directory);
	free(config->directory);
	session.on = false;
	return status;
}

/* Begins with a configuration that was made with this status; its directory goes if that fails */
static NRT_STATUS take(struct nrt_inspect_config *config, NRT_STATUS status, bool of_environment)
{
	if (!status) {
		pthread_mutex_lock(&session.lock);
		status = begin(config, of_environment);
		pthread_mutex_unlock(&session.lock);
	}
	if (status)
		free(config->directory);
	return status;
}

EXPORT NRT_STATUS nrt_inspect_begin(void)
{
	struct nrt_inspect_config config = { 0 };
	RT_ENTER(status);

	if (!status)
		status = from_environment(&config);
	return take(&config, status, false);
}

EXPORT NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
	struct nrt_inspect_config config = { 0 };
	RT_ENTER(status);

	if (status)
		return status;
	if (options) {
		config = *options;
		config.directory = strdup(options->directory);
		status = config.directory ? NRT_SUCCESS
					  : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	} else {
		status = nrt_inspect_config_set_defaults(&config);
	}
	return take(&config, status, false);
}

EXPORT NRT_STATUS nrt_inspect_stop(void)
{
	NRT_STATUS status;

	rt_details_clear();
	pthread_mutex_lock(&session.lock);
	status = session.on ? end() : rt_fail(NRT_FAILURE, "NRT", "no inspect session is on");
	pthread_mutex_unlock(&session.lock);
	return status;
}

void rt_inspect_from_environment(void)
{
	struct nrt_inspect_config config = { 0 };

	if (!rt_env_on("NEURON_RT_INSPECT_ENABLE", false) &&
	    !rt_env_on("NEURON_RT_INSPECT_ON_FAIL", false))
		return;
	if (take(&config, from_environment(&config), true))
		rt_log(RT_LOG_ERROR, "no inspect session: %s", nrtx_error_details());
}

void rt_inspect_close(void)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&session.lock);
	if (session.on && session.of_environment)
		status = end();
	pthread_mutex_unlock(&session.lock);
	if (status)
		rt_log(RT_LOG_ERROR, "%s", nrtx_error_details());
}
