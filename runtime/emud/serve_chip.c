/* SPDX-License-Identifier: MIT */
/* Calls about queues and cores, and the server's record of cores */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

/* Queues */

static int eng_set(struct serve *s)
{
	return narrow(s->arg, 2)
		       ? ndlx_dma_eng_set_state(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1])
		       : -EINVAL;
}

static int eng_get(struct serve *s)
{
	struct neuron_dma_eng_state state = { 0 };
	int ret = narrow(s->arg, 1) ? ndlx_dma_eng_get_state(s->dev, (uint32_t)s->arg[0], &state)
				    : -EINVAL;

	emud_data_out(s, &state, sizeof(state));
	return ret;
}

static int queue_init(struct serve *s)
{
	const struct ndlx_queue_params *p;

	if (s->arg[0] >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	p = emud_data_copy(s, s->arg[0] * sizeof(*p));
	return p ? ndlx_dma_queue_init_batch(s->dev, p, (uint32_t)s->arg[0]) : -ENOMEM;
}

static int queue_release(struct serve *s)
{
	return narrow(s->arg, 2)
		       ? ndlx_dma_queue_release(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1])
		       : -EINVAL;
}

static int queue_start(struct serve *s)
{
	return narrow(s->arg, 4)
		       ? ndlx_dma_queue_copy_start(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1],
						   (uint32_t)s->arg[2], (uint32_t)s->arg[3])
		       : -EINVAL;
}

static int queue_state(struct serve *s)
{
	struct neuron_dma_queue_state state[2] = { 0 };
	int ret = narrow(s->arg, 2)
			  ? ndlx_dma_queue_get_state(s->dev, (uint32_t)s->arg[0],
						     (uint32_t)s->arg[1], &state[0], &state[1])
			  : -EINVAL;

	emud_data_out(s, state, sizeof(state));
	return ret;
}

static int descs_in(struct serve *s)
{
	const void *descs;

	if (!fits(s->arg[2], NEURON_UDMA_DESC_SIZE))
		return -E2BIG;
	descs = emud_data_copy(s, s->arg[2] * NEURON_UDMA_DESC_SIZE);
	return descs ? ndlx_dma_copy_descriptors(s->dev, s->arg[0], descs, s->arg[1],
						 (uint32_t)s->arg[2],
						 (enum neuron_dma_queue_type)s->arg[3])
		     : -ENOMEM;
}

static int descs_out(struct serve *s)
{
	if (!narrow(s->arg, 5) || !fits(s->arg[4], NEURON_UDMA_DESC_SIZE))
		return -EFBIG;
	return ndlx_dma_descriptor_copyout(s->dev, (uint32_t)s->arg[0], (uint32_t)s->arg[1],
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
	const struct ndlx_nq_params p = { .nc = (uint32_t)s->arg[0],
					  .type = (uint32_t)s->arg[1],
					  .engine = (uint32_t)s->arg[2],
					  .size = (uint32_t)s->arg[3],
					  .fresh = s->arg[4] };
	void *va;
	int ret = narrow(s->arg, 5) ? ndlx_notification_init(s->dev, &p, &va) : -EINVAL;

	if (!ret)
		s->arg[0] = (uint64_t)((uint8_t *)va - s->channel->client->base);
	return ret;
}

static int core_ok(const struct serve *s)
{
	return s->arg[0] < s->dev->gen->cores ? 0 : -E2BIG;
}

/* Does the client own the core? It is told nothing of others. */
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
	int fd, ret = own ? ndlx_nds_open(s->dev, pid, &data, &size) : 0;

	if (!ret) {
		ret = emu_nds_fd(s->dev, pid, false, &fd);
		if (!ret) {
			ret = emud_send_file(s, fd);
			close(fd);
		}
		if (ret && own)
			ndlx_nds_close(s->dev, pid, data, size);
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

	return ndlx_nds_close(s->dev, 0, chip->seat[user(s)].nds, NDS_ENTRY_SIZE);
}

static int crwl(struct serve *s)
{
	struct neuron_uuid uuid;

	if (s->arg[0] > NDLX_CRWL_WRITER_DOWNGRADE || !narrow(s->arg, 2))
		return -EINVAL;
	memcpy(&uuid, &s->arg[2], sizeof(uuid));
	return s->dev->ops->crwl(s->dev, (enum ndlx_crwl)s->arg[0], (uint32_t)s->arg[1], &uuid);
}

static int reset(struct serve *s)
{
	uint32_t id = 0;
	int ret = narrow(s->arg, 1) ? ndlx_reset_ncs(s->dev, (uint32_t)s->arg[0], &id) : -EINVAL;

	s->arg[0] = id;
	return ret;
}

static int ready(struct serve *s)
{
	int result = 1, ret = ndlx_ready_ncs(s->dev, (uint32_t)s->arg[0], &result);

	s->arg[0] = (uint64_t)(unsigned int)result;
	return ret;
}

static int cinit(struct serve *s)
{
	uint32_t state = 0;
	int ret = narrow(s->arg, 2) ? ndlx_nc_init_set_state(s->dev, (uint32_t)s->arg[0],
							     (uint32_t)s->arg[1], &state)
				    : -E2BIG;

	s->arg[0] = state;
	return ret;
}

static int started(struct serve *s)
{
	uint64_t count = 0;
	int ret = narrow(s->arg, 1)
			  ? ndlx_nc_model_started_count(s->dev, (uint32_t)s->arg[0], &count)
			  : -E2BIG;

	s->arg[0] = count;
	return ret;
}

static int apps(struct serve *s)
{
	struct neuron_app_info *list;
	size_t n;
	int ret = ndlx_get_all_apps_info(s->dev, &list, &n, (uint16_t)s->arg[0]);

	if (ret)
		return ret;
	s->arg[0] = n;
	emud_data_out(s, list, n * sizeof(*list));
	free(list);
	return 0;
}

static int print(struct serve *s)
{
	char *text = emud_data_copy(s, NEURON_PRINTK_MAX);

	if (!text)
		return -ENOMEM;
	return memchr(text, '\0', NEURON_PRINTK_MAX) ? ndlx_printk(s->dev, text) : -EFAULT;
}

const struct emud_op emud_chip_ops[WIRE_OPS] = {
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
