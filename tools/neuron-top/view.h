/* SPDX-License-Identifier: MIT */
/*
 * What neuron-top shows, as lines of text: made of two snapshots and of what its user chose. Knows
 * nothing of terminals. Called by main.c and screen.c.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "metadata.h"
#include "telemetry.h"

#include <stdbool.h>
#include <stddef.h>

#define TOP_WIDTH_MAX 500
#define TOP_WIDTH_MIN 20
#define TOP_OPEN_MAX 256 /* rows of the tree that are open */

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_SELECTED, TOP_TAB };

struct top_line {
	enum top_style style;
	unsigned begin, end; /* of the chosen tab; otherwise unused */
	char text[TOP_WIDTH_MAX + 1]; /* printable ASCII */
};

/* A row of the tree: numbers from the left, 0 behind the last */
struct top_row {
	int pid;
	unsigned device, core; /* from 1 */
	unsigned depth;
	bool inner, open;
	char name[64];
	uint64_t host, device_bytes;
};

struct top_view {
	bool flops; /* operations in the place of percent */
	int pid; /* the tab; 0: all */
	uint64_t started; /* of that process */
	unsigned selected; /* row of the tree */
	struct top_row open[TOP_OPEN_MAX];
	unsigned opened;
};

/* The two last snapshots, before is NULL at first; and whose they are */
struct top_data {
	const struct tm_snapshot *before, *now;
	const struct tm_instance *instance;
};

struct top_lines {
	struct top_line *line;
	unsigned n, capacity;
	unsigned selected; /* the line of the selected row */
};

/* Makes the lines for a width, all but the bar at the bottom; 0 or -ENOMEM */
int top_view_lines(struct top_view *view, const struct top_data *data, unsigned width,
		   struct top_lines *lines);
/* The bar of tabs */
void top_view_tabs(const struct top_view *view, const struct top_data *data, unsigned width,
		   struct top_line *line);
void top_lines_free(struct top_lines *lines);

/* Effects of keys */
void top_view_move(struct top_view *view, int rows);
void top_view_toggle(struct top_view *view, const struct top_data *data);
/* Tab number n (0: all), or so many further; at the ends it goes round */
void top_view_tab(struct top_view *view, const struct top_data *data, unsigned n);
void top_view_next(struct top_view *view, const struct top_data *data, int step);

#endif
