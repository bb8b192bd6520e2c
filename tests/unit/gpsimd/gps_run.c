/* SPDX-License-Identifier: MIT */
/*
 * Runs an operator of a library on a core alone: what it prints goes to stdout, a fault's cause and
 * place to stderr (exit 1). usage: gps_run LIBRARY OPERATOR ARGUMENT..., each argument
 * in:TYPE:DIMS:FILE, out:TYPE:DIMS:FILE (DIMS: 2x3) or scalar:NUMBER
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff.h"
#include "neuron/hw/gpsimd.h"
#include "neuron/isa/codec.h"
#include "tpb.h"

#define DRAM_SIZE (64u << 20)
#define LIB 0u
#define ARGS (2u << 20)
#define RING (3u << 20)
#define DATA (4u << 20)

#define BASE 0x10000000ull /* of DRAM, for the device */
#define PART 4096

static uint8_t *dram;
static struct {
	bool there;
	uint16_t code;
	uint64_t data;
	uint32_t data2;
} error;

static int no_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	return -EACCES;
}

static int rw_dram(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	addr -= BASE;
	if (addr > DRAM_SIZE || len > DRAM_SIZE - addr)
		return -EACCES;
	if (buf)
		memcpy(write ? dram + addr : buf, write ? buf : dram + addr, len);
	return 0;
}

static void note(void *opaque, unsigned int type, unsigned int engine, uint16_t code, uint32_t id,
		 uint64_t data, uint32_t data2, uint64_t time)
{
	error.there = true;
	error.code = code;
	error.data = data;
	error.data2 = data2;
}

static const struct tpb_ops ops = { .write = no_write, .dram = rw_dram, .notify = note };

static uint64_t used = DATA;
static struct {
	const char *file;
	uint64_t at, bytes;
} out[NEURON_GPS_ARGS];
static unsigned int outs;

static void *read_file(const char *name, size_t *size)
{
	FILE *f = fopen(name, "rb");
	uint8_t *p = malloc(DRAM_SIZE);

	if (!f || !p) {
		perror(name);
		exit(2);
	}
	*size = fread(p, 1, DRAM_SIZE, f);
	fclose(f);
	return p;
}

/* TYPE:DIMS:FILE */
static void tensor(struct neuron_gps_arg *arg, char *text, bool write)
{
	char *type = strtok(text, ":"), *dims = strtok(NULL, ":"), *file = strtok(NULL, ":"), *end;
	uint64_t bytes;
	size_t size;
	void *data;

	for (uint8_t i = 0; i < NEURON_ISA_DTYPE_COUNT; i++)
		if (neuron_isa_dtypes[i].name && !strcmp(type, neuron_isa_dtypes[i].name))
			arg->dtype = i;
	bytes = neuron_isa_dtypes[arg->dtype].size;
	for (char *p = dims; p && *p; p = *end ? end + 1 : end) {
		arg->size[arg->ndim] = (uint32_t)strtoul(p, &end, 10);
		bytes *= arg->size[arg->ndim++];
	}
	arg->kind = NEURON_GPS_DRAM;
	arg->access = NEURON_GPS_READS | (write ? NEURON_GPS_WRITES : 0);
	arg->place = BASE + used;
	if (used + bytes > DRAM_SIZE)
		exit(2);
	if (write) {
		out[outs].file = file;
		out[outs].at = used;
		out[outs++].bytes = bytes;
	} else {
		data = read_file(file, &size);
		memcpy(dram + used, data, size < bytes ? size : bytes);
		free(data);
	}
	used = (used + bytes + 63) & ~63ull;
}

static void argument(struct neuron_gps_arg *arg, char *text)
{
	double v;

	for (unsigned int d = 0; d < NEURON_GPS_DIMS; d++)
		arg->size[d] = 1;
	if (!strncmp(text, "scalar:", 7)) {
		arg->kind = NEURON_GPS_SCALAR;
		v = strtod(text + 7, NULL);
		memcpy(&arg->place, &v, sizeof(v));
	} else {
		bool write = !strncmp(text, "out:", 4);

		tensor(arg, strchr(text, ':') + 1, write);
	}
}

static int finish(const struct neff_library *lib)
{
	uint64_t head;
	char place[256];

	memcpy(&head, dram + RING, sizeof(head));
	fwrite(dram + RING + NEURON_GPS_RING_HEAD, 1, head, stdout);
	if (error.there) {
		if (neff_library_line(lib, (uint32_t)error.data, place, sizeof(place)))
			strcpy(place, "?");
		fprintf(stderr, "code %u cause %u processor %u data2 0x%x: %s\n", error.code,
			(unsigned int)(error.data >> 40), (unsigned int)(error.data >> 32 & 0xff),
			error.data2, place);
		return 1;
	}
	for (unsigned int i = 0; i < outs; i++) {
		FILE *f = fopen(out[i].file, "wb");

		if (!f || fwrite(dram + out[i].at, 1, out[i].bytes, f) != out[i].bytes || fclose(f))
			return 2;
	}
	return 0;
}

static int execute(const struct neuron_insn *insn)
{
	struct neuron_target target = *neuron_target_of_name("trn1");
	struct tpb_config config = {
		.ops = &ops, .target = &target, .sbuf_host_stride = PART, .psum_host_stride = PART
	};
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int n = neuron_isa_encode(insn, words);
	struct tpb *tpb;

	target.sbuf_part_size = target.psum_part_size = PART;
	config.sbuf = calloc(1, NEURON_PARTITIONS * PART + TPB_SLACK);
	config.psum = calloc(1, NEURON_PARTITIONS * PART + TPB_SLACK);
	if (n < 0 || !config.sbuf || !config.psum || tpb_new(&config, &tpb))
		return -ENOMEM;
	tpb_fifo_push(tpb, NEURON_ENG_GPSIMD, words, (unsigned int)n, 0);
	while (tpb_run(tpb, 1000) == TPB_BUDGET)
		;
	tpb_free(tpb);
	free(config.sbuf);
	free(config.psum);
	return 0;
}

int main(int argc, char **argv)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_CUSTOM_OP };
	const struct neff_function *fn;
	struct neuron_gps_block *block;
	struct neff_library *lib;
	struct neff_error err;
	size_t size;
	void *elf;
	int rc;

	if (argc < 3 || argc - 3 > NEURON_GPS_ARGS)
		return 2;
	dram = calloc(1, DRAM_SIZE);
	elf = read_file(argv[1], &size);
	if (!dram || neff_library_read(elf, size, &lib, &err)) {
		fprintf(stderr, "%s\n", dram ? err.text : "out of memory");
		return 2;
	}
	fn = neff_library_find(lib, argv[2]);
	if (!fn)
		return 2;
	block = (void *)(dram + ARGS);
	block->magic = NEURON_GPS_MAGIC;
	block->ring = BASE + RING;
	block->ring_bytes = NEURON_GPS_RING_MAX;
	for (int i = 3; i < argc; i++)
		argument((struct neuron_gps_arg *)(block + 1) + block->count++, argv[i]);
	memcpy(dram + LIB, lib->image, lib->bytes);
	insn.custom = (struct neuron_custom){ .library = BASE + LIB,
					      .args = BASE + ARGS,
					      .bytes = lib->bytes,
					      .entry = lib->entry,
					      .function = fn->address,
					      .limit = 1 << 16,
					      .mask = (uint8_t)((1u << lib->cores) - 1) };
	if (execute(&insn))
		return 2;
	lib->elf = elf;
	rc = finish(lib);
	neff_library_free(lib);
	free(dram);
	return rc;
}
