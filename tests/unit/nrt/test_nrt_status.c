// SPDX-License-Identifier: MIT
/* libnrt's constants: names, values and sizes that programs were compiled with */
#include <check.h>
#include <stdlib.h>

#include "../check_main.h"
#include "nrt_api.h"
#include "nrt/nrtx.h"

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
#define LOGICAL 8
#define REFUSED 5

/* A program gets the numbers of nrt.h for each machine. */
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

/*
 * Logical cores: numbers of a Trainium2 and a Trainium, and of what the environment lets a process
 * take; where a logical core is, two tensors of one being on the same chip as its number says
 */
START_TEST(logical)
{
	static const struct {
		const char *machine, *config, *older, *visible;
		uint32_t total, total_logical, took, last_device, last_core;
	} want[LOGICAL] = {
		{ "emu:trn2.3xlarge", NULL, NULL, NULL, 8, 4, 4, 0, 3 },
		{ "emu:trn2.3xlarge", "2", "1", NULL, 8, 4, 4, 0, 3 },
		{ "emu:trn2.3xlarge", "1", NULL, NULL, 8, 8, 8, 0, 7 },
		{ "emu:trn2.3xlarge", NULL, "1", NULL, 8, 8, 8, 0, 7 },
		{ "emu:trn2.48xlarge", NULL, NULL, "5-6", 128, 64, 2, 1, 2 },
		{ "emu:trn2.48xlarge", "1", NULL, "5-9", 128, 128, 5, 1, 1 },
		{ "emu:trn1.32xlarge", NULL, NULL, NULL, 32, 32, 32, 15, 1 },
		{ "emu:trn1.2xlarge", "1", NULL, "1", 2, 2, 1, 0, 1 },
	};
	uint32_t n, device, core;

	if (want[_i].config)
		setenv("NEURON_LOGICAL_NC_CONFIG", want[_i].config, 1);
	if (want[_i].older)
		setenv("NEURON_RT_VIRTUAL_CORE_SIZE", want[_i].older, 1);
	if (want[_i].visible)
		setenv("NEURON_RT_VISIBLE_CORES", want[_i].visible, 1);
	ck_assert_int_eq(nrtx_machine_set(want[_i].machine), NRT_SUCCESS);
	for (unsigned int opened = 0; opened < 2; opened++) {
		ck_assert_int_eq(nrt_get_total_nc_count(&n), NRT_SUCCESS);
		ck_assert_uint_eq(n, want[_i].total);
		ck_assert_int_eq(nrt_get_total_vnc_count(&n), NRT_SUCCESS);
		ck_assert_uint_eq(n, want[_i].total_logical);
		ck_assert_int_eq(nrt_get_visible_vnc_count(&n), NRT_SUCCESS);
		ck_assert_uint_eq(n, want[_i].took);
		ck_assert_int_eq(nrt_get_visible_nc_count(&n), NRT_SUCCESS);
		ck_assert_uint_eq(n, want[_i].took * want[_i].total / want[_i].total_logical);
		if (!opened)
			ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	}
	ck_assert_int_eq(nrtx_core_location(want[_i].took - 1, &device, &core), NRT_SUCCESS);
	ck_assert_uint_eq(device, want[_i].last_device);
	ck_assert_uint_eq(core, want[_i].last_core);
	ck_assert_int_eq(nrtx_core_location(want[_i].took, &device, &core), NRT_INVALID);
	nrt_close();
}
END_TEST

/* A logical core of which another process has one half is not given to this one. */
START_TEST(half_taken)
{
	ndl_device_init_param_t params = { .initialize_device = false };
	uint32_t device, core, left;
	uint64_t bitmap[8];
	ndl_device_t *dev;

	ck_assert_int_eq(nrtx_machine_set("emu:trn2.3xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(ndl_open_device(0, &params, &dev), 0);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(1, 0, 0, &left, bitmap, sizeof(bitmap)), 0);
	setenv("NEURON_RT_NUM_CORES", "2", 1);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(nrtx_core_location(i, &device, &core), NRT_SUCCESS);
		ck_assert_uint_eq(core, i + 1);
	}
	nrt_close();
	ck_assert_int_eq(ndl_close_device(dev), 0);
}
END_TEST

/* Sizes of logical cores that are no number of cores, or of a chip that has none, are refused. */
START_TEST(not_logical)
{
	static const char *const refused[REFUSED][2] = { { "emu:trn2.3xlarge", "3" },
							 { "emu:trn2.3xlarge", "22" },
							 { "emu:trn2.3xlarge", "two" },
							 { "emu:trn1.2xlarge", "2" },
							 { "emu:inf1.xlarge", "2" } };
	uint32_t n;

	ck_assert_int_eq(nrtx_machine_set(refused[_i][0]), NRT_SUCCESS);
	setenv("NEURON_LOGICAL_NC_CONFIG", refused[_i][1], 1);
	ck_assert_int_eq(nrt_get_total_vnc_count(&n), NRT_INVALID);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-status");
	TCase *tc = tcase_create("status");

	tcase_add_test(tc, statuses);
	tcase_add_loop_test(tc, instances, 0, INSTANCES);
	tcase_add_loop_test(tc, logical, 0, LOGICAL);
	tcase_add_loop_test(tc, not_logical, 0, REFUSED);
	tcase_add_test(tc, half_taken);
	suite_add_tcase(s, tc);
	return check_run(s);
}
