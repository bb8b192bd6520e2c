// SPDX-License-Identifier: MIT
/*
 * Texts of kernels: any bytes are read or refused with a reason. A kernel that a target takes is
 * compiled as a module of its own, which the compiler's checker and libneff accept: nothing in a
 * text leads to a program that they would refuse.
 */
#include <errno.h>

#include "fuzz.h"
#include "kernel/kernel.h"

#define MAX_STEPS 500
#define MAX_ELEMS (1 << 16)

static bool is_small(const struct ncc_kernel *k)
{
	for (unsigned int i = 0; i < k->ntensors; i++)
		if (ncc_elems(&k->tensor[i].shape) > MAX_ELEMS)
			return false;
	return k->nsteps <= MAX_STEPS;
}

static void put_shape(FILE *f, unsigned int value, const struct ncc_shape *s)
{
	fprintf(f, "  %%%u = %s[", value, ncc_dtype_name(s));
	for (unsigned int d = 0; d < s->ndim; d++)
		fprintf(f, "%s%lld", d ? "," : "", (long long)s->dim[d]);
	fputs("] ", f);
}

/* A module of the IR that calls a kernel of one output */
static char *module_of(const struct ncc_kernel *k, unsigned int number, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	unsigned int n = 0;

	fuzz_assert(f);
	fprintf(f, "module \"kernel\"\n");
	for (unsigned int i = 0; i < k->ntensors; i++) {
		if (k->tensor[i].output)
			continue;
		put_shape(f, n, &k->tensor[i].shape);
		fprintf(f, "parameter index=%u \"p\"\n", n);
		n++;
	}
	put_shape(f, n, ncc_kernel_result(k, 0));
	fputs("kernel", f);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s %%%u", i ? "," : "", i);
	fprintf(f, " index=%u exact \"k\"\n  return %%%u\n", number, n);
	fclose(f);
	fuzz_assert(text);
	return text;
}

static void compile(const struct ncc_kernels *kernels, unsigned int number,
		    const struct neuron_target *target)
{
	const struct ncc_options opt = { .framework = NCC_IR,
					 .target = target,
					 .kernels = kernels };
	struct neff_limits limits = { .max_payload = 256 << 20, .target = target };
	struct ncc_error err = { { 0 } };
	struct neff_error neff_err;
	struct neff_model *model;
	size_t size, n;
	char *text = module_of(kernels->kernel[number], number, &size);
	void *out;
	int ret = ncc_compile(text, size, &opt, &out, &n, &err);

	if (ret && ret != -EFBIG && ret != -ENOMEM)
		fprintf(stderr, "%s\n%s", err.text, text);
	fuzz_assert(!ret || ret == -EFBIG || ret == -ENOMEM);
	free(text);
	if (ret)
		return;
	ret = neff_read(out, n, &limits, &model, &neff_err);
	if (ret)
		fprintf(stderr, "%s\n", neff_err.text);
	fuzz_assert(!ret);
	neff_free(model);
	free(out);
}

static void check(const struct ncc_kernels *kernels, unsigned int number)
{
	const struct neuron_target *const targets[] = { &neuron_target_inf1,
							neuron_target_of_name("trn1"),
							neuron_target_of_name("trn2") };
	const struct ncc_kernel *k = kernels->kernel[number];

	for (unsigned int i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct ncc_error err = { { 0 } };

		if (ncc_kernel_check(k, targets[i], &err))
			fuzz_assert(err.text[0] && memchr(err.text, 0, sizeof(err.text)));
		else if (ncc_kernel_outputs(k) == 1 && is_small(k))
			compile(kernels, number, targets[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_kernels *kernels = NULL;
	struct ncc_error err = { { 0 } };
	int ret = ncc_kernels_add(&kernels, (const char *)data, size, "fuzz.s", &err);

	if (ret) {
		fuzz_assert(!kernels && err.text[0] && memchr(err.text, 0, sizeof(err.text)));
		return 0;
	}
	for (unsigned int i = 0; i < kernels->n; i++)
		check(kernels, i);
	ncc_kernels_free(kernels);
	return 0;
}
