/* SPDX-License-Identifier: MIT */
/*
 * The handlers of all methods, and what they share: turning an error into a status. Messages come
 * from the .proto files; rtd.h's functions do the work.
 */
#ifndef RTD_RPC_H
#define RTD_RPC_H

#include "nmgr.pb-c.h"
#include "nmgr_session_service.pb-c.h"
#include "rtd.h"
#include "server.h"

extern const struct rtd_method rtd_methods[];
extern const unsigned int rtd_nmethods;

/* Points status at err, which must live until the reply, and adds the line of the method itself. */
void rtd_rpc_status(struct rtd_call *call, Nrt__Status *status, struct rtd_err *err);
/* Says in err that a message did not fit: NERR_RESOURCE */
int rtd_rpc_refuse(struct rtd_err *err);
struct rtd_owner rtd_rpc_owner(struct rtd_call *call, uint64_t session);

void rtd_rpc_create_eg(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_destroy_eg(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_random_seed(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_list_egs(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_unload_all(struct rtd_call *call, const ProtobufCMessage *message);

void rtd_rpc_load_open(struct rtd_call *call);
void rtd_rpc_load_message(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_load_refused(struct rtd_call *call);
void *rtd_rpc_load_bytes(struct rtd_call *call, size_t size);
void rtd_rpc_load_end(struct rtd_call *call);
void rtd_rpc_load_closed(struct rtd_call *call);
void rtd_rpc_start(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_stop(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_unload(struct rtd_call *call, const ProtobufCMessage *message);

void rtd_rpc_infer(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_post(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_refused(struct rtd_call *call);
void rtd_rpc_infer_post_refused(struct rtd_call *call);
void rtd_rpc_infer_stream_refused(struct rtd_call *call);
void rtd_rpc_infer_wait(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_poll(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_check(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_stream(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_infer_stream_end(struct rtd_call *call);

void rtd_rpc_shm_map(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_shm_unmap(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_get_version(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_session_open(struct rtd_call *call);
void rtd_rpc_session_message(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_session_end(struct rtd_call *call);

void rtd_rpc_nc_counters(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_nc_time_in_use(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_inference_counters(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_all_counters(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_all_metrics(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_hw_counters(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_adjust(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_all_hw_counters(struct rtd_call *call, const ProtobufCMessage *message);

void rtd_rpc_describe_daemon(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_list_models(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_describe_model(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_list_owners(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_share_eg(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_watch_events(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_watch_events_end(struct rtd_call *call);
void rtd_rpc_watch_events_closed(struct rtd_call *call);
void rtd_rpc_profile_start(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_rpc_profile_stop(struct rtd_call *call, const ProtobufCMessage *message);

#endif
