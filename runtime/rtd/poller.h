/* SPDX-License-Identifier: MIT */
/*
 * The threads that take events from gRPC's completion queue. Where several wait, the core wakes one
 * more for each event that it gives the first, which for few clients costs more than the call. So
 * for them one waits; another takes its place while it is held up, by its own account
 * (rtd_pollers_hold) or because an event takes it longer than a tick of the watchdog thread. For
 * many clients all do, if there is more than one processor. Owned by server.c.
 */
#ifndef RTD_POLLER_H
#define RTD_POLLER_H

#include <grpc/grpc.h>

struct rtd_pollers;

/*
 * At most count threads, 1 at least, and a watchdog; event is called for each event,
 * clients by that thread: how many have called since it was called last.
 * Returns 0 or a negative errno; some of the threads may be there all the same, else *pollers is
 * NULL. rtd_pollers_free is called after the queue was shut down, and waits for them.
 */
int rtd_pollers_new(grpc_completion_queue *cq, unsigned int count,
		    void (*event)(void *arg, const grpc_event *event),
		    unsigned int (*clients)(void *arg), void *arg, struct rtd_pollers **pollers);
/* In event: what follows may take long, so another thread takes events meanwhile. */
void rtd_pollers_hold(struct rtd_pollers *pollers);
void rtd_pollers_free(struct rtd_pollers *pollers);

#endif
