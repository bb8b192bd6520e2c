// SPDX-License-Identifier: MIT
/*
 * The text form of the compiler's tensor IR: any bytes are read or refused with a reason; a module
 * that was read prints as text that reads as a module that prints the same, and its loops are cut
 * into parts that are modules without loops, or refused.
 */
#include "fuzz.h"
#include "ir/ir.h"
#include "passes/loops.h"

static char *text_of(const struct ncc_module *m, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	fuzz_assert(f);
	ncc_print(m, INT64_MAX, f);
	fclose(f);
	fuzz_assert(text);
	return text;
}

static void cut(struct ncc_module *m)
{
	struct ncc_error err = { { 0 } };
	struct ncc_parts parts;
	int ret = ncc_cut_loops(m, &parts, &err);

	fuzz_assert(ret ? ret < 0 && err.text[0] : parts.n == 2 * parts.nloops + 1);
	for (unsigned int i = 0; !ret && i < parts.n; i++) {
		ret = ncc_verify(parts.part[i], &err);
		if (ret)
			fprintf(stderr, "%s\n", err.text);
		fuzz_assert(!ret && !ncc_has_parts(parts.part[i]));
	}
	ncc_free_parts(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_error err = { { 0 } };
	struct ncc_module *m, *back;
	size_t n, again_n;
	char *text, *again;
	int ret = ncc_import_ir(data, size, &m, &err);

	if (ret) {
		fuzz_assert(ret < 0 && err.text[0] && memchr(err.text, 0, sizeof(err.text)));
		return 0;
	}
	text = text_of(m, &n);
	ret = ncc_import_ir(text, n, &back, &err);
	if (ret)
		fprintf(stderr, "%s\n%s", err.text, text);
	fuzz_assert(!ret);
	again = text_of(back, &again_n);
	fuzz_assert(n == again_n && !memcmp(text, again, n));
	cut(m);
	ncc_module_free(m);
	ncc_module_free(back);
	free(text);
	free(again);
	return 0;
}
