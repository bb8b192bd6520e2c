// SPDX-License-Identifier: MIT
/* Ownership, and what owners let others do */
#include "access.h"

#include <unistd.h>

#include "log.h"

static bool may_as_owner(const struct rtd_peer *peer, const struct rtd_owner *owner)
{
	return rtd_peer_rules(peer) || rtd_peer_same(peer, &owner->peer);
}

bool rtd_may_eg(const struct rtd_peer *peer, const struct rtd_eg *eg, enum rtd_act act)
{
	enum rtd_sharing needs = act == RTD_USE ? RTD_SHARE_INFER : RTD_SHARE_ALL;

	return eg->sharing >= needs || may_as_owner(peer, &eg->owner);
}

/*
 * The owner of a group that is shared for everything has others' models in it, and may unload them.
 */
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

int rtd_access_eg(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		  struct rtd_err *err)
{
	struct rtd_eg *eg;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	eg = rtd_eg_find(rtd, id);
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
	eg = rtd_eg_find(rtd, id);
	if (!eg)
		code = rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find group: %u", id);
	else if (!may_as_owner(peer, &eg->owner))
		code = refuse("group", id, &eg->owner, RTD_CONTROL, err);
	else
		eg->sharing = sharing;
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

int rtd_eg_seed(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, uint32_t seed,
		struct rtd_err *err)
{
	struct rtd_model *model;
	struct rtd_eg *eg;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	eg = rtd_eg_find(rtd, id);
	if (!eg) {
		code = rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find group: %u", id);
	} else if (!rtd_may_eg(peer, eg, RTD_CONTROL)) {
		code = refuse("group", id, &eg->owner, RTD_CONTROL, err);
	} else {
		eg->seed = seed;
		eg->seeded = true;
		TAILQ_FOREACH(model, &rtd->models, link)
			if (model->eg == eg)
				rtd_program_seed(model->program, seed);
	}
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

int rtd_adjust_transfers(struct rtd *rtd, const struct rtd_peer *peer, uint32_t count,
			 struct rtd_err *err)
{
	if (!rtd_peer_rules(peer))
		return rtd_fail(err, NERR_INVALID, "NMGR",
				"only root and uid %u may adjust transfers to %u",
				(unsigned int)geteuid(), count);
	pthread_mutex_lock(&rtd->lock);
	rtd->adjustment = count;
	pthread_mutex_unlock(&rtd->lock);
	return NERR_OK;
}

/* ---- unload_all */

static bool own_model(const struct rtd_model *model, const void *who)
{
	return rtd_may_model(who, model, RTD_CONTROL);
}

static bool own_eg(const struct rtd_eg *eg, const void *who)
{
	return rtd_may_eg(who, eg, RTD_CONTROL);
}

void rtd_unload_own(struct rtd *rtd, const struct rtd_peer *peer, rtd_done done, void *arg)
{
	const struct rtd_sweep own = { own_eg, own_model, peer };
	struct rtd_swept swept;

	rtd_sweep(rtd, &own, &swept, done, arg);
}
