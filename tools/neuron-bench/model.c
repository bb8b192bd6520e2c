/* SPDX-License-Identifier: MIT */
/* The model's tensors, and what is said when something fails */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "terminal.h"

bool bench_fail(const char *what, const char *format, ...)
{
	va_list args;

	terminal_end();
	fprintf(stderr, "neuron-bench: %s: ", what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

bool bench_tensor_add(struct bench *bench, const char *name, const char *source, bool output,
		      const struct npy *npy)
{
	struct bench_tensor *list =
		realloc(bench->tensor, (bench->ntensors + 1) * sizeof(*bench->tensor));
	struct bench_tensor *t;

	if (!list)
		return bench_fail(name, "out of memory");
	bench->tensor = list;
	t = &list[bench->ntensors++];
	*t = (struct bench_tensor){ strdup(name), strdup(source ? source : ""), output, *npy };
	if (!t->name || !t->source)
		return bench_fail(name, "out of memory");
	return npy->ndim <= NPY_MAX_DIMS || bench_fail(name, "a rank of %u", npy->ndim);
}
