// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hangs: something the module waited for did not come in its time. The state of the chip as far as
 * the module knows it goes into a dump (include/uapi/neuron/neuron_dump.h), which root reads from
 * the sysfs file hang_dump or as a device coredump; then listeners are told. The newest dump
 * replaces an older one. Memory of processes is not in it, but for the rings of error queues.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/devcoredump.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include "neuron_device.h"
#include "neuron_compat.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_fwio.h"
#include "neuron_level.h"
#include "neuron_log.h"
#include "neuron_mem.h"
#include "uapi/neuron/neuron_dump.h"

#define DUMP_MAX (128 * 1024)
/* The most bytes of a notification ring in a dump; error rings are small */
#define RING_MAX (16 * 1024)

struct dump {
	struct neuron_device *nd;
	u8 *data;
	u32 size;
	u32 flags;
};

/* Returns room at the dump's end, zeroed, or NULL */
static void *dump_add(struct dump *d, u32 size)
{
	void *p = d->data + d->size;

	if (size > DUMP_MAX - d->size) {
		d->flags |= NEURON_DUMP_F_CUT;
		return NULL;
	}
	d->size += size;
	return p;
}

static struct neuron_dump_section *section_start(struct dump *d, u32 type)
{
	struct neuron_dump_section *s = dump_add(d, sizeof(*s));

	if (s)
		s->type = type;
	return s;
}

static void section_end(struct dump *d, struct neuron_dump_section *s)
{
	if (s)
		s->length = d->data + d->size - (u8 *)(s + 1);
}

/* After the first time without an answer the firmware is not asked again: each takes long */
static bool dump_read(struct dump *d, const u64 *addr, u32 *value, unsigned int n)
{
	if (d->flags & NEURON_DUMP_F_NO_REGISTERS)
		return false;
	if (!neuron_reg_read(d->nd, addr, value, n))
		return true;
	d->flags |= NEURON_DUMP_F_NO_REGISTERS;
	return false;
}

#define MISC_WORDS (0x80 / 4)
#define EXT_WORDS (0xc0 / 4)

/* Adds the firmware's words, the reset words, and what the chip counts of errors */
static void dump_words(struct dump *d)
{
	const struct neuron_gen *gen = d->nd->gen;
	bool extended = d->nd->hal.features;
	u64 addr[MISC_WORDS + 3 + EXT_WORDS];
	u32 value[ARRAY_SIZE(addr)];
	struct neuron_dump_section *s;
	struct neuron_dump_word *w;
	unsigned int i, n = 0;

	for (i = 0; i < MISC_WORDS; i++)
		addr[n++] = nhal_misc_addr(gen, 4 * i);
	addr[n++] = nhal_misc_addr(gen, NEURON_MISC_TPB_RESET_MAP);
	addr[n++] = nhal_misc_addr(gen, NEURON_MISC_RESET);
	if (gen->ready_word >= 4 * MISC_WORDS)
		addr[n++] = nhal_misc_addr(gen, gen->ready_word);
	for (i = 0; extended && i < EXT_WORDS; i++)
		addr[n++] = neuron_gen_address(gen, NEURON_BLOCK_EXT, 0) + 4 * i;
	if (!dump_read(d, addr, value, n))
		return;
	s = section_start(d, NEURON_DUMP_WORDS);
	w = dump_add(d, n * sizeof(*w));
	for (i = 0; w && i < n; i++) {
		w[i].address = addr[i];
		w[i].value = value[i];
	}
	section_end(d, s);
}

static void dump_queue(struct dump *d, unsigned int eng, unsigned int qid, u32 pid)
{
	u64 addr[2 * NEURON_DUMP_QUEUE_REGS];
	struct neuron_dump_queue *q;
	u32 value[ARRAY_SIZE(addr)];

	nhal_queue_regs(d->nd->gen, eng, NHAL_M2S, qid, addr);
	nhal_queue_regs(d->nd->gen, eng, NHAL_S2M, qid, addr + NEURON_DUMP_QUEUE_REGS);
	if (!dump_read(d, addr, value, ARRAY_SIZE(addr)))
		return;
	q = dump_add(d, sizeof(*q));
	if (!q)
		return;
	q->engine = eng;
	q->queue = qid;
	q->pid = pid;
	memcpy(q->tx, value, sizeof(q->tx));
	memcpy(q->rx, value + NEURON_DUMP_QUEUE_REGS, sizeof(q->rx));
}

static void dump_queues(struct dump *d)
{
	struct neuron_dump_section *s = section_start(d, NEURON_DUMP_QUEUES);
	const struct neuron_gen *gen = d->nd->gen;
	unsigned int nc, eng, qid;
	struct neuron_queue *q;
	pid_t owner;
	bool used;

	for (nc = 0; nc < gen->cores; nc++)
		dump_queue(d, gen->copy[nc].engine, gen->copy[nc].queue, 0);
	for (eng = 0; eng < gen->dma_engines; eng++) {
		for (qid = 0; qid < QUEUE_COUNT; qid++) {
			q = &d->nd->queues[eng][qid];
			mutex_lock(&d->nd->lock);
			used = q->used;
			owner = q->owner;
			mutex_unlock(&d->nd->lock);
			if (used)
				dump_queue(d, eng, qid, owner);
		}
	}
	section_end(d, s);
}

static void dump_core(struct dump *d, unsigned int nc)
{
	struct neuron_dump_core *c = dump_add(d, sizeof(*c));
	u64 addr[NEURON_DUMP_SEMAPHORES];
	unsigned int i;

	if (!c)
		return;
	c->core = nc;
	mutex_lock(&d->nd->lock);
	c->pid = d->nd->core_owner[nc];
	c->init_state = d->nd->cinit[nc];
	c->models_started = d->nd->model_started[nc];
	mutex_unlock(&d->nd->lock);
	for (i = 0; i < NEURON_DUMP_SEMAPHORES; i++)
		addr[i] = nhal_sem_addr(d->nd->gen, nc, NEURON_SEM_READ, i);
	if (dump_read(d, addr, c->semaphore, NEURON_DUMP_SEMAPHORES))
		c->semaphores = NEURON_DUMP_SEMAPHORES;
}

static void dump_processes(struct dump *d)
{
	struct neuron_dump_section *s = section_start(d, NEURON_DUMP_PROCESSES);
	struct neuron_device *nd = d->nd;
	struct neuron_dump_process *p;
	unsigned int i;

	mutex_lock(&nd->lock);
	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++) {
		p = nd->procs[i].tgid ? dump_add(d, sizeof(*p)) : NULL;
		if (!p)
			continue;
		p->pid = nd->procs[i].tgid;
		p->files = nd->procs[i].opens;
		p->flags = (nd->procs[i].exiting ? NEURON_DUMP_P_EXITING : 0) |
			   (nd->procs[i].lost ? NEURON_DUMP_P_LOST : 0);
	}
	mutex_unlock(&nd->lock);
	section_end(d, s);
}

/* Adds the core's error queue, if it has one in host memory */
static void dump_nq(struct dump *d, unsigned int nc)
{
	unsigned int slot = neuron_gen_nq_slot(d->nd->gen, NEURON_NQ_ERROR, 0);
	struct neuron_nq *nq = &d->nd->nqs[nc][NEURON_NQ_ERROR][slot];
	struct neuron_dump_section *s;
	struct neuron_dump_nq *head;
	void *ring;
	u32 size;

	mutex_lock(&d->nd->lock);
	if (!nq->mc || !nq->mc->host)
		goto unlock;
	s = section_start(d, NEURON_DUMP_NOTIFICATIONS);
	head = dump_add(d, sizeof(*head));
	if (!head)
		goto unlock;
	head->core = nc;
	head->pid = nq->owner;
	head->size = nq->mc->size;
	size = min_t(u64, nq->mc->size, RING_MAX);
	if (size < nq->mc->size)
		d->flags |= NEURON_DUMP_F_CUT;
	ring = dump_add(d, size);
	if (ring)
		memcpy(ring, nq->mc->va, size);
	section_end(d, s);
unlock:
	mutex_unlock(&d->nd->lock);
}

static void dump_header(struct dump *d, const struct neuron_hang *h)
{
	struct neuron_dump_header *head = (void *)d->data;

	head->magic = NEURON_DUMP_MAGIC;
	head->version = NEURON_DUMP_VERSION;
	head->size = d->size;
	head->flags = d->flags;
	head->id = h->dump;
	head->time = ktime_get_real_ns();
	head->index = d->nd->index;
	head->state = READ_ONCE(d->nd->state);
	head->reason = h->reason;
	head->cores = h->cores;
	head->engine = h->engine;
	head->queue = h->queue;
	head->pid = h->pid;
	head->error = -h->error;
	strscpy(head->bdf, pci_name(d->nd->pdev), sizeof(head->bdf));
	strscpy(head->driver, neuron_level_version(), sizeof(head->driver));
}

static void dump_fill(struct dump *d, const struct neuron_hang *h)
{
	struct neuron_dump_section *s;
	unsigned int nc;

	if (h->reason == NEURON_HANG_REASON_MAILBOX)
		d->flags |= NEURON_DUMP_F_NO_REGISTERS;
	dump_add(d, sizeof(struct neuron_dump_header));
	dump_words(d);
	dump_queues(d);
	s = section_start(d, NEURON_DUMP_CORES);
	for (nc = 0; nc < d->nd->gen->cores; nc++)
		dump_core(d, nc);
	section_end(d, s);
	dump_processes(d);
	for (nc = 0; nc < d->nd->gen->cores; nc++)
		dump_nq(d, nc);
	dump_header(d, h);
}

/* The kernel keeps a copy of its own, which it frees after five minutes or when it was read */
static void coredump(struct neuron_device *nd, const void *data, size_t size)
{
	void *copy;

	if (!IS_ENABLED(CONFIG_DEV_COREDUMP))
		return;
	copy = vmalloc(size);
	if (!copy)
		return;
	memcpy(copy, data, size);
	dev_coredumpv(&nd->pdev->dev, copy, size, GFP_KERNEL);
}

/**
 * neuron_hang() - something did not come: dump what is known, then tell listeners
 * @nd: the device
 * @h: what it was; the number of the dump is filled in here
 *
 * The caller holds neither nd->lock nor nd->health.lock nor the mailbox. A device that is gone does
 * not hang.
 */
void neuron_hang(struct neuron_device *nd, struct neuron_hang *h)
{
	struct dump d = { .nd = nd };
	void *old = NULL;

	if (READ_ONCE(nd->gone))
		return;
	h->dump = 0;
	d.data = kvzalloc(DUMP_MAX, GFP_KERNEL);
	if (d.data) {
		h->dump = atomic_inc_return(&nd->dump.count);
		dump_fill(&d, h);
		mutex_lock(&nd->dump.lock);
		/* one at a time, and before the dump can be found: who finds it may free it */
		coredump(nd, d.data, d.size);
		old = nd->dump.data;
		nd->dump.data = d.data;
		nd->dump.size = d.size;
		mutex_unlock(&nd->dump.lock);
		nd_err(nd, "hang dump %u: %u bytes\n", h->dump, d.size);
	}
	kvfree(old);
	neuron_event_hang(nd, h);
	if (h->dump)
		neuron_event_file(nd, NULL, "hang_dump");
}

static ssize_t hang_dump_read(struct file *file, struct kobject *kobj,
			      NEURON_BIN_ATTR_CONST struct bin_attribute *attr, char *buf,
			      loff_t off, size_t count)
{
	struct neuron_device *nd = dev_get_drvdata(kobj_to_dev(kobj));
	ssize_t n;

	mutex_lock(&nd->dump.lock);
	n = memory_read_from_buffer(buf, count, &off, nd->dump.data, nd->dump.size);
	mutex_unlock(&nd->dump.lock);
	return n;
}

/* Any write forgets the dump */
static ssize_t hang_dump_write(struct file *file, struct kobject *kobj,
			       NEURON_BIN_ATTR_CONST struct bin_attribute *attr, char *buf,
			       loff_t off, size_t count)
{
	neuron_dump_forget(dev_get_drvdata(kobj_to_dev(kobj)));
	return count;
}

static NEURON_BIN_ATTR_CONST struct bin_attribute bin_attr_hang_dump = {
	.attr = { .name = "hang_dump", .mode = 0600 },
	.read = hang_dump_read,
	.write = hang_dump_write,
};

NEURON_BIN_ATTR_CONST struct bin_attribute *NEURON_BIN_ATTR_CONST neuron_bin_attrs[] = {
	&bin_attr_hang_dump,
	NULL,
};

/**
 * neuron_dump_init() - once for a device, before anything can hang
 * @nd: the device
 */
void neuron_dump_init(struct neuron_device *nd)
{
	mutex_init(&nd->dump.lock);
}

/**
 * neuron_dump_forget() - free the dump there is
 * @nd: the device
 */
void neuron_dump_forget(struct neuron_device *nd)
{
	void *data;

	mutex_lock(&nd->dump.lock);
	data = nd->dump.data;
	nd->dump.data = NULL;
	nd->dump.size = 0;
	mutex_unlock(&nd->dump.lock);
	kvfree(data);
}
