/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: complex values, as import.c handles them (complex.c) */
#ifndef NCC_HLO_COMPLEX_H
#define NCC_HLO_COMPLEX_H

#include "hlo.h"

/* Is the result or an operand complex? */
bool hlo_has_complex(const struct hlo_inst *in);
/* Marks a value as complex if its shape says so; it has to have an array's leaves if it is one. */
int hlo_check_complex(struct hlo_inst *in, struct hlo_value *v);
/* The module's own parameters and results: arrays with a last dimension of 2 for the parts */
int hlo_complex_parameter(struct hlo_inst *in, struct ncc_op *param, struct hlo_value *v);
int hlo_complex_results(struct hlo_inst *in, struct hlo_value *v);

#endif
