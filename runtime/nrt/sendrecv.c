/* SPDX-License-Identifier: MIT */
/*
 * Tensors between cores, of this process, of others and of other hosts, by TCP. A core listens at
 * the bootstrap port plus its number in the machine, at the loopback address until it is to accept
 * a peer of another host. Who connects says which core it is and which it wants; the connection
 * begins when that core accepts the peer. A communicator has a thread, which makes the connection
 * and then carries out its requests in order.
 *
 * One lock protects everything here but the bytes that a thread moves; every thread's work happens
 * outside it. Handles that are in no list are refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nrt/nrt_async_sendrecv.h"
#include "rt_async.h"
#include "rt_log.h"
#include "rt_sendrecv.h"

#define COMMUNICATORS 64 /* of a core */
#define REQUESTS 128 /* of a communicator */
#define PARKED 64 /* connections that nobody accepted yet */
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
	struct endpoint *core;
	bool sends, connected, ended; /* ended: the thread is about to return */
	NRT_STATUS status; /* why it ended */
	struct in_addr peer;
	uint32_t peer_core;
	int fd;
	pthread_t thread;
	nrt_async_sendrecv_request_t *first, **last; /* to be carried out */
	unsigned int pending; /* requests that were not tested as done */
};

struct parked {
	struct in_addr peer;
	uint32_t from;
	int fd; /* -1: free */
};

struct endpoint {
	struct endpoint *next;
	uint32_t core; /* in the machine */
	int listener; /* -1: none yet */
	bool any; /* it listens at all addresses */
	bool closing;
	pthread_t thread;
	unsigned int communicators;
	struct parked parked[PARKED];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct endpoint *endpoints;
static struct nrt_async_sendrecv_comm *comms;
static nrt_async_sendrecv_request_t *requests;
static uint32_t failed_core = UINT32_MAX; /* its last close found something open */

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

	pthread_mutex_lock(&lock);
	is = comm->core->closing;
	pthread_mutex_unlock(&lock);
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
			pthread_mutex_lock(&lock);
			comm->fd = fd;
			pthread_mutex_unlock(&lock);
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

	for (unsigned int i = 0; i < PARKED; i++) {
		struct parked *p = &comm->core->parked[i];

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
	pthread_mutex_lock(&lock);
	while (!(taken = take_parked(comm)) && !comm->core->closing)
		if (pthread_cond_timedwait(&changed, &lock, &ts) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&lock);
	return taken && put(comm->fd, &accepted, 1);
}

/* Carries out what is queued; the lock is held except while bytes move. */
static void serve(struct nrt_async_sendrecv_comm *comm, void *chunk)
{
	while (!comm->core->closing) {
		nrt_async_sendrecv_request_t *r = comm->first;
		NRT_STATUS status;

		if (!r) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		pthread_mutex_unlock(&lock);
		rt_details_clear();
		status = comm->sends ? send_one(comm->fd, r, chunk) : recv_one(comm->fd, r, chunk);
		rt_tensor_pending(r->tensor, false);
		pthread_mutex_lock(&lock);
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

static void *comm_work(void *arg)
{
	struct nrt_async_sendrecv_comm *comm = arg;
	int64_t deadline = now_ms() + CONNECT_S * 1000;
	bool connected =
		comm->sends ? connect_sender(comm, deadline) : connect_receiver(comm, deadline);
	void *chunk = connected ? malloc(CHUNK) : NULL;

	pthread_mutex_lock(&lock);
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
	pthread_mutex_unlock(&lock);
	free(chunk);
	return NULL;
}

/* Listeners */

/* Parks a connection whose peer says who it is and wants this core. */
static void welcome(struct endpoint *core, int fd, struct in_addr peer)
{
	struct parked *free_place = NULL;
	struct hello hello;

	if (!get(fd, &hello, sizeof(hello)) || hello.magic != MAGIC || hello.to != core->core ||
	    hello.zero) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < PARKED && !free_place; i++)
		if (core->parked[i].fd < 0)
			free_place = &core->parked[i];
	if (free_place)
		*free_place = (struct parked){ peer, hello.from, fd };
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (!free_place)
		close(fd);
}

static void *listen_work(void *arg)
{
	struct endpoint *core = arg;

	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		int fd, listener, one = 1;

		pthread_mutex_lock(&lock);
		while (core->listener < 0 && !core->closing)
			pthread_cond_wait(&changed, &lock);
		listener = core->listener;
		if (core->closing) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		pthread_mutex_unlock(&lock);
		fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);
		if (fd < 0) {
			pthread_mutex_lock(&lock);
			/* shut down: for good, or to listen at other addresses */
			if (core->listener == listener) {
				close(listener);
				core->listener = -1;
			}
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&lock);
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
	if (!bind(fd, (const struct sockaddr *)&at, sizeof(at)) && !listen(fd, PARKED))
		return fd;
	close(fd);
	return -1;
}

/* With the lock held: listens where the peer can reach it. */
static NRT_STATUS listen_for(struct endpoint *core, struct in_addr peer)
{
	const bool any = ntohl(peer.s_addr) >> 24 != IN_LOOPBACKNET;

	if (core->listener >= 0 && (core->any || !any))
		return NRT_SUCCESS;
	if (core->listener >= 0) {
		shutdown(core->listener, SHUT_RDWR);
		while (core->listener >= 0)
			pthread_cond_wait(&changed, &lock);
	}
	core->any = any;
	core->listener = open_listener(core->core, any);
	if (core->listener < 0)
		return rt_fail(NRT_FAILURE, "NRT", "port %u: %s", port_of(core->core),
			       strerror(errno));
	pthread_cond_broadcast(&changed);
	return NRT_SUCCESS;
}

/* Cores */

static struct endpoint *endpoint_of(int core)
{
	struct endpoint *e;

	for (e = endpoints; e && (core < 0 || e->core != (uint32_t)core); e = e->next)
		;
	return e && !e->closing ? e : NULL;
}

static int thread_start(pthread_t *thread, void *(*work)(void *), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

EXPORT NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num)
{
	rt_details_clear();
	if (!num)
		return rt_fail(NRT_FAILURE, "NRT", "no place for the number");
	*num = COMMUNICATORS;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num)
{
	rt_details_clear();
	if (!num)
		return rt_fail(NRT_FAILURE, "NRT", "no place for the number");
	*num = REQUESTS;
	return NRT_SUCCESS;
}

/* True if the core of the machine is one of this process's */
static bool own_core(int lnc)
{
	for (uint32_t i = 0; i < rt.ncores; i++)
		if (lnc >= 0 && rt.cores[i].global / rt.lnc == (uint32_t)lnc)
			return true;
	return false;
}

EXPORT NRT_STATUS nrt_async_sendrecv_init(int lnc)
{
	RT_ENTER(status);
	struct endpoint *e;

	if (status)
		return status;
	if (!own_core(lnc))
		return rt_fail(NRT_FAILURE, "NRT", "core %d is not this process's", lnc);
	e = calloc(1, sizeof(*e));
	if (!e)
		return rt_fail(NRT_FAILURE, "NRT", "out of memory");
	e->core = (uint32_t)lnc;
	e->listener = -1;
	for (unsigned int i = 0; i < PARKED; i++)
		e->parked[i].fd = -1;
	pthread_mutex_lock(&lock);
	if (endpoint_of(lnc) || failed_core == (uint32_t)lnc)
		status = rt_fail(NRT_FAILURE, "NRT", "core %d is in use, or was not closed well",
				 lnc);
	else if (thread_start(&e->thread, listen_work, e))
		status = rt_fail(NRT_FAILURE, "NRT", "no thread");
	if (!status) {
		e->next = endpoints;
		endpoints = e;
	}
	pthread_mutex_unlock(&lock);
	if (status)
		free(e);
	return status;
}

/* Ends the core's threads; true if nothing was under way. The lock is held, and is given up. */
static bool endpoint_end(struct endpoint *e)
{
	bool clean = true;

	e->closing = true;
	if (e->listener >= 0)
		shutdown(e->listener, SHUT_RDWR);
	for (struct nrt_async_sendrecv_comm *c = comms; c; c = c->next) {
		if (c->core != e)
			continue;
		clean &= c->connected && !c->first;
		if (c->fd >= 0)
			shutdown(c->fd, SHUT_RDWR);
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(e->thread, NULL);
	return clean;
}

static void comms_free(const struct endpoint *e)
{
	struct nrt_async_sendrecv_comm **at = &comms, *c;

	while ((c = *at)) {
		nrt_async_sendrecv_request_t **r = &requests, *gone;

		if (c->core != e) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		pthread_mutex_unlock(&lock);
		pthread_join(c->thread, NULL);
		pthread_mutex_lock(&lock);
		while ((gone = *r)) {
			if (gone->comm != c) {
				r = &gone->next_all;
				continue;
			}
			*r = gone->next_all;
			free(gone);
		}
		if (c->fd >= 0)
			close(c->fd);
		free(c);
		at = &comms; /* the list may have changed meanwhile */
	}
}

static void endpoint_free(struct endpoint *e)
{
	struct endpoint **at;

	comms_free(e);
	for (at = &endpoints; *at != e; at = &(*at)->next)
		;
	*at = e->next;
	for (unsigned int i = 0; i < PARKED; i++)
		if (e->parked[i].fd >= 0)
			close(e->parked[i].fd);
	if (e->listener >= 0)
		close(e->listener);
	free(e);
}

EXPORT NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
	RT_ENTER(status);
	struct endpoint *e;
	bool clean;

	if (status)
		return status;
	pthread_mutex_lock(&lock);
	e = endpoint_of(lnc);
	if (!e) {
		pthread_mutex_unlock(&lock);
		return rt_fail(NRT_FAILURE, "NRT", "core %d was not initialized", lnc);
	}
	clean = endpoint_end(e);
	pthread_mutex_lock(&lock);
	endpoint_free(e);
	if (!clean)
		failed_core = (uint32_t)lnc;
	pthread_mutex_unlock(&lock);
	return clean ? NRT_SUCCESS
		     : rt_fail(NRT_FAILURE, "NRT",
			       "core %d: a communicator was not connected, or requests were under "
			       "way",
			       lnc);
}

void rt_sendrecv_close(void)
{
	pthread_mutex_lock(&lock);
	while (endpoints && !endpoints->closing) {
		struct endpoint *e = endpoints;

		endpoint_end(e);
		pthread_mutex_lock(&lock);
		endpoint_free(e);
	}
	failed_core = UINT32_MAX;
	pthread_mutex_unlock(&lock);
}

/* With the lock held */
static NRT_STATUS comm_start(struct nrt_async_sendrecv_comm *comm, int lnc)
{
	NRT_STATUS status;

	comm->core = endpoint_of(lnc);
	if (!comm->core)
		return rt_fail(NRT_FAILURE, "NRT", "core %d was not initialized", lnc);
	if (comm->core->communicators == COMMUNICATORS)
		return rt_fail(NRT_RESOURCE, "NRT", "core %d has %d communicators", lnc,
			       COMMUNICATORS);
	status = comm->sends ? NRT_SUCCESS : listen_for(comm->core, comm->peer);
	if (status)
		return status;
	if (thread_start(&comm->thread, comm_work, comm))
		return rt_fail(NRT_FAILURE, "NRT", "no thread");
	comm->core->communicators++;
	comm->next = comms;
	comms = comm;
	return NRT_SUCCESS;
}

static NRT_STATUS comm_new(const char *peer_ip, int peer_lnc, int lnc, bool sends,
			   nrt_async_sendrecv_comm_t **result)
{
	RT_ENTER(status);
	struct nrt_async_sendrecv_comm *comm;
	struct in_addr peer;

	if (status)
		return status;
	if (!result || !peer_ip || peer_lnc < 0 || inet_pton(AF_INET, peer_ip, &peer) != 1)
		return rt_fail(NRT_FAILURE, "NRT", "peer '%s' core %d", peer_ip ? peer_ip : "",
			       peer_lnc);
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return rt_fail(NRT_FAILURE, "NRT", "out of memory");
	comm->sends = sends;
	comm->peer = peer;
	comm->peer_core = (uint32_t)peer_lnc;
	comm->fd = -1;
	comm->last = &comm->first;
	pthread_mutex_lock(&lock);
	status = comm_start(comm, lnc);
	pthread_mutex_unlock(&lock);
	if (status)
		free(comm);
	else
		*result = comm;
	return status;
}

EXPORT NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
					     nrt_async_sendrecv_comm_t **send_comm)
{
	return comm_new(peer_ip, peer_lnc, lnc, true, send_comm);
}

EXPORT NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
					    nrt_async_sendrecv_comm_t **recv_comm)
{
	return comm_new(peer_ip, peer_lnc, lnc, false, recv_comm);
}

/* With the lock held: a communicator that is open */
static bool known(const nrt_async_sendrecv_comm_t *comm)
{
	const nrt_async_sendrecv_comm_t *c;

	for (c = comms; c && c != comm; c = c->next)
		;
	return c && !c->core->closing;
}

EXPORT NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!done)
		return rt_fail(NRT_FAILURE, "NRT", "no place for the answer");
	*done = false;
	pthread_mutex_lock(&lock);
	if (!known(comm))
		status = rt_fail(NRT_INVALID_HANDLE, "NRT", "no communicator");
	else if (comm->ended)
		status = rt_fail(comm->status, "NRT", "the connection broke, or was never made");
	else
		*done = comm->connected;
	pthread_mutex_unlock(&lock);
	return status;
}

static NRT_STATUS request_new(nrt_tensor_t *tensor, size_t offset, size_t length,
			      nrt_async_sendrecv_comm_t *comm, bool sends,
			      nrt_async_sendrecv_request_t **result)
{
	RT_ENTER(status);
	nrt_async_sendrecv_request_t *r;

	if (!status)
		status = rt_tensor_check(tensor, offset, length);
	if (!status && !result)
		status = rt_fail(NRT_FAILURE, "NRT", "no place for the request");
	if (status)
		return status;
	r = calloc(1, sizeof(*r));
	if (!r)
		return rt_fail(NRT_FAILURE, "NRT", "out of memory");
	*r = (nrt_async_sendrecv_request_t){
		.comm = comm, .tensor = tensor, .offset = offset, .length = length
	};
	pthread_mutex_lock(&lock);
	if (!known(comm) || comm->sends != sends)
		status = rt_fail(NRT_INVALID_HANDLE, "NRT", "no communicator of this direction");
	else if (!comm->connected || comm->ended)
		status = rt_fail(NRT_FAILURE, "NRT", "the communicator is not connected");
	else if (comm->pending == REQUESTS)
		status = rt_fail(NRT_RESOURCE, "NRT", "%d requests are pending", REQUESTS);
	if (!status) {
		rt_tensor_pending(tensor, true);
		comm->pending++;
		*comm->last = r;
		comm->last = &r->next;
		r->next_all = requests;
		requests = r;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	if (status)
		free(r);
	else
		*result = r;
	return status;
}

EXPORT NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
						 nrt_async_sendrecv_comm_t *send_comm,
						 nrt_async_sendrecv_request_t **request)
{
	return request_new(tensor, offset, length, send_comm, true, request);
}

EXPORT NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
						 nrt_async_sendrecv_comm_t *recv_comm,
						 nrt_async_sendrecv_request_t **request)
{
	return request_new(tensor, offset, length, recv_comm, false, request);
}

/* With the lock held: takes a request that is done out of the list. */
static nrt_async_sendrecv_request_t **find(nrt_async_sendrecv_request_t *request)
{
	nrt_async_sendrecv_request_t **at;

	for (at = &requests; *at && *at != request; at = &(*at)->next_all)
		;
	return *at ? at : NULL;
}

EXPORT NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
						  size_t *size)
{
	nrt_async_sendrecv_request_t **at, *gone = NULL;
	RT_ENTER(status);

	if (status)
		return status;
	if (!done || !size)
		return rt_fail(NRT_FAILURE, "NRT", "no place for the answer");
	*done = false;
	*size = 0;
	pthread_mutex_lock(&lock);
	at = find(request);
	if (!at) {
		status = rt_fail(NRT_INVALID_HANDLE, "NRT", "no request");
	} else if (request->done) {
		gone = request;
		*at = request->next_all;
		request->comm->pending--;
		*done = !request->status;
		*size = request->moved;
		if (request->status)
			status = rt_fail(request->status, "NRT", "the transfer failed");
	}
	pthread_mutex_unlock(&lock);
	free(gone);
	return status;
}

/* A request is done when its bytes are in the tensor: there is nothing left to flush. */
EXPORT NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
	RT_ENTER(status);

	if (status)
		return status;
	pthread_mutex_lock(&lock);
	if (!endpoint_of(lnc))
		status = rt_fail(NRT_FAILURE, "NRT", "core %d was not initialized", lnc);
	pthread_mutex_unlock(&lock);
	return status;
}
