// SPDX-License-Identifier: MIT
/*
 * StableHLO as text: any bytes are read or refused with the place where they are wrong, and what is
 * read is compiled (model.h).
 */
#include <errno.h>

#include "model.h"
#include "frontend/stablehlo/mlir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_options opt = { .narrow_64bit = true };
	struct ncc_error err = { { 0 } };
	struct mlir m;
	int rc;

	if (!size)
		return 0;
	if (data[0] & 1)
		opt.target = neuron_target_of_name("trn1");
	data++;
	size--;
	rc = mlir_read_text(data, size, &m, &err);
	mlir_free(&m);
	fuzz_assert(!rc == !err.text[0]);
	if (rc == -EINVAL)
		fuzz_assert(!strncmp(err.text, "line ", strlen("line ")));
	if (!rc && mlir_is_text(data, size))
		fuzz_model(data, size, &opt);
	return 0;
}
