// SPDX-License-Identifier: MIT
/*
 * What a module takes and gives: the leaves of its parameters and of its root, which outputs may
 * take an input's memory, and which are an input as it came. Called by ../program.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "host_calls.h"

#define MOST_LEAVES (1 << 20) /* of all parameters, and of the root: far beyond any program's */
#define MOST_LOOKS (1 << 26) /* instructions looked at for what outputs are */
#define PATH 32 /* proto/scan.c: tuples in tuples */

struct reading {
	const Ncc__Hlo__Module *m;
	const Ncc__Hlo__Computation *entry;
	const Ncc__Hlo__Instruction **param, *root;
	unsigned int nparams;
	unsigned int *first; /* of each parameter: its first leaf */
	struct ncc_program *p;
	uint64_t looks;
	struct ncc_error *err;
};

static int count_leaves(struct reading *r, const Ncc__Hlo__Shape *s, unsigned int *n)
{
	int rc = 0;

	if (s->element_type != HLO_TUPLE) {
		if (++*n > MOST_LEAVES)
			return ncc_fail(r->err, -EFBIG, "more than %d arrays", MOST_LEAVES);
		return 0;
	}
	for (size_t i = 0; !rc && i < s->n_tuple_shapes; i++)
		rc = count_leaves(r, s->tuple_shapes[i], n);
	return rc;
}

static int take_array(struct reading *r, const Ncc__Hlo__Shape *s, struct ncc_array *a)
{
	if (s->element_type <= 0 || s->element_type >= HLO_TYPES)
		return ncc_fail(r->err, -ENOTSUP, "element type %d is not known", s->element_type);
	if (s->n_dimensions > NCC_MAX_DIMS)
		return ncc_fail(r->err, -ENOTSUP, "rank %zu, at most %u is supported",
				s->n_dimensions, NCC_MAX_DIMS);
	a->type = s->element_type;
	a->ndim = (unsigned int)s->n_dimensions;
	for (unsigned int i = 0; i < a->ndim; i++) {
		if (s->dimensions[i] < 0)
			return ncc_fail(r->err, -EINVAL, "a dimension of %lld",
					(long long)s->dimensions[i]);
		a->dim[i] = s->dimensions[i];
	}
	return 0;
}

static int take_leaves(struct reading *r, const Ncc__Hlo__Shape *s, struct ncc_array **a)
{
	int rc = 0;

	if (s->element_type != HLO_TUPLE)
		return take_array(r, s, (*a)++);
	for (size_t i = 0; !rc && i < s->n_tuple_shapes; i++)
		rc = take_leaves(r, s->tuple_shapes[i], a);
	return rc;
}

static unsigned int leaves_of(struct reading *r, const Ncc__Hlo__Shape *s)
{
	unsigned int n = 0;

	r->looks++;
	if (s->element_type != HLO_TUPLE)
		return 1;
	for (size_t i = 0; i < s->n_tuple_shapes && r->looks < MOST_LOOKS; i++)
		n += leaves_of(r, s->tuple_shapes[i]);
	return n;
}

/* The leaf that a path of tuple indices leads to; -1: it leads to none */
static int leaf_of(struct reading *r, const Ncc__Hlo__Shape *s, const int64_t *path, size_t n)
{
	unsigned int leaf = 0;

	for (size_t i = 0; i < n; i++) {
		if (s->element_type != HLO_TUPLE || path[i] < 0 ||
		    (uint64_t)path[i] >= s->n_tuple_shapes)
			return -1;
		for (int64_t k = 0; k < path[i]; k++)
			leaf += leaves_of(r, s->tuple_shapes[k]);
		s = s->tuple_shapes[path[i]];
	}
	return s->element_type == HLO_TUPLE || r->looks >= MOST_LOOKS ? -1 : (int)leaf;
}

static int input_of(struct reading *r, int64_t number, const int64_t *path, size_t n)
{
	int leaf;

	if (number < 0 || number >= r->nparams)
		return -1;
	leaf = leaf_of(r, r->param[number]->shape, path, n);
	return leaf < 0 ? -1 : (int)r->first[number] + leaf;
}

static int take_aliases(struct reading *r)
{
	const Ncc__Hlo__InputOutputAlias *alias = r->m->input_output_alias;
	const Ncc__Hlo__BufferDonor *donor = r->m->buffer_donor;

	for (size_t i = 0; alias && i < alias->n_entries; i++) {
		const Ncc__Hlo__AliasEntry *e = alias->entries[i];
		const int in = input_of(r, e->parameter_number, e->parameter_shape_index,
					e->n_parameter_shape_index);
		const int out =
			leaf_of(r, r->root->shape, e->output_shape_index, e->n_output_shape_index);

		if (in < 0 || out < 0)
			return ncc_fail(r->err, -EINVAL,
					"input_output_alias names an input or output that the "
					"module has not");
		r->p->alias[out] = in;
	}

	for (size_t i = 0; donor && i < donor->n_entries; i++) {
		const Ncc__Hlo__DonorEntry *e = donor->entries[i];
		const int in = input_of(r, e->parameter_number, e->parameter_shape_index,
					e->n_parameter_shape_index);

		if (in < 0)
			return ncc_fail(r->err, -EINVAL,
					"buffer_donor names an input that the module has not");
		r->p->donor[in] = true;
	}
	return 0;
}

/* An element of a value: where it is in tuples of tuples, the outermost index last */
struct element {
	unsigned int n;
	int64_t path[PATH];
};

static const Ncc__Hlo__Instruction *find(struct reading *r, const Ncc__Hlo__Computation *c,
					 int64_t id)
{
	for (size_t i = 0; i < c->n_instructions && ++r->looks < MOST_LOOKS; i++)
		if (c->instructions[i]->id == id)
			return c->instructions[i];
	return NULL;
}

static const Ncc__Hlo__Computation *called(struct reading *r, const Ncc__Hlo__Instruction *p)
{
	for (size_t i = 0; i < r->m->n_computations && ++r->looks < MOST_LOOKS; i++)
		if (p->n_called_computation_ids &&
		    r->m->computations[i]->id == p->called_computation_ids[0])
			return r->m->computations[i];
	return NULL;
}

/* Is the value its operand as it is? */
static bool hands_on(const Ncc__Hlo__Instruction *p)
{
	return p->n_operand_ids == 1 &&
	       (!strcmp(p->opcode, "copy") || !strcmp(p->opcode, "opt-barrier") ||
		(!strcmp(p->opcode, "custom-call") && !strcmp(p->custom_call_target, "Sharding")));
}

static const Ncc__Hlo__Instruction *follow(struct reading *r, const Ncc__Hlo__Computation *c,
					   const Ncc__Hlo__Instruction *p, struct element *e,
					   unsigned int depth);

/* The operand that is the element of an instruction's value; -1: none, as it is */
static int64_t handed_on(struct reading *r, const Ncc__Hlo__Instruction *p, struct element *e,
			 unsigned int depth)
{
	const Ncc__Hlo__Computation *to;

	if (!strcmp(p->opcode, "get-tuple-element") && e->n < PATH) {
		e->path[e->n++] = p->tuple_index;
		return 0;
	}
	if (!strcmp(p->opcode, "tuple") && e->n)
		return e->path[--e->n];
	if (strcmp(p->opcode, "call"))
		return hands_on(p) ? 0 : -1;
	to = depth < HLO_MAX_CALLS ? called(r, p) : NULL;
	p = to ? follow(r, to, find(r, to, to->root_id), e, depth + 1) : NULL;
	return p ? p->parameter_number : -1;
}

/*
 * Follows an element of a value to the parameter of its computation that it is, through what hands
 * values on; e becomes the element of that. NULL: it is computed
 */
static const Ncc__Hlo__Instruction *follow(struct reading *r, const Ncc__Hlo__Computation *c,
					   const Ncc__Hlo__Instruction *p, struct element *e,
					   unsigned int depth)
{
	while (p && strcmp(p->opcode, "parameter")) {
		const int64_t i = handed_on(r, p, e, depth);

		if (i < 0 || (uint64_t)i >= p->n_operand_ids || ++r->looks >= MOST_LOOKS)
			return NULL;
		p = find(r, c, p->operand_ids[i]);
	}
	return p;
}

/* Says of each leaf of the root which input it is; e: where the shape is in the root's */
static void take_same(struct reading *r, const Ncc__Hlo__Shape *s, const struct element *e,
		      unsigned int *out)
{
	const Ncc__Hlo__Instruction *p;
	struct element at = { 0 };
	int64_t path[PATH];
	int in;

	for (size_t i = 0; s->element_type == HLO_TUPLE && i < s->n_tuple_shapes; i++) {
		at.n = e->n + 1;
		at.path[0] = (int64_t)i;
		memcpy(&at.path[1], e->path, e->n * sizeof(e->path[0]));
		take_same(r, s->tuple_shapes[i], &at, out);
	}
	if (s->element_type == HLO_TUPLE)
		return;
	at = *e;
	p = follow(r, r->entry, r->root, &at, 0);
	for (unsigned int i = 0; i < at.n; i++)
		path[i] = at.path[at.n - 1 - i];
	in = p ? input_of(r, p->parameter_number, path, at.n) : -1;
	if (in >= 0 && !memcmp(&r->p->in[in], &r->p->out[*out], sizeof(r->p->in[0])))
		r->p->same[*out] = in;
	++*out;
}

/* Finds the parameters by number, and the root. */
static int find_ends(struct reading *r)
{
	const Ncc__Hlo__Computation *c = r->entry;

	for (size_t i = 0; i < c->n_instructions; i++)
		r->nparams += !strcmp(c->instructions[i]->opcode, "parameter");
	r->param = calloc(r->nparams + 1, sizeof(*r->param));
	r->first = calloc(r->nparams + 1, sizeof(*r->first));
	if (!r->param || !r->first)
		return ncc_no_memory(r->err);

	for (size_t i = 0; i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = c->instructions[i];
		const int64_t k = p->parameter_number;

		if (p->id == c->root_id && p->shape)
			r->root = p;
		if (strcmp(p->opcode, "parameter"))
			continue;
		if (k < 0 || k >= r->nparams || r->param[k] || !p->shape)
			return ncc_fail(r->err, -EINVAL, "bad parameter number %lld", (long long)k);
		r->param[k] = p;
	}
	return r->root ? 0 : ncc_fail(r->err, -EINVAL, "the root instruction does not exist");
}

static int make_room(struct reading *r)
{
	struct ncc_program *p = r->p;
	int rc = 0;

	for (unsigned int k = 0; !rc && k < r->nparams; k++) {
		r->first[k] = p->nin;
		rc = count_leaves(r, r->param[k]->shape, &p->nin);
	}
	rc = rc ? rc : count_leaves(r, r->root->shape, &p->nout);
	if (rc)
		return rc;
	p->name = strdup(r->m->name);
	p->in = calloc(p->nin + 1, sizeof(*p->in));
	p->out = calloc(p->nout + 1, sizeof(*p->out));
	p->alias = calloc(p->nout + 1, sizeof(*p->alias));
	p->donor = calloc(p->nin + 1, sizeof(*p->donor));
	p->same = calloc(p->nout + 1, sizeof(*p->same));
	p->ncalls = hlo_host_calls(r->m, NULL);
	p->call = calloc(p->ncalls + 1, sizeof(*p->call));
	if (!p->name || !p->in || !p->out || !p->alias || !p->donor || !p->same || !p->call)
		return ncc_no_memory(r->err);
	hlo_host_calls(r->m, p->call);
	p->effects = hlo_has_effects(r->m);
	for (unsigned int i = 0; i < p->nout; i++)
		p->alias[i] = p->same[i] = -1;
	return 0;
}

static int read_program(struct reading *r)
{
	struct ncc_array *in, *out;
	unsigned int leaf = 0;
	int rc = find_ends(r) ?: make_room(r);

	in = r->p->in;
	out = r->p->out;
	for (unsigned int k = 0; !rc && k < r->nparams; k++)
		rc = take_leaves(r, r->param[k]->shape, &in);
	rc = rc ?: take_leaves(r, r->root->shape, &out) ?: take_aliases(r);
	if (!rc)
		take_same(r, r->root->shape, &(struct element){ 0 }, &leaf);
	return rc;
}

/* Places of values, if each argument or result is one array */
static int take_tilings(struct reading *r, const struct ncc_tiling *const *from, size_t n,
			struct ncc_tiling ***to, unsigned int arrays)
{
	const size_t bytes = (size_t)r->p->partitions * NCC_MAX_DIMS;

	*to = calloc(arrays + 1, sizeof(**to));
	if (!*to)
		return ncc_no_memory(r->err);
	for (size_t i = 0; n == arrays && i < n; i++) {
		struct ncc_tiling *t =
			from[i] ? malloc(sizeof(*t) + bytes + r->p->partitions) : NULL;

		if (!from[i])
			continue;
		if (!t)
			return ncc_no_memory(r->err);
		*t = *from[i];
		t->at = (uint8_t *)(t + 1);
		t->term = t->at + bytes;
		memcpy(t->term, from[i]->term, r->p->partitions);
		memcpy(t->at, from[i]->at, bytes);
		(*to)[i] = t;
	}
	return 0;
}

int hlo_program(const struct hlo_file *f, struct ncc_program **p, struct ncc_error *err)
{
	struct reading r = { .m = f->proto, .err = err };
	int rc;

	for (size_t i = 0; i < r.m->n_computations; i++)
		if (r.m->computations[i]->id == r.m->entry_computation_id)
			r.entry = r.m->computations[i];
	if (!r.entry)
		return ncc_fail(err, -EINVAL, "not an HLO module: no entry computation");
	r.p = calloc(1, sizeof(*r.p));
	if (!r.p)
		return ncc_no_memory(err);
	r.p->replicas = f->replicas;
	r.p->partitions = f->partitions;
	rc = read_program(&r);
	rc = rc ? rc
		: take_tilings(&r, f->in, f->nin, &r.p->in_tiling, r.p->nin) ?:
			  take_tilings(&r, f->out, f->nout, &r.p->out_tiling, r.p->nout);
	free(r.param);
	free(r.first);
	if (rc) {
		hlo_program_free(r.p);
		return rc;
	}
	*p = r.p;
	return 0;
}

void hlo_program_free(struct ncc_program *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; p->in_tiling && i < p->nin; i++)
		free(p->in_tiling[i]);
	for (unsigned int i = 0; p->out_tiling && i < p->nout; i++)
		free(p->out_tiling[i]);
	free(p->in_tiling);
	free(p->out_tiling);
	free(p->name);
	free(p->in);
	free(p->out);
	free(p->alias);
	free(p->donor);
	free(p->same);
	free(p->call);
	free(p);
}
