// SPDX-License-Identifier: MIT
/*
 * StableHLO's text: what jaxlib prints of a portable artifact, in either form, is the program that
 * the artifact is (tests/data/stablehlo/text/make.py), and what is wrong is refused where it is
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "mlir_print.h"

#define DATA "stablehlo/text/"

static char *printed(const char *name, const char *end, bool places)
{
	struct ncc_error err = { "" };
	char path[100], *text;
	struct mlir m;
	size_t size;
	void *file;
	int rc;

	snprintf(path, sizeof(path), DATA "%s.%s", name, end);
	file = read_data(path, &size);
	ck_assert_int_eq(mlir_is_bytecode(file, size), !strcmp(end, "mlirbc"));
	ck_assert_int_eq(mlir_is_text(file, size), strcmp(end, "mlirbc") != 0);
	rc = mlir_is_text(file, size) ? mlir_read_text(file, size, &m, &err)
				      : mlir_read_bytecode(file, size, &m, &err);
	ck_assert_msg(!rc, "%s: %s", path, err.text);
	text = mlir_printed(&m, places);
	mlir_free(&m);
	free(file);
	return text;
}

static void same(char *a, char *b)
{
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
}

/* places: the text has them, too */
static const struct {
	const char *name;
	bool places;
} golden[] = {
	{ "arrays", true },	{ "attributes", false }, { "collectives", true },
	{ "composites", true }, { "elements", true },	 { "numbers", false },
	{ "places", true },	{ "regions", true },	 { "sharding", false },
	{ "tokens", true },
};

START_TEST(pretty)
{
	same(printed(golden[_i].name, "mlirbc", golden[_i].places),
	     printed(golden[_i].name, "mlir", golden[_i].places));
}
END_TEST

START_TEST(generic)
{
	same(printed(golden[_i].name, "mlirbc", false),
	     printed(golden[_i].name, "generic.mlir", false));
}
END_TEST

/* Refusals */

#define MAIN "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"

static const struct {
	const char *text, *says;
} wrong[] = {
	{ "", "line 1, column 1: expected a module, found the file's end" },
	{ "module {", "line 1, column 9: expected '}', found the file's end" },
	{ "// only\n", "line 2, column 1: expected a module, found the file's end" },
	{ "module @m {\n}}", "line 2, column 2: expected an operation, found '}'" },
	{ "module @m {\n  foo.bar\n}", "line 2, column 3: the operation 'foo.bar' is not known" },
	{ "module \"x\" {}", "line 1, column 8: expected '{', found '\"x\"'" },
	{ "module @\"x {}", "line 1, column 9: a string without an end" },
	{ "module @\"x\\q\" {}", "line 1, column 11: a '\\' that is followed by nothing known" },
	{ "module @\"x\\00\" {}", "line 1, column 8: a name with a NUL in it" },
	{ "module @ {}", "line 1, column 8: a '@' without a name" },
	{ "module \x01", "line 1, column 8: a character that is not known here (1)" },
	{ "module ~", "line 1, column 8: a '~', which is not known here" },
	{ "module attributes {a = 1, a = 2} {}", "column 27: the attribute 'a' was there before" },
	{ "module attributes {a = 18446744073709551616} {}", "column 24: an integer of more than" },
	{ "module attributes {a = -9223372036854775809} {}", "column 24: an integer of more than" },
	{ "module attributes {a = 1.5 : i32} {}", "column 24: a number of the type i32 that is" },
	{ "module attributes {a = 1 : tensor<i32>} {}", "column 28: a number whose type is none" },
	{ "module attributes {a = #b} {}", "column 24: the attribute '#b' is not defined" },
	{ "module attributes {a = !b} {}", "column 24: the type '!b' is not defined" },
	{ "module attributes {a = <} {}", "column 24: expected an attribute, found '<'" },
	{ "#a = 1\n#b = [#a]\nmodule {}", "line 2, column 7: an alias of what has aliases in it" },
	{ "!a = tuple<i32>\nmodule {}", "line 1, column 6: an alias of tuple" },
	{ "#a = 1\n#a = 2\nmodule {}", "line 2, column 1: '#a' is defined twice" },
	{ MAIN "return %b : tensor<4xf32> }", "line 2, column 8: "
					      "the value '%b' is not defined before it is used" },
	{ MAIN "%0 = stablehlo.add %0, %a : tensor<4xf32> return %a : tensor<4xf32> }",
	  "line 2, column 20: the value '%0' is not defined before it is used" },
	{ MAIN "%a = stablehlo.abs %a : tensor<4xf32> return %a : tensor<4xf32> }", "line 2, "
										    "column 1: the "
										    "value '%a' "
										    "was defined "
										    "before" },
	{ MAIN "%0 = stablehlo.abs %a#1 : tensor<4xf32> return %a : tensor<4xf32> }", "line 2, "
										      "column 20: "
										      "'%a' has 1 "
										      "results: "
										      "there is "
										      "none of "
										      "this "
										      "number" },
	{ MAIN "%0 = stablehlo.abs %a#99999999999999999999 : tensor<4xf32> }", "line 2, column 20: "
									       "'%a' has 1 "
									       "results: there is "
									       "none of this "
									       "number" },
	{ MAIN "%0:2 = stablehlo.abs %a : tensor<4xf32> return %a : tensor<4xf32> }", "line 2, "
										      "column 8: 1 "
										      "results, "
										      "and names "
										      "for 2" },
	{ MAIN "%0:0 = stablehlo.abs %a : tensor<4xf32> return %a : tensor<4xf32> }", "line 2, "
										      "column 1: a "
										      "wrong "
										      "number of "
										      "results" },
	{ MAIN "return %a : tensor<5xf32> }", "line 2, column 1: operand 0 is a tensor<4xf32>, not "
					      "a tensor<5xf32>" },
	{ MAIN "return %a : tensor<4xf32>, tensor<4xf32> }", "line 2, column 1: "
							     "1 operands, and types of 2" },
	{ MAIN "return %a tensor<4xf32> }", "line 2, column 11: expected ':', found 'tensor'" },
	{ MAIN "return %a : tensor<4yf32> }", "line 2, column 21: expected 'x' behind a tensor's" },
	{ MAIN "return %a : tensor<99999999999999999999xf32> }", "line 2, column 20: "
								 "a size of more than 63 bits" },
	{ MAIN "return %a : tensor<4x!stablehlo.token> }", "line 2, column 22: "
							   "a tensor of what is no number" },
	{ MAIN "return %a : tensor<4xf32, #stablehlo.bounds<?, 3>> }", "line 2, column 27: bounds "
								       "of 2 dimensions for 1" },
	{ MAIN "return %a : (tensor<4xf32>) }", "line 2, column 29: expected '->', found '}'" },
	{ MAIN "%0 = \"stablehlo.iota\"() : () -> tensor<4xf32> return %a : tensor<4xf32> }",
	  "line 2, column 6: 'stablehlo.iota' without its attribute 'iota_dimension'" },
	{ MAIN "%0 = \"stablehlo.iota\"() <{iota_dimension = 0}> {iota_dimension = 0} : () -> () }",
	  "line 2, column 6: the attribute 'iota_dimension' is given twice" },
	{ MAIN "\"cf.br\"()[^b] : () -> () }", "line 2, column 10: "
					       "an operation that goes on in another block" },
	{ MAIN "return %a : tensor<4xf32> ^bb1: return %a : tensor<4xf32> }", "line 2, column 27: "
									      "a region of more "
									      "than one block" },
	{ MAIN "%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<4xf32> }", "line 2, column 31: "
									      "2 elements in "
									      "dimension 0 of "
									      "tensor<4xf32>" },
	{ MAIN "%0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<2xf32> }", "line 2, column "
										   "42: more "
										   "elements than "
										   "tensor<2xf32> "
										   "has" },
	{ MAIN "%0 = stablehlo.constant dense<[[1.0], 2.0]> : tensor<2x1xf32> }", "line 2, column "
										  "39: expected "
										  "'[', found "
										  "'2.0'" },
	{ MAIN "%0 = stablehlo.constant dense<[[1.0]]> : tensor<1xf32> }", "line 2, column 32: "
									   "expected a number, "
									   "found '['" },
	{ MAIN "%0 = stablehlo.constant dense<[1]> : tensor<99999999xi32> }", "line 2, column 31: "
									      "fewer elements than "
									      "tensor<99999999xi32>"
									      " has" },
	{ MAIN "%0 = stablehlo.constant dense<> : tensor<4xf32> }", "line 2, column 31: no "
								    "elements for tensor<4xf32>" },
	{ MAIN "%0 = stablehlo.constant dense<1> : tensor<?xi32> }", "line 2, column 36: elements "
								     "of tensor<?xi32>, which "
								     "cannot be counted" },
	{ MAIN "%0 = stablehlo.constant dense<1> : tensor<4000000000000000000x9xi32> }",
	  "line 2, column 36: elements of tensor<4000000000000000000x9xi32>, which cannot" },
	{ MAIN "%0 = stablehlo.constant dense<1 : tensor<4xi32 }", "line 2, column 31: a list of "
								   "elements without an end" },
	{ MAIN "%0 = stablehlo.constant dense<\"0x0102\"> : tensor<4xf32> }", "line 2, column 31: "
									      "2 bytes for "
									      "tensor<4xf32>" },
	{ MAIN "%0 = stablehlo.constant dense<\"0x010\"> : tensor<4xi8> }", "line 2, column 31: "
									    "expected bytes "
									    "as \"0x...\"" },
	{ MAIN "%0 = stablehlo.constant dense<\"0x010g\"> : tensor<2xi8> }", "line 2, column 36: "
									     "a hexadecimal "
									     "digit that is none" },
	{ MAIN "%0 = stablehlo.constant dense<\"0x0003\"> : tensor<2xi1> }", "line 2, column 31: "
									     "a boolean that "
									     "is neither 0 nor 1" },
	{ MAIN "%0 = stablehlo.constant dense<256> : tensor<2xi8> }", "line 2, column 31: a number "
								      "of more than 8 bits" },
	{ MAIN "%0 = stablehlo.constant dense<-129> : tensor<2xi8> }",
	  "line 2, column 31: a number of more than 8 bits" },
	{ MAIN "%0 = stablehlo.constant dense<-1> : tensor<2xui8> }", "line 2, column 31: "
								      "a negative number "
								      "in a tensor of ui8" },
	{ MAIN "%0 = stablehlo.constant dense<0x1FFFFFFFF> : tensor<2xf32> }", "line 2, column 31: "
									       "more than 32 "
									       "bits" },
	{ MAIN "%0 = stablehlo.constant dense<7.0> : tensor<2xf4E2M1FN> }", "line 2, column 31: "
									    "a number that "
									    "no f4E2M1FN is" },
	{ MAIN "%0 = stablehlo.constant dense<(1.0 2.0)> : tensor<2xcomplex<f32>> }", "line 2, "
										      "column 36: "
										      "expected "
										      "',', found "
										      "'2.0'" },
	{ MAIN "%0 = stablehlo.constant dense_resource<w> : tensor<2xf32> return %a : "
	       "tensor<4xf32> }",
	  "line 2, column 40: no data of this name follows the module" },
	{ "module {} {-# dialect_resources: { builtin: { w: \"0x0400\", w: \"0x00\" } } #-}",
	  "line 1, column 60: data of this name was there before" },
	{ MAIN "%0 = stablehlo.slice %a [1, 3] : (tensor<4xf32>) -> tensor<2xf32> }", "line 2, "
										      "column 27: "
										      "expected "
										      "':', found "
										      "','" },
	{ MAIN "%0 = stablehlo.reduce_precision %a, format = m5e10 : tensor<4xf32> }", "line 2, "
										       "column 46: "
										       "expected a "
										       "format, "
										       "such as "
										       "e5m10, "
										       "found "
										       "'m5e10'" },
	{ MAIN "%0 = stablehlo.reduce(%a init: %a) applies stablehlo.reduce across dimensions = "
	       "[0] : "
	       "(tensor<4xf32>, tensor<4xf32>) -> tensor<f32> }",
	  "line 2, column 44: expected an operation of StableHLO of two" },
	{ MAIN "%0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0]x[o, i, 0]->[b, f, 0], "
	       "window",
	  "line 2, column 50: expected 'b', 'f' and dimensions from 0 on" },
	{ MAIN "%0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 0]x[o, i]->[b, f], window",
	  "line 2, column 50: as many spatial dimensions in each of the three" },
	{ MAIN "%0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 1, 1]x[o, i]->[b, f], "
	       "window",
	  "line 2, column 60: a dimension that is not one more" },
	{ MAIN "%0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f]x[o, i]->[b, f], window = "
	       "{x",
	  "line 2, column 83: expected stride, pad, lhs_dilate, rhs_dilate or reverse, found 'x'" },
	{ MAIN "return %a : tensor<4xf32> } loc(",
	  "line 2, column 33: expected a location, found" },
};

START_TEST(refused)
{
	const size_t size = strlen(wrong[_i].text);
	char *text = malloc(size ? size : 1);
	struct ncc_error err = { "" };
	struct mlir m;
	int rc;

	/* without the NUL behind it, which must not be looked at */
	memcpy(text, wrong[_i].text, size);
	rc = mlir_read_text(text, size, &m, &err);
	mlir_free(&m);
	free(text);
	ck_assert_msg(rc < 0, "accepted; expected '%s'", wrong[_i].says);
	ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "'%s' does not say '%s'", err.text,
		      wrong[_i].says);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}
END_TEST

static int read_string(const char *text, struct mlir *m, struct ncc_error *err)
{
	err->text[0] = 0;
	return mlir_read_text(text, strlen(text), m, err);
}

/* Something in itself, MLIR_MAX_DEPTH times and once more */
static void too_deep(const char *before, const char *open, const char *says)
{
	const size_t n = strlen(before), each = strlen(open);
	char *text = calloc(1, n + 100000 * each + 1);
	struct ncc_error err;
	struct mlir m;

	memcpy(text, before, n);
	for (size_t i = 0; i < 100000; i++)
		memcpy(text + n + i * each, open, each);
	ck_assert_int_eq(read_string(text, &m, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
	mlir_free(&m);
	free(text);
}

START_TEST(deep)
{
	const char *says = "things nested more than 64 deep";

	too_deep("module attributes {a = ", "[", says);
	too_deep("module attributes {a = ", "{b = ", says);
	too_deep("module attributes {a = ", "tuple<", says);
	too_deep("module attributes {a = ", "complex<", says);
	too_deep("module attributes {a = ", "() -> (", says);
	too_deep("", "module {", says);
	too_deep("#l = loc(", "fused[", says);
	too_deep("#l = loc(", "callsite(", says);
	too_deep("module attributes {a = dense<", "[", "a list of elements without an end");
}
END_TEST

/* Attributes are looked for one after the other, so they may not be many. */
START_TEST(many_attributes)
{
	struct ncc_error err;
	struct mlir m;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("\"x.y\"() <{a", f);
	for (int i = 0; i < 1200; i++)
		fprintf(f, ", a%d", i);
	fputs("}> : () -> ()", f);
	fclose(f);
	ck_assert_int_eq(read_string(text, &m, &err), -EFBIG);
	ck_assert_ptr_nonnull(strstr(err.text, "line 1, column 1: an operation of more than 1024"));
	mlir_free(&m);
	free(text);
}
END_TEST

/* Values of a name that was dropped with its region may be defined again; those around are seen. */
START_TEST(scopes)
{
	struct ncc_error err;
	struct mlir m;
	int rc = read_string("func.func private @f(%x: tensor<f32>) -> tensor<f32> {\n"
			     "  return %x : tensor<f32>\n}\n"
			     "func.func @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {\n"
			     "  %r = \"stablehlo.if\"(%p) ({\n"
			     "    %y = stablehlo.abs %x : tensor<f32>\n"
			     "    stablehlo.return %y : tensor<f32>\n"
			     "  }, {\n"
			     "    %y = stablehlo.sine %x : tensor<f32>\n"
			     "    stablehlo.return %y : tensor<f32>\n"
			     "  }) : (tensor<i1>) -> tensor<f32>\n"
			     "  %y = stablehlo.abs %r : tensor<f32>\n"
			     "  return %y : tensor<f32>\n}\n",
			     &m, &err);

	ck_assert_msg(!rc, "%s", err.text);
	ck_assert_uint_eq(m.module->regions[0].blocks[0].nops, 2);
	mlir_free(&m);
	rc = read_string("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
			 "  \"builtin.module\"() ({\n"
			 "    %y = stablehlo.abs %x : tensor<f32>\n"
			 "  }) : () -> ()\n}\n",
			 &m, &err);
	ck_assert_int_eq(rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "line 3, column 24: the value '%x' is not defined"));
	mlir_free(&m);
}
END_TEST

/* Locations of operations, of each kind that MLIR's language reference has */
static const struct {
	const char *loc, *file;
	unsigned int line;
} located[] = {
	{ "loc(\"a.py\":3:4)", "a.py", 3 },
	{ "loc(\"a.py\":3:4 to :9)", "a.py", 3 },
	{ "loc(\"f\"(\"a.py\":3:4))", "a.py", 3 },
	{ "loc(\"f\")", NULL, 0 },
	{ "loc(unknown)", NULL, 0 },
	{ "loc(fused[\"a.py\":3:4, \"b.py\":5:6])", "a.py", 3 },
	{ "loc(fused<{x = 1}>[\"a.py\":3:4])", "a.py", 3 },
	{ "loc(callsite(\"a.py\":3:4 at \"b.py\":5:6))", "a.py", 3 },
	{ "loc(#x)\n#x = loc(\"f\"(#y))\n#y = loc(\"a.py\":3:4 to 5:6)", "a.py", 3 },
	{ "loc(#x)\n#x = loc(#x)", NULL, 0 },
	{ "loc(#x)", NULL, 0 },
};

START_TEST(locations)
{
	struct ncc_error err;
	struct mlir m;
	char text[200];

	snprintf(text, sizeof(text), "module {} %s", located[_i].loc);
	ck_assert_msg(!read_string(text, &m, &err), "%s", err.text);
	ck_assert_pstr_eq(m.module->file, located[_i].file);
	ck_assert_uint_eq(m.module->line, located[_i].line);
	mlir_free(&m);
}
END_TEST

/* What ml_dtypes 0.6.0 makes of NUMBERS */
#define NUMBERS "[0.0, -0.0, 1.5, -2.75, 0.004, -1.0e-9, 6.0]"
static const struct {
	const char *type;
	uint16_t code[7];
} smalls[] = {
	{ "f16", { 0x0, 0x8000, 0x3e00, 0xc180, 0x1c19, 0x8000, 0x4600 } },
	{ "bf16", { 0x0, 0x8000, 0x3fc0, 0xc030, 0x3b83, 0xb089, 0x40c0 } },
	{ "f8E5M2", { 0x0, 0x80, 0x3e, 0xc2, 0x1c, 0x80, 0x46 } },
	{ "f8E4M3", { 0x0, 0x80, 0x3c, 0xc3, 0x2, 0x80, 0x4c } },
	{ "f8E3M4", { 0x0, 0x80, 0x38, 0xc6, 0x0, 0x80, 0x58 } },
	{ "f8E4M3FN", { 0x0, 0x80, 0x3c, 0xc3, 0x2, 0x80, 0x4c } },
	{ "f8E4M3FNUZ", { 0x0, 0x0, 0x44, 0xcb, 0x4, 0x0, 0x54 } },
	{ "f8E5M2FNUZ", { 0x0, 0x0, 0x42, 0xc6, 0x20, 0x0, 0x4a } },
	{ "f8E4M3B11FNUZ", { 0x0, 0x0, 0x5c, 0xe3, 0x18, 0x0, 0x6c } },
	{ "f4E2M1FN", { 0x0, 0x8, 0x3, 0xd, 0x0, 0x8, 0x7 } },
	{ "f6E2M3FN", { 0x0, 0x20, 0xc, 0x33, 0x0, 0x20, 0x1c } },
	{ "f6E3M2FN", { 0x0, 0x20, 0xe, 0x32, 0x0, 0x20, 0x16 } },
};

START_TEST(small_floats)
{
	const struct mlir_attr *a;
	struct ncc_error err;
	char text[300];
	struct mlir m;
	int rc;

	snprintf(text, sizeof(text),
		 "module {\n  func.func @main() -> tensor<7x%s> {\n"
		 "    %%0 = stablehlo.constant dense<" NUMBERS "> : tensor<7x%s>\n"
		 "    return %%0 : tensor<7x%s>\n  }\n}\n",
		 smalls[_i].type, smalls[_i].type, smalls[_i].type);
	rc = read_string(text, &m, &err);
	ck_assert_msg(!rc, "%s: %s", text, err.text);
	a = mlir_attr_of(m.module->regions[0].blocks[0].ops->regions[0].blocks[0].ops, "value");
	for (unsigned int i = 0; i < 7; i++) {
		const unsigned int size = (unsigned int)a->size / 7;
		uint16_t code = 0;

		memcpy(&code, (const char *)a->data + i * size, size);
		ck_assert_msg(code == smalls[_i].code[i], "%s, number %u: 0x%x, not 0x%x",
			      smalls[_i].type, i, code, smalls[_i].code[i]);
	}
	mlir_free(&m);
}
END_TEST

/* Weights of a model are read from resource blobs, as torch-mlir writes them. */
START_TEST(blobs)
{
	struct ncc_error err;
	const struct mlir_op *op;
	const struct mlir_attr *a;
	struct mlir m;
	int rc = read_string("module {\n"
			     "  func.func @main() -> tensor<2xi16> {\n"
			     "    %0 = arith.constant dense_resource<w_2.x> : tensor<2xi16>\n"
			     "    return %0 : tensor<2xi16>\n  }\n}\n"
			     "{-#\n  dialect_resources: {\n    builtin: {\n"
			     "      w_2.x: \"0x0400000001020304\"\n    }\n  }\n#-}\n",
			     &m, &err);

	ck_assert_msg(!rc, "%s", err.text);
	op = m.module->regions[0].blocks[0].ops->regions[0].blocks[0].ops;
	ck_assert_str_eq(op->name, "constant");
	a = mlir_attr_of(op, "value");
	ck_assert_uint_eq(a->size, 4);
	ck_assert_int_eq(mlir_int(a, 0), 0x0201);
	ck_assert_int_eq(mlir_int(a, 1), 0x0403);
	mlir_free(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlir-text");
	TCase *t = tcase_create("text");

	tcase_add_loop_test(t, pretty, 0, sizeof(golden) / sizeof(golden[0]));
	tcase_add_loop_test(t, generic, 0, sizeof(golden) / sizeof(golden[0]));
	tcase_add_loop_test(t, refused, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(t, deep);
	tcase_add_loop_test(t, locations, 0, sizeof(located) / sizeof(located[0]));
	tcase_add_test(t, many_attributes);
	tcase_add_test(t, scopes);
	tcase_add_test(t, blobs);
	tcase_add_loop_test(t, small_floats, 0, sizeof(smalls) / sizeof(smalls[0]));
	suite_add_tcase(s, t);
	return check_run(s);
}
