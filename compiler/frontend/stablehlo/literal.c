// SPDX-License-Identifier: MIT
/*
 * Constants. Elements stay in the file where they can be read from there; a value that stands for
 * all becomes a scalar that is broadcast, whatever the size.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

/* The elements at an address that fits their type */
static void *aligned(struct scope *s, const struct mlir_attr *a, size_t size)
{
	void *copy;

	if ((uintptr_t)a->data % size == 0)
		return (void *)(uintptr_t)a->data;
	copy = convert_alloc(s->v, a->size + 1, 1);
	if (copy)
		memcpy(copy, a->data, a->size);
	return copy;
}

/* One byte each becomes one of protobuf's booleans */
static int fill_preds(struct scope *s, const struct mlir_attr *a, Ncc__Hlo__Literal *l)
{
	l->preds = convert_alloc(s->v, a->size + 1, sizeof(*l->preds));
	if (!l->preds)
		return -ENOMEM;
	for (size_t i = 0; i < a->size; i++)
		l->preds[i] = a->data[i] != 0;
	l->n_preds = a->size;
	return 0;
}

#define WORDS(type, field, size_)                 \
	case type:                                \
		l->field = aligned(s, a, size_);  \
		l->n_##field = a->size / (size_); \
		return l->field ? 0 : -ENOMEM

#define BYTES(type, field)                                     \
	case type:                                             \
		l->field.data = (uint8_t *)(uintptr_t)a->data; \
		l->field.len = a->size;                        \
		return 0

int literal_fill(struct scope *s, const struct mlir_attr *a, Ncc__Hlo__Literal *l)
{
	switch (l->shape->element_type) {
	case HLO_PRED:
		return fill_preds(s, a, l);
		WORDS(HLO_S32, s32s, 4);
		WORDS(HLO_U32, u32s, 4);
		WORDS(HLO_F32, f32s, 4);
		WORDS(HLO_S64, s64s, 8);
		WORDS(HLO_U64, u64s, 8);
		WORDS(HLO_F64, f64s, 8);
		BYTES(HLO_S8, s8s);
		BYTES(HLO_U8, u8s);
		BYTES(HLO_S16, s16s);
		BYTES(HLO_U16, u16s);
		BYTES(HLO_F16, f16s);
		BYTES(HLO_BF16, bf16s);
		BYTES(HLO_F8E5M2, f8e5m2s);
		BYTES(HLO_F8E4M3FN, f8e4m3fns);
		BYTES(HLO_F8E4M3FNUZ, f8e4m3fnuzs);
		BYTES(HLO_F8E4M3B11FNUZ, f8e4m3b11fnuzs);
		BYTES(HLO_F8E5M2FNUZ, f8e5m2fnuzs);
		BYTES(HLO_F8E8M0FNU, f8e8m0fnus);
		BYTES(HLO_F4E2M1FN, f4e2m1fns);
		BYTES(HLO_F8E4M3, f8e4m3s);
		BYTES(HLO_F8E3M4, f8e3m4s);
		BYTES(HLO_S4, s4s);
		BYTES(HLO_U4, u4s);
		BYTES(HLO_S2, s2s);
		BYTES(HLO_U2, u2s);
	case HLO_C64:
		l->c64s = aligned(s, a, 4);
		l->n_c64s = a->size / 4;
		return l->c64s ? 0 : -ENOMEM;
	case HLO_C128:
		l->c128s = aligned(s, a, 8);
		l->n_c128s = a->size / 8;
		return l->c128s ? 0 : -ENOMEM;
	default:
		s->v->partly = s->v->partly ?: s->at; /* the importer has no such type */
		return 0;
	}
}

/* Many operations may have one attribute: its literal is made once. */
static hlo_instruction *add_constant(struct scope *s, const struct mlir_attr *a,
				     Ncc__Hlo__Shape *shape)
{
	struct mlir_attr *made = (struct mlir_attr *)(uintptr_t)a;
	hlo_instruction *p = shape ? convert_add(s, "constant", shape, NULL, 0) : NULL;
	Ncc__Hlo__Literal *l = a->note;

	if (!l && p) {
		l = convert_alloc(s->v, 1, sizeof(*l));
		if (!l)
			return NULL;
		ncc__hlo__literal__init(l);
		l->shape = shape;
		if (literal_fill(s, a, l))
			return NULL;
		made->note = l;
	}
	if (p)
		p->literal = l;
	return p;
}

hlo_instruction *literal_add(struct scope *s, const struct mlir_attr *dense)
{
	Ncc__Hlo__Shape *shape = convert_shape(s, dense->type);
	struct mlir_type scalar;

	if (!shape || !dense->one)
		return add_constant(s, dense, shape);
	scalar = (struct mlir_type){ .kind = MLIR_TENSOR,
				     .name = dense->type->name,
				     .number = dense->type->number };
	return convert_add(
		s, "broadcast", shape,
		&(hlo_instruction *){ add_constant(s, dense, convert_shape(s, &scalar)) }, 1);
}

int whole_constant(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_of(op, "value");

	if (!a || a->kind != MLIR_DENSE)
		return convert_fail(s, -ENOTSUP, "a constant that is no tensor of numbers");
	if (op->nout != 1)
		return convert_fail(s, -EINVAL, "%zu results", op->nout);
	return convert_results(s, op, literal_add(s, a));
}
