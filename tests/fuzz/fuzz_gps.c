// SPDX-License-Identifier: MIT
/*
 * Words without branches for one of GpSimd's processors, vectors' more often than not. A run in one
 * slice and one that is cut behind every instruction end in the same way with the same registers
 * and the same memory, and what governs vectors may be loaded from a state.
 */
#include "fuzz.h"
#include "gps/gps.h"

#define WORDS 256

static uint32_t vset(struct fuzz_in *in, uint32_t any)
{
	static const uint8_t types[] = { 0x00, 0x01, 0x03, 0x05, 0x06, 0x08, 0x0a, 0x0b,
					 0x0f, 0x10, 0x11, 0x12, 0x13, 0x18, 0x17, 0x07 };
	uint32_t type = fuzz_pick(in, types);

	if (any & 0x80000000) /* vsetivli */
		return 0xc0007057 | type << 20 | (any & 0xf8f80);
	return 0x00007057 | type << 20 | (any & 0x80000 ? 0 : any & 0xf8000) | (any & 0xf80);
}

static uint32_t word(struct fuzz_in *in)
{
	static const uint8_t widths[] = { 0, 5, 6, 0, 5, 6, 6, 7 };
	static const uint8_t scalars[] = { 0x37, 0x17, 0x03, 0x23, 0x13, 0x33, 0x73, 0x07,
					   0x27, 0x43, 0x47, 0x4b, 0x4f, 0x53, 0x0f };
	uint8_t kind = fuzz_u8(in);
	uint32_t any = fuzz_u32(in);

	if (kind < 8)
		return any;
	if (kind < 48)
		return (any & ~0x7fu) | fuzz_pick(in, scalars);
	if (kind < 80)
		return vset(in, any);
	if (kind < 128) { /* a register that has an address; often plain, whole groups */
		if (kind & 1)
			any &= ~0xe1f00000u;
		if (kind & 2)
			any &= ~0x380u;
		any = (any & ~0x700fu) | (uint32_t)widths[any >> 12 & 7] << 12;
		return (any & ~0x7fu) | (kind & 4 ? 0x27 : 0x07);
	}
	if (kind & 1)
		any &= ~0x00718380u; /* groups of eight, without vs1's lowest bits */
	if ((any >> 12 & 7) == 7)
		any &= ~0x1000u;
	return (any & ~0x7fu) | 0x57;
}

static struct gps *start(const uint32_t *words, uint32_t n, const uint8_t *data, size_t size)
{
	struct gps *g;

	fuzz_assert(!gps_new(&g));
	memcpy(g->lib, words, n * 4);
	g->lib_bytes = n * 4;
	gps_library_decode(g);
	gps_start(g, 1, 0, 0);
	for (uint32_t i = 0; i < NEURON_GPS_TCM && size; i++)
		g->core[0].tcm[i] = data[i % size];
	memcpy(g->core[0].vector.v, g->core[0].tcm + 0x100, sizeof(g->core[0].vector.v));
	for (uint32_t i = 1; i < 32; i++)
		g->core[0].x[i] = i & 3 ? 0x1000 + i * 0x40 : i * 0x800fff;
	return g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	uint32_t words[WORDS], n = 0;
	struct gps_core *a, *b;
	struct gps *one, *cut;
	enum gps_stop how, ends;

	while (n < WORDS && !fuzz_end(&in))
		words[n++] = word(&in);
	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if ((words[i] & 0x7f) == 0x63 || (words[i] & 0x77) == 0x67)
			words[i] = 0x13;
	one = start(words, n, data, size);
	cut = start(words, n, data, size);
	a = &one->core[0];
	b = &cut->core[0];
	how = gps_run(NULL, one, 0, 1u << 20);
	do
		ends = gps_run(NULL, cut, 0, 1);
	while (ends == GPS_RAN);
	fuzz_assert(how == ends && one->cause == cut->cause && one->fault_data == cut->fault_data);
	fuzz_assert(a->pc == b->pc && !memcmp(a->x, b->x, 32 * sizeof(a->x[0])));
	fuzz_assert(!memcmp(a->f, b->f, sizeof(a->f)) && !memcmp(a->tcm, b->tcm, NEURON_GPS_TCM));
	fuzz_assert(!memcmp(&a->vector, &b->vector, sizeof(a->vector)));
	fuzz_assert(gps_vector_sane(&a->vector));
	gps_free(one);
	gps_free(cut);
	return 0;
}
