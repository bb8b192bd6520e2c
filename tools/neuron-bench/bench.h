/* SPDX-License-Identifier: MIT */
/*
 * neuron-bench: how long executions of a model take, by libnrt (local.c) or through the daemon
 * (remote.c). main.c parses and runs, inputs.c makes what goes in, report.c what is said.
 */
#ifndef NEURON_BENCH_H
#define NEURON_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "npy.h"

#define BENCH_MAX_INPUTS 256
#define BENCH_MAX_CORES 512
#define BENCH_MAX_THREADS 1024

enum bench_fill { FILL_RANDOM, FILL_ZEROS };

struct bench_input {
	const char *name, *file; /* points into argv */
};

struct bench_tensor {
	char *name;
	char *source; /* the compiled model's name; "": the NEFF does not say */
	bool output;
	struct npy npy; /* type, shape and bytes; of an input also its data */
};

struct bench_worker {
	struct bench *bench;
	unsigned int copy; /* of the model */
	void *state; /* the way's */
	double *total_us, *core_us; /* of each execution; core_us 0: not known */
	unsigned long num_errors; /* executions that completed with numerical errors */
	bool failed;
};

struct bench {
	/* options */
	const char *model, *device, *address, *framework, *directory;
	struct bench_input inputs[BENCH_MAX_INPUTS];
	unsigned int ninputs;
	uint32_t core, copies, threads, batch; /* threads of each copy */
	unsigned long work, warmup;
	uint64_t seed;
	enum bench_fill fill;
	bool json;
	/* the model */
	const char *neff; /* the file: the model, or what it was compiled to */
	struct bench_tensor *tensor;
	unsigned int ntensors;
	/* what was measured */
	struct bench_worker *worker; /* copies * threads */
	double seconds;
	const struct bench_way *way;
	void *state; /* the way's */
};

/* A way to a chip for executions. Functions return false after a line on standard error. */
struct bench_way {
	/* Loads the copies of the model, and describes its tensors. */
	bool (*open)(struct bench *bench);
	/* Makes what one thread executes with: its buffers, with the inputs in them. */
	bool (*worker_open)(struct bench_worker *worker);
	/* *core_us: by the clock of the core, 0 if that is not known. */
	bool (*execute)(struct bench_worker *worker, double *core_us);
	/* Both may follow an open that failed. */
	void (*worker_close)(struct bench_worker *worker);
	void (*close)(struct bench *bench);
};

extern const struct bench_way bench_local, bench_remote;

/* Prints "neuron-bench: what: detail", after the end of a line of progress; false. */
bool bench_fail(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a tensor of the model; false, after a line on standard error: it cannot be taken. */
bool bench_tensor_add(struct bench *bench, const char *name, const char *source, bool output,
		      const struct npy *npy);

/* inputs.c: reads the files that were given, and fills the others. */
bool inputs_make(struct bench *bench);

/* report.c: prints the table or JSON, and writes the directory. */
bool report(const struct bench *bench);

#endif
