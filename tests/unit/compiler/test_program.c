// SPDX-License-Identifier: MIT
/*
 * What ncc_program.h says of programs, against what their authors wrote
 * (tests/data/stablehlo/make.py): arrays, donation, identities; and modules that contradict
 * themselves
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "files.h"
#include "modules.h"
#include "ncc_program.h"

#define ADD "hlo/add/module.hlo.pb"

static struct ncc_program *read_bytes(const void *model, size_t size)
{
	struct ncc_error err = { "" };
	struct ncc_program *p;

	ck_assert_msg(!ncc_program_read(model, size, &p, &err), "%s", err.text);
	return p;
}

static struct ncc_program *read_file(const char *path)
{
	struct ncc_program *p;
	size_t size;
	void *model = read_data(path, &size);

	p = read_bytes(model, size);
	free(model);
	return p;
}

/* Frees m */
static struct ncc_program *read_module(Ncc__Hlo__Module *m, struct ncc_error *err)
{
	size_t size = ncc__hlo__module__get_packed_size(m);
	uint8_t *buf = malloc(size + 1);
	struct ncc_program *p;

	ncc__hlo__module__pack(m, buf);
	ncc__hlo__module__free_unpacked(m, NULL);
	if (!ncc_program_read(buf, size, &p, err))
		err->text[0] = 0;
	else
		ck_assert_ptr_null(p);
	free(buf);
	return p;
}

static void is_array(const struct ncc_array *a, int type, unsigned int ndim, int64_t d0, int64_t d1)
{
	ck_assert_int_eq(a->type, type);
	ck_assert_uint_eq(a->ndim, ndim);
	ck_assert_int_eq(a->dim[0], d0);
	ck_assert_int_eq(a->dim[1], d1);
}

static void is_donated(const struct ncc_program *p)
{
	const int alias[] = { 1, -1, -1, 2, -1, -1 }, same[] = { -1, 1, 0, 2, 0, -1 };

	ck_assert_str_eq(p->name, "jit_donated");
	ck_assert_uint_eq(p->nin, 3);
	ck_assert_uint_eq(p->nout, 6);
	for (unsigned int i = 0; i < 3; i++) {
		is_array(&p->in[i], i < 2 ? 11 : 4, i < 2 ? 2 : 1, i < 2 ? 4 : 7, i < 2 ? 3 : 0);
		ck_assert(!p->donor[i]);
	}
	for (unsigned int i = 0; i < 6; i++) {
		const bool c = i == 3 || i == 5;

		is_array(&p->out[i], c ? 4 : 11, c ? 1 : 2, c ? 7 : 4, c ? 0 : 3);
		ck_assert_int_eq(p->alias[i], alias[i]);
		ck_assert_int_eq(p->same[i], same[i]);
	}
	ck_assert_uint_eq(p->replicas, 1);
	ck_assert_uint_eq(p->partitions, 1);
}

START_TEST(donated)
{
	static const char *const files[] = { "stablehlo/donated.hlo.pb", "stablehlo/"
									 "donated.mlirbc" };

	for (unsigned int i = 0; i < 2; i++) {
		struct ncc_program *p = read_file(files[i]);

		is_donated(p);
		ncc_program_free(p);
	}
}
END_TEST

/* Has a partition only a part of an argument or a result? */
static bool is_divided(const struct ncc_program *p)
{
	bool any = false;

	for (unsigned int i = 0; i < p->nin; i++)
		any |= p->in_tiling[i] != NULL;
	for (unsigned int i = 0; i < p->nout; i++)
		any |= p->out_tiling[i] != NULL;
	return any;
}

/* A result that is no tuple */
START_TEST(donated_one)
{
	static const char *const files[] = { "stablehlo/donated_one.hlo.pb", "stablehlo/"
									     "donated_one.mlirbc" };

	for (unsigned int i = 0; i < 2; i++) {
		struct ncc_program *p = read_file(files[i]);

		ck_assert_uint_eq(p->nout, 1);
		ck_assert(!is_divided(p));
		ck_assert_int_eq(p->alias[0], 1);
		ncc_program_free(p);
	}
}
END_TEST

static void is_donors(const char *path, unsigned int partitions)
{
	struct ncc_program *p = read_file(path);

	ck_assert_uint_eq(p->nin, 2);
	ck_assert_uint_eq(p->nout, 1);
	ck_assert(p->donor[0]);
	ck_assert(!p->donor[1]);
	ck_assert_int_eq(p->alias[0], -1);
	ck_assert_int_eq(p->same[0], -1);
	ck_assert_uint_eq(p->replicas, 1);
	ck_assert_uint_eq(p->partitions, partitions);
	ck_assert(is_divided(p) == (partitions > 1));
	ncc_program_free(p);
}

static char *ir_of(const void *model, size_t size)
{
	struct ncc_options opt = { .auto_cast = NCC_CAST_NONE, .print_elements = 16 };
	struct ncc_error err;
	size_t n, out_size;
	char *text = NULL;
	void *out;

	opt.print_ir = open_memstream(&text, &n);
	ck_assert_msg(!ncc_compile(model, size, &opt, &out, &out_size, &err), "%s", err.text);
	fclose(opt.print_ir);
	free(out);
	return text;
}

static void same_program(const void *a, size_t na, const void *b, size_t nb)
{
	char *x = ir_of(a, na), *y = ir_of(b, nb);

	ck_assert_str_eq(x, y);
	free(x);
	free(y);
}

/* Only the artifact says on how many devices it runs. */
START_TEST(donors)
{
	is_donors("stablehlo/donors.parts.hlo.pb", 1);
	is_donors("stablehlo/donors.parts.mlirbc", 4);
}
END_TEST

/* An argument's sharding in XLA's text, divided or all on one device */
START_TEST(divided)
{
	static const char program[] = "module attributes {mhlo.num_partitions = %c : i32} { "
				      "func.func @main(%%a: "
				      "tensor<8xf32> {mhlo.sharding = \"{%s}\"}) -> tensor<8xf32> "
				      "{ return %%a : "
				      "tensor<8xf32> } }";
	static const struct {
		char partitions;
		const char *sharding;
		bool divided;
	} rows[] = { { '2', "devices=[2]<=[2]", true },
		     { '2', "replicated", false },
		     { '1', "devices=[1]<=[1]", false } };
	struct ncc_program *p;
	struct ncc_error err;
	char text[300];

	snprintf(text, sizeof(text), program, rows[_i].partitions, rows[_i].sharding);
	ck_assert_msg(!ncc_program_read(text, strlen(text), &p, &err), "%s", err.text);
	ck_assert_uint_eq(p->partitions, (unsigned int)(rows[_i].partitions - '0'));
	ck_assert(is_divided(p) == rows[_i].divided);
	ck_assert_int_eq(p->in[0].dim[0], rows[_i].divided ? 4 : 8);
	ncc_program_free(p);
}
END_TEST

static const char infeed[] = "module {\n"
			     "func.func @main() -> tensor<4xf32> {\n"
			     "%t = stablehlo.create_token : !stablehlo.token\n"
			     "%a, %b = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : "
			     "(!stablehlo.token) -> "
			     "(tensor<4xf32>, !stablehlo.token)\n"
			     "return %a : tensor<4xf32>\n"
			     "}\n"
			     "}\n";

/* The HLO of an artifact is the program that the artifact is */
START_TEST(as_hlo)
{
	size_t size, hlo_size, again_size;
	void *file = read_data("stablehlo/flow.mlirbc", &size), *hlo, *again;
	struct ncc_error err;

	ck_assert_msg(!ncc_program_hlo(file, size, &hlo, &hlo_size, &err), "%s", err.text);
	ck_assert_msg(!ncc_program_hlo(hlo, hlo_size, &again, &again_size, &err), "%s", err.text);
	ck_assert_uint_eq(hlo_size, again_size);
	ck_assert_mem_eq(hlo, again, hlo_size);
	same_program(file, size, hlo, hlo_size);
	free(file);
	free(hlo);
	free(again);

	ck_assert_int_eq(ncc_program_hlo(infeed, strlen(infeed), &hlo, &hlo_size, &err), -ENOTSUP);
	ck_assert_msg(strstr(err.text, "stablehlo.infeed: not supported as HLO"), "%s", err.text);
}
END_TEST

/* Puts a field of bytes, or a number, behind what there is */
static size_t put(uint8_t *to, size_t at, uint8_t tag, const void *bytes, size_t n)
{
	to[at++] = tag;
	for (size_t left = n;; left >>= 7) {
		to[at++] = (uint8_t)(left & 0x7f) | (left > 0x7f ? 0x80 : 0);
		if (left <= 0x7f)
			break;
	}
	if (bytes)
		memcpy(to + at, bytes, n);
	return at + (bytes ? n : 0);
}

/* HloModuleProtoWithConfig: { hlo_module 1, config 2 { replica_count 4, num_partitions 5 } } */
START_TEST(with_config)
{
	uint8_t config[16];
	size_t size, n = put(config, 0, 4 << 3, NULL, 2), at, out_size;
	uint8_t *module, *file;
	struct ncc_error err;
	struct ncc_program *p;
	void *out;

	n = put(config, n, 5 << 3, NULL, 300);
	module = read_data("stablehlo/donated.hlo.pb", &size);
	file = malloc(size + 64);
	at = put(file, 0, 1 << 3 | 2, module, size);
	at = put(file, at, 2 << 3 | 2, config, n);
	p = read_bytes(file, at);
	ck_assert_uint_eq(p->replicas, 2);
	ck_assert_uint_eq(p->partitions, 300);
	ck_assert_str_eq(p->name, "jit_donated");
	ck_assert_uint_eq(p->nout, 6);
	ncc_program_free(p);

	ck_assert_int_eq(ncc_program_hlo(file, at, &out, &out_size, &err), 0);
	ck_assert_uint_eq(out_size, size);
	ck_assert_mem_eq(out, module, size);
	free(out);
	free(file);
	free(module);
}
END_TEST

/* A root that is a parameter, an array and no tuple; and one of another shape than it says */
START_TEST(identity)
{
	Ncc__Hlo__Module *m = unpack(ADD);
	struct ncc_program *p;
	struct ncc_error err;

	entry(m)->root_id = find(m, "parameter")->id;
	p = read_module(m, &err);
	ck_assert_uint_eq(p->nout, 1);
	ck_assert_int_eq(p->same[0], 0);
	ncc_program_free(p);
	m = unpack("stablehlo/donated.hlo.pb");
	find(m, "tuple")->shape->tuple_shapes[3]->element_type = 5;
	p = read_module(m, &err);
	ck_assert_int_eq(p->same[1], 1);
	ck_assert_int_eq(p->same[3], -1);
	ncc_program_free(p);
}
END_TEST

static void refuse(Ncc__Hlo__Module *m, const char *text)
{
	struct ncc_error err = { "" };
	struct ncc_program *p = read_module(m, &err);

	ck_assert_msg(!p && strstr(err.text, text), "%s", err.text);
}

/* The comparison of a sort in a program for several devices, as JAX 0.6 writes it */
START_TEST(scalars_of_each)
{
	static const char text[] = "func.func @main(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {\n"
				   "  %0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> ({\n"
				   "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
				   "    %c = stablehlo.broadcast_in_dim %b, dims = [] : "
				   "(tensor<f32>) -> tensor<f32>\n"
				   "    %1 = stablehlo.compare LT, %a, %c : (tensor<f32>, "
				   "tensor<f32>) -> tensor<i1>\n"
				   "    stablehlo.return %1 : tensor<i1>\n"
				   "  }) : (tensor<16x8xf32>) -> tensor<16x8xf32>\n"
				   "  return %0 : tensor<16x8xf32>\n}\n";
	const struct ncc_options opt = { .framework = NCC_XLA,
					 .target = neuron_target_of_name("trn1") };
	struct ncc_error err;
	size_t size;
	void *neff;

	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	free(neff);
}
END_TEST

START_TEST(contradictions)
{
	Ncc__Hlo__Module *m = unpack("stablehlo/donated.hlo.pb");

	m->input_output_alias->entries[0]->parameter_number = 3;
	refuse(m, "input_output_alias");
	m = unpack("stablehlo/donated.hlo.pb");
	m->input_output_alias->entries[0]->output_shape_index[0] = 6;
	refuse(m, "input_output_alias");
	m = unpack("stablehlo/donated.hlo.pb");
	m->input_output_alias->entries[0]->n_output_shape_index = 0;
	refuse(m, "input_output_alias");
	m = unpack("stablehlo/donors.parts.hlo.pb");
	m->buffer_donor->entries[0]->parameter_number = -1;
	refuse(m, "buffer_donor");
	m = unpack(ADD);
	find(m, "parameter")->parameter_number = 2;
	refuse(m, "bad parameter number 2");
	m = unpack(ADD);
	entry(m)->root_id = 1 << 20;
	refuse(m, "the root instruction does not exist");
	m = unpack(ADD);
	m->entry_computation_id++;
	refuse(m, "no entry computation");
	m = unpack(ADD);
	find(m, "parameter")->shape->element_type = 99;
	refuse(m, "element type 99");
	m = unpack(ADD);
	find(m, "parameter")->shape->dimensions[0] = -1;
	refuse(m, "a dimension of -1");
}
END_TEST

/* A compilation ends wherever nobody wants it any more, and leaves nothing. */

static bool not_wanted(void *opaque)
{
	return !--*(unsigned int *)opaque;
}

START_TEST(cancelled)
{
	unsigned int left = 0;
	struct ncc_options opt = { .cancelled = not_wanted, .opaque = &left };
	unsigned int asked, n = 0;
	struct ncc_error err;
	size_t size, out_size;
	void *model = read_data(ADD, &size), *out;

	ck_assert_int_eq(ncc_compile(model, size, &opt, &out, &out_size, &err), 0);
	asked = 0u - left;
	free(out);
	ck_assert_uint_ge(asked, 20);
	for (n = 1; n <= asked; n++) {
		left = n;
		ck_assert_int_eq(ncc_compile(model, size, &opt, &out, &out_size, &err), -ECANCELED);
		ck_assert_ptr_null(out);
		ck_assert_str_eq(err.text, "interrupted");
		ck_assert_uint_eq(left, 0); /* it was not asked again */
	}
	free(model);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("program");
	TCase *tc = tcase_create("program");

	tcase_add_test(tc, donated);
	tcase_add_test(tc, donated_one);
	tcase_add_test(tc, donors);
	tcase_add_loop_test(tc, divided, 0, 3);
	tcase_add_test(tc, as_hlo);
	tcase_add_test(tc, with_config);
	tcase_add_test(tc, identity);
	tcase_add_test(tc, scalars_of_each);
	tcase_add_test(tc, contradictions);
	tcase_add_test(tc, cancelled);
	suite_add_tcase(s, tc);
	return check_run(s);
}
