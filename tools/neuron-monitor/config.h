/* SPDX-License-Identifier: MIT */
/* neuron-monitor's configuration: which groups, of which processes, how often. */
#ifndef MONITOR_CONFIG_H
#define MONITOR_CONFIG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* The groups of an application; the last two have these names in the first generation */
enum runtime_group {
	GROUP_NEURONCORE_COUNTERS,
	GROUP_MEMORY_USED,
	GROUP_RUNTIME_VCPU_USAGE,
	GROUP_EXECUTION_STATS,
	GROUP_INFERENCE_STATS,
	GROUP_RUNTIME_HW_COUNTERS,
	RUNTIME_GROUPS
};
enum system_group { GROUP_VCPU_USAGE, GROUP_MEMORY_INFO, GROUP_HW_COUNTERS, SYSTEM_GROUPS };

extern const char *const runtime_group_names[RUNTIME_GROUPS];
extern const char *const system_group_names[SYSTEM_GROUPS];

#define ENTRIES_MAX 16 /* of neuron_runtimes */
#define CONFIG_SIZE_MAX 65536 /* bytes of a file */

/* An entry of neuron_runtimes: processes by their tag, or a daemon by its socket */
struct config_entry {
	bool filtered; /* filter is compiled */
	regex_t filter;
	char address[128]; /* "unix:/run/neuron.sock"; empty: by tag */
	double period[RUNTIME_GROUPS]; /* seconds; 0: not asked for */
};

struct config {
	struct config_entry entry[ENTRIES_MAX];
	unsigned entries;
	double period[SYSTEM_GROUPS];
};

/* The default: all groups of all processes every five seconds */
void config_default(struct config *config);
/* Returns 0, or -errno with a text that says what is wrong where. Anything may be in the file. */
int config_read(const char *path, struct config *config, char *why, size_t size);
void config_free(struct config *config);

#endif
