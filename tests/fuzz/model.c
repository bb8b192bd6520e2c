// SPDX-License-Identifier: MIT
#include "model.h"

#include "neff.h"

#define ELEMS_MAX 4096
#define OPS_MAX 400

static bool small(struct ncc_module *m)
{
	const struct ncc_op *op;

	for (op = m->first; op; op = op->next)
		if (ncc_elems(&op->shape) > ELEMS_MAX)
			return false;
	return m->nops <= OPS_MAX;
}

static void refused(int ret, const struct ncc_error *err)
{
	fuzz_assert(ret < 0 && err->text[0] && memchr(err->text, 0, sizeof(err->text)));
}

static void compile(const uint8_t *data, size_t size, const struct ncc_options *opt)
{
	struct neff_limits limits = { .max_payload = 256 << 20, .target = opt->target };
	struct ncc_error err = { { 0 } };
	struct neff_model *model;
	struct neff_error neff_err;
	void *out, *again;
	size_t n, m;
	int ret = ncc_compile(data, size, opt, &out, &n, &err);

	if (ret) {
		refused(ret, &err);
		return;
	}
	ret = neff_read(out, n, &limits, &model, &neff_err);
	if (ret)
		fprintf(stderr, "%s\n", neff_err.text);
	fuzz_assert(!ret);
	neff_free(model);
	fuzz_assert(!ncc_compile(data, size, opt, &again, &m, &err));
	fuzz_assert(n == m && !memcmp(out, again, n));
	free(again);
	free(out);
}

void fuzz_model(const uint8_t *data, size_t size, const struct ncc_options *opt)
{
	struct ncc_error err = { { 0 } };
	struct ncc_module *m;
	bool fits;
	int ret = opt->framework == NCC_ONNX ? ncc_import_onnx(data, size, opt, &m, &err)
					     : ncc_import_xla(data, size, opt, &m, &err);

	if (ret) {
		refused(ret, &err);
		return;
	}
	fits = small(m);
	ncc_module_free(m);
	if (fits)
		compile(data, size, opt);
}
