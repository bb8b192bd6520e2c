// SPDX-License-Identifier: MIT
/*
 * The plug-in and its clients. A client has all cores that the environment lets this process have
 * (NEURON_RT_VISIBLE_CORES, NEURON_RT_NUM_CORES), each a device with a thread for its programs.
 * Clients of one process share the runtime.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nec.h"
#include "calls.h"
#include "nrt/nrtx.h"
#include "processes.h"
#include "progress.h"

PJRT_Error *npj_Plugin_Initialize(PJRT_Plugin_Initialize_Args *a)
{
	return NULL;
}

/*
 * What StableHLO frameworks may send. From 1.16.0 on they name groups of replicas by the axes of a
 * mesh, before by lists, which is less to read for the same meaning.
 */
PJRT_Error *npj_Plugin_Attributes(PJRT_Plugin_Attributes_Args *a)
{
	static const int64_t current[] = { 1, 15, 0 }, minimum[] = { 0, 9, 0 };
#define HEAD(text) .struct_size = PJRT_NamedValue_SIZE, .name = text, .name_size = sizeof(text) - 1
	static const PJRT_NamedValue attributes[] = {
		{ HEAD("xla_version"), .type = PJRT_NamedValue_kInt64, .int64_value = 2,
		  .value_size = 1 },
		{ HEAD("stablehlo_current_version"), .type = PJRT_NamedValue_kInt64List,
		  .int64_array_value = current, .value_size = 3 },
		{ HEAD("stablehlo_minimum_version"), .type = PJRT_NamedValue_kInt64List,
		  .int64_array_value = minimum, .value_size = 3 },
	};
#undef HEAD

	a->attributes = attributes;
	a->num_attributes = sizeof(attributes) / sizeof(attributes[0]);
	return NULL;
}

PJRT_Client *npj_client_ref(PJRT_Client *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

static void stop(PJRT_Client *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		npj_queue_free(c->device[i].queue);
		c->device[i].queue = NULL;
	}
	npj_queue_free(c->transfers);
	c->transfers = NULL;
}

void npj_client_unref(PJRT_Client *c)
{
	if (atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	for (unsigned int i = 0; c->device && i < c->n; i++) {
		npj_pool_free(c->device[i].pool);
		for (int k = 0; k < NPJ_KINDS; k++)
			npj_memory_end(&c->device[i].memory[k]);
	}
	npj_topology_unref(c->topology);
	free(c->all);
	free(c->devices);
	free(c->memories);
	free(c);
	npj_runtime_end();
}

PJRT_Error *npj_client_open(const PJRT_Client *c)
{
	if (!atomic_load(&c->closed))
		return npj_forked_error();
	return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the client was destroyed");
}

PJRT_Device *npj_client_device(const PJRT_Client *c, int id)
{
	for (unsigned int i = 0; i < c->nall; i++)
		if (c->all[i].description->id == id)
			return &c->all[i];
	return NULL;
}

/* The machine that the runtime has found, and how many of its cores are visible */
static PJRT_Error *find_chips(PJRT_Client *c, struct npj_chips *chips)
{
	nrt_instance_info_t info = { 0 };
	uint32_t n = 0, cores = 0, lnc = 1;
	NRT_STATUS status = nrt_get_visible_vnc_count(&n);

	if (!status)
		status = nrt_get_instance_info(&info, sizeof(info));
	if (!status)
		status = nrtx_cores_per_device(&cores);
	if (!status)
		status = nec_get_virtual_core_size(&lnc);
	if (status)
		return npj_runtime_error(status, "the Neuron runtime");
	/* both of them are of one kind of chip */
	if (!strcmp(info.arch_name, "trn2u"))
		strcpy(info.arch_name, "trn2");
	c->n = n;
	*chips = (struct npj_chips){ .lnc = lnc, .cores = cores };
	snprintf(chips->arch, sizeof(chips->arch), "%.15s", info.arch_name);
	return NULL;
}

/* The topology of all processes' cores */
static PJRT_Error *meet(const PJRT_Client_Create_Args *a, PJRT_Client *c, struct npj_processes *p)
{
	struct npj_chips chips;
	PJRT_Error *e = npj_processes_check(p) ?: find_chips(c, &chips);
	unsigned int first = 0;

	if (!e)
		e = npj_processes_exchange(a, p, &chips, c->n);
	if (e)
		return e;
	c->process = (int)p->own;
	c->apart = p->apart;
	c->alike = p->store;
	c->nall = npj_processes_devices(p, (unsigned int)p->n);
	e = npj_topology_new(chips.arch, chips.lnc, chips.cores, c->nall, &c->topology);
	for (int i = 0; i < p->n && !e; i++) {
		npj_topology_give(c->topology, first, p->devices[i], i);
		first += p->devices[i];
	}
	return e;
}

static PJRT_Error *make_own(PJRT_Client *c, unsigned int i)
{
	PJRT_Device *d = &c->device[i];
	char name[16];

	d->vnc = i;
	snprintf(name, sizeof(name), "pjrt-nc%u", i % 1000);
	d->queue = npj_queue_new(name);
	d->pool = npj_pool_new();
	if (!d->queue || !d->pool)
		return npj_no_memory();
	for (int k = 0; k < NPJ_KINDS; k++) {
		PJRT_Memory *m = &d->memory[k];

		m->functions = &npj_memory_functions;
		m->device = d;
		m->kind = k;
		m->id = d->description->id * NPJ_KINDS + k;
		snprintf(m->text, sizeof(m->text), "MEMORY(%s, %s)", npj_kind_name[k],
			 d->description->text);
		d->memories[k] = c->memories[i * NPJ_KINDS + (unsigned int)k] = m;
	}
	return NULL;
}

/* first: of its own ones */
static PJRT_Error *make_devices(PJRT_Client *c, unsigned int first)
{
	PJRT_Error *e = NULL;

	c->all = calloc(c->nall, sizeof(*c->all));
	c->devices = calloc(c->nall, sizeof(*c->devices));
	c->memories = calloc((size_t)c->n * NPJ_KINDS, sizeof(*c->memories));
	c->transfers = npj_queue_new("pjrt-transfers");
	if (!c->all || !c->devices || !c->memories || !c->transfers)
		return npj_no_memory();
	c->device = &c->all[first];
	c->own = &c->devices[first];
	for (unsigned int i = 0; i < c->nall; i++) {
		c->all[i].client = c;
		c->all[i].description = &c->topology->description[i];
		c->devices[i] = &c->all[i];
	}
	for (unsigned int i = 0; i < c->n && !e; i++)
		e = make_own(c, i);
	return e;
}

static bool is_named(const PJRT_NamedValue *v, const char *name)
{
	return v->name_size == strlen(name) && !memcmp(v->name, name, v->name_size);
}

/* Functions of the framework's own process, which it calls the plug-in in */
static const struct {
	const char *name;
	PJRT_Error *(*take)(int64_t address);
} addresses[] = {
	{ "host_callback", npj_calls_entry },
	{ "host_callback_hold", npj_calls_holder },
};

static PJRT_Error *take_option(PJRT_Client *c, const PJRT_NamedValue *v, struct npj_processes *p)
{
	if (is_named(v, "narrow_64bit")) {
		if (v->type != PJRT_NamedValue_kBool)
			return NPJ_INVALID("the option narrow_64bit is true or false");
		c->narrow_64bit = v->bool_value;
		return NULL;
	}
	for (unsigned int i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		if (!is_named(v, addresses[i].name))
			continue;
		if (v->type != PJRT_NamedValue_kInt64 || !v->int64_value)
			return NPJ_INVALID("the option %s is the address of a function",
					   addresses[i].name);
		return addresses[i].take(v->int64_value);
	}
	if (is_named(v, "python_signals")) {
		if (v->type != PJRT_NamedValue_kInt64List)
			return NPJ_INVALID("the option python_signals is a list of numbers");
		return npj_progress_signals(v->int64_array_value, v->value_size);
	}
	/* of jax.distributed */
	if (is_named(v, "node_id") || is_named(v, "num_nodes")) {
		if (v->type != PJRT_NamedValue_kInt64)
			return NPJ_INVALID("the option %.*s is a number", (int)v->name_size,
					   v->name);
		*(is_named(v, "node_id") ? &p->own : &p->n) = v->int64_value;
		return NULL;
	}
	return NPJ_INVALID("a client has no option \"%.*s\": host_callback, "
			   "host_callback_hold, narrow_64bit, node_id, num_nodes, python_signals",
			   (int)v->name_size, v->name ? v->name : "");
}

PJRT_Error *npj_Client_Create(PJRT_Client_Create_Args *a)
{
	struct npj_processes p = { .n = NPJ_UNSAID };
	PJRT_Client *c;
	PJRT_Error *e = npj_forked_error();

	if (e)
		return e;
	if (a->num_options && !a->create_options)
		return NPJ_INVALID("create_options is NULL");
	e = npj_runtime_begin();
	if (e)
		return e;
	c = calloc(1, sizeof(*c));
	if (!c) {
		npj_runtime_end();
		return npj_no_memory();
	}
	c->refs = 1;
	c->narrow_64bit = npj_narrow_asked();
	for (size_t i = 0; i < a->num_options && !e; i++)
		e = take_option(c, &a->create_options[i], &p);
	if (!e)
		e = meet(a, c, &p);
	if (!e)
		e = make_devices(c, npj_processes_devices(&p, (unsigned int)p.own));
	free(p.devices);
	if (e) {
		if (c->device)
			stop(c);
		npj_client_unref(c);
		return e;
	}
	a->client = c;
	return NULL;
}

/* Work under way ends first. Objects made of the client that are still somebody's go later. */
PJRT_Error *npj_Client_Destroy(PJRT_Client_Destroy_Args *a)
{
	PJRT_Client *c = a->client;

	if (!c)
		return NULL;
	atomic_store(&c->closed, true);
	if (!npj_forked())
		stop(c);
	npj_client_unref(c);
	return NULL;
}

PJRT_Error *npj_Client_PlatformName(PJRT_Client_PlatformName_Args *a)
{
	a->platform_name = NPJ_PLATFORM;
	a->platform_name_size = strlen(NPJ_PLATFORM);
	return NULL;
}

PJRT_Error *npj_Client_PlatformVersion(PJRT_Client_PlatformVersion_Args *a)
{
	a->platform_version = npj_platform_version();
	a->platform_version_size = strlen(a->platform_version);
	return NULL;
}

PJRT_Error *npj_Client_ProcessIndex(PJRT_Client_ProcessIndex_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->process_index = a->client->process;
	return NULL;
}

PJRT_Error *npj_Client_Devices(PJRT_Client_Devices_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->devices = a->client->devices;
	a->num_devices = a->client->nall;
	return NULL;
}

PJRT_Error *npj_Client_AddressableDevices(PJRT_Client_AddressableDevices_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->addressable_devices = a->client->own;
	a->num_addressable_devices = a->client->n;
	return NULL;
}

PJRT_Error *npj_Client_AddressableMemories(PJRT_Client_AddressableMemories_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->addressable_memories = a->client->memories;
	a->num_addressable_memories = (size_t)a->client->n * NPJ_KINDS;
	return NULL;
}

PJRT_Error *npj_Client_LookupDevice(PJRT_Client_LookupDevice_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->device = npj_client_device(a->client, a->id);
	if (a->device)
		return NULL;
	return NPJ_INVALID("there is no device of id %d, there are %u", a->id, a->client->nall);
}

PJRT_Error *npj_Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args *a)
{
	NPJ_NEED(a->client, "client");
	if (a->local_hardware_id < 0 || (unsigned int)a->local_hardware_id >= a->client->n)
		return NPJ_INVALID("there is no device %d here, there are %u", a->local_hardware_id,
				   a->client->n);
	a->addressable_device = &a->client->device[a->local_hardware_id];
	return NULL;
}

/* Assigns one device after the other, replica by replica */
PJRT_Error *npj_Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args *a)
{
	size_t need;

	NPJ_NEED(a->client, "client");
	if (a->num_replicas < 1 || a->num_partitions < 1 ||
	    (int64_t)a->num_replicas * a->num_partitions > a->client->n)
		return NPJ_INVALID("%d replicas of %d partitions on %u devices", a->num_replicas,
				   a->num_partitions, a->client->n);
	need = (size_t)a->num_replicas * (size_t)a->num_partitions;
	if (a->default_assignment_size < need || !a->default_assignment)
		return NPJ_INVALID("room for %zu devices of %zu", a->default_assignment_size, need);
	for (size_t i = 0; i < need; i++)
		a->default_assignment[i] = a->client->device[i].description->id;
	return NULL;
}

PJRT_Error *npj_Client_TopologyDescription(PJRT_Client_TopologyDescription_Args *a)
{
	NPJ_NEED(a->client, "client");
	a->topology = a->client->topology;
	return NULL;
}

/* States of other processes: nothing here depends on them. */
PJRT_Error *npj_Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args *a)
{
	NPJ_NEED(a->client, "client");
	return NULL;
}

/* Any host memory may be read and written by a transfer as it is. */
PJRT_Error *npj_Client_DmaMap(PJRT_Client_DmaMap_Args *a)
{
	NPJ_NEED(a->client, "client");
	return NULL;
}

PJRT_Error *npj_Client_DmaUnmap(PJRT_Client_DmaUnmap_Args *a)
{
	NPJ_NEED(a->client, "client");
	return NULL;
}
