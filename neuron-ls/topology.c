// SPDX-License-Identifier: MIT
/*
 * The drawing of --topology: the chips of a chain in one line, a mark between two that are linked;
 * those of a torus row by row, with the links that lead from a side to the opposite one. Called
 * through layout.h.
 */
#include "layout.h"

#define LINK "\u25c4\u2013\u2013\u25ba"
#define GAP "    "
#define UP "\u25b2"
#define DOWN "\u25bc"
#define BAR "\u2502"
#define WRAP_IN "*\u2013\u2013\u25ba"
#define WRAP_OUT "\u25c4\u2013\u2013*"
#define CELL 9 /* columns of a chip and the link behind it */
#define FIRST 6 /* column of the first chip's number */
#define SIDES_MAX 8

static bool linked(const struct ls_chip *a, const struct ls_chip *b)
{
	for (unsigned i = 0; i < a->n_neighbours; i++) {
		if (a->neighbours[i] == b->index)
			return true;
	}
	return false;
}

/* Chips in a row, if they are a torus of as many rows: linked up, down and sideways; 0: no torus */
static unsigned torus_side(const struct ls_inventory *inv)
{
	unsigned side = 2, n = inv->n_chips;

	while (side < SIDES_MAX && side * side < n)
		side++;
	if (side * side != n || side == 2)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		const struct ls_chip *chip = &inv->chips[i];

		if (!linked(chip, &inv->chips[i - i % side + (i + 1) % side]) ||
		    !linked(chip, &inv->chips[(i + side) % n]))
			return 0;
	}
	return side;
}

/* A mark over each chip of a row; lines are as long as a row of chips */
static void print_marks(unsigned side, const char *mark, FILE *out)
{
	fprintf(out, "%*s", FIRST, "");
	for (unsigned i = 0; i < side; i++)
		fprintf(out, "%s%*s", mark, i + 1 < side ? CELL - 1 : FIRST, "");
	fputc('\n', out);
}

static void print_torus(const struct ls_inventory *inv, unsigned side, FILE *out)
{
	for (unsigned row = 0; row < side; row++) {
		print_marks(side, row ? UP : "*", out);
		print_marks(side, BAR, out);
		print_marks(side, DOWN, out);
		for (unsigned i = 0; i < side; i++)
			fprintf(out, "%s[%2u ]", i ? LINK : WRAP_IN,
				inv->chips[row * side + i].index);
		fputs(WRAP_OUT "\n", out);
	}
	print_marks(side, UP, out);
	print_marks(side, BAR, out);
	print_marks(side, "*", out);
	fprintf(out, "\nLegend:\n\n%*s" WRAP_IN " = Wrap-around link\n", CELL - 1, "");
}

static void print_chain(const struct ls_inventory *inv, FILE *out)
{
	fputs("\n  ", out);
	for (unsigned i = 0; i < inv->n_chips; i++) {
		const struct ls_chip *chip = &inv->chips[i];

		if (i)
			fputs(linked(&inv->chips[i - 1], chip) ? LINK : GAP, out);
		fprintf(out, "[%2u ]", chip->index);
	}
	fputc('\n', out);
}

int ls_print_topology(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	unsigned side = torus_side(inv);
	int ret = ls_print_chips(inv, out);

	if (ret)
		return ret;
	fputs("\n\nNeuron Device Topology\n", out);
	if (side)
		print_torus(inv, side, out);
	else
		print_chain(inv, out);
	return 0;
}
