// SPDX-License-Identifier: MIT
/*
 * Answers to mistakes: one wrong field in each call. Left out is what stops or corrupts a kernel
 * under the public driver (docs/driver.md); the other driver tests ask that of this project's
 * module.
 */
#include "answers.h"

#include <sys/mman.h>

static uint8_t buf[8192];

static void alloc(int fd, const char *what, struct neuron_ioctl_mem_alloc_v2_mem_type64 a)
{
	uint64_t h = 0;

	a.mem_handle = (void *)&h;
	SAY(fd, MEM_ALLOC_V2MT64, what, &a);
	if (h)
		chunk_free(fd, h);
}

static void allocation(int fd)
{
	typedef struct neuron_ioctl_mem_alloc_v2_mem_type64 A;

	alloc(fd, "no such channel", (A){ .size = 4096, .dram_channel = chip->memories });
	alloc(fd, "region 4", (A){ .size = 4096, .dram_region = 4 });
	alloc(fd, "core 8", (A){ .size = 4096, .nc_id = 8 });
	alloc(fd, "host memory aligned", (A){ .size = 4096, .host_memory = 1, .align = 8192 });
	alloc(fd, "2 GiB in a region", (A){ .size = 2ull << 30 });
	alloc(fd, "9 GiB", (A){ .size = 9ull << 30 });
	alloc(fd, "2^64 - 1 bytes", (A){ .size = ~0ull });
	alloc(fd, "nothing", (A){ .size = 0 });
	alloc(fd, "type 100", (A){ .size = 4096, .mem_type = 100 });
}

static void handles(int fd)
{
	uint64_t bad = 12345678, pa;
	struct neuron_ioctl_mem_free f = { bad };
	struct neuron_ioctl_mem_get_pa g = { bad, (void *)&pa };
	struct neuron_ioctl_mem_get_info i = { bad, (void *)&pa, (void *)&pa };
	struct neuron_ioctl_mem_get_extended_info e = { .mem_handle = bad };
	struct neuron_ioctl_mem_copy64 c = { bad, bad, 4096, 0, 0 };
	struct neuron_ioctl_memset64 s = { bad, 0, 0, 4096 };
	struct neuron_ioctl_mem_buf_copy64 z = { bad, buf, 4096, 0, 1 };
	struct neuron_ioctl_mem_copy_async64 as = { bad, bad, 4096, 0, 0, 0, UINT32_MAX, 0 };
	struct neuron_ioctl_mem_copy_async_wait w = { bad, bad, 3 };
	struct neuron_ioctl_mem_get_mc_mmap_info mc = { .pa = 0x777000 };
	struct neuron_ioctl_dmabuf_fd d = { 0x1000, 4096, (void *)&pa };

	SAY(fd, MEM_FREE, "bad handle", &f);
	f.mem_handle = 0;
	SAY(fd, MEM_FREE, "handle 0", &f);
	SAY(fd, MEM_GET_PA, "bad handle", &g);
	SAY(fd, MEM_GET_INFO, "bad handle", &i);
	SAY(fd, MEM_GET_EXTENDED_INFO, "bad handle", &e);
	SAY(fd, MEM_COPY64, "bad handle", &c);
	SAY(fd, MEMSET64, "bad handle", &s);
	SAY(fd, MEM_BUF_COPY64, "bad handle", &z);
	SAY(fd, MEM_BUF_ZEROCOPY64, "bad handle", &z);
	SAY(fd, MEM_COPY_ASYNC64, "bad handle", &as);
	SAY(fd, MEM_COPY_ASYNC_WAIT, "handle 3", &w);
	SAY(fd, MEM_MC_GET_INFO, "no chunk there", &mc);
	SAY(fd, DMABUF_FD, "no mapping there", &d);
}

static void ranges(int fd)
{
	uint64_t h, k;
	struct neuron_ioctl_mem_copy64 c;
	struct neuron_ioctl_memset64 s;
	struct neuron_ioctl_mem_buf_copy64 z;
	struct neuron_ioctl_mem_copy_async64 as;
	struct neuron_ioctl_mem_copy_async_wait w;

	chunk(fd, false, 8192, 0, &h);
	chunk(fd, false, 4096, 0, &k);
	w = (struct neuron_ioctl_mem_copy_async_wait){ h, k, NEURON_DMA_H2T_CTX_HANDLE_ASYNC2 };
	SAY(fd, MEM_COPY_ASYNC_WAIT, "a handle that is not in use", &w);
	as = (struct neuron_ioctl_mem_copy_async64){ h, k, 4096, 0, 0, 0, w.pwait_handle, 0 };
	SAY(fd, MEM_COPY_ASYNC64, "after a handle that is not in use", &as);
	c = (struct neuron_ioctl_mem_copy64){ h, k, 8192, 0, 0 };
	SAY(fd, MEM_COPY64, "longer than the target", &c);
	c = (struct neuron_ioctl_mem_copy64){ h, k, 4096, 8192, 0 };
	SAY(fd, MEM_COPY64, "behind the source", &c);
	s = (struct neuron_ioctl_memset64){ k, 1, 0, 4096 };
	SAY(fd, MEMSET64, "past the end", &s);
	z = (struct neuron_ioctl_mem_buf_copy64){ k, buf, 8192, 0, 1 };
	SAY(fd, MEM_BUF_COPY64, "past the end", &z);
	SAY(fd, MEM_BUF_ZEROCOPY64, "past the end", &z);
	z = (struct neuron_ioctl_mem_buf_copy64){ k, (void *)8, 4096, 0, 1 };
	SAY(fd, MEM_BUF_COPY64, "from a bad pointer", &z);
	SAY(fd, MEM_BUF_ZEROCOPY64, "from a bad pointer", &z);
	chunk_free(fd, h);
	chunk_free(fd, k);
}

static void scratchpad(int fd)
{
	uint64_t h, k;
	struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
		.size = 4096,
		.dram_region = 2,
		.mem_type = NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE,
		.mem_handle = (void *)&h,
	};
	struct neuron_ioctl_mem_buf_copy64 z;

	call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a);
	z = (struct neuron_ioctl_mem_buf_copy64){ h, buf, 8192, 0, 1 };
	SAY(fd, MEM_BUF_COPY64, "past the scratchpad's end", &z);
	a.size = 1 << 30;
	a.mem_handle = (void *)&k;
	SAY(fd, MEM_ALLOC_V2MT64, "more scratchpad than there is", &a);
	chunk_free(fd, h);
}

static void cores(int fd)
{
	struct neuron_ioctl_semaphore s = { chip->cores, 0, 0 };
	struct neuron_ioctl_program_engine_nc64 p = { 0, 0x5000, buf, 4096, 0 };
	struct neuron_ioctl_notifications_init_v2 nq = { 0, 0, 1, 0, 5000, 1, 0, 0, 0, 0 };
	struct neuron_ioctl_dma_queue_init q = { 200, 0, 64, 64, 0, 0, 0, 0 };
	struct neuron_ioctl_dma_descriptor_copyout o = { 0, 3, 0, 0, 0, buf };
	struct neuron_ioctl_dma_eng_get_state st = { 200, (void *)buf };
	struct neuron_ioctl_post_metric m = { (void *)buf, 129 };
	struct neuron_ioctl_bar_rw rw = { 1, (void *)buf, (void *)buf, 1 };

	SAY(fd, SEMAPHORE_READ, "no such core", &s);
	SAY(fd, SEMAPHORE_WRITE, "no such core", &s);
	SAY(fd, SEMAPHORE_INCREMENT, "no such core", &s);
	SAY(fd, SEMAPHORE_DECREMENT, "no such core", &s);
	s = (struct neuron_ioctl_semaphore){ 0, chip->target->semaphores, 0 };
	SAY(fd, SEMAPHORE_READ, "no such number", &s);
	SAY(fd, SEMAPHORE_WRITE, "no such number", &s);
	SAY(fd, PROGRAM_ENGINE_NC64, "not in a core", &p);
	SAY(fd, NOTIFICATIONS_INIT_V2, "5000 bytes", &nq);
	nq.nq_dev_id = chip->cores;
	nq.size = 4096;
	SAY(fd, NOTIFICATIONS_INIT_V2, "no such core", &nq);
	SAY(fd, DMA_QUEUE_INIT, "engine 200", &q);
	q = (struct neuron_ioctl_dma_queue_init){ 0, 16, 64, 64, 0, 0, 0, 0 };
	SAY(fd, DMA_QUEUE_INIT, "queue 16", &q);
	SAY(fd, DMA_DESCRIPTOR_COPYOUT, "none", &o);
	SAY(fd, DMA_ENG_GET_STATE, "engine 200", &st);
	SAY(fd, POST_METRIC, "129 bytes", &m);
	SAY(fd, BAR_READ, "bar 1", &rw);
}

static void mappings(int fd)
{
	uint64_t h;
	void *p;

	chunk(fd, true, 8192, 0, &h);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)chunk_pa(fd, h));
	printf("mmap part of a chunk = %d\n", p == MAP_FAILED ? -errno : 0);
	chunk_free(fd, h);
}

static void locks(int fd)
{
	struct neuron_ioctl_crwl l = { 2, { { 7 } } }, other = { 2, { { 8 } } };

	SAY(fd, CRWL_READER_EXIT, "not held", &l);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "not held", &l);
	SAY(fd, CRWL_WRITER_ENTER, "to be in the way", &l);
	SAY(fd, CRWL_WRITER_ENTER, "another uuid waits and fails", &other);
	SAY(fd, CRWL_READER_ENTER, "while written, waits and fails", &l);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "with another uuid", &other);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "to be read", &l);
	SAY(fd, CRWL_READER_ENTER, "another uuid", &other);
	SAY(fd, CRWL_READER_EXIT, "another uuid", &other);
	SAY(fd, CRWL_READER_EXIT, "in the end", &l);
	l.nc_id = 8;
	SAY(fd, CRWL_WRITER_ENTER, "core 8", &l);
	SAY(fd, CRWL_READER_ENTER, "core 8", &l);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "core 8", &l);
	SAY(fd, CRWL_READER_EXIT, "core 8", &l);
}

static void mark(int fd, const char *what, uint32_t count, uint32_t start, uint32_t last)
{
	struct neuron_ioctl_crwl_nc_map m = { count, start, last, 77, 0 };

	ASK(fd, CRWL_NC_RANGE_MARK, what, &m);
	field("bitmap", (long long)m.bitmap), field("available", m.max_nc_available), end();
}

static void marks(void)
{
	int fd = node(0, O_WRONLY);

	mark(fd, "three of four", 3, 0, 3);
	mark(fd, "two where one is free", 2, 0, 3);
	mark(fd, "start after end", 1, 3, 2);
	mark(fd, "beyond the last core", 1, 600, 601);
	close(fd);
}

static void states(int fd)
{
	struct neuron_ioctl_cinit_set c = { chip->cores, NEURON_CINIT_STATE_STARTED, 0 };
	struct neuron_ioctl_nc_model_started_count n = { chip->cores, 99 };
	struct neuron_ioctl_device_ready ready = { 123456, 99 };
	struct neuron_ioctl_neuron_ds_info other = { 1, 0, 0 };

	SAY(fd, CINIT_SET_STATE, "no such core", &c);
	SAY(fd, NC_MODEL_STARTED_COUNT, "no such core", &n);
	ASK(fd, NC_RESET_READY, "of no request", &ready);
	field("result", ready.result), end();
	SAY(fd, ACQUIRE_NEURON_DS, "of a process without one", &other);
}

/* Calls for parts that no chip has, or that some have not */
static void absent(int fd)
{
	struct neuron_ioctl_get_logical_to_physical_nc_map map = { NULL, 4, 0 };
	struct neuron_ioctl_hbm_scrub_start scrub = { 0, NEURON_MEMORIES_MAX, 0, 0 };
	struct neuron_ioctl_hbm_scrub_wait wait = { 0, NEURON_MEMORIES_MAX };
	struct neuron_ioctl_notifications_init_v2 nq = { 0, 1, 1, 0, 4096, 1, 0, 0, 0, 0 };
	struct neuron_ioctl_notifications_queue_info info = { 0 };
	struct neuron_ioctl_dma_quiesce_queues q = { 0, 0, { 0 } };
	struct neuron_ioctl_device_driver_info d = { 0 };
	static struct neuron_ioctl_dma_queue_init_batch b = { .count = 256 };
	struct neuron_ioctl_resource_mmap_info r = { 0 };
	char what[32];

	for (uint32_t i = 1; i < 12; i++) {
		r = (struct neuron_ioctl_resource_mmap_info){ i / 4, 0, i % 4, 1, 1 };
		snprintf(what, sizeof(what), "block %u resource %u", i / 4, i % 4);
		SAY(fd, RESOURCE_MMAP_INFO, what, &r);
	}
	SAY(fd, GET_LOGICAL_TO_PHYSICAL_NC_MAP, "", &map);
	SAY(fd, HBM_SCRUB_START, "", &scrub);
	SAY(fd, HBM_SCRUB_WAIT, "", &wait);
	SAY(fd, NOTIFICATIONS_INIT_V2, "TOP_SP", &nq);
	SAY(fd, NOTIFICATIONS_QUEUE_INFO, "", &info);
	SAY(fd, DMA_QUIESCE_QUEUES, "", &q);
	SAY(fd, DMA_QUEUE_INIT_BATCH, "256", &b);
	SAY(fd, DRIVER_INFO_SET, "", &d);
}

static void numbers(int fd)
{
	struct neuron_ioctl_pod_info pod = { .sz = 3 };
	struct neuron_ioctl_printk p = { (void *)"hello", 5, 0 };

	printf("0x4eff = %d\n", call(fd, 0x4eff, buf));
	printf("nr 21 of size 16 = %d\n", call(fd, _IOC(_IOC_READ, 'N', 21, 16), buf));
	printf("nr 110 of size 64 = %d\n", call(fd, _IOC(_IOC_READ, 'N', 110, 64), buf));
	printf("nr 110 of size 16 = %d\n", call(fd, _IOC(_IOC_READ, 'N', 110, 16), buf));
	SAY(fd, POD_INFO, "a wrong size", &pod);
	SAY(fd, PRINTK, "without an end", &p);
	p.size = 600;
	p.buffer = buf;
	SAY(fd, PRINTK, "600 bytes", &p);
}

void answers_refused(int fd)
{
	allocation(fd);
	handles(fd);
	ranges(fd);
	scratchpad(fd);
	cores(fd);
	locks(fd);
	marks();
	states(fd);
	absent(fd);
	mappings(fd);
	numbers(fd);
}
