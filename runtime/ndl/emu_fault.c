/* SPDX-License-Identifier: MIT */
/*
 * Injection of faults into in-process chips: one at a time, or from NEURON_EMU_FAULTS when the
 * machine starts
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>

int emu_fault(struct emu_chip *chip, const char *fault, size_t len)
{
	const char *equals = memchr(fault, '=', len);
	size_t name = equals ? (size_t)(equals - fault) : len;
	size_t size = equals ? len - name - 1 : 0;
	char spec[NCORE_FAULT_SPEC_MAX] = "1";
	int n = ncore_fault_find(fault, name), ret;

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
