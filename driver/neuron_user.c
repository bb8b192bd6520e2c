// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory of an ioctl. A page of it may be anywhere: on a disk, behind FUSE, or with a program
 * that handles its own faults and never answers. So nothing of the module's is held while a page is
 * waited for. Inside a call memory is copied and pinned only as far as it is there; what is missed
 * makes the handler return -EFAULT and let go of everything, the page is fetched, and the handler
 * runs again (neuron_ioctl.c). It must therefore undo what it has done before it returns -EFAULT,
 * or count it in call->done.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "neuron_user.h"

/* Fetched at once, if that much is still to come */
#define AHEAD (1024 * 1024)
/* Copied at a stretch; a piece of any size costs as much as BATCH_PIECE bytes */
#define BATCH_SIZE (128ul * 1024 * 1024)
#define BATCH_PIECE (64ul * 1024)

static int miss(struct neuron_call *call, enum neuron_miss kind, unsigned long at, u64 size)
{
	call->miss = kind;
	call->miss_at = at;
	call->miss_size = size;
	return -EFAULT;
}

/* rest: how much the handler has still to read from here, size included */
int neuron_call_read(struct neuron_call *call, void *to, const void __user *from, size_t size,
		     u64 rest)
{
	unsigned long left;

	if (!size)
		return 0;
	if (!access_ok(from, size))
		return -EFAULT;
	pagefault_disable();
	left = __copy_from_user_inatomic(to, from, size);
	pagefault_enable();
	if (!left)
		return 0;
	left = size - left;
	return miss(call, NEURON_MISS_READ, (unsigned long)from + left, rest - left);
}

int neuron_call_write(struct neuron_call *call, void __user *to, const void *from, size_t size,
		      u64 rest)
{
	unsigned long left;

	if (!size)
		return 0;
	if (!access_ok(to, size))
		return -EFAULT;
	pagefault_disable();
	left = __copy_to_user_inatomic(to, from, size);
	pagefault_enable();
	if (!left)
		return 0;
	left = size - left;
	return miss(call, NEURON_MISS_WRITE, (unsigned long)to + left, rest - left);
}

/* Is neuron_call_write() likely to work? For those who would work in vain otherwise */
int neuron_call_there(struct neuron_call *call, const void __user *at, size_t size, u64 rest)
{
	const void __user *end = at + size;
	unsigned long missing = 0, step;
	u8 byte;

	if (!access_ok(at, size))
		return -EFAULT;
	pagefault_disable();
	for (; at < end && !missing; at += step, rest -= step) {
		missing = __copy_from_user_inatomic(&byte, at, 1);
		step = missing ? 0 : PAGE_SIZE - offset_in_page(at);
	}
	pagefault_enable();
	return missing ? miss(call, NEURON_MISS_WRITE, (unsigned long)at, rest) : 0;
}

/*
 * Copies all of a list that the argument points to, the same for every run; it is freed with the
 * call
 */
int neuron_call_fetch_list(struct neuron_call *call, unsigned int list, const void __user *from,
			   size_t size, void **data)
{
	struct neuron_call_list *l = &call->lists[list];
	int ret;

	if (!l->data) {
		l->data = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!l->data)
			return -ENOMEM;
		l->read = false;
	}
	*data = l->data;
	if (l->read)
		return 0;
	ret = neuron_call_read(call, l->data, from, size, size);
	l->read = !ret;
	return ret;
}

int neuron_call_fetch(struct neuron_call *call, const void __user *from, size_t size, void **data)
{
	return neuron_call_fetch_list(call, NEURON_CALL_LIST, from, size, data);
}

/* The next list of that kind is another one */
void neuron_call_drop(struct neuron_call *call, unsigned int list)
{
	kvfree(call->lists[list].data);
	call->lists[list] = (struct neuron_call_list){};
}

/*
 * Asked before each piece of work that may be without an end in all: -EFAULT after so much of it,
 * for everything to be let go of and to be gone on with if nobody has killed the caller
 */
int neuron_call_work(struct neuron_call *call, u64 size)
{
	if (call->worked >= BATCH_SIZE)
		return miss(call, NEURON_MISS_RESCHED, 0, 0);
	call->worked += max_t(u64, size, BATCH_PIECE);
	return 0;
}

/* Pins n pages from uaddr on, all or none; write: the chip will write to them */
int neuron_call_pin(struct neuron_call *call, unsigned long uaddr, unsigned int n, bool write,
		    struct page **pages)
{
	int got;

	if (call->pinned == n && call->pinned_at == uaddr) {
		memcpy(pages, call->pages, n * sizeof(*pages));
		call->pinned = 0;
		return 0;
	}
	got = pin_user_pages_fast(uaddr & PAGE_MASK, n, FOLL_NOFAULT | (write ? FOLL_WRITE : 0),
				  pages);
	if (got == n)
		return 0;
	if (got > 0)
		unpin_user_pages(pages, got);
	call->pin_write = write;
	return miss(call, NEURON_MISS_PIN, uaddr, n);
}

static void pins_drop(struct neuron_call *call)
{
	if (call->pinned)
		unpin_user_pages(call->pages, call->pinned);
	call->pinned = 0;
	kvfree(call->pages);
	call->pages = NULL;
}

static int pin_now(struct neuron_call *call)
{
	unsigned int n = call->miss_size;
	int got;

	pins_drop(call);
	call->pages = kvmalloc_array(n, sizeof(*call->pages), GFP_KERNEL);
	if (!call->pages)
		return -ENOMEM;
	got = pin_user_pages_fast(call->miss_at & PAGE_MASK, n, call->pin_write ? FOLL_WRITE : 0,
				  call->pages);
	if (got <= 0)
		return got ?: -EFAULT;
	call->pinned = got;
	call->pinned_at = call->miss_at;
	return got == n ? 0 : -EFAULT;
}

/* Waits for what was missed, with nothing held. 0: it is there now, for a moment at least */
int neuron_call_wait(struct neuron_call *call)
{
	u64 size = min_t(u64, call->miss_size, AHEAD), left;
	enum neuron_miss kind = call->miss;

	call->miss = NEURON_MISS_NONE;
	call->worked = 0;
	if (fatal_signal_pending(current))
		return -EINTR;
	if (kind == NEURON_MISS_RESCHED)
		return 0;
	if (kind == NEURON_MISS_PIN)
		return pin_now(call);
	if (kind == NEURON_MISS_READ)
		left = fault_in_readable((const char __user *)call->miss_at, size);
	else
		left = fault_in_safe_writeable((const char __user *)call->miss_at, size);
	return left < size ? 0 : -EFAULT;
}

void neuron_call_end(struct neuron_call *call)
{
	unsigned int i;

	pins_drop(call);
	for (i = 0; i < NEURON_CALL_LISTS; i++)
		neuron_call_drop(call, i);
}
