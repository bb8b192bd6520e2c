/* SPDX-License-Identifier: MIT */
/* Calls of an open waiter (ndl.c) to its backend */
#include <stdlib.h>

#include "ndl_priv.h"

int ndl_wait_look(struct ndl_waiter *waiter)
{
	return waiter->dev->ops->wait_look(waiter->dev, waiter);
}

int ndl_wait(struct ndl_waiter *waiter, uint64_t timeout_us)
{
	return waiter->dev->ops->wait(waiter->dev, waiter, timeout_us);
}

void ndl_wait_wake(struct ndl_waiter *waiter)
{
	waiter->dev->ops->wait_wake(waiter->dev, waiter);
}

void ndl_wait_lend(struct ndl_waiter *waiter)
{
	if (waiter && waiter->dev->ops->wait_lend)
		waiter->dev->ops->wait_lend(waiter->dev, waiter);
}

bool ndl_wait_work(struct ndl_waiter *waiter)
{
	return waiter && waiter->dev->ops->wait_work &&
	       waiter->dev->ops->wait_work(waiter->dev, waiter);
}

void ndl_wait_leave(struct ndl_waiter *waiter)
{
	if (waiter && waiter->dev->ops->wait_leave)
		waiter->dev->ops->wait_leave(waiter->dev, waiter);
}

void ndl_wait_close(struct ndl_waiter *waiter)
{
	if (!waiter)
		return;
	waiter->dev->ops->wait_close(waiter->dev, waiter);
	free(waiter);
}
