// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctl entry: find the row by number, pass the gates, copy the argument in, call, copy it out.
 * A handler sees a copy of its argument; what that points to it copies itself. Rows live beside
 * their handlers in neuron_ioctl_{info,mem,dma,core}.c.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/uaccess.h>

#include "neuron.h"

static const struct neuron_ioctl_entry *table_find(const struct neuron_ioctl_entry *table,
						   unsigned int n, unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (table[i].cmd == cmd)
			return &table[i];
	return NULL;
}

static const struct neuron_ioctl_entry *entry_find(unsigned int cmd)
{
	const struct neuron_ioctl_entry *e;

	/* a newer program may ask with a larger structure */
	if (_IOC_TYPE(cmd) == NEURON_IOCTL_BASE && _IOC_DIR(cmd) == _IOC_READ &&
	    _IOC_NR(cmd) == _IOC_NR(NEURON_IOCTL_DRIVER_INFO_GET) &&
	    _IOC_SIZE(cmd) >= sizeof(struct neuron_ioctl_device_driver_info))
		cmd = NEURON_IOCTL_DRIVER_INFO_GET;
	e = table_find(neuron_ioctl_mem, neuron_ioctl_mem_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_dma, neuron_ioctl_dma_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_core, neuron_ioctl_core_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_info, neuron_ioctl_info_count, cmd);
	return e;
}

static int gates_check(const struct neuron_file *nf, const struct neuron_ioctl_entry *e)
{
	if (nf->free_access && !(e->flags & NIOC_FREE)) {
		nd_err(nf->nd, "%s on a write-only descriptor\n", e->name);
		return -EINVAL;
	}
	if (e->flags & NIOC_ATTACHED && !nf->free_access && !neuron_attached(nf->nd))
		return -EACCES;
	if (e->flags & (NIOC_ATTACHED | NIOC_HW) && !nf->free_access && neuron_lost(nf->nd))
		return -EIO;
	return 0;
}

static int call(struct neuron_device *nd, const struct neuron_ioctl_entry *e, void *arg,
		void __user *user)
{
	int ret;

	if (!(e->flags & NIOC_HW))
		return e->fn(nd, arg, user);
	if (down_read_killable(&nd->reset_sem))
		return -EINTR;
	/* the last descriptor may have been closed since the gate */
	if (e->flags & NIOC_ATTACHED && !neuron_attached(nd))
		ret = -EACCES;
	else if (READ_ONCE(nd->state) == NEURON_STATE_READY)
		ret = e->fn(nd, arg, user);
	else
		ret = -EINVAL;
	up_read(&nd->reset_sem);
	return ret;
}

static int run(struct neuron_file *nf, const struct neuron_ioctl_entry *e, void __user *user)
{
	u8 arg[NEURON_IOC_ARG_MAX] __aligned(8) = {};
	bool out;
	int ret;

	if (e->size && copy_from_user(arg, user, e->size))
		return -EFAULT;
	ret = call(nf->nd, e, arg, user);
	out = ret >= 0 ? e->flags & (NIOC_OUT | NIOC_OUT_ERR) : e->flags & NIOC_OUT_ERR;
	if (out && copy_to_user(user, arg, e->size))
		return -EFAULT;
	return ret;
}

long neuron_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct neuron_file *nf = file->private_data;
	const struct neuron_ioctl_entry *e = entry_find(cmd);
	int idx, ret;

	if (!e)
		return -EINVAL;
	idx = neuron_enter(nf->nd);
	if (idx < 0)
		return idx;
	ret = gates_check(nf, e);
	if (!ret)
		ret = run(nf, e, (void __user *)arg);
	neuron_exit(nf->nd, idx);
	return ret;
}
