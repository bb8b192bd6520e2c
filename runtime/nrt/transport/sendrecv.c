/* SPDX-License-Identifier: MIT */
/*
 * Tensors between cores, of this process, of others and of other hosts, by TCP: which cores take
 * part, their communicators and requests. Handles that are in no list are refused.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rt_sendrecv.h"

#define COMMUNICATORS 64 /* of a core */
#define REQUESTS 128 /* of a communicator */

static struct rt_endpoint *endpoints;
static struct nrt_async_sendrecv_comm *comms;
static nrt_async_sendrecv_request_t *requests;
static uint32_t failed_core = UINT32_MAX; /* its last close found something open */

/* Cores */

static struct rt_endpoint *endpoint_of(int core)
{
	struct rt_endpoint *e;

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
	struct rt_endpoint *e;

	if (status)
		return status;
	if (!own_core(lnc))
		return rt_fail(NRT_FAILURE, "NRT", "core %d is not this process's", lnc);
	e = calloc(1, sizeof(*e));
	if (!e)
		return rt_fail(NRT_FAILURE, "NRT", "out of memory");
	e->core = (uint32_t)lnc;
	e->listener = -1;
	for (unsigned int i = 0; i < RT_PARKED; i++)
		e->parked[i].fd = -1;
	pthread_mutex_lock(&rt_sendrecv_lock);
	if (endpoint_of(lnc) || failed_core == (uint32_t)lnc)
		status = rt_fail(NRT_FAILURE, "NRT", "core %d is in use, or was not closed well",
				 lnc);
	else if (thread_start(&e->thread, rt_listen_work, e))
		status = rt_fail(NRT_FAILURE, "NRT", "no thread");
	if (!status) {
		e->next = endpoints;
		endpoints = e;
	}
	pthread_mutex_unlock(&rt_sendrecv_lock);
	if (status)
		free(e);
	return status;
}

/* Ends the core's threads; true if nothing was under way. The lock is held, and is given up. */
static bool endpoint_end(struct rt_endpoint *e)
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
	pthread_cond_broadcast(&rt_sendrecv_changed);
	pthread_mutex_unlock(&rt_sendrecv_lock);
	pthread_join(e->thread, NULL);
	return clean;
}

static void comms_free(const struct rt_endpoint *e)
{
	struct nrt_async_sendrecv_comm **at = &comms, *c;

	while ((c = *at)) {
		nrt_async_sendrecv_request_t **r = &requests, *gone;

		if (c->core != e) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		pthread_mutex_unlock(&rt_sendrecv_lock);
		pthread_join(c->thread, NULL);
		pthread_mutex_lock(&rt_sendrecv_lock);
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

static void endpoint_free(struct rt_endpoint *e)
{
	struct rt_endpoint **at;

	comms_free(e);
	for (at = &endpoints; *at != e; at = &(*at)->next)
		;
	*at = e->next;
	for (unsigned int i = 0; i < RT_PARKED; i++)
		if (e->parked[i].fd >= 0)
			close(e->parked[i].fd);
	if (e->listener >= 0)
		close(e->listener);
	free(e);
}

EXPORT NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
	RT_ENTER(status);
	struct rt_endpoint *e;
	bool clean;

	if (status)
		return status;
	pthread_mutex_lock(&rt_sendrecv_lock);
	e = endpoint_of(lnc);
	if (!e) {
		pthread_mutex_unlock(&rt_sendrecv_lock);
		return rt_fail(NRT_FAILURE, "NRT", "core %d was not initialized", lnc);
	}
	clean = endpoint_end(e);
	pthread_mutex_lock(&rt_sendrecv_lock);
	endpoint_free(e);
	if (!clean)
		failed_core = (uint32_t)lnc;
	pthread_mutex_unlock(&rt_sendrecv_lock);
	return clean ? NRT_SUCCESS
		     : rt_fail(NRT_FAILURE, "NRT",
			       "core %d: a communicator was not connected, "
			       "or requests were under way",
			       lnc);
}

void rt_sendrecv_close(void)
{
	pthread_mutex_lock(&rt_sendrecv_lock);
	while (endpoints && !endpoints->closing) {
		struct rt_endpoint *e = endpoints;

		endpoint_end(e);
		pthread_mutex_lock(&rt_sendrecv_lock);
		endpoint_free(e);
	}
	failed_core = UINT32_MAX;
	pthread_mutex_unlock(&rt_sendrecv_lock);
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
	status = comm->sends ? NRT_SUCCESS : rt_listen_for(comm->core, comm->peer);
	if (status)
		return status;
	if (thread_start(&comm->thread, rt_comm_work, comm))
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
	pthread_mutex_lock(&rt_sendrecv_lock);
	status = comm_start(comm, lnc);
	pthread_mutex_unlock(&rt_sendrecv_lock);
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
	pthread_mutex_lock(&rt_sendrecv_lock);
	if (!known(comm))
		status = rt_fail(NRT_INVALID_HANDLE, "NRT", "no communicator");
	else if (comm->ended)
		status = rt_fail(comm->status, "NRT", "the connection broke, or was never made");
	else
		*done = comm->connected;
	pthread_mutex_unlock(&rt_sendrecv_lock);
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
	pthread_mutex_lock(&rt_sendrecv_lock);
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
		pthread_cond_broadcast(&rt_sendrecv_changed);
	}
	pthread_mutex_unlock(&rt_sendrecv_lock);
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
	pthread_mutex_lock(&rt_sendrecv_lock);
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
	pthread_mutex_unlock(&rt_sendrecv_lock);
	free(gone);
	return status;
}

/* A request is done when its bytes are in the tensor: there is nothing left to flush. */
EXPORT NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
	RT_ENTER(status);

	if (status)
		return status;
	pthread_mutex_lock(&rt_sendrecv_lock);
	if (!endpoint_of(lnc))
		status = rt_fail(NRT_FAILURE, "NRT", "core %d was not initialized", lnc);
	pthread_mutex_unlock(&rt_sendrecv_lock);
	return status;
}
