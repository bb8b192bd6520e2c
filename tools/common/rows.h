/* SPDX-License-Identifier: MIT */
/*
 * .npy files split into executions: a tensor's first dimension is the batch of one execution, and
 * with --rows a file may hold any number of rows, the last batch padded with zeros. Without it a
 * file is one execution. Called by neuron-run and neuron-cli, which differ in how they execute.
 */
#ifndef TOOLS_ROWS_H
#define TOOLS_ROWS_H

#include <stdbool.h>

#include "npy.h"

struct rows {
	bool split; /* --rows */
	bool joined; /* an input has set given and batch */
	uint64_t given, batch; /* rows of the files, rows of one execution; 1 and 1 unless split */
};

void rows_init(struct rows *rows, bool split);
/*
 * Writes the dimensions as text, for example "4, at most 3" with sep ", ", if bit 1 of `most` is
 * set.
 */
void rows_dims_text(const struct npy *npy, unsigned int most, const char *sep, char *text,
		    size_t size);
/* True if .npy files carry this type and shape, and it has as many bytes as model->size says */
bool rows_model_ok(const struct npy *model);
/* True if type and shape are those of the model's tensor; with split the number of rows is free */
bool rows_match(const struct rows *rows, const struct npy *model, const struct npy *file);
/*
 * Joins an input that matches. Returns false if its rows or its batch differ from those of the
 * inputs before.
 */
bool rows_join(struct rows *rows, const struct npy *model, const struct npy *file);
/*
 * After the inputs: turns npy, an output of one execution, into that of all executions, zeroed.
 * Returns false if its shape does not follow the inputs' rows, or if memory is out.
 */
bool rows_extend(const struct rows *rows, struct npy *npy);
/* The executions that all rows take */
uint64_t rows_count(const struct rows *rows);
/* The bytes of execution i in all rows of a tensor; `one` is the bytes that one execution takes */
size_t rows_slice(const struct npy *all, size_t one, uint64_t i, size_t *offset);

/*
 * Writes dir/NAME.npy, where characters that do not belong in a file name become '_'; makes dir.
 * Returns 0 or -errno; *path is what failed (malloc'ed, or NULL).
 */
int rows_write(const char *dir, const char *name, const struct npy *npy, char **path);

#endif
