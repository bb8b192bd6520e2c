// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic-netlink family: device-get for who asks, the multicast group "events" for who wants
 * to be told; and the waking of who polls a file of sysfs. include/uapi/neuron/neuron_netlink.h has
 * the numbers, docs/netlink/neuron.yaml the messages. All senders may sleep; a message that finds
 * no memory is dropped, as one that finds the listener's socket full is.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <net/genetlink.h>

#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_gate.h"
#include "neuron_health.h"
#include "neuron_trace.h"

static struct genl_family neuron_family;

static int put_head(struct sk_buff *skb, struct neuron_device *nd)
{
	if (nla_put_u32(skb, NEURON_A_DEVICE_INDEX, nd->index) ||
	    nla_put_string(skb, NEURON_A_DEVICE_BDF, pci_name(nd->pdev)) ||
	    nla_put_u32(skb, NEURON_A_DEVICE_STATE, READ_ONCE(nd->state)))
		return -EMSGSIZE;
	return 0;
}

static int put_link(struct sk_buff *skb, u32 side, bool up)
{
	struct nlattr *nest = nla_nest_start(skb, NEURON_A_DEVICE_LINK);

	if (!nest || nla_put_u32(skb, NEURON_A_LINK_SIDE, side) ||
	    nla_put_u8(skb, NEURON_A_LINK_UP, up))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* fresh: what was new at the last look, NULL in an answer */
static int put_ecc(struct sk_buff *skb, u32 memory, const struct neuron_ecc *now,
		   const struct neuron_ecc *fresh)
{
	struct nlattr *nest = nla_nest_start(skb, NEURON_A_DEVICE_ECC);

	if (!nest || nla_put_u32(skb, NEURON_A_ECC_MEMORY, memory) ||
	    nla_put_u32(skb, NEURON_A_ECC_CORRECTED, now->corrected) ||
	    nla_put_u32(skb, NEURON_A_ECC_UNCORRECTED, now->uncorrected))
		return -EMSGSIZE;
	if (fresh && (nla_put_u32(skb, NEURON_A_ECC_NEW_CORRECTED, fresh->corrected) ||
		      nla_put_u32(skb, NEURON_A_ECC_NEW_UNCORRECTED, fresh->uncorrected)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Adds what the last look found; an answer does not ask the chip */
static int put_health(struct sk_buff *skb, struct neuron_device *nd)
{
	struct neuron_health h;
	unsigned int i;

	if (!neuron_health_last(nd, &h))
		return 0;
	for (i = 0; nd->gen->ready_links && i < nd->gen->window.ports; i++)
		if (put_link(skb, i, h.link[i]))
			return -EMSGSIZE;
	for (i = 0; i < 1 + nd->gen->memories; i++)
		if (put_ecc(skb, i, &h.ecc[i], NULL))
			return -EMSGSIZE;
	return 0;
}

static int put_all(struct sk_buff *skb, struct neuron_device *nd)
{
	if (put_head(skb, nd) || nla_put_u32(skb, NEURON_A_DEVICE_ARCHITECTURE, nd->gen->arch) ||
	    nla_put_u32(skb, NEURON_A_DEVICE_CORE_COUNT, nd->gen->cores))
		return -EMSGSIZE;
	return put_health(skb, nd);
}

/* Makes a message of the group with the device in it; NULL when nobody listens */
static struct sk_buff *event_start(struct neuron_device *nd, u8 cmd, void **head)
{
	struct sk_buff *skb;

	if (!genl_has_listeners(&neuron_family, &init_net, 0))
		return NULL;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return NULL;
	*head = genlmsg_put(skb, 0, 0, &neuron_family, 0, cmd);
	if (*head && !put_head(skb, nd))
		return skb;
	nlmsg_free(skb);
	return NULL;
}

static void event_send(struct sk_buff *skb, void *head, int err)
{
	if (err) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast(&neuron_family, skb, 0, 0, GFP_KERNEL);
}

/**
 * neuron_event_device() - tell that a device came or goes
 * @nd: the device
 * @added: whether it came
 */
void neuron_event_device(struct neuron_device *nd, bool added)
{
	struct sk_buff *skb;
	void *head;

	skb = event_start(nd, added ? NEURON_CMD_DEVICE_ADD_NTF : NEURON_CMD_DEVICE_DEL_NTF, &head);
	if (!skb)
		return;
	event_send(skb, head,
		   nla_put_u32(skb, NEURON_A_DEVICE_ARCHITECTURE, nd->gen->arch) ||
			   nla_put_u32(skb, NEURON_A_DEVICE_CORE_COUNT, nd->gen->cores));
}

static int put_reset(struct sk_buff *skb, const struct neuron_reset_event *e)
{
	struct nlattr *nest = nla_nest_start(skb, NEURON_A_DEVICE_RESET);

	if (!nest || nla_put_u32(skb, NEURON_A_RESET_STAGE, e->stage) ||
	    nla_put_u32(skb, NEURON_A_RESET_CORES, e->cores))
		return -EMSGSIZE;
	if (e->pid && nla_put_u32(skb, NEURON_A_RESET_PID, e->pid))
		return -EMSGSIZE;
	if (e->stage != NEURON_RESET_STAGE_START &&
	    nla_put_u32(skb, NEURON_A_RESET_DURATION, e->duration_us))
		return -EMSGSIZE;
	if (e->stage == NEURON_RESET_STAGE_FAILED &&
	    nla_put_u32(skb, NEURON_A_RESET_ERROR, e->error))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * neuron_event_reset() - tell of a reset's start or end
 * @nd: the device
 * @e: what to tell
 */
void neuron_event_reset(struct neuron_device *nd, const struct neuron_reset_event *e)
{
	void *head;
	struct sk_buff *skb = event_start(nd, NEURON_CMD_RESET_NTF, &head);

	trace_reset(nd->index, e->stage, e->cores, e->error);
	if (skb)
		event_send(skb, head, put_reset(skb, e));
}

/**
 * neuron_event_link() - tell that a link came or went
 * @nd: the device
 * @side: enum neuron_link_side
 * @up: whether it is up now
 */
void neuron_event_link(struct neuron_device *nd, u32 side, bool up)
{
	void *head;
	struct sk_buff *skb = event_start(nd, NEURON_CMD_LINK_NTF, &head);

	trace_link(nd->index, side, up);
	if (skb)
		event_send(skb, head, put_link(skb, side, up));
}

/**
 * neuron_event_ecc() - tell of memory errors
 * @nd: the device
 * @memory: enum neuron_ecc_memory
 * @now: the chip's counters
 * @fresh: what they grew by
 */
void neuron_event_ecc(struct neuron_device *nd, u32 memory, const struct neuron_ecc *now,
		      const struct neuron_ecc *fresh)
{
	void *head;
	struct sk_buff *skb = event_start(nd, NEURON_CMD_ECC_NTF, &head);

	trace_ecc(nd->index, memory, fresh->corrected, fresh->uncorrected);
	if (skb)
		event_send(skb, head, put_ecc(skb, memory, now, fresh));
}

static int put_hang(struct sk_buff *skb, const struct neuron_hang *h)
{
	struct nlattr *nest = nla_nest_start(skb, NEURON_A_DEVICE_HANG);

	if (!nest || nla_put_u32(skb, NEURON_A_HANG_REASON, h->reason) ||
	    nla_put_u32(skb, NEURON_A_HANG_CORES, h->cores))
		return -EMSGSIZE;
	if (h->reason == NEURON_HANG_REASON_COPY &&
	    (nla_put_u32(skb, NEURON_A_HANG_ENGINE, h->engine) ||
	     nla_put_u32(skb, NEURON_A_HANG_QUEUE, h->queue)))
		return -EMSGSIZE;
	if (h->pid && nla_put_u32(skb, NEURON_A_HANG_PID, h->pid))
		return -EMSGSIZE;
	if (h->dump && nla_put_u32(skb, NEURON_A_HANG_DUMP, h->dump))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * neuron_event_hang() - tell that something did not come in its time
 * @nd: the device
 * @h: what it was
 */
void neuron_event_hang(struct neuron_device *nd, const struct neuron_hang *h)
{
	void *head;
	struct sk_buff *skb = event_start(nd, NEURON_CMD_HANG_NTF, &head);

	trace_hang(nd->index, h->reason, h->cores, h->pid, h->dump);
	if (skb)
		event_send(skb, head, put_hang(skb, h));
}

/**
 * neuron_event_file() - wake who polls a file of sysfs, if the tree is still there
 * @nd: the device
 * @dir: directory below the device's, or NULL
 * @file: its name
 */
void neuron_event_file(struct neuron_device *nd, const char *dir, const char *file)
{
	mutex_lock(&nd->notify_lock);
	if (nd->sysfs)
		sysfs_notify(&nd->dev->kobj, dir, file);
	mutex_unlock(&nd->notify_lock);
}

/**
 * neuron_event_health() - wake who polls a file of health, whatever info/notify_delay says
 * @nd: the device
 * @file: its name
 */
void neuron_event_health(struct neuron_device *nd, const char *file)
{
	mutex_lock(&nd->notify_lock);
	if (nd->sysfs && nd->hardware)
		sysfs_notify(nd->hardware, NEURON_EVENT_HEALTH, file);
	mutex_unlock(&nd->notify_lock);
}

static int device_get(struct sk_buff *request, struct genl_info *info)
{
	struct neuron_device *nd;
	struct sk_buff *skb;
	int ret = -EMSGSIZE;
	void *head;

	if (GENL_REQ_ATTR_CHECK(info, NEURON_A_DEVICE_INDEX))
		return -EINVAL;
	nd = neuron_device_find(min_t(u32, nla_get_u32(info->attrs[NEURON_A_DEVICE_INDEX]),
				      NEURON_MAX_DEVICES));
	if (!nd) {
		NL_SET_BAD_ATTR(info->extack, info->attrs[NEURON_A_DEVICE_INDEX]);
		return -ENODEV;
	}
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb) {
		neuron_device_put(nd);
		return -ENOMEM;
	}
	head = genlmsg_put_reply(skb, info, &neuron_family, 0, NEURON_CMD_DEVICE_GET);
	if (head)
		ret = put_all(skb, nd);
	neuron_device_put(nd);
	if (ret) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

static int dump_one(struct sk_buff *skb, struct netlink_callback *cb, struct neuron_device *nd)
{
	void *head = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				 &neuron_family, NLM_F_MULTI, NEURON_CMD_DEVICE_GET);

	if (!head)
		return -EMSGSIZE;
	if (put_all(skb, nd)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int device_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct neuron_device *nd;
	int ret = 0;

	for (; cb->args[0] < NEURON_MAX_DEVICES; cb->args[0]++) {
		nd = neuron_device_find(cb->args[0]);
		if (!nd)
			continue;
		ret = dump_one(skb, cb, nd);
		neuron_device_put(nd);
		if (ret)
			break;
	}
	return skb->len ? skb->len : ret;
}

static const struct nla_policy device_policy[NEURON_A_DEVICE_INDEX + 1] = {
	[NEURON_A_DEVICE_INDEX] = { .type = NLA_U32 },
};

static const struct genl_ops neuron_ops[] = {
	{
		.cmd = NEURON_CMD_DEVICE_GET,
		.doit = device_get,
		.dumpit = device_dump,
		.policy = device_policy,
		.maxattr = NEURON_A_DEVICE_INDEX,
	},
};

static const struct genl_multicast_group neuron_groups[] = {
	{ .name = NEURON_MCGRP_EVENTS },
};

static struct genl_family neuron_family __ro_after_init = {
	.name = NEURON_FAMILY_NAME,
	.version = NEURON_FAMILY_VERSION,
	.module = THIS_MODULE,
	.ops = neuron_ops,
	.n_ops = ARRAY_SIZE(neuron_ops),
	.resv_start_op = NEURON_CMD_MAX + 1,
	.mcgrps = neuron_groups,
	.n_mcgrps = ARRAY_SIZE(neuron_groups),
};

/**
 * neuron_event_init() - register the family
 *
 * Return: 0 or -errno.
 */
int __init neuron_event_init(void)
{
	return genl_register_family(&neuron_family);
}

/**
 * neuron_event_exit() - take the family away; no device is left
 */
void neuron_event_exit(void)
{
	genl_unregister_family(&neuron_family);
}
