// SPDX-License-Identifier: MIT
/*
 * Opening paths without magic links: by openat2, or component by component where there is no
 * openat2
 */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40 /* the kernel's own limit */

/* ---- by hand */

struct walk {
	int dir; /* the directory that the walk has reached */
	unsigned int links;
	char rest[PATH_MAX]; /* the path from there on */
};

static int walk_to(struct walk *w, int dir)
{
	if (dir < 0)
		return -errno;
	if (w->dir >= 0)
		close(w->dir);
	w->dir = dir;
	return 0;
}

static int walk_root(struct walk *w)
{
	return walk_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes the next component off the path; false if there is none. */
static bool walk_next(struct walk *w, char name[NAME_MAX + 1])
{
	char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(name, from, len);
	name[len] = 0;
	from += len;
	memmove(w->rest, from, strlen(from) + 1);
	return true;
}

/* Puts the target of a symbolic link before what is left of the path. */
static int walk_link(struct walk *w, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	struct statfs fs;
	ssize_t len;
	int n;

	if (fstatfs(link, &fs))
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC || ++w->links > MAX_LINKS)
		return -ELOOP;
	len = readlinkat(link, "", target, sizeof(target) - 1);
	if (len <= 0)
		return len ? -errno : -ENOENT;
	target[len] = 0;
	memcpy(rest, w->rest, sizeof(rest));
	n = snprintf(w->rest, sizeof(w->rest), "%s%s", target, rest);
	if (n >= (int)sizeof(w->rest))
		return -ENAMETOOLONG;
	return target[0] == '/' ? walk_root(w) : 0;
}

/* Walks one component that is not the last: a directory or a symbolic link. */
static int walk_step(struct walk *w, const char *name)
{
	int err, fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
	} else if (S_ISLNK(st.st_mode)) {
		err = walk_link(w, fd);
	} else if (!S_ISDIR(st.st_mode)) {
		err = -ENOTDIR;
	} else {
		return walk_to(w, fd);
	}
	close(fd);
	return err;
}

/* Opens the last component; if it is a symbolic link, *fd stays -1 and the walk goes on. */
static int walk_last(struct walk *w, const char *name, int flags, int *fd)
{
	int err, link;

	*fd = openat(w->dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	if (errno != ELOOP || (flags & O_NOFOLLOW))
		return -errno;
	link = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (link < 0)
		return -errno;
	err = walk_link(w, link);
	close(link);
	return err;
}

static int walk_open(const char *path, int flags)
{
	struct walk w = { .dir = -1 };
	char name[NAME_MAX + 1];
	int err, fd = -1;

	if (strlen(path) >= sizeof(w.rest))
		return -ENAMETOOLONG;
	strcpy(w.rest, path);
	err = walk_root(&w);
	while (!err && fd < 0) {
		if (!walk_next(&w, name))
			err = -ENOENT;
		else if (*w.rest)
			err = walk_step(&w, name);
		else
			err = walk_last(&w, name, flags, &fd);
	}
	if (w.dir >= 0)
		close(w.dir);
	return err ? err : fd;
}

/* ---- either way */

static int plain_open(const char *path, int flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	int fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* a filter of system calls that is older than the call answers EPERM */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return walk_open(path, flags);
	return fd < 0 ? -errno : fd;
}

int rtd_path_open(const char *path, int flags)
{
	struct statfs fs;
	struct stat st;
	int fd, err = 0;

	if (path[0] != '/')
		return -EINVAL;
	/*
	 * a FIFO must not block the daemon, and a terminal must not become its controlling terminal
	 */
	fd = plain_open(path, flags | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || fs.f_type == PROC_SUPER_MAGIC)
		err = -EINVAL;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
