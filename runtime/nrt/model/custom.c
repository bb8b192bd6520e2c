/* SPDX-License-Identifier: MIT */
/*
 * Custom operators of a subgraph (docs/gpsimd.md): their library, argument blocks and the ring of
 * what they print lie in one chunk of the core's device memory. stream.c puts the addresses into
 * the instructions; what was printed goes to the log after each execution, a line of it each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/gpsimd.h"
#include "rt_clock.h"
#include "rt_custom.h"
#include "rt_log.h"
#include "rt_model.h"
#include "rt_print.h"

#define ALIGN 64
#define BLOCK \
	(sizeof(struct neuron_gps_block) + NEFF_MAX_CUSTOM_ARGS * sizeof(struct neuron_gps_arg))
#define RING_MIN 64u
#define LINE 400 /* bytes of a line in the log; what is longer goes on in the next one */

static uint64_t aligned(uint64_t n)
{
	return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static uint32_t ring_size(void)
{
	const char *text = secure_getenv("NEURON_RT_GPSIMD_STDOUT_QUEUE_SIZE_BYTES");
	char *end;
	unsigned long n;

	if (!text || !*text)
		return NEURON_GPS_RING_MAX;
	n = strtoul(text, &end, 10);
	if (!*end && n >= RING_MIN && n <= NEURON_GPS_RING_MAX && !(n & (n - 1)))
		return (uint32_t)n;
	rt_log(RT_LOG_WARNING,
	       "NEURON_RT_GPSIMD_STDOUT_QUEUE_SIZE_BYTES=%.40s is not a power of two "
	       "from %u to %u: %u is used",
	       text, RING_MIN, NEURON_GPS_RING_MAX, NEURON_GPS_RING_MAX);
	return NEURON_GPS_RING_MAX;
}

/* Offsets in the chunk */
static uint64_t block_at(const struct neff_library *lib, unsigned int i)
{
	return aligned(lib->bytes) + i * aligned(BLOCK);
}

static void make_arg(const struct rt_subgraph *sg, const struct neff_custom_arg *from,
		     struct neuron_gps_arg *to)
{
	if (from->scalar) {
		to->kind = NEURON_GPS_SCALAR;
		memcpy(&to->place, &from->value, sizeof(to->place));
		return;
	}
	to->kind = NEURON_GPS_DRAM;
	to->dtype = from->dtype;
	to->access = NEURON_GPS_READS | (from->write ? NEURON_GPS_WRITES : 0);
	to->ndim = (uint8_t)from->ndim;
	to->place = sg->vars[from->var].pa + from->offset;
	for (unsigned int d = 0; d < NEURON_GPS_DIMS; d++)
		to->size[d] = d < from->ndim ? from->shape[d] : 1;
}

static void make_block(const struct rt_subgraph *sg, const struct neff_custom *from, uint64_t ring,
		       void *at)
{
	struct neuron_gps_block *block = at;
	struct neuron_gps_arg *arg = (void *)(block + 1);

	block->magic = NEURON_GPS_MAGIC;
	block->count = from->nargs;
	block->ring = ring;
	block->ring_bytes = sg->custom.ring_bytes;
	for (unsigned int k = 0; k < from->nargs; k++)
		make_arg(sg, &from->arg[k], &arg[k]);
}

NRT_STATUS rt_custom_build(struct rt_subgraph *sg)
{
	const struct neff_library *lib = sg->model->neff->library;
	struct rt_custom *c = &sg->custom;
	NRT_STATUS status;
	uint8_t *image;
	uint64_t size;
	int err;

	if (!sg->neff->ncustom)
		return NRT_SUCCESS;
	c->ring_bytes = ring_size();
	c->ring_at = block_at(lib, sg->neff->ncustom);
	size = c->ring_at + NEURON_GPS_RING_HEAD + c->ring_bytes;
	status = rt_chunk_alloc(sg->core, size, ALIGN, NEURON_MEMALLOC_TYPE_CODE_DEVICE, &c->chunk);
	if (status)
		return status;
	image = calloc(1, size);
	if (!image)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	memcpy(image, lib->image, lib->bytes);
	for (unsigned int i = 0; i < sg->neff->ncustom; i++)
		make_block(sg, &sg->neff->custom[i], c->chunk.pa + c->ring_at,
			   image + block_at(lib, i));
	err = ndlx_memory_buf_copyin(sg->core->dev, c->chunk.handle, image, 0, size);
	free(image);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "custom operators: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

void rt_custom_patch(const struct rt_subgraph *sg, struct neuron_insn *insn)
{
	insn->custom.library = sg->custom.chunk.pa;
	insn->custom.args = sg->custom.chunk.pa +
			    block_at(sg->model->neff->library, (unsigned int)insn->custom.args);
}

void rt_custom_free(struct rt_subgraph *sg)
{
	rt_chunk_free(&sg->custom.chunk);
}

/* The text printed since the last time, at most what the ring holds; free() it. NULL: nothing */
static char *take_text(struct rt_subgraph *sg, uint64_t *lost)
{
	struct rt_custom *c = &sg->custom;
	uint64_t head = 0, n;
	char *text, *ring;

	if (!rt_chunk_alive(&c->chunk) || ndlx_memory_buf_copyout(sg->core->dev, c->chunk.handle,
								  &head, c->ring_at, sizeof(head)))
		return NULL;
	n = head - c->printed;
	if (!n || head < c->printed)
		return NULL;
	*lost = n > c->ring_bytes ? n - c->ring_bytes : 0;
	n -= *lost;
	ring = malloc(c->ring_bytes);
	text = malloc(n + 1);
	if (!ring || !text ||
	    ndlx_memory_buf_copyout(sg->core->dev, c->chunk.handle, ring,
				    c->ring_at + NEURON_GPS_RING_HEAD, c->ring_bytes)) {
		free(ring);
		free(text);
		return NULL;
	}
	for (uint64_t i = 0; i < n; i++)
		text[i] = ring[(head - n + i) & (c->ring_bytes - 1)];
	text[n] = 0;
	c->printed = head;
	free(ring);
	return text;
}

/* A user's bytes, for a log that is text */
static void plain(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\t')
			text[i] = text[i] == '\n' ? '\n' : '?';
}

static void log_line(const struct rt_subgraph *sg, const char *line, size_t n)
{
	rt_log(RT_LOG_OUTPUT, "nd%u nc%u: %.*s", sg->core->device, sg->core->nc, (int)n, line);
}

/* Text that limits have dropped, of this execution or of some before that nobody was told of */
static void tell_dropped(const struct rt_subgraph *sg, struct rt_print *print)
{
	uint64_t bytes, lines;

	if (rt_print_dropped(print, &bytes, &lines))
		rt_log(RT_LOG_OUTPUT,
		       "nd%u nc%u: %llu lines (%llu bytes) of this model's user were dropped",
		       sg->core->device, sg->core->nc, (unsigned long long)lines,
		       (unsigned long long)bytes);
}

void rt_custom_print(struct rt_subgraph *sg)
{
	struct rt_print print = { .printer = sg->model->printer };
	uint64_t lost = 0;
	char *text, *p;

	if (!sg->neff->ncustom)
		return;
	print.now_ms = rt_now_us() / 1000;
	text = take_text(sg, &lost);
	if (!text) {
		tell_dropped(sg, &print);
		return;
	}
	plain(text, strlen(text));
	if (lost && rt_print_line(&print, 0))
		rt_log(RT_LOG_OUTPUT, "nd%u nc%u: %llu bytes were overwritten before these",
		       sg->core->device, sg->core->nc, (unsigned long long)lost);
	for (p = text; *p;) {
		size_t n = strcspn(p, "\n"), some = n < LINE ? n : LINE;

		if (rt_print_line(&print, some))
			log_line(sg, p, some);
		p += some;
		p += *p == '\n';
	}
	tell_dropped(sg, &print);
	free(text);
}

static const char *const causes[NEURON_GPS_CAUSES] = {
	[NEURON_GPS_ILLEGAL] = "illegal instruction",
	[NEURON_GPS_FETCH] = "jump out of the library to",
	[NEURON_GPS_LOAD] = "load from no memory at",
	[NEURON_GPS_STORE] = "store to no memory at",
	[NEURON_GPS_ALIGN] = "misaligned access at",
	[NEURON_GPS_STACK] = "stack overflow, or a null pointer, at",
	[NEURON_GPS_CALL] = "refused operands of call",
	[NEURON_GPS_FAILED] = "failed",
	[NEURON_GPS_LIMIT] = "it does not end, slices of instructions",
	[NEURON_GPS_LIBRARY] = "no library at",
	[NEURON_GPS_ARGUMENT] = "refused argument",
};

/* The last line that was printed: of an operator that fails its message */
static void last_line(struct rt_subgraph *sg, char *line, size_t size)
{
	uint64_t before = sg->custom.printed, lost;
	char *text = take_text(sg, &lost), *last;
	size_t n;

	sg->custom.printed = before;
	*line = 0;
	if (!text)
		return;
	n = strlen(text);
	plain(text, n);
	if (n && text[n - 1] == '\n')
		text[--n] = 0;
	last = strrchr(text, '\n');
	snprintf(line, size, ": %s", last ? last + 1 : text);
	free(text);
}

void rt_custom_describe(struct rt_subgraph *sg, const struct rt_notification *e, char *text,
			size_t size)
{
	const struct neff_library *lib = sg->model->neff->library;
	unsigned int cause = e->data >> 40 & 0xff, core = e->data >> 32 & 0xff;
	uint32_t pc = (uint32_t)e->data;
	char place[256], message[200];

	if (!lib || neff_library_line(lib, pc, place, sizeof(place)))
		snprintf(place, sizeof(place), "0x%x", pc);
	if (cause == NEURON_GPS_FAILED)
		last_line(sg, message, sizeof(message));
	else
		snprintf(message, sizeof(message), " %#x", e->data2);
	snprintf(text, size, "custom operator: %s%s in %s, processor %u",
		 cause && cause < NEURON_GPS_CAUSES ? causes[cause] : "unknown cause", message,
		 place, core);
}
