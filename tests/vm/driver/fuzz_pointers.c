// SPDX-License-Identifier: MIT
/*
 * Kernel addresses in what a call returned: a word that was not there before and lies where the
 * kernel's own memory does (x86-64: from 0xffff800000000000 on). See fuzz.h.
 */
#include "fuzz.h"

#include <string.h>

/* Takes some pages of outputs; longer ones are memory that programs filled. */
static void take(uint64_t words[FZ_WATCHED], const struct fz *fz)
{
	memcpy(words, fz->arg_end - FZ_WATCHED_ARG * 8, FZ_WATCHED_ARG * 8);
	words += FZ_WATCHED_ARG;
	memcpy(words, fz->buf_start, FZ_WATCHED_BUF * 8);
	words += FZ_WATCHED_BUF;
	memcpy(words, fz->buf_end - FZ_WATCHED_END * 8, FZ_WATCHED_END * 8);
}

/*
 * The rest of a filling of 0xff is no address: there the upper half must have been written.
 * Addresses of text and modules have all bits of it set; those of the last page are errors.
 */
bool fz_kernel_address(uint64_t before, uint64_t after)
{
	if (before == after || after < 0xffff800000000000ull || after >= -4095ull)
		return false;
	return after >> 32 != UINT32_MAX || (before >> 32 != UINT32_MAX && after & 1u << 31);
}

void fz_watch(struct fz *fz)
{
	take(fz->before, fz);
}

uint64_t fz_leaked(struct fz *fz)
{
	uint64_t now[FZ_WATCHED];

	take(now, fz);
	for (unsigned int i = 0; i < FZ_WATCHED; i++)
		if (fz_kernel_address(fz->before[i], now[i]))
			return now[i];
	return 0;
}
