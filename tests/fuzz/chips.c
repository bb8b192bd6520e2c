// SPDX-License-Identifier: MIT
/* The chips of chips.h: creation, the host's side with its own checks, and the final checks */
#include "chips.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FUZZ_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
#endif
#endif
#ifdef FUZZ_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define MISC GEN(APB_MISC_RAM)
#define PAGE 4096u
#define COPY GEN(H2T_ENGINE)(0)
/* Our registers, where they are in BAR0; else others */
#define EXT (GEN(BAR_EXT) ? GEN(APB_UDMA)(3) : GEN(EXT))
#define MEMS (1 + 2 * GEN(NC_PER_DEVICE)) /* DRAM; SBUF and PSUM of each core */

static struct fuzz_mem {
	char name[8];
	uint8_t *ptr;
	uint64_t size;
} mems[CHIPS][MEMS];

static struct fuzz_chip chips[CHIPS];
static struct ncore_pool *pool;
static struct ncore_fabric *fabric;
static pid_t owner; /* threads do not survive the fork of a fork server */

/* Poisons the padding between partitions, which nothing may touch. */
static void poison(uint8_t *p, uint64_t size, const char *name)
{
#ifdef FUZZ_ASAN
	uint64_t part = name[0] == 's' ? GEN(SBUF_PART_SIZE) : NEURON_PSUM_PART_SIZE;
	uint64_t stride = size / NEURON_PARTITIONS;

	if (name[0] != 's' && name[0] != 'p')
		return;
	for (unsigned int i = 0; i < NEURON_PARTITIONS; i++)
		ASAN_POISON_MEMORY_REGION(p + i * stride + part, stride - part);
#endif
}

static int host_alloc(void *opaque, const char *name, uint64_t size, void **ptr, int *fd)
{
	struct fuzz_mem *m = mems[(struct fuzz_chip *)opaque - chips];
	uint8_t *p;

	while (m->ptr)
		m++;
	fuzz_assert(!(size % PAGE));
	p = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED || mprotect(p + PAGE, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	snprintf(m->name, sizeof(m->name), "%s", name);
	*ptr = m->ptr = p + PAGE;
	m->size = size;
	*fd = -1;
	poison(m->ptr, size, name);
	return 0;
}

static void host_dirty(void *opaque, const char *name, uint64_t offset, uint64_t len)
{
	struct fuzz_mem *m = mems[(struct fuzz_chip *)opaque - chips];
	unsigned int i;

	for (i = 0; i < MEMS && strcmp(m[i].name, name); i++)
		;
	fuzz_assert(i < MEMS && offset <= m[i].size && len <= m[i].size - offset);
}

static int host_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	struct fuzz_chip *c = opaque;

	fuzz_assert(addr < GEN_CHIP.window.host_size);
	if (addr > HOST_SIZE || len > HOST_SIZE - addr)
		return -EFAULT;
	if (write)
		memmove(c->host + addr, buf, len);
	else
		memmove(buf, c->host + addr, len);
	return 0;
}

static void host_irq(void *opaque, unsigned int vector)
{
	fuzz_assert(vector < GEN(NC_PER_DEVICE));
}

static void host_event(void *opaque, enum ncore_event ev, const uint64_t arg[4])
{
	struct fuzz_chip *c = opaque;

	fuzz_assert(ncore_event_name(ev));
	c->used = true;
}

/* The first chip reports every event to its host; the others leave out those of descriptors */
static const struct ncore_host_ops ops[] = {
	{
		.alloc_mem = host_alloc,
		.mark_dirty = host_dirty,
		.dma_rw = host_rw,
		.irq = host_irq,
		.event = host_event,
		.event_mask = ~0ull,
	},
	{
		.alloc_mem = host_alloc,
		.mark_dirty = host_dirty,
		.dma_rw = host_rw,
		.irq = host_irq,
		.event = host_event,
		.event_mask = ~(1ull << NCORE_EV_DESC),
	},
};

static void create(void)
{
	struct ncore_pool_config two = { .threads = 2 };
	uint8_t *host = malloc(HOST_SIZE);
	unsigned int i;

	memset(mems, 0, sizeof(mems));
	fuzz_assert(host && !ncore_pool_new(&two, &pool));
	fuzz_assert(!ncore_fabric_new(NEURON_TOPOLOGY_LINE, 2, &fabric));
	for (i = 0; i < CHIPS; i++) {
		struct ncore_chip_config config = {
			.gen = &GEN_CHIP,
			.ops = &ops[i > 0],
			.opaque = &chips[i],
			.pool = pool,
			.fabric = i < 2 ? fabric : NULL,
			.slot = i < 2 ? i : 0,
			.no_ring_id_check = i == 2,
		};

		chips[i].host = host;
		fuzz_assert(!ncore_chip_new(&config, &chips[i].core));
	}
	owner = getpid();
}

struct fuzz_chip *chips_begin(void)
{
	if (owner != getpid())
		create();
	memset(chips[0].host, 0, HOST_SIZE);
	return chips;
}

void chip_write(struct fuzz_chip *c, uint64_t off, uint32_t value)
{
	ncore_mmio_write(c->core, NEURON_BAR_APB, off, 4, value);
}

uint32_t chip_read(struct fuzz_chip *c, uint64_t off)
{
	return (uint32_t)ncore_mmio_read(c->core, NEURON_BAR_APB, off, 4);
}

void chip_settle(struct fuzz_chip *c, unsigned int ms)
{
	ncore_chip_wait_idle(c->core, ms * 1000000ll);
}

uint32_t fuzz_crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffffu;

	while (n--) {
		crc ^= *p++;
		for (unsigned int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

uint8_t *chip_bytes(struct fuzz_chip *c, uint64_t addr, uint64_t len)
{
	uint64_t size, off = addr - GEN(WINDOW_HOST);
	uint8_t *dram = ncore_dram(c->core, &size, NULL);

	if (off < HOST_SIZE && len <= HOST_SIZE - off)
		return c->host + off;
	if (addr < GEN(DRAM_CHANNEL_SIZE) && len <= GEN(DRAM_CHANNEL_SIZE) - addr)
		return dram + addr;
	return NULL;
}

void chip_desc(struct fuzz_chip *c, uint64_t ring, unsigned int i, uint32_t ctrl, uint32_t meta,
	       uint64_t addr)
{
	uint8_t *d =
		chip_bytes(c, ring + (uint64_t)i * NEURON_UDMA_DESC_SIZE, NEURON_UDMA_DESC_SIZE);

	if (!d)
		return;
	fuzz_put(d, ctrl, 4);
	fuzz_put(d + 4, meta, 4);
	fuzz_put(d + 8, addr, 8);
}

void chip_queue(struct fuzz_chip *c, unsigned int engine, unsigned int queue, uint64_t tx,
		uint64_t rx, uint32_t len)
{
	static const uint32_t sw[] = { NEURON_UDMA_M2S_Q_SW_CTRL, NEURON_UDMA_S2M_Q_SW_CTRL };
	const uint64_t base[] = { tx, rx };

	for (unsigned int h = 0; h < 2; h++) {
		uint64_t q = chip_q(engine, h, queue);

		chip_write(c, q + NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
		chip_write(c, q + sw[h], NEURON_UDMA_Q_SW_CTRL_RESET);
		chip_write(c, q + NEURON_UDMA_Q_BASE_LO, (uint32_t)base[h]);
		chip_write(c, q + NEURON_UDMA_Q_BASE_HI, (uint32_t)(base[h] >> 32));
		chip_write(c, q + NEURON_UDMA_Q_LEN, len);
		chip_write(c, q + NEURON_UDMA_Q_CFG,
			   NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER);
	}
}

/* Addresses chosen by the input: a block, a place in it, an offset */

#if GEN(TOPSPS)
uint32_t fuzz_topsp(struct fuzz_in *in, unsigned int *topsp)
{
	static const uint32_t places[] = { 0x0,	   0x3fc,  0x400,  0x1000, 0x13fc, 0x1400,
					   0x1800, 0x1bfc, 0x1c00, 0x1ffc, 0x2000, 0x3ffffc };
	uint8_t kind = fuzz_u8(in);

	*topsp = kind & 3 ? kind % GEN(TOPSPS) : GEN(TOPSPS) - 1;
	return fuzz_pick(in, places) + (kind & 0x80 ? fuzz_u8(in) * 4u : 0);
}
#endif

uint64_t fuzz_address(struct fuzz_in *in)
{
	static const uint64_t base[] = {
		HOST(0x80000),
		HOST(0xc0000),
		HOST(HOST_SIZE - 64),
		HOST(0),
		0x10000,
		GEN(DRAM_CHANNEL_SIZE) - 64,
		GEN(DRAM1_BASE),
		GEN(DRAM1_BASE) + GEN(DRAM_CHANNEL_SIZE) - 64,
		GEN(TPB)(0),
		GEN(TPB)(0) + GEN(SBUF_PART_SIZE) - 64,
		GEN(TPB)(0) + 127 * NEURON_SBUF_PART_STRIDE,
		GEN(TPB)(0) + NEURON_PSUM_OFFSET,
		GEN(TPB)(0) + NEURON_PSUM_OFFSET + 128 * NEURON_PSUM_PART_STRIDE - 64,
		GEN(TPB)(0) + GEN(TPB_FIFO)(0),
		GEN(TPB)(0) + GEN(TPB_FIFO)(1),
		GEN(TPB)(0) + GEN(TPB_FIFO)(2),
		GEN(TPB)(0) + GEN(TPB_FIFO)(3),
		GEN(TPB)(1) + GEN(TPB_FIFO)(3),
		GEN(TPB)(0) + GEN(TPB_EVENTS),
		GEN(TPB)(0) + GEN(TPB_SEM_READ),
		GEN(TPB)(0) + GEN(TPB_SEM_SET),
		GEN(TPB)(0) + GEN(TPB_SEM_INC),
		GEN(TPB)(0) + GEN(TPB_SEM_DEC),
		GEN(TPB)(GEN_LAST_CORE) + GEN(TPB_SEM_INC),
		GEN(TPB)(GEN_LAST_CORE) + GEN(TPB_SIZE) - 64,
		GEN(REG)(MISC),
		GEN(REG)(MISC) + NEURON_MISC_DOORBELL,
		GEN(REG)(GEN(APB_PUTILS)(0)) + GEN(NQ_ERROR_REGS),
		GEN(EXT_ADDRESS),
		GEN(REG)(GEN(LAST_REG)) - 60,
		GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_CHANGE_STATE,
	};
	static const uint8_t route[] = GEN(ROUTES);
	const uint64_t window[] = { 0,
				    GEN(WINDOW_FAR)(route[0]),
				    GEN(WINDOW_FAR)(route[1]),
				    GEN(AXI_PORT1),
				    GEN(WINDOW_EAST),
				    GEN(WINDOW_WEST),
				    GEN(WINDOW_HOST),
				    1ull << 48 };
	uint8_t kind = fuzz_u8(in);
	uint64_t a;

	if (kind >= 240)
		return fuzz_u64(in);
	if (kind >= 200) { /* a doorbell value */
		uint8_t q = fuzz_u8(in);

		return GEN(REG)(chip_q(kind % GEN(DMA_ENGINES), q & 1, q >> 1 & 15)) +
		       NEURON_UDMA_Q_TAIL_INC;
	}
	a = base[kind % (sizeof(base) / sizeof(base[0]))];
#if GEN(TOPSPS)
	if (kind >= 184) {
		unsigned int t;

		a = fuzz_topsp(in, &t);
		a += GEN(TOPSP)(t);
	}
#endif
	kind = fuzz_u8(in);
	if (kind & 0x80)
		a |= window[kind & 7];
	return kind & 0x40 ? a + fuzz_u16(in) * 4ull : a + (kind >> 3 & 7) * 64ull;
}

uint64_t fuzz_register(struct fuzz_in *in)
{
	static const uint32_t block[] = {
		GEN(APB_UDMA)(0),
		GEN(APB_UDMA)(GEN(DMA_ENGINES) - 1),
		GEN(APB_UDMA)(5) + NEURON_UDMA_S2M,
		GEN(APB_TDMA)(0, 0),
		GEN(APB_PUTILS)(0) + GEN(NQ_NOTIFY_REGS)(0),
		GEN(APB_PUTILS)(GEN_LAST_CORE) + GEN(NQ_ERROR_REGS),
		MISC,
		MISC,
		EXT,
		EXT + GEN(PERF)(0),
		GEN(APB_UDMA)(2) + 0x38000,
		GEN(APB_UDMA)(2) + 0x3a000,
		GEN(APB_UDMA)(2) + 0x3c000,
#if GEN(TOPSPS)
		GEN(TOPSP_NQ)(0) + GEN(NQ_ERROR_REGS),
		GEN(TOPSP_NQ)(GEN(TOPSPS) - 1) + GEN(NQ_NOTIFY_REGS)(0),
#endif
	};
	static const uint16_t misc[] = { NEURON_MISC_RESET,	    NEURON_MISC_DOORBELL,
					 NEURON_MISC_TPB_RESET_MAP, NEURON_MISC_FWIO_REQ_HI,
					 NEURON_MISC_FWIO_REQ_LO,   NEURON_MISC_FWIO_RESP_HI,
					 NEURON_MISC_FWIO_RESP_LO,  NEURON_MISC_FW_STATUS };
	uint8_t kind = fuzz_u8(in), sub = fuzz_u8(in);

	if (kind < 0x60) /* a queue's register */
		return chip_q(kind % GEN(DMA_ENGINES), sub & 1, sub >> 1 & 3) +
		       (fuzz_u8(in) % 64 * 4u);
	if (kind < 0x80)
		return MISC + misc[sub % 8];
	if (kind >= 0xf0)
		return fuzz_u32(in) & (GEN(BAR0_SIZE) - 1);
	return fuzz_pick(in, block) + sub * 4u;
}

/* The final checks */

static void works(struct fuzz_chip *c)
{
	static const uint64_t tx = HOST(0x1000), rx = HOST(0x2000);
	uint8_t *req = c->host + 0x4000, *resp = c->host + 0x5000;
	uint32_t status;
	uint64_t q = chip_q(COPY, 0, GEN(H2T_QUEUE)), s = chip_q(COPY, 1, GEN(H2T_QUEUE));

	fuzz_put(req, 7 | NEURON_FWIO_CMD_READ << 8 | 16 << 16, 8);
	fuzz_put(req + 8, GEN(REG)(MISC) + GEN(READY_WORD), 8);
	fuzz_put(req + 4, fuzz_crc32c(req, 16), 4);
	memset(resp, 0, 8);
	chip_write(c, MISC + NEURON_MISC_FWIO_REQ_HI, (uint32_t)(HOST(0) >> 32));
	chip_write(c, MISC + NEURON_MISC_FWIO_REQ_LO, 0x4000);
	chip_write(c, MISC + NEURON_MISC_FWIO_RESP_HI, (uint32_t)(HOST(0) >> 32));
	chip_write(c, MISC + NEURON_MISC_FWIO_RESP_LO, 0x5000);
	chip_write(c, MISC + NEURON_MISC_DOORBELL, 1);
	fuzz_assert(resp[0] == 7 && !resp[1] && resp[2] == 8);
	status = resp[4] | (uint32_t)resp[7] << 24;
	fuzz_assert((status & ~(uint32_t)GEN(LINKS)) == GEN(READY));

	fuzz_put(c->host + 0x6000, 0x1122334455667788ull, 8);
	chip_queue(c, COPY, GEN(H2T_QUEUE), tx, rx, 32);
	chip_desc(c, tx, 0, 8 | 1 << 24 | NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST,
		  NEURON_UDMA_META_DEFAULT, HOST(0x6000));
	chip_desc(c, rx, 0, 8 | 1 << 24, 0, HOST(0x6008));
	chip_write(c, s + NEURON_UDMA_Q_TAIL_INC, 1);
	chip_write(c, q + NEURON_UDMA_Q_TAIL_INC, 1);
	fuzz_assert(!memcmp(c->host + 0x6000, c->host + 0x6008, 8));
}

void chips_end(void)
{
	unsigned int i, f;

	if (chips[0].used || chips[1].used)
		chips[0].used = chips[1].used = true;
	/* faults belong to the host: no reset clears them */
	for (i = 0; i < CHIPS; i++)
		for (f = 0; f < NCORE_FAULT_COUNT; f++)
			fuzz_assert(!ncore_fault_set(chips[i].core, f, "off"));
	/*
	 * all chips come to rest first: what one writes to another must not arrive after the
	 * other's reset
	 */
	for (i = 0; i < CHIPS; i++)
		if (chips[i].used)
			ncore_chip_pause(chips[i].core);
	for (i = 0; i < CHIPS; i++)
		if (chips[i].used)
			ncore_chip_reset(chips[i].core, NCORE_RESET_POWER);
	for (i = 0; i < CHIPS; i++) {
		if (!chips[i].used)
			continue;
		ncore_chip_resume(chips[i].core);
		fuzz_assert(ncore_chip_idle(chips[i].core));
		works(&chips[i]);
		chips[i].used = false;
	}
}
