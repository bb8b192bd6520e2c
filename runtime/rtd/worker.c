// SPDX-License-Identifier: MIT
/*
 * A group's threads: each takes the next inference from the group's queue, executes it, and tells
 * its waiter. There is one thread for each stage of a pipeline and one more, so that the cores go
 * on while gRPC sends a result.
 */
#include "log.h"
#include "rtd.h"

/*
 * A caller's thread executes when the model's last inference took no longer than this. It may take
 * longer all the same, and the callers are gRPC's threads: of its four so many are left to others.
 */
#define LEND_NS 1000000
#define LEND_THREADS 2
#define HOLD_NS 50000 /* beyond this another thread takes gRPC's events meanwhile */

/* Called with the lock held. */
static void count_result(struct rtd *rtd, const struct rtd_err *err)
{
	struct rtd_counters *c = &rtd->counters;

	c->infer++;
	switch (err->code) {
	case NERR_OK:
		c->ok++;
		break;
	case NERR_INFER_COMPLETED_WITH_NUM_ERR:
		c->num_err++;
		c->err_numerical++;
		break;
	case NERR_INFER_COMPLETED_WITH_ERR:
		c->with_err++;
		c->err_hw += err->hardware;
		c->err_model += !err->hardware;
		break;
	case NERR_TIMEOUT:
		c->timeout++;
		c->err_transient++;
		break;
	case NERR_HW_ERROR:
		c->unknown++;
		c->err_hw++;
		break;
	default:
		c->unknown++;
		c->err_rt++;
		break;
	}
}

/* With the lock held: frees the cores for the next inference. */
static void worker_leave(struct rtd_eg *eg)
{
	if (!--eg->nbusy)
		eg->busy = NULL;
	pthread_cond_broadcast(&eg->idle);
}

/*
 * With the lock held: whether this thread may begin the next inference itself. Of two threads on
 * one processor the one that tells the waiter would go first, and the cores would wait.
 */
static bool may_begin(const struct rtd_eg *eg)
{
	const struct rtd_infer *infer = TAILQ_FIRST(&eg->queue);

	/* one model executes at a time, and as many of its inferences as it has stages */
	return !eg->end && infer &&
	       (!eg->nbusy || (eg->busy == infer->model && eg->nbusy < infer->model->stages));
}

/* With the lock held: another thread begins what can begin and this one does not. */
static void worker_pass(struct rtd_eg *eg)
{
	if (may_begin(eg))
		pthread_cond_signal(&eg->work);
}

/*
 * With the lock held on entry and on return. The waiter is told while the cores execute the next
 * inference: by another thread if this one can begin it, which a lent one does not. That thread is
 * woken when it has begun.
 */
static void worker_tell(struct rtd_eg *eg, struct rtd_infer *infer)
{
	struct rtd *rtd = eg->rtd;

	if (!infer->lent && eg->nidle && TAILQ_EMPTY(&eg->ended) && may_begin(eg)) {
		TAILQ_INSERT_TAIL(&eg->ended, infer, queue);
		return;
	}
	worker_pass(eg);
	pthread_mutex_unlock(&rtd->lock);
	infer->done(infer, infer->done_arg);
	pthread_mutex_lock(&rtd->lock);
}

/*
 * With the lock held on entry and on return. A result of a model that was stopped meanwhile is
 * dropped. After a failure the waiter is told before the cores go on.
 */
static void worker_finish(struct rtd *rtd, struct rtd_infer *infer, bool fatal, uint64_t begun,
			  uint64_t cycles)
{
	struct rtd_model *model = infer->model;
	struct rtd_eg *eg = model->eg;
	uint64_t now = rtd_now_ns();
	bool told = false, stopped;

	stopped = model->stopping || (model->state != RTD_READY && model->state != RTD_FAILED);
	if (!stopped || !infer->err.code)
		count_result(rtd, &infer->err);

	model->infer_count++;
	model->took_ns = now - begun;
	rtd_metric_add(rtd, RTD_METRIC_INFER_ON_CHIP, (now - begun) / 1e9);
	if (cycles)
		rtd_metric_add(rtd, RTD_METRIC_KCYCLES, cycles / 1e3);
	rtd_metric_add(rtd, RTD_METRIC_INFER, (now - infer->posted_ns) / 1e9);

	rtd_profile_add(model, infer, begun, now, cycles);
	infer->state = RTD_DONE;
	if (stopped)
		rtd_infer_cancelled(rtd, infer);

	if (fatal && model->state == RTD_READY) {
		model->state = RTD_FAILED;
		model->failure = infer->err.code;
		rtd_event(rtd, RTD_EVENT_MODEL_FAILED, eg, model);
		eg->running = NULL;
	}

	if (infer->done) {
		rtd_infer_detach(infer);
		told = true;
	}
	if (!fatal) {
		worker_leave(eg);
		if (told)
			worker_tell(eg, infer);
		else if (infer->lent)
			worker_pass(eg);
		return;
	}

	pthread_mutex_unlock(&rtd->lock);
	if (told)
		infer->done(infer, infer->done_arg);
	rtd_infer_cancel_model(rtd, model, false);
	pthread_mutex_lock(&rtd->lock);
	worker_leave(eg);
	worker_pass(eg);
}

static bool interrupted(struct rtd *rtd, const struct rtd_model *model)
{
	bool stopping;

	pthread_mutex_lock(&rtd->lock);
	stopping = model->stopping || model->state == RTD_STANDBY;
	pthread_mutex_unlock(&rtd->lock);
	return stopping;
}

/* Wakes the thread that tells of the inference before this one; more than once does no harm. */
static void wake_teller(void *eg)
{
	pthread_cond_signal(&((struct rtd_eg *)eg)->work);
}

static void worker_execute(struct rtd *rtd, struct rtd_infer *infer)
{
	struct rtd_eg *eg = infer->model->eg;
	const bool ended = !TAILQ_EMPTY(&eg->ended);
	uint64_t begun = rtd_now_ns(), cycles;
	bool fatal = false;
	int code;

	pthread_mutex_unlock(&rtd->lock);
	code = rtd_slot_execute(infer->slot->slot, ended ? wake_teller : NULL, eg, &fatal, &cycles,
				&infer->err);
	if (code == NERR_OK || code == NERR_INFER_COMPLETED_WITH_NUM_ERR)
		rtd_infer_deliver(infer, &infer->err);
	else if (!interrupted(rtd, infer->model))
		rtd_error("NMGR", "model %u: Inference completed with err: %d", infer->model->id,
			  code);
	pthread_mutex_lock(&rtd->lock);
	worker_finish(rtd, infer, fatal, begun, cycles);
}

static void worker_begin(struct rtd_eg *eg)
{
	struct rtd_infer *infer = TAILQ_FIRST(&eg->queue);

	TAILQ_REMOVE(&eg->queue, infer, queue);
	infer->state = RTD_RUNNING;
	eg->busy = infer->model;
	eg->nbusy++;
	worker_pass(eg); /* another thread may be able to begin too */
	worker_execute(eg->rtd, infer);
}

bool rtd_worker_lend(struct rtd *rtd, struct rtd_infer *infer, void (*hold)(void *arg))
{
	struct rtd_model *model = infer->model;
	struct rtd_eg *eg = model->eg;

	if (rtd->lent == LEND_THREADS || !model->took_ns || model->took_ns > LEND_NS ||
	    TAILQ_FIRST(&eg->queue) != infer || !may_begin(eg))
		return false;
	if (model->took_ns > HOLD_NS)
		hold(infer->done_arg);
	infer->lent = true;
	rtd->lent++;
	worker_begin(eg);
	rtd->lent--;
	return true;
}

static void *worker_thread(void *arg)
{
	struct rtd_eg *eg = arg;
	struct rtd *rtd = eg->rtd;
	struct rtd_infer *infer;

	pthread_mutex_lock(&rtd->lock);
	while (!eg->end || !TAILQ_EMPTY(&eg->ended)) {
		infer = TAILQ_FIRST(&eg->ended);
		if (may_begin(eg)) {
			worker_begin(eg);
		} else if (infer) {
			TAILQ_REMOVE(&eg->ended, infer, queue);
			worker_tell(eg, infer);
		} else {
			eg->nidle++;
			pthread_cond_wait(&eg->work, &rtd->lock);
			eg->nidle--;
		}
	}
	pthread_mutex_unlock(&rtd->lock);
	return NULL;
}

int rtd_worker_start(struct rtd *rtd, struct rtd_eg *eg)
{
	int err = 0;

	eg->rtd = rtd;
	/* one for each stage, and one more that tells waiters */
	while (!err && eg->nthreads <= eg->count && eg->nthreads <= RTD_MAX_STAGES) {
		err = pthread_create(&eg->thread[eg->nthreads], NULL, worker_thread, eg);
		eg->nthreads += !err;
	}
	return eg->nthreads ? 0 : -err;
}
