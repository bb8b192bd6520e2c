/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the neuron kernel module: its objects and the functions its files offer each other.
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
 *   nd->watch.lock  what the last look at the chip found
 *   nd->fwio_lock   the mailbox
 *   nd->dump.lock   the last hang dump, and making it a device coredump
 *   nd->notify_lock whether the sysfs tree is there
 *   nd->stats_lock  (spin) sysfs counters
 * neuron_table_lock (device table, files, range marks) is taken outside nd->lock and never together
 * with nd->reset_sem for writing.
 */
#ifndef NEURON_H
#define NEURON_H

#include <linux/cdev.h>
#include <linux/genalloc.h>
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
#include "uapi/neuron/neuron_netlink.h"
#include "neuron_compat.h"
#include "neuron_hwerr.h"
#include "neuron_user.h"

#define NEURON_DRIVER_VERSION "2.24.7.0"
#define NEURON_ABI_MIN 2
#define NEURON_ABI_MAX 7

#define QUEUE_COUNT NEURON_DMA_QUEUES_PER_ENG
#define REGION_COUNT 4 /* of each of the chip's memories, a pool each */
#define POOLS_MAX (NEURON_MEMORIES_MAX * REGION_COUNT)

struct neuron_device;

enum neuron_state {
	NEURON_STATE_RESET = 0,
	NEURON_STATE_READY = 1,
	NEURON_STATE_INVALID = 2,
};

enum neuron_lifespan {
	NEURON_LIFE_PROCESS, /* until the owner's last file goes */
	NEURON_LIFE_DEVICE,
};

struct neuron_mc {
	struct kref ref;
	struct neuron_device *nd;
	struct rb_node node; /* nd->chunks, by address */
	struct list_head link; /* nd->mcs, while it has a handle */
	u64 pa; /* device-side address, also the mmap offset */
	u64 size;
	void *va; /* host chunks */
	dma_addr_t dma;
	bool host;
	u8 pool;
	u8 nc;
	u8 type;
	u8 model_map; /* cores whose PE FIFO a descriptor in this chunk feeds */
	u8 domain; /* to which the guard grants it, 0: to none; neuron_guard.c */
	enum neuron_lifespan life;
	pid_t tgid;
	kuid_t uid;
	u32 handle; /* 0 once freed */
	struct list_head scratch; /* nd->scratch: a chunk of the contiguous scratchpad */
	struct neuron_mc *above; /* the owner's next one there, held; a span may go on in it */
	struct page *void_page; /* what mappings show once the chip has gone */
};

struct neuron_proc {
	pid_t tgid; /* 0: free slot */
	unsigned int opens;
	u8 domain; /* of the guard */
	bool exiting; /* being taken down: keeps the slot, grants nothing */
	bool lost; /* what it had on the chip is gone: may only close */
	int async_over[NEURON_CORES_MAX]
		      [NEURON_DMA_H2T_CTX_HANDLE_ASYNC2 + 1]; /* unwaited: 1, -errno */
};

struct neuron_file {
	struct neuron_device *nd;
	struct list_head link; /* neuron_files */
	pid_t tgid;
	bool free_access;
	bool detached;
	unsigned long watched; /* cores whose notification entries it has looked at */
	u32 seen[NEURON_CORES_MAX]; /* how many there were */
};

struct neuron_irq {
	struct neuron_device *nd;
	unsigned int nc;
	u32 entries; /* of the core's notification queues, as last read from the chip */
	wait_queue_head_t wait;
};

struct neuron_queue {
	pid_t owner;
	u8 domain; /* that the guard knows it by */
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

struct neuron_reset_req {
	struct list_head link;
	u32 id; /* tgid of the process, 0 for the driver's own */
	u32 nc_map;
	bool started;
	bool done;
	int result;
};

#define NEURON_CTX_SYNC0 0
#define NEURON_CTX_ASYNC1 1
#define NEURON_CTX_ASYNC2 2
#define NEURON_CTX_SYNC1 3
#define NEURON_BOUNCE_SIZE (128 * 1024)

struct neuron_ctx {
	bool busy;
	pid_t tgid;
	u64 deadline; /* ktime_get_ns() */
	unsigned int generation; /* of the ring it was submitted to */
	struct neuron_mc *src, *dst; /* asynchronous copies */
};

struct neuron_h2t {
	struct neuron_device *nd;
	unsigned int nc;
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
	void *bounce;
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

struct neuron_power {
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
};

#define NEURON_ECC_MEMORIES_MAX (1 + NEURON_MEMORIES_MAX) /* SRAM, then the chip's memories */

struct neuron_health {
	bool link[NEURON_PORTS_MAX]; /* enum neuron_link_side */
	struct neuron_ecc ecc[NEURON_ECC_MEMORIES_MAX]; /* enum neuron_ecc_memory */
};

struct neuron_watch {
	struct mutex lock; /* known, last, and power but for its line */
	struct delayed_work work;
	struct neuron_health last;
	bool known;
	bool silent; /* the work's own: the firmware gave no answer */
	void (*each)(struct neuron_device *nd); /* what else is done at each look */
};

/* The state after the last hang */
struct neuron_dump {
	struct mutex lock; /* data, size */
	void *data;
	size_t size;
	atomic_t count;
};

struct neuron_sysfs;

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
	void __iomem *ext; /* the emulator's own registers, in one of them */
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
	struct neuron_watch watch;
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
	struct neuron_queue (*queues)[QUEUE_COUNT]; /* of each DMA engine */
	pid_t core_owner[NEURON_CORES_MAX];
	u8 core_domain[NEURON_CORES_MAX]; /* that the guard knows it by */
	struct neuron_nq nqs[NEURON_CORES_MAX][NEURON_NQ_TYPES][NEURON_ENGINES_MAX];
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
};

#define NEURON_DUMMY_RING_LEN 64

/* neuron_params.c */
extern int neuron_no_reset;
extern int neuron_wc_enable;
int neuron_params_check(void);
u64 neuron_chunk_size(u64 size); /* rounded up to the granularity of chunks */

/* All cores, as in nc_map */
static inline u32 neuron_cores_all(const struct neuron_device *nd)
{
	return BIT(nd->gen->cores) - 1;
}

struct neuron_device *neuron_device_create(struct pci_dev *pdev, const struct neuron_gen *gen);
void neuron_device_destroy(struct neuron_device *nd);

/* neuron_gate.c */
extern struct mutex neuron_table_lock;
void neuron_device_list(struct neuron_device *nd, bool there);
void neuron_file_add(struct neuron_file *nf); /* neuron_table_lock held */
bool neuron_files_have(pid_t tgid, bool free_only);
struct neuron_device *neuron_device_get(struct neuron_device *nd);
void neuron_device_put(struct neuron_device *nd);
struct neuron_device *neuron_device_find(int index);
unsigned int neuron_device_count(void);
int neuron_enter(struct neuron_device *nd);
/*
 * Waiting for something under nd->lock: remember neuron_changes(), look, then wait until there was
 * a change. 0, -EINTR, -ENODEV, or -ETIMEDOUT when *left (jiffies) has run out.
 */
void neuron_changed(struct neuron_device *nd);
unsigned int neuron_changes(struct neuron_device *nd);
int neuron_wait_change(struct neuron_device *nd, unsigned int seen, long *left);
void neuron_exit(struct neuron_device *nd, int idx);
/* Wait until no device of the system is in its first reset; bounded */
int neuron_wait_all_ready(void);

/* neuron_cdev.c */
int neuron_cdev_init(void);
void neuron_cdev_exit(void);
int neuron_cdev_add(struct neuron_device *nd);
void neuron_cdev_del(struct neuron_device *nd);
extern const struct file_operations neuron_fops;

/* neuron_proc.c */
struct neuron_proc *neuron_proc_find(struct neuron_device *nd, pid_t tgid);
int neuron_proc_attach(struct neuron_device *nd);
void neuron_proc_detach(struct neuron_device *nd, pid_t tgid);
void neuron_proc_remove_all(struct neuron_device *nd);
/*
 * Gate: the calling process is attached. An answer given under nd->lock (the first form) or
 * nd->reset_sem holds for as long: taking a process down waits for both.
 */
bool neuron_attached_locked(struct neuron_device *nd);
bool neuron_attached(struct neuron_device *nd);
/* The calling process had something on the chip before its power went */
bool neuron_lost(struct neuron_device *nd);
/* Claim a core for the calling process; nd->lock held. -EACCES when another has it */
int neuron_core_claim(struct neuron_device *nd, unsigned int nc);

/* neuron_fwio.c */
int neuron_fwio_init(struct neuron_device *nd, u32 features);
void neuron_fwio_exit(struct neuron_device *nd);
int neuron_reg_read(struct neuron_device *nd, const u64 *addr, u32 *value, unsigned int n);
int neuron_misc_read(struct neuron_device *nd, unsigned int word, u32 *value);
int neuron_neighbors(struct neuron_device *nd, int id[NEURON_PORTS_MAX]); /* as the hal */

/* neuron_watch.c */
void neuron_watch_init(struct neuron_device *nd, void (*each)(struct neuron_device *nd));
void neuron_watch_start(struct neuron_device *nd);
void neuron_watch_stop(struct neuron_device *nd);
int neuron_watch_look(struct neuron_device *nd, struct neuron_health *health);
int neuron_power_last(struct neuron_device *nd);
/* What the last look found, if there was one */
static inline bool neuron_watch_last(struct neuron_device *nd, struct neuron_health *health)
{
	bool known;

	mutex_lock(&nd->watch.lock);
	known = nd->watch.known;
	*health = nd->watch.last;
	mutex_unlock(&nd->watch.lock);
	return known;
}

/* neuron_inject.c: failures on command */
enum neuron_fail {
	NEURON_FAIL_MMAP,
	NEURON_FAIL_DMA_WAIT,
	NEURON_FAIL_MC_ALLOC,
	NEURON_FAIL_FWIO_READ,
	NEURON_FAIL_FWIO_METRIC,
	NEURON_FAIL_COUNT,
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
void neuron_inject_init(void);
void neuron_inject_exit(void);
bool neuron_fail(enum neuron_fail what);
#else
static inline void neuron_inject_init(void)
{
}

static inline void neuron_inject_exit(void)
{
}

static inline bool neuron_fail(enum neuron_fail what)
{
	return false;
}
#endif

/* neuron_hwmon.c */
void neuron_hwmon_add(struct neuron_device *nd);
void neuron_hwmon_del(struct neuron_device *nd);

/* neuron_dump.c */
extern NEURON_BIN_ATTR_CONST struct bin_attribute *NEURON_BIN_ATTR_CONST neuron_bin_attrs[];
void neuron_dump_init(struct neuron_device *nd);
void neuron_dump_forget(struct neuron_device *nd);
struct neuron_hang;
void neuron_hang(struct neuron_device *nd, struct neuron_hang *h);

/* neuron_pm.c */
extern const struct dev_pm_ops neuron_pm_ops;
void neuron_shutdown(struct pci_dev *pdev);

/* neuron_event.c */
struct neuron_reset_event {
	enum neuron_reset_stage stage;
	u32 cores; /* as in nc_map */
	u32 pid; /* 0: nobody's */
	u32 duration_us;
	u32 error;
};

struct neuron_hang {
	enum neuron_hang_reason reason;
	u32 cores;
	u32 engine, queue; /* of a copy */
	u32 pid; /* 0: not known */
	u32 dump; /* 0: none was made */
	int error;
};

int neuron_event_init(void);
void neuron_event_exit(void);
void neuron_event_device(struct neuron_device *nd, bool added);
void neuron_event_reset(struct neuron_device *nd, const struct neuron_reset_event *e);
void neuron_event_link(struct neuron_device *nd, u32 side, bool up);
void neuron_event_ecc(struct neuron_device *nd, u32 memory, const struct neuron_ecc *now,
		      const struct neuron_ecc *fresh);
void neuron_event_hang(struct neuron_device *nd, const struct neuron_hang *h);
void neuron_event_file(struct neuron_device *nd, const char *dir, const char *file);

/* neuron_guard.c */
u8 neuron_guard_domain_get(pid_t tgid);
void neuron_guard_domain_put(u8 domain);
int neuron_guard_grant(struct neuron_mc *mc, u8 domain);
void neuron_guard_revoke(struct neuron_mc *mc);
void neuron_guard_core(struct neuron_device *nd, unsigned int nc, u8 domain);
void neuron_guard_queue(struct neuron_device *nd, unsigned int eng, unsigned int qid, u8 domain);
void neuron_guard_init(struct neuron_device *nd);
void neuron_guard_start(struct neuron_device *nd);
void neuron_guard_exit(struct neuron_device *nd);
void neuron_guard_free(void);

/* neuron_irq.c */
void neuron_irq_init(struct neuron_device *nd);
void neuron_irq_exit(struct neuron_device *nd);
void neuron_irq_wake(struct neuron_device *nd);
ssize_t neuron_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t neuron_poll(struct file *file, struct poll_table_struct *wait);

/* neuron_reset.c */
void neuron_reset_init(struct neuron_device *nd);
int neuron_reset_request(struct neuron_device *nd, u32 id, u32 nc_map);
int neuron_reset_wait(struct neuron_device *nd, u32 id, int *result);
void neuron_reset_forget(struct neuron_device *nd, u32 id);
void neuron_reset_stop(struct neuron_device *nd);
int neuron_cores_halt(struct neuron_device *nd, u32 nc_map);

/* neuron_mem.c */
struct neuron_mc_args {
	u64 size, align;
	bool host;
	u32 channel, region, nc, type;
	enum neuron_lifespan life;
};

int neuron_mem_init(struct neuron_device *nd);
void neuron_mem_exit(struct neuron_device *nd);
/* With a handle, and a reference for the caller: others may free the handle at any time */
int neuron_mc_alloc(struct neuron_device *nd, const struct neuron_mc_args *args,
		    struct neuron_mc **mc);
void neuron_mc_get(struct neuron_mc *mc);
void neuron_mc_put(struct neuron_mc *mc);
/* Take handle and list away and drop the handle's reference */
void neuron_mc_free(struct neuron_mc *mc);
/* The chunk of a handle with a reference; access: what the caller wants to do with it */
enum neuron_access { NEURON_MAY_READ, NEURON_MAY_WRITE };
struct neuron_mc *neuron_mc_lookup(struct neuron_device *nd, u64 handle, enum neuron_access access);
struct neuron_mc *neuron_mc_at(struct neuron_device *nd, u64 pa); /* containing pa, referenced */
bool neuron_mc_range(const struct neuron_mc *mc, u64 offset, u64 size);
bool neuron_mc_owned(const struct neuron_mc *mc);
bool neuron_mc_readable(const struct neuron_mc *mc);
bool neuron_host_range_owned(struct neuron_device *nd, u64 pa, u64 size);
void neuron_mem_free_all(struct neuron_device *nd, pid_t tgid);
void neuron_mem_usage(struct neuron_device *nd, pid_t tgid, u64 *host, u64 *device);

/* neuron_mmap.c */
void neuron_mmap_on_end(void (*end)(struct vm_area_struct *vma));
int neuron_mmap(struct file *file, struct vm_area_struct *vma);
/* The caller's own chunk that is mapped at [va, va + size), referenced */
struct neuron_mc *neuron_mmap_chunk(u64 va, u64 size, u64 *offset);
struct neuron_mc *neuron_mmap_chunk_locked(u64 va, u64 size, u64 *offset); /* mmap_lock held */

/* neuron_p2p.c: whoever registered addresses that end with this is told */
void neuron_p2p_init(void);
void neuron_p2p_removed(struct neuron_device *nd);

/* neuron_dmabuf.c */
struct dma_buf *neuron_dmabuf_export(u64 va, u64 size);

/* neuron_dma.c */
int neuron_dma_init(struct neuron_device *nd);
void neuron_dma_exit(struct neuron_device *nd);
void neuron_h2t_setup(struct neuron_device *nd, unsigned int nc);
void neuron_h2t_teardown(struct neuron_device *nd, unsigned int nc);
int neuron_dma_copy(struct neuron_h2t *h2t, u64 src, u64 dst, u64 len);
int neuron_dma_fill(struct neuron_h2t *h2t, u64 dst, u64 len, u8 value);
int neuron_dma_from_kernel(struct neuron_h2t *h2t, u64 dst, const void *buf, u64 len);
int neuron_dma_from_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 dst,
			 const void __user *buf, u64 len);
int neuron_dma_to_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 src,
		       void __user *buf, u64 len);
/* Adds runs to the ring: 0 when there are no more, 1 to go on with the next batch */
typedef int (*neuron_push_fn)(struct nhal_h2t *ring, void *arg);
int neuron_ctx_batch(struct neuron_h2t *h2t, unsigned int ctx, neuron_push_fn push, void *arg);
int neuron_ctx_wait(struct neuron_h2t *h2t, unsigned int ctx);
bool neuron_ctx_poll(struct neuron_h2t *h2t, unsigned int ctx);

/* neuron_copy.c */
int neuron_copy_async(struct neuron_device *nd, struct neuron_mc *src, u64 src_offset,
		      struct neuron_mc *dst, u64 dst_offset, u64 size, u32 pwait, u32 *handle);
int neuron_copy_async_wait(struct neuron_device *nd, unsigned int nc, u32 handle);
void neuron_copy_forget(struct neuron_device *nd, pid_t tgid);
/* neuron_zerocopy.c */
int neuron_zerocopy(struct neuron_h2t *h2t, struct neuron_call *call, u64 addr, unsigned long uaddr,
		    u64 size, bool to_user);

/* neuron_queue.c */
int neuron_queue_setup(struct neuron_device *nd, const struct neuron_ioctl_dma_queue_init *arg);
int neuron_queue_start(struct neuron_device *nd,
		       const struct neuron_ioctl_dma_queue_copy_start *arg);
int neuron_queue_release(struct neuron_device *nd, u32 eng, u32 qid);
void neuron_queues_stop(struct neuron_device *nd, pid_t owner, u32 nc_map);
int neuron_queue_state(struct neuron_device *nd, u32 eng, u32 qid,
		       struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
int neuron_engine_state(struct neuron_device *nd, u32 eng, struct neuron_dma_eng_state *state);

/* neuron_nq.c */
struct neuron_nq_args {
	u32 nc, type, eng, size;
	bool host, force;
	u32 channel, region;
};

int neuron_nq_init(struct neuron_device *nd, const struct neuron_nq_args *args, u64 *mmap_offset,
		   u64 *handle);
void neuron_nqs_stop(struct neuron_device *nd, pid_t owner, u32 nc_map);

/* neuron_nds.c */
int neuron_nds_acquire(struct neuron_device *nd, pid_t pid, u64 *offset, u32 *size);
void neuron_nds_release(struct neuron_device *nd, pid_t pid);
void neuron_nds_harvest(struct neuron_device *nd);
void neuron_nds_exit(struct neuron_device *nd);

/* neuron_crwl.c */
int neuron_crwl_reader_enter(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_reader_exit(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_writer_enter(struct neuron_device *nd, u32 nc, const u8 *uuid);
int neuron_crwl_writer_downgrade(struct neuron_device *nd, u32 nc, const u8 *uuid);
void neuron_crwl_drop(struct neuron_device *nd, pid_t tgid);
u8 neuron_crwl_held(struct neuron_device *nd, pid_t tgid, struct neuron_uuid *uuids);
int neuron_mark(struct neuron_device *nd, u32 count, u32 start, u32 end, u32 *max_available,
		unsigned long *bitmap, unsigned int bits);
void neuron_unmark(struct neuron_device *nd, const unsigned long *bitmap, unsigned int bits);
void neuron_unmark_all(pid_t tgid);
int neuron_cinit_set(struct neuron_device *nd, u32 nc, u32 state, u32 *new_state);

/* neuron_ioctl.c and its tables */
struct neuron_ioctl_entry {
	unsigned int cmd;
	unsigned short size; /* of the argument structure */
	unsigned short flags;
	int (*fn)(struct neuron_device *nd, void *arg, struct neuron_call *call);
	const char *name;
};

#define NIOC_FREE 0x1 /* also on an O_WRONLY descriptor */
#define NIOC_ATTACHED 0x2
#define NIOC_OUT 0x4 /* copy the argument back on success */
#define NIOC_OUT_ERR 0x8 /* and on errors */
#define NIOC_HW 0x10 /* takes reset_sem for reading */
#define NEURON_IOC(c, s, f, h) \
	{ .cmd = NEURON_IOCTL_##c, .size = s, .flags = f, .fn = h, .name = #c }
#define NEURON_IOC_ARG_MAX 288

void neuron_refused(struct neuron_device *nd, const char *what, int err);
long neuron_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
extern const struct neuron_ioctl_entry neuron_ioctl_info[], neuron_ioctl_mem[], neuron_ioctl_dma[],
	neuron_ioctl_core[];
extern const unsigned int neuron_ioctl_info_count, neuron_ioctl_mem_count, neuron_ioctl_dma_count,
	neuron_ioctl_core_count;

/* neuron_bar.c */
int neuron_bar_rw(struct neuron_device *nd, struct neuron_call *call,
		  const struct neuron_ioctl_bar_rw *arg, bool write);
u64 neuron_bar_cookie(unsigned int i);
int neuron_hw_counters(struct neuron_device *nd, struct neuron_call *call,
		       const struct neuron_ioctl_read_hw_counters *arg);

/* neuron_sysfs.c */
extern const struct attribute_group *neuron_device_groups[], *neuron_class_groups[];
int neuron_sysfs_add(struct neuron_device *nd);
void neuron_sysfs_del(struct neuron_device *nd);
void neuron_sysfs_scan(struct neuron_device *nd);

/* neuron_stats.c */
extern const char *const neuron_host_kinds[NEURON_HOST_KINDS];
extern const char *const neuron_device_kinds[NEURON_DEVICE_KINDS];
void neuron_stat_add(struct neuron_device *nd, struct neuron_counter *c, u64 delta);
void neuron_stat_memory(struct neuron_device *nd, const struct neuron_mc *mc, bool add);

#define nd_info(nd, fmt, ...) pr_info("nd%d: " fmt, (nd)->index, ##__VA_ARGS__)
#define nd_err(nd, fmt, ...) pr_err_ratelimited("nd%d: " fmt, (nd)->index, ##__VA_ARGS__)

#endif
