// SPDX-License-Identifier: MIT
/* Owners, and what they let others do. */
#include "access.h"

#include <unistd.h>

#include "log.h"

/* Root and the daemon's own user could end the daemon, and with it everything */
static bool rules(const struct rtd_peer *peer)
{
	return peer->local && (!peer->uid || peer->uid == geteuid());
}

static bool may_as_owner(const struct rtd_peer *peer, const struct rtd_owner *owner)
{
	return rules(peer) || rtd_peer_same(peer, &owner->peer);
}

bool rtd_may_eg(const struct rtd_peer *peer, const struct rtd_eg *eg, enum rtd_act act)
{
	enum rtd_sharing needs = act == RTD_USE ? RTD_SHARE_INFER : RTD_SHARE_ALL;

	return eg->sharing >= needs || may_as_owner(peer, &eg->owner);
}

/* Who shares a group for everything has others' models in it, and may empty it */
bool rtd_may_model(const struct rtd_peer *peer, const struct rtd_model *model, enum rtd_act act)
{
	return rtd_may_eg(peer, model->eg, act) || may_as_owner(peer, &model->owner);
}

static int refuse(const char *what, uint32_t id, const struct rtd_owner *owner, enum rtd_act act,
		  struct rtd_err *err)
{
	const char *rest = act == RTD_USE ? "does not share it" : "alone controls it";

	if (!owner->peer.local)
		return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR",
				"%s %u belongs to the clients over TCP, who %s", what, id,
				act == RTD_USE ? "do not share it" : "alone control it");
	return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR",
			"%s %u belongs to another user, uid %u, who %s", what, id,
			(unsigned int)owner->peer.uid, rest);
}

int rtd_access_model(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		     struct rtd_err *err)
{
	struct rtd_model *model;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, id);
	if (model && !rtd_may_model(peer, model, act))
		code = refuse("model", id, &model->owner, act, err);
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

/* Locked */
static struct rtd_eg *find_eg(struct rtd *rtd, uint32_t id)
{
	struct rtd_eg *eg;

	TAILQ_FOREACH(eg, &rtd->egs, link)
		if (eg->id == id)
			return eg;
	return NULL;
}

int rtd_access_eg(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		  struct rtd_err *err)
{
	struct rtd_eg *eg;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	eg = find_eg(rtd, id);
	if (eg && !rtd_may_eg(peer, eg, act))
		code = refuse("group", id, &eg->owner, act, err);
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

int rtd_eg_share(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id,
		 enum rtd_sharing sharing, struct rtd_err *err)
{
	struct rtd_eg *eg;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	eg = find_eg(rtd, id);
	if (!eg)
		code = rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find group: %u", id);
	else if (!may_as_owner(peer, &eg->owner))
		code = refuse("group", id, &eg->owner, RTD_CONTROL, err);
	else
		eg->sharing = sharing;
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

/* ---- unload_all */

static uint32_t next_model(struct rtd *rtd, const struct rtd_peer *peer)
{
	struct rtd_model *model;
	uint32_t id = 0;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(model, &rtd->models, link)
		if (!rtd_may_eg(peer, model->eg, RTD_CONTROL) &&
		    rtd_may_model(peer, model, RTD_CONTROL))
			id = model->id;
	pthread_mutex_unlock(&rtd->lock);
	return id;
}

static uint32_t next_eg(struct rtd *rtd, const struct rtd_peer *peer)
{
	struct rtd_eg *eg;
	uint32_t id = 0;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(eg, &rtd->egs, link)
		if (rtd_may_eg(peer, eg, RTD_CONTROL))
			id = eg->id;
	pthread_mutex_unlock(&rtd->lock);
	return id;
}

/* One after the other, until none is left: others may come while one goes, or be quicker */
int rtd_unload_own(struct rtd *rtd, const struct rtd_peer *peer, struct rtd_err *err)
{
	uint32_t id;

	while ((id = next_model(rtd, peer))) {
		*err = (struct rtd_err){ 0 };
		if (rtd_model_unload(rtd, id, err) && err->code != NERR_INVALID_HANDLE)
			return err->code;
	}
	while ((id = next_eg(rtd, peer))) {
		*err = (struct rtd_err){ 0 };
		if (rtd_eg_destroy(rtd, id, true, err) && err->code != NERR_INVALID_HANDLE)
			return err->code;
	}
	*err = (struct rtd_err){ 0 };
	return NERR_OK;
}
