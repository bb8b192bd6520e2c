/* SPDX-License-Identifier: MIT */
/* The terminal, through curses. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "view.h"

enum top_key { TOP_NONE, TOP_QUIT, TOP_AGAIN };

/* Takes the terminal; screen_end() gives it back. 0 or -errno: it is none, or not known. */
int screen_begin(void);
void screen_end(void);
void screen_draw(struct top_view *view, const struct top_data *data, struct top_lines *lines);
/* Waits for a key, so many milliseconds, and does what it asks for */
enum top_key screen_key(struct top_view *view, const struct top_data *data, int milliseconds);

#endif
