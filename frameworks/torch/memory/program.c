// SPDX-License-Identifier: MIT
/* Programs on the memory of tensors */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "nrt/nrtx.h"

struct nt_program {
	nrt_model_t *model;
	uint32_t inputs, outputs;
	char *names[];
};

void nt_program_unload(struct nt_program *program)
{
	if (program->model)
		nrt_unload(program->model);
	for (uint32_t i = 0; i < program->inputs + program->outputs; i++)
		free(program->names[i]);
	free(program);
}

NRT_STATUS nt_program_load(const struct nt_load *load, struct nt_program **program)
{
	const struct nrtx_load_params params = { .start_core = (uint32_t)load->core,
						 .rank = load->rank,
						 .ranks = load->ranks,
						 .group = load->group };
	size_t n = (size_t)load->inputs + load->outputs;
	struct nt_program *p = calloc(1, sizeof(*p) + n * sizeof(p->names[0]));
	NRT_STATUS status = NRT_SUCCESS;

	if (!p)
		return NRT_FAIL_HOST_MEM_ALLOC;
	p->inputs = load->inputs;
	p->outputs = load->outputs;
	for (size_t i = 0; i < n && !status; i++) {
		p->names[i] = strdup(load->names[i]);
		if (!p->names[i])
			status = NRT_FAIL_HOST_MEM_ALLOC;
	}
	if (!status)
		status = nrtx_load(load->neff, load->bytes, &params, &p->model);
	if (status)
		nt_program_unload(p);
	else
		*program = p;
	return status;
}

static NRT_STATUS put(nrt_tensor_set_t *set, const char *name, const struct nt_span *span,
		      nrt_tensor_t **slice)
{
	nrt_tensor_t *tensor = nt_block_at(span->base);
	NRT_STATUS status =
		tensor ? nrt_tensor_allocate_slice(tensor, span->offset, span->bytes, NULL, slice)
		       : NRT_INVALID_HANDLE;

	return status ? status : nrt_add_tensor_to_tensor_set(set, name, *slice);
}

NRT_STATUS nt_program_run(struct nt_program *program, const struct nt_span *spans)
{
	uint32_t n = program->inputs + program->outputs;
	nrt_tensor_t **slices = calloc(n ? n : 1, sizeof(slices[0]));
	nrt_tensor_set_t *sets[2] = { NULL, NULL };
	NRT_STATUS status = slices ? NRT_SUCCESS : NRT_FAIL_HOST_MEM_ALLOC;

	for (unsigned int i = 0; i < 2 && !status; i++)
		status = nrt_allocate_tensor_set(&sets[i]);
	for (uint32_t i = 0; i < n && !status; i++)
		status = put(sets[i >= program->inputs], program->names[i], &spans[i], &slices[i]);
	if (!status)
		status = nrt_execute(program->model, sets[0], sets[1]);
	for (unsigned int i = 0; i < 2; i++) {
		if (sets[i])
			nrt_destroy_tensor_set(&sets[i]);
	}
	for (uint32_t i = 0; slices && i < n; i++) {
		if (slices[i])
			nrt_tensor_free(&slices[i]);
	}
	free(slices);
	return status;
}
