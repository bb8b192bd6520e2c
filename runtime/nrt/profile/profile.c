/* SPDX-License-Identifier: MIT */
/*
 * Profiles of executions: the engines' counters, the time on the chip's clock and the host's. A
 * file is JSON in the emulator's own form; the vendor's is not public. docs/nrt.md describes it.
 *
 * Executions of a model add records to each subscriber that wants them, under one lock.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt_log.h"
#include "rt_profile.h"
#include "rt_queue.h"

#define MAX_RECORDS 100000 /* of a subscriber: an execution has one for each core */

struct record {
	uint32_t model_id, vnc, global, device, nc, subgraph, engines;
	char name[257];
	uint8_t uuid[16];
	uint64_t execution, began_ns, ended_ns, nc_began_ns, nc_ended_ns;
	NRT_STATUS status;
	const struct neuron_target *target;
	struct ndlx_core_perf perf; /* what was added */
};

struct subscriber {
	struct subscriber *next;
	uint32_t model_id; /* 0: all */
	char *file; /* of nrt_profile_start; NULL: a session */
	struct rt_profile_want want;
	struct record *record;
	size_t n, capacity;
	uint64_t dropped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all that follows */
static struct subscriber *subscribers;
static struct record *last; /* in continuous mode: of each core; model_id 0: none yet */
static uint32_t last_cores;
static bool continuous;
static atomic_uint users; /* subscribers and the continuous mode: whether anybody looks */

/* Recording */

void rt_profile_begin(struct rt_profile_run *run, const struct rt_subgraph *sg)
{
	const struct rt_core *core = sg->core;

	run->on = atomic_load_explicit(&users, memory_order_relaxed) &&
		  !ndlx_core_perf(core->dev, core->nc, &run->perf);
	run->began_ns = run->on ? rt_trace_now() : 0;
}

static void difference(struct ndlx_core_perf *perf, const struct ndlx_core_perf *before)
{
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		perf->engine[e].insns -= before->engine[e].insns;
		perf->engine[e].busy_cycles -= before->engine[e].busy_cycles;
		perf->engine[e].idle_cycles -= before->engine[e].idle_cycles;
		perf->engine[e].wait_cycles -= before->engine[e].wait_cycles;
		perf->engine[e].matmul_insns -= before->engine[e].matmul_insns;
		perf->engine[e].matmul_wait_cycles -= before->engine[e].matmul_wait_cycles;
	}
	perf->macs -= before->macs;
}

static bool seen(const struct subscriber *s, const struct record *record)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->record[i].model_id == record->model_id &&
		    s->record[i].subgraph == record->subgraph && s->record[i].vnc == record->vnc)
			return true;
	return false;
}

static void add(struct subscriber *s, const struct record *record)
{
	if ((s->model_id && s->model_id != record->model_id) ||
	    (s->want.failures && !rt_fatal(record->status)) || (s->want.first && seen(s, record)))
		return;
	if (s->n == s->capacity) {
		size_t capacity = s->capacity ? s->capacity * 2 : 16;
		struct record *more = s->n < MAX_RECORDS
					      ? reallocarray(s->record, capacity, sizeof(*more))
					      : NULL;

		if (!more) {
			s->dropped++;
			return;
		}
		s->record = more;
		s->capacity = capacity;
	}
	s->record[s->n++] = *record;
}

static void deliver(const struct record *record)
{
	pthread_mutex_lock(&lock);
	for (struct subscriber *s = subscribers; s; s = s->next)
		add(s, record);
	if (continuous && record->vnc < last_cores)
		last[record->vnc] = *record;
	pthread_mutex_unlock(&lock);
}

void rt_profile_end(const struct rt_profile_run *run, const struct rt_subgraph *sg,
		    NRT_STATUS status)
{
	const struct nrt_model *model = sg->model;
	const struct rt_core *core = sg->core;
	struct record record = {
		.model_id = model->id,
		.vnc = core->vnc,
		.global = core->global,
		.device = core->device,
		.nc = core->nc,
		.subgraph = (uint32_t)(sg - model->subgraph),
		.execution = rt_trace_execution,
		.began_ns = run->began_ns,
		.ended_ns = rt_trace_now(),
		.nc_began_ns = core->began_ps / 1000,
		.nc_ended_ns = core->ended_ps / 1000,
		.status = status,
		.target = sg->target,
	};

	if (!run->on)
		return;
	/* a core that was reset counts from 0 again, and has nothing to tell */
	if (rt_fatal(status) || ndlx_core_perf(core->dev, core->nc, &record.perf))
		record.perf = run->perf;
	difference(&record.perf, &run->perf);
	snprintf(record.name, sizeof(record.name), "%s", model->neff->header.name);
	memcpy(record.uuid, model->neff->header.uuid, sizeof(record.uuid));
	deliver(&record);
}

/* Files */

static void put_name(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc((unsigned char)*text < 0x20 ? '?' : *text, out);
	}
	putc('"', out);
}

static void put_engines(FILE *out, const struct record *r)
{
	for (unsigned int e = 0; e < r->target->engines; e++)
		fprintf(out,
			"%s{\"engine\":\"%s\",\"instructions\":%" PRIu64 ",\"busy_cycles\":%" PRIu64
			",\"idle_cycles\":%" PRIu64 ",\"wait_cycles\":%" PRIu64
			",\"matmul_instructions\":%" PRIu64 ",\"matmul_wait_cycles\":%" PRIu64 "}",
			e ? "," : "", r->target->engine[e].name, r->perf.engine[e].insns,
			r->perf.engine[e].busy_cycles, r->perf.engine[e].idle_cycles,
			r->perf.engine[e].wait_cycles, r->perf.engine[e].matmul_insns,
			r->perf.engine[e].matmul_wait_cycles);
}

static void put_record(FILE *out, const struct record *r)
{
	fprintf(out,
		"{\"exec_id\":%" PRIu64 ",\"model_id\":%u,\"subgraph\":%u,\"nc_idx\":%u,\"device_"
		"core_idx\":%u,"
		"\"neuron_device\":%u,\"device_nc\":%u,\"status\":\"%s\","
		"\"cpu_start_ns\":%" PRIu64 ",\"cpu_stop_ns\":%" PRIu64 ",\"nc_start_ns\":%" PRIu64
		",\"nc_stop_ns\":%" PRIu64 ",\"macs\":%" PRIu64 ",\"engines\":[",
		r->execution, r->model_id, r->subgraph, r->vnc, r->global, r->device, r->nc,
		nrt_get_status_as_str(r->status), r->began_ns, r->ended_ns, r->nc_began_ns,
		r->nc_ended_ns, r->perf.macs);
	put_engines(out, r);
	fputs("]}", out);
}

/* Writes the records of like's model and core, or all if it is NULL, into one file */
static NRT_STATUS write_records(const char *file, const struct record *record, size_t n,
				const struct record *like)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	NRT_STATUS status;
	bool comma = false;

	if (!out)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	fputs("{\"format\":\"neuron-emulator-profile\",\"version\":1,\"model_name\":", out);
	put_name(out, like ? like->name : n ? record->name : "");
	fputs(",\"neff_uuid\":\"", out);
	for (size_t i = 0; (like || n) && i < sizeof(record->uuid); i++)
		fprintf(out, "%02x", (like ? like : record)->uuid[i]);
	fputs("\",\"executions\":[", out);
	for (size_t i = 0; i < n; i++) {
		if (like && (record[i].model_id != like->model_id || record[i].vnc != like->vnc))
			continue;
		fputs(comma ? ",\n" : "\n", out);
		comma = true;
		put_record(out, &record[i]);
	}
	fputs("\n]}\n", out);
	status = fclose(out) ? rt_fail(NRT_RESOURCE, "NRT", "out of memory")
			     : rt_write_file(file, text, size);
	free(text);
	return status;
}

static NRT_STATUS make_directory(char *path)
{
	for (char *slash = path + 1;; slash++) {
		if (*slash && *slash != '/')
			continue;
		char kept = *slash;

		*slash = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return rt_fail(NRT_FAILURE, "NRT", "%s: %s", path, strerror(errno));
		*slash = kept;
		if (!kept)
			return NRT_SUCCESS;
	}
}

char *rt_profile_directory(const char *output)
{
	const char *instance = ndlx_machine_instance();
	char *path;

	if (asprintf(&path, "%s/%s_pid_%d", output, *instance ? instance : "host", getpid()) < 0) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		return NULL;
	}
	if (make_directory(path)) {
		free(path);
		return NULL;
	}
	return path;
}

/* The number of a NEFF in file names: the first bytes of its uuid */
static uint64_t hash_of(const struct record *record)
{
	uint64_t hash;

	memcpy(&hash, record->uuid, sizeof(hash));
	return hash;
}

/* Subscribers */

static struct subscriber *subscribe(uint32_t model_id, const char *file,
				    const struct rt_profile_want *want)
{
	struct subscriber *s = calloc(1, sizeof(*s));

	if (s && file)
		s->file = strdup(file);
	if (!s || (file && !s->file)) {
		free(s);
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		return NULL;
	}
	s->model_id = model_id;
	s->want = *want;
	s->next = subscribers;
	subscribers = s;
	atomic_fetch_add(&users, 1);
	return s;
}

/* Takes one out of the list: that of the file, or with NULL the session's. */
static struct subscriber *leave(const char *file)
{
	struct subscriber **at, *s;

	for (at = &subscribers; *at; at = &(*at)->next)
		if (file ? (*at)->file && !strcmp((*at)->file, file) : !(*at)->file)
			break;
	s = *at;
	if (s) {
		*at = s->next;
		atomic_fetch_sub(&users, 1);
	}
	return s;
}

static void subscriber_free(struct subscriber *s)
{
	if (s->dropped)
		rt_log(RT_LOG_WARNING, "%" PRIu64 " executions are not in the profile", s->dropped);
	free(s->record);
	free(s->file);
	free(s);
}

/* A profile outlives its model: what was recorded is written at the stop. */
EXPORT NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename)
{
	const struct rt_profile_want want = { 0 };
	RT_ENTER(status);
	RT_PIN(pinned, model);
	const struct subscriber *s;

	if (status)
		return status;
	if (!filename || !*filename)
		return rt_fail(NRT_INVALID, "NRT", "no file name");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	pthread_mutex_lock(&lock);
	for (s = subscribers; s; s = s->next)
		if (s->file && (s->model_id == pinned->id || !strcmp(s->file, filename)))
			break;
	if (s)
		status = rt_fail(NRT_FAILURE, "NRT", "%s: a profile of model or file is on",
				 filename);
	else if (!subscribe(pinned->id, filename, &want))
		status = NRT_RESOURCE;
	pthread_mutex_unlock(&lock);
	return status;
}

EXPORT NRT_STATUS nrt_profile_stop(const char *filename)
{
	struct subscriber *s = NULL;
	NRT_STATUS status;

	rt_details_clear();
	if (filename && *filename) {
		pthread_mutex_lock(&lock);
		s = leave(filename);
		pthread_mutex_unlock(&lock);
	}
	if (!s)
		return rt_fail(NRT_INVALID, "NRT", "no profile of '%s' was started",
			       filename ? filename : "");
	status = write_records(filename, s->record, s->n, NULL);
	subscriber_free(s);
	return status;
}

NRT_STATUS rt_profile_all_start(const struct rt_profile_want *want)
{
	struct subscriber *s;

	pthread_mutex_lock(&lock);
	s = subscribe(0, NULL, want);
	pthread_mutex_unlock(&lock);
	return s ? NRT_SUCCESS : NRT_RESOURCE;
}

NRT_STATUS rt_profile_all_stop(const char *directory)
{
	NRT_STATUS status = NRT_SUCCESS;
	struct subscriber *s;

	pthread_mutex_lock(&lock);
	s = leave(NULL);
	pthread_mutex_unlock(&lock);
	if (!s)
		return NRT_SUCCESS;
	for (size_t i = 0; i < s->n && !status; i++) {
		const struct record *r = &s->record[i];
		char *file;
		size_t before;

		for (before = 0; before < i; before++)
			if (s->record[before].model_id == r->model_id &&
			    s->record[before].vnc == r->vnc)
				break;
		if (before < i)
			continue;
		if (asprintf(&file, "%s/%" PRIu64 "_model_%u_vnc_%u.ntff", directory, hash_of(r),
			     r->model_id, r->vnc) < 0) {
			status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
			break;
		}
		status = write_records(file, s->record, s->n, r);
		free(file);
	}
	subscriber_free(s);
	return status;
}

/* The continuous mode */

struct nrt_profile_continuous_options {
	char *directory;
};

EXPORT NRT_STATUS nrt_profile_continuous_options_set_output_dir(
	nrt_profile_continuous_options_t *options, const char *output_dir)
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

EXPORT NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options)
{
	NRT_STATUS status;

	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no place for the options");
	*options = calloc(1, sizeof(**options));
	if (!*options)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	status = nrt_profile_continuous_options_set_output_dir(*options, "./output");
	if (status) {
		free(*options);
		*options = NULL;
	}
	return status;
}

EXPORT NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options)
{
	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	free(options->directory);
	free(options);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	if (rt_async_limit())
		return rt_fail(NRT_FAILURE, "NRT", "not with asynchronous executions");
	pthread_mutex_lock(&lock);
	if (continuous) {
		status = rt_fail(NRT_FAILURE, "NRT", "continuous profiling is on");
	} else {
		free(last);
		last = calloc(rt.ncores, sizeof(*last));
		last_cores = last ? rt.ncores : 0;
		continuous = last;
		if (!continuous)
			status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		else
			atomic_fetch_add(&users, 1);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* The last execution on a core */
static NRT_STATUS last_of(uint32_t vnc, struct record *record)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!continuous)
		status = rt_fail(NRT_FAILURE, "NRT", "continuous profiling is not on");
	else if (vnc >= last_cores)
		status = rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, last_cores);
	else if (!last[vnc].model_id)
		status = rt_fail(NRT_FAILURE, "NRT", "nothing was executed on core %u", vnc);
	else
		*record = last[vnc];
	pthread_mutex_unlock(&lock);
	return status;
}

EXPORT NRT_STATUS nrt_profile_continuous_save(uint32_t vnc,
					      nrt_profile_continuous_options_t *options)
{
	static atomic_uint count;
	struct record record;
	NRT_STATUS status;
	char *directory, *file = NULL;

	rt_details_clear();
	if (!options)
		return rt_fail(NRT_INVALID, "NRT", "no options");
	status = last_of(vnc, &record);
	if (status)
		return status;
	directory = rt_profile_directory(options->directory);
	if (!directory)
		return NRT_FAILURE;
	if (asprintf(&file, "%s/%" PRIu64 "_vnc_%u_exec_%u.ntff", directory, hash_of(&record), vnc,
		     atomic_fetch_add(&count, 1) + 1) < 0)
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	else
		status = write_records(file, &record, 1, NULL);
	free(directory);
	free(file);
	return status;
}

EXPORT NRT_STATUS nrt_profile_continuous_stop(void)
{
	NRT_STATUS status = NRT_SUCCESS;

	rt_details_clear();
	pthread_mutex_lock(&lock);
	if (continuous)
		atomic_fetch_sub(&users, 1);
	else
		status = rt_fail(NRT_FAILURE, "NRT", "continuous profiling is not on");
	continuous = false;
	free(last);
	last = NULL;
	last_cores = 0;
	pthread_mutex_unlock(&lock);
	return status;
}
