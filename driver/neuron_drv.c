// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module entry: class and device numbers, the PCI driver. Probing never waits for a
 * chip: the reset runs on its own work item and opens wait for it.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/module.h>

#include "neuron_device.h"
#include "neuron_cdev.h"
#include "neuron_event.h"
#include "neuron_guard.h"
#include "neuron_inject.h"
#include "neuron_level.h"
#include "neuron_p2p.h"
#include "neuron_params.h"
#include "neuron_pins.h"
#include "neuron_pm.h"
#include "neuron_pod.h"
#include "neuron_version.h"

static int neuron_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	const struct neuron_gen *gen = (const void *)id->driver_data;
	struct neuron_device *nd;

	if (!gen) /* bound by hand, to whatever it is */
		return -ENODEV;
	nd = neuron_device_create(pdev, gen);
	if (IS_ERR(nd))
		return PTR_ERR(nd);
	pci_set_drvdata(pdev, nd);
	return 0;
}

static void neuron_remove(struct pci_dev *pdev)
{
	neuron_device_destroy(pci_get_drvdata(pdev));
}

#define CHIP(id, gen) { PCI_DEVICE(NEURON_PCI_VENDOR, id), .driver_data = (kernel_ulong_t)&(gen) }

static const struct pci_device_id neuron_pci_ids[] = {
	CHIP(0x7064, neuron_gen_inferentia),
	CHIP(0x7065, neuron_gen_inferentia),
	CHIP(0x7066, neuron_gen_inferentia),
	CHIP(0x7067, neuron_gen_inferentia),
	CHIP(0x7164, neuron_gen_trainium),
	CHIP(0x7264, neuron_gen_inferentia2),
	CHIP(0x7364, neuron_gen_trainium2),
	{}
};
MODULE_DEVICE_TABLE(pci, neuron_pci_ids);

static struct pci_driver neuron_pci_driver = {
	.name = "neuron",
	.id_table = neuron_pci_ids,
	.probe = neuron_probe,
	.remove = neuron_remove,
	.shutdown = neuron_shutdown,
	.driver.pm = pm_sleep_ptr(&neuron_pm_ops),
};

static int __init neuron_module_init(void)
{
	int ret;

	ret = neuron_params_check();
	if (!ret)
		ret = neuron_level_init();
	if (ret)
		return ret;
	pr_info("Neuron Driver Started with Version:%s\n", neuron_level_version());
	ret = neuron_event_init();
	if (ret)
		goto level_exit;
	ret = neuron_cdev_init();
	if (ret)
		goto event_exit;
	neuron_inject_init();
	neuron_p2p_init();
	ret = neuron_pod_init();
	if (ret)
		goto cdev_exit;
	ret = pci_register_driver(&neuron_pci_driver);
	if (ret)
		goto pod_stop;
	return 0;

pod_stop:
	neuron_pod_stop();
cdev_exit:
	neuron_inject_exit();
	neuron_cdev_exit();
event_exit:
	neuron_event_exit();
level_exit:
	neuron_level_exit();
	return ret;
}

static void __exit neuron_module_exit(void)
{
	neuron_pod_stop();
	pci_unregister_driver(&neuron_pci_driver);
	neuron_inject_exit();
	neuron_guard_free();
	neuron_cdev_exit();
	neuron_event_exit();
	neuron_pins_exit();
	neuron_level_exit();
}

module_init(neuron_module_init);
module_exit(neuron_module_exit);
MODULE_DESCRIPTION("AWS Neuron devices (Inferentia, Trainium)");
MODULE_VERSION(NEURON_DRIVER_VERSION);
MODULE_AUTHOR("The neuron-emulator authors");
MODULE_LICENSE("GPL");
