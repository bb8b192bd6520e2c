// SPDX-License-Identifier: MIT
/*
 * Computations that an instruction calls are inlined, run on whole tensors if they are of scalars
 * (hlo_lift), and recognised if one operation of the IR does the same (hlo_combiner).
 */
#include "call.h"

#include <errno.h>
#include <string.h>

int hlo_call(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct hlo_value *args,
	     unsigned int nargs, struct hlo_value *v)
{
	if (!c)
		return -EINVAL;
	if (in->imp->depth >= HLO_MAX_CALLS)
		return hlo_fail(in, -EINVAL, "calls nested more than %d deep, or in a cycle",
				HLO_MAX_CALLS);
	return in->imp->run(in->imp, c, args, nargs, v);
}

static bool has_complex_parameter(const Ncc__Hlo__Computation *c, int64_t n)
{
	for (size_t i = 0; i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = c->instructions[i];

		if (hlo_is_parameter(p, n) && p->shape)
			return hlo_is_complex(p->shape->element_type);
	}
	return false;
}

int hlo_lift(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct ncc_shape *s,
	     struct ncc_op *const *x, unsigned int n, struct hlo_value *v)
{
	const struct ncc_shape *before = in->imp->lift;
	struct hlo_value *args = ncc_alloc(in->imp->m, (n + 1) * sizeof(*args));
	int rc;

	struct ncc_op **op = ncc_alloc(in->imp->m, (n + 1) * sizeof(*op));
	unsigned int nargs = 0;

	if (!args || !op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n; i += args[nargs++].n) {
		bool complex = c && i + 1 < n && has_complex_parameter(c, nargs);

		args[nargs] = (struct hlo_value){ .n = complex ? 2 : 1,
						  .complex = complex,
						  .op = &op[i] };
		for (unsigned int k = i; k < i + args[nargs].n; k++) {
			op[k] = x[k];
			if (!x[k])
				return hlo_fail(in, -ENOMEM, "out of memory");
		}
	}
	in->imp->lift = s->ndim ? s : NULL;
	rc = hlo_call(in, c, args, nargs, v);
	in->imp->lift = before;
	return rc;
}

int hlo_combine(struct hlo_inst *in, struct ncc_op **a, struct ncc_op *const *b, unsigned int n)
{
	struct ncc_op *x[2 * HLO_MANY];
	struct hlo_value v;
	int rc;

	for (unsigned int i = 0; i < n; i++) {
		x[i] = a[i];
		x[n + i] = b[i];
		if (!a[i] || !b[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}

	rc = hlo_lift(in, hlo_called(in, 0), &a[0]->shape, x, 2 * n, &v);
	if (rc)
		return rc;
	if (v.n != n)
		return hlo_fail(in, -EINVAL, "the computation has %u results, expected %u", v.n, n);

	for (unsigned int i = 0; i < n; i++) {
		if (!ncc_same_dims(&v.op[i]->shape, &a[i]->shape) ||
		    v.op[i]->shape.dtype != a[i]->shape.dtype)
			return hlo_fail(in, -EINVAL, "the computation changes a type");
		a[i] = v.op[i];
	}
	return 0;
}

static const struct {
	const char *name;
	enum ncc_kind kind;
} reducers[] = {
	/* clang-format off */
	{ "add",      NCC_ADD },
	{ "multiply", NCC_MUL },
	{ "maximum",  NCC_MAX },
	{ "minimum",  NCC_MIN },
	{ "and",      NCC_AND },
	{ "or",       NCC_OR },
	/* clang-format on */
};

bool hlo_is_parameter(const Ncc__Hlo__Instruction *p, int64_t n)
{
	return p && !strcmp(p->opcode, "parameter") && p->parameter_number == n;
}

static struct ncc_combine reducer_of(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *r,
				     unsigned int a, unsigned int b)
{
	const struct ncc_combine other = { .by = NCC_COMBINE_FN };
	const Ncc__Hlo__Instruction *x, *y;

	if (hlo_is_parameter(r, b))
		return (struct ncc_combine){ .by = NCC_COMBINE_SECOND };
	if (!r || r->n_operand_ids != 2)
		return other;
	x = hlo_by_id(c, r->operand_ids[0]);
	y = hlo_by_id(c, r->operand_ids[1]);
	if (!(hlo_is_parameter(x, a) && hlo_is_parameter(y, b)) &&
	    !(hlo_is_parameter(x, b) && hlo_is_parameter(y, a)))
		return other;
	for (size_t i = 0; i < sizeof(reducers) / sizeof(reducers[0]); i++)
		if (!strcmp(reducers[i].name, r->opcode))
			return (struct ncc_combine){ .by = NCC_COMBINE_KIND,
						     .kind = reducers[i].kind };
	return other;
}

struct ncc_combine hlo_combiner(const struct hlo_inst *in, unsigned int i, unsigned int n)
{
	const Ncc__Hlo__Computation *c = NULL;
	const Ncc__Hlo__Instruction *root;

	if (in->p->n_called_computation_ids == 1)
		c = hlo_computation(in->imp, in->p->called_computation_ids[0]);
	root = c ? hlo_by_id(c, c->root_id) : NULL;
	if (root && n > 1)
		root = !strcmp(root->opcode, "tuple") && root->n_operand_ids == n
			       ? hlo_by_id(c, root->operand_ids[i])
			       : NULL;
	return reducer_of(c, root, i, n + i);
}

bool hlo_simple_reducer(const struct hlo_inst *in)
{
	return hlo_combiner(in, 0, 1).by == NCC_COMBINE_KIND;
}

enum ncc_kind hlo_of_truth(enum ncc_kind kind, const struct ncc_shape *s)
{
	if (!s->pred)
		return kind;
	return kind == NCC_ADD ? NCC_OR : kind == NCC_MUL ? NCC_AND : kind;
}

int hlo_is_of_elements(struct hlo_inst *in)
{
	return in->imp->lift ? hlo_fail(in, -ENOTSUP,
					"in the computation of a map, sort, scatter or reduction, "
					"whose elements would each go their own way")
			     : 0;
}
