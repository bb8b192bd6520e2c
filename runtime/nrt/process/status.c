/* SPDX-License-Identifier: MIT */
/* Names of statuses, and the details of a thread's last failure */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_status.h"

#define DETAILS_MAX 4096

static _Thread_local char details[DETAILS_MAX];

static const struct {
	NRT_STATUS status;
	const char *name, *text;
} names[] = {
#define ROW(suffix, value, meaning) { NRT_##suffix, "NRT_" #suffix, meaning },
	NRT_STATUS_LIST(ROW)
#undef ROW
};

EXPORT const char *nrt_get_status_as_str(NRT_STATUS status)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].status == status)
			return names[i].name;
	return "NRT_UNKNOWN";
}

EXPORT const char *nrtx_status_text(NRT_STATUS status)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].status == status)
			return names[i].text;
	return "unknown status";
}

EXPORT bool nrtx_status_from_str(const char *name, NRT_STATUS *status)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i].name, name)) {
			*status = names[i].status;
			return true;
		}
	}
	return false;
}

EXPORT const char *nrtx_error_details(void)
{
	return details;
}

void rt_details_clear(void)
{
	details[0] = '\0';
}

NRT_STATUS rt_fail_at(NRT_STATUS status, const char *module, const char *function,
		      const char *format, ...)
{
	char line[512];
	size_t n, old = strlen(details);
	va_list args;
	int len = snprintf(line, sizeof(line), "[%s:%s] ", module, function);

	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	n = strlen(line);
	line[n < sizeof(line) - 1 ? n : n - 1] = '\n';
	line[n < sizeof(line) - 1 ? n + 1 : n] = '\0';

	/*
	 * the outermost layer's line comes first; if there are too many, the innermost ones are cut
	 * off
	 */
	n = strlen(line);
	if (old + n >= sizeof(details))
		old = sizeof(details) - 1 - n;
	memmove(details + n, details, old);
	memcpy(details, line, n);
	details[n + old] = '\0';
	return status;
}

const char *rt_errno_text(int err)
{
	return err == -ENODEV ? "No such device any more: it was unplugged or unbound, "
				"or the server that has it has ended"
			      : strerror(-err);
}

NRT_STATUS rt_status_from_errno(int err)
{
	switch (-err) {
	case 0:
		return NRT_SUCCESS;
	case ENOMEM:
	case ENOSPC:
		return NRT_RESOURCE;
	case EINVAL:
	case E2BIG:
		return NRT_INVALID;
	case ETIMEDOUT:
		return NRT_TIMEOUT;
	case EBUSY:
		return NRT_EXEC_NC_BUSY;
	case ENOTSUP:
		return NRT_UNSUPPORTED_NEFF_VERSION;
	case EIO:
	case ENODEV:
		return NRT_HW_ERROR;
	default:
		return NRT_FAILURE;
	}
}
