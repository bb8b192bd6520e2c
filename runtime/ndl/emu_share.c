/* SPDX-License-Identifier: MIT */
/*
 * Device memory that a served user maps. A chip's DRAM is memory of the server alone; of a chunk
 * that its owner asks to map, the pages are moved into a file of their own, which takes their
 * place, so that the owner is given this chunk and nothing else.
 */
#include "emu.h"

#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A chunk's file. Half of the descriptors are kept for connections. */
static int chunk_file_new(uint64_t size)
{
	int fd = sealed_new("neuron-memory", size);
	struct rlimit files;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &files) || (rlim_t)fd < files.rlim_cur / 2)
		return fd;
	close(fd);
	return -EMFILE;
}

/* Moves what is there into the file, and the file in its place. Nothing writes there meanwhile. */
static int move(const struct emu_chunk *c, int fd)
{
	void *p = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	ncore_copy_sparse(p, c->ptr, c->size);
	if (mremap(p, c->size, c->size, MREMAP_MAYMOVE | MREMAP_FIXED, c->ptr) != MAP_FAILED)
		return 0;
	munmap(p, c->size);
	return -ENOMEM;
}

/* Neighbours write to each other, so that all chips rest; copies of the host rest with them. */
static int move_at_rest(struct emu_machine *m, const struct emu_chunk *c, int fd)
{
	int ret;

	for (int i = 0; i < m->nchips; i++)
		ncore_chip_pause(m->chip[i].core);
	ret = move(c, fd);
	for (int i = 0; i < m->nchips; i++)
		ncore_chip_resume(m->chip[i].core);
	return ret;
}

int emu_mem_share(ndlx_device_t *dev, uint64_t handle, int *fd)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c && c->host)
		ret = -EINVAL;
	if (!ret && !c->fd && chip->seat[c->user].files == EMU_USER_FILES)
		ret = -EMFILE;
	if (!ret && !c->fd) {
		int made = chunk_file_new(c->size);

		ret = made < 0 ? made : move_at_rest(chip->machine, c, made);
		if (!ret) {
			c->fd = made;
			chip->seat[c->user].files++;
		} else if (made >= 0) {
			close(made);
		}
	}
	if (!ret)
		*fd = c->fd;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}
