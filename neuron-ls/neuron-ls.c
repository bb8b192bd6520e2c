// SPDX-License-Identifier: MIT
/*
 * neuron-ls lists the Neuron devices of this machine: it parses the command line, gathers an
 * inventory, and prints it in one of the layouts. The exit status is 0, or 1 with one line that
 * says why.
 */
#include "gather.h"
#include "holders.h"
#include "layout.h"
#include "neuron_version.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*print_fn)(const struct ls_inventory *, const struct ls_options *, FILE *);

enum { OPT_FORMAT = 256, OPT_HOLDERS, OPT_VERSION };

static const struct option long_options[] = {
	{ "wide", no_argument, NULL, 'w' },
	{ "show-all-procs", no_argument, NULL, 'a' },
	{ "topology", no_argument, NULL, 't' },
	{ "json-output", no_argument, NULL, 'j' },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "holders", no_argument, NULL, OPT_HOLDERS },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char help[] = "usage: neuron-ls [options]\n"
			   "Lists the Neuron devices of this machine.\n"
			   "\n"
			   "  -w, --wide             show 80 columns of each command, not 40\n"
			   "  -a, --show-all-procs   show processes without a Neuron runtime too\n"
			   "  -t, --topology         draw how the devices are connected\n"
			   "  -j, --json-output      print JSON\n"
			   "      --format FORMAT    classic (the default on Inf1), modern, or the "
			   "table of the\n"
			   "                         tools 1.0.11054, 1.16 or 2.9\n"
			   "      --holders          show who has a device node open, and nothing "
			   "else\n"
			   "      --version          print the version\n"
			   "  -h, --help             print this help\n";

/* Misuse is reported on stdout, as the vendor's tool does. */
static int misuse(const char *what, const char *arg)
{
	printf("%s: %s\n", what, arg);
	return EXIT_FAILURE;
}

/* Clients parse this form, in which error is the last key. */
static int fatal(const char *msg, const char *error)
{
	time_t now = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	fprintf(stderr, "time=\"%s\" level=fatal msg=\"%s\" error=\"%s\"\n", text, msg, error);
	return EXIT_FAILURE;
}

static int list(print_fn print, const struct ls_options *opt)
{
	static struct ls_inventory inv;
	char error[512] = "failed to discover Neuron devices: ";
	size_t used = strlen(error);

	if (ls_gather(&inv, error + used, sizeof(error) - used))
		return fatal("Failed to load MLA system information", error);
	if (!print)
		print = inv.first_generation ? ls_print_classic : ls_print_modern;
	if (print(&inv, opt, stdout) || fflush(stdout) || ferror(stdout))
		return fatal("Failed to print", strerror(errno));
	return EXIT_SUCCESS;
}

/* The processes that stand in the way of `rmmod neuron` */
static int list_holders(const struct ls_options *opt)
{
	static struct ls_node nodes[LS_MAX_CHIPS];
	unsigned n = ls_nodes("/dev", nodes, LS_MAX_CHIPS);
	struct ls_holders holders;
	int ret = ls_holders("/proc", nodes, n, &holders);

	if (!ret && !n && !holders.n)
		ret = fatal("Failed to list holders", "no /dev/neuron0");
	else if (ret || (ret = ls_print_holders(&holders, nodes, opt, stdout)))
		ret = fatal("Failed to list holders", strerror(-ret));
	else if (fflush(stdout) || ferror(stdout))
		ret = fatal("Failed to print", strerror(errno));
	else if (holders.hidden)
		fprintf(stderr,
			"neuron-ls: %u processes of others were not looked at: root sees them\n",
			holders.hidden);
	free(holders.list);
	return ret;
}

/* Formats have the name of the release that brought them, but for the first and the last */
static print_fn find_format(const char *name)
{
	static const struct {
		const char *name;
		print_fn print;
	} formats[] = {
		{ "classic", ls_print_classic }, { "1.0.11054", ls_print_september },
		{ "1.16", ls_print_processes },	 { "2.9", ls_print_headed },
		{ "modern", ls_print_modern },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(name, formats[i].name))
			return formats[i].print;
	return NULL;
}

int main(int argc, char **argv)
{
	struct ls_options opt = { 0 };
	bool holders = false;
	print_fn table = NULL, other = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":watjh", long_options, NULL)) != -1) {
		switch (c) {
		case 'w':
			opt.wide = true;
			break;
		case 'a':
			opt.all_processes = true;
			break;
		case 't':
			other = other == ls_print_json ? other : ls_print_topology;
			break;
		case 'j':
			other = ls_print_json;
			break;
		case OPT_FORMAT:
			table = find_format(optarg);
			if (!table)
				return misuse("unknown format", optarg);
			break;
		case OPT_HOLDERS:
			holders = true;
			break;
		case OPT_VERSION:
			puts("neuron-ls " NEURON_EMULATOR_BUILD);
			return EXIT_SUCCESS;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		case ':':
			return misuse("flag needs an argument", argv[optind - 1]);
		default:
			if (!optopt)
				return misuse("unknown flag", argv[optind - 1]);
			return misuse("unknown flag", (char[]){ '-', (char)optopt, '\0' });
		}
	}
	if (optind < argc)
		return misuse("unexpected argument", argv[optind]);
	return holders ? list_holders(&opt) : list(other ? other : table, &opt);
}
