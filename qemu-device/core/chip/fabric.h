/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: links between chips. A fabric knows which port of which slot is
 * linked with which; what sits in a slot is an end, reached through its operations: a chip of this
 * process (end.c), or what stands for one elsewhere.
 */
#ifndef NCORE_FABRIC_H
#define NCORE_FABRIC_H

#include "ncore.h"
#include "neuron/hw/gen.h"

struct ncore_end;
struct ncore_mem;

/* The part of a chip at a device address */
enum ncore_ep_kind {
	NCORE_EP_MEM, /* memory of a chip in this process, at ptr */
	NCORE_EP_HOST,
	NCORE_EP_WORD, /* registers, semaphores, events: words */
	NCORE_EP_FIFO, /* an engine's instructions */
	NCORE_EP_REMOTE, /* memory of an end that has no pointer to it: by read and write */
};
/* The streams that bytes go through beside their DMA engine, at each end of a copy */
enum {
	NCORE_WAY_FREE, /* nothing that others use */
	NCORE_WAY_DRAM,
	NCORE_WAY_CORE, /* the port of the memories of core 0, 1, ... */
	NCORE_WAY_LINK = NCORE_WAY_CORE + NEURON_CORES_MAX, /* of port 0, 1, ... */
	NCORE_WAYS = NCORE_WAY_LINK + NEURON_PORTS_MAX,
};

#define NCORE_EP_NO_CORE (~0u)
struct ncore_ep {
	enum ncore_ep_kind kind;
	struct ncore_end *end; /* whose it is; a neighbour's while its fabric's lock is held */
	const struct ncore_mem *mem;
	uint8_t *ptr;
	uint64_t addr; /* host physical, or in the end's own map */
	uint64_t len; /* bytes that lie together from addr on */
	unsigned int core; /* whose window it lies in, or NCORE_EP_NO_CORE */
	unsigned int engine; /* of a FIFO */
	uint8_t way; /* NCORE_WAY_*: what copies to and from there share */
	uint8_t beyond; /* links behind the one of that way */
};

/* Called with the fabric's lock held, for reading but where it says otherwise; none waits */
struct ncore_end_ops {
	/* May neighbours come in, and does this end of the port's link work? */
	bool (*up)(struct ncore_end *end);
	bool (*port_up)(struct ncore_end *end, unsigned int port);
	/* held for writing: which ports lead somewhere now, a bit each */
	void (*links)(struct ncore_end *end, uint32_t up);
	/* what lies at an address of the end's own map; 0 or -EFAULT */
	int (*route)(struct ncore_end *end, uint64_t addr, struct ncore_ep *ep);
	/* NCORE_EP_REMOTE: 0 or -errno */
	int (*rw)(struct ncore_end *end, const struct ncore_ep *ep, void *buf, uint64_t len,
		  bool write);
	/* NCORE_EP_WORD, by address; write: 0, -EAGAIN (again later) or -EACCES */
	uint32_t (*word_read)(struct ncore_end *end, uint64_t addr);
	int (*word_write)(struct ncore_end *end, uint64_t addr, uint32_t value, uint64_t time);
	/* may a domain of the guard reach it: the end's own guard decides */
	bool (*granted)(struct ncore_end *end, uint8_t domain, const struct ncore_ep *ep);
	bool (*word_granted)(struct ncore_end *end, uint8_t domain, uint64_t addr);
};

struct ncore_end {
	const struct ncore_end_ops *ops;
	unsigned int slot;
	unsigned int ports;
};

/* 0, -EBUSY, or -EINVAL: no such slot, or the topology has more ports than the end */
int ncore_fabric_attach(struct ncore_fabric *fabric, struct ncore_end *end);
bool ncore_fabric_detach(struct ncore_fabric *fabric, struct ncore_end *end); /* was attached */
/* ops->up changed: the ends of its links are told, and accesses in flight are over on return */
void ncore_fabric_sync(struct ncore_fabric *fabric, struct ncore_end *end);
void ncore_fabric_lock(struct ncore_fabric *fabric); /* for reading; not nested */
void ncore_fabric_unlock(struct ncore_fabric *fabric);
/* the other end of a port whose link is up, or NULL; the lock is held */
struct ncore_end *ncore_fabric_peer(struct ncore_fabric *fabric, struct ncore_end *end,
				    unsigned int port);
unsigned int ncore_fabric_slots(const struct ncore_fabric *fabric);
/*
 * The end in a slot however far, by as few links as can be, at most so many; or NULL. *port: the
 * one through which the way begins, of several the lowest. The lock is held.
 */
struct ncore_end *ncore_fabric_far(struct ncore_fabric *fabric, struct ncore_end *end,
				   unsigned int slot, unsigned int links_max, unsigned int *port,
				   unsigned int *links);
/* slot and port that a port is linked with; false: with none */
bool ncore_fabric_link(const struct ncore_fabric *fabric, unsigned int slot, unsigned int port,
		       unsigned int *other, unsigned int *other_port);

#endif
