/* SPDX-License-Identifier: MIT */
/* Text to instructions: see asm.h. A word of the line is parsed as a whole or refused. */
#include "parse.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

/*
 * The values of keywords. Each parser writes to a member of the instruction, whose type is its own;
 * the table below says which.
 */

static int u8(struct parser *ps, void *out)
{
	return asm_u8(ps, out);
}

static int u16(struct parser *ps, void *out)
{
	return asm_u16(ps, out);
}

static int u32(struct parser *ps, void *out)
{
	return asm_u32(ps, out);
}

static int s32(struct parser *ps, void *out)
{
	return asm_s32(ps, out);
}

static int u64(struct parser *ps, void *out)
{
	return asm_address(ps, out);
}

static int reg(struct parser *ps, void *out)
{
	return asm_reg(ps, out);
}

/* A keyword without a value */
static int flag(struct parser *ps, void *out)
{
	bool *on = out;

	*on = true;
	return 0;
}

static int f32(struct parser *ps, void *out)
{
	float *number = out;
	uint32_t bits;
	char *end;
	int rc;

	if (!strncmp(ps->p, "0x", 2)) {
		rc = asm_u32(ps, &bits);
		memcpy(out, &bits, sizeof(bits));
		return rc;
	}
	*number = strtof(ps->p, &end);
	if (end == ps->p)
		return asm_refuse(ps, "a number is expected at '%.40s'", ps->p);
	ps->p = end;
	return 0;
}

static int access_pattern(struct parser *ps, void *out)
{
	int64_t step[NEURON_AP_DIMS], num[NEURON_AP_DIMS];
	struct neuron_ap *ap = out;
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

static int scalar(struct parser *ps, void *out)
{
	struct neuron_scalar *s = out;

	if (!asm_skip(ps, "@"))
		return f32(ps, &s->f);
	s->kind = NEURON_SCALAR_PTR;
	return asm_place(ps, &s->offset, &s->dtype);
}

/* FIRST:LAST, of semaphores */
static int range(struct parser *ps, void *out)
{
	int rc = asm_u8(ps, &ps->insn->first);

	if (rc || (rc = asm_expect(ps, ":")))
		return rc;
	return asm_u8(ps, &ps->insn->last);
}

/* ADDRESS:VALUE */
static int write_pair(struct parser *ps, void *out)
{
	__typeof__(&ps->insn->write[0]) pair = out;
	int64_t addr;
	int rc = asm_number(ps, 0, UINT64_MAX, &addr);

	pair->addr = addr;
	if (rc || (rc = asm_expect(ps, ":")))
		return rc;
	return asm_u32(ps, &pair->value);
}

static int bias(struct parser *ps, void *out)
{
	uint8_t *code = out;
	int64_t v = 0;
	int rc = asm_number(ps, -8, 7, &v);

	*code = (uint8_t)(v & ((1 << NEURON_ISA_BIAS_BITS) - 1));
	return rc;
}

/* ROW,COLUMN:ROWS,COLUMNS */
static int tile(struct parser *ps, void *out)
{
	struct neuron_isa_tile t;
	uint8_t *part[] = { &t.row, &t.column, &t.rows, &t.columns }, *code = out;
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

static int alu(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, &neuron_isa_alus[0].name, sizeof(neuron_isa_alus[0]),
				  NEURON_ISA_ALU_COUNT, out);
}

static int function(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, neuron_isa_funcs, sizeof(char *), NEURON_ACT_COUNT, out);
}

static int reduce_cmd(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, neuron_isa_reduce_cmds, sizeof(char *),
				  NEURON_ISA_REDUCE_CMDS, out);
}

static int rounding(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, neuron_isa_roundings, sizeof(char *), NEURON_ROUND_COUNT,
				  out);
}

static int register_alu(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, neuron_isa_reg_alus, sizeof(char *), NEURON_REG_ALU_COUNT,
				  out);
}

static int relation(struct parser *ps, void *out)
{
	return asm_name_or_number(ps, neuron_isa_relations, sizeof(char *), NEURON_REL_COUNT, out);
}

/* The words of the form name=value: the field of the instruction that each sets, and how */
static const struct keyword {
	const char *name;
	uint64_t field;
	int (*parse)(struct parser *ps, void *out);
	size_t member; /* out: where in struct neuron_insn */
} keywords[] = {
#define KEYWORD(name, field, parse, member)                                         \
	{                                                                           \
		name, NEURON_FB(field), parse, offsetof(struct neuron_insn, member) \
	}
	KEYWORD("p=", PARTITIONS, u8, partitions),
	KEYWORD("dst=", DST, access_pattern, dst),
	KEYWORD("src0=", SRC0, access_pattern, src0),
	KEYWORD("src1=", SRC1, access_pattern, src1),
	KEYWORD("dst1=", DST1, access_pattern, dst1),
	KEYWORD("scalar0=", SCALAR0, scalar, scalar0),
	KEYWORD("scalar1=", SCALAR1, scalar, scalar1),
	KEYWORD("op0=", OP0, alu, op0),
	KEYWORD("op1=", OP1, alu, op1),
	KEYWORD("func=", FUNC, function, func),
	{ "reduce_cmd=", NEURON_FB(REDUCE_CMD) | NEURON_FB(ACC_CMD), reduce_cmd,
	  offsetof(struct neuron_insn, reduce_cmd) },
	KEYWORD("tile=", TILE, tile, tile),
	KEYWORD("neighbours=", NEIGHBOURS, u8, neighbours),
	KEYWORD("src_bias=", BIAS, bias, src_bias),
	KEYWORD("dst_bias=", BIAS, bias, dst_bias),
	KEYWORD("reduce_dims=", REDUCE_DIMS, u8, reduce_dims),
	KEYWORD("alpha=", ALPHA, f32, alpha),
	KEYWORD("scale=", RESULT_SCALE, f32, alpha),
	KEYWORD("imm=", IMM, f32, imm),
	KEYWORD("count=", ELEMS, u16, count),
	KEYWORD("total=", TOTAL, u16, total),
	KEYWORD("pattern=", PATTERN, asm_pattern, pattern),
	KEYWORD("shuffle=", SHUFFLE, asm_shuffle, shuffle),
	KEYWORD("id=", ID, u32, id),
	KEYWORD("version=", VERSION, u16, isa_version),
	KEYWORD("rounding=", ROUNDING, rounding, rounding),
	KEYWORD("seed=", ROUNDING, u64, seed),
	KEYWORD("range=", RANGE, range, first),
	KEYWORD("write0=", WRITE, write_pair, write[0]),
	KEYWORD("write1=", WRITE, write_pair, write[1]),
	KEYWORD("library=", CUSTOM, u64, custom.library),
	KEYWORD("args=", CUSTOM, u64, custom.args),
	KEYWORD("bytes=", CUSTOM, u32, custom.bytes),
	KEYWORD("entry=", CUSTOM, u32, custom.entry),
	KEYWORD("function=", CUSTOM, u32, custom.function),
	KEYWORD("limit=", CUSTOM, u32, custom.limit),
	KEYWORD("mask=", CUSTOM, u8, custom.mask),
	KEYWORD("base=", WINDOW, u64, address),
	KEYWORD("length=", WINDOW, u32, length),
	KEYWORD("pc=", WINDOW, u32, pc),
	KEYWORD("rd=", RD, reg, rd),
	KEYWORD("a=", RA, reg, ra),
	KEYWORD("b=", RB, asm_reg_or_value, rb),
	KEYWORD("op=", REG_ALU, register_alu, rop),
	KEYWORD("rel=", RELATION, relation, rop),
	KEYWORD("target=", RELATION, s32, target),
	KEYWORD("at=", PLACE, asm_element, address),
	KEYWORD("index=", PLACE, asm_element_index, ra),
	KEYWORD("from=", DMA, asm_dma_side, dma_addr[0]),
	KEYWORD("to=", DMA, asm_dma_side, dma_addr[1]),
	KEYWORD("run=", DMA, u32, dma_run),
	KEYWORD("queue=", DMA, asm_dma_queue, dma_engine),
	KEYWORD("done=", DMA, u8, dma_semaphore),
	KEYWORD("skip", DMA, flag, dma_skip),
	KEYWORD("patch0=", PATCH, asm_patch, patch[0]),
	KEYWORD("patch1=", PATCH, asm_patch, patch[1]),
	KEYWORD("patch2=", PATCH, asm_patch, patch[2]),
	KEYWORD("patch3=", PATCH, asm_patch, patch[3]),
	KEYWORD("accumulate", ACCUMULATE, flag, accumulate),
	KEYWORD("negate", NEGATE, flag, negate),
	KEYWORD("check", CHECK, flag, check),
	KEYWORD("reverse0", REVERSE0, flag, reverse0),
	KEYWORD("reverse1", REVERSE1, flag, reverse1),
#undef KEYWORD
};
static_assert(sizeof(keywords) / sizeof(keywords[0]) <= 64, "seen has a bit for each");

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
		return keywords[i].parse(ps, (char *)ps->insn + keywords[i].member);
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
