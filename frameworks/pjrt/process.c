// SPDX-License-Identifier: MIT
/*
 * The process: whether it is a child of one that used the plug-in, and the runtime, which begins
 * with the first client and ends with the last.
 */
#include <stdlib.h>

#include "pjrt.h"
#include "nrt/nrt.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool forked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of users */
static unsigned int users;

static void in_child(void)
{
	/* Whoever used nothing yet may begin. */
	if (users)
		atomic_store(&forked, true);
}

static void init(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void npj_process_init(void)
{
	pthread_once(&once, init);
}

bool npj_forked(void)
{
	return atomic_load(&forked);
}

PJRT_Error *npj_forked_error(void)
{
	if (!npj_forked())
		return NULL;
	return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "this process was forked from one "
							      "that uses the Neuron devices, "
							      "which stay that one's: start it "
							      "anew instead (multiprocessing's "
							      "method \"spawn\")");
}

/* Begins the runtime; if there are no chips at all, this says more than the runtime's own status */
static PJRT_Error *begin(void)
{
	const char *emu = getenv("NEURON_EMU");
	NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	uint32_t cores = 0;

	if (status && !(emu && *emu) && (nrt_get_total_vnc_count(&cores) || !cores))
		return npj_error(PJRT_Error_Code_UNAVAILABLE, "no Neuron device: there is no "
							      "/dev/neuron0, and NEURON_EMU "
							      "(for example trn1.2xlarge) "
							      "does not ask for emulated ones");
	return npj_runtime_error(status, "the Neuron runtime");
}

PJRT_Error *npj_runtime_begin(void)
{
	PJRT_Error *e = NULL;

	pthread_mutex_lock(&lock);
	if (!users)
		e = begin();
	if (!e)
		users++;
	pthread_mutex_unlock(&lock);
	return e;
}

void npj_runtime_end(void)
{
	if (npj_forked())
		return;
	pthread_mutex_lock(&lock);
	if (!--users)
		nrt_close();
	pthread_mutex_unlock(&lock);
}

bool npj_narrow_asked(void)
{
	const char *value = getenv("NEURON_PJRT_NARROW_64BIT");

	return value && !strcmp(value, "1");
}
