// SPDX-License-Identifier: MIT
/*
 * Memory of a device: handles, limits, every way to copy against the bytes that were written,
 * fills, mappings, and what another process may do with a chunk
 */
#include "chip.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define KB 1024ull
#define MB (1024 * KB)

static const struct neuron_gen *chip;

/* Chips after Inferentia have no regions; where its regions end, they have a last GiB for small
 * chunks */
static uint64_t chunks_end(uint32_t memory)
{
	return chip->memory[memory].address + chip->memory[memory].size -
	       (chip->regions > 1 ? 0 : 1024 * MB);
}

/* The first small chunk of a memory */
static uint64_t first_chunk(uint32_t memory)
{
	return chip->regions > 1 ? chip->memory[memory].address : chunks_end(memory);
}

static void test_handles(int fd)
{
	uint64_t a, b, c, pa = 1;
	struct neuron_ioctl_mem_get_info info = { 0, NULL, (void *)&pa };
	struct neuron_ioctl_mem_get_extended_info ext;

	is(chunk(fd, false, 5000, 0, &a), 0, "first chunk");
	is(a, 1, "has handle 1");
	is((long long)chunk_pa(fd, a), (long long)first_chunk(0), "at the first address");
	is(chunk(fd, false, 4096, 0, &b), 0, "second chunk");
	is(b, 2, "has handle 2");
	is((long long)chunk_pa(fd, b), (long long)first_chunk(0) + 0x2000,
	   "sizes are rounded up to pages");

	info.mem_handle = b;
	is(call(fd, NEURON_IOCTL_MEM_GET_INFO, &info), 0, "info without a place for the offset");
	is((long long)pa, (long long)first_chunk(0) + 0x2000, "tells the address");
	is(chunk_free(fd, a), 0, "free 1");
	is(chunk_free(fd, b), 0, "free 2");

	is(chunk(fd, false, 4096, 1, &c), 0, "a new chunk");
	is(c, 2, "gets the handle freed last");
	is((long long)chunk_pa(fd, c), (long long)first_chunk(1), "is in channel 1");
	is(chunk_free(fd, a), -EINVAL, "free twice");
	is(chunk_free(fd, 0), -EINVAL, "free 0");
	is(chunk_free(fd, 1ull << 40), -EINVAL, "free what never was");

	memset(&ext, 0xff, sizeof(ext));
	ext.mem_handle = c;
	is(call(fd, NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &ext), 0, "extended info");
	is((long long)ext.mem_handle, c, "the handle, no pointer");
	is(ext.version, 1, "version 1");
	is(ext.host_memory, 0, "device memory");
	is((long long)ext.pid, getpid(), "its process");
	is((long long)ext.size, 4096, "its size");

	ext.mem_handle = 77;
	is(call(fd, NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &ext), -EINVAL, "of a bad handle");
	chunk_free(fd, c);
}

static void test_limits(int fd)
{
	uint64_t h, pa;
	struct neuron_ioctl_mem_alloc_v2 a = { .size = 4096, .mem_handle = (void *)&h };
	const uint64_t region = chip->memory[0].size / (chip->regions > 1 ? chip->regions : 1);

	is(chunk(fd, false, 0, 0, &h), -ENOMEM, "no size");
	is(chunk(fd, false, 4096, chip->memories, &h), -EINVAL, "a channel too many");
	is(chunk(fd, false, UINT64_MAX, 0, &h), -EINVAL, "all there is and more");
	is(chunk(fd, true, UINT64_MAX - 4095, 0, &h), -EINVAL, "of the host");
	is(chunk(fd, false, region + MB, 0, &h), -ENOMEM, "more than a region");
	a.dram_region = 4;
	if (chip->regions > 1) {
		is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), -EINVAL, "region 4");
		a.dram_region = 3;
	}
	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), 0, "the last region, if there are any");
	is((long long)chunk_pa(fd, h), chip->regions > 1 ? 3ll << 30 : (long long)first_chunk(0),
	   "is where it should be");
	chunk_free(fd, h);
	a.nc_id = 8;
	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), -EINVAL, "core 8");
	a.nc_id = 0;
	a.align = 1 << 20;
	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), 0, "aligned");
	pa = chunk_pa(fd, h);
	is(pa & ((1 << 20) - 1), 0, "it is");
	chunk_free(fd, h);
	a.host_memory = 1;
	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), -EINVAL, "aligned host memory");
	a.align = 0;
	a.mem_handle = (void *)8;
	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), -EFAULT, "nowhere to put the handle");
	is(chunk(fd, false, 4096, 0, &h), 0, "and nothing leaked");
	is(h, 2, "not even a handle");
	chunk_free(fd, h);
}

/* Copies in by one way and out by the other, at odd offsets, with guard bytes around. */
static void test_copies(int fd)
{
	static const struct {
		uint64_t offset, size;
	} row[] = {
		{ 0, 1 },	  { 3, 5 },
		{ 4095, 2 },	  { 1, 64 * KB - 1 },
		{ 0, 64 * KB },	  { 7, 64 * KB + 1 },
		{ 5, 128 * KB },  { 11, 128 * KB + 3 },
		{ 4096, 1 * MB }, { 13, 3 * MB + 17 },
	};
	static const unsigned long way[] = { NEURON_IOCTL_MEM_BUF_COPY64,
					     NEURON_IOCTL_MEM_BUF_ZEROCOPY64 };
	uint8_t *in = malloc(4 * MB), *out = malloc(4 * MB), *got = out + 16;
	unsigned int i, w;
	uint64_t h;

	is(chunk(fd, false, 4 * MB, 1, &h), 0, "a chunk");
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (w = 0; w < 4; w++) {
			unsigned long to = way[w & 1], from = way[w >> 1];

			pattern(in, row[i].size + 1, 100 * i + w);
			memset(out, 0xa5, row[i].size + 32);
			if (copy_buf(fd, to, h, in + 1, row[i].offset, row[i].size, true) ||
			    copy_buf(fd, from, h, got, row[i].offset, row[i].size, false))
				break;
			if (memcmp(in + 1, got, row[i].size) || !all_bytes(out, 16, 0xa5) ||
			    !all_bytes(got + row[i].size, 16, 0xa5))
				break;
		}
		is(w, 4, "%llu bytes at %llu", (unsigned long long)row[i].size,
		   (unsigned long long)row[i].offset);
	}
	is(copy_in(fd, h, in, 4 * MB, 0), 0, "nothing at the end");
	is(copy_in(fd, h, in, 4 * MB - 1, 2), -EINVAL, "beyond the end");
	is(copy_in(fd, h, in, 1, UINT64_MAX), -EINVAL, "sizes that wrap");
	is(copy_in(fd, h, in, UINT64_MAX, 2), -EINVAL, "offsets that wrap");
	is(copy_in(fd, h, (void *)8, 0, 4096), -EFAULT, "from nowhere");
	is(copy_buf(fd, way[1], h, (void *)8, 0, 4096, true), -EFAULT, "zero-copy from nowhere");
	is(copy_buf(fd, way[1], h, (void *)~0xfffull, 0, 4096, true), -EFAULT,
	   "zero-copy from the kernel");
	chunk_free(fd, h);
	free(in);
	free(out);
}

/* Zero-copy beyond one window: huge pages, scattered small pages, read-only pages */
static void test_zerocopy(int fd)
{
	size_t size = 40 * MB + 12345;
	uint8_t *a =
		mmap(NULL, 44 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *b =
		mmap(NULL, 44 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;
	uint64_t h;

	madvise(a, 44 * MB, MADV_HUGEPAGE);
	/* every other page first, so that neighbours in the buffer are not neighbours in memory */
	madvise(b, 44 * MB, MADV_NOHUGEPAGE);
	for (i = 0; i < 44 * MB; i += 8192)
		b[i] = 1;
	pattern(a, size + 1, 5);
	is(chunk(fd, false, 44 * MB, 0, &h), 0, "44 MiB");
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, a + 1, 77, size, true), 0,
	   "zero-copy in, several windows");
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, b + 3, 77, size, false), 0,
	   "zero-copy out to scattered pages");
	ok(!memcmp(a + 1, b + 3, size), "the same bytes");
	mprotect(b, 44 * MB, PROT_READ);
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, b, 0, size, false), -EFAULT,
	   "zero-copy out to read-only pages");
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, b, 0, size, true), 0,
	   "zero-copy in from read-only pages");
	munmap(b + 20 * MB, 4096);
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, b, 0, size, true), -EFAULT,
	   "zero-copy from a hole in the second window");
	is(copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, a, 0, size, true), 0,
	   "the ring works on");
	munmap(a, 44 * MB);
	munmap(b, 44 * MB);
	chunk_free(fd, h);
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* In a child: an asynchronous copy's handle belongs to the process that started it */
static int wait_for_theirs(uint32_t handle)
{
	struct neuron_ioctl_mem_copy_async_wait wait = { .pwait_handle = handle };
	int fd = node(0, O_RDWR);
	uint64_t own;

	if (fd < 0 || chunk(fd, false, 4096, 0, &own))
		return -ENODEV;
	wait.src_mem_handle = own;
	wait.dst_mem_handle = own;
	return call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait);
}

/* A process whose copy made room for another process's copy can still wait for it */
static void test_async_waits(int fd)
{
	struct neuron_ioctl_mem_copy_async64 as = { .pwait_handle =
							    NEURON_DMA_H2T_CTX_HANDLE_NONE };
	struct neuron_ioctl_mem_copy_async_wait wait = { 0 };
	uint64_t d0, d1;
	unsigned int i;
	pid_t pid;

	chunk(fd, false, 2 * MB, 0, &d0);
	chunk(fd, false, 2 * MB, 1, &d1);
	as.src_mem_handle = wait.src_mem_handle = d0;
	as.dst_mem_handle = wait.dst_mem_handle = d1;
	as.size = 4096;
	wait.pwait_handle = 1;
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), -EINVAL, "a handle not in use");
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &as), 0, "a copy");
	wait.pwait_handle = as.wait_handle;
	pid = fork();
	if (!pid)
		_exit(wait_for_theirs(as.wait_handle) != -EINVAL);
	is(wait_for(pid), 0, "which is not another process's to wait for");
	pid = fork();
	if (!pid) { /* both contexts of this ring, more than once */
		int own = node(0, O_RDWR);

		chunk(own, false, 4096, 0, &d0);
		chunk(own, false, 4096, 0, &d1);
		as.src_mem_handle = d0;
		as.dst_mem_handle = d1;
		for (i = 0; i < 6; i++)
			if (call(own, NEURON_IOCTL_MEM_COPY_ASYNC64, &as))
				_exit(1);
		_exit(0);
	}
	is(wait_for(pid), 0, "and copies of another process");
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), 0, "the first is waited for");
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), -EINVAL, "once");
	as.size = 0;
	as.pwait_handle = NEURON_DMA_H2T_CTX_HANDLE_NONE;
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &as), 0, "a copy of nothing");
	wait.pwait_handle = as.wait_handle;
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), 0, "is waited for too");
	chunk_free(fd, d0);
	chunk_free(fd, d1);
}

static int scratch(int fd, uint64_t size, uint64_t *handle)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 a = {
		.size = size,
		.dram_region = 3,
		.mem_type = NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE,
		.mem_handle = (void *)handle,
	};

	return call(fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a);
}

#define SCRATCH_END chunks_end(0)

/* The contiguous scratchpad of two processes; what the public driver does is in driver-answers */
static void test_scratchpad(int fd)
{
	uint64_t h[4], theirs;
	uint8_t in[8192], out[8192];
	int go[2], done[2];
	char c = 0;
	pid_t pid;

	pattern(in, sizeof(in), 8);
	is(scratch(fd, 4096, &h[0]), 0, "a chunk of the scratchpad");
	is((long long)chunk_pa(fd, h[0]), (long long)SCRATCH_END - 4096, "at the region's end");
	is(pipe(go) | pipe(done), 0, "pipes");
	pid = fork();
	if (!pid) {
		int own = node(0, O_RDWR), bad;

		bad = scratch(own, 4096, &theirs) || chunk_pa(own, theirs) != SCRATCH_END - 8192 ||
		      copy_in(own, theirs, in, 0, 4096) ||
		      copy_out(own, theirs, out, 0, 4097) != -EINVAL ||
		      mmap(NULL, 8192, PROT_READ, MAP_SHARED, own, (off_t)(SCRATCH_END - 8192)) !=
			      MAP_FAILED;
		if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			bad = 1;
		_exit(bad);
	}

	is(read(done[0], &c, 1), 1, "another process has the next chunk");
	is(scratch(fd, 8192, &h[1]), 0, "and we the third");
	is((long long)chunk_pa(fd, h[1]), (long long)SCRATCH_END - 16384, "below it");
	is(copy_out(fd, h[1], out, 0, 8193), -EINVAL, "which does not reach into theirs");
	is(write(go[1], &c, 1), 1, "it ends");
	is(wait_for(pid), 0, "and did not reach into this process's");
	is(copy_out(fd, h[1], out, 0, 8193), -EINVAL, "nor into where theirs was");

	is(scratch(fd, 4096, &h[2]), 0, "a fourth");
	is((long long)chunk_pa(fd, h[2]), (long long)SCRATCH_END - 20480,
	   "goes below what is left");
	is(copy_in(fd, h[2], in, 0, 8192), 0, "and reaches into the third");
	is(chunk_free(fd, h[1]), 0, "which is freed before it");
	is(copy_in(fd, h[2], in, 0, 8192), 0, "but stays while it may be reached");
	is(scratch(fd, 4096, &h[3]), 0, "nothing is in its place");
	is((long long)chunk_pa(fd, h[3]), (long long)SCRATCH_END - 24576, "yet");

	chunk_free(fd, h[3]);
	chunk_free(fd, h[2]);
	chunk_free(fd, h[0]);
	is(scratch(fd, 1ull << 30, &h[0]), 0, "all of it comes back");
	chunk_free(fd, h[0]);
	close(go[0]), close(go[1]), close(done[0]), close(done[1]);
}

/* Thousands of chunks that reference each other are freed one after the other. */
static void test_scratchpad_chain(int fd)
{
	enum { CHUNKS = 20000 };
	static uint64_t h[CHUNKS];
	unsigned int i;

	for (i = 0; i < CHUNKS && !scratch(fd, 4096, &h[i]); i++)
		;
	is(i, CHUNKS, "chunks of a page");
	for (i = 0; i < CHUNKS && !chunk_free(fd, h[i]); i++)
		;
	is(i, CHUNKS, "freed from the wrong end");
	is(scratch(fd, 1ull << 30, &h[0]), 0, "all of it comes back");
	chunk_free(fd, h[0]);
}

static void test_chunk_to_chunk(int fd)
{
	uint64_t d0, d1, host;
	uint8_t *in = malloc(2 * MB), *out = malloc(2 * MB);
	struct neuron_ioctl_mem_copy64 c = { 0 };
	struct neuron_ioctl_mem_copy_async64 as = { 0 };
	struct neuron_ioctl_mem_copy_async_wait wait = { 0 };
	unsigned int i;

	pattern(in, 2 * MB, 9);
	chunk(fd, false, 2 * MB, 0, &d0);
	chunk(fd, false, 2 * MB, 1, &d1);
	is(chunk(fd, true, 1 * MB, 0, &host), 0, "host memory");
	ok((chunk_pa(fd, host) & chip->window.mask) == chip->window.host, "its address has the "
									  "host window bit");

	copy_in(fd, d0, in, 0, 2 * MB);
	c = (struct neuron_ioctl_mem_copy64){ d0, d1, 1500000, 7, 400000 };
	is(call(fd, NEURON_IOCTL_MEM_COPY64, &c), 0, "device to device");
	copy_out(fd, d1, out, 400000, 1500000);
	ok(!memcmp(in + 7, out, 1500000), "the same bytes");

	c = (struct neuron_ioctl_mem_copy64){ d0, host, 1 * MB, 5, 0 };
	is(call(fd, NEURON_IOCTL_MEM_COPY64, &c), 0, "device to host");
	copy_out(fd, host, out, 0, 1 * MB);
	ok(!memcmp(in + 5, out, 1 * MB), "the same bytes");
	c.size++;
	is(call(fd, NEURON_IOCTL_MEM_COPY64, &c), -EINVAL, "one byte too many");

	c = (struct neuron_ioctl_mem_copy64){ d0, d1, 0, 0, 0 };
	is(call(fd, NEURON_IOCTL_MEM_COPY64, &c), 0, "size 0 touches nothing");
	copy_out(fd, d1, out, 0, 64 * KB);
	ok(all_bytes(out, 64 * KB, 0), "nothing at all");

	for (i = 0; i < 4; i++) {
		as = (struct neuron_ioctl_mem_copy_async64){
			.src_mem_handle = d0,
			.dst_mem_handle = d1,
			.size = 256 * KB,
			.src_offset = i * 256 * KB,
			.dst_offset = i * 256 * KB,
			.pwait_handle = i ? as.wait_handle : NEURON_DMA_H2T_CTX_HANDLE_NONE,
		};
		if (call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &as) ||
		    (as.wait_handle != 1 && as.wait_handle != 2))
			break;
	}
	is(i, 4, "four asynchronous copies in a chain");

	wait = (struct neuron_ioctl_mem_copy_async_wait){ d0, d1, as.wait_handle };
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), 0, "wait for the last");
	copy_out(fd, d1, out, 0, 1 * MB);
	ok(!memcmp(in, out, 1 * MB), "the same bytes");

	for (i = 1; i <= 2; i++) {
		wait.pwait_handle = i;
		call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait);
		is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), -EINVAL,
		   "nothing is left to wait for behind handle %u", i);
	}

	wait.pwait_handle = 3;
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &wait), -EINVAL, "wait for handle 3");
	chunk_free(fd, d0);
	chunk_free(fd, d1);
	chunk_free(fd, host);
	free(in);
	free(out);
}

static void test_fills(int fd)
{
	uint8_t *out = malloc(300 * KB);
	struct neuron_ioctl_memset64 m = { 0 };
	uint64_t h;

	chunk(fd, false, 300 * KB, 0, &h);
	m = (struct neuron_ioctl_memset64){ h, 3, 0x1ee, 200 * KB };
	is(call(fd, NEURON_IOCTL_MEMSET64, &m), 0, "fill with the low byte");
	copy_out(fd, h, out, 0, 300 * KB);
	ok(out[2] == 0 && all_bytes(out + 3, 200 * KB, 0xee) && out[200 * KB + 3] == 0, "exactly "
											"there");
	m.size = 0;
	m.value = 0x55;
	is(call(fd, NEURON_IOCTL_MEMSET64, &m), 0, "fill nothing");
	copy_out(fd, h, out, 0, 8);
	is(out[3], 0xee, "nothing is filled");
	m.offset = UINT64_MAX;
	m.size = 2;
	is(call(fd, NEURON_IOCTL_MEMSET64, &m), -EINVAL, "wrapping");
	chunk_free(fd, h);
	chunk(fd, false, 300 * KB, 0, &h);
	memset(out, 0xa5, 300 * KB);
	copy_out(fd, h, out, 0, 300 * KB);
	ok(all_bytes(out, 300 * KB, 0), "memory that was used is handed out zeroed");
	chunk_free(fd, h);
	free(out);
}

/* A page fault maps the right page, also after the mapping was cut and moved. */
static void test_parts(int fd, bool host)
{
	const uint64_t size = host ? MB : 5 * MB;
	uint8_t *in = malloc(size), *p, *q;
	uint64_t h;

	pattern(in, size, 55);
	chunk(fd, host, size, 0, &h);
	copy_in(fd, h, in, 0, size);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, chunk_pa(fd, h));
	is(munmap(p + 4096, 4096), 0, "the second page of %s memory is cut out",
	   host ? "host" : "device");
	ok(!memcmp(p + 8192, in + 8192, size - 8192), "behind it, the chunk's bytes");
	ok(!memcmp(p, in, 4096), "before it too");
	q = mremap(p + 8192, size - 8192, size - 8192, MREMAP_MAYMOVE | MREMAP_FIXED,
		   mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ok(q != MAP_FAILED && !memcmp(q, in + 8192, size - 8192), "and where it was moved to");
	q[size - 8193] ^= 1;
	copy_out(fd, h, in, size - 1, 1);
	is(in[0], q[size - 8193], "writes arrive");
	munmap(p, 4096);
	munmap(q, size - 8192);
	chunk_free(fd, h);
	free(in);
}

static void test_mmap(int fd)
{
	uint64_t host, dev, pa;
	uint8_t *p, *q, buf[64];
	struct neuron_ioctl_dmabuf_fd dmabuf;
	int buf_fd = -1;

	chunk(fd, true, 12345, 0, &host);
	chunk(fd, false, 2 * MB, 1, &dev);

	pa = chunk_pa(fd, host);
	p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, pa);
	ok(p != MAP_FAILED, "map host memory");
	ok(all_bytes(p, 16384, 0), "it is zero");
	pattern(p, 16384, 3);
	copy_out(fd, host, buf, 16384 - 64, 64);
	ok(!memcmp(buf, p + 16384 - 64, 64), "the driver sees what was stored");

	q = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, pa);
	ok(q == MAP_FAILED && errno == EINVAL, "a part cannot be mapped");
	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, pa + 4096) == MAP_FAILED, "nor from inside");

	q = mmap(NULL, 2 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, chunk_pa(fd, dev));
	ok(q != MAP_FAILED, "map device memory");
	memcpy(q + 4096, "through the window", 19);
	copy_out(fd, dev, buf, 4096, 19);
	ok(!memcmp(buf, "through the window", 19), "stores reach the chip's memory");

	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 5ll << 30) == MAP_FAILED, "nothing is "
										 "mapped where no "
										 "chunk is");

	dmabuf = (struct neuron_ioctl_dmabuf_fd){ (uint64_t)q + 8192, 16384, &buf_fd };
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &dmabuf), 0, "a part of a mapping as dma-buf");
	is(lseek(buf_fd, 0, SEEK_END), 16384, "has its size");
	close(buf_fd);

	dmabuf.size = 2 * MB;
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &dmabuf), -EINVAL, "not beyond the mapping");
	dmabuf.va = (uint64_t)buf & ~4095ull;
	dmabuf.size = 4096;
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &dmabuf), -EINVAL, "not of other memory");
	dmabuf = (struct neuron_ioctl_dmabuf_fd){ (uint64_t)p, 4096, &buf_fd };
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &dmabuf), 0, "of host memory");

	is(chunk_free(fd, host), 0, "free what is mapped");
	p[0] = 42;
	is(p[0], 42, "the mapping keeps it");
	is(chunk(fd, true, 12345, 0, &host), 0, "another one");
	ok(chunk_pa(fd, host) != pa, "elsewhere");

	munmap(p, 16384);
	close(buf_fd);
	munmap(q, 2 * MB);
	chunk_free(fd, host);
	chunk_free(fd, dev);
}

/*
 * Called in a child: what a process may do with its parent's chunk; the exit status is a bit mask.
 */
static int child(uint64_t handle, uint64_t pa, bool other_user)
{
	int fd, bad = 0;
	uint8_t *p, byte = 1;

	if (other_user && setuid(65534))
		return 255;
	fd = node(0, O_RDWR);
	if (fd < 0)
		return 254;
	if (chunk_free(fd, handle) != -EACCES)
		bad |= 1;
	if (copy_in(fd, handle, &byte, 0, 1) != -EACCES)
		bad |= 2;
	if (copy_out(fd, handle, &byte, 0, 1) != (other_user ? -EACCES : 0))
		bad |= 4;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, pa);
	if (other_user)
		return bad | (p != MAP_FAILED ? 8 : 0);
	if (p == MAP_FAILED)
		return bad | 8;
	if (p[0] != 7)
		bad |= 16;
	if (!mprotect(p, 4096, PROT_READ | PROT_WRITE))
		bad |= 32;
	return bad;
}

static int child_status(uint64_t handle, uint64_t pa, bool other_user)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(child(handle, pa, other_user));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_others(int fd)
{
	uint64_t h;
	uint8_t seven = 7;

	chunk(fd, true, 4096, 0, &h);
	copy_in(fd, h, &seven, 0, 1);
	is(child_status(h, chunk_pa(fd, h), false), 0, "a process of the same user may read");
	is(child_status(h, chunk_pa(fd, h), true), 0, "a process of another user may not");
	is(chunk_free(fd, h), 0, "its owner frees it");
}

int main(void)
{
	int fd = node(0, O_RDWR);

	chip = chip_of(0);
	if (!ok(fd >= 0 && chip, "open"))
		return tap_done();
	test_handles(fd);
	test_limits(fd);
	test_copies(fd);
	test_zerocopy(fd);
	test_chunk_to_chunk(fd);
	test_async_waits(fd);
	test_scratchpad(fd);
	test_scratchpad_chain(fd);
	test_fills(fd);
	test_mmap(fd);
	test_parts(fd, true);
	test_parts(fd, false);
	test_others(fd);
	close(fd);
	return tap_done();
}
