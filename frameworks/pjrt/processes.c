// SPDX-License-Identifier: MIT
/*
 * Several processes, each with devices of its own: they tell one another what they have, and number
 * the devices one process after the other. A framework says how many there are by options, and
 * gives a store of keys and values to meet by (jax.distributed), or by the environment, and the
 * runtime meets by that (torch_xla). On one host the runtimes then know of each other, so that
 * programs span processes; what is on another host can be named, and no more.
 */
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "digest.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrtx.h"

#define MOST_PROCESSES 1024
#define WAIT_MS 300000 /* for the slowest process's chips, as long as frameworks wait for it */
#define LINE(arch) "neuron-devices 2 " arch " lnc %u cores %u devices %u host %llx."
#define ROOM 128 /* of a line */

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

/* A number that processes have alike if they can meet: of the host, and of its network there */
static unsigned long long host_number(void)
{
	unsigned char digest[NPJ_DIGEST] = { 0 };
	unsigned long long number;
	char text[ROOM] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	size_t n = f ? fread(text, 1, 36, f) : 0;
	ssize_t m = readlink("/proc/self/ns/net", text + n, sizeof(text) - 1 - n);

	if (f)
		fclose(f);
	n += m > 0 ? (size_t)m : 0;
	npj_digest(&(struct npj_blob){ text, n }, 1, digest);
	memcpy(&number, digest, sizeof(number));
	return number;
}

/*
 * The number of devices of a process, which are to be of the chips that this one has, and its host's
 */
static PJRT_Error *read_line(const char *text, const struct npj_chips *own, unsigned int process,
			     unsigned int *n, unsigned long long *host)
{
	struct npj_chips theirs;
	char again[ROOM];

	if (sscanf(text, LINE("%15s"), theirs.arch, &theirs.lnc, &theirs.cores, n, host) == 5)
		snprintf(again, sizeof(again), LINE("%s"), theirs.arch, theirs.lnc, theirs.cores,
			 *n, *host);
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

/* ---- how many there are ---- */

/* A number of the environment; false: it is none, which is said */
static bool number_of(const char *name, const char *text, long long *n, PJRT_Error **e)
{
	char *end;

	*n = strtoll(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end)
		return true;
	*e = NPJ_INVALID("%s=%.40s: a number is expected", name, text);
	return false;
}

/* By the variables that torch_xla sets for each of its processes. Unset: there is one. */
static PJRT_Error *by_environment(struct npj_processes *p)
{
	const char *index = getenv("NEURON_PJRT_PROCESS_INDEX");
	const char *each = getenv("NEURON_PJRT_PROCESSES_NUM_DEVICES");
	const char *world = getenv("NEURON_PJRT_WORLD_SIZE");
	long long own, n = 1;
	PJRT_Error *e = NULL;

	p->n = 1;
	if (!index || !*index)
		return NULL;
	if (!number_of("NEURON_PJRT_PROCESS_INDEX", index, &own, &e))
		return e;
	if (each && *each) {
		for (const char *c = each; *c; c++)
			n += *c == ',';
	} else if (world && *world) {
		if (!number_of("NEURON_PJRT_WORLD_SIZE", world, &n, &e))
			return e;
	} else if (own) {
		return NPJ_INVALID("NEURON_PJRT_PROCESS_INDEX=%s without "
				   "NEURON_PJRT_PROCESSES_NUM_DEVICES or NEURON_PJRT_WORLD_SIZE",
				   index);
	}
	p->own = own;
	p->n = n;
	return NULL;
}

PJRT_Error *npj_processes_check(struct npj_processes *p)
{
	PJRT_Error *e;

	p->store = p->n != NPJ_UNSAID;
	e = p->store ? NULL : by_environment(p);
	if (!e && (p->n < 1 || p->n > MOST_PROCESSES || p->own < 0 || p->own >= p->n))
		e = NPJ_INVALID("process %lld of %lld (node_id, num_nodes, "
				"NEURON_PJRT_PROCESS_INDEX): at most %d",
				(long long)p->own, (long long)p->n, MOST_PROCESSES);
	return e;
}

/* ---- what each has ---- */

/* Everybody's lines, by the store */
static PJRT_Error *lines_by_store(const PJRT_Client_Create_Args *a, const struct npj_processes *p,
				  unsigned int client, char (*line)[ROOM])
{
	const unsigned int own = (unsigned int)p->own;
	char key[64];
	PJRT_Error *e;

	snprintf(key, sizeof(key), "neuron/%u/devices/%u", client, own);
	e = put(a, key, line[own]);
	if (e)
		return failed("telling the devices", own, e);
	for (unsigned int i = 0; i < p->n && !e; i++) {
		if (i == own)
			continue;
		snprintf(key, sizeof(key), "neuron/%u/devices/%u", client, i);
		e = get(a, key, line[i], ROOM);
		if (e)
			return failed("the devices", i, e);
	}
	return NULL;
}

/* The same by the runtime */
static PJRT_Error *lines_by_runtime(const struct npj_processes *p, char (*line)[ROOM])
{
	const uint32_t own = (uint32_t)p->own, n = (uint32_t)p->n;
	char mine[ROOM];
	NRT_STATUS status = nrtx_meet(NULL, own, n);

	memcpy(mine, line[own], ROOM);
	if (!status)
		status = nrt_all_gather(0, own, n, ROOM, mine, line);
	for (uint32_t i = 0; i < n; i++)
		line[i][ROOM - 1] = 0;
	return npj_runtime_error(status, "meeting the other processes");
}

/* A name to meet by, which process 0 makes up */
static PJRT_Error *meet(const PJRT_Client_Create_Args *a, const struct npj_processes *p,
			unsigned int client)
{
	char key[64], name[ROOM];
	unsigned long long number;
	PJRT_Error *e;

	snprintf(key, sizeof(key), "neuron/%u/meet", client);
	if (p->own) {
		e = get(a, key, name, sizeof(name));
	} else {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return npj_error(PJRT_Error_Code_INTERNAL, "no random numbers");
		snprintf(name, sizeof(name), "pjrt:%016llx", number);
		e = put(a, key, name);
	}
	if (e)
		return failed("where processes meet, says the store", 0, e);
	return npj_runtime_error(nrtx_meet(name, (uint32_t)p->own, (uint32_t)p->n),
				 "meeting the other processes");
}

static PJRT_Error *read_lines(struct npj_processes *p, const struct npj_chips *own,
			      char (*line)[ROOM])
{
	const unsigned long long host = host_number();
	unsigned long long theirs;
	PJRT_Error *e = NULL;

	for (unsigned int i = 0; i < p->n && !e; i++) {
		e = read_line(line[i], own, i, &p->devices[i], &theirs);
		if (!e && theirs != host)
			p->apart = "processes are on several hosts, between which nothing passes";
	}
	return e;
}

PJRT_Error *npj_processes_exchange(const PJRT_Client_Create_Args *a, struct npj_processes *p,
				   const struct npj_chips *own, unsigned int n)
{
	static atomic_uint clients; /* of several processes: each has made as many */
	const unsigned int client = atomic_fetch_add(&clients, p->n > 1);
	char(*line)[ROOM] = calloc((size_t)p->n, sizeof(*line));
	PJRT_Error *e = NULL;

	p->devices = calloc((size_t)p->n, sizeof(*p->devices));
	if (!p->devices || !line) {
		free(line);
		return npj_no_memory();
	}
	p->devices[p->own] = n;
	if (p->store && p->n > 1 && (!a->kv_get_callback || !a->kv_put_callback))
		e = NPJ_INVALID("%lld processes and no store of keys and values by which they meet",
				(long long)p->n);
	else if (p->n > 1) {
		snprintf(line[p->own], sizeof(*line), LINE("%s"), own->arch, own->lnc, own->cores,
			 n, host_number());
		e = p->store ? lines_by_store(a, p, client, line) : lines_by_runtime(p, line);
		e = e ? e : read_lines(p, own, line);
		if (!e && !p->apart && p->store)
			e = meet(a, p, client);
	}
	free(line);
	return e;
}

unsigned int npj_processes_devices(const struct npj_processes *p, unsigned int before)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < before; i++)
		n += p->devices[i];
	return n;
}
