/* SPDX-License-Identifier: MIT */
/*
 * libneff: the NEFF envelope and this project's contents of it, as one struct with a reader and a
 * writer. docs/neff.md describes the format; the compiler fills a struct neff_model and writes it,
 * libnrt and the tools read it back. The library never prints: a failure is -errno and a text in
 * struct neff_error that names the member.
 */
#ifndef NEFF_H
#define NEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/udma.h"
#include "neuron/hw/target.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEFF_HEADER_SIZE 1024
#define NEFF_MAX_DIMS 16
#define NEFF_MAX_SOURCE 255 /* bytes of a tensor's name in the compiled model */
/* The emulator's instruction set: no real device may load it */
#define NEFF_FEATURE_EMU (1ull << 62)
/* The file has custom operators; the public name of the feature, the bit is not public */
#define NEFF_FEATURE_CUSTOM_OPS (1ull << 61)

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

struct neff_error {
	char text[256]; /* for example "sg00/def.json: var 'x': size 12, expected 16" */
	bool version; /* the version or a feature bit is not supported */
};

enum neff_var_type {
	NEFF_VAR_INPUT,
	NEFF_VAR_OUTPUT,
	NEFF_VAR_FILE, /* constant: data and size, written as member <sg>/<file_name> */
	NEFF_VAR_TMP_BUF, /* private scratchpad in device DRAM */
	NEFF_VAR_VIRTUAL, /* shared scratchpad: backing_off */
	NEFF_VAR_STATE_BUFFER, /* the core's window: offsets are window offsets, SBUF begins at 0 */
};

struct neff_var {
	char *name;
	enum neff_var_type type;
	uint32_t var_id; /* its index in vars: ids are dense from 0 */
	uint64_t size; /* bytes */
	uint32_t alignment; /* a power of two; 0: no alignment is asked for */
	uint64_t backing_off;
	char *file_name;
	void *data;
	/* a constant that is a subgraph's before, and lies there: that one's number, and the
	 * variable's */
	bool shared;
	uint32_t of_graph, of_var;
	/* of inputs and outputs only (neff.json) */
	char *source; /* its name in the model that was compiled; NULL: not said */
	uint8_t dtype; /* enum neuron_dtype */
	unsigned int ndim;
	uint64_t shape[NEFF_MAX_DIMS];
};

enum neff_queue_type { NEFF_QUEUE_IN, NEFF_QUEUE_OUT, NEFF_QUEUE_DATA };

struct neff_queue {
	char *name;
	enum neff_queue_type type;
	unsigned int owner; /* the only engine that triggers its DMAs */
};

/*
 * One side of a transfer: up to four dimensions, innermost first. Sizes and steps are bytes; sizes
 * from the second dimension on are counts.
 */
struct neff_pattern {
	uint32_t var; /* index in vars */
	uint64_t offset; /* bytes */
	unsigned int ndim; /* 1..4; size[0] is bytes, the others are counts; step[0] is 1 */
	uint64_t size[4];
	int64_t step[4];
};

/* The number of contiguous runs of size[0] bytes that it has */
static inline uint64_t neff_runs(const struct neff_pattern *p)
{
	uint64_t n = 1;

	for (unsigned int d = 1; d < p->ndim; d++)
		n *= p->size[d];
	return n;
}

/*
 * A copy moves as many bytes as both sides have. A gather's `from` and a scatter's `to` is a table
 * in DRAM with two dimensions, the bytes of a row and the rows; every run of the other side is one
 * row of it, in order. Which row is said by the int32 values of variable `index`, which lie one
 * behind the other.
 */
enum neff_op {
	NEFF_COPY,
	NEFF_GATHER,
	NEFF_SCATTER,
	/* from NeuronCore-v2 on: elements that the DMA engine converts, or makes one of several */
	NEFF_CAST,
	NEFF_ADD,
	NEFF_MIN,
	NEFF_MAX,
	/* from is elements and to a compressed stream, or the other way round */
	NEFF_COMPRESS,
	NEFF_DECOMPRESS,
	NEFF_TRANSPOSE, /* the first and the last dimension of shape are exchanged */
};

struct neff_desc {
	struct neff_pattern from, to;
	enum neff_op op;
	uint32_t index; /* index in vars; of a gather or a scatter */
	uint64_t index_off; /* bytes */
	/* of NEFF_CAST and those behind it */
	uint8_t from_dtype, to_dtype; /* enum neuron_dtype */
	unsigned int nmore; /* sources behind from, at most NEURON_DMA_SOURCES_MAX - 1 */
	struct neff_pattern *more;
	uint32_t shape[4]; /* of NEFF_TRANSPOSE: the elements of from */
};

/* Does it compute? Are its rows chosen by an index? */
bool neff_computes(const struct neff_desc *d);
bool neff_streams(const struct neff_desc *d); /* of those: does it compress or decompress? */
bool neff_indexed(const struct neff_desc *d);
void neff_desc_free(struct neff_desc *d); /* what it points to */
#define NEFF_MAX_TURNED 0x7fff /* elements of a dimension that is transposed */
#define NEFF_MAX_ROW (1u << 16) /* bytes of a row that is gathered or scattered */
#define NEFF_MAX_ROWS (1u << 16) /* rows of a table */

/*
 * One DMA. It is triggered once an execution, by the PSEUDO_DMA_TRIGGER with its id in the stream
 * of its queue's owner.
 */
struct neff_dma {
	uint32_t id; /* unique in its engine's JSON */
	uint32_t queue; /* index in queues */
	int semaphore; /* incremented after the last byte is written; -1: none */
	unsigned int ndesc;
	struct neff_desc *desc;
};

#define NEFF_MAX_FUNCTIONS 10 /* of a library */
#define NEFF_MAX_CUSTOM 65536u /* CUSTOM_OPs of a subgraph */

/* A library of custom operators (docs/gpsimd.md), of which a model has one at most */
struct neff_function {
	char name[72];
	uint32_t address; /* for a processor */
};
struct neff_library {
	void *elf; /* the member as it is; its owner's until the model is the library's */
	size_t size;
	uint8_t *image;
	uint32_t bytes, entry; /* entry: the byte where processors start */
	unsigned int cores; /* processors that run an operator, 1 to NEURON_GPS_CORES */
	unsigned int nfunctions;
	struct neff_function function[NEFF_MAX_FUNCTIONS];
	const char *lines; /* in elf, not ended by a 0; NULL: it has none */
	size_t lines_size;
};
/* elf stays the caller's, and has to stay for lines. 0, -EINVAL or -ENOMEM */
int neff_library_read(const void *elf, size_t size, struct neff_library **lib,
		      struct neff_error *err);
void neff_library_free(struct neff_library *lib); /* with elf; NULL: nothing */
const struct neff_function *neff_library_find(const struct neff_library *lib, const char *name);
/* "function file:line" of a processor's pc; -ENOENT: nothing is known, -EINVAL: the table is none */
int neff_library_line(const struct neff_library *lib, uint32_t pc, char *text, size_t size);

/* An argument of a CUSTOM_OP: elements side by side in a variable in DRAM, or a number */
struct neff_custom_arg {
	bool scalar;
	double value;
	uint32_t var; /* index in vars */
	uint64_t offset; /* bytes */
	bool write; /* a result, which is read too; else only read */
	uint8_t dtype;
	unsigned int ndim;
	uint32_t shape[NEFF_MAX_DIMS];
};

/* A CUSTOM_OP's operand; the instruction names it by its place in the list */
#define NEFF_MAX_CUSTOM_ARGS 32
struct neff_custom {
	unsigned int nargs;
	struct neff_custom_arg *arg;
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
	unsigned int ncustom; /* of CUSTOM_OPs, in the order of the stream */
	struct neff_custom *custom;
};

/*
 * Subgraphs that are executed again while the condition, a variable of one byte, is not 0. The
 * condition is read after the subgraph before the first one, and after the last one.
 */
struct neff_loop {
	/* indices in a core's subgraphs; at least one lies before and one behind */
	uint32_t first, last;
	char *condition; /* a virtual variable of subgraphs first - 1 and last */
	uint64_t iterations; /* 1 to NEFF_MAX_ITERATIONS if they are known, else 0 */
};

#define NEFF_MAX_ITERATIONS (1ull << 32)

/*
 * A call of a function of the host's behind a subgraph (docs/neff.md, Calls of the host). An array
 * lies at an offset in the memory of virtual variables, a complex one's halves at two, one without
 * elements at none. A result that nobody needs is nowhere.
 */
#define NEFF_CALL_NOWHERE UINT64_MAX
struct neff_call_array {
	char type[12]; /* XLA's name: "f32", "pred" */
	unsigned int ndim, noff;
	uint64_t shape[NEFF_MAX_DIMS];
	uint64_t off[2];
};
struct neff_call {
	uint32_t after; /* index in a core's subgraphs */
	char *target; /* whose function, and which of them */
	uint64_t index;
	bool guarded; /* it is made if the byte at guard is not 0 */
	uint64_t guard;
	unsigned int nin, nout;
	struct neff_call_array *array; /* nin + nout */
};
/* The number of parts of an array, and the bytes of each (UINT64_MAX: more than there can be) */
unsigned int neff_call_halves(const struct neff_call_array *a);
uint64_t neff_call_bytes(const struct neff_call_array *a);

/*
 * What ranks, which are devices that execute the file together, pass to each other behind a
 * subgraph (docs/neff.md, Collectives). Member i of a group gets a block of each, in the group's
 * order.
 */
enum neff_transfer {
	NEFF_ALL_GATHER, /* every member gets the same block of a member, all that it has */
	NEFF_ALL_TO_ALL, /* member i gets block i of each */
	NEFF_PERMUTE, /* pairs: the second rank of each gets what the first one has, others zeros */
	NEFF_PARTITION_ID, /* nothing passes: a rank's number, or that of its replica, 32 bits */
	NEFF_REPLICA_ID,
	NEFF_TRANSFERS,
};

struct neff_collective {
	enum neff_transfer op;
	uint32_t behind; /* index in a core's subgraphs; of numbers: 0 */
	char *from, *to; /* virtual variables; from: NULL of numbers */
	uint64_t bytes; /* of a block */
	uint32_t members; /* of a group; 2 of pairs, 0 of numbers */
	uint32_t nranks; /* in the list */
	uint32_t *rank; /* groups, or pairs, one behind the other */
	uint64_t from_off, to_off; /* of a model that was read: where in the scratchpad they lie */
};

#define NEFF_MAX_RANKS 256u
/* Semaphores that the runtime takes of the program's, the last ones, for them */
#define NEFF_COLLECTIVE_SEMAPHORES 2u

struct neff_model {
	struct neff_header header;
	const struct neuron_target *target; /* the target that its programs are for */
	unsigned int nsubgraphs;
	struct neff_subgraph *subgraphs;
	unsigned int nloops;
	/* sorted by first; with loops subgraphs are a core's parts (docs/neff.md, Loops) */
	struct neff_loop *loops;
	unsigned int ncalls; /* in the order in which they are made; parts as with loops */
	struct neff_call *calls;
	/* how many execute it together, partitions of each replica; 0: it is not for several */
	uint32_t ranks, partitions;
	unsigned int ncollectives;
	struct neff_collective *collectives; /* in the order of behind */
	char *info_json; /* member info.json, or NULL */
	struct neff_library *library; /* of its custom operators, or NULL */
};

/* Are the subgraphs parts of one program, with one memory of virtual variables? */
static inline bool neff_in_parts(const struct neff_model *model)
{
	return model->nloops || model->ncalls || model->ranks;
}

/* The subgraphs of each core of a logical one: the first one's come first. */
static inline unsigned int neff_programs(const struct neff_model *model)
{
	return model->header.lnc_size > 1 ? model->nsubgraphs / model->header.lnc_size
					  : model->nsubgraphs;
}

/*
 * The target a file is read for, and the reader's limits; 0 stands for the default. The limits stop
 * archives that unpack to far more than their size.
 */
struct neff_limits {
	const struct neuron_target *target; /* the target it is to run on; NULL: inf1 */
	uint64_t max_file; /* bytes of the file itself (default 8 GiB) */
	/* unpacked bytes of all members (default 64 times the file + 256 MiB, at most 8 GiB) */
	uint64_t max_payload;
	uint64_t max_json; /* bytes of all JSON members (default 32 times the file + 1 MiB) */
	unsigned int max_members; /* default 65536, and one for each 64 bytes of the file */
	bool validate_hash;
	bool checked; /* of neff_copy(): whoever made the model has it checked by neff_check() */
	/*
	 * The caller's account, or NULL. It is asked before memory is taken, with about as many
	 * bytes as will be taken; if it does not return 0, the reader ends with -ENOMEM. A negative
	 * number of bytes is given back, and the result is ignored. A reader that failed has given
	 * back everything; after a success the rest is the model's memory.
	 */
	int (*account)(void *arg, int64_t bytes);
	void *account_arg;
	/*
	 * Whether nobody wants the model any more, or NULL. It is asked every few milliseconds of
	 * work; when it returns true, the reader ends with -ECANCELED.
	 */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;
};

/*
 * Reads a NEFF from memory. It checks the envelope, every member, every offset and size, every
 * instruction (opcode, reserved bits, operands inside the core's memories), and that triggers and
 * DMAs agree. A file does not say which target it is for; limits do. Returns 0, -EINVAL (content),
 * -ENOTSUP (version or features; err->version), -ENOMEM or -ECANCELED.
 */
int neff_read(const void *buf, size_t size, const struct neff_limits *limits,
	      struct neff_model **model, struct neff_error *err);
/*
 * The same from an open file of this size, piece by piece, from its start wherever its offset is.
 * What somebody changes in it meanwhile is an error or is what is read; nothing is read twice but
 * by validate_hash.
 */
int neff_read_file(int fd, size_t size, const struct neff_limits *limits, struct neff_model **model,
		   struct neff_error *err);
/*
 * A model that is in memory, as a reader would have it of the file that neff_write makes of it: the
 * same checks, and of the limits the target, the account and whether to go on. *copy is of its own.
 */
int neff_copy(const struct neff_model *model, const struct neff_limits *limits,
	      struct neff_model **copy, struct neff_error *err);
/* What readers and writers check of a model: 0, -EINVAL or -ENOMEM */
int neff_check(const struct neff_model *model, struct neff_error *err);
void neff_free(struct neff_model *model);

/*
 * The name as numpy has it ("float32", "bfloat16") and the size of an enum neuron_dtype; NULL, 0
 * and 0 if there is none
 */
const char *neff_dtype_name(uint8_t dtype);
unsigned int neff_dtype_size(uint8_t dtype);
uint8_t neff_dtype_from_name(const char *name);

/*
 * Reads only the header, of a file of this size whose first NEFF_HEADER_SIZE bytes, or all if they
 * are fewer, are at buf. Returns 0 or -EINVAL.
 */
int neff_read_header(const void *buf, size_t size, struct neff_header *header,
		     struct neff_error *err);

/*
 * Writes a NEFF. The same model gives the same bytes (members sorted, times 0) except for the uuid,
 * which the caller sets. hash, data_size and header_size are computed. The caller frees *buf.
 */
int neff_write(const struct neff_model *model, void **buf, size_t *size, struct neff_error *err);
/* Is there no doubt that a reader's default limits let the file in, if its checks do? */
bool neff_is_small(const struct neff_model *model);

/* A contiguous part of one side of a packet: one descriptor */
struct neff_piece {
	uint64_t addr;
	uint32_t len; /* bytes, up to NEURON_UDMA_DESC_LEN_MAX */
};

struct neff_packet {
	struct neff_piece tx[NEURON_PACKET_MAX], rx[NEURON_PACKET_MAX];
	unsigned int ntx, nrx;
	uint32_t compute; /* second word of its RX descriptors (neuron/hw/ext.h) */
};

/* The table of a gather or a scatter, its other side, and how many rows that one has */
const struct neff_pattern *neff_table(const struct neff_desc *d);
const struct neff_pattern *neff_rows(const struct neff_desc *d);
uint64_t neff_row_count(const struct neff_desc *d);

/*
 * What a loader accepts: descriptors of one side of a queue, and of all of a subgraph's queues
 * (docs/nrt.md)
 */
#define NEFF_MAX_QUEUE_DESCS (15u << 20) /* a ring has room for 2^24 - 16 */
#define NEFF_MAX_MODEL_DESCS (1u << 25) /* 512 MiB, and those of one more queue */

/*
 * Cuts a copy into packets, in order; from_base and to_base are the addresses of the variables'
 * first bytes. Returns 0, or the first result of take that is not 0, after which take is not called
 * again.
 */
int neff_packets(const struct neuron_target *target, const struct neff_pattern *from,
		 uint64_t from_base, const struct neff_pattern *to, uint64_t to_base,
		 int (*take)(void *arg, const struct neff_packet *packet), void *arg);
/*
 * The same of a descriptor that computes: a packet for each piece that no side interrupts, with one
 * RX descriptor and one TX descriptor for each source; one packet of all if it is a stream.
 * from_base: of each of them, in order
 */
int neff_compute_packets(const struct neff_desc *d, const uint64_t *from_base, uint64_t to_base,
			 int (*take)(void *arg, const struct neff_packet *packet), void *arg);

#ifdef __cplusplus
}
#endif
#endif
