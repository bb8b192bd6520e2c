/* SPDX-License-Identifier: MIT */
/* Instructions to text: see asm.h. Driven by the field masks of neuron/isa/table.h. */
#include "asm.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

struct out {
	char *buf;
	size_t size, len; /* len: of the whole text, cut or not */
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *fmt, ...)
{
	size_t room = o->len < o->size ? o->size - o->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? o->buf + o->len : NULL, room, fmt, ap);
	va_end(ap);
	o->len += n > 0 ? n : 0;
}

static void put_place(struct out *o, uint32_t offset, uint8_t dtype)
{
	uint32_t psum = offset - NEURON_PSUM_OFFSET;
	const char *name = neuron_isa_dtypes[dtype & 63].name;

	if (offset < NEURON_PSUM_OFFSET)
		put(o, "sbuf[%u,%#x]", offset / NEURON_SBUF_PART_STRIDE,
		    offset % NEURON_SBUF_PART_STRIDE);
	else if (psum < NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE)
		put(o, "psum[%u,%#x]", psum / NEURON_PSUM_PART_STRIDE,
		    psum % NEURON_PSUM_PART_STRIDE);
	else
		put(o, "window[%#x]", offset);
	if (name)
		put(o, ":%s", name);
	else
		put(o, ":%u", dtype);
}

static void put_ap(struct out *o, const char *name, const struct neuron_ap *ap)
{
	int d = 0;

	put(o, " %s=", name);
	put_place(o, ap->offset, ap->dtype);
	while (d < NEURON_AP_DIMS - 1 && ap->step[d] == 0 && ap->num[d] == 1)
		d++;
	for (const char *sep = "["; d < NEURON_AP_DIMS; d++, sep = ",")
		put(o, "%s%d:%u", sep, ap->step[d], ap->num[d]);
	put(o, "]");
}

/* Prints a number if its text reads back as the same bits, else the bits. */
static void put_f32(struct out *o, const char *name, float f)
{
	char text[32];
	uint32_t bits;
	float back;

	memcpy(&bits, &f, sizeof(bits));
	snprintf(text, sizeof(text), "%.9g", f);
	back = strtof(text, NULL);
	if (isfinite(f) && !memcmp(&f, &back, sizeof(f)))
		put(o, " %s=%s", name, text);
	else
		put(o, " %s=0x%08" PRIx32, name, bits);
}

static void put_scalar(struct out *o, const char *name, const struct neuron_scalar *s)
{
	if (s->kind == NEURON_SCALAR_IMM) {
		put_f32(o, name, s->f);
		return;
	}
	put(o, " %s=@", name);
	put_place(o, s->offset, s->dtype);
}

static void put_code(struct out *o, const char *field, const char *name, unsigned int code)
{
	if (name)
		put(o, " %s=%s", field, name);
	else
		put(o, " %s=%u", field, code);
}

static void put_wait(struct out *o, const struct neuron_insn *insn)
{
	static const char *const cmp[] = {
		[NEURON_WAIT_SEM_EQ] = "==", [NEURON_WAIT_SEM_GE] = ">=", [NEURON_WAIT_SEM_LE] = "<="
	};

	switch (insn->wait) {
	case NEURON_WAIT_SEM_EQ:
	case NEURON_WAIT_SEM_GE:
	case NEURON_WAIT_SEM_LE:
		put(o, " $S[%u]%s%" PRIu32, insn->wait_index, cmp[insn->wait], insn->wait_value);
		break;
	case NEURON_WAIT_EVT_SET:
		put(o, " $E[%u]", insn->wait_index);
		break;
	case NEURON_WAIT_EVT_CLR:
		put(o, " !$E[%u]", insn->wait_index);
		break;
	}
}

static void put_update(struct out *o, const struct neuron_insn *insn)
{
	unsigned int i = insn->update_index;

	switch (insn->update) {
	case NEURON_UPD_NONE:
		return;
	case NEURON_UPD_SEM_INC:
		put(o, " $S[%u]++", i);
		break;
	case NEURON_UPD_SEM_DEC:
		put(o, " $S[%u]--", i);
		break;
	case NEURON_UPD_SEM_ADD_IMM:
		put(o, " $S[%u]+=%" PRIu32, i, insn->update_value);
		break;
	case NEURON_UPD_SEM_SUB_IMM:
		put(o, " $S[%u]-=%" PRIu32, i, insn->update_value);
		break;
	case NEURON_UPD_SEM_WR_IMM:
		put(o, " $S[%u]=%" PRIu32, i, insn->update_value);
		break;
	default:
		put(o, " $E[%u]=%d", i, insn->update == NEURON_UPD_EVT_SET);
	}
	put(o, "@%s", insn->trigger == NEURON_TRIG_READ ? "read" : "complete");
}

static void put_codes(struct out *o, const struct neuron_insn *insn, uint64_t f)
{
	if (f & NEURON_FB(OP0))
		put_code(o, "op0",
			 insn->op0 < NEURON_ISA_ALU_COUNT ? neuron_isa_alus[insn->op0].name : NULL,
			 insn->op0);
	if (f & NEURON_FB(OP1))
		put_code(o, "op1",
			 insn->op1 < NEURON_ISA_ALU_COUNT ? neuron_isa_alus[insn->op1].name : NULL,
			 insn->op1);
	if (f & NEURON_FB(FUNC))
		put_code(o, "func",
			 insn->func < NEURON_ACT_COUNT ? neuron_isa_funcs[insn->func] : NULL,
			 insn->func);
	if (f & (NEURON_FB(REDUCE_CMD) | NEURON_FB(ACC_CMD)) && insn->reduce_cmd)
		put_code(o, "reduce_cmd",
			 insn->reduce_cmd < NEURON_ISA_REDUCE_CMDS
				 ? neuron_isa_reduce_cmds[insn->reduce_cmd]
				 : NULL,
			 insn->reduce_cmd);
}

static void put_custom(struct out *o, const struct neuron_custom *c)
{
	put(o,
	    " library=%#" PRIx64 " args=%#" PRIx64 " bytes=%" PRIu32 " entry=%#" PRIx32
	    " function=%#" PRIx32 " mask=%#x",
	    c->library, c->args, c->bytes, c->entry, c->function, c->mask);
	if (c->limit)
		put(o, " limit=%" PRIu32, c->limit);
}

static void put_tile(struct out *o, uint8_t code)
{
	const struct neuron_isa_tile t = neuron_isa_tile(code);

	put(o, " tile=%u,%u:%u,%u", t.row, t.column, t.rows, t.columns);
}

static void put_rest(struct out *o, const struct neuron_insn *insn, uint64_t f)
{
	uint32_t alpha;

	memcpy(&alpha, &insn->alpha, sizeof(alpha));
	if (insn->tile)
		put_tile(o, insn->tile);
	if (f & NEURON_FB(NEIGHBOURS))
		put(o, " neighbours=%u", insn->neighbours);
	if (insn->src_bias)
		put(o, " src_bias=%d", neuron_isa_bias(insn->src_bias));
	if (insn->dst_bias)
		put(o, " dst_bias=%d", neuron_isa_bias(insn->dst_bias));
	if (f & NEURON_FB(REDUCE_DIMS))
		put(o, " reduce_dims=%u", insn->reduce_dims);
	if (alpha && f & NEURON_FB(ALPHA))
		put_f32(o, "alpha", insn->alpha);
	if (alpha && f & NEURON_FB(RESULT_SCALE))
		put_f32(o, "scale", insn->alpha);
	if (f & NEURON_FB(ID))
		put(o, " id=%" PRIu32, insn->id);
	if (f & NEURON_FB(VERSION))
		put(o, " version=%u", insn->isa_version);
	if (f & NEURON_FB(ROUNDING)) {
		put_code(o, "rounding",
			 insn->rounding < NEURON_ROUND_COUNT ? neuron_isa_roundings[insn->rounding]
							     : NULL,
			 insn->rounding);
		if (insn->seed)
			put(o, " seed=%#" PRIx64, insn->seed);
	}
	if (f & NEURON_FB(RANGE))
		put(o, " range=%u:%u", insn->first, insn->last);

	for (int i = 0; i < 2 && f & NEURON_FB(WRITE); i++)
		if (insn->write[i].addr || insn->write[i].value)
			put(o, " write%d=%#" PRIx64 ":%#" PRIx32, i, insn->write[i].addr,
			    insn->write[i].value);
	if (f & NEURON_FB(CUSTOM))
		put_custom(o, &insn->custom);
}

/* A second destination that is not there has neither place nor type */
static bool has_dst1(const struct neuron_insn *insn)
{
	static const struct neuron_ap none;

	return memcmp(&insn->dst1, &none, sizeof(none)) != 0;
}

static void put_later(struct out *o, const struct neuron_insn *insn, uint64_t f)
{
	const struct neuron_pattern *a = &insn->pattern;

	if (f & NEURON_FB(IMM))
		put_f32(o, "imm", insn->imm);
	if (f & NEURON_FB(ELEMS))
		put(o, " count=%u", insn->count);
	if (f & NEURON_FB(TOTAL))
		put(o, " total=%u", insn->total);
	if (f & NEURON_FB(PATTERN)) {
		put(o, " pattern=%" PRId32 ",%" PRId32, a->base, a->channel);
		for (int d = 0; d < NEURON_AP_DIMS; d++)
			put(o, "%s%" PRId32 ":%u", d ? "," : "[", a->step[d], a->num[d]);
		put(o, "]");
	}
	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT && f & NEURON_FB(SHUFFLE); i++)
		put(o, "%s%u", i ? "," : " shuffle=", neuron_isa_shuffle(insn, i));
}

static void put_element(struct out *o, const struct neuron_insn *insn)
{
	const char *name = neuron_isa_dtypes[insn->rtype & 63].name;

	put(o, " at=");
	if (insn->device && name)
		put(o, "hbm[%#" PRIx64 "]:%s", insn->address, name);
	else if (insn->device)
		put(o, "hbm[%#" PRIx64 "]:%u", insn->address, insn->rtype);
	else
		put_place(o, (uint32_t)insn->address, insn->rtype);
	if (insn->indexed)
		put(o, " index=r%u*%" PRId32, insn->ra, insn->scale);
}

static void put_registers(struct out *o, const struct neuron_insn *insn, uint64_t f)
{
	const uint8_t op = insn->rop;

	if (f & NEURON_FB(WINDOW))
		put(o, " base=%#" PRIx64 " length=%#" PRIx32 " pc=%#" PRIx32, insn->address,
		    insn->length, insn->pc);
	if (f & NEURON_FB(RD))
		put(o, " rd=r%u", insn->rd);
	if (f & NEURON_FB(REG_ALU))
		put_code(o, "op", op < NEURON_REG_ALU_COUNT ? neuron_isa_reg_alus[op] : NULL, op);
	if (f & NEURON_FB(RELATION))
		put_code(o, "rel", op < NEURON_REL_COUNT ? neuron_isa_relations[op] : NULL, op);
	if (f & NEURON_FB(RA))
		put(o, " a=r%u", insn->ra);
	if (f & NEURON_FB(RB) && insn->immediate)
		put(o, " b=%" PRId32, (int32_t)insn->value);
	else if (f & NEURON_FB(RB))
		put(o, " b=r%u", insn->rb);
	if (f & NEURON_FB(RELATION))
		put(o, " target=%" PRId32, insn->target);
	if (f & NEURON_FB(PLACE))
		put_element(o, insn);
}

static void put_transfer(struct out *o, const struct neuron_insn *insn)
{
	static const char *const side[] = { "from", "to" };

	for (unsigned int i = 0; i < 2; i++) {
		put(o, " %s=%#" PRIx64, side[i], insn->dma_addr[i]);
		for (unsigned int d = 0; d < NEURON_DMA_DIMS; d++)
			put(o, "%c%" PRId32 ":%u", d ? ',' : '[', insn->dma_step[i][d],
			    insn->dma_num[i][d]);
		put(o, "]");
		if (insn->dma_reg[i] || insn->dma_scale[i])
			put(o, "+r%u*%" PRId32, insn->dma_reg[i], insn->dma_scale[i]);
		if (insn->dma_limit[i])
			put(o, "<%" PRIu32, insn->dma_limit[i]);
	}
	put(o, " run=%" PRIu32 " queue=%u:%u done=%u%s", insn->dma_run, insn->dma_engine,
	    insn->dma_queue, insn->dma_semaphore, insn->dma_skip ? " skip" : "");
}

static void put_patches(struct out *o, const struct neuron_insn *insn)
{
	for (unsigned int i = 0; i < NEURON_PATCHES; i++) {
		const uint8_t k = insn->patch[i];
		const char *name = k < NEURON_PATCH_COUNT ? neuron_isa_patches[k] : NULL;

		if (!k)
			continue;
		put(o, " patch%u=", i);
		if (name)
			put(o, "%s", name);
		else
			put(o, "%u", k);
		put(o, ":r%u*%" PRId32, insn->patch_reg[i], insn->patch_scale[i]);
	}
}

static void put_flags(struct out *o, const struct neuron_insn *insn)
{
	put(o, "%s%s%s%s%s", insn->accumulate ? " accumulate" : "", insn->negate ? " negate" : "",
	    insn->reverse0 ? " reverse0" : "", insn->reverse1 ? " reverse1" : "",
	    insn->check ? " check" : "");
}

int ncc_asm_print(const struct neuron_insn *insn, char *buf, size_t size)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	struct out o = { buf, size, 0 };
	uint64_t f = op->fields;

	if (size)
		buf[0] = 0;
	if (!op->name) {
		put(&o, ".illegal %#x", insn->opcode);
		return o.len;
	}

	put(&o, "%s", op->name);
	if (f & NEURON_FB(PARTITIONS))
		put(&o, " p=%u", insn->partitions);
	if (f & NEURON_FB(DST))
		put_ap(&o, "dst", &insn->dst);
	if (f & NEURON_FB(SRC0))
		put_ap(&o, "src0", &insn->src0);
	if (f & NEURON_FB(SRC1))
		put_ap(&o, "src1", &insn->src1);
	if (f & NEURON_FB(DST1) && has_dst1(insn))
		put_ap(&o, "dst1", &insn->dst1);
	put_codes(&o, insn, f);
	if (f & NEURON_FB(SCALAR0))
		put_scalar(&o, "scalar0", &insn->scalar0);
	if (f & NEURON_FB(SCALAR1))
		put_scalar(&o, "scalar1", &insn->scalar1);
	if (f & NEURON_FB(DMA))
		put_transfer(&o, insn);
	put_registers(&o, insn, f);
	put_patches(&o, insn);
	put_rest(&o, insn, f);
	put_later(&o, insn, f);
	put_flags(&o, insn);
	put_wait(&o, insn);
	put_update(&o, insn);
	return o.len;
}
