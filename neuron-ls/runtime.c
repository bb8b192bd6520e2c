// SPDX-License-Identifier: MIT
/*
 * Asks the daemon for its process and version. The process is the peer of its socket; the version
 * needs a gRPC call, whose library takes longer to load than everything else here, so the call sits
 * in a module of its own (rtd-version.c) that is loaded only when a daemon listens.
 */
#include "runtime.h"
#include "process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "unix:/run/neuron.sock"
#define VERSION_MODULE "neuron-ls-rtd.so"

/* The process that listens at a socket, or 0. Does not wait. */
static int listener(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return 0;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

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
	rt->pid = listener(address + 5);
	if (!rt->pid)
		return;
	strcpy(rt->address, address);
	if (ask_version(address, rt->version, sizeof(rt->version)) || !*rt->version)
		strcpy(rt->version, "NA");
	ls_printable(rt->version);
}
