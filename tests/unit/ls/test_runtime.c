// SPDX-License-Identifier: MIT
/*
 * A program that listens at the daemon's socket can put only printable text on the terminal of a
 * user who runs neuron-ls
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../check_main.h"
#include "runtime.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };

/* Makes a listening socket and puts its address into the environment. */
static int start_listening(void)
{
	char text[sizeof(address.sun_path) + 8];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/ls-runtime.%d", (int)getpid());
	unlink(address.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	snprintf(text, sizeof(text), "unix:%s", address.sun_path);
	setenv("NEURON_RTD_ADDRESS", text, 1);
	return fd;
}

static const struct {
	const char *says, *printed;
} versions[] = {
	{ "1.6.0.0", "1.6.0.0" },
	{ "1.\x1b[2J\n\r\t\x7f", "1.?[2J????" },
	{ "1.\xc2\x9b\xff 0", "1.??? 0" },
	{ "0123456789012345678901234567890123456789", "0123456789012345678901234567890" },
	{ "", "NA" },
	{ NULL, "NA" },
};

START_TEST(version_is_printable)
{
	struct ls_runtime rt;
	int fd = start_listening();

	if (versions[_i].says)
		setenv("FAKE_VERSION", versions[_i].says, 1);
	ls_runtime_ask(&rt);
	ck_assert_int_eq(rt.pid, getpid());
	ck_assert_str_eq(rt.version, versions[_i].printed);
	close(fd);
	unlink(address.sun_path);
}
END_TEST

/* The daemon's process is listed with its version, another one keeps its library's */
START_TEST(daemon_has_its_version)
{
	static struct ls_inventory inv;
	struct ls_process *p = inv.chips[1].processes;
	int fd = start_listening();

	inv.n_chips = 2;
	inv.chips[1].n_processes = 2;
	p[0] = (struct ls_process){ .pid = 1, .runtime = true, .version = "2.26.0" };
	p[1] = (struct ls_process){ .pid = getpid(), .runtime = true, .version = "2.26.0" };
	ls_runtime_ask(&inv.runtime);
	ls_runtime_name(&inv);
	ck_assert_str_eq(p[1].version, "2.26.0");
	setenv("FAKE_VERSION", "1.6.0.0", 1);
	ls_runtime_ask(&inv.runtime);
	ls_runtime_name(&inv);
	ck_assert_str_eq(p[0].version, "2.26.0");
	ck_assert_str_eq(p[1].version, "1.6.0.0");
	close(fd);
	unlink(address.sun_path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ls-runtime");
	TCase *tc = tcase_create("runtime");

	tcase_add_loop_test(tc, version_is_printable, 0, sizeof(versions) / sizeof(versions[0]));
	tcase_add_test(tc, daemon_has_its_version);
	suite_add_tcase(s, tc);
	return check_run(s);
}
