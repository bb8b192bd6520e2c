// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int output_end(const char *program, int status)
{
	int err = 0;

	if (ferror(stdout))
		err = EIO; /* of an earlier write, whose errno is gone */
	if (fflush(stdout))
		err = errno;
	if (!err || status)
		return status;
	fprintf(stderr, "%s: standard output: %s\n", program, strerror(err));
	return 1;
}
