/* SPDX-License-Identifier: MIT */
/*
 * Where a core listens: at the bootstrap port plus its number in the machine, at the loopback
 * address until it is to accept a peer of another host. Anybody who reaches the port may connect
 * (SECURITY.md), so nobody is waited for: who has not said in HELLO_MS which core it is and which
 * it wants is closed, and so is, where all places are taken, the oldest of the host that has the
 * most. Who has said it is parked until the core accepts it, goes away or gives up; peers that were
 * closed for others try again.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rt_sendrecv.h"

#define DEFAULT_PORT 62183
#define GREETINGS 64 /* connections that have not said who they are */
#define HELLO_MS 2000
#define FULL_MS 50 /* until the next try when no descriptor is to be had */

pthread_mutex_t rt_sendrecv_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t rt_sendrecv_changed = PTHREAD_COND_INITIALIZER;

int64_t rt_sendrecv_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

uint16_t rt_sendrecv_port(uint32_t core)
{
	const char *text = secure_getenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT");
	unsigned long base = text ? strtoul(text, NULL, 10) : 0;

	return (uint16_t)((base && base < 65536 ? base : DEFAULT_PORT) + core);
}

/* Places: of greetings, which are the listening thread's alone, and of parked connections */

struct greeting {
	struct rt_parked place; /* from is not known yet */
	struct rt_hello hello;
	size_t n; /* bytes of it */
};

struct listening {
	struct rt_endpoint *core;
	struct greeting greeting[GREETINGS];
	struct pollfd poll[1 + GREETINGS + RT_PARKED];
	int64_t wake; /* when the first of those gives up */
};

static void place_free(struct rt_parked *place)
{
	if (place->fd >= 0)
		close(place->fd);
	place->fd = -1;
}

static struct rt_parked *place_at(void *places, size_t stride, unsigned int i)
{
	return (struct rt_parked *)((char *)places + i * stride);
}

/* The number of a host's places among n */
static unsigned int places_of(void *places, size_t stride, unsigned int n, struct in_addr peer)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++)
		count += place_at(places, stride, i)->fd >= 0 &&
			 place_at(places, stride, i)->peer.s_addr == peer.s_addr;
	return count;
}

/* Finds a free place, or frees one: the oldest of the host that has the most */
static unsigned int place_find(void *places, size_t stride, unsigned int n)
{
	unsigned int most = 0, best = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct rt_parked *p = place_at(places, stride, i);
		unsigned int has;

		if (p->fd < 0)
			return i;
		has = places_of(places, stride, n, p->peer);
		if (has < most ||
		    (has == most && p->until >= place_at(places, stride, best)->until))
			continue;
		most = has;
		best = i;
	}
	place_free(place_at(places, stride, best));
	return best;
}

/* Greetings */

static void greet(struct listening *l, int fd, struct in_addr peer)
{
	struct greeting *g = l->greeting;
	int one = 1;

	g += place_find(g, sizeof(*g), GREETINGS);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*g = (struct greeting){
		.place = { .peer = peer, .fd = fd, .until = rt_sendrecv_ms() + HELLO_MS }
	};
}

/* Parks a connection whose peer says who it is and wants this core. */
static void park(struct rt_endpoint *core, struct greeting *g)
{
	if (g->hello.magic != RT_HELLO_MAGIC || g->hello.to != core->core || g->hello.zero) {
		place_free(&g->place);
		return;
	}
	pthread_mutex_lock(&rt_sendrecv_lock);
	core->parked[place_find(core->parked, sizeof(core->parked[0]), RT_PARKED)] =
		(struct rt_parked){ g->place.peer, g->hello.from, g->place.fd,
				    rt_sendrecv_ms() + RT_CONNECT_MS };
	pthread_cond_broadcast(&rt_sendrecv_changed);
	pthread_mutex_unlock(&rt_sendrecv_lock);
	g->place.fd = -1;
}

/* The part of a greeting that has come, which need not be all of it */
static void hear(struct listening *l, struct greeting *g)
{
	ssize_t n =
		recv(g->place.fd, (char *)&g->hello + g->n, sizeof(g->hello) - g->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		place_free(&g->place);
		return;
	}
	g->n += (size_t)n;
	if (g->n == sizeof(g->hello))
		park(l->core, g);
}

/* The thread */

static void poll_for(struct listening *l, unsigned int i, const struct rt_parked *place)
{
	l->poll[i] = (struct pollfd){ .fd = place->fd, .events = POLLIN };
	if (place->fd >= 0 && place->until < l->wake)
		l->wake = place->until;
}

/* The thread's waits, with the lock held: the listener, greetings, parked peers that go */
static void poll_all(struct listening *l)
{
	l->wake = INT64_MAX;
	l->poll[0] = (struct pollfd){ .fd = l->core->listener, .events = POLLIN };
	for (unsigned int i = 0; i < GREETINGS; i++)
		poll_for(l, 1 + i, &l->greeting[i].place);
	for (unsigned int i = 0; i < RT_PARKED; i++)
		poll_for(l, 1 + GREETINGS + i, &l->core->parked[i]);
}

/* With the lock held: a parked peer has nothing to say; it has gone, or given up */
static void drop_parked(struct listening *l)
{
	int64_t now = rt_sendrecv_ms();

	for (unsigned int i = 0; i < RT_PARKED; i++) {
		struct rt_parked *p = &l->core->parked[i];
		const struct pollfd *seen = &l->poll[1 + GREETINGS + i];

		/* what was accepted meanwhile is another's */
		if (p->fd >= 0 && (p->until <= now || (seen->fd == p->fd && seen->revents)))
			place_free(p);
	}
}

static void hear_all(struct listening *l)
{
	int64_t now = rt_sendrecv_ms();

	for (unsigned int i = 0; i < GREETINGS; i++) {
		struct greeting *g = &l->greeting[i];

		if (g->place.fd >= 0 && l->poll[1 + i].revents)
			hear(l, g);
		if (g->place.fd >= 0 && g->place.until <= now)
			place_free(&g->place);
	}
}

/* False: the listener was shut down, for good or to listen at other addresses */
static bool take_new(struct listening *l)
{
	const struct timespec pause = { .tv_nsec = FULL_MS * 1000000 };
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	int fd = accept4(l->poll[0].fd, (struct sockaddr *)&from, &size,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		greet(l, fd, from.sin_addr);
	else if (errno == EINVAL || errno == EBADF)
		return false;
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		nanosleep(&pause, NULL);
	return true;
}

/* With the lock held */
static void listener_close(struct listening *l)
{
	for (unsigned int i = 0; i < GREETINGS; i++)
		place_free(&l->greeting[i].place);
	if (l->core->listener >= 0)
		close(l->core->listener);
	l->core->listener = -1;
	pthread_cond_broadcast(&rt_sendrecv_changed);
}

/* One round, with the lock held, which it gives up while it waits and accepts */
static void listen_once(struct listening *l)
{
	int64_t now = rt_sendrecv_ms();
	bool open = true;
	int wait;

	poll_all(l);
	wait = l->wake == INT64_MAX ? -1 : l->wake > now ? (int)(l->wake - now) : 0;
	pthread_mutex_unlock(&rt_sendrecv_lock);
	if (poll(l->poll, 1 + GREETINGS + RT_PARKED, wait) >= 0) {
		hear_all(l);
		if (l->poll[0].revents)
			open = take_new(l);
	}
	pthread_mutex_lock(&rt_sendrecv_lock);
	drop_parked(l);
	if (!open)
		listener_close(l);
}

void *rt_listen_work(void *arg)
{
	struct listening *l = calloc(1, sizeof(*l));

	pthread_mutex_lock(&rt_sendrecv_lock);
	if (l)
		l->core = arg;
	for (unsigned int i = 0; l && i < GREETINGS; i++)
		l->greeting[i].place.fd = -1;
	while (l && !l->core->closing) {
		if (l->core->listener < 0)
			pthread_cond_wait(&rt_sendrecv_changed, &rt_sendrecv_lock);
		else
			listen_once(l);
	}
	if (l)
		listener_close(l);
	pthread_mutex_unlock(&rt_sendrecv_lock);
	free(l);
	return NULL;
}

static int open_listener(uint32_t core, bool any)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(rt_sendrecv_port(core)),
		.sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (const struct sockaddr *)&at, sizeof(at)) && !listen(fd, RT_PARKED))
		return fd;
	close(fd);
	return -1;
}

NRT_STATUS rt_listen_for(struct rt_endpoint *core, struct in_addr peer)
{
	const bool any = ntohl(peer.s_addr) >> 24 != IN_LOOPBACKNET;

	if (core->listener >= 0 && (core->any || !any))
		return NRT_SUCCESS;
	if (core->listener >= 0) {
		shutdown(core->listener, SHUT_RDWR);
		while (core->listener >= 0)
			pthread_cond_wait(&rt_sendrecv_changed, &rt_sendrecv_lock);
	}
	core->any = any;
	core->listener = open_listener(core->core, any);
	if (core->listener < 0)
		return rt_fail(NRT_FAILURE, "NRT", "port %u: %s", rt_sendrecv_port(core->core),
			       strerror(errno));
	pthread_cond_broadcast(&rt_sendrecv_changed);
	return NRT_SUCCESS;
}
