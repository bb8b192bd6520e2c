/* SPDX-License-Identifier: MIT */
/*
 * A program as frameworks see it, before it is compiled: what it takes and gives, whose memory may
 * be used again, and on how many devices it runs. Of a model of NCC_XLA, in any of its formats: an
 * HloModuleProto, the HloProto or HloModuleProtoWithConfig around one, a portable artifact of
 * StableHLO. Part of libncc; thread safe.
 */
#ifndef NCC_PROGRAM_H
#define NCC_PROGRAM_H

#include "ncc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The target of custom calls that are calls of the host (docs/compiler-design.md) */
#define NCC_HOST_TARGET "neuron_python_callback"

struct ncc_array {
	int type; /* XLA's PrimitiveType (xla_data.proto): PRED 1, S8 2, ... */
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS]; /* of a dynamic dimension: the most that it can be */
};

/* Partition of an array over a program's partitions: along each dimension it is cut into tiles */
struct ncc_tiling {
	unsigned int ndim;
	int64_t tiles[NCC_MAX_DIMS]; /* 1: every partition has all of the dimension */
	uint8_t *at; /* at [p * NCC_MAX_DIMS + d]: which tile of dimension d partition p has */
	/* The array is the sum of so many, of which partition p has number term[p]. */
	int64_t terms;
	uint8_t *term;
};

struct ncc_program {
	char *name;
	/* in: the parameters in order, tuples among them taken apart; out: the root's leaves */
	unsigned int nin, nout;
	struct ncc_array *in, *out;
	/* Of each output: the input whose memory it may take (input_output_alias), or -1 */
	int *alias;
	/* Of each input: may any output take its memory (buffer_donor)? */
	bool *donor;
	/*
	 * Of each output: the input that it is, unchanged, or -1, which also stands for a way from
	 * one to the other that is not followed
	 */
	int *same;
	unsigned int replicas, partitions; /* at least 1, and 1 where the model says nothing */
	/* The numbers of the host's functions that it calls by the custom call NCC_HOST_TARGET */
	unsigned int ncalls;
	uint64_t *call;
	bool effects; /* one of the calls has an effect */
	/*
	 * Of each input and output, which are what a partition has of it, how it is cut; NULL:
	 * every partition has it whole
	 */
	struct ncc_tiling **in_tiling, **out_tiling;
	struct hlo_file *file; /* libncc's: what was read, for ncc_options.program */
};

/*
 * Reads what a model takes and gives, without importing it: a program that ncc_compile() refuses
 * may be read. 0; -EINVAL: not a model; -ENOTSUP: an array that no ncc_array can say, or a model
 * with an operation that has no HLO; -EFBIG; -ENOMEM. The caller frees *p.
 */
int ncc_program_read(const void *model, size_t size, struct ncc_program **p, struct ncc_error *err);
/* It is not compiled any more: what that needs alone is freed. */
void ncc_program_forget(struct ncc_program *p);
void ncc_program_free(struct ncc_program *p); /* NULL: nothing */

/*
 * The program as a serialized HloModuleProto, whatever format it was in; the caller frees *out.
 * An HLO module comes back as it was, without what is around it. Errors as above
 */
int ncc_program_hlo(const void *model, size_t size, void **out, size_t *out_size,
		    struct ncc_error *err);

#ifdef __cplusplus
}
#endif
#endif
