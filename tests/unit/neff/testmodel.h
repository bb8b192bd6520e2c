/* SPDX-License-Identifier: MIT */
/*
 * Small programs made by hand with the codec, for tests of the file format and of the runtime: the
 * compiler is not involved. All functions assert success; the caller frees with testmodel_free().
 */
#ifndef TESTMODEL_H
#define TESTMODEL_H

#include "neff.h"
#include "neuron/isa/isa.h"

struct testmodel {
	struct neff_model model;
	struct neff_subgraph sg;
};

/* c = a + b, fp32 [128, cols]: SP moves, POOL adds */
void testmodel_add(struct testmodel *t, unsigned int cols);
/* y = w^T x with w a constant: bf16 [128, m] and [128, n], fp32 [m, n]; m <= 128, n <= 512 */
void testmodel_matmul(struct testmodel *t, unsigned int m, unsigned int n, const uint16_t *w);
/*
 * c = a * b * b ... fp32 [128, cols], steps times: takes as long as one likes, because each step
 * needs the last one's result
 */
void testmodel_long(struct testmodel *t, unsigned int cols, unsigned int steps);
/* y = x through pieces of odd sizes, so that the two sides have unequal numbers of descriptors */
void testmodel_shuffle(struct testmodel *t);
/*
 * For trn1: y[i] = op of x[0][i], x[1][i], ... of as many sources, n elements each (a multiple of
 * 3), which its queue computes; the sources lie in three pieces with a gap of 5 bytes behind each
 */
struct testmodel_elements {
	enum neff_op op;
	uint8_t from, to; /* types */
	unsigned int sources, n;
};
void testmodel_compute(struct testmodel *t, const struct testmodel_elements *e);
/*
 * For trn1: y is x with the first and the last dimension of a shape exchanged, of elements of 2 or
 * 4 bytes; x's pieces, as many as the first dimension, have a gap of 6 bytes behind each, and so
 * have y's, as many as the last one
 */
void testmodel_transpose(struct testmodel *t, const uint32_t shape[4], unsigned int size);
/*
 * For trn1: y = x, n elements of a type (a multiple of 3; at most 64 KiB), through a compressed
 * stream in DRAM; those of x lie in three pieces with a gap of 5 bytes behind each. lies: x is
 * taken for the stream
 */
void testmodel_stream(struct testmodel *t, uint8_t dtype, unsigned int n, bool lies);
/* every second of 2n bytes copied by two queues, both all of them: a small file, 4n descriptors */
void testmodel_scatter(struct testmodel *t, uint64_t n);
/*
 * y[k, i] = table[k, index[i]], for an odd k table[k, rows - 1 - index[i]] and through SBUF
 * (n rows in 128 KiB a partition); row bytes
 */
struct testmodel_tables {
	unsigned int tables, rows, row, n;
};
void testmodel_gather(struct testmodel *t, const struct testmodel_tables *g);
/*
 * y = table, then y[index[i]] = u[i] in order, from DRAM or through SBUF, then z[i] = y[index[i]]
 * in the same queue set; one table
 */
void testmodel_put(struct testmodel *t, const struct testmodel_tables *g, bool sbuf);
/*
 * y = the first 4 cols bytes of each partition of SBUF, fp32 [128, cols], as the program finds them
 */
void testmodel_peek(struct testmodel *t, unsigned int cols);
/* has an output y of 64 bytes, variable 0, that is never written; SP's program is begun */
void testmodel_bare(struct testmodel *t, const char *name);
/* waits for a semaphore that is never incremented */
void testmodel_hang(struct testmodel *t);
/* does nothing, and leaves an output of 4 MiB as it was */
void testmodel_large(struct testmodel *t);
/* reads SBUF as a type and shape that are legal, then decrements a semaphore below zero */
void testmodel_fault(struct testmodel *t);
/* does the same several times: an error that does not stop its engine */
void testmodel_faults(struct testmodel *t, unsigned int times);
void testmodel_free(struct testmodel *t);
/*
 * Makes a NEFF of n subgraphs, n at most 64: c = a + n * b, each adds b to the result of the one
 * before.
 */
void *testmodel_stages(unsigned int n, unsigned int cols, size_t *size);

/*
 * For trn2, on both cores of a logical one: SP of each raises the other's semaphore 9 and waits for
 * its own, and so they end; or the first one waits for more than there is; or the second one, or
 * each, goes round for ever before; or the first one waits for a semaphore that nobody raises,
 * behind the barrier. The caller frees the file.
 */
enum testmodel_siblings {
	TESTMODEL_MEET,
	TESTMODEL_ABSENT,
	TESTMODEL_LATE,
	TESTMODEL_ASTRAY,
	TESTMODEL_ALONE,
};
void *testmodel_siblings(enum testmodel_siblings how, size_t *size);

/* Pieces */
unsigned int testmodel_var(struct testmodel *t, const char *name, enum neff_var_type type,
			   uint64_t size);
void testmodel_io(struct testmodel *t, unsigned int var, uint8_t dtype, unsigned int d0,
		  unsigned int d1);
unsigned int testmodel_queue(struct testmodel *t, const char *name, enum neff_queue_type type,
			     unsigned int owner);
void testmodel_insn(struct testmodel *t, unsigned int eng, const struct neuron_insn *insn);
struct neff_dma *testmodel_dma(struct testmodel *t, unsigned int eng, unsigned int queue,
			       int semaphore, unsigned int ndesc);
void *testmodel_write(struct testmodel *t, size_t *size);
/* Asserts that the model is not written, with this error and a message that says text; frees it. */
void testmodel_refused(struct testmodel *t, int ret, const char *text);

#endif
