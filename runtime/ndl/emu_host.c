/* SPDX-License-Identifier: MIT */
/*
 * Host memory of in-process chips. Its physical addresses are made up here: the arena lies at
 * ARENA_BASE, and each pinned buffer of the caller gets a slot of its own from PIN_BASE on. Memory
 * that was given back stays mapped, so a stray descriptor reads zeros or fails; it never faults the
 * process.
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ARENA_BASE 0x100000000ull
#define ARENA_SIZE (32ull << 30)
#define ARENA_SIZE_MIN (1ull << 30)
/* All of it lies inside 44 bits, the smallest window on host memory that a generation has. */
#define PIN_BASE (1ull << 43)
#define PIN_SHIFT 34

/* First-fit pool */

int emu_pool_init(struct emu_pool *pool, uint64_t size)
{
	pool->room = 16;
	pool->piece = calloc(pool->room, sizeof(*pool->piece));
	if (!pool->piece)
		return -ENOMEM;
	pool->piece[0] = (struct emu_piece){ 0, size };
	pool->count = 1;
	return 0;
}

void emu_pool_fini(struct emu_pool *pool)
{
	free(pool->piece);
	pool->piece = NULL;
}

static void piece_remove(struct emu_pool *pool, size_t i)
{
	memmove(&pool->piece[i], &pool->piece[i + 1], (pool->count - i - 1) * sizeof(*pool->piece));
	pool->count--;
}

/*
 * Inserts a free piece. There is always room for it: an allocation reserves what its release may
 * need.
 */
static void piece_insert(struct emu_pool *pool, size_t i, uint64_t start, uint64_t size)
{
	memmove(&pool->piece[i + 1], &pool->piece[i], (pool->count - i) * sizeof(*pool->piece));
	pool->piece[i] = (struct emu_piece){ start, size };
	pool->count++;
}

static int reserve(struct emu_pool *pool)
{
	struct emu_piece *p;

	/* every chunk in use adds at most one piece; the array grows well before that */
	if (pool->count * 2 + 8 < pool->room)
		return 0;
	p = realloc(pool->piece, pool->room * 4 * sizeof(*p));
	if (!p)
		return -ENOMEM;
	pool->piece = p;
	pool->room *= 4;
	return 0;
}

int emu_pool_alloc(struct emu_pool *pool, uint64_t size, uint64_t align, uint64_t *start)
{
	if (reserve(pool))
		return -ENOMEM;
	for (size_t i = 0; i < pool->count; i++) {
		struct emu_piece *p = &pool->piece[i];
		uint64_t at = (p->start + align - 1) & ~(align - 1), head = at - p->start, tail;

		if (p->size < head || p->size - head < size)
			continue;
		tail = p->size - head - size;
		*start = at;
		if (head)
			p->size = head;
		else
			piece_remove(pool, i);
		if (tail)
			piece_insert(pool, head ? i + 1 : i, at + size, tail);
		return 0;
	}
	return -ENOMEM;
}

void emu_pool_free(struct emu_pool *pool, uint64_t start, uint64_t size)
{
	size_t i = 0;

	while (i < pool->count && pool->piece[i].start < start)
		i++;
	if (i && pool->piece[i - 1].start + pool->piece[i - 1].size == start) {
		pool->piece[--i].size += size;
	} else {
		if (pool->count == pool->room && reserve(pool))
			return; /* the range is lost until the machine closes, which does no harm */
		piece_insert(pool, i, start, size);
	}
	if (i + 1 < pool->count &&
	    pool->piece[i].start + pool->piece[i].size == pool->piece[i + 1].start) {
		pool->piece[i].size += pool->piece[i + 1].size;
		piece_remove(pool, i + 1);
	}
}

/* The arena */

int emu_host_init(struct emu_host *host)
{
	host->arena_size = ARENA_SIZE;
	do {
		host->arena = mmap(NULL, host->arena_size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (host->arena != MAP_FAILED)
			break;
		host->arena_size /= 2;
	} while (host->arena_size >= ARENA_SIZE_MIN);
	if (host->arena == MAP_FAILED)
		return -ENOMEM;
	pthread_rwlock_init(&host->lock, NULL);
	pthread_mutex_init(&host->pool_lock, NULL);
	return emu_pool_init(&host->pool, host->arena_size);
}

void emu_host_fini(struct emu_host *host)
{
	emu_pool_fini(&host->pool);
	munmap(host->arena, host->arena_size);
	pthread_rwlock_destroy(&host->lock);
	pthread_mutex_destroy(&host->pool_lock);
}

int emu_host_alloc(struct emu_host *host, uint64_t size, uint64_t align, uint64_t *addr, void **ptr)
{
	uint64_t start;
	int ret;

	pthread_mutex_lock(&host->pool_lock);
	ret = emu_pool_alloc(&host->pool, size, align, &start);
	pthread_mutex_unlock(&host->pool_lock);
	if (ret)
		return ret;
	*addr = ARENA_BASE + start;
	*ptr = host->arena + start;
	return 0;
}

void emu_host_free(struct emu_host *host, uint64_t addr, uint64_t size)
{
	madvise(host->arena + (addr - ARENA_BASE), size, MADV_DONTNEED);
	pthread_mutex_lock(&host->pool_lock);
	emu_pool_free(&host->pool, addr - ARENA_BASE, size);
	pthread_mutex_unlock(&host->pool_lock);
}

int emu_host_pin(struct emu_host *host, void *ptr, uint64_t len, uint64_t *addr)
{
	int ret = -EBUSY;

	if (len >> PIN_SHIFT)
		return -EINVAL;
	pthread_rwlock_wrlock(&host->lock);
	for (unsigned int i = 0; i < EMU_PINS; i++) {
		if (host->pin[i].len)
			continue;
		host->pin[i] = (struct emu_pin){ ptr, len };
		*addr = PIN_BASE + ((uint64_t)i << PIN_SHIFT);
		ret = 0;
		break;
	}
	pthread_rwlock_unlock(&host->lock);
	return ret;
}

void emu_host_unpin(struct emu_host *host, uint64_t addr)
{
	pthread_rwlock_wrlock(&host->lock);
	host->pin[(addr - PIN_BASE) >> PIN_SHIFT].len = 0;
	pthread_rwlock_unlock(&host->lock);
}

/* The memory behind [addr, addr + len); NULL if it is not mapped. The lock is held for pins. */
static uint8_t *host_ptr(struct emu_host *host, uint64_t addr, uint64_t len)
{
	uint64_t slot, off;

	if (addr >= ARENA_BASE && addr < PIN_BASE) {
		off = addr - ARENA_BASE;
		return ndl_range_ok(off, len, host->arena_size) ? host->arena + off : NULL;
	}
	if (addr < PIN_BASE)
		return NULL;
	slot = (addr - PIN_BASE) >> PIN_SHIFT;
	off = addr & ((1ull << PIN_SHIFT) - 1);
	if (slot >= EMU_PINS || !ndl_range_ok(off, len, host->pin[slot].len))
		return NULL;
	return host->pin[slot].ptr + off;
}

/*
 * A word is stored in one piece and after everything before it, because the host polls the phase of
 * notifications.
 */
static void host_write(uint8_t *p, const void *buf, uint64_t len)
{
	uint32_t word;

	if (len != sizeof(word) || (uintptr_t)p % sizeof(word)) {
		memcpy(p, buf, len);
		return;
	}
	memcpy(&word, buf, sizeof(word));
	__atomic_store_n((uint32_t *)(void *)p, word, __ATOMIC_RELEASE);
}

int emu_host_rw(struct emu_host *host, uint64_t addr, void *buf, uint64_t len, bool write)
{
	bool pinned = addr >= PIN_BASE;
	uint8_t *p;

	if (pinned)
		pthread_rwlock_rdlock(&host->lock);
	p = host_ptr(host, addr, len);
	if (p && write)
		host_write(p, buf, len);
	else if (p)
		ncore_copy_sparse(buf, p, len);
	if (pinned)
		pthread_rwlock_unlock(&host->lock);
	return p ? 0 : -EFAULT;
}

bool emu_host_valid(struct emu_host *host, uint64_t addr, uint64_t len)
{
	return addr < PIN_BASE && host_ptr(host, addr, len);
}
