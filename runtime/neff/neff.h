/* SPDX-License-Identifier: MIT */
/*
 * libneff: the NEFF envelope and what ours holds, as one struct with a reader and a writer.
 * docs/neff.md is the description; the compiler fills a struct neff_model and writes it, libnrt
 * and tools read it back. Libraries never print: errors come as -errno with a text in struct
 * neff_error that names the member.
 */
#ifndef NEFF_H
#define NEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/inferentia.h"
#include "neuron/hw/target.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEFF_HEADER_SIZE 1024
#define NEFF_MAX_DIMS 8
#define NEFF_FEATURE_EMU (1ull << 62) /* our instruction set: no real device may load it */

struct neff_header {
	uint64_t pkg_version, header_size, data_size;
	uint64_t version_major, version_minor;
	char build_version[129];
	uint32_t num_tpb;
	uint8_t hash[32];
	uint8_t uuid[16];
	char name[257];
	uint32_t requested_tpb_count;
	uint8_t tpb_per_node[64];
	uint64_t feature_bits;
	uint32_t lnc_size;
};

enum neff_var_type {
	NEFF_VAR_INPUT,
	NEFF_VAR_OUTPUT,
	NEFF_VAR_FILE, /* constant: data/size, written as member <sg>/<file_name> */
	NEFF_VAR_TMP_BUF, /* private scratchpad in device DRAM */
	NEFF_VAR_VIRTUAL, /* shared scratchpad: backing_off */
	NEFF_VAR_STATE_BUFFER, /* the core's window: offsets are window offsets, SBUF from 0 */
};

struct neff_var {
	char *name;
	enum neff_var_type type;
	uint32_t var_id; /* dense from 0: its index in vars */
	uint64_t size; /* bytes */
	uint32_t alignment; /* power of two, 0: none asked */
	uint64_t backing_off;
	char *file_name;
	void *data;
	/* inputs and outputs (neff.json) */
	uint8_t dtype; /* enum neuron_dtype */
	unsigned int ndim;
	uint64_t shape[NEFF_MAX_DIMS];
};

enum neff_queue_type { NEFF_QUEUE_IN, NEFF_QUEUE_OUT, NEFF_QUEUE_DATA };

struct neff_queue {
	char *name;
	enum neff_queue_type type;
	unsigned int owner; /* the only engine that triggers it */
};

/* One side of a transfer: up to four dimensions, innermost first, everything in bytes but counts */
struct neff_pattern {
	uint32_t var; /* index in vars */
	uint64_t offset; /* bytes */
	unsigned int ndim; /* 1..4; size[0] is bytes, the others are counts; step[0] is 1 */
	uint64_t size[4];
	int64_t step[4];
};

/*
 * A copy, or a gather: then from is a table in DRAM, two dimensions, a row's bytes and the rows, and
 * every run of to is a row of it, which row says an int32 of variable index, one behind the other
 */
struct neff_desc {
	struct neff_pattern from, to; /* of a copy: the same number of bytes */
	bool gather;
	uint32_t index; /* index in vars */
	uint64_t index_off; /* bytes */
};
#define NEFF_MAX_ROW (1u << 16) /* bytes of a row of a gather */
#define NEFF_MAX_ROWS (1u << 16) /* of its table */

/* One DMA: triggered once an execution by PSEUDO_DMA_TRIGGER id in its queue's owner's stream */
struct neff_dma {
	uint32_t id; /* unique in its engine's JSON */
	uint32_t queue; /* index in queues */
	int semaphore; /* +1 after the last byte is written; -1: none */
	unsigned int ndesc;
	struct neff_desc *desc;
};

struct neff_engine {
	void *instr; /* 64-byte words; NULL: the engine has no program */
	size_t instr_size;
	unsigned int ndma;
	struct neff_dma *dma; /* in the order of their triggers */
};

struct neff_subgraph {
	char *name; /* sg00, sg01, ... */
	unsigned int nvars;
	struct neff_var *vars;
	unsigned int nqueues;
	struct neff_queue *queues;
	struct neff_engine engine[NEURON_ENGINES_MAX]; /* as the target numbers them */
};

/*
 * Subgraphs that are executed again while the condition, a variable of one byte, is not 0: looked
 * at behind the subgraph before the first, and behind the last
 */
struct neff_loop {
	uint32_t first, last; /* index in subgraphs; there is one before, and one behind */
	char *condition; /* a virtual variable of subgraphs first - 1 and last */
};

struct neff_model {
	struct neff_header header;
	const struct neuron_target *target; /* what its programs are for */
	unsigned int nsubgraphs;
	struct neff_subgraph *subgraphs;
	unsigned int nloops;
	struct neff_loop
		*loops; /* by first; then the subgraphs are one core's (docs/neff.md, Loops) */
	char *info_json; /* member info.json, or NULL */
};

struct neff_error {
	char text[256]; /* "sg00/def.json: var 'x': size 12, expected 16" */
	bool version; /* the version or a feature bit is not supported */
};

/* What a file is read for, and a reader's limits; zero: the default. Bombs end here. */
struct neff_limits {
	const struct neuron_target *target; /* what it is to run on; NULL: inf1 */
	uint64_t max_file; /* the file as it is (default 8 GiB) */
	uint64_t max_payload; /* unpacked, all members (default 64 times the file + 256 MiB, at most
				 8 GiB) */
	uint64_t max_json; /* of it JSON, all members (default 32 times the file + 1 MiB) */
	unsigned int max_members; /* default 65536 */
	bool validate_hash;
	/*
	 * Asked before memory is taken, bytes, about as much as it will be; not 0: the reader ends
	 * with -ENOMEM. Below 0: so much was given back, the answer is not looked at. When the
	 * reader has failed all of it was; when not, the rest is the model's.
	 */
	int (*account)(void *arg, int64_t bytes);
	void *account_arg;
};

/*
 * Read a NEFF from memory. Checks the envelope, every member, every offset and size, every
 * instruction (opcode, reserved bits, operands inside the core's memories), and that triggers and
 * DMAs agree. A file does not say what it is for: limits do. 0, -EINVAL (content), -ENOTSUP
 * (version or features; err->version), -ENOMEM.
 */
int neff_read(const void *buf, size_t size, const struct neff_limits *limits,
	      struct neff_model **model, struct neff_error *err);
void neff_free(struct neff_model *model);

/* numpy's names ("float32", "bfloat16") and sizes of enum neuron_dtype; NULL, 0, 0: none */
const char *neff_dtype_name(uint8_t dtype);
unsigned int neff_dtype_size(uint8_t dtype);
uint8_t neff_dtype_from_name(const char *name);

/* Only the header: for tools. 0 or -EINVAL */
int neff_read_header(const void *buf, size_t size, struct neff_header *header,
		     struct neff_error *err);

/*
 * Write: the same model gives the same bytes (members sorted, times 0) but for the uuid, which the
 * caller sets. hash, data_size and header_size are computed. free() *buf.
 */
int neff_write(const struct neff_model *model, void **buf, size_t *size, struct neff_error *err);

/* The part of one side of a packet that lies in one piece: a descriptor */
struct neff_piece {
	uint64_t addr;
	uint32_t len; /* bytes, up to NEURON_UDMA_DESC_LEN_MAX */
};

struct neff_packet {
	struct neff_piece tx[NEURON_PACKET_MAX], rx[NEURON_PACKET_MAX];
	unsigned int ntx, nrx;
};

/* What a loader takes, of a side of a queue and of all a subgraph's queues (docs/nrt.md) */
#define NEFF_MAX_QUEUE_DESCS (1u << 22)
#define NEFF_MAX_MODEL_DESCS (1u << 23) /* 128 MiB, and one queue's more */

/*
 * Cut a copy into packets, in order; the variables' bytes 0 are at these addresses. 0, or what take
 * returned if that was not 0, and then it ended there.
 */
int neff_packets(const struct neuron_target *target, const struct neff_pattern *from,
		 uint64_t from_base, const struct neff_pattern *to, uint64_t to_base,
		 int (*take)(void *arg, const struct neff_packet *packet), void *arg);

#ifdef __cplusplus
}
#endif
#endif
