// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctl entry: find the row by number, copy the argument in, pass the gates, call, copy it out.
 * A handler sees a copy of its argument; what that points to it copies itself, and runs again when
 * that was not there (neuron_user.c). Rows live beside their handlers in
 * neuron_ioctl_{info,mem,copy,dma,core}.c.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/sched.h>
#include <linux/uaccess.h>

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_ioctl.h"
#include "neuron_log.h"
#include "neuron_user.h"
#include "neuron_trace.h"

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
	/* known by its number alone */
	if (_IOC_TYPE(cmd) == NEURON_IOCTL_BASE &&
	    _IOC_NR(cmd) == _IOC_NR(NEURON_IOCTL_GET_VA_PLACEMENT))
		cmd = NEURON_IOCTL_GET_VA_PLACEMENT;
	e = table_find(neuron_ioctl_copy, neuron_ioctl_copy_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_mem, neuron_ioctl_mem_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_dma, neuron_ioctl_dma_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_core, neuron_ioctl_core_count, cmd);
	if (!e)
		e = table_find(neuron_ioctl_info, neuron_ioctl_info_count, cmd);
	return e && e->since <= neuron_level ? e : NULL;
}

static int gates_check(const struct neuron_file *nf, const struct neuron_ioctl_entry *e)
{
	if (nf->free_access && !(e->flags & NIOC_FREE))
		return -EINVAL;
	if (e->flags & NIOC_ATTACHED && !nf->free_access && !neuron_attached(nf->nd))
		return -EACCES;
	if (e->flags & (NIOC_ATTACHED | NIOC_HW) && !nf->free_access && neuron_lost(nf->nd))
		return -EIO;
	return 0;
}

static int handle(struct neuron_device *nd, const struct neuron_ioctl_entry *e, void *arg,
		  struct neuron_call *call)
{
	int ret;

	if (!(e->flags & NIOC_HW))
		return e->fn(nd, arg, call);
	if (down_read_killable(&nd->reset_sem))
		return -EINTR;
	/* the last descriptor may have been closed since the gate */
	if (e->flags & NIOC_ATTACHED && !neuron_attached(nd))
		ret = -EACCES;
	else if (READ_ONCE(nd->state) == NEURON_STATE_READY)
		ret = e->fn(nd, arg, call);
	else
		ret = -EINVAL;
	up_read(&nd->reset_sem);
	return ret;
}

/* arg: NULL if it could not be read, which is told to who passes the gates */
static int run(struct neuron_file *nf, const struct neuron_ioctl_entry *e, void *arg,
	       struct neuron_call *call)
{
	int idx = neuron_enter(nf->nd), ret;

	if (idx < 0)
		return idx;
	ret = gates_check(nf, e);
	if (!ret)
		ret = arg ? handle(nf->nd, e, arg, call) : -EFAULT;
	neuron_exit(nf->nd, idx);
	return ret;
}

/* User memory that is not there is waited for here, where nothing is held */
static int run_all(struct neuron_file *nf, const struct neuron_ioctl_entry *e, void __user *user)
{
	u8 arg[NEURON_IOC_ARG_MAX] __aligned(8) = {};
	struct neuron_call call = { .user = user };
	bool bad = e->size && copy_from_user(arg, user, e->size), out;
	int ret;

	for (;;) {
		ret = run(nf, e, bad ? NULL : arg, &call);
		if (ret != -EFAULT || !call.miss)
			break;
		ret = neuron_call_wait(&call);
		if (ret)
			break;
		call.again = true;
	}
	neuron_call_end(&call);
	out = ret >= 0 ? e->flags & (NIOC_OUT | NIOC_OUT_ERR) : e->flags & NIOC_OUT_ERR;
	if (out && !bad && copy_to_user(user, arg, e->size))
		return -EFAULT;
	return ret;
}

long neuron_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct neuron_file *nf = file->private_data;
	const struct neuron_ioctl_entry *e = entry_find(cmd);
	int ret = e ? run_all(nf, e, (void __user *)arg) : -EINVAL;

	trace_ioctl(nf->nd->index, cmd, ret);
	neuron_refused(nf->nd, e ? e->name : "an unknown ioctl", ret);
	return ret;
}
