// SPDX-License-Identifier: MIT
/*
 * Programs whose arrays are divided among devices (tests/data/spmd): each device's program has the
 * parts that XLA's own partitioner gives it, and passes at most a fifth more bytes than XLA's. What
 * cannot be divided is refused by name. That values are right tests/frameworks says.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "frontend/hlo/file.h"
#include "frontend/hlo/hlo.h"
#include "ncc_program.h"
#include "frontend/stablehlo/stablehlo.h"

static const char *const names[] = {
	"constrained",	 "contracted", "data_parallel",	 "dropout", "elementwise",
	"fully_sharded", "image",      "image_gradient", "layers",  "product",
	"reductions",	 "rows",       "transposed",	 "turned",
};
#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

static const struct {
	const char *name;
	int number;
	unsigned int size;
} types[] = {
	{ "pred", HLO_PRED, 1 }, { "s32", HLO_S32, 4 }, { "u32", HLO_U32, 4 },
	{ "u64", HLO_U64, 8 },	 { "f32", HLO_F32, 4 },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* "f32 2 8" */
static void is_array(const struct ncc_array *a, char *text)
{
	char *save, *word = strtok_r(text, " \n", &save);
	unsigned int d = 0, t = 0;

	while (t < TYPES && strcmp(types[t].name, word))
		t++;
	ck_assert_uint_lt(t, TYPES);
	ck_assert_int_eq(a->type, types[t].number);
	while ((word = strtok_r(NULL, " \n", &save))) {
		ck_assert_uint_lt(d, a->ndim);
		ck_assert_int_eq(a->dim[d++], atoll(word));
	}
	ck_assert_uint_eq(d, a->ndim);
}

static uint64_t bytes_of(const Ncc__Hlo__Shape *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		n += bytes_of(s->tuple_shapes[i]);
	for (unsigned int t = 0; t < TYPES; t++)
		if (types[t].number == s->element_type)
			n += types[t].size;
	for (size_t d = 0; d < s->n_dimensions; d++)
		n *= (uint64_t)s->dimensions[d];
	return n;
}

static const Ncc__Hlo__Instruction *operand(const Ncc__Hlo__Computation *c, int64_t id)
{
	for (size_t i = 0; i < c->n_instructions; i++)
		if (c->instructions[i]->id == id)
			return c->instructions[i];
	ck_abort_msg("no operand %lld", (long long)id);
}

/* The bytes that a computation passes between devices, counted as make.py does */
static uint64_t passed_by(const Ncc__Hlo__Computation *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = c->instructions[i];

		if (!strcmp(p->opcode, "all-gather"))
			n += bytes_of(p->shape);
		else if (!strcmp(p->opcode, "all-reduce"))
			n += 2 * bytes_of(p->shape);
		else if (!strcmp(p->opcode, "reduce-scatter") || !strcmp(p->opcode, "all-to-all"))
			n += bytes_of(operand(c, p->operand_ids[0])->shape);
	}
	return n;
}

static uint64_t passed(const void *model, size_t size)
{
	struct hlo_file f;
	struct ncc_error err;
	uint64_t n = 0;

	ck_assert_msg(!stablehlo_read(model, size, &f, &err), "%s", err.text);
	for (size_t i = 0; i < f.proto->n_computations; i++)
		n += passed_by(f.proto->computations[i]);
	hlo_file_free(&f);
	return n;
}

static void *read_of(const char *name, const char *suffix, size_t *size)
{
	char path[100];

	snprintf(path, sizeof(path), "spmd/%s.%s", name, suffix);
	return read_data(path, size);
}

START_TEST(parts)
{
	size_t size, wanted_size;
	void *model = read_of(names[_i], "mlir", &size);
	char *wanted = read_of(names[_i], "txt", &wanted_size), *save, *line, *copy;
	unsigned int in = 0, out = 0;
	struct ncc_program *p;
	struct ncc_error err;

	ck_assert_msg(!ncc_program_read(model, size, &p, &err), "%s", err.text);
	copy = strndup(wanted, wanted_size);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "in ", 3)) {
			ck_assert_uint_lt(in, p->nin);
			is_array(&p->in[in++], line + 3);
		} else if (!strncmp(line, "out ", 4)) {
			ck_assert_uint_lt(out, p->nout);
			is_array(&p->out[out++], line + 4);
		} else {
			ck_assert_uint_le(10 * passed(model, size),
					  12 * strtoull(line + 6, NULL, 10));
		}
	ck_assert_uint_eq(in, p->nin);
	ck_assert_uint_eq(out, p->nout);
	ncc_program_free(p);
	free(copy);
	free(wanted);
	free(model);
}
END_TEST

/* Each device has the rows of x that the order of the mesh gives it. */
START_TEST(places)
{
	static const uint8_t rows[] = { 2, 0, 3, 1 };
	struct ncc_program *p;
	struct ncc_error err;
	static const char program[] = "module attributes {mhlo.num_partitions = 4 : i32} {"
				      "sdy.mesh @m = <[\"a\"=2, \"b\"=2], device_ids=[1, 3, 0, 2]>"
				      "func.func @main(%a: tensor<8x3xf32> {sdy.sharding = "
				      "#sdy.sharding<@m, [{\"a\", \"b\"}, {}]>})"
				      " -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, "
				      "[{\"b\"}, {}]>}) {"
				      "return %a : tensor<8x3xf32> } }";

	ck_assert_msg(!ncc_program_read(program, strlen(program), &p, &err), "%s", err.text);
	ck_assert_int_eq(p->in_tiling[0]->tiles[0], 4);
	ck_assert_int_eq(p->in_tiling[0]->tiles[1], 1);
	ck_assert_int_eq(p->out_tiling[0]->tiles[0], 2);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(p->in_tiling[0]->at[i * NCC_MAX_DIMS], rows[i]);
		ck_assert_uint_eq(p->out_tiling[0]->at[i * NCC_MAX_DIMS], rows[i] % 2);
	}
	ck_assert_int_eq(p->in[0].dim[0], 2);
	ck_assert_int_eq(p->out[0].dim[0], 4);
	ncc_program_free(p);
}
END_TEST

/*
 * Each form of XLA's text for a sharding along the axes of one mesh gives the devices the same
 * parts.
 */
START_TEST(xla_text)
{
	static const struct {
		const char *sharding;
		int64_t dim[2];
		uint8_t at[4][2];
	} rows[] = {
		{ "devices=[2,2]0,1,2,3", { 4, 2 }, { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } } },
		{ "devices=[2,2]<=[4]", { 4, 2 }, { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } } },
		{ "devices=[2,2]<=[2,2]T(1,0)",
		  { 4, 2 },
		  { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 } } },
		{ "devices=[1,2,2]<=[4] last_tile_dim_replicate",
		  { 8, 2 },
		  { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 1 } } },
		{ "devices=[4,1]<=[4]", { 2, 4 }, { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } } },
	};
	struct ncc_program *p;
	struct ncc_error err;
	char text[400];

	snprintf(text, sizeof(text),
		 "module attributes {mhlo.num_partitions = 4 : i32} { func.func @main(%%a: "
		 "tensor<8x4xf32> {mhlo.sharding = \"{%s}\"}) -> tensor<8x4xf32> { return %%a : "
		 "tensor<8x4xf32> } }",
		 rows[_i].sharding);
	ck_assert_msg(!ncc_program_read(text, strlen(text), &p, &err), "%s", err.text);
	for (unsigned int d = 0; d < 2; d++) {
		ck_assert_int_eq(p->in[0].dim[d], rows[_i].dim[d]);
		for (unsigned int i = 0; i < 4; i++)
			ck_assert_uint_eq(p->in_tiling[0]->at[i * NCC_MAX_DIMS + d],
					  rows[_i].at[i][d]);
	}
	ncc_program_free(p);
}
END_TEST

#define MESH "sdy.mesh @m = <[\"a\"=4]> "
#define DIVIDED(dims) " {sdy.sharding = #sdy.sharding<@m, [" dims "]>}"

/* Modules that are refused, and the message */
static const struct {
	const char *module, *said;
} refused[] = {
	{ MESH "func.func @main(%a: tensor<6xf32>" DIVIDED("{\"a\"}") ") -> tensor<6xf32> "
								      "{ return %a : tensor<6xf32> "
								      "}",
	  "dimension 0 of 6 elements is divided among 4 devices" },
	{ MESH "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"b\"}") ") -> tensor<8xf32> "
								      "{ return %a : tensor<8xf32> "
								      "}",
	  "an axis that the mesh has not" },
	{ "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}") ") -> tensor<8xf32> "
								 "{ return %a : tensor<8xf32> }",
	  "a mesh that is not there" },
	{ "sdy.mesh @m = <[\"a\"=2]> func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}") ") -> "
											   "tensor<"
											   "8xf32> "
											   "{ "
											   "return "
											   "%a : "
											   "tensor<"
											   "8xf32> "
											   "}",
	  "a mesh of 2 devices in a program for 4" },
	{ "sdy.mesh @m = <[\"a\"=4], device_ids=[0, 1, 1, 3]> "
	  "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}") ") -> tensor<8xf32> "
								 "{ return %a : tensor<8xf32> }",
	  "device_ids are no order of 4" },
	{ MESH "func.func @main(%a: tensor<8x8xf32>" DIVIDED("{\"a\"}, {\"a\"}") ") -> "
										 "tensor<8x8xf32> "
										 "{ return %a : "
										 "tensor<8x8xf32> "
										 "}",
	  "tiles are no axes" },
	{ MESH "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}, {}") ") -> tensor<8xf32> "
									  "{ return %a : "
									  "tensor<8xf32> }",
	  "another rank" },
	{ "func.func @main(%a: tensor<8xf32> {mhlo.sharding = \"{devices=[4]0,1,2,2}\"}) -> "
	  "tensor<8xf32> { return %a : tensor<8xf32> }",
	  "'{devices=[4]0,1,2,2}' is not supported" },
	{ "func.func @main(%a: tensor<8xf32> {mhlo.sharding = \"{maximal device=0}\"}) -> "
	  "tensor<8xf32> { return %a : tensor<8xf32> }",
	  "'{maximal device=0}' is not supported" },
	{ MESH "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}") ") -> tensor<8xf32> "
								      "{ %0 = "
								      "stablehlo.custom_call "
								      "@effect(%a) "
								      "{has_side_effect = true} : "
								      "(tensor<8xf32>) -> "
								      "tensor<8xf32> return %0 : "
								      "tensor<8xf32> }",
	  "custom_call: not supported in a program that is divided among 4 devices" },
	{ MESH "func.func @main(%a: tensor<8xf32>" DIVIDED("{\"a\"}") ") -> tensor<8xf32> "
								      "{ %0 = call @main(%a) : "
								      "(tensor<8xf32>) -> "
								      "tensor<8xf32> "
								      "return %0 : tensor<8xf32> }",
	  "calls itself" },
};

START_TEST(is_refused)
{
	struct ncc_program *p;
	struct ncc_error err;
	char text[1000];
	int rc;

	snprintf(text, sizeof(text), "module attributes {mhlo.num_partitions = 4 : i32} { %s }",
		 refused[_i].module);
	rc = ncc_program_read(text, strlen(text), &p, &err);
	ck_assert_msg(rc == -EINVAL || rc == -ENOTSUP, "%d: %s", rc, err.text);
	ck_assert_msg(strstr(err.text, refused[_i].said), "%s", err.text);
}
END_TEST

/*
 * Operations on an x that is divided in four along its first dimension, and the collectives that
 * they need
 */
static const struct {
	const char *what, *x, *body, *out;
	unsigned int reduced, gathered;
} passing[] = {
	{ "a sum", "8x3",
	  "%z = stablehlo.constant dense<0.0> : tensor<f32> "
	  "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
	  "(tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>",
	  "3", 1, 0 },
	{ "a sum of 1 and more", "8x3",
	  "%z = stablehlo.constant dense<1.0> : tensor<f32> "
	  "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
	  "(tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>",
	  "3", 0, 1 },
	{ "a maximum of 1 and more", "8x3",
	  "%z = stablehlo.constant dense<1.0> : tensor<f32> "
	  "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : "
	  "(tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>",
	  "3", 1, 0 },
	{ "columns", "8x3",
	  "%0 = stablehlo.slice %x [0:8, 1:3] : (tensor<8x3xf32>) -> "
	  "tensor<8x2xf32>",
	  "8x2", 0, 0 },
	{ "rows", "8x3",
	  "%0 = stablehlo.slice %x [0:4, 0:3] : (tensor<8x3xf32>) -> "
	  "tensor<4x3xf32>",
	  "4x3", 0, 1 },
	{ "rows joined", "8x3", "%0 = stablehlo.reshape %x : (tensor<8x3xf32>) -> tensor<24xf32>",
	  "24", 0, 0 },
	{ "rows of two parts each", "12",
	  "%0 = stablehlo.reshape %x : (tensor<12xf32>) -> "
	  "tensor<2x6xf32>",
	  "2x6", 0, 2 },
	{ "nobody's rule", "8x3",
	  "%0 = stablehlo.custom_call @other(%x) : (tensor<8x3xf32>) -> "
	  "tensor<8x3xf32>",
	  "8x3", 0, 1 },
};

START_TEST(is_passed)
{
	unsigned int reduced = 0, gathered = 0;
	const Ncc__Hlo__Computation *c;
	struct hlo_file f;
	struct ncc_error err;
	char text[1500];

	snprintf(text, sizeof(text),
		 "module attributes {mhlo.num_partitions = 4 : i32} { sdy.mesh @m = <[\"a\"=4]> "
		 "func.func @main(%%x: tensor<%sxf32> {sdy.sharding = #sdy.sharding<@m, "
		 "[{\"a\"}%s]>}) "
		 "-> tensor<%sxf32> { %s return %%0 : tensor<%sxf32> } }",
		 passing[_i].x, strchr(passing[_i].x, 'x') ? ", {}" : "", passing[_i].out,
		 passing[_i].body, passing[_i].out);
	ck_assert_msg(!stablehlo_read(text, strlen(text), &f, &err), "%s", err.text);
	for (size_t k = 0; k < f.proto->n_computations; k++) {
		c = f.proto->computations[k];
		for (size_t i = 0; i < c->n_instructions; i++) {
			reduced += !strcmp(c->instructions[i]->opcode, "all-reduce");
			gathered += !strcmp(c->instructions[i]->opcode, "all-gather");
		}
	}
	ck_assert_msg(reduced == passing[_i].reduced && gathered == passing[_i].gathered,
		      "%s: %u and %u", passing[_i].what, reduced, gathered);
	hlo_file_free(&f);
}
END_TEST

/* A constant of which all users want parts is made in parts: no device makes more. */
START_TEST(made_in_parts)
{
	static const char program[] =
		"module attributes {mhlo.num_partitions = 4 : i32} { sdy.mesh @m = <[\"a\"=4]> "
		"func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{\"a\"}, "
		"{}]>}) "
		"-> tensor<8x3xf32> { %i = stablehlo.iota dim = 0 : tensor<8x3xf32> "
		"%c = stablehlo.cosine %i : tensor<8x3xf32> "
		"%0 = stablehlo.add %x, %c : tensor<8x3xf32> return %0 : tensor<8x3xf32> } }";
	unsigned int seen = 0;
	struct hlo_file f;
	struct ncc_error err;

	ck_assert_msg(!stablehlo_read(program, strlen(program), &f, &err), "%s", err.text);
	for (size_t i = 0; i < f.proto->computations[0]->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = f.proto->computations[0]->instructions[i];

		if (strcmp(p->opcode, "cosine"))
			continue;
		ck_assert_int_eq(p->shape->dimensions[0], 2);
		seen++;
	}
	ck_assert_uint_eq(seen, 1);
	hlo_file_free(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spmd");
	TCase *tc = tcase_create("spmd");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, parts, 0, NAMES);
	tcase_add_test(tc, places);
	tcase_add_loop_test(tc, xla_text, 0, 5);
	tcase_add_loop_test(tc, is_passed, 0, (int)(sizeof(passing) / sizeof(passing[0])));
	tcase_add_test(tc, made_in_parts);
	tcase_add_loop_test(tc, is_refused, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	return check_run(s);
}
