/* SPDX-License-Identifier: MIT */
/*
 * neuron-emud hosts the chips of an instance for several processes; neuron-emud(8). As a server, or
 * for the time of one command.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "command.h"
#include "emud.h"
#include "neuron_version.h"

#define DEFAULT_INSTANCE "inf1.xlarge"

struct options {
	const char *instance;
	struct emud_listen at;
	char **command; /* NULL: a server */
};

static const struct option long_options[] = {
	{ "instance", required_argument, NULL, 'i' },
	{ "socket", required_argument, NULL, 's' },
	{ "mode", required_argument, NULL, 'm' },
	{ "group", required_argument, NULL, 'g' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *out)
{
	fputs("usage: neuron-emud --instance INSTANCE --socket PATH [options]\n"
	      "       neuron-emud --instance INSTANCE [options] -- COMMAND [ARGUMENT...]\n"
	      "  -i, --instance INSTANCE  whose chips there are, trn1.2xlarge for one (default " DEFAULT_INSTANCE
	      ")\n"
	      "  -s, --socket PATH        where processes connect, with NEURON_EMU=unix:PATH\n"
	      "                           (default with a command: a place of its own)\n"
	      "  -m, --mode MODE          the socket's mode in octal digits (default 0600)\n"
	      "  -g, --group GROUP        the socket's group\n"
	      "  -h, --help               this text\n"
	      "  -v, --version            the version\n",
	      out);
}

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "neuron-emud: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

static int mode_of(const char *text, mode_t *mode)
{
	char *end;
	unsigned long n = strtoul(text, &end, 8);

	if (!*text || *end || n > 0777)
		return complain(text, "not a mode of a file, such as 0660");
	*mode = (mode_t)n;
	return 0;
}

static int group_of(const char *text, gid_t *gid)
{
	const struct group *g = getgrnam(text);

	if (!g)
		return complain(text, "no such group");
	*gid = g->gr_gid;
	return 0;
}

/* Returns -1 to go on, or the status to end with. */
static int parse(int argc, char **argv, struct options *o)
{
	int c, ret = 0;

	while (!ret && (c = getopt_long(argc, argv, "+i:s:m:g:hv", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o->instance = optarg;
			break;
		case 's':
			o->at.path = optarg;
			break;
		case 'm':
			ret = mode_of(optarg, &o->at.mode);
			break;
		case 'g':
			ret = group_of(optarg, &o->at.group);
			break;
		case 'h':
			usage(stdout);
			return EXIT_SUCCESS;
		case 'v':
			puts("neuron-emud " NEURON_EMULATOR_BUILD);
			return EXIT_SUCCESS;
		default:
			ret = EXIT_FAILURE;
		}
	}
	if (ret)
		return ret;
	if (argv[optind])
		o->command = argv + optind;
	if (o->at.path || o->command)
		return -1;
	usage(stderr);
	return EXIT_FAILURE;
}

/* Signals come to the main thread as messages; the threads of the chips inherit that they are kept.
 */
static int signals_take(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A client has three descriptors, and one for each chunk of device memory that it maps. */
static void files_take(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static bool server_signal(void *opaque, uint32_t signal, bool by_terminal)
{
	return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
}

static int serve(const struct options *o, struct emu_machine *m, int signals)
{
	struct emud_server_config config = { .machine = m,
					     .signals = signals,
					     .on_signal = server_signal };
	struct emud_command command = { .argv = o->command };
	struct emud_listen at = o->at;
	int ret = o->command ? emud_command_place(&command, &at) : 0;

	config.listener = ret ? ret : emud_listen(&at);
	if (config.listener < 0) {
		emud_command_end(&command);
		return complain(at.path ? at.path : "a place for a socket",
				strerror(-config.listener));
	}
	if (o->command) {
		config.on_signal = emud_command_signal;
		config.opaque = &command;
		ret = emud_command_start(&command, at.path);
	}
	files_take(); /* not the command's */
	if (!ret)
		ret = emud_server_run(&config);
	if (ret)
		command.status = complain(o->command ? *o->command : "serving", strerror(-ret));
	if (ret && o->command)
		command.status = ret == -ENOENT ? 127 : 126;
	close(config.listener);
	unlink(at.path);
	emud_command_end(&command);
	return command.status;
}

int main(int argc, char **argv)
{
	struct options o = { .instance = DEFAULT_INSTANCE, .at = { .mode = 0600, .group = -1 } };
	int ret = parse(argc, argv, &o), signals;
	struct emu_machine *m;
	void *state;

	if (ret >= 0)
		return ret;
	signals = signals_take();
	if (signals < 0)
		return complain("signals", strerror(errno));
	ret = ndlx_emu_machine.open(o.instance, &state);
	if (ret == -EINVAL)
		return complain(o.instance, getenv("NEURON_EMU_FAULTS") ? "no such instance, "
									  "or NEURON_EMU_FAULTS "
									  "has no such fault"
									: "no such instance");
	if (ret)
		return complain(o.instance, strerror(-ret));
	m = state;
	ret = emu_users_start(m);
	ret = ret ? complain("the chips' guard", strerror(-ret)) : serve(&o, m, signals);
	ndlx_emu_machine.close(state);
	return ret;
}
