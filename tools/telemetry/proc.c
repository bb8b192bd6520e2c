// SPDX-License-Identifier: MIT
/* The host's processors, memory and processes, from /proc (proc(5)). */
#include "process.h"
#include "telemetry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAG "NEURON_PROCESS_TAG="
#define TAG_MAX 255
#define ENVIRON_MAX (1 << 20) /* of another process: no more of it is looked at */
#define CPUS_MAX 4096

static FILE *open_proc(const char *proc, int pid, const char *name)
{
	char path[512];

	if (pid)
		snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	else
		snprintf(path, sizeof(path), "%s/%s", proc, name);
	return fopen(path, "re");
}

/* A line such as "cpu3 1 2 3 ..." into the next row; the first is the sum and has no number */
static bool read_cpu(const char *line, struct tm_cpus *cpus, unsigned rows)
{
	unsigned number = 0;
	uint64_t t[8] = { 0 };
	int at = 0;

	if (strncmp(line, "cpu", 3))
		return false;
	if (rows && (sscanf(line + 3, "%u%n", &number, &at) != 1 || number >= CPUS_MAX))
		return false;
	if (sscanf(line + 3 + at,
		   "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
		   "%" SCNu64,
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < TM_CPU)
		return false;
	cpus->row[rows].number = number;
	cpus->row[rows].all = 0;
	for (unsigned i = 0; i < TM_CPU; i++)
		cpus->row[rows].ticks[i] = t[i];
	for (unsigned i = 0; i < 8; i++)
		cpus->row[rows].all += t[i];
	return true;
}

static void gather_cpus(const char *proc, struct tm_cpus *cpus)
{
	FILE *f = open_proc(proc, 0, "stat");
	unsigned rows = 0;
	char *line = NULL; /* that of the interrupts is long */
	size_t capacity = 0;

	cpus->row = calloc(CPUS_MAX + 1, sizeof(*cpus->row));
	while (f && cpus->row && getline(&line, &capacity, f) > 0) {
		if (rows <= CPUS_MAX && read_cpu(line, cpus, rows))
			rows++;
		else
			sscanf(line, "ctxt %" SCNu64, &cpus->switches);
	}
	cpus->n = rows ? rows - 1 : 0;
	free(line);
	if (f)
		fclose(f);
}

static void gather_memory(const char *proc, struct tm_memory *m)
{
	uint64_t kib, available = 0, swap_free = 0;
	FILE *f = open_proc(proc, 0, "meminfo");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
			m->total = kib << 10;
		else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			available = kib << 10;
		else if (sscanf(line, "SwapTotal: %" SCNu64, &kib) == 1)
			m->swap_total = kib << 10;
		else if (sscanf(line, "SwapFree: %" SCNu64, &kib) == 1)
			swap_free = kib << 10;
	}
	m->used = m->total > available ? m->total - available : 0;
	m->swap_used = m->swap_total > swap_free ? m->swap_total - swap_free : 0;
	if (f)
		fclose(f);
}

void tm_gather_host(const char *proc, struct tm_snapshot *s)
{
	gather_cpus(proc, &s->cpus);
	gather_memory(proc, &s->memory);
}

/* The tag that a process gave itself; another user's environment cannot be read */
static void read_tag(const char *proc, struct tm_process *p)
{
	FILE *f = open_proc(proc, p->pid, "environ");
	char *entry = NULL;
	size_t capacity = 0, seen = 0;
	ssize_t n;

	snprintf(p->tag, sizeof(p->tag), "%d", p->pid);
	while (f && seen < ENVIRON_MAX && (n = getdelim(&entry, &capacity, '\0', f)) > 0) {
		seen += (size_t)n;
		if (strncmp(entry, TAG, strlen(TAG)) || !entry[strlen(TAG)])
			continue;
		snprintf(p->tag, TAG_MAX + 1, "%s", entry + strlen(TAG));
		ls_printable(p->tag);
		break;
	}
	free(entry);
	if (f)
		fclose(f);
}

bool tm_gather_process(const char *proc, struct tm_process *p)
{
	FILE *f = open_proc(proc, p->pid, "stat");
	char text[1024] = "", *rest;
	uint64_t resident = 0;

	if (!f)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	rest = strrchr(text, ')'); /* the name before it may have any characters */
	/* fields 3 to 24 */
	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			    " %*d %*d %*d %*d %*d %*d %" SCNu64 " %*u %" SCNu64,
			    &p->user, &p->system, &p->started, &resident) != 4)
		return false;
	p->resident = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	ls_process_command(proc, p->pid, p->command, sizeof(p->command));
	read_tag(proc, p);
	return true;
}
