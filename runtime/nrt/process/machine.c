/* SPDX-License-Identifier: MIT */
/*
 * Which cores the machine has, which of them the environment lets this process take, and the kernel
 * module's marks by which it takes them. Devices may be unplugged, so numbers can be missing; a run
 * is a series of cores without a gap. Called by init.c and info.c.
 */
#include "rt_machine.h"
#include "rt_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of cores of a logical one: the chip's own, or the environment's */
static NRT_STATUS logical_size(const struct neuron_gen *gen, uint32_t *lnc)
{
	const char *text = secure_getenv("NEURON_LOGICAL_NC_CONFIG");

	if (!text || !*text)
		text = secure_getenv("NEURON_RT_VIRTUAL_CORE_SIZE"); /* its name before */
	*lnc = gen->logical_cores ? gen->logical_cores : 1;
	if (!text || !*text)
		return NRT_SUCCESS;
	if ((*text != '1' && *text != '2') || text[1] || (*text == '2' && !gen->logical_cores))
		return rt_fail(NRT_INVALID, "NRT", "NEURON_LOGICAL_NC_CONFIG=%s: %s of %s", text,
			       gen->logical_cores ? "1 or 2 cores expected"
						  : "there are no logical cores",
			       gen->product);
	*lnc = (uint32_t)(*text - '0');
	return NRT_SUCCESS;
}

NRT_STATUS rt_machine(struct rt_machine *machine)
{
	int n = ndlx_available_devices(machine->index, NDLX_MAX_DEVICES), err;

	if (n <= 0)
		return rt_fail(NRT_HW_ERROR, "NRT", "no Neuron device found: %s",
			       n ? ndlx_machine_error(n) : "is the driver loaded?");
	err = ndlx_get_gen(machine->index[0], &machine->gen);
	if (err)
		return rt_fail(NRT_HW_ERROR, "NRT", "nd%d: %s", machine->index[0], strerror(-err));
	machine->n = (uint32_t)n;
	return logical_size(machine->gen, &machine->lnc);
}

/* Parses a list of increasing, contiguous cores: "3", "0-3", "0,1,2-5". */
static bool parse_cores(const char *text, uint32_t max, uint32_t *first, uint32_t *count)
{
	unsigned long next = 0;
	bool begun = false;

	for (;;) {
		unsigned long from, to;
		char *end;

		from = to = strtoul(text, &end, 10);
		if (end == text)
			return false;
		if (*end == '-') {
			text = end + 1;
			to = strtoul(text, &end, 10);
			if (end == text)
				return false;
		}

		if (to < from || to >= max || (begun && from != next))
			return false;

		if (!begun)
			*first = (uint32_t)from;
		begun = true;
		next = to + 1;
		*count = (uint32_t)(next - *first);

		if (!*end)
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

/*
 * Finds the next run of cores in [start, end] from *at on, and moves *at behind it. Returns false
 * if there is none.
 */
static bool next_run(const struct rt_machine *machine, const struct rt_want *want, uint32_t *at,
		     struct rt_mark *run)
{
	*run = (struct rt_mark){ 0 };
	for (; *at < machine->n; (*at)++) {
		uint32_t first = (uint32_t)machine->index[*at] * machine->gen->cores;
		uint32_t last = first + machine->gen->cores - 1;

		first = first < want->start ? want->start : first;
		last = last > want->end ? want->end : last;
		if (first > last)
			continue;
		if (run->count && run->first + run->count != first)
			break;
		if (!run->count)
			run->first = first;
		run->count += last - first + 1;
	}
	return run->count;
}

static uint32_t cores_there(const struct rt_machine *machine, const struct rt_want *want)
{
	uint32_t at = 0, count = 0;
	struct rt_mark run;

	while (next_run(machine, want, &at, &run))
		count += run.count;
	return count;
}

NRT_STATUS rt_cores_visible(const struct rt_machine *machine, struct rt_want *want)
{
	const char *visible = secure_getenv("NEURON_RT_VISIBLE_CORES");
	const char *num = secure_getenv("NEURON_RT_NUM_CORES");
	char *rest;
	const uint32_t lnc = machine->lnc;
	uint32_t max = NDLX_MAX_DEVICES * machine->gen->cores / lnc, there;

	*want = (struct rt_want){ .end = max * lnc - 1 };
	if (visible && *visible) {
		if (!parse_cores(visible, max, &want->start, &want->count))
			return rt_fail(NRT_INVALID, "NRT",
				       "NEURON_RT_VISIBLE_CORES=%s is not a range of cores",
				       visible);
		want->start *= lnc;
		want->count *= lnc;
		want->end = want->start + want->count - 1;
	} else if (num) {
		unsigned long n = strtoul(num, &rest, 10);

		if (*rest || n > max)
			return rt_fail(NRT_INVALID, "NRT", "NEURON_RT_NUM_CORES=%s is no number",
				       num);
		want->count = (uint32_t)n * lnc;
	}
	there = cores_there(machine, want);
	if (!want->count)
		want->count = there;
	if (want->count > there)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NRT",
			       "NeuronCore(s) not available - Requested:%u Available:%u",
			       want->count / lnc, there / lnc);
	return NRT_SUCCESS;
}

/* Marks whole logical cores: another process may have taken half of one */
static int mark(uint32_t lnc, uint32_t count, const struct rt_mark *run, struct rt_mark *out,
		uint32_t *available)
{
	uint32_t first = run->first;
	int err;

	out->count = count;
	for (;;) {
		err = ndlx_crwl_nc_range_mark(count, first, run->first + run->count - 1,
					      &out->first, available);
		if (err || out->first % lnc == 0)
			return err;
		ndlx_crwl_nc_range_unmark(out->first, count);
		first = out->first + 1;
		if (first + count > run->first + run->count)
			return -EBUSY;
	}
}

/* Marks the first free cores that lie in one run. */
static int mark_run(const struct rt_machine *machine, const struct rt_want *want,
		    struct rt_mark *out, uint32_t *available)
{
	uint32_t at = 0;
	struct rt_mark run;
	int err = -EBUSY;

	while (err == -EBUSY && next_run(machine, want, &at, &run))
		if (run.count >= want->count)
			err = mark(machine->lnc, want->count, &run, out, available);
	return err;
}

/*
 * Marks cores of several runs when no run has enough: whole runs, and the rest from the last one.
 */
static int mark_runs(const struct rt_machine *machine, const struct rt_want *want,
		     struct rt_mark *marks, unsigned int *nmarks, uint32_t *available)
{
	uint32_t at = 0, left = want->count;
	struct rt_mark run;

	while (left && next_run(machine, want, &at, &run)) {
		uint32_t count = run.count < left ? run.count : left;
		int err = mark(machine->lnc, count, &run, &marks[*nmarks], available);

		if (err) {
			rt_cores_unmark(marks, nmarks);
			return err;
		}
		(*nmarks)++;
		left -= count;
	}
	return 0;
}

/* Says who has the cores that this process wanted. */
static void tell_holders(const struct rt_machine *machine, const struct rt_want *want)
{
	const uint32_t cores = machine->gen->cores;

	for (uint32_t i = 0; i < machine->n; i++) {
		uint32_t first = (uint32_t)machine->index[i] * cores, map = 0;

		for (uint32_t nc = 0; nc < cores; nc++)
			if (first + nc >= want->start && first + nc <= want->end)
				map |= 1u << nc;
		if (map)
			rt_holders_tell(machine->index[i], map);
	}
}

NRT_STATUS rt_cores_mark(const struct rt_machine *machine, const struct rt_want *want,
			 struct rt_mark *marks, unsigned int *nmarks)
{
	uint32_t at = 0, longest = 0, available = 0;
	struct rt_mark run;
	int err;

	*nmarks = 0;
	while (next_run(machine, want, &at, &run))
		longest = run.count > longest ? run.count : longest;
	if (longest >= want->count) {
		err = mark_run(machine, want, marks, &available);
		*nmarks = !err;
	} else {
		err = mark_runs(machine, want, marks, nmarks, &available);
	}
	if (err == -EBUSY)
		tell_holders(machine, want);
	return err ? rt_fail(err == -EBUSY ? NRT_LOAD_NOT_ENOUGH_NC : rt_status_from_errno(err),
			     "NRT", "NeuronCore(s) not available - Requested:%u Available:%u",
			     want->count / machine->lnc, available / machine->lnc)
		   : NRT_SUCCESS;
}

void rt_cores_unmark(const struct rt_mark *marks, unsigned int *nmarks)
{
	while (*nmarks) {
		(*nmarks)--;
		ndlx_crwl_nc_range_unmark(marks[*nmarks].first, marks[*nmarks].count);
	}
}
