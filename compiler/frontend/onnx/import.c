// SPDX-License-Identifier: MIT
/*
 * The ONNX front end: a serialized ModelProto becomes a module of the tensor IR. Shapes are found
 * on the way, functions are inlined, If and Loop are taken apart. The file is not trusted:
 * proto/scan.c bounds it, and every name, shape, size and count is checked here and in the IR's
 * verifier. Called by ncc.c.
 */
#include "import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "dynamic/dynamic.h"
#include "proto/scan.h"

static int take_inputs(struct onnx_node *n, struct onnx_scope *s)
{
	int rc = 0;

	for (unsigned int i = 0; i < n->nin; i++) {
		const char *name = n->p->input[i];
		struct onnx_binding *b;

		if (!*name)
			continue;
		n->imp->steps += strlen(name) * (n->imp->depth + 1);
		b = onnx_lookup(s, name);
		if (!b)
			return onnx_fail(n, -EINVAL,
					 "operand %u ('%.80s') does not exist, or comes after it: "
					 "a cycle, or out of order",
					 i, name);
		rc = onnx_value_of(n->imp, name, b, &n->in[i]) ?: rc;
		b->v.unknown = b->v.unknown || rc;
	}
	return n->rc = rc;
}

/*
 * A result that is wider than the operation that computes it must be a constant, or --narrow-64bit
 * be given.
 */
static int check_outputs(struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
		const struct onnx_value *v = &n->out[i];

		if (!*n->p->output[i] || onnx_is_unknown(v))
			continue;
		if (!v->op && n->imp->err->text[0])
			return n->rc = -EFBIG;
		if (!v->op && !v->type)
			return onnx_fail(n, -ENOTSUP, "result %u ('%.80s') is not supported", i,
					 n->p->output[i]);
		if (!v->op || !onnx_is_wide(v->type) || onnx_is_const(v->op))
			continue;
		n->imp->narrowed = true;
		if (!n->imp->opt->narrow_64bit && !v->unknown)
			return onnx_fail(n, -ENOTSUP,
					 "result %u has type %s: 64-bit types need --narrow-64bit",
					 i, onnx_type_name(v->type));
	}
	return n->rc;
}

static const Ncc__Onnx__Function *find_function(struct onnx_import *imp, const Ncc__Onnx__Node *p)
{
	imp->steps += imp->proto->n_functions * (1 + strlen(p->op_type) / 16);
	for (size_t i = 0; i < imp->proto->n_functions; i++) {
		const Ncc__Onnx__Function *f = imp->proto->functions[i];

		if (!strcmp(f->name, p->op_type) && !strcmp(f->domain, p->domain))
			return f;
	}
	return NULL;
}

/* A node without a name is called by its first result's. */
static const char *name_of(const Ncc__Onnx__Node *p)
{
	for (size_t i = 0; !*p->name && i < p->n_output; i++)
		if (*p->output[i])
			return p->output[i];
	return p->name;
}

static void import_rule(struct onnx_node *n)
{
	const struct onnx_rule *rule = onnx_find(n->p->domain, n->p->op_type);
	unsigned int required;

	if (!rule) {
		onnx_unsupported(n);
		return;
	}
	if (n->opset < ONNX_OPSET_MIN && !rule->unchanged)
		onnx_fail(n, -ENOTSUP, "of operator set %lld, at least %d is expected",
			  (long long)n->opset, ONNX_OPSET_MIN);
	if (n->opset < rule->since)
		onnx_fail(n, -ENOTSUP, "of operator set %lld, %d has it first", (long long)n->opset,
			  rule->since);

	required = rule->max < 0 ? n->nin : (unsigned int)rule->min;
	if (n->nin < (unsigned int)rule->min ||
	    (rule->max >= 0 && n->nin > (unsigned int)rule->max)) {
		onnx_fail(n, -EINVAL, "%u operands, expected %d to %d", n->nin, rule->min,
			  rule->max);
		return;
	}
	n->rule = rule;
	for (unsigned int i = 0; i < required; i++)
		if (!n->in[i].op && !n->in[i].type && !onnx_takes_empty(rule, i))
			onnx_fail(n, -EINVAL, "operand %u is absent", i);
	for (unsigned int i = 0; i < n->nin && !rule->sequences; i++)
		if (n->in[i].sequence)
			onnx_fail(n, -ENOTSUP, "operand %u is a sequence", i);
	if (n->rc || !onnx_check_attributes(n) || onnx_import_dynamic(n))
		return;
	for (unsigned int i = 0; i < required; i++)
		if (!n->in[i].op && onnx_needs(n, i))
			onnx_fail(n, -ENOTSUP, "operand %u is empty, which is not supported", i);
	if (!n->rc)
		rule->import(n);
}

static bool has_unknown(const struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin; i++)
		if (onnx_is_unknown(&n->in[i]))
			return true;
	return false;
}

/* The scopes of functions and of nodes' graphs are on the C stack, which ONNX_MAX_CALLS bounds. */
static int import_node(struct onnx_node *n, struct onnx_scope *s)
{
	const Ncc__Onnx__Function *f = find_function(n->imp, n->p);

	if (take_inputs(n, s))
		return n->rc;
	if (f)
		onnx_call(n, f);
	else if (has_unknown(n))
		onnx_blind(n);
	else
		import_rule(n);
	onnx_pass_unknown(n);
	n->imported = !n->rc;
	return n->rc ? n->rc : check_outputs(n);
}

static int bind_outputs(struct onnx_node *n, struct onnx_scope *s)
{
	for (unsigned int i = 0; i < n->nout; i++) {
		n->imp->steps += strlen(n->p->output[i]);
		if (*n->p->output[i] && !onnx_bind(s, n->p->output[i], n->out[i]))
			return onnx_fail(n, -EINVAL, "'%.80s' is defined twice", n->p->output[i]);
	}
	return 0;
}

static int run_nodes(const struct onnx_node *around, struct onnx_import *imp,
		     Ncc__Onnx__Node *const *node, size_t count, struct onnx_scope *s)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		const Ncc__Onnx__Node *p = node[i];
		struct onnx_node n = { .imp = imp, .p = p, .scope = s };

		n.b = (struct ncc_build){ .m = imp->m,
					  .err = imp->err,
					  .kind = p->op_type,
					  .name = name_of(p),
					  .const_bytes = &imp->const_bytes };
		if (around) {
			n.caller = around->body ? around : around->caller;
			n.function = around->body ? around->body : around->function;
		}
		n.opset = around ? around->opset : imp->opset;
		imp->err->text[0] = 0;
		if (++imp->made > NCC_MAX_OPS)
			return onnx_fail(&n, -EFBIG, "too large: more than %d operations",
					 NCC_MAX_OPS);
		if (onnx_check_steps(&n))
			return n.rc;
		if (n.p->n_output > ONNX_MAX_OUTPUTS || n.p->n_input > NCC_MAX_OPERANDS)
			return onnx_fail(&n, -EINVAL, "%zu operands and %zu results", n.p->n_input,
					 n.p->n_output);
		n.nin = (unsigned int)n.p->n_input;
		n.nout = (unsigned int)n.p->n_output;
		n.in = calloc(n.nin + n.nout + 1, sizeof(*n.in));
		n.out = n.in + n.nin;
		n.seen = imp->obstacles->seen;
		rc = n.in ? import_node(&n, s) : onnx_fail(&n, -ENOMEM, "out of memory");
		if (imp->steps <= NCC_MAX_STEPS)
			rc = rc ? onnx_refuse(&n) : 0;
		rc = rc ? rc : bind_outputs(&n, s);
		free(n.in);
	}
	return rc;
}

static void say_size(const struct onnx_import *imp, const char *name, unsigned int i,
		     const struct onnx_value *v, unsigned int d)
{
	char line[300];

	if (!imp->opt->warn)
		return;
	snprintf(line, sizeof(line),
		 "output%u ('%.100s'): the data say how many of the %lld of dimension %u there "
		 "are; "
		 "output%u is that number, and the others are 0",
		 i, name, (long long)v->op->shape.dim[d], d, imp->m->nouts);
	imp->opt->warn(imp->opt->opaque, line);
}

/*
 * The model's outputs, then the sizes of those whose sizes depend on the data, or that have no
 * elements, in the same order
 */
static int give_outputs(struct onnx_import *imp, const Ncc__Onnx__Graph *g, struct onnx_value *out)
{
	struct ncc_module *m = imp->m;
	struct onnx_node n = { .imp = imp };

	m->out_source =
		ncc_alloc(m, ((1 + NCC_MAX_DIMS) * g->n_output + 1) * sizeof(*m->out_source));
	if (!m->out_source)
		return ncc_no_memory(imp->err);
	n.b = (struct ncc_build){
		.m = m, .err = imp->err, .kind = "output", .const_bytes = &imp->const_bytes
	};
	for (size_t i = 0; i < g->n_output && !n.rc; i++) {
		n.b.name = g->output[i]->name;
		m->outs[m->nouts] = onnx_output(&n, &out[i]);
		if (onnx_float8(out[i].type))
			m->outs[m->nouts] = build_cast(&n.b, m->outs[m->nouts],
						       onnx_float8(out[i].type)->dtype);
		if (!n.rc && !m->outs[m->nouts++])
			return ncc_no_memory(imp->err);
	}
	for (unsigned int k = 0; k < g->n_output * NCC_MAX_DIMS && !n.rc; k++) {
		const unsigned int i = k / NCC_MAX_DIMS, d = k % NCC_MAX_DIMS;

		if (!out[i].size[d])
			continue;
		say_size(imp, g->output[i]->name, i, &out[i], d);
		m->out_source[m->nouts] = ncc_size_name(m, "output", i, d);
		if (!m->out_source[m->nouts])
			return ncc_no_memory(imp->err);
		m->outs[m->nouts++] = out[i].size[d];
	}
	return n.rc;
}

static int import_main(struct onnx_import *imp, const Ncc__Onnx__Graph *g, struct onnx_scope *s)
{
	struct ncc_module *m = imp->m;
	struct onnx_value *out;
	int rc = onnx_graph_scope(imp, g, NULL, s);

	m->params = ncc_alloc(m, ((1 + NCC_MAX_DIMS) * g->n_input + 1) * sizeof(struct ncc_op *));
	m->outs = ncc_alloc(m, ((1 + NCC_MAX_DIMS) * g->n_output + 1) * sizeof(struct ncc_op *));
	out = ncc_alloc(m, (g->n_output + 1) * sizeof(*out));
	if (!rc && (!m->params || !m->outs || !out))
		rc = ncc_no_memory(imp->err);
	rc = rc ?: onnx_import_inputs(imp, g, s);
	rc = rc ?: run_nodes(NULL, imp, g->node, g->n_node, s);
	rc = rc ?: onnx_graph_outputs(imp, g, s, out);
	if (!rc && !g->n_output)
		rc = ncc_fail(imp->err, -EINVAL, "the model has no output");
	return rc || imp->obstacles->n ? rc : give_outputs(imp, g, out);
}

static int find_opset(struct onnx_import *imp)
{
	for (size_t i = 0; i < imp->proto->n_opset_import; i++)
		if (onnx_is_standard(imp->proto->opset_import[i]->domain))
			imp->opset = imp->proto->opset_import[i]->version;
	if (!imp->proto->graph)
		return ncc_fail(imp->err, -EINVAL, "not an ONNX model: no graph");
	return 0;
}

int ncc_import_onnx(const void *buf, size_t size, const struct ncc_options *opt,
		    struct ncc_module **module, struct ncc_error *err)
{
	struct ncc_obstacles obstacles = { 0 };
	struct onnx_import imp = {
		.find = onnx_find, .run = run_nodes, .err = err, .obstacles = &obstacles, .opt = opt
	};
	struct onnx_scope scope = { 0 };
	Ncc__Onnx__Model *proto;
	int rc;

	err->text[0] = 0;
	rc = ncc_proto_scan(&ncc__onnx__model__descriptor, "an ONNX model", buf, size, err);

	if (rc)
		return rc;
	proto = ncc__onnx__model__unpack(NULL, size, buf);
	if (!proto)
		return ncc_fail(err, -EINVAL, "not an ONNX model");
	imp.proto = proto;
	imp.const_bytes = -(int64_t)size; /* what is in the file is no more than it has */
	rc = find_opset(&imp);
	if (!rc) {
		imp.m = ncc_module_new(*proto->graph->name ? proto->graph->name : "model");
		if (imp.m) {
			imp.m->hardware_rng = opt->hardware_rng;
			imp.m->most_rows = opt->most_rows;
		}
		rc = imp.m ? import_main(&imp, proto->graph, &scope) : ncc_no_memory(err);
		onnx_scope_free(&scope);
		rc = ncc_obstacles_report(&obstacles, opt, err) ?: rc;
	}

	ncc__onnx__model__free_unpacked(proto, NULL);
	if (rc) {
		if (imp.m)
			ncc_module_free(imp.m);
		return rc;
	}

	if (imp.narrowed && opt->warn)
		opt->warn(opt->opaque, "64-bit types are narrowed to 32 bits (--narrow-64bit)");
	ncc_sweep(imp.m);
	*module = imp.m;
	return 0;
}
