// SPDX-License-Identifier: MIT
/* Look-ups in the lists, and the metrics, which all files of the daemon's state use */
#include <time.h>

#include "rtd.h"

struct rtd_eg *rtd_eg_find(struct rtd *rtd, uint32_t id)
{
	struct rtd_eg *eg;

	TAILQ_FOREACH(eg, &rtd->egs, link)
		if (eg->id == id)
			return eg;
	return NULL;
}

struct rtd_model *rtd_model_find(struct rtd *rtd, uint32_t id)
{
	struct rtd_model *model;

	TAILQ_FOREACH(model, &rtd->models, link)
		if (model->id == id)
			return model;
	return NULL;
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

uint64_t rtd_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void rtd_metric_add(struct rtd *rtd, unsigned int metric, double value)
{
	struct rtd_metric *m = &rtd->metrics[metric];
	unsigned int at = m->total++ % RTD_METRIC_SAMPLES;
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	m->sample[at].ts_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	m->sample[at].value = value;
}
