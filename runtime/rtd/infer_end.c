// SPDX-License-Identifier: MIT
/*
 * The ends of an inference: collected by a waiter, cancelled with its model, abandoned by a poster
 * that has died
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "rtd.h"

/* With the lock held: returns the buffers, and the reference that kept the model. */
static void slot_put(struct rtd *rtd, struct rtd_infer *infer)
{
	struct rtd_model *model = infer->model;

	if (infer->slot)
		SLIST_INSERT_HEAD(&model->slots, infer->slot, link);
	infer->slot = NULL;
	model->refs--;
	pthread_cond_broadcast(&rtd->idle);
}

static void outputs_put(struct rtd *rtd, struct rtd_infer *infer)
{
	const struct rtd_tensor *tensors;
	unsigned int n;

	if (!infer->outputs)
		return;
	n = rtd_program_tensors(infer->model->program, &tensors);
	for (unsigned int i = 0; i < n; i++)
		if (infer->outputs[i])
			rtd_shm_put(rtd, infer->outputs[i]);
	free(infer->outputs);
	infer->outputs = NULL;
}

void rtd_infer_free(struct rtd *rtd, struct rtd_infer *infer)
{
	outputs_put(rtd, infer);
	pthread_mutex_lock(&rtd->lock);
	slot_put(rtd, infer);
	pthread_mutex_unlock(&rtd->lock);
	rtd_quota_give(rtd->quota, &infer->peer, RTD_QUOTA_MEMORY, infer->charged);
	free(infer);
}

uint64_t rtd_infer_uncharge(struct rtd_infer *infer)
{
	uint64_t rest = infer->charged - sizeof(*infer);

	infer->charged -= rest;
	return rest;
}

/* With the lock held: takes the inference out of the tables; from here on it is its waiter's. */
void rtd_infer_detach(struct rtd_infer *infer)
{
	TAILQ_REMOVE(&infer->model->infers, infer, link);
	LIST_REMOVE(infer, hash);
	if (infer->state == RTD_CANCELLED)
		infer->model->ncancelled--;
	else
		infer->model->inflight--;
}

static bool poster_gone(const struct rtd_infer *infer)
{
	return infer->peer.local && infer->peer.pid > 0 && kill(infer->peer.pid, 0) &&
	       errno == ESRCH;
}

/* With the lock held: results whose process has died must not fill a model's queue for ever. */
void rtd_infer_abandoned(struct rtd_model *model, const struct rtd_peer *peer,
			 struct rtd_infer_list *gone)
{
	struct rtd_infer *infer, *next;

	for (infer = TAILQ_FIRST(&model->infers); infer; infer = next) {
		next = TAILQ_NEXT(infer, link);
		if (infer->state != RTD_DONE || infer->done || !poster_gone(infer))
			continue;
		if (peer && !rtd_peer_same(&infer->peer, peer))
			continue;
		rtd_infer_detach(infer);
		TAILQ_INSERT_TAIL(gone, infer, queue);
	}
}

/* Frees a list of the caller's, without the lock. */
void rtd_infer_free_list(struct rtd *rtd, struct rtd_infer_list *gone)
{
	struct rtd_infer *infer;

	while ((infer = TAILQ_FIRST(gone))) {
		TAILQ_REMOVE(gone, infer, queue);
		rtd_infer_free(rtd, infer);
	}
}

void rtd_infer_reap(struct rtd *rtd, const struct rtd_peer *peer)
{
	struct rtd_infer_list gone = TAILQ_HEAD_INITIALIZER(gone);
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(model, &rtd->models, link)
		rtd_infer_abandoned(model, peer, &gone);
	pthread_mutex_unlock(&rtd->lock);
	rtd_infer_free_list(rtd, &gone);
}

/* With the lock held: leaves a cookie that only remembers that it was cancelled. */
void rtd_infer_cancelled(struct rtd *rtd, struct rtd_infer *infer)
{
	struct rtd_model *model = infer->model;

	infer->state = RTD_CANCELLED;
	infer->err = (struct rtd_err){ 0 };
	if (model->state == RTD_FAILED)
		rtd_fail(&infer->err, NERR_INFER_CANCELLED, "NMGR",
			 "model %u was stopped after an error, %d, of another inference", model->id,
			 model->failure);
	else
		rtd_fail(&infer->err, NERR_INFER_CANCELLED, "NMGR", "model %u was stopped",
			 model->id);
	model->inflight--;
	if (infer->slot) {
		SLIST_INSERT_HEAD(&model->slots, infer->slot, link);
		infer->slot = NULL;
	}
	rtd_quota_give(rtd->quota, &infer->peer, RTD_QUOTA_MEMORY, rtd_infer_uncharge(infer));
	model->ncancelled++;
}

/* Forgets cancelled cookies, oldest first, until at most keep are left. */
void rtd_infer_forget(struct rtd *rtd, struct rtd_model *model, unsigned int keep)
{
	struct rtd_infer_list gone = TAILQ_HEAD_INITIALIZER(gone);
	struct rtd_infer *infer, *next;

	pthread_mutex_lock(&rtd->lock);
	for (infer = TAILQ_FIRST(&model->infers); infer && model->ncancelled > keep; infer = next) {
		next = TAILQ_NEXT(infer, link);
		if (infer->state != RTD_CANCELLED)
			continue;
		rtd_infer_detach(infer);
		TAILQ_INSERT_TAIL(&gone, infer, queue);
	}
	pthread_mutex_unlock(&rtd->lock);
	rtd_infer_free_list(rtd, &gone);
}

/* Tells the waiters of a list, without the lock. */
static void tell_waiters(struct rtd_infer_list *waited)
{
	struct rtd_infer *infer;

	while ((infer = TAILQ_FIRST(waited))) {
		TAILQ_REMOVE(waited, infer, queue);
		infer->done(infer, infer->done_arg);
	}
}

void rtd_infer_cancel_model(struct rtd *rtd, struct rtd_model *model, bool results)
{
	struct rtd_infer_list waited = TAILQ_HEAD_INITIALIZER(waited);
	struct rtd_infer *infer, *next;

	pthread_mutex_lock(&rtd->lock);
	for (infer = TAILQ_FIRST(&model->infers); infer; infer = next) {
		next = TAILQ_NEXT(infer, link);
		if (infer->state != RTD_QUEUED && !(results && infer->state == RTD_DONE))
			continue;
		if (infer->state == RTD_QUEUED)
			TAILQ_REMOVE(&model->eg->queue, infer, queue);
		rtd_infer_cancelled(rtd, infer);
		if (infer->done) {
			rtd_infer_detach(infer);
			TAILQ_INSERT_TAIL(&waited, infer, queue);
		}
	}
	pthread_mutex_unlock(&rtd->lock);
	tell_waiters(&waited);
	rtd_infer_forget(rtd, model, RTD_MAX_CANCELLED);
}

int rtd_infer_deliver(struct rtd_infer *infer, struct rtd_err *err)
{
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(infer->model->program, &tensors);

	for (unsigned int i = 0; infer->outputs && i < n; i++)
		if (infer->outputs[i] &&
		    rtd_shm_write(infer->outputs[i], rtd_slot_buffer(infer->slot->slot, i),
				  tensors[i].size))
			return rtd_fail(err, NERR_INFER_COMPLETED_WITH_ERR, "NMGR",
					"Output [%s] could not be written to its shared memory",
					tensors[i].name);
	return NERR_OK;
}
