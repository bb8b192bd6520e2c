// SPDX-License-Identifier: MIT
/*
 * The NEFF reader. The input is a list of members (a name from a table or from the input, and
 * bytes), packed here as a raw tar behind a header, so that the fuzzer changes the contents of a
 * file and not checksums; or it is a complete file. A file that is accepted is written and read
 * again.
 */
#include "fuzz.h"
#include "neff.h"

#define BLOCK 512
#define MEMBERS 64
#define FILE_MAX (4u << 20)

static const char *const names[] = {
	"kelf-0.json",	 "neff.json",	   "info.json",	   "sg00/def.json", "sg00/pe.json",
	"sg00/act.json", "sg00/pool.json", "sg00/sp.json", "sg00/pe.bin",   "sg00/act.bin",
	"sg00/pool.bin", "sg00/sp.bin",	   "sg00/w.bin",   "sg01/def.json",
};

struct file {
	uint8_t *p;
	size_t size;
};

static uint8_t *room(struct file *f, size_t n)
{
	if (n > FILE_MAX - f->size)
		return NULL;
	f->size += n;
	return f->p + f->size - n;
}

static void put_member(struct file *f, const char *name, const uint8_t *data, size_t n, char type)
{
	uint8_t *h = room(f, BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK);
	unsigned int sum = 0;

	if (!h)
		return;
	snprintf((char *)h, 100, "%s", name);
	memcpy(h + 100, "0000644", 7);
	snprintf((char *)h + 124, 12, "%011zo", n);
	memcpy(h + 136, "00000000000", 11);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar\00000", 8);
	memset(h + 148, ' ', 8);
	for (unsigned int i = 0; i < BLOCK; i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
	memcpy(h + BLOCK, data, n);
}

/* name: an index, or 255 and a string; u24 size; bytes */
static void put_members(struct fuzz_in *in, struct file *f)
{
	for (unsigned int i = 0; i < MEMBERS && !fuzz_end(in); i++) {
		uint8_t which = fuzz_u8(in);
		char name[100], type = '0';
		const uint8_t *p;
		size_t n;

		snprintf(name, sizeof(name), "%s", names[which % (sizeof(names) / sizeof(*names))]);
		if (which == 255) {
			type = (char)('0' + fuzz_u8(in) % 8);
			p = fuzz_bytes(in, fuzz_u8(in) % 100, &n);
			memcpy(name, p, n);
			name[n] = 0;
		}
		p = fuzz_bytes(in, fuzz_num(in, 3), &n);
		put_member(f, name, p, n, type);
	}
	room(f, 2 * BLOCK);
}

static void put_header(struct fuzz_in *in, struct file *f)
{
	uint8_t *h = f->p, patches = fuzz_u8(in) % 16;

	h[0] = 2;
	fuzz_assert(f->size >= NEFF_HEADER_SIZE);
	h[9] = NEFF_HEADER_SIZE >> 8;
	for (int i = 0; i < 4; i++)
		h[16 + i] = (uint8_t)((f->size - NEFF_HEADER_SIZE) >> 8 * i);
	h[24] = 2;
	h[168] = 1;
	h[551] = 0x40; /* feature bit 62 */
	while (patches--)
		h[fuzz_u16(in) % NEFF_HEADER_SIZE] = fuzz_u8(in);
}

static void read_it(const uint8_t *buf, size_t size, bool again)
{
	struct neff_limits limits = { .max_payload = 16 << 20, .max_members = 256 };
	struct neff_error err = { { 0 }, false };
	struct neff_model *model;
	size_t out_size;
	void *out;
	int ret = neff_read(buf, size, &limits, &model, &err);

	fuzz_assert(memchr(err.text, 0, sizeof(err.text)));
	if (ret) {
		fuzz_assert(again && err.text[0]);
		return;
	}
	if (again && !neff_write(model, &out, &out_size, &err)) {
		read_it(out, out_size, false);
		free(out);
	}
	neff_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	struct neff_header header;
	struct neff_error err;
	struct file f = { 0 };

	if (fuzz_u8(&in) >= 224) {
		read_it(in.p, (size_t)(in.end - in.p), true);
		neff_read_header(in.p, (size_t)(in.end - in.p), &header, &err);
		return 0;
	}
	f.p = calloc(1, FILE_MAX);
	fuzz_assert(f.p);
	f.size = NEFF_HEADER_SIZE;
	{
		struct fuzz_in header_in = in;
		uint8_t patches = fuzz_u8(&in) % 16;

		fuzz_bytes(&in, patches * 3u, &(size_t){ 0 });
		put_members(&in, &f);
		put_header(&header_in, &f);
	}
	read_it(f.p, f.size, true);
	free(f.p);
	return 0;
}
