// SPDX-License-Identifier: MIT
/* usage: ncc MODULE.hlo.pb MODEL.neff: the compiler in a program outside the project */
#include <neuron/ncc.h>

#include <stdlib.h>

int main(int argc, char **argv)
{
	struct ncc_options options = { .framework = NCC_XLA };
	struct ncc_error error;
	static char hlo[1 << 16];
	FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out;
	size_t size = in ? fread(hlo, 1, sizeof(hlo), in) : 0, neff_size;
	void *neff;

	if (ncc_compile(hlo, size, &options, &neff, &neff_size, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	out = fopen(argv[2], "wb");
	if (!out || fwrite(neff, 1, neff_size, out) != neff_size || fclose(out))
		return 1;
	free(neff);
	return fclose(in);
}
