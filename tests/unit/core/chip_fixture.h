/* SPDX-License-Identifier: MIT */
/*
 * One or more chips with a host memory that is an arena of the test, which the core's unit tests
 * drive. Everything goes through the chip's public interface (ncore.h), as a driver would do it.
 */
#ifndef CHIP_FIXTURE_H
#define CHIP_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "../check_main.h"
#include "ncore.h"
#include "names.h"

#define HOST_SIZE (64u << 20)
#define HOST(off) (GEN(WINDOW_HOST) | (uint64_t)(off))

struct fixture {
	struct ncore_pool *pool;
	struct ncore_host_ops ops;
	struct ncore_chip *chip;
	uint8_t *host;
	_Atomic unsigned int irqs[NEURON_CORES_MAX]; /* by vector */
	uint8_t seq;
};

/* A queue as software sees it: two rings in memory, and the next slot of each */
struct ring {
	unsigned int engine, queue;
	uint64_t base[2]; /* device addresses: M2S, S2M */
	uint32_t len[2];
	uint32_t next[2];
	unsigned int id[2];
};

void fixture_init(struct fixture *f, unsigned int threads);
void fixture_config(struct fixture *f, struct ncore_chip_config *config);
void fixture_new_chip(struct fixture *f);
/* A chip in a slot of a fabric, with workers that may be others' too */
void fixture_new_in(struct fixture *f, struct ncore_pool *pool, struct ncore_fabric *fabric,
		    unsigned int slot);
void fixture_free(struct fixture *f);
/* n chips in a fabric: each has its own host memory, and they share the first one's pool */
struct ncore_fabric *fixtures_new(struct fixture *f, unsigned int n, enum neuron_topology topology);
void fixtures_free(struct fixture *f, unsigned int n, struct ncore_fabric *fabric);
/* The host's dma_rw: the arena lies at host physical address 0. */
int fixture_host_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write);

void apb_write(struct fixture *f, uint64_t off, uint32_t value);
uint32_t apb_read(struct fixture *f, uint64_t off);
/* the emulator's registers */
void ext_write(struct fixture *f, uint64_t rel, uint32_t value);
uint32_t ext_read(struct fixture *f, uint64_t rel);
void put32(void *p, uint32_t v);
void put64(void *p, uint64_t v);
uint32_t get32(const void *p);
uint64_t get64(const void *p);

/* Sends a request that lies at host + 0x1000; the response is at host + 0x20000. Returns error. */
#define FWIO_REQ 0x1000
#define FWIO_RESP 0x20000
void fwio_ring(struct fixture *f);
int fwio_send(struct fixture *f, uint8_t cmd, const void *payload, unsigned int len);
uint32_t fwio_read(struct fixture *f, uint64_t addr);
uint32_t test_crc32c(const uint8_t *p, size_t n);

void queue_init(struct fixture *f, struct ring *r, unsigned int engine, unsigned int queue,
		uint64_t tx, uint64_t rx, uint32_t len);
/* Writes the next descriptor of a half; flags are FIRST, LAST, DMB. */
void push(struct fixture *f, struct ring *r, unsigned int half, uint64_t addr, uint32_t len,
	  uint32_t flags);
void doorbell(struct fixture *f, struct ring *r, unsigned int half, uint32_t count);
/* Writes one TX and one RX descriptor and rings their doorbells. */
void copy(struct fixture *f, struct ring *r, uint64_t src, uint64_t dst, uint32_t len);
uint32_t queue_reg(struct fixture *f, struct ring *r, unsigned int half, uint32_t reg);
/* True if an error stopped the queue */
bool queue_stopped(struct fixture *f, const struct ring *r);
void settle(struct fixture *f);
/* The memory behind a device address in this process: the host arena or DRAM */
uint8_t *mem(struct fixture *f, uint64_t addr);

/* A seeded generator (xorshift64*) */
uint64_t rnd(uint64_t *state);
void fixture_fill(uint8_t *p, size_t n, uint64_t seed);

#endif
