// SPDX-License-Identifier: MIT
/*
 * --compress-constants: a program with compressed constants has less of them, and the same results,
 * to the bit, as the one without (whose results others' tests compare with JAX's). What streams
 * hold is what the copies read, and noise stays as it is.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "machine/prog.h"
#include "ncc.h"
#include "neff.h"
#include "neuron/isa/compress.h"
#include "nrt/nrt.h"
#include "nrt/nrtx.h"

static const char *const paths[] = {
	"digits/digits.hlo.pb",
	"networks/lenet5/module.hlo.pb",
	"networks/mobilenet_v2/module.hlo.pb",
	"networks/bert_base/module.hlo.pb",
};
#define PATHS (int)(sizeof(paths) / sizeof(paths[0]))

static const struct {
	const char *target, *machine;
} chips[] = { { "trn1", "emu:trn1.2xlarge" }, { "trn2", "emu:trn2.3xlarge" } };

struct program {
	void *neff;
	size_t size;
	uint64_t constants, streams; /* bytes; descriptors that decompress */
	struct neff_model *model;
};

static void make(struct program *p, const char *path, const struct ncc_options *opt)
{
	const struct neff_limits limits = { .validate_hash = true, .target = opt->target };
	const struct neff_subgraph *sg;
	struct neff_error ne;
	struct ncc_error err;
	size_t size;
	void *hlo = read_data(path, &size);

	ck_assert_msg(!ncc_compile(hlo, size, opt, &p->neff, &p->size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(p->neff, p->size, &limits, &p->model, &ne), "%s", ne.text);
	free(hlo);
	sg = &p->model->subgraphs[0];
	p->constants = p->streams = 0;
	for (unsigned int i = 0; i < sg->nvars; i++)
		p->constants += sg->vars[i].type == NEFF_VAR_FILE ? sg->vars[i].size : 0;
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		for (unsigned int i = 0; i < sg->engine[e].ndma; i++)
			for (unsigned int k = 0; k < sg->engine[e].dma[i].ndesc; k++)
				p->streams += sg->engine[e].dma[i].desc[k].op == NEFF_DECOMPRESS;
}

/* Every element is something between -1 and 1, or, as an integer, small */
static void fill(uint8_t *x, const struct neff_var *v)
{
	for (uint64_t i = 0; i < v->size / 4; i++) {
		float f = (float)((int)(i * 7919 % 2001) - 1000) / 1000;
		uint32_t n = (uint32_t)(i % 7);

		memcpy(x + 4 * i, v->dtype == NEURON_DT_FP32 ? (void *)&f : (void *)&n, 4);
	}
}

/* Executes a program; returns the bytes of all outputs, one behind the other */
static uint8_t *execute(const struct program *p, size_t *size)
{
	const struct neff_subgraph *sg = &p->model->subgraphs[0];
	nrt_tensor_set_t *set[2];
	nrt_tensor_t *t[64];
	unsigned int n = 0;
	nrt_model_t *model;
	uint8_t *all = NULL;

	ck_assert_msg(!nrt_load(p->neff, p->size, 0, 1, &model), "%s", nrtx_error_details());
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(nrt_allocate_tensor_set(&set[i]), 0);
	*size = 0;
	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct neff_var *v = &sg->vars[i];
		bool in = v->type == NEFF_VAR_INPUT;
		uint8_t *x;

		if (!in && v->type != NEFF_VAR_OUTPUT)
			continue;
		ck_assert_uint_lt(n, 64);
		x = calloc(1, v->size);
		if (in)
			fill(x, v);
		ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, v->size,
						     v->name, &t[n]),
				 0);
		ck_assert_int_eq(nrt_tensor_write(t[n], x, 0, v->size), 0);
		ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set[!in], v->name, t[n++]), 0);
		free(x);
	}
	ck_assert_msg(!nrt_execute(model, set[0], set[1]), "%s", nrtx_error_details());
	for (unsigned int i = 0, k = 0; i < sg->nvars; i++) {
		const struct neff_var *v = &sg->vars[i];

		if (v->type == NEFF_VAR_INPUT)
			k++;
		if (v->type != NEFF_VAR_OUTPUT)
			continue;
		all = realloc(all, *size + v->size);
		ck_assert_int_eq(nrt_tensor_read(t[k++], all + *size, 0, v->size), 0);
		*size += v->size;
	}
	for (unsigned int i = 0; i < 2; i++)
		nrt_destroy_tensor_set(&set[i]);
	for (unsigned int i = 0; i < n; i++)
		nrt_tensor_free(&t[i]);
	ck_assert_int_eq(nrt_unload(model), 0);
	return all;
}

START_TEST(same_bits)
{
	struct ncc_options opt = { .target = neuron_target_of_name(chips[_i / PATHS].target),
				   .auto_cast = NCC_CAST_MATMULT };
	struct program plain, packed, again;
	size_t size, size2;
	uint8_t *a, *b;

	make(&plain, paths[_i % PATHS], &opt);
	opt.compress_constants = NCC_COMPRESS_ALWAYS;
	make(&packed, paths[_i % PATHS], &opt);
	make(&again, paths[_i % PATHS], &opt);
	ck_assert_uint_eq(plain.streams, 0);
	ck_assert_uint_gt(packed.streams, 0);
	ck_assert_uint_lt(packed.constants, plain.constants / 8 * 7);
	ck_assert_uint_eq(packed.size, again.size);
	ck_assert_mem_eq(packed.neff, again.neff, packed.size);

	ck_assert_int_eq(nrtx_machine_set(chips[_i / PATHS].machine), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), 0);
	a = execute(&plain, &size);
	b = execute(&packed, &size2);
	nrt_close();
	ck_assert_uint_eq(size, size2);
	ck_assert_mem_eq(a, b, size);
	for (size_t i = 0; i < size && !a[i]; i++)
		ck_assert_uint_lt(i, size - 1); /* something was computed */
	free(a);
	free(b);
	neff_free(plain.model);
	neff_free(packed.model);
	neff_free(again.model);
	free(plain.neff);
	free(packed.neff);
	free(again.neff);
}
END_TEST

#define BYTES 8192u

/* A constant that two copies read whole: in one piece, and in 128 of which a packet has no room */
static void two_copies(struct ncc_prog *p, bool noise)
{
	struct neff_desc *desc = calloc(2, sizeof(*desc));
	struct ncc_error err;
	uint32_t x = 1;
	uint8_t *data;
	int from, to;

	ncc_prog_init(p, neuron_target_of_name("trn1"));
	from = ncc_prog_var(p, NEFF_VAR_FILE, "constant", BYTES);
	to = ncc_prog_var(p, NEFF_VAR_VIRTUAL, "copy", 2 * BYTES);
	data = malloc(BYTES);
	for (unsigned int i = 0; i < BYTES; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(noise ? x >> 24 : (x >> 24) % 5);
	}
	p->var[from].data = data;
	for (unsigned int i = 0; i < 2; i++)
		desc[i] = (struct neff_desc){
			.from = { (uint32_t)from, 0, 1, { BYTES }, { 1 } },
			.to = { (uint32_t)to, BYTES * i, 1, { BYTES }, { 1 } },
		};
	desc[1].to.ndim = 2;
	desc[1].to.size[0] = desc[1].to.step[1] = BYTES / 128;
	desc[1].to.size[1] = 128;
	ck_assert_int_eq(ncc_prog_dma(p, NCC_Q_DATA, desc, 2, &err), 0);
	ck_assert_int_eq(ncc_compress_constants(p, NCC_COMPRESS_ALWAYS, &err), 0);
}

START_TEST(streams_hold)
{
	static struct neuron_stream_work work;
	static uint8_t raw[NEURON_STREAM_RAW_MAX], copy[2 * BYTES];
	const struct neff_var *v;
	struct ncc_prog p;
	uint32_t x = 1;

	two_copies(&p, false);
	v = &p.var[p.dma[0].desc[0].from.var];
	ck_assert_uint_lt(v->size, BYTES);
	for (unsigned int i = 0; i < p.dma[0].ndesc; i++) {
		const struct neff_desc *d = &p.dma[0].desc[i];
		const uint8_t *in = (uint8_t *)v->data + d->from.offset;
		const uint64_t n = ncc_pattern_bytes(&d->to);
		uint32_t bytes, size;

		ck_assert_int_eq(d->op, NEFF_DECOMPRESS);
		ck_assert_uint_le(d->from.offset + d->from.size[0], v->size);
		ck_assert_int_eq(neuron_stream_head(in, d->from.size[0],
						    neff_dtype_size(d->to_dtype), &bytes, &size),
				 NEURON_STREAM_OK);
		ck_assert_uint_eq(bytes, n);
		ck_assert_uint_le(d->to.offset + n, sizeof(copy));
		ck_assert_int_eq(neuron_decompress(in, size, neff_dtype_size(d->to_dtype), raw,
						   &work),
				 NEURON_STREAM_OK);
		memcpy(copy + d->to.offset, raw, n);
	}
	for (unsigned int i = 0; i < BYTES; i++) {
		x = x * 1664525 + 1013904223;
		ck_assert_uint_eq(copy[i], (x >> 24) % 5);
	}
	ck_assert_mem_eq(copy, copy + BYTES, BYTES);
	ncc_prog_free(&p);
}
END_TEST

START_TEST(noise_stays)
{
	struct ncc_prog p;

	two_copies(&p, true);
	ck_assert_uint_eq(p.compressed.constants, 0);
	ck_assert_uint_eq(p.var[p.dma[0].desc[0].from.var].size, BYTES);
	ck_assert_uint_eq(p.dma[0].ndesc, 2);
	ck_assert_int_eq(p.dma[0].desc[0].op, NEFF_COPY);
	ck_assert_int_eq(p.dma[0].desc[1].op, NEFF_COPY);
	ncc_prog_free(&p);
}
END_TEST

#define PIECE 4096u

/*
 * Of a trn1's DMA engine a copy of 4 KiB takes 64 ns and 256 for the bytes; a stream of s bytes 64,
 * and s / 16 but 128 at least. That is an eighth less with 3456 bytes or fewer; with 3584 it is
 * the bytes that are an eighth fewer. The host copies 4 KiB in 279 ns by its table and may take
 * 244; streams of one byte throughout, or of 2 or 16 elements, take 221, 253 or 346.
 */
START_TEST(decided_by_time)
{
	static const struct {
		unsigned int symbols, width; /* equally frequent elements of so many bytes */
		enum ncc_compress when;
		bool packed;
	} cases[] = {
		{ 16, 1, NCC_COMPRESS_ALWAYS, true },	{ 16, 1, NCC_COMPRESS_CHIP, true },
		{ 100, 1, NCC_COMPRESS_ALWAYS, true },	{ 100, 1, NCC_COMPRESS_CHIP, false },
		{ 250, 1, NCC_COMPRESS_ALWAYS, false }, { 250, 1, NCC_COMPRESS_CHIP, false },
		{ 1, 1, NCC_COMPRESS_AUTO, true },	{ 2, 4, NCC_COMPRESS_AUTO, false },
		{ 16, 4, NCC_COMPRESS_CHIP, true },	{ 16, 4, NCC_COMPRESS_AUTO, false },
		{ 16, 1, NCC_COMPRESS_AUTO, false },	{ 250, 1, NCC_COMPRESS_AUTO, false },
	};
	struct neff_desc *desc = calloc(1, sizeof(*desc));
	struct ncc_error err;
	struct ncc_prog p;
	uint32_t x = 1;
	uint8_t *data = malloc(PIECE);
	int from, to;

	ncc_prog_init(&p, neuron_target_of_name("trn1"));
	from = ncc_prog_var(&p, NEFF_VAR_FILE, "constant", PIECE);
	to = ncc_prog_var(&p, NEFF_VAR_VIRTUAL, "copy", PIECE);
	for (unsigned int i = 0; i < PIECE; i += cases[_i].width) {
		x = x * 1664525 + 1013904223;
		memset(data + i, (int)((x >> 16) % cases[_i].symbols), cases[_i].width);
	}
	p.var[from].data = data;
	*desc = (struct neff_desc){ .from = { (uint32_t)from, 0, 1, { PIECE }, { 1 } },
				    .to = { (uint32_t)to, 0, 1, { PIECE }, { 1 } } };
	ck_assert_int_eq(ncc_prog_dma(&p, NCC_Q_DATA, desc, 1, &err), 0);
	ck_assert_int_eq(ncc_compress_constants(&p, cases[_i].when, &err), 0);
	ck_assert_uint_eq(p.compressed.constants, cases[_i].packed);
	if (cases[_i].symbols == 100 && cases[_i].packed) {
		ck_assert_uint_gt(p.var[from].size, 3456);
		ck_assert_uint_le(p.var[from].size, 3584);
	}
	ncc_prog_free(&p);
}
END_TEST

/* 64 KiB that the host fills, and 64 KiB with indices of four bits, for which it takes long */
START_TEST(all_of_it_decides)
{
	const bool packed = _i;
	struct neff_desc *desc = calloc(2, sizeof(*desc));
	const uint32_t half = NEURON_STREAM_RAW_MAX;
	uint8_t *data = calloc(2, half);
	struct ncc_error err;
	struct ncc_prog p;
	int from, to;

	ncc_prog_init(&p, neuron_target_of_name("trn1"));
	from = ncc_prog_var(&p, NEFF_VAR_FILE, "constant", 2 * half);
	to = ncc_prog_var(&p, NEFF_VAR_VIRTUAL, "copy", 2 * half);
	for (uint32_t i = 0; i < half && !packed; i++)
		data[half + i] = (uint8_t)(i * i >> 3 & 15);
	p.var[from].data = data;
	for (unsigned int i = 0; i < 2; i++)
		desc[i] = (struct neff_desc){
			.from = { (uint32_t)from, half * i, 1, { half }, { 1 } },
			.to = { (uint32_t)to, half * i, 1, { half }, { 1 } }
		};
	ck_assert_int_eq(ncc_prog_dma(&p, NCC_Q_DATA, desc, 2, &err), 0);
	ck_assert_int_eq(ncc_compress_constants(&p, NCC_COMPRESS_AUTO, &err), 0);
	ck_assert_uint_eq(p.compressed.constants, packed);
	ncc_prog_free(&p);
}
END_TEST

START_TEST(auto_is_none_for_inf1)
{
	struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_error err;
	size_t size, size2, n;
	void *hlo = read_data(paths[0], &n), *plain, *neff;

	ck_assert_int_eq(ncc_compile(hlo, n, &opt, &plain, &size, &err), 0);
	opt.compress_constants = NCC_COMPRESS_AUTO;
	ck_assert_int_eq(ncc_compile(hlo, n, &opt, &neff, &size2, &err), 0);
	ck_assert_uint_eq(size, size2);
	ck_assert_mem_eq(plain, neff, size);
	free(hlo);
	free(plain);
	free(neff);
}
END_TEST

START_TEST(not_for_inf1)
{
	const struct ncc_options opt = { .compress_constants = NCC_COMPRESS_ALWAYS };
	struct ncc_error err;
	size_t size, n;
	void *hlo = read_data(paths[0], &n), *neff;

	ck_assert_int_eq(ncc_compile(hlo, n, &opt, &neff, &size, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "constants cannot be compressed: "
					       "the target 'inf1'"));
	free(hlo);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compress");
	TCase *t = tcase_create("compress");

	tcase_add_loop_test(t, same_bits, 0, 2 * PATHS);
	tcase_add_test(t, streams_hold);
	tcase_add_test(t, noise_stays);
	tcase_add_loop_test(t, decided_by_time, 0, 12);
	tcase_add_loop_test(t, all_of_it_decides, 0, 2);
	tcase_add_test(t, not_for_inf1);
	tcase_add_test(t, auto_is_none_for_inf1);
	suite_add_tcase(s, t);
	return check_run(s);
}
