/* SPDX-License-Identifier: MIT */
/*
 * A model with its tensors, for tests of libnrt: load, fill, run, read. All functions assert
 * success.
 */
#ifndef NRT_CLIENT_H
#define NRT_CLIENT_H

#include "nrt/nrtx.h"

struct client {
	nrt_model_t *model;
	nrt_tensor_info_array_t *info;
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t *tensor[8];
	uint32_t vnc;
};

/*
 * Loads and frees neff, and makes tensors of the placement for every input and output; timeout_ms
 * 0: the default
 */
void client_load(struct client *c, void *neff, size_t size, uint32_t vnc,
		 nrt_tensor_placement_t placement, uint32_t timeout_ms);
/* the same on a range of cores; timeout_ms as above */
void client_load_on(struct client *c, void *neff, size_t size,
		    const struct nrtx_load_params *params, nrt_tensor_placement_t placement);
nrt_tensor_t *client_tensor(struct client *c, const char *name);
void client_write(struct client *c, const char *name, const void *data, size_t size);
void client_read(struct client *c, const char *name, void *data, size_t size);
NRT_STATUS client_run(struct client *c);
void client_free(struct client *c);

#endif
