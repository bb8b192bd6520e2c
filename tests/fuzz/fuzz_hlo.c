// SPDX-License-Identifier: MIT
/* The compiler: any bytes as an HLO module (model.h). */
#include "frontend/hlo/hlo.pb-c.h"
#include "model.h"
#include "proto.h"

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
	"bitcast-convert",
	"call",
	"cholesky",
	"conditional",
	"copy",
	"dynamic-reshape",
	"dynamic-slice",
	"dynamic-update-slice",
	"gather",
	"get-dimension-size",
	"map",
	"scatter",
	"select-and-scatter",
	"set-dimension-size",
	"sort",
	"topk",
	"triangular-solve",
	"while",
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };

	if (!size)
		return 0;
	opt.auto_cast = data[0] % 3;
	opt.auto_cast_type = data[0] & 4 ? NEURON_DT_FP16 : NEURON_DT_BF16;
	if (data[0] & 16) {
		opt.target = neuron_target_of_name("trn1");
		opt.auto_cast_type = data[0] & 4 ? NEURON_DT_FP8_E4 : NEURON_DT_TF32;
		opt.hardware_rng = data[0] & 32;
	}
	if (data[0] & 32) {
		opt.target = neuron_target_of_name("trn2");
		opt.structured_sparsity = true;
	}
	fuzz_model(data + 1, size - 1, &opt);
	return 0;
}
