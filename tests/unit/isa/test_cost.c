/* SPDX-License-Identifier: MIT */
/*
 * Costs of the instructions of NeuronCore-v2 and later on each core that has them (docs/isa.md,
 * Issue costs)
 */
#include "../check_main.h"
#include "machine.h"
#include "neuron/timing.h"

#define SBUF(b) (b)
#define PSUM(b) (NEURON_PSUM_OFFSET + (b))
#define AP(at, type, step, n)                            \
	{                                                \
		at, NEURON_DT_##type, { 0, 0, 0, step }, \
		{                                        \
			1, 1, 1, n                       \
		}                                        \
	}
#define COST(v2, v3, engine_, ...)   \
	{                            \
		engine_, { v2, v3 }, \
		{                    \
			__VA_ARGS__  \
		}                    \
	}
#define V NEURON_ENG_POOL
#define G NEURON_ENG_GPSIMD
#define OP(name) .opcode = NEURON_OP_##name, .partitions = 16

/* cycles on v2, on v3; 0: it has no such instruction */
static const struct {
	uint8_t engine;
	uint64_t cycles[2];
	struct neuron_insn insn;
} costs[] = {
	/* performance modes */
	COST(400, 100, V, OP(TENSOR_COPY), .dst = AP(0, BF16, 1, 400), .src0 = AP(0, FP16, 1, 400)),
	COST(400, 200, V, OP(TENSOR_COPY), .dst = AP(0, BF16, 2, 400), .src0 = AP(0, BF16, 1, 400)),
	COST(400, 200, V, OP(TENSOR_COPY), .dst = AP(PSUM(0), BF16, 1, 400),
	     .src0 = AP(0, BF16, 1, 400)),
	COST(400, 400, V, OP(TENSOR_COPY), .dst = AP(PSUM(0), FP32, 1, 400),
	     .src0 = AP(PSUM(0), FP32, 1, 400)),
	COST(400, 200, V, OP(TENSOR_COPY), .dst = AP(0, FP32, 1, 400), .src0 = AP(0, FP32, 1, 400)),
	COST(400, 400, V, OP(TENSOR_COPY), .dst = AP(0, INT32, 1, 400),
	     .src0 = AP(0, FP32, 1, 400)),
	COST(400, 100, V, OP(TENSOR_SCALAR), .op0 = NEURON_ALU_ADD, .dst = AP(0, BF16, 1, 400),
	     .src0 = AP(0, BF16, 1, 400)),
	COST(400, 200, V, OP(TENSOR_TENSOR), .op0 = NEURON_ALU_ADD, .dst = AP(0, BF16, 1, 400),
	     .src0 = AP(0, BF16, 1, 400), .src1 = AP(0, BF16, 1, 400)),
	COST(800, 400, V, OP(TENSOR_TENSOR), .op0 = NEURON_ALU_MAX, .dst = AP(0, FP16, 1, 400),
	     .src0 = AP(0, FP16, 1, 400), .src1 = AP(0, FP16, 1, 400)),
	COST(400, 400, V, OP(TENSOR_TENSOR), .op0 = NEURON_ALU_MAX, .dst = AP(0, FP16, 1, 400),
	     .src0 = AP(PSUM(0), FP16, 1, 400), .src1 = AP(0, FP16, 1, 400)),
	COST(400, 400, NEURON_ENG_ACT, OP(TENSOR_COPY), .dst = AP(0, BF16, 1, 400),
	     .src0 = AP(0, BF16, 1, 400)),
	COST(0, 400, NEURON_ENG_ACT, OP(TENSOR_SCALAR), .op0 = NEURON_ALU_MULT,
	     .dst = AP(0, BF16, 1, 400), .src0 = AP(0, BF16, 1, 400)),
	/* the Vector engine */
	COST(800, 800, V, OP(TENSOR_TENSOR_SCAN), .op0 = NEURON_ALU_MULT, .op1 = NEURON_ALU_ADD,
	     .dst = AP(0, FP32, 1, 400), .src0 = AP(0, FP32, 1, 400), .src1 = AP(0, FP32, 1, 400)),
	COST(400, 400, V, OP(TENSOR_SCALAR_REDUCE), .op1 = NEURON_ALU_ADD,
	     .dst = AP(0, FP32, 1, 400), .src0 = AP(0, FP32, 1, 400)),
	COST(64, 64, V, OP(VECTOR_READ_ACC), .dst = AP(0, FP32, 1, 1)),
	COST(500, 500, V, OP(BN_STATS), .dst = AP(0, FP32, 1, 6), .src0 = AP(0, FP32, 1, 500)),
	COST(130, 130, V, OP(BN_AGGR), .dst = AP(0, FP32, 1, 2), .src0 = AP(0, FP32, 1, 30)),
	COST(900, 900, V, OP(MAX8), .dst = AP(0, FP32, 1, 8), .src0 = AP(0, FP32, 1, 900)),
	COST(900, 900, V, OP(FIND_INDEX8), .dst = AP(0, UINT32, 1, 8), .src0 = AP(0, FP32, 1, 900),
	     .src1 = AP(0, FP32, 1, 8)),
	COST(900, 900, V, OP(MATCH_REPLACE8), .dst = AP(0, FP32, 1, 900),
	     .src0 = AP(0, FP32, 1, 900), .src1 = AP(0, FP32, 1, 8)),
	COST(200, 200, V, OP(RNG), .dst = AP(0, UINT32, 1, 200)),
	/* the tensor engine, and the share of it that a part takes */
	COST(64, 64, NEURON_ENG_PE, OP(LDWEIGHTS), .src0 = AP(0, BF16, 1, 128)),
	COST(16, 16, NEURON_ENG_PE, OP(LDWEIGHTS), .tile = 0x50, .src0 = AP(0, BF16, 1, 64)),
	COST(0, 4, NEURON_ENG_PE, OP(LDWEIGHTS), .tile = 0xaf, .src0 = AP(0, BF16, 1, 32)),
	/* GpSimd */
	COST(400, 400, G, OP(TENSOR_COPY), .dst = AP(0, BF16, 1, 400), .src0 = AP(0, BF16, 1, 400)),
	COST(800, 800, G, OP(TENSOR_TENSOR), .op0 = NEURON_ALU_ADD, .dst = AP(0, INT32, 1, 400),
	     .src0 = AP(0, INT32, 1, 400), .src1 = AP(0, INT32, 1, 400)),
	COST(1600, 1600, G, OP(TENSOR_SCALAR), .op0 = NEURON_ALU_RSQRT, .dst = AP(0, FP32, 1, 400),
	     .src0 = AP(0, FP32, 1, 400)),
	COST(350, 350, G, OP(IOTA), .dst = AP(0, INT32, 1, 200),
	     .pattern = { .num = { 1, 1, 1, 200 } }),
	COST(250, 250, G, OP(PARTITION_REDUCE), .op0 = NEURON_ALU_ADD, .dst = AP(0, FP32, 1, 100),
	     .src0 = AP(0, FP32, 1, 100)),
	COST(175, 175, G, OP(LOCAL_GATHER), .count = 1, .dst = AP(0, FP32, 1, 200),
	     .src0 = AP(0, FP32, 1, 50), .src1 = AP(0, UINT16, 1, 13)),
	COST(383, 383, G, OP(LOCAL_GATHER), .count = 4, .dst = AP(0, BF16, 1, 320),
	     .src0 = AP(0, BF16, 1, 50), .src1 = AP(0, UINT16, 1, 13)),
	COST(900, 900, G, OP(N_GATHER), .dst = AP(0, FP32, 1, 600), .src0 = AP(0, FP32, 1, 50),
	     .src1 = AP(0, UINT32, 1, 600)),
	COST(0, 1030, G, OP(TOPK), .total = 256, .count = 6, .dst = AP(0, BF16, 1, 1),
	     .dst1 = AP(0, UINT32, 1, 1), .src0 = AP(0, BF16, 1, 16)),
};

START_TEST(test_costs)
{
	const struct neuron_target *target[2] = { neuron_gen_trainium.target,
						  neuron_gen_trainium2.target };

	for (unsigned int i = 0; i < 2; i++) {
		const struct neuron_insn *insn = &costs[_i].insn;
		struct neuron_isa_fault fault = { 0 };
		int rc = neuron_isa_check(insn, costs[_i].engine, target[i], &fault);

		ck_assert_msg(!rc == (costs[_i].cycles[i] != 0), "%s: %s", target[i]->name,
			      fault.reason);
		if (!rc)
			ck_assert_uint_eq(neuron_insn_cost(insn, costs[_i].engine, target[i], 0),
					  costs[_i].cycles[i]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cost");
	TCase *tc = tcase_create("cost");

	tcase_add_loop_test(tc, test_costs, 0, sizeof(costs) / sizeof(costs[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
