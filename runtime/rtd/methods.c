// SPDX-License-Identifier: MIT
/* The methods that the daemon answers; any other path gets UNIMPLEMENTED */
#include "nrtx.pb-c.h"
#include "rpc.h"

#define NMGR "/nrt.nmgr_v1/"
#define NMGRX "/nrtx.nmgr_x/"

#define INFER(name, type, handler, over)                                                 \
	{                                                                                \
		.path = NMGR name, .kind = RTD_UNARY, .message = handler, .whole = true, \
		.request = &type##__descriptor, .refused = over                          \
	}

#define WAIT(name, handler)                                                              \
	{                                                                                \
		.path = NMGR name, .kind = RTD_UNARY, .message = handler, .whole = true, \
		.request = &nrt__infer_wait_request__descriptor                          \
	}

#define UNARY(service, name, type, handler, blocks)                          \
	{                                                                    \
		.path = service name, .kind = RTD_UNARY, .blocking = blocks, \
		.request = &type##__descriptor, .message = handler           \
	}

const struct rtd_method rtd_methods[] = {
	{ .path = NMGR "load",
	  .kind = RTD_CLIENT_STREAM,
	  .blocking = true,
	  .request = &nrt__load_request__descriptor,
	  .open = rtd_rpc_load_open,
	  .message = rtd_rpc_load_message,
	  .bytes = rtd_rpc_load_bytes, /* neff_chunk.chunk */
	  .outer = 4,
	  .inner = 1,
	  .refused = rtd_rpc_load_refused,
	  .end = rtd_rpc_load_end,
	  .closed = rtd_rpc_load_closed },
	{ .path = "/nrt.nmgr_session_manager/session_monitor",
	  .kind = RTD_BIDI,
	  .blocking = true,
	  .request = &nrt__session_monitor_request__descriptor,
	  .open = rtd_rpc_session_open,
	  .message = rtd_rpc_session_message,
	  .end = rtd_rpc_session_end },
	{ .path = "/nrt.nmgr_stream/infer_stream",
	  .kind = RTD_BIDI,
	  .request = &nrt__infer_request__descriptor,
	  .message = rtd_rpc_infer_stream,
	  .refused = rtd_rpc_infer_stream_refused,
	  .end = rtd_rpc_infer_stream_end },

	INFER("infer", nrt__infer_request, rtd_rpc_infer, rtd_rpc_infer_refused),
	INFER("infer_post", nrt__infer_request, rtd_rpc_infer_post, rtd_rpc_infer_post_refused),
	WAIT("infer_wait", rtd_rpc_infer_wait),
	WAIT("infer_poll", rtd_rpc_infer_poll),
	UNARY(NMGR, "infer_check_completion", nrt__infer_check_completion_request,
	      rtd_rpc_infer_check, false),
	UNARY(NMGR, "create_eg", nrt__create_eg_request, rtd_rpc_create_eg, false),
	UNARY(NMGR, "destroy_eg", nrt__destroy_eg_request, rtd_rpc_destroy_eg, false),
	UNARY(NMGR, "list_egs", nrt__empty, rtd_rpc_list_egs, false),
	UNARY(NMGR, "random_seed", nrt__random_seed_request, rtd_rpc_random_seed, false),
	UNARY(NMGR, "start", nrt__start_request, rtd_rpc_start, false),
	UNARY(NMGR, "stop", nrt__stop_request, rtd_rpc_stop, false),
	UNARY(NMGR, "unload", nrt__unload_request, rtd_rpc_unload, false),
	UNARY(NMGR, "unload_all", nrt__empty, rtd_rpc_unload_all, false),
	UNARY(NMGR, "shm_map", nrt__shm_map_request, rtd_rpc_shm_map, true),
	UNARY(NMGR, "shm_unmap", nrt__shm_unmap_request, rtd_rpc_shm_unmap, false),
	UNARY(NMGR, "get_version", nrt__get_version_request, rtd_rpc_get_version, false),
	UNARY(NMGR, "read_nc_counters", nrt__read_nc_counters_request, rtd_rpc_nc_counters, true),
	UNARY(NMGR, "read_nc_time_in_use", nrt__read_nc_time_in_use_request, rtd_rpc_nc_time_in_use,
	      true),
	UNARY(NMGR, "read_inference_counters", nrt__empty, rtd_rpc_inference_counters, false),
	UNARY(NMGR, "read_all_counters", nrt__read_all_counters_request, rtd_rpc_all_counters,
	      true),
	UNARY(NMGR, "read_all_metrics", nrt__read_all_metrics_request, rtd_rpc_all_metrics, false),
	UNARY(NMGR, "get_hw_counters", nrt__get_hw_counters_request, rtd_rpc_hw_counters, true),
	UNARY(NMGR, "set_static_transfer_adjustment", nrt__set_static_transfer_adjustment_request,
	      rtd_rpc_adjust, false),
	UNARY(NMGR, "get_all_hw_counters", nrt__empty, rtd_rpc_all_hw_counters, true),

	UNARY(NMGRX, "describe_daemon", nrtx__describe_daemon_request, rtd_rpc_describe_daemon,
	      false),
	UNARY(NMGRX, "list_models", nrtx__list_models_request, rtd_rpc_list_models, false),
	UNARY(NMGRX, "describe_model", nrtx__describe_model_request, rtd_rpc_describe_model, false),
	UNARY(NMGRX, "list_owners", nrtx__list_owners_request, rtd_rpc_list_owners, false),
	UNARY(NMGRX, "share_eg", nrtx__share_eg_request, rtd_rpc_share_eg, false),
	{ .path = NMGRX "watch_events",
	  .kind = RTD_BIDI,
	  .request = &nrtx__watch_events_request__descriptor,
	  .message = rtd_rpc_watch_events,
	  .end = rtd_rpc_watch_events_end,
	  .closed = rtd_rpc_watch_events_closed },
	UNARY(NMGRX, "profile_start", nrtx__profile_start_request, rtd_rpc_profile_start, true),
	UNARY(NMGRX, "profile_stop", nrtx__profile_stop_request, rtd_rpc_profile_stop, true),
};

const unsigned int rtd_nmethods = sizeof(rtd_methods) / sizeof(rtd_methods[0]);
