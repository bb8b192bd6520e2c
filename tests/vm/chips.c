// SPDX-License-Identifier: MIT
/*
 * The chips of a machine without a driver, through sysfs: shows the routing id of each, and writes
 * to the first and last page of each of its memories through the largest BAR what no other chip has
 * there, then reads all of them back. Called by machines.t inside a guest.
 *
 *   chips BDF...
 *
 * prints "BDF ROUTING-ID NODE" a chip; what does not read back is a line on standard error,
 * status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"

#define PAGE 4096u
#define PCI_COMMAND 4
#define PCI_COMMAND_MEM 0x2
#define CHIPS_MAX 16

static const struct neuron_gen *const generations[] = {
	&neuron_gen_trainium,
	&neuron_gen_inferentia2,
	&neuron_gen_trainium2,
};

struct chip {
	const char *bdf;
	const struct neuron_gen *gen;
};

static int open_in_device(const char *bdf, const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	fd = open(path, flags | O_SYNC);
	if (fd < 0) {
		fprintf(stderr, "chips: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

static long read_number(const char *bdf, const char *name)
{
	char text[32] = "";
	int fd = open_in_device(bdf, name, O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		exit(1);
	close(fd);
	return strtol(text, NULL, 0);
}

static volatile uint32_t *map(const char *bdf, unsigned int bar, uint64_t offset)
{
	char name[16];
	void *p;
	int fd;

	snprintf(name, sizeof(name), "resource%u", bar);
	fd = open_in_device(bdf, name, O_RDWR);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)(offset & ~(uint64_t)(PAGE - 1)));
	if (p == MAP_FAILED) {
		fprintf(stderr, "chips: %s %s at %llx: %s\n", bdf, name, (unsigned long long)offset,
			strerror(errno));
		exit(1);
	}
	close(fd);
	return (volatile uint32_t *)((uint8_t *)p + offset % PAGE);
}

static void unmap(volatile uint32_t *p)
{
	munmap((void *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1)), PAGE);
}

static void find(struct chip *chip)
{
	uint16_t command = PCI_COMMAND_MEM;
	long id = read_number(chip->bdf, "device");
	int fd;

	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (generations[i]->pci_id[0] == id)
			chip->gen = generations[i];
	if (!chip->gen) {
		fprintf(stderr, "chips: %s is no chip\n", chip->bdf);
		exit(1);
	}
	fd = open_in_device(chip->bdf, "config", O_RDWR);
	if (pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		exit(1);
	close(fd);
}

static void show(const struct chip *chip)
{
	const struct neuron_gen *gen = chip->gen;
	volatile uint32_t *p =
		map(chip->bdf, gen->bar_regs,
		    neuron_gen_offset(gen, NEURON_BLOCK_MISC, 0) + NEURON_MISC_DEVICE_ID);

	printf("%s %u %ld\n", chip->bdf, *p, read_number(chip->bdf, "numa_node"));
	unmap(p);
}

/* Writes both ends of each memory, or compares them afterwards; returns the number that differ */
static int memories(const struct chip *chip, unsigned int number, int write)
{
	const struct neuron_gen *gen = chip->gen;
	int wrong = 0;

	for (unsigned int i = 0; i < 2u * gen->memories; i++) {
		const struct neuron_memory *mem = &gen->memory[i / 2];
		uint64_t offset = mem->offset + (i % 2 ? mem->size - PAGE : 0);
		volatile uint32_t *p = map(chip->bdf, gen->bar_dram, offset);

		for (unsigned int k = 0; k < PAGE / 4; k++) {
			uint32_t value = (number << 24 | i << 16 | k) * 2654435761u;

			if (write)
				p[k] = value;
			else
				wrong += p[k] != value;
		}
		unmap(p);
	}
	if (wrong)
		fprintf(stderr, "chips: %s: %d words are not what was written\n", chip->bdf, wrong);
	return wrong;
}

int main(int argc, char **argv)
{
	struct chip chip[CHIPS_MAX] = { 0 };
	unsigned int n = (unsigned int)argc - 1;
	int wrong = 0;

	if (!n || n > CHIPS_MAX)
		return 2;
	for (unsigned int i = 0; i < n; i++) {
		chip[i].bdf = argv[1 + i];
		find(&chip[i]);
		show(&chip[i]);
	}
	for (unsigned int i = 0; i < n; i++)
		memories(&chip[i], i, 1);
	for (unsigned int i = 0; i < n; i++)
		wrong += memories(&chip[i], i, 0);
	return wrong ? 1 : 0;
}
