// SPDX-License-Identifier: MIT
/*
 * A protobuf file becomes a module in memory: the module is found in what may be around it, bounded
 * (proto/scan.c) and unpacked. Called by import.c and by ../program.c.
 */
#include "file.h"

#include <errno.h>
#include <limits.h>

#include "proto/scan.h"

#define TAG(number, wire) ((number) << 3 | (wire))
#define BYTES 2 /* wire type */

/* Steps over a field whose tag has been read; *n: its number, or the length of its bytes */
static bool field(const uint8_t **p, const uint8_t *end, uint64_t tag, uint64_t *n)
{
	const unsigned int wire = tag & 7;
	const uint64_t fixed = wire == 1 ? 8 : 4;

	if (wire == 0)
		return ncc_proto_varint(p, end, n);
	if (wire == BYTES && !ncc_proto_varint(p, end, n))
		return false;
	if (wire == 1 || wire == 5)
		*n = fixed;
	else if (wire != BYTES)
		return false;
	if (*n > (uint64_t)(end - *p))
		return false;
	*p += *n;
	return true;
}

/* replica_count and num_partitions of HloModuleConfigProto */
static void read_config(struct hlo_file *f, const uint8_t *p, const uint8_t *end)
{
	uint64_t tag, n;

	while (p < end && ncc_proto_varint(&p, end, &tag) && field(&p, end, tag, &n)) {
		if (n < 1 || n > INT_MAX)
			continue;
		if (tag == TAG(4, 0))
			f->replicas = (unsigned int)n;
		if (tag == TAG(5, 0))
			f->partitions = (unsigned int)n;
	}
}

/*
 * XLA's own dumps are an HloProto, and PJRT's "hlo_with_config" an HloModuleProtoWithConfig. The
 * first field of both is the module, which in turn begins with its name; no module has a name that
 * begins with a line feed. The second field is the configuration: an HloProto has none.
 */
static void unwrap(struct hlo_file *f)
{
	const uint8_t name = TAG(1, BYTES); /* of all three messages */
	const uint8_t *p = f->bytes, *end = p + f->size, *module;
	uint64_t tag, n;

	if (p == end || *p++ != name || !ncc_proto_varint(&p, end, &n))
		return;
	if (!n || n > (uint64_t)(end - p) || *p != name)
		return;
	module = p;
	f->size = n;
	p += n;
	while (p < end && ncc_proto_varint(&p, end, &tag) && field(&p, end, tag, &n))
		if (tag == TAG(2, BYTES))
			read_config(f, p - n, p);
	f->bytes = module;
}

static void release(struct hlo_file *f)
{
	ncc__hlo__module__free_unpacked(f->proto, NULL);
}

int hlo_read(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err)
{
	int rc;

	*f = (struct hlo_file){
		.bytes = buf, .size = size, .replicas = 1, .partitions = 1, .release = release
	};
	unwrap(f);
	rc = ncc_proto_scan(&ncc__hlo__module__descriptor, "an HLO module", f->bytes, f->size, err);
	if (rc)
		return rc;
	f->proto = ncc__hlo__module__unpack(NULL, f->size, f->bytes);
	return f->proto ? 0 : ncc_fail(err, -EINVAL, "not an HLO module");
}

void hlo_file_free(struct hlo_file *f)
{
	if (f->proto)
		f->release(f);
	f->proto = NULL;
}
