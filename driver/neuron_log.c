// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space asked for and did not get, in the kernel log.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/sched.h>

#include "neuron_device.h"
#include "neuron_log.h"

/* Says what an error means here; NULL: it is no refusal */
static const char *refusal_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return "no such handle, a value out of range, or the chip is not ready";
	case -EACCES:
		return "not attached, or it is another process's";
	case -EFAULT:
		return "a bad pointer";
	case -E2BIG:
		return "too much at once, a range that is not in its chunk, or no such core";
	case -ENOMEM:
		return "no memory";
	case -EBUSY:
		return "others use it";
	case -EIO:
		return "what it had on the chip is lost, or the chip failed";
	case -ETIMEDOUT:
		return "the chip did not answer in time";
	case -ENOENT:
		return "there is none";
	case -ENXIO:
		return "no such queue or address, or another size of its argument";
	case -ENODEV:
		return "the device is gone";
	case -EPERM:
	case -ENOSYS:
	case -ENOTTY:
	case -ENOTSUPP:
		return "not on this chip";
	default:
		return NULL;
	}
}

/**
 * neuron_refused() - log what was refused to the calling process, and why
 * @nd: the device
 * @what: what it asked for
 * @err: what it gets, -errno; results that are no refusal are not logged
 *
 * Everything that user space asks for and does not get comes through here.
 */
void neuron_refused(struct neuron_device *nd, const char *what, int err)
{
	const char *reason = err < 0 ? refusal_reason(err) : NULL;
	char comm[TASK_COMM_LEN];

	if (!reason)
		return;
	get_task_comm(comm, current);
	pr_notice_ratelimited("nd%d: %*pE[%d]: %s refused (%d): %s\n", nd->index,
			      (int)strlen(comm), comm, current->tgid, what, err, reason);
}
