// SPDX-License-Identifier: MIT
/*
 * A session's file: a JSON object with "format", "address" and "model", and "profile" once the
 * session has been stopped. It is written beside its place and then put there.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile.h"

#define FORMAT "neuron-emulator session 1"

int profile_fail(const char *what, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: %s: ", program_invocation_short_name, what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return 1;
}

json_t *session_read(const char *path)
{
	json_error_t error;
	json_t *session = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	const char *format = json_string_value(json_object_get(session, "format"));

	if (!session) {
		profile_fail(path, "%s",
			     error.line < 0 ? error.text : "not a session of this program");
	} else if (!format || strcmp(format, FORMAT)) {
		profile_fail(path, "not a session of this program");
		json_decref(session);
		session = NULL;
	}
	return session;
}

int session_write(const char *path, const json_t *session)
{
	json_t *whole = json_pack("{s:s}", "format", FORMAT);
	char *temporary = NULL;
	int err = whole && !json_object_update(whole, (json_t *)session) &&
				  asprintf(&temporary, "%s.%d", path, (int)getpid()) >= 0
			  ? 0
			  : ENOMEM;

	if (!err && json_dump_file(whole, temporary, JSON_INDENT(1)))
		err = errno ? errno : EIO;
	if (!err && rename(temporary, path))
		err = errno;
	if (err) {
		if (temporary)
			unlink(temporary);
		profile_fail(path, "%s", strerror(err));
	}
	free(temporary);
	json_decref(whole);
	return err;
}
