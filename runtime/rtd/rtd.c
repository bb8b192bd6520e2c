// SPDX-License-Identifier: MIT
/* The daemon's state as a whole: its set-up, its end, and unload_all */
#include "rtd.h"

#include <stdlib.h>

#include "descriptors.h"
#include "log.h"

/*
 * Without a configured limit it is the machine's; a total without a share gets the default share.
 */
static struct rtd_quota *new_quota(const struct rtd_config *config)
{
	uint64_t total = config->memory_limit ? config->memory_limit : rtd_quota_default_memory();
	uint64_t user =
		config->user_memory_limit ? config->user_memory_limit : rtd_quota_share(total);
	struct rtd_quota *quota = rtd_quota_new();
	struct rtd_descriptors descriptors;

	if (!quota)
		return NULL;
	rtd_quota_limit(quota, RTD_QUOTA_MEMORY, user, total);
	if (!rtd_descriptors_get(&descriptors))
		rtd_quota_limit(quota, RTD_QUOTA_FILES, descriptors.user, descriptors.total);
	if (config->call_limit)
		rtd_quota_limit(quota, RTD_QUOTA_CALLS, rtd_quota_share(config->call_limit),
				config->call_limit);
	return quota;
}

struct rtd *rtd_new(struct rtd_config *config)
{
	struct rtd *rtd = calloc(1, sizeof(*rtd));

	if (!rtd)
		return NULL;

	rtd->quota = new_quota(config);
	if (config->model_cache_count)
		rtd->cache = rtd_cache_new(config->model_cache_count, config->model_cache_size);
	if (!rtd->quota || (config->model_cache_count && !rtd->cache)) {
		rtd_quota_free(rtd->quota);
		rtd_cache_free(rtd->cache);
		free(rtd);
		return NULL;
	}

	rtd->config = config;
	rtd->next_eg = 1;
	rtd->next_model = RTD_FIRST_MODEL_ID;

	pthread_mutex_init(&rtd->lock, NULL);
	pthread_cond_init(&rtd->idle, NULL);
	TAILQ_INIT(&rtd->egs);
	TAILQ_INIT(&rtd->models);
	TAILQ_INIT(&rtd->sessions);
	TAILQ_INIT(&rtd->shms);
	TAILQ_INIT(&rtd->watchers);
	pthread_cond_init(&rtd->happened, NULL);
	rtd->next_event = 1;
	for (unsigned int i = 0; i < RTD_COOKIE_BUCKETS; i++)
		LIST_INIT(&rtd->cookies[i]);
	return rtd;
}

void rtd_open_chips(struct rtd *rtd)
{
	const struct rtd_device *devices;
	struct rtd_err err = { 0 };
	unsigned int n;

	if (rtd_engine_open(rtd->config->devices, rtd->config->ndevices, &rtd->engine, &err)) {
		rtd->init_error = err;
		rtd->engine = NULL;
		rtd_error("NRTD", "Failed to initialize devices, error:%d", err.code);
		return;
	}
	n = rtd_engine_devices(rtd->engine, &devices);
	for (unsigned int i = 0; i < n; i++)
		rtd_info("TDRV", "Initialized Inferentia: %s", devices[i].bdf);
}

int rtd_ready(struct rtd *rtd, struct rtd_err *err)
{
	if (rtd->closing)
		return rtd_fail(err, NERR_FAIL, "NRTD", "the daemon is shutting down");
	if (rtd->engine)
		return NERR_OK;
	err->code = NERR_HW_ERROR;
	rtd_err_lines(err, rtd->init_error.text);
	return NERR_HW_ERROR;
}

static bool every_eg(const struct rtd_eg *eg, const void *who)
{
	return true;
}

static bool no_model(const struct rtd_model *model, const void *who)
{
	return false;
}

static void nobody(struct rtd_err *err, void *arg)
{
}

/* No group is made from here on, so the sweep finds all of them. */
void rtd_close(struct rtd *rtd)
{
	const struct rtd_sweep all = { .eg = every_eg, .model = no_model };
	struct rtd_swept swept;

	pthread_mutex_lock(&rtd->lock);
	rtd->closing = true;
	pthread_mutex_unlock(&rtd->lock);
	rtd_sweep(rtd, &all, &swept, nobody, NULL);
	pthread_mutex_lock(&rtd->lock);
	while (rtd->ngroups)
		pthread_cond_wait(&rtd->idle, &rtd->lock);
	pthread_mutex_unlock(&rtd->lock);
	rtd_shm_drop(rtd, 0);
	rtd_events_stop(rtd);
}

void rtd_free(struct rtd *rtd)
{
	rtd_cache_free(rtd->cache);
	if (rtd->engine)
		rtd_engine_close(rtd->engine);
	pthread_cond_destroy(&rtd->idle);
	pthread_cond_destroy(&rtd->happened);
	pthread_mutex_destroy(&rtd->lock);
	rtd_quota_free(rtd->quota);
	free(rtd);
}
