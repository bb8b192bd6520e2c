// SPDX-License-Identifier: MIT
/* Reading the JSON configuration. Keys that only older hardware needed are known and ignored. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rtd_config *rtd_config_new(void)
{
	struct rtd_config *config = calloc(1, sizeof(*config));

	if (!config)
		return NULL;
	config->shmem_enabled = true;
	config->numerical_errors = true;
	config->default_timeout_ms = 2000;
	config->default_ninfer = 4;
	config->max_neff_size = 4ull << 30;
	config->model_cache_size = 1ull << 30;
	return config;
}

void rtd_config_free(struct rtd_config *config)
{
	for (unsigned int i = 0; i < config->nendpoints; i++)
		free(config->endpoints[i]);
	free(config->instance);
	free(config->unknown);
	free(config);
}

int rtd_config_add_endpoint(struct rtd_config *config, const char *endpoint)
{
	if (config->nendpoints == RTD_MAX_ENDPOINTS)
		return -E2BIG;
	config->endpoints[config->nendpoints] = strdup(endpoint);
	if (!config->endpoints[config->nendpoints])
		return -ENOMEM;
	config->nendpoints++;
	return 0;
}

int rtd_config_default_endpoint(struct rtd_config *config)
{
	char endpoint[320];
	int n;

	if (!config->instance)
		return rtd_config_add_endpoint(config, RTD_DEFAULT_ENDPOINT);
	n = snprintf(endpoint, sizeof(endpoint), RTD_INSTANCE_ENDPOINT, config->instance);
	if (n < 0 || (size_t)n >= sizeof(endpoint))
		return -ENAMETOOLONG;
	return rtd_config_add_endpoint(config, endpoint);
}

const char *rtd_endpoint_path(const char *endpoint)
{
	if (!strncmp(endpoint, "unix://", 7))
		return endpoint + 7;
	if (!strncmp(endpoint, "unix:", 5))
		return endpoint + 5;
	return endpoint[0] == '/' ? endpoint : NULL;
}

/* ---- the configuration file */

/* Says what the object has there, cut where it does not fit. */
static int bad_value(char text[256], const char *path, json_t *object, const char *key,
		     const char *expected)
{
	char *received = json_dumps(json_object_get(object, key), JSON_ENCODE_ANY | JSON_COMPACT);

	snprintf(text, 256, "%.90s: \"%.40s\": expected %.50s, received %.40s", path, key, expected,
		 received ? received : "something else");
	free(received);
	return -EINVAL;
}

static const char *const known_keys[] = {
	"init_config",	     "model_cache_count", "io_dma_data_host",
	"io_data_host",	     "shmem_enabled",	  "default_timeout",
	"default_ninfer",    "max_neff_size",	  "memory_limit",
	"user_memory_limit", "call_limit",	  "sharing",
	"numerical_errors",  "model_cache_size",  NULL,
};
static const char *const known_init_keys[] = { "num_hugepages_per_device", "drop_all_capabilities",
					       NULL };
/* Keys of an instance's file, which may have the others as well */
static const char *const known_instance_keys[] = { "name", "server_port", "devices", NULL };
static const char *const known_nothing[] = { NULL };

/* Remembers an unknown key; without memory for it nobody is warned of it. */
static void add_unknown(struct rtd_config *config, const char *path, const char *key)
{
	char *more;

	if (asprintf(&more, "%s%s%s: \"%s\"", config->unknown ? config->unknown : "",
		     config->unknown ? "\n" : "", path, key) < 0)
		return;
	free(config->unknown);
	config->unknown = more;
}

static bool is_one_of(const char *const *known, const char *key)
{
	while (*known && strcmp(*known, key))
		known++;
	return *known;
}

static void note_unknown(struct rtd_config *config, json_t *object, const char *const *known,
			 const char *const *more, const char *path)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		if (!is_one_of(known, key) && !is_one_of(more, key))
			add_unknown(config, path, key);
}

const char *rtd_config_unknown(const struct rtd_config *config)
{
	return config->unknown;
}

static int get_bool(json_t *object, const char *key, bool *value, const char *path, char text[256])
{
	json_t *item = json_object_get(object, key);

	if (!item)
		return 0;
	if (!json_is_boolean(item))
		return bad_value(text, path, object, key, "true or false");
	*value = json_is_true(item);
	return 0;
}

static int get_number(json_t *object, const char *key, uint64_t min, uint64_t max, uint64_t *value,
		      const char *path, char text[256])
{
	json_t *item = json_object_get(object, key);
	char range[64];

	if (!item)
		return 0;
	if (!json_is_integer(item) || json_integer_value(item) < 0 ||
	    (uint64_t)json_integer_value(item) < min || (uint64_t)json_integer_value(item) > max) {
		snprintf(range, sizeof(range), "a number from %llu to %llu",
			 (unsigned long long)min, (unsigned long long)max);
		return bad_value(text, path, object, key, range);
	}
	*value = json_integer_value(item);
	return 0;
}

static int get_sharing(json_t *object, enum rtd_sharing *value, const char *path, char text[256])
{
	static const char *const names[] = { "none", "infer", "all" };
	json_t *item = json_object_get(object, "sharing");

	if (!item)
		return 0;
	for (unsigned int i = 0; json_is_string(item) && i < 3; i++) {
		if (!strcmp(json_string_value(item), names[i])) {
			*value = i;
			return 0;
		}
	}
	return bad_value(text, path, object, "sharing", "\"none\", \"infer\" or \"all\"");
}

static int read_values(struct rtd_config *config, json_t *root, const char *path, char text[256])
{
	uint64_t timeout = config->default_timeout_ms / 1000, ninfer = config->default_ninfer;
	json_t *init = json_object_get(root, "init_config");
	int err;

	if (init && !json_is_object(init))
		return bad_value(text, path, root, "init_config", "an object");
	note_unknown(config, root, known_keys,
		     config->instance ? known_instance_keys : known_nothing, path);
	note_unknown(config, init, known_init_keys, known_nothing, path);

	err = get_bool(root, "shmem_enabled", &config->shmem_enabled, path, text);
	if (!err)
		err = get_bool(init, "drop_all_capabilities", &config->drop_capabilities, path,
			       text);
	if (!err)
		err = get_bool(root, "numerical_errors", &config->numerical_errors, path, text);
	if (!err)
		err = get_sharing(root, &config->sharing, path, text);
	if (!err)
		err = get_number(root, "default_timeout", 1, RTD_MAX_TIMEOUT_S, &timeout, path,
				 text);
	if (!err)
		err = get_number(root, "default_ninfer", 1, 1024, &ninfer, path, text);
	if (!err)
		err = get_number(root, "max_neff_size", 1024, 8ull << 30, &config->max_neff_size,
				 path, text);
	if (!err)
		err = get_number(root, "model_cache_count", 0, UINT32_MAX,
				 &config->model_cache_count, path, text);
	if (!err)
		err = get_number(root, "model_cache_size", 0, INT64_MAX, &config->model_cache_size,
				 path, text);
	if (!err)
		err = get_number(root, "memory_limit", 1 << 20, INT64_MAX, &config->memory_limit,
				 path, text);
	if (!err)
		err = get_number(root, "user_memory_limit", 1 << 20, INT64_MAX,
				 &config->user_memory_limit, path, text);
	if (!err)
		err = get_number(root, "call_limit", 16, 1 << 20, &config->call_limit, path, text);

	config->default_timeout_ms = timeout * 1000;
	config->default_ninfer = ninfer;
	return err;
}

static int load_object(const char *path, json_t **root, char text[256])
{
	json_error_t error;

	*root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!*root) {
		snprintf(text, 256, "%.100s:%d: %.120s", path, error.line, error.text);
		return access(path, R_OK) ? -errno : -EINVAL;
	}
	if (json_is_object(*root))
		return 0;
	json_decref(*root);
	snprintf(text, 256, "%.200s: expected an object", path);
	return -EINVAL;
}

int rtd_config_read(struct rtd_config *config, const char *path, char text[256])
{
	json_t *root;
	int err = load_object(path, &root, text);

	if (err)
		return err;
	err = read_values(config, root, path, text);
	json_decref(root);
	return err;
}

/* ---- an instance's file */

static int read_devices(struct rtd_config *config, json_t *root, const char *path, char text[256])
{
	json_t *list = json_object_get(root, "devices"), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > RTD_MAX_DEVICES)
		return bad_value(text, path, root, "devices", "an array of device numbers");
	config->ndevices = 0;
	json_array_foreach(list, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < 0 ||
		    json_integer_value(item) >= RTD_MAX_DEVICES)
			return bad_value(text, path, root, "devices", "an array of device numbers");
		config->devices[config->ndevices++] = json_integer_value(item);
	}
	return 0;
}

static int read_instance(struct rtd_config *config, json_t *root, const char *path, char text[256])
{
	json_t *port = json_object_get(root, "server_port");
	json_t *devices = json_object_get(root, "devices");
	json_t *name = json_object_get(root, "name");

	if (name && (!json_is_string(name) || strcmp(json_string_value(name), config->instance)))
		return bad_value(text, path, root, "name", "the instance's own name");
	if (port && !json_is_string(port))
		return bad_value(text, path, root, "server_port", "an endpoint");
	/* -g on the command line has priority */
	if (port && !config->nendpoints && rtd_config_add_endpoint(config, json_string_value(port)))
		return -ENOMEM;
	if (devices && !config->ndevices && read_devices(config, root, path, text))
		return -EINVAL;
	return read_values(config, root, path, text);
}

int rtd_config_read_instance(struct rtd_config *config, const char *name, const char *config_path,
			     char text[256])
{
	char copy[256], file[512];
	const char *dirs[] = { NULL, RTD_CONFIG_DIR, RTD_BIN_DIR };
	json_t *root;
	int err;

	if (strchr(name, '/') || !*name) {
		snprintf(text, 256, "%s: not an instance name", name);
		return -EINVAL;
	}

	config->instance = strdup(name);
	if (!config->instance)
		return -ENOMEM;

	if (config_path) {
		snprintf(copy, sizeof(copy), "%s", config_path);
		dirs[0] = dirname(copy);
	}

	for (unsigned int i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i])
			continue;
		snprintf(file, sizeof(file), "%s/%s.json", dirs[i], name);
		if (access(file, F_OK))
			continue;
		err = load_object(file, &root, text);
		if (err)
			return err;
		err = read_instance(config, root, file, text);
		json_decref(root);
		return err;
	}

	snprintf(text, 256, "%s.json: not in " RTD_CONFIG_DIR " or " RTD_BIN_DIR, name);
	return -ENOENT;
}
