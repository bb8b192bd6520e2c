/* SPDX-License-Identifier: MIT */
/*
 * libncc: the compiler as a library. neuronx-cc, the tests and the fuzzers call it, and what it
 * does step by step is in ncc.c. Libraries never print: progress goes to the log callback, a
 * failure to one line of text. Thread safe: a compilation has no state but its arguments.
 */
#ifndef NCC_H
#define NCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "neuron/isa/isa.h"
#include "neuron/hw/target.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NCC_MAX_DIMS 16

struct neff_library;
struct neff_model;
struct ncc_kernels;
struct ncc_program;

enum ncc_cast { NCC_CAST_NONE, NCC_CAST_MATMULT, NCC_CAST_ALL };

enum ncc_framework { NCC_XLA, NCC_ONNX, NCC_IR };

#define NCC_PASS_READ "read" /* --dump-ir-after: the IR as it was read */
#define NCC_PASS_LOOPS "loops" /* and cut at its loops, part by part */

/* The user's words about one of the model's inputs (ONNX) */
struct ncc_input {
	const char *name;
	bool has_shape; /* dim gives the dimensions that the model leaves open */
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS];
	bool bounded[NCC_MAX_DIMS]; /* dim is the most: an input of the program says the size */
	const double *value; /* the input becomes a constant; NULL: it stays an input */
	size_t nvalues;
};

/* Constants that get smaller by an eighth are compressed, which inf1 has not: */
enum ncc_compress {
	NCC_COMPRESS_NEVER,
	NCC_COMPRESS_ALWAYS, /* all; refused for inf1 */
	NCC_COMPRESS_CHIP, /* those that the chip also copies in an eighth less time */
	NCC_COMPRESS_AUTO, /* of them those that take its host less time too, by estimate */
};

enum ncc_sparsity {
	NCC_SPARSE_NEVER,
	NCC_SPARSE_ALWAYS, /* all products of such weights */
	NCC_SPARSE_AUTO, /* those with which the program takes less of the chip's time by estimate */
};
struct ncc_sparse;

struct ncc_options {
	enum ncc_framework framework;
	const struct neuron_target *target; /* the chip to compile for; NULL: inf1 */
	const struct ncc_input *input;
	unsigned int ninputs;
	enum ncc_cast auto_cast; /* neuronx-cc's default: NONE, and for inf1 MATMULT */
	/* NEURON_DT_BF16 (0 means it), NEURON_DT_FP16 or, where the target's tensor engine takes
	 * them, NEURON_DT_TF32, NEURON_DT_FP8_E4; another is refused */
	uint8_t auto_cast_type;
	unsigned int pipeline_cores; /* 1 (0 means it) to 16: one stage each */
	/* cores of a logical one that a program uses: 1 (0 means it), or 2 where targets have those
	 */
	unsigned int lnc;
	uint64_t divide_from; /* of what cost on operations are divided among them; 0: where it pays
			       */
	uint8_t uuid[16]; /* the NEFF's */
	unsigned int level; /* 1: nothing is fused; else everything is */
	FILE *print_ir; /* the IR after the passes; NULL: no */
	FILE *print_plan; /* how each operation is done; NULL: it is not printed */
	const char *dump_after; /* the IR after every pass of this name, or all */
	FILE *dump;
	int64_t print_elements; /* elements of a constant that both print */
	FILE *report; /* JSON about the result (docs/compiler.md); NULL: no */
	const struct neff_library *library; /* of custom operators (neff.h); NULL: none */
	const struct ncc_kernels *kernels; /* hand-written ones; NULL: none */
	/* NCC_XLA: what ncc_program_read() made of this model, which is not read again; NULL */
	const struct ncc_program *program;
	enum ncc_compress compress_constants; /* neuronx-cc's default: NCC_COMPRESS_AUTO */
	/* random numbers whose generator the model leaves open are the chip's; not for inf1 */
	bool hardware_rng;
	/*
	 * Weights that are structurally sparse in a pattern of the chip's are multiplied as such,
	 * and infinities times their zeros are not NaN; for trn2 only
	 */
	enum ncc_sparsity structured_sparsity;
	struct ncc_sparse *sparse; /* ncc_compile's own: NULL */
	int64_t most_rows; /* that indices choose at once, by DMA; more are chosen by a loop. 0: as
			      many as a core's queues have room for */
	unsigned int replicas; /* of a model that does not say how many, as HloModuleProtos do not;
				  0: 1 */
	bool narrow_64bit; /* s64, u64 and f64 become s32, u32 and f32 */
	/*
	 * ONNX: the contents of a file beside the model, in which its tensors have their data.
	 * location is relative to the model's directory, with '/' between its components, none of
	 * which is empty or "..". *data is only read, and valid until ncc_compile()
	 * returns. 0 or -errno. May be NULL: such models are refused
	 */
	int (*external_data)(void *opaque, const char *location, const void **data, size_t *size);
	void (*log)(void *opaque, const char *line); /* progress; may be NULL */
	void (*warn)(void *opaque, const char *line); /* what may surprise; may be NULL */
	/*
	 * Called when a model cannot be imported, for each reason: one line, with the operation and
	 * its place, and how many more are like it. At most 20 and the number of the others; the
	 * first is what ncc_compile() says of the failure. May be NULL
	 */
	void (*obstacle)(void *opaque, const char *line);
	/*
	 * What phase the work is in, a static string, and how far that is: done of total, 0 if it
	 * does not say; may be NULL
	 */
	void (*progress)(void *opaque, const char *phase, unsigned int done, unsigned int total);
	/*
	 * Whether nobody wants the result any more, asked for each operation and between the steps
	 * behind them: when it returns true, ncc_compile() ends with -ECANCELED. May be NULL
	 */
	bool (*cancelled)(void *opaque);
	/* The model's bytes are not needed any more, if that is known before the end; may be NULL
	 */
	void (*model_read)(void *opaque);
	/*
	 * Called with what is to be written, of a small program (neff_is_small), by another thread
	 * maybe, while it is checked, by neff_check() too; the model is the compiler's, and only to
	 * be read. If it returns true, somebody has it, and no file is needed: *out is NULL then.
	 * What it did is to be undone if ncc_compile() fails. May be NULL
	 */
	bool (*emitted)(void *opaque, const struct neff_model *model);
	void *opaque;
	/*
	 * The module is verified when it was read and behind the last pass, not behind each: an
	 * error of the compiler's own then does not say in which pass it lies.
	 */
	bool verify_once;
	/*
	 * Threads for parts of the program that do not need each other; 0: as many as there are
	 * processors, for parts that are worth it. The functions above are called by the caller's
	 * thread alone, and the result is the same
	 */
	unsigned int jobs;
};

/* The chip to compile for */
const struct neuron_target *ncc_target(const struct ncc_options *opt);

/* Why a compilation failed: one line, owned by the caller of the compiler */
struct ncc_error {
	char text[512];
};

/*
 * Compiles a model of opt->framework into a NEFF file in memory; the caller frees *out. The same
 * input gives the same bytes but for the uuid. 0; -EINVAL: not a model; -ENOTSUP: the model has
 * something that is not supported; -EFBIG: it is too large for the device; -ENOMEM;
 * -ECANCELED
 */
int ncc_compile(const void *model, size_t size, const struct ncc_options *opt, void **out,
		size_t *out_size, struct ncc_error *err);

/*
 * Adds the kernels of a text (docs/compiler.md, Kernels), whose name file is for messages, to
 * *kernels, which is NULL at first. 0; -EINVAL: the text is none, and *kernels is as it was;
 * -ENOMEM. The caller frees *kernels when nothing is compiled with them any more.
 */
int ncc_kernels_add(struct ncc_kernels **kernels, const char *text, size_t size, const char *file,
		    struct ncc_error *err);
void ncc_kernels_free(struct ncc_kernels *kernels); /* NULL: nothing */

/* The known operations of HLO and operators of ONNX, by number; NULL: no more */
const char *ncc_hlo_operator(unsigned int i);
const char *ncc_onnx_operator(unsigned int i);

/* The names of the passes in order, some of them more than once; NULL: no more */
const char *ncc_pass_name(unsigned int i);

#ifdef __cplusplus
}
#endif
#endif
