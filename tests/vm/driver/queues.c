// SPDX-License-Identifier: MIT
/*
 * Queues, notification queues, semaphores, events and raw registers: what the chip does with
 * descriptors that a program put together by hand, and what the module refuses.
 */
#include "chip.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define RING 64
#define ENG 0
#define QID 3

static uint64_t src, dst, tx, rx;

/* Addresses of registers, written down here once more from docs/hardware.md */
static const struct type {
	uint16_t id;
	uint64_t misc, udma, copy, nq, core; /* offsets of first ones in their BARs */
	uint32_t copy_queue, ready; /* of core 0's copies; the word of MISC RAM */
	uint32_t ready_bits, ready_value;
	uint32_t nq_base, nq_head;
	uint64_t misc_address, ext_address, core_address, last_core_address;
	uint8_t revision; /* of an engine */
} types[] = {
	{ 0x7064, 0x78e000, 0x40000, 0xc0000, 0x404000, 0, 15, 0x1c, 0x80000000, 0x80000000, 0xbfc,
	  0xc14, 0xffff078e000, 0xffff0800000, 0xfffc0000000, 0xfffcc000000, 4 },
	{ 0x7164, 0x30fa0000, 0x30000000, 0x30600000, 0x30535000, 0, 0, 0x808, 8, 0, 0x1c8, 0x1d4,
	  0xffff0fa0000, 0xfffb0000000, 0xfffc0000000, 0xfffc4000000, 4 },
	{ 0x7264, 0x30fa0000, 0x30000000, 0x30600000, 0x30535000, 0, 0, 0x808, 8, 0, 0x1c8, 0x1d4,
	  0xffff0fa0000, 0xfffb0000000, 0xfffc0000000, 0xfffc4000000, 4 },
	{ 0x7364, 0x6c84000, 0x82000000, 0x6800000, 0x6001000, 0xd0000000, 0, 0x808, 8, 0, 0x1c8,
	  0x1d4, 0x8006c84000, 0x8600000000, 0x2000000000, 0x80f000000000, 4 },
};
static const struct type *type;
static const struct neuron_gen *chip;

static bool find_type(void)
{
	chip = chip_of(0);
	for (unsigned int i = 0; chip && i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].id == chip->pci_id[0])
			type = &types[i];
	return type;
}

static int queue_init(int fd, uint32_t eng, uint32_t qid, uint32_t n, uint64_t t, uint64_t r)
{
	struct neuron_ioctl_dma_queue_init a = { eng, qid, n, n, t, r, 0, 0 };

	return call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a);
}

static int queue_start(int fd, uint32_t eng, uint32_t qid, uint32_t t, uint32_t r)
{
	struct neuron_ioctl_dma_queue_copy_start a = { eng, qid, t, r };

	return call(fd, NEURON_IOCTL_DMA_QUEUE_COPY_START, &a);
}

static int descs_write(int fd, uint64_t ring, void *descs, uint32_t n, uint64_t offset,
		       uint32_t type)
{
	struct neuron_ioctl_dma_copy_descriptors64 a = { ring, descs, n, offset, type };

	return call(fd, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a);
}

/* A descriptor by the public layout, written out here on purpose */
static void desc(uint32_t *d, bool is_tx, uint64_t addr, uint32_t len, uint32_t ring_id)
{
	d[0] = (len & 0xffff) | ring_id << 24 | (is_tx ? 0x0c000000 : 0);
	d[1] = is_tx ? 0x01080003 : 0;
	d[2] = (uint32_t)addr;
	d[3] = (uint32_t)(addr >> 32);
}

static void test_refused_queues(int fd)
{
	struct neuron_ioctl_dma_queue_release rel = { ENG, QID };

	is(queue_init(fd, chip->dma_engines, 0, RING, tx, rx), -EINVAL, "an engine too many");
	is(queue_init(fd, 0, 16, RING, tx, rx), -EINVAL, "queue 16");
	is(queue_init(fd, ENG, QID, RING, 99, rx), -EINVAL, "a handle that is none");
	is(queue_init(fd, ENG, QID, RING + 1, tx, rx), -EINVAL, "an odd length");
	is(queue_init(fd, ENG, QID, 16, tx, rx), -EINVAL, "too short");
	is(queue_init(fd, ENG, QID, 512, tx, rx), -EINVAL, "longer than the chunk");
	is(queue_init(fd, chip->copy[0].engine, type->copy_queue, RING, tx, rx), -EACCES,
	   "the module's own queue");
	is(queue_start(fd, ENG, QID, 1, 1), -EINVAL, "start without a ring");
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_RELEASE, &rel), -EINVAL, "release what is not held");
	is(queue_init(fd, ENG, QID, RING, 0, 0), 0, "a queue without rings is legal");
	is(queue_start(fd, ENG, QID, 1, 1), -EINVAL, "but does not start");
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_RELEASE, &rel), 0, "release");
}

static bool wait_for(const uint8_t *p, uint8_t value)
{
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		if (*(const volatile uint8_t *)p == value)
			return true;
		usleep(100);
	}
	return false;
}

static void test_raw_copy(int fd)
{
	uint8_t *d = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, chunk_pa(fd, dst));
	uint8_t in[4096];
	uint32_t t[8], r[8], back[8];
	struct neuron_ioctl_dma_descriptor_copyout out = { ENG, QID, 0, 1, 1, back };
	struct neuron_dma_queue_state ts, rs;
	struct neuron_ioctl_dma_queue_get_state st = { ENG, QID, &ts, &rs };

	pattern(in, sizeof(in), 21);
	in[4095] = 0x77;
	copy_in(fd, src, in, 0, 4096);
	is(queue_init(fd, ENG, QID, RING, tx, rx), 0, "queue on rings in device memory");
	desc(t, true, chunk_pa(fd, src), 4000, 1);
	desc(t + 4, true, chunk_pa(fd, src) + 4000, 96, 1);
	desc(r, false, chunk_pa(fd, dst), 4000, 1);
	desc(r + 4, false, chunk_pa(fd, dst) + 4000, 96, 1);
	is(descs_write(fd, tx, t, 2, 0, 0), 0, "TX descriptors");
	is(descs_write(fd, rx, r, 2, 0, 1), 0, "RX descriptors");
	is(queue_start(fd, ENG, QID, 2, 2), 0, "start");
	ok(wait_for(d + 4095, 0x77), "the data arrives");
	ok(!memcmp(d, in, 4096), "all of it");
	is(call(fd, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out), 0, "copy a descriptor out");
	ok(!memcmp(back, t + 4, 16), "the second one");
	out.start_index = RING;
	is(call(fd, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out), -EFBIG, "beyond the ring");
	out.start_index = UINT32_MAX;
	is(call(fd, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out), -EFBIG, "wrapping");
	out.count = 0;
	is(call(fd, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out), -EINVAL, "none");
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_GET_STATE, &st), 0, "queue state");
	is(ts.length, RING, "ring length");
	is((long long)ts.base_addr, chunk_pa(fd, tx), "ring base");
	is(ts.sw_status, 2, "initialised");
	st.eng_id = chip->copy[0].engine;
	st.qid = type->copy_queue;
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_GET_STATE, &st), 0, "state of the copy queue");
	is(ts.length, 8192, "has 8192 descriptors");
	is(queue_start(fd, ENG, QID, RING + 1, 1), -EINVAL, "more than the ring holds");
	munmap(d, 4096);
}

static void test_descriptor_addresses(int fd)
{
	uint32_t d[4];
	uint64_t host;

	chunk(fd, true, 8192, 0, &host);
	desc(d, true, chip->window.host | 0x1000, 64, 1);
	is(descs_write(fd, tx, d, 1, 0, 0), -EINVAL, "a host address of nobody");
	desc(d, true, chunk_pa(fd, host), 8192, 1);
	is(descs_write(fd, tx, d, 1, 0, 0), 0, "own host memory");
	desc(d, true, chunk_pa(fd, host), 8193, 1);
	is(descs_write(fd, tx, d, 1, 0, 0), -EINVAL, "one byte beyond it");
	desc(d, true, chunk_pa(fd, host), 0, 1);
	is(descs_write(fd, tx, d, 1, 0, 0), -EINVAL, "length 0 is 64 KiB");
	desc(d, true, chunk_pa(fd, host), 64, 1); /* nothing is wrong with it but where it goes */
	is(descs_write(fd, tx, d, 1, 4096 - sizeof(d), 0), 0, "the last place of the ring's chunk");
	is(descs_write(fd, tx, d, 1, 4096, 0), -EINVAL, "beyond the ring's chunk");
	is(descs_write(fd, tx, d, 1, 4096 - sizeof(d) / 2, 0), -EINVAL, "half of it beyond");
	is(descs_write(fd, tx, d, 1, -(uint64_t)sizeof(d), 0), -EINVAL, "before it");
	is(descs_write(fd, tx, d, UINT32_MAX, 0, 0), -E2BIG, "too many");
	is(descs_write(fd, tx, NULL, 1, 0, 0), -EFAULT, "from nowhere");
	chunk_free(fd, host);
}

static void test_batch(int fd)
{
	struct neuron_ioctl_dma_queue_init_batch *b = calloc(1, sizeof(*b));
	unsigned int i;

	for (i = 0; i < 8; i++)
		b->entries[i] =
			(struct neuron_ioctl_dma_queue_init){ 1, i, RING, RING, tx, rx, 0, 0 };
	b->count = 8;
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, b), 0, "eight queues at once");
	b->count = 256;
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, b), -E2BIG, "256 are too many");
	b->count = 3;
	b->entries[1].eng_id = chip->dma_engines;
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, b), -EINVAL, "a bad one among them");
	free(b);
}

static int sem(int fd, unsigned long cmd, uint32_t nc, uint32_t index, uint32_t *value)
{
	struct neuron_ioctl_semaphore a = { nc, index, *value };
	int ret = call(fd, cmd, &a);

	*value = a.value;
	return ret;
}

static void test_semaphores(int fd)
{
	uint32_t seven = 7, five = 5, two = 2, v = 0;
	struct neuron_ioctl_event e = { 0, 17, 1 };

	is(sem(fd, NEURON_IOCTL_SEMAPHORE_WRITE, 0, 9, &seven), 0, "write 7");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_INCREMENT, 0, 9, &five), 0, "add 5");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_DECREMENT, 0, 9, &two), 0, "subtract 2");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_READ, 0, 9, &v), 0, "read");
	is(v, 10, "is 10");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_READ, chip->cores, 0, &v), -E2BIG, "a core too many");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_READ, 0, chip->target->semaphores, &v), -EINVAL,
	   "a semaphore too many");
	is(call(fd, NEURON_IOCTL_EVENT_SET, &e), 0, "set event 17");
	e.value = 0;
	is(call(fd, NEURON_IOCTL_EVENT_GET, &e), 0, "get event 17");
	is(e.value, 1, "is 1");
	e.value = 0;
	call(fd, NEURON_IOCTL_EVENT_SET, &e);
	e.event_index = 256;
	is(call(fd, NEURON_IOCTL_EVENT_GET, &e), -EINVAL, "event 256");
	e.event_index = 65536;
	is(call(fd, NEURON_IOCTL_EVENT_SET, &e), -EINVAL, "event 65536");
	e.nc_id = 256;
	is(call(fd, NEURON_IOCTL_EVENT_SET, &e), -E2BIG, "core 256");
}

static void test_registers(int fd)
{
	struct neuron_ioctl_device_info info;
	uint64_t addr[4];
	uint32_t data[4] = { 0 };
	struct neuron_ioctl_bar_rw rw = { 0, (void *)addr, data, 1 };
	const uint64_t misc = type->misc, udma = type->udma;
	const struct {
		const char *name;
		uint64_t offset;
	} refused[] = {
		{ "reset word", misc + 0x1ec },
		{ "doorbell", misc + 0x800 },
		{ "request buffer", misc + 0x1f4 },
		{ "device id", misc + 0x24 },
		{ "ring base", udma + 0x1028 },
		{ "queue doorbell", udma + 0x1038 },
		{ "ring length", udma + 0x1030 },
		{ "completion base", udma + 0x21044 },
		{ "NQ base", type->nq + type->nq_base },
		{ "copy queue", type->copy + 0x1000 * (1 + type->copy_queue) + 0x20 },
		{ "unaligned", udma + 0x1022 },
		{ "end of the BAR", chip->bar_size[chip->bar_regs] },
	};
	const bool apart = chip->bar_cores != chip->bar_regs;
	unsigned int i;

	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	addr[0] = info.bar_address[0] + misc + type->ready;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), 0, "read the status word");
	ok((data[0] & type->ready_bits) == type->ready_value, "the chip is ready");
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		addr[0] = info.bar_address[0] + refused[i].offset;
		is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), -EINVAL, "not written: %s",
		   refused[i].name);
	}
	/* ours are in the BAR of the registers, or in one that has nothing else */
	rw.bar = apart ? 0 : 2;
	addr[0] = apart ? info.bar_address[0] + 0x800000 : info.bar_address[1];
	is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), -EINVAL, "not written: our registers");
	rw.bar = 0;
	addr[0] = info.bar_address[0] + misc + 0xc0;
	data[0] = 0x1234;
	is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), 0, "a word of the runtime's");
	data[0] = 0;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), 0, "reads back");
	is(data[0], 0x1234, "as written");
	addr[0] = info.bar_address[0] + type->nq + type->nq_head;
	is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), 0, "an NQ head may be written");
	addr[0] = info.bar_address[0] - 4;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), -EINVAL, "below the BAR");
	rw.bar = 4;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), -EINVAL, "BAR4");
	/* in a BAR of their own the first address says where they are, otherwise each says it */
	rw = (struct neuron_ioctl_bar_rw){ chip->bar_cores, (void *)addr, data, 4 };
	for (i = 0; i < 4; i++)
		addr[i] = info.bar_address[apart] + type->core + 0x2701000 + 4 * i;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), 0, "four words of a core");
	rw.count = UINT32_MAX;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), -E2BIG, "four billion words");
}

static void test_counters(int fd)
{
	uint64_t addr[2] = { type->misc_address + type->ready, type->ext_address };
	uint32_t data[2] = { 0 };
	struct neuron_ioctl_read_hw_counters c = { (void *)addr, data, 2 };

	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), 0, "two registers by device address");
	ok((data[0] & type->ready_bits) == type->ready_value, "the first is the status");
	ok(data[1] != 0, "the second our ISA version, %u", data[1]);
	addr[0] = 0x1000;
	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), -EINVAL, "memory is no register");
	addr[0] = chip->window.host;
	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), -EINVAL, "nor is the host");
	c.count = 1u << 30;
	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), -E2BIG, "a billion registers");
}

static void test_notifications(int fd)
{
	struct neuron_ioctl_notifications_init_v1 v1 = { 0, 1, 2, 8192, 0 };
	struct neuron_ioctl_notifications_init_v2 v2 = {
		.nq_dev_id = 0, .nq_type = 3, .size = 16384, .on_host_memory = 1
	};
	uint64_t first;
	void *p;

	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), 0, "a queue in host memory");
	first = v1.mmap_offset;
	ok((first & chip->window.mask) == chip->window.host, "its offset is a host address");
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, first);
	ok(p != MAP_FAILED && all_bytes(p, 8192, 0), "maps, and is empty");
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), 0, "once more");
	is((long long)v1.mmap_offset, first, "the same queue");
	v1.size = 12288;
	v1.engine_index = 3;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), -EINVAL, "no power of two");
	v1.size = 2048;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), 0, "half a page");
	v1.size = 32;
	v1.engine_index = 1;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), -EINVAL, "less than two entries");
	v1.size = 8192;
	v1.nq_type = chip->nq_slot.count ? 6 : 4;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), -EINVAL, "a type V1 has not");
	v1.nc_id = chip->cores;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &v1), -EINVAL, "a core too many");
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &v2), 0, "the second form");
	ok(v2.mem_handle != 0, "has a handle");
	is(chunk_free(fd, v2.mem_handle), -EACCES, "that cannot be freed");
	v2.nq_dev_type = 1;
	is(call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &v2), chip->topsps_per_core ? 0 : -ENOSYS,
	   "of a TOP_SP, if there is one");
	munmap(p, 8192);
}

static void test_engines(int fd)
{
	struct neuron_dma_eng_state st;
	struct neuron_ioctl_dma_eng_get_state get = { 5, &st };
	struct neuron_ioctl_dma_eng_set_state set = { 0, 2 };

	is(call(fd, NEURON_IOCTL_DMA_ENG_GET_STATE, &get), 0, "engine state");
	is(st.revision_id, type->revision, "revision");
	is(st.num_queues, 16, "queues");
	get.eng_id = chip->dma_engines;
	is(call(fd, NEURON_IOCTL_DMA_ENG_GET_STATE, &get), -EINVAL, "of an engine too many");
	is(call(fd, NEURON_IOCTL_DMA_ENG_SET_STATE, &set), 0, "set to normal");
	set.state = 1;
	is(call(fd, NEURON_IOCTL_DMA_ENG_SET_STATE, &set), -EINVAL, "a state that is none");
	set = (struct neuron_ioctl_dma_eng_set_state){ chip->copy[0].engine, 0 };
	is(call(fd, NEURON_IOCTL_DMA_ENG_SET_STATE, &set), -EACCES, "stop the copy engine");
}

static void test_program_engine(int fd)
{
	uint8_t in[512], out[512];
	uint64_t sbuf = type->core_address;
	struct neuron_ioctl_program_engine_nc64 a = { 0, sbuf, in, sizeof(in), 0 };
	struct neuron_ioctl_bar_rw rw;
	struct neuron_ioctl_device_info info;
	uint64_t addr[sizeof(out) / 4];

	pattern(in, sizeof(in), 31);
	is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a), 0, "write into SBUF");
	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	for (unsigned int i = 0; i < sizeof(out) / 4; i++)
		addr[i] = info.bar_address[chip->bar_cores != chip->bar_regs] + type->core + 4 * i;
	rw = (struct neuron_ioctl_bar_rw){ chip->bar_cores, (void *)addr, (void *)out,
					   sizeof(out) / 4 };
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), 0, "read it as registers");
	ok(!memcmp(in, out, sizeof(in)), "the same bytes");
	a.dst = 0;
	is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a), -ENOMEM, "DRAM is no engine");
	a.dst = type->last_core_address + 0x4000000 - 4;
	is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a), -ENOMEM, "across the end");
	a.offset = UINT64_MAX;
	is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a), -ENOMEM, "wrapping");
	a.nc_id = chip->cores;
	is(call(fd, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a), -EINVAL, "a core too many");
}

/* A core that this process has is refused to another one, until it is released. */
static void test_owner(int fd)
{
	uint32_t v = 1, back[4], last = chip->cores - 1u;
	struct neuron_ioctl_dma_descriptor_copyout out = { ENG, QID, 0, 0, 1, back };
	int status, bad = 0, fd2;
	pid_t pid;

	is(queue_init(fd, ENG, QID, RING, tx, rx), 0, "a queue with rings");
	is(call(fd, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out), 0, "whose descriptors it sees");
	pid = fork();
	if (!pid) {
		fd2 = node(0, O_RDWR);
		bad |= queue_init(fd2, ENG, QID, RING, 0, 0) != -EACCES;
		bad |= (queue_start(fd2, ENG, QID, 1, 1) != -EACCES) << 1;
		bad |= (sem(fd2, NEURON_IOCTL_SEMAPHORE_WRITE, 0, 1, &v) != -EACCES) << 2;
		bad |= (sem(fd2, NEURON_IOCTL_SEMAPHORE_WRITE, last, 1, &v) != 0) << 3;
		bad |= (queue_init(fd, ENG, QID, RING, 0, 0) != -EACCES) << 4;
		bad |= (call(fd2, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &out) != -EACCES) << 5;
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 0, "another process has no way to this one's core and rings");
	is(sem(fd, NEURON_IOCTL_SEMAPHORE_WRITE, last, 1, &v), 0, "its own is free again");
}

int main(void)
{
	int fd = node(0, O_RDWR);

	if (!ok(fd >= 0 && find_type(), "open"))
		return tap_done();
	chunk(fd, false, 4096, 0, &src);
	chunk(fd, false, 4096, 0, &dst);
	chunk(fd, false, 4096, 0, &tx);
	is(chunk(fd, false, 4096, 1, &rx), 0, "memory for rings");
	test_refused_queues(fd);
	test_raw_copy(fd);
	test_descriptor_addresses(fd);
	test_batch(fd);
	test_semaphores(fd);
	test_registers(fd);
	test_counters(fd);
	test_notifications(fd);
	test_engines(fd);
	test_program_engine(fd);
	test_owner(fd);
	close(fd);
	return tap_done();
}
