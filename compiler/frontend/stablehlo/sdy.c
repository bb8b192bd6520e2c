// SPDX-License-Identifier: MIT
/*
 * The attributes of Shardy's dialect (sdy) in bytecode: how tensors are divided among devices. They
 * become dictionaries with the names that their text has.
 */
#include "bytecode.h"

enum code {
	MANUAL_AXES,
	MESH_AXIS,
	MESH,
	SUB_AXIS,
	AXIS_REF,
	DIMENSION,
	SHARDING,
	PER_VALUE,
	SHARDING_2 = 15, /* with unreduced axes */
	PER_VALUE_2,
	SHARDING_3, /* and how they are reduced */
};

static const struct mlir_attr *signed_number(struct cursor *c)
{
	return attr_of_int(c->r, MLIR_INTEGER, cursor_signed(c));
}

static const struct mlir_attr *mesh_axis(struct cursor *c)
{
	static const char *const names[] = { "name", "size", NULL };
	const struct mlir_attr *name = attr_of_string(c), *v[] = { name, signed_number(c) };

	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.mesh_axis", names, v);
}

static const struct mlir_attr *mesh(struct cursor *c)
{
	static const char *const names[] = { "axes", "device_ids", NULL };
	const struct mlir_attr *axes = attr_of_array(c), *v[] = { axes, attr_of_signed(c) };

	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.mesh", names, v);
}

static const struct mlir_attr *sub_axis(struct cursor *c)
{
	static const char *const names[] = { "pre_size", "size", NULL };
	const struct mlir_attr *before = signed_number(c), *v[] = { before, signed_number(c) };

	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.sub_axis", names, v);
}

static const struct mlir_attr *axis_ref(struct cursor *c)
{
	static const char *const names[] = { "name", "sub_axis", NULL };
	const struct mlir_attr *name = attr_of_string(c), *v[] = { name, cursor_optional_attr(c) };

	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.axis_ref", names, v);
}

static const struct mlir_attr *dimension(struct cursor *c)
{
	static const char *const names[] = { "axes", "is_closed", "priority", NULL };
	const struct mlir_attr *v[3] = { attr_of_array(c) };
	uint64_t priority;
	bool present;

	v[1] = attr_of_int(c->r, MLIR_BOOL, cursor_byte(c) != 0);
	priority = cursor_flagged(c, &present);
	if (present)
		v[2] = attr_of_int(c->r, MLIR_INTEGER, (int64_t)priority);
	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.dimension_sharding", names, v);
}

/* mesh: its name, or what it is itself */
static const struct mlir_attr *sharding(struct cursor *c, uint64_t code)
{
	static const char *const names[] = { "mesh",	       "dim_shardings", "replicated_axes",
					     "unreduced_axes", "reduction",	NULL };
	const struct mlir_attr *v[5] = { cursor_attr(c) };

	v[1] = attr_of_array(c);
	v[2] = attr_of_array(c);
	if (code >= SHARDING_2)
		v[3] = attr_of_array(c);
	if (code ==
	    SHARDING_3) { /* by another operation than a sum, which the second form is for */
		v[4] = attr_of_text(c->r, MLIR_UNKNOWN, "reduction");
		c->p = c->end;
	}
	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "sdy.sharding", names, v);
}

const struct mlir_attr *sdy_attr(struct cursor *c, uint64_t code)
{
	switch (code) {
	case MANUAL_AXES:
		return attr_of_array(c);
	case MESH_AXIS:
		return mesh_axis(c);
	case MESH:
		return mesh(c);
	case SUB_AXIS:
		return sub_axis(c);
	case AXIS_REF:
		return axis_ref(c);
	case DIMENSION:
		return dimension(c);
	case SHARDING:
	case SHARDING_2:
	case SHARDING_3:
		return sharding(c, code);
	case PER_VALUE:
	case PER_VALUE_2:
		return attr_of_array(c);
	default:
		/* of operations that are refused by their names */
		c->p = c->end;
		return attr_of_text(c->r, MLIR_UNKNOWN, "sdy");
	}
}
