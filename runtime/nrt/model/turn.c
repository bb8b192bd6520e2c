/* SPDX-License-Identifier: MIT */
/*
 * Rings that a program on the chip goes round by itself. A loop's part is executed any number of
 * times, and nobody on the host writes its descriptors again; but each lap of a ring wants another
 * ring id in them. So a ring holds the descriptors of several iterations (a turn, in names here:
 * what one iteration rings), each of which ends with two packets that write those of the iteration
 * in front of it anew, with the id of their next lap. They copy them from images of the whole ring,
 * one for each of the four ids; the packets themselves differ from image to image by where they
 * read. An iteration whose descriptors are written again is over, and they are not rung before at
 * least those of one more have been, so no queue holds copies of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ring.h"

#define IDS 4 /* ring ids */
#define MOST 16 /* turns of a ring: however many descriptors a turn has, their sum suits a ring */
#define FEW 4 /* turns of a ring whose descriptors are many, or are written by another queue */
#define MANY 256 /* descriptors of a turn */
#define DESC NEURON_UDMA_DESC_SIZE
#define RUN (0x10000 / DESC) /* descriptors that one descriptor copies */
#define MAX_RUNS 60 /* descriptors of a packet, on a side */

/* The packets at the end of a turn: how many descriptors restore what */
struct tail {
	uint32_t tx, rx; /* descriptors of a turn, with the packets */
	uint32_t runs; /* of the first packet, on both sides: it restores the RX descriptors */
};

static unsigned int turns_of(const struct rt_ring *ring)
{
	uint32_t n = ring->tx.n > ring->rx.n ? ring->tx.n : ring->rx.n;

	return n > MANY || ring->next || ring->tx.chunk.core || ring->rx.chunk.core ? FEW : MOST;
}

static uint32_t runs(uint32_t n)
{
	return (n + RUN - 1) / RUN;
}

/* The number of descriptors of a turn that is at least n, so that the turns suit a ring */
static uint32_t suits(uint32_t n, unsigned int turns)
{
	const uint32_t grain = NEURON_UDMA_RING_GRAIN / turns, least = NEURON_UDMA_RING_MIN / turns;

	n = n > least ? n : least;
	return (n + grain - 1) / grain * grain;
}

static struct tail tail_of(uint32_t tx, uint32_t rx, unsigned int turns)
{
	struct tail t = { .tx = tx, .rx = rx };

	for (;;) {
		const uint32_t first = runs(t.rx), second = runs(t.tx);
		const uint32_t ntx = suits(tx + first + second, turns);
		const uint32_t nrx = suits(rx + first + second, turns);

		t.runs = first;
		if (ntx == t.tx && nrx == t.rx)
			return t;
		t.tx = ntx;
		t.rx = nrx;
	}
}

bool rt_turn_fits(uint32_t tx, uint32_t rx)
{
	return tx <= (MAX_RUNS - 8) * RUN && rx <= (MAX_RUNS - 8) * RUN;
}

uint32_t rt_turn_room(uint32_t n)
{
	return FEW * (n + 2 * MAX_RUNS + 8);
}

/* Adds descriptors in place of the packets', which differ from turn to turn. */
static int add_places(struct rt_ring *ring, const struct tail *t)
{
	int err = 0;

	while (ring->tx.n < t->tx && !err)
		err = rt_ring_add_tx(ring, 0, 1, 0);
	while (ring->rx.n < t->rx && !err)
		err = rt_ring_add_rx(ring, 0, 1);
	return err;
}

int rt_turn_add(struct rt_ring *ring)
{
	struct tail t;
	int err;

	if (!ring->tx.n)
		return 0;
	if (!rt_turn_fits(ring->tx.n, ring->rx.n))
		return -E2BIG;
	ring->turns = turns_of(ring);
	t = tail_of(ring->tx.n, ring->rx.n, ring->turns);
	ring->own_tx = ring->tx.n;
	ring->own_rx = ring->rx.n;
	ring->runs = t.runs;
	err = add_places(ring, &t);
	*ring->last_tx += t.tx - ring->own_tx;
	*ring->last_rx += t.rx - ring->own_rx;
	return err;
}

/* A queue's writes into the next one's descriptors go to those of the same turn. */
static uint64_t relocated(const struct rt_ring *ring, uint64_t addr, unsigned int turn)
{
	const struct rt_half *half[] = { &ring->next->tx, &ring->next->rx };

	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t size = (uint64_t)half[i]->n * DESC, first = half[i]->chunk.pa;

		if (half[i]->chunk.core && addr >= first && addr < first + size)
			return addr + turn * size;
	}
	return addr;
}

/* An image being made: of id `id`, whose turns lie one behind the other, RX behind TX */
struct image {
	const struct rt_ring *ring;
	uint8_t *bytes;
	unsigned int id, turn;
};

static uint64_t image_at(const struct rt_ring *ring, unsigned int id)
{
	return (uint64_t)id * ring->turns * (ring->tx.n + ring->rx.n) * DESC;
}

static uint64_t rx_at(const struct rt_ring *ring)
{
	return (uint64_t)ring->turns * ring->tx.n * DESC;
}

static uint8_t *desc_of(const struct image *im, bool tx, uint32_t i)
{
	const struct rt_ring *ring = im->ring;
	const struct rt_half *h = tx ? &ring->tx : &ring->rx;

	return im->bytes + (tx ? 0 : rx_at(ring)) + ((uint64_t)im->turn * h->n + i) * DESC;
}

static void copy_own(const struct image *im, bool tx)
{
	const struct rt_half *h = tx ? &im->ring->tx : &im->ring->rx;
	const uint32_t own = tx ? im->ring->own_tx : im->ring->own_rx;

	for (uint32_t i = 0; i < own; i++) {
		uint8_t *to = desc_of(im, tx, i);
		uint64_t addr;

		memcpy(to, h->desc + (size_t)i * DESC, DESC);
		nhal_desc_lap(to, im->id);
		if (tx || !im->ring->next)
			continue;
		memcpy(&addr, to + NHAL_DESC_ADDR, sizeof(addr)); /* little-endian, as the host */
		addr = relocated(im->ring, addr, im->turn);
		memcpy(to + NHAL_DESC_ADDR, &addr, sizeof(addr));
	}
}

/*
 * Writes one side of a packet that copies `size` descriptors from, or to, an address: its
 * descriptors are number `first` to `end` of the turn.
 */
static void put_side(const struct image *im, bool tx, uint32_t first, uint32_t end, uint64_t addr,
		     uint32_t size)
{
	const uint32_t n = end - first;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t from = (uint64_t)size * i / n, to = (uint64_t)size * (i + 1) / n;
		uint32_t len = (uint32_t)(to - from) * DESC;
		uint8_t *desc = desc_of(im, tx, first + i);

		if (tx)
			nhal_desc_tx(desc, addr + from * DESC, len, im->id,
				     (i ? 0 : NEURON_UDMA_DESC_FIRST) |
					     (i + 1 < n ? 0 : NEURON_UDMA_DESC_LAST));
		else
			nhal_desc_rx(desc, addr + from * DESC, len, im->id);
	}
}

/* The packets that restore the turn before this one */
static void put_tail(const struct image *im)
{
	const struct rt_ring *ring = im->ring;
	const unsigned int before = (im->turn ? im->turn : ring->turns) - 1;
	const unsigned int id = im->turn ? (im->id + 1) % IDS : im->id;
	const uint64_t from = ring->image.pa + image_at(ring, id);
	const uint64_t tx = (uint64_t)before * ring->tx.n * DESC;
	const uint64_t rx = (uint64_t)before * ring->rx.n * DESC;
	const uint32_t tx1 = ring->own_tx + ring->runs, rx1 = ring->own_rx + ring->runs;

	put_side(im, true, ring->own_tx, tx1, from + rx_at(ring) + rx, ring->rx.n);
	put_side(im, false, ring->own_rx, rx1, ring->rx.chunk.pa + rx, ring->rx.n);
	put_side(im, true, tx1, ring->tx.n, from + tx, ring->tx.n);
	put_side(im, false, rx1, ring->rx.n, ring->tx.chunk.pa + tx, ring->tx.n);
}

static int make_images(struct rt_core *core, struct rt_ring *ring)
{
	const uint64_t size = image_at(ring, 1);
	struct image im = { .ring = ring, .bytes = malloc(size) };
	int err = im.bytes ? 0 : -ENOMEM;

	for (im.id = 0; im.id < IDS && !err; im.id++) {
		for (im.turn = 0; im.turn < ring->turns; im.turn++) {
			copy_own(&im, true);
			copy_own(&im, false);
			put_tail(&im);
		}
		err = ndlx_memory_buf_copyin(core->dev, ring->image.handle, im.bytes,
					     image_at(ring, im.id), size);
	}
	free(im.bytes);
	return err;
}

static NRT_STATUS place(struct rt_core *core, struct rt_half *h, unsigned int turns)
{
	const uint64_t size = (uint64_t)turns * h->n * DESC;

	h->len = turns * h->n;
	if (!h->chunk.core)
		return rt_chunk_alloc(core, size, 0, NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE,
				      &h->chunk);
	return h->chunk.size >= size
		       ? NRT_SUCCESS
		       : rt_fail(NRT_FAILURE, "TDRV",
				 "a ring has no room for %u turns of %u descriptors", turns, h->n);
}

NRT_STATUS rt_turn_commit(struct rt_core *core, struct rt_ring *ring)
{
	NRT_STATUS status;
	int err;

	if (!ring->turns)
		return rt_ring_commit(core, ring);
	status = place(core, &ring->tx, ring->turns);
	if (!status)
		status = place(core, &ring->rx, ring->turns);
	if (!status)
		status = rt_chunk_alloc(core, image_at(ring, IDS), 0,
					NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, &ring->image);
	if (status)
		return status;
	err = make_images(core, ring);
	free(ring->tx.desc);
	free(ring->rx.desc);
	ring->tx.desc = ring->rx.desc = NULL;
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "descriptors: %s",
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

int rt_turn_restore(const struct rt_ring *ring)
{
	const struct rt_chunk *image = &ring->image;
	int err;

	if (!ring->turns)
		return 0;
	/* a ring begins with id 1 */
	err = ndlx_memory_copy(image->dev, image->handle, ring->tx.chunk.handle, image_at(ring, 1),
			       0, rx_at(ring));
	return err ? err
		   : ndlx_memory_copy(image->dev, image->handle, ring->rx.chunk.handle,
				      image_at(ring, 1) + rx_at(ring), 0,
				      (uint64_t)ring->rx.len * DESC);
}
