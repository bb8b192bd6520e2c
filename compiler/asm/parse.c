/* SPDX-License-Identifier: MIT */
/* Text to instructions: see asm.h. A word of the line is parsed as a whole or refused. */
#include "asm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

struct parser {
	const char *p; /* where the parser is in its word */
	struct neuron_insn *insn;
	struct ncc_asm_error *err;
	uint64_t fields; /* that the opcode has */
	uint32_t seen;
};

static int __attribute__((format(printf, 2, 3))) refuse(struct parser *ps, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ps->err->text, sizeof(ps->err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool skip(struct parser *ps, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(ps->p, text, n))
		return false;
	ps->p += n;
	return true;
}

/* Parses a decimal or 0x number up to max; a sign is taken only when min is negative. */
static int number(struct parser *ps, int64_t min, uint64_t max, int64_t *out)
{
	bool minus = min < 0 && *ps->p == '-';
	char *end;
	uint64_t v;

	ps->p += minus;
	if (*ps->p < '0' || *ps->p > '9')
		return refuse(ps, "a number is expected at '%.40s'", ps->p);
	errno = 0;
	v = strtoull(ps->p, &end, ps->p[0] == '0' && ps->p[1] == 'x' ? 16 : 10);
	if (errno || v > (minus ? -(uint64_t)min : max))
		return refuse(ps, "'%.40s' is out of range", ps->p);
	ps->p = end;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

static int u8(struct parser *ps, uint8_t *out)
{
	int64_t v = 0;
	int rc = number(ps, 0, UINT8_MAX, &v);

	*out = v;
	return rc;
}

static int u32(struct parser *ps, uint32_t *out)
{
	int64_t v = 0;
	int rc = number(ps, 0, UINT32_MAX, &v);

	*out = v;
	return rc;
}

static int expect(struct parser *ps, const char *text)
{
	return skip(ps, text) ? 0 : refuse(ps, "'%s' is expected at '%.40s'", text, ps->p);
}

/* Looks a name, which ends at a delimiter, up in a table of n names that are stride bytes apart. */
static int name_or_number(struct parser *ps, const void *names, size_t stride, unsigned int n,
			  uint8_t *out)
{
	size_t len = strspn(ps->p, "abcdefghijklmnopqrstuvwxyz_0123456789");

	if (*ps->p >= '0' && *ps->p <= '9')
		return u8(ps, out);
	for (unsigned int i = 0; i < n; i++) {
		const char *name = *(const char *const *)((const char *)names + i * stride);

		if (name && strlen(name) == len && !strncmp(name, ps->p, len)) {
			ps->p += len;
			*out = i;
			return 0;
		}
	}
	return refuse(ps, "unknown name '%.40s'", ps->p);
}

/* memory[partition,byte]:type */
static int place(struct parser *ps, uint32_t *offset, uint8_t *dtype)
{
	bool psum = skip(ps, "psum["), sbuf = !psum && skip(ps, "sbuf[");
	uint32_t stride = psum ? NEURON_PSUM_PART_STRIDE : NEURON_SBUF_PART_STRIDE;
	int64_t part = 0, byte;
	int rc;

	if (psum || sbuf) {
		if ((rc = number(ps, 0, NEURON_PARTITIONS - 1, &part)) || (rc = expect(ps, ",")) ||
		    (rc = number(ps, 0, stride - 1, &byte)))
			return rc;
		*offset = (psum ? NEURON_PSUM_OFFSET : 0) + part * stride + byte;
	} else {
		if ((rc = expect(ps, "window[")) || (rc = number(ps, 0, 0x3ffffff, &byte)))
			return rc;
		*offset = byte;
	}
	if ((rc = expect(ps, "]:")))
		return rc;
	rc = name_or_number(ps, &neuron_isa_dtypes[0].name, sizeof(neuron_isa_dtypes[0]), 64,
			    dtype);
	return rc ? rc : *dtype > 63 ? refuse(ps, "type code above 63") : 0;
}

static int access_pattern(struct parser *ps, struct neuron_ap *ap)
{
	int64_t step[NEURON_AP_DIMS], num[NEURON_AP_DIMS];
	int n = 0, rc = place(ps, &ap->offset, &ap->dtype);

	if (rc || (rc = expect(ps, "[")))
		return rc;
	do {
		if (n == NEURON_AP_DIMS)
			return refuse(ps, "at most %d pairs", NEURON_AP_DIMS);
		if ((rc = number(ps, INT16_MIN, INT16_MAX, &step[n])) || (rc = expect(ps, ":")) ||
		    (rc = number(ps, 0, UINT16_MAX, &num[n])))
			return rc;
		n++;
	} while (skip(ps, ","));
	for (int d = 0; d < NEURON_AP_DIMS; d++) {
		int from = d - (NEURON_AP_DIMS - n);

		ap->step[d] = from < 0 ? 0 : step[from];
		ap->num[d] = from < 0 ? 1 : num[from];
	}
	return expect(ps, "]");
}

static int f32(struct parser *ps, float *out)
{
	uint32_t bits;
	char *end;
	int rc;

	if (!strncmp(ps->p, "0x", 2)) {
		rc = u32(ps, &bits);
		memcpy(out, &bits, sizeof(bits));
		return rc;
	}
	*out = strtof(ps->p, &end);
	if (end == ps->p)
		return refuse(ps, "a number is expected at '%.40s'", ps->p);
	ps->p = end;
	return 0;
}

static int scalar(struct parser *ps, struct neuron_scalar *s)
{
	if (!skip(ps, "@"))
		return f32(ps, &s->f);
	s->kind = NEURON_SCALAR_PTR;
	return place(ps, &s->offset, &s->dtype);
}

static int range(struct parser *ps)
{
	int rc = u8(ps, &ps->insn->first);

	if (rc || (rc = expect(ps, ":")))
		return rc;
	return u8(ps, &ps->insn->last);
}

static int write_pair(struct parser *ps, int i)
{
	int64_t addr;
	int rc = number(ps, 0, UINT64_MAX, &addr);

	ps->insn->write[i].addr = addr;
	if (rc || (rc = expect(ps, ":")))
		return rc;
	return u32(ps, &ps->insn->write[i].value);
}

static int version(struct parser *ps)
{
	int64_t v;
	int rc = number(ps, 0, UINT16_MAX, &v);

	ps->insn->isa_version = rc ? 0 : v;
	return rc;
}

static int seed(struct parser *ps)
{
	int64_t v = 0;
	int rc = number(ps, 0, UINT64_MAX, &v);

	ps->insn->seed = (uint64_t)v;
	return rc;
}

static int bias(struct parser *ps, uint8_t *out)
{
	int64_t v = 0;
	int rc = number(ps, -8, 7, &v);

	*out = (uint8_t)(v & ((1 << NEURON_ISA_BIAS_BITS) - 1));
	return rc;
}

static int alu(struct parser *ps, uint8_t *op)
{
	return name_or_number(ps, &neuron_isa_alus[0].name, sizeof(neuron_isa_alus[0]),
			      NEURON_ISA_ALU_COUNT, op);
}

/* The words of the form name=value, and the field that each sets */
static const struct keyword {
	const char *name;
	uint32_t field;
} keywords[] = {
	{ "p=", NEURON_FB(PARTITIONS) },
	{ "dst=", NEURON_FB(DST) },
	{ "src0=", NEURON_FB(SRC0) },
	{ "src1=", NEURON_FB(SRC1) },
	{ "scalar0=", NEURON_FB(SCALAR0) },
	{ "scalar1=", NEURON_FB(SCALAR1) },
	{ "op0=", NEURON_FB(OP0) },
	{ "op1=", NEURON_FB(OP1) },
	{ "func=", NEURON_FB(FUNC) },
	{ "reduce_cmd=", NEURON_FB(REDUCE_CMD) },
	{ "neighbours=", NEURON_FB(NEIGHBOURS) },
	{ "src_bias=", NEURON_FB(BIAS) },
	{ "dst_bias=", NEURON_FB(BIAS) },
	{ "reduce_dims=", NEURON_FB(REDUCE_DIMS) },
	{ "alpha=", NEURON_FB(ALPHA) },
	{ "scale=", NEURON_FB(RESULT_SCALE) },
	{ "id=", NEURON_FB(ID) },
	{ "version=", NEURON_FB(VERSION) },
	{ "rounding=", NEURON_FB(ROUNDING) },
	{ "seed=", NEURON_FB(ROUNDING) },
	{ "range=", NEURON_FB(RANGE) },
	{ "write0=", NEURON_FB(WRITE) },
	{ "write1=", NEURON_FB(WRITE) },
	{ "accumulate", NEURON_FB(ACCUMULATE) },
	{ "negate", NEURON_FB(NEGATE) },
	{ "check", NEURON_FB(CHECK) },
	{ "reverse0", NEURON_FB(REVERSE0) },
	{ "reverse1", NEURON_FB(REVERSE1) },
};

static int value(struct parser *ps, const struct keyword *k)
{
	struct neuron_insn *in = ps->insn;

	switch (k->field) {
	case NEURON_FB(PARTITIONS):
		return u8(ps, &in->partitions);
	case NEURON_FB(DST):
		return access_pattern(ps, &in->dst);
	case NEURON_FB(SRC0):
		return access_pattern(ps, &in->src0);
	case NEURON_FB(SRC1):
		return access_pattern(ps, &in->src1);
	case NEURON_FB(SCALAR0):
		return scalar(ps, &in->scalar0);
	case NEURON_FB(SCALAR1):
		return scalar(ps, &in->scalar1);
	case NEURON_FB(OP0):
		return alu(ps, &in->op0);
	case NEURON_FB(OP1):
		return alu(ps, &in->op1);
	case NEURON_FB(FUNC):
		return name_or_number(ps, neuron_isa_funcs, sizeof(char *), NEURON_ACT_COUNT,
				      &in->func);
	case NEURON_FB(REDUCE_CMD):
		return name_or_number(ps, neuron_isa_reduce_cmds, sizeof(char *),
				      NEURON_ISA_REDUCE_CMDS, &in->reduce_cmd);
	case NEURON_FB(REDUCE_DIMS):
		return u8(ps, &in->reduce_dims);
	case NEURON_FB(NEIGHBOURS):
		return u8(ps, &in->neighbours);
	case NEURON_FB(BIAS):
		return bias(ps, k->name[0] == 's' ? &in->src_bias : &in->dst_bias);
	case NEURON_FB(ALPHA):
	case NEURON_FB(RESULT_SCALE):
		return f32(ps, &in->alpha);
	case NEURON_FB(ID):
		return u32(ps, &in->id);
	case NEURON_FB(VERSION):
		return version(ps);
	case NEURON_FB(ROUNDING):
		return k->name[0] == 's' ? seed(ps)
					 : name_or_number(ps, neuron_isa_roundings, sizeof(char *),
							  NEURON_ROUND_COUNT, &in->rounding);
	case NEURON_FB(RANGE):
		return range(ps);
	case NEURON_FB(WRITE):
		return write_pair(ps, k->name[5] - '0');
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
	if (skip(ps, "@complete"))
		return 0;
	if (!skip(ps, "@read"))
		return refuse(ps, "'@complete' or '@read' is expected at '%.40s'", ps->p);
	ps->insn->trigger = NEURON_TRIG_READ;
	return 0;
}

static int wait_is(struct parser *ps, uint8_t wait, uint8_t index)
{
	if (ps->insn->wait)
		return refuse(ps, "a second wait");
	ps->insn->wait = wait;
	ps->insn->wait_index = index;
	return wait <= NEURON_WAIT_SEM_LE ? u32(ps, &ps->insn->wait_value) : 0;
}

static int update_is(struct parser *ps, uint8_t update, uint8_t index)
{
	int rc = 0;

	if (ps->insn->update)
		return refuse(ps, "a second update");
	ps->insn->update = update;
	ps->insn->update_index = index;
	if (update >= NEURON_UPD_SEM_ADD_IMM && update <= NEURON_UPD_SEM_WR_IMM)
		rc = u32(ps, &ps->insn->update_value);
	return rc ? rc : trigger(ps);
}

/* $S[i]..., after the index */
static int semaphore(struct parser *ps, uint8_t i)
{
	if (skip(ps, "=="))
		return wait_is(ps, NEURON_WAIT_SEM_EQ, i);
	if (skip(ps, ">="))
		return wait_is(ps, NEURON_WAIT_SEM_GE, i);
	if (skip(ps, "<="))
		return wait_is(ps, NEURON_WAIT_SEM_LE, i);
	if (skip(ps, "++"))
		return update_is(ps, NEURON_UPD_SEM_INC, i);
	if (skip(ps, "--"))
		return update_is(ps, NEURON_UPD_SEM_DEC, i);
	if (skip(ps, "+="))
		return update_is(ps, NEURON_UPD_SEM_ADD_IMM, i);
	if (skip(ps, "-="))
		return update_is(ps, NEURON_UPD_SEM_SUB_IMM, i);
	if (skip(ps, "="))
		return update_is(ps, NEURON_UPD_SEM_WR_IMM, i);
	return refuse(ps, "a comparison or an update is expected at '%.40s'", ps->p);
}

static int sync_word(struct parser *ps)
{
	bool inverted = skip(ps, "!"), event;
	uint8_t i;
	int rc;

	event = skip(ps, "$E[");
	if (!event && (inverted || (rc = expect(ps, "$S["))))
		return refuse(ps, "'$S[' or '$E[' is expected at '%.40s'", ps->p);
	if ((rc = u8(ps, &i)) || (rc = expect(ps, "]")))
		return rc;
	if (!event)
		return semaphore(ps, i);
	if (inverted || !*ps->p)
		return wait_is(ps, inverted ? NEURON_WAIT_EVT_CLR : NEURON_WAIT_EVT_SET, i);
	if (skip(ps, "=1"))
		return update_is(ps, NEURON_UPD_EVT_SET, i);
	if (skip(ps, "=0"))
		return update_is(ps, NEURON_UPD_EVT_CLR, i);
	return refuse(ps, "'=1' or '=0' is expected at '%.40s'", ps->p);
}

static int word(struct parser *ps)
{
	if (*ps->p == '$' || *ps->p == '!')
		return sync_word(ps);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (!skip(ps, keywords[i].name))
			continue;
		if (!(ps->fields & keywords[i].field))
			return refuse(ps, "the instruction has no '%s'", keywords[i].name);
		if (ps->seen & 1u << i)
			return refuse(ps, "'%s' twice", keywords[i].name);
		ps->seen |= 1u << i;
		return value(ps, &keywords[i]);
	}
	return refuse(ps, "unknown word '%.40s'", ps->p);
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
	return refuse(ps, "unknown instruction '%.40s'", name);
}

int ncc_asm_parse(const char *line, struct neuron_insn *insn, struct ncc_asm_error *err)
{
	struct parser ps = { .insn = insn, .err = err };
	char buf[NCC_ASM_LINE * 2], *save = NULL, *w;
	size_t len = strcspn(line, ";#\n");
	int rc;

	memset(insn, 0, sizeof(*insn));
	err->text[0] = 0;
	if (len >= sizeof(buf))
		return refuse(&ps, "the line is too long");
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
			rc = refuse(&ps, "'%.40s' is left over in '%.40s'", ps.p, w);
	}
	return rc ? rc : 1;
}
