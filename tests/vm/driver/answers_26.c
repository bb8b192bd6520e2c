// SPDX-License-Identifier: MIT
/*
 * Answers about what came after 2.24: zero-copy by a queue of one's choice and in batches, queues
 * of copies, power profiles, throttling, metrics, places. tests/data/abi/answers-2.26.txt.
 */
#include "answers.h"

#include <signal.h>
#include <sys/mman.h>

#define SIZE (1u << 20)
#define SMALL 4096u
#define BAD_QUEUE 99
#define ALL_COPIES 13 /* what every engine of copies has besides its cores' own */

static uint8_t in[SIZE + 64], out[SIZE + 64];

struct zc {
	uint64_t handle, offset, size;
	void *buf;
	uint32_t threshold;
	int queue;
	bool write;
};

static void zerocopy(int fd, const char *what, struct zc z)
{
	struct neuron_ioctl_mem_buf_copy64zc a = {
		.mem_handle = z.handle,
		.buffer = z.buf,
		.size = z.size,
		.offset = z.offset,
		.is_copy_to_device = z.write,
		.bar4_wr_threshold = z.threshold,
		.h2t_qid = z.queue,
	};

	SAY(fd, MEM_BUF_ZEROCOPY64_V2, what, &a);
}

/* Writes through a queue, reads through the core's own */
static void through(int fd, const char *what, uint64_t handle, int queue)
{
	struct neuron_ioctl_mem_buf_copy64zc a = {
		.mem_handle = handle,
		.buffer = in + 3,
		.size = SIZE - 77,
		.offset = 1,
		.is_copy_to_device = 1,
		.h2t_qid = queue,
	};
	int ret;

	pattern(in, SIZE, (uint64_t)queue + 100);
	ret = ASK(fd, MEM_BUF_ZEROCOPY64_V2, what, &a);
	a.buffer = out + 5;
	a.is_copy_to_device = 0;
	memset(out, 0, sizeof(out));
	if (!ret)
		field("back", call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V2, &a));
	if (!ret)
		field("same", !memcmp(in + 3, out + 5, SIZE - 77));
	end();
}

static void single(int fd)
{
	uint64_t d, h;
	int own = (int)chip->copy[0].queue;

	chunk_of(fd, 0, SIZE, &d);
	chunk(fd, true, SIZE, 0, &h);
	through(fd, "the core's own queue", d, NEURON_H2T_QUEUE_DEFAULT);
	through(fd, "the core's own queue by its number", d, own);
	through(fd, "host memory", h, NEURON_H2T_QUEUE_DEFAULT);
	zerocopy(fd, "nothing", (struct zc){ d, 0, 0, in, 0, -1, true });
	zerocopy(fd, "a small write", (struct zc){ d, 64, SMALL, in, SMALL, -1, true });
	zerocopy(fd, "bad handle", (struct zc){ 12345678, 0, SMALL, in, 0, -1, true });
	zerocopy(fd, "past the end", (struct zc){ d, 1, SIZE, in, 0, -1, true });
	zerocopy(fd, "at 2^64 - 1", (struct zc){ d, ~0ull, 2, in, 0, -1, true });
	zerocopy(fd, "from a bad pointer", (struct zc){ d, 0, SMALL, (void *)8, 0, -1, true });
	zerocopy(fd, "small from a bad pointer",
		 (struct zc){ d, 0, SMALL, (void *)8, SMALL, -1, true });
	zerocopy(fd, "from the kernel's half",
		 (struct zc){ d, 0, SMALL, (void *)(1ull << 63), 0, -1, true });
	zerocopy(fd, "queue 99", (struct zc){ d, 0, SMALL, in, 0, BAD_QUEUE, true });
	zerocopy(fd, "queue -2", (struct zc){ d, 0, SMALL, in, 0, -2, true });
	zerocopy(fd, "queue 16", (struct zc){ d, 0, SMALL, in, 0, 16, true });
	zerocopy(fd, "queue 7, which nobody has", (struct zc){ d, 0, SMALL, in, 0, 7, true });
	zerocopy(fd, "out by queue 99", (struct zc){ d, 0, SMALL, out, 0, BAD_QUEUE, false });
	zerocopy(fd, "small out by queue 99",
		 (struct zc){ d, 0, SMALL, out, SMALL, BAD_QUEUE, false });
	zerocopy(fd, "host memory by queue 99",
		 (struct zc){ h, 0, SMALL, in, SMALL, BAD_QUEUE, true });
	/* what is stored through a BAR needs no queue */
	zerocopy(fd, "a small write by queue 99",
		 (struct zc){ d, 0, SMALL, in, SMALL, BAD_QUEUE, true });
	zerocopy(fd, "one byte above the threshold by queue 99",
		 (struct zc){ d, 0, SMALL, in, SMALL - 1, BAD_QUEUE, true });
	zerocopy(fd, "two pages by queue 99",
		 (struct zc){ d, 0, 8192, in, UINT32_MAX, BAD_QUEUE, true });
	zerocopy(fd, "two pages and a word by queue 99",
		 (struct zc){ d, 0, 8196, in, UINT32_MAX, BAD_QUEUE, true });
	zerocopy(fd, "three bytes by queue 99", (struct zc){ d, 0, 3, in, SMALL, BAD_QUEUE, true });
	zerocopy(fd, "at an odd place by queue 99",
		 (struct zc){ d, 2, SMALL, in, SMALL, BAD_QUEUE, true });
	zerocopy(fd, "nothing by queue 99", (struct zc){ d, 0, 0, in, 0, BAD_QUEUE, true });
	zerocopy(fd, "nothing at an odd place by queue 99",
		 (struct zc){ d, 2, 0, in, 0, BAD_QUEUE, true });
	zerocopy(fd, "nothing out by queue 99", (struct zc){ d, 0, 0, out, 0, BAD_QUEUE, false });
	chunk_free(fd, d);
	chunk_free(fd, h);
}

static struct neuron_ioctl_h2t_dma_alloc_queues ask_queues(int fd, const char *what, uint16_t nc,
							   uint16_t copies, uint16_t services)
{
	struct neuron_ioctl_h2t_dma_alloc_queues a = {
		.sz = sizeof(a),
		.nc_id = nc,
		.copy_queue_cnt = copies,
		.service_queue_cnt = services,
	};

	if (ASK(fd, H2T_DMA_ALLOC_QUEUES, what, &a) == 0) {
		field("copy", a.copy_queue_bmap), field("service", a.service_queue_bmap);
		field("default", a.copy_default_queue);
	}
	end();
	return a;
}

static int free_queues(int fd, uint8_t nc, uint32_t map)
{
	struct neuron_ioctl_h2t_dma_free_queues a = { .sz = sizeof(a),
						      .nc_id = nc,
						      .queue_bmap = map };

	return call(fd, NEURON_IOCTL_H2T_DMA_FREE_QUEUES, &a);
}

static void say_free(int fd, const char *what, uint8_t nc, uint32_t map)
{
	printf("H2T_DMA_FREE_QUEUES %s = %d\n", what, free_queues(fd, nc, map));
	fflush(stdout);
}

static int lowest(uint32_t map)
{
	return __builtin_ffs((int)map) - 1;
}

static void queues(int fd)
{
	struct neuron_ioctl_h2t_dma_alloc_queues a, b, c;
	struct neuron_ioctl_h2t_dma_alloc_queues zero = { 0 };
	struct neuron_ioctl_dma_queue_init init = { .eng_id = chip->copy[0].engine,
						    .tx_desc_count = 64,
						    .rx_desc_count = 64 };
	struct neuron_ioctl_dma_queue_release release = { .eng_id = chip->copy[0].engine };
	uint64_t d, e, ring;

	chunk_of(fd, 0, SIZE, &d);
	chunk_of(fd, 1, SIZE, &e);
	chunk(fd, true, 4096, 0, &ring);
	ask_queues(fd, "none", 0, 0, 0);
	ASK(fd, H2T_DMA_ALLOC_QUEUES, "none, of size 0", &zero);
	end();
	a = ask_queues(fd, "two for copies", 0, 2, 0);
	b = ask_queues(fd, "one, and two for the process", 0, 1, 2);
	c = ask_queues(fd, "one of core 1", 1, 1, 0);
	through(fd, "the first", d, lowest(a.copy_queue_bmap));
	through(fd, "the second", d, lowest(a.copy_queue_bmap & (a.copy_queue_bmap - 1)));
	through(fd, "the third", d, lowest(b.copy_queue_bmap));
	through(fd, "one that is not for copies", d, lowest(b.service_queue_bmap));
	through(fd, "core 1's for core 1", e, lowest(c.copy_queue_bmap));
	/* core 1 of other chips has an engine of its own, so that the number may be core 0's, too */
	if (chip->copy[0].engine == chip->copy[1].engine)
		through(fd, "core 1's for core 0", d, lowest(c.copy_queue_bmap));
	init.tx_handle = init.rx_handle = ring;
	init.qid = (uint32_t)lowest(a.copy_queue_bmap);
	SAY(fd, DMA_QUEUE_INIT, "one of copies", &init);
	init.qid = release.qid = (uint32_t)lowest(b.service_queue_bmap);
	SAY(fd, DMA_QUEUE_INIT, "one that is not for copies", &init);
	SAY(fd, DMA_QUEUE_RELEASE, "one that is not for copies", &release);
	ask_queues(fd, "more than are left", 0, 14, 0);
	ask_queues(fd, "16", 0, 8, 8);
	ask_queues(fd, "2 * 65535", 0, UINT16_MAX, UINT16_MAX);
	ask_queues(fd, "no such core", (uint16_t)chip->cores, 1, 0);
	b = ask_queues(fd, "one after those refusals", 0, 1, 0);
	say_free(fd, "it", 0, b.copy_queue_bmap);
	say_free(fd, "it again", 0, b.copy_queue_bmap);
	say_free(fd, "no such core", chip->cores, 2);
	say_free(fd, "none", 0, 0);
	say_free(fd, "the core's own", 0, 1u << chip->copy[0].queue);
	through(fd, "the core's own, which stayed", d, NEURON_H2T_QUEUE_DEFAULT);
	say_free(fd, "beyond the last", 0, 0xffff0000u);
	say_free(fd, "those for copies, and others", 0, a.copy_queue_bmap | 1u << 14);
	through(fd, "the first, freed", d, lowest(a.copy_queue_bmap));
	say_free(fd, "all, of which some are left", 0, 0xffff);
	say_free(fd, "core 1's", 1, c.copy_queue_bmap);
	a = ask_queues(fd, "all", 0, 13, 0);
	say_free(fd, "all", 0, a.copy_queue_bmap);
	chunk_free(fd, d);
	chunk_free(fd, e);
	chunk_free(fd, ring);
}

/* Queues that are left after a reset of the core */
static void reset(int fd)
{
	struct neuron_ioctl_h2t_dma_alloc_queues a = ask_queues(fd, "before a reset", 0, 1, 1);
	struct neuron_ioctl_device_reset r = { 1, 0 };
	struct neuron_ioctl_device_ready ready = { 0 };
	uint64_t d;

	call(fd, NEURON_IOCTL_NC_RESET, &r);
	ready.request_id = r.request_id;
	call(fd, NEURON_IOCTL_NC_RESET_READY, &ready);
	chunk_of(fd, 0, SIZE, &d);
	through(fd, "one from before the reset", d, lowest(a.copy_queue_bmap));
	say_free(fd, "one from before the reset", 0, a.copy_queue_bmap);
	through(fd, "the core's own after the reset", d, NEURON_H2T_QUEUE_DEFAULT);
	free_queues(fd, 0, 0xffff);
	chunk_free(fd, d);
}

static void in_child(void (*what)(int fd, uint32_t map), int fd, uint32_t map)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		what(fd, map);
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void child_inherits(int fd, uint32_t map)
{
	ask_queues(fd, "by a child, of a descriptor that it inherited", 0, 1, 0);
	say_free(fd, "by a child, of a descriptor that it inherited", 0, map);
}

static void child_opens(int fd, uint32_t map)
{
	uint64_t d;

	close(fd);
	fd = node(0, O_RDWR);
	chunk_of(fd, 0, SIZE, &d);
	through(fd, "another process's", d, lowest(map));
	say_free(fd, "another process's", 0, map);
}

static void child_takes(int fd, uint32_t map)
{
	(void)map;
	fd = node(0, O_RDWR);
	ask_queues(fd, "by a process that ends", 0, ALL_COPIES, 0);
	kill(getpid(), SIGKILL);
}

static void owners(int fd)
{
	struct neuron_ioctl_h2t_dma_alloc_queues a;

	/* the calls before this have made cores this process's */
	close(fd);
	in_child(child_takes, -1, 0);
	fd = node(0, O_RDWR);
	a = ask_queues(fd, "as many after it has ended", 0, ALL_COPIES, 0);
	free_queues(fd, 0, a.copy_queue_bmap ? a.copy_queue_bmap : 0xffff);
	a = ask_queues(fd, "one for others to try", 0, 1, 0);
	in_child(child_inherits, fd, a.copy_queue_bmap);
	free_queues(fd, 0, 0xffff);
	a = ask_queues(fd, "one more for others to try", 0, 1, 0);
	in_child(child_opens, fd, a.copy_queue_bmap);
	free_queues(fd, 0, 0xffff);
	a = ask_queues(fd, "all before closing", 0, ALL_COPIES, 0);
	close(fd);
	fd = node(0, O_RDWR);
	ask_queues(fd, "all after opening again", 0, ALL_COPIES, 0);
	free_queues(fd, 0, 0xffff);
	close(fd);
}

static int batches(int fd, const char *what, struct neuron_copy_batch *b, uint32_t n, bool write,
		   int queue)
{
	struct neuron_ioctl_mem_buf_copy64zc_batches a = {
		.sequence_num = 7,
		.batches_ptr = b,
		.num_batches = n,
		.is_copy_to_device = write,
		.h2t_qid = queue,
	};

	return ASK(fd, MEM_BUF_ZEROCOPY64_BATCHES, what, &a);
}

#define OPS 100

/* Pieces of odd sizes at odd places, in two chunks, and back in another order */
static void good_batches(int fd, uint64_t d, uint64_t h)
{
	static struct neuron_tensor_batch_op ops[2][OPS];
	struct neuron_copy_batch b[2] = {
		{ .mem_handle = d, .mem_handle_offset = 7, .ops_ptr = ops[0], .num_ops = OPS },
		{ .mem_handle = h, .ops_ptr = ops[1], .num_ops = OPS, .flags = 5, .context = b },
	};
	unsigned int i, k, at[2] = { 0, 0 };
	int ret;

	pattern(in, SIZE, 21);
	for (k = 0; k < 2; k++)
		for (i = 0; i < OPS; i++) {
			ops[k][i] = (struct neuron_tensor_batch_op){ at[k], 1 + i * 41 % 5000,
								     in + k * (SIZE / 2) + at[k] };
			at[k] += (unsigned int)ops[k][i].size;
		}
	batches(fd, "in, of two chunks", b, 2, true, -1), end();
	memset(out, 0, sizeof(out));
	for (k = 0; k < 2; k++)
		for (i = 0; i < OPS; i++)
			ops[k][i].buffer = out + ((uint8_t *)ops[k][i].buffer - in);
	for (i = 0; i < OPS / 2; i++) {
		struct neuron_tensor_batch_op op = ops[0][i];

		ops[0][i] = ops[0][OPS - 1 - i];
		ops[0][OPS - 1 - i] = op;
	}
	ret = batches(fd, "out, backwards", b, 2, false, -1);
	field("same",
	      !ret && !memcmp(in, out, at[0]) && !memcmp(in + SIZE / 2, out + SIZE / 2, at[1]));
	end();
	/* small ones, all words */
	for (i = 0; i < OPS; i++)
		ops[0][i] = (struct neuron_tensor_batch_op){ 1 + 64ull * i, 64, in + 64 * i };
	b[0].bar4_wr_threshold = 64;
	ret = batches(fd, "in, small words by queue 99", b, 1, true, BAD_QUEUE);
	memset(out, 0, sizeof(out));
	copy_out(fd, d, out, 8, 64 * OPS);
	field("same", !ret && !memcmp(in, out, 64 * OPS)), end();
	ops[0][OPS - 1].size = 68;
	batches(fd, "in, one too large by queue 99", b, 1, true, BAD_QUEUE), end();
	ops[0][OPS - 1].size = 63;
	batches(fd, "in, one of no words by queue 99", b, 1, true, BAD_QUEUE), end();
	ops[0][OPS - 1].size = 64;
	batches(fd, "out, small words by queue 99", b, 1, false, BAD_QUEUE), end();
	b[0].bar4_wr_threshold = 0;
	batches(fd, "queue 99", b, 1, true, BAD_QUEUE), end();
	batches(fd, "queue 7, which nobody has", b, 1, true, 7), end();
	batches(fd, "of a host chunk by queue 99", b + 1, 1, true, BAD_QUEUE), end();
}

static void bad_batches(int fd, uint64_t d)
{
	const uint32_t many = (4u << 20) / sizeof(struct neuron_copy_batch);
	const uint32_t many_ops = (4u << 20) / sizeof(struct neuron_tensor_batch_op);
	static struct neuron_copy_batch list[(4u << 20) / sizeof(struct neuron_copy_batch) + 1];
	struct neuron_tensor_batch_op op = { 0, 64, in };
	struct neuron_copy_batch b = { .mem_handle = d, .ops_ptr = &op, .num_ops = 1 };
	struct neuron_copy_batch two[2];
	uint32_t i;

	batches(fd, "no list", NULL, 1, true, -1), end();
	batches(fd, "none", &b, 0, true, -1), end();
	batches(fd, "a bad list", (void *)8, 1, true, -1), end();
	b.num_ops = 0;
	batches(fd, "no operations", &b, 1, true, -1), end();
	b.num_ops = 1;
	b.ops_ptr = NULL;
	batches(fd, "no list of operations", &b, 1, true, -1), end();
	b.ops_ptr = (void *)8;
	batches(fd, "a bad list of operations", &b, 1, true, -1), end();
	b.ops_ptr = &op;
	op.size = 0;
	batches(fd, "an operation of no bytes", &b, 1, true, -1), end();
	op = (struct neuron_tensor_batch_op){ 0, 64, NULL };
	batches(fd, "an operation without a buffer", &b, 1, true, -1), end();
	op.buffer = (void *)8;
	batches(fd, "from a bad pointer", &b, 1, true, -1), end();
	op.buffer = (void *)(1ull << 63);
	batches(fd, "from the kernel's half", &b, 1, true, -1), end();
	op = (struct neuron_tensor_batch_op){ SIZE - 63, 64, in };
	batches(fd, "past the end", &b, 1, true, -1), end();
	op.offset = 0;
	b.mem_handle_offset = SIZE - 63;
	batches(fd, "past the end by the batch's offset", &b, 1, true, -1), end();
	b.mem_handle_offset = 128;
	op.offset = -64ull;
	batches(fd, "an offset below the batch's", &b, 1, true, -1), end();
	op.offset = 0;
	b.mem_handle = 12345678;
	batches(fd, "bad handle", &b, 1, true, -1), end();
	b.mem_handle = d;

	/* what comes before a bad one is done */
	two[0] = two[1] = b;
	two[1].mem_handle = 12345678;
	memset(in, 0x5a, 64);
	batches(fd, "the second bad", two, 2, true, -1);
	memset(out, 0, 64);
	copy_out(fd, d, out, 128, 64);
	field("first done", all_bytes(out, 64, 0x5a)), end();
	two[1].num_ops = 0;
	memset(in, 0x5b, 64);
	batches(fd, "the second empty", two, 2, true, -1);
	copy_out(fd, d, out, 128, 64);
	field("first done", all_bytes(out, 64, 0x5b)), end();

	/* a page's worth of memory in the kernel for each is what there is of either */
	for (i = 0; i <= many; i++)
		list[i] = b;
	batches(fd, "more batches than a list may have", list, many + 1, true, -1), end();
	batches(fd, "2^32 - 1 batches", list, UINT32_MAX, true, -1), end();
	b.num_ops = many_ops + 1;
	batches(fd, "more operations than a list may have", &b, 1, true, -1), end();
	b.num_ops = UINT32_MAX;
	two[0] = two[1] = b;
	batches(fd, "2 * (2^32 - 1) operations", two, 2, true, -1), end();
}

static void places(int fd)
{
	struct neuron_ioctl_get_va_placement a = { .device_index = 5, .hbm_index = 5 };
	int other = node(0, O_WRONLY);
	uint64_t d, e, h;
	uint8_t *p, *q, *r;

	chunk(fd, false, 8192, 0, &d);
	chunk(fd, false, 8192, chip->memories - 1, &e);
	chunk(fd, true, 8192, 0, &h);
	p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, (off_t)chunk_pa(fd, d));
	q = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, (off_t)chunk_pa(fd, e));
	r = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, (off_t)chunk_pa(fd, h));
#define PLACE(what, at, of, cmd)                                                      \
	do {                                                                          \
		a.va = (uintptr_t)(at);                                               \
		a.device_index = a.hbm_index = 5;                                     \
		ask(of, cmd, "GET_VA_PLACEMENT", what, &a);                           \
		field("device", a.device_index), field("memory", a.hbm_index), end(); \
	} while (0)
	PLACE("device memory", p, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("in the middle", p + 5000, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("the last byte", p + 8191, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("the last memory", q, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("host memory", r, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("the program's own memory", &a, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("nothing", 0, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("2^64 - 1", ~0ull, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
	PLACE("asked for as read and write", p, fd, _IOWR('N', 131, a));
	PLACE("asked for without a size", p, fd, _IO('N', 131));
	PLACE("by a write-only descriptor", p, other, NEURON_IOCTL_GET_VA_PLACEMENT);
	munmap(p, 8192);
	PLACE("unmapped", p, fd, NEURON_IOCTL_GET_VA_PLACEMENT);
#undef PLACE
	munmap(q, 8192);
	munmap(r, 8192);
	close(other);
	chunk_free(fd, d);
	chunk_free(fd, e);
	chunk_free(fd, h);
}

/* The last word that the firmware of an emulated chip got */
static void told(int fd, unsigned int word)
{
	uint64_t address = neuron_gen_address(chip, NEURON_BLOCK_MISC, 0) + word;
	uint32_t value = 0;
	struct neuron_ioctl_read_hw_counters a = { (void *)&address, (void *)&value, 1 };

	field("read", call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &a)), field("told", value), end();
}

void answers_firmware(int fd)
{
	struct neuron_ioctl_power_profile p = { sizeof(p), 0, 0 };
	struct neuron_ioctl_throttling_notifications t = { 1 };
	struct neuron_ioctl_metrics_ctrl m = { 1 };

	SAY(fd, POWER_PROFILE, "0", &p);
	p.profile = 3;
	ASK(fd, POWER_PROFILE, "3", &p), told(fd, NEURON_MISC_PROFILE);
	p.profile = 200;
	SAY(fd, POWER_PROFILE, "200, which there is not", &p);
	p.profile = 256;
	ASK(fd, POWER_PROFILE, "256", &p), told(fd, NEURON_MISC_PROFILE);
	p = (struct neuron_ioctl_power_profile){ sizeof(p), 1, 0 };
	SAY(fd, POWER_PROFILE, "to ask for it", &p);
	p = (struct neuron_ioctl_power_profile){ sizeof(p) - 1, 0, 0 };
	SAY(fd, POWER_PROFILE, "of another size", &p);
	p.ctrl = 1;
	SAY(fd, POWER_PROFILE, "of another size, to ask for it", &p);
	ASK(fd, THROTTLING_NOTIFICATIONS, "on", &t), told(fd, NEURON_MISC_FEATURES);
	t.enable = 0;
	ASK(fd, THROTTLING_NOTIFICATIONS, "off", &t), told(fd, NEURON_MISC_FEATURES);
	t.enable = 77;
	ASK(fd, THROTTLING_NOTIFICATIONS, "77", &t), told(fd, NEURON_MISC_FEATURES);
	SAY(fd, METRICS_CTRL, "off", &m);
	m.mode = 77;
	SAY(fd, METRICS_CTRL, "77", &m);
	m.mode = 0;
	SAY(fd, METRICS_CTRL, "on", &m);
}

/* Closes fd */
void answers_26(int fd)
{
	uint64_t d, h;

	single(fd);
	chunk_of(fd, 0, SIZE, &d);
	chunk(fd, true, SIZE, 0, &h);
	good_batches(fd, d, h);
	bad_batches(fd, d);
	chunk_free(fd, d);
	chunk_free(fd, h);
	places(fd);
	answers_firmware(fd);
	queues(fd);
	reset(fd);
	owners(fd);
}
