/* SPDX-License-Identifier: MIT */
/* A small framework: it finds the plug-in as others do and calls its table. Failures end the test. */
#ifndef PJRT_CLIENT_H
#define PJRT_CLIENT_H

#include "pjrt_api.h"

#define ARGS(name, ...) \
	(&(PJRT_##name##_Args){ .struct_size = PJRT_##name##_Args_SIZE, __VA_ARGS__ })

/* Calls a function that must succeed, or must fail with a code and a text that has a word */
#define CALL(name, args) expect_ok(#name, api->PJRT_##name(args))
#define FAIL(name, args, code, word) \
	expect_error(#name, api->PJRT_##name(args), PJRT_Error_Code_##code, word)

extern const PJRT_Api *api;
extern PJRT_Client *client;

const PJRT_Api *plugin_load(const char *path);
void plugin_start(void); /* of the path in PJRT_LIBRARY: api, and a client of all devices */
void plugin_end(void);

void expect_ok(const char *what, PJRT_Error *e);
void expect_error(const char *what, PJRT_Error *e, PJRT_Error_Code code, const char *word);

PJRT_Device *device(unsigned int i);
PJRT_Memory *memory_of(PJRT_Device *d, const char *kind);

/* A program of tests/data/pjrt; format: "hlo" or "mlir" */
PJRT_LoadedExecutable *compile(const char *name, const char *format);
PJRT_Error *try_compile(const char *name, const char *format, const void *options, size_t size,
			PJRT_LoadedExecutable **x);
void *program_bytes(const char *name, const char *format, size_t *size);

/* Arrays of the first device */
PJRT_Buffer *put(PJRT_Buffer_Type type, const void *data, const int64_t *dims, size_t n);
PJRT_Buffer *put_f32(const float *data, int64_t n);
void get(PJRT_Buffer *b, void *data, size_t size);
void drop(PJRT_Buffer *b);
/* Runs a program of up to 8 arguments and results on one device */
void run(PJRT_LoadedExecutable *x, PJRT_Buffer *const *in, size_t nin, PJRT_Buffer **out);
PJRT_Error *try_run(PJRT_LoadedExecutable *x, PJRT_Buffer *const *in, size_t nin,
		    PJRT_Buffer **out);
bool is_deleted(PJRT_Buffer *b);
void destroy(PJRT_LoadedExecutable *x);
void add1_is_right(PJRT_LoadedExecutable *x); /* runs the program "add1", and destroys it */
void expect_no_leaks(void); /* the two devices' memory is as it was */

#endif
