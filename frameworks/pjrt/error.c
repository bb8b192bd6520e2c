// SPDX-License-Identifier: MIT
/* Errors: a code and a text, which the caller destroys; and which code a status of libnrt is */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nrtx.h"
#include "pjrt.h"

static void destroy(PJRT_Error *e)
{
	npj_error_free(e);
}

static void message(const PJRT_Error *e, const char **text, size_t *size)
{
	*text = e->message;
	*size = e->size;
}

static PJRT_Error_Code get_code(const PJRT_Error *e)
{
	return e->code;
}

/* Errors have no payloads here: the visitor is not called. */
static void for_each_payload(const PJRT_Error *e, PJRT_Error_PayloadVisitor visitor, void *arg)
{
}

static const PJRT_Error_FunctionTable functions = {
	.struct_size = sizeof(functions),
	.instance_size = sizeof(PJRT_Error),
	.destroy = destroy,
	.message = message,
	.get_code = get_code,
	.for_each_payload = for_each_payload,
};

static PJRT_Error no_memory = { .functions = &functions,
				.code = PJRT_Error_Code_RESOURCE_EXHAUSTED,
				.size = sizeof("out of host memory") - 1,
				.message = (char[]){ "out of host memory" } };

PJRT_Error *npj_no_memory(void)
{
	return &no_memory;
}

PJRT_Error *npj_error_sized(PJRT_Error_Code code, const char *text, size_t size)
{
	PJRT_Error *e = malloc(sizeof(*e) + size + 1);

	if (!e)
		return &no_memory;
	*e = (PJRT_Error){
		.functions = &functions, .code = code, .size = size, .message = (char *)(e + 1)
	};
	if (size)
		memcpy(e->message, text, size);
	e->message[size] = 0;
	return e;
}

PJRT_Error *npj_error(PJRT_Error_Code code, const char *format, ...)
{
	char *text = NULL;
	PJRT_Error *e;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return &no_memory;
	e = npj_error_sized(code, text, (size_t)n);
	free(text);
	return e;
}

PJRT_Error *npj_error_copy(const PJRT_Error *e)
{
	return e ? npj_error_sized(e->code, e->message, e->size) : NULL;
}

void npj_error_free(PJRT_Error *e)
{
	if (e != &no_memory)
		free(e);
}

static PJRT_Error_Code code_of(NRT_STATUS status)
{
	static const struct {
		NRT_STATUS status;
		PJRT_Error_Code code;
	} codes[] = {
		{ NRT_INVALID, PJRT_Error_Code_INVALID_ARGUMENT },
		{ NRT_INVALID_HANDLE, PJRT_Error_Code_INVALID_ARGUMENT },
		{ NRT_RESOURCE, PJRT_Error_Code_RESOURCE_EXHAUSTED },
		{ NRT_TIMEOUT, PJRT_Error_Code_DEADLINE_EXCEEDED },
		{ NRT_HW_ERROR, PJRT_Error_Code_UNAVAILABLE },
		{ NRT_LOAD_NOT_ENOUGH_NC, PJRT_Error_Code_UNAVAILABLE },
		{ NRT_UNSUPPORTED_NEFF_VERSION, PJRT_Error_Code_FAILED_PRECONDITION },
		{ NRT_FAIL_HOST_MEM_ALLOC, PJRT_Error_Code_RESOURCE_EXHAUSTED },
		{ NRT_UNINITIALIZED, PJRT_Error_Code_FAILED_PRECONDITION },
		{ NRT_CLOSED, PJRT_Error_Code_FAILED_PRECONDITION },
		{ NRT_EXEC_BAD_INPUT, PJRT_Error_Code_INVALID_ARGUMENT },
		{ NRT_EXEC_HW_ERR_HBM_UE, PJRT_Error_Code_DATA_LOSS },
		{ NRT_EXEC_HW_ERR_NC_UE, PJRT_Error_Code_DATA_LOSS },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return PJRT_Error_Code_INTERNAL;
}

PJRT_Error *npj_runtime_error(NRT_STATUS status, const char *what)
{
	const char *details;
	size_t n;

	if (!status)
		return NULL;
	details = nrtx_error_details();
	n = strlen(details);
	while (n && details[n - 1] == '\n')
		n--;
	return npj_error(code_of(status), "%s: %s (%s)%s%.*s", what, nrtx_status_text(status),
			 nrt_get_status_as_str(status), n ? "\n" : "", (int)n, details);
}

PJRT_Error *npj_Error_Destroy(PJRT_Error_Destroy_Args *a)
{
	npj_error_free(a->error);
	return NULL;
}

PJRT_Error *npj_Error_Message(PJRT_Error_Message_Args *a)
{
	a->message = a->error ? a->error->message : "";
	a->message_size = a->error ? a->error->size : 0;
	return NULL;
}

PJRT_Error *npj_Error_GetCode(PJRT_Error_GetCode_Args *a)
{
	NPJ_NEED(a->error, "error");
	a->code = a->error->code;
	return NULL;
}

PJRT_Error *npj_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *a)
{
	NPJ_NEED(a->error, "error");
	return NULL;
}
