/* SPDX-License-Identifier: MIT */
/*
 * What ranks pass to each other behind a part of their programs (docs/nrt.md, Collectives). A queue
 * of the core writes it into the other ranks' scratchpads, through windows where they are on other
 * chips. SP rings it twice: first it tells all ranks that this one is through with the part, so
 * that what they give may be written, and when all have told it so, it gives its data and tells
 * that, too. Where a core does not fetch its instructions, or a chip has no window to another, the
 * host does the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_comm.h"
#include "rt_ranks.h"

#define PIECE (1u << 20) /* that the host copies at once */
#define ZEROS (64u << 10)

struct rt_pass_semaphores rt_pass_semaphores(const struct rt_subgraph *sg)
{
	const unsigned int n = neuron_target_program_semaphores(sg->target);

	return (struct rt_pass_semaphores){ (uint8_t)(n - 2), (uint8_t)(n - 1) };
}

static bool is_behind(const struct neff_collective *c, unsigned int part)
{
	return !rt_is_number(c) && c->behind == part;
}

/* The number of a subgraph's part in its core's program */
static unsigned int part_of(const struct rt_subgraph *sg)
{
	return (unsigned int)(sg - sg->model->subgraph) % neff_programs(sg->model->neff);
}

static bool passes_behind(const struct neff_model *neff, unsigned int part)
{
	for (unsigned int i = 0; i < neff->ncollectives; i++)
		if (is_behind(&neff->collectives[i], part))
			return true;
	return false;
}

bool rt_passes(const struct rt_subgraph *sg)
{
	const struct neff_model *neff = sg->model->neff;

	return neff->ranks && passes_behind(neff, part_of(sg));
}

/* One thing that a rank gives to another: bytes of its scratchpad, and where they go */
struct give {
	uint32_t to;
	uint64_t from_off, to_off, bytes;
};

typedef int (*give_fn)(void *arg, const struct give *give);

static int give_pairs(const struct neff_collective *c, uint32_t rank, struct give *g, give_fn fn,
		      void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i + 1 < c->nranks && !err; i += 2) {
		if (c->rank[i] != rank)
			continue;
		g->to = c->rank[i + 1];
		err = fn(arg, g);
	}
	return err;
}

/* Member i of the group gets this rank's block into the place that this rank has in the group. */
static int give_group(const struct neff_collective *c, uint32_t rank, struct give *g, give_fn fn,
		      void *arg)
{
	const uint64_t from = g->from_off;
	uint32_t at = 0;
	int err = 0;

	while (at < c->nranks && c->rank[at] != rank)
		at++;
	g->to_off += at % c->members * c->bytes;
	at -= at % c->members;
	for (uint32_t i = 0; i < c->members && !err; i++) {
		g->to = c->rank[at + i];
		g->from_off = from + (c->op == NEFF_ALL_TO_ALL ? i * c->bytes : 0);
		err = fn(arg, g);
	}
	return err;
}

/* Calls fn with everything that a rank gives by a collective. 0, or what fn returned */
static int each_gift_of(const struct neff_collective *c, uint32_t rank, give_fn fn, void *arg)
{
	struct give g = { .from_off = c->from_off, .to_off = c->to_off, .bytes = c->bytes };

	return c->op == NEFF_PERMUTE ? give_pairs(c, rank, &g, fn, arg)
				     : give_group(c, rank, &g, fn, arg);
}

/* The same behind a part */
static int each_gift(struct nrt_model *model, uint32_t rank, unsigned int part, give_fn fn,
		     void *arg)
{
	const struct neff_model *neff = model->neff;
	int err = 0;

	for (unsigned int i = 0; i < neff->ncollectives && !err; i++)
		if (is_behind(&neff->collectives[i], part))
			err = each_gift_of(&neff->collectives[i], rank, fn, arg);
	return err;
}

/* ---- at load ---- */

static int write_scratch(struct nrt_model *model, uint64_t offset, const void *data, uint64_t n)
{
	const struct rt_chunk *scratch = rt_ranks_of(model, model->rank)->chunk;

	return ndlx_memory_buf_copyin(scratch->dev, scratch->handle, (void *)(uintptr_t)data,
				      offset, n);
}

static int write_number(struct nrt_model *model, const struct neff_collective *c)
{
	const uint32_t partitions = model->neff->partitions;
	const uint32_t n =
		c->op == NEFF_PARTITION_ID ? model->rank % partitions : model->rank / partitions;

	return write_scratch(model, c->to_off, &n, sizeof(n));
}

/* A rank that is in no pair as the second gets zeros, which nothing overwrites. */
static int write_zeros(struct nrt_model *model, const struct neff_collective *c)
{
	const uint64_t at = c->to_off;
	uint8_t *zeros = calloc(1, ZEROS);
	int err = zeros ? 0 : -ENOMEM;

	for (uint64_t done = 0, n; done < c->bytes && !err; done += n) {
		n = c->bytes - done < ZEROS ? c->bytes - done : ZEROS;
		err = write_scratch(model, at + done, zeros, n);
	}
	free(zeros);
	return err;
}

NRT_STATUS rt_pass_begin(struct nrt_model *model)
{
	int err = 0;

	for (unsigned int i = 0; i < model->neff->ncollectives && !err; i++) {
		const struct neff_collective *c = &model->neff->collectives[i];

		if (rt_is_number(c))
			err = write_number(model, c);
		else if (c->op == NEFF_PERMUTE)
			err = write_zeros(model, c);
	}
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "scratchpad of ranks: %s",
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* The address at which a core sees a rank's memory and registers; false: it does not */
static bool window_of(const struct rt_core *core, const struct rt_rank *rank, uint64_t *window)
{
	*window = 0;
	return core->device == rank->device ||
	       !ndlx_device_window(core->dev, (int)rank->device, window);
}

bool rt_pass_by_chip(const struct nrt_model *model)
{
	uint64_t window;

	if (!rt_subgraph_fetches(model->subgraph))
		return false;
	for (uint32_t i = 0; i < model->nranks; i++)
		if (!window_of(model->core, rt_ranks_of(model, i), &window))
			return false;
	return true;
}

/* ---- by the chip ---- */

static int add_signal(struct rt_subgraph *sg, struct rt_ring *ring, const struct rt_rank *to,
		      unsigned int semaphore)
{
	uint64_t window;
	int err;

	if (!window_of(sg->core, to, &window))
		return -ENOENT;
	err = rt_ring_add_tx(ring, sg->one.pa, 4,
			     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST | NEURON_UDMA_DESC_DMB);
	return err ? err
		   : rt_ring_add_rx(
			     ring,
			     window | ndlx_semaphore_address(sg->core->dev, to->nc, semaphore), 4);
}

/* Signals all ranks, the own one last: what follows that signal comes after all that this rank
 * gave. */
static int add_signals(struct rt_subgraph *sg, struct rt_ring *ring, unsigned int semaphore)
{
	const struct nrt_model *model = sg->model;
	int err = 0;

	for (uint32_t i = 1; i <= model->nranks && !err; i++)
		err = add_signal(sg, ring, rt_ranks_of(model, (model->rank + i) % model->nranks),
				 semaphore);
	return err;
}

struct copying {
	struct rt_subgraph *sg;
	struct rt_ring *ring;
};

static int add_gift(void *arg, const struct give *g)
{
	const struct copying *c = arg;
	const struct nrt_model *model = c->sg->model;
	const struct rt_rank *to = rt_ranks_of(model, g->to);
	const struct neff_pattern side = {
		.ndim = 1,
		.size = { g->bytes },
		.step = { 1 },
	};
	uint64_t window;

	if (!window_of(c->sg->core, to, &window))
		return -ENOENT;
	return rt_ring_add_copy(c->sg->target, c->ring, &side,
				rt_ranks_of(model, model->rank)->scratch + g->from_off, &side,
				(window | to->scratch) + g->to_off);
}

NRT_STATUS rt_pass_queue(struct rt_subgraph *sg, struct rt_ring *ring)
{
	const struct rt_pass_semaphores semaphore = rt_pass_semaphores(sg);
	struct rt_trigger *ready = &sg->pass.ready, *given = &sg->pass.given;
	const uint32_t queue = (uint32_t)(ring - sg->queues);
	struct copying c = { sg, ring };
	int err = add_signals(sg, ring, semaphore.ready);

	*ready = (struct rt_trigger){ 0, queue, ring->tx.n, ring->rx.n };
	if (!err)
		err = each_gift(sg->model, sg->model->rank, part_of(sg), add_gift, &c);
	if (!err)
		err = add_signals(sg, ring, semaphore.given);
	*given = (struct rt_trigger){ 0, queue, ring->tx.n - ready->ntx, ring->rx.n - ready->nrx };
	ring->last_tx = &given->ntx;
	ring->last_rx = &given->nrx;
	return err ? rt_fail(err == -ENOMEM ? NRT_RESOURCE : rt_status_from_errno(err), "TDRV",
			     "what rank %u passes to others: %s", sg->model->rank,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* ---- by the host ---- */

struct taking {
	struct nrt_model *model;
	const struct rt_chunk *from; /* of the rank that gives */
	uint8_t *buffer;
};

/* Takes what is meant for this rank. */
static int take(void *arg, const struct give *g)
{
	const struct taking *t = arg;
	int err = 0;

	if (g->to != t->model->rank)
		return 0;
	for (uint64_t at = 0, n; at < g->bytes && !err; at += n) {
		n = g->bytes - at < PIECE ? g->bytes - at : PIECE;
		err = ndlx_memory_buf_copyout(t->from->dev, t->from->handle, t->buffer,
					      g->from_off + at, n);
		if (!err)
			err = write_scratch(t->model, g->to_off + at, t->buffer, n);
	}
	return err;
}

static NRT_STATUS take_all(struct nrt_model *model, unsigned int part)
{
	struct taking t = { .model = model, .buffer = malloc(PIECE) };
	int err = t.buffer ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < model->nranks && !err; i++) {
		t.from = rt_ranks_of(model, i)->chunk;
		err = each_gift(model, i, part, take, &t);
	}
	free(t.buffer);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV",
			     "what rank %u takes from others: %s", model->rank, rt_errno_text(err))
		   : NRT_SUCCESS;
}

/*
 * Ranks of several processes: what each gives goes piece by piece through the board's area, in
 * which each rank has a share.
 */
struct piece {
	struct nrt_model *model;
	const uint8_t *bytes;
	uint64_t begin, end; /* of the giver's scratchpad */
};

static int take_piece(void *arg, const struct give *g)
{
	const struct piece *p = arg;
	const uint64_t begin = g->from_off > p->begin ? g->from_off : p->begin;
	const uint64_t end = g->from_off + g->bytes < p->end ? g->from_off + g->bytes : p->end;

	if (g->to != p->model->rank || begin >= end)
		return 0;
	return write_scratch(p->model, g->to_off + begin - g->from_off, p->bytes + begin - p->begin,
			     end - begin);
}

static NRT_STATUS moved(const struct nrt_model *model, int err)
{
	return err ? rt_fail(rt_status_from_errno(err), "TDRV",
			     "what rank %u and others give each other: %s", model->rank,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

static NRT_STATUS pass_piece(struct nrt_model *model, const struct neff_collective *c,
			     uint64_t begin, uint64_t end, size_t share)
{
	const struct rt_chunk *own = rt_ranks_of(model, model->rank)->chunk;
	size_t size;
	uint8_t *area = cc_area(rt_board(), &size);
	int err = ndlx_memory_buf_copyout(own->dev, own->handle, area + model->rank * share, begin,
					  end - begin);
	NRT_STATUS status = rt_ranks_barrier(model, moved(model, err));

	for (uint32_t i = 0; i < model->nranks && !status; i++) {
		struct piece p = { model, area + i * share, begin, end };

		status = moved(model, each_gift_of(c, i, take_piece, &p));
	}
	/* nobody goes on before all have taken theirs */
	return rt_ranks_barrier(model, status);
}

static NRT_STATUS pass_pieces(struct nrt_model *model, const struct neff_collective *c)
{
	const uint64_t bytes = c->op == NEFF_ALL_TO_ALL ? c->bytes * c->members : c->bytes;
	size_t size, share;
	NRT_STATUS status = NRT_SUCCESS;

	cc_area(rt_board(), &size);
	share = size / model->nranks / 64 * 64;
	for (uint64_t at = 0; at < bytes && !status; at += share) {
		const uint64_t end = bytes - at < share ? bytes : at + share;

		status = pass_piece(model, c, c->from_off + at, c->from_off + end, share);
	}
	return status;
}

static NRT_STATUS pass_between(struct nrt_model *model, unsigned int part)
{
	const struct neff_model *neff = model->neff;
	NRT_STATUS status = rt_ranks_take_area(model);

	for (unsigned int i = 0; i < neff->ncollectives && !status; i++)
		if (is_behind(&neff->collectives[i], part))
			status = pass_pieces(model, &neff->collectives[i]);
	if (!status)
		rt_ranks_give_area(model);
	return status;
}

NRT_STATUS rt_pass_by_host(struct nrt_model *model, unsigned int part)
{
	NRT_STATUS status = NRT_SUCCESS;

	if (!passes_behind(model->neff, part))
		return NRT_SUCCESS;
	if (!rt_ranks_are_own(model))
		return pass_between(model, part);
	status = rt_ranks_barrier(model, status);
	if (!status)
		status = take_all(model, part);
	/* nobody goes on before all have taken theirs */
	return rt_ranks_barrier(model, status);
}
