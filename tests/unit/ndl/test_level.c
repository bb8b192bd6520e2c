/* SPDX-License-Identifier: MIT */
/*
 * Which of the public driver's releases has which ioctl number and type of memory: the rows come
 * from the releases' own tables, the newest release without it and the oldest with it. The results
 * of the fall-backs were checked under the releases themselves (docs/compatibility.md); here an
 * ioctl() of this program stands for a driver and notes what it is passed.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
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
	{ NEURON_IOCTL_RESOURCE_MMAP_INFO, "2.13.4.0", "2.14.5.0" },
	{ NEURON_IOCTL_PRINTK, "2.14.5.0", "2.15.9.0" },
	{ NEURON_IOCTL_HOST_DEVICE_ID, "2.15.9.0", "2.16.7.0" },
	{ NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, "2.15.9.0", "2.16.7.0" },
	{ NEURON_IOCTL_MEM_MC_GET_INFO_V2, "2.15.9.0", "2.16.7.0" },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT, "2.16.7.0", "2.17.17.0" },
	{ NEURON_IOCTL_DUMP_MEM_CHUNKS, "2.17.17.0", "2.18.12.0" },
	{ NEURON_IOCTL_NC_PID_STATE_DUMP, "2.17.17.0", "2.18.12.0" },
	{ NEURON_IOCTL_HBM_SCRUB_START, "2.18.20.0", "2.19.64.0" },
	{ NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, "2.18.20.0", "2.19.64.0" },
	{ NEURON_IOCTL_MEM_ALLOC_V2MT64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_PROGRAM_ENGINE_NC64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_MEM_COPY64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, "2.19.64.0", "2.20.28.0" },
	{ NEURON_IOCTL_POD_STATUS_V2, "2.22.2.0", "2.23.9.0" },
	{ NEURON_IOCTL_POD_CTRL_V2, "2.22.2.0", "2.23.9.0" },
	{ NEURON_IOCTL_MEM_BUF_ZEROCOPY64, "2.23.9.0", "2.24.7.0" },
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* The driver: says no to everything */
static struct {
	unsigned int calls;
	unsigned long request;
	uint32_t type; /* of memory, if it was asked for with a type */
} passed;

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	(void)fd;
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	passed.calls++;
	passed.request = request;
	/* both forms have it at the same place */
	if (request == NEURON_IOCTL_MEM_ALLOC_V2MT || request == NEURON_IOCTL_MEM_ALLOC_V2MT64)
		passed.type = ((struct neuron_ioctl_mem_alloc_v2_mem_type64 *)arg)->mem_type;
	errno = EINVAL;
	return -1;
}

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

/* A number that the driver lacks is not passed to it, and then the text says what it needs. */
START_TEST(not_passed)
{
	uint64_t arg[64] = { 0 };

	node_level_set("2.24.7.0");
	ck_assert_int_eq(node_ioctl(-1, NEURON_IOCTL_PRINTK, arg), -EINVAL);
	ck_assert_uint_eq(passed.calls, 1);
	ck_assert_str_eq(ndlx_error_text(-ENOTSUP), "Operation not supported");
	node_level_set("2.14.5.0");
	ck_assert_int_eq(node_ioctl(-1, NEURON_IOCTL_MEM_FREE, arg), -EINVAL);
	ck_assert_uint_eq(passed.calls, 2);
	ck_assert_int_eq(node_ioctl(-1, NEURON_IOCTL_PRINTK, arg), -ENOTSUP);
	ck_assert_uint_eq(passed.calls, 2);
	ck_assert_str_eq(ndlx_error_text(-ENOTSUP), "driver too old: needs 2.15.9 or newer");
	ck_assert_str_eq(ndlx_error_text(-EBUSY), "Device or resource busy");
}
END_TEST

/* A reset has a call of its own. */
START_TEST(reset)
{
	struct node_device node = { .fd = -1 };
	ndlx_device_t dev = { .priv = &node };
	uint32_t id;

	node_level_set("2.3.26.0");
	ck_assert_int_eq(node_ops.reset(&dev, 1, &id), -ENOTSUP);
	ck_assert_uint_eq(passed.calls, 0);
	ck_assert_str_eq(ndlx_error_text(-ENOTSUP), "driver too old: needs 2.5.7 or newer");
	node_level_set("2.5.7.0");
	ck_assert_int_eq(node_ops.reset(&dev, 1, &id), -EINVAL);
	ck_assert_uint_eq(passed.request, NEURON_IOCTL_NC_RESET);
}
END_TEST

/*
 * The last type that a release's table has is 16 up to 2.17.17, 18 up to 2.23.9 and then 19: it
 * warns of one that it has not, once, and counts it as of no type.
 */
static const struct {
	const char *release;
	uint32_t type, passed;
} types[] = {
	{ "2.17.17.0", 17, 0 },	 { "2.17.17.0", 18, 7 },  { "2.17.17.0", 19, 11 },
	{ "2.17.17.0", 16, 16 }, { "2.17.17.0", 4, 4 },	  { "2.18.12.0", 17, 17 },
	{ "2.18.12.0", 18, 18 }, { "2.18.12.0", 19, 11 }, { "2.20.28.0", 18, 18 },
	{ "2.23.9.0", 19, 11 },	 { "2.24.7.0", 19, 19 },  { "2.29.0.0", 17, 17 },
	{ "2.29.0.0", 19, 19 },	 { "", 18, 18 },
};
#define TYPES ((int)(sizeof(types) / sizeof(types[0])))

START_TEST(memory_types)
{
	struct node_device node = { .fd = -1 };
	ndlx_device_t dev = { .priv = &node };
	struct ndlx_mem_params params = { .size = 4096, .type = types[_i].type };
	uint64_t handle;

	passed.type = 99;
	node_level_set(types[_i].release);
	ck_assert_int_eq(node_ops.mem_alloc(&dev, &params, &handle), -EINVAL);
	ck_assert_uint_eq(passed.type, types[_i].passed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("level");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, first_release, 0, ROWS);
	tcase_add_test(t, unknown_version);
	tcase_add_test(t, not_passed);
	tcase_add_test(t, reset);
	tcase_add_loop_test(t, memory_types, 0, TYPES);
	suite_add_tcase(s, t);
	return check_run(s);
}
