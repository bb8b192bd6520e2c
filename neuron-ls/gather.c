// SPDX-License-Identifier: MIT
/*
 * Makes an inventory of the devices: libndl says what the driver knows, libpci what is on the bus,
 * /proc which processes there are. Each device is opened only for looking, which works while others
 * use it, and by a thread of its own: under the public driver the first generation's close takes a
 * second.
 */
#include "gather.h"
#include "host.h"
#include "pci.h"
#include "process.h"
#include "runtime.h"
#include "telemetry.h"

#include "instance.h"
#include "ndlx.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_GENERATION 1

/* One chip's part of the work; err: why there is nothing of it */
struct look {
	pthread_t thread;
	bool threaded;
	struct ls_chip *chip;
	bool first_generation;
	unsigned cores_of_one;
	int err;
	char why[256];
};

static void explain_instance(char *why, size_t size)
{
	size_t n = (size_t)snprintf(why, size, "NEURON_EMU names no instance type; there are");

	for (unsigned int i = 0; ndlx_machine_name(i) && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, "%s %s", i ? "," : "",
				      ndlx_machine_name(i));
}

/* err: of the machine, or 0 */
static int explain_none(int err, char *why, size_t size)
{
	unsigned n = ls_pci_count(NULL);

	if (getenv("NEURON_EMU") && err == -EINVAL)
		explain_instance(why, size);
	else if (getenv("NEURON_EMU"))
		snprintf(why, size, "NEURON_EMU: %s", ndlx_machine_error(err));
	else if (err == -EPERM)
		snprintf(why, size,
			 "%u on the PCI bus, but this process's "
			 "control group allows no /dev/neuron",
			 n);
	else if (n)
		snprintf(why, size,
			 "%u on the PCI bus, but no /dev/neuron0: the neuron module is not loaded",
			 n);
	else
		snprintf(why, size, "none on the PCI bus");
	return -ENODEV;
}

static void gather_version(ndlx_device_t *dev, struct ls_process *p)
{
	size_t size;
	void *nds;

	if (ndlx_nds_open(dev, p->pid, &nds, &size))
		return;
	p->runtime = !ls_process_version(nds, size, p->version, sizeof(p->version));
	ndlx_nds_close(dev, p->pid, nds, size);
}

static int gather_processes(ndlx_device_t *dev, struct ls_chip *chip)
{
	struct neuron_app_info *apps = NULL;
	size_t n = 0;
	int ret;

	ret = ndlx_get_all_apps_info(dev, &apps, &n, NEURON_APP_INFO_ALL);
	if (ret == -ENOTSUP)
		return 0;
	for (size_t i = 0; !ret && i < n && chip->n_processes < LS_MAX_PROCESSES; i++) {
		struct ls_process *p = &chip->processes[chip->n_processes++];

		p->pid = apps[i].pid;
		ls_process_command("/proc", p->pid, p->command, sizeof(p->command));
		gather_version(dev, p);
	}
	free(apps);
	return ret;
}

static int gather_memory(ndlx_device_t *dev, struct ls_chip *chip)
{
	int ret = ndlx_get_dram_size(dev, 0, &chip->channel_bytes);
	uint64_t size;

	if (ret)
		return ret;
	for (chip->channels = 1; !ndlx_get_dram_size(dev, chip->channels, &size);)
		chip->channels++;
	return 0;
}

static int gather_open(ndlx_device_t *dev, struct ls_chip *chip, unsigned cores_of_one)
{
	bool up[NEURON_PORTS_MAX];
	uint32_t cores;
	int ret;

	ret = ndlx_get_nc_count(dev, &cores);
	if (ret)
		return ret;
	chip->cores = cores_of_one ? cores / cores_of_one : cores;
	for (unsigned i = 0; i < dev->connected_device_count && i < LS_MAX_NEIGHBOURS; i++)
		chip->neighbours[chip->n_neighbours++] = dev->connected_devices[i];
	ret = ndlx_device_links(dev, up);
	if (ret)
		return ret;
	chip->east = up[NDLX_PORT_EAST];
	chip->west = up[NDLX_PORT_WEST];
	ret = gather_memory(dev, chip);
	return ret ? ret : gather_processes(dev, chip);
}

static int gather_chip(struct look *look)
{
	const ndlx_device_init_param_t params = { .initialize_device = false };
	struct ls_chip *chip = look->chip;
	struct ndlx_bdf bdf;
	ndlx_device_t *dev;
	int ret;

	ret = ndlx_get_device_bdf(chip->index, &bdf);
	if (ret)
		return ret;
	snprintf(chip->bdf, sizeof(chip->bdf), "%04x:%02x:%02x.%x", bdf.domain & 0xffff, bdf.bus,
		 bdf.slot & 0x1f, bdf.func & 7);
	ret = ndlx_open_device(chip->index, &params, &dev);
	if (ret)
		return ret;
	look->first_generation = dev->device_type == FIRST_GENERATION;
	look->cores_of_one = tm_logical_cores(dev->gen);
	ret = gather_open(dev, chip, look->cores_of_one);
	if (ret) /* libndl's text is of its last call */
		snprintf(look->why, sizeof(look->why), "%s", ndlx_error_text(ret));
	ndlx_close_device(dev);
	return ret;
}

static void *run_look(void *arg)
{
	struct look *look = arg;

	look->err = gather_chip(look);
	if (look->err && !look->why[0])
		snprintf(look->why, sizeof(look->why), "%s", ndlx_error_text(look->err));
	return NULL;
}

/* Returns 0, or the first error in the order of the chips. */
static int gather_chips(struct ls_inventory *inv, char *why, size_t size)
{
	static struct look looks[LS_MAX_CHIPS];
	int ret = 0;

	for (unsigned i = 0; i < inv->n_chips; i++) {
		struct look *look = &looks[i];

		look->chip = &inv->chips[i];
		look->threaded = !pthread_create(&look->thread, NULL, run_look, look);
		if (!look->threaded)
			run_look(look);
	}
	for (unsigned i = 0; i < inv->n_chips; i++) {
		struct look *look = &looks[i];

		if (look->threaded)
			pthread_join(look->thread, NULL);
		if (!look->err || ret)
			continue;
		ret = look->err;
		snprintf(why, size, "/dev/neuron%u: %s", look->chip->index, look->why);
	}
	inv->first_generation = looks[0].first_generation;
	inv->cores_of_one = looks[0].cores_of_one;
	return ret;
}

/* The place of a chip in this process on the machine that it is of */
static void locate_emulated(struct ls_chip *chips, unsigned n)
{
	const struct neuron_instance *instance = neuron_instance_find(ndlx_machine_instance());

	for (unsigned i = 0; instance && i < n && i < instance->chips; i++) {
		chips[i].numa_node = instance->chip[i].numa_node;
		snprintf(chips[i].cpus, sizeof(chips[i].cpus), "%s", instance->chip[i].cpus);
	}
}

static bool any_runtime(const struct ls_inventory *inv)
{
	for (unsigned i = 0; i < inv->n_chips; i++)
		for (unsigned j = 0; j < inv->chips[i].n_processes; j++)
			if (inv->chips[i].processes[j].runtime)
				return true;
	return false;
}

/* Only root is shown the daemon itself; others the version of the process that it is */
static void ask_daemon(struct ls_inventory *inv)
{
	if (geteuid() && !any_runtime(inv))
		return;
	ls_runtime_ask(&inv->runtime);
	ls_runtime_name(inv);
	if (geteuid())
		memset(&inv->runtime, 0, sizeof(inv->runtime));
}

int ls_gather(struct ls_inventory *inv, char *why, size_t why_size)
{
	int indexes[LS_MAX_CHIPS];
	int n = ndlx_available_devices(indexes, LS_MAX_CHIPS), ret;

	memset(inv, 0, sizeof(*inv));
	if (n <= 0)
		return explain_none(n, why, why_size);
	for (int i = 0; i < n; i++)
		inv->chips[inv->n_chips++].index = indexes[i];
	ret = gather_chips(inv, why, why_size);
	if (ret)
		return ret;
	snprintf(inv->instance_type, sizeof(inv->instance_type), "%s", ndlx_machine_instance());
	if (ndlx_machine_is_emu()) {
		locate_emulated(inv->chips, inv->n_chips);
	} else {
		ls_pci_locate(NULL, inv->chips, inv->n_chips);
		ls_host_instance_id("/sys/class/dmi/id", inv->instance_id,
				    sizeof(inv->instance_id));
	}
	ask_daemon(inv);
	return 0;
}
