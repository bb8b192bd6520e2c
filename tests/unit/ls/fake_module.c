// SPDX-License-Identifier: MIT
/* A daemon whose version is what FAKE_VERSION says; without it the daemon does not answer. */
#include <stdio.h>
#include <stdlib.h>

int ls_rtd_version(const char *address, char *version, size_t size);

int ls_rtd_version(const char *address, char *version, size_t size)
{
	const char *text = getenv("FAKE_VERSION");

	if (!text)
		return -1;
	snprintf(version, size, "%s", text);
	return 0;
}
