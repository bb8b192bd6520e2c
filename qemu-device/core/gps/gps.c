/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of the GpSimd engine's processors: decoded words, one dispatch each, fp32 through
 * the host's own (tpb.c has set it up: to nearest even, gradual underflow). It executes what it is
 * given for a slice and leaves all its state in struct gps_core. Called by gps_custom.c.
 */
#include "exec/exec.h"
#include "gps.h"
#include "gps_math.h"
#include "gps_vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_BYTES ((NEURON_GPS_LIB_MAX / 4 + 1) * sizeof(struct gps_insn))
#define MAP_BYTES (NEURON_GPS_CORES * NEURON_GPS_TCM + 2 * NEURON_GPS_LIB_MAX + CODE_BYTES)

int gps_new(struct gps **out)
{
	struct gps *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	/*
	 * a mapping of its own: pages that nobody has used yet take no memory, which calloc clears
	 */
	g->tcm = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
	munmap(g->tcm, MAP_BYTES);
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
	g->next = 0;
	g->round = 0;
	g->cause = NEURON_GPS_OK;
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++) {
		struct gps_core *c = &g->core[i];

		memset(c->x, 0, sizeof(c->x));
		memset(c->f, 0, sizeof(c->f));
		memset(&c->vector, 0, sizeof(c->vector));
		c->vector.vtype = GPS_VILL;
		c->live = mask >> i & 1;
		c->retired = 0;
		c->pc = NEURON_GPS_LIB + entry;
		c->x[10] = a0;
		if (c->live)
			memset(c->tcm, 0, NEURON_GPS_TCM);
	}
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
#define F(name) gps_float(f[in->name])
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
		if (gps_in_tcm(addr, sizeof(v)))                                 \
			memcpy(&v, tcm + addr, sizeof(v));                       \
		else if (gps_in_lib(g, addr, sizeof(v)))                         \
			memcpy(&v, g->lib + (addr - NEURON_GPS_LIB), sizeof(v)); \
		else {                                                           \
			cause = gps_foreign(addr, sizeof(v), false);             \
			goto bad;                                                \
		}                                                                \
		to[in->rd] = (uint32_t)v;                                        \
		DISPATCH();                                                      \
	} while (0)
#define STORE(type, from)                                           \
	do {                                                        \
		type v = (type)from[in->rs2];                       \
                                                                    \
		addr = X(rs1) + (uint32_t)in->imm;                  \
		if (!gps_in_tcm(addr, sizeof(v))) {                 \
			cause = gps_foreign(addr, sizeof(v), true); \
			goto bad;                                   \
		}                                                   \
		memcpy(tcm + addr, &v, sizeof(v));                  \
		DISPATCH();                                         \
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
	uint32_t addr, left = n, cost, data;
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
	SET(gps_divide(X(rs1), X(rs2)));
L_DIVU:
	SET(X(rs2) ? X(rs1) / X(rs2) : UINT32_MAX);
L_REM:
	SET(gps_remainder(X(rs1), X(rs2)));
L_REMU:
	SET(X(rs2) ? X(rs1) % X(rs2) : X(rs1));
L_FENCE:
	DISPATCH();
L_ECALL:
	cause = gps_call(t, g, core, &cost, &ended);
	addr = x[17];
called:
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
	SETF(gps_result(fmaf(F(rs1), F(rs2), gps_float(f[in->imm]))));
L_FMSUB:
	SETF(gps_result(fmaf(F(rs1), F(rs2), -gps_float(f[in->imm]))));
L_FNMSUB:
	SETF(gps_result(fmaf(-F(rs1), F(rs2), gps_float(f[in->imm]))));
L_FNMADD:
	SETF(gps_result(fmaf(-F(rs1), F(rs2), -gps_float(f[in->imm]))));
L_FADD:
	SETF(gps_result(F(rs1) + F(rs2)));
L_FSUB:
	SETF(gps_result(F(rs1) - F(rs2)));
L_FMUL:
	SETF(gps_result(F(rs1) * F(rs2)));
L_FDIV:
	SETF(gps_result(F(rs1) / F(rs2)));
L_FSQRT:
	SETF(gps_result(sqrtf(F(rs1))));
L_FSGNJ:
	SETF((f[in->rs1] & 0x7fffffff) | (f[in->rs2] & 0x80000000));
L_FSGNJN:
	SETF((f[in->rs1] & 0x7fffffff) | (~f[in->rs2] & 0x80000000));
L_FSGNJX:
	SETF(f[in->rs1] ^ (f[in->rs2] & 0x80000000));
L_FMIN:
	SETF(gps_least(f[in->rs1], f[in->rs2], 0));
L_FMAX:
	SETF(gps_least(f[in->rs1], f[in->rs2], 0x80000000));
L_FCVT_W:
	SET(gps_to_signed(f[in->rs1], in->imm));
L_FCVT_WU:
	SET(gps_to_unsigned(f[in->rs1], in->imm));
L_FMV_X:
	SET(f[in->rs1]);
L_FEQ:
	SET(F(rs1) == F(rs2));
L_FLT:
	SET(F(rs1) < F(rs2));
L_FLE:
	SET(F(rs1) <= F(rs2));
L_FCLASS:
	SET(gps_class(f[in->rs1]));
L_FCVT_S:
	SETF(gps_bits((float)(int32_t)X(rs1)));
L_FCVT_SU:
	SETF(gps_bits((float)X(rs1)));
L_FMV_F:
	SETF(X(rs1));
L_VSET:
L_VCSR:
L_VMEMORY:
L_VECTOR:
	/* not to addr itself, which would be memory for all instructions */
	cause = gps_vector(g, core, in, &cost, &data);
	addr = data;
	goto called;
bad:
	c->pc = NEURON_GPS_LIB + (uint32_t)(in - code) * 4;
	if (cause == NEURON_GPS_FAILED && gps_in_lib(g, x[12], 1))
		c->pc = x[12];
	c->retired += n - left - 1;
	return fault(g, core, cause, addr);
out:
	c->pc = NEURON_GPS_LIB + (uint32_t)(at - code) * 4;
	c->retired += ended ? n - left : n;
	c->live = !ended;
	return ended ? GPS_ENDED : GPS_RAN;
}
