/* SPDX-License-Identifier: MIT */
/*
 * Debug streams: one reader a core, told by an event descriptor that counts the events of its
 * stream. What custom operators print goes to the log, so nothing is put into a
 * stream; a reader finds it empty.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nrt/ndebug_stream.h"
#include "rt_context.h"
#include "rt_log.h"

#define STREAMS 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the streams */
static int stream[STREAMS]; /* the reader's descriptor + 1; 0: there is none */

EXPORT NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!stream_fd || logical_nc_idx < 0 || logical_nc_idx >= STREAMS ||
	    !rt_core((uint32_t)logical_nc_idx))
		return rt_fail(NRT_INVALID, "NRT", "core %d of %u", logical_nc_idx, rt.ncores);
	pthread_mutex_lock(&lock);
	if (stream[logical_nc_idx]) {
		status = rt_fail(NRT_INVALID, "NRT", "the stream of core %d has a reader",
				 logical_nc_idx);
	} else {
		*stream_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
		if (*stream_fd < 0)
			status = rt_fail(NRT_RESOURCE, "NRT", "no descriptor: %s", strerror(errno));
		else
			stream[logical_nc_idx] = *stream_fd + 1;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* The stream of a reader's descriptor; -1: none. The lock is held. */
static int find(int fd)
{
	for (int i = 0; fd >= 0 && i < STREAMS; i++)
		if (stream[i] == fd + 1)
			return i;
	return -1;
}

EXPORT void nrt_debug_client_connect_close(int stream_fd)
{
	int i;

	pthread_mutex_lock(&lock);
	i = find(stream_fd);
	if (i >= 0) {
		stream[i] = 0;
		close(stream_fd);
	}
	pthread_mutex_unlock(&lock);
}

EXPORT NRT_STATUS nrt_debug_client_read_one_event(int stream_fd,
						  ndebug_stream_event_header_t *header,
						  void **payload)
{
	RT_ENTER(status);
	int i;

	if (status)
		return status;
	pthread_mutex_lock(&lock);
	i = find(stream_fd);
	pthread_mutex_unlock(&lock);
	if (i < 0)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "descriptor %d is no stream", stream_fd);
	if (!header || !payload)
		return rt_fail(NRT_INVALID, "NRT", "no place for the event");
	*header = (ndebug_stream_event_header_t){ 0 };
	*payload = NULL;
	return rt_absent(NRT_QUEUE_EMPTY, "what custom operators print goes to the log");
}
