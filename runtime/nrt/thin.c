/* SPDX-License-Identifier: MIT */
#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/nrt_profile.h"
#include "nrt/ndebug_stream.h"
#include "rt_log.h"
EXPORT NRT_STATUS nrt_debug_client_connect(int a0, int *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_debug_client_read_one_event(int a0, ndebug_stream_event_header_t *a1,
						  void **a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_debug_client_connect_close(int a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *a0, nrt_tensor_list_t *a1, nrt_tensor_list_t *a2,
				  nrt_dtype_t a3, nrt_op_type_t a4, nrt_cc_op_type_t a5,
				  nrt_cc_context_t **a6)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **a0, int a1, nrta_error_tracker_t *a2,
				   nrta_seq_t *a3)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_error_tracker_create(uint32_t a0, nrta_error_tracker_t **a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *a0, const nrta_error_t **a1,
					      size_t *a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_execute_schedule(nrt_model_t *a0, const nrt_tensor_set_t *a1,
					nrt_tensor_set_t *a2, int a3, nrta_error_tracker_t *a4,
					nrta_seq_t *a5)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_get_completion_handle(nrta_seq_t a0, int *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_get_sequence(uint32_t a0, nrta_xu_t a1, int a2, nrta_seq_t *a3)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_is_completed(nrta_seq_t a0, _Bool *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_tensor_copy(nrt_tensor_t *a0, uint64_t a1, nrt_tensor_t *a2, uint64_t a3,
				   uint64_t a4, int a5, nrta_error_tracker_t *a6, nrta_seq_t *a7)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_tensor_read(void *a0, nrt_tensor_t *a1, uint64_t a2, uint64_t a3, int a4,
				   nrta_error_tracker_t *a5, nrta_seq_t *a6)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrta_tensor_write(nrt_tensor_t *a0, const void *a1, uint64_t a2, uint64_t a3,
				    int a4, nrta_error_tracker_t *a5, nrta_seq_t *a6)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrta_error_tracker_destroy(nrta_error_tracker_t *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_accept(const char *a0, int a1, int a2,
					    nrt_async_sendrecv_comm_t **a3)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_close(int a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_connect(const char *a0, int a1, int a2,
					     nrt_async_sendrecv_comm_t **a3)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_flush(int a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_init(int a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *a0, size_t a1, size_t a2,
						 nrt_async_sendrecv_comm_t *a3,
						 nrt_async_sendrecv_request_t **a4)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *a0, size_t a1, size_t a2,
						 nrt_async_sendrecv_comm_t *a3,
						 nrt_async_sendrecv_request_t **a4)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *a0, _Bool *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *a0, _Bool *a1,
						  size_t *a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_async_drain_queued_execs(int32_t a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK a0, void *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_trace_start(_Bool a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_trace_stop(const char *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_begin(void)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***a0, size_t *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *a0,
								const char ***a1, size_t *a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *a0, const char *a1,
						  _Bool a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_capture_enabled_for_event_type_string(
	nrt_inspect_config_t *a0, const char *a1, _Bool a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *a0,
								uint32_t a1, _Bool a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *a0, _Bool a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *a0, _Bool a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *a0, const char *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *a0, int a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *a0,
								     uint64_t a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_inspect_stop(void)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *a0, const char *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_continuous_save(uint32_t a0, nrt_profile_continuous_options_t *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_continuous_stop(void)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_start(nrt_model_t *a0, const char *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_profile_stop(const char *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_inspect_config_free_activity_types(const char **a0, size_t a1)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *a0,
							       const char ***a1, size_t *a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(
	nrt_sys_trace_config_t *a0, const char *a1, _Bool a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_fetch_events(char **a0, size_t *a1,
					     const nrt_sys_trace_fetch_options_t *a2)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_get_event_types(const char ***a0, size_t *a1)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *a0)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT NRT_STATUS nrt_sys_trace_stop(void)
{
	return rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_buffer_free(char *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_config_free(nrt_sys_trace_config_t *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *a0, uint32_t a1,
							    _Bool a2)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *a0, uint64_t a1)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *a0)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *a0,
							      uint64_t a1)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *a0, uint64_t a1)
{
	rt_absent(NRT_FAILURE, "not yet");
}
EXPORT void nrt_sys_trace_free_event_types(const char **a0, size_t a1)
{
	rt_absent(NRT_FAILURE, "not yet");
}
