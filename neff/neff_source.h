/* SPDX-License-Identifier: MIT */
/* A source of a file's bytes: memory, or a file that is open. Private to libneff. */
#ifndef NEFF_SOURCE_H
#define NEFF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive;

#define NEFF_SOURCE_PIECE (1u << 18) /* bytes of a file that are read at once */

struct neff_source {
	const uint8_t *bytes; /* NULL: fd */
	int fd;
	size_t size;
	/* of an archive that reads fd */
	size_t at, end;
	uint8_t *piece;
	bool failed;
};

/*
 * Copies [at, at + n), which lies inside the source. Returns 0, or -EIO if the file has become
 * shorter or cannot be read.
 */
int neff_source_read(const struct neff_source *s, size_t at, void *to, size_t n);
/* Has the archive read [at, end). The source has to live as long. Returns libarchive's result. */
int neff_source_open(struct neff_source *s, struct archive *a, size_t at, size_t end);
/* Frees what opening took. */
void neff_source_done(struct neff_source *s);

#endif
