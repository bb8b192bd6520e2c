// SPDX-License-Identifier: MIT
/*
 * Events: not ready, then ready with an error or without, and that for ever. A handle is a
 * reference. Who waits sleeps on the event's condition; who wants to be called is called by the
 * thread that sets it, with no lock held, in the order in which they asked.
 */
#include <stdlib.h>

#include "pjrt.h"

struct waiter {
	struct waiter *next;
	PJRT_Event_OnReadyCallback call;
	void *arg;
};

struct PJRT_Event {
	atomic_int refs; /* 0: the one that is always ready */
	atomic_bool ready;
	pthread_mutex_t lock; /* of what follows, until it is ready */
	pthread_cond_t set;
	PJRT_Error *error;
	struct waiter *first, **last;
};

static PJRT_Event done = { .ready = true };

PJRT_Event *npj_event_done(void)
{
	return &done;
}

PJRT_Event *npj_event_new(void)
{
	PJRT_Event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->refs = 1;
	e->last = &e->first;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->set, NULL);
	return e;
}

PJRT_Event *npj_event_ref(PJRT_Event *e)
{
	if (e != &done)
		atomic_fetch_add(&e->refs, 1);
	return e;
}

void npj_event_unref(PJRT_Event *e)
{
	if (!e || e == &done || atomic_fetch_sub(&e->refs, 1) != 1)
		return;
	for (struct waiter *w = e->first, *next; w; w = next) {
		/* never set, as its owner gave it up: nobody will be called */
		next = w->next;
		free(w);
	}
	npj_error_free(e->error);
	pthread_cond_destroy(&e->set);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void npj_event_set(PJRT_Event *e, PJRT_Error *error)
{
	struct waiter *w;

	if (e == &done) {
		npj_error_free(error);
		return;
	}
	/* whom it calls may let go of it */
	npj_event_ref(e);
	pthread_mutex_lock(&e->lock);
	if (atomic_load(&e->ready)) {
		pthread_mutex_unlock(&e->lock);
		npj_error_free(error);
		npj_event_unref(e);
		return;
	}
	e->error = error;
	w = e->first;
	e->first = NULL;
	atomic_store(&e->ready, true);
	pthread_cond_broadcast(&e->set);
	pthread_mutex_unlock(&e->lock);
	while (w) {
		struct waiter *next = w->next;

		w->call(npj_error_copy(e->error), w->arg);
		free(w);
		w = next;
	}
	npj_event_unref(e);
}

bool npj_event_ready(PJRT_Event *e)
{
	return atomic_load(&e->ready);
}

const PJRT_Error *npj_event_wait(PJRT_Event *e)
{
	if (!npj_event_ready(e)) {
		pthread_mutex_lock(&e->lock);
		while (!atomic_load(&e->ready))
			pthread_cond_wait(&e->set, &e->lock);
		pthread_mutex_unlock(&e->lock);
	}
	return e->error;
}

PJRT_Error *npj_event_then(PJRT_Event *e, PJRT_Event_OnReadyCallback call, void *arg)
{
	struct waiter *w = NULL;

	if (!npj_event_ready(e)) {
		w = malloc(sizeof(*w));
		if (!w)
			return npj_no_memory();
		*w = (struct waiter){ .call = call, .arg = arg };
		pthread_mutex_lock(&e->lock);
		if (!atomic_load(&e->ready)) {
			*e->last = w;
			e->last = &w->next;
			pthread_mutex_unlock(&e->lock);
			return NULL;
		}
		pthread_mutex_unlock(&e->lock);
		free(w);
	}
	call(npj_error_copy(e->error), arg);
	return NULL;
}

PJRT_Error *npj_Event_Destroy(PJRT_Event_Destroy_Args *a)
{
	npj_event_unref(a->event);
	return NULL;
}

PJRT_Error *npj_Event_IsReady(PJRT_Event_IsReady_Args *a)
{
	NPJ_NEED(a->event, "event");
	a->is_ready = npj_event_ready(a->event);
	return NULL;
}

PJRT_Error *npj_Event_Error(PJRT_Event_Error_Args *a)
{
	NPJ_NEED(a->event, "event");
	if (!npj_event_ready(a->event))
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the event is not ready");
	return npj_error_copy(a->event->error);
}

PJRT_Error *npj_Event_Await(PJRT_Event_Await_Args *a)
{
	NPJ_NEED(a->event, "event");
	/* who would set it is a thread of the parent's */
	if (!npj_event_ready(a->event) && npj_forked())
		return npj_forked_error();
	return npj_error_copy(npj_event_wait(a->event));
}

PJRT_Error *npj_Event_OnReady(PJRT_Event_OnReady_Args *a)
{
	NPJ_NEED(a->event, "event");
	NPJ_NEED(a->callback, "callback");
	return npj_event_then(a->event, a->callback, a->user_arg);
}

PJRT_Error *npj_Event_Create(PJRT_Event_Create_Args *a)
{
	a->event = npj_event_new();
	return a->event ? NULL : npj_no_memory();
}

PJRT_Error *npj_Event_Set(PJRT_Event_Set_Args *a)
{
	PJRT_Error *error = NULL;

	NPJ_NEED(a->event, "event");
	if (npj_event_ready(a->event))
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the event is set already");
	if (a->error_code != PJRT_Error_Code_OK)
		error = npj_error_sized(a->error_code, a->error_message,
					a->error_message ? a->error_message_size : 0);
	npj_event_set(a->event, error);
	return NULL;
}
