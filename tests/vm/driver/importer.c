// SPDX-License-Identifier: MIT
/*
 * What other kernel modules get of device memory: bus addresses through the p2p symbols, and
 * dma-bufs, which neuron-importer.ko (tests/vm/importer) asks for; it reads the bytes there.
 */
#include "../importer/importer.h"
#include "tap.h"
#include "chip.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define SIZE (1u << 20)

static uint8_t bytes[SIZE];

static int importer(void)
{
	int im = open("/dev/neuron-importer", O_RDWR | O_CLOEXEC);

	return im < 0 ? -errno : im;
}

static void *mapped(int fd, bool host, uint64_t size, uint64_t *handle)
{
	void *p = MAP_FAILED;

	if (!chunk(fd, host, size, 0, handle))
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)chunk_pa(fd, *handle));
	ok(p != MAP_FAILED, "a mapping of %llu bytes", (unsigned long long)size);
	return p;
}

/* The DRAM window's bus address, as PCI has it */
static uint64_t window(void)
{
	FILE *f = fopen("/sys/class/neuron_device/neuron0/device/resource", "r");
	unsigned long long start = 0;

	for (int i = 0; f && i < 5; i++)
		if (fscanf(f, "%llx %*x %*x", &start) != 1)
			break;
	if (f)
		fclose(f);
	return start;
}

static void test_addresses(int fd)
{
	int im = importer();
	uint64_t h;
	uint8_t *p = mapped(fd, false, SIZE, &h);
	struct importer_register r = { .va = (uintptr_t)p + 8192, .size = SIZE - 8192 };
	struct importer_peek peek;

	pattern(bytes, SIZE, 31);
	copy_in(fd, h, bytes, 0, SIZE);
	is(call(im, IMPORTER_REGISTER, &r), 0, "register");
	is((long long)r.address, (long long)(window() + chunk_pa(fd, h) + 8192), "the bus address");
	is(r.shift, 12, "pages of 4 KiB");
	is(r.count, SIZE / 4096 - 2, "so many");
	is(r.entries, 1, "in one run");
	is(r.device, 0, "of nd0");
	is(call(im, IMPORTER_PEEK, &peek), 0, "what lies there");
	ok(!memcmp(peek.bytes, bytes + 8192, sizeof(peek.bytes)), "is what was copied in");
	is(call(im, IMPORTER_TOLD, NULL), 0, "nobody was told anything");
	is(call(im, IMPORTER_UNREGISTER, NULL), 0, "unregister");
	munmap(p, SIZE);
	is(call(im, IMPORTER_TOLD, NULL), 0, "nor later");
	chunk_free(fd, h);
	close(im);
}

static void test_huge(int fd)
{
	int im = importer();
	const uint64_t size = 256ull << 20;
	uint64_t h;
	struct neuron_ioctl_mem_alloc_v2 a = { size, 2 << 20, 0, 0, 0, 0, (void *)&h };
	struct importer_register r = { .size = size };
	uint8_t *space, *p;

	is(call(fd, NEURON_IOCTL_MEM_ALLOC_V2, &a), 0, "256 MiB, aligned");
	space = mmap(NULL, size + (2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = (uint8_t *)(((uintptr_t)space + (2 << 20) - 1) & -(uintptr_t)(2 << 20));
	p = mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)chunk_pa(fd, h));
	r.va = (uintptr_t)p;
	is(call(im, IMPORTER_REGISTER, &r), 0, "register");
	is(r.shift, 21, "pages of 2 MiB");
	is(r.count, 128, "128 of them");
	close(im);
	munmap(space, size + (2 << 20));
	chunk_free(fd, h);
}

static void test_refused(int fd)
{
	int im = importer();
	uint64_t h, k;
	uint8_t *p = mapped(fd, false, SIZE, &h), *host = mapped(fd, true, SIZE, &k);
	struct importer_register r = { .va = (uintptr_t)bytes & -4096ull, .size = 4096 };

	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "memory of the program's own");
	r = (struct importer_register){ .va = (uintptr_t)host, .size = SIZE };
	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "host memory");
	r = (struct importer_register){ .va = (uintptr_t)p, .size = SIZE + 4096 };
	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "longer than the mapping");
	r = (struct importer_register){ .va = (uintptr_t)p + 1, .size = 4096 };
	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "not on a page");
	r = (struct importer_register){ .va = (uintptr_t)p, .size = 0 };
	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "nothing");
	r = (struct importer_register){ .va = (uintptr_t)p, .size = -4096ull };
	is(call(im, IMPORTER_REGISTER, &r), -EINVAL, "sizes that wrap");
	munmap(p, SIZE);
	munmap(host, SIZE);
	chunk_free(fd, h);
	chunk_free(fd, k);
	close(im);
}

/* The importer is told once; the memory is not reused until it lets go. */
static void test_unmapped(int fd, bool in_callback)
{
	int im = importer();
	uint64_t h, again;
	uint8_t *p = mapped(fd, false, SIZE, &h);
	uint64_t pa = chunk_pa(fd, h);
	struct importer_register r = { (uintptr_t)p, SIZE, in_callback, 0, 0, 0, 0, 0 };

	is(call(im, IMPORTER_REGISTER, &r), 0, "register");
	munmap(p, SIZE);
	is(call(im, IMPORTER_TOLD, NULL), 1, "told of the end of the mapping");
	chunk_free(fd, h);
	is(chunk(fd, false, SIZE, 0, &again), 0, "another chunk");
	ok((chunk_pa(fd, again) == pa) == in_callback, "takes its place only after unregistering");
	is(call(im, IMPORTER_UNREGISTER, NULL), 0, "unregister");
	is(call(im, IMPORTER_TOLD, NULL), 1, "told once");
	chunk_free(fd, again);
	close(im);
}

static void test_exit(void)
{
	int im = importer(), status = -1;
	pid_t pid = fork();

	if (!pid) {
		int fd = node(0, O_RDWR);
		uint64_t h;
		struct importer_register r = { .size = 4096 };

		if (chunk(fd, false, 4096, 0, &h))
			_exit(1);
		r.va = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
				       (off_t)chunk_pa(fd, h));
		_exit(call(im, IMPORTER_REGISTER, &r) ? 2 : 0);
	}
	waitpid(pid, &status, 0);
	is(status, 0, "a process registers and ends");
	is(call(im, IMPORTER_TOLD, NULL), 1, "told");
	close(im);
}

static void test_dmabuf(int fd, bool host)
{
	int im = importer();
	uint64_t h;
	uint8_t *p = mapped(fd, host, SIZE, &h);
	int32_t buf = -1;
	struct neuron_ioctl_dmabuf_fd a = { (uintptr_t)p + 4096, SIZE - 4096, &buf };
	struct importer_import m = { .host = host };

	pattern(bytes, SIZE, host ? 41 : 42);
	copy_in(fd, h, bytes, 0, SIZE);
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &a), 0, "a dma-buf of %s", host ? "host" : "device");
	m.fd = buf;
	is(call(im, IMPORTER_IMPORT, &m), 0, "attached twice, mapped twice");
	ok(!memcmp(m.bytes, bytes + 4096, sizeof(m.bytes)), "the bytes are there");
	if (!host) {
		is((long long)m.address, (long long)(window() + chunk_pa(fd, h) + 4096), "address");
		is(m.length, SIZE - 4096, "length");
	}
	close(buf);
	munmap(p, SIZE);
	chunk_free(fd, h);
	close(im);
}

/* The device is removed while the importer holds addresses and a dma-buf. */
static void test_removal(int fd)
{
	int im = importer(), unbind = open("/sys/bus/pci/drivers/neuron/unbind", O_WRONLY);
	uint64_t h;
	uint8_t *p = mapped(fd, false, SIZE, &h), *host = mapped(fd, true, SIZE, &h);
	int32_t buf = -1, host_buf = -1;
	struct neuron_ioctl_dmabuf_fd a = { (uintptr_t)p, SIZE, &buf };
	struct neuron_ioctl_dmabuf_fd b = { (uintptr_t)host + 4096, SIZE - 8192, &host_buf };
	struct importer_register r = { .va = (uintptr_t)p, .size = SIZE };
	struct importer_import m = { 0 }, held = { .host = 1 };

	pattern(bytes, SIZE, 43);
	copy_in(fd, h, bytes, 0, SIZE);
	is(call(im, IMPORTER_REGISTER, &r), 0, "register");
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &a), 0, "and a dma-buf");
	is(call(fd, NEURON_IOCTL_DMABUF_FD, &b), 0, "and one of host memory");
	m.fd = buf;
	held.fd = host_buf;
	is(call(im, IMPORTER_HOLD, &held), 0, "which a card has mapped");
	is(write(unbind, chip_address(0), 12), 12, "unbind");
	is(call(im, IMPORTER_TOLD, NULL), 1, "told of the end of the device");
	is(call(im, IMPORTER_IMPORT, &m), -ENODEV, "nothing left to import");
	is(call(im, IMPORTER_REGISTER, &r), -ENODEV, "nor to register");
	is(host[4096], 0, "the program's mapping is empty");
	memset(&held.bytes, 0, sizeof(held.bytes));
	is(call(im, IMPORTER_HELD, &held), 0, "what the card has mapped");
	ok(!memcmp(held.bytes, bytes + 4096, sizeof(held.bytes)), "is still the pages it was");
	munmap(host, SIZE);
	close(host_buf);
	close(fd);
	is(call(im, IMPORTER_HELD, &held), 0, "also without a mapping or a file");
	ok(!memcmp(held.bytes, bytes + 4096, sizeof(held.bytes)), "of the device");
	is(call(im, IMPORTER_LET_GO, NULL), 0, "it lets go");
	close(buf);
	close(unbind);
	munmap(p, SIZE);
	close(im);
}

int main(void)
{
	int fd = node(0, O_RDWR);

	if (!ok(fd >= 0 && importer() >= 0, "node and importer"))
		return tap_done();
	test_addresses(fd);
	test_huge(fd);
	test_refused(fd);
	test_unmapped(fd, false);
	test_unmapped(fd, true);
	test_exit();
	test_dmabuf(fd, false);
	test_dmabuf(fd, true);
	test_removal(fd);
	return tap_done();
}
