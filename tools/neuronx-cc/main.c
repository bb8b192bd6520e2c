// SPDX-License-Identifier: MIT
/*
 * neuronx-cc: the command line of the compiler. It owns messages, and files with files.c; libncc
 * does the work. Options that the vendor's front ends pass and that change nothing here are
 * accepted.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"
#include "ncc.h"
#include "neff.h"
#include "neuron_version.h"
#include "output.h"
#include "terminal.h"

static const char help_text[] =
	"Usage: neuronx-cc compile --framework XLA|ONNX|IR MODEL --target TARGET --output "
	"MODEL.neff\n"
	"                          [OPTION]...\n"
	"       neuronx-cc list-operators --framework XLA|ONNX\n"
	"Compile an HLO module or an ONNX model to a NEFF file for one NeuronCore\n"
	"or a pipeline of them.\n"
	"\n"
	"  --framework XLA|ONNX       the input is a serialized HloModuleProto or ModelProto\n"
	"  --framework IR             the input is the tensor IR as --print-ir prints it\n"
	"  --target TARGET            inf1 (default), inf2, trn1, trn1n or trn2: the chip to "
	"compile for\n"
	"  -o, --output FILE          the NEFF to write (default file.neff)\n"
	"  --auto-cast SET            which fp32 operations are narrowed: matmult (default), all, "
	"none\n"
	"  --auto-cast-type TYPE      to what: bf16 (default), fp16; but for inf1 also tf32, "
	"fp8_e4m3\n"
	"  --input-shape NAME=1x3x224 ONNX: the shape of an input that the model leaves open; "
	"<=224\n"
	"                             is the most that a dimension may be\n"
	"  --input-value NAME=V,V...  ONNX: an input becomes a constant of these elements\n"
	"  --custom-ops FILE          the library of custom operators (neuron-custom-op)\n"
	"  --kernels FILE             a text of hand-written kernels; may be repeated\n"
	"  --compress-constants[=WHEN] compress constants: auto (default), chip, always, never\n"
	"  --hardware-rng             draw what a model leaves open by the chip's generator; not "
	"for "
	"inf1\n"
	"  --structured-sparsity[=WHEN] multiply sparse weights as such: auto, always; trn2 only\n"
	"  --narrow-64bit             take s64, u64 and f64 as s32, u32 and f32, with a warning\n"
	"  -O LEVEL, --optlevel LEVEL 1: fuse nothing, each operation by itself; 2 (default), 3: "
	"all\n"
	"  --neuroncore-pipeline-cores N  cut the model over up to N cores, 1 to 16 (default 1)\n"
	"  --lnc N, --logical-nc-config N  on trn2, divide the model among the N cores of a "
	"logical\n"
	"                             one, 1 (default) or 2\n"
	"  --print-ir                 print the tensor IR after the passes to standard output\n"
	"  --dump-ir-after PASS       print it after a pass: read, loops, simplify, ..., or all\n"
	"  --ir-constants             print constants in full, so that --framework IR reads them\n"
	"  --report FILE              write what the program consists of, as JSON\n"
	"  --verbose[=LEVEL]          what is done, on standard error\n"
	"  -h, --help                 this text\n"
	"  --version                  the version\n"
	"\n"
	"Accepted, because front ends pass them, and without effect:\n"
	"  --pipeline STAGE...\n"
	"  --fast-math MODE\n"
	"  --fp32-cast SET\n"
	"  --model-type TYPE\n"
	"  --jobs N\n"
	"  --enable-fast-context-switch\n"
	"  --enable-fast-loading-neuron-binaries\n"
	"  --enable-mixed-precision-accumulation, --enable-saturate-infinity\n"
	"\n"
	"Exit status: 0 success, 1 the model cannot be compiled or a file cannot be read or "
	"written,\n"
	"2 bad usage.\n";

enum {
	OPT_FRAMEWORK = 256,
	OPT_TARGET,
	OPT_CAST,
	OPT_CAST_TYPE,
	OPT_INPUT_SHAPE,
	OPT_INPUT_VALUE,
	OPT_CUSTOM_OPS,
	OPT_KERNELS,
	OPT_COMPRESS,
	OPT_HARDWARE_RNG,
	OPT_SPARSITY,
	OPT_NARROW,
	OPT_CORES,
	OPT_LNC,
	OPT_PRINT_IR,
	OPT_DUMP_IR,
	OPT_CONSTANTS,
	OPT_REPORT,
	OPT_VERBOSE,
	OPT_PIPELINE,
	OPT_IGNORED,
	OPT_VERSION
};

static const struct option options[] = {
	{ "framework", required_argument, NULL, OPT_FRAMEWORK },
	{ "target", required_argument, NULL, OPT_TARGET },
	{ "output", required_argument, NULL, 'o' },
	{ "auto-cast", required_argument, NULL, OPT_CAST },
	{ "auto-cast-type", required_argument, NULL, OPT_CAST_TYPE },
	{ "input-shape", required_argument, NULL, OPT_INPUT_SHAPE },
	{ "input-value", required_argument, NULL, OPT_INPUT_VALUE },
	{ "custom-ops", required_argument, NULL, OPT_CUSTOM_OPS },
	{ "kernels", required_argument, NULL, OPT_KERNELS },
	{ "compress-constants", optional_argument, NULL, OPT_COMPRESS },
	{ "hardware-rng", no_argument, NULL, OPT_HARDWARE_RNG },
	{ "structured-sparsity", optional_argument, NULL, OPT_SPARSITY },
	{ "narrow-64bit", no_argument, NULL, OPT_NARROW },
	{ "print-ir", no_argument, NULL, OPT_PRINT_IR },
	{ "dump-ir-after", required_argument, NULL, OPT_DUMP_IR },
	{ "ir-constants", no_argument, NULL, OPT_CONSTANTS },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "verbose", optional_argument, NULL, OPT_VERBOSE },
	{ "pipeline", required_argument, NULL, OPT_PIPELINE },
	{ "fast-math", required_argument, NULL, OPT_IGNORED },
	{ "fp32-cast", required_argument, NULL, OPT_IGNORED },
	{ "model-type", required_argument, NULL, OPT_IGNORED },
	{ "optlevel", required_argument, NULL, 'O' },
	{ "lnc", required_argument, NULL, OPT_LNC },
	{ "logical-nc-config", required_argument, NULL, OPT_LNC },
	{ "jobs", required_argument, NULL, OPT_IGNORED },
	{ "enable-fast-context-switch", no_argument, NULL, OPT_IGNORED },
	{ "enable-fast-loading-neuron-binaries", no_argument, NULL, OPT_IGNORED },
	/* sums are fp32, and transposes move bits: nothing would change */
	{ "enable-mixed-precision-accumulation", no_argument, NULL, OPT_IGNORED },
	{ "enable-saturate-infinity", no_argument, NULL, OPT_IGNORED },
	{ "neuroncore-pipeline-cores", required_argument, NULL, OPT_CORES },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

#define MAX_INPUTS 256 /* inputs that options may name */
#define MAX_KERNELS 64 /* files of kernels */

struct args {
	const char *input_file, *output, *report, *custom_ops;
	const char *cast_type; /* as it was given; NULL: it was not */
	const char *kernels[MAX_KERNELS];
	unsigned int nkernels;
	bool framework, verbose;
	struct ncc_options opt;
	struct ncc_input input[MAX_INPUTS];
};

static int usage(const char *what, const char *value)
{
	fprintf(stderr, "neuronx-cc: %s%s%s\nTry 'neuronx-cc --help'.\n", what, value ? ": " : "",
		value ? value : "");
	return 2;
}

/* Options with one of some words: their numbers, which are enumerations' in the options */
struct choice {
	const char *refusal, *missing; /* missing: the word without a value */
	const char *word[4];
};

static const struct choice casts = {
	"--auto-cast takes matmult, all or none",
	NULL,
	{ [NCC_CAST_MATMULT] = "matmult", [NCC_CAST_ALL] = "all", [NCC_CAST_NONE] = "none" }
};
static const struct choice compressions = { "--compress-constants takes auto, chip, always or "
					    "never",
					    "always",
					    { [NCC_COMPRESS_NEVER] = "never",
					      [NCC_COMPRESS_ALWAYS] = "always",
					      [NCC_COMPRESS_CHIP] = "chip",
					      [NCC_COMPRESS_AUTO] = "auto" } };
static const struct choice sparsities = {
	"--structured-sparsity takes auto or always",
	"auto",
	{ [NCC_SPARSE_ALWAYS] = "always", [NCC_SPARSE_AUTO] = "auto" }
};

static int take(const struct choice *c, const char *v, unsigned int *number)
{
	for (*number = 0; *number < 4; ++*number)
		if (c->word[*number] && !strcmp(v ? v : c->missing, c->word[*number]))
			return 0;
	return usage(c->refusal, v);
}

static int take_cast_type(struct args *a, const char *v)
{
	static const struct {
		const char *name;
		uint8_t dtype;
	} types[] = { { "bf16", NEURON_DT_BF16 },
		      { "fp16", NEURON_DT_FP16 },
		      { "tf32", NEURON_DT_TF32 },
		      { "fp8_e4m3", NEURON_DT_FP8_E4 } };

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(v, types[i].name))
			continue;
		a->opt.auto_cast_type = types[i].dtype;
		a->cast_type = v;
		return 0;
	}
	return usage("--auto-cast-type takes bf16, fp16, tf32 or fp8_e4m3", v);
}

/* Options that do not go together, whatever their order was */
static int check_options(const struct args *a)
{
	const struct neuron_target *target = ncc_target(&a->opt);

	if (!a->cast_type || target->pe_dtypes >> a->opt.auto_cast_type & 1)
		return 0;
	return usage("--auto-cast-type takes bf16 or fp16 on this target, inf1", a->cast_type);
}

/*
 * The input that text, NAME=..., names: a new one, or one that another option named; *rest is what
 * follows.
 */
static struct ncc_input *take_input(struct args *a, char *text, char **rest)
{
	char *eq = text + strlen(text);
	unsigned int i;

	while (eq > text && (*eq != '=' || eq[-1] == '<')) /* not that of a bound, <= */
		eq--;
	if (eq == text)
		return NULL;
	*eq = 0;
	*rest = eq + 1;
	for (i = 0; i < a->opt.ninputs; i++)
		if (!strcmp(a->input[i].name, text))
			return &a->input[i];
	if (i == MAX_INPUTS)
		return NULL;
	a->opt.input = a->input;
	a->opt.ninputs++;
	a->input[i].name = text;
	return &a->input[i];
}

static int take_input_shape(struct args *a, char *text)
{
	struct ncc_input *in;
	char *p, *end;

	in = take_input(a, text, &p);
	if (!in)
		return usage("--input-shape takes NAME=1x3x<=224", text);
	in->has_shape = true;
	for (in->ndim = 0; *p && in->ndim < NCC_MAX_DIMS; p = *end ? end + 1 : end) {
		in->bounded[in->ndim] = !strncmp(p, "<=", 2);
		p += in->bounded[in->ndim] ? 2 : 0;
		in->dim[in->ndim++] = strtoll(p, &end, 10);
		if (end == p || (*end && (*end != 'x' || !end[1])) || in->dim[in->ndim - 1] < 1)
			return usage("--input-shape takes NAME=1x3x<=224", p);
	}
	return *p ? usage("--input-shape takes up to 8 dimensions", p) : 0;
}

static int take_input_value(struct args *a, char *text)
{
	struct ncc_input *in;
	size_t room = strlen(text);
	double *v = calloc(room + 1, sizeof(*v));
	char *p, *end;

	in = take_input(a, text, &p);
	if (!in || !v || in->value) {
		free(v);
		return usage("--input-value takes NAME=1,2,3", text);
	}
	in->value = v;
	while (*p) {
		v[in->nvalues++] = strtod(p, &end);
		if (end == p || (*end && (*end != ',' || !end[1])))
			return usage("--input-value takes NAME=1,2,3", p);
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int take_framework(struct args *a, const char *v)
{
	a->framework = true;
	if (strcasecmp(v, "XLA") && strcasecmp(v, "ONNX") && strcasecmp(v, "IR"))
		return usage("--framework takes XLA, ONNX or IR", v);
	a->opt.framework = !strcasecmp(v, "IR")	    ? NCC_IR
			   : !strcasecmp(v, "ONNX") ? NCC_ONNX
						    : NCC_XLA;
	return 0;
}

static int take_level(struct args *a, const char *v)
{
	if (strlen(v) != 1 || !strchr("123", *v))
		return usage("-O takes 1, 2 or 3", v);
	a->opt.level = (unsigned int)(*v - '0');
	return 0;
}

static int take_pass(struct args *a, const char *v)
{
	const char *name;
	bool known = !strcmp(v, "all") || !strcmp(v, NCC_PASS_READ) || !strcmp(v, NCC_PASS_LOOPS);

	for (unsigned int i = 0; (name = ncc_pass_name(i)); i++)
		known = known || !strcmp(v, name);
	if (!known)
		return usage("--dump-ir-after takes a pass (neuronx-cc(1) lists them) or all", v);
	a->opt.dump_after = v;
	a->opt.dump = stdout;
	return 0;
}

static int take_cores(struct args *a, const char *v)
{
	char *end;
	unsigned long n = strtoul(v, &end, 10);

	if (end == v || *end || n < 1 || n > 16)
		return usage("--neuroncore-pipeline-cores takes 1 to 16", v);
	a->opt.pipeline_cores = (unsigned int)n;
	return 0;
}

static void log_line(void *opaque, const char *line)
{
	fprintf(stderr, "neuronx-cc: %s\n", line);
}

static void warn_line(void *opaque, const char *line)
{
	fprintf(stderr, "neuronx-cc: warning: %s\n", line);
}

static bool is_stage(const char *s)
{
	return !strcmp(s, "compile") || !strcmp(s, "SaveTemps");
}

static int take_option(struct args *a, int c, char **argv)
{
	switch (c) {
	case OPT_FRAMEWORK:
		return take_framework(a, optarg);
	case OPT_TARGET:
		a->opt.target = neuron_target_of_name(optarg);
		return a->opt.target
			       ? 0
			       : usage("--target takes inf1, inf2, trn1, trn1n or trn2", optarg);
	case 'o':
		a->output = optarg;
		return 0;
	case OPT_CAST:
		return take(&casts, optarg, &a->opt.auto_cast);
	case OPT_CORES:
		return take_cores(a, optarg);
	case OPT_LNC:
		if (strcmp(optarg, "1") && strcmp(optarg, "2"))
			return usage("--lnc takes 1 or 2", optarg);
		a->opt.lnc = (unsigned int)(*optarg - '0');
		return 0;
	case OPT_CAST_TYPE:
		return take_cast_type(a, optarg);
	case OPT_INPUT_SHAPE:
		return take_input_shape(a, optarg);
	case OPT_INPUT_VALUE:
		return take_input_value(a, optarg);
	case OPT_CUSTOM_OPS:
		a->custom_ops = optarg;
		return 0;
	case OPT_KERNELS:
		if (a->nkernels == MAX_KERNELS)
			return usage("more than 64 files of kernels", optarg);
		a->kernels[a->nkernels++] = optarg;
		return 0;
	case OPT_NARROW:
		a->opt.narrow_64bit = true;
		return 0;
	case OPT_HARDWARE_RNG:
		a->opt.hardware_rng = true;
		return 0;
	case OPT_COMPRESS:
		return take(&compressions, optarg, &a->opt.compress_constants);
	case OPT_SPARSITY:
		return take(&sparsities, optarg, &a->opt.structured_sparsity);
	case OPT_PRINT_IR:
		a->opt.print_ir = stdout;
		return 0;
	case OPT_DUMP_IR:
		return take_pass(a, optarg);
	case OPT_CONSTANTS:
		a->opt.print_elements = INT64_MAX;
		return 0;
	case OPT_REPORT:
		a->report = optarg;
		return 0;
	case OPT_VERBOSE:
		a->verbose = true;
		if (!optarg && argv[optind] &&
		    strspn(argv[optind], "0123456789") == strlen(argv[optind]))
			optind++;
		return 0;
	case OPT_PIPELINE:
		while (argv[optind] && is_stage(argv[optind]))
			optind++;
		return 0;
	case 'O':
		return take_level(a, optarg);
	case OPT_IGNORED:
		return 0;
	default:
		return usage("bad option", argv[optind - 1]);
	}
}

/* Returns 0, an exit status, or -1: nothing is left to do, exit with 0. */
static int parse(struct args *a, int argc, char **argv)
{
	int c, rc;

	opterr = 0;
	/* With "-" positional arguments come in order as option 1. */
	while ((c = getopt_long(argc, argv, "-o:O:h", options, NULL)) != -1) {
		if (c == 'h' || c == OPT_VERSION) {
			fputs(c == 'h' ? help_text : "neuronx-cc " NEURON_EMULATOR_BUILD "\n",
			      stdout);
			return -1;
		}
		if (c == 1) {
			if (a->input_file)
				return usage("two input files", optarg);
			a->input_file = optarg;
			continue;
		}
		rc = take_option(a, c, argv);
		if (rc)
			return rc;
	}
	return check_options(a);
}

static int save(const char *path, const void *buf, size_t size)
{
	int rc = files_write(path, buf, size);

	if (rc)
		fprintf(stderr, "neuronx-cc: %s: %s\n", path, strerror(-rc));
	return rc;
}

/* What is read to be compiled */
struct model {
	const char *path;
	bool refused; /* why has been said */
	void *bytes;
	size_t size;
	struct files_beside beside;
};

/* It may be as large as all that is made of it */
static void drop_model(void *opaque)
{
	struct model *model = opaque;

	free(model->bytes);
	model->bytes = NULL;
}

static void obstacle(void *opaque, const char *line)
{
	struct model *model = opaque;

	model->refused = true;
	fprintf(stderr, "neuronx-cc: %s: %s\n", model->path, line);
}

static int external_data(void *opaque, const char *location, const void **data, size_t *size)
{
	struct model *model = opaque;

	return files_beside_get(&model->beside, location, data, size);
}

static int compile(struct args *a)
{
	struct model model = { .path = a->input_file };
	size_t neff_size, report_size;
	struct ncc_error err;
	char *report = NULL;
	void *neff = NULL;
	bool shows = false;
	int rc = files_read(a->input_file, &model.bytes, &model.size);

	if (rc) {
		fprintf(stderr, "neuronx-cc: %s: %s\n", a->input_file, strerror(-rc));
		free(model.bytes);
		return 1;
	}
	files_beside(&model.beside, a->input_file);
	if (getrandom(a->opt.uuid, sizeof(a->opt.uuid), 0) != sizeof(a->opt.uuid))
		memset(a->opt.uuid, 0, sizeof(a->opt.uuid));
	a->opt.uuid[6] = (uint8_t)((a->opt.uuid[6] & 0x0f) | 0x40);
	a->opt.uuid[8] = (uint8_t)((a->opt.uuid[8] & 0x3f) | 0x80);
	a->opt.log = a->verbose ? log_line : NULL;
	a->opt.warn = warn_line;
	a->opt.obstacle = obstacle;
	a->opt.model_read = drop_model;
	a->opt.external_data = external_data;
	a->opt.opaque = &model;
	if (a->report)
		a->opt.report = open_memstream(&report, &report_size);
	if (!a->verbose)
		shows = terminal_begin();
	a->opt.progress = shows ? terminal_progress : NULL;
	rc = ncc_compile(model.bytes, model.size, &a->opt, &neff, &neff_size, &err);
	terminal_end();
	free(model.bytes);
	files_beside_free(&model.beside);
	if (a->opt.report)
		fclose(a->opt.report);
	if (rc && !model.refused)
		fprintf(stderr, "neuronx-cc: %s: %s\n", a->input_file, err.text);
	rc = rc ? rc : save(a->output, neff, neff_size);
	if (!rc && a->report)
		rc = save(a->report, report, report_size);
	free(neff);
	free(report);
	return rc ? 1 : 0;
}

/* Compiles with the library of custom operators, if one is given */
static int compile_with_library(struct args *a)
{
	struct neff_library *lib = NULL;
	struct neff_error err;
	size_t size;
	void *elf;
	int rc;

	if (!a->custom_ops)
		return compile(a);
	rc = files_read(a->custom_ops, &elf, &size);
	if (rc) {
		fprintf(stderr, "neuronx-cc: %s: %s\n", a->custom_ops, strerror(-rc));
		free(elf);
		return 1;
	}
	if (neff_library_read(elf, size, &lib, &err)) {
		fprintf(stderr, "neuronx-cc: %s: %s\n", a->custom_ops, err.text);
		free(elf);
		return 1;
	}
	lib->elf = elf;
	lib->size = size;
	a->opt.library = lib;
	rc = compile(a);
	neff_library_free(lib);
	return rc;
}

/* The same with the kernels, if some are given */
static int compile_with_kernels(struct args *a)
{
	struct ncc_kernels *kernels = NULL;
	struct ncc_error err = { .text = "" };
	int rc = 0;

	for (unsigned int i = 0; !rc && i < a->nkernels; i++) {
		void *text = NULL;
		size_t size;

		rc = files_read(a->kernels[i], &text, &size);
		if (rc)
			fprintf(stderr, "neuronx-cc: %s: %s\n", a->kernels[i], strerror(-rc));
		else if ((rc = ncc_kernels_add(&kernels, text, size, a->kernels[i], &err)))
			fprintf(stderr, "neuronx-cc: %s\n", err.text);
		free(text);
	}
	a->opt.kernels = kernels;
	rc = rc ? 1 : compile_with_library(a);
	ncc_kernels_free(kernels);
	return rc;
}

static int list_operators(enum ncc_framework framework)
{
	const char *name;

	if (framework == NCC_IR)
		return usage("list-operators takes XLA or ONNX", NULL);
	for (unsigned int i = 0;
	     (name = framework == NCC_XLA ? ncc_hlo_operator(i) : ncc_onnx_operator(i)); i++)
		if (puts(name) < 0)
			return 1;
	return 0;
}

static void free_args(struct args *a)
{
	for (unsigned int i = 0; i < a->opt.ninputs; i++)
		free((void *)a->input[i].value);
}

static int run(struct args *a, const char *command)
{
	if (!*command)
		return usage("a command is missing", NULL);
	if (!strcmp(command, "list-operators"))
		return list_operators(a->opt.framework);
	if (!a->framework)
		return usage("--framework is missing", NULL);
	if (!a->input_file)
		return usage("an input file is missing", NULL);
	return compile_with_kernels(a);
}

int main(int argc, char **argv)
{
	static struct args a = { .output = "file.neff",
				 .opt = { .auto_cast = NCC_CAST_MATMULT,
					  .compress_constants = NCC_COMPRESS_AUTO,
					  .print_elements = 16 } };
	const char *command = argc > 1 ? argv[1] : "";
	int rc;

	if (*command && strcmp(command, "compile") && strcmp(command, "list-operators") &&
	    command[0] != '-')
		return usage("unknown command", command);
	if (*command && command[0] != '-') {
		argv[1] = argv[0];
		argc--;
		argv++;
	} else {
		command = "";
	}
	rc = parse(&a, argc, argv);
	if (!rc)
		rc = run(&a, command);
	free_args(&a);
	return output_end("neuronx-cc", rc < 0 ? 0 : rc);
}
