/* SPDX-License-Identifier: MIT */
/*
 * Inside libnrt. Files: status.c (names, error details), context.c (init, close, cores, counts),
 * tensor.c and tensor_set.c, place.c (a model's memory), ring.c (descriptors), gather.c (those that
 * are made while a program runs), program.c (streams), model.c (load, unload, info), pipeline.c
 * (models of several subgraphs), loops.c (those of which some are executed again), exec.c (execute,
 * wait), counters.c (datastore and nrtx counters).
 *
 * Locks, in this order: rt.lock (the context: state, cores, models), a core's exec (one execution
 * at a time, its queues and notification rings), a set's or a tensor's own. A model is pinned by
 * the calls that use it; nrt_unload waits for them. Every call that uses a core, a device or a
 * model is counted in rt.users; nrt_close lets nobody in any more, waits until all have left, and
 * holds rt.lock while it takes everything away.
 */
#ifndef NRT_PRIV_H
#define NRT_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "hal.h"
#include "ndl.h"
#include "neff.h"
#include "neuron/hw/inferentia.h"
#include "neuron/hw/ours.h"
#include "neuron/isa/codec.h"
#include "nrt/nrt.h"
#include "nrtx.h"

#define EXPORT __attribute__((visibility("default")))

#define RT_NQ_SIZE 4096 /* bytes: 128 entries, and one execution writes one */
#define RT_NQ_ENTRIES (RT_NQ_SIZE / NEURON_NQ_ENTRY_SIZE)
#define RT_DEFAULT_TIMEOUT_MS 30000

/*
 * Error details: each layer that fails adds a line in front of what it called said. rt_fail
 * returns status, so that `return rt_fail(status, "MODULE", ...)` reads well.
 */
void rt_details_clear(void);
NRT_STATUS rt_fail_at(NRT_STATUS status, const char *module, const char *function,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));
#define rt_fail(status, module, ...) rt_fail_at((status), (module), __func__, __VA_ARGS__)
NRT_STATUS rt_status_from_errno(int err);

/* A notification ring as its consumer sees it */
struct rt_nq {
	const uint8_t *ring; /* mapped */
	unsigned int next, lap;
};

struct rt_core {
	uint32_t vnc; /* of this process */
	uint32_t global; /* of the machine */
	uint32_t device, nc;
	ndl_device_t *dev;
	pthread_mutex_t exec;
	struct rt_nq done, error; /* SP's notify queue, the core's error queue */
	struct ndl_waiter *waiter; /* exec; NULL where nothing interrupts */
	bool broken; /* a reset failed: nothing runs here any more */
	struct nrt_model *loaded; /* whose rings the queues have; exec */
	bool used; /* since its last reset, by a model of owner; exec */
	uint64_t owner;
	bool locked; /* the module's core lock is held as a reader */
	struct nrtx_core_counters counters; /* engine[] unused; exec held, read without */
};

struct rt_device {
	ndl_device_t *dev;
	uint32_t isa_version; /* 0: not one of our chips */
	void *nds;
	size_t nds_size;
};

/*
 * cores.c: which cores there are and which are ours. A core's number counts the cores of each index
 * before its device's, and its own there, whether the devices before it are plugged or not.
 */
struct rt_machine {
	int index[NDL_MAX_DEVICES]; /* of the devices that are there, increasing */
	uint32_t n;
	const struct neuron_gen *gen; /* of all of them */
};

struct rt_want {
	uint32_t start, end; /* inclusive */
	uint32_t count; /* of the cores there */
};

struct rt_mark {
	uint32_t first, count; /* cores without a gap */
};

#define RT_MAX_MARKS ((NDL_MAX_DEVICES + 1) / 2) /* every second device is missing */
NRT_STATUS rt_machine(struct rt_machine *machine); /* without rt.lock: libndl has its own */
/* What the environment lets this process take */
NRT_STATUS rt_cores_visible(const struct rt_machine *machine, struct rt_want *want);
NRT_STATUS rt_cores_mark(const struct rt_machine *machine, const struct rt_want *want,
			 struct rt_mark *marks, unsigned int *nmarks);
void rt_cores_unmark(const struct rt_mark *marks, unsigned int *nmarks);

struct rt {
	pthread_mutex_t lock;
	enum { RT_NEW, RT_INIT, RT_CLOSING, RT_CLOSED } state;
	unsigned int users; /* calls in progress */
	pthread_cond_t changed; /* users fell to 0, or RT_CLOSING is over */
	uint32_t ncores;
	struct rt_core *cores;
	struct rt_device devices[NDL_MAX_DEVICES];
	struct nrt_model *models; /* list */
	pthread_mutex_t stale_lock; /* a leaf */
	struct nrt_model *stale; /* unloaded, on cores that are not at rest; list */
	struct rt_mark marks[RT_MAX_MARKS];
	unsigned int nmarks;
	uint32_t epoch; /* counts nrt_init: memory of an earlier one is gone */
	const struct neuron_gen *gen; /* of its devices; from nrt_init on */
	struct neuron_uuid uuid; /* of this process, for the core locks */
};
extern struct rt rt;

/*
 * A call begins: status is NRT_SUCCESS when it may go on, and the thread's details are cleared. It
 * ends with the block, after the return value was computed. RT_HOLD does not ask for a state.
 */
#define RT_ENTER(status) __attribute__((cleanup(rt_leave))) NRT_STATUS status = rt_enter()
#define RT_HOLD(status) __attribute__((cleanup(rt_leave), unused)) NRT_STATUS status = rt_hold()
NRT_STATUS rt_enter(void);
NRT_STATUS rt_hold(void);
void rt_leave(NRT_STATUS *status);
struct rt_core *rt_core(uint32_t vnc); /* NULL beyond the last */
/* Fresh notification rings, after a reset as well */
NRT_STATUS rt_core_rings(struct rt_core *core);
/* Tell the chip how far the error ring was read: it never overtakes its reader */
NRT_STATUS rt_core_errors_read(struct rt_core *core);
/* Halt and reset one core: exec held */
NRT_STATUS rt_core_reset(struct rt_core *core);
bool rt_core_gone(const struct rt_core *core); /* its device was unplugged */

/* Device memory: one chunk, counted for its core while it lasts */
struct rt_chunk {
	struct rt_core *core; /* NULL: none */
	ndl_device_t *dev;
	uint64_t handle, pa, size;
	uint32_t type, epoch;
};
NRT_STATUS rt_chunk_alloc(struct rt_core *core, uint64_t size, uint64_t align, uint32_t type,
			  struct rt_chunk *chunk);
void rt_chunk_free(struct rt_chunk *chunk);
static inline bool rt_chunk_alive(const struct rt_chunk *chunk)
{
	return chunk->core && chunk->epoch == __atomic_load_n(&rt.epoch, __ATOMIC_ACQUIRE);
}

/* Tensors */
struct rt_storage {
	unsigned int refs;
	nrt_tensor_placement_t placement;
	struct rt_core *core; /* DEVICE */
	struct rt_chunk chunk; /* DEVICE */
	void *va; /* host memory, or the mapping of device memory once asked for */
	size_t size;
	bool owned; /* va is ours to free */
	pthread_mutex_t lock; /* protects the making of the mapping */
};

struct nrt_tensor {
	char *name;
	struct rt_storage *storage; /* NULL: empty */
	size_t offset, size;
	uint64_t completions; /* outputs of executions that were delivered */
};

struct rt_set_item {
	char *name;
	nrt_tensor_t *tensor;
};

struct nrt_tensor_set {
	pthread_mutex_t lock;
	unsigned int n, cap;
	struct rt_set_item *item;
};
nrt_tensor_t *rt_set_find(const nrt_tensor_set_t *set, const char *name);

/* A model on a core */
struct rt_var {
	const struct neff_var *neff;
	struct rt_chunk *chunk; /* where it lies; NULL for the state buffer */
	uint64_t offset; /* in the chunk */
	uint64_t pa; /* device address of its first byte */
	bool edge; /* passes between stages, is nobody's tensor */
	bool remote; /* of them: lies in the next stage's device, pa is its window */
};
static inline bool rt_var_is_io(const struct rt_var *var)
{
	return !var->edge &&
	       (var->neff->type == NEFF_VAR_INPUT || var->neff->type == NEFF_VAR_OUTPUT);
}

/*
 * One side of a queue: the descriptors of one execution, and the ring they go into. A ring in host
 * memory is mapped and written anew for each execution, where the last one ended; one in device
 * memory is written at load, and its queue is initialised for each execution.
 */
struct rt_half {
	uint8_t *desc; /* ring id 1; freed once it lies in device memory */
	uint32_t n, cap;
	struct rt_chunk chunk;
	uint8_t *map; /* host memory, else NULL */
	uint32_t len; /* of the ring */
	struct nhal_ring at; /* where in map the next execution's begin */
};

struct rt_ring {
	uint32_t eng, qid;
	struct rt_half tx, rx;
	struct rt_ring *next; /* gather.c: the queue whose TX descriptors this one's copies write */
};

/* What one DMA asks of its queue: what the trigger rings */
struct rt_trigger {
	uint32_t id;
	uint32_t queue; /* index in rings of the data queues */
	uint32_t ntx, nrx;
};

#define RT_MAX_QUEUES (NEURON_DMA_PER_CORE_MAX * NEURON_DMA_QUEUES_PER_ENG)

struct rt_engine {
	unsigned int ntriggers;
	struct rt_trigger *triggers;
	uint8_t *stream; /* while it is built */
	size_t size;
	struct rt_ring ring;
};

/* pipeline.c: what a stage makes for the next one */
struct rt_edge {
	struct rt_var *out, *in; /* of the stage before, of this one */
	struct rt_chunk landing; /* in a neighbour's device: where the stage before writes it */
	void *host; /* from farther away: through here */
};

/* loops.c: stages that are executed again while a byte on the device is not 0 */
struct rt_loop {
	unsigned int first, last;
	const struct rt_var *condition;
};

struct nrt_model {
	struct nrt_model *next_model;
	struct neff_model
		*neff; /* metadata; bulk data freed after load. A stage: NULL, its head's */
	struct nrt_model *head; /* itself but for a stage */
	atomic_bool interrupted; /* head: executions end, and none begins */
	/* a pipeline's head has stages and nothing on the device; a stage has neighbours */
	unsigned int nstages;
	struct nrt_model **stage;
	bool shared; /* fewer cores than stages */
	unsigned int nloops; /* head: then its stages are parts, all on its core, and no pipeline */
	struct rt_loop *loops;
	pthread_mutex_t serial, count_lock; /* head: one execution, when shared; counters */
	struct nrt_model *prev, *next;
	unsigned int nedges;
	struct rt_edge *edges; /* from prev */
	pthread_mutex_t edge_lock; /* edge_full */
	pthread_cond_t edge_taken;
	bool edge_full; /* an execution of prev has them, or is about to */
	const struct neff_subgraph *sg;
	struct rt_core *core;
	uint32_t timeout_ms;
	uint64_t owner; /* head; 0: this process */
	bool ran; /* its queues were set up; the core's exec */
	unsigned int nvars;
	struct rt_var *vars;
	unsigned int nchunks;
	struct rt_chunk *chunks;
	struct rt_chunk code, one; /* streams; the word a completion writes */
	unsigned int nqueues;
	struct rt_ring *queues; /* data queues, index as in the subgraph, and gather.c's behind */
	struct rt_gathers *gathers; /* NULL: it has none */
	struct rt_engine engine[NEURON_ENGINES_MAX];
	bool rewind; /* a ring lies in device memory: initialise the queues each time */
	unsigned int running; /* calls that use it; rt.lock, with idle */
	pthread_cond_t idle;
	struct nrtx_model_counters counters; /* the core's exec */
};

/* What its programs are for */
static inline const struct neuron_target *rt_target(const struct nrt_model *model)
{
	return model->head->neff->target;
}

NRT_STATUS rt_place_begin(struct nrt_model *model); /* vars, not yet anywhere */
NRT_STATUS rt_place(struct nrt_model *model); /* chunks, constants copied in */
/* The shared scratchpad: one chunk of owner's under all virtual variables of the models */
NRT_STATUS rt_place_virtual(struct nrt_model *owner, struct nrt_model **models, unsigned int n);
NRT_STATUS rt_model_build(struct nrt_model *model); /* all that follows rt_place_begin */
NRT_STATUS rt_build_rings(struct nrt_model *model); /* data queues and triggers */
NRT_STATUS rt_build_streams(struct nrt_model *model); /* patched programs and their queues */
/* Reserve the queue's two rings and write the descriptors that were built */
NRT_STATUS rt_ring_commit(struct nrt_model *model, struct rt_ring *ring);
void rt_ring_rewind(struct rt_ring *ring); /* the queue was initialised */
void rt_ring_write(struct rt_ring *ring); /* the next execution's descriptors, in host rings */
void rt_ring_free(struct rt_ring *ring);
/* One transfer of equal length; packet boundaries are the caller's. -ENOMEM */
int rt_ring_add_tx(struct rt_ring *ring, uint64_t addr, uint32_t len, uint32_t flags);
int rt_ring_add_rx(struct rt_ring *ring, uint64_t addr, uint32_t len);
/* The runs of two patterns, whose variables lie at these addresses, in packets. -ENOMEM */
int rt_ring_add_copy(const struct nrt_model *model, struct rt_ring *ring,
		     const struct neff_pattern *from, uint64_t from_pa,
		     const struct neff_pattern *to, uint64_t to_pa);
/* The semaphore's increment behind them */
int rt_ring_add_completion(const struct nrt_model *model, struct rt_ring *ring,
			   unsigned int semaphore);
/* Device memory for descriptors whose number is known before they are: its address is then too */
NRT_STATUS rt_half_reserve(struct nrt_model *model, struct rt_half *h, uint32_t n);
/*
 * gather.c: the queues a subgraph's gathers take besides their own; what they need before the first
 * is added (model->queues is there); one of them. -ENOMEM
 */
unsigned int rt_gather_queues(const struct neff_subgraph *sg);
NRT_STATUS rt_gather_begin(struct nrt_model *model);
int rt_gather_add(struct nrt_model *model, const struct neff_dma *dma, struct rt_ring *ring);
NRT_STATUS rt_gather_commit(struct nrt_model *model); /* all are added: what they read, copied in */
void rt_gather_free(struct nrt_model *model);
/* Which UDMA engine and queue a core's n-th queue is; the first feed the FIFOs, an engine each */
/* What is left of them for data */
unsigned int rt_data_queues(const struct rt_core *core);
void rt_queue_number(const struct rt_core *core, unsigned int n, uint32_t *eng, uint32_t *qid);
struct nrt_model *rt_model_new(struct rt_core *core); /* NULL: out of memory */
void rt_model_free(struct nrt_model *model); /* all it holds, whatever was built */
/* Keep a model for a call. False: not loaded, or nrt_unload has begun to take it away */
bool rt_model_pin(const struct nrt_model *model);
void rt_model_unpin(const struct nrt_model *model);
static inline void rt_model_release(const struct nrt_model **pinned)
{
	if (*pinned)
		rt_model_unpin(*pinned);
}
/* NULL when the model is not loaded; let go with the block */
#define RT_PIN(pinned, model)                                                       \
	__attribute__((cleanup(rt_model_release))) const struct nrt_model *pinned = \
		rt_model_pin(model) ? (model) : NULL

/* exec.c, for pipeline.c and loops.c: one stage, or a model of one core */
NRT_STATUS rt_stage_execute(struct nrt_model *stage, const nrt_tensor_set_t *inputs,
			    nrt_tensor_set_t *outputs, uint64_t *device_us);
NRT_STATUS rt_run(struct nrt_model *stage); /* its program alone, exec held */
/* The model's rings, data queues first; returns how many */
unsigned int rt_model_rings(struct nrt_model *model, struct rt_ring *ring[RT_MAX_QUEUES]);
bool rt_fatal(NRT_STATUS status);
uint64_t rt_now_us(void);
void rt_count_model(struct nrt_model *model, NRT_STATUS status, uint64_t device_us,
		    uint64_t total_us);

/*
 * handover.c. exec held: the core is this model's owner's from here on, with nothing in it of
 * another one's
 */
NRT_STATUS rt_core_take(struct rt_core *core, const struct nrt_model *model);
/* A model that is loaded no more: freed when its cores are at rest, tried again by the second */
void rt_model_go(struct nrt_model *head);
void rt_stale_retry(void);
void rt_stale_free(void); /* the devices are about to be closed: this process's part */
/* Does nobody want its executions any more (nrtx_interrupt)? Then that is the status */
NRT_STATUS rt_interrupted(const struct nrt_model *stage);

/* loops.c: like a pipeline's; then all its turns, inputs there and exec held */
NRT_STATUS rt_loops_build(struct nrt_model *head);
NRT_STATUS rt_loops_run(struct nrt_model *head);

/* A subgraph's model, with its variables, behind the head's others. For loops.c */
NRT_STATUS rt_stage_add(struct nrt_model *head, struct rt_core *core);

/* pipeline.c. ncores cores from head->core on; what is left undone by a failure is freed later */
NRT_STATUS rt_pipeline_build(struct nrt_model *head, uint32_t ncores);
void rt_pipeline_free(struct nrt_model *head);
NRT_STATUS rt_pipeline_execute(struct nrt_model *head, const nrt_tensor_set_t *inputs,
			       nrt_tensor_set_t *outputs);
/*
 * A stage that executes: take what prev made; wait until next has taken what it was given, from
 * when on its edges are this execution's; give. rt_edges_empty: after a failure, they are free
 * again. No-ops where there is no neighbour.
 */
NRT_STATUS rt_edges_take(struct nrt_model *stage);
void rt_edges_wait(struct nrt_model *stage);
NRT_STATUS rt_edges_give(struct nrt_model *stage);
void rt_edges_empty(struct nrt_model *stage);

/* Datastore */
void rt_nds_open(struct rt_device *device);
void rt_nds_close(struct rt_device *device);
void rt_nds_add(struct rt_core *core, unsigned int counter, uint64_t value);
/* Memory of a NEURON_MEMALLOC_TYPE_*, taken or (negative) given back */
void rt_memory_add(struct rt_core *core, uint32_t type, int64_t bytes);

#endif
