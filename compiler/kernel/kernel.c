// SPDX-License-Identifier: MIT
/* The kernels of a compilation, by name */
#include "kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct ncc_kernel *ncc_kernel_find(const struct ncc_kernels *kernels, const char *name)
{
	for (unsigned int i = 0; kernels && i < kernels->n; i++)
		if (!strcmp(kernels->kernel[i]->name, name))
			return kernels->kernel[i];
	return NULL;
}

const struct ncc_kernel *ncc_kernel_of(const struct ncc_kernels *kernels, const struct ncc_op *op)
{
	const int64_t i = op->index;

	return kernels && i >= 0 && i < kernels->n ? kernels->kernel[i] : NULL;
}

int ncc_kernel_fail(const struct ncc_kernel *k, unsigned int line, struct ncc_error *err, int code,
		    const char *fmt, ...)
{
	char what[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ncc_fail(err, code, "kernel '%s' (%.80s:%u): %s", k->name, k->file, line, what);
}

static void free_kernel(struct ncc_kernel *k)
{
	free(k->step);
	free(k);
}

/* Drops what was added behind the first n kernels and nfiles files. */
static void drop(struct ncc_kernels *all, unsigned int n, unsigned int nfiles)
{
	while (all->n > n)
		free_kernel(all->kernel[--all->n]);
	while (all->nfiles > nfiles)
		free(all->file[--all->nfiles]);
}

void ncc_kernels_free(struct ncc_kernels *kernels)
{
	if (!kernels)
		return;
	drop(kernels, 0, 0);
	free(kernels->kernel);
	free(kernels->file);
	free(kernels);
}

/* Takes the kernel, also on failure. */
static int add(struct ncc_kernels *all, struct ncc_kernel *k, struct ncc_error *err)
{
	const struct ncc_kernel *other = ncc_kernel_find(all, k->name);
	struct ncc_kernel **p = NULL;
	int rc;

	if (other)
		rc = ncc_kernel_fail(k, k->line, err, -EINVAL,
				     "there is one of this name, %.80s:%u", other->file,
				     other->line);
	else
		p = realloc(all->kernel, (all->n + 1) * sizeof(struct ncc_kernel *));
	if (!p) {
		rc = other ? rc : ncc_no_memory(err);
		free_kernel(k);
		return rc;
	}
	all->kernel = p;
	all->kernel[all->n++] = k;
	return 0;
}

static int add_file(struct ncc_kernels *all, const char *file)
{
	char **p = realloc(all->file, (all->nfiles + 1) * sizeof(char *));

	if (!p)
		return -ENOMEM;
	all->file = p;
	p[all->nfiles] = strdup(file);
	return p[all->nfiles] ? (all->nfiles++, 0) : -ENOMEM;
}

/* Cuts the text, which is changed, into lines. */
static int cut(char *text, size_t size, struct kernel_text *t)
{
	unsigned int n = 1;

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	t->line = calloc(n, sizeof(char *));
	t->end = calloc(2 * (size_t)n, sizeof(*t->end));
	if (!t->line || !t->end)
		return -ENOMEM;
	t->middle = t->end + n;
	for (char *p = text, *end = text + size; p <= end; p += strlen(p) + 1) {
		char *newline = memchr(p, '\n', (size_t)(end - p));

		if (newline)
			*newline = 0;
		t->line[t->nlines++] = p;
		if (!newline)
			break;
	}
	return 0;
}

static int add_text(struct ncc_kernels *all, char *text, size_t size, struct ncc_error *err)
{
	struct kernel_text t = { .file = all->file[all->nfiles - 1] };
	unsigned int at = 0, before = all->n;
	struct ncc_kernel *k;
	int rc = cut(text, size, &t);

	if (rc)
		ncc_no_memory(err);
	while (!rc && (rc = kernel_read(&t, &at, &k, err)) > 0) {
		rc = add(all, k, err);
		if (rc)
			break;
	}
	free(t.line);
	free(t.end);
	if (!rc && all->n == before)
		return ncc_fail(err, -EINVAL, "%.80s: no kernel is in it", t.file);
	return rc;
}

int ncc_kernels_add(struct ncc_kernels **kernels, const char *text, size_t size, const char *file,
		    struct ncc_error *err)
{
	struct ncc_kernels *all = *kernels ? *kernels : calloc(1, sizeof(*all));
	const unsigned int n = all ? all->n : 0, nfiles = all ? all->nfiles : 0;
	char *copy = malloc(size + 1);
	int rc = -ENOMEM;

	if (all && copy && !add_file(all, file)) {
		memcpy(copy, text, size);
		copy[size] = 0;
		rc = memchr(text, 0, size)
			     ? ncc_fail(err, -EINVAL, "%.80s: not a text of kernels", file)
			     : add_text(all, copy, size, err);
	} else {
		ncc_no_memory(err);
	}
	free(copy);
	if (rc && all)
		drop(all, n, nfiles);
	if (rc && !*kernels)
		ncc_kernels_free(all);
	else
		*kernels = all;
	return rc;
}
