/* SPDX-License-Identifier: MIT */
/*
 * libndl's served backend, memory. Host memory lies in the file that the process shares with the
 * server, where it reads and writes it itself; what a chip's memory takes and gives goes through a
 * channel's data. A chunk of device memory that is mapped is a file of its own; those that are
 * copied to and from many times are mapped for that, so that an execution's tensors take no call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hal.h"
#include "served.h"

#define VIEW_COPIES 16 /* after so many a chunk is mapped; it takes the chips a short rest */
#define VIEW_SIZE_MAX (64ull << 20)
#define VIEWS_MAX 512 /* of a chip: each is a mapping here and two in the server */

static int call(ndlx_device_t *dev, struct wire_call *c)
{
	return served_call(served_device(dev)->m, c, NULL);
}

/* The process's memory by this handle; size 0: nothing */
static struct served_chunk chunk_get(struct served_chip *chip, uint64_t handle)
{
	struct served_chunk c = { 0 };

	pthread_mutex_lock(&chip->lock);
	if (handle < chip->chunks)
		c = chip->chunk[handle];
	pthread_mutex_unlock(&chip->lock);
	return c;
}

bool served_chunk_known(struct served_chip *chip, uint64_t handle)
{
	return chunk_get(chip, handle).size;
}

/* One user less; the last one ends the mapping. The chip's lock is held. */
static void view_put(struct served_view *view)
{
	if (!view || --view->users)
		return;
	munmap(view->va, view->size);
	free(view);
}

/* Room for a handle's chunk; the chip's lock is held. */
static int chunk_reserve(struct served_chip *chip, uint64_t handle)
{
	const uint64_t capacity = (handle + 1) * 2;
	struct served_chunk *list;

	if (handle < chip->chunks)
		return 0;
	list = realloc(chip->chunk, capacity * sizeof(*list));
	if (!list)
		return -ENOMEM;
	memset(list + chip->chunks, 0, (capacity - chip->chunks) * sizeof(*list));
	chip->chunk = list;
	chip->chunks = capacity;
	return 0;
}

static int chunk_put(struct served_chip *chip, uint64_t handle, struct served_chunk c)
{
	int ret = 0;

	pthread_mutex_lock(&chip->lock);
	if (c.size)
		ret = chunk_reserve(chip, handle);
	if (!ret && handle < chip->chunks) {
		chip->views -= !!chip->chunk[handle].view;
		view_put(chip->chunk[handle].view);
		chip->chunk[handle] = c;
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

void served_chunks_drop(struct served_chip *chip)
{
	for (uint64_t h = 0; h < chip->chunks; h++)
		view_put(chip->chunk[h].view);
	free(chip->chunk);
	chip->chunk = NULL;
	chip->chunks = 0;
	chip->views = 0;
}

int served_mem_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *p, uint64_t *handle)
{
	struct wire_call *c =
		CALL(dev, .op = WIRE_ALLOC,
		     .arg = { p->size, p->align, p->host, p->channel, p->region, p->nc, p->type });
	int ret = call(dev, c);

	if (ret)
		return ret;
	ret = chunk_put(served_device(dev)->chip, c->arg[0],
			(struct served_chunk){ .addr = c->arg[1], .size = c->arg[2] });
	if (ret)
		call(dev, CALL(dev, .op = WIRE_FREE, .arg = { c->arg[0] }));
	else
		*handle = c->arg[0];
	return ret;
}

/* Forgotten before the server has it, who may give the handle to another thread at once */
int served_mem_free(ndlx_device_t *dev, uint64_t handle)
{
	chunk_put(served_device(dev)->chip, handle, (struct served_chunk){ 0 });
	return call(dev, CALL(dev, .op = WIRE_FREE, .arg = { handle }));
}

int served_mem_info(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size)
{
	struct served_chunk chunk = chunk_get(served_device(dev)->chip, handle);
	struct wire_call *c = CALL(dev, .op = WIRE_INFO, .arg = { handle });
	int ret = chunk.size ? 0 : call(dev, c);

	*pa = chunk.size ? chunk.addr : c->arg[0];
	*size = chunk.size ? chunk.size : c->arg[1];
	return ret;
}

/* Host memory of the process; NULL: it is none */
static uint8_t *host_of(const ndlx_device_t *dev, const struct served_chunk *c)
{
	const struct served *m = served_device(dev)->m;
	uint64_t off;

	if (!nhal_addr_is_host(dev->gen, c->addr))
		return NULL;
	off = nhal_host_physical(dev->gen, c->addr) - m->physical;
	return ndlx_range_ok(off, c->size, m->size) ? m->base + off : NULL;
}

/* Has the server put a file in the place of a chunk of device memory, and maps it. */
static int share(ndlx_device_t *dev, uint64_t handle, uint64_t size, void **va)
{
	int fd, ret;

	ret = served_call_fd(served_device(dev)->m, CALL(dev, .op = WIRE_SHARE, .arg = { handle }),
			     &fd);
	if (ret)
		return ret;
	*va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ret = *va == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret)
		*va = NULL;
	else
		madvise(*va, size, MADV_DONTFORK);
	return ret;
}

static int map_shared(ndlx_device_t *dev, uint64_t handle, uint64_t size, void **va)
{
	struct served_device *d = served_device(dev);
	struct served_mapping *mapping = malloc(sizeof(*mapping));
	int ret = mapping ? share(dev, handle, size, va) : -ENOMEM;

	if (ret) {
		free(mapping);
		return ret;
	}
	pthread_mutex_lock(&d->lock);
	*mapping = (struct served_mapping){ d->mappings, *va, size };
	d->mappings = mapping;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int served_mem_map(ndlx_device_t *dev, uint64_t handle, void **va)
{
	struct served_chunk c = chunk_get(served_device(dev)->chip, handle);

	if (!c.size)
		return call(dev, CALL(dev, .op = WIRE_INFO, .arg = { handle })) ?: -EINVAL;
	*va = host_of(dev, &c);
	return *va ? 0 : map_shared(dev, handle, c.size, va);
}

static int unmap(struct served_device *d, void *va)
{
	struct served_mapping **p, *mapping;

	pthread_mutex_lock(&d->lock);
	for (p = &d->mappings; *p && (*p)->va != va; p = &(*p)->next)
		;
	mapping = *p;
	if (mapping)
		*p = mapping->next;
	pthread_mutex_unlock(&d->lock);
	if (!mapping)
		return -EINVAL;
	munmap(mapping->va, mapping->size);
	free(mapping);
	return 0;
}

void served_unmap_all(ndlx_device_t *dev)
{
	while (served_device(dev)->mappings)
		unmap(served_device(dev), served_device(dev)->mappings->va);
}

int served_mem_unmap(ndlx_device_t *dev, uint64_t handle, void *va)
{
	struct served_chunk c = chunk_get(served_device(dev)->chip, handle);

	if (c.size && host_of(dev, &c))
		return host_of(dev, &c) == va ? 0 : -EINVAL;
	return unmap(served_device(dev), va);
}

/* The view of a chunk, with one user more; NULL: there is none (yet) */
static struct served_view *view_get(ndlx_device_t *dev, uint64_t handle, bool *wanted)
{
	struct served_chip *chip = served_device(dev)->chip;
	struct served_view *view = NULL;
	struct served_chunk *c;

	*wanted = false;
	pthread_mutex_lock(&chip->lock);
	if (handle < chip->chunks) {
		c = &chip->chunk[handle];
		view = c->view;
		if (view)
			view->users++;
		else
			*wanted = served_device(dev)->m->direct && ++c->copies == VIEW_COPIES &&
				  c->size <= VIEW_SIZE_MAX && chip->views < VIEWS_MAX;
	}
	pthread_mutex_unlock(&chip->lock);
	return view;
}

/* Makes a view of a chunk that is still what it was; without one copies go on by calls. */
static void view_make(ndlx_device_t *dev, uint64_t handle, const struct served_chunk *was)
{
	struct served_chip *chip = served_device(dev)->chip;
	struct served_view *view = malloc(sizeof(*view));
	void *va;

	if (!view || share(dev, handle, was->size, &va)) {
		free(view);
		return;
	}
	*view = (struct served_view){ va, was->size, 1 };
	pthread_mutex_lock(&chip->lock);
	if (handle < chip->chunks && chip->chunk[handle].addr == was->addr &&
	    chip->chunk[handle].size == was->size && !chip->chunk[handle].view) {
		chip->chunk[handle].view = view;
		chip->views++;
	} else {
		view_put(view);
	}
	pthread_mutex_unlock(&chip->lock);
}

static void place_put(ndlx_device_t *dev, struct served_view *view)
{
	struct served_chip *chip = served_device(dev)->chip;

	if (!view)
		return;
	pthread_mutex_lock(&chip->lock);
	view_put(view);
	pthread_mutex_unlock(&chip->lock);
}

/* Where a chunk's bytes are in this process, until place_put; NULL: they are not */
static uint8_t *place_get(ndlx_device_t *dev, uint64_t handle, const struct served_chunk *c,
			  struct served_view **view)
{
	uint8_t *host = host_of(dev, c);
	bool wanted;

	*view = NULL;
	if (host)
		return host;
	*view = view_get(dev, handle, &wanted);
	if (wanted)
		view_make(dev, handle, c);
	/* another thread may have freed the chunk meanwhile, and its handle be another one's */
	if (*view && (*view)->size != c->size) {
		place_put(dev, *view);
		*view = NULL;
	}
	return *view ? (*view)->va : NULL;
}

/* A side of a copy between chunks */
struct side {
	uint64_t handle, offset;
	struct served_chunk chunk;
	struct served_view *view;
};

static bool copy_here(ndlx_device_t *dev, struct side *from, struct side *to, uint64_t size)
{
	const uint8_t *src = place_get(dev, from->handle, &from->chunk, &from->view);
	uint8_t *dst = place_get(dev, to->handle, &to->chunk, &to->view);
	const bool here = src && dst;

	if (here)
		memmove(dst + to->offset, src + from->offset, size);
	place_put(dev, from->view);
	place_put(dev, to->view);
	return here;
}

/* In pieces, so that other clients copy in between */
static int copy_there(ndlx_device_t *dev, const struct side *from, const struct side *to,
		      uint64_t size)
{
	uint64_t done = 0, n;
	int ret = 0;

	do {
		n = size - done < WIRE_PIECE ? size - done : WIRE_PIECE;
		ret = call(dev, CALL(dev, .op = WIRE_COPY,
				     .arg = { from->handle, to->handle, from->offset + done,
					      to->offset + done, n }));
		done += n;
	} while (!ret && done < size);
	return ret;
}

int served_mem_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size)
{
	struct served_chip *chip = served_device(dev)->chip;
	struct side from = { src, src_offset, chunk_get(chip, src), NULL };
	struct side to = { dst, dst_offset, chunk_get(chip, dst), NULL };

	/* what names no chunk, the server refuses */
	if (!from.chunk.size || !to.chunk.size)
		return copy_there(dev, &from, &to, size);
	/* all of it or nothing, though it goes in pieces */
	if (!ndlx_range_ok(src_offset, size, from.chunk.size) ||
	    !ndlx_range_ok(dst_offset, size, to.chunk.size))
		return -EINVAL;
	if (atomic_load_explicit(&served_device(dev)->m->dead, memory_order_relaxed))
		return -ENODEV;
	return copy_here(dev, &from, &to, size) ? 0 : copy_there(dev, &from, &to, size);
}

static int buf_piece(ndlx_device_t *dev, struct wire_call *c, uint8_t *buf, bool to_device)
{
	const struct served_data data = {
		.in = to_device ? buf : NULL,
		.in_size = to_device ? c->arg[2] : 0,
		.out = to_device ? NULL : buf,
		.out_size = to_device ? 0 : c->arg[2],
	};

	return served_call(served_device(dev)->m, c, &data);
}

int served_buf_copy(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset, uint64_t size,
		    bool to_device, bool zerocopy)
{
	struct served_chunk c = chunk_get(served_device(dev)->chip, handle);
	struct served_view *view;
	uint64_t done = 0, n;
	uint8_t *place;
	int ret = 0;

	if (!c.size)
		return call(dev, CALL(dev, .op = WIRE_INFO, .arg = { handle })) ?: -EINVAL;
	if (!ndlx_range_ok(offset, size, c.size))
		return -EINVAL;
	/* what is mapped stays when the server is gone */
	if (atomic_load_explicit(&served_device(dev)->m->dead, memory_order_relaxed))
		return -ENODEV;
	place = place_get(dev, handle, &c, &view);
	if (place) {
		place += offset;
		memcpy(to_device ? (void *)place : buf, to_device ? buf : (void *)place, size);
		place_put(dev, view);
		return 0;
	}
	for (; !ret && done < size; done += n) {
		n = size - done < WIRE_DATA ? size - done : WIRE_DATA;
		ret = buf_piece(dev,
				CALL(dev, .op = WIRE_BUF,
				     .arg = { handle, offset + done, n, to_device }),
				(uint8_t *)buf + done, to_device);
	}
	return ret;
}

int served_mem_set(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
		   uint64_t size)
{
	const struct served_chunk c = chunk_get(served_device(dev)->chip, handle);
	uint64_t done = 0, n;
	int ret = 0;

	if (c.size && !ndlx_range_ok(offset, size, c.size))
		return -EINVAL;
	do {
		n = size - done < WIRE_PIECE ? size - done : WIRE_PIECE;
		ret = call(dev,
			   CALL(dev, .op = WIRE_SET, .arg = { handle, offset + done, value, n }));
		done += n;
	} while (!ret && done < size);
	return ret;
}

int served_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		      uint64_t size)
{
	uint64_t done = 0, n;
	int ret = 0;

	for (; !ret && done < size; done += n) {
		n = size - done < WIRE_DATA ? size - done : WIRE_DATA;
		ret = buf_piece(dev,
				CALL(dev, .op = WIRE_CORE_WRITE, .arg = { nc, address + done, n }),
				(uint8_t *)(uintptr_t)buf + done, true);
	}
	return ret;
}

/* Datastores */

static int nds_fetch(ndlx_device_t *dev, int pid, bool own, void **data)
{
	struct served *m = served_device(dev)->m;
	int fd, ret;

	ret = served_call_fd(m, CALL(dev, .op = WIRE_NDS_OPEN, .arg = { (uint64_t)(unsigned)pid }),
			     &fd);
	if (ret)
		return ret;
	*data = mmap(NULL, NDS_ENTRY_SIZE, PROT_READ | (own ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	ret = *data == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret || !own)
		return ret;
	/* from now on others may have it, to read */
	ret = call(dev, CALL(dev, .op = WIRE_NDS_SEAL));
	if (ret)
		munmap(*data, NDS_ENTRY_SIZE);
	return ret;
}

int served_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size)
{
	struct served_chip *chip = served_device(dev)->chip;
	int ret = 0;

	*size = NDS_ENTRY_SIZE;
	if (pid && pid != getpid())
		return nds_fetch(dev, pid, false, data);
	pthread_mutex_lock(&chip->lock);
	if (!chip->nds)
		ret = nds_fetch(dev, 0, true, &chip->nds);
	if (ret)
		chip->nds = NULL;
	else
		chip->nds_users++;
	*data = chip->nds;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int served_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size)
{
	struct served_chip *chip = served_device(dev)->chip;
	int ret = 0;

	if (!data)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	if (data != chip->nds) {
		ret = pid && pid != getpid() ? 0 : -EINVAL;
		if (!ret)
			munmap(data, NDS_ENTRY_SIZE);
	} else if (!--chip->nds_users) {
		munmap(chip->nds, NDS_ENTRY_SIZE);
		chip->nds = NULL;
		ret = call(dev, CALL(dev, .op = WIRE_NDS_CLOSE));
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}
