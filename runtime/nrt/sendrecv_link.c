/* SPDX-License-Identifier: MIT */
/*
 * Connections between cores. A core listens at the bootstrap port plus its number in the machine,
 * at the loopback address until it is to accept a peer of another host. Who connects says which
 * core it is and which it wants; the connection begins when that core accepts the peer. A
 * communicator's thread makes the connection and then carries out its requests in order.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rt_sendrecv.h"

#define DEFAULT_PORT 62183
#define CONNECT_S 60 /* until a communicator gives up */
#define CONNECT_TRY_S 5 /* for one attempt */
#define PATIENCE_MS 30000 /* of a peer that stops in the middle */
#define RETRY_MS 50
#define CHUNK (1u << 20)
#define MAGIC 0x3152534eu /* "NSR1" */

struct hello { /* little-endian, as all hosts of the emulator are */
	uint32_t magic, from, to, zero;
};

pthread_mutex_t rt_sendrecv_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t rt_sendrecv_changed = PTHREAD_COND_INITIALIZER;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Bytes on a connection. False: it broke, or the peer was silent for too long. */

static bool ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&p, 1, PATIENCE_MS);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static bool put(int fd, const void *buf, size_t size)
{
	while (size) {
		ssize_t n = ready(fd, POLLOUT) ? send(fd, buf, size, MSG_NOSIGNAL) : -1;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return false;
		buf = (const char *)buf + n;
		size -= (size_t)n;
	}
	return true;
}

static bool get(int fd, void *buf, size_t size)
{
	while (size) {
		ssize_t n = ready(fd, POLLIN) ? recv(fd, buf, size, 0) : -1;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return false;
		buf = (char *)buf + n;
		size -= (size_t)n;
	}
	return true;
}

/* Requests: the length, then the bytes */

static NRT_STATUS send_one(int fd, nrt_async_sendrecv_request_t *r, void *chunk)
{
	uint64_t length = r->length;
	NRT_STATUS status = NRT_SUCCESS;

	if (!put(fd, &length, sizeof(length)))
		return NRT_FAILURE;
	while (r->moved < r->length && !status) {
		size_t n = r->length - r->moved < CHUNK ? r->length - r->moved : CHUNK;

		status = rt_tensor_read(r->tensor, chunk, r->offset + r->moved, n);
		if (!status && !put(fd, chunk, n))
			status = NRT_FAILURE;
		r->moved += status ? 0 : n;
	}
	return status;
}

static NRT_STATUS recv_one(int fd, nrt_async_sendrecv_request_t *r, void *chunk)
{
	NRT_STATUS status = NRT_SUCCESS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t length;

	/* a peer may send when it likes; close ends this wait */
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (!get(fd, &length, sizeof(length)) || length > r->length)
		return NRT_FAILURE;
	while (r->moved < length && !status) {
		size_t n = length - r->moved < CHUNK ? (size_t)(length - r->moved) : CHUNK;

		if (!get(fd, chunk, n))
			return NRT_FAILURE;
		status = rt_tensor_write(r->tensor, chunk, r->offset + r->moved, n);
		r->moved += status ? 0 : n;
	}
	return status;
}

/* Communicators */

static uint16_t port_of(uint32_t core)
{
	const char *text = secure_getenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT");
	unsigned long base = text ? strtoul(text, NULL, 10) : 0;

	return (uint16_t)((base && base < 65536 ? base : DEFAULT_PORT) + core);
}

static bool closing(const struct nrt_async_sendrecv_comm *comm)
{
	bool is;

	pthread_mutex_lock(&rt_sendrecv_lock);
	is = comm->core->closing;
	pthread_mutex_unlock(&rt_sendrecv_lock);
	return is;
}

/* The peer's core answers when it accepts this one, which may take its time. */
static bool wait_accepted(struct nrt_async_sendrecv_comm *comm, int fd, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t accepted = 0;

	while (now_ms() < deadline && !closing(comm))
		if (poll(&p, 1, RETRY_MS) > 0)
			return recv(fd, &accepted, 1, 0) == 1 && accepted == 1;
	return false;
}

static int dial(struct nrt_async_sendrecv_comm *comm, uint16_t port, int64_t deadline)
{
	const struct hello hello = { MAGIC, comm->core->core, comm->peer_core, 0 };
	const struct timeval patience = { .tv_sec = CONNECT_TRY_S };
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = comm->peer,
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) && put(fd, &hello, sizeof(hello)) &&
	    wait_accepted(comm, fd, deadline))
		return fd;
	close(fd);
	return -1;
}

/* Until the peer takes the connection; its core may not listen yet. */
static bool connect_sender(struct nrt_async_sendrecv_comm *comm, int64_t deadline)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000 };

	while (now_ms() < deadline && !closing(comm)) {
		int fd = dial(comm, port_of(comm->peer_core), deadline);

		if (fd >= 0) {
			pthread_mutex_lock(&rt_sendrecv_lock);
			comm->fd = fd;
			pthread_mutex_unlock(&rt_sendrecv_lock);
			return true;
		}
		nanosleep(&pause, NULL);
	}
	return false;
}

static void until(struct timespec *ts, int64_t deadline)
{
	int64_t left = deadline - now_ms();

	clock_gettime(CLOCK_REALTIME, ts);
	if (left > 0) {
		ts->tv_sec += left / 1000;
		ts->tv_nsec += left % 1000 * 1000000;
		ts->tv_sec += ts->tv_nsec / 1000000000;
		ts->tv_nsec %= 1000000000;
	}
}

/* A parked connection of the peer, which is then this communicator's. The lock is held. */
static bool take_parked(struct nrt_async_sendrecv_comm *comm)
{
	uint8_t byte;

	for (unsigned int i = 0; i < RT_PARKED; i++) {
		struct rt_parked *p = &comm->core->parked[i];

		if (p->fd < 0 || p->from != comm->peer_core || p->peer.s_addr != comm->peer.s_addr)
			continue;
		if (recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) { /* it gave up */
			close(p->fd);
			p->fd = -1;
			continue;
		}
		comm->fd = p->fd;
		p->fd = -1;
		return true;
	}
	return false;
}

static bool connect_receiver(struct nrt_async_sendrecv_comm *comm, int64_t deadline)
{
	const uint8_t accepted = 1;
	struct timespec ts;
	bool taken;

	until(&ts, deadline);
	pthread_mutex_lock(&rt_sendrecv_lock);
	while (!(taken = take_parked(comm)) && !comm->core->closing)
		if (pthread_cond_timedwait(&rt_sendrecv_changed, &rt_sendrecv_lock, &ts) ==
		    ETIMEDOUT)
			break;
	pthread_mutex_unlock(&rt_sendrecv_lock);
	return taken && put(comm->fd, &accepted, 1);
}

/* Carries out what is queued; the lock is held except while bytes move. */
static void serve(struct nrt_async_sendrecv_comm *comm, void *chunk)
{
	while (!comm->core->closing) {
		nrt_async_sendrecv_request_t *r = comm->first;
		NRT_STATUS status;

		if (!r) {
			pthread_cond_wait(&rt_sendrecv_changed, &rt_sendrecv_lock);
			continue;
		}
		pthread_mutex_unlock(&rt_sendrecv_lock);
		rt_details_clear();
		status = comm->sends ? send_one(comm->fd, r, chunk) : recv_one(comm->fd, r, chunk);
		rt_tensor_pending(r->tensor, false);
		pthread_mutex_lock(&rt_sendrecv_lock);
		comm->first = r->next;
		if (!comm->first)
			comm->last = &comm->first;
		r->status = status;
		r->done = true;
		if (status) { /* the peer does not know where the next one begins */
			comm->status = status;
			return;
		}
	}
}

void *rt_comm_work(void *arg)
{
	struct nrt_async_sendrecv_comm *comm = arg;
	int64_t deadline = now_ms() + CONNECT_S * 1000;
	bool connected =
		comm->sends ? connect_sender(comm, deadline) : connect_receiver(comm, deadline);
	void *chunk = connected ? malloc(CHUNK) : NULL;

	pthread_mutex_lock(&rt_sendrecv_lock);
	comm->connected = connected;
	comm->status = connected ? NRT_SUCCESS : NRT_TIMEOUT;
	if (connected && !chunk)
		comm->status = NRT_RESOURCE;
	if (chunk)
		serve(comm, chunk);
	comm->ended = true;
	/* what is left will not be carried out */
	for (nrt_async_sendrecv_request_t *r = comm->first; r; r = r->next) {
		rt_tensor_pending(r->tensor, false);
		r->status = comm->status ? comm->status : NRT_FAILURE;
		r->done = true;
	}
	comm->first = NULL;
	comm->last = &comm->first;
	pthread_mutex_unlock(&rt_sendrecv_lock);
	free(chunk);
	return NULL;
}

/* Listeners */

/* Parks a connection whose peer says who it is and wants this core. */
static void welcome(struct rt_endpoint *core, int fd, struct in_addr peer)
{
	struct rt_parked *free_place = NULL;
	struct hello hello;

	if (!get(fd, &hello, sizeof(hello)) || hello.magic != MAGIC || hello.to != core->core ||
	    hello.zero) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&rt_sendrecv_lock);
	for (unsigned int i = 0; i < RT_PARKED && !free_place; i++)
		if (core->parked[i].fd < 0)
			free_place = &core->parked[i];
	if (free_place)
		*free_place = (struct rt_parked){ peer, hello.from, fd };
	pthread_cond_broadcast(&rt_sendrecv_changed);
	pthread_mutex_unlock(&rt_sendrecv_lock);
	if (!free_place)
		close(fd);
}

void *rt_listen_work(void *arg)
{
	struct rt_endpoint *core = arg;

	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		int fd, listener, one = 1;

		pthread_mutex_lock(&rt_sendrecv_lock);
		while (core->listener < 0 && !core->closing)
			pthread_cond_wait(&rt_sendrecv_changed, &rt_sendrecv_lock);
		listener = core->listener;
		if (core->closing) {
			pthread_mutex_unlock(&rt_sendrecv_lock);
			return NULL;
		}
		pthread_mutex_unlock(&rt_sendrecv_lock);
		fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
		if (fd < 0) {
			pthread_mutex_lock(&rt_sendrecv_lock);
			/* shut down: for good, or to listen at other addresses */
			if (core->listener == listener) {
				close(listener);
				core->listener = -1;
			}
			pthread_cond_broadcast(&rt_sendrecv_changed);
			pthread_mutex_unlock(&rt_sendrecv_lock);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		welcome(core, fd, from.sin_addr);
	}
}

static int open_listener(uint32_t core, bool any)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port_of(core)),
		.sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (const struct sockaddr *)&at, sizeof(at)) && !listen(fd, RT_PARKED))
		return fd;
	close(fd);
	return -1;
}

NRT_STATUS rt_listen_for(struct rt_endpoint *core, struct in_addr peer)
{
	const bool any = ntohl(peer.s_addr) >> 24 != IN_LOOPBACKNET;

	if (core->listener >= 0 && (core->any || !any))
		return NRT_SUCCESS;
	if (core->listener >= 0) {
		shutdown(core->listener, SHUT_RDWR);
		while (core->listener >= 0)
			pthread_cond_wait(&rt_sendrecv_changed, &rt_sendrecv_lock);
	}
	core->any = any;
	core->listener = open_listener(core->core, any);
	if (core->listener < 0)
		return rt_fail(NRT_FAILURE, "NRT", "port %u: %s", port_of(core->core),
			       strerror(errno));
	pthread_cond_broadcast(&rt_sendrecv_changed);
	return NRT_SUCCESS;
}
