// SPDX-License-Identifier: MIT
#include "pjrt_client.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const PJRT_Api *api;
PJRT_Client *client;

const PJRT_Api *plugin_load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const PJRT_Api *(*get_api)(void);

	ck_assert_msg(lib, "%s", dlerror());
	*(void **)&get_api = dlsym(lib, "GetPjrtApi");
	ck_assert_ptr_nonnull(get_api);
	return get_api();
}

void plugin_start(void)
{
	PJRT_Client_Create_Args *a = ARGS(Client_Create);

	api = plugin_load(getenv("PJRT_LIBRARY"));
	CALL(Plugin_Initialize, ARGS(Plugin_Initialize));
	CALL(Client_Create, a);
	client = a->client;
}

void plugin_end(void)
{
	CALL(Client_Destroy, ARGS(Client_Destroy, .client = client));
}

void expect_ok(const char *what, PJRT_Error *e)
{
	PJRT_Error_Message_Args *m = ARGS(Error_Message, .error = e);

	if (!e)
		return;
	api->PJRT_Error_Message(m);
	ck_abort_msg("%s: %.*s", what, (int)m->message_size, m->message);
}

void expect_error(const char *what, PJRT_Error *e, PJRT_Error_Code code, const char *word)
{
	PJRT_Error_Message_Args *m = ARGS(Error_Message, .error = e);
	PJRT_Error_GetCode_Args *c = ARGS(Error_GetCode, .error = e);

	ck_assert_msg(e, "%s succeeds", what);
	api->PJRT_Error_Message(m);
	CALL(Error_GetCode, c);
	ck_assert_msg(c->code == code, "%s: code %d, not %d: %s", what, c->code, code, m->message);
	ck_assert_msg(strstr(m->message, word), "%s: no \"%s\" in: %s", what, word, m->message);
	ck_assert_uint_eq(strlen(m->message), m->message_size);
	api->PJRT_Error_Destroy(ARGS(Error_Destroy, .error = e));
}

PJRT_Device *device(unsigned int i)
{
	PJRT_Client_AddressableDevices_Args *a = ARGS(Client_AddressableDevices, .client = client);

	CALL(Client_AddressableDevices, a);
	ck_assert_uint_lt(i, a->num_addressable_devices);
	return a->addressable_devices[i];
}

PJRT_Memory *memory_of(PJRT_Device *d, const char *kind)
{
	PJRT_Device_AddressableMemories_Args *a = ARGS(Device_AddressableMemories, .device = d);

	CALL(Device_AddressableMemories, a);
	for (size_t i = 0; i < a->num_memories; i++) {
		PJRT_Memory_Kind_Args *k = ARGS(Memory_Kind, .memory = a->memories[i]);

		CALL(Memory_Kind, k);
		if (k->kind_size == strlen(kind) && !memcmp(k->kind, kind, k->kind_size))
			return a->memories[i];
	}
	ck_abort_msg("no memory %s", kind);
}

void *program_bytes(const char *name, const char *format, size_t *size)
{
	char path[1024];
	void *bytes;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", getenv("PJRT_PROGRAMS"), name,
		 strcmp(format, "mlir") ? "hlo.pb" : "mlirbc");
	f = fopen(path, "rb");
	ck_assert_msg(f, "%s", path);
	bytes = malloc(1 << 16);
	*size = fread(bytes, 1, 1 << 16, f);
	fclose(f);
	return bytes;
}

PJRT_Error *try_compile(const char *name, const char *format, const void *options, size_t size,
			PJRT_LoadedExecutable **x)
{
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE,
				 .format = format,
				 .format_size = strlen(format) };
	PJRT_Client_Compile_Args *a =
		ARGS(Client_Compile, .client = client, .program = &program,
		     .compile_options = options, .compile_options_size = size);
	PJRT_Error *e;

	program.code = program_bytes(name, format, &program.code_size);
	e = api->PJRT_Client_Compile(a);
	/* nothing of the program's may be needed any more */
	memset(program.code, 0xee, program.code_size);
	free(program.code);
	*x = a->executable;
	return e;
}

PJRT_LoadedExecutable *compile(const char *name, const char *format)
{
	PJRT_LoadedExecutable *x;

	expect_ok(name, try_compile(name, format, NULL, 0, &x));
	return x;
}

PJRT_Buffer *put(PJRT_Buffer_Type type, const void *data, const int64_t *dims, size_t n)
{
	PJRT_Client_BufferFromHostBuffer_Args *a =
		ARGS(Client_BufferFromHostBuffer, .client = client, .data = data, .type = type,
		     .dims = dims, .num_dims = n, .device = device(0));

	CALL(Client_BufferFromHostBuffer, a);
	CALL(Event_Await, ARGS(Event_Await, .event = a->done_with_host_buffer));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->done_with_host_buffer));
	return a->buffer;
}

PJRT_Buffer *put_f32(const float *data, int64_t n)
{
	return put(PJRT_Buffer_Type_F32, data, &n, 1);
}

void get(PJRT_Buffer *b, void *data, size_t size)
{
	PJRT_Buffer_ToHostBuffer_Args *a =
		ARGS(Buffer_ToHostBuffer, .src = b, .dst = data, .dst_size = size);

	CALL(Buffer_ToHostBuffer, a);
	CALL(Event_Await, ARGS(Event_Await, .event = a->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->event));
}

void drop(PJRT_Buffer *b)
{
	CALL(Buffer_Destroy, ARGS(Buffer_Destroy, .buffer = b));
}

void destroy(PJRT_LoadedExecutable *x)
{
	CALL(LoadedExecutable_Destroy, ARGS(LoadedExecutable_Destroy, .executable = x));
}

PJRT_Error *try_run(PJRT_LoadedExecutable *x, PJRT_Buffer *const *in, size_t nin, PJRT_Buffer **out)
{
	PJRT_ExecuteOptions options = { .struct_size = PJRT_ExecuteOptions_SIZE };

	return api->PJRT_LoadedExecutable_Execute(ARGS(
		LoadedExecutable_Execute, .executable = x, .options = &options,
		.argument_lists = &in, .num_devices = 1, .num_args = nin, .output_lists = &out));
}

void run(PJRT_LoadedExecutable *x, PJRT_Buffer *const *in, size_t nin, PJRT_Buffer **out)
{
	expect_ok("LoadedExecutable_Execute", try_run(x, in, nin, out));
}

bool is_deleted(PJRT_Buffer *b)
{
	PJRT_Buffer_IsDeleted_Args *a = ARGS(Buffer_IsDeleted, .buffer = b);

	CALL(Buffer_IsDeleted, a);
	return a->is_deleted;
}

void add1_is_right(PJRT_LoadedExecutable *x)
{
	const float in[4] = { 1, 2, 3, 4 };
	PJRT_Buffer *a = put_f32(in, 4), *b;
	float out[4];

	run(x, &a, 1, &b);
	get(b, out, sizeof(out));
	ck_assert(out[0] == 2 && out[3] == 5);
	drop(a);
	drop(b);
	destroy(x);
}

void expect_no_leaks(void)
{
	PJRT_Device_MemoryStats_Args *m = ARGS(Device_MemoryStats);

	for (unsigned int i = 0; i < 2; i++) {
		m->device = device(i);
		CALL(Device_MemoryStats, m);
		ck_assert_int_eq(m->bytes_in_use, 0);
	}
}
