/* SPDX-License-Identifier: MIT */
/*
 * How much of what custom operators print goes to the log (print.c). A process that runs models of
 * its own has all of it; a daemon says whose models are whose, and one user's flood is cut, and
 * told, without a line less for others.
 */
#ifndef RT_PRINT_H
#define RT_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#define RT_PRINT_LINE 128 /* bytes that a line takes of the log besides its own */
#define RT_PRINT_ONCE (16u << 10) /* bytes of one execution, those included */
#define RT_PRINT_BURST (64u << 10) /* bytes of a user's at once ... */
#define RT_PRINT_RATE 4096 /* ... and a second */
#define RT_PRINT_TELL_MS 1000 /* between two lines that say how much was dropped */

struct rt_printer; /* a user */
/*
 * The printer of a user: the same one while somebody has it or it has not recovered; 0: NULL, no
 * limits
 */
struct rt_printer *rt_printer_get(uint64_t user, uint64_t now_ms);
void rt_printer_put(struct rt_printer *printer); /* NULL: nothing */

/* An execution's lines, one after the other */
struct rt_print {
	struct rt_printer *printer;
	uint64_t now_ms;
	uint64_t used; /* bytes */
};
/* May a line of so many bytes be logged? It is counted as logged, or as dropped. */
bool rt_print_line(struct rt_print *print, uint64_t bytes);
/* The bytes and lines that were dropped since that was told last, if it is to be told now */
bool rt_print_dropped(struct rt_print *print, uint64_t *bytes, uint64_t *lines);

#endif
