/* SPDX-License-Identifier: MIT */
/*
 * The daemon's state, private to runtime/rtd: core groups (EGs), models, inferences, shared memory
 * and sessions. The rpc_*.c files translate messages into these calls; nothing here knows gRPC.
 *
 * One lock, rtd->lock, protects every list, state and count below; it is never held during a load,
 * an execution, a copy of tensor data or a callback. libnrt's own locks and the quota's are taken
 * under it. Each group has threads that execute its queue in order (worker.c), and one that
 * executes its control operations (load, start, stop, unload, destroy) one at a time (control.c):
 * nobody else waits for a group. Only that thread takes models and the group itself away.
 * References keep groups and models in memory; the lists hold one each.
 */
#ifndef RTD_RTD_H
#define RTD_RTD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cache.h"
#include "config.h"
#include "engine.h"
#include "error.h"
#include "peer.h"
#include "quota.h"

#define RTD_FIRST_MODEL_ID 10001u
#define RTD_MAX_NINFER 1024
#define RTD_MAX_CANCELLED 1024 /* cancelled cookies that a model remembers */
#define RTD_COOKIE_BUCKETS 1024
#define RTD_METRIC_SAMPLES 1024

struct rtd_owner {
	struct rtd_peer peer; /* without its groups */
	uint64_t session; /* 0: not tracked */
};

#define RTD_MAX_STAGES 16 /* of a pipeline that get a thread each */

struct rtd_infer;
TAILQ_HEAD(rtd_infer_list, rtd_infer);
struct rtd_control;

struct rtd_eg {
	TAILQ_ENTRY(rtd_eg) link;
	uint32_t id, start, count;
	bool implicit, dead;
	enum rtd_sharing sharing; /* protected by rtd->lock */
	bool seeded; /* by random_seed; protected by rtd->lock */
	uint32_t seed;
	unsigned int refs, nmodels;
	struct rtd_owner owner;
	struct rtd_model *running;
	STAILQ_HEAD(, rtd_control) controls; /* requested and not done yet */
	pthread_cond_t asked;
	/* For the workers: as many of a pipeline's inferences are in progress as it has stages */
	struct rtd *rtd;
	unsigned int nthreads, nbusy, nidle;
	pthread_t thread[RTD_MAX_STAGES + 1];
	pthread_cond_t work, idle;
	struct rtd_infer_list queue, ended; /* to be executed; executed, and a waiter to be told */
	struct rtd_model *busy; /* the model whose inferences execute */
	bool end;
};

struct rtd_profile;
enum rtd_model_state { RTD_STANDBY, RTD_READY, RTD_FAILED };

struct rtd_slot_entry {
	SLIST_ENTRY(rtd_slot_entry) link;
	struct rtd_slot *slot;
	uint64_t size; /* on the account of peer */
	struct rtd_peer peer;
	struct rtd_model *model; /* for slots_trim() */
};

struct rtd_model {
	TAILQ_ENTRY(rtd_model) link;
	uint32_t id;
	struct rtd_eg *eg;
	struct rtd_program *program;
	enum rtd_model_state state;
	int failure; /* the code of the error after which it is RTD_FAILED */
	struct rtd_owner owner;
	struct rtd_neff_info info;
	uint64_t neff_size, infer_count;
	uint64_t took_ns; /* by the last inference that executed; 0: none yet */
	uint32_t ninfer, timeout_ms;
	uint32_t stages; /* stages with a core of their own */
	bool dead;
	/* stops, unloads and destroys that were requested and not done: nothing is executed */
	unsigned int stopping;
	unsigned int refs; /* the list's one, and one for each inference */
	unsigned int inflight; /* posted and not collected */
	unsigned int ncancelled;
	struct rtd_infer_list infers; /* those with a cookie, oldest first */
	SLIST_HEAD(, rtd_slot_entry) slots;
	struct rtd_profile *profile; /* being made, or NULL; protected by rtd->lock */
};

enum rtd_infer_state { RTD_QUEUED, RTD_RUNNING, RTD_DONE, RTD_CANCELLED };

/* The named place of a tensor's bytes: inline bytes or a shared memory region */
struct rtd_io {
	const char *name;
	const void *buf;
	size_t len;
	const char *shm; /* NULL: inline */
};

typedef void (*rtd_infer_done)(struct rtd_infer *infer, void *arg);

struct rtd_infer {
	TAILQ_ENTRY(rtd_infer) link; /* in the model's list */
	TAILQ_ENTRY(rtd_infer) queue; /* in the group's queue */
	LIST_ENTRY(rtd_infer) hash;
	uint64_t cookie;
	struct rtd_peer peer; /* without its groups */
	struct rtd_model *model;
	struct rtd_slot_entry *slot;
	/* bytes on peer's account: the inference, and the answer that will be sent */
	uint64_t charged;
	enum rtd_infer_state state;
	struct rtd_err err;
	bool own_names; /* inputs had the compiled model's names, and outputs get them */
	bool lent; /* executes on the thread that posted it */
	struct rtd_shm **outputs; /* by tensor index; NULL: inline */
	uint64_t posted_ns;
	rtd_infer_done done; /* its waiter's */
	void *done_arg;
};

struct rtd_shm {
	TAILQ_ENTRY(rtd_shm) link;
	char *path;
	struct rtd_owner owner;
	int fd;
	uint64_t size;
	void *map; /* hugetlbfs only, whose descriptors cannot be written */
	uint64_t map_size;
	bool writable;
	unsigned int refs;
};

struct rtd_session {
	TAILQ_ENTRY(rtd_session) link;
	uint64_t id;
	struct rtd_peer peer;
	char framework[64];
};

/* One latency or size as read_all_metrics reports it: a ring of samples */
struct rtd_metric {
	uint64_t total;
	struct {
		uint64_t ts_ns;
		double value;
	} sample[RTD_METRIC_SAMPLES];
};

enum {
	RTD_METRIC_INFER,
	RTD_METRIC_INFER_ON_CHIP,
	RTD_METRIC_START,
	RTD_METRIC_STOP,
	RTD_METRIC_LOAD,
	RTD_METRIC_UNLOAD,
	RTD_METRIC_SIZE,
	RTD_METRIC_NUM_NC,
	RTD_METRIC_MAJOR,
	RTD_METRIC_KCYCLES, /* of the chip, in thousands */
	RTD_METRICS,
};

struct rtd_counters {
	uint64_t infer, queue_drop, start, stop, load, unload;
	uint32_t ok, num_err, with_err, bad_input, timeout, unknown;
	uint32_t err_numerical, err_model, err_transient, err_hw, err_rt;
	uint64_t max_major, max_minor, min_major, min_minor, max_size, max_ncs;
};

enum rtd_event_kind {
	RTD_EVENT_EG_CREATED = 1,
	RTD_EVENT_EG_DESTROYED,
	RTD_EVENT_MODEL_LOADED,
	RTD_EVENT_MODEL_STARTED,
	RTD_EVENT_MODEL_STOPPED,
	RTD_EVENT_MODEL_FAILED, /* stopped for good: its cores could not be reset */
	RTD_EVENT_MODEL_UNLOADED,
};
struct rtd_event {
	uint64_t number, time_ns; /* from 1; wall clock */
	enum rtd_event_kind kind;
	uint32_t eg, model; /* model 0: of the group itself */
	struct rtd_peer owner, model_owner;
	bool shared; /* others may see it */
};
#define RTD_EVENTS 256 /* that are remembered */
#define RTD_EVENT_BATCH 64 /* that are told at once */
/*
 * A client that waits for events. told is called once, without a lock, with those it may see, and
 * no event where the daemon ends; then the watcher is the caller's again.
 */
struct rtd_watcher {
	TAILQ_ENTRY(rtd_watcher) link;
	struct rtd_peer peer;
	uint64_t next; /* number of the first event that it has not looked at */
	bool (*gone)(void *arg); /* its client will not see them */
	void (*told)(struct rtd_watcher *watcher, const struct rtd_event *events, unsigned int n,
		     uint64_t lost);
	void *arg;
};

struct rtd {
	struct rtd_config *config;
	struct rtd_engine *engine; /* NULL: the chips could not be opened */
	struct rtd_quota *quota; /* what clients hold */
	struct rtd_cache *cache; /* NULL: none */
	struct rtd_err init_error;
	pthread_mutex_t lock;
	pthread_cond_t idle; /* signalled when a slot comes back and when a group is gone */
	atomic_bool closing; /* set with the lock held, so that no group is made after it */
	uint32_t next_eg, next_model;
	unsigned int ngroups; /* groups whose control threads live */
	unsigned int nmodels;
	unsigned int lent; /* threads of callers that execute: rtd_worker_lend() */
	uint32_t adjustment; /* set_static_transfer_adjustment's */
	TAILQ_HEAD(, rtd_eg) egs; /* sorted by start core */
	TAILQ_HEAD(, rtd_model) models;
	TAILQ_HEAD(, rtd_session) sessions;
	TAILQ_HEAD(, rtd_shm) shms;
	LIST_HEAD(, rtd_infer) cookies[RTD_COOKIE_BUCKETS];
	struct rtd_counters counters;
	struct rtd_metric metrics[RTD_METRICS];
	/* events.c; the thread tells watchers */
	struct rtd_event events[RTD_EVENTS]; /* by number */
	uint64_t next_event;
	TAILQ_HEAD(, rtd_watcher) watchers;
	pthread_cond_t happened;
	pthread_t events_thread;
	bool events_run;
};

/* rtd.c */
struct rtd *rtd_new(struct rtd_config *config);
/*
 * Opens the chips; after a failure every call answers with the error, which is kept in init_error.
 */
void rtd_open_chips(struct rtd *rtd);
void rtd_close(struct rtd *rtd); /* stops and unloads everything; later calls are refused */
void rtd_free(struct rtd *rtd);
/* NERR_OK, or the reason why there is no chip */
int rtd_ready(struct rtd *rtd, struct rtd_err *err);

/* In lookup.c: called with the lock held, except for the clock */
struct rtd_eg *rtd_eg_find(struct rtd *rtd, uint32_t id);
struct rtd_model *rtd_model_find(struct rtd *rtd, uint32_t id);
bool rtd_session_live(struct rtd *rtd, uint64_t id); /* 0 is always live */
void rtd_metric_add(struct rtd *rtd, unsigned int metric, double value);
uint64_t rtd_now_ns(void);

/*
 * In control.c. done is called once, with no lock held and without waiting, perhaps before the call
 * returns; the error is the operation's and valid until done returns.
 */
typedef void (*rtd_done)(struct rtd_err *err, void *arg);
typedef void (*rtd_control_run)(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c);
struct rtd_control {
	STAILQ_ENTRY(rtd_control) link;
	rtd_control_run run; /* called on the group's control thread */
	uint32_t id; /* of a model */
	bool force;
	struct rtd_load *load;
	struct rtd_err err;
	rtd_done done;
	void *arg;
};
struct rtd_control *rtd_control_new(rtd_control_run run, uint32_t id, rtd_done done, void *arg);
/* Requests an operation of a group */
void rtd_control_eg(struct rtd *rtd, uint32_t eg, struct rtd_control *c);
/*
 * Requests an operation of the group of model c->id. With interrupt the model's executions end now,
 * and not only when the operation begins.
 */
void rtd_control_model(struct rtd *rtd, struct rtd_control *c, bool interrupt);
/* With the lock held; the thread ends when eg->dead is set */
int rtd_control_start(struct rtd *rtd, struct rtd_eg *eg);
void rtd_control_add(struct rtd_eg *eg, struct rtd_control *c); /* with the lock held */
void rtd_model_interrupt(struct rtd_model *model); /* with the lock held */
void rtd_eg_free(struct rtd_eg *eg); /* when the last reference is gone */

/* sweep.c */
/* If the group is empty */
void rtd_eg_destroy(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
/*
 * Destroys all groups, and unloads all other models, for which these functions return true (with
 * the lock held).
 */
struct rtd_sweep {
	bool (*eg)(const struct rtd_eg *eg, const void *who);
	bool (*model)(const struct rtd_model *model, const void *who);
	const void *who; /* valid only during the call */
};
struct rtd_swept {
	unsigned int egs, models; /* that were asked to go */
};
void rtd_sweep(struct rtd *rtd, const struct rtd_sweep *which, struct rtd_swept *swept,
	       rtd_done done, void *arg);

/* group.c */
int rtd_eg_create(struct rtd *rtd, uint32_t count, const struct rtd_owner *owner, bool implicit,
		  struct rtd_eg **eg, struct rtd_err *err); /* *eg has a reference */
void rtd_eg_put(struct rtd *rtd, struct rtd_eg *eg); /* without the lock */
/* On its control thread; the group is empty */
void rtd_eg_remove(struct rtd *rtd, struct rtd_eg *eg);

/* model.c */
struct rtd_load {
	bool has_eg;
	uint32_t eg;
	struct rtd_owner owner;
	uint32_t ninfer, timeout_ms; /* 0: the default */
	struct rtd_neff neff;
	struct rtd_neff_info info; /* from its header, set by rtd_model_load */
	uint32_t id; /* set by the load */
	/* Is the one who asked for it gone? With gone_arg; any thread calls it */
	bool (*gone)(void *arg);
	void *gone_arg;
};
/*
 * load and what it points to live until done is called. Whoever asked being gone, its session's end
 * and the daemon's are noticed while it is under way and once more when the model is there: it ends
 * with an error, and nothing stays.
 */
void rtd_model_load(struct rtd *rtd, struct rtd_load *load, rtd_done done, void *arg);
void rtd_model_start(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
/* Executions in progress are interrupted. */
void rtd_model_stop(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
void rtd_model_unload(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
/* On the control thread: stops and unloads */
void rtd_model_drop(struct rtd *rtd, struct rtd_model *model);
void rtd_model_run_unload(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c);

/* infer.c */
struct rtd_post {
	uint32_t model;
	const struct rtd_peer *peer;
	const struct rtd_io *inputs, *outputs;
	unsigned int ninputs, noutputs;
	rtd_infer_done done; /* the waiter if there is one from the start, or NULL */
	void *done_arg;
	/*
	 * This thread may execute, and tell the waiter, who does not wait for it; called with
	 * done_arg first if that may take long. NULL: it may not.
	 */
	void (*lend)(void *arg);
};
int rtd_infer_post(struct rtd *rtd, const struct rtd_post *post, uint64_t *cookie,
		   struct rtd_err *err);
/* done is called once, perhaps before this returns; after an error it is not called. */
int rtd_infer_wait(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie, bool poll,
		   rtd_infer_done done, void *arg, struct rtd_err *err);
bool rtd_infer_complete(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie);
int rtd_infer_store(struct rtd *rtd, struct rtd_infer *infer, const struct rtd_io *outputs,
		    unsigned int noutputs); /* for outputs that only the wait names */
/* Copies them into shared memory */
int rtd_infer_deliver(struct rtd_infer *infer, struct rtd_err *err);

/* infer_end.c */
void rtd_infer_free(struct rtd *rtd, struct rtd_infer *infer); /* called by the waiter */
/* Frees a list of the caller's, linked by queue, without the lock. */
void rtd_infer_free_list(struct rtd *rtd, struct rtd_infer_list *gone);
/* With the lock held: it is its waiter's from here on */
void rtd_infer_detach(struct rtd_infer *infer);
void rtd_infer_cancelled(struct rtd *rtd,
			 /* with the lock held: leaves a cookie that remembers it */
			 struct rtd_infer *infer);
/* Cancels the queued inferences and, with results, those that are done and not collected. */
void rtd_infer_cancel_model(struct rtd *rtd, struct rtd_model *model, bool results);
void rtd_infer_forget(struct rtd *rtd, struct rtd_model *model, unsigned int keep);
/* The bytes charged for the answer; the caller gives them back from here on */
uint64_t rtd_infer_uncharge(struct rtd_infer *infer);
/*
 * With the lock held: moves results of posters that have died, of one user or (NULL) of all, to
 * gone.
 */
void rtd_infer_abandoned(struct rtd_model *model, const struct rtd_peer *peer,
			 struct rtd_infer_list *gone);
void rtd_infer_reap(struct rtd *rtd, const struct rtd_peer *peer); /* the same for every model */

/* profile.c */
#define RTD_PROFILE_INFERS 4096
#define RTD_PROFILE_CORES 16
struct rtd_profile {
	struct rtd_peer peer; /* on whose account it is */
	uint64_t begun_ns; /* wall clock */
	uint64_t total; /* inferences; the first RTD_PROFILE_INFERS are kept */
	unsigned int ncores;
	struct rtd_core_counters core[RTD_PROFILE_CORES]; /* at the start; then what came since */
	struct rtd_profile_infer {
		uint64_t posted_ns, queued_ns,
			device_ns; /* wall clock; until it began; from then on */
		uint64_t cycles;
		int code;
	} infer[RTD_PROFILE_INFERS];
};
/* Begins a profile of a model, in place of one that nobody collected. */
int rtd_profile_start(struct rtd *rtd, const struct rtd_peer *peer, uint32_t model,
		      struct rtd_err *err);
/* Ends it: *profile is the caller's, and is given back to rtd_profile_free(). */
int rtd_profile_stop(struct rtd *rtd, uint32_t model, struct rtd_profile **profile,
		     struct rtd_err *err);
void rtd_profile_free(struct rtd *rtd, struct rtd_profile *profile); /* NULL: nothing */
/* With the lock held: an inference of the model ended; monotonic times */
void rtd_profile_add(struct rtd_model *model, const struct rtd_infer *infer, uint64_t begun_ns,
		     uint64_t ended_ns, uint64_t cycles);

/* events.c */
int rtd_events_start(struct rtd *rtd); /* 0 or -errno */
void rtd_events_stop(struct rtd *rtd); /* tells all watchers that there is no more */
void rtd_events_watch(struct rtd *rtd, struct rtd_watcher *watcher);
uint64_t rtd_events_next(struct rtd *rtd); /* the number that the next event gets */
/* With the lock held; model NULL: of the group */
void rtd_event(struct rtd *rtd, enum rtd_event_kind kind, const struct rtd_eg *eg,
	       const struct rtd_model *model);

/* slot.c */
struct rtd_slot_entry *rtd_slot_take(struct rtd *rtd, struct rtd_model *model,
				     const struct rtd_peer *peer, struct rtd_err *err);
void rtd_slots_free(struct rtd *rtd, struct rtd_model *model); /* frees the idle ones */
/*
 * Claims RTD_QUOTA_MEMORY; idle slots and abandoned results are freed for it. Returns NERR_OK or
 * NERR_RESOURCE.
 */
int rtd_memory_claim(struct rtd *rtd, const struct rtd_peer *peer, uint64_t amount,
		     const char *what, struct rtd_err *err);

/* worker.c */
int rtd_worker_start(struct rtd *rtd, struct rtd_eg *eg); /* the threads end when eg->end is set */
/*
 * With the lock held on entry and on return: executes a queued inference on the caller's thread and
 * tells its waiter, after which it is gone, if that is soon done; calls hold with the waiter's
 * argument first if others should not wait for it. Otherwise returns false.
 */
bool rtd_worker_lend(struct rtd *rtd, struct rtd_infer *infer, void (*hold)(void *arg));

/* shm.c */
int rtd_shm_map(struct rtd *rtd, const struct rtd_peer *peer, uint64_t session, const char *path,
		uint64_t huge_size, uint32_t prot, struct rtd_err *err);
int rtd_shm_unmap(struct rtd *rtd, const struct rtd_peer *peer, const char *path,
		  struct rtd_err *err);
struct rtd_shm *rtd_shm_get(struct rtd *rtd, const struct rtd_peer *peer, const char *path);
void rtd_shm_put(struct rtd *rtd, struct rtd_shm *shm);
/* 0 or -errno: -EIO where the client's file ends early; *done: the bytes before that */
int rtd_shm_read(struct rtd_shm *shm, void *buf, size_t len, size_t *done);
int rtd_shm_write(struct rtd_shm *shm, const void *buf, size_t len); /* 0 or -errno */
void rtd_shm_drop(struct rtd *rtd, uint64_t session); /* those of a session; 0: all */

/* session.c */
/* Returns NULL with err set if this user, or all of them, have as many as they may. */
struct rtd_session *rtd_session_open(struct rtd *rtd, const struct rtd_peer *peer,
				     struct rtd_err *err);
void rtd_session_name(struct rtd *rtd, struct rtd_session *session, const char *framework);
/*
 * done is called when everything that belonged to the session is gone. The session itself is gone
 * at once.
 */
void rtd_session_close(struct rtd *rtd, struct rtd_session *session, rtd_done done, void *arg);
/* Is the session open, and this client's? */
int rtd_session_check(struct rtd *rtd, const struct rtd_peer *peer, uint64_t id,
		      struct rtd_err *err);

#endif
