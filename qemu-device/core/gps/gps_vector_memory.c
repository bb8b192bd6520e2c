/* SPDX-License-Identifier: MIT */
/*
 * Vector loads and stores (docs/gpsimd.md, Vectors): side by side, with a distance, with a distance
 * of each, whole registers, masks, fields of segments. Each element is an access as a scalar one's,
 * aligned and in memory that the processor has. Called by gps_vector.c.
 */
#include "gps_vector.h"

enum mode { UNIT, INDEXED, STRIDED, INDEXED_ORDERED };
enum unit { PLAIN = 0, WHOLE = 8, BITMAP = 11, FIRST_FAULT = 16 };

struct access {
	struct gps *g;
	struct gps_core *c;
	bool store, all, first_fault;
	uint32_t base, stride, start, n;
	uint8_t fields, vd, size; /* size: of an element, the logarithm */
	uint8_t regs; /* of a field */
	const uint8_t *index; /* NULL: i * stride */
	uint8_t index_size;
};

static uint8_t *place(const struct access *a, uint32_t field, uint32_t i)
{
	return gps_vreg(&a->c->vector, a->vd + field * a->regs) + ((size_t)i << a->size);
}

static enum neuron_gps_cause move(const struct access *a, uint32_t addr, uint8_t *at)
{
	uint32_t bytes = 1u << a->size;

	if (gps_in_tcm(addr, bytes)) {
		if (a->store)
			memcpy(a->c->tcm + addr, at, bytes);
		else
			memcpy(at, a->c->tcm + addr, bytes);
		return NEURON_GPS_OK;
	}
	if (a->store || !gps_in_lib(a->g, addr, bytes))
		return gps_foreign(addr, bytes, a->store);
	memcpy(at, a->g->lib + (addr - NEURON_GPS_LIB), bytes);
	return NEURON_GPS_OK;
}

/* Moves all elements at once, where they lie side by side in the TCM */
static bool move_block(const struct access *a)
{
	uint32_t bytes = a->n << a->size;

	if (!a->all || a->start || a->fields > 1 || a->index || a->stride != 1u << a->size ||
	    !gps_in_tcm(a->base, 1u << a->size) || bytes > NEURON_GPS_TCM - a->base)
		return false;
	if (a->store)
		memcpy(a->c->tcm + a->base, place(a, 0, 0), bytes);
	else
		memcpy(place(a, 0, 0), a->c->tcm + a->base, bytes);
	return true;
}

static enum neuron_gps_cause move_all(const struct access *a, uint32_t *addr)
{
	struct gps_vector *v = &a->c->vector;
	enum neuron_gps_cause cause;

	if (move_block(a))
		return NEURON_GPS_OK;
	for (uint32_t i = a->start; i < a->n; i++) {
		if (!a->all && !gps_vbit(gps_vreg(v, 0), i))
			continue;
		*addr = a->base + (a->index ? gps_vget(a->index, i, a->index_size) : i * a->stride);
		for (uint32_t f = 0; f < a->fields; f++, *addr += 1u << a->size) {
			cause = move(a, *addr, place(a, f, i));
			if (!cause)
				continue;
			if (!a->first_fault || !i)
				return cause;
			v->vl = i;
			return NEURON_GPS_OK;
		}
	}
	return NEURON_GPS_OK;
}

/* Moves as many whole registers as there are fields, whatever vl and vtype are */
static enum neuron_gps_cause whole(struct access *a, uint32_t *addr, uint32_t *cost)
{
	uint32_t regs = a->fields;

	if (!a->all || regs & (regs - 1) || a->vd & (regs - 1) || (a->store && a->size))
		return NEURON_GPS_ILLEGAL;
	a->n = regs * GPS_VLENB >> a->size;
	a->fields = 1;
	*cost = regs - 1;
	return move_all(a, addr);
}

/* One bit for an element */
static enum neuron_gps_cause bitmap(struct access *a, uint32_t *addr)
{
	if (a->c->vector.vtype == GPS_VILL || !a->all || a->fields > 1 || a->size)
		return NEURON_GPS_ILLEGAL;
	a->n = (a->n + 7) / 8;
	return move_all(a, addr);
}

/* lmul: of a field. May the words be what the operands are? */
static bool operands_ok(const struct access *a, int lmul, uint32_t vs2, int index_lmul)
{
	uint32_t regs = gps_vregs(lmul), all = regs * a->fields;

	if (!gps_vgroup(a->vd, lmul) || all > 8 || a->vd + all > 32)
		return false;
	if (!a->all && !a->vd && !a->store)
		return false;
	if (!a->index)
		return true;
	if (!gps_vgroup(vs2, index_lmul))
		return false;
	if (a->store)
		return true;
	if (a->fields > 1)
		return !gps_voverlap(a->vd, all, vs2, gps_vregs(index_lmul));
	return !gps_vclash(a->vd, lmul, a->size, vs2, index_lmul, a->index_size);
}

enum neuron_gps_cause gps_vmemory(struct gps *g, struct gps_core *c, uint32_t w, uint32_t *cost,
				  uint32_t *addr)
{
	struct gps_vector *v = &c->vector;
	unsigned int width = w >> 12 & 7, vs2 = w >> 20 & 31, mode = w >> 26 & 3;
	int sew = gps_vsew(v->vtype), lmul = gps_vlmul(v->vtype);
	struct access a = {
		.g = g,
		.c = c,
		.store = w & 0x20,
		.all = w >> 25 & 1,
		.base = c->x[w >> 15 & 31],
		.start = v->vstart,
		.n = v->vl,
		.fields = (uint8_t)(1 + (w >> 29)),
		.vd = w >> 7 & 31,
		.size = (uint8_t)(width ? width - 4 : 0),
	};
	int eew = a.size, data_lmul = lmul + eew - sew, index_lmul = data_lmul;

	a.stride = 1u << a.size;
	if (mode == UNIT && vs2 == WHOLE)
		return whole(&a, addr, cost);
	if (mode == UNIT && vs2 == BITMAP)
		return bitmap(&a, addr);
	if (v->vtype == GPS_VILL || (mode == UNIT && vs2 && (vs2 != FIRST_FAULT || a.store)))
		return NEURON_GPS_ILLEGAL;
	a.first_fault = mode == UNIT && vs2 == FIRST_FAULT;
	if (mode == INDEXED || mode == INDEXED_ORDERED) {
		a.index = gps_vreg(v, vs2);
		a.index_size = a.size;
		a.size = (uint8_t)sew;
		data_lmul = lmul;
	}
	a.regs = (uint8_t)gps_vregs(data_lmul < -3 || data_lmul > 3 ? 0 : data_lmul);
	a.stride = mode == STRIDED ? c->x[vs2] : (uint32_t)a.fields << a.size;
	if (!operands_ok(&a, data_lmul, vs2, index_lmul))
		return NEURON_GPS_ILLEGAL;
	*cost = mode == UNIT && a.fields == 1 ? gps_vcost(a.n, a.size)
		: a.n			      ? a.n * a.fields - 1
					      : 0;
	return move_all(&a, addr);
}
