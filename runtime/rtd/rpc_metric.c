// SPDX-License-Identifier: MIT
/*
 * read_all_metrics: time series of latencies and sizes, or one aggregate for each metric over the
 * last summarize_period seconds. The newest RTD_METRIC_SAMPLES values are kept; overflow says that
 * older ones were lost.
 */
#include <stdlib.h>
#include <time.h>

#include "rpc.h"

static const Nrt__MetricType metric_types[RTD_METRICS] = {
	[RTD_METRIC_INFER] = NRT__METRIC_TYPE__NMGR_METRIC_INFER_LATENCY,
	[RTD_METRIC_INFER_ON_CHIP] = NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_LATENCY,
	[RTD_METRIC_START] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_START_LATENCY,
	[RTD_METRIC_STOP] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_STOP_LATENCY,
	[RTD_METRIC_LOAD] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_LOAD_LATENCY,
	[RTD_METRIC_UNLOAD] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_UNLOAD_LATENCY,
	[RTD_METRIC_SIZE] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_SIZE,
	[RTD_METRIC_NUM_NC] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_NUM_NC,
	[RTD_METRIC_KCYCLES] = NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_CYCLESx1k,
	[RTD_METRIC_MAJOR] = NRT__METRIC_TYPE__NMGR_METRIC_MODEL_MAJOR_VERSION,
};

/* One metric's message and everything it points at */
struct metric_storage {
	struct rtd_metric from;
	Nrt__Metric metric;
	Nrt__Aggregate aggregate;
	Nrt__MetricData data[RTD_METRIC_SAMPLES], *list[RTD_METRIC_SAMPLES];
};

static size_t metric_count(const struct rtd_metric *from)
{
	return from->total < RTD_METRIC_SAMPLES ? from->total : RTD_METRIC_SAMPLES;
}

static void metric_series(struct metric_storage *storage)
{
	const struct rtd_metric *from = &storage->from;
	size_t n = metric_count(from);

	for (size_t i = 0; i < n; i++) {
		size_t at = (from->total - n + i) % RTD_METRIC_SAMPLES;

		nrt__metric_data__init(&storage->data[i]);
		storage->data[i].ts_nanos_since_epoch = from->sample[at].ts_ns;
		storage->data[i].value_case = NRT__METRIC_DATA__VALUE_VALUE_DOUBLE;
		storage->data[i].value_double = from->sample[at].value;
		storage->list[i] = &storage->data[i];
	}
	storage->metric.n_data = n;
}

static void metric_summary(struct metric_storage *storage, uint64_t now_ns, uint64_t since_ns)
{
	Nrt__Aggregate *sum = &storage->aggregate;
	size_t n = metric_count(&storage->from);

	nrt__aggregate__init(sum);
	for (size_t i = 0; i < n; i++) {
		double value = storage->from.sample[i].value;

		if (storage->from.sample[i].ts_ns < since_ns)
			continue;
		if (!sum->count || value < sum->min)
			sum->min = value;
		if (!sum->count || value > sum->max)
			sum->max = value;
		sum->sum += value;
		sum->count++;
	}
	nrt__metric_data__init(&storage->data[0]);
	storage->data[0].ts_nanos_since_epoch = now_ns;
	storage->data[0].value_case = NRT__METRIC_DATA__VALUE_VALUE_AGG;
	storage->data[0].value_agg = sum;
	storage->list[0] = &storage->data[0];
	storage->metric.n_data = 1;
}

static void metric_fill(struct metric_storage *storage, unsigned int index, uint32_t period)
{
	struct timespec ts;
	uint64_t now, span = period * 1000000000ull;

	clock_gettime(CLOCK_REALTIME, &ts);
	now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	nrt__metric__init(&storage->metric);
	storage->metric.metric_type = metric_types[index];
	storage->metric.overflow = storage->from.total > RTD_METRIC_SAMPLES;
	storage->metric.data = storage->list;
	if (period)
		metric_summary(storage, now, span < now ? now - span : 0);
	else
		metric_series(storage);
}

void rtd_rpc_all_metrics(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t period = ((const Nrt__ReadAllMetricsRequest *)message)->summarize_period;
	Nrt__ReadAllMetricsResponse resp = NRT__READ_ALL_METRICS_RESPONSE__INIT;
	struct metric_storage *storages = calloc(RTD_METRICS, sizeof(*storages));
	Nrt__Metric *list[RTD_METRICS];
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!storages) {
		rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	} else if (!rtd_ready(rtd, &err)) {
		pthread_mutex_lock(&rtd->lock);
		for (unsigned int i = 0; i < RTD_METRICS; i++)
			storages[i].from = rtd->metrics[i];
		pthread_mutex_unlock(&rtd->lock);
		for (unsigned int i = 0; i < RTD_METRICS; i++) {
			metric_fill(&storages[i], i, period);
			list[i] = &storages[i].metric;
		}
		resp.nmgr_metrics = list;
		resp.n_nmgr_metrics = RTD_METRICS;
	}

	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);

	free(storages);
}
