/* SPDX-License-Identifier: GPL-2.0-only */
/* Mappings of chunks, neuron_mmap.c. */
#ifndef NEURON_MMAP_H
#define NEURON_MMAP_H

#include <linux/fs.h>

struct neuron_mc;

void neuron_mmap_on_end(void (*end)(struct vm_area_struct *vma));
int neuron_mmap(struct file *file, struct vm_area_struct *vma);
int neuron_mmap_placement(u64 va, int *index, unsigned int *memory);
/* Finds the caller's own chunk that is mapped at [va, va + size), with a reference */
struct neuron_mc *neuron_mmap_chunk(u64 va, u64 size, u64 *offset);
struct neuron_mc *neuron_mmap_chunk_locked(u64 va, u64 size, u64 *offset); /* mmap_lock held */

#endif
