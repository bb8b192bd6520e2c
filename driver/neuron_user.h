/* SPDX-License-Identifier: GPL-2.0-only */
/* User memory of an ioctl, neuron_user.c. */
#ifndef NEURON_USER_H
#define NEURON_USER_H

#include <linux/types.h>

struct page;

enum neuron_miss {
	NEURON_MISS_NONE,
	NEURON_MISS_READ,
	NEURON_MISS_WRITE,
	NEURON_MISS_PIN,
	NEURON_MISS_RESCHED, /* nothing: the processor is given to others */
};

/* The memory that an argument points to; a batch of a list points further */
enum { NEURON_CALL_LIST, NEURON_CALL_BATCH, NEURON_CALL_LISTS };

struct neuron_call_list {
	void *data;
	bool read;
};

/* One ioctl, which may take several runs of its handler */
struct neuron_call {
	void __user *user; /* its argument */
	bool again; /* not the first run */
	u64 done; /* bytes of a copy that earlier runs have finished */
	u32 op, batch; /* operations of a batch, and batches, that they have finished */
	u64 worked; /* in this run */
	struct neuron_call_list lists[NEURON_CALL_LISTS];
	struct page **pages; /* pinned for the next run */
	unsigned int pinned;
	unsigned long pinned_at;
	bool pin_write;
	enum neuron_miss miss; /* why the last run ended, if it returned -EFAULT */
	unsigned long miss_at;
	u64 miss_size; /* bytes, or pages to pin */
};

int neuron_call_read(struct neuron_call *call, void *to, const void __user *from, size_t size,
		     u64 rest);
int neuron_call_write(struct neuron_call *call, void __user *to, const void *from, size_t size,
		      u64 rest);
int neuron_call_there(struct neuron_call *call, const void __user *at, size_t size, u64 rest);
int neuron_call_fetch(struct neuron_call *call, const void __user *from, size_t size, void **data);
int neuron_call_fetch_list(struct neuron_call *call, unsigned int list, const void __user *from,
			   size_t size, void **data);
void neuron_call_drop(struct neuron_call *call, unsigned int list);
int neuron_call_work(struct neuron_call *call, u64 size);
int neuron_call_pin(struct neuron_call *call, unsigned long uaddr, unsigned int n, bool write,
		    struct page **pages);
int neuron_call_wait(struct neuron_call *call);
void neuron_call_end(struct neuron_call *call);

#endif
