// SPDX-License-Identifier: MIT
/*
 * Executables on devices: which devices a program runs on, its model on each, and the names that
 * the model has for the program's arguments and results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "cache.h"
#include "calls.h"
#include "compile_options.pb-c.h"
#include "digest.h"
#include "executable.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrtx.h"

PJRT_LoadedExecutable *npj_loaded_ref(PJRT_LoadedExecutable *l)
{
	atomic_fetch_add(&l->refs, 1);
	return l;
}

static void unload(PJRT_LoadedExecutable *l)
{
	for (unsigned int i = 0; l->model && i < l->n; i++)
		if (l->model[i] && !npj_forked())
			nrt_unload(l->model[i]);
	free(l->model);
	l->model = NULL;
	l->loaded = false;
}

void npj_loaded_unref(PJRT_LoadedExecutable *l)
{
	PJRT_Client *c;

	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	c = l->client;
	unload(l);
	if (l->held)
		npj_calls_hold(l->executable->program, false);
	npj_executable_unref(l->executable);
	free(l->ids);
	free(l->device);
	free(l->logical);
	free(l->rank);
	free(l->in);
	free(l->out);
	free(l);
	npj_client_unref(c);
}

/* Takes a device for the next rank of the program. */
static PJRT_Error *take(PJRT_LoadedExecutable *l, PJRT_Device *d)
{
	const unsigned int partitions = l->executable->options.partitions, rank = l->nall;

	for (unsigned int j = 0; j < rank; j++)
		if (l->ids[j] == d->description->id)
			return NPJ_INVALID("the program is assigned to device %d twice",
					   d->description->id);
	l->ids[l->nall++] = d->description->id;
	if (!npj_is_own(d))
		return l->client->apart
			       ? npj_error(PJRT_Error_Code_UNIMPLEMENTED,
					   "%s is for %s, a device of process %d: %s",
					   l->executable->program->name, d->description->text,
					   d->description->process, l->client->apart)
			       : NULL;
	l->device[l->n] = d;
	l->rank[l->n] = rank;
	l->logical[l->n++] =
		(PJRT_LogicalDeviceIds){ (int)(rank / partitions), (int)(rank % partitions) };
	return NULL;
}

/* The devices, by the options' ids, or the first ones */
static PJRT_Error *assign(PJRT_LoadedExecutable *l)
{
	const struct npj_options *o = &l->executable->options;
	const unsigned int there = o->assigned ? l->client->nall : l->client->n;
	const unsigned int n = o->replicas * o->partitions;
	PJRT_Error *e = NULL;

	if (n > there)
		return NPJ_INVALID("a program for %u devices (%u replicas of %u partitions): there "
				   "are %u",
				   n, o->replicas, o->partitions, there);
	l->ids = calloc(n, sizeof(*l->ids));
	l->device = calloc(n, sizeof(*l->device));
	l->logical = calloc(n, sizeof(*l->logical));
	l->rank = calloc(n, sizeof(*l->rank));
	l->model = calloc(n, sizeof(nrt_model_t *));
	l->in = calloc(l->executable->program->nin + 1, sizeof(*l->in));
	l->out = calloc(l->executable->program->nout + 1, sizeof(*l->out));
	if (!l->ids || !l->device || !l->logical || !l->rank || !l->model || !l->in || !l->out)
		return npj_no_memory();
	for (unsigned int i = 0; i < n && !e; i++) {
		PJRT_Device *d = o->assigned ? npj_client_device(l->client, o->assigned[i])
					     : &l->client->device[i];

		e = d ? take(l, d)
		      : NPJ_INVALID("the program is assigned to device %d, which is not there",
				    o->assigned[i]);
	}
	if (!e && !l->n)
		e = NPJ_INVALID("%s is for devices of other processes",
				l->executable->program->name);
	return e;
}

/* Finds the model's tensors of one usage, which have the compiler's names, and checks their sizes. */
static PJRT_Error *bind(const nrt_tensor_info_array_t *all, nrt_tensor_usage_t usage,
			const struct npj_shape *shape, unsigned int n, struct npj_binding *binding)
{
	const char *base = usage == NRT_TENSOR_USAGE_INPUT ? "input" : "output";
	unsigned int number = 0;
	uint64_t next = 0; /* they are in order, mostly */

	for (unsigned int i = 0; i < n; i++) {
		size_t bytes = npj_device_bytes(&shape[i]), size = 0;
		char name[sizeof(binding->name)];

		if (!bytes)
			continue;
		snprintf(name, sizeof(name), "%s%u", base, number++);
		for (uint64_t k = 0; k < all->tensor_count && !size; k++, next++) {
			const nrt_tensor_info_t *t = &all->tensor_array[next % all->tensor_count];

			if (t->usage == usage && !strcmp(t->name, name))
				size = t->size;
		}
		if (size != bytes)
			return npj_error(PJRT_Error_Code_INTERNAL,
					 "the compiled program's %s has %zu bytes, the program's "
					 "%zu",
					 name, size, bytes);
		memcpy(binding[i].name, name, sizeof(name));
	}
	return NULL;
}

/* One of the ranks of a program, which are loaded at the same time, as each waits for the others */
struct rank {
	struct nrtx_load_params params;
	nrt_model_t *model;
	NRT_STATUS status;
	char *why;
	pthread_t thread;
	bool began;
};

static void *load_rank(void *arg)
{
	struct rank *r = arg;

	r->status = nrtx_load(NULL, 0, &r->params, &r->model);
	if (r->status)
		r->why = strdup(nrtx_error_details());
	return NULL;
}

/* The error of the first rank that failed by itself: the others waited for it in vain. */
static PJRT_Error *ranks_error(const struct rank *rank, unsigned int n)
{
	const struct rank *worst = NULL;

	for (unsigned int i = 0; i < n; i++)
		if (rank[i].status &&
		    (!worst || (worst->status == NRT_FAILURE && rank[i].status != NRT_FAILURE)))
			worst = &rank[i];
	return worst ? npj_error(PJRT_Error_Code_INTERNAL, "loading the program: %s\n%s",
				 nrt_get_status_as_str(worst->status), worst->why ? worst->why : "")
		     : NULL;
}

/*
 * A number by which the ranks of a program find each other: of this load, or if some are in other
 * processes, of the devices, and of the program where the framework has all processes compile the
 * same. Else it is what they pass to each other that says who belongs together.
 */
static uint64_t group_of(const PJRT_LoadedExecutable *l)
{
	static atomic_uint groups;
	const uint64_t process = (uint64_t)l->client->process + 1;
	const char *program = l->client->alike ? l->executable->fingerprint : "";
	const struct npj_blob pieces[] = {
		npj_blob(program, strlen(program)),
		npj_blob(l->ids, l->nall * sizeof(*l->ids)),
	};
	unsigned char digest[NPJ_DIGEST] = { 0 };
	uint64_t group;

	if (l->n == l->nall)
		return process << 32 | atomic_fetch_add(&groups, 1);
	npj_digest(pieces, 2, digest);
	memcpy(&group, digest, sizeof(group));
	return 1ull << 63 | group;
}

static PJRT_Error *load_ranks(PJRT_LoadedExecutable *l, const struct nrtx_load_params *params)
{
	const uint64_t group = group_of(l);
	struct rank *rank = calloc(l->n, sizeof(*rank));
	PJRT_Error *e;

	if (!rank)
		return npj_no_memory();
	npj_pools_empty(l->client); /* what fails for want of memory fails for all */
	for (unsigned int i = 0; i < l->n; i++) {
		rank[i].params = *params;
		rank[i].params.start_core = l->device[i]->vnc;
		rank[i].params.rank = l->rank[i];
		rank[i].params.ranks = l->nall;
		rank[i].params.group = group;
		rank[i].began = !pthread_create(&rank[i].thread, NULL, load_rank, &rank[i]);
		if (!rank[i].began)
			rank[i].status = NRT_RESOURCE;
	}
	for (unsigned int i = 0; i < l->n; i++) {
		if (rank[i].began)
			pthread_join(rank[i].thread, NULL);
		l->model[i] = rank[i].model;
	}
	e = ranks_error(rank, l->n);
	for (unsigned int i = 0; i < l->n; i++)
		free(rank[i].why);
	free(rank);
	return e;
}

static PJRT_Error *load_each(PJRT_LoadedExecutable *l, struct nrtx_load_params *params)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < l->n && !status; i++) {
		params->start_core = l->device[i]->vnc;
		status = nrtx_load(NULL, 0, params, &l->model[i]);
		if (status == NRT_RESOURCE && npj_pools_empty(l->client))
			status = nrtx_load(NULL, 0, params, &l->model[i]);
	}
	return npj_runtime_error(status, "loading the program");
}

/* Loads a program that the runtime has read, which is let go. */
static PJRT_Error *load_models(PJRT_LoadedExecutable *l, nrtx_neff_t *neff)
{
	struct nrtx_load_params params = { .core_count = 1, .neff = neff };
	PJRT_Error *e;

	l->together = nrtx_neff_ranks(neff) > 1;
	e = l->together ? load_ranks(l, &params) : load_each(l, &params);
	nrtx_neff_free(neff);
	l->loaded = !e;
	return e;
}

static bool unloaded(PJRT_LoadedExecutable *l)
{
	unload(l);
	l->model = calloc(l->n, sizeof(nrt_model_t *));
	return l->model;
}

/* Loads the compiler's model; false: it cannot be */
static bool load_emitted(PJRT_LoadedExecutable *l, const struct neff_model *model)
{
	struct nrtx_load_params params = { .core_count = 1, .checked = true };
	PJRT_Error *e;

	if (nrtx_neff_copy(model, &params, &params.neff))
		return false;
	e = load_models(l, params.neff);
	if (!e)
		return true;
	npj_error_free(e); /* of the NEFF it comes again, or another one */
	unloaded(l);
	return false;
}

static PJRT_Error *load_neff(PJRT_LoadedExecutable *l)
{
	struct nrtx_load_params params = { .core_count = 1 };
	struct npj_blob neff;
	NRT_STATUS status;
	PJRT_Error *e = npj_executable_neff(l->executable, &neff);

	if (e)
		return e;
	status = nrtx_neff_read(neff.data, neff.size, &params, &params.neff);
	e = npj_runtime_error(status, "loading the program");
	return e ? e : load_models(l, params.neff);
}

/* Binds the arrays of what is loaded. */
static PJRT_Error *bind_arrays(PJRT_LoadedExecutable *l)
{
	PJRT_Executable *x = l->executable;
	nrt_tensor_info_array_t *all = NULL;
	struct nrtx_model_counters counters;
	NRT_STATUS status = nrt_get_model_tensor_info(l->model[0], &all);
	PJRT_Error *e;

	if (status)
		return npj_runtime_error(status, "the program's tensors");
	e = bind(all, NRT_TENSOR_USAGE_INPUT, x->in, x->program->nin, l->in);
	if (!e)
		e = bind(all, NRT_TENSOR_USAGE_OUTPUT, x->out, x->program->nout, l->out);
	nrt_free_model_tensor_info(all);
	if (!e && nrtx_model_counters(l->model[0], &counters) == NRT_SUCCESS)
		x->macs = counters.macs_per_infer;
	return e;
}

/* A file of the cache that cannot be loaded is none: the program is compiled as if it was not
 * there. */
static PJRT_Error *load(PJRT_LoadedExecutable *l)
{
	PJRT_Executable *x = l->executable;
	PJRT_Error *e = NULL;

	if (x->trivial)
		return NULL;
	if (!l->model)
		return npj_no_memory();
	if (!l->loaded)
		e = load_neff(l);
	if (!e)
		e = bind_arrays(l);
	if (!e || !x->cached)
		return e;
	npj_error_free(e);
	npj_cache_drop(x);
	free(x->neff.data);
	x->neff = npj_blob(NULL, 0);
	e = unloaded(l) ? npj_compile(x, true, NULL, NULL) : npj_no_memory();
	e = e ? e : load_neff(l);
	return e ? e : bind_arrays(l);
}

static PJRT_Error *make(PJRT_Client *c, PJRT_Executable *x, bool compiled,
			PJRT_LoadedExecutable **result)
{
	PJRT_LoadedExecutable *l;
	PJRT_Error *e = npj_client_open(c);

	if (!e && (x->topology->target != c->topology->target || x->options.lnc > c->topology->lnc))
		e = npj_error(PJRT_Error_Code_FAILED_PRECONDITION,
			      "a program for %s with logical cores of %u: here are %s, of %u",
			      x->topology->arch, x->options.lnc, c->topology->arch,
			      c->topology->lnc);
	l = e ? NULL : calloc(1, sizeof(*l));
	if (!l) {
		npj_executable_unref(x);
		return e ? e : npj_no_memory();
	}
	l->refs = 1;
	l->client = npj_client_ref(c);
	l->executable = x;
	e = assign(l);
	if (!e) {
		npj_calls_hold(x->program, true);
		l->held = true;
		e = compiled ? NULL : npj_compile(x, false, load_emitted, l);
	}
	if (!e)
		e = load(l);
	ncc_program_forget(x->program);
	if (e) {
		npj_loaded_unref(l);
		return e;
	}
	*result = l;
	return NULL;
}

PJRT_Error *npj_load(PJRT_Client *c, PJRT_Executable *x, PJRT_LoadedExecutable **result)
{
	return make(c, x, true, result);
}

PJRT_Error *npj_compile_and_load(PJRT_Client *c, PJRT_Executable *x, PJRT_LoadedExecutable **result)
{
	return make(c, x, false, result);
}

PJRT_Error *npj_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args *a)
{
	npj_loaded_unref(a->executable);
	return NULL;
}

/* Executions under way go on. */
PJRT_Error *npj_LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	atomic_store(&a->executable->deleted, true);
	return NULL;
}

PJRT_Error *npj_LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->is_deleted = atomic_load(&a->executable->deleted);
	return NULL;
}

PJRT_Error *npj_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *a)
{
	NPJ_NEED(a->loaded_executable, "loaded_executable");
	a->executable = npj_executable_ref(a->loaded_executable->executable);
	return NULL;
}

PJRT_Error *
npj_LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->addressable_devices = a->executable->device;
	a->num_addressable_devices = a->executable->n;
	return NULL;
}

PJRT_Error *npj_LoadedExecutable_AddressableDeviceLogicalIds(
	PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->addressable_device_logical_ids = a->executable->logical;
	a->num_addressable_device_logical_ids = a->executable->n;
	return NULL;
}

PJRT_Error *npj_LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->executable_fingerprint = a->executable->executable->fingerprint;
	a->executable_fingerprint_size = strlen(a->executable_fingerprint);
	return NULL;
}

/* The proto has for each partition the devices of its replicas. */
PJRT_Error *
npj_LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args *a)
{
	Npj__DeviceAssignment proto = NPJ__DEVICE_ASSIGNMENT__INIT;
	PJRT_LoadedExecutable *l = a->executable;
	unsigned int replicas, partitions;
	Npj__ComputationDevice *c, **cs;
	int64_t *ids;
	char *packed;
	size_t size;

	NPJ_NEED(l, "executable");
	replicas = l->executable->options.replicas;
	partitions = l->executable->options.partitions;
	proto.replica_count = (int32_t)replicas;
	proto.computation_count = (int32_t)partitions;
	c = calloc(partitions, sizeof(*c));
	cs = calloc(partitions, sizeof(*cs));
	ids = calloc(l->nall, sizeof(*ids));
	for (unsigned int p = 0; c && cs && ids && p < partitions; p++) {
		npj__computation_device__init(&c[p]);
		cs[p] = &c[p];
		c[p].n_replica_device_ids = replicas;
		c[p].replica_device_ids = &ids[p * replicas];
		for (unsigned int r = 0; r < replicas; r++)
			ids[p * replicas + r] = l->ids[r * partitions + p];
	}
	proto.n_computation_devices = partitions;
	proto.computation_devices = cs;
	size = c && cs && ids ? npj__device_assignment__get_packed_size(&proto) : 0;
	packed = size ? malloc(size) : NULL;
	if (packed) {
		npj__device_assignment__pack(&proto, (uint8_t *)packed);
		a->serialized_bytes = packed;
		a->serialized_bytes_size = size;
		a->serialized_device_assignment = packed;
		a->serialized_device_assignment_deleter = free;
	}
	free(ids);
	free(cs);
	free(c);
	return packed ? NULL : npj_no_memory();
}
