/* SPDX-License-Identifier: MIT */
/* See nrt_client.h. */
#include "nrt_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ok(NRT_STATUS status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s\n%s", what, nrt_get_status_as_str(status), nrtx_error_details());
	abort();
}

void client_load(struct client *c, void *neff, size_t size, uint32_t vnc,
		 nrt_tensor_placement_t placement, uint32_t timeout_ms)
{
	struct nrtx_load_params params = { .start_core = vnc, .timeout_ms = timeout_ms };

	client_load_on(c, neff, size, &params, placement);
}

void client_load_on(struct client *c, void *neff, size_t size,
		    const struct nrtx_load_params *params, nrt_tensor_placement_t placement)
{
	int where = placement == NRT_TENSOR_PLACEMENT_DEVICE ? (int)params->start_core : -1;

	memset(c, 0, sizeof(*c));
	c->vnc = params->start_core;
	ok(nrtx_load(neff, size, params, &c->model), "load");
	free(neff);
	ok(nrt_get_model_tensor_info(c->model, &c->info), "info");
	assert(c->info->tensor_count <= 8);
	ok(nrt_allocate_tensor_set(&c->in), "set");
	ok(nrt_allocate_tensor_set(&c->out), "set");
	for (uint64_t i = 0; i < c->info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &c->info->tensor_array[i];

		ok(nrt_tensor_allocate(placement, where, t->size, t->name, &c->tensor[i]), "tenso"
											   "r");
		ok(nrt_add_tensor_to_tensor_set(t->usage == NRT_TENSOR_USAGE_INPUT ? c->in : c->out,
						t->name, c->tensor[i]),
		   "add");
	}
}

nrt_tensor_t *client_tensor(struct client *c, const char *name)
{
	for (uint64_t i = 0; i < c->info->tensor_count; i++)
		if (!strcmp(c->info->tensor_array[i].name, name))
			return c->tensor[i];
	abort();
}

void client_write(struct client *c, const char *name, const void *data, size_t size)
{
	ok(nrt_tensor_write(client_tensor(c, name), data, 0, size), "write");
}

void client_read(struct client *c, const char *name, void *data, size_t size)
{
	ok(nrt_tensor_read(client_tensor(c, name), data, 0, size), "read");
}

NRT_STATUS client_run(struct client *c)
{
	return nrt_execute(c->model, c->in, c->out);
}

void client_free(struct client *c)
{
	if (c->model)
		ok(nrt_unload(c->model), "unload");
	nrt_destroy_tensor_set(&c->in);
	nrt_destroy_tensor_set(&c->out);
	for (uint64_t i = 0; i < c->info->tensor_count; i++)
		nrt_tensor_free(&c->tensor[i]);
	nrt_free_model_tensor_info(c->info);
}
