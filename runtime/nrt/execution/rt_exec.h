/* SPDX-License-Identifier: MIT */
/*
 * The layers of an execution, from the lowest: errors that the chip reported (error.c), names of
 * tensors (called.c), copies between tensors and variables (io.c), one run of a subgraph's programs
 * (run.c), a core's whole execution from inputs to outputs (exec.c)
 */
#ifndef RT_EXEC_H
#define RT_EXEC_H

#include "rt_model.h"
#include "rt_tensor.h"

struct rt_io {
	const nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
};

/* called.c: the sets of an execution with each tensor by the NEFF's name */
struct rt_called {
	struct rt_io io;
	struct rt_set in, out; /* what was made for it */
};
NRT_STATUS rt_called_make(const struct nrt_model *model, const struct rt_io *io,
			  struct rt_called *called);
void rt_called_free(struct rt_called *called); /* also after a failure */

/*
 * Empties the error queue of the subgraph's core and returns the resulting status: the first entry
 * decides, except that a numerical error gives way to any other. status is the result so far.
 */
NRT_STATUS rt_errors_collect(const struct rt_subgraph *sg, NRT_STATUS status);

/* Checks that each input and output has a tensor of its size. */
NRT_STATUS rt_io_check(const struct nrt_model *model, const struct rt_io *io);
/*
 * Finds the large inputs among the variables of n subgraphs whose tensor is an output's too, and no
 * other one's: the execution overwrites it, so that its memory can change hands.
 */
void rt_io_alias(struct rt_subgraph *sg, unsigned int n, const struct rt_io *io);
/*
 * Gives the tensors of such inputs back what they had: the execution has failed and does not
 * overwrite them.
 */
void rt_io_undo(struct rt_subgraph *sg, const struct rt_io *io);
/* Copies the inputs (in) into their variables, or the outputs out of them. */
NRT_STATUS rt_io_copy(struct rt_subgraph *sg, const struct rt_io *io, bool in);

/*
 * Runs the subgraph's programs, with exec held. A core whose program did not end is reset. The time
 * between start and notification is added to device_us.
 */
NRT_STATUS rt_run(struct rt_subgraph *sg, uint64_t *device_us);

/*
 * The same of two that wait for each other, on the two cores of a logical one, whose execs are
 * held. If one of them does not end, both cores are reset.
 */
NRT_STATUS rt_run_both(struct rt_subgraph *sg, struct rt_subgraph *sibling, uint64_t *device_us);

/*
 * hang.c: when the time is over, whether a core of the subgraph's logical one waits for the other,
 * which text says (": ..." or ""), and the kernel log; before a reset
 */
#define RT_HANG_TEXT 256
void rt_hang_tell(const struct rt_subgraph *sg, char text[RT_HANG_TEXT]);

/* NRT_TIMEOUT, with what was under way (": ..." or "") and what sets the time. */
NRT_STATUS rt_timed_out(const struct rt_subgraph *sg, const char *where);

/*
 * What one core does between inputs and outputs: it executes n subgraphs of a model, from sg on.
 * exec.c calls these functions with the core's exec held; NULL stands for nothing to do.
 */
struct rt_job;
struct rt_steps {
	/*
	 * Called before the inputs are copied. A failure in status means that there is no
	 * execution, and is returned.
	 */
	NRT_STATUS (*begin)(const struct rt_job *job, NRT_STATUS status);
	/* Called when the inputs are there: runs the programs to the end of the last one. */
	NRT_STATUS (*run)(const struct rt_job *job, uint64_t *device_us);
	/* Called after the programs ran, with the result of copying the outputs. */
	void (*end)(const struct rt_job *job, NRT_STATUS copied);
};

/* Takes the core for this execution, cleared of what earlier executions left. */
NRT_STATUS rt_job_take(struct rt_subgraph *sg);

struct rt_job {
	struct rt_subgraph *sg;
	unsigned int n;
	const struct rt_steps *steps;
};

/* run.c: the cycles of the calling thread's execution are counted from here */
void rt_cycles_begin(void);
NRT_STATUS rt_job_execute(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us);

/* Checks the tensors and executes a pinned model so often, in a call that has begun. */
NRT_STATUS rt_execute(struct nrt_model *model, const struct rt_io *io, int repeat);

extern const struct rt_kind rt_kind_single; /* a model of one subgraph */

#endif
