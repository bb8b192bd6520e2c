/* SPDX-License-Identifier: MIT */
/*
 * Conversions between fp32 and each type of operands, in each set of kernels: floats of 8 bits
 * against ml_dtypes (tests/data/isa), all types against the scalar reference, over all of fp32 in
 * steps; -DFORMATS_STRIDE=1 takes every number, some minutes.
 */
#include <stdio.h>

#include "../check_main.h"
#include "machine.h"
#include "ref.h"

#ifndef FORMATS_STRIDE
#define FORMATS_STRIDE 2039
#endif

#define CHUNK 1024

static const uint8_t dtypes[] = {
	NEURON_DT_INT8,	  NEURON_DT_UINT8,  NEURON_DT_INT16,  NEURON_DT_UINT16, NEURON_DT_INT32,
	NEURON_DT_UINT32, NEURON_DT_BF16,   NEURON_DT_FP16,   NEURON_DT_FP32,	NEURON_DT_FP32R,
	NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5, NEURON_DT_TF32,
};

static uint8_t type_of(const char *name)
{
	for (uint8_t i = 0; i < NEURON_ISA_DTYPE_COUNT; i++)
		if (neuron_isa_dtypes[i].name && !strcmp(neuron_isa_dtypes[i].name, name))
			return i;
	ck_abort_msg("unknown type %s", name);
	return 0;
}

static uint32_t load_one(const struct exec_kernels *kern, uint8_t dtype, uint32_t raw)
{
	uint8_t in[TPB_SLACK + 4] = { 0 };
	float out[16];
	uint32_t bits;

	memcpy(in, &raw, 4);
	kern->load(dtype, out, in, 1);
	memcpy(&bits, out, 4);
	return bits;
}

static uint32_t store_one(const struct exec_kernels *kern, uint8_t dtype, uint32_t bits)
{
	uint32_t raw = 0;
	float in[16] = { 0 };

	memcpy(in, &bits, 4);
	kern->store(dtype, &raw, in, 1);
	return raw;
}

START_TEST(test_golden)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern);
	unsigned int codes = 0, rounds = 0;
	char line[80], name[16];
	uint8_t dtype = 0;
	uint32_t a, b;
	FILE *f = fopen(ISA_DATA "/fp8_golden.txt", "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "type %15s", name) == 1)
			dtype = type_of(name);
		for (unsigned int i = 0; i < n; i++) {
			if (sscanf(line, "code %x %x", &a, &b) == 2) {
				ck_assert_uint_eq(load_one(kern[i], dtype, a), b);
				ck_assert_uint_eq(store_one(kern[i], dtype, b), a);
				codes += !i;
			} else if (sscanf(line, "round %x %x", &a, &b) == 2) {
				ck_assert_uint_eq(store_one(kern[i], dtype, a), b);
				rounds += !i;
			}
		}
	}
	fclose(f);
	ck_assert_uint_eq(codes, 256 - 30 + 256 - 14 + 256 - 6);
	ck_assert_uint_gt(rounds, 2000);
}
END_TEST

/* Every code of the narrow types, and of the wide ones a walk through them */
START_TEST(test_loads)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern), size = neuron_isa_dtypes[dtypes[_i]].size;
	const uint64_t step = size < 4 ? 1 : FORMATS_STRIDE;

	for (uint64_t raw = 0; raw < 1ull << (8 * size); raw += step) {
		float want = ref_to_f32(dtypes[_i], (uint32_t)raw);
		uint32_t bits;

		memcpy(&bits, &want, 4);
		for (unsigned int i = 0; i < n; i++) {
			uint32_t got = load_one(kern[i], dtypes[_i], (uint32_t)raw);

			/* what kind of NaN does not show: arithmetic makes its own */
			if (want != want ? (got & 0x7fffffff) <= 0x7f800000 : got != bits)
				ck_abort_msg("%s: %#x is %#x, want %#x", kern[i]->name,
					     (uint32_t)raw, got, bits);
		}
	}
}
END_TEST

START_TEST(test_stores)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	const unsigned int n = machine_kernels(kern), size = neuron_isa_dtypes[dtypes[_i]].size;
	static uint8_t got[4 * CHUNK], want[4 * CHUNK];
	static float x[CHUNK + 16];

	for (uint64_t at = 0; at < 1ull << 32; at += (uint64_t)CHUNK * FORMATS_STRIDE) {
		for (unsigned int j = 0; j < CHUNK; j++) {
			uint32_t bits = (uint32_t)(at + (uint64_t)j * FORMATS_STRIDE), raw;

			memcpy(&x[j], &bits, 4);
			raw = ref_from_f32(dtypes[_i], x[j]);
			memcpy(want + (size_t)j * size, &raw, size);
		}
		for (unsigned int i = 0; i < n; i++) {
			kern[i]->store(dtypes[_i], got, x, CHUNK);
			if (memcmp(got, want, (size_t)CHUNK * size))
				ck_abort_msg("%s: type %s, from %#llx", kern[i]->name,
					     neuron_isa_dtypes[dtypes[_i]].name,
					     (unsigned long long)at);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("formats");
	TCase *tc = tcase_create("formats");

	tcase_add_test(tc, test_golden);
	tcase_add_loop_test(tc, test_loads, 0, sizeof(dtypes));
	tcase_add_loop_test(tc, test_stores, 0, sizeof(dtypes));
	suite_add_tcase(s, tc);
	return check_run(s);
}
