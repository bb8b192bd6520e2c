/* SPDX-License-Identifier: MIT */
/* Private to the plan: what it finds, in this order. Each marks operations' ncc_op.plan. */
#ifndef NCC_PLAN_FIND_H
#define NCC_PLAN_FIND_H

#include "plan.h"

/* cast.c: who casts what converts make, and what type other operations write */
void plan_find_casts(struct ncc_module *m);
/* reduce.c: what a reduction does with two elements, and with its initial value */
void plan_reduction(struct plan_op *p);
/* fuse.c: the element-wise operations after a product, its epilogue */
void plan_find_epilogues(struct ncc_module *m);
void plan_epilogue(const struct plan_op *product); /* which instructions do it */
/* group.c: element-wise operations of one shape that are done together, in the last one's place */
void plan_find_groups(struct ncc_module *m);
/* join.c: values that are computed in the result of a pad or concatenation, their only user */
void plan_find_places(struct ncc_module *m);

#endif
