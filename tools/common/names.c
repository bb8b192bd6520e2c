/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int names_given(const struct neff_called *names, unsigned int n, const char *const *given,
		unsigned int ngiven, int *which, unsigned int *bad)
{
	bool *seen = calloc((size_t)n + 1, sizeof(*seen));
	int rc = seen ? neff_called_match(names, n, NEFF_OF_MODEL, given, ngiven, which) : -ENOMEM;

	for (*bad = 0; !rc && *bad < ngiven; ++*bad) {
		if (which[*bad] < 0)
			rc = -ENOENT;
		else if (seen[which[*bad]])
			rc = -EEXIST;
		else
			seen[which[*bad]] = true;
		if (rc)
			break;
	}
	free(seen);
	return rc;
}

void name_list(const struct neff_called *names, unsigned int n, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < n && used < size; i++) {
		const char *source = names[i].source ? names[i].source : "";
		const bool two = *source && strcmp(source, names[i].name) != 0;
		int more =
			snprintf(text + used, size - used, "%s%s%s%s%s", i ? ", " : "",
				 names[i].name, two ? " (" : "", two ? source : "", two ? ")" : "");

		used += more > 0 ? (size_t)more : 0;
	}
}
