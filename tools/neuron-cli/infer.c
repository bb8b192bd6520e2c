/* SPDX-License-Identifier: MIT */
/*
 * neuron-cli infer: sends rows of .npy files through one or many models, with many inferences in
 * flight. Models share the rows and take turns; with --each every model gets all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tensors.h"
#include "terminal.h"

#define NERR_QUEUE_FULL 7
#define NERR_NUM_ERR 1003
#define RETRY_US 1000

static const struct rtd_client_method infer_method = { "/nrt.nmgr_v1/infer",
						       &nrt__infer_response__descriptor };
static const struct rtd_client_method shm_map_method = { "/nrt.nmgr_v1/shm_map",
							 &nrt__shm_map_response__descriptor };
static const struct rtd_client_method shm_unmap_method = { "/nrt.nmgr_v1/shm_unmap",
							   &nrt__shm_unmap_response__descriptor };

/* The rows for one model or for all of them, as often as --repeat says */
struct work {
	struct tensors t;
	uint64_t next, count; /* inferences; every repetition has those of t */
};

struct target {
	uint32_t model, ninfer, inflight;
	struct work *work;
};

/* One inference in flight and its buffers */
struct slot {
	struct target *target;
	uint64_t index;
	bool busy;
	struct buffer {
		uint8_t *data; /* the bytes of a whole execution */
		char shm[64]; /* the name of its shared memory, or "" */
	} * buffers; /* indexed by tensor */
};

struct run {
	struct cli *cli;
	Nrt__InferIo *ios, **in, **out; /* the request being built */
	Nrt__SharedMemBuf *shms;
	unsigned int ntargets, nworks, nslots, busy;
	struct target *targets;
	struct work *works;
	struct slot *slots;
	unsigned int turn;
	uint64_t inferences, num_errors;
};

/* ---- models */

static bool wanted(const struct cli_options *o, const Nrtx__ModelInfo *model, bool *bad)
{
	uint32_t id;

	if (o->all)
		return model->state == NRTX__MODEL_STATE__MODEL_READY;
	for (unsigned int i = 0; i < o->nargs; i++) {
		if (!cli_number(o->args[i], &id))
			*bad = true;
		else if (id == model->id)
			return true;
	}
	return false;
}

/* Finds the models. They can share rows only if they are copies of one NEFF. */
static bool find_targets(struct run *run)
{
	Nrtx__ListModelsResponse *list = cli_models(run->cli);
	const struct cli_options *o = run->cli->options;
	const char *uuid = NULL;
	bool bad = false, mixed = false, found = false;

	if (!list)
		return false;
	run->targets = calloc(list->n_model + 1, sizeof(*run->targets));
	for (size_t i = 0; run->targets && i < list->n_model; i++) {
		const Nrtx__ModelInfo *model = list->model[i];

		if (!wanted(o, model, &bad))
			continue;
		mixed |= uuid && strcmp(uuid, model->uuid);
		uuid = model->uuid;
		run->targets[run->ntargets].model = model->id;
		run->targets[run->ntargets++].ninfer = model->ninfer ? model->ninfer : 1;
	}
	if (bad || !run->ntargets || (!o->all && run->ntargets != o->nargs))
		cli_fail("infer", o->all ? "no model is started" : "a model is not loaded");
	else if (mixed)
		cli_fail("infer", "the models come from different NEFFs");
	else
		found = true;
	protobuf_c_message_free_unpacked(&list->base, NULL);
	return found;
}

static bool bind_works(struct run *run)
{
	run->nworks = run->cli->options->each ? run->ntargets : 1;
	run->works = calloc(run->nworks, sizeof(*run->works));
	if (!run->works)
		return false;
	for (unsigned int i = 0; i < run->nworks; i++) {
		if (!tensors_bind(run->cli, run->targets[i].model, &run->works[i].t))
			return false;
		run->works[i].count = tensors_count(&run->works[i].t) * run->cli->options->repeat;
	}
	for (unsigned int i = 0; i < run->ntargets; i++)
		run->targets[i].work = &run->works[run->nworks > 1 ? i : 0];
	return true;
}

/* ---- buffers */

static bool shm_call(struct cli *cli, const char *path, bool map)
{
	Nrt__ShmMapRequest req = NRT__SHM_MAP_REQUEST__INIT;
	Nrt__ShmUnmapRequest unreq = NRT__SHM_UNMAP_REQUEST__INIT;
	const Nrt__Status *status;
	ProtobufCMessage *resp;
	bool ok = false;

	req.data_case = NRT__SHM_MAP_REQUEST__DATA_PATH;
	req.path = (char *)path;
	req.mmap_prot = PROT_READ | PROT_WRITE;
	unreq.path = (char *)path;
	unreq.mmap_prot = PROT_READ | PROT_WRITE;
	resp = map ? cli_call(cli, &shm_map_method, &req.base)
		   : cli_call(cli, &shm_unmap_method, &unreq.base);
	if (resp) {
		status = map ? ((Nrt__ShmMapResponse *)resp)->status
			     : ((Nrt__ShmUnmapResponse *)resp)->status;
		ok = !status ||
		     cli_check(map ? "shm_map" : "shm_unmap", status->code, &status->details);
		protobuf_c_message_free_unpacked(resp, NULL);
	}
	return ok;
}

static bool buffer_shm(struct cli *cli, struct buffer *b, size_t size, unsigned int slot,
		       unsigned int tensor)
{
	char name[sizeof(b->shm)];
	bool ok = false;
	int fd;

	snprintf(name, sizeof(name), "/neuron-cli-%d-%u-%u", (int)getpid(), slot, tensor);
	fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, size)) {
		cli_fail(name, "%s", strerror(errno));
	} else {
		b->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (b->data == MAP_FAILED)
			b->data = NULL;
		ok = b->data && shm_call(cli, name, true);
	}

	if (fd >= 0) {
		close(fd);
		shm_unlink(name); /* the daemon has it mapped */
	}

	if (ok)
		memcpy(b->shm, name, sizeof(name));
	return ok;
}

static bool make_request(struct run *run)
{
	unsigned int n = run->works[0].t.n + 1;

	run->ios = calloc(n, sizeof(*run->ios));
	run->in = calloc(n, sizeof(*run->in));
	run->out = calloc(n, sizeof(*run->out));
	run->shms = calloc(n, sizeof(*run->shms));
	return run->ios && run->in && run->out && run->shms;
}

static void free_request(struct run *run)
{
	free(run->ios);
	free(run->in);
	free(run->out);
	free(run->shms);
}

static bool make_slots(struct run *run)
{
	const struct cli_options *o = run->cli->options;
	const struct tensors *t = &run->works[0].t;
	uint64_t capacity = 0;

	for (unsigned int i = 0; i < run->ntargets; i++)
		capacity += run->targets[i].ninfer;
	run->nslots = o->in_flight && o->in_flight < capacity ? o->in_flight : capacity;
	run->slots = calloc(run->nslots, sizeof(*run->slots));
	for (unsigned int s = 0; run->slots && s < run->nslots; s++) {
		run->slots[s].buffers = calloc(t->n + 1, sizeof(struct buffer));
		if (!run->slots[s].buffers)
			return false;
		for (unsigned int i = 0; i < t->n; i++) {
			struct buffer *b = &run->slots[s].buffers[i];
			size_t size = t->list[i].info->size ? t->list[i].info->size : 1;

			if (o->shm ? !buffer_shm(run->cli, b, size, s, i)
				   : !(b->data = calloc(1, size)))
				return false;
		}
	}
	return run->slots;
}

static void free_slots(struct run *run)
{
	const struct tensors *t = run->works ? &run->works[0].t : NULL;

	for (unsigned int s = 0; run->slots && s < run->nslots; s++) {
		for (unsigned int i = 0; run->slots[s].buffers && i < t->n; i++) {
			struct buffer *b = &run->slots[s].buffers[i];

			if (b->shm[0])
				shm_call(run->cli, b->shm, false);
			if (!run->cli->options->shm)
				free(b->data);
		}
		free(run->slots[s].buffers);
	}
	free(run->slots);
}

/* ---- one inference */

/* The input of a whole execution: straight from the file, or padded with zeros */
static uint8_t *input_bytes(struct run *run, struct slot *slot, unsigned int i)
{
	const struct tensors *t = &slot->target->work->t;
	struct buffer *b = &slot->buffers[i];
	uint64_t size = t->list[i].info->size, bytes;
	uint8_t *from = tensor_at(&t->list[i], slot->index, &bytes);

	if (bytes == size && !b->shm[0])
		return from;
	memcpy(b->data, from, bytes);
	memset(b->data + bytes, 0, size - bytes);
	return b->data;
}

static bool slot_send(struct run *run, struct slot *slot)
{
	const struct tensors *t = &slot->target->work->t;
	Nrt__InferRequest req = NRT__INFER_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;

	handle.id = slot->target->model;
	req.h_nn = &handle;
	req.ifmap = run->in;
	req.shm_ofmap = run->out;
	for (unsigned int i = 0; i < t->n; i++) {
		Nrt__InferIo *io = &run->ios[i];
		bool output = t->list[i].output, shm = slot->buffers[i].shm[0];
		uint8_t *data = output ? NULL : input_bytes(run, slot, i);

		nrt__infer_io__init(io);
		nrt__shared_mem_buf__init(&run->shms[i]);
		io->name = (char *)t->list[i].called;
		io->data_case = shm ? NRT__INFER_IO__DATA_BUF_SHM : NRT__INFER_IO__DATA_BUF;
		if (shm) {
			run->shms[i].path = slot->buffers[i].shm;
			io->buf_shm = &run->shms[i];
		} else {
			io->buf.data = data;
			io->buf.len = t->list[i].info->size;
		}
		if (!output)
			run->in[req.n_ifmap++] = io;
		else if (shm)
			run->out[req.n_shm_ofmap++] = io;
	}
	return !rtd_client_start(run->cli->client, &infer_method, &req.base, 0, slot);
}

static const ProtobufCBinaryData *find_ofmap(const Nrt__InferResponse *resp, const char *name)
{
	for (size_t i = 0; i < resp->n_ofmap; i++)
		if (!strcmp(resp->ofmap[i]->name, name) &&
		    resp->ofmap[i]->data_case == NRT__INFER_IO__DATA_BUF)
			return &resp->ofmap[i]->buf;
	return NULL;
}

static bool slot_store(struct slot *slot, const Nrt__InferResponse *resp)
{
	const struct tensors *t = &slot->target->work->t;
	const ProtobufCBinaryData *buf;
	uint64_t bytes;
	uint8_t *to;

	for (unsigned int i = 0; i < t->n; i++) {
		if (!t->list[i].output)
			continue;
		to = tensor_at(&t->list[i], slot->index, &bytes);
		if (slot->buffers[i].shm[0]) {
			memcpy(to, slot->buffers[i].data, bytes);
			continue;
		}
		buf = find_ofmap(resp, t->list[i].answered);
		if (!buf || buf->len != t->list[i].info->size) {
			cli_fail("infer", "output [%s]: %zu bytes, expected %llu",
				 t->list[i].info->name, buf ? buf->len : 0,
				 (unsigned long long)t->list[i].info->size);
			return false;
		}
		memcpy(to, buf->data, bytes);
	}
	return true;
}

/* ---- all of them */

static struct slot *free_slot(struct run *run)
{
	for (unsigned int i = 0; i < run->nslots; i++)
		if (!run->slots[i].busy)
			return &run->slots[i];
	return NULL;
}

/* Models take turns, each up to its own queue depth */
static struct target *next_target(struct run *run)
{
	for (unsigned int i = 0; i < run->ntargets; i++) {
		struct target *target = &run->targets[(run->turn + i) % run->ntargets];

		if (target->inflight < target->ninfer && target->work->next < target->work->count) {
			run->turn = (run->turn + i + 1) % run->ntargets;
			return target;
		}
	}
	return NULL;
}

static bool fill(struct run *run)
{
	struct target *target;
	struct slot *slot;

	while ((slot = free_slot(run)) && (target = next_target(run))) {
		slot->target = target;
		slot->index = target->work->next++ % tensors_count(&target->work->t);
		slot->busy = true;
		target->inflight++;
		run->busy++;
		if (!slot_send(run, slot)) {
			cli_fail("infer", "out of memory");
			return false;
		}
	}
	return true;
}

static bool collect(struct run *run)
{
	Nrt__InferResponse *resp;
	struct slot *slot;
	bool ok = false;
	int32_t code;
	void *data;

	if (!rtd_client_next(run->cli->client, (ProtobufCMessage **)&resp, &data))
		return false;

	slot = data;
	if (!resp) {
		cli_fail("infer", "%s: %s", run->cli->options->address,
			 rtd_client_error(run->cli->client));
		return false;
	}

	code = resp->status ? resp->status->code : 0;
	if (code == NERR_QUEUE_FULL) {
		/* another client has filled the model's queue */
		protobuf_c_message_free_unpacked(&resp->base, NULL);
		usleep(RETRY_US);
		return slot_send(run, slot);
	}

	run->num_errors += code == NERR_NUM_ERR;
	if (code == NERR_NUM_ERR || cli_check("infer", code, &resp->status->details))
		ok = slot_store(slot, resp);

	protobuf_c_message_free_unpacked(&resp->base, NULL);
	slot->busy = false;
	slot->target->inflight--;
	run->busy--;
	run->inferences++;
	return ok;
}

static bool run_all(struct run *run)
{
	uint64_t total = 0;
	bool ok;

	for (unsigned int i = 0; i < run->nworks; i++)
		total += run->works[i].count;
	terminal_begin();
	ok = fill(run);
	while (ok && run->busy) {
		terminal_progress(NULL, "inferences", (unsigned int)run->inferences,
				  (unsigned int)total);
		ok = collect(run) && fill(run);
	}
	terminal_end();
	return ok;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void report(const struct run *run, double time)
{
	uint64_t rows = run->works[0].t.rows.given * run->nworks * run->cli->options->repeat;

	printf("%llu rows, %llu inferences on %u models, %u in flight: %.3f s, %.1f rows/s\n",
	       (unsigned long long)rows, (unsigned long long)run->inferences, run->ntargets,
	       run->nslots, time, rows / time);
	if (run->num_errors)
		printf("%llu inferences completed with numerical errors\n",
		       (unsigned long long)run->num_errors);
}

static bool write_all(struct run *run)
{
	const struct cli_options *o = run->cli->options;
	char dir[4096];

	if (!o->output_dir)
		return true;
	if (!o->each)
		return tensors_write(&run->works[0].t, o->output_dir, o->whole);
	if (mkdir(o->output_dir, 0777) && errno != EEXIST) {
		cli_fail(o->output_dir, "%s", strerror(errno));
		return false;
	}
	for (unsigned int i = 0; i < run->nworks; i++) {
		snprintf(dir, sizeof(dir), "%s/%u", o->output_dir, run->targets[i].model);
		if (!tensors_write(&run->works[i].t, dir, o->whole))
			return false;
	}
	return true;
}

int cli_infer(struct cli *cli)
{
	struct run run = { .cli = cli };
	double begun;
	bool ok;

	if (cli->options->all == (cli->options->nargs > 0)) {
		cli_fail("infer", "expected --all or the ids of models");
		return 2;
	}

	ok = find_targets(&run) && bind_works(&run) && make_request(&run) && make_slots(&run);
	begun = seconds();
	ok = ok && run_all(&run);

	if (ok)
		report(&run, seconds() - begun);
	ok = ok && write_all(&run);

	free_slots(&run);
	free_request(&run);
	for (unsigned int i = 0; run.works && i < run.nworks; i++)
		tensors_free(&run.works[i].t);
	free(run.works);
	free(run.targets);
	return ok ? 0 : 1;
}
