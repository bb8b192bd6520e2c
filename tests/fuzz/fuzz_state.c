// SPDX-License-Identifier: MIT
/*
 * The loader of saved states. The state of a chip in the middle of its work is changed in the
 * places that the input names, or is the input itself, and is loaded: a refusal comes with a reason
 * and leaves a chip at reset, an accepted state runs, and when it is saved it loads again.
 */
#include "chips.h"

#define PATCHES 32

static uint8_t *base;
static size_t base_size;

/*
 * Leaves work in flight: copies, a stalled FIFO, semaphores that are waited for, a notification
 * queue; words of TOP_SPs.
 */
static void make_base(struct fuzz_chip *c)
{
	const uint64_t tx = HOST(0x20000), rx = HOST(0x21000);
	const uint64_t fifo = GEN(TPB)(0) + GEN(TPB_FIFO)(1);
	void *buf;

	for (unsigned int e = 0; e < 3; e++) {
		chip_queue(c, e, e, tx + e * 0x4000, rx + e * 0x4000, 64);
		for (unsigned int i = 0; i < 64; i++) {
			uint32_t flags = NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST | 1 << 24;

			chip_desc(c, tx + e * 0x4000, i, 4096 | flags, NEURON_UDMA_META_DEFAULT,
				  HOST(0x60000));
			chip_desc(c, rx + e * 0x4000, i, 4096 | 1 << 24, 0,
				  e ? 0x100000 + i * 4096 : fifo);
		}
		chip_write(c, chip_q(e, 1, e) + NEURON_UDMA_Q_TAIL_INC, 60 + e);
		chip_write(c, chip_q(e, 0, e) + NEURON_UDMA_Q_TAIL_INC, e == 1 ? 63 : 60);
	}
	chip_write(c, GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS) + GEN(NQ_BASE_LO), 0x90000);
	chip_write(c, GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS) + GEN(NQ_SIZE), 256);
	ncore_mmio_write(c->core, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET), 4, 7);
#if GEN(TOPSPS)
	ncore_mmio_write(c->core, 0, GEN(TOPSP_BAR)(GEN(TOPSPS) - 1) + 0x1400, 4, 7);
	ncore_mmio_write(c->core, 0, GEN(TOPSP_BAR)(1) + 0x1c00, 4, 1); /* an error */
#endif
	chip_settle(c, 10000); /* so that the base is the same in every process */
	ncore_chip_pause(c->core);
	fuzz_assert(!ncore_chip_save(c->core, &buf, &base_size));
	ncore_chip_resume(c->core);
	base = buf;
}

/* Sends instructions that wait for a semaphore, so that the FIFO stays full. */
static void make_instructions(struct fuzz_chip *c)
{
	for (unsigned int i = 0; i < 64; i++) {
		uint8_t *w = c->host + 0x60000 + i * 64;

		w[0] = 1; /* nop */
		w[2] = 2; /* wait: semaphore >= */
		w[4] = 3; /* number 3 */
		w[8] = 1;
	}
}

static uint8_t *patched(struct fuzz_in *in, size_t *size)
{
	uint8_t *buf = malloc(base_size), what;

	fuzz_assert(buf);
	memcpy(buf, base, base_size);
	*size = base_size;
	for (unsigned int i = 0; i < PATCHES && !fuzz_end(in); i++) {
		size_t at, n;
		const uint8_t *p;

		what = fuzz_u8(in);
		at = fuzz_u32(in) % base_size;
		/* most of the state is FIFOs and weights: bytes that are not zero matter more */
		if (what & 0x80)
			while (at + 1 < base_size && !base[at])
				at++;
		p = fuzz_bytes(in, 1u << (what & 3), &n);
		if (n > base_size - at)
			n = base_size - at;
		memcpy(buf + at, p, n);
		if (what == 0x7f)
			*size = at;
	}
	return buf;
}

static void load(struct fuzz_chip *c, const uint8_t *buf, size_t size)
{
	const char *why = NULL;
	size_t again_size;
	void *again;
	int ret;

	ncore_chip_pause(c->core);
	ret = ncore_chip_load(c->core, buf, size, &why);
	fuzz_assert(ret ? why != NULL : !why);
	ncore_chip_resume(c->core);
	if (ret) {
		fuzz_assert(ncore_chip_idle(c->core));
		fuzz_assert((chip_read(c, GEN(APB_MISC_RAM) + GEN(READY_WORD)) &
			     ~(uint32_t)GEN(LINKS)) == GEN(READY));
	}
	chip_write(c, GEN(APB_UDMA)(0) + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_NORMAL);
	ncore_mmio_write(c->core, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET) + 12, 4, 1);
	chip_settle(c, 3);
	ncore_chip_pause(c->core);
	fuzz_assert(!ncore_chip_save(c->core, &again, &again_size));
	why = NULL;
	ret = ncore_chip_load(c->core, again, again_size, &why);
	if (ret)
		fprintf(stderr, "%s\n", why);
	fuzz_assert(!ret);
	ncore_chip_resume(c->core);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	struct fuzz_chip *chip = chips_begin();
	uint8_t *buf = NULL;
	size_t n;

	if (!base) {
		make_instructions(chip);
		make_base(chip);
		chips_end();
	}
	make_instructions(chip);
	if (fuzz_u8(&in) < 240) {
		buf = patched(&in, &n);
		load(chip, buf, n);
	} else {
		n = (size_t)(in.end - in.p);
		load(chip, in.p, n);
	}
	free(buf);
	chips_end();
	return 0;
}
