/* SPDX-License-Identifier: MIT */
/*
 * The writing of an engine's JSON file (docs/neff.md). It has an object for each copy of a program,
 * most of what a NEFF's text is, so it is made as text and not as a tree of values.
 */
#include "neff_engine.h"
#include "neff_custom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/ext.h"

#define FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII)
#define NUMBER 20 /* digits of an int64_t, with its sign */

struct text {
	struct neff_bytes *to;
	const struct neff_subgraph *sg;
	int ret; /* the first failure: what is put behind it is lost */
};

static void put(struct text *t, const char *s, size_t n)
{
	if (t->ret)
		return;
	if (n > t->to->capacity - t->to->size)
		t->ret = neff_bytes_reserve(t->to, n + 1);
	if (t->ret)
		return;
	memcpy(t->to->data + t->to->size, s, n);
	t->to->size += n;
}

#define PUT(t, literal) put(t, literal, sizeof(literal) - 1)

static void put_int(struct text *t, int64_t value)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[NUMBER], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		*--p = '-';
	put(t, p, (size_t)(digits + sizeof(digits) - p));
}

/* Appends a value, and takes it. */
static void put_json(struct text *t, json_t *value)
{
	char *s = value ? json_dumps(value, FLAGS | JSON_ENCODE_ANY) : NULL;

	if (s)
		put(t, s, strlen(s));
	else if (!t->ret)
		t->ret = -ENOMEM;
	free(s);
	json_decref(value);
}

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	return true;
}

/* Writes a string; what is no text is no name either, as the reader will say. */
static void put_string(struct text *t, const char *s)
{
	if (!is_plain(s)) {
		put_json(t, json_string(s) ?: json_null());
		return;
	}
	PUT(t, "\"");
	put(t, s, strlen(s));
	PUT(t, "\"");
}

/* A key that is a side's name with an end: from, from_off */
static void put_key(struct text *t, const char *side, const char *end)
{
	PUT(t, "\"");
	put(t, side, strlen(side));
	put(t, end, strlen(end));
	PUT(t, "\":");
}

static void put_list(struct text *t, const int64_t *value, unsigned int n)
{
	PUT(t, "[");
	for (unsigned int i = 0; i < n; i++) {
		put(t, ",", i ? 1 : 0);
		put_int(t, value[i]);
	}
	PUT(t, "]");
}

static void put_pattern(struct text *t, const struct neff_pattern *p, const char *side)
{
	put_key(t, side, "");
	put_string(t, t->sg->vars[p->var].name);
	PUT(t, ",");
	put_key(t, side, "_off");
	put_int(t, (int64_t)p->offset);
	PUT(t, ",");
	put_key(t, side, "_steps");
	put_list(t, p->step, p->ndim);
	PUT(t, ",");
	put_key(t, side, "_sizes");
	put_list(t, (const int64_t *)p->size, p->ndim);
}

static void put_op(struct text *t, const struct neff_desc *d)
{
	PUT(t, ",\"op\":");
	put_string(t, neff_op_name(d->op));
}

static void put_index(struct text *t, const struct neff_desc *d)
{
	put_op(t, d);
	PUT(t, ",\"index\":");
	put_string(t, t->sg->vars[d->index].name);
	PUT(t, ",\"index_off\":");
	put_int(t, (int64_t)d->index_off);
}

static void put_transpose(struct text *t, const struct neff_desc *d)
{
	const int64_t shape[4] = { d->shape[0], d->shape[1], d->shape[2], d->shape[3] };

	put_op(t, d);
	PUT(t, ",\"transpose_element_size\":");
	put_int(t, neff_dtype_size(d->to_dtype));
	PUT(t, ",\"transpose_shape\":");
	put_list(t, shape, 4);
}

/* A sum's sources are a list, a conversion's only one is not */
static void put_compute(struct text *t, const struct neff_desc *d)
{
	put_op(t, d);
	PUT(t, ",\"from_dtype\":");
	put_string(t, neff_dtype_name(d->from_dtype));
	PUT(t, ",\"to_dtype\":");
	put_string(t, neff_dtype_name(d->to_dtype));
	if (!neff_has_list(d))
		return;
	PUT(t, ",\"from_arr\":[");
	for (unsigned int i = 0; i <= d->nmore; i++) {
		put(t, ",", i ? 1 : 0);
		PUT(t, "{");
		put_pattern(t, i ? &d->more[i - 1] : &d->from, "from");
		PUT(t, "}");
	}
	PUT(t, "]");
}

static void put_desc(struct text *t, const struct neff_desc *d)
{
	PUT(t, "{");
	if (!neff_has_list(d)) {
		put_pattern(t, &d->from, "from");
		PUT(t, ",");
	}
	put_pattern(t, &d->to, "to");
	if (neff_indexed(d))
		put_index(t, d);
	if (d->op == NEFF_TRANSPOSE)
		put_transpose(t, d);
	else if (neff_computes(d))
		put_compute(t, d);
	PUT(t, "}");
}

static void put_dma(struct text *t, const struct neff_dma *dma)
{
	PUT(t, "{\"id\":");
	put_int(t, dma->id);
	PUT(t, ",\"queue\":");
	put_string(t, t->sg->queues[dma->queue].name);
	if (dma->semaphore >= 0) {
		PUT(t, ",\"semaphore\":");
		put_int(t, dma->semaphore);
	}
	PUT(t, ",\"desc\":[");
	for (unsigned int i = 0; i < dma->ndesc; i++) {
		put(t, ",", i ? 1 : 0);
		put_desc(t, &dma->desc[i]);
	}
	PUT(t, "]}");
}

int neff_engine_text(const struct neff_subgraph *sg, unsigned int eng, struct neff_bytes *to)
{
	struct text t = { .to = to, .sg = sg };

	PUT(&t, "{\"dma\":[");
	for (unsigned int i = 0; i < sg->engine[eng].ndma; i++) {
		put(&t, ",", i ? 1 : 0);
		put_dma(&t, &sg->engine[eng].dma[i]);
	}
	PUT(&t, "],");
	if (eng == NEURON_ENG_GPSIMD && sg->ncustom) {
		PUT(&t, "\"custom\":");
		put_json(&t, neff_custom_to_json(sg));
		PUT(&t, ",");
	}
	PUT(&t, "\"instr\":[]}");
	put(&t, "", 1);
	to->size -= !t.ret;
	return t.ret;
}
