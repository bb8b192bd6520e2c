/* SPDX-License-Identifier: MIT */
/*
 * The chip as a whole: creation, rest, sensors. Called through ncore.h; owns the lifetime of
 * everything else in struct ncore_chip.
 */
#include "chip.h"

#include "event.h"
#include "guard.h"
#include "link.h"
#include "misc.h"
#include "notify.h"
#include "pool.h"
#include "reset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t ncore_sensor_get(struct ncore_chip *chip, enum ncore_sensor sensor)
{
	return (unsigned int)sensor < NCORE_SENSOR_COUNT ? atomic_load(&chip->sensor[sensor]) : 0;
}

uint64_t ncore_sensor_max(enum ncore_sensor sensor)
{
	switch (sensor) {
	case NCORE_SENSOR_POWER_BP:
		return 10000;
	case NCORE_SENSOR_REPAIR:
		return NEURON_REPAIR_FAILED;
	default:
		return sensor < NCORE_SENSOR_REPAIRABLE ? 0xffff : 0xfff;
	}
}

void ncore_sensor_set(struct ncore_chip *chip, enum ncore_sensor sensor, uint64_t value)
{
	uint64_t max = ncore_sensor_max(sensor);

	if ((unsigned int)sensor < NCORE_SENSOR_COUNT)
		atomic_store(&chip->sensor[sensor], value < max ? value : max);
}

/* The cores' questions to the rest of the chip (tpb.h) */

static int op_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	return ncore_strand_out(opaque, addr, value, time);
}

static int op_dram(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	return ncore_strand_memory(opaque, addr, buf, len, write);
}

static const uint8_t *op_window(void *opaque, uint64_t addr, uint64_t len)
{
	return ncore_strand_window(opaque, addr, len);
}

static int op_dma(void *opaque, const struct tpb_transfer *transfer, uint64_t time)
{
	return ncore_made_append(opaque, transfer, time);
}

static void op_notify(void *opaque, unsigned int type, unsigned int engine, uint16_t code,
		      uint32_t id, uint64_t data, uint32_t data2, uint64_t time)
{
	struct ncore_strand *strand = opaque;

	ncore_notify(strand->chip, strand->index, type, engine, code, id, data, data2, time);
}

static void op_insn(void *opaque, unsigned int engine, unsigned int opcode, uint64_t time)
{
	struct ncore_strand *strand = opaque;

	ncore_event(strand->chip, NCORE_EV_INSN, strand->index, engine, opcode, time);
}

static enum tpb_fault op_fault(void *opaque, bool datapath)
{
	struct ncore_strand *strand = opaque;

	return ncore_fault_insn(strand->chip, strand->index, datapath);
}

#define TPB_OPS                                                                 \
	.write = op_write, .dram = op_dram, .window = op_window, .dma = op_dma, \
	.notify = op_notify, .fault = op_fault
static const struct tpb_ops tpb_ops = { TPB_OPS };
static const struct tpb_ops tpb_ops_trace = { TPB_OPS, .insn = op_insn };

/* Rest */

static bool any_running(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->strands; i++)
		if (chip->strand[i].running)
			return true;
	return false;
}

/* Instructions do not report what they write, so the host is told when it may look at memory. */
static void mark_cores_dirty(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->cores; i++) {
		struct ncore_core *c = &chip->core[i];

		if (!chip->strand[i].ran)
			continue;
		chip->strand[i].ran = false;
		ncore_mem_dirty(chip, &c->sbuf, c->sbuf.ptr, c->sbuf.size);
		ncore_mem_dirty(chip, &c->psum, c->psum.ptr, c->psum.size);
	}
}

void ncore_chip_pause(struct ncore_chip *chip)
{
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	chip->paused++;
	for (i = 0; i < chip->strands; i++)
		atomic_fetch_add(&chip->strand[i].stops, 1);
	while (any_running(chip))
		pthread_cond_wait(&chip->cond, &chip->lock);
	mark_cores_dirty(chip);
	pthread_mutex_unlock(&chip->lock);
}

void ncore_chip_resume(struct ncore_chip *chip)
{
	pthread_mutex_lock(&chip->lock);
	if (chip->paused) {
		chip->paused--;
		ncore_strands_start(chip);
	}
	pthread_mutex_unlock(&chip->lock);
}

static bool idle_locked(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->strands; i++)
		if (chip->strand[i].running || ncore_strand_has_work(&chip->strand[i]))
			return false;
	return true;
}

bool ncore_chip_idle(struct ncore_chip *chip)
{
	bool idle;

	pthread_mutex_lock(&chip->lock);
	idle = idle_locked(chip);
	pthread_mutex_unlock(&chip->lock);
	return idle;
}

int ncore_chip_wait_idle(struct ncore_chip *chip, int64_t timeout_ns)
{
	struct timespec end;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	if (timeout_ns >= 0) {
		int64_t ns = end.tv_nsec + timeout_ns % 1000000000;

		end.tv_sec += timeout_ns / 1000000000 + ns / 1000000000;
		end.tv_nsec = ns % 1000000000;
	}
	pthread_mutex_lock(&chip->lock);
	while (!idle_locked(chip) && !ret) {
		if (timeout_ns < 0)
			pthread_cond_wait(&chip->cond, &chip->lock);
		else
			ret = -pthread_cond_timedwait(&chip->cond, &chip->lock, &end);
	}
	if (ret && idle_locked(chip))
		ret = 0;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int ncore_chip_written(struct ncore_chip *chip, uint64_t addr, uint32_t value, uint64_t time)
{
	int ret = -EACCES;

	ncore_link_lock(chip);
	if (!atomic_load(&chip->guard.on) && atomic_load(&chip->up))
		ret = chip->end.ops->word_write(&chip->end, addr, value, time);
	ncore_link_unlock(chip);
	return ret;
}

void *ncore_dram(struct ncore_chip *chip, uint64_t *size, int *fd)
{
	if (size)
		*size = chip->dram.size;
	if (fd)
		*fd = chip->dram.fd;
	return chip->dram.ptr;
}

/* Creation */

static void free_chip(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; chip->core && i < chip->gen->cores; i++)
		free(chip->core[i].nqs.reg);
	free(chip->core);
	free(chip->topsp);
	free(chip->topsp_words);
	free(chip->kept);
	free(chip->udma);
	free(chip->strand);
	free(chip);
}

static void set_ways(struct ncore_chip *chip)
{
	const struct neuron_costs *cost = &chip->gen->target->cost;
	unsigned int i;

	chip->way_kib[NCORE_WAY_DRAM] = cost->dram_kib;
	for (i = NCORE_WAY_CORE; i < NCORE_WAY_LINK; i++)
		chip->way_kib[i] = cost->port_kib;
	for (i = NCORE_WAY_LINK; i < NCORE_WAYS; i++)
		chip->way_kib[i] = cost->link_kib;
}

static struct ncore_chip *alloc_chip(const struct neuron_gen *gen)
{
	struct ncore_chip *chip = calloc(1, sizeof(*chip));
	unsigned int i;
	bool ok;

	if (!chip)
		return NULL;
	chip->gen = gen;
	chip->block = ncore_blocks;
	chip->strands = gen->cores + 1u;
	chip->nqs = neuron_gen_nqs(gen);
	chip->topsps = neuron_gen_topsps(gen);
	chip->sbuf_stride = gen->target->sbuf_part_size + NCORE_MEM_PAD;
	chip->psum_stride = gen->target->psum_part_size + NCORE_MEM_PAD;
	for (i = 0; i < chip->nqs; i++)
		chip->nq_regs[i] = neuron_gen_nq_regs(gen, i);
	set_ways(chip);
	chip->core = calloc(gen->cores, sizeof(*chip->core));
	chip->topsp = calloc(chip->topsps + 1u, sizeof(*chip->topsp));
	chip->topsp_words = calloc(chip->topsps + 1u, sizeof(*chip->topsp_words));
	chip->udma = calloc(gen->dma_engines, sizeof(*chip->udma));
	for (i = 0; i < gen->blocks; i++)
		if (gen->block[i].kind == NEURON_BLOCK_KEPT)
			chip->kepts += (unsigned int)(gen->block[i].count * gen->block[i].size / 4);
	chip->kept = calloc(chip->kepts + 1u, sizeof(*chip->kept));
	chip->strand = calloc(chip->strands, sizeof(*chip->strand));
	ok = chip->core && chip->topsp && chip->topsp_words && chip->udma && chip->kept &&
	     chip->strand;
	for (i = 0; ok && i < gen->cores; i++) {
		struct ncore_nqs *q = &chip->core[i].nqs;

		q->core = i;
		q->words = gen->nq_reg.bytes / 4u;
		q->reg = calloc(q->words, sizeof(*q->reg));
		ok = q->reg;
	}
	if (ok) {
		ncore_topsp_init(chip);
		return chip;
	}
	free_chip(chip);
	return NULL;
}

static int new_core(struct ncore_chip *chip, unsigned int i)
{
	struct ncore_core *core = &chip->core[i];
	struct tpb_config cfg = {
		.index = i,
		.target = chip->gen->target,
		.ops = chip->event_mask >> NCORE_EV_INSN & 1 ? &tpb_ops_trace : &tpb_ops,
		.opaque = &chip->strand[i],
		.faults = &chip->faults.injected,
		.sbuf_host_stride = chip->sbuf_stride,
		.psum_host_stride = chip->psum_stride,
	};
	char name[8];
	int ret;

	snprintf(name, sizeof(name), "sbuf%u", i);
	ret = ncore_mem_alloc(chip, name, NEURON_PARTITIONS * chip->sbuf_stride, &core->sbuf);
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "psum%u", i);
	ret = ncore_mem_alloc(chip, name, NEURON_PARTITIONS * chip->psum_stride, &core->psum);
	if (ret)
		return ret;
	cfg.sbuf = core->sbuf.ptr;
	cfg.psum = core->psum.ptr;
	return tpb_new(&cfg, &core->tpb);
}

static void free_parts(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->cores; i++) {
		if (chip->core[i].tpb)
			tpb_free(chip->core[i].tpb);
		ncore_mem_free(chip, &chip->core[i].psum);
		ncore_mem_free(chip, &chip->core[i].sbuf);
	}
	ncore_mem_free(chip, &chip->dram);
	for (i = 0; i < chip->strands; i++)
		ncore_strand_fini(&chip->strand[i]);
	pthread_cond_destroy(&chip->cond);
	pthread_mutex_destroy(&chip->faults.lock);
	pthread_mutex_destroy(&chip->nq_lock);
	pthread_mutex_destroy(&chip->topsp_lock);
	pthread_mutex_destroy(&chip->lock);
	free_chip(chip);
}

static int build(struct ncore_chip *chip)
{
	unsigned int i;
	int ret;

	ret = ncore_mem_alloc(chip, "dram", neuron_gen_memory(chip->gen), &chip->dram);
	for (i = 0; i < chip->gen->cores && !ret; i++) {
		ret = new_core(chip, i);
		chip->strand[i].tpb = chip->core[i].tpb;
	}
	if (ret)
		return ret;
	for (i = 0; i < chip->gen->cores && chip->cfg.nan_fill; i++) {
		ncore_mem_reset(chip, &chip->core[i].sbuf);
		ncore_mem_reset(chip, &chip->core[i].psum);
	}
	ncore_misc_up(chip, true);
	return ncore_end_attach(chip);
}

int ncore_chip_new(const struct ncore_chip_config *config, struct ncore_chip **out)
{
	pthread_condattr_t attr;
	struct ncore_chip *chip;
	unsigned int i;
	int ret;

	if (!config->gen || !config->pool || !config->ops || !config->ops->dma_rw ||
	    config->firmware_version > NEURON_FIRMWARE_MAX)
		return -EINVAL;
	chip = alloc_chip(config->gen);
	if (!chip)
		return -ENOMEM;

	chip->cfg = *config;
	chip->ops = config->ops;
	if (!chip->cfg.serial)
		chip->cfg.serial = ((uint64_t)chip->gen->pci_id[0] << 48) + 1 + config->slot;
	if (!chip->cfg.firmware_version)
		chip->cfg.firmware_version = chip->gen->firmware_version;
	chip->event_mask = config->ops->event ? config->ops->event_mask : 0;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&chip->cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&chip->lock, NULL);
	pthread_mutex_init(&chip->nq_lock, NULL);
	pthread_mutex_init(&chip->topsp_lock, NULL);
	ncore_faults_init(chip);

	for (i = 0, ret = 0; i < chip->strands; i++)
		ret |= ncore_strand_init(chip, i);
	if (!ret)
		ret = build(chip);
	if (ret) {
		free_parts(chip);
		return ret;
	}
	*out = chip;
	return 0;
}

void ncore_chip_free(struct ncore_chip *chip)
{
	unsigned int i;

	if (!chip)
		return;
	ncore_link_detach(chip);
	ncore_chip_pause(chip);
	for (i = 0; i < chip->strands; i++)
		ncore_pool_cancel(chip->cfg.pool, &chip->strand[i]);
	free_parts(chip);
}

void ncore_core_lend(struct ncore_chip *chip, unsigned int core)
{
	ncore_pool_lend(&chip->strand[core]);
}

bool ncore_core_work(struct ncore_chip *chip, unsigned int core)
{
	return ncore_pool_work(chip->cfg.pool, &chip->strand[core]);
}

void ncore_core_leave(struct ncore_chip *chip, unsigned int core)
{
	ncore_pool_leave(chip->cfg.pool, &chip->strand[core]);
}
