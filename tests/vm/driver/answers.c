// SPDX-License-Identifier: MIT
/*
 * Every row of the ABI on whichever driver is loaded: `driver-answers used` makes the calls of a
 * client that makes no mistake (and leaves no error line in the kernel log), `refused` those that a
 * driver has to refuse, `later` both of what came after 2.24, and `firmware` of that what goes to
 * the firmware. The rows of bad pointers and of the two open modes come from the table of numbers
 * itself.
 */
#include "answers.h"
#include "chip.h"

const struct neuron_gen *chip;

static const struct row {
	const char *name;
	unsigned long cmd;
} rows[] = {
#define ROW(name) { #name, NEURON_IOCTL_##name },
#include "rows.h"
#undef ROW
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Rows whose argument is not read, or that change what the other rows show */
static bool takes_nothing(unsigned long cmd)
{
	switch (cmd) {
	case NEURON_IOCTL_DEVICE_RESET:
	case NEURON_IOCTL_DEVICE_INIT:
	case NEURON_IOCTL_DEVICE_RELEASE:
	case NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1:
		return true;
	}
	return false;
}

/* Every row with a bad pointer: EFAULT, or the driver's other error for it */
static void bad_pointers(int fd)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		if (takes_nothing(rows[i].cmd))
			continue;
		ask(fd, rows[i].cmd, rows[i].name, "NULL", NULL);
		end();
	}
}

/* Every row on a write-only descriptor: refused, or the refusal of the NULL pointer */
void answers_gates(void)
{
	int fd = node(0, O_WRONLY);
	size_t i;

	for (i = 0; i < ROWS; i++) {
		if (rows[i].cmd == NEURON_IOCTL_DEVICE_RESET)
			continue;
		ask(fd, rows[i].cmd, rows[i].name, "write-only NULL", NULL);
		end();
	}
	close(fd);
}

static int refused(void)
{
	int fd = node(0, O_RDWR);

	if (fd < 0 || !(chip = chip_behind(fd)))
		return 1;
	answers_refused(fd);
	bad_pointers(fd);
	close(fd);
	answers_gates();
	return 0;
}

static int used(void)
{
	int fd = node(0, O_RDWR);

	if (fd < 0 || !(chip = chip_behind(fd)))
		return 1;
	answers_info(fd);
	answers_memory(fd);
	answers_queues(fd);
	answers_cores(fd);
	close(fd);
	return 0;
}

static int later(void (*answers)(int fd))
{
	int fd = node(0, O_RDWR);

	if (fd < 0 || !(chip = chip_behind(fd)))
		return 1;
	answers(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "used"))
		return used();
	if (argc == 2 && !strcmp(argv[1], "refused"))
		return refused();
	if (argc == 2 && !strcmp(argv[1], "later"))
		return later(answers_26);
	if (argc == 2 && !strcmp(argv[1], "firmware"))
		return later(answers_firmware);
	if (argc == 2 && !strcmp(argv[1], "newest"))
		return later(answers_newest);
	fprintf(stderr, "usage: driver-answers used|refused|later|newest|firmware\n");
	return 2;
}
