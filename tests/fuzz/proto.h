/* SPDX-License-Identifier: MIT */
/*
 * A mutator for protobuf messages of any type: it changes one field, repeats, moves or drops an
 * element, and packs again, so that the fuzzer's input is still a message. It is for libFuzzer
 * only; AFL++ changes bytes. Used by the targets of this directory.
 */
#ifndef FUZZ_PROTO_H
#define FUZZ_PROTO_H

#include <protobuf-c/protobuf-c.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* `words` are the values that a string field may get; NULL ends the list. */
size_t fuzz_proto_mutate(const ProtobufCMessageDescriptor *type, const char *const *strings,
			 uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#endif
