/* SPDX-License-Identifier: MIT */
/*
 * neuron-profile, also under its later name neuron-explorer: profiles of models that a neuron-rtd
 * has loaded; neuron-profile(1). The exit status is 0, 1 when the daemon refuses, cannot be reached
 * or a file is none, 2 for a wrong command line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron_version.h"
#include "profile.h"

static const struct command {
	const char *name;
	int (*run)(const struct options *o);
	int nargs;
} commands[] = {
	{ "start-session", profile_start, 1 },
	{ "stop-session", profile_stop, 0 },
	{ "show-session", profile_show, 0 },
};

/* The vendor's, of the generations after the first */
static const char *const elsewhere[] = { "capture", "view",	 "inspect",
					 "upload",  "recommend", "analyze" };

static const char usage[] = "usage: %1$s start-session -s FILE [-a ADDRESS] MODEL\n"
			    "       %1$s stop-session -s FILE [-a ADDRESS]\n"
			    "       %1$s show-session -s FILE\n"
			    "\n"
			    "  start-session  begin a profile of a loaded model\n"
			    "  stop-session   end it, and write it into the session's file\n"
			    "  show-session   print a summary of it\n"
			    "\n"
			    "  -s, --session-file FILE  the session\n"
			    "  -a, --address ADDRESS    the daemon (default $NEURON_RTD_ADDRESS, "
			    "else\n"
			    "                           unix:/run/neuron.sock; to stop: the "
			    "session's)\n"
			    "  -h, --help               print this text\n"
			    "  -v, --version            print the version\n";

static void wrong(const char *what, const char *value)
{
	fprintf(stderr, "%s: %s%s\n", program_invocation_short_name, what, value);
	exit(2);
}

static void wrong_command(const char *name)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (!strcmp(elsewhere[i], name))
			wrong("the vendor's profiles have no public format; "
			      "here are start-session, stop-session, show-session, "
			      "and NEURON_RT_INSPECT_ENABLE=1 of libnrt: ",
			      name);
	wrong("not a command: ", name);
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "session-file", required_argument, NULL, 's' },
		{ "address", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "s:a:hv", longs, NULL)) >= 0) {
		switch (option) {
		case 's':
			o->session = optarg;
			break;
		case 'a':
			o->address = optarg;
			break;
		case 'h':
			printf(usage, program_invocation_short_name);
			exit(0);
		case 'v':
			printf("%s %s\n", program_invocation_short_name, NEURON_EMULATOR_BUILD);
			exit(0);
		default:
			fprintf(stderr, usage, program_invocation_short_name);
			exit(2);
		}
	}
}

static uint32_t parse_model(const char *text)
{
	unsigned long id;
	char *end;

	errno = 0;
	id = strtoul(text, &end, 10);
	if (*end || text[0] < '0' || text[0] > '9' || errno || !id || id > UINT32_MAX)
		wrong("expected a model's id: ", text);
	return (uint32_t)id;
}

int main(int argc, char **argv)
{
	const struct command *command = NULL;
	struct options o = { 0 };

	parse_options(argc, argv, &o);
	if (optind == argc)
		wrong("a command is missing; see ", "--help");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[optind], commands[i].name))
			command = &commands[i];
	if (!command)
		wrong_command(argv[optind]);
	if (argc - optind - 1 != command->nargs)
		wrong(command->nargs ? "expected one model: " : "expected no argument: ",
		      command->name);
	if (!o.session)
		wrong("-s FILE is missing: ", command->name);
	if (command->nargs)
		o.model = parse_model(argv[optind + 1]);
	return command->run(&o);
}
