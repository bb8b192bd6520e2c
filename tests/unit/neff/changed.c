// SPDX-License-Identifier: MIT
/* A file with one member changed (changed.h) */
#include "changed.h"

#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 1024
#define MOST (1 << 18) /* bytes of a member */

static struct archive *opened(const uint8_t *file, size_t n)
{
	struct archive *a = archive_read_new();

	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	ck_assert_int_eq(archive_read_open_memory(a, file + HEADER, n - HEADER), ARCHIVE_OK);
	return a;
}

char *neff_member(const uint8_t *file, size_t n, const char *member, size_t *len)
{
	struct archive *a = opened(file, n);
	char *data = malloc(MOST);
	struct archive_entry *e;

	ck_assert_ptr_nonnull(data);
	*len = 0;
	while (!*len && archive_read_next_header(a, &e) == ARCHIVE_OK)
		if (!strcmp(archive_entry_pathname(e), member))
			*len = (size_t)archive_read_data(a, data, MOST);
	archive_read_free(a);
	ck_assert_msg(*len, "no member %s", member);
	return data;
}

uint8_t *neff_with_member(const uint8_t *file, size_t n, const char *member, const char *text,
			  size_t len, size_t *size)
{
	struct archive *a = opened(file, n), *w = archive_write_new();
	size_t used, capacity = 8u << 20;
	uint8_t *out = calloc(1, capacity);
	static char data[MOST];
	struct archive_entry *e;

	archive_write_set_format_ustar(w);
	archive_write_open_memory(w, out + HEADER, capacity - HEADER, &used);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		size_t had = (size_t)archive_read_data(a, data, sizeof(data));
		bool it = !strcmp(archive_entry_pathname(e), member);

		archive_entry_set_size(e, (la_int64_t)(it ? len : had));
		ck_assert_int_eq(archive_write_header(w, e), ARCHIVE_OK);
		archive_write_data(w, it ? text : data, it ? len : had);
	}
	archive_write_close(w);
	archive_write_free(w);
	archive_read_free(a);
	memcpy(out, file, HEADER);
	for (int i = 0; i < 8; i++)
		out[16 + i] = (uint8_t)(used >> (8 * i));
	*size = HEADER + used;
	return out;
}

uint8_t *neff_changed(const uint8_t *file, size_t n, const char *member, const char *old,
		      const char *new, size_t *size)
{
	size_t len, cut = strlen(old), add = strlen(new), head;
	char *data = neff_member(file, n, member, &len), *at = memmem(data, len, old, cut), *text;
	uint8_t *out;

	ck_assert_msg(at, "no '%s' in %s", old, member);
	head = (size_t)(at - data);
	text = malloc(len - cut + add);
	ck_assert_ptr_nonnull(text);
	memcpy(text, data, head);
	memcpy(text + head, new, add);
	memcpy(text + head + add, at + cut, len - head - cut);
	out = neff_with_member(file, n, member, text, len - cut + add, size);
	free(text);
	free(data);
	return out;
}
