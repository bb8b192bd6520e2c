/* SPDX-License-Identifier: MIT */
/* The files of neuronx-cc. Private to the program; all give 0 or -errno and print nothing. */
#ifndef NCC_FILES_H
#define NCC_FILES_H

#include <stddef.h>

/* Reads all of a file, a pipe too; free() *buf, also after an error */
int files_read(const char *path, void **buf, size_t *size);

/* A regular file is written beside its path, then renamed: nobody sees half of it */
int files_write(const char *path, const void *buf, size_t size);

/*
 * The files in a model's directory and below it, where its external data are: mapped when they are
 * first asked for, once each. As ONNX has it no part of the way to them is a symbolic link (-ELOOP)
 */
struct files_mapping;
struct files_beside {
	const char *model;
	size_t dir_size; /* of the model's path: its directory; 0: the working directory */
	struct files_mapping *mapping;
};

void files_beside(struct files_beside *b, const char *model);
void files_beside_free(struct files_beside *b);

/*
 * location: as in ncc_options.external_data, without ".." by its caller. *data, page-aligned, is
 * valid until files_beside_free(); NULL: the file is empty
 */
int files_beside_get(struct files_beside *b, const char *location, const void **data, size_t *size);

#endif
