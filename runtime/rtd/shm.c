// SPDX-License-Identifier: MIT
/*
 * Clients' shared memory. The descriptor is kept, not a mapping: a client may shrink its file at
 * any time, and a read then ends short where a mapping would raise SIGBUS. Files of hugetlbfs
 * cannot be written by a descriptor; they are mapped, and reached through /proc/self/mem, which
 * fails without a signal as well.
 *
 * A region belongs to the user who mapped it: the key is (user, path).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "log.h"
#include "rtd.h"

/* ---- regions */

static void shm_close(struct rtd_shm *shm)
{
	if (shm->map)
		munmap(shm->map, shm->map_size);
	if (shm->fd >= 0)
		close(shm->fd);
	free(shm->path);
	free(shm);
}

/* Frees a region that was counted. */
static void shm_free(struct rtd *rtd, struct rtd_shm *shm)
{
	struct rtd_peer peer = shm->owner.peer;

	shm_close(shm);
	rtd_quota_give(rtd->quota, &peer, RTD_QUOTA_FILES, 1);
}

/* Called with the lock held. */
static struct rtd_shm *shm_find(struct rtd *rtd, const struct rtd_peer *peer, const char *path)
{
	struct rtd_shm *shm;

	TAILQ_FOREACH(shm, &rtd->shms, link)
		if (!strcmp(shm->path, path) && rtd_peer_same(&shm->owner.peer, peer))
			return shm;
	return NULL;
}

/* With the lock held. Returns true if the caller has to free it after unlocking. */
static bool shm_remove(struct rtd *rtd, struct rtd_shm *shm)
{
	TAILQ_REMOVE(&rtd->shms, shm, link);
	return !--shm->refs;
}

struct rtd_shm *rtd_shm_get(struct rtd *rtd, const struct rtd_peer *peer, const char *path)
{
	struct rtd_shm *shm;

	pthread_mutex_lock(&rtd->lock);
	shm = shm_find(rtd, peer, path);
	if (shm)
		shm->refs++;
	pthread_mutex_unlock(&rtd->lock);
	return shm;
}

void rtd_shm_put(struct rtd *rtd, struct rtd_shm *shm)
{
	bool last;

	pthread_mutex_lock(&rtd->lock);
	last = !--shm->refs;
	pthread_mutex_unlock(&rtd->lock);
	if (last)
		shm_free(rtd, shm);
}

/* ---- map */

/* The names that shm_open takes: a slash and a name */
static bool shm_name_ok(const char *path)
{
	return path[0] == '/' && path[1] && strlen(path) <= 255 && !strchr(path + 1, '/') &&
	       strcmp(path, "/.") && strcmp(path, "/..");
}

static int shm_open_file(const struct rtd_peer *peer, const char *path, bool huge, uint32_t prot)
{
	int flags = (prot & PROT_WRITE) ? O_RDWR : O_RDONLY;
	struct statfs fs;
	char file[300];
	int fd;

	if (!huge) {
		snprintf(file, sizeof(file), "/dev/shm%s", path);
		return rtd_peer_open(peer, file, flags | O_NOFOLLOW);
	}
	fd = rtd_peer_open(peer, path, flags);
	if (fd >= 0 && (fstatfs(fd, &fs) || fs.f_type != HUGETLBFS_MAGIC)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* Finds the size and, for huge pages, makes the mapping. */
static int shm_measure(struct rtd_shm *shm, bool huge, uint64_t huge_size)
{
	struct stat st;

	if (fstat(shm->fd, &st))
		return -errno;
	shm->size = huge ? huge_size : (uint64_t)st.st_size;
	if (!shm->size || shm->size > (uint64_t)st.st_size)
		return -EINVAL;
	if (!huge)
		return 0;
	/* whole pages of the file system: munmap accepts nothing else */
	shm->map_size = (shm->size + st.st_blksize - 1) / st.st_blksize * st.st_blksize;
	shm->map = mmap(NULL, shm->map_size, PROT_READ | (shm->writable ? PROT_WRITE : 0),
			MAP_SHARED, shm->fd, 0);
	if (shm->map == MAP_FAILED) {
		shm->map = NULL;
		return -errno;
	}
	return 0;
}

static struct rtd_shm *shm_new(const struct rtd_peer *peer, const char *path, uint64_t huge_size,
			       uint32_t prot, int *err)
{
	struct rtd_shm *shm = calloc(1, sizeof(*shm));

	*err = -ENOMEM;
	if (!shm)
		return NULL;

	shm->refs = 1;
	shm->owner.peer = *peer;
	shm->owner.peer.groups = NULL;
	shm->owner.peer.ngroups = 0;
	shm->writable = prot & PROT_WRITE;
	shm->path = strdup(path);
	shm->fd = -1;

	if (shm->path) {
		shm->fd = shm_open_file(peer, path, huge_size, prot);
		*err = shm->fd < 0 ? shm->fd : shm_measure(shm, huge_size, huge_size);
	}

	if (!*err)
		return shm;
	shm_close(shm);
	return NULL;
}

static int shm_error(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ? NERR_RESOURCE : NERR_INVALID;
}

int rtd_shm_map(struct rtd *rtd, const struct rtd_peer *peer, uint64_t session, const char *path,
		uint64_t huge_size, uint32_t prot, struct rtd_err *err)
{
	struct rtd_shm *shm, *old = NULL;
	bool live;
	int ret;

	if (!rtd->config->shmem_enabled)
		return rtd_fail(err, NERR_FAIL, "NMGR", "shared memory is switched off");
	if (!huge_size && !shm_name_ok(path))
		return rtd_fail(err, NERR_INVALID, "NMGR",
				"[%s] is not a shared memory name, expected /NAME", path);
	if (!prot || (prot & ~(PROT_READ | PROT_WRITE)))
		return rtd_fail(err, NERR_INVALID, "NMGR", "mmap_prot %u, expected 1, 2 or 3",
				prot);

	if (rtd_quota_claim(rtd->quota, peer, RTD_QUOTA_FILES, 1, "shared memory", err))
		return err->code;

	shm = shm_new(peer, path, huge_size, prot, &ret);
	if (!shm) {
		rtd_quota_give(rtd->quota, peer, RTD_QUOTA_FILES, 1);
		return rtd_fail(err, shm_error(ret), "NMGR",
				"Failed to open shared memory [%s] as the client: %s", path,
				strerror(-ret));
	}

	shm->owner.session = session;

	pthread_mutex_lock(&rtd->lock);
	live = rtd_session_live(rtd, session);
	if (live) {
		/* the name may have been used before, for a file that is gone */
		old = shm_find(rtd, peer, path);
		if (old && !shm_remove(rtd, old))
			old = NULL;
		TAILQ_INSERT_TAIL(&rtd->shms, shm, link);
	}
	pthread_mutex_unlock(&rtd->lock);
	if (old)
		shm_free(rtd, old);
	if (live)
		return NERR_OK;
	shm_free(rtd, shm);
	return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR", "the session has ended");
}

int rtd_shm_unmap(struct rtd *rtd, const struct rtd_peer *peer, const char *path,
		  struct rtd_err *err)
{
	struct rtd_shm *shm;
	bool last = false;

	pthread_mutex_lock(&rtd->lock);
	shm = shm_find(rtd, peer, path);
	if (shm)
		last = shm_remove(rtd, shm);
	pthread_mutex_unlock(&rtd->lock);
	if (!shm)
		return rtd_fail(err, NERR_INVALID_HANDLE, "NMGR",
				"Shared memory [%s] is not mapped", path);
	if (last)
		shm_free(rtd, shm);
	return NERR_OK;
}

void rtd_shm_drop(struct rtd *rtd, uint64_t session)
{
	struct rtd_shm *shm, *next;
	TAILQ_HEAD(, rtd_shm) gone = TAILQ_HEAD_INITIALIZER(gone);

	pthread_mutex_lock(&rtd->lock);
	for (shm = TAILQ_FIRST(&rtd->shms); shm; shm = next) {
		next = TAILQ_NEXT(shm, link);
		if ((!session || shm->owner.session == session) && shm_remove(rtd, shm))
			TAILQ_INSERT_TAIL(&gone, shm, link);
	}
	pthread_mutex_unlock(&rtd->lock);
	while ((shm = TAILQ_FIRST(&gone))) {
		TAILQ_REMOVE(&gone, shm, link);
		shm_free(rtd, shm);
	}
}

/* ---- data */

/* -EIO where the file ends early; *done: the bytes that were copied */
static int copy_whole(int fd, void *buf, size_t len, off_t at, bool write, size_t *done)
{
	char *p = buf;
	ssize_t n;

	for (*done = 0; *done < len; *done += n) {
		n = write ? pwrite(fd, p + *done, len - *done, at + *done)
			  : pread(fd, p + *done, len - *done, at + *done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int copy_mapped(struct rtd_shm *shm, void *buf, size_t len, bool write, size_t *done)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), err;

	*done = 0;
	if (fd < 0)
		return -errno;
	err = copy_whole(fd, buf, len, (off_t)(uintptr_t)shm->map, write, done);
	close(fd);
	return err;
}

int rtd_shm_read(struct rtd_shm *shm, void *buf, size_t len, size_t *done)
{
	return shm->map ? copy_mapped(shm, buf, len, false, done)
			: copy_whole(shm->fd, buf, len, 0, false, done);
}

int rtd_shm_write(struct rtd_shm *shm, const void *buf, size_t len)
{
	void *from = (void *)(uintptr_t)buf;
	size_t done;

	return shm->map ? copy_mapped(shm, from, len, true, &done)
			: copy_whole(shm->fd, from, len, 0, true, &done);
}
