/* SPDX-License-Identifier: MIT */
/* Bytes that the caller gets and gives back by a function that it is given: free */
#ifndef NPJ_BYTES_H
#define NPJ_BYTES_H

#include <stdlib.h>
#include <string.h>

/* A copy, which is what the deleter takes; NULL: no memory */
static inline void *npj_bytes(const void *from, size_t n, const char **bytes, size_t *size)
{
	char *copy = malloc(n ? n : 1);

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, from, n);
	*bytes = copy;
	*size = n;
	return copy;
}

#endif
