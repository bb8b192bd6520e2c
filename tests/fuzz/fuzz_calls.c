// SPDX-License-Identifier: MIT
/*
 * The daemon's calls: requests of three clients go through the handlers, on a chip in process, in
 * the place of gRPC. Every call is answered once, in time; when everything is unloaded, nothing is
 * on anybody's account.
 *
 * An input is records: method, client, length (2), that many bytes. Of a stream's they are messages
 * with a length of one byte each. Handles, cookies and sessions below 16 stand for those that the
 * daemon gave out, a chunk of one byte for the whole of a NEFF that is good, neff_size 1 for its
 * size.
 */
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "log.h"
#include "message.h"
#include "rpc.h"
#include "testmodel.h"

#define CALLS 64 /* in an input */
#define KNOWN 16
#define ANSWER_S 120

/* Identifiers that the daemon gave out, oldest first */
struct known {
	uint64_t id[KNOWN];
	unsigned int n;
};
static struct known models, egs, cookies, sessions;

static struct rtd_config config = {
	.shmem_enabled = true,
	.numerical_errors = true,
	.default_timeout_ms = 3600000,
	.default_ninfer = 4,
	.max_neff_size = 1 << 20,
	.memory_limit = 64 << 20,
	.user_memory_limit = 48 << 20,
};
static struct rtd *rtd;
static const struct rtd_peer clients[] = {
	{ .local = true },
	{ .local = true, .uid = 65534, .gid = 65534 },
	{ .local = false },
};
static uint8_t *neff;
static size_t neff_size;

struct rtd_call {
	const struct rtd_method *method;
	struct rtd_peer peer;
	void *data;
	const ProtobufCMessage *request;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	unsigned int answers, reads; /* ends of the call; messages that it asked for */
	uint64_t reserved;
};

/* ---- the daemon's side of a call */

struct rtd *rtd_call_rtd(struct rtd_call *call)
{
	return rtd;
}

const struct rtd_peer *rtd_call_peer(struct rtd_call *call)
{
	return &call->peer;
}

bool rtd_call_gone(struct rtd_call *call)
{
	return false;
}

const ProtobufCMessage *rtd_call_request(struct rtd_call *call)
{
	return call->request;
}

const char *rtd_call_method(struct rtd_call *call)
{
	return strrchr(call->method->path, '/') + 1;
}

void rtd_call_set_data(struct rtd_call *call, void *data)
{
	call->data = data;
}

void *rtd_call_data(struct rtd_call *call)
{
	return call->data;
}

/* A call needs no reference here: there is one thread. */
void rtd_call_hold(struct rtd_call *call)
{
}

void rtd_call_reserve(struct rtd_call *call, uint64_t bytes)
{
	pthread_mutex_lock(&call->lock);
	call->reserved += bytes;
	pthread_mutex_unlock(&call->lock);
}

static void keep(struct known *known, uint64_t id)
{
	if (id && known->n < KNOWN)
		known->id[known->n++] = id;
}

/* Packs it, as gRPC's way out does, and notes what was given out. */
static void sent(struct rtd_call *call, const ProtobufCMessage *message)
{
	grpc_byte_buffer *buf;

	if (!message)
		return;
	fuzz_assert(protobuf_c_message_check(message));
	buf = rtd_message_pack(message);
	grpc_byte_buffer_destroy(buf);
	if (message->descriptor == &nrt__load_response__descriptor) {
		const Nrt__LoadResponse *resp = (const void *)message;

		keep(&models, resp->h_nn ? resp->h_nn->id : 0);
	} else if (message->descriptor == &nrt__create_eg_response__descriptor) {
		const Nrt__CreateEgResponse *resp = (const void *)message;

		keep(&egs, resp->h_eg ? resp->h_eg->id : 0);
	} else if (message->descriptor == &nrt__infer_post_response__descriptor) {
		keep(&cookies, ((const Nrt__InferPostResponse *)message)->cookie);
	} else if (message->descriptor == &nrt__session_monitor_response__descriptor) {
		keep(&sessions, ((const Nrt__SessionMonitorResponse *)message)->session_id);
	}
}

static void ended(struct rtd_call *call, const ProtobufCMessage *message)
{
	pthread_mutex_lock(&call->lock);
	sent(call, message);
	call->answers++;
	fuzz_assert(call->answers == 1);
	pthread_cond_broadcast(&call->changed);
	pthread_mutex_unlock(&call->lock);
}

void rtd_call_reply(struct rtd_call *call, const ProtobufCMessage *message)
{
	fuzz_assert(call->method->kind != RTD_BIDI);
	ended(call, message);
}

void rtd_call_finish(struct rtd_call *call)
{
	ended(call, NULL);
}

void rtd_call_exhausted(struct rtd_call *call, const char *text)
{
	ended(call, NULL);
}

void rtd_call_next(struct rtd_call *call)
{
	pthread_mutex_lock(&call->lock);
	call->reads++;
	pthread_cond_broadcast(&call->changed);
	pthread_mutex_unlock(&call->lock);
}

void rtd_call_send(struct rtd_call *call, const ProtobufCMessage *message)
{
	pthread_mutex_lock(&call->lock);
	fuzz_assert(call->method->kind == RTD_BIDI);
	sent(call, message);
	rtd_quota_give(rtd->quota, &call->peer, RTD_QUOTA_MEMORY, call->reserved);
	call->reserved = 0;
	pthread_mutex_unlock(&call->lock);
	rtd_call_next(call);
}

/* ---- requests */

static uint64_t known(const struct known *known, uint64_t id)
{
	return id && id <= KNOWN && known->n ? known->id[(id - 1) % known->n] : id;
}

static void name_known(ProtobufCMessage *m);

static void name_field(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	char *at = (char *)m + f->offset;
	size_t n = f->label == PROTOBUF_C_LABEL_REPEATED
			   ? *(size_t *)((char *)m + f->quantifier_offset)
			   : 1;

	/* of a oneof's only the member that is there */
	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
	    *(uint32_t *)((char *)m + f->quantifier_offset) != f->id)
		return;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		at = *(char **)at;
	for (size_t i = 0; i < n; i++) {
		if (f->type == PROTOBUF_C_TYPE_MESSAGE && ((ProtobufCMessage **)at)[i])
			name_known(((ProtobufCMessage **)at)[i]);
		else if (!strcmp(f->name, "cookie") && f->type == PROTOBUF_C_TYPE_UINT64)
			((uint64_t *)at)[i] = known(&cookies, ((uint64_t *)at)[i]);
		else if (!strcmp(f->name, "session_id"))
			((uint64_t *)at)[i] = known(&sessions, ((uint64_t *)at)[i]);
		else if (!strcmp(f->name, "neff_size") && ((uint64_t *)at)[i] == 1)
			((uint64_t *)at)[i] = neff_size;
		else if (!strcmp(f->name, "eg"))
			((uint32_t *)at)[i] = (uint32_t)known(&egs, ((uint32_t *)at)[i]);
		else if (!strcmp(f->name, "id"))
			((uint32_t *)at)[i] = (uint32_t)known(
				m->descriptor == &nrt__h_eg__descriptor ? &egs : &models,
				((uint32_t *)at)[i]);
	}
}

static void name_known(ProtobufCMessage *m)
{
	for (unsigned int i = 0; i < m->descriptor->n_fields; i++)
		name_field(m, &m->descriptor->fields[i]);
	if (m->descriptor == &nrt__file_chunk__descriptor) {
		Nrt__FileChunk *chunk = (void *)m;

		if (chunk->chunk.len != 1)
			return;
		free(chunk->chunk.data);
		chunk->chunk.data = malloc(neff_size);
		fuzz_assert(chunk->chunk.data);
		memcpy(chunk->chunk.data, neff, neff_size);
		chunk->chunk.len = neff_size;
	}
}

static ProtobufCMessage *unpack(const struct rtd_method *method, const uint8_t *p, size_t n)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)p, n);
	grpc_byte_buffer *buf = grpc_raw_byte_buffer_create(&slice, 1);
	ProtobufCMessage *message = rtd_message_unpack(method->request, buf);

	grpc_slice_unref(slice);
	grpc_byte_buffer_destroy(buf);
	if (message)
		name_known(message);
	return message;
}

/* ---- calls */

/* Until the call has ended or, with reads, has asked for so many messages */
static void wait_for(struct rtd_call *call, unsigned int reads)
{
	struct timespec end;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += ANSWER_S;
	pthread_mutex_lock(&call->lock);
	while (!call->answers && (!reads || call->reads < reads) && !err)
		err = pthread_cond_timedwait(&call->changed, &call->lock, &end);
	pthread_mutex_unlock(&call->lock);
	fuzz_assert(!err); /* every call is answered */
}

static bool over(struct rtd_call *call)
{
	bool is;

	pthread_mutex_lock(&call->lock);
	is = call->answers;
	pthread_mutex_unlock(&call->lock);
	return is;
}

static void run_unary(struct rtd_call *call, const uint8_t *p, size_t n)
{
	ProtobufCMessage *message = unpack(call->method, p, n);

	if (!message) /* the server's own answer */
		return;
	call->request = message;
	call->method->message(call, message);
	wait_for(call, 0);
	protobuf_c_message_free_unpacked(message, NULL);
}

static void run_stream(struct rtd_call *call, const uint8_t *p, size_t n)
{
	struct fuzz_in in = { p, p + n };
	unsigned int reads = 0;

	if (call->method->open)
		call->method->open(call);
	/* the answer to the opening reads on too */
	if (call->method->kind == RTD_BIDI && call->method->open)
		wait_for(call, ++reads);
	while (!fuzz_end(&in) && !over(call)) {
		size_t len = fuzz_u8(&in);
		const uint8_t *bytes = fuzz_bytes(&in, len, &len);
		ProtobufCMessage *message = unpack(call->method, bytes, len);

		if (!message)
			continue;
		call->method->message(call, message);
		wait_for(call, ++reads);
		protobuf_c_message_free_unpacked(message, NULL);
	}
	if (!over(call)) {
		call->method->end(call);
		wait_for(call, 0);
	}
	if (call->method->closed)
		call->method->closed(call);
}

static void run_call(const struct rtd_method *method, const struct rtd_peer *peer, const uint8_t *p,
		     size_t n)
{
	struct rtd_call call = { .method = method, .peer = *peer };

	pthread_mutex_init(&call.lock, NULL);
	pthread_cond_init(&call.changed, NULL);
	if (method->kind == RTD_UNARY)
		run_unary(&call, p, n);
	else
		run_stream(&call, p, n);
	rtd_quota_give(rtd->quota, &call.peer, RTD_QUOTA_MEMORY, call.reserved);
	pthread_cond_destroy(&call.changed);
	pthread_mutex_destroy(&call.lock);
}

static const struct rtd_method *method(const char *name)
{
	for (unsigned int i = 0; i < rtd_nmethods; i++)
		if (!strcmp(strrchr(rtd_methods[i].path, '/') + 1, name))
			return &rtd_methods[i];
	abort();
}

static void start_daemon(void)
{
	struct testmodel t;

	setenv("NEURON_EMU", "inf1.xlarge", 1);
	rtd_log_open(RTD_LOG_QUIET, false);
	testmodel_add(&t, 16);
	neff = testmodel_write(&t, &neff_size);
	testmodel_free(&t);
	rtd = rtd_new(&config);
	fuzz_assert(rtd);
	rtd_open_chips(rtd);
	fuzz_assert(rtd->engine);
}

/* Everything goes, and is on nobody's account any more. */
static void clear(void)
{
	run_call(method("unload_all"), &clients[0], NULL, 0);
	pthread_mutex_lock(&rtd->lock);
	while (rtd->ngroups)
		pthread_cond_wait(&rtd->idle, &rtd->lock);
	fuzz_assert(TAILQ_EMPTY(&rtd->egs) && TAILQ_EMPTY(&rtd->models));
	fuzz_assert(TAILQ_EMPTY(&rtd->sessions));
	for (unsigned int i = 0; i < RTD_COOKIE_BUCKETS; i++)
		fuzz_assert(LIST_EMPTY(&rtd->cookies[i]));
	pthread_mutex_unlock(&rtd->lock);
	rtd_shm_drop(rtd, 0);
	for (int kind = 0; kind < RTD_QUOTA_KINDS; kind++)
		fuzz_assert(!rtd_quota_used(rtd->quota, NULL, kind));
	models.n = egs.n = cookies.n = sessions.n = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };

	if (!rtd)
		start_daemon();
	for (unsigned int i = 0; i < CALLS && !fuzz_end(&in); i++) {
		const struct rtd_method *m = &rtd_methods[fuzz_u8(&in) % rtd_nmethods];
		const struct rtd_peer *peer = &fuzz_pick(&in, clients);
		size_t n = fuzz_u16(&in);
		const uint8_t *bytes = fuzz_bytes(&in, n, &n);

		run_call(m, peer, bytes, n);
	}
	clear();
	return 0;
}
