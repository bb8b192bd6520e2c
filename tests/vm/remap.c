// SPDX-License-Identifier: MIT
/*
 * Moves the machine's memory map under an access: one process switches a chip's BARs off and on,
 * another reads a register of the chip beside it, whose value is known. Called by remap.t inside a
 * guest.
 *
 *   remap BDF-TO-SWITCH BDF-TO-READ COUNT    prints the reads that were wrong
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neuron/hw/gen.h"

#define PCI_COMMAND 4
#define PCI_COMMAND_OFF 0x0
#define PCI_COMMAND_MEMORY 0x2
#define PAGE 4096

struct shared {
	int done;
	unsigned long reads, wrong;
};

static int open_file(const char *bdf, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bdf, name);
	fd = open(path, flags | O_SYNC);
	if (fd < 0)
		perror(path), exit(1);
	return fd;
}

static void command(int config, uint16_t value)
{
	if (pwrite(config, &value, sizeof(value), PCI_COMMAND) != sizeof(value))
		perror("config"), exit(1);
}

/* Maps a page of the emulator's own block of registers, whichever type the chip is */
static const volatile uint8_t *map_ext(const char *bdf)
{
	const struct neuron_block *ext;
	char text[16] = "", name[16];

	if (read(open_file(bdf, "device", O_RDONLY), text, sizeof(text) - 1) < 0)
		return MAP_FAILED;
	ext = neuron_gen_block(neuron_gen_of_pci((uint16_t)strtoul(text, NULL, 16)),
			       NEURON_BLOCK_EXT);
	snprintf(name, sizeof(name), "resource%u", ext->bar);
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, open_file(bdf, name, O_RDWR),
		    (off_t)ext->offset);
}

/* Reads until the other process is done; the register holds what it held at first. */
static void read_on(const volatile uint32_t *reg, struct shared *s)
{
	uint32_t value = *reg;

	while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE)) {
		s->wrong += *reg != value;
		s->reads++;
	}
}

int main(int argc, char **argv)
{
	const volatile uint8_t *ours;
	struct shared *s;
	int config, i;
	pid_t child;

	if (argc != 4)
		return 2;
	command(open_file(argv[2], "config", O_RDWR), PCI_COMMAND_MEMORY);
	ours = map_ext(argv[2]);
	s = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ours == MAP_FAILED || s == MAP_FAILED)
		perror("mmap"), exit(1);
	config = open_file(argv[1], "config", O_RDWR);
	child = fork();
	if (!child) {
		read_on((const volatile uint32_t *)ours, s);
		_exit(0);
	}
	for (i = atoi(argv[3]); i > 0; i--) {
		command(config, PCI_COMMAND_OFF);
		command(config, PCI_COMMAND_MEMORY);
	}
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	waitpid(child, NULL, 0);
	fprintf(stderr, "%lu reads\n", s->reads);
	printf("%lu\n", s->wrong);
	return s->reads ? 0 : 1;
}
