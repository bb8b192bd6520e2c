/* SPDX-License-Identifier: MIT */
/*
 * What the commands of neuron-cli share. Private to tools/neuron-cli; main.c parses and dispatches.
 */
#ifndef NEURON_CLI_H
#define NEURON_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "npy.h"
#include "nmgr.pb-c.h"
#include "nrtx.pb-c.h"

#define CLI_MAX_INPUTS 256
#define CLI_MAX_MODELS 1024
#define CLI_TIMEOUT_MS 120000 /* for calls that do not wait for a model */

struct cli_input {
	const char *name, *file;
};

struct cli_options {
	const char *address;
	/* load, create-ncg */
	int64_t ncg_id; /* -1: the daemon makes a group, 0: neuron-cli makes one */
	uint32_t nc_count, ninfer, timeout, copies;
	bool direct_file, start;
	/* share-ncg */
	Nrtx__Sharing sharing;
	/* infer */
	struct cli_input inputs[CLI_MAX_INPUTS];
	unsigned int ninputs;
	const char *output_dir;
	uint32_t in_flight, repeat;
	bool rows, whole, shm, all, each;
	/* the arguments after the options: ids or files */
	char **args;
	unsigned int nargs;
};

struct cli {
	struct rtd_client *client;
	const struct cli_options *options;
};

/* The commands; each returns an exit status */
int cli_create_ncg(struct cli *cli);
int cli_destroy_ncg(struct cli *cli);
int cli_share_ncg(struct cli *cli);
int cli_list_ncg(struct cli *cli);
int cli_list_model(struct cli *cli);
int cli_load(struct cli *cli);
int cli_start(struct cli *cli);
int cli_stop(struct cli *cli);
int cli_unload(struct cli *cli);
int cli_reset(struct cli *cli);
int cli_infer(struct cli *cli);

/* Prints one line on stderr, "neuron-cli: what: detail", and returns 1. */
int cli_fail(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Makes a call and checks its status. Returns NULL, with a line on stderr, unless the answer has
 * code 0.
 */
ProtobufCMessage *cli_call(struct cli *cli, const struct rtd_client_method *method,
			   const ProtobufCMessage *request);
/*
 * Checks the status inside an answer of package nrt or nrtx; an error prints a line on stderr and
 * gives false.
 */
bool cli_check(const char *what, int32_t code, const ProtobufCBinaryData *details);
const char *cli_method_name(const struct rtd_client_method *method);
bool cli_number(const char *text, uint32_t *value);

/* model.c */
Nrtx__ListModelsResponse *cli_models(struct cli *cli);

#endif
