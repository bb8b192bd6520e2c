/* SPDX-License-Identifier: MIT */
/*
 * Injection of faults into in-process chips: one at a time, or from NEURON_EMU_FAULTS when the
 * machine starts. They are the chip's own (ncore.h), that it is unplugged, and memory that is
 * handed out with somebody's bytes.
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* "stale-memory", "stale-memory=on" or "stale-memory=off" */
static int stale_by(struct emu_chip *chip, const char *value, size_t len)
{
	bool off = len == 3 && !memcmp(value, "off", len);

	if (len && !off && (len != 2 || memcmp(value, "on", len)))
		return -EINVAL;
	__atomic_store_n(&chip->stale, !off, __ATOMIC_RELAXED);
	return 0;
}

/* The faults of memory and of the place, which a chip in itself does not have */
static const struct {
	const char *name;
	int (*by)(struct emu_chip *chip, const char *value, size_t len);
} outside[] = {
	{ "unplug", unplug_by },
	{ "stale-memory", stale_by },
};

int emu_fault(struct emu_chip *chip, const char *fault, size_t len)
{
	const char *equals = memchr(fault, '=', len);
	size_t name = equals ? (size_t)(equals - fault) : len;
	size_t size = equals ? len - name - 1 : 0;
	char spec[NCORE_FAULT_SPEC_MAX] = "1";
	int n = ncore_fault_find(fault, name), ret;

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		if (name == strlen(outside[i].name) && !memcmp(fault, outside[i].name, name))
			return outside[i].by(chip, equals ? equals + 1 : "", size);
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

/* The chips of "nd2:" or "nd*:", [*first, *end); returns what is behind it, or NULL */
static const char *chips_of(const struct emu_machine *m, const char *p, unsigned long *first,
			    unsigned long *end)
{
	const unsigned long n = (unsigned long)m->nchips;
	char *rest;

	*first = 0;
	*end = n;
	if (!strncmp(p, "nd*:", 4))
		return p + 4;
	if (strncmp(p, "nd", 2) || p[2] < '0' || p[2] > '9')
		return NULL;
	*first = strtoul(p + 2, &rest, 10);
	*end = *first + 1;
	return *rest == ':' && *first < n ? rest + 1 : NULL;
}

/*
 * Injects the faults of the environment: "nd0:dma-abort=1 nd2:link-east-down=on", separated by
 * blanks; nd* is each chip.
 */
int emu_faults_from_environment(struct emu_machine *m)
{
	const char *p = getenv("NEURON_EMU_FAULTS");
	unsigned long i, end;
	size_t n;
	int ret = 0;

	for (p = p ? p : ""; !ret && *(p += strspn(p, " ")); p += n) {
		const char *fault = chips_of(m, p, &i, &end);

		if (!fault)
			return -EINVAL;
		n = strcspn(p, " ");
		for (; i < end && !ret; i++)
			ret = emu_fault(&m->chip[i], fault, n - (size_t)(fault - p));
	}
	return ret;
}
