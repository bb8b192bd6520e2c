/* SPDX-License-Identifier: MIT */
/*
 * neuron-objdump: shows the instruction streams of a NEFF, or of one raw stream.
 * man/neuron-objdump.1 describes it. What it prints is neuron-as's input.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"
#include "neff.h"
#include "neuron/isa/codec.h"
#include "neuron_version.h"

struct objdump {
	const char *file;
	const struct neuron_target *target; /* of a NEFF, which does not say */
	const char *engine_name;
	int engine; /* -1: all */
	bool disassemble;
	bool illegal; /* a word did not decode */
};

static const struct option options[] = {
	{ "disassemble", no_argument, NULL, 'd' },  { "engine", required_argument, NULL, 'e' },
	{ "target", required_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },	    { NULL, 0, NULL, 0 },
};

static void help(void)
{
	puts("Usage: neuron-objdump -d [OPTION]... FILE\n"
	     "Show the instructions of a NEFF, or of a raw stream of 64-byte words.\n\n"
	     "  -d, --disassemble    show instructions (there is nothing else to show yet)\n"
	     "  -e, --engine ENGINE  only ENGINE of a NEFF: pe, act, pool, sp, from trn1 on dve\n"
	     "  -t, --target TARGET  a NEFF is for inf1 (default), inf2, trn1, trn1n or trn2\n"
	     "  -h, --help           show this help\n"
	     "  -V, --version        show the version");
}

static void dump_stream(struct objdump *od, const uint8_t *words, size_t size)
{
	size_t n = size / NEURON_INSN_WORD;

	for (size_t i = 0; i < n;) {
		const uint8_t *at = words + i * NEURON_INSN_WORD;
		char text[NCC_ASM_LINE];
		struct neuron_insn insn;
		int rc = neuron_isa_decode(at, n - i, &insn);

		if (rc < 0) {
			printf("; %#zx: %s, first bytes %016" PRIx64 "\n", i * NEURON_INSN_WORD,
			       rc == -EAGAIN ? "cut short" : "illegal", neuron_isa_get_le64(at));
			od->illegal = true;
			i++;
			continue;
		}
		ncc_asm_print(&insn, text, sizeof(text));
		printf("%s ; %#zx\n", text, i * NEURON_INSN_WORD);
		i += rc;
	}
	if (size % NEURON_INSN_WORD) {
		printf("; %zu bytes are left over\n", size % NEURON_INSN_WORD);
		od->illegal = true;
	}
}

static void dump_neff(struct objdump *od, const struct neff_model *model)
{
	for (unsigned int g = 0; g < model->nsubgraphs; g++) {
		const struct neff_subgraph *sg = &model->subgraphs[g];

		for (int e = 0; e < model->target->engines; e++) {
			if (!sg->engine[e].instr || (od->engine >= 0 && od->engine != e))
				continue;
			printf("; %s/%s: %zu words\n", sg->name, model->target->engine[e].name,
			       sg->engine[e].instr_size / NEURON_INSN_WORD);
			dump_stream(od, sg->engine[e].instr, sg->engine[e].instr_size);
		}
	}
}

static int read_file(const char *name, uint8_t **buf, size_t *size)
{
	FILE *f = fopen(name, "rb");
	size_t room = 0, n;

	*buf = NULL;
	*size = 0;
	if (!f)
		return -errno;
	do {
		uint8_t *p;

		if (*size == room) {
			room = room ? 2 * room : 65536;
			p = realloc(*buf, room);
			if (!p) {
				fclose(f);
				return -ENOMEM;
			}
			*buf = p;
		}
		n = fread(*buf + *size, 1, room - *size, f);
		*size += n;
	} while (n);
	n = ferror(f) ? EIO : 0;
	fclose(f);
	return -(int)n;
}

/* A NEFF starts with a header that says so; anything else is taken for a raw stream. */
static int dump_file(struct objdump *od)
{
	struct neff_error err = { 0 };
	struct neff_header header;
	struct neff_model *model;
	uint8_t *buf;
	size_t size;
	struct neff_limits limits = { .target = od->target };
	int rc = read_file(od->file, &buf, &size);

	if (rc) {
		fprintf(stderr, "neuron-objdump: %s: %s\n", od->file, strerror(-rc));
	} else if (size >= NEFF_HEADER_SIZE && !neff_read_header(buf, size, &header, &err)) {
		rc = neff_read(buf, size, &limits, &model, &err);
		if (rc)
			fprintf(stderr, "neuron-objdump: %s: %s\n", od->file, err.text);
		else
			dump_neff(od, model);
		if (!rc)
			neff_free(model);
	} else {
		dump_stream(od, buf, size);
	}
	free(buf);
	return rc || od->illegal ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct objdump od = { .target = &neuron_target_inf1, .engine = -1 };
	int c;

	while ((c = getopt_long(argc, argv, "de:t:hV", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			od.disassemble = true;
			break;
		case 'e':
			od.engine_name = optarg;
			break;
		case 't':
			od.target = neuron_target_of_name(optarg);
			if (!od.target) {
				fprintf(stderr,
					"neuron-objdump: unknown target '%s': inf1, inf2, trn1, trn1n or trn2 is expected\n",
					optarg);
				return 2;
			}
			break;
		case 'h':
			help();
			return 0;
		case 'V':
			puts("neuron-objdump " NEURON_EMULATOR_BUILD);
			return 0;
		default:
			return 2;
		}
	}
	if (od.engine_name) {
		od.engine = neuron_isa_engine(od.target, od.engine_name);
		if (od.engine < 0) {
			fprintf(stderr, "neuron-objdump: unknown engine '%s'\n", od.engine_name);
			return 2;
		}
	}
	if (!od.disassemble || argc - optind != 1) {
		fputs("neuron-objdump: -d and one file are expected\n", stderr);
		return 2;
	}
	od.file = argv[optind];
	c = dump_file(&od);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "neuron-objdump: standard output: %s\n", strerror(errno));
		return 1;
	}
	return c;
}
