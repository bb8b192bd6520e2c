/* SPDX-License-Identifier: MIT */
/*
 * The daemon's state, private to runtime/rtd: core groups (EGs), models, inferences, shared memory
 * and sessions. The rpc_*.c files translate messages into these calls; nothing here knows gRPC.
 *
 * One lock, rtd->lock: every list, state and count below; never held during a load, an execution, a
 * copy of tensor data or a callback. libnrt's own locks and the quota's come after it.
 * Each group has threads that execute its queue in order (worker.c), and one that does its control
 * operations (load, start, stop, unload, destroy) one at a time (control.c): nobody else waits for
 * a group. Only that thread takes models and the group itself away. References keep groups and
 * models in memory; the lists hold one.
 */
#ifndef RTD_RTD_H
#define RTD_RTD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config.h"
#include "engine.h"
#include "error.h"
#include "peer.h"
#include "quota.h"

#define RTD_FIRST_MODEL_ID 10001u
#define RTD_MAX_NINFER 1024
#define RTD_MAX_CANCELLED 1024 /* cancelled cookies a model remembers */
#define RTD_COOKIE_BUCKETS 1024
#define RTD_METRIC_SAMPLES 1024

struct rtd_owner {
	struct rtd_peer peer; /* without its groups */
	uint64_t session; /* 0: not tracked */
};

#define RTD_MAX_STAGES 16 /* of a pipeline, worth a thread each */

struct rtd_infer;
TAILQ_HEAD(rtd_infer_list, rtd_infer);
struct rtd_control;

struct rtd_eg {
	TAILQ_ENTRY(rtd_eg) link;
	uint32_t id, start, count;
	bool implicit, dead;
	enum rtd_sharing sharing; /* rtd->lock */
	unsigned int refs, nmodels;
	struct rtd_owner owner;
	struct rtd_model *running;
	STAILQ_HEAD(, rtd_control) controls; /* asked for and not done yet */
	pthread_cond_t asked;
	/* the workers: as many of a pipeline's inferences are under way as it has stages */
	struct rtd *rtd;
	unsigned int nthreads, nbusy;
	pthread_t thread[RTD_MAX_STAGES + 1];
	pthread_cond_t work, idle;
	struct rtd_infer_list queue;
	struct rtd_model *busy; /* the one whose inferences execute */
	bool end;
};

enum rtd_model_state { RTD_STANDBY, RTD_READY, RTD_FAILED };

struct rtd_slot_entry {
	SLIST_ENTRY(rtd_slot_entry) link;
	struct rtd_slot *slot;
	uint64_t size; /* on this user's account, without its groups */
	struct rtd_peer peer;
	struct rtd_model *model; /* slots_trim() */
};

struct rtd_model {
	TAILQ_ENTRY(rtd_model) link;
	uint32_t id;
	struct rtd_eg *eg;
	struct rtd_program *program;
	enum rtd_model_state state;
	struct rtd_owner owner;
	struct rtd_neff_info info;
	uint64_t neff_size, infer_count;
	uint32_t ninfer, timeout_ms;
	uint32_t stages; /* cores that it has for itself */
	bool dead;
	unsigned int
		stopping; /* stops, unloads, destroys asked for and not done: nothing executes */
	unsigned int refs; /* the list's, and one for each inference */
	unsigned int inflight; /* posted and not collected */
	unsigned int ncancelled;
	struct rtd_infer_list infers; /* with a cookie, oldest first */
	SLIST_HEAD(, rtd_slot_entry) slots;
};

enum rtd_infer_state { RTD_QUEUED, RTD_RUNNING, RTD_DONE, RTD_CANCELLED };

/* A named place for a tensor's bytes: inline bytes or a shared memory region */
struct rtd_io {
	const char *name;
	const void *buf;
	size_t len;
	const char *shm; /* NULL: inline */
};

typedef void (*rtd_infer_done)(struct rtd_infer *infer, void *arg);

struct rtd_infer {
	TAILQ_ENTRY(rtd_infer) link; /* the model's list */
	TAILQ_ENTRY(rtd_infer) queue; /* the group's queue */
	LIST_ENTRY(rtd_infer) hash;
	uint64_t cookie;
	struct rtd_peer peer; /* without its groups */
	struct rtd_model *model;
	struct rtd_slot_entry *slot;
	uint64_t charged; /* on peer's account: this, and the answer that will be sent */
	enum rtd_infer_state state;
	struct rtd_err err;
	struct rtd_shm **outputs; /* by tensor index, or NULL: inline */
	uint64_t posted_ns;
	rtd_infer_done done; /* a waiter */
	void *done_arg;
};

struct rtd_shm {
	TAILQ_ENTRY(rtd_shm) link;
	char *path;
	struct rtd_owner owner;
	int fd;
	uint64_t size;
	void *map; /* hugetlb only: the fd cannot be written */
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
	RTD_METRICS,
};

struct rtd_counters {
	uint64_t infer, queue_drop, start, stop, load, unload;
	uint32_t ok, num_err, with_err, bad_input, timeout, unknown;
	uint32_t err_numerical, err_model, err_transient, err_hw, err_rt;
	uint64_t max_major, max_minor, min_major, min_minor, max_size, max_ncs;
};

struct rtd {
	struct rtd_config *config;
	struct rtd_engine *engine; /* NULL: initialisation failed */
	struct rtd_quota *quota; /* what clients hold */
	struct rtd_err init_error;
	pthread_mutex_t lock;
	pthread_cond_t idle; /* a slot came back, or a group has gone */
	atomic_bool closing; /* set with the lock held, so that no group is made after it */
	uint32_t next_eg, next_model;
	unsigned int ngroups; /* whose control threads live */
	unsigned int nmodels;
	TAILQ_HEAD(, rtd_eg) egs; /* by start core */
	TAILQ_HEAD(, rtd_model) models;
	TAILQ_HEAD(, rtd_session) sessions;
	TAILQ_HEAD(, rtd_shm) shms;
	LIST_HEAD(, rtd_infer) cookies[RTD_COOKIE_BUCKETS];
	struct rtd_counters counters;
	struct rtd_metric metrics[RTD_METRICS];
};

/* rtd.c */
struct rtd *rtd_new(struct rtd_config *config);
/* Open the chips; on failure the error stays in init_error and every call answers it */
void rtd_open_chips(struct rtd *rtd);
void rtd_close(struct rtd *rtd); /* everything is stopped and unloaded, then refused */
void rtd_free(struct rtd *rtd);
int rtd_ready(struct rtd *rtd, struct rtd_err *err); /* NERR_OK, or why there is no chip */

/* lookup.c: locked, but for the clock */
struct rtd_eg *rtd_eg_find(struct rtd *rtd, uint32_t id);
struct rtd_model *rtd_model_find(struct rtd *rtd, uint32_t id);
bool rtd_session_live(struct rtd *rtd, uint64_t id); /* 0 is always live */
void rtd_metric_add(struct rtd *rtd, unsigned int metric, double value);
uint64_t rtd_now_ns(void);

/*
 * control.c. done is called once, with no lock held and without waiting, perhaps before the call
 * returns; the error is the operation's and alive until done returns.
 */
typedef void (*rtd_done)(struct rtd_err *err, void *arg);
typedef void (*rtd_control_run)(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c);
struct rtd_control {
	STAILQ_ENTRY(rtd_control) link;
	rtd_control_run run; /* on the group's control thread */
	uint32_t id; /* of a model */
	bool force;
	struct rtd_load *load;
	struct rtd_err err;
	rtd_done done;
	void *arg;
};
struct rtd_control *rtd_control_new(rtd_control_run run, uint32_t id, rtd_done done, void *arg);
void rtd_control_eg(struct rtd *rtd, uint32_t eg, struct rtd_control *c); /* ask a group */
/* Ask the group of model c->id; interrupt: what executes the model ends now, not when its turn
 * comes */
void rtd_control_model(struct rtd *rtd, struct rtd_control *c, bool interrupt);
int rtd_control_start(struct rtd *rtd, struct rtd_eg *eg); /* locked; ends when eg->dead is set */
void rtd_control_add(struct rtd_eg *eg, struct rtd_control *c); /* locked */
void rtd_model_interrupt(struct rtd_model *model); /* locked */
void rtd_eg_free(struct rtd_eg *eg); /* the last reference has gone */

/* sweep.c */
void rtd_eg_destroy(struct rtd *rtd, uint32_t id, rtd_done done, void *arg); /* if it is empty */
/* Destroy all groups, and unload all other models, of which these are true (locked) */
struct rtd_sweep {
	bool (*eg)(const struct rtd_eg *eg, const void *who);
	bool (*model)(const struct rtd_model *model, const void *who);
	const void *who; /* need not live longer than the call */
};
struct rtd_swept {
	unsigned int egs, models; /* asked to go */
};
void rtd_sweep(struct rtd *rtd, const struct rtd_sweep *which, struct rtd_swept *swept,
	       rtd_done done, void *arg);

/* group.c */
int rtd_eg_create(struct rtd *rtd, uint32_t count, const struct rtd_owner *owner, bool implicit,
		  struct rtd_eg **eg, struct rtd_err *err); /* *eg carries a reference */
void rtd_eg_put(struct rtd *rtd, struct rtd_eg *eg); /* unlocked */
void rtd_eg_remove(struct rtd *rtd, struct rtd_eg *eg); /* its control thread; it is empty */

/* model.c */
struct rtd_load {
	bool has_eg;
	uint32_t eg;
	struct rtd_owner owner;
	uint32_t ninfer, timeout_ms; /* 0: the default */
	const void *neff;
	size_t size;
	struct rtd_neff_info info; /* of its header, by rtd_model_load */
	uint32_t id; /* the answer */
};
/* load and what it points to are alive until done is called */
void rtd_model_load(struct rtd *rtd, struct rtd_load *load, rtd_done done, void *arg);
void rtd_model_start(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
/* Executions under way are interrupted */
void rtd_model_stop(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
void rtd_model_unload(struct rtd *rtd, uint32_t id, rtd_done done, void *arg);
void rtd_model_drop(struct rtd *rtd, struct rtd_model *model); /* control thread: stop and unload */
void rtd_model_run_unload(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c);

/* infer.c */
struct rtd_post {
	uint32_t model;
	const struct rtd_peer *peer;
	const struct rtd_io *inputs, *outputs;
	unsigned int ninputs, noutputs;
	rtd_infer_done done; /* a waiter from the start, or NULL */
	void *done_arg;
};
int rtd_infer_post(struct rtd *rtd, const struct rtd_post *post, uint64_t *cookie,
		   struct rtd_err *err);
/* done is called once, perhaps before this returns; with an error it is not called */
int rtd_infer_wait(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie, bool poll,
		   rtd_infer_done done, void *arg, struct rtd_err *err);
bool rtd_infer_complete(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie);
int rtd_infer_store(struct rtd *rtd, struct rtd_infer *infer, const struct rtd_io *outputs,
		    unsigned int noutputs); /* outputs named only by the wait */
int rtd_infer_deliver(struct rtd_infer *infer, struct rtd_err *err); /* into shared memory */

/* infer_end.c */
void rtd_infer_free(struct rtd *rtd, struct rtd_infer *infer); /* by the waiter */
/* The caller's list, by its member queue, without the lock */
void rtd_infer_free_list(struct rtd *rtd, struct rtd_infer_list *gone);
void rtd_infer_detach(struct rtd_infer *infer); /* locked: it is its waiter's from here on */
void rtd_infer_cancelled(struct rtd *rtd,
			 struct rtd_infer *infer); /* locked: a cookie that remembers it */
/* What waits in the queue and, with results, what is done and not collected */
void rtd_infer_cancel_model(struct rtd *rtd, struct rtd_model *model, bool results);
void rtd_infer_forget(struct rtd *rtd, struct rtd_model *model, unsigned int keep);
/* What is charged for the answer, which the caller gives back from here on */
uint64_t rtd_infer_uncharge(struct rtd_infer *infer);
/* Locked: results of posters that have died, of one user or (NULL) of all, are moved to gone */
void rtd_infer_abandoned(struct rtd_model *model, const struct rtd_peer *peer,
			 struct rtd_infer_list *gone);
void rtd_infer_reap(struct rtd *rtd, const struct rtd_peer *peer); /* the same, of every model */

/* slot.c */
struct rtd_slot_entry *rtd_slot_take(struct rtd *rtd, struct rtd_model *model,
				     const struct rtd_peer *peer, struct rtd_err *err);
void rtd_slots_free(struct rtd *rtd, struct rtd_model *model); /* the idle ones */
/* RTD_QUOTA_MEMORY, of which idle slots and abandoned results give way: NERR_OK or NERR_RESOURCE */
int rtd_memory_claim(struct rtd *rtd, const struct rtd_peer *peer, uint64_t amount,
		     const char *what, struct rtd_err *err);

/* worker.c */
int rtd_worker_start(struct rtd *rtd, struct rtd_eg *eg); /* ends when eg->end is set */

/* shm.c */
int rtd_shm_map(struct rtd *rtd, const struct rtd_peer *peer, uint64_t session, const char *path,
		uint64_t huge_size, uint32_t prot, struct rtd_err *err);
int rtd_shm_unmap(struct rtd *rtd, const struct rtd_peer *peer, const char *path,
		  struct rtd_err *err);
struct rtd_shm *rtd_shm_get(struct rtd *rtd, const struct rtd_peer *peer, const char *path);
void rtd_shm_put(struct rtd *rtd, struct rtd_shm *shm);
int rtd_shm_read(struct rtd_shm *shm, void *buf, size_t len); /* 0 or -errno */
int rtd_shm_write(struct rtd_shm *shm, const void *buf, size_t len); /* 0 or -errno */
void rtd_shm_drop(struct rtd *rtd, uint64_t session); /* of a session; 0: all */

/* session.c */
/* NULL with err set: this user, or all of them, have as many as they may */
struct rtd_session *rtd_session_open(struct rtd *rtd, const struct rtd_peer *peer,
				     struct rtd_err *err);
void rtd_session_name(struct rtd *rtd, struct rtd_session *session, const char *framework);
/* done: all that was the session's is gone. The session itself is from the call on. */
void rtd_session_close(struct rtd *rtd, struct rtd_session *session, rtd_done done, void *arg);
/* Is it open, and this client's */
int rtd_session_check(struct rtd *rtd, const struct rtd_peer *peer, uint64_t id,
		      struct rtd_err *err);

#endif
