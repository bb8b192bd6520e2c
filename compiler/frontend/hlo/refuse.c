// SPDX-License-Identifier: MIT
/*
 * What cannot be imported: it is noted, and something of its shape stands in for it, so that the
 * obstacles behind it are found as well. A module with obstacles is never compiled. Part of the
 * HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "empty.h"
#include "operations.h"
#include "sizes.h"

static int stand_in(struct hlo_inst *in, uint8_t dtype, const Ncc__Hlo__Shape *p,
		    struct hlo_value *v)
{
	struct ncc_op *op = ncc_op_new(in->imp->m, NCC_PARAM, in->p->name, 0);
	int rc;

	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	rc = hlo_shape(in, p, &op->shape);
	if (dtype)
		op->shape.dtype = dtype;
	v->op[v->n++] = op;
	return rc || hlo_is_empty(op) ? rc : ncc_verify_op(op, in->imp->err);
}

static int stand_ins(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct hlo_value *v)
{
	int rc = 0;

	if (p->element_type != HLO_TUPLE) {
		v->complex = hlo_is_complex(p->element_type);
		for (unsigned int i = 0; i < hlo_leaves(p) && !rc; i++)
			rc = stand_in(in, v->complex ? NEURON_DT_FP32 : 0, p, v);
		return rc;
	}
	for (size_t i = 0; i < p->n_tuple_shapes && !rc; i++)
		rc = stand_ins(in, p->tuple_shapes[i], v);
	v->complex = false;
	return rc;
}

/* A stand-in's dynamic dimensions have the bounds as sizes. */
static int size_stand_in(struct hlo_inst *in, struct hlo_value *v)
{
	struct hlo_layout l;

	return hlo_layout(in, in->p->shape, v, &l) ?: hlo_pack(in, &l, v) ?: hlo_unpack(in, &l, v);
}

/* A value of the instruction's shape of which nothing else is known */
static int make_stand_in(struct hlo_inst *in, struct hlo_value *v)
{
	unsigned int n;
	int rc;

	memset(v, 0, sizeof(*v));
	if (!in->p->shape)
		return hlo_fail(in, -EINVAL, "no shape");
	n = hlo_leaves(in->p->shape);
	if (n > NCC_MAX_OPS - in->imp->made)
		return hlo_fail(in, -EFBIG, "more than %d operations and tuple elements",
				NCC_MAX_OPS);
	in->imp->made += n;
	v->op = ncc_alloc(in->imp->m, (n + 1) * sizeof(struct ncc_op *));
	rc = v->op ? stand_ins(in, in->p->shape, v) : hlo_fail(in, -ENOMEM, "out of memory");
	return rc ? rc : size_stand_in(in, v);
}

int hlo_refuse(struct hlo_inst *in, int rc, struct hlo_value *v)
{
	struct ncc_obstacles *o = in->imp->obstacles;
	const char *kind = in->rule ? NULL : in->p->opcode;
	bool within = o->seen != in->seen; /* in its computations, whose results are stand-ins */

	if (ncc_obstacle_follows(o, &in->b, rc))
		return rc;
	if (!within && ncc_obstacle(o, &in->b, in->p, kind, rc))
		return rc;
	if (rc == -ENOMEM && !within)
		return rc;
	rc = make_stand_in(in, v);
	in->imp->err->text[0] = 0;
	if (rc)
		*v = (struct hlo_value){ .unknown = true };
	return rc == -ENOMEM ? rc : 0;
}

/* Runs a computation of which no argument is known. */
static int call_blind(struct hlo_inst *in, const Ncc__Hlo__Computation *c)
{
	const struct hlo_value unknown = { .unknown = true };
	struct hlo_value v, *args;
	unsigned int n = 0;

	for (size_t i = 0; c && i < c->n_instructions; i++)
		n += !strcmp(c->instructions[i]->opcode, "parameter");
	args = ncc_alloc(in->imp->m, (n + 1) * sizeof(*args));
	if (!args)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n; i++)
		args[i] = unknown;
	return hlo_call(in, c, args, n, &v);
}

int hlo_blind(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = 0;

	for (size_t i = 0; i < in->p->n_called_computation_ids && !rc; i++)
		rc = call_blind(in, hlo_called(in, i));
	return rc ? rc : make_stand_in(in, v);
}

bool hlo_is_unknown_argument(const struct hlo_inst *in)
{
	int64_t n = in->p->parameter_number;

	return !strcmp(in->p->opcode, "parameter") && n >= 0 && n < in->nargs &&
	       in->args[n].unknown;
}
