/* SPDX-License-Identifier: MIT */
/* The 1024-byte header and the digests of the payload (docs/neff.md). */
#include "neff_priv.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

enum {
	OFF_PKG_VERSION = 0,
	OFF_HEADER_SIZE = 8,
	OFF_DATA_SIZE = 16,
	OFF_MAJOR = 24,
	OFF_MINOR = 32,
	OFF_BUILD = 40,
	OFF_NUM_TPB = 168,
	OFF_HASH = 172,
	OFF_UUID = 204,
	OFF_NAME = 220,
	OFF_REQUESTED_TPB = 476,
	OFF_TPB_PER_NODE = 480,
	OFF_FEATURES = 544,
	OFF_LNC = 552,
	OFF_PAD = 556,
};
#define BUILD_SIZE 128
#define NAME_SIZE 256
#define MAX_TPB 64

static void put(uint8_t *p, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *p, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

void neff_header_encode(const struct neff_header *h, uint8_t out[NEFF_HEADER_SIZE])
{
	memset(out, 0, NEFF_HEADER_SIZE);
	put(out + OFF_PKG_VERSION, h->pkg_version, 8);
	put(out + OFF_HEADER_SIZE, h->header_size, 8);
	put(out + OFF_DATA_SIZE, h->data_size, 8);
	put(out + OFF_MAJOR, h->version_major, 8);
	put(out + OFF_MINOR, h->version_minor, 8);
	memcpy(out + OFF_BUILD, h->build_version, strnlen(h->build_version, BUILD_SIZE));
	put(out + OFF_NUM_TPB, h->num_tpb, 4);
	memcpy(out + OFF_HASH, h->hash, sizeof(h->hash));
	memcpy(out + OFF_UUID, h->uuid, sizeof(h->uuid));
	memcpy(out + OFF_NAME, h->name, strnlen(h->name, NAME_SIZE));
	put(out + OFF_REQUESTED_TPB, h->requested_tpb_count, 4);
	memcpy(out + OFF_TPB_PER_NODE, h->tpb_per_node, sizeof(h->tpb_per_node));
	put(out + OFF_FEATURES, h->feature_bits, 8);
	put(out + OFF_LNC, h->lnc_size, 4);
}

static void decode(const uint8_t *p, struct neff_header *h)
{
	memset(h, 0, sizeof(*h));
	h->pkg_version = get(p + OFF_PKG_VERSION, 8);
	h->header_size = get(p + OFF_HEADER_SIZE, 8);
	h->data_size = get(p + OFF_DATA_SIZE, 8);
	h->version_major = get(p + OFF_MAJOR, 8);
	h->version_minor = get(p + OFF_MINOR, 8);
	memcpy(h->build_version, p + OFF_BUILD, BUILD_SIZE);
	h->num_tpb = (uint32_t)get(p + OFF_NUM_TPB, 4);
	memcpy(h->hash, p + OFF_HASH, sizeof(h->hash));
	memcpy(h->uuid, p + OFF_UUID, sizeof(h->uuid));
	memcpy(h->name, p + OFF_NAME, NAME_SIZE);
	h->requested_tpb_count = (uint32_t)get(p + OFF_REQUESTED_TPB, 4);
	memcpy(h->tpb_per_node, p + OFF_TPB_PER_NODE, sizeof(h->tpb_per_node));
	h->feature_bits = get(p + OFF_FEATURES, 8);
	h->lnc_size = (uint32_t)get(p + OFF_LNC, 4);
}

int neff_read_header(const void *buf, size_t size, struct neff_header *h, struct neff_error *err)
{
	memset(err, 0, sizeof(*err));
	memset(h, 0, sizeof(*h));
	if (size < NEFF_HEADER_SIZE)
		return neff_fail(err, "header: %zu bytes, expected at least %d", size,
				 NEFF_HEADER_SIZE);

	decode(buf, h);
	if (h->pkg_version != 1 && h->pkg_version != 2)
		return neff_fail(err, "header: package version %llu, expected 1 or 2",
				 (unsigned long long)h->pkg_version);
	if (h->header_size < NEFF_HEADER_SIZE || h->header_size > size)
		return neff_fail(err, "header: header size %llu in a file of %zu bytes",
				 (unsigned long long)h->header_size, size);

	/* some writers include the header in data_size */
	if (h->data_size > size - h->header_size && h->data_size != size)
		return neff_fail(err, "header: data size %llu, %zu bytes follow the header",
				 (unsigned long long)h->data_size, size - (size_t)h->header_size);
	if (h->num_tpb < 1 || h->num_tpb > MAX_TPB)
		return neff_fail(err, "header: num_tpb %u, expected 1 to %d", h->num_tpb, MAX_TPB);
	return 0;
}

static int digest_update(EVP_MD_CTX *md, const struct neff_source *source, size_t at, size_t end)
{
	uint8_t piece[4096];
	int ret = 0;

	if (source->bytes)
		return EVP_DigestUpdate(md, source->bytes + at, end - at) == 1 ? 0 : -EINVAL;
	while (at < end && !ret) {
		size_t n = end - at < sizeof(piece) ? end - at : sizeof(piece);

		ret = neff_source_read(source, at, piece, n);
		if (!ret && EVP_DigestUpdate(md, piece, n) != 1)
			ret = -EINVAL;
		at += n;
	}
	return ret;
}

/*
 * By functions that BoringSSL has as well: a process may have its names too, exported by another
 * library (TensorFlow's), and then all of these are found there.
 */
int neff_digest(uint64_t pkg_version, const struct neff_source *source, size_t at, size_t end,
		uint8_t hash[NEFF_HASH_SIZE])
{
	const EVP_MD *kind = pkg_version == 1 ? EVP_sha256() : EVP_md5();
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int ret = -EINVAL;

	memset(hash, 0, NEFF_HASH_SIZE);
	if (kind && md && EVP_DigestInit_ex(md, kind, NULL) == 1)
		ret = digest_update(md, source, at, end);
	if (!ret && EVP_DigestFinal_ex(md, hash, NULL) != 1)
		ret = -EINVAL;
	EVP_MD_CTX_free(md);
	return ret;
}
