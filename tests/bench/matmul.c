/* SPDX-License-Identifier: MIT */
/*
 * A stream of 128 x 128 x 512 bf16 matmuls (fp32 sums) on one NeuronCore, instructions fetched from
 * its FIFO, beside OpenBLAS sgemm of that shape on one thread, from the same numbers in fp32: lines
 * of a name and FLOP a second, the best of many runs each. The result's bits are compared with a
 * scalar loop of fmaf. Run by tests/bench/run.py.
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "neuron/isa/codec.h"
#include "tpb.h"

#define K 128
#define FS 128
#define FM 512
#define STREAM 64 /* offset in bytes of the moving operand in its partition */
#define RUNS 60
#define SBUF_PART 4096
#define MOVING 1024 /* byte of the moving operand in its partition */
#define FLOP (2.0 * K * FS * FM)

struct bench {
	struct neuron_target target; /* inf1 with partitions of SBUF_PART bytes */
	struct tpb *tpb;
	uint8_t *sbuf, *psum;
	float *w, *x, *c;
	uint8_t stream[2 * STREAM * NEURON_INSN_WORD];
	bool error;
};

static int on_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	return 0;
}

static void on_notify(void *opaque, unsigned int type, unsigned int engine, uint16_t code,
		      uint32_t id, uint64_t data, uint32_t data2, uint64_t time)
{
	((struct bench *)opaque)->error = true;
}

static const struct tpb_ops ops = { .write = on_write, .notify = on_notify };

/* Fills both with the same numbers: bf16 in SBUF, fp32 for OpenBLAS. */
static void fill(struct bench *b, float *f, unsigned int columns, uint32_t byte)
{
	for (unsigned int k = 0; k < K; k++) {
		for (unsigned int j = 0; j < columns; j++) {
			uint32_t bits;
			uint16_t h;
			float v = (float)rand() / (float)RAND_MAX - 0.5f;

			memcpy(&bits, &v, sizeof(bits));
			bits &= 0xffff0000;
			h = bits >> 16;
			memcpy(&f[k * columns + j], &bits, sizeof(bits));
			memcpy(b->sbuf + k * SBUF_PART + byte + 2 * j, &h, sizeof(h));
		}
	}
}

static int start(struct bench *b)
{
	struct tpb_config config = {
		.target = &b->target,
		.ops = &ops,
		.opaque = b,
		.sbuf_host_stride = SBUF_PART,
		.psum_host_stride = NEURON_PSUM_PART_SIZE + 64, /* the chip has the same padding */
	};
	struct neuron_insn load = {
		.opcode = NEURON_OP_LDWEIGHTS,
		.partitions = K,
		.src0 = { 0, NEURON_DT_BF16, { 0, 0, 0, 1 }, { 1, 1, 1, FS } },
	};
	struct neuron_insn mm = {
		.opcode = NEURON_OP_MATMUL,
		.partitions = K,
		.src0 = { MOVING, NEURON_DT_BF16, { 0, 0, 0, 1 }, { 1, 1, 1, FM } },
		.dst = { NEURON_PSUM_OFFSET, NEURON_DT_FP32, { 0, 0, 0, 1 }, { 1, 1, 1, FM } },
	};

	b->target = neuron_target_inf1;
	b->target.sbuf_part_size = SBUF_PART;
	b->sbuf = config.sbuf = calloc(1, NEURON_PARTITIONS * SBUF_PART + TPB_SLACK);
	b->psum = config.psum = calloc(1, NEURON_PARTITIONS * config.psum_host_stride + TPB_SLACK);
	b->w = malloc(sizeof(float) * K * FS);
	b->x = malloc(sizeof(float) * K * FM);
	b->c = malloc(sizeof(float) * FS * FM);
	if (!b->sbuf || !b->psum || !b->w || !b->x || !b->c || tpb_new(&config, &b->tpb))
		return -1;
	fill(b, b->w, FS, 0);
	fill(b, b->x, FM, MOVING);
	for (int i = 0; i < STREAM; i++) {
		neuron_isa_encode(&load, b->stream + (size_t)(2 * i) * NEURON_INSN_WORD);
		neuron_isa_encode(&mm, b->stream + (size_t)(2 * i + 1) * NEURON_INSN_WORD);
	}
	return 0;
}

static void ours(struct bench *b)
{
	tpb_fifo_push(b->tpb, NEURON_ENG_PE, b->stream, 2 * STREAM, 0);
	while (tpb_run(b->tpb, 64) == TPB_BUDGET)
		;
}

static void theirs(struct bench *b)
{
	for (int i = 0; i < STREAM; i++)
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, FS, FM, K, 1, b->w, FS, b->x,
			    FM, 0, b->c, FM);
}

static int compare(const struct bench *b)
{
	for (int r = 0; r < FS; r++) {
		for (int j = 0; j < FM; j++) {
			const uint8_t *got =
				b->psum + r * (NEURON_PSUM_PART_SIZE + 64ull) + 4ull * j;
			float sum = 0;

			for (int k = 0; k < K; k++)
				sum = fmaf(b->w[k * FS + r], b->x[k * FM + j], sum);
			if (memcmp(got, &sum, sizeof(sum)))
				return -1;
		}
	}
	return 0;
}

static double seconds(struct bench *b, void (*run)(struct bench *))
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	run(b);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

int main(void)
{
	static struct bench b;
	double best[2] = { 1e9, 1e9 };

	openblas_set_num_threads(1);
	if (start(&b)) {
		fputs("bench-matmul: out of memory\n", stderr);
		return 1;
	}
	for (int i = 0; i < RUNS; i++) {
		double s = seconds(&b, ours), t = seconds(&b, theirs);

		best[0] = s < best[0] ? s : best[0];
		best[1] = t < best[1] ? t : best[1];
	}
	if (b.error || compare(&b)) {
		fputs("bench-matmul: the result differs from the scalar reference\n", stderr);
		return 1;
	}
	printf("matmul %.0f\nopenblas %.0f\n", STREAM * FLOP / best[0], STREAM * FLOP / best[1]);
	return 0;
}
