/* SPDX-License-Identifier: MIT */
/*
 * Vectors of GpSimd's processors: what the files of gps_vector* share. gps_vector.c has types,
 * legality and the walk over elements, gps_vector_arith.c what becomes of an element,
 * gps_vector_move.c those that move elements and masks, gps_vector_memory.c loads and stores.
 * Called by gps.c and gps_decode.c.
 */
#ifndef NCORE_GPS_VECTOR_H
#define NCORE_GPS_VECTOR_H

#include <stddef.h>
#include <string.h>

#include "gps.h"

#define GPS_VLENB NEURON_GPS_VECTOR
#define GPS_GROUP (8 * GPS_VLENB) /* bytes of the largest group of registers */
#define GPS_VILL 0x80000000u

/* Widths of an instruction's operands */
enum gps_vshape {
	GPS_SHAPE_NONE, /* no instruction */
	GPS_SHAPE_SAME,
	GPS_SHAPE_WIDE, /* the result is twice as wide */
	GPS_SHAPE_WIDE2, /* and vs2 */
	GPS_SHAPE_NARROW, /* vs2 is twice as wide */
	GPS_SHAPE_MASK, /* the result is a mask */
	GPS_SHAPE_CARRY, /* the result and v0, which is not the mask */
	GPS_SHAPE_MERGE, /* the same, or a move without v0 */
	GPS_SHAPE_CARRY_MASK, /* the result is a mask, v0 an operand or not */
	GPS_SHAPE_REDUCE,
	GPS_SHAPE_REDUCE_WIDE,
	GPS_SHAPE_EXTEND2, /* vs2 is half, a quarter as wide */
	GPS_SHAPE_EXTEND4,
	GPS_SHAPE_SPECIAL,
};

enum gps_vform { GPS_FORM_V = 1, GPS_FORM_X = 2, GPS_FORM_I = 4 };

/* One instruction that is executed. Widths are logarithms of bytes, groups of registers */
struct gps_vk {
	struct gps_core *core;
	struct gps_vector *v;
	uint8_t op, form, vd, vs1, vs2, sew;
	int8_t lmul;
	uint32_t scalar; /* of rs1, or the immediate with its sign */
	uint32_t start, n; /* of elements */
	const uint8_t *mask; /* NULL: all elements */
	const uint8_t *carry; /* bits that are an operand */
	uint8_t *d;
	const uint8_t *a, *b;
	uint32_t cost; /* cycles beyond the first */
};

typedef void gps_vkernel(struct gps_vk *k);
typedef bool gps_vspecial(struct gps_vk *k); /* false: there is no such instruction */

struct gps_vop {
	uint8_t shape, forms, group; /* group: 0 I, 1 M, 2 F */
	uint8_t funct6;
	uint8_t code; /* in the place of vs1, GPS_VANY: that is an operand */
	uint8_t narrowest, widest; /* SEW, as logarithms of bytes */
	gps_vkernel *kernel[3]; /* by SEW */
	gps_vspecial *special;
};
#define GPS_VANY 0xff

enum gps_vname {
	GPS_VNONE,
#define GPS_VE(name, ...) GPS_##name,
#define GPS_VW GPS_VE
#define GPS_VWW GPS_VE
#define GPS_VN GPS_VE
#define GPS_VC GPS_VE
#define GPS_VA GPS_VE
#define GPS_VM GPS_VE
#define GPS_VAC GPS_VE
#define GPS_VR GPS_VE
#define GPS_VRW GPS_VE
#define GPS_VF GPS_VE
#define GPS_VFM GPS_VE
#define GPS_VFC GPS_VE
#define GPS_VFR GPS_VE
#define GPS_VX2 GPS_VE
#define GPS_VX4 GPS_VE
#define GPS_VFU GPS_VE
#define GPS_VFW GPS_VE
#define GPS_VFN GPS_VE
#define GPS_VS GPS_VE
#include "gps_vector.def"
	GPS_VNAMES,
};

extern const struct gps_vop gps_vops[GPS_VNAMES];

static inline bool gps_vbit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static inline void gps_vbit_set(uint8_t *bits, uint32_t i, bool on)
{
	bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1u << i % 8)) | (unsigned int)on << i % 8);
}

/* Is element i to be written? */
static inline bool gps_vactive(const struct gps_vk *k, uint32_t i)
{
	return i >= k->start && (!k->mask || gps_vbit(k->mask, i));
}

static inline uint32_t gps_vget(const uint8_t *from, uint32_t i, unsigned int size)
{
	uint32_t v = 0;
	uint16_t half;

	switch (size) {
	case 0:
		return from[i];
	case 1:
		memcpy(&half, from + 2 * i, 2);
		return half;
	default:
		memcpy(&v, from + 4 * i, 4);
		return v;
	}
}

static inline void gps_vput(uint8_t *to, uint32_t i, unsigned int size, uint32_t v)
{
	uint16_t half = (uint16_t)v;

	switch (size) {
	case 0:
		to[i] = (uint8_t)v;
		break;
	case 1:
		memcpy(to + 2 * i, &half, 2);
		break;
	default:
		memcpy(to + 4 * i, &v, 4);
	}
}

/* The width of elements and the group of a type, as logarithms */
static inline uint8_t gps_vsew(uint32_t vtype)
{
	return vtype >> 3 & 7;
}

static inline int8_t gps_vlmul(uint32_t vtype)
{
	return (int8_t)((int)(vtype & 7) - (vtype & 4 ? 8 : 0));
}

static inline uint8_t *gps_vreg(struct gps_vector *v, unsigned int n)
{
	return v->v + n * GPS_VLENB;
}

static inline unsigned int gps_vregs(int lmul)
{
	return lmul > 0 ? 1u << lmul : 1;
}

/* May registers from at on be a group? */
static inline bool gps_vgroup(unsigned int at, int lmul)
{
	return lmul >= -3 && lmul <= 3 && at % gps_vregs(lmul) == 0;
}

static inline bool gps_voverlap(unsigned int a, unsigned int na, unsigned int b, unsigned int nb)
{
	return a < b + nb && b < a + na;
}

/* Elements of width size that a group has */
static inline uint32_t gps_vmost(int lmul, unsigned int size)
{
	return lmul < 0 ? GPS_VLENB >> size >> -lmul : GPS_VLENB >> size << lmul;
}

/* Cycles beyond the first one: as many bytes as a register has are one's work */
static inline uint32_t gps_vcost(uint32_t n, unsigned int size)
{
	return n ? ((n << size) - 1) / GPS_VLENB : 0;
}

/* Two groups, of a result and an operand, that may not overlap as they do */
static inline bool gps_vclash(unsigned int d, int d_lmul, int d_size, unsigned int s, int s_lmul,
			      int s_size)
{
	unsigned int nd = gps_vregs(d_lmul), ns = gps_vregs(s_lmul);

	if (d_size == s_size || !gps_voverlap(d, nd, s, ns))
		return false;
	if (d_size < s_size)
		return d != s;
	return s_lmul < 0 || d + nd != s + ns;
}
#define GPS_BITS (-1) /* the width of masks */

/* gps_vector_memory.c: a load or store. 0, or a fault with its address */
enum neuron_gps_cause gps_vmemory(struct gps *g, struct gps_core *c, uint32_t word, uint32_t *cost,
				  uint32_t *addr);

gps_vspecial gps_v_gather, gps_v_gather16, gps_v_slide_up, gps_v_slide_down, gps_v_move_registers,
	gps_v_slide1_up, gps_v_slide1_down, gps_v_compress, gps_v_mask_logic, gps_v_to_scalar,
	gps_v_count, gps_v_first, gps_v_from_scalar, gps_v_to_float, gps_v_set_first, gps_v_iota,
	gps_v_index;

#endif
