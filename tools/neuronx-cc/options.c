// SPDX-License-Identifier: MIT
/*
 * The command line of neuronx-cc: its options, which become libncc's, and its help. Options that
 * the vendor's front ends pass and that change nothing here are accepted. Called by main.c.
 */
#include "options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "neuron_version.h"

static const char help_text[] =
	"Usage: neuronx-cc compile --framework XLA|StableHLO|ONNX|IR MODEL --target TARGET --output MODEL.neff\n"
	"                          [OPTION]...\n"
	"       neuronx-cc list-operators --framework XLA|ONNX\n"
	"Compile an HLO module or an ONNX model to a NEFF file for one NeuronCore\n"
	"or a pipeline of them.\n"
	"\n"
	"  --framework XLA|StableHLO  the input is a serialized HloModuleProto, or StableHLO as a\n"
	"                             portable artifact or as text: its first bytes say which\n"
	"  --framework ONNX           the input is a serialized ModelProto\n"
	"  --framework IR             the input is the tensor IR as --print-ir prints it\n"
	"  --target TARGET            inf1 (default), inf2, trn1, trn1n or trn2: the chip to compile for\n"
	"  -o, --output FILE          the NEFF to write (default file.neff)\n"
	"  --auto-cast SET            which fp32 operations are narrowed: none (default; for inf1\n"
	"                             matmult), matmult, all\n"
	"  --auto-cast-type TYPE      to what: bf16 (default), fp16; but for inf1 also tf32, fp8_e4m3\n"
	"  --input-shape NAME=1x3x224 ONNX: the shape of an input that the model leaves open; <=224\n"
	"                             is the most that a dimension may be\n"
	"  --input-value NAME=V,V...  ONNX: an input becomes a constant of these elements\n"
	"  --custom-ops FILE          the library of custom operators (neuron-custom-op)\n"
	"  --kernels FILE             a text of hand-written kernels; may be repeated\n"
	"  --compress-constants[=WHEN] compress constants: auto (default), chip, always, never\n"
	"  --hardware-rng             draw what a model leaves open by the chip's generator; not for inf1\n"
	"  --structured-sparsity[=WHEN] multiply sparse weights as such: auto, always; trn2 only\n"
	"  --native-int64 WHEN        64-bit integers: default, enabled, disabled (as --narrow-64bit)\n"
	"  --narrow-64bit             take s64, u64 and f64 as s32, u32 and f32, with a warning\n"
	"  -O LEVEL, --optlevel LEVEL 1: fuse nothing, each operation by itself; 2 (default), 3: all\n"
	"  --neuroncore-pipeline-cores N  cut the model over up to N cores, 1 to 16 (default 1)\n"
	"  --lnc N, --logical-nc-config N  on trn2, divide the model among the N cores of a logical\n"
	"                             one, 1 (default) or 2\n"
	"  --print-ir                 print the tensor IR after the passes to standard output\n"
	"  --print-plan               print how each operation is done to standard output\n"
	"  --dump-ir-after PASS       print it after a pass: read, loops, simplify, ..., or all\n"
	"  --ir-constants             print constants in full, so that --framework IR reads them\n"
	"  --report FILE              write what the program consists of, as JSON\n"
	"  --verbose[=LEVEL]          what is done, on standard error\n"
	"  --logfile FILE             write that, and all messages, to a file too\n"
	"  -h, --help                 this text\n"
	"  --version                  the version\n"
	"\n"
	"Accepted, because front ends pass them, and without effect:\n"
	"  --pipeline STAGE...\n"
	"  --fast-math MODE\n"
	"  --fp32-cast SET\n"
	"  --model-type TYPE\n"
	"  --jobs N\n"
	"  --temp-dir DIR\n"
	"  --enable-fast-context-switch\n"
	"  --enable-fast-loading-neuron-binaries\n"
	"  --enable-mixed-precision-accumulation, --enable-saturate-infinity\n"
	"  --disable-mixed-precision-accumulation\n"
	"  --implicit-integer-downcast OPERATIONS\n"
	"  --distribution-strategy STRATEGY\n"
	"\n"
	"Exit status: 0 success, 1 the model cannot be compiled or a file cannot be read or written,\n"
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
	OPT_INT64,
	OPT_DOWNCAST,
	OPT_CORES,
	OPT_LNC,
	OPT_PRINT_IR,
	OPT_PRINT_PLAN,
	OPT_DUMP_IR,
	OPT_CONSTANTS,
	OPT_REPORT,
	OPT_VERBOSE,
	OPT_LOGFILE,
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
	{ "native-int64", required_argument, NULL, OPT_INT64 },
	{ "implicit-integer-downcast", required_argument, NULL, OPT_DOWNCAST },
	{ "print-ir", no_argument, NULL, OPT_PRINT_IR },
	{ "print-plan", no_argument, NULL, OPT_PRINT_PLAN },
	{ "dump-ir-after", required_argument, NULL, OPT_DUMP_IR },
	{ "ir-constants", no_argument, NULL, OPT_CONSTANTS },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "verbose", optional_argument, NULL, OPT_VERBOSE },
	{ "logfile", required_argument, NULL, OPT_LOGFILE },
	{ "pipeline", required_argument, NULL, OPT_PIPELINE },
	{ "fast-math", required_argument, NULL, OPT_IGNORED },
	{ "fp32-cast", required_argument, NULL, OPT_IGNORED },
	{ "model-type", required_argument, NULL, OPT_IGNORED },
	{ "optlevel", required_argument, NULL, 'O' },
	{ "lnc", required_argument, NULL, OPT_LNC },
	{ "logical-nc-config", required_argument, NULL, OPT_LNC },
	{ "jobs", required_argument, NULL, OPT_IGNORED },
	{ "temp-dir", required_argument, NULL, OPT_IGNORED },
	{ "enable-fast-context-switch", no_argument, NULL, OPT_IGNORED },
	{ "enable-fast-loading-neuron-binaries", no_argument, NULL, OPT_IGNORED },
	/* sums are fp32, and transposes move bits: nothing would change */
	{ "enable-mixed-precision-accumulation", no_argument, NULL, OPT_IGNORED },
	{ "disable-mixed-precision-accumulation", no_argument, NULL, OPT_IGNORED },
	{ "enable-saturate-infinity", no_argument, NULL, OPT_IGNORED },
	{ "distribution-strategy", required_argument, NULL, OPT_IGNORED },
	{ "neuroncore-pipeline-cores", required_argument, NULL, OPT_CORES },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

int options_refuse(const char *what, const char *value)
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
static const struct choice natives = { "--native-int64 takes default, enabled or disabled",
				       NULL,
				       { [OPTIONS_INT64_DEFAULT] = "default",
					 [OPTIONS_INT64_ENABLED] = "enabled",
					 [OPTIONS_INT64_DISABLED] = "disabled" } };
static const struct choice compressions = { "--compress-constants takes auto, "
					    "chip, always or never",
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
	return options_refuse(c->refusal, v);
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
	return options_refuse("--auto-cast-type takes bf16, fp16, tf32 or fp8_e4m3", v);
}

/*
 * What of integers may lose precision where the chip has no arithmetic for it: here none does,
 * whatever is listed.
 */
static int take_downcast(const char *v)
{
	static const char *const words[] = { "dot", "scatter", "all_reduce", "reduce_scatter",
					     "pow" };

	if (!strcmp(v, "default") || !strcmp(v, "all") || !strcmp(v, "none"))
		return 0;
	for (const char *p = v;; p++) {
		size_t n = strcspn(p, ","), i = 0;

		while (i < sizeof(words) / sizeof(words[0]) &&
		       (strlen(words[i]) != n || strncmp(p, words[i], n)))
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			return options_refuse("--implicit-integer-downcast takes default, "
					      "all, none or a list of dot, scatter, "
					      "all_reduce, reduce_scatter, pow",
					      v);
		p += n;
		if (!*p)
			return 0;
	}
}

/* Is it a level of --verbose that is a word of its own? */
static bool is_level(const char *s)
{
	static const char *const words[] = { "info", "warning", "error", "critical", "debug" };

	for (unsigned int i = 0; s && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(s, words[i]))
			return true;
	return s && strspn(s, "0123456789") == strlen(s);
}

/* Options that do not go together, whatever their order; single ones are checked elsewhere */
static int settle(struct args *a)
{
	const struct neuron_target *target = ncc_target(&a->opt);

	if (!a->cast)
		a->opt.auto_cast = target->core >= 2 ? NCC_CAST_NONE : NCC_CAST_MATMULT;
	if (a->native_int64 == OPTIONS_INT64_ENABLED && a->opt.narrow_64bit)
		return options_refuse("--native-int64 enabled and --narrow-64bit: one or the other",
				      NULL);
	if (a->native_int64 == OPTIONS_INT64_DISABLED)
		a->opt.narrow_64bit = true;
	if (!a->cast_type || target->pe_dtypes >> a->opt.auto_cast_type & 1)
		return 0;
	return options_refuse("--auto-cast-type takes bf16 or fp16 on this target, inf1",
			      a->cast_type);
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
		return options_refuse("--input-shape takes NAME=1x3x<=224", text);
	in->has_shape = true;
	for (in->ndim = 0; *p && in->ndim < NCC_MAX_DIMS; p = *end ? end + 1 : end) {
		in->bounded[in->ndim] = !strncmp(p, "<=", 2);
		p += in->bounded[in->ndim] ? 2 : 0;
		in->dim[in->ndim] = strtoll(p, &end, 10);
		/* of a constant, such as the cache of a decoder's first step, 0 */
		if (end == p || (*end && (*end != 'x' || !end[1])) ||
		    in->dim[in->ndim] < (in->bounded[in->ndim] ? 1 : 0))
			return options_refuse("--input-shape takes NAME=1x3x<=224", p);
		in->ndim++;
	}
	return *p ? options_refuse("--input-shape takes up to 16 dimensions", p) : 0;
}

static int take_input_value(struct args *a, char *text)
{
	struct ncc_input *in;
	size_t capacity = strlen(text);
	double *v = calloc(capacity + 1, sizeof(*v));
	char *p, *end;

	in = take_input(a, text, &p);
	if (!in || !v || in->value) {
		free(v);
		return options_refuse("--input-value takes NAME=1,2,3", text);
	}
	in->value = v;
	while (*p) {
		v[in->nvalues++] = strtod(p, &end);
		if (end == p || (*end && (*end != ',' || !end[1])))
			return options_refuse("--input-value takes NAME=1,2,3", p);
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int take_framework(struct args *a, const char *v)
{
	a->framework = true;
	if (strcasecmp(v, "XLA") && strcasecmp(v, "StableHLO") && strcasecmp(v, "ONNX") &&
	    strcasecmp(v, "IR"))
		return options_refuse("--framework takes XLA, StableHLO, ONNX or IR", v);
	a->opt.framework = !strcasecmp(v, "IR")	    ? NCC_IR
			   : !strcasecmp(v, "ONNX") ? NCC_ONNX
						    : NCC_XLA;
	return 0;
}

static int take_level(struct args *a, const char *v)
{
	if (strlen(v) != 1 || !strchr("123", *v))
		return options_refuse("-O takes 1, 2 or 3", v);
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
		return options_refuse("--dump-ir-after takes a pass (neuronx-cc(1) "
				      "lists them) or all",
				      v);
	a->opt.dump_after = v;
	a->opt.dump = stdout;
	return 0;
}

static int take_cores(struct args *a, const char *v)
{
	char *end;
	unsigned long n = strtoul(v, &end, 10);

	if (end == v || *end || n < 1 || n > 16)
		return options_refuse("--neuroncore-pipeline-cores takes 1 to 16", v);
	a->opt.pipeline_cores = (unsigned int)n;
	return 0;
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
		return a->opt.target ? 0
				     : options_refuse("--target takes inf1, "
						      "inf2, trn1, trn1n or trn2",
						      optarg);
	case 'o':
		a->output = optarg;
		return 0;
	case OPT_CAST:
		a->cast = true;
		return take(&casts, optarg, &a->opt.auto_cast);
	case OPT_CORES:
		return take_cores(a, optarg);
	case OPT_LNC:
		if (strcmp(optarg, "1") && strcmp(optarg, "2"))
			return options_refuse("--lnc takes 1 or 2", optarg);
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
			return options_refuse("more than 64 files of kernels", optarg);
		a->kernels[a->nkernels++] = optarg;
		return 0;
	case OPT_NARROW:
		a->opt.narrow_64bit = true;
		return 0;
	case OPT_INT64:
		return take(&natives, optarg, &a->native_int64);
	case OPT_DOWNCAST:
		return take_downcast(optarg);
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
	case OPT_PRINT_PLAN:
		a->opt.print_plan = stdout;
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
		if (!optarg && is_level(argv[optind]))
			optind++;
		return 0;
	case OPT_LOGFILE:
		a->logfile = optarg;
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
		return options_refuse("bad option", argv[optind - 1]);
	}
}

int options_parse(struct args *a, int argc, char **argv)
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
				return options_refuse("two input files", optarg);
			a->input_file = optarg;
			continue;
		}
		rc = take_option(a, c, argv);
		if (rc)
			return rc;
	}
	return settle(a);
}
