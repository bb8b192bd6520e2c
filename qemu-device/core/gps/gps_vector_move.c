/* SPDX-License-Identifier: MIT */
/*
 * Vector instructions that move elements, and those of masks and of one element
 * (docs/gpsimd.md, Vectors). Each says itself which operands there are none with. Called by
 * gps_vector.c through gps_vops.
 */
#include "gps_vector.h"

static uint8_t *reg(const struct gps_vk *k, unsigned int n)
{
	return gps_vreg(k->v, n);
}

/* The destination is not v0 where that is the mask */
static bool spares_mask(const struct gps_vk *k)
{
	return !k->mask || k->vd;
}

static bool overlaps(const struct gps_vk *k, unsigned int s, int lmul)
{
	return gps_voverlap(k->vd, gps_vregs(k->lmul), s, gps_vregs(lmul));
}

/* Are both groups valid, of whose elements one is moved at a time? apart: they may not overlap */
static bool pair_ok(const struct gps_vk *k, bool apart)
{
	return gps_vgroup(k->vd, k->lmul) && gps_vgroup(k->vs2, k->lmul) && spares_mask(k) &&
	       !(apart && overlaps(k, k->vs2, k->lmul));
}

static void put(const struct gps_vk *k, uint32_t i, uint32_t value)
{
	if (gps_vactive(k, i))
		gps_vput(reg(k, k->vd), i, k->sew, value);
}

static uint32_t get(const struct gps_vk *k, uint32_t i)
{
	return gps_vget(reg(k, k->vs2), i, k->sew);
}

static void each_costs(struct gps_vk *k)
{
	k->cost = k->n ? k->n - 1 : 0;
}

/* indices are index_size wide in vs1, or the scalar is all of them */
static void gather(struct gps_vk *k, unsigned int index_size)
{
	uint32_t most = gps_vmost(k->lmul, k->sew);

	each_costs(k);
	for (uint32_t i = k->start; i < k->n; i++) {
		uint32_t from =
			k->form == GPS_FORM_V ? gps_vget(reg(k, k->vs1), i, index_size) : k->scalar;

		put(k, i, from < most ? get(k, from) : 0);
	}
}

bool gps_v_gather(struct gps_vk *k)
{
	if (!pair_ok(k, true))
		return false;
	if (k->form == GPS_FORM_V && (!gps_vgroup(k->vs1, k->lmul) || overlaps(k, k->vs1, k->lmul)))
		return false;
	if (k->form == GPS_FORM_I)
		k->scalar &= 31;
	gather(k, k->sew);
	return true;
}

bool gps_v_gather16(struct gps_vk *k)
{
	int lmul = k->lmul + 1 - k->sew;

	if (!pair_ok(k, true) || !gps_vgroup(k->vs1, lmul) || overlaps(k, k->vs1, lmul))
		return false;
	gather(k, 1);
	return true;
}

static void slide_scalar(struct gps_vk *k)
{
	if (k->form == GPS_FORM_I)
		k->scalar &= 31;
	k->cost = gps_vcost(k->n, k->sew);
}

bool gps_v_slide_up(struct gps_vk *k)
{
	if (!pair_ok(k, true))
		return false;
	slide_scalar(k);
	for (uint32_t i = k->start > k->scalar ? k->start : k->scalar; i < k->n; i++)
		put(k, i, get(k, i - k->scalar));
	return true;
}

bool gps_v_slide_down(struct gps_vk *k)
{
	uint32_t most = gps_vmost(k->lmul, k->sew);

	if (!pair_ok(k, false))
		return false;
	slide_scalar(k);
	for (uint32_t i = k->start; i < k->n; i++)
		put(k, i, k->scalar < most - i ? get(k, i + k->scalar) : 0);
	return true;
}

bool gps_v_slide1_up(struct gps_vk *k)
{
	if (!pair_ok(k, true))
		return false;
	k->cost = gps_vcost(k->n, k->sew);
	for (uint32_t i = k->start; i < k->n; i++)
		put(k, i, i ? get(k, i - 1) : k->scalar);
	return true;
}

bool gps_v_slide1_down(struct gps_vk *k)
{
	if (!pair_ok(k, false))
		return false;
	k->cost = gps_vcost(k->n, k->sew);
	for (uint32_t i = k->start; i < k->n; i++)
		put(k, i, i < k->n - 1 ? get(k, i + 1) : k->scalar);
	return true;
}

/* Elements whose bit in vs1 is set, side by side */
bool gps_v_compress(struct gps_vk *k)
{
	uint32_t to = 0;

	if (k->mask || k->start || !pair_ok(k, true) || overlaps(k, k->vs1, 0))
		return false;
	each_costs(k);
	for (uint32_t i = 0; i < k->n; i++)
		if (gps_vbit(reg(k, k->vs1), i))
			gps_vput(reg(k, k->vd), to++, k->sew, get(k, i));
	return true;
}

/* 1, 2, 4 or 8 whole registers, whatever vl is */
bool gps_v_move_registers(struct gps_vk *k)
{
	unsigned int n = k->vs1 + 1u;
	size_t from = (size_t)k->start << k->sew, bytes = n * (size_t)GPS_VLENB;

	if (k->mask || n > 8 || n & (n - 1) || (k->vd | k->vs2) & (n - 1))
		return false;
	k->cost = n - 1;
	if (from < bytes)
		memmove(reg(k, k->vd) + from, reg(k, k->vs2) + from, bytes - from);
	return true;
}

bool gps_v_mask_logic(struct gps_vk *k)
{
	const uint8_t *a = reg(k, k->vs2), *b = reg(k, k->vs1);
	uint8_t *d = reg(k, k->vd);

	if (k->mask)
		return false;
	for (uint32_t i = k->start; i < k->n; i++) {
		bool x = gps_vbit(a, i), y = gps_vbit(b, i), r;

		switch (k->op) {
		case GPS_VMANDN:
			r = x && !y;
			break;
		case GPS_VMAND:
			r = x && y;
			break;
		case GPS_VMOR:
			r = x || y;
			break;
		case GPS_VMXOR:
			r = x != y;
			break;
		case GPS_VMORN:
			r = x || !y;
			break;
		case GPS_VMNAND:
			r = !(x && y);
			break;
		case GPS_VMNOR:
			r = !(x || y);
			break;
		default:
			r = x == y;
		}
		gps_vbit_set(d, i, r);
	}
	return true;
}

static void to_x(struct gps_vk *k, uint32_t value)
{
	if (k->vd)
		k->core->x[k->vd] = value;
}

bool gps_v_to_scalar(struct gps_vk *k)
{
	uint32_t value = get(k, 0);

	if (k->mask)
		return false;
	to_x(k, k->sew == 0   ? (uint32_t)(int8_t)value
		: k->sew == 1 ? (uint32_t)(int16_t)value
			      : value);
	return true;
}

bool gps_v_to_float(struct gps_vk *k)
{
	if (k->mask)
		return false;
	k->core->f[k->vd] = get(k, 0);
	return true;
}

bool gps_v_from_scalar(struct gps_vk *k)
{
	if (k->mask || k->vs2)
		return false;
	if (k->start < k->n)
		gps_vput(reg(k, k->vd), 0, k->sew, k->scalar);
	return true;
}

bool gps_v_count(struct gps_vk *k)
{
	uint32_t count = 0;

	if (k->start)
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		count += gps_vactive(k, i) && gps_vbit(reg(k, k->vs2), i);
	to_x(k, count);
	return true;
}

bool gps_v_first(struct gps_vk *k)
{
	uint32_t i = 0;

	if (k->start)
		return false;
	while (i < k->n && !(gps_vactive(k, i) && gps_vbit(reg(k, k->vs2), i)))
		i++;
	to_x(k, i < k->n ? i : UINT32_MAX);
	return true;
}

/* Bits before the first one, with it, or it alone */
bool gps_v_set_first(struct gps_vk *k)
{
	bool found = false;

	if (k->start || k->vd == k->vs2 || !spares_mask(k))
		return false;
	for (uint32_t i = 0; i < k->n; i++) {
		bool here;

		if (!gps_vactive(k, i))
			continue;
		here = !found && gps_vbit(reg(k, k->vs2), i);
		gps_vbit_set(reg(k, k->vd), i,
			     k->op == GPS_VMSOF ? here : !found && (!here || k->op == GPS_VMSIF));
		found |= here;
	}
	return true;
}

/* The number of active bits that are set before each element */
bool gps_v_iota(struct gps_vk *k)
{
	uint32_t count = 0;

	if (k->start || !gps_vgroup(k->vd, k->lmul) || !spares_mask(k) || overlaps(k, k->vs2, 0))
		return false;
	each_costs(k);
	for (uint32_t i = 0; i < k->n; i++) {
		put(k, i, count);
		count += gps_vactive(k, i) && gps_vbit(reg(k, k->vs2), i);
	}
	return true;
}

bool gps_v_index(struct gps_vk *k)
{
	if (k->vs2 || !gps_vgroup(k->vd, k->lmul) || !spares_mask(k))
		return false;
	k->cost = gps_vcost(k->n, k->sew);
	for (uint32_t i = k->start; i < k->n; i++)
		put(k, i, i);
	return true;
}
