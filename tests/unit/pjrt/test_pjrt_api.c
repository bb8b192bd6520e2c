// SPDX-License-Identifier: MIT
/*
 * The table: every function is there and refuses no arguments at all; sizes of a framework that is
 * older or newer; what is asked at the start.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check_main.h"
#include "pjrt_client.h"

/* Only these two return nothing. */
static bool is_void(size_t n)
{
	return n < 2;
}

START_TEST(every_function_takes_null)
{
	PJRT_Error *(*const *f)(void *) = (void *)&api->PJRT_Error_Destroy;

	ck_assert_uint_eq(api->struct_size, 1144);
	ck_assert_int_eq(api->pjrt_api_version.major_version, 0);
	for (size_t n = 0; n < 138; n++) {
		ck_assert_ptr_nonnull(f[n]);
		if (!is_void(n))
			expect_error("a call without arguments", f[n](NULL),
				     PJRT_Error_Code_INVALID_ARGUMENT, "arguments are NULL");
	}
}
END_TEST

/* Every function with handles that are all NULL returns an error, or has nothing to do. */
START_TEST(every_function_takes_null_handles)
{
	PJRT_Error *(*const *f)(void *) = (void *)&api->PJRT_Error_Destroy;

	for (size_t n = 2; n < 138; n++) {
		union {
			size_t struct_size;
			char bytes[512];
		} a = { .struct_size = 512 };
		PJRT_Error *e;

		/* these make or change something of no handle */
		if (f[n] == (void *)api->PJRT_Client_Create ||
		    f[n] == (void *)api->PJRT_Event_Create ||
		    f[n] == (void *)api->PJRT_ExecuteContext_Create)
			continue;
		e = f[n](&a);
		api->PJRT_Error_Destroy(ARGS(Error_Destroy, .error = e));
	}
}
END_TEST

START_TEST(older_framework)
{
	PJRT_Plugin_Attributes_Args a = { .struct_size = 24 };
	PJRT_Buffer_IsOnCpu_Args c = { .struct_size = PJRT_Buffer_IsOnCpu_Args_SIZE };
	const float x[4] = { 1, 2, 3, 4 };

	/* up to minor 70 they say 24 and mean 32 */
	expect_ok("Plugin_Attributes", api->PJRT_Plugin_Attributes(&a));
	ck_assert_uint_eq(a.num_attributes, 3);
	for (size_t i = 0; i < a.num_attributes; i++) {
		const PJRT_NamedValue *v = &a.attributes[i];

		if (!strncmp(v->name, "xla_version", v->name_size))
			ck_assert_int_eq(v->int64_value, 2);
		else
			ck_assert_uint_eq(v->value_size, 3);
	}
	/* a bool is the last byte that may be written */
	memset((char *)&c + 25, 0x5a, sizeof(c) - 25);
	c.buffer = put_f32(x, 4);
	expect_ok("Buffer_IsOnCpu", api->PJRT_Buffer_IsOnCpu(&c));
	for (size_t i = 25; i < sizeof(c); i++)
		ck_assert_uint_eq(((unsigned char *)&c)[i], 0x5a);
	ck_assert(!c.is_on_cpu);
	drop(c.buffer);
}
END_TEST

/* A struct that ends where its framework says, at the end of a page: nothing behind it is touched */
static void *at_end(const void *args, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect(p + page, page, PROT_NONE), 0);
	return memcpy(p + page - size, args, size);
}

START_TEST(nothing_behind_the_size)
{
	const size_t size = 72; /* of minor 54: without kv_try_get */
	PJRT_Client_Create_Args a = { .struct_size = size }, *end = at_end(&a, size);
	PJRT_Device_MemoryStats_Args m = { .struct_size = 176, .device = device(0) };
	PJRT_Device_MemoryStats_Args *stats = at_end(&m, 176);

	expect_ok("Client_Create", api->PJRT_Client_Create(end));
	ck_assert_ptr_nonnull(end->client);
	CALL(Client_Destroy, ARGS(Client_Destroy, .client = end->client));
	expect_ok("Device_MemoryStats", api->PJRT_Device_MemoryStats(stats));
	ck_assert(stats->bytes_limit_is_set);
	ck_assert(!stats->largest_free_block_bytes_is_set);
}
END_TEST

START_TEST(newer_framework)
{
	struct {
		PJRT_Client_Devices_Args a;
		char more[64];
	} newer = { .a = { .struct_size = sizeof(newer), .client = client } };

	memset(newer.more, 0x5a, sizeof(newer.more));
	expect_ok("Client_Devices", api->PJRT_Client_Devices(&newer.a));
	ck_assert_uint_eq(newer.a.num_devices, 2);
	for (size_t i = 0; i < sizeof(newer.more); i++)
		ck_assert_int_eq(newer.more[i], 0x5a);
}
END_TEST

START_TEST(devices)
{
	for (unsigned int i = 0; i < 2; i++) {
		PJRT_Device_GetDescription_Args *d =
			ARGS(Device_GetDescription, .device = device(i));
		PJRT_DeviceDescription_Kind_Args *k = ARGS(DeviceDescription_Kind);
		PJRT_DeviceDescription_Id_Args *id = ARGS(DeviceDescription_Id);
		PJRT_Client_LookupDevice_Args *l =
			ARGS(Client_LookupDevice, .client = client, .id = (int)i);
		PJRT_Device_DefaultMemory_Args *m = ARGS(Device_DefaultMemory, .device = device(i));

		CALL(Device_GetDescription, d);
		k->device_description = id->device_description = d->device_description;
		CALL(DeviceDescription_Kind, k);
		ck_assert_str_eq(k->device_kind, "NC_v2");
		CALL(DeviceDescription_Id, id);
		ck_assert_int_eq(id->id, (int)i);
		CALL(Client_LookupDevice, l);
		ck_assert_ptr_eq(l->device, device(i));
		CALL(Device_DefaultMemory, m);
		ck_assert_ptr_eq(m->memory, memory_of(device(i), "device"));
	}
	FAIL(Client_LookupDevice, ARGS(Client_LookupDevice, .client = client, .id = 2),
	     INVALID_ARGUMENT, "id 2");
	FAIL(Client_LookupDevice, ARGS(Client_LookupDevice, .client = client, .id = -1),
	     INVALID_ARGUMENT, "id -1");
}
END_TEST

START_TEST(client_options)
{
	PJRT_NamedValue option = { .struct_size = PJRT_NamedValue_SIZE,
				   .name = "no_such_option",
				   .name_size = strlen("no_such_option"),
				   .type = PJRT_NamedValue_kInt64,
				   .value_size = 1 };
	PJRT_Client_Create_Args *c =
		ARGS(Client_Create, .create_options = &option, .num_options = 1);

	FAIL(Client_Create, ARGS(Client_Create, .create_options = &option, .num_options = 1),
	     INVALID_ARGUMENT, "no_such_option");
	FAIL(Client_Create, ARGS(Client_Create, .num_options = 1), INVALID_ARGUMENT, "NULL");
	option.name = "num_nodes";
	option.name_size = strlen("num_nodes");
	option.int64_value = 2;
	FAIL(Client_Create, ARGS(Client_Create, .create_options = &option, .num_options = 1),
	     INVALID_ARGUMENT, "no store of keys and values");
	option.int64_value = 1;
	CALL(Client_Create, c);
	CALL(Client_Destroy, ARGS(Client_Destroy, .client = c->client));
}
END_TEST

START_TEST(topologies)
{
	PJRT_TopologyDescription_Create_Args *c =
		ARGS(TopologyDescription_Create, .topology_name = "trn2.48xlarge",
		     .topology_name_size = 13);
	PJRT_TopologyDescription_GetDeviceDescriptions_Args *d =
		ARGS(TopologyDescription_GetDeviceDescriptions);
	PJRT_TopologyDescription_Serialize_Args *s = ARGS(TopologyDescription_Serialize);
	PJRT_TopologyDescription_Deserialize_Args *r = ARGS(TopologyDescription_Deserialize);
	PJRT_TopologyDescription_Fingerprint_Args *f = ARGS(TopologyDescription_Fingerprint);
	PJRT_DeviceDescription_Kind_Args *k = ARGS(DeviceDescription_Kind);
	uint64_t first;

	CALL(TopologyDescription_Create, c);
	d->topology = s->topology = f->topology = c->topology;
	CALL(TopologyDescription_GetDeviceDescriptions, d);
	ck_assert_uint_eq(d->num_descriptions, 64); /* 16 chips of 4 logical cores */
	k->device_description = d->descriptions[63];
	CALL(DeviceDescription_Kind, k);
	ck_assert_str_eq(k->device_kind, "NC_v3d");
	CALL(TopologyDescription_Fingerprint, f);
	first = f->fingerprint;
	CALL(TopologyDescription_Serialize, s);
	r->serialized_topology = s->serialized_bytes;
	r->serialized_topology_size = s->serialized_bytes_size;
	CALL(TopologyDescription_Deserialize, r);
	f->topology = r->topology;
	CALL(TopologyDescription_Fingerprint, f);
	ck_assert(f->fingerprint == first);
	CALL(TopologyDescription_Destroy,
	     ARGS(TopologyDescription_Destroy, .topology = r->topology));
	r->serialized_topology_size--;
	FAIL(TopologyDescription_Deserialize, r, INVALID_ARGUMENT, "not a topology");
	s->serialized_topology_deleter(s->serialized_topology);
	CALL(TopologyDescription_Destroy,
	     ARGS(TopologyDescription_Destroy, .topology = c->topology));
	c->topology_name = "gpu";
	c->topology_name_size = 3;
	FAIL(TopologyDescription_Create, c, INVALID_ARGUMENT, "gpu");
}
END_TEST

static int destroyed;

static void destroy_data(void *data)
{
	destroyed += *(int *)data;
}

/* Newer frameworks can keep data of their own with a memory, by its table of functions. */
START_TEST(memory_user_data)
{
	PJRT_Client_Create_Args *c = ARGS(Client_Create);
	PJRT_Client_AddressableMemories_Args *m = ARGS(Client_AddressableMemories);
	const PJRT_Memory_FunctionTable *f;
	int one = 1, ten = 10, key;

	CALL(Client_Create, c);
	m->client = c->client;
	CALL(Client_AddressableMemories, m);
	ck_assert_uint_eq(m->num_addressable_memories, 6);
	memcpy(&f, m->addressable_memories[0], sizeof(f));
	ck_assert_uint_eq(f->struct_size, 40);
	ck_assert_ptr_null(f->get_user_data(m->addressable_memories[0], &key));
	f->set_user_data(m->addressable_memories[0], &key, &one, destroy_data);
	ck_assert_ptr_eq(f->get_user_data(m->addressable_memories[0], &key), &one);
	ck_assert_ptr_null(f->get_user_data(m->addressable_memories[1], &key));
	f->set_user_data(m->addressable_memories[0], &key, &ten, destroy_data);
	ck_assert_int_eq(destroyed, 1);
	CALL(Client_Destroy, ARGS(Client_Destroy, .client = c->client));
	ck_assert_int_eq(destroyed, 11);
}
END_TEST

static void ready(PJRT_Error *error, void *arg)
{
	PJRT_Error_GetCode_Args *c = ARGS(Error_GetCode, .error = error);

	CALL(Error_GetCode, c);
	*(int *)arg = (int)c->code;
	api->PJRT_Error_Destroy(ARGS(Error_Destroy, .error = error));
}

START_TEST(events)
{
	PJRT_Event_Create_Args *c = ARGS(Event_Create);
	PJRT_Event_IsReady_Args *r = ARGS(Event_IsReady);
	PJRT_Event_Set_Args *s = ARGS(Event_Set, .error_code = PJRT_Error_Code_ABORTED,
				      .error_message = "because", .error_message_size = 7);
	int before = 0, after = 0;

	CALL(Event_Create, c);
	r->event = s->event = c->event;
	CALL(Event_IsReady, r);
	ck_assert(!r->is_ready);
	FAIL(Event_Error, ARGS(Event_Error, .event = c->event), FAILED_PRECONDITION, "not ready");
	CALL(Event_OnReady,
	     ARGS(Event_OnReady, .event = c->event, .callback = ready, .user_arg = &before));
	ck_assert_int_eq(before, 0);
	CALL(Event_Set, s);
	ck_assert_int_eq(before, PJRT_Error_Code_ABORTED);
	CALL(Event_OnReady,
	     ARGS(Event_OnReady, .event = c->event, .callback = ready, .user_arg = &after));
	ck_assert_int_eq(after, PJRT_Error_Code_ABORTED);
	FAIL(Event_Await, ARGS(Event_Await, .event = c->event), ABORTED, "because");
	FAIL(Event_Error, ARGS(Event_Error, .event = c->event), ABORTED, "because");
	FAIL(Event_Set, s, FAILED_PRECONDITION, "already");
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = c->event));
	CALL(Event_Destroy, ARGS(Event_Destroy));
}
END_TEST

/* A function that the plug-in does not have fails with its name. */
START_TEST(unsupported)
{
	FAIL(Device_PoisonExecution, ARGS(Device_PoisonExecution, .device = device(0)),
	     UNIMPLEMENTED, "PJRT_Device_PoisonExecution");
	FAIL(CopyToDeviceStream_AddChunk, ARGS(CopyToDeviceStream_AddChunk), UNIMPLEMENTED,
	     "PJRT_CopyToDeviceStream_AddChunk");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-api");
	TCase *tc = tcase_create("pjrt");

	tcase_add_unchecked_fixture(tc, plugin_start, plugin_end);
	tcase_add_test(tc, every_function_takes_null);
	tcase_add_test(tc, every_function_takes_null_handles);
	tcase_add_test(tc, older_framework);
	tcase_add_test(tc, nothing_behind_the_size);
	tcase_add_test(tc, newer_framework);
	tcase_add_test(tc, devices);
	tcase_add_test(tc, client_options);
	tcase_add_test(tc, topologies);
	tcase_add_test(tc, memory_user_data);
	tcase_add_test(tc, events);
	tcase_add_test(tc, unsupported);
	suite_add_tcase(suite, tc);
	return check_run_here(suite);
}
