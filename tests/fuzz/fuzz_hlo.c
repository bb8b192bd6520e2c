// SPDX-License-Identifier: MIT
/*
 * The compiler: any bytes as an HLO module, through the import, the passes, code generation, the
 * scheduler and its checker. A module that is refused gets a reason; what is compiled is the same
 * bytes every time, and libneff accepts it. Large tensors end before code is generated, to keep
 * the fuzzer fast: their limits are unit tests.
 */
#include "hlo.pb-c.h"
#include "ncc.h"
#include "neff.h"
#include "proto.h"

#define ELEMS_MAX 4096
#define OPS_MAX 400

#ifdef FUZZ_LIBFUZZER
static const char *const opcodes[] = {
	"abs",
	"add",
	"and",
	"broadcast",
	"clamp",
	"compare",
	"concatenate",
	"constant",
	"convert",
	"convolution",
	"divide",
	"dot",
	"erf",
	"exponential",
	"get-tuple-element",
	"iota",
	"log",
	"logistic",
	"maximum",
	"minimum",
	"multiply",
	"negate",
	"not",
	"or",
	"pad",
	"parameter",
	"power",
	"reduce",
	"reduce-window",
	"reshape",
	"reverse",
	"rsqrt",
	"select",
	"sign",
	"slice",
	"sqrt",
	"subtract",
	"tanh",
	"transpose",
	"tuple",
	"xor",
	"call",
	"copy",
	"EQ",
	"GE",
	NULL,
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	if (!size || seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	return 1 + fuzz_proto_mutate(&ncc__hlo__module__descriptor, opcodes, data + 1, size - 1,
				     max_size - 1, seed);
}
#endif

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
	struct neff_limits limits = { .max_payload = 256 << 20 };
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_error err = { { 0 } };
	struct ncc_module *m;
	bool fits;
	int ret;

	if (!size)
		return 0;
	opt.auto_cast = data[0] % 3;
	opt.auto_cast_type = data[0] & 4 ? NEURON_DT_FP16 : NEURON_DT_BF16;
	ret = ncc_import_hlo(data + 1, size - 1, &m, &err);
	if (ret) {
		refused(ret, &err);
		return 0;
	}
	fits = small(m);
	ncc_module_free(m);
	if (fits)
		compile(data + 1, size - 1, &opt);
	return 0;
}
