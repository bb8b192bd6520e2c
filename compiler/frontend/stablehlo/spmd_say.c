// SPDX-License-Identifier: MIT
/*
 * What the program says of how a value is divided: Shardy's attributes, and the text that GSPMD has
 * in their place. Both become, of each dimension, which tile a device has, and that a list of axes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spmd.h"

#define MOST_TILE_DIMS (SPMD_MOST_RANK + 4)

/* A mesh of the program's: its axes, and where a device is in it */
struct said_mesh {
	const struct mlir_attr *axes, *ids;
	int64_t n;
};

static int find_mesh(struct spmd *p, const struct mlir_attr *name, struct said_mesh *m)
{
	const struct mlir_block *b = &p->m->module->regions[0].blocks[0];
	const struct mlir_attr *mesh = name && name->kind == MLIR_DICTIONARY ? name : NULL;

	for (size_t i = 0; !mesh && name && name->kind == MLIR_STRING && i < b->nops; i++) {
		const struct mlir_attr *a = mlir_attr_of(&b->ops[i], "sym_name");

		if (!strcmp(b->ops[i].name, "sdy.mesh") && a && a->text &&
		    !strcmp(a->text, name->text))
			mesh = mlir_attr_of(&b->ops[i], "mesh");
	}
	m->axes = mesh ? mlir_entry_of(mesh, "axes") : NULL;
	m->ids = mesh ? mlir_entry_of(mesh, "device_ids") : NULL;
	if (!m->axes || m->axes->kind != MLIR_ARRAY)
		return spmd_fail(p, -EINVAL, "a sharding of a mesh that is not there");
	m->n = 1;
	for (size_t i = 0; i < m->axes->n; i++) {
		const struct mlir_attr *size = mlir_entry_of(m->axes->list[i], "size");
		const struct mlir_attr *axis = mlir_entry_of(m->axes->list[i], "name");

		if (!size || !axis || !axis->text || size->integer < 1 ||
		    __builtin_mul_overflow(m->n, size->integer, &m->n))
			return spmd_fail(p, -EINVAL, "a mesh without names or sizes of its axes");
	}
	if (m->ids && (m->ids->kind != MLIR_DENSE || mlir_elems(m->ids->type) < 1))
		m->ids = NULL;
	if (m->n == 1 && m->ids)
		return spmd_fail(p, -ENOTSUP, "a value on one device of several is not supported");
	if (m->ids && mlir_elems(m->ids->type) != m->n)
		return spmd_fail(p, -EINVAL, "a mesh of %lld devices with %lld device_ids",
				 (long long)m->n, (long long)mlir_elems(m->ids->type));
	return 0;
}

/* The place of a device among the mesh's; -1: nowhere */
static int64_t place_of(const struct said_mesh *m, unsigned int device)
{
	if (!m->ids)
		return device;
	for (int64_t i = 0; i < m->n; i++)
		if (mlir_int(m->ids, i) == (int64_t)device)
			return i;
	return -1;
}

/* An axis, or a part of one: how many it has, and how many devices one step of it is */
static int axis_of(struct spmd *p, const struct said_mesh *m, const struct mlir_attr *ref,
		   int64_t *size, int64_t *step)
{
	const struct mlir_attr *name = mlir_entry_of(ref, "name");
	const struct mlir_attr *sub = mlir_entry_of(ref, "sub_axis");
	const struct mlir_attr *before = sub ? mlir_entry_of(sub, "pre_size") : NULL;
	const struct mlir_attr *part = sub ? mlir_entry_of(sub, "size") : NULL;
	bool found = false;

	*step = 1;
	for (size_t i = m->axes->n; name && name->text && i-- && !found;) {
		*size = mlir_entry_of(m->axes->list[i], "size")->integer;
		found = !strcmp(mlir_entry_of(m->axes->list[i], "name")->text, name->text);
		*step *= found ? 1 : *size;
	}
	if (!found)
		return spmd_fail(p, -EINVAL, "a sharding along an axis that the mesh has not");
	if (!sub)
		return 0;
	if (!before || !part || before->integer < 1 || part->integer < 1 ||
	    *size % before->integer || *size / before->integer % part->integer)
		return spmd_fail(p, -EINVAL, "a sharding along a part that the axis has not");
	*step *= *size / before->integer / part->integer;
	*size = part->integer;
	return 0;
}

static int no_axes(struct spmd *p)
{
	return spmd_fail(p, -ENOTSUP,
			 "a sharding whose tiles are no axes of the first mesh, of %u devices, is "
			 "not supported",
			 p->mesh.n);
}

/* Takes tiles[device] of a dimension over as axes */
static int set_dim(struct spmd *p, const struct mlir_type *t, unsigned int d, const uint16_t *tile,
		   unsigned int tiles, unsigned int *used, spmd_axes *out)
{
	if (spmd_axes_of(p, tile, tiles, used, out))
		return no_axes(p);
	if (t->dim[d] % tiles && p->lenient) {
		*used &= ~spmd_axes_mask(*out);
		*out = 0;
		return 0;
	}
	if (t->dim[d] % tiles)
		return spmd_fail(p, -ENOTSUP,
				 "dimension %u of %lld elements is divided among %u devices: only "
				 "equal parts are supported",
				 d, (long long)t->dim[d], tiles);
	return 0;
}

/* Does an axis count? */
static bool counts(const struct spmd *p, const struct mlir_attr *ref)
{
	const struct mlir_attr *name = mlir_entry_of(ref, "name");

	for (size_t i = 0; p->only && p->only->kind == MLIR_ARRAY && i < p->only->n; i++)
		if (name && name->text && p->only->list[i]->kind == MLIR_STRING &&
		    !strcmp(p->only->list[i]->text, name->text))
			return true;
	return !p->only;
}

/* A list of axes: which tile of how many each device has along them */
static int read_axes(struct spmd *p, const struct said_mesh *m, const struct mlir_attr *axes,
		     uint16_t *tile, unsigned int *tiles)
{
	*tiles = 1;
	if (axes->n && m->n != (int64_t)p->mesh.n)
		return spmd_fail(p, -ENOTSUP, "a mesh of %lld devices in a program for %u",
				 (long long)m->n, p->mesh.n);
	for (size_t i = 0; i < axes->n; i++) {
		int64_t size = 1, step = 1;
		int rc = counts(p, axes->list[i]) ? axis_of(p, m, axes->list[i], &size, &step) : 0;

		if (rc)
			return rc;
		if (*tiles * size > (int64_t)p->mesh.n)
			return spmd_fail(p, -EINVAL, "a sharding along one axis twice");
		*tiles *= (unsigned int)size;
		for (unsigned int k = 0; k < p->mesh.n; k++) {
			const int64_t place = place_of(m, k);

			if (place < 0)
				return spmd_fail(p, -EINVAL, "a mesh without device %u", k);
			tile[k] = (uint16_t)(tile[k] * size + place / step % size);
		}
	}
	return 0;
}

static int read_dim(struct spmd *p, const struct said_mesh *m, const struct mlir_attr *axes,
		    const struct mlir_type *t, unsigned int d, unsigned int *used, spmd_axes *out)
{
	uint16_t tile[SPMD_MOST_DEVICES] = { 0 };
	unsigned int tiles;
	int rc = read_axes(p, m, axes, tile, &tiles);

	return rc ? rc : set_dim(p, t, d, tile, tiles, used, out);
}

/* Axes along which devices have terms of a sum, in the order of the mesh */
static int read_sum(struct spmd *p, const struct said_mesh *m, const struct mlir_attr *axes,
		    unsigned int *used, spmd_axes *out)
{
	uint16_t tile[SPMD_MOST_DEVICES] = { 0 };
	unsigned int tiles;
	int rc = read_axes(p, m, axes, tile, &tiles);

	if (!rc && spmd_axes_of(p, tile, tiles, used, out))
		rc = no_axes(p);
	*out = spmd_axes_list(spmd_axes_mask(*out));
	return rc;
}

int spmd_read_sdy(struct spmd *p, const struct mlir_attr *a, const struct mlir_type *t,
		  struct spmd_split *s, unsigned int *open)
{
	const struct mlir_attr *dims = mlir_entry_of(a, "dim_shardings");
	const struct mlir_attr *unreduced = mlir_entry_of(a, "unreduced_axes");
	const unsigned int rank = spmd_rank(t);
	struct said_mesh m;
	unsigned int used = 0;
	int rc = find_mesh(p, mlir_entry_of(a, "mesh"), &m);

	*s = (struct spmd_split){ 0 };
	*open = 0;
	if (rc)
		return rc;
	if (!dims || dims->kind != MLIR_ARRAY || (t->kind == MLIR_TENSOR && dims->n != t->ndim))
		return spmd_fail(p, -EINVAL, "a sharding of another rank than its value");
	for (unsigned int d = 0; !rc && d < dims->n; d++) {
		const struct mlir_attr *axes = mlir_entry_of(dims->list[d], "axes");
		const struct mlir_attr *closed = mlir_entry_of(dims->list[d], "is_closed");

		if (!axes || axes->kind != MLIR_ARRAY)
			return spmd_fail(p, -EINVAL, "a sharding without axes");
		if (axes->n && d >= rank)
			return spmd_fail(p, -ENOTSUP,
					 "a value of rank %u, or of a size that is not known, "
					 "cannot be divided",
					 t->ndim);
		if (d >= rank)
			continue;
		*open |= closed && !closed->integer ? 1u << d : 0;
		rc = read_dim(p, &m, axes, t, d, &used, &s->dim[d]);
	}
	if (!rc && unreduced && unreduced->n && mlir_entry_of(a, "reduction"))
		return spmd_fail(p, -ENOTSUP,
				 "values that are still to be reduced by something "
				 "else than a sum are not supported");
	if (!rc && unreduced && unreduced->kind == MLIR_ARRAY && t->kind == MLIR_TENSOR)
		rc = read_sum(p, &m, unreduced, &used, &s->sum);
	return rc;
}

/* A text being read */
struct text_at {
	const char *p;
	bool bad;
};

static bool take(struct text_at *x, const char *word)
{
	const size_t n = strlen(word);

	while (*x->p == ' ')
		x->p++;
	if (strncmp(x->p, word, n))
		return false;
	x->p += n;
	return true;
}

/* Numbers with commas between them; how many */
static unsigned int numbers(struct text_at *x, unsigned int *v, unsigned int max)
{
	unsigned int n = 0;

	do {
		char *end;
		unsigned long number;

		if (!isdigit((unsigned char)*x->p) || n == max) {
			x->bad = true;
			return 0;
		}
		number = strtoul(x->p, &end, 10);
		x->bad |= number > SPMD_MOST_DEVICES;
		v[n++] = (unsigned int)number;
		x->p = end;
	} while (take(x, ","));
	return n;
}

/* <=[2,4]T(1,0): the devices in order, as an array of these sizes, transposed */
static void iota_devices(struct text_at *x, unsigned int n, unsigned int *device)
{
	unsigned int size[MOST_TILE_DIMS], perm[MOST_TILE_DIMS], step[MOST_TILE_DIMS], all = 1;
	const unsigned int ndim = numbers(x, size, MOST_TILE_DIMS);

	x->bad |= !take(x, "]");
	for (unsigned int d = ndim; d--;) {
		perm[d] = d;
		step[d] = all;
		all *= size[d] && all <= n ? size[d] : n + 1;
	}
	if (take(x, "T(")) {
		x->bad |= numbers(x, perm, MOST_TILE_DIMS) != ndim;
		x->bad |= !take(x, ")");
	}
	x->bad |= all != n;
	for (unsigned int d = 0; !x->bad && d < ndim; d++)
		x->bad |= perm[d] >= ndim;
	for (unsigned int i = 0; !x->bad && i < n; i++) {
		unsigned int left = i;

		device[i] = 0;
		for (unsigned int d = ndim; d--; left /= size[perm[d]])
			device[i] += left % size[perm[d]] * step[perm[d]];
	}
}

/* After "{devices=[": the tiles of each dimension, and which device has which */
static unsigned int tiles_of(struct text_at *x, unsigned int n, unsigned int *tiles,
			     unsigned int *device)
{
	const unsigned int ndim = numbers(x, tiles, MOST_TILE_DIMS);
	unsigned int all = 1;
	bool seen[SPMD_MOST_DEVICES] = { false };

	for (unsigned int d = 0; d < ndim; d++)
		all *= tiles[d] && all <= n ? tiles[d] : n + 1;
	x->bad |= !take(x, "]") || all != n;
	if (take(x, "<=["))
		iota_devices(x, n, device);
	else
		x->bad |= numbers(x, device, n) != n;
	for (unsigned int i = 0; !x->bad && i < n; i++) {
		x->bad |= device[i] >= n || seen[device[i]];
		if (!x->bad)
			seen[device[i]] = true;
	}
	return ndim;
}

static int read_tiles(struct spmd *p, const char *text, const struct mlir_type *t,
		      struct spmd_split *s)
{
	struct text_at x = { .p = text };
	unsigned int tiles[MOST_TILE_DIMS], device[SPMD_MOST_DEVICES], used = 0, ndim, step = 1;
	const unsigned int rank = spmd_rank(t);
	int rc = 0;
	bool last;

	take(&x, "{devices=[");
	ndim = tiles_of(&x, p->mesh.n, tiles, device);
	last = take(&x, "last_tile_dim_replicate") || take(&x, "last_tile_dims={replicated}");
	if (x.bad || !take(&x, "}") || *x.p)
		return spmd_fail(p, -ENOTSUP, "the sharding '%.100s' is not supported", text);
	if (ndim != rank + last)
		return spmd_fail(p, -EINVAL, "a sharding of another rank than its value: '%.100s'",
				 text);
	for (unsigned int d = ndim; !rc && d--; step *= tiles[d]) {
		uint16_t tile[SPMD_MOST_DEVICES];

		for (unsigned int i = 0; i < p->mesh.n; i++)
			tile[device[i]] = (uint16_t)(i / step % tiles[d]);
		if (d < rank)
			rc = set_dim(p, t, d, tile, tiles[d], &used, &s->dim[d]);
	}
	return rc;
}

int spmd_read_gspmd(struct spmd *p, const char *text, const struct mlir_type *t,
		    struct spmd_split *s)
{
	*s = (struct spmd_split){ 0 };
	if (!strcmp(text, "{replicated}"))
		return 0;
	if (!strncmp(text, "{devices=[", strlen("{devices=[")))
		return read_tiles(p, text, t, s);
	return spmd_fail(p, -ENOTSUP, "the sharding '%.100s' is not supported", text);
}

int spmd_read_said(struct spmd *p, const struct mlir_attr *attrs, const struct mlir_type *t,
		   struct spmd_split *s, bool *said)
{
	const struct mlir_attr *sdy = mlir_entry_of(attrs, "sdy.sharding");
	const struct mlir_attr *gspmd = mlir_entry_of(attrs, "mhlo.sharding");
	unsigned int open = 0, all;
	int rc = 0;

	*s = (struct spmd_split){ 0 };
	*said = false;
	if (sdy)
		rc = spmd_read_sdy(p, sdy, t, s, &open);
	else if (gspmd && gspmd->kind == MLIR_STRING)
		rc = spmd_read_gspmd(p, gspmd->text, t, s);
	else
		return 0;
	/* Open in all dimensions, and nothing said: it may as well be absent. */
	all = (1u << spmd_rank(t)) - 1;
	*said = !open || open != all || s->sum;
	for (unsigned int d = 0; d < SPMD_MOST_RANK; d++)
		*said |= s->dim[d] != 0;
	return rc;
}

const struct ncc_tiling *spmd_tiling(struct spmd *p, const struct spmd_split *s,
				     const struct mlir_type *type)
{
	const unsigned int rank = spmd_rank(type);
	struct ncc_tiling *t;
	bool divided = s->sum != 0;

	for (unsigned int d = 0; d < rank; d++)
		divided |= s->dim[d] != 0;
	if (!divided || rank > NCC_MAX_DIMS)
		return NULL;
	t = spmd_alloc(p, 1, sizeof(*t));
	if (!t)
		return NULL;
	t->ndim = rank;
	t->at = spmd_alloc(p, p->mesh.n, NCC_MAX_DIMS);
	t->terms = spmd_parts(p, s->sum);
	t->term = spmd_alloc(p, p->mesh.n, sizeof(*t->term));
	for (unsigned int i = 0; t->term && i < p->mesh.n; i++)
		t->term[i] = (uint8_t)spmd_part(p, s->sum, i);
	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		t->tiles[d] = d < rank ? spmd_parts(p, s->dim[d]) : 1;
	for (unsigned int i = 0; t->at && i < p->mesh.n; i++)
		for (unsigned int d = 0; d < rank; d++)
			t->at[i * NCC_MAX_DIMS + d] = (uint8_t)spmd_part(p, s->dim[d], i);
	return t->at && t->term ? t : NULL;
}
