// SPDX-License-Identifier: MIT
/*
 * Models of NCC_XLA: which format they are in, and what a framework asks of them before they are
 * compiled (ncc_program.h)
 */
#include "ncc_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/hlo/import.h"
#include "frontend/onnx/import.h"
#include "proto/format.h"
#include "read.h"
#include "frontend/stablehlo/stablehlo.h"

int ncc_read_xla(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err)
{
	return stablehlo_is(buf, size) ? stablehlo_read(buf, size, f, err)
				       : hlo_read(buf, size, f, err);
}

int ncc_import_xla(const void *buf, size_t size, const struct ncc_options *opt,
		   struct ncc_module **m, struct ncc_error *err)
{
	struct hlo_file f;
	int rc;

	if (opt->program && opt->program->file)
		return hlo_import_file(opt->program->file, opt, m, err);
	rc = ncc_read_xla(buf, size, &f, err);
	rc = rc ? rc : hlo_import_file(&f, opt, m, err);
	hlo_file_free(&f);
	return rc;
}

/* A file that is none of its framework is named, if its format is known */
int ncc_import(const void *model, size_t size, const struct ncc_options *opt, struct ncc_module **m,
	       struct ncc_error *err)
{
	static const char *const expected[] = {
		[NCC_XLA] = "an HLO module", [NCC_ONNX] = "an ONNX model", [NCC_IR] = "the tensor IR"
	};
	const char *found;
	int rc;

	if (opt->ninputs && opt->framework != NCC_ONNX)
		return ncc_fail(err, -EINVAL,
				"input '%.100s': a shape or a value can be given for an input of "
				"an "
				"ONNX model; %s has its own",
				opt->input[0].name, expected[opt->framework]);
	rc = opt->framework == NCC_IR	  ? ncc_import_ir(model, size, m, err)
	     : opt->framework == NCC_ONNX ? ncc_import_onnx(model, size, opt, m, err)
					  : ncc_import_xla(model, size, opt, m, err);
	if (opt->framework == NCC_XLA && stablehlo_is(model, size))
		return rc;
	found = rc == -EINVAL ? ncc_format(model, size, opt->framework) : NULL;
	return found ? ncc_fail(err, rc, "not %s but %s", expected[opt->framework], found) : rc;
}

int ncc_program_read(const void *model, size_t size, struct ncc_program **p, struct ncc_error *err)
{
	struct hlo_file *f = calloc(1, sizeof(*f));
	int rc;

	err->text[0] = 0;
	*p = NULL;
	rc = f ? ncc_read_xla(model, size, f, err) : ncc_no_memory(err);
	rc = rc ? rc : hlo_program(f, p, err);
	if (!rc) {
		(*p)->file = f;
		return 0;
	}
	if (f)
		hlo_file_free(f);
	free(f);
	return rc;
}

void ncc_program_forget(struct ncc_program *p)
{
	if (p->file)
		hlo_file_free(p->file);
	free(p->file);
	p->file = NULL;
}

void ncc_program_free(struct ncc_program *p)
{
	if (p)
		ncc_program_forget(p);
	hlo_program_free(p);
}

int ncc_program_hlo(const void *model, size_t size, void **out, size_t *out_size,
		    struct ncc_error *err)
{
	struct hlo_file f;
	int rc;

	err->text[0] = 0;
	*out = NULL;
	rc = ncc_read_xla(model, size, &f, err);
	if (!rc && f.partly)
		rc = ncc_fail(err, -ENOTSUP, "%s: not supported as HLO", f.partly);
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
