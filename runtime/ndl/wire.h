/* SPDX-License-Identifier: MIT */
/*
 * What a process and the server of its chips (runtime/emud) say to each other. Both are of one
 * build's version: whoever says another number is refused.
 *
 * A process has one connection, a socket of packets. It says hello and is given a file, which both
 * map: the process's host memory as the chips see it. In the file's first bytes lie bells, on which
 * the process sleeps until a core of its own has something to say, and channels. The socket carries
 * nothing more than requests for another channel, and files that a call hands out; that it is
 * closed is the end of the process.
 *
 * A channel serves one thread of the process at a time and has a thread of the server. It is a ring
 * of calls: the process writes a call and moves the head, the server answers in place and moves the
 * tail. Who finds nothing looks for a while, says that it sleeps, looks once more and sleeps on the
 * other's word (a futex). A posted call has no answer, and nobody waits for it. Everything in the
 * file may be changed by the process at any time: the server copies a call before it looks at it.
 */
#ifndef NDLX_WIRE_H
#define NDLX_WIRE_H

#include <assert.h>
#include <sched.h>
#include <stdint.h>

#include "emu_bell.h"
#include "ndlx.h"

#define WIRE_MAGIC 0x646d656eu /* "nemd" */
#define WIRE_VERSION 1u

#define WIRE_CHANNELS 16
#define WIRE_CALLS 64 /* of a channel's ring */
#define WIRE_ARGS 8
#define WIRE_DATA (1u << 20) /* bytes that a call brings, or that its answer brings */
#define WIRE_PIECE (16u << 20) /* what one call copies or sets in memory at most */

/*
 * Who looks for the other's word looks so often before it sleeps, some 25 us in all, and lets
 * others have the processor now and then: the other may be waiting for just that one.
 */
#define WIRE_LOOKS 512
static inline void wire_look_pause(unsigned int look)
{
#ifdef __x86_64__
	if (look % 16 != 15) {
		__builtin_ia32_pause();
		return;
	}
#endif
	sched_yield();
}

/* Calls. What each has in its words, and as data, is said beside it: in -> out */
enum wire_op {
	WIRE_NOP,
	WIRE_OPEN, /* -> data: struct wire_device */
	WIRE_CLOSE,
	WIRE_LINKS, /* -> data: a byte for each port */
	WIRE_MARK, /* count, start, end -> first, available */
	WIRE_UNMARK, /* first, count */
	WIRE_BAR_READ, /* bar, count, data: offsets -> data: words */
	WIRE_BAR_WRITE, /* bar, count, data: offsets, words */
	WIRE_COUNTERS, /* count, data: addresses -> data: words */
	WIRE_ALLOC, /* size, align, host, channel, region, nc, type -> handle, address, size */
	WIRE_FREE, /* handle */
	WIRE_INFO, /* handle -> address, size */
	WIRE_SHARE, /* handle -> a file */
	WIRE_COPY, /* source, destination, their offsets, size */
	WIRE_BUF, /* handle, offset, size, to device; data */
	WIRE_SET, /* handle, offset, value, size */
	WIRE_CHUNKS, /* channel, room -> count, data */
	WIRE_CORE_WRITE, /* nc, address, size, data */
	WIRE_ENG_SET, /* engine, state */
	WIRE_ENG_GET, /* engine -> data: struct neuron_dma_eng_state */
	WIRE_QUEUE_INIT, /* count, data: struct ndlx_queue_params */
	WIRE_QUEUE_RELEASE, /* engine, queue */
	WIRE_QUEUE_START, /* engine, queue, TX and RX descriptors */
	WIRE_QUEUE_STATE, /* engine, queue -> data: TX's, RX's struct neuron_dma_queue_state */
	WIRE_DESCS_IN, /* handle, offset, count, type, data */
	WIRE_DESCS_OUT, /* engine, queue, type, start, count -> data */
	WIRE_SEMAPHORE, /* operation, nc, index, value -> value */
	WIRE_EVENT, /* set, nc, index, value -> value */
	WIRE_NQ, /* nc, type, engine, size, fresh -> offset in the file */
	WIRE_ENTRIES, /* nc -> how many */
	WIRE_ARM, /* nc, how many were seen: the core's bell rings when there are others */
	WIRE_LEND, /* nc: the channel's thread executes the core */
	WIRE_LEAVE, /* until now */
	WIRE_NDS_OPEN, /* pid -> a file */
	WIRE_NDS_SEAL, /* it is mapped */
	WIRE_NDS_CLOSE,
	WIRE_CRWL, /* enum ndlx_crwl, nc, uuid */
	WIRE_RESET, /* map -> request */
	WIRE_READY, /* request -> result */
	WIRE_CINIT, /* nc, state -> state */
	WIRE_STARTED, /* nc -> count */
	WIRE_APPS, /* flags -> count, data: struct neuron_app_info */
	WIRE_PRINTK, /* data: a text */
	WIRE_OPS
};

struct wire_call {
	uint16_t op;
	uint8_t device;
	uint8_t posted;
	int32_t result;
	uint64_t arg[WIRE_ARGS];
};

struct wire_channel {
	uint32_t head; /* calls so far; the process's. Each on a cache line of its own */
	uint32_t pad0[15];
	uint32_t tail; /* of which are over; the server's */
	uint32_t working; /* the thread executes a core that was lent to it */
	uint32_t pad1[14];
	uint32_t server_sleeps, process_sleeps;
	uint32_t pad2[14];
	struct wire_call call[WIRE_CALLS];
};

/* The file's first bytes */
#define WIRE_BELLS 0
#define WIRE_CHANNEL_HEAD 8192u
#define WIRE_CHANNEL(i) (4096u + (i) * (WIRE_CHANNEL_HEAD + WIRE_DATA))
#define WIRE_CHANNEL_DATA(i) (WIRE_CHANNEL(i) + WIRE_CHANNEL_HEAD)
#define WIRE_RESERVED WIRE_CHANNEL(WIRE_CHANNELS)
static_assert(NDLX_MAX_DEVICES * NEURON_CORES_MAX * sizeof(struct emu_bell) <= 4096, "bells");
static_assert(sizeof(struct wire_channel) <= WIRE_CHANNEL_HEAD, "channel");
static_assert(sizeof(struct wire_call) == 72, "call");

struct wire_device {
	uint32_t type, revision, neighbours;
	uint8_t neighbour[NDLX_MAX_DEVICES];
};

struct wire_hello {
	uint32_t magic, version;
};

struct wire_welcome { /* with the file, if there is no error */
	uint32_t magic, version;
	int32_t error; /* -EPROTO: another version; -EBUSY: too many processes */
	uint32_t user;
	uint64_t size; /* of the file */
	uint64_t base; /* where the chips see it: a host physical address */
	uint32_t direct; /* copies need not go through the chips, none of which has a fault */
	uint32_t server; /* its process */
	char instance[32];
};

struct wire_ask { /* for a channel; the answer is the same with the error */
	uint32_t channel;
	int32_t error;
};

#endif
