// SPDX-License-Identifier: MIT
/*
 * Buffers of inferences. A slot's memory is on the account of the user whose inference has it, and
 * while it is idle on that of the last user who had it. Idle slots are kept for reuse; they are
 * freed, together with results whose poster has died, when memory would otherwise be refused.
 */
#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "rtd.h"

SLIST_HEAD(slot_list, rtd_slot_entry);

static void slot_free(struct rtd *rtd, struct rtd_slot_entry *entry)
{
	rtd_slot_free(entry->slot);
	rtd_quota_give(rtd->quota, &entry->peer, RTD_QUOTA_MEMORY, entry->size);
	free(entry);
}

void rtd_slots_free(struct rtd *rtd, struct rtd_model *model)
{
	struct rtd_slot_entry *entry;

	while ((entry = SLIST_FIRST(&model->slots))) {
		SLIST_REMOVE_HEAD(&model->slots, link);
		slot_free(rtd, entry);
	}
}

/*
 * With the lock held: gathers a model's idle slots, of one user or (NULL) of all; each keeps its
 * model.
 */
static void slots_gather(struct rtd_model *model, const struct rtd_peer *peer,
			 struct slot_list *gone)
{
	struct rtd_slot_entry *entry, *next;

	for (entry = SLIST_FIRST(&model->slots); entry; entry = next) {
		next = SLIST_NEXT(entry, link);
		if (peer && !rtd_peer_same(&entry->peer, peer))
			continue;
		SLIST_REMOVE(&model->slots, entry, rtd_slot_entry, link);
		SLIST_INSERT_HEAD(gone, entry, link);
		entry->model = model;
		model->refs++;
	}
}

static void slots_trim(struct rtd *rtd, const struct rtd_peer *peer)
{
	struct slot_list gone = SLIST_HEAD_INITIALIZER(gone);
	struct rtd_slot_entry *entry;
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(model, &rtd->models, link)
		slots_gather(model, peer, &gone);
	pthread_mutex_unlock(&rtd->lock);
	while ((entry = SLIST_FIRST(&gone))) {
		SLIST_REMOVE_HEAD(&gone, link);
		model = entry->model;
		slot_free(rtd, entry);
		pthread_mutex_lock(&rtd->lock);
		model->refs--;
		pthread_cond_broadcast(&rtd->idle);
		pthread_mutex_unlock(&rtd->lock);
	}
}

int rtd_memory_claim(struct rtd *rtd, const struct rtd_peer *peer, uint64_t amount,
		     const char *what, struct rtd_err *err)
{
	int ret = rtd_quota_take(rtd->quota, peer, RTD_QUOTA_MEMORY, amount);

	if (!ret)
		return NERR_OK;
	rtd_infer_reap(rtd, ret == -EDQUOT ? peer : NULL);
	slots_trim(rtd, ret == -EDQUOT ? peer : NULL);
	return rtd_quota_claim(rtd->quota, peer, RTD_QUOTA_MEMORY, amount, what, err);
}

/* With the lock held: finds a slot that is on this user's account already, else any. */
static struct rtd_slot_entry *slot_idle(struct rtd_model *model, const struct rtd_peer *peer)
{
	struct rtd_slot_entry *entry;

	SLIST_FOREACH(entry, &model->slots, link)
	if (rtd_peer_same(&entry->peer, peer))
		break;
	if (!entry)
		entry = SLIST_FIRST(&model->slots);
	if (entry)
		SLIST_REMOVE(&model->slots, entry, rtd_slot_entry, link);
	return entry;
}

static void slot_owner(struct rtd_slot_entry *entry, const struct rtd_peer *peer)
{
	entry->peer = *peer;
	entry->peer.groups = NULL;
	entry->peer.ngroups = 0;
}

static struct rtd_slot_entry *slot_new(struct rtd *rtd, struct rtd_model *model,
				       const struct rtd_peer *peer, struct rtd_err *err)
{
	struct rtd_slot_entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
		return NULL;
	}
	slot_owner(entry, peer);
	entry->size = sizeof(*entry) + rtd_program_slot_size(model->program);
	if (rtd_memory_claim(rtd, peer, entry->size, "tensors of an inference", err)) {
		free(entry);
		return NULL;
	}
	if (rtd_slot_new(model->program, &entry->slot, err)) {
		rtd_quota_give(rtd->quota, peer, RTD_QUOTA_MEMORY, entry->size);
		free(entry);
		return NULL;
	}
	return entry;
}

struct rtd_slot_entry *rtd_slot_take(struct rtd *rtd, struct rtd_model *model,
				     const struct rtd_peer *peer, struct rtd_err *err)
{
	struct rtd_slot_entry *entry;

	pthread_mutex_lock(&rtd->lock);
	entry = slot_idle(model, peer);
	pthread_mutex_unlock(&rtd->lock);
	if (!entry)
		return slot_new(rtd, model, peer, err);
	if (rtd_peer_same(&entry->peer, peer))
		return entry;

	/* it was on another user's account so far */
	if (rtd_memory_claim(rtd, peer, entry->size, "tensors of an inference", err)) {
		pthread_mutex_lock(&rtd->lock);
		SLIST_INSERT_HEAD(&model->slots, entry, link);
		pthread_mutex_unlock(&rtd->lock);
		return NULL;
	}

	rtd_quota_give(rtd->quota, &entry->peer, RTD_QUOTA_MEMORY, entry->size);
	slot_owner(entry, peer);
	return entry;
}
