/* SPDX-License-Identifier: MIT */
/*
 * Injection of faults into in-process chips: one at a time, or from NEURON_EMU_FAULTS when the
 * machine starts. They are the chip's own (ncore.h), and that it is unplugged.
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Unplugged: the chip does nothing any more, its links are down, and whoever waits for it or calls
 * is told. Its memory stays until the machine ends, as others' mappings of it do.
 */
static int unplug(struct emu_chip *chip)
{
	if (__atomic_exchange_n(&chip->gone, true, __ATOMIC_ACQ_REL))
		return 0;
	if (chip->machine->fabric)
		ncore_fault_set(chip->core, NCORE_FAULT_LINK_DOWN, "on");
	emu_chip_reset(chip, NEURON_NC_MAP_DEVICE);
	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		emu_irq(chip, nc);
	return 0;
}

void emu_doorbell(struct emu_chip *chip)
{
	if (__builtin_expect(__atomic_load_n(&chip->doorbells, __ATOMIC_RELAXED) != 0, 0) &&
	    __atomic_sub_fetch(&chip->doorbells, 1, __ATOMIC_RELAXED) == 0)
		unplug(chip);
}

/* "unplug", at once, or "unplug=1:after=N", with the doorbell that comes behind N of them */
static int unplug_by(struct emu_chip *chip, const char *value, size_t len)
{
	char text[32], *end;
	unsigned long n;

	if (!len || (len == 1 && *value == '1'))
		return unplug(chip);
	if (len >= sizeof(text) || strncmp(value, "1:after=", 8))
		return -EINVAL;
	memcpy(text, value + 8, len - 8);
	text[len - 8] = '\0';
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || n >= UINT32_MAX)
		return -EINVAL;
	__atomic_store_n(&chip->doorbells, (unsigned int)n + 1, __ATOMIC_RELAXED);
	return 0;
}

int emu_fault(struct emu_chip *chip, const char *fault, size_t len)
{
	const char *equals = memchr(fault, '=', len);
	size_t name = equals ? (size_t)(equals - fault) : len;
	size_t size = equals ? len - name - 1 : 0;
	char spec[NCORE_FAULT_SPEC_MAX] = "1";
	int n = ncore_fault_find(fault, name), ret;

	if (name == strlen("unplug") && !memcmp(fault, "unplug", name))
		return unplug_by(chip, equals ? equals + 1 : "", size);
	if (n < 0)
		return n;
	if (size >= sizeof(spec))
		return -EINVAL;
	if (equals) {
		memcpy(spec, equals + 1, size);
		spec[size] = '\0';
	}
	ret = ncore_fault_set(chip->core, (enum ncore_fault)n, spec);
	if (ret && !equals) /* a fault that lasts until it is switched off */
		ret = ncore_fault_set(chip->core, (enum ncore_fault)n, "on");
	return ret;
}

/*
 * Injects the faults of the environment: "nd0:dma-abort=1 nd2:link-east-down=on", separated by
 * blanks.
 */
int emu_faults_from_environment(struct emu_machine *m)
{
	const char *p = getenv("NEURON_EMU_FAULTS");
	size_t n;
	int ret = 0;

	for (p = p ? p : ""; !ret && *(p += strspn(p, " ")); p += n) {
		char *rest;
		unsigned long index;

		n = strcspn(p, " ");
		if (strncmp(p, "nd", 2) || p[2] < '0' || p[2] > '9')
			return -EINVAL;
		index = strtoul(p + 2, &rest, 10);
		if (*rest != ':' || index >= (unsigned long)m->nchips)
			return -EINVAL;
		ret = emu_fault(&m->chip[index], rest + 1, n - (size_t)(rest + 1 - p));
	}
	return ret;
}
