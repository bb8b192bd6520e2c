/* SPDX-License-Identifier: MIT */
/* An operator in C: the sums of the first 1, 2, 3, ... elements of each row. */
#include <neuron/custom_op.h>

#define MOST 2048 /* elements of a row */

static float row[MOST];

NEURON_CUSTOM_OP(cumulative)
{
	struct neuron_gps_arg x = neuron_arg(0);
	uint32_t rows = x.size[0], n = x.size[1];

	if (x.ndim != 2 || n > MOST)
		neuron_fail("cumulative takes rows of up to %d elements", MOST);
	/* the processors take the rows in turns */
	for (uint32_t r = neuron_cpu_id(); r < rows; r += neuron_cpu_count()) {
		neuron_read(0, r * n, n, row);
		for (uint32_t i = 1; i < n; i++)
			row[i] += row[i - 1];
		neuron_write(1, r * n, n, row);
	}
	neuron_printf("cumulative: %u rows of %u\n", (unsigned)rows, (unsigned)n);
}
