// SPDX-License-Identifier: MIT
/*
 * Random numbers of HLO: golden modules are read without --narrow-64bit, and changed ones are
 * refused with the reason.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "frontend/hlo/hlo.pb-c.h"

enum { U32 = 8, F32 = 11, S32 = 4 }; /* XLA's PrimitiveType */

typedef Ncc__Hlo__Instruction inst;

static void algorithm(inst *p)
{
	p->rng_algorithm = 3;
}

static void by_threefry(inst *p)
{
	p->rng_algorithm = 1;
}

static void other_state(inst *p)
{
	p->shape->tuple_shapes[0]->dimensions[0]++;
}

static void of_floats(inst *p)
{
	p->shape->tuple_shapes[1]->element_type = F32;
}

static void distribution(inst *p)
{
	p->distribution = 7;
}

static void other_bounds(inst *p)
{
	p->shape->element_type = S32;
}

/* Has an instruction that needs all bits of 64-bit integers (popcnt) read the random ones */
static void count_bits(inst *p)
{
	if (p->shape->element_type != U32)
		return;
	free(p->opcode);
	p->opcode = strdup("popcnt");
}

static const struct {
	const char *module, *opcode;
	void (*change)(inst *p);
	const char *text; /* NULL: it is read, and nothing is said */
} cases[] = {
	{ "rng_bits_default", "rng-bit-generator", NULL, NULL },
	{ "rng_bits_three_fry", "rng-bit-generator", NULL, NULL },
	{ "rng_key", "rng-bit-generator", NULL, NULL },
	{ "rng_wide_state", "rng-bit-generator", NULL, NULL },
	{ "rng_bits_philox", "rng-bit-generator", algorithm,
	  "rng_algorithm (field 70 of HloInstructionProto) is '3'" },
	{ "rng_bits_philox", "rng-bit-generator", other_state, "state has another shape" },
	{ "rng_bits_philox", "rng-bit-generator", of_floats, "of f32 is not supported" },
	{ "rng_wide_state", "rng-bit-generator", by_threefry, "the state is not u64[2]" },
	{ "rng_wide_philox", "bitcast-convert", count_bits, "has 64-bit integers" },
	{ "rng_floats", "rng", distribution,
	  "distribution (field 23 of HloInstructionProto) is '7'" },
	{ "rng_floats", "rng", other_bounds, "no number of the result's type" },
};

static void warn(void *opaque, const char *line)
{
	(void)opaque;
	ck_abort_msg("%s", line);
}

START_TEST(changed)
{
	const struct ncc_options opt = { .warn = cases[_i].text ? NULL : warn };
	struct ncc_error err = { "" };
	struct ncc_module *m = NULL;
	Ncc__Hlo__Module *proto;
	char path[80];
	size_t size;
	void *hlo;
	int rc;

	snprintf(path, sizeof(path), "hlo_ops/%s/module.hlo.pb", cases[_i].module);
	hlo = read_data(path, &size);
	proto = ncc__hlo__module__unpack(NULL, size, hlo);
	ck_assert_ptr_nonnull(proto);
	free(hlo);
	for (size_t i = 0; cases[_i].change && i < proto->n_computations; i++)
		for (size_t k = 0; k < proto->computations[i]->n_instructions; k++)
			if (!strcmp(proto->computations[i]->instructions[k]->opcode,
				    cases[_i].opcode))
				cases[_i].change(proto->computations[i]->instructions[k]);

	size = ncc__hlo__module__get_packed_size(proto);
	hlo = malloc(size);
	ck_assert_ptr_nonnull(hlo);
	ncc__hlo__module__pack(proto, hlo);
	rc = ncc_import_hlo_opt(hlo, size, &opt, &m, &err);
	ck_assert_msg(!rc == !cases[_i].text, "%s", err.text);
	if (cases[_i].text)
		ck_assert_msg(strstr(err.text, cases[_i].text) != NULL, "'%s' does not say '%s'",
			      err.text, cases[_i].text);
	else
		ncc_module_free(m);
	free(hlo);
	ncc__hlo__module__free_unpacked(proto, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("random");
	TCase *t = tcase_create("random");

	tcase_add_loop_test(t, changed, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, t);
	return check_run(s);
}
