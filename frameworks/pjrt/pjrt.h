/* SPDX-License-Identifier: MIT */
/*
 * What the plug-in's files share: its objects and who owns them. Names of the interface begin with
 * PJRT_, the plug-in's own with npj_.
 *
 * A handle that a caller has is one reference: of a PJRT_Event to the event, of a PJRT_Buffer to a
 * value, which is what lies in memory, of a PJRT_LoadedExecutable to an executable. A value's
 * memory goes with its last reference, which a program under way has too. All that is made of a
 * client has a reference to it; what is the runtime's ends with the last client.
 *
 * Locks, none of which is held when another is taken or a caller's function is called: a client's,
 * an event's, a queue's, the runtime's.
 */
#ifndef NPJ_PJRT_H
#define NPJ_PJRT_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ncc_program.h"
#include "nrt/nrt.h"
#include "pjrt_api.h"

#define NPJ_PLATFORM "neuron"
#define NPJ_MAX_DIMS 64 /* of a buffer; programs have at most NCC_MAX_DIMS */

/* Names of the interface's functions that are done here: npj_Client_Create, ... */
#define PJRT_FUNCTION(name) PJRT_Error *npj_##name(PJRT_##name##_Args *a);
#include "pjrt_functions.h"
PJRT_LAYOUTS_FUNCTIONS(PJRT_FUNCTION)
PJRT_SHARDINGS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION

/* ---- errors (error.c) ---- */

struct PJRT_Error {
	const PJRT_Error_FunctionTable *functions;
	PJRT_Error_Code code;
	size_t size;
	char *message; /* behind the struct */
};

/* Never NULL: without memory it is an error that says so. */
PJRT_Error *npj_error(PJRT_Error_Code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));
PJRT_Error *npj_error_copy(const PJRT_Error *e); /* NULL of NULL */
PJRT_Error *npj_error_sized(PJRT_Error_Code code, const char *text, size_t size)
	__attribute__((returns_nonnull));
void npj_error_free(PJRT_Error *e); /* NULL: nothing */
PJRT_Error *npj_no_memory(void) __attribute__((returns_nonnull));
/* The runtime's failure, and its reasons; NULL: NRT_SUCCESS. The calling thread's last call */
PJRT_Error *npj_runtime_error(NRT_STATUS status, const char *what);

#define NPJ_INVALID(...) npj_error(PJRT_Error_Code_INVALID_ARGUMENT, __VA_ARGS__)
/* A handle that must be there */
#define NPJ_NEED(handle, what)                               \
	do {                                                 \
		if (!(handle))                               \
			return NPJ_INVALID(what " is NULL"); \
	} while (0)

/* A text that is given out, with its size */
#define NPJ_TEXT(result, size, value)    \
	do {                             \
		(result) = (value);      \
		(size) = strlen(result); \
	} while (0)

/* ---- the process (process.c) ---- */

/* Is this a child of fork? The runtime's threads and chips are the parent's then. */
bool npj_forked(void);
PJRT_Error *npj_forked_error(void); /* NULL: it is not */
void npj_process_init(void); /* at the first call */
/* Each begin that succeeds has an end; the runtime is there between the first and the last. */
PJRT_Error *npj_runtime_begin(void);
void npj_runtime_end(void);
bool npj_narrow_asked(void); /* 64-bit types are taken without the client's option */

/* ---- types (types.c) ---- */

struct npj_type {
	PJRT_Buffer_Type type;
	int xla; /* PrimitiveType */
	uint8_t host, device; /* bytes of an element, of a 64-bit one on the device half of them */
	const char *name;
};
const struct npj_type *npj_type(PJRT_Buffer_Type type); /* NULL: none */
const struct npj_type *npj_type_of_xla(int xla);
const struct npj_type *npj_type_named(const char *name); /* in upper or lower case */
static inline bool npj_type_wide(const struct npj_type *t)
{
	return t->host != t->device;
}
#define NPJ_NO_64BIT                                                                         \
	"Neuron chips have no 64-bit types. In JAX leave jax_enable_x64 off (its default), " \
	"or use a 32-bit dtype"
/* Elements of host form to device form and back; to and from do not overlap */
void npj_narrow(const struct npj_type *t, void *to, const void *from, size_t n);
void npj_widen(const struct npj_type *t, void *to, const void *from, size_t n);

struct npj_shape {
	const struct npj_type *type;
	unsigned int ndim;
	int64_t dim[NPJ_MAX_DIMS];
	size_t elements;
};
/* Checks dimensions that a caller gives. */
PJRT_Error *npj_shape_set(struct npj_shape *s, PJRT_Buffer_Type type, const int64_t *dims,
			  size_t n);
static inline size_t npj_device_bytes(const struct npj_shape *s)
{
	return s->elements * s->type->device;
}

/* ---- layouts of host memory (strides.c) ---- */

/* Row-major strides in bytes */
void npj_dense(const struct npj_shape *s, int64_t *stride);
bool npj_is_dense(const struct npj_shape *s, const int64_t *stride);
/* The strides that a layout of the caller's says; NULL: dense. */
PJRT_Error *npj_layout_strides(const struct npj_shape *s, const PJRT_Buffer_MemoryLayout *layout,
			       int64_t *stride);
/* The bytes from the first element to the end of the one that is farthest behind it */
size_t npj_span(const struct npj_shape *s, const int64_t *stride);
void npj_gather(const struct npj_shape *s, void *dense, const void *from, const int64_t *stride);
void npj_scatter(const struct npj_shape *s, void *to, const int64_t *stride, const void *dense);

/* ---- events (event.c) ---- */

PJRT_Event *npj_event_new(void); /* not ready; NULL: no memory */
PJRT_Event *npj_event_done(void); /* ready, no error; never NULL */
PJRT_Event *npj_event_ref(PJRT_Event *e);
void npj_event_unref(PJRT_Event *e); /* NULL: nothing */
void npj_event_set(PJRT_Event *e, PJRT_Error *error); /* takes the error; once */
bool npj_event_ready(PJRT_Event *e);
const PJRT_Error *npj_event_wait(PJRT_Event *e); /* the event's own error, or NULL */
/* call(error, arg) once it is ready, now if it is; the error is the callee's. */
PJRT_Error *npj_event_then(PJRT_Event *e, PJRT_Event_OnReadyCallback call, void *arg);

/* ---- clients, devices, memories ---- */

enum npj_kind { NPJ_DEVICE, NPJ_PINNED, NPJ_UNPINNED, NPJ_KINDS };

struct npj_user_data;

struct PJRT_Memory {
	const PJRT_Memory_FunctionTable *functions;
	struct npj_user_data *data;
	PJRT_Device *device;
	enum npj_kind kind;
	int id;
	char text[64];
};

/* One attribute of a device, with the memory of its value */
#define NPJ_DEVICE_ATTRIBUTES 4
struct PJRT_DeviceDescription {
	int id, process;
	const char *kind;
	char text[48], debug[96];
	int64_t coords[2];
	PJRT_NamedValue attribute[NPJ_DEVICE_ATTRIBUTES];
};

struct npj_queue;
struct npj_pool;

struct PJRT_Device {
	PJRT_Client *client;
	PJRT_DeviceDescription *description;
	unsigned int vnc; /* the runtime's number, and the local one */
	PJRT_Memory memory[NPJ_KINDS];
	PJRT_Memory *memories[NPJ_KINDS];
	struct npj_queue *queue;
	/* of device memory */
	struct npj_pool *pool;
	atomic_llong in_use, peak, allocations, largest;
};

/* The chips that a program is compiled for and the devices on it (topology.c) */
struct PJRT_TopologyDescription {
	atomic_int refs;
	const struct neuron_target *target;
	const char *kind;
	char arch[16]; /* the target's name: trn1 */
	unsigned int lnc, cores; /* of a logical core; of a chip, logical ones */
	unsigned int n;
	PJRT_DeviceDescription *description; /* n of them */
	PJRT_DeviceDescription **descriptions;
	char version[64];
	PJRT_NamedValue attribute[3];
};
#define NPJ_MAX_DEVICES 4096
PJRT_Error *npj_topology_new(const char *arch, unsigned int lnc, unsigned int cores, unsigned int n,
			     PJRT_TopologyDescription **t);
/* The next n devices from the first one on are a process's */
void npj_topology_give(PJRT_TopologyDescription *t, unsigned int first, unsigned int n,
		       int process);
PJRT_TopologyDescription *npj_topology_ref(PJRT_TopologyDescription *t);
void npj_topology_unref(PJRT_TopologyDescription *t);

struct PJRT_Client {
	atomic_int refs;
	atomic_bool closed;
	bool narrow_64bit; /* an option of its creation: 64-bit types are taken and narrowed */
	PJRT_TopologyDescription *topology;
	int process; /* its number among those that have devices together */
	bool alike; /* all processes compile the same programs for devices of several */
	const char *apart; /* why programs cannot span processes; NULL: they can */
	unsigned int n, nall; /* devices: its own, and all processes' */
	PJRT_Device *device; /* its own, n of all ... */
	PJRT_Device *all; /* ... of which the others' have neither queue nor memories */
	PJRT_Device **devices; /* all */
	PJRT_Device **own; /* of them */
	PJRT_Memory **memories; /* NPJ_KINDS of each of its own */
	struct npj_queue *transfers; /* reads that wait for a value */
};
PJRT_Client *npj_client_ref(PJRT_Client *c);
void npj_client_unref(PJRT_Client *c);
PJRT_Error *npj_client_open(const PJRT_Client *c); /* NULL: it is */
/* The device with this description's id, whichever process's it is; NULL: none */
PJRT_Device *npj_client_device(const PJRT_Client *c, int id);
static inline bool npj_is_own(const PJRT_Device *d)
{
	return d->memory[0].device;
}
const char *npj_platform_version(void);
extern const char *const npj_kind_name[NPJ_KINDS];
extern const PJRT_Memory_FunctionTable npj_memory_functions;
void npj_memory_end(PJRT_Memory *m); /* of its client: what frameworks kept with it goes */

/* ---- work in order (queue.c) ---- */

struct npj_queue *npj_queue_new(const char *name);
void npj_queue_free(struct npj_queue *q); /* does what is in it first */
/*
 * run(arg) on the queue's thread, behind what was put before. It waits while NPJ_QUEUE_MAX wait
 * already, unless the caller is the queue's thread.
 */
#define NPJ_QUEUE_MAX 64
PJRT_Error *npj_queue_put(struct npj_queue *q, void (*run)(void *arg), void *arg);
/* Runs it here if nothing is under way: false, and nothing was done, else */
bool npj_queue_try(struct npj_queue *q, void (*run)(void *arg), void *arg);
/*
 * Of what is run, at its end, before it says that it is over: who hears of it then finds nothing
 * under way
 */
void npj_queue_end(struct npj_queue *q);

/* ---- device memory that is kept (pool.c) ---- */

#define NPJ_POOL_BYTES ((size_t)512 << 20)
struct npj_pool *npj_pool_new(void);
void npj_pool_free(struct npj_pool *p); /* NULL: nothing */
nrt_tensor_t *npj_pool_take(struct npj_pool *p, size_t bytes); /* NULL: none of that size */
void npj_pool_keep(struct npj_pool *p, nrt_tensor_t *tensor, size_t bytes); /* takes it */
bool npj_pool_empty(struct npj_pool *p); /* whether there was something */
bool npj_pools_empty(const PJRT_Client *c); /* of all devices, which may share a memory */

/* ---- values (value.c) ---- */

/*
 * What lies in a memory. Its place and bytes are there once ready is; a reader waits for that.
 * tensor is of device memory, host of host memory; neither of a value without bytes, or that
 * failed.
 */
struct npj_value {
	atomic_int refs;
	PJRT_Memory *memory;
	PJRT_Event *ready;
	size_t bytes;
	nrt_tensor_t *tensor;
	void *host;
	void (*on_delete)(void *data, void *arg); /* of memory that is the caller's */
	void *on_delete_arg;
};
void npj_keep(void *data, void *arg); /* an on_delete that leaves the memory alone */
struct npj_value *npj_value_new(PJRT_Memory *memory, size_t bytes,
				PJRT_Event *ready); /* takes it */
struct npj_value *npj_value_ref(struct npj_value *v);
void npj_value_unref(struct npj_value *v); /* NULL: nothing */
PJRT_Error *npj_value_allocate(struct npj_value *v);
PJRT_Error *npj_value_write(struct npj_value *v, const void *data, size_t offset, size_t n);
PJRT_Error *npj_value_read(const struct npj_value *v, void *data, size_t offset, size_t n);
/* The bytes of one that is ready to another that is allocated */
PJRT_Error *npj_value_copy(struct npj_value *to, const struct npj_value *from);
/*
 * run(arg) once the value is there or has failed: now, or by the client's thread for transfers. An
 * error: it will not be run.
 */
PJRT_Error *npj_when_ready(const struct npj_value *v, void (*run)(void *arg), void *arg);
/* Gives the tensor of from, which has none afterwards, to to */
void npj_value_move(struct npj_value *to, struct npj_value *from);

struct PJRT_Buffer {
	PJRT_Client *client;
	struct npj_shape shape;
	PJRT_Memory *memory;
	atomic_int external;
	pthread_mutex_t lock; /* of value */
	struct npj_value *value; /* NULL: deleted or donated */
	/* what UnsafePointer and OpaqueDeviceMemoryDataPointer gave stays until the handle goes */
	struct npj_value *pinned;
};
/* Takes the value. NULL: no memory, and the value is gone */
PJRT_Buffer *npj_buffer_new(PJRT_Client *c, const struct npj_shape *s, struct npj_value *v);
/* A reference to what a buffer has; deleted ones are refused */
PJRT_Error *npj_buffer_value(PJRT_Buffer *b, struct npj_value **v);
/* The memory that a caller names: by itself, by its device, or the client's first device's */
PJRT_Error *npj_memory_of(PJRT_Client *c, PJRT_Memory *memory, PJRT_Device *device,
			  PJRT_Memory **result);
PJRT_Error *npj_type_allowed(const PJRT_Client *c, const struct npj_type *t);

#endif
