/* SPDX-License-Identifier: MIT */
/* Declarations of serve.c's parts: a call under way, and its words, data and files */
#ifndef EMUD_SERVE_H
#define EMUD_SERVE_H

#include "emud.h"

struct serve {
	struct emud_channel *channel;
	ndlx_device_t *dev; /* the call's; NULL for a call that needs none */
	uint64_t *arg;
};

struct emud_op {
	int (*call)(struct serve *s); /* NULL: of the other table */
	bool device; /* needs one that is open */
};

/* serve_chip.c: queues, cores, and what is kept of them */
extern const struct emud_op emud_chip_ops[WIRE_OPS];

static inline struct emu_machine *machine(const struct serve *s)
{
	return s->channel->client->machine;
}

static inline uint8_t user(const struct serve *s)
{
	return s->channel->client->user;
}

/* A number of things that a call's data may have */
static inline bool fits(uint64_t count, size_t each)
{
	return count <= WIRE_DATA / each;
}

/* Do the first words fit 32 bits? */
static inline bool narrow(const uint64_t *arg, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (arg[i] > UINT32_MAX)
			return false;
	return true;
}

/* serve_data.c */
/* The call's data, which nobody changes any more; NULL: too much, or no memory */
void *emud_data_copy(const struct serve *s, uint64_t size);
void emud_data_out(const struct serve *s, const void *p, size_t size);
/* Sends a file beside the answer. The socket is the client's own to fill: then it gets none. */
int emud_send_file(const struct serve *s, int fd);

#endif
