// SPDX-License-Identifier: MIT
/* How values lie on partitions (tiling.h), from what programs say of it */
#include "tiling.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AXES 16

struct ncc_tiling *tiling_new(struct convert *v, unsigned int ndim)
{
	struct ncc_tiling *t = convert_alloc(v, 1, sizeof(*t));

	if (!t)
		return NULL;
	t->ndim = ndim;
	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		t->tiles[d] = 1;
	t->terms = 1;
	t->at = convert_alloc(v, (size_t)v->partitions * NCC_MAX_DIMS, 1);
	t->term = convert_alloc(v, v->partitions, 1);
	return t->at && t->term ? t : NULL;
}

bool tiling_is_whole(const struct ncc_tiling *t)
{
	for (unsigned int d = 0; t && d < t->ndim; d++)
		if (t->tiles[d] > 1)
			return false;
	return !t || t->terms == 1;
}

bool tiling_same(const struct convert *v, const struct ncc_tiling *a, const struct ncc_tiling *b,
		 unsigned int d)
{
	if (a->tiles[d] != b->tiles[d])
		return false;
	for (unsigned int p = 0; p < v->partitions; p++)
		if (a->at[p * NCC_MAX_DIMS + d] != b->at[p * NCC_MAX_DIMS + d])
			return false;
	return true;
}

/* ---- Shardy's meshes ---- */

struct mesh {
	unsigned int naxes;
	const char *name[MOST_AXES];
	int64_t size[MOST_AXES];
	const struct mlir_attr *ids; /* of the devices, row-major; NULL: 0, 1, 2, ... */
};

static int bad_mesh(struct scope *s)
{
	return convert_fail(s, -ENOTSUP,
			    "a mesh that is not of all %u partitions, of up to %d "
			    "axes",
			    s->v->partitions, MOST_AXES);
}

static int64_t number(const struct mlir_attr *a, int64_t absent)
{
	return a && a->kind == MLIR_INTEGER ? a->integer : absent;
}

static int read_mesh(struct scope *s, const struct mlir_attr *a, struct mesh *m)
{
	const struct mlir_attr *axes = mlir_entry_of(a, "axes"), *ids = mlir_entry_of(a, "device_"
											 "ids");
	int64_t n = 1;

	*m = (struct mesh){ 0 };
	if (!axes || axes->kind != MLIR_ARRAY || axes->n > MOST_AXES)
		return bad_mesh(s);
	for (size_t i = 0; i < axes->n; i++) {
		const struct mlir_attr *name = mlir_entry_of(axes->list[i], "name");
		const int64_t size = number(mlir_entry_of(axes->list[i], "size"), 0);

		if (!name || name->kind != MLIR_STRING || size < 1 || size > TILING_MOST ||
		    n * size > TILING_MOST)
			return bad_mesh(s);
		n *= size;
		m->name[m->naxes] = name->text;
		m->size[m->naxes++] = size;
	}
	if (ids && ids->kind == MLIR_DENSE && mlir_elems(ids->type) > 0) {
		if (mlir_elems(ids->type) != n)
			return bad_mesh(s);
		m->ids = ids;
	}
	return n == s->v->partitions ? 0 : bad_mesh(s);
}

/* By its name among the module's operations, or as it is */
static int find_mesh(struct scope *s, const struct mlir_attr *what, struct mesh *m)
{
	const struct mlir_block *b = &s->v->m->module->regions[0].blocks[0];

	if (what && what->kind == MLIR_DICTIONARY)
		return read_mesh(s, what, m);
	for (size_t i = 0; what && what->kind == MLIR_STRING && i < b->nops; i++) {
		const struct mlir_attr *name = mlir_attr_of(&b->ops[i], "sym_name");

		if (!strcmp(b->ops[i].name, "sdy.mesh") && name && name->kind == MLIR_STRING &&
		    !strcmp(name->text, what->text))
			return read_mesh(s, mlir_attr_of(&b->ops[i], "mesh"), m);
	}
	return convert_fail(s, -EINVAL, "a sharding on a mesh that does not exist");
}

/* A part of an axis: of its coordinates, (c / post) % size */
struct part {
	unsigned int axis;
	int64_t size, post;
};

static int read_part(struct scope *s, const struct mesh *m, const struct mlir_attr *ref,
		     struct part *part)
{
	const struct mlir_attr *name = mlir_entry_of(ref, "name"), *sub = mlir_entry_of(ref, "sub_"
											     "axi"
											     "s");
	int64_t before, size;

	for (part->axis = 0; part->axis < m->naxes; part->axis++)
		if (name && name->kind == MLIR_STRING && !strcmp(name->text, m->name[part->axis]))
			break;
	if (part->axis == m->naxes)
		return convert_fail(s, -EINVAL, "a sharding along an axis that its mesh has not");
	part->size = m->size[part->axis];
	part->post = 1;
	if (!sub || sub->kind != MLIR_DICTIONARY)
		return 0;
	before = number(mlir_entry_of(sub, "pre_size"), 0);
	size = number(mlir_entry_of(sub, "size"), 0);
	if (before < 1 || size < 1 || before > part->size || size > part->size ||
	    part->size % (before * size))
		return convert_fail(s, -EINVAL, "a part of an axis that does not divide it");
	part->post = part->size / (before * size);
	part->size = size;
	return 0;
}

/* The coordinate along an axis of the i-th device */
static int64_t coordinate(const struct mesh *m, unsigned int axis, int64_t i)
{
	for (unsigned int a = m->naxes - 1; a > axis; a--)
		i /= m->size[a];
	return i % m->size[axis];
}

/* Cuts a dimension, which devices have `at` of, each `step` behind the other, along an axis' part */
static int cut_along(struct scope *s, const struct mesh *m, const struct part *part, int64_t *tiles,
		     uint8_t *at, size_t step)
{
	if (*tiles * part->size > TILING_MOST)
		return convert_fail(s, -EINVAL, "a dimension in more tiles than there are devices");
	*tiles *= part->size;
	for (int64_t i = 0; i < s->v->partitions; i++) {
		const int64_t device = m->ids ? mlir_int(m->ids, i) : i;
		uint8_t *own;

		if (device < 0 || device >= s->v->partitions)
			return bad_mesh(s);
		own = &at[(size_t)device * step];
		*own = (uint8_t)(*own * part->size +
				 coordinate(m, part->axis, i) / part->post % part->size);
	}
	return 0;
}

static bool is_listed(const struct mlir_attr *axes, const char *name)
{
	if (!axes || axes->kind != MLIR_ARRAY)
		return true;
	for (size_t i = 0; i < axes->n; i++)
		if (axes->list[i]->kind == MLIR_STRING && !strcmp(axes->list[i]->text, name))
			return true;
	return false;
}

/* A list of axes, of which some may not count */
static int cut_all(struct scope *s, const struct mesh *m, const struct mlir_attr *list,
		   const struct mlir_attr *only, int64_t *tiles, uint8_t *at, size_t step)
{
	int rc = 0;

	for (size_t i = 0; list && list->kind == MLIR_ARRAY && i < list->n && !rc; i++) {
		struct part part = { .size = 1, .post = 1 };

		rc = read_part(s, m, list->list[i], &part);
		if (!rc && is_listed(only, m->name[part.axis]))
			rc = cut_along(s, m, &part, tiles, at, step);
	}
	return rc;
}

static bool has_axes(const struct mlir_attr *a, const char *name)
{
	const struct mlir_attr *list = mlir_entry_of(a, name);

	return list && list->kind == MLIR_ARRAY && list->n;
}

static int read_shardy(struct scope *s, const struct mlir_attr *a, const struct mlir_attr *only,
		       struct ncc_tiling *t)
{
	const struct mlir_attr *dims = mlir_entry_of(a, "dim_shardings");
	bool any = has_axes(a, "unreduced_axes");
	struct mesh m;
	int rc;

	if (!dims || dims->kind != MLIR_ARRAY || dims->n != t->ndim)
		return convert_fail(s, -EINVAL, "a sharding of another rank");
	for (size_t d = 0; d < dims->n; d++)
		any |= has_axes(dims->list[d], "axes");
	rc = any ? find_mesh(s, mlir_entry_of(a, "mesh"), &m) : 0;
	for (size_t d = 0; d < dims->n && any && !rc; d++)
		rc = cut_all(s, &m, mlir_entry_of(dims->list[d], "axes"), only, &t->tiles[d],
			     &t->at[d], NCC_MAX_DIMS);
	if (any && !rc)
		rc = cut_all(s, &m, mlir_entry_of(a, "unreduced_axes"), only, &t->terms, t->term,
			     1);
	return rc;
}

/* ---- XLA's text: {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate} ---- */

#define MOST_NUMBERS 16

struct numbers {
	unsigned int n;
	int64_t v[TILING_MOST];
};

static bool take_numbers(const char **p, char end, struct numbers *l)
{
	l->n = 0;
	while (**p && **p != end) {
		char *next;

		if (!isdigit((unsigned char)**p) || l->n == TILING_MOST)
			return false;
		l->v[l->n++] = strtoll(*p, &next, 10);
		if (l->v[l->n - 1] > TILING_MOST)
			return false;
		*p = next + (*next == ',');
	}
	if (**p != end)
		return false;
	++*p;
	return true;
}

static int64_t product(const struct numbers *l)
{
	int64_t n = 1;

	for (unsigned int i = 0; i < l->n; i++)
		n = n > TILING_MOST ? n : n * l->v[i];
	return n;
}

/* The i-th device of numbers 0, 1, ... of dimensions `from` that were transposed by `map` */
static int64_t transposed(const struct numbers *from, const struct numbers *map, int64_t i)
{
	int64_t at[MOST_NUMBERS], n = 0;

	for (unsigned int k = map->n; k-- > 0;) {
		at[map->v[k]] = i % from->v[map->v[k]];
		i /= from->v[map->v[k]];
	}
	for (unsigned int k = 0; k < from->n; k++)
		n = n * from->v[k] + at[k];
	return n;
}

/* The devices of tiles in their order, as a list or as such a transposition */
static bool take_devices(const char **p, int64_t n, struct numbers *devices)
{
	struct numbers from, map = { 0 };

	if (strncmp(*p, "<=[", 3))
		return take_numbers(p, '}', devices) && devices->n == n;
	*p += 3;
	if (!take_numbers(p, ']', &from) || from.n > MOST_NUMBERS || product(&from) != n)
		return false;
	for (unsigned int k = 0; k < from.n; k++)
		map.v[map.n++] = k;
	if (!strncmp(*p, "T(", 2)) {
		bool seen[MOST_NUMBERS] = { false };

		*p += 2;
		if (!take_numbers(p, ')', &map) || map.n != from.n)
			return false;
		for (unsigned int k = 0; k < map.n; k++) {
			if (map.v[k] >= map.n || seen[map.v[k]])
				return false;
			seen[map.v[k]] = true;
		}
	}
	for (devices->n = 0; devices->n < n; devices->n++)
		devices->v[devices->n] = transposed(&from, &map, devices->n);
	return true;
}

static bool read_text(const struct convert *v, const char *text, struct ncc_tiling *t)
{
	const char *p = strstr(text, "devices=[");
	struct numbers tiles, devices;

	if (!p)
		return strstr(text, "replicated") != NULL || strstr(text, "maximal") != NULL;
	p += strlen("devices=[");
	if (!take_numbers(&p, ']', &tiles) || tiles.n < t->ndim ||
	    product(&tiles) != v->partitions || !take_devices(&p, v->partitions, &devices))
		return false;
	for (unsigned int d = 0; d < t->ndim; d++)
		t->tiles[d] = tiles.v[d];
	for (unsigned int i = 0; i < devices.n; i++) {
		int64_t at = i;

		if (devices.v[i] >= v->partitions)
			return false;
		for (unsigned int d = tiles.n; d-- > 0;) {
			if (d < t->ndim)
				t->at[devices.v[i] * NCC_MAX_DIMS + d] = (uint8_t)(at % tiles.v[d]);
			at /= tiles.v[d];
		}
	}
	return true;
}

int tiling_read(struct scope *s, const struct mlir_attr *sharding, const struct mlir_attr *axes,
		unsigned int ndim, struct ncc_tiling **t)
{
	*t = NULL;
	if (!sharding || (sharding->kind == MLIR_STRING && !strcmp(sharding->text, "{manual}")))
		return 0;
	if (ndim > NCC_MAX_DIMS || s->v->partitions > TILING_MOST)
		return convert_fail(s, -ENOTSUP, "a rank of %u, on %u partitions", ndim,
				    s->v->partitions);
	*t = tiling_new(s->v, ndim);
	if (!*t)
		return ncc_no_memory(s->v->err);
	if (sharding->kind == MLIR_DICTIONARY)
		return read_shardy(s, sharding, axes, *t);
	if (sharding->kind == MLIR_STRING && read_text(s->v, sharding->text, *t))
		return 0;
	return convert_fail(s, -ENOTSUP, "the sharding %.100s is not read",
			    sharding->kind == MLIR_STRING ? sharding->text : "");
}

/* ---- custom calls that say it ---- */

static const char marks[][24] = {
	[TILING_NONE] = "",
	[TILING_ARGUMENT] = "ncc.argument",
	[TILING_RESULT] = "ncc.result",
	[TILING_CONSTRAINT] = "Sharding",
	[TILING_TO_PART] = "SPMDFullToShardShape",
	[TILING_TO_WHOLE] = "SPMDShardToFullShape",
	[TILING_TO_WHOLE_INSIDE] = "ncc.whole_inside",
};

hlo_instruction *tiling_mark(struct scope *s, enum tiling_mark mark, const Ncc__Hlo__Shape *shape,
			     hlo_instruction *x, const struct ncc_tiling *t)
{
	hlo_instruction *p = shape && x ? convert_add(s, "custom-call", shape, &x, 1) : NULL;

	if (!p)
		return NULL;
	p->custom_call_target = (char *)(uintptr_t)marks[mark];
	p->backend_config.data = (uint8_t *)(uintptr_t)t;
	p->backend_config.len = t ? sizeof(*t) : 0;
	return p;
}

enum tiling_mark tiling_mark_of(const hlo_instruction *p)
{
	for (int i = TILING_ARGUMENT; i <= TILING_TO_WHOLE_INSIDE; i++)
		if (p->custom_call_target == marks[i])
			return (enum tiling_mark)i;
	return TILING_NONE;
}

const struct ncc_tiling *tiling_of(const hlo_instruction *p)
{
	return p->backend_config.len ? (const void *)p->backend_config.data : NULL;
}
