// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend, resume and shutdown. Nothing is saved: a chip without power forgets its memories, so the
 * processes that were attached are told so (-EIO until they have closed the node) and the chip
 * starts with a reset, as after probing. The PCI core saves and restores the configuration space.
 *
 * There is no runtime power management: what an attached process loaded would be lost, and a chip
 * that nobody is attached to still has its power sampled, as the public driver does.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_dma.h"
#include "neuron_h2tq.h"
#include "neuron_irq.h"
#include "neuron_log.h"
#include "neuron_nq.h"
#include "neuron_pm.h"
#include "neuron_queue.h"
#include "neuron_reset.h"
#include "neuron_health.h"
#include "neuron_view.h"

/* reset_sem held for writing */
static void procs_lose(struct neuron_device *nd)
{
	struct neuron_proc *proc;
	unsigned int i;
	pid_t tgid;

	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++) {
		proc = &nd->procs[i];
		mutex_lock(&nd->lock);
		tgid = proc->tgid;
		proc->lost = tgid;
		mutex_unlock(&nd->lock);
		if (tgid)
			neuron_copy_forget(nd, tgid);
	}
	mutex_lock(&nd->lock);
	memset(nd->core_owner, 0, sizeof(nd->core_owner));
	mutex_unlock(&nd->lock);
	neuron_views_end(nd);
}

/*
 * Brings the chip to rest: no work item of the driver touches it afterwards, its cores stand, no
 * queue reaches memory that a process or the next kernel uses.
 */
static void quiesce(struct neuron_device *nd, enum neuron_state state)
{
	unsigned int nc;
	bool halt;

	neuron_health_stop(nd);
	flush_work(&nd->reset_work);
	down_write(&nd->reset_sem);
	halt = nd->hal.features & NEURON_CAP_F_TPB_MAP &&
	       READ_ONCE(nd->state) == NEURON_STATE_READY;
	WRITE_ONCE(nd->state, state);
	procs_lose(nd);
	if (halt && neuron_cores_halt(nd, neuron_cores_all(nd)))
		nd_err(nd, "cores did not halt\n");
	neuron_queues_stop(nd, 0, neuron_cores_all(nd));
	neuron_h2tq_stop(nd, 0, neuron_cores_all(nd));
	neuron_nqs_stop(nd, 0, neuron_cores_all(nd));
	for (nc = 0; nc < nd->gen->cores; nc++)
		neuron_h2t_park(&nd->h2t[nc]);
	up_write(&nd->reset_sem);
	neuron_irq_wake(nd);
	pci_clear_master(nd->pdev);
}

static int neuron_suspend(struct device *dev)
{
	quiesce(dev_get_drvdata(dev), NEURON_STATE_RESET);
	return 0;
}

/* The reset runs on its own, as after probing: opens wait for it, resuming does not */
static int neuron_resume(struct device *dev)
{
	struct neuron_device *nd = dev_get_drvdata(dev);
	int ret;

	pci_set_master(nd->pdev);
	neuron_health_start(nd);
	ret = neuron_reset_request(nd, 0, NEURON_NC_MAP_DEVICE);
	return ret < 0 ? ret : 0;
}

const struct dev_pm_ops neuron_pm_ops = { SYSTEM_SLEEP_PM_OPS(neuron_suspend, neuron_resume) };

/**
 * neuron_shutdown() - the machine goes down, or another kernel takes over
 * @pdev: the PCI function
 *
 * User space may still run; what it asks of the chip is refused from here on.
 */
void neuron_shutdown(struct pci_dev *pdev)
{
	quiesce(pci_get_drvdata(pdev), NEURON_STATE_INVALID);
}
