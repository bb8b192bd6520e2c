// SPDX-License-Identifier: MIT
/*
 * The mesh of all devices, whose axes have prime sizes, and lists of its axes: see spmd.h. The
 * order of the devices in it is that of the program's first mesh, as its axes are.
 */
#include <errno.h>
#include <string.h>

#include "spmd.h"

#define AXIS_BITS 4u
#define AXIS_MASK 15u

/* Appends the prime factors of an axis, the slowest first */
static int add_axis(struct spmd *p, unsigned int size, unsigned int number)
{
	struct spmd_mesh *m = &p->mesh;

	for (unsigned int f = 2; size > 1;) {
		if (size % f) {
			f++;
			continue;
		}
		if (m->naxes == SPMD_MOST_AXES)
			return spmd_fail(p, -ENOTSUP, "a mesh of more than %d prime axes",
					 SPMD_MOST_AXES);
		m->of[m->naxes] = (uint8_t)number;
		m->size[m->naxes++] = f;
		size /= f;
	}
	return 0;
}

/* mesh: an sdy.mesh; 1: it has as many devices, and they are taken; 0: it has not */
static int take_mesh(struct spmd *p, const struct mlir_attr *mesh)
{
	const struct mlir_attr *axes = mesh ? mlir_entry_of(mesh, "axes") : NULL;
	const struct mlir_attr *ids = mesh ? mlir_entry_of(mesh, "device_ids") : NULL;
	const int64_t nids = ids && ids->kind == MLIR_DENSE ? mlir_elems(ids->type) : 0;
	bool seen[SPMD_MOST_DEVICES] = { false };
	int64_t n = 1;
	int rc = 0;

	for (size_t i = 0; axes && axes->kind == MLIR_ARRAY && i < axes->n; i++) {
		const struct mlir_attr *size = mlir_entry_of(axes->list[i], "size");

		if (!size || size->integer < 1 || size->integer > (int64_t)p->mesh.n)
			return 0;
		n *= size->integer;
		if (n > (int64_t)p->mesh.n)
			return 0;
	}
	if (n != (int64_t)p->mesh.n || (nids && nids != n))
		return 0;
	for (int64_t i = 0; i < n; i++) {
		const int64_t id = nids ? mlir_int(ids, i) : i;

		if (id < 0 || id >= n || seen[id])
			return spmd_fail(p, -EINVAL, "a mesh whose device_ids are no order of %lld",
					 (long long)n);
		seen[id] = true;
		p->mesh.place[id] = (uint16_t)i;
	}
	for (size_t i = 0; !rc && axes && i < axes->n; i++)
		rc = add_axis(p, (unsigned int)mlir_entry_of(axes->list[i], "size")->integer,
			      (unsigned int)i % UINT8_MAX);
	return rc ? rc : 1;
}

static void place_devices(struct spmd_mesh *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		unsigned int left = m->place[i];

		for (unsigned int a = m->naxes; a--; left /= m->size[a])
			m->at[i][a] = (uint8_t)(left % m->size[a]);
	}
}

int spmd_mesh_make(struct spmd *p, unsigned int devices)
{
	const struct mlir_block *b = &p->m->module->regions[0].blocks[0];
	int rc = 0;

	if (devices > SPMD_MOST_DEVICES)
		return spmd_fail(p, -ENOTSUP, "a program for %u devices, at most %d are supported",
				 devices, SPMD_MOST_DEVICES);
	p->mesh.n = devices;
	for (size_t i = 0; !rc && i < b->nops; i++) {
		p->at = &b->ops[i];
		if (!strcmp(p->at->name, "sdy.mesh"))
			rc = take_mesh(p, mlir_attr_of(p->at, "mesh"));
	}
	p->at = NULL;
	if (!rc) {
		for (unsigned int i = 0; i < devices; i++)
			p->mesh.place[i] = (uint16_t)i;
		rc = add_axis(p, devices, 0);
	}
	if (rc < 0)
		return rc;
	place_devices(&p->mesh);
	return 0;
}

spmd_axes spmd_axes_list(unsigned int mask)
{
	unsigned int n = 0;
	spmd_axes a = 0;

	for (unsigned int i = 0; i < SPMD_MOST_AXES; i++)
		if (mask >> i & 1)
			a |= (i + 1) << AXIS_BITS * n++;
	return a;
}

unsigned int spmd_axes_count(spmd_axes a)
{
	unsigned int n = 0;

	for (; a; a >>= AXIS_BITS)
		n++;
	return n;
}

unsigned int spmd_axes_mask(spmd_axes a)
{
	unsigned int mask = 0;

	for (; a; a >>= AXIS_BITS)
		mask |= 1u << ((a & AXIS_MASK) - 1);
	return mask;
}

spmd_axes spmd_axes_first(spmd_axes a, unsigned int n)
{
	return n * AXIS_BITS >= 32 ? a : a & ((1u << n * AXIS_BITS) - 1);
}

spmd_axes spmd_axes_rest(spmd_axes a, unsigned int n)
{
	return n * AXIS_BITS >= 32 ? 0 : a >> n * AXIS_BITS;
}

spmd_axes spmd_axes_named(const struct spmd *p, spmd_axes a)
{
	for (unsigned int n = spmd_axes_count(a); n; n--) {
		const unsigned int mask = spmd_axes_mask(spmd_axes_first(a, n));
		unsigned int owners = 0, all = 0;

		for (unsigned int i = 0; i < p->mesh.naxes; i++)
			owners |= mask >> i & 1 ? 1u << p->mesh.of[i] % 32 : 0;
		for (unsigned int i = 0; i < p->mesh.naxes; i++)
			all |= owners >> p->mesh.of[i] % 32 & 1 ? 1u << i : 0;
		if (all == mask)
			return spmd_axes_first(a, n);
	}
	return 0;
}

unsigned int spmd_parts(const struct spmd *p, spmd_axes a)
{
	unsigned int n = 1;

	for (; a; a >>= AXIS_BITS)
		n *= p->mesh.size[(a & AXIS_MASK) - 1];
	return n;
}

unsigned int spmd_part(const struct spmd *p, spmd_axes a, unsigned int device)
{
	unsigned int i = 0;

	for (; a; a >>= AXIS_BITS) {
		const unsigned int axis = (a & AXIS_MASK) - 1;

		i = i * p->mesh.size[axis] + p->mesh.at[device][axis];
	}
	return i;
}

/* Is the axis the slowest digit of what is left of the tiles? below: tiles for each of its steps */
static bool is_digit(const struct spmd *p, const uint16_t *tile, unsigned int axis,
		     unsigned int below)
{
	for (unsigned int i = 0; i < p->mesh.n; i++)
		if (tile[i] / below % p->mesh.size[axis] != p->mesh.at[i][axis])
			return false;
	return true;
}

int spmd_axes_of(const struct spmd *p, const uint16_t *tile, unsigned int tiles, unsigned int *used,
		 spmd_axes *out)
{
	unsigned int n = 0;

	*out = 0;
	while (tiles > 1) {
		unsigned int a = 0;

		while (a < p->mesh.naxes && (*used >> a & 1 || tiles % p->mesh.size[a] ||
					     !is_digit(p, tile, a, tiles / p->mesh.size[a])))
			a++;
		if (a == p->mesh.naxes)
			return -EINVAL;
		*out |= (a + 1) << AXIS_BITS * n++;
		*used |= 1u << a;
		tiles /= p->mesh.size[a];
	}
	return 0;
}
