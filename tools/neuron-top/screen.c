// SPDX-License-Identifier: MIT
/*
 * Drawing and keys. What does not fit is cut: the tree scrolls so that the selected row is seen,
 * and the bar of tabs has the last line.
 */
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define KEYS "   q: quit  f: TFLOPS  x: open/close  a/d: tabs"

enum { PAIR_TITLE = 1, PAIR_TAB };

int screen_begin(void)
{
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return -ENOTTY;
	if (!newterm(NULL, stdout, stdin))
		return -ENODEV;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(PAIR_TITLE, COLOR_CYAN, -1);
		init_pair(PAIR_TAB, COLOR_GREEN, -1);
	}
	return 0;
}

void screen_end(void)
{
	endwin();
}

static void draw_line(int y, const struct top_line *line)
{
	attr_t attributes = A_NORMAL;
	int columns = getmaxx(stdscr);

	if (line->style == TOP_TITLE)
		attributes = A_BOLD | COLOR_PAIR(PAIR_TITLE);
	if (line->style == TOP_SELECTED)
		attributes = A_REVERSE;
	attrset(attributes);
	mvaddnstr(y, 0, line->text, columns);
	if (line->style == TOP_TAB && (int)line->begin < columns) {
		attrset(A_BOLD | COLOR_PAIR(PAIR_TAB));
		mvaddnstr(y, (int)line->begin, line->text + line->begin,
			  (int)(line->end < (unsigned)columns ? line->end : (unsigned)columns) -
				  (int)line->begin);
	}
	attrset(A_NORMAL);
}

void screen_draw(struct top_view *view, const struct top_data *data, struct top_lines *lines)
{
	int rows = getmaxy(stdscr), columns = getmaxx(stdscr), first = 0;
	struct top_line tabs;

	columns = columns > TOP_WIDTH_MAX ? TOP_WIDTH_MAX : columns;
	if (top_view_lines(view, data, (unsigned)columns, lines))
		return;
	if ((int)lines->selected > rows - 2)
		first = (int)lines->selected - (rows - 2);
	erase();
	for (int y = 0; y < rows - 1 && first + y < (int)lines->n; y++)
		draw_line(y, &lines->line[first + y]);
	top_view_tabs(view, data, (unsigned)columns, &tabs);
	if (strlen(tabs.text) + sizeof(KEYS) <= (size_t)columns)
		strcat(tabs.text, KEYS);
	draw_line(rows - 1, &tabs);
	refresh();
}

enum top_key screen_key(struct top_view *view, const struct top_data *data, int milliseconds)
{
	int key;

	timeout(milliseconds);
	key = getch();
	if (key >= '0' && key <= '9') {
		top_view_tab(view, data, (unsigned)(key - '0'));
		return TOP_AGAIN;
	}
	switch (key) {
	case ERR:
		/* a terminal that went away is readable for ever */
		return isatty(STDIN_FILENO) ? TOP_NONE : TOP_QUIT;
	case 'q':
	case 'Q':
		return TOP_QUIT;
	case 'f':
	case 'F':
		view->flops = !view->flops;
		break;
	case 'x':
	case 'X':
		top_view_toggle(view, data);
		break;
	case KEY_UP:
		top_view_move(view, -1);
		break;
	case KEY_DOWN:
		top_view_move(view, 1);
		break;
	case 'a':
		top_view_next(view, data, -1);
		break;
	case 'd':
		top_view_next(view, data, 1);
		break;
	default: /* KEY_RESIZE, too */
		break;
	}
	return TOP_AGAIN;
}
