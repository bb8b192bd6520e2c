/* SPDX-License-Identifier: MIT */
/*
 * A client: one process, its file, and the threads that work for it. Nothing that lies in the file
 * is believed: a thread keeps its own count of calls, and a head that is further than a ring from
 * it ends the client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "emud.h"
#include "sealed.h"

#define STACK (8u << 20) /* it executes cores, as a program's main thread does in process */
#define STOP_STEP_NS 200000

/* A process's host memory: half of the machine's at most, as in the module */
static uint64_t memory_size(void)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

	half -= half % EMU_PAGE;
	half = half < EMU_USER_SPACE ? half : EMU_USER_SPACE;
	return half > 2ull * WIRE_RESERVED ? half : 2ull * WIRE_RESERVED;
}

int emud_client_new(struct emu_machine *m, int fd, const struct ucred *peer,
		    struct emud_client **out)
{
	struct emu_user_config config = {
		.pid = peer->pid,
		.size = memory_size(),
		.reserved = WIRE_RESERVED,
		.bells = WIRE_BELLS,
	};
	struct emud_client *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	*c = (struct emud_client){ .machine = m, .fd = fd, .pid = peer->pid, .uid = peer->uid };
	config.fd = c->memory = sealed_new("neuron-emud", config.size);
	ret = c->memory < 0 ? c->memory : emu_user_new(m, &config, &c->user);
	if (ret) {
		if (c->memory >= 0)
			close(c->memory);
		free(c);
		return ret;
	}
	c->base = m->host.arena[c->user].base;
	pthread_rwlock_init(&c->lock, NULL);
	*out = c;
	return 0;
}

int emud_client_welcome(const struct emud_client *c)
{
	struct wire_welcome w = {
		.magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.user = c->user,
		.size = c->machine->host.arena[c->user].size,
		.base = emu_host_base(c->user),
		.direct = !getenv("NEURON_EMU_FAULTS"),
		.server = (uint32_t)getpid(),
	};
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &w, sizeof(w) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	memcpy(w.instance, c->machine->name, sizeof(c->machine->name));
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &c->memory, sizeof(c->memory));
	return sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Is there a call, now or after some looks? A core that was lent is executed meanwhile. */
static bool call_waits(struct emud_channel *ch, uint32_t tail)
{
	for (unsigned int look = 0; look < WIRE_LOOKS; look++) {
		if (__atomic_load_n(&ch->shared->head, __ATOMIC_ACQUIRE) != tail)
			return true;
		if (atomic_load_explicit(&ch->client->stop, memory_order_relaxed))
			return false;
		if (!ch->lent)
			wire_look_pause(look);
		else if (ncore_core_work(ch->lent_chip, ch->lent_core))
			look = 0;
		else
			emud_unlend(ch);
	}
	return false;
}

static void sleep_for_call(struct emud_channel *ch, uint32_t tail)
{
	struct wire_channel *s = ch->shared;

	__atomic_store_n(&s->server_sleeps, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->head, __ATOMIC_SEQ_CST) == tail && !atomic_load(&ch->client->stop))
		emu_word_wait(&s->head, tail, NULL);
	__atomic_store_n(&s->server_sleeps, 0, __ATOMIC_SEQ_CST);
}

static void answer(struct emud_channel *ch, uint32_t tail)
{
	struct wire_channel *s = ch->shared;
	struct wire_call *there = &s->call[tail % WIRE_CALLS], call;

	memcpy(&call, there, sizeof(call));
	emud_serve(ch, &call);
	if (!call.posted) {
		memcpy(there->arg, call.arg, sizeof(call.arg));
		there->result = call.result;
	}
	__atomic_store_n(&s->tail, tail + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->process_sleeps, __ATOMIC_SEQ_CST))
		emu_word_wake(&s->tail);
}

static void *channel_main(void *arg)
{
	struct emud_channel *ch = arg;
	struct emud_client *c = ch->client;
	uint32_t tail = 0, n;

	while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
		if (!call_waits(ch, tail)) {
			sleep_for_call(ch, tail);
			continue;
		}
		n = __atomic_load_n(&ch->shared->head, __ATOMIC_ACQUIRE) - tail;
		if (n > WIRE_CALLS) {
			/* nobody's head: the main thread sees the end of the connection */
			shutdown(c->fd, SHUT_RDWR);
			break;
		}
		while (n-- && !atomic_load_explicit(&c->stop, memory_order_relaxed))
			answer(ch, tail++);
	}
	emud_unlend(ch);
	return NULL;
}

int emud_client_channel(struct emud_client *c, uint32_t i)
{
	struct emud_channel *ch;
	pthread_attr_t attr;
	int ret;

	if (i >= WIRE_CHANNELS)
		return -EINVAL;
	ch = &c->channel[i];
	if (ch->started)
		return -EALREADY;
	ch->client = c;
	ch->shared = (struct wire_channel *)(void *)(c->base + WIRE_CHANNEL(i));
	ch->data = c->base + WIRE_CHANNEL_DATA(i);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	ret = -pthread_create(&ch->thread, &attr, channel_main, ch);
	pthread_attr_destroy(&attr);
	ch->started = !ret;
	return ret;
}

/* The client's words in its file may wake a thread or keep it from sleeping, not from ending. */
static void channel_stop(struct emud_channel *ch)
{
	const struct timespec step = { 0, STOP_STEP_NS };

	if (!ch->started)
		return;
	while (pthread_tryjoin_np(ch->thread, NULL)) {
		emu_word_wake(&ch->shared->head);
		nanosleep(&step, NULL);
	}
	free(ch->copy);
}

void emud_client_free(struct emud_client *c)
{
	atomic_store(&c->stop, true);
	emu_user_interrupt(c->machine, c->user);
	for (unsigned int i = 0; i < WIRE_CHANNELS; i++)
		channel_stop(&c->channel[i]);
	for (unsigned int i = 0; i < EMU_MAX_CHIPS; i++) {
		if (!c->dev[i])
			continue;
		c->dev[i]->ops->close(c->dev[i]);
		free(c->dev[i]);
	}
	emu_user_end(c->machine, c->user);
	close(c->memory);
	close(c->fd);
	pthread_rwlock_destroy(&c->lock);
	free(c);
}
