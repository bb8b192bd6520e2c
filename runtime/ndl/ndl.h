/* SPDX-License-Identifier: MIT */
/*
 * libndl: the only code in user space that reaches a device. One interface at the level of the
 * public ndl.h, two backends: "node" (/dev/neuronN, the kernel module) and "emu" (the same chips
 * in this process: no VM, no root, no module). Called by libnrt, neuron-ls and tests.
 *
 * Which machine: ndl_machine_set(), else the environment's NEURON_EMU ("inf1.6xlarge"), else the
 * nodes. It is fixed by the first call that needs it; an emulated machine lives until the process
 * ends or ndl_machine_close().
 *
 * Functions return 0 or -errno, with the module's errors on both backends: -EINVAL (range, handle),
 * -E2BIG (core number), -ENOMEM, -EBUSY, -ENODEV, -ETIMEDOUT, -ENOTSUP. Thread safe. Nothing is
 * printed. The emu backend starts worker threads, touches no file and no signal, and does not
 * survive fork() (calls in the child give -EOWNERDEAD).
 */
#ifndef NDL_H
#define NDL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/gen.h"
#include "neuron/hw/inferentia.h"
#include "neuron/hw/ext.h"
#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NDL_MAX_DEVICES NEURON_MAX_DEVICES
#define NDL_ZEROCOPY_MIN (1u << 20) /* from here copies pin the caller's pages */

/* "node", "emu:inf1.6xlarge", "inf1.6xlarge"; -EINVAL unknown, -EBUSY a machine is in use */
int ndl_machine_set(const char *name);
/* Close it; every device must be closed: else -EBUSY */
int ndl_machine_close(void);
bool ndl_machine_is_emu(void);
/* "inf1.6xlarge"; "" when the platform does not say */
const char *ndl_machine_instance(void);

/*
 * Make a chip in this process fail: "dma-abort=2:core=1" (docs/hardware.md, Faults; without a value
 * "1" or "on"). -ENODEV no such chip, -ENOENT no such fault, -EINVAL not a value of it,
 * -ENOTSUP on nodes
 */
int ndl_fault(int index, const char *fault);

typedef struct ndl_device_init_param {
	bool initialize_device; /* false: only look, as monitors do; the device may be in use */
	int num_dram_regions; /* 0 */
	bool map_hbm; /* not on this generation */
} ndl_device_init_param_t;

/* The head has the public layout; what follows is the library's */
typedef struct ndl_device {
	uint8_t device_index;
	uint8_t device_type; /* architecture: gen->arch */
	uint16_t device_revision;
	uint8_t connected_device_count;
	uint8_t connected_devices[NDL_MAX_DEVICES]; /* by port: east first */
	uint64_t csr_base[2]; /* BAR0, BAR2: cookies for bar_read/write */
	uint64_t csr_size[2];
	const struct neuron_gen *gen; /* how much it has of everything, and where */
	const struct ndl_ops *ops;
	void *priv;
} ndl_device_t;

struct ndl_bdf {
	uint32_t domain;
	uint8_t bus, slot, func;
};

/*
 * What an error of this thread's last call means: strerror()'s text, or for -ENOTSUP of a driver
 * that lacks the call which release of the public driver brought it. Until the thread's next call
 */
const char *ndl_error_text(int err);

/* Version and features */
int ndl_get_version(char *driver_version, size_t size); /* the module's; "emu" in process */
/* Range of runtime levels the driver accepts */
int ndl_get_compatible_version(uint32_t *min, uint32_t *max);
int ndl_feature_supported(uint64_t feature, bool *supported); /* NEURON_FEATURE_* */
/* One feature of our own chips: the answer to a device-address read of the ISA version */
int ndl_isa_version(ndl_device_t *device, uint32_t *version); /* 0: not our chip */

/* Devices. available: indices in order, the count is returned (>= 0) */
int ndl_available_devices(int *indexes, int size);
int ndl_open_device(int index, const ndl_device_init_param_t *params, ndl_device_t **device);
int ndl_close_device(ndl_device_t *device);
/* Without opening it for use: free access */
int ndl_get_device_bdf(int index, struct ndl_bdf *bdf);
/* What its generation has of everything, and where */
int ndl_get_gen(int index, const struct neuron_gen **gen);
int ndl_get_nc_count(ndl_device_t *device, uint32_t *count);
/*
 * The ports whose link is up, as the driver says or inferred from the neighbours' indices. In a
 * line or a ring a chip's first port leads to the device behind it, the second to the one before
 */
#define NDL_PORT_EAST 0
#define NDL_PORT_WEST 1
int ndl_get_links(int index, bool up[NEURON_PORTS_MAX]);
/* The same of an open device, without asking the chip again: as of when it was opened */
int ndl_device_links(ndl_device_t *device, bool up[NEURON_PORTS_MAX]);
/* Where addresses of another device begin for this one; -ENOENT: no link that is up leads there */
int ndl_neighbor_window(ndl_device_t *device, int neighbor, uint64_t *window);
/* Bytes of a DRAM channel; -EINVAL beyond the last */
int ndl_get_dram_size(ndl_device_t *device, uint32_t channel, uint64_t *size);
/* Which channel a device address is of; -EINVAL: none */
int ndl_memory_channel(ndl_device_t *device, uint64_t pa);
#define NDL_REGIONS 4 /* of a channel; a chunk lies in one */
/* Bytes of a region: the largest chunk of a generation's device memory */
uint64_t ndl_region_size(const struct neuron_gen *gen);

/* Registers */
int ndl_bar_read(ndl_device_t *device, unsigned int bar, const uint64_t *offset, uint32_t *data,
		 uint32_t count);
int ndl_bar_write(ndl_device_t *device, unsigned int bar, const uint64_t *offset,
		  const uint32_t *data, uint32_t count);
int ndl_read_hw_counters(ndl_device_t *device, const uint64_t *addr, uint32_t *data,
			 uint32_t count);
/* 0, or -ENODEV of a device that was unplugged */
int ndl_alive(ndl_device_t *device);

/* Errors that the chip's memories counted */
struct ndl_ecc {
	uint32_t corrected, uncorrected;
};
struct ndl_errors {
	struct ndl_ecc sram;
	struct ndl_ecc memory[NEURON_MEMORIES_MAX];
};
int ndl_error_counters(ndl_device_t *device, struct ndl_errors *errors);

/* What our own chips count of a core; cycles are virtual */
struct ndl_core_perf {
	struct {
		uint64_t insns, busy_cycles, idle_cycles, wait_cycles;
		uint64_t matmul_insns, matmul_wait_cycles;
	} engine[NEURON_ENGINES_MAX];
	uint64_t macs;
};
int ndl_core_perf(ndl_device_t *device, uint32_t nc, struct ndl_core_perf *perf);

/* Device addresses, as descriptors and instructions name them */
uint64_t ndl_core_address(ndl_device_t *device, uint32_t nc); /* SBUF begins there */
uint64_t ndl_fifo_address(ndl_device_t *device, uint32_t nc, uint32_t engine); /* instructions */
/* A word written there is added to the semaphore */
uint64_t ndl_semaphore_address(ndl_device_t *device, uint32_t nc, uint32_t index);
/* A word written there starts so many descriptors of one half of a queue */
uint64_t ndl_doorbell_address(ndl_device_t *device, uint32_t eng, uint32_t qid,
			      enum neuron_dma_queue_type half);

/* Memory. A handle belongs to its device and to this process; sizes are rounded up to 4 KiB */
struct ndl_mem_params {
	uint64_t size;
	uint64_t align; /* device memory only; 0: 4 KiB */
	bool host;
	uint32_t channel; /* device memory */
	uint32_t region;
	uint32_t nc; /* whose copy ring and accounting */
	uint32_t type; /* NEURON_MEMALLOC_TYPE_* */
};
int ndl_memory_alloc(ndl_device_t *device, const struct ndl_mem_params *params, uint64_t *handle);
int ndl_memory_free(ndl_device_t *device, uint64_t handle);
/* Device-side address: with the host window bit for host memory */
int ndl_memory_get_pa(ndl_device_t *device, uint64_t handle, uint64_t *pa);
int ndl_memory_get_size(ndl_device_t *device, uint64_t handle, uint64_t *size);
/* The whole chunk; unmap before free */
int ndl_memory_map(ndl_device_t *device, uint64_t handle, void **va);
int ndl_memory_unmap(ndl_device_t *device, uint64_t handle, void *va);
int ndl_memory_copy(ndl_device_t *device, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size);
int ndl_memory_buf_copyin(ndl_device_t *device, uint64_t handle, const void *buf, uint64_t offset,
			  uint64_t size);
int ndl_memory_buf_copyout(ndl_device_t *device, uint64_t handle, void *buf, uint64_t offset,
			   uint64_t size);
int ndl_memset(ndl_device_t *device, uint64_t handle, uint64_t offset, uint32_t value,
	       uint64_t size);
int ndl_get_dmabuf_fd(ndl_device_t *device, uint64_t va, uint64_t size, int *fd);

/* DMA engines and queues. Rings are chunks; counts are descriptors */
struct ndl_queue_params {
	uint32_t eng, qid;
	uint32_t tx_count, rx_count; /* multiples of 16, at least 32 */
	uint64_t tx_handle, rx_handle;
	uint32_t axi_port;
};
int ndl_dma_eng_set_state(ndl_device_t *device, uint32_t eng, uint32_t state);
int ndl_dma_eng_get_state(ndl_device_t *device, uint32_t eng, struct neuron_dma_eng_state *state);
int ndl_dma_queue_init(ndl_device_t *device, const struct ndl_queue_params *params);
int ndl_dma_queue_init_batch(ndl_device_t *device, const struct ndl_queue_params *params,
			     uint32_t count); /* at most 255 */
int ndl_dma_queue_release(ndl_device_t *device, uint32_t eng, uint32_t qid);
int ndl_dma_queue_copy_start(ndl_device_t *device, uint32_t eng, uint32_t qid, uint32_t tx_count,
			     uint32_t rx_count);
int ndl_dma_queue_get_state(ndl_device_t *device, uint32_t eng, uint32_t qid,
			    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
/* Write descriptors (16 bytes each) into a ring chunk; host addresses must be this process's */
int ndl_dma_copy_descriptors(ndl_device_t *device, uint64_t handle, const void *descs,
			     uint64_t offset, uint32_t count, enum neuron_dma_queue_type type);
int ndl_dma_descriptor_copyout(ndl_device_t *device, uint32_t eng, uint32_t qid,
			       enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
			       void *descs);

/* Synchronisation */
int ndl_nc_semaphore_increment(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndl_nc_semaphore_decrement(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndl_nc_semaphore_read(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t *value);
int ndl_nc_semaphore_write(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value);
int ndl_nc_event_get(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t *value);
int ndl_nc_event_set(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value);

/* Notification queues, in host memory. fresh: a new ring even when one exists */
struct ndl_nq_params {
	uint32_t nc, type, engine; /* NEURON_NQ_*, NEURON_ENG_* */
	uint32_t size; /* bytes, a power of two */
	bool fresh;
};
int ndl_notification_init(ndl_device_t *device, const struct ndl_nq_params *params, void **va);
int ndl_notification_destroy(ndl_device_t *device, void *va); /* unmaps */
/* Tell the chip which entry is read next: from then on it never overtakes its reader */
int ndl_notification_read(ndl_device_t *device, uint32_t nc, uint32_t type, uint32_t engine,
			  uint32_t next);

/*
 * Sleeping until a core writes a notification entry, of whatever queue. A waiter serves one thread
 * at a time. ndl_wait_look(), then a look at the rings, then ndl_wait(): it returns 0 when an entry
 * was written after ndl_wait_look() (or for no reason at all: look again), -ETIMEDOUT, -ENODEV.
 * ndl_wait_wake(), from any thread, ends the sleep of one that looked before it: 0.
 * ndl_wait_open() gives -ENOTSUP where driver or chip have no interrupts: sleep and look, then.
 */
struct ndl_waiter;
int ndl_wait_open(ndl_device_t *device, uint32_t nc, struct ndl_waiter **waiter);
int ndl_wait_look(struct ndl_waiter *waiter);
int ndl_wait(struct ndl_waiter *waiter, uint64_t timeout_us);
void ndl_wait_wake(struct ndl_waiter *waiter);
void ndl_wait_close(struct ndl_waiter *waiter); /* NULL is fine; before its device */

/* Datastore. pid 0: the own entry, read and write; another process's: read only */
int ndl_nds_open(ndl_device_t *device, int pid, void **data, size_t *size);
int ndl_nds_close(ndl_device_t *device, int pid, void *data, size_t size);
uint64_t ndl_nds_get(const void *data, unsigned int nc, unsigned int counter);
void ndl_nds_add(void *data, unsigned int nc, unsigned int counter, uint64_t value);

/* Reservation. Marks: cores of the whole machine, until unmarked or the process ends */
int ndl_crwl_reader_enter(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndl_crwl_reader_exit(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndl_crwl_writer_enter(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
int ndl_crwl_writer_downgrade(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid);
/* The first run of count free cores inside [start, end]: *first; -EBUSY: *available */
int ndl_crwl_nc_range_mark(uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			   uint32_t *available);
int ndl_crwl_nc_range_unmark(uint32_t first, uint32_t count);

/* Reset and start-up. nc_map: one bit a core, NEURON_NC_MAP_DEVICE for all */
int ndl_reset_ncs(ndl_device_t *device, uint32_t nc_map, uint32_t *request_id);
int ndl_ready_ncs(ndl_device_t *device, uint32_t request_id, int *result); /* waits; 0 ok */
int ndl_nc_init_set_state(ndl_device_t *device, uint32_t nc, uint32_t state, uint32_t *new_state);
int ndl_nc_model_started_count(ndl_device_t *device, uint32_t nc, uint64_t *count);

/* Processes that use a device; free() *info. flags: NEURON_APP_INFO_* */
int ndl_get_all_apps_info(ndl_device_t *device, struct neuron_app_info **info, size_t *count,
			  uint16_t flags);

int ndl_printk(ndl_device_t *device, const char *text);

#ifdef __cplusplus
}
#endif
#endif
