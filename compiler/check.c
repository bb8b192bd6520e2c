// SPDX-License-Identifier: MIT
#include "prog.h"
int ncc_check_model(const struct neff_model *model, struct ncc_error *err)
{
	return 0;
}
