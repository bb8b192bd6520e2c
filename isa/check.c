// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Is a decoded instruction one that an engine executes? check.h says who asks. */
#include "checker.h"

#include <errno.h>

#include "neuron/hw/gpsimd.h"

static bool is_int(uint8_t dtype)
{
	return neuron_isa_dtypes[dtype & 63].integer;
}

/* Bitvec operations take raw integers of one size everywhere */
static int check_bitvec(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint64_t fields = neuron_isa_ops[insn->opcode].fields;
	const struct neuron_scalar *s[2] = { &insn->scalar0, &insn->scalar1 };
	uint8_t size = c->at->dst.size;

	if (!is_int(insn->dst.dtype))
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset,
				"bitvec operations take integers");
	if (!is_int(insn->src0.dtype) || c->at->src0.size != size)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"bitvec operands are integers of one size");
	if ((fields & NEURON_FB(SRC1)) && (!is_int(insn->src1.dtype) || c->at->src1.size != size))
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset,
				"bitvec operands are integers of one size");
	for (int i = 0; i < 2; i++)
		if (s[i]->kind == NEURON_SCALAR_PTR &&
		    (!is_int(s[i]->dtype) || neuron_isa_dtypes[s[i]->dtype].size != size))
			return isa_fail(c, NEURON_OPERAND_SCALAR0 + i, s[i]->offset,
					"bitvec operands are integers of one size");
	return 0;
}

/* op0 and op1: known, of one class, unary scalars zero. Sets *bitvec */
static int check_alu(struct checker *c, bool *bitvec)
{
	const struct neuron_insn *insn = c->insn;
	uint64_t fields = neuron_isa_ops[insn->opcode].fields;
	uint8_t k0 = neuron_isa_alu_class(insn->op0), k1 = neuron_isa_alu_class(insn->op1);
	uint8_t mine = (k0 | k1) & NEURON_ALU_BITVEC;

	*bitvec = mine;
	if (!k0 || !k1)
		return neuron_isa_illegal(c->fault, "unknown ALU operation");
	if (mine && ((!(k0 & (NEURON_ALU_BITVEC | NEURON_ALU_NONE))) ||
		     (!(k1 & (NEURON_ALU_BITVEC | NEURON_ALU_NONE)))))
		return neuron_isa_illegal(c->fault, "op0 and op1 are of different classes");
	if ((fields & NEURON_FB(SCALAR0)) && (k0 & (NEURON_ALU_UNARY | NEURON_ALU_NONE)) &&
	    (insn->scalar0.kind || insn->scalar0.bits || insn->reverse0))
		return neuron_isa_illegal(c->fault, "op0 has no second operand: scalar0 is 0");
	if ((fields & NEURON_FB(SCALAR1)) && (k1 & (NEURON_ALU_UNARY | NEURON_ALU_NONE)) &&
	    (insn->scalar1.kind || insn->scalar1.bits || insn->reverse1))
		return neuron_isa_illegal(c->fault, "op1 has no second operand: scalar1 is 0");
	return 0;
}

static int check_pool(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint8_t k0 = neuron_isa_alu_class(insn->op0);
	bool bitvec;
	int rc = check_alu(c, &bitvec);

	if (rc)
		return rc;
	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		if (k0 & (NEURON_ALU_UNARY | NEURON_ALU_NONE))
			return neuron_isa_illegal(c->fault, "op0 takes one operand");
		break;
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		if (bitvec)
			return neuron_isa_illegal(c->fault, "arithmetic operations only");
		if (neuron_isa_alu_class(insn->op1) & (NEURON_ALU_UNARY | NEURON_ALU_NONE))
			return neuron_isa_illegal(c->fault, "op1 takes one operand");
		break;
	case NEURON_OP_TENSOR_REDUCE:
		if (!(k0 & NEURON_ALU_REDUCES))
			return neuron_isa_illegal(c->fault, "op0 is not a reduction");
		if (bitvec && (insn->negate || insn->alpha != 0))
			return neuron_isa_illegal(c->fault, "bitvec reductions have no scale");
		break;
	}
	return bitvec ? check_bitvec(c) : 0;
}

/* Places that are data: a table of any length, and as many indices as elements go there or come */
static int check_indexed(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	bool scatter = insn->opcode == NEURON_OP_SCATTER, plain = insn->op0 == NEURON_ALU_BYPASS;
	uint8_t t = insn->dst.dtype;

	if (scatter && !plain && insn->op0 != NEURON_ALU_ADD && insn->op0 != NEURON_ALU_MAX &&
	    insn->op0 != NEURON_ALU_MIN)
		return neuron_isa_illegal(c->fault, "op0 is bypass, add, max or min");
	if (!plain && t != NEURON_DT_FP32 && t != NEURON_DT_INT32)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset,
				"additions and comparisons take fp32 and int32");
	if (insn->src0.dtype != t)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"source and destination have one type");
	if (insn->src1.dtype != NEURON_DT_INT32)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "indices are int32");
	if (c->at->src1.count != (scatter ? c->at->src0.count : c->at->dst.count))
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "element counts differ");
	if (c->at->src0.psum && c->at->src1.psum)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "two inputs in PSUM");
	return 0;
}

static int check_sort(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (insn->src0.dtype != NEURON_DT_INT32)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset, "keys are int32");
	if (insn->dst.dtype != NEURON_DT_INT32)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset,
				"numbers of elements are int32");
	if (c->at->dst.count > c->at->src0.count)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset, "more elements than keys");
	return 0;
}

/* Element counts, and the types that an operation ties together */
static int check_shape(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint32_t want = c->at->src0.count, reduced = 1;

	if (insn->opcode == NEURON_OP_GATHER || insn->opcode == NEURON_OP_SCATTER)
		return check_indexed(c);
	if (insn->opcode == NEURON_OP_SORT)
		return check_sort(c);

	if (insn->opcode == NEURON_OP_TENSOR_REDUCE) {
		if (!insn->reduce_dims || insn->reduce_dims > NEURON_AP_DIMS)
			return neuron_isa_illegal(c->fault, "reduce_dims is 1 to 4");
		for (int d = 0; d < insn->reduce_dims; d++)
			reduced *= insn->src0.num[NEURON_AP_DIMS - 1 - d];
		want /= reduced;
	}

	if (c->at->dst.count != want)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset, "element counts differ");

	if (insn->opcode == NEURON_OP_COPY_PREDICATED) {
		if (insn->dst.dtype != insn->src0.dtype)
			return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
					"source and destination have one type");
		if (!is_int(insn->src1.dtype))
			return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset,
					"the predicate is an integer");
	}

	if (!(neuron_isa_ops[insn->opcode].fields & NEURON_FB(SRC1)))
		return 0;
	if (c->at->src1.count != c->at->src0.count)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "element counts differ");
	if (c->at->src0.psum && c->at->src1.psum)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "two inputs in PSUM");
	return 0;
}

/* The part of each partition of the moving operand that an element of dst takes */
static unsigned int pe_slots(const struct neuron_insn *insn)
{
	return insn->opcode == NEURON_OP_MATMUL_DOUBLE || insn->opcode == NEURON_OP_MATMUL_SPARSE ||
			       insn->opcode == NEURON_OP_LDWEIGHTS_DOUBLE
		       ? insn->src0.num[0]
		       : 1;
}

bool neuron_isa_moves_bits(const struct neuron_insn *insn, const struct neuron_target *target)
{
	const uint8_t to = insn->dst.dtype, from = insn->src0.dtype;

	return insn->opcode == NEURON_OP_PE_TRANSPOSE && target->core >= 3 &&
	       (neuron_dtype_is_fp8(from) ? to == NEURON_DT_UINT16 : to == from);
}

/* A PE destination: a row of results for each column, an element for each row of src0 */
static int check_pe_dst(struct checker *c, unsigned int columns)
{
	const struct neuron_insn *insn = c->insn;
	unsigned int partitions = neuron_isa_dst_partitions(insn, columns);
	uint32_t count = insn->opcode == NEURON_OP_PE_TRANSPOSE
				 ? insn->partitions
				 : c->at->src0.count / pe_slots(insn);
	int rc = isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst, partitions, &c->at->dst);
	bool integer = insn->src0.dtype == NEURON_DT_INT8;

	if (rc)
		return rc;
	if (!c->at->dst.psum)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset, "the PE writes PSUM only");
	if (!neuron_isa_moves_bits(insn, c->target) &&
	    insn->dst.dtype != (integer ? NEURON_DT_INT32 : NEURON_DT_FP32))
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset,
				"destination type is fp32, int32 for int8");
	if (c->at->dst.count != count)
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset, "element counts differ");
	return 0;
}

enum pe_kind { PE_NONE, PE_INT, PE_SMALL, PE_FP32 };

/* Operands of a product are of one kind */
static enum pe_kind pe_kind(uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return PE_INT;
	case NEURON_DT_BF16:
	case NEURON_DT_FP16:
	case NEURON_DT_FP8_E3:
	case NEURON_DT_FP8_E4:
	case NEURON_DT_FP8_E5:
		return PE_SMALL;
	case NEURON_DT_FP32:
	case NEURON_DT_FP32R:
	case NEURON_DT_TF32:
		return PE_FP32;
	default:
		return PE_NONE;
	}
}

/* Two rows of fp8 a partition */
static int check_double(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (!neuron_dtype_is_fp8(insn->src0.dtype))
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"double rows are of fp8");
	if (insn->src0.num[0] != 2)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"num 0 is 2, the rows of a partition");
	return 0;
}

/* Weights that choose of so many partitions and slots */
static int check_sparse(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	const unsigned int slots = pe_slots(insn), m = insn->neighbours;
	int rc;

	if (!neuron_isa_is_pattern(m, slots))
		return neuron_isa_illegal(c->fault,
					  "a pattern is 4:16, 4:12, 4:8, 2:8, 2:4, 1:4 or 1:2");
	if (insn->partitions % m)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"partitions are a multiple of the neighbours");
	if (pe_kind(insn->src0.dtype) == PE_INT)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"sparse products are of floats");
	rc = isa_check_ap(c, NEURON_OPERAND_SRC1, &insn->src1, insn->partitions, &c->at->src1);
	if (rc)
		return rc;
	if (c->at->src1.psum)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset,
				"the PE reads SBUF only");
	if (insn->src1.dtype != NEURON_DT_UINT16)
		return isa_fail(c, NEURON_OPERAND_SRC1, insn->src1.offset, "tags are uint16");
	return 0;
}

static int check_pe(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint8_t t = insn->src0.dtype;
	uint32_t limit = neuron_isa_ops[insn->opcode].weights == NEURON_WEIGHTS_USE
				 ? NEURON_ISA_MAX_MOVING
				 : neuron_isa_tile(insn->tile).columns;
	int rc = isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions, &c->at->src0);

	if (rc)
		return rc;
	if (c->at->src0.psum)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"the PE reads SBUF only");
	if (!pe_kind(t) || !(c->target->pe_dtypes >> t & 1))
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"the PE does not take the type");
	if (c->at->src0.count / pe_slots(insn) > limit)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"more columns than the array takes");
	if (insn->opcode == NEURON_OP_LDWEIGHTS_DOUBLE || insn->opcode == NEURON_OP_MATMUL_DOUBLE)
		rc = check_double(c);
	else if (insn->opcode == NEURON_OP_MATMUL_SPARSE)
		rc = check_sparse(c);
	if (rc || neuron_isa_ops[insn->opcode].weights == NEURON_WEIGHTS_LOAD)
		return rc;
	/* how many columns there are is known with the weights; at least one */
	return check_pe_dst(c, 1);
}

/* 32 x 32 blocks; one block that is not full may be of any size (docs/isa.md, TRANSPOSE) */
static int check_transpose(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	unsigned int p = insn->partitions, n, b = NEURON_ISA_TRANSPOSE_BLOCK;
	bool one;
	int rc = isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, p, &c->at->src0);

	if (rc)
		return rc;
	n = c->at->src0.count;
	one = p <= b && n <= b;
	if (n > NEURON_ISA_MAX_TRANSPOSE)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset, "too many elements");
	if (!one && (p % b || n % b))
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"partitions and elements are multiples of 32");
	rc = isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst, neuron_isa_dst_partitions(insn, 0),
			  &c->at->dst);
	if (rc)
		return rc;
	if (c->at->dst.count != (one ? p : n))
		return isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset, "element counts differ");
	if (insn->dst.dtype != insn->src0.dtype)
		return isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"source and destination have one type");
	return 0;
}

static int check_elementwise(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint64_t f = neuron_isa_ops[insn->opcode].fields;
	int rc = isa_check_operands(c);

	if (!rc && (f & NEURON_FB(SRC0)))
		rc = check_shape(c);
	if (rc)
		return rc;

	switch (insn->opcode) {
	case NEURON_OP_ACTIVATE:
		if (insn->func >= NEURON_ACT_COUNT ||
		    (insn->func >= NEURON_ACT_GELU_DX && c->target->core < 2))
			return neuron_isa_illegal(c->fault, "unknown activation function");
		if (insn->reduce_cmd > NEURON_REDUCE_RESET_REDUCE)
			return neuron_isa_illegal(c->fault, "unknown accumulator command");
		return 0;
	case NEURON_OP_ACT_READ_ACC:
		return c->at->dst.count == 1 ? 0
					     : isa_fail(c, NEURON_OPERAND_DST, insn->dst.offset,
							"one element a partition");
	case NEURON_OP_MEMSET:
		return insn->scalar0.kind == NEURON_SCALAR_IMM
			       ? 0
			       : neuron_isa_illegal(c->fault, "the value is a constant");
	case NEURON_OP_SCATTER:
		return 0;
	default:
		return f & NEURON_FB(OP0) ? check_pool(c) : 0;
	}
}

static int check_sync(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (insn->wait >= NEURON_WAIT_SEM_EQ && insn->wait <= NEURON_WAIT_SEM_LE &&
	    insn->wait_index >= c->target->semaphores)
		return isa_fail(c, NEURON_OPERAND_WAIT, insn->wait_index, "no such semaphore");
	if (insn->update >= NEURON_UPD_SEM_INC && insn->update <= NEURON_UPD_SEM_WR_IMM &&
	    insn->update_index >= c->target->semaphores)
		return isa_fail(c, NEURON_OPERAND_UPDATE, insn->update_index, "no such semaphore");
	if ((insn->wait == NEURON_WAIT_EVT_SET || insn->wait == NEURON_WAIT_EVT_CLR) &&
	    insn->wait_index >= c->target->events)
		return isa_fail(c, NEURON_OPERAND_WAIT, insn->wait_index, "no such event");
	if ((insn->update == NEURON_UPD_EVT_SET || insn->update == NEURON_UPD_EVT_CLR) &&
	    insn->update_index >= c->target->events)
		return isa_fail(c, NEURON_OPERAND_UPDATE, insn->update_index, "no such event");
	if (insn->opcode == NEURON_OP_SEM_RANGE_CLEAR &&
	    (insn->first > insn->last || insn->last >= c->target->semaphores))
		return neuron_isa_illegal(c->fault, "no such range of semaphores");
	if (insn->opcode == NEURON_OP_SET_ROUNDING &&
	    (insn->rounding >= NEURON_ROUND_COUNT ||
	     (insn->rounding == NEURON_ROUND_NEAREST && insn->seed)))
		return neuron_isa_illegal(c->fault,
					  "rounding is nearest, with seed 0, or stochastic");
	return 0;
}

/* The engine reads the library's functions, and whether there is a library, when it starts */
static int check_custom(struct checker *c)
{
	const struct neuron_custom *custom = &c->insn->custom;

	if (!custom->bytes || custom->bytes & 3 || custom->bytes > NEURON_GPS_LIB_MAX)
		return neuron_isa_illegal(c->fault, "a library has whole words, up to 1 MiB");
	if (custom->entry & 3 || custom->entry >= custom->bytes)
		return neuron_isa_illegal(c->fault, "the entry is no word of the library");
	return custom->mask ? 0 : neuron_isa_illegal(c->fault, "no processor takes part");
}

int neuron_isa_tile_code(const struct neuron_isa_tile *tile)
{
	for (unsigned int code = 0; code < 256; code++) {
		const struct neuron_isa_tile t = neuron_isa_tile((uint8_t)code);

		if (t.row == tile->row && t.column == tile->column && t.rows == tile->rows &&
		    t.columns == tile->columns)
			return (int)code;
	}
	return -1;
}

static bool tiles_overlap(uint8_t a, uint8_t b)
{
	const struct neuron_isa_tile s = neuron_isa_tile(a), t = neuron_isa_tile(b);

	return s.row < t.row + t.rows && t.row < s.row + s.rows &&
	       s.column < t.column + t.columns && t.column < s.column + s.columns;
}

/* The entry of a part of the array, by its first row and column */
static unsigned int tile_place(uint8_t code)
{
	return code % NEURON_ISA_PARTS;
}

const struct neuron_isa_weights *neuron_isa_weights_for(const struct neuron_isa_array *array,
							const struct neuron_insn *insn)
{
	static const struct neuron_isa_weights none;
	const struct neuron_isa_weights *w = &array->at[tile_place(insn->tile)];

	return w->tile == insn->tile ? w : &none;
}

void neuron_isa_load_weights(struct neuron_isa_array *array, const struct neuron_insn *insn)
{
	struct neuron_isa_weights *weights = &array->at[tile_place(insn->tile)];
	const uint16_t *num = insn->src0.num;

	if (neuron_isa_ops[insn->opcode].weights != NEURON_WEIGHTS_LOAD)
		return;
	for (unsigned int i = 0; i < NEURON_ISA_PARTS; i++)
		if (array->at[i].k && tiles_overlap(array->at[i].tile, insn->tile))
			array->at[i].k = 0;
	weights->tile = insn->tile;
	weights->k = insn->partitions;
	weights->columns = (unsigned int)num[0] * num[1] * num[2] * num[3] / pe_slots(insn);
	weights->doubled = insn->opcode == NEURON_OP_LDWEIGHTS_DOUBLE;
	weights->dtype = insn->src0.dtype;
}

uint64_t neuron_isa_macs(const struct neuron_insn *insn, const struct neuron_isa_weights *weights)
{
	const uint16_t *num = insn->src0.num;

	if (neuron_isa_ops[insn->opcode].weights != NEURON_WEIGHTS_USE)
		return 0;
	/* of what weights choose from, each takes one */
	return (uint64_t)weights->k * weights->columns * num[0] * num[1] * num[2] * num[3] /
	       (insn->opcode == NEURON_OP_MATMUL_SPARSE ? pe_slots(insn) : 1);
}

int neuron_isa_check_weights(const struct neuron_insn *insn, const struct neuron_target *target,
			     const struct neuron_isa_weights *weights,
			     struct neuron_isa_fault *fault)
{
	struct neuron_isa_operands at;
	struct checker c = { .insn = insn, .target = target, .fault = fault, .at = &at };
	int rc;

	if (neuron_isa_ops[insn->opcode].weights != NEURON_WEIGHTS_USE)
		return 0;
	if (!weights->k)
		return neuron_isa_illegal(fault, "no weights are loaded");
	rc = isa_check_ap(&c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions, &at.src0);
	if (rc)
		return rc;
	if (insn->partitions != weights->k)
		return isa_fail(&c, NEURON_OPERAND_SRC0, insn->src0.offset,
				"as many partitions as the loaded weights");
	if ((insn->opcode == NEURON_OP_MATMUL_DOUBLE) != weights->doubled)
		return neuron_isa_illegal(fault, "double rows go with weights of double rows only");
	if (insn->opcode == NEURON_OP_MATMUL_SPARSE &&
	    (uint32_t)insn->src1.num[0] * insn->src1.num[1] * insn->src1.num[2] *
			    insn->src1.num[3] !=
		    (weights->columns + 3) / 4)
		return isa_fail(&c, NEURON_OPERAND_SRC1, insn->src1.offset,
				"a word of tags for four columns");
	if (pe_kind(insn->src0.dtype) != pe_kind(weights->dtype))
		return isa_fail(
			&c, NEURON_OPERAND_SRC0, insn->src0.offset,
			"int8 goes with int8 weights only, fp32 and tf32 with fp32 and tf32");
	return check_pe_dst(&c, weights->columns);
}

static int check_tile(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	const struct neuron_isa_tile t = neuron_isa_tile(insn->tile);
	const unsigned int least = c->target->core < 3 ? 2 : 1;

	if (!(neuron_isa_ops[insn->opcode].fields & NEURON_FB(TILE)) || !insn->tile)
		return 0;
	if (c->target->core < 2)
		return neuron_isa_illegal(c->fault, "the array has parts from NeuronCore-v2 on");
	if (t.rows < least * NEURON_ISA_TILE_UNIT || t.columns < least * NEURON_ISA_TILE_UNIT)
		return neuron_isa_illegal(
			c->fault,
			"a part has 64 or 128 rows and columns, from NeuronCore-v3 on 32");
	if (t.row % t.rows || t.column % t.columns)
		return neuron_isa_illegal(c->fault,
					  "a part begins at a multiple of its rows and columns");
	return insn->partitions > t.rows
		       ? isa_fail(c, NEURON_OPERAND_SRC0, insn->src0.offset,
				  "more partitions than the part of the array has rows")
		       : 0;
}

static int check_bias(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (!(neuron_isa_ops[insn->opcode].fields & NEURON_FB(BIAS)) ||
	    (!insn->src_bias && !insn->dst_bias))
		return 0;
	if (c->target->core < 3)
		return neuron_isa_illegal(c->fault, "biases are there from NeuronCore-v3 on");
	if ((insn->src_bias && !neuron_dtype_is_fp8(insn->src0.dtype)) ||
	    (insn->dst_bias && !neuron_dtype_is_fp8(insn->dst.dtype)))
		return neuron_isa_illegal(c->fault, "a bias is of fp8");
	return 0;
}

static int check_all(struct checker *c, unsigned int engine)
{
	const struct neuron_insn *insn = c->insn;
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	const struct neuron_target *target = c->target;
	int rc;

	if (!op->name || op->since > target->core || engine >= target->engines ||
	    !(op->groups & target->engine[engine].runs))
		return neuron_isa_illegal(c->fault, "the engine has no such instruction");
	c->runs = op->groups & target->engine[engine].runs;
	rc = check_sync(c);
	if (!rc)
		rc = check_bias(c);
	if (!rc)
		rc = check_tile(c);
	if (!rc && (op->fields & NEURON_FB(CUSTOM)))
		return check_custom(c);
	if (!rc && (op->fields & NEURON_FB_REGISTERS)) {
		const char *reason = neuron_isa_check_registers(insn, target);

		return reason ? neuron_isa_illegal(c->fault, reason) : 0;
	}
	if (!rc && (op->fields & NEURON_FB(DMA))) {
		const char *reason = neuron_isa_check_dma(insn, engine, target);

		return reason ? neuron_isa_illegal(c->fault, reason) : 0;
	}
	if (rc || !(op->fields & NEURON_FB(PARTITIONS)))
		return rc;
	if (neuron_isa_patched(insn)) {
		const char *reason = neuron_isa_check_patches(insn, target);

		if (reason)
			return neuron_isa_illegal(c->fault, reason);
	}
	if (op->groups == NEURON_ISA_PE)
		return check_pe(c);
	if (insn->opcode == NEURON_OP_TRANSPOSE)
		return check_transpose(c);
	if (isa_is_v2(insn))
		return isa_check_v2(c);
	rc = check_elementwise(c);
	return rc ? rc : isa_check_engine(c);
}

int neuron_isa_check_at(const struct neuron_insn *insn, unsigned int engine,
			const struct neuron_target *target, struct neuron_isa_fault *fault,
			struct neuron_isa_operands *at)
{
	struct checker c = { .insn = insn, .target = target, .fault = fault, .at = at };

	return check_all(&c, engine);
}

int neuron_isa_check(const struct neuron_insn *insn, unsigned int engine,
		     const struct neuron_target *target, struct neuron_isa_fault *fault)
{
	struct neuron_isa_operands at;

	return neuron_isa_check_at(insn, engine, target, fault, &at);
}
