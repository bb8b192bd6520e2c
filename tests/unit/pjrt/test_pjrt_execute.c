// SPDX-License-Identifier: MIT
/*
 * Programs: compiled from what JAX made of them (tests/data/pjrt), run, and their results compared
 * with what is computed here.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_main.h"
#include "pjrt_client.h"

static const char *const formats[] = { "hlo", "mlir" };

static PJRT_Executable *executable(PJRT_LoadedExecutable *x)
{
	PJRT_LoadedExecutable_GetExecutable_Args *a =
		ARGS(LoadedExecutable_GetExecutable, .loaded_executable = x);

	CALL(LoadedExecutable_GetExecutable, a);
	return a->executable;
}

static void executable_destroy(PJRT_Executable *x)
{
	CALL(Executable_Destroy, ARGS(Executable_Destroy, .executable = x));
}

/* CompileOptionsProto with one compiler option that is a text */
static size_t option(const char *name, const char *value, unsigned char *bytes)
{
	size_t n = strlen(name), v = strlen(value);

	ck_assert_uint_lt(n + v + 6, 128);
	return (size_t)sprintf((char *)bytes, "\x3a%c\x0a%c%s\x12%c\x0a%c%s", (int)(n + v + 6),
			       (int)n, name, (int)(v + 2), (int)v, value);
}

START_TEST(values)
{
	PJRT_LoadedExecutable *x = compile("add1", formats[_i]);
	const float in[4] = { -1, 0, 0.25f, 1e6f };
	PJRT_Buffer *a = put_f32(in, 4), *b;
	float out[4];

	for (int round = 0; round < 3; round++) {
		run(x, &a, 1, &b);
		get(b, out, sizeof(out));
		for (int i = 0; i < 4; i++)
			ck_assert(out[i] == in[i] + 1);
		drop(b);
	}
	drop(a);
	destroy(x);
}
END_TEST

START_TEST(two_results)
{
	PJRT_LoadedExecutable *x = compile("pair", formats[_i]);
	const float in[6] = { 1, 2, 3, 4, 5, 6 }, by[6] = { 2, -1, 0.5f, 3, 0, 7 };
	const int64_t dims[] = { 2, 3 };
	PJRT_Buffer *a[2], *b[2];
	float out[6];

	a[0] = put(PJRT_Buffer_Type_F32, in, dims, 2);
	a[1] = put(PJRT_Buffer_Type_F32, by, dims, 2);
	run(x, a, 2, b);
	destroy(x); /* what runs needs no handle, nor do its results */
	drop(a[0]);
	drop(a[1]);
	get(b[0], out, sizeof(out));
	for (int i = 0; i < 6; i++)
		ck_assert(out[i] == in[i] + by[i]);
	get(b[1], out, sizeof(out));
	for (int i = 0; i < 6; i++)
		ck_assert(out[i] == in[i] * by[i]);
	drop(b[0]);
	drop(b[1]);
}
END_TEST

/* Arguments and results without elements beside others: (2 e, x + 1, y[:0], y - sum of f) */
START_TEST(without_elements)
{
	PJRT_LoadedExecutable *x = compile("nothing", formats[_i]);
	const int64_t none[] = { 0, 3 };
	const float in[4] = { 1, 2, 3, 4 }, by[5] = { 5, 6, 7, 8, 9 };
	PJRT_Buffer *a[4], *b[4];
	float out[5];

	a[0] = put(PJRT_Buffer_Type_F32, NULL, none, 2);
	a[1] = put_f32(in, 4);
	a[2] = put(PJRT_Buffer_Type_F32, NULL, none, 1);
	a[3] = put_f32(by, 5);
	for (int round = 0; round < 2; round++) {
		run(x, a, 4, b);
		get(b[0], NULL, 0);
		get(b[1], out, 4 * sizeof(out[0]));
		for (int i = 0; i < 4; i++)
			ck_assert(out[i] == in[i] + 1);
		get(b[2], NULL, 0);
		get(b[3], out, sizeof(out));
		for (int i = 0; i < 5; i++)
			ck_assert(out[i] == by[i]);
		for (int k = 0; k < 4; k++)
			drop(b[k]);
	}
	for (int i = 0; i < 4; i++)
		drop(a[i]);
	destroy(x);
}
END_TEST

START_TEST(no_arguments_scalars_bytes)
{
	PJRT_LoadedExecutable *x = compile("noargs", formats[_i]);
	const uint8_t bytes[7] = { 0, 1, 2, 127, 128, 254, 255 };
	const int64_t seven = 7;
	const float three = 3;
	uint8_t inverted[7];
	int32_t count[5];
	float six;
	PJRT_Buffer *a, *b;

	run(x, NULL, 0, &b);
	get(b, count, sizeof(count));
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(count[i], i);
	drop(b);
	destroy(x);
	x = compile("scalar", formats[_i]);
	a = put(PJRT_Buffer_Type_F32, &three, NULL, 0);
	run(x, &a, 1, &b);
	get(b, &six, sizeof(six));
	ck_assert(six == 6);
	drop(a);
	drop(b);
	destroy(x);
	x = compile("bytes", formats[_i]);
	a = put(PJRT_Buffer_Type_U8, bytes, &seven, 1);
	run(x, &a, 1, &b);
	get(b, inverted, sizeof(inverted));
	for (int i = 0; i < 7; i++)
		ck_assert_uint_eq(inverted[i], (uint8_t)~bytes[i]);
	drop(a);
	drop(b);
	destroy(x);
}
END_TEST

static uintptr_t place(PJRT_Buffer *b)
{
	PJRT_Buffer_UnsafePointer_Args *a = ARGS(Buffer_UnsafePointer, .buffer = b);

	CALL(Buffer_UnsafePointer, a);
	return a->buffer_pointer;
}

/* A result that is an argument is a buffer of its own, and no program is compiled for it. */
START_TEST(identity)
{
	PJRT_LoadedExecutable *x = compile("identity", formats[_i]);
	PJRT_Executable *e = executable(x);
	PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *size =
		ARGS(Executable_SizeOfGeneratedCodeInBytes, .executable = e);
	const float in[3] = { 1, 2, 3 };
	PJRT_Buffer *a = put_f32(in, 3), *b;
	float out[3];

	CALL(Executable_SizeOfGeneratedCodeInBytes, size);
	ck_assert_int_eq(size->size_in_bytes, 0);
	run(x, &a, 1, &b);
	ck_assert_ptr_ne(a, b);
	ck_assert_uint_ne(place(a), place(b));
	CALL(Buffer_Delete, ARGS(Buffer_Delete, .buffer = a));
	get(b, out, sizeof(out));
	ck_assert_mem_eq(in, out, sizeof(in));
	drop(a);
	drop(b);
	executable_destroy(e);
	destroy(x);
}
END_TEST

START_TEST(donation)
{
	PJRT_LoadedExecutable *x = compile("donate", formats[_i]);
	PJRT_ExecuteOptions options = { .struct_size = PJRT_ExecuteOptions_SIZE,
					.non_donatable_input_indices = (int64_t[]){ 0 },
					.num_non_donatable_input_indices = 1 };
	PJRT_Device_MemoryStats_Args *m = ARGS(Device_MemoryStats, .device = device(0));
	float in[64], by[64], out[64];
	PJRT_Buffer *a[2], *b, **bs = &b, *const *as = a;
	int64_t before;

	for (int i = 0; i < 64; i++)
		in[i] = (float)i, by[i] = (float)(100 - i * i);
	a[0] = put_f32(in, 64);
	a[1] = put_f32(by, 64);
	CALL(Device_MemoryStats, m);
	before = m->num_allocs;
	run(x, a, 2, &b);
	ck_assert(is_deleted(a[0]));
	ck_assert(!is_deleted(a[1]));
	get(b, out, sizeof(out));
	for (int i = 0; i < 64; i++)
		ck_assert(out[i] == in[i] + by[i]);
	/* the result took the argument's memory */
	CALL(Device_MemoryStats, m);
	ck_assert_int_eq(m->num_allocs, before);
	expect_error("a donated argument", try_run(x, a, 2, bs), PJRT_Error_Code_INVALID_ARGUMENT,
		     "deleted or donated");
	drop(a[0]);
	/* twice the same buffer, one of them donated */
	a[0] = a[1];
	expect_error("the same twice", try_run(x, a, 2, bs), PJRT_Error_Code_INVALID_ARGUMENT,
		     "donated");
	ck_assert(!is_deleted(a[1]));
	/* one that the caller keeps */
	a[0] = b;
	CALL(LoadedExecutable_Execute,
	     ARGS(LoadedExecutable_Execute, .executable = x, .options = &options,
		  .argument_lists = &as, .num_devices = 1, .num_args = 2, .output_lists = &bs));
	ck_assert(!is_deleted(a[0]));
	get(a[0], out, sizeof(out));
	for (int i = 0; i < 64; i++)
		ck_assert(out[i] == in[i] + by[i]);
	drop(a[0]);
	drop(a[1]);
	drop(b);
	destroy(x);
}
END_TEST

START_TEST(arguments)
{
	PJRT_LoadedExecutable *x = compile("pair", "hlo");
	const float in[6] = { 0 };
	const int64_t dims[] = { 2, 3 }, other[] = { 3, 2 };
	PJRT_Buffer *a[2], *b[2];
	PJRT_Buffer_CopyToDevice_Args *c = ARGS(Buffer_CopyToDevice, .dst_device = device(1));

	a[0] = put(PJRT_Buffer_Type_F32, in, dims, 2);
	a[1] = put(PJRT_Buffer_Type_F32, in, other, 2);
	expect_error("a shape", try_run(x, a, 2, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "F32[3,2], expected F32[2,3]");
	drop(a[1]);
	a[1] = put(PJRT_Buffer_Type_S32, in, dims, 2);
	expect_error("a type", try_run(x, a, 2, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "S32[2,3], expected F32[2,3]");
	expect_error("a count", try_run(x, a, 1, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "takes 2 arguments, not 1");
	drop(a[1]);
	a[1] = NULL;
	expect_error("no argument", try_run(x, a, 2, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "argument 1 is NULL");
	c->buffer = a[0];
	CALL(Buffer_CopyToDevice, c);
	a[1] = c->dst_buffer;
	expect_error("a device", try_run(x, a, 2, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "NC_v2(id=1)");
	drop(a[0]);
	drop(a[1]);
	CALL(LoadedExecutable_Delete, ARGS(LoadedExecutable_Delete, .executable = x));
	expect_error("a deleted program", try_run(x, a, 2, b), PJRT_Error_Code_INVALID_ARGUMENT,
		     "was deleted");
	destroy(x);
}
END_TEST

/* On the second device, by the options: device_ordinal 1 */
START_TEST(other_device)
{
	PJRT_LoadedExecutable *x;
	const float in[4] = { 1, 2, 3, 4 };
	PJRT_Buffer *a = put_f32(in, 4), *b;
	PJRT_Buffer_CopyToDevice_Args *c =
		ARGS(Buffer_CopyToDevice, .buffer = a, .dst_device = device(1));
	PJRT_Buffer_Device_Args *d = ARGS(Buffer_Device);
	float out[4];

	expect_ok("add1", try_compile("add1", "hlo", "\x1a\x02\x08\x01", 4, &x));
	CALL(Buffer_CopyToDevice, c);
	run(x, &c->dst_buffer, 1, &b);
	d->buffer = b;
	CALL(Buffer_Device, d);
	ck_assert_ptr_eq(d->device, device(1));
	get(b, out, sizeof(out));
	ck_assert(out[3] == 5);
	drop(a);
	drop(b);
	drop(c->dst_buffer);
	destroy(x);
	expect_error("device 7", try_compile("add1", "hlo", "\x1a\x02\x08\x07", 4, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "device 7");
}
END_TEST

/* Two replicas: num_replicas 2, devices 1 and 0 */
START_TEST(replicas)
{
	static const char options[] = "\x1a\x0e\x20\x02\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02"
				      "\x01";
	PJRT_LoadedExecutable *x;
	const float in[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
	PJRT_Buffer *a[2], *b[2] = { NULL }, *const * lists[2] = { &a[0], &a[1] };
	PJRT_Buffer **results[2] = { &b[0], &b[1] };
	PJRT_Event *done[2];
	PJRT_LoadedExecutable_GetDeviceAssignment_Args *g =
		ARGS(LoadedExecutable_GetDeviceAssignment);
	float out[4];

	/* the last byte of the ids, 0, is the text's own */
	expect_ok("add1", try_compile("add1", "hlo", options, sizeof(options), &x));
	g->executable = x;
	CALL(LoadedExecutable_GetDeviceAssignment, g);
	ck_assert_uint_eq(g->serialized_bytes_size, 10);
	ck_assert_mem_eq(g->serialized_bytes, options + 6, 10);
	g->serialized_device_assignment_deleter(g->serialized_device_assignment);
	for (int i = 0; i < 2; i++) {
		PJRT_Client_BufferFromHostBuffer_Args *p =
			ARGS(Client_BufferFromHostBuffer, .client = client, .data = in[i],
			     .type = PJRT_Buffer_Type_F32, .dims = (int64_t[]){ 4 }, .num_dims = 1,
			     .device = device(1 - i));

		CALL(Client_BufferFromHostBuffer, p);
		a[i] = p->buffer;
	}
	CALL(LoadedExecutable_Execute,
	     ARGS(LoadedExecutable_Execute, .executable = x, .argument_lists = lists,
		  .num_devices = 2, .num_args = 1, .output_lists = results,
		  .device_complete_events = done));
	for (int i = 0; i < 2; i++) {
		CALL(Event_Await, ARGS(Event_Await, .event = done[i]));
		CALL(Event_Destroy, ARGS(Event_Destroy, .event = done[i]));
		get(b[i], out, sizeof(out));
		for (int k = 0; k < 4; k++)
			ck_assert(out[k] == in[i][k] + 1);
		drop(a[i]);
		drop(b[i]);
	}
	destroy(x);
}
END_TEST

/*
 * Programs of a chain are submitted before those in front of them have run; their handles are freed
 * at once.
 */
START_TEST(in_flight)
{
	PJRT_LoadedExecutable *slow = compile("long", "hlo"), *x = compile("add1", "hlo");
	const int64_t dims[] = { 128, 128 };
	float *in = calloc(128 * 128, sizeof(*in)), out[4];
	const float zero[4] = { 0 };
	PJRT_Buffer *a = put(PJRT_Buffer_Type_F32, in, dims, 2), *b, *c = put_f32(zero, 4), *d;

	run(slow, &a, 1, &b);
	drop(a);
	for (int i = 0; i < 200; i++) {
		run(x, &c, 1, &d);
		drop(c);
		c = d;
	}
	get(c, out, sizeof(out));
	ck_assert(out[0] == 200 && out[3] == 200);
	drop(c);
	get(b, in, 128 * 128 * sizeof(*in));
	for (int i = 0; i < 128 * 128; i++)
		ck_assert(in[i] == 0); /* tanh(0 @ 0) */
	drop(b);
	free(in);
	destroy(slow);
	destroy(x);
}
END_TEST

static void *compute(void *arg)
{
	PJRT_LoadedExecutable *x = arg;

	for (int i = 0; i < 50; i++) {
		const float in[4] = { (float)i, 1, 2, 3 };
		PJRT_Buffer *a = put_f32(in, 4), *b;
		float out[4];

		run(x, &a, 1, &b);
		get(b, out, sizeof(out));
		ck_assert(out[0] == (float)i + 1 && out[3] == 4);
		drop(a);
		drop(b);
	}
	return NULL;
}

START_TEST(threads)
{
	PJRT_LoadedExecutable *x = compile("add1", "hlo");
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, compute, x), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	destroy(x);
}
END_TEST

START_TEST(answers)
{
	PJRT_LoadedExecutable *x = compile("pair", formats[_i]);
	PJRT_Executable *e = executable(x);
	PJRT_Executable_OutputDimensions_Args *d =
		ARGS(Executable_OutputDimensions, .executable = e);
	PJRT_Executable_OutputElementTypes_Args *t =
		ARGS(Executable_OutputElementTypes, .executable = e);
	PJRT_Executable_OutputMemoryKinds_Args *k =
		ARGS(Executable_OutputMemoryKinds, .executable = e);
	PJRT_Executable_GetCompiledMemoryStats_Args *m =
		ARGS(Executable_GetCompiledMemoryStats, .executable = e);
	PJRT_Executable_GetCostAnalysis_Args *c = ARGS(Executable_GetCostAnalysis, .executable = e);
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE };
	PJRT_Executable_OptimizedProgram_Args *p =
		ARGS(Executable_OptimizedProgram, .executable = e, .program = &program);
	char *module;

	CALL(Executable_OutputDimensions, d);
	ck_assert_uint_eq(d->num_outputs, 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(d->dim_sizes[i], 2);
		ck_assert_int_eq(d->dims[2 * i], 2);
		ck_assert_int_eq(d->dims[2 * i + 1], 3);
	}
	CALL(Executable_OutputElementTypes, t);
	ck_assert_int_eq(t->output_types[1], PJRT_Buffer_Type_F32);
	CALL(Executable_OutputMemoryKinds, k);
	ck_assert_str_eq(k->memory_kinds[1], "device");
	CALL(Executable_GetCompiledMemoryStats, m);
	ck_assert_int_eq(m->argument_size_in_bytes, 48);
	ck_assert_int_eq(m->output_size_in_bytes, 48);
	ck_assert_int_eq(m->alias_size_in_bytes, 0);
	ck_assert_int_gt(m->generated_code_size_in_bytes, 0);
	CALL(Executable_GetCostAnalysis, c);
	for (size_t i = 0; i < c->num_properties; i++)
		if (!strcmp(c->properties[i].name, "bytes accessed"))
			ck_assert(c->properties[i].float_value == 96);
	CALL(Executable_OptimizedProgram, p);
	ck_assert_uint_eq(program.format_size, strlen("hlo_with_config"));
	module = program.code = malloc(program.code_size);
	CALL(Executable_OptimizedProgram, p);
	ck_assert_int_eq(module[0], 0x0a); /* its first field, the module */
	program.code_size--;
	FAIL(Executable_OptimizedProgram, p, INVALID_ARGUMENT, "room for");
	free(module);
	executable_destroy(e);
	destroy(x);
}
END_TEST

START_TEST(serialized)
{
	PJRT_LoadedExecutable *x = compile("donate", formats[_i]);
	PJRT_Executable *e = executable(x);
	PJRT_Executable_Serialize_Args *s = ARGS(Executable_Serialize, .executable = e);
	PJRT_Executable_DeserializeAndLoad_Args *d =
		ARGS(Executable_DeserializeAndLoad, .client = client);
	float in[64], out[64];
	PJRT_Buffer *a[2], *b;
	char *bytes;
	size_t n;

	CALL(Executable_Serialize, s);
	n = s->serialized_bytes_size;
	bytes = malloc(n);
	memcpy(bytes, s->serialized_bytes, n);
	s->serialized_executable_deleter(s->serialized_executable);
	executable_destroy(e);
	destroy(x);
	d->serialized_executable = bytes;
	d->serialized_executable_size = n;
	CALL(Executable_DeserializeAndLoad, d);
	for (int i = 0; i < 64; i++)
		in[i] = (float)i;
	a[0] = put_f32(in, 64);
	a[1] = put_f32(in, 64);
	run(d->loaded_executable, a, 2, &b);
	ck_assert(is_deleted(a[0]));
	get(b, out, sizeof(out));
	for (int i = 0; i < 64; i++)
		ck_assert(out[i] == 2 * in[i]);
	drop(a[0]);
	drop(a[1]);
	drop(b);
	destroy(d->loaded_executable);
	d->serialized_executable_size = n - 1;
	FAIL(Executable_DeserializeAndLoad, d, DATA_LOSS, "serialized executable is");
	d->serialized_executable_size = 20;
	FAIL(Executable_DeserializeAndLoad, d, INVALID_ARGUMENT, "not a serialized");
	d->serialized_executable_size = n;
	bytes[n / 2] ^= 1;
	FAIL(Executable_DeserializeAndLoad, d, DATA_LOSS, "damaged");
	bytes[n / 2] ^= 1;
	bytes[0] ^= 1;
	FAIL(Executable_DeserializeAndLoad, d, INVALID_ARGUMENT, "not a serialized");
	free(bytes);
}
END_TEST

START_TEST(not_compiled)
{
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE,
				 .code = "x",
				 .code_size = 1,
				 .format = "hip",
				 .format_size = 3 };
	PJRT_Client_Compile_Args *c = ARGS(Client_Compile, .client = client, .program = &program);
	unsigned char options[128];
	PJRT_LoadedExecutable *x;
	size_t n;

	FAIL(Client_Compile, c, INVALID_ARGUMENT, "\"hip\"");
	program.format = "hlo";
	FAIL(Client_Compile, c, INVALID_ARGUMENT, "not an HLO module");
	c->program = NULL;
	FAIL(Client_Compile, c, INVALID_ARGUMENT, "program is NULL");
	for (int i = 0; i < 2; i++) {
		expect_error("nobody", try_compile("nobody", formats[i], NULL, 0, &x),
			     PJRT_Error_Code_UNIMPLEMENTED, "nobody_has_this");
		expect_error("wide", try_compile("wide", formats[i], NULL, 0, &x),
			     PJRT_Error_Code_UNIMPLEMENTED, "jax_enable_x64");
		expect_error("inside", try_compile("inside", formats[i], NULL, 0, &x),
			     PJRT_Error_Code_UNIMPLEMENTED, "jax_enable_x64");
	}
	n = option("xla_neuron_x", "y", options);
	expect_error("an option", try_compile("add1", "hlo", options, n, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "xla_neuron_x");
	n = option("optlevel", "4", options);
	expect_error("a level", try_compile("add1", "hlo", options, n, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "\"4\" is none of 1, 2, 3");
	n = option("lnc", "2", options);
	expect_error("cores", try_compile("add1", "hlo", options, n, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "lnc 2");
	expect_error("no proto", try_compile("add1", "hlo", "\xff", 1, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "CompileOptionsProto");
	/* three replicas on two devices */
	expect_error("three", try_compile("add1", "hlo", "\x1a\x02\x20\x03", 4, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "3 devices");
	n = option("optlevel", "1", options);
	expect_ok("level 1", try_compile("add1", "hlo", options, n, &x));
	destroy(x);
}
END_TEST

START_TEST(flags)
{
	PJRT_LoadedExecutable *x;

	setenv("NEURON_CC_FLAGS", "--no_cache -O1 --model-type transformer --auto-cast=none", 1);
	expect_ok("flags", try_compile("add1", "hlo", NULL, 0, &x));
	destroy(x);
	setenv("NEURON_CC_FLAGS", "--no-such-flag", 1);
	expect_error("flags", try_compile("add1", "hlo", NULL, 0, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "NEURON_CC_FLAGS");
	setenv("NEURON_CC_FLAGS", "--auto-cast", 1);
	expect_error("flags", try_compile("add1", "hlo", NULL, 0, &x),
		     PJRT_Error_Code_INVALID_ARGUMENT, "auto_cast");
	setenv("NEURON_CC_FLAGS", "--no_cache", 1);
}
END_TEST

/* The only NEFF below a directory */
static void find_neff(const char *dir, char *path, size_t size)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "find %s -type f", dir);
	f = popen(command, "r");
	path[0] = 0;
	ck_assert_ptr_nonnull(fgets(path, (int)size, f));
	path[strcspn(path, "\n")] = 0;
	ck_assert_ptr_null(fgets(command, sizeof(command), f));
	pclose(f);
	ck_assert_str_eq(strrchr(path, '/'), "/model.neff");
}

START_TEST(cache)
{
	char dir[] = "/tmp/pjrt-cache-XXXXXX", flags[128], path[512], command[256];
	unsigned char options[128];
	PJRT_LoadedExecutable *x;
	struct stat first, again;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(flags, sizeof(flags), "--cache_dir=%s", dir);
	setenv("NEURON_CC_FLAGS", flags, 1);
	add1_is_right(compile("add1", "hlo"));
	find_neff(dir, path, sizeof(path));
	ck_assert_int_eq(stat(path, &first), 0);
	/* the second time it is read, and not written */
	add1_is_right(compile("add1", "hlo"));
	ck_assert_int_eq(stat(path, &again), 0);
	ck_assert_uint_eq(first.st_ino, again.st_ino);
	/* a file that is none is replaced */
	ck_assert_int_eq(truncate(path, first.st_size / 2), 0);
	add1_is_right(compile("add1", "hlo"));
	ck_assert_int_eq(stat(path, &again), 0);
	ck_assert_int_eq(first.st_size, again.st_size);
	/* so is what nobody writes to */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	add1_is_right(compile("add1", "hlo"));
	ck_assert_int_eq(stat(path, &again), 0);
	ck_assert(S_ISREG(again.st_mode));
	/* no room for two: the older goes */
	setenv("NEURON_PJRT_CACHE_BYTES", "100", 1);
	expect_ok("add1",
		  try_compile("add1", "hlo", options, option("optlevel", "1", options), &x));
	add1_is_right(x);
	snprintf(command, sizeof(command), "[ -z \"$(find %s -type f)\" ] && rm -r %s", dir, dir);
	ck_assert_int_eq(system(command), 0);
	unsetenv("NEURON_PJRT_CACHE_BYTES");
	setenv("NEURON_CC_FLAGS", "--no_cache", 1);
}
END_TEST

/* For chips that are not there: compiled, serialized, and refused here */
START_TEST(ahead_of_time)
{
	PJRT_TopologyDescription_Create_Args *t =
		ARGS(TopologyDescription_Create, .topology_name = "trn2", .topology_name_size = 4);
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE,
				 .format = "hlo",
				 .format_size = 3 };
	PJRT_Compile_Args *c = ARGS(Compile, .program = &program);
	PJRT_Executable_Serialize_Args *s = ARGS(Executable_Serialize);
	PJRT_Executable_DeserializeAndLoad_Args *d =
		ARGS(Executable_DeserializeAndLoad, .client = client);

	CALL(TopologyDescription_Create, t);
	program.code = program_bytes("add1", "hlo", &program.code_size);
	c->topology = t->topology;
	CALL(Compile, c);
	CALL(TopologyDescription_Destroy,
	     ARGS(TopologyDescription_Destroy, .topology = t->topology));
	free(program.code);
	s->executable = c->executable;
	CALL(Executable_Serialize, s);
	FAIL(Client_Load, ARGS(Client_Load, .client = client, .executable = c->executable),
	     FAILED_PRECONDITION, "trn2");
	executable_destroy(c->executable);
	d->serialized_executable = s->serialized_bytes;
	d->serialized_executable_size = s->serialized_bytes_size;
	FAIL(Executable_DeserializeAndLoad, d, FAILED_PRECONDITION, "trn2");
	s->serialized_executable_deleter(s->serialized_executable);
	/* for these chips it loads */
	t->topology_name = "trn1";
	CALL(TopologyDescription_Create, t);
	program.code = program_bytes("add1", "mlir", &program.code_size);
	c->topology = t->topology;
	CALL(Compile, c);
	CALL(TopologyDescription_Destroy,
	     ARGS(TopologyDescription_Destroy, .topology = t->topology));
	free(program.code);
	{
		PJRT_Client_Load_Args *l =
			ARGS(Client_Load, .client = client, .executable = c->executable);

		CALL(Client_Load, l);
		executable_destroy(c->executable);
		add1_is_right(l->loaded_executable);
	}
}
END_TEST

static char *serialize(PJRT_Executable *x, size_t *n)
{
	PJRT_Executable_Serialize_Args *s = ARGS(Executable_Serialize, .executable = x);
	char *bytes;

	CALL(Executable_Serialize, s);
	*n = s->serialized_bytes_size;
	bytes = malloc(*n);
	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, s->serialized_bytes, *n);
	s->serialized_executable_deleter(s->serialized_executable);
	return bytes;
}

/* What was loaded without a file between compiler and runtime has the same one as what was not */
START_TEST(loaded_without_a_file)
{
	PJRT_TopologyDescription_Create_Args *t =
		ARGS(TopologyDescription_Create, .topology_name = "trn1", .topology_name_size = 4);
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE,
				 .format = formats[_i],
				 .format_size = strlen(formats[_i]) };
	PJRT_Compile_Args *c = ARGS(Compile, .program = &program);
	PJRT_LoadedExecutable *x = compile("add1", formats[_i]);
	PJRT_Executable *e = executable(x);
	PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *size =
		ARGS(Executable_SizeOfGeneratedCodeInBytes, .executable = e);
	PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *other =
		ARGS(Executable_SizeOfGeneratedCodeInBytes);
	size_t n, m;
	char *a, *b;

	CALL(TopologyDescription_Create, t);
	program.code = program_bytes("add1", formats[_i], &program.code_size);
	c->topology = t->topology;
	CALL(Compile, c);
	free(program.code);
	other->executable = c->executable;
	CALL(Executable_SizeOfGeneratedCodeInBytes, size);
	CALL(Executable_SizeOfGeneratedCodeInBytes, other);
	ck_assert_int_gt(size->size_in_bytes, 1024); /* a header, and something */
	ck_assert_int_eq(size->size_in_bytes, other->size_in_bytes);
	a = serialize(e, &n);
	b = serialize(c->executable, &m);
	ck_assert_uint_eq(n, m);
	ck_assert_mem_eq(a, b, n);
	free(a);
	free(b);
	executable_destroy(e);
	executable_destroy(c->executable);
	CALL(TopologyDescription_Destroy,
	     ARGS(TopologyDescription_Destroy, .topology = t->topology));
	add1_is_right(x);
}
END_TEST

/* All that the tests made is gone. */
START_TEST(no_leaks)
{
	expect_no_leaks();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-execute");
	TCase *tc = tcase_create("pjrt");

	tcase_add_unchecked_fixture(tc, plugin_start, plugin_end);
	tcase_add_loop_test(tc, values, 0, 2);
	tcase_add_loop_test(tc, two_results, 0, 2);
	tcase_add_loop_test(tc, without_elements, 0, 2);
	tcase_add_loop_test(tc, no_arguments_scalars_bytes, 0, 2);
	tcase_add_loop_test(tc, identity, 0, 2);
	tcase_add_loop_test(tc, donation, 0, 2);
	tcase_add_test(tc, arguments);
	tcase_add_test(tc, other_device);
	tcase_add_test(tc, replicas);
	tcase_add_test(tc, in_flight);
	tcase_add_test(tc, threads);
	tcase_add_loop_test(tc, answers, 0, 2);
	tcase_add_loop_test(tc, serialized, 0, 2);
	tcase_add_test(tc, not_compiled);
	tcase_add_test(tc, flags);
	tcase_add_test(tc, cache);
	tcase_add_test(tc, ahead_of_time);
	tcase_add_loop_test(tc, loaded_without_a_file, 0, 2);
	tcase_add_test(tc, no_leaks);
	suite_add_tcase(suite, tc);
	return check_run_here(suite);
}
