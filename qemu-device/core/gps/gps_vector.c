/* SPDX-License-Identifier: MIT */
/*
 * Vectors of GpSimd's processors (docs/gpsimd.md, Vectors): their words, types and registers that
 * govern, and the walk over elements. Most of what is legal depends on vtype and is found when an
 * instruction is executed. Elements beyond vl and those that the mask leaves out stay as they are.
 * Called by gps.c and gps_decode.c.
 */
#include "gps_vector.h"

#define VMASK 0x400 /* of a decoded instruction's imm: all elements, vm */
#define FORM_AT 11 /* above the operation's number, its form */

#define CSR_VSTART 0x008
#define CSR_VXSAT 0x009
#define CSR_VXRM 0x00a
#define CSR_VCSR 0x00f
#define CSR_VL 0xc20
#define CSR_VTYPE 0xc21
#define CSR_VLENB 0xc22

#define MOST_ELEMENTS GPS_GROUP

static uint32_t field(uint32_t word, unsigned int at, unsigned int n)
{
	return word >> at & ((1u << n) - 1);
}

/* An operation that has this form, and the code in the place of vs1 if it has one; 0: none */
static uint8_t find(unsigned int group, uint32_t funct6, unsigned int form, uint32_t code)
{
	for (uint8_t i = 1; i < GPS_VNAMES; i++) {
		const struct gps_vop *op = &gps_vops[i];

		if (op->group == group && op->funct6 == funct6 && op->forms & form &&
		    (op->code == GPS_VANY || op->code == code))
			return i;
	}
	return 0;
}

/* imm: the operation's number, whether all elements, and the form */
static void decode_arith(struct gps_insn *in, uint32_t w)
{
	static const struct {
		uint8_t group, form;
	} classes[7] = {
		{ 0, GPS_FORM_V }, { 2, GPS_FORM_V }, { 1, GPS_FORM_V }, { 0, GPS_FORM_I },
		{ 0, GPS_FORM_X }, { 2, GPS_FORM_X }, { 1, GPS_FORM_X },
	};
	uint32_t funct3 = field(w, 12, 3), all = field(w, 25, 1);
	uint8_t op = find(classes[funct3].group, field(w, 26, 6), classes[funct3].form, in->rs1);

	in->op = op ? GPS_VECTOR : GPS_ILLEGAL;
	in->imm = op | (all ? VMASK : 0) | classes[funct3].form << FORM_AT;
}

/* csr, and funct3 above it */
static void decode_csr(struct gps_insn *in, uint32_t w)
{
	uint32_t csr = field(w, 20, 12), funct3 = field(w, 12, 3);
	bool writes = (funct3 & 3) == 1 || in->rs1;

	switch (csr) {
	case CSR_VL:
	case CSR_VTYPE:
	case CSR_VLENB:
		if (writes)
			break;
		/* fallthrough */
	case CSR_VSTART:
	case CSR_VXSAT:
	case CSR_VXRM:
	case CSR_VCSR:
		in->op = funct3 & 3 ? GPS_VCSR : GPS_ILLEGAL;
		in->imm = (int32_t)(csr | funct3 << 12);
	}
}

void gps_vector_decode(struct gps_insn *in, uint32_t w)
{
	static const uint16_t widths = 1 << 0 | 1 << 5 | 1 << 6;
	uint32_t funct3 = field(w, 12, 3);

	in->op = GPS_ILLEGAL;
	switch (w & 0x7f) {
	case 0x73:
		decode_csr(in, w);
		break;
	case 0x57:
		if (funct3 != 7) {
			decode_arith(in, w);
		} else if (!(w >> 31) || w >> 30 == 3 || w >> 25 == 0x40) {
			in->op = GPS_VSET;
			in->imm = (int32_t)w;
		}
		break;
	default:
		/* 64 bits are not an element, nor is anything wider */
		if (widths >> funct3 & 1 && !field(w, 28, 1)) {
			in->op = GPS_VMEMORY;
			in->imm = (int32_t)w;
		}
	}
}

static bool type_exists(uint32_t vtype)
{
	uint32_t lmul = vtype & 7, sew = gps_vsew(vtype);

	if (vtype >> 8 || sew > 2 || lmul == 4)
		return false;
	/* a fraction of a register has to have room for the widest element's fraction */
	return lmul < 4 || 8u << sew <= 32u >> (8 - lmul);
}

bool gps_vector_sane(const struct gps_vector *v)
{
	if (v->vxrm > 3 || v->vxsat > 1 || v->vstart >= MOST_ELEMENTS)
		return false;
	if (v->vtype == GPS_VILL)
		return !v->vl;
	return type_exists(v->vtype) && v->vl <= gps_vmost(gps_vlmul(v->vtype), gps_vsew(v->vtype));
}

/* Elements wanted: as many as rs1 says, or five bits, or all, or, of x0 to x0, as many as there
 * were */
static void set_type(struct gps_core *c, const struct gps_insn *in)
{
	uint32_t w = (uint32_t)in->imm, want, most, vtype = field(w, 20, 11);
	struct gps_vector *v = &c->vector;

	if (w >> 30 == 3)
		vtype = field(w, 20, 10);
	else if (w >> 31)
		vtype = c->x[in->rs2];
	if (w >> 30 == 3)
		want = in->rs1;
	else if (in->rs1)
		want = c->x[in->rs1];
	else
		want = in->rd ? UINT32_MAX : v->vl;
	v->vstart = 0;
	if (type_exists(vtype)) {
		most = gps_vmost(gps_vlmul(vtype), gps_vsew(vtype));
		v->vl = want < most ? want : most;
		v->vtype = vtype;
	} else {
		v->vl = 0;
		v->vtype = GPS_VILL;
	}
	if (in->rd)
		c->x[in->rd] = v->vl;
}

static void access_csr(struct gps_core *c, const struct gps_insn *in)
{
	uint32_t csr = (uint32_t)in->imm & 0xfff, funct3 = (uint32_t)in->imm >> 12, old, put;
	uint32_t with = funct3 & 4 ? in->rs1 : c->x[in->rs1];
	struct gps_vector *v = &c->vector;

	switch (csr) {
	case CSR_VSTART:
		old = v->vstart;
		break;
	case CSR_VXSAT:
		old = v->vxsat;
		break;
	case CSR_VXRM:
		old = v->vxrm;
		break;
	case CSR_VCSR:
		old = (uint32_t)v->vxrm << 1 | v->vxsat;
		break;
	case CSR_VL:
		old = v->vl;
		break;
	case CSR_VTYPE:
		old = v->vtype;
		break;
	default:
		old = GPS_VLENB;
	}
	put = (funct3 & 3) == 1 ? with : (funct3 & 3) == 2 ? old | with : old & ~with;
	if (csr == CSR_VSTART)
		v->vstart = put % MOST_ELEMENTS;
	if (csr == CSR_VXSAT || csr == CSR_VCSR)
		v->vxsat = put & 1;
	if (csr == CSR_VXRM || csr == CSR_VCSR)
		v->vxrm = (csr == CSR_VCSR ? put >> 1 : put) & 3;
	if (in->rd)
		c->x[in->rd] = old;
}

/* The widths of result and operands, and their groups */
struct shape {
	int8_t d, a, b; /* logarithms of widths, relative to SEW's; MASK: bits */
};
#define MASK 9

static const struct shape shapes[] = {
	[GPS_SHAPE_SAME] = { 0, 0, 0 },	    [GPS_SHAPE_WIDE] = { 1, 0, 0 },
	[GPS_SHAPE_WIDE2] = { 1, 1, 0 },    [GPS_SHAPE_NARROW] = { 0, 1, 0 },
	[GPS_SHAPE_MASK] = { MASK, 0, 0 },  [GPS_SHAPE_CARRY] = { 0, 0, 0 },
	[GPS_SHAPE_MERGE] = { 0, 0, 0 },    [GPS_SHAPE_CARRY_MASK] = { MASK, 0, 0 },
	[GPS_SHAPE_EXTEND2] = { 0, -1, 0 }, [GPS_SHAPE_EXTEND4] = { 0, -2, 0 },
};

static bool operand_ok(const struct gps_vk *k, unsigned int reg, int wider, const struct shape *s)
{
	bool bits = s->d == MASK;

	return gps_vgroup(reg, k->lmul + wider) && k->sew + wider >= 0 &&
	       !gps_vclash(k->vd, bits ? 0 : k->lmul + s->d, bits ? GPS_BITS : k->sew + s->d, reg,
			   k->lmul + wider, k->sew + wider);
}

static bool operands_ok(const struct gps_vk *k, const struct gps_vop *op, const struct shape *s)
{
	if (s->d != MASK && !gps_vgroup(k->vd, k->lmul + s->d))
		return false;
	if (!operand_ok(k, k->vs2, s->a, s))
		return false;
	return k->form != GPS_FORM_V || op->code != GPS_VANY || operand_ok(k, k->vs1, s->b, s);
}

/* v0 as the mask, or as an operand, is not what is written, unless that is a mask */
static bool v0_ok(const struct gps_vk *k, const struct gps_vop *op, bool all)
{
	switch (op->shape) {
	case GPS_SHAPE_CARRY:
		return !all && k->vd;
	case GPS_SHAPE_MERGE:
		return all ? !k->vs2 : k->vd != 0;
	case GPS_SHAPE_MASK:
	case GPS_SHAPE_CARRY_MASK:
		return true;
	default:
		return all || k->vd;
	}
}

static void splat(uint8_t *to, uint32_t value, unsigned int size, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		gps_vput(to, i, size, value);
}

/* Results side by side go to the elements that are to be written */
static void keep(const struct gps_vk *k, uint8_t *to, unsigned int size, bool bits)
{
	for (uint32_t i = k->start; i < k->n; i++) {
		if (!gps_vactive(k, i))
			continue;
		if (bits)
			gps_vbit_set(to, i, k->d[i]);
		else
			gps_vput(to, i, size, gps_vget(k->d, i, size));
	}
}

static const uint8_t ones[GPS_VLENB] = { [0 ... GPS_VLENB - 1] = 0xff }, zeros[GPS_VLENB];

static bool elements(struct gps_vk *k, const struct gps_vop *op, bool all)
{
	uint8_t out[GPS_GROUP] __attribute__((aligned(64)));
	uint8_t same[GPS_GROUP] __attribute__((aligned(64)));
	const struct shape *s = &shapes[op->shape];
	bool bits = s->d == MASK;
	unsigned int size = bits ? 0 : (unsigned int)(k->sew + s->d);
	uint8_t *to = gps_vreg(k->v, k->vd);

	if (!operands_ok(k, op, s) || !v0_ok(k, op, all))
		return false;
	k->cost = gps_vcost(k->n, size > k->sew ? size : k->sew);
	if (k->start >= k->n)
		return true;
	k->carry = !all ? gps_vreg(k->v, 0) : op->shape == GPS_SHAPE_MERGE ? ones : zeros;
	if (op->shape >= GPS_SHAPE_CARRY && op->shape <= GPS_SHAPE_CARRY_MASK)
		k->mask = NULL;
	k->a = gps_vreg(k->v, k->vs2);
	k->b = gps_vreg(k->v, k->vs1);
	if (k->form != GPS_FORM_V) {
		splat(same, k->scalar, k->sew, k->n);
		k->b = same;
	}
	k->d = to;
	if (op->shape == GPS_SHAPE_SAME && !k->mask && !k->start) {
		op->kernel[k->sew](k);
		return true;
	}
	k->d = out;
	if (!bits)
		memcpy(out, to, (size_t)k->n << size);
	op->kernel[k->sew](k);
	keep(k, to, size, bits);
	return true;
}

/* vd[0] = vs1[0] with all of vs2's */
static bool fold(struct gps_vk *k, const struct gps_vop *op)
{
	bool wide = op->shape == GPS_SHAPE_REDUCE_WIDE;

	if (!gps_vgroup(k->vs2, k->lmul) || k->start)
		return false;
	k->cost = k->n ? k->n - 1 : 0;
	if (!k->n)
		return true;
	if (wide && k->sew == 2)
		return false;
	k->a = gps_vreg(k->v, k->vs2);
	k->b = gps_vreg(k->v, k->vs1);
	k->d = gps_vreg(k->v, k->vd);
	op->kernel[k->sew](k);
	return true;
}

static bool execute(struct gps_core *c, const struct gps_insn *in, uint32_t *cost)
{
	const struct gps_vop *op = &gps_vops[in->imm & 0xff];
	struct gps_vector *v = &c->vector;
	bool all = in->imm & VMASK, ok;
	struct gps_vk k = {
		.core = c,
		.v = v,
		.op = (uint8_t)in->imm,
		.form = (uint8_t)(in->imm >> FORM_AT),
		.vd = in->rd,
		.vs1 = in->rs1,
		.vs2 = in->rs2,
		.sew = gps_vsew(v->vtype),
		.lmul = gps_vlmul(v->vtype),
		.start = v->vstart,
		.n = v->vl,
		.mask = all ? NULL : gps_vreg(v, 0),
	};

	if (v->vtype == GPS_VILL || k.sew < op->narrowest || k.sew > op->widest)
		return false;
	if (k.form == GPS_FORM_I)
		k.scalar = in->rs1 | (in->rs1 & 16 ? ~31u : 0);
	else if (k.form == GPS_FORM_X)
		k.scalar = op->group == 2 ? c->f[in->rs1] : c->x[in->rs1];
	if (op->shape == GPS_SHAPE_SPECIAL)
		ok = op->special(&k);
	else if (op->shape == GPS_SHAPE_REDUCE || op->shape == GPS_SHAPE_REDUCE_WIDE)
		ok = fold(&k, op);
	else
		ok = elements(&k, op, all);
	*cost = k.cost;
	return ok;
}

enum neuron_gps_cause gps_vector(struct gps *g, unsigned int core, const struct gps_insn *in,
				 uint32_t *cost, uint32_t *data)
{
	struct gps_core *c = &g->core[core];
	enum neuron_gps_cause cause = NEURON_GPS_OK;

	*cost = 0;
	switch (in->op) {
	case GPS_VSET:
		set_type(c, in);
		return NEURON_GPS_OK;
	case GPS_VCSR:
		access_csr(c, in);
		return NEURON_GPS_OK;
	case GPS_VMEMORY:
		cause = gps_vmemory(g, c, (uint32_t)in->imm, cost, data);
		break;
	default:
		if (!execute(c, in, cost))
			cause = NEURON_GPS_ILLEGAL;
	}
	if (cause == NEURON_GPS_ILLEGAL) /* the word as it lies in the library */
		memcpy(data, g->lib + (in - g->code) * 4, sizeof(*data));
	if (!cause)
		c->vector.vstart = 0;
	return cause;
}
