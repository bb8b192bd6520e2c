/* SPDX-License-Identifier: MIT */
/* protobuf-c messages in and out of gRPC byte buffers, used by the server and by the client */
#ifndef RTD_MESSAGE_H
#define RTD_MESSAGE_H

#include <grpc/byte_buffer.h>
#include <protobuf-c/protobuf-c.h>

/*
 * Unpacks a message. Returns NULL if it is malformed or would need much more memory than its own
 * size (a message of two-byte elements grows forty-fold when unpacked). Free it with
 * protobuf_c_message_free_unpacked.
 */
ProtobufCMessage *rtd_message_unpack(const ProtobufCMessageDescriptor *type, grpc_byte_buffer *buf);
grpc_byte_buffer *rtd_message_pack(const ProtobufCMessage *message);

/*
 * A message that is nothing but the bytes of field outer.inner: how many these are, to be copied
 * from the message's end; 0: it is another one, or has none.
 */
size_t rtd_message_bytes(grpc_byte_buffer *buf, unsigned int outer, unsigned int inner);
void rtd_message_copy(grpc_byte_buffer *buf, void *to, size_t size); /* its last size bytes */

#endif
