// SPDX-License-Identifier: MIT
/* The table of instances that is made from a description; here from made_up.json */
#include <check.h>

#include "../check_main.h"
#include "instance.h"

START_TEST(fields)
{
	const struct neuron_instance *one = neuron_instance_find("made1.xlarge");
	const struct neuron_instance *ring = neuron_instance_find("made1.48xlarge");

	const struct neuron_instance *torus = neuron_instance_find("made1.24xlarge");

	ck_assert_uint_eq(neuron_instances_count, 3);
	ck_assert_ptr_nonnull(one);
	ck_assert_ptr_nonnull(ring);
	/* a row with another product name has its own here */
	ck_assert_ptr_nonnull(torus);
	ck_assert_ptr_eq(torus->gen, &neuron_gen_trainium2);
	ck_assert_int_eq(torus->topology, NEURON_TOPOLOGY_TORUS);
	ck_assert_ptr_null(neuron_instance_find("made1.12xlarge"));
	ck_assert_uint_eq(one->xlarges, 1);
	ck_assert_uint_eq(ring->xlarges, 48);
	ck_assert_ptr_eq(ring->gen, &neuron_gen_inferentia);
	ck_assert_int_eq(one->topology, NEURON_TOPOLOGY_LINE);
	ck_assert_int_eq(ring->topology, NEURON_TOPOLOGY_RING);
}
END_TEST

START_TEST(chips)
{
	static const struct neuron_instance_chip want[] = {
		{ 0x20, 0x1e, 0, 1, "4-7,9" },
		{ 0xa0, 0x1c, 0, 0, "0-3" },
		{ 0x10, 0x01, 7, -1, "0-9" },
	};
	const struct neuron_instance *one = neuron_instance_find("made1.xlarge");
	const struct neuron_instance *ring = neuron_instance_find("made1.48xlarge");

	ck_assert_uint_eq(one->chips, 1);
	ck_assert_uint_eq(one->chip->slot, 0x1f);
	ck_assert_str_eq(one->chip->cpus, "");
	ck_assert_uint_eq(ring->chips, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(ring->chip[i].bus, want[i].bus);
		ck_assert_uint_eq(ring->chip[i].slot, want[i].slot);
		ck_assert_uint_eq(ring->chip[i].function, want[i].function);
		ck_assert_int_eq(ring->chip[i].numa_node, want[i].numa_node);
		ck_assert_str_eq(ring->chip[i].cpus, want[i].cpus);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("instances");
	TCase *tc = tcase_create("instances");

	tcase_add_test(tc, fields);
	tcase_add_test(tc, chips);
	suite_add_tcase(s, tc);
	return check_run(s);
}
