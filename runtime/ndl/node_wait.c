/* SPDX-License-Identifier: MIT */
/*
 * Waiting on a node: the waiter has a file of its own, whose pread() says how many entries a core's
 * notification queues got and whose poll() sleeps until there are more (docs/driver.md, Waiting).
 * The public driver has neither call and refuses the pread(). An eventfd beside it lets other
 * threads wake the sleeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node.h"

int node_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	eventfd_t wakes;
	ssize_t n;

	if (atomic_exchange(&waiter->woken, false))
		eventfd_read(waiter->wake_fd, &wakes);
	n = pread(waiter->fd, &waiter->seen, sizeof(waiter->seen),
		  (off_t)(waiter->nc * sizeof(waiter->seen)));
	if (n == sizeof(waiter->seen))
		return 0;
	return n < 0 && errno != EINVAL ? -errno : -ENOTSUP;
}

int node_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	int err;

	waiter->fd = node_open(dev->device_index, O_RDWR);
	if (waiter->fd < 0)
		return waiter->fd;
	err = node_wait_look(dev, waiter);
	if (!err) {
		waiter->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		err = waiter->wake_fd < 0 ? -errno : 0;
	}
	if (err)
		close(waiter->fd);
	return err;
}

int node_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us)
{
	struct timespec timeout = { (time_t)(timeout_us / 1000000),
				    (long)(timeout_us % 1000000) * 1000 };
	struct pollfd pfd[] = {
		{ .fd = waiter->fd, .events = POLLIN },
		{ .fd = waiter->wake_fd, .events = POLLIN },
	};
	int n = ppoll(pfd, 2, &timeout, NULL);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		return -ETIMEDOUT;
	return pfd[0].revents & (POLLERR | POLLHUP) ? -ENODEV : 0;
}

void node_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	/*
	 * the eventfd is written before woken is set, so a look that finds woken has something to
	 * read
	 */
	eventfd_write(waiter->wake_fd, 1);
	atomic_store(&waiter->woken, true);
}

void node_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	close(waiter->wake_fd);
	close(waiter->fd);
}
