// SPDX-License-Identifier: GPL-2.0-only
/*
 * The power reading in hwmon, where the kernel has it. The chip tells a utilization and no watts,
 * for which hwmon has no attribute: power1_utilization is this driver's own, in thousandths of a
 * per cent as hwmon counts percentages (humidity1_input). It is the last sample; -ENODATA before
 * the first, and when the firmware has none.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/hwmon.h>

#include "neuron_device.h"
#include "neuron_hwmon.h"
#include "neuron_health.h"

#if IS_REACHABLE(CONFIG_HWMON)
static ssize_t power1_utilization_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(dev);
	int bp = neuron_power_last(nd);

	return bp < 0 ? bp : sysfs_emit(buf, "%d\n", bp * 10);
}
static DEVICE_ATTR_RO(power1_utilization);

static struct attribute *hwmon_attrs[] = { &dev_attr_power1_utilization.attr, NULL };
ATTRIBUTE_GROUPS(hwmon);

static umode_t hwmon_visible(const void *data, enum hwmon_sensor_types type, u32 attr, int channel)
{
	return 0444;
}

static int hwmon_string(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel,
			const char **str)
{
	*str = "utilization";
	return 0;
}

static const struct hwmon_ops hwmon_ops = {
	.is_visible = hwmon_visible,
	.read_string = hwmon_string,
};

static const u32 power_config[] = { HWMON_P_LABEL, 0 };
static const struct hwmon_channel_info power_info = {
	.type = hwmon_power,
	.config = power_config,
};

static const struct hwmon_channel_info *channels[] = { &power_info, NULL };

static const struct hwmon_chip_info chip_info = {
	.ops = &hwmon_ops,
	.info = channels,
};

/**
 * neuron_hwmon_add() - show the power reading; a device does without when this fails
 * @nd: the device
 */
void neuron_hwmon_add(struct neuron_device *nd)
{
	struct device *dev = hwmon_device_register_with_info(&nd->pdev->dev, "neuron", nd,
							     &chip_info, hwmon_groups);

	nd->hwmon = IS_ERR(dev) ? NULL : dev;
}

/**
 * neuron_hwmon_del() - take it away; nobody reads it when this returns
 * @nd: the device
 */
void neuron_hwmon_del(struct neuron_device *nd)
{
	if (nd->hwmon)
		hwmon_device_unregister(nd->hwmon);
	nd->hwmon = NULL;
}
#else
void neuron_hwmon_add(struct neuron_device *nd)
{
}

void neuron_hwmon_del(struct neuron_device *nd)
{
}
#endif
