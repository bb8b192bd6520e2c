// SPDX-License-Identifier: MIT
/*
 * load (a client stream of single fields), start, stop, unload.
 *
 * Order in a load stream: h_eg, session_id, neff_size and model_params each at most once and before
 * the first chunk; neff_size before the first chunk; then chunks, or one neff_file in their place.
 * A stream that breaks a rule is read to its end and then answered, because its client writes first
 * and reads last.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "rpc.h"

struct load_stream {
	struct rtd_load load;
	struct rtd_err err;
	bool has_params, has_size, has_session;
	uint64_t neff_size;
	uint8_t *neff;
	size_t received, capacity;
	char *file;
	int fd; /* of file, while it is open; else -1 */
};

/* Reserves room for received bytes; it grows with what arrived and not with what was announced. */
static int load_reserve(struct rtd_call *call, struct load_stream *s, size_t add)
{
	size_t need = s->received + add, capacity = s->capacity ? s->capacity : 1 << 20;
	struct rtd_quota *quota = rtd_call_rtd(call)->quota;
	uint8_t *p;

	if (need <= s->capacity)
		return 0;

	while (capacity < need)
		capacity *= 2;
	if (capacity > s->neff_size)
		capacity = s->neff_size;

	if (rtd_quota_claim(quota, rtd_call_peer(call), RTD_QUOTA_MEMORY, capacity - s->capacity,
			    "NEFF upload failed", &s->err))
		return s->err.code;

	p = realloc(s->neff, capacity);
	if (!p) {
		rtd_quota_give(quota, rtd_call_peer(call), RTD_QUOTA_MEMORY,
			       capacity - s->capacity);
		return rtd_fail(&s->err, NERR_RESOURCE, "NMGR",
				"NEFF upload failed: no host memory for %zu bytes", capacity);
	}

	s->neff = p;
	s->capacity = capacity;
	return 0;
}

static void load_release(struct rtd_call *call, struct load_stream *s)
{
	rtd_quota_give(rtd_call_rtd(call)->quota, rtd_call_peer(call), RTD_QUOTA_MEMORY,
		       s->capacity);
	free(s->neff);
	s->neff = NULL;
	s->capacity = 0;
}

static int load_open_file(struct rtd_call *call, struct load_stream *s)
{
	struct rtd_quota *quota = rtd_call_rtd(call)->quota;
	const struct rtd_peer *peer = rtd_call_peer(call);

	if (rtd_quota_claim(quota, peer, RTD_QUOTA_FILES, 1, "NEFF upload failed", &s->err))
		return s->err.code;
	s->fd = rtd_peer_open(peer, s->file, O_RDONLY);
	if (s->fd >= 0)
		return 0;
	rtd_quota_give(quota, peer, RTD_QUOTA_FILES, 1);
	return rtd_fail(&s->err, NERR_INVALID, "NMGR", "Failed to open NEFF [%s] as the client: %s",
			s->file, strerror(-s->fd));
}

static void load_close_file(struct rtd_call *call, struct load_stream *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	rtd_quota_give(rtd_call_rtd(call)->quota, rtd_call_peer(call), RTD_QUOTA_FILES, 1);
}

void rtd_rpc_load_open(struct rtd_call *call)
{
	struct load_stream *s = calloc(1, sizeof(*s));

	if (s) {
		s->fd = -1;
		rtd_ready(rtd_call_rtd(call), &s->err);
	}
	rtd_call_set_data(call, s);
}

void rtd_rpc_load_closed(struct rtd_call *call)
{
	struct load_stream *s = rtd_call_data(call);

	if (!s)
		return;
	load_release(call, s);
	load_close_file(call, s);
	free(s->file);
	free(s);
}

/* ---- one message each */

static void load_once(struct load_stream *s, bool *seen, const char *field)
{
	if (*seen)
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: %s given twice",
			 field);
	else if (s->received || s->file)
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: %s after the NEFF",
			 field);
	*seen = true;
}

static void load_params(struct load_stream *s, const Nrt__ModelParams *params)
{
	uint32_t seconds;

	load_once(s, &s->has_params, "model_params");
	if (params->ninfer) {
		s->load.ninfer = params->ninfer->data;
		if (!s->load.ninfer || s->load.ninfer > RTD_MAX_NINFER)
			rtd_fail(&s->err, NERR_INVALID, "NMGR", "ninfer %u, expected 1 to %u",
				 s->load.ninfer, RTD_MAX_NINFER);
	}
	if (params->timeout) {
		seconds = params->timeout->data;
		if (seconds > RTD_MAX_TIMEOUT_S)
			seconds = RTD_MAX_TIMEOUT_S;
		s->load.timeout_ms = seconds * 1000;
		if (!seconds)
			rtd_fail(&s->err, NERR_INVALID, "NMGR", "timeout 0, expected seconds");
	}
}

static void load_size(struct rtd *rtd, struct load_stream *s, uint64_t size)
{
	load_once(s, &s->has_size, "neff_size");
	s->neff_size = size;
	if (!size || size > rtd->config->max_neff_size)
		rtd_fail(&s->err, NERR_INVALID, "NMGR",
			 "Wrong NEFF file size: %llu, expected 1 to %llu", (unsigned long long)size,
			 (unsigned long long)rtd->config->max_neff_size);
}

/* The destination of a chunk of so many bytes; NULL: it is empty, or breaks a rule */
static uint8_t *load_place(struct rtd_call *call, struct load_stream *s, size_t len)
{
	uint8_t *place = NULL;

	if (!s->has_size || s->file)
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: %s",
			 s->file ? "a chunk after neff_file" : "a chunk before neff_size");
	else if (len > s->neff_size - s->received)
		rtd_fail(&s->err, NERR_INVALID, "NMGR",
			 "Wrong NEFF file size: more than the announced %llu bytes",
			 (unsigned long long)s->neff_size);
	else if (len && !load_reserve(call, s, len)) {
		place = s->neff + s->received;
		s->received += len;
	}
	return place;
}

static void load_chunk(struct rtd_call *call, struct load_stream *s,
		       const ProtobufCBinaryData *chunk)
{
	uint8_t *place = load_place(call, s, chunk->len);

	if (place)
		memcpy(place, chunk->data, chunk->len);
}

static void load_file(struct load_stream *s, const char *path)
{
	if (s->file || s->received)
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: neff_file after %s",
			 s->file ? "neff_file" : "chunks");
	else
		s->file = strdup(path);
}

static void load_field(struct rtd_call *call, struct load_stream *s, const Nrt__LoadRequest *req)
{
	switch (req->content_case) {
	case NRT__LOAD_REQUEST__CONTENT_H_EG:
		load_once(s, &s->load.has_eg, "h_eg");
		s->load.eg = req->h_eg->id;
		break;
	case NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS:
		load_params(s, req->model_params);
		break;
	case NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE:
		load_size(rtd_call_rtd(call), s, req->neff_size);
		break;
	case NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK:
		load_chunk(call, s, &req->neff_chunk->chunk);
		break;
	case NRT__LOAD_REQUEST__CONTENT_NEFF_FILE:
		load_file(s, req->neff_file);
		break;
	case NRT__LOAD_REQUEST__CONTENT_SESSION_ID:
		load_once(s, &s->has_session, "session_id");
		s->load.owner.session = req->session_id;
		break;
	default:
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: an empty message");
	}
}

void rtd_rpc_load_message(struct rtd_call *call, const ProtobufCMessage *message)
{
	struct load_stream *s = rtd_call_data(call);

	if (s && !s->err.code) {
		load_field(call, s, (const void *)message);
		if (s->err.code)
			load_release(call, s);
	}
	rtd_call_next(call);
}

/* A chunk, which is most of what comes: not unpacked, but copied to its place */
void *rtd_rpc_load_bytes(struct rtd_call *call, size_t size)
{
	struct load_stream *s = rtd_call_data(call);
	uint8_t *place;

	if (!s || s->err.code)
		return NULL;
	place = load_place(call, s, size);
	if (s->err.code)
		load_release(call, s);
	return place;
}

void rtd_rpc_load_refused(struct rtd_call *call)
{
	struct load_stream *s = rtd_call_data(call);

	if (s && !s->err.code) {
		rtd_rpc_refuse(&s->err);
		load_release(call, s);
	}
	rtd_call_next(call);
}

/* ---- the end */

#define PIECE (16u << 20) /* of a file that is read at once */

static int read_whole(struct rtd_call *call, int fd, uint8_t *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = size - done < PIECE ? size - done : PIECE;
		n = rtd_call_gone(call) ? -1 : pread(fd, buf + done, n, done);
		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

static int load_read_file(struct rtd_call *call, struct load_stream *s)
{
	struct rtd *rtd = rtd_call_rtd(call);
	struct stat st;

	if (load_open_file(call, s))
		return s->err.code;
	if (fstat(s->fd, &st) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > rtd->config->max_neff_size ||
	    (s->has_size && s->neff_size != (uint64_t)st.st_size))
		return rtd_fail(&s->err, NERR_INVALID, "NMGR", "Wrong NEFF file size: [%s]",
				s->file);

	s->neff_size = st.st_size;
	/* without a cache it is read piece by piece (model.c) */
	if (rtd->cache && !load_reserve(call, s, s->neff_size) &&
	    read_whole(call, s->fd, s->neff, s->neff_size))
		rtd_fail(&s->err, NERR_INVALID, "NMGR", "NEFF upload failed: [%s]", s->file);
	s->received = s->neff_size;
	return s->err.code;
}

static int load_check(struct rtd_call *call, struct load_stream *s)
{
	struct rtd *rtd = rtd_call_rtd(call);

	if (s->err.code)
		return s->err.code;

	if (s->file) {
		if (load_read_file(call, s))
			return s->err.code;
	} else if (!s->has_size) {
		return rtd_fail(&s->err, NERR_INVALID, "NMGR",
				"Wrong NEFF file size: received %zu bytes, and no size",
				s->received);
	} else if (s->received != s->neff_size) {
		return rtd_fail(&s->err, NERR_INVALID, "NMGR",
				"Wrong NEFF file size: received %zu bytes, expected %llu",
				s->received, (unsigned long long)s->neff_size);
	}

	if (rtd_call_gone(call))
		return rtd_fail(&s->err, NERR_INFER_CANCELLED, "NMGR", "the client is gone");

	if (rtd_session_check(rtd, rtd_call_peer(call), s->load.owner.session, &s->err))
		return s->err.code;
	if (s->load.has_eg)
		rtd_access_eg(rtd, rtd_call_peer(call), s->load.eg, RTD_CONTROL, &s->err);
	return s->err.code;
}

static void load_answer(struct rtd_call *call, uint32_t id, struct rtd_err *err)
{
	Nrt__LoadResponse resp = NRT__LOAD_RESPONSE__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	Nrt__Status status;

	handle.id = id;
	if (!err->code)
		resp.h_nn = &handle;
	rtd_rpc_status(call, &status, err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

static void load_done(struct rtd_err *err, void *arg)
{
	struct rtd_call *call = arg;
	struct load_stream *s = rtd_call_data(call);

	load_answer(call, s->load.id, err);
}

static bool load_gone(void *call)
{
	return rtd_call_gone(call);
}

void rtd_rpc_load_end(struct rtd_call *call)
{
	struct load_stream *s = rtd_call_data(call);
	struct rtd_err none = { 0 };

	if (!s) {
		rtd_fail(&none, NERR_RESOURCE, "NMGR", "out of memory");
		load_answer(call, 0, &none);
	} else if (load_check(call, s)) {
		load_answer(call, 0, &s->err);
	} else {
		s->load.owner = rtd_rpc_owner(call, s->load.owner.session);
		s->load.neff = (struct rtd_neff){ s->neff, s->fd, s->received };
		s->load.gone = load_gone;
		s->load.gone_arg = call;
		rtd_model_load(rtd_call_rtd(call), &s->load, load_done, call);
	}
}

/* ---- start, stop, unload: answered when the model's group has come to it */

static void model_call(struct rtd_call *call, const Nrt__HNn *handle,
		       void (*act)(struct rtd *, uint32_t, rtd_done, void *), rtd_done done)
{
	uint32_t id = handle ? handle->id : 0;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };

	if (!rtd_ready(rtd, &err) &&
	    !rtd_access_model(rtd, rtd_call_peer(call), id, RTD_CONTROL, &err))
		act(rtd, id, done, call);
	else
		done(&err, call);
}

static void start_done(struct rtd_err *err, void *arg)
{
	Nrt__StartResponse resp = NRT__START_RESPONSE__INIT;
	Nrt__Status status;

	rtd_rpc_status(arg, &status, err);
	resp.status = &status;
	rtd_call_reply(arg, &resp.base);
}

void rtd_rpc_start(struct rtd_call *call, const ProtobufCMessage *message)
{
	model_call(call, ((const Nrt__StartRequest *)message)->h_nn, rtd_model_start, start_done);
}

static void stop_done(struct rtd_err *err, void *arg)
{
	Nrt__StopResponse resp = NRT__STOP_RESPONSE__INIT;
	Nrt__Status status;

	rtd_rpc_status(arg, &status, err);
	resp.status = &status;
	rtd_call_reply(arg, &resp.base);
}

void rtd_rpc_stop(struct rtd_call *call, const ProtobufCMessage *message)
{
	model_call(call, ((const Nrt__StopRequest *)message)->h_nn, rtd_model_stop, stop_done);
}

static void unload_done(struct rtd_err *err, void *arg)
{
	Nrt__UnloadResponse resp = NRT__UNLOAD_RESPONSE__INIT;
	Nrt__Status status;

	rtd_rpc_status(arg, &status, err);
	resp.status = &status;
	rtd_call_reply(arg, &resp.base);
}

void rtd_rpc_unload(struct rtd_call *call, const ProtobufCMessage *message)
{
	model_call(call, ((const Nrt__UnloadRequest *)message)->h_nn, rtd_model_unload,
		   unload_done);
}
