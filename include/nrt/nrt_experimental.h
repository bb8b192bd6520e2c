/* SPDX-License-Identifier: MIT */
/*
 * The experimental part of the public API. This runtime has no profiler and no system trace yet:
 * these calls exist so that programs link, and answer NRT_FAILURE (nrtx_error_details says so).
 */
#ifndef NRT_EXPERIMENTAL_H
#define NRT_EXPERIMENTAL_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
NRT_STATUS nrt_profile_stop(const char *filename);
NRT_STATUS nrt_trace_start(bool trace_mem);
NRT_STATUS nrt_trace_stop(const char *filename);

#ifdef __cplusplus
}
#endif
#endif
