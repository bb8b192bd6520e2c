// SPDX-License-Identifier: MIT
/* start-session and stop-session: the daemon makes the profile, the file says of what */
#include <string.h>

#include "client.h"
#include "nrtx.pb-c.h"
#include "profile.h"

#define TIMEOUT_MS 120000

static const struct rtd_client_method start_method = { "/nrtx.nmgr_x/profile_start",
						       &nrtx__profile_start_response__descriptor };
static const struct rtd_client_method stop_method = { "/nrtx.nmgr_x/profile_stop",
						      &nrtx__profile_stop_response__descriptor };

/* NULL after a line on stderr, unless the answer has code 0 */
static ProtobufCMessage *call(const char *address, const struct rtd_client_method *method,
			      const ProtobufCMessage *request)
{
	struct rtd_client *client = rtd_client_new(address);
	const Nrtx__Status *status;
	ProtobufCMessage *answer;

	if (!client) {
		profile_fail(address, "out of memory");
		return NULL;
	}
	answer = rtd_client_call(client, method, request, TIMEOUT_MS);
	if (!answer)
		profile_fail(address, "%s", rtd_client_error(client));
	rtd_client_free(client);
	if (!answer)
		return NULL;
	/* the status is the first field of both answers */
	status = ((const Nrtx__ProfileStartResponse *)answer)->status;
	if (status && !status->code)
		return answer;
	if (status)
		profile_fail(address, "code %d: %.*s", status->code, (int)status->details.len,
			     (const char *)status->details.data);
	else
		profile_fail(address, "no status");
	protobuf_c_message_free_unpacked(answer, NULL);
	return NULL;
}

int profile_start(const struct options *o)
{
	const char *address = o->address ? o->address : rtd_client_default_address();
	Nrtx__ProfileStartRequest request = NRTX__PROFILE_START_REQUEST__INIT;
	ProtobufCMessage *answer;
	json_t *session;
	int err;

	request.id = o->model;
	answer = call(address, &start_method, &request.base);
	if (!answer)
		return 1;
	protobuf_c_message_free_unpacked(answer, NULL);
	session = json_pack("{s:s, s:I}", "address", address, "model", (json_int_t)o->model);
	if (!session)
		return profile_fail(o->session, "the address is not UTF-8");
	err = session_write(o->session, session);
	json_decref(session);
	return err != 0;
}

/* ---- the profile as JSON: the names of the messages' fields */

static json_t *engine_json(const Nrtx__ProfileEngine *e)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", e->name, "instructions",
			 (json_int_t)e->instructions, "busy_cycles", (json_int_t)e->busy_cycles,
			 "idle_cycles", (json_int_t)e->idle_cycles, "wait_cycles",
			 (json_int_t)e->wait_cycles);
}

static json_t *core_json(const Nrtx__ProfileCore *c)
{
	json_t *engines = json_array();

	for (size_t i = 0; i < c->n_engine; i++)
		json_array_append_new(engines, engine_json(c->engine[i]));
	return json_pack("{s:I, s:I, s:I, s:o}", "device", (json_int_t)c->device, "nc",
			 (json_int_t)c->nc, "macs", (json_int_t)c->macs, "engine", engines);
}

static json_t *infer_json(const Nrtx__ProfileInfer *i)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "posted_ns", (json_int_t)i->posted_ns,
			 "queued_ns", (json_int_t)i->queued_ns, "device_ns",
			 (json_int_t)i->device_ns, "cycles", (json_int_t)i->cycles, "code",
			 (json_int_t)i->code);
}

static json_t *profile_json(const Nrtx__ProfileStopResponse *p)
{
	json_t *infers = json_array(), *cores = json_array();

	for (size_t i = 0; i < p->n_infer; i++)
		json_array_append_new(infers, infer_json(p->infer[i]));
	for (size_t i = 0; i < p->n_core; i++)
		json_array_append_new(cores, core_json(p->core[i]));
	return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "name", p->name, "uuid", p->uuid,
			 "begun_ns", (json_int_t)p->begun_ns, "infer_count",
			 (json_int_t)p->infer_count, "infer", infers, "core", cores);
}

static int stop(const struct options *o, json_t *session)
{
	const char *address = json_string_value(json_object_get(session, "address"));
	json_int_t model = json_integer_value(json_object_get(session, "model"));
	Nrtx__ProfileStopRequest request = NRTX__PROFILE_STOP_REQUEST__INIT;
	ProtobufCMessage *answer;
	json_t *profile;
	int err;

	if (o->address)
		address = o->address;
	if (!address || model <= 0 || model > UINT32_MAX)
		return profile_fail(o->session, "not a session of this program");
	request.id = (uint32_t)model;
	answer = call(address, &stop_method, &request.base);
	if (!answer)
		return 1;
	profile = profile_json((const void *)answer);
	protobuf_c_message_free_unpacked(answer, NULL);
	if (!profile || json_object_set_new(session, "profile", profile))
		return profile_fail(o->session, "out of memory");
	err = session_write(o->session, session);
	return err != 0;
}

int profile_stop(const struct options *o)
{
	json_t *session = session_read(o->session);
	int ret = session ? stop(o, session) : 1;

	json_decref(session);
	return ret;
}
