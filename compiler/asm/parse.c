/* SPDX-License-Identifier: MIT */
/* Text to instructions: see asm.h. A word of the line is parsed as a whole or refused. */
#include "parse.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

static int access_pattern(struct parser *ps, struct neuron_ap *ap)
{
	int64_t step[NEURON_AP_DIMS], num[NEURON_AP_DIMS];
	int n = 0, rc = asm_place(ps, &ap->offset, &ap->dtype);

	if (rc || (rc = asm_expect(ps, "[")))
		return rc;
	do {
		if (n == NEURON_AP_DIMS)
			return asm_refuse(ps, "at most %d pairs", NEURON_AP_DIMS);
		if ((rc = asm_number(ps, INT16_MIN, INT16_MAX, &step[n])) ||
		    (rc = asm_expect(ps, ":")) || (rc = asm_number(ps, 0, UINT16_MAX, &num[n])))
			return rc;
		n++;
	} while (asm_skip(ps, ","));
	for (int d = 0; d < NEURON_AP_DIMS; d++) {
		int from = d - (NEURON_AP_DIMS - n);

		ap->step[d] = from < 0 ? 0 : step[from];
		ap->num[d] = from < 0 ? 1 : num[from];
	}
	return asm_expect(ps, "]");
}

static int f32(struct parser *ps, float *out)
{
	uint32_t bits;
	char *end;
	int rc;

	if (!strncmp(ps->p, "0x", 2)) {
		rc = asm_u32(ps, &bits);
		memcpy(out, &bits, sizeof(bits));
		return rc;
	}
	*out = strtof(ps->p, &end);
	if (end == ps->p)
		return asm_refuse(ps, "a number is expected at '%.40s'", ps->p);
	ps->p = end;
	return 0;
}

static int scalar(struct parser *ps, struct neuron_scalar *s)
{
	if (!asm_skip(ps, "@"))
		return f32(ps, &s->f);
	s->kind = NEURON_SCALAR_PTR;
	return asm_place(ps, &s->offset, &s->dtype);
}

static int range(struct parser *ps)
{
	int rc = asm_u8(ps, &ps->insn->first);

	if (rc || (rc = asm_expect(ps, ":")))
		return rc;
	return asm_u8(ps, &ps->insn->last);
}

static int write_pair(struct parser *ps, int i)
{
	int64_t addr;
	int rc = asm_number(ps, 0, UINT64_MAX, &addr);

	ps->insn->write[i].addr = addr;
	if (rc || (rc = asm_expect(ps, ":")))
		return rc;
	return asm_u32(ps, &ps->insn->write[i].value);
}

static int seed(struct parser *ps)
{
	int64_t v = 0;
	int rc = asm_number(ps, 0, UINT64_MAX, &v);

	ps->insn->seed = (uint64_t)v;
	return rc;
}

static int bias(struct parser *ps, uint8_t *out)
{
	int64_t v = 0;
	int rc = asm_number(ps, -8, 7, &v);

	*out = (uint8_t)(v & ((1 << NEURON_ISA_BIAS_BITS) - 1));
	return rc;
}

/* ROW,COLUMN:ROWS,COLUMNS */
static int tile(struct parser *ps, uint8_t *code)
{
	struct neuron_isa_tile t;
	uint8_t *part[] = { &t.row, &t.column, &t.rows, &t.columns };
	static const char *const before[] = { "", ",", ":", "," };
	int rc = 0;

	for (unsigned int i = 0; i < 4 && !rc; i++) {
		rc = asm_expect(ps, before[i]);
		if (!rc)
			rc = asm_u8(ps, part[i]);
	}
	if (rc)
		return rc;
	rc = neuron_isa_tile_code(&t);
	if (rc < 0)
		return asm_refuse(ps, "the array has no part %u,%u:%u,%u", t.row, t.column, t.rows,
				  t.columns);
	*code = (uint8_t)rc;
	return 0;
}

static int alu(struct parser *ps, uint8_t *op)
{
	return asm_name_or_number(ps, &neuron_isa_alus[0].name, sizeof(neuron_isa_alus[0]),
				  NEURON_ISA_ALU_COUNT, op);
}

/* The words of the form name=value, and the field that each sets */
static const struct keyword {
	const char *name;
	uint64_t field;
} keywords[] = {
	{ "p=", NEURON_FB(PARTITIONS) },
	{ "dst=", NEURON_FB(DST) },
	{ "src0=", NEURON_FB(SRC0) },
	{ "src1=", NEURON_FB(SRC1) },
	{ "dst1=", NEURON_FB(DST1) },
	{ "scalar0=", NEURON_FB(SCALAR0) },
	{ "scalar1=", NEURON_FB(SCALAR1) },
	{ "op0=", NEURON_FB(OP0) },
	{ "op1=", NEURON_FB(OP1) },
	{ "func=", NEURON_FB(FUNC) },
	{ "reduce_cmd=", NEURON_FB(REDUCE_CMD) | NEURON_FB(ACC_CMD) },
	{ "tile=", NEURON_FB(TILE) },
	{ "neighbours=", NEURON_FB(NEIGHBOURS) },
	{ "src_bias=", NEURON_FB(BIAS) },
	{ "dst_bias=", NEURON_FB(BIAS) },
	{ "reduce_dims=", NEURON_FB(REDUCE_DIMS) },
	{ "alpha=", NEURON_FB(ALPHA) },
	{ "scale=", NEURON_FB(RESULT_SCALE) },
	{ "imm=", NEURON_FB(IMM) },
	{ "count=", NEURON_FB(ELEMS) },
	{ "total=", NEURON_FB(TOTAL) },
	{ "pattern=", NEURON_FB(PATTERN) },
	{ "shuffle=", NEURON_FB(SHUFFLE) },
	{ "id=", NEURON_FB(ID) },
	{ "version=", NEURON_FB(VERSION) },
	{ "rounding=", NEURON_FB(ROUNDING) },
	{ "seed=", NEURON_FB(ROUNDING) },
	{ "range=", NEURON_FB(RANGE) },
	{ "write0=", NEURON_FB(WRITE) },
	{ "write1=", NEURON_FB(WRITE) },
	{ "library=", NEURON_FB(CUSTOM) },
	{ "args=", NEURON_FB(CUSTOM) },
	{ "bytes=", NEURON_FB(CUSTOM) },
	{ "entry=", NEURON_FB(CUSTOM) },
	{ "function=", NEURON_FB(CUSTOM) },
	{ "limit=", NEURON_FB(CUSTOM) },
	{ "mask=", NEURON_FB(CUSTOM) },
	{ "base=", NEURON_FB(WINDOW) },
	{ "length=", NEURON_FB(WINDOW) },
	{ "pc=", NEURON_FB(WINDOW) },
	{ "rd=", NEURON_FB(RD) },
	{ "a=", NEURON_FB(RA) },
	{ "b=", NEURON_FB(RB) },
	{ "op=", NEURON_FB(REG_ALU) },
	{ "rel=", NEURON_FB(RELATION) },
	{ "target=", NEURON_FB(RELATION) },
	{ "at=", NEURON_FB(PLACE) },
	{ "index=", NEURON_FB(PLACE) },
	{ "from=", NEURON_FB(DMA) },
	{ "to=", NEURON_FB(DMA) },
	{ "run=", NEURON_FB(DMA) },
	{ "queue=", NEURON_FB(DMA) },
	{ "done=", NEURON_FB(DMA) },
	{ "skip", NEURON_FB(DMA) },
	{ "patch0=", NEURON_FB(PATCH) },
	{ "patch1=", NEURON_FB(PATCH) },
	{ "patch2=", NEURON_FB(PATCH) },
	{ "patch3=", NEURON_FB(PATCH) },
	{ "accumulate", NEURON_FB(ACCUMULATE) },
	{ "negate", NEURON_FB(NEGATE) },
	{ "check", NEURON_FB(CHECK) },
	{ "reverse0", NEURON_FB(REVERSE0) },
	{ "reverse1", NEURON_FB(REVERSE1) },
};
static_assert(sizeof(keywords) / sizeof(keywords[0]) <= 64, "seen has a bit for each");

static int value(struct parser *ps, const struct keyword *k)
{
	struct neuron_insn *in = ps->insn;

	switch (k->field) {
	case NEURON_FB(PARTITIONS):
		return asm_u8(ps, &in->partitions);
	case NEURON_FB(DST):
		return access_pattern(ps, &in->dst);
	case NEURON_FB(SRC0):
		return access_pattern(ps, &in->src0);
	case NEURON_FB(SRC1):
		return access_pattern(ps, &in->src1);
	case NEURON_FB(DST1):
		return access_pattern(ps, &in->dst1);
	case NEURON_FB(SCALAR0):
		return scalar(ps, &in->scalar0);
	case NEURON_FB(SCALAR1):
		return scalar(ps, &in->scalar1);
	case NEURON_FB(OP0):
		return alu(ps, &in->op0);
	case NEURON_FB(OP1):
		return alu(ps, &in->op1);
	case NEURON_FB(FUNC):
		return asm_name_or_number(ps, neuron_isa_funcs, sizeof(char *), NEURON_ACT_COUNT,
					  &in->func);
	case NEURON_FB(REDUCE_CMD) | NEURON_FB(ACC_CMD):
		return asm_name_or_number(ps, neuron_isa_reduce_cmds, sizeof(char *),
					  NEURON_ISA_REDUCE_CMDS, &in->reduce_cmd);
	case NEURON_FB(REDUCE_DIMS):
		return asm_u8(ps, &in->reduce_dims);
	case NEURON_FB(TILE):
		return tile(ps, &in->tile);
	case NEURON_FB(NEIGHBOURS):
		return asm_u8(ps, &in->neighbours);
	case NEURON_FB(BIAS):
		return bias(ps, k->name[0] == 's' ? &in->src_bias : &in->dst_bias);
	case NEURON_FB(ALPHA):
	case NEURON_FB(RESULT_SCALE):
		return f32(ps, &in->alpha);
	case NEURON_FB(IMM):
		return f32(ps, &in->imm);
	case NEURON_FB(ELEMS):
		return asm_u16(ps, &in->count);
	case NEURON_FB(TOTAL):
		return asm_u16(ps, &in->total);
	case NEURON_FB(PATTERN):
		return asm_pattern(ps, &in->pattern);
	case NEURON_FB(SHUFFLE):
		return asm_shuffle(ps, in->shuffle);
	case NEURON_FB(ID):
		return asm_u32(ps, &in->id);
	case NEURON_FB(VERSION):
		return asm_u16(ps, &in->isa_version);
	case NEURON_FB(ROUNDING):
		return k->name[0] == 's'
			       ? seed(ps)
			       : asm_name_or_number(ps, neuron_isa_roundings, sizeof(char *),
						    NEURON_ROUND_COUNT, &in->rounding);
	case NEURON_FB(RANGE):
		return range(ps);
	case NEURON_FB(WRITE):
		return write_pair(ps, k->name[5] - '0');
	case NEURON_FB(CUSTOM):
		return asm_custom(ps, k->name);
	case NEURON_FB(WINDOW):
		return k->name[0] == 'b' ? asm_address(ps, &in->address)
					 : asm_u32(ps, k->name[0] == 'l' ? &in->length : &in->pc);
	case NEURON_FB(RD):
		return asm_reg(ps, &in->rd);
	case NEURON_FB(RA):
		return asm_reg(ps, &in->ra);
	case NEURON_FB(RB):
		return asm_reg_or_value(ps);
	case NEURON_FB(REG_ALU):
		return asm_name_or_number(ps, neuron_isa_reg_alus, sizeof(char *),
					  NEURON_REG_ALU_COUNT, &in->rop);
	case NEURON_FB(RELATION):
		return k->name[0] == 't'
			       ? asm_s32(ps, &in->target)
			       : asm_name_or_number(ps, neuron_isa_relations, sizeof(char *),
						    NEURON_REL_COUNT, &in->rop);
	case NEURON_FB(PLACE):
		return k->name[0] == 'a' ? asm_element(ps) : asm_element_index(ps);
	case NEURON_FB(DMA):
		return asm_dma_word(ps, k->name);
	case NEURON_FB(PATCH):
		return asm_patch(ps, k->name[5] - '0');
	case NEURON_FB(ACCUMULATE):
		in->accumulate = true;
		return 0;
	case NEURON_FB(NEGATE):
		in->negate = true;
		return 0;
	case NEURON_FB(CHECK):
		in->check = true;
		return 0;
	case NEURON_FB(REVERSE0):
		in->reverse0 = true;
		return 0;
	default:
		in->reverse1 = true;
		return 0;
	}
}

static int trigger(struct parser *ps)
{
	if (asm_skip(ps, "@complete"))
		return 0;
	if (!asm_skip(ps, "@read"))
		return asm_refuse(ps, "'@complete' or '@read' is expected at '%.40s'", ps->p);
	ps->insn->trigger = NEURON_TRIG_READ;
	return 0;
}

static int wait_is(struct parser *ps, uint8_t wait, uint8_t index)
{
	if (ps->insn->wait)
		return asm_refuse(ps, "a second wait");
	ps->insn->wait = wait;
	ps->insn->wait_index = index;
	return wait <= NEURON_WAIT_SEM_LE ? asm_u32(ps, &ps->insn->wait_value) : 0;
}

static int update_is(struct parser *ps, uint8_t update, uint8_t index)
{
	int rc = 0;

	if (ps->insn->update)
		return asm_refuse(ps, "a second update");
	ps->insn->update = update;
	ps->insn->update_index = index;
	if (update >= NEURON_UPD_SEM_ADD_IMM && update <= NEURON_UPD_SEM_WR_IMM)
		rc = asm_u32(ps, &ps->insn->update_value);
	return rc ? rc : trigger(ps);
}

/* $S[i]..., after the index */
static int semaphore(struct parser *ps, uint8_t i)
{
	if (asm_skip(ps, "=="))
		return wait_is(ps, NEURON_WAIT_SEM_EQ, i);
	if (asm_skip(ps, ">="))
		return wait_is(ps, NEURON_WAIT_SEM_GE, i);
	if (asm_skip(ps, "<="))
		return wait_is(ps, NEURON_WAIT_SEM_LE, i);
	if (asm_skip(ps, "++"))
		return update_is(ps, NEURON_UPD_SEM_INC, i);
	if (asm_skip(ps, "--"))
		return update_is(ps, NEURON_UPD_SEM_DEC, i);
	if (asm_skip(ps, "+="))
		return update_is(ps, NEURON_UPD_SEM_ADD_IMM, i);
	if (asm_skip(ps, "-="))
		return update_is(ps, NEURON_UPD_SEM_SUB_IMM, i);
	if (asm_skip(ps, "="))
		return update_is(ps, NEURON_UPD_SEM_WR_IMM, i);
	return asm_refuse(ps, "a comparison or an update is expected at '%.40s'", ps->p);
}

static int sync_word(struct parser *ps)
{
	bool inverted = asm_skip(ps, "!"), event;
	uint8_t i;
	int rc;

	event = asm_skip(ps, "$E[");
	if (!event && (inverted || (rc = asm_expect(ps, "$S["))))
		return asm_refuse(ps, "'$S[' or '$E[' is expected at '%.40s'", ps->p);
	if ((rc = asm_u8(ps, &i)) || (rc = asm_expect(ps, "]")))
		return rc;
	if (!event)
		return semaphore(ps, i);
	if (inverted || !*ps->p)
		return wait_is(ps, inverted ? NEURON_WAIT_EVT_CLR : NEURON_WAIT_EVT_SET, i);
	if (asm_skip(ps, "=1"))
		return update_is(ps, NEURON_UPD_EVT_SET, i);
	if (asm_skip(ps, "=0"))
		return update_is(ps, NEURON_UPD_EVT_CLR, i);
	return asm_refuse(ps, "'=1' or '=0' is expected at '%.40s'", ps->p);
}

static int word(struct parser *ps)
{
	if (*ps->p == '$' || *ps->p == '!')
		return sync_word(ps);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (!asm_skip(ps, keywords[i].name))
			continue;
		if (!(ps->fields & keywords[i].field))
			return asm_refuse(ps, "the instruction has no '%s'", keywords[i].name);
		if (ps->seen & 1ull << i)
			return asm_refuse(ps, "'%s' twice", keywords[i].name);
		ps->seen |= 1ull << i;
		return value(ps, &keywords[i]);
	}
	return asm_refuse(ps, "unknown word '%.40s'", ps->p);
}

static int mnemonic(struct parser *ps, const char *name)
{
	for (unsigned int op = 0; op < 256; op++) {
		if (!neuron_isa_ops[op].name || strcmp(neuron_isa_ops[op].name, name))
			continue;
		ps->insn->opcode = op;
		ps->fields = neuron_isa_ops[op].fields;
		return 0;
	}
	return asm_refuse(ps, "unknown instruction '%.40s'", name);
}

int ncc_asm_parse_in(const char *line, const struct ncc_asm_area *area, unsigned int nareas,
		     struct neuron_insn *insn, struct ncc_asm_error *err)
{
	struct parser ps = { .insn = insn, .err = err, .area = area, .nareas = nareas };
	char buf[NCC_ASM_LINE * 2], *save = NULL, *w;
	size_t len = strcspn(line, ";#\n");
	int rc;

	memset(insn, 0, sizeof(*insn));
	err->text[0] = 0;
	if (len >= sizeof(buf))
		return asm_refuse(&ps, "the line is too long");
	memcpy(buf, line, len);
	buf[len] = 0;
	w = strtok_r(buf, " \t\r", &save);
	if (!w)
		return 0;

	rc = mnemonic(&ps, w);
	while (!rc && (w = strtok_r(NULL, " \t\r", &save))) {
		ps.p = w;
		rc = word(&ps);
		if (!rc && *ps.p)
			rc = asm_refuse(&ps, "'%.40s' is left over in '%.40s'", ps.p, w);
	}
	return rc ? rc : 1;
}

int ncc_asm_parse(const char *line, struct neuron_insn *insn, struct ncc_asm_error *err)
{
	return ncc_asm_parse_in(line, NULL, 0, insn, err);
}
