// SPDX-License-Identifier: MIT
/*
 * ONNX models that cannot be compiled: malformed files, and good ones (tests/data/onnx/own) changed
 * in one place. Each must be refused in one line that names the node, its operator and what was
 * expected; nothing may crash (the tests run under sanitizers).
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/onnx.pb-c.h"

#define P "onnx/own/test_"

static Ncc__Onnx__Model *unpack(const char *name)
{
	char path[200];
	size_t size;
	Ncc__Onnx__Model *m;
	void *p;

	snprintf(path, sizeof(path), P "%s/model.onnx", name);
	p = read_data(path, &size);
	m = ncc__onnx__model__unpack(NULL, size, p);
	ck_assert_ptr_nonnull(m);
	free(p);
	return m;
}

static struct ncc_options options = { .framework = NCC_ONNX };

static void expect_bytes(const void *p, size_t size, const char *text)
{
	struct ncc_error err = { "" };
	void *out = NULL;
	size_t out_size = 0;

	if (text) {
		compile_refused(p, size, &options, text);
		return;
	}
	ck_assert_msg(!ncc_compile(p, size, &options, &out, &out_size, &err), "refused: %s",
		      err.text);
	free(out);
}

/* Compiles the model, which has to fail with that text, or to succeed if it is NULL */
static void expect(Ncc__Onnx__Model *m, const char *text)
{
	size_t size = ncc__onnx__model__get_packed_size(m);
	uint8_t *buf = malloc(size + 1);

	ck_assert_ptr_nonnull(buf);
	ncc__onnx__model__pack(m, buf);
	expect_bytes(buf, size, text);
	free(buf);
	ncc__onnx__model__free_unpacked(m, NULL);
}

static void set_text(char **s, const char *text)
{
	if (*s != protobuf_c_empty_string)
		free(*s);
	*s = strdup(text);
}

static void set_bytes(ProtobufCBinaryData *b, const char *text)
{
	free(b->data);
	b->data = (uint8_t *)strdup(text);
	b->len = strlen(text);
}

static Ncc__Onnx__Tensor *constant(Ncc__Onnx__Model *m, const char *name)
{
	for (size_t i = 0; i < m->graph->n_initializer; i++)
		if (!strcmp(m->graph->initializer[i]->name, name))
			return m->graph->initializer[i];
	ck_abort_msg("no '%s'", name);
	return NULL;
}

static Ncc__Onnx__Attribute *attribute(Ncc__Onnx__Model *m, size_t node, const char *name)
{
	Ncc__Onnx__Node *n = m->graph->node[node];

	for (size_t i = 0; i < n->n_attribute; i++)
		if (!strcmp(n->attribute[i]->name, name))
			return n->attribute[i];
	ck_abort_msg("no '%s'", name);
	return NULL;
}

static void no_graph(Ncc__Onnx__Model *m)
{
	ncc__onnx__graph__free_unpacked(m->graph, NULL);
	m->graph = NULL;
}

static void old(Ncc__Onnx__Model *m)
{
	m->opset_import[0]->version = 3;
}

static void unknown(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[2]->op_type, "Reluu");
}

static void foreign(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[2]->domain, "com.example");
}

static void missing(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[2]->input[0], "nothing");
}

static void cycle(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[0]->input[0], "y");
}

static void twice(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[2]->output[0], "a");
}

static void same_constant(Ncc__Onnx__Model *m)
{
	set_text(&constant(m, "b3")->name, "b4");
}

static void absent(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->node[0]->input[1], "");
}

static void output(Ncc__Onnx__Model *m)
{
	set_text(&m->graph->output[0]->name, "none");
}

static void wrong_kernel(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->dims[1] = 1;
	constant(m, "w1")->raw_data.len /= 3;
}

static void short_data(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->raw_data.len -= 4;
}

static void huge(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->dims[0] = 1ll << 30;
}

/*
 * An input of more elements than 64 bits can count, though some orders of multiplication wrap to a
 * small number
 */
static void huge_input(Ncc__Onnx__Model *m)
{
	Ncc__Onnx__Node *n = m->graph->node[0];

	m->graph->input[0]->type->tensor_type->shape->dim[0]->dim_value = INT64_MAX / 2;
	set_text(&n->op_type, "Relu");
	while (n->n_input > 1)
		free(n->input[--n->n_input]);
}

static void negative(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->dims[0] = -8;
}

static void string_type(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->data_type = 8;
}

/* The data of 'w1', of 864 bytes, lie in another file: 16 bytes into one of 880 */
static void place(Ncc__Onnx__Model *m, const char *const *text)
{
	Ncc__Onnx__Tensor *t = constant(m, "w1");

	t->data_location = 1;
	t->external_data = calloc(4, sizeof(*t->external_data));
	ck_assert_ptr_nonnull(t->external_data);
	for (; *text; text += 2) {
		Ncc__Onnx__StringStringEntry *e = malloc(sizeof(*e));

		ck_assert_ptr_nonnull(e);
		ncc__onnx__string_string_entry__init(e);
		e->key = strdup(text[0]);
		e->value.len = strlen(text[1]);
		e->value.data = (uint8_t *)strdup(text[1]);
		t->external_data[t->n_external_data++] = e;
	}
}

/* A location that a NUL ends too early */
static void cut_location(Ncc__Onnx__Model *m)
{
	static const char *const where[] = { "location", "d...bin", NULL };
	ProtobufCBinaryData *value;

	place(m, where);
	value = &constant(m, "w1")->external_data[0]->value;
	value->data[1] = 0;
}

static const struct {
	const char *entry[8], *text;
} places[] = {
	{ { "location", "d", "offset", "16", "length", "864" }, NULL },
	{ { "location", "d", "offset", "16" }, NULL },
	{ { "location", "d", "offset", "13" }, NULL },
	{ { "checksum", "?", "location", "./d" }, NULL },
	{ { NULL }, "without a location" },
	{ { "location", "" }, "'': expected a path below the model's directory" },
	{ { "location", "/d" }, "'/d': expected a path below" },
	{ { "location", "../d" }, "expected a path below" },
	{ { "location", "e/../d" }, "expected a path below" },
	{ { "location", "e/.." }, "expected a path below" },
	{ { "location", "e//d" }, "expected a path below" },
	{ { "location", "d/" }, "expected a path below" },
	{ { "location", "none" }, "'none': No such file" },
	{ { "location", "link" }, "'link': a symbolic link" },
	{ { "location", "empty" }, "864 bytes from 0 on, the file has 0" },
	{ { "location", "d", "offset", "17" }, "864 bytes from 17 on, the file has 880" },
	{ { "location", "d", "offset", "-1" }, "offset or length is not a number" },
	{ { "location", "d", "offset", "" }, "offset or length is not a number" },
	{ { "location", "d", "offset", "18446744073709551615" }, "the file has 880" },
	{ { "location", "d", "offset", "18446744073709551616" }, "is not a number" },
	{ { "location", "d", "length", "860" }, "860 bytes, its shape and type have 864" },
	{ { "location", "d", "length", "0x360" }, "offset or length is not a number" },
};

static int external_data(void *opaque, const char *location, const void **data, size_t *size)
{
	static const _Alignas(16) char file[880];

	(void)opaque;
	*data = file;
	*size = strcmp(location, "empty") ? sizeof(file) : 0;
	return !strcmp(location, "none") ? -ENOENT : !strcmp(location, "link") ? -ELOOP : 0;
}

START_TEST(external)
{
	Ncc__Onnx__Model *m = unpack("convolutional");

	place(m, places[_i].entry);
	options.external_data = external_data;
	expect(m, places[_i].text);
	options.external_data = NULL;
}
END_TEST

static void outside(Ncc__Onnx__Model *m)
{
	static const char *const where[] = { "location", "d", NULL };

	place(m, where);
}

static void elsewhere(Ncc__Onnx__Model *m)
{
	constant(m, "w1")->data_location = 2;
}

static void pads(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "pads")->n_ints = 3;
}

static void far_pads(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "pads")->ints[0] = INT64_MIN;
}

static void strides(Ncc__Onnx__Model *m)
{
	attribute(m, 3, "strides")->ints[0] = 0;
}

static void groups(Ncc__Onnx__Model *m)
{
	attribute(m, 4, "group")->i = -1;
}

static void channels(Ncc__Onnx__Model *m)
{
	m->graph->input[0]->type->tensor_type->shape->dim[1]->dim_value = 4;
}

static void open(Ncc__Onnx__Model *m)
{
	m->graph->input[0]->type->tensor_type->shape->dim[0]->value_case =
		NCC__ONNX__DIMENSION__VALUE__NOT_SET;
}

static void wide(Ncc__Onnx__Model *m)
{
	m->graph->input[0]->type->tensor_type->elem_type = 11;
}

static void no_equation(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "equation")->s.len = 0;
}

static void many_scanned(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "num_scan_inputs")->i = 4;
}

static void other_axis(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "scan_input_axes")->ints[0] = 0;
}

static void other_padding(Ncc__Onnx__Model *m)
{
	set_bytes(&attribute(m, 0, "padding_mode")->s, "none");
}

static void no_samples(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "sampling_ratio")->i = 0;
}

static void last_axis(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "axis")->i = 3;
}

static void foreign_attribute(Ncc__Onnx__Model *m)
{
	set_text(&attribute(m, 0, "pads")->name, "padding");
}

/* Names of two underscores are free. */
static void own_attribute(Ncc__Onnx__Model *m)
{
	set_text(&attribute(m, 0, "axis")->name, "__axis");
}

static void other_type(Ncc__Onnx__Model *m)
{
	attribute(m, 0, "pads")->type = 1;
}

static void no_shape(Ncc__Onnx__Model *m)
{
	Ncc__Onnx__Node *n = m->graph->node[3];

	for (size_t i = 0; i < n->n_attribute; i++)
		if (!strcmp(n->attribute[i]->name, "kernel_shape"))
			set_text(&n->attribute[i]->name, "__shape");
}

static void before_it(Ncc__Onnx__Model *m)
{
	m->opset_import[0]->version = 8;
}

static void nine_rows(Ncc__Onnx__Model *m)
{
	for (unsigned int i = 2; i < 4; i++)
		m->graph->input[0]->type->tensor_type->shape->dim[i]->dim_value = 9;
}

/* One number of an attribute of the first node gets another value, or (at -1) the list's length
 * does. */
static const struct {
	const char *name, *attribute;
	int at;
	int64_t value;
	const char *text;
} numbers[] = {
	{ "ml_trees_missing", "nodes_treeids", -1, 0, "0 nodes, or lists of other lengths" },
	{ "ml_trees_missing", "nodes_nodeids", -1, 3, "lists of other lengths" },
	{ "ml_trees_missing", "nodes_featureids", 1, 6, "node 1: it compares a feature" },
	{ "ml_trees_missing", "nodes_featureids", 1, -1, "node 1: it compares a feature" },
	{ "ml_trees_missing", "nodes_nodeids", 1, 0, "another one of its tree has its number" },
	{ "ml_trees_missing", "nodes_truenodeids", 0, 99, "node 0: a branch leads nowhere" },
	{ "ml_trees_missing", "nodes_truenodeids", 3, 0, "tree 0: a way leads back to node 0" },
	{ "ml_trees_missing", "nodes_falsenodeids", 1, 1, "tree 0: a way leads back to node 1" },
	{ "ml_trees_missing", "target_nodeids", 0, 500, "weight 0 is of no node" },
	{ "ml_trees_missing", "target_ids", 0, 1, "weight 0 is of no node, or of no target" },
	{ "ml_trees_missing", "target_ids", -1, 1, "lists of leaves' weights" },
	{ "ml_trees_missing", "n_targets", 0, 0, "0 targets" },
	{ "ml_trees_average", "n_targets", 0, 4, "3 base values for 4 targets" },
	{ "ml_trees_classes_none", "classlabels_int64s", 0, 1l << 40, "label 1099511627776" },
	{ "ml_trees_classes_none", "classlabels_int64s", -1, 0, "0 class labels" },
	{ "ml_linearregressor", "targets", 0, 3, "10 coefficients and 2 intercepts for 3" },
	{ "ml_linearregressor", "targets", 0, 0, "for 0 targets" },
	{ "ml_svc_rbf", "vectors_per_class", 0, 4, "numbers for 10 support vectors" },
	{ "ml_svc_rbf", "vectors_per_class", 0, -1, "class 0 has -1 support vectors" },
	{ "ml_svc_rbf", "vectors_per_class", -1, 2, "3 class labels" },
	{ "ml_svr_rbf", "n_supports", 0, 6, "4 features, the support vectors have 6" },
	{ "ml_svr_no_vectors", "n_supports", 0, 1, "0 of 1 support vectors" },
	{ "ml_svr_rbf", "n_supports", 0, 1000, "of 1000 support vectors" },
	{ "ml_svr_rbf", "n_supports", 0, -1, "of -1 support vectors" },
	{ "ml_labelencoder_ints", "values_int64s", -1, 1, "3 keys and 1 values" },
	{ "ml_onehotencoder", "cats_int64s", -1, 0, "0 categories" },
	{ "ends_dequantizelinear_blocks_first", "block_size", 0, 2, "block_size 2 does not" },
	{ "ends_dequantizelinear_blocks_first", "block_size", 0, 1l << 62, "block_size 461168" },
	{ "ends_quantizelinear_blocks_line", "block_size", 0, -2, "block_size -2 does not" },
	{ "ends_quantizelinear_blocks_line", "axis", 0, 1, "axis" },
};

START_TEST(numbers_changed)
{
	Ncc__Onnx__Model *m = unpack(numbers[_i].name);
	Ncc__Onnx__Attribute *a = attribute(m, 0, numbers[_i].attribute);

	if (numbers[_i].at < 0)
		a->n_ints = (size_t)numbers[_i].value;
	else if (a->n_ints)
		a->ints[numbers[_i].at] = numbers[_i].value;
	else
		a->i = numbers[_i].value;
	expect(m, numbers[_i].text);
}
END_TEST

static const struct {
	const char *name;
	void (*change)(Ncc__Onnx__Model *m);
	const char *text;
} changes[] = {
	{ "convolutional", no_graph, "no graph" },
	{ "convolutional", old, "BatchNormalization 'b': of operator set 3" },
	{ "convolutional", unknown, "Reluu 'c': operator not supported" },
	{ "convolutional", foreign, "Relu 'c': operator not supported (domain 'com.example')" },
	{ "convolutional", missing, "Relu 'c': operand 0 ('nothing') does not exist" },
	{ "convolutional", cycle, "Conv 'a': operand 0 ('y') does not exist, or comes after it" },
	{ "convolutional", twice, "Relu 'a': 'a' is defined twice" },
	{ "convolutional", same_constant, "constant 'b4' is defined twice" },
	{ "convolutional", absent, "Conv 'a': operand 1 is absent" },
	{ "convolutional", output, "output 'none'" },
	{ "convolutional", wrong_kernel, "Conv 'a': convolution 'a': 3 input features" },
	{ "convolutional", short_data, "constant 'w1' (float): 215 elements, its shape has 216" },
	{ "convolutional", huge, "constant 'w1'" },
	{ "convolutional", huge_input, "'x': too large: more than 2147483648 elements" },
	{ "convolutional", negative, "'w1'" },
	{ "convolutional", string_type, "constant 'w1' (string)" },
	{ "convolutional", outside, "'w1': external data in 'd': the caller gives the model" },
	{ "convolutional", elsewhere, "constant 'w1': data location 2 is unknown" },
	{ "convolutional", cut_location,
	  "constant 'w1': external data whose location 'd' has a NUL at character 1" },
	{ "convolutional", pads, "Conv 'a': 3 numbers in 'pads', expected 4" },
	{ "convolutional", far_pads, "Conv 'a': pads of" },
	{ "convolutional", strides, "MaxPool 'd': strides of 0" },
	{ "convolutional", groups, "Conv 'e': -1 groups" },
	{ "convolutional", channels, "Conv 'a'" },
	{ "convolutional", open, "input 'x': dimension 0 (without a name) is not known" },
	{ "convolutional", wide, "input 'x' has type double: 64-bit types need --narrow-64bit" },
	{ "einsum_three", absent, "operand 1 is absent" },
	{ "einsum_three", no_equation, "no equation" },
	{ "scan_axes", many_scanned, "Scan 'y': the body is missing, or has other operands" },
	{ "scan_axes", other_axis, "Scan 'y': operands of 3 and 5 elements to scan" },
	{ "gridsample_zeros_cubic", other_padding, "GridSample 'y': padding_mode has a value" },
	{ "roialign", no_samples, "RoiAlign 'y': sampling_ratio 0 takes as many samples" },
	{ "dft_shorter", last_axis, "DFT 'y': along the last dimension" },
	{ "convolutional", foreign_attribute, "Conv 'a': attribute 'padding' is not known of it" },
	{ "convolutional", other_type,
	  "Conv 'a': attribute 'pads' is a number, expected integers" },
	{ "convolutional", no_shape, "MaxPool 'd': attribute 'kernel_shape' is absent" },
	{ "einsum_three", before_it, "of operator set 8, 12 has it first" },
	{ "dft_shorter", own_attribute, NULL },
	{ "det_5", nine_rows, "Det 'y': of more than 8 rows is not supported" },
	{ "open_dimension", NULL, "input 'x': dimension 0 (batch) is not known" },
	{ "gather_embedding", NULL, "input 'i' has type int64" },
	{ "convolutional", NULL, NULL },
};

START_TEST(changed)
{
	Ncc__Onnx__Model *m = unpack(changes[_i].name);

	options.ninputs = 0;
	if (changes[_i].change)
		changes[_i].change(m);
	expect(m, changes[_i].text);
}
END_TEST

START_TEST(bytes)
{
	static uint8_t zeros[16], deep[4096];
	size_t n = sizeof(deep);

	expect_bytes("", 0, "empty");
	expect_bytes("hello, world", 12, "not an ONNX model");
	expect_bytes(zeros, sizeof(zeros), "bad field tag");
	/* graph { node { attribute { g { node { ... */
	for (unsigned int level = 0; n > 200 || level % 3 != 1; level++) {
		static const uint8_t tags[] = { 0x32, 0x2a, 0x0a }; /* g, attribute, node */
		size_t len = sizeof(deep) - n;

		deep[--n] = (uint8_t)(len >> 7);
		deep[--n] = (uint8_t)((len & 0x7f) | 0x80);
		deep[--n] = tags[level % 3];
	}
	deep[n] = 0x3a; /* graph of the model */
	expect_bytes(deep + n, sizeof(deep) - n, "not an ONNX model");
}
END_TEST

/* ONNX's names of types that are not supported, by their numbers */
static const struct {
	int32_t type;
	const char *name;
} other_types[] = {
	{ 8, "string" },      { 14, "complex64" }, { 15, "complex128" }, { 23, "float4e2m1" },
	{ 24, "float8e8m0" }, { 25, "uint2" },	   { 26, "int2" },	 { 27, "float6e2m3" },
	{ 28, "float6e3m2" }, { 29, "unknown" },   { -1, "unknown" },
};

START_TEST(types)
{
	Ncc__Onnx__Model *m = unpack("convolutional");
	char text[100];

	options.ninputs = 0;
	constant(m, "w1")->data_type = other_types[_i].type;
	snprintf(text, sizeof(text), "constant 'w1' (%s): a type that", other_types[_i].name);
	expect(m, text);
	m = unpack("convolutional");
	m->graph->input[0]->type->tensor_type->elem_type = other_types[_i].type;
	snprintf(text, sizeof(text), "input 'x': type %s is not supported", other_types[_i].name);
	expect(m, text);
}
END_TEST

/* Types of four bits, which constants may have, two numbers in each byte */
static const struct {
	int32_t type;
	const char *name;
} nibbles[] = { { 21, "uint4" }, { 22, "int4" } };

START_TEST(types_of_four_bits)
{
	Ncc__Onnx__Model *m = unpack("convolutional");
	char text[100];

	options.ninputs = 0;
	constant(m, "w1")->data_type = nibbles[_i].type;
	snprintf(text, sizeof(text), "constant 'w1' (%s): 864 pairs, its shape has 216",
		 nibbles[_i].name);
	expect(m, text);
	m = unpack("convolutional");
	m->graph->input[0]->type->tensor_type->elem_type = nibbles[_i].type;
	snprintf(text, sizeof(text), "input 'x': type %s is not supported", nibbles[_i].name);
	expect(m, text);
}
END_TEST

/* A name with a NUL would be that of another tensor: the packed model's 'w1' */
START_TEST(cut_name)
{
	Ncc__Onnx__Model *m = unpack("convolutional");
	size_t size = ncc__onnx__model__get_packed_size(m);
	uint8_t *buf = malloc(size), *at;

	ck_assert_ptr_nonnull(buf);
	options.ninputs = 0;
	ncc__onnx__model__pack(m, buf);
	at = memmem(buf, size, "\x02w1", 3);
	ck_assert_ptr_nonnull(at);
	at[2] = 0;
	expect_bytes(buf, size, "not an ONNX model: a NUL in input 'w' at byte");
	free(buf);
	ncc__onnx__model__free_unpacked(m, NULL);
}
END_TEST

/* The values of --input-shape and --input-value have to fit the model. */
START_TEST(inputs)
{
	static const double values[2] = { 1, 2 };
	struct ncc_input in = { .name = "x", .has_shape = true, .ndim = 3, .dim = { 5, 3, 4 } };

	options.input = &in;
	options.ninputs = 1;
	expect(unpack("open_dimension"), NULL);
	in.dim[1] = 7;
	expect(unpack("open_dimension"), "dimension 1 is 3, --input-shape gives 7");
	in.ndim = 2;
	expect(unpack("open_dimension"), "rank 3, --input-shape gives 2");
	in = (struct ncc_input){ .name = "q" };
	expect(unpack("open_dimension"), "no input 'q'");
	in = (struct ncc_input){ .name = "i", .value = values, .nvalues = 2 };
	expect(unpack("gather_embedding"), "input 'i': 14 elements, --input-value gives 2");
}
END_TEST

static bool depends_on(const struct ncc_op *op, const struct ncc_op *on)
{
	for (unsigned int i = 0; i < op->nin; i++)
		if (depends_on(op->in[i], on))
			return true;
	return op == on;
}

/*
 * A bound for an open dimension makes its size an input; dimensions of one name have one size, the
 * smallest of theirs.
 */
START_TEST(bounds)
{
	static const char *const names[] = { "size of input0, dimension 0",
					     "size of input0, dimension 1",
					     "size of input1, dimension 0",
					     "size of input1, dimension 1" };
	struct ncc_input in[2] = {
		{ "ids", true, 2, { 4, 9 }, { true, true }, NULL, 0 },
		{ "mask", true, 2, { 4, 9 }, { true, true }, NULL, 0 },
	};
	struct ncc_error err = { "" };
	struct ncc_module *m;
	size_t size;
	void *p = read_data(P "bounded_embedding/model.onnx", &size);

	options.input = in;
	options.ninputs = 2;
	options.narrow_64bit = true;
	ck_assert_int_eq(ncc_import_onnx(p, size, &options, &m, &err), 0);
	ck_assert_uint_eq(m->nparams, 6);
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_str_eq(m->params[2 + i]->name, names[i]);
	ck_assert_uint_eq(m->nouts, 3 + 2 + 1 + 2); /* x, mean, hot, and their sizes */
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert(depends_on(m->outs[3 + i], m->params[2 + i]));
		ck_assert(depends_on(m->outs[3 + i], m->params[4 + i]));
	}
	ncc_module_free(m);
	free(p);
	in[1].dim[1] = 8;
	expect(unpack("bounded_embedding"), "dimension 'seq' has two bounds, 9 and 8");
	in[1].bounded[1] = false;
	expect(unpack("bounded_embedding"), "dimension 'seq' is bounded, and 8 in 'mask'");
	in[0] = (struct ncc_input){ "x", true, 3, { 5, 3, 4 }, { false, true }, NULL, 0 };
	options.ninputs = 1;
	expect(unpack("open_dimension"), "dimension 1 is always 3");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("onnx-import");
	TCase *t = tcase_create("onnx-import");

	tcase_add_loop_test(t, changed, 0, (int)(sizeof(changes) / sizeof(changes[0])));
	tcase_add_loop_test(t, numbers_changed, 0, (int)(sizeof(numbers) / sizeof(numbers[0])));
	tcase_add_loop_test(t, external, 0, (int)(sizeof(places) / sizeof(places[0])));
	tcase_add_loop_test(t, types, 0, (int)(sizeof(other_types) / sizeof(other_types[0])));
	tcase_add_loop_test(t, types_of_four_bits, 0, 2);
	tcase_add_test(t, cut_name);
	tcase_add_test(t, bytes);
	tcase_add_test(t, inputs);
	tcase_add_test(t, bounds);
	suite_add_tcase(s, t);
	return check_run(s);
}
