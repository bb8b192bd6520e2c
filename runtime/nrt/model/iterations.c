/* SPDX-License-Identifier: MIT */
/*
 * Rings that a program on the chip goes round by itself. A loop's part is executed any number of
 * times, and nobody on the host writes its descriptors again; but each lap of a ring wants
 * another ring id in them. So a ring holds the descriptors of several iterations, each of which
 * ends with two packets that write those of the iteration in front of it anew, with the id of
 * their next lap. They copy them from images of the whole ring, one for each of the four ids;
 * the packets themselves differ from image to image by where they read. An iteration whose
 * descriptors are written again is over, and they are not rung before at least those of one more
 * have been, so no queue holds copies of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ring.h"

#define IDS 4 /* ring ids */
#define MOST                                                                                     \
	16 /* iterations of a ring: however many descriptors an iteration has, their sum suits a \
	      ring */
#define FEW 4 /* iterations of a ring whose descriptors are many, or are written by another queue */
#define MANY 256 /* descriptors of an iteration */
#define DESC NEURON_UDMA_DESC_SIZE
#define RUN (0x10000 / DESC) /* descriptors that one descriptor copies */
#define MAX_RUNS 60 /* descriptors of a packet, on a side */

/* The packets at the end of an iteration: how many descriptors restore what */
struct tail {
	uint32_t tx, rx; /* descriptors of an iteration, with the packets */
	uint32_t runs; /* of the first packet, on both sides: it restores the RX descriptors */
};

static unsigned int iterations_of(const struct rt_ring *ring)
{
	uint32_t n = ring->tx.n > ring->rx.n ? ring->tx.n : ring->rx.n;

	return n > MANY || ring->next || ring->tx.chunk.core || ring->rx.chunk.core ? FEW : MOST;
}

static uint32_t runs(uint32_t n)
{
	return (n + RUN - 1) / RUN;
}

/* The number of descriptors of an iteration that is at least n, so that the iterations suit a ring */
static uint32_t suits(uint32_t n, unsigned int iterations)
{
	const uint32_t grain = NEURON_UDMA_RING_GRAIN / iterations,
		       least = NEURON_UDMA_RING_MIN / iterations;

	n = n > least ? n : least;
	return (n + grain - 1) / grain * grain;
}

static struct tail tail_of(uint32_t tx, uint32_t rx, unsigned int iterations)
{
	struct tail t = { .tx = tx, .rx = rx };

	for (;;) {
		const uint32_t first = runs(t.rx), second = runs(t.tx);
		const uint32_t ntx = suits(tx + first + second, iterations);
		const uint32_t nrx = suits(rx + first + second, iterations);

		t.runs = first;
		if (ntx == t.tx && nrx == t.rx)
			return t;
		t.tx = ntx;
		t.rx = nrx;
	}
}

bool rt_iteration_fits(uint32_t tx, uint32_t rx)
{
	return tx <= (MAX_RUNS - 8) * RUN && rx <= (MAX_RUNS - 8) * RUN;
}

uint32_t rt_iteration_size(uint32_t n)
{
	return FEW * (n + 2 * MAX_RUNS + 8);
}

/* Adds descriptors in place of the packets', which differ from iteration to iteration. */
static int add_places(struct rt_ring *ring, const struct tail *t)
{
	int err = 0;

	while (ring->tx.n < t->tx && !err)
		err = rt_ring_add_tx(ring, 0, 1, 0);
	while (ring->rx.n < t->rx && !err)
		err = rt_ring_add_rx(ring, 0, 1);
	return err;
}

int rt_iteration_end(struct rt_ring *ring)
{
	struct tail t;
	int err;

	if (!ring->tx.n)
		return 0;
	if (!rt_iteration_fits(ring->tx.n, ring->rx.n))
		return -E2BIG;
	ring->iterations = iterations_of(ring);
	t = tail_of(ring->tx.n, ring->rx.n, ring->iterations);
	ring->own_tx = ring->tx.n;
	ring->own_rx = ring->rx.n;
	ring->runs = t.runs;
	err = add_places(ring, &t);
	*ring->last_tx += t.tx - ring->own_tx;
	*ring->last_rx += t.rx - ring->own_rx;
	return err;
}

/* A queue's writes into the next one's descriptors go to those of the same iteration. */
static uint64_t relocated(const struct rt_ring *ring, uint64_t addr, unsigned int iteration)
{
	const struct rt_half *half[] = { &ring->next->tx, &ring->next->rx };

	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t size = (uint64_t)half[i]->n * DESC, first = half[i]->chunk.pa;

		if (half[i]->chunk.core && addr >= first && addr < first + size)
			return addr + iteration * size;
	}
	return addr;
}

/* An image being made: of id `id`, whose iterations lie one behind the other, RX behind TX */
struct image {
	const struct rt_ring *ring;
	uint8_t *bytes;
	unsigned int id, iteration;
};

static uint64_t image_at(const struct rt_ring *ring, unsigned int id)
{
	return (uint64_t)id * ring->iterations * (ring->tx.n + ring->rx.n) * DESC;
}

static uint64_t rx_at(const struct rt_ring *ring)
{
	return (uint64_t)ring->iterations * ring->tx.n * DESC;
}

static uint8_t *desc_of(const struct image *im, bool tx, uint32_t i)
{
	const struct rt_ring *ring = im->ring;
	const struct rt_half *h = tx ? &ring->tx : &ring->rx;

	return im->bytes + (tx ? 0 : rx_at(ring)) + ((uint64_t)im->iteration * h->n + i) * DESC;
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
		addr = relocated(im->ring, addr, im->iteration);
		memcpy(to + NHAL_DESC_ADDR, &addr, sizeof(addr));
	}
}

/*
 * Writes one side of a packet that copies `size` descriptors from, or to, an address: its
 * descriptors are number `first` to `end` of the iteration.
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

/* The packets that restore the iteration before this one */
static void put_tail(const struct image *im)
{
	const struct rt_ring *ring = im->ring;
	const unsigned int before = (im->iteration ? im->iteration : ring->iterations) - 1;
	const unsigned int id = im->iteration ? (im->id + 1) % IDS : im->id;
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
		for (im.iteration = 0; im.iteration < ring->iterations; im.iteration++) {
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

static NRT_STATUS place(struct rt_core *core, struct rt_half *h, unsigned int iterations)
{
	const uint64_t size = (uint64_t)iterations * h->n * DESC;

	h->len = iterations * h->n;
	if (!h->chunk.core)
		return rt_chunk_alloc(core, size, 0, NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE,
				      &h->chunk);
	return h->chunk.size >= size
		       ? NRT_SUCCESS
		       : rt_fail(NRT_FAILURE, "TDRV",
				 "a ring has no room for %u iterations of %u descriptors",
				 iterations, h->n);
}

NRT_STATUS rt_iterations_commit(struct rt_core *core, struct rt_ring *ring)
{
	NRT_STATUS status;
	int err;

	if (!ring->iterations)
		return rt_ring_commit(core, ring);
	status = place(core, &ring->tx, ring->iterations);
	if (!status)
		status = place(core, &ring->rx, ring->iterations);
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

int rt_iterations_restore(const struct rt_ring *ring)
{
	const struct rt_chunk *image = &ring->image;
	int err;

	if (!ring->iterations)
		return 0;
	/* a ring begins with id 1 */
	err = ndlx_memory_copy(image->dev, image->handle, ring->tx.chunk.handle, image_at(ring, 1),
			       0, rx_at(ring));
	return err ? err
		   : ndlx_memory_copy(image->dev, image->handle, ring->rx.chunk.handle,
				      image_at(ring, 1) + rx_at(ring), 0,
				      (uint64_t)ring->rx.len * DESC);
}
