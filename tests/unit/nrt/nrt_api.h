/* SPDX-License-Identifier: MIT */
/* Includes all public headers, and lists the functions that libnrt.so.1 exports for them */
#ifndef NRT_API_H
#define NRT_API_H

#include "ndl/ndl.h"
#include "nrt/nds/neuron_ds.h"
#include "nrt/ndebug_stream.h"
#include "nrt/nec.h"
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"

/* NULL behind the last; the second: of level 3.0 of the asynchronous API */
extern const char *const nrt_api_names[], *const nrt_api_names_3[];

#endif
