/* SPDX-License-Identifier: MIT */
/*
 * POOL (Vector engine; docs/isa.md, Vector engine): which file executes an instruction. Arithmetic
 * on elements is exec_elementwise.c's, reductions exec_reduce.c's, transposes exec_transpose.c's,
 * copies exec_act.c's, gathers and scatters exec_index.c's, sorts exec_sort.c's; exec_scan.c,
 * exec_search.c, exec_select.c and exec_random.c hold what NeuronCore-v2 has besides. Called by
 * tpb.c.
 */
#include "exec_walk.h"

int exec_pool(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
		exec_tensor_copy(t, insn, false);
		break;
	case NEURON_OP_MEMSET:
		exec_memset(t, insn);
		break;
	case NEURON_OP_TENSOR_REDUCE:
		exec_tensor_reduce(t, insn);
		break;
	case NEURON_OP_TRANSPOSE:
		exec_transpose(t, insn);
		break;
	case NEURON_OP_GATHER:
		exec_indexed_gather(t, insn);
		break;
	case NEURON_OP_SCATTER:
		exec_indexed_scatter(t, insn);
		break;
	case NEURON_OP_SORT:
		exec_sort(t, insn);
		break;
	case NEURON_OP_TENSOR_TENSOR_SCAN:
		exec_scan(t, insn);
		break;
	case NEURON_OP_TENSOR_SCALAR_REDUCE:
		exec_tensor_scalar_reduce(t, insn);
		break;
	case NEURON_OP_TENSOR_SCALAR_CUMULATIVE:
		exec_tensor_scalar_cumulative(t, insn);
		break;
	case NEURON_OP_VECTOR_READ_ACC:
		exec_vector_read_acc(t, insn);
		break;
	case NEURON_OP_BN_STATS:
		exec_bn_stats(t, insn);
		break;
	case NEURON_OP_BN_AGGR:
		exec_bn_aggr(t, insn);
		break;
	case NEURON_OP_MAX8:
		exec_max8(t, insn);
		break;
	case NEURON_OP_FIND_INDEX8:
		exec_find_index8(t, insn);
		break;
	case NEURON_OP_MATCH_REPLACE8:
		exec_match_replace8(t, insn);
		break;
	case NEURON_OP_SELECT_REDUCE:
		exec_select_reduce(t, insn);
		break;
	case NEURON_OP_RANGE_SELECT:
		exec_range_select(t, insn);
		break;
	case NEURON_OP_STREAM_SHUFFLE:
		exec_stream_shuffle(t, insn);
		break;
	case NEURON_OP_DROPOUT:
		exec_dropout(t, insn);
		break;
	case NEURON_OP_RNG:
		exec_rng(t, insn, true);
		break;
	case NEURON_OP_SET_RNG_SEED:
		exec_set_rng_seed(t, insn);
		break;
	default:
		exec_elementwise(t, insn);
	}
	return 0;
}
