// SPDX-License-Identifier: MIT
/*
 * What a client's path may lead through. Every case runs twice: with openat2, and behind a filter
 * that answers it like a kernel without it. Expected errors are the kernel's own for open(2),
 * except for paths through procfs.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check_main.h"
#include "path.h"

#define TEXT "the file"

static char root[64]; /* a directory of the test's */
static int inside; /* a descriptor of that directory */

/* From here on openat2 fails with error in this process; each test has a process of its own. */
static void without_openat2(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (!error)
		return;
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	ck_assert_int_eq(syscall(SYS_openat2, -1, "", NULL, 0), -1);
	ck_assert_int_eq(errno, error);
}

/* root/sub/file, and links to it from root; the working directory is root/sub */
static void make_tree(void)
{
	FILE *f;

	strcpy(root, "/tmp/rtd-path.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(chdir(root), 0);
	ck_assert_int_eq(mkdir("sub", 0755), 0);
	f = fopen("sub/file", "w");
	fputs(TEXT, f);
	fclose(f);
	ck_assert_int_eq(symlink("sub/file", "relative"), 0);
	ck_assert_int_eq(symlink("../relative", "sub/chain"), 0);
	ck_assert_int_eq(symlink("/proc/self/cwd", "magic"), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	inside = open("sub", O_PATH | O_DIRECTORY);
	ck_assert_int_eq(chdir("sub"), 0);
}

static void remove_tree(void)
{
	static const char *const names[] = { "sub/file", "sub/chain", "relative",
					     "magic",	 "loop",      "fifo" };

	ck_assert_int_eq(chdir(root), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	rmdir("sub");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(root);
}

static int try(const char *format, int flags)
{
	char path[256], text[sizeof(TEXT)] = "";
	int fd;

	snprintf(path, sizeof(path), format, root);
	fd = rtd_path_open(path, flags);
	if (fd < 0)
		return fd;
	ck_assert_int_eq(read(fd, text, sizeof(TEXT) - 1), sizeof(TEXT) - 1);
	ck_assert_str_eq(text, TEXT);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	close(fd);
	return 0;
}

static void leads_to_the_file(void)
{
	ck_assert_int_eq(try("%s/sub/file", O_RDONLY), 0);
	ck_assert_int_eq(try("%s//sub/.././sub///file", O_RDONLY), 0);
	ck_assert_int_eq(try("/../..%s/sub/file", O_RDONLY), 0);
	ck_assert_int_eq(try("%s/relative", O_RDONLY), 0);
	ck_assert_int_eq(try("%s/sub/chain", O_RDWR), 0);
	ck_assert_int_eq(try("%s/sub/file", O_RDONLY | O_NOFOLLOW), 0);
}

static void is_refused(void)
{
	ck_assert_int_eq(try("", O_RDONLY), -EINVAL);
	ck_assert_int_eq(try("file", O_RDONLY), -EINVAL);
	ck_assert_int_eq(try("../sub/file", O_RDONLY), -EINVAL);
	ck_assert_int_eq(try("%s/relative", O_RDONLY | O_NOFOLLOW), -ELOOP);
	ck_assert_int_eq(try("%s/loop", O_RDONLY), -ELOOP);
	ck_assert_int_eq(try("%s/sub/file/", O_RDONLY), -ENOTDIR);
	ck_assert_int_eq(try("%s/sub/file/x", O_RDONLY), -ENOTDIR);
	ck_assert_int_eq(try("%s/nothing/file", O_RDONLY), -ENOENT);
	ck_assert_int_eq(try("%s/nothing", O_RDONLY), -ENOENT);
	ck_assert_int_eq(try("%s/sub", O_RDONLY), -EINVAL);
	ck_assert_int_eq(try("%s/fifo", O_RDONLY), -EINVAL);
	ck_assert_int_eq(try("/dev/null", O_RDONLY), -EINVAL);
}

/* Paths through procfs that lead to the file for open(2) are refused. */
static void is_no_way_through_procfs(void)
{
	char path[64];

	ck_assert_int_eq(try("/proc/self/cwd/file", O_RDONLY), -ELOOP);
	ck_assert_int_eq(try("/proc/thread-self/cwd/file", O_RDONLY), -ELOOP);
	ck_assert_int_eq(try("/proc/self/root%s/sub/file", O_RDONLY), -ELOOP);
	ck_assert_int_eq(try("/proc/self/exe", O_RDONLY), -ELOOP);
	ck_assert_int_eq(try("%s/magic/file", O_RDONLY), -ELOOP);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/file", inside);
	ck_assert_int_eq(try(path, O_RDONLY), -ELOOP);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d/file", (int)getpid(), inside);
	ck_assert_int_eq(try(path, O_RDONLY), -ELOOP);
	snprintf(path, sizeof(path), "/dev/fd/%d/file", inside);
	if (!access("/dev/fd", F_OK))
		ck_assert_int_eq(try(path, O_RDONLY), -ELOOP);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getpid());
	ck_assert_int_eq(try(path, O_RDONLY), -EINVAL);
}

static const int answers[] = { 0, ENOSYS, EPERM };

START_TEST(paths)
{
	make_tree();
	without_openat2(answers[_i]);
	leads_to_the_file();
	is_refused();
	is_no_way_through_procfs();
	remove_tree();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-path");
	TCase *tc = tcase_create("path");

	tcase_add_loop_test(tc, paths, 0, sizeof(answers) / sizeof(answers[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
