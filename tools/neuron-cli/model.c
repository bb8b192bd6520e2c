/* SPDX-License-Identifier: MIT */
/* Groups and models: the commands that make a call or two, and the checks of answers */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "grid.h"
#include "neff.h"
#include "terminal.h"

#define CHUNK_SIZE (1u << 20)

#define METHOD(name, response)                                                         \
	static const struct rtd_client_method name##_method = { "/nrt.nmgr_v1/" #name, \
								&response##__descriptor }
METHOD(create_eg, nrt__create_eg_response);
METHOD(destroy_eg, nrt__destroy_eg_response);
METHOD(list_egs, nrt__out_list_egs);
METHOD(load, nrt__load_response);
METHOD(start, nrt__start_response);
METHOD(stop, nrt__stop_response);
METHOD(unload, nrt__unload_response);
METHOD(unload_all, nrt__status);

static const struct rtd_client_method list_models_method = {
	"/nrtx.nmgr_x/list_models", &nrtx__list_models_response__descriptor
};

static const struct rtd_client_method share_eg_method = { "/nrtx.nmgr_x/share_eg",
							  &nrtx__share_eg_response__descriptor };

/* ---- answers */

const char *cli_method_name(const struct rtd_client_method *method)
{
	return strrchr(method->path, '/') + 1;
}

bool cli_check(const char *what, int32_t code, const ProtobufCBinaryData *details)
{
	if (!code)
		return true;
	cli_fail(what, "NERR code %d", code);
	if (details->len)
		fprintf(stderr, "%.*s\n", (int)details->len, (const char *)details->data);
	return false;
}

ProtobufCMessage *cli_call(struct cli *cli, const struct rtd_client_method *method,
			   const ProtobufCMessage *request)
{
	ProtobufCMessage *response;

	terminal_begin();
	terminal_progress(NULL, cli_method_name(method), 0, 0);
	response = rtd_client_call(cli->client, method, request, CLI_TIMEOUT_MS);
	terminal_end();
	if (!response)
		cli_fail(cli_method_name(method), "%s: %s", cli->options->address,
			 rtd_client_error(cli->client));
	return response;
}

static bool status_ok(const struct rtd_client_method *method, const Nrt__Status *status)
{
	return !status || cli_check(cli_method_name(method), status->code, &status->details);
}

static void answer_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

/* ---- groups */

/* Makes a group and returns its id, or 0 after a failure. */
static uint32_t make_ncg(struct cli *cli, uint32_t *nc_count)
{
	Nrt__CreateEgRequest req = NRT__CREATE_EG_REQUEST__INIT;
	Nrt__CreateEgResponse *resp;
	uint32_t id = 0;

	req.nc_count = *nc_count;
	resp = (void *)cli_call(cli, &create_eg_method, &req.base);
	if (resp && status_ok(&create_eg_method, resp->status) && resp->h_eg) {
		id = resp->h_eg->id;
		*nc_count = resp->nc_count;
	}
	answer_free(resp);
	return id;
}

int cli_create_ncg(struct cli *cli)
{
	uint32_t count = cli->options->nc_count;
	uint32_t id = make_ncg(cli, &count);

	if (!id)
		return 1;
	printf("NCG ID %u NC count %u\n", id, count);
	return 0;
}

static int remove_ncg(struct cli *cli, uint32_t id)
{
	Nrt__DestroyEgRequest req = NRT__DESTROY_EG_REQUEST__INIT;
	Nrt__HEg handle = NRT__H_EG__INIT;
	Nrt__DestroyEgResponse *resp;
	bool ok;

	handle.id = id;
	req.h_eg = &handle;
	resp = (void *)cli_call(cli, &destroy_eg_method, &req.base);
	ok = resp && status_ok(&destroy_eg_method, resp->status);
	answer_free(resp);
	return ok ? 0 : 1;
}

static void cell(struct grid *g, unsigned int column, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	grid_set(g, column, text);
}

static void print_ncgs(const Nrt__OutListEgs *list)
{
	struct grid *g = grid_new();

	if (!g)
		return;
	grid_add_column(g, "NCG ID", GRID_RIGHT);
	grid_add_column(g, "NC COUNT", GRID_RIGHT);
	grid_add_column(g, "DEVICE START INDEX", GRID_RIGHT);
	grid_add_column(g, "NC START INDEX", GRID_RIGHT);
	for (size_t i = 0; i < list->n_eg_info; i++) {
		const Nrt__EgInfo *info = list->eg_info[i];

		grid_add_row(g);
		cell(g, 0, info->eg ? info->eg->id : 0);
		cell(g, 1, info->nc_count);
		cell(g, 2, info->mla_start_index);
		cell(g, 3, info->nc_start_index);
	}
	grid_print(g, stdout);
	grid_free(g);
}

int cli_list_ncg(struct cli *cli)
{
	Nrt__Empty req = NRT__EMPTY__INIT;
	Nrt__OutListEgs *resp = (void *)cli_call(cli, &list_egs_method, &req.base);

	if (!resp || !status_ok(&list_egs_method, resp->status)) {
		answer_free(resp);
		return 1;
	}
	printf("Device count %u NC count %u\n", resp->mla_count, resp->nc_count);
	printf("Found %zu NCG's\n", resp->n_eg_info);
	if (resp->n_eg_info)
		print_ncgs(resp);
	answer_free(resp);
	return 0;
}

int cli_reset(struct cli *cli)
{
	Nrt__Empty req = NRT__EMPTY__INIT;
	Nrt__Status *resp = (void *)cli_call(cli, &unload_all_method, &req.base);
	bool ok = resp && status_ok(&unload_all_method, resp);

	answer_free(resp);
	return ok ? 0 : 1;
}

/* ---- models */

Nrtx__ListModelsResponse *cli_models(struct cli *cli)
{
	Nrtx__ListModelsRequest req = NRTX__LIST_MODELS_REQUEST__INIT;
	Nrtx__ListModelsResponse *resp = (void *)cli_call(cli, &list_models_method, &req.base);

	if (!resp || !resp->status ||
	    cli_check("list-model", resp->status->code, &resp->status->details))
		return resp;
	answer_free(resp);
	return NULL;
}

static const char *state_name(Nrtx__ModelState state)
{
	return state == NRTX__MODEL_STATE__MODEL_READY	  ? "READY"
	       : state == NRTX__MODEL_STATE__MODEL_FAILED ? "FAILED"
							  : "STANDBY";
}

static void print_models(const Nrtx__ListModelsResponse *list)
{
	static const char *const titles[] = { "MODEL ID", "MODEL STATUS",
					      "NCG ID",	  "NEURON DEVICE START INDEX",
					      "NC INDEX", "NC COUNT" };
	struct grid *g = grid_new();

	if (!g)
		return;
	grid_add_column(g, "UUID", GRID_LEFT);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		grid_add_column(g, titles[i], i == 1 ? GRID_LEFT : GRID_RIGHT);
	grid_add_column(g, "NAME", GRID_LEFT);
	for (size_t i = 0; i < list->n_model; i++) {
		const Nrtx__ModelInfo *m = list->model[i];

		grid_add_row(g);
		grid_set(g, 0, m->uuid);
		cell(g, 1, m->id);
		grid_set(g, 2, state_name(m->state));
		cell(g, 3, m->eg);
		cell(g, 4, m->mla_start_index);
		cell(g, 5, m->nc_start_index);
		cell(g, 6, m->nc_count);
		grid_set(g, 7, m->name);
	}
	grid_print(g, stdout);
	grid_free(g);
}

int cli_list_model(struct cli *cli)
{
	Nrtx__ListModelsResponse *resp = cli_models(cli);

	if (!resp)
		return 1;
	printf("Found %zu models\n", resp->n_model);
	if (resp->n_model)
		print_models(resp);
	answer_free(resp);
	return 0;
}

/* Makes one call for each id of the command line; the first failure ends it. */
static int for_ids(struct cli *cli, int (*act)(struct cli *, uint32_t))
{
	const struct cli_options *o = cli->options;
	uint32_t id;

	for (unsigned int i = 0; i < o->nargs; i++) {
		if (!cli_number(o->args[i], &id)) {
			cli_fail("not an id", "%s", o->args[i]);
			return 2;
		}
		if (act(cli, id))
			return 1;
	}
	return 0;
}

int cli_destroy_ncg(struct cli *cli)
{
	return for_ids(cli, remove_ncg);
}

static int share_ncg(struct cli *cli, uint32_t id)
{
	Nrtx__ShareEgRequest req = NRTX__SHARE_EG_REQUEST__INIT;
	Nrtx__ShareEgResponse *resp;
	bool ok;

	req.eg = id;
	req.sharing = cli->options->sharing;
	resp = (void *)cli_call(cli, &share_eg_method, &req.base);
	ok = resp &&
	     (!resp->status || cli_check("share_eg", resp->status->code, &resp->status->details));
	answer_free(resp);
	return ok ? 0 : 1;
}

int cli_share_ncg(struct cli *cli)
{
	return for_ids(cli, share_ncg);
}

static int model_answer(const struct rtd_client_method *method, void *resp,
			const Nrt__Status *status)
{
	bool ok = resp && status_ok(method, status);

	answer_free(resp);
	return ok ? 0 : 1;
}

static int start_model(struct cli *cli, uint32_t id)
{
	Nrt__StartRequest req = NRT__START_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	Nrt__StartResponse *resp;

	handle.id = id;
	req.h_nn = &handle;
	resp = (void *)cli_call(cli, &start_method, &req.base);
	return model_answer(&start_method, resp, resp ? resp->status : NULL);
}

int cli_start(struct cli *cli)
{
	return for_ids(cli, start_model);
}

static int stop_model(struct cli *cli, uint32_t id)
{
	Nrt__StopRequest req = NRT__STOP_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	Nrt__StopResponse *resp;

	handle.id = id;
	req.h_nn = &handle;
	resp = (void *)cli_call(cli, &stop_method, &req.base);
	return model_answer(&stop_method, resp, resp ? resp->status : NULL);
}

int cli_stop(struct cli *cli)
{
	return for_ids(cli, stop_model);
}

static int unload_model(struct cli *cli, uint32_t id)
{
	Nrt__UnloadRequest req = NRT__UNLOAD_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	Nrt__UnloadResponse *resp;

	handle.id = id;
	req.h_nn = &handle;
	resp = (void *)cli_call(cli, &unload_method, &req.base);
	return model_answer(&unload_method, resp, resp ? resp->status : NULL);
}

int cli_unload(struct cli *cli)
{
	return for_ids(cli, unload_model);
}

/* ---- load */

struct neff_file {
	const char *path;
	const uint8_t *data;
	size_t size;
};

static int file_map(const char *path, struct neff_file *file)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	void *map;

	if (fd < 0 || fstat(fd, &st)) {
		err = errno;
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		err = EINVAL;
	} else {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		err = map == MAP_FAILED ? errno : 0;
		*file = (struct neff_file){ path, map, st.st_size };
	}
	if (fd >= 0)
		close(fd);
	return err ? cli_fail(path, "%s", strerror(err)) : 0;
}

static int write_params(struct cli *cli, struct rtd_client_call *call)
{
	Nrt__LoadRequest req = NRT__LOAD_REQUEST__INIT;
	Nrt__ModelParams params = NRT__MODEL_PARAMS__INIT;
	Nrt__U32 ninfer = NRT__U32__INIT, timeout = NRT__U32__INIT;

	ninfer.data = cli->options->ninfer;
	timeout.data = cli->options->timeout;
	if (ninfer.data)
		params.ninfer = &ninfer;
	if (timeout.data)
		params.timeout = &timeout;
	req.content_case = NRT__LOAD_REQUEST__CONTENT_MODEL_PARAMS;
	req.model_params = &params;
	return rtd_client_write(call, &req.base);
}

static int write_neff(struct rtd_client_call *call, const struct neff_file *file)
{
	Nrt__LoadRequest req = NRT__LOAD_REQUEST__INIT;
	Nrt__FileChunk chunk = NRT__FILE_CHUNK__INIT;
	int err = 0;

	for (size_t at = 0; !err && at < file->size; at += chunk.chunk.len) {
		size_t left = file->size - at;

		chunk.chunk.data = (uint8_t *)file->data + at;
		chunk.chunk.len = left < CHUNK_SIZE ? left : CHUNK_SIZE;
		terminal_progress(NULL, "sending MiB", (unsigned int)(at >> 20),
				  (unsigned int)(file->size >> 20));
		req.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
		req.neff_chunk = &chunk;
		err = rtd_client_write(call, &req.base);
	}
	return err;
}

static int write_load(struct cli *cli, struct rtd_client_call *call, uint32_t ncg,
		      const struct neff_file *file)
{
	Nrt__LoadRequest req = NRT__LOAD_REQUEST__INIT;
	Nrt__HEg handle = NRT__H_EG__INIT;
	char *path;
	int err = 0;

	handle.id = ncg;
	req.content_case = NRT__LOAD_REQUEST__CONTENT_H_EG;
	req.h_eg = &handle;
	if (ncg)
		err = rtd_client_write(call, &req.base);
	req.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE;
	req.neff_size = file->size;
	if (!err)
		err = rtd_client_write(call, &req.base);
	if (!err)
		err = write_params(cli, call);
	if (err || !cli->options->direct_file)
		return err ? err : write_neff(call, file);
	path = realpath(file->path, NULL);
	if (!path)
		return -errno;
	req.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_FILE;
	req.neff_file = path;
	err = rtd_client_write(call, &req.base);
	free(path);
	return err;
}

/* Loads a model and returns its id, or 0 after a failure. */
static uint32_t load_one(struct cli *cli, uint32_t ncg, const struct neff_file *file)
{
	struct rtd_client_call *call = rtd_client_stream(cli->client, &load_method);
	Nrt__LoadResponse *resp;
	uint32_t id = 0;

	if (!call)
		return 0;
	terminal_begin();
	terminal_progress(NULL, "sending", 0, 0);
	write_load(cli, call, ncg, file); /* if it fails, the answer says why */
	terminal_progress(NULL, "the daemon loads it", 0, 0);
	resp = (void *)rtd_client_finish(call);
	terminal_end();
	if (!resp)
		cli_fail("load", "%s: %s", cli->options->address, rtd_client_error(cli->client));
	else if (status_ok(&load_method, resp->status) && resp->h_nn)
		id = resp->h_nn->id;
	answer_free(resp);
	return id;
}

/* Makes a group that is just large enough, for --ncg-id 0 and copies. */
static uint32_t group_for(struct cli *cli, const struct neff_file *file)
{
	struct neff_error error = { 0 };
	struct neff_header header;
	uint32_t count;

	if (neff_read_header(file->data, file->size, &header, &error)) {
		cli_fail(file->path, "%s", error.text);
		return 0;
	}
	count = cli->options->nc_count ? cli->options->nc_count : header.num_tpb;
	count = count ? count : 1;
	return make_ncg(cli, &count);
}

static int load_copy(struct cli *cli, const struct neff_file *file)
{
	const struct cli_options *o = cli->options;
	bool own = o->ncg_id == 0;
	uint32_t ncg = o->ncg_id > 0 ? o->ncg_id : 0, id;

	if (own) {
		ncg = group_for(cli, file);
		if (!ncg)
			return 1;
	}
	id = load_one(cli, ncg, file);
	if (!id && own)
		remove_ncg(cli, ncg);
	if (!id)
		return 1;
	printf("%u\n", id);
	/* a model in the daemon's own group runs already; starting it again changes nothing */
	return o->start ? start_model(cli, id) : 0;
}

int cli_load(struct cli *cli)
{
	struct neff_file file;
	int status = file_map(cli->options->args[0], &file);

	if (status)
		return status;
	for (uint32_t i = 0; !status && i < cli->options->copies; i++)
		status = load_copy(cli, &file);
	munmap((void *)file.data, file.size);
	return status;
}
