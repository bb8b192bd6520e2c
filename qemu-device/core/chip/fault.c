/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: which faults are injected, and whether an occasion is one that strikes. The
 * paths that can fail ask ncore_fault_injected(), one relaxed load, before they come here. Injected
 * faults are the host's, not the guest's: no reset clears them and no saved state holds them; what
 * they have done to the chip is state like any other.
 */
#include "event.h"
#include "link.h"
#include "route.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum kind { TIMES, STATE, LINKS, VALUE };

static const struct {
	const char *name;
	enum kind kind;
	const char *text;
} faults[NCORE_FAULT_COUNT] = {
#define NEURON_FAULT(symbol, name, kind, text) [NCORE_FAULT_##symbol] = { name, kind, text },
#include "neuron/hw/faults.def"
#undef NEURON_FAULT
};
_Static_assert(NCORE_FAULT_COUNT <= 32, "a bit each");

#define ALWAYS UINT64_MAX
#define VALUE_MAX 0xffff
#define ECC_MAX 0xffff

const char *ncore_fault_name(enum ncore_fault fault)
{
	return (unsigned int)fault < NCORE_FAULT_COUNT ? faults[fault].name : NULL;
}

const char *ncore_fault_text(enum ncore_fault fault)
{
	return (unsigned int)fault < NCORE_FAULT_COUNT ? faults[fault].text : NULL;
}

int ncore_fault_find(const char *name, size_t len)
{
	int i;

	for (i = 0; i < NCORE_FAULT_COUNT; i++)
		if (strlen(faults[i].name) == len && !memcmp(faults[i].name, name, len))
			return i;
	return -ENOENT;
}

void ncore_faults_init(struct ncore_chip *chip)
{
	pthread_mutex_init(&chip->faults.lock, NULL);
}

/* Specifications */

/* Parses a decimal number up to max at *p, and moves *p behind it. */
static bool number(const char **p, uint64_t max, uint64_t *value)
{
	const char *start = *p;

	for (*value = 0; **p >= '0' && **p <= '9'; ++*p) {
		*value = *value * 10 + (uint64_t)(**p - '0');
		if (*value > max)
			return false;
	}
	return *p != start;
}

static bool word(const char **p, const char *w)
{
	size_t n = strlen(w);

	if (strncmp(*p, w, n))
		return false;
	*p += n;
	return true;
}

static bool parse_filters(const struct neuron_gen *gen, const char *p,
			  struct ncore_fault_slot *slot)
{
	uint64_t n;

	while (*p) {
		if (word(&p, ":after=")) {
			if (!number(&p, UINT32_MAX, &slot->skip))
				return false;
		} else if (word(&p, ":core=")) {
			if (!number(&p, gen->cores - 1, &n))
				return false;
			slot->core = (uint8_t)n;
		} else if (word(&p, ":memory=")) {
			if (!number(&p, gen->memories - 1, &n))
				return false;
			slot->memory = (uint8_t)n;
		} else if (word(&p, ":queue=copy")) {
			slot->queue = NCORE_FQ_COPY;
		} else if (word(&p, ":queue=program")) {
			slot->queue = NCORE_FQ_PROGRAM;
		} else {
			return false;
		}
	}
	return true;
}

/* Parses "on", alone or with ports; slot->value gets a bit for each port. */
static bool parse_links(const struct neuron_gen *gen, const char *p, struct ncore_fault_slot *slot)
{
	const unsigned int ports = gen->window.ports;
	uint64_t port;

	slot->left = ALWAYS;
	if (!word(&p, "on"))
		return false;
	while (word(&p, ":port=")) {
		if (!number(&p, UINT8_MAX, &port) || port >= ports)
			return false;
		slot->value |= 1u << port;
	}
	if (!slot->value)
		slot->value = (1u << ports) - 1;
	return !*p;
}

static bool parse(const struct neuron_gen *gen, enum kind kind, const char *p,
		  struct ncore_fault_slot *slot)
{
	uint64_t n;

	if (kind == STATE) {
		slot->left = ALWAYS;
		return !strcmp(p, "on");
	}
	if (kind == LINKS)
		return parse_links(gen, p, slot);
	if (kind == VALUE) {
		if (!number(&p, VALUE_MAX, &n))
			return false;
		slot->left = ALWAYS;
		slot->value = (uint32_t)n;
		return !*p;
	}
	if (word(&p, "always"))
		slot->left = ALWAYS;
	else if (!number(&p, UINT32_MAX, &slot->left))
		return false;
	return parse_filters(gen, p, slot);
}

static bool is_link(enum ncore_fault fault)
{
	return fault == NCORE_FAULT_LINK_EAST_DOWN || fault == NCORE_FAULT_LINK_WEST_DOWN ||
	       fault == NCORE_FAULT_LINK_DOWN;
}

static bool is_dram(enum ncore_fault fault)
{
	return fault == NCORE_FAULT_DRAM_ECC_CORRECTED || fault == NCORE_FAULT_DRAM_ECC_UNCORRECTED;
}

static int to_slot(const struct neuron_gen *gen, enum ncore_fault fault, const char *spec,
		   struct ncore_fault_slot *slot)
{
	*slot = (struct ncore_fault_slot){ .core = NCORE_CORE_ANY, .memory = NCORE_MEMORY_ANY };
	if ((unsigned int)fault >= NCORE_FAULT_COUNT)
		return -EINVAL;
	if (!strcmp(spec, "off"))
		return 0;
	if (!parse(gen, faults[fault].kind, spec, slot))
		return -EINVAL;
	return slot->memory == NCORE_MEMORY_ANY || is_dram(fault) ? 0 : -EINVAL;
}

int ncore_fault_check(const struct neuron_gen *gen, enum ncore_fault fault, const char *spec)
{
	struct ncore_fault_slot slot;

	return to_slot(gen, fault, spec, &slot);
}

int ncore_fault_set(struct ncore_chip *chip, enum ncore_fault fault, const char *spec)
{
	struct ncore_faults *f = &chip->faults;
	struct ncore_fault_slot slot;
	int ret = to_slot(chip->gen, fault, spec, &slot);

	if (ret)
		return ret;
	pthread_mutex_lock(&f->lock);
	slot.fired = f->slot[fault].fired;
	f->slot[fault] = slot;
	if (slot.left)
		atomic_fetch_or(&f->injected, 1u << fault);
	else
		atomic_fetch_and(&f->injected, ~(1u << fault));
	pthread_mutex_unlock(&f->lock);
	if (is_link(fault))
		ncore_link_sync(chip);
	return 0;
}

static void print_links(const struct neuron_gen *gen, uint32_t links,
			char spec[NCORE_FAULT_SPEC_MAX])
{
	size_t n = (size_t)snprintf(spec, NCORE_FAULT_SPEC_MAX, "on");
	unsigned int port;

	if (links == (1u << gen->window.ports) - 1)
		return;
	for (port = 0; port < gen->window.ports; port++)
		if (links >> port & 1)
			n += (size_t)snprintf(spec + n, NCORE_FAULT_SPEC_MAX - n, ":port=%u", port);
}

void ncore_fault_get(struct ncore_chip *chip, enum ncore_fault fault,
		     char spec[NCORE_FAULT_SPEC_MAX])
{
	static const char *const queue[] = { "", ":queue=copy", ":queue=program" };
	struct ncore_fault_slot slot = { 0 };
	char left[24] = "always", after[32] = "", core[16] = "", memory[16] = "";

	if ((unsigned int)fault < NCORE_FAULT_COUNT) {
		pthread_mutex_lock(&chip->faults.lock);
		slot = chip->faults.slot[fault];
		pthread_mutex_unlock(&chip->faults.lock);
	}

	if (!slot.left) {
		snprintf(spec, NCORE_FAULT_SPEC_MAX, "off");
		return;
	}

	if (faults[fault].kind == LINKS) {
		print_links(chip->gen, slot.value, spec);
		return;
	}

	if (faults[fault].kind != TIMES) {
		snprintf(left, sizeof(left), "%" PRIu32, slot.value);
		snprintf(spec, NCORE_FAULT_SPEC_MAX, "%s",
			 faults[fault].kind == STATE ? "on" : left);
		return;
	}

	if (slot.left != ALWAYS)
		snprintf(left, sizeof(left), "%" PRIu64, slot.left);
	if (slot.skip)
		snprintf(after, sizeof(after), ":after=%" PRIu64, slot.skip);
	if (slot.core != NCORE_CORE_ANY)
		snprintf(core, sizeof(core), ":core=%u", slot.core);
	if (slot.memory != NCORE_MEMORY_ANY)
		snprintf(memory, sizeof(memory), ":memory=%u", slot.memory);
	snprintf(spec, NCORE_FAULT_SPEC_MAX, "%s%s%s%s%s", left, after, core, memory,
		 queue[slot.queue]);
}

uint64_t ncore_fault_fired(struct ncore_chip *chip, enum ncore_fault fault)
{
	uint64_t fired = 0;

	if ((unsigned int)fault >= NCORE_FAULT_COUNT)
		return 0;
	pthread_mutex_lock(&chip->faults.lock);
	fired = chip->faults.slot[fault].fired;
	pthread_mutex_unlock(&chip->faults.lock);
	return fired;
}

/* Occasions */

/* The caller holds faults.lock. */
static bool strikes(struct ncore_fault_slot *slot, unsigned int core, enum ncore_fault_queue queue,
		    unsigned int memory)
{
	if (!slot->left || (slot->core != NCORE_CORE_ANY && slot->core != core) ||
	    (slot->queue != NCORE_FQ_ANY && slot->queue != queue) ||
	    (slot->memory != NCORE_MEMORY_ANY && slot->memory != memory))
		return false;
	if (slot->skip) {
		slot->skip--;
		return false;
	}
	if (slot->left != ALWAYS)
		slot->left--;
	slot->fired++;
	return true;
}

static bool occasion(struct ncore_chip *chip, enum ncore_fault fault, unsigned int core,
		     enum ncore_fault_queue queue, unsigned int memory)
{
	struct ncore_faults *f = &chip->faults;
	uint64_t fired;
	bool yes;

	pthread_mutex_lock(&f->lock);
	yes = strikes(&f->slot[fault], core, queue, memory);
	fired = f->slot[fault].fired;
	if (!f->slot[fault].left)
		atomic_fetch_and(&f->injected, ~(1u << fault));
	pthread_mutex_unlock(&f->lock);
	if (yes)
		ncore_event(chip, NCORE_EV_FAULT, fault,
			    core == NCORE_CORE_ANY ? chip->gen->cores : core, fired, 0);
	return yes;
}

bool ncore_fault_occasion(struct ncore_chip *chip, enum ncore_fault fault, unsigned int core,
			  enum ncore_fault_queue queue)
{
	return occasion(chip, fault, core, queue, NCORE_MEMORY_ANY);
}

bool ncore_fault_value(struct ncore_chip *chip, enum ncore_fault fault, uint32_t *value)
{
	bool injected;

	pthread_mutex_lock(&chip->faults.lock);
	injected = chip->faults.slot[fault].left > 0;
	if (injected)
		*value = chip->faults.slot[fault].value;
	pthread_mutex_unlock(&chip->faults.lock);
	return injected;
}

static void count_ecc(struct ncore_chip *chip, enum ncore_sensor sensor)
{
	uint64_t n = atomic_load(&chip->sensor[sensor]);

	while (n < ECC_MAX && !atomic_compare_exchange_weak(&chip->sensor[sensor], &n, n + 1))
		;
}

/* The chip's memory that a descriptor reads: a DRAM's number, or one of these */
enum { M_SRAM = NEURON_MEMORIES_MAX, M_OTHER };

static unsigned int memory_of(struct ncore_chip *chip, uint64_t addr)
{
	const struct neuron_gen *gen = chip->gen;
	struct ncore_ep ep;
	unsigned int m = 0;

	if (ncore_is_host(chip, addr) || ncore_route_own(chip, addr, &ep) ||
	    ep.kind != NCORE_EP_MEM)
		return M_OTHER;
	if (ep.mem != &chip->dram)
		return M_SRAM;
	while (m + 1 < gen->memories &&
	       (uint64_t)(ep.ptr - chip->dram.ptr) - neuron_gen_memory_start(gen, m) >=
		       gen->memory[m].size)
		m++;
	return m;
}

/* The error code of an uncorrectable error, or 0 */
static uint16_t ecc_occasion(struct ncore_chip *chip, unsigned int memory, unsigned int core,
			     enum ncore_fault_queue queue)
{
	static const enum ncore_fault dram[] = { NCORE_FAULT_DRAM_ECC_CORRECTED,
						 NCORE_FAULT_DRAM_ECC_UNCORRECTED };
	static const enum ncore_fault sram[] = { NCORE_FAULT_SRAM_ECC_CORRECTED,
						 NCORE_FAULT_SRAM_ECC_UNCORRECTED };
	const enum ncore_sensor first =
		memory == M_SRAM ? NCORE_SENSOR_SRAM_ECC_CORR : NCORE_SENSOR_DRAM(memory, 0);
	unsigned int i;

	for (i = 0; memory != M_OTHER && i < 2; i++) {
		enum ncore_fault fault = memory == M_SRAM ? sram[i] : dram[i];

		if (!ncore_fault_injected(chip, 1u << fault) ||
		    !occasion(chip, fault, core, queue, memory))
			continue;
		count_ecc(chip, (enum ncore_sensor)(first + i));
		if (i)
			return memory == M_SRAM ? NEURON_NERR_SRAM_UE : NEURON_NERR_DRAM_UE;
	}
	return 0;
}

enum ncore_queue_stop ncore_fault_desc(struct ncore_chip *chip, const struct ncore_queue *q,
				       uint64_t addr, uint16_t *code)
{
	unsigned int core = neuron_gen_queue_core(chip->gen, q->engine, q->index);
	enum ncore_fault_queue queue = neuron_gen_is_copy_queue(chip->gen, q->engine, q->index)
					       ? NCORE_FQ_COPY
					       : NCORE_FQ_PROGRAM;

	if (ncore_fault_injected(chip, NCORE_FAULT_BIT(DMA_HANG)) &&
	    ncore_fault_occasion(chip, NCORE_FAULT_DMA_HANG, core, queue))
		return NCORE_Q_HUNG;
	*code = ecc_occasion(chip, memory_of(chip, addr), core, queue);
	if (!*code && ncore_fault_injected(chip, NCORE_FAULT_BIT(DMA_ABORT)) &&
	    ncore_fault_occasion(chip, NCORE_FAULT_DMA_ABORT, core, queue))
		*code = NEURON_NERR_DMA_ABORT;
	return *code ? NCORE_Q_ERROR : NCORE_Q_RUNS;
}

enum tpb_fault ncore_fault_insn(struct ncore_chip *chip, unsigned int core, bool datapath)
{
	if (ncore_fault_injected(chip, NCORE_FAULT_BIT(ENGINE_HANG)) &&
	    ncore_fault_occasion(chip, NCORE_FAULT_ENGINE_HANG, core, NCORE_FQ_ANY))
		return TPB_FAULT_HANG;
	if (datapath && ecc_occasion(chip, M_SRAM, core, NCORE_FQ_PROGRAM))
		return TPB_FAULT_SRAM;
	return TPB_FAULT_NONE;
}
