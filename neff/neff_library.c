/* SPDX-License-Identifier: MIT */
/*
 * Libraries of custom operators (docs/gpsimd.md, The library): a linked ELF file of
 * neuron-custom-op. It comes from a user, so every offset, size and name is checked before it is
 * used; what is loaded is one image, which the chip shows to GpSimd's processors. What its words
 * do, the processors see to.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff_priv.h"
#include "neuron/hw/gpsimd.h"

#define MAX_SIZE (64u << 20) /* of the file, with its symbols */
#define MAX_SEGMENTS 16
#define MAX_SECTIONS 4096
#define PREFIX "neuron_op_"
#define CORES "neuron_cores" /* an absolute symbol */
#define LINES ".neuron_lines"

struct elf {
	const uint8_t *p;
	size_t size;
	Elf32_Ehdr head;
	struct neff_error *err;
};

/* n bytes at an offset of the file; NULL: it has not so many */
static const void *bytes_at(const struct elf *f, uint64_t at, uint64_t n)
{
	return at <= f->size && n <= f->size - at ? f->p + at : NULL;
}

static int head_read(struct elf *f)
{
	const Elf32_Ehdr *h = &f->head;

	if (f->size > MAX_SIZE || f->size < sizeof(*h))
		return neff_fail(f->err, "library: %zu bytes, expected %zu to %u", f->size,
				 sizeof(*h), MAX_SIZE);
	memcpy(&f->head, f->p, sizeof(f->head));
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS32 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_RISCV)
		return neff_fail(f->err, "library: not an ELF file of 32-bit RISC-V");
	if (h->e_type != ET_EXEC)
		return neff_fail(f->err, "library: not linked: type %u, expected %u", h->e_type,
				 ET_EXEC);
	if (h->e_flags & EF_RISCV_RVC)
		return neff_fail(f->err, "library: made for compressed instructions: "
					 "-march=rv32imf");
	if (h->e_phentsize != sizeof(Elf32_Phdr) || !h->e_phnum || h->e_phnum > MAX_SEGMENTS ||
	    !bytes_at(f, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf32_Phdr)))
		return neff_fail(f->err, "library: no table of 1 to %u segments", MAX_SEGMENTS);
	if (h->e_shnum && (h->e_shentsize != sizeof(Elf32_Shdr) || h->e_shnum > MAX_SECTIONS ||
			   h->e_shstrndx >= h->e_shnum ||
			   !bytes_at(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf32_Shdr))))
		return neff_fail(f->err, "library: its table of sections is not in the file");
	return 0;
}

/* The places of a segment: in the library, and when it is used: there, or in the TCM */
static int segment_check(const struct elf *f, const Elf32_Phdr *s, unsigned int i)
{
	uint32_t at = s->p_paddr - NEURON_GPS_LIB;

	if (s->p_filesz > s->p_memsz || !bytes_at(f, s->p_offset, s->p_filesz))
		return neff_fail(f->err, "library: segment %u: %u bytes at %u, the file has %zu", i,
				 s->p_filesz, s->p_offset, f->size);
	if (s->p_filesz && (s->p_paddr < NEURON_GPS_LIB || at > NEURON_GPS_LIB_MAX ||
			    s->p_filesz > NEURON_GPS_LIB_MAX - at))
		return neff_fail(f->err, "library: segment %u lies at 0x%x, expected 0x%x to 0x%x",
				 i, s->p_paddr, NEURON_GPS_LIB,
				 NEURON_GPS_LIB + NEURON_GPS_LIB_MAX);
	if (s->p_vaddr == s->p_paddr
		    ? s->p_memsz != s->p_filesz && s->p_filesz
		    : s->p_vaddr > NEURON_GPS_TCM || s->p_memsz > NEURON_GPS_TCM - s->p_vaddr)
		return neff_fail(f->err,
				 "library: segment %u is used at 0x%x, "
				 "%u bytes: neither library nor TCM",
				 i, s->p_vaddr, s->p_memsz);
	return 0;
}

static void segment(const struct elf *f, unsigned int i, Elf32_Phdr *s)
{
	memcpy(s, f->p + f->head.e_phoff + i * sizeof(*s), sizeof(*s));
}

/* Does it bring bytes that one before it brings too? */
static bool overlaps_another(const struct elf *f, const Elf32_Phdr *s, unsigned int i)
{
	Elf32_Phdr other;

	while (i--) {
		segment(f, i, &other);
		if (other.p_type == PT_LOAD && other.p_paddr - s->p_paddr < s->p_filesz &&
		    other.p_filesz)
			return true;
		if (other.p_type == PT_LOAD && s->p_paddr - other.p_paddr < other.p_filesz)
			return true;
	}
	return false;
}

/* Checks all of them, and how far the library reaches */
static int segments_check(const struct elf *f, struct neff_library *lib)
{
	Elf32_Phdr s;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < f->head.e_phnum; i++) {
		segment(f, i, &s);
		if (s.p_type == PT_INTERP || s.p_type == PT_DYNAMIC)
			return neff_fail(f->err, "library: linked to others: expected -static");
		if (s.p_type != PT_LOAD)
			continue;
		ret = segment_check(f, &s, i);
		if (ret || !s.p_filesz)
			continue;
		if (overlaps_another(f, &s, i))
			return neff_fail(f->err, "library: segment %u lies in another one", i);
		if (s.p_paddr - NEURON_GPS_LIB + s.p_filesz > lib->bytes)
			lib->bytes = s.p_paddr - NEURON_GPS_LIB + s.p_filesz;
	}
	lib->bytes = (lib->bytes + 3) & ~3u;
	return ret || lib->bytes ? ret : neff_fail(f->err, "library: nothing to load");
}

static int segments_read(const struct elf *f, struct neff_library *lib)
{
	int ret = segments_check(f, lib);
	Elf32_Phdr s;

	if (ret)
		return ret;
	lib->image = calloc(1, lib->bytes);
	if (!lib->image)
		return neff_nomem(f->err);
	for (unsigned int i = 0; i < f->head.e_phnum; i++) {
		segment(f, i, &s);
		if (s.p_type == PT_LOAD && s.p_filesz)
			memcpy(lib->image + (s.p_paddr - NEURON_GPS_LIB), f->p + s.p_offset,
			       s.p_filesz);
	}
	return 0;
}

/* The place of an instruction in the library */
static bool is_code(const struct neff_library *lib, uint32_t address)
{
	return address >= NEURON_GPS_LIB && address - NEURON_GPS_LIB < lib->bytes && !(address & 3);
}

static void section(const struct elf *f, unsigned int i, Elf32_Shdr *s)
{
	memcpy(s, f->p + f->head.e_shoff + i * sizeof(*s), sizeof(*s));
}

/* A table of strings: each ends inside of it, because its last byte is a 0 */
struct strings {
	const char *p;
	uint32_t size; /* 0: none */
};

static struct strings strings(const struct elf *f, const Elf32_Shdr *table)
{
	const char *p = bytes_at(f, table->sh_offset, table->sh_size);

	return p && table->sh_size && !p[table->sh_size - 1] ? (struct strings){ p, table->sh_size }
							     : (struct strings){ 0 };
}

/* NULL: none. However long it is, this takes no time */
static const char *string(const struct strings *table, uint32_t at)
{
	return at < table->size ? table->p + at : NULL;
}

static int function_read(const struct elf *f, struct neff_library *lib, const Elf32_Sym *sym,
			 const char *name)
{
	struct neff_function *fn = &lib->function[lib->nfunctions];

	if (lib->nfunctions == NEFF_MAX_FUNCTIONS)
		return neff_fail(f->err, "library: more than %u operators", NEFF_MAX_FUNCTIONS);
	if (!neff_file_name_ok(name))
		return neff_fail(f->err, "library: '%.80s' is not the name of an operator", name);
	if (!is_code(lib, sym->st_value))
		return neff_fail(f->err, "library: operator '%s' at 0x%x, which is not in the code",
				 name, sym->st_value);
	for (unsigned int i = 0; i < lib->nfunctions; i++)
		if (!strcmp(lib->function[i].name, name))
			return neff_fail(f->err, "library: two operators '%s'", name);
	snprintf(fn->name, sizeof(fn->name), "%s", name);
	fn->address = sym->st_value;
	lib->nfunctions++;
	return 0;
}

static int symbols_read(const struct elf *f, struct neff_library *lib, const Elf32_Shdr *s)
{
	struct strings names;
	Elf32_Shdr table;
	Elf32_Sym sym;
	int ret = 0;

	if (s->sh_entsize != sizeof(sym) || s->sh_link >= f->head.e_shnum ||
	    !bytes_at(f, s->sh_offset, s->sh_size))
		return neff_fail(f->err, "library: its symbols are not in the file");
	section(f, s->sh_link, &table);
	names = strings(f, &table);
	for (uint32_t i = 0; !ret && i < s->sh_size / sizeof(sym); i++) {
		const char *name;

		memcpy(&sym, f->p + s->sh_offset + i * sizeof(sym), sizeof(sym));
		if (ELF32_ST_BIND(sym.st_info) != STB_GLOBAL)
			continue;
		name = string(&names, sym.st_name);
		if (!name)
			return neff_fail(f->err,
					 "library: symbol %u has no name "
					 "in a table that ends with a 0",
					 i);
		if (!strcmp(name, CORES) && sym.st_shndx == SHN_ABS)
			lib->cores = sym.st_value;
		if (ELF32_ST_TYPE(sym.st_info) == STT_FUNC &&
		    !strncmp(name, PREFIX, strlen(PREFIX)))
			ret = function_read(f, lib, &sym, name + strlen(PREFIX));
	}
	return ret;
}

static int sections_read(const struct elf *f, struct neff_library *lib)
{
	struct strings names = { 0 };
	unsigned int tables = 0;
	Elf32_Shdr s;
	int ret = 0;

	if (f->head.e_shnum) {
		section(f, f->head.e_shstrndx, &s);
		names = strings(f, &s);
	}
	for (unsigned int i = 0; !ret && i < f->head.e_shnum; i++) {
		const char *name;

		section(f, i, &s);
		name = string(&names, s.sh_name);
		if (s.sh_type == SHT_RELA || s.sh_type == SHT_REL)
			ret = neff_fail(f->err, "library: it has relocations: "
						"expected a linked file");
		else if (s.sh_type == SHT_SYMTAB && tables++)
			ret = neff_fail(f->err, "library: more than one table of symbols");
		else if (s.sh_type == SHT_SYMTAB)
			ret = symbols_read(f, lib, &s);
		else if (name && !strcmp(name, LINES)) {
			lib->lines = bytes_at(f, s.sh_offset, s.sh_size);
			lib->lines_size = s.sh_size;
			if (!lib->lines)
				ret = neff_fail(f->err, "library: %s is not in the file", LINES);
		}
	}
	return ret;
}

int neff_library_read(const void *elf, size_t size, struct neff_library **out,
		      struct neff_error *err)
{
	struct neff_library *lib = calloc(1, sizeof(*lib));
	struct elf f = { .p = elf, .size = size, .err = err };
	int ret;

	if (!lib)
		return neff_nomem(err);
	lib->cores = 1;
	ret = head_read(&f);
	if (!ret)
		ret = segments_read(&f, lib);
	if (!ret)
		ret = sections_read(&f, lib);
	if (!ret && !is_code(lib, f.head.e_entry))
		ret = neff_fail(err, "library: entry 0x%x is not in the code", f.head.e_entry);
	if (!ret && (!lib->cores || lib->cores > NEURON_GPS_CORES))
		ret = neff_fail(err, "library: %s is %u, expected 1 to %u", CORES, lib->cores,
				NEURON_GPS_CORES);
	if (!ret && !lib->nfunctions)
		ret = neff_fail(err, "library: no operator: no function %sNAME", PREFIX);
	if (ret) {
		free(lib->image);
		free(lib);
		return ret;
	}
	lib->entry = f.head.e_entry - NEURON_GPS_LIB;
	*out = lib;
	return 0;
}

void neff_library_free(struct neff_library *lib)
{
	if (!lib)
		return;
	free(lib->elf);
	free(lib->image);
	free(lib);
}

const struct neff_function *neff_library_find(const struct neff_library *lib, const char *name)
{
	for (unsigned int i = 0; i < lib->nfunctions; i++)
		if (!strcmp(lib->function[i].name, name))
			return &lib->function[i];
	return NULL;
}

/* Lines "address in hex, function, file:line", in the order of the addresses, which begin at those */
int neff_library_line(const struct neff_library *lib, uint32_t pc, char *text, size_t size)
{
	const char *p = lib->lines, *end = p ? p + lib->lines_size : p, *best = NULL;
	size_t best_n = 0;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((eol ? eol : end) - p);
		uint32_t address = 0;
		unsigned int i;

		for (i = 0; i < n && i < 8 && p[i] != ' '; i++) {
			unsigned int c = (unsigned char)p[i], lower = c | 0x20;

			if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f'))
				return -EINVAL;
			address = address << 4 | (c <= '9' ? c - '0' : lower - 'a' + 10);
		}
		if (i == n || p[i] != ' ')
			return -EINVAL;
		if (address > pc)
			break;
		best = p + i + 1;
		best_n = n - i - 1;
		p += n + 1;
	}
	if (!best)
		return -ENOENT;
	snprintf(text, size, "%.*s", (int)(best_n < 200 ? best_n : 200), best);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return 0;
}
