// SPDX-License-Identifier: MIT
/* Models: load, start, stop, unload; the work of each is done on its group's control thread */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "rtd.h"

/* Called on the control thread, which alone takes the group's models away; NULL with err set */
static struct rtd_model *control_model(struct rtd *rtd, struct rtd_control *c)
{
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, c->id);
	pthread_mutex_unlock(&rtd->lock);
	if (!model) /* it was unloaded meanwhile */
		rtd_fail(&c->err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u", c->id);
	return model;
}

/* ---- load */

/* Normal mode if the group has cores for every node, else shared mode if the largest node fits */
static int load_cores(const struct rtd_eg *eg, const struct rtd_neff_info *info, uint32_t *count,
		      struct rtd_err *err)
{
	if (eg->count < info->nc_shared)
		return rtd_fail(err, NERR_RESOURCE_NC, "NMGR",
				"Insufficient number of VNCs: %u, required: %u", eg->count,
				info->nc_shared);
	*count = eg->count < info->nc_normal ? info->nc_shared : info->nc_normal;
	return NERR_OK;
}

static struct rtd_model *model_new(struct rtd *rtd, const struct rtd_load *load,
				   const struct rtd_neff_info *info)
{
	struct rtd_model *model = calloc(1, sizeof(*model));
	const struct rtd_config *config = rtd->config;

	if (!model)
		return NULL;
	model->info = *info;
	model->owner = load->owner;
	model->neff_size = load->neff.size;
	model->ninfer = load->ninfer ? load->ninfer : config->default_ninfer;
	if (model->ninfer > RTD_MAX_NINFER)
		model->ninfer = RTD_MAX_NINFER;
	model->refs = 1;
	TAILQ_INIT(&model->infers);
	SLIST_INIT(&model->slots);
	return model;
}

static void count_load(struct rtd *rtd, const struct rtd_model *model, uint32_t ncs)
{
	struct rtd_counters *c = &rtd->counters;
	const struct rtd_neff_info *info = &model->info;
	bool first = !c->load++;

	if (first || info->major > c->max_major ||
	    (info->major == c->max_major && info->minor > c->max_minor)) {
		c->max_major = info->major;
		c->max_minor = info->minor;
	}
	if (first || info->major < c->min_major ||
	    (info->major == c->min_major && info->minor < c->min_minor)) {
		c->min_major = info->major;
		c->min_minor = info->minor;
	}
	if (model->neff_size > c->max_size)
		c->max_size = model->neff_size;
	if (ncs > c->max_ncs)
		c->max_ncs = ncs;
	rtd_metric_add(rtd, RTD_METRIC_SIZE, model->neff_size);
	rtd_metric_add(rtd, RTD_METRIC_NUM_NC, ncs);
	rtd_metric_add(rtd, RTD_METRIC_MAJOR, info->major);
}

/*
 * The models of a session belong to one client. Without a session it is not known which others are
 * this client's, so each is an owner of its own.
 */
static uint64_t owner_of(const struct rtd_load *load)
{
	static atomic_uint_least64_t others;

	return load->owner.session ? load->owner.session : atomic_fetch_add(&others, 1) + 1;
}

/* A number for the user, not 0; all clients over TCP are one user */
static uint64_t user_of(const struct rtd_peer *peer)
{
	return peer->local ? (uint64_t)peer->uid + 1 : UINT64_MAX;
}

/* The memory of a load in progress, on the account of its client */
struct load_memory {
	struct rtd *rtd;
	const struct rtd_load *load;
	struct rtd_quota *quota;
	const struct rtd_peer *peer;
	uint64_t taken;
	struct rtd_err *err;
};

/* Nobody wants the model any more: the client is gone, its session or the daemon ends. */
static bool load_unwanted(struct rtd *rtd, const struct rtd_load *load)
{
	bool unwanted;

	if (load->gone && load->gone(load->gone_arg))
		return true;
	pthread_mutex_lock(&rtd->lock);
	unwanted = rtd->closing || !rtd_session_live(rtd, load->owner.session);
	pthread_mutex_unlock(&rtd->lock);
	return unwanted;
}

static bool load_cancelled(void *arg)
{
	const struct load_memory *memory = arg;

	return load_unwanted(memory->rtd, memory->load);
}

static int load_account(void *arg, int64_t bytes)
{
	struct load_memory *memory = arg;

	if (bytes < 0)
		rtd_quota_give(memory->quota, memory->peer, RTD_QUOTA_MEMORY, -bytes);
	else if (rtd_quota_claim(memory->quota, memory->peer, RTD_QUOTA_MEMORY, bytes,
				 "unpacking a NEFF", memory->err))
		return -ENOMEM;
	memory->taken += bytes;
	return 0;
}

/*
 * The NEFF from the cache, which it is added to; NULL without a cache, or with err set. What is
 * looked up and what is read have to be the same bytes, so with a cache they are in memory.
 */
static struct rtd_cached *load_cached(struct rtd *rtd, const struct rtd_load *load,
				      const struct rtd_account *account, struct load_memory *memory,
				      struct rtd_err *err)
{
	struct rtd_cached *cached;
	uint8_t key[RTD_CACHE_KEY];
	struct nrtx_neff *neff;
	int ret;

	if (!rtd->cache || !load->neff.bytes)
		return NULL;
	ret = rtd_cache_key(load->neff.bytes, load->neff.size, key, account);
	if (ret == -ECANCELED)
		rtd_fail(err, NERR_INFER_CANCELLED, "NMGR", "cancelled");
	if (ret)
		return NULL;
	cached = rtd_cache_find(rtd->cache, key);
	if (cached) {
		rtd_info("NMGR", "%s was read before", load->info.name);
		return cached;
	}
	if (rtd_neff_read(&load->neff, account, &neff, err))
		return NULL;
	return rtd_cache_add(rtd->cache, key, neff, memory->taken, memory->peer);
}

static int load_program(struct rtd *rtd, const struct rtd_load *load,
			const struct rtd_placement *place, struct rtd_program **program,
			struct rtd_err *err)
{
	struct load_memory memory = { rtd, load, rtd->quota, &load->owner.peer, 0, err };
	struct rtd_account account = { load_account, load_cancelled, &memory };
	struct nrtx_neff *own = NULL;
	struct rtd_cached *cached;

	cached = load_cached(rtd, load, &account, &memory, err);
	if (!cached && !err->code)
		rtd_neff_read(&load->neff, &account, &own, err);
	if (!err->code)
		rtd_program_load(cached ? rtd_cached_neff(cached) : own, place, &account, program,
				 err);
	rtd_neff_free(own);
	if (cached)
		rtd_cache_put(rtd->cache, cached);
	rtd_quota_give(rtd->quota, &load->owner.peer, RTD_QUOTA_MEMORY, memory.taken);
	return err->code;
}

static int load_into(struct rtd *rtd, struct rtd_eg *eg, const struct rtd_load *load,
		     const struct rtd_neff_info *info, struct rtd_model **out, struct rtd_err *err)
{
	uint64_t begun = rtd_now_ns();
	struct rtd_placement at;
	struct rtd_model *model;
	uint32_t count = 0;

	if (load_cores(eg, info, &count, err))
		return err->code;

	model = model_new(rtd, load, info);
	if (!model)
		return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");

	at = (struct rtd_placement){ .nc = eg->start,
				     .nc_count = count,
				     .timeout_ms = load->timeout_ms,
				     .default_timeout_ms = rtd->config->default_timeout_ms,
				     .numerical_errors = rtd->config->numerical_errors,
				     .owner = owner_of(load),
				     .user = user_of(&load->owner.peer) };

	if (load_program(rtd, load, &at, &model->program, err)) {
		free(model);
		return rtd_fail(err, NERR_FAIL, "NMGR", "Failed to load NN: %s, err: %d",
				info->name, err->code);
	}

	model->timeout_ms = rtd_program_timeout(model->program);
	model->stages = count;
	if (count < info->nc_normal) {
		model->ninfer = 1; /* the stages share cores: no pipeline */
		model->stages = 1;
	}

	pthread_mutex_lock(&rtd->lock);
	model->eg = eg;
	model->id = rtd->next_model++;
	eg->nmodels++;
	if (eg->seeded)
		rtd_program_seed(model->program, eg->seed);
	rtd->nmodels++;
	TAILQ_INSERT_TAIL(&rtd->models, model, link);
	count_load(rtd, model, count);
	rtd_event(rtd, RTD_EVENT_MODEL_LOADED, eg, model);
	rtd_metric_add(rtd, RTD_METRIC_LOAD, (rtd_now_ns() - begun) / 1e9);
	pthread_mutex_unlock(&rtd->lock);
	rtd_info("NMGR", "model %u: %s in group %u, %u NCs", model->id, info->name, eg->id, count);
	*out = model;
	return NERR_OK;
}

static void model_start(struct rtd *rtd, struct rtd_model *model, struct rtd_err *err);

static void refuse_unwanted(struct rtd *rtd, const struct rtd_load *load, struct rtd_err *err)
{
	if (load_unwanted(rtd, load))
		rtd_fail(err, NERR_INFER_CANCELLED, "NMGR",
			 "the client is gone, or its session or the daemon ends");
}

static void load_run(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	struct rtd_model *model = NULL;
	struct rtd_load *load = c->load;
	struct rtd_err *err = &c->err;

	if (rtd_quota_claim(rtd->quota, &load->owner.peer, RTD_QUOTA_MODELS, 1, "a model", err))
		goto out;

	refuse_unwanted(rtd, load, err);
	if (!err->code && (eg->dead || (eg->implicit && load->has_eg)))
		rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "group %u cannot take models", eg->id);
	if (!err->code && !load_into(rtd, eg, load, &load->info, &model, err) && eg->implicit)
		model_start(rtd, model, err);
	/* who is gone by now will never learn the model's number */
	if (!err->code)
		refuse_unwanted(rtd, load, err);

	pthread_mutex_lock(&rtd->lock);
	/* one answer, wherever the load was when it ended */
	if (!rtd_session_live(rtd, load->owner.session) &&
	    (!err->code || err->code == NERR_INFER_CANCELLED)) {
		*err = (struct rtd_err){ 0 };
		rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "the session has ended");
	}
	pthread_mutex_unlock(&rtd->lock);

	if (!err->code)
		load->id = model->id;
	else if (model)
		rtd_model_drop(rtd, model);
	else
		rtd_quota_give(rtd->quota, &load->owner.peer, RTD_QUOTA_MODELS, 1);
out:
	if (err->code && !load->has_eg && !eg->dead)
		rtd_eg_remove(rtd, eg);
}

void rtd_model_load(struct rtd *rtd, struct rtd_load *load, rtd_done done, void *arg)
{
	struct rtd_control *c = rtd_control_new(load_run, 0, done, arg);
	uint32_t id = load->eg;
	struct rtd_eg *eg;

	if (!c)
		return;
	c->load = load;
	if (!rtd_neff_inspect(&load->neff, &load->info, &c->err) && !load->has_eg &&
	    !rtd_eg_create(rtd, load->info.nc_normal, &load->owner, true, &eg, &c->err)) {
		id = eg->id;
		rtd_eg_put(rtd, eg);
	}
	if (!c->err.code) {
		rtd_control_eg(rtd, id, c);
		return;
	}
	done(&c->err, arg);
	free(c);
}

/* ---- start and stop */

static void model_start(struct rtd *rtd, struct rtd_model *model, struct rtd_err *err)
{
	uint64_t begun = rtd_now_ns();
	struct rtd_eg *eg = model->eg;

	pthread_mutex_lock(&rtd->lock);
	if (eg->running && eg->running != model) {
		rtd_fail(err, NERR_INVALID, "NMGR",
			 "model %u runs in group %u, stop it before starting model %u",
			 eg->running->id, eg->id, model->id);
	} else if (model->state == RTD_FAILED) {
		rtd_fail(err, NERR_FAILED_STATE, "NMGR",
			 "model %u failed, unload it and load it again", model->id);
	} else {
		if (model->state != RTD_READY)
			rtd_event(rtd, RTD_EVENT_MODEL_STARTED, eg, model);
		eg->running = model;
		model->state = RTD_READY;
		rtd->counters.start++;
		rtd_metric_add(rtd, RTD_METRIC_START, (rtd_now_ns() - begun) / 1e9);
	}
	pthread_mutex_unlock(&rtd->lock);
}

static void start_run(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	struct rtd_model *model = control_model(rtd, c);

	if (model)
		model_start(rtd, model, &c->err);
}

void rtd_model_start(struct rtd *rtd, uint32_t id, rtd_done done, void *arg)
{
	struct rtd_control *c = rtd_control_new(start_run, id, done, arg);

	if (c)
		rtd_control_model(rtd, c, false);
}

/*
 * Cancels the waiting inferences, interrupts those that execute, and forgets both. First posting
 * ends; then no execution may begin, not even of an inference that a thread has taken; then those
 * in progress are waited for.
 */
static void model_stop(struct rtd *rtd, struct rtd_model *model)
{
	uint64_t begun = rtd_now_ns();
	struct rtd_eg *eg = model->eg;

	pthread_mutex_lock(&rtd->lock);
	if (eg->running == model) {
		eg->running = NULL;
		rtd->counters.stop++;
	}
	if (model->state == RTD_READY) {
		model->state = RTD_STANDBY;
		rtd_event(rtd, RTD_EVENT_MODEL_STOPPED, eg, model);
	}
	rtd_program_interrupt(model->program, true);
	pthread_mutex_unlock(&rtd->lock);

	rtd_infer_cancel_model(rtd, model, true);

	pthread_mutex_lock(&rtd->lock);
	while (eg->busy == model)
		pthread_cond_wait(&eg->idle, &rtd->lock);
	if (model->stopping)
		model->stopping--; /* this stop */
	if (!model->stopping)
		rtd_program_interrupt(model->program, false);
	rtd_metric_add(rtd, RTD_METRIC_STOP, (rtd_now_ns() - begun) / 1e9);
	pthread_mutex_unlock(&rtd->lock);
}

static void stop_run(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	struct rtd_model *model = control_model(rtd, c);

	if (model)
		model_stop(rtd, model);
}

void rtd_model_stop(struct rtd *rtd, uint32_t id, rtd_done done, void *arg)
{
	struct rtd_control *c = rtd_control_new(stop_run, id, done, arg);

	if (c)
		rtd_control_model(rtd, c, true);
}

/* ---- unload */

void rtd_model_drop(struct rtd *rtd, struct rtd_model *model)
{
	uint64_t begun = rtd_now_ns();
	struct rtd_eg *eg = model->eg;

	model_stop(rtd, model);
	pthread_mutex_lock(&rtd->lock);
	model->dead = true; /* no cookie finds it, and nothing can be posted to it */
	pthread_mutex_unlock(&rtd->lock);
	rtd_infer_forget(rtd, model, 0);

	pthread_mutex_lock(&rtd->lock);
	while (model->refs > 1)
		pthread_cond_wait(&rtd->idle, &rtd->lock);
	TAILQ_REMOVE(&rtd->models, model, link);
	rtd->nmodels--;
	eg->nmodels--;
	rtd->counters.unload++;
	rtd_event(rtd, RTD_EVENT_MODEL_UNLOADED, eg, model);
	pthread_mutex_unlock(&rtd->lock);

	rtd_slots_free(rtd, model);
	rtd_profile_free(rtd, model->profile);
	rtd_program_unload(model->program);
	rtd_quota_give(rtd->quota, &model->owner.peer, RTD_QUOTA_MODELS, 1);
	rtd_info("NMGR", "model %u unloaded", model->id);
	free(model);
	pthread_mutex_lock(&rtd->lock);
	rtd_metric_add(rtd, RTD_METRIC_UNLOAD, (rtd_now_ns() - begun) / 1e9);
	pthread_mutex_unlock(&rtd->lock);
}

void rtd_model_run_unload(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	struct rtd_model *model = control_model(rtd, c);

	if (!model)
		return;
	rtd_model_drop(rtd, model);
	if (eg->implicit)
		rtd_eg_remove(rtd, eg);
}

void rtd_model_unload(struct rtd *rtd, uint32_t id, rtd_done done, void *arg)
{
	struct rtd_control *c = rtd_control_new(rtd_model_run_unload, id, done, arg);

	if (c)
		rtd_control_model(rtd, c, true);
}
