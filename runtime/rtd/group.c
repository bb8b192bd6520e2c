// SPDX-License-Identifier: MIT
/* Core groups: contiguous cores, one running model, and the threads that execute */
#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "rtd.h"

/*
 * Finds the first free run of count cores, or the longest one for count 0. The list of groups is in
 * the order of their cores. Returns the number of cores found (0: none) and their start.
 */
static uint32_t find_cores(struct rtd *rtd, uint32_t count, uint32_t *start)
{
	uint32_t total = rtd_engine_nc_count(rtd->engine), from = 0, best = 0;
	struct rtd_eg *eg = TAILQ_FIRST(&rtd->egs);

	for (;;) {
		uint32_t end = eg ? eg->start : total;

		if (count && end - from >= count) {
			*start = from;
			return count;
		}
		if (!count && end - from > best) {
			best = end - from;
			*start = from;
		}
		if (!eg)
			return best;
		from = eg->start + eg->count;
		eg = TAILQ_NEXT(eg, link);
	}
}

static void eg_insert(struct rtd *rtd, struct rtd_eg *eg)
{
	struct rtd_eg *at;

	TAILQ_FOREACH(at, &rtd->egs, link) {
		if (at->start > eg->start) {
			TAILQ_INSERT_BEFORE(at, eg, link);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&rtd->egs, eg, link);
}

static struct rtd_eg *eg_new(const struct rtd_owner *owner, bool implicit, enum rtd_sharing sharing)
{
	struct rtd_eg *eg = calloc(1, sizeof(*eg));

	if (!eg)
		return NULL;
	eg->owner = *owner;
	eg->implicit = implicit;
	eg->sharing = sharing;
	eg->refs = 1; /* the caller has it */
	STAILQ_INIT(&eg->controls);
	pthread_cond_init(&eg->asked, NULL);
	pthread_cond_init(&eg->work, NULL);
	pthread_cond_init(&eg->idle, NULL);
	TAILQ_INIT(&eg->queue);
	TAILQ_INIT(&eg->ended);
	return eg;
}

int rtd_eg_create(struct rtd *rtd, uint32_t count, const struct rtd_owner *owner, bool implicit,
		  struct rtd_eg **out, struct rtd_err *err)
{
	struct rtd_eg *eg = eg_new(owner, implicit, rtd->config->sharing);
	uint32_t total = rtd_engine_nc_count(rtd->engine);
	int code = 0;

	if (!eg)
		return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");

	pthread_mutex_lock(&rtd->lock);
	if (count > total) {
		code = rtd_fail(err, NERR_RESOURCE_NC, "NMGR",
				"Requested number of NCs: "
				"%u exceeds the total available number: %u",
				count, total);
		goto fail;
	}

	if (rtd->closing || !rtd_session_live(rtd, owner->session)) {
		code = rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "the session has ended");
		goto fail;
	}

	eg->count = find_cores(rtd, count, &eg->start);
	if (!eg->count) {
		code = rtd_fail(err, NERR_RESOURCE_NC, "NMGR",
				"Not enough free NCs to allocate %u members group", count);
		goto fail;
	}

	eg->id = rtd->next_eg;
	if (rtd_control_start(rtd, eg)) {
		code = rtd_fail(err, NERR_RESOURCE, "NMGR", "no thread for the group");
		goto fail;
	}

	if (rtd_worker_start(rtd, eg)) {
		code = rtd_fail(err, NERR_RESOURCE, "NMGR", "no thread for the group");
		eg->dead = true;
		pthread_cond_signal(&eg->asked);
		goto fail;
	}

	rtd->next_eg++;
	eg->refs++; /* the list has it */
	eg_insert(rtd, eg);
	rtd_event(rtd, RTD_EVENT_EG_CREATED, eg, NULL);
	pthread_mutex_unlock(&rtd->lock);
	rtd_info("NMGR", "group %u: NCs %u to %u", eg->id, eg->start, eg->start + eg->count - 1);
	*out = eg;
	return NERR_OK;
fail:
	pthread_mutex_unlock(&rtd->lock);
	rtd_eg_put(rtd, eg);
	return code;
}

void rtd_eg_put(struct rtd *rtd, struct rtd_eg *eg)
{
	bool last;

	pthread_mutex_lock(&rtd->lock);
	last = !--eg->refs;
	pthread_mutex_unlock(&rtd->lock);
	if (last)
		rtd_eg_free(eg);
}

void rtd_eg_remove(struct rtd *rtd, struct rtd_eg *eg)
{
	pthread_mutex_lock(&rtd->lock);
	eg->dead = true;
	eg->end = true;
	TAILQ_REMOVE(&rtd->egs, eg, link);
	rtd_event(rtd, RTD_EVENT_EG_DESTROYED, eg, NULL);
	pthread_cond_broadcast(&eg->work);
	pthread_mutex_unlock(&rtd->lock);
	for (unsigned int i = 0; i < eg->nthreads; i++)
		pthread_join(eg->thread[i], NULL);
	rtd_info("NMGR", "group %u removed", eg->id);
	rtd_eg_put(rtd, eg);
}
