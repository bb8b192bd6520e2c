/* SPDX-License-Identifier: MIT */
/*
 * Private to libneff: error texts, name tables, digests, and what the reader and the writer share
 */
#ifndef NEFF_PRIV_H
#define NEFF_PRIV_H

#include "neff.h"
#include "neff_source.h"

#include <jansson.h>

#define NEFF_NAME_MAX 255
#define NEFF_MAX_VARS 65536u
#define NEFF_MAX_QUEUES 4096u
#define NEFF_MAX_DMAS (1u << 20) /* of an engine */
#define NEFF_MAX_RUNS (3u << 24) /* contiguous pieces of all patterns of a subgraph */
#define NEFF_MAX_MODEL_RUNS (1u << 26) /* ... and of a model */

#define NEFF_HASH_SIZE 32

/* Sets the text and returns -EINVAL. */
int neff_fail(struct neff_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int neff_nomem(struct neff_error *err);

/* True if a run, or each of a pattern, lies inside one partition of SBUF or PSUM */
bool neff_run_in_core(const struct neuron_target *target, uint64_t off, uint64_t len);
bool neff_pattern_in_core(const struct neuron_target *target, const struct neff_pattern *p);

const char *neff_var_type_name(enum neff_var_type type);
bool neff_var_type_from_name(const char *name, enum neff_var_type *type);
const char *neff_queue_type_name(enum neff_queue_type type);
bool neff_queue_type_from_name(const char *name, enum neff_queue_type *type);
const char *neff_op_name(enum neff_op op);
bool neff_op_from_name(const char *name, enum neff_op *op);
/* Has it a list of sources? */
static inline bool neff_has_list(const struct neff_desc *d)
{
	return d->op >= NEFF_ADD && d->op <= NEFF_MAX;
}
/*
 * True for 1 to 64 bytes of letters, digits, '_', '-' and '.' that do not start with '.', for files
 * and graphs
 */
bool neff_file_name_ok(const char *name);
bool neff_name_ok(const char *name);
/* A tensor's source is for people: none, or one that a terminal would act on, is left out. */
bool neff_source_ok(const char *source);

/*
 * The digest of [at, end) of a source: MD5 in the first 16 bytes for package version 2, SHA-256 for
 * 1. Returns 0, -EINVAL or -EIO.
 */
int neff_digest(uint64_t pkg_version, const struct neff_source *source, size_t at, size_t end,
		uint8_t hash[NEFF_HASH_SIZE]);

void neff_header_encode(const struct neff_header *header, uint8_t out[NEFF_HEADER_SIZE]);

/* The bytes of an input or output; 0 if there is no such type or the product overflows */
uint64_t neff_tensor_size(uint8_t dtype, unsigned int ndim, const uint64_t *shape);

/* 0, or -ECANCELED with the text if nobody wants the model; limits NULL: somebody does */
int neff_stop(const struct neff_limits *limits, struct neff_error *err);
/* Checks programs, patterns and triggers against each other (neff_check.c). limits: of a reader */
int neff_check_model(const struct neff_model *model, const struct neff_limits *limits,
		     struct neff_error *err);
/* Collectives from and to JSON, their end, and whether they fit the model (neff_collectives.c) */
void neff_collectives_to_json(const struct neff_model *model, json_t *kelf);
int neff_collectives_read(const json_t *kelf, const json_t *graphs, struct neff_model *model,
			  struct neff_error *err);
void neff_collectives_free(struct neff_model *model);
int neff_collectives_check(const struct neff_model *model, struct neff_error *err);
/* After the check: finds the places of what passes. 0 or -ENOMEM */
int neff_collectives_place(struct neff_model *model, struct neff_error *err);
/* A graph's number in an object that has the numbers by names; -1: name is none */
int neff_graph_named(const json_t *graphs, const json_t *name);
/* By part: does a loop begin behind it, or end with it? The caller frees it; NULL: no memory */
bool *neff_loop_edges(const struct neff_model *model);
/* Semaphores that its programs may use, from 0 on */
static inline unsigned int neff_program_semaphores(const struct neff_model *model)
{
	return neuron_target_program_semaphores(model->target) -
	       (model->ranks ? NEFF_COLLECTIVE_SEMAPHORES : 0);
}
/* Checks several subgraphs against each other (neff_stages.c). */
int neff_check_stages(const struct neff_model *model, struct neff_error *err);
/* Subgraphs from and to JSON (neff_def.c, neff_graph.c) */
json_t *neff_def_to_json(const struct neff_model *model, const struct neff_subgraph *sg);
json_t *neff_graph_to_json(const struct neff_model *model);

#endif
