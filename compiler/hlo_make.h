/* SPDX-License-Identifier: MIT */
/* Operations of HLO that become several of the tensor IR: private to the HLO front end. */
#ifndef NCC_HLO_MAKE_H
#define NCC_HLO_MAKE_H

#include "hlo.h"

/* 0, 1 (not one of theirs), or -errno */
int hlo_expand(struct hlo_inst *in, struct ncc_op **out);
int hlo_index(struct hlo_inst *in, struct ncc_op **out); /* gather, dynamic slices */
/* reduce of (values, their indices): argmax and argmin, as JAX makes them; a tuple of two */
int hlo_arg_reduce(struct hlo_inst *in, struct hlo_value *v);

#endif
