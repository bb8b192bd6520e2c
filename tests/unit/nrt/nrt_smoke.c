/* SPDX-License-Identifier: MIT */
/*
 * nrt_smoke NEFF: the life of a small program that uses the public API alone. Executes a model of
 * inputs a and b and output c (fp32, c = a + b) on device tensors and checks the sum.
 */
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include <stdio.h>
#include <stdlib.h>

static void *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *buf = malloc(1 << 20);

	if (!f || !buf)
		exit(1);
	*size = fread(buf, 1, 1 << 20, f);
	fclose(f);
	return buf;
}

#define OK(call)                                                                       \
	do {                                                                           \
		NRT_STATUS s_ = (call);                                                \
                                                                                       \
		if (s_) {                                                              \
			fprintf(stderr, "%s: %s\n", #call, nrt_get_status_as_str(s_)); \
			return 1;                                                      \
		}                                                                      \
	} while (0)

static int tensors(nrt_model_t *model, nrt_tensor_set_t *in, nrt_tensor_set_t *out,
		   nrt_tensor_t **c, size_t *elems)
{
	nrt_tensor_info_array_t *info;

	OK(nrt_get_model_tensor_info(model, &info));
	for (uint64_t i = 0; i < info->tensor_count; i++) {
		nrt_tensor_info_t *t = &info->tensor_array[i];
		size_t n = t->size / sizeof(float);
		float *data = malloc(t->size);
		nrt_tensor_t *tensor;

		for (size_t k = 0; k < n; k++)
			data[k] = (float)(k % 1000) * (t->name[0] == 'a' ? 1.0f : 3.0f);
		OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, t->size, t->name, &tensor));
		OK(nrt_tensor_write(tensor, data, 0, t->size));
		free(data);
		if (t->usage == NRT_TENSOR_USAGE_INPUT) {
			OK(nrt_add_tensor_to_tensor_set(in, t->name, tensor));
		} else {
			OK(nrt_add_tensor_to_tensor_set(out, t->name, tensor));
			*c = tensor;
			*elems = n;
		}
	}
	OK(nrt_free_model_tensor_info(info));
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "a", "b", "c" };
	size_t size, n = 0;
	void *neff = slurp(argc > 1 ? argv[1] : "", &size);
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t *c = NULL;
	nrt_model_t *model;
	uint32_t total = 0;
	float *data;

	OK(nrt_get_total_nc_count(&total));
	OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	OK(nrt_load(neff, size, -1, -1, &model));
	OK(nrt_allocate_tensor_set(&in));
	OK(nrt_allocate_tensor_set(&out));
	if (tensors(model, in, out, &c, &n))
		return 1;
	OK(nrt_execute(model, in, out));
	data = malloc(n * sizeof(float));
	OK(nrt_tensor_read(c, data, 0, n * sizeof(float)));
	for (size_t k = 0; k < n; k++)
		if (data[k] != (float)(k % 1000) * 4.0f)
			return 1;
	free(data);
	free(neff);
	OK(nrt_unload(model));
	for (int i = 0; i < 3; i++) {
		nrt_tensor_t *tensor;

		OK(nrt_get_tensor_from_tensor_set(i < 2 ? in : out, names[i], &tensor));
		nrt_tensor_free(&tensor);
	}
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	nrt_close();
	printf("%u cores, %zu sums\n", total, n);
	return 0;
}
