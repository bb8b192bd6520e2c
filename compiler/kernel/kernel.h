/* SPDX-License-Identifier: MIT */
/*
 * Hand-written kernels: instructions of the engines and DMAs in one order, as a user wrote them in
 * a text (docs/compiler.md, Kernels). They name areas of SBUF and PSUM, for which the code
 * generator finds places, and tensors in DRAM. What orders engines and queues is the scheduler's
 * work, as for all of a program, so a kernel neither waits nor signals.
 *
 * read.c makes kernels of a text, with value.c (expressions) and transfer.c (DMAs); kernel.c owns
 * them; check.c looks at one with a target; call.c makes an operation of the IR that is one.
 */
#ifndef NCC_KERNEL_H
#define NCC_KERNEL_H

#include "asm/asm.h"
#include "build/build.h"
#include "neff.h"

#define NCC_KERNEL_NAME 64
#define NCC_KERNEL_AREAS 64
#define NCC_KERNEL_TENSORS (NCC_MAX_CUSTOM_OPERANDS + 1)
#define NCC_KERNEL_STEPS 65536
#define NCC_KERNEL_ALIGN 64 /* bytes between areas, and between results */

struct ncc_kernel_tensor {
	char name[NCC_KERNEL_NAME];
	bool output, written;
	struct ncc_shape shape;
};

/* An instruction or a DMA. Places of areas are those of a kernel whose areas begin at byte 0 */
struct ncc_kernel_step {
	unsigned int line;
	int engine; /* -1: a DMA */
	union {
		struct neuron_insn insn;
		struct neff_desc desc; /* variables: a tensor's number plus 1, 0: SBUF */
	};
};

struct ncc_kernel {
	char name[NCC_KERNEL_NAME];
	const char *file;
	unsigned int line;
	struct ncc_kernel_tensor tensor[NCC_KERNEL_TENSORS];
	unsigned int ntensors;
	struct ncc_asm_area area[NCC_KERNEL_AREAS];
	char area_name[NCC_KERNEL_AREAS][NCC_KERNEL_NAME];
	unsigned int nareas;
	uint32_t sbuf, psum; /* bytes of a partition that the areas take */
	struct ncc_kernel_step *step;
	unsigned int nsteps, cap;
};

struct ncc_kernels {
	struct ncc_kernel **kernel;
	unsigned int n;
	char **file; /* their names */
	unsigned int nfiles;
};

const struct ncc_kernel *ncc_kernel_find(const struct ncc_kernels *kernels, const char *name);
/* The kernel that an operation NCC_KERNEL calls; NULL: there is none of its number */
const struct ncc_kernel *ncc_kernel_of(const struct ncc_kernels *kernels, const struct ncc_op *op);
/* Reports one line with the kernel, its file and a line of it; returns code. */
int ncc_kernel_fail(const struct ncc_kernel *k, unsigned int line, struct ncc_error *err, int code,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* read.c: one kernel after the other, from *at on; 1: one, 0: no more, or -errno */
struct kernel_text {
	const char *file;
	char **line; /* without newline; [0] is line 1 */
	unsigned int nlines;
	/* of a line that begins something: 1 + the line of its .end, or .else, once it was found */
	unsigned int *end, *middle;
};
int kernel_read(const struct kernel_text *text, unsigned int *at, struct ncc_kernel **kernel,
		struct ncc_error *err);

/* value.c: names of numbers, and text in which {expression} is replaced by its value */
#define KERNEL_VALUES 16
struct kernel_values {
	char name[KERNEL_VALUES][NCC_KERNEL_NAME];
	int64_t value[KERNEL_VALUES];
	unsigned int n;
};
/* A word of letters, digits and _ that begins with no digit, of less than NCC_KERNEL_NAME? */
bool kernel_is_name(const char *s);
/* 0 or -EINVAL with why */
int kernel_value(const struct kernel_values *v, const char *text, int64_t *out,
		 struct ncc_asm_error *why);
int kernel_expand(const struct kernel_values *v, const char *line, char *out, size_t size,
		  struct ncc_asm_error *why);

/* transfer.c: the words of a DMA behind its name */
int kernel_transfer(struct ncc_kernel *k, char *words, struct ncc_kernel_step *s,
		    struct ncc_asm_error *why);

/*
 * check.c: does the target execute it, and does everything it touches lie in its areas? 0, or
 * -errno with a line of the kernel
 */
int ncc_kernel_check(const struct ncc_kernel *k, const struct neuron_target *target,
		     struct ncc_error *err);

/*
 * call.c: the operation that is the kernel, and its results, of which the caller has room for
 * NCC_KERNEL_TENSORS; returns how many, or -errno. shape: what the caller takes them for
 */
int ncc_kernel_call(struct ncc_build *bl, const struct ncc_kernels *kernels,
		    const struct ncc_kernel *k, struct ncc_op *const *in, unsigned int nin,
		    const struct ncc_shape *shape, unsigned int nshapes, struct ncc_op **result);
unsigned int ncc_kernel_outputs(const struct ncc_kernel *k);
const struct ncc_shape *ncc_kernel_result(const struct ncc_kernel *k, unsigned int output);
/* Do the operands and the result of an operation fit it? 0 or -EINVAL */
int ncc_kernel_fits(const struct ncc_kernel *k, const struct ncc_op *op, struct ncc_error *err);
/* The first byte of an output, a tensor's number, in the operation's result */
uint64_t ncc_kernel_offset(const struct ncc_kernel *k, unsigned int tensor);

#endif
