/* SPDX-License-Identifier: MIT */
/*
 * A sequencer from NeuronCore-v2 on: instructions from a window of memory, registers, branches
 * (docs/isa.md, Registers and control flow). Called by tpb.c for an engine whose head is to be
 * found in a window, and for instructions that work on registers.
 *
 * An instruction is read when the one before it has been issued; its words are state from then on.
 * A decoded instruction stays in a cache for the next time the same words stand at its place: words
 * are compared, so that nobody needs to say that he writes instructions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gps/gps.h"
#include "tpb_engine.h"

/* Entries of a window's cache of decoded instructions, by their places */
#define CACHED 256

struct tpb_cached {
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int nwords; /* what decoding them returned; 0: nothing is here */
	uint16_t wait_word;
	bool checked; /* and fine: at is where its operands lie */
	struct neuron_insn insn;
	struct neuron_isa_operands at;
};

/* An engine that never fetches takes no memory for it */
static bool make_cache(struct tpb_window *w)
{
	if (!w->cache)
		w->cache = calloc(CACHED, sizeof(struct tpb_cached));
	return w->cache;
}

void tpb_window_free(struct tpb *t)
{
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		free(t->eng[e].window.cache);
}

void tpb_window_reset(struct tpb_engine *eng)
{
	eng->window.on = false;
	eng->window.base = eng->window.pc = eng->window.length = 0;
	memset(eng->reg, 0, sizeof(eng->reg));
}

static const uint8_t *window_code(const struct tpb *t, uint64_t base, uint32_t length)
{
	return t->cfg.ops->window ? t->cfg.ops->window(t->cfg.opaque, base, length) : NULL;
}

/* Does the rest of the window begin with n words? */
static bool has_words(const struct tpb_window *w, unsigned int n)
{
	return w->pc < w->length && w->length - w->pc >= (uint64_t)n * NEURON_INSN_WORD;
}

static struct tpb_cached *place(const struct tpb_window *w)
{
	return &w->cache[w->pc / NEURON_INSN_WORD % CACHED];
}

static bool two_words(const uint8_t *words)
{
	return words[NEURON_ISA_EXT_BIT / 8] & 1 << NEURON_ISA_EXT_BIT % 8;
}

/* Compares 64 bytes: a call would cost as much as the rest. */
static bool same_word(const uint8_t *a, const uint8_t *b)
{
	uint64_t x[8], y[8], differ = 0;

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	for (unsigned int i = 0; i < 8; i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

static bool same(const struct tpb_cached *k, const uint8_t *words)
{
	return k->nwords > 0 && same_word(k->words, words) &&
	       (k->nwords == 1 || same_word(k->words + NEURON_INSN_WORD, words + NEURON_INSN_WORD));
}

/* From the words in k, of an instruction behind which the window goes on or not */
static void decode(struct tpb *t, struct tpb_cached *k, bool more)
{
	k->nwords = neuron_isa_decode_for(k->words, two_words(k->words) && more ? 2 : 1,
					  t->cfg.target->core, &k->insn);
	k->wait_word = k->nwords > 0 ? tpb_wait_word(t, &k->insn) : TPB_WORD_NONE;
	k->checked = false;
}

/* Memory is read once, as others may be writing there */
static void read_words(struct tpb *t, struct tpb_cached *k, const uint8_t *words, bool more)
{
	if (same(k, words) && (k->nwords == 1 || more))
		return;
	memcpy(k->words, words, NEURON_INSN_WORD);
	memset(k->words + NEURON_INSN_WORD, 0, NEURON_INSN_WORD);
	if (two_words(k->words) && more)
		memcpy(k->words + NEURON_INSN_WORD, words + NEURON_INSN_WORD, NEURON_INSN_WORD);
	decode(t, k, more);
}

static void take_head(struct tpb_engine *eng, struct tpb_cached *k)
{
	eng->cached = k;
	eng->insn = &k->insn;
	eng->wait_word = k->wait_word;
	if (k->nwords > 0) {
		eng->head = TPB_HEAD_READY;
		eng->head_words = (unsigned int)k->nwords;
	} else {
		eng->head = k->nwords == -EAGAIN ? TPB_HEAD_OUTSIDE : TPB_HEAD_ILLEGAL;
	}
}

static void window_head(struct tpb *t, unsigned int e, bool read)
{
	struct tpb_engine *eng = &t->eng[e];
	struct tpb_window *w = &eng->window;
	struct tpb_cached *k = place(w);

	eng->arrived = 0;
	eng->wait_word = TPB_WORD_NONE;
	eng->cached = NULL;
	eng->start = TPB_NEVER;
	if (!has_words(w, 1)) {
		eng->head = TPB_HEAD_OUTSIDE;
	} else if (!w->code) {
		eng->head = TPB_HEAD_REFUSED;
	} else {
		if (read)
			read_words(t, k, w->code + w->pc, has_words(w, 2));
		else
			decode(t, k, has_words(w, 2));
		take_head(eng, k);
		/* what has started waits no more */
		if (e == NEURON_ENG_GPSIMD && gps_custom_running(t))
			eng->wait_word = TPB_WORD_NONE;
	}
	if (!eng->stopped)
		tpb_look(t, e);
}

void tpb_window_head(struct tpb *t, unsigned int e)
{
	window_head(t, e, true);
}

void tpb_window_resume(struct tpb *t, unsigned int e)
{
	struct tpb_window *w = &t->eng[e].window;

	w->code = window_code(t, w->base, w->length);
	window_head(t, e, false);
}

const uint8_t *tpb_window_words(const struct tpb_engine *eng)
{
	return eng->cached ? eng->cached->words : NULL;
}

bool tpb_window_put(struct tpb_engine *eng, const uint8_t *words)
{
	if (!make_cache(&eng->window))
		return false;
	memcpy(place(&eng->window)->words, words, sizeof(eng->window.cache->words));
	return true;
}

void tpb_windows_again(struct tpb *t)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (t->eng[e].window.on)
			tpb_window_resume(t, e);
}

int tpb_check_head(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
		   struct neuron_isa_fault *fault)
{
	/* what registers made of it may be something else each time */
	struct tpb_cached *k = insn == &t->patched ? NULL : t->eng[e].cached;
	int rc;

	if (k && k->checked) {
		if (neuron_isa_ops[insn->opcode].fields & NEURON_FB(PARTITIONS))
			t->at = k->at;
		return 0;
	}
	rc = neuron_isa_check_at(insn, e, t->cfg.target, fault, &t->at);
	if (k && !rc) {
		k->checked = true;
		k->at = t->at;
	}
	return rc;
}

const struct neuron_insn *tpb_patched(struct tpb *t, unsigned int e, struct neuron_isa_fault *fault)
{
	const char *reason = neuron_isa_check_patches(t->eng[e].insn, t->cfg.target);

	if (reason) {
		neuron_isa_illegal(fault, reason);
		return NULL;
	}
	t->patched = *t->eng[e].insn;
	return neuron_isa_patch(&t->patched, t->eng[e].reg, fault) ? NULL : &t->patched;
}

/* Instructions. false when the engine stopped */

static bool illegal(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	tpb_engine_stop(t, e, NEURON_NERR_ILLEGAL_INSN, insn->opcode, 0);
	return false;
}

static bool fetch(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	struct tpb_engine *eng = &t->eng[e];
	const uint8_t *code = window_code(t, insn->address, insn->length);

	if (!code || !make_cache(&eng->window)) {
		tpb_engine_stop(t, e, NEURON_NERR_FETCH_REFUSED, insn->address, insn->length);
		return false;
	}
	eng->window.on = true;
	eng->window.base = insn->address;
	eng->window.length = insn->length;
	eng->window.pc = insn->pc;
	eng->window.code = code;
	memset(eng->reg, 0, sizeof(eng->reg));
	return true;
}

static uint32_t operation(uint8_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case NEURON_REG_ADD:
		return a + b;
	case NEURON_REG_SUB:
		return a - b;
	case NEURON_REG_MUL:
		return a * b;
	case NEURON_REG_AND:
		return a & b;
	case NEURON_REG_OR:
		return a | b;
	case NEURON_REG_XOR:
		return a ^ b;
	case NEURON_REG_SHL:
		return b < 32 ? a << b : 0;
	case NEURON_REG_SHR:
		return b < 32 ? a >> b : 0;
	case NEURON_REG_SAR:
		return (uint32_t)((int32_t)a >> (b < 31 ? b : 31));
	case NEURON_REG_MIN:
		return (int32_t)a < (int32_t)b ? a : b;
	default:
		return (int32_t)a > (int32_t)b ? a : b;
	}
}

static bool holds(uint8_t relation, uint32_t a, uint32_t b)
{
	switch (relation) {
	case NEURON_REL_EQ:
		return a == b;
	case NEURON_REL_NE:
		return a != b;
	case NEURON_REL_LT:
		return (int32_t)a < (int32_t)b;
	case NEURON_REL_LE:
		return (int32_t)a <= (int32_t)b;
	case NEURON_REL_GT:
		return (int32_t)a > (int32_t)b;
	case NEURON_REL_GE:
		return (int32_t)a >= (int32_t)b;
	case NEURON_REL_LTU:
		return a < b;
	case NEURON_REL_GEU:
		return a >= b;
	default:
		return true;
	}
}

/* An element of the core's memories, by an offset in its window that was checked */
static uint8_t *core_element(const struct tpb *t, uint64_t offset)
{
	if (offset < NEURON_PSUM_OFFSET)
		return t->cfg.sbuf + offset / NEURON_SBUF_PART_STRIDE * t->cfg.sbuf_host_stride +
		       offset % NEURON_SBUF_PART_STRIDE;
	offset -= NEURON_PSUM_OFFSET;
	return t->cfg.psum + offset / NEURON_PSUM_PART_STRIDE * t->cfg.psum_host_stride +
	       offset % NEURON_PSUM_PART_STRIDE;
}

/* Copies an element from or to its place; the place's address, known now, is checked again */
static bool element(struct tpb *t, unsigned int e, const struct neuron_insn *insn, void *raw,
		    bool write)
{
	const unsigned int size = neuron_isa_dtypes[insn->rtype].size;
	uint64_t at = insn->address;

	if (insn->indexed)
		at += (uint64_t)((int64_t)(int32_t)t->eng[e].reg[insn->ra] * insn->scale);
	if (neuron_isa_element(at, insn->rtype, insn->device, t->cfg.target) ||
	    (insn->device &&
	     (!t->cfg.ops->dram || t->cfg.ops->dram(t->cfg.opaque, at, raw, size, write)))) {
		tpb_engine_stop(t, e, NEURON_NERR_ELEMENT_REFUSED, at, insn->opcode);
		return false;
	}
	if (insn->device)
		return true;
	if (write)
		memcpy(core_element(t, at), raw, size);
	else
		memcpy(raw, core_element(t, at), size);
	return true;
}

static uint32_t extended(uint32_t raw, uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return (uint32_t)(int8_t)raw;
	case NEURON_DT_INT16:
		return (uint32_t)(int16_t)raw;
	default:
		return raw;
	}
}

/* A register's addition to a side's address. false: beyond the limit */
static bool displace(const struct tpb_engine *eng, const struct neuron_insn *insn,
		     unsigned int side, int64_t *v)
{
	*v = (int64_t)(int32_t)eng->reg[insn->dma_reg[side]] * insn->dma_scale[side];
	return !insn->dma_limit[side] || (*v >= 0 && *v < insn->dma_limit[side]);
}

static bool transfer(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	struct tpb_transfer tr = { .run = insn->dma_run,
				   .engine = insn->dma_engine,
				   .queue = insn->dma_queue,
				   .semaphore = insn->dma_semaphore };
	int64_t v;

	for (unsigned int i = 0; i < 2; i++) {
		if (!displace(&t->eng[e], insn, i, &v)) {
			if (!insn->dma_skip) {
				tpb_engine_stop(t, e, NEURON_NERR_DMA_OOB, (uint64_t)v, i);
				return false;
			}
			memset(tr.num, 0, sizeof(tr.num)); /* nothing but its end */
			break;
		}
		tr.addr[i] = insn->dma_addr[i] + (uint64_t)v;
		memcpy(tr.step[i], insn->dma_step[i], sizeof(tr.step[i]));
		memcpy(tr.num[i], insn->dma_num[i], sizeof(tr.num[i]));
	}
	t->leave = true;
	if (t->cfg.ops->dma &&
	    !t->cfg.ops->dma(t->cfg.opaque, &tr, t->eng[e].time + t->cfg.target->cost.transfer))
		return true;
	tpb_engine_stop(t, e, NEURON_NERR_DMA_REFUSED, (uint32_t)tr.engine << 8 | tr.queue, 0);
	return false;
}

/* The second operand of an instruction that has one; where others have it something else lies */
static uint32_t second(const struct tpb_engine *eng, const struct neuron_insn *insn)
{
	if (!(neuron_isa_ops[insn->opcode].fields & NEURON_FB(RB)))
		return 0;
	return insn->immediate ? insn->value : eng->reg[insn->rb];
}

bool tpb_exec_registers(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	struct tpb_engine *eng = &t->eng[e];
	const uint32_t b = second(eng, insn);
	uint32_t raw = insn->opcode == NEURON_OP_TENSOR_STORE ? b : 0;

	switch (insn->opcode) {
	case NEURON_OP_FETCH:
		return fetch(t, e, insn);
	case NEURON_OP_FETCH_END:
		if (!eng->window.on)
			return illegal(t, e, insn);
		eng->window.on = false;
		return true;
	case NEURON_OP_MOVE:
		eng->reg[insn->rd] = b;
		return true;
	case NEURON_OP_ALU:
		eng->reg[insn->rd] = operation(insn->rop, eng->reg[insn->ra], b);
		return true;
	case NEURON_OP_COMPARE_BRANCH:
		if (!eng->window.on)
			return illegal(t, e, insn);
		if (holds(insn->rop, eng->reg[insn->ra], b)) /* pc is behind it */
			eng->window.pc += (uint64_t)((int64_t)insn->target - NEURON_INSN_WORD);
		return true;
	case NEURON_OP_TENSOR_LOAD:
		if (!element(t, e, insn, &raw, false))
			return false;
		eng->reg[insn->rd] = extended(raw, insn->rtype);
		return true;
	case NEURON_OP_DMA:
		return transfer(t, e, insn);
	default: /* NEURON_OP_TENSOR_STORE */
		return element(t, e, insn, &raw, true);
	}
}
