// SPDX-License-Identifier: MIT
/*
 * Several processes, each with devices of its own (jax.distributed): they tell one another what
 * they have by the store of keys and values that the framework gives, and number the devices one
 * process after the other. What is not this process's own can be named, and no more.
 */
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROCESSES 1024
#define WAIT_MS 300000 /* for the slowest process's chips, as long as frameworks wait for it */
#define LINE(arch) "neuron-devices 1 " arch " lnc %u cores %u devices %u."

/* The store's callbacks: what each is called with */
typedef PJRT_Error *error_t(PJRT_Error_Code code, const char *message, size_t size);

struct get_args {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	const char *key;
	size_t key_size;
	int timeout_in_ms;
	error_t **callback_error;
	void *user_arg;
	char *value; /* out, with its size and what frees it */
	size_t value_size;
	void (*value_deleter)(char *value);
};
static_assert(sizeof(struct get_args) == 80, "PJRT_KeyValueGetCallback_Args");

struct put_args {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	const char *key;
	size_t key_size;
	const char *value;
	size_t value_size;
	error_t **callback_error;
	void *user_arg;
};
static_assert(sizeof(struct put_args) == 64, "PJRT_KeyValuePutCallback_Args");

static error_t *error = npj_error_sized;

static PJRT_Error *put(const PJRT_Client_Create_Args *a, const char *key, const char *value)
{
	PJRT_Error *(*call)(struct put_args *) =
		(PJRT_Error * (*)(struct put_args *)) a->kv_put_callback;
	struct put_args args = { .struct_size = sizeof(args),
				 .key = key,
				 .key_size = strlen(key),
				 .value = value,
				 .value_size = strlen(value),
				 .callback_error = &error,
				 .user_arg = a->kv_put_user_arg };

	return call(&args);
}

/* The value that another process has put, or will within the time */
static PJRT_Error *get(const PJRT_Client_Create_Args *a, const char *key, char *value, size_t size)
{
	PJRT_Error *(*call)(struct get_args *) =
		(PJRT_Error * (*)(struct get_args *)) a->kv_get_callback;
	struct get_args args = { .struct_size = sizeof(args),
				 .key = key,
				 .key_size = strlen(key),
				 .timeout_in_ms = WAIT_MS,
				 .callback_error = &error,
				 .user_arg = a->kv_get_user_arg };
	PJRT_Error *e = call(&args);

	if (e)
		return e;
	snprintf(value, size, "%.*s", (int)(args.value_size < size ? args.value_size : size - 1),
		 args.value ? args.value : "");
	if (args.value_deleter)
		args.value_deleter(args.value);
	return NULL;
}

static PJRT_Error *failed(const char *what, unsigned int process, PJRT_Error *e)
{
	PJRT_Error *more = npj_error(e->code, "%s of process %u: %s", what, process, e->message);

	npj_error_free(e);
	return more;
}

/* The number of devices of a process, which are to be of the chips that this one has */
static PJRT_Error *read_line(const char *text, const struct npj_chips *own, unsigned int process,
			     unsigned int *n)
{
	struct npj_chips theirs;
	char again[128];

	if (sscanf(text, LINE("%15s"), theirs.arch, &theirs.lnc, &theirs.cores, n) == 4)
		snprintf(again, sizeof(again), LINE("%s"), theirs.arch, theirs.lnc, theirs.cores,
			 *n);
	else
		again[0] = 0;
	if (strcmp(text, again) || !*n || *n > NPJ_MAX_DEVICES)
		return NPJ_INVALID("process %u says of its devices \"%.100s\", "
				   "which is not this version's way to",
				   process, text);
	if (strcmp(theirs.arch, own->arch) || theirs.lnc != own->lnc || theirs.cores != own->cores)
		return NPJ_INVALID("process %u has %s with logical cores of %u, this one %s, of %u",
				   process, theirs.arch, theirs.lnc, own->arch, own->lnc);
	return NULL;
}

PJRT_Error *npj_processes_check(const struct npj_processes *p)
{
	if (p->n < 1 || p->n > MOST_PROCESSES || p->own < 0 || p->own >= p->n)
		return NPJ_INVALID("process %lld of %lld (node_id, num_nodes): at most %d",
				   (long long)p->own, (long long)p->n, MOST_PROCESSES);
	return NULL;
}

PJRT_Error *npj_processes_exchange(const PJRT_Client_Create_Args *a, struct npj_processes *p,
				   const struct npj_chips *own, unsigned int n)
{
	static atomic_uint clients; /* of several processes: each has made as many */
	const unsigned int client = atomic_fetch_add(&clients, p->n > 1);
	char key[64], line[128];
	PJRT_Error *e;

	p->devices = calloc((size_t)p->n, sizeof(*p->devices));
	if (!p->devices)
		return npj_no_memory();
	p->devices[p->own] = n;
	if (p->n == 1)
		return NULL;
	if (!a->kv_get_callback || !a->kv_put_callback)
		return NPJ_INVALID("%lld processes and no store of "
				   "keys and values by which they meet",
				   (long long)p->n);
	snprintf(key, sizeof(key), "neuron/%u/devices/%lld", client, (long long)p->own);
	snprintf(line, sizeof(line), LINE("%s"), own->arch, own->lnc, own->cores, n);
	e = put(a, key, line);
	if (e)
		return failed("telling the devices", (unsigned int)p->own, e);
	for (unsigned int i = 0; i < p->n; i++) {
		if (i == p->own)
			continue;
		snprintf(key, sizeof(key), "neuron/%u/devices/%u", client, i);
		e = get(a, key, line, sizeof(line));
		if (e)
			return failed("the devices", i, e);
		e = read_line(line, own, i, &p->devices[i]);
		if (e)
			return e;
	}
	return NULL;
}

unsigned int npj_processes_devices(const struct npj_processes *p, unsigned int before)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < before; i++)
		n += p->devices[i];
	return n;
}
