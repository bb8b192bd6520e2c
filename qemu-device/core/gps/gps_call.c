/* SPDX-License-Identifier: MIT */
/*
 * What a GpSimd processor asks of its core by ecall (docs/gpsimd.md, Calls): elements of the
 * instruction's arguments to and from its TCM, text for the ring, who it is. Every operand is
 * checked against what the processor has and what the argument is; a call that is refused stops it.
 * Called by gps.c, and at its start by gps_custom.c.
 */
#include "exec/exec_walk.h"
#include "gps.h"

#include <assert.h>

static_assert(sizeof(struct neuron_gps_arg) == 72, "as docs/gpsimd.md says");
static_assert(sizeof(struct neuron_gps_block) == 32, "as docs/gpsimd.md says");

/* n bytes of the processor's own memory; of the library too where they are only read. NULL: none */
static uint8_t *own(struct gps *g, const struct gps_core *c, uint32_t addr, uint32_t n, bool write)
{
	if (addr >= NEURON_GPS_NULL && addr <= NEURON_GPS_TCM && n <= NEURON_GPS_TCM - addr)
		return c->tcm + addr;
	addr -= NEURON_GPS_LIB;
	if (!write && addr <= g->lib_bytes && n <= g->lib_bytes - addr)
		return g->lib + addr;
	return NULL;
}

/* The pattern of an argument, as an instruction's operand */
static void pattern(const struct gps_arg *arg, struct neuron_ap *ap)
{
	const uint8_t *p = arg->raw.pattern;
	uint32_t first;

	memcpy(&first, p, 4);
	ap->offset = first & 0x3ffffff;
	ap->dtype = (uint8_t)(first >> 26);
	memcpy(ap->step, p + 4, sizeof(ap->step));
	memcpy(ap->num, p + 12, sizeof(ap->num));
}

static const char *check_onchip(struct tpb *t, const struct gps_arg *arg)
{
	struct neuron_isa_region r;
	struct neuron_ap ap;
	const char *reason;

	pattern(arg, &ap);
	reason = neuron_isa_locate(&ap, arg->raw.partitions, t->cfg.target, &r);
	if (reason)
		return reason;
	if (ap.dtype != arg->raw.dtype)
		return "the pattern's type is another one";
	return (uint64_t)r.count * arg->raw.partitions == arg->count
		       ? NULL
		       : "the pattern has another number of elements";
}

static const char *check_sizes(struct gps_arg *arg)
{
	const struct neuron_gps_arg *raw = &arg->raw;

	if (raw->ndim > NEURON_GPS_DIMS)
		return "more than eight dimensions";
	arg->count = 1;
	for (unsigned int d = 0; d < NEURON_GPS_DIMS; d++) {
		if (!raw->size[d] || (d >= raw->ndim && raw->size[d] != 1))
			return "a dimension has no elements, or is none";
		if (__builtin_mul_overflow(arg->count, raw->size[d], &arg->count) ||
		    arg->count > UINT32_MAX)
			return "more than 2^32 - 1 elements";
	}
	return NULL;
}

const char *gps_arg_check(struct tpb *t, struct gps_arg *arg, bool there)
{
	const struct neuron_gps_arg *raw = &arg->raw;
	const char *reason;

	if (raw->zero || raw->access & ~(NEURON_GPS_READS | NEURON_GPS_WRITES))
		return "a reserved bit is set";
	if (raw->kind == NEURON_GPS_SCALAR)
		return raw->access & NEURON_GPS_WRITES ? "a scalar is only read" : NULL;
	if (raw->dtype >= NEURON_ISA_DTYPE_COUNT || !(t->cfg.target->dtypes >> raw->dtype & 1))
		return "data type is not of this generation";
	arg->size = neuron_isa_dtypes[raw->dtype].size;
	reason = check_sizes(arg);
	if (reason)
		return reason;
	if (raw->kind == NEURON_GPS_ONCHIP)
		return check_onchip(t, arg);
	if (raw->kind != NEURON_GPS_DRAM)
		return "unknown kind";
	return !there || (t->cfg.ops->dram &&
			  !t->cfg.ops->dram(t->cfg.opaque, raw->place, NULL, arg->count * arg->size,
					    raw->access & NEURON_GPS_WRITES))
		       ? NULL
		       : "not DRAM that the core may reach";
}

static bool core_sane(const struct gps *g, const struct gps_core *c)
{
	uint32_t at = c->pc - NEURON_GPS_LIB;

	return !c->live || (!(at & 3) && at <= g->lib_bytes && gps_vector_sane(&c->vector));
}

bool gps_sane(struct tpb *t, struct gps *g)
{
	bool any = false;

	if (!g->running)
		return true;
	if (!t->cfg.ops->dram || !g->mask || g->mask >> NEURON_GPS_CORES || !g->lib_bytes ||
	    g->lib_bytes & 3 || g->ring_bytes & (g->ring_bytes - 1) ||
	    g->ring_bytes > NEURON_GPS_RING_MAX || !g->ring != !g->ring_bytes)
		return false;
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++) {
		if (!core_sane(g, &g->core[i]) || (g->core[i].live && !(g->mask >> i & 1)))
			return false;
		any |= i >= g->next && g->core[i].live;
	}
	for (uint32_t i = 0; i < g->args; i++)
		if (gps_arg_check(t, &g->arg[i], false))
			return false;
	return any;
}

/* Elements of a pattern from number at of its first partition's on, side by side in buf */
static void move_onchip(struct tpb *t, const struct gps_arg *arg, uint32_t at, uint8_t *buf,
			uint32_t n, bool write)
{
	struct neuron_isa_region r;
	struct exec_operand o;
	struct neuron_ap ap;

	pattern(arg, &ap);
	if (neuron_isa_locate(&ap, arg->raw.partitions, t->cfg.target, &r))
		return; /* It was located when the instruction started. */
	exec_operand_init(t, &o, &ap, &r);
	for (uint32_t p = at / r.count; n; p++) {
		uint32_t in = at % r.count, some = r.count - in < n ? r.count - in : n, rest = in;
		const void *from;

		exec_operand_row(&o, p);
		for (int d = (int)o.s.ndim - 1; d >= 0; rest /= o.s.num[d--]) {
			o.s.idx[d] = rest % o.s.num[d];
			o.s.pos += o.s.idx[d] * o.s.step[d];
		}
		if (write) {
			exec_stream_put(&o.s, buf, some);
		} else {
			from = exec_stream_get(&o.s, buf, some);
			if (from != buf)
				memcpy(buf, from, (size_t)some * o.s.size);
		}
		buf += (size_t)some * o.s.size;
		at += some;
		n -= some;
	}
}

/* a0 argument, a1 first element, a2 elements, a3 where in the processor's memory */
static bool move(struct tpb *t, struct gps *g, struct gps_core *c, bool write, uint32_t *cost)
{
	const uint32_t *a = c->x + 10;
	const struct gps_arg *arg = &g->arg[a[0] % NEURON_GPS_ARGS];
	uint8_t *buf;

	if (a[0] >= g->args || arg->raw.kind == NEURON_GPS_SCALAR ||
	    !(arg->raw.access & (write ? NEURON_GPS_WRITES : NEURON_GPS_READS)) ||
	    a[1] > arg->count || a[2] > arg->count - a[1] || a[2] > NEURON_GPS_LIB_MAX)
		return false;
	buf = own(g, c, a[3], a[2] * arg->size, !write);
	if (!buf)
		return false;
	*cost += a[2] * arg->size / 64;
	if (arg->raw.kind == NEURON_GPS_ONCHIP)
		move_onchip(t, arg, a[1], buf, a[2], write);
	else
		return !t->cfg.ops->dram(t->cfg.opaque, arg->raw.place + (uint64_t)a[1] * arg->size,
					 buf, (uint64_t)a[2] * arg->size, write);
	return true;
}

/* Text goes behind what is in the ring; what does not fit overwrites the oldest */
static void put(struct tpb *t, const struct gps *g, const uint8_t *text, uint32_t n)
{
	uint64_t head = 0;

	if (!g->ring)
		return;
	t->cfg.ops->dram(t->cfg.opaque, g->ring, &head, sizeof(head), false);
	while (n) {
		uint32_t at = (uint32_t)head & (g->ring_bytes - 1);
		uint32_t some = g->ring_bytes - at < n ? g->ring_bytes - at : n;

		t->cfg.ops->dram(t->cfg.opaque, g->ring + NEURON_GPS_RING_HEAD + at, (void *)text,
				 some, true);
		text += some;
		head += some;
		n -= some;
	}
	t->cfg.ops->dram(t->cfg.opaque, g->ring, &head, sizeof(head), true);
}

/* The processor's number among those that take part */
static uint32_t rank(const struct gps *g, unsigned int core)
{
	return (uint32_t)__builtin_popcount(g->mask & ((1u << core) - 1));
}

/*
 * Keeps a processor's text: of several only the first one's, but for the last words of one that
 * fails
 */
static bool print(struct tpb *t, struct gps *g, unsigned int core, bool last, uint32_t *cost)
{
	struct gps_core *c = &g->core[core];
	const uint8_t *text = own(g, c, c->x[10], c->x[11], false);

	if (!text)
		return false;
	*cost += c->x[11] / 64;
	if (last || !rank(g, core))
		put(t, g, text, c->x[11]);
	return true;
}

static bool copy(struct gps *g, struct gps_core *c, uint32_t *cost)
{
	const uint32_t *a = c->x + 10;
	uint8_t *to = own(g, c, a[0], a[2], true);
	const uint8_t *from = own(g, c, a[1], a[2], false);

	if (!to || !from)
		return false;
	memmove(to, from, a[2]);
	*cost += a[2] / 64;
	return true;
}

/* An argument without the places that a processor has no use for */
static bool describe(struct gps *g, struct gps_core *c)
{
	uint32_t k = c->x[10];
	struct neuron_gps_arg arg;
	uint8_t *to = own(g, c, c->x[11], sizeof(arg), true);

	if (k >= g->args || !to)
		return false;
	arg = g->arg[k].raw;
	if (arg.kind != NEURON_GPS_SCALAR)
		arg.place = 0;
	memset(arg.pattern, 0, sizeof(arg.pattern));
	memcpy(to, &arg, sizeof(arg));
	return true;
}

enum neuron_gps_cause gps_call(struct tpb *t, struct gps *g, unsigned int core, uint32_t *cost,
			       bool *ended)
{
	struct gps_core *c = &g->core[core];
	bool ok = true;

	*cost = 0;
	switch (c->x[17]) {
	case NEURON_GPS_EXIT:
		*ended = true;
		break;
	case NEURON_GPS_READ:
	case NEURON_GPS_WRITE:
		ok = move(t, g, c, c->x[17] == NEURON_GPS_WRITE, cost);
		break;
	case NEURON_GPS_PRINT:
		ok = print(t, g, core, false, cost);
		break;
	case NEURON_GPS_CPU_ID:
		c->x[10] = rank(g, core);
		break;
	case NEURON_GPS_CPU_COUNT:
		c->x[10] = (uint32_t)__builtin_popcount(g->mask);
		break;
	case NEURON_GPS_FAIL:
		if (print(t, g, core, true, cost))
			return NEURON_GPS_FAILED;
		ok = false;
		break;
	case NEURON_GPS_COPY:
		ok = copy(g, c, cost);
		break;
	case NEURON_GPS_ARG_COUNT:
		c->x[10] = g->args;
		break;
	case NEURON_GPS_ARG:
		ok = describe(g, c);
		break;
	default:
		ok = false;
	}
	return ok ? NEURON_GPS_OK : NEURON_GPS_CALL;
}
