// SPDX-License-Identifier: MIT
/*
 * How large a request may become when it is unpacked: its own bytes and a fixed slack, however many
 * small elements it has. The messages are put together by hand.
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

int main(void)
{
	Suite *s = suite_create("rtd-message");
	TCase *tc = tcase_create("message");

	tcase_add_test(tc, some_small_elements);
	tcase_add_test(tc, too_many_small_elements);
	tcase_add_test(tc, a_large_element);
	suite_add_tcase(s, tc);
	return check_run(s);
}
