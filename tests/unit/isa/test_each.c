/* SPDX-License-Identifier: MIT */
/*
 * Each instruction on each engine of each generation. docs/isa.md, Opcodes, says where it is there:
 * there it is executed, and changes as much everywhere; elsewhere it is illegal and changes
 * nothing. That the results are right is the other tests' matter.
 */
#include <stdio.h>

#include "../check_main.h"
#include "asm.h"
#include "machine.h"
#include "neuron/hw/gen.h"
#include "neuron/hw/gpsimd.h"

#define PART 4096
#define LIB MACHINE_DRAM
#define ARGS (MACHINE_DRAM + 64)
#define PE (1u << NEURON_ENG_PE)
#define ACT (1u << NEURON_ENG_ACT)
#define POOL (1u << NEURON_ENG_POOL)
#define GPSIMD (1u << NEURON_ENG_GPSIMD)
#define ANY ~0u

/* An instruction that is legal on the engines, behind another one (NULL: none) */
static const struct {
	unsigned int engines;
	const char *text, *before;
} samples[] = {
	{ ANY, "nop", NULL },
	{ ANY, "program_start version=1", NULL },
	{ ANY, "sem_range_clear range=1:2", NULL },
	{ ANY, "notify id=5", NULL },
	{ ANY, "write write0=0xfffc2701200:0x1", NULL },
	{ ANY, "set_rounding rounding=stochastic seed=3", NULL },
	{ ANY, "fetch base=0x4000000000 length=128 pc=64", NULL },
	{ ANY, "fetch_end", NULL },
	{ ANY, "move rd=r3 b=7", NULL },
	{ ANY, "alu rd=r3 a=r1 b=r2 op=add", NULL },
	{ ANY, "compare_branch a=r1 b=r2 rel=eq target=64", NULL },
	{ ANY, "tensor_load rd=r3 at=sbuf[0,64]:int32", NULL },
	{ ANY, "tensor_store b=7 at=sbuf[0,64]:int32", NULL },
	{ PE, "ldweights p=32 src0=sbuf[0,0]:bf16[1:8]", NULL },
	{ PE, "matmul p=32 dst=psum[0,0]:fp32[1:16] src0=sbuf[0,0]:bf16[1:16]",
	  "ldweights p=32 src0=sbuf[0,0]:bf16[1:8]" },
	{ PE, "pe_transpose p=32 dst=psum[0,0]:fp32[1:32] src0=sbuf[0,0]:bf16[1:16]", NULL },
	{ PE, "ldweights_double p=32 src0=sbuf[0,0]:fp8e4[8:2,0:1,0:1,1:8]", NULL },
	{ PE,
	  "matmul_double p=32 dst=psum[0,0]:fp32[1:16] src0=sbuf[0,64]:fp8e4[16:2,0:1,0:1,1:16]",
	  "ldweights_double p=32 src0=sbuf[0,0]:fp8e4[8:2,0:1,0:1,1:8]" },
	{ PE,
	  "matmul_sparse p=32 dst=psum[0,0]:fp32[1:16] src0=sbuf[0,64]:bf16[16:4,0:1,0:1,1:16] "
	  "src1=sbuf[0,512]:uint16[1:2] neighbours=4",
	  "ldweights p=32 src0=sbuf[0,0]:bf16[1:8]" },
	{ ACT, "activate p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] func=exp scalar0=1",
	  NULL },
	{ ACT, "act_read_acc p=32 dst=sbuf[0,0]:fp32[1:1]", NULL },
	{ ANY, "tensor_copy p=32 dst=sbuf[0,0]:bf16[1:9] src0=sbuf[0,64]:fp32[1:9]", NULL },
	{ ANY,
	  "tensor_tensor p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:fp32[1:9] op0=add",
	  NULL },
	{ ~GPSIMD,
	  "tensor_scalar p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] scalar0=3 "
	  "scalar1=4 op0=mult op1=add",
	  NULL },
	{ GPSIMD,
	  "tensor_scalar p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] scalar0=3 "
	  "op0=add op1=rsqrt",
	  NULL },
	{ POOL,
	  "scalar_tensor_tensor p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:fp32[1:9] scalar0=2 op0=mult op1=add",
	  NULL },
	{ POOL,
	  "tensor_reduce p=32 dst=sbuf[0,0]:fp32[1:1] src0=sbuf[0,64]:fp32[1:9] op0=add "
	  "reduce_dims=1",
	  NULL },
	{ ANY, "memset p=32 dst=sbuf[0,0]:fp32[1:9] scalar0=3", NULL },
	{ POOL, "reciprocal p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9]", NULL },
	{ POOL, "transpose p=32 dst=sbuf[0,0]:fp32[1:32] src0=sbuf[0,256]:fp32[1:32]", NULL },
	{ POOL,
	  "copy_predicated p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:int32[1:9]",
	  NULL },
	{ POOL,
	  "gather p=32 dst=sbuf[0,0]:fp32[1:4] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:int32[1:4]",
	  NULL },
	{ POOL,
	  "scatter p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:4] "
	  "src1=sbuf[0,128]:int32[1:4]",
	  NULL },
	{ POOL, "sort p=32 dst=sbuf[0,0]:int32[1:9] src0=sbuf[0,64]:int32[1:9]", NULL },
	{ POOL,
	  "tensor_tensor_scan p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:fp32[1:9] op0=mult op1=add",
	  NULL },
	{ POOL,
	  "tensor_scalar_reduce p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] scalar0=2 "
	  "op0=mult op1=add reduce_cmd=reset_reduce",
	  NULL },
	{ POOL,
	  "tensor_scalar_cumulative p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "scalar0=2 op0=mult op1=add reduce_cmd=reset_reduce",
	  NULL },
	{ POOL, "vector_read_acc p=32 dst=sbuf[0,0]:fp32[1:1]", NULL },
	{ POOL, "bn_stats p=32 dst=sbuf[0,0]:fp32[1:6] src0=sbuf[0,64]:fp32[1:9]", NULL },
	{ POOL, "bn_aggr p=32 dst=sbuf[0,0]:fp32[1:2] src0=sbuf[0,64]:fp32[1:9]", NULL },
	{ POOL, "max8 p=32 dst=sbuf[0,0]:fp32[1:8] src0=sbuf[0,64]:fp32[1:9]", NULL },
	{ POOL,
	  "find_index8 p=32 dst=sbuf[0,0]:uint16[1:8] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:fp32[1:8]",
	  NULL },
	{ POOL,
	  "match_replace8 p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,64]:fp32[1:8] scalar0=5",
	  NULL },
	{ POOL,
	  "select_reduce p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:uint8[1:9] scalar0=5 reduce_cmd=reset_reduce",
	  NULL },
	{ POOL,
	  "range_select p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "scalar0=@sbuf[0,128]:fp32 scalar1=@sbuf[0,132]:fp32 op0=ge op1=lt "
	  "reduce_cmd=reset_reduce",
	  NULL },
	{ POOL,
	  "stream_shuffle p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "shuffle=31,30,29,28,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,"
	  "2,1,0",
	  NULL },
	{ POOL, "dropout p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] scalar0=0.5",
	  NULL },
	{ ANY, "rng p=32 dst=sbuf[0,0]:uint32[1:9]", NULL },
	{ POOL, "set_rng_seed p=1 src0=sbuf[0,0]:uint32[1:1]", NULL },
	{ GPSIMD, "iota p=32 dst=sbuf[0,0]:int32[1:9] pattern=5,7[0:1,0:1,0:1,2:9]", NULL },
	{ GPSIMD,
	  "affine_select p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] scalar0=5 op0=ge "
	  "pattern=-9,1[0:1,0:1,0:1,1:9]",
	  NULL },
	{ GPSIMD,
	  "tensor_partition_reduce p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] op0=add",
	  NULL },
	{ GPSIMD,
	  "local_gather p=32 dst=sbuf[0,0]:fp32[1:9] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:uint16[1:1] count=1",
	  NULL },
	{ GPSIMD,
	  "n_gather p=32 dst=sbuf[0,0]:fp32[1:4] src0=sbuf[0,64]:fp32[1:9] "
	  "src1=sbuf[0,128]:uint32[1:4]",
	  NULL },
	{ GPSIMD, "sequence_bounds p=1 dst=sbuf[0,0]:fp32[1:18] src0=sbuf[0,128]:fp32[1:9]", NULL },
	{ GPSIMD, "nonzero_with_count p=32 dst=sbuf[0,0]:int32[1:10] src0=sbuf[0,64]:fp32[1:9]",
	  NULL },
	{ GPSIMD,
	  "topk p=32 dst=sbuf[0,0]:bf16[1:1] dst1=sbuf[0,16]:uint32[1:1] "
	  "src0=sbuf[0,64]:bf16[1:2] total=20 count=16",
	  NULL },
	{ GPSIMD, "rand_set_state p=32 src0=sbuf[0,0]:uint32[1:6]", NULL },
	{ GPSIMD, "rand_get_state p=32 dst=sbuf[0,0]:uint32[1:6]", NULL },
	{ GPSIMD,
	  "custom_op library=0x10000000 bytes=8 entry=0 function=0 args=0x10000040 mask=1 limit=1",
	  NULL },
	{ ANY, "dma from=0x1000000[0:1,0:1,0:1] to=0x2000000[0:1,0:1,0:1] run=64 queue=1:2 done=3",
	  NULL },
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* The engines' names in the manual, in the order of NEURON_ENG_* */
static const char *const engines[] = { "PE", "ACT", "POOL", "SP", "GpSimd" };
#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* The first core with the opcode on each engine by the manual, 0: none */
struct place {
	unsigned int since[ENGINES];
};

static char *manual(void)
{
	FILE *f = fopen(ISA_MANUAL, "r");
	char *text = calloc(1, 1 << 20);

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, f), 0);
	fclose(f);
	return text;
}

static void engines_of(char *cell, unsigned int since, struct place *place)
{
	for (char *next, *word = strtok_r(cell, ",", &next); word;
	     word = strtok_r(NULL, ",", &next)) {
		unsigned int e = 0, from = since;
		char name[16];
		int n = sscanf(word, " %15s (v%u)", name, &from);

		ck_assert_int_ge(n, 1);
		if (!strcmp(name, "all")) {
			for (e = 0; e < ENGINES; e++)
				place->since[e] = since;
			continue;
		}
		while (e < ENGINES && strcmp(engines[e], name) != 0)
			e++;
		ck_assert_msg(e < ENGINES, "no engine \"%s\"", name);
		ck_assert_uint_ge(from, since);
		place->since[e] = from;
	}
}

/* The row of the manual's table for an opcode */
static struct place place_of(const char *text, unsigned int opcode)
{
	struct place place = { 0 };
	unsigned int since;
	char row[64], cell[64];
	const char *at;

	snprintf(row, sizeof(row), "\n| 0x%02x | `%s` | v", opcode, neuron_isa_ops[opcode].name);
	at = strstr(text, row);
	ck_assert_msg(at != NULL, "the manual has no row of %s", neuron_isa_ops[opcode].name);
	ck_assert_int_eq(sscanf(at + strlen(row), "%u | %63[^|]", &since, cell), 2);
	engines_of(cell, since, &place);
	return place;
}

static const struct neuron_gen *const gens[] = { &neuron_gen_inferentia, &neuron_gen_trainium,
						 &neuron_gen_inferentia2, &neuron_gen_trainium2,
						 &neuron_gen_trainium3 };
#define GENS (sizeof(gens) / sizeof(gens[0]))

static struct neuron_insn parse(const char *text)
{
	struct ncc_asm_error err;
	struct neuron_insn insn;

	ck_assert_msg(ncc_asm_parse(text, &insn, &err) == 1, "%s: %s", text, err.text);
	return insn;
}

static int transfer(void *opaque, const struct tpb_transfer *transfer, uint64_t time)
{
	struct machine *m = opaque;

	(void)transfer;
	(void)time;
	m->writes++; /* which the test counts */
	return 0;
}

/* Numbers that are small ones as fp32, and places as integers */
static void fill(struct machine *m)
{
	static const float number[] = { 1, 3, -2, 0, 0.5f, 7, 4, -1, 2.5f };
	static const uint32_t program[] = { 0x00000893, 0x00000073 }; /* li a7, 0; ecall */
	const struct neuron_gps_block block = { .magic = NEURON_GPS_MAGIC };

	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++)
		for (unsigned int i = 0; i < PART / 4; i++) {
			float f = number[(p + i) % 9];
			uint32_t place = (p + i) % 4;

			memcpy(m->sbuf + p * PART + i * 4, i < 32 ? (void *)&f : (void *)&place, 4);
		}
	memcpy(m->dram, program, sizeof(program));
	memcpy(m->dram + 64, &block, sizeof(block));
}

/* Is the instruction legal only in a window of instructions that are fetched? */
static bool in_window(uint8_t opcode)
{
	return opcode == NEURON_OP_COMPARE_BRANCH || opcode == NEURON_OP_FETCH_END;
}

static void push(struct machine *m, unsigned int e, const struct neuron_insn *insn)
{
	const struct neuron_insn end = { .opcode = NEURON_OP_FETCH_END };
	const struct neuron_insn fetch = { .opcode = NEURON_OP_FETCH,
					   .address = MACHINE_HBM,
					   .length = 128 };

	neuron_isa_encode(&end, m->hbm + 64); /* fetch's sample begins with it */
	if (in_window(insn->opcode) && m->target.core > 1) {
		neuron_isa_encode(insn, m->hbm);
		insn = &fetch;
	}
	machine_push(m, e, insn, 0);
}

static unsigned int errors(const struct machine *m, uint16_t *code)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->notes; i++)
		if (m->note[i].type == NEURON_NQ_ERROR) {
			*code = m->note[i].code;
			n++;
		}
	return n;
}

/*
 * Runs a sample on an engine of a generation. Returns a hash of what is in SBUF and PSUM then;
 * there: whether the instruction is.
 */
static uint64_t run(const struct neuron_gen *gen, unsigned int e, unsigned int sample, bool there)
{
	const char *before = samples[sample].before;
	struct neuron_insn insn = parse(samples[sample].text), first;
	struct tpb_ops ops = machine_ops;
	struct machine m;
	uint64_t hash = 14695981039346656037u;
	uint8_t *was, *psum;
	uint16_t code = 0;
	size_t sbuf_bytes = (size_t)NEURON_PARTITIONS * PART, psum_bytes;
	unsigned int n;

	machine_init(&m, gen->target, PART);
	ops.dma = transfer;
	m.tpb->cfg.ops = &ops;
	m.dram_size = 4096;
	m.dram = calloc(1, m.dram_size);
	fill(&m);
	if (before && there) {
		first = parse(before);
		machine_run1(&m, e, &first);
	}
	psum_bytes = (size_t)NEURON_PARTITIONS * gen->target->psum_part_size;
	was = malloc(sbuf_bytes);
	psum = calloc(1, psum_bytes);
	memcpy(was, m.sbuf, sbuf_bytes);
	push(&m, e, &insn);
	tpb_run(m.tpb, 100000);
	n = errors(&m, &code);
	ck_assert_msg(n == !there && (there || code == NEURON_NERR_ILLEGAL_INSN),
		      "NeuronCore-v%u, engine %u: %s: %u errors, code %u", gen->target->core, e,
		      samples[sample].text, n, code);
	if (!there) {
		ck_assert_mem_eq(m.sbuf, was, sbuf_bytes);
		ck_assert_mem_eq(m.psum, psum, psum_bytes);
		ck_assert_uint_eq(m.writes, 0);
	} else if (neuron_isa_ops[insn.opcode].fields & NEURON_FB(DST)) {
		ck_assert_msg(memcmp(m.sbuf, was, sbuf_bytes) || memcmp(m.psum, psum, psum_bytes),
			      "NeuronCore-v%u: %s writes nothing", gen->target->core,
			      samples[sample].text);
	}
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP };
	if (there) { /* the engine goes on */
		struct tpb_perf perf, then;

		tpb_perf(m.tpb, &perf);
		machine_run1(&m, e, &insn);
		tpb_perf(m.tpb, &then);
		ck_assert_uint_eq(then.eng[e].insn, perf.eng[e].insn + 1);
	}
	for (size_t i = 0; i < sbuf_bytes; i++)
		hash = (hash ^ m.sbuf[i]) * 1099511628211u;
	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++) /* as many as each has */
		for (unsigned int i = 0; i < 256; i++)
			hash = (hash ^ m.psum[p * gen->target->psum_part_size + i]) *
			       1099511628211u;
	free(was);
	free(psum);
	free(m.dram);
	machine_fini(&m);
	return hash;
}

START_TEST(test_each)
{
	const uint8_t opcode = parse(samples[_i].text).opcode;
	char *text = manual();
	const struct place place = place_of(text, opcode);

	free(text);
	for (unsigned int e = 0; e < ENGINES; e++) {
		uint64_t first = 0;

		if (!(samples[_i].engines >> e & 1) && place.since[e])
			continue; /* another sample's */
		for (unsigned int g = 0; g < GENS; g++) {
			const unsigned int core = gens[g]->target->core;
			bool there = place.since[e] && core >= place.since[e];
			uint64_t hash;

			if (e >= gens[g]->target->engines) /* NeuronCore-v1's four */
				continue;
			hash = run(gens[g], e, (unsigned int)_i, there);
			ck_assert(!there || !first || hash == first);
			first = there ? hash : first;
		}
	}
}
END_TEST

/* No opcode without a sample on each engine that has it, but those that a loader replaces */
START_TEST(test_all)
{
	char *text = manual();

	for (unsigned int op = 0; op < 256; op++) {
		struct place place;
		unsigned int of = 0;

		if (!neuron_isa_ops[op].name || op == NEURON_OP_PSEUDO_DMA_TRIGGER ||
		    op == NEURON_OP_PSEUDO_CORE_BARRIER)
			continue;
		place = place_of(text, op);
		for (unsigned int i = 0; i < SAMPLES; i++)
			if (parse(samples[i].text).opcode == op)
				of |= samples[i].engines;
		for (unsigned int e = 0; e < ENGINES; e++)
			ck_assert_msg(!place.since[e] || of >> e & 1, "%s on %s",
				      neuron_isa_ops[op].name, engines[e]);
	}
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each");
	TCase *tc = tcase_create("each");

	tcase_add_loop_test(tc, test_each, 0, SAMPLES);
	tcase_add_test(tc, test_all);
	suite_add_tcase(s, tc);
	return check_run(s);
}
