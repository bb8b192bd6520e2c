/* SPDX-License-Identifier: MIT */
/* The public interface's parts, an operator each; custom_ops.py knows what they compute. */
#include <torch/torch.h>

/* as a user's file has it: no word of ours, the operator is named to neuron-custom-op */
torch::Tensor streams(const torch::Tensor &t_in)
{
	torch::Tensor t_out = get_dst_tensor();
	auto in = t_in.read_stream_accessor<float>();
	auto out = t_out.write_stream_accessor<float>();

	for (int64_t i = 0; i < t_in.numel(); i++)
		out.write(in.read() * 2);
	return t_out;
}

torch::Tensor accessors(const torch::Tensor &t)
{
	torch::Tensor out = torch::zeros({ t.size(1), t.size(0) });
	auto a = t.accessor<float, 2>();
	auto b = out.accessor<float, 2>();

	for (int64_t i = 0; i < t.size(0); i++)
		for (int64_t k = 0; k < t.size(1); k++)
			b[k][i] = a[i][k];
	return out;
}

torch::Tensor arithmetic(const torch::Tensor &x, const torch::Tensor &y)
{
	torch::Tensor t = torch::abs(x) * y + torch::ones({ x.size(0) }) - 3.0;

	t = torch::clamp(t / 2.0, -4, 4);
	return torch::maximum(t, torch::minimum(x, y));
}

void functions(const torch::Tensor &x, const torch::Tensor &out)
{
	torch::exp_out(out, x);
	torch::add_out(out, out, torch::sqrt(torch::abs(x)));
	torch::add_out(out, out, torch::sin(x));
	torch::mul_out(out, out, torch::floor(x));
}

void integers(const torch::Tensor &x, const torch::Tensor &y, const torch::Tensor &out)
{
	torch::bitwise_and_out(out, x, y);
	torch::add_out(out, out, torch::mul(x, y));
	torch::bitwise_xor_out(out, out, torch::bitwise_not(y));
}

void narrow(const torch::Tensor &x, const torch::Tensor &out)
{
	torch::mul_out(out, x, 1.5);
}

void numbers(double a, int b, torch::Tensor out)
{
	out.accessor<float, 1>()[0] = (float)(a * b);
	printf("%.3f times %d\n", a, b);
}

void processors(torch::Tensor out)
{
	auto tcm = out.tcm_accessor();
	int32_t *mine = (int32_t *)torch::neuron::tcm_malloc(4);

	*mine = (int32_t)(get_cpu_id() * 10 + get_cpu_count());
	tcm.tcm_to_tensor<int32_t>(mine, get_cpu_id(), 1);
	printf("from %u\n", (unsigned)get_cpu_id());
}
NEURON_CUSTOM_OP(accessors)
NEURON_CUSTOM_OP(arithmetic)
NEURON_CUSTOM_OP(functions)
NEURON_CUSTOM_OP(integers)
NEURON_CUSTOM_OP(narrow)
NEURON_CUSTOM_OP(numbers)
NEURON_CUSTOM_OP(processors)
