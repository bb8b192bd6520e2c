/* SPDX-License-Identifier: MIT */
/*
 * libndl's served backend, the connection: the socket, the channels, and a thread that sees the
 * server end, so that nobody who waits needs to look for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "served.h"

#define HELLO_MS 10000

/* The ways in which a server that is not there shows */
static int gone_or(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ECONNREFUSED ||
			       error == ECONNRESET || error == EPIPE
		       ? -ENODEV
		       : -error;
}

/* Receives a packet, and a file with it if one comes; the length or -errno */
static ssize_t receive(int fd, void *buf, size_t size, int *file)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { buf, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n;

	*file = -1;
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? gone_or(errno) : -ENODEV;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(file, CMSG_DATA(c), sizeof(*file));
	return n;
}

static int connect_to(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&sun, sizeof(sun)))
		return fd;
	ret = gone_or(errno);
	close(fd);
	return ret;
}

static int welcome_check(const struct wire_welcome *w, ssize_t n)
{
	if (n < 0)
		return (int)n;
	if (n != sizeof(*w) || w->magic != WIRE_MAGIC || w->version != WIRE_VERSION)
		return -EPROTO;
	if (w->error)
		return w->error;
	return w->size > WIRE_RESERVED && memchr(w->instance, '\0', sizeof(w->instance)) ? 0
											 : -EPROTO;
}

static int map_file(struct served *m, int file)
{
	void *p = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);

	close(file);
	if (p == MAP_FAILED)
		return -ENOMEM;
	/* a child has no chips: it shall not ring their bells, nor read what is the parent's */
	madvise(p, m->size, MADV_DONTFORK);
	m->base = p;
	return 0;
}

static int say_hello(struct served *m, char instance[32])
{
	const struct wire_hello hello = { WIRE_MAGIC, WIRE_VERSION };
	struct pollfd pfd = { .fd = m->fd, .events = POLLIN };
	struct wire_welcome w = { 0 };
	int file, ret;

	if (send(m->fd, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
		return gone_or(errno);
	if (poll(&pfd, 1, HELLO_MS) <= 0)
		return -ETIMEDOUT;
	ret = welcome_check(&w, receive(m->fd, &w, sizeof(w), &file));
	if (!ret && file < 0)
		ret = -EPROTO;
	if (ret) {
		if (file >= 0)
			close(file);
		return ret;
	}
	memcpy(instance, w.instance, sizeof(w.instance));
	m->size = w.size;
	m->physical = w.base;
	m->direct = w.direct;
	m->server = w.server;
	return map_file(m, file);
}

static struct emu_bell *bells(const struct served *m)
{
	return (struct emu_bell *)(void *)(m->base + WIRE_BELLS);
}

/* Whoever sleeps on a word of the server's finds it changed, and that the server is gone. */
static void wake_all(struct served *m)
{
	atomic_store(&m->dead, true);
	for (unsigned int i = 0; i < NDLX_MAX_DEVICES * NEURON_CORES_MAX; i++) {
		__atomic_fetch_add(&bells(m)[i].rings, 1, __ATOMIC_SEQ_CST);
		emu_word_wake(&bells(m)[i].rings);
	}
	for (unsigned int i = 0; i < WIRE_CHANNELS; i++) {
		struct wire_channel *s = (void *)(m->base + WIRE_CHANNEL(i));

		__atomic_fetch_xor(&s->tail, 1u << 31, __ATOMIC_SEQ_CST);
		emu_word_wake(&s->tail);
	}
}

static void *watcher_main(void *arg)
{
	struct served *m = arg;
	struct pollfd pfd[] = { { .fd = m->fd, .events = POLLRDHUP },
				{ .fd = m->stop, .events = POLLIN } };

	while (poll(pfd, 2, -1) < 0 && errno == EINTR)
		;
	if (!pfd[1].revents)
		wake_all(m);
	return NULL;
}

static int watcher_start(struct served *m)
{
	sigset_t all, before;
	int ret;

	m->stop = eventfd(0, EFD_CLOEXEC);
	if (m->stop < 0)
		return -errno;
	/* signals are for the program's threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&m->watcher, NULL, watcher_main, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		close(m->stop);
	return ret;
}

int served_connect(struct served *m, const char *path, char instance[32])
{
	int ret;

	m->fd = connect_to(path);
	if (m->fd < 0)
		return m->fd;
	pthread_mutex_init(&m->socket_lock, NULL);
	for (unsigned int i = 0; i < WIRE_CHANNELS; i++)
		pthread_mutex_init(&m->channel[i].lock, NULL);
	ret = say_hello(m, instance);
	if (!ret) {
		ret = watcher_start(m);
		if (ret)
			munmap(m->base, m->size);
	}
	if (ret)
		close(m->fd);
	return ret;
}

void served_disconnect(struct served *m)
{
	eventfd_write(m->stop, 1);
	pthread_join(m->watcher, NULL);
	close(m->stop);
	close(m->fd);
	munmap(m->base, m->size);
}

void served_forked(void *state)
{
	struct served *m = state;

	close(m->fd);
	close(m->stop);
}

/* Channels */

/* A thread speaks on one channel, so that what it said first is done first. */
static unsigned int channel_mine(void)
{
	static atomic_uint next;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = 1 + atomic_fetch_add(&next, 1) % WIRE_CHANNELS;
	return mine - 1;
}

static int channel_ask(struct served *m, unsigned int i)
{
	struct wire_ask ask = { .channel = i };
	ssize_t n = -1;
	int file = -1;

	pthread_mutex_lock(&m->socket_lock);
	if (send(m->fd, &ask, sizeof(ask), MSG_NOSIGNAL) == sizeof(ask))
		n = receive(m->fd, &ask, sizeof(ask), &file);
	pthread_mutex_unlock(&m->socket_lock);
	if (file >= 0)
		close(file);
	return n == sizeof(ask) ? ask.error : -ENODEV;
}

/* Returns the thread's channel with its lock held. */
static struct served_channel *channel_get(struct served *m, int *err)
{
	const unsigned int i = channel_mine();
	struct served_channel *ch = &m->channel[i];

	pthread_mutex_lock(&ch->lock);
	*err = atomic_load_explicit(&m->dead, memory_order_relaxed) ? -ENODEV : 0;
	if (!*err && !ch->shared) {
		*err = channel_ask(m, i);
		if (!*err) {
			ch->shared = (void *)(m->base + WIRE_CHANNEL(i));
			ch->data = m->base + WIRE_CHANNEL_DATA(i);
		}
	}
	if (!*err)
		return ch;
	pthread_mutex_unlock(&ch->lock);
	return NULL;
}

static void publish(struct served_channel *ch)
{
	struct wire_channel *s = ch->shared;

	ch->corked = false;
	if (__atomic_load_n(&s->head, __ATOMIC_RELAXED) == ch->head)
		return;
	__atomic_store_n(&s->head, ch->head, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->server_sleeps, __ATOMIC_SEQ_CST))
		emu_word_wake(&s->head);
}

/* Waits until at most so many calls are under way. */
static int wait_left(struct served *m, struct served_channel *ch, uint32_t left)
{
	struct wire_channel *s = ch->shared;
	uint32_t tail;

	for (unsigned int look = 0;; look++) {
		tail = __atomic_load_n(&s->tail, __ATOMIC_SEQ_CST);
		if (atomic_load_explicit(&m->dead, memory_order_relaxed))
			return -ENODEV;
		if (ch->head - tail <= left)
			return 0;
		if (look < WIRE_LOOKS) {
			wire_look_pause(look);
			continue;
		}
		__atomic_store_n(&s->process_sleeps, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->tail, __ATOMIC_SEQ_CST) == tail)
			emu_word_wait(&s->tail, tail, NULL);
		__atomic_store_n(&s->process_sleeps, 0, __ATOMIC_SEQ_CST);
	}
}

static int put(struct served *m, struct served_channel *ch, const struct wire_call *call)
{
	struct wire_channel *s = ch->shared;
	int err = 0;

	if (ch->head - __atomic_load_n(&s->tail, __ATOMIC_RELAXED) >= WIRE_CALLS) {
		publish(ch);
		err = wait_left(m, ch, WIRE_CALLS - 1);
	}
	if (!err)
		s->call[ch->head++ % WIRE_CALLS] = *call;
	return err;
}

static int exchange(struct served *m, struct served_channel *ch, struct wire_call *call)
{
	int err = put(m, ch, call);

	if (err)
		return err;
	publish(ch);
	err = wait_left(m, ch, 0);
	if (!err)
		*call = ch->shared->call[(ch->head - 1) % WIRE_CALLS];
	return err ? err : call->result;
}

int served_call(struct served *m, struct wire_call *call, const struct served_data *data)
{
	struct served_channel *ch;
	int err;

	if (data && (data->in_size > WIRE_DATA || data->out_size > WIRE_DATA))
		return -E2BIG;
	ch = channel_get(m, &err);
	if (!ch)
		return err;
	/* what was posted before has no data */
	if (data && data->in)
		memcpy(ch->data, data->in, data->in_size);
	err = exchange(m, ch, call);
	if (data && data->out && (!err || err == -EAGAIN))
		memcpy(data->out, ch->data, data->out_size);
	pthread_mutex_unlock(&ch->lock);
	return err;
}

int served_call_fd(struct served *m, struct wire_call *call, int *fd)
{
	struct served_channel *ch;
	char byte;
	int err;

	ch = channel_get(m, &err);
	if (!ch)
		return err;
	pthread_mutex_lock(&m->socket_lock);
	err = exchange(m, ch, call);
	if (!err && receive(m->fd, &byte, 1, fd) != 1)
		err = -ENODEV;
	pthread_mutex_unlock(&m->socket_lock);
	pthread_mutex_unlock(&ch->lock);
	return err ? err : *fd < 0 ? -EPROTO : 0;
}

int served_post(struct served *m, const struct wire_call *call)
{
	struct wire_call posted = *call;
	struct served_channel *ch;
	int err;

	posted.posted = 1;
	ch = channel_get(m, &err);
	if (!ch)
		return err;
	err = put(m, ch, &posted);
	if (!err && !ch->corked)
		publish(ch);
	pthread_mutex_unlock(&ch->lock);
	return err;
}

void served_cork(struct served *m)
{
	int err;
	struct served_channel *ch = channel_get(m, &err);

	if (!ch)
		return;
	ch->corked = true;
	pthread_mutex_unlock(&ch->lock);
}

void served_flush(struct served *m)
{
	int err;
	struct served_channel *ch = channel_get(m, &err);

	if (!ch)
		return;
	publish(ch);
	pthread_mutex_unlock(&ch->lock);
}

bool served_works(struct served *m)
{
	int err;
	struct served_channel *ch = channel_get(m, &err);
	bool works = false;

	if (!ch)
		return false;
	publish(ch);
	for (unsigned int look = 0; look < WIRE_LOOKS; look++) {
		works = __atomic_load_n(&ch->shared->tail, __ATOMIC_ACQUIRE) != ch->head ||
			__atomic_load_n(&ch->shared->working, __ATOMIC_ACQUIRE);
		if (!works || atomic_load_explicit(&m->dead, memory_order_relaxed))
			break;
		wire_look_pause(look);
	}
	pthread_mutex_unlock(&ch->lock);
	return works;
}
