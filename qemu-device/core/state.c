/* SPDX-License-Identifier: MIT */
/* Save and load of a chip at rest. */
#include "chip.h"

#include <errno.h>

int ncore_chip_save(struct ncore_chip *chip, void **buf, size_t *size)
{
	return -ENOTSUP;
}

int ncore_chip_load(struct ncore_chip *chip, const void *buf, size_t size, const char **reason)
{
	*reason = "not supported yet";
	return -ENOTSUP;
}
