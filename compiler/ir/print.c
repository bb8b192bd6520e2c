// SPDX-License-Identifier: MIT
/* The tensor IR as text, one operation a line (text.h); parse.c reads it back. */
#include <math.h>
#include <string.h>

#include "text.h"

static void print_shape(const struct ncc_shape *s, FILE *f)
{
	fprintf(f, "%s[", ncc_dtype_name(s));
	for (unsigned int i = 0; i < s->ndim; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)s->dim[i]);
	fputc(']', f);
}

static void print_string(const char *s, FILE *f)
{
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
			fprintf(f, "\\%02x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static uint32_t bits_of(const struct ncc_op *op, int64_t i)
{
	unsigned int esz = ncc_dtype_size(op->shape.dtype);
	uint32_t bits = 0;

	memcpy(&bits, (const char *)op->data + (size_t)i * esz, esz);
	return bits;
}

static void print_element(const struct ncc_op *op, int64_t i, FILE *f)
{
	double v = ncc_get(op->shape.dtype, op->data, i);

	if (isnan(v))
		fprintf(f, "0x%x", bits_of(op, i));
	else if (ncc_is_float(op->shape.dtype))
		fprintf(f, "%.9g", v);
	else
		fprintf(f, "%.0f", v);
}

static bool is_splat(const struct ncc_op *op, int64_t n)
{
	if (n < 2 || n > IR_MAX_SPLAT)
		return false;
	for (int64_t i = 1; i < n; i++)
		if (bits_of(op, i) != bits_of(op, 0))
			return false;
	return true;
}

static void print_const(const struct ncc_op *op, int64_t most, FILE *f)
{
	int64_t n = ncc_elems(&op->shape);

	fprintf(f, " {");
	if (is_splat(op, n)) {
		fputc('*', f);
		n = 1;
	}
	for (int64_t i = 0; i < n && i < most; i++) {
		fputs(i ? ", " : "", f);
		print_element(op, i, f);
	}
	fputs(n <= most ? "}" : most ? ", ...}" : "...}", f);
}

static void print_window(const struct ncc_window *w, FILE *f)
{
	fprintf(f, "%lld/%lld", (long long)w->size, (long long)w->stride);
	if (w->low || w->high)
		fprintf(f, " pad %lld_%lld", (long long)w->low, (long long)w->high);
	if (w->window_dilation != 1)
		fprintf(f, " wdil %lld", (long long)w->window_dilation);
	if (w->base_dilation != 1)
		fprintf(f, " bdil %lld", (long long)w->base_dilation);
	if (w->reversal)
		fprintf(f, " reversed");
}

static void print_list(const struct ir_attr *a, const struct ncc_op *op, const void *field, FILE *f)
{
	unsigned int n = a->type == IR_MASK ? NCC_MAX_DIMS : ir_attr_length(a, op);
	const char *sep = "";

	fputc('{', f);
	for (unsigned int i = 0; i < n; i++) {
		if (a->type == IR_MASK && !(op->mask >> i & 1))
			continue;
		fputs(sep, f);
		sep = a->type == IR_WINDOW ? ", " : ",";
		if (a->type == IR_WINDOW)
			print_window((const struct ncc_window *)field + i, f);
		else if (a->type == IR_LIST64)
			fprintf(f, "%lld", (long long)((const int64_t *)field)[i]);
		else
			fprintf(f, "%u", a->type == IR_MASK ? i : ((const uint8_t *)field)[i]);
	}
	fputc('}', f);
}

static const char *dtype_name(uint8_t dtype)
{
	const struct ncc_shape s = { .dtype = dtype };

	return ncc_dtype_name(&s);
}

static void print_attr(const struct ir_attr *a, const struct ncc_op *op, FILE *f)
{
	const void *field = ir_attr_field(a, op);

	if (a->type == IR_BOOL) {
		if (*(const bool *)field)
			fprintf(f, " %s", a->name);
		return;
	}

	if (a->type == IR_DTYPE) {
		if (*(const uint8_t *)field)
			fprintf(f, " %s=%s", a->name, dtype_name(*(const uint8_t *)field));
		return;
	}

	if (a->type == IR_COUNT && !*(const uint8_t *)field)
		return;
	fprintf(f, " %s=", a->name);
	if (a->type == IR_I64)
		fprintf(f, "%lld", (long long)*(const int64_t *)field);
	else if (a->type == IR_UINT)
		fprintf(f, "%u", *(const unsigned int *)field);
	else if (a->type == IR_COUNT)
		fprintf(f, "%u", *(const uint8_t *)field);
	else if (a->type == IR_KIND)
		fputs(ncc_kind_name(op->func), f);
	else
		print_list(a, op, field, f);
}

static void print_op(const struct ncc_op *op, int64_t most, FILE *f)
{
	fprintf(f, "  %%%u = ", op->id);
	print_shape(&op->shape, f);
	fprintf(f, " %s", ncc_kind_name(op->kind));
	for (unsigned int i = 0; i < op->nin; i++)
		fprintf(f, "%s%%%u", i ? ", " : " ", op->in[i]->id);
	if (op->kind == NCC_CONST)
		print_const(op, most, f);
	/* which the text of a module does not say: it is whole */
	if (op->kind == NCC_PARAM && op->passage)
		fprintf(f, " between=%s", op->passage == NCC_BETWEEN_PARTS ? "parts" : "stages");

	for (const struct ir_attr *a = ir_attrs; a->name; a++)
		if (ir_attr_of(a, op->kind))
			print_attr(a, op, f);

	if (op->pdim >= 0)
		fprintf(f, " p=%d", op->pdim);
	fputc(' ', f);
	print_string(op->name, f);
	if (op->where) {
		fputc(' ', f);
		print_string(op->where, f);
	}
	fputc('\n', f);
}

void ncc_print(const struct ncc_module *m, int64_t most, FILE *f)
{
	fprintf(f, "module ");
	print_string(m->name, f);
	fputc('\n', f);
	for (const struct ncc_op *op = m->first; op; op = op->next)
		print_op(op, most, f);
	fprintf(f, "  return");
	for (unsigned int i = 0; i < m->nouts; i++) {
		fprintf(f, "%s%%%u", i ? ", " : " ", m->outs[i]->id);
		if (m->out_dtype)
			fprintf(f, ":%s", dtype_name(m->out_dtype[i]));
	}
	fputc('\n', f);
}
