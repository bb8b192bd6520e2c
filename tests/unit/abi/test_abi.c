// SPDX-License-Identifier: MIT
/*
 * The driver ABI as a program sees it. Numbers, sizes and offsets are static assertions generated
 * from tests/data/abi and compiled into this program; the tests here check what a static assertion
 * cannot express.
 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron_abi_headers.h"

/* Counters of a core do not overlap, and lie inside the sections of the table (driver-abi, NDS) */
START_TEST(test_nds_counters_do_not_overlap)
{
	static uint8_t used[NDS_ENTRY_SIZE];
	static const struct {
		unsigned int first, last;
	} section[] = { { 256, 1248 }, { 55936, 57984 }, { 57984, 67200 } };
	unsigned int nc, idx, i, offset;

	memset(used, 0, sizeof(used));
	for (idx = 0; idx < NDS_DEVICE_COUNTERS_PER_UNIT; idx++)
		used[NDS_ND_OFFSET(idx)]++;
	ck_assert_uint_eq(NDS_ND_OFFSET(30), 248);
	for (nc = 0; nc < 16; nc++) {
		for (idx = 0; idx < NDS_EXT_NC_COUNTER_LAST; idx++) {
			offset = NDS_NC_OFFSET(nc, idx);
			ck_assert_uint_eq(used[offset]++, 0);
			ck_assert_uint_eq(offset % 8, 0);
			for (i = 0; i < 3; i++)
				if (offset >= section[i].first && offset + 8 <= section[i].last)
					break;
			ck_assert_msg(i < 3, "core %u counter %u at %u", nc, idx, offset);
		}
	}
	ck_assert_uint_eq(NDS_NC_OFFSET(0, 0), 256);
	ck_assert_uint_eq(NDS_NC_OFFSET(3, 30), 1240);
	ck_assert_uint_eq(NDS_NC_OFFSET(0, 31), 55936);
	ck_assert_uint_eq(NDS_NC_OFFSET(4, 0), 57984);
	ck_assert_uint_eq(NDS_NC_OFFSET(15, 95), 67192);
}
END_TEST

/* nr 106 has two meanings and only the size tells them apart; 110 reads and writes */
START_TEST(test_shared_numbers_differ)
{
	ck_assert_uint_eq(_IOC_NR(NEURON_IOCTL_DEVICE_RESET_STATUS),
			  _IOC_NR(NEURON_IOCTL_DEVICE_BDF_EXT));
	ck_assert_uint_ne(NEURON_IOCTL_DEVICE_RESET_STATUS, NEURON_IOCTL_DEVICE_BDF_EXT);
	ck_assert_uint_ne(NEURON_IOCTL_DRIVER_INFO_GET, NEURON_IOCTL_DRIVER_INFO_SET);
	ck_assert_uint_ne(NEURON_IOCTL_MEM_ALLOC_V2, NEURON_IOCTL_MEM_ALLOC_V2MT64);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("abi");
	TCase *tc = tcase_create("layout");

	tcase_add_test(tc, test_nds_counters_do_not_overlap);
	tcase_add_test(tc, test_shared_numbers_differ);
	suite_add_tcase(s, tc);
	return check_run(s);
}
