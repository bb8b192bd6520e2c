// SPDX-License-Identifier: MIT
/*
 * The HLO front end: a serialized HloModuleProto becomes a module of the tensor IR. Calls are
 * inlined, tuples are taken apart. The file is hostile: proto/scan.c bounds it, and every id,
 * shape, size and count is checked here and in the IR's verifier. Called by ncc.c.
 */
#include "import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hlo.h"
#include "make.h"
#include "proto/scan.h"

int hlo_fail(const struct hlo_inst *in, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return build_fail(&in->b, code, "%s", text);
}

/* "file:line" from the metadata, or from the module's stack frames */
static char *source_of(struct hlo_import *imp, const Ncc__Hlo__OpMetadata *md)
{
	const Ncc__Hlo__StackFrameIndex *x = imp->proto->stack_frame_index;
	const char *file = NULL;
	char text[256];
	int line = 0;

	if (md && md->source_file && *md->source_file) {
		file = md->source_file;
		line = md->source_line;
	} else if (md && x && md->stack_frame_id > 0 &&
		   (size_t)md->stack_frame_id <= x->n_stack_frames) {
		int32_t loc = x->stack_frames[md->stack_frame_id - 1]->file_location_id;

		if (loc > 0 && (size_t)loc <= x->n_file_locations) {
			const Ncc__Hlo__FileLocation *l = x->file_locations[loc - 1];

			if (l->file_name_id > 0 && (size_t)l->file_name_id <= x->n_file_names)
				file = x->file_names[l->file_name_id - 1];
			line = l->line;
		}
	}
	if (!file)
		return NULL;
	snprintf(text, sizeof(text), "%.240s:%d", file, line);
	return ncc_strdup(imp->m, text);
}

static const struct {
	int32_t type;
	uint8_t dtype;
	bool pred;
} element_types[] = {
	{ 1, NEURON_DT_INT8, true },	{ 2, NEURON_DT_INT8, false },
	{ 3, NEURON_DT_INT16, false },	{ 4, NEURON_DT_INT32, false },
	{ 6, NEURON_DT_UINT8, false },	{ 7, NEURON_DT_UINT16, false },
	{ 8, NEURON_DT_UINT32, false }, { 10, NEURON_DT_FP16, false },
	{ 11, NEURON_DT_FP32, false },	{ 16, NEURON_DT_BF16, false },
};

/* s64, u64, f64 with --narrow-64bit */
static int32_t narrowed(struct hlo_import *imp, int32_t type)
{
	int32_t to = type == 5 ? 4 : type == 9 ? 8 : type == 12 ? 11 : type;

	if (!imp->narrow || to == type)
		return type;
	imp->narrowed = true;
	return to;
}

static const char *const element_names[] = {
	[5] = "s64",  [9] = "u64",    [12] = "f64",  [13] = "tuple",  [14] = "opaque",
	[15] = "c64", [17] = "token", [18] = "c128", [19] = "f8e5m2", [20] = "f8e4m3fn",
};

int hlo_shape(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_shape *s)
{
	int32_t type = narrowed(in->imp, p->element_type);
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < sizeof(element_types) / sizeof(element_types[0]); i++)
		if (element_types[i].type == type)
			break;
	if (i == sizeof(element_types) / sizeof(element_types[0])) {
		const char *name = p->element_type >= 0 && p->element_type <= 20
					   ? element_names[p->element_type]
					   : NULL;

		return hlo_fail(in, -ENOTSUP,
				"element type %s is not supported (pred, s8, s16, s32, u8, u16, "
				"u32, "
				"f16, bf16, f32 are%s)",
				name ? name : "unknown",
				p->element_type == 5 || p->element_type == 9 ||
						p->element_type == 12
					? "; --narrow-64bit makes 32 bits of it"
					: "");
	}
	s->dtype = element_types[i].dtype;
	s->pred = element_types[i].pred;
	if (p->n_dimensions > NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "rank %zu, at most %u is supported", p->n_dimensions,
				NCC_MAX_DIMS);
	s->ndim = (unsigned int)p->n_dimensions;
	for (i = 0; i < s->ndim; i++)
		s->dim[i] = p->dimensions[i];
	if (!s->ndim && in->imp->lift) {
		s->ndim = in->imp->lift->ndim;
		memcpy(s->dim, in->imp->lift->dim, sizeof(s->dim));
	}
	for (i = 0; i < p->n_is_dynamic_dimension; i++)
		if (p->is_dynamic_dimension[i])
			return hlo_fail(in, -ENOTSUP, "dynamic dimensions are not supported");
	return 0;
}

static struct hlo_inst new_inst(struct hlo_import *imp, const Ncc__Hlo__Instruction *p)
{
	return (struct hlo_inst){ .imp = imp,
				  .p = p,
				  .b = { .m = imp->m,
					 .err = imp->err,
					 .kind = p->opcode,
					 .name = p->name,
					 .const_bytes = &imp->const_bytes } };
}

const Ncc__Hlo__Computation *hlo_computation(const struct hlo_import *imp, int64_t id)
{
	for (size_t i = 0; i < imp->proto->n_computations; i++)
		if (imp->proto->computations[i]->id == id)
			return imp->proto->computations[i];
	return NULL;
}

/* The instructions of a computation by id, and what each gave */
struct scope {
	const Ncc__Hlo__Computation *c;
	struct id_entry {
		int64_t id;
		size_t index;
	} * ids;
	struct hlo_value *value;
	const struct hlo_value *args;
	unsigned int nargs;
};

static int by_id(const void *a, const void *b)
{
	const struct id_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static bool find_id(const struct scope *s, int64_t id, size_t *index)
{
	struct id_entry key = { .id = id };
	const struct id_entry *e = bsearch(&key, s->ids, s->c->n_instructions, sizeof(key), by_id);

	if (e)
		*index = e->index;
	return e;
}

static unsigned int leaves(const Ncc__Hlo__Shape *s)
{
	unsigned int n = 0;

	if (s->element_type != 13)
		return 1;
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		n += leaves(s->tuple_shapes[i]);
	return n;
}

static int import_tuple(struct hlo_inst *in, struct hlo_value *v)
{
	v->n = 0;
	for (unsigned int i = 0; i < in->nin; i++) {
		/* tuples of tuples grow without bound in a small file */
		if (in->in[i].n > NCC_MAX_OPS - in->imp->made)
			return hlo_fail(in, -EFBIG, "more than %d operations and tuple elements",
					NCC_MAX_OPS);
		in->imp->made += in->in[i].n;
		v->n += in->in[i].n;
	}
	v->op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	v->n = 0;
	for (unsigned int i = 0; i < in->nin; i++)
		for (unsigned int k = 0; k < in->in[i].n; k++)
			v->op[v->n++] = in->in[i].op[k];
	return 0;
}

static int import_element(struct hlo_inst *in, const Ncc__Hlo__Shape *tuple, struct hlo_value *v)
{
	int64_t index = in->p->tuple_index;
	unsigned int first = 0;

	if (!tuple || tuple->element_type != 13 || index < 0 ||
	    (uint64_t)index >= tuple->n_tuple_shapes)
		return hlo_fail(in, -EINVAL, "element %lld of something that has none",
				(long long)index);
	for (int64_t i = 0; i < index; i++)
		first += leaves(tuple->tuple_shapes[i]);
	v->n = leaves(tuple->tuple_shapes[index]);
	if (v->n > in->in[0].n || first > in->in[0].n - v->n)
		return hlo_fail(in, -EINVAL, "the tuple has fewer elements than its shape");
	v->op = in->in[0].op + first;
	return 0;
}

static int import_parameter(struct hlo_inst *in, const struct scope *s, struct hlo_value *v)
{
	int64_t n = in->p->parameter_number;

	if (n < 0 || n >= s->nargs)
		return hlo_fail(in, -EINVAL, "parameter number %lld of %u", (long long)n, s->nargs);
	*v = s->args[n];
	if (v->n == 1 && in->p->shape->element_type != 13) {
		int rc = hlo_shape(in, in->p->shape, &in->shape);

		if (rc)
			return rc;
		if (!ncc_same_dims(&in->shape, &v->op[0]->shape) ||
		    in->shape.dtype != v->op[0]->shape.dtype)
			return hlo_fail(in, -EINVAL, "the argument has another shape");
	}
	return 0;
}

static int import_call(struct hlo_inst *in, struct hlo_value *v)
{
	return hlo_call(in, hlo_called(in, 0), in->in, in->nin, v);
}

/* Of one operand by one operation, argmax or argmin, or anything else */
static int import_reduce(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = 1;

	if (in->nin == 4 && in->in[0].n == 1 && in->in[1].n == 1 && in->in[2].n == 1)
		rc = hlo_arg_reduce(in, v);
	return rc == 1 ? hlo_reduce_many(in, v) : rc;
}

static int import_array(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = hlo_shape(in, in->p->shape, &in->shape) ?: hlo_no_tuples(in, in->nin);

	if (rc)
		return rc;
	v->n = 1;
	v->op = ncc_alloc(in->imp->m, sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	return hlo_import_op(in, v->op);
}

/* What takes or gives tuples, or runs computations */
static const struct {
	const char *opcode;
	int (*import)(struct hlo_inst *in, struct hlo_value *v);
} structure[] = {
	{ "tuple", import_tuple },
	{ "call", import_call },
	{ "fusion", import_call },
	{ "map", hlo_map },
	{ "sort", hlo_sort },
	{ "topk", hlo_topk },
	{ "while", hlo_while },
	{ "conditional", hlo_conditional },
	{ "scatter", hlo_scatter },
	{ "select-and-scatter", hlo_select_and_scatter },
	{ "cholesky", hlo_cholesky },
	{ "triangular-solve", hlo_triangular_solve },
	{ "custom-call", hlo_custom_call },
};

static int import_instruction(struct scope *s, struct hlo_inst *in, size_t index)
{
	const char *opcode = in->p->opcode;
	struct hlo_value *v = &s->value[index];
	const Ncc__Hlo__Shape *tuple = NULL;

	if (!in->p->shape)
		return hlo_fail(in, -EINVAL, "no shape");
	for (unsigned int i = 0; i < in->nin; i++) {
		size_t from;

		if (!find_id(s, in->p->operand_ids[i], &from))
			return hlo_fail(in, -EINVAL, "operand %u does not exist", i);
		if (from >= index)
			return hlo_fail(in, -EINVAL,
					"operand %u ('%.60s') comes after it: a cycle, or out of "
					"order",
					i, s->c->instructions[from]->name);
		in->in[i] = s->value[from];
		if (!i)
			tuple = s->c->instructions[from]->shape;
	}
	if (!strcmp(opcode, "parameter"))
		return import_parameter(in, s, v);
	if (!strcmp(opcode, "opt-barrier") && in->nin == 1) {
		*v = in->in[0];
		return 0;
	}
	if (!strcmp(opcode, "get-tuple-element") && in->nin == 1)
		return import_element(in, tuple, v);
	if (!strcmp(opcode, "reduce") && (in->nin != 2 || !hlo_simple_reducer(in)))
		return import_reduce(in, v);
	if (!strcmp(opcode, "reduce-window") && (in->nin != 2 || !hlo_simple_reducer(in)))
		return hlo_window_many(in, v);
	for (size_t i = 0; i < sizeof(structure) / sizeof(structure[0]); i++)
		if (!strcmp(opcode, structure[i].opcode))
			return structure[i].import(in, v);
	return import_array(in, v);
}

static int import_all(struct hlo_import *imp, struct scope *s)
{
	for (size_t i = 0; i < s->c->n_instructions; i++) {
		struct hlo_inst in = new_inst(imp, s->c->instructions[i]);
		int rc;

		if (++imp->made > NCC_MAX_OPS)
			return ncc_fail(imp->err, -EFBIG, "more than %d operations", NCC_MAX_OPS);
		in.b.where = source_of(imp, in.p->metadata);
		if (in.p->n_operand_ids > NCC_MAX_OPERANDS)
			return hlo_fail(&in, -EFBIG, "%zu operands", in.p->n_operand_ids);
		in.nin = (unsigned int)in.p->n_operand_ids;
		in.in = calloc(in.nin + 1, sizeof(*in.in));
		if (!in.in)
			return hlo_fail(&in, -ENOMEM, "out of memory");
		rc = import_instruction(s, &in, i);
		free(in.in);
		if (rc)
			return rc;
	}
	return 0;
}

int hlo_run_computation(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			const struct hlo_value *args, unsigned int nargs, struct hlo_value *result)
{
	struct scope s = { .c = c, .args = args, .nargs = nargs };
	size_t n = c->n_instructions, root;
	int rc;

	s.ids = calloc(n + 1, sizeof(*s.ids));
	s.value = calloc(n + 1, sizeof(*s.value));
	if (!s.ids || !s.value) {
		rc = ncc_fail(imp->err, -ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		s.ids[i] = (struct id_entry){ c->instructions[i]->id, i };
	qsort(s.ids, n, sizeof(*s.ids), by_id);
	rc = -EINVAL;
	for (size_t i = 1; i < n; i++) {
		if (s.ids[i].id == s.ids[i - 1].id) {
			ncc_fail(imp->err, rc,
				 "computation '%.80s': two instructions have the id %lld", c->name,
				 (long long)s.ids[i].id);
			goto out;
		}
	}
	if (!find_id(&s, c->root_id, &root)) {
		ncc_fail(imp->err, rc, "computation '%.80s': the root instruction does not exist",
			 c->name);
		goto out;
	}
	imp->depth++;
	rc = import_all(imp, &s);
	imp->depth--;
	*result = s.value[root];
out:
	free(s.ids);
	free(s.value);
	return rc;
}

static int import_params(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			 struct hlo_value *args, unsigned int n)
{
	struct ncc_module *m = imp->m;

	for (size_t i = 0; i < c->n_instructions; i++) {
		struct hlo_inst in = new_inst(imp, c->instructions[i]);
		int64_t k = in.p->parameter_number;
		struct ncc_op *op;
		int rc;

		if (strcmp(in.p->opcode, "parameter"))
			continue;
		if (k < 0 || k >= n || args[k].n)
			return hlo_fail(&in, -EINVAL, "bad parameter number %lld", (long long)k);
		if (!in.p->shape)
			return hlo_fail(&in, -EINVAL, "no shape");
		op = ncc_op_new(m, NCC_PARAM, in.p->name, 0);
		args[k].op = ncc_alloc(m, sizeof(struct ncc_op *));
		if (!op || !args[k].op)
			return hlo_fail(&in, -ENOMEM, "out of memory");
		rc = hlo_shape(&in, in.p->shape, &op->shape) ?: ncc_verify_op(op, imp->err);
		if (rc)
			return rc;
		op->index = k;
		args[k].n = 1;
		args[k].op[0] = op;
		m->params[k] = op;
	}
	for (unsigned int k = 0; k < n; k++) {
		if (!m->params[k])
			return ncc_fail(imp->err, -EINVAL, "parameter %u does not exist", k);
		ncc_op_append(m, m->params[k]);
	}
	return 0;
}

static int import_entry(struct hlo_import *imp)
{
	const Ncc__Hlo__Computation *c = hlo_computation(imp, imp->proto->entry_computation_id);
	struct hlo_value *args, result = { 0 };
	unsigned int n = 0;
	int rc;

	if (!c)
		return ncc_fail(imp->err, -EINVAL, "not an HLO module: no entry computation");
	for (size_t i = 0; i < c->n_instructions; i++)
		n += !strcmp(c->instructions[i]->opcode, "parameter");
	imp->m->nparams = n;
	imp->m->params = ncc_alloc(imp->m, (n + 1) * sizeof(struct ncc_op *));
	args = calloc(n + 1, sizeof(*args));
	if (!args || !imp->m->params) {
		free(args);
		return ncc_fail(imp->err, -ENOMEM, "out of memory");
	}
	rc = import_params(imp, c, args, n);
	if (!rc)
		rc = hlo_run_computation(imp, c, args, n, &result);
	free(args);
	imp->m->nouts = result.n;
	imp->m->outs = result.op;
	if (!rc && !result.n)
		rc = ncc_fail(imp->err, -EINVAL, "the module has no result");
	return rc;
}

int ncc_import_hlo(const void *buf, size_t size, struct ncc_module **module, struct ncc_error *err)
{
	return ncc_import_hlo_opt(buf, size, &(struct ncc_options){ 0 }, module, err);
}

int ncc_import_hlo_opt(const void *buf, size_t size, const struct ncc_options *opt,
		       struct ncc_module **module, struct ncc_error *err)
{
	struct hlo_import imp = { .err = err, .narrow = opt->narrow_64bit };
	Ncc__Hlo__Module *proto;
	int rc;

	rc = ncc_proto_scan(&ncc__hlo__module__descriptor, "an HLO module", buf, size, err);
	if (rc)
		return rc;
	proto = ncc__hlo__module__unpack(NULL, size, buf);
	if (!proto)
		return ncc_fail(err, -EINVAL, "not an HLO module");
	imp.proto = proto;
	imp.m = ncc_module_new(proto->name && *proto->name ? proto->name : "module");
	rc = imp.m ? import_entry(&imp) : ncc_fail(err, -ENOMEM, "out of memory");
	ncc__hlo__module__free_unpacked(proto, NULL);
	if (rc) {
		ncc_module_free(imp.m);
		return rc;
	}
	if (imp.narrowed && opt->warn)
		opt->warn(opt->opaque, "64-bit types are narrowed to 32 bits (--narrow-64bit)");
	ncc_sweep(imp.m);
	*module = imp.m;
	return 0;
}
