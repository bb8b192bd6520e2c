/* SPDX-License-Identifier: GPL-2.0-only */
/* Marks, locks and initialisation of cores, neuron_crwl.c. */
#ifndef NEURON_CRWL_H
#define NEURON_CRWL_H

#include <linux/types.h>

struct neuron_device;
struct neuron_uuid;

int neuron_crwl_reader_enter(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_reader_exit(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_writer_enter(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_writer_downgrade(struct neuron_device *nd, u32 nc, const u8 *uuid);
void neuron_crwl_drop(struct neuron_device *nd, pid_t tgid);
u8 neuron_crwl_held(struct neuron_device *nd, pid_t tgid, struct neuron_uuid *uuids,
		    unsigned int n);
int neuron_mark(struct neuron_device *nd, u32 count, u32 start, u32 end, u32 *max_available,
		unsigned long *bitmap, unsigned int bits);
void neuron_unmark(struct neuron_device *nd, const unsigned long *bitmap, unsigned int bits);
void neuron_unmark_all(pid_t tgid);
void neuron_marks_drop(struct neuron_device *nd);
bool neuron_marked(void); /* does any process mark a core? */
unsigned int neuron_marks_over(void); /* how often the last mark has gone */
int neuron_cinit_set(struct neuron_device *nd, u32 nc, u32 state, u32 *new_state);

#endif
