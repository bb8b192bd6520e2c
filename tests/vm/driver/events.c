/* SPDX-License-Identifier: MIT */
/*
 * Listens to the module's generic-netlink family with libnl, as any program would.
 *
 *	driver-events get [INDEX]		the devices, a line each
 *	driver-events until REGEX COMMAND	runs COMMAND in a shell and prints the events, until
 *one matches REGEX (status 1 after a minute)
 *
 * A line is the message's name and its attributes: reset-ntf index=0 bdf=... reset{stage=0 ...}
 */
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "uapi/neuron/neuron_netlink.h"

#define DEADLINE 600

enum kind { U32 = 1, U8, STRING, NEST };

struct attr {
	const char *name;
	enum kind kind;
	const struct attr *nest; /* U32 and so on, by number */
	int max;
};

#define SET(set) .kind = NEST, .nest = set, .max = sizeof(set) / sizeof((set)[0]) - 1

static const struct attr reset_set[] = {
	[NEURON_A_RESET_STAGE] = { "stage", U32 }, [NEURON_A_RESET_CORES] = { "cores", U32 },
	[NEURON_A_RESET_PID] = { "pid", U32 },	   [NEURON_A_RESET_DURATION] = { "duration", U32 },
	[NEURON_A_RESET_ERROR] = { "error", U32 },
};

static const struct attr link_set[] = {
	[NEURON_A_LINK_SIDE] = { "side", U32 },
	[NEURON_A_LINK_UP] = { "up", U8 },
};

static const struct attr ecc_set[] = {
	[NEURON_A_ECC_MEMORY] = { "memory", U32 },
	[NEURON_A_ECC_CORRECTED] = { "corrected", U32 },
	[NEURON_A_ECC_UNCORRECTED] = { "uncorrected", U32 },
	[NEURON_A_ECC_NEW_CORRECTED] = { "new-corrected", U32 },
	[NEURON_A_ECC_NEW_UNCORRECTED] = { "new-uncorrected", U32 },
};

static const struct attr hang_set[] = {
	[NEURON_A_HANG_REASON] = { "reason", U32 }, [NEURON_A_HANG_CORES] = { "cores", U32 },
	[NEURON_A_HANG_ENGINE] = { "engine", U32 }, [NEURON_A_HANG_QUEUE] = { "queue", U32 },
	[NEURON_A_HANG_PID] = { "pid", U32 },	    [NEURON_A_HANG_DUMP] = { "dump", U32 },
};

static const struct attr device_set[] = {
	[NEURON_A_DEVICE_INDEX] = { "index", U32 },
	[NEURON_A_DEVICE_BDF] = { "bdf", STRING },
	[NEURON_A_DEVICE_STATE] = { "state", U32 },
	[NEURON_A_DEVICE_ARCHITECTURE] = { "architecture", U32 },
	[NEURON_A_DEVICE_CORE_COUNT] = { "core-count", U32 },
	[NEURON_A_DEVICE_RESET] = { "reset", SET(reset_set) },
	[NEURON_A_DEVICE_LINK] = { "link", SET(link_set) },
	[NEURON_A_DEVICE_ECC] = { "ecc", SET(ecc_set) },
	[NEURON_A_DEVICE_HANG] = { "hang", SET(hang_set) },
};

static const char *const commands[] = {
	[NEURON_CMD_DEVICE_GET] = "device-get",
	[NEURON_CMD_DEVICE_ADD_NTF] = "device-add-ntf",
	[NEURON_CMD_DEVICE_DEL_NTF] = "device-del-ntf",
	[NEURON_CMD_RESET_NTF] = "reset-ntf",
	[NEURON_CMD_LINK_NTF] = "link-ntf",
	[NEURON_CMD_ECC_NTF] = "ecc-ntf",
	[NEURON_CMD_HANG_NTF] = "hang-ntf",
};

static char line[2048];
static regex_t wanted;
static bool waiting;
static volatile sig_atomic_t late;

__attribute__((format(printf, 1, 2))) static void add(const char *fmt, ...)
{
	size_t used = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + used, sizeof(line) - used, fmt, ap);
	va_end(ap);
}

static void add_attrs(struct nlattr *head, int len, const struct attr *set, int max)
{
	struct nlattr *a;
	int left;

	nla_for_each_attr(a, head, len, left)
	{
		const struct attr *d = nla_type(a) <= max ? &set[nla_type(a)] : NULL;

		if (!d || !d->kind)
			add(" unknown-%d", nla_type(a));
		else if (d->kind == U32 && nla_len(a) == sizeof(uint32_t))
			add(" %s=%u", d->name, nla_get_u32(a));
		else if (d->kind == U8 && nla_len(a) == 1)
			add(" %s=%u", d->name, nla_get_u8(a));
		else if (d->kind == STRING && memchr(nla_data(a), 0, (size_t)nla_len(a)))
			add(" %s=%s", d->name, nla_get_string(a));
		else if (d->kind == NEST && nla_is_nested(a)) {
			add(" %s{", d->name);
			add_attrs(nla_data(a), nla_len(a), d->nest, d->max);
			add(" }");
		} else
			add(" %s=malformed", d->name);
	}
}

static int print_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct genlmsghdr *gnlh = genlmsg_hdr(nlh);
	bool known = gnlh->cmd >= 1 && gnlh->cmd <= NEURON_CMD_MAX;

	(void)arg;
	snprintf(line, sizeof(line), "%s", known ? commands[gnlh->cmd] : "unknown");
	add_attrs(genlmsg_attrdata(gnlh, 0), genlmsg_attrlen(gnlh, 0), device_set,
		  NEURON_A_DEVICE_MAX);
	printf("%s\n", line);
	fflush(stdout);
	if (waiting && !regexec(&wanted, line, 0, NULL, 0))
		waiting = false;
	return NL_OK;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "driver-events: %s: %s\n", what, nl_geterror(err));
	return 1;
}

/* libnl's receiver stores the error that it got with this. */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	(void)from;
	*(int *)arg = err->error;
	return NL_STOP;
}

static int get(struct nl_sock *sk, int family, const char *index)
{
	struct nl_msg *msg = nlmsg_alloc();
	int refused = 0, ret;

	if (!msg || !genlmsg_put(msg, 0, 0, family, 0, index ? 0 : NLM_F_DUMP,
				 NEURON_CMD_DEVICE_GET, NEURON_FAMILY_VERSION))
		return fail("message", -NLE_NOMEM);
	if (index)
		nla_put_u32(msg, NEURON_A_DEVICE_INDEX, (uint32_t)strtoul(index, NULL, 0));
	nl_socket_modify_err_cb(sk, NL_CB_CUSTOM, on_error, &refused);
	ret = nl_send_auto(sk, msg);
	nlmsg_free(msg);
	if (ret >= 0)
		ret = nl_recvmsgs_default(sk);
	if (refused) {
		fprintf(stderr, "driver-events: %s\n", strerror(-refused));
		return 1;
	}
	if (ret >= 0 && index)
		ret = nl_wait_for_ack(sk);
	return ret < 0 ? fail("device-get", ret) : 0;
}

static void on_alarm(int sig)
{
	(void)sig;
	late = 1;
}

static int until(struct nl_sock *sk, const char *regex, const char *command)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	int group = genl_ctrl_resolve_grp(sk, NEURON_FAMILY_NAME, NEURON_MCGRP_EVENTS), ret;
	pid_t child;

	if (group < 0)
		return fail("group " NEURON_MCGRP_EVENTS, group);
	nl_socket_disable_seq_check(sk);
	nl_socket_set_buffer_size(sk, 1 << 20, 0);
	ret = nl_socket_add_membership(sk, group);
	if (ret)
		return fail("membership", ret);
	if (regcomp(&wanted, regex, REG_EXTENDED | REG_NOSUB))
		return fail(regex, -NLE_INVAL);
	child = fork();
	if (!child) {
		execl("/bin/bash", "bash", "-c", command, (char *)NULL);
		_exit(127);
	}
	sigaction(SIGALRM, &sa, NULL); /* ends the receiving */
	alarm(DEADLINE);
	for (waiting = true; waiting && !late;) {
		ret = nl_recvmsgs_default(sk);
		if (ret && ret != -NLE_INTR)
			return fail("receive", ret);
	}
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	return waiting;
}

int main(int argc, char **argv)
{
	struct nl_sock *sk = nl_socket_alloc();
	int family, ret;

	if (argc < 2 || (strcmp(argv[1], "get") && (strcmp(argv[1], "until") || argc != 4)))
		return 2;
	ret = sk ? genl_connect(sk) : -NLE_NOMEM;
	if (ret)
		return fail("connect", ret);
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, print_message, NULL);
	family = genl_ctrl_resolve(sk, NEURON_FAMILY_NAME);
	if (family < 0)
		return fail("family " NEURON_FAMILY_NAME, family);
	ret = argv[1][0] == 'g' ? get(sk, family, argc > 2 ? argv[2] : NULL)
				: until(sk, argv[2], argv[3]);
	nl_socket_free(sk);
	return ret;
}
