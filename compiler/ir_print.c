// SPDX-License-Identifier: MIT
/* The tensor IR as text, one operation a line: --print-ir, tests, and people. */
#include "ir.h"

static void print_shape(const struct ncc_shape *s, FILE *f)
{
	fprintf(f, "%s[", ncc_dtype_name(s));
	for (unsigned int i = 0; i < s->ndim; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)s->dim[i]);
	fputc(']', f);
}

static void print_list8(const char *what, const uint8_t *v, unsigned int n, FILE *f)
{
	fprintf(f, " %s={", what);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s%u", i ? "," : "", v[i]);
	fputc('}', f);
}

static void print_list64(const char *what, const int64_t *v, unsigned int n, FILE *f)
{
	fprintf(f, " %s={", what);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)v[i]);
	fputc('}', f);
}

static void print_mask(uint32_t mask, FILE *f)
{
	const char *sep = "";

	fprintf(f, " dims={");
	for (unsigned int i = 0; i < NCC_MAX_DIMS; i++) {
		if (mask >> i & 1) {
			fprintf(f, "%s%u", sep, i);
			sep = ",";
		}
	}
	fputc('}', f);
}

static void print_window(const struct ncc_window *w, unsigned int n, FILE *f)
{
	fprintf(f, " window={");
	for (unsigned int i = 0; i < n; i++) {
		fprintf(f, "%s%lld/%lld", i ? " " : "", (long long)w[i].size,
			(long long)w[i].stride);
		if (w[i].low || w[i].high)
			fprintf(f, " pad %lld_%lld", (long long)w[i].low, (long long)w[i].high);
		if (w[i].window_dilation != 1)
			fprintf(f, " wdil %lld", (long long)w[i].window_dilation);
		if (w[i].base_dilation != 1)
			fprintf(f, " bdil %lld", (long long)w[i].base_dilation);
	}
	fputc('}', f);
}

static void print_const(const struct ncc_op *op, FILE *f)
{
	int64_t n = ncc_elems(&op->shape);

	fprintf(f, " {");
	for (int64_t i = 0; i < n && i < 4; i++)
		fprintf(f, "%s%g", i ? ", " : "", ncc_get(op->shape.dtype, op->data, i));
	fprintf(f, n > 4 ? ", ...}" : "}");
}

static void print_attrs(const struct ncc_op *op, FILE *f)
{
	switch (op->kind) {
	case NCC_PARAM:
		fprintf(f, " index=%lld", (long long)op->index);
		break;
	case NCC_CONST:
		print_const(op, f);
		break;
	case NCC_BROADCAST:
		print_list8("map", op->map, op->in[0]->shape.ndim, f);
		break;
	case NCC_TRANSPOSE:
		print_list8("map", op->map, op->shape.ndim, f);
		break;
	case NCC_SLICE:
		print_list64("start", op->start, op->shape.ndim, f);
		print_list64("stride", op->stride, op->shape.ndim, f);
		break;
	case NCC_PAD:
		print_list64("low", op->low, op->shape.ndim, f);
		print_list64("high", op->high, op->shape.ndim, f);
		print_list64("interior", op->interior, op->shape.ndim, f);
		break;
	case NCC_CONCAT:
		fprintf(f, " axis=%u", op->axis);
		break;
	case NCC_REVERSE:
		print_mask(op->mask, f);
		break;
	case NCC_DOT:
		print_list8("lhs_batch", op->dot.lhs_batch, op->dot.nbatch, f);
		print_list8("rhs_batch", op->dot.rhs_batch, op->dot.nbatch, f);
		print_list8("lhs_contract", op->dot.lhs_contract, op->dot.ncontract, f);
		print_list8("rhs_contract", op->dot.rhs_contract, op->dot.ncontract, f);
		break;
	case NCC_CONV:
		print_window(op->window, op->conv.nspatial, f);
		fprintf(f, " groups=%lld", (long long)op->conv.groups);
		break;
	case NCC_REDUCE:
		fprintf(f, " func=%s", ncc_kind_name(op->func));
		print_mask(op->mask, f);
		break;
	case NCC_REDUCE_WINDOW:
		fprintf(f, " func=%s", ncc_kind_name(op->func));
		print_window(op->window, op->shape.ndim, f);
		break;
	default:
		break;
	}
}

void ncc_print(const struct ncc_module *m, FILE *f)
{
	fprintf(f, "module %s\n", m->name);
	for (const struct ncc_op *op = m->first; op; op = op->next) {
		fprintf(f, "  %%%u = ", op->id);
		print_shape(&op->shape, f);
		fprintf(f, " %s", ncc_kind_name(op->kind));
		for (unsigned int i = 0; i < op->nin; i++)
			fprintf(f, "%s%%%u", i ? ", " : " ", op->in[i]->id);
		print_attrs(op, f);
		if (op->pdim >= 0)
			fprintf(f, " p=%d", op->pdim);
		fprintf(f, "  ; %s%s%s\n", op->name, op->where ? " " : "",
			op->where ? op->where : "");
	}
	fprintf(f, "  return");
	for (unsigned int i = 0; i < m->nouts; i++)
		fprintf(f, "%s%%%u", i ? ", " : " ", m->outs[i]->id);
	fputc('\n', f);
}
