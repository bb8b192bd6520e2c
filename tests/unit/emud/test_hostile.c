/* SPDX-License-Identifier: MIT */
/*
 * neuron-emud and clients that do not keep to what was agreed: on the socket, in the file that they
 * share with it, and in rings that they write themselves. After each of them an honest process
 * finds the server at work and its own things as they were. test_hostile PATH-OF-neuron-emud
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "hal.h"
#include "peers.h"
#include "wire.h"

static const char *const trn1[] = { "--instance", "trn1.2xlarge", NULL };
static pid_t server;

static void setup(void)
{
	server = server_start(trn1);
}

static void teardown(void)
{
	ck_assert_int_eq(server_end(server, SIGTERM), 0);
}

/* A client by hand */
struct raw {
	int fd, file;
	uint8_t *base;
	struct wire_welcome welcome;
};

static int raw_socket(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	MUST(fd >= 0);
	strncpy(sun.sun_path, peers_socket, sizeof(sun.sun_path) - 1);
	while (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)))
		MUST(errno == EAGAIN || errno == EINTR);
	return fd;
}

static void raw_hello(struct raw *r)
{
	const struct wire_hello hello = { WIRE_MAGIC, WIRE_VERSION };
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &r->welcome, sizeof(r->welcome) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	r->fd = raw_socket();
	MUST(send(r->fd, &hello, sizeof(hello), 0) == sizeof(hello));
	MUST(recvmsg(r->fd, &msg, 0) == sizeof(r->welcome));
	MUST_BE(r->welcome.error, 0);
	MUST(CMSG_FIRSTHDR(&msg));
	memcpy(&r->file, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(r->file));
	r->base = mmap(NULL, r->welcome.size, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
	MUST(r->base != MAP_FAILED);
}

static int raw_ask(struct raw *r, uint32_t channel)
{
	struct wire_ask ask = { .channel = channel };

	MUST(send(r->fd, &ask, sizeof(ask), MSG_NOSIGNAL) == sizeof(ask));
	MUST(recv(r->fd, &ask, sizeof(ask), 0) == sizeof(ask));
	return ask.error;
}

static struct wire_channel *channel_of(const struct raw *r, unsigned int i)
{
	return (void *)(r->base + WIRE_CHANNEL(i));
}

/* Makes a call and waits for its answer, or for the end of the connection: -ENODEV. */
static int raw_call(struct raw *r, unsigned int channel, struct wire_call *call)
{
	struct wire_channel *s = channel_of(r, channel);
	const uint32_t at = __atomic_load_n(&s->head, __ATOMIC_SEQ_CST);
	const struct timespec pause = { 0, 20000 };
	char c;

	s->call[at % WIRE_CALLS] = *call;
	__atomic_store_n(&s->head, at + 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &s->head, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	while (__atomic_load_n(&s->tail, __ATOMIC_SEQ_CST) != at + 1) {
		if (!recv(r->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT))
			return -ENODEV;
		nanosleep(&pause, NULL);
	}
	*call = s->call[at % WIRE_CALLS];
	return call->result;
}

static int call_word(struct raw *r, enum wire_op op, uint64_t word)
{
	return raw_call(r, 0, &(struct wire_call){ .op = (uint16_t)op, .arg = { word } });
}

static void must_be_closed(int fd)
{
	char c[256];
	ssize_t n;

	do {
		n = recv(fd, c, sizeof(c), 0);
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
}

/* An honest process, before and after */
#define CONTENTS 0xa5a5123498765432ull

static void honest(int fd, const void *arg)
{
	ndlx_device_t *dev = peer_open(0);
	uint64_t device_pa, host_pa, word = CONTENTS, *host;
	uint64_t d = peer_memory(dev, 4096, false, &device_pa),
		 h = peer_memory(dev, 4096, true, &host_pa);
	uint32_t value;

	MUST_BE(ndlx_nc_semaphore_write(dev, 1, 3, 7), 0);
	MUST_BE(ndlx_memory_map(dev, h, (void **)&host), 0);
	*host = CONTENTS;
	MUST_BE(ndlx_memory_buf_copyin(dev, d, &word, 0, 8), 0);
	MUST(send(fd, &host_pa, sizeof(host_pa), 0) == sizeof(host_pa));
	hear(fd);
	MUST_BE(ndlx_nc_semaphore_read(dev, 1, 3, &value), 0);
	MUST_BE(value, 7);
	MUST(*host == CONTENTS);
	word = 0;
	MUST_BE(ndlx_memory_copy(dev, d, h, 0, 8, 8), 0);
	MUST(host[1] == CONTENTS);
	MUST_BE(ndlx_close_device(dev), 0);
}

/* Runs a hostile client beside the honest one, whose host memory's address it is told. */
static void beside_honest(peer_main *hostile)
{
	struct peer good = peer_start(honest, NULL), bad;
	uint64_t pa;

	ck_assert_int_eq(read(good.fd, &pa, sizeof(pa)), sizeof(pa));
	bad = peer_start(hostile, &pa);
	ck_assert_int_eq(peer_wait(&bad), 0);
	say(good.fd, 'e');
	ck_assert_int_eq(peer_wait(&good), 0);
}

/* The socket */

static void refused(const void *packet, size_t size, int error)
{
	struct wire_welcome w = { 0 };
	int fd = raw_socket();

	MUST(send(fd, packet, size, MSG_NOSIGNAL) == (ssize_t)size);
	if (error) {
		MUST(recv(fd, &w, sizeof(w), 0) == sizeof(w));
		MUST_BE(w.error, error);
	}
	must_be_closed(fd);
}

static void send_files(int fd, const void *packet, size_t size)
{
	char control[CMSG_SPACE(64 * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)packet, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(64 * sizeof(int));
	for (unsigned int i = 0; i < 64; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	MUST(sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)size);
}

static unsigned int files_of(pid_t pid)
{
	char path[64];
	unsigned int n = 0;
	FILE *p;

	snprintf(path, sizeof(path), "ls /proc/%d/fd", pid);
	p = popen(path, "r");
	MUST(p);
	for (int c; (c = getc(p)) != EOF;)
		n += c == '\n';
	pclose(p);
	return n;
}

static void garbage(int fd, const void *arg)
{
	struct wire_hello hello = { WIRE_MAGIC, WIRE_VERSION + 1 };
	uint8_t noise[4096];
	struct raw r;

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 167);
	refused(noise, 1, -EPROTO);
	refused(noise, sizeof(hello), -EPROTO);
	refused(noise, sizeof(noise), -EPROTO);
	refused(&hello, sizeof(hello), -EPROTO); /* another version */
	raw_hello(&r);
	MUST_BE(raw_ask(&r, WIRE_CHANNELS), -EINVAL);
	MUST_BE(raw_ask(&r, UINT32_MAX), -EINVAL);
	MUST_BE(raw_ask(&r, 3), 0);
	MUST_BE(raw_ask(&r, 3), -EALREADY);
	send(r.fd, noise, 100, MSG_NOSIGNAL);
	must_be_closed(r.fd);
	raw_hello(&r); /* a second hello is nothing that a client says */
	send(r.fd, &hello, 4, MSG_NOSIGNAL);
	must_be_closed(r.fd);
}

START_TEST(socket_garbage)
{
	beside_honest(garbage);
}
END_TEST

/* Descriptors that come with packets are not kept, and who does not read is not waited for. */
static void flood(int fd, const void *arg)
{
	const pid_t pid = server;
	unsigned int before = files_of(pid), sent = 0;
	struct wire_ask ask = { .channel = 99 };
	struct raw r, other;

	raw_hello(&r);
	for (unsigned int i = 0; i < 100; i++) {
		send_files(r.fd, &ask, sizeof(ask));
		MUST(recv(r.fd, &ask, sizeof(ask), 0) == sizeof(ask));
		ask.error = 0;
	}
	MUST(files_of(pid) <= before + 8);
	while (sent < 100000 && send(r.fd, &ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		sent++;
	raw_hello(&other); /* the server did not wait for the first to read */
	MUST_BE(raw_ask(&other, 0), 0);
}

START_TEST(floods)
{
	beside_honest(flood);
}
END_TEST

/* Clients that connect and say nothing keep no other out. */
static void silent(int fd, const void *arg)
{
	struct raw r;

	for (unsigned int i = 0; i < 500; i++)
		raw_socket();
	raw_hello(&r);
	MUST_BE(raw_ask(&r, 0), 0);
}

START_TEST(silence)
{
	beside_honest(silent);
}
END_TEST

/* A user's processes up to the limit are let in, and one more is refused. */
static void crowd(int fd, const void *arg)
{
	const struct wire_hello hello = { WIRE_MAGIC, WIRE_VERSION };
	struct wire_welcome w = { 0 };
	unsigned int n = 0;

	while (n < 300 && !w.error) {
		int s = raw_socket();

		MUST(send(s, &hello, sizeof(hello), 0) == sizeof(hello));
		MUST(recv(s, &w, sizeof(w), 0) == sizeof(w));
		n += !w.error;
	}
	MUST_BE(w.error, -EBUSY);
	MUST_BE(n, 191); /* and the honest one */
}

START_TEST(crowds)
{
	beside_honest(crowd);
}
END_TEST

/* The file */

static void liar(int fd, const void *arg)
{
	struct raw r;

	/* it cannot be cut off under who works on it */
	raw_hello(&r);
	MUST_BE(ftruncate(r.file, 4096), -1);
	MUST_BE(fcntl(r.file, F_ADD_SEALS, F_SEAL_WRITE), -1);
	MUST_BE(raw_ask(&r, 0), 0);
	MUST_BE(call_word(&r, WIRE_NOP, 0), 0);
	MUST_BE(fallocate(r.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, WIRE_RESERVED), 0);
	close(r.fd);

	/* heads that are nobody's */
	static const uint32_t heads[] = { WIRE_CALLS + 1, 0x80000000u, UINT32_MAX };

	for (unsigned int i = 0; i < 3; i++) {
		raw_hello(&r);
		MUST_BE(raw_ask(&r, 0), 0);
		__atomic_store_n(&channel_of(&r, 0)->head, heads[i], __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &channel_of(&r, 0)->head, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		must_be_closed(r.fd);
	}

	/* calls of what is not there */
	raw_hello(&r);
	MUST_BE(raw_ask(&r, 0), 0);
	MUST_BE(call_word(&r, WIRE_OPS, 0), -ENOTSUP);
	MUST_BE(call_word(&r, 0xffff, 0), -ENOTSUP);
	MUST_BE(call_word(&r, WIRE_FREE, 1), -EACCES); /* no device is open */
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_OPEN, .device = 255 }), -ENODEV);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_CLOSE, .device = 255 }), -ENODEV);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_OPEN }), 0);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_OPEN }), -EALREADY);
	/* more than one call may have */
	MUST_BE(raw_call(&r, 0,
			 &(struct wire_call){ .op = WIRE_BUF, .arg = { 1, 0, WIRE_DATA + 1 } }),
		-E2BIG);
	MUST_BE(raw_call(&r, 0,
			 &(struct wire_call){ .op = WIRE_SET, .arg = { 1, 0, 0, WIRE_PIECE + 1 } }),
		-E2BIG);
	MUST_BE(raw_call(&r, 0,
			 &(struct wire_call){ .op = WIRE_COPY,
					      .arg = { 1, 2, 0, 0, WIRE_PIECE + 1 } }),
		-E2BIG);
	MUST_BE(raw_call(&r, 0,
			 &(struct wire_call){ .op = WIRE_BAR_READ, .arg = { 0, WIRE_DATA } }),
		-E2BIG);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_CHUNKS, .arg = { 0, WIRE_DATA } }),
		-E2BIG);
	memset(r.base + WIRE_CHANNEL_DATA(0), 'x', WIRE_DATA);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_PRINTK }), -EFAULT);
}

START_TEST(lies)
{
	beside_honest(liar);
}
END_TEST

static uint64_t noise(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* A word as likely to be of some use as not */
static uint64_t odd_word(uint64_t *seed)
{
	static const uint64_t odd[] = { 0,	    1,		2,	    31,		64,
					4096,	    WIRE_DATA,	WIRE_PIECE, UINT32_MAX, 1ull << 32,
					1ull << 63, UINT64_MAX, 1ull << 40 };
	uint64_t n = noise(seed);

	return n % 3 ? n / 3 % 8 : odd[n / 3 % (sizeof(odd) / sizeof(odd[0]))];
}

#define CALLS 20000

/* Any call with any words, from two channels, while the file is written over. */
static void fuzzer(int fd, const void *arg)
{
	uint64_t seed = 37;
	struct raw r;
	char c[64];
	ssize_t n;

	raw_hello(&r);
	MUST_BE(raw_ask(&r, 0), 0);
	MUST_BE(raw_ask(&r, 1), 0);
	MUST_BE(raw_call(&r, 0, &(struct wire_call){ .op = WIRE_OPEN }), 0);
	for (unsigned int i = 0; i < CALLS; i++) {
		struct wire_call call = { .op = (uint16_t)(noise(&seed) % (WIRE_OPS + 1)) };

		/* what waits for a core that is another's, seconds each time */
		if (call.op == WIRE_CRWL || call.op == WIRE_CINIT)
			continue;
		call.device = noise(&seed) % 8 ? 0 : (uint8_t)noise(&seed);
		for (unsigned int k = 0; k < WIRE_ARGS; k++)
			call.arg[k] = odd_word(&seed);
		for (unsigned int k = 0; k < 512; k++)
			r.base[WIRE_CHANNEL_DATA(i & 1) + k] = (uint8_t)noise(&seed);
		raw_call(&r, i & 1, &call);
		do {
			n = recv(r.fd, c, sizeof(c), MSG_DONTWAIT); /* files that were handed out */
			MUST(n);
		} while (n > 0);
	}
}

START_TEST(any_call)
{
	beside_honest(fuzzer);
}
END_TEST

/* Rings */

/* Copies by a ring that it writes itself: the server sees none of its descriptors. */
static void ring_copy(ndlx_device_t *dev, uint64_t from, uint64_t to)
{
	struct ndlx_queue_params q = { .qid = 3, .tx_count = 64, .rx_count = 64 };
	const struct timespec ms = { 0, 1000000 };
	struct neuron_dma_queue_state tx, rx;
	uint64_t pa;
	uint8_t *ring[2];

	q.tx_handle = peer_memory(dev, 4096, true, &pa);
	q.rx_handle = peer_memory(dev, 4096, true, &pa);
	MUST_BE(ndlx_memory_map(dev, q.tx_handle, (void **)&ring[0]), 0);
	MUST_BE(ndlx_memory_map(dev, q.rx_handle, (void **)&ring[1]), 0);
	nhal_desc_tx(ring[0], from, 8, 1, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	nhal_desc_rx(ring[1], to, 8, 1);
	/* by the front door they are refused */
	MUST_BE(ndlx_dma_queue_init(dev, &q), 0);
	MUST_BE(ndlx_dma_queue_copy_start(dev, 0, 3, 1, 1), 0);
	for (int i = 0; i < CHECK_WAIT_MS; i++) {
		MUST_BE(ndlx_dma_queue_get_state(dev, 0, 3, &tx, &rx), 0);
		if (rx.head_pointer || tx.hw_status || rx.hw_status || i > 200)
			break;
		nanosleep(&ms, NULL);
	}
	MUST_BE(ndlx_dma_queue_release(dev, 0, 3), 0);
	MUST_BE(ndlx_memory_free(dev, q.tx_handle), 0);
	MUST_BE(ndlx_memory_free(dev, q.rx_handle), 0);
}

static void ring_writer(int fd, const void *arg)
{
	const uint64_t victim = *(const uint64_t *)arg;
	ndlx_device_t *dev = peer_open(0);
	uint64_t pa, h = peer_memory(dev, 4096, true, &pa), *own,
		     sem = ndlx_semaphore_address(dev, 1, 3);
	uint8_t desc[16];

	MUST_BE(ndlx_memory_map(dev, h, (void **)&own), 0);
	own[0] = 0x1111111111111111ull;
	ring_copy(dev, pa, pa + 8); /* its own memory: it works */
	MUST(own[1] == own[0]);
	nhal_desc_tx(desc, victim, 8, 1, 0);
	MUST_BE(ndlx_dma_copy_descriptors(dev, h, desc, 64, 1, NEURON_DMA_QUEUE_TX), -EINVAL);
	ring_copy(dev, victim, pa + 16); /* to read what is another's */
	MUST(own[2] == 0);
	MUST_BE(ndlx_reset_ncs(dev, 1, &(uint32_t){ 0 }), 0);
	ring_copy(dev, pa, victim); /* to write it: the victim looks */
	MUST_BE(ndlx_reset_ncs(dev, 1, &(uint32_t){ 0 }), 0);
	ring_copy(dev, pa, sem); /* and a core's semaphore */
}

START_TEST(own_rings)
{
	beside_honest(ring_writer);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("emud-hostile");
	TCase *tc = tcase_create("clients");

	if (argc < 2)
		return 2;
	peers_server = argv[1];
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, socket_garbage);
	tcase_add_test(tc, floods);
	tcase_add_test(tc, silence);
	tcase_add_test(tc, crowds);
	tcase_add_test(tc, lies);
	tcase_add_test(tc, any_call);
	tcase_add_test(tc, own_rings);
	suite_add_tcase(s, tc);
	return check_run_here(s);
}
