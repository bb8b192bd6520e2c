// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels: which release of the public driver the module is to programs, for runtimes and drivers
 * refuse each other by their versions. A level has the release's version, its features, the ioctls
 * that it knows and its errno; docs/driver.md, Levels. Owns the parameter abi_level.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "neuron_level.h"
#include "neuron_version.h"
#include "uapi/neuron/neuron_ioctl.h"

#define FEATURES_2_26 0x1ffull
#define FEATURES_2_28 \
	(FEATURES_2_26 | NEURON_FEATURE_PINNED_HOST_MEM | NEURON_FEATURE_ALLOC_WITH_PA)

static const struct {
	const char *name, *version;
	u64 features;
} levels[NEURON_LEVELS] = {
	[NEURON_LEVEL_2_24] = { "2.24", NEURON_DRIVER_VERSION, FEATURES_2_26 },
	[NEURON_LEVEL_2_27] = { "2.27", "2.27.4.0", FEATURES_2_26 },
	[NEURON_LEVEL_2_28] = { "2.28", "2.28.0.0", FEATURES_2_28 },
	[NEURON_LEVEL_2_29] = { "2.29", "2.29.0.0", FEATURES_2_28 },
};

enum neuron_level neuron_level;
static const char *built; /* the version that the kernel gave the module */

static char *abi_level = "2.24";
module_param(abi_level, charp, 0440);
MODULE_PARM_DESC(abi_level, "release to be to programs: 2.24, 2.27, 2.28, 2.29 (default 2.24)");

const char *neuron_level_version(void)
{
	return levels[neuron_level].version;
}

u64 neuron_level_features(void)
{
	return levels[neuron_level].features;
}

/*
 * Programs read /sys/module/neuron/version, which shows what the kernel took from the file when it
 * loaded the module. Nobody asks for it that early, and the kernel frees what it finds there when
 * the module goes.
 */
static int version_set(void)
{
	const char *version = kstrdup(neuron_level_version(), GFP_KERNEL);

	if (!version)
		return -ENOMEM;
	built = THIS_MODULE->version;
	WRITE_ONCE(THIS_MODULE->version, version);
	return 0;
}

int neuron_level_init(void)
{
	unsigned int i;

	for (i = 0; i < NEURON_LEVELS; i++) {
		if (strcmp(abi_level, levels[i].name))
			continue;
		neuron_level = i;
		return i == NEURON_LEVEL_2_24 ? 0 : version_set();
	}
	pr_err("abi_level=%s: one of 2.24, 2.27, 2.28, 2.29\n", abi_level);
	return -EINVAL;
}

void neuron_level_exit(void)
{
	kfree(built);
}
