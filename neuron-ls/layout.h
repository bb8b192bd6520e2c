/* SPDX-License-Identifier: MIT */
/*
 * The printed forms of an inventory. All of them write to `out` only, return 0 or -errno, and ask
 * no device anything. Called by neuron-ls.c and by the unit tests.
 */
#ifndef LS_LAYOUT_H
#define LS_LAYOUT_H

#include "inventory.h"

#include <stdbool.h>
#include <stdio.h>

struct ls_options {
	bool wide; /* commands have 80 columns, not 40 */
	bool all_processes; /* processes without a runtime are listed too */
};

/* The table of the first Inferentia tools (2020). */
int ls_print_classic(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
/* The layout of the vendor's release 1.0.11054, of September 2020 */
int ls_print_september(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
/* The layout of 1.16 to 2.8, with processes */
int ls_print_processes(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
/* Prints the table with lines about the instance before it: 2.9 to 2.24. */
int ls_print_headed(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
/* The table of the tools since 2.25, with such lines. */
int ls_print_modern(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
int ls_print_topology(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);
/* The JSON of the 2.x tools; no newline after the closing bracket. */
int ls_print_json(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out);

/* The short table above the drawing. */
int ls_print_chips(const struct ls_inventory *inv, FILE *out);

/* Copies a command, cut to the column's width. */
void ls_cut_command(const char *command, const struct ls_options *opt, char text[static 81]);

#endif
