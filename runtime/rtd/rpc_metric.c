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
struct metric_room {
	struct rtd_metric from;
	Nrt__Metric metric;
	Nrt__Aggregate aggregate;
	Nrt__MetricData data[RTD_METRIC_SAMPLES], *list[RTD_METRIC_SAMPLES];
};

static size_t metric_count(const struct rtd_metric *from)
{
	return from->total < RTD_METRIC_SAMPLES ? from->total : RTD_METRIC_SAMPLES;
}

static void metric_series(struct metric_room *room)
{
	const struct rtd_metric *from = &room->from;
	size_t n = metric_count(from);

	for (size_t i = 0; i < n; i++) {
		size_t at = (from->total - n + i) % RTD_METRIC_SAMPLES;

		nrt__metric_data__init(&room->data[i]);
		room->data[i].ts_nanos_since_epoch = from->sample[at].ts_ns;
		room->data[i].value_case = NRT__METRIC_DATA__VALUE_VALUE_DOUBLE;
		room->data[i].value_double = from->sample[at].value;
		room->list[i] = &room->data[i];
	}
	room->metric.n_data = n;
}

static void metric_summary(struct metric_room *room, uint64_t now_ns, uint64_t since_ns)
{
	Nrt__Aggregate *sum = &room->aggregate;
	size_t n = metric_count(&room->from);

	nrt__aggregate__init(sum);
	for (size_t i = 0; i < n; i++) {
		double value = room->from.sample[i].value;

		if (room->from.sample[i].ts_ns < since_ns)
			continue;
		if (!sum->count || value < sum->min)
			sum->min = value;
		if (!sum->count || value > sum->max)
			sum->max = value;
		sum->sum += value;
		sum->count++;
	}
	nrt__metric_data__init(&room->data[0]);
	room->data[0].ts_nanos_since_epoch = now_ns;
	room->data[0].value_case = NRT__METRIC_DATA__VALUE_VALUE_AGG;
	room->data[0].value_agg = sum;
	room->list[0] = &room->data[0];
	room->metric.n_data = 1;
}

static void metric_fill(struct metric_room *room, unsigned int index, uint32_t period)
{
	struct timespec ts;
	uint64_t now, span = period * 1000000000ull;

	clock_gettime(CLOCK_REALTIME, &ts);
	now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	nrt__metric__init(&room->metric);
	room->metric.metric_type = metric_types[index];
	room->metric.overflow = room->from.total > RTD_METRIC_SAMPLES;
	room->metric.data = room->list;
	if (period)
		metric_summary(room, now, span < now ? now - span : 0);
	else
		metric_series(room);
}

void rtd_rpc_all_metrics(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t period = ((const Nrt__ReadAllMetricsRequest *)message)->summarize_period;
	Nrt__ReadAllMetricsResponse resp = NRT__READ_ALL_METRICS_RESPONSE__INIT;
	struct metric_room *rooms = calloc(RTD_METRICS, sizeof(*rooms));
	Nrt__Metric *list[RTD_METRICS];
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rooms) {
		rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	} else if (!rtd_ready(rtd, &err)) {
		pthread_mutex_lock(&rtd->lock);
		for (unsigned int i = 0; i < RTD_METRICS; i++)
			rooms[i].from = rtd->metrics[i];
		pthread_mutex_unlock(&rtd->lock);
		for (unsigned int i = 0; i < RTD_METRICS; i++) {
			metric_fill(&rooms[i], i, period);
			list[i] = &rooms[i].metric;
		}
		resp.nmgr_metrics = list;
		resp.n_nmgr_metrics = RTD_METRICS;
	}

	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);

	free(rooms);
}
