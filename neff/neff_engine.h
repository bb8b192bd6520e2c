/* SPDX-License-Identifier: MIT */
/* Private to libneff: the JSON of an engine as text (neff_engine.c). */
#ifndef NEFF_ENGINE_H
#define NEFF_ENGINE_H

#include "neff_gzip.h"
#include "neff_priv.h"

/* Appends it to what is there, and a 0 that does not count. 0 or -ENOMEM */
int neff_engine_text(const struct neff_subgraph *sg, unsigned int eng, struct neff_bytes *to);

#endif
