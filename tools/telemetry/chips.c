// SPDX-License-Identifier: MIT
/*
 * Chips and the processes that use them, through libndl: on nodes of this project's module and of
 * the public one, or in this process, where the only process is this one. A node is opened once,
 * for looking, and kept: with the public driver the first generation's close takes a second.
 */
#include "telemetry.h"

#include "ndlx.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Open devices by index, for as long as this process runs; one that fails is opened anew */
static ndlx_device_t *kept[NDLX_MAX_DEVICES];

static int open_kept(int index, ndlx_device_t **dev)
{
	const ndlx_device_init_param_t look = { .initialize_device = false };

	*dev = (unsigned)index < NDLX_MAX_DEVICES ? kept[index] : NULL;
	if (*dev && !ndlx_alive(*dev))
		return 0;
	if (*dev)
		ndlx_close_device(*dev);
	if ((unsigned)index < NDLX_MAX_DEVICES)
		kept[index] = NULL;
	return ndlx_open_device(index, &look, dev);
}

static void leave(int index, ndlx_device_t *dev, int error)
{
	if (!error && !ndlx_machine_is_own() && (unsigned)index < NDLX_MAX_DEVICES) {
		kept[index] = dev;
		return;
	}
	if ((unsigned)index < NDLX_MAX_DEVICES)
		kept[index] = NULL;
	ndlx_close_device(dev);
}

static void *close_one(void *dev)
{
	ndlx_close_device(dev);
	return NULL;
}

void tm_close(void)
{
	pthread_t thread[NDLX_MAX_DEVICES];
	bool threaded[NDLX_MAX_DEVICES] = { false };

	for (unsigned i = 0; i < NDLX_MAX_DEVICES; i++) {
		if (!kept[i])
			continue;
		threaded[i] = !pthread_create(&thread[i], NULL, close_one, kept[i]);
		if (!threaded[i])
			ndlx_close_device(kept[i]);
		kept[i] = NULL;
	}
	for (unsigned i = 0; i < NDLX_MAX_DEVICES; i++)
		if (threaded[i])
			pthread_join(thread[i], NULL);
}

unsigned tm_logical_cores(const struct neuron_gen *gen)
{
	const char *wanted = getenv("NEURON_LOGICAL_NC_CONFIG");

	if (!gen->logical_cores || !wanted)
		return gen->logical_cores;
	if (!strcmp(wanted, "1"))
		return 1;
	return strcmp(wanted, "2") ? gen->logical_cores : 2;
}

static struct tm_process *find_process(struct tm_snapshot *s, int pid)
{
	for (unsigned i = 0; i < s->processes; i++)
		if (s->process[i].pid == pid)
			return &s->process[i];
	return NULL;
}

static struct tm_process *add_process(struct tm_snapshot *s, int pid)
{
	struct tm_process *p = find_process(s, pid);

	if (p)
		return p;
	if (s->processes == TM_PROCESSES)
		return NULL;
	p = &s->process[s->processes];
	memset(p, 0, sizeof(*p));
	p->pid = pid;
	if (!tm_gather_process("/proc", p))
		return NULL;
	s->processes++;
	return p;
}

static bool add_part(struct tm_snapshot *s, const struct tm_process *found,
		     const struct tm_part *part)
{
	struct tm_process *p = add_process(s, found->pid);
	struct tm_part *list;

	if (!p)
		return false;
	list = realloc(p->part, (p->parts + 1) * sizeof(*list));
	if (!list)
		return false;
	memcpy(p->version, found->version, sizeof(p->version));
	p->part = list;
	p->part[p->parts++] = *part;
	return true;
}

static void gather_datastore(struct tm_snapshot *s, ndlx_device_t *dev, int pid)
{
	struct tm_part part = { .device = s->devices };
	struct tm_process found = { .pid = pid };
	bool runtime;
	size_t size;
	void *nds;

	if (ndlx_nds_open(dev, pid, &nds, &size))
		return;
	runtime = tm_read_datastore(nds, size, s->device[s->devices].cores, &found, &part);
	ndlx_nds_close(dev, pid, nds, size);
	if (runtime && !add_part(s, &found, &part))
		free(part.node);
}

static void gather_processes(struct tm_snapshot *s, ndlx_device_t *dev)
{
	struct neuron_app_info *apps = NULL;
	size_t n = 0;

	if (ndlx_machine_is_own()) {
		gather_datastore(s, dev, getpid());
		return;
	}
	if (ndlx_get_all_apps_info(dev, &apps, &n, NEURON_APP_INFO_ALL))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (apps[i].pid != getpid())
			gather_datastore(s, dev, apps[i].pid);
	free(apps);
}

static int gather_memory(ndlx_device_t *dev, struct tm_device *d)
{
	struct ndlx_errors errors = { 0 };
	uint64_t size;
	int ret;

	for (uint32_t i = 0; !ndlx_get_dram_size(dev, i, &size); i++)
		d->memory += size;
	ret = ndlx_error_counters(dev, &errors);
	for (unsigned i = 0; !ret && i < NEURON_MEMORIES_MAX; i++) {
		d->ecc.mem_corrected += errors.memory[i].corrected;
		d->ecc.mem_uncorrected += errors.memory[i].uncorrected;
	}
	d->ecc.sram_corrected = ret ? 0 : errors.sram.corrected;
	d->ecc.sram_uncorrected = ret ? 0 : errors.sram.uncorrected;
	return ret;
}

static void gather_device(struct tm_snapshot *s, int index)
{
	struct tm_device *d = &s->device[s->devices];
	ndlx_device_t *dev;
	uint32_t cores;

	memset(d, 0, sizeof(*d));
	d->index = (unsigned)index;
	d->error = open_kept(index, &dev);
	if (d->error) {
		ndlx_get_gen(index, &d->gen);
		d->cores = d->gen ? d->gen->cores : 0;
		s->devices++;
		return;
	}
	d->gen = dev->gen;
	d->error = ndlx_get_nc_count(dev, &cores);
	d->cores = d->error || cores > NEURON_CORES_MAX ? d->gen->cores : cores;
	if (!d->error)
		d->error = gather_memory(dev, d);
	gather_processes(s, dev);
	leave(index, dev, d->error);
	s->devices++;
}

void tm_gather_chips(struct tm_snapshot *s)
{
	int indexes[TM_DEVICES];
	int n = ndlx_available_devices(indexes, TM_DEVICES);

	s->cores_of_one = 1;
	if (n <= 0) {
		snprintf(s->error, sizeof(s->error), "failed to discover Neuron devices: %s",
			 n ? ndlx_error_text(n) : "there are none, or the driver is not loaded");
		return;
	}
	for (int i = 0; i < n; i++)
		gather_device(s, indexes[i]);
	if (s->device[0].gen)
		s->cores_of_one = tm_logical_cores(s->device[0].gen);
	if (!s->cores_of_one)
		s->cores_of_one = 1;
}

double tm_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

struct tm_snapshot *tm_snapshot_take(void)
{
	struct tm_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->users = 1;
	s->time = tm_now();
	tm_gather_chips(s);
	tm_gather_host("/proc", s);
	return s;
}

struct tm_snapshot *tm_snapshot_hold(struct tm_snapshot *snapshot)
{
	snapshot->users++;
	return snapshot;
}

void tm_snapshot_drop(struct tm_snapshot *snapshot)
{
	if (!snapshot || --snapshot->users)
		return;
	for (unsigned i = 0; i < snapshot->processes; i++) {
		for (unsigned j = 0; j < snapshot->process[i].parts; j++)
			free(snapshot->process[i].part[j].node);
		free(snapshot->process[i].part);
	}
	free(snapshot->cpus.row);
	free(snapshot);
}
