/* SPDX-License-Identifier: MIT */
/* Memory as a sealed file (sealed.h) */
#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ITS_SIZE (F_SEAL_SHRINK | F_SEAL_GROW)

static int unsealed(const char *name, uint64_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int seal(int fd, int seals)
{
	int ret = fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SEAL) ? -errno : 0;

	if (ret)
		close(fd);
	return ret ? ret : fd;
}

int sealed_new(const char *name, uint64_t size)
{
	int fd = unsealed(name, size);

	return fd < 0 ? fd : seal(fd, ITS_SIZE);
}

int sealed_new_shown(const char *name, uint64_t size, void **ptr)
{
	int fd = unsealed(name, size), ret;

	if (fd < 0)
		return fd;
	*ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ptr == MAP_FAILED) {
		ret = -errno;
		close(fd);
		return ret;
	}
	ret = seal(fd, ITS_SIZE | F_SEAL_FUTURE_WRITE); /* what is mapped stays writable */
	if (ret < 0)
		munmap(*ptr, size);
	return ret;
}

void *sealed_map(int fd, uint64_t size, bool write)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    (uint64_t)st.st_size < size) {
		errno = EINVAL;
		return NULL;
	}
	p = mmap(NULL, size, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED | MAP_NORESERVE, fd,
		 0);
	return p == MAP_FAILED ? NULL : p;
}
