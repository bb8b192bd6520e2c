/* SPDX-License-Identifier: MIT */
/*
 * Host memory of in-process chips. Its physical addresses are made up here: the process's own arena
 * lies at ARENA_BASE, that of each user of served chips in a place of its own from USER_BASE on,
 * and each pinned buffer of the caller gets a slot from PIN_BASE on. Memory that was given back
 * stays mapped, so a stray descriptor reads zeros or fails; it never faults the process.
 */
#include "emu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ARENA_BASE 0x100000000ull
#define ARENA_SIZE (32ull << 30)
#define ARENA_SIZE_MIN (1ull << 30)
/*
 * The process's host memory lies inside 44 bits, the smallest window on it that a generation has.
 */
#define USER_BASE (1ull << 40)
#define PIN_BASE (1ull << 43)
#define PIN_SHIFT 34
#define HUGE_PAGE (2u << 20)

/* First-fit allocator */

int emu_heap_init(struct emu_heap *heap, uint64_t size)
{
	heap->capacity = 16;
	heap->piece = calloc(heap->capacity, sizeof(*heap->piece));
	if (!heap->piece)
		return -ENOMEM;
	heap->piece[0] = (struct emu_piece){ 0, size };
	heap->count = 1;
	return 0;
}

void emu_heap_fini(struct emu_heap *heap)
{
	free(heap->piece);
	heap->piece = NULL;
}

static void piece_remove(struct emu_heap *heap, size_t i)
{
	memmove(&heap->piece[i], &heap->piece[i + 1], (heap->count - i - 1) * sizeof(*heap->piece));
	heap->count--;
}

/*
 * Inserts a free piece. There is always room for it: an allocation reserves what its release may
 * need.
 */
static void piece_insert(struct emu_heap *heap, size_t i, uint64_t start, uint64_t size)
{
	memmove(&heap->piece[i + 1], &heap->piece[i], (heap->count - i) * sizeof(*heap->piece));
	heap->piece[i] = (struct emu_piece){ start, size };
	heap->count++;
}

static int reserve(struct emu_heap *heap)
{
	struct emu_piece *p;

	/* every chunk in use adds at most one piece; the array grows well before that */
	if (heap->count * 2 + 8 < heap->capacity)
		return 0;
	p = realloc(heap->piece, heap->capacity * 4 * sizeof(*p));
	if (!p)
		return -ENOMEM;
	heap->piece = p;
	heap->capacity *= 4;
	return 0;
}

int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t align, uint64_t *start)
{
	if (reserve(heap))
		return -ENOMEM;
	for (size_t i = 0; i < heap->count; i++) {
		struct emu_piece *p = &heap->piece[i];
		uint64_t at = (p->start + align - 1) & ~(align - 1), head = at - p->start, tail;

		if (p->size < head || p->size - head < size)
			continue;
		tail = p->size - head - size;
		*start = at;
		if (head)
			p->size = head;
		else
			piece_remove(heap, i);
		if (tail)
			piece_insert(heap, head ? i + 1 : i, at + size, tail);
		return 0;
	}
	return -ENOMEM;
}

void emu_heap_free(struct emu_heap *heap, uint64_t start, uint64_t size)
{
	size_t i = 0;

	while (i < heap->count && heap->piece[i].start < start)
		i++;
	if (i && heap->piece[i - 1].start + heap->piece[i - 1].size == start) {
		heap->piece[--i].size += size;
	} else {
		if (heap->count == heap->capacity && reserve(heap))
			return; /* the range is lost until the machine closes, which does no harm */
		piece_insert(heap, i, start, size);
	}
	if (i + 1 < heap->count &&
	    heap->piece[i].start + heap->piece[i].size == heap->piece[i + 1].start) {
		heap->piece[i].size += heap->piece[i + 1].size;
		piece_remove(heap, i + 1);
	}
}

/* The arena */

int emu_host_init(struct emu_host *host)
{
	struct emu_arena *own = &host->arena[EMU_OWN];
	void *base;

	own->size = ARENA_SIZE;
	do {
		base = mmap(NULL, own->size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base != MAP_FAILED)
			break;
		own->size /= 2;
	} while (own->size >= ARENA_SIZE_MIN);
	if (base == MAP_FAILED)
		return -ENOMEM;
	own->base = base;
	own->fd = -1;
	pthread_rwlock_init(&host->lock, NULL);
	pthread_mutex_init(&host->heap_lock, NULL);
	return emu_heap_init(&own->heap, own->size);
}

void emu_host_fini(struct emu_host *host)
{
	for (unsigned int i = 0; i <= EMU_OWN; i++) {
		struct emu_arena *arena = &host->arena[i];

		if (!arena->base)
			continue;
		emu_heap_fini(&arena->heap);
		munmap(arena->base, i == EMU_OWN ? arena->size : EMU_USER_SPACE);
	}
	pthread_rwlock_destroy(&host->lock);
	pthread_mutex_destroy(&host->heap_lock);
}

uint64_t emu_host_base(unsigned int user)
{
	return user == EMU_OWN ? ARENA_BASE : USER_BASE + user * EMU_USER_SPACE;
}

/*
 * A user's place is reserved once and for all: what is mapped there changes under it, and a stray
 * access of a chip finds memory whenever it comes.
 */
static int place_reserve(struct emu_arena *arena)
{
	void *base;

	if (arena->base)
		return 0;
	base = mmap(NULL, EMU_USER_SPACE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	__atomic_store_n(&arena->base, base, __ATOMIC_RELEASE);
	return 0;
}

int emu_host_lend(struct emu_host *host, unsigned int user, int fd, uint64_t size,
		  uint64_t reserved)
{
	struct emu_arena *arena = &host->arena[user];
	int ret = size > EMU_USER_SPACE || reserved >= size ? -EINVAL : place_reserve(arena);

	if (!ret)
		ret = emu_heap_init(&arena->heap, size);
	if (ret)
		return ret;
	if (mmap(arena->base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		emu_heap_fini(&arena->heap);
		return -ENOMEM;
	}
	arena->heap.piece[0] = (struct emu_piece){ reserved, size - reserved };
	arena->size = size;
	arena->fd = fd;
	return 0;
}

void emu_host_unlend(struct emu_host *host, unsigned int user)
{
	struct emu_arena *arena = &host->arena[user];

	if (!arena->size)
		return;
	mmap(arena->base, arena->size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	emu_heap_fini(&arena->heap);
	arena->size = 0;
}

int emu_host_alloc(struct emu_host *host, unsigned int user, uint64_t size, uint64_t *addr,
		   void **ptr)
{
	struct emu_arena *arena = &host->arena[user];
	uint64_t start;
	int ret;

	pthread_mutex_lock(&host->heap_lock);
	ret = emu_heap_alloc(&arena->heap, size, EMU_PAGE, &start);
	pthread_mutex_unlock(&host->heap_lock);
	if (ret)
		return ret;
	*addr = emu_host_base(user) + start;
	*ptr = arena->base + start;
	return 0;
}

/* Pages of a file that others have mapped read zero only when they are punched out of it */
static void pages_drop(struct emu_arena *arena, uint64_t start, uint64_t size)
{
	if (arena->fd < 0)
		madvise(arena->base + start, size, MADV_DONTNEED);
	else if (fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
			   (off_t)size))
		memset(arena->base + start, 0, size);
}

void emu_host_free(struct emu_host *host, unsigned int user, uint64_t addr, uint64_t size)
{
	struct emu_arena *arena = &host->arena[user];
	uint64_t start = addr - emu_host_base(user);

	pages_drop(arena, start, size);
	pthread_mutex_lock(&host->heap_lock);
	emu_heap_free(&arena->heap, start, size);
	pthread_mutex_unlock(&host->heap_lock);
}

bool emu_host_has(struct emu_host *host, unsigned int user, const void *ptr, uint64_t len,
		  uint64_t *addr)
{
	const struct emu_arena *arena = &host->arena[user];
	uint64_t off = (uintptr_t)ptr - (uintptr_t)arena->base;

	*addr = emu_host_base(user) + off;
	return user != EMU_OWN && ndlx_range_ok(off, len, arena->size);
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
	const struct emu_arena *own = &host->arena[EMU_OWN];
	uint64_t slot, off;
	uint8_t *base;

	if (addr < USER_BASE) {
		off = addr - ARENA_BASE;
		return ndlx_range_ok(off, len, own->size) ? own->base + off : NULL;
	}
	if (addr < PIN_BASE) {
		slot = (addr - USER_BASE) / EMU_USER_SPACE;
		off = (addr - USER_BASE) % EMU_USER_SPACE;
		base = slot < EMU_OWN ? __atomic_load_n(&host->arena[slot].base, __ATOMIC_ACQUIRE)
				      : NULL;
		return base && ndlx_range_ok(off, len, EMU_USER_SPACE) ? base + off : NULL;
	}
	slot = (addr - PIN_BASE) >> PIN_SHIFT;
	off = addr & ((1ull << PIN_SHIFT) - 1);
	if (slot >= EMU_PINS || !ndlx_range_ok(off, len, host->pin[slot].len))
		return NULL;
	return host->pin[slot].ptr + off;
}

/* Is [p, p + len) the first that is stored of a huge page of the buffer, or of the buffer? */
static bool begins_huge_page(const struct emu_pin *pin, const uint8_t *p, uint64_t len)
{
	const uintptr_t first = (uintptr_t)p, last = first + len - 1;

	return p == pin->ptr || (first - 1) / HUGE_PAGE != last / HUGE_PAGE;
}

/*
 * The host clears a huge page towards the place of its first access, from its start on when that is
 * its last byte; AMD's processors take 2.5 times as long the other way round. Adding nothing is no
 * store that others see.
 */
static void touch_huge_page(const struct emu_pin *pin, uint8_t *p, uint64_t len)
{
	uint8_t *last = (uint8_t *)((uintptr_t)(p + len - 1) | (HUGE_PAGE - 1));

	if (last < pin->ptr + pin->len)
		__atomic_fetch_add(last, 0, __ATOMIC_RELAXED);
}

/*
 * A word is stored in one piece and after everything before it, because the host polls the phase of
 * notifications.
 */
static void host_write(uint8_t *p, const void *buf, uint64_t len)
{
	uint32_t word;

	if (len != sizeof(word) || (uintptr_t)p % sizeof(word)) {
		ncore_copy_sparse(p, buf, len);
		return;
	}
	memcpy(&word, buf, sizeof(word));
	__atomic_store_n((uint32_t *)(void *)p, word, __ATOMIC_RELEASE);
}

/* Zeros may not be stored at all: no page is taken for what begins with them. */
static void pin_write(const struct emu_pin *pin, uint8_t *p, const void *buf, uint64_t len)
{
	uint64_t word = 0;

	if (len >= EMU_PAGE && begins_huge_page(pin, p, len))
		memcpy(&word, buf, sizeof(word));
	if (word)
		touch_huge_page(pin, p, len);
	host_write(p, buf, len);
}

int emu_host_rw(struct emu_host *host, uint64_t addr, void *buf, uint64_t len, bool write)
{
	bool pinned = addr >= PIN_BASE;
	uint8_t *p;

	if (pinned)
		pthread_rwlock_rdlock(&host->lock);
	p = host_ptr(host, addr, len);
	if (p && write && pinned)
		pin_write(&host->pin[(addr - PIN_BASE) >> PIN_SHIFT], p, buf, len);
	else if (p && write)
		host_write(p, buf, len);
	else if (p && pinned)
		ncore_copy_past(buf, p, len);
	else if (p)
		ncore_copy_sparse(buf, p, len);
	if (pinned)
		pthread_rwlock_unlock(&host->lock);
	return p ? 0 : -EFAULT;
}

bool emu_host_valid(struct emu_host *host, unsigned int user, uint64_t addr, uint64_t len)
{
	return ndlx_range_ok(addr - emu_host_base(user), len, host->arena[user].size);
}
