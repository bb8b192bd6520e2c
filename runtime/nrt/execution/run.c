/* SPDX-License-Identifier: MIT */
/*
 * One run of a subgraph's programs on its core: starting the queues and waiting for SP's
 * notification
 */
#include <errno.h>
#include <string.h>

#include "rt_clock.h"
#include "rt_exec.h"
#include "rt_ranks.h"
#include "rt_trace.h"

/*
 * Many executions are short, so the wait first polls a few times, and then sleeps until the core
 * writes a notification. Where the core gives no interrupt it sleeps a little longer after each
 * poll.
 */
#define SPIN_LOOKS 200
#define SLEEP_MIN_NS 20000
#define SLEEP_MAX_NS 200000
#define SIBLING_LOOK_US 2000 /* a sleep, while another core's program may fail meanwhile */
#define ASK_LOOKS 128 /* polls between two checks whether the device is still there */
#define ASK_US 250000 /* between two looks whether somebody has reset the core */

static void queue_params(const struct rt_ring *ring, struct ndlx_queue_params *params)
{
	*params = (struct ndlx_queue_params){
		.eng = ring->eng,
		.qid = ring->qid,
		.tx_count = ring->tx.len,
		.rx_count = ring->rx.len,
		.tx_handle = ring->tx.chunk.handle,
		.rx_handle = ring->rx.chunk.handle,
	};
}

/*
 * Gives the queues this subgraph's rings, unless they still have them from the last execution; a
 * ring that rewinds is given again.
 */
static int attach_queues(struct rt_subgraph *sg, struct rt_ring **ring, unsigned int n)
{
	struct ndlx_queue_params params[RT_MAX_QUEUES];
	struct rt_ring *given[RT_MAX_QUEUES];
	const bool there = sg->core->loaded == sg;
	unsigned int count = 0;
	int err = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (there && !rt_ring_rewinds(ring[i]))
			continue;
		queue_params(ring[i], &params[count]);
		given[count++] = ring[i];
	}
	if (!count)
		return 0;
	sg->core->loaded = NULL;
	sg->ran = true;
	for (unsigned int i = 0; i < count && !err; i++)
		err = rt_iterations_restore(given[i]);
	if (!err)
		err = ndlx_dma_queue_init_batch(sg->core->dev, params, count);
	if (err)
		return err;
	for (unsigned int i = 0; i < count; i++)
		rt_ring_rewind(given[i]);
	sg->core->loaded = sg;
	return 0;
}

/* Writes the descriptors into the rings and rings the doorbells of the engines' fetch queues. */
static int start_queues(struct rt_subgraph *sg, bool lend)
{
	struct rt_ring *ring[RT_MAX_QUEUES];
	unsigned int n = rt_subgraph_rings(sg, ring);
	int err = attach_queues(sg, ring, n);

	for (unsigned int i = 0; i < n && !err; i++)
		rt_ring_write(ring[i]);
	/* from here on nothing but doorbells and the wait, which lets the core work */
	if (lend)
		ndlx_wait_lend(sg->core->waiter);
	for (unsigned int i = n - sg->nfed; i < n && !err; i++)
		err = ndlx_dma_queue_copy_start(sg->core->dev, ring[i]->eng, ring[i]->qid,
						ring[i]->tx.n, ring[i]->rx.n);
	return err;
}

/*
 * Sleeps until there may be something to see, at most until the deadline, and at most so long.
 * Returns 0 or -errno.
 */
static int wait_entry(struct rt_core *core, uint64_t deadline, uint64_t most,
		      struct timespec *pause)
{
	uint64_t now = rt_now_us();
	int err;

	if (now >= deadline)
		return -ETIMEDOUT;
	if (core->waiter) {
		err = ndlx_wait(core->waiter, deadline - now < most ? deadline - now : most);
		return err == -ETIMEDOUT ? 0 : err; /* the caller looks once more */
	}
	nanosleep(pause, NULL);
	pause->tv_nsec = pause->tv_nsec * 2 > SLEEP_MAX_NS ? SLEEP_MAX_NS : pause->tv_nsec * 2;
	return 0;
}

static _Thread_local struct {
	void (*call)(void *arg);
	void *arg;
} when_begun;

static void tell_begun(void)
{
	void (*call)(void *arg) = when_begun.call;

	when_begun.call = NULL;
	if (call)
		call(when_begun.arg);
}

EXPORT void nrtx_when_begun(void (*call)(void *arg), void *arg)
{
	tell_begun();
	when_begun.call = call;
	when_begun.arg = arg;
}

static _Thread_local uint64_t last_cycles, last_ps;

EXPORT uint64_t nrtx_last_cycles(void)
{
	return last_cycles;
}

EXPORT uint64_t nrtx_last_ps(void)
{
	return last_ps;
}

void rt_cycles_begin(void)
{
	last_cycles = last_ps = 0;
}

NRT_STATUS rt_timed_out(const struct rt_subgraph *sg, const char *where)
{
	const struct nrt_model *model = sg->model;

	return rt_fail(NRT_TIMEOUT, "TDRV",
		       "execution timeout (%u ms) on Neuron Device %u NC %u%s%s", model->timeout_ms,
		       sg->core->device, sg->core->nc, where,
		       model->timeout_given ? "" : "; NEURON_RT_EXEC_TIMEOUT sets it in seconds");
}

static NRT_STATUS wait_failed(struct rt_subgraph *sg, int err)
{
	struct rt_core *core = sg->core;
	char hang[RT_HANG_TEXT];

	if (err != -ETIMEDOUT)
		return rt_fail(rt_status_from_errno(err), "TDRV", "waiting for nd%u nc%u: %s",
			       core->device, core->nc, rt_errno_text(err));
	rt_hang_tell(sg, hang);
	return rt_timed_out(sg, *hang ? hang : sg->nparts > 1 ? ": a loop goes on" : "");
}

/*
 * The program's times. Before this process's first one the core's clock is not known: then it began
 * as early as the program's own estimate allows, which is the clock's begin on a chip that is new.
 * Its cycles are counted from the next one on.
 */
static uint64_t set_times(struct rt_subgraph *sg, uint64_t ended_ps)
{
	struct rt_core *core = sg->core;
	const bool known = core->ended_ps && core->ended_ps <= ended_ps;
	uint64_t most = known ? 0 : rt_subgraph_time(sg);
	uint64_t ps = known ? ended_ps - core->ended_ps : 0;

	core->began_ps = known ? core->ended_ps : ended_ps > most ? ended_ps - most : 0;
	core->ended_ps = ended_ps;
	return ps;
}

static void count_times(const struct rt_subgraph *sg, uint64_t ps)
{
	last_ps += ps;
	last_cycles += ps / sg->target->engine[NEURON_ENG_PE].cycle;
}

/*
 * A core that somebody else resets, by the driver's call, a chip's own or a device's, never ends
 * the program: the reset took its notification queue. 0, or how the wait ends
 */
static int was_reset(struct rt_core *core, uint64_t *ask, NRT_STATUS *status)
{
	int given;

	if (rt_now_us() < *ask)
		return 0;
	*ask = rt_now_us() + ASK_US;
	given = ndlx_notification_given(core->dev, core->nc, NEURON_NQ_NOTIFY, NEURON_ENG_SP);

	if (!given)
		*status = rt_fail(NRT_HW_ERROR, "TDRV",
				  "nd%u nc%u was reset while its program ran or before it",
				  core->device, core->nc);
	return given == -ENODEV ? given : 0;
}

/* Waits for the end of a program, or until one that it may wait for, if there is one, fails. */
static NRT_STATUS wait_done(struct rt_subgraph *sg, const struct rt_subgraph *sibling,
			    uint64_t start_us, uint64_t *ps)
{
	struct rt_core *core = sg->core;
	uint64_t deadline = start_us + (uint64_t)sg->model->timeout_ms * 1000;
	struct timespec pause = { .tv_nsec = SLEEP_MIN_NS };
	uint64_t ask = start_us + ASK_US;
	NRT_STATUS status = NRT_SUCCESS;
	struct rt_notification done;
	int err = 0;

	for (unsigned int look = 0;; look++) {
		bool worked = ndlx_wait_work(core->waiter);
		bool sleepy = look >= SPIN_LOOKS && !worked;

		/* a notification that is written after this look ends the sleep */
		if (sleepy && core->waiter)
			err = ndlx_wait_look(core->waiter);

		if (rt_nq_next(&core->done, &done)) {
			*ps = set_times(sg, done.time);
			return rt_errors_collect(sg, status);
		}
		if (!sleepy && !worked)
			continue;

		status = rt_errors_collect(sg, status);
		if (sibling)
			status = rt_errors_collect(sibling, status);
		if (!rt_fatal(status) && rt_interrupted(sg->model))
			status = NRT_EXEC_COMPLETED_WITH_ERR;
		if (!rt_fatal(status) && sg->model->group && rt_ranks_failed(sg->model))
			status = NRT_EXEC_COMPLETED_WITH_ERR;
		if (rt_fatal(status))
			return status;

		/*
		 * the ring of an unplugged device stays empty for ever; with a waiter ndlx_wait
		 * reports it
		 */
		if (!err && worked && rt_now_us() >= deadline)
			err = -ETIMEDOUT;
		if (!err && !core->waiter && look % ASK_LOOKS == 0 && rt_core_gone(core))
			err = -ENODEV;
		if (!err)
			err = was_reset(core, &ask, &status);
		if (rt_fatal(status))
			return status;
		if (!err && sleepy)
			err = wait_entry(core, deadline,
					 sibling || sg->model->group ? SIBLING_LOOK_US : ASK_US,
					 &pause);
		if (err)
			return wait_failed(sg, err);
	}
}

/* The chip's times, once its clock is known: a program that ran, and where both clocks were */
static void trace_run(const struct rt_subgraph *sg, uint64_t began, NRT_STATUS status)
{
	const struct rt_core *core = sg->core;
	struct rt_event_data data = {
		.model_id = sg->model->id,
		.name = sg->model->neff->header.name,
		.core = core->global,
		.nc_ns = core->began_ps / 1000,
	};
	uint64_t ended = rt_trace_now(), id;

	id = rt_trace_put(RT_EVENT_nc_exec_running, false, core->vnc, 0, began, &data);
	data.nc_ns = core->ended_ps / 1000;
	if (id)
		rt_trace_put(RT_EVENT_nc_exec_running, true, core->vnc, id, ended, &data);
	rt_trace_put(RT_EVENT_timestamp_sync_point, false, core->vnc, 0, ended, &data);
	if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
		rt_trace_put(RT_EVENT_numerical_err, false, core->vnc, 0, ended, &data);
}

/* A program under way */
struct run {
	struct rt_subgraph *sg;
	bool tracing;
	uint64_t start, began; /* microseconds; on the trace's clock */
	uint64_t ps; /* what the chip took for it, if that is known */
	NRT_STATUS status;
};

static void begin(struct run *r, struct rt_subgraph *sg, bool lend)
{
	int err;

	*r = (struct run){ .sg = sg };
	r->tracing = atomic_load_explicit(&rt_tracing, memory_order_relaxed);
	r->start = rt_now_us();
	r->began = r->tracing ? rt_trace_now() : 0;
	err = start_queues(sg, lend);
	if (err)
		r->status = rt_fail(rt_status_from_errno(err), "TDRV", "starting nd%u nc%u: %s",
				    sg->core->device, sg->core->nc, rt_errno_text(err));
}

static void await(struct run *r, const struct rt_subgraph *sibling)
{
	if (!r->status)
		r->status = wait_done(r->sg, sibling, r->start, &r->ps);
	ndlx_wait_leave(r->sg->core->waiter);
	if (r->tracing && !rt_fatal(r->status))
		trace_run(r->sg, r->began, r->status);
}

NRT_STATUS rt_run(struct rt_subgraph *sg, uint64_t *device_us)
{
	struct run r;

	begin(&r, sg, true);
	tell_begun();
	await(&r, NULL);
	count_times(sg, r.ps);
	*device_us += rt_now_us() - r.start;
	/* the reset clears FIFOs, queues and semaphores; the details stay */
	if (rt_fatal(r.status)) {
		sg->core->ended_ps = 0;
		rt_core_reset(sg->core);
	}
	return r.status;
}

NRT_STATUS rt_run_both(struct rt_subgraph *sg, struct rt_subgraph *sibling, uint64_t *device_us)
{
	struct run first, second;
	NRT_STATUS status;

	begin(&second, sibling, false);
	begin(&first, sg, !second.status);
	if (second.status && !first.status)
		first.status = second.status;
	tell_begun();
	await(&first, sibling);
	/* the other one waits for it in vain */
	if (rt_fatal(first.status))
		second.status = first.status;
	await(&second, NULL);
	count_times(sg, first.ps > second.ps ? first.ps : second.ps);
	*device_us += rt_now_us() - second.start;
	status = rt_fatal(second.status) || !first.status ? second.status : first.status;
	if (rt_fatal(status)) {
		sg->core->ended_ps = sibling->core->ended_ps = 0;
		rt_core_reset_both(sg->core, sibling->core);
	}
	return status;
}
