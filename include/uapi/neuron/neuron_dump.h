/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What /sys/class/neuron_device/neuronN/hang_dump holds after a hang, and a device coredump where
 * the kernel has those: a header, then sections, each with its own header. Everything is in the
 * machine's byte order and aligned to 8 bytes. A reader skips sections it does not know; the
 * version changes when a section that exists does.
 */
#ifndef UAPI_NEURON_DUMP_H
#define UAPI_NEURON_DUMP_H

#include <linux/types.h>

#define NEURON_DUMP_MAGIC 0x504d55445255454eULL /* "NEURDUMP" in memory */
#define NEURON_DUMP_VERSION 1

#define NEURON_DUMP_F_NO_REGISTERS 0x1 /* for want of an answer from the firmware */
#define NEURON_DUMP_F_CUT 0x2 /* there was more than the dump has room for */

struct neuron_dump_header {
	__u64 magic;
	__u32 version;
	__u32 size; /* of the whole dump */
	__u32 flags;
	__u32 id; /* counts the dumps of the device; the event's dump attribute */
	__u64 time; /* nanoseconds since 1970 */
	__u32 index; /* N of /dev/neuronN */
	__u32 state; /* enum neuron_device_state */
	__u32 reason; /* enum neuron_hang_reason */
	__u32 cores; /* one bit a core, 0xffffffff: the device */
	__u32 engine; /* of a copy */
	__u32 queue;
	__u32 pid; /* 0: not known */
	__u32 error; /* errno */
	char bdf[16];
	char driver[16]; /* version */
};

enum neuron_dump_type {
	NEURON_DUMP_WORDS = 1, /* struct neuron_dump_word: the firmware's, and extensions */
	NEURON_DUMP_QUEUES, /* struct neuron_dump_queue: queues in use, the module's own too */
	NEURON_DUMP_CORES, /* struct neuron_dump_core, with semaphores */
	NEURON_DUMP_PROCESSES, /* struct neuron_dump_process: who is attached */
	NEURON_DUMP_NOTIFICATIONS, /* struct neuron_dump_nq, then its entries: an error queue */
};

struct neuron_dump_section {
	__u32 type; /* enum neuron_dump_type */
	__u32 length; /* of what follows, a multiple of 8 */
};

struct neuron_dump_word {
	__u64 address; /* device address */
	__u32 value;
	__u32 reserved;
};

/* Status, base (low, high), length, head, tail, completion base (low, high), completion head */
#define NEURON_DUMP_QUEUE_REGS 9

struct neuron_dump_queue {
	__u32 engine;
	__u32 queue;
	__u32 pid; /* 0: the module */
	__u32 reserved;
	__u32 tx[NEURON_DUMP_QUEUE_REGS];
	__u32 rx[NEURON_DUMP_QUEUE_REGS];
};

#define NEURON_DUMP_SEMAPHORES 32

struct neuron_dump_core {
	__u32 core;
	__u32 pid; /* 0: nobody's */
	__u32 init_state;
	__u32 semaphores; /* how many of the following were read: 32, or 0 */
	__u64 models_started;
	__u32 semaphore[NEURON_DUMP_SEMAPHORES];
};

#define NEURON_DUMP_P_EXITING 0x1
#define NEURON_DUMP_P_LOST 0x2 /* what it had on the chip went with a suspend */

struct neuron_dump_process {
	__u32 pid;
	__u32 flags;
	__u32 files; /* it opened and has not closed */
	__u32 reserved;
};

/* The ring as it is in memory; each entry has its time */
struct neuron_dump_nq {
	__u32 core;
	__u32 pid;
	__u32 size; /* of the ring, in bytes */
	__u32 reserved;
};

#endif
