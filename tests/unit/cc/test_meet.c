// SPDX-License-Identifier: MIT
/*
 * Where the processes of a job meet: who comes, in whatever order and with how many members, has
 * one board; and what strangers say, who comes twice, and who ends, harms no more than it has to.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check_main.h"
#include "cc.h"

#define LONG_MS 60000 /* what only a hang takes */

static const struct cc_form form = { .version = 7, .slots = 4, .slot = 1000 };
static char root[64];

static void setup(void)
{
	snprintf(root, sizeof(root), "test-%d", getpid());
}

static int meet(uint32_t member, uint32_t count, uint64_t ms, const struct cc_form *f,
		struct cc_board **board)
{
	const struct cc_meeting m = { root, member, count, ms };
	char why[256] = "";
	int err = cc_meet(&m, f, board, why, sizeof(why));

	ck_assert_msg(!err == !*why, "%d: %s", err, why);
	return err;
}

/* Another process, whose status is what fn gives it, from 0 to 255 */
static pid_t start(int (*fn)(uint32_t arg), uint32_t arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(fn(arg) & 0xff);
	ck_assert_int_gt(pid, 0);
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- many members ---- */

#define PROCESSES 3u
#define EACH 6u
#define ALL (PROCESSES * EACH)

static struct cc_board *shared;

static void *one_member(void *arg)
{
	const uint32_t member = (uint32_t)(uintptr_t)arg, own[3] = { member, member * member, 5 };
	uint32_t all[ALL][3];
	uintptr_t wrong = 0;

	if (meet(member, ALL, LONG_MS, &form, &shared))
		return (void *)1;
	if (cc_gather(shared, member, own, sizeof(own), all, LONG_MS))
		return (void *)2;
	for (uint32_t i = 0; i < ALL; i++)
		wrong |= all[i][0] != i || all[i][1] != i * i || all[i][2] != 5;
	return (void *)(wrong * 3);
}

/* Members process, process + PROCESSES, ...: those of a process are not one behind the other */
static int one_process(uint32_t process)
{
	pthread_t thread[EACH];
	uintptr_t worst = 0;
	void *result;

	for (uint32_t i = 0; i < EACH; i++)
		pthread_create(&thread[i], NULL, one_member,
			       (void *)(uintptr_t)(process + i * PROCESSES));
	for (uint32_t i = 0; i < EACH; i++) {
		pthread_join(thread[i], &result);
		worst |= (uintptr_t)result;
	}
	return (int)worst;
}

START_TEST(many)
{
	pid_t pid[PROCESSES];

	for (uint32_t i = 0; i < PROCESSES; i++)
		pid[i] = start(one_process, i);
	for (uint32_t i = 0; i < PROCESSES; i++)
		ck_assert_int_eq(status_of(pid[i]), 0);
}
END_TEST

/* ---- strangers ---- */

/* What a member says first, as meet.c has it */
struct hello {
	uint32_t magic, version;
	struct cc_form form;
	uint32_t member, count, wanted;
};
#define RIGHT                                                                       \
	{                                                                           \
		0x656d6363u, 1, { .version = 7, .slots = 4, .slot = 1000 }, 1, 2, 1 \
	}

static int connect_to(uid_t user)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "neuron-job/%u/%s",
			       (unsigned int)user, root);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	while (connect(fd, (struct sockaddr *)&a,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		ck_assert(errno == ECONNREFUSED || errno == EINTR);
	return fd;
}

/* The error in the answer, with whether a file came; -EPIPE: there was no answer */
static int answer_to(int fd, bool *file)
{
	uint32_t words[4] = { 0 };
	struct iovec io = { words, sizeof(words) };
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(fd, &m, 0);

	*file = n > 0 && CMSG_FIRSTHDR(&m);
	return n == sizeof(words) ? (int)words[2] : -EPIPE;
}

static int be_root_of_two(uint32_t ms)
{
	struct cc_board *board = NULL;
	int err = meet(0, 2, ms, &form, &board);

	cc_board_free(board);
	return -err;
}

static int be_second_of_two(uint32_t ms)
{
	struct cc_board *board = NULL;
	int err = meet(1, 2, ms, &form, &board);

	cc_board_free(board);
	return -err;
}

static void wrong_magic(struct hello *h)
{
	h->magic++;
}

static void wrong_version(struct hello *h)
{
	h->version++;
}

static void wrong_form(struct hello *h)
{
	h->form.slot++;
}

static void wrong_count(struct hello *h)
{
	h->count++;
}

static void member_zero(struct hello *h)
{
	h->member = 0;
}

static void member_too_many(struct hello *h)
{
	h->member = h->count;
}

static void (*const wrong[])(struct hello *h) = {
	wrong_magic, wrong_version, wrong_form, wrong_count, member_zero, member_too_many,
};

/* Refused without the file, and the member that belongs there comes all the same */
START_TEST(strangers)
{
	const pid_t first = start(be_root_of_two, LONG_MS);
	struct hello h = RIGHT;
	bool file;
	int fd = connect_to(geteuid());

	wrong[_i](&h);
	ck_assert_int_eq(send(fd, &h, sizeof(h), 0), sizeof(h));
	ck_assert_int_eq(answer_to(fd, &file), -EPROTO);
	close(fd);
	fd = connect_to(geteuid()); /* says half of it */
	ck_assert_int_eq(send(fd, &h, sizeof(h) / 2, 0), sizeof(h) / 2);
	ck_assert_int_eq(answer_to(fd, &file), -EPIPE);
	ck_assert(!file);
	close(fd);
	ck_assert_int_eq(be_second_of_two(LONG_MS), 0);
	ck_assert_int_eq(status_of(first), 0);
}
END_TEST

/* One that says nothing costs the others a while; it is let go. */
START_TEST(silent)
{
	const pid_t first = start(be_root_of_two, LONG_MS);
	const int fd = connect_to(geteuid());
	bool file;

	ck_assert_int_eq(answer_to(fd, &file), -EPIPE);
	close(fd);
	ck_assert_int_eq(be_second_of_two(LONG_MS), 0);
	ck_assert_int_eq(status_of(first), 0);
}
END_TEST

/* Everything that it says is right, and it is another user's process. */
static int another_user(uint32_t user)
{
	struct hello h = RIGHT;
	bool file;
	int fd;

	if (setuid(65534))
		return 1;
	fd = connect_to(user);
	if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
		return 0;
	return answer_to(fd, &file) == -EPIPE && !file ? 0 : 2;
}

START_TEST(users)
{
	pid_t first;

	if (geteuid()) /* who is not root has no other user */
		return;
	first = start(be_root_of_two, LONG_MS);
	ck_assert_int_eq(status_of(start(another_user, geteuid())), 0);
	ck_assert_int_eq(be_second_of_two(LONG_MS), 0);
	ck_assert_int_eq(status_of(first), 0);
}
END_TEST

/* ---- who comes twice, not, or ends ---- */

static int hold;

/* Comes as a member of three, says so, and stays until it is killed */
static int stay(uint32_t member)
{
	struct cc_board *board = NULL;
	int err = meet(member, 3, LONG_MS, &form, &board);

	if (write(hold, &err, sizeof(err)) == sizeof(err) && !err)
		pause();
	return -err;
}

START_TEST(twice)
{
	struct cc_board *board = NULL, *again = NULL;
	pid_t pid[2] = { start(stay, 0), start(stay, 1) };

	ck_assert_int_eq(meet(2, 3, LONG_MS, &form, &board), 0);
	ck_assert_int_eq(cc_members(board), 3);
	for (unsigned int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		ck_assert_int_eq(status_of(pid[i]), -SIGKILL);
	}
	/* the name is free again: nobody is there */
	ck_assert_int_eq(meet(1, 2, 50, &form, &again), -ETIMEDOUT);
	ck_assert_ptr_null(again);
	/* and the others' end is known to who is left, however often it asks */
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_int_eq(cc_barrier(board, LONG_MS), -EOWNERDEAD);
	ck_assert(!cc_alive(board, 0));
	ck_assert(cc_alive(board, cc_self(board)));
	cc_board_free(board);
}
END_TEST

static int second_of_three(uint32_t arg)
{
	struct cc_board *board = NULL;
	int err = meet(1, 3, LONG_MS, &form, &board);

	cc_board_free(board);
	return -err;
}

/* The first of two that come as member 1 goes on waiting; the second is told. */
START_TEST(same_member)
{
	struct cc_board *board = NULL;
	const pid_t pid[3] = { start(stay, 0), start(second_of_three, 0),
			       start(second_of_three, 0) };
	int status, refused = 0;
	const pid_t out = waitpid(-1, &status, 0); /* one of the two ends before the job is whole */

	ck_assert(out == pid[1] || out == pid[2]);
	ck_assert(WIFEXITED(status));
	refused = WEXITSTATUS(status);
	ck_assert_int_eq(refused, EEXIST);
	ck_assert_int_eq(meet(2, 3, LONG_MS, &form, &board), 0);
	ck_assert_int_eq(status_of(out == pid[1] ? pid[2] : pid[1]), 0);
	kill(pid[0], SIGKILL);
	status_of(pid[0]);
	cc_board_free(board);
}
END_TEST

static int member_of_four(uint32_t member)
{
	struct cc_board *board = NULL;
	/* the second one comes, as the first is there, and waits no longer */
	int err = meet(member, 4, member == 1 ? 1 : LONG_MS, &form, &board);

	cc_board_free(board);
	return -err;
}

/* Who waits for all is told that one who had come has ended. */
START_TEST(ends)
{
	const pid_t first = start(member_of_four, 0);

	close(connect_to(geteuid()));
	ck_assert_int_eq(status_of(start(member_of_four, 1)), ETIMEDOUT);
	ck_assert_int_eq(status_of(first), EOWNERDEAD);
}
END_TEST

START_TEST(name_taken)
{
	struct cc_board *board = NULL;
	const pid_t first = start(be_root_of_two, LONG_MS);
	const int fd = connect_to(geteuid()); /* it is there */

	close(fd);
	ck_assert_int_eq(meet(0, 2, LONG_MS, &form, &board), -EADDRINUSE);
	ck_assert_ptr_null(board);
	ck_assert_int_eq(be_second_of_two(LONG_MS), 0);
	ck_assert_int_eq(status_of(first), 0);
}
END_TEST

START_TEST(another_form)
{
	struct cc_form other = form;
	struct cc_board *board = NULL;
	const pid_t first = start(be_root_of_two, LONG_MS);

	other.version++;
	close(connect_to(geteuid()));
	ck_assert_int_eq(meet(1, 2, LONG_MS, &other, &board), -EPROTO);
	ck_assert_ptr_null(board);
	ck_assert_int_eq(be_second_of_two(LONG_MS), 0);
	ck_assert_int_eq(status_of(first), 0);
}
END_TEST

START_TEST(numbers)
{
	struct cc_board *board = NULL;

	ck_assert_int_eq(meet(0, 0, 1, &form, &board), -EINVAL);
	ck_assert_int_eq(meet(2, 2, 1, &form, &board), -EINVAL);
	ck_assert_int_eq(meet(0, CC_MEMBERS + 1, 1, &form, &board), -EINVAL);
	ck_assert_int_eq(meet(0, 2, 50, &form, &board), -ETIMEDOUT);
	cc_board_free(board);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cc-meet");
	TCase *tc = tcase_create("meet");

	hold = open("/dev/null", O_WRONLY | O_CLOEXEC);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, many);
	tcase_add_loop_test(tc, strangers, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tc, silent);
	tcase_add_test(tc, users);
	tcase_add_test(tc, twice);
	tcase_add_test(tc, same_member);
	tcase_add_test(tc, ends);
	tcase_add_test(tc, name_taken);
	tcase_add_test(tc, another_form);
	tcase_add_test(tc, numbers);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return check_run(suite);
}
