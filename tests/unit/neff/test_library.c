/* SPDX-License-Identifier: MIT */
/*
 * Libraries of custom operators (docs/gpsimd.md, The library): an ELF file made by hand is read,
 * each way to spoil it refused with its reason, and whatever bytes it has leave the reader alone.
 * And the file that has one (docs/neff.md, Custom operators).
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neff.h"
#include "neuron/hw/gpsimd.h"
#include "neuron/isa/codec.h"

#define LINES "80000000 first a.c:1\n80000008 second b.c:7\n"

/* 16 words of code and 8 bytes of data behind them, three symbols, lines */
struct file {
	Elf32_Ehdr head;
	Elf32_Phdr segment[2];
	Elf32_Shdr section[5];
	Elf32_Sym symbol[4];
	char names[64], section_names[64], lines[sizeof(LINES) - 1];
	uint32_t code[16], data[2];
};

static struct file f;
static struct neff_error err;

#define AT(member) ((uint32_t)offsetof(struct file, member))

static Elf32_Sym symbol(uint32_t name, uint32_t value, unsigned int type, uint16_t section)
{
	return (Elf32_Sym){ .st_name = name,
			    .st_value = value,
			    .st_info = (unsigned char)ELF32_ST_INFO(STB_GLOBAL, type),
			    .st_shndx = section };
}

static void setup(void)
{
	static const char names[] = "\0neuron_op_first\0neuron_op_second\0neuron_cores";
	static const char section_names[] = "\0.symtab\0.strtab\0.shstrtab\0.neuron_lines";

	memset(&f, 0, sizeof(f));
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_machine = EM_RISCV;
	f.head.e_type = ET_EXEC;
	f.head.e_entry = NEURON_GPS_LIB + 4;
	f.head.e_phoff = AT(segment);
	f.head.e_phentsize = sizeof(Elf32_Phdr);
	f.head.e_phnum = 2;
	f.head.e_shoff = AT(section);
	f.head.e_shentsize = sizeof(Elf32_Shdr);
	f.head.e_shnum = 5;
	f.head.e_shstrndx = 3;
	f.segment[0] = (Elf32_Phdr){ PT_LOAD,	     AT(code),	     NEURON_GPS_LIB, NEURON_GPS_LIB,
				     sizeof(f.code), sizeof(f.code), PF_R | PF_X,    4 };
	f.segment[1] = (Elf32_Phdr){ PT_LOAD, AT(data), 0x2000,	     NEURON_GPS_LIB + 64,
				     8,	      0x1000,	PF_R | PF_W, 4 };
	f.section[1] = (Elf32_Shdr){ .sh_name = 1,
				     .sh_type = SHT_SYMTAB,
				     .sh_offset = AT(symbol),
				     .sh_size = sizeof(f.symbol),
				     .sh_link = 2,
				     .sh_entsize = sizeof(Elf32_Sym) };
	f.section[2] = (Elf32_Shdr){ .sh_name = 9,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = AT(names),
				     .sh_size = sizeof(f.names) };
	f.section[3] = (Elf32_Shdr){ .sh_name = 17,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = AT(section_names),
				     .sh_size = sizeof(f.section_names) };
	f.section[4] = (Elf32_Shdr){ .sh_name = 27,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = AT(lines),
				     .sh_size = sizeof(f.lines) };
	f.symbol[1] = symbol(1, NEURON_GPS_LIB, STT_FUNC, 1);
	f.symbol[2] = symbol(17, NEURON_GPS_LIB + 8, STT_FUNC, 1);
	f.symbol[3] = symbol(34, 8, STT_NOTYPE, SHN_ABS);
	memcpy(f.names, names, sizeof(names));
	memcpy(f.section_names, section_names, sizeof(section_names));
	memcpy(f.lines, LINES, sizeof(f.lines));
	for (int i = 0; i < 16; i++)
		f.code[i] = 0x1000000u + (uint32_t)i;
	f.data[0] = 0xdada;
}

START_TEST(test_read)
{
	struct neff_library *lib;
	char text[64];

	ck_assert_int_eq(neff_library_read(&f, sizeof(f), &lib, &err), 0);
	ck_assert_uint_eq(lib->bytes, 72);
	ck_assert_uint_eq(lib->entry, 4);
	ck_assert_uint_eq(lib->cores, 8);
	ck_assert_uint_eq(lib->nfunctions, 2);
	ck_assert_int_eq(memcmp(lib->image, f.code, 64), 0);
	ck_assert_int_eq(memcmp(lib->image + 64, f.data, 8), 0);
	ck_assert_uint_eq(neff_library_find(lib, "second")->address, NEURON_GPS_LIB + 8);
	ck_assert_ptr_null(neff_library_find(lib, "third"));
	ck_assert_int_eq(neff_library_line(lib, NEURON_GPS_LIB + 4, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "first a.c:1");
	ck_assert_int_eq(neff_library_line(lib, UINT32_MAX, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "second b.c:7");
	ck_assert_int_eq(neff_library_line(lib, 0, text, sizeof(text)), -ENOENT);
	neff_library_free(lib);
}
END_TEST

static void no_elf(void)
{
	f.head.e_ident[0] = 0;
}

static void of_64_bits(void)
{
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
}

static void big_endian(void)
{
	f.head.e_ident[EI_DATA] = ELFDATA2MSB;
}

static void other_machine(void)
{
	f.head.e_machine = EM_ARM;
}

static void not_linked(void)
{
	f.head.e_type = ET_REL;
}

static void compressed(void)
{
	f.head.e_flags = EF_RISCV_RVC;
}

static void no_segments(void)
{
	f.head.e_phnum = 0;
}

static void segments_behind(void)
{
	f.head.e_phoff = UINT32_MAX - 8;
}

static void sections_behind(void)
{
	f.head.e_shoff = sizeof(f);
}

static void no_section_names(void)
{
	f.head.e_shstrndx = 5;
}

static void segment_behind(void)
{
	f.segment[0].p_offset = sizeof(f) - 8;
}

static void segment_wraps(void)
{
	f.segment[0].p_offset = UINT32_MAX;
}

static void segment_low(void)
{
	f.segment[0].p_paddr = f.segment[0].p_vaddr = 0x1000;
}

static void segment_high(void)
{
	f.segment[0].p_paddr = f.segment[0].p_vaddr = NEURON_GPS_LIB + NEURON_GPS_LIB_MAX - 8;
}

static void segment_grows(void)
{
	f.segment[1].p_memsz = 4;
}

static void segments_overlap(void)
{
	f.segment[1].p_paddr -= 4;
}

static void data_outside(void)
{
	f.segment[1].p_vaddr = NEURON_GPS_TCM - 8;
}

static void data_elsewhere(void)
{
	f.segment[1].p_vaddr = 0x20000000;
}

static void dynamic(void)
{
	f.segment[1].p_type = PT_DYNAMIC;
}

static void nothing(void)
{
	f.segment[0].p_type = f.segment[1].p_type = PT_NOTE;
}

static void relocations(void)
{
	f.section[4].sh_type = SHT_RELA;
}

static void symbols_behind(void)
{
	f.section[1].sh_size = sizeof(f);
}

static void symbols_link(void)
{
	f.section[1].sh_link = 9;
}

static void symbol_name(void)
{
	f.symbol[1].st_name = sizeof(f.names);
}

static void endless_name(void)
{
	memset(f.names + 34, 'x', sizeof(f.names) - 34);
}

static void two_tables(void)
{
	f.section[4] = f.section[1];
}

static void symbol_value(void)
{
	f.symbol[1].st_value = NEURON_GPS_LIB + 72;
}

static void symbol_half(void)
{
	f.symbol[1].st_value += 2;
}

static void same_names(void)
{
	f.symbol[2].st_name = 1;
}

static void bad_name(void)
{
	memcpy(f.names + 11, "a/b", 3);
}

static void no_functions(void)
{
	f.symbol[1].st_info = f.symbol[2].st_info = 0;
}

static void no_cores(void)
{
	f.symbol[3].st_value = 0;
}

static void many_cores(void)
{
	f.symbol[3].st_value = 9;
}

static void entry_outside(void)
{
	f.head.e_entry = 0x2000;
}

static void lines_behind(void)
{
	f.section[4].sh_offset = sizeof(f);
}

static const struct {
	void (*spoil)(void);
	const char *says;
} spoiled[] = {
	{ no_elf, "not an ELF file" },
	{ of_64_bits, "not an ELF file" },
	{ big_endian, "not an ELF file" },
	{ other_machine, "not an ELF file" },
	{ not_linked, "not linked" },
	{ compressed, "compressed" },
	{ no_segments, "no table of" },
	{ segments_behind, "no table of" },
	{ sections_behind, "table of sections" },
	{ no_section_names, "table of sections" },
	{ segment_behind, "the file has" },
	{ segment_wraps, "the file has" },
	{ segment_low, "segment 0 lies at" },
	{ segment_high, "segment 0 lies at" },
	{ segment_grows, "the file has" },
	{ segments_overlap, "lies in another one" },
	{ data_outside, "neither library nor TCM" },
	{ data_elsewhere, "neither library nor TCM" },
	{ dynamic, "linked to others" },
	{ nothing, "nothing to load" },
	{ relocations, "relocations" },
	{ symbols_behind, "its symbols" },
	{ symbols_link, "its symbols" },
	{ symbol_name, "has no name" },
	{ endless_name, "in a table that ends with a 0" },
	{ two_tables, "more than one table of symbols" },
	{ symbol_value, "not in the code" },
	{ symbol_half, "not in the code" },
	{ same_names, "two operators" },
	{ bad_name, "is not the name of an operator" },
	{ no_functions, "no operator" },
	{ no_cores, "expected 1 to 8" },
	{ many_cores, "expected 1 to 8" },
	{ entry_outside, "entry" },
	{ lines_behind, ".neuron_lines" },
};

START_TEST(test_spoiled)
{
	struct neff_library *lib;

	spoiled[_i].spoil();
	ck_assert_int_eq(neff_library_read(&f, sizeof(f), &lib, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, spoiled[_i].says), "%s", err.text);
}
END_TEST

/*
 * Symbols that share a name as long as half of the file: reading it takes as long as there are
 * symbols. Looked for its end for each of them, the name would be read two million times.
 */
START_TEST(test_long_names)
{
	const uint32_t names = 16u << 20, symbols = names / sizeof(Elf32_Sym) * 2;
	size_t size = sizeof(f) + names + symbols * sizeof(Elf32_Sym);
	struct neff_library *lib;
	uint8_t *p = malloc(size);

	f.section[1].sh_offset = sizeof(f) + names;
	f.section[1].sh_size = symbols * (uint32_t)sizeof(Elf32_Sym);
	f.section[2].sh_offset = sizeof(f);
	f.section[2].sh_size = names;
	memcpy(p, &f, sizeof(f));
	memset(p + sizeof(f), 'A', names);
	p[sizeof(f) + names - 1] = 0;
	for (uint32_t i = 0; i < symbols; i++) {
		const Elf32_Sym s = symbol(0, 0, STT_NOTYPE, 1);

		memcpy(p + sizeof(f) + names + i * sizeof(s), &s, sizeof(s));
	}
	ck_assert_int_eq(neff_library_read(p, size, &lib, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "no operator"), "%s", err.text);
	free(p);
}
END_TEST

/* Any bytes in any place: it is read or refused, and the lines are text or none */
START_TEST(test_any_bytes)
{
	uint64_t seed = 5;
	char text[128];

	for (int i = 0; i < 5000; i++) {
		struct neff_library *lib;
		size_t size = sizeof(f);
		uint8_t *p;

		setup();
		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			((uint8_t *)&f)[(seed >> 33) % sizeof(f)] = (uint8_t)(seed >> 24);
		}
		if (!(i % 7))
			size = (seed >> 40) % sizeof(f);
		p = malloc(size ? size : 1); /* exactly so many */
		memcpy(p, &f, size);
		if (!neff_library_read(p, size, &lib, &err)) {
			neff_library_line(lib, (uint32_t)(seed >> 20), text, sizeof(text));
			neff_library_free(lib);
		}
		free(p);
	}
}
END_TEST

/* A file with a CUSTOM_OP */

static struct neff_var vars[3];
static struct neff_custom_arg args[3];
static struct neff_custom custom;
static struct neff_subgraph sg;
static struct neff_model model;
static uint8_t stream[2][8 * NEURON_INSN_WORD];
static struct neuron_insn op;

static void append(unsigned int e, uint8_t *words, const struct neuron_insn *insn)
{
	int n = neuron_isa_encode(insn, words + sg.engine[e].instr_size);

	ck_assert_int_gt(n, 0);
	sg.engine[e].instr = words;
	sg.engine[e].instr_size += (size_t)n * NEURON_INSN_WORD;
}

static void make_streams(void)
{
	struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START, .isa_version = 2 };
	struct neuron_insn clear = { .opcode = NEURON_OP_SEM_RANGE_CLEAR,
				     .wait = NEURON_WAIT_SEM_GE,
				     .wait_value = 1 };

	memset(sg.engine, 0, sizeof(sg.engine));
	append(NEURON_ENG_GPSIMD, stream[0], &start);
	append(NEURON_ENG_GPSIMD, stream[0], &op);
	append(NEURON_ENG_SP, stream[1], &start);
	append(NEURON_ENG_SP, stream[1], &clear);
}

static void setup_model(void)
{
	void *elf = malloc(sizeof(f));

	setup();
	memcpy(elf, &f, sizeof(f));
	vars[0] = (struct neff_var){ .name = "window", .type = NEFF_VAR_STATE_BUFFER };
	vars[1] = (struct neff_var){ .name = "x",
				     .type = NEFF_VAR_INPUT,
				     .var_id = 1,
				     .size = 64,
				     .dtype = NEURON_DT_FP32,
				     .ndim = 1,
				     .shape = { 16 } };
	vars[2] = vars[1];
	vars[2].name = "y";
	vars[2].type = NEFF_VAR_OUTPUT;
	vars[2].var_id = 2;
	args[0] = (struct neff_custom_arg){
		.var = 1, .offset = 32, .dtype = NEURON_DT_FP32, .ndim = 2, .shape = { 2, 4 }
	};
	args[1] = (struct neff_custom_arg){ .scalar = true, .value = -0.5 };
	args[2] = (struct neff_custom_arg){
		.var = 2, .write = true, .dtype = NEURON_DT_BF16, .ndim = 1, .shape = { 32 }
	};
	custom = (struct neff_custom){ 3, args };
	sg = (struct neff_subgraph){
		.name = "sg00", .nvars = 3, .vars = vars, .ncustom = 1, .custom = &custom
	};
	model = (struct neff_model){ .target = neuron_target_of_name("trn1"),
				     .nsubgraphs = 1,
				     .subgraphs = &sg };
	model.header.pkg_version = 2;
	model.header.version_major = 1;
	model.header.num_tpb = 1;
	model.header.tpb_per_node[0] = 1;
	model.header.feature_bits = NEFF_FEATURE_EMU | NEFF_FEATURE_CUSTOM_OPS;
	ck_assert_int_eq(neff_library_read(elf, sizeof(f), &model.library, &err), 0);
	model.library->elf = elf;
	model.library->size = sizeof(f);
	op = (struct neuron_insn){ .opcode = NEURON_OP_CUSTOM_OP,
				   .update = NEURON_UPD_SEM_INC,
				   .custom = { .bytes = model.library->bytes,
					       .entry = model.library->entry,
					       .function = model.library->function[1].address,
					       .mask = 0xff } };
}

static void teardown_model(void)
{
	neff_library_free(model.library);
}

START_TEST(test_round_trip)
{
	const struct neff_limits limits = { .target = model.target };
	const struct neff_custom_arg *a;
	struct neff_model *back;
	size_t size;
	void *buf;

	make_streams();
	ck_assert_msg(!neff_write(&model, &buf, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(buf, size, &limits, &back, &err), "%s", err.text);
	ck_assert_uint_eq(back->library->size, sizeof(f));
	ck_assert_int_eq(memcmp(back->library->elf, &f, sizeof(f)), 0);
	ck_assert_uint_eq(back->subgraphs[0].ncustom, 1);
	ck_assert_uint_eq(back->subgraphs[0].custom[0].nargs, 3);
	a = back->subgraphs[0].custom[0].arg;
	ck_assert_uint_eq(a[0].var, 1);
	ck_assert_uint_eq(a[0].offset, 32);
	ck_assert_uint_eq(a[0].ndim, 2);
	ck_assert_uint_eq(a[0].shape[1], 4);
	ck_assert(!a[0].write && a[1].scalar && a[2].write);
	ck_assert(a[1].value == -0.5);
	ck_assert_uint_eq(a[2].dtype, NEURON_DT_BF16);
	neff_free(back);
	free(buf);
}
END_TEST

static void no_feature(void)
{
	model.header.feature_bits = NEFF_FEATURE_EMU;
}

static void no_member(void)
{
	neff_library_free(model.library);
	model.library = NULL;
}

static void other_number(void)
{
	op.custom.args = 1;
}

static void other_size(void)
{
	op.custom.bytes += 4;
}

static void other_entry(void)
{
	op.custom.entry += 4;
}

static void other_function(void)
{
	op.custom.function += 4;
}

static void has_address(void)
{
	op.custom.library = 0x1000;
}

static void two_entries(void)
{
	static struct neff_custom two[2];

	two[0] = two[1] = custom;
	sg.custom = two;
	sg.ncustom = 2;
}

static void in_window(void)
{
	args[0].var = 0;
}

static void no_variable(void)
{
	args[0].var = 3;
}

static void to_input(void)
{
	args[0].write = true;
}

static void behind(void)
{
	args[0].offset = 36;
}

static void wraps(void)
{
	args[0].ndim = 8;
	memset(args[0].shape, 0xff, sizeof(args[0].shape));
}

static const struct {
	void (*spoil)(void);
	const char *says;
} refused[] = {
	{ no_feature, "come together" },
	{ no_member, "come together" },
	{ other_number, "its number in the stream" },
	{ other_size, "another size or entry" },
	{ other_entry, "another size or entry" },
	{ other_function, "no such operator" },
	{ has_address, "its number in the stream" },
	{ two_entries, "custom[1] is never executed" },
	{ in_window, "not in device memory" },
	{ no_variable, "not in device memory" },
	{ to_input, "a result in an input" },
	{ behind, "not in its variable" },
	{ wraps, "not in its variable" },
};

START_TEST(test_refused)
{
	size_t size;
	void *buf;

	refused[_i].spoil();
	make_streams();
	ck_assert_int_eq(neff_write(&model, &buf, &size, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].says), "%s", err.text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("library");
	TCase *elf = tcase_create("elf"), *file = tcase_create("file");

	tcase_add_checked_fixture(elf, setup, NULL);
	tcase_add_test(elf, test_read);
	tcase_add_loop_test(elf, test_spoiled, 0, sizeof(spoiled) / sizeof(spoiled[0]));
	tcase_add_test(elf, test_long_names);
	tcase_add_test(elf, test_any_bytes);
	suite_add_tcase(s, elf);
	tcase_add_checked_fixture(file, setup_model, teardown_model);
	tcase_add_test(file, test_round_trip);
	tcase_add_loop_test(file, test_refused, 0, sizeof(refused) / sizeof(refused[0]));
	suite_add_tcase(s, file);
	return check_run(s);
}
