// SPDX-License-Identifier: MIT
/*
 * The assembler's text and the instruction words: a line that parses prints as one that parses to
 * the same words, and words that decode print as a line that assembles to them.
 */
#include "asm.h"
#include "fuzz.h"
#include "neuron/isa/check.h"
#include "neuron/isa/codec.h"

static int encode(const struct neuron_insn *insn, uint8_t *words)
{
	memset(words, 0, NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD);
	return neuron_isa_encode(insn, words);
}

/* Checks that the text of an instruction is parsed to the same words. */
static void round_trip(const struct neuron_insn *insn, const uint8_t *words)
{
	uint8_t back_words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	struct ncc_asm_error err;
	struct neuron_insn back;
	char line[NCC_ASM_LINE], cut[16];
	int n = ncc_asm_print(insn, line, sizeof(line));

	fuzz_assert(n > 0 && n < NCC_ASM_LINE && strlen(line) == (size_t)n);
	fuzz_assert(ncc_asm_print(insn, cut, sizeof(cut)) == n && strlen(cut) < sizeof(cut));
	if (ncc_asm_parse(line, &back, &err) != 1) {
		fprintf(stderr, "%s: %s\n", line, err.text);
		abort();
	}
	encode(&back, back_words);
	fuzz_assert(!memcmp(words, back_words, sizeof(back_words)));
	for (unsigned int e = 0; e < neuron_target_inf1.engines; e++)
		neuron_isa_check(&back, e, &neuron_target_inf1, NULL);
}

static void text(const uint8_t *data, size_t size)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	struct ncc_asm_error err = { { 0 } };
	struct neuron_insn insn;
	char *line = malloc(size + 1);
	int ret;

	fuzz_assert(line);
	memcpy(line, data, size);
	line[size] = 0;
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = 0;
	ret = ncc_asm_parse(line, &insn, &err);
	if (ret < 0)
		fuzz_assert(err.text[0] && memchr(err.text, 0, sizeof(err.text)));
	else if (ret == 1 && encode(&insn, words) > 0)
		round_trip(&insn, words);
	free(line);
}

static void binary(const uint8_t *data, size_t size)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD], again[sizeof(words)];
	struct neuron_insn insn;
	int n;

	memset(words, 0, sizeof(words));
	memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
	n = neuron_isa_decode(words, NEURON_ISA_MAX_WORDS, &insn);
	if (n < 0)
		return;
	memset(words + n * NEURON_INSN_WORD, 0, sizeof(words) - (size_t)n * NEURON_INSN_WORD);
	fuzz_assert(encode(&insn, again) == n && !memcmp(words, again, sizeof(words)));
	round_trip(&insn, words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] & 0x80)
		binary(data + 1, size - 1);
	else
		text(data, size);
	return 0;
}
