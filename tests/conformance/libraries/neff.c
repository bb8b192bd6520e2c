// SPDX-License-Identifier: MIT
/* usage: neff MODEL.neff: prints its inputs and outputs */
#include <neuron/neff.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	struct neff_limits limits = { .validate_hash = true };
	struct neff_error error;
	struct neff_model *model;
	static char buf[1 << 20];
	FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
	size_t size = in ? fread(buf, 1, sizeof(buf), in) : 0;

	if (neff_read(buf, size, &limits, &model, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	for (unsigned int i = 0; i < model->subgraphs[0].nvars; i++) {
		const struct neff_var *v = &model->subgraphs[0].vars[i];

		if (v->type == NEFF_VAR_INPUT || v->type == NEFF_VAR_OUTPUT)
			printf("%s %s %llu\n", v->type == NEFF_VAR_INPUT ? "input" : "output",
			       neff_dtype_name(v->dtype), (unsigned long long)v->size);
	}
	neff_free(model);
	return fclose(in);
}
