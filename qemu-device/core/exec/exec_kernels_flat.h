/* SPDX-License-Identifier: MIT */
/*
 * Element-wise instructions whose operands lie side by side in each partition, of any types: part
 * of exec_kernels_arith.h. A vector goes from its places to its place without a buffer between; the
 * types are asked for each vector, which costs less than a pass over the row for each of them.
 */

/* Pairs beside those of exec_kernels_arith.h */
#define FLAT_PAIRS(X)          \
	ARITH_PAIRS(X)         \
	X(BYPASS, EQ)          \
	X(BYPASS, NE)          \
	X(BYPASS, GT)          \
	X(BYPASS, LE)          \
	X(BYPASS, LOGICAL_AND) \
	X(BYPASS, LOGICAL_OR)  \
	X(EQ, BYPASS)          \
	X(NE, BYPASS)          \
	X(GT, BYPASS)          \
	X(LE, BYPASS)          \
	X(LOGICAL_AND, BYPASS) \
	X(LOGICAL_OR, BYPASS)

/* Loads and stores of a type that the compiler does not know, the frequent ones first */
KINLINE vf flat_load(uint8_t dtype, const uint8_t *in)
{
	if (dtype == NEURON_DT_FP32)
		return load_first(NEURON_DT_FP32, in);
	if (dtype == NEURON_DT_INT32)
		return load_first(NEURON_DT_INT32, in);
	return load_first(dtype, in);
}

KINLINE void flat_store(uint8_t dtype, uint8_t *out, vf x)
{
	if (dtype == NEURON_DT_FP32)
		store_first(NEURON_DT_FP32, out, x);
	else if (dtype == NEURON_DT_INT32)
		store_first(NEURON_DT_INT32, out, x);
	else
		store_first(dtype, out, x);
}

KINLINE void flat_row(uint8_t op0, uint8_t op1, const struct exec_arith *x, struct grid_row r)
{
	const uint32_t n = x->dst.r.count;

	for (uint32_t i = 0; i < n; i += LANES) {
		vf v = arith_op(op0, flat_load(x->src0.dtype, r.a + i * x->src0.r.size), r.c);
		uint8_t *out = r.out + i * x->dst.r.size, tail[LANES * 4];

		if (x->has_src1)
			r.second = flat_load(x->src1.dtype, r.b + i * x->src1.r.size);
		v = arith_op(op1, v, r.second);
		if (n - i >= LANES) {
			flat_store(x->dst.dtype, out, v);
			continue;
		}
		flat_store(x->dst.dtype, tail, v);
		exec_copy_few(out, tail, (n - i) * x->dst.r.size);
	}
}

/* One function a pair: in one for all, their registers would not do */
#define FLAT(o0, o1)                                                                              \
	KTARGET static __attribute__((noinline)) void KNAME(flat_##o0##_##o1)(struct exec_arith * \
									      x)                  \
	{                                                                                         \
		for (unsigned int p = 0; p < x->partitions; p++) {                                \
			struct grid_row r = grid_row(x, p);                                       \
                                                                                                  \
			if (p + 1 < x->partitions)                                                \
				arith_ahead(x, p);                                                \
			flat_row(NEURON_ALU_##o0, NEURON_ALU_##o1, x, r);                         \
		}                                                                                 \
	}

/* Towards the next partition's rows */
KINLINE void arith_ahead(struct exec_arith *x, unsigned int p)
{
	x->src0.s.base = x->src0.part0 + p * x->src0.stride;
	x->dst.s.base = x->dst.part0 + p * x->dst.stride;
	exec_operand_ahead(&x->src0);
	exec_operand_ahead(&x->dst);
	if (!x->has_src1)
		return;
	x->src1.s.base = x->src1.part0 + p * x->src1.stride;
	exec_operand_ahead(&x->src1);
}
FLAT_PAIRS(FLAT)
#undef FLAT

KINLINE bool is_first_flat(const struct exec_operand *o)
{
	switch (o->dtype) {
	case NEURON_DT_INT8:
	case NEURON_DT_INT16:
	case NEURON_DT_INT32:
	case NEURON_DT_BF16:
	case NEURON_DT_FP16:
	case NEURON_DT_FP32:
		return exec_flat(o);
	default:
		return false;
	}
}

/* false: the operands do not lie so, or are of a later type, or the operations are no such pair */
KINLINE bool arith_flat(struct exec_arith *x)
{
	if (!x->direct || !is_first_flat(&x->dst) || !is_first_flat(&x->src0) ||
	    (x->has_src1 && !is_first_flat(&x->src1)))
		return false;
#define FLAT(o0, o1)                                       \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1): \
		KNAME(flat_##o0##_##o1)(x);                \
		return true;
	switch (arith_pair(x)) {
		FLAT_PAIRS(FLAT)
	default:
		return false;
	}
#undef FLAT
}
