/* SPDX-License-Identifier: MIT */
/*
 * A NEFF that was read, and who needs it. Its constants and programs are most of its memory and
 * needed until they are on a device; its names and shapes as long as a model that was loaded from
 * it. One lock protects the counts of all files; nothing is called under it.
 */
#include <stdlib.h>

#include "rt_context.h"
#include "rt_env.h"
#include "rt_model.h"

struct nrtx_neff {
	struct neff_model *model;
	unsigned int refs; /* who made it, and models */
	unsigned int needed; /* the bulk: who made it, and loads in progress */
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

NRT_STATUS rt_neff_read(const struct rt_neff_source *from, const struct nrtx_load_params *params,
			struct nrtx_neff **file)
{
	struct neff_limits limits = {
		.target = rt.gen->target,
		.validate_hash = rt_env_on("NEURON_RT_VALIDATE_HASH", false),
		.checked = params->checked,
		.account = params->account,
		.account_arg = params->account_arg,
		.cancelled = params->cancelled,
		.cancelled_arg = params->cancelled_arg,
	};
	struct nrtx_neff *f;
	struct neff_error error = { 0 };
	int err;

	if (!from->model && ((!from->bytes && from->fd < 0) || !from->size))
		return rt_fail(NRT_INVALID, "NMGR", "no NEFF");
	f = calloc(1, sizeof(*f));
	if (!f)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	if (from->model)
		err = neff_copy(from->model, &limits, &f->model, &error);
	else if (from->bytes)
		err = neff_read(from->bytes, from->size, &limits, &f->model, &error);
	else
		err = neff_read_file(from->fd, from->size, &limits, &f->model, &error);
	if (err) {
		free(f);
		return rt_fail(error.version ? NRT_UNSUPPORTED_NEFF_VERSION
					     : rt_status_from_errno(err),
			       "NMGR", "%s", error.text);
	}
	f->refs = f->needed = 1;
	*file = f;
	return NRT_SUCCESS;
}

static void drop_bulk(struct neff_model *model)
{
	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		struct neff_subgraph *sg = &model->subgraphs[k];

		for (unsigned int i = 0; i < sg->nvars; i++) {
			free(sg->vars[i].data);
			sg->vars[i].data = NULL;
		}
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
			free(sg->engine[e].instr);
			sg->engine[e].instr = NULL;
		}
	}
}

void rt_neff_get(struct nrtx_neff *file)
{
	pthread_mutex_lock(&files_lock);
	file->refs++;
	file->needed++;
	pthread_mutex_unlock(&files_lock);
}

void rt_neff_loaded(struct nrtx_neff *file)
{
	bool last;

	pthread_mutex_lock(&files_lock);
	last = !--file->needed;
	pthread_mutex_unlock(&files_lock);
	if (last)
		drop_bulk(file->model);
}

void rt_neff_put(struct nrtx_neff *file)
{
	bool last;

	if (!file)
		return;
	pthread_mutex_lock(&files_lock);
	last = !--file->refs;
	pthread_mutex_unlock(&files_lock);
	if (!last)
		return;
	neff_free(file->model);
	free(file);
}

struct neff_model *rt_neff_model(const struct nrtx_neff *file)
{
	return file->model;
}

static NRT_STATUS read_for_loads(const struct rt_neff_source *from,
				 const struct nrtx_load_params *params, nrtx_neff_t **neff)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!params || !neff)
		return rt_fail(NRT_INVALID, "NRT", "no parameters");
	return rt_neff_read(from, params, neff);
}

EXPORT NRT_STATUS nrtx_neff_read(const void *neff_bytes, size_t size,
				 const struct nrtx_load_params *params, nrtx_neff_t **neff)
{
	return read_for_loads(
		&(struct rt_neff_source){ .bytes = neff_bytes, .fd = -1, .size = size }, params,
		neff);
}

EXPORT NRT_STATUS nrtx_neff_read_file(int fd, size_t size, const struct nrtx_load_params *params,
				      nrtx_neff_t **neff)
{
	return read_for_loads(&(struct rt_neff_source){ .fd = fd, .size = size }, params, neff);
}

EXPORT NRT_STATUS nrtx_neff_copy(const struct neff_model *model,
				 const struct nrtx_load_params *params, nrtx_neff_t **neff)
{
	if (!model)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	return read_for_loads(&(struct rt_neff_source){ .model = model }, params, neff);
}

EXPORT uint32_t nrtx_neff_ranks(const nrtx_neff_t *neff)
{
	return neff ? rt_neff_model(neff)->ranks : 0;
}

EXPORT void nrtx_neff_free(nrtx_neff_t *neff)
{
	if (!neff)
		return;
	rt_neff_loaded(neff);
	rt_neff_put(neff);
}
