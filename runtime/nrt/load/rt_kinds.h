/* SPDX-License-Identifier: MIT */
/* The kinds of models beside the one of a single subgraph: logical.c, loops.c, pipeline.c */
#ifndef RT_KINDS_H
#define RT_KINDS_H

#include "rt_exec.h"

/*
 * logical.c, of a model for logical cores: what both halves of its subgraphs name is placed once,
 * in the first one, and the scratchpad for all; a job's steps; and the job with both execs held
 */
NRT_STATUS rt_logical_join(struct nrt_model *model);
NRT_STATUS rt_logical_begin(const struct rt_job *job, NRT_STATUS status);
NRT_STATUS rt_logical_run(const struct rt_job *job, uint64_t *device_us);
NRT_STATUS rt_logical_execute(const struct rt_job *job, const struct rt_io *io,
			      uint64_t *device_us);

/* The loop that ends with a part, from 1 on (loops.c); 0: none does */
unsigned int rt_loop_ends(const struct nrt_model *model, unsigned int part);

extern const struct rt_kind rt_kind_pipeline, rt_kind_loops, rt_kind_logical, rt_kind_logical_loops;

#endif
