// SPDX-License-Identifier: MIT
/* Taking groups and models away: one group, or all that a function selects */
#include <stdlib.h>

#include "rtd.h"

static struct rtd_model *first_model(struct rtd *rtd, struct rtd_eg *eg)
{
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(model, &rtd->models, link)
		if (model->eg == eg)
			break;
	pthread_mutex_unlock(&rtd->lock);
	return model;
}

static void destroy(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	struct rtd_model *model;

	if (eg->dead) {
		rtd_fail(&c->err, NERR_INVALID_HANDLE, "NMGR", "Failed to find group: %u", eg->id);
		return;
	}
	if (eg->nmodels && !c->force) {
		rtd_fail(&c->err, NERR_INVALID, "NMGR", "group %u has %u loaded models", eg->id,
			 eg->nmodels);
		return;
	}
	while ((model = first_model(rtd, eg)))
		rtd_model_drop(rtd, model);
	rtd_eg_remove(rtd, eg);
}

void rtd_eg_destroy(struct rtd *rtd, uint32_t id, rtd_done done, void *arg)
{
	struct rtd_control *c = rtd_control_new(destroy, 0, done, arg);

	if (c)
		rtd_control_eg(rtd, id, c);
}

/* Several groups and models at once */

struct sweep {
	struct rtd *rtd;
	unsigned int pending; /* protected by the lock */
	rtd_done done;
	void *arg;
};

static void sweep_put(struct sweep *s)
{
	struct rtd_err none = { 0 };
	bool last;

	pthread_mutex_lock(&s->rtd->lock);
	last = !--s->pending;
	pthread_mutex_unlock(&s->rtd->lock);
	if (!last)
		return;
	s->done(&none, s->arg);
	free(s);
}

/* Another call may have been quicker; then there is nothing left to do. */
static void sweep_done(struct rtd_err *err, void *arg)
{
	sweep_put(arg);
}

/* Called with the lock held. */
static bool sweep_add(struct sweep *s, struct rtd_eg *eg, rtd_control_run run, uint32_t id)
{
	struct rtd_control *c = calloc(1, sizeof(*c));

	if (!c)
		return false;
	c->run = run;
	c->id = id;
	c->force = true;
	c->done = sweep_done;
	c->arg = s;
	s->pending++;
	rtd_control_add(eg, c);
	return true;
}

/* Called with the lock held. */
static void sweep_all(struct rtd *rtd, struct sweep *s, const struct rtd_sweep *which,
		      struct rtd_swept *swept)
{
	struct rtd_model *model;
	struct rtd_eg *eg;

	TAILQ_FOREACH(eg, &rtd->egs, link)
		if (which->eg(eg, which->who))
			swept->egs += sweep_add(s, eg, destroy, 0);
	TAILQ_FOREACH(model, &rtd->models, link) {
		bool with = which->eg(model->eg, which->who);

		if (!with && !which->model(model, which->who))
			continue;
		if (with || sweep_add(s, model->eg, rtd_model_run_unload, model->id)) {
			rtd_model_interrupt(model);
			swept->models++;
		}
	}
}

void rtd_sweep(struct rtd *rtd, const struct rtd_sweep *which, struct rtd_swept *swept,
	       rtd_done done, void *arg)
{
	struct sweep *s = calloc(1, sizeof(*s));
	struct rtd_err err = { 0 };

	*swept = (struct rtd_swept){ 0 };
	if (!s) {
		rtd_fail(&err, NERR_RESOURCE, "NMGR", "out of memory");
		done(&err, arg);
		return;
	}
	*s = (struct sweep){ .rtd = rtd, .pending = 1, .done = done, .arg = arg };
	pthread_mutex_lock(&rtd->lock);
	sweep_all(rtd, s, which, swept);
	pthread_mutex_unlock(&rtd->lock);
	sweep_put(s);
}
