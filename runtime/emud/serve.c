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

#include "emud.h"

struct serve {
	struct emud_channel *channel;
	ndl_device_t *dev; /* the call's; NULL for a call that needs none */
	uint64_t *arg;
};

static struct emu_machine *machine(const struct serve *s)
{
	return s->channel->client->machine;
}

static uint8_t user(const struct serve *s)
{
	return s->channel->client->user;
}

/* A number of things that a call's data may have */
static bool fits(uint64_t count, size_t each)
{
	return count <= WIRE_DATA / each;
}

/* The call's data, which nobody changes any more; NULL: too much, or no memory */
static void *data_copy(const struct serve *s, uint64_t size)
{
	struct emud_channel *ch = s->channel;

	if (size > WIRE_DATA)
		return NULL;
	if (!ch->copy)
		ch->copy = malloc(WIRE_DATA);
	if (ch->copy)
		memcpy(ch->copy, ch->data, size);
	return ch->copy;
}

static void data_out(const struct serve *s, const void *p, size_t size)
{
	memcpy(s->channel->data, p, size);
}

/* Sends a file beside the answer. The socket is the client's own to fill: then it gets none. */
static int send_file(const struct serve *s, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(s->channel->client->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int nop(struct serve *s)
{
	return 0;
}

/* Devices. That they come and go is under the client's lock for writing. */

static int open_device(struct emud_client *client, uint8_t index)
{
	ndl_device_t *dev;
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
		const ndl_device_t *dev = client->dev[index];

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
	ndl_device_t *dev;

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
	int ret = ndl_emu_machine.links(machine(s), (int)s->arg[0], up);

	data_out(s, up, sizeof(up));
	return ret;
}

static bool narrow(const uint64_t *arg, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (arg[i] > UINT32_MAX)
			return false;
	return true;
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
	offset = data_copy(s, n * sizeof(*offset));
	return offset ? ndl_bar_read(s->dev, (unsigned int)s->arg[0], offset,
				     (uint32_t *)(void *)s->channel->data, n)
		      : -ENOMEM;
}

static int bar_write(struct serve *s)
{
	const uint64_t *offset;
	uint32_t n = (uint32_t)s->arg[1];

	if (!fits(s->arg[1], sizeof(*offset) + sizeof(uint32_t)))
		return -E2BIG;
	offset = data_copy(s, n * (sizeof(*offset) + sizeof(uint32_t)));
	return offset ? ndl_bar_write(s->dev, (unsigned int)s->arg[0], offset,
				      (const uint32_t *)(const void *)(offset + n), n)
		      : -ENOMEM;
}

static int counters(struct serve *s)
{
	const uint64_t *addr;
	uint32_t n = (uint32_t)s->arg[0];

	if (!fits(s->arg[0], sizeof(*addr)))
		return -E2BIG;
	addr = data_copy(s, n * sizeof(*addr));
	return addr ? ndl_read_hw_counters(s->dev, addr, (uint32_t *)(void *)s->channel->data, n)
		    : -ENOMEM;
}

/* Memory */

static int info(struct serve *s, uint64_t handle, uint64_t *out)
{
	return s->dev->ops->mem_info(s->dev, handle, &out[0], &out[1]);
}

static int alloc(struct serve *s)
{
	const struct ndl_mem_params p = {
		.size = s->arg[0],
		.align = s->arg[1],
		.host = s->arg[2],
		.channel = (uint32_t)s->arg[3],
		.region = (uint32_t)s->arg[4],
		.nc = (uint32_t)s->arg[5],
		.type = (uint32_t)s->arg[6],
	};
	int ret = narrow(s->arg + 2, 5) ? ndl_memory_alloc(s->dev, &p, &s->arg[0]) : -EINVAL;

	return ret ? ret : info(s, s->arg[0], &s->arg[1]);
}

static int mem_free(struct serve *s)
{
	return ndl_memory_free(s->dev, s->arg[0]);
}

static int mem_info(struct serve *s)
{
	return info(s, s->arg[0], s->arg);
}

static int mem_share(struct serve *s)
{
	int fd, ret = emu_mem_share(s->dev, s->arg[0], &fd);

	return ret ? ret : send_file(s, fd);
}

static int mem_copy(struct serve *s)
{
	if (s->arg[4] > WIRE_PIECE)
		return -E2BIG;
	return ndl_memory_copy(s->dev, s->arg[0], s->arg[1], s->arg[2], s->arg[3], s->arg[4]);
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
	return ndl_memset(s->dev, s->arg[0], s->arg[1], (uint32_t)s->arg[2], s->arg[3]);
}

/* The room is what the client has; what does not fit is counted. */
static int chunks(struct serve *s)
{
	struct neuron_ioctl_mem_chunk_info *list = data_copy(s, 0);
	uint32_t n = (uint32_t)s->arg[1];
	const uint32_t room = n;
	int ret;

	if (!fits(s->arg[1], sizeof(*list)))
		return -E2BIG;
	if (!list)
		return -ENOMEM;
	memset(list, 0, room * sizeof(*list));
	ret = ndl_dram_chunks(s->dev, (uint32_t)s->arg[0], list, &n);
	s->arg[0] = n;
	data_out(s, list, (n < room ? n : room) * sizeof(*list));
	return ret;
}

static int core_write(struct serve *s)
{
	if (s->arg[2] > WIRE_DATA)
		return -E2BIG;
	return narrow(s->arg, 1) ? ndl_core_write(s->dev, (uint32_t)s->arg[0], s->arg[1],
						  s->channel->data, s->arg[2])
				 : -EINVAL;
}

/* Queues */

static int eng_set(struct serve *s)
{
	return narrow(s->arg, 2)
		       ? ndl_dma_eng_set_state(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1])
		       : -EINVAL;
}

static int eng_get(struct serve *s)
{
	struct neuron_dma_eng_state state = { 0 };
	int ret = narrow(s->arg, 1) ? ndl_dma_eng_get_state(s->dev, (uint32_t)s->arg[0], &state)
				    : -EINVAL;

	data_out(s, &state, sizeof(state));
	return ret;
}

static int queue_init(struct serve *s)
{
	const struct ndl_queue_params *p;

	if (s->arg[0] >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	p = data_copy(s, s->arg[0] * sizeof(*p));
	return p ? ndl_dma_queue_init_batch(s->dev, p, (uint32_t)s->arg[0]) : -ENOMEM;
}

static int queue_release(struct serve *s)
{
	return narrow(s->arg, 2)
		       ? ndl_dma_queue_release(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1])
		       : -EINVAL;
}

static int queue_start(struct serve *s)
{
	return narrow(s->arg, 4)
		       ? ndl_dma_queue_copy_start(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1],
						  (uint32_t)s->arg[2], (uint32_t)s->arg[3])
		       : -EINVAL;
}

static int queue_state(struct serve *s)
{
	struct neuron_dma_queue_state state[2] = { 0 };
	int ret = narrow(s->arg, 2)
			  ? ndl_dma_queue_get_state(s->dev, (uint32_t)s->arg[0],
						    (uint32_t)s->arg[1], &state[0], &state[1])
			  : -EINVAL;

	data_out(s, state, sizeof(state));
	return ret;
}

static int descs_in(struct serve *s)
{
	const void *descs;

	if (!fits(s->arg[2], NEURON_UDMA_DESC_SIZE))
		return -E2BIG;
	descs = data_copy(s, s->arg[2] * NEURON_UDMA_DESC_SIZE);
	return descs ? ndl_dma_copy_descriptors(s->dev, s->arg[0], descs, s->arg[1],
						(uint32_t)s->arg[2],
						(enum neuron_dma_queue_type)s->arg[3])
		     : -ENOMEM;
}

static int descs_out(struct serve *s)
{
	if (!narrow(s->arg, 5) || !fits(s->arg[4], NEURON_UDMA_DESC_SIZE))
		return -EFBIG;
	return ndl_dma_descriptor_copyout(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1],
					  (enum neuron_dma_queue_type)s->arg[2],
					  (uint32_t)s->arg[3], (uint32_t)s->arg[4],
					  s->channel->data);
}

/* Cores */

static int semaphore(struct serve *s)
{
	uint32_t value = (uint32_t)s->arg[3];
	int ret;

	if (s->arg[0] != NEURON_SEM_READ && s->arg[0] != NEURON_SEM_SET &&
	    s->arg[0] != NEURON_SEM_INC && s->arg[0] != NEURON_SEM_DEC)
		return -EINVAL;
	if (!narrow(s->arg, 3))
		return -E2BIG;
	ret = s->dev->ops->semaphore(s->dev, (enum neuron_sem_access)s->arg[0], (uint32_t)s->arg[1],
				     (uint32_t)s->arg[2], &value);
	s->arg[0] = value;
	return ret;
}

static int event(struct serve *s)
{
	uint32_t value = (uint32_t)s->arg[3];
	int ret;

	if (!narrow(s->arg, 3))
		return -E2BIG;
	ret = s->dev->ops->event(s->dev, s->arg[0], (uint32_t)s->arg[1], (uint32_t)s->arg[2],
				 &value);
	s->arg[0] = value;
	return ret;
}

static int nq_init(struct serve *s)
{
	const struct ndl_nq_params p = { .nc = (uint32_t)s->arg[0],
					 .type = (uint32_t)s->arg[1],
					 .engine = (uint32_t)s->arg[2],
					 .size = (uint32_t)s->arg[3],
					 .fresh = s->arg[4] };
	void *va;
	int ret = narrow(s->arg, 5) ? ndl_notification_init(s->dev, &p, &va) : -EINVAL;

	if (!ret)
		s->arg[0] = (uint64_t)((uint8_t *)va - s->channel->client->base);
	return ret;
}

static int core_ok(const struct serve *s)
{
	return s->arg[0] < s->dev->gen->cores ? 0 : -E2BIG;
}

/* Others' cores say nothing to the client. */
static bool core_mine(const struct serve *s)
{
	struct emu_chip *chip = emu_chip(s->dev);
	bool mine;

	pthread_mutex_lock(&chip->lock);
	mine = chip->nc[s->arg[0]].owner == user(s);
	pthread_mutex_unlock(&chip->lock);
	return mine;
}

static int entries(struct serve *s)
{
	int ret = core_ok(s);

	if (!ret)
		s->arg[0] =
			core_mine(s) ? emu_entries(emu_chip(s->dev), (unsigned int)s->arg[0]) : 0;
	return ret;
}

static int arm(struct serve *s)
{
	int ret = core_ok(s);

	if (!ret && core_mine(s))
		emu_arm(emu_chip(s->dev), (unsigned int)s->arg[0], (uint32_t)s->arg[1]);
	return ret;
}

void emud_unlend(struct emud_channel *ch)
{
	if (!ch->lent)
		return;
	ch->lent = false;
	ncore_core_leave(ch->lent_chip, ch->lent_core);
	__atomic_store_n(&ch->shared->working, 0, __ATOMIC_RELEASE);
}

static int lend(struct serve *s)
{
	struct emud_channel *ch = s->channel;
	int ret = core_ok(s);

	if (ret || !core_mine(s))
		return ret;
	emud_unlend(ch);
	ch->lent = true;
	ch->lent_chip = emu_chip(s->dev)->core;
	ch->lent_core = (uint32_t)s->arg[0];
	__atomic_store_n(&ch->shared->working, 1, __ATOMIC_RELEASE);
	ncore_core_lend(ch->lent_chip, ch->lent_core);
	return 0;
}

static int leave(struct serve *s)
{
	emud_unlend(s->channel);
	return 0;
}

/* The datastore is the owner's to write until it has mapped it, and from then on nobody else's. */
static int nds_open(struct serve *s)
{
	const int pid = (int)s->arg[0];
	const bool own = !pid || pid == s->channel->client->pid;
	void *data;
	size_t size;
	int fd, ret = own ? ndl_nds_open(s->dev, pid, &data, &size) : 0;

	if (!ret) {
		ret = emu_nds_fd(s->dev, pid, false, &fd);
		if (!ret) {
			ret = send_file(s, fd);
			close(fd);
		}
		if (ret && own)
			ndl_nds_close(s->dev, pid, data, size);
	}
	return ret;
}

static int nds_seal(struct serve *s)
{
	int fd, ret = emu_nds_fd(s->dev, 0, true, &fd);

	if (!ret)
		close(fd);
	return ret;
}

static int nds_close(struct serve *s)
{
	struct emu_chip *chip = emu_chip(s->dev);

	return ndl_nds_close(s->dev, 0, chip->seat[user(s)].nds, NDS_ENTRY_SIZE);
}

static int crwl(struct serve *s)
{
	struct neuron_uuid uuid;

	if (s->arg[0] > NDL_CRWL_WRITER_DOWNGRADE || !narrow(s->arg, 2))
		return -EINVAL;
	memcpy(&uuid, &s->arg[2], sizeof(uuid));
	return s->dev->ops->crwl(s->dev, (enum ndl_crwl)s->arg[0], (uint32_t)s->arg[1], &uuid);
}

static int reset(struct serve *s)
{
	uint32_t id = 0;
	int ret = narrow(s->arg, 1) ? ndl_reset_ncs(s->dev, (uint32_t)s->arg[0], &id) : -EINVAL;

	s->arg[0] = id;
	return ret;
}

static int ready(struct serve *s)
{
	int result = 1, ret = ndl_ready_ncs(s->dev, (uint32_t)s->arg[0], &result);

	s->arg[0] = (uint64_t)(unsigned int)result;
	return ret;
}

static int cinit(struct serve *s)
{
	uint32_t state = 0;
	int ret = narrow(s->arg, 2) ? ndl_nc_init_set_state(s->dev, (uint32_t)s->arg[0],
							    (uint32_t)s->arg[1], &state)
				    : -E2BIG;

	s->arg[0] = state;
	return ret;
}

static int started(struct serve *s)
{
	uint64_t count = 0;
	int ret = narrow(s->arg, 1)
			  ? ndl_nc_model_started_count(s->dev, (uint32_t)s->arg[0], &count)
			  : -E2BIG;

	s->arg[0] = count;
	return ret;
}

static int apps(struct serve *s)
{
	struct neuron_app_info *list;
	size_t n;
	int ret = ndl_get_all_apps_info(s->dev, &list, &n, (uint16_t)s->arg[0]);

	if (ret)
		return ret;
	s->arg[0] = n;
	data_out(s, list, n * sizeof(*list));
	free(list);
	return 0;
}

static int print(struct serve *s)
{
	char *text = data_copy(s, NEURON_PRINTK_MAX);

	if (!text)
		return -ENOMEM;
	return memchr(text, '\0', NEURON_PRINTK_MAX) ? ndl_printk(s->dev, text) : -EFAULT;
}

static const struct {
	int (*call)(struct serve *s);
	bool device; /* needs one that is open */
} ops[WIRE_OPS] = {
	[WIRE_NOP] = { nop, false },
	[WIRE_LINKS] = { links, false },
	[WIRE_MARK] = { mark, false },
	[WIRE_UNMARK] = { unmark, false },
	[WIRE_BAR_READ] = { bar_read, true },
	[WIRE_BAR_WRITE] = { bar_write, true },
	[WIRE_COUNTERS] = { counters, true },
	[WIRE_ALLOC] = { alloc, true },
	[WIRE_FREE] = { mem_free, true },
	[WIRE_INFO] = { mem_info, true },
	[WIRE_SHARE] = { mem_share, true },
	[WIRE_COPY] = { mem_copy, true },
	[WIRE_BUF] = { buf_copy, true },
	[WIRE_SET] = { mem_set, true },
	[WIRE_CHUNKS] = { chunks, true },
	[WIRE_CORE_WRITE] = { core_write, true },
	[WIRE_ENG_SET] = { eng_set, true },
	[WIRE_ENG_GET] = { eng_get, true },
	[WIRE_QUEUE_INIT] = { queue_init, true },
	[WIRE_QUEUE_RELEASE] = { queue_release, true },
	[WIRE_QUEUE_START] = { queue_start, true },
	[WIRE_QUEUE_STATE] = { queue_state, true },
	[WIRE_DESCS_IN] = { descs_in, true },
	[WIRE_DESCS_OUT] = { descs_out, true },
	[WIRE_SEMAPHORE] = { semaphore, true },
	[WIRE_EVENT] = { event, true },
	[WIRE_NQ] = { nq_init, true },
	[WIRE_ENTRIES] = { entries, true },
	[WIRE_ARM] = { arm, true },
	[WIRE_LEND] = { lend, true },
	[WIRE_LEAVE] = { leave, true },
	[WIRE_NDS_OPEN] = { nds_open, true },
	[WIRE_NDS_SEAL] = { nds_seal, true },
	[WIRE_NDS_CLOSE] = { nds_close, true },
	[WIRE_CRWL] = { crwl, true },
	[WIRE_RESET] = { reset, true },
	[WIRE_READY] = { ready, true },
	[WIRE_CINIT] = { cinit, true },
	[WIRE_STARTED] = { started, true },
	[WIRE_APPS] = { apps, true },
	[WIRE_PRINTK] = { print, true },
};

/* The client's lock is held for reading. */
static int dispatch(struct emud_channel *ch, struct wire_call *call)
{
	struct serve s = { .channel = ch, .arg = call->arg };

	if (call->op >= WIRE_OPS || !ops[call->op].call)
		return -ENOTSUP;
	if (call->device < EMU_MAX_CHIPS)
		s.dev = ch->client->dev[call->device];
	if (ops[call->op].device && !s.dev)
		return -EACCES;
	return ops[call->op].call(&s);
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
