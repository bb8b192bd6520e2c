// SPDX-License-Identifier: MIT
/*
 * Programs for the five engines of one core, run with every set of kernels that the processor has:
 * all memories, semaphores, events, counters and notifications must be the same, and a state saved
 * in the middle and loaded elsewhere must continue in the same way. SBUF is small, its partitions
 * lie back to back, and the memories end at guard zones of the allocator, except for the slack that
 * may be read.
 */
#include "exec/exec.h"
#include "insns.h"

#define PART 1024u
#define SBUF_SIZE (NEURON_PARTITIONS * PART)
#define PSUM_SIZE (NEURON_PARTITIONS * NEURON_PSUM_PART_SIZE)
#define SLACK_BYTE 0x7f /* behind the memories: may be read without effect, is never written */
#define HBM_SIZE (2 * FUZZ_WINDOW) /* of the device's memory */
#define IN_WINDOW \
	(256 - FUZZ_WINDOW / NEURON_INSN_WORD) /* a time from which on it is a place there */
#define INSNS 24
#define SETS 8 /* of kernels at most; the last is loaded from a saved state */
/* Elements of all partitions: limited, because a fuzzer needs many inputs */
#define WORK_MAX (1u << 17)

struct core {
	struct tpb *tpb;
	uint8_t *sbuf, *psum, *hbm;
	uint64_t notes, hash;
};

static struct core cores[SETS];
static struct neuron_target
	target; /* Trainium2's, which has every instruction, with partitions of PART bytes */
static unsigned int sets;

static void note(struct core *c, uint64_t v)
{
	c->notes++;
	c->hash = (c->hash ^ v) * 0x100000001b3ull;
}

static int op_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	note(opaque, addr);
	note(opaque, value);
	note(opaque, time);
	return addr & 4 ? -13 : 0;
}

static void op_notify(void *opaque, unsigned int type, unsigned int engine, uint16_t code,
		      uint32_t id, uint64_t data, uint32_t data2, uint64_t time)
{
	note(opaque, type << 24 | engine << 16 | code);
	note(opaque, (uint64_t)data2 << 32 | id);
	note(opaque, data);
	note(opaque, time);
}

static const uint8_t *op_window(void *opaque, uint64_t addr, uint64_t len)
{
	const struct core *c = opaque;

	addr -= FUZZ_HBM;
	return addr > HBM_SIZE || len > HBM_SIZE - addr ? NULL : c->hbm + addr;
}

static int op_dram(void *opaque, uint64_t addr, void *raw, uint64_t size, bool write)
{
	uint8_t *at = (uint8_t *)op_window(opaque, addr, size);

	if (!at)
		return -13;
	if (raw)
		memcpy(write ? at : raw, write ? raw : at, size);
	return 0;
}

static const struct tpb_ops ops = {
	.write = op_write, .window = op_window, .dram = op_dram, .notify = op_notify
};

static void add_core(const struct exec_kernels *kern)
{
	struct core *c = &cores[sets++];
	struct tpb_config config = { .target = &target, .ops = &ops, .opaque = c };

	c->sbuf = calloc(1, SBUF_SIZE + TPB_SLACK);
	c->psum = calloc(1, PSUM_SIZE + TPB_SLACK);
	c->hbm = calloc(1, HBM_SIZE);
	fuzz_assert(c->sbuf && c->psum && c->hbm);
	memset(c->sbuf + SBUF_SIZE, SLACK_BYTE, TPB_SLACK);
	memset(c->psum + PSUM_SIZE, SLACK_BYTE, TPB_SLACK);
	config.sbuf = c->sbuf;
	config.sbuf_host_stride = PART;
	config.psum = c->psum;
	config.psum_host_stride = NEURON_PSUM_PART_SIZE;
	fuzz_assert(!tpb_new(&config, &c->tpb));
	c->tpb->kern = kern;
}

static void create(void)
{
	unsigned int i;

	target = *neuron_gen_trainium2.target;
	target.sbuf_part_size = PART;
	for (i = 0; exec_kernels_all[i]; i++)
		if (exec_kernels_all[i]->usable())
			add_core(exec_kernels_all[i]);
	add_core(exec_kernels_best());
}

/*
 * Fills with a few patterns that matter: small numbers, NaN, infinities, denormals, bytes of the
 * input.
 */
static void fill(struct fuzz_in *in, uint8_t *p, size_t size)
{
	static const uint32_t pattern[] = { 0,		0x3f800000, 0x3f803f80, 0x7fc00000,
					    0xff800000, 0x00000001, 0x80008000, 0x01020304 };
	uint32_t seed = fuzz_u32(in), v = fuzz_pick(in, pattern);

	for (size_t i = 0; i < size; i += 4) {
		if (seed) {
			seed ^= seed << 13;
			seed ^= seed >> 17;
			seed ^= seed << 5;
			v = (seed & 0x8fffffff) | 0x30000000;
		}
		memcpy(p + i, &v, 4);
	}
}

static void begin(struct fuzz_in *in)
{
	static uint8_t sbuf[SBUF_SIZE];

	fill(in, sbuf, sizeof(sbuf));
	for (unsigned int i = 0; i < sets; i++) {
		struct core *c = &cores[i];

		tpb_reset(c->tpb);
		memset(&c->tpb->perf, 0, sizeof(c->tpb->perf));
		memset(&c->tpb->weights, 0, sizeof(c->tpb->weights));
		for (unsigned int e = 0; e < NEURON_V2_ENGINES; e++)
			c->tpb->eng[e].time = 0;
		memcpy(c->sbuf, sbuf, SBUF_SIZE);
		memset(c->psum, 0, PSUM_SIZE);
		memset(c->hbm, 0, HBM_SIZE);
		c->notes = c->hash = 0;
	}
}

static uint64_t elements(const struct neuron_ap *ap)
{
	uint64_t n = 1;

	for (int d = 0; d < NEURON_AP_DIMS; d++)
		n *= ap->num[d];
	return n;
}

/* Takes at most two words of the engine's FIFO; 0 if this instruction cannot be used. */
static unsigned int next_insn(struct fuzz_in *in, unsigned int engine, uint8_t *words)
{
	struct neuron_insn insn;
	const uint8_t *raw;
	size_t size;
	int n;

	memset(words, 0, NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD);
	if (fuzz_u8(in) < 224) {
		insn = fuzz_insn(in, engine, PART);
		n = neuron_isa_encode(&insn, words);
		if (n < 0)
			return 0;
	} else {
		raw = fuzz_bytes(in, NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD, &size);
		if (size)
			memcpy(words, raw, size);
		n = neuron_isa_decode(words, NEURON_ISA_MAX_WORDS, &insn);
		if (n < 0)
			n = 1;
	}
	return elements(&insn.src0) * insn.partitions > WORK_MAX ||
			       elements(&insn.dst) * insn.partitions > WORK_MAX
		       ? 0
		       : (unsigned int)n;
}

/* Whatever is there, and whether an engine fetches it or not */
static void put_in_window(uint64_t time, const uint8_t *words, unsigned int n)
{
	uint32_t at = (uint32_t)(time - IN_WINDOW) * NEURON_INSN_WORD;

	for (unsigned int i = 0; i < sets; i++)
		memcpy(cores[i].hbm + at, words, n * NEURON_INSN_WORD);
}

static void push(struct fuzz_in *in)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	unsigned int engine = fuzz_u8(in) % NEURON_V2_ENGINES;
	unsigned int n = next_insn(in, engine, words);
	uint64_t time = fuzz_u8(in);

	if (n && time >= IN_WINDOW) {
		put_in_window(time, words, n);
		return;
	}
	if (n > tpb_fifo_space(cores[0].tpb, engine))
		return;
	for (unsigned int i = 0; i < sets && n; i++)
		tpb_fifo_push(cores[i].tpb, engine, words, n, time);
}

/* Saves a core's state as n bytes, which the caller frees. */
static uint8_t *saved(const struct core *c, int64_t *n)
{
	uint8_t *buf;

	*n = tpb_save(c->tpb, NULL, 0);
	buf = malloc((size_t)*n);
	fuzz_assert(buf && tpb_save(c->tpb, buf, (uint64_t)*n) == *n);
	return buf;
}

static void save_and_load(void)
{
	int64_t n;
	uint8_t *buf = saved(&cores[0], &n);

	fuzz_assert(!tpb_load(cores[sets - 1].tpb, buf, (uint64_t)n));
	free(buf);
}

static void whole(const uint8_t *slack)
{
	for (unsigned int i = 0; i < TPB_SLACK; i++)
		fuzz_assert(slack[i] == SLACK_BYTE);
}

/* Compares weights, registers, FIFOs and times. */
static void same_state(const struct core *a, const struct core *b)
{
	int64_t n, m;
	uint8_t *of_a = saved(a, &n), *of_b = saved(b, &m);

	fuzz_assert(n == m && !memcmp(of_a, of_b, (size_t)n));
	free(of_a);
	free(of_b);
}

static void same(const struct core *a, const struct core *b)
{
	whole(a->sbuf + SBUF_SIZE);
	whole(a->psum + PSUM_SIZE);
	fuzz_assert(!memcmp(a->sbuf, b->sbuf, SBUF_SIZE));
	fuzz_assert(!memcmp(a->psum, b->psum, PSUM_SIZE));
	fuzz_assert(!memcmp(a->hbm, b->hbm, HBM_SIZE));
	fuzz_assert(!memcmp(a->tpb->words.sem, b->tpb->words.sem, sizeof(a->tpb->words.sem)));
	fuzz_assert(!memcmp(a->tpb->words.event, b->tpb->words.event, sizeof(a->tpb->words.event)));
	fuzz_assert(!memcmp(&a->tpb->perf, &b->tpb->perf, sizeof(a->tpb->perf)));
	fuzz_assert(!memcmp(a->tpb->acc, b->tpb->acc, sizeof(a->tpb->acc)));
	fuzz_assert(a->notes == b->notes && a->hash == b->hash);
	same_state(a, b);
}

static void run(unsigned int budget)
{
	enum tpb_state s = tpb_run(cores[0].tpb, budget);

	for (unsigned int i = 1; i < sets; i++)
		fuzz_assert(tpb_run(cores[i].tpb, budget) == s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	unsigned int n;

	if (!sets)
		create();
	begin(&in);
	for (n = 0; n < INSNS && !fuzz_end(&in); n++) {
		uint8_t what = fuzz_u8(&in);

		push(&in);
		if (what >= 240)
			save_and_load();
		if (what & 1)
			run(1 + what / 16);
	}
	run(4 * INSNS);
	for (unsigned int i = 1; i < sets; i++)
		same(&cores[0], &cores[i]);
	return 0;
}
