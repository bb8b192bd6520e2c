/* SPDX-License-Identifier: MIT */
/* An operator in C++ against the public interface: scale * x * min(max(x + 3, 0), 6) / 6. */
#include <torch/torch.h>

#define BLOCK 1024

torch::Tensor hardswish(const torch::Tensor &x, double scale)
{
	torch::Tensor out = get_dst_tensor();
	auto from = x.tcm_accessor();
	auto to = out.tcm_accessor();
	float *block = (float *)torch::neuron::tcm_malloc(BLOCK * sizeof(float));
	const float s = (float)scale;

	/* blocks go to the processors in turns */
	for (int64_t at = get_cpu_id() * BLOCK; at < x.numel(); at += get_cpu_count() * BLOCK) {
		int64_t n = x.numel() - at < BLOCK ? x.numel() - at : BLOCK;

		from.tensor_to_tcm<float>(block, at, n);
		for (int64_t i = 0; i < n; i++) {
			float gate = block[i] + 3;

			gate = gate < 0 ? 0 : gate > 6 ? 6 : gate;
			block[i] = s * block[i] * gate / 6;
		}
		to.tcm_to_tensor<float>(block, at, n);
	}
	torch::neuron::tcm_free(block);
	return out;
}

NEURON_CUSTOM_OP(hardswish)
