/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface between neuron-importer.ko and the test that uses it */
#ifndef IMPORTER_H
#define IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IMPORTER_ARG_MAX 128

struct importer_register {
	__u64 va, size; /* in */
	__u32 in_callback; /* in: unregister when told */
	__u32 shift, device, entries, count; /* out */
	__u64 address; /* out */
};

struct importer_peek {
	__u8 bytes[64]; /* out */
};

struct importer_import {
	__s32 fd; /* in */
	__u32 host; /* in */
	__u64 address; /* out: of the first segment */
	__u32 length, segments; /* out */
	__u8 bytes[64]; /* out */
};

#define IMPORTER_REGISTER _IOWR('I', 1, struct importer_register)
#define IMPORTER_PEEK _IOWR('I', 2, struct importer_peek)
#define IMPORTER_UNREGISTER _IO('I', 3)
#define IMPORTER_TOLD _IO('I', 4) /* how often it was told, as the result */
#define IMPORTER_IMPORT _IOWR('I', 5, struct importer_import)
/*
 * IMPORTER_IMPORT for another device, which keeps the buffer mapped, and IMPORTER_HELD for what it
 * reads there later
 */
#define IMPORTER_HOLD _IOWR('I', 6, struct importer_import)
#define IMPORTER_HELD _IOWR('I', 7, struct importer_import)
#define IMPORTER_LET_GO _IO('I', 8)

#endif
