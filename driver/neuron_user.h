/* SPDX-License-Identifier: GPL-2.0-only */
/* User memory of an ioctl, neuron_user.c. */
#ifndef NEURON_USER_H
#define NEURON_USER_H

#include <linux/types.h>

struct page;

enum neuron_miss { NEURON_MISS_NONE, NEURON_MISS_READ, NEURON_MISS_WRITE, NEURON_MISS_PIN };

/* One ioctl, which may take several runs of its handler */
struct neuron_call {
	void __user *user; /* its argument */
	bool again; /* not the first run */
	u64 done; /* bytes of a copy that earlier runs have finished */
	void *list;
	bool list_read;
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
int neuron_call_pin(struct neuron_call *call, unsigned long uaddr, unsigned int n, bool write,
		    struct page **pages);
int neuron_call_wait(struct neuron_call *call);
void neuron_call_end(struct neuron_call *call);

#endif
