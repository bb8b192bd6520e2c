/* SPDX-License-Identifier: MIT */
/*
 * neuron-cli: groups, models and inferences of a running neuron-rtd; neuron-cli(1). The exit status
 * is 0, 1 when the daemon refuses or cannot be reached, 2 for a wrong command line.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "neuron_version.h"
#include "output.h"

struct command {
	const char *name;
	int (*run)(struct cli *cli);
	unsigned int min_args, max_args;
	const char *args, *help;
};

static const struct command commands[] = {
	{ "create-ncg", cli_create_ncg, 0, 0, "", "make a NeuronCore group (--nc-count)" },
	{ "destroy-ncg", cli_destroy_ncg, 1, CLI_MAX_MODELS, "NCG...", "remove groups" },
	{ "share-ncg", cli_share_ncg, 1, CLI_MAX_MODELS, "NCG...",
	  "let other users use groups (--with)" },
	{ "list-ncg", cli_list_ncg, 0, 0, "", "list the groups" },
	{ "list-model", cli_list_model, 0, 0, "", "list the loaded models" },
	{ "load", cli_load, 1, 1, "FILE", "load a NEFF, print the model's id" },
	{ "start", cli_start, 1, CLI_MAX_MODELS, "MODEL...", "start models" },
	{ "infer", cli_infer, 0, CLI_MAX_MODELS, "[MODEL...]", "run .npy files through models" },
	{ "stop", cli_stop, 1, CLI_MAX_MODELS, "MODEL...", "stop models" },
	{ "unload", cli_unload, 1, CLI_MAX_MODELS, "MODEL...", "unload models" },
	{ "reset", cli_reset, 0, 0, "", "unload every model and remove every group" },
};

enum {
	OPT_NCG = 256,
	OPT_COUNT,
	OPT_WITH,
	OPT_NINFER,
	OPT_TIMEOUT,
	OPT_COPIES,
	OPT_DIRECT,
	OPT_START,
	OPT_FLIGHT,
	OPT_REPEAT,
	OPT_ROWS,
	OPT_WHOLE,
	OPT_SHM,
	OPT_ALL,
	OPT_EACH,
};

static const struct option long_options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'v' },
	{ "input", required_argument, NULL, 'i' },
	{ "output-dir", required_argument, NULL, 'o' },
	{ "ncg-id", required_argument, NULL, OPT_NCG },
	{ "nc-count", required_argument, NULL, OPT_COUNT },
	{ "with", required_argument, NULL, OPT_WITH },
	{ "ninfer", required_argument, NULL, OPT_NINFER },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "copies", required_argument, NULL, OPT_COPIES },
	{ "enable-direct-file-load", no_argument, NULL, OPT_DIRECT },
	{ "start", no_argument, NULL, OPT_START },
	{ "in-flight", required_argument, NULL, OPT_FLIGHT },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "rows", no_argument, NULL, OPT_ROWS },
	{ "whole", no_argument, NULL, OPT_WHOLE },
	{ "shm", no_argument, NULL, OPT_SHM },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "each", no_argument, NULL, OPT_EACH },
	{ 0 },
};

static void usage(FILE *out)
{
	fputs("usage: neuron-cli [-a ADDRESS] COMMAND [options] [ARGS]\n\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-11s %-10s  %s\n", commands[i].name, commands[i].args,
			commands[i].help);
	fputs("\n"
	      "  -a, --address ADDRESS        the daemon (default $NEURON_RTD_ADDRESS, else\n"
	      "                               unix:/run/neuron.sock)\n"
	      "  -h, --help                   print this text\n"
	      "  -v, --version                print the version\n"
	      "\n"
	      "create-ncg:\n"
	      "      --nc-count N             cores (default: the largest free run)\n"
	      "share-ncg:\n"
	      "      --with WHAT              what others may: none, infer (default) or all\n"
	      "load:\n"
	      "      --ncg-id N               -1: the daemon makes a group (default), 0: make one\n"
	      "                               first, else an existing group\n"
	      "      --copies N               load it N times, each in a group of its own\n"
	      "      --start                  start it\n"
	      "      --ninfer N               inferences in flight (default: the daemon's)\n"
	      "      --timeout SECONDS        of one inference (default: the daemon's)\n"
	      "      --enable-direct-file-load\n"
	      "                               send the path, not the bytes\n"
	      "infer:\n"
	      "  -i, --input NAME=FILE.npy    an input; once for each\n"
	      "  -o, --output-dir DIR         where NAME.npy of each output is written\n"
	      "      --rows                   files of any number of rows, batch by batch\n"
	      "      --whole                  outputs whose sizes the data decide keep room for\n"
	      "                               the most\n"
	      "      --all                    use every started model\n"
	      "      --each                   every model does everything, in DIR/MODEL/NAME.npy\n"
	      "                               (default: the models share the rows)\n"
	      "      --in-flight N            at once in all (default: what the models take)\n"
	      "      --shm                    tensors in shared memory\n"
	      "      --repeat N               do it N times (default 1)\n",
	      out);
}

static void need_number(const char *option, uint32_t min, uint32_t *value)
{
	if (cli_number(optarg, value) && *value >= min)
		return;
	fprintf(stderr, "neuron-cli: --%s: expected a number from %u up: %s\n", option, min,
		optarg);
	exit(2);
}

static void parse_ncg(struct cli_options *o)
{
	uint32_t id;

	if (!strcmp(optarg, "-1")) {
		o->ncg_id = -1;
		return;
	}
	need_number("ncg-id", 0, &id);
	o->ncg_id = id;
}

static void parse_input(struct cli_options *o)
{
	char *eq = strchr(optarg, '=');

	if (!eq || eq == optarg || o->ninputs == CLI_MAX_INPUTS) {
		fprintf(stderr, "neuron-cli: --input: expected NAME=FILE.npy: %s\n", optarg);
		exit(2);
	}
	*eq = 0;
	o->inputs[o->ninputs].name = optarg;
	o->inputs[o->ninputs++].file = eq + 1;
}

static void parse_sharing(struct cli_options *o)
{
	static const char *const names[] = { "none", "infer", "all" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(optarg, names[i])) {
			o->sharing = i;
			return;
		}
	}
	fprintf(stderr, "neuron-cli: --with: expected none, infer or all: %s\n", optarg);
	exit(2);
}

static void parse_flag(int option, struct cli_options *o)
{
	switch (option) {
	case OPT_DIRECT:
		o->direct_file = true;
		break;
	case OPT_START:
		o->start = true;
		break;
	case OPT_ROWS:
		o->rows = true;
		break;
	case OPT_WHOLE:
		o->whole = true;
		break;
	case OPT_SHM:
		o->shm = true;
		break;
	case OPT_ALL:
		o->all = true;
		break;
	case OPT_EACH:
		o->each = true;
		break;
	case 'v':
		printf("neuron-cli %s\n", NEURON_EMULATOR_BUILD);
		exit(0);
	case 'h':
		usage(stdout);
		exit(0);
	default:
		usage(stderr);
		exit(2);
	}
}

static void parse_value(int option, struct cli_options *o)
{
	switch (option) {
	case 'a':
		o->address = optarg;
		break;
	case 'i':
		parse_input(o);
		break;
	case 'o':
		o->output_dir = optarg;
		break;
	case OPT_NCG:
		parse_ncg(o);
		break;
	case OPT_COUNT:
		need_number("nc-count", 0, &o->nc_count);
		break;
	case OPT_WITH:
		parse_sharing(o);
		break;
	case OPT_NINFER:
		need_number("ninfer", 1, &o->ninfer);
		break;
	case OPT_TIMEOUT:
		need_number("timeout", 1, &o->timeout);
		break;
	case OPT_COPIES:
		need_number("copies", 1, &o->copies);
		break;
	case OPT_FLIGHT:
		need_number("in-flight", 1, &o->in_flight);
		break;
	case OPT_REPEAT:
		need_number("repeat", 1, &o->repeat);
		break;
	default:
		parse_flag(option, o);
	}
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	fprintf(stderr, "neuron-cli: no such command: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	struct cli_options options = { .address = rtd_client_default_address(),
				       .ncg_id = -1,
				       .copies = 1,
				       .repeat = 1,
				       .sharing = NRTX__SHARING__SHARE_INFER };
	struct cli cli = { .options = &options };
	const struct command *command;
	int option, status;

	while ((option = getopt_long(argc, argv, "a:hvi:o:", long_options, NULL)) >= 0)
		parse_value(option, &options);
	if (optind == argc) {
		usage(stderr);
		return 2;
	}

	command = find_command(argv[optind++]);
	options.args = argv + optind;
	options.nargs = argc - optind;
	if (options.nargs < command->min_args || options.nargs > command->max_args) {
		fprintf(stderr, "usage: neuron-cli %s [options] %s\n", command->name,
			command->args);
		return 2;
	}

	cli.client = rtd_client_new(options.address);
	if (!cli.client)
		return cli_fail(command->name, "out of memory");
	status = command->run(&cli);
	rtd_client_free(cli.client);
	return output_end("neuron-cli", status);
}
