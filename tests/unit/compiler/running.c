// SPDX-License-Identifier: MIT
#include "running.h"

#include <check.h>
#include <stdlib.h>

#include "files.h"
#include "nrt/nrtx.h"

static void add_tensor(nrt_tensor_set_t *set, const char *stem, unsigned int i, size_t size,
		       nrt_tensor_t **t)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%u", stem, i);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, size, name, t), 0);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, *t), 0);
}

void running_begin(struct running *r, const void *neff, size_t neff_size, const size_t *in,
		   unsigned int nin, const size_t *out, unsigned int nout)
{
	NRT_STATUS rc = nrt_load(neff, neff_size, 0, -1, &r->model);

	ck_assert_msg(!rc, "nrt_load: %s: %s", nrt_get_status_as_str(rc), nrtx_error_details());
	ck_assert_int_eq(nrt_allocate_tensor_set(&r->in), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&r->out), 0);
	r->nin = nin;
	r->nout = nout;
	for (unsigned int i = 0; i < nin; i++)
		add_tensor(r->in, "input", i, in[i], &r->tin[i]);
	for (unsigned int i = 0; i < nout; i++)
		add_tensor(r->out, "output", i, out[i], &r->tout[i]);
}

void running_load(struct running *r, const char *path, enum ncc_cast cast, const size_t *in,
		  unsigned int nin, const size_t *out, unsigned int nout)
{
	size_t size, neff_size;
	void *hlo = read_data(path, &size), *neff = compile(hlo, size, cast, &neff_size);

	running_begin(r, neff, neff_size, in, nin, out, nout);
	free(hlo);
	free(neff);
}

void running_unload(struct running *r)
{
	nrt_destroy_tensor_set(&r->in);
	nrt_destroy_tensor_set(&r->out);
	for (unsigned int i = 0; i < r->nin; i++)
		nrt_tensor_free(&r->tin[i]);
	for (unsigned int i = 0; i < r->nout; i++)
		nrt_tensor_free(&r->tout[i]);
	ck_assert_int_eq(nrt_unload(r->model), 0);
}
