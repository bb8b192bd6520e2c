// SPDX-License-Identifier: MIT
/*
 * Buffers: every type and order of host memory there and back, as computed here by indices; copies
 * between devices and memories; raw bytes; managers of transfers; buffers that begin as something
 * else.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "pjrt_client.h"

/* Types and their bytes on the host, once more */
static const struct {
	PJRT_Buffer_Type type;
	size_t bytes;
} types[] = {
	{ PJRT_Buffer_Type_PRED, 1 },	  { PJRT_Buffer_Type_S8, 1 },
	{ PJRT_Buffer_Type_S16, 2 },	  { PJRT_Buffer_Type_S32, 4 },
	{ PJRT_Buffer_Type_U8, 1 },	  { PJRT_Buffer_Type_U16, 2 },
	{ PJRT_Buffer_Type_U32, 4 },	  { PJRT_Buffer_Type_F16, 2 },
	{ PJRT_Buffer_Type_F32, 4 },	  { PJRT_Buffer_Type_BF16, 2 },
	{ PJRT_Buffer_Type_C64, 8 },	  { PJRT_Buffer_Type_F8E5M2, 1 },
	{ PJRT_Buffer_Type_F8E4M3FN, 1 }, { PJRT_Buffer_Type_S4, 1 },
	{ PJRT_Buffer_Type_U4, 1 },	  { PJRT_Buffer_Type_F4E2M1FN, 1 },
};

START_TEST(every_type)
{
	unsigned char in[6 * 8], out[6 * 8];
	const int64_t dims[] = { 2, 3 };
	size_t n = 6 * types[_i].bytes;
	PJRT_Buffer_ElementType_Args *t = ARGS(Buffer_ElementType);
	PJRT_Buffer_OnDeviceSizeInBytes_Args *s = ARGS(Buffer_OnDeviceSizeInBytes);
	PJRT_Buffer *b;

	for (size_t i = 0; i < n; i++)
		in[i] = (unsigned char)(i * 37 + 11);
	b = put(types[_i].type, in, dims, 2);
	t->buffer = s->buffer = b;
	CALL(Buffer_ElementType, t);
	ck_assert_int_eq(t->type, types[_i].type);
	CALL(Buffer_OnDeviceSizeInBytes, s);
	ck_assert_uint_eq(s->on_device_size_in_bytes, n);
	memset(out, 0, sizeof(out));
	get(b, out, n);
	ck_assert_mem_eq(in, out, n);
	drop(b);
}
END_TEST

static PJRT_Error *put_strided(const void *data, const int64_t *dims, size_t n,
			       const int64_t *strides, size_t nstrides, PJRT_Buffer **b)
{
	PJRT_Client_BufferFromHostBuffer_Args *a =
		ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
		     .type = PJRT_Buffer_Type_S16, .dims = dims, .num_dims = n,
		     .byte_strides = strides, .num_byte_strides = nstrides,
		     .memory = memory_of(device(0), "device"));
	PJRT_Error *e = api->PJRT_Client_BufferFromHostBuffer(a);

	*b = a->buffer;
	return e;
}

/* The element at i, j, k lies i * stride 0 + j * stride 1 + k * stride 2 bytes from data. */
static const int64_t orders[][3] = {
	{ 24, 8, 2 }, { 2, 4, 12 }, { -24, 8, 2 },   { 24, -8, -2 }, { 0, 8, 2 },
	{ 24, 0, 0 }, { 0, 0, 0 },  { -24, -8, -2 }, { 24, 2, 6 },   { 48, 16, 4 },
};

START_TEST(strides_in)
{
	const int64_t dims[] = { 2, 3, 4 }, *s = orders[_i];
	int16_t memory[256], out[24];
	const char *data = (const char *)&memory[128];
	PJRT_Buffer *b;
	size_t n = 0;

	for (int i = 0; i < 256; i++)
		memory[i] = (int16_t)(i * 131);
	expect_ok("BufferFromHostBuffer", put_strided(data, dims, 3, s, 3, &b));
	memset(memory, 0xee, sizeof(memory)); /* the call is over */
	get(b, out, sizeof(out));
	for (int64_t i = 0; i < 2; i++)
		for (int64_t j = 0; j < 3; j++)
			for (int64_t k = 0; k < 4; k++, n++) {
				int64_t at = 128 + (i * s[0] + j * s[1] + k * s[2]) / 2;

				ck_assert_int_eq(out[n], (int16_t)(at * 131));
			}
	drop(b);
}
END_TEST

START_TEST(layouts_out)
{
	static const int64_t order[][2] = { { 1, 0 }, { 0, 1 } };
	const int64_t dims[] = { 2, 3 }, strides[] = { 2, 10 };
	const int16_t in[6] = { 1, 2, 3, 4, 5, 6 };
	int16_t out[16];
	PJRT_Buffer *b = put(PJRT_Buffer_Type_S16, in, dims, 2);
	PJRT_Buffer_MemoryLayout layout = { .struct_size = PJRT_Buffer_MemoryLayout_SIZE };
	PJRT_Buffer_ToHostBuffer_Args *a =
		ARGS(Buffer_ToHostBuffer, .src = b, .host_layout = &layout);

	for (int o = 0; o < 2; o++) {
		layout.tiled = (PJRT_Buffer_MemoryLayout_Tiled){ .minor_to_major = order[o],
								 .minor_to_major_size = 2 };
		a->dst = NULL;
		CALL(Buffer_ToHostBuffer, a);
		ck_assert_uint_eq(a->dst_size, 12);
		CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->event));
		a->dst = out;
		CALL(Buffer_ToHostBuffer, a);
		CALL(Event_Await, ARGS(Event_Await, .event = a->event));
		CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->event));
		for (int i = 0; i < 2; i++)
			for (int j = 0; j < 3; j++)
				ck_assert_int_eq(out[o ? j * 2 + i : i * 3 + j], i * 3 + j + 1);
	}
	layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
	layout.strides = (PJRT_Buffer_MemoryLayout_Strides){ .byte_strides = strides,
							     .num_byte_strides = 2 };
	memset(out, 0x77, sizeof(out));
	a->dst_size = 24; /* the last element ends at 2 + 20 + 2 */
	CALL(Buffer_ToHostBuffer, a);
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->event));
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			ck_assert_int_eq(out[i + j * 5], i * 3 + j + 1);
	ck_assert_int_eq(out[2], 0x7777);
	a->dst_size = 23;
	FAIL(Buffer_ToHostBuffer, a, INVALID_ARGUMENT, "23 bytes");
	drop(b);
}
END_TEST

START_TEST(empty_and_scalar)
{
	const int64_t dims[] = { 0, 3 }, strides[] = { 0, 0 };
	const float one = 1.5f;
	float out = 0;
	PJRT_Buffer *b;

	expect_ok("an empty array", put_strided(NULL, dims, 2, strides, 2, &b));
	get(b, NULL, 0);
	get(b, &out, 0);
	drop(b);
	b = put(PJRT_Buffer_Type_F32, &one, NULL, 0);
	get(b, &out, 4);
	ck_assert(out == one);
	drop(b);
}
END_TEST

START_TEST(refused)
{
	const int64_t dims[] = { 2, 3 }, negative[] = { -1 }, huge[] = { INT64_MAX, 16 };
	const int64_t round[] = { (int64_t)1 << 62, 4 }; /* 2^64 in all */
	const int64_t wide[] = { 2 };
	const int16_t data[6] = { 0 };
	PJRT_Buffer *b;
	PJRT_Client_BufferFromHostBuffer_Args *a =
		ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
		     .type = PJRT_Buffer_Type_S64, .dims = wide, .num_dims = 1);

	expect_error("a dimension below 0", put_strided(data, negative, 1, NULL, 0, &b),
		     PJRT_Error_Code_INVALID_ARGUMENT, "dimension 0 is -1");
	expect_error("too many elements", put_strided(data, huge, 2, NULL, 0, &b),
		     PJRT_Error_Code_INVALID_ARGUMENT, "more elements than");
	expect_error("no elements, by overflow", put_strided(data, round, 2, NULL, 0, &b),
		     PJRT_Error_Code_INVALID_ARGUMENT, "more elements than");
	expect_error("strides", put_strided(data, dims, 2, dims, 1, &b),
		     PJRT_Error_Code_INVALID_ARGUMENT, "1 strides for 2");
	expect_error("no data", put_strided(NULL, dims, 2, NULL, 0, &b),
		     PJRT_Error_Code_INVALID_ARGUMENT, "data is NULL");
	FAIL(Client_BufferFromHostBuffer, a, UNIMPLEMENTED, "jax_enable_x64");
	a->type = 99;
	FAIL(Client_BufferFromHostBuffer, a, INVALID_ARGUMENT, "element type 99");
	a->type = PJRT_Buffer_Type_TOKEN;
	FAIL(Client_BufferFromHostBuffer, a, INVALID_ARGUMENT, "element type 23");
	/* larger than the device: what it has is in the message */
	a->type = PJRT_Buffer_Type_S16;
	FAIL(Client_CreateUninitializedBuffer,
	     ARGS(Client_CreateUninitializedBuffer, .client = client,
		  .shape_dims = (int64_t[]){ (int64_t)1 << 40 }, .shape_num_dims = 1,
		  .shape_element_type = PJRT_Buffer_Type_F32),
	     RESOURCE_EXHAUSTED, "4398046511104 bytes");
}
END_TEST

START_TEST(deleted)
{
	const float in[2] = { 1, 2 };
	PJRT_Buffer *b = put_f32(in, 2);
	float out[2];

	ck_assert(!is_deleted(b));
	CALL(Buffer_Delete, ARGS(Buffer_Delete, .buffer = b));
	CALL(Buffer_Delete, ARGS(Buffer_Delete, .buffer = b));
	ck_assert(is_deleted(b));
	FAIL(Buffer_ToHostBuffer, ARGS(Buffer_ToHostBuffer, .src = b, .dst = out, .dst_size = 8),
	     INVALID_ARGUMENT, "deleted or donated");
	FAIL(Buffer_ReadyEvent, ARGS(Buffer_ReadyEvent, .buffer = b), INVALID_ARGUMENT,
	     "deleted or donated");
	drop(b);
}
END_TEST

START_TEST(copies)
{
	static const char *const kinds[] = { "device", "pinned_host", "unpinned_host" };
	const float in[3] = { 1, -2, 3 };
	PJRT_Buffer *b = put_f32(in, 3);

	for (unsigned int d = 0; d < 2; d++)
		for (int k = 0; k < 3; k++) {
			PJRT_Buffer_CopyToMemory_Args *c =
				ARGS(Buffer_CopyToMemory, .buffer = b,
				     .dst_memory = memory_of(device(d), kinds[k]));
			PJRT_Buffer_IsOnCpu_Args *on = ARGS(Buffer_IsOnCpu);
			PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *p =
				ARGS(Buffer_OpaqueDeviceMemoryDataPointer);
			float out[3] = { 0 };

			CALL(Buffer_CopyToMemory, c);
			get(c->dst_buffer, out, sizeof(out));
			ck_assert_mem_eq(in, out, sizeof(in));
			on->buffer = p->buffer = c->dst_buffer;
			CALL(Buffer_IsOnCpu, on);
			ck_assert_int_eq(on->is_on_cpu, k != 0);
			CALL(Buffer_OpaqueDeviceMemoryDataPointer, p);
			if (k)
				ck_assert_mem_eq(p->device_memory_ptr, in, sizeof(in));
			/* and back, onto the device */
			c->buffer = c->dst_buffer;
			c->dst_memory = memory_of(device(0), "device");
			CALL(Buffer_CopyToMemory, c);
			drop(c->buffer);
			memset(out, 0, sizeof(out));
			get(c->dst_buffer, out, sizeof(out));
			ck_assert_mem_eq(in, out, sizeof(in));
			drop(c->dst_buffer);
		}
	drop(b);
}
END_TEST

START_TEST(raw)
{
	const uint8_t in[5] = { 10, 11, 12, 13, 14 };
	const int64_t dims[] = { 5 };
	PJRT_Buffer *b = put(PJRT_Buffer_Type_U8, in, dims, 1);
	PJRT_Buffer_CopyRawToHostFuture_Args *f =
		ARGS(Buffer_CopyRawToHostFuture, .buffer = b, .offset = 1, .transfer_size = 2);
	uint8_t out[3] = { 0 };
	PJRT_Buffer_CopyRawToHost_Args *a = ARGS(Buffer_CopyRawToHost, .buffer = b, .dst = out,
						 .offset = 2, .transfer_size = 3);
	PJRT_Event_IsReady_Args *r = ARGS(Event_IsReady);

	CALL(Buffer_CopyRawToHost, a);
	CALL(Event_Await, ARGS(Event_Await, .event = a->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->event));
	ck_assert_mem_eq(out, in + 2, 3);
	a->offset = 3;
	FAIL(Buffer_CopyRawToHost, a, OUT_OF_RANGE, "of 5");
	a->offset = -1;
	FAIL(Buffer_CopyRawToHost, a, OUT_OF_RANGE, "byte -1");
	CALL(Buffer_CopyRawToHostFuture, f);
	r->event = f->event;
	CALL(Event_IsReady, r);
	ck_assert(!r->is_ready);
	f->future_ready_callback(&(PJRT_Buffer_CopyRawToHostFuture_Callback_Args){
		.struct_size = 48, .callback_data = f->callback_data, .dst = out });
	CALL(Event_Await, ARGS(Event_Await, .event = f->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = f->event));
	ck_assert_mem_eq(out, in + 1, 2);
	drop(b);
}
END_TEST

START_TEST(managers)
{
	const int64_t dims[] = { 4 };
	const PJRT_ShapeSpec specs[2] = { { 36, NULL, dims, 1, PJRT_Buffer_Type_F32 },
					  { 36, NULL, dims, 1, PJRT_Buffer_Type_F32 } };
	PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *c =
		ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client,
		     .shape_specs = specs, .num_shape_specs = 2,
		     .memory = memory_of(device(1), "device"));
	PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *r =
		ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer);
	PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *t =
		ARGS(AsyncHostToDeviceTransferManager_TransferData);
	PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent);
	PJRT_Event_IsReady_Args *is = ARGS(Event_IsReady);
	const float in[4] = { 1, 2, 3, 4 };
	float out[4];
	PJRT_Buffer *b;

	CALL(Client_CreateBuffersForAsyncHostToDevice, c);
	r->transfer_manager = t->transfer_manager = c->transfer_manager;
	CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, r);
	b = r->buffer_out;
	FAIL(AsyncHostToDeviceTransferManager_RetrieveBuffer, r, FAILED_PRECONDITION, "already");
	ready->buffer = b;
	CALL(Buffer_ReadyEvent, ready);
	is->event = ready->event;
	/* the second half first */
	t->data = in + 2;
	t->offset = 8;
	t->transfer_size = 8;
	CALL(AsyncHostToDeviceTransferManager_TransferData, t);
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = t->done_with_h2d_transfer));
	CALL(Event_IsReady, is);
	ck_assert(!is->is_ready);
	t->data = in;
	t->offset = 0;
	t->is_last_transfer = true;
	CALL(AsyncHostToDeviceTransferManager_TransferData, t);
	CALL(Event_IsReady, is);
	ck_assert(is->is_ready);
	FAIL(AsyncHostToDeviceTransferManager_TransferData, t, FAILED_PRECONDITION, "last");
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = ready->event));
	get(b, out, sizeof(out));
	ck_assert_mem_eq(in, out, sizeof(in));
	drop(b);
	/* the other one fails: nobody waits for it for ever */
	r->buffer_index = t->buffer_index = 1;
	CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, r);
	t->offset = 12;
	FAIL(AsyncHostToDeviceTransferManager_TransferData, t, OUT_OF_RANGE, "byte 12");
	ready->buffer = r->buffer_out;
	CALL(Buffer_ReadyEvent, ready);
	FAIL(Event_Await, ARGS(Event_Await, .event = ready->event), OUT_OF_RANGE, "byte 12");
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = ready->event));
	drop(r->buffer_out);
	t->buffer_index = 2;
	FAIL(AsyncHostToDeviceTransferManager_TransferData, t, OUT_OF_RANGE, "buffer 2 of 2");
	CALL(AsyncHostToDeviceTransferManager_Destroy,
	     ARGS(AsyncHostToDeviceTransferManager_Destroy,
		  .transfer_manager = c->transfer_manager));
}
END_TEST

START_TEST(error_buffers)
{
	const int64_t dims[] = { 4 };
	PJRT_Client_CreateErrorBuffer_Args *c =
		ARGS(Client_CreateErrorBuffer, .client = client,
		     .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "gone",
		     .error_message_size = 4, .shape_dims = dims, .shape_num_dims = 1,
		     .shape_element_type = PJRT_Buffer_Type_F32,
		     .memory = memory_of(device(0), "device"));
	PJRT_LoadedExecutable *x = compile("add1", "hlo");
	PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent);
	PJRT_Buffer *result;

	CALL(Client_CreateErrorBuffer, c);
	/* what is computed from it fails alike, and says from where */
	run(x, &c->buffer, 1, &result);
	ready->buffer = result;
	CALL(Buffer_ReadyEvent, ready);
	FAIL(Event_Await, ARGS(Event_Await, .event = ready->event), DATA_LOSS, "gone");
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = ready->event));
	drop(result);
	drop(c->buffer);
	CALL(LoadedExecutable_Destroy, ARGS(LoadedExecutable_Destroy, .executable = x));
}
END_TEST

START_TEST(alias_buffers)
{
	const int64_t dims[] = { 2 };
	const float in[2] = { 3, 4 };
	PJRT_Client_CreateAliasBuffer_Args *c =
		ARGS(Client_CreateAliasBuffer, .client = client,
		     .memory = memory_of(device(0), "device"), .shape_dims = dims,
		     .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
	PJRT_Buffer *b = put_f32(in, 2);
	PJRT_Client_FulfillAliasBuffer_Args *f =
		ARGS(Client_FulfillAliasBuffer, .client = client, .buffer = b);
	PJRT_Buffer_ToHostBuffer_Args *r = ARGS(Buffer_ToHostBuffer);
	PJRT_Event_IsReady_Args *is = ARGS(Event_IsReady);
	float out[2] = { 0 };

	CALL(Client_CreateAliasBuffer, c);
	r->src = c->alias_buffer;
	r->dst = out;
	r->dst_size = sizeof(out);
	CALL(Buffer_ToHostBuffer, r);
	is->event = r->event;
	CALL(Event_IsReady, is);
	ck_assert(!is->is_ready);
	f->fulfill_alias_buffer_cb = c->fulfill_alias_buffer_cb;
	CALL(Client_FulfillAliasBuffer, f);
	CALL(Event_Await, ARGS(Event_Await, .event = r->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = r->event));
	ck_assert_mem_eq(in, out, sizeof(in));
	drop(c->alias_buffer);
	drop(b);
}
END_TEST

static int unmapped;

static void unmap(void *data, void *arg)
{
	unmapped += data == arg;
}

START_TEST(views_and_bitcasts)
{
	float memory[2] = { 1, 2 };
	const int64_t dims[] = { 2 }, bytes[] = { 2, 4 };
	uint8_t out[8];
	PJRT_Client_CreateViewOfDeviceBuffer_Args *v =
		ARGS(Client_CreateViewOfDeviceBuffer, .client = client, .device_buffer_ptr = memory,
		     .dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32,
		     .on_delete_callback = unmap, .on_delete_callback_arg = memory,
		     .memory = memory_of(device(0), "unpinned_host"));
	PJRT_Buffer_Bitcast_Args *b = ARGS(Buffer_Bitcast, .element_type = PJRT_Buffer_Type_U8,
					   .dims = bytes, .num_dims = 2);

	CALL(Client_CreateViewOfDeviceBuffer, v);
	b->buffer = v->buffer;
	CALL(Buffer_Bitcast, b);
	memory[1] = 5; /* it is a view */
	get(b->out_buffer, out, sizeof(out));
	ck_assert_mem_eq(out, memory, 8);
	drop(v->buffer);
	ck_assert_int_eq(unmapped, 0);
	drop(b->out_buffer);
	ck_assert_int_eq(unmapped, 1);
	v->memory = memory_of(device(0), "device");
	FAIL(Client_CreateViewOfDeviceBuffer, v, UNIMPLEMENTED, "unpinned_host");
}
END_TEST

/* 64-bit types for a client that takes them, by an option or the environment: 32 bits come back */
START_TEST(narrowed)
{
	PJRT_NamedValue option = { .struct_size = PJRT_NamedValue_SIZE,
				   .name = "narrow_64bit",
				   .name_size = 12,
				   .type = PJRT_NamedValue_kBool,
				   .bool_value = true,
				   .value_size = 1 };
	PJRT_Client_Create_Args *c =
		ARGS(Client_Create, .create_options = &option, .num_options = _i == 0);
	const int64_t dims[] = { 3 }, in[3] = { 7, -8, 1LL << 33 | 5 };
	const double d[3] = { 0.5, -2, 1e-3 };
	PJRT_Client *before = client;
	int64_t out[3];
	double dout[3];
	PJRT_Buffer *b;

	if (_i)
		setenv("NEURON_PJRT_NARROW_64BIT", "1", 1);
	CALL(Client_Create, c);
	client = c->client;
	b = put(PJRT_Buffer_Type_S64, in, dims, 1);
	get(b, out, sizeof(out));
	ck_assert_int_eq(out[0], 7);
	ck_assert_int_eq(out[1], -8);
	ck_assert_int_eq(out[2], 5);
	drop(b);
	b = put(PJRT_Buffer_Type_F64, d, dims, 1);
	get(b, dout, sizeof(dout));
	for (int i = 0; i < 3; i++)
		ck_assert(dout[i] == (float)d[i]);
	drop(b);
	client = before;
	CALL(Client_Destroy, ARGS(Client_Destroy, .client = c->client));
}
END_TEST

static PJRT_Error *room(int64_t bytes, PJRT_Buffer **b)
{
	PJRT_Client_CreateUninitializedBuffer_Args *a =
		ARGS(Client_CreateUninitializedBuffer, .client = client, .shape_dims = &bytes,
		     .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_U8,
		     .device = device(0));
	PJRT_Error *e = api->PJRT_Client_CreateUninitializedBuffer(a);

	*b = a->buffer;
	return e;
}

static uintptr_t address(PJRT_Buffer *b)
{
	PJRT_Buffer_UnsafePointer_Args *a = ARGS(Buffer_UnsafePointer, .buffer = b);

	CALL(Buffer_UnsafePointer, a);
	return a->buffer_pointer;
}

/* A place and back: what is let go is the next one's that is as large, and nobody else's */
START_TEST(memory_again)
{
	PJRT_Buffer *a, *b, *c;
	uintptr_t first;

	expect_ok("room", room(1 << 20, &a));
	first = address(a);
	drop(a);
	expect_ok("room", room(2 << 20, &b));
	expect_ok("room", room(1 << 20, &a));
	expect_ok("room", room(1 << 20, &c));
	ck_assert_uint_eq(address(a), first);
	ck_assert_uint_ne(address(b), first);
	ck_assert_uint_ne(address(c), first);
	drop(a);
	drop(b);
	drop(c);
}
END_TEST

/* Many sizes, all of which are smaller than what comes next */
START_TEST(memory_of_its_size)
{
	static const char data[200 * 512];
	PJRT_Buffer *b[200];

	for (int64_t n = 1; n < 100; n++)
		expect_ok("room", room(n * 512, &b[n]));
	for (int64_t n = 1; n < 100; n++)
		drop(b[n]);
	for (int64_t n = 100; n < 200; n++) {
		const int64_t bytes = n * 512;

		b[n] = put(PJRT_Buffer_Type_U8, data, &bytes, 1);
	}
	for (int64_t n = 100; n < 200; n++)
		drop(b[n]);
}
END_TEST

#define PIECE ((int64_t)128 << 20)

/* The number of buffers of that size that a memory has space for; they are freed again */
static unsigned int how_many(int64_t bytes)
{
	PJRT_Buffer *b[64];
	PJRT_Error *e = NULL;
	unsigned int n = 0;

	while (n < 64 && !(e = room(bytes, &b[n])))
		n++;
	ck_assert_ptr_nonnull(e);
	for (unsigned int i = 0; i < n; i++)
		drop(b[i]);
	expect_error("room", e, PJRT_Error_Code_RESOURCE_EXHAUSTED, "no room for");
	return n;
}

/* Memory that the plug-in keeps of freed buffers is given back when a large buffer needs it. */
START_TEST(memory_of_others)
{
	/* a memory of 32 GiB, in parts of 4 GiB; the first has something of the runtime's, and is
	 * filled */
	const int64_t part = 32 * PIECE;
	PJRT_Buffer *small[3], *first;
	unsigned int n;

	how_many(part); /* what earlier tests left is not kept any more */
	expect_ok("room", room(part - PIECE, &first));
	n = how_many(part);
	ck_assert_uint_gt(n, 0);
	for (int i = 0; i < 3; i++)
		expect_ok("room", room(PIECE, &small[i]));
	for (int i = 0; i < 3; i++)
		drop(small[i]);
	ck_assert_uint_eq(how_many(part), n);
	drop(first);
}
END_TEST

/* The tests above leak nothing: the device's memory is as it was. */
START_TEST(no_leaks)
{
	expect_no_leaks();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-buffer");
	TCase *tc = tcase_create("pjrt");

	tcase_add_unchecked_fixture(tc, plugin_start, plugin_end);
	tcase_add_loop_test(tc, every_type, 0, sizeof(types) / sizeof(types[0]));
	tcase_add_loop_test(tc, strides_in, 0, sizeof(orders) / sizeof(orders[0]));
	tcase_add_test(tc, layouts_out);
	tcase_add_test(tc, empty_and_scalar);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, deleted);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, raw);
	tcase_add_test(tc, managers);
	tcase_add_test(tc, error_buffers);
	tcase_add_test(tc, alias_buffers);
	tcase_add_test(tc, views_and_bitcasts);
	tcase_add_loop_test(tc, narrowed, 0, 2);
	tcase_add_test(tc, memory_again);
	tcase_add_test(tc, memory_of_its_size);
	tcase_add_test(tc, memory_of_others);
	tcase_add_test(tc, no_leaks);
	suite_add_tcase(suite, tc);
	return check_run_here(suite);
}
