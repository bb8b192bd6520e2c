// SPDX-License-Identifier: MIT
/*
 * A hostile guest: random reads and writes of a chip's BAR0 and BAR2 through sysfs, repeatable by
 * seed. Values are of three kinds: anything, small numbers, and addresses of a buffer of its own,
 * so that what is set off by accident writes there and not over the kernel. Called by
 * hostile-registers.t inside a guest.
 *
 *   poke BDF SEED COUNT    COUNT random accesses
 *   poke BDF errors        prints the chip's count of guest errors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuron/hw/ext.h"

#define BAR0_SIZE 0x1000000
#define BAR2_SIZE 0x10000000
#define PAGE 4096
#define PCI_COMMAND 4
#define PCI_COMMAND_MEM_MASTER 0x6
#define HOST_WINDOW (1ull << 46)

static uint64_t rng_state;

static uint64_t rng(void)
{
	/* splitmix64 */
	uint64_t z = (rng_state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void die(const char *what)
{
	fprintf(stderr, "poke: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_in_device(const char *bdf, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	fd = open(path, O_RDWR | O_SYNC);
	if (fd < 0)
		die(path);
	return fd;
}

static volatile uint8_t *map_bar(const char *bdf, const char *name, size_t size)
{
	int fd = open_in_device(bdf, name);
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		die(name);
	close(fd);
	return map;
}

static void enable(const char *bdf)
{
	uint16_t command = PCI_COMMAND_MEM_MASTER;
	int fd = open_in_device(bdf, "config");

	if (pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		die("config");
	close(fd);
}

/* The physical address of a locked page of this process */
static uint64_t own_address(void)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (page == MAP_FAILED || fd < 0)
		die("pagemap");
	page[0] = 1;
	if (pread(fd, &entry, 8, (uintptr_t)page / PAGE * 8) != 8)
		die("pagemap");
	close(fd);
	return (entry & ((1ull << 55) - 1)) * PAGE;
}

static uint64_t value(uint64_t own)
{
	uint64_t r = rng();

	switch (rng() % 4) {
	case 0: /* no address below 2^46: guest RAM stays out of its reach */
		return r | 0xffff800000000000ull;
	case 1:
		return r % 256;
	case 2:
		return own & 0xffffffff;
	default:
		return (own | HOST_WINDOW) >> 32;
	}
}

/* Register blocks live in a few places of the BARs: half of the accesses go near those */
static uint64_t offset(uint64_t size)
{
	static const uint64_t near[] = { 0x40000, 0x80000, 0x140000, 0x404000, 0x78e000, 0x800000 };
	uint64_t r = rng();

	if (size == BAR0_SIZE && r & 1)
		return near[(r >> 1) % (sizeof(near) / sizeof(near[0]))] + (r >> 8) % 0x4000;
	if (size == BAR2_SIZE && r & 1)
		return ((r >> 1) % 4) * 0x4000000 + 0x2700000 + (r >> 8) % 0x2000;
	return (r >> 8) % (size - 8);
}

static void access_once(volatile uint8_t *bar, uint64_t size, uint64_t own)
{
	volatile uint8_t *where = bar + (offset(size) & ~7ull);
	uint64_t r = rng();

	switch (r % 5) {
	case 0:
		(void)*(volatile uint32_t *)(where + (r >> 8 & 4));
		break;
	case 1:
		*(volatile uint64_t *)where = value(own);
		break;
	case 2:
		*(where + (r >> 8 & 7)) = value(own);
		break;
	default:
		*(volatile uint32_t *)(where + (r >> 8 & 4)) = value(own);
	}
}

int main(int argc, char **argv)
{
	volatile uint8_t *bar0, *bar2;
	uint64_t own, count;

	if (argc < 3)
		return 2;
	enable(argv[1]);
	bar0 = map_bar(argv[1], "resource0", BAR0_SIZE);
	if (!strcmp(argv[2], "errors")) {
		printf("%u\n", *(volatile uint32_t *)(bar0 + NEURON_EXT_BAR0_OFFSET +
						      NEURON_EXT_GUEST_ERRORS));
		return 0;
	}
	if (argc != 4)
		return 2;
	bar2 = map_bar(argv[1], "resource2", BAR2_SIZE);
	own = own_address();
	rng_state = strtoull(argv[2], NULL, 0);
	for (count = strtoull(argv[3], NULL, 0); count; count--) {
		if (rng() % 3)
			access_once(bar0, BAR0_SIZE, own);
		else
			access_once(bar2, BAR2_SIZE, own);
	}
	return 0;
}
