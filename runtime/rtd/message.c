// SPDX-License-Identifier: MIT
/* Packing and unpacking */
#include "message.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

#define HEAD 16 /* bytes of two keys below 128 and two lengths below 2^49, and none over */

/* The length after a key, which must be this one, and what is left after both; false: it is not */
static bool read_length(const uint8_t **p, const uint8_t *end, uint8_t key, uint64_t *length)
{
	if (*p == end || *(*p)++ != key)
		return false;
	*length = 0;
	for (unsigned int shift = 0; *p < end && shift < 49; shift += 7) {
		*length |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return true;
	}
	return false;
}

size_t rtd_message_bytes(grpc_byte_buffer *buf, unsigned int outer, unsigned int inner)
{
	uint64_t length, size, total = grpc_byte_buffer_length(buf);
	grpc_byte_buffer_reader reader;
	uint8_t head[HEAD];
	const uint8_t *p = head, *end = head;
	grpc_slice slice;
	size_t n;

	if (!grpc_byte_buffer_reader_init(&reader, buf))
		return 0;
	for (n = 0; n < HEAD && grpc_byte_buffer_reader_next(&reader, &slice);) {
		size_t len = GRPC_SLICE_LENGTH(slice);

		len = len < HEAD - n ? len : HEAD - n;
		memcpy(head + n, GRPC_SLICE_START_PTR(slice), len);
		n += len;
		grpc_slice_unref(slice);
	}
	grpc_byte_buffer_reader_destroy(&reader);
	end = head + n;

	if (!read_length(&p, end, outer << 3 | 2, &length) ||
	    length != total - (uint64_t)(p - head) ||
	    !read_length(&p, end, inner << 3 | 2, &size) || size != total - (uint64_t)(p - head))
		return 0;
	return size;
}

void rtd_message_copy(grpc_byte_buffer *buf, void *to, size_t size)
{
	size_t skip = grpc_byte_buffer_length(buf) - size;
	grpc_byte_buffer_reader reader;
	uint8_t *out = to;
	grpc_slice slice;

	if (!grpc_byte_buffer_reader_init(&reader, buf))
		return;
	while (grpc_byte_buffer_reader_next(&reader, &slice)) {
		size_t len = GRPC_SLICE_LENGTH(slice), over = skip < len ? skip : len;

		memcpy(out, GRPC_SLICE_START_PTR(slice) + over, len - over);
		out += len - over;
		skip -= over;
		grpc_slice_unref(slice);
	}
	grpc_byte_buffer_reader_destroy(&reader);
}
