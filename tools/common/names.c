/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "names.h"

#include <stdio.h>
#include <string.h>

int name_find(const struct input_name *names, unsigned int n, const char *given)
{
	for (unsigned int i = 0; i < n; i++)
		if (names[i].source && *names[i].source && !strcmp(names[i].source, given))
			return (int)i;
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(names[i].name, given))
			return (int)i;
	return -1;
}

void name_list(const struct input_name *names, unsigned int n, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < n && used < size; i++) {
		const char *source = names[i].source ? names[i].source : "";
		int more = snprintf(text + used, size - used, "%s%s%s%s%s", i ? ", " : "",
				    names[i].name, *source ? " (" : "", source, *source ? ")" : "");

		used += more > 0 ? (size_t)more : 0;
	}
}
