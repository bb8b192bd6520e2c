/* SPDX-License-Identifier: MIT */
/*
 * Where the processes of a job meet (cc.h): the process of member 0 makes the board's file, listens
 * on a socket of the host whose name is the job's, and gives the file to each member that says that
 * it belongs there. When all have come nobody listens any more, and the name is free for the next
 * job.
 *
 * Whoever connects is a stranger until the kernel has said that it is the same user's process, and
 * until its hello is of this version, for this count, and for a member that has not come. A
 * stranger that says nothing costs the others SAY_MS.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cc.h"

#define MAGIC 0x656d6363u /* "ccme" */
#define VERSION 1u
#define SAY_MS 2000 /* in which a process says what it has to, once the other one is there */
#define LOOK_MS 20

struct hello {
	uint32_t magic, version;
	struct cc_form form;
	uint32_t member, count;
	uint32_t wanted; /* the file: this process has not got it */
};

struct welcome {
	uint32_t magic, version;
	int32_t error;
	uint32_t pad;
};

/* what a process has of a board is one thread's business at a time */
static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

__attribute__((format(printf, 4, 5))) static int say(int err, char *why, size_t room,
						     const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, room, format, ap);
	va_end(ap);
	return err;
}

/* ---- the socket ---- */

/* The name is of the abstract kind: no file is left, whatever happens. -ENAMETOOLONG */
static int address(const char *root, struct sockaddr_un *a, socklen_t *n)
{
	const int text = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "neuron-job/%u/%s",
				  (unsigned int)geteuid(), root);

	a->sun_family = AF_UNIX;
	a->sun_path[0] = 0;
	*n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)text);
	return (size_t)text < sizeof(a->sun_path) - 1 ? 0 : -ENAMETOOLONG;
}

/* Nobody waits for the other end for long. */
static void limit(int fd)
{
	const struct timeval t = { SAY_MS / 1000, SAY_MS % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static int new_socket(int flags)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		return -errno;
	limit(fd);
	return fd;
}

static bool is_own_user(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.uid == geteuid();
}

static int send_welcome(int to, int error, int file)
{
	struct welcome w = { .magic = MAGIC, .version = VERSION, .error = error };
	struct iovec io = { &w, sizeof(w) };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (file >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &file, sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL) == sizeof(w) ? 0 : -EPIPE;
}

/* file: -1 if there is none. 0, the other's error, or -EPROTO */
static int receive_welcome(int from, int *file)
{
	struct welcome w = { 0 };
	struct iovec io = { &w, sizeof(w) };
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*file = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(file, CMSG_DATA(c), sizeof(int));
	if (n != sizeof(w) || w.magic != MAGIC || w.version != VERSION)
		return -EPROTO;
	return w.error;
}

/* ---- member 0 ---- */

static int check_hello(const struct hello *h, const struct cc_meeting *m,
		       const struct cc_form *form)
{
	if (h->magic != MAGIC || h->version != VERSION || memcmp(&h->form, form, sizeof(*form)) ||
	    h->count != m->count || !h->member || h->member >= m->count)
		return -EPROTO;
	return 0;
}

/* One who has come to the door: what it says, and what it is given. */
static void answer(int fd, const struct cc_meeting *m, const struct cc_form *form, int file)
{
	struct hello h = { 0 };

	if (!is_own_user(fd) || recv(fd, &h, sizeof(h), 0) != sizeof(h))
		return;
	send_welcome(fd, check_hello(&h, m, form), h.wanted ? file : -1);
}

static int serve(int door, const struct cc_meeting *m, const struct cc_form *form, int file,
		 struct cc_board *board)
{
	const uint64_t until = now_ms() + m->timeout_ms;
	struct pollfd p = { .fd = door, .events = POLLIN };
	int err = -ETIMEDOUT;

	while (err == -ETIMEDOUT && now_ms() < until) {
		if (poll(&p, 1, LOOK_MS) > 0) {
			const int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);

			if (fd >= 0) {
				limit(fd);
				answer(fd, m, form, file);
				close(fd);
			}
		}
		err = cc_wait_come(board, 0);
	}
	return err;
}

static int open_door(const char *root)
{
	struct sockaddr_un a;
	socklen_t n;
	int err = address(root, &a, &n), fd = err ? err : new_socket(SOCK_NONBLOCK);

	if (fd < 0)
		return fd;
	if (!bind(fd, (struct sockaddr *)&a, n) && !listen(fd, SOMAXCONN))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The file's first reference stays with the board: to close another one would free its locks. */
static int begin(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board,
		 int *file)
{
	int err;

	if (*board)
		return -EEXIST;
	err = cc_file_new(form, m->count, file);
	if (!err)
		err = cc_file_join(*file, form, m->member, board);
	err = err ? err : cc_come(*board, m->member);
	if (err && *board) {
		cc_board_free(*board);
		*board = NULL;
	}
	return err;
}

static int be_root(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board)
{
	int door, file, err;

	/* who comes through the door, of this process too, finds the board there */
	pthread_mutex_lock(&joining);
	door = open_door(m->root);
	err = door < 0 ? door : begin(m, form, board, &file);
	pthread_mutex_unlock(&joining);
	if (!err)
		err = serve(door, m, form, file, *board);
	if (door >= 0)
		close(door);
	return err;
}

/* ---- the others ---- */

/* Connects to member 0's process. -EAGAIN: it is not there yet */
static int connect_root(const struct cc_meeting *m)
{
	struct sockaddr_un a;
	socklen_t n;
	int err = address(m->root, &a, &n), fd = err ? err : new_socket(0);

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&a, n))
		err = errno == ECONNREFUSED || errno == ENOENT || errno == EINTR ? -EAGAIN : -errno;
	else if (!is_own_user(fd))
		err = -EACCES;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int ask(int fd, const struct cc_meeting *m, const struct cc_form *form,
	       struct cc_board **board)
{
	const struct hello h = { .magic = MAGIC,
				 .version = VERSION,
				 .form = *form,
				 .member = m->member,
				 .count = m->count,
				 .wanted = !*board };
	int file = -1, err;

	if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
		return -EPIPE;
	err = receive_welcome(fd, &file);
	if (!err && h.wanted)
		err = file < 0 ? -EPROTO : cc_file_join(file, form, m->member, board);
	else if (file >= 0)
		close(file); /* of one who is wrong, or of another version: it is not the board's */
	err = err ? err : cc_come(*board, m->member);
	if (err && h.wanted && *board) {
		cc_board_free(*board);
		*board = NULL;
	}
	return err;
}

/* A process's members come one after the other: the root hears who has connected in that order. */
static int try_once(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board)
{
	int fd, err;

	pthread_mutex_lock(&joining);
	fd = connect_root(m);
	err = fd < 0 ? fd : ask(fd, m, form, board);
	pthread_mutex_unlock(&joining);
	if (fd >= 0)
		close(fd);
	return err;
}

static int be_other(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board)
{
	const uint64_t until = now_ms() + m->timeout_ms;
	int err = try_once(m, form, board);

	while (err == -EAGAIN && now_ms() < until) {
		sleep_ms(LOOK_MS);
		err = try_once(m, form, board);
	}
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	return cc_wait_come(*board, until > now_ms() ? (until - now_ms()) * 1000 : 0);
}

int cc_meet(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board,
	    char *why, size_t room)
{
	int err;

	if (!m->count || m->count > CC_MEMBERS || m->member >= m->count)
		return say(-EINVAL, why, room, "member %u of %u: at most %d", m->member, m->count,
			   CC_MEMBERS);
	err = m->member ? be_other(m, form, board) : be_root(m, form, board);
	switch (err) {
	case 0:
		return 0;
	case -EADDRINUSE:
		return say(err, why, room, "another job of this host meets at %s", m->root);
	case -EPROTO:
		return say(err, why, room,
			   "at %s are members of another version, or of another number than %u",
			   m->root, m->count);
	case -EEXIST:
		return say(err, why, room, "member %u has come to %s before", m->member, m->root);
	case -ETIMEDOUT:
		return say(err, why, room,
			   "not all %u members have come to %s on this host within %llu ms",
			   m->count, m->root, (unsigned long long)m->timeout_ms);
	case -EOWNERDEAD:
		return say(err, why, room, "a process that had come to %s has ended", m->root);
	case -EACCES:
		return say(err, why, room, "at %s is another user's process", m->root);
	default:
		return say(err, why, room, "meeting at %s: %s", m->root, strerror(-err));
	}
}
