// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls that tell about the device, the driver and its processes, and raw register access.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "neuron_device.h"
#include "neuron_bar.h"
#include "neuron_crwl.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_inject.h"
#include "neuron_ioctl.h"
#include "neuron_mem.h"
#include "neuron_mmap.h"
#include "neuron_pod.h"
#include "neuron_user.h"
#include "neuron_view.h"
#include "neuron_trace.h"

#ifndef ENOTSUPP
#define ENOTSUPP 524
#endif

#define NC_MAP_MAX 128 /* entries that a program may ask for */

static int do_nothing(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return 0;
}

static int do_device_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_info *info = arg;
	int id[NEURON_PORTS_MAX], port, ret;

	memset(info, 0, sizeof(*info));
	info->architecture = nd->gen->arch;
	info->revision = nd->pdev->revision;
	info->bar_address[0] = neuron_bar_cookie(0);
	info->bar_address[1] = neuron_bar_cookie(1);
	info->bar_size[0] = nd->regs_len;
	/* where the cores lie among the registers there is one BAR for programs */
	info->bar_size[1] = nd->cores == nd->regs ? 0 : nd->cores_len;
	/* a neighbour writes its index when its own reset is over */
	ret = neuron_wait_all_ready();
	if (ret)
		return ret;
	/* without an answer there are no neighbours */
	if (neuron_neighbors(nd, id))
		return 0;
	for (port = 0; port < NEURON_PORTS_MAX; port++)
		if (id[port] >= 0)
			info->connected_devices[info->connected_device_count++] = id[port];
	return 0;
}

static int do_basic_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_basic_info *info = arg;

	info->architecture = nd->gen->arch;
	info->revision = nd->pdev->revision;
	return 0;
}

static int do_driver_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_driver_info *info = arg;

	memset(info, 0, sizeof(*info));
	info->architecture = nd->gen->arch;
	info->revision = nd->pdev->revision;
	info->size = sizeof(*info);
	info->feature_flags1 = neuron_level_features();
	return 0;
}

static int do_notsupp(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return -ENOTSUPP;
}

static int do_compatible_version(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_compatible_version *v = arg;

	v->max = nd->gen->level_max;
	v->min = nd->gen->level_min;
	return 0;
}

static int do_bdf(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_bdf *bdf = arg;

	memset(bdf, 0, sizeof(*bdf));
	bdf->bus_number = nd->pdev->bus->number;
	bdf->slot = PCI_SLOT(nd->pdev->devfn);
	bdf->func = PCI_FUNC(nd->pdev->devfn);
	return 0;
}

/* The index counts from the opened node, as a container sees the devices */
static int do_bdf_ext(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_bdf_ext *bdf = arg;
	struct neuron_device *other;

	if (bdf->nd_index >= NEURON_MAX_DEVICES)
		return -EINVAL;
	other = neuron_device_find(nd->index + bdf->nd_index);
	if (!other)
		return -EINVAL;
	bdf->domain = pci_domain_nr(other->pdev->bus);
	bdf->bus_number = other->pdev->bus->number;
	bdf->slot = PCI_SLOT(other->pdev->devfn);
	bdf->func = PCI_FUNC(other->pdev->devfn);
	neuron_device_put(other);
	return 0;
}

static int do_app_pid(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	mutex_lock(&nd->lock);
	*(s32 *)arg = nd->procs[0].tgid;
	mutex_unlock(&nd->lock);
	return 0;
}

static void app_fill(struct neuron_device *nd, struct neuron_app_info *app, u16 flags)
{
	struct neuron_uuid uuids[ARRAY_SIZE(app->uuid_data)] = {};

	if (flags & NEURON_APP_INFO_LOCK_INFO) {
		mutex_lock(&nd->lock);
		app->nc_lock_map = neuron_crwl_held(nd, app->pid, uuids, ARRAY_SIZE(uuids));
		mutex_unlock(&nd->lock);
		memcpy(app->uuid_data, uuids, sizeof(uuids));
	}
	if (flags & NEURON_APP_INFO_MEM_USAGE)
		neuron_mem_usage(nd, app->pid, &app->host_mem_size, &app->device_mem_size);
}

static int do_apps_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_get_apps_info *info = arg;
	struct neuron_ioctl_get_apps_info __user *uinfo = call->user;
	struct neuron_app_info *apps;
	unsigned int i;
	size_t size;
	int ret;

	apps = kcalloc(NEURON_MAX_PROCESS_PER_DEVICE, sizeof(*apps), GFP_KERNEL);
	if (!apps)
		return -ENOMEM;
	info->size = 0;
	mutex_lock(&nd->lock);
	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE && info->size < info->capacity; i++)
		if (nd->procs[i].tgid)
			apps[info->size++].pid = nd->procs[i].tgid;
	mutex_unlock(&nd->lock);
	for (i = 0; i < info->size; i++)
		app_fill(nd, &apps[i], info->apps_info_flags);
	size = info->size * sizeof(*apps);
	ret = neuron_call_write(call, uinfo->app_data, apps, size, size);
	kfree(apps);
	return ret;
}

static int do_host_device_id(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	((struct neuron_ioctl_host_device_id *)arg)->host_device_id = nd->index;
	return 0;
}

static int do_rid_map(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_host_device_id_to_rid_map *map = arg;
	unsigned int i;

	memset(map, 0, sizeof(*map));
	map->count = neuron_device_count();
	for (i = 0; i < map->count; i++)
		map->host_did_to_rid_map[i] = neuron_gen_route(nd->gen, i);
	return 0;
}

static int do_resource_mmap_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_view_info(nd, arg);
}

/* The cores of all chips of the largest machine, in the order in which programs count them */
static int do_nc_map(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_get_logical_to_physical_nc_map a;
	struct neuron_ioctl_nc_map_entry *entry;
	struct neuron_ioctl_nc_map *map;
	u32 cores = nd->gen->cores, flip, newest, n, i;
	int ret;

	/* known before the argument is looked at */
	if (!nd->gen->core_order)
		return -ENOTSUPP;
	ret = neuron_call_read(call, &a, call->user, sizeof(a), sizeof(a));
	if (ret)
		return ret;
	/* version 1 is for UltraServers, and the same here */
	newest = neuron_level >= NEURON_LEVEL_2_29;
	if (a.max_map_entries > NC_MAP_MAX || a.mapping_version > newest)
		return -EINVAL;
	n = min_t(u32, a.max_map_entries, NEURON_ROUTES * cores);
	map = kzalloc(sizeof(*map) + n * sizeof(*entry), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	map->num_entries = n;
	flip = neuron_pod_flipped() ? nd->gen->flip : 0;
	for (i = 0; i < n; i++) {
		entry = &map->mappings[i];
		entry->device_id = i / cores;
		entry->device_nc_idx =
			neuron_gen_ordered_core(nd->gen, i / cores, (i ^ flip) % cores);
	}
	ret = neuron_call_write(call, a.map, map, sizeof(*map) + n * sizeof(*entry),
				sizeof(*map) + n * sizeof(*entry));
	kfree(map);
	return ret;
}

/*
 * A daemon that watches the kernel log for trouble, as node-problem-detector does, must not take a
 * program's words for the kernel's. Its patterns are words with blanks between them, and the
 * driver's own begin with a token that no program may write.
 */
static void text_disarm(char *text)
{
	static const char token[] = "NEURON_HW_ERR";
	char *c;

	for (c = text; *c; c++) {
		if (*c == ' ')
			*c = '.';
		else if (!strncasecmp(c, token, sizeof(token) - 1))
			c[strlen("NEURON")] = '.';
	}
}

/* Does the caller own both cores of a logical one? */
static bool siblings_are_mine(struct neuron_device *nd, unsigned int nc)
{
	unsigned int n = nd->gen->logical_cores, first, i;
	bool mine = n > 1 && nc < nd->gen->cores;

	if (!mine)
		return false;
	first = nc - nc % n;
	mutex_lock(&nd->lock);
	for (i = first; i < first + n; i++)
		mine = mine && nd->core_owner[i] == current->tgid;
	mutex_unlock(&nd->lock);
	return mine;
}

/* Does an engine of the core wait for a semaphore, by the chip's own word? reset_sem is held. */
static bool core_waits(struct neuron_device *nd, unsigned int nc)
{
	const struct neuron_gen *gen = nd->gen;
	u64 addr[NEURON_ENGINES_MAX];
	u32 word[NEURON_ENGINES_MAX];
	unsigned int n = gen->target->engines, i;

	for (i = 0; i < n; i++)
		addr[i] = neuron_gen_address(gen, NEURON_BLOCK_EXT, 0) + gen->ext.perf +
			  nc * gen->ext.perf_stride + NEURON_PERF_ENG(i) + NEURON_PERF_STANDS;
	if (READ_ONCE(nd->state) != NEURON_STATE_READY || neuron_reg_read(nd, addr, word, n))
		return false;
	for (i = 0; i < n; i++)
		if ((word[i] & NEURON_STANDS_KIND) == NEURON_STANDS_SEM(0))
			return true;
	return false;
}

/*
 * A runtime that gives up on a core that waits for another one writes the line of a hang on
 * collectives. Of its words only the core counts: what the chip says of that is looked up, and the
 * line is the driver's own. False: it is a text like any other.
 */
static bool hang_said(struct neuron_device *nd, const char *text)
{
	unsigned int id, nc;
	const char *at;
	bool waits;

	at = strstr(text, " NEURON_HW_ERR=HANG_ON_COLLECTIVES ");
	at = at ? strstr(at, " nd-id=") : NULL;
	if (!at || sscanf(at, " nd-id=%u nc-id=%u ", &id, &nc) != 2 || id != nd->index)
		return false;
	if (!(nd->hal.features & NEURON_CAP_F_PERF) || !siblings_are_mine(nd, nc) ||
	    down_read_killable(&nd->reset_sem))
		return false;
	waits = core_waits(nd, nc);
	up_read(&nd->reset_sem);
	if (waits)
		neuron_hwerr(nd, NEURON_HWERR_HANG, nc);
	return waits;
}

static int do_printk(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_printk *p = arg;
	unsigned int i;
	char *text;
	int ret;

	if (!p->size)
		return -EINVAL;
	if (p->size > NEURON_PRINTK_MAX)
		return -EFAULT;
	ret = neuron_call_fetch(call, p->buffer, p->size, (void **)&text);
	if (ret)
		return ret;
	if (text[p->size - 1])
		return -EBADMSG;
	for (i = 0; text[i]; i++)
		if (!isprint(text[i]))
			text[i] = '?';
	if (hang_said(nd, text))
		return 0;
	if (!capable(CAP_SYS_ADMIN))
		text_disarm(text);
	pr_info_ratelimited("nd%d: process %d: %s\n", nd->index, current->tgid, text);
	return 0;
}

static int do_pid_state_dump(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	unsigned int i;

	mutex_lock(&nd->lock);
	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++)
		if (nd->procs[i].tgid)
			pr_info_ratelimited("nd%d: slot %u: process %d, %u open files\n", nd->index,
					    i, nd->procs[i].tgid, nd->procs[i].opens);
	mutex_unlock(&nd->lock);
	return 0;
}

static int do_pod_info(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_pod_info *info = arg;
	struct neuron_pod pod;

	if (info->sz != sizeof(*info))
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->sz = sizeof(*info);
	neuron_pod_look(&pod);
	info->pod_type = pod.type;
	info->pod_sz = pod.nodes;
	memcpy(info->pod_id, &pod.server, sizeof(pod.server));
	return 0;
}

static int pod_fill(struct neuron_ioctl_pod_status *status, u16 size, struct neuron_pod *pod)
{
	int ret = neuron_pod_look(pod);

	memset(status, 0, sizeof(*status));
	status->sz = size;
	status->state = pod->state;
	status->node_id = pod->node;
	status->pod_type = pod->type;
	status->pod_sz = pod->nodes;
	memcpy(status->pod_id, &pod->server, sizeof(pod->server));
	return ret;
}

static int do_pod_status(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_pod_status *status = arg;
	struct neuron_pod pod;

	if (status->sz != sizeof(*status))
		return -EINVAL;
	return pod_fill(status, sizeof(*status), &pod);
}

static int do_pod_status_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_pod_status_v2 *status = arg;
	struct neuron_pod pod;
	int ret;

	if (status->v1.sz != sizeof(*status))
		return -EINVAL;
	ret = pod_fill(&status->v1, sizeof(*status), &pod);
	status->mode = pod.mode;
	status->modes_supported = pod.modes;
	return ret;
}

static int pod_control(struct neuron_ioctl_pod_ctrl *ctrl, u16 size, u32 mode)
{
	struct neuron_pod pod;
	int ret;

	if (ctrl->sz != size)
		return -EINVAL;
	ret = neuron_pod_control(ctrl->ctrl, mode, ctrl->timeout);
	neuron_pod_look(&pod);
	ctrl->state = pod.state;
	return ret;
}

static int do_pod_ctrl(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return pod_control(arg, sizeof(struct neuron_ioctl_pod_ctrl),
			   NEURON_POD_MODE_UNSET);
}

static int do_pod_ctrl_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_pod_ctrl_v2 *ctrl = arg;

	return pod_control(&ctrl->v1, sizeof(*ctrl), ctrl->mode);
}

static int do_bar_read(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_bar_rw(nd, call, arg, false);
}

static int do_bar_write(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_bar_rw(nd, call, arg, true);
}

static int do_hw_counters(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_hw_counters(nd, call, arg);
}

static int do_post_metric(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_post_metric *metric = arg;
	u8 blob[NEURON_POST_METRIC_MAX];
	int ret;

	if (metric->data_size > sizeof(blob))
		return -E2BIG;
	ret = neuron_call_read(call, blob, metric->data, metric->data_size, metric->data_size);
	if (ret)
		return ret;
	if (neuron_fail(NEURON_FAIL_FWIO_METRIC))
		return -EIO;
	trace_metrics_post(nd->index, metric->data_size);
	mutex_lock(&nd->fwio_lock);
	ret = nhal_metric_post(&nd->hal, blob, metric->data_size);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

/* A command that this version's firmware lacks is refused, as by the public driver */
static int firmware_words(struct neuron_device *nd)
{
	u32 version;
	int ret = neuron_misc_read(nd, NEURON_MISC_FW_API_VERSION, &version);

	return ret ?: version < NEURON_FIRMWARE_WORDS ? -ENOTSUPP : 0;
}

static int firmware_ask(struct neuron_device *nd, u8 cmd, const void *payload, unsigned int len)
{
	int ret = firmware_words(nd);

	if (ret)
		return ret;
	mutex_lock(&nd->fwio_lock);
	ret = nhal_words_call(&nd->hal, cmd, payload, len);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

static int do_power_profile(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_power_profile *a = arg;
	u8 payload[8] = { [4] = a->profile };
	int ret;

	if (a->sz != sizeof(*a))
		return -ENXIO;
	if (a->ctrl)
		return -ENOTSUPP;
	/* chips before Trainium2 have one profile, whatever is asked for */
	if (!nd->gen->profiles)
		return 0;
	ret = firmware_words(nd);
	if (ret)
		return ret;
	if (a->profile > U8_MAX)
		return -EINVAL;
	return firmware_ask(nd, NEURON_FWIO_CMD_POWER_PROFILE, payload, sizeof(payload));
}

/* Asks for data of a type, and reads what the firmware answers */
static int firmware_data(struct neuron_device *nd, u8 type, void *answer, unsigned int len)
{
	int ret = firmware_words(nd);

	if (ret)
		return ret;
	mutex_lock(&nd->fwio_lock);
	ret = nhal_words_call(&nd->hal, NEURON_FWIO_CMD_GET_DATA, &type, sizeof(type));
	if (!ret)
		nhal_words_answer(&nd->hal, answer, len);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

static int do_get_profile(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_power_profile *a = arg;
	u8 answer[8];
	int ret;

	if (a->sz != sizeof(*a))
		return -ENXIO;
	if (a->ctrl != 1)
		return -ENOTSUPP;
	a->profile = 0;
	if (!nd->gen->profiles)
		return 0;
	ret = firmware_data(nd, NEURON_FWIO_DATA_PROFILE, answer, sizeof(answer));
	if (!ret)
		a->profile = answer[4];
	return ret;
}

/* The ioctls of power profiles have no feature bit to ask for */
static int do_profiles(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_available_perf_profiles *a = arg;
	u8 answer[1 + sizeof(a->bitmap)] = {};
	int ret = 0;

	if (nd->gen->profiles)
		ret = firmware_data(nd, NEURON_FWIO_DATA_PROFILES, answer, sizeof(answer));
	if (a->requested_feature)
		memset(answer, 0, sizeof(answer));
	a->num_profiles = answer[0];
	memcpy(a->bitmap, answer + 1, sizeof(a->bitmap));
	return ret;
}

/* No completion is ever pending: copies are done when their call returns */
static int do_completions(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_get_async_h2t_dma_compl_queues *a = arg;

	if (a->nc_id >= nd->gen->cores || a->qid_bitmap & GENMASK(15, 0))
		return -EINVAL;
	memset(a->compl_queue_info, 0, sizeof(a->compl_queue_info));
	return 0;
}

static int do_throttling(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_throttling_notifications *a = arg;
	u8 features = a->enable ? NEURON_FWIO_FEATURE_THROTTLING : 0;

	return firmware_ask(nd, NEURON_FWIO_CMD_FEATURES, &features, sizeof(features));
}

/* The module posts no metrics of its own, so there is nothing to stop and to go on with */
static int do_metrics_ctrl(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return 0;
}

/* The caller's mappings of any device, whichever it asks */
static int do_va_placement(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_get_va_placement *a = arg;
	unsigned int memory;
	int ret;

	a->device_index = -1;
	a->hbm_index = -1;
	ret = neuron_mmap_placement(a->va, &a->device_index, &memory);
	if (!ret)
		a->hbm_index = memory;
	return ret;
}

#define S(name) sizeof(struct neuron_ioctl_##name)

const struct neuron_ioctl_entry neuron_ioctl_info[] = {
	NEURON_IOC(DEVICE_INFO, S(device_info), NIOC_OUT, do_device_info),
	NEURON_IOC(DEVICE_BASIC_INFO, S(device_basic_info), NIOC_OUT | NIOC_FREE, do_basic_info),
	NEURON_IOC(DEVICE_INIT, 0, 0, do_nothing),
	NEURON_IOC(DEVICE_RELEASE, 0, 0, do_nothing),
	NEURON_IOC(DEVICE_APP_PID, sizeof(s32), NIOC_OUT, do_app_pid),
	NEURON_IOC(DEVICE_GET_ALL_APPS_INFO, S(get_apps_info), NIOC_OUT, do_apps_info),
	NEURON_IOC(DEVICE_BDF, S(device_bdf), NIOC_OUT, do_bdf),
	NEURON_IOC(DEVICE_BDF_EXT, S(device_bdf_ext), NIOC_OUT | NIOC_FREE, do_bdf_ext),
	NEURON_IOC(DRIVER_INFO_GET, S(device_driver_info), NIOC_OUT | NIOC_FREE, do_driver_info),
	NEURON_IOC(DRIVER_INFO_SET, 0, NIOC_FREE | NIOC_ATTACHED, do_notsupp),
	NEURON_IOC(COMPATIBLE_VERSION, S(compatible_version), NIOC_OUT | NIOC_FREE,
		   do_compatible_version),
	NEURON_IOC(HOST_DEVICE_ID, S(host_device_id), NIOC_OUT, do_host_device_id),
	NEURON_IOC(HOST_DEVICE_ID_TO_RID_MAP, S(host_device_id_to_rid_map), NIOC_OUT | NIOC_FREE,
		   do_rid_map),
	NEURON_IOC(RESOURCE_MMAP_INFO, S(resource_mmap_info), NIOC_OUT, do_resource_mmap_info),
	NEURON_IOC(PRINTK, S(printk), NIOC_FREE, do_printk),
	NEURON_IOC(NC_PID_STATE_DUMP, S(nc_pid_state_dump), NIOC_FREE, do_pid_state_dump),
	NEURON_IOC(GET_LOGICAL_TO_PHYSICAL_NC_MAP, 0, NIOC_FREE, do_nc_map),
	NEURON_IOC(POD_INFO, S(pod_info), NIOC_OUT | NIOC_FREE, do_pod_info),
	NEURON_IOC(POD_STATUS, S(pod_status), NIOC_OUT | NIOC_OUT_ERR | NIOC_FREE, do_pod_status),
	NEURON_IOC(POD_STATUS_V2, S(pod_status_v2), NIOC_OUT | NIOC_OUT_ERR | NIOC_FREE,
		   do_pod_status_v2),
	NEURON_IOC(POD_CTRL, S(pod_ctrl), NIOC_OUT | NIOC_OUT_ERR | NIOC_FREE, do_pod_ctrl),
	NEURON_IOC(POD_CTRL_V2, S(pod_ctrl_v2), NIOC_OUT | NIOC_OUT_ERR | NIOC_FREE,
		   do_pod_ctrl_v2),
	NEURON_IOC(BAR_READ, S(bar_rw), NIOC_HW | NIOC_ATTACHED, do_bar_read),
	NEURON_IOC(BAR_WRITE, S(bar_rw), NIOC_HW | NIOC_ATTACHED, do_bar_write),
	NEURON_IOC(READ_HW_COUNTERS, S(read_hw_counters), NIOC_HW, do_hw_counters),
	NEURON_IOC(POST_METRIC, S(post_metric), NIOC_HW | NIOC_ATTACHED, do_post_metric),
	NEURON_IOC(POWER_PROFILE, S(power_profile), NIOC_HW | NIOC_ATTACHED, do_power_profile),
	NEURON_IOC_SINCE(2_27, GET_PERFORMANCE_PROFILE, S(power_profile), NIOC_HW | NIOC_OUT,
			 do_get_profile),
	NEURON_IOC_SINCE(2_27, AVAILABLE_PERF_PROFILES, S(available_perf_profiles),
			 NIOC_HW | NIOC_OUT, do_profiles),
	NEURON_IOC_SINCE(2_27, GET_ASYNC_H2T_DMA_COMPL_QUEUES, S(get_async_h2t_dma_compl_queues),
			 NIOC_OUT, do_completions),
	NEURON_IOC(METRICS_CTRL, S(metrics_ctrl), NIOC_ATTACHED, do_metrics_ctrl),
	NEURON_IOC(THROTTLING_NOTIFICATIONS, S(throttling_notifications), NIOC_HW | NIOC_ATTACHED,
		   do_throttling),
	NEURON_IOC(GET_VA_PLACEMENT, S(get_va_placement), NIOC_OUT | NIOC_OUT_ERR | NIOC_FREE,
		   do_va_placement),
};

const unsigned int neuron_ioctl_info_count = ARRAY_SIZE(neuron_ioctl_info);
