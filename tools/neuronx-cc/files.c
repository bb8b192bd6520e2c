// SPDX-License-Identifier: MIT
/* The files of neuronx-cc: models as a whole, what lies beside them, and results. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int files_read(const char *path, void **buf, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	size_t cap = 1 << 16;

	if (!f)
		return -errno;
	if (!fstat(fileno(f), &st) && S_ISDIR(st.st_mode)) {
		fclose(f);
		return -EISDIR;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0)
		cap = (size_t)st.st_size + 1;
	*size = 0;
	*buf = NULL;
	for (;;) {
		void *p = realloc(*buf, cap);
		size_t n;

		if (!p)
			break;
		*buf = p;
		n = fread((char *)p + *size, 1, cap - *size, f);
		*size += n;
		if (*size < cap) {
			int rc = ferror(f) ? -EIO : 0;

			fclose(f);
			return rc;
		}
		cap *= 2;
	}
	fclose(f);
	return -ENOMEM;
}

static int write_all(int fd, const void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)buf + done, size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/* A pipe or a device is written to, never replaced by a file */
static int write_special(const char *path, const void *buf, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = write_all(fd, buf, size);
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

int files_write(const char *path, const void *buf, size_t size)
{
	char *tmp = NULL;
	mode_t mask = umask(0);
	struct stat st;
	int fd, rc;

	umask(mask);
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_special(path, buf, size);
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(tmp);
	if (fd < 0) {
		rc = -errno;
		free(tmp);
		return rc;
	}
	rc = write_all(fd, buf, size);
	if (!rc && fchmod(fd, 0666 & ~mask))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(tmp, path))
		rc = -errno;
	if (rc)
		unlink(tmp);
	free(tmp);
	return rc;
}

/* ---- Files beside the model */

struct files_mapping {
	struct files_mapping *next;
	char *location;
	void *data; /* NULL: an empty file */
	size_t size;
};

void files_beside(struct files_beside *b, const char *model)
{
	const char *slash = strrchr(model, '/');

	*b = (struct files_beside){ .model = model,
				    .dir_size = slash ? (size_t)(slash - model) + 1 : 0 };
}

/* The error for a component that is no directory: -ELOOP for a symbolic link */
static int no_directory(int dir, const char *component)
{
	struct stat st;

	return !fstatat(dir, component, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode) ? -ELOOP
											 : -ENOTDIR;
}

/* A directory further down: no symbolic link is followed. Takes dir */
static int enter(int dir, const char *name, size_t size)
{
	char component[NAME_MAX + 1];
	int next = -ENAMETOOLONG;

	if (size <= NAME_MAX) {
		memcpy(component, name, size);
		component[size] = 0;
		next = openat(dir, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			next = errno == ENOTDIR ? no_directory(dir, component) : -errno;
	}
	close(dir);
	return next;
}

/* A regular file at a location, from the model's directory on; -ELOOP: a symbolic link */
static int open_below(const struct files_beside *b, const char *location)
{
	char *path = strndup(b->dir_size ? b->model : ".", b->dir_size ? b->dir_size : 1);
	int dir, fd;

	if (!path)
		return -ENOMEM;
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (dir < 0)
		return -errno;
	for (size_t n; (n = strcspn(location, "/")), location[n]; location += n + 1) {
		dir = enter(dir, location, n);
		if (dir < 0)
			return dir;
	}
	/* no waiting for a pipe's other end */
	fd = openat(dir, location, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

static int map(struct files_mapping *m, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	m->size = (size_t)st.st_size;
	if (!m->size)
		return 0;
	m->data = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->data == MAP_FAILED)
		return -errno;
	return 0;
}

static int add(struct files_beside *b, const char *location)
{
	struct files_mapping *m;
	int fd = open_below(b, location), rc;

	if (fd < 0)
		return fd;
	m = calloc(1, sizeof(*m));
	if (m)
		m->location = strdup(location);
	rc = m && m->location ? map(m, fd) : -ENOMEM;
	close(fd);
	if (rc) {
		if (m)
			free(m->location);
		free(m);
		return rc;
	}
	m->next = b->mapping;
	b->mapping = m;
	return 0;
}

int files_beside_get(struct files_beside *b, const char *location, const void **data, size_t *size)
{
	struct files_mapping *m;
	int rc;

	for (m = b->mapping; m && strcmp(m->location, location);)
		m = m->next;
	if (!m) {
		rc = add(b, location);
		if (rc)
			return rc;
		m = b->mapping;
	}
	*data = m->data;
	*size = m->size;
	return 0;
}

void files_beside_free(struct files_beside *b)
{
	struct files_mapping *m;

	while ((m = b->mapping)) {
		b->mapping = m->next;
		if (m->data)
			munmap(m->data, m->size);
		free(m->location);
		free(m);
	}
}
