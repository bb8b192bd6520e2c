// SPDX-License-Identifier: MIT
/* Digests of programs, and the compiler's failures */
#include "digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron_version.h"

bool npj_digest(const struct npj_blob *piece, unsigned int n, unsigned char digest[NPJ_DIGEST])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL);

	for (unsigned int i = 0; i < n && ok; i++) {
		uint64_t size = piece[i].size;

		ok = EVP_DigestUpdate(md, &size, sizeof(size)) &&
		     EVP_DigestUpdate(md, piece[i].data, piece[i].size);
	}
	ok = ok && EVP_DigestFinal_ex(md, digest, NULL);
	EVP_MD_CTX_free(md);
	return ok;
}

void npj_hex(const unsigned char *bytes, size_t n, char *text)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digit[bytes[i] >> 4];
		text[2 * i + 1] = digit[bytes[i] & 15];
	}
	text[2 * n] = 0;
}

PJRT_Error *npj_fingerprint(PJRT_Executable *x)
{
	unsigned char digest[NPJ_DIGEST];
	char *options = npj_options_text(&x->options);
	bool ok;

	if (!options)
		return npj_no_memory();
	struct npj_blob pieces[] = {
		x->code,
		npj_blob(options, strlen(options)),
		npj_blob(x->topology->arch, strlen(x->topology->arch)),
		npj_blob(NEURON_EMULATOR_BUILD, strlen(NEURON_EMULATOR_BUILD)),
	};
	ok = npj_digest(pieces, sizeof(pieces) / sizeof(pieces[0]), digest);
	free(options);
	if (!ok)
		return npj_error(PJRT_Error_Code_INTERNAL, "no SHA-256");
	npj_hex(digest, NPJ_DIGEST, x->fingerprint);
	return NULL;
}

PJRT_Error *npj_compiler_error(int err, const struct ncc_error *text)
{
	static const struct {
		int err;
		PJRT_Error_Code code;
	} codes[] = {
		{ -EINVAL, PJRT_Error_Code_INVALID_ARGUMENT },
		{ -ECANCELED, PJRT_Error_Code_CANCELLED },
		{ -ENOTSUP, PJRT_Error_Code_UNIMPLEMENTED },
		{ -EFBIG, PJRT_Error_Code_RESOURCE_EXHAUSTED },
		{ -ENOMEM, PJRT_Error_Code_RESOURCE_EXHAUSTED },
	};

	for (unsigned int i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].err == err)
			return npj_error(codes[i].code, "neuronx-cc: %s", text->text);
	return npj_error(PJRT_Error_Code_INTERNAL, "neuronx-cc: %s", text->text);
}
