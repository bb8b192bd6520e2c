/* SPDX-License-Identifier: MIT */
/*
 * The way through the daemon of this machine. The daemon reads the NEFF by its path, as this user
 * may, and makes a group for each copy; each thread has a connection of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "client.h"
#include "neff_called.h"
#include "nmgr.pb-c.h"
#include "nrtx.pb-c.h"

#define TIMEOUT_MS 120000 /* of calls that do not wait for a model */
#define NERR_NUM_ERR 1003

static const struct rtd_client_method load_method = { "/nrt.nmgr_v1/load",
						      &nrt__load_response__descriptor };
static const struct rtd_client_method start_method = { "/nrt.nmgr_v1/start",
						       &nrt__start_response__descriptor };
static const struct rtd_client_method unload_method = { "/nrt.nmgr_v1/unload",
							&nrt__unload_response__descriptor };
static const struct rtd_client_method infer_method = { "/nrt.nmgr_v1/infer",
						       &nrt__infer_response__descriptor };
static const struct rtd_client_method describe_method = {
	"/nrtx.nmgr_x/describe_model", &nrtx__describe_model_response__descriptor
};

struct remote {
	struct rtd_client *client;
	uint32_t model[BENCH_MAX_CORES]; /* 0: not loaded */
};

struct connection {
	struct rtd_client *client;
	Nrt__InferRequest request;
	Nrt__HNn handle;
	Nrt__InferIo *io, **in;
};

static bool check(const char *what, int32_t code, const ProtobufCBinaryData *details)
{
	if (!code)
		return true;
	return bench_fail(what, "NERR code %d: %.*s", code, (int)details->len,
			  (const char *)details->data);
}

static bool check_status(const char *what, const Nrt__Status *status)
{
	return !status || check(what, status->code, &status->details);
}

static void drop(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

/* NULL, after a line on standard error, if there is no answer */
static void *call(const struct bench *bench, struct rtd_client *client,
		  const struct rtd_client_method *method, const ProtobufCMessage *request,
		  unsigned int timeout_ms)
{
	ProtobufCMessage *answer = rtd_client_call(client, method, request, timeout_ms);

	if (!answer)
		bench_fail(strrchr(method->path, '/') + 1, "%s: %s", bench->address,
			   rtd_client_error(client));
	return answer;
}

static bool write_load(struct rtd_client_call *stream, char *path, uint64_t size, uint32_t ninfer)
{
	Nrt__LoadRequest request = NRT__LOAD_REQUEST__INIT;
	Nrt__ModelParams params = NRT__MODEL_PARAMS__INIT;
	Nrt__U32 count = NRT__U32__INIT;
	int err;

	request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE;
	request.neff_size = size;
	err = rtd_client_write(stream, &request.base);
	count.data = ninfer;
	params.ninfer = &count;
	request.content_case = NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS;
	request.model_params = &params;
	if (!err)
		err = rtd_client_write(stream, &request.base);
	request.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_FILE;
	request.neff_file = path;
	if (!err)
		err = rtd_client_write(stream, &request.base);
	return !err;
}

static bool load(const struct bench *bench, struct remote *remote, uint32_t copy)
{
	struct rtd_client_call *stream = rtd_client_stream(remote->client, &load_method);
	char *path = realpath(bench->neff, NULL);
	FILE *file = path ? fopen(path, "re") : NULL;
	Nrt__LoadResponse *answer = NULL;
	long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;

	if (size < 0)
		bench_fail(bench->neff, "cannot be read");
	if (stream && size >= 0) /* if it fails, the answer says why */
		write_load(stream, path, (uint64_t)size, bench->threads);
	if (stream)
		answer = (void *)rtd_client_finish(stream);
	if (size >= 0 && !answer)
		bench_fail("load", "%s: %s", bench->address, rtd_client_error(remote->client));
	else if (size >= 0 && check_status("load", answer->status) && answer->h_nn)
		remote->model[copy] = answer->h_nn->id;
	drop(answer);
	if (file)
		fclose(file);
	free(path);
	return remote->model[copy];
}

static bool start(const struct bench *bench, struct remote *remote, uint32_t copy)
{
	Nrt__StartRequest request = NRT__START_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	Nrt__StartResponse *answer;
	bool ok;

	handle.id = remote->model[copy];
	request.h_nn = &handle;
	answer = call(bench, remote->client, &start_method, &request.base, TIMEOUT_MS);
	ok = answer && check_status("start", answer->status);
	drop(answer);
	return ok;
}

static bool describe(struct bench *bench, struct remote *remote)
{
	Nrtx__DescribeModelRequest request = NRTX__DESCRIBE_MODEL_REQUEST__INIT;
	Nrtx__DescribeModelResponse *answer;
	bool ok;

	request.id = remote->model[0];
	answer = call(bench, remote->client, &describe_method, &request.base, TIMEOUT_MS);
	ok = answer && (!answer->status ||
			check("describe_model", answer->status->code, &answer->status->details));
	for (size_t i = 0; ok && i < answer->n_tensor; i++) {
		const Nrtx__TensorInfo *info = answer->tensor[i];
		struct npy npy = { .dtype = (uint8_t)info->dtype,
				   .ndim = (unsigned int)info->n_shape,
				   .size = info->size };

		for (size_t d = 0; d < info->n_shape && d < NPY_MAX_DIMS; d++)
			npy.shape[d] = info->shape[d];
		ok = bench_tensor_add(bench, info->name, info->source_name,
				      info->usage == NRTX__USAGE__USAGE_OUTPUT, &npy);
	}
	drop(answer);
	return ok;
}

static bool remote_open(struct bench *bench)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	bool ok = true;

	bench->state = remote;
	if (remote)
		remote->client = rtd_client_new(bench->address);
	if (!remote || !remote->client)
		return bench_fail(bench->address, "out of memory");
	for (uint32_t i = 0; ok && i < bench->copies; i++)
		ok = load(bench, remote, i) && start(bench, remote, i);
	return ok && describe(bench, remote);
}

/* Names the inputs so that the daemon takes each for this one. */
static bool call_inputs(const struct bench *bench, struct connection *c)
{
	struct neff_called *names = calloc(bench->ntensors + 1, sizeof(*names));
	const char **called = calloc(bench->ntensors + 1, sizeof(*called));
	unsigned int n = 0;
	bool ok = names && called;

	for (unsigned int i = 0; ok && i < bench->ntensors; i++)
		if (!bench->tensor[i].output)
			names[n++] = (struct neff_called){ bench->tensor[i].name,
							   bench->tensor[i].source };
	ok = ok && !neff_called_names(names, n, called);
	n = 0;
	for (unsigned int i = 0; ok && i < bench->ntensors; i++) {
		nrt__infer_io__init(&c->io[i]);
		if (!bench->tensor[i].output)
			c->io[i].name = (char *)called[n++];
	}
	free(names);
	free(called);
	return ok;
}

static bool remote_worker_open(struct bench_worker *worker)
{
	const struct bench *bench = worker->bench;
	const struct remote *remote = bench->state;
	struct connection *c = calloc(1, sizeof(*c));

	worker->state = c;
	if (c) {
		c->client = rtd_client_new(bench->address);
		c->io = calloc(bench->ntensors + 1, sizeof(*c->io));
		c->in = calloc(bench->ntensors + 1, sizeof(*c->in));
	}
	if (!c || !c->client || !c->io || !c->in)
		return bench_fail("a thread", "out of memory");
	if (!call_inputs(bench, c))
		return bench_fail("a thread", "out of memory");
	nrt__infer_request__init(&c->request);
	nrt__h_nn__init(&c->handle);
	c->handle.id = remote->model[worker->copy];
	c->request.h_nn = &c->handle;
	c->request.ifmap = c->in;
	for (unsigned int i = 0; i < bench->ntensors; i++) {
		const struct bench_tensor *t = &bench->tensor[i];
		Nrt__InferIo *io = &c->io[i];

		if (t->output)
			continue;
		io->data_case = NRT__INFER_IO__DATA_BUF;
		io->buf.data = t->npy.data;
		io->buf.len = t->npy.size;
		c->in[c->request.n_ifmap++] = io;
	}
	return true;
}

/* The daemon does not say how long the core took. */
static bool remote_execute(struct bench_worker *worker, double *core_us)
{
	struct connection *c = worker->state;
	Nrt__InferResponse *answer =
		call(worker->bench, c->client, &infer_method, &c->request.base, 0);
	bool ok = answer;

	*core_us = 0;
	if (answer && answer->status && answer->status->code == NERR_NUM_ERR)
		worker->num_errors++;
	else if (answer)
		ok = check_status("infer", answer->status);
	drop(answer);
	return ok;
}

static void remote_worker_close(struct bench_worker *worker)
{
	struct connection *c = worker->state;

	if (!c)
		return;
	if (c->client)
		rtd_client_free(c->client);
	free(c->io);
	free(c->in);
	free(c);
}

static void remote_close(struct bench *bench)
{
	struct remote *remote = bench->state;

	for (uint32_t i = 0; remote && i < bench->copies; i++) {
		Nrt__UnloadRequest request = NRT__UNLOAD_REQUEST__INIT;
		Nrt__HNn handle = NRT__H_NN__INIT;

		handle.id = remote->model[i];
		request.h_nn = &handle;
		if (remote->model[i])
			drop(rtd_client_call(remote->client, &unload_method, &request.base,
					     TIMEOUT_MS));
	}
	if (remote && remote->client)
		rtd_client_free(remote->client);
	free(remote);
}

const struct bench_way bench_remote = {
	.open = remote_open,
	.worker_open = remote_worker_open,
	.execute = remote_execute,
	.worker_close = remote_worker_close,
	.close = remote_close,
};
