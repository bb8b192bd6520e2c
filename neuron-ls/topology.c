// SPDX-License-Identifier: MIT
/*
 * The drawing of --topology: the chips of a chain in one line, a mark between two that are linked.
 * Called through layout.h.
 */
#include "layout.h"

#define LINK "\u25c4\u2013\u2013\u25ba"
#define GAP "    "

static bool linked(const struct ls_chip *a, const struct ls_chip *b)
{
	for (unsigned i = 0; i < a->n_neighbours; i++) {
		if (a->neighbours[i] == b->index)
			return true;
	}
	return false;
}

int ls_print_topology(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	int ret = ls_print_chips(inv, out);

	if (ret)
		return ret;
	fputs("\n\nNeuron Device Topology\n\n  ", out);
	for (unsigned i = 0; i < inv->n_chips; i++) {
		const struct ls_chip *chip = &inv->chips[i];

		if (i)
			fputs(linked(&inv->chips[i - 1], chip) ? LINK : GAP, out);
		fprintf(out, "[%2u ]", chip->index);
	}
	fputc('\n', out);
	return 0;
}
