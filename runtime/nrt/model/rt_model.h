/* SPDX-License-Identifier: MIT */
/*
 * A model: its subgraphs, each on a core, and the calls that use it (model.c); its end (handover.c)
 */
#ifndef RT_MODEL_H
#define RT_MODEL_H

#include <stdatomic.h>

#include "rt_subgraph.h"

struct rt_io;
struct rt_group;

/*
 * How a model's subgraphs make one program: a single one (exec.c), the stages of a pipeline
 * (pipeline.c), the parts of a program with loops (loops.c), or the programs of a logical core's
 * two cores (logical.c). load.c chooses by the NEFF.
 */
struct rt_kind {
	bool spreads; /* each subgraph gets a core of its own, as far as there are cores */
	bool siblings; /* the second half of the subgraphs is for a logical core's second core */
	/*
	 * Connects the subgraphs, whose variables are known but not placed on the device yet; may
	 * be NULL. After a failure `free` releases what it made.
	 */
	NRT_STATUS (*join)(struct nrt_model *model);
	/* Runs one execution and adds the chip's time to device_us. */
	NRT_STATUS (*execute)(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us);
	void (*free)(struct nrt_model *model); /* frees what join made; may be NULL */
};

struct nrt_model {
	uint32_t id; /* counts the models of the process from 1 */
	struct nrt_model *next; /* the next in rt.models or rt.stale */
	struct nrtx_neff *file; /* whose content neff is */
	/* only its metadata: bulk data is freed after the last load of the file */
	struct neff_model *neff;
	const struct rt_kind *kind; /* NULL until the NEFF is read */
	unsigned int nsubgraphs;
	struct rt_subgraph *subgraph;
	struct rt_core *core; /* the first of ncores */
	uint32_t ncores; /* fewer than subgraphs: the subgraphs share them */
	struct rt_pipeline *pipeline; /* pipeline.c */
	struct rt_loops *loops; /* loops.c */
	/* of a model that several execute together: which it is, of how many; 0: of none */
	uint32_t rank, nranks;
	uint64_t group_token; /* those with the same one belong together */
	bool started; /* its execution has come to the second barrier; of the thread that executes */
	bool left; /* the others know that it is gone */
	struct rt_group *group; /* ranks.c; NULL: it has not joined */
	uint64_t look_us; /* when it looks next whether the other ranks live */
	uint32_t timeout_ms; /* of one execution */
	bool timeout_given; /* by who loaded it; else NEURON_RT_EXEC_TIMEOUT or the default */
	uint64_t owner; /* 0: this process */
	struct rt_printer *printer; /* whose prints are limited together; NULL: they are not */
	bool numerical; /* executions tell of numerical errors */
	/* asked while it is loaded, NULL: nobody (struct nrtx_load_params) */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;
	bool jumps; /* a program of it has jumps of its own */
	uint64_t retained; /* bytes of memory that its last execution left (retained.c) */
	struct nrt_model *retained_newer, *retained_older;
	atomic_bool interrupted; /* running executions end, and none begins */
	atomic_uint_fast64_t seed; /* by which executions that begin round at random */
	unsigned int running; /* calls that use it; protected by rt.lock, with idle */
	pthread_cond_t idle;
	pthread_mutex_t count_lock; /* protects counters */
	struct nrtx_model_counters counters;
};

/*
 * A NEFF in memory (neff_file.c): whoever made it and each model loaded from it has a reference;
 * whoever made it, and each load in progress, needs the bulk: constants and programs.
 */
struct rt_neff_source {
	const struct neff_model *model; /* which is copied; NULL: it is to be read */
	const void *bytes; /* or NULL and an open file */
	int fd;
	size_t size;
};
NRT_STATUS rt_neff_read(const struct rt_neff_source *from,
			const struct nrtx_load_params *params, /* who is asked */
			struct nrtx_neff **file);
/* Takes a reference for a load, and the bulk until rt_neff_loaded */
void rt_neff_get(struct nrtx_neff *file);
void rt_neff_loaded(struct nrtx_neff *file);
void rt_neff_put(struct nrtx_neff *file); /* NULL: nothing */
struct neff_model *rt_neff_model(const struct nrtx_neff *file);

struct nrt_model *rt_model_new(void); /* NULL if memory is out */
void rt_model_free(struct nrt_model *model); /* frees all it holds, however much of it was built */
/* Keeps a model for a call. Returns false if it is not loaded or nrt_unload has begun. */
bool rt_model_pin(const struct nrt_model *model);
void rt_model_unpin(const struct nrt_model *model);
static inline void rt_model_release(const struct nrt_model **pinned)
{
	if (*pinned)
		rt_model_unpin(*pinned);
}
/* Pins a model until the end of the block; pinned is NULL if the model is not loaded. */
#define RT_PIN(pinned, model)                                                       \
	__attribute__((cleanup(rt_model_release))) const struct nrt_model *pinned = \
		rt_model_pin(model) ? (model) : NULL

/* Returns a failure if nobody wants the model that is being loaded. */
static inline NRT_STATUS rt_load_wanted(const struct nrt_model *model)
{
	return model->cancelled && model->cancelled(model->cancelled_arg)
		       ? rt_fail(NRT_FAILURE, "NMGR", "cancelled")
		       : NRT_SUCCESS;
}

/* Returns a failure if executions of the model are to end (nrtx_interrupt). */
NRT_STATUS rt_interrupted(const struct nrt_model *model);

/*
 * In retained.c. An execution of the model has ended, and exec of its first core is held: of the
 * other models of this core those that were not executed for the longest give their memory back,
 * when more than rt_retained_most bytes are retained in all.
 */
void rt_retained_add(struct nrt_model *model);
void rt_retained_leave(struct nrt_model *model);
extern uint64_t rt_retained_most; /* 0: as much as suits the host */

/*
 * In handover.c. Gives the core to the owner of the subgraph's model, cleared of what another owner
 * left. exec is held.
 */
NRT_STATUS rt_core_take(struct rt_core *core, const struct rt_subgraph *sg);
/*
 * Ends a model that was unloaded: it is freed once its cores are at rest, and rt_stale_retry tries
 * again.
 */
void rt_model_go(struct nrt_model *model);
void rt_stale_retry(void);
void rt_stale_free(void); /* at nrt_close, when the devices are about to be closed */

#endif
