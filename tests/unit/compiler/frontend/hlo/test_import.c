// SPDX-License-Identifier: MIT
/*
 * Modules that cannot be compiled: malformed files, and good ones changed in one place. Each must
 * be refused with a message that names the error; nothing may crash (the tests run under
 * sanitizers). Also the text form of the tensor IR.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "modules.h"

#define P "hlo/"

/* Changes of a good module: the file, the change, the text of the refusal */
static void unknown_op(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "add");

	set_text(&p->opcode, "infeed");
	set_text(&p->name, "infeed.7");
}

static void custom_call_named(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "add");

	set_text(&p->opcode, "custom-call");
	p->custom_call_target = strdup("lapack_sgetrf");
}

static void wrong_shape(Ncc__Hlo__Module *m)
{
	find(m, "add")->shape->dimensions[0]++;
}

static void zero_dimension(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->dimensions[0] = 0;
}

static void negative_dimension(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->dimensions[0] = -5;
}

static void zero_and_negative(Ncc__Hlo__Module *m)
{
	zero_dimension(m);
	find(m, "parameter")->shape->dimensions[1] = -5;
}

static void zero_and_dynamic(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Shape *s = find(m, "parameter")->shape;

	zero_dimension(m);
	free(s->is_dynamic_dimension);
	s->n_is_dynamic_dimension = 1;
	s->is_dynamic_dimension = malloc(sizeof(protobuf_c_boolean));
	s->is_dynamic_dimension[0] = 1;
}

static void huge_dimension(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->dimensions[0] = INT64_MAX;
}

static void too_large(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++)
		for (size_t d = 0; d < c->instructions[i]->shape->n_dimensions; d++)
			c->instructions[i]->shape->dimensions[d] = 40000;
}

/* Rows of 2048 with a zero between any two, and so pieces of four bytes: eight million */
static void too_scattered(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *pad = find(m, "pad");
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++)
		if (c->instructions[i]->shape->n_dimensions == 2) {
			c->instructions[i]->shape->dimensions[0] = 4096;
			c->instructions[i]->shape->dimensions[1] = 8192;
		}
	pad->shape->dimensions[1] = 16383;
	for (size_t d = 0; d < 2; d++) {
		pad->padding_config->dimensions[d]->edge_padding_low = 0;
		pad->padding_config->dimensions[d]->edge_padding_high = 0;
		pad->padding_config->dimensions[d]->interior_padding = (int64_t)d;
	}
}

static void bad_type(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->element_type = 12;
}

static void wild_type(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->element_type = INT32_MIN;
}

static void partial_slices(Ncc__Hlo__Module *m)
{
	find(m, "gather")->gather_slice_sizes[1]--;
}

static void gather_of_nothing(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "gather");

	ncc__hlo__gather_dimension_numbers__free_unpacked(p->gather_dimension_numbers, NULL);
	p->gather_dimension_numbers = NULL;
}

static void gather_window_beyond(Ncc__Hlo__Module *m)
{
	find(m, "gather")->gather_dimension_numbers->offset_dims[0] = 7;
}

static void gather_along_nothing(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__GatherDimensionNumbers *g = find(m, "gather")->gather_dimension_numbers;

	g->start_index_map[0] = g->collapsed_slice_dims[0] = -1;
}

static void scatter_shared(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__ScatterDimensionNumbers *g = find(m, "scatter")->scatter_dimension_numbers;

	g->index_vector_dim = 5;
}

static void scatter_of_two(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "scatter");

	p->n_operand_ids = 2;
}

static void scatter_mixed(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "scatter");

	p->operand_ids[1] = p->operand_ids[0];
}

static void scatter_of_one(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "scatter");

	p->operand_ids[1] = p->operand_ids[2];
	p->operand_ids[2] = p->operand_ids[3];
	p->n_operand_ids = 3;
}

static void source_missing(Ncc__Hlo__Module *m)
{
	find(m, "select-and-scatter")->n_operand_ids--;
}

static void source_larger(Ncc__Hlo__Module *m)
{
	find(m, "select-and-scatter")->window->dimensions[1]->stride++;
}

static void selects_sums(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "select-and-scatter");

	p->called_computation_ids[0] = p->called_computation_ids[1];
}

static void window_too_many(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__WindowDimension *d = find(m, "select-and-scatter")->window->dimensions[1];

	d->size += 5000;
	d->padding_low += 5000;
}

static void sides_of_others(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "triangular-solve");

	p->triangular_solve_options->left_side = !p->triangular_solve_options->left_side;
}

static void triangle_of_nothing(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "triangular-solve");

	ncc__hlo__triangular_solve_options__free_unpacked(p->triangular_solve_options, NULL);
	p->triangular_solve_options = NULL;
}

static void triangle_not_square(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "triangular-solve");

	p->operand_ids[0] = p->operand_ids[1];
}

static void solve_of_one(Ncc__Hlo__Module *m)
{
	find(m, "custom-call")->n_operand_ids = 0;
}

static void call_of_other(Ncc__Hlo__Module *m)
{
	set_text(&find(m, "custom-call")->custom_call_target, "lapack_cgetrf_ffi");
}

static void reflectors_of_list(Ncc__Hlo__Module *m)
{
	int64_t *id = find(m, "custom-call")->operand_ids;

	id[0] = id[1];
}

static void reflectors_too_many(Ncc__Hlo__Module *m)
{
	int64_t *id = find(m, "custom-call")->operand_ids;

	id[0] = id[2];
}

static void reflects_list(Ncc__Hlo__Module *m)
{
	int64_t *id = find(m, "custom-call")->operand_ids;

	id[2] = id[1];
}

static void reflectors_too_long(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->shape->dimensions[1] = 8193;
}

static void eigenvalues_of_oblong(Ncc__Hlo__Module *m)
{
	find(m, "custom-call")->n_operand_ids = 1;
	set_text(&find(m, "custom-call")->custom_call_target, "lapack_ssyevd_ffi");
}

static void vectors_of_nothing(Ncc__Hlo__Module *m)
{
	find(m, "custom-call")->backend_config.len = 0;
	set_text(&find(m, "custom-call")->custom_call_target, "lapack_sgesdd_ffi");
}

static void bits_left_over(Ncc__Hlo__Module *m)
{
	find(m, "bitcast-convert")->shape->dimensions[2] = 3;
}

static void batches_uneven(Ncc__Hlo__Module *m)
{
	find(m, "convolution")->batch_group_count = 5;
}

static void slice_larger(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-slice")->shape->dimensions[0] = 41;
}

static void start_missing(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-slice")->n_operand_ids--;
}

static void slice_of_nothing(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-slice")->n_operand_ids = 0;
}

static void update_of_nothing(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-update-slice")->n_operand_ids = 0;
}

static void update_larger(Ncc__Hlo__Module *m)
{
	find(m, "dynamic-update-slice")->operand_ids[1] = find(m, "parameter")->id;
	find(m, "parameter")->shape->dimensions[0]++;
}

static void self_cycle(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "add");

	p->operand_ids[0] = p->id;
}

static void no_operand(Ncc__Hlo__Module *m)
{
	find(m, "add")->operand_ids[0] = 123456789;
}

static void one_operand(Ncc__Hlo__Module *m)
{
	find(m, "add")->n_operand_ids = 1;
}

static void two_ids(Ncc__Hlo__Module *m)
{
	find(m, "add")->id = find(m, "parameter")->id;
}

static void no_root(Ncc__Hlo__Module *m)
{
	entry(m)->root_id = 99;
}

static void no_entry(Ncc__Hlo__Module *m)
{
	m->entry_computation_id = 77777;
}

static void bad_parameter(Ncc__Hlo__Module *m)
{
	find(m, "parameter")->parameter_number = 7;
}

static void short_constant(Ncc__Hlo__Module *m)
{
	find(m, "constant")->literal->n_f32s--;
}

static void short_predicates(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "constant"), *add = find(m, "add");
	Ncc__Hlo__Literal *l = p->literal;

	for (size_t i = 0; i < add->n_operand_ids; i++) /* nobody else is to complain */
		add->operand_ids[i] = find(m, "parameter")->id;
	p->shape->element_type = l->shape->element_type = 1; /* pred */
	l->n_preds = l->n_f32s - 1;
	l->preds = calloc(l->n_preds, sizeof(*l->preds));
	free(l->f32s);
	l->f32s = NULL;
	l->n_f32s = 0;
}

static void no_literal(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "constant");

	ncc__hlo__literal__free_unpacked(p->literal, NULL);
	p->literal = NULL;
}

static void bad_contract(Ncc__Hlo__Module *m)
{
	find(m, "dot")->dot_dimension_numbers->lhs_contracting_dimensions[0] = 5;
}

static void bad_window(Ncc__Hlo__Module *m)
{
	find(m, "convolution")->window->dimensions[0]->stride = 0;
}

static void huge_padding(Ncc__Hlo__Module *m)
{
	find(m, "convolution")->window->dimensions[0]->padding_low = INT64_MAX;
}

static void bad_groups(Ncc__Hlo__Module *m)
{
	find(m, "convolution")->feature_group_count = -3;
}

static void bad_spatial(Ncc__Hlo__Module *m)
{
	find(m, "convolution")->convolution_dimension_numbers->input_spatial_dimensions[0] = 0;
}

static void bad_map(Ncc__Hlo__Module *m)
{
	find(m, "broadcast")->dimensions[0] = 9;
}

static void bad_permutation(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "transpose");

	p->dimensions[0] = p->dimensions[1];
}

static void bad_slice(Ncc__Hlo__Module *m)
{
	find(m, "slice")->slice_dimensions[0]->limit = 1000;
}

static void bad_reducer(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "reduce");

	p->called_computation_ids[0] = entry(m)->id;
}

static void calls_itself(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "call");

	p->called_computation_ids[0] = entry(m)->id;
}

static void bad_element(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "tuple");

	set_text(&p->opcode, "get-tuple-element");
	p->n_operand_ids = 1;
	p->tuple_index = 12;
}

static void layout_of_literal(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Layout *l = find(m, "constant")->literal->shape->layout;

	ck_assert_uint_eq(l->n_minor_to_major, 2);
	l->minor_to_major[0] = 0;
	l->minor_to_major[1] = 1;
}

/* Tuples that hold the tuple before them twice: 2^40 elements in a file of a few thousand bytes */
static void tuple_bomb(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Computation *c = entry(m);
	int64_t last = c->root_id;

	c->instructions =
		realloc(c->instructions, (c->n_instructions + 40) * sizeof(*c->instructions));
	ck_assert_ptr_nonnull(c->instructions);
	for (int64_t id = 100000; id < 100040; id++) {
		Ncc__Hlo__Instruction *p = malloc(sizeof(*p));

		ck_assert_ptr_nonnull(p);
		ncc__hlo__instruction__init(p);
		p->opcode = strdup("tuple");
		p->name = strdup("bomb");
		p->id = id;
		p->shape = malloc(sizeof(*p->shape));
		ncc__hlo__shape__init(p->shape);
		p->shape->element_type = 13;
		p->n_operand_ids = 2;
		p->operand_ids = malloc(2 * sizeof(*p->operand_ids));
		p->operand_ids[0] = p->operand_ids[1] = last;
		last = id;
		c->instructions[c->n_instructions++] = p;
	}
	c->root_id = last;
}

static void name_of_two_lines(Ncc__Hlo__Module *m)
{
	unknown_op(m);
	set_text(&find(m, "infeed")->name, "a\nb");
}

static void shift_of_floats(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "shift-left");

	p->shape->element_type = 11;
}

static void floor_of_two(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "floor");

	p->operand_ids = realloc(p->operand_ids, 2 * sizeof(*p->operand_ids));
	ck_assert_ptr_nonnull(p->operand_ids);
	p->operand_ids[1] = p->operand_ids[0];
	p->n_operand_ids = 2;
}

static void sort_of_nothing(Ncc__Hlo__Module *m)
{
	find(m, "sort")->dimensions[0] = 7;
}

static void too_many_largest(Ncc__Hlo__Module *m)
{
	find(m, "topk")->k = 1000;
}

static void window_too_large(Ncc__Hlo__Module *m)
{
	find(m, "reduce-window")->window->dimensions[1]->size = 1000;
}

static void window_without_end(Ncc__Hlo__Module *m)
{
	find(m, "reduce-window")->window->dimensions[1]->padding_low = INT64_MAX;
}

static void window_missing(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Window *w = find(m, "reduce-window")->window;

	ncc__hlo__window_dimension__free_unpacked(w->dimensions[--w->n_dimensions], NULL);
}

static void one_branch(Ncc__Hlo__Module *m)
{
	find(m, "conditional")->n_called_computation_ids = 1;
}

static void flow_of_elements(Ncc__Hlo__Module *m)
{
	int64_t id = find(m, "sort")->called_computation_ids[0];

	for (size_t i = 0; i < m->n_computations; i++) {
		Ncc__Hlo__Computation *c = m->computations[i];

		for (size_t k = 0; c->id == id && k < c->n_instructions; k++)
			if (strcmp(c->instructions[k]->opcode, "parameter"))
				set_text(&c->instructions[k]->opcode, "conditional");
	}
}

/* The first u64 result of this opcode */
static Ncc__Hlo__Instruction *find_wide(Ncc__Hlo__Module *m, const char *opcode)
{
	for (size_t i = 0; i < m->n_computations; i++) {
		Ncc__Hlo__Computation *c = m->computations[i];

		for (size_t k = 0; k < c->n_instructions; k++)
			if (c->instructions[k]->shape->element_type == HLO_U64 &&
			    !strcmp(c->instructions[k]->opcode, opcode))
				return c->instructions[k];
	}
	ck_abort_msg("no u64 %s", opcode);
}

static void wide_difference(Ncc__Hlo__Module *m)
{
	set_text(&find_wide(m, "shift-right-logical")->opcode, "subtract");
}

static void wide_constant(Ncc__Hlo__Module *m)
{
	find_wide(m, "constant")->literal->u64s[0] = 1ull << 32;
}

static void wide_result(Ncc__Hlo__Module *m)
{
	set_text(&find_wide(m, "iota")->opcode, "rng-bit-generator");
}

static void no_condition(Ncc__Hlo__Module *m)
{
	find(m, "while")->called_computation_ids[1] = 12345;
}

static void sum_of_real(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++) {
		Ncc__Hlo__Instruction *p = c->instructions[i];

		if (strcmp(p->opcode, "parameter") || p->parameter_number != 1)
			continue;
		p->shape->element_type = HLO_F32;
		set_text(&find(m, "multiply")->opcode, "add");
	}
}

static Ncc__Hlo__Instruction *find_fft(const Ncc__Hlo__Module *m)
{
	for (size_t i = 0; i < m->n_computations; i++)
		for (size_t k = 0; k < m->computations[i]->n_instructions; k++)
			if (!strcmp(m->computations[i]->instructions[k]->opcode, "fft"))
				return m->computations[i]->instructions[k];
	ck_abort_msg("no fft");
	return NULL;
}

static void fft_of_other_length(Ncc__Hlo__Module *m)
{
	find_fft(m)->fft_length[0]++;
}

static void fft_too_long(Ncc__Hlo__Module *m)
{
	find_fft(m)->fft_length[0] = INT64_MAX;
}

static void fft_of_real(Ncc__Hlo__Module *m)
{
	find_fft(m)->fft_type = 0;
}

static void diagonal_of_other(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Instruction *p = find(m, "custom-call");

	p->operand_ids[1] = p->operand_ids[3];
}

static void empty_result(Ncc__Hlo__Module *m)
{
	find(m, "add")->shape->dimensions[0] = 0;
}

static const struct {
	const char *module;
	void (*change)(Ncc__Hlo__Module *m);
	const char *text;
} changes[] = {
	{ P "add/module.hlo.pb", unknown_op, "infeed 'infeed.7' (make.py:" },
	{ P "add/module.hlo.pb", unknown_op, "operation not supported" },
	{ P "add/module.hlo.pb", name_of_two_lines, "infeed 'a?b'" },
	{ "hlo_ops/sort_pairs/module.hlo.pb", sort_of_nothing, "sort 'sort" },
	{ "hlo_ops/top_k/module.hlo.pb", too_many_largest, "k is 1000 of 100" },
	{ "hlo_ops/pool_argmax/module.hlo.pb", window_too_large, "no window fits dimension 1" },
	{ "hlo_ops/pool_argmax/module.hlo.pb", window_without_end, "bad window" },
	{ "hlo_ops/window_any/module.hlo.pb", window_missing, "does not have the operand's" },
	{ "hlo_ops/cond/module.hlo.pb", one_branch, "operands for 1 branches" },
	{ "hlo_ops/sort_pairs/module.hlo.pb", flow_of_elements, "would each go their own way" },
	{ "hlo_ops/random/module.hlo.pb", wide_difference, "element type u64 is not supported" },
	{ "hlo_ops/random/module.hlo.pb", wide_constant, "element type u64 is not supported" },
	{ "hlo_ops/random/module.hlo.pb", wide_result, "element type u64 is not supported" },
	{ "hlo_ops/fft_real/module.hlo.pb", fft_of_other_length, "for a dimension of" },
	{ "hlo_ops/fft_real/module.hlo.pb", fft_too_long, "expected 1 to 262144" },
	{ "hlo_ops/fft_real/module.hlo.pb", fft_of_real, "are not those of transform 0" },
	{ "hlo_ops/complex_plain/module.hlo.pb", sum_of_real, "operand 0 is not complex" },
	{ "hlo_ops/fori_loop/module.hlo.pb", no_condition, "does not exist" },
	{ P "add/module.hlo.pb", tuple_bomb, "tuple 'bomb': more than" },
	{ P "add/module.hlo.pb", custom_call_named, "lapack_sgetrf" },
	{ P "add/module.hlo.pb", wrong_shape, "add 'add" },
	{ P "add/module.hlo.pb", zero_dimension, "add 'add" },
	{ P "add/module.hlo.pb", zero_and_negative, "dimension 1 is -5" },
	{ P "add/module.hlo.pb", zero_and_dynamic, "dynamic dimension of a value" },
	{ P "add/module.hlo.pb", negative_dimension, "dimension 0 is -5" },
	{ P "add/module.hlo.pb", huge_dimension, "too large" },
	{ P "add/module.hlo.pb", too_large, "too large" },
	{ P "pad/module.hlo.pb", too_scattered, "more than 15728640 pieces" },
	{ P "embedding_constant/module.hlo.pb", partial_slices, "does not fit" },
	{ P "embedding_constant/module.hlo.pb", gather_of_nothing, "dimension numbers" },
	{ P "embedding_constant/module.hlo.pb", gather_window_beyond, "do not fit" },
	{ P "embedding_constant/module.hlo.pb", gather_along_nothing, "dimension number -1" },
	{ "hlo_ops/scatter_add/module.hlo.pb", scatter_shared, "dimension numbers" },
	{ "hlo_ops/scatter_add/module.hlo.pb", scatter_of_two, "2 operands" },
	{ "hlo_ops/scatter_best/module.hlo.pb", scatter_mixed, "need one type" },
	{ "hlo_ops/scatter_best/module.hlo.pb", scatter_of_one, "parameter number" },
	{ "hlo_ops/pool_gradient/module.hlo.pb", source_missing, "2 operands, expected 3" },
	{ "hlo_ops/pool_gradient/module.hlo.pb", source_larger, "dimension 1 of the source" },
	{ "hlo_ops/pool_gradient/module.hlo.pb", selects_sums, "does not give a predicate" },
	{ "hlo_ops/pool_gradient/module.hlo.pb", window_too_many, "more than 4096 elements" },
	{ "hlo_ops/conv_batch_groups/module.hlo.pb", batches_uneven, "5 does not fit" },
	{ "hlo_ops/triangular_solve/module.hlo.pb", sides_of_others, "right sides do not fit" },
	{ "hlo_ops/triangular_solve/module.hlo.pb", triangle_of_nothing,
	  "two operands and options" },
	{ "hlo_ops/triangular_solve/module.hlo.pb", triangle_not_square, "no square matrix" },
	{ "hlo_ops/lu_pivots/module.hlo.pb", solve_of_one, "0 operands, expected 1" },
	{ "hlo_ops/lu_pivots/module.hlo.pb", call_of_other,
	  "(target 'lapack_cgetrf_ffi'): a handler of XLA's FFI" },
	{ "hlo_ops/tridiagonal/module.hlo.pb", diagonal_of_other, "do not fit" },
	{ P "add/module.hlo.pb", empty_result, "none of the module's results has elements" },
	{ "hlo_ops/ormqr/module.hlo.pb", reflectors_of_list, "reflectors do not fit" },
	{ "hlo_ops/ormqr/module.hlo.pb", reflectors_too_many, "reflectors do not fit" },
	{ "hlo_ops/ormqr/module.hlo.pb", reflects_list, "operand 2 does not fit" },
	{ "hlo_ops/ormqr/module.hlo.pb", reflectors_too_long, "at most 1024 of one and 8192" },
	{ "hlo_ops/ormqr/module.hlo.pb", eigenvalues_of_oblong, "no square matrix" },
	{ "hlo_ops/lu_pivots/module.hlo.pb", vectors_of_nothing, "bad mode" },
	{ "hlo_ops/bitcast_sizes/module.hlo.pb", bits_left_over, "does not fit the shapes" },
	{ P "dynamic_slice/module.hlo.pb", slice_larger, "does not fit" },
	{ P "dynamic_slice/module.hlo.pb", start_missing, "operands for rank" },
	{ P "dynamic_slice/module.hlo.pb", slice_of_nothing, "needs an operand" },
	{ P "dynamic_update/module.hlo.pb", update_of_nothing, "needs an update" },
	{ P "dynamic_update/module.hlo.pb", update_larger, "operand" },
	{ P "add/module.hlo.pb", bad_type, "element type f64 is not supported" },
	{ P "add/module.hlo.pb", wild_type, "element type -2147483648 is not known" },
	{ P "add/module.hlo.pb", self_cycle, "a cycle" },
	{ P "add/module.hlo.pb", no_operand, "operand 0 does not exist" },
	{ P "add/module.hlo.pb", one_operand, "1 operands, expected 2" },
	{ P "add/module.hlo.pb", two_ids, "two instructions have the id" },
	{ P "add/module.hlo.pb", no_root, "root" },
	{ P "add/module.hlo.pb", no_entry, "no entry computation" },
	{ P "add/module.hlo.pb", bad_parameter, "bad parameter number 7" },
	{ P "constant/module.hlo.pb", short_constant, "elements, its shape 20" },
	{ P "constant/module.hlo.pb", short_predicates, "19 elements, its shape 20" },
	{ P "constant/module.hlo.pb", no_literal, "without a literal" },
	{ P "constant/module.hlo.pb", layout_of_literal, "row-major" },
	{ P "dot/module.hlo.pb", bad_contract, "dimension number 5" },
	{ P "conv/module.hlo.pb", bad_window, "window out of range" },
	{ P "conv/module.hlo.pb", huge_padding, "window out of range" },
	{ P "conv/module.hlo.pb", bad_groups, "groups" },
	{ P "conv/module.hlo.pb", bad_spatial, "bad dimension numbers" },
	{ P "subtract_row/module.hlo.pb", bad_map, "dimension number 9" },
	{ P "transpose/module.hlo.pb", bad_permutation, "bad permutation" },
	{ P "slice/module.hlo.pb", bad_slice, "range 0 does not fit" },
	{ P "reduce_sum_rows/module.hlo.pb", bad_reducer, "another shape" },
	{ P "clamp/module.hlo.pb", calls_itself, "in a cycle" },
	{ P "tuple/module.hlo.pb", bad_element, "element 12" },
	{ P "shifts/module.hlo.pb", shift_of_floats, "type" },
	{ P "round/module.hlo.pb", floor_of_two, "operands" },
};

START_TEST(changed)
{
	Ncc__Hlo__Module *m = unpack(changes[_i].module);

	changes[_i].change(m);
	expect_refused(m, changes[_i].text);
}
END_TEST

START_TEST(not_protobuf)
{
	uint8_t deep[4000], zeros[64] = { 0 };
	size_t n = sizeof(deep);

	expect_refused_bytes("", 0, "empty");
	expect_refused_bytes("hello, world", 12, "not an HLO module");
	expect_refused_bytes(zeros, sizeof(zeros), "bad field tag");
	/* host_program_shape { result { tuple_shapes { tuple_shapes { ... */
	while (n > 5) {
		size_t len = sizeof(deep) - n;
		/* field 4 of Module, 2 of ProgramShape, then 4 of Shape */
		uint8_t tag = n == 10 ? 0x12 : 0x22;

		deep[--n] = (uint8_t)(len >> 7);
		deep[--n] = (uint8_t)((len & 0x7f) | 0x80);
		deep[--n] = tag;
	}
	expect_refused_bytes(deep + n, sizeof(deep) - n, "messages nested too deeply");
}
END_TEST

/* Loops that together would be too many operations: some are unrolled, others stay loops. */
START_TEST(many_scans)
{
	unsigned int loops = 0;
	struct ncc_error err;
	struct ncc_module *m;
	size_t size;
	void *hlo = read_data("hlo_ops/many_scans.hlo.pb", &size);

	ck_assert_int_eq(ncc_import_hlo_opt(hlo, size, &(struct ncc_options){ 0 }, &m, &err), 0);
	for (const struct ncc_op *op = m->first; op; op = op->next)
		loops += op->kind == NCC_LOOP;
	ck_assert_uint_gt(loops, 0);
	ck_assert_uint_lt(loops, 24);
	free(hlo);
	ncc_module_free(m);
}
END_TEST

START_TEST(text_form)
{
	static const char want[] = "module \"jit_softmax\"\n"
				   "  %0 = f32[6,10] parameter index=0 p=0 \"x.1\"\n"
				   "  %1 = f32[] constant {-inf}";
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_error err;
	struct ncc_module *m;
	char *text = NULL;
	size_t size, n;
	void *hlo = read_data(P "softmax/module.hlo.pb", &size);
	FILE *f = open_memstream(&text, &n);

	ck_assert_int_eq(ncc_import_hlo_opt(hlo, size, &(struct ncc_options){ 0 }, &m, &err), 0);
	ck_assert_int_eq(ncc_run_passes(m, &opt, &err), 0);
	ncc_print(m, 4, f);
	fclose(f);
	ck_assert_msg(!strncmp(text, want, sizeof(want) - 1), "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "f32[6] reduce %0, %1 func=maximum dims={1} p=0"));
	ck_assert_ptr_nonnull(strstr(text, "  return %"));
	free(text);
	free(hlo);
	ncc_module_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import");
	TCase *t = tcase_create("import");

	tcase_add_loop_test(t, changed, 0, sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(t, not_protobuf);
	tcase_add_test(t, many_scans);
	tcase_add_test(t, text_form);
	suite_add_tcase(s, t);
	return check_run(s);
}
