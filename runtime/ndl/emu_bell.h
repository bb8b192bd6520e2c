/* SPDX-License-Identifier: MIT */
/*
 * Words in memory that processes share, on which they sleep, and a bell: what rings for a process
 * whose core has something to say (emu_wait.c)
 */
#ifndef NDLX_EMU_BELL_H
#define NDLX_EMU_BELL_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word is what was seen, at most so long (NULL: without an end); it may wake
 * early. */
static inline void emu_word_wait(uint32_t *word, uint32_t seen, const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT, seen, most, NULL, 0);
}

/* Wakes all that sleep on it */
static inline void emu_word_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Lies in the process's memory: it sleeps on the first word, and says in the second that it does. */
struct emu_bell {
	uint32_t rings, sleepers;
};

#endif
