/* SPDX-License-Identifier: MIT */
/* A bell: what rings for a process whose core has something to say (emu_wait.c) */
#ifndef NDL_EMU_BELL_H
#define NDL_EMU_BELL_H

#include <stdint.h>

/* Lies in the process's memory: it sleeps on the first word, and says in the second that it does. */
struct emu_bell {
	uint32_t rings, sleepers;
};

#endif
