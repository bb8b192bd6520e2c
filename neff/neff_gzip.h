/* SPDX-License-Identifier: MIT */
/* A NEFF's payload as a gzip stream in memory. Private to neff_write.c and neff_gzip.c. */
#ifndef NEFF_GZIP_H
#define NEFF_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct neff_bytes {
	uint8_t *data;
	size_t size, capacity;
};
/* Makes room for n bytes more; 0 or -ENOMEM */
int neff_bytes_reserve(struct neff_bytes *b, size_t n);

struct neff_gzip;
/* Appends to it; store: nothing is packed. NULL: no memory */
struct neff_gzip *neff_gzip_new(struct neff_bytes *to, bool store);
void neff_gzip_free(struct neff_gzip *g);
/* A member of these bytes comes next: stored or packed? All these return 0 or -ENOMEM. */
int neff_gzip_member(struct neff_gzip *g, const void *data, size_t n);
int neff_gzip_write(struct neff_gzip *g, const void *data, size_t n);
int neff_gzip_finish(struct neff_gzip *g);

#endif
