/* SPDX-License-Identifier: MIT */
/*
 * The archive in a file, unpacked into memory: every name and size is checked before memory is
 * taken for it (neff_read.h). Called by neff_read.c.
 */
#include "neff_read.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#define READ_CHUNK (1u << 20)
#define MEMBER_CAPACITY 4096u /* bytes that a member's first allocation has */
/* Names that libneff knows are shorter; they are not bytes of the payload, which is bounded */
#define MEMBER_NAME_MAX 255

/* A member's name if it is relative and has no "..", without a leading "./"; else NULL */
static const char *clean_name(const char *name)
{
	const char *p;

	while (name[0] == '.' && name[1] == '/')
		name += 2;
	if (name[0] == '/')
		return NULL;
	for (p = name; *p; p = strchr(p, '/') ? strchr(p, '/') + 1 : p + strlen(p))
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2]))
			return NULL;
	return name;
}

static struct neff_member *member_new(struct neff_reader *r, const char *name)
{
	struct neff_member *m;

	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? r->capacity * 2 : 32;

		m = realloc(r->members, capacity * sizeof(*m));
		if (!m)
			return NULL;
		r->members = m;
		r->capacity = capacity;
	}
	m = &r->members[r->count];
	memset(m, 0, sizeof(*m));
	m->name = strdup(name);
	if (!m->name)
		return NULL;
	r->count++;
	return m;
}

static bool is_json(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".json");
}

/* Gives back the memory that a member did not fill. */
static int member_end(struct neff_reader *r, struct neff_member *m, size_t capacity)
{
	size_t size = m->size ? m->size : 1;
	uint8_t *p = realloc(m->data, size);

	if (!p)
		return neff_nomem(r->err);
	m->data = p;
	neff_give(r, capacity - size);
	return 0;
}

/* The declared size is only a hint: memory grows with the bytes that arrive. */
static int member_data(struct neff_reader *r, struct archive *a, struct neff_member *m)
{
	size_t capacity = 0;

	for (;;) {
		la_ssize_t n;

		if (m->size == capacity) {
			uint8_t *p;

			if (neff_take(r, capacity ? capacity : MEMBER_CAPACITY))
				return -ENOMEM;
			capacity = capacity ? capacity * 2 : MEMBER_CAPACITY;
			p = realloc(m->data, capacity);
			if (!p)
				return neff_nomem(r->err);
			m->data = p;
		}

		if (neff_stop(&r->limits, r->err))
			return -ECANCELED;
		n = archive_read_data(a, m->data + m->size,
				      capacity - m->size < READ_CHUNK ? capacity - m->size
								      : READ_CHUNK);
		if (n < 0)
			return neff_fail(r->err, "%.160s: %.80s", m->name,
					 archive_error_string(a) ?: "cannot unpack");
		if (!n)
			return member_end(r, m, capacity);

		m->size += (size_t)n;
		r->unpacked += (uint64_t)n;
		r->json += is_json(m->name) ? (uint64_t)n : 0;

		if (r->json > r->limits.max_json)
			return neff_fail(r->err, "%.160s: more than %llu bytes of JSON", m->name,
					 (unsigned long long)r->limits.max_json);
		if (r->unpacked > r->limits.max_payload)
			return neff_fail(r->err, "%.160s: payload unpacks to more than %llu bytes",
					 m->name, (unsigned long long)r->limits.max_payload);
	}
}

static int member_read(struct neff_reader *r, struct archive *a, struct archive_entry *e)
{
	const char *raw = archive_entry_pathname(e), *name = raw ? clean_name(raw) : NULL;
	struct neff_member *m;

	if (!name)
		return neff_fail(r->err,
				 "payload: member name '%.160s' is absolute or leaves the archive",
				 raw ? raw : "");

	if (strlen(name) > MEMBER_NAME_MAX)
		return neff_fail(r->err, "%.160s: a member's name of more than %d bytes", name,
				 MEMBER_NAME_MAX);
	if (archive_entry_filetype(e) == AE_IFDIR)
		return archive_entry_size(e)
			       ? neff_fail(r->err, "%.160s: a directory with bytes", name)
			       : 0;
	if (archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) ||
	    archive_entry_symlink(e))
		return neff_fail(r->err, "%.160s: not a regular file", name);

	if (!*name)
		return neff_fail(r->err, "payload: a member has no name");
	if (archive_entry_size_is_set(e) &&
	    (archive_entry_size(e) < 0 || (uint64_t)archive_entry_size(e) > r->limits.max_payload))
		return neff_fail(r->err, "%.160s: size %lld is over the limit", name,
				 (long long)archive_entry_size(e));
	m = member_new(r, name);
	return m ? member_data(r, a, m) : neff_nomem(r->err);
}

int neff_payload_read(struct neff_reader *r, struct archive *a, struct neff_source *source,
		      size_t at, size_t end)
{
	struct archive_entry *e;
	unsigned int seen = 0;
	int ret;

	if (archive_read_support_filter_gzip(a) != ARCHIVE_OK ||
	    archive_read_support_format_tar(a) != ARCHIVE_OK)
		return neff_nomem(r->err);

	ret = neff_source_open(source, a, at, end);
	if (ret != ARCHIVE_OK && archive_errno(a) == ENOMEM)
		return neff_nomem(r->err);
	if (ret != ARCHIVE_OK)
		return neff_fail(r->err, "payload: %.160s",
				 archive_error_string(a) ?: "cannot unpack");

	for (;;) {
		ret = archive_read_next_header(a, &e);
		if (ret == ARCHIVE_EOF)
			return 0;
		if (ret != ARCHIVE_OK)
			return neff_fail(r->err, "payload: after %u members: %.160s", seen,
					 archive_error_string(a) ?: "cannot unpack");
		if (++seen > r->limits.max_members)
			return neff_fail(r->err, "payload: more than %u members",
					 r->limits.max_members);
		ret = member_read(r, a, e);
		if (ret)
			return ret;
	}
}

static int name_order(const void *a, const void *b)
{
	return strcmp(((const struct neff_member *)a)->name, ((const struct neff_member *)b)->name);
}

int neff_members_index(struct neff_reader *r)
{
	if (!r->count)
		return neff_fail(r->err, "payload: no members");
	qsort(r->members, r->count, sizeof(*r->members), name_order);
	for (size_t i = 1; i < r->count; i++)
		if (!strcmp(r->members[i].name, r->members[i - 1].name))
			return neff_fail(r->err, "%.160s: two members of this name",
					 r->members[i].name);
	return 0;
}

struct neff_member *neff_member_find(struct neff_reader *r, const char *name)
{
	struct neff_member key = { .name = (char *)name };

	return bsearch(&key, r->members, r->count, sizeof(key), name_order);
}
