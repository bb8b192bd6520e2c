// SPDX-License-Identifier: MIT
/*
 * The HLO front end: a serialized HloModuleProto becomes a module of the tensor IR. Calls are
 * inlined, tuples are taken apart. The file is not trusted: proto/scan.c bounds it, and every id,
 * shape, size and count is checked here and in the IR's verifier. Called by ncc.c.
 */
#include "import.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "complex.h"
#include "empty.h"
#include "file.h"
#include "host_calls.h"
#include "operations.h"
#include "sizes.h"

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

static struct hlo_inst new_inst(struct hlo_import *imp, const Ncc__Hlo__Instruction *p)
{
	return (struct hlo_inst){ .imp = imp,
				  .p = p,
				  .seen = imp->obstacles->seen,
				  .b = { .m = imp->m,
					 .err = imp->err,
					 .kind = p->opcode,
					 .name = p->name,
					 .const_bytes = &imp->const_bytes } };
}

/* The instructions of a computation by id, and their values */
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

/* Imports the instruction as if all its values were static */
static int run_on_bounds(struct hlo_inst *in, struct hlo_value *v)
{
	const struct hlo_rule *rule = in->rule;

	if (hlo_has_complex(in))
		return rule->complex ? rule->complex(in, v)
				     : hlo_fail(in, -ENOTSUP, "of complex values is not supported");
	return hlo_small_operands(in)
		       ?: (rule->value ? rule->value(in, v) : hlo_array(in, v))
		       ?: hlo_small_result(in, v);
}

/* Imports an instruction whose operands are known. */
static int run_rule(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = in->rule->halves ? 0 : hlo_drop_halves(in);

	if (rc)
		return rc;
	if (hlo_touches_empty(in) && hlo_is_dynamic(in))
		return hlo_fail(in, -ENOTSUP,
				"a dynamic dimension of a value that has no elements");
	if (hlo_touches_empty(in))
		return hlo_of_empty(in, v, run_on_bounds) ?: hlo_check_complex(in, v);
	rc = hlo_is_dynamic(in) ? hlo_dynamic(in, v, run_on_bounds) : run_on_bounds(in, v);
	if (!rc)
		hlo_mark_halves(in, v);
	return rc ? rc : hlo_check_complex(in, v);
}

static int take_operands(const struct scope *s, struct hlo_inst *in, size_t index, bool *unknown)
{
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
		*unknown = *unknown || in->in[i].unknown;
		if (!i)
			in->first = s->c->instructions[from]->shape;
		if (hlo_is_long(s->c->instructions[from]->shape))
			in->longest = s->c->instructions[from]->shape;
	}
	return 0;
}

static uint64_t shape_steps(const Ncc__Hlo__Shape *s)
{
	uint64_t n = 1 + s->n_dimensions + s->n_is_dynamic_dimension;

	n += s->layout ? s->layout->n_minor_to_major : 0;
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		n += shape_steps(s->tuple_shapes[i]);
	return n;
}

#define LOOKS 16 /* for an instruction in a computation that another calls */

/*
 * What an instruction refers to is walked through each time that it is imported: in a small file
 * many may refer to the same much, and be imported many times.
 */
static int take_steps(struct hlo_inst *in)
{
	struct hlo_import *imp = in->imp;

	imp->steps += in->nin + shape_steps(in->p->shape);
	if (in->first && !strcmp(in->p->opcode, "get-tuple-element"))
		imp->steps += shape_steps(in->first);
	for (size_t i = 0; i < in->p->n_called_computation_ids && imp->steps <= NCC_MAX_STEPS;
	     i++) {
		const Ncc__Hlo__Computation *c =
			hlo_computation(imp, in->p->called_computation_ids[i]);

		imp->steps += imp->proto->n_computations + (c ? LOOKS * c->n_instructions : 0);
	}
	return hlo_check_steps(in);
}

static int import_instruction(struct scope *s, struct hlo_inst *in, size_t index)
{
	struct hlo_value *v = &s->value[index];
	bool unknown = false;
	int rc;

	if (!in->p->shape)
		return hlo_fail(in, -EINVAL, "no shape");
	rc = take_operands(s, in, index, &unknown) ?: take_steps(in);
	if (rc)
		return rc;
	in->rule = hlo_find(in->p->opcode);
	if (!in->rule)
		return hlo_unsupported(in);
	if (in->rule->nin >= 0 && in->nin != (unsigned int)in->rule->nin)
		return hlo_fail(in, -EINVAL, "%u operands, expected %d", in->nin, in->rule->nin);
	if (unknown || hlo_is_unknown_argument(in))
		return hlo_blind(in, v);
	if (hlo_is_long(in->p->shape))
		in->longest = in->p->shape;
	return (in->longest ? hlo_shorten(in) : 0) ?: run_rule(in, v);
}

static int import_all(struct hlo_import *imp, struct scope *s)
{
	char *caller = imp->where;

	for (size_t i = 0; i < s->c->n_instructions; i++) {
		struct hlo_inst in = new_inst(imp, s->c->instructions[i]);
		int rc;

		rc = ncc_wanted(imp->opt, imp->err);
		if (rc)
			return rc;
		if (++imp->made > NCC_MAX_OPS)
			return ncc_fail(imp->err, -EFBIG, "more than %d operations", NCC_MAX_OPS);
		in.b.where = source_of(imp, in.p->metadata) ?: caller;
		imp->err->text[0] = 0;
		if (in.p->n_operand_ids > NCC_MAX_OPERANDS)
			return hlo_fail(&in, -EFBIG, "%zu operands", in.p->n_operand_ids);
		in.nin = (unsigned int)in.p->n_operand_ids;
		in.args = s->args;
		in.nargs = s->nargs;
		in.in = calloc(in.nin + 1, sizeof(*in.in));
		if (!in.in)
			return hlo_fail(&in, -ENOMEM, "out of memory");
		imp->where = in.b.where;
		rc = import_instruction(s, &in, i);
		imp->where = caller;
		if (imp->steps <= NCC_MAX_STEPS)
			rc = rc ? hlo_refuse(&in, rc, &s->value[i]) : 0;
		free(in.in);
		if (rc)
			return rc;
	}
	return 0;
}

static int run_computation(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			   const struct hlo_value *args, unsigned int nargs,
			   struct hlo_value *result)
{
	struct scope s = { .c = c, .args = args, .nargs = nargs };
	size_t n = c->n_instructions, root;
	int rc;

	s.ids = calloc(n + 1, sizeof(*s.ids));
	s.value = calloc(n + 1, sizeof(*s.value));
	if (!s.ids || !s.value) {
		rc = ncc_no_memory(imp->err);
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

	if (!imp->depth && hlo_is_long(c->instructions[root]->shape)) {
		rc = ncc_fail(imp->err, -ENOTSUP,
			      "computation '%.80s': a result of rank %zu, at most %u is supported",
			      c->name, c->instructions[root]->shape->n_dimensions, NCC_MAX_DIMS);
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

/* A parameter of the module: args[k] becomes its value, real or complex. */
static int import_param(struct hlo_inst *in, struct hlo_value *args, int64_t k)
{
	struct ncc_module *m = in->imp->m;
	struct ncc_op *op;
	int rc;

	if (hlo_is_empty_array(in->p->shape))
		return hlo_empty_parameter(in, &args[k]);
	op = ncc_op_new(m, NCC_PARAM, in->p->name, 0);
	args[k].op = ncc_alloc(m, sizeof(struct ncc_op *));
	if (!op || !args[k].op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	rc = hlo_shape(in, in->p->shape, &op->shape) ?: ncc_verify_op(op, in->imp->err);
	if (rc)
		return rc;
	op->index = k;
	args[k].n = 1;
	args[k].op[0] = op;
	if (hlo_is_complex(in->p->shape->element_type))
		rc = hlo_complex_parameter(in, op, &args[k]) ?: ncc_verify_op(op, in->imp->err);
	rc = rc ? rc : hlo_small_parameter(in, &args[k]);
	m->params[k] = op;
	return rc;
}

static bool is_left_out(const struct hlo_value *arg)
{
	return arg->n && hlo_is_empty(arg->op[0]);
}

/* The sizes of the parameters' dynamic dimensions: parameters behind them, in their order */
static int import_sizes(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			struct hlo_value *args, unsigned int n)
{
	unsigned int number = 0; /* of those with elements */
	const Ncc__Hlo__Instruction **param = calloc(n + 1, sizeof(*param));
	int rc = param ? 0 : ncc_no_memory(imp->err);

	for (size_t i = 0; i < c->n_instructions && !rc; i++)
		if (!strcmp(c->instructions[i]->opcode, "parameter"))
			param[c->instructions[i]->parameter_number] = c->instructions[i];
	for (unsigned int k = 0; k < n && !rc; k++) {
		struct hlo_inst in = new_inst(imp, param[k]);

		if (is_left_out(&args[k]))
			continue;
		rc = args[k].unknown ? 0 : hlo_size_parameter(&in, number, &args[k]);
		number++;
	}
	free(param);
	return rc;
}

static int import_params(struct hlo_import *imp, const Ncc__Hlo__Computation *c,
			 struct hlo_value *args, unsigned int n)
{
	struct ncc_module *m = imp->m;
	unsigned int number = 0;

	for (size_t i = 0; i < c->n_instructions; i++) {
		struct hlo_inst in = new_inst(imp, c->instructions[i]);
		int64_t k = in.p->parameter_number;
		int rc;

		in.b.where = source_of(imp, in.p->metadata);
		if (strcmp(in.p->opcode, "parameter"))
			continue;
		if (k < 0 || k >= n || args[k].n || args[k].unknown)
			return hlo_fail(&in, -EINVAL, "bad parameter number %lld", (long long)k);
		if (!in.p->shape)
			return hlo_fail(&in, -EINVAL, "no shape");
		in.rule = hlo_find(in.p->opcode);
		rc = import_param(&in, args, k);
		rc = rc ? hlo_refuse(&in, rc, &args[k]) : 0;
		if (rc)
			return rc;
	}

	/* what has no elements is no parameter of the program: the others are numbered without it */
	for (unsigned int k = 0; k < n; k++) {
		struct ncc_op *op = m->params[k];

		if (is_left_out(&args[k]))
			continue;
		if (!op && !args[k].unknown)
			return ncc_fail(imp->err, -EINVAL, "parameter %u does not exist", k);
		m->params[number] = op;
		if (op) {
			op->index = number;
			ncc_op_append(m, op);
		}
		number++;
	}
	m->nparams = number;
	return import_sizes(imp, c, args, n);
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
	imp->m->params = ncc_alloc(imp->m, (n + hlo_count_sizes(c) + 1) * sizeof(struct ncc_op *));
	args = calloc(n + 1, sizeof(*args));
	if (!args || !imp->m->params) {
		free(args);
		return ncc_no_memory(imp->err);
	}

	rc = import_params(imp, c, args, n);
	if (!rc)
		rc = run_computation(imp, c, args, n, &result);
	if (!rc && !imp->obstacles->n) {
		struct hlo_inst root = new_inst(imp, hlo_by_id(c, c->root_id));

		rc = hlo_results(&root, &result) ?: hlo_drop_empty(&root, &result);
	}
	free(args);
	imp->m->nouts = result.n;
	imp->m->outs = result.op;
	imp->m->effect = imp->effect;
	if (!rc && !result.n && !imp->effect && !imp->obstacles->n)
		rc = ncc_fail(imp->err, -EINVAL, "the module has no result");
	return rc;
}

int hlo_import_file(const struct hlo_file *f, const struct ncc_options *opt,
		    struct ncc_module **module, struct ncc_error *err)
{
	const unsigned int replicas =
		f->replicas == 1 && opt->replicas ? opt->replicas : f->replicas;
	struct ncc_obstacles obstacles = { 0 };
	struct hlo_import imp = { .proto = f->proto,
				  .opt = opt,
				  .err = err,
				  .obstacles = &obstacles,
				  .replicas = replicas,
				  .partitions = f->partitions,
				  .run = run_computation };
	const char *name = f->proto->name;
	int rc = hlo_check_fields(f->proto, opt, err);
	bool fits;

	if (rc)
		return rc;
	fits = hlo_wide_fits(f->proto);
	/* what is in the file is no more than it has */
	imp.const_bytes = -(int64_t)f->size;
	imp.narrow = opt->narrow_64bit || fits;
	/* a program with jumps is for one core, and no stage of a pipeline */
	imp.branches = opt->target && opt->target->core >= 2 && opt->pipeline_cores <= 1;
	imp.calls_host = hlo_host_calls(f->proto, NULL);
	imp.m = ncc_module_new(name && *name ? name : "module");
	if (imp.m) {
		imp.m->hardware_rng = opt->hardware_rng;
		imp.m->most_rows = opt->most_rows;
		imp.m->partitions = f->partitions;
		imp.m->ranks = replicas <= NCC_MAX_RANKS && f->partitions <= NCC_MAX_RANKS
				       ? replicas * f->partitions
				       : UINT_MAX;
	}
	rc = imp.m ? import_entry(&imp) : ncc_no_memory(err);
	rc = ncc_obstacles_report(&obstacles, opt, err) ?: rc;
	if (rc) {
		ncc_module_free(imp.m);
		return rc;
	}

	if (imp.narrowed && !fits && opt->warn)
		opt->warn(opt->opaque, "64-bit types are narrowed to 32 bits (--narrow-64bit)");
	ncc_sweep(imp.m);
	*module = imp.m;
	return 0;
}

int ncc_import_hlo_opt(const void *buf, size_t size, const struct ncc_options *opt,
		       struct ncc_module **module, struct ncc_error *err)
{
	struct hlo_file f;
	int rc = hlo_read(buf, size, &f, err);

	rc = rc ? rc : hlo_import_file(&f, opt, module, err);
	hlo_file_free(&f);
	return rc;
}
