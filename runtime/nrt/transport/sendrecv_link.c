/* SPDX-License-Identifier: MIT */
/*
 * Connections between cores. Who connects says which core it is and which it wants
 * (sendrecv_listen.c); the connection begins when that core accepts the peer. A communicator's
 * thread makes the connection and then carries out its requests in order.
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

#define CONNECT_TRY_MS 5000 /* for one attempt */
#define PATIENCE_MS 30000 /* of a peer that stops in the middle */
#define RETRY_MS 50
#define CHUNK (1u << 20)

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
		ssize_t n;

		if (!ready(fd, POLLOUT))
			return false;
		n = send(fd, buf, size, MSG_NOSIGNAL);
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
		ssize_t n;

		if (!ready(fd, POLLIN))
			return false;
		n = recv(fd, buf, size, 0);
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

	while (rt_sendrecv_ms() < deadline && !closing(comm))
		if (poll(&p, 1, RETRY_MS) > 0)
			return recv(fd, &accepted, 1, 0) == 1 && accepted == 1;
	return false;
}

/* The connection is there: 0; else it failed, took too long, or is not wanted any more. */
static int wait_connected(struct nrt_async_sendrecv_comm *comm, int fd)
{
	int64_t deadline = rt_sendrecv_ms() + CONNECT_TRY_MS;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int err = 0;

	while (rt_sendrecv_ms() < deadline && !closing(comm))
		if (poll(&p, 1, RETRY_MS) > 0)
			return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -1 : -err;
	return -ETIMEDOUT;
}

static int dial(struct nrt_async_sendrecv_comm *comm, uint16_t port, int64_t deadline)
{
	const struct rt_hello hello = { RT_HELLO_MAGIC, comm->core->core, comm->peer_core, 0 };
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = comm->peer,
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	bool begun;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	begun = !connect(fd, (struct sockaddr *)&to, sizeof(to)) || errno == EINPROGRESS;
	if (begun && !wait_connected(comm, fd) && put(fd, &hello, sizeof(hello)) &&
	    wait_accepted(comm, fd, deadline))
		return fd;
	close(fd);
	return -1;
}

/* Until the peer takes the connection; its core may not listen yet. */
static bool connect_sender(struct nrt_async_sendrecv_comm *comm, int64_t deadline)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000 };

	while (rt_sendrecv_ms() < deadline && !closing(comm)) {
		int fd = dial(comm, rt_sendrecv_port(comm->peer_core), deadline);

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
	int64_t left = deadline - rt_sendrecv_ms();

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
	int64_t deadline = rt_sendrecv_ms() + RT_CONNECT_MS;
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
