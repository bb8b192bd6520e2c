// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks at the chip from time to time, the only periodic work of the module: power samples, links,
 * ECC counters. All of them come with one mailbox message, so that a look costs no more than the
 * power samples do, whose number in a minute programs know (60 make a minute valid); there is no
 * interrupt for any of it. A read of sysfs that asks the chip is a look as well.
 *
 * nd->health.lock: what the last look found; taken outside the mailbox's lock.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/ktime.h>

#include "neuron_device.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_fwio.h"
#include "neuron_hwerr.h"
#include "neuron_log.h"
#include "neuron_health.h"

/* 120 samples a minute: a minute is valid from 60 on */
#define HEALTH_PERIOD (HZ / 2)
#define POWER_SAMPLES_VALID 60
#define POWER_API_MIN 3

enum {
	WORD_API,
	WORD_STATUS,
	WORD_SERIAL_LO,
	WORD_SERIAL_HI,
	WORD_POWER, /* of each die */
	WORD_ECC = WORD_POWER + NEURON_DIES_MAX, /* of the SRAM, then of each memory */
	/* behind them, where there is such a word: how repairs of memories went */
	WORDS_MAX = WORD_ECC + NEURON_ECC_MEMORIES_MAX + 1
};

static void power_minute_end(struct neuron_device *nd, time64_t now)
{
	struct neuron_power *p = &nd->power;
	bool valid = p->samples >= POWER_SAMPLES_VALID;
	unsigned int avg = valid ? div_u64(p->sum, p->samples) : 0;
	unsigned int min = valid ? p->min : 0, max = valid ? p->max : 0;

	spin_lock(&nd->stats_lock);
	scnprintf(p->line, sizeof(p->line), "POWER_STATUS_%s,%lld,%u.%02u,%u.%02u,%u.%02u",
		  valid ? "VALID" : "NO_DATA", now, min / 100, min % 100, max / 100, max % 100,
		  avg / 100, avg % 100);
	spin_unlock(&nd->stats_lock);
	p->samples = 0;
	p->sum = 0;
	p->min = POWER_MAX_BP;
	p->max = 0;
	p->minute = now;
}

static void power_sample(struct neuron_device *nd, u32 word)
{
	struct neuron_power *p = &nd->power;
	u32 bp = word & 0xffff;

	/* the sample counter must move, or it is the old sample again */
	if (word >> 16 == p->last >> 16 || bp > POWER_MAX_BP)
		return;
	p->last = word;
	p->samples++;
	p->sum += bp;
	p->min = min(p->min, bp);
	p->max = max(p->max, bp);
}

/**
 * neuron_power_last() - the last power sample
 * @nd: the device
 *
 * Return: utilization in basis points, or -ENODATA.
 */
int neuron_power_last(struct neuron_device *nd)
{
	int bp;

	mutex_lock(&nd->health.lock);
	bp = nd->power.last ? nd->power.last & 0xffff : -ENODATA;
	mutex_unlock(&nd->health.lock);
	return bp;
}

/**
 * neuron_power_word() - what the firmware said of a die at the last look
 * @nd: the device
 * @die: which
 * @word: the utilization in basis points, which may be none, and above it the sample's number
 *
 * Return: 0, -EIO if it did not answer, -ENODATA if it never said anything.
 */
int neuron_power_word(struct neuron_device *nd, unsigned int die, u32 *word)
{
	int ret = 0;

	mutex_lock(&nd->health.lock);
	*word = nd->power.word[die];
	if (!nd->power.supported)
		ret = -ENODATA;
	else if (nd->health.last.silent)
		ret = -EIO;
	mutex_unlock(&nd->health.lock);
	return ret;
}

static void power_look(struct neuron_device *nd, const u32 *word)
{
	time64_t now = ktime_get_real_seconds();

	if (word[WORD_API] < POWER_API_MIN) {
		if (!nd->power.refused)
			nd_info(nd, "firmware API %u has no power utilization\n", word[WORD_API]);
		nd->power.refused = true;
		return;
	}
	memcpy(nd->power.word, word + WORD_POWER, sizeof(nd->power.word));
	nd->power.supported = true;
	power_sample(nd, word[WORD_POWER]);
	if (now - nd->power.minute >= 60)
		power_minute_end(nd, now);
}

static void links_look(struct neuron_device *nd, u32 status)
{
	static const char *const link_files[NEURON_PORTS_MAX] = {
		[NEURON_LINK_SIDE_EAST] = "link_east",
		[NEURON_LINK_SIDE_WEST] = "link_west",
	};
	unsigned int i;
	bool up;

	for (i = 0; nd->gen->ready_links && i < nd->gen->window.ports; i++) {
		up = status & BIT(i);
		if (nd->health.known && up != nd->health.last.link[i]) {
			nd_info(nd, "%s is %s\n", link_files[i], up ? "up" : "down");
			neuron_event_link(nd, i, up);
			neuron_event_file(nd, "info", link_files[i]);
		}
		nd->health.last.link[i] = up;
	}
}

/* Counters that went back were cleared: what they show now is new */
static u32 grown(u32 old, u32 now)
{
	return now >= old ? now - old : now;
}

/* The SRAM's word is the same whatever the firmware. Returns whether it changed */
static bool ecc_look(struct neuron_device *nd, unsigned int memory, u32 firmware, u32 word)
{
	struct neuron_ecc *last = &nd->health.last.ecc[memory];
	struct nhal_errors e =
		nhal_memory_errors(memory == NEURON_ECC_MEMORY_SRAM ? 0 : firmware, word);
	struct neuron_ecc now = { e.corrected, e.uncorrected, e.repairable };
	struct neuron_ecc fresh = {
		.corrected = grown(last->corrected, now.corrected),
		.uncorrected = grown(last->uncorrected, now.uncorrected),
	};
	bool changed = memcmp(last, &now, sizeof(now));

	*last = now;
	if (fresh.corrected || fresh.uncorrected)
		neuron_event_ecc(nd, memory, &now, &fresh);
	if (fresh.uncorrected)
		neuron_hwerr(nd,
			     memory == NEURON_ECC_MEMORY_SRAM ? NEURON_HWERR_SRAM :
								NEURON_HWERR_DRAM,
			     -1);
	return changed;
}

/* The health files' news: whoever polls them is told at once, as by the public driver */
static void health_look(struct neuron_device *nd, const u32 *word, u32 repair)
{
	struct neuron_health *h = &nd->health.last;
	bool changed = h->repair != repair;
	unsigned int i;

	for (i = 0; i <= nd->gen->memories; i++)
		changed |= ecc_look(nd, i, word[WORD_API], word[WORD_ECC + i]);
	h->firmware = word[WORD_API];
	h->repair = repair;
	h->looks++;
	if (changed || h->silent)
		neuron_event_health(nd, "unhealthy_components");
	h->silent = false;
	if (!changed)
		return;
	h->events++;
	neuron_event_health(nd, "hw_error_event");
}

/* Returns how many there are */
static unsigned int words_list(const struct neuron_gen *gen, u64 addr[WORDS_MAX])
{
	unsigned int n = WORD_ECC + 1 + gen->memories, i;

	addr[WORD_API] = nhal_misc_addr(gen, NEURON_MISC_FW_API_VERSION);
	addr[WORD_STATUS] = nhal_misc_addr(gen, gen->ready_word);
	addr[WORD_SERIAL_LO] = nhal_misc_addr(gen, NEURON_MISC_SERIAL_LO);
	addr[WORD_SERIAL_HI] = nhal_misc_addr(gen, NEURON_MISC_SERIAL_HI);
	for (i = 0; i < NEURON_DIES_MAX; i++)
		addr[WORD_POWER + i] = nhal_misc_addr(gen, NEURON_MISC_POWER(i % gen->dies));
	addr[WORD_ECC] = nhal_misc_addr(gen, NEURON_MISC_ECC_SRAM);
	for (i = 0; i < gen->memories; i++)
		addr[WORD_ECC + 1 + i] = nhal_misc_addr(gen, NEURON_MISC_ECC_DRAM(i));
	if (gen->repairs)
		addr[n++] = nhal_misc_addr(gen, NEURON_MISC_REPAIR);
	return n;
}

/**
 * neuron_health_poll() - look at the chip now, and tell what changed
 * @nd: the device
 * @health: what was found, or NULL
 *
 * Return: 0 or -errno of the mailbox.
 */
int neuron_health_poll(struct neuron_device *nd, struct neuron_health *health)
{
	u64 addr[WORDS_MAX];
	u32 word[WORDS_MAX];
	unsigned int n = words_list(nd->gen, addr);
	int ret;

	mutex_lock(&nd->health.lock);
	ret = neuron_reg_read(nd, addr, word, n);
	if (ret == -ETIMEDOUT && !nd->health.last.silent) {
		nd->health.last.silent = true;
		neuron_event_health(nd, "unhealthy_components");
	}
	if (ret)
		goto unlock;
	WRITE_ONCE(nd->serial, (u64)word[WORD_SERIAL_HI] << 32 | word[WORD_SERIAL_LO]);
	links_look(nd, word[WORD_STATUS]);
	health_look(nd, word, nd->gen->repairs ? word[n - 1] & NEURON_REPAIR_MASK : 0);
	power_look(nd, word);
	nd->health.known = true;
	if (health)
		*health = nd->health.last;
unlock:
	mutex_unlock(&nd->health.lock);
	return ret;
}

/* Tells of a firmware that gives no answer once, until it gave one again */
static void mailbox_look(struct neuron_device *nd)
{
	struct neuron_hang hang = {
		.reason = NEURON_HANG_REASON_MAILBOX,
		.cores = NEURON_NC_MAP_DEVICE,
	};

	hang.error = neuron_health_poll(nd, NULL);
	if (hang.error == -ETIMEDOUT && !nd->health.silent) {
		nd_err(nd, "the firmware does not answer\n");
		neuron_hang(nd, &hang);
	}
	nd->health.silent = hang.error == -ETIMEDOUT;
}

static void health_work(struct work_struct *work)
{
	struct neuron_device *nd =
		container_of(to_delayed_work(work), struct neuron_device, health.work);

	if (READ_ONCE(nd->state) == NEURON_STATE_READY)
		mailbox_look(nd);
	nd->health.each(nd);
	queue_delayed_work(system_power_efficient_wq, &nd->health.work, HEALTH_PERIOD);
}

/**
 * neuron_health_init() - once for a device, before anything can look
 * @nd: the device
 * @each: what else is done at each look
 */
void neuron_health_init(struct neuron_device *nd, void (*each)(struct neuron_device *nd))
{
	nd->health.each = each;
	mutex_init(&nd->health.lock);
	INIT_DELAYED_WORK(&nd->health.work, health_work);
	power_minute_end(nd, ktime_get_real_seconds());
}

/**
 * neuron_health_start() - begin to look from time to time
 * @nd: the device
 */
void neuron_health_start(struct neuron_device *nd)
{
	queue_delayed_work(system_power_efficient_wq, &nd->health.work, HEALTH_PERIOD);
}

/**
 * neuron_health_stop() - no more looks when this returns, but for those of sysfs
 * @nd: the device
 */
void neuron_health_stop(struct neuron_device *nd)
{
	cancel_delayed_work_sync(&nd->health.work);
}
