// SPDX-License-Identifier: MIT
/* The instance's id: EC2 writes it into the SMBIOS asset tag of the board. */
#include "host.h"

#include <stdio.h>
#include <string.h>

void ls_host_instance_id(const char *dmi, char *id, size_t size)
{
	char path[512];
	FILE *f;

	id[0] = '\0';
	snprintf(path, sizeof(path), "%s/board_asset_tag", dmi);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(id, size, f) || strncmp(id, "i-", 2))
		id[0] = '\0';
	id[strspn(id, "-0123456789abcdefi")] = '\0';
	fclose(f);
}
