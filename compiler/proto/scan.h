/* SPDX-License-Identifier: MIT */
/*
 * A first walk over a protobuf file that bounds what the generated parser will do with it: nesting,
 * the number of fields, and lengths. Private to the front ends.
 */
#ifndef NCC_PROTO_SCAN_H
#define NCC_PROTO_SCAN_H

#include <protobuf-c/protobuf-c.h>

#include "ir/ir.h"

#define NCC_MAX_FILE (2000ll << 20)
#define NCC_MAX_DEPTH 32 /* depth of messages in messages */
#define NCC_MAX_AGAIN 64 /* times that a message gives again what it has one of */
#define NCC_MAX_FIELDS (1 << 24) /* in the whole file; a packed list counts once */

/* Takes a number off the bytes from *p on; false: they end first, or it is too long */
bool ncc_proto_varint(const uint8_t **p, const uint8_t *end, uint64_t *v);

/* 0, -EINVAL or -EFBIG; what: "an HLO module", for the message */
int ncc_proto_scan(const ProtobufCMessageDescriptor *desc, const char *what, const uint8_t *buf,
		   size_t size, struct ncc_error *err);

#endif
