/* SPDX-License-Identifier: MIT */
/*
 * An execution, from below: what the chip reported (error.c), tensors and variables (io.c), a
 * subgraph's programs to their end (run.c), a core from inputs to outputs (exec.c).
 */
#ifndef RT_EXEC_H
#define RT_EXEC_H

#include "rt_model.h"
#include "rt_tensor.h"

struct rt_io {
	const nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
};

/*
 * Empties the error queue of the subgraph's core: the first entry decides, a numerical error gives
 * way to any other; status is what is known already
 */
NRT_STATUS rt_errors_collect(const struct rt_subgraph *sg, NRT_STATUS status);

/* Does each input and output have a tensor of its size? */
NRT_STATUS rt_io_check(const struct nrt_model *model, const struct rt_io *io);
/* The inputs (in) into their variables, or the outputs out of them */
NRT_STATUS rt_io_copy(struct rt_subgraph *sg, const struct rt_io *io, bool in);

/*
 * The subgraph's programs alone, exec held. A core whose program did not come to its end is reset.
 * device_us: adds the time between start and notification
 */
NRT_STATUS rt_run(struct rt_subgraph *sg, uint64_t *device_us);

/*
 * What one core executes between inputs and outputs: n subgraphs of a model from sg on. exec.c
 * calls these with the core's exec held; one that is NULL has nothing to do.
 */
struct rt_job;
struct rt_steps {
	/* Before the inputs. status: why there is no execution, which stays so */
	NRT_STATUS (*begin)(const struct rt_job *job, NRT_STATUS status);
	/* The inputs are there: the programs, to the end of the last one */
	NRT_STATUS (*run)(const struct rt_job *job, uint64_t *device_us);
	/* They ran, and this came of copying the outputs */
	void (*end)(const struct rt_job *job, NRT_STATUS copied);
};

struct rt_job {
	struct rt_subgraph *sg;
	unsigned int n;
	const struct rt_steps *steps;
};

NRT_STATUS rt_job_execute(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us);

extern const struct rt_kind rt_kind_single, rt_kind_pipeline, rt_kind_loops;

#endif
