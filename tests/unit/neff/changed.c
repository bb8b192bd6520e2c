// SPDX-License-Identifier: MIT
/* A file with one text of a member changed (changed.h) */
#include "changed.h"

#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 1024

/* Appends a member to the archive, and replaces the first `old` in the member that is named. */
static void copy_member(struct archive *w, struct archive_entry *e, const char *data, size_t size,
			const char *old, const char *new)
{
	const char *at = old ? memmem(data, size, old, strlen(old)) : NULL;
	size_t head = at ? (size_t)(at - data) : size;

	ck_assert_msg(!old || at, "no '%s' in %s", old, archive_entry_pathname(e));
	archive_entry_set_size(e, (la_int64_t)(at ? size - strlen(old) + strlen(new) : size));
	ck_assert_int_eq(archive_write_header(w, e), ARCHIVE_OK);
	archive_write_data(w, data, head);
	if (!at)
		return;
	archive_write_data(w, new, strlen(new));
	archive_write_data(w, at + strlen(old), size - head - strlen(old));
}

uint8_t *neff_changed(const uint8_t *b, size_t n, const char *member, const char *old,
		      const char *new, size_t *size)
{
	struct archive *a = archive_read_new(), *w = archive_write_new();
	size_t used, room = 8u << 20;
	uint8_t *out = calloc(1, room);
	static char data[1 << 18];
	struct archive_entry *e;

	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	ck_assert_int_eq(archive_read_open_memory(a, b + HEADER, n - HEADER), ARCHIVE_OK);
	archive_write_set_format_ustar(w);
	archive_write_open_memory(w, out + HEADER, room - HEADER, &used);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		la_ssize_t len = archive_read_data(a, data, sizeof(data));
		bool it = !strcmp(archive_entry_pathname(e), member);

		copy_member(w, e, data, (size_t)len, it ? old : NULL, new);
	}
	archive_write_close(w);
	archive_write_free(w);
	archive_read_free(a);
	memcpy(out, b, HEADER);
	for (int i = 0; i < 8; i++)
		out[16 + i] = (uint8_t)(used >> (8 * i));
	*size = HEADER + used;
	return out;
}
