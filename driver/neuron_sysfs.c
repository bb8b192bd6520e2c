// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sysfs tree of a device: paths, contents and modes are the public driver's, with link_east and
 * link_west of our own under info/. A directory of counters is an attribute group; the few levels
 * above are plain kobjects. Readers take no lock but nd->stats_lock, except those that ask the
 * chip, which enter the device like an ioctl does.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "neuron_device.h"
#include "neuron_compat.h"
#include "neuron_dump.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_log.h"
#include "neuron_nds.h"
#include "neuron_reset.h"
#include "neuron_stats.h"
#include "neuron_sysfs.h"
#include "neuron_health.h"

#define FILES_MAX 3
/* Directories of a device, and of each of its cores */
#define DEVICE_KOBJS 6
#define CORE_KOBJS 7
#define KOBJS_MAX (DEVICE_KOBJS + CORE_KOBJS * NEURON_CORES_MAX)

enum leaf_what { LEAF_TOTAL, LEAF_PRESENT, LEAF_PEAK };

struct leaf {
	struct kobj_attribute ka;
	struct neuron_device *nd;
	struct neuron_counter *counter;
	enum leaf_what what;
	unsigned int scale;
	bool nds;
};

struct counter_dir {
	struct list_head link;
	struct attribute_group group;
	struct attribute *attrs[FILES_MAX + 1];
	struct leaf leaf[FILES_MAX];
	struct kobject *parent;
	u64 told[FILES_MAX]; /* what pollers were last woken for */
};

enum nd_file_id {
	ND_FILE_NOTIFY,
	ND_FILE_EAST,
	ND_FILE_WEST,
	ND_FILE_POWER,
	ND_FILE_RAW,
	ND_FILES
};

struct nd_file {
	struct kobj_attribute ka;
	struct neuron_device *nd;
	int value;
};

struct neuron_sysfs {
	struct neuron_device *nd;
	struct list_head dirs;
	struct kobject *kobj[KOBJS_MAX];
	unsigned int kobjs;
	struct nd_file file[ND_FILES];
	int error;
};

static u64 *leaf_value(struct leaf *leaf)
{
	switch (leaf->what) {
	case LEAF_TOTAL:
		return &leaf->counter->total;
	case LEAF_PRESENT:
		return &leaf->counter->present;
	default:
		return &leaf->counter->peak;
	}
}

static ssize_t leaf_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct leaf *leaf = container_of(ka, struct leaf, ka);
	u64 value;

	if (leaf->nds)
		neuron_nds_harvest(leaf->nd);
	spin_lock(&leaf->nd->stats_lock);
	value = *leaf_value(leaf) * leaf->scale;
	spin_unlock(&leaf->nd->stats_lock);
	return sysfs_emit(buf, "%llu\n", value);
}

/* Any write zeroes the file */
static ssize_t leaf_store(struct kobject *kobj, struct kobj_attribute *ka, const char *buf,
			  size_t count)
{
	struct leaf *leaf = container_of(ka, struct leaf, ka);

	if (leaf->nds)
		neuron_nds_harvest(leaf->nd);
	spin_lock(&leaf->nd->stats_lock);
	*leaf_value(leaf) = 0;
	spin_unlock(&leaf->nd->stats_lock);
	return count;
}

/*
 * Adds a directory of counters: total and present, and peak for memory. name NULL: into parent
 * itself
 */
static struct counter_dir *dir_new(struct neuron_sysfs *s, struct neuron_counter *counter,
				   bool memory)
{
	static const char *const names[FILES_MAX] = { "total", "present", "peak" };
	struct counter_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	unsigned int i;

	if (!dir)
		return NULL;
	for (i = 0; i < (memory ? 3 : 2); i++) {
		struct leaf *leaf = &dir->leaf[i];

		sysfs_attr_init(&leaf->ka.attr);
		leaf->ka.attr.name = names[i];
		leaf->ka.attr.mode = 0644;
		leaf->ka.show = leaf_show;
		leaf->ka.store = leaf_store;
		leaf->nd = s->nd;
		leaf->counter = counter;
		leaf->what = i;
		leaf->scale = 1;
		dir->attrs[i] = &leaf->ka.attr;
	}
	dir->group.attrs = dir->attrs;
	list_add(&dir->link, &s->dirs);
	return dir;
}

static struct counter_dir *add_dir(struct neuron_sysfs *s, struct kobject *parent, const char *name,
				   struct neuron_counter *counter, bool memory)
{
	struct counter_dir *dir;

	if (s->error)
		return NULL;
	dir = dir_new(s, counter, memory);
	if (!dir) {
		s->error = -ENOMEM;
		return NULL;
	}
	dir->group.name = name;
	dir->parent = parent;
	s->error = sysfs_create_group(parent, &dir->group);
	return dir;
}

/* Counters of the datastore are looked at when read */
static void add_nds_dir(struct neuron_sysfs *s, struct kobject *parent, const char *name,
			unsigned int nc, unsigned int index, unsigned int scale)
{
	struct counter_dir *dir;
	unsigned int i;

	dir = add_dir(s, parent, name, &s->nd->stats.nds[nc][index], false);
	for (i = 0; dir && i < 2; i++) {
		dir->leaf[i].nds = true;
		dir->leaf[i].scale = scale;
	}
}

static struct kobject *add_kobj(struct neuron_sysfs *s, struct kobject *parent, const char *name)
{
	struct kobject *kobj;

	if (s->error)
		return NULL;
	kobj = s->kobjs < KOBJS_MAX ? kobject_create_and_add(name, parent) : NULL;
	if (!kobj) {
		s->error = -ENOMEM;
		return NULL;
	}
	s->kobj[s->kobjs++] = kobj;
	return kobj;
}

static void add_group(struct neuron_sysfs *s, struct kobject *parent,
		      const struct attribute_group *group)
{
	if (!s->error)
		s->error = sysfs_create_group(parent, group);
}

/* The chip's description, in info/ of a device or of one of its cores */
static const struct neuron_gen *gen_of(struct kobject *device)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(device));

	return nd->gen;
}

#define GEN_FILE(var, file, format, value)                                                    \
	static ssize_t var##_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf) \
	{                                                                                     \
		return sysfs_emit(buf, format "\n", value);                                   \
	}                                                                                     \
	static struct kobj_attribute var = __ATTR(file, 0644, var##_show, NULL)

GEN_FILE(device_arch, arch_type, "%s", gen_of(kobj->parent)->device_arch);
GEN_FILE(instance_type, instance_type, "%s", gen_of(kobj->parent)->family);
GEN_FILE(device_name, device_name, "%s", gen_of(kobj->parent)->product);
GEN_FILE(core_arch, arch_type, "%s", gen_of(kobj->parent->parent)->core_arch);

static struct attribute *device_arch_attrs[] = { &device_arch.attr, &instance_type.attr,
						 &device_name.attr, NULL };
static const struct attribute_group device_arch_group = { .name = "architecture",
							  .attrs = device_arch_attrs };
static struct attribute *core_arch_attrs[] = { &core_arch.attr, NULL };
static const struct attribute_group core_arch_group = { .name = "architecture",
							.attrs = core_arch_attrs };

/* Files that need the device */
static struct neuron_device *file_nd(struct kobj_attribute *ka)
{
	return container_of(ka, struct nd_file, ka)->nd;
}

static ssize_t link_show(struct kobj_attribute *ka, char *buf, enum neuron_link_side side)
{
	struct neuron_device *nd = file_nd(ka);
	int idx = neuron_enter(nd), ret;
	struct neuron_health health;

	if (idx < 0)
		return idx;
	ret = neuron_health_poll(nd, &health);
	neuron_exit(nd, idx);
	return ret ? ret : sysfs_emit(buf, "%d\n", health.link[side]);
}

static ssize_t link_east_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	return link_show(ka, buf, NEURON_LINK_SIDE_EAST);
}

static ssize_t link_west_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	return link_show(ka, buf, NEURON_LINK_SIDE_WEST);
}

static ssize_t power_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = file_nd(ka);
	ssize_t n;

	spin_lock(&nd->stats_lock);
	if (nd->power.supported)
		n = sysfs_emit(buf, "%s\n", nd->power.line);
	else
		n = sysfs_emit(buf, "POWER_STATUS_NO_DATA,%lld,0.00,0.00,0.00\n",
			       ktime_get_real_seconds());
	spin_unlock(&nd->stats_lock);
	return n;
}

/* The power that the last look found, whether it is a new sample or not */
static ssize_t power_raw_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	struct neuron_device *nd = file_nd(ka);
	ssize_t n = sysfs_emit(buf, "die,util_bips,counter\n");
	unsigned int die;
	u32 word;
	int ret;

	for (die = 0; die < nd->gen->dies; die++) {
		ret = neuron_power_word(nd, die, &word);
		if (ret)
			n += sysfs_emit_at(buf, n, "%u,%s\n", die,
					   ret == -EIO ? "read_error" : "unavailable");
		else
			n += sysfs_emit_at(buf, n,
					   (word & 0xffff) > POWER_MAX_BP ? "%u,bogus(%u),%u\n" :
									    "%u,%u,%u\n",
					   die, word & 0xffff, word >> 16);
	}
	return n;
}

/* -1: poll() on counters does not wake; 0: it does, at the next look after a change */
static ssize_t notify_delay_show(struct kobject *kobj, struct kobj_attribute *ka, char *buf)
{
	return sysfs_emit(buf, "%d\n", container_of(ka, struct nd_file, ka)->value);
}

static ssize_t notify_delay_store(struct kobject *kobj, struct kobj_attribute *ka, const char *buf,
				  size_t count)
{
	int value;

	if (kstrtoint(buf, 0, &value) || (value != 0 && value != -1)) {
		neuron_refused(file_nd(ka), "notify_delay", -EINVAL);
		return -EINVAL;
	}
	container_of(ka, struct nd_file, ka)->value = value;
	return count;
}

static const struct {
	const char *name;
	umode_t mode;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *ka, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct kobj_attribute *ka, const char *buf,
			 size_t count);
} nd_files[ND_FILES] = {
	[ND_FILE_NOTIFY] = { "notify_delay", 0644, notify_delay_show, notify_delay_store },
	[ND_FILE_EAST] = { "link_east", 0444, link_east_show, NULL },
	[ND_FILE_WEST] = { "link_west", 0444, link_west_show, NULL },
	[ND_FILE_POWER] = { "utilization", 0644, power_show, NULL },
	[ND_FILE_RAW] = { "utilization_raw", 0644, power_raw_show, NULL },
};

static void add_file(struct neuron_sysfs *s, struct kobject *parent, enum nd_file_id id)
{
	struct nd_file *file = &s->file[id];

	if (s->error)
		return;
	sysfs_attr_init(&file->ka.attr);
	file->ka.attr.name = nd_files[id].name;
	file->ka.attr.mode = nd_files[id].mode;
	file->ka.show = nd_files[id].show;
	file->ka.store = nd_files[id].store;
	file->nd = s->nd;
	file->value = -1;
	s->error = sysfs_create_file(parent, &file->ka.attr);
}

/* The directory is the name of the counter */
static const struct {
	const char *name;
	u8 index;
} status_dirs[] = {
	{ "success", NDS_NC_COUNTER_INFER_COMPLETED },
	{ "failure", NDS_NC_COUNTER_GENERIC_FAIL },
	{ "timeout", NDS_NC_COUNTER_INFER_TIMED_OUT },
	{ "exec_bad_input", NDS_NC_COUNTER_INFER_INCORRECT_INPUT },
	{ "hw_error", NDS_NC_COUNTER_ERR_HW },
	{ "execute_completed_with_error", NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR },
	{ "execute_completed_with_num_error", NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR },
	{ "generic_error", NDS_NC_COUNTER_ERR_GENERIC },
	{ "resource_error", NDS_NC_COUNTER_ERR_RESOURCE },
	{ "resource_nc_error", NDS_NC_COUNTER_ERR_RESOURCE_NC },
	{ "execute_failed_to_queue", NDS_NC_COUNTER_INFER_FAILED_TO_QUEUE },
	{ "invalid_error", NDS_NC_COUNTER_ERR_INVALID },
	{ "unsupported_neff_version", NDS_NC_COUNTER_ERR_UNSUPPORTED_NEFF_VERSION },
	{ "oob_error", NDS_NC_COUNTER_OOB },
	{ "hw_collectives_error", NDS_EXT_NC_COUNTER_HW_ERR_COLLECTIVES },
	{ "hw_hbm_ue_error", NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE },
	{ "hw_nc_ue_error", NDS_EXT_NC_COUNTER_HW_ERR_NC_UE },
	{ "hw_dma_abort_error", NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT },
	{ "execute_sw_nq_overflow", NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW },
	{ "execute_sw_semaphore_error", NDS_EXT_NC_COUNTER_ERR_SW_SEMAPHORE_ERROR },
	{ "execute_sw_event_error", NDS_EXT_NC_COUNTER_ERR_SW_EVENT_ERROR },
	{ "execute_sw_psum_collision", NDS_EXT_NC_COUNTER_ERR_SW_PSUM_COLLISION },
	{ "execute_sw_sequencer_fatal", NDS_EXT_NC_COUNTER_ERR_SW_SEQUENCER_FATAL },
	{ "hw_repairable_hbm_ue_error", NDS_EXT_NC_COUNTER_HW_ERR_REPAIRABLE_HBM_UE },
};

static void core_memory_add(struct neuron_sysfs *s, struct kobject *stats, unsigned int nc)
{
	struct neuron_stats *st = &s->nd->stats;
	struct kobject *usage = add_kobj(s, stats, "memory_usage"), *device;
	unsigned int i;

	add_dir(s, usage, "host_mem", &st->host_all[nc], true);
	device = add_kobj(s, usage, "device_mem");
	add_dir(s, device, NULL, &st->device_all[nc], true);
	for (i = 0; i < NEURON_DEVICE_KINDS; i++)
		add_dir(s, device, neuron_device_kinds[i], &st->device_mem[nc][i], true);
}

static void core_add(struct neuron_sysfs *s, unsigned int nc)
{
	struct neuron_stats *st = &s->nd->stats;
	struct kobject *core, *stats, *other, *status, *info;
	char name[16];
	unsigned int i;

	scnprintf(name, sizeof(name), NEURON_SYSFS_CORE, nc);
	core = add_kobj(s, &s->nd->dev->kobj, name);
	info = add_kobj(s, core, "info");
	add_group(s, info, &core_arch_group);
	stats = add_kobj(s, core, "stats");
	status = add_kobj(s, stats, "status");
	for (i = 0; i < ARRAY_SIZE(status_dirs); i++)
		add_nds_dir(s, status, status_dirs[i].name, nc, status_dirs[i].index, 1);
	core_memory_add(s, stats, nc);
	if (!s->error)
		s->error = neuron_sysfs_chip_core_add(s->nd, stats);
	other = add_kobj(s, stats, "other_info");
	add_nds_dir(s, other, "model_load_count", nc, NDS_NC_COUNTER_MODEL_LOAD_COUNT, 1);
	add_dir(s, other, "reset_req_count", &st->reset_req[nc], false);
	add_dir(s, other, "reset_fail_count", &st->reset_fail[nc], false);
	add_nds_dir(s, other, "inference_count", nc, NDS_NC_COUNTER_INFERENCE_COUNT, 1);
	add_nds_dir(s, other, "flop_count", nc, NDS_NC_COUNTER_MAC_COUNT, 2);
	add_nds_dir(s, other, "nc_time_in_use", nc, NDS_NC_COUNTER_TIME_IN_USE, 1);
}

static void device_add_tree(struct neuron_sysfs *s)
{
	struct kobject *root = &s->nd->dev->kobj, *info, *stats, *usage, *host, *power;
	unsigned int i;

	info = add_kobj(s, root, "info");
	add_group(s, info, &device_arch_group);
	add_file(s, info, ND_FILE_NOTIFY);
	if (s->nd->gen->ready_links) {
		add_file(s, info, ND_FILE_EAST);
		add_file(s, info, ND_FILE_WEST);
	}
	stats = add_kobj(s, root, "stats");
	if (s->nd->gen->array)
		s->nd->hardware = add_kobj(s, stats, "hardware");
	if (!s->error)
		s->error = neuron_sysfs_chip_add(s->nd, info);
	usage = add_kobj(s, stats, "memory_usage");
	host = add_kobj(s, usage, "host_mem");
	for (i = 0; i < NEURON_HOST_KINDS; i++)
		add_dir(s, host, neuron_host_kinds[i], &s->nd->stats.host_mem[i], true);
	power = add_kobj(s, stats, "power");
	add_file(s, power, ND_FILE_POWER);
	add_file(s, power, ND_FILE_RAW);
	for (i = 0; i < s->nd->gen->cores; i++)
		core_add(s, i);
	/* the node has no parent, so this is the way to the PCI device */
	if (!s->error)
		s->error = sysfs_create_link(root, &s->nd->pdev->dev.kobj, "device");
}

int neuron_sysfs_add(struct neuron_device *nd)
{
	struct neuron_sysfs *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	if (!s)
		return -ENOMEM;
	s->nd = nd;
	INIT_LIST_HEAD(&s->dirs);
	nd->sysfs = s;
	device_add_tree(s);
	ret = s->error;
	if (ret)
		neuron_sysfs_del(nd);
	return ret;
}

void neuron_sysfs_del(struct neuron_device *nd)
{
	struct neuron_sysfs *s = nd->sysfs;
	struct counter_dir *dir, *next;

	mutex_lock(&nd->notify_lock);
	nd->sysfs = NULL;
	mutex_unlock(&nd->notify_lock);
	sysfs_remove_link(&nd->dev->kobj, "device");
	while (s->kobjs)
		kobject_put(s->kobj[--s->kobjs]);
	list_for_each_entry_safe(dir, next, &s->dirs, link)
		kfree(dir);
	kfree(s);
}

static void dir_scan(struct counter_dir *dir)
{
	struct leaf *leaf;
	unsigned int i;
	u64 value;

	for (i = 0; dir->attrs[i]; i++) {
		leaf = &dir->leaf[i];
		spin_lock(&leaf->nd->stats_lock);
		value = *leaf_value(leaf);
		spin_unlock(&leaf->nd->stats_lock);
		if (value == dir->told[i])
			continue;
		dir->told[i] = value;
		sysfs_notify(dir->parent, dir->group.name, leaf->ka.attr.name);
	}
}

/**
 * neuron_sysfs_scan() - wake who polls counters that changed, if info/notify_delay asks for it
 * @nd: the device
 *
 * The datastore is memory that processes count in by themselves, so that changes are found by
 * looking only.
 */
void neuron_sysfs_scan(struct neuron_device *nd)
{
	struct counter_dir *dir;
	bool wanted;

	mutex_lock(&nd->notify_lock);
	wanted = nd->sysfs && READ_ONCE(nd->sysfs->file[ND_FILE_NOTIFY].value) >= 0;
	mutex_unlock(&nd->notify_lock);
	if (!wanted)
		return;
	neuron_nds_harvest(nd);
	mutex_lock(&nd->notify_lock);
	if (nd->sysfs) {
		list_for_each_entry(dir, &nd->sysfs->dirs, link)
			dir_scan(dir);
	}
	mutex_unlock(&nd->notify_lock);
}

/* neuronN/: files of the device itself. The public driver lets all count and list since 2.28 */
static ssize_t reset_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(nd->state));
}

/*
 * Writing asks for a full reset, unless somebody has the node open; then the write is ignored, and
 * that is said
 */
static ssize_t reset_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	struct neuron_device *nd = dev_get_drvdata(dev);
	bool in_use = false;
	unsigned int i;
	int idx = neuron_enter(nd);

	if (idx < 0)
		return idx;
	mutex_lock(&nd->lock);
	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++)
		in_use |= nd->procs[i].tgid != 0;
	mutex_unlock(&nd->lock);
	if (in_use)
		neuron_refused(nd, "reset", -EBUSY);
	else
		neuron_reset_request(nd, 0, NEURON_NC_MAP_DEVICE);
	neuron_exit(nd, idx);
	return count;
}
static DEVICE_ATTR(reset, 0600, reset_show, reset_store);

static ssize_t core_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d", nd->gen->cores); /* no newline, as programs know it */
}
static DEVICE_ATTR_RO(core_count);

static ssize_t connected_devices_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct neuron_device *nd = dev_get_drvdata(dev);
	int id[NEURON_PORTS_MAX], port, idx = neuron_enter(nd), ret, n = 0;

	if (idx < 0)
		return idx;
	ret = neuron_wait_all_ready();
	if (!ret && neuron_neighbors(nd, id))
		memset(id, -1, sizeof(id));
	neuron_exit(nd, idx);
	if (ret)
		return ret;
	for (port = 0; port < NEURON_PORTS_MAX; port++)
		if (id[port] >= 0)
			n += sysfs_emit_at(buf, n, n ? ", %d" : "%d", id[port]);
	return n + sysfs_emit_at(buf, n, "\n");
}
static DEVICE_ATTR_RO(connected_devices);

static struct attribute *neuron_device_attrs[] = {
	&dev_attr_reset.attr,
	&dev_attr_core_count.attr,
	&dev_attr_connected_devices.attr,
	NULL,
};

static const struct attribute_group neuron_device_group = {
	.attrs = neuron_device_attrs,
	.bin_attrs = neuron_bin_attrs,
};

const struct attribute_group *neuron_device_groups[] = { &neuron_device_group, NULL };
