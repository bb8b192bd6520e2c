// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of sysfs that chips after Inferentia have: the serial number, errors of memories, what the
 * array of a core did. All of them ask the chip, so that a read enters the device like an ioctl
 * does, but for those of health_status, which show what the last look found. Paths, contents and
 * modes are the public driver's; docs/driver.md says which are not.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_sysfs.h"
#include "neuron_health.h"

/* Words whose firmware has not come up */
#define UNKNOWN 0xdeadbeef
#define SETS_MAX 16 /* of registers with counters, for one group of rows */

static int look(struct neuron_device *nd, struct neuron_health *health)
{
	int idx = neuron_enter(nd), ret;

	if (idx < 0)
		return idx;
	ret = neuron_health_poll(nd, health);
	neuron_exit(nd, idx);
	return ret;
}

static ssize_t serial_number_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(kobj->parent));
	int ret = look(nd, NULL);
	u64 serial = READ_ONCE(nd->serial);

	if (ret)
		return ret;
	if (!serial || upper_32_bits(serial) == UNKNOWN || lower_32_bits(serial) == UNKNOWN)
		return sysfs_emit(buf, "\n");
	return sysfs_emit(buf, "%016llx\n", serial);
}

static struct kobj_attribute serial_number = __ATTR(serial_number, 0644, serial_number_show, NULL);

/* The device of a directory stats/hardware */
static struct neuron_device *hardware_nd(struct kobject *kobj)
{
	return dev_get_drvdata(kobj_to_dev(kobj->parent->parent));
}

/*
 * Errors of all memories that were not corrected: those that the firmware can repair, or the
 * others. Firmware before version 6 counts them together, and its state says which they are.
 */
static u32 memory_sum(struct neuron_device *nd, const struct neuron_health *h, bool repairable)
{
	u32 all = 0, part = 0, i;

	for (i = 1; i <= nd->gen->memories; i++) {
		all += h->ecc[i].uncorrected;
		part += h->ecc[i].repairable;
	}
	if (h->firmware < NEURON_FIRMWARE_ECC)
		part = h->repair == NEURON_REPAIR_PENDING ? all : 0;
	return repairable ? part : all - part;
}

/*
 * A state that has no errors to be of counts as none, as in the public drivers up to 2.27; so does,
 * under firmware that counts them apart, a repair that is pending with nothing to repair.
 */
static u32 memory_errors(struct neuron_device *nd, const struct neuron_health *h, bool repairable)
{
	u32 part = memory_sum(nd, h, true), rest = memory_sum(nd, h, false);

	if (h->firmware >= NEURON_FIRMWARE_ECC && h->repair &&
	    (!rest || (h->repair == NEURON_REPAIR_PENDING && !part)))
		return 0;
	return repairable ? part : rest;
}

static u32 corrected_sum(struct neuron_device *nd, const struct neuron_health *h)
{
	u32 sum = 0, i;

	for (i = 1; i <= nd->gen->memories; i++)
		sum += h->ecc[i].corrected;
	return sum;
}

#define SRAM NEURON_ECC_MEMORY_SRAM

/* Asks the chip */
#define HARDWARE_FILE(var, value)                                                             \
	static ssize_t var##_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf) \
	{                                                                                     \
		struct neuron_device *nd = hardware_nd(kobj);                                 \
		struct neuron_health h;                                                       \
		int ret = look(nd, &h);                                                       \
											      \
		return ret ?: sysfs_emit(buf, "%u\n", value);                                 \
	}                                                                                     \
	static struct kobj_attribute var = __ATTR(var, 0644, var##_show, NULL)

HARDWARE_FILE(sram_ecc_uncorrected, h.ecc[SRAM].uncorrected);
HARDWARE_FILE(mem_ecc_uncorrected, memory_errors(nd, &h, false));
HARDWARE_FILE(mem_ecc_repairable_uncorrected, memory_errors(nd, &h, true));
HARDWARE_FILE(sram_ecc_corrected, h.ecc[SRAM].corrected);
HARDWARE_FILE(mem_ecc_corrected, corrected_sum(nd, &h));

static struct attribute *hardware_attrs[] = {
	&sram_ecc_uncorrected.attr, &mem_ecc_uncorrected.attr, &mem_ecc_repairable_uncorrected.attr,
	&sram_ecc_corrected.attr,   &mem_ecc_corrected.attr,   NULL
};

static const struct attribute_group hardware_group = { .attrs = hardware_attrs };

/* The error counts of the last look; a state of repairs is one error more of its kind */
static u32 health_memory(struct neuron_device *nd, const struct neuron_health *h, bool repairable)
{
	u32 state = repairable ? NEURON_REPAIR_PENDING : NEURON_REPAIR_FAILED;

	return memory_sum(nd, h, repairable) + (h->repair == state);
}

#define HEALTH_FILE(var, format, value)                                                       \
	static ssize_t var##_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf) \
	{                                                                                     \
		struct neuron_device *nd = hardware_nd(kobj);                                 \
		struct neuron_health h;                                                       \
											      \
		neuron_health_last(nd, &h);                                                    \
		return sysfs_emit(buf, format "\n", value);                                   \
	}                                                                                     \
	static struct kobj_attribute var = __ATTR(var, 0444, var##_show, NULL)

HEALTH_FILE(hbm_ecc_err_count, "%u", health_memory(nd, &h, false));
HEALTH_FILE(repairable_hbm_ecc_err_count, "%u", health_memory(nd, &h, true));
HEALTH_FILE(sram_ecc_err_count, "%u", h.ecc[SRAM].uncorrected);
HEALTH_FILE(hw_error_event, "%u", h.events);
HEALTH_FILE(healthcheck_heartbeat, "%llu", h.looks);

/*
 * Names that the vendor's firmware has for its parts. Where it tells of them is not public: these
 * are what the module itself has found
 */
static ssize_t unhealthy_components_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = hardware_nd(kobj);
	struct neuron_health h;
	const char *comma = "";
	int n = 0;

	neuron_health_last(nd, &h);
	if (health_memory(nd, &h, false)) {
		n += sysfs_emit_at(buf, n, "hbm");
		comma = ",";
	}
	if (h.ecc[SRAM].uncorrected) {
		n += sysfs_emit_at(buf, n, "%ssram", comma);
		comma = ",";
	}
	if (h.silent)
		n += sysfs_emit_at(buf, n, "%sfirmware_service_api", comma);
	return n + sysfs_emit_at(buf, n, "\n");
}

static struct kobj_attribute unhealthy_components =
	__ATTR(unhealthy_components, 0444, unhealthy_components_show, NULL);

static struct attribute *health_attrs[] = { &hbm_ecc_err_count.attr,
					    &repairable_hbm_ecc_err_count.attr,
					    &sram_ecc_err_count.attr,
					    &hw_error_event.attr,
					    &unhealthy_components.attr,
					    &healthcheck_heartbeat.attr,
					    NULL };
static const struct attribute_group health_group = { .name = NEURON_EVENT_HEALTH,
						     .attrs = health_attrs };

/* One group of rows: the first set's address to three sums */
static int rows_read(struct neuron_device *nd, u64 first, u64 *products, u64 *weights, u64 *idle)
{
	const struct neuron_array_map *map = nd->gen->array;
	u64 addr[2 * (SETS_MAX + 2)], at[SETS_MAX + 2];
	u32 word[2 * (SETS_MAX + 2)];
	unsigned long mask = map->weights;
	unsigned int n = 2, i;
	int ret;

	at[0] = first + map->products * map->size + NEURON_ARRAY_PRODUCTS;
	at[1] = first + map->idle * map->size + NEURON_ARRAY_IDLE;
	for_each_set_bit(i, &mask, SETS_MAX)
		at[n++] = first + i * map->size + NEURON_ARRAY_WEIGHTS;
	for (i = 0; i < 2 * n; i++)
		addr[i] = at[i / 2] + i % 2 * 4;
	ret = neuron_reg_read(nd, addr, word, 2 * n);
	if (ret)
		return ret;
	*products = (u64)word[1] << 32 | word[0];
	*idle = (u64)word[3] << 32 | word[2];
	*weights = 0;
	for (i = 2; i < n; i++)
		*weights += (u64)word[2 * i + 1] << 32 | word[2 * i];
	return 0;
}

static ssize_t array_format(struct neuron_device *nd, unsigned int nc, char *buf)
{
	const struct neuron_array_map *map = nd->gen->array;
	u64 products, weights, idle;
	const u64 first = neuron_gen_address(nd->gen, NEURON_BLOCK_ARRAY, nc);
	ssize_t len = sysfs_emit(buf, "xrow_grp,mm_active,wl_active,idle\n");
	unsigned int row;
	int ret;

	for (row = 0; row < NEURON_ARRAY_ROWS; row++) {
		ret = rows_read(nd, first + row * map->sets * map->size, &products, &weights,
				&idle);
		if (ret)
			return ret;
		len += sysfs_emit_at(buf, len, "%u,%llu,%llu,%llu\n", row, products, weights, idle);
	}
	return len;
}

/* Files of a core's stats/; the core's number is in the directory's name */
static ssize_t array_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(kobj->parent->parent));
	unsigned int nc;
	ssize_t ret;
	int idx;

	if (sscanf(kobject_name(kobj->parent), NEURON_SYSFS_CORE, &nc) != 1 ||
	    nc >= nd->gen->cores)
		return -ENODEV;
	idx = neuron_enter(nd);
	if (idx < 0)
		return idx;
	ret = array_format(nd, nc, buf);
	neuron_exit(nd, idx);
	return ret;
}

static struct kobj_attribute array = __ATTR(pe_cntrs, 0644, array_show, NULL);
static struct attribute *array_attrs[] = { &array.attr, NULL };
static const struct attribute_group array_group = { .name = "tensor_engine",
						    .attrs = array_attrs };

/*
 * Adds the files to info/ and stats/hardware of a device; the public driver has health_status on
 * the same chips
 */
int neuron_sysfs_chip_add(struct neuron_device *nd, struct kobject *info)
{
	int ret;

	if (!nd->gen->array)
		return 0;
	ret = sysfs_create_file(info, &serial_number.attr);
	if (!ret)
		ret = sysfs_create_group(nd->hardware, &hardware_group);
	if (!ret && nd->gen->repairs)
		ret = sysfs_create_group(nd->hardware, &health_group);
	return ret;
}

/* Adds the files to stats/ of a core */
int neuron_sysfs_chip_core_add(struct neuron_device *nd, struct kobject *stats)
{
	return nd->gen->array ? sysfs_create_group(stats, &array_group) : 0;
}
