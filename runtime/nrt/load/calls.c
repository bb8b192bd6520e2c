/* SPDX-License-Identifier: MIT */
/*
 * Calls of the host between the parts of a program (docs/neff.md): who has registered a function
 * for them, and one call. A core is at rest meanwhile and nobody's: its exec is not held, so that
 * the function may execute models on it. What the program goes on with lies in the scratchpad.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_calls.h"
#include "rt_clock.h"
#include "rt_trace.h"

#define TARGETS 8
#define TARGET_NAME 64
#define MESSAGE 1024

static struct {
	pthread_mutex_t lock;
	struct target {
		char name[TARGET_NAME];
		nrtx_host_function_t *call; /* NULL: the place is free */
		void *arg;
	} target[TARGETS];
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* With the lock. NULL: nobody has registered it */
static struct target *find(const char *name)
{
	for (unsigned int i = 0; i < TARGETS; i++)
		if (host.target[i].call && !strcmp(host.target[i].name, name))
			return &host.target[i];
	return NULL;
}

static struct target *find_free(void)
{
	for (unsigned int i = 0; i < TARGETS; i++)
		if (!host.target[i].call)
			return &host.target[i];
	return NULL;
}

EXPORT NRT_STATUS nrtx_host_function(const char *target, nrtx_host_function_t *call, void *arg)
{
	struct target *t;

	rt_details_clear();
	if (!target || !*target || strlen(target) >= TARGET_NAME)
		return rt_fail(NRT_INVALID, "NRT", "no name of 1 to %d bytes", TARGET_NAME - 1);
	pthread_mutex_lock(&host.lock);
	t = find(target);
	t = t || !call ? t : find_free();
	if (t) {
		strcpy(t->name, target);
		t->call = call;
		t->arg = arg;
	}
	pthread_mutex_unlock(&host.lock);
	return t || !call ? NRT_SUCCESS
			  : rt_fail(NRT_RESOURCE, "NRT", "more than %d targets", TARGETS);
}

static bool get(const char *name, struct target *copy)
{
	const struct target *t;

	pthread_mutex_lock(&host.lock);
	t = find(name);
	if (t)
		*copy = *t;
	pthread_mutex_unlock(&host.lock);
	return t;
}

NRT_STATUS rt_calls_check(const struct neff_model *neff)
{
	struct target t;

	for (unsigned int i = 0; i < neff->ncalls; i++)
		if (!get(neff->calls[i].target, &t))
			return rt_fail(NRT_INVALID, "NMGR",
				       "the program calls %.64s (index %llu), a function of the "
				       "host's, and this process has none of that name",
				       neff->calls[i].target,
				       (unsigned long long)neff->calls[i].index);
	return NRT_SUCCESS;
}

/* One call under way: the scratchpad's place, and the host's arrays */
struct calling {
	const struct rt_job *job;
	const struct neff_call *call;
	struct rt_chunk *chunk;
	uint64_t base;
	struct nrtx_host_array *array;
};

static void find_scratchpad(struct calling *c)
{
	for (unsigned int k = 0; k < c->job->n; k++) {
		const struct rt_subgraph *sg = &c->job->sg[k];

		for (unsigned int i = 0; i < sg->nvars; i++) {
			const struct rt_var *var = &sg->vars[i];

			if (var->neff->type != NEFF_VAR_VIRTUAL)
				continue;
			c->chunk = var->chunk;
			c->base = var->offset - var->neff->backing_off;
			return;
		}
	}
}

static int copy(const struct calling *c, uint64_t off, void *data, size_t size, bool in)
{
	struct rt_chunk *chunk = c->chunk;

	return in ? ndlx_memory_buf_copyout(chunk->dev, chunk->handle, data, c->base + off, size)
		  : ndlx_memory_buf_copyin(chunk->dev, chunk->handle, data, c->base + off, size);
}

/* One half of complex numbers, which lie one beside the other on the host: 4 bytes of each 8 */
static void put_half(char *whole, char *half, size_t bytes, bool in)
{
	for (size_t at = 0; at < bytes; at += 4)
		memcpy(in ? whole + 2 * at : half + at, in ? half + at : whole + 2 * at, 4);
}

static int copy_half(const struct calling *c, uint64_t off, char *whole, size_t bytes, bool in)
{
	char *half = malloc(bytes);
	int err = half ? 0 : -ENOMEM;

	if (!err && !in)
		put_half(whole, half, bytes, in);
	if (!err)
		err = copy(c, off, half, bytes, in);
	if (!err && in)
		put_half(whole, half, bytes, in);
	free(half);
	return err;
}

/* Between the scratchpad and the host's array i */
static int copy_array(const struct calling *c, unsigned int i, bool in)
{
	const struct neff_call_array *a = &c->call->array[i];
	const size_t bytes = neff_call_bytes(a);
	char *data = c->array[i].data;
	int err = 0;

	for (unsigned int k = 0; k < a->noff && !err; k++) {
		if (a->off[k] == NEFF_CALL_NOWHERE)
			continue;
		err = a->noff == 1 ? copy(c, a->off[k], data, bytes, in)
				   : copy_half(c, a->off[k], data + 4 * k, bytes, in);
	}
	return err;
}

static int make_arrays(struct calling *c)
{
	const unsigned int n = c->call->nin + c->call->nout;

	c->array = calloc(n + 1, sizeof(*c->array));
	if (!c->array)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		const struct neff_call_array *a = &c->call->array[i];
		const size_t bytes = neff_call_bytes(a) * neff_call_halves(a);

		c->array[i] = (struct nrtx_host_array){ a->type, a->ndim, a->shape,
							calloc(1, bytes ? bytes : 1) };
		if (!c->array[i].data)
			return -ENOMEM;
	}
	return 0;
}

static void free_arrays(struct calling *c)
{
	for (unsigned int i = 0; c->array && i < c->call->nin + c->call->nout; i++)
		free(c->array[i].data);
	free(c->array);
}

static NRT_STATUS failed(const struct calling *c, int err)
{
	return err ? rt_fail(rt_status_from_errno(err), "NRT", "arrays of %.64s(%llu): %s",
			     c->call->target, (unsigned long long)c->call->index,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* The part of the job for the logical core's second core; NULL: it has one core */
static struct rt_subgraph *sibling_of(const struct rt_job *job)
{
	struct rt_subgraph *second = &job->sg[job->n / 2];

	return job->sg->model->kind->siblings ? second : NULL;
}

static void leave_core(const struct rt_job *job)
{
	struct rt_subgraph *sibling = sibling_of(job);

	pthread_mutex_unlock(&job->sg->core->exec);
	if (sibling)
		pthread_mutex_unlock(&sibling->core->exec);
}

static NRT_STATUS take_core(const struct rt_job *job)
{
	struct rt_subgraph *sibling = sibling_of(job);
	struct rt_core *core = job->sg->core;
	NRT_STATUS status;

	if (sibling)
		pthread_mutex_lock(&sibling->core->exec);
	pthread_mutex_lock(&core->exec);
	if (core->broken || (sibling && sibling->core->broken))
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV",
			       "nd%u nc%u needs a reset after a call of the host", core->device,
			       core->nc);
	status = rt_job_take(job->sg);
	return status || !sibling ? status : rt_job_take(sibling);
}

/* Calls the function without the core. *text: what it says of a failure */
static NRT_STATUS call_host(struct calling *c, const struct target *t)
{
	const struct neff_call *call = c->call;
	char message[MESSAGE] = "";
	NRT_STATUS status;
	int ret;

	leave_core(c->job);
	ret = t->call(t->arg, call->index, call->nin, c->array, call->nout, c->array + call->nin,
		      message, sizeof(message));
	status = take_core(c->job);
	if (status || !ret)
		return status;
	message[MESSAGE - 1] = 0;
	return rt_fail(NRT_FAILURE, "NRT", "%.64s(%llu): %s", call->target,
		       (unsigned long long)call->index, *message ? message : "failed");
}

static NRT_STATUS make_call(struct calling *c)
{
	const struct neff_call *call = c->call;
	NRT_STATUS status;
	struct target t;
	int err = make_arrays(c);

	for (unsigned int i = 0; i < call->nin && !err; i++)
		err = copy_array(c, i, true);
	if (err)
		return failed(c, err);
	if (!get(call->target, &t))
		return rt_fail(NRT_FAILURE, "NRT", "%.64s: the function is gone", call->target);
	status = call_host(c, &t);
	for (unsigned int i = call->nin; i < call->nin + call->nout && !status; i++)
		status = failed(c, copy_array(c, i, false));
	return status;
}

/* Calls are in the order of the parts, which libneff has checked. */
static unsigned int first_behind(const struct neff_model *neff, unsigned int part)
{
	unsigned int low = 0, high = neff->ncalls;

	while (low < high) {
		const unsigned int middle = low + (high - low) / 2;

		if (neff->calls[middle].after < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

NRT_STATUS rt_calls_make(const struct rt_job *job, unsigned int part)
{
	const struct neff_model *neff = job->sg->model->neff;
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = first_behind(neff, part); i < neff->ncalls && !status; i++) {
		struct calling c = { .job = job, .call = &neff->calls[i] };
		uint8_t wanted = 1;
		int err = 0;

		if (c.call->after != part)
			break;
		find_scratchpad(&c);
		if (c.call->guarded)
			err = copy(&c, c.call->guard, &wanted, sizeof(wanted), true);
		status = err ? failed(&c, err) : wanted ? make_call(&c) : NRT_SUCCESS;
		free_arrays(&c);
	}
	return status;
}
