/* SPDX-License-Identifier: MIT */
/*
 * Which of the public driver's releases has which ioctl number: the rows come from the releases'
 * own tables, the newest release without a number and the oldest with it. The results of the
 * fall-backs were checked under the releases themselves (docs/compatibility.md).
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "../check_main.h"
#include "node.h"

static const struct {
	unsigned long request;
	const char *without, *with;
} rows[] = {
	{ NEURON_IOCTL_COMPATIBLE_VERSION, "1.5.0.0", "2.0.386.0" },
	{ NEURON_IOCTL_CRWL_NC_RANGE_MARK, "1.5.0.0", "2.0.386.0" },
	{ NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, "1.1", "2.0.386.0" },
	{ NEURON_IOCTL_MEM_GET_EXTENDED_INFO, "2.0.386.0", "2.0.450.0" },
	{ NEURON_IOCTL_DEVICE_BDF, "2.2.8.0", "2.2.13.0" },
	{ NEURON_IOCTL_MEM_ALLOC_V2, "2.2.14.0", "2.3.3.0" },
	{ NEURON_IOCTL_NC_RESET, "2.3.26.0", "2.5.7.0" },
	{ NEURON_IOCTL_DEVICE_BDF_EXT, "2.8.4.0", "2.9.4.0" },
	{ NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, "2.10.11.0", "2.11.9.0" },
	{ NEURON_IOCTL_DRIVER_INFO_GET, "2.11.9.0", "2.12.11.0" },
	{ NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, "2.13.4.0", "2.14.5.0" },
	{ NEURON_IOCTL_PRINTK, "2.14.5.0", "2.15.9.0" },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT, "2.16.7.0", "2.17.17.0" },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_MEM_COPY64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_MEM_BUF_ZEROCOPY64, "2.23.9.0", "2.24.7.0" },
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(first_release)
{
	node_level_set(rows[_i].without);
	ck_assert(!node_has(rows[_i].request));
	ck_assert(node_has(NEURON_IOCTL_MEM_ALLOC)); /* which all have */
	node_level_set(rows[_i].with);
	ck_assert(node_has(rows[_i].request));
}
END_TEST

/* If the version cannot be read, the driver is taken to have every number. */
START_TEST(unknown_version)
{
	static const char *const texts[] = { "", "emu", "2", "2.x.1" };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		node_level_set("1.1");
		node_level_set(texts[i]);
		ck_assert(node_has(NEURON_IOCTL_MEM_BUF_ZEROCOPY64));
	}
}
END_TEST

/* Only a number that the driver lacks is refused for that reason, and then the text says it */
START_TEST(error_text)
{
	node_level_set("2.24.7.0");
	ck_assert_int_eq(node_level_error(NEURON_IOCTL_NC_RESET, -EINVAL), -EINVAL);
	ck_assert_str_eq(ndl_error_text(-ENOTSUP), "Operation not supported");
	node_level_set("2.3.26.0");
	ck_assert_int_eq(node_level_error(NEURON_IOCTL_NC_RESET, -EBUSY), -EBUSY);
	ck_assert_int_eq(node_level_error(NEURON_IOCTL_MEM_FREE, -EINVAL), -EINVAL);
	ck_assert_int_eq(node_level_error(NEURON_IOCTL_NC_RESET, -EINVAL), -ENOTSUP);
	ck_assert_str_eq(ndl_error_text(-ENOTSUP), "driver too old: needs 2.5.7 or newer");
	ck_assert_str_eq(ndl_error_text(-EBUSY), "Device or resource busy");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("level");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, first_release, 0, ROWS);
	tcase_add_test(t, unknown_version);
	tcase_add_test(t, error_text);
	suite_add_tcase(s, t);
	return check_run(s);
}
