/* SPDX-License-Identifier: MIT */
/*
 * What the command line and the JSON files say. Owned by main.c. The keys are those that
 * runtime-grpc had: see man/neuron-rtd.8.
 */
#ifndef RTD_CONFIG_H
#define RTD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* The longest timeout of an inference: an execution that takes longer counts as hanging */
#define RTD_MAX_TIMEOUT_S 3600
#define RTD_MAX_ENDPOINTS 8
#define RTD_MAX_DEVICES 64
#define RTD_DEFAULT_ENDPOINT "unix:/run/neuron.sock"
#define RTD_INSTANCE_ENDPOINT "unix:/run/neuron-%s.sock" /* of an instance, whose name it has */
#define RTD_CONFIG_DIR "/opt/aws/neuron/config"
#define RTD_BIN_DIR "/opt/aws/neuron/bin"

/* Rights of others in a group that they did not make; each value includes the one before */
enum rtd_sharing { RTD_SHARE_NONE, RTD_SHARE_INFER, RTD_SHARE_ALL };

struct rtd_config {
	char *instance;
	char *unknown; /* keys without a meaning: rtd_config_unknown() */
	char *endpoints[RTD_MAX_ENDPOINTS];
	unsigned int nendpoints;
	uint32_t devices[RTD_MAX_DEVICES];
	unsigned int ndevices; /* 0: all devices */
	bool shmem_enabled;
	bool drop_capabilities;
	bool numerical_errors; /* NaN in an output gives 1003 */
	enum rtd_sharing sharing; /* of a new group */
	uint32_t default_timeout_ms, default_ninfer;
	uint64_t max_neff_size;
	uint64_t model_cache_count, model_cache_size; /* NEFFs (0: none), and their bytes */
	/*
	 * What all clients may hold, and what one user may: bytes, calls in progress; 0: the
	 * default
	 */
	uint64_t memory_limit, user_memory_limit, call_limit;
};

struct rtd_config *rtd_config_new(void);
void rtd_config_free(struct rtd_config *config);
/* Returns 0, or -errno with a message for people in text. */
int rtd_config_read(struct rtd_config *config, const char *path, char text[256]);
/*
 * Reads the instance's file NAME.json, beside the configuration file or in the install directories:
 * what is the instance's own, and any of the configuration's keys in place of that file's.
 */
int rtd_config_read_instance(struct rtd_config *config, const char *name, const char *config_path,
			     char text[256]);
/*
 * The keys in the files that have no meaning, "FILE: KEY" in lines, or NULL; for a warning. Owned
 * by the configuration.
 */
const char *rtd_config_unknown(const struct rtd_config *config);
int rtd_config_add_endpoint(struct rtd_config *config, const char *endpoint);
int rtd_config_default_endpoint(struct rtd_config *config);
/* The path of a unix endpoint ("unix:PATH", "unix:///PATH" or a bare path); NULL for TCP */
const char *rtd_endpoint_path(const char *endpoint);

#endif
