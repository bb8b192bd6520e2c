/* SPDX-License-Identifier: MIT */
/* Private to flatten.c: a few long vectors (few.c) */
#ifndef NCC_FEW_H
#define NCC_FEW_H

#include "pass.h"

int few_split(struct ncc_pass *p);

#endif
