/* SPDX-License-Identifier: MIT */
/*
 * .npy files split into executions: a tensor's first dimension is the batch of one execution, and
 * with --rows a file may hold any number of rows, the last batch padded with zeros. Without it a
 * file is one execution. Called by neuron-run and neuron-cli, which differ in who executes.
 */
#ifndef TOOLS_ROWS_H
#define TOOLS_ROWS_H

#include <stdbool.h>

#include "npy.h"

struct rows {
	bool split; /* --rows */
	bool joined; /* an input has said what follows */
	uint64_t given, batch; /* rows of the files, rows of one execution; 1 and 1 unless split */
};

void rows_init(struct rows *rows, bool split);
/* "4, 3" for sep ", " */
void rows_dims_text(const struct npy *npy, const char *sep, char *text, size_t size);
/* Is this a type and shape that .npy files carry, with as many bytes as model->size says */
bool rows_model_ok(const struct npy *model);
/* Are type and shape those of the model's tensor; split: any number of rows */
bool rows_match(const struct rows *rows, const struct npy *model, const struct npy *file);
/* Take an input that matches. False: its rows or its batch are not those of the inputs before */
bool rows_join(struct rows *rows, const struct npy *model, const struct npy *file);
/*
 * After the inputs: npy, an output of one execution, becomes that of all, zeroed. False: its shape
 * does not follow the inputs' rows, or there is no memory.
 */
bool rows_extend(const struct rows *rows, struct npy *npy);
/* Executions for all rows */
uint64_t rows_count(const struct rows *rows);
/* Bytes of execution i in all rows of a tensor of which one execution takes one bytes */
size_t rows_slice(const struct npy *all, size_t one, uint64_t i, size_t *offset);

/*
 * Write dir/NAME.npy, where characters that do not belong in a file name become '_'; makes dir.
 * 0 or -errno; *path is what failed (malloc'ed, or NULL).
 */
int rows_write(const char *dir, const char *name, const struct npy *npy, char **path);

#endif
