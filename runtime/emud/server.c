/* SPDX-License-Identifier: MIT */
/*
 * The main thread: it accepts, answers hellos and requests for channels, and sees clients end, by
 * their socket or, if a child of theirs still has that, by their pidfd. A client that is gone is
 * taken down by a thread of its own, because that may wait for its cores. Whoever says hello
 * meanwhile is answered when that is over, so that a process finds free what those had that ended
 * before it began, as it would on a node.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emud.h"

#define STRANGERS 64 /* connections that have not said hello */
#define HELLO_MS 5000
#define WAIT_MS 2000 /* a hello for those who are being taken down */
#define EVENTS 64

struct conn {
	int fd, pidfd; /* -1: none */
	struct ucred peer;
	struct emud_client *client; /* NULL: no hello yet */
	uint64_t since_ms;
	bool gone; /* in this round of events */
	bool waits; /* its hello is in order, and is not answered yet */
	struct conn *next;
};

struct emud_server {
	const struct emud_server_config *config;
	int epoll;
	struct conn *conns;
	unsigned int strangers;
	int spare; /* a descriptor to refuse with when there are no more */
	/* clients that are being taken down */
	pthread_mutex_t lock;
	pthread_cond_t over;
	unsigned int ending;
	int ended; /* an eventfd: the last of them is down */
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* The low bit of an event's pointer says that it is the pidfd's. */
static int epoll_add(struct emud_server *s, int fd, void *what, bool pidfd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP,
				  .data.u64 = (uintptr_t)what | pidfd };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

struct ending {
	struct emud_server *server;
	struct emud_client *client;
};

static void *end_main(void *arg)
{
	struct ending *e = arg;

	emud_client_free(e->client);
	pthread_mutex_lock(&e->server->lock);
	if (!--e->server->ending)
		eventfd_write(e->server->ended, 1);
	pthread_cond_signal(&e->server->over);
	pthread_mutex_unlock(&e->server->lock);
	free(e);
	return NULL;
}

static void client_end(struct emud_server *s, struct emud_client *client)
{
	struct ending *e = malloc(sizeof(*e));
	pthread_attr_t attr;
	pthread_t thread;

	if (!e) {
		emud_client_free(client);
		return;
	}
	*e = (struct ending){ s, client };
	pthread_mutex_lock(&s->lock);
	s->ending++;
	pthread_mutex_unlock(&s->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, end_main, e))
		end_main(e);
	pthread_attr_destroy(&attr);
}

/* The connection is freed when this round of events is over. */
static void conn_end(struct emud_server *s, struct conn *conn)
{
	if (conn->gone)
		return;
	conn->gone = true;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
	if (conn->pidfd >= 0) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, conn->pidfd, NULL);
		close(conn->pidfd);
	}
	/* who still has the other end, a child or nobody, sees that it is over */
	shutdown(conn->fd, SHUT_RDWR);
	if (conn->client) {
		client_end(s, conn->client);
	} else {
		s->strangers--;
		close(conn->fd);
	}
}

static bool are_ending(struct emud_server *s)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->ending;
	pthread_mutex_unlock(&s->lock);
	return any;
}

static void refuse(const struct conn *conn, int error)
{
	const struct wire_welcome w = { .magic = WIRE_MAGIC,
					.version = WIRE_VERSION,
					.error = error };

	send(conn->fd, &w, sizeof(w), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int welcome(struct emud_server *s, struct conn *conn)
{
	int ret = emud_client_new(s->config->machine, conn->fd, &conn->peer, &conn->client);

	conn->waits = false;
	if (ret) {
		refuse(conn, ret);
		return ret;
	}
	s->strangers--;
	return emud_client_welcome(conn->client);
}

static void welcome_waiting(struct emud_server *s)
{
	for (struct conn *conn = s->conns; conn; conn = conn->next)
		if (conn->waits && !conn->gone && welcome(s, conn))
			conn_end(s, conn);
}

static void sweep(struct emud_server *s)
{
	struct conn **p = &s->conns;
	uint64_t now = now_ms();

	while (*p) {
		struct conn *conn = *p;

		if (conn->waits && !conn->gone && now - conn->since_ms > WAIT_MS &&
		    welcome(s, conn))
			conn_end(s, conn);
		if (!conn->client && !conn->gone && now - conn->since_ms > HELLO_MS)
			conn_end(s, conn);
		if (conn->gone) {
			*p = conn->next;
			free(conn);
		} else {
			p = &conn->next;
		}
	}
}

/* A connection that says nothing gives way to the next: a process says hello at once. */
static void oldest_end(struct emud_server *s)
{
	struct conn *oldest = NULL;

	for (struct conn *conn = s->conns; conn; conn = conn->next)
		if (!conn->client && !conn->gone && !conn->waits)
			oldest = conn; /* the newest is the first of the list */
	if (oldest)
		conn_end(s, oldest);
}

static void conn_new(struct emud_server *s, int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	socklen_t n = sizeof(conn->peer);

	if (!conn || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &conn->peer, &n) ||
	    epoll_add(s, fd, conn, false)) {
		free(conn);
		close(fd);
		return;
	}
	conn->fd = fd;
	conn->since_ms = now_ms();
	/* its number is 0 to a server of another namespace, which then has the socket alone */
	conn->pidfd = conn->peer.pid > 0 ? pidfd_open(conn->peer.pid, 0) : -1;
	if (conn->pidfd >= 0)
		epoll_add(s, conn->pidfd, conn, true);
	conn->next = s->conns;
	s->conns = conn;
	s->strangers++;
}

/* Out of descriptors: the next one is refused, as it would else wait, and be told of, for ever. */
static void refuse_one(struct emud_server *s)
{
	close(s->spare);
	s->spare = accept4(s->config->listener, NULL, NULL, SOCK_CLOEXEC);
	if (s->spare >= 0)
		close(s->spare);
	s->spare = eventfd(0, EFD_CLOEXEC);
}

static void accept_some(struct emud_server *s)
{
	int fd;

	for (unsigned int i = 0; i < STRANGERS / 2; i++) {
		fd = accept4(s->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				refuse_one(s);
			break;
		}
		if (s->strangers >= STRANGERS)
			oldest_end(s);
		conn_new(s, fd);
	}
}

static unsigned int clients_of(const struct emud_server *s, uid_t uid)
{
	unsigned int n = 0;

	for (const struct conn *conn = s->conns; conn; conn = conn->next)
		n += (conn->client || conn->waits) && !conn->gone && conn->peer.uid == uid;
	return n;
}

/* Takes down those who have ended, before the events that say so are read. */
static void end_the_gone(struct emud_server *s)
{
	for (struct conn *conn = s->conns; conn; conn = conn->next) {
		struct pollfd p[] = { { .fd = conn->fd, .events = POLLRDHUP },
				      { .fd = conn->pidfd, .events = POLLIN } };

		if (conn->client && !conn->gone && poll(p, 2, 0) > 0)
			conn_end(s, conn);
	}
}

static int hello(struct emud_server *s, struct conn *conn, const struct wire_hello *h, ssize_t n)
{
	int ret = 0;

	end_the_gone(s);
	if (n != sizeof(*h) || conn->waits || h->magic != WIRE_MAGIC || h->version != WIRE_VERSION)
		ret = -EPROTO;
	else if (clients_of(s, conn->peer.uid) >= EMUD_OF_A_USER)
		ret = -EBUSY;
	if (ret) {
		refuse(conn, ret);
		return ret;
	}
	conn->waits = are_ending(s);
	return conn->waits ? 0 : welcome(s, conn);
}

static int ask(struct conn *conn, const struct wire_ask *a, ssize_t n)
{
	struct wire_ask reply = *a;

	if (n != sizeof(*a))
		return -EPROTO;
	reply.error = emud_client_channel(conn->client, a->channel);
	return send(conn->fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* A packet of more than there is room for, and files with it, are cut off: both are nobody's. */
static void conn_read(struct emud_server *s, struct conn *conn)
{
	union {
		struct wire_hello hello;
		struct wire_ask ask;
	} in;
	ssize_t n = recv(conn->fd, &in, sizeof(in), MSG_DONTWAIT | MSG_TRUNC);
	int ret;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		ret = -ECONNRESET;
	else
		ret = conn->client ? ask(conn, &in.ask, n) : hello(s, conn, &in.hello, n);
	if (ret)
		conn_end(s, conn);
}

/* Returns false when a signal ends the server. */
static bool signal_read(struct emud_server *s)
{
	struct signalfd_siginfo info;

	while (read(s->config->signals, &info, sizeof(info)) == sizeof(info))
		if (s->config->on_signal(s->config->opaque, info.ssi_signo,
					 info.ssi_code == SI_KERNEL))
			return false;
	return true;
}

static void ended_read(struct emud_server *s)
{
	eventfd_t n;

	eventfd_read(s->ended, &n);
	if (!are_ending(s))
		welcome_waiting(s);
}

static bool event(struct emud_server *s, const struct epoll_event *ev)
{
	struct conn *conn = (struct conn *)(uintptr_t)(ev->data.u64 & ~1ull);

	if ((void *)conn == &s->config->listener)
		accept_some(s);
	else if ((void *)conn == &s->config->signals)
		return signal_read(s);
	else if ((void *)conn == &s->ended)
		ended_read(s);
	else if (conn->gone)
		return true;
	else if (ev->data.u64 & 1)
		conn_end(s, conn);
	else
		conn_read(s, conn);
	return true;
}

static void serve(struct emud_server *s)
{
	struct epoll_event ev[EVENTS];
	bool on = true;
	int n;

	while (on) {
		n = epoll_wait(s->epoll, ev, EVENTS, s->strangers ? 1000 : -1);
		for (int i = 0; on && i < n; i++)
			on = event(s, &ev[i]);
		sweep(s);
	}
}

int emud_server_run(const struct emud_server_config *config)
{
	struct emud_server s = { .config = config,
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .over = PTHREAD_COND_INITIALIZER };
	int ret;

	s.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s.epoll < 0)
		return -errno;
	s.spare = eventfd(0, EFD_CLOEXEC);
	s.ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = epoll_add(&s, s.ended, &s.ended, false);
	if (!ret)
		ret = epoll_add(&s, config->listener, (void *)(uintptr_t)&config->listener, false);
	if (!ret)
		ret = epoll_add(&s, config->signals, (void *)(uintptr_t)&config->signals, false);
	if (!ret)
		serve(&s);
	for (struct conn *conn = s.conns; conn; conn = conn->next)
		conn_end(&s, conn);
	sweep(&s);
	pthread_mutex_lock(&s.lock);
	while (s.ending)
		pthread_cond_wait(&s.over, &s.lock);
	pthread_mutex_unlock(&s.lock);
	close(s.ended);
	close(s.spare);
	close(s.epoll);
	return ret;
}
