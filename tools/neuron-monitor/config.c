// SPDX-License-Identifier: MIT
/*
 * neuron-monitor's configuration file. It may come from anyone: its size, depth, numbers and
 * expressions are bounded, and what is not known is refused, because a misspelt key would otherwise
 * silently leave a group out.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_DEFAULT 5.0
#define PERIOD_MIN 0.01 /* shorter ones would keep a processor busy with looking */
#define PERIOD_MAX (366 * 86400.0)
#define FILTER_MAX 255 /* bytes, as of a tag */
#define REPEATS_MAX 1000 /* the product of all {m,n}: each is compiled to so many copies */

const char *const runtime_group_names[RUNTIME_GROUPS] = {
	"neuroncore_counters", "memory_used",	  "neuron_runtime_vcpu_usage",
	"execution_stats",     "inference_stats", "hw_counters",
};
const char *const system_group_names[SYSTEM_GROUPS] = {
	"vcpu_usage",
	"memory_info",
	"neuron_hw_counters",
};

static const char *const root_keys[] = { "period", "neuron_runtimes", "system_metrics", NULL };
static const char *const entry_keys[] = { "period", "tag_filter", "address", "metrics", NULL };
static const char *const metric_keys[] = { "type", "period", NULL };

/* The reader's place, for its messages */
struct place {
	char path[64];
	char *why;
	size_t size;
};

static int refuse(const struct place *at, const char *format, ...)
{
	va_list args;
	int n = snprintf(at->why, at->size, "%s%s", at->path, *at->path ? ": " : "");

	va_start(args, format);
	if (n >= 0 && (size_t)n < at->size)
		vsnprintf(at->why + n, at->size - (size_t)n, format, args);
	va_end(args);
	/* keys and values are another's text */
	for (char *p = at->why; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return -EINVAL;
}

static struct place inside(const struct place *outer, const char *key, size_t index)
{
	struct place at = *outer;

	snprintf(at.path, sizeof(at.path), "%.24s%s%s[%zu]", outer->path, *outer->path ? "." : "",
		 key, index);
	return at;
}

static int check_keys(const struct place *at, json_t *object, const char *const *known)
{
	char list[128] = "";
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return refuse(at, "an object is expected here");
	for (unsigned i = 0; known[i]; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 known[i]);
	json_object_foreach(object, key, value) {
		unsigned i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return refuse(at, "unknown key \"%.40s\"; there are %s", key, list);
	}
	return 0;
}

/* A duration as Go writes it: "1s", "1m30s", "1.5h". Returns seconds, or 0 for no duration. */
static double parse_duration(const char *text)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "\u00b5s", 1e-6 }, { "\u03bcs", 1e-6 },
		      { "ms", 1e-3 }, { "s", 1 },     { "m", 60 },	   { "h", 3600 } };
	double sum = 0;

	while (*text) {
		size_t length = strspn(text, "0123456789.");
		char number[32];
		unsigned u = 0;

		if (!length || length >= sizeof(number) || !strcmp(text, "."))
			return 0;
		memcpy(number, text, length);
		number[length] = '\0';
		if (strchr(number, '.') != strrchr(number, '.'))
			return 0;
		text += length;
		while (u < 8 && strncmp(text, units[u].name, strlen(units[u].name)))
			u++;
		if (u == 8)
			return 0;
		text += strlen(units[u].name);
		sum += strtod(number, NULL) * units[u].seconds;
	}
	return sum;
}

static int read_period(const struct place *at, json_t *object, double *period)
{
	json_t *value = json_object_get(object, "period");

	if (!value)
		return 0;
	if (!json_is_string(value))
		return refuse(at, "period is a string such as \"1s\"");
	*period = parse_duration(json_string_value(value));
	if (!(*period >= PERIOD_MIN && *period <= PERIOD_MAX))
		return refuse(at,
			      "period \"%.40s\" is no duration from 10ms to 8784h, such as \"1s\"",
			      json_string_value(value));
	return 0;
}

static int read_type(const struct place *at, json_t *metric, const char *const *names, unsigned n,
		     unsigned *type)
{
	const char *name = json_string_value(json_object_get(metric, "type"));
	char list[160] = "";

	for (*type = 0; name && *type < n; ++*type)
		if (!strcmp(name, names[*type]))
			return 0;
	for (unsigned i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 names[i]);
	if (!name)
		return refuse(at, "type is missing; there are %s", list);
	return refuse(at, "unknown type \"%.40s\"; there are %s", name, list);
}

/* An array of {type, period} into the period of each type */
static int read_metrics(const struct place *outer, json_t *object, const char *key,
			const char *const *names, unsigned n, double inherited, double *period)
{
	json_t *list = json_object_get(object, key), *metric;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return refuse(outer, "%s is an array", key);
	json_array_foreach(list, i, metric) {
		struct place at = inside(outer, key, i);
		double own = inherited;
		unsigned type;
		int ret = check_keys(&at, metric, metric_keys);

		if (!ret)
			ret = read_type(&at, metric, names, n, &type);
		if (!ret)
			ret = read_period(&at, metric, &own);
		if (ret)
			return ret;
		if (period[type])
			return refuse(&at, "type \"%s\" was there before", names[type]);
		period[type] = own;
	}
	return 0;
}

/* The larger number of "m}", "m,n}" or "m,}"; at least 1, at most one more than is allowed */
static unsigned long repeats(const char *text)
{
	char *end;
	unsigned long m = strtoul(text, &end, 10), n = *end == ',' ? strtoul(end + 1, NULL, 10) : m;

	n = n > m ? n : m;
	return n > REPEATS_MAX ? REPEATS_MAX + 1 : n ? n : 1;
}

/*
 * Compiling an expression takes as much memory as its repeats, one inside another, multiply to; and
 * back-references, which the expressions of Go do not have, take for ever to match.
 */
static const char *check_filter(const char *filter)
{
	unsigned long product = 1;

	if (strlen(filter) > FILTER_MAX)
		return "is longer than 255 bytes";
	for (const char *p = filter; *p; p++) {
		if (*p == '\\' && p[1]) {
			if (isdigit((unsigned char)*++p))
				return "has a back-reference";
			continue;
		}
		if (*p != '{')
			continue;
		product *= repeats(p + 1);
		if (product > REPEATS_MAX)
			return "repeats more than 1000 times";
	}
	return NULL;
}

static int read_filter(const struct place *at, json_t *value, struct config_entry *e)
{
	const char *filter = json_string_value(value), *wrong;
	char text[128];
	int err;

	if (!filter)
		return refuse(at, "tag_filter is a string");
	wrong = check_filter(filter);
	if (wrong)
		return refuse(at, "tag_filter %s", wrong);
	err = regcomp(&e->filter, filter, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &e->filter, text, sizeof(text));
		return refuse(at, "tag_filter \"%.40s\": %s", filter, text);
	}
	e->filtered = true;
	return 0;
}

static int read_address(const struct place *at, json_t *value, struct config_entry *e)
{
	const char *address = json_string_value(value);

	if (!address || strncmp(address, "unix:/", 6) || strlen(address) >= 100)
		return refuse(at, "address is that of a daemon, such as \"unix:/run/neuron.sock\"");
	snprintf(e->address, sizeof(e->address), "%s", address);
	return 0;
}

static int read_entry(const struct place *at, json_t *object, double period, struct config *config)
{
	struct config_entry *e = &config->entry[config->entries];
	int ret = check_keys(at, object, entry_keys);
	json_t *filter = json_object_get(object, "tag_filter");
	json_t *address = json_object_get(object, "address");

	if (!ret)
		config->entries++; /* config_free() has it from now on */
	if (!ret && filter && address)
		ret = refuse(at, "tag_filter and address exclude each other");
	if (!ret && filter)
		ret = read_filter(at, filter, e);
	if (!ret && address)
		ret = read_address(at, address, e);
	if (!ret)
		ret = read_period(at, object, &period);
	if (!ret)
		ret = read_metrics(at, object, "metrics", runtime_group_names, RUNTIME_GROUPS,
				   period, e->period);
	return ret;
}

static int read_entries(const struct place *root, json_t *list, double period,
			struct config *config)
{
	json_t *object;
	size_t i;

	if (!json_is_array(list))
		return refuse(root, "neuron_runtimes is an array");
	if (json_array_size(list) > ENTRIES_MAX)
		return refuse(root, "neuron_runtimes has more than %d entries", ENTRIES_MAX);
	json_array_foreach(list, i, object) {
		struct place at = inside(root, "neuron_runtimes", i);
		int ret = read_entry(&at, object, period, config);

		if (ret)
			return ret;
	}
	return 0;
}

static int read_root(const struct place *at, json_t *root, struct config *config)
{
	json_t *runtimes = json_object_get(root, "neuron_runtimes");
	double period = PERIOD_DEFAULT;
	int ret = check_keys(at, root, root_keys);

	if (!ret)
		ret = read_period(at, root, &period);
	if (!ret && runtimes)
		ret = read_entries(at, runtimes, period, config);
	if (!ret)
		ret = read_metrics(at, root, "system_metrics", system_group_names, SYSTEM_GROUPS,
				   period, config->period);
	return ret;
}

static int load(const char *path, char *text, size_t *length, const struct place *at)
{
	FILE *f = fopen(path, "re");
	int err;

	if (!f)
		return -errno;
	*length = fread(text, 1, CONFIG_SIZE_MAX + 1, f);
	err = ferror(f) ? -EIO : 0;
	fclose(f);
	if (!err && *length > CONFIG_SIZE_MAX)
		return refuse(at, "it has more than %d bytes", CONFIG_SIZE_MAX);
	return err;
}

int config_read(const char *path, struct config *config, char *why, size_t size)
{
	struct place at = { .why = why, .size = size };
	char *text = malloc(CONFIG_SIZE_MAX + 1);
	json_error_t error;
	size_t length = 0;
	json_t *root = NULL;
	int ret = text ? 0 : -ENOMEM;

	memset(config, 0, sizeof(*config));
	why[0] = '\0';
	if (!ret)
		ret = load(path, text, &length, &at);
	if (!ret) {
		root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
		ret = root ? read_root(&at, root, config)
			   : refuse(&at, "line %d, column %d: %s", error.line, error.column,
				    error.text);
	}
	if (ret && !why[0])
		snprintf(why, size, "%s", strerror(-ret));
	if (ret)
		config_free(config);
	json_decref(root);
	free(text);
	return ret;
}

void config_default(struct config *config)
{
	memset(config, 0, sizeof(*config));
	config->entries = 1;
	for (unsigned i = 0; i <= GROUP_EXECUTION_STATS; i++)
		config->entry[0].period[i] = PERIOD_DEFAULT;
	for (unsigned i = 0; i < SYSTEM_GROUPS; i++)
		config->period[i] = PERIOD_DEFAULT;
}

void config_free(struct config *config)
{
	for (unsigned i = 0; i < config->entries; i++)
		if (config->entry[i].filtered)
			regfree(&config->entry[i].filter);
	config->entries = 0;
}
