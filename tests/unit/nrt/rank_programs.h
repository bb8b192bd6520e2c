/* SPDX-License-Identifier: MIT */
/*
 * Programs for four ranks, which this process has all of, or, if it is one of two, every other one;
 * and what the first of them has to give. For test_ranks.c
 */
#ifndef RANK_PROGRAMS_H
#define RANK_PROGRAMS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "nrt/nrtx.h"

#define RANKS 4
#define N 12 /* elements of an argument */

extern const char *machine, *target_name;
extern uint32_t cores[RANKS];
/* Of two processes: which this is, and what they meet as; NULL: it is alone */
extern unsigned int process;
extern const char *job;

bool is_own(unsigned int rank);
/* The first rank of this process from that one on */
unsigned int own(unsigned int rank);

/* clang-format off */
#define HEAD                                                                                 \
	"module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {\n" \
	"  func.func public @main("
/* clang-format on */
/* One of each collective, in groups of all and of two, one behind the other and at the same time */
extern const char every[];
/* A rank's own number of iterations, each of which needs all ranks */
extern const char iterations[];
extern const char sums[]; /* of bf16 and of many bytes */

/* A rank, which a thread of its own loads and executes */
struct rank {
	uint32_t number;
	struct nrtx_load_params params;
	const void *neff;
	size_t size;
	nrt_model_t *model;
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t *tensor[10];
	unsigned int ntensors;
	NRT_STATUS status;
	char details[1024];
	unsigned int repeat;
	bool gives_up;
	pthread_t thread;
	_Atomic pid_t tid;
};

void *compile(const char *text, size_t *size);
void *load_one(void *rank); /* bodies of threads */
void *run_one(void *rank);
void at_once(struct rank *r, unsigned int n, void *(*fn)(void *arg));
void prepare(struct rank *r, const void *neff, size_t size, uint32_t timeout_ms);
nrt_tensor_t *add(struct rank *r, nrt_tensor_set_t *set, const char *name, size_t size);
void load_all(struct rank *r, const char *text, uint32_t timeout_ms);
void free_all(struct rank *r);
void setup(void);
void teardown(void);

/* The tensors of `every`, what goes into them, and whether its results are right */
void every_tensors(struct rank *r);
void every_write(struct rank *r, int32_t x[RANKS][N], int32_t seed);
void every_check(struct rank *r, int32_t x[RANKS][N]);

#endif
