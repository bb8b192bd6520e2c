// SPDX-License-Identifier: MIT
/*
 * Rings and descriptors on two linked chips and one alone: rings in host memory and DRAM, packets
 * from and to every kind of place, doorbells rung by descriptors and by instructions, notification
 * queues anywhere, instructions through FIFOs, resets and rests in the middle.
 */
#include "chips.h"
#include "insns.h"

#define STEPS 128
#define QUEUES 8

struct ring {
	struct fuzz_chip *c;
	uint8_t engine, queue;
	uint64_t base[2];
	uint32_t len, next[2];
	uint8_t id[2];
};

static struct ring rings[QUEUES];

static uint64_t ring_base(struct fuzz_in *in, unsigned int slot)
{
	uint8_t kind = fuzz_u8(in);

	if (kind >= 240)
		return fuzz_address(in);
	return (kind & 1 ? 0x100000 : HOST(0x20000)) + slot * 0x1000ull;
}

static void set_queue(struct fuzz_in *in, struct fuzz_chip *c, unsigned int slot)
{
	static const uint32_t len[] = { 32, 32, 32, 48, 64, 16, 0, 33 };
	struct ring *r = &rings[slot];
	uint8_t kind = fuzz_u8(in);

	*r = (struct ring){ .c = c, .engine = kind % GEN(DMA_ENGINES), .queue = fuzz_u8(in) % 16 };
	r->base[0] = ring_base(in, slot);
	r->base[1] = ring_base(in, slot) + 0x800;
	r->len = fuzz_pick(in, len);
	r->id[0] = r->id[1] = 1;
	if (kind >= 250)
		r->len = fuzz_u32(in);
	chip_queue(c, r->engine, r->queue, r->base[0], r->base[1], r->len);
}

static void push(struct ring *r, unsigned int half, uint64_t addr, uint32_t ctrl)
{
	if (r->next[half] >= r->len)
		return;
	chip_desc(r->c, r->base[half], r->next[half], ctrl ^ (uint32_t)r->id[half] << 24,
		  half ? 0 : NEURON_UDMA_META_DEFAULT, addr);
	if (++r->next[half] >= r->len) {
		r->next[half] = 0;
		r->id[half] = (r->id[half] + 1) & 3;
	}
}

static void doorbell(struct ring *r, unsigned int half, uint32_t n)
{
	chip_write(r->c, chip_q(r->engine, half, r->queue) + NEURON_UDMA_Q_TAIL_INC, n);
}

static uint32_t length(struct fuzz_in *in)
{
	static const uint16_t len[] = { 4, 8, 64, 128, 256, 4096, 0, 1, 63, 65, 65535, 512 };
	uint8_t kind = fuzz_u8(in);

	return kind >= 224 ? fuzz_u16(in) : len[kind % 12];
}

static void packet(struct fuzz_in *in, struct ring *r, uint64_t src, uint64_t dst, uint32_t len)
{
	uint8_t kind = fuzz_u8(in), more = kind >= 224 ? kind & 7 : 0;
	uint32_t flags = NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST;

	if (kind & 8 && kind >= 192) /* any flags and ring id */
		flags = fuzz_u32(in) & 0xff000000;
	push(r, 0, src, len | flags);
	push(r, 1, dst, len);
	for (uint8_t i = 0; i < more; i++) {
		push(r, 0, fuzz_address(in), length(in) | (fuzz_u8(in) & 3) << 26);
		push(r, 1, fuzz_address(in), length(in));
	}
	doorbell(r, 1, 1u + more);
	doorbell(r, 0, 1u + more);
}

/* Writes words for a descriptor to carry: counts for doorbells, semaphores, a descriptor. */
static uint64_t words(struct fuzz_in *in, struct fuzz_chip *c)
{
	uint32_t at = 0x60000 + fuzz_u8(in) * 64u;
	size_t n;
	const uint8_t *p = fuzz_bytes(in, fuzz_u8(in) & 63, &n);

	memcpy(c->host + at, p, n);
	return HOST(at);
}

static void instruction(struct fuzz_in *in, struct ring *r)
{
	uint8_t what = fuzz_u8(in), engine = what & 3, core = (what >> 2) % GEN(NC_PER_DEVICE);
	struct neuron_insn insn = fuzz_insn(in, engine, GEN(SBUF_PART_SIZE));
	uint8_t buf[2 * NEURON_INSN_WORD] = { 0 };
	uint32_t at = 0x70000 + fuzz_u8(in) * 128u;
	int n;

	if (insn.opcode == NEURON_OP_WRITE)
		for (unsigned int i = 0; i < 2; i++)
			insn.write[i].addr = what & 0x40 << i ? fuzz_address(in) & ~3ull : 0;
	n = neuron_isa_encode(&insn, buf);
	if (n < 0)
		return;
	memcpy(r->c->host + at, buf, sizeof(buf));
	packet(in, r, HOST(at), GEN(TPB)(core) + GEN(TPB_FIFO)(engine),
	       (uint32_t)n * NEURON_INSN_WORD);
}

static void set_nq(struct fuzz_in *in, struct fuzz_chip *c)
{
	static const uint32_t group[] = { GEN(NQ_ERROR_REGS), GEN(NQ_EVENT_REGS),
					  GEN(NQ_NOTIFY_REGS)(0), GEN(NQ_NOTIFY_REGS)(3),
					  GEN(NQ_TRACE_REGS)(1) };
	static const uint32_t size[] = { 64, 128, 4096, 0, 32, 96, 0x80000000u, 1 };
	uint8_t what = fuzz_u8(in);
	uint64_t off = GEN(APB_PUTILS)(what % GEN(NC_PER_DEVICE)) + group[what / 4 % 5];
	uint64_t base = what & 0x80 ? fuzz_address(in) : HOST(0x90000);

	chip_write(c, off + GEN(NQ_BASE_LO), (uint32_t)base);
	chip_write(c, off + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	chip_write(c, off + GEN(NQ_SIZE), fuzz_pick(in, size));
	if (what & 0x40)
		chip_write(c, off + GEN(NQ_HEAD), fuzz_u8(in));
}

/* Packets that need no host: the words of one fill another's ring or ring its doorbell. */
static void self(struct fuzz_in *in, struct ring *r)
{
	const struct ring *to = &rings[fuzz_u8(in) % QUEUES];
	uint8_t kind = fuzz_u8(in), half = kind & 1;
	uint64_t dst = GEN(REG)(chip_q(to->engine, half, to->queue)) + NEURON_UDMA_Q_TAIL_INC;

	if (kind & 2)
		dst = to->base[half] + (kind >> 2) % 32 * NEURON_UDMA_DESC_SIZE;
	packet(in, r, words(in, r->c), dst, kind & 2 ? NEURON_UDMA_DESC_SIZE : 4);
}

static void rest(struct fuzz_in *in, struct fuzz_chip *chip, struct fuzz_chip *c)
{
	static const uint32_t state[] = { NEURON_UDMA_STATE_NORMAL, NEURON_UDMA_STATE_DISABLE,
					  NEURON_UDMA_STATE_ABORT, 0 };
	uint8_t what = fuzz_u8(in);

	switch (what & 7) {
	case 0:
		chip_write(c, GEN(APB_MISC_RAM) + NEURON_MISC_TPB_RESET_MAP, what >> 4);
		chip_write(c, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, 1 + (what >> 3 & 1));
		chip_write(c, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
		break;
	case 1:
		ncore_chip_pause(c->core);
		ncore_chip_resume(c->core);
		break;
	case 2:
		chip_write(c,
			   GEN(APB_UDMA)(fuzz_u8(in) % GEN(DMA_ENGINES)) +
				   NEURON_UDMA_M2S_CHANGE_STATE,
			   state[what >> 3 & 3]);
		break;
	case 3:
		chip_write(c, fuzz_register(in), fuzz_u32(in));
		break;
	default:
		chip_settle(c, what >> 6);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	struct fuzz_chip *chip = chips_begin();
	unsigned int n;

	for (n = 0; n < QUEUES; n++)
		rings[n] = (struct ring){ .c = &chip[n % CHIPS] };
	for (n = 0; n < STEPS && !fuzz_end(&in); n++) {
		uint8_t what = fuzz_u8(&in);
		struct ring *r = &rings[what >> 5];
		uint64_t src;

		switch (what & 15) {
		case 0 ... 1:
			set_queue(&in, &chip[(what >> 5) % CHIPS], what >> 5);
			break;
		case 2 ... 5:
			src = fuzz_address(&in);
			packet(&in, r, src, fuzz_address(&in), length(&in));
			break;
		case 6:
			src = words(&in, r->c);
			packet(&in, r, src, fuzz_address(&in), length(&in));
			break;
		case 7 ... 9:
			instruction(&in, r);
			break;
		case 10:
			self(&in, r);
			break;
		case 11:
			doorbell(r, what >> 4 & 1, fuzz_u8(&in));
			break;
		case 12:
			set_nq(&in, r->c);
			break;
		default:
			rest(&in, chip, r->c);
		}
	}
	chips_end();
	return 0;
}
