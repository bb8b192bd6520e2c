/* SPDX-License-Identifier: MIT */
/* See rows.h. */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void rows_init(struct rows *rows, bool split)
{
	*rows = (struct rows){ .split = split, .given = 1, .batch = 1 };
}

void rows_dims_text(const struct npy *npy, unsigned int most, const char *sep, char *text,
		    size_t size)
{
	size_t pos = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < npy->ndim && pos < size; i++)
		pos += (size_t)snprintf(text + pos, size - pos, "%s%s%llu", i ? sep : "",
					most >> i & 1 ? "at most " : "",
					(unsigned long long)npy->shape[i]);
}

bool rows_model_ok(const struct npy *model)
{
	size_t size = npy_itemsize(model->dtype);

	if (!size || model->ndim > NPY_MAX_DIMS)
		return false;
	for (unsigned int i = 0; i < model->ndim; i++)
		if (__builtin_mul_overflow(size, model->shape[i], &size))
			return false;
	return size == model->size;
}

bool rows_match(const struct rows *rows, const struct npy *model, const struct npy *file)
{
	if (model->dtype != file->dtype || model->ndim != file->ndim ||
	    (rows->split && !model->ndim))
		return false;
	for (unsigned int i = rows->split ? 1 : 0; i < model->ndim; i++)
		if (model->shape[i] != file->shape[i])
			return false;
	return true;
}

bool rows_join(struct rows *rows, const struct npy *model, const struct npy *file)
{
	uint64_t given, batch;

	if (!rows->split)
		return true;
	given = file->shape[0];
	batch = model->shape[0];
	if (!batch || (rows->joined && (rows->given != given || rows->batch != batch)))
		return false;
	rows->joined = true;
	rows->given = given;
	rows->batch = batch;
	return true;
}

bool rows_extend(const struct rows *rows, struct npy *npy)
{
	if (!rows_model_ok(npy))
		return false;
	if (rows->split) {
		if (!npy->ndim || npy->shape[0] != rows->batch)
			return false;
		npy->shape[0] = rows->given;
		if (__builtin_mul_overflow(npy->size / rows->batch, rows->given, &npy->size))
			return false;
	}
	npy->data = calloc(1, npy->size ? npy->size : 1);
	return npy->data;
}

uint64_t rows_count(const struct rows *rows)
{
	return rows->given / rows->batch + (rows->given % rows->batch != 0);
}

size_t rows_slice(const struct npy *all, size_t one, uint64_t i, size_t *offset)
{
	*offset = i * one;
	return all->size - *offset < one ? all->size - *offset : one;
}

int rows_write(const char *dir, const char *name, const struct npy *npy, char **path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._:-";
	char *file;

	*path = NULL;
	if (mkdir(dir, 0777) && errno != EEXIST) {
		int err = -errno;

		*path = strdup(dir);
		return err;
	}
	if (asprintf(path, "%s/%s.npy", dir, name) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	file = *path + strlen(dir) + 1;
	for (char *p = file; *p; p++)
		if (!strchr(plain, *p))
			*p = '_';
	if (*file == '.')
		*file = '_';
	return npy_write(*path, npy);
}
