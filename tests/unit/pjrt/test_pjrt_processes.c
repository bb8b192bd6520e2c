// SPDX-License-Identifier: MIT
/*
 * Several processes with devices of their own: this one is the second of three, and a store of this
 * file says what the others have, which are on another host. Programs that span processes:
 * tests/unit/nrt/two_processes, tests/frameworks/jax_processes.py.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "pjrt_client.h"

/* The callbacks' arguments, as the interface has them */
typedef PJRT_Error *error_t(PJRT_Error_Code code, const char *message, size_t size);
struct get_args {
	size_t struct_size;
	void *extension_start;
	const char *key;
	size_t key_size;
	int timeout_in_ms;
	error_t **callback_error;
	void *user_arg;
	char *value;
	size_t value_size;
	void (*value_deleter)(char *value);
};
struct put_args {
	size_t struct_size;
	void *extension_start;
	const char *key;
	size_t key_size;
	const char *value;
	size_t value_size;
	error_t **callback_error;
	void *user_arg;
};

#define LINE(arch) "neuron-devices 2 " arch " lnc 1 cores 2 devices %u host 1."
#define OWN "neuron-devices 2 trn1 lnc 1 cores 2 devices 2 host "

static struct {
	char put_key[64], put[128]; /* by this process */
	const char *others; /* what each of the others has put, with its number of devices */
	unsigned int devices[3];
	bool fails;
} store;

static PJRT_Error *put_value(struct put_args *a)
{
	ck_assert_ptr_eq(a->user_arg, &store);
	snprintf(store.put_key, sizeof(store.put_key), "%.*s", (int)a->key_size, a->key);
	snprintf(store.put, sizeof(store.put), "%.*s", (int)a->value_size, a->value);
	return NULL;
}

static PJRT_Error *get_value(struct get_args *a)
{
	const unsigned int process = (unsigned int)(a->key[a->key_size - 1] - '0');
	char text[128];

	ck_assert_ptr_eq(a->user_arg, &store);
	ck_assert_uint_eq(a->key_size, strlen(store.put_key));
	ck_assert_mem_eq(a->key, store.put_key, a->key_size - 1);
	ck_assert(process == 0 || process == 2);
	ck_assert_int_gt(a->timeout_in_ms, 0);
	if (store.fails)
		return (*a->callback_error)(PJRT_Error_Code_DEADLINE_EXCEEDED, "nobody came", 11);
	snprintf(text, sizeof(text), store.others, store.devices[process]);
	a->value = strdup(text);
	a->value_size = strlen(text);
	a->value_deleter = (void (*)(char *))free;
	return NULL;
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

/* A client of process `own` of n */
static PJRT_Error *join(int64_t own, int64_t n, bool with_store)
{
	PJRT_NamedValue v[2] = { number("node_id", own), number("num_nodes", n) };
	PJRT_Client_Create_Args *c = ARGS(Client_Create, .create_options = v, .num_options = 2);
	PJRT_Error *e;

	if (with_store) {
		c->kv_get_callback = (void *)get_value;
		c->kv_put_callback = (void *)put_value;
		c->kv_get_user_arg = c->kv_put_user_arg = &store;
	}
	e = api->PJRT_Client_Create(c);
	client = c->client;
	return e;
}

static void load(void)
{
	api = plugin_load(getenv("PJRT_LIBRARY"));
	CALL(Plugin_Initialize, ARGS(Plugin_Initialize));
	store.others = LINE("trn1");
	store.devices[0] = 3;
	store.devices[2] = 1;
}

static int process_of(PJRT_Device *d, int *id)
{
	PJRT_Device_GetDescription_Args *g = ARGS(Device_GetDescription, .device = d);
	PJRT_DeviceDescription_ProcessIndex_Args *p = ARGS(DeviceDescription_ProcessIndex);
	PJRT_DeviceDescription_Id_Args *i = ARGS(DeviceDescription_Id);

	CALL(Device_GetDescription, g);
	p->device_description = i->device_description = g->device_description;
	CALL(DeviceDescription_ProcessIndex, p);
	CALL(DeviceDescription_Id, i);
	*id = i->id;
	return p->process_index;
}

START_TEST(devices)
{
	static const int process[6] = { 0, 0, 0, 1, 1, 2 };
	PJRT_Client_Devices_Args *all = ARGS(Client_Devices);
	PJRT_Client_AddressableDevices_Args *own = ARGS(Client_AddressableDevices);
	PJRT_Client_ProcessIndex_Args *index = ARGS(Client_ProcessIndex);
	PJRT_Client_AddressableMemories_Args *memories = ARGS(Client_AddressableMemories);
	int id;

	load();
	expect_ok("Client_Create", join(1, 3, true));
	ck_assert_mem_eq(store.put, OWN, sizeof(OWN) - 1);
	all->client = own->client = index->client = memories->client = client;
	CALL(Client_Devices, all);
	CALL(Client_AddressableDevices, own);
	CALL(Client_ProcessIndex, index);
	CALL(Client_AddressableMemories, memories);
	ck_assert_int_eq(index->process_index, 1);
	ck_assert_uint_eq(all->num_devices, 6);
	ck_assert_uint_eq(own->num_addressable_devices, 2);
	ck_assert_uint_eq(memories->num_addressable_memories, 6);
	for (int i = 0; i < 6; i++) {
		PJRT_Device *d = all->devices[i];
		PJRT_Device_IsAddressable_Args *is = ARGS(Device_IsAddressable, .device = d);
		PJRT_Device_LocalHardwareId_Args *here = ARGS(Device_LocalHardwareId, .device = d);
		PJRT_Device_AddressableMemories_Args *m =
			ARGS(Device_AddressableMemories, .device = d);

		ck_assert_int_eq(process_of(d, &id), process[i]);
		ck_assert_int_eq(id, i);
		CALL(Device_IsAddressable, is);
		CALL(Device_LocalHardwareId, here);
		CALL(Device_AddressableMemories, m);
		ck_assert_int_eq(is->is_addressable, process[i] == 1);
		ck_assert_int_eq(here->local_hardware_id, process[i] == 1 ? i - 3 : -1);
		ck_assert_uint_eq(m->num_memories, process[i] == 1 ? 3 : 0);
		ck_assert(process[i] != 1 || own->addressable_devices[i - 3] == d);
	}
	FAIL(Device_DefaultMemory, ARGS(Device_DefaultMemory, .device = all->devices[5]),
	     INVALID_ARGUMENT, "process 2");
	FAIL(Device_MemoryStats, ARGS(Device_MemoryStats, .device = all->devices[0]),
	     INVALID_ARGUMENT, "process 0");
	FAIL(Client_BufferFromHostBuffer,
	     ARGS(Client_BufferFromHostBuffer, .client = client, .data = &id,
		  .type = PJRT_Buffer_Type_S32, .device = all->devices[0]),
	     INVALID_ARGUMENT, "process 0");
	add1_is_right(compile("add1", "mlir")); /* on its own first device */
	plugin_end();
}
END_TEST

/* CompileOptionsProto { executable_build_options { num_replicas: 1, device_assignment: device 5 } }
 */
START_TEST(another_process)
{
	static const unsigned char options[] = { 0x1a, 0x0f, 0x20, 1,	 0x4a, 0x09, 0x08, 1, 0x10,
						 1,    0x1a, 3,	   0x0a, 1,    5,    0x28, 1 };
	PJRT_LoadedExecutable *x;

	load();
	expect_ok("Client_Create", join(1, 3, true));
	expect_error("a program elsewhere",
		     try_compile("add1", "mlir", options, sizeof(options), &x),
		     PJRT_Error_Code_UNIMPLEMENTED, "process 2: processes are on several hosts");
	plugin_end();
}
END_TEST

START_TEST(refused)
{
	load();
	expect_error("no store", join(1, 3, false), PJRT_Error_Code_INVALID_ARGUMENT, "no store");
	expect_error("number 3 of 3", join(3, 3, true), PJRT_Error_Code_INVALID_ARGUMENT,
		     "process 3 of 3");
	expect_error("none", join(0, 0, true), PJRT_Error_Code_INVALID_ARGUMENT, "process 0 of 0");
	expect_error("less", join(0, -1, true), PJRT_Error_Code_INVALID_ARGUMENT,
		     "process 0 of -1");
	store.fails = true;
	expect_error("nobody", join(1, 3, true), PJRT_Error_Code_DEADLINE_EXCEEDED,
		     "the devices of process 0: nobody came");
	store.fails = false;
	store.others = LINE("trn2");
	expect_error("others", join(1, 3, true), PJRT_Error_Code_INVALID_ARGUMENT,
		     "process 0 has trn2");
	store.others = LINE("trn1") " and more";
	expect_error("more", join(1, 3, true), PJRT_Error_Code_INVALID_ARGUMENT,
		     "not this version's way");
	store.others = LINE("trn1");
	store.devices[2] = 0;
	expect_error("none", join(1, 3, true), PJRT_Error_Code_INVALID_ARGUMENT, "process 2 says");
	store.devices[2] = 4095;
	expect_error("many", join(1, 3, true), PJRT_Error_Code_INVALID_ARGUMENT, "devices: 1 to");
	expect_ok("alone", join(0, 1, false));
	plugin_end();
}
END_TEST

/* What torch_xla says by the environment, which is nothing if the framework says it by options */
static const struct {
	const char *index, *each, *world, *said;
} environments[] = {
	{ "0", NULL, NULL, NULL },
	{ "0", "2", NULL, NULL },
	{ "0", NULL, "1", NULL },
	{ "", "1,1", NULL, NULL },
	{ "x", "1,1", NULL, "NEURON_PJRT_PROCESS_INDEX=x: a number" },
	{ "-1", "1,1", NULL, "NEURON_PJRT_PROCESS_INDEX=-1: a number" },
	{ "2", "1,1", NULL, "process 2 of 2" },
	{ "0", NULL, "99999", "process 0 of 99999" },
	{ "0", NULL, "two", "NEURON_PJRT_WORLD_SIZE=two: a number" },
	{ "1", NULL, NULL, "NEURON_PJRT_PROCESS_INDEX=1 without" },
	{ "1", "1,1", NULL, "NEURON_RT_ROOT_COMM_ID is not set" },
};

static void set(const char *name, const char *value)
{
	unsetenv(name);
	if (value)
		setenv(name, value, 1);
}

START_TEST(environment)
{
	PJRT_Client_Create_Args *c = ARGS(Client_Create);
	PJRT_Error *e;

	load();
	/* who has no store may leave anything there */
	c->kv_get_callback = c->kv_put_callback = (void *)1;
	set("NEURON_PJRT_PROCESS_INDEX", environments[_i].index);
	set("NEURON_PJRT_PROCESSES_NUM_DEVICES", environments[_i].each);
	set("NEURON_PJRT_WORLD_SIZE", environments[_i].world);
	e = api->PJRT_Client_Create(c);
	if (environments[_i].said) {
		expect_error("Client_Create", e, PJRT_Error_Code_INVALID_ARGUMENT,
			     environments[_i].said);
	} else {
		client = c->client;
		expect_ok("Client_Create", e);
		plugin_end();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-processes");
	TCase *tc = tcase_create("pjrt");

	tcase_add_test(tc, devices);
	tcase_add_test(tc, another_process);
	tcase_add_test(tc, refused);
	tcase_add_loop_test(tc, environment, 0, sizeof(environments) / sizeof(environments[0]));
	suite_add_tcase(suite, tc);
	return check_run(suite);
}
