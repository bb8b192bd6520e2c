/* SPDX-License-Identifier: MIT */
/* Whose programs are made: every part of the compiler asks, so this lies below them all. */
#include "ncc.h"

#include "neuron/hw/target.h"

const struct neuron_target *ncc_target(const struct ncc_options *opt)
{
	return opt->target ? opt->target : &neuron_target_inf1;
}
