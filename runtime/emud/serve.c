/* SPDX-License-Identifier: MIT */
/*
 * What each call of a client does. A call is the server's own copy; words are checked here where
 * libndl's functions do not, and data that is looked at before it is used is copied first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve.h"

static int nop(struct serve *s)
{
	return 0;
}

/* Devices. That they come and go is under the client's lock for writing. */

static int open_device(struct emud_client *client, uint8_t index)
{
	ndlx_device_t *dev;
	int ret;

	if (index >= EMU_MAX_CHIPS)
		return -ENODEV;
	if (client->dev[index])
		return -EALREADY;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->device_index = index;
	ret = emu_device_open(client->machine, index, client->user, dev);
	if (ret)
		free(dev);
	else
		client->dev[index] = dev;
	return ret;
}

static int do_open(struct emud_channel *ch, uint8_t index)
{
	struct emud_client *client = ch->client;
	struct wire_device out = { 0 };
	int ret;

	pthread_rwlock_wrlock(&client->lock);
	ret = open_device(client, index);
	if (!ret) {
		const ndlx_device_t *dev = client->dev[index];

		out.type = dev->device_type;
		out.revision = dev->device_revision;
		out.neighbours = dev->connected_device_count;
		memcpy(out.neighbour, dev->connected_devices, sizeof(out.neighbour));
	}
	pthread_rwlock_unlock(&client->lock);
	memcpy(ch->data, &out, sizeof(out));
	return ret;
}

static int do_close(struct emud_channel *ch, uint8_t index)
{
	struct emud_client *client = ch->client;
	ndlx_device_t *dev;

	if (index >= EMU_MAX_CHIPS)
		return -ENODEV;
	pthread_rwlock_wrlock(&client->lock);
	dev = client->dev[index];
	client->dev[index] = NULL;
	if (dev)
		dev->ops->close(dev);
	pthread_rwlock_unlock(&client->lock);
	free(dev);
	return dev ? 0 : -ENODEV;
}

/* The machine */

static int links(struct serve *s)
{
	bool up[NEURON_PORTS_MAX] = { false };
	int ret = ndlx_emu_machine.links(machine(s), (int)s->arg[0], up);

	emud_data_out(s, up, sizeof(up));
	return ret;
}

static int mark(struct serve *s)
{
	uint32_t first = 0, available = 0;
	int ret;

	if (!narrow(s->arg, 3))
		return -EINVAL;
	ret = emu_mark(machine(s), user(s), (uint32_t)s->arg[0], (uint32_t)s->arg[1],
		       (uint32_t)s->arg[2], &first, &available);
	s->arg[0] = first;
	s->arg[1] = available;
	return ret;
}

static int unmark(struct serve *s)
{
	return narrow(s->arg, 2)
		       ? emu_unmark(machine(s), user(s), (uint32_t)s->arg[0], (uint32_t)s->arg[1])
		       : -EINVAL;
}

/* Registers */

static int bar_read(struct serve *s)
{
	const uint64_t *offset;
	uint32_t n = (uint32_t)s->arg[1];

	if (!fits(s->arg[1], sizeof(*offset)))
		return -E2BIG;
	offset = emud_data_copy(s, n * sizeof(*offset));
	return offset ? ndlx_bar_read(s->dev, (unsigned int)s->arg[0], offset,
				      (uint32_t *)(void *)s->channel->data, n)
		      : -ENOMEM;
}

static int bar_write(struct serve *s)
{
	const uint64_t *offset;
	uint32_t n = (uint32_t)s->arg[1];

	if (!fits(s->arg[1], sizeof(*offset) + sizeof(uint32_t)))
		return -E2BIG;
	offset = emud_data_copy(s, n * (sizeof(*offset) + sizeof(uint32_t)));
	return offset ? ndlx_bar_write(s->dev, (unsigned int)s->arg[0], offset,
				       (const uint32_t *)(const void *)(offset + n), n)
		      : -ENOMEM;
}

static int counters(struct serve *s)
{
	const uint64_t *addr;
	uint32_t n = (uint32_t)s->arg[0];

	if (!fits(s->arg[0], sizeof(*addr)))
		return -E2BIG;
	addr = emud_data_copy(s, n * sizeof(*addr));
	return addr ? ndlx_read_hw_counters(s->dev, addr, (uint32_t *)(void *)s->channel->data, n)
		    : -ENOMEM;
}

/* Memory */

static int info(struct serve *s, uint64_t handle, uint64_t *out)
{
	return s->dev->ops->mem_info(s->dev, handle, &out[0], &out[1]);
}

static int alloc(struct serve *s)
{
	const struct ndlx_mem_params p = {
		.size = s->arg[0],
		.align = s->arg[1],
		.host = s->arg[2],
		.channel = (uint32_t)s->arg[3],
		.region = (uint32_t)s->arg[4],
		.nc = (uint32_t)s->arg[5],
		.type = (uint32_t)s->arg[6],
	};
	int ret = narrow(s->arg + 2, 5) ? ndlx_memory_alloc(s->dev, &p, &s->arg[0]) : -EINVAL;

	return ret ? ret : info(s, s->arg[0], &s->arg[1]);
}

static int mem_free(struct serve *s)
{
	return ndlx_memory_free(s->dev, s->arg[0]);
}

static int mem_info(struct serve *s)
{
	return info(s, s->arg[0], s->arg);
}

static int mem_share(struct serve *s)
{
	int fd, ret = emu_mem_share(s->dev, s->arg[0], &fd);

	return ret ? ret : emud_send_file(s, fd);
}

static int mem_copy(struct serve *s)
{
	if (s->arg[4] > WIRE_PIECE)
		return -E2BIG;
	return ndlx_memory_copy(s->dev, s->arg[0], s->arg[1], s->arg[2], s->arg[3], s->arg[4]);
}

static int buf_copy(struct serve *s)
{
	if (s->arg[2] > WIRE_DATA)
		return -E2BIG;
	return s->dev->ops->buf_copy(s->dev, s->arg[0], s->channel->data, s->arg[1], s->arg[2],
				     s->arg[3], false);
}

static int mem_set(struct serve *s)
{
	if (s->arg[3] > WIRE_PIECE)
		return -E2BIG;
	return ndlx_memset(s->dev, s->arg[0], s->arg[1], (uint32_t)s->arg[2], s->arg[3]);
}

/* The room is what the client has; what does not fit is counted. */
static int chunks(struct serve *s)
{
	struct neuron_ioctl_mem_chunk_info *list = emud_data_copy(s, 0);
	uint32_t n = (uint32_t)s->arg[1];
	const uint32_t capacity = n;
	int ret;

	if (!fits(s->arg[1], sizeof(*list)))
		return -E2BIG;
	if (!list)
		return -ENOMEM;
	memset(list, 0, capacity * sizeof(*list));
	ret = ndlx_dram_chunks(s->dev, (uint32_t)s->arg[0], list, &n);
	s->arg[0] = n;
	emud_data_out(s, list, (n < capacity ? n : capacity) * sizeof(*list));
	return ret;
}

static int core_write(struct serve *s)
{
	if (s->arg[2] > WIRE_DATA)
		return -E2BIG;
	return narrow(s->arg, 1) ? ndlx_core_write(s->dev, (uint32_t)s->arg[0], s->arg[1],
						   s->channel->data, s->arg[2])
				 : -EINVAL;
}

static const struct emud_op ops[WIRE_OPS] = {
	[WIRE_NOP] = { nop, false },	      [WIRE_LINKS] = { links, false },
	[WIRE_MARK] = { mark, false },	      [WIRE_UNMARK] = { unmark, false },
	[WIRE_BAR_READ] = { bar_read, true }, [WIRE_BAR_WRITE] = { bar_write, true },
	[WIRE_COUNTERS] = { counters, true }, [WIRE_ALLOC] = { alloc, true },
	[WIRE_FREE] = { mem_free, true },     [WIRE_INFO] = { mem_info, true },
	[WIRE_SHARE] = { mem_share, true },   [WIRE_COPY] = { mem_copy, true },
	[WIRE_BUF] = { buf_copy, true },      [WIRE_SET] = { mem_set, true },
	[WIRE_CHUNKS] = { chunks, true },     [WIRE_CORE_WRITE] = { core_write, true },
};

/* The client's lock is held for reading. */
static int dispatch(struct emud_channel *ch, struct wire_call *call)
{
	struct serve s = { .channel = ch, .arg = call->arg };
	const struct emud_op *op;

	if (call->op >= WIRE_OPS)
		return -ENOTSUP;
	op = ops[call->op].call ? &ops[call->op] : &emud_chip_ops[call->op];
	if (!op->call)
		return -ENOTSUP;
	if (call->device < EMU_MAX_CHIPS)
		s.dev = ch->client->dev[call->device];
	if (op->device && !s.dev)
		return -EACCES;
	return (op->device ? device_gone(s.dev) : 0) ?: op->call(&s);
}

void emud_serve(struct emud_channel *ch, struct wire_call *call)
{
	/* a thread that may be held up executes no core: another one goes on with it */
	if (!call->posted && call->op != WIRE_ENTRIES)
		emud_unlend(ch);
	if (call->op == WIRE_OPEN) {
		call->result = do_open(ch, call->device);
	} else if (call->op == WIRE_CLOSE) {
		call->result = do_close(ch, call->device);
	} else {
		pthread_rwlock_rdlock(&ch->client->lock);
		call->result = dispatch(ch, call);
		pthread_rwlock_unlock(&ch->client->lock);
	}
}
