// SPDX-License-Identifier: MIT
/*
 * The daemon's unpacking of requests: any bytes as any request type. Memory stays within the budget
 * of message.c; an accepted message packs to one that is accepted and packs to the same.
 */
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>

#include "message.h"
#include "nmgr.pb-c.h"
#include "nmgr_session_service.pb-c.h"
#include "nrtx.pb-c.h"
#include "proto.h"

static const ProtobufCMessageDescriptor *const types[] = {
	&nrt__load_request__descriptor,
	&nrt__session_monitor_request__descriptor,
	&nrt__infer_request__descriptor,
	&nrt__infer_wait_request__descriptor,
	&nrt__infer_check_completion_request__descriptor,
	&nrt__create_eg_request__descriptor,
	&nrt__destroy_eg_request__descriptor,
	&nrt__start_request__descriptor,
	&nrt__unload_request__descriptor,
	&nrt__shm_map_request__descriptor,
	&nrt__shm_unmap_request__descriptor,
	&nrt__read_all_counters_request__descriptor,
	&nrt__get_hw_counters_request__descriptor,
	&nrtx__list_models_request__descriptor,
	&nrtx__describe_model_request__descriptor,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *type, const uint8_t *p, size_t n)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)p, n);
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);
	ProtobufCMessage *msg = rtd_message_unpack(type, buf);

	grpc_slice_unref(slice);
	grpc_byte_buffer_destroy(buf);
	return msg;
}

static uint8_t *pack(const ProtobufCMessage *msg, size_t *n)
{
	uint8_t *p;

	*n = protobuf_c_message_get_packed_size(msg);
	p = malloc(*n ? *n : 1);
	fuzz_assert(p && protobuf_c_message_pack(msg, p) == *n);
	return p;
}

#ifdef FUZZ_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	if (!size || seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	return 1 + fuzz_proto_mutate(types[data[0] % TYPES], NULL, data + 1, size - 1, max_size - 1,
				     seed);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ProtobufCMessageDescriptor *type;
	ProtobufCMessage *msg, *back;
	uint8_t *one, *two;
	size_t n, m;

	if (!size)
		return 0;
	type = types[data[0] % TYPES];
	msg = unpack(type, data + 1, size - 1);
	if (!msg)
		return 0;
	one = pack(msg, &n);
	back = unpack(type, one, n);
	/* NULL: protobuf-c accepts some unknown fields whose packed form it does not accept */
	if (back) {
		two = pack(back, &m);
		fuzz_assert(n == m && !memcmp(one, two, n));
		free(two);
		protobuf_c_message_free_unpacked(back, NULL);
	}
	free(one);
	protobuf_c_message_free_unpacked(msg, NULL);
	return 0;
}
