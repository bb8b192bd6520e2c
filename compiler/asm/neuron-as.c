/* SPDX-License-Identifier: MIT */
/* neuron-as: the assembler of one engine's instruction stream. man/neuron-as.1 describes it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "asm.h"
#include "neuron/isa/check.h"
#include "neuron/isa/codec.h"
#include "neuron_version.h"

struct as {
	const char *source, *output;
	const struct neuron_target *target;
	const char *engine_name;
	int engine; /* -1: not checked against one */
	FILE *in, *out;
	unsigned int line, errors;
	uint64_t words;
};

static const struct option options[] = {
	{ "engine", required_argument, NULL, 'e' }, { "output", required_argument, NULL, 'o' },
	{ "target", required_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },	    { NULL, 0, NULL, 0 },
};

static void help(void)
{
	puts("Usage: neuron-as [OPTION]... -o OUTPUT [SOURCE]\n"
	     "Assemble one engine's instruction stream (standard input when no SOURCE is given).\n\n"
	     "  -e, --engine ENGINE  check that ENGINE (pe, act, pool, sp) executes it\n"
	     "  -o, --output OUTPUT  write the 64-byte words to OUTPUT (- for standard output)\n"
	     "  -t, --target TARGET  of inf1 (default), inf2, trn1, trn1n or trn2\n"
	     "  -h, --help           show this help\n"
	     "  -V, --version        show the version");
}

static void complain(struct as *as, const char *text)
{
	fprintf(stderr, "neuron-as: %s:%u: %s\n", as->source, as->line, text);
	as->errors++;
}

static void assemble_line(struct as *as, const char *line)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	struct neuron_isa_fault fault = { 0 };
	struct ncc_asm_error err;
	struct neuron_insn insn;
	int rc = ncc_asm_parse(line, &insn, &err);

	if (rc == 0)
		return;
	if (rc < 0) {
		complain(as, err.text);
		return;
	}

	rc = neuron_isa_encode(&insn, words);
	if (rc < 0) {
		complain(as, "a value does not fit its field");
		return;
	}

	if (as->engine >= 0 && neuron_isa_check(&insn, as->engine, as->target, &fault)) {
		complain(as, fault.reason);
		return;
	}

	as->words += rc;
	if (fwrite(words, NEURON_INSN_WORD, rc, as->out) != (size_t)rc)
		complain(as, strerror(errno));
}

static int assemble(struct as *as)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, as->in) >= 0) {
		as->line++;
		assemble_line(as, line);
	}
	free(line);
	return as->errors ? 1 : 0;
}

/* 0: the program goes on; otherwise it ends with *status. */
static int parse_options(struct as *as, int argc, char **argv, int *status)
{
	int c;

	*status = 2;
	while ((c = getopt_long(argc, argv, "e:o:t:hV", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			as->engine_name = optarg;
			break;
		case 't':
			as->target = neuron_target_of_name(optarg);
			if (!as->target) {
				fprintf(stderr,
					"neuron-as: unknown target '%s': inf1, inf2, trn1, trn1n or trn2 is expected\n",
					optarg);
				return 1;
			}
			break;
		case 'o':
			as->output = optarg;
			break;
		case 'h':
			help();
			*status = 0;
			return 1;
		case 'V':
			puts("neuron-as " NEURON_EMULATOR_BUILD);
			*status = 0;
			return 1;
		default:
			return 1;
		}
	}
	if (!as->output || argc - optind > 1) {
		fputs("neuron-as: one source and -o OUTPUT are expected\n", stderr);
		return 1;
	}
	as->source = optind < argc ? argv[optind] : "-";
	if (!as->engine_name)
		return 0;
	as->engine = neuron_isa_engine(as->target, as->engine_name);
	if (as->engine >= 0)
		return 0;
	fprintf(stderr, "neuron-as: unknown engine '%s'\n", as->engine_name);
	return 1;
}

int main(int argc, char **argv)
{
	struct as as = { .engine = -1, .target = &neuron_target_inf1 };
	struct stat st;
	bool keep;
	int status;

	if (parse_options(&as, argc, argv, &status))
		return status;
	as.in = strcmp(as.source, "-") ? fopen(as.source, "r") : stdin;
	if (!as.in) {
		fprintf(stderr, "neuron-as: %s: %s\n", as.source, strerror(errno));
		return 1;
	}

	as.out = strcmp(as.output, "-") ? fopen(as.output, "wb") : stdout;
	if (!as.out) {
		fprintf(stderr, "neuron-as: %s: %s\n", as.output, strerror(errno));
		fclose(as.in);
		return 1;
	}

	keep = fstat(fileno(as.out), &st) || !S_ISREG(st.st_mode);
	status = assemble(&as);
	fclose(as.in);
	if (fclose(as.out)) {
		fprintf(stderr, "neuron-as: %s: %s\n", as.output, strerror(errno));
		status = 1;
	}

	if (status && !keep) /* no half program stays; a device or a pipe does */
		remove(as.output);
	return status;
}
