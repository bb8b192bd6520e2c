/* SPDX-License-Identifier: MIT */
/* For tests of files that are not as a writer makes them */
#ifndef NEFF_CHANGED_H
#define NEFF_CHANGED_H

#include <stddef.h>
#include <stdint.h>

/*
 * A NEFF's file, uncompressed, with the first `old` of the member that is named replaced; asserts
 * that there is one. The caller frees it
 */
uint8_t *neff_changed(const uint8_t *file, size_t n, const char *member, const char *old,
		      const char *new, size_t *size);

/* A member's bytes, which the caller frees; asserts that it is there */
char *neff_member(const uint8_t *file, size_t n, const char *member, size_t *len);
/* A NEFF's file, uncompressed, with other bytes for the member that is named. The caller frees it */
uint8_t *neff_with_member(const uint8_t *file, size_t n, const char *member, const char *text,
			  size_t len, size_t *size);

#endif
