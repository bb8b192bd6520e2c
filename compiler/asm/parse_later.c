/* SPDX-License-Identifier: MIT */
/* The text of what instructions after NeuronCore-v1 have: registers, patches, transfers, patterns. */
#include "parse.h"

#include <string.h>

#include "neuron/isa/table.h"

int asm_reg(struct parser *ps, uint8_t *out)
{
	int rc = asm_expect(ps, "r");

	return rc ? rc : asm_u8(ps, out);
}

/* rN or a number of 32 bits, signed or not */
int asm_reg_or_value(struct parser *ps, void *out)
{
	int64_t v = 0;
	int rc;

	if (*ps->p == 'r')
		return asm_reg(ps, out);
	rc = asm_number(ps, INT32_MIN, UINT32_MAX, &v);
	ps->insn->immediate = true;
	ps->insn->value = (uint32_t)v;
	return rc;
}

/* BASE,CHANNEL[step:num,...], all four pairs */
int asm_pattern(struct parser *ps, void *out)
{
	struct neuron_pattern *a = out;
	int rc = asm_s32(ps, &a->base);

	if (rc || (rc = asm_expect(ps, ",")) || (rc = asm_s32(ps, &a->channel)))
		return rc;
	for (int d = 0; d < NEURON_AP_DIMS; d++)
		if ((rc = asm_expect(ps, d ? "," : "[")) || (rc = asm_s32(ps, &a->step[d])) ||
		    (rc = asm_expect(ps, ":")) || (rc = asm_u16(ps, &a->num[d])))
			return rc;
	return asm_expect(ps, "]");
}

/* 32 partitions with commas between them */
int asm_shuffle(struct parser *ps, void *out)
{
	uint64_t *word = out;

	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT; i++) {
		uint8_t v;
		int rc = i ? asm_expect(ps, ",") : 0;

		if (rc || (rc = asm_u8(ps, &v)))
			return rc;
		word[i / 8] |= (uint64_t)v << i % 8 * 8;
	}
	return 0;
}

/* hbm[address]:type, or a place in the core */
int asm_element(struct parser *ps, void *out)
{
	struct neuron_insn *in = ps->insn;
	uint64_t *address = out;
	uint32_t offset;
	int rc;

	if (!asm_skip(ps, "hbm[")) {
		rc = asm_place(ps, &offset, &in->rtype);
		*address = offset;
		return rc;
	}
	in->device = true;
	if ((rc = asm_address(ps, address)) || (rc = asm_expect(ps, "]:")))
		return rc;
	return asm_type(ps, &in->rtype);
}

/* rN*scale */
int asm_element_index(struct parser *ps, void *out)
{
	int rc = asm_reg(ps, out);

	ps->insn->indexed = true;
	if (rc || (rc = asm_expect(ps, "*")))
		return rc;
	return asm_s32(ps, &ps->insn->scale);
}

/* what:rN*scale; out: of patch number i what it changes */
int asm_patch(struct parser *ps, void *out)
{
	struct neuron_insn *in = ps->insn;
	const size_t i = (size_t)((uint8_t *)out - in->patch);
	size_t len = strcspn(ps->p, ":");
	int rc;

	for (uint8_t k = 0; k < NEURON_PATCH_COUNT && !in->patch[i]; k++)
		if (neuron_isa_patches[k] && strlen(neuron_isa_patches[k]) == len &&
		    !strncmp(neuron_isa_patches[k], ps->p, len))
			in->patch[i] = k;
	if (in->patch[i])
		ps->p += len;
	else if ((rc = asm_u8(ps, &in->patch[i])))
		return rc;
	if ((rc = asm_expect(ps, ":")) || (rc = asm_reg(ps, &in->patch_reg[i])) ||
	    (rc = asm_expect(ps, "*")))
		return rc;
	return asm_s32(ps, &in->patch_scale[i]);
}

/* address[step:num,...], pairs slowest first; then +rN*scale, and <limit */
int asm_dma_side(struct parser *ps, void *out)
{
	struct neuron_insn *in = ps->insn;
	const unsigned int i = out == &in->dma_addr[1];
	int64_t step[NEURON_DMA_DIMS] = { 0 }, num[NEURON_DMA_DIMS];
	unsigned int n = 0;
	int rc = asm_address(ps, &in->dma_addr[i]);

	if (rc || (rc = asm_expect(ps, "[")))
		return rc;
	do {
		if (n == NEURON_DMA_DIMS)
			return asm_refuse(ps, "at most %d pairs", NEURON_DMA_DIMS);
		if ((rc = asm_number(ps, INT32_MIN, INT32_MAX, &step[n])) ||
		    (rc = asm_expect(ps, ":")) || (rc = asm_number(ps, 0, UINT16_MAX, &num[n])))
			return rc;
		n++;
	} while (asm_skip(ps, ","));
	for (unsigned int d = 0; d < NEURON_DMA_DIMS; d++) {
		bool there = d >= NEURON_DMA_DIMS - n;

		in->dma_step[i][d] = there ? (int32_t)step[d - (NEURON_DMA_DIMS - n)] : 0;
		in->dma_num[i][d] = there ? (uint16_t)num[d - (NEURON_DMA_DIMS - n)] : 1;
	}
	if ((rc = asm_expect(ps, "]")))
		return rc;
	if (asm_skip(ps, "+") &&
	    ((rc = asm_reg(ps, &in->dma_reg[i])) || (rc = asm_expect(ps, "*")) ||
	     (rc = asm_s32(ps, &in->dma_scale[i]))))
		return rc;
	return asm_skip(ps, "<") ? asm_u32(ps, &in->dma_limit[i]) : 0;
}

/* engine:queue */
int asm_dma_queue(struct parser *ps, void *out)
{
	int rc = asm_u8(ps, out);

	return rc || (rc = asm_expect(ps, ":")) ? rc : asm_u8(ps, &ps->insn->dma_queue);
}
