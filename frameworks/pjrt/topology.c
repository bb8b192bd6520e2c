// SPDX-License-Identifier: MIT
/*
 * Topologies: what chips there are, and how their devices are called. A client has one of the chips
 * that it found; one can be made for chips that are not there, to compile for them.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "instance.h"
#include "neuron_version.h"
#include "pjrt.h"

const char *npj_platform_version(void)
{
	return "neuron-emulator " NEURON_EMULATOR_VERSION;
}

/*
 * Programs read the kind to learn what core they have, and choose the size of a logical one by it.
 */
static const char *kind_of(const struct neuron_target *t, unsigned int lnc)
{
	static const char *const kinds[][2] = { { "NC_v1", "NC_v1" },
						{ "NC_v2", "NC_v2" },
						{ "NC_v3", "NC_v3d" } };
	unsigned int core = t->core < 3 ? t->core : 3;

	return kinds[core - 1][lnc > 1];
}

static PJRT_NamedValue number(const char *name, int64_t value)
{
	return (PJRT_NamedValue){ .struct_size = PJRT_NamedValue_SIZE,
				  .name = name,
				  .name_size = strlen(name),
				  .type = PJRT_NamedValue_kInt64,
				  .int64_value = value,
				  .value_size = 1 };
}

static void describe(PJRT_DeviceDescription *d, const PJRT_TopologyDescription *t, unsigned int i)
{
	unsigned int chip = i / t->cores, core = i % t->cores;

	d->id = (int)i;
	d->kind = t->kind;
	d->coords[0] = chip;
	d->coords[1] = core;
	snprintf(d->text, sizeof(d->text), "%s(id=%u)", t->kind, i);
	snprintf(d->debug, sizeof(d->debug), "%s(id=%u, process_index=%d, chip=%u, core=%u)",
		 t->kind, i, d->process, chip, core);
	d->attribute[0] = (PJRT_NamedValue){ .struct_size = PJRT_NamedValue_SIZE,
					     .name = "coords",
					     .name_size = strlen("coords"),
					     .type = PJRT_NamedValue_kInt64List,
					     .int64_array_value = d->coords,
					     .value_size = 2 };
	d->attribute[1] = number("chip", chip);
	d->attribute[2] = number("core_on_chip", core);
	d->attribute[3] = number("logical_nc_config", t->lnc);
}

PJRT_Error *npj_topology_new(const char *arch, unsigned int lnc, unsigned int cores, unsigned int n,
			     PJRT_TopologyDescription **result)
{
	const struct neuron_target *target = neuron_target_of_name(arch);
	PJRT_TopologyDescription *t;

	if (!target || strlen(arch) >= sizeof(t->arch))
		return NPJ_INVALID("there is no chip \"%s\": inf1, inf2, trn1, trn1n, trn2", arch);
	if (lnc < 1 || lnc > 2 || (lnc == 2 && target->core < 3) || !cores)
		return NPJ_INVALID("%s has no logical cores of %u", arch, lnc);
	if (!n || n > NPJ_MAX_DEVICES)
		return NPJ_INVALID("%u devices: 1 to %d", n, NPJ_MAX_DEVICES);
	t = calloc(1, sizeof(*t));
	if (!t)
		return npj_no_memory();
	*t = (PJRT_TopologyDescription){ .refs = 1,
					 .target = target,
					 .kind = kind_of(target, lnc),
					 .lnc = lnc,
					 .cores = cores,
					 .n = n };
	strcpy(t->arch, arch);
	snprintf(t->version, sizeof(t->version), "%s", npj_platform_version());
	t->description = calloc(n, sizeof(*t->description));
	t->descriptions = calloc(n, sizeof(*t->descriptions));
	if (!t->description || !t->descriptions) {
		npj_topology_unref(t);
		return npj_no_memory();
	}
	for (unsigned int i = 0; i < n; i++) {
		describe(&t->description[i], t, i);
		t->descriptions[i] = &t->description[i];
	}
	t->attribute[0] = (PJRT_NamedValue){ .struct_size = PJRT_NamedValue_SIZE,
					     .name = "target",
					     .name_size = strlen("target"),
					     .type = PJRT_NamedValue_kString,
					     .string_value = t->arch,
					     .value_size = strlen(t->arch) };
	t->attribute[1] = number("logical_nc_config", lnc);
	t->attribute[2] = number("cores_per_chip", cores);
	*result = t;
	return NULL;
}

void npj_topology_give(PJRT_TopologyDescription *t, unsigned int first, unsigned int n, int process)
{
	for (unsigned int i = first; i < first + n; i++) {
		t->description[i].process = process;
		describe(&t->description[i], t, i);
	}
}

PJRT_TopologyDescription *npj_topology_ref(PJRT_TopologyDescription *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void npj_topology_unref(PJRT_TopologyDescription *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	free(t->descriptions);
	free(t->description);
	free(t);
}

/* A chip's name, or an instance type's, which says how many there are */
static PJRT_Error *named(const PJRT_TopologyDescription_Create_Args *a, char *arch, size_t size,
			 unsigned int *chips)
{
	const struct neuron_instance *instance;
	char name[32];

	*chips = 1;
	if (!a->topology_name || !a->topology_name_size || a->topology_name_size >= sizeof(name))
		return NPJ_INVALID("a topology is named by a chip (trn1) "
				   "or an instance (trn1.32xlarge)");
	memcpy(name, a->topology_name, a->topology_name_size);
	name[a->topology_name_size] = 0;
	snprintf(arch, size, "%.*s", (int)strcspn(name, "."), name);
	if (!strchr(name, '.'))
		return NULL;
	instance = neuron_instance_find(name);
	if (!instance)
		return NPJ_INVALID("there is no instance type \"%s\"", name);
	*chips = instance->chips;
	/* trn2u's chips are trn2's */
	if (!neuron_target_of_name(arch))
		arch[strlen(arch) - 1] = 0;
	return NULL;
}

static PJRT_Error *option(const PJRT_NamedValue *v, unsigned int *lnc, unsigned int *n)
{
	static const char *const names[] = { "logical_nc_config", "num_devices" };
	unsigned int *const values[] = { lnc, n };

	for (unsigned int i = 0; i < 2; i++) {
		if (v->name_size != strlen(names[i]) || memcmp(v->name, names[i], v->name_size))
			continue;
		if (v->type != PJRT_NamedValue_kInt64 || v->int64_value < 1 ||
		    v->int64_value > NPJ_MAX_DEVICES)
			return NPJ_INVALID("the option %s is a number from 1 on", names[i]);
		*values[i] = (unsigned int)v->int64_value;
		return NULL;
	}
	return NPJ_INVALID("a topology has no option \"%.*s\": logical_nc_config, num_devices",
			   (int)v->name_size, v->name);
}

PJRT_Error *npj_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args *a)
{
	unsigned int chips, lnc = 0, n = 0;
	const struct neuron_target *target;
	char arch[32];
	PJRT_Error *e = named(a, arch, sizeof(arch), &chips);

	if (!e && a->num_options && !a->create_options)
		e = NPJ_INVALID("create_options is NULL");
	for (size_t i = 0; i < a->num_options && !e; i++)
		e = option(&a->create_options[i], &lnc, &n);
	if (e)
		return e;
	target = neuron_target_of_name(arch);
	if (!target)
		return NPJ_INVALID("there is no chip \"%s\": inf1, inf2, trn1, trn1n, trn2", arch);
	if (!lnc)
		lnc = target->gen->logical_cores ? target->gen->logical_cores : 1;
	return npj_topology_new(arch, lnc, target->gen->cores / lnc,
				n ? n : chips * target->gen->cores / lnc, &a->topology);
}

PJRT_Error *npj_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args *a)
{
	npj_topology_unref(a->topology);
	return NULL;
}

PJRT_Error *npj_TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args *a)
{
	a->platform_name = NPJ_PLATFORM;
	a->platform_name_size = strlen(NPJ_PLATFORM);
	return NULL;
}

PJRT_Error *
npj_TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args *a)
{
	a->platform_version = npj_platform_version();
	a->platform_version_size = strlen(a->platform_version);
	return NULL;
}

PJRT_Error *npj_TopologyDescription_GetDeviceDescriptions(
	PJRT_TopologyDescription_GetDeviceDescriptions_Args *a)
{
	NPJ_NEED(a->topology, "topology");
	a->descriptions = a->topology->descriptions;
	a->num_descriptions = a->topology->n;
	return NULL;
}

PJRT_Error *npj_TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args *a)
{
	NPJ_NEED(a->topology, "topology");
	a->attributes = a->topology->attribute;
	a->num_attributes = sizeof(a->topology->attribute) / sizeof(a->topology->attribute[0]);
	return NULL;
}

/* Serialized it is a line of text: what npj_topology_new takes, behind the version of the line. */
static const char line[] = "neuron-topology 1 %15s lnc %u cores %u devices %u.";

static int print(const PJRT_TopologyDescription *t, char *text, size_t size)
{
	return snprintf(text, size, "neuron-topology 1 %s lnc %u cores %u devices %u.", t->arch,
			t->lnc, t->cores, t->n);
}

PJRT_Error *npj_TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args *a)
{
	char text[128];

	NPJ_NEED(a->topology, "topology");
	a->serialized_topology = npj_bytes(text, (size_t)print(a->topology, text, sizeof(text)),
					   &a->serialized_bytes, &a->serialized_bytes_size);
	a->serialized_topology_deleter = free;
	return a->serialized_topology ? NULL : npj_no_memory();
}

PJRT_Error *npj_TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args *a)
{
	unsigned int lnc, cores, n;
	char text[128], again[128], arch[16];
	PJRT_Error *e;

	if (!a->serialized_topology || a->serialized_topology_size >= sizeof(text))
		return NPJ_INVALID("not a topology of this plug-in");
	memcpy(text, a->serialized_topology, a->serialized_topology_size);
	text[a->serialized_topology_size] = 0;
	if (sscanf(text, line, arch, &lnc, &cores, &n) != 4)
		return NPJ_INVALID("not a topology of this plug-in");
	e = npj_topology_new(arch, lnc, cores, n, &a->topology);
	if (e)
		return e;
	/* what is behind it, or missing */
	print(a->topology, again, sizeof(again));
	if (!strcmp(text, again))
		return NULL;
	npj_topology_unref(a->topology);
	return NPJ_INVALID("not a topology of this plug-in");
}

/* Programs of one fingerprint are exchangeable: chips, logical cores, their number, the compiler */
PJRT_Error *npj_TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args *a)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[256];
	int n;

	NPJ_NEED(a->topology, "topology");
	n = print(a->topology, text, sizeof(text));
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", npj_platform_version());
	if (!EVP_Digest(text, (size_t)n, digest, NULL, EVP_sha256(), NULL))
		return npj_no_memory();
	memcpy(&a->fingerprint, digest, sizeof(a->fingerprint));
	return NULL;
}

PJRT_Error *npj_TopologyDescription_GetMemorySpaceKindIds(
	PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *a)
{
	static const int ids[NPJ_KINDS] = { NPJ_DEVICE, NPJ_PINNED, NPJ_UNPINNED };

	NPJ_NEED(a->topology, "topology");
	a->memory_space_kind_ids = ids;
	a->num_memory_space_kind_ids = NPJ_KINDS;
	return NULL;
}
