/* SPDX-License-Identifier: MIT */
/* Set-up and driver-like helpers of the core's unit tests */
#include "chip_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MISC GEN(APB_MISC_RAM)

int fixture_host_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	struct fixture *f = opaque;

	if (addr > HOST_SIZE || len > HOST_SIZE - addr)
		return -EFAULT;
	if (write)
		memmove(f->host + addr, buf, len);
	else
		ncore_copy_sparse(buf, f->host + addr, len);
	return 0;
}

static void host_irq(void *opaque, unsigned int vector)
{
	struct fixture *f = opaque;

	ck_assert_uint_lt(vector, NEURON_CORES_MAX);
	f->irqs[vector]++;
}

void fixture_config(struct fixture *f, struct ncore_chip_config *config)
{
	*config = (struct ncore_chip_config){
		.gen = &GEN_CHIP,
		.ops = &f->ops,
		.opaque = f,
		.pool = f->pool,
	};
}

void fixture_init(struct fixture *f, unsigned int threads)
{
	struct ncore_pool_config pool = { .threads = threads };

	memset(f, 0, sizeof(*f));
	f->seq = 1;
	f->host = mmap(NULL, HOST_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(f->host, MAP_FAILED);
	f->ops.dma_rw = fixture_host_rw;
	f->ops.irq = host_irq;
	ck_assert_int_eq(ncore_pool_new(&pool, &f->pool), 0);
}

void fixture_new_chip(struct fixture *f)
{
	struct ncore_chip_config config;

	fixture_config(f, &config);
	ck_assert_int_eq(ncore_chip_new(&config, &f->chip), 0);
}

void fixture_new_in(struct fixture *f, struct ncore_pool *pool, struct ncore_fabric *fabric,
		    unsigned int slot)
{
	struct ncore_chip_config config;

	fixture_config(f, &config);
	config.pool = pool;
	config.fabric = fabric;
	config.slot = slot;
	ck_assert_int_eq(ncore_chip_new(&config, &f->chip), 0);
}

struct ncore_fabric *fixtures_new(struct fixture *f, unsigned int n, enum neuron_topology topology)
{
	struct ncore_fabric *fabric;

	ck_assert_int_eq(ncore_fabric_new(topology, n, &fabric), 0);
	for (unsigned int i = 0; i < n; i++) {
		fixture_init(&f[i], i ? 1 : 2);
		fixture_new_in(&f[i], f[0].pool, fabric, i);
	}
	return fabric;
}

void fixtures_free(struct fixture *f, unsigned int n, struct ncore_fabric *fabric)
{
	ncore_fabric_free(fabric); /* chips keep a reference, so the order does not matter */
	while (n--)
		fixture_free(&f[n]);
}

void fixture_free(struct fixture *f)
{
	ncore_chip_free(f->chip);
	ncore_pool_free(f->pool);
	munmap(f->host, HOST_SIZE);
}

void apb_write(struct fixture *f, uint64_t off, uint32_t value)
{
	ncore_mmio_write(f->chip, NEURON_BAR_APB, off, 4, value);
}

uint32_t apb_read(struct fixture *f, uint64_t off)
{
	return (uint32_t)ncore_mmio_read(f->chip, NEURON_BAR_APB, off, 4);
}

void ext_write(struct fixture *f, uint64_t rel, uint32_t value)
{
	ncore_mmio_write(f->chip, GEN(BAR_EXT), GEN(EXT) + rel, 4, value);
}

uint32_t ext_read(struct fixture *f, uint64_t rel)
{
	return (uint32_t)ncore_mmio_read(f->chip, GEN(BAR_EXT), GEN(EXT) + rel, 4);
}

void put32(void *p, uint32_t v)
{
	uint8_t b[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

	memcpy(p, b, 4);
}

void put64(void *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

uint32_t get32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t get64(const void *p)
{
	return get32(p) | (uint64_t)get32((const uint8_t *)p + 4) << 32;
}

/*
 * CRC-32C (Castagnoli) by its definition: polynomial division bit by bit, most significant bit
 * first
 */
static uint32_t reflect(uint32_t v, unsigned int bits)
{
	uint32_t r = 0;
	unsigned int i;

	for (i = 0; i < bits; i++)
		r |= (v >> i & 1) << (bits - 1 - i);
	return r;
}

uint32_t test_crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffffu;
	unsigned int k;

	for (; n; n--, p++) {
		crc ^= reflect(*p, 8) << 24;
		for (k = 0; k < 8; k++)
			crc = crc << 1 ^ (crc >> 31 ? 0x1edc6f41u : 0);
	}
	return reflect(crc, 32) ^ 0xffffffffu;
}

void fwio_ring(struct fixture *f)
{
	uint64_t req = HOST(FWIO_REQ), resp = HOST(FWIO_RESP);

	apb_write(f, MISC + NEURON_MISC_FWIO_REQ_LO, (uint32_t)req);
	apb_write(f, MISC + NEURON_MISC_FWIO_REQ_HI, (uint32_t)(req >> 32));
	apb_write(f, MISC + NEURON_MISC_FWIO_RESP_LO, (uint32_t)resp);
	apb_write(f, MISC + NEURON_MISC_FWIO_RESP_HI, (uint32_t)(resp >> 32));
	apb_write(f, MISC + NEURON_MISC_DOORBELL, 1);
}

int fwio_send(struct fixture *f, uint8_t cmd, const void *payload, unsigned int len)
{
	uint8_t *req = f->host + FWIO_REQ, *resp = f->host + FWIO_RESP;
	unsigned int size = NEURON_FWIO_REQ_HDR + len;

	f->seq = f->seq == 255 ? 1 : f->seq + 1;
	req[0] = f->seq;
	req[1] = cmd;
	req[2] = (uint8_t)size;
	req[3] = (uint8_t)(size >> 8);
	put32(req + 4, 0);
	memcpy(req + 8, payload, len);
	put32(req + 4, test_crc32c(req, size));
	resp[0] = 0;
	fwio_ring(f);
	ck_assert_uint_eq(resp[0], f->seq);
	return resp[1];
}

uint32_t fwio_read(struct fixture *f, uint64_t addr)
{
	uint8_t payload[8];

	put64(payload, addr);
	ck_assert_int_eq(fwio_send(f, NEURON_FWIO_CMD_READ, payload, 8), 0);
	ck_assert_uint_eq(get32(f->host + FWIO_RESP) >> 16, 8);
	return get32(f->host + FWIO_RESP + 4);
}

static uint64_t q_off(unsigned int engine, unsigned int half, unsigned int queue)
{
	return GEN(APB_UDMA)(engine) + (half ? NEURON_UDMA_S2M_Q(queue) : NEURON_UDMA_M2S_Q(queue));
}

void queue_init(struct fixture *f, struct ring *r, unsigned int engine, unsigned int queue,
		uint64_t tx, uint64_t rx, uint32_t len)
{
	static const uint32_t sw[] = { NEURON_UDMA_M2S_Q_SW_CTRL, NEURON_UDMA_S2M_Q_SW_CTRL };
	static const uint32_t comp[] = { NEURON_UDMA_M2S_Q_COMP_CFG, NEURON_UDMA_S2M_Q_COMP_CFG };
	unsigned int h;

	*r = (struct ring){
		.engine = engine, .queue = queue, .base = { tx, rx }, .len = { len, len }
	};
	for (h = 0; h < 2; h++) {
		uint64_t q = q_off(engine, h, queue);

		r->id[h] = 1;
		apb_write(f, q + NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
		apb_write(f, q + sw[h], NEURON_UDMA_Q_SW_CTRL_RESET);
		apb_write(f, q + NEURON_UDMA_Q_BASE_LO, (uint32_t)r->base[h]);
		apb_write(f, q + NEURON_UDMA_Q_BASE_HI, (uint32_t)(r->base[h] >> 32));
		apb_write(f, q + NEURON_UDMA_Q_LEN, len);
		apb_write(f, q + comp[h], 0);
		apb_write(f, q + NEURON_UDMA_Q_CFG, 0x03030000);
	}
}

uint8_t *mem(struct fixture *f, uint64_t addr)
{
	uint64_t size;
	uint8_t *dram = ncore_dram(f->chip, &size, NULL);

	if (addr & GEN(WINDOW_HOST))
		return f->host + (addr & ~GEN(WINDOW_HOST));
	addr &= ~GEN(AXI_PORT1);
	if (addr >= GEN(DRAM1_BASE))
		return dram + GEN(DRAM_CHANNEL_SIZE) + (addr - GEN(DRAM1_BASE));
	return dram + addr;
}

void push(struct fixture *f, struct ring *r, unsigned int half, uint64_t addr, uint32_t len,
	  uint32_t flags)
{
	uint8_t *d = mem(f, r->base[half]) + r->next[half] * NEURON_UDMA_DESC_SIZE;

	put32(d, (len & 0xffff) | r->id[half] << NEURON_UDMA_DESC_RING_ID_SHIFT | flags);
	put32(d + 4, half ? 0 : NEURON_UDMA_META_DEFAULT);
	put64(d + 8, addr);
	if (++r->next[half] == r->len[half]) {
		r->next[half] = 0;
		r->id[half] = (r->id[half] + 1) & 3;
	}
}

void doorbell(struct fixture *f, struct ring *r, unsigned int half, uint32_t count)
{
	apb_write(f, q_off(r->engine, half, r->queue) + NEURON_UDMA_Q_TAIL_INC, count);
}

void copy(struct fixture *f, struct ring *r, uint64_t src, uint64_t dst, uint32_t len)
{
	push(f, r, 0, src, len, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	push(f, r, 1, dst, len, 0);
	doorbell(f, r, 1, 1);
	doorbell(f, r, 0, 1);
}

uint32_t queue_reg(struct fixture *f, struct ring *r, unsigned int half, uint32_t reg)
{
	return apb_read(f, q_off(r->engine, half, r->queue) + reg);
}

void settle(struct fixture *f)
{
	ck_assert_int_eq(ncore_chip_wait_idle(f->chip, 10000000000ll), 0);
}

uint64_t rnd(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

bool queue_stopped(struct fixture *f, const struct ring *r)
{
	return ext_read(f, GEN(DMA_STOPPED)(r->engine)) >> r->queue & 1;
}

void fixture_fill(uint8_t *p, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)rnd(&seed);
}
