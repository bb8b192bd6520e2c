// SPDX-License-Identifier: MIT
/*
 * The daemon's socket appears with its mode, whatever the umask, and nothing is done to its path
 * after another user of the directory could have replaced it: bind() below replaces it.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../check_main.h"
#include "listen.h"
#include "server.h"

static char dir[] = "/tmp/rtd-listen.XXXXXX", path[64], victim[64];
static bool attacked;

/* Nobody connects in this test. */
int rtd_server_add(struct rtd_server *server, int fd, const struct rtd_peer *peer)
{
	abort();
}

/* Replaces libc's: the name is another user's link as soon as it exists. */
int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	const struct sockaddr_un *un = (const void *)address;
	int ret = syscall(SYS_bind, fd, address, len);

	if (!ret && attacked) {
		ck_assert_int_eq(unlink(un->sun_path), 0);
		ck_assert_int_eq(symlink(victim, un->sun_path), 0);
	}
	return ret;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode;
}

static void make_dir(void)
{
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	f = fopen(victim, "w");
	fclose(f);
	ck_assert_int_eq(chmod(victim, 0600), 0);
}

static void remove_dir(void)
{
	unlink(path);
	unlink(victim);
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(mode_is_not_the_umasks)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	int fd;

	make_dir();
	umask(masks[_i]);
	fd = rtd_listen_open(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mode_of(path), S_IFSOCK | 0666);
	ck_assert_int_eq(umask(0), masks[_i]);
	rtd_listen_close(fd, path);
	remove_dir();
}
END_TEST

START_TEST(a_link_in_its_place_is_not_followed)
{
	int fd;

	make_dir();
	attacked = true;
	fd = rtd_listen_open(path);
	ck_assert_int_eq(mode_of(victim), S_IFREG | 0600);
	if (fd >= 0)
		close(fd);
	remove_dir();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-listen");
	TCase *tc = tcase_create("listen");

	tcase_add_loop_test(tc, mode_is_not_the_umasks, 0, 4);
	tcase_add_test(tc, a_link_in_its_place_is_not_followed);
	suite_add_tcase(s, tc);
	return check_run(s);
}
