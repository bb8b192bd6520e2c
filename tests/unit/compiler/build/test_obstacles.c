// SPDX-License-Identifier: MIT
/*
 * Models that cannot be imported for several reasons: all of them are reported, equal ones counted,
 * with the place of each, and nothing that only follows from another one.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "frontend/hlo/hlo.h"
#include "frontend/onnx/onnx.pb-c.h"

static struct {
	char line[32][600];
	unsigned int n;
} got;

static void obstacle(void *opaque, const char *line)
{
	(void)opaque;
	ck_assert_uint_lt(got.n, 32);
	snprintf(got.line[got.n++], sizeof(got.line[0]), "%s", line);
}

static struct ncc_error error;

static int expect_obstacles(enum ncc_framework framework, const void *model, size_t size)
{
	const struct ncc_options opt = { .framework = framework, .obstacle = obstacle };
	void *out = NULL;
	size_t out_size;
	int rc;

	got.n = 0;
	rc = ncc_compile(model, size, &opt, &out, &out_size, &error);
	ck_assert_int_lt(rc, 0);
	ck_assert_ptr_null(out);
	return rc;
}

/* Line i says all of what, which ends with it */
static void expect_line(unsigned int i, const char *what)
{
	ck_assert_msg(i < got.n, "%u lines, expected '%s'", got.n, what);
	ck_assert_str_eq(got.line[i], what);
}

/* A module of one or two computations, whose instructions are numbered from 1 on */
static struct {
	Ncc__Hlo__Module m;
	Ncc__Hlo__Computation computation[2], *computations[2];
	Ncc__Hlo__Instruction instruction[1100], *list[1100];
	Ncc__Hlo__OpMetadata metadata[2];
	Ncc__Hlo__Shape shape[3];
	int64_t operand[1100], dim[1], called[1];
	char name[1100][16], target[1100][16];
	unsigned int n;
} hlo;

enum { OF_F32, OF_S64, OF_F8 };

static void begin(void)
{
	static const int32_t types[] = { HLO_F32, HLO_S64, HLO_F6E2M3FN };

	memset(&hlo, 0, sizeof(hlo));
	hlo.dim[0] = 4;
	for (int i = 0; i < 3; i++) {
		ncc__hlo__shape__init(&hlo.shape[i]);
		hlo.shape[i].element_type = types[i];
		hlo.shape[i].dimensions = hlo.dim;
		hlo.shape[i].n_dimensions = 1;
	}
	for (int i = 0; i < 2; i++) {
		ncc__hlo__op_metadata__init(&hlo.metadata[i]);
		hlo.metadata[i].source_file = (char *)"user.py";
		hlo.metadata[i].source_line = i + 7;
	}
}

/* An instruction whose operand is the one before it; the first is a parameter. */
static Ncc__Hlo__Instruction *add(const char *opcode, int type)
{
	Ncc__Hlo__Instruction *p = &hlo.instruction[hlo.n];

	ncc__hlo__instruction__init(p);
	hlo.list[hlo.n] = p;
	snprintf(hlo.name[hlo.n], sizeof(hlo.name[0]), "i%u", hlo.n + 1);
	p->name = hlo.name[hlo.n];
	p->opcode = (char *)opcode;
	p->shape = &hlo.shape[type];
	p->id = hlo.n + 1;
	if (strcmp(opcode, "parameter")) {
		hlo.operand[hlo.n] = hlo.n;
		p->operand_ids = &hlo.operand[hlo.n];
		p->n_operand_ids = 1;
	}
	hlo.n++;
	return p;
}

static Ncc__Hlo__Instruction *add_call_of(unsigned int target)
{
	Ncc__Hlo__Instruction *p = add("custom-call", OF_F32);

	snprintf(hlo.target[hlo.n], sizeof(hlo.target[0]), "t%u", target);
	p->custom_call_target = hlo.target[hlo.n];
	return p;
}

/* The instructions from `first` on are computation i's, of which 0 is the module's. */
static void end_computation(unsigned int i, unsigned int first)
{
	Ncc__Hlo__Computation *c = &hlo.computation[i];

	ncc__hlo__computation__init(c);
	c->name = (char *)(i ? "inner" : "main");
	c->id = i + 1;
	c->instructions = &hlo.list[first];
	c->n_instructions = hlo.n - first;
	c->root_id = hlo.n;
	hlo.computations[i] = c;
}

static int compile_hlo(unsigned int computations)
{
	uint8_t *buf;
	size_t size;
	int rc;

	ncc__hlo__module__init(&hlo.m);
	hlo.m.name = (char *)"m";
	hlo.m.entry_computation_id = 1;
	hlo.m.computations = hlo.computations;
	hlo.m.n_computations = computations;
	size = ncc__hlo__module__get_packed_size(&hlo.m);
	buf = malloc(size);
	ck_assert_ptr_nonnull(buf);
	ncc__hlo__module__pack(&hlo.m, buf);
	rc = expect_obstacles(NCC_XLA, buf, size);
	free(buf);
	return rc;
}

START_TEST(hlo_all)
{
	begin();
	add("parameter", OF_F32);
	add("infeed", OF_F32);
	add("negate", OF_F32);
	add_call_of(1)->metadata = &hlo.metadata[0];
	add("infeed", OF_F32);
	add_call_of(2)->metadata = &hlo.metadata[1];
	end_computation(0, 0);
	ck_assert_int_eq(compile_hlo(1), -ENOTSUP);
	expect_line(0, "infeed 'i2': operation not supported (and 1 more like it)");
	expect_line(1, "custom-call 'i4' (user.py:7): operation not supported (target 't1')");
	expect_line(2, "custom-call 'i6' (user.py:8): operation not supported (target 't2')");
	ck_assert_uint_eq(got.n, 3);
	ck_assert_str_eq(error.text, "infeed 'i2': operation not supported");
}
END_TEST

/*
 * The importer's own constants are counted together: each of these two, of a prime number of
 * elements, is more than half of the limit
 */
START_TEST(hlo_constants)
{
	begin();
	hlo.dim[0] = 146800649;
	for (int i = 0; i < 2; i++) {
		add("iota", OF_F32);
		hlo.instruction[hlo.n - 1].n_operand_ids = 0;
	}
	end_computation(0, 0);
	ck_assert_int_eq(compile_hlo(1), -EFBIG);
	ck_assert_str_eq(error.text, "iota 'i2': too large: the constants that are "
				     "made for the module exceed 1073741824 bytes");
}
END_TEST

#define TYPES                                                                                \
	"(pred, s2, s4, s8, s16, s32, u2, u4, u8, u16, u32, f16, bf16, f32, c64, f4e2m1fn, " \
	"f8e3m4, f8e4m3, f8e4m3b11fnuz, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0fnu are)"
#define MORE " (and 2 more like it)"

/* Operations are looked up even if the type of their result cannot be replaced */
START_TEST(hlo_types)
{
	begin();
	add("parameter", OF_F8);
	add("negate", OF_F8);
	add("infeed", OF_F8);
	add("convert", OF_F32);
	add("negate", OF_F8);
	add("while", OF_F32);
	end_computation(0, 0);
	ck_assert_int_eq(compile_hlo(1), -ENOTSUP);
	expect_line(0, "parameter 'i1': element type f6e2m3fn is not supported " TYPES MORE);
	expect_line(1, "infeed 'i3': operation not supported");
	ck_assert_uint_eq(got.n, 2);
}
END_TEST

/* The second call is of the same instruction; its caller has the line that it lacks. */
START_TEST(hlo_nested)
{
	Ncc__Hlo__Instruction *p;

	begin();
	hlo.called[0] = 2;
	add("parameter", OF_F32);
	for (int i = 0; i < 2; i++) {
		p = add("call", OF_F32);
		p->called_computation_ids = hlo.called;
		p->n_called_computation_ids = 1;
		p->metadata = &hlo.metadata[i];
	}
	end_computation(0, 0);
	add("parameter", OF_F32);
	add_call_of(1);
	end_computation(1, 3);
	ck_assert_int_eq(compile_hlo(2), -ENOTSUP);
	expect_line(0, "custom-call 'i5' (user.py:7): operation not supported (target 't1')");
	ck_assert_uint_eq(got.n, 1);
}
END_TEST

START_TEST(hlo_many)
{
	static const char *const more[] = { "0 more", "5 more",
					    "980 more, and what comes after them" };
	static const unsigned int count[] = { 20, 25, 1050 };

	begin();
	add("parameter", OF_F32);
	for (unsigned int i = 0; i < count[_i]; i++)
		add_call_of(i);
	end_computation(0, 0);
	ck_assert_int_eq(compile_hlo(1), -ENOTSUP);
	expect_line(19, "custom-call 'i21': operation not supported (target 't19')");
	if (_i)
		expect_line(20, more[_i]);
	ck_assert_uint_eq(got.n, _i ? 21 : 20);
}
END_TEST

/* The limit is reached in a computation: what comes behind the call is not looked at either. */
START_TEST(hlo_many_nested)
{
	Ncc__Hlo__Instruction *p;
	unsigned int first;

	begin();
	hlo.called[0] = 2;
	add("parameter", OF_F32);
	p = add("call", OF_F32);
	p->called_computation_ids = hlo.called;
	p->n_called_computation_ids = 1;
	add_call_of(1050);
	end_computation(0, 0);
	first = hlo.n;
	add("parameter", OF_F32);
	for (unsigned int i = 0; i < 1040; i++)
		add_call_of(i);
	end_computation(1, first);
	ck_assert_int_eq(compile_hlo(2), -ENOTSUP);
	expect_line(20, "980 more, and what comes after them");
	ck_assert_uint_eq(got.n, 21);
}
END_TEST

/* A model of a few nodes of one result each */
struct model {
	Ncc__Onnx__Model m;
	Ncc__Onnx__Graph g, inner;
	Ncc__Onnx__OperatorSet set, *sets[1];
	Ncc__Onnx__Node node[16], *nodes[16];
	Ncc__Onnx__Attribute attr[2], *attrs[2];
	Ncc__Onnx__ValueInfo value[4], *values[4];
	Ncc__Onnx__Type type[4];
	Ncc__Onnx__TensorType tensor[4];
	Ncc__Onnx__TensorShape shape[4];
	Ncc__Onnx__Dimension dim[4][2], *dims[4][2];
	char *operand[16][3], *result[16][1];
	bool list; /* "told" is of rank 1 */
};

static Ncc__Onnx__ValueInfo *value(struct model *o, unsigned int i, const char *name, int32_t type)
{
	ncc__onnx__value_info__init(&o->value[i]);
	ncc__onnx__type__init(&o->type[i]);
	ncc__onnx__tensor_type__init(&o->tensor[i]);
	ncc__onnx__tensor_shape__init(&o->shape[i]);
	for (unsigned int d = 0; d < 2; d++) {
		ncc__onnx__dimension__init(&o->dim[i][d]);
		o->dim[i][d].value_case = NCC__ONNX__DIMENSION__VALUE_DIM_VALUE;
		o->dim[i][d].dim_value = 3 + d;
		o->dims[i][d] = &o->dim[i][d];
	}
	o->shape[i].dim = o->dims[i];
	o->shape[i].n_dim = 2;
	o->tensor[i].shape = &o->shape[i];
	o->tensor[i].elem_type = type;
	o->type[i].tensor_type = &o->tensor[i];
	o->value[i].type = &o->type[i];
	o->value[i].name = (char *)name;
	o->values[i] = &o->value[i];
	return &o->value[i];
}

static void node(struct model *o, unsigned int i, const char *op, const char *a, const char *b,
		 const char *result)
{
	Ncc__Onnx__Node *p = &o->node[i];

	ncc__onnx__node__init(p);
	o->nodes[i] = p;
	o->operand[i][0] = (char *)a;
	o->operand[i][1] = (char *)b;
	o->result[i][0] = (char *)result;
	p->op_type = (char *)op;
	p->input = o->operand[i];
	p->n_input = b ? 2 : a ? 1 : 0;
	p->output = o->result[i];
	p->n_output = 1;
}

/* Input x, the model's output `out`, and a result whose shape is told: "told" */
static void compile_onnx(struct model *o, unsigned int nodes, int32_t type)
{
	uint8_t *buf;
	size_t size;

	ncc__onnx__model__init(&o->m);
	ncc__onnx__graph__init(&o->g);
	ncc__onnx__operator_set__init(&o->set);
	o->set.version = 17;
	o->sets[0] = &o->set;
	o->m.opset_import = o->sets;
	o->m.n_opset_import = 1;
	o->m.graph = &o->g;
	o->g.node = o->nodes;
	o->g.n_node = nodes;
	value(o, 0, "x", type);
	value(o, 1, "out", 1);
	value(o, 2, "told", 1);
	o->shape[2].n_dim = o->list ? 1 : 2;
	o->g.input = &o->values[0];
	o->g.output = &o->values[1];
	o->g.value_info = &o->values[2];
	o->g.n_input = o->g.n_output = o->g.n_value_info = 1;
	size = ncc__onnx__model__get_packed_size(&o->m);
	buf = malloc(size);
	ck_assert_ptr_nonnull(buf);
	ncc__onnx__model__pack(&o->m, buf);
	ck_assert_int_eq(expect_obstacles(NCC_ONNX, buf, size), -ENOTSUP);
	free(buf);
}

/* A shape that an unknown node gives, and what follows from that, is no obstacle by itself. */
START_TEST(onnx_all)
{
	struct model o = { 0 };

	node(&o, 0, "Foo", "x", NULL, "a");
	node(&o, 1, "Relu", "a", NULL, "b");
	node(&o, 2, "Foo", "b", NULL, "c");
	node(&o, 3, "Reshape", "x", "a", "d");
	node(&o, 4, "Bar", "d", NULL, "e");
	node(&o, 5, "Add", "e", "b", "out");
	compile_onnx(&o, 6, 1);
	expect_line(0, "Foo 'a': operator not supported (and 1 more like it)");
	expect_line(1, "Bar 'e': operator not supported");
	ck_assert_uint_eq(got.n, 2);
	ck_assert_str_eq(error.text, "Foo 'a': operator not supported");
}
END_TEST

/*
 * An operation behind an unknown one is imported with the shape that the model declares, and
 * refused for its own fault
 */
START_TEST(onnx_told)
{
	struct model o = { 0 };

	node(&o, 0, "Foo", "x", NULL, "told");
	node(&o, 1, "Reshape", "x", "told", "a");
	node(&o, 2, "MatMul", "told", "x", "b");
	node(&o, 3, "Det", "told", NULL, "out");
	compile_onnx(&o, 4, 1);
	expect_line(0, "Foo 'told': operator not supported");
	expect_line(1, "Reshape 'a': operand 1 ('told') must be a constant");
	ck_assert_ptr_nonnull(strstr(got.line[2], "MatMul 'b': "));
	ck_assert_ptr_nonnull(strstr(got.line[3], "Det 'out': "));
	ck_assert_uint_eq(got.n, 4);
}
END_TEST

/* A list that is unknown might have been a constant. */
START_TEST(onnx_told_list)
{
	struct model o = { .list = true };

	node(&o, 0, "Foo", "x", NULL, "told");
	node(&o, 1, "Reshape", "x", "told", "out");
	compile_onnx(&o, 2, 1);
	expect_line(0, "Foo 'told': operator not supported");
	ck_assert_uint_eq(got.n, 1);
}
END_TEST

START_TEST(onnx_wide)
{
	struct model o = { 0 };

	node(&o, 0, "Abs", "x", NULL, "a");
	node(&o, 1, "Foo", "a", NULL, "out");
	compile_onnx(&o, 2, 7);
	expect_line(0, "input 'x' has type int64: 64-bit types need --narrow-64bit");
	expect_line(1, "Foo 'out': operator not supported");
	ck_assert_uint_eq(got.n, 2);
}
END_TEST

/* Within both branches, and behind the If whose results are unknown then */
START_TEST(onnx_graphs)
{
	static const char *const branch[] = { "then_branch", "else_branch" };
	struct model o = { 0 };

	node(&o, 0, "Foo", "x", NULL, "a");
	node(&o, 1, "If", "a", NULL, "b");
	node(&o, 2, "Baz", "b", NULL, "out");
	node(&o, 3, "Bar", "x", NULL, "c");
	ncc__onnx__graph__init(&o.inner);
	o.inner.node = &o.nodes[3];
	o.inner.n_node = 1;
	o.inner.output = (Ncc__Onnx__ValueInfo *[]){ value(&o, 3, "c", 1) };
	o.inner.n_output = 1;
	for (int i = 0; i < 2; i++) {
		ncc__onnx__attribute__init(&o.attr[i]);
		o.attr[i].name = (char *)branch[i];
		o.attr[i].g = &o.inner;
		o.attrs[i] = &o.attr[i];
	}
	o.node[1].attribute = o.attrs;
	o.node[1].n_attribute = 2;
	compile_onnx(&o, 3, 1);
	expect_line(0, "Foo 'a': operator not supported");
	expect_line(1, "Bar 'c': operator not supported (and 1 more like it)");
	expect_line(2, "Baz 'out': operator not supported");
	ck_assert_uint_eq(got.n, 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("obstacles");
	TCase *t = tcase_create("obstacles");

	tcase_add_test(t, hlo_all);
	tcase_add_test(t, hlo_constants);
	tcase_add_test(t, hlo_types);
	tcase_add_test(t, hlo_nested);
	tcase_add_loop_test(t, hlo_many, 0, 3);
	tcase_add_test(t, hlo_many_nested);
	tcase_add_test(t, onnx_all);
	tcase_add_test(t, onnx_told);
	tcase_add_test(t, onnx_told_list);
	tcase_add_test(t, onnx_wide);
	tcase_add_test(t, onnx_graphs);
	suite_add_tcase(s, t);
	return check_run(s);
}
