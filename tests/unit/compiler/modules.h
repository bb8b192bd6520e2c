/* SPDX-License-Identifier: MIT */
/* HLO modules as messages, which tests change, and that they are refused then */
#ifndef TEST_NCC_MODULES_H
#define TEST_NCC_MODULES_H

#include "frontend/hlo/hlo.h"

Ncc__Hlo__Module *unpack(const char *path); /* under tests/data */
Ncc__Hlo__Computation *entry(const Ncc__Hlo__Module *m);
/* The module's first instruction of that opcode */
Ncc__Hlo__Instruction *find(const Ncc__Hlo__Module *m, const char *opcode);
void set_text(char **s, const char *text);
/* The message contains the text. */
void expect_refused_bytes(const void *hlo, size_t size, const char *text);
void expect_refused(Ncc__Hlo__Module *m, const char *text); /* frees m */

#endif
