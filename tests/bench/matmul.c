/* SPDX-License-Identifier: MIT */
/*
 * A stream of 128 x 128 x 512 matmuls (fp32 sums) of several types on one NeuronCore-v3,
 * instructions fetched from its FIFO, beside OpenBLAS sgemm of that shape on one thread, from the
 * same numbers in fp32: lines of a name and FLOP a second of the thread's processor time, the best
 * of many runs each. Then bf16 and each type of 8 bits in turns, by each set of kernels that the
 * processor runs: lines that begin with its name. The result's bits are compared with a scalar loop
 * of fmaf. Run by tests/bench/run.py.
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/exec.h"
#include "neuron/isa/codec.h"

#define K 128
#define ROWS 2 /* of a partition, at most */
#define FS 128
#define FM 512
#define STREAM 8 /* matmuls of a run */
#define RUNS 160
#define SBUF_PART 4096
#define MOVING 1024 /* byte of the moving operand in its partition */
#define FLOP (2.0 * K * FS * FM)

static const struct format {
	const char *name;
	uint8_t dtype;
	unsigned int rows; /* of a partition: 2 in double rows */
} formats[] = {
	{ "bf16", NEURON_DT_BF16, 1 },
	{ "fp32", NEURON_DT_FP32, 1 },
	{ "fp8", NEURON_DT_FP8_E4, 1 },
	{ "fp8_double", NEURON_DT_FP8_E4, 2 },
};

/*
 * The types that are measured one after the other; the rates of the others are relative to the
 * first
 */
static const struct format narrow[] = {
	{ "bf16", NEURON_DT_BF16, 1 },	       { "fp8_e3", NEURON_DT_FP8_E3, 1 },
	{ "fp8_e4", NEURON_DT_FP8_E4, 1 },     { "fp8_e5", NEURON_DT_FP8_E5, 1 },
	{ "fp8_double", NEURON_DT_FP8_E4, 2 },
};
#define NARROW (sizeof(narrow) / sizeof(narrow[0]))

struct bench {
	const struct format *format;
	struct neuron_target target; /* trn2 with partitions of SBUF_PART bytes */
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

/* Fills both with the same numbers: those of the type in SBUF, fp32 for OpenBLAS; row 2 p + i is
 * row i of partition p */
static void fill(struct bench *b, float *f, unsigned int columns, uint32_t byte)
{
	const struct exec_kernels *kern = exec_kernels_best();
	const struct format *x = b->format;
	const size_t size = neuron_isa_dtypes[x->dtype].size;

	for (unsigned int k = 0; k < K * x->rows; k++) {
		uint8_t *at =
			b->sbuf + k / x->rows * SBUF_PART + byte + k % x->rows * columns * size;
		float *row = f + (size_t)k * columns;

		for (unsigned int j = 0; j < columns; j++)
			row[j] = (float)rand() / (float)RAND_MAX - 0.5f;
		kern->store(x->dtype, at, row, columns);
		kern->load(x->dtype, row, at, columns);
	}
}

static int start(struct bench *b, const struct format *format)
{
	const uint16_t rows = (uint16_t)format->rows;
	struct tpb_config config = {
		.target = &b->target,
		.ops = &ops,
		.opaque = b,
		.sbuf_host_stride = SBUF_PART,
		.psum_host_stride = NEURON_PSUM_PART_SIZE + 64, /* the chip has the same padding */
	};
	struct neuron_insn load = {
		.opcode = rows > 1 ? NEURON_OP_LDWEIGHTS_DOUBLE : NEURON_OP_LDWEIGHTS,
		.partitions = K,
		.src0 = { 0, format->dtype, { FS, 0, 0, 1 }, { rows, 1, 1, FS } },
	};
	struct neuron_insn mm = {
		.opcode = rows > 1 ? NEURON_OP_MATMUL_DOUBLE : NEURON_OP_MATMUL,
		.partitions = K,
		.src0 = { MOVING, format->dtype, { FM, 0, 0, 1 }, { rows, 1, 1, FM } },
		.dst = { NEURON_PSUM_OFFSET, NEURON_DT_FP32, { 0, 0, 0, 1 }, { 1, 1, 1, FM } },
	};

	b->format = format;
	b->target = *neuron_gen_trainium2.target;
	b->target.sbuf_part_size = SBUF_PART;
	b->sbuf = config.sbuf = calloc(1, NEURON_PARTITIONS * SBUF_PART + TPB_SLACK);
	b->psum = config.psum = calloc(1, NEURON_PARTITIONS * config.psum_host_stride + TPB_SLACK);
	b->w = malloc(sizeof(float) * ROWS * K * FS);
	b->x = malloc(sizeof(float) * ROWS * K * FM);
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

			for (unsigned int k = 0; k < K * b->format->rows; k++)
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

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	run(b);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

/* Compares the bits with the scalar reference and frees the benchmark */
static int finish(struct bench *b, int ret)
{
	if (ret)
		fputs("bench-matmul: out of memory\n", stderr);
	else if (b->error || compare(b))
		ret = -1, fprintf(stderr, "bench-matmul: %s differs from the scalar reference\n",
				  b->format->name);
	tpb_free(b->tpb);
	free(b->sbuf);
	free(b->psum);
	free(b->w);
	free(b->x);
	free(b->c);
	return ret;
}

static void take_best(double *best, double s)
{
	*best = s < *best ? s : *best;
}

/* Ours, and theirs where it is not NULL: the best of many runs of each, one after the other */
static int measure(const struct format *format, double *best, double *other)
{
	struct bench b = { 0 };
	int ret = start(&b, format);

	*best = 1e9;
	for (int i = 0; i < RUNS && !ret; i++) {
		take_best(best, seconds(&b, ours));
		if (other)
			take_best(other, seconds(&b, theirs));
	}
	return finish(&b, ret);
}

static int measure_kernels(const struct exec_kernels *kern)
{
	struct bench b[NARROW] = { 0 };
	double best[NARROW];
	int ret = 0;

	for (size_t i = 0; i < NARROW; i++) {
		ret |= start(&b[i], &narrow[i]);
		best[i] = 1e9;
		if (!ret)
			b[i].tpb->kern = kern;
	}
	for (int run = 0; run < RUNS && !ret; run++)
		for (size_t i = 0; i < NARROW; i++)
			take_best(&best[i], seconds(&b[i], ours));
	for (size_t i = 0; i < NARROW; i++) {
		ret |= finish(&b[i], ret);
		if (!ret)
			printf("%s:%s %.0f\n", kern->name, narrow[i].name,
			       narrow[i].rows * STREAM * FLOP / best[i]);
	}
	return ret;
}

int main(void)
{
	double best, openblas = 1e9;

	openblas_set_num_threads(1);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		/* beside fp32 too: what else the machine does changes with time */
		if (measure(&formats[i], &best, formats[i].rows == 1 ? &openblas : NULL))
			return 1;
		printf("%s %.0f\n", formats[i].name, formats[i].rows * STREAM * FLOP / best);
	}
	printf("openblas %.0f\n", STREAM * FLOP / openblas);
	for (int i = 0; exec_kernels_all[i] != &exec_kernels_scalar; i++)
		if (exec_kernels_all[i]->usable() && measure_kernels(exec_kernels_all[i]))
			return 1;
	return 0;
}
