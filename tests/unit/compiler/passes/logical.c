// SPDX-License-Identifier: MIT
#include "logical.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/isa.h"
#include "nrt/nrt_experimental.h"

#define MAX_TENSORS 16

void logical_start(const char *config)
{
	if (config)
		setenv("NEURON_LOGICAL_NC_CONFIG", config, 1);
	ck_assert_int_eq(nrtx_machine_set("emu:trn2.3xlarge"), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), 0);
}

static void fill(uint8_t *buf, const nrt_tensor_info_t *t)
{
	for (size_t i = 0; i < t->size / 4; i++) {
		int32_t v = (int32_t)(i * 37 % 23) - 11;
		float f = (float)v / 8;

		memcpy(buf + 4 * i, t->dtype == (nrt_dtype_t)NEURON_DT_FP32 ? (void *)&f : &v, 4);
	}
}

uint8_t *logical_outputs(const void *neff, size_t neff_size, int32_t core, size_t *size)
{
	nrt_tensor_t *tensor[MAX_TENSORS];
	nrt_tensor_info_array_t *info;
	nrt_tensor_set_t *in, *out;
	nrt_model_t *model;
	uint8_t *all;

	ck_assert_msg(!nrt_load(neff, neff_size, core, -1, &model), "%s", nrtx_error_details());
	ck_assert_int_eq(nrt_get_model_tensor_info(model, &info), 0);
	ck_assert_uint_le(info->tensor_count, MAX_TENSORS);
	ck_assert_int_eq(nrt_allocate_tensor_set(&in), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&out), 0);
	*size = 0;
	for (unsigned int i = 0; i < info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &info->tensor_array[i];
		bool is_in = t->usage == NRT_TENSOR_USAGE_INPUT;
		uint8_t *buf = calloc(1, t->size + 4);

		ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, t->size,
						     t->name, &tensor[i]),
				 0);
		if (is_in)
			fill(buf, t);
		ck_assert_int_eq(nrt_tensor_write(tensor[i], buf, 0, t->size), 0);
		ck_assert_int_eq(nrt_add_tensor_to_tensor_set(is_in ? in : out, t->name, tensor[i]),
				 0);
		*size += is_in ? 0 : t->size;
		free(buf);
	}
	for (unsigned int n = 0; n < 2; n++)
		ck_assert_msg(!nrt_execute(model, in, out), "%s", nrtx_error_details());
	all = calloc(1, *size);
	*size = 0;
	for (unsigned int i = 0; i < info->tensor_count; i++) {
		if (info->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT) {
			ck_assert_int_eq(nrt_tensor_read(tensor[i], all + *size, 0,
							 info->tensor_array[i].size),
					 0);
			*size += info->tensor_array[i].size;
		}
		nrt_tensor_free(&tensor[i]);
	}
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	nrt_free_model_tensor_info(info);
	ck_assert_int_eq(nrt_unload(model), 0);
	return all;
}
