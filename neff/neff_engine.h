/* SPDX-License-Identifier: MIT */
/* Private to libneff: the JSON of an engine as text, written (neff_engine.c) and read
 * (neff_quick.c) */
#ifndef NEFF_ENGINE_H
#define NEFF_ENGINE_H

#include "neff_gzip.h"
#include "neff_priv.h"

/* Appends it to what is there, and a 0 that does not count. 0 or -ENOMEM */
int neff_engine_text(const struct neff_subgraph *sg, unsigned int eng, struct neff_bytes *to);

/*
 * Reads the engine's DMAs from a text that is like that. False: it is not, or is wrong, or there is
 * no memory; then nothing has changed. sg has its variables and queues.
 */
bool neff_engine_quick(const char *text, size_t size, const struct neuron_target *target,
		       struct neff_subgraph *sg, unsigned int eng);

#endif
