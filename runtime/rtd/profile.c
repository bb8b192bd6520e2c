// SPDX-License-Identifier: MIT
/*
 * A profile of a model: each inference's times while it is made, and what its cores' engines did in
 * all. It is on the account of the client that began it, and ends with the model.
 */
#include <stdlib.h>
#include <time.h>

#include "rtd.h"

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Reads counters of cores, without the lock: they may be registers of a device. */
static int read_cores(uint32_t start, uint32_t count, struct rtd_profile *profile,
		      struct rtd_err *err)
{
	int code;

	profile->ncores = count < RTD_PROFILE_CORES ? count : RTD_PROFILE_CORES;
	for (unsigned int i = 0; i < profile->ncores; i++) {
		code = rtd_engine_core_counters(start + i, &profile->core[i]);
		if (code)
			return rtd_fail(err, code, "TDRV", "counters of VNC %u cannot be read",
					start + i);
	}
	return NERR_OK;
}

/* The cores of a model's group; NERR_INVALID_HANDLE without such a model */
static int find_cores(struct rtd *rtd, uint32_t id, uint32_t *start, uint32_t *count,
		      struct rtd_err *err)
{
	struct rtd_model *model;
	int code = NERR_OK;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, id);
	if (!model || model->dead) {
		code = rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u", id);
	} else {
		*start = model->eg->start;
		*count = model->eg->count;
	}
	pthread_mutex_unlock(&rtd->lock);
	return code;
}

/* Gives a model a profile, or takes it away with NULL. Returns what it had; *found: is it there? */
static struct rtd_profile *exchange(struct rtd *rtd, uint32_t id, struct rtd_profile *profile,
				    bool *found)
{
	struct rtd_profile *before = NULL;
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, id);
	*found = model && !model->dead;
	if (*found) {
		before = model->profile;
		model->profile = profile;
	}
	pthread_mutex_unlock(&rtd->lock);
	return before;
}

int rtd_profile_start(struct rtd *rtd, const struct rtd_peer *peer, uint32_t model,
		      struct rtd_err *err)
{
	struct rtd_profile *profile;
	uint32_t start = 0, count = 0;
	bool found;

	if (find_cores(rtd, model, &start, &count, err) ||
	    rtd_memory_claim(rtd, peer, sizeof(*profile), "a profile", err))
		return err->code;
	profile = calloc(1, sizeof(*profile));
	if (!profile) {
		rtd_quota_give(rtd->quota, peer, RTD_QUOTA_MEMORY, sizeof(*profile));
		return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
	}
	profile->peer = *peer;
	profile->peer.groups = NULL;
	profile->peer.ngroups = 0;
	profile->begun_ns = wall_ns();
	if (read_cores(start, count, profile, err)) {
		rtd_profile_free(rtd, profile);
		return err->code;
	}
	rtd_profile_free(rtd, exchange(rtd, model, profile, &found));
	if (found)
		return NERR_OK;
	rtd_profile_free(rtd, profile);
	return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u", model);
}

static void subtract(struct rtd_core_counters *before, const struct rtd_core_counters *now)
{
	for (unsigned int i = 0; i < now->nengines; i++) {
		struct rtd_engine_time *b = &before->engine[i];
		const struct rtd_engine_time *n = &now->engine[i];

		b->executed = n->executed - b->executed;
		b->busy = n->busy - b->busy;
		b->idle = n->idle - b->idle;
		b->wait = n->wait - b->wait;
	}
	before->macs = now->macs - before->macs;
}

int rtd_profile_stop(struct rtd *rtd, uint32_t model, struct rtd_profile **out, struct rtd_err *err)
{
	struct rtd_profile *profile, *now;
	uint32_t start = 0, count = 0;
	bool found;

	if (find_cores(rtd, model, &start, &count, err))
		return err->code;
	profile = exchange(rtd, model, NULL, &found);
	if (!profile)
		return rtd_fail(err, NERR_INVALID, "NMGR", "model %u is not being profiled", model);
	now = calloc(1, sizeof(*now));
	if (!now)
		rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
	if (!now || read_cores(start, count, now, err)) {
		rtd_profile_free(rtd, profile);
		free(now);
		return err->code;
	}
	for (unsigned int i = 0; i < profile->ncores; i++)
		subtract(&profile->core[i], &now->core[i]);
	free(now);
	*out = profile;
	return NERR_OK;
}

void rtd_profile_free(struct rtd *rtd, struct rtd_profile *profile)
{
	if (!profile)
		return;
	rtd_quota_give(rtd->quota, &profile->peer, RTD_QUOTA_MEMORY, sizeof(*profile));
	free(profile);
}

void rtd_profile_add(struct rtd_model *model, const struct rtd_infer *infer, uint64_t begun_ns,
		     uint64_t ended_ns, uint64_t cycles)
{
	struct rtd_profile *profile = model->profile;

	if (!profile)
		return;
	if (profile->total < RTD_PROFILE_INFERS)
		profile->infer[profile->total] = (struct rtd_profile_infer){
			.posted_ns = wall_ns() - (ended_ns - infer->posted_ns),
			.queued_ns = begun_ns - infer->posted_ns,
			.device_ns = ended_ns - begun_ns,
			.cycles = cycles,
			.code = infer->err.code,
		};
	profile->total++;
}
