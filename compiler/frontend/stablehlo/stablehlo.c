// SPDX-License-Identifier: MIT
/*
 * A module of StableHLO: its functions, the one that is called from outside, and what its
 * attributes say of inputs and outputs. Called by ../read.c.
 */
#include "stablehlo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "export.h"
#include "spmd.h"

#define MAY_ALIAS 1 /* HloInputOutputAliasProto's Kind */

/* Memory that lives as long as the module */
struct source {
	struct mlir m;
	char partly[200];
};

static const struct mlir_block *body_of(const struct mlir *m)
{
	return &m->module->regions[0].blocks[0];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct function *)a)->name, ((const struct function *)b)->name);
}

static int find_functions(struct scope *s)
{
	const struct mlir_block *b = body_of(s->v->m);
	struct convert *v = s->v;

	v->functions = convert_alloc(v, b->nops + 1, sizeof(*v->functions));
	if (!v->functions)
		return -ENOMEM;
	for (size_t i = 0; i < b->nops; i++) {
		const char *name = "";

		s->at = &b->ops[i];
		if (!strcmp(s->at->name, "func")) {
			if (attr_text(s, s->at, "sym_name", &name))
				return -EINVAL;
			v->functions[v->nfunctions++] =
				(struct function){ .name = name, .op = s->at };
		} else if (strcmp(s->at->name, "sdy.mesh")) {
			return convert_fail(s, -ENOTSUP, "not supported outside of functions");
		}
	}
	qsort(v->functions, v->nfunctions, sizeof(*v->functions), by_name);
	for (size_t i = 1; i < v->nfunctions; i++)
		if (!strcmp(v->functions[i].name, v->functions[i - 1].name))
			return convert_fail(s, -EINVAL, "two functions are named '%.100s'",
					    v->functions[i].name);
	s->at = NULL;
	return 0;
}

/* main, or the only one that is not private */
static const struct function *find_main(struct scope *s)
{
	const struct function *found = NULL;
	unsigned int n = 0;

	for (size_t i = 0; i < s->v->nfunctions; i++) {
		const struct function *f = &s->v->functions[i];
		const char *visibility = "";

		if (!strcmp(f->name, "main"))
			return f;
		attr_text(s, f->op, "sym_visibility", &visibility);
		if (!strcmp(visibility, "private"))
			continue;
		found = f;
		n++;
	}
	if (n == 1)
		return found;
	convert_fail(s, -EINVAL,
		     "not a program of StableHLO: it has no function 'main', and %u "
		     "others that are public",
		     n);
	return NULL;
}

static int64_t *path_of(struct convert *v, int64_t i)
{
	int64_t *p = convert_alloc(v, 1, sizeof(*p));

	if (p)
		*p = i;
	return p;
}

/* tf.aliasing_output of an argument: the output that may take its memory */
static int add_alias(struct convert *v, size_t in, int64_t out, bool tuple)
{
	Ncc__Hlo__AliasEntry *e = convert_alloc(v, 1, sizeof(*e));
	Ncc__Hlo__InputOutputAlias *l = v->proto->input_output_alias;

	if (!e)
		return -ENOMEM;
	ncc__hlo__alias_entry__init(e);
	e->parameter_number = (int64_t)in;
	e->kind = MAY_ALIAS;
	e->n_output_shape_index = tuple;
	e->output_shape_index = tuple ? path_of(v, out) : NULL;
	if (tuple && !e->output_shape_index)
		return -ENOMEM;
	l->entries[l->n_entries++] = e;
	return 0;
}

static int add_donor(struct convert *v, size_t in)
{
	Ncc__Hlo__DonorEntry *e = convert_alloc(v, 1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	ncc__hlo__donor_entry__init(e);
	e->parameter_number = (int64_t)in;
	v->proto->buffer_donor->entries[v->proto->buffer_donor->n_entries++] = e;
	return 0;
}

static int make_lists(struct convert *v, size_t n)
{
	Ncc__Hlo__InputOutputAlias *alias = convert_alloc(v, 1, sizeof(*alias));
	Ncc__Hlo__BufferDonor *donor = convert_alloc(v, 1, sizeof(*donor));

	if (!alias || !donor)
		return -ENOMEM;
	ncc__hlo__input_output_alias__init(alias);
	ncc__hlo__buffer_donor__init(donor);
	alias->entries = convert_alloc(v, n + 1, sizeof(*alias->entries));
	donor->entries = convert_alloc(v, n + 1, sizeof(*donor->entries));
	v->proto->input_output_alias = alias;
	v->proto->buffer_donor = donor;
	return alias->entries && donor->entries ? 0 : -ENOMEM;
}

static int take_donations(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_attr *args = mlir_attr_of(op, "arg_attrs");
	const struct mlir_block *b = op->regions[0].blocks;
	const struct mlir_attr *type = mlir_attr_of(op, "function_type");
	const unsigned int nout = type && type->type ? type->type->nout : 0;
	int rc = make_lists(s->v, b->nargs);

	for (size_t i = 0; !rc && args && args->kind == MLIR_ARRAY && i < args->n && i < b->nargs;
	     i++) {
		const struct mlir_attr *out = mlir_entry_of(args->list[i], "tf.aliasing_output");
		const struct mlir_attr *donor = mlir_entry_of(args->list[i], "jax.buffer_donor");

		if (out && (out->kind != MLIR_INTEGER || out->integer < 0 || out->integer >= nout))
			return convert_fail(s, -EINVAL,
					    "argument %zu: its tf.aliasing_output is no result", i);
		if (out)
			rc = add_alias(s->v, i, out->integer, nout != 1);
		else if (donor && donor->kind != MLIR_UNIT ? donor->integer : donor != NULL)
			rc = add_donor(s->v, i);
	}
	return rc;
}

static unsigned int count_of(const struct mlir *m, const char *name)
{
	const struct mlir_attr *a = mlir_attr_of(m->module, name);

	return a && a->kind == MLIR_INTEGER && a->integer >= 1 && a->integer <= INT_MAX
		       ? (unsigned int)a->integer
		       : 1;
}

static int convert_module(struct convert *v)
{
	struct scope s = { .v = v };
	const hlo_computation_message *entry;
	const struct function *f;
	const char *name = "";
	int rc = find_functions(&s);

	f = rc ? NULL : find_main(&s);
	entry = f ? convert_function(&s, f->name) : NULL;
	if (!entry)
		return -ENOTSUP;
	s.at = f->op;
	rc = fold_sweep(v);
	if (rc)
		return rc;
	rc = take_donations(&s, f->op) ?: attr_text(&s, v->m->module, "sym_name", &name);
	/* XLA reads none without a name, and jaxlib calls it this way, too. */
	v->proto->name = (char *)(uintptr_t)(*name ? name : f->name);
	v->proto->entry_computation_name = entry->name;
	v->proto->entry_computation_id = entry->id;
	v->proto->host_program_shape = entry->program_shape;
	return rc;
}

static void release(struct hlo_file *f)
{
	struct source *s = f->opaque;

	mlir_free(&s->m);
	free(s);
}

bool stablehlo_is(const void *buf, size_t size)
{
	return mlir_is_bytecode(buf, size) || export_find(buf, size, &buf, &size) ||
	       mlir_is_text(buf, size);
}

/* The operation that a message of HLO's would lack something of */
static void say_partly(struct hlo_file *f, struct source *s, const struct mlir_op *op)
{
	if (!op)
		return;
	snprintf(s->partly, sizeof(s->partly), "%.60s%s%.80s", op->spelled, op->file ? " at " : "",
		 op->file ? op->file : "");
	f->partly = s->partly;
}

static int partition(struct convert *v)
{
	struct spmd_ends ends;
	int rc = spmd_partition(v->m, v->partitions, &ends, v->err);

	v->in = ends.in;
	v->out = ends.out;
	v->nin = ends.nin;
	v->nout = ends.nout;
	return rc;
}

int stablehlo_read(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct convert v = { .err = err, .op = convert_op, .next_id = 1 };
	int rc;

	*f = (struct hlo_file){ .size = size, .replicas = 1, .partitions = 1, .release = release };
	err->text[0] = 0;
	if (!s)
		return ncc_no_memory(err);
	v.m = &s->m;
	export_find(buf, size, &buf, &size);
	rc = mlir_is_text(buf, size) ? mlir_read_text(buf, size, &s->m, err)
				     : mlir_read_bytecode(buf, size, &s->m, err);
	if (!rc) {
		v.proto = arena_alloc(&s->m.arena, 1, sizeof(*v.proto));
		rc = v.proto ? 0 : ncc_no_memory(err);
	}
	if (!rc) {
		ncc__hlo__module__init(v.proto);
		f->replicas = count_of(&s->m, "mhlo.num_replicas");
		f->partitions = v.partitions = count_of(&s->m, "mhlo.num_partitions");
		if (v.partitions > 1)
			rc = partition(&v);
		rc = rc ? rc : convert_module(&v);
	}
	if (rc) {
		mlir_free(&s->m);
		free(s);
		return err->text[0] ? rc : ncc_no_memory(err);
	}
	f->proto = v.proto;
	f->in = v.in;
	f->out = v.out;
	f->nin = v.nin;
	f->nout = v.nout;
	f->opaque = s;
	say_partly(f, s, v.partly);
	return 0;
}
