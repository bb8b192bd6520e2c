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
	uint64_t seen; /* a bit for each of the keywords */
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

static int type(struct parser *ps, uint8_t *dtype)
{
	int rc = name_or_number(ps, &neuron_isa_dtypes[0].name, sizeof(neuron_isa_dtypes[0]), 64,
				dtype);

	return rc ? rc : *dtype > 63 ? refuse(ps, "type code above 63") : 0;
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
	return type(ps, dtype);
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

static int address(struct parser *ps, uint64_t *out)
{
	int64_t v;
	int rc = number(ps, 0, UINT64_MAX, &v);

	*out = (uint64_t)v;
	return rc;
}

/* The members of CUSTOM_OP, which their first letters tell apart, of limit and library the third */
static int custom(struct parser *ps, const char *name)
{
	struct neuron_custom *c = &ps->insn->custom;

	switch (name[0]) {
	case 'l':
		return name[2] == 'm' ? u32(ps, &c->limit) : address(ps, &c->library);
	case 'a':
		return address(ps, &c->args);
	case 'b':
		return u32(ps, &c->bytes);
	case 'e':
		return u32(ps, &c->entry);
	case 'f':
		return u32(ps, &c->function);
	default:
		return u8(ps, &c->mask);
	}
}

static int u16(struct parser *ps, uint16_t *out)
{
	int64_t v;
	int rc = number(ps, 0, UINT16_MAX, &v);

	*out = (uint16_t)(rc ? 0 : v);
	return rc;
}

static int seed(struct parser *ps)
{
	int64_t v = 0;
	int rc = number(ps, 0, UINT64_MAX, &v);

	ps->insn->seed = (uint64_t)v;
	return rc;
}

static int reg(struct parser *ps, uint8_t *out)
{
	int rc = expect(ps, "r");

	return rc ? rc : u8(ps, out);
}

/* rN or a number of 32 bits, signed or not */
static int reg_or_value(struct parser *ps)
{
	int64_t v = 0;
	int rc;

	if (*ps->p == 'r')
		return reg(ps, &ps->insn->rb);
	rc = number(ps, INT32_MIN, UINT32_MAX, &v);
	ps->insn->immediate = true;
	ps->insn->value = (uint32_t)v;
	return rc;
}

static int s32(struct parser *ps, int32_t *out)
{
	int64_t v;
	int rc = number(ps, INT32_MIN, INT32_MAX, &v);

	*out = (int32_t)(rc ? 0 : v);
	return rc;
}

/* BASE,CHANNEL[step:num,...], all four pairs */
static int pattern(struct parser *ps, struct neuron_pattern *a)
{
	int rc = s32(ps, &a->base);

	if (rc || (rc = expect(ps, ",")) || (rc = s32(ps, &a->channel)))
		return rc;
	for (int d = 0; d < NEURON_AP_DIMS; d++)
		if ((rc = expect(ps, d ? "," : "[")) || (rc = s32(ps, &a->step[d])) ||
		    (rc = expect(ps, ":")) || (rc = u16(ps, &a->num[d])))
			return rc;
	return expect(ps, "]");
}

/* 32 partitions with commas between them */
static int shuffle(struct parser *ps, uint64_t word[4])
{
	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT; i++) {
		uint8_t v;
		int rc = i ? expect(ps, ",") : 0;

		if (rc || (rc = u8(ps, &v)))
			return rc;
		word[i / 8] |= (uint64_t)v << i % 8 * 8;
	}
	return 0;
}

/* hbm[address]:type, or a place in the core */
static int element(struct parser *ps)
{
	struct neuron_insn *in = ps->insn;
	uint32_t offset;
	int rc;

	if (!skip(ps, "hbm[")) {
		rc = place(ps, &offset, &in->rtype);
		in->address = offset;
		return rc;
	}
	in->device = true;
	if ((rc = address(ps, &in->address)) || (rc = expect(ps, "]:")))
		return rc;
	return type(ps, &in->rtype);
}

/* rN*scale */
static int element_index(struct parser *ps)
{
	int rc = reg(ps, &ps->insn->ra);

	ps->insn->indexed = true;
	if (rc || (rc = expect(ps, "*")))
		return rc;
	return s32(ps, &ps->insn->scale);
}

/* what:rN*scale */
static int patch(struct parser *ps, unsigned int i)
{
	struct neuron_insn *in = ps->insn;
	size_t len = strcspn(ps->p, ":");
	int rc;

	for (uint8_t k = 0; k < NEURON_PATCH_COUNT && !in->patch[i]; k++)
		if (neuron_isa_patches[k] && strlen(neuron_isa_patches[k]) == len &&
		    !strncmp(neuron_isa_patches[k], ps->p, len))
			in->patch[i] = k;
	if (in->patch[i])
		ps->p += len;
	else if ((rc = u8(ps, &in->patch[i])))
		return rc;
	if ((rc = expect(ps, ":")) || (rc = reg(ps, &in->patch_reg[i])) || (rc = expect(ps, "*")))
		return rc;
	return s32(ps, &in->patch_scale[i]);
}

/* address[step:num,...], pairs slowest first; then +rN*scale, and <limit */
static int dma_side(struct parser *ps, unsigned int i)
{
	struct neuron_insn *in = ps->insn;
	int64_t step[NEURON_DMA_DIMS] = { 0 }, num[NEURON_DMA_DIMS];
	unsigned int n = 0;
	int rc = address(ps, &in->dma_addr[i]);

	if (rc || (rc = expect(ps, "[")))
		return rc;
	do {
		if (n == NEURON_DMA_DIMS)
			return refuse(ps, "at most %d pairs", NEURON_DMA_DIMS);
		if ((rc = number(ps, INT32_MIN, INT32_MAX, &step[n])) || (rc = expect(ps, ":")) ||
		    (rc = number(ps, 0, UINT16_MAX, &num[n])))
			return rc;
		n++;
	} while (skip(ps, ","));
	for (unsigned int d = 0; d < NEURON_DMA_DIMS; d++) {
		bool there = d >= NEURON_DMA_DIMS - n;

		in->dma_step[i][d] = there ? (int32_t)step[d - (NEURON_DMA_DIMS - n)] : 0;
		in->dma_num[i][d] = there ? (uint16_t)num[d - (NEURON_DMA_DIMS - n)] : 1;
	}
	if ((rc = expect(ps, "]")))
		return rc;
	if (skip(ps, "+") && ((rc = reg(ps, &in->dma_reg[i])) || (rc = expect(ps, "*")) ||
			      (rc = s32(ps, &in->dma_scale[i]))))
		return rc;
	return skip(ps, "<") ? u32(ps, &in->dma_limit[i]) : 0;
}

/* engine:queue */
static int dma_queue(struct parser *ps)
{
	int rc = u8(ps, &ps->insn->dma_engine);

	return rc || (rc = expect(ps, ":")) ? rc : u8(ps, &ps->insn->dma_queue);
}

static int dma_word(struct parser *ps, const char *name)
{
	switch (name[0]) {
	case 'f':
		return dma_side(ps, 0);
	case 't':
		return dma_side(ps, 1);
	case 'r':
		return u32(ps, &ps->insn->dma_run);
	case 'q':
		return dma_queue(ps);
	case 'd':
		return u8(ps, &ps->insn->dma_semaphore);
	default:
		ps->insn->dma_skip = true;
		return 0;
	}
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
		return name_or_number(ps, neuron_isa_funcs, sizeof(char *), NEURON_ACT_COUNT,
				      &in->func);
	case NEURON_FB(REDUCE_CMD) | NEURON_FB(ACC_CMD):
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
	case NEURON_FB(IMM):
		return f32(ps, &in->imm);
	case NEURON_FB(ELEMS):
		return u16(ps, &in->count);
	case NEURON_FB(TOTAL):
		return u16(ps, &in->total);
	case NEURON_FB(PATTERN):
		return pattern(ps, &in->pattern);
	case NEURON_FB(SHUFFLE):
		return shuffle(ps, in->shuffle);
	case NEURON_FB(ID):
		return u32(ps, &in->id);
	case NEURON_FB(VERSION):
		return u16(ps, &in->isa_version);
	case NEURON_FB(ROUNDING):
		return k->name[0] == 's' ? seed(ps)
					 : name_or_number(ps, neuron_isa_roundings, sizeof(char *),
							  NEURON_ROUND_COUNT, &in->rounding);
	case NEURON_FB(RANGE):
		return range(ps);
	case NEURON_FB(WRITE):
		return write_pair(ps, k->name[5] - '0');
	case NEURON_FB(CUSTOM):
		return custom(ps, k->name);
	case NEURON_FB(WINDOW):
		return k->name[0] == 'b' ? address(ps, &in->address)
					 : u32(ps, k->name[0] == 'l' ? &in->length : &in->pc);
	case NEURON_FB(RD):
		return reg(ps, &in->rd);
	case NEURON_FB(RA):
		return reg(ps, &in->ra);
	case NEURON_FB(RB):
		return reg_or_value(ps);
	case NEURON_FB(REG_ALU):
		return name_or_number(ps, neuron_isa_reg_alus, sizeof(char *), NEURON_REG_ALU_COUNT,
				      &in->rop);
	case NEURON_FB(RELATION):
		return k->name[0] == 't' ? s32(ps, &in->target)
					 : name_or_number(ps, neuron_isa_relations, sizeof(char *),
							  NEURON_REL_COUNT, &in->rop);
	case NEURON_FB(PLACE):
		return k->name[0] == 'a' ? element(ps) : element_index(ps);
	case NEURON_FB(DMA):
		return dma_word(ps, k->name);
	case NEURON_FB(PATCH):
		return patch(ps, k->name[5] - '0');
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
		if (ps->seen & 1ull << i)
			return refuse(ps, "'%s' twice", keywords[i].name);
		ps->seen |= 1ull << i;
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
