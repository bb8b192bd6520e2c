/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Data types of operands. The codes are those of the public nrt.h; it has none above 0x1f, where
 * ours lie. Which of them a generation's engines take is in its target (target.h).
 */
#ifndef NEURON_HW_DTYPE_H
#define NEURON_HW_DTYPE_H

enum neuron_dtype {
	NEURON_DT_INVALID = 0x0,
	NEURON_DT_UINT64 = 0x1,
	NEURON_DT_INT8 = 0x2,
	NEURON_DT_UINT8 = 0x3,
	NEURON_DT_INT16 = 0x4,
	NEURON_DT_UINT16 = 0x5,
	NEURON_DT_BF16 = 0x6,
	NEURON_DT_FP16 = 0x7,
	NEURON_DT_INT32 = 0x8,
	NEURON_DT_UINT32 = 0x9,
	NEURON_DT_FP32 = 0xa,
	NEURON_DT_FP32R = 0xb,
	NEURON_DT_INT64 = 0xc,
	NEURON_DT_FP8_E3 = 0xd,
	NEURON_DT_FP8_E4 = 0xe,
	NEURON_DT_FP8_E5 = 0xf,
	NEURON_DT_TF32 = 0x20, /* ours */
};

/* A mask of types has a bit for each code */
#define NEURON_DTB(name) (1ull << NEURON_DT_##name)
#define NEURON_DTB_FP8 (NEURON_DTB(FP8_E3) | NEURON_DTB(FP8_E4) | NEURON_DTB(FP8_E5))

/* An int, as this header includes nothing: the driver and operators in C++ read it too */
static inline int neuron_dtype_is_fp8(unsigned int dtype)
{
	return dtype < 64 && (NEURON_DTB_FP8 >> dtype & 1);
}

#endif
