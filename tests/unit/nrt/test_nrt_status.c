// SPDX-License-Identifier: MIT
/* libnrt's constants: names, values and sizes that programs were compiled with */
#include <check.h>

#include "../check_main.h"
#include "nrt/nrt.h"
#include "nrtx.h"

/* nrt_status.h's values as the public record has them */
START_TEST(statuses)
{
	static const struct {
		int value;
		const char *name;
	} s[] = {
		{ 0, "NRT_SUCCESS" },
		{ 1, "NRT_FAILURE" },
		{ 2, "NRT_INVALID" },
		{ 3, "NRT_INVALID_HANDLE" },
		{ 4, "NRT_RESOURCE" },
		{ 5, "NRT_TIMEOUT" },
		{ 6, "NRT_HW_ERROR" },
		{ 7, "NRT_QUEUE_FULL" },
		{ 9, "NRT_LOAD_NOT_ENOUGH_NC" },
		{ 10, "NRT_UNSUPPORTED_NEFF_VERSION" },
		{ 13, "NRT_UNINITIALIZED" },
		{ 14, "NRT_CLOSED" },
		{ 15, "NRT_QUEUE_EMPTY" },
		{ 101, "NRT_EXEC_UNIT_UNRECOVERABLE" },
		{ 1002, "NRT_EXEC_BAD_INPUT" },
		{ 1003, "NRT_EXEC_COMPLETED_WITH_NUM_ERR" },
		{ 1004, "NRT_EXEC_COMPLETED_WITH_ERR" },
		{ 1005, "NRT_EXEC_NC_BUSY" },
		{ 1006, "NRT_EXEC_OOB" },
		{ 1203, "NRT_EXEC_HW_ERR_DMA_ABORT" },
		{ 1204, "NRT_EXEC_SW_NQ_OVERFLOW" },
	};
	NRT_STATUS back;

	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++) {
		ck_assert_str_eq(nrt_get_status_as_str((NRT_STATUS)s[i].value), s[i].name);
		ck_assert(nrtx_status_from_str(s[i].name, &back));
		ck_assert_int_eq(back, s[i].value);
	}
	ck_assert(!nrtx_status_from_str("NRT_NOTHING", &back));
	ck_assert_ptr_nonnull(nrt_get_status_as_str((NRT_STATUS)8));
	ck_assert_uint_eq(sizeof(nrt_tensor_info_t), 296);
}
END_TEST

#define INSTANCES 10

/* What a program is told of its machine; the numbers are those of nrt.h. */
START_TEST(instances)
{
	static const struct {
		const char *machine, *arch;
		uint32_t family, size;
	} want[INSTANCES] = {
		{ "emu:inf1.xlarge", "inf1", 1, 0 },   { "emu:inf1.2xlarge", "inf1", 1, 1 },
		{ "emu:inf1.6xlarge", "inf1", 1, 3 },  { "emu:inf1.24xlarge", "inf1", 1, 5 },
		{ "emu:inf2.8xlarge", "inf2", 4, 4 },  { "emu:inf2.48xlarge", "inf2", 4, 7 },
		{ "emu:trn1.32xlarge", "trn1", 2, 6 }, { "emu:trn1n.32xlarge", "trn1", 3, 6 },
		{ "emu:trn2.3xlarge", "trn2", 5, 8 },  { "emu:trn2u.48xlarge", "trn2", 9, 7 },
	};
	nrt_instance_info_t info;

	ck_assert_int_eq(nrtx_machine_set(want[_i].machine), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_instance_info(&info, sizeof(info)), NRT_SUCCESS);
	ck_assert_uint_eq(info.family, want[_i].family);
	ck_assert_uint_eq(info.size, want[_i].size);
	ck_assert_str_eq(info.arch_name, want[_i].arch);
	ck_assert_str_eq(info.device_revision, "1");
	ck_assert_int_eq(nrt_get_instance_info(NULL, sizeof(info)), NRT_INVALID);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-status");
	TCase *tc = tcase_create("status");

	tcase_add_test(tc, statuses);
	tcase_add_loop_test(tc, instances, 0, INSTANCES);
	suite_add_tcase(s, tc);
	return check_run(s);
}
