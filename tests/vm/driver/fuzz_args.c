// SPDX-License-Identifier: MIT
/* Arguments for every ioctl; see fuzz.h. */
#include "fuzz.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuron/hw/gen.h"
#include "uapi/neuron/neuron_ioctl.h"

#define PAGE 4096
#define ARG_PAGES 4
#define BUF_PAGES 48
#define BATCHES 4
#define OPS 8 /* of a batch */

const struct neuron_gen *fz_chip;

uint64_t fz_next(struct fz *fz)
{
	fz->rng ^= fz->rng << 13;
	fz->rng ^= fz->rng >> 7;
	fz->rng ^= fz->rng << 17;
	return fz->rng >> 11;
}

bool fz_once(struct fz *fz, uint64_t n)
{
	return n && !(fz_next(fz) % n);
}

/* Allocates pages with an inaccessible one behind them, and returns their end. */
static uint8_t *guarded(size_t pages)
{
	uint8_t *p = mmap(NULL, (pages + 1) * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + pages * PAGE, PAGE, PROT_NONE))
		return NULL;
	return p + pages * PAGE;
}

bool fz_init(struct fz *fz, uint64_t seed, unsigned int wild)
{
	memset(fz, 0, sizeof(*fz));
	fz->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	fz->wild = wild;
	fz->map = MAP_FAILED;
	fz->arg_end = guarded(ARG_PAGES);
	fz->buf_end = guarded(BUF_PAGES);
	fz->buf_start = fz->buf_end ? fz->buf_end - BUF_PAGES * PAGE : NULL;
	fz->read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return fz->arg_end && fz->buf_end && fz->read_only != MAP_FAILED;
}

void fz_unmap(struct fz *fz)
{
	if (fz->map != MAP_FAILED)
		munmap(fz->map, fz->map_size);
	fz->map = MAP_FAILED;
}

void fz_exit(struct fz *fz)
{
	fz_unmap(fz);
	munmap(fz->arg_end - ARG_PAGES * PAGE, (ARG_PAGES + 1) * PAGE);
	munmap(fz->buf_end - BUF_PAGES * PAGE, (BUF_PAGES + 1) * PAGE);
	munmap(fz->read_only, PAGE);
}

static uint64_t odd(struct fz *fz)
{
	static const uint64_t values[] = {
		0,	    1,
		4095,	    4097,
		65537,	    1ull << 30,
		1ull << 31, INT32_MAX,
		UINT32_MAX, 1ull << 32,
		1ull << 46, 1ull << 63,
		INT64_MAX,  UINT64_MAX - 1,
		UINT64_MAX, 0xffff888000000000ull,
	};

	if (fz_once(fz, 4))
		return fz_next(fz);
	return values[fz_next(fz) % (sizeof(values) / sizeof(values[0]))];
}

static const struct fz_chunk *any_chunk(struct fz *fz)
{
	return &fz->chunks[fz_next(fz) % FZ_CHUNKS];
}

/* A pointer to memory up to the guard page, or a bad one */
static uint64_t pointer(struct fz *fz)
{
	uint64_t space;

	if (fz_once(fz, fz->wild))
		return odd(fz);
	if (fz_once(fz, fz->wild))
		return (uint64_t)fz->read_only;
	/* often too short for the call, when wild */
	space = fz->wild && fz_once(fz, 8) ? 8 * (fz_next(fz) % 32) : BUF_PAGES * PAGE;
	return (uint64_t)fz->buf_end - space;
}

static bool has(const char *name, const char *part)
{
	return strstr(name, part);
}

static uint64_t count_of(struct fz *fz, const char *name)
{
	static const uint64_t rings[] = { 32, 64, 64, 64, 128, 1 };

	if (has(name, "desc_count"))
		return rings[fz_next(fz) % 6];
	if (has(name, "size"))
		return PAGE << (fz_next(fz) % 4);
	return fz_next(fz) % 20;
}

static uint64_t place_of(struct fz *fz, const char *name)
{
	const struct fz_chunk *chunk = any_chunk(fz);

	if (!strcmp(name, "dst")) /* of a program: in a core's window */
		return neuron_gen_address(fz_chip, NEURON_BLOCK_CORE, fz_next(fz) % fz_chip->cores);
	if (!strcmp(name, "va"))
		return fz->map == MAP_FAILED ? 0 : (uint64_t)fz->map;
	if (!strcmp(name, "offset") || has(name, "_offset"))
		return fz_once(fz, 2) ? 0 : 64 * (fz_next(fz) % 32);
	return chunk->pa;
}

/* Fields with few meaningful values, and how many they have */
static const struct {
	const char *name;
	unsigned int values;
} small[] = {
	{ "qid", 16 },
	{ "dram_region", 4 },
	{ "event_index", 256 },
	{ "queue_type", 3 },
	{ "axi_port", 2 },
	{ "mem_type", 12 },
	{ "on_host_memory", 2 },
	{ "host_memory", 2 },
	{ "copy_to_mem_handle", 2 },
	{ "start_index", 2 },
	{ "rxc_handle", 1 },
	{ "block_id", 4 },
	{ "nd_index", 2 },
	{ "pwait_handle", 3 },
	{ "end_nc_index", 64 },
	{ "ctrl", 2 },
	{ "num_batches", BATCHES + 1 },
	{ "is_copy_to_device", 2 },
	{ "bar4_wr_threshold", 3 * PAGE },
};

/* The bound of an argument that numbers a part of the chip */
static unsigned int parts_of(const char *name)
{
	const struct neuron_gen *chip = fz_chip;
	const bool slots = chip->nq_slot.count;
	const struct {
		const char *name;
		unsigned int values;
	} parts[] = {
		{ "nc_id", chip->cores },
		{ "nq_dev_id", chip->cores },
		{ "eng_id", chip->dma_engines },
		{ "dram_channel", chip->memories },
		{ "hbm_index", chip->memories },
		{ "semaphore_index", chip->target->semaphores },
		{ "nq_type", slots ? 6 : 4 },
		{ "engine_index", slots ? chip->nq_slot.count : 5 },
		{ "nq_dev_type", chip->topsps_per_core ? 2 : 1 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(name, parts[i].name))
			return parts[i].values;
	return 0;
}

static bool small_of(struct fz *fz, const char *name, uint64_t *value)
{
	const unsigned int parts = parts_of(name);

	if (parts) {
		*value = fz_next(fz) % parts;
		return true;
	}
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		if (strcmp(name, small[i].name))
			continue;
		*value = fz_next(fz) % small[i].values;
		return true;
	}
	return false;
}

static uint64_t value_of(struct fz *fz, const struct fz_ioctl *io, const struct fz_field *f)
{
	uint64_t value;

	/* a memory of gigabytes that is filled with anything else is the host's memory */
	if (!strcmp(f->name, "init_val"))
		return 0;
	if (f->pointer)
		return pointer(fz);
	if (fz_once(fz, fz->wild))
		return odd(fz);
	if (small_of(fz, f->name, &value))
		return value;
	if (!strcmp(f->name, "h2t_qid"))
		return fz_once(fz, 2) ? (uint64_t)-1 : fz_next(fz) % 16;
	if (!strcmp(f->name, "queue_bmap"))
		return fz_next(fz) & 0xffff;
	if (has(f->name, "handle"))
		return any_chunk(fz)->handle;
	if (has(f->name, "size") || has(f->name, "count") || has(f->name, "num_") ||
	    !strcmp(f->name, "capacity"))
		return count_of(fz, f->name);
	if (!strcmp(f->name, "pa") || !strcmp(f->name, "va") || !strcmp(f->name, "dst") ||
	    has(f->name, "offset"))
		return place_of(fz, f->name);
	if (!strcmp(f->name, "sz") || !strcmp(f->name, "v1")) /* it starts with its sz */
		return io->size;
	if (!strcmp(f->name, "pid") || !strcmp(f->name, "request_id"))
		return fz_once(fz, 2) ? 0 : (uint64_t)getpid();
	if (!strcmp(f->name, "align"))
		return fz_once(fz, 2) ? 0 : PAGE << (fz_next(fz) % 5);
	if (!strcmp(f->name, "nc_map"))
		return fz_once(fz, 8) ? UINT32_MAX : 1u << (fz_next(fz) % fz_chip->cores);
	if (!strcmp(f->name, "bar"))
		return 2 * (fz_next(fz) % 2);
	return fz_next(fz) % 4;
}

/*
 * Fills what pointers lead to: register addresses, chunks, small numbers; the last byte of a text.
 */
static void buffer_fill(struct fz *fz)
{
	uint64_t *words = (uint64_t *)(fz->buf_end - BUF_PAGES * PAGE);
	const uint64_t regs = fz_chip->bar_size[fz_chip->bar_regs];

	for (unsigned int i = 0; i < 32; i++) {
		switch (fz_next(fz) % 4) {
		case 0:
			words[i] = 0x4e0000000000ull + 4 * (fz_next(fz) % (regs / 4));
			break;
		case 1:
			words[i] = any_chunk(fz)->pa;
			break;
		default:
			words[i] = fz_next(fz) % 65536;
		}
	}
}

/*
 * A list of batches where pointers lead to, and their operations behind it; what they copy goes
 * into the buffer and comes from it, and so may they
 */
static void batches_fill(struct fz *fz)
{
	struct neuron_copy_batch *b = (void *)(fz->buf_end - BUF_PAGES * PAGE);
	struct neuron_tensor_batch_op *op = (void *)(b + BATCHES);

	for (unsigned int i = 0; i < BATCHES; i++) {
		const struct fz_chunk *chunk = any_chunk(fz);

		b[i] = (struct neuron_copy_batch){
			.mem_handle = fz_once(fz, fz->wild) ? odd(fz) : chunk->handle,
			.mem_handle_offset = fz_once(fz, 2) ? 0 : 64 * (fz_next(fz) % 32),
			.ops_ptr = op + OPS * i,
			.num_ops = 1 + fz_next(fz) % OPS,
			.bar4_wr_threshold = fz_once(fz, 2) ? 0 : PAGE,
		};
		if (fz_once(fz, fz->wild * 2))
			b[i].ops_ptr = (void *)odd(fz);
		if (fz_once(fz, fz->wild * 2))
			b[i].num_ops = (uint32_t)odd(fz);
		for (unsigned int k = 0; k < OPS; k++)
			op[OPS * i + k] = (struct neuron_tensor_batch_op){
				fz_once(fz, fz->wild * 4) ? odd(fz) : 4 * (fz_next(fz) % 64),
				fz_once(fz, fz->wild * 4) ? odd(fz) : 1 + fz_next(fz) % PAGE,
				(void *)(fz_once(fz, fz->wild * 4) ? pointer(fz)
								   : (uint64_t)fz->buf_end - PAGE),
			};
	}
}

void *fz_arg(struct fz *fz, const struct fz_ioctl *io)
{
	uint8_t *arg = fz->arg_end - ((io->size + 7) & ~7);
	const struct fz_field *f;
	uint64_t value;

	memset(fz->arg_end - ARG_PAGES * PAGE, 0xff, ARG_PAGES * PAGE);
	buffer_fill(fz);
	if (!strcmp(io->name, "MEM_BUF_ZEROCOPY64_BATCHES"))
		batches_fill(fz);
	for (f = io->fields; f->name; f++) {
		if (fz_once(fz, fz->wild * 2) && strcmp(f->name, "init_val"))
			continue; /* stays 0xff */
		for (unsigned int at = 0; at < f->size; at += 8) {
			unsigned int n = f->size - at < 8 ? f->size - at : 8;

			value = value_of(fz, io, f);
			memcpy(arg + f->offset + at, &value, n);
		}
	}
	return fz_once(fz, fz->wild * 8) ? (void *)odd(fz) : arg;
}

static const struct fz_field *field_of(const struct fz_ioctl *io, const char *name)
{
	const struct fz_field *f;

	for (f = io->fields; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

void fz_learn(struct fz *fz, int fd, const struct fz_ioctl *io, const void *arg)
{
	struct fz_chunk *chunk = &fz->chunks[fz_next(fz) % FZ_CHUNKS];
	struct neuron_ioctl_mem_free old = { chunk->handle };
	struct neuron_ioctl_mem_get_pa ask;
	uint64_t target, handle, pa = 0;

	if (strncmp(io->name, "MEM_ALLOC", 9))
		return;
	memcpy(&target, (const uint8_t *)arg + field_of(io, "mem_handle")->offset, 8);
	if (target != (uint64_t)fz->buf_end - BUF_PAGES * PAGE)
		return;
	memcpy(&handle, (void *)target, 8);
	if (old.mem_handle)
		ioctl(fd, NEURON_IOCTL_MEM_FREE, &old);
	ask.mem_handle = handle;
	ask.pa = (void *)&pa;
	if (ioctl(fd, NEURON_IOCTL_MEM_GET_PA, &ask))
		return;
	chunk->handle = handle;
	chunk->pa = pa;
	memcpy(&chunk->size, arg, 8);
	chunk->size = (chunk->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

void fz_map(struct fz *fz, int fd)
{
	static const int prot[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
				    PROT_READ | PROT_EXEC };
	const struct fz_chunk *chunk = any_chunk(fz);
	uint64_t size = fz_once(fz, fz->wild) ? PAGE : chunk->size;

	fz_unmap(fz);
	fz->map_size = size;
	fz->map = mmap(NULL, size, prot[fz_next(fz) % 4],
		       fz_once(fz, fz->wild) ? MAP_PRIVATE : MAP_SHARED, fd, (off_t)chunk->pa);
	if (fz->map != MAP_FAILED && size > PAGE && fz_once(fz, 8))
		mprotect(fz->map, PAGE, PROT_READ | PROT_WRITE);
}
