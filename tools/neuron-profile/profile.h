/* SPDX-License-Identifier: MIT */
/*
 * Sessions of neuron-profile: a session is a file, which start-session makes, stop-session fills
 * and show-session prints. Private to tools/neuron-profile; main.c parses and dispatches.
 */
#ifndef NEURON_PROFILE_H
#define NEURON_PROFILE_H

#include <jansson.h>
#include <stdint.h>

struct options {
	const char *session; /* the file */
	const char *address; /* NULL: the session's, or the default */
	uint32_t model;
};

/* The commands, each of which returns an exit status */
int profile_start(const struct options *o);
int profile_stop(const struct options *o);
int profile_show(const struct options *o);

/* Prints one line on stderr, "PROGRAM: what: detail", and returns 1. */
int profile_fail(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* file.c: a session's JSON object; NULL or not 0 after a line on stderr */
json_t *session_read(const char *path);
int session_write(const char *path, const json_t *session);

#endif
