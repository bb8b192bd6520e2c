/* SPDX-License-Identifier: MIT */
/*
 * libndl: the only code in user space that reaches a device. It is one interface at the level of
 * the public ndl/ndl.h with three backends: "node" (/dev/neuronN, the kernel module), "emu" (the
 * same chips in this process: no VM, no root, no module) and "unix" (chips that neuron-emud hosts
 * for several processes). Called by libnrt, neuron-ls and tests.
 *
 * The machine is what ndlx_machine_set() says, else the environment's NEURON_EMU ("inf1.6xlarge",
 * "unix:/run/emud.sock"), else the nodes. It is fixed by the first call that needs it; an emulated
 * machine lives until the process ends or ndlx_machine_close().
 *
 * Functions return 0 or -errno, with the kernel module's errors on all backends: -EINVAL (range,
 * handle), -EACCES (another process's), -E2BIG (core number), -ENOMEM, -EBUSY, -ENODEV (also: the
 * server is gone), -ETIMEDOUT, -ENOTSUP. They are thread safe and print nothing. The emu backend
 * starts worker threads, touches no file and no signal; the served one starts a thread that watches
 * the server. Neither survives fork() (calls in the child give -EOWNERDEAD).
 */
#ifndef NDLX_H
#define NDLX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"
#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NDLX_MAX_DEVICES NEURON_MAX_DEVICES
#define NDLX_ZEROCOPY_MIN (1u << 20) /* from this size on copies pin the caller's pages */

/*
 * name: "node", "emu:inf1.6xlarge" or "inf1.6xlarge", or "unix:PATH" of a socket. Returns -EINVAL
 * for another one, -EBUSY if a machine is in use; of a server -ENODEV (there is none), -EACCES,
 * -EBUSY (it has too many processes) or -EPROTO (it is of another version).
 */
int ndlx_machine_set(const char *name);
/* The text of an error of the machine, such as ndlx_machine_set()'s */
const char *ndlx_machine_error(int err);
/* The names of the instance types that "emu:" takes, by number; NULL: no more */
const char *ndlx_machine_name(unsigned int i);
/* Closes the machine; -EBUSY if a device is open. */
int ndlx_machine_close(void);
bool ndlx_machine_is_emu(void); /* in this process or served: no nodes */
bool ndlx_machine_is_own(void); /* in this process: nobody else uses them */
/* A number that processes of one host have alike if they use the same chips, and not otherwise */
uint64_t ndlx_machine_key(void);
/* for example "inf1.6xlarge"; "" if the platform does not say */
const char *ndlx_machine_instance(void);

/*
 * Injects a fault into a chip of this process, for example "dma-abort=2:core=1" (docs/hardware.md,
 * Faults; a fault without a value gets "1" or "on"). Returns -ENODEV (no such chip), -ENOENT (no
 * such fault), -EINVAL (not a value of it) or -ENOTSUP (on nodes).
 */
int ndlx_fault(int index, const char *fault);

typedef struct ndlx_device_init_param {
	/* false: only look, as monitors do, even while the device is in use */
	bool initialize_device;
	int num_dram_regions; /* has to be 0 */
	bool map_hbm; /* where chips map whole memories: Trainium2 on */
} ndlx_device_init_param_t;

/* The first members have the public layout; those after them are the library's own. */
typedef struct ndlx_device {
	uint8_t device_index;
	uint8_t device_type; /* the architecture: gen->arch */
	uint16_t device_revision;
	uint8_t connected_device_count;
	uint8_t connected_devices[NDLX_MAX_DEVICES]; /* in the order of drivers */
	uint64_t csr_base[2]; /* BAR0, BAR2: cookies for bar_read/write */
	uint64_t csr_size[2];
	struct ndlx_copy_buf {
		uint64_t mem_handle;
		void *mmap_va;
		pthread_mutex_t lock;
	} cpy_bufs[NEURON_MAX_NC_PER_DEVICE]; /* for libnrt, which has the public functions */
	void *hbm_va[NEURON_MEMORIES_MAX]; /* with map_hbm */
	size_t hbm_size; /* of one memory */
	uint32_t hbm_va_cnt, shift_hbm_size;
	uint64_t hbm_offset[NEURON_MEMORIES_MAX]; /* device addresses */
	const struct neuron_gen *gen; /* the description of its generation */
	const struct ndlx_ops *ops;
	void *priv;
	const bool *gone; /* NULL: the backend says itself when the device is unplugged */
} ndlx_device_t;

struct ndlx_bdf {
	uint32_t domain;
	uint8_t bus, slot, func;
};

/*
 * The text of an error of this thread's last call: strerror()'s, or for -ENOTSUP the release of the
 * public driver that the call needs, if that is the reason. Valid until the thread's next call.
 */
const char *ndlx_error_text(int err);

/* Version and features */
int ndlx_get_version(char *driver_version, size_t size); /* the kernel module's; "emu" in process */
/* The range of runtime levels that the driver accepts */
int ndlx_get_compatible_version(uint32_t *min, uint32_t *max);
int ndlx_feature_supported(uint64_t feature, bool *supported); /* NEURON_FEATURE_* */
/* An emulator extension: the ISA version, which the chip answers to a read of its device address */
int ndlx_isa_version(ndlx_device_t *device, uint32_t *version); /* 0: no chip of the emulator */

/*
 * Devices. ndlx_available_devices fills in the indices in order and returns their number (>= 0).
 * What the process's control group refuses is not among them; -EPERM: it refuses all.
 */
int ndlx_available_devices(int *indexes, int size);
int ndlx_open_device(int index, const ndlx_device_init_param_t *params, ndlx_device_t **device);
int ndlx_close_device(ndlx_device_t *device);
/* Works without opening the device for use, by free access. */
int ndlx_get_device_bdf(int index, struct ndlx_bdf *bdf);
/* The description of its generation */
int ndlx_get_gen(int index, const struct neuron_gen **gen);
int ndlx_get_nc_count(ndlx_device_t *device, uint32_t *count);
/*
 * The ports whose link is up, as the driver says, or inferred from the neighbours' indices. In a
 * line or a ring a chip's first port leads to the device with the next index, the second to the one
 * before.
 */
#define NDLX_PORT_EAST 0
#define NDLX_PORT_WEST 1
int ndlx_get_links(int index, bool up[NEURON_PORTS_MAX]);
/* The links of an open device when it was opened; the chip is not asked again. */
int ndlx_device_links(ndlx_device_t *device, bool up[NEURON_PORTS_MAX]);
/* The address at which this device sees another one; -ENOENT: no link that is up leads there */
int ndlx_neighbor_window(ndlx_device_t *device, int neighbor, uint64_t *window);
/*
 * The same for any device of the instance: a neighbour's window, or, where chips have windows to
 * all others, that of the device. -ENOENT: there is none
 */
int ndlx_device_window(ndlx_device_t *device, int other, uint64_t *window);
/*
 * How many links lie between two devices by the machine's shape, whether they are up or not; 0: it
 * is the same one. -ENOENT: the machine links them by none
 */
int ndlx_device_distance(ndlx_device_t *device, int other);
/* The bytes of a DRAM channel; -EINVAL if there is no such channel */
int ndlx_get_dram_size(ndlx_device_t *device, uint32_t channel, uint64_t *size);
/* The channel that a device address lies in; -EINVAL: none */
int ndlx_memory_channel(ndlx_device_t *device, uint64_t pa);
#define NDLX_REGIONS 4 /* regions of a channel; a chunk lies in one of them */
/* The bytes of a region, which are the largest chunk of a generation's device memory */
uint64_t ndlx_region_size(const struct neuron_gen *gen);

/* Registers */
int ndlx_bar_read(ndlx_device_t *device, unsigned int bar, const uint64_t *offset, uint32_t *data,
		  uint32_t count);
int ndlx_bar_write(ndlx_device_t *device, unsigned int bar, const uint64_t *offset,
		   const uint32_t *data, uint32_t count);
int ndlx_read_hw_counters(ndlx_device_t *device, const uint64_t *addr, uint32_t *data,
			  uint32_t count);
/* Returns 0, or -ENODEV if the device was unplugged. */
int ndlx_alive(ndlx_device_t *device);

/* Errors that the chip's memories have counted */
struct ndlx_ecc {
	uint32_t corrected, uncorrected;
};
struct ndlx_errors {
	struct ndlx_ecc sram;
	struct ndlx_ecc memory[NEURON_MEMORIES_MAX];
};
int ndlx_error_counters(ndlx_device_t *device, struct ndlx_errors *errors);

/* An emulator extension: what a chip counts of a core; cycles are virtual */
struct ndlx_core_perf {
	struct {
		uint64_t insns, busy_cycles, idle_cycles, wait_cycles;
		uint64_t matmul_insns, matmul_wait_cycles;
		/* now: NEURON_STANDS_* that it waits for, or 0, and that instruction's byte */
		uint64_t stands, stands_at;
	} engine[NEURON_ENGINES_MAX];
	uint64_t macs;
};
int ndlx_core_perf(ndlx_device_t *device, uint32_t nc, struct ndlx_core_perf *perf);

/* Device addresses, as descriptors and instructions name them */
uint64_t ndlx_core_address(ndlx_device_t *device, uint32_t nc); /* SBUF begins there */
/* The FIFO of its instructions */
uint64_t ndlx_fifo_address(ndlx_device_t *device, uint32_t nc, uint32_t engine);
/* A word written to this address is added to the semaphore. */
uint64_t ndlx_semaphore_address(ndlx_device_t *device, uint32_t nc, uint32_t index);
/* A word written to this address starts as many descriptors of one half of a queue. */
uint64_t ndlx_doorbell_address(ndlx_device_t *device, uint32_t eng, uint32_t qid,
			       enum neuron_dma_queue_type half);

/* Memory. A handle belongs to its device and to this process; sizes are rounded up to 4 KiB. */
struct ndlx_mem_params {
	uint64_t size;
	uint64_t align; /* for device memory only; 0: 4 KiB */
	bool host;
	uint32_t channel; /* for device memory only */
	uint32_t region;
	uint32_t nc; /* the core whose copy ring and account are used */
	uint32_t type; /* NEURON_MEMALLOC_TYPE_* */
};
int ndlx_memory_alloc(ndlx_device_t *device, const struct ndlx_mem_params *params,
		      uint64_t *handle);
int ndlx_memory_free(ndlx_device_t *device, uint64_t handle);
/* The address on the device side, which for host memory contains the host window bit */
int ndlx_memory_get_pa(ndlx_device_t *device, uint64_t handle, uint64_t *pa);
int ndlx_memory_get_size(ndlx_device_t *device, uint64_t handle, uint64_t *size);
/* Maps the whole chunk; unmap it before it is freed. */
int ndlx_memory_map(ndlx_device_t *device, uint64_t handle, void **va);
int ndlx_memory_unmap(ndlx_device_t *device, uint64_t handle, void *va);
int ndlx_memory_copy(ndlx_device_t *device, uint64_t src, uint64_t dst, uint64_t src_offset,
		     uint64_t dst_offset, uint64_t size);
/*
 * A copy after which the source's bytes are whatever they are: the pages may change hands. Returns
 * 1 if (nearly) all of them did, 0 if they were copied, or -errno.
 */
int ndlx_memory_move(ndlx_device_t *device, uint64_t src, uint64_t dst, uint64_t src_offset,
		     uint64_t dst_offset, uint64_t size);
/*
 * The chunk's bytes are of no use any more: what is read before it is written is whatever it is.
 * Chips in this process give the host's memory back. Returns 0 or -errno.
 */
int ndlx_memory_forget(ndlx_device_t *device, uint64_t handle);
int ndlx_memory_buf_copyin(ndlx_device_t *device, uint64_t handle, const void *buf, uint64_t offset,
			   uint64_t size);
int ndlx_memory_buf_copyout(ndlx_device_t *device, uint64_t handle, void *buf, uint64_t offset,
			    uint64_t size);
int ndlx_memset(ndlx_device_t *device, uint64_t handle, uint64_t offset, uint32_t value,
		uint64_t size);
/* Maps a whole memory, until the device is closed; -ENOTSUP where chips map none. */
int ndlx_dram_map(ndlx_device_t *device, uint32_t channel, void **va, uint64_t *size);
/* Maps a view that the module has: semaphores, SBUF, a TOP_SP (to read) */
int ndlx_block_map(ndlx_device_t *device, enum neuron_mmap_block block, uint32_t id,
		   enum neuron_mmap_resource resource, void **va, uint64_t *size);
/*
 * The chunks of a memory, whosever they are. count: in the room, out how many there are; -EAGAIN:
 * they do not fit
 */
int ndlx_dram_chunks(ndlx_device_t *device, uint32_t channel,
		     struct neuron_ioctl_mem_chunk_info *info, uint32_t *count);
/* Copies into a core's window by its copy ring; -ENOMEM: not there */
int ndlx_core_write(ndlx_device_t *device, uint32_t nc, uint64_t address, const void *buf,
		    uint64_t size);
int ndlx_get_dmabuf_fd(ndlx_device_t *device, uint64_t va, uint64_t size, int *fd);

/* DMA engines and queues. Rings are chunks; counts are of descriptors. */
struct ndlx_queue_params {
	uint32_t eng, qid;
	uint32_t tx_count, rx_count; /* multiples of 16, at least 32 */
	uint64_t tx_handle, rx_handle;
	uint32_t axi_port;
};
int ndlx_dma_eng_set_state(ndlx_device_t *device, uint32_t eng, uint32_t state);
int ndlx_dma_eng_get_state(ndlx_device_t *device, uint32_t eng, struct neuron_dma_eng_state *state);
int ndlx_dma_queue_init(ndlx_device_t *device, const struct ndlx_queue_params *params);
int ndlx_dma_queue_init_batch(ndlx_device_t *device, const struct ndlx_queue_params *params,
			      uint32_t count); /* at most 255 */
int ndlx_dma_queue_release(ndlx_device_t *device, uint32_t eng, uint32_t qid);
int ndlx_dma_queue_copy_start(ndlx_device_t *device, uint32_t eng, uint32_t qid, uint32_t tx_count,
			      uint32_t rx_count);
int ndlx_dma_queue_get_state(ndlx_device_t *device, uint32_t eng, uint32_t qid,
			     struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
/*
 * Writes descriptors (16 bytes each) into a ring chunk; host addresses in them must be this
 * process's.
 */
int ndlx_dma_copy_descriptors(ndlx_device_t *device, uint64_t handle, const void *descs,
			      uint64_t offset, uint32_t count, enum neuron_dma_queue_type type);
int ndlx_dma_descriptor_copyout(ndlx_device_t *device, uint32_t eng, uint32_t qid,
				enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
				void *descs);

/* Synchronisation */
int ndlx_nc_semaphore_increment(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndlx_nc_semaphore_decrement(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndlx_nc_semaphore_read(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t *value);
int ndlx_nc_semaphore_write(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndlx_nc_event_get(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t *value);
int ndlx_nc_event_set(ndlx_device_t *device, uint32_t nc, uint32_t index, uint32_t value);

/* Notification queues, in host memory. With fresh a new ring is made even when one exists. */
struct ndlx_nq_params {
	uint32_t nc, type, engine; /* NEURON_NQ_*, NEURON_ENG_* */
	uint32_t size; /* bytes, a power of two */
	bool fresh;
};
int ndlx_notification_init(ndlx_device_t *device, const struct ndlx_nq_params *params, void **va);
int ndlx_notification_destroy(ndlx_device_t *device, void *va); /* unmaps */
/* Tells the chip which entry is read next: from then on it never overtakes its reader. */
int ndlx_notification_read(ndlx_device_t *device, uint32_t nc, uint32_t type, uint32_t engine,
			   uint32_t next);
/* 1: the chip has the queue that ndlx_notification_init() made; 0: a reset took it; -errno */
int ndlx_notification_given(ndlx_device_t *device, uint32_t nc, uint32_t type, uint32_t engine);

/*
 * Sleeping until a core writes a notification entry, in any of its queues. A waiter serves one
 * thread at a time: it calls ndlx_wait_look(), looks at the rings, and calls ndlx_wait(), which
 * returns 0 when an entry was written after ndlx_wait_look() (or for no reason at all: look again),
 * -ETIMEDOUT or -ENODEV. ndlx_wait_wake(), from any thread, ends the sleep of a waiter that looked
 * before it, with 0. ndlx_wait_open() returns -ENOTSUP where driver or chip have no interrupts:
 * such a caller polls.
 */
struct ndlx_waiter;
int ndlx_wait_open(ndlx_device_t *device, uint32_t nc, struct ndlx_waiter **waiter);
int ndlx_wait_look(struct ndlx_waiter *waiter);
int ndlx_wait(struct ndlx_waiter *waiter, uint64_t timeout_us);
void ndlx_wait_wake(struct ndlx_waiter *waiter);
/*
 * A chip in the process can be executed by the thread that waits for it. Between lend and leave no
 * other thread may have to execute what the caller starts on the waiter's core: it calls work until
 * that returns false, or until it sees what it waits for. Nothing happens with another chip or a
 * NULL waiter.
 */
void ndlx_wait_lend(struct ndlx_waiter *waiter);
bool ndlx_wait_work(struct ndlx_waiter *waiter);
void ndlx_wait_leave(struct ndlx_waiter *waiter);
void ndlx_wait_close(struct ndlx_waiter *waiter); /* before its device is closed; NULL is allowed */

/* Datastore. pid 0 is the own entry, for reading and writing; another process's is read only. */
int ndlx_nds_open(ndlx_device_t *device, int pid, void **data, size_t *size);
int ndlx_nds_close(ndlx_device_t *device, int pid, void *data, size_t size);
uint64_t ndlx_nds_get(const void *data, unsigned int nc, unsigned int counter);
void ndlx_nds_add(void *data, unsigned int nc, unsigned int counter, uint64_t value);

/*
 * Reservation. Marks are of cores of the whole machine, and last until they are unmarked, the
 * process ends or the cores' device is unplugged.
 */
int ndlx_crwl_reader_enter(ndlx_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndlx_crwl_reader_exit(ndlx_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndlx_crwl_writer_enter(ndlx_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndlx_crwl_writer_downgrade(ndlx_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
/*
 * Marks the first run of count free cores inside [start, end] and returns it in *first; with -EBUSY
 * *available says how many are free.
 */
int ndlx_crwl_nc_range_mark(uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			    uint32_t *available);
int ndlx_crwl_nc_range_unmark(uint32_t first, uint32_t count);

/* Reset and start-up. nc_map has one bit a core; NEURON_NC_MAP_DEVICE stands for all. */
int ndlx_reset_ncs(ndlx_device_t *device, uint32_t nc_map, uint32_t *request_id);
/* waits; *result 0 is success */
int ndlx_ready_ncs(ndlx_device_t *device, uint32_t request_id, int *result);
int ndlx_nc_init_set_state(ndlx_device_t *device, uint32_t nc, uint32_t state, uint32_t *new_state);
int ndlx_nc_model_started_count(ndlx_device_t *device, uint32_t nc, uint64_t *count);

/* The processes that use a device; the caller frees *info. flags: NEURON_APP_INFO_* */
int ndlx_get_all_apps_info(ndlx_device_t *device, struct neuron_app_info **info, size_t *count,
			   uint16_t flags);

int ndlx_printk(ndlx_device_t *device, const char *text);

/*
 * An ioctl of the kernel module that has no function here; without a device by free access.
 * -ENOTSUP in process
 */
int ndlx_ioctl(ndlx_device_t *device, unsigned long request, void *arg);

#ifdef __cplusplus
}
#endif
#endif
