// SPDX-License-Identifier: MIT
/*
 * What happens to groups and models, for clients that watch: a ring of the last events, and a
 * thread that tells each watcher those it may see. A watcher that is told asks again when it is
 * ready, so nothing piles up for one that does not read; what it misses is counted.
 */
#include <errno.h>
#include <time.h>

#include "rtd.h"

#define LOOK_MS 1000 /* between two looks whether watchers' clients are still there */

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void rtd_event(struct rtd *rtd, enum rtd_event_kind kind, const struct rtd_eg *eg,
	       const struct rtd_model *model)
{
	struct rtd_event *event = &rtd->events[rtd->next_event % RTD_EVENTS];

	*event = (struct rtd_event){
		.number = rtd->next_event++,
		.time_ns = wall_ns(),
		.kind = kind,
		.eg = eg->id,
		.model = model ? model->id : 0,
		.owner = eg->owner.peer,
		.model_owner = model ? model->owner.peer : eg->owner.peer,
		.shared = eg->sharing >= RTD_SHARE_INFER,
	};
	pthread_cond_signal(&rtd->happened);
}

static bool may_see(const struct rtd_peer *peer, const struct rtd_event *event)
{
	return event->shared || rtd_peer_rules(peer) || rtd_peer_same(peer, &event->owner) ||
	       rtd_peer_same(peer, &event->model_owner);
}

/* With the lock held: the next ones for a watcher; *lost of them were overwritten. */
static unsigned int collect(struct rtd *rtd, struct rtd_watcher *watcher,
			    struct rtd_event events[RTD_EVENT_BATCH], uint64_t *lost)
{
	uint64_t oldest = rtd->next_event > RTD_EVENTS ? rtd->next_event - RTD_EVENTS : 1;
	unsigned int n = 0;

	*lost = 0;
	if (watcher->next < oldest) {
		*lost = oldest - watcher->next;
		watcher->next = oldest;
	}
	while (watcher->next < rtd->next_event && n < RTD_EVENT_BATCH) {
		const struct rtd_event *event = &rtd->events[watcher->next++ % RTD_EVENTS];

		if (may_see(&watcher->peer, event))
			events[n++] = *event;
	}
	return n;
}

/* With the lock held on entry and on return. Returns whether a watcher was told. */
static bool tell_one(struct rtd *rtd)
{
	struct rtd_event events[RTD_EVENT_BATCH];
	struct rtd_watcher *watcher;
	unsigned int n = 0;
	uint64_t lost = 0;

	TAILQ_FOREACH(watcher, &rtd->watchers, link) {
		n = collect(rtd, watcher, events, &lost);
		if (n || lost || !rtd->events_run || watcher->gone(watcher->arg))
			break;
	}
	if (!watcher)
		return false;
	TAILQ_REMOVE(&rtd->watchers, watcher, link);
	pthread_mutex_unlock(&rtd->lock);
	watcher->told(watcher, events, n, lost);
	pthread_mutex_lock(&rtd->lock);
	return true;
}

static void *events_thread(void *arg)
{
	struct rtd *rtd = arg;
	struct timespec until;

	pthread_mutex_lock(&rtd->lock);
	while (rtd->events_run || !TAILQ_EMPTY(&rtd->watchers)) {
		if (tell_one(rtd))
			continue;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += LOOK_MS / 1000;
		/* who watches may have left; without watchers nobody is looked after */
		if (TAILQ_EMPTY(&rtd->watchers))
			pthread_cond_wait(&rtd->happened, &rtd->lock);
		else
			pthread_cond_timedwait(&rtd->happened, &rtd->lock, &until);
	}
	pthread_mutex_unlock(&rtd->lock);
	return NULL;
}

int rtd_events_start(struct rtd *rtd)
{
	int err;

	rtd->events_run = true;
	err = pthread_create(&rtd->events_thread, NULL, events_thread, rtd);
	if (err)
		rtd->events_run = false;
	return -err;
}

void rtd_events_stop(struct rtd *rtd)
{
	bool ran;

	pthread_mutex_lock(&rtd->lock);
	ran = rtd->events_run;
	rtd->events_run = false;
	pthread_cond_signal(&rtd->happened);
	pthread_mutex_unlock(&rtd->lock);
	if (ran)
		pthread_join(rtd->events_thread, NULL);
}

uint64_t rtd_events_next(struct rtd *rtd)
{
	uint64_t next;

	pthread_mutex_lock(&rtd->lock);
	next = rtd->next_event;
	pthread_mutex_unlock(&rtd->lock);
	return next;
}

void rtd_events_watch(struct rtd *rtd, struct rtd_watcher *watcher)
{
	bool run;

	pthread_mutex_lock(&rtd->lock);
	run = rtd->events_run;
	if (run) {
		TAILQ_INSERT_TAIL(&rtd->watchers, watcher, link);
		pthread_cond_signal(&rtd->happened);
	}
	pthread_mutex_unlock(&rtd->lock);
	if (!run)
		watcher->told(watcher, NULL, 0, 0);
}
