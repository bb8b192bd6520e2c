// SPDX-License-Identifier: MIT
/*
 * --hardware-rng on chips in process: what modules draw are the words of docs/isa.md, section 13,
 * in the order of docs/compiler-operations.md, Random numbers, from scalar C here; they pass for
 * random; what is not left open stays as it is; inf1 has no generator.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "chip.h"
#include "files.h"
#include "frontend/hlo/hlo.pb-c.h"
#include "npy.h"
#include "nrt/nrtx.h"
#include "running.h"

#define LANES 128
#define PART (LANES * 2048) /* words of one seed */
#define FEW 512 /* words that one lane gives */
#define EVERY 4099 /* of many bits these are outputs (tests/data/hlo_ops/randoms.py) */
#define MOST_OUTPUTS 12

static uint32_t mix(uint32_t seed, uint32_t lane)
{
	uint32_t h = seed + (lane + 1) * 0x9e3779b9u;

	h ^= h >> 16;
	h *= 0x85ebca6bu;
	h ^= h >> 13;
	h *= 0xc2b2ae35u;
	h ^= h >> 16;
	return h ? h : 1;
}

/* n words for a seed; free() them */
static uint32_t *drawn(uint32_t seed, size_t n)
{
	uint32_t *word = malloc(n * sizeof(*word) + 4);

	ck_assert_ptr_nonnull(word);
	for (size_t first = 0; first < n; first += PART) {
		const size_t m = n - first < PART ? n - first : PART;
		const size_t lanes = m <= FEW ? 1 : LANES, row = (m + lanes - 1) / lanes;
		const uint32_t of = seed ^ (uint32_t)(first / PART) * 0x6c078965u;

		for (size_t i = 0, x = 0; i < m; i++) {
			uint32_t y = i % row ? (uint32_t)x : mix(of, (uint32_t)(i / row));

			y ^= y << 13;
			y ^= y >> 17;
			y ^= y << 5;
			word[first + i] = y;
			x = y;
		}
	}
	return word;
}

static uint32_t turned(uint32_t x, unsigned int n)
{
	return n ? x << n | x >> (32 - n) : x;
}

static uint32_t seed_of(const uint32_t *state, unsigned int n)
{
	uint32_t seed = 0;

	for (unsigned int i = 0; i < n; i++)
		seed ^= turned(state[i], i % 4 * 8);
	return seed;
}

static uint32_t seed_of_name(const char *name, uint32_t number)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619u;
	return h ^ number * 0x85ebca6bu;
}

/* The counter, the two words after the key, as Philox counts its blocks of four words */
static void count(uint32_t *state, size_t words)
{
	uint64_t c = state[2] | (uint64_t)state[3] << 32;

	c += (words + 3) / 4;
	ck_assert_uint_gt(c, (words + 3) / 4); /* no carry into the key in these cases */
	state[2] = (uint32_t)c;
	state[3] = (uint32_t)(c >> 32);
}

struct run {
	struct running running;
	void *got[MOST_OUTPUTS];
};

static void *compiled(const void *hlo, size_t size, size_t *neff_size)
{
	const struct ncc_options opt = { .target = compile_target,
					 .auto_cast = NCC_CAST_MATMULT,
					 .hardware_rng = true };
	struct ncc_error err;
	void *neff;

	ck_assert_msg(!ncc_compile(hlo, size, &opt, &neff, neff_size, &err), "%s", err.text);
	return neff;
}

static void *module(const char *name, size_t *size)
{
	char path[128];

	snprintf(path, sizeof(path), "hlo_ops/%s/module.hlo.pb", name);
	return read_data(path, size);
}

/* Makes every rng-bit-generator one of this algorithm; frees the old module */
static void *by_algorithm(void *hlo, size_t *size, int algorithm)
{
	Ncc__Hlo__Module *proto = ncc__hlo__module__unpack(NULL, *size, hlo);

	ck_assert_ptr_nonnull(proto);
	free(hlo);
	for (size_t i = 0; i < proto->n_computations; i++)
		for (size_t k = 0; k < proto->computations[i]->n_instructions; k++)
			if (!strcmp(proto->computations[i]->instructions[k]->opcode, "rng-bit-"
										     "generator"))
				proto->computations[i]->instructions[k]->rng_algorithm = algorithm;
	*size = ncc__hlo__module__get_packed_size(proto);
	hlo = malloc(*size);
	ck_assert_ptr_nonnull(hlo);
	ncc__hlo__module__pack(proto, hlo);
	ncc__hlo__module__free_unpacked(proto, NULL);
	return hlo;
}

static void read_input(const char *name, unsigned int i, struct npy *x)
{
	const char *why = "";
	char path[256];

	snprintf(path, sizeof(path), "%s/hlo_ops/%s/in%u.npy", TEST_DATA, name, i);
	ck_assert_msg(!npy_read(path, x, &why), "%s: %s", path, why);
}

/* Executes twice, with the same results, and reads the outputs, of so many bytes each. */
static void execute(struct run *r, const void *neff, size_t size, const struct npy *in,
		    unsigned int nin, const size_t *bytes, unsigned int nout)
{
	struct running *on = &r->running;
	size_t in_size[2] = { 0 };

	for (unsigned int i = 0; i < nin; i++)
		in_size[i] = in[i].size;
	*r = (struct run){ 0 };
	running_begin(on, neff, size, in_size, nin, bytes, nout);
	for (unsigned int i = 0; i < nin; i++)
		ck_assert_int_eq(nrt_tensor_write(on->tin[i], in[i].data, 0, in[i].size), 0);
	for (unsigned int n = 0; n < 2; n++) {
		ck_assert_msg(!nrt_execute(on->model, on->in, on->out), "%s", nrtx_error_details());
		for (unsigned int i = 0; i < nout; i++) {
			void *x = malloc(bytes[i]);

			ck_assert_ptr_nonnull(x);
			ck_assert_int_eq(nrt_tensor_read(on->tout[i], x, 0, bytes[i]), 0);
			ck_assert_msg(!n || !memcmp(x, r->got[i], bytes[i]),
				      "output %u: other bits in another execution", i);
			free(r->got[i]);
			r->got[i] = x;
		}
	}
}

static void finish(struct run *r)
{
	for (unsigned int i = 0; i < r->running.nout; i++)
		free(r->got[i]);
	running_unload(&r->running);
}

/* Every type and a few shapes, each call with the state that the one before left */
START_TEST(types)
{
	static const struct {
		size_t size, n;
	} call[] = { { 1, 15 }, { 2, 315 }, { 4, 1 }, { 4, 18 }, { 1, 8 }, { 4, 1001 } };
	size_t bytes[MOST_OUTPUTS], size, neff_size;
	void *hlo = module("rng_bits_default", &size), *neff = compiled(hlo, size, &neff_size);
	uint32_t state[4];
	struct npy in;
	struct run r;

	for (unsigned int i = 0; i < 6; i++) {
		bytes[2 * i] = sizeof(state);
		bytes[2 * i + 1] = call[i].size * call[i].n;
	}
	read_input("rng_bits_default", 0, &in);
	memcpy(state, in.data, sizeof(state));
	execute(&r, neff, neff_size, &in, 1, bytes, 12);
	for (unsigned int i = 0; i < 6; i++) {
		uint32_t *word = drawn(seed_of(state, 4), call[i].n);
		const uint8_t *got = r.got[2 * i + 1];

		for (size_t k = 0; k < call[i].n; k++)
			ck_assert_msg(!memcmp(got + k * call[i].size, &word[k], call[i].size),
				      "call %u: element %zu", i, k);
		free(word);
		count(state, call[i].n);
		ck_assert_msg(!memcmp(r.got[2 * i], state, sizeof(state)), "call %u: state", i);
	}
	finish(&r);
	npy_free(&in);
	free(hlo);
	free(neff);
}
END_TEST

/* Many bits: of one part, and of five, the last of which is one lane's */
START_TEST(parts)
{
	static const struct {
		const char *name;
		size_t n;
	} of[] = { { "rng_many_default", 263 * 521 }, { "rng_parts_philox", (1 << 20) + 5 } };
	const size_t n = of[_i].n, few = (n + EVERY - 1) / EVERY;
	const size_t bytes[] = { 16, 4 * few, 4, 4 };
	uint32_t state[4], sum[2] = { 0, 0 }, *word;
	size_t size, neff_size;
	void *hlo = by_algorithm(module(of[_i].name, &size), &size, 0), *neff;
	struct npy in;
	struct run r;

	neff = compiled(hlo, size, &neff_size);
	read_input(of[_i].name, 0, &in);
	memcpy(state, in.data, sizeof(state));
	word = drawn(seed_of(state, 4), n);
	execute(&r, neff, neff_size, &in, 1, bytes, 4);
	for (size_t i = 0; i < n; i++) {
		sum[0] += word[i];
		sum[1] += word[i] >> 16;
		if (i % EVERY == 0)
			ck_assert_uint_eq(((uint32_t *)r.got[1])[i / EVERY], word[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_uint_eq(*(uint32_t *)r.got[2 + i], sum[i]);
	free(word);
	finish(&r);
	npy_free(&in);
	free(hlo);
	free(neff);
}
END_TEST

/* rng: uniform numbers between two parameters, whose seed is the module's name and their number */
START_TEST(uniform)
{
	const size_t bytes[] = { 80000, 30 };
	size_t size, neff_size;
	void *hlo = module("rng_floats", &size), *neff = compiled(hlo, size, &neff_size);
	uint32_t *word = drawn(seed_of_name("rng_floats", 0), 20000);
	struct npy in[2];
	struct run r;
	float a, b;

	for (unsigned int i = 0; i < 2; i++)
		read_input("rng_floats", i, &in[i]);
	memcpy(&a, in[0].data, 4);
	memcpy(&b, in[1].data, 4);
	execute(&r, neff, neff_size, in, 2, bytes, 2);
	for (size_t i = 0; i < 20000; i++) {
		const float u = (float)(word[i] >> 8) * 0x1p-24f, span = b - a;
		const float scaled = u * span, x = scaled + a;

		ck_assert_msg(!memcmp((float *)r.got[0] + i, &x, 4), "number %zu", i);
	}
	finish(&r);
	for (unsigned int i = 0; i < 2; i++)
		npy_free(&in[i]);
	free(word);
	free(hlo);
	free(neff);
}
END_TEST

#define SIGMAS 5

/* The chi-square of n counts that should be equal, in standard deviations off */
static double off(const uint32_t *n, unsigned int cells, double all)
{
	double x = 0, want = all / cells;

	for (unsigned int i = 0; i < cells; i++)
		x += (n[i] - want) * (n[i] - want) / want;
	return (x - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

/*
 * Words of several seeds: bytes are as frequent as each other, and so are pairs of a word's highest
 * byte's halves with the word's behind it, and with the next lane's
 */
START_TEST(statistics)
{
	const size_t n = PART, row = n / LANES;

	for (uint32_t seed = 0; seed < 4; seed++) {
		uint32_t *word = drawn(seed * 77, n);
		uint32_t byte[4][256] = { 0 }, next[256] = { 0 }, lane[256] = { 0 };

		for (size_t i = 0; i + row < n; i++) {
			for (unsigned int k = 0; k < 4; k++)
				byte[k][word[i] >> 8 * k & 0xff]++;
			next[(word[i] >> 28) << 4 | word[i + 1] >> 28]++;
			lane[(word[i] >> 28) << 4 | word[i + row] >> 28]++;
		}
		for (unsigned int k = 0; k < 4; k++)
			ck_assert_double_lt(fabs(off(byte[k], 256, (double)(n - row))), SIGMAS);
		ck_assert_double_lt(fabs(off(next, 256, (double)(n - row))), SIGMAS);
		ck_assert_double_lt(fabs(off(lane, 256, (double)(n - row))), SIGMAS);
		free(word);
	}
}
END_TEST

/* An algorithm that the model names is its, whatever the option says: the same program */
START_TEST(named)
{
	struct ncc_options opt = { .target = compile_target };
	size_t size, n[2];
	void *hlo = module("rng_bits_philox", &size), *neff[2];
	struct ncc_error err;

	for (unsigned int i = 0; i < 2; i++) {
		opt.hardware_rng = i;
		ck_assert_msg(!ncc_compile(hlo, size, &opt, &neff[i], &n[i], &err), "%s", err.text);
	}
	ck_assert_uint_eq(n[0], n[1]);
	ck_assert(!memcmp(neff[0], neff[1], n[0]));
	for (unsigned int i = 0; i < 2; i++)
		free(neff[i]);
	free(hlo);
}
END_TEST

START_TEST(refused)
{
	static const char ir[] = "module \"m\"\n  %0 = u32[1,1] parameter index=0 \"a\"\n"
				 "  %1 = u32[3,5] random %0 \"b\"\n  return %1\n";
	const struct ncc_options opt[] = { { .hardware_rng = true }, { .framework = NCC_IR } };
	struct ncc_error err;
	size_t size, n;
	void *hlo = module("rng_floats", &size), *neff;

	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(ncc_compile(i ? ir : hlo, i ? strlen(ir) : size, &opt[i], &neff,
					     &n, &err),
				 -EINVAL);
		ck_assert_msg(strstr(err.text, "'inf1' has no generator") != NULL, "%s", err.text);
	}
	free(hlo);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hardware_rng");
	TCase *t = tcase_create("hardware_rng");
	int failed;

	compile_target = chip_start();
	if (!compile_target)
		return 1;
	tcase_add_test(t, types);
	tcase_add_loop_test(t, parts, 0, 2);
	tcase_add_test(t, uniform);
	tcase_add_test(t, statistics);
	tcase_add_test(t, named);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
