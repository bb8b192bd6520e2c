// SPDX-License-Identifier: MIT
/*
 * Portable artifacts of StableHLO: any bytes are read or refused with a reason, and what is read is
 * compiled (model.h). The HLO that an artifact is given out as is one that the compiler reads.
 */
#include "model.h"
#include "ncc_program.h"
#include "frontend/stablehlo/stablehlo.h"

#ifdef FUZZ_LIBFUZZER
#define MAGIC "ML\xefR"
#define SECTIONS 16

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

struct section {
	uint8_t id;
	const uint8_t *p;
	size_t size;
};

/* A number of one or two bytes; false: it has more, or the file ends */
static bool number(const uint8_t **p, const uint8_t *end, size_t *v)
{
	if (end - *p >= 1 && **p & 1) {
		*v = *(*p)++ >> 1;
		return true;
	}
	if (end - *p < 2 || (**p & 3) != 2)
		return false;
	*v = (size_t)((*p)[0] >> 2 | (*p)[1] << 6);
	*p += 2;
	return true;
}

/* Sections of a file that is a small one, none of them aligned; returns how many, or 0 */
static unsigned int find_sections(const uint8_t *data, size_t size, struct section *s,
				  size_t *header)
{
	const uint8_t *end = data + size, *p = size > 5 && !memcmp(data, MAGIC, 4)
						       ? memchr(data + 5, 0, size - 5)
						       : NULL;
	unsigned int n = 0;

	if (!p)
		return 0;
	*header = (size_t)(++p - data);
	for (; p < end && n < SECTIONS; n++) {
		s[n].id = *p++;
		if (s[n].id & 0x80 || !number(&p, end, &s[n].size) || s[n].size > (size_t)(end - p))
			return 0;
		s[n].p = p;
		p += s[n].size;
	}
	return p == end ? n : 0;
}

static size_t put(uint8_t *to, const struct section *s, const uint8_t *bytes, size_t size)
{
	to[0] = s->id;
	to[1] = (uint8_t)(size << 2 | 2);
	to[2] = (uint8_t)(size >> 6);
	memcpy(to + 3, bytes, size);
	return size + 3;
}

/* Changes one section and what the file says of its size, so that the others are still found */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static uint8_t file[1 << 16], changed[1 << 14];
	struct section s[SECTIONS];
	size_t at = 0, len;
	unsigned int n = size ? find_sections(data + 1, size - 1, s, &at) : 0, one;

	if (!n || seed % 8 == 0 || size > sizeof(file) / 2)
		return LLVMFuzzerMutate(data, size, max_size);
	one = seed / 8 % n;
	len = s[one].size < sizeof(changed) / 2 ? s[one].size : sizeof(changed) / 2;
	memcpy(changed, s[one].p, len);
	len = LLVMFuzzerMutate(changed, len, sizeof(changed) - 1);
	memcpy(file, data + 1, at);
	for (unsigned int i = 0; i < n; i++)
		at += put(file + at, &s[i], i == one ? changed : s[i].p,
			  i == one ? len : s[i].size);
	if (at + 1 > max_size)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(data + 1, file, at);
	return at + 1;
}
#endif

static void check_hlo(const uint8_t *data, size_t size)
{
	struct ncc_error err = { { 0 } };
	struct ncc_program *p;
	struct hlo_file f;
	size_t hlo_size;
	void *hlo;
	int rc = ncc_program_read(data, size, &p, &err);

	fuzz_assert(!rc == !err.text[0]);
	if (!rc)
		ncc_program_free(p);
	rc = ncc_program_hlo(data, size, &hlo, &hlo_size, &err);
	fuzz_assert(!rc == !err.text[0]);
	if (rc)
		return;
	fuzz_assert(!hlo_read(hlo, hlo_size, &f, &err));
	hlo_file_free(&f);
	free(hlo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_options opt = { .narrow_64bit = true };

	if (size < 2 || !stablehlo_is(data + 1, size - 1))
		return 0;
	if (data[0] & 1)
		opt.target = neuron_target_of_name("trn1");
	check_hlo(data + 1, size - 1);
	fuzz_model(data + 1, size - 1, &opt);
	return 0;
}
