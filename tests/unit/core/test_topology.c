/* SPDX-License-Identifier: MIT */
/*
 * Ports of each topology lead to the right neighbours; one end of a link is no chip of this
 * process.
 */
#include "../check_main.h"
#include "chip_fixture.h"
#include "chip/fabric.h"

#include <errno.h>
#include <string.h>

static struct ncore_fabric *make(enum neuron_topology topology, unsigned int slots)
{
	struct ncore_fabric *fabric;

	ck_assert_int_eq(ncore_fabric_new(topology, slots, &fabric), 0);
	return fabric;
}

/* The slot that a port leads to, or -1 */
static int leads(const struct ncore_fabric *fabric, unsigned int slot, unsigned int port)
{
	unsigned int other, other_port;

	return ncore_fabric_link(fabric, slot, port, &other, &other_port) ? (int)other : -1;
}

/* Every link leads back where it came from, in every topology and size. */
START_TEST(both_ways)
{
	for (unsigned int slots = 1; slots <= 64; slots++) {
		struct ncore_fabric *fabric;
		unsigned int other, back, other_port, back_port;

		if (ncore_fabric_new((enum neuron_topology)_i, slots, &fabric))
			continue; /* this topology has no such size */
		for (unsigned int slot = 0; slot < slots; slot++)
			for (unsigned int port = 0; port < 64; port++) {
				if (!ncore_fabric_link(fabric, slot, port, &other, &other_port))
					continue;
				ck_assert(ncore_fabric_link(fabric, other, other_port, &back,
							    &back_port));
				ck_assert_uint_eq(back, slot);
				ck_assert_uint_eq(back_port, port);
				ck_assert_uint_ne(other, slot);
			}
		ncore_fabric_free(fabric);
	}
}
END_TEST

START_TEST(names)
{
	ck_assert_int_eq(neuron_topology_find("line"), NEURON_TOPOLOGY_LINE);
	ck_assert_int_eq(neuron_topology_find("ring"), NEURON_TOPOLOGY_RING);
	ck_assert_int_eq(neuron_topology_find("torus"), NEURON_TOPOLOGY_TORUS);
	ck_assert_int_eq(neuron_topology_find("hypercube"), NEURON_TOPOLOGY_HYPERCUBE);
	ck_assert_int_eq(neuron_topology_find("all"), NEURON_TOPOLOGY_ALL);
	ck_assert_int_eq(neuron_topology_find("ultraserver"), NEURON_TOPOLOGY_ULTRASERVER);
	ck_assert_int_eq(neuron_topology_find("star"), -ENOENT);
}
END_TEST

/* The ends of a line, and the link that closes a ring */
START_TEST(line_and_ring)
{
	struct ncore_fabric *line = make(NEURON_TOPOLOGY_LINE, 4),
			    *ring = make(NEURON_TOPOLOGY_RING, 4),
			    *alone = make(NEURON_TOPOLOGY_RING, 1);

	ck_assert_int_eq(leads(line, 0, 0), 1);
	ck_assert_int_eq(leads(line, 0, 1), -1);
	ck_assert_int_eq(leads(line, 3, 0), -1);
	ck_assert_int_eq(leads(ring, 3, 0), 0);
	ck_assert_int_eq(leads(ring, 0, 1), 3);
	ck_assert_int_eq(leads(ring, 0, 2), -1);
	ck_assert_int_eq(leads(alone, 0, 0), -1);
	ncore_fabric_free(line);
	ncore_fabric_free(ring);
	ncore_fabric_free(alone);
}
END_TEST

/* Sixteen chips: four rows of four, as in a trn1.32xlarge; each has its neighbours in both. */
START_TEST(torus)
{
	struct ncore_fabric *fabric = make(NEURON_TOPOLOGY_TORUS, 16);

	for (int i = 0; i < 16; i++) {
		int row = i / 4 * 4;

		ck_assert_int_eq(leads(fabric, (unsigned int)i, 0), row + (i + 1) % 4);
		ck_assert_int_eq(leads(fabric, (unsigned int)i, 1), row + (i + 3) % 4);
		ck_assert_int_eq(leads(fabric, (unsigned int)i, 2), (i + 4) % 16);
		ck_assert_int_eq(leads(fabric, (unsigned int)i, 3), (i + 12) % 16);
	}
	ncore_fabric_free(fabric);
	fabric = make(NEURON_TOPOLOGY_TORUS, 12); /* three rows of four */
	ck_assert_int_eq(leads(fabric, 3, 0), 0);
	ck_assert_int_eq(leads(fabric, 3, 2), 7);
	ck_assert_int_eq(leads(fabric, 3, 3), 11);
	ncore_fabric_free(fabric);
}
END_TEST

/*
 * Four tori: within each as alone; between them the two that share a side, by pairs of links. What
 * is two to the left of the right is opposite: the ring of nodes 0, 1, 2, 3.
 */
START_TEST(ultraserver)
{
	struct ncore_fabric *fabric = make(NEURON_TOPOLOGY_ULTRASERVER, 64);
	static const int left[] = { 1, 0, 3, 2 }, right[] = { 3, 2, 1, 0 };

	for (int i = 0; i < 64; i++) {
		const int node = i / 16, chip = i % 16, row = node * 16 + chip / 4 * 4;
		const unsigned int slot = (unsigned int)i;

		ck_assert_int_eq(leads(fabric, slot, 0), row + (chip + 1) % 4);
		ck_assert_int_eq(leads(fabric, slot, 1), row + (chip + 3) % 4);
		ck_assert_int_eq(leads(fabric, slot, 2), node * 16 + (chip + 4) % 16);
		ck_assert_int_eq(leads(fabric, slot, 3), node * 16 + (chip + 12) % 16);
		ck_assert_int_eq(leads(fabric, slot, 4), right[node] * 16 + chip);
		ck_assert_int_eq(leads(fabric, slot, 5), left[node] * 16 + chip);
		ck_assert_int_eq(leads(fabric, slot, 6), left[node] * 16 + chip);
		ck_assert_int_eq(leads(fabric, slot, 7), right[node] * 16 + chip);
		ck_assert_int_eq(leads(fabric, slot, 8), -1);
	}
	ncore_fabric_free(fabric);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_ULTRASERVER, 6, &fabric), -EINVAL);
}
END_TEST

START_TEST(hypercube_and_all)
{
	struct ncore_fabric *cube = make(NEURON_TOPOLOGY_HYPERCUBE, 16),
			    *all = make(NEURON_TOPOLOGY_ALL, 5);
	unsigned int seen = 0;

	for (unsigned int d = 0; d < 4; d++)
		ck_assert_int_eq(leads(cube, 5, d), (int)(5 ^ 1u << d));
	ck_assert_int_eq(leads(cube, 5, 4), -1);
	for (unsigned int port = 0; port < 4; port++)
		seen |= 1u << leads(all, 2, port);
	ck_assert_uint_eq(seen, 0x1b); /* all but itself */
	ncore_fabric_free(cube);
	ncore_fabric_free(all);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_HYPERCUBE, 6, &cube), -EINVAL);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_COUNT, 4, &cube), -EINVAL);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, 0, &cube), -EINVAL);
}
END_TEST

/* A topology that needs more ports than a chip has is refused. */
START_TEST(too_few_ports)
{
	struct ncore_chip_config config;
	struct fixture f;

	fixture_init(&f, 1);
	fixture_config(&f, &config);
	config.fabric = make(NEURON_TOPOLOGY_ALL, 16);
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), -EINVAL);
	ncore_fabric_free(config.fabric);
	fixture_free(&f);
}
END_TEST

/* Stands for a chip elsewhere: memory by read and write, one word, and a link that can be down. */
#define FAR_SIZE 0x10000u

static struct far {
	struct ncore_end end;
	bool up, granted;
	uint32_t links, word;
	uint64_t word_addr, asked; /* the address that was used last */
	unsigned int busy; /* word writes that have to be repeated */
	uint8_t memory[FAR_SIZE];
} far_end;

static bool far_up(struct ncore_end *end)
{
	return far_end.up;
}

static bool far_port_up(struct ncore_end *end, unsigned int port)
{
	return true;
}

static void far_links(struct ncore_end *end, uint32_t up)
{
	far_end.links = up;
}

static int far_route(struct ncore_end *end, uint64_t addr, struct ncore_ep *ep)
{
	far_end.asked = addr;
	ep->end = end;
	ep->addr = addr;
	ep->core = NCORE_EP_NO_CORE;
	if (addr == GEN(TPB)(0)) {
		ep->kind = NCORE_EP_WORD;
		ep->core = 0;
		ep->len = 4;
		return 0;
	}
	ep->kind = NCORE_EP_REMOTE;
	ep->len = FAR_SIZE - addr;
	return addr < FAR_SIZE ? 0 : -EFAULT;
}

static int far_rw(struct ncore_end *end, const struct ncore_ep *ep, void *buf, uint64_t len,
		  bool write)
{
	memcpy(write ? far_end.memory + ep->addr : buf, write ? buf : far_end.memory + ep->addr,
	       len);
	return 0;
}

static uint32_t far_word_read(struct ncore_end *end, uint64_t addr)
{
	return far_end.word;
}

static int far_word_write(struct ncore_end *end, uint64_t addr, uint32_t value, uint64_t time)
{
	if (far_end.busy && far_end.busy--)
		return -EAGAIN;
	far_end.word_addr = addr;
	far_end.word = value;
	return 0;
}

static bool far_granted(struct ncore_end *end, uint8_t domain, const struct ncore_ep *ep)
{
	return far_end.granted;
}

static bool far_word_granted(struct ncore_end *end, uint8_t domain, uint64_t addr)
{
	return far_end.granted;
}

static const struct ncore_end_ops far_ops = {
	.up = far_up,
	.port_up = far_port_up,
	.links = far_links,
	.route = far_route,
	.rw = far_rw,
	.word_read = far_word_read,
	.word_write = far_word_write,
	.granted = far_granted,
	.word_granted = far_word_granted,
};

#define EAST GEN(WINDOW_EAST)
#define STATUS (GEN(REG)(GEN(APB_MISC_RAM)) + GEN(READY_WORD))

/* A chip that has the far end for its eastern neighbour, in a fabric that the caller frees */
static struct ncore_fabric *beside_far(struct fixture *f, bool granted)
{
	struct ncore_chip_config config;

	fixture_init(f, 1);
	fixture_config(f, &config);
	config.fabric = make(NEURON_TOPOLOGY_LINE, 2);
	ck_assert_int_eq(ncore_chip_new(&config, &f->chip), 0);
	far_end = (struct far){ .end = { .ops = &far_ops, .slot = 1, .ports = 2 },
				.up = true,
				.granted = granted };
	ck_assert_int_eq(ncore_fabric_attach(config.fabric, &far_end.end), 0);
	return config.fabric;
}

START_TEST(elsewhere)
{
	struct ncore_fabric *fabric;
	struct ring q;
	struct fixture f;

	fabric = beside_far(&f, true);
	ck_assert_uint_eq(fwio_read(&f, STATUS) & 3, GEN(LINKS) & 1);
	ck_assert_uint_eq(far_end.links, 2);

	/* bytes there and back, more than one call moves, and into the chip's own memory too */
	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	fixture_fill(f.host + 0x800000, 20000, 1);
	copy(&f, &q, HOST(0x800000), EAST | 100, 20000);
	copy(&f, &q, EAST | 100, HOST(0x900000), 20000);
	copy(&f, &q, EAST | 100, 0x7000, 20000);
	copy(&f, &q, EAST | 100, EAST | 30000, 20000);
	settle(&f);
	ck_assert_mem_eq(far_end.memory + 100, f.host + 0x800000, 20000);
	ck_assert_mem_eq(f.host + 0x900000, f.host + 0x800000, 20000);
	ck_assert_mem_eq(mem(&f, 0x7000), f.host + 0x800000, 20000);
	ck_assert_mem_eq(far_end.memory + 30000, f.host + 0x800000, 20000);
	ck_assert_uint_eq(fwio_read(&f, EAST | 100), get32(f.host + 0x800000));

	/* a word, which the far end accepts when it can */
	far_end.busy = 3;
	put32(f.host + 0x800000, 77);
	copy(&f, &q, HOST(0x800000), EAST | GEN(TPB)(0), 4);
	settle(&f);
	ck_assert_uint_eq(far_end.word, 77);
	ck_assert_uint_eq(far_end.word_addr, GEN(TPB)(0));
	ck_assert_uint_eq(fwio_read(&f, EAST | GEN(TPB)(0)), 77);
	ck_assert(!queue_stopped(&f, &q));

	/* the link is down, and writes abort */
	far_end.up = false;
	ncore_fabric_sync(fabric, &far_end.end);
	ck_assert_uint_eq(fwio_read(&f, STATUS) & 3, 0);
	copy(&f, &q, HOST(0x800000), EAST | 100, 4);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert(ncore_fabric_detach(fabric, &far_end.end));
	ck_assert(!ncore_fabric_detach(fabric, &far_end.end));
	ncore_fabric_free(fabric);
	fixture_free(&f);
}
END_TEST

/* An address with more bits than addresses have aborts here, and no far end is asked. */
START_TEST(beyond_the_windows)
{
	struct ncore_fabric *fabric;
	struct ring q;
	struct fixture f;

	fabric = beside_far(&f, true);
	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	copy(&f, &q, HOST(0x800000), EAST | 100, 4);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
	ck_assert_uint_eq(far_end.asked, 100);
	copy(&f, &q, HOST(0x800000), GEN(WINDOW_LIMIT) | EAST | 200, 4);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(far_end.asked, 100);
	ncore_fabric_detach(fabric, &far_end.end);
	ncore_fabric_free(fabric);
	fixture_free(&f);
}
END_TEST

/* The guard of the far end decides. */
START_TEST(elsewhere_guarded)
{
	struct ncore_fabric *fabric;
	struct ring q;
	struct fixture f;

	fabric = beside_far(&f, _i == 2);
	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	ext_write(&f, GEN(GUARD_QUEUE)(0, 0), 5);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
	/* from its own memory, which every domain may read; rings lie there as well */
	queue_init(&f, &q, 0, 0, 0x100000, 0x110000, 64);
	put32(mem(&f, 0x3000), 9);
	copy(&f, &q, 0x3000, EAST | (_i == 1 ? GEN(TPB)(0) : 64), 4);
	settle(&f);
	ck_assert_int_eq(queue_stopped(&f, &q), _i != 2);
	ck_assert_uint_eq(far_end.memory[64], _i == 2 ? 9 : 0);
	ck_assert_uint_eq(far_end.word, 0);
	ncore_fabric_detach(fabric, &far_end.end);
	ncore_fabric_free(fabric);
	fixture_free(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("topology");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, both_ways, 0, NEURON_TOPOLOGY_COUNT);
	tcase_add_test(t, names);
	tcase_add_test(t, line_and_ring);
	tcase_add_test(t, torus);
	tcase_add_test(t, ultraserver);
	tcase_add_test(t, hypercube_and_all);
	tcase_add_test(t, too_few_ports);
	tcase_add_test(t, elsewhere);
	tcase_add_test(t, beyond_the_windows);
	tcase_add_loop_test(t, elsewhere_guarded, 0, 3);
	suite_add_tcase(s, t);
	return check_run(s);
}
