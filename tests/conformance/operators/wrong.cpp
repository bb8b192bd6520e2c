/* SPDX-License-Identifier: MIT */
/* What goes wrong in an operator, each on a line that custom_ops.py looks for: at the word HERE. */
#include <torch/torch.h>

void index(torch::Tensor out)
{
	out.accessor<float, 1>()[out.numel()] = 1; // HERE index
}

static __attribute__((noinline)) int deep(int n) // HERE recursion
{
	volatile int a[32];

	a[n % 32] = n;
	return deep(n + 1) + a[0];
}

void recursion(torch::Tensor out)
{
	out.accessor<float, 1>()[0] = (float)deep(0);
}

void wild(torch::Tensor out)
{
	volatile int *p = (volatile int *)0x12345678;

	out.accessor<float, 1>()[0] = (float)*p; // HERE wild
}

void null(const torch::Tensor &)
{
	volatile int *p = nullptr;

	*p = 1; // HERE null
}

void large(const torch::Tensor &)
{
	torch::Tensor t = torch::zeros({ 1000, 1000 }); // HERE large
}

void streams(const torch::Tensor &t)
{
	auto a = t.read_stream_accessor<float>(), b = t.read_stream_accessor<float>();
	auto c = t.read_stream_accessor<float>(), d = t.read_stream_accessor<float>();
	auto e = t.read_stream_accessor<float>(); // HERE streams
}

void input(torch::Tensor x, const torch::Tensor &)
{
	x.accessor<float, 1>()[0] = 1; // HERE input
}

void types(torch::Tensor out)
{
	out.accessor<int32_t, 1>()[0] = 1; // HERE types
}

void endless(const torch::Tensor &)
{
	for (volatile int i = 0;;) // HERE endless
		i = i + 1;
}

void incoherent(torch::Tensor out)
{
	auto a = out.write_stream_accessor<float>();
	auto b = out.accessor<float, 1>(); // HERE incoherent
}
NEURON_CUSTOM_OP(index)
NEURON_CUSTOM_OP(recursion)
NEURON_CUSTOM_OP(wild)
NEURON_CUSTOM_OP(null)
NEURON_CUSTOM_OP(large)
NEURON_CUSTOM_OP(streams)
NEURON_CUSTOM_OP(input)
NEURON_CUSTOM_OP(types)
NEURON_CUSTOM_OP(endless)
NEURON_CUSTOM_OP(incoherent)
