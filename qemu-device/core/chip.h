/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: what a chip is made of. chip.c creates, resets and rests it; mmio.c
 * dispatches registers; misc.c, udma.c, notify.c, topsp.c own their blocks; lane.c and dma.c
 * execute; route.c turns device addresses into endpoints; link.c is what neighbours reach of it;
 * fault.c injects faults; state.c saves and loads.
 *
 * Execution. A lane is what one thread at a time may execute: one for each NeuronCore (the core and
 * the queues that feed or are rung by it) and one for the queues the host rings. The right to
 * execute is lane->running, taken and given back under chip->lock, never held by a sleeping thread.
 * Register writes that touch what a lane owns stop it first (lane_stop) at the next boundary.
 *
 * Locks, in order: chip->lock, the fabric's, then the leaves: lane->inbox.lock, chip->nq_lock,
 * chip->topsp_lock, pool->lock, faults.lock. An executing lane holds none of them while it copies,
 * but fabric->lock for reading when a neighbour is involved; it never waits for a chip->lock with
 * fabric->lock held. Register reads take no lock: every register is an atomic word.
 */
#ifndef NCORE_CHIP_H
#define NCORE_CHIP_H

#include <pthread.h>
#include <stdatomic.h>

#include "fabric.h"
#include "ncore.h"
#include "neuron/hw/inferentia.h"
#include "dge.h"
#include "tpb.h"

#define NCORE_QUEUES NEURON_DMA_QUEUES_PER_ENG

/* after each partition: neighbours fall into different cache sets */
#define NCORE_MEM_PAD TPB_SLACK

/*
 * What one MMIO write may do itself before the pool takes over. The driver's shortest deadline is
 * that of copies within a chip (docs/hardware.md): 100 microseconds a descriptor of 64 KiB on
 * Trainium2. A worker that a busy host lets wait for milliseconds is too late for few of them, not
 * for many.
 */
#define NCORE_INLINE_DESCS 64
#define NCORE_INLINE_BYTES (NCORE_INLINE_DESCS * 64 * 1024)
/* what a core does inside a doorbell's write, and the instruction or packet that it is at then */
#define NCORE_INLINE_NS 100000

typedef _Atomic uint32_t ncore_reg;

struct ncore_mem {
	char name[8];
	uint8_t *ptr;
	uint64_t size;
	int fd;
};

/* Descriptors */
enum { NCORE_M2S, NCORE_S2M, NCORE_HALVES };

struct ncore_desc {
	uint64_t head; /* what it is: the word of control bits, then that of metadata */
	uint64_t addr;
};

#define NCORE_DESC_CACHE 64
#define NCORE_RING_WORDS 64 /* registers of a half of a queue */

/* Host pages that the guard granted last: guard.c */
struct ncore_guard_hit {
	uint64_t start, size;
	uint32_t generation;
	uint8_t domain;
};

/* One of the chip's memories as device addresses see it: parts of equal size at equal distances */
struct ncore_plain {
	uint64_t address, size; /* of all parts, with what lies between */
	uint64_t part; /* bytes of each */
	unsigned int shift; /* log2 of the distance in addresses */
	uint64_t stride; /* the distance in bytes of the host */
	uint8_t *ptr;
	struct ncore_mem *mem;
	uint8_t way; /* NCORE_WAY_* */
	unsigned int core; /* NCORE_EP_NO_CORE: DRAM */
};

/* What a half of a queue needs to work; of one that does not it is untouched */
struct ncore_ring_work {
	struct ncore_guard_hit ring_hit, data_hit;
	struct ncore_plain plain; /* where its last bytes were; size 0: nowhere yet */
	uint8_t cache[NCORE_DESC_CACHE * NEURON_UDMA_DESC_SIZE]; /* descriptors */
};

/* One half of a queue. credit is added to by doorbells; the rest belongs to the queue's lane. */
struct ncore_ring {
	ncore_reg *reg; /* ncore_ring_reg() */
	_Atomic uint32_t credit; /* descriptors rung and not completed, with those in taken */
	_Atomic uint32_t taken; /* completed in this step: subtracted when it ends */
	_Atomic uint32_t head; /* index of the first of them */
	_Atomic uint32_t tail; /* index after the last rung */
	uint32_t ring_id; /* what the descriptor at head has to show */
	bool open; /* cur is the descriptor at head, done bytes of it are copied */
	struct ncore_desc cur;
	uint32_t done;
	uint32_t closed; /* completed ever, modulo 2^32 */
	uint32_t cached, cache_at; /* descriptors in cache, the next one's position in it */
	struct ncore_ring_work *work;
};

/* Descriptors rung and not completed; any thread. credit first: it shrinks after taken does */
static inline uint32_t ncore_ring_credit(const struct ncore_ring *r)
{
	uint32_t credit = atomic_load(&r->credit);

	return credit - atomic_load_explicit(&r->taken, memory_order_relaxed);
}

enum ncore_queue_state {
	NCORE_Q_IDLE, /* on no list: nothing to do, stopped, or disabled */
	NCORE_Q_READY, /* on its lane's ready list, or among what its executor took */
	NCORE_Q_STALLED, /* on its lane's stalled list: an instruction FIFO is full */
};

/* What keeps a queue from running until a queue reset */
enum ncore_queue_stop {
	NCORE_Q_RUNS,
	NCORE_Q_ERROR, /* reported in the error queue */
	NCORE_Q_HUNG, /* says nothing, looks busy: only a fault does this */
};

struct ncore_queue {
	uint8_t engine, index;
	uint8_t lane; /* where it is ready or stalled; changes under chip->lock */
	uint8_t home; /* where a doorbell from the host puts it */
	uint8_t state; /* enum ncore_queue_state, under chip->lock */
	uint8_t stall_engine; /* the FIFO it waits for */
	_Atomic uint8_t stopped; /* enum ncore_queue_stop */
	_Atomic uint8_t domain; /* guard.c */
	_Atomic bool hosted; /* rung by the host: it takes no part of what lanes account for */
	bool in_packet;
	uint16_t packet_descs[NCORE_HALVES];
	uint64_t step_bytes; /* copied in this step */
	_Atomic uint64_t time; /* virtual: when it goes on */
	struct ncore_ring ring[NCORE_HALVES];
	struct ncore_transfers *made; /* by instructions */
	struct ncore_queue *next; /* ready, taken or stalled list */
};

struct ncore_queue_list {
	struct ncore_queue *first, *last;
	_Atomic unsigned int count;
};

/* Register words of a UDMA engine that are not a queue's; udma.c maps offsets onto them */
#define NCORE_UDMA_WORDS 3136

/*
 * An engine. Until something is written to it (used) it is all zero, whatever a reset makes of
 * others, and reads as they do: a chip has many that nobody uses, and their pages stay untouched.
 */
struct ncore_udma {
	_Atomic bool used; /* set under chip->lock */
	_Atomic bool disabled;
	ncore_reg tdma[64];
	struct ncore_queue queue[NCORE_QUEUES];
	struct ncore_transfers made[NCORE_QUEUES];
	/* one word of all rings, then the next: drivers that initialise an engine write one of each
	 */
	ncore_reg ring_reg[NCORE_RING_WORDS][NCORE_QUEUES][NCORE_HALVES];
	ncore_reg reg[NCORE_UDMA_WORDS];
	/* at the end: only queues that work touch their part */
	struct ncore_ring_work work[NCORE_QUEUES][NCORE_HALVES];
	struct ncore_transfer transfer[NCORE_QUEUES][NCORE_TRANSFERS];
};

static inline ncore_reg *ncore_ring_reg(const struct ncore_ring *r, uint32_t offset)
{
	return r->reg + (size_t)offset / 4 * NCORE_QUEUES * NCORE_HALVES;
}

/* Writes of 32-bit words to what another lane owns, or from an instruction to the rest of the chip */
struct ncore_post {
	uint64_t addr; /* local device address */
	uint32_t value;
	uint64_t time;
};

#define NCORE_INBOX 256
#define NCORE_OUTBOX 64

/*
 * When what a lane's transfers share is free again: they take it one after the other. What lanes
 * share with each other is divided among them (struct neuron_costs), so that no lane's times depend
 * on how far another one is.
 */
struct ncore_shared {
	uint64_t *dma; /* each UDMA engine */
	uint64_t way[NCORE_WAYS];
};

struct ncore_lane {
	struct ncore_chip *chip;
	unsigned int index;
	struct tpb *tpb; /* NULL: the host's lane */

	bool running; /* chip->lock */
	_Atomic unsigned int stops; /* lane_stop nesting: no new execution, and leave soon */
	struct ncore_queue_list ready; /* chip->lock */
	struct ncore_queue_list taken; /* ready ones, the executor's; empty while it is stopped */
	struct ncore_queue_list stalled; /* the executor, or chip->lock while stopped */
	struct ncore_queue *left; /* a ready one, in the middle of its packet: the next to go on */
	struct ncore_shared shared; /* the executor, or chip->lock while stopped */
	struct ncore_streams *streams; /* the executor; NULL: the chip has none */
	bool ran; /* instructions since the last rest: the core's memories may be dirty */

	struct {
		pthread_mutex_t lock;
		_Atomic unsigned int count;
		unsigned int first;
		struct ncore_post post[NCORE_INBOX];
	} inbox;
	unsigned int out_count; /* the executor */
	struct ncore_post out[NCORE_OUTBOX];

	/* pool->lock */
	bool queued, in_worker, again;
	struct ncore_lane *pool_next;
};

struct ncore_nq {
	uint32_t index, lap, head;
	bool head_known, overflowed;
};

/* The notification queues of a core, or of a TOP_SP */
struct ncore_nqs {
	ncore_reg *reg; /* words of their block, from offset first on */
	uint32_t first, words;
	struct ncore_nq nq[NEURON_NQ_MAX]; /* chip->nq_lock; numbered by the generation */
	struct ncore_guard_hit hit; /* nq_lock */
	unsigned int core; /* whose counts, vector and domain they have */
};

struct ncore_topsp {
	struct ncore_nqs nqs;
	bool used; /* not as a reset leaves it */
	struct tpb_words *words; /* in pages of their own: those of who is not used stay untouched */
};

struct ncore_core {
	struct tpb *tpb;
	struct ncore_mem sbuf, psum;
	struct ncore_nqs nqs;
	ncore_reg nq_overflows;
	ncore_reg nq_entries; /* written under nq_lock */
	bool irq_armed; /* nq_lock: the next entry raises the core's vector */
	_Atomic uint64_t told; /* latest time of what the host knows of it, who acts after that */
	_Atomic uint64_t dma_bytes, dma_descs;
	_Atomic uint64_t streams[NEURON_PERF_STREAMS]; /* in the order of their registers */
};

/* Occasions that are left for a fault: skip pass, then left strike */
struct ncore_fault_slot {
	uint64_t skip, left, fired;
	uint32_t value;
	uint8_t core; /* NCORE_CORE_ANY */
	uint8_t queue; /* enum ncore_fault_queue */
	uint8_t memory; /* of DRAM, NCORE_MEMORY_ANY */
};

#define NCORE_CORE_ANY UINT8_MAX
#define NCORE_MEMORY_ANY UINT8_MAX
enum ncore_fault_queue { NCORE_FQ_ANY, NCORE_FQ_COPY, NCORE_FQ_PROGRAM };

struct ncore_faults {
	_Atomic uint32_t
		injected; /* a bit for each fault that is: all that a path without faults reads */
	pthread_mutex_t lock;
	struct ncore_fault_slot slot[NCORE_FAULT_COUNT];
};

struct ncore_chip {
	struct ncore_chip_config cfg;
	const struct neuron_gen *gen;
	const struct ncore_host_ops *ops;
	uint64_t event_mask;

	pthread_mutex_t lock;
	pthread_cond_t cond; /* a lane stopped, or has nothing to do */
	unsigned int paused;
	_Atomic bool up; /* not resetting: neighbours may reach it */
	struct ncore_end end; /* what they reach: link.c */
	ncore_reg links; /* a bit for each port that is up; written under the fabric's lock */

	unsigned int nqs; /* notification queues of a core */
	uint32_t nq_regs[NEURON_NQ_MAX]; /* offset of each one's registers */
	struct ncore_mem dram;
	uint64_t sbuf_stride, psum_stride; /* of partitions in the host's memory */
	uint64_t own_window; /* in which any chip of the instance finds it, or 0 */
	uint32_t way_kib[NCORE_WAYS]; /* picoseconds of a KiB */
	struct ncore_core *core; /* gen->cores */
	unsigned int topsps;
	struct ncore_topsp *topsp; /* their words: topsp_lock */
	struct tpb_words *topsp_words;
	pthread_mutex_t topsp_lock;
	struct ncore_udma *udma; /* gen->dma_engines */
	ncore_reg *kept; /* words of NEURON_BLOCK_KEPT, in the order of their rows */
	unsigned int kepts;
	unsigned int lanes;
	struct ncore_lane *lane; /* one for each core, then the host's */
	ncore_reg misc[NEURON_MISC_RAM_SIZE / 4];
	bool reset_armed;
	pthread_mutex_t nq_lock;
	struct {
		_Atomic bool on;
		ncore_reg root[2], core[NEURON_CORES_MAX];
		ncore_reg generation; /* of what was granted; not saved */
	} guard; /* written with all lanes stopped */
	_Atomic uint64_t guest_errors[NCORE_GE_COUNT];
	_Atomic uint64_t sensor[NCORE_SENSOR_COUNT];
	ncore_reg power_samples;
	struct ncore_faults faults;
	uint8_t fwio[NEURON_FWIO_BUF_SIZE]; /* chip->lock */
};

/* chip.c */
void ncore_event_send(struct ncore_chip *chip, enum ncore_event ev, uint64_t a, uint64_t b,
		      uint64_t c, uint64_t d);
void ncore_guest_error(struct ncore_chip *chip, enum ncore_guest_error kind, uint64_t where,
		       uint64_t value);
void ncore_reset_queues(struct ncore_chip *chip); /* all registers but misc; lanes are stopped */
void ncore_reset_device(struct ncore_chip *chip); /* chip->lock */
void ncore_reset_cores(struct ncore_chip *chip, unsigned int map); /* chip->lock */

/* fault.c */
#define NCORE_FAULT_BIT(fault) (1u << NCORE_FAULT_##fault)
void ncore_faults_init(struct ncore_chip *chip);
/* An occasion of an injected fault; true when it strikes. core NCORE_CORE_ANY: of none */
bool ncore_fault_occasion(struct ncore_chip *chip, enum ncore_fault fault, unsigned int core,
			  enum ncore_fault_queue queue);
/* What becomes of the queue whose next descriptor reads addr; *code: of an error */
enum ncore_queue_stop ncore_fault_desc(struct ncore_chip *chip, const struct ncore_queue *q,
				       uint64_t addr, uint16_t *code);
/* The same of an instruction; datapath: it reads SBUF or PSUM */
enum tpb_fault ncore_fault_insn(struct ncore_chip *chip, unsigned int core, bool datapath);
bool ncore_fault_value(struct ncore_chip *chip, enum ncore_fault fault, uint32_t *value);

static inline bool ncore_fault_injected(struct ncore_chip *chip, uint32_t bits)
{
	return atomic_load_explicit(&chip->faults.injected, memory_order_relaxed) & bits;
}

/* memory.c */
int ncore_mem_alloc(struct ncore_chip *chip, const char *name, uint64_t size,
		    struct ncore_mem *mem);
void ncore_mem_free(struct ncore_chip *chip, struct ncore_mem *mem);
void ncore_mem_clear(struct ncore_chip *chip, struct ncore_mem *mem);
/* Into memory of a chip, from anywhere: zeros leave what was never touched as it is */
void ncore_mem_copy(void *dst, const void *src, uint64_t len);
void ncore_mem_dirty(struct ncore_chip *chip, const struct ncore_mem *mem, const void *ptr,
		     uint64_t len);

/* mmio.c: a register outside the cores' windows; reads take no lock */
ncore_reg *ncore_kept(struct ncore_chip *chip, unsigned int index); /* block index's words */
uint32_t ncore_reg_read(struct ncore_chip *chip, const struct neuron_place *at);
/* a write from a descriptor: doorbells and plain words of MISC RAM. 0 or -EACCES. Takes chip->lock */
int ncore_reg_post(struct ncore_chip *chip, struct ncore_lane *lane, uint64_t local, uint32_t value,
		   uint64_t time);
/* what a guest did wrong with a register: told by its offset in the register BAR */
void ncore_reg_error(struct ncore_chip *chip, enum ncore_guest_error kind,
		     enum neuron_block_kind block, unsigned int index, uint64_t rel,
		     uint32_t value);

/* array.c: counters of a core's tensor engine */
uint32_t ncore_array_read(struct ncore_chip *chip, unsigned int nc, uint32_t rel);

uint64_t ncore_sensor_max(enum ncore_sensor sensor);

/* misc.c: MISC RAM, reset protocol, the extension's registers; fwio.c: the mailbox */
uint32_t ncore_misc_read(struct ncore_chip *chip, uint32_t rel);
void ncore_misc_write(struct ncore_chip *chip, uint32_t rel, uint32_t value);
bool ncore_misc_plain(struct ncore_chip *chip, uint32_t rel);
void ncore_misc_reset(struct ncore_chip *chip, bool power);
bool ncore_misc_resetting(struct ncore_chip *chip); /* a device reset hangs */
uint32_t ncore_ext_read(struct ncore_chip *chip, uint32_t rel);
bool ncore_ext_write(struct ncore_chip *chip, uint32_t rel, uint32_t value); /* false: read-only */
void ncore_fwio_doorbell(struct ncore_chip *chip);
/* Does the firmware take requests from MISC RAM's words, too? */
static inline bool ncore_fwio_words(const struct ncore_chip *chip)
{
	return chip->cfg.firmware_version >= NEURON_FIRMWARE_WORDS;
}

/* udma.c; chip->lock is held for all but reads */
/* an engine as it is after a reset; use: the chip's, before anything in it changes */
void ncore_udma_init(struct ncore_chip *chip, struct ncore_udma *u, unsigned int engine);
struct ncore_udma *ncore_udma_use(struct ncore_chip *chip, unsigned int engine);
uint32_t ncore_udma_read(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
void ncore_udma_write(struct ncore_chip *chip, unsigned int engine, uint32_t rel, uint32_t value);
bool ncore_udma_is_doorbell(uint32_t rel);
struct ncore_queue *ncore_udma_queue(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
/* by a core or a descriptor (lane), or the host (NULL), which has no time but what it was told */
void ncore_udma_ring(struct ncore_chip *chip, struct ncore_lane *lane, unsigned int engine,
		     uint32_t rel, uint32_t count, uint64_t time);
/* lanes are stopped; reset clears all of an engine, rest leaves what software configured */
void ncore_udma_reset(struct ncore_chip *chip, unsigned int engine);
void ncore_udma_rest(struct ncore_chip *chip, unsigned int engine);
/* lane is stopped; both forget what was rung and keep the rings in step */
void ncore_queue_abort(struct ncore_chip *chip, struct ncore_queue *q);
void ncore_queue_rest(struct ncore_chip *chip, struct ncore_queue *q); /* and it may run again */
bool ncore_queue_runnable(struct ncore_chip *chip, struct ncore_queue *q);
ncore_reg *ncore_udma_word(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
/* Word number n of an engine, in the order of their offsets */
ncore_reg *ncore_udma_word_at(struct ncore_udma *udma, unsigned int n);

/* chip->lock: a queue of a core that may go on in the core's lane */
struct ncore_lane *ncore_queue_start(struct ncore_chip *chip, struct ncore_queue *q,
				     unsigned int lane);

/* dma.c: what an executing lane does with one queue */
enum ncore_step {
	NCORE_STEP_PACKET, /* a packet is complete */
	NCORE_STEP_STARVED, /* no credit in a half; or stopped */
	NCORE_STEP_STALLED, /* stall_engine's FIFO of this lane is full */
	NCORE_STEP_MOVE, /* must go on in lane *move */
	NCORE_STEP_RETRY, /* another lane's inbox is full */
	NCORE_STEP_LEAVE, /* budget used or the lane is to stop: the packet goes on later */
};
struct ncore_budget {
	int64_t bytes, descs;
	uint64_t until_ns; /* of the monotonic clock, in a thread with other things to do; or 0 */
};
/* packets up to one that is not before other's, or its start not before the next instruction's */
enum ncore_step ncore_queue_step(struct ncore_lane *lane, struct ncore_queue *q,
				 const struct ncore_queue *other, struct ncore_budget *budget,
				 unsigned int *move);

/* lane.c */
int ncore_lane_init(struct ncore_chip *chip, unsigned int index); /* 0 or -ENOMEM */
void ncore_lane_fini(struct ncore_lane *lane);
void ncore_lane_stop(struct ncore_lane *lane); /* chip->lock; waits for a boundary */
void ncore_lane_start(struct ncore_lane *lane); /* chip->lock; undoes one stop */
void ncore_lane_kick(struct ncore_lane *lane);
bool ncore_lane_has_work(struct ncore_lane *lane); /* chip->lock, not running */
void ncore_lane_drain(struct ncore_lane *lane); /* executor, or chip->lock while stopped */
void ncore_lane_sync(struct ncore_lane *lane); /* chip->lock: what was posted is visible */
/* executor: the time from which on another queue, other or none, or an engine comes before q */
uint64_t ncore_lane_until(const struct ncore_lane *lane, const struct ncore_queue *q,
			  const struct ncore_queue *other);
void ncore_lane_reset(struct ncore_lane *lane); /* stopped: forgets posts and what was in use */
int ncore_lane_post(struct ncore_lane *lane, const struct ncore_post *post); /* 0 or -EAGAIN */
int ncore_lane_out(struct ncore_lane *lane, uint64_t addr, uint32_t value, uint64_t time);
/*
 * Of an instruction, in the device's memory: what is fetched, or NULL; what is read or written, or,
 * with buf NULL, only asked for, 0 or -EACCES
 */
const uint8_t *ncore_lane_window(struct ncore_lane *lane, uint64_t addr, uint64_t len);
int ncore_lane_memory(struct ncore_lane *lane, uint64_t addr, void *buf, uint64_t len, bool write);
bool ncore_lane_work(struct ncore_lane *lane); /* a worker's turn; true: has more */
/* chip->lock is held and dropped meanwhile: small work of the lane, in the caller's thread */
void ncore_lane_inline(struct ncore_lane *lane);
void ncore_list_add(struct ncore_queue_list *list, struct ncore_queue *q, bool front);
void ncore_list_del(struct ncore_queue_list *list, struct ncore_queue *q);

/* pool.c */
void ncore_pool_submit(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_lend(struct ncore_lane *lane); /* ncore_core_lend() and what follows it */
bool ncore_pool_lent(const struct ncore_lane *lane); /* this thread lends itself to it */
bool ncore_pool_work(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_leave(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_cancel(struct ncore_pool *pool, struct ncore_lane *lane); /* waits */

/* link.c: the chip as the end of a link */
struct ncore_chip *ncore_chip_of(struct ncore_end *end);
int ncore_link_attach(struct ncore_chip *chip);
void ncore_link_detach(struct ncore_chip *chip);
/* chip->up changed: tells the neighbours, and accesses of theirs in flight are over on return */
void ncore_link_sync(struct ncore_chip *chip);
void ncore_link_lock(struct ncore_chip *chip); /* for reading; not nested */
void ncore_link_unlock(struct ncore_chip *chip);
/* the other end of a port, or NULL; the lock is held */
struct ncore_end *ncore_link_peer(struct ncore_chip *chip, unsigned int port);
/* The chip in a slot, however far; NULL: no way leads there. The first port of the way, its links */
struct ncore_end *ncore_link_far(struct ncore_chip *chip, unsigned int slot, unsigned int *port,
				 unsigned int *links);

/* route.c */
bool ncore_find(struct ncore_chip *chip, uint64_t local, struct neuron_place *at);
/* addr in chip's own map, no window bits but aliases; 0 or -EFAULT */
int ncore_route_local(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep);
/* host and local windows only; for rings, notification queues */
int ncore_route_own(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep);
/* MEM and HOST endpoints; 0 or -EFAULT */
int ncore_ep_rw(struct ncore_chip *chip, const struct ncore_ep *ep, void *buf, uint64_t len,
		bool write);
int ncore_device_read32(struct ncore_chip *chip, uint64_t addr, uint32_t *value);
/* a word of a core (word.h) from outside its lane, or another chip: 0, or -EAGAIN when the inbox is
 * full */
int ncore_core_word_post(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time);
/*
 * Copy up to len bytes as far as they lie together: *done. 0, -EFAULT with *bad the address,
 * -EAGAIN (stall: *why says which).
 */
struct ncore_copy {
	uint64_t src, dst, len;
	uint64_t time;
	uint8_t domain;
	bool shares; /* it takes its part of what others use */
	struct ncore_guard_hit *src_hit, *dst_hit;
	uint64_t done;
	uint8_t from, to; /* NCORE_WAY_*: what the bytes went through */
	unsigned int beyond; /* links behind those, one after another */
	uint64_t bad;
	enum ncore_step why;
	unsigned int move, stall_engine;
};
int ncore_copy(struct ncore_lane *lane, struct ncore_copy *copy);
/*
 * len bytes of memory, the chip's, a neighbour's or the host's, across whatever borders lie in it.
 * Sets copy->from or, of a write, copy->to to what they went through; -EFAULT: copy->bad is refused.
 */
int ncore_access(struct ncore_lane *lane, struct ncore_copy *copy, uint64_t addr, void *buf,
		 uint64_t len, bool write);

/* False: none of the chip's memories lies there, as behind a window */
bool ncore_plain_find(struct ncore_chip *chip, uint64_t addr, struct ncore_plain *plain);
/* len bytes in one part, or NULL */
static inline uint8_t *ncore_plain_at(const struct ncore_plain *p, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - p->address, in = off & ((1ull << p->shift) - 1);

	return off < p->size && in < p->part && len <= p->part - in
		       ? p->ptr + (off >> p->shift) * p->stride + in
		       : NULL;
}

/* topsp.c */
void ncore_topsp_init(struct ncore_chip *chip);
void ncore_topsp_reset(struct ncore_chip *chip, unsigned int topsp);
uint32_t ncore_topsp_sem_at(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			    uint64_t time);
/* at a time or as tpb_words_sem_when() and tpb_words_event_when() say, which they return */
uint64_t ncore_topsp_update(struct ncore_chip *chip, unsigned int topsp, enum tpb_sem_op op,
			    unsigned int index, uint32_t value, uint64_t time);
uint64_t ncore_topsp_put(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			 uint32_t value, uint64_t time);

/* guard.c: what a domain may reach; an executor asks, or a writer of notifications */
uint8_t ncore_guard_queue_domain(struct ncore_chip *chip, struct ncore_queue *q);
uint8_t ncore_guard_core_domain(struct ncore_chip *chip, unsigned int core);
/* 0, with *len cut to what lies together, or -EACCES */
int ncore_guard_ep(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		   const struct ncore_ep *ep, uint64_t *len);
bool ncore_guard_whole(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		       const struct ncore_ep *ep, uint64_t len);
bool ncore_guard_core(struct ncore_chip *chip, uint8_t domain, unsigned int core);
/* a memory of the chip: core's, or DRAM with NCORE_EP_NO_CORE */
bool ncore_guard_memory(struct ncore_chip *chip, uint8_t domain, unsigned int core);
/* may a word be written: semaphores and events of the domain's cores, doorbells of its queues */
bool ncore_guard_word(struct ncore_chip *chip, uint8_t domain, uint64_t local);
bool ncore_guard_read(struct ncore_chip *chip, uint32_t rel,
		      uint32_t *value); /* false: not the guard's */
bool ncore_guard_write(struct ncore_chip *chip, uint32_t rel, uint32_t value); /* chip->lock */
void ncore_guard_reset(struct ncore_chip *chip); /* lanes are stopped */

/* notify.c: unit is a core's number or, behind those of all cores, a TOP_SP's */
void ncore_nq_reg_written(struct ncore_chip *chip, unsigned int unit, uint32_t rel);
void ncore_nq_reset(struct ncore_chip *chip, unsigned int unit);
void ncore_irq_arm(struct ncore_chip *chip, unsigned int core, uint32_t seen);
void ncore_irq_reset(struct ncore_chip *chip);
/* the host knows what happened on a core up to a time; any thread */
void ncore_told(struct ncore_chip *chip, unsigned int core, uint64_t time);
void ncore_notify(struct ncore_chip *chip, unsigned int unit, unsigned int type,
		  unsigned int engine, uint16_t code, uint32_t id, uint64_t data, uint32_t data2,
		  uint64_t time);

/* Most are not wanted, and copies have many */
static inline void ncore_event(struct ncore_chip *chip, enum ncore_event ev, uint64_t a, uint64_t b,
			       uint64_t c, uint64_t d)
{
	if (chip->event_mask >> ev & 1)
		ncore_event_send(chip, ev, a, b, c, d);
}

static inline uint32_t ncore_get32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t ncore_get64(const void *p)
{
	return ncore_get32(p) | (uint64_t)ncore_get32((const uint8_t *)p + 4) << 32;
}

static inline void ncore_put32(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)(v >> 16);
	b[3] = (uint8_t)(v >> 24);
}

static inline void ncore_put64(void *p, uint64_t v)
{
	ncore_put32(p, (uint32_t)v);
	ncore_put32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline bool ncore_is_host(const struct ncore_chip *chip, uint64_t addr)
{
	return (addr & chip->gen->window.mask) == chip->gen->window.host;
}

/* Whether the endpoint is reached through a port */
static inline bool ncore_is_remote(const struct ncore_chip *chip, uint64_t addr)
{
	uint64_t window = addr & chip->gen->window.mask;

	return window && window != chip->gen->window.host && window != chip->own_window;
}

static inline struct ncore_lane *ncore_host_lane(struct ncore_chip *chip)
{
	return &chip->lane[chip->gen->cores];
}

static inline uint32_t ncore_load(const ncore_reg *r)
{
	return atomic_load_explicit((ncore_reg *)r, memory_order_relaxed);
}

static inline void ncore_store(ncore_reg *r, uint32_t v)
{
	atomic_store_explicit(r, v, memory_order_relaxed);
}

#endif
