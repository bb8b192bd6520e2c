/* SPDX-License-Identifier: MIT */
/*
 * Tensors between cores by TCP: cores, communicators and their requests (sendrecv.c), the threads
 * that move bytes (sendrecv_link.c), and those that listen (sendrecv_listen.c). One lock protects
 * everything but the bytes; every thread's work happens outside it.
 */
#ifndef RT_SENDRECV_H
#define RT_SENDRECV_H

#include <netinet/in.h>

#include "nrt/nrt_async_sendrecv.h"
#include "rt_tensor.h"

#define RT_PARKED 64 /* connections of a core that nobody accepted yet */
#define RT_CONNECT_MS 60000 /* until a communicator gives up, which may be parked as long */

/* A connecting peer's greeting; little-endian, as all hosts of the emulator are */
#define RT_HELLO_MAGIC 0x3152534eu /* "NSR1" */
struct rt_hello {
	uint32_t magic, from, to, zero;
};

struct nrt_async_sendrecv_request {
	struct nrt_async_sendrecv_request *next, *next_all;
	struct nrt_async_sendrecv_comm *comm;
	nrt_tensor_t *tensor;
	size_t offset, length, moved;
	bool done;
	NRT_STATUS status;
};

struct nrt_async_sendrecv_comm {
	struct nrt_async_sendrecv_comm *next;
	struct rt_endpoint *core;
	bool sends, connected, ended; /* ended: the thread is about to return */
	NRT_STATUS status; /* why it ended */
	struct in_addr peer;
	uint32_t peer_core;
	int fd;
	pthread_t thread;
	nrt_async_sendrecv_request_t *first, **last; /* to be carried out */
	unsigned int pending; /* requests that were not tested as done */
};

struct rt_parked {
	struct in_addr peer;
	uint32_t from;
	int fd; /* -1: free */
	int64_t until; /* milliseconds: then nobody waits for it any more */
};

struct rt_endpoint {
	struct rt_endpoint *next;
	uint32_t core; /* in the machine */
	int listener; /* -1: none yet */
	bool any; /* it listens at all addresses */
	bool closing;
	pthread_t thread;
	unsigned int communicators;
	struct rt_parked parked[RT_PARKED];
};

extern pthread_mutex_t rt_sendrecv_lock;
extern pthread_cond_t rt_sendrecv_changed;

int64_t rt_sendrecv_ms(void);
uint16_t rt_sendrecv_port(uint32_t core);
/* The threads of a communicator and of a core's listener */
void *rt_comm_work(void *comm);
void *rt_listen_work(void *core);
/* With the lock held: listens where the peer can reach the core. */
NRT_STATUS rt_listen_for(struct rt_endpoint *core, struct in_addr peer);

void rt_sendrecv_close(void); /* at nrt_close: ends what programs left open */

#endif
