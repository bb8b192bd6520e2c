// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host memory that a program has asked to have pinned for its copies (HOST_MEM_PIN). Zero-copy pins
 * what it copies anyway, so that here nothing is held: a range is looked at once and remembered,
 * for what the calls answer. Owns the ranges of all processes, until they give them back, have
 * closed their last device, or are gone.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "neuron_pins.h"
#include "neuron_user.h"

#define PIN_PAGES 64 /* looked at in one go */
#define RANGES_MAX 65536 /* of a process: kernel memory that anybody with a node can ask for */

struct pins {
	struct list_head link;
	struct mm_struct *mm; /* its struct alone is held */
	pid_t tgid;
	unsigned int count;
	struct maple_tree ranges;
};

static DEFINE_MUTEX(pins_lock); /* all that follows; a leaf */
static LIST_HEAD(pins_all);

static void pins_free(struct pins *p)
{
	list_del(&p->link);
	mtree_destroy(&p->ranges);
	mmdrop(p->mm);
	kfree(p);
}

/* The caller's, or NULL; those of who is gone go here */
static struct pins *pins_find(void)
{
	struct pins *p, *next, *mine = NULL;

	lockdep_assert_held(&pins_lock);
	list_for_each_entry_safe(p, next, &pins_all, link) {
		if (p->mm == current->mm)
			mine = p;
		else if (!atomic_read(&p->mm->mm_users))
			pins_free(p);
	}
	return mine;
}

static struct pins *pins_get(void)
{
	struct pins *p = pins_find();

	if (p)
		return p;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	mt_init(&p->ranges);
	mmgrab(current->mm);
	p->mm = current->mm;
	p->tgid = current->tgid;
	list_add(&p->link, &pins_all);
	return p;
}

/* Could the chip write to all of the range? */
static int range_look(struct neuron_call *call, u64 va, u64 size)
{
	u64 first = va & PAGE_MASK, pages = DIV_ROUND_UP(va - first + size, PAGE_SIZE), n;
	struct page *page[PIN_PAGES];
	int ret;

	if (!access_ok((const void __user *)va, size))
		return -EFAULT;
	for (; call->done < pages; call->done += n) {
		n = min_t(u64, pages - call->done, PIN_PAGES);
		ret = neuron_call_work(call, n * PAGE_SIZE);
		if (!ret)
			ret = neuron_call_pin(call, first + call->done * PAGE_SIZE, n, true, page);
		if (ret)
			return ret;
		unpin_user_pages(page, n);
	}
	return 0;
}

/**
 * neuron_pins_add() - remember a range of the caller's memory
 * @call: the ioctl
 * @va: its first byte
 * @size: bytes
 *
 * Return: 0, -EINVAL for nothing, -EFAULT for memory that cannot be written, -EEXIST if part of it
 * is remembered already, -ENOMEM.
 */
int neuron_pins_add(struct neuron_call *call, u64 va, u64 size)
{
	struct pins *p;
	int ret;

	if (!va || !size)
		return -EINVAL;
	ret = range_look(call, va, size);
	if (ret)
		return ret;
	mutex_lock(&pins_lock);
	p = pins_get();
	ret = p && p->count < RANGES_MAX ? 0 : -ENOMEM;
	if (!ret)
		ret = mtree_insert_range(&p->ranges, va, va + size - 1, p, GFP_KERNEL);
	if (!ret)
		p->count++;
	mutex_unlock(&pins_lock);
	return ret;
}

/* Removes the range that begins at va; -ENOENT: there is none */
int neuron_pins_remove(u64 va)
{
	MA_STATE(mas, NULL, va, va);
	struct pins *p;
	int ret = -ENOENT;

	mutex_lock(&pins_lock);
	p = pins_find();
	if (p) {
		mas.tree = &p->ranges;
		mas_lock(&mas);
		if (mas_walk(&mas) && mas.index == va) {
			mas_erase(&mas);
			p->count--;
			ret = 0;
		}
		mas_unlock(&mas);
	}
	mutex_unlock(&pins_lock);
	return ret;
}

/* The process has closed its last device */
void neuron_pins_drop(pid_t tgid)
{
	struct pins *p, *next;

	mutex_lock(&pins_lock);
	list_for_each_entry_safe(p, next, &pins_all, link)
		if (p->tgid == tgid)
			pins_free(p);
	mutex_unlock(&pins_lock);
}

/* No node is open any more */
void neuron_pins_exit(void)
{
	struct pins *p, *next;

	mutex_lock(&pins_lock);
	list_for_each_entry_safe(p, next, &pins_all, link)
		pins_free(p);
	mutex_unlock(&pins_lock);
}
