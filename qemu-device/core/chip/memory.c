/* SPDX-License-Identifier: MIT */
/*
 * The chip's memories: DRAM, SBUF and PSUM, from the host's alloc_mem or from mmap. Sparse and
 * never reserved; clearing gives the pages back instead of writing gigabytes.
 */
#include "chip.h"

#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define LINE 64
#define UNLIKE_MIN 2048 /* bytes: memcpy() does less as others do */
#define PAST_MIN (16u << 10) /* bytes: less is soon needed again, or not worth its fence */

int ncore_mem_alloc(struct ncore_chip *chip, const char *name, uint64_t size, struct ncore_mem *mem)
{
	void *p = NULL;
	int ret;

	snprintf(mem->name, sizeof(mem->name), "%s", name);
	mem->size = size;
	mem->fd = -1;
	if (chip->ops->alloc_mem) {
		ret = chip->ops->alloc_mem(chip->cfg.opaque, mem->name, size, &p, &mem->fd);
		if (ret)
			return ret;
	} else {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return -ENOMEM;
	}
	mem->ptr = p;
	/* This is advice that a host may ignore: an instruction touches 128 partitions far apart. */
	madvise(p, size, MADV_HUGEPAGE);
	return 0;
}

void ncore_mem_free(struct ncore_chip *chip, struct ncore_mem *mem)
{
	if (!mem->ptr)
		return;
	if (chip->ops->alloc_mem) {
		if (chip->ops->free_mem)
			chip->ops->free_mem(chip->cfg.opaque, mem->name, mem->ptr, mem->size,
					    mem->fd);
	} else {
		munmap(mem->ptr, mem->size);
	}
	mem->ptr = NULL;
}

/* Private pages read zero after MADV_DONTNEED, shared ones only when their file is punched */
static bool punch(struct ncore_mem *mem)
{
	volatile uint8_t *probe = mem->ptr;

	if (mem->fd >= 0)
		return !fallocate(mem->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				  (off_t)mem->size);
	*probe = 1;
	if (madvise(mem->ptr, mem->size & ~(uint64_t)(PAGE - 1), MADV_DONTNEED))
		return false;
	if (*probe)
		return false;
	memset(mem->ptr + (mem->size & ~(uint64_t)(PAGE - 1)), 0, mem->size & (PAGE - 1));
	return true;
}

void ncore_mem_clear(struct ncore_chip *chip, struct ncore_mem *mem)
{
	if (!punch(mem))
		memset(mem->ptr, 0, mem->size);
	ncore_mem_dirty(chip, mem, mem->ptr, mem->size);
}

/* Most pages are not: their first word says so without a call for each */
static bool is_zero(const uint8_t *p, const uint8_t *zeros, uint64_t n)
{
	uint64_t first = 0;

	memcpy(&first, p, n < sizeof(first) ? n : sizeof(first));
	return !first && !memcmp(p, zeros, n);
}

/* past: behind the caches; the caller fences. */
__attribute__((target("avx"))) static void store_lines(uint8_t *to, const uint8_t *from, uint64_t n,
						       bool past)
{
	const uint64_t head = -(uintptr_t)to % LINE;
	uint64_t at;

	memcpy(to, from, head);
	for (at = head; n - at >= LINE; at += LINE) {
		const __m256i a = _mm256_loadu_si256((const void *)(from + at));
		const __m256i b = _mm256_loadu_si256((const void *)(from + at + LINE / 2));
		__m256i *line = (void *)(to + at);

		if (past) {
			_mm256_stream_si256(&line[0], a);
			_mm256_stream_si256(&line[1], b);
		} else {
			_mm256_store_si256(&line[0], a);
			_mm256_store_si256(&line[1], b);
		}
	}
	memcpy(to + at, from + at, n - at);
}

/*
 * memcpy() of glibc 2.36 copies much by `rep movsb`, which on AMD's processors since Zen 3 takes
 * two to five times as long between places that are not alike within a line: a page here and a
 * NumPy array's there (github.com/microsoft/STL, issue 5658).
 */
static bool is_unlike(const uint8_t *to, const uint8_t *from, uint64_t n)
{
	return n >= UNLIKE_MIN && ((uintptr_t)to - (uintptr_t)from) % (LINE / 2) &&
	       __builtin_cpu_supports("avx");
}

static inline void store(uint8_t *to, const uint8_t *from, uint64_t n, bool past)
{
	if (n >= LINE && (past || is_unlike(to, from, n)))
		store_lines(to, from, n, past);
	else
		memcpy(to, from, n);
}

/*
 * What another thread stores at the same time comes behind our zeros, as if they had been stored
 * when they were found there. Not longer than a page: a buffer of the core's that nobody has filled
 * yet. A page is stored when it has been looked at: going through all of them first is a second
 * stream of reads, which takes a processor a fifth longer. past: what others see stored later was
 * stored behind this.
 */
static inline void copy(void *dst, const void *src, uint64_t len, bool past)
{
	static const uint8_t zeros[PAGE];
	const uint8_t *from = src;
	uint8_t *to = dst;
	uint64_t at, n;

	past = past && len >= PAST_MIN;
	for (at = 0; at < len; at += n) {
		n = len <= PAGE ? len : PAGE - ((uintptr_t)to + at) % PAGE;
		n = n < len - at ? n : len - at;
		if (len <= PAGE || !is_zero(from + at, zeros, n) || !is_zero(to + at, zeros, n))
			store(to + at, from + at, n, past);
	}
	if (past)
		_mm_sfence();
}

void ncore_copy_sparse(void *dst, const void *src, uint64_t len)
{
	copy(dst, src, len, false);
}

void ncore_copy_past(void *dst, const void *src, uint64_t len)
{
	copy(dst, src, len, __builtin_cpu_supports("avx"));
}

void ncore_mem_copy(void *dst, const void *src, uint64_t len)
{
	const uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;

	if (to < from + len && from < to + len)
		memmove(dst, src, len);
	else
		ncore_copy_sparse(dst, src, len);
}

void ncore_mem_dirty(struct ncore_chip *chip, const struct ncore_mem *mem, const void *ptr,
		     uint64_t len)
{
	if (chip->ops->mark_dirty)
		chip->ops->mark_dirty(chip->cfg.opaque, mem->name,
				      (uint64_t)((const uint8_t *)ptr - mem->ptr), len);
}

void ncore_mem_reset(struct ncore_chip *chip, struct ncore_mem *mem)
{
	if (!chip->cfg.nan_fill) {
		ncore_mem_clear(chip, mem);
		return;
	}
	memset(mem->ptr, 0xff, mem->size); /* This pattern is a NaN in every floating type. */
	ncore_mem_dirty(chip, mem, mem->ptr, mem->size);
}
