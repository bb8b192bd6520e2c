// SPDX-License-Identifier: MIT
/*
 * Executables as bytes, for another process on the same kind of chip with the same version of this
 * plug-in: a head with lengths, then the version, the chip, the options, the program as the
 * framework gave it, and the NEFF; a digest of all of that is last. What does not fit is refused
 * with what it is and what is here. The NEFF is checked when it is loaded, as any is.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "executable.h"
#include "neuron_version.h"

enum part { VERSION, CHIP, OPTIONS, CODE, NEFF, PARTS };

static const char magic[8] = "NPJEXE1";

struct head {
	char magic[8];
	uint32_t lnc, narrow_64bit;
	uint64_t size[PARTS];
};
static_assert(sizeof(struct head) == 56, "a file's layout");

PJRT_Error *npj_Executable_Serialize(PJRT_Executable_Serialize_Args *a)
{
	PJRT_Executable *x = a->executable;
	struct head head = { .narrow_64bit = 0 };
	size_t total = sizeof(head), at = sizeof(head);
	struct npj_blob neff;
	PJRT_Error *e;
	char *bytes;

	NPJ_NEED(x, "executable");
	if (x->program->ncalls)
		return npj_error(PJRT_Error_Code_UNIMPLEMENTED,
				 "%s calls functions of this process (callbacks), of which another "
				 "one has others: it cannot be serialized",
				 x->program->name);
	e = npj_executable_neff(x, &neff);
	if (e)
		return e;
	const struct npj_blob part[PARTS] = {
		[VERSION] = npj_blob(NEURON_EMULATOR_BUILD, strlen(NEURON_EMULATOR_BUILD)),
		[CHIP] = npj_blob(x->topology->arch, strlen(x->topology->arch)),
		[OPTIONS] = x->options_bytes,
		[CODE] = x->code,
		[NEFF] = neff,
	};
	memcpy(head.magic, magic, sizeof(magic));
	head.lnc = x->options.lnc;
	head.narrow_64bit = x->narrow_64bit;
	for (int i = 0; i < PARTS; i++) {
		head.size[i] = part[i].size;
		total += part[i].size;
	}
	bytes = malloc(total + NPJ_DIGEST);
	if (!bytes)
		return npj_no_memory();
	memcpy(bytes, &head, sizeof(head));
	for (int i = 0; i < PARTS; i++) {
		if (part[i].size)
			memcpy(bytes + at, part[i].data, part[i].size);
		at += part[i].size;
	}
	if (!npj_digest(&(struct npj_blob){ bytes, total }, 1, (unsigned char *)bytes + total)) {
		free(bytes);
		return npj_error(PJRT_Error_Code_INTERNAL, "no SHA-256");
	}
	a->serialized_bytes = bytes;
	a->serialized_bytes_size = total + NPJ_DIGEST;
	a->serialized_executable = bytes;
	a->serialized_executable_deleter = free;
	return NULL;
}

static bool is(const struct npj_blob *b, const char *text)
{
	return b->size == strlen(text) && !memcmp(b->data, text, b->size);
}

/* Finds the parts, of bytes that are whole */
static PJRT_Error *read_parts(const char *bytes, size_t size, struct head *head,
			      struct npj_blob *part)
{
	unsigned char digest[NPJ_DIGEST];
	size_t at = sizeof(*head), end;

	if (!bytes || size < sizeof(*head) + NPJ_DIGEST || memcmp(bytes, magic, sizeof(magic)))
		return NPJ_INVALID("not a serialized executable of this plug-in");
	memcpy(head, bytes, sizeof(*head));
	end = size - NPJ_DIGEST;
	for (int i = 0; i < PARTS; i++) {
		if (head->size[i] > end - at)
			return npj_error(PJRT_Error_Code_DATA_LOSS, "the serialized executable is "
								    "cut off");
		part[i] = npj_blob(bytes + at, head->size[i]);
		at += head->size[i];
	}
	if (at != end || !npj_digest(&(struct npj_blob){ (void *)bytes, end }, 1, digest) ||
	    memcmp(digest, bytes + end, NPJ_DIGEST))
		return npj_error(PJRT_Error_Code_DATA_LOSS, "the serialized executable is damaged");
	return NULL;
}

PJRT_Error *npj_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args *a)
{
	struct npj_blob part[PARTS], options;
	PJRT_TopologyDescription *t;
	struct npj_options o;
	PJRT_Executable *x;
	struct head head;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	t = a->client->topology;
	e = read_parts(a->serialized_executable, a->serialized_executable_size, &head, part);
	if (e)
		return e;
	if (!is(&part[VERSION], NEURON_EMULATOR_BUILD))
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION,
				 "the executable is one of version %.*s, this is %s",
				 (int)part[VERSION].size, (char *)part[VERSION].data,
				 NEURON_EMULATOR_BUILD);
	if (!is(&part[CHIP], t->arch) || head.lnc > t->lnc)
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION,
				 "the executable is one for %.*s with logical cores of %u, here "
				 "are %s, of %u",
				 (int)part[CHIP].size, (char *)part[CHIP].data, head.lnc, t->arch,
				 t->lnc);
	options = part[OPTIONS];
	/* the caller may say anew where it runs */
	if (a->overridden_serialized_compile_options)
		options = npj_blob(a->overridden_serialized_compile_options,
				   a->overridden_serialized_compile_options_size);
	e = npj_options_read(t, options.data, options.size, &o);
	if (e)
		return e;
	o.lnc = head.lnc;
	e = npj_executable_new(t, head.narrow_64bit, part[CODE], options, &o, &x);
	if (e)
		return e;
	if (!x->trivial && !npj_blob_copy(&x->neff, part[NEFF])) {
		npj_executable_unref(x);
		return npj_no_memory();
	}
	return npj_load(a->client, x, &a->loaded_executable);
}
