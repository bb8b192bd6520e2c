// SPDX-License-Identifier: MIT
/*
 * Bounded dynamic dimensions of HLO: what is refused of them, by golden modules changed in one
 * place, and how a NEFF says which inputs and outputs are sizes. test_golden has their results.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "modules.h"

static Ncc__Hlo__Shape *sized(const Ncc__Hlo__Module *m)
{
	return find(m, "set-dimension-size")->shape;
}

static void without_bound(Ncc__Hlo__Module *m)
{
	sized(m)->dimensions[0] = INT64_MIN;
}

static void negative_bound(Ncc__Hlo__Module *m)
{
	sized(m)->dimensions[0] = -9;
}

static void other_rank(Ncc__Hlo__Module *m)
{
	sized(m)->n_dimensions = 1;
	sized(m)->is_dynamic_dimension[1] = true;
}

static void other_bound(Ncc__Hlo__Module *m)
{
	sized(m)->dimensions[0]++;
}

/* The first operand of set-dimension-size is an array. */
static void size_of_rank_2(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "set-dimension-size");

	p->operand_ids[1] = p->operand_ids[0];
}

static void fractional_size(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++)
		if (!strcmp(c->instructions[i]->opcode, "parameter") &&
		    !c->instructions[i]->shape->n_dimensions)
			c->instructions[i]->shape->element_type = HLO_F32;
}

static void no_such_dimension(Ncc__Hlo__Module *m)
{
	find(m, "set-dimension-size")->dimensions[0] = 2;
}

static void negative_dimension(Ncc__Hlo__Module *m)
{
	find(m, "get-dimension-size")->dimensions[0] = -1;
}

static void wrong_answer(Ncc__Hlo__Module *m)
{
	find(m, "get-dimension-size")->shape->element_type = HLO_F32;
}

static void no_rule(Ncc__Hlo__Module *m)
{
	set_text(&find(m, "reduce")->opcode, "select-and-scatter");
}

static void unsaid(Ncc__Hlo__Module *m)
{
	find(m, "broadcast")->shape->is_dynamic_dimension[0] = true;
}

static void size_missing(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-reshape")->n_operand_ids--;
}

static void no_size(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "dynamic-reshape");

	p->operand_ids[1] = p->operand_ids[0];
}

static void two_of_one(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Shape *s = find(m, "reshape")->shape; /* [24,5] of [6,4,5] */
	int64_t *dim = realloc(s->dimensions, 3 * sizeof(*dim));
	protobuf_c_boolean *flag = realloc(s->is_dynamic_dimension, 3 * sizeof(*flag));

	ck_assert(dim && flag);
	memcpy(dim, (int64_t[]){ 12, 2, 5 }, 3 * sizeof(*dim));
	memcpy(flag, (protobuf_c_boolean[]){ true, true, false }, 3 * sizeof(*flag));
	s->dimensions = dim;
	s->is_dynamic_dimension = flag;
	s->n_dimensions = s->n_is_dynamic_dimension = 3;
}

static void none_of_one(Ncc__Hlo__Module *m)
{
	find(m, "reshape")->shape->is_dynamic_dimension[0] = false;
}

static void static_branches(Ncc__Hlo__Module *m)
{
	find(m, "conditional")->shape->is_dynamic_dimension[0] = false;
}

static void groups(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "convolution");

	p->feature_group_count = 2;
	p->convolution_dimension_numbers->input_feature_dimension = 1;
}

static void batches(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "convolution");

	p->batch_group_count = 2;
	p->convolution_dimension_numbers->input_batch_dimension = 1;
}

static void filled_by_array(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "pad");

	p->operand_ids[1] = p->operand_ids[0];
}

/* The updates' dynamic dimension is one of their windows, the operand's is not. */
static void dynamic_window(Ncc__Hlo__Module *m)
{
	find(m, "scatter")->scatter_dimension_numbers->update_window_dims[0] = 0;
}

/* Makes the integers of the module 8 bits wide, whose every value is a valid index */
static void small_indices(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++) {
		Ncc__Hlo__Shape *s = c->instructions[i]->shape;

		if (s->n_dimensions == 2 && s->dimensions[1] == 1)
			s->element_type = HLO_U8;
	}
}

static void huge_window(Ncc__Hlo__Module *m)
{
	find(m, "reduce-window")->window->dimensions[1]->padding_high = INT64_MAX;
}

static void huge_padding(Ncc__Hlo__Module *m)
{
	find(m, "pad")->padding_config->dimensions[0]->interior_padding = INT64_MAX;
}

#define P "hlo_ops/dynamic_"

static const struct {
	const char *path;
	void (*change)(Ncc__Hlo__Module *m);
	const char *text;
} changes[] = {
	{ P "reduce_4", without_bound, "dimension 0 is dynamic without a bound" },
	{ P "reduce_4", negative_bound, "dimension 0 is dynamic without a bound" },
	{ P "reduce_4", other_rank, "dimension 1 is dynamic without a bound" },
	{ P "reduce_4", other_bound, "shape is not operand 0's" },
	{ P "reduce_4", size_of_rank_2, "operand 1, the size, is no scalar of type s32" },
	{ P "reduce_4", fractional_size, "operand 1, the size, is no scalar of type s32" },
	{ P "reduce_4", no_such_dimension, "dimension 2 of an operand of rank 2" },
	{ P "reduce_4", negative_dimension, "dimension -1 of an operand of rank 1" },
	{ P "reduce_4", wrong_answer, "a size is a scalar of type s32" },
	{ P "softmax_13", no_rule, "dimension 1 of operand 0 is dynamic, which" },
	{ P "softmax_13", unsaid, "nothing says the size of the result's dynamic dimension 0" },
	{ P "reshape_5_3", size_missing, "0 sizes for rank 1" },
	{ P "reshape_5_3", no_size, "operand 1, a size, is no scalar of type s32" },
	{ P "reshape_5_3", two_of_one, "dimensions 0 and 1 of the result are dynamic" },
	{ P "reshape_5_3", none_of_one, "dimension 0 of the operand is dynamic, and none of" },
	{ P "flow_5", static_branches, "of a computation is dynamic, that of its shape is not" },
	{ P "others_7_4", groups, "dimension 1 of operand 0 is dynamic, which" },
	{ P "others_7_4", batches, "dimension 1 of operand 0 is dynamic, which" },
	{ P "moves_4_2", filled_by_array, "what fills operand 0 is no scalar of its type" },
	{ P "indexed_5_4", dynamic_window, "dimension 0 of operand 2 is dynamic, which" },
	{ P "indexed_5_4", small_indices, "dimension 0 of operand 1 is dynamic, and its type" },
	{ P "windows_7", huge_window, "bad window of dimension 1" },
	{ P "moves_4_2", huge_padding, "bad padding of dimension 0" },
};

START_TEST(refused)
{
	char path[100];
	Ncc__Hlo__Module *m;

	snprintf(path, sizeof(path), "%s/module.hlo.pb", changes[_i].path);
	m = unpack(path);
	changes[_i].change(m);
	expect_refused(m, changes[_i].text);
}
END_TEST

/* The source that the NEFF gives for the input or output of that name */
static const char *source_of(const struct neff_model *m, const char *name)
{
	const struct neff_subgraph *sg = &m->subgraphs[0];

	for (unsigned int i = 0; i < sg->nvars; i++)
		if (!strcmp(sg->vars[i].name, name))
			return sg->vars[i].source ? sg->vars[i].source : "";
	ck_abort_msg("no '%s'", name);
	return NULL;
}

START_TEST(sources)
{
	static const char *const want[][2] = {
		{ "input4", "size of input0, dimension 0" },
		{ "input5", "size of input0, dimension 1" },
		{ "input6", "size of input2, dimension 0" },
		{ "input7", "size of input3, dimension 0" },
		{ "output5", "size of output0, dimension 0" },
		{ "output6", "size of output2, dimension 0" },
		{ "output7", "size of output2, dimension 1" },
		{ "output8", "size of output4, dimension 0" },
	};
	struct neff_model *m = compile_model(P "parameters_4_3_4_2/module.hlo.pb");

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_str_eq(source_of(m, want[i][0]), want[i][1]);
	neff_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dynamic");
	TCase *t = tcase_create("dynamic");

	tcase_add_loop_test(t, refused, 0, sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(t, sources);
	suite_add_tcase(s, t);
	return check_run(s);
}
