/* SPDX-License-Identifier: MIT */
/*
 * What programs want to know of a chip, by the description of its generation: addresses, counters,
 * whether it is there. Their callers need not know a register.
 */
#include <errno.h>

#include "hal.h"
#include "ndl_priv.h"

int ndlx_alive(ndlx_device_t *dev)
{
	uint64_t addr = nhal_misc_addr(dev->gen, dev->gen->ready_word);
	uint32_t word;

	return ndlx_read_hw_counters(dev, &addr, &word, 1) == -ENODEV ? -ENODEV : 0;
}

static struct ndlx_ecc ecc(uint32_t firmware, uint32_t word)
{
	struct nhal_errors e = nhal_memory_errors(firmware, word);

	return (struct ndlx_ecc){ .corrected = e.corrected, .uncorrected = e.uncorrected };
}

int ndlx_error_counters(ndlx_device_t *dev, struct ndlx_errors *errors)
{
	uint64_t addr[2 + NEURON_MEMORIES_MAX];
	uint32_t word[2 + NEURON_MEMORIES_MAX] = { 0 };
	int ret;

	addr[0] = nhal_misc_addr(dev->gen, NEURON_MISC_FW_API_VERSION);
	addr[1] = nhal_misc_addr(dev->gen, NEURON_MISC_ECC_SRAM);
	for (unsigned int i = 0; i < dev->gen->memories; i++)
		addr[2 + i] = nhal_misc_addr(dev->gen, NEURON_MISC_ECC_DRAM(i));
	ret = ndlx_read_hw_counters(dev, addr, word, 2u + dev->gen->memories);
	errors->sram = ecc(0, word[1]); /* the same whatever the firmware */
	for (unsigned int i = 0; i < NEURON_MEMORIES_MAX; i++)
		errors->memory[i] = ecc(word[0], word[2 + i]);
	return ret;
}

/*
 * A core's block has a section for each engine, and then the core's own words, the first of which
 * counts MACs.
 */
#define PERF_WORDS (NEURON_PERF_ENG(NEURON_ENGINES_MAX) / 4)

static uint64_t counter(const uint32_t *words, unsigned int offset)
{
	return words[offset / 4] | (uint64_t)words[offset / 4 + 1] << 32;
}

int ndlx_core_perf(ndlx_device_t *dev, uint32_t nc, struct ndlx_core_perf *perf)
{
	const struct neuron_ext_map *ext = &dev->gen->ext;
	uint64_t base = neuron_gen_address(dev->gen, NEURON_BLOCK_EXT, 0) + ext->perf +
			nc * ext->perf_stride;
	uint32_t words[PERF_WORDS + 2] = { 0 };
	uint64_t addr[PERF_WORDS + 2];
	unsigned int n = ext->perf_core / 4 + 2;
	int ret;

	if (nc >= dev->gen->cores)
		return -E2BIG;
	for (unsigned int i = 0; i < n; i++)
		addr[i] = base + 4 * i;
	ret = ndlx_read_hw_counters(dev, addr, words, n);
	*perf = (struct ndlx_core_perf){ .macs = counter(words, ext->perf_core) };
	for (unsigned int e = 0; e < dev->gen->target->engines; e++) {
		const uint32_t *at = words + NEURON_PERF_ENG(e) / 4;

		perf->engine[e].insns = counter(at, NEURON_PERF_INSN);
		perf->engine[e].busy_cycles = counter(at, NEURON_PERF_BUSY);
		perf->engine[e].idle_cycles = counter(at, NEURON_PERF_IDLE);
		perf->engine[e].wait_cycles = counter(at, NEURON_PERF_WAIT);
		perf->engine[e].matmul_insns = counter(at, NEURON_PERF_MATMUL_INSN);
		perf->engine[e].matmul_wait_cycles = counter(at, NEURON_PERF_MATMUL_WAIT);
		perf->engine[e].stands = counter(at, NEURON_PERF_STANDS);
		perf->engine[e].stands_at = counter(at, NEURON_PERF_STANDS_AT);
	}
	return ret;
}

int ndlx_memory_channel(ndlx_device_t *dev, uint64_t pa)
{
	for (int i = 0; i < dev->gen->memories; i++)
		if (pa - dev->gen->memory[i].address < dev->gen->memory[i].size)
			return i;
	return -EINVAL;
}

uint64_t ndlx_core_address(ndlx_device_t *dev, uint32_t nc)
{
	return nhal_core_addr(dev->gen, nc);
}

uint64_t ndlx_fifo_address(ndlx_device_t *dev, uint32_t nc, uint32_t engine)
{
	return nhal_fifo_addr(dev->gen, nc, engine);
}

uint64_t ndlx_semaphore_address(ndlx_device_t *dev, uint32_t nc, uint32_t index)
{
	return nhal_sem_addr(dev->gen, nc, NEURON_SEM_INC, index);
}

uint64_t ndlx_doorbell_address(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
			       enum neuron_dma_queue_type half)
{
	return nhal_queue_reg_addr(dev->gen, eng, half == NEURON_DMA_QUEUE_RX ? NHAL_S2M : NHAL_M2S,
				   qid, NEURON_UDMA_Q_TAIL_INC);
}

int ndlx_notification_read(ndlx_device_t *dev, uint32_t nc, uint32_t type, uint32_t engine,
			   uint32_t next)
{
	uint64_t regs;
	int ret = nhal_nq_regs(dev->gen, nc, type, engine, &regs);

	if (ret)
		return ret;
	regs += dev->gen->nq_reg.head;
	return ndlx_bar_write(dev, dev->gen->bar_regs, &regs, &next, 1);
}

int ndlx_notification_given(ndlx_device_t *dev, uint32_t nc, uint32_t type, uint32_t engine)
{
	uint32_t size = 0;
	uint64_t regs;
	int ret = nhal_nq_regs(dev->gen, nc, type, engine, &regs);

	if (ret)
		return ret;
	regs += dev->gen->nq_reg.size;
	ret = ndlx_bar_read(dev, dev->gen->bar_regs, &regs, &size, 1);
	return ret ? ret : size != 0;
}

uint64_t ndlx_region_size(const struct neuron_gen *gen)
{
	return region_size(gen);
}

int ndlx_get_dram_size(ndlx_device_t *dev, uint32_t channel, uint64_t *size)
{
	if (channel >= dev->gen->memories)
		return -EINVAL;
	*size = dev->gen->memory[channel].size;
	return 0;
}

int ndlx_isa_version(ndlx_device_t *dev, uint32_t *version)
{
	uint64_t addr = neuron_gen_address(dev->gen, NEURON_BLOCK_EXT, 0) + NEURON_EXT_ISA_VERSION;

	return ndlx_read_hw_counters(dev, &addr, version, 1);
}

int ndlx_neighbor_window(ndlx_device_t *dev, int neighbor, uint64_t *window)
{
	bool up[NEURON_PORTS_MAX];
	int port;

	if (ndlx_get_links(dev->device_index, up))
		return -ENOENT;
	port = link_port(ndlx_machine_instance(), dev->device_index, neighbor, up);
	if (port < 0)
		return port;
	*window = dev->gen->window.port[port];
	return 0;
}

static bool is_device(int index)
{
	int indexes[NDLX_MAX_DEVICES], n = ndlx_available_devices(indexes, NDLX_MAX_DEVICES);

	while (n-- > 0)
		if (indexes[n] == index)
			return true;
	return false;
}

int ndlx_device_window(ndlx_device_t *dev, int other, uint64_t *window)
{
	int ret = ndlx_neighbor_window(dev, other, window);

	if (ret != -ENOENT || !is_device(other))
		return ret;
	*window = neuron_gen_far_window(dev->gen, (unsigned int)other);
	return *window ? 0 : ret;
}

int ndlx_device_distance(ndlx_device_t *dev, int other)
{
	return link_distance(ndlx_machine_instance(), dev->device_index, other);
}

static uint64_t *nds_at(const void *data, unsigned int nc, unsigned int counter)
{
	return (uint64_t *)((char *)(uintptr_t)data + NDS_NC_OFFSET(nc, counter));
}

uint64_t ndlx_nds_get(const void *data, unsigned int nc, unsigned int counter)
{
	return __atomic_load_n(nds_at(data, nc, counter), __ATOMIC_RELAXED);
}

void ndlx_nds_add(void *data, unsigned int nc, unsigned int counter, uint64_t value)
{
	__atomic_fetch_add(nds_at(data, nc, counter), value, __ATOMIC_RELAXED);
}
