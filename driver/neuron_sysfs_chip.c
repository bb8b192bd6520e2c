// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of sysfs that later chips have: the serial number, errors of memories, what the array of a
 * core did. All of them ask the chip, so that a read enters the device like an ioctl does. Paths,
 * contents and modes are the public driver's.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_sysfs.h"
#include "neuron_watch.h"

/* Words whose firmware has not come up */
#define UNKNOWN 0xdeadbeef
#define SETS_MAX 16 /* of registers with counters, for one group of rows */

static int look(struct neuron_device *nd, struct neuron_health *health)
{
	int idx = neuron_enter(nd), ret;

	if (idx < 0)
		return idx;
	ret = neuron_watch_look(nd, health);
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

static ssize_t sram_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_health h;
	int ret = look(dev_get_drvdata(kobj_to_dev(kobj->parent)), &h);

	return ret ?: sysfs_emit(buf, "%u\n", h.ecc[NEURON_ECC_MEMORY_SRAM].uncorrected);
}

/*
 * Errors of all memories that were not corrected: those that the firmware can repair, or the
 * others. Firmware before version 6 counts them together, and its state says which they are. A
 * state that has no errors to be of counts as none, as in the public drivers; so does, later, a
 * repair that is pending with nothing to repair.
 */
static u32 memory_errors(struct neuron_device *nd, const struct neuron_health *h, bool repairable)
{
	u32 all = 0, part = 0, i;

	for (i = 1; i <= nd->gen->memories; i++) {
		all += h->ecc[i].uncorrected;
		part += h->ecc[i].repairable;
	}
	if (h->firmware < NEURON_FIRMWARE_ECC)
		part = h->repair == NEURON_REPAIR_PENDING ? all : 0;
	else if (h->repair && (all == part || (h->repair == NEURON_REPAIR_PENDING && !part)))
		return 0;
	return repairable ? part : all - part;
}

static ssize_t memory_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(kobj->parent));
	struct neuron_health h;
	int ret = look(nd, &h);

	return ret ?: sysfs_emit(buf, "%u\n", memory_errors(nd, &h, false));
}

static ssize_t repairable_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(kobj->parent));
	struct neuron_health h;
	int ret = look(nd, &h);

	return ret ?: sysfs_emit(buf, "%u\n", memory_errors(nd, &h, true));
}

static struct kobj_attribute sram = __ATTR(sram_ecc_uncorrected, 0644, sram_show, NULL);
static struct kobj_attribute memory = __ATTR(mem_ecc_uncorrected, 0644, memory_show, NULL);
static struct kobj_attribute repairable =
	__ATTR(mem_ecc_repairable_uncorrected, 0644, repairable_show, NULL);
static struct attribute *hardware_attrs[] = { &sram.attr, &memory.attr, &repairable.attr, NULL };
static const struct attribute_group hardware_group = { .name = "hardware",
						       .attrs = hardware_attrs };

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

/* In stats/ of a core, whose name has its number */
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

/* In info/ and stats/ of a device */
int neuron_sysfs_chip_add(struct neuron_device *nd, struct kobject *info, struct kobject *stats)
{
	int ret;

	if (!nd->gen->array)
		return 0;
	ret = sysfs_create_file(info, &serial_number.attr);
	return ret ?: sysfs_create_group(stats, &hardware_group);
}

/* In stats/ of a core */
int neuron_sysfs_chip_core_add(struct neuron_device *nd, struct kobject *stats)
{
	return nd->gen->array ? sysfs_create_group(stats, &array_group) : 0;
}
