/* SPDX-License-Identifier: MIT */
/*
 * A text table in the `+---+` style: columns with one- or two-line titles, rows of cells, rules.
 * Knows nothing of devices. The caller owns a grid between grid_new and grid_free; cells are copied.
 */
#ifndef LS_GRID_H
#define LS_GRID_H

#include <stdbool.h>
#include <stdio.h>

enum grid_align { GRID_LEFT, GRID_RIGHT };

struct grid;

struct grid *grid_new(void);
void grid_free(struct grid *g);

/* A title's lines are separated by '\n', at most two. 0 or -errno; columns before rows. */
int grid_add_column(struct grid *g, const char *title, enum grid_align align);
int grid_add_row(struct grid *g);

/* Sets a cell of the last row. A filler is printed, but does not make its column worth printing. */
int grid_set(struct grid *g, unsigned column, const char *text);
int grid_set_filler(struct grid *g, unsigned column, const char *text);

/* A rule after the last row; the last row of all always has one. */
void grid_rule(struct grid *g);

/* Prints it without the columns that are empty on every row. */
void grid_print(const struct grid *g, FILE *out);

#endif
