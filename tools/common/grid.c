// SPDX-License-Identifier: MIT
/*
 * The text table. Owns copies of all titles and cells. Used by layout.c; widths count bytes, as
 * every cell is ASCII.
 */
#include "grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_LINES 2

struct column {
	char *title[TITLE_LINES];
	enum grid_align align;
	size_t width;
	bool used;
};

struct row {
	char **cells;
	bool rule;
};

struct grid {
	struct column *columns;
	unsigned n_columns;
	struct row *rows;
	unsigned n_rows;
};

struct grid *grid_new(void)
{
	return calloc(1, sizeof(struct grid));
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	for (unsigned r = 0; r < g->n_rows; r++) {
		for (unsigned c = 0; c < g->n_columns; c++)
			free(g->rows[r].cells[c]);
		free(g->rows[r].cells);
	}
	for (unsigned c = 0; c < g->n_columns; c++) {
		for (unsigned line = 0; line < TITLE_LINES; line++)
			free(g->columns[c].title[line]);
	}
	free(g->rows);
	free(g->columns);
	free(g);
}

static void widen(struct column *col, const char *text)
{
	size_t len = strlen(text);

	if (len > col->width)
		col->width = len;
}

int grid_add_column(struct grid *g, const char *title, enum grid_align align)
{
	struct column *columns = reallocarray(g->columns, g->n_columns + 1, sizeof(*columns));
	size_t first = strcspn(title, "\n");
	struct column *col;

	if (!columns)
		return -ENOMEM;
	g->columns = columns;
	col = &columns[g->n_columns];
	*col = (struct column){ .align = align };
	col->title[0] = strndup(title, first);
	col->title[1] = strdup(title[first] ? title + first + 1 : "");
	g->n_columns++;
	if (!col->title[0] || !col->title[1])
		return -ENOMEM;
	widen(col, col->title[0]);
	widen(col, col->title[1]);
	return 0;
}

int grid_add_row(struct grid *g)
{
	struct row *rows = reallocarray(g->rows, g->n_rows + 1, sizeof(*rows));
	char **cells;

	if (!rows)
		return -ENOMEM;
	g->rows = rows;
	cells = calloc(g->n_columns, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	rows[g->n_rows++] = (struct row){ .cells = cells };
	return 0;
}

int grid_set_filler(struct grid *g, unsigned column, const char *text)
{
	char *copy = strdup(text);
	char **cell;

	if (!copy)
		return -ENOMEM;
	cell = &g->rows[g->n_rows - 1].cells[column];
	free(*cell);
	*cell = copy;
	widen(&g->columns[column], text);
	return 0;
}

int grid_set(struct grid *g, unsigned column, const char *text)
{
	if (*text)
		g->columns[column].used = true;
	return grid_set_filler(g, column, text);
}

void grid_rule(struct grid *g)
{
	if (g->n_rows)
		g->rows[g->n_rows - 1].rule = true;
}

static void pad(size_t n, char c, FILE *out)
{
	while (n--)
		fputc(c, out);
}

static void print_rule(const struct grid *g, FILE *out)
{
	fputc('+', out);
	for (unsigned c = 0; c < g->n_columns; c++) {
		if (!g->columns[c].used)
			continue;
		pad(g->columns[c].width + 2, '-', out);
		fputc('+', out);
	}
	fputc('\n', out);
}

static void print_cell(const struct column *col, const char *text, size_t left, FILE *out)
{
	size_t right = col->width - strlen(text) - left;

	fputc(' ', out);
	pad(left, ' ', out);
	fputs(text, out);
	pad(right, ' ', out);
	fputs(" |", out);
}

/* Centred; an odd blank goes to the right. */
static void print_title_line(const struct grid *g, unsigned line, FILE *out)
{
	fputc('|', out);
	for (unsigned c = 0; c < g->n_columns; c++) {
		const struct column *col = &g->columns[c];

		if (col->used)
			print_cell(col, col->title[line],
				   (col->width - strlen(col->title[line])) / 2, out);
	}
	fputc('\n', out);
}

static void print_row(const struct grid *g, const struct row *row, FILE *out)
{
	fputc('|', out);
	for (unsigned c = 0; c < g->n_columns; c++) {
		const struct column *col = &g->columns[c];
		const char *text = row->cells[c] ? row->cells[c] : "";
		size_t spare = col->width - strlen(text);

		if (col->used)
			print_cell(col, text, col->align == GRID_RIGHT ? spare : 0, out);
	}
	fputc('\n', out);
}

static bool two_line_titles(const struct grid *g)
{
	for (unsigned c = 0; c < g->n_columns; c++) {
		if (g->columns[c].used && g->columns[c].title[1][0])
			return true;
	}
	return false;
}

void grid_print(const struct grid *g, FILE *out)
{
	print_rule(g, out);
	print_title_line(g, 0, out);
	if (two_line_titles(g))
		print_title_line(g, 1, out);
	print_rule(g, out);
	for (unsigned r = 0; r < g->n_rows; r++) {
		print_row(g, &g->rows[r], out);
		if (g->rows[r].rule || r == g->n_rows - 1)
			print_rule(g, out);
	}
}
