// SPDX-License-Identifier: MIT
/*
 * Compiled programs on disk, for other processes and later ones:
 *
 *   DIRECTORY/neuronxcc-VERSION/MODULE_FINGERPRINT/model.neff
 *
 * The fingerprint is of all that the NEFF depends on (digest.c), so an entry never changes. It is
 * written beside its place and renamed; of two writers the last one wins, with the same bytes.
 * Readers refresh its time, and a writer removes what was not used for longest when all together is
 * too much.
 *
 * DIRECTORY is the option cache_dir's, NEURON_COMPILE_CACHE_URL's if that is a path, else the
 * default; the default alone is shared by users, so only one of this user's own is believed.
 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "neuron_version.h"

#define DEFAULT_DIR "/var/tmp/neuron-compile-cache"
#define WORTH_MS 20 /* of the default directory: what is compiled faster is not worth a file */
#define MAX_BYTES ((int64_t)4 << 30) /* NEURON_PJRT_CACHE_BYTES says another number */
#define MAX_NEFF ((int64_t)4 << 30)
#define ROOM 1024 /* of a path */

/* The directory of all, or NULL: nothing is kept */
static const char *directory(const PJRT_Executable *x, bool *by_default)
{
	const char *dir = x->options.cache_dir;
	struct stat st;

	*by_default = false;
	if (x->options.no_cache)
		return NULL;
	if (!dir)
		dir = getenv("NEURON_COMPILE_CACHE_URL");
	if (dir && !strncmp(dir, "file://", 7))
		dir += 7;
	if (dir && *dir)
		return strstr(dir, "://") ? NULL : dir;
	*by_default = true;
	if (mkdir(DEFAULT_DIR, 0700) && errno != EEXIST)
		return NULL;
	if (lstat(DEFAULT_DIR, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 022)
		return NULL;
	return DEFAULT_DIR;
}

static bool path(const PJRT_Executable *x, const char *file, char *text, bool *by_default)
{
	const char *dir = directory(x, by_default);

	return dir && snprintf(text, ROOM, "%s/neuronxcc-%s/MODULE_%s%s", dir,
			       NEURON_EMULATOR_VERSION, x->fingerprint, file) < ROOM;
}

bool npj_cache_read(const PJRT_Executable *x, struct npj_blob *neff)
{
	bool by_default, whole = false;
	char name[ROOM];
	struct stat st;
	size_t n = 0;
	int fd;

	if (!path(x, "/model.neff", name, &by_default))
		return false;
	/* a pipe of this name must not be waited for */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= MAX_NEFF) {
		neff->size = (size_t)st.st_size;
		neff->data = malloc(neff->size);
		while (neff->data && n < neff->size) {
			ssize_t got = read(fd, (char *)neff->data + n, neff->size - n);

			if (got <= 0)
				break;
			n += (size_t)got;
		}
		whole = neff->data && n == neff->size;
		futimens(fd, NULL); /* it was used now */
	}
	close(fd);
	if (!whole) {
		free(neff->data);
		*neff = npj_blob(NULL, 0);
	}
	return whole;
}

static bool make_directories(char *name)
{
	for (char *p = name + 1; (p = strchr(p, '/')); p++) {
		bool ok;

		*p = 0;
		ok = !mkdir(name, 0777) || errno == EEXIST;
		*p = '/';
		if (!ok)
			return false;
	}
	return true;
}

/* An entry, when entries are removed */
struct entry {
	struct timespec used;
	int64_t bytes;
	char name[80];
};

static int older(const void *a, const void *b)
{
	const struct timespec *s = &((const struct entry *)a)->used;
	const struct timespec *t = &((const struct entry *)b)->used;

	if (s->tv_sec != t->tv_sec)
		return s->tv_sec < t->tv_sec ? -1 : 1;
	return s->tv_nsec < t->tv_nsec ? -1 : s->tv_nsec > t->tv_nsec;
}

static size_t list(int fd, struct entry **entries, int64_t *total)
{
	DIR *d = fdopendir(fd);
	size_t n = 0, room = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char file[sizeof(e->d_name) + 16];
		struct stat st;

		if (strncmp(e->d_name, "MODULE_", 7) ||
		    strlen(e->d_name) >= sizeof((*entries)->name))
			continue;
		snprintf(file, sizeof(file), "%s/model.neff", e->d_name);
		if (fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (n == room) {
			struct entry *more =
				realloc(*entries, (room = 2 * room + 64) * sizeof(*more));

			if (!more)
				break;
			*entries = more;
		}
		(*entries)[n] = (struct entry){ st.st_mtim, st.st_size, "" };
		strcpy((*entries)[n++].name, e->d_name);
		*total += st.st_size;
	}
	if (d)
		closedir(d);
	return n;
}

static int64_t limit(void)
{
	const char *text = getenv("NEURON_PJRT_CACHE_BYTES");
	char *end;
	long long n = text ? strtoll(text, &end, 10) : -1;

	return n >= 0 && !*end ? n : MAX_BYTES;
}

/* Removes what was not used for longest, until a tenth below the limit: not again at each write */
static void bound(const char *version_dir)
{
	int fd = open(version_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct entry *entries = NULL;
	int64_t total = 0, most = limit();
	char file[ROOM + 96];
	size_t n;

	if (fd < 0)
		return;
	n = list(fd, &entries, &total);
	if (total > most) {
		qsort(entries, n, sizeof(*entries), older);
		for (size_t i = 0; i < n && total > most - most / 10; i++) {
			snprintf(file, sizeof(file), "%s/%s/model.neff", version_dir,
				 entries[i].name);
			unlink(file);
			snprintf(file, sizeof(file), "%s/%s", version_dir, entries[i].name);
			rmdir(file);
			total -= entries[i].bytes;
		}
	}
	free(entries);
}

static bool write_whole(int fd, const struct npj_blob *b)
{
	for (size_t n = 0; n < b->size;) {
		ssize_t put = write(fd, (const char *)b->data + n, b->size - n);

		if (put <= 0)
			return false;
		n += (size_t)put;
	}
	return true;
}

/* Its name, if one that took so long to compile is kept */
static bool wanted(const PJRT_Executable *x, int64_t took_ms, char name[ROOM])
{
	bool by_default;

	return path(x, "/model.neff", name, &by_default) && (!by_default || took_ms >= WORTH_MS);
}

bool npj_cache_wants(const PJRT_Executable *x, int64_t took_ms)
{
	char name[ROOM];

	return wanted(x, took_ms, name);
}

void npj_cache_write(const PJRT_Executable *x, int64_t took_ms)
{
	char name[ROOM], temporary[ROOM + 16];
	bool ok;
	int fd;

	if (!x->neff.size || !wanted(x, took_ms, name) || !make_directories(name))
		return;
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return;
	ok = write_whole(fd, &x->neff) && !fchmod(fd, 0644);
	ok = !close(fd) && ok;
	if (!ok || rename(temporary, name)) {
		unlink(temporary);
		return;
	}
	*strrchr(name, '/') = 0;
	*strrchr(name, '/') = 0;
	bound(name);
}

void npj_cache_drop(const PJRT_Executable *x)
{
	char name[ROOM];
	bool by_default;

	if (path(x, "/model.neff", name, &by_default))
		unlink(name);
}
