// SPDX-License-Identifier: MIT
/*
 * Asks the daemon for its process and version. The process is the peer of its socket; the version
 * needs a gRPC call, whose library takes longer to load than everything else here, so the call sits
 * in a module of its own (rtd-version.c) that is loaded only when a daemon listens.
 */
#include "runtime.h"
#include "host.h"
#include "process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ADDRESS "unix:/run/neuron.sock"
#define VERSION_MODULE "neuron-ls-rtd.so"

static int ask_version(const char *address, char *version, size_t size)
{
	int (*ask)(const char *, char *, size_t);
	void *module = dlopen(VERSION_MODULE, RTLD_NOW | RTLD_LOCAL);

	if (!module)
		return -1;
	ask = (int (*)(const char *, char *, size_t))dlsym(module, "ls_rtd_version");
	/* the module stays loaded: gRPC does not survive dlclose */
	return ask ? ask(address, version, size) : -1;
}

void ls_runtime_ask(struct ls_runtime *rt)
{
	const char *address = getenv("NEURON_RTD_ADDRESS");

	memset(rt, 0, sizeof(*rt));
	if (!address || !*address)
		address = DEFAULT_ADDRESS;
	if (strncmp(address, "unix:", 5) || strlen(address) >= sizeof(rt->address))
		return;
	rt->pid = ls_host_listener(address + 5);
	if (!rt->pid)
		return;
	strcpy(rt->address, address);
	if (ask_version(address, rt->version, sizeof(rt->version)) || !*rt->version)
		strcpy(rt->version, "NA");
	ls_printable(rt->version);
}

void ls_runtime_name(struct ls_inventory *inv)
{
	if (!*inv->runtime.address || !strcmp(inv->runtime.version, "NA"))
		return;
	for (unsigned i = 0; i < inv->n_chips; i++) {
		for (unsigned j = 0; j < inv->chips[i].n_processes; j++) {
			struct ls_process *p = &inv->chips[i].processes[j];

			if (p->pid == inv->runtime.pid)
				memcpy(p->version, inv->runtime.version, sizeof(p->version));
		}
	}
}
