// SPDX-License-Identifier: MIT
/* usage: nrt MODEL.neff: loads a model and prints the tensors that it has */
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	nrt_tensor_info_array_t *info;
	static char buf[1 << 20];
	FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
	size_t size = in ? fread(buf, 1, sizeof(buf), in) : 0;
	nrt_model_t *model;

	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") || nrt_load(buf, size, -1, -1, &model) ||
	    nrt_get_model_tensor_info(model, &info))
		return 1;
	printf("%llu tensors\n", (unsigned long long)info->tensor_count);
	nrt_free_model_tensor_info(info);
	nrt_unload(model);
	nrt_close();
	return fclose(in);
}
