// SPDX-License-Identifier: MIT
/*
 * A hostile guest: random reads and writes of a chip's BAR0 and BAR2 through sysfs, whatever its
 * type, repeatable by seed. Values are of three kinds: anything, small numbers, and addresses of a
 * buffer of its own, so that what is set off by accident writes there and not over the kernel.
 * Called by hostile-registers.t inside a guest.
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
#include "neuron/hw/gen.h"

#define PAGE 4096
#define PCI_COMMAND 4
#define PCI_COMMAND_MEM_MASTER 0x6

struct bars {
	const struct neuron_gen *gen;
	volatile uint8_t *bar[4]; /* 0 and 2 */
	uint64_t own;
};

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

static int open_in_device(const char *bdf, const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	fd = open(path, flags | O_SYNC);
	if (fd < 0)
		die(path);
	return fd;
}

static volatile uint8_t *map_bar(const char *bdf, const char *name, size_t size)
{
	int fd = open_in_device(bdf, name, O_RDWR);
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		die(name);
	close(fd);
	return map;
}

static void enable(const char *bdf)
{
	uint16_t command = PCI_COMMAND_MEM_MASTER;
	int fd = open_in_device(bdf, "config", O_RDWR);

	if (pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		die("config");
	close(fd);
}

static const struct neuron_gen *generation(const char *bdf)
{
	const struct neuron_gen *gen;
	char text[16] = "";
	int fd = open_in_device(bdf, "device", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		die("device");
	close(fd);
	gen = neuron_gen_of_pci((uint16_t)strtoul(text, NULL, 16));
	if (!gen)
		die(bdf);
	return gen;
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

static uint64_t value(const struct bars *b)
{
	uint64_t r = rng();

	switch (rng() % 4) {
	case 0: /* no address of a window: guest RAM stays out of its reach */
		return r | 0xffff800000000000ull;
	case 1:
		return r % 256;
	case 2:
		return b->own & 0xffffffff;
	default:
		return (b->own | b->gen->window.host) >> 32;
	}
}

/* Register blocks live in a few places of the BARs: half of the accesses go to those */
static volatile uint8_t *in_block(const struct bars *b)
{
	const struct neuron_block *block = &b->gen->block[rng() % b->gen->blocks];
	uint64_t at = block->offset + rng() % block->count * block->stride, r = rng();
	uint64_t near = block->size < 0x4000 ? block->size : 0x4000;

	if (block->kind == NEURON_BLOCK_CORE)
		return b->bar[block->bar] + at + b->gen->core.events + r % 0x4000;
	return b->bar[block->bar] + at + r % near;
}

static volatile uint8_t *anywhere(const struct bars *b)
{
	unsigned int bar = rng() % 3 ? 0 : 2;

	return b->bar[bar] + rng() % (b->gen->bar_size[bar] - 8);
}

static void access_once(const struct bars *b)
{
	uintptr_t at = (uintptr_t)(rng() & 1 ? in_block(b) : anywhere(b));
	volatile uint8_t *where = (volatile uint8_t *)(at & ~(uintptr_t)7);
	uint64_t r = rng();

	switch (r % 5) {
	case 0:
		(void)*(volatile uint32_t *)(where + (r >> 8 & 4));
		break;
	case 1:
		*(volatile uint64_t *)where = value(b);
		break;
	case 2:
		*(where + (r >> 8 & 7)) = value(b);
		break;
	default:
		*(volatile uint32_t *)(where + (r >> 8 & 4)) = value(b);
	}
}

int main(int argc, char **argv)
{
	const struct neuron_block *ext;
	struct bars b = { 0 };
	uint64_t count;

	if (argc < 3)
		return 2;
	enable(argv[1]);
	b.gen = generation(argv[1]);
	b.bar[0] = map_bar(argv[1], "resource0", b.gen->bar_size[0]);
	b.bar[2] = map_bar(argv[1], "resource2", b.gen->bar_size[2]);
	if (!strcmp(argv[2], "errors")) {
		ext = neuron_gen_block(b.gen, NEURON_BLOCK_EXT);
		printf("%u\n", *(volatile uint32_t *)(b.bar[ext->bar] + ext->offset +
						      NEURON_EXT_GUEST_ERRORS));
		return 0;
	}
	if (argc != 4)
		return 2;
	b.own = own_address();
	rng_state = strtoull(argv[2], NULL, 0);
	for (count = strtoull(argv[3], NULL, 0); count; count--)
		access_once(&b);
	return 0;
}
