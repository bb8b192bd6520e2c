/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of the GpSimd engine's processors: decoded words, one dispatch each, fp32 through
 * the host's own (tpb.c has set it up: to nearest even, gradual underflow). It executes what it is
 * given for a slice and leaves all its state in struct gps_core. Called by exec_custom.c.
 */
#include "exec.h"
#include "gps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_BYTES ((NEURON_GPS_LIB_MAX / 4 + 1) * sizeof(struct gps_insn))
#define ROOM (NEURON_GPS_CORES * NEURON_GPS_TCM + 2 * NEURON_GPS_LIB_MAX + CODE_BYTES)

int gps_new(struct gps **out)
{
	struct gps *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	/* a mapping of its own: pages that nobody has used yet take no memory, which calloc clears */
	g->tcm = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->tcm == MAP_FAILED) {
		free(g);
		return -ENOMEM;
	}
	g->lib = g->tcm + NEURON_GPS_CORES * NEURON_GPS_TCM;
	g->fresh = g->lib + NEURON_GPS_LIB_MAX;
	g->code = (struct gps_insn *)(g->fresh + NEURON_GPS_LIB_MAX);
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++)
		g->core[i].tcm = g->tcm + i * NEURON_GPS_TCM;
	*out = g;
	return 0;
}

void gps_free(struct gps *g)
{
	if (!g)
		return;
	munmap(g->tcm, ROOM);
	free(g);
}

void gps_reset(struct gps *g)
{
	g->running = false;
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++)
		g->core[i].live = false;
}

void gps_start(struct gps *g, uint32_t mask, uint32_t entry, uint32_t a0)
{
	g->running = true;
	g->mask = mask;
	g->turn = 0;
	g->round = 0;
	g->cause = NEURON_GPS_OK;
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++) {
		struct gps_core *c = &g->core[i];

		memset(c->x, 0, sizeof(c->x));
		memset(c->f, 0, sizeof(c->f));
		c->live = mask >> i & 1;
		c->retired = 0;
		c->pc = NEURON_GPS_LIB + entry;
		c->x[10] = a0;
		if (c->live)
			memset(c->tcm, 0, NEURON_GPS_TCM);
	}
}

static float as_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint32_t as_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* A result of arithmetic: RISC-V's canonical NaN is the other engines' */
static uint32_t result(float x)
{
	return x != x ? EXEC_NAN : as_bits(x);
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* The number if only one is, -0 below +0 */
static uint32_t least(uint32_t a, uint32_t b, uint32_t flip)
{
	float x = as_float(a ^ flip), y = as_float(b ^ flip);

	if (is_nan(a))
		return is_nan(b) ? EXEC_NAN : b;
	if (is_nan(b))
		return a;
	if (x == y)
		return ((a ^ flip) | (b ^ flip)) ^ flip;
	return x < y ? a : b;
}

static double rounded(float x, int32_t mode)
{
	double d = x, down, up;

	switch (mode) {
	case 0:
		return rint(d);
	case 1:
		return trunc(d);
	case 2:
		return floor(d);
	case 3:
		return ceil(d);
	default: /* to nearest, of two the one farther from 0; exact: d has 24 bits */
		down = trunc(d);
		up = d - down;
		return down + (up >= 0.5) - (up <= -0.5);
	}
}

static uint32_t to_signed(uint32_t bits, int32_t mode)
{
	double d;

	if (is_nan(bits))
		return INT32_MAX;
	d = rounded(as_float(bits), mode);
	return d >= 2147483648.0   ? INT32_MAX
	       : d < -2147483648.0 ? 0x80000000u
				   : (uint32_t)(int32_t)d;
}

static uint32_t to_unsigned(uint32_t bits, int32_t mode)
{
	double d;

	if (is_nan(bits))
		return UINT32_MAX;
	d = rounded(as_float(bits), mode);
	return d >= 4294967296.0 ? UINT32_MAX : d <= 0 ? 0 : (uint32_t)d;
}

/* -inf, negative normal, subnormal, zero, then the same of positive ones; signalling, quiet NaN */
static uint32_t class_of(uint32_t bits)
{
	uint32_t magnitude = bits & 0x7fffffff;
	unsigned int place;

	if (magnitude > 0x7f800000)
		return magnitude & 0x400000 ? 1 << 9 : 1 << 8;
	place = magnitude == 0x7f800000 ? 0 : magnitude >= 0x800000 ? 1 : magnitude ? 2 : 3;
	return 1u << (bits >> 31 ? place : 7 - place);
}

static uint32_t divide(uint32_t a, uint32_t b)
{
	if (!b)
		return UINT32_MAX;
	return b == UINT32_MAX ? -a : (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t remainder_of(uint32_t a, uint32_t b)
{
	if (!b)
		return a;
	return b == UINT32_MAX ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
}

/* Why an access of size bytes is none */
static enum neuron_gps_cause foreign(uint32_t addr, unsigned int size, bool store)
{
	if (addr & (size - 1))
		return NEURON_GPS_ALIGN;
	if (addr < NEURON_GPS_NULL || addr >= (uint32_t)-0x10000)
		return NEURON_GPS_STACK;
	return store ? NEURON_GPS_STORE : NEURON_GPS_LOAD;
}

/* An access to the TCM, the usual one, has one comparison, and one with the alignment */
static inline bool in_tcm(uint32_t addr, uint32_t size)
{
	return addr - NEURON_GPS_NULL < NEURON_GPS_TCM - NEURON_GPS_NULL && !(addr & (size - 1));
}

static inline bool in_lib(const struct gps *g, uint32_t addr, uint32_t size)
{
	return addr - NEURON_GPS_LIB < g->lib_bytes && !(addr & (size - 1));
}

static enum gps_stop fault(struct gps *g, unsigned int core, enum neuron_gps_cause cause,
			   uint32_t data)
{
	g->cause = cause;
	g->culprit = (uint8_t)core;
	g->fault_data = data;
	return GPS_FAULT;
}

#define DISPATCH()                    \
	do {                          \
		if (!left--)          \
			goto out;     \
		in = at++;            \
		goto *labels[in->op]; \
	} while (0)
#define X(name) x[in->name]
#define F(name) as_float(f[in->name])
#define SET(value)                   \
	do {                         \
		x[in->rd] = (value); \
		DISPATCH();          \
	} while (0)
#define SETF(value)                  \
	do {                         \
		f[in->rd] = (value); \
		DISPATCH();          \
	} while (0)
#define BRANCH(taken)                        \
	do {                                 \
		if (taken)                   \
			at = code + in->imm; \
		DISPATCH();                  \
	} while (0)
#define LOAD(type, to)                                                           \
	do {                                                                     \
		type v;                                                          \
                                                                                 \
		addr = X(rs1) + (uint32_t)in->imm;                               \
		if (in_tcm(addr, sizeof(v)))                                     \
			memcpy(&v, tcm + addr, sizeof(v));                       \
		else if (in_lib(g, addr, sizeof(v)))                             \
			memcpy(&v, g->lib + (addr - NEURON_GPS_LIB), sizeof(v)); \
		else {                                                           \
			cause = foreign(addr, sizeof(v), false);                 \
			goto bad;                                                \
		}                                                                \
		to[in->rd] = (uint32_t)v;                                        \
		DISPATCH();                                                      \
	} while (0)
#define STORE(type, from)                                       \
	do {                                                    \
		type v = (type)from[in->rs2];                   \
                                                                \
		addr = X(rs1) + (uint32_t)in->imm;              \
		if (!in_tcm(addr, sizeof(v))) {                 \
			cause = foreign(addr, sizeof(v), true); \
			goto bad;                               \
		}                                               \
		memcpy(tcm + addr, &v, sizeof(v));              \
		DISPATCH();                                     \
	} while (0)

enum gps_stop gps_run(struct tpb *t, struct gps *g, unsigned int core, uint32_t n)
{
	static const void *const labels[] = {
#define GPS_OP(name) &&L_##name,
#include "gps_ops.def"
#undef GPS_OP
	};
	struct gps_core *const c = &g->core[core];
	const struct gps_insn *const code = g->code, *at, *in;
	uint32_t *const x = c->x, *const f = c->f, words = g->lib_bytes / 4;
	uint8_t *const tcm = c->tcm;
	enum neuron_gps_cause cause;
	uint32_t addr, left = n, cost;
	bool ended = false;

	at = code + (c->pc - NEURON_GPS_LIB) / 4;
	DISPATCH();
L_ILLEGAL:
	addr = (uint32_t)in->imm;
	cause = NEURON_GPS_ILLEGAL;
	goto bad;
L_END:
	addr = NEURON_GPS_LIB + words * 4;
	cause = NEURON_GPS_FETCH;
	goto bad;
L_LUI:
	SET((uint32_t)in->imm);
L_JAL:
	x[in->rd] = NEURON_GPS_LIB + (uint32_t)(at - code) * 4;
	at = code + in->imm;
	DISPATCH();
L_JALR:
	addr = (X(rs1) + (uint32_t)in->imm) & ~1u;
	if (addr & 3 || addr - NEURON_GPS_LIB >= words * 4) {
		cause = NEURON_GPS_FETCH;
		goto bad;
	}
	x[in->rd] = NEURON_GPS_LIB + (uint32_t)(at - code) * 4;
	at = code + (addr - NEURON_GPS_LIB) / 4;
	DISPATCH();
L_BEQ:
	BRANCH(X(rs1) == X(rs2));
L_BNE:
	BRANCH(X(rs1) != X(rs2));
L_BLT:
	BRANCH((int32_t)X(rs1) < (int32_t)X(rs2));
L_BGE:
	BRANCH((int32_t)X(rs1) >= (int32_t)X(rs2));
L_BLTU:
	BRANCH(X(rs1) < X(rs2));
L_BGEU:
	BRANCH(X(rs1) >= X(rs2));
L_LB:
	LOAD(int8_t, x);
L_LH:
	LOAD(int16_t, x);
L_LW:
	LOAD(uint32_t, x);
L_LBU:
	LOAD(uint8_t, x);
L_LHU:
	LOAD(uint16_t, x);
L_SB:
	STORE(uint8_t, x);
L_SH:
	STORE(uint16_t, x);
L_SW:
	STORE(uint32_t, x);
L_ADDI:
	SET(X(rs1) + (uint32_t)in->imm);
L_SLTI:
	SET((int32_t)X(rs1) < in->imm);
L_SLTIU:
	SET(X(rs1) < (uint32_t)in->imm);
L_XORI:
	SET(X(rs1) ^ (uint32_t)in->imm);
L_ORI:
	SET(X(rs1) | (uint32_t)in->imm);
L_ANDI:
	SET(X(rs1) & (uint32_t)in->imm);
L_SLLI:
	SET(X(rs1) << in->imm);
L_SRLI:
	SET(X(rs1) >> in->imm);
L_SRAI:
	SET((uint32_t)((int32_t)X(rs1) >> in->imm));
L_ADD:
	SET(X(rs1) + X(rs2));
L_SUB:
	SET(X(rs1) - X(rs2));
L_SLL:
	SET(X(rs1) << (X(rs2) & 31));
L_SLT:
	SET((int32_t)X(rs1) < (int32_t)X(rs2));
L_SLTU:
	SET(X(rs1) < X(rs2));
L_XOR:
	SET(X(rs1) ^ X(rs2));
L_SRL:
	SET(X(rs1) >> (X(rs2) & 31));
L_SRA:
	SET((uint32_t)((int32_t)X(rs1) >> (X(rs2) & 31)));
L_OR:
	SET(X(rs1) | X(rs2));
L_AND:
	SET(X(rs1) & X(rs2));
L_MUL:
	SET(X(rs1) * X(rs2));
L_MULH:
	SET((uint32_t)((int64_t)(int32_t)X(rs1) * (int32_t)X(rs2) >> 32));
L_MULHSU:
	SET((uint32_t)((int64_t)(int32_t)X(rs1) * X(rs2) >> 32));
L_MULHU:
	SET((uint32_t)((uint64_t)X(rs1) * X(rs2) >> 32));
L_DIV:
	SET(divide(X(rs1), X(rs2)));
L_DIVU:
	SET(X(rs2) ? X(rs1) / X(rs2) : UINT32_MAX);
L_REM:
	SET(remainder_of(X(rs1), X(rs2)));
L_REMU:
	SET(X(rs2) ? X(rs1) % X(rs2) : X(rs1));
L_FENCE:
	DISPATCH();
L_ECALL:
	cause = gps_call(t, g, core, &cost, &ended);
	addr = x[17];
	if (cause)
		goto bad;
	if (ended)
		goto out;
	left = cost < left ? left - cost : 0;
	DISPATCH();
L_CSR_FRM:
	if (X(rs1) & (uint32_t)in->imm) {
		addr = X(rs1);
		cause = NEURON_GPS_ILLEGAL;
		goto bad;
	}
L_CSR:
	SET(0);
L_FLW:
	LOAD(uint32_t, f);
L_FSW:
	STORE(uint32_t, f);
L_FMADD:
	SETF(result(fmaf(F(rs1), F(rs2), as_float(f[in->imm]))));
L_FMSUB:
	SETF(result(fmaf(F(rs1), F(rs2), -as_float(f[in->imm]))));
L_FNMSUB:
	SETF(result(fmaf(-F(rs1), F(rs2), as_float(f[in->imm]))));
L_FNMADD:
	SETF(result(fmaf(-F(rs1), F(rs2), -as_float(f[in->imm]))));
L_FADD:
	SETF(result(F(rs1) + F(rs2)));
L_FSUB:
	SETF(result(F(rs1) - F(rs2)));
L_FMUL:
	SETF(result(F(rs1) * F(rs2)));
L_FDIV:
	SETF(result(F(rs1) / F(rs2)));
L_FSQRT:
	SETF(result(sqrtf(F(rs1))));
L_FSGNJ:
	SETF((f[in->rs1] & 0x7fffffff) | (f[in->rs2] & 0x80000000));
L_FSGNJN:
	SETF((f[in->rs1] & 0x7fffffff) | (~f[in->rs2] & 0x80000000));
L_FSGNJX:
	SETF(f[in->rs1] ^ (f[in->rs2] & 0x80000000));
L_FMIN:
	SETF(least(f[in->rs1], f[in->rs2], 0));
L_FMAX:
	SETF(least(f[in->rs1], f[in->rs2], 0x80000000));
L_FCVT_W:
	SET(to_signed(f[in->rs1], in->imm));
L_FCVT_WU:
	SET(to_unsigned(f[in->rs1], in->imm));
L_FMV_X:
	SET(f[in->rs1]);
L_FEQ:
	SET(F(rs1) == F(rs2));
L_FLT:
	SET(F(rs1) < F(rs2));
L_FLE:
	SET(F(rs1) <= F(rs2));
L_FCLASS:
	SET(class_of(f[in->rs1]));
L_FCVT_S:
	SETF(as_bits((float)(int32_t)X(rs1)));
L_FCVT_SU:
	SETF(as_bits((float)X(rs1)));
L_FMV_F:
	SETF(X(rs1));
bad:
	c->pc = NEURON_GPS_LIB + (uint32_t)(in - code) * 4;
	if (cause == NEURON_GPS_FAILED && in_lib(g, x[12], 1))
		c->pc = x[12];
	c->retired += n - left - 1;
	return fault(g, core, cause, addr);
out:
	c->pc = NEURON_GPS_LIB + (uint32_t)(at - code) * 4;
	c->retired += ended ? n - left : n;
	c->live = !ended;
	return ended ? GPS_ENDED : GPS_RAN;
}
