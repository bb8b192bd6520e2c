// SPDX-License-Identifier: MIT
/* Questions that every step of the compiler has about the options */
#include "ir.h"

#include <errno.h>

const struct neuron_target *ncc_target(const struct ncc_options *opt)
{
	return opt->target ? opt->target : &neuron_target_inf1;
}

int ncc_wanted(const struct ncc_options *opt, struct ncc_error *err)
{
	return opt->cancelled && opt->cancelled(opt->opaque)
		       ? ncc_fail(err, -ECANCELED, "interrupted")
		       : 0;
}
