// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts on notification entries, on chips whose capability announces them: a vector for each
 * core, and what poll() and read() of a node make of it (docs/driver.md, Waiting).
 *
 * Nothing is lost between a look and going to sleep: the chip counts a core's entries, read() tells
 * the count and keeps it in the file as seen, poll() hands what was seen to the chip, and the chip
 * raises the vector when its count is another one, at once or later. The handler only fetches the
 * count and wakes; nobody waiting means no interrupt.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/interrupt.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_irq.h"
#include "neuron_log.h"

static void __iomem *entries_reg(struct neuron_irq *irq)
{
	return irq->nd->ext + irq->nd->gen->ext.nq_entries + 4 * irq->nc;
}

static irqreturn_t neuron_irq_handler(int vector, void *data)
{
	struct neuron_irq *irq = data;

	WRITE_ONCE(irq->entries, readl(entries_reg(irq)));
	wake_up_interruptible_poll(&irq->wait, EPOLLIN | EPOLLRDNORM);
	return IRQ_HANDLED;
}

static void irqs_free(struct neuron_device *nd, unsigned int n)
{
	while (n--)
		free_irq(pci_irq_vector(nd->pdev, n), &nd->irqs[n]);
	pci_free_irq_vectors(nd->pdev);
}

/* Programs poll where there are no vectors, so a failure only costs them time */
void neuron_irq_init(struct neuron_device *nd)
{
	unsigned int nc;
	int ret;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		nd->irqs[nc].nd = nd;
		nd->irqs[nc].nc = nc;
		init_waitqueue_head(&nd->irqs[nc].wait);
	}
	if (!(nd->hal.features & NEURON_CAP_F_IRQ))
		return;
	ret = pci_alloc_irq_vectors(nd->pdev, nd->gen->cores, nd->gen->cores, PCI_IRQ_MSIX);
	if (ret < 0)
		goto none;
	for (nc = 0; nc < nd->gen->cores; nc++) {
		ret = request_irq(pci_irq_vector(nd->pdev, nc), neuron_irq_handler, 0, "neuron",
				  &nd->irqs[nc]);
		if (ret) {
			irqs_free(nd, nc);
			goto none;
		}
	}
	nd->has_irqs = true;
	return;
none:
	nd_err(nd, "no interrupt vectors: %d\n", ret);
}

/* Wakes whoever sleeps in poll(): the device is gone, or the process lost what it had there */
void neuron_irq_wake(struct neuron_device *nd)
{
	unsigned int nc;

	for (nc = 0; nc < nd->gen->cores; nc++)
		wake_up_interruptible_all(&nd->irqs[nc].wait);
}

/* Frees the vectors and wakes whoever sleeps; no call enters any more */
void neuron_irq_exit(struct neuron_device *nd)
{
	if (nd->has_irqs)
		irqs_free(nd, nd->gen->cores);
	neuron_irq_wake(nd);
}

static bool core_is_mine(struct neuron_device *nd, unsigned int nc)
{
	lockdep_assert_held(&nd->lock);
	return nd->core_owner[nc] == current->tgid;
}

/* nd->lock held: may the caller read and poll? */
static int caller_error(struct neuron_device *nd)
{
	struct neuron_proc *proc = neuron_proc_find(nd, current->tgid);

	if (!proc || proc->exiting)
		return -EACCES;
	return proc->lost ? -EIO : 0;
}

/* Cores of other processes count no entries for the caller */
static int entries_look(struct neuron_file *nf, unsigned int first, unsigned int n, u32 *value)
{
	struct neuron_device *nd = nf->nd;
	unsigned int nc;
	int ret;

	mutex_lock(&nd->lock);
	ret = caller_error(nd);
	for (nc = first; nc < first + n && !ret; nc++) {
		struct neuron_irq *irq = &nd->irqs[nc];

		value[nc - first] = 0;
		if (core_is_mine(nd, nc)) {
			value[nc - first] = readl(entries_reg(irq));
			WRITE_ONCE(irq->entries, value[nc - first]);
		}
		WRITE_ONCE(nf->seen[nc], value[nc - first]);
		set_bit(nc, &nf->watched);
	}
	mutex_unlock(&nd->lock);
	return ret;
}

static ssize_t entries_read(struct neuron_file *nf, char __user *buf, size_t size, loff_t *pos)
{
	size_t end = nf->nd->gen->cores * sizeof(u32);
	u32 value[NEURON_CORES_MAX];
	unsigned int n;
	int idx, ret;

	if (nf->free_access || !nf->nd->has_irqs)
		return -EINVAL; /* as a driver without this call */
	if (*pos < 0 || *pos % sizeof(*value) || size % sizeof(*value))
		return -EINVAL;
	if (*pos >= end)
		return 0;
	n = min_t(size_t, size, end - *pos) / sizeof(*value);
	idx = neuron_enter(nf->nd);
	if (idx < 0)
		return idx;
	ret = entries_look(nf, *pos / sizeof(*value), n, value);
	neuron_exit(nf->nd, idx);
	if (ret)
		return ret;
	return copy_to_user(buf, value, n * sizeof(*value)) ? -EFAULT : n * sizeof(*value);
}

/*
 * The file is an array of u32, one for each core: its notification entries so far. Where to read
 * is the offset's to say (pread()); read() stays at the beginning.
 */
ssize_t neuron_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct neuron_file *nf = file->private_data;
	ssize_t ret = entries_read(nf, buf, size, pos);

	neuron_refused(nf->nd, "read", ret);
	return ret;
}

/* Ready, or the chip has been told to say when */
static bool core_ready(struct neuron_file *nf, unsigned int nc)
{
	struct neuron_irq *irq = &nf->nd->irqs[nc];
	bool mine = core_is_mine(nf->nd, nc);
	u32 seen = READ_ONCE(nf->seen[nc]);

	if (seen != (mine ? READ_ONCE(irq->entries) : 0))
		return true;
	if (!mine)
		return false;
	writel(seen, entries_reg(irq));
	/* the interrupt may still be on its way when a poll that does not sleep asks */
	return readl(entries_reg(irq)) != seen;
}

/* Cores that the file has looked at, or all while it has looked at none */
__poll_t neuron_poll(struct file *file, poll_table *wait)
{
	struct neuron_file *nf = file->private_data;
	struct neuron_device *nd = nf->nd;
	unsigned long watched = READ_ONCE(nf->watched) ?: neuron_cores_all(nd);
	__poll_t mask = 0;
	unsigned int nc;
	int idx;

	if (nf->free_access || !nd->has_irqs)
		return DEFAULT_POLLMASK; /* as a driver without this call */
	for_each_set_bit(nc, &watched, nd->gen->cores)
		poll_wait(file, &nd->irqs[nc].wait, wait);
	idx = neuron_enter(nd);
	if (idx < 0)
		return EPOLLERR | EPOLLHUP;
	mutex_lock(&nd->lock);
	if (caller_error(nd))
		mask = EPOLLERR;
	for_each_set_bit(nc, &watched, nd->gen->cores)
		if (!mask && core_ready(nf, nc))
			mask = EPOLLIN | EPOLLRDNORM;
	mutex_unlock(&nd->lock);
	neuron_exit(nd, idx);
	return mask;
}
