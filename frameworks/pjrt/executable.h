/* SPDX-License-Identifier: MIT */
/*
 * Executables: a program that was compiled for a topology, and one that is loaded on devices of a
 * client. Both are counted; a handle is one reference.
 */
#ifndef NPJ_EXECUTABLE_H
#define NPJ_EXECUTABLE_H

#include "options.h"
#include "pjrt.h"

struct npj_blob {
	void *data;
	size_t size;
};
static inline struct npj_blob npj_blob(const void *data, size_t size)
{
	return (struct npj_blob){ (void *)data, size };
}
/* A copy of b's own; false: no memory */
bool npj_blob_copy(struct npj_blob *to, struct npj_blob from);

#define NPJ_COSTS 3

struct PJRT_Executable {
	atomic_int refs;
	PJRT_TopologyDescription *topology;
	struct npj_options options;
	struct npj_blob code; /* as the framework gave it */
	struct npj_blob options_bytes;
	bool trivial; /* it only hands on what it gets, so that there is no NEFF */
	struct npj_blob neff; /* on the first question, if it was loaded without (compile.c) */
	bool cached; /* the NEFF is one that was found on disk */
	bool narrow_64bit; /* its client takes 64-bit types */
	char fingerprint[65];
	struct ncc_program *program;
	struct npj_shape *in, *out;
	bool *donated; /* of each input: does an output take its memory? */
	int *takes; /* of each output: whose memory it takes, or -1 */
	/* what is answered of the outputs: arrays that live as long as this */
	PJRT_Buffer_Type *out_type;
	int64_t *out_dims;
	size_t *out_ndims;
	const char **kinds; /* of inputs and outputs, whichever are more */
	size_t *kind_sizes;
	/* OpShardings of the inputs, then of the outputs */
	char **shardings;
	size_t *sharding_sizes;
	PJRT_Layouts_MemoryLayout **layouts; /* of the inputs, then of the outputs */
	/* on the first question */
	pthread_mutex_t lock; /* of these, and of neff */
	struct npj_blob hlo;
	PJRT_NamedValue cost[NPJ_COSTS];
	uint64_t macs; /* of one execution, known once it is loaded */
};

/*
 * What a program is, with neither a NEFF nor a place. Takes the options; code and their bytes are
 * copied.
 */
PJRT_Error *npj_executable_new(PJRT_TopologyDescription *t, bool narrow_64bit, struct npj_blob code,
			       struct npj_blob options_bytes, struct npj_options *o,
			       PJRT_Executable **result);
PJRT_Executable *npj_executable_ref(PJRT_Executable *x);
void npj_executable_unref(PJRT_Executable *x); /* NULL: nothing */
/*
 * Compiles it, or takes what was compiled before from the cache; anew: not from there. What is
 * compiled goes to emitted, if that is not NULL, and may then be without its NEFF.
 */
struct neff_model;
typedef bool npj_emitted_t(PJRT_LoadedExecutable *l, const struct neff_model *model);
PJRT_Error *npj_compile(PJRT_Executable *x, bool anew, npj_emitted_t *emitted,
			PJRT_LoadedExecutable *l);
/* Its NEFF, which is the executable's; none of a trivial one */
PJRT_Error *npj_executable_neff(PJRT_Executable *x, struct npj_blob *neff);
PJRT_Error *npj_program_check(const PJRT_Program *p, struct npj_blob *code);

/* An input or output of a model that is loaded */
struct npj_binding {
	char name[24]; /* the NEFF's; "": it has none, as of an array without elements */
};

struct PJRT_LoadedExecutable {
	atomic_int refs;
	atomic_bool deleted;
	bool held; /* the framework was told of its calls of the host */
	PJRT_Client *client;
	PJRT_Executable *executable;
	unsigned int nall; /* devices, replica by replica, of all processes: the program's ranks */
	int *ids;
	unsigned int n; /* those of this process */
	PJRT_Device **device;
	PJRT_LogicalDeviceIds *logical;
	unsigned int *rank;
	nrt_model_t **model; /* n of them; none of a trivial program */
	struct npj_binding *in, *out;
	bool loaded; /* model is there */
	bool together; /* its models pass something to each other, and execute at the same time */
	atomic_llong duration; /* of an execution, ns, about; 0: none was */
};
PJRT_LoadedExecutable *npj_loaded_ref(PJRT_LoadedExecutable *l);
void npj_loaded_unref(PJRT_LoadedExecutable *l);
/* Loads it on the devices that its options name; takes the reference to x */
PJRT_Error *npj_load(PJRT_Client *c, PJRT_Executable *x, PJRT_LoadedExecutable **result);
/* The same of one that is compiled for it */
PJRT_Error *npj_compile_and_load(PJRT_Client *c, PJRT_Executable *x,
				 PJRT_LoadedExecutable **result);

/* sharding.c: how an array lies, as a serialized OpSharding that the caller frees; NULL: no memory */
char *npj_sharding(const struct ncc_tiling *t, unsigned int partitions, size_t *size);

PJRT_Layouts_MemoryLayout *npj_layout_new(unsigned int ndim); /* row-major (layouts.c) */
void npj_layout_unref(PJRT_Layouts_MemoryLayout *l);

#endif
