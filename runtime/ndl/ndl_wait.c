/* SPDX-License-Identifier: MIT */
/* Calls of an open waiter (ndl.c) to its backend */
#include <stdlib.h>

#include "ndl_priv.h"

int ndlx_wait_look(struct ndlx_waiter *waiter)
{
	return waiter->dev->ops->wait_look(waiter->dev, waiter);
}

int ndlx_wait(struct ndlx_waiter *waiter, uint64_t timeout_us)
{
	return waiter->dev->ops->wait(waiter->dev, waiter, timeout_us);
}

void ndlx_wait_wake(struct ndlx_waiter *waiter)
{
	waiter->dev->ops->wait_wake(waiter->dev, waiter);
}

void ndlx_wait_lend(struct ndlx_waiter *waiter)
{
	if (waiter && waiter->dev->ops->wait_lend)
		waiter->dev->ops->wait_lend(waiter->dev, waiter);
}

bool ndlx_wait_work(struct ndlx_waiter *waiter)
{
	return waiter && waiter->dev->ops->wait_work &&
	       waiter->dev->ops->wait_work(waiter->dev, waiter);
}

void ndlx_wait_leave(struct ndlx_waiter *waiter)
{
	if (waiter && waiter->dev->ops->wait_leave)
		waiter->dev->ops->wait_leave(waiter->dev, waiter);
}

void ndlx_wait_close(struct ndlx_waiter *waiter)
{
	if (!waiter)
		return;
	waiter->dev->ops->wait_close(waiter->dev, waiter);
	free(waiter);
}
