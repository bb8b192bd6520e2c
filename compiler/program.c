// SPDX-License-Identifier: MIT
/* What a framework asks of a program before it is compiled (ncc_program.h) */
#include "ncc_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/file.h"

int ncc_program_read(const void *model, size_t size, struct ncc_program **p, struct ncc_error *err)
{
	struct hlo_file f;
	int rc;

	err->text[0] = 0;
	*p = NULL;
	rc = hlo_read(model, size, &f, err);
	rc = rc ? rc : hlo_program(&f, p, err);
	hlo_file_free(&f);
	return rc;
}

void ncc_program_free(struct ncc_program *p)
{
	hlo_program_free(p);
}

int ncc_program_hlo(const void *model, size_t size, void **out, size_t *out_size,
		    struct ncc_error *err)
{
	struct hlo_file f;
	int rc;

	err->text[0] = 0;
	*out = NULL;
	rc = hlo_read(model, size, &f, err);
	if (!rc) {
		*out_size = f.bytes ? f.size : ncc__hlo__module__get_packed_size(f.proto);
		*out = malloc(*out_size + 1);
		rc = *out ? 0 : ncc_no_memory(err);
	}
	if (!rc && f.bytes)
		memcpy(*out, f.bytes, f.size);
	else if (!rc)
		ncc__hlo__module__pack(f.proto, *out);
	hlo_file_free(&f);
	return rc;
}
