// SPDX-License-Identifier: MIT
/*
 * Control operations: load, start, stop, unload, destroy. Each group has a thread that executes the
 * requested operations one after the other and reports to their requesters; so no requester (the
 * work pool, another group's thread, main) ever waits for a group. Operations that end executions
 * interrupt them at once, before the queue gets to them.
 */
#include <stdlib.h>

#include "log.h"
#include "rtd.h"

static void control_tell(struct rtd_control *c)
{
	c->done(&c->err, c->arg);
	free(c);
}

struct rtd_control *rtd_control_new(rtd_control_run run, uint32_t id, rtd_done done, void *arg)
{
	struct rtd_control *c = calloc(1, sizeof(*c));
	struct rtd_err err = { 0 };

	if (!c) {
		rtd_fail(&err, NERR_RESOURCE, "NMGR", "out of memory");
		done(&err, arg);
		return NULL;
	}
	c->run = run;
	c->id = id;
	c->done = done;
	c->arg = arg;
	return c;
}

/* With the lock held; the group is in the list. */
void rtd_control_add(struct rtd_eg *eg, struct rtd_control *c)
{
	STAILQ_INSERT_TAIL(&eg->controls, c, link);
	pthread_cond_signal(&eg->asked);
}

/*
 * With the lock held: the model's executions end soon, and none begins until its group's thread has
 * handled the operation.
 */
void rtd_model_interrupt(struct rtd_model *model)
{
	model->stopping++;
	rtd_program_interrupt(model->program, true);
}

void rtd_control_eg(struct rtd *rtd, uint32_t id, struct rtd_control *c)
{
	struct rtd_eg *eg;

	pthread_mutex_lock(&rtd->lock);
	eg = rtd_eg_find(rtd, id);
	if (eg)
		rtd_control_add(eg, c);
	pthread_mutex_unlock(&rtd->lock);
	if (eg)
		return;
	rtd_fail(&c->err, NERR_INVALID_HANDLE, "NMGR", "Failed to find group: %u", id);
	control_tell(c);
}

void rtd_control_model(struct rtd *rtd, struct rtd_control *c, bool interrupt)
{
	struct rtd_model *model;
	uint32_t id = c->id;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, id);
	if (model) {
		rtd_control_add(model->eg, c);
		if (interrupt)
			rtd_model_interrupt(model);
	}
	pthread_mutex_unlock(&rtd->lock);
	if (model)
		return;
	rtd_fail(&c->err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u", id);
	control_tell(c);
}

/* Called when the last reference is gone. */
void rtd_eg_free(struct rtd_eg *eg)
{
	pthread_cond_destroy(&eg->idle);
	pthread_cond_destroy(&eg->work);
	pthread_cond_destroy(&eg->asked);
	free(eg);
}

static void *control_thread(void *arg)
{
	struct rtd_eg *eg = arg;
	struct rtd *rtd = eg->rtd;
	struct rtd_control *c;
	bool last;

	pthread_mutex_lock(&rtd->lock);
	for (;;) {
		c = STAILQ_FIRST(&eg->controls);
		if (!c && eg->dead)

			break;
		if (!c) {
			pthread_cond_wait(&eg->asked, &rtd->lock);
			continue;
		}

		STAILQ_REMOVE_HEAD(&eg->controls, link);
		pthread_mutex_unlock(&rtd->lock);
		c->run(rtd, eg, c);
		control_tell(c);
		pthread_mutex_lock(&rtd->lock);
	}

	last = !--eg->refs;
	rtd->ngroups--;
	pthread_cond_broadcast(&rtd->idle);
	pthread_mutex_unlock(&rtd->lock); /* rtd may be freed from here on */
	if (last)
		rtd_eg_free(eg);
	return NULL;
}

int rtd_control_start(struct rtd *rtd, struct rtd_eg *eg)
{
	pthread_t thread;
	int err;

	eg->rtd = rtd;
	err = pthread_create(&thread, NULL, control_thread, eg);
	if (err)
		return -err;
	pthread_detach(thread);
	eg->refs++;
	rtd->ngroups++;
	return 0;
}
