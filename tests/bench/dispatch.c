/* SPDX-License-Identifier: MIT */
/*
 * What an instruction costs the host beside its elements: streams of NOPs, and of copies and sums
 * of one element, fetched from the FIFO of the Vector engine of one NeuronCore; NOPs and an
 * iteration of a counted loop (an addition and a branch) that a NeuronCore-v2 fetches from memory,
 * as many of them as would be executed without an end. Lines of a name and
 * nanoseconds of the thread's processor time an instruction, the best of several runs each. Run by
 * tests/bench/run.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "neuron/isa/codec.h"
#include "tpb.h"

#define STREAM 64 /* instructions in the FIFO at a time */
#define ROUNDS 8000
#define RUNS 15
#define SBUF_PART 4096
#define POOL 2

#define ONE(at)                                       \
	{                                             \
		(at), NEURON_DT_FP32, { 0, 0, 0, 1 }, \
		{                                     \
			1, 1, 1, 1                    \
		}                                     \
	}

static const struct {
	const char *name;
	struct neuron_insn insn;
} streams[] = {
	{ "nop", { .opcode = NEURON_OP_NOP } },
	{ "copy",
	  { .opcode = NEURON_OP_TENSOR_COPY, .partitions = 1, .src0 = ONE(0), .dst = ONE(64) } },
	{ "sum",
	  { .opcode = NEURON_OP_TENSOR_TENSOR,
	    .op0 = NEURON_ALU_ADD,
	    .partitions = 1,
	    .src0 = ONE(0),
	    .src1 = ONE(128),
	    .dst = ONE(64) } },
};

static bool error;

static int on_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	return 0;
}

static void on_notify(void *opaque, unsigned int type, unsigned int engine, uint16_t code,
		      uint32_t id, uint64_t data, uint32_t data2, uint64_t time)
{
	error = true;
}

static uint8_t window[STREAM * NEURON_INSN_WORD];

static const uint8_t *on_window(void *opaque, uint64_t addr, uint64_t len)
{
	return window;
}

static const struct tpb_ops ops = { .write = on_write, .window = on_window, .notify = on_notify };

static struct tpb *make(struct neuron_target *target, const struct neuron_target *of)
{
	struct tpb_config config = {
		.target = target,
		.ops = &ops,
		.sbuf_host_stride = SBUF_PART,
		.psum_host_stride = NEURON_PSUM_PART_SIZE + 64, /* the chip has the same padding */
	};
	struct tpb *tpb = NULL;

	*target = *of;
	target->sbuf_part_size = SBUF_PART;
	config.sbuf = calloc(1, NEURON_PARTITIONS * SBUF_PART + TPB_SLACK);
	config.psum = calloc(1, NEURON_PARTITIONS * config.psum_host_stride + TPB_SLACK);
	return config.sbuf && config.psum && !tpb_new(&config, &tpb) ? tpb : NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds an instruction */
static double run(struct tpb *tpb, const uint8_t *words, unsigned int n)
{
	double from = now();

	for (int i = 0; i < ROUNDS; i++) {
		tpb_fifo_push(tpb, POOL, words, n, 0);
		while (tpb_run(tpb, STREAM) == TPB_BUDGET)
			;
	}
	return (now() - from) / (double)(ROUNDS * STREAM);
}

/* Nanoseconds for each so many instructions of a loop in the window, n instructions long */
static double loop(struct tpb *tpb, const struct neuron_insn *insns, unsigned int n,
		   unsigned int each)
{
	struct neuron_insn fetch = { .opcode = NEURON_OP_FETCH, .length = n * NEURON_INSN_WORD };
	uint8_t word[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	double best = 1e9;

	for (unsigned int i = 0; i < n; i++)
		neuron_isa_encode(&insns[i], window + i * NEURON_INSN_WORD);
	neuron_isa_encode(&fetch, word);
	tpb_reset(tpb);
	tpb_fifo_push(tpb, POOL, word, 1, 0);
	for (int i = 0; i < RUNS; i++) {
		double from = now(), ns;

		for (int k = 0; k < ROUNDS; k++)
			tpb_run(tpb, STREAM);
		ns = (now() - from) / (double)(ROUNDS * STREAM) * each;
		best = ns < best ? ns : best;
	}
	error |= tpb_time(tpb, POOL) == 0;
	return best;
}

static int loops(void)
{
	struct neuron_insn nops[STREAM], count[2] = {
		{ .opcode = NEURON_OP_ALU, .rd = 1, .ra = 1, .immediate = true, .value = 1 },
		{ .opcode = NEURON_OP_COMPARE_BRANCH,
		  .rop = NEURON_REL_NE,
		  .ra = 1,
		  .immediate = true,
		  .target = -NEURON_INSN_WORD },
	};
	static struct neuron_target target;
	struct tpb *tpb = make(&target, neuron_target_of_name("trn1"));

	if (!tpb)
		return 1;
	for (int i = 0; i < STREAM; i++)
		nops[i] = (struct neuron_insn){ .opcode = NEURON_OP_NOP };
	nops[STREAM - 1] = (struct neuron_insn){ .opcode = NEURON_OP_COMPARE_BRANCH,
						 .target = -(STREAM - 1) * NEURON_INSN_WORD };
	printf("fetched-nop %.1f\n", loop(tpb, nops, STREAM, 1));
	printf("loop %.1f\n", loop(tpb, count, 2, 2));
	return 0;
}

int main(void)
{
	static uint8_t words[STREAM * NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	static struct neuron_target target;
	struct tpb *tpb = make(&target, &neuron_target_inf1);

	if (!tpb) {
		fputs("bench-dispatch: out of memory\n", stderr);
		return 1;
	}
	for (size_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
		unsigned int n = 0;
		double best = 1e9;

		for (int i = 0; i < STREAM; i++)
			n += (unsigned int)neuron_isa_encode(&streams[s].insn,
							     words + n * NEURON_INSN_WORD);
		for (int i = 0; i < RUNS; i++) {
			double ns = run(tpb, words, n);

			best = ns < best ? ns : best;
		}
		printf("%s %.1f\n", streams[s].name, best);
	}
	error |= loops();
	if (error)
		fputs("bench-dispatch: the engine stopped\n", stderr);
	return error;
}
