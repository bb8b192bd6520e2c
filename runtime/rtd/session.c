// SPDX-License-Identifier: MIT
/* Sessions: one client process's claim on what it made; its end takes all of it away. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "log.h"
#include "rtd.h"

struct rtd_session *rtd_session_open(struct rtd *rtd, const struct rtd_peer *peer,
				     struct rtd_err *err)
{
	struct rtd_session *session;

	if (rtd_quota_claim(rtd->quota, peer, RTD_QUOTA_SESSIONS, 1, "no session", err))
		return NULL;
	session = calloc(1, sizeof(*session));
	if (!session) {
		rtd_quota_give(rtd->quota, peer, RTD_QUOTA_SESSIONS, 1);
		rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
		return NULL;
	}
	session->peer = *peer;
	session->peer.groups = NULL;
	session->peer.ngroups = 0;
	while (!session->id)
		if (getrandom(&session->id, sizeof(session->id), 0) != sizeof(session->id))
			session->id = rtd_now_ns();
	pthread_mutex_lock(&rtd->lock);
	TAILQ_INSERT_TAIL(&rtd->sessions, session, link);
	pthread_mutex_unlock(&rtd->lock);
	return session;
}

void rtd_session_name(struct rtd *rtd, struct rtd_session *session, const char *framework)
{
	pthread_mutex_lock(&rtd->lock);
	strncpy(session->framework, framework, sizeof(session->framework) - 1);
	rtd_text_ascii(session->framework);
	pthread_mutex_unlock(&rtd->lock);
	rtd_info("NRTD", "session of process %d: %s", (int)session->peer.pid, session->framework);
}

int rtd_session_check(struct rtd *rtd, const struct rtd_peer *peer, uint64_t id,
		      struct rtd_err *err)
{
	struct rtd_session *session;
	bool found = !id;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(session, &rtd->sessions, link)
		if (session->id == id && rtd_peer_same(&session->peer, peer))
			found = true;
	pthread_mutex_unlock(&rtd->lock);
	if (found)
		return NERR_OK;
	return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find session: %llu",
			(unsigned long long)id);
}

bool rtd_session_live(struct rtd *rtd, uint64_t id)
{
	struct rtd_session *session;

	if (!id)
		return true;
	TAILQ_FOREACH(session, &rtd->sessions, link)
		if (session->id == id)
			return true;
	return false;
}

static uint32_t session_model(struct rtd *rtd, uint64_t id)
{
	struct rtd_model *model;
	uint32_t found = 0;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(model, &rtd->models, link)
		if (model->owner.session == id)
			found = model->id;
	pthread_mutex_unlock(&rtd->lock);
	return found;
}

static uint32_t session_eg(struct rtd *rtd, uint64_t id)
{
	struct rtd_eg *eg;
	uint32_t found = 0;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(eg, &rtd->egs, link)
		if (eg->owner.session == id)
			found = eg->id;
	pthread_mutex_unlock(&rtd->lock);
	return found;
}

/* It leaves the list first: what is made in its name looks there again before it is published */
void rtd_session_close(struct rtd *rtd, struct rtd_session *session)
{
	unsigned int models = 0, groups = 0;
	struct rtd_err err = { 0 };
	uint32_t id;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_REMOVE(&rtd->sessions, session, link);
	pthread_mutex_unlock(&rtd->lock);

	for (; (id = session_model(rtd, session->id)); models++)
		rtd_model_unload(rtd, id, &err);
	for (; (id = session_eg(rtd, session->id)); groups++)
		rtd_eg_destroy(rtd, id, true, &err);
	rtd_shm_drop(rtd, session->id);
	if (models || groups)
		rtd_info("NRTD",
			 "session of process %d ended: %u models unloaded, %u groups removed",
			 (int)session->peer.pid, models, groups);
	rtd_quota_give(rtd->quota, &session->peer, RTD_QUOTA_SESSIONS, 1);
	free(session);
}
