// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device numbers, class and nodes; open, flush and release.
 *
 * A file counts for the process that opened it. It is given up when that process has closed its
 * last descriptor of it, or is gone; that a child holds an inherited descriptor, or a mapping holds
 * the file, changes nothing.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_cdev.h"
#include "neuron_compat.h"
#include "neuron_crwl.h"
#include "neuron_gate.h"
#include "neuron_ioctl.h"
#include "neuron_irq.h"
#include "neuron_log.h"
#include "neuron_mmap.h"
#include "neuron_proc.h"
#include "neuron_sysfs.h"

static dev_t neuron_devt;

static char *neuron_devnode(NEURON_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0600; /* the udev rule decides otherwise */
	return NULL;
}

/* of the kernel's memory: its last reference may go after the module has */
static struct class *neuron_class;

static int make_class(void)
{
	neuron_class = neuron_class_create("neuron_device");
	if (IS_ERR(neuron_class))
		return PTR_ERR(neuron_class);
	neuron_class->devnode = neuron_devnode;
	neuron_class->dev_groups = neuron_device_groups;
	return neuron_sysfs_class(neuron_class);
}

int neuron_cdev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&neuron_devt, 0, NEURON_MAX_DEVICES, "neuron");
	if (ret)
		return ret;
	ret = make_class();
	if (ret) {
		class_destroy(neuron_class); /* nothing, if it is an error */
		unregister_chrdev_region(neuron_devt, NEURON_MAX_DEVICES);
	}
	return ret;
}

void neuron_cdev_exit(void)
{
	class_destroy(neuron_class);
	unregister_chrdev_region(neuron_devt, NEURON_MAX_DEVICES);
}

int neuron_cdev_add(struct neuron_device *nd)
{
	dev_t devt = MKDEV(MAJOR(neuron_devt), nd->index);
	int ret;

	nd->cdev = cdev_alloc();
	if (!nd->cdev)
		return -ENOMEM;
	nd->cdev->ops = &neuron_fops;
	nd->cdev->owner = THIS_MODULE;
	ret = cdev_add(nd->cdev, devt, 1);
	if (ret)
		goto put_cdev;
	/* without a parent, so that the path stays /sys/devices/virtual/neuron_device/neuronN */
	nd->dev = device_create(neuron_class, NULL, devt, nd, "neuron%d", nd->index);
	if (IS_ERR(nd->dev)) {
		ret = PTR_ERR(nd->dev);
		goto del_cdev;
	}
	return 0;

del_cdev:
	cdev_del(nd->cdev);
	return ret;
put_cdev:
	kobject_put(&nd->cdev->kobj);
	return ret;
}

void neuron_cdev_del(struct neuron_device *nd)
{
	cdev_del(nd->cdev);
	device_destroy(neuron_class, MKDEV(MAJOR(neuron_devt), nd->index));
}

static int wait_ready(struct neuron_device *nd)
{
	if (wait_event_killable(nd->wait,
				READ_ONCE(nd->state) != NEURON_STATE_RESET || READ_ONCE(nd->dead)))
		return -EINTR;
	if (READ_ONCE(nd->dead))
		return -ENODEV;
	return READ_ONCE(nd->state) == NEURON_STATE_INVALID ? -EINVAL : 0;
}

static int open_device(struct neuron_device *nd, struct file *file, struct inode *inode)
{
	struct neuron_file *nf;
	int ret;

	nf = kzalloc(sizeof(*nf), GFP_KERNEL);
	if (!nf)
		return -ENOMEM;

	nf->tgid = current->tgid;
	nf->free_access = (file->f_flags & O_ACCMODE) == O_WRONLY;
	if (!nf->free_access) {
		ret = wait_ready(nd);
		if (!ret)
			ret = neuron_proc_attach(nd);
		if (ret) {
			kfree(nf);
			return ret;
		}
	}

	nf->nd = neuron_device_get(nd);
	mutex_lock(&neuron_table_lock);
	neuron_file_add(nf);
	if (!nd->inode) {
		ihold(inode);
		nd->inode = inode;
	}
	file->f_mapping = nd->inode->i_mapping;
	mutex_unlock(&neuron_table_lock);

	file->private_data = nf;
	return 0;
}

static int neuron_open(struct inode *inode, struct file *file)
{
	struct neuron_device *nd = neuron_device_find(iminor(inode));
	int idx, ret;

	if (!nd)
		return -ENODEV;
	idx = neuron_enter(nd);
	if (idx < 0) {
		ret = idx;
	} else {
		ret = open_device(nd, file, inode);
		neuron_exit(nd, idx);
	}
	neuron_refused(nd, "open", ret);
	neuron_device_put(nd);
	return ret;
}

/* Gives up what the process had through the file, once for each file */
static void file_detach(struct neuron_file *nf)
{
	bool unmark;

	mutex_lock(&neuron_table_lock);
	if (nf->detached) {
		mutex_unlock(&neuron_table_lock);
		return;
	}
	nf->detached = true;
	list_del(&nf->link);
	unmark = !neuron_files_have(nf->tgid, nf->free_access);
	mutex_unlock(&neuron_table_lock);
	if (unmark)
		neuron_unmark_all(nf->tgid);
	if (!nf->free_access)
		neuron_proc_detach(nf->nd, nf->tgid);
}

static int same_file(const void *file, struct file *other, unsigned int fd)
{
	return file == other;
}

/* The descriptor is out of the table already; an exiting process has no table any more */
static int neuron_flush(struct file *file, fl_owner_t id)
{
	struct neuron_file *nf = file->private_data;

	if (current->tgid != nf->tgid)
		return 0;
	if (!current->files || !iterate_fd(current->files, 0, same_file, file))
		file_detach(nf);
	return 0;
}

static int neuron_release(struct inode *inode, struct file *file)
{
	struct neuron_file *nf = file->private_data;

	file_detach(nf);
	neuron_device_put(nf->nd);
	kfree(nf);
	return 0;
}

const struct file_operations neuron_fops = {
	.owner = THIS_MODULE,
	.open = neuron_open,
	.flush = neuron_flush,
	.release = neuron_release,
	.unlocked_ioctl = neuron_ioctl,
	.read = neuron_read,
	.poll = neuron_poll,
	.mmap = neuron_mmap,
};
