// SPDX-License-Identifier: MIT
/*
 * Queues of copies and batches: what programs that mean harm, or are killed, do with them. Queues
 * copy what they are told, at once and on every core; who frees one that is used, resets the core,
 * changes lists while they are worked on, or is killed, harms nobody; and nothing is left of it.
 *
 * usage: driver-copies KILLS
 */
#include "tap.h"
#include "chip.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#define MB (1u << 20)
#define SIZE (3 * MB)
#define ALL 13 /* queues that every engine of copies has for processes */
#define THREADS 4
#define ROUNDS 40

static const struct neuron_gen *chip;

struct queues {
	uint32_t copy, service;
};

static int ask(int fd, unsigned int nc, unsigned int copies, unsigned int services,
	       struct queues *q)
{
	struct neuron_ioctl_h2t_dma_alloc_queues a = {
		.sz = sizeof(a),
		.nc_id = (uint16_t)nc,
		.copy_queue_cnt = (uint16_t)copies,
		.service_queue_cnt = (uint16_t)services,
	};
	int ret = call(fd, NEURON_IOCTL_H2T_DMA_ALLOC_QUEUES, &a);

	q->copy = ret ? 0 : a.copy_queue_bmap;
	q->service = ret ? 0 : a.service_queue_bmap;
	return ret;
}

static int give(int fd, unsigned int nc, uint32_t map)
{
	struct neuron_ioctl_h2t_dma_free_queues a = { .sz = sizeof(a),
						      .nc_id = (uint8_t)nc,
						      .queue_bmap = map };

	return call(fd, NEURON_IOCTL_H2T_DMA_FREE_QUEUES, &a);
}

/* The queue of a map's bit i */
static int nth(uint32_t map, unsigned int i)
{
	while (i--)
		map &= map - 1;
	return __builtin_ffs((int)map) - 1;
}

static int zerocopy(int fd, uint64_t h, void *buf, uint64_t size, int queue, bool write)
{
	struct neuron_ioctl_mem_buf_copy64zc a = { h, buf, size, 0, write, 0, queue, 0 };

	return call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V2, &a);
}

static int batch(int fd, struct neuron_copy_batch *b, uint32_t n, int queue, bool write)
{
	struct neuron_ioctl_mem_buf_copy64zc_batches a = {
		.batches_ptr = b, .num_batches = n, .is_copy_to_device = write, .h2t_qid = queue
	};

	return call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_BATCHES, &a);
}

/* A thread that copies in and out through one queue */
struct copier {
	pthread_t thread;
	int fd, queue;
	unsigned int nc;
	uint64_t seed;
	bool until_freed;
	volatile bool started;
	bool good;
	int last;
};

static void *copier_main(void *arg)
{
	struct copier *c = arg;
	uint8_t *in = malloc(SIZE), *out = malloc(SIZE);
	uint64_t h = 0;
	int i;

	pattern(in, SIZE, c->seed);
	c->last = chunk_of(c->fd, c->nc, SIZE, &h);
	c->good = true;
	for (i = 0; !c->last && (c->until_freed || i < 8); i++) {
		memset(out, 0, SIZE);
		c->last = zerocopy(c->fd, h, in, SIZE, c->queue, true);
		if (!c->last)
			c->last = zerocopy(c->fd, h, out, SIZE, c->queue, false);
		c->good = c->good && (c->last || !memcmp(in, out, SIZE));
		c->started = true;
	}
	chunk_free(c->fd, h);
	free(in);
	free(out);
	return NULL;
}

/* Starts a thread that copies through the queue of a map until that is freed or reset. */
static void copy_until_freed(struct copier *c, int fd, uint64_t seed, uint32_t map)
{
	*c = (struct copier){ .fd = fd, .queue = nth(map, 0), .seed = seed, .until_freed = true };
	pthread_create(&c->thread, NULL, copier_main, c);
	while (!c->started)
		usleep(100);
}

static void test_at_once(int fd)
{
	struct copier c[THREADS] = { 0 };
	struct queues q;
	unsigned int nc, i;
	bool good = true, served;

	for (nc = 0; nc < chip->cores; nc++) {
		served = !ask(fd, nc, THREADS - 1, 0, &q);
		good = good && served;
		for (i = 0; i < THREADS; i++) {
			c[i] = (struct copier){ .fd = fd, .nc = nc, .seed = 10 * nc + i };
			c[i].queue = i ? nth(q.copy, i - 1) : NEURON_H2T_QUEUE_DEFAULT;
			pthread_create(&c[i].thread, NULL, copier_main, &c[i]);
		}
		for (i = 0; i < THREADS; i++) {
			pthread_join(c[i].thread, NULL);
			good = good && c[i].good && !c[i].last;
		}
		good = good && !give(fd, nc, q.copy);
	}
	ok(good, "three queues and the core's own copy at once, on every core");
}

/* Frees a queue, or resets its core, while a thread copies through it */
static void test_freed(int fd, bool reset)
{
	struct neuron_ioctl_device_reset r = { 1, 0 };
	struct neuron_ioctl_device_ready ready = { 0 };
	struct copier c;
	struct queues q;
	bool good = true, gone = true;
	int i;

	for (i = 0; i < (reset ? 5 : ROUNDS); i++) {
		good = !ask(fd, 0, 1, 1, &q) && good;
		copy_until_freed(&c, fd, (uint64_t)i, q.copy);
		if (reset) {
			good = good && !call(fd, NEURON_IOCTL_NC_RESET, &r);
			ready.request_id = r.request_id;
			good = good && !call(fd, NEURON_IOCTL_NC_RESET_READY, &ready);
			gone = gone && give(fd, 0, q.copy | q.service) == -ENXIO;
		} else {
			good = good && !give(fd, 0, q.copy | q.service);
		}
		pthread_join(c.thread, NULL);
		good = good && c.good && (c.last == -ENOENT || c.last == -EIO || c.last == -EINVAL);
	}
	ok(good, "a queue that is %s under a copy ends it", reset ? "reset" : "freed");
	if (reset)
		ok(gone, "and a reset leaves none");
	good = !ask(fd, 0, ALL, 0, &q);
	ok(good && !give(fd, 0, q.copy), "all are there again");
	ok(node_works(0), "the chip works");
}

struct freer {
	pthread_t thread;
	pthread_barrier_t *begin;
	int fd, ret;
	uint32_t map;
};

static void *freer_main(void *arg)
{
	struct freer *f = arg;

	pthread_barrier_wait(f->begin);
	f->ret = give(f->fd, 0, f->map);
	return NULL;
}

/* Two threads free a queue at once, and both have to wait for a copy that goes on */
static void test_freed_twice(int fd)
{
	pthread_barrier_t begin;
	struct freer f[2];
	struct copier c;
	struct queues q;
	bool good = true;
	int i, k;

	pthread_barrier_init(&begin, NULL, 2);
	for (i = 0; i < ROUNDS; i++) {
		good = !ask(fd, 0, 1, 0, &q) && good;
		copy_until_freed(&c, fd, (uint64_t)i, q.copy);
		for (k = 0; k < 2; k++) {
			f[k] = (struct freer){ .begin = &begin, .fd = fd, .map = q.copy };
			pthread_create(&f[k].thread, NULL, freer_main, &f[k]);
		}
		for (k = 0; k < 2; k++)
			pthread_join(f[k].thread, NULL);
		pthread_join(c.thread, NULL);
		good = good && (f[0].ret ? f[0].ret : f[1].ret) == -ENXIO &&
		       !(f[0].ret && f[1].ret);
	}
	pthread_barrier_destroy(&begin);
	ok(good, "a queue that two threads free at once is freed by one of them");
}

/* Threads that ask for queues and free what they have, and what others have */
struct taker {
	pthread_t thread;
	int fd;
	uint64_t seed;
	bool good;
};

static void *taker_main(void *arg)
{
	struct taker *t = arg;
	uint64_t x = t->seed;
	struct queues q;
	int i, ret;

	t->good = true;
	for (i = 0; i < 60; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		ret = ask(t->fd, 0, x >> 60, x >> 58 & 3, &q);
		t->good = t->good && (!ret || ret == -EPERM || ret == -E2BIG);
		t->good = t->good && !(q.copy & q.service);
		ret = give(t->fd, 0, x >> 63 ? 0xffff : q.copy | q.service);
		t->good = t->good && (!ret || ret == -ENXIO);
	}
	return NULL;
}

static void test_takers(int fd)
{
	struct taker t[THREADS];
	struct queues q;
	bool good = true;
	int i;

	for (i = 0; i < THREADS; i++) {
		t[i] = (struct taker){ .fd = fd, .seed = (uint64_t)i + 1 };
		pthread_create(&t[i].thread, NULL, taker_main, &t[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].thread, NULL);
		good = good && t[i].good;
	}
	ok(good, "threads that take and free each other's queues");
	give(fd, 0, 0xffff);
	good = !ask(fd, 0, ALL, 0, &q);
	ok(good && !give(fd, 0, q.copy), "lose none of them");
}

/* Memory that a thread changes all the time: sizes, offsets, handles, counts */
struct lists {
	struct neuron_tensor_batch_op op[64];
	struct neuron_copy_batch b[8];
	uint64_t mine;
	volatile bool stop;
};

static void *liar(void *arg)
{
	struct lists *l = arg;
	uint64_t x = 1;

	while (!l->stop) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		switch (x >> 61) {
		case 0:
			l->op[x >> 32 & 63].size = x >> 40 & 1 ? 4096 : x;
			break;
		case 1:
			l->op[x >> 32 & 63].offset = x >> 40 & 3 ? 64 : x;
			break;
		case 2:
			l->b[x >> 32 & 7].num_ops = x >> 40 & 3 ? 8 : x >> 20;
			break;
		case 3:
			l->b[x >> 32 & 7].mem_handle = x >> 40 & 3 ? l->mine : x;
			break;
		case 4:
			l->b[x >> 32 & 7].mem_handle_offset = x >> 40 & 3 ? 0 : x;
			break;
		default:
			for (unsigned int i = 0; i < 64; i++) {
				l->op[i].size = 64;
				l->op[i].offset = 0;
			}
			for (unsigned int i = 0; i < 8; i++) {
				l->b[i].mem_handle = l->mine;
				l->b[i].mem_handle_offset = 0;
				l->b[i].num_ops = 8;
			}
			break;
		}
	}
	return NULL;
}

static void test_lies(int fd)
{
	static uint8_t buf[64 * 4096], before[64 * 1024], after[64 * 1024];
	uint64_t neighbour[2], h;
	struct lists *l = calloc(1, sizeof(*l));
	pthread_t thread;
	int i, ret, done = 0;
	bool good = true;

	chunk(fd, false, sizeof(before), 0, &neighbour[0]);
	chunk(fd, false, 64 * 1024, 0, &h);
	chunk(fd, false, sizeof(before), 0, &neighbour[1]);
	pattern(before, sizeof(before), 3);
	copy_in(fd, neighbour[0], before, 0, sizeof(before));
	copy_in(fd, neighbour[1], before, 0, sizeof(before));
	l->mine = h;
	for (i = 0; i < 64; i++)
		l->op[i] = (struct neuron_tensor_batch_op){ 0, 64, buf + 4096 * i };
	for (i = 0; i < 8; i++)
		l->b[i] = (struct neuron_copy_batch){ .mem_handle = h, .num_ops = 8 };
	for (i = 0; i < 8; i++)
		l->b[i].ops_ptr = l->op + 8 * i;
	pthread_create(&thread, NULL, liar, l);
	for (i = 0; i < 1000 || (!done && i < 50000); i++) {
		ret = batch(fd, l->b, 8, -1, i & 1);
		done += !ret;
		good = good && (!ret || ret == -EINVAL || ret == -ENOMEM || ret == -EFAULT ||
				ret == -EACCES);
	}
	l->stop = true;
	pthread_join(thread, NULL);
	ok(good && done, "lists that change meanwhile are copied or refused (%d copied)", done);
	for (i = 0; i < 2; i++) {
		memset(after, 0, sizeof(after));
		copy_out(fd, neighbour[i], after, 0, sizeof(after));
		ok(!memcmp(before, after, sizeof(after)), "the chunk beside it is untouched");
	}
	chunk_free(fd, h);
	chunk_free(fd, neighbour[0]);
	chunk_free(fd, neighbour[1]);
	free(l);
}

/* What is wrong at the end of a list is seen before any of it is copied. */
static void test_refused_whole(int fd)
{
	uint8_t *before = malloc(SIZE), *other = malloc(SIZE);
	struct neuron_tensor_batch_op op[2] = { { 0, SIZE, other },
						{ SIZE, 64, (void *)(1ull << 63) } };
	struct neuron_copy_batch b = { .ops_ptr = op, .num_ops = 2 };
	uint64_t h;

	chunk(fd, false, 2 * SIZE, 0, &h);
	b.mem_handle = h;
	pattern(before, SIZE, 4);
	pattern(other, SIZE, 5);
	copy_in(fd, h, before, 0, SIZE);
	is(batch(fd, &b, 1, NEURON_H2T_QUEUE_DEFAULT, true), -EFAULT,
	   "a list that ends in the kernel's half is refused");
	copy_out(fd, h, other, 0, SIZE);
	ok(!memcmp(before, other, SIZE), "and none of it is copied");
	chunk_free(fd, h);
	free(before);
	free(other);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Batches that would take hours */
static void for_hours(int tell, unsigned int nc, bool own)
{
	const uint32_t n = (4u << 20) / sizeof(struct neuron_tensor_batch_op);
	struct neuron_tensor_batch_op *op = calloc(n, sizeof(*op));
	struct neuron_copy_batch b = { .ops_ptr = op, .num_ops = n };
	uint8_t *buf = malloc(64 * MB);
	int fd = node(0, O_RDWR), queue = NEURON_H2T_QUEUE_DEFAULT;
	struct queues q;
	uint64_t h;

	memset(buf, 1, 64 * MB);
	if (fd < 0 || chunk_of(fd, nc, 64 * MB, &h))
		_exit(1);
	b.mem_handle = h;
	if (own && ask(fd, nc, ALL, 0, &q))
		_exit(2);
	if (own)
		queue = nth(q.copy, ALL - 1);
	for (uint32_t i = 0; i < n; i++)
		op[i] = (struct neuron_tensor_batch_op){ 0, 64 * MB, buf };
	if (write(tell, "", 1) != 1)
		_exit(3);
	_exit(batch(fd, &b, 1, queue, true) ? 4 : 5);
}

static pid_t start(void (*fn)(int tell, unsigned int nc, bool own), unsigned int nc, bool own)
{
	int tell[2];
	char byte;
	pid_t pid;

	if (pipe(tell))
		abort();
	pid = fork();
	if (!pid) {
		close(tell[0]);
		fn(tell[1], nc, own);
	}
	close(tell[1]);
	if (read(tell[0], &byte, 1) != 1)
		byte = 0;
	close(tell[0]);
	return pid;
}

/* Kills it and returns how long its end takes */
static double killed(pid_t pid, int *status)
{
	double from = now();

	kill(pid, SIGKILL);
	waitpid(pid, status, 0);
	return now() - from;
}

static void test_hours(void)
{
	int own, status;
	double from, took, end;
	pid_t pid, other;
	bool works;

	for (own = 0; own < 2; own++) {
		pid = start(for_hours, 0, own);
		usleep(200000);
		from = now();
		works = node_works(0); /* on the same core */
		took = now() - from;
		ok(works && took < 5, "beside a batch without an end others copy (%.2f s)", took);
		other = fork();
		if (!other)
			_exit(node(0, O_RDWR) < 0); /* whose end waits for copies that go on */
		from = now();
		waitpid(other, &status, 0);
		took = now() - from;
		ok(!status && took < 5, "and end (%.2f s)", took);
		end = killed(pid, &status);
		ok(WIFSIGNALED(status) && end < 5, "and it can be killed (%.2f s)", end);
	}
}

/* A process that has all queues of a core, and copies through them until it is killed */
static void work(int tell, unsigned int nc, bool own)
{
	static struct neuron_tensor_batch_op op[64];
	struct neuron_copy_batch b = { .ops_ptr = op, .num_ops = 64 };
	static uint8_t buf[MB];
	int fd = node(0, O_RDWR);
	struct queues q;
	uint64_t h;

	(void)own;
	if (fd < 0 || chunk_of(fd, nc, MB, &h) || ask(fd, nc, ALL - 1, 1, &q))
		_exit(1);
	b.mem_handle = h;
	for (unsigned int i = 0; i < 64; i++)
		op[i] = (struct neuron_tensor_batch_op){ i * 9973, 4096 + i * 17, buf + i * 8191 };
	for (unsigned int i = 0;; i++) {
		if (batch(fd, &b, 1, nth(q.copy, i % (ALL - 1)), i & 1))
			_exit(2);
		if (!i && write(tell, "", 1) != 1)
			_exit(3);
	}
}

static long long available(void)
{
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");
	long long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void test_kills(int kills)
{
	long long before = 0;
	int i, fd, status, early = 0, missing = 0;
	struct queues q;
	pid_t pid;

	for (i = 0; i < kills; i++) {
		unsigned int nc = (unsigned int)i % chip->cores;

		if (i == kills / 5)
			before = available();
		pid = start(work, nc, false);
		usleep(i * 997 % 20000);
		killed(pid, &status);
		early += !WIFSIGNALED(status);
		fd = node(0, O_RDWR);
		missing += ask(fd, nc, ALL, 0, &q) != 0;
		close(fd);
	}
	is(early, 0, "%d processes were killed at work", kills);
	is(missing, 0, "each time all queues were there again");
	/* a queue's ring has 260 KiB, so that one a process would be seen */
	before -= available();
	ok(before < 16 * 1024, "memory is where it was (%lld KiB less)", before);
	ok(node_works(0), "the chip works");
}

/* Every call that takes a queue refuses one of another process. */
static void test_others(void)
{
	struct neuron_ioctl_dma_queue_init init = { .tx_desc_count = 64, .rx_desc_count = 64 };
	uint64_t address = neuron_gen_offset(chip, NEURON_BLOCK_UDMA, chip->copy[0].engine);
	struct neuron_ioctl_device_info info = { 0 };
	uint32_t value = 0;
	struct neuron_ioctl_bar_rw rw = { 0, (void *)&address, (void *)&value, 1 };
	int fd = node(0, O_RDWR), status, ret;
	struct queues q;
	uint64_t ring;
	pid_t pid;

	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	is(ask(fd, 0, 1, 1, &q), 0, "a queue for copies and one for the process");
	chunk(fd, true, 4096, 0, &ring);
	init.eng_id = chip->copy[0].engine;
	init.tx_handle = init.rx_handle = ring;
	init.qid = (uint32_t)nth(q.copy, 0);
	address += info.bar_address[0] + 0x1000u * (1 + init.qid) + NEURON_UDMA_Q_CFG;
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &init), -EALREADY,
	   "the first cannot be set up by the process");
	is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), -EINVAL, "nor its registers be written");
	init.qid = (uint32_t)nth(q.service, 0);
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &init), 0, "the other can");
	is(zerocopy(fd, ring, &value, 4, (int)init.qid, true), -ENOENT, "and is none for copies");
	pid = fork();
	if (!pid) {
		int own = node(0, O_RDWR);

		chunk(own, true, 4096, 0, &ring);
		init.tx_handle = init.rx_handle = ring;
		ret = call(own, NEURON_IOCTL_DMA_QUEUE_INIT, &init) == -EACCES;
		ret += give(own, 0, q.copy) == -EACCES;
		ret += give(own, 0, q.service) == -EACCES;
		ret += ask(own, 0, 1, 0, &q) == -EACCES;
		_exit(ret);
	}
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 4, "another process gets none of it, nor another of the core");
	is(give(fd, 0, q.copy | q.service), 0, "they are freed");
	is(give(fd, 0, q.copy), -ENXIO, "once");
	address = info.bar_address[0] +
		  neuron_gen_offset(chip, NEURON_BLOCK_UDMA, chip->copy[0].engine) +
		  0x1000u * (1 + (unsigned int)nth(q.copy, 0)) + NEURON_UDMA_Q_CFG;
	is(call(fd, NEURON_IOCTL_BAR_WRITE, &rw), 0, "and the registers can be written");
	close(fd);
}

int main(int argc, char **argv)
{
	int fd;

	chip = chip_of(0);
	if (argc != 2 || !chip)
		return 2;
	test_others();
	fd = node(0, O_RDWR);
	test_at_once(fd);
	test_freed(fd, false);
	test_freed(fd, true);
	test_freed_twice(fd);
	test_takers(fd);
	test_lies(fd);
	test_refused_whole(fd);
	close(fd);
	test_hours();
	test_kills(atoi(argv[1]));
	return tap_done();
}
