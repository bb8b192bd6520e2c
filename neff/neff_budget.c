// SPDX-License-Identifier: MIT
/*
 * What reading a NEFF may cost: the default limits, which depend on the file's size, and the
 * caller's account, which is asked before memory is taken.
 */
#include "neff_read.h"

#define GIB (1ull << 30)
#define DEFAULT_MAX_FILE (8 * GIB)
#define DEFAULT_MAX_PAYLOAD (8 * GIB)
/* Programs of many parts have a dozen members for each, whose headers shrink to some 60 bytes. */
#define MEMBERS_BASE 65536u
#define MEMBERS_RATIO 64
/*
 * gzip can pack a thousand bytes into one. Models do not shrink like that, and memory for a
 * decompression bomb is real memory.
 */
#define PAYLOAD_BASE (256ull << 20)
#define PAYLOAD_RATIO 64
/* The compiler's files have up to 11 bytes of JSON for each byte of the file (docs/neff.md). */
#define JSON_BASE (1ull << 20)
#define JSON_RATIO 32
#define JSON_MEMBER_MAX (32ull << 20)
/*
 * What jansson 2.14 takes for each thing on 64 bits, allocations rounded up: an object with its
 * first eight buckets, an array with room for eight, a string or a key with its pair, and for any
 * value its own struct or place in what holds it. The compiler's lists become 13 bytes for each
 * byte of text; lists of empty things become up to a hundred.
 */
#define COST_OBJECT 240
#define COST_ARRAY 144
#define COST_STRING 112
#define COST_VALUE 48
#define JSON_EXPANSION 32
#define JSON_SMALL (64u << 10) /* a tree this small is accepted whatever its text holds */
#define JSON_FACTOR 5 /* bytes that the model's structs take, at most, for each byte of text */

static uint64_t against(uint64_t size, uint64_t base, uint64_t ratio, uint64_t most)
{
	return size < (most - base) / ratio ? base + ratio * size : most;
}

void neff_limits_set(struct neff_limits *l, const struct neff_limits *given, uint64_t size)
{
	if (given)
		*l = *given;
	if (!l->target)
		l->target = &neuron_target_inf1;
	if (!l->max_file)
		l->max_file = DEFAULT_MAX_FILE;
	if (!l->max_payload)
		l->max_payload = against(size, PAYLOAD_BASE, PAYLOAD_RATIO, DEFAULT_MAX_PAYLOAD);
	if (!l->max_json)
		l->max_json = against(size, JSON_BASE, JSON_RATIO, DEFAULT_MAX_PAYLOAD);
	if (!l->max_members)
		l->max_members =
			MEMBERS_BASE + (unsigned int)((size < l->max_file ? size : l->max_file) /
						      MEMBERS_RATIO % INT32_MAX);
}

int neff_stop(const struct neff_limits *limits, struct neff_error *err)
{
	if (!limits || !limits->cancelled || !limits->cancelled(limits->cancelled_arg))
		return 0;
	neff_fail(err, "cancelled");
	return -ECANCELED;
}

int neff_take(struct neff_reader *r, uint64_t bytes)
{
	if (r->limits.account && r->limits.account(r->limits.account_arg, (int64_t)bytes)) {
		neff_fail(r->err, "%llu bytes more are not to be had", (unsigned long long)bytes);
		return -ENOMEM;
	}
	r->taken += bytes;
	return 0;
}

void neff_give(struct neff_reader *r, uint64_t bytes)
{
	if (r->limits.account)
		r->limits.account(r->limits.account_arg, -(int64_t)bytes);
	r->taken -= bytes;
}

/*
 * The memory that the text's tree takes. If the text is not JSON, the parser takes at most this
 * before it fails.
 */
static uint64_t json_cost(const uint8_t *text, size_t size)
{
	uint64_t cost = size + COST_VALUE;
	bool string = false;

	for (size_t i = 0; i < size; i++) {
		uint8_t c = text[i];

		if (string && c == '\\') {
			i++;
		} else if (c == '"') {
			cost += string ? 0 : COST_STRING;
			string = !string;
		} else if (!string && (c == '{' || c == '[')) {
			cost += COST_VALUE + (c == '{' ? COST_OBJECT : COST_ARRAY);
		} else if (!string && (c == ',' || c == ':')) {
			cost += COST_VALUE;
		}
	}
	return cost;
}

int neff_json_fits(const char *name, const void *text, size_t size, uint64_t *cost,
		   struct neff_error *err)
{
	if (size > JSON_MEMBER_MAX)
		return neff_fail(err, "%.160s: size %zu is over the limit of %llu", name, size,
				 JSON_MEMBER_MAX);
	*cost = json_cost(text, size);
	if (*cost > JSON_SMALL && *cost / JSON_EXPANSION > size)
		return neff_fail(err,
				 "%.160s: %zu bytes of JSON would take %llu, "
				 "expected at most %d for one",
				 name, size, (unsigned long long)*cost, JSON_EXPANSION);
	return 0;
}

/*
 * The text of a descriptor is two names, two offsets, sixteen sizes and steps, and keys; of a
 * variable its name, its source, of which a byte may become six, and sixteen sizes.
 */
#define DESC_TEXT 1280
#define VAR_TEXT 4096

bool neff_is_small(const struct neff_model *model)
{
	uint64_t descs = 0, vars = 0, bytes = 0;

	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		const struct neff_subgraph *sg = &model->subgraphs[k];

		vars += sg->nvars;
		for (unsigned int i = 0; i < sg->nvars; i++)
			bytes += sg->vars[i].data ? sg->vars[i].size : 0;
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
			bytes += sg->engine[e].instr_size;
			for (unsigned int i = 0; i < sg->engine[e].ndma; i++)
				descs += 1 + sg->engine[e].dma[i].ndesc;
		}
	}
	return !model->library && !model->ncalls && !model->ranks &&
	       descs <= JSON_MEMBER_MAX / DESC_TEXT && vars <= JSON_MEMBER_MAX / VAR_TEXT &&
	       bytes <= PAYLOAD_BASE / 2;
}

int neff_json_take(struct neff_reader *r, const char *name, const uint8_t *text, size_t size,
		   uint64_t *cost)
{
	int ret;

	r->json_read += size;
	if (r->json_read > r->limits.max_json)
		return neff_fail(r->err, "%.160s: more than %llu bytes of JSON", name,
				 (unsigned long long)r->limits.max_json);
	ret = neff_json_fits(name, text, size, cost, r->err);
	if (ret)
		return ret;
	return neff_take(r, *cost + JSON_FACTOR * size);
}

int neff_text_take(struct neff_reader *r, size_t size)
{
	if (size > JSON_MEMBER_MAX || r->json_read + size > r->limits.max_json ||
	    neff_take(r, NEFF_TEXT_FACTOR * size))
		return -ENOMEM;
	r->json_read += size;
	return 0;
}

void neff_text_give(struct neff_reader *r, size_t size)
{
	r->json_read -= size;
	neff_give(r, NEFF_TEXT_FACTOR * size);
}
