/* SPDX-License-Identifier: MIT */
/* Private to the IR: the rules of calls (host.c), for verify.c */
#ifndef NCC_HOST_RULES_H
#define NCC_HOST_RULES_H

#include "ir.h"

int ncc_check_custom(const struct ncc_op *op, struct ncc_error *err);
int ncc_check_host_call(const struct ncc_op *op, struct ncc_error *err);
int ncc_check_host_result(const struct ncc_op *op, struct ncc_error *err);

#endif
