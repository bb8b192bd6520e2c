// SPDX-License-Identifier: MIT
/*
 * The options of a compilation: a framework's, as a CompileOptionsProto, whose compiler_options are
 * names and values, and those of NEURON_CC_FLAGS, as of a command line. Both have the names that
 * neuronx-cc's options have; in names '-' and '_' are the same.
 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_options.pb-c.h"
#include "neuron/isa/isa.h"

enum how { CHOICE, YES, TEXT, NOTHING };

struct choice {
	const char *word;
	unsigned int value;
};

static const struct choice casts[] = { { "none", NCC_CAST_NONE },
				       { "matmult", NCC_CAST_MATMULT },
				       { "all", NCC_CAST_ALL },
				       { NULL } };
static const struct choice cast_types[] = { { "bf16", NEURON_DT_BF16 },
					    { "fp16", NEURON_DT_FP16 },
					    { "tf32", NEURON_DT_TF32 },
					    { "fp8_e4m3", NEURON_DT_FP8_E4 },
					    { NULL } };
static const struct choice levels[] = { { "1", 1 }, { "2", 2 }, { "3", 3 }, { NULL } };
static const struct choice cores[] = { { "1", 1 }, { "2", 2 }, { NULL } };
static const struct choice sparsities[] = { { "never", NCC_SPARSE_NEVER },
					    { "always", NCC_SPARSE_ALWAYS },
					    { "auto", NCC_SPARSE_AUTO },
					    { NULL } };
static const struct choice compressions[] = { { "never", NCC_COMPRESS_NEVER },
					      { "always", NCC_COMPRESS_ALWAYS },
					      { "chip", NCC_COMPRESS_CHIP },
					      { "auto", NCC_COMPRESS_AUTO },
					      { NULL } };

#define OFFSET(field) offsetof(struct npj_options, field)
#define ENUM(name, field, choices)                   \
	{                                            \
		name, CHOICE, OFFSET(field), choices \
	}

/* NOTHING: what front ends pass and neuronx-cc takes without effect; with a value if it has one */
static const struct option {
	const char *name;
	enum how how;
	size_t offset;
	const struct choice *choices;
} known[] = {
	ENUM("auto_cast", cast, casts),
	{ "auto_cast_type", CHOICE, OFFSET(cast_type), cast_types },
	ENUM("optlevel", level, levels),
	ENUM("lnc", lnc, cores),
	ENUM("logical_nc_config", lnc, cores),
	ENUM("structured_sparsity", sparsity, sparsities),
	ENUM("compress_constants", compress, compressions),
	{ "hardware_rng", YES, OFFSET(hardware_rng), NULL },
	{ "narrow_64bit", YES, OFFSET(narrow_64bit), NULL },
	{ "no_cache", YES, OFFSET(no_cache), NULL },
	{ "cache_dir", TEXT, OFFSET(cache_dir), NULL },
	{ "retry_failed_compilation", NOTHING, 0, NULL },
	{ "enable_fast_context_switch", NOTHING, 0, NULL },
	{ "enable_fast_loading_neuron_binaries", NOTHING, 0, NULL },
	{ "enable_mixed_precision_accumulation", NOTHING, 0, NULL },
	{ "disable_mixed_precision_accumulation", NOTHING, 0, NULL },
	{ "enable_saturate_infinity", NOTHING, 0, NULL },
	{ "model_type", NOTHING, 1, NULL },
	{ "distribution_strategy", NOTHING, 1, NULL },
	{ "verbose", NOTHING, 1, NULL },
	{ "jobs", NOTHING, 1, NULL },
	{ "fast_math", NOTHING, 1, NULL },
	{ "fp32_cast", NOTHING, 1, NULL },
};
#define NKNOWN (sizeof(known) / sizeof(known[0]))

static bool same_name(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != (b[i] == '-' ? '_' : b[i]))
			return false;
	return !a[n];
}

static const struct option *find(const char *name, size_t n)
{
	for (size_t i = 0; i < NKNOWN; i++)
		if (same_name(known[i].name, name, n))
			return &known[i];
	return NULL;
}

static PJRT_Error *choose(struct npj_options *o, const struct option *k, const char *value)
{
	char *field = (char *)o + k->offset, words[128] = "";
	size_t n = 0;

	for (const struct choice *c = k->choices; c->word; c++) {
		if (!strcmp(c->word, value)) {
			if (k->offset == OFFSET(cast_type))
				o->cast_type = (uint8_t)c->value;
			else
				memcpy(field, &c->value, sizeof(c->value));
			return NULL;
		}
		n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? ", " : "", c->word);
	}
	return NPJ_INVALID("compiler option %s: \"%s\" is none of %s", k->name, value, words);
}
static_assert(sizeof(enum ncc_cast) == sizeof(unsigned int), "choices are unsigned int");

static PJRT_Error *apply(struct npj_options *o, const struct option *k, const char *value)
{
	char **text;

	switch (k->how) {
	case CHOICE:
		return choose(o, k, value ? value : "");
	case YES:
		if (value && strcmp(value, "true") && strcmp(value, "false"))
			return NPJ_INVALID("compiler option %s: \"%s\" is neither true nor false",
					   k->name, value);
		*((bool *)((char *)o + k->offset)) = !value || !strcmp(value, "true");
		return NULL;
	case TEXT:
		text = (char **)((char *)o + k->offset);
		if (!value || !*value)
			return NPJ_INVALID("compiler option %s needs a value", k->name);
		free(*text);
		*text = strdup(value);
		return *text ? NULL : npj_no_memory();
	case NOTHING:
		break;
	}
	return NULL;
}

static PJRT_Error *unknown(const char *name, size_t n)
{
	return NPJ_INVALID("there is no compiler option \"%.*s\"; "
			   "those of neuronx-cc(1) that concern one program are: "
			   "auto_cast, auto_cast_type, optlevel, lnc, structured_sparsity, "
			   "compress_constants, hardware_rng, narrow_64bit, no_cache, cache_dir",
			   (int)n, name);
}

/* Reads one word of a command line; *next is the one behind it, which may be its value */
static PJRT_Error *take_word(struct npj_options *o, char *word, char *next, bool *taken)
{
	char *name = word + (strncmp(word, "--", 2) ? 0 : 2), *value = strchr(name, '=');
	const struct option *k;
	size_t n = value ? (size_t)(value - name) : strlen(name);

	*taken = false;
	if (word[0] == '-' && word[1] == 'O' && word[2] && !word[3])
		return apply(o, find("optlevel", 8), word + 2);
	k = name != word ? find(name, n) : NULL;
	if (!k)
		return unknown(word, strlen(word));
	if (value)
		return apply(o, k, value + 1);
	/* a value of its own follows where one must, and where one may and the next is no option */
	if (k->how != YES && (k->how != NOTHING || k->offset) && next && next[0] != '-') {
		*taken = true;
		return apply(o, k, next);
	}
	return apply(o, k, NULL);
}

static PJRT_Error *take_flags(struct npj_options *o, const char *flags)
{
	char *text = flags ? strdup(flags) : NULL, *rest = text, *word, *next;
	PJRT_Error *e = NULL;
	bool taken;

	if (!flags)
		return NULL;
	if (!text)
		return npj_no_memory();
	word = strtok_r(text, " \t\n", &rest);
	while (word && !e) {
		next = strtok_r(NULL, " \t\n", &rest);
		e = take_word(o, word, next, &taken);
		word = taken ? strtok_r(NULL, " \t\n", &rest) : next;
	}
	free(text);
	if (e) {
		PJRT_Error *in = e;

		e = npj_error(in->code, "NEURON_CC_FLAGS: %s", in->message);
		npj_error_free(in);
	}
	return e;
}

static PJRT_Error *take_override(struct npj_options *o, const Npj__OptionEntry *entry)
{
	const Npj__OptionOverride *v = entry->value;
	const struct option *k = find(entry->key, strlen(entry->key));
	char number[32];

	if (!k)
		return unknown(entry->key, strlen(entry->key));
	if (!v)
		return apply(o, k, "");
	switch (v->value_case) {
	case NPJ__OPTION_OVERRIDE__VALUE_STRING_FIELD:
		return apply(o, k, v->string_field);
	case NPJ__OPTION_OVERRIDE__VALUE_BOOL_FIELD:
		return apply(o, k, v->bool_field ? "true" : "false");
	case NPJ__OPTION_OVERRIDE__VALUE_INT_FIELD:
		snprintf(number, sizeof(number), "%lld", (long long)v->int_field);
		return apply(o, k, number);
	default:
		return NPJ_INVALID("compiler option %s is no fraction", k->name);
	}
}

/* The proto has for each partition the devices of its replicas. */
static PJRT_Error *take_assignment(struct npj_options *o, const Npj__DeviceAssignment *d)
{
	if (d->replica_count != (int32_t)o->replicas ||
	    d->computation_count != (int32_t)o->partitions ||
	    d->n_computation_devices != o->partitions)
		return NPJ_INVALID("a device assignment of %d replicas and %d partitions for a "
				   "program of %u and %u",
				   d->replica_count, d->computation_count, o->replicas,
				   o->partitions);
	o->assigned = calloc((size_t)o->replicas * o->partitions, sizeof(*o->assigned));
	if (!o->assigned)
		return npj_no_memory();
	for (unsigned int p = 0; p < o->partitions; p++) {
		const Npj__ComputationDevice *c = d->computation_devices[p];

		if (c->n_replica_device_ids != o->replicas)
			return NPJ_INVALID("a device assignment of %zu devices for %u replicas",
					   c->n_replica_device_ids, o->replicas);
		for (unsigned int r = 0; r < o->replicas; r++)
			o->assigned[r * o->partitions + p] = (int)c->replica_device_ids[r];
	}
	return NULL;
}

static PJRT_Error *take_build(struct npj_options *o, const Npj__BuildOptions *b)
{
	if (!b)
		return NULL;
	if (b->num_replicas > 1)
		o->replicas =
			b->num_replicas > NPJ_MAX_ASSIGNED ? 0 : (unsigned int)b->num_replicas;
	if (b->num_partitions > 1)
		o->partitions =
			b->num_partitions > NPJ_MAX_ASSIGNED ? 0 : (unsigned int)b->num_partitions;
	if (b->num_replicas < 0 || b->num_partitions < 0 || !o->replicas || !o->partitions ||
	    o->replicas > NPJ_MAX_ASSIGNED / o->partitions)
		return NPJ_INVALID("%lld replicas of %lld partitions: at most %d devices",
				   (long long)b->num_replicas, (long long)b->num_partitions,
				   NPJ_MAX_ASSIGNED);
	if (b->device_assignment)
		return take_assignment(o, b->device_assignment);
	if (b->device_ordinal <= 0 || o->replicas * o->partitions > 1)
		return NULL;
	/* one device, by its number */
	o->assigned = malloc(sizeof(*o->assigned));
	if (!o->assigned)
		return npj_no_memory();
	*o->assigned = (int)b->device_ordinal;
	return NULL;
}

PJRT_Error *npj_options_read(const PJRT_TopologyDescription *t, const void *bytes, size_t size,
			     struct npj_options *o)
{
	Npj__CompileOptions *proto;
	PJRT_Error *e;

	*o = (struct npj_options){
		.replicas = 1,
		.partitions = 1,
		.cast = t->target->core >= 2 ? NCC_CAST_NONE : NCC_CAST_MATMULT,
		.cast_type = NEURON_DT_BF16,
		.level = 2,
		.lnc = t->lnc,
		.compress = NCC_COMPRESS_AUTO,
	};
	proto = npj__compile_options__unpack(NULL, bytes ? size : 0, bytes);
	if (!proto)
		return NPJ_INVALID("the compile options are no CompileOptionsProto");
	e = take_flags(o, getenv("NEURON_CC_FLAGS"));
	if (!e)
		e = take_build(o, proto->executable_build_options);
	for (size_t i = 0; i < proto->n_env_option_overrides && !e; i++)
		e = take_override(o, proto->env_option_overrides[i]);
	npj__compile_options__free_unpacked(proto, NULL);
	if (!e && o->lnc > t->lnc)
		e = NPJ_INVALID("lnc %u: logical cores here have %u", o->lnc, t->lnc);
	if (!e && !(t->target->pe_dtypes >> o->cast_type & 1))
		e = NPJ_INVALID("auto_cast_type: %s has no products of that type", t->arch);
	if (e)
		npj_options_clear(o);
	return e;
}

void npj_options_clear(struct npj_options *o)
{
	free(o->assigned);
	free(o->cache_dir);
	o->assigned = NULL;
	o->cache_dir = NULL;
}

char *npj_options_text(const struct npj_options *o)
{
	char *text;

	if (asprintf(
		    &text,
		    "replicas %u cast %d %d level %u lnc %u rng %d narrow %d sparsity %d compress %d",
		    o->replicas, o->cast, o->cast_type, o->level, o->lnc, o->hardware_rng,
		    o->narrow_64bit, o->sparsity, o->compress) < 0)
		return NULL;
	return text;
}
