/* SPDX-License-Identifier: MIT */
/* Meeting the other nodes, and what they say (peers.h) */
#include "peers_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "neuron/hw/firmware.h"
#include "sealed.h"

#define RETRY_MS 50 /* between two tries to reach a node that is not there */
#define AGAIN_MS 1 /* before a chip is asked again to take a write */
#define HELLO_MS 5000 /* in which a peer has to say who it is */
#define TURN 64 /* messages of one peer before the others are looked at */

static const char *const said[] = {
	[PEERS_SAYS_VERSION] = "version of what peers say",
	[PEERS_SAYS_GENERATION] = "generation of chips",
	[PEERS_SAYS_SIZE] = "nodes and chips",
	[PEERS_SAYS_NODE] = "node",
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3))) static void report(struct peers *p, const char *format, ...)
{
	char line[160];
	va_list args;

	if (!p->cfg.report)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	p->cfg.report(p->cfg.opaque, line);
}

static struct ncore_foreign *foreign(struct peers *p, unsigned int node, unsigned int chip)
{
	return p->foreign[node * p->cfg.chips + chip];
}

static void hello(struct peers *p, struct peers_message *m)
{
	*m = (struct peers_message){ .kind = PEERS_HELLO };
	m->word[PEERS_SAYS_VERSION] = PEERS_VERSION;
	m->word[PEERS_SAYS_GENERATION] = p->cfg.gen->pci_id[0];
	m->word[PEERS_SAYS_SIZE] = p->cfg.nodes << 16 | p->cfg.chips;
	m->word[PEERS_SAYS_NODE] = p->cfg.node;
}

/* Who this is, and the chips that it has: chips_lock is held */
static int introduce(struct peers *p, int socket)
{
	struct peers_message m;
	unsigned int i;
	int ret, fd;

	hello(p, &m);
	ret = peers_send(socket, &m, p->pages_fd);
	for (i = 0; !ret && i < p->cfg.chips; i++) {
		if (!p->chip[i])
			continue;
		ncore_dram(p->chip[i], NULL, &fd);
		ret = peers_send(socket, &(struct peers_message){ PEERS_CHIP, i, { 0 } }, fd);
	}
	return ret;
}

static void hide(struct peers *p, unsigned int node, unsigned int chip)
{
	struct peer *peer = &p->peer[node];

	if (!peer->dram[chip])
		return;
	ncore_foreign_show(foreign(p, node, chip), NULL, NULL);
	munmap(peer->dram[chip], neuron_gen_memory(p->cfg.gen));
	peer->dram[chip] = NULL;
}

static void close_peer(struct peers *p, struct peer *peer)
{
	int socket;

	pthread_mutex_lock(&p->lock);
	socket = peer->socket;
	peer->socket = -1;
	pthread_mutex_unlock(&p->lock);
	close(socket);
	peer->known = peer->waits = false;
}

/* A node has gone, or is shut out: nothing of it is looked at any more */
static void part(struct peers *p, unsigned int node, const char *why)
{
	struct peer *peer = &p->peer[node];
	unsigned int i;

	report(p, "node %u: %s", node, why);
	close_peer(p, peer);
	for (i = 0; i < p->cfg.chips; i++)
		hide(p, node, i);
	if (peer->pages)
		munmap((void *)peer->pages, p->cfg.chips * NEURON_MISC_RAM_SIZE);
	peer->pages = NULL;
}

/* What a peer says of itself has to be what this one would; NULL, or the word that is another */
static const char *other_word(struct peers *p, const struct peers_message *m)
{
	struct peers_message mine;
	unsigned int i;

	hello(p, &mine);
	for (i = 0; i < PEERS_SAYS_NODE; i++)
		if (m->word[i] != mine.word[i])
			return said[i];
	return m->word[i] >= p->cfg.nodes || m->word[i] == p->cfg.node ? said[i] : NULL;
}

/* The first thing that a peer says. false: it is shut out, and the caller closes */
static bool greeted(struct peers *p, struct peer *peer, const struct peers_message *m, int fd)
{
	const char *other = m->kind == PEERS_HELLO ? other_word(p, m) : "first message";
	const uint64_t size = p->cfg.chips * NEURON_MISC_RAM_SIZE;

	if (other) {
		report(p, "a peer with another %s than this node (%u) is refused", other,
		       p->cfg.node);
		return false;
	}
	peer->pages = fd < 0 ? NULL : sealed_map(fd, size, false);
	peer->known = peer->pages;
	if (!peer->known)
		report(p, "a peer whose pages cannot be mapped is refused");
	return peer->known;
}

static const char *show(struct peers *p, unsigned int node, unsigned int chip, int fd)
{
	struct peer *peer = &p->peer[node];
	const _Atomic uint32_t *page = peer->pages + (size_t)chip * NEURON_MISC_RAM_SIZE / 4;

	hide(p, node, chip);
	peer->dram[chip] = fd < 0 ? NULL : sealed_map(fd, neuron_gen_memory(p->cfg.gen), true);
	if (!peer->dram[chip])
		return "shows memory that is too small, or not sealed";
	ncore_foreign_show(foreign(p, node, chip), peer->dram[chip], page);
	return NULL;
}

/* To a chip of this node; a chip that is not there, or does not let it, drops it. false: again */
static bool delivered(struct peers *p, const struct peers_message *m)
{
	struct ncore_chip *chip;
	int ret = 0;

	pthread_mutex_lock(&p->chips_lock);
	chip = p->chip[m->chip];
	if (chip)
		ret = ncore_chip_written(chip, m->word[0], (uint32_t)m->word[1], m->word[2]);
	pthread_mutex_unlock(&p->chips_lock);
	return ret != -EAGAIN;
}

/* NULL, or why the node is shut out */
static const char *heard(struct peers *p, unsigned int node, const struct peers_message *m, int fd)
{
	struct peer *peer = &p->peer[node];

	if (m->chip >= p->cfg.chips)
		return "names a chip that there is not";
	switch (m->kind) {
	case PEERS_CHIP:
		return show(p, node, m->chip, fd);
	case PEERS_GONE:
		hide(p, node, m->chip);
		return NULL;
	case PEERS_WRITE:
		peer->waits = !delivered(p, m);
		peer->waiting = *m;
		return NULL;
	default:
		return "says what is not understood";
	}
}

static void listen_to(struct peers *p, unsigned int node)
{
	struct peer *peer = &p->peer[node];
	const char *wrong = NULL;
	struct peers_message m;
	unsigned int left;
	int ret = 1, fd;

	for (left = TURN; left && !peer->waits && !wrong; left--) {
		ret = peers_receive(peer->socket, &m, &fd);
		if (ret <= 0)
			break;
		if (peer->known)
			wrong = heard(p, node, &m, fd);
		else if (!greeted(p, peer, &m, fd) || m.word[PEERS_SAYS_NODE] != node)
			wrong = "is refused";
		if (fd >= 0)
			close(fd);
	}
	if (wrong || (ret <= 0 && ret != -EAGAIN))
		part(p, node, wrong ? wrong : "has gone");
}

/* Somebody who was accepted says which node it is, and takes its place */
static void listen_to_guest(struct peers *p)
{
	struct peer *guest = &p->guest, *peer;
	struct peers_message m;
	int ret, fd;

	ret = peers_receive(guest->socket, &m, &fd);
	if (ret == -EAGAIN)
		return;
	if (ret > 0 && greeted(p, guest, &m, fd)) {
		peer = &p->peer[m.word[PEERS_SAYS_NODE]];
		if (peer->socket < 0) {
			pthread_mutex_lock(&p->lock);
			*peer = *guest;
			guest->socket = -1;
			pthread_mutex_unlock(&p->lock);
			guest->known = false;
		} else {
			report(p, "node %u is there already: a second one is refused",
			       (unsigned int)m.word[PEERS_SAYS_NODE]);
			munmap((void *)guest->pages, p->cfg.chips * NEURON_MISC_RAM_SIZE);
		}
		guest->pages = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (guest->socket >= 0)
		close_peer(p, guest);
}

static bool same_user(int socket)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) &&
	       (who.uid == geteuid() || !who.uid);
}

static void connected(struct peers *p, struct peer *peer, int socket)
{
	int ret;

	pthread_mutex_lock(&p->chips_lock);
	ret = introduce(p, socket);
	pthread_mutex_lock(&p->lock);
	if (!ret) {
		peer->socket = socket;
		peer->since = now();
	}
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&p->chips_lock);
	if (ret)
		close(socket);
}

static void accept_one(struct peers *p)
{
	int socket = accept4(p->listening, NULL, NULL, SOCK_CLOEXEC);

	if (socket < 0)
		return;
	if (!same_user(socket)) {
		report(p, "a peer of another user is refused");
		close(socket);
		return;
	}
	connected(p, &p->guest, socket);
}

static void address(const struct peers *p, unsigned int node, struct sockaddr_un *name)
{
	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	snprintf(name->sun_path, sizeof(name->sun_path), "%s/node%u", p->path, node);
}

/* Of two nodes the later one by number comes to the other */
static void seek(struct peers *p)
{
	struct sockaddr_un name;
	unsigned int node;
	int s;

	for (node = 0; node < p->cfg.node; node++) {
		if (p->peer[node].socket >= 0)
			continue;
		s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (s < 0)
			continue;
		address(p, node, &name);
		if (!connect(s, (struct sockaddr *)&name, sizeof(name)) && same_user(s))
			connected(p, &p->peer[node], s);
		else
			close(s);
	}
}

/* Those who do not say who they are */
static void look_at_clock(struct peers *p)
{
	unsigned int node;

	for (node = 0; node < p->cfg.nodes; node++)
		if (p->peer[node].socket >= 0 && !p->peer[node].known &&
		    now() - p->peer[node].since > HELLO_MS)
			part(p, node, "does not say who it is");
	if (p->guest.socket >= 0 && now() - p->guest.since > HELLO_MS)
		close_peer(p, &p->guest);
}

static void *work(void *opaque)
{
	struct peers *p = opaque;
	unsigned int node;

	while (!atomic_load(&p->stop)) {
		/* one guest at a time: others wait in the socket */
		struct pollfd fds[PEERS_NODES_MAX + 3] = {
			{ .fd = p->wake, .events = POLLIN },
			{ .fd = p->guest.socket < 0 ? p->listening : -1, .events = POLLIN },
			{ .fd = p->guest.socket, .events = POLLIN },
		};
		int wait = RETRY_MS;
		bool all = true;

		for (node = 0; node < p->cfg.nodes; node++) {
			struct peer *peer = &p->peer[node];

			fds[3 + node] =
				(struct pollfd){ peer->waits ? -1 : peer->socket, POLLIN, 0 };
			wait = peer->waits ? AGAIN_MS : wait;
			all = all && (node == p->cfg.node || peer->known);
		}
		poll(fds, 3 + p->cfg.nodes, all && wait == RETRY_MS ? -1 : wait);
		if (fds[1].revents)
			accept_one(p);
		if (fds[2].revents)
			listen_to_guest(p);
		for (node = 0; node < p->cfg.nodes; node++) {
			struct peer *peer = &p->peer[node];

			if (peer->waits && delivered(p, &peer->waiting))
				peer->waits = false;
			if (fds[3 + node].revents && peer->socket == fds[3 + node].fd)
				listen_to(p, node);
		}
		seek(p);
		look_at_clock(p);
	}
	return NULL;
}

static int send_write(void *opaque, unsigned int slot, uint64_t addr, uint32_t value, uint64_t time)
{
	struct peers *p = opaque;
	const struct peers_message m = { PEERS_WRITE, slot % p->cfg.chips, { addr, value, time } };
	struct peer *peer = &p->peer[slot / p->cfg.chips];
	int ret = -EACCES;

	pthread_mutex_lock(&p->lock);
	if (peer->socket >= 0)
		ret = peers_send(peer->socket, &m, -1);
	pthread_mutex_unlock(&p->lock);
	return !ret || ret == -EAGAIN ? ret : -EACCES;
}

/* A peer that cannot be told now is left, and told all when it has come again */
static void tell_one(int socket, const struct peers_message *m, int fd)
{
	if (socket >= 0 && peers_send(socket, m, fd))
		shutdown(socket, SHUT_RDWR);
}

/* To all peers, of a chip of this node. chips_lock is held */
static void tell(struct peers *p, uint32_t kind, unsigned int index, int fd)
{
	const struct peers_message m = { kind, index, { 0 } };
	unsigned int node;

	pthread_mutex_lock(&p->lock);
	for (node = 0; node < p->cfg.nodes; node++)
		tell_one(p->peer[node].socket, &m, fd);
	tell_one(p->guest.socket, &m, fd);
	pthread_mutex_unlock(&p->lock);
}

_Atomic uint32_t *peers_page(struct peers *p, unsigned int chip)
{
	return p->pages + (size_t)chip * NEURON_MISC_RAM_SIZE / 4;
}

int peers_add(struct peers *p, unsigned int index, struct ncore_chip *chip)
{
	int fd;

	ncore_dram(chip, NULL, &fd);
	if (index >= p->cfg.chips || fd < 0)
		return -EINVAL;
	pthread_mutex_lock(&p->chips_lock);
	p->chip[index] = chip;
	tell(p, PEERS_CHIP, index, fd);
	pthread_mutex_unlock(&p->chips_lock);
	return 0;
}

void peers_remove(struct peers *p, unsigned int index)
{
	pthread_mutex_lock(&p->chips_lock);
	if (p->chip[index])
		tell(p, PEERS_GONE, index, -1);
	p->chip[index] = NULL;
	pthread_mutex_unlock(&p->chips_lock);
}

/* A socket that nobody listens at any more is an ended process's */
static int listen_at(struct peers *p, const char **reason)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret = 0, other;
	struct sockaddr_un name;

	if (s < 0)
		return -errno;
	address(p, p->cfg.node, &name);
	*reason = "cannot listen in the directory of the UltraServer";
	if (bind(s, (struct sockaddr *)&name, sizeof(name))) {
		ret = -errno;
		other = ret == -EADDRINUSE
				? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
				: -1;
		if (other >= 0 && connect(other, (struct sockaddr *)&name, sizeof(name)) &&
		    errno == ECONNREFUSED) {
			unlink(name.sun_path);
			ret = bind(s, (struct sockaddr *)&name, sizeof(name)) ? -errno : 0;
		} else if (other >= 0) {
			*reason = "this node of the UltraServer is there already";
		}
		if (other >= 0)
			close(other);
	}
	if (!ret && listen(s, PEERS_NODES_MAX))
		ret = -errno;
	if (ret)
		close(s);
	return ret ? ret : s;
}

static int check(const struct peers_config *c, const char **reason)
{
	struct stat st;

	*reason = "an UltraServer has 2 to 4 nodes of up to 16 chips";
	if (c->nodes < 2 || c->nodes > PEERS_NODES_MAX || c->node >= c->nodes || !c->chips ||
	    c->chips > PEERS_CHIPS_MAX)
		return -EINVAL;
	*reason = "the path of an UltraServer's directory is too long";
	if (strlen(c->path) >= sizeof(((struct peers *)0)->path))
		return -ENAMETOOLONG;
	*reason = "an UltraServer's directory has to be there";
	if (stat(c->path, &st))
		return -errno;
	*reason = "an UltraServer's directory has to be this user's, and no other's to write";
	return !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022 ? -EPERM : 0;
}

static int make_foreign(struct peers *p)
{
	const unsigned int first = p->cfg.node * p->cfg.chips, slots = p->cfg.nodes * p->cfg.chips;
	struct ncore_foreign_config config = {
		.gen = p->cfg.gen, .fabric = p->cfg.fabric, .write = send_write, .opaque = p
	};
	int ret = 0;

	for (config.slot = 0; !ret && config.slot < slots; config.slot++)
		if (config.slot - first >= p->cfg.chips)
			ret = ncore_foreign_new(&config, &p->foreign[config.slot]);
	return ret;
}

static int make_pages(struct peers *p)
{
	void *pages = NULL;

	p->pages_fd = sealed_new_shown("neuron-misc", p->cfg.chips * NEURON_MISC_RAM_SIZE, &pages);
	p->pages = pages;
	return p->pages_fd < 0 ? p->pages_fd : 0;
}

void peers_leave(struct peers *p)
{
	struct sockaddr_un name;

	address(p, p->cfg.node, &name);
	unlink(name.sun_path);
}

static void release(struct peers *p)
{
	unsigned int i;

	for (i = 0; i < PEERS_NODES_MAX * PEERS_CHIPS_MAX; i++)
		ncore_foreign_free(p->foreign[i]);
	if (p->pages)
		munmap((void *)p->pages, p->cfg.chips * NEURON_MISC_RAM_SIZE);
	if (p->pages_fd >= 0)
		close(p->pages_fd);
	if (p->listening >= 0) {
		peers_leave(p);
		close(p->listening);
	}
	if (p->wake >= 0)
		close(p->wake);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->chips_lock);
	free(p);
}

int peers_new(const struct peers_config *config, struct peers **out, const char **reason)
{
	struct peers *p;
	unsigned int i;
	int ret = check(config, reason);

	if (ret)
		return ret;
	p = calloc(1, sizeof(*p));
	*reason = "no memory";
	if (!p)
		return -ENOMEM;
	p->cfg = *config;
	snprintf(p->path, sizeof(p->path), "%s", config->path);
	p->listening = p->pages_fd = p->guest.socket = -1;
	for (i = 0; i < PEERS_NODES_MAX; i++)
		p->peer[i].socket = -1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->chips_lock, NULL);
	p->wake = eventfd(0, EFD_CLOEXEC);
	ret = p->wake < 0 ? -errno : make_pages(p);
	if (!ret) {
		*reason = "the slots of the other nodes' chips are taken";
		ret = make_foreign(p);
	}
	if (!ret)
		ret = p->listening = listen_at(p, reason);
	if (ret >= 0)
		ret = -pthread_create(&p->thread, NULL, work, p);
	if (ret < 0) {
		release(p);
		return ret;
	}
	*out = p;
	return 0;
}

void peers_free(struct peers *p)
{
	uint64_t one = 1;
	unsigned int node;

	if (!p)
		return;
	p->cfg.report = NULL;
	atomic_store(&p->stop, true);
	if (write(p->wake, &one, sizeof(one)) < 0) {
		/* only where the counter is full: the thread has been woken */
	}
	pthread_join(p->thread, NULL);
	for (node = 0; node < p->cfg.nodes; node++)
		if (p->peer[node].socket >= 0)
			part(p, node, "");
	if (p->guest.socket >= 0)
		close_peer(p, &p->guest);
	release(p);
}
