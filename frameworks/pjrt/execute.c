// SPDX-License-Identifier: MIT
/*
 * Execution. A call checks everything that can be checked, makes the results, which are not ready,
 * and puts the rest on each device's queue: wait for the arguments, give the results memory, run
 * the model. A program that took little time last is run by the caller when its device has nothing
 * to do and the arguments are there.
 *
 * A donated argument counts as deleted when the call returns. Its result takes its memory if nobody
 * else has it when the program runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "executable.h"
#include "nrt/nrtx.h"

#define SHORT_NS 100000 /* a thread's waking would cost a fifth of it or more */

/* A program on one device */
struct run {
	PJRT_LoadedExecutable *program;
	unsigned int at; /* of its devices */
	struct npj_queue *queue; /* in whose turn it is run; NULL: in nobody's */
	bool reached; /* the runtime has executed its model */
	PJRT_Event *done;
	struct npj_value **in, **out; /* references; out: those that this makes */
	struct npj_value *value[];
};

static void run_free(struct run *r)
{
	const struct ncc_program *p = r->program->executable->program;

	for (unsigned int i = 0; i < p->nin + p->nout; i++)
		npj_value_unref(r->value[i]);
	npj_event_unref(r->done);
	npj_loaded_unref(r->program);
	free(r);
}

/* An argument that lies in host memory is the device's for the time of the program. */
static PJRT_Error *bring(struct run *r, unsigned int i)
{
	PJRT_Device *d = r->program->device[r->at];
	struct npj_value *here =
		npj_value_new(&d->memory[NPJ_DEVICE], r->in[i]->bytes, npj_event_done());
	PJRT_Error *e = here ? npj_value_allocate(here) : npj_no_memory();

	if (!e)
		e = npj_value_copy(here, r->in[i]);
	if (e) {
		npj_value_unref(here);
		return e;
	}
	npj_value_unref(r->in[i]);
	r->in[i] = here;
	return NULL;
}

static PJRT_Error *arguments(struct run *r)
{
	const struct ncc_program *p = r->program->executable->program;

	for (unsigned int i = 0; i < p->nin; i++) {
		const PJRT_Error *failed = npj_event_wait(r->in[i]->ready);
		PJRT_Error *e = NULL;

		if (failed)
			return npj_error(failed->code, "argument %u of %s: %s", i, p->name,
					 failed->message);
		if (!r->program->executable->trivial && r->in[i]->memory->kind != NPJ_DEVICE)
			e = bring(r, i);
		if (e)
			return e;
	}
	return NULL;
}

/*
 * A result's memory: its argument's, if nobody has it beside this program and the result itself, or
 * new.
 */
static PJRT_Error *result(struct run *r, unsigned int k, bool *taken)
{
	const PJRT_Executable *x = r->program->executable;
	int i = x->takes[k];

	*taken = i >= 0 && x->donated[i] && r->in[i]->tensor && atomic_load(&r->in[i]->refs) == 1;
	if (!*taken)
		return npj_value_allocate(r->out[k]);
	r->out[k]->tensor = r->in[i]->tensor; /* both have it until the program has ended */
	return NULL;
}

static NRT_STATUS add_all(nrt_tensor_set_t *set, const struct npj_binding *binding,
			  struct npj_value **value, unsigned int n)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < n && !status; i++)
		if (binding[i].name[0])
			status = nrt_add_tensor_to_tensor_set(set, binding[i].name,
							      value[i]->tensor);
	return status;
}

static PJRT_Error *compute(struct run *r)
{
	PJRT_LoadedExecutable *l = r->program;
	const struct ncc_program *p = l->executable->program;
	nrt_tensor_set_t *in = NULL, *out = NULL;
	NRT_STATUS status = nrt_allocate_tensor_set(&in);
	PJRT_Error *e;

	if (!status)
		status = nrt_allocate_tensor_set(&out);
	if (!status)
		status = add_all(in, l->in, r->in, p->nin);
	if (!status)
		status = add_all(out, l->out, r->out, p->nout);
	r->reached = !status;
	if (!status)
		status = nrtx_execute(l->model[r->at], in, out);
	e = npj_runtime_error(status, p->name);
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	return e;
}

static PJRT_Error *run_model(struct run *r)
{
	const PJRT_Executable *x = r->program->executable;
	unsigned int k, n = x->program->nout;
	PJRT_Error *e = NULL;
	bool *taken = calloc(n + 1, sizeof(*taken));

	if (!taken)
		return npj_no_memory();
	for (k = 0; k < n && !e; k++)
		e = result(r, k, &taken[k]);
	if (!e)
		e = compute(r);
	for (k = 0; k < n; k++) {
		if (!taken[k])
			continue;
		if (e)
			r->out[k]->tensor = NULL;
		else
			r->in[x->takes[k]]->tensor = NULL;
	}
	free(taken);
	return e;
}

/* Results that are arguments: everything else of a program without a model is done */
static PJRT_Error *hand_on(struct run *r)
{
	const struct ncc_program *p = r->program->executable->program;
	PJRT_Error *e = NULL;

	for (unsigned int k = 0; k < p->nout && !e; k++) {
		if (!r->out[k] || p->same[k] < 0)
			continue;
		e = npj_value_allocate(r->out[k]);
		if (!e)
			e = npj_value_copy(r->out[k], r->in[p->same[k]]);
	}
	return e;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One execution that took far longer than those before says that the host had other work. */
static void note_duration(atomic_llong *duration, int64_t took)
{
	int64_t before = atomic_load(duration);

	atomic_store(duration, before && took > 2 * before ? 2 * before : took);
}

static void run_now(void *arg)
{
	struct run *r = arg;
	const PJRT_Device *before = npj_calls_enter(r->program->device[r->at]);
	PJRT_Error *e = arguments(r);
	int64_t start = now_ns();
	struct npj_queue *q;
	PJRT_Event *done;

	r->reached = false;
	if (!e)
		e = r->program->executable->trivial ? hand_on(r) : run_model(r);
	/* the other devices of a program that passes something among them need not wait */
	if (e && r->program->together && !r->reached)
		nrtx_execute_failed(r->program->model[r->at]);
	note_duration(&r->program->duration, now_ns() - start);
	npj_calls_enter(before);
	/* who sees that it is ready sees its arguments' memory free */
	done = npj_event_ref(r->done);
	q = r->queue;
	run_free(r);
	if (q)
		npj_queue_end(q);
	npj_event_set(done, e);
	npj_event_unref(done);
}

/* ---- the call ---- */

static bool donatable(const PJRT_ExecuteOptions *o, unsigned int i)
{
	for (size_t k = 0; k < o->num_non_donatable_input_indices; k++)
		if (o->non_donatable_input_indices[k] == (int64_t)i)
			return false;
	return true;
}

/* A token is whatever has no bytes. */
static bool same_shape(const struct npj_shape *a, const struct npj_shape *b)
{
	if (b->type->type == PJRT_Buffer_Type_TOKEN)
		return !npj_device_bytes(a);
	return a->type == b->type && a->ndim == b->ndim &&
	       !memcmp(a->dim, b->dim, a->ndim * sizeof(a->dim[0]));
}

static void shape_text(const struct npj_shape *s, char *text, size_t room)
{
	size_t n = (size_t)snprintf(text, room, "%s[", s->type->name);

	for (unsigned int i = 0; i < s->ndim && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%lld", i ? "," : "",
				      (long long)s->dim[i]);
	if (n < room)
		snprintf(text + n, room - n, "]");
}

static PJRT_Error *check_argument(const PJRT_LoadedExecutable *l, unsigned int at,
				  PJRT_Buffer *const *args, unsigned int i,
				  const PJRT_ExecuteOptions *o)
{
	const PJRT_Executable *x = l->executable;
	PJRT_Buffer *b = args[i];
	char want[256], have[256];

	if (!b)
		return NPJ_INVALID("argument %u is NULL", i);
	if (!same_shape(&b->shape, &x->in[i])) {
		shape_text(&x->in[i], want, sizeof(want));
		shape_text(&b->shape, have, sizeof(have));
		return NPJ_INVALID("argument %u of %s is %s, expected %s", i, x->program->name,
				   have, want);
	}
	if (b->memory->device != l->device[at])
		return NPJ_INVALID("argument %u of %s is on %s, the program runs on %s", i,
				   x->program->name, b->memory->device->description->text,
				   l->device[at]->description->text);
	if (!x->donated[i] || !donatable(o, i))
		return NULL;
	for (unsigned int j = 0; j < x->program->nin; j++)
		if (j != i && args[j] == b)
			return NPJ_INVALID("argument %u of %s is donated, and argument %u as well",
					   i, x->program->name, j);
	return NULL;
}

/* Takes references to what the arguments have. */
static PJRT_Error *take_arguments(struct run *r, PJRT_Buffer *const *args,
				  const PJRT_ExecuteOptions *o)
{
	unsigned int n = r->program->executable->program->nin;
	PJRT_Error *e = NULL;

	for (unsigned int i = 0; i < n && !e; i++) {
		e = check_argument(r->program, r->at, args, i, o);
		if (!e)
			e = npj_buffer_value(args[i], &r->in[i]);
	}
	return e;
}

/* The result k as a buffer: what an argument is, or a value that the run makes */
/* Is a result without a computation the very value of an argument, which is donated to it? */
static bool is_given(const struct run *r, const PJRT_ExecuteOptions *o, unsigned int k)
{
	const PJRT_LoadedExecutable *l = r->program;
	const PJRT_Executable *x = l->executable;
	int same = x->program->same[k];

	return x->trivial && same >= 0 && x->takes[k] == same && x->donated[same] &&
	       donatable(o, (unsigned int)same) &&
	       r->in[same]->memory == &l->device[r->at]->memory[NPJ_DEVICE];
}

static PJRT_Error *make_result(struct run *r, const PJRT_ExecuteOptions *o, unsigned int k,
			       PJRT_Buffer **buffer)
{
	PJRT_LoadedExecutable *l = r->program;
	PJRT_Executable *x = l->executable;
	PJRT_Memory *memory = &l->device[r->at]->memory[NPJ_DEVICE];
	struct npj_value *v;

	if (is_given(r, o, k)) {
		v = npj_value_ref(r->in[x->program->same[k]]);
	} else {
		v = npj_value_new(memory, npj_device_bytes(&x->out[k]), npj_event_ref(r->done));
		if (v)
			r->out[k] = npj_value_ref(v);
	}
	*buffer = npj_buffer_new(l->client, &x->out[k], v);
	return *buffer ? NULL : npj_no_memory();
}

/* The handle of a donated argument has nothing any more. */
static void donate(const struct run *r, PJRT_Buffer *const *args, const PJRT_ExecuteOptions *o)
{
	const PJRT_Executable *x = r->program->executable;

	for (unsigned int i = 0; i < x->program->nin; i++)
		if (x->donated[i] && donatable(o, i))
			npj_Buffer_Delete(&(PJRT_Buffer_Delete_Args){ .buffer = args[i] });
}

static PJRT_Error *prepare(PJRT_LoadedExecutable *l, unsigned int at, PJRT_Buffer *const *args,
			   const PJRT_ExecuteOptions *o, struct run **result)
{
	const struct ncc_program *p = l->executable->program;
	struct run *r = calloc(1, sizeof(*r) + (p->nin + p->nout + 1) * sizeof(r->value[0]));
	PJRT_Error *e;

	if (!r)
		return npj_no_memory();
	r->program = npj_loaded_ref(l);
	r->at = at;
	r->in = r->value;
	r->out = r->value + p->nin;
	r->done = npj_event_new();
	e = r->done ? take_arguments(r, args, o) : npj_no_memory();
	if (e) {
		run_free(r);
		return e;
	}
	*result = r;
	return NULL;
}

static PJRT_Error *make_results(struct run *r, const PJRT_ExecuteOptions *o, PJRT_Buffer **results)
{
	unsigned int n = r->program->executable->program->nout;

	for (unsigned int k = 0; k < n; k++) {
		PJRT_Error *e = make_result(r, o, k, &results[k]);

		if (!e)
			continue;
		while (k-- > 0)
			npj_Buffer_Destroy(&(PJRT_Buffer_Destroy_Args){ .buffer = results[k] });
		return e;
	}
	return NULL;
}

/* Is all there that a program of little time waits for? */
static bool at_once(const struct run *r)
{
	const struct ncc_program *p = r->program->executable->program;
	long long took = atomic_load(&r->program->duration);

	if (!r->program->executable->trivial &&
	    (!took || took > SHORT_NS || p->ncalls || r->program->together))
		return false;
	for (unsigned int i = 0; i < p->nin; i++)
		if (!npj_event_ready(r->in[i]->ready))
			return false;
	return true;
}

/*
 * A program that a function runs which a program on the same device has called: that one waits for
 * it, and what is in the device's queue comes later.
 */
static PJRT_Error *run_within(struct run *r)
{
	const struct ncc_program *p = r->program->executable->program;
	PJRT_Error *e = NULL;

	for (unsigned int i = 0; i < p->nin && !e; i++)
		e = npj_calls_wait(r->in[i]);
	if (!e) {
		run_now(r);
		return NULL;
	}
	npj_event_set(r->done, npj_error_copy(e));
	run_free(r);
	return e;
}

static PJRT_Error *submit(struct run *r)
{
	struct npj_queue *q = r->program->device[r->at]->queue;
	PJRT_Error *e;

	if (npj_calls_within(r->program->device[r->at]))
		return run_within(r);

	/* neither a program that computes nothing nor what it waits for needs the device */
	if (r->program->executable->trivial && at_once(r)) {
		run_now(r);
		return NULL;
	}
	r->queue = q;
	if (at_once(r) && npj_queue_try(q, run_now, r))
		return NULL;
	e = npj_queue_put(q, run_now, r);
	if (!e)
		return NULL;
	npj_event_set(r->done, npj_error_copy(e));
	run_free(r);
	return e;
}

/* Makes a run on a device, with its results. */
static PJRT_Error *stage(PJRT_LoadedExecutable_Execute_Args *a, const PJRT_ExecuteOptions *o,
			 unsigned int at, size_t list, struct run **run)
{
	PJRT_Buffer *const *args = a->argument_lists ? a->argument_lists[list] : NULL;
	PJRT_LoadedExecutable *l = a->executable;
	struct run *r;
	PJRT_Error *e;

	if ((!args && a->num_args) ||
	    (l->executable->program->nout && (!a->output_lists || !a->output_lists[list])))
		return NPJ_INVALID("the list of arguments or that of results is NULL");
	e = prepare(l, at, args, o, &r);
	if (e)
		return e;
	e = make_results(r, o, a->output_lists ? a->output_lists[list] : NULL);
	if (e) {
		run_free(r);
		return e;
	}
	*run = r;
	return NULL;
}

static void launch(PJRT_LoadedExecutable_Execute_Args *a, const PJRT_ExecuteOptions *o,
		   struct run *r, size_t list)
{
	PJRT_Event *done = npj_event_ref(r->done);

	donate(r, a->argument_lists ? a->argument_lists[list] : NULL, o);
	/* the results have the error: a call that has given results has succeeded */
	npj_error_free(submit(r));
	if (a->device_complete_events)
		a->device_complete_events[list] = done;
	else
		npj_event_unref(done);
}

/* Results of runs that were not launched: nobody will see them. */
static void unstage(PJRT_LoadedExecutable_Execute_Args *a, struct run **run, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		unsigned int nout = a->executable->executable->program->nout;

		for (unsigned int k = 0; k < nout; k++)
			npj_Buffer_Destroy(
				&(PJRT_Buffer_Destroy_Args){ .buffer = a->output_lists[j][k] });
		npj_event_set(run[j]->done, NULL);
		run_free(run[j]);
	}
}

/*
 * On all devices or on none. Programs that pass something among devices have to come to all queues
 * in one order, or two of them would wait for each other.
 */
static PJRT_Error *execute_all(PJRT_LoadedExecutable_Execute_Args *a, const PJRT_ExecuteOptions *o,
			       unsigned int first)
{
	static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
	struct run **run = calloc(a->num_devices + 1, sizeof(*run));
	PJRT_Error *e = run ? NULL : npj_no_memory();
	size_t n = 0;

	while (n < a->num_devices && !e) {
		e = stage(a, o, first + (unsigned int)n, n, &run[n]);
		n += !e;
	}
	if (e) {
		if (run)
			unstage(a, run, n);
	} else {
		const bool together = a->executable->together;

		if (together)
			pthread_mutex_lock(&order);
		for (size_t i = 0; i < n; i++)
			launch(a, o, run[i], i);
		if (together)
			pthread_mutex_unlock(&order);
	}
	free(run);
	return e;
}

static PJRT_Error *check_call(const PJRT_LoadedExecutable_Execute_Args *a,
			      const PJRT_ExecuteOptions *o, unsigned int *first)
{
	PJRT_LoadedExecutable *l = a->executable;
	unsigned int at = 0;

	if (atomic_load(&l->deleted))
		return NPJ_INVALID("the executable was deleted");
	if (a->num_args != l->executable->program->nin)
		return NPJ_INVALID("%s takes %u arguments, not %zu", l->executable->program->name,
				   l->executable->program->nin, a->num_args);
	if (o->num_send_ops || o->num_recv_ops || o->num_hlo_output_callbacks)
		return npj_error(PJRT_Error_Code_UNIMPLEMENTED, "callbacks of the host in a "
								"program");
	if (a->execute_device) {
		while (at < l->n && l->device[at] != a->execute_device)
			at++;
		if (at == l->n || a->num_devices != 1)
			return NPJ_INVALID("%s is not loaded on the device that it shall run on",
					   l->executable->program->name);
	} else if (a->num_devices != l->n) {
		return NPJ_INVALID("%s runs on %u devices, not %zu", l->executable->program->name,
				   l->n, a->num_devices);
	}
	*first = at;
	return npj_client_open(l->client);
}

PJRT_Error *npj_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *a)
{
	PJRT_ExecuteOptions o = { 0 };
	unsigned int first;
	PJRT_Error *e;

	NPJ_NEED(a->executable, "executable");
	if (a->options)
		memcpy(&o, a->options,
		       a->options->struct_size < PJRT_ExecuteOptions_SIZE
			       ? a->options->struct_size
			       : PJRT_ExecuteOptions_SIZE);
	e = check_call(a, &o, &first);
	return e ? e : execute_all(a, &o, first);
}

/* A framework's data for handlers of custom calls: there are none, so it is a token. */
struct PJRT_ExecuteContext {
	char unused;
};

PJRT_Error *npj_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args *a)
{
	a->context = calloc(1, sizeof(*a->context));
	return a->context ? NULL : npj_no_memory();
}

PJRT_Error *npj_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args *a)
{
	free(a->context);
	return NULL;
}
