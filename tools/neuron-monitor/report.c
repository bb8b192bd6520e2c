// SPDX-License-Identifier: MIT
/*
 * The groups. Counts are JSON integers and never negative; a percentage is at most 100, because
 * readers rely on that. Percentiles of latency are those of the cores' means: a datastore has the
 * sum of all latencies and not each.
 */
#include "report.h"

#include <math.h>
#include <string.h>

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *hundredths(double value)
{
	return json_real(round(value * 100) / 100);
}

static double span_seconds(const struct report_span *s)
{
	return s->now->time - (s->before ? s->before->time : s->started);
}

/* The group with its period, and last its error */
static json_t *group_new(const struct report_span *s)
{
	return json_pack("{s:f}", "period", span_seconds(s));
}

static json_t *group_end(json_t *group, const char *error)
{
	json_object_set_new(group, "error", json_string(error));
	return group;
}

json_t *report_failed_group(const struct report_span *span, const char *error)
{
	return group_end(group_new(span), error);
}

static const struct tm_process *earlier(const struct report_span *s)
{
	return s->before ? tm_find(s->before, s->process) : NULL;
}

/*
 * Before a process was seen all its counters were 0, if the monitor was there; what it did before
 * the monitor began is of no period.
 */
static const struct tm_part *earlier_part(const struct report_span *s, const struct tm_part *part)
{
	const struct tm_part *found = tm_find_part(earlier(s), part->device);

	return found || s->before ? found : part;
}

static const char *core_key(const struct report_span *s, const struct tm_part *part, unsigned nc,
			    char key[static 16])
{
	snprintf(key, 16, "%u", tm_core_index(s->now, part->device, nc));
	return key;
}

/* A logical core: its own object, and below "v3d" one of each core that it is made of */
static void add_core(const struct report_span *s, json_t *cores, const struct tm_part *part,
		     unsigned first)
{
	const struct tm_part *before = earlier_part(s, part);
	const struct tm_device *d = &s->now->device[part->device];
	unsigned n = s->now->cores_of_one;
	double busy = 0, macs = 0, seconds = span_seconds(s);
	json_t *inner = json_object(), *core;
	char key[32];

	for (unsigned nc = first; nc < first + n && nc < d->cores; nc++) {
		double own = tm_utilization(before, part, nc, seconds);

		busy += own / n;
		macs += (double)tm_rise(before, part, nc, NDS_NC_COUNTER_MAC_COUNT);
		snprintf(key, sizeof(key), "nc_v3.%u", d->index * d->cores + nc);
		json_object_set_new(inner, key,
				    json_pack("{s:o}", "neuroncore_utilization", hundredths(own)));
	}
	macs = seconds > 0 ? 2 * macs / seconds : 0;
	core = json_pack("{s:o, s:o, s:o}", "neuroncore_utilization", hundredths(busy), "flops",
			 integer((uint64_t)macs), "effective_flops", integer((uint64_t)macs));
	if (n > 1)
		json_object_set(core, "v3d", inner);
	json_decref(inner);
	json_object_set_new(cores, core_key(s, part, first, key), core);
}

static bool one_used(const struct tm_part *part, unsigned first, unsigned n)
{
	for (unsigned nc = first; nc < first + n && nc < NEURON_CORES_MAX; nc++)
		if (tm_core_used(part, nc))
			return true;
	return false;
}

/* Calls add for every logical core that the process uses */
static void each_core(const struct report_span *s, json_t *object,
		      void (*add)(const struct report_span *, json_t *, const struct tm_part *,
				  unsigned))
{
	unsigned n = s->now->cores_of_one;

	for (unsigned i = 0; i < s->process->parts; i++) {
		const struct tm_part *part = &s->process->part[i];

		for (unsigned nc = 0; nc < s->now->device[part->device].cores; nc += n)
			if (one_used(part, nc, n))
				add(s, object, part, nc);
	}
}

static json_t *neuroncore_counters(const struct report_span *s)
{
	json_t *group = group_new(s), *cores = json_object();

	each_core(s, cores, add_core);
	json_object_set_new(group, "neuroncores_in_use", cores);
	return group_end(group, "");
}

static void logical_memory(const struct report_span *s, const struct tm_part *part, unsigned first,
			   struct tm_core_memory *sum)
{
	struct tm_core_memory m;

	memset(sum, 0, sizeof(*sum));
	for (unsigned nc = first; nc < first + s->now->cores_of_one; nc++) {
		if (nc >= s->now->device[part->device].cores)
			break;
		tm_core_memory(part, nc, &m);
		sum->constants = tm_sum(sum->constants, m.constants);
		sum->model_code = tm_sum(sum->model_code, m.model_code);
		sum->model_shared_scratchpad =
			tm_sum(sum->model_shared_scratchpad, m.model_shared_scratchpad);
		sum->runtime_memory = tm_sum(sum->runtime_memory, m.runtime_memory);
		sum->tensors = tm_sum(sum->tensors, m.tensors);
	}
}

static void add_core_memory(const struct report_span *s, json_t *cores, const struct tm_part *part,
			    unsigned first)
{
	struct tm_core_memory m;
	char key[16];

	logical_memory(s, part, first, &m);
	json_object_set_new(cores, core_key(s, part, first, key),
			    json_pack("{s:o, s:o, s:o, s:o, s:o}", "constants",
				      integer(m.constants), "model_code", integer(m.model_code),
				      "model_shared_scratchpad", integer(m.model_shared_scratchpad),
				      "runtime_memory", integer(m.runtime_memory), "tensors",
				      integer(m.tensors)));
}

static uint64_t device_memory(const struct report_span *s)
{
	struct tm_core_memory m;
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->process->parts; i++) {
		const struct tm_part *part = &s->process->part[i];

		for (unsigned nc = 0; nc < s->now->device[part->device].cores; nc++) {
			tm_core_memory(part, nc, &m);
			sum = tm_sum(sum, tm_core_memory_sum(&m));
		}
	}
	return sum;
}

static json_t *node_memory(const struct tm_node *n)
{
	const struct tm_node_memory *h = &n->host, *d = &n->device;
	uint64_t buffers = tm_sum(h->code, h->scratchpad);
	uint64_t host = tm_sum(tm_sum(h->misc, h->constants), tm_sum(buffers, h->tensors));
	uint64_t runtime = tm_sum(d->misc, d->scratchpad);
	uint64_t device = tm_sum(tm_sum(d->constants, d->code), tm_sum(runtime, d->tensors));

	return json_pack("{s:o, s:o, s:{s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}}}", "host",
			 integer(host), "neuron_device", integer(device), "usage_breakdown", "host",
			 "application_memory", integer(h->misc), "constants", integer(h->constants),
			 "dma_buffers", integer(buffers), "tensors", integer(h->tensors),
			 "neuron_device", "constants", integer(d->constants), "model_code",
			 integer(d->code), "runtime_memory", integer(runtime), "tensors",
			 integer(d->tensors));
}

/* A loaded model runs, as far as its runtime tells. */
static json_t *model_new(const struct tm_node *n)
{
	char uuid[2 * sizeof(n->uuid) + 1];

	for (size_t i = 0; i < sizeof(n->uuid); i++)
		snprintf(uuid + 2 * i, 3, "%02x", n->uuid[i]);
	return json_pack("{s:s, s:s, s:I, s:b, s:{}}", "name", n->name, "uuid", uuid, "model_id",
			 (json_int_t)n->model, "is_running", 1, "subgraphs");
}

static json_t *find_model(json_t *models, uint32_t id)
{
	json_t *model;
	size_t i;

	json_array_foreach(models, i, model)
		if (json_integer_value(json_object_get(model, "model_id")) == (json_int_t)id)
			return model;
	return NULL;
}

/* The subgraphs of a model may lie on several devices, each of which has a datastore. */
static json_t *loaded_models(const struct report_span *s)
{
	json_t *models = json_array(), *model;
	char key[16];

	for (unsigned i = 0; i < s->process->parts; i++) {
		const struct tm_part *part = &s->process->part[i];

		for (unsigned j = 0; j < part->nodes; j++) {
			const struct tm_node *n = &part->node[j];

			model = find_model(models, n->model);
			if (!model) {
				model = model_new(n);
				json_array_append_new(models, model);
			}
			snprintf(key, sizeof(key), "sg_%02u", n->subgraph);
			json_object_set_new(json_object_get(model, "subgraphs"), key,
					    json_pack("{s:o, s:i, s:i}", "memory_used_bytes",
						      node_memory(n), "neuroncore_index",
						      (int)(n->nc / s->now->cores_of_one),
						      "neuron_device_index",
						      (int)s->now->device[part->device].index));
		}
	}
	return models;
}

static json_t *memory_used(const struct report_span *s)
{
	json_t *group = group_new(s), *cores = json_object(), *host;
	struct tm_host_memory m;

	tm_host_memory(s->process, &m);
	each_core(s, cores, add_core_memory);
	host = json_pack("{s:o, s:o, s:o, s:o}", "application_memory", integer(m.application),
			 "constants", integer(m.constants), "dma_buffers", integer(m.dma_buffers),
			 "tensors", integer(m.tensors));
	json_object_set_new(group, "neuron_runtime_used_bytes",
			    json_pack("{s:o, s:o, s:{s:o, s:o}}", "host",
				      integer(tm_host_memory_sum(&m)), "neuron_device",
				      integer(device_memory(s)), "usage_breakdown", "host", host,
				      "neuroncore_memory_usage", cores));
	json_object_set_new(group, "loaded_models", loaded_models(s));
	return group_end(group, "");
}

static double share(uint64_t before, uint64_t now, uint64_t all)
{
	double part = now > before ? (double)(now - before) : 0;

	return all && part < (double)all ? 100 * part / (double)all : all && part ? 100 : 0;
}

static json_t *runtime_vcpu_usage(const struct report_span *s)
{
	const struct tm_process *before = earlier(s), *now = s->process;
	uint64_t all = 0;
	json_t *group = group_new(s);

	if (before && s->now->cpus.n && s->before->cpus.n)
		all = tm_ticks(s->before, s->now);
	json_object_set_new(
		group, "vcpu_usage",
		json_pack("{s:o, s:o}", "user",
			  hundredths(share(before ? before->user : 0, now->user, all)), "system",
			  hundredths(share(before ? before->system : 0, now->system, all))));
	return group_end(group, "");
}

/* The rise of counters first to last, on all cores of the process */
static uint64_t rises(const struct report_span *s, unsigned first, unsigned last)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->process->parts; i++) {
		const struct tm_part *part = &s->process->part[i], *before = earlier_part(s, part);

		for (unsigned nc = 0; nc < s->now->device[part->device].cores; nc++)
			for (unsigned c = first; c <= last; c++)
				sum = tm_sum(sum, tm_rise(before, part, nc, c));
	}
	return sum;
}

static json_t *count(const struct report_span *s, unsigned counter)
{
	return integer(rises(s, counter, counter));
}

/*
 * Errors with a counter of their own in the extended section are hardware's, or, from the overflow
 * of a queue to the sequencer, the model's.
 */
static json_t *error_summary(const struct report_span *s, bool first_generation)
{
	uint64_t hardware = rises(s, NDS_NC_COUNTER_ERR_HW, NDS_NC_COUNTER_ERR_HW);
	uint64_t model = rises(s, NDS_NC_COUNTER_ERR_MODEL, NDS_NC_COUNTER_ERR_MODEL);
	json_t *o;

	hardware = tm_sum(hardware, rises(s, NDS_EXT_NC_COUNTER_HW_ERR_COLLECTIVES,
					  NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT));
	hardware = tm_sum(hardware, rises(s, NDS_EXT_NC_COUNTER_HW_ERR_REPAIRABLE_HBM_UE,
					  NDS_EXT_NC_COUNTER_HW_ERR_REPAIRABLE_HBM_UE));
	model = tm_sum(model, rises(s, NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW,
				    NDS_EXT_NC_COUNTER_ERR_SW_SEQUENCER_FATAL));
	o = json_pack("{s:o, s:o, s:o}", "generic", count(s, NDS_NC_COUNTER_ERR_GENERIC),
		      "numerical", count(s, NDS_NC_COUNTER_ERR_NUMERICAL), "transient",
		      count(s, NDS_NC_COUNTER_ERR_TRANSIENT));
	if (!first_generation)
		json_object_set_new(o, "model", integer(model));
	json_object_set_new(o, "runtime", count(s, NDS_NC_COUNTER_ERR_RT));
	json_object_set_new(o, "hardware", integer(hardware));
	return o;
}

static json_t *execution_summary(const struct report_span *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "completed",
			 count(s, NDS_NC_COUNTER_INFER_COMPLETED), "completed_with_err",
			 count(s, NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR),
			 "completed_with_num_err",
			 count(s, NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR), "timed_out",
			 count(s, NDS_NC_COUNTER_INFER_TIMED_OUT), "incorrect_input",
			 count(s, NDS_NC_COUNTER_INFER_INCORRECT_INPUT), "failed_to_queue",
			 count(s, NDS_NC_COUNTER_INFER_FAILED_TO_QUEUE));
}

/* A core's mean latency, as many times as it executed */
struct latency {
	double mean;
	uint64_t count;
};

static size_t gather_latencies(const struct report_span *s, unsigned counter, struct latency *list,
			       size_t capacity, uint64_t *all)
{
	size_t n = 0;

	*all = 0;
	for (unsigned i = 0; i < s->process->parts; i++) {
		const struct tm_part *part = &s->process->part[i], *before = earlier_part(s, part);

		for (unsigned nc = 0; nc < s->now->device[part->device].cores; nc++) {
			uint64_t times = tm_rise(before, part, nc, NDS_NC_COUNTER_INFERENCE_COUNT);
			double sum = (double)tm_rise(before, part, nc, counter);

			if (!times || n == capacity)
				continue;
			list[n++] = (struct latency){ sum * 1e-6 / (double)times, times };
			*all = tm_sum(*all, times);
		}
	}
	return n;
}

static int compare_latency(const void *a, const void *b)
{
	const struct latency *x = a, *y = b;

	return (x->mean > y->mean) - (x->mean < y->mean);
}

static double percentile(const struct latency *list, size_t n, uint64_t all, unsigned percent)
{
	double wanted = (double)all * percent / 100, seen = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		seen += (double)list[i].count;
		if (seen >= wanted)
			return list[i].mean;
	}
	return list[n - 1].mean;
}

static json_t *latency(const struct report_span *s, unsigned counter)
{
	static const unsigned percents[] = { 0, 1, 25, 50, 75, 99, 100 };
	size_t capacity = (size_t)s->process->parts * NEURON_CORES_MAX, n;
	struct latency *list = calloc(capacity + 1, sizeof(*list));
	json_t *o = NULL;
	uint64_t all;

	n = list ? gather_latencies(s, counter, list, capacity, &all) : 0;
	if (n) {
		qsort(list, n, sizeof(*list), compare_latency);
		o = json_object();
	}
	for (unsigned i = 0; n && i < sizeof(percents) / sizeof(*percents); i++) {
		char key[8];

		snprintf(key, sizeof(key), "p%u", percents[i]);
		json_object_set_new(o, key, json_real(percentile(list, n, all, percents[i])));
	}
	free(list);
	return o ? o : json_null();
}

static json_t *execution_stats(const struct report_span *s, bool first_generation)
{
	json_t *group = group_new(s);

	json_object_set_new(group, "error_summary", error_summary(s, first_generation));
	json_object_set_new(group, first_generation ? "inference_summary" : "execution_summary",
			    execution_summary(s));
	json_object_set_new(group, "latency_stats",
			    json_pack("{s:o, s:o}", "total_latency",
				      latency(s, NDS_NC_COUNTER_LATENCY_TOTAL), "device_latency",
				      latency(s, NDS_NC_COUNTER_LATENCY_DEVICE)));
	return group_end(group, "");
}

static const struct tm_device *earlier_device(const struct report_span *s,
					      const struct tm_device *device)
{
	for (unsigned i = 0; s->before && i < s->before->devices; i++)
		if (s->before->device[i].index == device->index && !s->before->device[i].error)
			return &s->before->device[i];
	return device; /* what the chip counted before is of no period */
}

static json_t *rise(uint64_t before, uint64_t now)
{
	return integer(now > before ? now - before : 0);
}

static void add_device(const struct report_span *s, json_t *list, const struct tm_device *d,
		       bool first_generation)
{
	const struct tm_ecc *now = &d->ecc, *before = &earlier_device(s, d)->ecc;
	json_t *o;

	o = json_pack("{s:i, s:o, s:o, s:o}", "neuron_device_index", (int)d->index,
		      "mem_ecc_corrected", rise(before->mem_corrected, now->mem_corrected),
		      "mem_ecc_uncorrected", rise(before->mem_uncorrected, now->mem_uncorrected),
		      "sram_ecc_uncorrected",
		      rise(before->sram_uncorrected, now->sram_uncorrected));
	if (!first_generation)
		json_object_set_new(o, "sram_ecc_corrected",
				    rise(before->sram_corrected, now->sram_corrected));
	json_array_append_new(list, o);
}

/* The hardware counters of all devices, or of those of the process */
static json_t *hw_counters(const struct report_span *s)
{
	json_t *group = group_new(s), *list = json_array();
	const char *error = "";
	char text[64];

	for (unsigned i = 0; i < s->now->devices; i++) {
		const struct tm_device *d = &s->now->device[i];

		if (s->process && !tm_find_part(s->process, i))
			continue;
		if (d->error) {
			snprintf(text, sizeof(text), "neuron%u: %s", d->index, strerror(-d->error));
			error = text;
		}
		add_device(s, list, d, s->process != NULL);
	}
	json_object_set_new(group, "neuron_devices", list);
	return group_end(group, error);
}

json_t *report_runtime_group(const struct report_span *span, enum runtime_group group)
{
	switch (group) {
	case GROUP_NEURONCORE_COUNTERS:
		return neuroncore_counters(span);
	case GROUP_MEMORY_USED:
		return memory_used(span);
	case GROUP_RUNTIME_VCPU_USAGE:
		return runtime_vcpu_usage(span);
	case GROUP_EXECUTION_STATS:
		return execution_stats(span, false);
	case GROUP_INFERENCE_STATS:
		return execution_stats(span, true);
	default:
		return hw_counters(span);
	}
}

/* Row number i of both snapshots, which may have different processors; NULL before: since boot */
static json_t *cpu(const struct tm_cpus *before, const struct tm_cpus *now, unsigned i)
{
	static const char *const names[TM_CPU] = { "user",    "nice", "system",	 "idle",
						   "io_wait", "irq",  "soft_irq" };
	const uint64_t *old = NULL;
	json_t *o = json_object();
	uint64_t all = now->row[i].all;

	for (unsigned j = i ? 1 : 0; before && j <= (i ? before->n : 0); j++)
		if (!i || before->row[j].number == now->row[i].number) {
			old = before->row[j].ticks;
			all -= before->row[j].all < all ? before->row[j].all : all;
		}
	for (unsigned f = 0; f < TM_CPU; f++)
		json_object_set_new(o, names[f],
				    hundredths(share(old ? old[f] : 0, now->row[i].ticks[f], all)));
	return o;
}

static json_t *vcpu_usage(const struct report_span *s)
{
	const struct tm_cpus *now = &s->now->cpus, *before = s->before ? &s->before->cpus : NULL;
	json_t *group = group_new(s), *each = json_object();
	char key[16];

	if (!now->n) {
		json_decref(each);
		return group_end(group, "/proc/stat cannot be read");
	}
	for (unsigned i = 1; i <= now->n; i++) {
		snprintf(key, sizeof(key), "%u", now->row[i].number);
		json_object_set_new(each, key, cpu(before, now, i));
	}
	json_object_set_new(group, "average_usage", cpu(before, now, 0));
	json_object_set_new(group, "usage_data", each);
	json_object_set_new(group, "context_switch_count",
			    rise(before ? before->switches : now->switches, now->switches));
	return group_end(group, "");
}

static json_t *memory_info(const struct report_span *s)
{
	const struct tm_memory *m = &s->now->memory;
	json_t *group = group_new(s);

	json_object_set_new(group, "memory_total_bytes", integer(m->total));
	json_object_set_new(group, "memory_used_bytes", integer(m->used));
	json_object_set_new(group, "swap_total_bytes", integer(m->swap_total));
	json_object_set_new(group, "swap_used_bytes", integer(m->swap_used));
	return group_end(group, m->total ? "" : "/proc/meminfo cannot be read");
}

json_t *report_system_group(const struct report_span *span, enum system_group group)
{
	if (group == GROUP_VCPU_USAGE)
		return vcpu_usage(span);
	return group == GROUP_MEMORY_INFO ? memory_info(span) : hw_counters(span);
}

json_t *report_instance(const struct tm_instance *i)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "instance_name", i->name,
			 "instance_id", i->id, "instance_type", i->type,
			 "instance_availability_zone", i->zone, "instance_availability_zone_id",
			 i->zone_id, "instance_region", i->region, "ami_id", i->ami, "subnet_id",
			 i->subnet, "error", i->error);
}

/* "NCv3" is "v3" here, and of logical cores of two "v3d" */
static void core_version(const struct neuron_gen *gen, unsigned cores_of_one, char text[static 16])
{
	snprintf(text, 16, "%.8s%s", gen->core_arch + strcspn(gen->core_arch, "v"),
		 cores_of_one > 1 ? "d" : "");
}

json_t *report_hardware(const struct tm_snapshot *now)
{
	const struct tm_device *d = &now->device[0];
	char device[16] = "", core[16] = "";
	const char *type = "";

	if (now->devices && d->gen) {
		type = d->gen->name;
		snprintf(device, sizeof(device), "v%u", d->gen->number + 1u);
		core_version(d->gen, now->cores_of_one, core);
	}
	return json_pack("{s:s, s:s, s:s, s:i, s:o, s:i, s:i, s:s}", "neuron_device_type", type,
			 "neuron_device_version", device, "neuroncore_version", core,
			 "neuron_device_count", (int)now->devices, "neuron_device_memory_size",
			 integer(now->devices ? d->memory : 0), "neuroncore_per_device_count",
			 (int)(now->devices ? d->cores / now->cores_of_one : 0),
			 "logical_neuroncore_config", (int)now->cores_of_one, "error", now->error);
}
