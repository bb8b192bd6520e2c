// SPDX-License-Identifier: MIT
/*
 * Who holds a device node, as neuron-ls --holders tells: of a procfs made here, whose descriptors
 * are links to nodes that every Linux has, and of the real one with this process in it.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_main.h"
#include "holders.h"

static char dir[] = "/tmp/test-holders.XXXXXX";
static const struct ls_options none;

static char *path(const char *name)
{
	static char text[200];

	snprintf(text, sizeof(text), "%s/%s", dir, name);
	return text;
}

static void make_dir(const char *name)
{
	ck_assert_int_eq(mkdir(path(name), 0700), 0);
}

static void make_link(const char *name, const char *to)
{
	ck_assert_int_eq(symlink(to, path(name)), 0);
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(path(name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	make_link("neuron0", "/dev/full");
	make_link("neuron10", "/dev/zero");
	make_link("neuron2", "/dev/null");
	make_link("neuron2x", "/dev/null");
	make_link("neuron", "/dev/null");
	make_file("neuron3", "no device");
}

static void make_process(const char *pid, const char *command)
{
	char name[64];

	make_dir(pid);
	snprintf(name, sizeof(name), "%s/fd", pid);
	make_dir(name);
	snprintf(name, sizeof(name), "%s/fdinfo", pid);
	make_dir(name);
	snprintf(name, sizeof(name), "%s/comm", pid);
	make_file(name, command);
}

static void teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
	strcpy(strrchr(dir, '.'), ".XXXXXX");
}

START_TEST(nodes)
{
	struct ls_node list[4];

	ck_assert_uint_eq(ls_nodes(dir, list, 4), 3);
	ck_assert_uint_eq(list[0].index, 0);
	ck_assert_uint_eq(list[1].index, 2);
	ck_assert_uint_eq(list[2].index, 10);
	ck_assert_str_eq(list[2].path, "/dev/neuron10");
	ck_assert_uint_eq(ls_nodes(path("nowhere"), list, 4), 0);
}
END_TEST

START_TEST(made)
{
	struct ls_node list[3];
	struct ls_holders h;
	char *text;
	size_t size;
	FILE *out;

	ck_assert_uint_eq(ls_nodes(dir, list, 3), 3);
	make_process("200", "two words\n"); /* two of neuron2, one of neuron10, and others */
	make_link("200/fd/0", "/dev/tty");
	make_link("200/fd/3", "/dev/null");
	make_link("200/fd/4", "/dev/zero");
	make_link("200/fd/5", "/dev/null");
	make_link("200/fd/6", "pipe:[123]");
	make_process("30", "mapped\n"); /* one has let the descriptor go */
	make_file("30/maps", "7f00-7f01 rw-s 0 00:05 7 /usr/lib/libneuron.so\n"
			     "7f02-7f03 rw-s 0 00:05 8                          /dev/neuron10\n"
			     "7f04-7f05 rw-s 0 00:05 8                          /dev/neuron1\n"
			     "7f06-7f07 rw-s 0 00:05 9                          "
			     "/dev/neuron0 (deleted)\n");
	make_process("7", "buffer\x1b[1m\n"); /* dma-bufs: the module's, and another one's */
	make_link("7/fd/3", "/dmabuf:");
	make_file("7/fdinfo/3", "pos:\t0\nsize:\t4096\nexp_name:\tneuron\n");
	make_link("7/fd/4", "/dmabuf:");
	make_file("7/fdinfo/4", "pos:\t0\nexp_name:\tneuron_display\n");
	make_link("7/fd/5", "/dmabuf:gone");
	make_process("8", "nothing\n");
	make_dir("self");

	ck_assert_int_eq(ls_holders(dir, list, 3, &h), 0);
	out = open_memstream(&text, &size);
	ck_assert_int_eq(ls_print_holders(&h, list, &none, out), 0);
	fclose(out);
	ck_assert_str_eq(text, "+---------+-----+------+--------+------------+\n"
			       "| NEURON  | PID | OPEN | MAPPED |  COMMAND   |\n"
			       "| DEVICE  |     |      |        |            |\n"
			       "+---------+-----+------+--------+------------+\n"
			       "| 0       | 30  | 0    | yes    | mapped     |\n"
			       "| 2       | 200 | 2    | no     | two words  |\n"
			       "| 10      | 30  | 0    | yes    | mapped     |\n"
			       "| 10      | 200 | 1    | no     | two words  |\n"
			       "| dma-buf | 7   | 1    | no     | buffer?[1m |\n"
			       "+---------+-----+------+--------+------------+\n");
	ck_assert_uint_eq(h.hidden, 0);
	free(text);
	free(h.list);
}
END_TEST

START_TEST(nobody)
{
	struct ls_node list[3];
	struct ls_holders h;

	make_process("8", "nothing\n");
	ck_assert_int_eq(ls_holders(dir, list, ls_nodes(dir, list, 3), &h), 0);
	ck_assert_uint_eq(h.n, 0);
	ck_assert_int_eq(ls_print_holders(&h, list, &none, stderr), 0);
	ck_assert_int_ne(ls_holders(path("nowhere"), list, 3, &h), 0);
}
END_TEST

/*
 * The kernel's own /proc shows this process as the holder of a file; nobody else has /dev/full open
 * for long.
 */
START_TEST(real)
{
	struct ls_node node = { .index = 1, .path = "/dev/neuron1" };
	struct ls_holders h;
	unsigned found = 0;
	struct stat st;
	int fd[2];

	fd[0] = open("/dev/full", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd[0], 0);
	fd[1] = dup(fd[0]);
	ck_assert_int_eq(fstat(fd[0], &st), 0);
	node.rdev = st.st_rdev;
	ck_assert_int_eq(ls_holders("/proc", &node, 1, &h), 0);
	for (unsigned i = 0; i < h.n; i++)
		if (h.list[i].pid == getpid() && !h.list[i].node)
			found += h.list[i].open;
	ck_assert_uint_eq(found, 2);
	close(fd[0]);
	close(fd[1]);
	free(h.list);
}
END_TEST

START_TEST(hidden)
{
	struct ls_node list[3];
	struct ls_holders h;

	make_process("9", "other\n");
	ck_assert_int_eq(chmod(path("9/fd"), 0), 0);
	ck_assert_int_eq(ls_holders(dir, list, ls_nodes(dir, list, 3), &h), 0);
	ck_assert_uint_eq(h.hidden, geteuid() ? 1 : 0); /* root may look at all */
	ck_assert_int_eq(chmod(path("9/fd"), 0700), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("holders");
	TCase *tc = tcase_create("holders");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nodes);
	tcase_add_test(tc, made);
	tcase_add_test(tc, nobody);
	tcase_add_test(tc, real);
	tcase_add_test(tc, hidden);
	suite_add_tcase(s, tc);
	return check_run(s);
}
