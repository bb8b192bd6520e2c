/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the neuron kernel module: its objects. What its files offer each other is in headers
 * of the same names; who calls whom goes one way (docs/architecture.md, The module's files).
 *
 * Objects and lifetimes
 *   neuron_device  one chip. Referenced by the PCI driver, by each open file and by each memory
 *                  chunk; the structure outlives the PCI function, everything behind it does not.
 *   neuron_file    one open file description, attached (O_RDWR, O_RDONLY) or free (O_WRONLY).
 *   neuron_proc    a slot of the device: one process with at least one attached file. When its
 *                  last file goes, or the process exits, everything it owned is taken back.
 *   neuron_mc      a memory chunk. A handle, each queue or NQ that uses it, and each mapping hold a
 *                  reference; the memory is given back with the last one.
 *
 * Locks, outermost first
 *   nd->srcu        every entry from user space; remove() marks the device dead and drains it
 *   nd->reset_sem   read: uses DMA, queues or the mailbox; write: reset, taking a process down
 *   h2t->op_lock    one synchronous operation on a copy ring
 *   h2t->async_lock the two asynchronous contexts of a copy ring
 *   mmap_lock       (the kernel's) never taken under anything below. A page of user memory is
 *                   waited for with none of all these held (neuron_user.c)
 *   p2p_lock        registered bus addresses; not held while an owner is told
 *   nd->lock        process slots, handles, chunks, pools, queue and core owners, NQs, NDS, CINIT
 *   h2t->ring_lock  descriptors and contexts of a copy ring
 *   nd->health.lock  what the last look at the chip found
 *   nd->fwio_lock   the mailbox
 *   nd->dump.lock   the last hang dump, and making it a device coredump
 *   nd->notify_lock whether the sysfs tree is there
 *   nd->stats_lock  (spin) sysfs counters
 * neuron_table_lock (device table, files, range marks) is taken outside nd->lock and never together
 * with nd->reset_sem for writing.
 */
#ifndef NEURON_DEVICE_H
#define NEURON_DEVICE_H

#include <linux/cdev.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../hal/hal.h"
#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"
#include "neuron_hwerr.h"

struct gen_pool;
struct neuron_device;
struct neuron_mc;
struct neuron_ring;
struct neuron_sysfs;

#define QUEUE_COUNT NEURON_DMA_QUEUES_PER_ENG
#define POOLS_PER_MEMORY_MAX 4 /* its regions, and one of small chunks where they are apart */
#define POOLS_MAX (NEURON_MEMORIES_MAX * POOLS_PER_MEMORY_MAX)

enum neuron_state {
	NEURON_STATE_RESET = 0,
	NEURON_STATE_READY = 1,
	NEURON_STATE_INVALID = 2,
};

struct neuron_proc {
	pid_t tgid; /* 0: free slot */
	unsigned int opens;
	u8 domain; /* the guard's number for the process */
	bool exiting; /* being taken down: keeps the slot, grants nothing */
	bool lost; /* what it had on the chip is gone: may only close */
	int async_over[NEURON_CORES_MAX]
		      [NEURON_DMA_H2T_CTX_HANDLE_ASYNC2 + 1]; /* unwaited: 1, -errno */
};

struct neuron_irq {
	struct neuron_device *nd;
	unsigned int nc;
	u32 entries; /* of the core's notification queues, as last read from the chip */
	wait_queue_head_t wait;
};

/* A queue of an engine of copies that a process asked for, neuron_h2tq.c */
struct neuron_asked {
	pid_t by; /* 0: nobody */
	u8 nc;
	struct neuron_ring *ring; /* NULL: the process sets it up itself */
};

struct neuron_queue {
	struct neuron_asked asked;
	pid_t owner;
	u8 domain; /* by which the guard knows it */
	u8 nc; /* that it goes with */
	bool used;
	struct neuron_mc *tx, *rx;
	u32 tx_len, rx_len;
	u32 acked;
};

struct neuron_nq {
	struct neuron_mc *mc;
	pid_t owner;
};

struct neuron_nds {
	struct neuron_mc *mc;
	pid_t pid; /* 0: free */
	u64 released; /* order of release, the oldest is reused first */
	u64 seen[NEURON_CORES_MAX][NDS_EXT_NC_COUNTER_LAST];
};

struct neuron_crwl {
	u8 uuid[32];
	pid_t writer;
	bool writing;
	unsigned int readers;
};

struct neuron_ctx {
	bool busy;
	pid_t tgid;
	u64 deadline; /* ktime_get_ns() */
	unsigned int descs; /* of its batch */
	unsigned int generation; /* of the ring it was submitted to */
	struct neuron_mc *src, *dst; /* asynchronous copies */
};

struct neuron_h2t {
	struct neuron_device *nd;
	unsigned int nc, qid;
	struct mutex op_lock; /* one synchronous operation: bounce buffer, contexts 0, 3 */
	struct mutex async_lock; /* contexts 1 and 2 */
	struct mutex ring_lock; /* ring, generation, ready */
	struct nhal_h2t ring;
	struct nhal_h2t_mem mem;
	bool ready;
	unsigned int generation;
	struct neuron_ctx ctx[NHAL_H2T_CONTEXTS];
	void *page; /* one coherent block: rings, completion, bounce buffer */
	dma_addr_t page_dma;
	size_t page_size;
	void *bounce; /* the core's own ring has one, those that processes ask for have none */
	u64 bounce_addr;
};

struct neuron_counter {
	u64 total, present, peak;
};

#define NEURON_HOST_KINDS 8
#define NEURON_DEVICE_KINDS 11

struct neuron_stats {
	struct neuron_counter nds[NEURON_CORES_MAX][NDS_EXT_NC_COUNTER_LAST];
	struct neuron_counter device_mem[NEURON_CORES_MAX][NEURON_DEVICE_KINDS];
	struct neuron_counter device_all[NEURON_CORES_MAX];
	struct neuron_counter host_all[NEURON_CORES_MAX];
	struct neuron_counter host_mem[NEURON_HOST_KINDS];
	struct neuron_counter reset_req[NEURON_CORES_MAX];
	struct neuron_counter reset_fail[NEURON_CORES_MAX];
};

#define NEURON_DIES_MAX 2

struct neuron_power {
	u32 word[NEURON_DIES_MAX]; /* what the last look found */
	unsigned int samples, min, max;
	u64 sum;
	u32 last;
	bool supported, refused;
	time64_t minute;
	char line[80];
};

/* Errors that a memory counted */
struct neuron_ecc {
	u32 corrected, uncorrected;
	u32 repairable; /* of the uncorrected ones */
};

#define NEURON_ECC_MEMORIES_MAX (1 + NEURON_MEMORIES_MAX) /* SRAM, then the chip's memories */

struct neuron_health {
	bool link[NEURON_PORTS_MAX]; /* enum neuron_link_side */
	struct neuron_ecc ecc[NEURON_ECC_MEMORIES_MAX]; /* enum neuron_ecc_memory */
	u32 firmware; /* its version */
	u32 repair; /* NEURON_REPAIR_*, of memories */
	bool silent; /* the firmware gave no answer to the last look */
	u32 events; /* looks that found other errors or another repair than the one before */
	u64 looks; /* that were answered */
};

struct neuron_health_poll {
	struct mutex lock; /* known, last, and power but for its line */
	struct delayed_work work;
	struct neuron_health last;
	bool known;
	bool silent; /* the work's own: the firmware gave no answer */
	void (*each)(struct neuron_device *nd); /* what else is done at each look */
};

/* The dump of the state after the last hang */
struct neuron_dump {
	struct mutex lock; /* data, size */
	void *data;
	size_t size;
	atomic_t count;
};

struct neuron_device {
	struct kref ref;
	struct pci_dev *pdev;
	int index;
	struct device *dev;
	struct cdev *cdev;
	struct inode *inode; /* of the first open: its mapping serves all files */

	struct srcu_struct srcu;
	bool dead; /* no new entries */
	bool gone; /* hardware is absent */
	bool finish; /* a signal does not end the waiting for hardware */

	const struct neuron_gen *gen;
	void __iomem *regs, *cores; /* BARs */
	void __iomem *ext; /* the emulator's own registers; NULL: there are none to use */
	u64 regs_len, cores_len;
	phys_addr_t dram_base;
	u64 dram_len;
	struct nhal hal;
	void *fwio_buf;
	dma_addr_t fwio_dma;
	struct mutex fwio_lock; /* hal mailbox */

	struct rw_semaphore reset_sem;
	enum neuron_state state;
	wait_queue_head_t wait; /* state, reset requests, CRWL, CINIT */
	atomic_t changes; /* how often one of them changed */
	struct work_struct reset_work;
	struct list_head reset_reqs; /* nd->lock */
	struct neuron_health_poll health;
	u64 serial; /* 0 before the first look */
	struct neuron_power power;
	struct device *hwmon; /* NULL: the kernel has none */
	struct neuron_dump dump;
	struct neuron_hwerr_limits hwerr;

	struct mutex lock; /* all from here to h2t */
	struct neuron_proc procs[NEURON_MAX_PROCESS_PER_DEVICE];
	struct rb_root chunks;
	struct list_head mcs;
	struct xarray handles;
	u32 next_handle, free_count, free_cap;
	u32 *free_stack;
	struct gen_pool *pools[POOLS_MAX];
	struct list_head scratch[POOLS_MAX]; /* contiguous scratchpads, lowest chunk first */
	unsigned long *used[POOLS_MAX]; /* pages that held someone's data */
	struct {
		pid_t running, waiter; /* who fills the memory, who may ask how it ended */
		int result;
	} scrub[NEURON_MEMORIES_MAX];
	struct neuron_queue (*queues)[QUEUE_COUNT]; /* of each DMA engine */
	pid_t core_owner[NEURON_CORES_MAX];
	u8 core_domain[NEURON_CORES_MAX]; /* by which the guard knows it */
	/* of each core, then of each TOP_SP */
	struct neuron_nq nqs[NEURON_CORES_MAX + NEURON_TOPSPS_MAX][NEURON_NQ_TYPES]
			    [NEURON_NQ_SLOTS_MAX];
	struct neuron_nds nds[NDS_ENTRIES_PER_DEVICE];
	u64 nds_released;
	u64 model_started[NEURON_CORES_MAX];
	u32 cinit[NEURON_CORES_MAX];
	pid_t cinit_by[NEURON_CORES_MAX]; /* who started */
	struct neuron_crwl crwl[NEURON_MAX_NC_PER_DEVICE];

	struct neuron_h2t h2t[NEURON_CORES_MAX];
	bool guarded; /* constant after probing */
	struct list_head guard_link;
	bool has_irqs;
	struct neuron_irq irqs[NEURON_CORES_MAX];
	void *dummy_ring; /* stopped queues point here */
	dma_addr_t dummy_dma;

	spinlock_t stats_lock; /* stats, power.line */
	struct neuron_stats stats;
	struct mutex notify_lock; /* sysfs: the tree is there */
	struct neuron_sysfs *sysfs;
	struct kobject *hardware; /* stats/hardware (not Inferentia), while sysfs is there */
};

/* The mask of all cores, as in nc_map */
static inline u32 neuron_cores_all(const struct neuron_device *nd)
{
	return BIT(nd->gen->cores) - 1;
}

/* A chip's life, neuron_device.c */
struct neuron_device *neuron_device_create(struct pci_dev *pdev, const struct neuron_gen *gen);
void neuron_device_destroy(struct neuron_device *nd);

#endif
