/* SPDX-License-Identifier: MIT */
/* The text form of instructions: what is printed parses to the same; what is wrong is said. */
#include "../check_main.h"
#include "asm.h"
#include "random_insn.h"

START_TEST(test_round_trip)
{
	uint64_t seed = 21 + _i;

	if (!neuron_isa_ops[_i].name)
		return;
	for (int r = 0; r < 300; r++) {
		struct neuron_insn insn = random_fields(_i, &seed), back;
		struct ncc_asm_error err;
		char text[NCC_ASM_LINE];

		ck_assert_int_lt(ncc_asm_print(&insn, text, sizeof(text)), NCC_ASM_LINE);
		ck_assert_msg(ncc_asm_parse(text, &back, &err) == 1, "%s: %s", text, err.text);
		ck_assert_msg(!memcmp(&insn, &back, sizeof(insn)), "%s", text);
	}
}
END_TEST

START_TEST(test_print)
{
	struct neuron_insn insn = {
		.opcode = NEURON_OP_MATMUL,
		.partitions = 128,
		.accumulate = true,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 3,
		.wait_value = 1,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 4,
		.dst = { 0x2004000, NEURON_DT_FP32, { 0, 0, 32, 1 }, { 1, 1, 16, 32 } },
		.src0 = { 0x41000, NEURON_DT_BF16, { 0, 0, 0, 1 }, { 1, 1, 1, 512 } },
	};
	char text[NCC_ASM_LINE], cut[8];
	int n = ncc_asm_print(&insn, text, sizeof(text));

	ck_assert_str_eq(text, "matmul p=128 dst=psum[1,0]:fp32[32:16,1:32] "
			       "src0=sbuf[1,0x1000]:bf16[1:512] accumulate "
			       "$S[3]>=1 $S[4]++@complete");
	ck_assert_int_eq(n, (int)strlen(text));
	ck_assert_int_eq(ncc_asm_print(&insn, cut, sizeof(cut)), n);
	ck_assert_str_eq(cut, "matmul ");
}
END_TEST

/* The text of instructions with registers is read and written alike. */
START_TEST(test_registers)
{
	static const char *const lines[] = {
		"fetch base=0x1000000000 length=0x4000 pc=0x40",
		"fetch_end",
		"move rd=r63 b=-5",
		"alu rd=r1 op=sar a=r2 b=r3",
		"compare_branch rel=ltu a=r7 b=100 target=-128",
		"tensor_load rd=r1 at=sbuf[5,0x40]:int16 index=r2*-2",
		"tensor_store b=r9 at=hbm[0x12345678]:uint8",
		"dma from=0x1000[0:1,4096:2,-64:3]+r5*-8 to=0x2000[0:1,0:1,64:6]<4096 run=64 "
		"queue=3:4 done=255 skip",
		"tensor_copy p=1 dst=sbuf[0,0]:fp32[1:1] "
		"src0=sbuf[0,0]:fp32[1:1] patch0=src0:r3*-64 patch3=dst.num3:r63*1",
	};
	struct ncc_asm_error err;
	struct neuron_insn insn;
	char text[NCC_ASM_LINE];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ck_assert_msg(ncc_asm_parse(lines[i], &insn, &err) == 1, "%s", err.text);
		ncc_asm_print(&insn, text, sizeof(text));
		ck_assert_str_eq(text, lines[i]);
	}
}
END_TEST

static const char *const wrong[] = {
	"matmull",
	"nop p=1",
	"nop $S[1]",
	"nop $S[1]>=",
	"nop $S[256]>=1",
	"nop $S[1]++",
	"nop $S[1]++@never",
	"nop $S[1]>=1 $S[2]>=2",
	"nop $S[1]++@read $S[2]++@read",
	"nop !$S[1]>=1",
	"nop $E[1]=2@read",
	"nop garbage",
	"memset p=1 p=2 dst=sbuf[0,0]:fp32[1:1]",
	"memset p=256 dst=sbuf[0,0]:fp32[1:1]",
	"memset p=1 dst=sbuf[128,0]:fp32[1:1]",
	"memset p=1 dst=sbuf[0,0x40000]:fp32[1:1]",
	"memset p=1 dst=sbuf[0,0]:fp64[1:1]",
	"memset p=1 dst=sbuf[0,0]:64[1:1]",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1,1:1,1:1,1:1,1:1]",
	"memset p=1 dst=sbuf[0,0]:fp32[1:65536]",
	"memset p=1 dst=sbuf[0,0]:fp32[32768:1]",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1]x",
	"memset p=1 dst=sbuf[0,0]:fp32",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1] scalar0=",
	"memset p=1 dst=window[0x4000000]:fp32[1:1]",
	"program_start version=65536",
	"notify id=4294967296",
	"notify id=-1",
	"write write0=0x10",
	"sem_range_clear range=1",
	"ldweights tile=0,0:48,128",
	"ldweights tile=0,0:64",
	"memset tile=0,0:64,64",
	"tensor_tensor op0=plus",
	"move rd=1 b=0",
	"move rd=r256 b=0",
	"move rd=r1 b=4294967296",
	"move rd=r1 b=-2147483649",
	"move rd=r1 a=r2",
	"alu op=plus rd=r1 a=r2 b=r3",
	"compare_branch rel=less a=r1 b=0 target=64",
	"compare_branch rel=lt a=r1 b=0 target=2147483648",
	"tensor_load rd=r1 at=hbm[0]",
	"tensor_load rd=r1 at=hbm[0x10]:fp64",
	"tensor_load rd=r1 at=sbuf[0,0]:int32 index=r2",
	"fetch base=0x100 length=4294967296",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1] patch0=dst:r3",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1] patch0=r3*1",
	"memset p=1 dst=sbuf[0,0]:fp32[1:1] patch4=dst:r3*1",
	"nop patch0=p:r3*1",
};

START_TEST(test_refused)
{
	struct ncc_asm_error err;
	struct neuron_insn insn;

	ck_assert_int_eq(ncc_asm_parse(wrong[_i], &insn, &err), -EINVAL);
	ck_assert_msg(err.text[0], "no reason for '%s'", wrong[_i]);
}
END_TEST

START_TEST(test_empty_lines)
{
	struct ncc_asm_error err;
	struct neuron_insn insn;
	char longest[5000];

	ck_assert_int_eq(ncc_asm_parse("", &insn, &err), 0);
	ck_assert_int_eq(ncc_asm_parse(" \t ; comment", &insn, &err), 0);
	ck_assert_int_eq(ncc_asm_parse("nop ; comment", &insn, &err), 1);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	ck_assert_int_eq(ncc_asm_parse(longest, &insn, &err), -EINVAL);
}
END_TEST

/* Mutated lines end in an answer, never in a crash */
START_TEST(test_mutations)
{
	uint64_t seed = 3;

	for (int r = 0; r < 20000; r++) {
		struct neuron_insn insn;
		struct ncc_asm_error err;
		char text[NCC_ASM_LINE];
		uint8_t op = machine_random(&seed);
		int n;

		if (!neuron_isa_ops[op].name)
			continue;
		insn = random_fields(op, &seed);
		n = ncc_asm_print(&insn, text, sizeof(text));
		for (int i = 0; i < 3; i++)
			text[machine_random(&seed) % n] = ' ' + machine_random(&seed) % 95;
		ncc_asm_parse(text, &insn, &err);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("asm");
	TCase *tc = tcase_create("text");

	tcase_add_loop_test(tc, test_round_trip, 0, 256);
	tcase_add_test(tc, test_print);
	tcase_add_test(tc, test_registers);
	tcase_add_loop_test(tc, test_refused, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tc, test_empty_lines);
	tcase_add_test(tc, test_mutations);
	suite_add_tcase(s, tc);
	return check_run(s);
}
