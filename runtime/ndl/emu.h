/* SPDX-License-Identifier: MIT */
/*
 * Private to libndl's in-process backend and to who serves its chips to other processes
 * (runtime/emud): the chips of one instance, the arenas that are their host memory, and what the
 * kernel module would keep for each of them.
 *
 * A user is who may have cores, queues and memory. In process there is one, EMU_OWN, who may do
 * all; a served process is a user of its own, by whose number the chips' guard knows it.
 *
 * Locks, in this order: machine.users_lock (who there is), chip.open_lock (opens, and what the last
 * close takes back), core.lock (the core's copy ring and staging buffer), chip.lock (handles,
 * heaps, queues, owners, locks and states of cores), chip.fwio (the mailbox), host.lock (pins),
 * host.heap_lock. The core library's callbacks take host.lock or irq.lock only.
 */
#ifndef NDLX_EMU_H
#define NDLX_EMU_H

#include <pthread.h>

#include "emu_bell.h"
#include "hal.h"
#include "ncore.h"
#include "ndl_priv.h"

#define EMU_MAX_CHIPS 16
#define EMU_PAGE 4096u
#define EMU_USER_FILES 1024u /* of a chip */
#define EMU_USER_HANDLES 65536u
#define EMU_HANDLES (EMU_USER_HANDLES * NEURON_MAX_PROCESS_PER_DEVICE)
#define EMU_STAGING_SIZE NDLX_ZEROCOPY_MIN
#define EMU_PINS 256
#define EMU_OWN NEURON_GUARD_HOST /* the user whose process has the chips; the others: 1 to 254 */
#define EMU_USERS (EMU_OWN + 1)
#define EMU_NOBODY NEURON_GUARD_NONE
#define EMU_USER_SPACE \
	(16ull << 30) /* addresses for a user's host memory: two of the guard's roots */

/* A first-fit allocator over [0, size); free pieces are sorted by start */
struct emu_heap {
	struct emu_piece {
		uint64_t start, size;
	} * piece;
	size_t count, capacity;
};
int emu_heap_init(struct emu_heap *heap, uint64_t size);
void emu_heap_fini(struct emu_heap *heap);
int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t align, uint64_t *start);
void emu_heap_free(struct emu_heap *heap, uint64_t start, uint64_t size);

/* Host memory as the chips see it: an arena for each user, and pinned buffers of the caller */
struct emu_host {
	pthread_rwlock_t lock; /* protects pins; DMA holds it for reading */
	pthread_mutex_t heap_lock; /* protects the arenas' heaps */
	struct emu_arena {
		uint8_t *base; /* NULL: never used */
		uint64_t size; /* 0: no user has it */
		int fd; /* of what is mapped there, -1: memory of the process alone */
		struct emu_heap heap;
	} arena[EMU_USERS];
	struct emu_pin {
		uint8_t *ptr;
		uint64_t len; /* 0: a free slot */
	} pin[EMU_PINS];
};
int emu_host_init(struct emu_host *host);
void emu_host_fini(struct emu_host *host);
/* The place of a user's arena among host physical addresses */
uint64_t emu_host_base(unsigned int user);
/* Makes a file a user's arena, whose first bytes are never allocated; and takes it away. */
int emu_host_lend(struct emu_host *host, unsigned int user, int fd, uint64_t size,
		  uint64_t reserved);
void emu_host_unlend(struct emu_host *host, unsigned int user);
/* Allocates zeroed pages of a user's arena; *addr is the host physical address. */
int emu_host_alloc(struct emu_host *host, unsigned int user, uint64_t size, uint64_t *addr,
		   void **ptr);
void emu_host_free(struct emu_host *host, unsigned int user, uint64_t addr, uint64_t size);
/* Does a buffer lie in the arena of a served user, and where do the chips see it? */
bool emu_host_has(struct emu_host *host, unsigned int user, const void *ptr, uint64_t len,
		  uint64_t *addr);
int emu_host_pin(struct emu_host *host, void *ptr, uint64_t len, uint64_t *addr);
void emu_host_unpin(struct emu_host *host, uint64_t addr);
int emu_host_rw(struct emu_host *host, uint64_t addr, void *buf, uint64_t len, bool write);
bool emu_host_valid(struct emu_host *host, unsigned int user, uint64_t addr, uint64_t len);

struct emu_chunk {
	uint64_t size; /* 0: a free handle */
	uint64_t addr; /* the address on the device side */
	void *ptr; /* host memory, or the chip's DRAM */
	bool host;
	uint8_t user;
	uint32_t channel, region, nc, type;
	int fd; /* device memory that its owner has mapped: the file that lies there; else 0 */
	bool moved; /* pages of other chunks were put there, which the host counts one by one */
	unsigned int queues; /* rings in use */
	bool freed; /* its owner freed it while a queue still has it */
	/*
	 * a bit for each core whose PE FIFO its descriptors feed: starting it starts a model there
	 */
	uint32_t models;
};

struct emu_core {
	pthread_mutex_t lock;
	struct nhal_h2t h2t;
	struct nhal_h2t_mem h2t_mem;
	void *staging;
	uint64_t staging_addr;
	bool broken; /* its reset failed: no copies until one succeeds */
	uint8_t owner; /* the user who claimed it; EMU_NOBODY */
	struct neuron_uuid uuid;
	bool writer;
	unsigned int readers;
	uint8_t locker; /* whose lock it is or was, with uuid; EMU_NOBODY: uuid is not valid */
	uint32_t cinit;
	uint8_t cinit_by;
	uint64_t started;
};

struct emu_queue {
	uint8_t user;
	uint64_t tx_handle, rx_handle;
	uint32_t tx_count, rx_count;
};

struct emu_nq {
	uint8_t user;
	void *ptr; /* NULL: none */
	uint64_t addr;
	uint32_t size;
};

/* One user's state of one chip beside what lies in the tables */
struct emu_seat {
	unsigned int opens;
	void *nds;
	int nds_fd; /* of a served user's datastore */
	unsigned int nds_users;
	uint32_t reset_result;
	uint32_t chunks;
	uint32_t files; /* of chunks that it has mapped */
};

struct emu_chip {
	struct emu_machine *machine;
	int index;
	const struct neuron_gen *gen;
	struct ncore_chip *core;
	uint8_t *dram;
	struct nhal hal;
	pthread_mutex_t lock, fwio;
	struct {
		pthread_mutex_t lock;
		pthread_cond_t cond;
		unsigned int raised[NEURON_CORES_MAX]; /* how often each vector was raised */
		struct emu_bell *bell[NEURON_CORES_MAX]; /* of the core's owner; may be NULL */
	} irq;
	struct emu_core nc[NEURON_CORES_MAX];
	struct emu_heap heap[NEURON_MEMORIES_MAX][NDLX_REGIONS];
	struct emu_chunk *chunk; /* indexed by handle; 0 is no handle */
	uint32_t chunks, free_handle; /* free handles are chained through nc */
	struct emu_queue (*queue)[NEURON_DMA_QUEUES_PER_ENG]; /* of each DMA engine */
	struct emu_nq nq[NEURON_CORES_MAX][NEURON_NQ_TYPES][NEURON_ENGINES_MAX];
	pthread_mutex_t open_lock; /* an open waits for the last close */
	bool gone; /* unplugged: it does nothing any more, and nobody is let to it */
	unsigned int doorbells; /* until it is; 0: it stays */
	bool stale; /* its memory is handed out with other bytes than zeros */
	struct emu_seat seat[EMU_USERS];
};

struct emu_user {
	bool used;
	bool ending; /* what waits for something shall give up */
	int pid;
	struct emu_bell *bells; /* [chip * NEURON_CORES_MAX + core]; NULL: none */
};

struct emu_machine {
	char name[24];
	const struct neuron_instance *instance;
	const struct neuron_gen *gen; /* the generation of all its chips */
	int nchips;
	struct ncore_pool *pool;
	struct ncore_fabric *fabric;
	struct emu_host host;
	struct emu_chip *chip;
	/*
	 * A reset clears the id that a chip tells its neighbours, until it is written again: resets
	 * hold this for reading, who asks for neighbours for writing.
	 */
	pthread_rwlock_t ids;
	pthread_mutex_t mark_lock;
	uint8_t mark[EMU_MAX_CHIPS * NEURON_CORES_MAX]; /* the user whose it is */
	pthread_mutex_t users_lock;
	struct emu_user user[EMU_USERS];
	uint64_t *guard_root; /* NULL: nobody is served, and the guard is off */
};

/* The priv of a device */
struct emu_device {
	struct emu_chip *chip;
	uint8_t user;
};

/* emu.c */
int emu_device_open(struct emu_machine *m, int index, uint8_t user, ndlx_device_t *dev);

/* emu_user.c */
struct emu_user_config {
	int pid;
	int fd; /* of its host memory; stays the caller's, and open as long as the user */
	uint64_t size, reserved; /* of its host memory; the first bytes are no memory to allocate */
	uint64_t bells; /* the offset of its bells in what is reserved */
};
/* Turns the chips' guard on, so that they can have users. Returns 0 or -errno. */
int emu_users_start(struct emu_machine *m);
/* 0 and its number, -EBUSY: there are too many, or -errno */
int emu_user_new(struct emu_machine *m, const struct emu_user_config *config, uint8_t *user);
/* Ends whatever the user's threads wait for. */
void emu_user_interrupt(struct emu_machine *m, uint8_t user);
/* Takes everything back; no thread works for the user any more. */
void emu_user_end(struct emu_machine *m, uint8_t user);
int emu_mark(struct emu_machine *m, uint8_t user, uint32_t count, uint32_t start, uint32_t end,
	     uint32_t *first, uint32_t *available);
int emu_unmark(struct emu_machine *m, uint8_t user, uint32_t first, uint32_t count);
int emu_claim(struct emu_chip *chip, uint8_t user, unsigned int nc); /* with the lock held */
void emu_unclaim(struct emu_chip *chip, unsigned int nc); /* with the lock held */
/* A core's memories are for its owner alone to read, who becomes whoever is first. */
int emu_reg_check(struct emu_chip *chip, uint8_t user, const uint64_t *addr, unsigned int n);
/* The memory that the guard lets a queue reach: the user's */
void emu_guard_queue(struct emu_chip *chip, uint32_t eng, uint32_t qid, uint8_t user);

/* emu_fault.c */
int emu_fault(struct emu_chip *chip, const char *fault, size_t len);
int emu_faults_from_environment(struct emu_machine *m);
void emu_doorbell(struct emu_chip *chip); /* before each: one of them may find the chip gone */

static inline struct emu_chip *emu_chip(const ndlx_device_t *dev)
{
	return ((const struct emu_device *)dev->priv)->chip;
}

static inline uint8_t emu_user(const ndlx_device_t *dev)
{
	return ((const struct emu_device *)dev->priv)->user;
}

extern const struct ndlx_ops emu_ops;

/* emu_chip.c */
int emu_chip_init(struct emu_chip *chip, struct emu_machine *machine, int index);
void emu_chip_fini(struct emu_chip *chip);
int emu_chip_reset(struct emu_chip *chip, uint32_t nc_map);
void emu_chip_released(struct emu_chip *chip, uint8_t user); /* called after its last close */

/* emu_reg.c */
/* A register of the emulator's own, which real chips lack */
uint32_t emu_ext_read(struct emu_chip *chip, uint32_t reg);
void emu_ext_write(struct emu_chip *chip, uint32_t reg, uint32_t value);
int emu_reg_read(struct emu_chip *chip, const uint64_t *addr, uint32_t *value, unsigned int n);

/* emu_mem.c */
/* Zeros of the process's own in the place of a part of the DRAM. */
void emu_dram_renew(void *ptr, uint64_t size);
int emu_mem_init(struct emu_chip *chip);
void emu_mem_fini(struct emu_chip *chip);
void emu_mem_free_all(struct emu_chip *chip, uint8_t user);
/*
 * With the lock held: the chunk, or NULL and *err is -EINVAL or, if it is another user's, -EACCES
 */
struct emu_chunk *emu_chunk_find(struct emu_chip *chip, uint8_t user, uint64_t handle, int *err);
struct emu_chunk *emu_chunk_get(struct emu_chip *chip, uint64_t handle); /* whosever it is */
/*
 * Gives a chunk of device memory a file of its own, for its owner to map; the chips rest meanwhile.
 * The descriptor is the chunk's.
 */
int emu_mem_share(ndlx_device_t *dev, uint64_t handle, int *fd);
void emu_chunk_hold(struct emu_chip *chip, uint64_t handle, bool hold); /* with the lock held */
int emu_mem_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *p, uint64_t *handle);
int emu_mem_free(ndlx_device_t *dev, uint64_t handle);
int emu_mem_forget(ndlx_device_t *dev, uint64_t handle);
int emu_mem_info(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size);
int emu_mem_map(ndlx_device_t *dev, uint64_t handle, void **va);
int emu_mem_unmap(ndlx_device_t *dev, uint64_t handle, void *va);
int emu_block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		  enum neuron_mmap_resource resource, void **va, uint64_t *size);
int emu_dram_chunks(ndlx_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		    uint32_t *count);
int emu_dmabuf_fd(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd);

/* emu_copy.c */
int emu_mem_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		 uint64_t dst_offset, uint64_t size);
int emu_mem_move(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		 uint64_t dst_offset, uint64_t size);
int emu_buf_copy(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset, uint64_t size,
		 bool to_device, bool zerocopy);
int emu_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		   uint64_t size);
int emu_mem_set(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
		uint64_t size);

/* emu_queue.c */
int emu_eng_set_state(ndlx_device_t *dev, uint32_t eng, uint32_t state);
int emu_eng_get_state(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state);
int emu_queue_init(ndlx_device_t *dev, const struct ndlx_queue_params *p, uint32_t count);
int emu_queue_release(ndlx_device_t *dev, uint32_t eng, uint32_t qid);
int emu_queue_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx, uint32_t rx);
int emu_queue_state(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
		    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
int emu_copy_descs(ndlx_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
		   uint32_t count, enum neuron_dma_queue_type type);
int emu_descs_out(ndlx_device_t *dev, uint32_t eng, uint32_t qid, enum neuron_dma_queue_type type,
		  uint32_t start, uint32_t count, void *descs);
void emu_queues_stop(struct emu_chip *chip, uint8_t user);

/* emu_wait.c */
int emu_irq_init(struct emu_chip *chip);
void emu_irq(void *opaque, unsigned int vector);
uint32_t emu_entries(struct emu_chip *chip, unsigned int nc); /* of notification queues, so far */
/* Has the chip raise the core's vector when it has another number of entries. */
void emu_arm(struct emu_chip *chip, unsigned int nc, uint32_t seen);
int emu_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int emu_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int emu_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us);
void emu_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void emu_wait_lend(ndlx_device_t *dev, struct ndlx_waiter *waiter);
bool emu_wait_work(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void emu_wait_leave(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void emu_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter);

/* emu_core.c */
int emu_semaphore(ndlx_device_t *dev, enum neuron_sem_access op, uint32_t nc, uint32_t index,
		  uint32_t *value);
int emu_event(ndlx_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value);
int emu_nq_init(ndlx_device_t *dev, const struct ndlx_nq_params *p, void **va);
int emu_nq_destroy(ndlx_device_t *dev, void *va);
void emu_nq_drop(struct emu_chip *chip, uint32_t nc_map); /* with the lock held */
int emu_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size);
int emu_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size);
/* Another descriptor of a served user's datastore, which is the caller's to close */
int emu_nds_fd(ndlx_device_t *dev, int pid, bool seal, int *fd);
void emu_nds_drop(struct emu_chip *chip, uint8_t user);
int emu_crwl(ndlx_device_t *dev, enum ndlx_crwl op, uint32_t nc, const struct neuron_uuid *uuid);
int emu_cinit(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state);
int emu_started_count(ndlx_device_t *dev, uint32_t nc, uint64_t *count);
int emu_apps(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count, uint16_t flags);

#endif
