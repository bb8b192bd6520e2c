// SPDX-License-Identifier: MIT
/*
 * The profiler's extension. A profile has the runtime's system trace, which goes on for as long as
 * it does, and the plug-in's own events. One profile is made at a time, as there is one trace. The
 * interface has errors of its own, which are the plug-in's here.
 */
#include "profiler.h"

#include <stdlib.h>
#include <string.h>

#include "nrt/nrt_sys_trace.h"
#include "nrt/nrtx.h"

/* ---- the interface's structs, in its order ---- */

struct profiler;

struct error_args {
	size_t struct_size;
	void *priv;
	PJRT_Error *error;
};
struct message_args {
	size_t struct_size;
	void *priv;
	const PJRT_Error *error;
	const char *message; /* out, with its size */
	size_t message_size;
};
struct code_args {
	size_t struct_size;
	void *priv;
	const PJRT_Error *error;
	int code; /* out */
};
struct create_args {
	size_t struct_size;
	const char *options;
	size_t options_size;
	struct profiler *profiler; /* out */
};
struct profiler_args {
	size_t struct_size;
	struct profiler *profiler;
};
struct data_args {
	size_t struct_size;
	struct profiler *profiler;
	uint8_t *buffer; /* NULL: out, and the profiler's own; else it is filled */
	size_t buffer_size_in_bytes; /* out */
};
static_assert(sizeof(struct create_args) == 32 && sizeof(struct data_args) == 32 &&
		      sizeof(struct message_args) == 40,
	      "PLUGIN_Profiler_*_Args");

struct profiler_api {
	size_t struct_size;
	void *priv;
	void (*error_destroy)(struct error_args *);
	void (*error_message)(struct message_args *);
	PJRT_Error *(*error_get_code)(struct code_args *);
	PJRT_Error *(*create)(struct create_args *);
	PJRT_Error *(*destroy)(struct profiler_args *);
	PJRT_Error *(*start)(struct profiler_args *);
	PJRT_Error *(*stop)(struct profiler_args *);
	PJRT_Error *(*collect_data)(struct data_args *);
};
static_assert(sizeof(struct profiler_api) == 80, "PLUGIN_Profiler_Api");

struct profiler {
	bool begun, traced; /* the runtime's trace is its own */
	char *error; /* why the runtime has none */
	void *data;
	size_t size;
};

static void error_destroy(struct error_args *a)
{
	npj_error_free(a->error);
}

static void error_message(struct message_args *a)
{
	a->message = a->error ? a->error->message : "";
	a->message_size = a->error ? a->error->size : 0;
}

static PJRT_Error *error_code(struct code_args *a)
{
	NPJ_NEED(a->error, "error");
	a->code = a->error->code;
	return NULL;
}

static PJRT_Error *create(struct create_args *a)
{
	a->profiler = calloc(1, sizeof(*a->profiler));
	return a->profiler ? NULL : npj_no_memory();
}

/* The runtime's trace. A profile without it has the reason. */
static void begin_trace(struct profiler *p)
{
	NRT_STATUS status = nrt_sys_trace_start(NULL);
	PJRT_Error *e;

	p->traced = !status;
	free(p->error);
	p->error = NULL;
	if (!status)
		return;
	e = npj_runtime_error(status, "the runtime's trace");
	p->error = strdup(e->message);
	npj_error_free(e);
}

static PJRT_Error *start(struct profiler_args *a)
{
	struct profiler *p = a->profiler;

	NPJ_NEED(p, "profiler");
	if (p->begun)
		return NULL;
	if (npj_forked())
		return npj_forked_error();
	npj_events_begin();
	begin_trace(p);
	p->begun = true;
	return NULL;
}

static void end_trace(struct profiler *p, struct npj_events *events)
{
	char *text = NULL;
	size_t size = 0;

	if (!p->traced)
		return;
	if (!nrt_sys_trace_fetch_events(&text, &size, NULL)) {
		if (!npj_events_read(events, text, size))
			events->lost = true;
		nrt_sys_trace_buffer_free(text);
	}
	nrt_sys_trace_stop();
	p->traced = false;
}

static PJRT_Error *stop(struct profiler_args *a)
{
	struct npj_events events = { 0 };
	struct profiler *p = a->profiler;
	const char *why;

	NPJ_NEED(p, "profiler");
	if (!p->begun)
		return NULL;
	p->begun = false;
	npj_events_end(&events);
	end_trace(p, &events);
	why = p->error ? p->error : events.lost ? "some events were lost: out of memory" : NULL;
	free(p->data);
	p->data = npj_space(&events, why, &p->size);
	free(events.event);
	return p->data ? NULL : npj_no_memory();
}

static PJRT_Error *collect(struct data_args *a)
{
	struct profiler *p = a->profiler;

	NPJ_NEED(p, "profiler");
	if (p->begun)
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the profile is "
								      "still being made");
	if (a->buffer && p->size)
		memcpy(a->buffer, p->data, p->size);
	else
		a->buffer = p->data;
	a->buffer_size_in_bytes = p->data ? p->size : 0;
	return NULL;
}

static PJRT_Error *destroy(struct profiler_args *a)
{
	struct profiler *p = a->profiler;

	if (!p)
		return NULL;
	if (p->begun && !npj_forked())
		npj_error_free(stop(a));
	free(p->error);
	free(p->data);
	free(p);
	return NULL;
}

static const struct profiler_api api = {
	.struct_size = sizeof(api),
	.error_destroy = error_destroy,
	.error_message = error_message,
	.error_get_code = error_code,
	.create = create,
	.destroy = destroy,
	.start = start,
	.stop = stop,
	.collect_data = collect,
};

PJRT_Profiler_Extension npj_profiler_extension = {
	.base = { .struct_size = sizeof(npj_profiler_extension),
		  .type = PJRT_Extension_Type_Profiler },
	.profiler_api = &api,
};
