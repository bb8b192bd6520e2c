// SPDX-License-Identifier: MIT
/*
 * How large a request may become when it is unpacked: its own bytes and a fixed slack, however many
 * small elements it has; these messages are put together by hand. And what of a message is taken
 * without unpacking it, as protobuf-c packs it.
 */
#include <check.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "message.h"
#include "nmgr.pb-c.h"

#define IFMAP_TAG (2 << 3 | 2) /* infer_request.ifmap, a message */
#define BUF_TAG (1 << 3 | 2) /* infer_io.buf, bytes */
#define MANY 1000000 /* 2 MB, of which protobuf-c makes tens of megabytes */

static Nrt__InferRequest *unpack(grpc_slice slice)
{
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);
	ProtobufCMessage *message = rtd_message_unpack(&nrt__infer_request__descriptor, buf);

	grpc_slice_unref(slice);
	grpc_byte_buffer_destroy(buf);
	return (Nrt__InferRequest *)message;
}

/* n elements of two bytes each */
static grpc_slice empty_elements(size_t n)
{
	grpc_slice slice = grpc_slice_malloc(2 * n);
	uint8_t *p = GRPC_SLICE_START_PTR(slice);

	for (size_t i = 0; i < n; i++) {
		p[2 * i] = IFMAP_TAG;
		p[2 * i + 1] = 0;
	}
	return slice;
}

START_TEST(some_small_elements)
{
	Nrt__InferRequest *request = unpack(empty_elements(1000));

	ck_assert_ptr_nonnull(request);
	ck_assert_uint_eq(request->n_ifmap, 1000);
	nrt__infer_request__free_unpacked(request, NULL);
}
END_TEST

START_TEST(too_many_small_elements)
{
	ck_assert_uint_gt(MANY * sizeof(Nrt__InferIo), 6 * (2 * MANY + (4u << 20)));
	ck_assert_ptr_null(unpack(empty_elements(MANY)));
}
END_TEST

static size_t varint(uint8_t *p, size_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		p[n++] = (uint8_t)(value | 0x80);
	p[n++] = (uint8_t)value;
	return n;
}

/* An element that is large in the message may be as large unpacked */
START_TEST(a_large_element)
{
	const size_t size = 64u << 20;
	uint8_t head[24], inner[12];
	size_t ninner, n = 0;
	Nrt__InferRequest *request;
	grpc_slice slice;

	inner[0] = BUF_TAG;
	ninner = 1 + varint(inner + 1, size);
	head[n++] = IFMAP_TAG;
	n += varint(head + n, ninner + size);
	memcpy(head + n, inner, ninner);
	n += ninner;
	slice = grpc_slice_malloc(n + size);
	memcpy(GRPC_SLICE_START_PTR(slice), head, n);
	memset(GRPC_SLICE_START_PTR(slice) + n, 7, size);
	request = unpack(slice);
	ck_assert_ptr_nonnull(request);
	ck_assert_uint_eq(request->n_ifmap, 1);
	ck_assert_uint_eq(request->ifmap[0]->buf.len, size);
	nrt__infer_request__free_unpacked(request, NULL);
}
END_TEST

/* protobuf-c's own form of a chunk of so many bytes, and then as many zeros */
static size_t chunk_pack(uint8_t *out, size_t size, size_t zeros)
{
	Nrt__LoadRequest request = NRT__LOAD_REQUEST__INIT;
	Nrt__FileChunk chunk = NRT__FILE_CHUNK__INIT;
	uint8_t *data = malloc(size + 1);
	size_t n;

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 31 + 1);
	chunk.chunk.data = data;
	chunk.chunk.len = size;
	request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
	request.neff_chunk = &chunk;
	n = nrt__load_request__pack(&request, out);
	memset(out + n, 0, zeros);
	free(data);
	return n + zeros;
}

/* The message in slices of so many bytes */
static grpc_byte_buffer *in_slices(const uint8_t *message, size_t len, size_t each)
{
	grpc_slice slices[64];
	grpc_byte_buffer *buf;
	size_t n = 0;

	for (size_t at = 0; at < len; at += each)
		slices[n++] = grpc_slice_from_copied_buffer((const char *)message + at,
							    at + each < len ? each : len - at);
	buf = grpc_raw_byte_buffer_create(slices, n);
	for (size_t i = 0; i < n; i++)
		grpc_slice_unref(slices[i]);
	return buf;
}

static size_t bytes_of(const uint8_t *message, size_t len, size_t each)
{
	grpc_byte_buffer *buf = in_slices(message, len, each);
	size_t size = rtd_message_bytes(buf, 4, 1);

	grpc_byte_buffer_destroy(buf);
	return size;
}

START_TEST(a_chunk_without_unpacking)
{
	const size_t sizes[] = { 1, 2, 100, 120, 127, 128, 129, 300, 16383, 16384, 20000 };
	static uint8_t message[20100], out[20002];

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t size = sizes[s], len = chunk_pack(message, size, 0);
		const size_t slices[] = { len, len / 2 + 1, len / 50 + 1 };

		for (size_t k = 0; k < 3; k++) {
			grpc_byte_buffer *buf = in_slices(message, len, slices[k]);

			ck_assert_uint_eq(rtd_message_bytes(buf, 4, 1), size);
			memset(out, 0xee, sizeof(out));
			rtd_message_copy(buf, out + 1, size);
			ck_assert_mem_eq(out + 1, message + len - size, size);
			ck_assert_uint_eq(out[0], 0xee);
			ck_assert_uint_eq(out[1 + size], 0xee);
			grpc_byte_buffer_destroy(buf);
		}
	}
}
END_TEST

/* Whatever is not exactly that is left to protobuf-c. */
START_TEST(other_messages_than_a_chunk)
{
	static const uint8_t endless[] = { 0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
	uint8_t message[400];
	size_t len = chunk_pack(message, 300, 0);

	for (size_t cut = 1; cut < len; cut++)
		ck_assert_uint_eq(bytes_of(message, len - cut, len), 0);
	for (size_t i = 0; i < 6; i++) { /* keys and lengths */
		message[i] ^= 1;
		ck_assert_uint_eq(bytes_of(message, len, 10), 0);
		message[i] ^= 1;
	}
	ck_assert_uint_eq(bytes_of(message, len, 10), 300);
	ck_assert_uint_eq(bytes_of(message, chunk_pack(message, 300, 1), 100), 0);
	ck_assert_uint_eq(bytes_of(message, chunk_pack(message, 0, 0), 100), 0);
	ck_assert_uint_eq(bytes_of(endless, sizeof(endless), 100), 0);
	ck_assert_uint_eq(bytes_of(endless, 1, 100), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-message");
	TCase *tc = tcase_create("message");

	tcase_add_test(tc, some_small_elements);
	tcase_add_test(tc, too_many_small_elements);
	tcase_add_test(tc, a_large_element);
	tcase_add_test(tc, a_chunk_without_unpacking);
	tcase_add_test(tc, other_messages_than_a_chunk);
	suite_add_tcase(s, tc);
	return check_run(s);
}
