// SPDX-License-Identifier: MIT
/*
 * Neuron devices on the PCI bus. Owns the libpci context of one call. libpci reports a failure to a
 * function that must not return; the one here jumps back to the call's start.
 */
#include "pci.h"
#include "neuron/hw/gen.h"
#include "neuron/hw/pci.h"

#include <pci/pci.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#define SYSFS_DEFAULT "/sys/bus/pci"

static _Thread_local jmp_buf failed;

static _Noreturn void on_error(char *msg, ...)
{
	longjmp(failed, 1);
}

static void on_message(char *msg, ...)
{
}

static struct pci_access *scan(const char *sysfs)
{
	struct pci_access *pci = pci_alloc();

	pci->error = on_error;
	pci->warning = on_message;
	pci->debug = on_message;
	pci->method = PCI_ACCESS_SYS_BUS_PCI;
	if (sysfs)
		pci_set_param(pci, "sysfs.path", (char *)sysfs);
	if (setjmp(failed)) {
		pci_cleanup(pci);
		return NULL;
	}
	pci_init(pci);
	pci_scan_bus(pci);
	return pci;
}

unsigned ls_pci_count(const char *sysfs)
{
	struct pci_access *pci = scan(sysfs);
	unsigned n = 0;

	if (!pci)
		return 0;
	for (struct pci_dev *dev = pci->devices; dev; dev = dev->next) {
		pci_fill_info(dev, PCI_FILL_IDENT);
		n += dev->vendor_id == NEURON_PCI_VENDOR && neuron_gen_of_pci(dev->device_id);
	}
	pci_cleanup(pci);
	return n;
}

/* libpci has no list of CPUs. */
static void read_cpus(const char *sysfs, struct ls_chip *chip)
{
	char path[512];
	FILE *f;

	chip->cpus[0] = '\0';
	snprintf(path, sizeof(path), "%s/devices/%s/local_cpulist", sysfs ? sysfs : SYSFS_DEFAULT,
		 chip->bdf);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(chip->cpus, sizeof(chip->cpus), f))
		chip->cpus[0] = '\0';
	chip->cpus[strcspn(chip->cpus, "\n")] = '\0';
	fclose(f);
}

static void locate(struct pci_dev *dev, const char *sysfs, struct ls_chip *chips, unsigned n)
{
	char bdf[32];

	snprintf(bdf, sizeof(bdf), "%04x:%02x:%02x.%x", dev->domain, dev->bus, dev->dev, dev->func);
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(chips[i].bdf, bdf))
			continue;
		pci_fill_info(dev, PCI_FILL_NUMA_NODE);
		if (dev->known_fields & PCI_FILL_NUMA_NODE)
			chips[i].numa_node = dev->numa_node;
		read_cpus(sysfs, &chips[i]);
	}
}

void ls_pci_locate(const char *sysfs, struct ls_chip *chips, unsigned n)
{
	struct pci_access *pci;

	for (unsigned i = 0; i < n; i++) {
		chips[i].numa_node = -1;
		chips[i].cpus[0] = '\0';
	}
	pci = scan(sysfs);
	if (!pci)
		return;
	for (struct pci_dev *dev = pci->devices; dev; dev = dev->next)
		locate(dev, sysfs, chips, n);
	pci_cleanup(pci);
}
