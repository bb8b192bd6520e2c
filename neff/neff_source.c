/* SPDX-License-Identifier: MIT */
/*
 * A file is not mapped, because whoever can write it could shorten it under the reader, and it is
 * not held as a whole, because it may be most of a machine's memory. Every byte is read once.
 */
#include "neff_source.h"

#include <archive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int neff_source_read(const struct neff_source *s, size_t at, void *to, size_t n)
{
	uint8_t *p = to;

	if (s->bytes) {
		memcpy(p, s->bytes + at, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(s->fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		p += got;
		at += (size_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static la_ssize_t next_piece(struct archive *a, void *arg, const void **piece)
{
	struct neff_source *s = arg;
	size_t n = s->end - s->at < NEFF_SOURCE_PIECE ? s->end - s->at : NEFF_SOURCE_PIECE;

	if (neff_source_read(s, s->at, s->piece, n)) {
		s->failed = true; /* filters have words of their own for it */
		return -1;
	}
	s->at += n;
	*piece = s->piece;
	return (la_ssize_t)n;
}

int neff_source_open(struct neff_source *s, struct archive *a, size_t at, size_t end)
{
	if (s->bytes)
		return archive_read_open_memory(a, s->bytes + at, end - at);
	s->at = at;
	s->end = end;
	s->piece = malloc(NEFF_SOURCE_PIECE);
	if (!s->piece) {
		archive_set_error(a, ENOMEM, "out of memory");
		return ARCHIVE_FATAL;
	}
	return archive_read_open(a, s, NULL, next_piece, NULL);
}

void neff_source_done(struct neff_source *s)
{
	free(s->piece);
	s->piece = NULL;
}
