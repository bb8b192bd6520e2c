// SPDX-License-Identifier: MIT
/*
 * Answers about what came with 2.27, 2.28 and 2.29: profiles, completions, chunks with their
 * address, host memory that is said to be pinned, dma-bufs of any place, and errors that got an
 * errno of their own. tests/data/abi/answers-2.29.txt.
 */
#include "answers.h"

#include <sys/mman.h>

#define SIZE (1u << 20)
#define PAGE 4096u
#define BAD 12345678u

static uint8_t in[SIZE + 64], out[SIZE + 64];

static void profiles(int fd)
{
	struct neuron_ioctl_power_profile p = { sizeof(p), 0, 3 };
	struct neuron_ioctl_available_perf_profiles a = { 0 };

	call(fd, NEURON_IOCTL_POWER_PROFILE, &p);
	p = (struct neuron_ioctl_power_profile){ sizeof(p), 1, 77 };
	if (!ASK(fd, GET_PERFORMANCE_PROFILE, "3", &p))
		field("profile", p.profile);
	end();
	p.ctrl = 0;
	SAY(fd, GET_PERFORMANCE_PROFILE, "to set it", &p);
	p.sz--;
	SAY(fd, GET_PERFORMANCE_PROFILE, "of another size", &p);
	memset(a.bitmap, 0xff, sizeof(a.bitmap));
	if (!ASK(fd, AVAILABLE_PERF_PROFILES, "all", &a))
		field("number", a.num_profiles), field("first", a.bitmap[0]),
			field("others", !all_bytes(a.bitmap + 1, sizeof(a.bitmap) - 1, 0));
	end();
}

static void completions(int fd)
{
	struct neuron_ioctl_get_async_h2t_dma_compl_queues a = { 0, 0, { { 0 } } };

	memset(a.compl_queue_info, 0xff, sizeof(a.compl_queue_info));
	if (!ASK(fd, GET_ASYNC_H2T_DMA_COMPL_QUEUES, "none", &a))
		field("zeros",
		      all_bytes((void *)a.compl_queue_info, sizeof(a.compl_queue_info), 0));
	end();
	a.qid_bitmap = 1u << 7;
	SAY(fd, GET_ASYNC_H2T_DMA_COMPL_QUEUES, "of a queue that nobody has", &a);
	a.qid_bitmap = 1u << chip->copy[0].queue;
	SAY(fd, GET_ASYNC_H2T_DMA_COMPL_QUEUES, "of the core's own queue", &a);
	a = (struct neuron_ioctl_get_async_h2t_dma_compl_queues){ chip->cores, 0, { { 0 } } };
	SAY(fd, GET_ASYNC_H2T_DMA_COMPL_QUEUES, "no such core", &a);
}

static void chunks(int fd)
{
	uint64_t handle = 0;
	struct neuron_ioctl_mem_alloc_v2_mem_type64_pa a = {
		.size = PAGE,
		.mem_type = 9, /* tensors */
		.mem_handle = (void *)&handle,
	};

	if (!ASK(fd, MEM_ALLOC_V2MT64_PA, "of the device", &a)) {
		field("same", a.pa == chunk_pa(fd, handle));
		chunk_free(fd, handle);
	}
	end();
	a.host_memory = 1;
	a.mem_type = 2;
	if (!ASK(fd, MEM_ALLOC_V2MT64_PA, "of the host", &a)) {
		field("same", a.pa == chunk_pa(fd, handle));
		chunk_free(fd, handle);
	}
	end();
	a.host_memory = 0;
	a.dram_channel = chip->memories;
	SAY(fd, MEM_ALLOC_V2MT64_PA, "no such memory", &a);
	a.dram_channel = 0;
	a.mem_handle = (void *)8;
	SAY(fd, MEM_ALLOC_V2MT64_PA, "no place for the handle", &a);
}

static void pin(int fd, const char *what, const void *va, uint64_t size)
{
	struct neuron_ioctl_host_mem_pin a = { (uintptr_t)va, size, 0 };

	if (!ASK(fd, HOST_MEM_PIN, what, &a))
		field("contiguous", a.pa != UINT64_MAX);
	end();
}

static void unpin(int fd, const char *what, const void *va)
{
	struct neuron_ioctl_host_mem_unpin a = { (uintptr_t)va };

	SAY(fd, HOST_MEM_UNPIN, what, &a);
}

static void pins(int fd)
{
	uint8_t *p =
		mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *r = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int other = node(0, O_WRONLY);
	pid_t child;

	pin(fd, "a page", p, PAGE);
	pin(fd, "it again", p, PAGE);
	pin(fd, "its end and more", p + PAGE - 1, 2);
	pin(fd, "what follows, from an odd place on", p + PAGE + 3, 2 * PAGE - 3);
	pin(fd, "what lies around both", p, 4 * PAGE);
	pin(fd, "nothing", p + 3 * PAGE, 0);
	pin(fd, "from address 0 on", NULL, PAGE);
	pin(fd, "what is only for reading", r, PAGE);
	munmap(r, PAGE);
	pin(fd, "what is not there", r, PAGE);
	pin(fd, "from the kernel's half on", (void *)(1ull << 63), PAGE);
	pin(other, "by a write-only descriptor", p + 3 * PAGE, PAGE);
	fflush(stdout);
	child = fork();
	if (!child) {
		unpin(other, "by a child", p);
		exit(0);
	}
	waitpid(child, NULL, 0);
	unpin(fd, "from its middle on", p + PAGE + 4);
	unpin(fd, "from an odd place on", p + PAGE + 3);
	unpin(other, "by a write-only descriptor", p);
	unpin(fd, "again", p);
	pin(fd, "once more", p, PAGE);
	/* what was left goes with the process's last device */
	close(fd);
	fd = node(0, O_RDWR);
	unpin(fd, "after all was closed", p);
	pin(fd, "after all was closed", p, 4 * PAGE);
	unpin(fd, "at the end", p);
	close(fd);
	close(other);
	munmap(p, 4 * PAGE);
}

static void buffer(int fd, const char *what, const void *va, uint64_t size, void *to, void *place)
{
	struct neuron_ioctl_dmabuf_fd_v2 a = { (uintptr_t)va, size, to, place };
	int ret = ASK(fd, DMABUF_FD_V2, what, &a);
	int32_t *made = to;

	if (!ret) {
		field("fd", *made >= 0), field("offset", (long long)*(uint64_t *)place);
		field("size", lseek(*made, 0, SEEK_END));
		close(*made);
	}
	end();
}

static void buffers(int fd)
{
	int other = node(0, O_WRONLY);
	uint64_t handle = 0, place = 5;
	int32_t made = -1;
	uint8_t *p;

	chunk(fd, false, 4 * PAGE, 0, &handle);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)chunk_pa(fd, handle));
	buffer(fd, "all of it", p, 4 * PAGE, &made, &place);
	buffer(fd, "whole pages in it", p + PAGE, 2 * PAGE, &made, &place);
	buffer(other, "from an odd place on", p + PAGE + 100, PAGE, &made, &place);
	buffer(fd, "past its end", p + PAGE + 100, 3 * PAGE, &made, &place);
	buffer(fd, "at 2^64 - 1", (void *)UINT64_MAX, 2, &made, &place);
	buffer(fd, "the program's own memory", in, PAGE, &made, &place);
	buffer(fd, "no place for the offset", p, PAGE, &made, NULL);
	buffer(fd, "no place for the descriptor", p, PAGE, NULL, &place);
	buffer(fd, "a bad place for the offset", p, PAGE, &made, (void *)8);
	munmap(p, 4 * PAGE);
	chunk_free(fd, handle);
	close(other);
}

static void zerocopy(int fd)
{
	uint64_t handle = 0;
	struct neuron_ioctl_mem_buf_copy64zc_async a = {
		.buffer = in + 3,
		.size = SIZE - 77,
		.offset = 1,
		.is_copy_to_device = 1,
		.h2t_qid = NEURON_H2T_QUEUE_DEFAULT,
	};
	int ret;

	chunk_of(fd, 0, SIZE, &handle);
	a.mem_handle = handle;
	pattern(in, SIZE, 29);
	ret = ASK(fd, MEM_BUF_ZEROCOPY64_V3, "the core's own queue", &a);
	a.buffer = out + 5;
	a.is_copy_to_device = 0;
	if (!ret) {
		field("back", call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V3, &a));
		field("same", !memcmp(in + 3, out + 5, SIZE - 77));
	}
	end();
	a.h2t_qid = 99;
	SAY(fd, MEM_BUF_ZEROCOPY64_V3, "queue 99", &a);
	a.h2t_qid = NEURON_H2T_QUEUE_DEFAULT;
	a.size = SIZE;
	SAY(fd, MEM_BUF_ZEROCOPY64_V3, "past the end", &a);
	a.mem_handle = BAD;
	SAY(fd, MEM_BUF_ZEROCOPY64_V3, "bad handle", &a);
	chunk_free(fd, handle);
}

/*
 * Calls that are refused with an errno of their own since 2.29, in forms that answers_refused()
 * leaves out
 */
static void exact(int fd)
{
	uint64_t handle = 0;
	struct neuron_ioctl_mem_free f = { BAD };
	struct neuron_ioctl_memset s = { BAD, 0, 1, 8 };
	struct neuron_ioctl_mem_copy c = { BAD, BAD, 8, 0, 0 };
	struct neuron_ioctl_mem_copy_async_wait w = { BAD, BAD, 1 };
	struct neuron_ioctl_mem_buf_copy b = { BAD, (void *)in, 8, 0, 1 };

	chunk(fd, false, PAGE, 0, &handle);
	SAY(fd, MEM_FREE, "no such handle", &f);
	SAY(fd, MEMSET, "no such handle", &s);
	SAY(fd, MEM_COPY, "no such handle", &c);
	SAY(fd, MEM_COPY_ASYNC_WAIT, "no such handle", &w);
	SAY(fd, MEM_BUF_COPY, "no such handle", &b);
	s = (struct neuron_ioctl_memset){ handle, PAGE, 1, 8 };
	SAY(fd, MEMSET, "behind the end", &s);
	c = (struct neuron_ioctl_mem_copy){ handle, handle, 8, PAGE, 0 };
	SAY(fd, MEM_COPY, "behind the end", &c);
	b = (struct neuron_ioctl_mem_buf_copy){ handle, (void *)in, 8, PAGE, 1 };
	SAY(fd, MEM_BUF_COPY, "behind the end", &b);
	chunk_free(fd, handle);
}

static void names(int fd)
{
	struct neuron_ioctl_device_driver_info info = { 0 };
	uint32_t map[1 + 2 * 4] = { 0 }; /* how many, then device and core of each */
	struct neuron_ioctl_get_logical_to_physical_nc_map a = { (void *)map, 4, 1 };

	if (!ASK(fd, DRIVER_INFO_GET, "features", &info))
		field("flags", (long long)info.feature_flags1);
	end();
	if (!ASK(fd, GET_LOGICAL_TO_PHYSICAL_NC_MAP, "of version 1", &a))
		field("entries", map[0]);
	end();
}

/* Closes fd */
void answers_newest(int fd)
{
	names(fd);
	exact(fd);
	profiles(fd);
	completions(fd);
	chunks(fd);
	buffers(fd);
	zerocopy(fd);
	pins(fd);
}
