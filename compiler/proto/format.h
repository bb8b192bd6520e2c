/* SPDX-License-Identifier: MIT */
/*
 * What a file is that is no model of the framework it was given as. Called by ncc.c after a front
 * end has refused it.
 */
#ifndef NCC_PROTO_FORMAT_H
#define NCC_PROTO_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "ncc.h"

/*
 * The file's format, and how to get a file that is read: text that continues "not an HLO module
 * but". NULL: unknown, or a file of the framework itself
 */
const char *ncc_format(const uint8_t *buf, size_t size, enum ncc_framework framework);

#endif
