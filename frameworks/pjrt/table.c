// SPDX-License-Identifier: MIT
/*
 * The table that a framework gets, and the rule for the sizes of arguments: each function works on
 * a struct of its own, into which goes what the caller says that it has, and zeros for the rest,
 * and from which as much goes back. So an older framework's struct is as good as a newer one's, and
 * no function asks for a size.
 */
#include <string.h>

#include "profiler.h"

#define HEAD sizeof(PJRT_Plugin_Initialize_Args) /* what every struct begins with */

/* The bytes that both know. Frameworks up to minor 70 say 24 where they have 32, of one function. */
static size_t common(const void *args, size_t size, const char *name)
{
	size_t theirs;

	memcpy(&theirs, args, sizeof(theirs));
	if (theirs == 24 && size == 32 && !strcmp(name, "Plugin_Attributes"))
		return size;
	return theirs < size ? theirs : size;
}

static PJRT_Error *enter(const void *args, void *own, size_t size, const char *name)
{
	npj_process_init();
	if (!args)
		return NPJ_INVALID("PJRT_%s: its arguments are NULL", name);
	memcpy(own, args, common(args, size, name));
	return NULL;
}

static void leave(void *args, const void *own, size_t size, const char *name)
{
	size_t n = common(args, size, name);

	if (n > HEAD)
		memcpy((char *)args + HEAD, (const char *)own + HEAD, n - HEAD);
}

/* Error_Destroy and Error_Message, which return nothing, cannot fail. */
#define PJRT_FUNCTION(name)                                                        \
	static PJRT_Error *call_##name(PJRT_##name##_Args *args)                   \
	{                                                                          \
		PJRT_##name##_Args own = { 0 };                                    \
		PJRT_Error *e = enter(args, &own, PJRT_##name##_Args_SIZE, #name); \
                                                                                   \
		if (e)                                                             \
			return e;                                                  \
		e = npj_##name(&own);                                              \
		leave(args, &own, PJRT_##name##_Args_SIZE, #name);                 \
		return e;                                                          \
	}
#include "pjrt_functions.h"
PJRT_LAYOUTS_FUNCTIONS(PJRT_FUNCTION)
PJRT_SHARDINGS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION

static PJRT_Shardings_Extension shardings = { .base = { .struct_size = sizeof(shardings),
							.type = PJRT_Extension_Type_Shardings,
							.next = &npj_profiler_extension.base },
#define PJRT_FUNCTION(name) .PJRT_##name = call_##name,
					      PJRT_SHARDINGS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION
};

static PJRT_Layouts_Extension layouts = { .base = { .struct_size = sizeof(layouts),
						    .type = PJRT_Extension_Type_Layouts,
						    .next = &shardings.base },
#define PJRT_FUNCTION(name) .PJRT_##name = call_##name,
					  PJRT_LAYOUTS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION
};

static PJRT_Api api = {
	.struct_size = sizeof(api),
	.extension_start = &layouts.base,
	.pjrt_api_version = { .struct_size = sizeof(PJRT_Api_Version),
			      .major_version = PJRT_MAJOR,
			      .minor_version = PJRT_MINOR },
#define PJRT_FUNCTION(name) .PJRT_##name = call_##name,
#include "pjrt_functions.h"
#undef PJRT_FUNCTION
};

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void)
{
	return &api;
}
