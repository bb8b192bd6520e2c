// SPDX-License-Identifier: MIT
/* Packing and unpacking */
#include "message.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <stdlib.h>

/* Bytes that a message may take beyond its own, for many small elements */
#define UNPACK_SLACK (4u << 20)

struct unpack_budget {
	size_t left;
};

static void *budget_alloc(void *data, size_t size)
{
	struct unpack_budget *budget = data;

	if (size > budget->left)
		return NULL;
	budget->left -= size;
	return malloc(size);
}

static void budget_free(void *data, void *ptr)
{
	free(ptr);
}

ProtobufCMessage *rtd_message_unpack(const ProtobufCMessageDescriptor *type, grpc_byte_buffer *buf)
{
	struct unpack_budget budget;
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	grpc_byte_buffer_reader reader;
	ProtobufCMessage *message;
	grpc_slice slice;
	size_t len;

	if (!grpc_byte_buffer_reader_init(&reader, buf))
		return NULL;
	slice = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);

	len = GRPC_SLICE_LENGTH(slice);
	budget.left = len + UNPACK_SLACK;
	message = protobuf_c_message_unpack(type, &allocator, len, GRPC_SLICE_START_PTR(slice));
	grpc_slice_unref(slice);
	return message;
}

grpc_byte_buffer *rtd_message_pack(const ProtobufCMessage *message)
{
	grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
	grpc_byte_buffer *buf;

	protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
	buf = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	return buf;
}
