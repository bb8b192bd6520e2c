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

#endif
