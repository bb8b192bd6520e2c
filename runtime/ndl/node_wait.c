/* SPDX-License-Identifier: MIT */
/*
 * Waiting on a node: a file of the waiter's own, whose pread() says how many entries a core's
 * notification queues got and whose poll() sleeps until there are more (docs/driver.md, Waiting).
 * The public driver has neither call and refuses the pread().
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "node.h"

int node_wait_look(ndl_device_t *dev, struct ndl_waiter *waiter)
{
	ssize_t n = pread(waiter->fd, &waiter->seen, sizeof(waiter->seen),
			  (off_t)(waiter->nc * sizeof(waiter->seen)));

	if (n == sizeof(waiter->seen))
		return 0;
	return n < 0 && errno != EINVAL ? -errno : -ENOTSUP;
}

int node_wait_open(ndl_device_t *dev, struct ndl_waiter *waiter)
{
	int err;

	waiter->fd = node_open(dev->device_index);
	if (waiter->fd < 0)
		return waiter->fd;
	err = node_wait_look(dev, waiter);
	if (err)
		close(waiter->fd);
	return err;
}

int node_wait(ndl_device_t *dev, struct ndl_waiter *waiter, uint64_t timeout_us)
{
	struct timespec timeout = { (time_t)(timeout_us / 1000000),
				    (long)(timeout_us % 1000000) * 1000 };
	struct pollfd pfd = { .fd = waiter->fd, .events = POLLIN };
	int n = ppoll(&pfd, 1, &timeout, NULL);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		return -ETIMEDOUT;
	return pfd.revents & (POLLERR | POLLHUP) ? -ENODEV : 0;
}

void node_wait_close(ndl_device_t *dev, struct ndl_waiter *waiter)
{
	close(waiter->fd);
}
