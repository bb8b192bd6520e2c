/* SPDX-License-Identifier: MIT */
/* The tree of memory: a process, its devices, their cores, what the core's memory is for. */
#ifndef TOP_TREE_H
#define TOP_TREE_H

#include "view.h"

/* The rows that are shown; the caller frees them. NULL with *n 0: there are none, or no memory. */
struct top_row *top_tree(const struct top_view *view, const struct tm_snapshot *now, unsigned *n);
bool top_shows(const struct top_view *view, const struct tm_process *p);

#endif
