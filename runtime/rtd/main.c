// SPDX-License-Identifier: MIT
/*
 * neuron-rtd: options, start, the loop that accepts connections, end. It does not daemonise; its
 * socket appears when it can be used. Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot
 * start, 2 for a wrong command line.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen.h"
#include "log.h"
#include "neuron_version.h"
#include "rpc.h"
#include "rtd.h"
#include "server.h"

#define SERVER_THREADS 4
#define SERVER_WORKERS 8
/* The pause after which it accepts again when it was out of descriptors */
#define ACCEPT_RETRY_MS 100
#define ACCEPT_REFUSALS 4 /* at a socket for each connection that is served */

struct options {
	const char *config_path, *instance;
	const char *bdfs[RTD_MAX_DEVICES];
	unsigned int nbdfs;
	int level;
	bool console;
};

struct daemon {
	struct rtd_config *config;
	struct rtd *rtd;
	struct rtd_server *server;
	int signal_fd;
	int listen[RTD_MAX_ENDPOINTS]; /* of each endpoint; -1: TCP */
	bool passed[RTD_MAX_ENDPOINTS]; /* by the init system, whose path it is */
};

static const char usage[] =
	"usage: neuron-rtd [options]\n"
	"\n"
	"  -g, --server-port ENDPOINT  unix:PATH or HOST:PORT (repeatable; default\n"
	"                              " RTD_DEFAULT_ENDPOINT ")\n"
	"  -c, --config FILE           JSON configuration\n"
	"  -i, --instance NAME         read NAME.json (server_port, devices)\n"
	"  -t, --device BDF            use this device (repeatable; default all)\n"
	"  -l, --log-level N           3 errors, 4 warnings, 5 information (default),\n"
	"                              6 debug, 7 trace\n"
	"  -x, --log-console           log to standard error too\n"
	"  -v, --version               print the version\n"
	"  -h, --help                  print this text\n";

/* ---- the command line */

static int parse_level(const char *text, int *level)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || !*text || n < RTD_LOG_QUIET || n > RTD_LOG_TRACE)
		return -EINVAL;
	*level = n;
	return 0;
}

static void fail_usage(const char *what, const char *value)
{
	fprintf(stderr, "neuron-rtd: %s%s\n", what, value);
	exit(2);
}

static void parse_one(int option, struct options *o, struct rtd_config *config)
{
	switch (option) {
	case 'g':
		if (rtd_config_add_endpoint(config, optarg))
			fail_usage("too many endpoints: ", optarg);
		break;
	case 'c':
		o->config_path = optarg;
		break;
	case 'i':
		o->instance = optarg;
		break;
	case 't':
		if (o->nbdfs == RTD_MAX_DEVICES)
			fail_usage("too many devices: ", optarg);
		o->bdfs[o->nbdfs++] = optarg;
		break;
	case 'l':
		if (parse_level(optarg, &o->level))
			fail_usage("-l: expected 0 to 7: ", optarg);
		break;
	case 'x':
		o->console = true;
		break;
	case 'v':
		printf("neuron-rtd %s (neuron-emulator %s)\n", RTD_VERSION, NEURON_EMULATOR_BUILD);
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

static void parse_options(int argc, char **argv, struct options *o, struct rtd_config *config)
{
	static const struct option longs[] = {
		{ "server-port", required_argument, NULL, 'g' },
		{ "config", required_argument, NULL, 'c' },
		{ "instance", required_argument, NULL, 'i' },
		{ "device", required_argument, NULL, 't' },
		{ "log-level", required_argument, NULL, 'l' },
		{ "log-console", no_argument, NULL, 'x' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "g:c:i:t:l:xvh", longs, NULL)) >= 0)
		parse_one(option, o, config);
	if (optind < argc)
		fail_usage("not an option: ", argv[optind]);
}

/* The endpoint of that path; none yet: it is added. Returns its index or -errno. */
static int endpoint_of(struct rtd_config *config, const char *path)
{
	char endpoint[RTD_LISTEN_PATH + sizeof("unix:")];
	int err;

	for (unsigned int i = 0; i < config->nendpoints; i++) {
		const char *own = rtd_endpoint_path(config->endpoints[i]);

		if (own && !strcmp(own, path))
			return i;
	}
	snprintf(endpoint, sizeof(endpoint), "unix:%s", path);
	err = rtd_config_add_endpoint(config, endpoint);
	return err ? err : (int)config->nendpoints - 1;
}

/* Sockets that an init system listens on for the daemon (sd_listen_fds) */
static int take_passed(struct daemon *d)
{
	int n = sd_listen_fds(1), err, at;
	char path[RTD_LISTEN_PATH];

	for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++) {
		err = rtd_listen_passed(fd, path);
		at = err ? err : endpoint_of(d->config, path);
		if (at < 0) {
			rtd_error("NRTD", "passed socket %d: %s", fd,
				  at == -EPROTONOSUPPORT ? "only unix stream sockets that listen"
							 : strerror(-at));
			return at;
		}
		d->listen[at] = fd;
		d->passed[at] = true;
	}
	return n < 0 ? n : 0;
}

static void warn_unknown(const struct rtd_config *config)
{
	const char *line = rtd_config_unknown(config);

	for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
		rtd_warning("NRTD", "configuration: %.*s has no meaning and is ignored",
			    (int)strcspn(line, "\n"), line);
}

static int read_files(const struct options *o, struct daemon *d)
{
	struct rtd_config *config = d->config;
	char text[256] = "";
	int err = 0;

	if (o->config_path)
		err = rtd_config_read(config, o->config_path, text);
	if (!err && o->instance)
		err = rtd_config_read_instance(config, o->instance, o->config_path, text);
	if (err)
		rtd_error("NRTD", "configuration: %s", *text ? text : strerror(-err));
	warn_unknown(config);
	if (!err)
		err = take_passed(d);
	if (!err && !config->nendpoints)
		err = rtd_config_default_endpoint(config);
	return err;
}

static int compare_devices(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static bool find_devices(const struct options *o, struct rtd_config *config, struct rtd_err *err)
{
	if (!o->nbdfs)
		return true;
	config->ndevices = 0;
	for (unsigned int i = 0; i < o->nbdfs; i++) {
		int index = rtd_engine_find_bdf(o->bdfs[i]);

		if (index < 0) {
			rtd_fail(err, NERR_HW_ERROR, "NMGR", "no device at %s", o->bdfs[i]);
			rtd_error("NMGR", "no device at %s", o->bdfs[i]);
			return false;
		}
		config->devices[config->ndevices++] = index;
	}
	qsort(config->devices, config->ndevices, sizeof(config->devices[0]), compare_devices);
	return true;
}

/* ---- start */

/* Called before any thread exists, because each thread has capabilities of its own. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &header, data))
		return -errno;
	return 0;
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* every thread inherits the mask, so the signals come only to the descriptor */
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -EINVAL;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int open_tcp(struct daemon *d)
{
	for (unsigned int i = 0; i < d->config->nendpoints; i++) {
		const char *endpoint = d->config->endpoints[i];

		if (rtd_endpoint_path(endpoint))
			continue;
		if (rtd_server_listen_tcp(d->server, endpoint)) {
			rtd_error("NRTD", "cannot listen on %s", endpoint);
			return -EADDRINUSE;
		}
	}
	return 0;
}

static int open_sockets(struct daemon *d)
{
	for (unsigned int i = 0; i < d->config->nendpoints; i++) {
		const char *path = rtd_endpoint_path(d->config->endpoints[i]);

		if (path && !d->passed[i]) {
			d->listen[i] = rtd_listen_open(path);
			if (d->listen[i] < 0) {
				rtd_error("NRTD", "cannot listen on %s: %s",
					  d->config->endpoints[i], strerror(-d->listen[i]));
				return d->listen[i];
			}
		}
		rtd_info("NRTD", "Server listening on %s", d->config->endpoints[i]);
	}
	return 0;
}

static int start_server(struct daemon *d)
{
	struct rtd_server_config config = {
		.rtd = d->rtd,
		.methods = rtd_methods,
		.nmethods = rtd_nmethods,
		.quota = d->rtd->quota,
		.threads = SERVER_THREADS,
		.workers = SERVER_WORKERS,
	};
	int err = rtd_server_new(&config, &d->server);

	if (!err)
		err = open_tcp(d);
	if (!err)
		err = rtd_server_start(d->server);
	if (!err)
		err = open_sockets(d);
	return err;
}

/* ---- run */

/*
 * All that wait, before one of them is served: a client that finds the kernel's queue full fails,
 * as gRPC's does not wait for a place. Of those that are refused only some, as they may come
 * without end; the others are as many as there is room for.
 */
static int accept_all(struct daemon *d)
{
	int err = 0, ret;

	for (unsigned int i = 0; i < d->config->nendpoints; i++) {
		if (d->listen[i] < 0)
			continue;
		ret = rtd_listen_accept(d->listen[i], ACCEPT_REFUSALS, d->server);
		if (ret) {
			rtd_warning("NRTD", "accept: %s", strerror(-ret));
			err = ret;
		}
	}
	return err;
}

static void run(struct daemon *d)
{
	struct pollfd fds[RTD_MAX_ENDPOINTS + 1];
	unsigned int n = 0;
	bool waiting = false; /* accepted connections */
	int err = 0;

	fds[n++] = (struct pollfd){ .fd = d->signal_fd, .events = POLLIN };
	for (unsigned int i = 0; i < d->config->nendpoints; i++)
		if (d->listen[i] >= 0)
			fds[n++] = (struct pollfd){ .fd = d->listen[i], .events = POLLIN };

	for (;;) {
		if (poll(fds, n, waiting ? 0 : -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			return;
		if (!err || !waiting)
			err = accept_all(d);
		waiting = rtd_server_serve(d->server);
		if (err && !waiting)
			poll(fds, 1, ACCEPT_RETRY_MS);
	}
}

static void stop(struct daemon *d)
{
	sd_notify(0, "STOPPING=1");
	for (unsigned int i = 0; i < d->config->nendpoints; i++)
		if (d->listen[i] >= 0 && !d->passed[i])
			rtd_listen_close(d->listen[i], rtd_endpoint_path(d->config->endpoints[i]));
	if (d->rtd)
		rtd_close(d->rtd);
	if (d->server)
		rtd_server_free(d->server);
	if (d->rtd)
		rtd_free(d->rtd);
	rtd_config_free(d->config);
	rtd_info("NRTD", "stopped");
	rtd_log_close();
}

static int start(struct daemon *d, const struct options *o)
{
	int err = read_files(o, d);

	if (err)
		return err;

	if (d->config->drop_capabilities) {
		err = drop_capabilities();
		if (err) {
			rtd_error("NRTD", "capabilities cannot be dropped: %s", strerror(-err));
			return err;
		}
	}

	d->signal_fd = block_signals();
	d->rtd = rtd_new(d->config);
	if (d->signal_fd < 0 || !d->rtd)
		return -ENOMEM;

	/* a daemon without devices stays up and answers every call with the reason */
	if (find_devices(o, d->config, &d->rtd->init_error))
		rtd_open_chips(d->rtd);
	err = rtd_events_start(d->rtd);
	if (err)
		return err;
	return start_server(d);
}

int main(int argc, char **argv)
{
	struct options options = { .level = RTD_LOG_INFO };
	struct daemon d = { .config = rtd_config_new(), .signal_fd = -1 };

	for (unsigned int i = 0; i < RTD_MAX_ENDPOINTS; i++)
		d.listen[i] = -1;
	if (!d.config)
		return 1;
	parse_options(argc, argv, &options, d.config);
	rtd_log_open(options.level, options.console);
	rtd_info("NRTD", "nrtd build using:%s", RTD_VERSION);
	if (start(&d, &options)) {
		stop(&d);
		return 1;
	}
	sd_notify(0, "READY=1");
	run(&d);
	rtd_info("NRTD", "shutting down");
	stop(&d);
	return 0;
}
