// SPDX-License-Identifier: MIT
/* Answers about chunks, copies, fills, mappings and programs. */
#include "answers.h"

#include <sys/mman.h>

#define SIZE (3u << 20)

static uint8_t in[SIZE], out[SIZE];

static void allocation(int fd)
{
	uint64_t h[6] = { 0 };
	struct neuron_ioctl_mem_alloc a = { 5000, 0, 0, 0, 0, (void *)&h[0] };
	struct neuron_ioctl_mem_alloc_v2 v2 = { 4096, 1 << 20, 0, 0, 0, 0, (void *)&h[1] };
	struct neuron_ioctl_mem_alloc_v2_mem_type mt = {
		4096, 0, 0, 1, 0, 0, NEURON_MEMALLOC_TYPE_CODE_DEVICE, (void *)&h[2]
	};
	struct neuron_ioctl_mem_free f;

	ASK(fd, MEM_ALLOC, "device, 5000 bytes", &a);
	field("handle", (long long)h[0]), field("pa", (long long)chunk_pa(fd, h[0])), end();
	a.host_memory = 1;
	a.mem_handle = (void *)&h[3];
	ASK(fd, MEM_ALLOC, "host", &a);
	field("handle", (long long)h[3]);
	field("window", (chunk_pa(fd, h[3]) & chip->window.mask) == chip->window.host), end();
	ASK(fd, MEM_ALLOC_V2, "aligned to 1 MiB", &v2);
	field("pa", (long long)chunk_pa(fd, h[1])), end();
	ASK(fd, MEM_ALLOC_V2MT, "channel 1", &mt);
	field("pa", (long long)chunk_pa(fd, h[2])), end();
	printf("MEM_ALLOC_V2MT64 region 0, behind = %d", chunk(fd, false, 4096, 0, &h[4]));
	field("pa", (long long)chunk_pa(fd, h[4])), end();
	f.mem_handle = h[0];
	SAY(fd, MEM_FREE, "the first", &f);
	ASK(fd, MEM_ALLOC, "its handle comes back",
	    (a.host_memory = 0, a.mem_handle = (void *)&h[5], &a));
	field("handle", (long long)h[5]), field("pa", (long long)chunk_pa(fd, h[5])), end();
	for (unsigned int i = 1; i < 6; i++)
		chunk_free(fd, h[i]);
}

static void information(int fd)
{
	uint64_t h, offset = 1, pa = 1;
	struct neuron_ioctl_mem_get_info get;
	struct neuron_ioctl_mem_get_pa only;
	struct neuron_ioctl_mem_get_extended_info ext;
	struct neuron_ioctl_mem_get_mc_mmap_info mc = { 0 };
	struct neuron_ioctl_mem_get_mc_mmap_info_v2 mc2 = { 0 };
	struct neuron_ioctl_dump_mem_chunks dump = { 0 };
	struct neuron_ioctl_mem_chunk_info info[8];

	chunk(fd, false, 8192, 0, &h);
	get = (struct neuron_ioctl_mem_get_info){ h, (void *)&offset, (void *)&pa };
	ASK(fd, MEM_GET_INFO, "", &get);
	field("offset", (long long)offset), field("pa", (long long)pa), end();
	get.mmap_offset = NULL;
	SAY(fd, MEM_GET_INFO, "no place for the offset", &get);

	only = (struct neuron_ioctl_mem_get_pa){ h, (void *)&pa };
	ASK(fd, MEM_GET_PA, "", &only);
	field("pa", (long long)pa), end();

	ext = (struct neuron_ioctl_mem_get_extended_info){ .mem_handle = h };
	ASK(fd, MEM_GET_EXTENDED_INFO, "", &ext);
	field("host", ext.host_memory), field("offset", (long long)ext.mmap_offset);
	field("pa", (long long)ext.pa), field("own", ext.pid == (uint64_t)getpid());
	field("size", (long long)ext.size), end();

	mc.pa = mc2.pa = pa;
	ASK(fd, MEM_MC_GET_INFO, "", &mc);
	field("offset", (long long)mc.mmap_offset), field("size", (long long)mc.size), end();
	ASK(fd, MEM_MC_GET_INFO_V2, "", &mc2);
	field("offset", (long long)mc2.mmap_offset), field("size", (long long)mc2.size);
	field("same", mc2.mem_handle == h), end();

	dump.num_entries_in = 8;
	dump.data = info;
	ASK(fd, DUMP_MEM_CHUNKS, "channel 0", &dump);
	field("entries", dump.num_entries_out), end();
	dump.num_entries_in = 0;
	ASK(fd, DUMP_MEM_CHUNKS, "no room", &dump);
	field("entries", dump.num_entries_out), end();
	chunk_free(fd, h);
}

static void same(int ret, size_t size)
{
	field("same", !ret && !memcmp(in, out, size));
	end();
	memset(out, 0, sizeof(out));
}

static void copies(int fd)
{
	uint64_t d, e, h;
	struct neuron_ioctl_mem_buf_copy b;
	struct neuron_ioctl_mem_buf_copy64 z;
	struct neuron_ioctl_mem_copy c;
	struct neuron_ioctl_mem_copy64 c64;
	struct neuron_ioctl_mem_copy_async as;
	struct neuron_ioctl_mem_copy_async64 as64;
	struct neuron_ioctl_mem_copy_async_wait w;
	int ret;

	chunk(fd, false, SIZE, 0, &d);
	chunk(fd, false, SIZE, 1, &e);
	chunk(fd, true, 1 << 20, 0, &h);
	pattern(in, SIZE, 3);

	b = (struct neuron_ioctl_mem_buf_copy){ d, in, 100000, 0, 1 };
	SAY(fd, MEM_BUF_COPY, "in", &b);
	b = (struct neuron_ioctl_mem_buf_copy){ d, out, 100000, 0, 0 };
	ret = ASK(fd, MEM_BUF_COPY, "out", &b), same(ret, 100000);
	printf("MEM_BUF_COPY64 in = %d\n", copy_in(fd, d, in, 0, SIZE));
	ret = copy_out(fd, d, out, 0, SIZE);
	printf("MEM_BUF_COPY64 out = %d", ret), same(ret, SIZE);

	c = (struct neuron_ioctl_mem_copy){ d, e, 1 << 20, 0, 0 };
	SAY(fd, MEM_COPY, "between channels", &c);
	c64 = (struct neuron_ioctl_mem_copy64){ d, e, SIZE, 0, 0 };
	SAY(fd, MEM_COPY64, "between channels", &c64);
	ret = copy_out(fd, e, out, 0, SIZE);
	printf("MEM_COPY64 read back = %d", ret), same(ret, SIZE);

	c64 = (struct neuron_ioctl_mem_copy64){ d, h, 1 << 20, 0, 0 };
	SAY(fd, MEM_COPY64, "to host memory", &c64);
	ret = copy_out(fd, h, out, 0, 1 << 20);
	printf("MEM_BUF_COPY64 host chunk = %d", ret), same(ret, 1 << 20);

	pattern(in, SIZE, 4);
	z = (struct neuron_ioctl_mem_buf_copy64){ d, in + 123, SIZE - 200, 64, 1 };
	SAY(fd, MEM_BUF_ZEROCOPY64, "in", &z);
	z = (struct neuron_ioctl_mem_buf_copy64){ d, out + 123, SIZE - 200, 64, 0 };
	ret = ASK(fd, MEM_BUF_ZEROCOPY64, "out", &z);
	field("same", !memcmp(in + 123, out + 123, SIZE - 200)), end();

	as = (struct neuron_ioctl_mem_copy_async){ d, e, 1 << 20, 0, 0, 0, UINT32_MAX, 0 };
	ASK(fd, MEM_COPY_ASYNC, "the first", &as);
	field("handle", as.wait_handle), end();
	as64 = (struct neuron_ioctl_mem_copy_async64){ d,	e, 2 << 20,	   1 << 20,
						       1 << 20, 0, as.wait_handle, 0 };
	ASK(fd, MEM_COPY_ASYNC64, "the next waits for it", &as64);
	field("handle", as64.wait_handle), end();

	w = (struct neuron_ioctl_mem_copy_async_wait){ d, e, as64.wait_handle };
	SAY(fd, MEM_COPY_ASYNC_WAIT, "", &w);
	copy_out(fd, d, in, 0, SIZE);
	ret = copy_out(fd, e, out, 0, SIZE);
	printf("MEM_COPY_ASYNC read back = %d", ret), same(ret, SIZE);

	chunk_free(fd, d);
	chunk_free(fd, e);
	chunk_free(fd, h);
}

static int scratch(int fd, uint64_t size, uint64_t *handle)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
		.size = size,
		.dram_channel = 1,
		.dram_region = 2,
		.mem_type = NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE,
		.mem_handle = (void *)handle,
	};

	return call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a);
}

/*
 * The contiguous scratchpad grows down from the end of its region, and can be used across its
 * chunks.
 */
static void scratchpad(int fd)
{
	uint64_t h[2];
	uint8_t *p;
	int ret;

	pattern(in, SIZE, 6);
	printf("MEM_ALLOC_V2MT64 scratchpad, 1 MiB = %d", scratch(fd, 1 << 20, &h[0]));
	field("pa", (long long)chunk_pa(fd, h[0])), end();
	printf("MEM_ALLOC_V2MT64 scratchpad, 5000 bytes more = %d", scratch(fd, 5000, &h[1]));
	field("pa", (long long)chunk_pa(fd, h[1])), end();
	printf("MEM_BUF_COPY64 scratchpad, over both chunks = %d\n",
	       copy_in(fd, h[1], in, 4096, 100000));
	ret = copy_out(fd, h[0], out, 0, 100000 - 4096);
	printf("MEM_BUF_COPY64 scratchpad, what the upper has = %d", ret);
	field("same", !memcmp(in + 4096, out, 100000 - 4096)), end();
	p = mmap(NULL, 8192 + (1 << 20), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)chunk_pa(fd, h[1]));
	printf("mmap scratchpad, both chunks = %d", p == MAP_FAILED);
	field("same", p != MAP_FAILED && !memcmp(p + 4096, in, 100000)), end();
	munmap(p, 8192 + (1 << 20));
	chunk_free(fd, h[1]);
	printf("MEM_ALLOC_V2MT64 scratchpad, the lower one again = %d", scratch(fd, 4096, &h[1]));
	field("pa", (long long)chunk_pa(fd, h[1])), end();
	chunk_free(fd, h[1]);
	chunk_free(fd, h[0]);
	printf("MEM_ALLOC_V2MT64 scratchpad, all of the region = %d", scratch(fd, 1 << 30, &h[0]));
	field("pa", (long long)chunk_pa(fd, h[0])), end();
	chunk_free(fd, h[0]);
}

static void fills(int fd)
{
	uint64_t d;
	struct neuron_ioctl_memset s;
	struct neuron_ioctl_memset64 s64;

	chunk(fd, false, SIZE, 0, &d);
	s64 = (struct neuron_ioctl_memset64){ d, 0, 0x11, SIZE };
	SAY(fd, MEMSET64, "all of it", &s64);
	s = (struct neuron_ioctl_memset){ d, 70000, 0x3ff, 70001 };
	SAY(fd, MEMSET, "a part", &s);
	copy_out(fd, d, out, 0, SIZE);
	printf("MEMSET read back = %d\n", all_bytes(out, 70000, 0x11) &&
						  all_bytes(out + 70000, 70001, 0xff) &&
						  all_bytes(out + 140001, SIZE - 140001, 0x11));
	chunk_free(fd, d);
}

/* A mapping of device and of host memory; the length must be the chunk's */
static void mappings(int fd)
{
	uint64_t h, d;
	void *p, *q;

	chunk(fd, true, 8192, 0, &h);
	chunk(fd, false, 8192, 0, &d);
	pattern(in, 8192, 5);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)chunk_pa(fd, h));
	q = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)chunk_pa(fd, d));
	printf("mmap both = host %d device %d", p != MAP_FAILED, q != MAP_FAILED);
	memcpy(p, in, 8192);
	memcpy(q, in, 8192);
	copy_out(fd, h, out, 0, 8192);
	field("host same", !memcmp(in, out, 8192));
	copy_out(fd, d, out, 0, 8192);
	field("device same", !memcmp(in, out, 8192)), end();
	munmap(p, 8192);
	munmap(q, 8192);
	chunk_free(fd, h);
	chunk_free(fd, d);
}

/* A program goes into a core's memory: here SBUF, read back through a copy of 4 bytes */
static void programs(int fd)
{
	const uint64_t first = neuron_gen_address(chip, NEURON_BLOCK_CORE, 0);
	const uint64_t second = neuron_gen_address(chip, NEURON_BLOCK_CORE, 1);
	struct neuron_ioctl_program_engine p = { first, in, 4096, 0 };
	struct neuron_ioctl_program_engine_nc nc = { 1, second, in, 4096, 64 };
	struct neuron_ioctl_program_engine_nc64 nc64 = { 1, second, in, 4096, 64 };

	SAY(fd, PROGRAM_ENGINE, "SBUF", &p);
	SAY(fd, PROGRAM_ENGINE_NC, "SBUF of core 1", &nc);
	SAY(fd, PROGRAM_ENGINE_NC64, "SBUF of core 1", &nc64);
}

static void dmabuf(int fd)
{
	uint64_t d;
	int32_t buf = -1;
	struct neuron_ioctl_dmabuf_fd a;
	void *p;

	chunk(fd, false, 2 << 20, 0, &d);
	p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)chunk_pa(fd, d));
	a = (struct neuron_ioctl_dmabuf_fd){ (uintptr_t)p, 2 << 20, &buf };
	ASK(fd, DMABUF_FD, "of a mapping", &a);
	field("descriptor", buf >= 0), end();
	if (buf >= 0)
		close(buf);
	munmap(p, 2 << 20);
	chunk_free(fd, d);
}

void answers_memory(int fd)
{
	allocation(fd);
	information(fd);
	copies(fd);
	scratchpad(fd);
	fills(fd);
	mappings(fd);
	programs(fd);
	dmabuf(fd);
}
