// SPDX-License-Identifier: MIT
/*
 * Modules with fields and values that the importer does not read (compiler/frontend/hlo/fields.c):
 * what can change the result is refused, by number; what cannot is left out, and what is not known
 * at all is refused, or told of where a message says nothing of values.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "modules.h"
#include "ncc.h"

#define ADD "hlo/add/module.hlo.pb"
#define REDUCE "hlo/reduce_sum_rows/module.hlo.pb"

/* Gives a message a field of that number: a varint */
static void give(ProtobufCMessage *m, uint32_t number, uint8_t value)
{
	ProtobufCMessageUnknownField *f;

	m->unknown_fields = realloc(m->unknown_fields, (m->n_unknown_fields + 1) * sizeof(*f));
	f = &m->unknown_fields[m->n_unknown_fields++];
	f->tag = number;
	f->wire_type = PROTOBUF_C_WIRE_TYPE_VARINT;
	f->len = 1;
	f->data = malloc(1);
	f->data[0] = value;
}

/* The first one of the computation that a reduction calls */
static Ncc__Hlo__Instruction *called(const Ncc__Hlo__Module *m, const char *opcode)
{
	for (size_t i = 0; i < m->n_computations; i++)
		for (size_t k = 0;
		     m->computations[i] != entry(m) && k < m->computations[i]->n_instructions; k++)
			if (!strcmp(m->computations[i]->instructions[k]->opcode, opcode))
				return m->computations[i]->instructions[k];
	ck_abort_msg("no '%s'", opcode);
	return NULL;
}

START_TEST(unknown)
{
	Ncc__Hlo__Module *m = unpack(ADD);

	give(&find(m, "add")->base, 1000, 1);
	expect_refused(m, "add 'add");
	m = unpack(ADD);
	give(&find(m, "add")->base, 1000, 0);
	expect_refused(m, "field 1000 of HloInstructionProto is not known");
	m = unpack(REDUCE);
	give(&called(m, "add")->base, 1000, 1);
	expect_refused(m, "field 1000 of HloInstructionProto is not known");
	m = unpack(ADD);
	give(&find(m, "add")->shape->base, 99, 1);
	expect_refused(m, "field 99 of ShapeProto is not known");
	m = unpack(ADD);
	give(&entry(m)->base, 99, 1);
	expect_refused(m, "field 99 of HloComputationProto is not known");
	m = unpack("hlo/dot/module.hlo.pb");
	give(&find(m, "dot")->dot_dimension_numbers->base, 99, 1);
	expect_refused(m, "field 99 of DotDimensionNumbers is not known");
}
END_TEST

START_TEST(refused)
{
	Ncc__Hlo__Module *m = unpack(ADD);

	give(&find(m, "add")->base, 94, 1);
	expect_refused(m, "field 94 of HloInstructionProto (is_reverse) is not supported");
	m = unpack(ADD);
	give(&m->base, 9, 1);
	expect_refused(m, "field 9 of HloModuleProto (dynamic_parameter_binding)");
}
END_TEST

static unsigned int warnings;
static char warned[300];

static void warn(void *opaque, const char *text)
{
	(void)opaque;
	warnings++;
	snprintf(warned, sizeof(warned), "%s", text);
}

static void expect_compiled(Ncc__Hlo__Module *m)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT, .warn = warn };
	size_t size = ncc__hlo__module__get_packed_size(m), out_size;
	uint8_t *buf = malloc(size + 1);
	struct ncc_error err = { "" };
	void *out = NULL;

	ncc__hlo__module__pack(m, buf);
	warnings = 0;
	ck_assert_msg(!ncc_compile(buf, size, &opt, &out, &out_size, &err), "%s", err.text);
	free(out);
	free(buf);
	ncc__hlo__module__free_unpacked(m, NULL);
}

START_TEST(left_out)
{
	Ncc__Hlo__Module *m = unpack(ADD);

	give(&find(m, "add")->base, 94, 0); /* as if it was absent */
	expect_compiled(m);
	ck_assert_uint_eq(warnings, 0);
	m = unpack(ADD);
	give(&find(m, "add")->base, 69, 1); /* unique_indices */
	expect_compiled(m);
	ck_assert_uint_eq(warnings, 0);
	m = unpack(ADD);
	give(&m->base, 999, 1);
	give(&find(m, "add")->metadata->base, 999, 1);
	give(&find(m, "parameter")->metadata->base, 999, 1);
	expect_compiled(m);
	ck_assert_uint_eq(warnings, 2);
	ck_assert_ptr_nonnull(strstr(warned, "field 999 of "));
}
END_TEST

START_TEST(values)
{
	const char *compare = "hlo/compare_select/module.hlo.pb";
	Ncc__Hlo__Module *m = unpack(compare);

	find(m, "compare")->comparison_order = strdup("WEAK");
	expect_refused(m, "comparison_order (field 102 of HloInstructionProto) is 'WEAK'");
	m = unpack(compare);
	set_text(&find(m, "compare")->comparison_type, "NEWORDER");
	expect_refused(m, "comparison_type (field 72 of HloInstructionProto) is 'NEWORDER'");
	m = unpack(compare);
	find(m, "parameter")->shape->element_type = 37;
	expect_refused(m, "element type 37 is not known");
	m = unpack(compare);
	find(m, "parameter")->shape->element_type = 30;
	expect_refused(m, "element type s1 is not supported");
	m = unpack("hlo_ops/fft_real/module.hlo.pb");
	for (size_t i = 0; i < entry(m)->n_instructions; i++)
		entry(m)->instructions[i]->fft_type = 4;
	expect_refused(m, "fft_type");
	m = unpack("hlo_ops/triangular_solve/module.hlo.pb");
	find(m, "triangular-solve")->triangular_solve_options->transpose_a = 4;
	expect_refused(m, "transpose_a");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import-fields");
	TCase *t = tcase_create("import-fields");

	tcase_add_test(t, unknown);
	tcase_add_test(t, refused);
	tcase_add_test(t, left_out);
	tcase_add_test(t, values);
	suite_add_tcase(s, t);
	return check_run(s);
}
