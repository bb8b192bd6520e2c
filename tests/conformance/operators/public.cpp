/* SPDX-License-Identifier: MIT */
/* What the public pages name beside what interface.cpp has; custom_ops.py knows the results. */
#include <neuron/neuron-utils.hpp>
#include <torch/torch.h>

torch::Tensor sums(const torch::Tensor &a, const torch::Tensor &b)
{
	assert(a.sizes() == b.sizes());
	torch::Tensor out = torch::empty(a.sizes(), torch::kFloat);
	torch::TensorReadStreamAccessor<float> x = a.read_stream_accessor<float>();
	torch::TensorReadStreamAccessor<float> y = b.read_stream_accessor<float>();
	torch::TensorWriteStreamAccessor<float> z = out.write_stream_accessor<float>();

	for (int64_t i = 0; i < a.numel(); i++)
		z.write(x.read() + y.read());
	z.close();
	auto again = out.accessor<float, 1>(); /* after close() it has what was written */
	again[0] = again[0] * 10;
	return out;
}

torch::Tensor halves(const torch::Tensor &x)
{
	return torch::mul(x, 1.5);
}

torch::Tensor scaled(const torch::Tensor &x, const torch::Tensor &y)
{
	torch::Tensor t = torch::add(x, y, 2);

	t = torch::sub(t, 4, 0.5);
	torch::add_out(t, t, torch::eye(x.size(0), x.size(1), torch::kFloat));
	return torch::sub(t, torch::zeros(x.sizes(), torch::kFloat).fill_(3), 2);
}

torch::Tensor powers(const torch::Tensor &x)
{
	return torch::log2(torch::pow(2, x));
}

torch::Tensor bits(const torch::Tensor &x)
{
	return torch::bitwise_or(256, torch::bitwise_and(0x0f0f, x));
}

torch::Tensor told(torch::Tensor x)
{
	torch::Tensor out = get_dst_tensor();

	if (x.get_accessor_coherence_policy() != torch::CoherencyEnforcer::COHERENT)
		return out;
	out.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::INCOHERENT_VERBOSE);
	auto first = out.write_stream_accessor<float>();
	auto second = out.write_stream_accessor<float>();
	out.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::INCOHERENT_QUIET);
	auto third = out.read_stream_accessor<float>();
	first.close();
	second.close();
	third.close();
	out.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::COHERENT);
	float result = (float)get_cpu_id() + 7;
	out.tcm_accessor().tcm_to_tensor<float>(&result, 0, 1);
	return out;
}

void asserts(const torch::Tensor &out)
{
	assert(out.dim() == 2);
}
NEURON_CUSTOM_OP(asserts)
NEURON_CUSTOM_OP(sums)
NEURON_CUSTOM_OP(halves)
NEURON_CUSTOM_OP(scaled)
NEURON_CUSTOM_OP(powers)
NEURON_CUSTOM_OP(bits)
NEURON_CUSTOM_OP(told)
