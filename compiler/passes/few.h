/* SPDX-License-Identifier: MIT */
/* Private to flatten.c: a few long vectors (few.c) */
#ifndef NCC_FEW_H
#define NCC_FEW_H

#include "pass.h"

int few_split(struct ncc_pass *p);
/* The rows of the matrix that a vector of n elements becomes, one a partition; 0: it stays */
int64_t few_rows(int64_t n);

#endif
