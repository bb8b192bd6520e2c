// SPDX-License-Identifier: MIT
/*
 * Inferences: posted into a model's slot, executed in order by the group's threads, collected once.
 * An inference counts against ninfer until it is collected or cancelled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "log.h"
#include "neff_called.h"
#include "rtd.h"

#define NAMES 200 /* bytes of a message for names of tensors */
#define COOKIES 32 /* 256 bytes, which getrandom never gives in part */

/* ---- cookies */

static unsigned int cookie_bucket(uint64_t cookie)
{
	return cookie % RTD_COOKIE_BUCKETS;
}

static struct rtd_infer *cookie_find(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie)
{
	struct rtd_infer *infer;

	LIST_FOREACH(infer, &rtd->cookies[cookie_bucket(cookie)], hash)
		if (infer->cookie == cookie && rtd_peer_same(&infer->peer, peer))
			return infer;
	return NULL;
}

/*
 * Cookies cannot be guessed, so that a client gets only what it posted. Each thread asks the kernel
 * for some at once.
 */
static uint64_t cookie_new(void)
{
	static _Thread_local uint64_t stock[COOKIES];
	static _Thread_local unsigned int left;
	uint64_t cookie = 0;

	while (!cookie) {
		if (!left && getrandom(stock, sizeof(stock), 0) != sizeof(stock))
			return rtd_now_ns();
		left = left ? left : COOKIES;
		cookie = stock[--left];
	}
	return cookie;
}

/* ---- post: inputs */

/* A request's tensors: each place; and for each tensor of the program the last one, and how many */
struct given {
	const struct rtd_io *list;
	unsigned int n;
	const struct rtd_io **io;
	unsigned int *count;
};

static void given_free(struct given *given)
{
	free(given->io);
	free(given->count);
}

/* The inputs, or the outputs, as libneff's rule takes them; place[]: each one's number */
static unsigned int list_called(const struct rtd_tensor *tensors, unsigned int n, bool output,
				struct neff_called *called, unsigned int *place)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (tensors[i].output != output)
			continue;
		called[count] = (struct neff_called){ tensors[i].name, tensors[i].source };
		place[count++] = i;
	}
	return count;
}

static int given_match(struct given *given, const struct rtd_program *program, bool output,
		       struct rtd_err *err)
{
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(program, &tensors), count = 0;
	struct neff_called *called = calloc(n + 1, sizeof(*called));
	unsigned int *place = calloc(n + 1, sizeof(*place));
	const char **name = calloc(given->n + 1, sizeof(*name));
	int *which = calloc(given->n + 1, sizeof(*which));
	bool ok = called && place && name && which;

	given->io = calloc(n + 1, sizeof(*given->io));
	given->count = calloc(n + 1, sizeof(*given->count));
	ok = ok && given->io && given->count;
	for (unsigned int i = 0; ok && i < given->n; i++)
		name[i] = given->list[i].name;
	if (ok)
		count = list_called(tensors, n, output, called, place);
	ok = ok && !neff_called_match(called, count, NEFF_OF_MODEL, name, given->n, which);
	for (unsigned int i = 0; ok && i < given->n; i++) {
		if (which[i] < 0)
			continue;
		given->io[place[which[i]]] = &given->list[i];
		given->count[place[which[i]]]++;
	}
	free(called);
	free(place);
	free(name);
	free(which);
	if (ok)
		return NERR_OK;
	given_free(given);
	return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
}

/* "x (input0)": both names of a tensor, for messages */
static const char *both_names(const struct rtd_tensor *tensor, char text[NAMES])
{
	if (tensor->source && strcmp(tensor->source, tensor->name))
		snprintf(text, NAMES, "%s (%s)", tensor->source, tensor->name);
	else
		snprintf(text, NAMES, "%s", tensor->name);
	return text;
}

/* The names that came, cut where they do not fit */
static const char *names_given(const struct given *given, char text[NAMES])
{
	size_t len = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < given->n && len < NAMES - 1; i++)
		len += snprintf(text + len, NAMES - len, "%s%s", i ? ", " : "",
				given->list[i].name);
	return *text ? text : "none";
}

static int refuse_count(const struct rtd_tensor *tensor, const char *must, unsigned int count,
			const struct given *given, struct rtd_err *err)
{
	char name[NAMES], names[NAMES];

	return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
			"%s [%s] must %s once, received: %u; names received: %s",
			tensor->output ? "ofmap" : "ifmap", both_names(tensor, name), must, count,
			names_given(given, names));
}

static int fill_shm(struct rtd *rtd, const struct rtd_post *post, const struct rtd_tensor *tensor,
		    const struct rtd_io *io, void *buf, struct rtd_err *err)
{
	struct rtd_shm *shm = rtd_shm_get(rtd, post->peer, io->shm);
	int code = NERR_OK, rc = 0;
	size_t there;

	if (!shm)
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Shared memory [%s] of [%s] is not mapped", io->shm, io->name);
	there = shm->size;
	if (shm->size >= tensor->size)
		rc = rtd_shm_read(shm, buf, tensor->size, &there); /* it may be shorter by now */
	if (rc && rc != -EIO)
		code = rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Shared memory [%s] of [%s] cannot be read: %s", io->shm, io->name,
				strerror(-rc));
	else if (there < tensor->size)
		code = rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Invalid data length for [%s], received %zu, expected %llu",
				io->name, there, (unsigned long long)tensor->size);
	rtd_shm_put(rtd, shm);
	return code;
}

static int fill_input(struct rtd *rtd, const struct rtd_post *post, const struct given *given,
		      struct rtd_infer *infer, unsigned int index, struct rtd_err *err)
{
	void *buf = rtd_slot_buffer(infer->slot->slot, index);
	const struct rtd_io *io = given->io[index];
	const struct rtd_tensor *tensor;

	rtd_program_tensors(infer->model->program, &tensor);
	tensor += index;
	if (given->count[index] != 1)
		return refuse_count(tensor, "be given", given->count[index], given, err);
	infer->own_names |= strcmp(io->name, tensor->name) != 0;
	if (io->shm)
		return fill_shm(rtd, post, tensor, io, buf, err);
	if (io->len != tensor->size)
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Invalid data length for [%s], received %zu, expected %llu",
				io->name, io->len, (unsigned long long)tensor->size);
	memcpy(buf, io->buf, io->len);
	return NERR_OK;
}

/*
 * Checks that every input is there. Inputs that the program does not have are accepted: the
 * compiler may have removed one that has no influence, and clients send it all the same.
 */
static int fill_inputs(struct rtd *rtd, const struct rtd_post *post, struct rtd_infer *infer,
		       struct rtd_err *err)
{
	struct given given = { post->inputs, post->ninputs, NULL, NULL };
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(infer->model->program, &tensors), ninputs = 0;
	char names[NAMES];

	for (unsigned int i = 0; i < n; i++)
		ninputs += !tensors[i].output;
	if (post->ninputs < ninputs)
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Wrong number of ifmaps, expected: %u, received: %u (%s)", ninputs,
				post->ninputs, names_given(&given, names));
	if (given_match(&given, infer->model->program, false, err))
		return err->code;
	for (unsigned int i = 0; i < n && !err->code; i++)
		if (!tensors[i].output)
			fill_input(rtd, post, &given, infer, i, err);
	given_free(&given);
	return err->code;
}

/* ---- outputs in shared memory */

static int find_output(struct rtd *rtd, struct rtd_infer *infer, const struct given *given,
		       unsigned int index, struct rtd_err *err)
{
	const struct rtd_io *io = given->io[index];
	const struct rtd_tensor *tensors, *tensor;

	rtd_program_tensors(infer->model->program, &tensors);
	tensor = &tensors[index];
	if (given->count[index] != 1 || !io->shm)
		return refuse_count(tensor, "name shared memory", given->count[index], given, err);

	infer->outputs[index] = rtd_shm_get(rtd, &infer->peer, io->shm);
	if (!infer->outputs[index])
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Shared memory [%s] of [%s] is not mapped", io->shm, io->name);

	if (infer->outputs[index]->size < tensor->size)
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Invalid data length for [%s], received %llu, expected %llu",
				io->name, (unsigned long long)infer->outputs[index]->size,
				(unsigned long long)tensor->size);
	if (!infer->outputs[index]->writable)
		return rtd_fail(err, NERR_INFER_BAD_INPUT, "NMGR",
				"Shared memory [%s] of [%s] is mapped read-only", io->shm,
				io->name);
	return NERR_OK;
}

static int find_outputs(struct rtd *rtd, struct rtd_infer *infer, const struct rtd_io *list,
			unsigned int n, struct rtd_err *err)
{
	const struct rtd_tensor *tensors;
	unsigned int ntensors = rtd_program_tensors(infer->model->program, &tensors);
	struct given given = { list, n, NULL, NULL };

	if (!n)
		return NERR_OK;
	infer->outputs = calloc(ntensors, sizeof(*infer->outputs));
	if (!infer->outputs)
		return rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
	if (given_match(&given, infer->model->program, true, err))
		return err->code;
	for (unsigned int i = 0; i < ntensors && !err->code; i++)
		if (tensors[i].output)
			find_output(rtd, infer, &given, i, err);
	given_free(&given);
	return err->code;
}

int rtd_infer_store(struct rtd *rtd, struct rtd_infer *infer, const struct rtd_io *outputs,
		    unsigned int noutputs)
{
	if (infer->outputs || !noutputs || !infer->slot)
		return NERR_OK;
	if (find_outputs(rtd, infer, outputs, noutputs, &infer->err))
		return infer->err.code;
	return rtd_infer_deliver(infer, &infer->err);
}

/* ---- post */

/* Called with the lock held. */
static int post_admit(struct rtd *rtd, const struct rtd_post *post, struct rtd_model **out,
		      struct rtd_infer_list *gone, struct rtd_err *err)
{
	struct rtd_model *model = rtd_model_find(rtd, post->model);

	if (!model || model->dead)
		return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u",
				post->model);

	if (model->state == RTD_FAILED)
		return rtd_fail(err, NERR_FAILED_STATE, "NMGR",
				"model %u was stopped after an error, %d", post->model,
				model->failure);
	if (model->state != RTD_READY || model->stopping)
		return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "model %u is not running",
				post->model);

	if (model->inflight >= model->ninfer)
		rtd_infer_abandoned(model, NULL, gone);
	if (model->inflight >= model->ninfer) {
		rtd->counters.queue_drop++;
		return rtd_fail(err, NERR_QUEUE_FULL, "NMGR",
				"model %u has %u inferences in flight, no more fit", post->model,
				model->inflight);
	}

	model->inflight++;
	model->refs++;
	*out = model;
	return NERR_OK;
}

/* Charges for the inference, and for the answer if it will be sent. */
static struct rtd_infer *infer_new(struct rtd *rtd, const struct rtd_post *post,
				   struct rtd_model *model, struct rtd_err *err)
{
	struct rtd_infer *infer = calloc(1, sizeof(*infer));
	uint64_t charge = sizeof(*infer);

	if (!post->noutputs)
		charge += rtd_program_answer_size(model->program);
	if (!infer || rtd_memory_claim(rtd, post->peer, charge, "an inference", err)) {
		rtd_fail(err, NERR_RESOURCE, "NMGR", "no memory for an inference");
		free(infer);
		return NULL;
	}

	infer->charged = charge;
	infer->peer = *post->peer;
	infer->peer.groups = NULL;
	infer->peer.ngroups = 0;
	infer->model = model;
	infer->cookie = cookie_new();
	infer->done = post->done;
	infer->done_arg = post->done_arg;
	infer->posted_ns = rtd_now_ns();
	return infer;
}

/* With the lock held; the model may have been stopped since the inference was admitted. */
static int infer_queue(struct rtd *rtd, struct rtd_infer *infer, struct rtd_err *err)
{
	struct rtd_model *model = infer->model;

	if (model->state != RTD_READY || model->stopping)
		return rtd_fail(err, NERR_INFER_CANCELLED, "NMGR", "model %u was stopped",
				model->id);
	infer->state = RTD_QUEUED;
	TAILQ_INSERT_TAIL(&model->infers, infer, link);
	LIST_INSERT_HEAD(&rtd->cookies[cookie_bucket(infer->cookie)], infer, hash);
	TAILQ_INSERT_TAIL(&model->eg->queue, infer, queue);
	return NERR_OK;
}

int rtd_infer_post(struct rtd *rtd, const struct rtd_post *post, uint64_t *cookie,
		   struct rtd_err *err)
{
	struct rtd_infer_list gone = TAILQ_HEAD_INITIALIZER(gone);
	struct rtd_model *model = NULL;
	struct rtd_infer *infer;
	uint64_t id = 0;

	pthread_mutex_lock(&rtd->lock);
	post_admit(rtd, post, &model, &gone, err);
	pthread_mutex_unlock(&rtd->lock);
	rtd_infer_free_list(rtd, &gone);
	if (err->code)
		return err->code;

	infer = infer_new(rtd, post, model, err);
	if (infer)
		infer->slot = rtd_slot_take(rtd, model, post->peer, err);
	if (!err->code && !fill_inputs(rtd, post, infer, err))
		find_outputs(rtd, infer, post->outputs, post->noutputs, err);

	pthread_mutex_lock(&rtd->lock);
	if (!err->code && !infer_queue(rtd, infer, err)) {
		id = infer->cookie;
		if (!post->lend || !rtd_worker_lend(rtd, infer, post->lend))
			pthread_cond_signal(&model->eg->work);
	}
	if (err->code == NERR_INFER_BAD_INPUT)
		rtd->counters.bad_input++;

	if (err->code)
		model->inflight--;
	if (err->code && !infer) {
		model->refs--;
		pthread_cond_broadcast(&rtd->idle);
	}
	pthread_mutex_unlock(&rtd->lock);

	if (err->code && infer)
		rtd_infer_free(rtd, infer);
	if (!err->code)
		*cookie = id;
	return err->code;
}

/* ---- wait */

int rtd_infer_wait(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie, bool poll,
		   rtd_infer_done done, void *arg, struct rtd_err *err)
{
	struct rtd_infer *infer;
	bool now = false;

	pthread_mutex_lock(&rtd->lock);
	infer = cookie_find(rtd, peer, cookie);
	if (!infer || infer->done) {
		rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "Failed to find inference: %llu",
			 (unsigned long long)cookie);
	} else if (infer->state == RTD_DONE || infer->state == RTD_CANCELLED) {
		rtd_infer_detach(infer);
		now = true;
	} else if (poll) {
		rtd_fail(err, NERR_INFER_PENDING, "NMGR", "inference %llu is not done",
			 (unsigned long long)cookie);
	} else {
		infer->done = done;
		infer->done_arg = arg;
	}
	pthread_mutex_unlock(&rtd->lock);
	if (now)
		done(infer, arg);
	return err->code;
}

bool rtd_infer_complete(struct rtd *rtd, const struct rtd_peer *peer, uint64_t cookie)
{
	struct rtd_infer *infer;
	bool complete;

	pthread_mutex_lock(&rtd->lock);
	infer = cookie_find(rtd, peer, cookie);
	complete = infer && !infer->done &&
		   (infer->state == RTD_DONE || infer->state == RTD_CANCELLED);
	pthread_mutex_unlock(&rtd->lock);
	return complete;
}
