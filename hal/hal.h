/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Hardware procedures of a chip: mailbox, reset, engine and queue set-up, descriptors, copies. What
 * differs between generations comes from the description of the chip's (neuron/hw/gen.h). Plain C,
 * no allocation, no global state; built into the kernel module and into libndl's in-process
 *backend. The caller owns all memory and all locks: calls for one mailbox, and calls for one ring,
 *must not overlap; everything else may run at the same time.
 *
 * How to bring up a chip:
 *	nhal_init(&hal, gen, &ops, opaque, features);
 *	nhal_mailbox_set(&hal, req, req_addr, resp, resp_addr);
 *	nhal_reset(&hal, NEURON_MISC_RESET_DEVICE, 0);
 *	nhal_device_id_write(&hal, index);
 *	for each core nc:  nhal_core_dma_init(&hal, nc);
 *			   nhal_h2t_init(&h2t, &hal, nc, &mem);
 * and how to copy:
 *	n = nhal_h2t_push(&h2t, src, dst, len);		any number of times
 *	nhal_h2t_submit(&h2t, ctx);
 *	while (!nhal_h2t_done(&h2t, ctx)) wait;
 *
 * Addresses are device-side addresses throughout: host memory carries the host window bit
 * (nhal_host_addr()). Functions return 0 or -errno.
 */
#ifndef NEURON_HAL_H
#define NEURON_HAL_H

#include "hal_types.h"

#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"
#include "uapi/neuron/neuron_ioctl.h"

/*
 * What the hal asks of its user. write32 makes earlier stores to host memory visible to the chip
 * before the register write. wait sleeps about us microseconds, 0 is one iteration of a polling
 * loop; a negative return abandons the procedure with that value (a fatal signal, a removed
 * device). now_us is monotonic.
 */
struct nhal_ops {
	void (*write32)(void *opaque, unsigned int bar, uint64_t offset, uint32_t value);
	int (*wait)(void *opaque, unsigned int us);
	uint64_t (*now_us)(void *opaque);
	uint32_t (*read32)(void *opaque, unsigned int bar, uint64_t offset); /* nhal_words_call() */
};

struct nhal {
	const struct neuron_gen *gen;
	const struct nhal_ops *ops;
	void *opaque;
	uint32_t features; /* NEURON_CAP_F_* of the extension's capability; 0 on other hardware */
	/* Mailbox: two buffers of NEURON_FWIO_BUF_SIZE */
	uint8_t *req;
	volatile uint8_t *resp;
	uint64_t req_addr;
	uint64_t resp_addr;
	uint8_t seq;
	bool silent; /* the last call got no answer to any of its tries */
};

void nhal_init(struct nhal *hal, const struct neuron_gen *gen, const struct nhal_ops *ops,
	       void *opaque, uint32_t features);

/* Addresses (hal_addr.c) */
static inline uint64_t nhal_host_addr(const struct neuron_gen *gen, uint64_t physical)
{
	return physical | gen->window.host;
}

static inline bool nhal_addr_is_host(const struct neuron_gen *gen, uint64_t addr)
{
	return (addr & gen->window.mask) == gen->window.host;
}

static inline uint64_t nhal_host_physical(const struct neuron_gen *gen, uint64_t addr)
{
	return addr & ~gen->window.mask;
}

static inline uint64_t nhal_misc_addr(const struct neuron_gen *gen, unsigned int word)
{
	return neuron_gen_address(gen, NEURON_BLOCK_MISC, 0) + word;
}

static inline uint64_t nhal_core_addr(const struct neuron_gen *gen, unsigned int nc)
{
	return neuron_gen_address(gen, NEURON_BLOCK_CORE, nc);
}

/* The errors that a memory's word of errors counts; repairable ones are among the uncorrected */
struct nhal_errors {
	uint32_t corrected, uncorrected, repairable;
};
static inline struct nhal_errors nhal_memory_errors(uint32_t firmware, uint32_t word)
{
	struct nhal_errors e = { word >> 16, word & 0xffff, 0 };

	if (firmware >= NEURON_FIRMWARE_ECC) {
		e.repairable = word & 0xfff;
		e.uncorrected = (word >> 12 & 0xf) + e.repairable;
	}
	return e;
}

/* The address of the same place in the chip at the other end of a port */
static inline uint64_t nhal_neighbor_addr(const struct neuron_gen *gen, unsigned int port,
					  uint64_t addr)
{
	return addr | gen->window.port[port];
}

/*
 * Where a local device address shows in a BAR: memory squashed together in the DRAM BAR, cores and
 * registers in theirs. -EINVAL when [addr, addr + len) is not inside one of them.
 */
int nhal_addr_to_bar(const struct neuron_gen *gen, uint64_t addr, uint64_t len, unsigned int *bar,
		     uint64_t *offset);
/* The device address of a place in one of the registers' BARs; -EINVAL: nothing is there */
int nhal_bar_to_addr(const struct neuron_gen *gen, unsigned int bar, uint64_t offset,
		     uint64_t *addr);
/* [addr, addr + len) lies inside core nc's window, or a TOP_SP's of it: 0 and nc, else -EINVAL */
int nhal_addr_to_core(const struct neuron_gen *gen, uint64_t addr, uint64_t len, unsigned int *nc);
/* The FIFO of an engine of core nc */
uint64_t nhal_fifo_addr(const struct neuron_gen *gen, unsigned int nc, unsigned int eng);

/* Device addresses of semaphores and events of a core; the caller checks nc and index */
uint64_t nhal_sem_addr(const struct neuron_gen *gen, unsigned int nc, enum neuron_sem_access op,
		       unsigned int index);
uint64_t nhal_event_addr(const struct neuron_gen *gen, unsigned int nc, unsigned int index);

void nhal_misc_write(struct nhal *hal, unsigned int word, uint32_t value);

/* Semaphores and events (hal_sync.c) */
void nhal_sem_write(struct nhal *hal, unsigned int nc, enum neuron_sem_access op,
		    unsigned int index, uint32_t value);
int nhal_sem_read(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value);
void nhal_event_set(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t value);
int nhal_event_get(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value);

/* Mailbox (hal_fwio.c). All of it serialised by the caller. */
#define NHAL_FWIO_READ_MAX ((NEURON_FWIO_BUF_SIZE - NEURON_FWIO_REQ_HDR) / 8)

void nhal_mailbox_set(struct nhal *hal, void *req, uint64_t req_addr, void *resp,
		      uint64_t resp_addr);
uint32_t nhal_crc32c(const void *data, size_t len);
/*
 * Fill buf with a complete request (header, CRC, payload) and return its length. payload may
 * already lie in place behind the header.
 */
uint32_t nhal_fwio_build(uint8_t *buf, uint8_t seq, uint8_t cmd, const void *payload, uint32_t len);
/* Read n registers by device address; n at most NHAL_FWIO_READ_MAX. -EIO, -ETIMEDOUT, -EINVAL */
int nhal_reg_read(struct nhal *hal, const uint64_t *addr, uint32_t *value, unsigned int n);
int nhal_reg_read1(struct nhal *hal, uint64_t addr, uint32_t *value);
/*
 * A request of the mailbox in words, which firmware from version NEURON_FIRMWARE_WORDS on has;
 * NEURON_MISC_METRIC_SIZE bytes at most. -EOPNOTSUPP: a command that it does not know, -EIO: one
 * that it refuses
 */
int nhal_words_call(struct nhal *hal, uint8_t cmd, const void *payload, unsigned int len);
/* The answer to the last such request, from its first byte on */
void nhal_words_answer(struct nhal *hal, void *answer, unsigned int len);
/* Copy the blob to misc RAM and announce it; at most NEURON_MISC_METRIC_SIZE bytes */
int nhal_metric_post(struct nhal *hal, const void *blob, unsigned int len);

/* Reset and status (hal_reset.c) */

/*
 * Reset the chip or some of its cores and wait until it is ready. type is NEURON_MISC_RESET_*;
 * tpb_map has one bit a core, whose TOP_SPs go with it, and counts for a TPB reset only (the chip
 * must announce TPB_MAP, otherwise 0 is written, which means all cores). A reset that does not come
 * is asked for again at the public interval, or at a shorter one from a chip with FAST_RESET;
 * -ETIMEDOUT in the end.
 */
int nhal_reset(struct nhal *hal, unsigned int type, uint32_t tpb_map);
int nhal_status_read(struct nhal *hal, uint32_t *status);
void nhal_device_id_write(struct nhal *hal, uint32_t id);
/* Device id of the chip at the other end of each port; -1: the link is down, or there is no port */
int nhal_neighbors_read(struct nhal *hal, int id[NEURON_PORTS_MAX]);

/* DMA engines and queues (hal_udma.c) */
enum nhal_half {
	NHAL_M2S, /* transmit: reads memory */
	NHAL_S2M, /* receive: writes memory */
};

#define NHAL_QUEUE_INIT_WRITES 14

void nhal_engine_init(struct nhal *hal, unsigned int eng);
/* Initialises all DMA engines of a core, wrappers included */
void nhal_core_dma_init(struct nhal *hal, unsigned int nc);
/* A ring: base 256-byte aligned (0 with any length is legal), length in descriptors */
bool nhal_ring_valid(uint64_t base, uint32_t len);
void nhal_queue_init(struct nhal *hal, unsigned int eng, unsigned int qid, uint64_t tx_base,
		     uint32_t tx_len, uint64_t rx_base, uint32_t rx_len);
/* Ring the doorbells, S2M first; a count of 0 is not rung */
void nhal_queue_start(struct nhal *hal, unsigned int eng, unsigned int qid, uint32_t tx_count,
		      uint32_t rx_count);
void nhal_engine_state_set(struct nhal *hal, unsigned int eng, uint32_t state);
/*
 * Device addresses of the registers of one half of a queue, for nhal_reg_read(): status, base low
 * and high, length, head, tail, completion base low and high, completion head; or of any other.
 */
#define NHAL_QUEUE_REGS 9
void nhal_queue_regs(const struct neuron_gen *gen, unsigned int eng, enum nhal_half half,
		     unsigned int qid, uint64_t addr[NHAL_QUEUE_REGS]);
uint64_t nhal_queue_reg_addr(const struct neuron_gen *gen, unsigned int eng, enum nhal_half half,
			     unsigned int qid, unsigned int reg);
/* Length of the shortest ring that has room for count descriptors */
uint32_t nhal_ring_len(uint32_t count);

/* Descriptors, NEURON_UDMA_DESC_SIZE bytes each; len 1..64 KiB. flags: NEURON_UDMA_DESC_FIRST,
 * _LAST, _DMB, _INT */
void nhal_desc_tx(void *desc, uint64_t addr, uint32_t len, unsigned int ring_id, uint32_t flags);
void nhal_desc_rx(void *desc, uint64_t addr, uint32_t len, unsigned int ring_id);
#define NHAL_DESC_ADDR 8 /* where in a descriptor its address is */
/* Gives a descriptor the ring id of another lap */
void nhal_desc_lap(void *desc, unsigned int ring_id);
uint64_t nhal_desc_addr(const void *desc);
uint32_t nhal_desc_len(const void *desc);

/* Questions of processes about queues (hal_queue.c) */

/*
 * nhal_queue_check() and nhal_engine_asked() return -EINVAL when there is no such queue or engine.
 */
int nhal_queue_check(const struct neuron_gen *gen, uint32_t eng, uint32_t qid);
/* The state of an engine by the interface's number: what to write (nhal_engine_state_set()) */
int nhal_engine_asked(const struct neuron_gen *gen, uint32_t eng, uint32_t state, uint32_t *hw);
/* The descriptors that a queue's rings have; 0: there is no ring */
struct nhal_rings {
	uint32_t tx, rx;
};
/* -EINVAL: descriptors for a ring that it has not, or more than a ring has */
int nhal_start_check(const struct nhal_rings *has, uint32_t tx_count, uint32_t rx_count);
/* The device addresses of both halves' states, and the answer that they are */
void nhal_engine_regs(const struct neuron_gen *gen, unsigned int eng, uint64_t addr[2]);
void nhal_engine_answer(const uint32_t reg[2], struct neuron_dma_eng_state *state);
/*
 * The answer from the registers of nhal_queue_regs(); enabled: somebody has initialised the queue
 */
void nhal_queue_answer(const uint32_t reg[NHAL_QUEUE_REGS], bool enabled,
		       struct neuron_dma_queue_state *state);

struct nhal_owner {
	/* Is the host memory at this device-side address the owner's? */
	bool (*has)(void *opaque, uint64_t addr, uint32_t len);
	void *opaque;
};
struct nhal_descs {
	const void *desc;
	uint32_t count;
	bool rx; /* for a ring that receives */
};
/*
 * -EINVAL: a descriptor names host memory that is not the owner's. models: a bit for each core
 * whose PE FIFO they feed; a start of their ring starts a model there.
 */
int nhal_descs_check(const struct neuron_gen *gen, const struct nhal_descs *descs,
		     const struct nhal_owner *owner, uint32_t *models);

/* A ring the caller fills: next slot and the ring id of the lap */
struct nhal_ring {
	uint8_t *desc;
	uint32_t len;
	uint32_t next;
	unsigned int ring_id;
};
void nhal_ring_init(struct nhal_ring *ring, void *desc, uint32_t len);
void *nhal_ring_next(struct nhal_ring *ring, unsigned int *ring_id);

/* Notification queues (hal_nq.c): the register group of a queue, an offset in its BAR; -EINVAL */
int nhal_nq_regs(const struct neuron_gen *gen, unsigned int nc, unsigned int type, unsigned int eng,
		 uint64_t *offset);
/* base 0 and size 0 switch the queue off */
int nhal_nq_set(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		uint64_t base, uint32_t size);
/* The register group by the number that drivers use (struct neuron_gen, nq_slot); a TOP_SP's */
int nhal_nq_slot_regs(const struct neuron_gen *gen, unsigned int nc, unsigned int type,
		      unsigned int slot, uint64_t *offset);
int nhal_nq_topsp_regs(const struct neuron_gen *gen, unsigned int topsp, unsigned int type,
		       unsigned int slot, uint64_t *offset);
void nhal_nq_program(struct nhal *hal, uint64_t regs, uint64_t base, uint32_t size);

/* The copy ring of a core (hal_h2t.c) */
#define NHAL_H2T_RING_LEN 8192
#define NHAL_H2T_RING_BYTES (NHAL_H2T_RING_LEN * NEURON_UDMA_DESC_SIZE)
#define NHAL_H2T_BATCH_MAX 2032 /* data descriptors for one doorbell: 127 MiB */
#define NHAL_H2T_CONTEXTS 4 /* one batch each may be in flight */
#define NHAL_H2T_COMPLETION_BYTES (NHAL_H2T_CONTEXTS * 8)
#define NHAL_H2T_MARKER 0xabcdef01u

struct nhal_h2t_mem { /* host memory, 256-byte aligned */
	void *tx, *rx; /* NHAL_H2T_RING_BYTES each */
	uint64_t tx_addr, rx_addr;
	void *completion; /* NHAL_H2T_COMPLETION_BYTES */
	uint64_t completion_addr;
};

struct nhal_h2t {
	struct nhal *hal;
	unsigned int nc, eng, qid;
	struct nhal_ring tx, rx;
	uint32_t *completion;
	uint64_t completion_addr;
	unsigned int pending; /* data descriptors pushed since the last submit */
	/* the last pushed pair, so that submit can put the barrier on it */
	uint8_t *last_tx;
};

/* Set up ring and queue of core nc; also after a reset of the core. No batch may be in flight. */
void nhal_h2t_init(struct nhal_h2t *h2t, struct nhal *hal, unsigned int nc,
		   const struct nhal_h2t_mem *mem);
/* nhal_h2t_init() on another queue of the core's engine of copies */
void nhal_h2t_init_queue(struct nhal_h2t *h2t, struct nhal *hal, unsigned int nc, unsigned int qid,
			 const struct nhal_h2t_mem *mem);
/* Add a run to the batch, as much as fits; returns the bytes taken, 0 when the batch is full */
uint64_t nhal_h2t_push(struct nhal_h2t *h2t, uint64_t src, uint64_t dst, uint64_t len);
/* Close the batch with a completion for context ctx and ring; the number of data descriptors */
unsigned int nhal_h2t_submit(struct nhal_h2t *h2t, unsigned int ctx);
/* True once the batch of ctx is complete */
bool nhal_h2t_done(const struct nhal_h2t *h2t, unsigned int ctx);

#endif
