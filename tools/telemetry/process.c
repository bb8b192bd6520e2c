// SPDX-License-Identifier: MIT
/*
 * Commands and runtime versions of processes. A command line is another user's text: it goes to a
 * terminal only as printable ASCII.
 */
#include "process.h"
#include "uapi/neuron/neuron_nds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static size_t read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return 0;
	n = fread(text, 1, size, f);
	fclose(f);
	return n;
}

void ls_printable(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

void ls_process_command(const char *proc, int pid, char *command, size_t size)
{
	char path[512];
	size_t n;

	snprintf(path, sizeof(path), "%s/%d/cmdline", proc, pid);
	n = read_file(path, command, size - 1);
	if (!n) { /* a kernel thread, or a process that rewrote its arguments */
		snprintf(path, sizeof(path), "%s/%d/comm", proc, pid);
		n = read_file(path, command, size - 1);
	}
	while (n && (command[n - 1] == '\0' || command[n - 1] == '\n'))
		n--;
	for (size_t i = 0; i < n; i++)
		if (command[i] == '\0')
			command[i] = ' ';
	command[n] = '\0';
	ls_printable(command);
}

int ls_process_version(const void *nds, size_t nds_size, char *version, size_t size)
{
	const char *bytes = nds;
	uint64_t word;

	if (nds_size < NDS_ND_OFFSET(NDS_DEVICE_COUNTERS_PER_UNIT) ||
	    memcmp(bytes, NDS_HEADER_MAGIC, sizeof(NDS_HEADER_MAGIC)))
		return -ENOENT;
	memcpy(&word, bytes + NDS_ND_OFFSET(NDS_ND_COUNTER_RUNTIME_VERSION), sizeof(word));
	if (!word)
		return -ENOENT;
	snprintf(version, size, "%u.%u.%u", (unsigned)(word >> 40 & 0xff),
		 (unsigned)(word >> 32 & 0xff), (unsigned)word);
	return 0;
}
