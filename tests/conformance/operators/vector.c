/* SPDX-License-Identifier: MIT */
/*
 * Operators for --vector: loops that a compiler makes vectors of, and intrinsics. y = f(x, x
 * reversed)
 */
#include <neuron/custom_op.h>
#ifdef __riscv_vector
#include <riscv_vector.h>
#endif

#define MOST 2048

static float x[MOST], y[MOST];

static uint32_t load(void)
{
	uint32_t n = neuron_arg_elements(0);

	if (n > MOST)
		neuron_fail("more than %d elements", MOST);
	neuron_read(0, 0, n, x);
	return n;
}

NEURON_CUSTOM_OP(loop)
{
	uint32_t n = load();

	for (uint32_t i = 0; i < n; i++)
		y[i] = x[i] * 3 + x[n - 1 - i];
	neuron_write(1, 0, n, y);
}

/* Integers of three widths */
NEURON_CUSTOM_OP(narrow)
{
	static int8_t small[MOST];
	static int16_t half[MOST];
	uint32_t n = load();

	for (uint32_t i = 0; i < n; i++) {
		half[i] = (int16_t)(int32_t)x[i];
		small[i] = (int8_t)half[i];
	}
	for (uint32_t i = 0; i < n; i++)
		y[i] = (float)(half[i] * small[i] > 100 ? half[i] : small[i] - 1);
	neuron_write(1, 0, n, y);
}

NEURON_CUSTOM_OP(intrinsics)
{
	uint32_t n = load();

#ifdef __riscv_vector
	/* the positive ones side by side, then zeros */
	uint32_t to = 0;

	for (uint32_t i = 0; i < n;) {
		size_t vl = vsetvl_e32m4(n - i);
		vfloat32m4_t v = vle32_v_f32m4(x + i, vl);
		vbool8_t m = vmfgt_vf_f32m4_b8(v, 0, vl);

		vse32_v_f32m4(y + to, vcompress_vm_f32m4(m, v, v, vl), vcpop_m_b8(m, vl));
		to += vcpop_m_b8(m, vl);
		i += vl;
	}
#endif
	neuron_write(1, 0, n, y);
}
