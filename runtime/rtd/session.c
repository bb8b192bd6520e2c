// SPDX-License-Identifier: MIT
/*
 * Sessions: one client process's claim on what it made; the end of a session takes all of it away
 */
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

static bool session_eg(const struct rtd_eg *eg, const void *session)
{
	return eg->owner.session == ((const struct rtd_session *)session)->id;
}

static bool session_model(const struct rtd_model *model, const void *session)
{
	return model->owner.session == ((const struct rtd_session *)session)->id;
}

/*
 * The session leaves the list first: an object made in its name looks there again before it is
 * published.
 */
void rtd_session_close(struct rtd *rtd, struct rtd_session *session, rtd_done done, void *arg)
{
	const struct rtd_sweep its = { session_eg, session_model, session };
	struct rtd_swept swept;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_REMOVE(&rtd->sessions, session, link);
	pthread_mutex_unlock(&rtd->lock);

	rtd_shm_drop(rtd, session->id);
	rtd_quota_give(rtd->quota, &session->peer, RTD_QUOTA_SESSIONS, 1);
	rtd_sweep(rtd, &its, &swept, done, arg);
	if (swept.models || swept.egs)
		rtd_info("NRTD", "session of process %d ended: %u models and %u groups go",
			 (int)session->peer.pid, swept.models, swept.egs);
	free(session);
}
