// SPDX-License-Identifier: MIT
/*
 * Registers: any access to any BAR of two linked chips and one alone, and in between rests, saves,
 * resets and bytes of host memory. What must not happen is checked in chips.c.
 */
#include "chips.h"

#define STEPS 256
#define SAVES 2 /* of one input; each has a megabyte */

static unsigned int saves;

static uint64_t offset(struct fuzz_in *in, unsigned int bar)
{
	static const uint32_t axi[] = {
		0,
		GEN(SBUF_PART_SIZE) - 4,
		NEURON_PSUM_OFFSET,
		GEN(TPB_FIFO)(0),
		GEN(TPB_FIFO)(3) + GEN(TPB_FIFO_SIZE) - 4,
		GEN(TPB_EVENTS),
		GEN(TPB_SEM_READ),
		GEN(TPB_SEM_SET),
		GEN(TPB_SEM_INC),
		GEN(TPB_SEM_DEC),
		(uint32_t)GEN(TPB_SIZE) - 4,
	};
	uint8_t kind = fuzz_u8(in);

	if (kind >= 240)
		return fuzz_u64(in);
#if GEN(TOPSPS)
	if (bar == NEURON_BAR_APB && kind >= 216) {
		unsigned int t;
		uint32_t at = fuzz_topsp(in, &t);

		return GEN(TOPSP_BAR)(t) + at;
	}
#endif
	/* where BAR0 has cores' windows as well, every fourth */
	if (bar == NEURON_BAR_APB && (GEN(BAR_CORES) || kind & 3))
		return fuzz_register(in);
	if (bar == GEN(BAR_CORES))
		return fuzz_pick(in, axi) + GEN(TPB_BAR)((kind & 3) % GEN(NC_PER_DEVICE)) +
		       fuzz_u8(in) * 4u;
	if (bar == GEN(BAR_EXT))
		return fuzz_u16(in) & ~3u;
	return kind & 1 ? GEN(DRAM1_OFFSET) + GEN(DRAM_CHANNEL_SIZE) - kind : kind * 8u;
}

static uint64_t value(struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in);

	if (kind < 128)
		return kind;
	if (kind < 160)
		return fuzz_address(in);
	if (kind < 192)
		return fuzz_address(in) >> 32;
	return kind < 224 ? 1ull << (kind & 31) : fuzz_u64(in);
}

static void access_bar(struct fuzz_in *in, struct fuzz_chip *c, uint8_t what)
{
	static const uint8_t bars[] = { 0, 0, 0, 0, 2, 2, 4, 1 };
	static const uint8_t sizes[] = { 4, 4, 4, 4, 8, 2, 1, 3 };
	unsigned int bar = bars[what & 7], size = what & 0x40 ? fuzz_pick(in, sizes) : 4;
	uint64_t off = offset(in, bar);

	if (what & 0x20)
		ncore_mmio_read(c->core, bar, off, size);
	else
		ncore_mmio_write(c->core, bar, off, size, value(in));
}

static void poke_host(struct fuzz_in *in, struct fuzz_chip *c)
{
	uint32_t at = fuzz_u16(in) * 16u;
	const uint8_t *p;
	size_t n;

	p = fuzz_bytes(in, fuzz_u8(in), &n);
	if (n <= HOST_SIZE - at)
		memcpy(c->host + at, p, n);
}

/* Loads the state of one chip into the one beside it; both continue. */
static void save_and_load(struct fuzz_chip *from, struct fuzz_chip *to)
{
	const char *why = NULL;
	size_t size;
	void *buf;

	if (!saves)
		return;
	saves--;
	ncore_chip_pause(from->core);
	if (from != to)
		ncore_chip_pause(to->core);
	fuzz_assert(!ncore_chip_save(from->core, &buf, &size));
	fuzz_assert(!ncore_chip_load(to->core, buf, size, &why));
	free(buf);
	if (from != to)
		ncore_chip_resume(to->core);
	ncore_chip_resume(from->core);
}

/* Injects faults: a fault can be set to what it reads as. */
static void set_fault(struct fuzz_in *in, struct fuzz_chip *c)
{
	static const char *const specs[] = { "off",
					     "on",
					     "1",
					     "always",
					     "2:after=3",
					     "always:core=1",
					     "3:queue=copy",
					     "always:queue=program",
					     "700" };
	enum ncore_fault fault = fuzz_u8(in) % (NCORE_FAULT_COUNT + 1);
	char spec[NCORE_FAULT_SPEC_MAX];
	const uint8_t *p;
	size_t n;

	snprintf(spec, sizeof(spec), "%s", fuzz_pick(in, specs));
	if (fuzz_u8(in) >= 192) {
		p = fuzz_bytes(in, sizeof(spec) - 1, &n);
		memcpy(spec, p, n);
		spec[n] = 0;
	}
	c->used = true;
	if (ncore_fault_set(c->core, fault, spec))
		return;
	ncore_fault_get(c->core, fault, spec);
	fuzz_assert(!ncore_fault_set(c->core, fault, spec));
}

static void special(struct fuzz_in *in, struct fuzz_chip *chip, struct fuzz_chip *c)
{
	switch (fuzz_u8(in) % 16) {
	case 0:
		save_and_load(c, &chip[fuzz_u8(in) % CHIPS]);
		break;
	case 1:
		ncore_chip_reset(c->core, NCORE_RESET_PCI);
		break;
	case 2:
		ncore_chip_pause(c->core);
		ncore_chip_resume(c->core);
		break;
	case 3:
		ncore_sensor_set(c->core, fuzz_u8(in), fuzz_u32(in));
		break;
	case 4 ... 6:
		chip_settle(c, 2);
		break;
	case 7:
		set_fault(in, c);
		break;
	default:
		poke_host(in, c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	struct fuzz_chip *chip = chips_begin();
	unsigned int n;

	saves = SAVES;
	for (n = 0; n < STEPS && !fuzz_end(&in); n++) {
		uint8_t what = fuzz_u8(&in);
		struct fuzz_chip *c = &chip[(what >> 3 & 3) % CHIPS];

		if (what & 0x80)
			special(&in, chip, c);
		else
			access_bar(&in, c, what);
	}
	chips_end();
	return 0;
}
