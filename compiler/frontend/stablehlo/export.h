/* SPDX-License-Identifier: MIT */
/* Private to the StableHLO front end: the artifact in what jax.export writes around it */
#ifndef NCC_STABLEHLO_EXPORT_H
#define NCC_STABLEHLO_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

/* false: it is none */
bool export_find(const void *buf, size_t size, const void **artifact, size_t *artifact_size);

#endif
