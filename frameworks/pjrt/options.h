/* SPDX-License-Identifier: MIT */
/* The options that a program is compiled with (options.c) */
#ifndef NPJ_OPTIONS_H
#define NPJ_OPTIONS_H

#include "pjrt.h"

#define NPJ_MAX_ASSIGNED 4096 /* devices of a program */

struct npj_options {
	unsigned int replicas, partitions;
	int *assigned; /* device ids: [replica][partition], replicas * partitions of them; NULL: any
			*/
	enum ncc_cast cast;
	uint8_t cast_type;
	unsigned int level, lnc;
	bool hardware_rng, narrow_64bit;
	enum ncc_sparsity sparsity;
	enum ncc_compress compress;
	bool no_cache;
	char *cache_dir; /* NULL: the environment's, or the default */
};

/*
 * From the serialized options of a framework and NEURON_CC_FLAGS, which counts first: an option of
 * the program itself says more.
 */
PJRT_Error *npj_options_read(const PJRT_TopologyDescription *t, const void *bytes, size_t size,
			     struct npj_options *o);
void npj_options_clear(struct npj_options *o);
/* The options that the compiled program depends on, as text; free() it. NULL: no memory */
char *npj_options_text(const struct npj_options *o);

#endif
