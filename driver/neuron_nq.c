// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notification queues: memory and registers. What is written there is between the chip and the
 * runtime. A queue belongs to the process that set it up; a queue that exists is returned as it
 * is. Owns nd->nqs (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/log2.h>

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_mem.h"
#include "neuron_nq.h"

#define NQ_SIZE_MAX (64u << 20)

/* The number among nd->nqs: cores, then TOP_SPs */
static unsigned int unit_of(const struct neuron_gen *gen, const struct neuron_nq_args *args)
{
	return args->nc + (args->dev_type == NEURON_NQ_DEV_TOP_SP ? gen->cores : 0);
}

static unsigned int unit_core(const struct neuron_gen *gen, unsigned int unit)
{
	return unit < gen->cores ? unit : neuron_gen_topsp_core(gen, unit - gen->cores);
}

static int place(const struct neuron_gen *gen, u32 dev_type, u32 nc, u32 type, u32 slot, u64 *regs)
{
	if (dev_type == NEURON_NQ_DEV_TOP_SP)
		return gen->topsps_per_core ? nhal_nq_topsp_regs(gen, nc, type, slot, regs)
					    : -ENOSYS;
	return dev_type ? -ENOSYS : nhal_nq_slot_regs(gen, nc, type, slot, regs);
}

static void unit_program(struct neuron_device *nd, unsigned int unit, u32 type, u32 slot, u64 base,
			 u32 size)
{
	bool topsp = unit >= nd->gen->cores;
	u64 regs;

	if (!place(nd->gen, topsp ? NEURON_NQ_DEV_TOP_SP : NEURON_NQ_DEV_NC,
		   topsp ? unit - nd->gen->cores : unit, type, slot, &regs))
		nhal_nq_program(&nd->hal, regs, base, size);
}

static int args_check(const struct neuron_gen *gen, const struct neuron_nq_args *args)
{
	u64 regs;
	int ret;

	ret = place(gen, args->dev_type, args->nc, args->type, args->eng, &regs);
	if (ret)
		return ret;
	/* the chip works with two entries and more */
	if (!is_power_of_2(args->size) || args->size < 2 * NEURON_NQ_ENTRY_SIZE ||
	    args->size > NQ_SIZE_MAX)
		return -EINVAL;
	return 0;
}

static struct neuron_mc *nq_memory(struct neuron_device *nd, const struct neuron_nq_args *args)
{
	struct neuron_mc_args mem = {
		.size = args->size,
		.align = args->host ? 0 : args->size, /* device queues: to their own size */
		.host = args->host,
		.channel = args->channel,
		.region = args->region,
		.nc = unit_core(nd->gen, unit_of(nd->gen, args)),
		.type = args->host ? NEURON_MEMALLOC_TYPE_NOTIFICATION_HOST
				   : NEURON_MEMALLOC_TYPE_NOTIFICATION_DEVICE,
		.life = NEURON_LIFE_DEVICE,
	};
	struct neuron_mc *mc;
	int ret;

	ret = neuron_mc_alloc(nd, &mem, &mc);
	return ret ? ERR_PTR(ret) : mc;
}

/*
 * Returns the caller's existing queue with a reference, NULL to make one, or -EACCES; nd->lock is
 * held
 */
static struct neuron_mc *nq_existing(struct neuron_device *nd, const struct neuron_nq_args *args)
{
	unsigned int unit = unit_of(nd->gen, args);
	struct neuron_nq *nq = &nd->nqs[unit][args->type][args->eng];
	int ret;

	if (nq->mc && nq->owner != current->tgid)
		return ERR_PTR(-EACCES);
	ret = neuron_core_claim(nd, unit_core(nd->gen, unit));
	if (ret)
		return ERR_PTR(ret);
	if (args->force || !nq->mc)
		return NULL;
	neuron_mc_get(nq->mc);
	return nq->mc;
}

int neuron_nq_init(struct neuron_device *nd, const struct neuron_nq_args *args, u64 *mmap_offset,
		   u64 *handle)
{
	struct neuron_nq *nq;
	struct neuron_mc *mc, *old = NULL;
	unsigned int unit;
	int ret;

	ret = args_check(nd->gen, args);
	if (ret)
		return ret;

	unit = unit_of(nd->gen, args);
	nq = &nd->nqs[unit][args->type][args->eng];
	mutex_lock(&nd->lock);
	mc = nq_existing(nd, args);
	mutex_unlock(&nd->lock);
	if (IS_ERR(mc))
		return PTR_ERR(mc);

	if (!mc) {
		mc = nq_memory(nd, args);
		if (IS_ERR(mc))
			return PTR_ERR(mc);
		mutex_lock(&nd->lock);
		old = nq->mc;
		nq->mc = mc;
		nq->owner = current->tgid;
		unit_program(nd, unit, args->type, args->eng, mc->pa, args->size);
		mutex_unlock(&nd->lock);
	}

	*mmap_offset = mc->host ? mc->pa : U64_MAX;
	*handle = READ_ONCE(mc->handle);
	neuron_mc_put(mc);

	if (old) {
		neuron_guard_revoke(old);
		neuron_mc_free(old);
	}
	return 0;
}

static struct neuron_mc *nq_stop(struct neuron_device *nd, unsigned int unit, unsigned int type,
				 unsigned int eng, pid_t owner, u32 nc_map)
{
	struct neuron_nq *nq = &nd->nqs[unit][type][eng];
	struct neuron_mc *mc = nq->mc;

	if (!mc || (owner ? nq->owner != owner : !(nc_map & BIT(unit_core(nd->gen, unit)))))
		return NULL;
	if (!READ_ONCE(nd->gone))
		unit_program(nd, unit, type, eng, 0, 0);
	nq->mc = NULL;
	nq->owner = 0;
	return mc;
}

static void type_stop(struct neuron_device *nd, unsigned int unit, unsigned int type, pid_t owner,
		      u32 nc_map)
{
	struct neuron_mc *mc;
	unsigned int eng;

	for (eng = 0; eng < NEURON_NQ_SLOTS_MAX; eng++) {
		mutex_lock(&nd->lock);
		mc = nq_stop(nd, unit, type, eng, owner, nc_map);
		mutex_unlock(&nd->lock);
		if (mc) {
			neuron_guard_revoke(mc);
			neuron_mc_free(mc);
		}
	}
}

/* Switches off and frees the queues of a process, or with owner 0 those of the cores in the map */
void neuron_nqs_stop(struct neuron_device *nd, pid_t owner, u32 nc_map)
{
	unsigned int units = nd->gen->cores + neuron_gen_topsps(nd->gen), unit, type;

	for (unit = 0; unit < units; unit++)
		for (type = 0; type < NEURON_NQ_TYPES; type++)
			type_stop(nd, unit, type, owner, nc_map);
}
